/* Finding libcuda and NVRTC.
 *
 * MOONWARP_CUDA and MOONWARP_NVRTC name a library, or are "off" and hide it. Otherwise both are searched under their
 * usual names, NVRTC also in the folders where toolkits and Python's packages install it. */
#include "base/shared_library.h"
#include "cuda/compile/compiler.h"
#include "cuda/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cuda_api cu;
nvrtc_api nvrtc;

/* A library and the result of loading it. */
typedef struct library {
  mw_library file;
  pthread_once_t once;
  int code;
  int version; /* 12040 */
} library;

static const char *const cuda_names[] = {"libcuda.so.1", NULL};
static const char *const cuda_places[] = {"/usr/lib/wsl/lib/libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1",
                                          NULL};
static const char *const nvrtc_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NULL};
static const char *const nvrtc_places[] = {"/usr/local/cuda/lib64/libnvrtc.so.1[0-9]",
                                           "/usr/local/cuda-1*/lib64/libnvrtc.so.1[0-9]",
                                           "/opt/cuda/lib64/libnvrtc.so.1[0-9]",
                                           "/usr/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.1[0-9]",
                                           "/usr/local/lib/python3*/*-packages/nvidia/*/lib/libnvrtc.so.1[0-9]",
                                           NULL};

static library driver = {.file = {.title = "the NVIDIA driver's library",
                                  .variable = "MOONWARP_CUDA",
                                  .names = cuda_names,
                                  .places = cuda_places},
                         .once = PTHREAD_ONCE_INIT};
static library compiler = {
    .file = {.title = "NVRTC", .variable = "MOONWARP_NVRTC", .names = nvrtc_names, .places = nvrtc_places},
    .once = PTHREAD_ONCE_INIT};

/* ---- libcuda ---- */

static bool find_cuda_functions(void *handle) {
  void *lookup = mw_library_find(handle, "cuGetProcAddress_v2");
  if (!lookup) {
    driver.file.problem =
        mw_format("%s has no function cuGetProcAddress_v2: the driver is older than CUDA 12.0. Install a "
                  "newer one (525 or later)",
                  driver.file.path);
    return false;
  }
  memcpy(&cu.cuGetProcAddress, &lookup, sizeof lookup);
#define FIND(name, version, params)                                                                                    \
  {                                                                                                                    \
    void *address = NULL;                                                                                              \
    if (cu.cuGetProcAddress(#name, &address, version, 0, NULL) != 0 || !address) {                                     \
      driver.file.problem = mw_format("%s has no function %s (of CUDA %d.%d): install a newer driver",                 \
                                      driver.file.path, #name, version / 1000, version % 1000 / 10);                   \
      return false;                                                                                                    \
    }                                                                                                                  \
    memcpy(&cu.name, &address, sizeof address);                                                                        \
  }
  MW_LIBCUDA(FIND)
#undef FIND
  return true;
}

/* Functions that not every driver has: all of a group, or none. */
static void find_optional_functions(void) {
  bool all = true;
#define FIND(name, version, params)                                                                                    \
  {                                                                                                                    \
    void *address = NULL;                                                                                              \
    all = all && cu.cuGetProcAddress(#name, &address, version, 0, NULL) == 0 && address;                               \
    memcpy(&cu.name, &address, sizeof address);                                                                        \
  }
  MW_LIBCUDA_GRAPHICS(FIND)
  if (!all) cu.cuGraphicsGLRegisterBuffer = NULL;
  all = true;
  MW_LIBCUDA_GRAPHS(FIND)
  if (!all) cu.cuGraphAddNode = NULL;
#undef FIND
}

static void load_driver(void) {
  void *handle = mw_library_open(&driver.file);
  driver.code = MW_NO_DEVICE;
  if (!handle) {
    if (!driver.file.problem)
      driver.file.problem =
          mw_format("%s was not found under these names: %s. It is part of the NVIDIA driver (package "
                    "nvidia-driver); MOONWARP_CUDA may name it",
                    driver.file.title, mw_library_tried(&driver.file));
    return;
  }
  if (!find_cuda_functions(handle)) return;
  find_optional_functions();
  /* With lazy loading a kernel's first launch would wait for the device, even for a stream that is blocked by a
     hold. */
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  CUresult result = cu.cuInit(0);
  const char *text = NULL;
  if (cu.cuDriverGetVersion(&driver.version) == 0 && driver.version < 12000) {
    driver.file.problem = mw_format("%s supports CUDA %d.%d, and 12.0 is needed: install a newer driver",
                                    driver.file.path, driver.version / 1000, driver.version % 1000 / 10);
  } else if (result != 0) {
    cu.cuGetErrorString(result, &text);
    driver.file.problem = mw_format("%s found no usable GPU: %s (error %d). `nvidia-smi` says more", driver.file.path,
                                    text ? text : "cuInit failed", result);
  } else {
    driver.code = MW_SUCCESS;
  }
}

int cuda_load(void) {
  pthread_once(&driver.once, load_driver);
  return driver.code ? fail(driver.code, "%s", driver.file.problem) : MW_SUCCESS;
}

int cuda_driver_version(void) { return driver.version; }

/* ---- NVRTC ---- */

static bool find_nvrtc_functions(void *handle) {
#define FIND(name, version, params)                                                                                    \
  {                                                                                                                    \
    void *address = mw_library_find(handle, #name);                                                                    \
    if (!address) {                                                                                                    \
      compiler.file.problem = mw_format("%s has no function %s: NVRTC of CUDA %d.%d or later is needed",               \
                                        compiler.file.path, #name, version / 1000, version % 1000 / 10);               \
      return false;                                                                                                    \
    }                                                                                                                  \
    memcpy(&nvrtc.name, &address, sizeof address);                                                                     \
  }
  MW_NVRTC(FIND)
#undef FIND
  return true;
}

static void load_compiler(void) {
  void *handle = mw_library_open(&compiler.file);
  int major = 0, minor = 0;
  compiler.code = MW_JIT_COMPILER_NOT_FOUND;
  if (!handle && !compiler.file.problem)
    compiler.file.problem =
        mw_format("NVRTC, which compiles kernels for NVIDIA GPUs, was not found under these names: %s. It is part of "
                  "the CUDA toolkit (package cuda-nvrtc) and with `pip install nvidia-cuda-nvrtc`; "
                  "MOONWARP_NVRTC may name it. Modules saved to files load without a compiler",
                  mw_library_tried(&compiler.file));
  if (!handle || !find_nvrtc_functions(handle)) return;
  if (nvrtc.nvrtcVersion(&major, &minor) != 0 || major < 12) {
    compiler.file.problem =
        mw_format("%s is NVRTC %d.%d, and 12.0 or later is needed", compiler.file.path, major, minor);
    return;
  }
  compiler.version = major * 1000 + minor * 10;
  compiler.code = MW_SUCCESS;
}

int nvrtc_load(void) {
  pthread_once(&compiler.once, load_compiler);
  return compiler.code ? fail(compiler.code, "%s", compiler.file.problem) : MW_SUCCESS;
}

const char *cuda_nvrtc_path(void) { return compiler.code == MW_SUCCESS ? compiler.file.path : NULL; }

static void report(mw_text *out, const library *l) {
  if (l->code == MW_SUCCESS)
    mw_text_addf(out, "%s: %s, CUDA %d.%d\n", l->file.title, l->file.path, l->version / 1000, l->version % 1000 / 10);
  else
    mw_text_addf(out, "%s: not usable. %s\n", l->file.title, l->file.problem);
}

void cuda_library_report(mw_text *out) {
  pthread_once(&driver.once, load_driver);
  pthread_once(&compiler.once, load_compiler);
  report(out, &driver);
  report(out, &compiler);
  if (compiler.code != MW_SUCCESS) cuda_mwcc_report(out);
}

/* ---- failures ---- */

int cuda_code(CUresult result) {
  switch (result) {
  case 0: return MW_SUCCESS;
  case CUDA_OUT_OF_MEMORY: return MW_MEMORY_ALLOCATION;
  case CUDA_NOT_INITIALIZED:
  case CUDA_DEINITIALIZED: return MW_INITIALIZATION_ERROR;
  default: return strcmp(mw_result_name(result), "cudaErrorUnknown") == 0 ? MW_UNKNOWN : result;
  }
}

/* (CUDA Driver API reference, CUresult: "This leaves the process in an inconsistent state") */
bool cuda_is_fatal(CUresult result) {
  return result == MW_ILLEGAL_ADDRESS || result == MW_LAUNCH_TIMEOUT || result == MW_ASSERT ||
         (result >= MW_HARDWARE_STACK_ERROR && result <= MW_LAUNCH_FAILURE) || result == 201 || result == 709 ||
         result == 214 || result == 226;
}

int cuda_check(CUresult result, const char *what, ...) {
  if (result == 0) return MW_SUCCESS;
  const char *text = NULL, *name = NULL;
  mw_text message = {0};
  char words[256];
  va_list args;
  va_start(args, what);
  vsnprintf(words, sizeof words, what, args);
  va_end(args);
  cu.cuGetErrorString(result, &text);
  cu.cuGetErrorName(result, &name);
  mw_text_addf(&message, "%s failed: %s (%s)", words, text ? text : "an error without words", name ? name : "unknown");
  int code = fail(cuda_code(result), "%s", message.data);
  mw_text_free(&message);
  return code;
}
