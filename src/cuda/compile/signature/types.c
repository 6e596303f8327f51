/* The types of a module: their memory and names. See types.h. */
#include "types.h"

#include <stdlib.h>
#include <string.h>

void *cuda_types_alloc(cuda_types *types, size_t bytes) {
  types->memory = mw_realloc(types->memory, (types->memory_count + 1) * sizeof *types->memory);
  return types->memory[types->memory_count++] = mw_alloc(bytes);
}

char *cuda_types_text(cuda_types *types, const char *text, size_t length) {
  return memcpy(cuda_types_alloc(types, length + 1), text, length);
}

void cuda_types_free(cuda_types *types) {
  for (size_t i = 0; i < types->memory_count; i++) free(types->memory[i]);
  free(types->memory);
  free(types->structs);
  *types = (cuda_types){0};
}

mw_type *cuda_types_struct(cuda_types *types, const char *name, size_t size, size_t align) {
  mw_type *type = cuda_types_alloc(types, sizeof *type);
  *type = (mw_type){.kind = MW_TYPE_STRUCT,
                    .size = size,
                    .align = align ? align : 1,
                    .name = cuda_types_text(types, name, strlen(name))};
  types->structs = mw_realloc(types->structs, (types->struct_count + 1) * sizeof *types->structs);
  return types->structs[types->struct_count++] = type;
}

const char *cuda_types_builtin(char c) {
  switch (c) {
  case 'b': return "bool";
  case 'c':
  case 'a': return "char";
  case 'h': return "uchar";
  case 's': return "short";
  case 't': return "ushort";
  case 'i': return "int";
  case 'j': return "uint";
  case 'l': return "long";
  case 'm': return "ulong";
  case 'x': return "longlong";
  case 'y': return "ulonglong";
  case 'f': return "float";
  case 'd': return "double";
  default: return NULL;
  }
}
