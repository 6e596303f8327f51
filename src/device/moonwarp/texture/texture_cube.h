/* Cubemaps: from a direction to a face and a position on it, and filtering across edges.
 *
 * The face is that of the largest coordinate (z before y before x if they are equal, as on an H100); the position is
 * the other two divided by it. (CUDA C programming guide 11.2, cubemap textures) */
#ifndef MOONWARP_TEXTURE_CUBE_H
#define MOONWARP_TEXTURE_CUBE_H

#include "moonwarp/texture/texture_fetch.h"

/* The direction in the face's coordinate system: right, down, outward (not negative). */
struct __mw_facing {
  int number;
  float right, down, out;
};

__mw_device __mw_facing __mw_cube_facing(float x, float y, float z) {
  float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y), az = __builtin_fabsf(z);
  bool on_z = az >= ax && az >= ay, on_y = !on_z && ay >= ax;
  __mw_facing along_x = {x < 0 ? 1 : 0, x < 0 ? z : -z, -y, ax};
  __mw_facing along_y = {y < 0 ? 3 : 2, x, y < 0 ? -z : z, ay};
  __mw_facing along_z = {z < 0 ? 5 : 4, z < 0 ? -x : x, -y, az};
  return {on_z   ? along_z.number
          : on_y ? along_y.number
                 : along_x.number,
          on_z   ? along_z.right
          : on_y ? along_y.right
                 : along_x.right,
          on_z   ? along_z.down
          : on_y ? along_y.down
                 : along_x.down,
          on_z   ? along_z.out
          : on_y ? along_y.out
                 : along_x.out};
}

__mw_device float __mw_cube_place(float along, float out) { return along / out * 0.5f + 0.5f; }

/* As a sampling position on the face; s.slice is the slice of the cube's first face. */
__mw_device __mw_tex_position __mw_tex_position_of(__mw_dimensions<0>, const __mw_tex_position &s) {
  __mw_facing at = __mw_cube_facing(s.x, s.y, s.z);
  return {__mw_cube_place(at.right, at.out), __mw_cube_place(at.down, at.out), 0, s.slice + at.number, true, false};
}

/* ---- across the edges ----
   A neighbour outside of its face lies on the plane of that face; the direction to it selects a texel of another face.
   At a corner of the cube three faces meet, and there is no fourth texel: the others share its weight. */

__mw_device __mw_tex_position __mw_cube_direction(const __mw_facing &at, int slice) {
  int n = at.number;
  float x = n == 0 ? at.out : n == 1 ? -at.out : n == 5 ? -at.right : at.right;
  float y = n == 2 ? at.out : n == 3 ? -at.out : -at.down;
  float z = n == 0 ? -at.right : n == 1 ? at.right : n == 2 ? at.down : n == 3 ? -at.down : n == 4 ? at.out : -at.out;
  return {x, y, z, slice, true, false};
}

/* Texel (column, row) of a face, of which one may be outside. */
template <int N>
__mw_device_template __mw_floats __mw_cube_texel(const mw_tex_record *r, const __mw_plane &p, int slice, int face,
                                                 int column, int row, const __mw_format<N> &f) {
  float step = 1.0f / (float)p.width;
  float right = (float)(2 * column + 1) * step - 1, down = (float)(2 * row + 1) * step - 1;
  __mw_tex_position s = __mw_tex_position_of(__mw_dimensions<0>(), __mw_cube_direction({face, right, down, 1}, slice));
  __mw_axes at = __mw_tex_axes<2>(r, p, s, false);
  return __mw_tex_corners(__mw_tex_square<2>(p, s.slice * p.slice, at.x, at.y, false, f), f).at00;
}

template <int N>
__mw_device_template __mw_floats __mw_cube_seamless(const mw_tex_record *r, const __mw_plane &p,
                                                    const __mw_tex_position &direction, const __mw_format<N> &f) {
  __mw_tex_position s = __mw_tex_position_of(__mw_dimensions<0>(), direction);
  int face = s.slice - direction.slice, size = p.width;
  /* with room for a texel outside on either side */
  __mw_axis_mode way = {MW_TEX_ADDRESS_CLAMP, false, true, false};
  __mw_axis x = __mw_tex_address(s.x * (float)size + 1, size + 2, way);
  __mw_axis y = __mw_tex_address(s.y * (float)size + 1, size + 2, way);
  bool left = x.first == 0, right = x.second == size + 1, low = y.first == 0, high = y.second == size + 1;
  __mw_shares by = __mw_tex_split(x.weight, y.weight);
  bool no00 = left & low, no10 = right & low, no01 = left & high, no11 = right & high;
  float spare = (no00 ? by.of00 : 0) + (no10 ? by.of10 : 0) + (no01 ? by.of01 : 0) + (no11 ? by.of11 : 0);
  spare *= 1.0f / 3;
  by = {no00 ? 0 : by.of00 + spare, no10 ? 0 : by.of10 + spare, no01 ? 0 : by.of01 + spare, no11 ? 0 : by.of11 + spare};
  __mw_floats sum = __mw_tex_nothing(f);
#pragma clang loop unroll(disable)
  for (int n = 0; n < 4; ++n) {
    int column = n & 1 ? x.second : x.first, row = n & 2 ? y.second : y.first;
    float weight = n == 0 ? by.of00 : n == 1 ? by.of10 : n == 2 ? by.of01 : by.of11;
    sum = __mw_tex_mix(__mw_cube_texel(r, p, direction.slice, face, column - 1, row - 1, f), sum, weight, f);
  }
  return sum;
}

template <int N>
__mw_device_template __mw_floats __mw_tex_sample(__mw_dimensions<0>, const mw_tex_record *r, const __mw_plane &p,
                                                 const __mw_tex_position &s, const __mw_format<N> &f) {
  if (__mw_fixed(r->seamless) && __mw_fixed(r->filter) == MW_TEX_FILTER_LINEAR)
    return __mw_tex_finish(__mw_cube_seamless(r, p, s, f), f, true);
  return __mw_tex_sample(__mw_dimensions<2>(), r, p, __mw_tex_position_of(__mw_dimensions<0>(), s), f);
}

#endif
