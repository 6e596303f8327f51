/* Names that only the source text has: parameters of kernels, lines, fields of structs. They are found in the text
 * before preprocessing, so they are guesses: the compiler checks them (describe.c), or they only appear in messages. */
#ifndef MW_CUDA_SOURCE_SCAN_H
#define MW_CUDA_SOURCE_SCAN_H

#include "cuda/cuda.h"

typedef struct scanned_kernel {
  char *name;  /* without namespaces */
  char *scope; /* "ns::", or "" */
  int line;    /* 0: in a header */
  char **params;
  size_t param_count;
} scanned_kernel;

typedef struct scanned_struct {
  char *name; /* "ns::Particle" */
  char **fields;
  size_t field_count;
} scanned_struct;

typedef struct scanned {
  scanned_kernel *kernels;
  size_t kernel_count;
  scanned_struct *structs;
  size_t struct_count;
} scanned;

void cuda_scan(const char *text, size_t length, bool is_header, scanned *out);
void cuda_scanned_free(scanned *found);

#endif
