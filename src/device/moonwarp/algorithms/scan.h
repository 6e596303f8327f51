/* Inclusive scans along one dimension of outer x length x inner elements.
 *
 * Lines are cut into chunks whose length depends on the shape alone. totals() combines each chunk, prefixes() scans the
 * totals, and scan() goes through the chunks once more, each from the prefix before it. So a result does not depend on
 * how many threads there are, nor on the device. Where lines are contiguous, a warp walks a chunk 32 elements at a time
 * (rows_…); else a thread does it alone (columns_…).
 *
 * Op has the types T (element), A (accumulator) and R (result), and the static functions
 *   A start(A first)      the first accumulator of a line, where it begins
 *   A map(T x, long long i)
 *   A combine(A a, A b)   associative; a comes first
 *   R finish(A a)
 */
#ifndef MOONWARP_ALGORITHMS_SCAN_H
#define MOONWARP_ALGORITHMS_SCAN_H

#include "moonwarp/algorithms/warp_scan.h"

namespace moonwarp {

/* ---- contiguous lines: a block is a warp; blockIdx.x is the chunk, blockIdx.y the line ---- */

/* Groups of 32 elements that a warp scans at a time. Their scans do not wait for each other: only the carry goes
   through all of them, so a GPU has more loads in flight. The order of combining is the same for any number. */
#if defined __MW_NVPTX__ || defined __MW_NVRTC__
enum { SCAN_GROUPS = 8 };
#else
enum { SCAN_GROUPS = 1 };
#endif

/* Walk a chunk of a line. STORE: the scan goes to y, from `carry` on if `carried`; else only the total is computed. */
template <typename Op, bool STORE>
__device__ inline typename Op::A rows_walk(long long first, long long end, const typename Op::T *x,
                                           typename Op::A carry, bool carried, typename Op::R *y) {
  typedef typename Op::A A;
  int lane = threadIdx.x % 32;
  long long k = first;
  if (SCAN_GROUPS > 1) {
    for (; k + SCAN_GROUPS * 32 <= end; k += SCAN_GROUPS * 32) {
      A a[SCAN_GROUPS];
#pragma unroll
      for (int g = 0; g < SCAN_GROUPS; g++) a[g] = Op::map(x[k + g * 32 + lane], k + g * 32 + lane);
      if (STORE && k + lane == 0) a[0] = Op::start(a[0]);
#pragma unroll
      for (int g = 0; g < SCAN_GROUPS; g++) a[g] = scan_warp<Op>(a[g]);
#pragma unroll
      for (int g = 0; g < SCAN_GROUPS; g++) {
        A total = broadcast(a[g], 31);
        if (carried) {
          a[g] = Op::combine(carry, a[g]);
          total = Op::combine(carry, total);
        }
        if (STORE) y[k + g * 32 + lane] = Op::finish(a[g]);
        carry = total;
        carried = true;
      }
    }
  }
  for (; k < end; k += 32) {
    long long at = k + lane;
    A a = Op::map(x[at < end ? at : end - 1], at);
    if (STORE && at == 0) a = Op::start(a);
    a = scan_warp<Op>(a);
    if (carried) a = Op::combine(carry, a);
    if (STORE) __syncwarp(); /* y may be x, whose last element all lanes past the end have read */
    if (STORE && at < end) y[at] = Op::finish(a);
    carry = broadcast(a, end - k < 32 ? (int)(end - k) - 1 : 31);
    carried = true;
  }
  return carry;
}

template <typename Op>
__device__ void rows_totals(long long lines, long long length, long long chunk, const typename Op::T *x,
                            typename Op::A *totals) {
  long long first = blockIdx.x * chunk, end = first + chunk < length ? first + chunk : length;
  for (long long line = blockIdx.y; line < lines; line += gridDim.y) {
    const typename Op::T *from = x + line * length;
    typename Op::A total = rows_walk<Op, false>(first, end, from, Op::map(from[first], first), false, 0);
    if (first == 0) total = Op::start(total);
    if (threadIdx.x == 0) totals[line * gridDim.x + blockIdx.x] = total;
  }
}

template <typename Op> struct of_accumulators {
  typedef typename Op::A T, A, R;
  __device__ static inline A start(A a) { return a; }
  __device__ static inline A map(T x, long long) { return x; }
  __device__ static inline A combine(A a, A b) { return Op::combine(a, b); }
  __device__ static inline R finish(A a) { return a; }
};

template <typename Op> __device__ void rows_prefixes(long long lines, long long chunks, typename Op::A *totals) {
  for (long long line = blockIdx.x; line < lines; line += gridDim.x) {
    typename Op::A *of = totals + line * chunks;
    rows_walk<of_accumulators<Op>, true>(0, chunks, of, typename Op::A(), false, of);
  }
}

/* OF_TOTALS: `before` are the chunks' totals, not their prefixes. A block combines those before it, in the order of
   rows_prefixes, which for few chunks takes less time than another launch. */
template <typename Op, bool OF_TOTALS>
__device__ void rows_scan(long long lines, long long length, long long chunk, const typename Op::T *x,
                          const typename Op::A *before, typename Op::R *y) {
  typedef typename Op::A A;
  long long first = blockIdx.x * chunk, end = first + chunk < length ? first + chunk : length;
  for (long long line = blockIdx.y; line < lines; line += gridDim.y) {
    const typename Op::T *from = x + line * length;
    const A *of = before + line * gridDim.x;
    bool carried = blockIdx.x > 0;
    A carry = !carried    ? Op::map(from[0], 0)
              : OF_TOTALS ? rows_walk<of_accumulators<Op>, false>(0, blockIdx.x, of, of[0], false, 0)
                          : of[blockIdx.x - 1];
    rows_walk<Op, true>(first, end, from, carry, carried, y + line * length);
  }
}

/* ---- other lines: a thread for each outer element, chunk and column ---- */

/* The position of a thread's chunk: its first element's place in x, and in its line. */
struct column_chunk {
  long long place, first, end;
};

__device__ inline column_chunk column_chunk_of(long long t, long long length, long long inner, long long chunk,
                                               long long chunks) {
  column_chunk at;
  long long o = t / (chunks * inner), rest = t % (chunks * inner);
  at.first = rest / inner * chunk;
  at.end = at.first + chunk < length ? at.first + chunk : length;
  at.place = (o * length + at.first) * inner + rest % inner;
  return at;
}

template <typename Op>
__device__ void columns_totals(long long outer, long long length, long long inner, long long chunk, long long chunks,
                               const typename Op::T *x, typename Op::A *totals) {
  long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= outer * chunks * inner) return;
  column_chunk at = column_chunk_of(t, length, inner, chunk, chunks);
  typename Op::A a = Op::map(x[at.place], at.first);
  if (at.first == 0) a = Op::start(a);
  for (long long k = at.first + 1; k < at.end; k++) a = Op::combine(a, Op::map(x[at.place += inner], k));
  totals[t] = a;
}

template <typename Op>
__device__ void columns_prefixes(long long outer, long long inner, long long chunks, typename Op::A *totals) {
  long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= outer * inner) return;
  typename Op::A *of = totals + t / inner * chunks * inner + t % inner, a = of[0];
  for (long long k = 1; k < chunks; k++) of[k * inner] = a = Op::combine(a, of[k * inner]);
}

template <typename Op>
__device__ void columns_scan(long long outer, long long length, long long inner, long long chunk, long long chunks,
                             const typename Op::T *x, const typename Op::A *prefixes, typename Op::R *y) {
  long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= outer * chunks * inner) return;
  column_chunk at = column_chunk_of(t, length, inner, chunk, chunks);
  typename Op::A a = Op::map(x[at.place], at.first);
  a = at.first == 0 ? Op::start(a) : Op::combine(prefixes[t - inner], a);
  y[at.place] = Op::finish(a);
  for (long long k = at.first + 1; k < at.end; k++) {
    at.place += inner;
    a = Op::combine(a, Op::map(x[at.place], k));
    y[at.place] = Op::finish(a);
  }
}

} // namespace moonwarp

#endif
