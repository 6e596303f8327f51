/* What a kernel sees without including anything: CUDA C's keywords, built-in variables, types and functions.
 *
 * mwcc passes this file with -include, so every compilation pays for parsing it: what is large and rarely used belongs
 * into a header of its own under CUDA's name (cuda_fp16.h, cuComplex.h, cooperative_groups.h). NVRTC has all of this
 * built in and is never given this file.
 *
 * Each part is self-contained given keywords.h, and its functions are inline: what a kernel does not use costs no code.
 */
#ifndef MOONWARP_DEVICE_H
#define MOONWARP_DEVICE_H

#pragma clang system_header

#include "moonwarp/keywords.h"
#include "moonwarp/limits.h"
#include "moonwarp/vector_types.h"
#include "moonwarp/indices.h"
#include "moonwarp/sync.h"
#include "moonwarp/atomics.h"
#include "moonwarp/memory.h"
#include "moonwarp/debug.h"
#include "moonwarp/libm.h"
#include "moonwarp/math_overloads.h"

#endif
