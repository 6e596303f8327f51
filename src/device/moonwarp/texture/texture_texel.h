/* Type traits of texels: the types that a texture may be declared with or fetched as, and the results of fetches. */
#ifndef MOONWARP_TEXTURE_TEXEL_H
#define MOONWARP_TEXTURE_TEXEL_H

#include "moonwarp/texture/texture_descriptor.h"

template <class T> constexpr bool __mw_no_texel = false;
template <class T> struct __mw_texel {
  static_assert(__mw_no_texel<T>,
                "texels are of char, uchar, short, ushort, int, uint, half or float, one, two or four "
                "of them (and double as int2, see __hiloint2double): there are no textures of others");
};

#define __mw_texel_type(T, E, N, K, quad_type, floats_type, ...)                                                       \
  template <> struct __mw_texel<T> {                                                                                   \
    typedef T type;                                                                                                    \
    typedef E element;                                                                                                 \
    typedef quad_type quad; /* a gather's */                                                                           \
    typedef floats_type floats;                                                                                        \
    static constexpr int channels = N, bits = 8 * sizeof(E);                                                           \
    static constexpr mw_tex_channel_kind kind = K;                                                                     \
    template <class V> static __mw_member type pack(V x, V y, V z, V w) { return type{__VA_ARGS__}; }                  \
  };
#define __mw_texel_types(E, name, K)                                                                                   \
  __mw_texel_type(E, E, 1, K, name##4, float, (E)x);                                                                   \
  __mw_texel_type(name##1, E, 1, K, name##4, float1, (E)x);                                                            \
  __mw_texel_type(name##2, E, 2, K, name##4, float2, (E)x, (E)y);                                                      \
  __mw_texel_type(name##4, E, 4, K, name##4, float4, (E)x, (E)y, (E)z, (E)w);
__mw_texel_types(signed char, char, MW_TEX_CHANNEL_SIGNED);
__mw_texel_types(unsigned char, uchar, MW_TEX_CHANNEL_UNSIGNED);
__mw_texel_types(short, short, MW_TEX_CHANNEL_SIGNED);
__mw_texel_types(unsigned short, ushort, MW_TEX_CHANNEL_UNSIGNED);
__mw_texel_types(int, int, MW_TEX_CHANNEL_SIGNED);
__mw_texel_types(unsigned int, uint, MW_TEX_CHANNEL_UNSIGNED);
__mw_texel_types(float, float, MW_TEX_CHANNEL_FLOAT);
__mw_texel_type(char, char, 1, MW_TEX_CHANNEL_SIGNED, char4, float, (char)x);
#undef __mw_texel_types
#undef __mw_texel_type

/* Fetches of halves (cuda_fp16.h) return floats. */
struct __half;
struct __half2;
template <int N, class Floats> struct __mw_half_texel {
  typedef Floats floats;
  static constexpr int channels = N, bits = 16;
  static constexpr mw_tex_channel_kind kind = MW_TEX_CHANNEL_FLOAT;
};
template <> struct __mw_texel<__half> : __mw_half_texel<1, float> {};
template <> struct __mw_texel<__half2> : __mw_half_texel<2, float2> {};

#endif
