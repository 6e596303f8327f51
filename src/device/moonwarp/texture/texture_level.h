/* The levels of a mipmapped texture that a fetch reads, and the blend of two.
 *
 * The level of detail is a number of halvings: the fetch's plus the texture's bias, clamped to the texture's bounds. A
 * fetch without one takes the lower bound, whatever the bias. Its fraction is a multiple of 1/256, rounded down.
 * Without mipmaps there is one level, and all of this is uniform. */
#ifndef MOONWARP_TEXTURE_LEVEL_H
#define MOONWARP_TEXTURE_LEVEL_H

#include "moonwarp/texture/texture_types.h"

/* The level of detail of a fetch without one: lower than any bias compensates. */
#define __mw_tex_unnamed (-1e30f)

struct __mw_levels {
  int first, second, count; /* count: 1, or 2 where levels are blended */
  float weight;             /* of the second */
};

__mw_device __mw_levels __mw_tex_levels(const mw_tex_record *r, float lod) {
  if (__mw_fixed(r->level_count) == 1) return {0, 0, 1, 0};
  float last = (float)(__mw_fixed(r->level_count) - 1);
  lod = __builtin_fminf(__builtin_fmaxf(lod + __mw_fixed(r->lod_bias), __mw_fixed(r->lod_min)), __mw_fixed(r->lod_max));
  lod = __builtin_fminf(__builtin_fmaxf(lod, 0), last);
  bool linear = __mw_fixed(r->mip_filter) == MW_TEX_FILTER_LINEAR;
  int at = linear ? (int)(lod * 256) : (int)(lod + 0.5f) * 256; /* not negative */
  int first = at >> 8, second = first + (first + 1 < (int)__mw_fixed(r->level_count) ? 1 : 0);
  return {first, second, linear ? 2 : 1, (float)(at & 255) * 0x1p-8f};
}

/* The level of detail for gradients in texels: that of the longer one. */
__mw_device float __mw_tex_detail(float dx_squared, float dy_squared) {
  return 0.5f * log2f(__builtin_fmaxf(dx_squared, dy_squared));
}

#endif
