/* Functions for PTX instructions of clusters (src/mwcc/ptx/cluster.c), included as ptx_functions.h is, in sources that name
 * clusters. */
#ifndef MOONWARP_PTX_CLUSTER_H
#define MOONWARP_PTX_CLUSTER_H

/* clang-format off */
#define __mw_ptx(name, type, parameters, expression)                                                                   \
  extern "C" __attribute__((device, nodebug)) type __mw_ptx_##name parameters { return expression; }
#define __mw_ptx_cluster(axis)                                                                                         \
  __mw_ptx(cluster_nctaid_##axis, unsigned int, (), __mw_cluster_size_##axis())                                        \
  __mw_ptx(cluster_ctaid_##axis, unsigned int, (), blockIdx.axis % __mw_cluster_size_##axis())                         \
  __mw_ptx(clusterid_##axis, unsigned int, (), blockIdx.axis / __mw_cluster_size_##axis())                             \
  __mw_ptx(nclusterid_##axis, unsigned int, (), gridDim.axis / __mw_cluster_size_##axis())
__mw_ptx_cluster(x)
__mw_ptx_cluster(y)
__mw_ptx_cluster(z)
__mw_ptx(cluster_ctarank, unsigned int, (), __mw_cluster_rank())
__mw_ptx(cluster_nctarank, unsigned int, (), __mw_cluster_size())
__mw_ptx(is_explicit_cluster, bool, (), __mw_cluster_size() > 1)
__mw_ptx(mapa, unsigned long long, (unsigned long long address, unsigned int rank), __mw_cluster_map(address, rank))
__mw_ptx(getctarank, unsigned int, (unsigned long long address), __mw_cluster_rank_of(address))
__mw_ptx(barrier_cluster_wait, void, (), __mw_cluster_await())
#undef __mw_ptx
#undef __mw_ptx_cluster
/* clang-format on */

#endif
