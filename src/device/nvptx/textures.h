/* The texture fetch functions as instructions of a GPU, for references and objects. (PTX ISA, texture instructions)
 *
 * An instruction returns four floats, ints or unsigned ints, depending on the fetch's type: the type of `kind`, whose
 * value is not used, selects one. */
#ifndef MOONWARP_NVPTX_TEXTURES_H
#define MOONWARP_NVPTX_TEXTURES_H

#include "../moonwarp/texture/texture_texel.h"
#include "../moonwarp/texture/texture_types.h"

template <class E> struct __mw_four {
  E x, y, z, w;
};

/* ---- instructions: [handle, {position}], and further operands ---- */

/* clang-format off */
#define __mw_tex_operands(...) __VA_ARGS__
#define __mw_tex_form(name, instruction, place, E, constraint, parameters, operands)                                   \
  __mw_device __mw_four<E> name(E, unsigned long long handle, __mw_tex_operands parameters) {                          \
    __mw_four<E> v;                                                                                                    \
    asm(instruction " {%0, %1, %2, %3}, [%4, " place ";"                                                               \
        : "=" constraint(v.x), "=" constraint(v.y), "=" constraint(v.z), "=" constraint(v.w)                           \
        : "l"(handle), __mw_tex_operands operands);                                                                    \
    return v;                                                                                                          \
  }
#define __mw_tex_instruction(name, before, behind, place, parameters, operands)                                        \
  __mw_tex_form(name, before ".f32" behind, place, float, "f", parameters, operands)                                   \
  __mw_tex_form(name, before ".s32" behind, place, int, "r", parameters, operands)                                     \
  __mw_tex_form(name, before ".u32" behind, place, unsigned int, "r", parameters, operands)

/* Without, with an explicit and with a computed level of detail: `level` and `steps` are the operands after the
   position. A gradient has as many components as the texture has dimensions; if these are three, a fourth one is
   ignored. */
#define __mw_tex_geometry(name, geometry, place, level, steps, parameters, operands, step, ...)                        \
  __mw_tex_instruction(__mw_hw_##name, "tex." geometry ".v4", ".f32", place "]", parameters, operands)                 \
  __mw_tex_instruction(__mw_hw_##name##Lod, "tex.level." geometry ".v4", ".f32", place "], " level,                    \
                       (__mw_tex_operands parameters, float lod), (__mw_tex_operands operands, "f"(lod)))              \
  __mw_tex_instruction(__mw_hw_##name##Grad, "tex.grad." geometry ".v4", ".f32", place "], " steps,                    \
                       (__mw_tex_operands parameters, step dx, step dy), (__mw_tex_operands operands, __VA_ARGS__))

__mw_tex_instruction(__mw_hw_tex1Dfetch, "tex.1d.v4", ".s32", "{%5}]", (int x), ("r"(x)))
__mw_tex_geometry(tex1D, "1d", "{%5}", "%6", "{%6}, {%7}", (float x), ("f"(x)), float, "f"(dx), "f"(dy))
__mw_tex_geometry(tex2D, "2d", "{%5, %6}", "%7", "{%7, %8}, {%9, %10}", (float x, float y), ("f"(x), "f"(y)), float2,
                  "f"(dx.x), "f"(dx.y), "f"(dy.x), "f"(dy.y))
__mw_tex_geometry(tex3D, "3d", "{%5, %6, %7, %7}", "%8", "{%8, %9, %10, %10}, {%11, %12, %13, %13}",
                  (float x, float y, float z), ("f"(x), "f"(y), "f"(z)), float4,
                  "f"(dx.x), "f"(dx.y), "f"(dx.z), "f"(dy.x), "f"(dy.y), "f"(dy.z))
__mw_tex_geometry(tex1DLayered, "a1d", "{%5, %6}", "%7", "{%7}, {%8}", (float x, int layer), ("r"(layer), "f"(x)),
                  float, "f"(dx), "f"(dy))
__mw_tex_geometry(tex2DLayered, "a2d", "{%5, %6, %7, %7}", "%8", "{%8, %9}, {%10, %11}",
                  (float x, float y, int layer), ("r"(layer), "f"(x), "f"(y)), float2,
                  "f"(dx.x), "f"(dx.y), "f"(dy.x), "f"(dy.y))
__mw_tex_geometry(texCubemap, "cube", "{%5, %6, %7, %7}", "%8", "{%8, %9, %10, %10}, {%11, %12, %13, %13}",
                  (float x, float y, float z), ("f"(x), "f"(y), "f"(z)), float4,
                  "f"(dx.x), "f"(dx.y), "f"(dx.z), "f"(dy.x), "f"(dy.y), "f"(dy.z))
__mw_tex_geometry(texCubemapLayered, "acube", "{%5, %6, %7, %8}", "%9", "{%9, %10, %11, %11}, {%12, %13, %14, %14}",
                  (float x, float y, float z, int layer), ("r"(layer), "f"(x), "f"(y), "f"(z)), float4,
                  "f"(dx.x), "f"(dx.y), "f"(dx.z), "f"(dy.x), "f"(dy.y), "f"(dy.z))
#define __mw_tex_gather(component)                                                                                     \
  __mw_tex_instruction(__mw_hw_gather_##component, "tld4." #component ".2d.v4", ".f32", "{%5, %6}]",                   \
                       (float x, float y), ("f"(x), "f"(y)))
__mw_tex_gather(r) __mw_tex_gather(g) __mw_tex_gather(b) __mw_tex_gather(a);
#undef __mw_tex_gather
#undef __mw_tex_geometry
#undef __mw_tex_instruction
#undef __mw_tex_form
/* clang-format on */

template <class E>
__mw_device_template __mw_four<E> __mw_hw_tex2Dgather(E kind, unsigned long long handle, float x, float y,
                                                      int component) {
  switch (component) {
  case 0: return __mw_hw_gather_r(kind, handle, x, y);
  case 1: return __mw_hw_gather_g(kind, handle, x, y);
  case 2: return __mw_hw_gather_b(kind, handle, x, y);
  default: return __mw_hw_gather_a(kind, handle, x, y);
  }
}

/* ---- how a type is fetched: as floats (float, half and normalized integers), or as unconverted integers ---- */

enum { __mw_tex_any_mode = -1 };

template <class T, int Mode>
constexpr bool __mw_hw_is_floats = Mode == cudaReadModeNormalizedFloat || __mw_texel<T>::kind == MW_TEX_CHANNEL_FLOAT;

template <class T, int Mode, bool Floats = __mw_hw_is_floats<T, Mode>> struct __mw_hw_reader {
  typedef typename __mw_texel<T>::floats result;
  typedef float4 quad;
  static __mw_device_template float kind() { return 0; }
};
template <class T, int Mode> struct __mw_hw_reader<T, Mode, false> {
  typedef T result;
  typedef typename __mw_texel<T>::quad quad;
  static __mw_device_template auto kind() {
    if constexpr (__mw_texel<T>::kind == MW_TEX_CHANNEL_UNSIGNED)
      return 0u;
    else
      return 0;
  }
};
template <class R, class E> __mw_device_template R __mw_hw_pack(const __mw_four<E> &v) {
  return __mw_texel<R>::pack(v.x, v.y, v.z, v.w);
}

/* ---- the functions ---- */

#define __mw_tex_list(...) , __VA_ARGS__
#define __mw_tex_function(name, type, result, parameters, arguments)                                                   \
  template <class T, cudaTextureReadMode Mode>                                                                         \
  __mw_device_template typename __mw_hw_reader<T, Mode>::result name(                                                  \
      texture<T, type, Mode> reference __mw_tex_list parameters) {                                                     \
    typedef __mw_hw_reader<T, Mode> R;                                                                                 \
    return __mw_hw_pack<typename R::result>(                                                                           \
        __mw_hw_##name(R::kind(), __mw_handle_of(reference) __mw_tex_list arguments));                                 \
  }                                                                                                                    \
  template <class T> __mw_device_template T name(cudaTextureObject_t object __mw_tex_list parameters) {                \
    typedef __mw_hw_reader<T, __mw_tex_any_mode> R;                                                                    \
    return __mw_hw_pack<typename R::result>(__mw_hw_##name(R::kind(), object __mw_tex_list arguments));                \
  }                                                                                                                    \
  template <class T> __mw_device_template void name(T *to, cudaTextureObject_t object __mw_tex_list parameters) {      \
    typedef __mw_hw_reader<T, __mw_tex_any_mode> R;                                                                    \
    *to = __mw_hw_pack<typename R::result>(__mw_hw_##name(R::kind(), object __mw_tex_list arguments));                 \
  }
#define __mw_tex_sampler(name, type, step, parameters, arguments)                                                      \
  __mw_tex_function(name, type, result, parameters, arguments);                                                        \
  __mw_tex_function(name##Lod, type, result, (__mw_tex_operands parameters, float level),                              \
                    (__mw_tex_operands arguments, level));                                                             \
  __mw_tex_function(name##Grad, type, result, (__mw_tex_operands parameters, step dx, step dy),                        \
                    (__mw_tex_operands arguments, dx, dy));

__mw_tex_function(tex1Dfetch, cudaTextureType1D, result, (int x), (x));
__mw_tex_function(tex2Dgather, cudaTextureType2D, quad, (float x, float y, int component = 0), (x, y, component));
__mw_tex_sampler(tex1D, cudaTextureType1D, float, (float x), (x));
__mw_tex_sampler(tex2D, cudaTextureType2D, float2, (float x, float y), (x, y));
__mw_tex_sampler(tex3D, cudaTextureType3D, float4, (float x, float y, float z), (x, y, z));
__mw_tex_sampler(tex1DLayered, cudaTextureType1DLayered, float, (float x, int layer), (x, layer));
__mw_tex_sampler(tex2DLayered, cudaTextureType2DLayered, float2, (float x, float y, int layer), (x, y, layer));
__mw_tex_sampler(texCubemap, cudaTextureTypeCubemap, float4, (float x, float y, float z), (x, y, z));
__mw_tex_sampler(texCubemapLayered, cudaTextureTypeCubemapLayered, float4, (float x, float y, float z, int layer),
                 (x, y, z, layer));

#undef __mw_tex_sampler
#undef __mw_tex_function
#undef __mw_tex_list
#undef __mw_tex_operands

#endif
