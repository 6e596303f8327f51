/* Cooperative groups: blocks, tiles of warps, coalesced threads, partitions. (CUDA C++ Programming Guide, 8)
 *
 * A group of lanes of a warp is a mask (moonwarp/warp/group_lanes.h). The blocks of a grid can wait for each other in a
 * cooperative launch, whose blocks are all resident at once. */
#ifndef _COOPERATIVE_GROUPS_H_
#define _COOPERATIVE_GROUPS_H_

#include "moonwarp/warp/group_lanes.h"
#include "moonwarp/sync/cluster.h"

#if defined __MW_NVPTX__ || defined __MW_NVRTC__
#include "moonwarp/sync/grid_barrier.h"
#else
/* Whether the launch is cooperative. The register's meaning is moonwarp's own: PTX leaves it to drivers. */
__mw_import unsigned int __mw_is_cooperative() __asm("llvm.nvvm.read.ptx.sreg.envreg1");
/* Wait for all other blocks: called by one thread of the block, for which the others wait. */
__mw_import void __mw_grid_wait(unsigned int led);
#endif

namespace cooperative_groups {

class thread_block;
class coalesced_group;

/* A group of any kind, which is known at run time only. */
class thread_group {
public:
  __mw_member void sync() const {
    if (is_block)
      __syncthreads();
    else
      __syncwarp(mask);
  }
  __mw_member unsigned long long size() const { return count; }
  __mw_member unsigned long long num_threads() const { return count; }
  __mw_member unsigned long long thread_rank() const { return rank; }
  __mw_member bool is_valid() const { return count > 0; }

protected:
  __mw_member thread_group(bool block, unsigned int lanes, unsigned int threads, unsigned int own)
      : is_block(block), mask(lanes), count(threads), rank(own) {}
  /* One of the tiles of `size` ranks that a coalesced group is divided into. */
  __mw_member thread_group tile_of_ranks(unsigned int size) const {
    unsigned int first = rank & ~(size - 1), last = first + size, lanes = 0;
    for (unsigned int r = first; r < last && r < count; r++) lanes |= 1u << details::lane_of_rank(mask, r);
    return thread_group(false, lanes, last < count ? size : count - first, rank - first);
  }

  bool is_block;
  unsigned int mask, count, rank;
  friend __mw_member thread_group tiled_partition(const thread_group &parent, unsigned int size);
};

class thread_block : public thread_group {
public:
  __mw_member thread_block() : thread_group(true, 0, block_size(), own_rank()) {}
  __mw_member static void sync() { __syncthreads(); }
  __mw_member static unsigned int size() { return block_size(); }
  __mw_member static unsigned int num_threads() { return block_size(); }
  __mw_member static unsigned int thread_rank() { return own_rank(); }
  __mw_member static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  __mw_member static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  __mw_member static dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
  __mw_member static dim3 dim_threads() { return group_dim(); }
  /* Arriving does nothing: the barrier is in the wait. */
  struct arrival_token {};
  __mw_member static arrival_token barrier_arrive() { return {}; }
  __mw_member static void barrier_wait(arrival_token &&) { __syncthreads(); }

private:
  __mw_member static unsigned int block_size() { return blockDim.x * blockDim.y * blockDim.z; }
  __mw_member static unsigned int own_rank() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  }
};

__mw_device_template thread_block this_thread_block() { return thread_block(); }

/* ---- the grid ---- */

class grid_group {
public:
  /* Whether the grid may synchronise: in a cooperative launch. */
  __mw_member static bool is_valid() { return __mw_is_cooperative() != 0; }
  __mw_member static void sync() {
    bool first = thread_block::thread_rank() == 0, led = __syncthreads_or(first);
    if (first || !led) __mw_grid_wait(led);
    __syncthreads();
  }
  struct arrival_token {};
  __mw_member static arrival_token barrier_arrive() { return {}; }
  __mw_member static void barrier_wait(arrival_token &&) { sync(); }
  __mw_member static unsigned long long size() { return num_blocks() * thread_block::size(); }
  __mw_member static unsigned long long num_threads() { return size(); }
  __mw_member static unsigned long long thread_rank() {
    return block_rank() * thread_block::size() + thread_block::thread_rank();
  }
  __mw_member static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
  __mw_member static unsigned long long block_rank() {
    return blockIdx.x + gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
  }
  __mw_member static dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
  __mw_member static dim3 dim_blocks() { return group_dim(); }
  __mw_member static dim3 block_index() { return thread_block::group_index(); }
  /* Templates, for GPUs without clusters (cluster.h). */
  template <int = 0> __mw_member static dim3 dim_clusters() { return __clusterGridDimInClusters(); }
  template <int = 0> __mw_member static dim3 cluster_index() { return __clusterIdx(); }
  template <int = 0> __mw_member static unsigned long long num_clusters() {
    dim3 size = dim_clusters();
    return (unsigned long long)size.x * size.y * size.z;
  }
  template <int = 0> __mw_member static unsigned long long cluster_rank() {
    dim3 size = dim_clusters(), at = cluster_index();
    return at.x + size.x * (at.y + (unsigned long long)size.y * at.z);
  }
};

__mw_device_template grid_group this_grid() { return grid_group(); }

/* ---- the cluster ---- */

/* Without clusters, a block is one of its own. A template, because only what is used of it may be compiled for a GPU
   that has none: cluster.h. */
namespace details {
template <int> class cluster_members {
public:
  struct arrival_token {};
  __mw_member static void sync() {
    __mw_cluster_arrive();
    __mw_cluster_await();
  }
  __mw_member static arrival_token barrier_arrive() {
    __mw_cluster_arrive();
    return {};
  }
  __mw_member static void barrier_wait(arrival_token &&) { __mw_cluster_await(); }
  __mw_member static void barrier_wait() { __mw_cluster_await(); }
  /* A block's own variable, as the block of that rank has it; and the rank of the block that an address belongs to. */
  template <typename T> __mw_member static T *map_shared_rank(T *address, int rank) {
    return (T *)__mw_cluster_map((size_t)address, (unsigned int)rank);
  }
  __mw_member static unsigned int query_shared_rank(const void *address) {
    return __mw_cluster_rank_of((size_t)address);
  }
  __mw_member static dim3 block_index() {
    dim3 size = dim_blocks();
    return dim3(blockIdx.x % size.x, blockIdx.y % size.y, blockIdx.z % size.z);
  }
  __mw_member static unsigned int block_rank() { return __mw_cluster_rank(); }
  __mw_member static dim3 thread_index() {
    dim3 block = block_index();
    return dim3(block.x * blockDim.x + threadIdx.x, block.y * blockDim.y + threadIdx.y,
                block.z * blockDim.z + threadIdx.z);
  }
  __mw_member static unsigned int thread_rank() {
    return block_rank() * thread_block::size() + thread_block::thread_rank();
  }
  __mw_member static dim3 dim_blocks() {
    return dim3(__mw_cluster_size_x(), __mw_cluster_size_y(), __mw_cluster_size_z());
  }
  __mw_member static unsigned int num_blocks() { return __mw_cluster_size(); }
  __mw_member static dim3 dim_threads() {
    dim3 size = dim_blocks();
    return dim3(size.x * blockDim.x, size.y * blockDim.y, size.z * blockDim.z);
  }
  __mw_member static unsigned int num_threads() { return num_blocks() * thread_block::size(); }
  __mw_member static unsigned int size() { return num_threads(); }
};
} // namespace details

typedef details::cluster_members<0> cluster_group;

__mw_device_template cluster_group this_cluster() { return cluster_group(); }

/* A launch is on one device here; CUDA 13 no longer has launches on several. */
template <int = 0>
__mw_device_template grid_group this_multi_grid()
    __attribute__((diagnose_if(true,
                               "groups over several devices (multi_grid_group) are not supported: no launch has more "
                               "than one device, and CUDA 13 removed them; use this_grid()",
                               "error"))) {
  return grid_group();
}

/* ---- coalesced threads ---- */

class coalesced_group : public thread_group, public details::lane_group<coalesced_group> {
public:
  using lanewise = details::lane_group<coalesced_group>;
  __mw_member coalesced_group(unsigned int lanes)
      : thread_group(false, lanes, __popc(lanes), __popc(lanes & details::lanes_below())) {}
  __mw_member unsigned int lanes() const { return mask; }
  __mw_member unsigned int size() const { return count; }
  __mw_member unsigned int num_threads() const { return count; }
  __mw_member unsigned int thread_rank() const { return rank; }
  __mw_member unsigned int meta_group_size() const { return 1; }
  __mw_member unsigned int meta_group_rank() const { return 0; }
  __mw_member void sync() const { __syncwarp(mask); }
  template <typename T> __mw_member T shfl(T value, unsigned int from) const {
    return fetch(value, details::lane_of_rank(mask, from % count));
  }
  template <typename T> __mw_member T shfl_up(T value, unsigned int delta) const {
    return fetch(value, details::lane_of_rank(mask, rank < delta ? rank : rank - delta));
  }
  template <typename T> __mw_member T shfl_down(T value, unsigned int delta) const {
    return fetch(value, details::lane_of_rank(mask, rank + delta < count ? rank + delta : rank));
  }

private:
  template <typename T> __mw_member T fetch(const T &value, unsigned int lane) const {
    unsigned int everyone = mask;
    return details::by_words(value, [=](auto word) { return __shfl_sync(everyone, word, (int)lane); });
  }
};

__mw_device_template coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

/* ---- tiles ---- */

/* Tiles of more threads than a warp are in moonwarp/warp/block_tiles.h. */
template <unsigned int Size, typename Parent = void, bool Large = (Size > 32)>
class thread_block_tile : public thread_group, public details::lane_group<thread_block_tile<Size, Parent>> {
  static_assert(Size > 0 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4, … or 1024 threads");

public:
  using lanewise = details::lane_group<thread_block_tile<Size, Parent>>;
  __mw_member thread_block_tile() : thread_group(false, lanes(), Size, thread_rank()) {}
  template <typename Other>
  __mw_member thread_block_tile(const thread_block_tile<Size, Other> &) : thread_block_tile() {}
  /* In a partial last warp, some of these lanes do not exist. */
  __mw_member static unsigned int lanes() {
    if constexpr (Size == 32) return 0xffffffffu;
    return ((1u << (Size % 32)) - 1) << (details::lane_number() & ~(Size - 1));
  }
  __mw_member static constexpr unsigned int size() { return Size; }
  __mw_member static constexpr unsigned int num_threads() { return Size; }
  __mw_member static unsigned int thread_rank() { return details::lane_number() & (Size - 1); }
  __mw_member unsigned int meta_group_size() const { return (thread_block::size() + Size - 1) / Size; }
  __mw_member unsigned int meta_group_rank() const { return thread_block::thread_rank() / Size; }
  __mw_member void sync() const { __syncwarp(lanes()); }
  template <typename T> __mw_member T shfl(T value, int from) const {
    unsigned int all = lanes();
    return details::by_words(value, [=](auto word) { return __shfl_sync(all, word, from, Size); });
  }
  template <typename T> __mw_member T shfl_up(T value, int delta) const {
    unsigned int all = lanes();
    return details::by_words(value, [=](auto word) { return __shfl_up_sync(all, word, delta, Size); });
  }
  template <typename T> __mw_member T shfl_down(T value, int delta) const {
    unsigned int all = lanes();
    return details::by_words(value, [=](auto word) { return __shfl_down_sync(all, word, delta, Size); });
  }
  template <typename T> __mw_member T shfl_xor(T value, int bits) const {
    unsigned int all = lanes();
    return details::by_words(value, [=](auto word) { return __shfl_xor_sync(all, word, bits, Size); });
  }
};

namespace details {
template <unsigned int Size> __mw_device_template void make_tiles();
}

template <unsigned int Size, typename Parent>
__mw_device_template thread_block_tile<Size, Parent> tiled_partition(const Parent &) {
  if constexpr (Size > 32) details::make_tiles<Size>();
  return thread_block_tile<Size, Parent>();
}

template <int = 0> __mw_device_template thread_block_tile<1> this_thread() { return thread_block_tile<1>(); }

/* A tile of a size that is known at run time only, of a thread_block or of coalesced threads. */
__mw_member thread_group tiled_partition(const thread_group &parent, unsigned int size) {
  if (size == 0 || size > 32 || (size & (size - 1)) != 0) return thread_group(false, 0, 0, 0);
  if (!parent.is_block) return parent.tile_of_ranks(size);
  unsigned int lane = details::lane_number(), first = lane & ~(size - 1);
  unsigned int lanes = size == 32 ? 0xffffffffu : ((1u << size) - 1) << first;
  return thread_group(false, lanes, size, lane - first);
}

/* ---- partitions ---- */

template <typename Group, typename T>
__mw_device_template coalesced_group labeled_partition(const Group &group, T label) {
  return coalesced_group(__match_any_sync(group.lanes(), label));
}

template <typename Group> __mw_device_template coalesced_group binary_partition(const Group &group, bool predicate) {
  unsigned int yes = __ballot_sync(group.lanes(), predicate), no = __ballot_sync(group.lanes(), !predicate);
  return coalesced_group(predicate ? yes : no);
}

/* ---- as functions ---- */

template <typename Group> __mw_device_template void sync(const Group &group) { group.sync(); }
template <typename Group> __mw_device_template auto thread_rank(const Group &group) { return group.thread_rank(); }
template <typename Group> __mw_device_template auto group_size(const Group &group) { return group.size(); }

/* One thread of the group calls the function, and all get its result. */
template <typename Group, typename F, typename... Arguments>
__mw_device_template void invoke_one(const Group &group, F &&function, Arguments &&...arguments) {
  if (group.thread_rank() == 0) function(static_cast<Arguments &&>(arguments)...);
}
template <typename Group, typename F, typename... Arguments>
__mw_device_template auto invoke_one_broadcast(const Group &group, F &&function, Arguments &&...arguments) {
  decltype(function(static_cast<Arguments &&>(arguments)...)) result{};
  if (group.thread_rank() == 0) result = function(static_cast<Arguments &&>(arguments)...);
  return group.shfl(result, 0);
}

} // namespace cooperative_groups

#include "moonwarp/warp/block_tiles.h"

#endif
