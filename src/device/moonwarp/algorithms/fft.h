/* Discrete Fourier transforms along the middle dimension of outer x n x inner complex numbers.
 *
 * Stockham's algorithm: each pass divides sub-transforms by a radix R, and its output is in order, so that none is
 * reordered at the end. A thread makes one butterfly: it reads R numbers that are n / R apart, neighbouring threads
 * neighbouring ones, and writes R that are `s` apart, where s is `inner` times the radices of the passes before.
 * (Van Loan, "Computational frameworks for the fast Fourier transform", 1992)
 *
 * SIGN is that of the exponent: -1 forward, 1 inverse. `w` has the n roots exp(SIGN 2 pi i k / n). */
#ifndef MOONWARP_ALGORITHMS_FFT_H
#define MOONWARP_ALGORITHMS_FFT_H

#include <moonwarp/algorithms/complex.h>

namespace moonwarp {

/* SIGN i a */
template <int SIGN, typename T> __device__ inline complex<T> turned(complex<T> a) {
  return SIGN < 0 ? complex<T>(a.im, -a.re) : complex<T>(-a.im, a.re);
}

template <typename T> __device__ inline complex<T> scaled(complex<T> a, T by) {
  return complex<T>(a.re * by, a.im * by);
}

/* ---- butterflies: the transform of R numbers in place ---- */

template <int R, int SIGN> struct butterfly;

template <int SIGN> struct butterfly<2, SIGN> {
  template <typename T> static __device__ inline void run(complex<T> *v) {
    complex<T> a = v[0];
    v[0] = a + v[1], v[1] = a - v[1];
  }
};

template <int SIGN> struct butterfly<3, SIGN> {
  template <typename T> static __device__ inline void run(complex<T> *v) {
    complex<T> sum = v[1] + v[2], turn = scaled(turned<SIGN>(v[1] - v[2]), (T)0.86602540378443864676);
    complex<T> middle = v[0] - scaled(sum, (T)0.5);
    v[0] = v[0] + sum, v[1] = middle + turn, v[2] = middle - turn;
  }
};

template <int SIGN> struct butterfly<4, SIGN> {
  template <typename T> static __device__ inline void run(complex<T> *v) {
    complex<T> a = v[0] + v[2], b = v[0] - v[2], c = v[1] + v[3], d = turned<SIGN>(v[1] - v[3]);
    v[0] = a + c, v[1] = b + d, v[2] = a - c, v[3] = b - d;
  }
};

template <int SIGN> struct butterfly<5, SIGN> {
  template <typename T> static __device__ inline void run(complex<T> *v) {
    const T c1 = (T)0.30901699437494742410, c2 = (T)-0.80901699437494742410;
    const T s1 = (T)0.95105651629515357212, s2 = (T)0.58778525229247312917;
    complex<T> p = v[1] + v[4], q = v[2] + v[3], d = v[1] - v[4], e = v[2] - v[3];
    complex<T> m = v[0] + scaled(p, c1) + scaled(q, c2), n = v[0] + scaled(p, c2) + scaled(q, c1);
    complex<T> x = turned<SIGN>(scaled(d, s1) + scaled(e, s2)), y = turned<SIGN>(scaled(d, s2) - scaled(e, s1));
    v[0] = v[0] + p + q, v[1] = m + x, v[2] = n + y, v[3] = n - y, v[4] = m - x;
  }
};

template <int SIGN> struct butterfly<8, SIGN> {
  template <typename T> static __device__ inline void run(complex<T> *v) {
    const T r = (T)0.70710678118654752440;
    complex<T> even[4] = {v[0], v[2], v[4], v[6]}, odd[4] = {v[1], v[3], v[5], v[7]};
    butterfly<4, SIGN>::run(even);
    butterfly<4, SIGN>::run(odd);
    complex<T> a = odd[1], b = odd[3];
    odd[1] = scaled(a + turned<SIGN>(a), r);
    odd[2] = turned<SIGN>(odd[2]);
    odd[3] = scaled(turned<SIGN>(b) - b, r);
    for (int k = 0; k < 4; k++) v[k] = even[k] + odd[k], v[k + 4] = even[k] - odd[k];
  }
};

/* ---- passes ---- */

struct fft_pass {
  unsigned step;        /* n / R * inner: elements between a butterfly's inputs, and butterflies of an outer one */
  unsigned stride;      /* s */
  unsigned root;        /* s / inner: the root that belongs to p = 1 */
  int shift;            /* log2 of the stride, or -1 */
  unsigned long long n; /* n * inner: elements of an outer one */
};

/* The butterfly of numbers q + s p. */
template <int R, int SIGN, typename V, typename T>
__device__ inline void fft_butterfly(const fft_pass &pass, unsigned p, unsigned q, const V *x, V *y, const V *w,
                                     T scale) {
  typedef complex<T> C;
  unsigned t = q + pass.stride * p;
  C v[R];
  for (int k = 0; k < R; k++) v[k] = C(x[t + k * pass.step]);
  butterfly<R, SIGN>::run(v);
  V *to = y + (t + pass.stride * p * (R - 1));
  to[0] = scaled(v[0], scale);
  for (int k = 1; k < R; k++) to[k * pass.stride] = scaled(v[k] * C(w[p * k * pass.root]), scale);
}

/* A thread for each butterfly in their order; outer ones are the grid's third dimension. */
template <int R, int SIGN, typename V, typename T>
__device__ inline void fft_flat(const fft_pass &pass, const V *x, V *y, const V *w, T scale) {
  unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= pass.step) return;
  unsigned p = pass.shift >= 0 ? t >> pass.shift : t / pass.stride;
  fft_butterfly<R, SIGN>(pass, p, t - p * pass.stride, x + blockIdx.z * pass.n, y + blockIdx.z * pass.n, w, scale);
}

/* The same where the stride is long: a block has one p, and so the same roots for all of its threads. */
template <int R, int SIGN, typename V, typename T>
__device__ inline void fft_rows(const fft_pass &pass, const V *x, V *y, const V *w, T scale) {
  unsigned q = blockIdx.x * blockDim.x + threadIdx.x;
  if (q >= pass.stride) return;
  fft_butterfly<R, SIGN>(pass, blockIdx.y, q, x + blockIdx.z * pass.n, y + blockIdx.z * pass.n, w, scale);
}

/* A pass of any radix: a thread for each output. */
template <typename V, typename T>
__device__ inline void fft_any(const fft_pass &pass, unsigned radix, const V *x, V *y, const V *w, T scale) {
  typedef complex<T> C;
  unsigned t = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y;
  if (t >= pass.step) return;
  unsigned p = t / pass.stride, apart = pass.step / pass.stride * pass.root; /* n / R */
  x += blockIdx.z * pass.n, y += blockIdx.z * pass.n;
  C sum(0);
  for (unsigned m = 0; m < radix; m++) sum += C(x[t + m * pass.step]) * C(w[m * k % radix * apart]);
  y[t + pass.stride * (p * (radix - 1) + k)] = scaled(sum * C(w[p * k * pass.root]), scale);
}

/* ---- lengths with a large prime factor ---- */

/* exp(SIGN pi i k^2 / n) */
template <int SIGN, typename T> __device__ inline complex<T> chirp(unsigned k, unsigned n) {
  double s, c, turn = (double)((unsigned long long)k * k % (2ull * n)) / n;
  sincospi(turn, &s, &c);
  return complex<T>((T)c, (T)(SIGN * s));
}

/* ---- real transforms: of n numbers as n / 2 complex ones ---- */

/* Element k of a real line's transform, from the transform z of its pairs. (forward) */
template <typename V, typename T>
__device__ inline complex<T> real_from_pairs(const V *z, const V *w, unsigned half, unsigned k) {
  typedef complex<T> C;
  C a = C(z[k == half ? 0 : k]), b = conj(C(z[k == 0 ? 0 : half - k]));
  return scaled((a + b) + turned<-1>((a - b) * C(w[k])), (T)0.5);
}

/* Twice element k of the pairs' transform, from the transform x of a real line. (inverse) */
template <typename V, typename T>
__device__ inline complex<T> pairs_from_real(const V *x, const V *w, unsigned half, unsigned k) {
  typedef complex<T> C;
  C a = C(x[k]), b = conj(C(x[half - k]));
  if (k == 0) a.im = b.im = 0; /* a real line's first element is real */
  return (a + b) + turned<1>((a - b) * C(w[k]));
}

} // namespace moonwarp

#endif
