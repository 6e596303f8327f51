/* What a kernel sees without including anything: CUDA C's keywords, built-in variables, types and functions.
 *
 * mwcc passes this file with -include, so every compilation pays for parsing it. What is large and rarely used belongs
 * into a header of its own under CUDA's name (cuda_fp16.h, cuComplex.h, cooperative_groups.h). The rest is cut into parts:
 * a compiler that has seen that a source mentions no name of a part may define MOONWARP_WITHOUT_<part> (parts.def lists
 * the names), and the part is not parsed. NVRTC has all of this built in and is never given this file.
 *
 * Each part includes what it needs, and its functions are inline: what a kernel does not use costs no code. */
#ifndef MOONWARP_DEVICE_H
#define MOONWARP_DEVICE_H

#pragma clang system_header

#include "moonwarp/keywords.h"
#include "moonwarp/limits.h"
#include "moonwarp/vector_types.h"
#include "moonwarp/indices.h"
#include "moonwarp/sync.h"
#include "moonwarp/memory.h"
#include "moonwarp/debug.h"

#ifndef MOONWARP_WITHOUT_LIBM
#include "moonwarp/libm.h"
#endif
#ifndef MOONWARP_WITHOUT_MINMAX
#include "moonwarp/minmax.h"
#endif
#ifndef MOONWARP_WITHOUT_MAKE_VECTOR
#include "moonwarp/make_vector.h"
#endif
#ifndef MOONWARP_WITHOUT_ATOMICS
#include "moonwarp/atomics.h"
#endif
#ifndef MOONWARP_WITHOUT_MATH_OVERLOADS
#include "moonwarp/math_overloads.h"
#endif
#ifndef MOONWARP_WITHOUT_ROOTS
#include "moonwarp/roots.h"
#endif
#ifndef MOONWARP_WITHOUT_PI_TRIGONOMETRY
#include "moonwarp/pi_trigonometry.h"
#endif
#ifndef MOONWARP_WITHOUT_ERROR_FUNCTIONS
#include "moonwarp/error_functions.h"
#endif
#ifndef MOONWARP_WITHOUT_BESSEL
#include "moonwarp/bessel.h"
#endif
#ifndef MOONWARP_WITHOUT_BITS
#include "moonwarp/bits.h"
#endif
#ifndef MOONWARP_WITHOUT_CONVERSIONS
#include "moonwarp/conversions.h"
#endif
#ifndef MOONWARP_WITHOUT_ARITHMETIC
#include "moonwarp/arithmetic.h"
#endif
#ifndef MOONWARP_WITHOUT_ARITHMETIC_DOUBLE
#include "moonwarp/arithmetic_double.h"
#endif
#ifndef MOONWARP_WITHOUT_WARP
#include "moonwarp/warp.h"
#endif

#endif
