/* What a launch runs: the choice of the kernel, its frame, and the device's limits. */
#include "cpu/execution/cluster.h"
#include "cpu/execution/cooperative.h"
#include "cpu/execution/services.h"
#include "cpu/memory/heap.h"
#include "cpu/memory/pointer_arguments.h"
#include "stream.h"
#include "trial.h"

/* Limits that the core does not check: it knows only the device's published ones. */
static int check_launch(const cpu_device *device, const mw_kernel_info *info, size_t shared, uint64_t threads) {
  size_t stack = (size_t)cpu_limit(device, MW_LIMIT_STACK);
  int code = MW_SUCCESS;
  if (threads == 0 || threads > CPU_MAX_THREADS) {
    code = fail(MW_INVALID_CONFIGURATION, "a block of %llu threads: it can have 1 to %d", (unsigned long long)threads,
                CPU_MAX_THREADS);
  } else if (shared > CPU_SHARED_MAX) {
    code = fail(MW_INVALID_CONFIGURATION, "kernel %s: a block with %zu bytes of shared memory; it can have %d",
                info->name, shared, CPU_SHARED_MAX);
  } else if (info->local_bytes > stack) {
    code = fail(MW_LAUNCH_OUT_OF_RESOURCES,
                "kernel %s needs %zu bytes of stack for each thread's calls and local arrays, and the limit \"stack\" "
                "is %zu",
                info->name, info->local_bytes, stack);
  }
  if (code) mw_error_kernel(info->name, NULL, NULL);
  return code;
}

static void fill_frame(mw_frame *frame, const cpu_device *device, const cpu_kernel *kernel,
                       const mw_launch_request *request) {
  *frame = (mw_frame){
      .params = request->params,
      .symbols = kernel->unit->symbols,
      .services = &cpu_services,
      .grid = {request->grid[0], request->grid[1], request->grid[2]},
      .block = {request->block[0], request->block[1], request->block[2]},
      .dynamic_shared = (uint32_t)request->dynamic_shared,
      .cooperative = request->cooperative,
      .cached = device->cached,
      .cluster = {1, 1, 1},
  };
  for (int axis = 0; axis < 3; axis++)
    if (request->cluster[axis]) frame->cluster[axis] = request->cluster[axis];
  cpu_heap_range(device->heap, &frame->heap_base, &frame->heap_size);
}

/* For modules compiled with mwcc --launch. */
static int fail_unsuited(const mw_kernel_info *info, const mw_launch_request *request) {
  const unsigned *grid = request->grid, *block = request->block;
  int code = fail(
      MW_INVALID_CONFIGURATION,
      "kernel %s was compiled for one kind of launch only (mwcc --launch), and a launch of %u x %u x %u blocks of %u x "
      "%u x %u threads with these arguments is another: compile it without --launch",
      info->name, grid[0], grid[1], grid[2], block[0], block[1], block[2]);
  mw_error_kernel(info->name, NULL, NULL);
  return code;
}

int cpu_launch_configure(cpu_device *device, const mw_launch_request *request, cpu_kernel_work *out) {
  const cpu_kernel *asked = request->kernel;
  while (asked->unit->image->checks & MW_CHECKED_SCREEN && asked->otherwise) asked = asked->otherwise;
  mw_frame *frame = &out->frame;
  fill_frame(frame, device, asked, request);
  bool fits = !asked->image->fits || asked->image->fits(frame);
  fits = fits && cpu_pointers_are_separate(asked, request->params);
  /* Blocks that may wait for each other must run whole, not gang by gang. */
  bool waits = cpu_blocks_wait(frame);
  fits = fits && !(waits && asked->image->gangs > 1);
  if (!fits && !asked->otherwise) return fail_unsuited(&asked->image->info, request);
  if (!fits) {
    asked = asked->otherwise;
    frame->symbols = asked->unit->symbols;
  } else {
    asked = cpu_trial_winner(asked, frame);
  }
  if (asked->image->iterations && !waits) frame->iterations = asked->image->iterations(frame);
  cpu_kernel *kernel = (cpu_kernel *)(uintptr_t)asked;
  const mw_kernel_info *info = &kernel->image->info;
  out->kernel = kernel;
  out->owner = request->owner;
  out->instead = NULL;
  out->param_bytes = request->param_bytes;
  out->shared = info->shared_bytes + request->dynamic_shared;
  out->stack = (size_t)cpu_limit(device, MW_LIMIT_STACK);
  uint64_t threads = (uint64_t)request->block[0] * request->block[1] * request->block[2];
  int code = check_launch(device, info, out->shared, threads);
  if (!code && request->cooperative)
    code = cpu_residents_check(device, kernel, request->grid, request->block, out->shared);
  return code;
}

int cpu_launch_prepare(cpu_device *device, const mw_launch_request *request, cpu_kernel_work *out) {
  int code = cpu_launch_configure(device, request, out);
  return code ? code : cpu_pointers_check(out->kernel, request->params);
}

uint64_t cpu_launch_blocks(const cpu_kernel_work *work) {
  const uint32_t *grid = work->frame.grid;
  uint64_t times = work->frame.iterations ? work->frame.iterations : cpu_kernel_gangs(work->kernel);
  return (uint64_t)grid[0] * grid[1] * grid[2] / cpu_cluster_size(&work->frame) * times;
}
