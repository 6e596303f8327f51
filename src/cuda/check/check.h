/* Checked runs on a GPU (mw.check): what kernels compiled with mwcc --checks find themselves
 * (device/moonwarp/checked_run), as a report like the CPU device's.
 *
 *   session.c         beginning and ending; what a launch passes to its kernel
 *   shadow_pages.c    shadows of global memory; which bytes are written; memory that was freed
 *   launch_order.c    which launches happen before which: streams, events, waits of the host
 *   happens_before.c  pairs of accesses that fences and atomics may order
 *   commands.c        races of copies and fills with kernels in other streams
 *   findings.c        findings in words
 *
 * Kernels decide about barriers, warps and launches in order, and list pairs of accesses that fences and atomics may
 * order; those are decided at the end, from a log of fences and atomics. */
#ifndef MW_CUDA_CHECK_H
#define MW_CUDA_CHECK_H

#include "cuda/cuda.h"
#include "device/moonwarp/checked_run/layout.h"

typedef struct check_session check_session;

/* mw_driver's members of the same names. */
int cuda_check_begin(void *device, unsigned kinds, uint64_t seed);
int cuda_check_end(void *device, mw_report **out);
void cuda_check_forget(cuda_device *device); /* the device is closed */
/* The context goes, in a reset of the idle device: what was found stays, and the run goes on in the new context. */
void cuda_check_leave(cuda_device *device);
void cuda_check_go_on(cuda_device *device);
/* mw_driver.specialise: compile a kernel's unit with checks. */
int cuda_check_compile(void *kernel, const mw_source *source, const mw_launch_class *launches, const char *path);
/* The address that a launch of a unit with checks passes: 0 without a session. */
int cuda_check_launch(cuda_stream *stream, const cuda_kernel *kernel, const mw_launch_request *request,
                      uint64_t *address);
/* A launch without checks: what it writes is not seen. */
void cuda_check_unfollowed(cuda_stream *stream);
struct mw_guard_report;
/* Whether the session keeps a kernel's failure, which then is its own, as a finding. */
bool cuda_check_keeps(cuda_device *device, const struct mw_guard_report *report, mw_error *error);

/* shadow_pages.c: the device's memory was allocated, is written by a command of the stream, or is to be freed: true if
   the session keeps it. */
void cuda_check_allocated(cuda_device *device, uint64_t address, size_t bytes, bool is_written);
void cuda_check_wrote(cuda_device *device, CUstream stream, uint64_t address, size_t bytes);
/* commands.c: a copy or fill in the stream reads or writes the device's memory. */
void cuda_check_command(cuda_stream *stream, uint64_t address, size_t bytes, bool writes);
/* A library has queued a command in the stream that writes all of this memory. */
void cuda_check_library(cuda_stream *stream, uint64_t address, size_t bytes);
bool cuda_check_frees(cuda_device *device, uint64_t address, size_t bytes);

/* launch_order.c */
void cuda_check_recorded(cuda_stream *stream, const void *event);
void cuda_check_waits(cuda_stream *stream, const void *event);
void cuda_check_synchronized(cuda_stream *stream);
void cuda_check_passed(cuda_device *device, const void *event);
void cuda_check_freed(cuda_device *device, const void *stream_or_event);

#endif
