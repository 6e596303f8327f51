/* Everything that kernels have without an #include: CUDA C's keywords, built-in variables, types and functions.
 *
 * Every compilation includes this file first, precompiled. Unused functions then cost little, provided that they are
 * declared by the macros of keywords.h; parsed as text, the file would take clang as long as everything else. Headers
 * that CUDA programs include themselves (cuda_fp16.h, cuComplex.h, cooperative_groups.h) are not part of it. It is not
 * used with NVRTC, which has all of this built in.
 *
 * Each part includes the headers that it needs and can be read by itself. */
#ifndef MOONWARP_DEVICE_H
#define MOONWARP_DEVICE_H

#pragma clang system_header

#include "moonwarp/keywords.h"
#include "moonwarp/arithmetic/limits.h"
#include "moonwarp/vector_types.h"
#include "moonwarp/make_vector.h"
#include "moonwarp/runtime_types.h"
#include "library_types.h"
#include "moonwarp/indices.h"
#include "moonwarp/sync/sync.h"
#include "moonwarp/sync/cluster.h"
#include "moonwarp/sync/dependent_launch.h"
#include "moonwarp/memory.h"
#include "moonwarp/debug.h"
#include "moonwarp/device_runtime.h"
#include "moonwarp/atomic/atomics.h"
#include "moonwarp/warp/warp.h"
#include "moonwarp/math/libm.h"
#include "moonwarp/math/double/double_exponential.h"
#include "moonwarp/math/double/double_logarithm.h"
#include "moonwarp/math/double/double_power.h"
#include "moonwarp/math/double/double_hyperbolic.h"
#include "moonwarp/math/double/double_trigonometry.h"
#include "moonwarp/math/double/double_inverse_trigonometry.h"
#include "moonwarp/math/double/double_error_functions.h"
#include "moonwarp/math/float_exponential.h"
#include "moonwarp/math/float_logarithm.h"
#include "moonwarp/math/float_power.h"
#include "moonwarp/math/float_trigonometry.h"
#include "moonwarp/math/float_error_functions.h"
#include "moonwarp/math/float_fast.h"
#include "moonwarp/math/float_gamma.h"
#include "moonwarp/math/number_parts.h"
#include "moonwarp/math/remainders.h"
#include "moonwarp/math/minmax.h"
#include "moonwarp/math/math_overloads.h"
#include "moonwarp/math/long_double.h"
#include "moonwarp/math/roots.h"
#include "moonwarp/math/pi_trigonometry.h"
#include "moonwarp/math/error_functions.h"
#include "moonwarp/math/double/bessel.h"
#include "moonwarp/arithmetic/bits.h"
#include "moonwarp/arithmetic/simd_in_word.h"
#include "moonwarp/arithmetic/dynamic_programming.h"
#include "moonwarp/arithmetic/conversions.h"
#include "moonwarp/arithmetic/arithmetic.h"
#include "moonwarp/arithmetic/arithmetic_double.h"
#include "moonwarp/texture/texture_types.h"
#include "moonwarp/texture/texture_functions.h"
#include "moonwarp/texture/surface_functions.h"

#endif
