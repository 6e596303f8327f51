/* The values that a graph's conditional nodes test: 4 bytes of memory each, at the address that is their handle. So kernels
 * need no library for them; NVRTC declares a function of CUDA's device runtime, which knows only CUDA's own handles. */
#ifndef MOONWARP_GRAPH_CONDITION_H
#define MOONWARP_GRAPH_CONDITION_H

#ifdef __MW_NVRTC__
#define cudaGraphSetConditional __mw_graph_set_conditional
#endif

__mw_device void cudaGraphSetConditional(unsigned long long handle, unsigned int value) {
  *(unsigned int *)handle = value;
}

#endif
