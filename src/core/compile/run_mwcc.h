/* The mwcc command, which compiles for the CPU device and for GPUs without NVRTC: finding it, its arguments, running
 * it, and interpreting its exit status. */
#ifndef MW_RUN_MWCC_H
#define MW_RUN_MWCC_H

#include "core/core.h"

/* The path of mwcc: $MOONWARP_HOME/bin/mwcc; without MOONWARP_HOME, ../bin/mwcc beside the library's folder, then
   $PATH. The message of MW_JIT_COMPILER_NOT_FOUND lists the places searched. *out is yours: free. */
int compiler_find(char **out);
/* For the cache key: what determines mwcc's output, its own file and clang's. */
void compiler_describe(const char *mwcc, mw_text *out);

/* A list of arguments, ended by NULL; the list owns them. */
/* The path of a module that is installed with the library: kernels of operations on arrays, compiled beforehand for a
   level of instruction sets. False if there is none of that name. */
bool compiler_shipped(const char *level, const char *name, char *path, size_t size);

typedef struct compiler_args {
  char **items;
  size_t count;
} compiler_args;
void compiler_args_add(compiler_args *args, const char *text);
void compiler_args_free(compiler_args *args);

/* A run in a private folder, that of `path`, the module to write. The folder is mwcc's working directory, so that the
   source is called MW_SOURCE_NAME, without a folder, in messages, in debug information and in __FILE__. */
typedef struct compiler_job {
  char *folder;
  char *source, *headers; /* paths in it */
  const char *output;     /* the name of the module in it */
} compiler_job;
compiler_job compiler_job_new(const char *path);
/* Check names and texts of the headers, before anything is written. */
int compiler_job_check(const mw_source *source);
/* Write source and headers to files. Fails if the folder of temporary files is full or not writable. */
int compiler_job_write(const compiler_job *job, const mw_source *source);
/* `args` begin with mwcc's path. A limit of 0 means none. */
int compiler_job_run(const compiler_job *job, const compiler_args *args, double seconds, size_t memory);
/* Remove the files; `source` is the value from writing it, or NULL if it was not written. */
void compiler_job_free(compiler_job *job, const mw_source *source);

/* exit_status.c: MW_SUCCESS, or the failure of the run of `path` on the file `source` under `limits`, with advice in
   the message. */
int compiler_outcome(const char *path, const char *source, const mw_child_limits *limits,
                     const mw_child_result *result);

#endif
