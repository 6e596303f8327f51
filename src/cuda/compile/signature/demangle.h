/* Demangling: names and types out of linkage names, as far as kernels, their parameters and variables need it.
 * (Itanium C++ ABI, section 5.1, mangling) */
#ifndef MW_CUDA_DEMANGLE_H
#define MW_CUDA_DEMANGLE_H

#include "types.h"

/* What a linkage name states. `types` owns all of it. */
typedef struct cuda_signature {
  const char *name;       /* "ns::fill<float, 4>" */
  const mw_type **params; /* NULL if the name does not state them: C linkage */
  size_t param_count;
} cuda_signature;

/* False if the name cannot be parsed: then *out holds the linkage name itself. */
bool cuda_demangle(cuda_types *types, const char *linkage, cuda_signature *out);
/* These parse the arguments in the name of a template instance. The type at `mangled`; returns the end of it, or NULL
   if it cannot be parsed. */
const mw_type *cuda_demangle_type(cuda_types *types, const char *mangled);
/* The parameters of the function type at `mangled`, "FvifPKfPfE". */
bool cuda_demangle_function(cuda_types *types, const char *mangled, cuda_signature *out);
/* texture<Element, Dimensions, Mode> or surface<Element, Dimensions>; NULL for anything else. */
const mw_reference *cuda_demangle_reference(cuda_types *types, const char *mangled);

#endif
