/* A sum of doubles with the error of each addition, by Knuth's TwoSum: sum + rest has twice the precision of double. */
#ifndef MOONWARP_ALGORITHMS_EXACT_SUM_H
#define MOONWARP_ALGORITHMS_EXACT_SUM_H

namespace moonwarp {

struct exact_sum {
  double sum, rest;
};

__device__ inline exact_sum exact(double x) {
  exact_sum r;
  r.sum = x;
  r.rest = 0;
  return r;
}

__device__ inline exact_sum add(exact_sum a, exact_sum b) {
  double s = a.sum + b.sum, t = s - a.sum, e = (a.sum - (s - t)) + (b.sum - t);
  exact_sum r;
  r.sum = s;
  r.rest = e + a.rest + b.rest;
  if (isinf(s) || isnan(s)) r.rest = 0;
  return r;
}

} // namespace moonwarp

#endif
