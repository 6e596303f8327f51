/* libcuda and NVRTC, loaded on first use, and their failures as moonwarp's codes and messages. */
#ifndef MW_CUDA_LIBRARY_H
#define MW_CUDA_LIBRARY_H

#include "core/core.h"
#include "cuda/entry_points.h"

typedef struct cuda_api {
#define POINTER(name, version, params) CUresult(*name) params;
  MW_LIBCUDA(POINTER)
  MW_LIBCUDA_GRAPHICS(POINTER) /* all of them, unless cuGraphicsGLRegisterBuffer is NULL */
  MW_LIBCUDA_GRAPHS(POINTER)   /* likewise, unless cuGraphAddNode is NULL */
#undef POINTER
  CUresult (*cuGetProcAddress)(const char *name, void **address, int version, uint64_t flags, int *status);
} cuda_api;

typedef struct nvrtc_api {
#define POINTER(name, version, params) nvrtcResult(*name) params;
  MW_NVRTC(POINTER)
#undef POINTER
} nvrtc_api;

/* The libraries' functions: valid once cuda_load (nvrtc_load) has succeeded. */
extern cuda_api cu;
extern nvrtc_api nvrtc;

/* Load the library and look up its functions, in the first call of a process; later calls return the same result.
   MW_NO_DEVICE (NVRTC: MW_JIT_COMPILER_NOT_FOUND) says what was searched, where, what was found and what to do. */
int cuda_load(void);
int nvrtc_load(void);
/* The CUDA version that the driver supports: 12040 for 12.4. Valid after cuda_load has succeeded. */
int cuda_driver_version(void);
/* The file or name under which NVRTC was loaded, or NULL. */
const char *cuda_nvrtc_path(void);
/* mw_doctor's lines about both, whether they were found or not. */
void cuda_library_report(mw_text *out);

/* A driver call's outcome: MW_SUCCESS, or the failure "WHAT failed: the driver's own sentence (its name)". */
int cuda_check(CUresult result, const char *what, ...) __attribute__((format(printf, 2, 3)));
/* CUresult as mw_result. */
int cuda_code(CUresult result);
/* Whether the context is lost after such a failure, so that no later call in it succeeds. */
bool cuda_is_fatal(CUresult result);

#endif
