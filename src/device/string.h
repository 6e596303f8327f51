/* C's string.h: memcpy, memmove, memset and memcmp are built in. The C++ library's headers also get the host's
 * declarations. There is no include guard, since a later inclusion may need what the first one left out. */
#ifdef _GLIBCXX_CXX_CONFIG_H
#include_next <string.h>
#endif
