/* C's math.h: libm.h and the overloads, for device code and for host code in the same source. */
#pragma once
#include "moonwarp/math/math_overloads.h"

typedef float float_t;
typedef double double_t;
#define MATH_ERRNO       1
#define MATH_ERREXCEPT   2
#define math_errhandling 0
#define FP_ILOGB0        (-2147483647 - 1)
#define FP_ILOGBNAN      (-2147483647 - 1)
