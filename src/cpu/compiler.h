/* The mwcc command: where it is, what it is given, and what its outcome means. */
#ifndef MW_CPU_COMPILER_H
#define MW_CPU_COMPILER_H

#include "core.h"

/* The path of mwcc: $MOONWARP_HOME/bin/mwcc; without MOONWARP_HOME, ../bin/mwcc beside the library's folder, then $PATH.
   MW_JIT_COMPILER_NOT_FOUND says where it looked. *out is yours: free. */
int compiler_find(char **out);

/* A list of arguments, ended by NULL; each is the list's own. */
typedef struct compiler_args {
  char **items;
  size_t count;
} compiler_args;
void compiler_args_add(compiler_args *args, const char *text);
void compiler_args_free(compiler_args *args);

/* options.c: the source's options (folders in them are absolute) as mwcc wants them. MW_INVALID_VALUE names an option
   that there is not. */
int compiler_args_add_options(compiler_args *args, const char *const *options, size_t count);

/* outcome.c: MW_SUCCESS, or the failure that the run of `path` under `limits` ended in, with what to do about it. */
int compiler_outcome(const char *path, const mw_child_limits *limits, const mw_child_result *result);

#endif
