/* A number from one word, for host streams that need no more: Draw::make(word, a, b), by the name of the distribution,
 * with its parameters a and b. Some are made in two steps on the CPU device: Draw::begin(word) is a double,
 * Draw::is_common and Draw::is_rare (which takes long) tell which kind of number it gives, and Draw::common, Draw::rare
 * or Draw::other makes it. */
#ifndef MOONWARP_RANDOM_DISTRIBUTIONS_DRAWS_H
#define MOONWARP_RANDOM_DISTRIBUTIONS_DRAWS_H

#include <curand_kernel.h>

#if !defined __MW_NVPTX__ && !defined __MW_NVRTC__
#include <moonwarp/random/distributions/host_normal.h>
#endif

#define MW_DRAW(what, type, of_word)                                                                                   \
  struct draw_##what {                                                                                                 \
    template <class W> static __device__ type make(W x, double a, double b) { return of_word; }                        \
  };
MW_DRAW(bits, W, x)
MW_DRAW(uniform, float, _curand_uniform(x))
MW_DRAW(uniform_double, double, _curand_uniform_double(x))
MW_DRAW(normal, float, __mw_scale_and_add(_curand_normal_icdf(x), (float)b, (float)a))
MW_DRAW(poisson, unsigned int, _curand_poisson(x, a))

#if defined __MW_NVPTX__ || defined __MW_NVRTC__
MW_DRAW(lognormal, float, __mw_lognormal_of(_curand_normal_icdf(x), (float)a, (float)b))
MW_DRAW(normal_double, double, __mw_scale_and_add(_curand_normal_icdf_double(x), b, a))
MW_DRAW(lognormal_double, double, __mw_lognormal_of(_curand_normal_icdf_double(x), a, b))
#else
MW_DRAW(lognormal, float, __mw_lognormal_of(__mw_exact_normal(x), (float)a, (float)b))

#define MW_DRAW_IN_STEPS(what, of_normal)                                                                              \
  struct draw_##what {                                                                                                 \
    template <class W> static __device__ double begin(W x) { return __mw_centred_uniform(x); }                         \
    static __device__ bool is_common(double x) { return __mw_is_central(x); }                                          \
    static __device__ bool is_rare(double x) { return __mw_is_in_tails(x); }                                           \
    static __device__ double common(double x, double a, double b) { return of_normal(__mw_central_normal(x)); }        \
    static __device__ double other(double x, double a, double b) { return of_normal(__mw_middle_normal(x)); }          \
    static __device__ double rare(double x, double a, double b) { return of_normal(__mw_tail_normal(x)); }             \
    template <class W> static __device__ double make(W x, double a, double b) {                                        \
      return of_normal(__mw_host_normal_double(x));                                                                    \
    }                                                                                                                  \
  };
#define MW_NORMAL_OF(z)    __mw_scale_and_add(z, b, a)
#define MW_LOGNORMAL_OF(z) __mw_lognormal_of(z, a, b)
MW_DRAW_IN_STEPS(normal_double, MW_NORMAL_OF)
MW_DRAW_IN_STEPS(lognormal_double, MW_LOGNORMAL_OF)
#undef MW_DRAW_IN_STEPS
#undef MW_NORMAL_OF
#undef MW_LOGNORMAL_OF
#endif
#undef MW_DRAW

/* Whether a number is made in two steps. */
template <class Draw> struct made_in_steps {
  static const bool value = false;
};
#if !defined __MW_NVPTX__ && !defined __MW_NVRTC__
template <> struct made_in_steps<draw_normal_double> {
  static const bool value = true;
};
template <> struct made_in_steps<draw_lognormal_double> {
  static const bool value = true;
};
#endif

#endif
