/* Texture memory: declarations shared by channel_format.c, cuda_array.c, copy_3d.c, texture.c, sampler.c and
 * texture_reference.c. */
#ifndef MW_TEXTURE_H
#define MW_TEXTURE_H

#include "core/core.h"
#include "device/moonwarp/texture/texture_descriptor.h"

/* The most bytes of a level, so that an int can index its 4-byte words. */
#define MW_TEX_MOST_BYTES ((size_t)8 << 30)

/* ---- channel_format.c ---- */

/* MW_INVALID_CHANNEL_DESCRIPTOR unless texels may have this format. */
int mw_channels_check(const mw_channels *channels);
size_t mw_channels_bytes(const mw_channels *channels);
/* The name of the element type: "float4", "uchar". */
typedef struct mw_channels_text {
  char text[16];
} mw_channels_text;
mw_channels_text mw_channels_name(const mw_channels *channels);

/* ---- cuda_array.c ---- */

struct mw_cuda_array {
  mw_refs refs;
  mw_buffer *buffer;    /* all levels in sequence; or the driver's own array */
  bool native;          /* the driver's own array */
  size_t bytes;         /* of such an array, approximately */
  bool lent;            /* a part of an OpenGL image, freed when the image is unmapped */
  size_t first;         /* for a level of another array: its number, */
  mw_cuda_array *whole; /* and that array, retained; else NULL */
  mw_cuda_array_desc desc;
  mw_tex_level levels[MW_TEX_LEVELS]; /* `base` as an offset in the buffer */
};

/* Slices of a level: its depth, its layers, six faces a layer. */
size_t mw_cuda_array_slices(const mw_cuda_array *array, size_t level);
/* Wrap an existing array of the driver; `give_back` destroys it. */
int mw_cuda_array_over(mw_device *device, const mw_cuda_array_desc *desc, uint64_t handle,
                       void (*give_back)(void *device, uint64_t handle), mw_cuda_array **out);
const char *mw_cuda_array_kind_name(mw_cuda_array_kind kind); /* "a 2-D CUDA array" */

/* ---- copy_3d.c ---- */

/* Check a copy's box in an array, and find its start: an address with a pitch and the distance between slices in rows,
   which are meaningless if the array is the driver's own. `side` is "source" or "target". */
int mw_box_locate(const mw_array_place *place, const char *side, size_t width, size_t height, size_t depth,
                  uint64_t *address, size_t *pitch, size_t *rows);

/* ---- texture.c ---- */

struct mw_texture {
  mw_refs refs;
  bool is_surface;
  mw_device *device;
  mw_cuda_array *array; /* the memory: one of the two, retained */
  mw_buffer *buffer;
  mw_resource resource; /* as passed to mw_texture_new */
  size_t offset;        /* mw_texture_offset */
  size_t level;         /* of a surface */

  pthread_mutex_t lock; /* for what follows */
  mw_buffer *record;    /* device memory, or the driver's own texture: the handle is its address */
  mw_buffer **before;   /* earlier textures of the driver whose handles have been exported */
  size_t before_count;
  bool exported; /* callers have the handle: the record must stay in place */
  mw_texture_desc desc;
  mw_tex_record now; /* the record's contents after the work queued so far */
};

/* Take uses of the record and of the texture's memory, at most two, for a command; *handle (may be NULL) is the
   record's address. Fails if the memory was freed. */
struct mw_command;
int mw_texture_use(mw_texture *texture, struct mw_command *command, uint64_t *handle);
#define MW_TEXTURE_BUFFERS 2
/* Whether the handle does not change while the texture lives; if so, the buffers that mw_texture_use uses, borrowed. */
bool mw_texture_is_settled(mw_texture *texture, mw_buffer *buffers[MW_TEXTURE_BUFFERS]);
/* The same buffers, retained under the lock that guards the record; the caller releases them. */
void mw_texture_hold(mw_texture *texture, mw_buffer *buffers[MW_TEXTURE_BUFFERS]);
/* Resolve MW_READ_AUTO to `read`; false if it was resolved differently before. */
int mw_texture_decide(mw_texture *texture, mw_read_mode read, bool *agreed);

/* ---- sampler.c: the sampling parameters of a record ---- */

/* Check the description against the memory's format, and write it into the record. */
int mw_sampler_apply(const mw_texture_desc *desc, mw_read_mode read, mw_tex_record *record);

#endif
