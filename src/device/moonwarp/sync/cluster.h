/* Clusters of thread blocks: their indices, their barrier, and the shared memory of other blocks. (CUDA C++ Programming
 * Guide, 2.2.1 and 7.x; PTX ISA 7.8)
 *
 * On the CPU device the shared memory of a cluster's blocks lies at equal distances in the order of ranks (mwo.h), and one
 * thread of a block arrives for all of them, which wait at the block's own barrier meanwhile. */
#ifndef MOONWARP_CLUSTER_H
#define MOONWARP_CLUSTER_H

#if !defined __MW_NVRTC__ && !defined __MW_NVPTX__

__mw_import unsigned int __mw_cluster_size_x() __asm("llvm.nvvm.read.ptx.sreg.cluster.nctaid.x");
__mw_import unsigned int __mw_cluster_size_y() __asm("llvm.nvvm.read.ptx.sreg.cluster.nctaid.y");
__mw_import unsigned int __mw_cluster_size_z() __asm("llvm.nvvm.read.ptx.sreg.cluster.nctaid.z");
/* One thread calls it for the block, or, where the block's first thread has returned, `callers` threads. */
__mw_import void __mw_cluster_wait(unsigned int callers);

__mw_device unsigned int __mw_cluster_size() {
  return __mw_cluster_size_x() * __mw_cluster_size_y() * __mw_cluster_size_z();
}
__mw_device unsigned int __mw_cluster_rank() {
  unsigned int x = blockIdx.x % __mw_cluster_size_x(), y = blockIdx.y % __mw_cluster_size_y();
  return x + __mw_cluster_size_x() * (y + __mw_cluster_size_y() * (blockIdx.z % __mw_cluster_size_z()));
}
enum { __mw_cluster_most = 16, __mw_cluster_stride = 512 << 10 };
__mw_device size_t __mw_cluster_map(size_t address, unsigned int rank) {
  return address + (size_t)(ptrdiff_t)(int)((rank - __mw_cluster_rank()) * __mw_cluster_stride);
}
__mw_device unsigned int __mw_cluster_rank_of(size_t address) {
  return __mw_cluster_size() > 1 ? (unsigned int)(address / __mw_cluster_stride) % __mw_cluster_most : 0;
}
__mw_device void __mw_cluster_arrive() {}
__mw_device void __mw_cluster_await() {
  bool first = (threadIdx.x | threadIdx.y | threadIdx.z) == 0;
  int led = __syncthreads_or(first);
  if (__mw_cluster_size() == 1) return;
  unsigned int callers = led ? 1 : __syncthreads_count(1);
  if (first || !led) __mw_cluster_wait(callers);
  __syncthreads();
}

#elif __CUDA_ARCH__ >= 900

#define __mw_cluster_register(name, text)                                                                              \
  __mw_device unsigned int name() {                                                                                    \
    unsigned int value;                                                                                                \
    asm("mov.u32 %0, %%" text ";" : "=r"(value));                                                                      \
    return value;                                                                                                      \
  }
__mw_cluster_register(__mw_cluster_size_x, "cluster_nctaid.x")
    __mw_cluster_register(__mw_cluster_size_y, "cluster_nctaid.y")
        __mw_cluster_register(__mw_cluster_size_z, "cluster_nctaid.z")
            __mw_cluster_register(__mw_cluster_size, "cluster_nctarank")
                __mw_cluster_register(__mw_cluster_rank, "cluster_ctarank")
#undef __mw_cluster_register
                    __mw_device size_t __mw_cluster_map(size_t address, unsigned int rank) {
  size_t mapped;
  asm("mapa.u64 %0, %1, %2;" : "=l"(mapped) : "l"(address), "r"(rank));
  return mapped;
}
__mw_device unsigned int __mw_cluster_rank_of(size_t address) {
  unsigned int rank;
  asm("getctarank.u64 %0, %1;" : "=r"(rank) : "l"(address));
  return rank;
}
__mw_device void __mw_cluster_arrive() { asm volatile("barrier.cluster.arrive;" : : : "memory"); }
__mw_device void __mw_cluster_await() { asm volatile("barrier.cluster.wait;" : : : "memory"); }

#else

#define __mw_without_clusters(type, name, parameters)                                                                  \
  template <int Since = 90> __mw_device_template type name parameters {                                                \
    static_assert(Since == 0, "clusters came with compute capability 9.0, and this is compiled for less");             \
    return (type)0;                                                                                                    \
  }
__mw_without_clusters(unsigned int, __mw_cluster_size_x, ())
    __mw_without_clusters(unsigned int, __mw_cluster_size_y, ())
        __mw_without_clusters(unsigned int, __mw_cluster_size_z, ())
            __mw_without_clusters(unsigned int, __mw_cluster_size, ())
                __mw_without_clusters(unsigned int, __mw_cluster_rank, ())
                    __mw_without_clusters(size_t, __mw_cluster_map, (size_t, unsigned int))
                        __mw_without_clusters(unsigned int, __mw_cluster_rank_of, (size_t))
                            __mw_without_clusters(void, __mw_cluster_arrive, ())
                                __mw_without_clusters(void, __mw_cluster_await, ())
#undef __mw_without_clusters

#endif

/* The functions without cooperative groups; NVRTC has them for compute capability 9.0. */
#ifndef __MW_NVRTC__
__mw_device unsigned int __clusterDimIsSpecified() { return __mw_cluster_size() > 1; }
__mw_device dim3 __clusterDim() { return dim3(__mw_cluster_size_x(), __mw_cluster_size_y(), __mw_cluster_size_z()); }
__mw_device dim3 __clusterRelativeBlockIdx() {
  return dim3(blockIdx.x % __mw_cluster_size_x(), blockIdx.y % __mw_cluster_size_y(),
              blockIdx.z % __mw_cluster_size_z());
}
__mw_device dim3 __clusterGridDimInClusters() {
  return dim3(gridDim.x / __mw_cluster_size_x(), gridDim.y / __mw_cluster_size_y(), gridDim.z / __mw_cluster_size_z());
}
__mw_device dim3 __clusterIdx() {
  return dim3(blockIdx.x / __mw_cluster_size_x(), blockIdx.y / __mw_cluster_size_y(),
              blockIdx.z / __mw_cluster_size_z());
}
__mw_device unsigned int __clusterRelativeBlockRank() { return __mw_cluster_rank(); }
__mw_device unsigned int __clusterSizeInBlocks() { return __mw_cluster_size(); }
__mw_device void __cluster_barrier_arrive() { __mw_cluster_arrive(); }
__mw_device void __cluster_barrier_arrive_relaxed() { __mw_cluster_arrive(); }
__mw_device void __cluster_barrier_wait() { __mw_cluster_await(); }
__mw_device void __threadfence_cluster() { __threadfence(); }
__mw_device unsigned int __cluster_query_shared_rank(const void *address) {
  return __mw_cluster_rank_of((size_t)address);
}
__mw_device void *__cluster_map_shared_rank(const void *address, unsigned int rank) {
  return (void *)__mw_cluster_map((size_t)address, rank);
}
#endif

#endif
