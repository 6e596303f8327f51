-- Grid-stride loops in CUDA C, for specs: those that run iteration by iteration, those that are strip-mined, and those
-- that run block by block.

-- Each is a body of kernel(int n, unsigned un, long long ln, const int *x, int *o); x and o have room for n elements
-- and 64 more.
local interchanged = {
  usual = [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) o[i] += 3 * x[i];]],
  unsigned_count = [[
    unsigned stride = blockDim.x * gridDim.x;
    for (unsigned i = threadIdx.x + blockIdx.x * blockDim.x; i < un; i += stride) o[i] += x[i] ^ i;]],
  long_count = [[
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < ln; i += (long long)gridDim.x * blockDim.x)
      o[i] += x[i] + (int)i;]],
  size_t_count = [[
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < (size_t)ln; i += gridDim.x * blockDim.x)
      o[i] = x[i] - o[i];]],
  while_loop = [[
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    while (n > i) {
      if (x[i] & 1) o[i] = i; else o[i] -= x[i];
      i += blockDim.x * gridDim.x;
    }]],
  a_part = [[
    int most = min(n / 3 + 2, n);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < most; i += gridDim.x * blockDim.x) o[i] = o[i] * 5;]],
  inner_loop = [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
      int sum = 0;
      for (int j = 0; j < (x[i] & 7); j++) sum = sum * 3 + x[(i + j) % n];
      if (sum % 5 == 0) continue;
      o[i] += sum;
    }]],
  next_too = [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      o[i] = x[i] + (i + int(gridDim.x * blockDim.x));]],
  own_element_before = [[ // what the same thread wrote in the round before
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
      int before = i - int(gridDim.x * blockDim.x);
      o[i] = (before >= 0 ? o[before] : 1) + x[i];
    }]],
  far_end = [[ // through an address of many indices; it is a multiple of 4, which the compiler cannot know
    struct cube { int a[4][4][4][4][4][4][4][4]; };
    const int *place = &((const cube *)x)[n].a[n & 3][n & 2][un & 1][un & 3][ln & 1][ln & 2][ln & 3][n / 2 & 3];
    int end = n + (int)((size_t)place & 3);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < end; i += gridDim.x * blockDim.x) o[i] += x[i];]],
  whole_numbers_added = [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      atomicAdd(&o[x[i] & 15], x[i]);]],
}

-- Loops with loop-carried values, or with code after the loop.
local strip_mined = {
  sum = [[
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    if (blockIdx.x * blockDim.x + threadIdx.x < n) o[blockIdx.x * blockDim.x + threadIdx.x] = sum;]],
  behind = [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) o[i] = x[i];
    if (blockIdx.x * blockDim.x + threadIdx.x < n) o[blockIdx.x * blockDim.x + threadIdx.x] ^= 5;]],
  several_types = [[
    float sum = 1.5f; double squares = 0; short most = -300; unsigned char bits = 0; long long all = n;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
      sum += x[i] * 0.3f, squares += (double)x[i] * x[i], bits ^= x[i], all = all * 5 + x[i];
      if (x[i] > most) most = x[i];
    }
    if (blockIdx.x * blockDim.x + threadIdx.x < n)
      o[blockIdx.x * blockDim.x + threadIdx.x] = __float_as_int(sum) ^ (int)squares ^ most ^ bits ^ (int)(all >> 7);]],
  unsigned_count = [[
    unsigned last = 7;
    for (unsigned i = threadIdx.x + blockIdx.x * blockDim.x; i < un; i += blockDim.x * gridDim.x)
      last = last * 3 + x[i];
    if (blockIdx.x * blockDim.x + threadIdx.x < n) o[blockIdx.x * blockDim.x + threadIdx.x] = last;]],
  long_count = [[
    int sum = 0;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < ln; i += (long long)gridDim.x * blockDim.x)
      sum += x[i] ^ (int)i;
    if (blockIdx.x * blockDim.x + threadIdx.x < n) o[blockIdx.x * blockDim.x + threadIdx.x] = sum;]],
  size_t_count = [[
    float sum = 0;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < (size_t)ln; i += gridDim.x * blockDim.x)
      sum += x[i] * 0.1f;
    if (blockIdx.x * blockDim.x + threadIdx.x < n) o[blockIdx.x * blockDim.x + threadIdx.x] = __float_as_int(sum);]],
  a_part = [[
    int most = min(n / 3 + 2, n), sum = 3;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < most; i += gridDim.x * blockDim.x) sum -= x[i];
    if (blockIdx.x * blockDim.x + threadIdx.x < n) o[blockIdx.x * blockDim.x + threadIdx.x] = sum;]],
  stores_too = [[
    int before = -1;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
      o[i] = before + x[i];
      before = x[i];
    }
    if (blockIdx.x * blockDim.x + threadIdx.x < n) o[blockIdx.x * blockDim.x + threadIdx.x] ^= before;]],
  inner_loop = [[
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
      for (int j = 0; j < (x[i] & 7); j++) sum = sum * 3 + x[(i + j) % n];
      if (sum % 5 == 0) continue;
      sum += i;
    }
    if (blockIdx.x * blockDim.x + threadIdx.x < n) o[blockIdx.x * blockDim.x + threadIdx.x] = sum;]],
  by_thread = [[ // what is carried differs before the first round
    int sum = threadIdx.x * 3 + blockIdx.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum ^= x[i] + (sum << 3);
    if (blockIdx.x * blockDim.x + threadIdx.x < n) o[blockIdx.x * blockDim.x + threadIdx.x] = sum;]],
  count_behind = [[
    int sum = 0, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    if (blockIdx.x * blockDim.x + threadIdx.x < n) o[blockIdx.x * blockDim.x + threadIdx.x] = sum ^ i;]],
  last_value = [[
    int last = -1;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) last = x[i] / 3;
    if (blockIdx.x * blockDim.x + threadIdx.x < n) o[blockIdx.x * blockDim.x + threadIdx.x] = last * 5;]],
  pointer = [[
    const int *at = x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) at = x[i] & 1 ? &x[i] : at;
    if (blockIdx.x * blockDim.x + threadIdx.x < n) o[blockIdx.x * blockDim.x + threadIdx.x] = *at;]],
  tree = [[
    __shared__ int sums[1024];
    int t = threadIdx.x + threadIdx.y * blockDim.x, threads = blockDim.x * blockDim.y, sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    sums[t] = sum;
    for (int half = 512; half > 0; half /= 2) {
      __syncthreads();
      if (t < half && t + half < threads) sums[t] += sums[t + half];
    }
    if (t == 0 && blockIdx.x < n + 64) o[blockIdx.x] = sums[0];]],
  adds = [[ // other threads to the same places, some of them not
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    if (sum & 3) atomicAdd(&o[threadIdx.x % 37], sum);]],
  shuffle = [[
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    for (int far = 16; far > 0; far /= 2) {
      int other = __shfl_down_sync(0xffffffff, sum, far);
      if (threadIdx.x % 32 + far < 32 && threadIdx.x + far < blockDim.x) sum += other;
    }
    int warp = threadIdx.x / 32 + blockIdx.x * 32;
    if (threadIdx.x % 32 == 0 && warp < n + 64) o[warp] = sum;]],
}

-- Loops with shared memory that is live across iterations.
local beside = {
  shared_by_threads = [[
    __shared__ int counts[16];
    if (threadIdx.x < 16) counts[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      atomicAdd(&counts[x[i] & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&o[threadIdx.x], counts[threadIdx.x]);]],
  added_as_64_bits = [[
    __shared__ unsigned long long counts[32];
    if (threadIdx.x < 32) counts[threadIdx.x] = threadIdx.x;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      atomicAdd(&counts[x[i] & 31], x[i] * 100000ull);
    __syncthreads();
    if (threadIdx.x < 30 && threadIdx.x % 3) atomicAdd((unsigned long long *)o + threadIdx.x, counts[threadIdx.x]);]],
  looked_at = [[ // what was added, by who added it
    __shared__ int counts[16];
    if (threadIdx.x < 16) counts[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      atomicAdd(&counts[x[i] & 15], 1);
    __syncthreads();
    if (threadIdx.x >= 16 || threadIdx.y) return;
    atomicAdd(&o[threadIdx.x], counts[threadIdx.x]);
    if (gridDim.x == 1) o[threadIdx.x + 16] = o[threadIdx.x] * 3;]],
  many_bins = [[ // more than threads, and the start is a loop
    __shared__ int counts[300];
    for (int k = threadIdx.x; k < 300; k += blockDim.x) counts[k] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      atomicAdd(&counts[(unsigned)x[i] % 300], i & 3);
    __syncthreads();
    for (int k = threadIdx.x; k < 300 && k < n; k += blockDim.x) atomicAdd(&o[k], counts[k]);]],
  bytes = [[
    __shared__ unsigned counts[256];
    for (int k = threadIdx.x; k < 256; k += blockDim.x) counts[k] = k == 7;
    __syncthreads();
    const unsigned char *bytes = (const unsigned char *)x;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < un; i += gridDim.x * blockDim.x)
      atomicAdd(&counts[bytes[i] + 0], 1);
    __syncthreads();
    for (int k = threadIdx.x; k < 256 && k < n; k += blockDim.x) atomicAdd((unsigned *)&o[k], counts[k]);]],
  table = [[ // read by all, written before
    __shared__ int table[64];
    if (threadIdx.x < 64) table[threadIdx.x] = x[threadIdx.x] * 3;
    __syncthreads();
    int filled = min(blockDim.x, 64);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      if ((x[i] & 63) < filled) o[i] += table[x[i] & 63];]],
  sum_and_counts = [[
    __shared__ int counts[2][16], most;
    if (threadIdx.x < 16) counts[0][threadIdx.x] = counts[1][threadIdx.x] = blockIdx.x;
    if (threadIdx.x == 0 && threadIdx.y == 0) most = -1000;
    __syncthreads();
    int sum = threadIdx.x;
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < ln; i += (long long)gridDim.x * blockDim.x) {
      atomicAdd(&counts[threadIdx.x & 1][x[i] >> 3 & 15], 1);
      atomicMax(&most, x[i]);
      sum = sum * 3 + x[i];
    }
    atomicAdd(&counts[0][sum & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&o[threadIdx.x], counts[0][threadIdx.x] * 5 + counts[1][threadIdx.x] + most);]],
  needed_behind = [[ // what the start computes, too
    __shared__ int counts[128];
    int mine = threadIdx.x * 7 & 127, even = mine & ~1;
    counts[threadIdx.x & 127] = 0;
    __syncthreads();
    atomicAdd(&counts[mine], 2);
    atomicAdd(&counts[even], 1);
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      atomicAdd(&counts[x[i] + mine & 127], even + 1);
    __syncthreads();
    if (threadIdx.x < 128 && threadIdx.y == 0)
      atomicAdd(&o[threadIdx.x & 15], threadIdx.x < blockDim.x ? counts[threadIdx.x] * (mine + 1) + even : 0);]],
}

local blocks = {
  ordered_adds = [[ // as those of cuda::atomic_ref: whoever sees one has to see what stands before it
    __shared__ int counts[16];
    if (threadIdx.x < 16) counts[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      atomicAdd(&counts[x[i] & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16) __atomic_fetch_add(&o[threadIdx.x], counts[threadIdx.x], __ATOMIC_SEQ_CST);]],
  not_known_inside = [[ // nothing tells that all places are
    __shared__ int counts[1009];
    for (int k = threadIdx.x; k < 1009; k += blockDim.x) counts[k] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      atomicAdd(&counts[x[i] + 300], 1);
    __syncthreads();
    for (int k = threadIdx.x; k < 1009 && k < n; k += blockDim.x) atomicAdd(&o[k], counts[k]);]],
  read_before = [[ // what is needed later cannot be computed again
    __shared__ int counts[16];
    if (threadIdx.x < 16) counts[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    int first = counts[blockDim.x < 16 ? blockDim.x - 1 : 15];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      atomicAdd(&counts[x[i] & 15], first & 3);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&o[threadIdx.x], counts[threadIdx.x]);]],
  ends_before = [[ // some threads have no interchanged, and nothing behind them
    __shared__ int counts[16];
    if (threadIdx.x < 16) counts[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x % 3 == 2) return;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      atomicAdd(&counts[x[i] & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&o[threadIdx.x], counts[threadIdx.x]);]],
  address_taken = [[
    __shared__ int counts[16];
    __shared__ int *all;
    if (threadIdx.x < 16) counts[threadIdx.x] = 0;
    all = counts;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      atomicAdd(&all[x[i] & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&o[threadIdx.x], counts[threadIdx.x]);]],
  much_shared = [[
    __shared__ int counts[3][512];
    for (int k = threadIdx.x; k < 3 * 512; k += blockDim.x) counts[k / 512][k % 512] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      atomicAdd(&counts[i % 3 & 1][x[i] & 511], 1);
    __syncthreads();
    for (int k = threadIdx.x; k < 512 && k < n; k += blockDim.x) atomicAdd(&o[k], counts[0][k] - 2 * counts[1][k]);]],
  barrier_inside = [[
    __shared__ int last;
    int sum = 0, interchanged = (n + gridDim.x * blockDim.x - 1) / (gridDim.x * blockDim.x) * gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < interchanged; i += gridDim.x * blockDim.x) {
      if (threadIdx.x == 0 && threadIdx.y == 0) last = i;
      __syncthreads();
      sum += last;
      __syncthreads();
    }
    if (blockIdx.x * blockDim.x + threadIdx.x < n) o[blockIdx.x * blockDim.x + threadIdx.x] = sum;]],
  sum_with_a_way_out = [[
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
      if (x[i] % 11 == 0) break;
      sum += x[i];
    }
    if (blockIdx.x * blockDim.x + threadIdx.x < n) o[blockIdx.x * blockDim.x + threadIdx.x] = sum;]],
  many_sums = [[
    int s[9] = { 0 };
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      for (int j = 0; j < 9; j++) s[j] = s[j] * 3 + (x[i] ^ j);
    if (blockIdx.x * blockDim.x + threadIdx.x < n)
      o[blockIdx.x * blockDim.x + threadIdx.x] = s[0] ^ s[1] ^ s[2] ^ s[3] ^ s[4] ^ s[5] ^ s[6] ^ s[7] ^ s[8];]],
  way_out = [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
      if (x[i] % 11 == 0) break;
      o[i] = x[i];
    }]],
  early_return = [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
      if (x[i] % 13 == 0) return;
      o[i] = x[i];
    }]],
  loaded_before = [[
    int factor = o[n];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      o[n] = o[i] = x[i] * factor;]],
  own_memory = [[
    int last[3];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
      o[i] = i < gridDim.x * blockDim.x ? 0 : last[x[i] & 1];
      last[0] = last[1] = x[i];
    }]],
  end_that_moves = [[
    int end = n;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < end; i += gridDim.x * blockDim.x)
      o[i] = x[i], end--;]],
  other_start = [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x + 1; i < n; i += gridDim.x * blockDim.x) o[i] = x[i];]],
  other_stride = [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 2 * gridDim.x * blockDim.x) o[i] = x[i];]],
  seen_by_others = [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      o[i] = atomicAdd(&o[n], 0) + x[i];]],
  counted_down = [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i > n - 64; i -= gridDim.x * blockDim.x) o[n - 1] = 1;]],
  left_at_the_end = [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i <= n; i += gridDim.x * blockDim.x) o[i] = x[i];]],
}

return { interchanged = interchanged, strip_mined = strip_mined, beside = beside, blocks = blocks }
