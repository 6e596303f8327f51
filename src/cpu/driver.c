/* The CPU driver's table, and functions for the device as a whole. */
#include "cpu/check/screen.h"
#include "cpu/bulk/bulk_copy.h"
#include "cpu/check/check.h"
#include "cpu/cpu.h"
#include "cpu/fault/fault.h"
#include "cpu/fourier/fftw.h"
#include "cpu/linear/blas.h"
#include "cpu/memory/heap.h"
#include "cpu/schedule/command_list.h"
#include "cpu/schedule/pool.h"
#include "cpu/processor.h"
#include "cpu/execution/services.h"
#include "simulated_devices.h"
#include "cpu/schedule/stream.h"
#include "cpu/schedule/trial.h"
#include "cpu/watch/watch.h"

#include <math.h>
#include <stdlib.h>

static const double stack_most = 1 << 30;

static int device_count(int *count) {
  cpu_simulated devices;
  int code = cpu_simulated_get(&devices);
  if (code == MW_SUCCESS) *count = devices.count;
  return code;
}

/* $MOONWARP_THREADS, or as many as the cores that the process may use. */
static int count_workers(int *out) {
  const char *text = getenv("MOONWARP_THREADS");
  if (text && *text) {
    char *end;
    long count = strtol(text, &end, 10);
    if (*end || count < 1 || count > CPU_WORKERS_MOST) {
      return fail(MW_INVALID_VALUE, "MOONWARP_THREADS is '%s': it should be a number of threads from 1 to %d", text,
                  CPU_WORKERS_MOST);
    }
    *out = (int)count;
    return MW_SUCCESS;
  }
  *out = mw_processors();
  if (*out > CPU_WORKERS_MOST) *out = CPU_WORKERS_MOST;
  return MW_SUCCESS;
}

/* $MOONWARP_SPECIALISE, or a number of threads whose savings pay for the compilation. */
static int read_specialise(double *out) {
  const char *text = getenv("MOONWARP_SPECIALISE");
  char *end = NULL;
  *out = 65536;
  if (!text || !*text) return MW_SUCCESS;
  *out = strtod(text, &end);
  if (*end == '\0' && *out >= 0 && isfinite(*out)) return MW_SUCCESS;
  return fail(MW_INVALID_VALUE, "MOONWARP_SPECIALISE is '%s': it should be a number of threads, 0 or more", text);
}

static void device_close(void *handle) {
  cpu_device *device = handle;
  if (!device) return;
  if (device->pool) cpu_fault_uninstall();
  if (device->pool) cpu_malloc_close(device->pool->region);
  cpu_pool_close(device->pool);
  cpu_screen_close(device);
  cpu_heap_close(device->heap);
  cpu_printed_close(device->printed);
  free(device);
}

/* Its own limits are those of 8.0, except for shared memory, of which it provides the most of all capabilities. */
static int own_capability(mw_capability *out) {
  mw_capability most;
  int code = mw_capability_find("8.0", out);
  if (code == MW_SUCCESS) code = mw_capability_find("9.0", &most);
  if (code == MW_SUCCESS) out->shared_per_block_optin = most.shared_per_block_optin;
  return code;
}

static int open_with(const mw_capability *capability, void **out) {
  cpu_device *device = mw_alloc(sizeof *device);
  double specialise;
  int code = MW_SUCCESS;
  device->is_restricted = capability != NULL;
  if (capability)
    device->capability = *capability;
  else
    code = own_capability(&device->capability);
  if (!code) code = count_workers(&device->workers);
  if (!code) code = read_specialise(&specialise);
  device->cached = processor_cached(device->workers);
  if (!code) code = cpu_heap_open(&device->heap);
  if (!code) device->reach = cpu_reach_of(cpu_heap_margin(device->heap));
  if (!code) code = cpu_pool_open(device, &device->pool);
  if (code) {
    device_close(device);
    return code;
  }
  atomic_init(&device->limits[MW_LIMIT_STACK], 64 << 10);
  atomic_init(&device->limits[MW_LIMIT_COMPILE_TIME], 60);
  atomic_init(&device->limits[MW_LIMIT_COMPILE_MEMORY], (double)((size_t)4 << 30));
  atomic_init(&device->limits[MW_LIMIT_SPECIALISE], specialise);
  atomic_init(&device->limits[MW_LIMIT_HEAP], 8 << 20);
  atomic_init(&device->limits[MW_LIMIT_LAUNCHES], 2048);
  device->pool->region = cpu_malloc_open(device->heap);
  device->printed = cpu_printed_open();
  cpu_fault_install();
  *out = device;
  return MW_SUCCESS;
}

static int device_open(int ordinal, void **out) {
  cpu_simulated devices;
  int code = cpu_simulated_get(&devices);
  if (code != MW_SUCCESS) return code;
  const mw_capability *capability = &devices.capabilities[ordinal];
  return open_with(capability->major ? capability : NULL, out);
}

static int device_open_as(int ordinal, const mw_capability *capability, void **out) {
  (void)ordinal;
  return open_with(capability, out);
}

static bool device_can_reach(void *device, void *other) {
  return cpu_heap_adjoins(((cpu_device *)device)->heap, ((cpu_device *)other)->heap);
}

static int device_reach(void *device, void *other, bool on) {
  cpu_heap_reach(((cpu_device *)device)->heap, ((cpu_device *)other)->heap, on);
  return MW_SUCCESS;
}

static int device_memory(void *device, mw_memory *out) {
  cpu_heap_usage(((cpu_device *)device)->heap, out);
  return MW_SUCCESS;
}

/* As many as current devices have. */
static void device_priorities(void *device, int *least, int *greatest) {
  (void)device;
  *least = 0;
  *greatest = -5;
}

/* ---- limits ---- */

double cpu_limit(const cpu_device *device, mw_limit limit) {
  return atomic_load_explicit(&((cpu_device *)device)->limits[limit], memory_order_relaxed);
}

static int check_limit(mw_limit limit) {
  if ((size_t)limit < MW_COUNT(((cpu_device *)0)->limits)) return MW_SUCCESS;
  return fail(MW_INVALID_VALUE, "%d is not a limit", (int)limit);
}

static int limit_get(void *device, mw_limit limit, double *value) {
  int code = check_limit(limit);
  if (!code) *value = cpu_limit(device, limit);
  return code;
}

static int limit_set(void *handle, mw_limit limit, double value) {
  cpu_device *device = handle;
  int code = check_limit(limit);
  if (code) return code;
  if (!(value >= 0) || isinf(value)) return fail(MW_INVALID_VALUE, "a limit of %g: it should be 0 or more", value);
  if (limit == MW_LIMIT_STACK && (value < 1024 || value > stack_most)) {
    return fail(MW_INVALID_VALUE, "a stack of %g bytes for each thread: it can be 1024 to %g", value, stack_most);
  }
  if (limit == MW_LIMIT_MEMORY && value > (double)(SIZE_MAX / 2)) {
    return fail(MW_INVALID_VALUE, "a memory limit of %g bytes is more than addresses can count", value);
  }
  if (limit == MW_LIMIT_HEAP) {
    code = cpu_malloc_limit(device->pool->region, value < 1e15 ? (size_t)value : SIZE_MAX);
    if (code) return code;
  }
  atomic_store(&device->limits[limit], value);
  if (limit == MW_LIMIT_MEMORY) cpu_heap_limit(device->heap, (size_t)value);
  return limit == MW_LIMIT_TIME && value > 0 ? cpu_monitor_start(device->pool) : MW_SUCCESS;
}

/* ---- memory ---- */

/* All kinds are equal here: kernels can access only the heap, and the host can access all of it. */
static int memory_alloc(void *handle, mw_memory_kind kind, size_t bytes, uint64_t *address) {
  cpu_device *device = handle;
  const mw_capability *capability = &device->capability;
  if (kind == MW_MEMORY_MANAGED && device->is_restricted && capability->major < 3)
    return fail(MW_NOT_SUPPORTED,
                "managed memory came with compute capability 3.0, and this device is opened as %d.%d: copy between "
                "host and device memory instead",
                capability->major, capability->minor);
  int code = cpu_heap_alloc(device->heap, bytes, address);
  if (code == MW_SUCCESS && kind == MW_MEMORY_DEVICE) cpu_check_allocated(device, *address, bytes);
  return code;
}

static void memory_free(void *device, uint64_t address) {
  if (!cpu_check_frees(device, address)) cpu_heap_free(((cpu_device *)device)->heap, address);
}

static void memory_discard(void *device, uint64_t address) {
  if (!cpu_check_frees(device, address)) cpu_heap_discard(((cpu_device *)device)->heap, address);
}

static bool memory_find(void *device, uint64_t address, uint64_t *base, size_t *bytes) {
  return cpu_heap_find(((cpu_device *)device)->heap, address, base, bytes);
}

static bool memory_reserves(void *device, uint64_t address) {
  uint64_t base, size;
  cpu_heap_range(((cpu_device *)device)->heap, &base, &size);
  return address - base < size;
}

static void *memory_host(void *device, uint64_t address) {
  (void)device;
  return (void *)(uintptr_t)address;
}

static void device_interrupt(void *handle) {
  cpu_device *device = handle;
  cpu_monitor_interrupt(device->pool);
}

static void report(mw_text *out) {
  cpu_linear_report(out);
  cpu_fourier_report(out);
}

const mw_driver mw_cpu_driver = {
    .name = "cpu",
    .lingering = (size_t)64 << 20, /* the heap keeps as much for reuse, and as much again */
    .report = report,
    .count = device_count,
    .open = device_open,
    .open_as = device_open_as,
    .simulate = cpu_simulate,
    .can_reach = device_can_reach,
    .reach = device_reach,
    .close = device_close,
    .properties = cpu_properties,
    .memory = device_memory,
    .keep_printed = cpu_keep_printed,
    .printed = cpu_printed_take,
    .limit_get = limit_get,
    .limit_set = limit_set,
    .alloc = memory_alloc,
    .free = memory_free,
    .discard = memory_discard,
    .find = memory_find,
    .reserves = memory_reserves,
    .host = memory_host,
    .wrote = cpu_check_wrote,
    .fourier = &cpu_fourier,
    .linear = &cpu_linear,
    .stream_new = cpu_stream_new,
    .priorities = device_priorities,
    .stream_free = cpu_stream_free,
    .stream_wait = cpu_stream_wait,
    .stream_call = cpu_stream_call,
    .hold_new = cpu_hold_new,
    .hold_reached = cpu_hold_reached,
    .hold_free = cpu_hold_free,
    .event_new = cpu_event_new,
    .event_free = cpu_event_free,
    .event_record = cpu_event_record,
    .event_query = cpu_event_query,
    .event_synchronize = cpu_event_synchronize,
    .event_elapsed = cpu_event_elapsed,
    .stream_synchronize = cpu_stream_synchronize,
    .stream_query = cpu_stream_query,
    .interrupt = device_interrupt,
    .launch = cpu_stream_launch,
    .list_new = cpu_list_new,
    .list_is_good = cpu_list_is_good,
    .list_run = cpu_list_run,
    .list_free = cpu_list_free,
    .copy = cpu_stream_copy,
    .fill = cpu_stream_fill,
    .copy_box = cpu_stream_copy_box,
    .fill_box = cpu_stream_fill_box,
    .write = cpu_stream_write,
    .read = cpu_stream_read,
    .target = cpu_target,
    .level = cpu_level,
    .compile = cpu_compile,
    .usable = cpu_usable,
    .load = cpu_load,
    .unload = cpu_unload,
    .unit_kernel = cpu_unit_kernel,
    .unit_symbol = cpu_unit_symbol,
    .tensor_map = cpu_tensor_map,
    .unit_log = cpu_unit_log,
    .unit_source = cpu_unit_source,
    .specialises = cpu_specialises,
    .takes = cpu_takes,
    .specialise = cpu_specialise,
    .candidates = cpu_candidates,
    .ripen = cpu_ripen,
    .compete = cpu_compete,
    .prefer = cpu_prefer,
    .preferred = cpu_preferred,
    .observe = cpu_observe,
    .watch_new = cpu_watch_new,
    .watch_result = cpu_watch_result,
    .watch_free = cpu_watch_free,
    .check_begin = cpu_check_begin,
    .check_end = cpu_check_end,
};
