/* The accuracy of device code's mathematical functions: every function of CUDA's tables compared with MPFR. Errors are
 * in units in the last place of the exact result, next to the maximum that CUDA's guide allows. Exit status 1 if one is
 * exceeded.
 *
 *     make accuracy [ARGS='--points=N --markdown --width=N name …']
 *
 * A third of a function's arguments lie evenly where it is interesting, a third are random bits, a third random in
 * their exponent around 1; and every combination of zeros, infinities, NaN, the ends of the range and a few small
 * numbers. An infinity that should be the largest finite number counts as the next one after it; a NaN, an infinity or
 * a zero's sign that is wrong is wrong by infinitely many units. */
#include "accuracy.h"

#include "moonwarp.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t points = 20000;
static bool markdown;
static const char *device_options[4];
static size_t option_count;

static void check(int result, const char *doing, const char *what) {
  if (result == MW_SUCCESS) return;
  const mw_error *error = mw_error_last();
  fprintf(stderr, "%s %s: %s: %s\n%s\n", doing, what, error->name, error->message, error->log ? error->log : "");
  exit(2);
}

/* ---- arguments ---- */

static uint64_t state;
static uint64_t next_bits(void) { /* splitmix64 */
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}
static double uniform(void) { return (double)(next_bits() >> 11) * 0x1p-53; }

static const double special[] = {0.0,
                                 -0.0,
                                 1,
                                 -1,
                                 0.5,
                                 -0.5,
                                 2,
                                 -2,
                                 3,
                                 -3,
                                 0.49999997,
                                 0.99999994,
                                 1.0000001,
                                 1e30,
                                 -1e30,
                                 1e-30,
                                 0x1p-126,
                                 0x1p-149,
                                 -0x1p-149,
                                 0x1.fffffep127,
                                 -0x1.fffffep127,
                                 0x1p-1022,
                                 0x1p-1074,
                                 0x1.fffffffffffffp1023,
                                 INFINITY,
                                 -INFINITY,
                                 NAN};
enum { SPECIALS = sizeof special / sizeof *special };

static double random_argument(const function *f, size_t i) {
  switch (i % 3) {
  case 0: return f->low + (f->high - f->low) * uniform();
  case 1: {
    uint64_t bits = next_bits();
    if (f->is_double) {
      double x;
      memcpy(&x, &bits, sizeof x);
      return x;
    }
    uint32_t half = (uint32_t)bits;
    float x;
    memcpy(&x, &half, sizeof x);
    return x;
  }
  default: return (next_bits() & 1 ? -1 : 1) * exp2((uniform() - 0.5) * 32);
  }
}

static size_t special_count(const function *f) {
  size_t count = 1;
  for (int a = 0; a < f->arguments; a++) count *= SPECIALS;
  return count;
}

/* Argument `a` of point `i`, rounded to the function's type. */
static double argument(const function *f, size_t i, int a) {
  double x;
  size_t specials = special_count(f);
  if (i < specials) {
    for (int skip = 0; skip < a; skip++) i /= SPECIALS;
    x = special[i % SPECIALS];
  } else {
    /* one argument's kind does not say the other's */
    x = random_argument(f, a == 0 ? i : a == 1 ? i / 3 : i / 9);
  }
  if (x > f->hole && x < f->hole_end) x = -x;
  return f->is_double ? x : (double)(float)x;
}

/* ---- the device's results ---- */

/* A module for several functions, kernels k0, k1, …: starting a compiler costs more than a kernel. */
enum { GROUP = 8 };

static mw_module *compile_group(mw_device *device, int first) {
  static const char *const lists[3] = {"x[i]", "x[i], x[n + i]", "x[i], x[n + i], x[2 * n + i]"};
  char text[GROUP * 512];
  size_t used = 0;
  for (int i = first; i < first + GROUP && i < function_count; i++) {
    const function *f = &functions[i];
    const char *type = f->is_double ? "double" : "float";
    used += (size_t)snprintf(text + used, sizeof text - used,
                             "__global__ void k%d(int n, const %s *x, %s *y) {\n"
                             "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = %s(%s);\n}\n",
                             i, type, type, f->name, lists[f->arguments - 1]);
  }
  mw_source source = {.text = text, .length = used, .file = "accuracy.cu", .line = 1};
  source.options = device_options;
  source.option_count = option_count;
  mw_module *module;
  check(mw_module_compile(device, &source, &module), "compile", functions[first].name);
  return module;
}

/* The module that has f's kernel, kept until another one is loaded; with f NULL it is only released. */
static mw_module *module_of(mw_device *device, const function *f) {
  static mw_module *module;
  static int group = -1;
  int wanted = f ? (int)(f - functions) / GROUP : -1;
  if (wanted != group) {
    if (module) mw_module_release(module);
    module = f ? compile_group(device, wanted * GROUP) : NULL;
    group = wanted;
  }
  return module;
}

static void run(mw_device *device, const function *f, size_t count, double *x, double *out) {
  const char *type = f->is_double ? "double" : "float";
  char name[16];
  snprintf(name, sizeof name, "k%d", (int)(f - functions));
  mw_kernel *kernel;
  mw_launch *launch;
  mw_array *in, *result;
  size_t inputs = count * (size_t)f->arguments, size = f->is_double ? 8 : 4;
  void *bytes = malloc(inputs * size);
  for (size_t i = 0; i < inputs; i++) {
    if (f->is_double)
      ((double *)bytes)[i] = x[i];
    else
      ((float *)bytes)[i] = (float)x[i];
  }
  check(mw_module_kernel(module_of(device, f), name, &kernel), "find", f->name);
  check(mw_array_new(device, mw_dtype(type), 1, &inputs, &in), "make arguments of", f->name);
  check(mw_array_new(device, mw_dtype(type), 1, &count, &result), "make results of", f->name);
  check(mw_array_write(in, 0, inputs, bytes), "write arguments of", f->name);
  unsigned block[3] = {256, 1, 1}, grid[3] = {(unsigned)((count + 255) / 256), 1, 1};
  check(mw_launch_new(kernel, grid, block, 0, &launch), "configure", f->name);
  check(mw_launch_int64(launch, 0, (int64_t)count), "set n of", f->name);
  check(mw_launch_array(launch, 1, in), "set x of", f->name);
  check(mw_launch_array(launch, 2, result), "set y of", f->name);
  check(mw_launch_run(launch, "accuracy.c"), "run", f->name);
  check(mw_array_read(result, 0, count, bytes), "read", f->name);
  for (size_t i = 0; i < count; i++) out[i] = f->is_double ? ((double *)bytes)[i] : ((float *)bytes)[i];
  free(bytes);
  mw_array_release(in);
  mw_array_release(result);
  mw_launch_release(launch);
  mw_kernel_release(kernel);
}

/* ---- errors ---- */

static void set_range(bool is_double) {
  mpfr_set_emin(is_double ? -1073 : -148);
  mpfr_set_emax(is_double ? 1024 : 128);
}
static void free_range(void) {
  mpfr_set_emin(mpfr_get_emin_min());
  mpfr_set_emax(mpfr_get_emax_max());
}

static bool same_zero(double got, mpfr_t exact) {
  return got == 0 && mpfr_zero_p(exact) && signbit(got) == mpfr_signbit(exact);
}

/* 0, or infinity where it is not the one right value. */
static double rounding_error(const function *f, mpfr_t *x, double got) {
  mpfr_t exact;
  mpfr_init2(exact, f->is_double ? 53 : 24);
  set_range(f->is_double);
  mpfr_subnormalize(exact, f->exact(exact, x, f->mode), f->mode);
  bool same = isnan(got) || mpfr_nan_p(exact) ? isnan(got) && mpfr_nan_p(exact)
              : mpfr_zero_p(exact)            ? same_zero(got, exact)
                                              : mpfr_cmp_d(exact, got) == 0;
  free_range();
  mpfr_clear(exact);
  return same ? 0 : INFINITY;
}

/* |got - exact|, in units in the last place of the exact value and (*absolute) as it is. */
static double error_of(const function *f, mpfr_t *x, double got, double *absolute) {
  int digits = f->is_double ? 53 : 24, top = f->is_double ? 1024 : 128, bottom = f->is_double ? -1074 : -149;
  mpfr_t exact, largest;
  mpfr_init2(exact, 160);
  mpfr_init2(largest, 64);
  f->exact(exact, x, MPFR_RNDN);
  double units = INFINITY;
  mpfr_set_ui_2exp(largest, 1, top, MPFR_RNDN);
  if (mpfr_nan_p(exact) || isnan(got)) {
    units = mpfr_nan_p(exact) && isnan(got) ? 0 : INFINITY;
  } else if (mpfr_zero_p(exact)) {
    units = same_zero(got, exact) || (got == 0 && f->any_zero) ? 0 : INFINITY;
  } else {
    if (mpfr_cmpabs(exact, largest) > 0) mpfr_copysign(exact, largest, exact, MPFR_RNDN);
    long unit = mpfr_get_exp(exact) > top ? top - digits : mpfr_get_exp(exact) - digits;
    if (unit < bottom) unit = bottom;
    if (isinf(got))
      mpfr_setsign(largest, largest, signbit(got) != 0, MPFR_RNDN);
    else
      mpfr_set_d(largest, got, MPFR_RNDN);
    mpfr_sub(exact, exact, largest, MPFR_RNDN);
    *absolute = fabs(mpfr_get_d(exact, MPFR_RNDN));
    mpfr_mul_2si(exact, exact, -unit, MPFR_RNDN);
    units = fabs(mpfr_get_d(exact, MPFR_RNDN));
  }
  if (units == 0) *absolute = 0;
  if (units == INFINITY) *absolute = INFINITY;
  mpfr_clears(exact, largest, (mpfr_ptr)0);
  return units;
}

typedef struct result {
  double units, absolute; /* the worst */
  double units_at[3], absolute_at[3];
  double excess; /* the largest ratio to what is allowed */
} result;

static void keep(double *worst, double error, double *at, const double *x) {
  if (!(error > *worst)) return;
  *worst = error;
  memcpy(at, x, 3 * sizeof *at);
}

/* By the function's rule: which error counts at x, and how far it may go. */
static void judge(const function *f, const double *x, double units, double absolute, result *r) {
  bool inside = x[0] >= f->low && x[0] <= f->high, far = fabs(x[0]) >= 8;
  bool in_units = f->rule == UNITS || f->rule == GROWS || f->rule == ROUNDED || (f->rule == NEAR && !inside) ||
                  (f->rule == BEYOND && !far);
  if (f->rule == WITHIN && !inside) return;
  double allowed = in_units ? f->bound : f->extra;
  if (f->rule == GROWS) allowed += floor(fabs(f->extra * x[0]));
  double error = in_units ? units : absolute, ratio = error == 0 ? 0 : error / allowed;
  if (in_units)
    keep(&r->units, units, r->units_at, x);
  else
    keep(&r->absolute, absolute, r->absolute_at, x);
  if (ratio > r->excess) r->excess = ratio;
}

static result measure(mw_device *device, const function *f) {
  size_t count = points + special_count(f);
  double *x = calloc(count * 3, sizeof *x), *out = malloc(count * sizeof *out), at[3];
  state = 4;
  for (size_t i = 0; i < count; i++)
    for (int a = 0; a < f->arguments; a++) x[(size_t)a * count + i] = argument(f, i, a);
  run(device, f, count, x, out);
  result r = {0};
  mpfr_t m[3];
  for (int a = 0; a < 3; a++) mpfr_init2(m[a], 53);
  for (size_t i = 0; i < count; i++) {
    for (int a = 0; a < 3; a++) mpfr_set_d(m[a], at[a] = x[(size_t)a * count + i], MPFR_RNDN);
    double absolute = 0;
    double units = f->rule == ROUNDED ? rounding_error(f, m, out[i]) : error_of(f, m, out[i], &absolute);
    judge(f, at, units, absolute, &r);
  }
  for (int a = 0; a < 3; a++) mpfr_clear(m[a]);
  free(x);
  free(out);
  return r;
}

/* ---- the table ---- */

/* The text above the table in docs/build/accuracy.md. */
static const char introduction[] = "# Accuracy\n"
                                   "\n"
                                   "`make -s accuracy ARGS=--markdown` makes this page. It compares device code with "
                                   "MPFR. The table has the largest error seen, in\n"
                                   "units in the last place (ulp) of the exact result, beside the maximum that the "
                                   "CUDA C++ Programming Guide allows. A third of\n"
                                   "the arguments are spread evenly where the function is interesting, a third are "
                                   "random bits, and a third have a random\n"
                                   "exponent. Every row includes zeros, infinities, NaN and the ends of the range, in "
                                   "all combinations. The program fails if a\n"
                                   "maximum is exceeded, and the tests run it as well.\n"
                                   "\n"
                                   "Correct rounding has an error of `0.5`. \"rounded\" means the exact result in the "
                                   "rounding mode of the function's name. A second\n"
                                   "figure after a semicolon is an absolute error, where CUDA states one.\n"
                                   "\n"
                                   "Functions of single and double precision are vector arithmetic on the lanes of a "
                                   "gang, and give the same bits on every\n"
                                   "processor. Rare functions are called from the C library, lane by lane: `tgamma` "
                                   "and `lgamma` of doubles; `sin`, `cos`, `tan`\n"
                                   "and `sincos` of doubles from 2^20 on; `j0f`, `j1f`, `y0f`, `y1f`, and their double "
                                   "forms from 8 on; `jn` and `yn`.\n"
                                   "`mwcc --report` names the lines where a kernel calls them. `rsqrtf` differs "
                                   "between processors: those with AVX-512 have an\n"
                                   "estimate instruction for it.\n"
                                   "\n";

static void write_bound(const function *f, char *text, size_t size) {
  switch (f->rule) {
  case UNITS: snprintf(text, size, "%g", f->bound); break;
  case GROWS: snprintf(text, size, "%g + floor(%g |x|)", f->bound, f->extra); break;
  case NEAR: snprintf(text, size, "%g; 2^%.2f in [%g, %g]", f->bound, log2(f->extra), f->low, f->high); break;
  case WITHIN: snprintf(text, size, "2^%.2f in [-pi, pi]", log2(f->extra)); break;
  case BEYOND: snprintf(text, size, "%g; %.2g from 8 on", f->bound, f->extra); break;
  case ROUNDED: snprintf(text, size, "rounded"); break;
  }
}
static void write_measured(const function *f, const result *r, char *text, size_t size) {
  if (f->rule == ROUNDED)
    snprintf(text, size, "%s", r->units == 0 ? "rounded" : "WRONG");
  else if (f->rule == WITHIN)
    snprintf(text, size, "2^%.2f", log2(r->absolute));
  else if (f->rule == NEAR)
    snprintf(text, size, "%.3f; 2^%.2f", r->units, log2(r->absolute));
  else if (f->rule == BEYOND)
    snprintf(text, size, "%.3f; %.2g", r->units, r->absolute);
  else
    snprintf(text, size, "%.3f", r->units);
}
static void write_place(const function *f, const result *r, char *text, size_t size) {
  const double *at = f->rule == WITHIN ? r->absolute_at : r->units_at;
  size_t used = 0;
  text[0] = 0;
  if (r->units == 0 && r->absolute == 0) return;
  for (int a = 0; a < f->arguments; a++)
    used += (size_t)snprintf(text + used, size - used, "%s%.9g", a ? ", " : "", at[a]);
}

static bool is_asked_for(const function *f, int count, char **names) {
  if (count == 0) return true;
  for (int i = 0; i < count; i++)
    if (strcmp(names[i], f->name) == 0) return true;
  return false;
}

int main(int count, char **arguments) {
  int first = 1;
  for (; first < count && strncmp(arguments[first], "--", 2) == 0; first++) {
    if (strncmp(arguments[first], "--points=", 9) == 0)
      points = strtoul(arguments[first] + 9, NULL, 10);
    else if (strcmp(arguments[first], "--markdown") == 0)
      markdown = true;
    else if (option_count < 4)
      device_options[option_count++] = arguments[first];
  }
  mw_device *device;
  check(mw_device_open(NULL, &device), "open", "the device");
  free_range();
  const char *format = markdown ? "| %s | %s | %s | %s |\n" : "%-16s %-28s %-20s %s\n";
  if (markdown) fputs(introduction, stdout);
  printf(format, "function", "CUDA's maximum (ulp)", "measured", "at");
  if (markdown) puts("|---|---|--:|---|");
  int over = 0, rows = 0;
  for (int i = 0; i < function_count; i++) {
    const function *f = &functions[i];
    if (!is_asked_for(f, count - first, arguments + first)) continue;
    result r = measure(device, f);
    char name[64], bound[64], measured[64], place[128];
    bool passed = r.excess > 1;
    snprintf(name, sizeof name, markdown ? "`%s`" : "%s", f->name);
    write_bound(f, bound, sizeof bound);
    write_measured(f, &r, measured, sizeof measured);
    if (passed) strcat(measured, " OVER");
    write_place(f, &r, place, sizeof place);
    printf(format, name, bound, measured, place);
    fflush(stdout);
    over += passed;
    rows++;
  }
  printf("%s%d functions, %zu random arguments each; %d over CUDA's maximum\n", markdown ? "\n" : "", rows, points,
         over);
  module_of(device, NULL);
  mw_device_release(device);
  mpfr_free_cache();
  return over > 0 || rows == 0;
}
