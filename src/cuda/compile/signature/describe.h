/* What a compiled module has, found out and written down (describe.c), and read again (module_metadata.c).
 *
 * NVRTC says nothing of a kernel's parameters or a variable's type, but for one thing: the linkage name of a template
 * instance that it is asked about carries the whole type. So the source is compiled once more with a template behind it,
 * and NVRTC is asked for the names of mw_sig<decltype(x)>, and of mw_field<offset, size, type>. */
#ifndef MW_CUDA_DESCRIBE_H
#define MW_CUDA_DESCRIBE_H

#include "cuda/cuda.h"
#include "cuda/compile/image.h"
#include "ptx.h"

/* Ask for the lowered names of expressions in the source with `epilogue` behind it; answers[i] is yours, or NULL. False
   where it does not compile. */
typedef bool cuda_ask(void *context, const char *epilogue, const char *const *expressions, size_t count,
                      char **answers);

/* `text` is the PTX that was parsed. */
void cuda_describe(const mw_source *source, const ptx_text *ptx, const char *text, cuda_ask *ask, void *context,
                   mw_text *facts);

/* Whether a variable is the program's, and not one of our headers' or of the compiler's. */
bool cuda_is_own(const ptx_variable *variable);
/* A name as the source has it: without what has no name there. Yours. */
char *cuda_source_name(const char *name);
/* "reads" lines: the variables of 8 bytes that the kernel's code may name. */
void cuda_add_reads(mw_text *facts, const ptx_text *ptx, const ptx_entry *entry, const char *text);

#endif
