/* What a compiled module has, found out and written down (describe.c), and read again (module_metadata.c).
 *
 * NVRTC says nothing of a kernel's parameters or a variable's type, but for one thing: the linkage name of a template
 * instance that it is asked about carries the whole type. So the source is compiled once more with a template behind it,
 * and NVRTC is asked for the names of mw_sig<decltype(x)>, and of mw_field<offset, size, type>. */
#ifndef MW_CUDA_DESCRIBE_H
#define MW_CUDA_DESCRIBE_H

#include "cuda/cuda.h"
#include "image.h"
#include "demangle.h"

/* Ask for the lowered names of expressions in the source with `epilogue` behind it; answers[i] is yours, or NULL. False
   where it does not compile. */
typedef bool cuda_ask(void *context, const char *epilogue, const char *const *expressions, size_t count,
                      char **answers);

void cuda_describe(const mw_source *source, const char *ptx, cuda_ask *ask, void *context, mw_text *facts);

/* The facts as the unit's kernels, variables and types; addresses are still to come. */
void cuda_facts_read(const char *facts, const mw_source *origin, cuda_types *types, cuda_unit *unit);

#endif
