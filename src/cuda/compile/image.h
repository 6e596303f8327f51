/* Compiled files: what NVRTC generated for one architecture, the facts that describe.c found, and what compiling
 * further instances needs. The format: a line MWCUDA2; the parts, each "name length\n" and that many bytes; the hash
 * of all before; the key of the entry in the compile cache. */
#ifndef MW_CUDA_IMAGE_H
#define MW_CUDA_IMAGE_H

#include "core/core.h"

typedef enum image_part {
  IMAGE_ARCH,    /* "sm_90": of the cubin */
  IMAGE_CUBIN,   /* machine code */
  IMAGE_PTX,     /* for devices that the cubin does not fit */
  IMAGE_FACTS,   /* kernels, variables and types: module_metadata.c */
  IMAGE_SOURCE,  /* as compiled */
  IMAGE_OPTIONS, /* one a line */
  IMAGE_LOG,     /* warnings */
  IMAGE_DEPENDS, /* files that were included: "size mtime_ns path" */
  IMAGE_PARTS
} image_part;

/* A part that is absent has no data. All parts are NUL-terminated. */
typedef struct cuda_image {
  mw_text parts[IMAGE_PARTS];
} cuda_image;

int cuda_image_write(const cuda_image *image, const char *path);
/* Also reads a cubin or PTX that another compiler wrote, which has no facts. MW_INVALID_KERNEL_IMAGE. */
int cuda_image_read(const char *path, cuda_image *out);
void cuda_image_free(cuda_image *image);

#endif
