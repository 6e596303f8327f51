/* A number from one word, for host streams that need no more: Draw::make(word, a, b), by the name of the distribution,
 * with its parameters a and b. */
#ifndef MOONWARP_RANDOM_DISTRIBUTIONS_DRAWS_H
#define MOONWARP_RANDOM_DISTRIBUTIONS_DRAWS_H

#include <curand_kernel.h>

#define MW_DRAW(what, type, of_word)                                                                                   \
  struct draw_##what {                                                                                                 \
    template <class W> static __device__ type make(W x, double a, double b) { return of_word; }                        \
  };
MW_DRAW(bits, W, x)
MW_DRAW(uniform, float, _curand_uniform(x))
MW_DRAW(uniform_double, double, _curand_uniform_double(x))
MW_DRAW(normal, float, __mw_scale_and_add(_curand_normal_icdf(x), (float)b, (float)a))
MW_DRAW(normal_double, double, __mw_scale_and_add(_curand_normal_icdf_double(x), b, a))
MW_DRAW(lognormal, float, __mw_lognormal_of(_curand_normal_icdf(x), (float)a, (float)b))
MW_DRAW(lognormal_double, double, __mw_lognormal_of(_curand_normal_icdf_double(x), a, b))
MW_DRAW(poisson, unsigned int, _curand_poisson(x, a))
#undef MW_DRAW

#endif
