/* Makes cuda::std available as std. */
#ifndef MOONWARP_FALLBACK_AS_STD_H
#define MOONWARP_FALLBACK_AS_STD_H
namespace std {
using namespace cuda::std;
}
#endif
