/* The record that a texture or surface handle points to: in device memory, written by the host and read by fetches.
 *
 * cudaTextureObject_t, cudaSurfaceObject_t and the variable of a texture or surface reference hold the address of an
 * mw_tex_record, or 0 if nothing is bound (the host refuses to launch a kernel with an unbound reference). Both the
 * core (C) and the device headers (CUDA C) include this file, so it has only plain structs with fields of fixed size.
 * The host replaces records between launches only: for a kernel they are constant.
 *
 * Fetches rely on these properties of a record, which the host guarantees:
 *   - channel_kind, channel_bits and channels are one of the combinations below, texel_bytes is their product in bytes;
 *   - `address` is wrap or mirror only if `normalized` is set (otherwise the host replaces it by clamp, as in CUDA);
 *     axes that the kind does not have are also set as requested: a 1-D texture is 2-D of height 1 at y = 0;
 *   - `filter` is linear only if a fetch returns floats (float channels, or read as normalized floats), and
 *     MW_TEX_READ_NORMALIZED is used only with 8- and 16-bit integers;
 *   - sizes are at least 1, except the width of MW_TEX_LINEAR; the levels' memory is all there;
 *   - base, row_pitch and slice_pitch are multiples of 4, the aligned 4-byte word around each texel is the allocation's
 *     own, and a level spans at most 8 GiB: fetches read such words, by an int's worth of index.
 * Texels are in row-major order, x fastest, components together: the address of (x, y, z) in a level is base + z *
 * slice_pitch + y * row_pitch + x * texel_bytes. A layer takes the place of z, as does a face of a cubemap (+x, -x, +y,
 * -y, +z, -z), and face + 6 * layer of a layered one. */
#ifndef MOONWARP_TEXTURE_DESCRIPTOR_H
#define MOONWARP_TEXTURE_DESCRIPTOR_H

#include <stdint.h>

/* The kind of texture, which the fetch functions' names distinguish. The record has it for the host's checks and for
   functions that serve several kinds. */
typedef enum mw_tex_kind {
  MW_TEX_LINEAR,  /* linear memory, read by element index: levels[0].width elements */
  MW_TEX_PITCHED, /* 2-D in linear memory with a row pitch */
  MW_TEX_1D,      /* from here on, CUDA arrays */
  MW_TEX_2D,
  MW_TEX_3D,
  MW_TEX_1D_LAYERED,
  MW_TEX_2D_LAYERED,
  MW_TEX_CUBEMAP,        /* 6 faces, square */
  MW_TEX_CUBEMAP_LAYERED /* 6 * layers faces */
} mw_tex_kind;

/* The kind of a channel, with CUDA's numbers (cudaChannelFormatKind). Signed and unsigned: 8, 16 or 32 bits; float: 16
   (half) or 32. One, two or four channels. */
typedef enum mw_tex_channel_kind {
  MW_TEX_CHANNEL_SIGNED,
  MW_TEX_CHANNEL_UNSIGNED,
  MW_TEX_CHANNEL_FLOAT
} mw_tex_channel_kind;

/* CUDA's numbers (cudaTextureAddressMode). */
typedef enum mw_tex_address {
  MW_TEX_ADDRESS_WRAP,
  MW_TEX_ADDRESS_CLAMP,
  MW_TEX_ADDRESS_MIRROR,
  MW_TEX_ADDRESS_BORDER
} mw_tex_address;

typedef enum mw_tex_filter { MW_TEX_FILTER_POINT, MW_TEX_FILTER_LINEAR } mw_tex_filter;

/* MW_TEX_READ_NORMALIZED: unsigned integers become [0, 1], signed ones [-1, 1]. */
typedef enum mw_tex_read { MW_TEX_READ_ELEMENT, MW_TEX_READ_NORMALIZED } mw_tex_read;

#define MW_TEX_LEVELS 18 /* 2^17 texels on an axis, the most there can be, and all their halvings */

typedef struct mw_tex_level {
  uint64_t base;        /* device address of the first texel */
  uint64_t row_pitch;   /* bytes from a row to the next */
  uint64_t slice_pitch; /* bytes from a slice, layer or face to the next */
  uint32_t width;       /* texels; 1 on the axes that the kind does not have */
  uint32_t height;
  uint32_t depth; /* of a 3-D texture; 1 for all others */
  uint32_t reserved;
} mw_tex_level;

typedef struct mw_tex_record {
  uint32_t kind;         /* mw_tex_kind */
  uint32_t channel_kind; /* mw_tex_channel_kind */
  uint32_t channel_bits; /* of each channel: 8, 16, 32 */
  uint32_t channels;     /* 1, 2, 4 */
  uint32_t texel_bytes;
  uint32_t layers;     /* of the layered kinds (a cubemap's layers, not its faces), else 1 */
  uint32_t address[3]; /* mw_tex_address, of x, y, z */
  uint32_t filter;     /* mw_tex_filter, of magnification and within a level */
  uint32_t read;       /* mw_tex_read */
  uint32_t normalized; /* coordinates: 0 in texels, 1 as fractions of the size */
  uint32_t srgb;       /* x, y, z (8 bits, unsigned, MW_TEX_READ_NORMALIZED) are made linear before filtering */
  uint32_t seamless;   /* a cubemap is filtered across its edges */
  float border[4];     /* the value outside, with MW_TEX_ADDRESS_BORDER */
  /* Mipmaps. The level of detail is the fetch's + lod_bias, clamped to [lod_min, lod_max] and then to [0, levels - 1].
     Without mipmaps level_count is 1. */
  uint32_t level_count;
  uint32_t mip_filter; /* mw_tex_filter, between levels */
  float lod_bias, lod_min, lod_max;
  uint32_t max_anisotropy; /* accepted and ignored: filtering is isotropic */
  mw_tex_level levels[MW_TEX_LEVELS];
} mw_tex_record;

#endif
