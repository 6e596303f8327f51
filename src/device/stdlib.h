/* C's stdlib.h: malloc, free and abs are built in. The C++ library's headers also get the host's declarations. */
#include "moonwarp/math/math_overloads.h"
#ifdef _GLIBCXX_CXX_CONFIG_H
#include "cstdlib"
#endif
