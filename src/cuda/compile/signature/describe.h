/* The contents of a compiled module: determined and written as text (describe.c), and read again (module_metadata.c).
 *
 * NVRTC does not report a kernel's parameters or a variable's type. But the linkage name of a template instance,
 * which it reports on request (nvrtcAddNameExpression), contains complete types. So the source is compiled once more
 * with templates appended to it, and NVRTC lowers the names of __mw_sig<decltype(x)> and of __mw_field<offset, size,
 * type>. */
#ifndef MW_CUDA_DESCRIBE_H
#define MW_CUDA_DESCRIBE_H

#include "cuda/cuda.h"
#include "cuda/compile/image.h"
#include "ptx.h"

/* Find the lowered names of expressions in the source with `epilogue` appended; answers[i] is yours, or NULL. False
   if it does not compile. */
typedef bool cuda_lower_names(void *context, const char *epilogue, const char *const *expressions, size_t count,
                              char **answers);

/* `text` is the PTX that was parsed. */
void cuda_describe(const mw_source *source, const ptx_text *ptx, const char *text, cuda_lower_names *lower_names,
                   void *context, mw_text *facts);

/* Whether a variable is the program's own, not from the device headers or the compiler. */
bool cuda_is_own(const ptx_variable *variable);
/* A name as the source spells it, without compiler-generated namespaces. Yours. */
char *cuda_source_name(const char *name);
/* "reads" lines: the variables of 8 bytes that the kernel's code may refer to. */
void cuda_add_reads(mw_text *facts, const ptx_text *ptx, const ptx_entry *entry, const char *text);

#endif
