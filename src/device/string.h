/* C's string.h: memcpy, memmove, memset and memcmp are built in. The C++ library's headers also get the host's
 * declarations. There is no include guard, since a later inclusion may need what the first one left out. */
#ifdef _GLIBCXX_CXX_CONFIG_H
#ifdef __MW_NVPTX__ /* those that are built in are of host and device there (moonwarp/memory.h) */
#pragma clang force_cuda_host_device begin
#endif
#include_next <string.h>
#ifdef __MW_NVPTX__
#pragma clang force_cuda_host_device end
#endif
#endif
