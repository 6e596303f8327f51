/* Kernels of the host streams that interleave subsequences: XORWOW, Philox and MRG32k3a.
 *
 * A column is a subsequence. The stream takes a unit of numbers from each column in turn (one number, a pair, or four
 * with Philox); the columns' states are words in device memory. Each kernel is a module of its own, so that uniform
 * numbers do not wait for the compilation of normal ones: its source is MW_COLUMNS_BEGIN(kind) or MW_COLUMNS_FILL(kind,
 * what) after this header. */
#ifndef MOONWARP_RANDOM_STREAMS_COLUMNS_H
#define MOONWARP_RANDOM_STREAMS_COLUMNS_H

#include <curand_kernel.h>

typedef unsigned long long ull;

#if defined __MW_NVPTX__ || defined __MW_NVRTC__
#define MW_COLUMNS_OF_GPUS
#endif

/* Selects overloads: base() is not a template. */
struct xorwow : curandStateXORWOW {
  __device__ curandStateXORWOW *base() { return this; }
  __device__ void begin(ull seed, int i, ull row, ull step) {
    curand_init(step ? seed + step * i : seed, step ? 0 : i, row, this);
  }
  __device__ void skip(ull n) { skipahead(n, base()); }
  __device__ void load(const unsigned *w, int columns, int i) {
    d = w[i];
    for (int k = 0; k < 5; k++) v[k] = w[(k + 1) * columns + i];
  }
  __device__ void store(unsigned *w, int columns, int i) const {
    w[i] = d;
    for (int k = 0; k < 5; k++) w[(k + 1) * columns + i] = v[k];
  }
};
struct mrg32k3a : curandStateMRG32k3a {
  __device__ curandStateMRG32k3a *base() { return this; }
  __device__ void begin(ull seed, int i, ull row, ull step) { curand_init(seed, i, row, this); }
  __device__ void skip(ull n) { skipahead(n, base()); }
  __device__ void load(const unsigned *w, int columns, int i) {
    for (int k = 0; k < 3; k++) s1[k] = w[k * columns + i], s2[k] = w[(k + 3) * columns + i];
  }
  __device__ void store(unsigned *w, int columns, int i) const {
    for (int k = 0; k < 3; k++) w[k * columns + i] = s1[k], w[(k + 3) * columns + i] = s2[k];
  }
};
/* The second number of a pair, which a state keeps: two words after the others. It stays while others are drawn. */
template <class S> __device__ inline void load_extra(S *s, const unsigned *w, int columns, int i) {
  s->boxmuller_flag = w[6 * columns + i];
  s->boxmuller_extra = __uint_as_float(w[7 * columns + i]);
}
template <class S> __device__ inline void store_extra(const S *s, unsigned *w, int columns, int i) {
  w[6 * columns + i] = s->boxmuller_flag;
  w[7 * columns + i] = __float_as_uint(s->boxmuller_extra);
}
/* Columns are at the first word of a counter, whose lower half is `count` and whose upper one the column; the key is
 * stored once, after the counts. */
struct philox {
  ull count;
  unsigned column;
  uint2 key;
  __device__ void begin(ull seed, int i, ull row, ull step) {
    key = make_uint2((unsigned)seed, (unsigned)(seed >> 32));
    count = row >> 2;
    column = i;
  }
  __device__ void load(const unsigned *w, int columns, int i) {
    count = (ull)w[columns + i] << 32 | w[i];
    column = i;
    key = make_uint2(w[2 * columns], w[2 * columns + 1]);
  }
  __device__ void store(unsigned *w, int columns, int i) const {
    w[i] = (unsigned)count;
    w[columns + i] = (unsigned)(count >> 32);
    /* Others read the key meanwhile: it is written once. */
    if (i == 0 && w[2 * columns] != key.x) w[2 * columns] = key.x;
    if (i == 0 && w[2 * columns + 1] != key.y) w[2 * columns + 1] = key.y;
  }
  __device__ void skip(ull n) { count += n >> 2; }
  /* The words of the counter that is `more` further. */
  __device__ uint4 words(ull more) const {
    ull c = count + more;
#ifdef MW_COLUMNS_OF_GPUS
    return curand_Philox4x32_10(make_uint4((unsigned)c, (unsigned)(c >> 32), column, 0), key);
#else
    return moonwarp::philox_details::four_in_64_bits<10>(c, c >> 32, column, 0, key);
#endif
  }
  __device__ uint4 four() {
    uint4 x = words(0);
    count++;
    return x;
  }
};

/* ---- numbers made from normal ones ---- */

__device__ inline float2 scaled(float2 x, float a, float b) {
  return make_float2(__mw_scale_and_add(x.x, b, a), __mw_scale_and_add(x.y, b, a));
}
__device__ inline double2 scaled(double2 x, double a, double b) {
  return make_double2(__mw_scale_and_add(x.x, b, a), __mw_scale_and_add(x.y, b, a));
}
__device__ inline float2 powers(float2 x, float a, float b) {
  return make_float2(__mw_lognormal_of(x.x, a, b), __mw_lognormal_of(x.y, a, b));
}
__device__ inline double2 powers(double2 x, double a, double b) {
  return make_double2(__mw_lognormal_of(x.x, a, b), __mw_lognormal_of(x.y, a, b));
}
#define MW_BOTH_PAIRS(f, V, P)                                                                                         \
  __device__ inline V f(V x, double a, double b) {                                                                     \
    P u = f(P{x.x, x.y}, a, b), v = f(P{x.z, x.w}, a, b);                                                              \
    return V{u.x, u.y, v.x, v.y};                                                                                      \
  }
MW_BOTH_PAIRS(scaled, float4, float2)
MW_BOTH_PAIRS(scaled, double4, double2)
MW_BOTH_PAIRS(powers, float4, float2)
MW_BOTH_PAIRS(powers, double4, double2)
#undef MW_BOTH_PAIRS

__device__ inline double4 uniforms(philox *s) {
  uint4 x = s->words(0), y = s->words(1);
  s->count += 2;
  return make_double4(_curand_uniform_double_hq(x.x, x.y), _curand_uniform_double_hq(x.z, x.w),
                      _curand_uniform_double_hq(y.x, y.y), _curand_uniform_double_hq(y.z, y.w));
}
__device__ inline uint4 counts(uint4 x, double lambda) {
  return make_uint4(_curand_poisson(x.x, lambda), _curand_poisson(x.y, lambda), _curand_poisson(x.z, lambda),
                    _curand_poisson(x.w, lambda));
}
__device__ inline float4 normals(uint4 x) {
  float2 u = _curand_box_muller(x.x, x.y), v = _curand_box_muller(x.z, x.w);
  return make_float4(u.x, u.y, v.x, v.y);
}
__device__ inline double4 normals_double(philox *s) {
  uint4 x = s->words(0), y = s->words(1);
  s->count += 2;
  double2 u = _curand_box_muller_double(x.x, x.y, x.z, x.w), v = _curand_box_muller_double(y.x, y.y, y.z, y.w);
  return make_double4(u.x, u.y, v.x, v.y);
}

/* ---- a unit, by the name of the distribution ---- */

/* of_one for XORWOW and MRG32k3a, of_four for Philox; a and b are the distribution's parameters. */
#define MW_COLUMNS_UNIT(what, one, of_one, four, of_four)                                                              \
  struct unit_##what {                                                                                                 \
    template <class S> static __device__ void begin(S *s, const unsigned *words, int columns, int column) {}           \
    template <class S> static __device__ void end(const S *s, unsigned *words, int columns, int column) {}             \
    template <class S> static __device__ one make(S *s, double a, double b) { return of_one; }                         \
    static __device__ four make(philox *s, double a, double b) { return of_four; }                                     \
  };
MW_COLUMNS_UNIT(bits, unsigned int, curand(s), uint4, s->four())
MW_COLUMNS_UNIT(uniform, float, curand_uniform(s), float4, _curand_uniform4(s->four()))
MW_COLUMNS_UNIT(uniform_double, double, curand_uniform_double(s), double4, uniforms(s))
MW_COLUMNS_UNIT(normal, float2, scaled(curand_box_muller(s->base()), a, b), float4, scaled(normals(s->four()), a, b))
MW_COLUMNS_UNIT(normal_double, double2, scaled(curand_box_muller_double(s->base()), a, b), double4,
                scaled(normals_double(s), a, b))
MW_COLUMNS_UNIT(lognormal, float2, powers(curand_box_muller(s->base()), a, b), float4, powers(normals(s->four()), a, b))
MW_COLUMNS_UNIT(lognormal_double, double2, powers(curand_box_muller_double(s->base()), a, b), double4,
                powers(normals_double(s), a, b))
MW_COLUMNS_UNIT(poisson, unsigned int, _curand_poisson(curand(s), a), uint4, counts(s->four(), a))
#undef MW_COLUMNS_UNIT

/* Normal numbers one at a time, of XORWOW and MRG32k3a: a column makes both of a pair before the next pair. */
struct unit_single {
  template <class S> static __device__ void begin(S *s, const unsigned *words, int columns, int column) {
    load_extra(s, words, columns, column);
  }
  template <class S> static __device__ void end(const S *s, unsigned *words, int columns, int column) {
    store_extra(s, words, columns, column);
  }
  template <class S> static __device__ float make(S *s, double a, double b) { return curand_normal(s->base()); }
};

/* ---- kernels ---- */

#ifndef MW_COLUMNS_OF_GPUS
/* Thread i processes the i-th column from `first` on. */
template <class S, class Unit, class V>
__device__ inline void fill_columns(unsigned *words, int columns, int first, int units, int span, int taken, double a,
                                    double b, V *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= units || i >= columns) return;
  int column = first + i < columns ? first + i : first + i - columns;
  S state, *s = &state;
  state.load(words, columns, column);
  Unit::begin(s, words, columns, column);
  int rounds = units / columns;
  V *to = out + i;
  for (int round = 0; round < rounds; round++, to += columns) *to = Unit::make(s, a, b);
  if (i < units - rounds * columns) *to = Unit::make(s, a, b);
  state.store(words, columns, column);
  Unit::end(s, words, columns, column);
}
#else
/* Several threads may share a column, which differ by threadIdx.y: each jumps to its `span` rounds of units of `taken`
 * words; the last one makes the rest, and stores the state. Caches evict numbers first. */
template <class S, class Unit, class V>
__device__ inline void fill_columns(unsigned *words, int columns, int first, int units, int span, int taken, double a,
                                    double b, V *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, rounds = units / columns, from = 0, last = rounds;
  bool mine = i < units && i < columns, ends = true;
  int column = first + i < columns ? first + i : first + i - columns;
  S state, *s = &state;
  if (mine) {
    state.load(words, columns, column);
    Unit::begin(s, words, columns, column);
  }
  if (blockDim.y > 1) {
    __syncthreads(); /* all have loaded the state */
    from = threadIdx.y * span;
    ends = threadIdx.y == blockDim.y - 1;
    if (!ends) last = from + span;
    if (mine) s->skip((ull)from * taken);
  }
  if (!mine) return;
  V *to = out + i + (ull)from * columns;
  for (int round = from; round < last; round++, to += columns) __stcs(to, Unit::make(s, a, b));
  if (!ends) return;
  if (i < units - rounds * columns) __stcs(to, Unit::make(s, a, b));
  state.store(words, columns, column);
  Unit::end(s, words, columns, column);
}

/* Two of Philox's doubles, from one counter. */
struct half_uniform_double {
  static __device__ double2 make(uint4 x, double a, double b) {
    return make_double2(_curand_uniform_double_hq(x.x, x.y), _curand_uniform_double_hq(x.z, x.w));
  }
};
struct half_normal_double {
  static __device__ double2 make(uint4 x, double a, double b) {
    return scaled(_curand_box_muller_double(x.x, x.y, x.z, x.w), a, b);
  }
};
struct half_lognormal_double {
  static __device__ double2 make(uint4 x, double a, double b) {
    return powers(_curand_box_muller_double(x.x, x.y, x.z, x.w), a, b);
  }
};
/* A unit is four doubles of two counters: a lane has every second counter of a column, so that a warp stores without
 * gaps. */
template <class Half>
__device__ inline void fill_halves(unsigned *words, int columns, int first, int units, double a, double b,
                                   double2 *out) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x, i = thread >> 1, half = thread & 1, rounds = units / columns;
  if (i >= units || i >= columns) return;
  int column = first + i < columns ? first + i : first + i - columns;
  philox state, *s = &state;
  state.load(words, columns, column);
  __syncwarp(__activemask()); /* both lanes have loaded it */
  s->skip(4 * half);
  double2 *to = out + thread;
  if (i < units - rounds * columns) rounds++;
  for (int round = 0; round < rounds; round++, to += 2 * columns) {
    __stcs(to, Half::make(s->words(0), a, b));
    s->skip(8);
  }
  if (half == 0) state.store(words, columns, column);
}
#endif

/* A column keeps the second number of the pair whose first word is number `pair` - 1; 0 for none. Philox keeps none. */
__device__ inline void begin_extra(philox *s, ull seed, int i, ull pair, ull step, unsigned *words, int columns) {}
template <class S>
__device__ inline void begin_extra(S *s, ull seed, int i, ull pair, ull step, unsigned *words, int columns) {
  s->begin(seed, i, pair ? pair - 1 : 0, step);
  if (pair) curand_normal(s->base());
  store_extra(s, words, columns, i);
}

/* The first store, to words that nothing has written. */
__device__ inline void store_first(const philox *s, unsigned *w, int columns, int i) {
  if (i == 0) w[2 * columns] = s->key.x, w[2 * columns + 1] = s->key.y;
  w[i] = (unsigned)s->count;
  w[columns + i] = (unsigned)(s->count >> 32);
}
template <class S> __device__ inline void store_first(const S *s, unsigned *w, int columns, int i) {
  s->store(w, columns, i);
}

/* Sets column i to word rows[i] of its subsequence or, if step is not 0, of the sequence with its own seed. */
#define MW_COLUMNS_BEGIN(kind)                                                                                         \
  extern "C" __global__ void begin(unsigned low, unsigned high, ull step, int columns, const ull *rows,                \
                                   const ull *pairs, unsigned *words) {                                                \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                                                     \
    if (i >= columns) return;                                                                                          \
    kind s;                                                                                                            \
    begin_extra(&s, (ull)high << 32 | low, i, pairs ? pairs[i] : 0, step, words, columns);                             \
    s.begin((ull)high << 32 | low, i, rows[i], step);                                                                  \
    store_first(&s, words, columns, i);                                                                                \
  }
#define MW_COLUMNS_FILL(kind, what)                                                                                    \
  extern "C" __global__ void what(unsigned *words, int columns, int first, int units, int span, int taken, double a,   \
                                  double b, decltype(unit_##what::make((kind *)0, 0., 0.)) *out) {                     \
    fill_columns<kind, unit_##what>(words, columns, first, units, span, taken, a, b, out);                             \
  }
#define MW_COLUMNS_FILL_HALVES(what)                                                                                   \
  extern "C" __global__ void what##_halves(unsigned *words, int columns, int first, int units, double a, double b,     \
                                           double2 *out) {                                                             \
    fill_halves<half_##what>(words, columns, first, units, a, b, out);                                                 \
  }

#endif
