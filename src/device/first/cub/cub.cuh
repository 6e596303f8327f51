/* CUB's headers for blocks, warps and threads, of the CCCL that -I names: what it has for whole devices is host code. */
#pragma once

#if __has_include(<cub/block/block_adjacent_difference.cuh>)
#include <cub/block/block_adjacent_difference.cuh>
#endif
#if __has_include(<cub/block/block_discontinuity.cuh>)
#include <cub/block/block_discontinuity.cuh>
#endif
#if __has_include(<cub/block/block_exchange.cuh>)
#include <cub/block/block_exchange.cuh>
#endif
#if __has_include(<cub/block/block_histogram.cuh>)
#include <cub/block/block_histogram.cuh>
#endif
#if __has_include(<cub/block/block_load.cuh>)
#include <cub/block/block_load.cuh>
#endif
#if __has_include(<cub/block/block_merge_sort.cuh>)
#include <cub/block/block_merge_sort.cuh>
#endif
#if __has_include(<cub/block/block_radix_rank.cuh>)
#include <cub/block/block_radix_rank.cuh>
#endif
#if __has_include(<cub/block/block_radix_sort.cuh>)
#include <cub/block/block_radix_sort.cuh>
#endif
#if __has_include(<cub/block/block_reduce.cuh>)
#include <cub/block/block_reduce.cuh>
#endif
#if __has_include(<cub/block/block_run_length_decode.cuh>)
#include <cub/block/block_run_length_decode.cuh>
#endif
#if __has_include(<cub/block/block_scan.cuh>)
#include <cub/block/block_scan.cuh>
#endif
#if __has_include(<cub/block/block_shuffle.cuh>)
#include <cub/block/block_shuffle.cuh>
#endif
#if __has_include(<cub/block/block_store.cuh>)
#include <cub/block/block_store.cuh>
#endif
#if __has_include(<cub/warp/warp_exchange.cuh>)
#include <cub/warp/warp_exchange.cuh>
#endif
#if __has_include(<cub/warp/warp_load.cuh>)
#include <cub/warp/warp_load.cuh>
#endif
#if __has_include(<cub/warp/warp_merge_sort.cuh>)
#include <cub/warp/warp_merge_sort.cuh>
#endif
#if __has_include(<cub/warp/warp_reduce.cuh>)
#include <cub/warp/warp_reduce.cuh>
#endif
#if __has_include(<cub/warp/warp_scan.cuh>)
#include <cub/warp/warp_scan.cuh>
#endif
#if __has_include(<cub/warp/warp_store.cuh>)
#include <cub/warp/warp_store.cuh>
#endif
#if __has_include(<cub/thread/thread_load.cuh>)
#include <cub/thread/thread_load.cuh>
#endif
#if __has_include(<cub/thread/thread_operators.cuh>)
#include <cub/thread/thread_operators.cuh>
#endif
#if __has_include(<cub/thread/thread_reduce.cuh>)
#include <cub/thread/thread_reduce.cuh>
#endif
#if __has_include(<cub/thread/thread_scan.cuh>)
#include <cub/thread/thread_scan.cuh>
#endif
#if __has_include(<cub/thread/thread_search.cuh>)
#include <cub/thread/thread_search.cuh>
#endif
#if __has_include(<cub/thread/thread_sort.cuh>)
#include <cub/thread/thread_sort.cuh>
#endif
#if __has_include(<cub/thread/thread_store.cuh>)
#include <cub/thread/thread_store.cuh>
#endif
