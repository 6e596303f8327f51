/* The functions of CUDA's tables (CUDA C++ Programming Guide 11.2, appendix "mathematical functions"): their maximum
 * errors, where to test them, and their exact values by MPFR. */
#include "accuracy.h"

/* ---- functions that MPFR has ---- */

#define ONE(name, call)                                                                                                \
  static int name(mpfr_t out, mpfr_t *x, mpfr_rnd_t r) { return call(out, x[0], r); }
#define TWO(name, call)                                                                                                \
  static int name(mpfr_t out, mpfr_t *x, mpfr_rnd_t r) { return call(out, x[0], x[1], r); }

/* clang-format off */
ONE(ref_exp, mpfr_exp) ONE(ref_exp2, mpfr_exp2) ONE(ref_exp10, mpfr_exp10) ONE(ref_expm1, mpfr_expm1)
ONE(ref_log, mpfr_log) ONE(ref_log2, mpfr_log2) ONE(ref_log10, mpfr_log10) ONE(ref_log1p, mpfr_log1p)
ONE(ref_sin, mpfr_sin) ONE(ref_cos, mpfr_cos) ONE(ref_tan, mpfr_tan) ONE(ref_sinpi, mpfr_sinpi)
ONE(ref_cospi, mpfr_cospi) ONE(ref_asin, mpfr_asin) ONE(ref_acos, mpfr_acos) ONE(ref_atan, mpfr_atan)
ONE(ref_sinh, mpfr_sinh) ONE(ref_cosh, mpfr_cosh) ONE(ref_tanh, mpfr_tanh) ONE(ref_asinh, mpfr_asinh)
ONE(ref_acosh, mpfr_acosh) ONE(ref_atanh, mpfr_atanh) ONE(ref_erf, mpfr_erf) ONE(ref_erfc, mpfr_erfc)
ONE(ref_tgamma, mpfr_gamma) ONE(ref_sqrt, mpfr_sqrt) ONE(ref_rsqrt, mpfr_rec_sqrt) ONE(ref_cbrt, mpfr_cbrt)
ONE(ref_j0, mpfr_j0) ONE(ref_j1, mpfr_j1) ONE(ref_y0, mpfr_y0) ONE(ref_y1, mpfr_y1)
ONE(ref_ceil, mpfr_rint_ceil) ONE(ref_floor, mpfr_rint_floor) ONE(ref_trunc, mpfr_rint_trunc)
ONE(ref_round, mpfr_rint_round) ONE(ref_rint, mpfr_rint_roundeven)
TWO(ref_pow, mpfr_pow) TWO(ref_atan2, mpfr_atan2) TWO(ref_hypot, mpfr_hypot) TWO(ref_fmod, mpfr_fmod)
TWO(ref_remainder, mpfr_remainder) TWO(ref_fmin, mpfr_min) TWO(ref_fmax, mpfr_max) TWO(ref_fdim, mpfr_dim)
TWO(ref_add, mpfr_add) TWO(ref_sub, mpfr_sub) TWO(ref_mul, mpfr_mul) TWO(ref_div, mpfr_div)
static int ref_lgamma(mpfr_t out, mpfr_t *x, mpfr_rnd_t r) {
  int sign;
  return mpfr_lgamma(out, &sign, x[0], r);
}
/* clang-format on */
static int ref_fma(mpfr_t out, mpfr_t *x, mpfr_rnd_t r) { return mpfr_fma(out, x[0], x[1], x[2], r); }
static int ref_rcp(mpfr_t out, mpfr_t *x, mpfr_rnd_t r) { return mpfr_ui_div(out, 1, x[0], r); }
/* Over 0 MPFR has +infinity for both zeros. */
static int ref_rsqrt_signed(mpfr_t out, mpfr_t *x, mpfr_rnd_t r) {
  if (mpfr_zero_p(x[0])) return mpfr_ui_div(out, 1, x[0], r);
  return ref_rsqrt(out, x, r);
}

/* ---- functions that MPFR lacks, computed with extra bits ---- */

#define SPARE(name)                                                                                                    \
  mpfr_t name;                                                                                                         \
  mpfr_init2(name, 400);
static int finish(mpfr_t out, mpfr_t value, mpfr_rnd_t r) {
  int ternary = mpfr_set(out, value, r);
  mpfr_clear(value);
  return ternary;
}

static int ref_rcbrt(mpfr_t out, mpfr_t *x, mpfr_rnd_t r) {
  SPARE(t)
  mpfr_cbrt(t, x[0], MPFR_RNDN);
  mpfr_ui_div(t, 1, t, MPFR_RNDN);
  return finish(out, t, r);
}
static int ref_rhypot(mpfr_t out, mpfr_t *x, mpfr_rnd_t r) {
  SPARE(t)
  mpfr_hypot(t, x[0], x[1], MPFR_RNDN);
  mpfr_ui_div(t, 1, t, MPFR_RNDN);
  return finish(out, t, r);
}
static int ref_norm3d(mpfr_t out, mpfr_t *x, mpfr_rnd_t r) {
  SPARE(t)
  mpfr_hypot(t, x[0], x[1], MPFR_RNDN);
  mpfr_hypot(t, t, x[2], MPFR_RNDN);
  return finish(out, t, r);
}
static int ref_rnorm3d(mpfr_t out, mpfr_t *x, mpfr_rnd_t r) {
  SPARE(t)
  ref_norm3d(t, x, MPFR_RNDN);
  mpfr_ui_div(t, 1, t, MPFR_RNDN);
  return finish(out, t, r);
}
static int ref_erfcx(mpfr_t out, mpfr_t *x, mpfr_rnd_t r) {
  if (mpfr_inf_p(x[0])) {
    if (mpfr_sgn(x[0]) > 0) return mpfr_set_zero(out, 1), 0;
    return mpfr_set_inf(out, 1), 0;
  }
  SPARE(t)
  SPARE(u)
  /* beyond any double's exponential only the first term of the asymptotic series is left */
  if (mpfr_cmp_d(x[0], 1e7) > 0) {
    mpfr_const_pi(t, MPFR_RNDN);
    mpfr_sqrt(t, t, MPFR_RNDN);
    mpfr_mul(t, t, x[0], MPFR_RNDN);
    mpfr_sqr(u, x[0], MPFR_RNDN);
    mpfr_d_div(u, 0.5, u, MPFR_RNDN);
    mpfr_ui_sub(u, 1, u, MPFR_RNDN);
    mpfr_div(t, u, t, MPFR_RNDN);
  } else {
    mpfr_sqr(t, x[0], MPFR_RNDN);
    mpfr_exp(t, t, MPFR_RNDN);
    mpfr_erfc(u, x[0], MPFR_RNDN);
    mpfr_mul(t, t, u, MPFR_RNDN);
  }
  mpfr_clear(u);
  return finish(out, t, r);
}
static int ref_normcdf(mpfr_t out, mpfr_t *x, mpfr_rnd_t r) {
  SPARE(t)
  mpfr_sqrt_ui(t, 2, MPFR_RNDN);
  mpfr_div(t, x[0], t, MPFR_RNDN);
  mpfr_neg(t, t, MPFR_RNDN);
  mpfr_erfc(t, t, MPFR_RNDN);
  mpfr_div_ui(t, t, 2, MPFR_RNDN);
  return finish(out, t, r);
}

/* The y with erfc(y) = p, for 0 < p < 2 and not 1, by Newton's method on log erfc for small p. */
static void inverse_erfc(mpfr_t y, const mpfr_t p) {
  SPARE(target)
  SPARE(value)
  SPARE(slope)
  bool upper = mpfr_cmp_ui(p, 1) > 0;
  if (upper)
    mpfr_ui_sub(target, 2, p, MPFR_RNDN);
  else
    mpfr_set(target, p, MPFR_RNDN);
  mpfr_set_d(y, 0.5, MPFR_RNDN);
  for (int i = 0; i < 60; i++) { /* y += (log erfc(y) - log p) erfc(y) / (2/sqrt(pi) exp(-y^2)) */
    mpfr_erfc(value, y, MPFR_RNDN);
    mpfr_sqr(slope, y, MPFR_RNDN);
    mpfr_exp(slope, slope, MPFR_RNDN);
    mpfr_mul(slope, slope, value, MPFR_RNDN);
    mpfr_div(value, value, target, MPFR_RNDN);
    mpfr_log(value, value, MPFR_RNDN);
    mpfr_mul(slope, slope, value, MPFR_RNDN);
    mpfr_const_pi(value, MPFR_RNDN);
    mpfr_sqrt(value, value, MPFR_RNDN);
    mpfr_div_ui(value, value, 2, MPFR_RNDN);
    mpfr_mul(slope, slope, value, MPFR_RNDN);
    mpfr_add(y, y, slope, MPFR_RNDN);
    if (mpfr_zero_p(slope) || (mpfr_zero_p(y) == 0 && mpfr_get_exp(slope) < mpfr_get_exp(y) - 200)) break;
  }
  if (upper) mpfr_neg(y, y, MPFR_RNDN);
  mpfr_clears(target, value, slope, (mpfr_ptr)0);
}
/* At the ends of [0, 2], at 1 and outside. */
static bool inverse_limits(mpfr_t out, const mpfr_t p) {
  if (mpfr_nan_p(p) || mpfr_sgn(p) < 0 || mpfr_cmp_ui(p, 2) > 0)
    mpfr_set_nan(out);
  else if (mpfr_zero_p(p))
    mpfr_set_inf(out, 1);
  else if (mpfr_cmp_ui(p, 2) == 0)
    mpfr_set_inf(out, -1);
  else if (mpfr_cmp_ui(p, 1) == 0)
    mpfr_set_zero(out, 1);
  else
    return false;
  return true;
}
static int ref_erfcinv(mpfr_t out, mpfr_t *x, mpfr_rnd_t r) {
  if (inverse_limits(out, x[0])) return 0;
  SPARE(t)
  inverse_erfc(t, x[0]);
  return finish(out, t, r);
}
static int ref_erfinv(mpfr_t out, mpfr_t *x, mpfr_rnd_t r) {
  if (mpfr_zero_p(x[0])) return mpfr_set(out, x[0], r);
  mpfr_t p;
  mpfr_init2(p, 1400); /* 1 - x, of the smallest double too */
  mpfr_ui_sub(p, 1, x[0], MPFR_RNDN);
  int ternary = 0;
  if (!inverse_limits(out, p)) {
    SPARE(t)
    if (!mpfr_zero_p(x[0]) && mpfr_get_exp(x[0]) < -120) { /* sqrt(pi)/2 x */
      mpfr_const_pi(t, MPFR_RNDN);
      mpfr_sqrt(t, t, MPFR_RNDN);
      mpfr_div_ui(t, t, 2, MPFR_RNDN);
      mpfr_mul(t, t, x[0], MPFR_RNDN);
    } else {
      inverse_erfc(t, p);
    }
    ternary = finish(out, t, r);
  }
  mpfr_clear(p);
  return ternary;
}
/* -sqrt(2) erfcinv(2 p) */
static int ref_normcdfinv(mpfr_t out, mpfr_t *x, mpfr_rnd_t r) {
  SPARE(t)
  SPARE(u)
  mpfr_mul_ui(u, x[0], 2, MPFR_RNDN);
  if (!inverse_limits(t, u)) inverse_erfc(t, u);
  mpfr_sqrt_ui(u, 2, MPFR_RNDN);
  mpfr_mul(t, t, u, MPFR_RNDN);
  if (!mpfr_zero_p(t)) mpfr_neg(t, t, MPFR_RNDN);
  mpfr_clear(u);
  return finish(out, t, r);
}

/* The modified Bessel functions' power series; all its terms have one sign. */
static int bessel_i(mpfr_t out, mpfr_t x, unsigned order, mpfr_rnd_t r) {
  if (!mpfr_number_p(x)) return order && mpfr_inf_p(x) ? mpfr_set(out, x, r) : mpfr_abs(out, x, r);
  SPARE(sum)
  SPARE(term)
  SPARE(square)
  mpfr_sqr(square, x, MPFR_RNDN);
  mpfr_div_ui(square, square, 4, MPFR_RNDN);
  mpfr_set_ui(term, 1, MPFR_RNDN);
  if (order) mpfr_div_ui(term, x, 2, MPFR_RNDN);
  mpfr_set(sum, term, MPFR_RNDN);
  for (unsigned k = 1; k < 4000 && !mpfr_zero_p(term) && mpfr_get_exp(term) > mpfr_get_exp(sum) - 150; k++) {
    mpfr_mul(term, term, square, MPFR_RNDN);
    mpfr_div_ui(term, term, k * (k + order), MPFR_RNDN);
    mpfr_add(sum, sum, term, MPFR_RNDN);
  }
  mpfr_clears(term, square, (mpfr_ptr)0);
  return finish(out, sum, r);
}
static int ref_i0(mpfr_t out, mpfr_t *x, mpfr_rnd_t r) { return bessel_i(out, x[0], 0, r); }
static int ref_i1(mpfr_t out, mpfr_t *x, mpfr_rnd_t r) { return bessel_i(out, x[0], 1, r); }

/* ---- the table ---- */

/* A function in single and in double precision. */
#define BOTH(name, arguments, float_bound, double_bound, low, high, ref)                                               \
  {#name "f", arguments, false, UNITS, float_bound, 0, low, high, ref, MPFR_RNDN, 0, 0, false}, {                      \
    #name, arguments, true, UNITS, double_bound, 0, low, high, ref, MPFR_RNDN, 0, 0, false                             \
  }
#define BESSEL(name, ref)                                                                                              \
  {#name "f", 1, false, BEYOND, 9, 2.2e-6, 0, 8, ref, MPFR_RNDN, 0, 0, true}, {                                        \
    #name, 1, true, BEYOND, 7, 5e-12, 0, 8, ref, MPFR_RNDN, 0, 0, true                                                 \
  }
#define FLOAT(name, rule, bound, extra, low, high, ref)                                                                \
  {#name, 1, false, rule, bound, extra, low, high, ref, MPFR_RNDN, 0, 0, false}
#define ROUNDINGS(name, arguments, is_double, ref)                                                                     \
  {#name "_rn", arguments, is_double, ROUNDED, 0, 0, -4, 4, ref, MPFR_RNDN, 0, 0, false},                              \
      {#name "_rz", arguments, is_double, ROUNDED, 0, 0, -4, 4, ref, MPFR_RNDZ, 0, 0, false},                          \
      {#name "_ru", arguments, is_double, ROUNDED, 0, 0, -4, 4, ref, MPFR_RNDU, 0, 0, false}, {                        \
    #name "_rd", arguments, is_double, ROUNDED, 0, 0, -4, 4, ref, MPFR_RNDD, 0, 0, false                               \
  }

const function functions[] = {
    BOTH(exp, 1, 2, 1, -90, 90, ref_exp),
    BOTH(exp2, 1, 2, 1, -130, 130, ref_exp2),
    BOTH(exp10, 1, 2, 1, -39, 39, ref_exp10),
    BOTH(expm1, 1, 1, 1, -2, 2, ref_expm1),
    BOTH(log, 1, 1, 1, 0.5, 2, ref_log),
    BOTH(log2, 1, 1, 1, 0.5, 2, ref_log2),
    BOTH(log10, 1, 2, 1, 0.5, 2, ref_log10),
    BOTH(log1p, 1, 1, 1, -0.9, 2, ref_log1p),
    BOTH(pow, 2, 9, 2, 0, 8, ref_pow),
    BOTH(sqrt, 1, 0.5, 0.5, 0, 4, ref_sqrt),
    BOTH(rsqrt, 1, 2, 1, 0, 4, ref_rsqrt_signed),
    BOTH(cbrt, 1, 1, 1, -8, 8, ref_cbrt),
    BOTH(rcbrt, 1, 1, 1, -8, 8, ref_rcbrt),
    BOTH(hypot, 2, 3, 2, -4, 4, ref_hypot),
    BOTH(rhypot, 2, 2, 1, -4, 4, ref_rhypot),
    BOTH(norm3d, 3, 3, 2, -4, 4, ref_norm3d),
    BOTH(rnorm3d, 3, 2, 1, -4, 4, ref_rnorm3d),
    BOTH(sin, 1, 2, 2, -8, 8, ref_sin),
    BOTH(cos, 1, 2, 2, -8, 8, ref_cos),
    BOTH(tan, 1, 4, 2, -8, 8, ref_tan),
    BOTH(sinpi, 1, 2, 2, -4, 4, ref_sinpi),
    BOTH(cospi, 1, 2, 2, -4, 4, ref_cospi),
    BOTH(asin, 1, 4, 2, -1, 1, ref_asin),
    BOTH(acos, 1, 3, 2, -1, 1, ref_acos),
    BOTH(atan, 1, 2, 2, -4, 4, ref_atan),
    BOTH(atan2, 2, 3, 2, -4, 4, ref_atan2),
    BOTH(sinh, 1, 3, 2, -4, 4, ref_sinh),
    BOTH(cosh, 1, 2, 1, -4, 4, ref_cosh),
    BOTH(tanh, 1, 2, 1, -4, 4, ref_tanh),
    BOTH(asinh, 1, 3, 2, -4, 4, ref_asinh),
    BOTH(acosh, 1, 4, 2, 1, 4, ref_acosh),
    BOTH(atanh, 1, 3, 2, -1, 1, ref_atanh),
    BOTH(erf, 1, 2, 2, -4, 4, ref_erf),
    BOTH(erfc, 1, 4, 5, -4, 10, ref_erfc),
    BOTH(erfcx, 1, 4, 4, -4, 12, ref_erfcx),
    BOTH(erfinv, 1, 2, 5, -1, 1, ref_erfinv),
    BOTH(erfcinv, 1, 4, 6, 0, 2, ref_erfcinv),
    BOTH(normcdf, 1, 5, 5, -12, 6, ref_normcdf),
    BOTH(normcdfinv, 1, 5, 8, 0, 1, ref_normcdfinv),
    BOTH(tgamma, 1, 11, 8, -10, 34, ref_tgamma),
    {"lgammaf", 1, false, UNITS, 6, 0, 0, 12, ref_lgamma, MPFR_RNDN, -10.001, -2.264, false},
    {"lgamma", 1, true, UNITS, 4, 0, 0, 12, ref_lgamma, MPFR_RNDN, -11.0001, -2.2637, false},
    BESSEL(j0, ref_j0),
    BESSEL(j1, ref_j1),
    BESSEL(y0, ref_y0),
    BESSEL(y1, ref_y1),
    BOTH(cyl_bessel_i0, 1, 6, 6, -20, 20, ref_i0),
    BOTH(cyl_bessel_i1, 1, 6, 6, -20, 20, ref_i1),
    BOTH(fma, 3, 0.5, 0.5, -4, 4, ref_fma),
    BOTH(fmod, 2, 0, 0, -40, 40, ref_fmod),
    BOTH(remainder, 2, 0, 0, -40, 40, ref_remainder),
    {"fminf", 2, false, UNITS, 0, 0, -4, 4, ref_fmin, MPFR_RNDN, 0, 0, true},
    {"fmin", 2, true, UNITS, 0, 0, -4, 4, ref_fmin, MPFR_RNDN, 0, 0, true},
    {"fmaxf", 2, false, UNITS, 0, 0, -4, 4, ref_fmax, MPFR_RNDN, 0, 0, true},
    {"fmax", 2, true, UNITS, 0, 0, -4, 4, ref_fmax, MPFR_RNDN, 0, 0, true},
    BOTH(fdim, 2, 0.5, 0.5, -4, 4, ref_fdim),
    BOTH(ceil, 1, 0, 0, -40, 40, ref_ceil),
    BOTH(floor, 1, 0, 0, -40, 40, ref_floor),
    BOTH(trunc, 1, 0, 0, -40, 40, ref_trunc),
    BOTH(round, 1, 0, 0, -40, 40, ref_round),
    BOTH(rint, 1, 0, 0, -40, 40, ref_rint),

    FLOAT(__expf, GROWS, 2, 1.16, -88, 88, ref_exp),
    FLOAT(__exp10f, GROWS, 2, 2.95, -38, 38, ref_exp10),
    FLOAT(__logf, NEAR, 3, 0x1p-21 * 0.7526, 0.5, 2, ref_log), /* 2^-21.41 */
    FLOAT(__log2f, NEAR, 2, 0x1p-22, 0.5, 2, ref_log2),
    FLOAT(__log10f, NEAR, 3, 0x1p-24, 0.5, 2, ref_log10),
    FLOAT(__sinf, WITHIN, 0, 0x1p-21 * 0.7526, -3.1415927, 3.1415927, ref_sin),
    FLOAT(__cosf, WITHIN, 0, 0x1p-21 * 0.8766, -3.1415927, 3.1415927, ref_cos), /* 2^-21.19 */
    {"__fdividef", 2, false, UNITS, 2, 0, -4, 4, ref_div, MPFR_RNDN, 0, 0, false},

    ROUNDINGS(__fadd, 2, false, ref_add),
    ROUNDINGS(__fsub, 2, false, ref_sub),
    ROUNDINGS(__fmul, 2, false, ref_mul),
    ROUNDINGS(__fdiv, 2, false, ref_div),
    ROUNDINGS(__fmaf, 3, false, ref_fma),
    ROUNDINGS(__frcp, 1, false, ref_rcp),
    ROUNDINGS(__fsqrt, 1, false, ref_sqrt),
    {"__frsqrt_rn", 1, false, ROUNDED, 0, 0, 0, 4, ref_rsqrt_signed, MPFR_RNDN, 0, 0, false},
    ROUNDINGS(__dadd, 2, true, ref_add),
    ROUNDINGS(__dsub, 2, true, ref_sub),
    ROUNDINGS(__dmul, 2, true, ref_mul),
    ROUNDINGS(__ddiv, 2, true, ref_div),
    ROUNDINGS(__fma, 3, true, ref_fma),
    ROUNDINGS(__drcp, 1, true, ref_rcp),
    ROUNDINGS(__dsqrt, 1, true, ref_sqrt),
};
const int function_count = sizeof functions / sizeof *functions;
