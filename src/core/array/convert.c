/* Bulk conversion between numbers and elements: one simple loop for each type, written so that the compiler vectorises
 * it.
 *
 * Writing takes two passes: the first checks that all numbers fit, so that either all elements are written or none.
 * mw_value_from_double defines which numbers fit, and reports the error. The first pass is a vectorised sufficient
 * test; only if it fails are the numbers tried one by one. */
#include "array.h"
#include "core/bfloat16.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#define AT_ONCE 1024 /* numbers of a ramp that are made before they are converted */

/* ---- loops ---- */

typedef struct scalar_loops {
  mw_type_kind kind;
  size_t size;
  void (*read)(const void *elements, size_t count, double *numbers);
  void (*write)(void *elements, size_t count, const double *numbers);
  double lowest, highest; /* numbers between these fit for certain */
  bool whole;             /* only whole numbers fit */
} scalar_loops;

#define DEFINE_READ_WRITE(name, kind, type)                                                                            \
  static void read_##name(const void *elements, size_t count, double *numbers) {                                       \
    const type *from = elements;                                                                                       \
    for (size_t i = 0; i < count; i++) numbers[i] = (double)from[i];                                                   \
  }                                                                                                                    \
  static void write_##name(void *elements, size_t count, const double *numbers) {                                      \
    type *to = elements;                                                                                               \
    for (size_t i = 0; i < count; i++) to[i] = (type)numbers[i];                                                       \
  }
MW_INTEGERS(DEFINE_READ_WRITE)
DEFINE_READ_WRITE(f32, MW_TYPE_FLOAT, float)
DEFINE_READ_WRITE(f64, MW_TYPE_FLOAT, double)

static void read_bool(const void *elements, size_t count, double *numbers) {
  const unsigned char *from = elements;
  for (size_t i = 0; i < count; i++) numbers[i] = from[i] != 0;
}

static void write_bool(void *elements, size_t count, const double *numbers) {
  unsigned char *to = elements;
  for (size_t i = 0; i < count; i++) to[i] = numbers[i] != 0;
}

static void read_half(const void *elements, size_t count, double *numbers) {
  const uint16_t *from = elements;
  for (size_t i = 0; i < count; i++) numbers[i] = mw_half_to_float(from[i]);
}

/* Rounded once, to nearest even: a conversion through float would round twice. */
static inline uint16_t half_from_double(double number) {
  double size = fabs(number);
  uint64_t bits = mw_bits_of_double(size);
  /* Remove 42 of 52 fraction bits; a carry correctly propagates into the exponent. */
  uint64_t normal = ((bits + 0x1ffffffffff + (bits >> 42 & 1)) >> 42) - ((uint64_t)(1023 - 15) << 10);
  /* At 2^28 the spacing of doubles is 2^-24, that of a half's subnormals. */
  uint64_t denormal = mw_bits_of_double(size + 0x1p28) - mw_bits_of_double(0x1p28);
  uint64_t half = size < 0x1p-14 ? denormal : normal;
  half = size >= 65520 ? 0x7c00 : half;
  half = size != size ? 0x7e00 : half;
  return (uint16_t)(half | (mw_bits_of_double(number) >> 48 & 0x8000));
}

static void write_half(void *elements, size_t count, const double *numbers) {
  uint16_t *to = elements;
  for (size_t i = 0; i < count; i++) to[i] = half_from_double(numbers[i]);
}

static void read_bfloat(const void *elements, size_t count, double *numbers) {
  const uint16_t *from = elements;
  for (size_t i = 0; i < count; i++) numbers[i] = mw_bfloat_to_float(from[i]);
}

static void write_bfloat(void *elements, size_t count, const double *numbers) {
  uint16_t *to = elements;
  for (size_t i = 0; i < count; i++) to[i] = mw_bfloat_from_double(numbers[i]);
}

/* The bounds of an integer type, as doubles within them: the bounds of 64-bit types are not all representable. */
#define BITS(kind, type)    ((int)sizeof(type) * 8 - (kind == MW_TYPE_INT))
#define LOWEST(kind, type)  (kind == MW_TYPE_INT ? -2.0 * (double)(UINT64_C(1) << (BITS(kind, type) - 1)) : 0.0)
#define HIGHEST(kind, type) (2.0 * (double)(UINT64_C(1) << (BITS(kind, type) - 1)) - (sizeof(type) < 8 ? 1.0 : 2048.0))

static const scalar_loops all_loops[] = {
#define INTEGER_ENTRY(name, kind, type)                                                                                \
  {kind, sizeof(type), read_##name, write_##name, LOWEST(kind, type), HIGHEST(kind, type), true},
    MW_INTEGERS(INTEGER_ENTRY) /**/
    {MW_TYPE_BOOL, 1, read_bool, write_bool, 0, 1, true},
    {MW_TYPE_FLOAT, 2, read_half, write_half, -65504, 65504, false},
    {MW_TYPE_BFLOAT, 2, read_bfloat, write_bfloat, -0x1.fep127, 0x1.fep127, false},
    {MW_TYPE_FLOAT, 4, read_f32, write_f32, -FLT_MAX, FLT_MAX, false},
    {MW_TYPE_FLOAT, 8, read_f64, write_f64, -INFINITY, INFINITY, false},
};

/* ---- surveys ---- */

#define LANES 8

/* False if a number is out of bounds or not whole, or if the quick test cannot decide: NaN, infinity, numbers from 2^51
   on. The compiler vectorises the loop over lanes. */
static bool surely_fit(const scalar_loops *loops, const double *numbers, size_t count) {
  const double shift = 0x1.8p52; /* adding and subtracting it rounds the fraction off */
  double low[LANES], high[LANES], fraction[LANES];
  for (size_t lane = 0; lane < LANES; lane++) low[lane] = high[lane] = fraction[lane] = 0;
  if (loops->lowest == -INFINITY) return true;
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    for (size_t lane = 0; lane < LANES; lane++) {
      double number = numbers[i + lane];
      low[lane] = number < low[lane] ? number : low[lane];
      high[lane] = number > high[lane] ? number : high[lane];
      fraction[lane] += fabs(number + shift - shift - number);
    }
  }
  for (size_t lane = 0; i < count; i++, lane++) {
    low[lane] = fmin(low[lane], numbers[i]);
    high[lane] = fmax(high[lane], numbers[i]);
    fraction[lane] += fabs(numbers[i] + shift - shift - numbers[i]);
  }
  bool fit = true;
  for (size_t lane = 0; lane < LANES; lane++)
    fit &= low[lane] >= loops->lowest && high[lane] <= loops->highest && (fraction[lane] == 0 || !loops->whole);
  return fit;
}

/* ---- elements as numbers ---- */

/* The loops for the components of `array`, and the number of components of an element. */
static int find_loops(const mw_array *array, const scalar_loops **loops, size_t *components) {
  const mw_type *dtype = array->dtype, *scalar = dtype->kind == MW_TYPE_VECTOR ? dtype->element : dtype;
  for (size_t i = 0; i < MW_COUNT(all_loops); i++) {
    if (all_loops[i].kind != scalar->kind || all_loops[i].size != scalar->size) continue;
    *loops = &all_loops[i];
    *components = dtype->kind == MW_TYPE_VECTOR ? dtype->count : 1;
    /* A three-component vector of CUDA C is packed, so components follow each other without gaps. */
    if (*components * scalar->size == dtype->size) return MW_SUCCESS;
  }
  return fail(MW_INVALID_VALUE, "elements of type %s are not plain numbers", dtype->name);
}

typedef struct number_pass {
  const scalar_loops *loops;
  size_t components;
  double *target;
  const double *source;
} number_pass;

static void read_pass(void *context, void *elements, size_t count) {
  number_pass *pass = context;
  size_t numbers = count * pass->components;
  pass->loops->read(elements, numbers, pass->target);
  pass->target += numbers;
}

static void write_pass(void *context, void *elements, size_t count) {
  number_pass *pass = context;
  size_t numbers = count * pass->components;
  pass->loops->write(elements, numbers, pass->source);
  pass->source += numbers;
}

int mw_array_read_doubles(mw_array *array, size_t first, size_t count, double *target) {
  number_pass pass = {.target = target};
  int code = find_loops(array, &pass.loops, &pass.components);
  if (code == MW_SUCCESS) code = mw_array_check_range(array, first, count, "a read");
  return code ? code : mw_array_read_with(array, first, count, read_pass, &pass);
}

static const char *component_name(const mw_type *dtype, size_t i) {
  static const char *const names[] = {"x", "y", "z", "w", "re", "im"};
  return names[mw_type_is_complex(dtype) ? i + 4 : i];
}

/* Check that all numbers fit into the array's elements from component `first` on; reports the first that does not. */
static int check_numbers(const mw_array *array, const scalar_loops *loops, size_t components, size_t first,
                         const double *numbers, size_t count) {
  if (surely_fit(loops, numbers, count)) return MW_SUCCESS;
  const mw_type *scalar = array->dtype->kind == MW_TYPE_VECTOR ? array->dtype->element : array->dtype;
  for (size_t i = 0; i < count; i++) {
    unsigned char value[sizeof(double)];
    char place[64];
    size_t at = first + i;
    if (components == 1)
      snprintf(place, sizeof place, "element %zu (counted from 1)", at + 1);
    else
      snprintf(place, sizeof place, "component %s of element %zu (counted from 1)",
               component_name(array->dtype, at % components), at / components + 1);
    int code = mw_value_from_double(scalar, numbers[i], value, place);
    if (code != MW_SUCCESS) return code;
  }
  return MW_SUCCESS;
}

int mw_array_write_doubles(mw_array *array, size_t first, size_t count, const double *source) {
  number_pass pass = {.source = source};
  int code = find_loops(array, &pass.loops, &pass.components);
  if (code == MW_SUCCESS) code = mw_array_check_range(array, first, count, "a write");
  if (code == MW_SUCCESS)
    code = check_numbers(array, pass.loops, pass.components, first * pass.components, source, count * pass.components);
  return code ? code : mw_array_write_with(array, first, count, write_pass, &pass);
}

/* ---- ramps ---- */

typedef struct ramp_pass {
  const scalar_loops *loops;
  size_t size, next;
  double start, step;
} ramp_pass;

static void make_ramp(const ramp_pass *ramp, size_t first, size_t count, double *numbers) {
  for (size_t i = 0; i < count; i++) numbers[i] = ramp->start + (double)(int64_t)(first + i) * ramp->step;
}

static void write_ramp(void *context, void *elements, size_t count) {
  ramp_pass *ramp = context;
  double numbers[AT_ONCE];
  for (size_t done = 0; done < count; done += AT_ONCE) {
    size_t now = count - done < AT_ONCE ? count - done : AT_ONCE;
    make_ramp(ramp, ramp->next + done, now, numbers);
    ramp->loops->write((unsigned char *)elements + done * ramp->size, now, numbers);
  }
  ramp->next += count;
}

static int check_ramp(const mw_array *array, const ramp_pass *ramp) {
  double numbers[AT_ONCE] = {ramp->start, ramp->step, ramp->start + (double)array->count * ramp->step};
  /* A ramp whose ends are within the bounds is within them everywhere, and whole if its start and step are. */
  if (surely_fit(ramp->loops, numbers, 3)) return MW_SUCCESS;
  int code = MW_SUCCESS;
  for (size_t first = 0; first < array->count && code == MW_SUCCESS; first += AT_ONCE) {
    size_t now = array->count - first < AT_ONCE ? array->count - first : AT_ONCE;
    make_ramp(ramp, first, now, numbers);
    code = check_numbers(array, ramp->loops, 1, first, numbers, now);
  }
  return code;
}

int mw_array_ramp(mw_array *array, double start, double step) {
  ramp_pass ramp = {.size = array->dtype->size, .start = start, .step = step};
  size_t components;
  if (array->dtype->kind == MW_TYPE_VECTOR)
    return fail(MW_INVALID_VALUE, "a ramp needs elements that are single numbers, not %s", array->dtype->name);
  int code = find_loops(array, &ramp.loops, &components);
  if (code == MW_SUCCESS) code = check_ramp(array, &ramp);
  return code ? code : mw_array_write_with(array, 0, array->count, write_ramp, &ramp);
}
