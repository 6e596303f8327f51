/* Between NVRTC and the rest: its log in our words (log.c), our headers as strings (headers.c), and what a source depends
 * on besides itself (depends.c). */
#ifndef MW_CUDA_COMPILER_H
#define MW_CUDA_COMPILER_H

#include "cuda/cuda.h"

/* NVRTC's way of writing messages as clang's, which diagnostic.c knows: "kernel.cu(3): error: …" becomes
   "kernel.cu:3:7: error: …", its column that of the caret. Fills in where the first error is. */
typedef struct cuda_diagnosis {
  char *message, *file; /* of the first error, or NULL */
  int line, column;
} cuda_diagnosis;
void cuda_log_translate(const char *log, mw_text *out, cuda_diagnosis *first);

/* Our headers, but for those that the source brings itself, or that one of its -I folders has. */
typedef struct cuda_headers {
  const char **names, **texts;
  int count;
} cuda_headers;
void cuda_headers_collect(const mw_source *source, cuda_headers *out);
void cuda_headers_free(cuda_headers *headers);

/* Files that the source includes from its -I folders, one a line: "size mtime_ns path". */
void cuda_depends(const mw_source *source, mw_text *out);
/* Whether they are still as they were. */
bool cuda_depends_hold(const char *list);

#endif
