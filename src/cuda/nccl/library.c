/* NCCL's functions, and the words for its failures. */
#include "nccl.h"
#include "base/shared_library.h"

#include <stdlib.h>
#include <string.h>

struct nccl_functions nccl;

static const char *const names[] = {"libnccl.so.2", NULL};
static const char *const places[] = {"/usr/local/cuda/lib64/libnccl.so.2",
                                     "/opt/cuda/lib64/libnccl.so.2",
                                     "/usr/lib/python3*/*-packages/nvidia/nccl/lib/libnccl.so.2",
                                     "/usr/local/lib/python3*/*-packages/nvidia/nccl/lib/libnccl.so.2",
                                     "/opt/*/lib/python3*/site-packages/nvidia/nccl/lib/libnccl.so.2",
                                     NULL};
static mw_library library = {.title = "NCCL", .variable = "MOONWARP_NCCL", .names = names, .places = places};
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char *problem;
static int version;

static void find(void *handle, const char *name, void *out) {
  void *address = mw_library_find(handle, name);
  memcpy(out, &address, sizeof address);
  if (!address) problem = mw_format("%s has no function %s: NCCL 2.18 or later is needed", library.path, name);
}

/* NVLink's multicast (NVLS) needs rights that containers often lack, and fails late: it stays off unless asked for. */
static void load(void) {
  setenv("NCCL_NVLS_ENABLE", "0", 0);
  void *handle = mw_library_open(&library);
  if (!handle) {
    problem =
        library.problem
            ? library.problem
            : mw_format("NCCL, which sends arrays between GPUs, was not found under these names: %s. Install it "
                        "with `pip install nvidia-nccl-cu12` or as the package libnccl2; MOONWARP_NCCL may name it",
                        mw_library_tried(&library));
    return;
  }
#define FIND(name, params) find(handle, #name, &nccl.name);
  NCCL(FIND)
#undef FIND
  find(handle, "ncclGetErrorString", &nccl.ncclGetErrorString);
  void *last = mw_library_find(handle, "ncclGetLastError");
  memcpy(&nccl.ncclGetLastError, &last, sizeof last);
  if (!problem) nccl.ncclGetVersion(&version);
}

int nccl_load(void) {
  pthread_once(&once, load);
  return problem ? fail(MW_NOT_SUPPORTED, "%s", problem) : MW_SUCCESS;
}

static void add_name(mw_text *out) {
  mw_text_addf(out, "NCCL %d.%d.%d (%s)", version / 10000, version / 100 % 100, version % 100, library.path);
}

int nccl_name(void *device, mw_text *out) {
  (void)device;
  int code = nccl_load();
  if (code == MW_SUCCESS) add_name(out);
  return code;
}

int nccl_failed(int result, ncclComm_t comm, const char *what) {
  const char *more = nccl.ncclGetLastError ? nccl.ncclGetLastError(comm) : NULL;
  bool has_more = more && *more;
  int code = fail(MW_UNKNOWN, "%s failed: NCCL says: %s%s%s (NCCL_DEBUG=WARN in the environment prints more)", what,
                  nccl.ncclGetErrorString(result), has_more ? "; " : "", has_more ? more : "");
  mw_error_kind("device");
  return code;
}

void cuda_collective_report(mw_text *out) {
  mw_text_addf(out, "messages between GPUs: ");
  if (nccl_load() == MW_SUCCESS)
    add_name(out);
  else
    mw_text_addf(out, "not available. %s", problem);
  mw_text_addf(out, "\n");
}
