/* Texel formats: loading texels from memory and converting them to numbers.
 *
 * Memory is loaded in words of 4 bytes for every format, since gathers have that size; texels of 1 and 2 bytes are
 * extracted from their word. A texel is first converted to floats in its own scale (a byte to 0 … 255), exactly; these
 * are blended, and the result is scaled at the end. The format of a texture reference is known from its declaration;
 * that of an object is in the record, and decisions about it are uniform branches. */
#ifndef MOONWARP_TEXTURE_FORMAT_H
#define MOONWARP_TEXTURE_FORMAT_H

#include "moonwarp/texture/texture_srgb.h"
#include "moonwarp/texture/texture_texel.h"
#include "moonwarp/texture/texture_types.h"

struct __mw_words {
  unsigned int x, y, z, w;
};
struct __mw_floats {
  float x, y, z, w;
};

/* ---- formats ---- */

/* The format of texels of which N components are used. */
template <int N> struct __mw_format {
  int channels; /* that a texel has */
  int bits;     /* of each */
  int bytes;    /* of a texel */
  int kind;     /* mw_tex_channel_kind */
  bool srgb;    /* four bytes that are sRGB and alpha */
};

/* As declared by a reference. */
template <int N>
__mw_device_template __mw_format<N> __mw_format_of(const mw_tex_record *r, int channels, int bits, int kind) {
  return {channels, bits, channels * bits / 8, kind, bits == 8 && N == 4 && __mw_fixed(r->srgb)};
}
/* As declared by a reference of floats, whose texels may also be halves. */
template <int N> __mw_device_template __mw_format<N> __mw_format_of_floats(const mw_tex_record *r, int channels) {
  return {channels, (int)__mw_fixed(r->channel_bits), (int)__mw_fixed(r->texel_bytes), MW_TEX_CHANNEL_FLOAT, false};
}
/* As in the record. */
template <int N> __mw_device_template __mw_format<N> __mw_format_of(const mw_tex_record *r) {
  return {(int)__mw_fixed(r->channels), (int)__mw_fixed(r->channel_bits), (int)__mw_fixed(r->texel_bytes),
          (int)__mw_fixed(r->channel_kind), N == 4 && __mw_fixed(r->srgb)};
}

/* ---- from memory ---- */

/* Word n of the texel that begins at byte `at` of the row at word `row`. */
__mw_device unsigned int __mw_tex_word(const unsigned int *base, int row, int at, int n) {
  return base[row + (at >> 2) + n];
}

/* A texel as words; a smaller one is in the low bits of x. Unused components are not loaded. */
template <int N>
__mw_device_template __mw_words __mw_tex_load(const unsigned int *base, int row, int column, const __mw_format<N> &f) {
  int at = column * f.bytes;
  __mw_words texel = {__mw_tex_word(base, row, at, 0) >> (at & 3) * 8, 0, 0, 0};
  if (N > 1 && f.bytes > 4) texel.y = __mw_tex_word(base, row, at, 1);
  if (N > 2 && f.bytes > 8) {
    texel.z = __mw_tex_word(base, row, at, 2);
    texel.w = __mw_tex_word(base, row, at, 3);
  }
  return texel;
}

/* ---- conversion to numbers in the format's own scale ---- */

/* In one of three ways. Unused components are 0, so that no code is generated for them. */

enum __mw_manner { __mw_as_floats, __mw_as_halves, __mw_as_integers };

template <int N> __mw_device_template __mw_manner __mw_tex_manner(const __mw_format<N> &f) {
  return f.bits == 32 ? __mw_as_floats : f.kind == MW_TEX_CHANNEL_FLOAT ? __mw_as_halves : __mw_as_integers;
}

/* A component in the lowest 8 or 16 bits. */
template <int N>
__mw_device_template float __mw_tex_number(unsigned int bits, __mw_manner manner, const __mw_format<N> &f) {
  if (manner == __mw_as_halves) return (float)__builtin_bit_cast(_Float16, (unsigned short)bits);
  int sign = f.kind == MW_TEX_CHANNEL_SIGNED ? 1 << (f.bits & 31) >> 1 : 0, mask = (1 << (f.bits & 31)) - 1;
  return (float)((((int)bits & mask) ^ sign) - sign);
}

template <int N>
__mw_device_template __mw_floats __mw_tex_decode(const __mw_words &texel, __mw_manner manner, const __mw_format<N> &f) {
  if (manner == __mw_as_floats)
    return {__uint_as_float(texel.x), N > 1 ? __uint_as_float(texel.y) : 0, N > 2 ? __uint_as_float(texel.z) : 0,
            N > 2 ? __uint_as_float(texel.w) : 0};
  unsigned int next = texel.x >> (f.bits & 31), upper = f.bits == 16 ? texel.y : texel.x >> 16;
  return {__mw_tex_number(texel.x, manner, f), N > 1 ? __mw_tex_number(next, manner, f) : 0,
          N > 2 ? __mw_tex_number(upper, manner, f) : 0,
          N > 2 ? __mw_tex_number(upper >> (f.bits & 31), manner, f) : 0};
}

/* sRGB is linearised here, to numbers between 0 and 1. */
__mw_device __mw_floats __mw_tex_linear_light(const __mw_floats &v) {
  return {__mw_linear_light(v.x), __mw_linear_light(v.y), __mw_linear_light(v.z), v.w / 255};
}

/* ---- conversion to the scale of the fetch ---- */

/* As measured on an H100 (docs/build/texture_arithmetic.md). Filtering leaves 8 fraction bits, so that everything up to
   the last division is exact in a float. */

/* A select that never becomes a branch. */
__mw_device float __mw_tex_either(bool first, float a, float b) {
  unsigned int all = 0u - first;
  return __uint_as_float((__float_as_uint(a) & all) | (__float_as_uint(b) & ~all));
}

/* To the nearest half, ties away from zero. */
__mw_device float __mw_tex_round_half(float v) {
  float normal = __uint_as_float((__float_as_uint(v) + 0x1000) & 0xffffe000);
  float denormal = __builtin_copysignf(__builtin_floorf(__builtin_fabsf(v) * 0x1p24f + 0.5f) * 0x1p-24f, v);
  return __mw_tex_either(__builtin_fabsf(v) < 0x1p-14f, denormal, normal);
}

/* Signed bytes are widened to 15 bits and a sign: v followed by its leading bits. */
__mw_device float __mw_tex_widen_signed(float v) {
  float n = v * 256;
  return n + __builtin_floorf((__builtin_floorf(n * 0x1p-4f) + __builtin_floorf(n * 0x1p-12f) + 4) * 0.125f);
}

/* Integers as 16-bit numbers. */
template <int N> __mw_device_template float __mw_tex_widen(float v, const __mw_format<N> &f) {
  if (f.bits == 8 && f.kind == MW_TEX_CHANNEL_SIGNED) return __mw_tex_widen_signed(v);
  return __builtin_floorf(__builtin_fmaf(v, f.bits == 8 ? 257.0f : 1.0f, 0.5f));
}

/* The integer that represents 1, widened or not. */
template <int N> __mw_device_template float __mw_tex_one(const __mw_format<N> &f, bool widened) {
  int bits = widened ? 16 : f.bits & 31;
  return (float)((1 << bits >> (f.kind == MW_TEX_CHANNEL_SIGNED ? 1 : 0)) - 1);
}

__mw_device float __mw_tex_normalized(float v, float one) {
#pragma clang fp contract(off) reassociate(off) reciprocal(off)
  return __builtin_fmaxf(v / one, -1.0f);
}

template <int N>
__mw_device_template __mw_floats __mw_tex_finish(__mw_floats v, const __mw_format<N> &f, bool filtered) {
  __mw_manner manner = __mw_tex_manner(f);
  if (f.srgb) manner = __mw_as_floats;
#define __mw_each_wanted(e) {e(v.x), N > 1 ? e(v.y) : 0, N > 2 ? e(v.z) : 0, N > 2 ? e(v.w) : 0}
#define __mw_widen(c)       __mw_tex_widen(c, f)
#define __mw_normalized(c)  __mw_tex_normalized(c, one)
  if (manner == __mw_as_halves && filtered) v = __mw_each_wanted(__mw_tex_round_half);
  if (manner == __mw_as_integers) {
    float one = __mw_tex_one(f, filtered);
    if (filtered) v = __mw_each_wanted(__mw_widen);
    v = __mw_each_wanted(__mw_normalized);
  }
#undef __mw_each_wanted
#undef __mw_widen
#undef __mw_normalized
  if (N > 1 && f.channels < 2) v.y = 0;
  if (N > 2 && f.channels < 4) v.z = v.w = 0;
  return v;
}

/* ---- unconverted integers ---- */

__mw_device unsigned int __mw_tex_channel(const __mw_words &texel, int n, int bits) {
  if (bits == 32) return n == 0 ? texel.x : n == 1 ? texel.y : n == 2 ? texel.z : texel.w;
  if (bits == 16) return (n < 2 ? texel.x : texel.y) >> (n & 1) * 16;
  return texel.x >> (n & 3) * 8;
}

/* The lowest bits of a word as an integer of 32. */
__mw_device unsigned int __mw_tex_extend(unsigned int word, int bits, int kind) {
  int above = 32 - bits;
  return kind == MW_TEX_CHANNEL_SIGNED ? (unsigned int)((int)(word << above) >> above) : word << above >> above;
}

__mw_device unsigned int __mw_tex_border_channel(const mw_tex_record *r, int n, int kind) {
  return kind == MW_TEX_CHANNEL_SIGNED ? (unsigned int)(int)__mw_fixed(r->border[n])
                                       : (unsigned int)__mw_fixed(r->border[n]);
}

#endif
