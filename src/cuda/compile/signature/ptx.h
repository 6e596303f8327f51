/* What a PTX text declares: kernels and variables by their linkage names. (PTX ISA, 5 and 11) */
#ifndef MW_CUDA_PTX_H
#define MW_CUDA_PTX_H

#include "core/core.h"

typedef struct ptx_place {
  size_t size, align;
  char kind; /* of a scalar: u, s, f or b; p: declared as a pointer; '-': bytes */
} ptx_place;

typedef struct ptx_entry {
  char *linkage;
  ptx_place *params;
  size_t param_count;
  int max_threads;  /* .maxntid, .reqntid; 0: none */
  const char *body; /* in the text */
  size_t body_length;
} ptx_entry;

typedef struct ptx_variable {
  char *linkage;
  ptx_place place;
  bool constant;
} ptx_variable;

typedef struct ptx_text {
  ptx_entry *entries;
  size_t entry_count;
  ptx_variable *variables;
  size_t variable_count;
  bool calls; /* whether it has functions that are not inlined */
} ptx_text;

void ptx_parse(const char *text, ptx_text *out);
void ptx_free(ptx_text *ptx);
/* Whether the text refers to the symbol. */
bool ptx_mentions(const char *text, size_t length, const char *symbol);

#endif
