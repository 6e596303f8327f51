/* Compiled files: what NVRTC made for one architecture, what describe.c found out about it, and what further instances
 * take. A line MWCUDA2, then parts, each "name length\n" and so many bytes, the hash over all before, and last the key of the
 * cache's entry that it is. */
#ifndef MW_CUDA_IMAGE_H
#define MW_CUDA_IMAGE_H

#include "core/core.h"

typedef enum image_part {
  IMAGE_ARCH,    /* "sm_90": of the cubin */
  IMAGE_CUBIN,   /* machine code */
  IMAGE_PTX,     /* for devices that the cubin is not for */
  IMAGE_FACTS,   /* kernels, variables and types: module_metadata.c */
  IMAGE_SOURCE,  /* as compiled */
  IMAGE_OPTIONS, /* one a line */
  IMAGE_LOG,     /* warnings */
  IMAGE_DEPENDS, /* files that were included: "size mtime_ns path" */
  IMAGE_PARTS
} image_part;

/* A part that is not there has no data. All are NUL-terminated besides. */
typedef struct cuda_image {
  mw_text parts[IMAGE_PARTS];
} cuda_image;

int cuda_image_write(const cuda_image *image, const char *path);
/* Also takes a cubin or PTX by itself, as other compilers write it: then it holds no facts. MW_INVALID_KERNEL_IMAGE. */
int cuda_image_read(const char *path, cuda_image *out);
void cuda_image_free(cuda_image *image);

#endif
