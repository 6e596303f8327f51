-- Grid-stride loops: interchange with the loop over blocks, strip-mining for loops that carry sums, and loops for which
-- neither is correct.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

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

local parameters = "(int n, unsigned un, long long ln, const int *x, int *o)"

local function source_of(list)
  local text = {}
  for name, body in pairs(list) do
    text[#text + 1] = ("__global__ void %s%s {%s\n}\n"):format(name, parameters, body)
  end
  table.sort(text)
  return table.concat(text)
end

local function report_of(list, name)
  local report = mwcc.run(source_of(list), ("--verify --report --launch=_Z%d%sijxPKiPi:64x1x1"):format(#name, name))
  assert(report:find(("kernel %s: simd"):format(name), 1, true), report)
  return report
end

-- How the loop is transformed: "interchanged", "strip-mined", or nil.
local function transformation_of(list, name)
  local report = report_of(list, name)
  return report:match "grid%-stride loop: (interchanged)" or report:match "grid%-stride loop: (strip%-mined)"
end

local shapes = { { 1, 1 }, { 3, 31 }, { 70, 64 }, { 7, 256 }, { 3, 1000 }, { 4, 16, 4 }, { 9, 16, 64 }, { 5, 1, 256 } }
local lengths = { 0, 1, 30, 257, 4096, 10007 }

-- Loops whose result depends on the order of threads are only compiled. In blocks of several rows, several threads have
-- the same element, so that only bodies that always store the same value have a known result.
local races = { loaded_before = true, counted_down = true }
-- (Nor sums of products, which may be rounded once or twice: once for all rows is twice.)
local same = { sum = true, unsigned_count = true, long_count = true, by_thread = true, pointer = true,
  count_behind = true, last_value = true, tree = true, adds = true }
local function is_known(list, name, shape)
  local each = name == "next_too" or list == strip_mined and same[name] or list == beside and name ~= "table"
  return not races[name] and (not shape[3] or each)
end

-- o after a launch with blocks of shape[2] (by shape[3]) threads.
local function run(m, name, shape, n)
  local values = {}
  for i = 1, n + 64 do values[i] = i * 7919 % 1009 - 300 end
  local x = mw.array(values, "int")
  local o = mw.array(values, "int")
  m[name](shape[1], { shape[2], shape[3] or 1 })(n, n, n, x, o)
  return o:totable()
end

describe("a grid-stride loop", function()
  local before
  setup(function() before = mw.limit "specialise" end)
  teardown(function() mw.limit("specialise", before) end)

  it("is interchanged with the loop over blocks", function()
    for name in pairs(interchanged) do assert.equal("interchanged", transformation_of(interchanged, name), name) end
  end)

  it("is strip-mined if threads have loop-carried values", function()
    for name in pairs(strip_mined) do assert.equal("strip-mined", transformation_of(strip_mined, name), name) end
    for name in pairs(beside) do assert.matches("privatised shared memory", report_of(beside, name), 1, true) end
  end)

  it("is not transformed if it has barriers, much state, or other exits", function()
    for name in pairs(blocks) do assert.is_nil(transformation_of(blocks, name), name) end
  end)

  it("has its atomic additions privatised, unless its blocks observe them", function()
    local added = { shared_by_threads = true, added_as_64_bits = true, sum_and_counts = true, needed_behind = true }
    for name in pairs(beside) do
      assert.equal(added[name] or false, report_of(beside, name):find "privatised atomic" ~= nil, name)
    end
  end)

  it("may have a counter of 128 bits, in the loop tier", function()
    local body = [[
      for (__int128 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) o[i] = x[i];]]
    local report = mwcc.run(source_of { wide_count = body }, "--verify --report --launch=_Z10wide_countijxPKiPi:64x1x1")
    assert.matches("it is not vectorised", report, 1, true)
  end)

  for key, list in pairs { interchanged = interchanged, strip_mined = strip_mined, beside = beside, blocks = blocks } do
    it("has the same results as in the loop tier: " .. key, function()
      local source = source_of(list)
      local one_by_one = mw.compile { source = source, options = { "--width=1" } }
      local m = mw.compile(source)
      for name in pairs(list) do
        for _, shape in ipairs(shapes) do
          for _, n in ipairs(lengths) do
            if is_known(list, name, shape) then
              mw.limit("specialise", 1e15)
              local want = run(one_by_one, name, shape, n)
              mw.limit("specialise", 1)
              local got = run(m, name, shape, n)
              for i = 1, #want do
                if want[i] ~= got[i] then
                  error(("%s: %d, not %d, at %d of %d, %d blocks of %d"):format(name, got[i], want[i], i, n, shape[1],
                    shape[2]))
                end
              end
            end
          end
        end
      end
    end)
  end

  it("has non-temporal stores as other kernels", function()
    local text = mwcc.ir(source_of { copy = interchanged.usual:gsub("%+= 3 %*", "=") }, "_Z4copyijxPKiPi:256x1x1")
    assert(mwcc.count(text, "!nontemporal") > 0, text)
  end)

  it("reports an invalid address of privatised additions, without the block", function()
    local source = [[
      __global__ void add(int n, const int *x, int *o) {
        int sum = 0;
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
        if (threadIdx.x < n - 4999) atomicAdd(&o[threadIdx.x >> 5], sum); // one thread, to NULL
      }]]
    local x, line = mw.zeros(5000, "int"), nil
    for _, enough in ipairs { 1, 1e15 } do
      mw.limit("specialise", enough)
      local ok, failure = pcall(function()
        mw.compile(source).add(12, 64)(5000, x, nil)
        mw.synchronize()
      end)
      assert.is_false(ok)
      assert.equal("cudaErrorIllegalAddress", failure.code)
      assert.matches("a null pointer", failure.message, 1, true)
      line = line or failure.line
      assert.equal(line, failure.line)
      assert.equal(enough == 1, failure.block == nil)
      mw.device "cpu":reset()
      x = mw.zeros(5000, "int")
    end
  end)

  it("ends if a kernel fails, and the next launch works", function()
    mw.limit("specialise", 1)
    local m = mw.compile [[
      __global__ void fill(int n, int *o) {
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) o[i] = i;
      }]]
    local o = mw.zeros(5000, "int")
    local ok, failure = pcall(function()
      m.fill(2, 64)(2 ^ 31 - 1, o)
      mw.synchronize()
    end)
    assert.is_false(ok)
    assert.equal("cudaErrorIllegalAddress", failure.code)
    mw.device "cpu":reset()
    o = mw.zeros(5000, "int")
    m = mw.compile "__global__ void one(int *o) { o[threadIdx.x] = 1; }"
    m.one(1, 32)(o)
    assert.equal(1, o[32])
  end)
end)
