/* Writes the table of src/device/moonwarp/random/distributions/c_logarithm.h, with which that header's logarithm is the
 * GNU C library's, bit by bit (2.28 and later, on processors with FMA):
 *     gcc -O2 -mfma -ffp-contract=off -fno-builtin src/tables/c_logarithm.c -o /tmp/table -lm && /tmp/table
 *
 * A number is z 2^k. For each of 128 intervals of z, the library has a reciprocal of a number c near the middle such
 * that log c is nearly a multiple of 2^-43. Of the 2^30 doubles around the middle's reciprocal, some 500 are near
 * enough. With each of them, this makes logarithms that are nearly in the middle of two doubles. Their rounding depends
 * on the rounding error of z / c - 1, so that one reciprocal alone makes the logarithms of this process's C library. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { INTERVALS = 128, BELOW_ONE = 80, POINTS = 3000, MOST = 2000 };

/* As in c_logarithm.h: where these come from is said there. */
static double rest_of(double r, double low) {
  double square = r * r, p = fma(square, fma(r, -0x1.55575e31b7a88p-3, 0x1.999b324ee96d1p-3),
                                 fma(r, -0x1.fffffffeb475dp-3, 0x1.555555551305cp-2));
  return fma(r * square, p, fma(square, -0x1.0000000000001p-1, low));
}

/* log(z 2^k), and how many units it is from the middle of two doubles. */
static double logarithm(double z, double k, double reciprocal, double log_of_middle, double *from_middle) {
  double r = fma(z, reciprocal, -1.0), whole = fma(k, 0x1.62e42fefa38p-1, log_of_middle), high = whole + r;
  double rest = rest_of(r, fma(k, 0x1.ef35793c7673p-45, whole - high + r)), y = high + rest;
  *from_middle = fabs(fabs((high - y) + rest) / fabs(nextafter(y, -INFINITY) - y) - 0.5);
  return y;
}

static double random_number(void) {
  static uint64_t x = 88172645463325252;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return (double)(x >> 11) * 0x1p-53;
}

typedef struct candidate {
  double reciprocal, log_of_middle;
} candidate;

/* Doubles within 2^29 units of `center`, where the logarithm is within 2^-65 of a multiple of 2^-43. */
static int find_candidates(double center, candidate *found) {
  const double unit = center < 1.0 ? 0x1p-53 : 0x1p-52, step = 0x1p-43;
  long double log_c = -logl((long double)center), first = floorl(log_c / step);
  long double above = log_c - first * step, units = (long double)center / unit;
  int count = 0;
  for (long n = (long)(0x1p72 * unit / center) + 2, i = -n; i <= n; i++) {
    long double t = above - (long double)i * step; /* the logarithm of reciprocal / center */
    long double j = units * (t + t * t * (0.5L + t * (1 / 6.0L + t / 24))), whole = rintl(j);
    if (fabsl(whole) <= 0x1p29L && fabsl(j - whole) * unit / center < 0x1p-65L && count < MOST)
      found[count++] = (candidate){center + (double)whole * unit, (double)(first + i) * step};
  }
  return count;
}

int main(void) {
  static candidate candidates[MOST];
  static double z[POINTS], k[POINTS], wanted[POINTS];
  for (int i = 0; i < INTERVALS; i++) {
    double begin = i < BELOW_ONE ? 0.6875 + i / 256.0 : 1.0 + (i - BELOW_ONE) / 128.0,
           width = i < BELOW_ONE ? 1 / 256.0 : 1 / 128.0, from_middle;
    int count = find_candidates(1.0 / (begin + width / 2), candidates), matching = 0, which = 0;
    for (int point = 0; point < POINTS;) {
      z[point] = begin + random_number() * width;
      k[point] = -6.0 - floor(50 * random_number());
      logarithm(z[point], k[point], candidates->reciprocal, candidates->log_of_middle, &from_middle);
      if (from_middle > 0.0008) continue; /* these are not rounded otherwise */
      wanted[point] = log(ldexp(z[point], (int)k[point]));
      point++;
    }
    for (int c = 0; c < count; c++) {
      int point = 0;
      while (point < POINTS && logarithm(z[point], k[point], candidates[c].reciprocal, candidates[c].log_of_middle,
                                         &from_middle) == wanted[point])
        point++;
      if (point == POINTS) {
        matching++;
        which = c;
      }
    }
    if (matching != 1) {
      fprintf(stderr, "%d of %d reciprocals of interval %d make the C library's logarithms\n", matching, count, i);
      return 1;
    }
    printf("%a, %a,%s", candidates[which].reciprocal, candidates[which].log_of_middle, i % 2 ? "\n" : " ");
  }
  return 0;
}
