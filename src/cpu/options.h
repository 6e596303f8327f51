/* Compile options. */
#ifndef MW_CPU_OPTIONS_H
#define MW_CPU_OPTIONS_H

#include "core/compile/run_mwcc.h"

/* Translate the source's options (folders are absolute already) to mwcc's. The message of MW_INVALID_VALUE names an
   unknown option. */
int compiler_args_add_options(compiler_args *args, const char *const *options, size_t count);

#endif
