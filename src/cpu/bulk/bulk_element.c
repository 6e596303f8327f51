/* Reductions of elements by bulk copies (PTX cp.reduce.async.bulk): each is one atomic operation. */
#include "bulk_copy.h"
#include "core/array/array.h"
#include "core/bfloat16.h"

#include <string.h>

size_t cpu_bulk_size(mw_bulk_type type) {
  static const unsigned char sizes[MW_BULK_TYPES] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return type < MW_BULK_TYPES ? sizes[type] : 4;
}

static double number_of(uint64_t bits, mw_bulk_type type) {
  float single;
  double number;
  uint32_t word = (uint32_t)bits;
  switch (type) {
  case MW_BULK_F16: return mw_half_to_float((uint16_t)bits);
  case MW_BULK_BF16: return mw_bfloat_to_float((uint16_t)bits);
  case MW_BULK_F64: memcpy(&number, &bits, sizeof number); return number;
  default: memcpy(&single, &word, sizeof single); return single;
  }
}

/* Sums of two floats are exact enough in double to be rounded once. */
static uint64_t bits_of(double number, mw_bulk_type type) {
  float single = (float)number;
  uint64_t bits = 0;
  switch (type) {
  case MW_BULK_F16: return mw_half_from_double(number);
  case MW_BULK_BF16: return mw_bfloat_from_double(number);
  case MW_BULK_F64: memcpy(&bits, &number, sizeof number); return bits;
  default: memcpy(&bits, &single, sizeof single); return bits;
  }
}

static bool is_float(mw_bulk_type type) { return type >= MW_BULK_F16; }

static uint64_t of_floats(uint64_t old, uint64_t by, mw_bulk_operation operation, mw_bulk_type type) {
  double a = number_of(old, type), b = number_of(by, type);
  switch (operation) {
  case MW_BULK_ADD: return bits_of(a + b, type);
  case MW_BULK_MIN: return b < a || a != a ? by : old;
  case MW_BULK_MAX: return b > a || a != a ? by : old;
  default: return by;
  }
}

static bool is_less(uint64_t a, uint64_t b, mw_bulk_type type) {
  if (type == MW_BULK_S32) return (int32_t)a < (int32_t)b;
  if (type == MW_BULK_S64) return (int64_t)a < (int64_t)b;
  return a < b;
}

static uint64_t changed(uint64_t old, uint64_t by, mw_bulk_operation operation, mw_bulk_type type) {
  bool of_bits = operation == MW_BULK_AND || operation == MW_BULK_OR || operation == MW_BULK_XOR;
  if (is_float(type) && !of_bits) return of_floats(old, by, operation, type);
  switch (operation) {
  case MW_BULK_ADD: return old + by;
  case MW_BULK_MIN: return is_less(by, old, type) ? by : old;
  case MW_BULK_MAX: return is_less(old, by, type) ? by : old;
  case MW_BULK_INC: return old >= by ? 0 : old + 1;
  case MW_BULK_DEC: return old == 0 || old > by ? by : old - 1;
  case MW_BULK_AND: return old & by;
  case MW_BULK_OR: return old | by;
  case MW_BULK_XOR: return old ^ by;
  default: return by;
  }
}

#define UPDATE(T)                                                                                                      \
  {                                                                                                                    \
    T old = __atomic_load_n((T *)target, __ATOMIC_RELAXED), new, by;                                                   \
    memcpy(&by, source, sizeof by);                                                                                    \
    do new = (T)changed(old, by, operation, type);                                                                     \
    while (!__atomic_compare_exchange_n((T *)target, &old, new, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));            \
    return;                                                                                                            \
  }

void cpu_bulk_update(void *target, const void *source, mw_bulk_operation operation, mw_bulk_type type) {
  switch (cpu_bulk_size(type)) {
  case 1: UPDATE(uint8_t)
  case 2: UPDATE(uint16_t)
  case 8: UPDATE(uint64_t)
  default: UPDATE(uint32_t)
  }
}
