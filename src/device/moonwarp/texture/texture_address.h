/* Addressing: from a coordinate to texels of one axis, whether they are inside, and the weight of the second one.
 *
 * As by an H100's texture unit (docs/build/texture_arithmetic.md): a normalized coordinate is multiplied by the size,
 * in float. Point sampling takes its floor. Linear filtering subtracts 1/2 and rounds to 1/256 of a texel (halves up);
 * the eight fraction bits are the weight. NaN is taken as 0.
 *
 * Decisions that depend on the record only are uniform branches or selects; those that depend on the coordinate are
 * arithmetic without branches. */
#ifndef MOONWARP_TEXTURE_ADDRESS_H
#define MOONWARP_TEXTURE_ADDRESS_H

#include "moonwarp/texture/texture_types.h"

/* Two neighbours on an axis, or one texel, the first. Their indices are clamped into the texture. */
struct __mw_axis {
  int first, second;
  bool first_inside, second_inside; /* with border addressing */
  float weight;                     /* of the second, a multiple of 1/256 below 1 */
};

/* How an axis is addressed. */
struct __mw_axis_mode {
  unsigned int mode; /* mw_tex_address */
  bool normalized;
  bool filtered; /* two texels are blended, otherwise the floor is taken */
  bool gathered; /* two texels are returned: at an edge they are the same, rather than the second having weight 0 */
};

static_assert(MW_TEX_ADDRESS_CLAMP == 1 && MW_TEX_ADDRESS_BORDER == 3, "odd modes do not repeat");

__mw_device int __mw_tex_between(int i, int least, int most) {
  i = i < least ? least : i;
  return i > most ? most : i;
}

/* i modulo n, for i within 2^22: the quotient in float is at most one off. */
__mw_device int __mw_tex_modulo(int i, int n) {
  float inverse = 1.0f / (float)n;
  int rest = i - (int)__builtin_floorf((float)i * inverse) * n;
  rest += rest < 0 ? n : 0;
  return rest - (rest >= n ? n : 0);
}

/* Maps a position in two repetitions, or in a texture and its mirror image, to one in the texture. */
__mw_device int __mw_tex_folded(int i, int size, int period) {
  int back = period - 1 - i;
  back = back < 0 ? 0 : back; /* past the last position is the first */
  return i < size ? i : back;
}

__mw_device __mw_axis __mw_tex_address(float x, int size, const __mw_axis_mode &way) {
  bool repeats = !(way.mode & 1), holds = way.mode == MW_TEX_ADDRESS_CLAMP && !way.gathered;
  float scale = way.normalized ? (float)size : 1.0f;
  if (repeats) { /* reduce to two repetitions: an int might not hold the position in units of 1/256 */
    float far = __builtin_fabsf(x * scale) >= 0x1p22f;
    x -= 2 * __builtin_floorf(x * 0.5f) * far;
  }
  /* in units of 1/512 texel, saturated, and then of 1/256 */
  int fine = (int)__builtin_floorf(x * scale * 512);
  int at = (fine >> 1) + (fine & (way.filtered ? 1 : 0)) - (way.filtered ? 128 : 0);
  at = __mw_tex_between(at, holds ? 0 : -0x7fffffff, holds ? (size - 1) * 256 : 0x7fffffff);
  int first = at >> 8, second = first + 1;
  if (repeats) {
    int period = way.mode == MW_TEX_ADDRESS_WRAP ? size : 2 * size, position = __mw_tex_modulo(first, period);
    first = __mw_tex_folded(position, size, period);
    second = __mw_tex_folded(position + 1, size, period);
  }
  bool first_inside = (unsigned int)first < (unsigned int)size,
       second_inside = (unsigned int)second < (unsigned int)size;
  return {__mw_tex_between(first, 0, size - 1), __mw_tex_between(second, 0, size - 1), first_inside, second_inside,
          (float)(at & 255) * 0x1p-8f};
}

#endif
