/* The k-th least element of each line, found digit by digit: from the highest byte of the elements' keys down, count
 * the elements with each digit, among those that have the answer's prefix, and choose the digit in which rank k falls.
 *
 * A key has the order of its element: KIND says how (UNSIGNED, SIGNED, FLOATING). NaN comes last.
 */
#ifndef MOONWARP_ALGORITHMS_SELECT_H
#define MOONWARP_ALGORITHMS_SELECT_H

namespace moonwarp {

enum key_kind { UNSIGNED, SIGNED, FLOATING };

template <typename T> __device__ inline unsigned long long sign_of() { return 1ULL << (8 * sizeof(T) - 1); }
template <typename T> __device__ inline unsigned long long all_of() { return sign_of<T>() | (sign_of<T>() - 1); }

template <typename T, int KIND> __device__ inline unsigned long long key_of(T x) {
  unsigned long long bits = 0;
  memcpy(&bits, &x, sizeof(T));
  if (KIND == SIGNED) return bits ^ sign_of<T>();
  if (KIND != FLOATING) return bits;
  if (!(x == x)) return all_of<T>();
  return bits & sign_of<T>() ? bits ^ all_of<T>() : bits | sign_of<T>();
}

template <typename T, int KIND> __device__ inline T element_of(unsigned long long key) {
  if (KIND == SIGNED) key ^= sign_of<T>();
  if (KIND == FLOATING) key ^= key & sign_of<T>() ? sign_of<T>() : all_of<T>();
  T x;
  memcpy(&x, &key, sizeof(T));
  return x;
}

/* Add to counts[line][256] the digits at `shift` of the elements with the prefix of keys[line]. A block for each chunk
   (x) and line (y), of any size, or ALONE of one thread: on a CPU that counts faster than lanes do where most elements
   count. */
template <typename T, int KIND, bool ALONE>
__device__ void select_count(long long length, int shift, const T *x, const unsigned long long *keys,
                             unsigned *counts) {
  __shared__ unsigned mine[256];
  int t = ALONE ? 0 : threadIdx.x, step = ALONE ? 1 : blockDim.x;
  for (int d = t; d < 256; d += step) mine[d] = 0;
  __syncthreads();
  const T *line = x + blockIdx.y * length;
  unsigned long long begins = shift + 8 < 64 ? keys[blockIdx.y] >> (shift + 8) : 0;
  long long chunk = (length + gridDim.x - 1) / gridDim.x, first = blockIdx.x * chunk;
  long long end = first + chunk < length ? first + chunk : length;
  for (long long k = first + t; k < end; k += step) {
    unsigned long long key = key_of<T, KIND>(line[k]);
    if ((shift + 8 < 64 ? key >> (shift + 8) : 0) != begins) continue;
    if (ALONE)
      mine[key >> shift & 255]++;
    else
      atomicAdd(&mine[key >> shift & 255], 1u);
  }
  __syncthreads();
  for (int d = t; d < 256; d += step)
    if (mine[d] != 0) atomicAdd(&counts[blockIdx.y * 256 + d], mine[d]);
}

/* Choose each line's next digit, and clear the counts. A thread for each line. */
__device__ inline void select_choose(int lines, int shift, unsigned *counts, unsigned long long *ranks,
                                     unsigned long long *keys) {
  int line = blockIdx.x * blockDim.x + threadIdx.x;
  if (line >= lines) return;
  unsigned *of = counts + line * 256LL;
  unsigned long long rank = ranks[line], before = 0, digit = 0;
  for (int d = 0; d < 256; d++) {
    if (before <= rank) {
      digit = d;
      ranks[line] = rank - before;
    }
    before += of[d];
    of[d] = 0;
  }
  keys[line] |= digit << shift;
}

template <typename T, int KIND> __device__ void select_finish(int lines, const unsigned long long *keys, T *y) {
  int line = blockIdx.x * blockDim.x + threadIdx.x;
  if (line < lines) y[line] = element_of<T, KIND>(keys[line]);
}

/* Short lines: a thread finds the element of which `rank` others are before. */
template <typename T, int KIND> __device__ void select_short(long long lines, int length, int rank, const T *x, T *y) {
  long long line = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (line >= lines) return;
  const T *of = x + line * length;
  for (int k = 0; k < length; k++) {
    unsigned long long key = key_of<T, KIND>(of[k]);
    int before = 0;
    for (int j = 0; j < length; j++) {
      unsigned long long other = key_of<T, KIND>(of[j]);
      before += other < key || (other == key && j < k);
    }
    if (before == rank) y[line] = of[k];
  }
}

} // namespace moonwarp

#endif
