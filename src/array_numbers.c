/* Numbers in and out of arrays in bulk: one plain loop a type, written so that the compiler vectorises it.
 *
 * Writing takes two passes: the first finds a number that does not fit, so that either all elements are written or none. What "fits" means and what the error says is mw_value_from_double's business: the loops here only
 * tell quickly that nothing is wrong. */
#include "array.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define AT_ONCE 1024 /* numbers of a ramp that are made before they are converted */

/* ---- loops ---- */

typedef struct scalar_loops {
  mw_type_kind kind;
  size_t size;
  void (*read)(const void *elements, size_t count, double *numbers);
  bool (*fits)(const double *numbers, size_t count); /* NULL: every number does */
  void (*write)(void *elements, size_t count, const double *numbers);
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

/* A double is whole if it is at least 2^52, where there are no fractions left, or if rounding to a whole number, which
   adding and subtracting 1.5 * 2^52 does, leaves it alone. NaN fails the range test. */
static inline bool is_whole(double number) {
  const double shift = 0x1.8p52;
  return (fabs(number) >= 0x1p52) | (number + shift - shift == number);
}

#define DEFINE_FITS(name, kind, type)                                                                                  \
  static bool fits_##name(const double *numbers, size_t count) {                                                       \
    const double width = kind == MW_TYPE_INT ? sizeof(type) * 8 - 1 : sizeof(type) * 8;                                \
    const double above = exp2(width), low = kind == MW_TYPE_INT ? -above : 0;                                          \
    bool fits = true;                                                                                                  \
    for (size_t i = 0; i < count; i++) fits &= (numbers[i] >= low) & (numbers[i] < above) & is_whole(numbers[i]);      \
    return fits;                                                                                                       \
  }
MW_INTEGERS(DEFINE_FITS)

/* A finite number has to stay finite: `above` is the first that is rounded to infinity. */
static bool stays_finite(const double *numbers, size_t count, double above) {
  bool fits = true;
  for (size_t i = 0; i < count; i++) fits &= !((fabs(numbers[i]) >= above) & (fabs(numbers[i]) < INFINITY));
  return fits;
}

static bool fits_f32(const double *numbers, size_t count) { return stays_finite(numbers, count, 0x1.ffffffp127); }
static bool fits_half(const double *numbers, size_t count) { return stays_finite(numbers, count, 65520); }

static void read_bool(const void *elements, size_t count, double *numbers) {
  const unsigned char *from = elements;
  for (size_t i = 0; i < count; i++) numbers[i] = from[i] != 0;
}

static bool fits_bool(const double *numbers, size_t count) {
  bool fits = true;
  for (size_t i = 0; i < count; i++) fits &= (numbers[i] == 0) | (numbers[i] == 1);
  return fits;
}

static void write_bool(void *elements, size_t count, const double *numbers) {
  unsigned char *to = elements;
  for (size_t i = 0; i < count; i++) to[i] = numbers[i] != 0;
}

static void read_half(const void *elements, size_t count, double *numbers) {
  const uint16_t *from = elements;
  for (size_t i = 0; i < count; i++) numbers[i] = mw_half_to_float(from[i]);
}

static inline uint64_t bits_of(double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}

/* Rounded once, to nearest even: by way of float it would be twice. */
static inline uint16_t half_from_double(double number) {
  double size = fabs(number);
  uint64_t bits = bits_of(size);
  /* 42 of 52 fraction bits go; a carry runs into the exponent, where it belongs. */
  uint64_t normal = ((bits + 0x1ffffffffff + (bits >> 42 & 1)) >> 42) - ((uint64_t)(1023 - 15) << 10);
  /* At 2^28 a double counts in steps of 2^-24, as a half's denormals do. */
  uint64_t denormal = bits_of(size + 0x1p28) - bits_of(0x1p28);
  uint64_t half = size < 0x1p-14 ? denormal : normal;
  half = size >= 65520 ? 0x7c00 : half;
  half = size != size ? 0x7e00 : half;
  return (uint16_t)(half | (bits_of(number) >> 48 & 0x8000));
}

static void write_half(void *elements, size_t count, const double *numbers) {
  uint16_t *to = elements;
  for (size_t i = 0; i < count; i++) to[i] = half_from_double(numbers[i]);
}

static const scalar_loops all_loops[] = {
#define INTEGER_ENTRY(name, kind, type) {kind, sizeof(type), read_##name, fits_##name, write_##name},
    MW_INTEGERS(INTEGER_ENTRY) /**/
    {MW_TYPE_FLOAT, 2, read_half, fits_half, write_half},
    {MW_TYPE_FLOAT, 4, read_f32, fits_f32, write_f32},
    {MW_TYPE_FLOAT, 8, read_f64, NULL, write_f64},
    {MW_TYPE_BOOL, 1, read_bool, fits_bool, write_bool},
};

/* ---- elements as numbers ---- */

/* The loops for the components of `array`, and how many an element has. */
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

/* Whether all numbers fit into the array's elements from component `first` on; the first that does not is reported. */
static int check_numbers(const mw_array *array, const scalar_loops *loops, size_t components, size_t first,
                         const double *numbers, size_t count) {
  if (!loops->fits || loops->fits(numbers, count)) return MW_SUCCESS;
  const mw_type *scalar = array->dtype->kind == MW_TYPE_VECTOR ? array->dtype->element : array->dtype;
  for (size_t i = 0; i < count; i++) {
    unsigned char value[sizeof(double)];
    char place[64];
    size_t at = first + i;
    if (components == 1)
      snprintf(place, sizeof place, "element %zu (counted from 1)", at + 1);
    else
      snprintf(place, sizeof place, "component %c of element %zu (counted from 1)", "xyzw"[at % components],
               at / components + 1);
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
  for (size_t i = 0; i < count; i++) numbers[i] = ramp->start + (double)(first + i) * ramp->step;
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
  int code = MW_SUCCESS;
  double numbers[AT_ONCE];
  for (size_t first = 0; first < array->count && code == MW_SUCCESS && ramp->loops->fits; first += AT_ONCE) {
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
