/* Memory that one command of a library needs while it runs. Its completion is wrapped in one that frees the memory. */
#include "cuda/cuda.h"

#include <stdlib.h>

typedef struct scratch {
  cuda_device *device;
  uint64_t address;
  void *host;
  mw_completion completion; /* the command's own */
} scratch;

static void release(scratch *memory) {
  cuda_free(memory->device, memory->address);
  free(memory->host);
  free(memory);
}

static void end(void *context) {
  scratch *memory = context;
  mw_completion completion = memory->completion;
  release(memory);
  if (completion.done) completion.done(completion.context);
}

int cuda_scratch_new(cuda_device *device, size_t bytes, size_t host_bytes, mw_completion *completion, uint64_t *address,
                     void **host) {
  void *host_memory = NULL;
  if (host_bytes > 0 && !(host_memory = mw_try_alloc(host_bytes, "a workspace"))) return MW_MEMORY_ALLOCATION;
  int code = cuda_alloc(device, MW_MEMORY_DEVICE, bytes, address);
  if (code != MW_SUCCESS) {
    free(host_memory);
    return code;
  }
  scratch *memory = mw_alloc(sizeof *memory);
  *memory = (scratch){device, *address, host_memory, *completion};
  if (host) *host = host_memory;
  *completion = (mw_completion){end, memory};
  return MW_SUCCESS;
}

void cuda_scratch_drop(mw_completion *completion) {
  scratch *memory = completion->context;
  *completion = memory->completion;
  release(memory);
}
