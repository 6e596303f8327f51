/* The inverses of the error functions: erfinv, erfcinv, normcdfinv, in single and double precision. */
#ifndef MOONWARP_ERROR_FUNCTIONS_H
#define MOONWARP_ERROR_FUNCTIONS_H

#include "moonwarp/math/double/double_error_functions.h"
#include "moonwarp/math/double/double_logarithm.h"
#include "moonwarp/math/float_error_functions.h"

/* The normal quantile of probability 1/2 + q, by the method PPND16 of Wichura, Algorithm AS 241 (Applied Statistics 37,
   1988). `tails` is the probability outside [-|result|, |result|], 1 - 2|q|, a separate parameter because it may be
   known more accurately than q, and `log_tails` its logarithm. */
__mw_both double __mw_quantile(double q, double tails, double log_tails) {
  if (fabs(q) <= 0.425) {
    double r = fma(-q, q, 0.180625);
    return q *
           __mw_polynomial(r, 3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427,
                           13731.693765509461125, 45921.953931549871457, 67265.770927008700853, 33430.575583588128105,
                           2509.0809287301226727) /
           __mw_polynomial(r, 1.0, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077,
                           21213.794301586595867, 39307.895800092710610, 28729.085735721942674, 5226.4952788528545610);
  }
  if (tails == 0) return __builtin_copysign(__builtin_inf(), q);
  double r = sqrt(0.6931471805599453 - log_tails), y;
  if (r <= 5) {
    r -= 1.6;
    y = __mw_polynomial(r, 1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550,
                        3.64784832476320460504, 1.27045825245236838258, 0.241780725177450611770,
                        0.0227238449892691845833, 0.000774545014278341407640) /
        __mw_polynomial(r, 1.0, 2.05319162663775882187, 1.67638483018380384940, 0.689767334985100004550,
                        0.148103976427480074590, 0.0151986665636164571966, 0.000547593808499534494600,
                        1.05075007164441684324e-9);
  } else {
    r -= 5;
    y = __mw_polynomial(r, 6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580,
                        0.296560571828504891230, 0.0265321895265761230930, 0.00124266094738807843860,
                        2.71155556874348757815e-5, 2.01033439929228813265e-7) /
        __mw_polynomial(r, 1.0, 0.599832206555887937690, 0.136929880922735805310, 0.0148753612908506148525,
                        0.000786869131145613259100, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
                        2.04426310338993978564e-15);
  }
  return __builtin_copysign(y, q);
}

__mw_both double __mw_quantile(double q, double tails) { return __mw_quantile(q, tails, log(tails)); }
__mw_both double normcdfinv(double p) { return __mw_quantile(p - 0.5, 2 * (p < 0.5 ? p : 1 - p)); }
/* One Newton step reduces the quantile's error from a few ulp to about one; it uses the smaller of erf and erfc. */
__mw_both double erfinv(double x) {
  double a = fabs(x), y = 0.7071067811865476 * __mw_quantile(0.5 * a, 1 - a);
  if (!(a < 1) || a < 1e-8) return __builtin_copysign(y, x); /* 0.886 x is accurate enough there */
  double residual = a < 0.5 ? erf(y) - a : (1 - a) - erfc(y);
  y -= 0.886226925452758 * residual * exp(y * y);
  return __builtin_copysign(y, x);
}
__mw_both double erfcinv(double x) { return 0.7071067811865476 * __mw_quantile(0.5 * (1 - x), x < 1 ? x : 2 - x); }

/* In single precision a short logarithm is accurate enough. */
__mw_both double __mw_quantile_float(double q, double tails) {
  double log_tails = tails >= 0 ? 0x1.62e42fefa39efp-1 * __mw_log2_wide(tails) : __builtin_nan("");
  return __mw_quantile(q, tails, log_tails);
}
__mw_both float normcdfinvf(float p) {
  double wide = p;
  return (float)__mw_quantile_float(wide - 0.5, 2 * (wide < 0.5 ? wide : 1 - wide));
}
__mw_both float erfinvf(float x) {
  return (float)(0.7071067811865476 * __mw_quantile_float(0.5 * x, 1 - fabs((double)x)));
}
__mw_both float erfcinvf(float x) {
  double wide = x;
  return (float)(0.7071067811865476 * __mw_quantile_float(0.5 * (1 - wide), wide < 1 ? wide : 2 - wide));
}

__mw_both float erfcx(float x) { return erfcxf(x); }
__mw_both float normcdf(float x) { return normcdff(x); }
__mw_both float normcdfinv(float p) { return normcdfinvf(p); }
__mw_both float erfinv(float x) { return erfinvf(x); }
__mw_both float erfcinv(float x) { return erfcinvf(x); }

#endif
