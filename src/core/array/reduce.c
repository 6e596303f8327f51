/* Sums and extremes of arrays, computed on the host: simple loops over several lanes, which the compiler vectorises.
 *
 * Floating-point sums are pairwise: leaves of LEAF elements, then a binary tree over the leaves, so that the error
 * grows with the logarithm of the count. The order of additions depends only on the count, so the sum is the same
 * whether the memory is processed at once or in pieces. Integer sums are exact: leaves cannot overflow 64 bits, and are
 * added in 128 bits. */
#include "array.h"
#include "core/bfloat16.h"

#include <math.h>

#define LANES 16
#define LEAF  4096 /* a multiple of LANES, and a divisor of the pieces that array.c passes */

__extension__ typedef __int128 wide;

/* ---- leaves ---- */

#define SUM_LANES(sum, value)                                                                                          \
  size_t i = 0;                                                                                                        \
  for (; i + LANES <= count; i += LANES)                                                                               \
    for (size_t lane = 0; lane < LANES; lane++) sum[lane] += value(from[i + lane]);                                    \
  for (size_t lane = 0; i < count; i++, lane++) sum[lane] += value(from[i]);                                           \
  for (size_t half = LANES / 2; half > 0; half /= 2)                                                                   \
    for (size_t lane = 0; lane < half; lane++) sum[lane] += sum[lane + half];                                          \
  return sum[0];

#define AS_IS(x)   (x)
#define AS_BOOL(x) ((x) != 0)

#define DEFINE_FLOAT_SUM(name, type, value)                                                                            \
  static double sum_##name(const void *elements, size_t count) {                                                       \
    const type *from = elements;                                                                                       \
    double sum[LANES] = {0};                                                                                           \
    SUM_LANES(sum, value)                                                                                              \
  }
DEFINE_FLOAT_SUM(f32, float, AS_IS)
DEFINE_FLOAT_SUM(f64, double, AS_IS)
DEFINE_FLOAT_SUM(f16, uint16_t, mw_half_to_float)
DEFINE_FLOAT_SUM(bf16, uint16_t, mw_bfloat_to_float)

#define DEFINE_INTEGER_SUM(name, type, total, value)                                                                   \
  static wide sum_##name(const void *elements, size_t count) {                                                         \
    const type *from = elements;                                                                                       \
    total sum[LANES] = {0};                                                                                            \
    SUM_LANES(sum, value)                                                                                              \
  }
/* In a leaf, sums of 8- and 16-bit elements cannot overflow 32 bits, nor those of 32-bit elements 64 bits. */
DEFINE_INTEGER_SUM(i8, int8_t, int32_t, AS_IS)
DEFINE_INTEGER_SUM(i16, int16_t, int32_t, AS_IS)
DEFINE_INTEGER_SUM(i32, int32_t, int64_t, AS_IS)
DEFINE_INTEGER_SUM(i64, int64_t, wide, AS_IS)
DEFINE_INTEGER_SUM(u8, uint8_t, uint32_t, AS_IS)
DEFINE_INTEGER_SUM(u16, uint16_t, uint32_t, AS_IS)
DEFINE_INTEGER_SUM(u32, uint32_t, uint64_t, AS_IS)
DEFINE_INTEGER_SUM(u64, uint64_t, wide, AS_IS)
DEFINE_INTEGER_SUM(boolean, uint8_t, uint32_t, AS_BOOL)

/* Comparisons with NaN are false, so NaN never becomes the extreme. */
#define LESS(a, b)    ((a) < (b))
#define GREATER(a, b) ((a) > (b))
#define DEFINE_EXTREME(prefix, name, type, lane_type, result, value, beats, start)                                     \
  static result prefix##_##name(const void *elements, size_t count) {                                                  \
    const type *from = elements;                                                                                       \
    lane_type best[LANES], first = start;                                                                              \
    for (size_t lane = 0; lane < LANES; lane++) best[lane] = first;                                                    \
    size_t i = 0;                                                                                                      \
    for (; i + LANES <= count; i += LANES)                                                                             \
      for (size_t lane = 0; lane < LANES; lane++)                                                                      \
        best[lane] = beats(value(from[i + lane]), best[lane]) ? value(from[i + lane]) : best[lane];                    \
    for (; i < count; i++) best[0] = beats(value(from[i]), best[0]) ? value(from[i]) : best[0];                        \
    for (size_t lane = 1; lane < LANES; lane++) best[0] = beats(best[lane], best[0]) ? best[lane] : best[0];           \
    return best[0];                                                                                                    \
  }
#define DEFINE_FLOAT_EXTREMES(name, type, lane_type, value)                                                            \
  DEFINE_EXTREME(min, name, type, lane_type, double, value, LESS, INFINITY)                                            \
  DEFINE_EXTREME(max, name, type, lane_type, double, value, GREATER, -INFINITY)
DEFINE_FLOAT_EXTREMES(f32, float, float, AS_IS)
DEFINE_FLOAT_EXTREMES(f64, double, double, AS_IS)
DEFINE_FLOAT_EXTREMES(f16, uint16_t, float, mw_half_to_float)
DEFINE_FLOAT_EXTREMES(bf16, uint16_t, float, mw_bfloat_to_float)

#define DEFINE_INTEGER_EXTREMES(name, kind, type)                                                                      \
  DEFINE_EXTREME(min, name, type, type, wide, AS_IS, LESS, from[0])                                                    \
  DEFINE_EXTREME(max, name, type, type, wide, AS_IS, GREATER, from[0])
MW_INTEGERS(DEFINE_INTEGER_EXTREMES)
DEFINE_EXTREME(min, boolean, uint8_t, uint8_t, wide, AS_BOOL, LESS, AS_BOOL(from[0]))
DEFINE_EXTREME(max, boolean, uint8_t, uint8_t, wide, AS_BOOL, GREATER, AS_BOOL(from[0]))

#define DEFINE_ANY_NUMBER(name, type, value)                                                                           \
  static bool any_number_##name(const void *elements, size_t count) {                                                  \
    const type *from = elements;                                                                                       \
    for (size_t i = 0; i < count; i++)                                                                                 \
      if (value(from[i]) == value(from[i])) return true;                                                               \
    return false;                                                                                                      \
  }
DEFINE_ANY_NUMBER(f32, float, AS_IS)
DEFINE_ANY_NUMBER(f64, double, AS_IS)
DEFINE_ANY_NUMBER(f16, uint16_t, mw_half_to_float)
DEFINE_ANY_NUMBER(bf16, uint16_t, mw_bfloat_to_float)

typedef struct reduce_loops {
  mw_type_kind kind;
  size_t size;
  wide (*integer[3])(const void *elements, size_t count); /* by mw_reduction; of an integer type */
  double (*real[3])(const void *elements, size_t count);  /* of a floating-point type */
  bool (*any_number)(const void *elements, size_t count); /* whether one is not NaN */
} reduce_loops;

static const reduce_loops all_loops[] = {
#define INTEGER_ENTRY(name, kind, type) {kind, sizeof(type), {sum_##name, min_##name, max_##name}, {NULL}, NULL},
    MW_INTEGERS(INTEGER_ENTRY) /**/
    {MW_TYPE_BOOL, 1, {sum_boolean, min_boolean, max_boolean}, {NULL}, NULL},
    {MW_TYPE_FLOAT, 2, {NULL}, {sum_f16, min_f16, max_f16}, any_number_f16},
    {MW_TYPE_BFLOAT, 2, {NULL}, {sum_bf16, min_bf16, max_bf16}, any_number_bf16},
    {MW_TYPE_FLOAT, 4, {NULL}, {sum_f32, min_f32, max_f32}, any_number_f32},
    {MW_TYPE_FLOAT, 8, {NULL}, {sum_f64, min_f64, max_f64}, any_number_f64},
};

/* ---- trees ---- */

/* Partial sums of 1, 2, 4 … leaves, one for each set bit of `leaves`: adding a leaf increments this binary counter. */
typedef struct pairwise_sum {
  double partial[64];
  uint64_t leaves;
} pairwise_sum;

static void add_leaf(pairwise_sum *sum, double leaf) {
  int level = 0;
  for (uint64_t bits = sum->leaves++; bits & 1; bits >>= 1) leaf = sum->partial[level++] + leaf;
  sum->partial[level] = leaf;
}

static double total_of(const pairwise_sum *sum) {
  double total = 0;
  int level = 0;
  for (uint64_t bits = sum->leaves; bits; bits >>= 1, level++)
    if (bits & 1) total = sum->partial[level] + total;
  return total;
}

/* ---- the reduction ---- */

typedef struct tally {
  mw_reduction reduction;
  const reduce_loops *loops;
  size_t size;
  bool started, any_number;
  pairwise_sum sum; /* of floating-point leaves */
  double extreme;
  wide integer; /* sum or extreme */
} tally;

static void tally_integer(tally *to, const void *elements, size_t count) {
  wide value = to->loops->integer[to->reduction](elements, count);
  if (to->reduction == MW_SUM)
    to->integer += value;
  else if (!to->started || (to->reduction == MW_MIN ? value < to->integer : value > to->integer))
    to->integer = value;
}

static void tally_real(tally *to, const void *elements, size_t count) {
  double value = to->loops->real[to->reduction](elements, count);
  if (to->reduction == MW_SUM) {
    add_leaf(&to->sum, value);
    return;
  }
  if (!to->started || (to->reduction == MW_MIN ? value < to->extreme : value > to->extreme)) to->extreme = value;
  /* The loop starts from an infinity, so an infinite result does not show whether there was a number: test for one. */
  if (!to->any_number) to->any_number = isfinite(value) || to->loops->any_number(elements, count);
}

static void tally_pass(void *context, void *elements, size_t count) {
  tally *to = context;
  for (size_t done = 0; done < count; done += LEAF) {
    size_t now = count - done < LEAF ? count - done : LEAF;
    const unsigned char *leaf = (unsigned char *)elements + done * to->size;
    if (to->loops->any_number)
      tally_real(to, leaf, now);
    else
      tally_integer(to, leaf, now);
    to->started = true;
  }
}

static const reduce_loops *find_loops(const mw_type *dtype) {
  for (size_t i = 0; i < MW_COUNT(all_loops); i++)
    if (all_loops[i].kind == dtype->kind && all_loops[i].size == dtype->size) return &all_loops[i];
  return NULL;
}

int mw_array_reduce(mw_array *array, mw_reduction reduction, double *number, int64_t *integer, int *is_integer) {
  static const char *const names[] = {[MW_SUM] = "sum", [MW_MIN] = "min", [MW_MAX] = "max"};
  if ((unsigned)reduction >= MW_COUNT(names)) return fail(MW_INVALID_VALUE, "%d is not a reduction", (int)reduction);
  tally result = {.reduction = reduction, .loops = find_loops(array->dtype), .size = array->dtype->size};
  if (!result.loops)
    return fail(MW_INVALID_VALUE, "%s needs elements that are single numbers, not %s", names[reduction],
                array->dtype->name);
  if (array->count == 0 && reduction != MW_SUM) return fail(MW_INVALID_VALUE, "%s of an empty array", names[reduction]);
  int code = mw_array_read_with(array, 0, array->count, tally_pass, &result);
  if (code != MW_SUCCESS) return code;
  bool real = result.loops->any_number != NULL;
  if (real)
    *number = mw_one_nan(reduction == MW_SUM ? total_of(&result.sum) : result.any_number ? result.extreme : NAN);
  else
    *number = (double)result.integer;
  /* A sum of 64-bit integers may need more than 64 bits; then only the rounded number is returned. */
  *is_integer = !real && result.integer >= INT64_MIN && result.integer <= INT64_MAX;
  if (*is_integer) *integer = (int64_t)result.integer;
  return MW_SUCCESS;
}
