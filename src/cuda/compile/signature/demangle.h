/* Linkage names back to names and types, as far as kernels, their parameters and variables have them. (Itanium C++ ABI,
 * section 5.1, mangling) */
#ifndef MW_CUDA_DEMANGLE_H
#define MW_CUDA_DEMANGLE_H

#include "types.h"

/* What a linkage name says. All is the types'. */
typedef struct cuda_signature {
  const char *name;       /* "ns::fill<float, 4>" */
  const mw_type **params; /* NULL where it says nothing of them: C linkage */
  size_t param_count;
} cuda_signature;

/* False where the name is none that this reads: then *out holds the linkage name itself. */
bool cuda_demangle(cuda_types *types, const char *linkage, cuda_signature *out);
/* These read what stands in the name of a template instance, as an argument of it.
   The type at `mangled`, and behind it; NULL where it is none that this reads. */
const mw_type *cuda_demangle_type(cuda_types *types, const char *mangled);
/* The parameters of the function type at `mangled`, "FvifPKfPfE". */
bool cuda_demangle_function(cuda_types *types, const char *mangled, cuda_signature *out);
/* texture<Element, Dimensions, Mode> or surface<Element, Dimensions>; NULL for anything else. */
const mw_reference *cuda_demangle_reference(cuda_types *types, const char *mangled);

#endif
