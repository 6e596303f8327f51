/* Texture memory, as channel_format.c, cuda_array.c, copy_3d.c, texture.c, sampler.c and texture_reference.c share it. */
#ifndef MW_TEXTURE_H
#define MW_TEXTURE_H

#include "core/core.h"
#include "device/moonwarp/texture/texture_descriptor.h"

/* What a level may have, so that its 4-byte words can be counted by an int. */
#define MW_TEX_MOST_BYTES ((size_t)8 << 30)

/* ---- channel_format.c ---- */

/* MW_INVALID_CHANNEL_DESCRIPTOR unless there are texels of this kind. */
int mw_channels_check(const mw_channels *channels);
size_t mw_channels_bytes(const mw_channels *channels);
/* "float4", "uchar": as the element type is called. */
typedef struct mw_channels_text {
  char text[16];
} mw_channels_text;
mw_channels_text mw_channels_name(const mw_channels *channels);

/* ---- cuda_array.c ---- */

struct mw_cuda_array {
  mw_refs refs;
  mw_buffer *buffer;    /* all levels, one behind the other; or the driver's own array */
  bool native;          /* the latter */
  size_t bytes;         /* of such a one, about */
  bool lent;            /* a part of an image of OpenGL's, which goes when that is unmapped */
  size_t first;         /* of a level of another array: which one it is in the buffer, */
  mw_cuda_array *whole; /* and that array, retained; else NULL */
  mw_cuda_array_desc desc;
  mw_tex_level levels[MW_TEX_LEVELS]; /* `base` as a distance from the buffer's start */
};

/* Slices of a level: its depth, its layers, six faces a layer. */
size_t mw_cuda_array_slices(const mw_cuda_array *array, size_t level);
/* An array that the driver has already; it goes by `give_back`. */
int mw_cuda_array_over(mw_device *device, const mw_cuda_array_desc *desc, uint64_t handle,
                       void (*give_back)(void *device, uint64_t handle), mw_cuda_array **out);
const char *mw_cuda_array_kind_name(mw_cuda_array_kind kind); /* "a 2-D CUDA array" */

/* ---- copy_3d.c ---- */

/* Where a box of a copy begins in an array, checked: an address with its pitch and the rows from slice to slice, which
   mean nothing where the array is the driver's own. `side` is "source" or "target". */
int mw_box_locate(const mw_array_place *place, const char *side, size_t width, size_t height, size_t depth,
                  uint64_t *address, size_t *pitch, size_t *rows);

/* ---- texture.c ---- */

struct mw_texture {
  mw_refs refs;
  bool is_surface;
  mw_device *device;
  mw_cuda_array *array; /* what is read: one of the two, retained */
  mw_buffer *buffer;
  mw_resource resource; /* as asked for */
  size_t offset;        /* mw_texture_offset */
  size_t level;         /* of a surface */

  pthread_mutex_t lock; /* for what follows */
  mw_buffer *record;    /* device memory, or the driver's own texture: the handle is its address */
  mw_buffer **before;   /* driver's textures whose handles are known outside */
  size_t before_count;
  bool exported; /* the handle is known outside: the record stays where it is */
  mw_texture_desc desc;
  mw_tex_record now; /* what the record will hold when the work queued so far is done */
};

/* Take uses of the record and of what it leads to, two at most, for a command; *handle (may be NULL) is the record's
   address. Fails where memory was freed. */
struct mw_command;
int mw_texture_use(mw_texture *texture, struct mw_command *command, uint64_t *handle);
#define MW_TEXTURE_BUFFERS 2
/* Whether the handle stays what it is while the texture lives; then what mw_texture_use takes uses of, borrowed. */
bool mw_texture_is_settled(mw_texture *texture, mw_buffer *buffers[MW_TEXTURE_BUFFERS]);
/* The same buffers, retained while nobody can replace the record: the caller releases them. */
void mw_texture_hold(mw_texture *texture, mw_buffer *buffers[MW_TEXTURE_BUFFERS]);
/* Decide MW_READ_AUTO as `read`; true unless it was decided otherwise before. */
int mw_texture_decide(mw_texture *texture, mw_read_mode read, bool *agreed);

/* ---- sampler.c: the part of a record that says how to read ---- */

/* Check the description against what is read, and write it into the record. */
int mw_sampler_apply(const mw_texture_desc *desc, mw_read_mode read, mw_tex_record *record);

#endif
