/* Compile options. */
#ifndef MW_CPU_OPTIONS_H
#define MW_CPU_OPTIONS_H

#include "core/compile/run_mwcc.h"

/* The source's options (folders in them are absolute) as mwcc wants them. MW_INVALID_VALUE names an option that there is
   not. */
int compiler_args_add_options(compiler_args *args, const char *const *options, size_t count);

#endif
