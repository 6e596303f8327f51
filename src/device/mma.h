/* Warp matrix functions, nvcuda::wmma: D = A * B + C of small matrices that the lanes of a warp hold in fragments.
 *
 * On the CPU device the results are those of an H100, bit by bit (docs/notes/tensor.md). All 32 lanes of a warp have to
 * make each call. (CUDA C++ Programming Guide, "Warp Matrix Functions") */
#pragma once

#include "moonwarp/tensor/fragment.h"
#if defined(__MW_NVPTX__) || defined(__MW_NVRTC__)
#include "moonwarp/tensor/fragment_ptx.h"
#else
#include "moonwarp/tensor/fragment_lanes.h"
#endif
