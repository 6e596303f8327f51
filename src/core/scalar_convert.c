/* Conversion between numbers and scalar types. Values are not silently rounded or clipped, except for rounding to a
 * floating type's precision: a number that does not fit is an error, whose message says which numbers do. */
#include "base/base.h"
#include "bfloat16.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- half ---- */

/* Rounds to nearest, ties to even, whatever the host's rounding mode; too large a number becomes infinite. */
uint16_t mw_half_from_double(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
  int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
  uint64_t mantissa = bits & ((UINT64_C(1) << 52) - 1);
  if (exponent == 1024) return sign | (mantissa ? 0x7e00 : 0x7c00);
  if (exponent > 15) return sign | 0x7c00;
  if (exponent < -25) return sign; /* less than half of the smallest, 2^-24 */
  mantissa |= UINT64_C(1) << 52;
  /* Keep 11 of the 53 bits, or fewer for a subnormal; a carry out of them increments the exponent. */
  int dropped = exponent >= -14 ? 42 : 28 - exponent;
  uint64_t kept = mantissa >> dropped, rest = mantissa & ((UINT64_C(1) << dropped) - 1);
  uint64_t tie = UINT64_C(1) << (dropped - 1);
  if (rest > tie || (rest == tie && (kept & 1))) kept++;
  if (exponent >= -14) kept += (uint64_t)(exponent + 14) << 10;
  return (uint16_t)(sign | kept);
}

static double double_from_half(uint16_t half) {
  int exponent = half >> 10 & 31, mantissa = half & 1023;
  double value = exponent == 31 ? (mantissa ? NAN : INFINITY)
                 : exponent     ? ldexp(1024 + mantissa, exponent - 25)
                                : ldexp(mantissa, -24);
  return half & 0x8000 ? -value : value;
}

/* ---- what fits ---- */

static int64_t smallest(const mw_type *type) {
  return type->kind == MW_TYPE_INT ? (int64_t)(UINT64_MAX << (8 * type->size - 1)) : 0;
}

static uint64_t largest(const mw_type *type) {
  if (type->kind == MW_TYPE_BOOL) return 1;
  return UINT64_MAX >> (64 - 8 * type->size + (type->kind == MW_TYPE_INT));
}

/* The shortest digits that read back as `value`. */
static const char *show(double value, char text[32]) {
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, 32, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  return text;
}

/* `number` is the given number as text. */
static int fail_range(const mw_type *type, const char *number, const char *what) {
  if (!what) what = "the value";
  switch (type->kind) {
  case MW_TYPE_BOOL:
    return fail(MW_INVALID_VALUE, "%s is a bool, which takes 0 or 1 (false or true), not %s", what, number);
  case MW_TYPE_INT:
  case MW_TYPE_UINT:
    return fail(MW_INVALID_VALUE, "%s does not take %s: '%s' holds %lld to %llu", what, number, type->name,
                (long long)smallest(type), (unsigned long long)largest(type));
  case MW_TYPE_BFLOAT:
    return fail(MW_INVALID_VALUE, "%s does not take %s: '%s' holds -3.38953139e+38 to 3.38953139e+38", what, number,
                type->name);
  case MW_TYPE_FLOAT:
    return fail(MW_INVALID_VALUE, "%s does not take %s: '%s' holds %s", what, number, type->name,
                type->size == 2 ? "-65504 to 65504" : "-3.40282347e+38 to 3.40282347e+38");
  default:
    return fail(MW_INVALID_VALUE, "%s does not take a number (%s): it is of type '%s'", what, number, type->name);
  }
}

/* ---- storing ---- */

/* All supported hosts are little-endian: the low bytes of a wide integer are the narrow one. */
static int store_bits(const mw_type *type, uint64_t bits, void *out) {
  memcpy(out, &bits, type->size);
  return MW_SUCCESS;
}

/* False if a finite number becomes infinite in the type. */
static bool store_float(const mw_type *type, double value, void *out) {
  float single = type->size == 4 ? (float)value : 0;
  uint16_t half = type->size == 2 ? mw_half_from_double(value) : 0;
  if (type->kind == MW_TYPE_BFLOAT) {
    half = mw_bfloat_from_double(value);
    if (isfinite(value) && (half & 0x7fff) == 0x7f80) return false;
    memcpy(out, &half, sizeof half);
    return true;
  }
  if (isfinite(value) && (isinf(single) || (half & 0x7fff) == 0x7c00)) return false;
  memcpy(out, type->size == 8 ? (void *)&value : type->size == 4 ? (void *)&single : (void *)&half, type->size);
  return true;
}

/* Whether `value`, truncated, is in the range of `type`. The comparisons are exact, since 2^63 and 2^64 are doubles. */
static bool in_range(const mw_type *type, double value) {
  if (type->size == 8) return value >= (double)smallest(type) && value < (type->kind == MW_TYPE_INT ? 0x1p63 : 0x1p64);
  return value >= (double)smallest(type) && value <= (double)largest(type);
}

/* Whether a number in range is whole: from 2^63 on every double is. */
static bool is_whole(double value) { return value >= 0x1p63 || (double)(int64_t)value == value; }

int mw_value_from_double(const mw_type *type, double value, void *out, const char *what) {
  char text[32];
  switch (type->kind) {
  case MW_TYPE_BOOL:
  case MW_TYPE_INT:
  case MW_TYPE_UINT:
    if (!in_range(type, value)) break;
    if (!is_whole(value) && type->kind != MW_TYPE_BOOL) {
      return fail(MW_INVALID_VALUE, "%s does not take %s: '%s' holds whole numbers only", what ? what : "the value",
                  show(value, text), type->name);
    }
    if (!is_whole(value)) break;
    return store_bits(type, value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value, out);
  case MW_TYPE_BFLOAT:
  case MW_TYPE_FLOAT:
    if (store_float(type, value, out)) return MW_SUCCESS;
    break;
  default: break;
  }
  return fail_range(type, show(value, text), what);
}

int mw_value_from_int64(const mw_type *type, int64_t value, void *out, const char *what) {
  char text[32];
  switch (type->kind) {
  case MW_TYPE_BOOL:
  case MW_TYPE_INT:
  case MW_TYPE_UINT:
    if (value < smallest(type) || (value > 0 && (uint64_t)value > largest(type))) break;
    return store_bits(type, (uint64_t)value, out);
  case MW_TYPE_BFLOAT:
  case MW_TYPE_FLOAT:
    if (type->size == 4) { /* a conversion through double would round twice */
      float single = (float)value;
      memcpy(out, &single, sizeof single);
      return MW_SUCCESS;
    }
    if (store_float(type, (double)value, out)) return MW_SUCCESS;
    break;
  default: break;
  }
  snprintf(text, sizeof text, "%lld", (long long)value);
  return fail_range(type, text, what);
}

/* ---- reading ---- */

static uint64_t load_bits(const mw_type *type, const void *value) {
  uint64_t bits = 0;
  memcpy(&bits, value, type->size);
  return bits;
}

static int64_t load_signed(const mw_type *type, const void *value) {
  unsigned unused = 64 - 8 * (unsigned)type->size;
  return (int64_t)(load_bits(type, value) << unused) >> unused;
}

static double load_float(const mw_type *type, const void *value) {
  uint16_t half;
  float single;
  double number;
  if (type->kind == MW_TYPE_BFLOAT) return memcpy(&half, value, sizeof half), (double)mw_bfloat_to_float(half);
  switch (type->size) {
  case 2: return memcpy(&half, value, sizeof half), double_from_half(half);
  case 4: return memcpy(&single, value, sizeof single), (double)single;
  default: return memcpy(&number, value, sizeof number), number;
  }
}

double mw_value_to_double(const mw_type *type, const void *value) {
  switch (type->kind) {
  case MW_TYPE_BOOL: return load_bits(type, value) != 0;
  case MW_TYPE_INT: return (double)load_signed(type, value);
  case MW_TYPE_UINT:
  case MW_TYPE_POINTER: return (double)load_bits(type, value);
  case MW_TYPE_BFLOAT:
  case MW_TYPE_FLOAT: return mw_one_nan(load_float(type, value));
  default: return 0;
  }
}

/* Saturates at 64 bits; NaN gives 0. */
static int64_t truncated(double value) {
  if (isnan(value)) return 0;
  if (value >= 0x1p63) return INT64_MAX;
  if (value < -0x1p63) return INT64_MIN;
  return (int64_t)value;
}

int64_t mw_value_to_int64(const mw_type *type, const void *value) {
  switch (type->kind) {
  case MW_TYPE_BOOL: return load_bits(type, value) != 0;
  case MW_TYPE_INT: return load_signed(type, value);
  case MW_TYPE_UINT:
  case MW_TYPE_POINTER: return (int64_t)load_bits(type, value);
  case MW_TYPE_BFLOAT:
  case MW_TYPE_FLOAT: return truncated(load_float(type, value));
  default: return 0;
  }
}
