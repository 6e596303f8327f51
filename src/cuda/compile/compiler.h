/* What the two compilers share: NVRTC's log in clang's format (log.c), the device headers as strings (headers.c), the
 * files that a source depends on (dependencies.c), and mwcc as a replacement for NVRTC (mwcc.c). */
#ifndef MW_CUDA_COMPILER_H
#define MW_CUDA_COMPILER_H

#include "cuda/cuda.h"
#include "image.h"

/* Translates NVRTC's messages into clang's format, which diagnostic.c reads: "kernel.cu(3): error: …" becomes
   "kernel.cu:3:7: error: …", with the caret's column. Drops warnings about the headers in `ours`, because the user
   cannot change those. `first` receives the position of the first error. */
typedef struct cuda_diagnosis {
  char *message, *file; /* of the first error, or NULL */
  int line, column;
  bool lacks_header;  /* the file that an #include names is not there */
  bool lacks_runtime; /* kernels launch kernels, or call CUDA's device runtime */
} cuda_diagnosis;
typedef struct cuda_headers cuda_headers;
/* instance: the name of the only template instance, or NULL; an error in it is placed in a file of that name. (log.c) */
void cuda_log_translate(const char *log, const cuda_headers *ours, const char *instance, mw_text *out,
                        cuda_diagnosis *first);
/* Whether NVRTC says that a kernel launches a kernel, which takes code that is linked with the device runtime. */
bool cuda_is_about_launch(const char *message);
/* Whether the source provides the header, itself or in one of its -I folders. */
bool cuda_has_header(const mw_source *source, const char *name);

/* The device headers, except those that the source provides itself or that one of its -I folders has. */
struct cuda_headers {
  const char **names, **texts;
  int count, first; /* the headers that the source provides stand before `first` */
};
void cuda_headers_collect(const mw_source *source, cuda_headers *out);
void cuda_headers_free(cuda_headers *headers);

/* Files that the source includes from its -I folders, one a line: "size mtime_ns path". */
void cuda_depends(const mw_source *source, mw_text *out);
/* Whether all of these files are unchanged. */
bool cuda_depends_hold(const char *list);

/* "ns::fill<float>" for "fill<float>", where the text has such a kernel in a namespace and none outside. Yours. */
char *cuda_qualify(const mw_source *source, const char *instance);
/* The source and its options become parts of the image, unless the source has headers of its own: it would be
   incomplete without them. */
void cuda_image_keep_source(cuda_image *image, const mw_source *source);

/* ---- mwcc.c ---- */

/* Whether mwcc is available. */
bool cuda_has_mwcc(void);
/* Whether mwcc compiles because NVRTC is not installed. */
bool cuda_by_mwcc(void);
/* Whether mwcc must compile this source, because it needs what NVRTC cannot do. */
bool cuda_for_mwcc(const cuda_device *device, const mw_source *source);
/* Whether kernels are compiled so that they can be stopped: there is a time limit, and mwcc is available. */
bool cuda_stoppable(const cuda_device *device);
void cuda_mwcc_report(mw_text *out); /* lines for mw_doctor */
int cuda_mwcc_target(const cuda_device *device, mw_text *out);
int cuda_mwcc_compile(cuda_device *device, const mw_source *source, const char *const *instances, size_t instance_count,
                      const char *path);
/* The facts that mwcc finds in a source without generating code: lines for module_metadata.h. False, without an
   error, if mwcc is not available or rejects the source. Temporary files are written next to `path` and removed. */
bool cuda_mwcc_facts(const cuda_device *device, const mw_source *source, const char *const *instances,
                     size_t instance_count, const char *path, mw_text *out);
/* The comments after the PTX that mwcc generated become the image's facts, log and dependencies. */
void cuda_split_facts(const char *text, cuda_image *image);

#endif
