/* Modules whose kernels launch kernels: NVRTC compiles them to relocatable code (compile/nvrtc.c), mwcc to PTX that
 * calls CUDA's device runtime (moonwarp/nvptx_runtime.h). The driver links either with that library, libcudadevrt.a of
 * a toolkit or of Python's packages. It is searched next to NVRTC and where those install it; MOONWARP_CUDADEVRT may
 * name the file. (CUDA Programming Guide, "CUDA Dynamic Parallelism", compiling and linking; Driver API, "Module
 * Management") */
#include "cuda/cuda.h"
#include "cuda/compile/image.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the device runtime's functions are called in PTX and machine code. */
static const char runtime_names[] = "__cudaCDP2";

static bool mentions_runtime(const mw_text *code) {
  return code->data && memmem(code->data, code->length, runtime_names, strlen(runtime_names));
}

bool cuda_needs_linking(const cuda_image *image) {
  const mw_text *cubin = &image->parts[IMAGE_CUBIN], *ptx = &image->parts[IMAGE_PTX];
  return mentions_runtime(ptx->data ? ptx : cubin);
}

/* ---- the library ---- */

static char *newest_match(const char *pattern) {
  glob_t found = {0};
  char *path = NULL;
  if (glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc) path = mw_strdup(found.gl_pathv[found.gl_pathc - 1]);
  globfree(&found);
  return path;
}

/* Yours. */
static char *find_runtime(void) {
  static const char *const places[] = {"/usr/local/cuda/lib64/libcudadevrt.a",
                                       "/usr/local/cuda/lib/libcudadevrt.a",
                                       "/usr/local/cuda-1*/targets/*/lib/libcudadevrt.a",
                                       "/opt/cuda/lib64/libcudadevrt.a",
                                       "/usr/lib/x86_64-linux-gnu/libcudadevrt.a",
                                       "/usr/lib/aarch64-linux-gnu/libcudadevrt.a",
                                       "/usr/lib/python3*/site-packages/nvidia/*/lib/libcudadevrt.a",
                                       "/usr/local/lib/python3*/*-packages/nvidia/*/lib/libcudadevrt.a"};
  const char *named = getenv("MOONWARP_CUDADEVRT"), *nvrtc_path = cuda_nvrtc_path();
  const char *slash = nvrtc_path ? strrchr(nvrtc_path, '/') : NULL;
  char *path = NULL;
  if (named && *named) return access(named, R_OK) == 0 ? mw_strdup(named) : NULL;
  if (slash) {
    char *beside = mw_format("%.*s/libcudadevrt.a", (int)(slash - nvrtc_path), nvrtc_path);
    path = newest_match(beside);
    free(beside);
  }
  for (size_t i = 0; i < MW_COUNT(places) && !path; i++) path = newest_match(places[i]);
  return path;
}

static int fail_without_runtime(const char *what) {
  const char *named = getenv("MOONWARP_CUDADEVRT");
  bool hidden = named && *named;
  return fail(MW_JIT_COMPILER_NOT_FOUND,
              "%s CUDA's device runtime library, libcudadevrt.a, which %s%s. It is part of the "
              "CUDA toolkit and of `pip install nvidia-cuda-runtime`; MOONWARP_CUDADEVRT may name it",
              what, hidden ? "is not at " : "was not found beside NVRTC, in /usr/local/cuda, nor in Python's packages",
              hidden ? named : "");
}

/* ---- linking ---- */

enum { LOG_MOST = 4096 };

static CUresult link_all(CUlinkState linker, const cuda_image *image, const char *library, void **cubin) {
  const mw_text *code = &image->parts[IMAGE_CUBIN], *ptx = &image->parts[IMAGE_PTX];
  size_t bytes;
  int kind = CU_JIT_INPUT_CUBIN;
  if (!code->data) code = ptx, kind = CU_JIT_INPUT_PTX;
  size_t length = code->length + (kind == CU_JIT_INPUT_PTX);
  CUresult result = cu.cuLinkAddData(linker, kind, code->data, length, "module", 0, NULL, NULL);
  if (result == 0) result = cu.cuLinkAddFile(linker, CU_JIT_INPUT_LIBRARY, library, 0, NULL, NULL);
  return result == 0 ? cu.cuLinkComplete(linker, cubin, &bytes) : result;
}

int cuda_load_linked(cuda_device *device, const cuda_image *image, const char *what, CUmodule *out) {
  char *library = find_runtime();
  if (!library) return fail_without_runtime(what);
  char log[LOG_MOST] = "";
  int options[] = {CU_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_BYTES};
  void *values[] = {log, (void *)(uintptr_t)(LOG_MOST - 1)}, *cubin = NULL;
  CUlinkState linker = NULL;
  CUresult result = cu.cuLinkCreate(MW_COUNT(options), options, values, &linker);
  if (result == 0) result = link_all(linker, image, library, &cubin);
  if (result == 0) result = cu.cuModuleLoadData(out, cubin);
  if (cuda_heap_make_room(device, result)) result = cu.cuModuleLoadData(out, cubin);
  if (linker) cu.cuLinkDestroy(linker);
  int code = cuda_outcome(device, result, "linking with the device runtime");
  if (code != MW_SUCCESS && !cuda_is_fatal(result))
    code = fail(MW_INVALID_KERNEL_IMAGE, "the driver cannot link this module with %s (error %d)%s%s", library, result,
                *log ? ". It says: " : "", log);
  free(library);
  return code;
}
