/* Bessel functions of orders 0 and 1 in double precision, and the modified ones: j0, j1, y0, y1, cyl_bessel_i0,
 * cyl_bessel_i1. Above 8, in single precision, and for other orders (jn, yn), libm's functions are called.
 *
 * The modified ones are, up to 8, the power series in x^2/4 (Abramowitz and Stegun 9.6.10), and above, exp(x)/sqrt(x)
 * times a polynomial in 16/x - 1 that interpolates sqrt(x) exp(-x) I(x) at Chebyshev nodes. */
#ifndef MOONWARP_BESSEL_H
#define MOONWARP_BESSEL_H

#include "moonwarp/math/double/bessel_far.h"
#include "moonwarp/math/double/bessel_near.h"
#include "moonwarp/math/polynomial.h"

#ifdef __MW_NVPTX__
__mw_both double j0(double x) { return __mw_whole_j0(x); }
__mw_both double j1(double x) { return __mw_whole_j1(x); }
__mw_both double y0(double x) { return __mw_whole_y0(x); }
__mw_both double y1(double x) { return __mw_whole_y1(x); }
__mw_both double jn(int n, double x) { return __mw_whole_jn(n, x); }
__mw_both double yn(int n, double x) { return __mw_whole_yn(n, x); }
__mw_both float j0f(float x) { return (float)__mw_whole_j0(x); }
__mw_both float j1f(float x) { return (float)__mw_whole_j1(x); }
__mw_both float y0f(float x) { return (float)__mw_whole_y0(x); }
__mw_both float y1f(float x) { return (float)__mw_whole_y1(x); }
__mw_both float jnf(int n, float x) { return (float)__mw_whole_jn(n, x); }
__mw_both float ynf(int n, float x) { return (float)__mw_whole_yn(n, x); }
#else
__mw_both double j0(double x) { return fabs(x) < 8 ? __mw_j0_near(fabs(x)) : __mw_libm_j0(x); }
__mw_both double j1(double x) {
  return fabs(x) < 8 ? __builtin_copysign(1.0, x) * __mw_j1_near(fabs(x)) : __mw_libm_j1(x);
}
/* 0, negative numbers and NaN are left to libm. */
__mw_both double y0(double x) { return x > 0 && x < 8 ? __mw_y0_near(x) : __mw_libm_y0(x); }
__mw_both double y1(double x) { return x > 0 && x < 8 ? __mw_y1_near(x) : __mw_libm_y1(x); }
#endif

/* exp(x)/sqrt(x) * factor, in two halves: the exponential alone would overflow before the result does. */
__mw_both double __mw_bessel_growth(double x, double factor) {
  if (x < 700) return exp(x) * (factor / sqrt(x));
  if (x == __builtin_inf()) return x;
  double half = exp(0.5 * x);
  return half * (factor / sqrt(x)) * half;
}

__mw_both double cyl_bessel_i0(double x) {
  x = fabs(x);
  if (x <= 8)
    return __mw_polynomial(0.25 * x * x, 1.0, 1.0, 0.25, 0.027777777777777776, 0.001736111111111111,
                           6.944444444444444e-05, 1.9290123456790124e-06, 3.936759889140842e-08, 6.151187326782565e-10,
                           7.594058428126624e-12, 7.594058428126623e-14, 6.276081345559193e-16, 4.358389823304995e-18,
                           2.5789288895295828e-20, 1.3157800456783586e-22, 5.8479113141260385e-25,
                           2.2843403570804838e-27, 7.904291893012054e-30, 2.4395962632753253e-32, 6.757884385804225e-35,
                           1.6894710964510564e-37, 3.8310002187098785e-40, 7.915289708078262e-43);
  return __mw_bessel_growth(
      x, __mw_polynomial(16 / x - 1, 0.4021765094450081, 0.003360551983667854, 0.00013621607439232746,
                         1.1143033791556743e-05, 1.4838475473607391e-06, 2.973598432479169e-07, 8.87225351128584e-08,
                         3.932602459703109e-08, 2.1545177650836005e-08, 7.553516470355896e-09, -6.729724111923548e-09,
                         -1.3404241991980871e-08, -5.4685974495866e-09, 7.540601378890834e-09, 7.58022133915272e-09,
                         -3.4857887470034955e-09, -6.188265090497361e-09, 1.497880830187091e-09, 3.881151253996067e-09,
                         -5.562201990080394e-10, -1.7789375042917173e-09, 1.4672236659214398e-10, 5.181936971288284e-10,
                         -1.9216763724933513e-11, -7.06893851181878e-11));
}

__mw_both double cyl_bessel_i1(double x) {
  double a = fabs(x), y;
  if (a <= 8)
    y = 0.5 * a *
        __mw_polynomial(0.25 * a * a, 1.0, 0.5, 0.08333333333333333, 0.006944444444444444, 0.00034722222222222224,
                        1.1574074074074073e-05, 2.755731922398589e-07, 4.920949861426052e-09, 6.834652585313961e-11,
                        7.594058428126623e-13, 6.903689480115112e-15, 5.230067787965994e-17, 3.352607556388458e-19,
                        1.842092063949702e-21, 8.771866971189057e-24, 3.654944571328774e-26, 1.3437296218120491e-28,
                        4.391273273895586e-31, 1.2839980333028028e-33, 3.3789421929021126e-36, 8.045100459290744e-39,
                        1.7413637357772174e-41, 3.4414303078601135e-44);
  else
    y = __mw_bessel_growth(a, __mw_polynomial(16 / a - 1, 0.38939845902587233, -0.009749577193235728,
                                              -0.00021923576383430274, -1.5038547201176271e-05, -1.8349101134666435e-06,
                                              -3.483855609009937e-07, -1.0001323461066435e-07, -4.312935369971356e-08,
                                              -2.337059627111857e-08, -8.426622829598154e-09, 6.715795128085017e-09,
                                              1.4029693589852716e-08, 6.040877342160988e-09, -7.630751970065577e-09,
                                              -8.044231276166508e-09, 3.406636130196794e-09, 6.4870195719816896e-09,
                                              -1.4171698018664596e-09, -4.047785403711858e-09, 5.146498826087142e-10,
                                              1.8513716745511988e-09, -1.342266320082222e-10, -5.388285995923524e-10,
                                              1.7502497778701306e-11, 7.347992441734663e-11));
  return __builtin_copysign(y, x);
}

__mw_both float cyl_bessel_i0f(float x) { return (float)cyl_bessel_i0((double)x); }
__mw_both float cyl_bessel_i1f(float x) { return (float)cyl_bessel_i1((double)x); }
__mw_both float cyl_bessel_i0(float x) { return cyl_bessel_i0f(x); }
__mw_both float cyl_bessel_i1(float x) { return cyl_bessel_i1f(x); }

#endif
