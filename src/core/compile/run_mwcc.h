/* The mwcc command, which the CPU device and GPUs without NVRTC compile with: where it is, what it is given, a run of it,
 * and what its outcome means. */
#ifndef MW_COMPILER_RUN_H
#define MW_COMPILER_RUN_H

#include "core/core.h"

/* The path of mwcc: $MOONWARP_HOME/bin/mwcc; without MOONWARP_HOME, ../bin/mwcc beside the library's folder, then $PATH.
   MW_JIT_COMPILER_NOT_FOUND says where it looked. *out is yours: free. */
int compiler_find(char **out);
/* What decides the code that mwcc makes: its file and clang's, for a cache's key. */
void compiler_describe(const char *mwcc, mw_text *out);

/* A list of arguments, ended by NULL; each is the list's own. */
typedef struct compiler_args {
  char **items;
  size_t count;
} compiler_args;
void compiler_args_add(compiler_args *args, const char *text);
void compiler_args_free(compiler_args *args);

/* A run in a private folder, which is where `path`, the module to be, stands. mwcc's working directory is that folder, so
   that all it writes of the source, in messages, in debug information and in __FILE__, says MW_SOURCE_NAME and no folder. */
typedef struct compiler_job {
  char *folder;
  char *source, *headers; /* paths in it */
  const char *output;     /* the name of the module in it */
} compiler_job;
compiler_job compiler_job_new(const char *path);
/* Names and texts of the headers are good: before anything is written. */
int compiler_job_check(const mw_source *source);
/* Source and headers become files. What fails here is the folder of temporary files: full, or not to be written. */
int compiler_job_write(const compiler_job *job, const mw_source *source);
/* `args` begin with mwcc's path. A limit of 0 is none. */
int compiler_job_run(const compiler_job *job, const compiler_args *args, double seconds, size_t memory);
/* And the files are gone; source: as it was written, or NULL where it was not. */
void compiler_job_free(compiler_job *job, const mw_source *source);

/* exit_status.c: MW_SUCCESS, or the failure that the run of `path` on the file `source` under `limits` ended in, with what
   to do about it. */
int compiler_outcome(const char *path, const char *source, const mw_child_limits *limits,
                     const mw_child_result *result);

#endif
