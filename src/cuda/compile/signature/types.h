/* The types of a module's parameters and variables, which live as long as the module. */
#ifndef MW_CUDA_SIGNATURE_TYPES_H
#define MW_CUDA_SIGNATURE_TYPES_H

#include "core/core.h"

/* Types and all that they own, freed together. */
typedef struct cuda_types {
  void **memory;
  size_t memory_count;
  mw_type **structs; /* by name; filled by cuda_types_struct */
  size_t struct_count;
  mw_type **numbered; /* module_metadata.c's: by number, from 1 */
  size_t numbered_count;
} cuda_types;

void *cuda_types_alloc(cuda_types *types, size_t bytes);
char *cuda_types_text(cuda_types *types, const char *text, size_t length);
void cuda_types_free(cuda_types *types);
/* Declares a class of that name; the caller fills in its fields. */
mw_type *cuda_types_struct(cuda_types *types, const char *name, size_t size, size_t align);

/* The name of the built-in type that linkage names write as the letter `c`, or NULL. */
const char *cuda_types_builtin(char c);

#endif
