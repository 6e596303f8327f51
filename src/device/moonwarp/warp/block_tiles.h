/* Tiles of more threads than a warp (cooperative groups): they wait for each other, and exchange values, in shared
 * memory.
 *
 * The memory is these functions' own, so that tiles need no block_tile_memory, as on GPUs of compute capability 8.0 and
 * above; one that is given is not used. Dividing a block into tiles is collective, so the block clears the tiles'
 * states there. */
#ifndef MOONWARP_BLOCK_TILES_H
#define MOONWARP_BLOCK_TILES_H

#include "moonwarp/sync/block_wait.h"

namespace cooperative_groups {

template <unsigned int MaxBlockSize = 1024> struct block_tile_memory {
  unsigned long long unused;
};

namespace details {

template <unsigned int Size> struct block_tile_state {
  enum { WARPS = Size / 32, MOST = 32 };
  unsigned int arrived, phase;
  alignas(16) unsigned char values[WARPS][MOST]; /* one a warp */
};

template <unsigned int Size> __mw_device_template block_tile_state<Size> &state_of_tile() {
  __shared__ block_tile_state<Size> states[1024 / Size];
  return states[thread_block::thread_rank() / Size];
}

template <unsigned int Size> __mw_device_template void make_tiles() {
  __syncthreads();
  if (thread_block::thread_rank() % Size == 0) state_of_tile<Size>().arrived = state_of_tile<Size>().phase = 0;
  __syncthreads();
}

} // namespace details

template <unsigned int Size, typename Parent> class thread_block_tile<Size, Parent, true> : public thread_group {
  static_assert(Size <= 1024 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4, … or 1024 threads");
  using warp = thread_block_tile<32>;

public:
  __mw_member thread_block_tile() : thread_group(false, 0, num_threads(), thread_rank()) {}
  template <typename Other>
  __mw_member thread_block_tile(const thread_block_tile<Size, Other> &) : thread_block_tile() {}
  __mw_member static constexpr unsigned int size() { return Size; }
  __mw_member static constexpr unsigned int num_threads() { return Size; }
  __mw_member static unsigned int thread_rank() { return thread_block::thread_rank() % Size; }
  __mw_member static unsigned int meta_group_size() { return (thread_block::size() + Size - 1) / Size; }
  __mw_member static unsigned int meta_group_rank() { return thread_block::thread_rank() / Size; }
  __mw_member static void sync() {
    auto &state = details::state_of_tile<Size>();
    unsigned int first = meta_group_rank() * Size, left = thread_block::size() - first;
    unsigned int phase = *(volatile unsigned int *)&state.phase;
    __threadfence_block();
    if (atomicAdd(&state.arrived, 1u) + 1 == (left < Size ? left : Size)) {
      state.arrived = 0;
      __threadfence_block();
      atomicAdd(&state.phase, 1u);
    }
    __mw_await_word(&state.phase, ~0u, phase);
    __threadfence_block();
  }
  template <typename T> __mw_member static T shfl(const T &value, unsigned int from) {
    if (thread_rank() == from % Size) give(from % Size / 32, value);
    sync();
    T result = taken<T>(from % Size / 32);
    sync();
    return result;
  }
  __mw_member static int any(int predicate) {
    return over_warps(warp().any(predicate), [](int x, int y) { return x | y; });
  }
  __mw_member static int all(int predicate) {
    return over_warps(warp().all(predicate), [](int x, int y) { return x & y; });
  }

  /* The warps' values combined, in their order: of all warps, where lane 0 gives its own; or of those before this
     thread's, where the last lane gives it. For the first warp the latter has no meaning. */
  template <typename T, typename F> __mw_member static T over_warps(const T &own, F op) {
    unsigned int rank = thread_rank();
    if (rank % 32 == 0) give(rank / 32, own);
    sync();
    T result = taken<T>(0);
    for (unsigned int w = 1; w < Size / 32; w++) result = op(result, taken<T>(w));
    sync();
    return result;
  }
  template <typename T, typename F> __mw_member static T before_warp(const T &total, F op) {
    unsigned int rank = thread_rank();
    if (rank % 32 == 31) give(rank / 32, total);
    sync();
    T result = taken<T>(0);
    for (unsigned int w = 1; w < rank / 32; w++) result = op(result, taken<T>(w));
    sync();
    return result;
  }

private:
  template <typename T> __mw_member static void give(unsigned int w, const T &value) {
    static_assert(__is_trivially_copyable(T) && sizeof(T) <= 32,
                  "a value that groups exchange has to be trivially copyable, of 32 bytes at most");
    __builtin_memcpy(details::state_of_tile<Size>().values[w], &value, sizeof(T));
  }
  template <typename T> __mw_member static T taken(unsigned int w) {
    T value;
    __builtin_memcpy(&value, details::state_of_tile<Size>().values[w], sizeof(T));
    return value;
  }
};

template <unsigned int Size> __mw_device_template thread_block this_thread_block(block_tile_memory<Size> &) {
  return thread_block();
}

/* The names of CUDA 11. */
namespace experimental {
template <unsigned int CommunicationSize = 8, unsigned int MaxBlockSize = 1024>
using block_tile_memory = cooperative_groups::block_tile_memory<MaxBlockSize>;
using cooperative_groups::this_thread_block;
using cooperative_groups::tiled_partition;
} // namespace experimental

} // namespace cooperative_groups

#endif
