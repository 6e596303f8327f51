/* Complex numbers that operations on arrays compute with. In memory they are float2 and double2, whose layout is the
 * same.
 *
 * Division is scaled by the divisor's larger part, so that no intermediate result overflows (Smith). Special cases
 * follow C99's Annex G where that costs nothing. */
#ifndef MOONWARP_ALGORITHMS_COMPLEX_H
#define MOONWARP_ALGORITHMS_COMPLEX_H

namespace moonwarp {

template <typename T> struct complex_vector;
template <> struct complex_vector<float> {
  typedef float2 type;
};
template <> struct complex_vector<double> {
  typedef double2 type;
};

template <typename T> struct complex {
  typedef typename complex_vector<T>::type vector;
  T re, im;

  complex() = default;
  __device__ inline complex(T re_, T im_ = 0) : re(re_), im(im_) {}
  __device__ inline complex(float2 v) : re((T)v.x), im((T)v.y) {}
  __device__ inline complex(double2 v) : re((T)v.x), im((T)v.y) {}
  template <typename U> __device__ inline explicit complex(complex<U> z) : re((T)z.re), im((T)z.im) {}
  __device__ inline operator vector() const {
    vector v;
    v.x = re, v.y = im;
    return v;
  }
  __device__ inline complex &operator+=(complex b) { return *this = *this + b; }

  friend __device__ inline complex operator-(complex a) { return complex(-a.re, -a.im); }
  friend __device__ inline complex operator+(complex a, complex b) { return complex(a.re + b.re, a.im + b.im); }
  friend __device__ inline complex operator-(complex a, complex b) { return complex(a.re - b.re, a.im - b.im); }
  friend __device__ inline complex operator*(complex a, complex b) {
    return complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
  }
  friend __device__ inline complex operator/(complex a, complex b) {
    bool wide = fabs(b.re) >= fabs(b.im);
    if (b.re == 0 && b.im == 0) return complex(a.re / fabs(b.re), a.im / fabs(b.re));
    T ratio = wide ? b.im / b.re : b.re / b.im, scale = 1 / (wide ? b.re + b.im * ratio : b.re * ratio + b.im);
    if (wide) return complex((a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale);
    return complex((a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale);
  }
  friend __device__ inline bool operator==(complex a, complex b) { return a.re == b.re && a.im == b.im; }
  friend __device__ inline bool operator!=(complex a, complex b) { return a.re != b.re || a.im != b.im; }
};

template <typename T> __device__ inline T abs(complex<T> z) { return ::hypot(z.re, z.im); }
template <typename T> __device__ inline T angle(complex<T> z) { return ::atan2(z.im, z.re); }
template <typename T> __device__ inline complex<T> conj(complex<T> z) { return complex<T>(z.re, -z.im); }
template <typename T> __device__ inline bool is_finite(complex<T> z) {
  return fabs(z.re) < HUGE_VAL && fabs(z.im) < HUGE_VAL;
}
template <typename T> __device__ inline bool is_infinite(complex<T> z) {
  return fabs(z.re) == HUGE_VAL || fabs(z.im) == HUGE_VAL;
}
template <typename T> __device__ inline complex<T> times_i(complex<T> z) { return complex<T>(-z.im, z.re); }

template <typename T> __device__ inline complex<T> exp(complex<T> z) {
  T size = ::exp(z.re);
  return z.im == 0 ? complex<T>(size, z.im) : complex<T>(size * ::cos(z.im), size * ::sin(z.im));
}

/* |z|^2 - 1, where that is near 0 and |z| has lost its digits. */
__device__ inline float beyond_one(float large, float small) {
  return (float)((double)large * large - 1 + (double)small * small);
}
__device__ inline double beyond_one(double large, double small) {
  double square = large * large, lost = fma(large, large, -square), other = small * small;
  return ((square - 1) + other) + (lost + fma(small, small, -other));
}

template <typename T> __device__ inline complex<T> log(complex<T> z) {
  T size = abs(z), x = fabs(z.re), y = fabs(z.im);
  T real = size > (T)0.7 && size < (T)1.5 ? log1p(beyond_one(x > y ? x : y, x > y ? y : x)) / 2 : ::log(size);
  return complex<T>(real, angle(z));
}

/* The root whose real part is not negative. */
template <typename T> __device__ inline complex<T> sqrt(complex<T> z) {
  T length = abs(z), x = fabs(z.re);
  if (length == 0) return complex<T>(0, z.im);
  T larger = ::sqrt(length / 2 + x / 2), smaller = fabs(z.im) / (2 * larger);
  if (z.re >= 0) return complex<T>(larger, copysign(smaller, z.im));
  return complex<T>(smaller, copysign(larger, z.im));
}

template <typename T> __device__ inline complex<T> cosh(complex<T> z) {
  return complex<T>(::cosh(z.re) * ::cos(z.im), ::sinh(z.re) * ::sin(z.im));
}
template <typename T> __device__ inline complex<T> sinh(complex<T> z) {
  return complex<T>(::sinh(z.re) * ::cos(z.im), ::cosh(z.re) * ::sin(z.im));
}
/* (Kahan, "Branch cuts for complex elementary functions", 1987) */
template <typename T> __device__ inline complex<T> tanh(complex<T> z) {
  if (fabs(z.re) > 20) return complex<T>(copysign((T)1, z.re), copysign((T)0, z.im));
  T t = ::tan(z.im), beta = 1 + t * t, s = ::sinh(z.re), rho = ::sqrt(1 + s * s), all = 1 + beta * s * s;
  return fabs(t) < HUGE_VAL ? complex<T>(beta * rho * s / all, t / all) : complex<T>(rho / s, 1 / t);
}
template <typename T> __device__ inline complex<T> cos(complex<T> z) { return cosh(times_i(z)); }
template <typename T> __device__ inline complex<T> sin(complex<T> z) { return -times_i(sinh(times_i(z))); }
template <typename T> __device__ inline complex<T> tan(complex<T> z) { return -times_i(tanh(times_i(z))); }

/* Small whole powers by products, which is exact for whole numbers; others by exp and log, in double precision. */
template <typename T> __device__ inline complex<T> pow(complex<T> a, complex<T> b) {
  typedef complex<double> wide;
  if (b == complex<T>(0)) return complex<T>(1);
  if (a == complex<T>(0)) return b.re > 0 ? complex<T>(0) : complex<T>((T)nan(""), (T)nan(""));
  if (b.im == 0 && b.re == rint(b.re) && fabs(b.re) < 100) {
    complex<T> y(1), x = a;
    for (int n = (int)fabs(b.re); n; n /= 2, x = x * x)
      if (n % 2) y = y * x;
    return b.re < 0 ? complex<T>(1) / y : y;
  }
  return complex<T>(exp(wide(b) * log(wide(a))));
}

} // namespace moonwarp

#endif
