/* What a kernel sees without including anything: CUDA C's keywords, built-in variables, types and functions.
 *
 * mwcc begins every compilation with this file, precompiled, so what it holds costs little where it is not used: as long
 * as functions are declared by the macros of keywords.h. Parsed as text it takes clang as long as everything else. What
 * CUDA wants to be included (cuda_fp16.h, cuComplex.h, cooperative_groups.h) is in headers of its own. NVRTC has all of
 * this built in and is never given this file.
 *
 * Each part includes what it needs and can be read by itself. */
#ifndef MOONWARP_DEVICE_H
#define MOONWARP_DEVICE_H

#pragma clang system_header

#include "moonwarp/keywords.h"
#include "moonwarp/limits.h"
#include "moonwarp/vector_types.h"
#include "moonwarp/make_vector.h"
#include "moonwarp/indices.h"
#include "moonwarp/sync.h"
#include "moonwarp/memory.h"
#include "moonwarp/debug.h"
#include "moonwarp/atomics.h"
#include "moonwarp/warp.h"
#include "moonwarp/libm.h"
#include "moonwarp/double_exponential.h"
#include "moonwarp/double_logarithm.h"
#include "moonwarp/double_power.h"
#include "moonwarp/double_hyperbolic.h"
#include "moonwarp/double_trigonometry.h"
#include "moonwarp/double_arc.h"
#include "moonwarp/double_error_functions.h"
#include "moonwarp/float_exponential.h"
#include "moonwarp/float_logarithm.h"
#include "moonwarp/float_power.h"
#include "moonwarp/float_trigonometry.h"
#include "moonwarp/float_error_functions.h"
#include "moonwarp/float_fast.h"
#include "moonwarp/float_gamma.h"
#include "moonwarp/number_parts.h"
#include "moonwarp/remainders.h"
#include "moonwarp/minmax.h"
#include "moonwarp/math_overloads.h"
#include "moonwarp/roots.h"
#include "moonwarp/pi_trigonometry.h"
#include "moonwarp/error_functions.h"
#include "moonwarp/bessel.h"
#include "moonwarp/bits.h"
#include "moonwarp/conversions.h"
#include "moonwarp/arithmetic.h"
#include "moonwarp/arithmetic_double.h"
#include "moonwarp/texture_types.h"
#include "moonwarp/texture_functions.h"
#include "moonwarp/surface_functions.h"

#endif
