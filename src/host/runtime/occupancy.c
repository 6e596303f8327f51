/* Occupancy: how many blocks are resident on a multiprocessor, by CUDA's rules for the device's compute capability. */
#include "host/host.h"

#include <limits.h>

int host_capability(const mw_properties *facts, mw_capability *out) {
  char name[16];
  snprintf(name, sizeof name, "%d.%d", facts->major, facts->minor);
  if (mw_capability_find(name, out) == MW_SUCCESS) return MW_SUCCESS;
  return mw_capability_find("9.0", out); /* newer than the tables */
}

static int up(int value, int unit) { return (value + unit - 1) / unit * unit; }

/* Blocks for which there are enough registers; INT_MAX if a kernel's registers are not counted. */
static int by_registers(const mw_capability *limits, int warps, int registers) {
  if (registers == 0) return INT_MAX;
  if (registers > limits->registers_per_thread) return 0;
  if (limits->registers_by_block)
    return limits->registers / up(up(warps, limits->warp_unit) * 32 * registers, limits->register_unit);
  int needed = up(registers * 32, limits->register_unit);
  if (needed * up(warps, limits->warp_unit) > limits->registers_per_block) return 0;
  int fit = limits->registers / needed;
  return (fit - fit % limits->warp_unit) / warps;
}

static int by_shared(const mw_capability *limits, size_t shared) {
  if (shared > (size_t)limits->shared_per_block_optin) return 0;
  int needed = up((int)shared + limits->shared_reserved, limits->shared_unit);
  return needed ? limits->shared / needed : INT_MAX;
}

static int least(int a, int b) { return a < b ? a : b; }

int host_occupancy(host_context *context, mw_kernel *kernel, int threads, size_t shared, int *blocks) {
  mw_properties facts;
  mw_capability limits;
  if (threads < 1) return host_fail(MW_INVALID_VALUE, "a block has at least one thread, not %d", threads);
  int code = mw_device_properties(context->device, &facts);
  if (code == MW_SUCCESS) code = host_capability(&facts, &limits);
  if (code != MW_SUCCESS) return code;
  const mw_kernel_info *info = mw_kernel_describe(kernel);
  int warps = (threads + 31) / 32;
  int most = threads > limits.threads_per_block ? 0 : limits.warps / warps;
  most = least(most, by_registers(&limits, warps, info->registers));
  most = least(most, by_shared(&limits, info->shared_bytes + shared));
  *blocks = least(most, limits.blocks);
  /* A block with more shared memory than the capability has still runs, alone. */
  bool fits = threads <= facts.max_threads_per_block && info->shared_bytes + shared <= facts.shared_per_block_optin;
  if (*blocks == 0 && fits) *blocks = 1;
  return MW_SUCCESS;
}

int host_occupancy_best(host_context *context, mw_kernel *kernel, size_t (*by_size)(int threads), size_t shared,
                        int limit, int *grid, int *block) {
  mw_properties facts;
  int most = mw_kernel_describe(kernel)->max_threads, best = 0, blocks;
  int code = mw_device_properties(context->device, &facts);
  if (limit > 0 && limit < most) most = limit;
  for (int size = up(most, 32); size > 0 && code == MW_SUCCESS; size -= 32) {
    int threads = least(size, most);
    code = host_occupancy(context, kernel, threads, by_size ? by_size(threads) : shared, &blocks);
    if (code != MW_SUCCESS || (best > 0 && blocks * threads <= best)) continue;
    best = blocks * threads;
    *grid = blocks * facts.multiprocessors;
    *block = threads;
  }
  return code;
}

static int of_function(host_context *context, const void *func, int threads, size_t shared, int *blocks) {
  mw_kernel *kernel;
  int code = host_kernel(context, func, &kernel);
  return code ? code : host_occupancy(context, kernel, threads, shared, blocks);
}

static int best_of_function(host_context *context, const void *func, size_t shared, int limit, int *grid, int *block) {
  mw_kernel *kernel;
  int code = host_kernel(context, func, &kernel);
  return code ? code : host_occupancy_best(context, kernel, NULL, shared, limit, grid, block);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *func, int threads, size_t shared) {
  HOST_RUNTIME(of_function(context, func, threads, shared, blocks));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *func, int threads,
                                                                   size_t shared, unsigned flags) {
  (void)flags;
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, func, threads, shared);
}

cudaError_t cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, const void *func, size_t shared, int limit) {
  HOST_RUNTIME(best_of_function(context, func, shared, limit, grid, block));
}
