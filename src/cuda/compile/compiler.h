/* Between compilers and the rest: NVRTC's log in our words (log.c), our headers as strings (headers.c), what a source
 * depends on besides itself (dependencies.c), and mwcc in NVRTC's place (mwcc.c). */
#ifndef MW_CUDA_COMPILER_H
#define MW_CUDA_COMPILER_H

#include "cuda/cuda.h"
#include "image.h"

/* NVRTC's way of writing messages as clang's, which diagnostic.c knows: "kernel.cu(3): error: …" becomes
   "kernel.cu:3:7: error: …", its column that of the caret. Warnings about headers among `ours` are left out: nobody who
   reads them can mend those. Fills in where the first error is. */
typedef struct cuda_diagnosis {
  char *message, *file; /* of the first error, or NULL */
  int line, column;
} cuda_diagnosis;
typedef struct cuda_headers cuda_headers;
void cuda_log_translate(const char *log, const cuda_headers *ours, mw_text *out, cuda_diagnosis *first);

/* Our headers, but for those that the source brings itself, or that one of its -I folders has. */
struct cuda_headers {
  const char **names, **texts;
  int count, first; /* what the source brings comes before `first` */
};
void cuda_headers_collect(const mw_source *source, cuda_headers *out);
void cuda_headers_free(cuda_headers *headers);

/* Files that the source includes from its -I folders, one a line: "size mtime_ns path". */
void cuda_depends(const mw_source *source, mw_text *out);
/* Whether they are still as they were. */
bool cuda_depends_hold(const char *list);

/* "ns::fill<float>" for "fill<float>", where the text has such a kernel in a namespace and none outside. Yours. */
char *cuda_qualify(const mw_source *source, const char *instance);
/* The source and its options become parts of the image. With headers of its own it is no whole without them. */
void cuda_image_keep_source(cuda_image *image, const mw_source *source);

/* ---- mwcc.c ---- */

/* Whether mwcc is what compiles: NVRTC is not there. */
bool cuda_by_mwcc(void);
/* Or that it is the one to compile this, for what NVRTC cannot do. */
bool cuda_for_mwcc(const cuda_device *device, const mw_source *source);
/* Whether kernels are made that can be stopped: there is a limit of time, and mwcc. */
bool cuda_stoppable(const cuda_device *device);
void cuda_mwcc_report(mw_text *out); /* lines for mw_doctor */
int cuda_mwcc_target(const cuda_device *device, mw_text *out);
int cuda_mwcc_compile(cuda_device *device, const mw_source *source, const char *const *instances, size_t instance_count,
                      const char *path);
/* What the source has, as mwcc says it without making code of it: lines for module_metadata.h. False, and no error, where mwcc is not
   there or does not take the source. Files go beside `path`, and are removed. */
bool cuda_mwcc_tell(const cuda_device *device, const mw_source *source, const char *const *instances,
                    size_t instance_count, const char *path, mw_text *out);
/* The comments behind PTX that mwcc made, as the image's facts, log and dependencies. */
void cuda_split_facts(const char *text, cuda_image *image);

#endif
