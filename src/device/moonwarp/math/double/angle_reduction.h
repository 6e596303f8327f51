/* Payne-Hanek argument reduction of doubles of any size, x = n pi/2 + r + low, for angles that are too large for
 * double_trigonometry.h's own reduction. GPUs use this; the CPU device calls the C library instead.
 *
 * Of the bits of 2/pi, for x = m 2^e only those with weights below 4 / 2^e matter, as the others contribute whole
 * turns. 192 of them times the 53 bits of m give the quarter turn and 190 bits of its fraction. No double is closer to
 * a multiple of pi/2 than 2^-61 of a quarter turn, so enough significant bits remain. (Payne and Hanek, 1983) */
#ifndef MOONWARP_ANGLE_REDUCTION_H
#define MOONWARP_ANGLE_REDUCTION_H

#include "moonwarp/math/double/double_exponential.h"

/* The binary digits of 2/pi, 64 in each word, as many as any double needs. */
static const __device__ unsigned long long __mw_turn_places[] = {
    0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull, 0xb7246e3a424dd2e0ull,
    0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull, 0x3991d639835339f4ull,
    0x9c845f8bbdf9283bull, 0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull,
    0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull, 0xf0cfbc209af4361dull};

/* 64 digits from index `from` on; 0 is the first after the point, and those before the point are 0. */
__mw_device unsigned long long __mw_places(int from) {
  if (from <= -64) return 0;
  if (from < 0) return __mw_turn_places[0] >> -from;
  int word = from / 64, shift = from % 64;
  unsigned long long high = __mw_turn_places[word] << shift;
  return shift ? high | __mw_turn_places[word + 1] >> (64 - shift) : high;
}

/* For a finite x >= 2. The low two bits of *quadrant are valid. */
__mw_device double __mw_reduce_far(double x, long long *quadrant, double *low) {
  __mw_exactly;
  unsigned long long bits = (unsigned long long)__mw_bits(x), m = (bits & 0xfffffffffffffull) | 1ull << 52;
  int e = (int)(bits >> 52 & 0x7ff) - 1075;
  unsigned long long first = __mw_places(e - 2), second = __mw_places(e + 62), third = __mw_places(e + 126);
  unsigned __int128 c = (unsigned __int128)m * third, b = (unsigned __int128)m * second + (unsigned long long)(c >> 64);
  unsigned long long a = m * first + (unsigned long long)(b >> 64);
  /* a and the lower halves of b and c: two bits of quarter turns, then their fraction, held between -1/2 and 1/2 */
  unsigned __int128 turn = (unsigned __int128)a << 64 | (unsigned long long)b;
  unsigned __int128 fraction = turn << 2 | (unsigned long long)c >> 62;
  bool beyond = fraction >> 127 != 0;
  *quadrant = (long long)(a >> 62) + beyond;
  if (beyond) fraction = -fraction;
  unsigned long long top = (unsigned long long)(fraction >> 64);
  int zeros = top ? __builtin_clzll(top) : 64 + __builtin_clzll((unsigned long long)fraction | 1);
  fraction <<= zeros;
  top = (unsigned long long)(fraction >> 64);
  double scale = __mw_power_of_2(-zeros), high = (double)(top >> 11) * 0x1p-53;
  double rest = (double)((top & 0x7ff) << 53 | (unsigned long long)fraction >> 11) * 0x1p-117;
  const double quarter = 0x1.921fb54442d18p+0, quarter_low = 0x1.1a62633145c07p-54;
  double product = high * quarter;
  double error = fma(high, quarter, -product) + fma(high, quarter_low, rest * quarter);
  double r = product + error, left = (product - r) + error;
  scale = beyond ? -scale : scale;
  *low = left * scale;
  return r * scale;
}

#endif
