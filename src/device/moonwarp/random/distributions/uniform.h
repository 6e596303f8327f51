/* Uniform numbers in (0, 1], from the words of all generators.
 *
 * A word x of n bits becomes the middle of its interval, (x + 1/2) / 2^n, rounded. A double takes 53 bits of two words
 * with XORWOW, and with Philox if several are made at once; otherwise, with generators of 32 bits, one word, whose
 * interval's upper end it is. MRG32k3a's elements are divided instead. */
#ifndef MOONWARP_RANDOM_DISTRIBUTIONS_UNIFORM_H
#define MOONWARP_RANDOM_DISTRIBUTIONS_UNIFORM_H

#include "moonwarp/random/mrg32k3a.h"
#include "moonwarp/random/mtgp32.h"
#include "moonwarp/random/philox4_32_10.h"
#include "moonwarp/random/sobol.h"
#include "moonwarp/random/xorwow.h"

/* The product is exact, so contraction with the sum does not change the result. */
__mw_device_template float _curand_uniform(unsigned int x) { return (float)x * 0x1p-32f + 0x1p-33f; }
__mw_device_template float _curand_uniform(unsigned long long x) { return _curand_uniform((unsigned int)(x >> 32)); }
__mw_device_template float4 _curand_uniform4(uint4 x) {
  return make_float4(_curand_uniform(x.x), _curand_uniform(x.y), _curand_uniform(x.z), _curand_uniform(x.w));
}
__mw_device_template double _curand_uniform_double(unsigned int x) { return x * 0x1p-32 + 0x1p-32; }
__mw_device_template double _curand_uniform_double(unsigned long long x) {
  return (double)(long long)(x >> 11) * 0x1p-53 + 0x1p-54;
}
__mw_device_template double _curand_uniform_double_hq(unsigned int x, unsigned int y) {
  return (double)(long long)(x ^ (unsigned long long)y << 21) * 0x1p-53 + 0x1p-54;
}

#define __mw_mrg_norm 2.3283065498378288e-10 /* nearly 1 / m1 */

__mw_device_template float curand_uniform(curandStateXORWOW_t *state) { return _curand_uniform(curand(state)); }
__mw_device_template float curand_uniform(curandStatePhilox4_32_10_t *state) { return _curand_uniform(curand(state)); }
__mw_device_template float curand_uniform(curandStateMtgp32_t *state) { return _curand_uniform(curand(state)); }
__mw_device_template float curand_uniform(curandStateMRG32k3a_t *state) {
  return (float)(__mw_mrg_draw(state) * __mw_mrg_norm);
}
__mw_device_template float curand_uniform(curandStateSobol32_t *state) { return _curand_uniform(curand(state)); }
__mw_device_template float curand_uniform(curandStateScrambledSobol32_t *state) {
  return _curand_uniform(curand(state));
}
__mw_device_template float curand_uniform(curandStateSobol64_t *state) { return _curand_uniform(curand(state)); }
__mw_device_template float curand_uniform(curandStateScrambledSobol64_t *state) {
  return _curand_uniform(curand(state));
}

__mw_device_template float4 curand_uniform4(curandStatePhilox4_32_10_t *state) {
  return _curand_uniform4(curand4(state));
}

__mw_device_template double curand_uniform_double(curandStateXORWOW_t *state) {
  unsigned int x = curand(state), y = curand(state);
  return _curand_uniform_double_hq(x, y);
}
__mw_device_template double curand_uniform_double(curandStatePhilox4_32_10_t *state) {
  return _curand_uniform_double(curand(state));
}
__mw_device_template double curand_uniform_double(curandStateMtgp32_t *state) {
  return _curand_uniform_double(curand(state));
}
__mw_device_template double curand_uniform_double(curandStateMRG32k3a_t *state) {
  return __mw_mrg_draw(state) * __mw_mrg_norm;
}
__mw_device_template double curand_uniform_double(curandStateSobol32_t *state) {
  return _curand_uniform_double(curand(state));
}
__mw_device_template double curand_uniform_double(curandStateScrambledSobol32_t *state) {
  return _curand_uniform_double(curand(state));
}
__mw_device_template double curand_uniform_double(curandStateSobol64_t *state) {
  return _curand_uniform_double(curand(state));
}
__mw_device_template double curand_uniform_double(curandStateScrambledSobol64_t *state) {
  return _curand_uniform_double(curand(state));
}

__mw_device_template double2 curand_uniform2_double(curandStatePhilox4_32_10_t *state) {
  uint4 x = curand4(state);
  return make_double2(_curand_uniform_double_hq(x.x, x.y), _curand_uniform_double_hq(x.z, x.w));
}
__mw_device_template double4 curand_uniform4_double(curandStatePhilox4_32_10_t *state) {
  uint4 x = curand4(state), y = curand4(state);
  return make_double4(_curand_uniform_double_hq(x.x, x.y), _curand_uniform_double_hq(x.z, x.w),
                      _curand_uniform_double_hq(y.x, y.y), _curand_uniform_double_hq(y.z, y.w));
}

#endif
