/* What the files about failing kernels share; failure_reports.c describes the design. */
#ifndef MW_CUDA_GUARD_H
#define MW_CUDA_GUARD_H

#include "cuda/cuda.h"
#include "device/moonwarp/guard_layout.h"

/* Tables of arrays in the device's memory: the current one, and older ones that running kernels may still read. */
typedef struct guard_tables {
  CUdeviceptr current, *old;
  size_t old_count;
  uint64_t changes; /* of the heaps, when it was made */
} guard_tables;

typedef struct cuda_guard {
  pthread_mutex_t lock;
  _Atomic(mw_guard_host *) host; /* NULL until the first unit needs it; read without the lock too */
  CUdeviceptr words;
  unsigned units, number;
  atomic_uint taken;
  guard_tables table;
  /* watchdog.c's */
  pthread_t thread;
  pthread_mutex_t watch_lock;
  pthread_cond_t watch;
  bool watching, closing;
} cuda_guard;

/* Writes to the device's memory outside of all streams. */
CUresult cuda_guard_write(cuda_device *device, uint64_t at, const void *value, size_t bytes);
CUresult cuda_guard_table_update(cuda_device *device); /* under the guard's lock */
void cuda_guard_table_free(guard_tables *tables);
void cuda_guard_table_forget(guard_tables *tables);

#endif
