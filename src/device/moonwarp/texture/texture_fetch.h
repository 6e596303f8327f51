/* Fetching by a record: chooses the level, samples it, and converts the result. The fetch functions themselves are in
 * texture_functions.h.
 *
 * A fetch's type and, of references, the declared reading mode choose a reader: of floats (float, half and normalized
 * integers), or of unconverted integers, which are never filtered. */
#ifndef MOONWARP_TEXTURE_FETCH_H
#define MOONWARP_TEXTURE_FETCH_H

#include "moonwarp/texture/texture_level.h"
#include "moonwarp/texture/texture_sample.h"

template <int N>
__mw_device_template __mw_floats __mw_tex_mix(const __mw_floats &v, const __mw_floats &sum, float weight,
                                              const __mw_format<N> &f) {
  return {__builtin_fmaf(weight, v.x, sum.x), N > 1 ? __builtin_fmaf(weight, v.y, sum.y) : 0,
          N > 2 ? __builtin_fmaf(weight, v.z, sum.z) : 0, N > 2 ? __builtin_fmaf(weight, v.w, sum.w) : 0};
}

/* A sample of one level, or the blend of two. */
template <int D, int N>
__mw_device_template __mw_floats __mw_tex_floats(const mw_tex_record *r, const __mw_tex_position &s, float lod,
                                                 const __mw_format<N> &f) {
  __mw_levels levels = __mw_tex_levels(r, lod);
  __mw_floats sum = __mw_tex_nothing(f);
#pragma clang loop unroll(disable)
  for (int n = 0; n < levels.count; ++n) {
    __mw_plane p = __mw_tex_plane(&r->levels[n ? levels.second : levels.first]);
    __mw_floats v = __mw_tex_sample(__mw_dimensions<D>(), r, p, s, f);
    sum = __mw_tex_mix(v, sum, n ? levels.weight : 1 - levels.weight, f);
  }
  return sum;
}

/* Linear memory: element i, or 0 outside. If there are no elements, other memory is read and not used. */
template <int N>
__mw_device_template __mw_words __mw_tex_element(const mw_tex_record *r, int i, const __mw_format<N> &f) {
  unsigned int width = __mw_fixed(r->levels[0].width);
  const unsigned int *base = width ? (const unsigned int *)__mw_fixed(r->levels[0].base) : (const unsigned int *)r;
  bool inside = (unsigned int)i < width;
  __mw_words v = __mw_tex_load(base, 0, inside ? i : 0, f);
  return {inside ? v.x : 0, inside ? v.y : 0, inside ? v.z : 0, inside ? v.w : 0};
}

/* The four texels that a linear filter would blend. */
struct __mw_neighbours {
  __mw_plane plane;
  __mw_axis x, y;
};

__mw_device __mw_neighbours __mw_tex_neighbours(const mw_tex_record *r, float x, float y) {
  __mw_plane p = __mw_tex_plane(r->levels);
  __mw_tex_position s = {x, y, 0, 0, false, true};
  __mw_axes at = __mw_tex_axes<2>(r, p, s, true);
  bool endless_x = !__mw_tex_has_border(r, s, 0), endless_y = !__mw_tex_has_border(r, s, 1);
  at.x.first_inside |= endless_x, at.x.second_inside |= endless_x;
  at.y.first_inside |= endless_y, at.y.second_inside |= endless_y;
  return {p, at.x, at.y};
}

/* Directions become positions on a face: texture_cube.h. */
template <int D>
__mw_device_template __mw_tex_position __mw_tex_position_of(__mw_dimensions<D>, const __mw_tex_position &s) {
  return s;
}

__mw_device float __mw_tex_component(const __mw_floats &v, int n) {
  return n == 0 ? v.x : n == 1 ? v.y : n == 2 ? v.z : v.w;
}

/* One component of each of the four texels, counter-clockwise from the lower left, with y pointing down. */
__mw_device __mw_floats __mw_tex_gather(const __mw_corners &c, int n) {
  return {__mw_tex_component(c.at01, n), __mw_tex_component(c.at11, n), __mw_tex_component(c.at10, n),
          __mw_tex_component(c.at00, n)};
}

/* ---- readers ---- */

template <class T, int Mode, bool Floats> struct __mw_reader;

/* Objects do not declare a mode: the fetch's type is the type of the result, and the record has the texels'. */
enum { __mw_tex_any_mode = -1 };

template <class T, int Mode> struct __mw_reader<T, Mode, true> {
  typedef __mw_texel<T> texel;
  typedef typename texel::floats result;
  typedef float4 quad;

  template <int N> static __mw_device_template __mw_format<N> format(const mw_tex_record *r) {
    if (Mode == __mw_tex_any_mode) return __mw_format_of<N>(r);
    if (texel::kind == MW_TEX_CHANNEL_FLOAT) return __mw_format_of_floats<N>(r, texel::channels);
    return __mw_format_of<N>(r, texel::channels, texel::bits, texel::kind);
  }
  static __mw_device_template result typed(const __mw_floats &v) {
    return __mw_texel<result>::pack(v.x, v.y, v.z, v.w);
  }
  template <int D>
  static __mw_device_template result at(const mw_tex_record *r, const __mw_tex_position &s, float lod) {
    return typed(__mw_tex_floats<D>(r, s, lod, format<texel::channels>(r)));
  }
  static __mw_device_template result element(const mw_tex_record *r, int i) {
    __mw_format<texel::channels> f = format<texel::channels>(r);
    __mw_words v = __mw_tex_element(r, i, f), none = {0, 0, 0, 0};
    return typed(__mw_tex_finish(__mw_tex_corners({v, none, none, none}, f).at00, f, false));
  }
  static __mw_device_template quad gather(const mw_tex_record *r, float x, float y, int component) {
    __mw_format<4> f = format<4>(r), all = f;
    all.channels = 4;
    __mw_neighbours at = __mw_tex_neighbours(r, x, y);
    __mw_corners c = __mw_tex_corners(__mw_tex_square<2>(at.plane, 0, at.x, at.y, true, f), f);
    __mw_floats v = __mw_tex_gather(__mw_tex_framed(r, c, at.x, at.y, true, f), component);
    if (component >= f.channels) v = {0, 0, 0, 0};
    v = __mw_tex_finish(v, all, false);
    return __mw_texel<quad>::pack(v.x, v.y, v.z, v.w);
  }
};

/* A reference has texels of its type. An object may be fetched as another type: the texture unit returns 32-bit
   integers, extended according to the texel's format, which are truncated to the type of the fetch. */
template <class T, int Mode> struct __mw_reader<T, Mode, false> {
  typedef __mw_texel<T> texel;
  typedef T result;
  typedef typename texel::quad quad;
  static constexpr bool declared = Mode != __mw_tex_any_mode;

  template <int N> static __mw_device_template __mw_format<N> format(const mw_tex_record *r) {
    if (!declared) return __mw_format_of<N>(r);
    return __mw_format_of<N>(r, texel::channels, texel::bits, texel::kind);
  }
  /* Channel n; for references, bits above the channel's are undefined. */
  template <int N>
  static __mw_device_template unsigned int channel(const mw_tex_record *r, const __mw_words &v, int n, bool inside,
                                                   const __mw_format<N> &f) {
    unsigned int bits = __mw_tex_channel(v, n, f.bits);
    if (!declared) bits = n < f.channels ? __mw_tex_extend(bits, f.bits, f.kind) : 0;
    return inside ? bits : __mw_tex_border_channel(r, n, f.kind);
  }
  template <int N>
  static __mw_device_template T typed(const mw_tex_record *r, const __mw_words &v, bool inside,
                                      const __mw_format<N> &f) {
    return texel::pack(channel(r, v, 0, inside, f), channel(r, v, 1, inside, f), channel(r, v, 2, inside, f),
                       channel(r, v, 3, inside, f));
  }
  template <int D> static __mw_device_template T at(const mw_tex_record *r, const __mw_tex_position &spot, float lod) {
    __mw_plane p = __mw_tex_plane(&r->levels[__mw_tex_levels(r, lod).first]);
    __mw_tex_position s = __mw_tex_position_of(__mw_dimensions<D>(), spot);
    __mw_axes at = __mw_tex_axes<D ? D : 2>(r, p, s, false);
    bool inside = __mw_tex_first_inside(at) | !__mw_tex_has_border<D>(r, s);
    __mw_format<texel::channels> f = format<texel::channels>(r);
    return typed(r, __mw_tex_first(p, s, at, f), inside, f);
  }
  static __mw_device_template T element(const mw_tex_record *r, int i) {
    __mw_format<texel::channels> f = format<texel::channels>(r);
    return typed(r, __mw_tex_element(r, i, f), true, f);
  }
  static __mw_device_template quad gather(const mw_tex_record *r, float x, float y, int n) {
    __mw_neighbours at = __mw_tex_neighbours(r, x, y);
    __mw_format<4> f = format<4>(r);
    if (n >= f.channels) return __mw_texel<quad>::pack(0, 0, 0, 0);
    __mw_square v = __mw_tex_square<2>(at.plane, 0, at.x, at.y, true, f);
    return __mw_texel<quad>::pack(channel(r, v.at01, n, at.x.first_inside && at.y.second_inside, f),
                                  channel(r, v.at11, n, at.x.second_inside && at.y.second_inside, f),
                                  channel(r, v.at10, n, at.x.second_inside && at.y.first_inside, f),
                                  channel(r, v.at00, n, at.x.first_inside && at.y.first_inside, f));
  }
};

template <class T, int Mode>
using __mw_reader_of =
    __mw_reader<T, Mode, Mode == cudaReadModeNormalizedFloat || __mw_texel<T>::kind == MW_TEX_CHANNEL_FLOAT>;

#endif
