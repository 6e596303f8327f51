/* bfloat16: a float's upper half; and NaNs. */
#ifndef MW_BFLOAT_H
#define MW_BFLOAT_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* All NaNs are replaced by one: LuaJIT's FFI interprets NaNs with other bits as tagged values. */
static inline double mw_one_nan(double number) { return number != number ? (double)NAN : number; }

/* The same holds here. */
static inline float mw_bfloat_to_float(uint16_t bits) {
  uint32_t wide = (bits & 0x7fff) > 0x7f80 ? 0x7fc00000 : (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

static inline uint64_t mw_bits_of_double(double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}

/* Half precision: rounded once, to nearest even. (scalar_convert.c) */
uint16_t mw_half_from_double(double value);

/* Rounded once, to nearest even: a conversion through float would round twice. NaN has device code's bits. */
static inline uint16_t mw_bfloat_from_double(double number) {
  double size = fabs(number);
  uint64_t bits = mw_bits_of_double(size);
  /* Remove 45 of 52 fraction bits; a carry correctly propagates into the exponent. */
  uint64_t normal = ((bits + 0xfffffffffff + (bits >> 45 & 1)) >> 45) - ((uint64_t)(1023 - 127) << 7);
  /* At 2^-81 the spacing of doubles is 2^-133, that of bfloat16's subnormals. */
  uint64_t denormal = mw_bits_of_double(size + 0x1p-81) - mw_bits_of_double(0x1p-81);
  uint64_t result = size < 0x1p-126 ? denormal : normal;
  result = size >= 0x1.ffp127 ? 0x7f80 : result;
  if (size != size) return 0x7fff;
  return (uint16_t)(result | (mw_bits_of_double(number) >> 48 & 0x8000));
}

#endif
