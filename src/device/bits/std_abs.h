/* Stands in for the C++ library's internal header of this name: std::abs is ours, see cmath. */
#pragma once
#define _GLIBCXX_BITS_STD_ABS_H 1
#include "../moonwarp/math/math_overloads.h"

namespace std {
using ::abs;
}
