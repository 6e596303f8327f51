/* C's string.h: memcpy, memmove, memset and memcmp are built in. The C++ library's headers also get the host's declarations (and this file has no
 * guard, since what a first inclusion left out, a later one may need). */
#ifdef _GLIBCXX_CXX_CONFIG_H
#include_next <string.h>
#endif
