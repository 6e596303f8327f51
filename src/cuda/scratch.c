/* Memory that one command of a library needs while it runs. Its completion is wrapped in one that frees the memory. */
#include "cuda/cuda.h"

#include <stdlib.h>

typedef struct scratch {
  cuda_device *device;
  uint64_t address;
  void *host;
  mw_completion completion; /* the command's own */
} scratch;

static void release(scratch *it) {
  cuda_free(it->device, it->address);
  free(it->host);
  free(it);
}

static void end(void *context) {
  scratch *it = context;
  mw_completion completion = it->completion;
  release(it);
  if (completion.done) completion.done(completion.context);
}

int cuda_scratch_new(cuda_device *device, size_t bytes, size_t host_bytes, mw_completion *completion, uint64_t *address,
                     void **host) {
  void *there = NULL;
  if (host_bytes > 0 && !(there = mw_try_alloc(host_bytes, "a workspace"))) return MW_MEMORY_ALLOCATION;
  int code = cuda_alloc(device, MW_MEMORY_DEVICE, bytes, address);
  if (code != MW_SUCCESS) {
    free(there);
    return code;
  }
  scratch *it = mw_alloc(sizeof *it);
  *it = (scratch){device, *address, there, *completion};
  if (host) *host = there;
  *completion = (mw_completion){end, it};
  return MW_SUCCESS;
}

void cuda_scratch_drop(mw_completion *completion) {
  scratch *it = completion->context;
  *completion = it->completion;
  release(it);
}
