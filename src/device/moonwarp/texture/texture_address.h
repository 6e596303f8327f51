/* From a coordinate to texels of one axis: which ones, whether they are inside, and how much the second one weighs.
 *
 * As an H100's texture unit does it (docs/build/texture_arithmetic.md): a normalized coordinate is multiplied by the size, in float; point
 * sampling takes the floor of it; linear filtering rounds it to 1/256 of a texel (half of that goes up), a half less, and
 * the eight bits behind the point are the weight. Coordinates that are no number read as 0.
 *
 * What depends on the record alone is a branch or a choice for all threads together; what depends on the coordinate is
 * arithmetic without branches. */
#ifndef MOONWARP_TEXTURE_ADDRESS_H
#define MOONWARP_TEXTURE_ADDRESS_H

#include "moonwarp/texture/texture_types.h"

/* Two neighbours on an axis, or one texel, the first. Their indices are inside the texture even where they are not. */
struct __mw_axis {
  int first, second;
  bool first_inside, second_inside; /* where there is a border */
  float weight;                     /* of the second, a multiple of 1/256 below 1 */
};

/* How an axis is addressed. */
struct __mw_way {
  unsigned int mode; /* mw_tex_address */
  bool normalized;
  bool filtered; /* two texels, or the one below */
  bool gathered; /* two, to be looked at, not blended: on an edge both are the same, instead of the second weighing 0 */
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

/* Of two repetitions, or a texture and its mirror image, a position: as one of the texture. */
__mw_device int __mw_tex_folded(int i, int size, int period) {
  int back = period - 1 - i;
  back = back < 0 ? 0 : back; /* from behind the last position to the first */
  return i < size ? i : back;
}

__mw_device __mw_axis __mw_tex_address(float x, int size, const __mw_way &way) {
  bool repeats = !(way.mode & 1), holds = way.mode == MW_TEX_ADDRESS_CLAMP && !way.gathered;
  float scale = way.normalized ? (float)size : 1.0f;
  if (repeats) { /* so far away that an int cannot count texels in 1/256: two repetitions do */
    float far = __builtin_fabsf(x * scale) >= 0x1p22f;
    x -= 2 * __builtin_floorf(x * 0.5f) * far;
  }
  /* in 1/512 of a texel, saturated, and then in 1/256 */
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
