/* Sampling one level of a texture: one texel, or the blend of 2, 4 or 8.
 *
 * The weights are those of an H100 (docs/build/texture_arithmetic.md). An axis with weight a splits each weight p into
 * R(p * a) and the rest, where R rounds to 1/256: z first, then x, then y. In y, the left texels' weight is split by
 * the rounded weight of the first neighbour and the right ones' by that of the second, so that in two dimensions the
 * four weights are ab, a - ab, b - ab and the rest, with ab rounded. All are multiples of 1/256 and add up to 1. */
#ifndef MOONWARP_TEXTURE_SAMPLE_H
#define MOONWARP_TEXTURE_SAMPLE_H

#include "moonwarp/texture/texture_address.h"
#include "moonwarp/texture/texture_format.h"

/* The number of coordinates; 0 for a direction, in a cubemap. */
template <int D> struct __mw_dimensions {};

/* A sampling position: coordinates, and the layer or face (or both) as an index of the record's slices. Faces have an
   address mode of their own; gathers do not blend. */
struct __mw_tex_position {
  float x, y, z;
  int slice;
  bool on_face, gathered;
};

/* A level, with its pitches in words. */
struct __mw_plane {
  const unsigned int *base;
  int row, slice, width, height, depth;
};

struct __mw_axes {
  __mw_axis x, y, z;
};

__mw_device __mw_plane __mw_tex_plane(const mw_tex_level *level) {
  return {(const unsigned int *)__mw_fixed(level->base),
          (int)(__mw_fixed(level->row_pitch) >> 2),
          (int)(__mw_fixed(level->slice_pitch) >> 2),
          (int)__mw_fixed(level->width),
          (int)__mw_fixed(level->height),
          (int)__mw_fixed(level->depth)};
}

__mw_device __mw_axis_mode __mw_tex_axis_mode(const mw_tex_record *r, const __mw_tex_position &s, int axis,
                                              bool filtered) {
  if (s.on_face) return {MW_TEX_ADDRESS_CLAMP, true, filtered, false};
  return {__mw_fixed(r->address[axis]), __mw_fixed(r->normalized) != 0, filtered, s.gathered};
}

__mw_device bool __mw_tex_has_border(const mw_tex_record *r, const __mw_tex_position &s, int axis) {
  return !s.on_face && __mw_fixed(r->address[axis]) == MW_TEX_ADDRESS_BORDER;
}
template <int D> __mw_device_template bool __mw_tex_has_border(const mw_tex_record *r, const __mw_tex_position &s) {
  bool x = __mw_tex_has_border(r, s, 0), y = D > 1 && __mw_tex_has_border(r, s, 1);
  return x | y | (D > 2 && __mw_tex_has_border(r, s, 2));
}

template <int D>
__mw_device_template __mw_axes __mw_tex_axes(const mw_tex_record *r, const __mw_plane &p, const __mw_tex_position &s,
                                             bool filtered) {
  __mw_axis only = {0, 0, true, true, 0};
  __mw_axes axes = {__mw_tex_address(s.x, p.width, __mw_tex_axis_mode(r, s, 0, filtered)), only, only};
  if (D > 1) axes.y = __mw_tex_address(s.y, p.height, __mw_tex_axis_mode(r, s, 1, filtered));
  if (D > 2) axes.z = __mw_tex_address(s.z, p.depth, __mw_tex_axis_mode(r, s, 2, filtered));
  return axes;
}

/* The border colour, in the scale of texels. */
template <int N> __mw_device_template __mw_floats __mw_tex_border(const mw_tex_record *r, const __mw_format<N> &f) {
  float one = __mw_tex_manner(f) == __mw_as_integers && !f.srgb ? __mw_tex_one(f, false) : 1;
  return {__mw_fixed(r->border[0]) * one, __mw_fixed(r->border[1]) * one, __mw_fixed(r->border[2]) * one,
          __mw_fixed(r->border[3]) * one};
}

__mw_device __mw_floats __mw_tex_choose(bool inside, const __mw_floats &v, const __mw_floats &border) {
  return {__mw_tex_either(inside, v.x, border.x), __mw_tex_either(inside, v.y, border.y),
          __mw_tex_either(inside, v.z, border.z), __mw_tex_either(inside, v.w, border.w)};
}

/* ---- point ---- */

template <int N>
__mw_device_template __mw_words __mw_tex_first(const __mw_plane &p, const __mw_tex_position &s, const __mw_axes &at,
                                               const __mw_format<N> &f) {
  return __mw_tex_load(p.base, (s.slice + at.z.first) * p.slice + at.y.first * p.row, at.x.first, f);
}

__mw_device bool __mw_tex_first_inside(const __mw_axes &at) {
  return at.x.first_inside & at.y.first_inside & at.z.first_inside;
}

/* ---- linear: weights ---- */

/* Four neighbours in x and y: weights, texels, and numbers. */
struct __mw_shares {
  float of00, of10, of01, of11;
};
struct __mw_square {
  __mw_words at00, at10, at01, at11;
};
struct __mw_corners {
  __mw_floats at00, at10, at01, at11;
};

/* a * b rounded to 1/256, halves up. */
__mw_device float __mw_tex_share(float a, float b) {
  return __builtin_floorf(__builtin_fmaf(a * b, 256.0f, 0.5f)) * 0x1p-8f;
}

/* Distribute the weight `whole` over four neighbours; the second ones have weight a in x and b in y. */
__mw_device __mw_shares __mw_tex_split(float whole, float a, float b) {
  float right = __mw_tex_share(whole, a), left = whole - right;
  float right_high = __mw_tex_share(right, b), left_low = __mw_tex_share(left, 1 - b);
  return {left_low, right - right_high, left - left_low, right_high};
}
/* The same for a whole of 1. */
__mw_device __mw_shares __mw_tex_split(float a, float b) {
  float both = __mw_tex_share(a, b), left_high = b - both;
  return {1 - a - left_high, a - both, left_high, both};
}

__mw_device float __mw_tex_weigh(const __mw_shares &by, float v00, float v10, float v01, float v11, float sum) {
  sum = __builtin_fmaf(by.of00, v00, sum);
  sum = __builtin_fmaf(by.of10, v10, sum);
  sum = __builtin_fmaf(by.of01, v01, sum);
  return __builtin_fmaf(by.of11, v11, sum);
}

template <int N>
__mw_device_template __mw_floats __mw_tex_blend(const __mw_shares &by, const __mw_corners &c, const __mw_floats &sum,
                                                const __mw_format<N> &f) {
  __mw_floats v = {__mw_tex_weigh(by, c.at00.x, c.at10.x, c.at01.x, c.at11.x, sum.x), 0, 0, 0};
  if (N > 1) v.y = __mw_tex_weigh(by, c.at00.y, c.at10.y, c.at01.y, c.at11.y, sum.y);
  if (N > 2) {
    v.z = __mw_tex_weigh(by, c.at00.z, c.at10.z, c.at01.z, c.at11.z, sum.z);
    v.w = __mw_tex_weigh(by, c.at00.w, c.at10.w, c.at01.w, c.at11.w, sum.w);
  }
  return v;
}

/* The initial sum: adding to -0 preserves the sign of zero. */
template <int N> __mw_device_template __mw_floats __mw_tex_nothing(const __mw_format<N> &f) {
  return {-0.0f, N > 1 ? -0.0f : 0, N > 2 ? -0.0f : 0, N > 2 ? -0.0f : 0};
}

/* ---- texels ---- */

/* Four neighbours (two in one dimension), or the first only; the others are then 0. */
template <int D, int N>
__mw_device_template __mw_square __mw_tex_square(const __mw_plane &p, int start, const __mw_axis &x, const __mw_axis &y,
                                                 bool all, const __mw_format<N> &f) {
  __mw_words none = {0, 0, 0, 0};
  int low = start + y.first * p.row, high = start + y.second * p.row;
  __mw_square square = {__mw_tex_load(p.base, low, x.first, f), none, none, none};
  if (all) {
    square.at10 = __mw_tex_load(p.base, low, x.second, f);
    if (D > 1) square.at01 = __mw_tex_load(p.base, high, x.first, f);
    if (D > 1) square.at11 = __mw_tex_load(p.base, high, x.second, f);
  }
  return square;
}

template <int N>
__mw_device_template __mw_corners __mw_tex_decode(const __mw_square &square, __mw_manner manner,
                                                  const __mw_format<N> &f) {
  return {__mw_tex_decode(square.at00, manner, f), __mw_tex_decode(square.at10, manner, f),
          __mw_tex_decode(square.at01, manner, f), __mw_tex_decode(square.at11, manner, f)};
}

/* The branch on the format is around all four. */
template <int N>
__mw_device_template __mw_corners __mw_tex_corners(const __mw_square &square, const __mw_format<N> &f) {
  __mw_manner manner = __mw_tex_manner(f);
  if (manner == __mw_as_floats) return __mw_tex_decode(square, __mw_as_floats, f);
  if (manner == __mw_as_halves) return __mw_tex_decode(square, __mw_as_halves, f);
  __mw_corners c = __mw_tex_decode(square, __mw_as_integers, f);
  if (f.srgb)
    c = {__mw_tex_linear_light(c.at00), __mw_tex_linear_light(c.at10), __mw_tex_linear_light(c.at01),
         __mw_tex_linear_light(c.at11)};
  return c;
}

/* With the border colour for neighbours that are outside. */
template <int N>
__mw_device_template __mw_corners __mw_tex_framed(const mw_tex_record *r, const __mw_corners &c, const __mw_axis &x,
                                                  const __mw_axis &y, bool inside, const __mw_format<N> &f) {
  __mw_floats border = __mw_tex_border(r, f);
  bool low = inside & y.first_inside, high = inside & y.second_inside;
  return {__mw_tex_choose(low & x.first_inside, c.at00, border), __mw_tex_choose(low & x.second_inside, c.at10, border),
          __mw_tex_choose(high & x.first_inside, c.at01, border),
          __mw_tex_choose(high & x.second_inside, c.at11, border)};
}

/* ---- all of it ---- */

/* A 1-D texture is one of height 1, sampled at y = 0: halfway between its only row and the one before. That is the row
   again, unless y has border addressing. Layers have no such neighbours. The weight of the row: */
__mw_device float __mw_tex_row_weight(const mw_tex_record *r, const __mw_tex_position &s) {
  return __mw_fixed(r->kind) == MW_TEX_1D && __mw_tex_has_border(r, s, 1) ? 0.5f : 1.0f;
}

template <int D, int N>
__mw_device_template __mw_floats __mw_tex_sample(__mw_dimensions<D>, const mw_tex_record *r, const __mw_plane &p,
                                                 const __mw_tex_position &s, const __mw_format<N> &f) {
  bool filtered = __mw_fixed(r->filter) == MW_TEX_FILTER_LINEAR;
  __mw_axes at = __mw_tex_axes<D>(r, p, s, filtered);
  __mw_floats sum = __mw_tex_nothing(f);
  int slice = s.slice + at.z.first, count = D > 2 && filtered ? 2 : 1;
  bool inside = at.z.first_inside;
  float whole = 1 - at.z.weight;
#pragma clang loop unroll(disable) /* one copy of the code is enough */
  for (int n = 0; n < count; ++n) {
    __mw_corners c = __mw_tex_corners(__mw_tex_square<D>(p, slice * p.slice, at.x, at.y, filtered, f), f);
    if (__mw_tex_has_border<D>(r, s)) c = __mw_tex_framed(r, c, at.x, at.y, inside, f);
    if (D == 1) {
      if (filtered) c.at01 = c.at00, c.at11 = c.at10, c.at00 = c.at10 = __mw_tex_border(r, f);
    }
    if (filtered) {
      __mw_shares by = D == 1   ? __mw_tex_split(at.x.weight, __mw_tex_row_weight(r, s))
                       : D == 2 ? __mw_tex_split(at.x.weight, at.y.weight)
                                : __mw_tex_split(whole, at.x.weight, at.y.weight);
      sum = __mw_tex_blend(by, c, sum, f);
    } else {
      sum = c.at00;
    }
    slice = s.slice + at.z.second, inside = at.z.second_inside, whole = at.z.weight;
  }
  return __mw_tex_finish(sum, f, filtered);
}

#endif
