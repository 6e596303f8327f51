-- Kernels that are hard to run as lanes of vector registers: divergence, awkward loops, barriers beside them, local
-- memory, calls, addresses. Each is compared with a plain Lua model, in blocks of all shapes, by several tiers.
-- Lua 5.4 only: what is tested is the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local blocks = require "support.blocks"
local child = require "support.child"
local tiers = require "support.tiers"
local random = require "support.random" "stress_spec"

-- What hangs is to fail: far more than any of these takes.
local limit
setup(function() limit = mw.limit("time", 60) end)
teardown(function() mw.limit("time", limit) end)

-- A 32-bit signed number, as C's int wraps.
local function int(value)
  value = value & 0xffffffff
  return value >= 0x80000000 and value - 0x100000000 or value
end

-- C's remainder, which has the dividend's sign.
local function rem(a, b) return math.fmod(a, b) end

-- ---- kernels of one value a thread
--
-- Each of these is the body of a kernel with these names: x the thread's input, i its linear id, n the threads of its
-- block, in the block's inputs (in[i] is x), out its results, cell shared memory, `no` that is 0 for all. `result` is
-- what goes to out[i]. Beside it its model: f(x, i, n, in, out), with in[0] … in[n-1]; it returns the result, or calls
-- out(j, value).

local cases = {}

local function case(name, body, model) cases[#cases + 1] = { name = name, body = body, model = model } end

case("a barrier that nobody comes to, in a loop of different lengths", [[
  for (int k = 0; k < 2 + i % 5; k++) {
    if (no) __syncthreads();
    result += (x >> k) & 15;
  }
]], function(x, i)
  local sum = 0
  for k = 0, 1 + i % 5 do sum = sum + (x >> k & 15) end
  return sum
end)

case("a loop with a barrier that all leave before they come to it", [[
  while (true) {
    result++;
    if (x & 1) break;
    result += 10;
    if (x + no != 77) break; // which is odd
    __syncthreads();
  }
]], function(x) return x & 1 == 1 and 1 or 11 end)

case("a barrier and two ways to go on", [[
  for (int k = 0; k < 6; k++) {
    __syncthreads();
    cell[i] = k + i;
    __syncthreads();
    result += cell[(i + k) % n];
    if ((x + k) % 3 == 0) continue;
    result += 100;
    if ((x + k) % 3 == 1) continue;
    result += 1000;
  }
]], function(x, i, n)
  local sum = 0
  for k = 0, 5 do
    sum = sum + k + (i + k) % n
    local r = rem(x + k, 3)
    if r ~= 0 then sum = sum + 100 end
    if r ~= 0 and r ~= 1 then sum = sum + 1000 end
  end
  return sum
end)

case("nested loops with three barriers, two of them on conditions that all share", [[
  cell[i] = x;
  for (int a = 0; a < 3; a++) {
    for (int b = 0; b < a + 2; b++) {
      if (a == 1) __syncthreads();
      __syncthreads();
      int next = cell[(i + 1) % n];
      if (b & 1) __syncthreads();
      __syncthreads();
      cell[i] = next + a;
    }
  }
  result = cell[i];
]], function(_, i, n, block) return int(block[(i + 9) % n] + 3 * 1 + 4 * 2) end)

case("a return from within a loop, and code behind the loop", [[
  int sum = 0;
  for (int k = 0; k < 10; k++) {
    sum += x >> k;
    if ((sum & 7) == (i & 7)) {
      out[i] = sum;
      return;
    }
  }
  result = sum ^ 0x5555;
]], function(x, i)
  local sum = 0
  for k = 0, 9 do
    sum = int(sum + (x >> k | (x < 0 and k > 0 and -1 << (64 - k) or 0)))
    if sum & 7 == i & 7 then return sum end
  end
  return int(sum ~ 0x5555)
end)

case("a counter that all share, left at different times and used behind the loop", [[
  int k = 0;
  for (; k < 20; k++)
    if (((x ^ k) & 15) == (i & 15)) break;
  result = k;
]], function(x, i)
  for k = 0, 19 do
    if (x ~ k) & 15 == i & 15 then return k end
  end
  return 20
end)

case("a value from before a loop of barriers, changed by one thread in each round", [[
  int v = x * 3;
  for (int r = 0; r < 4; r++) {
    if (i == r * 7) v += 1000;
    __syncthreads();
    cell[i] = r;
    __syncthreads();
  }
  result = v + cell[n - 1 - i];
]], function(x, i) return int(x * 3 + ((i % 7 == 0 and i < 28) and 1000 or 0) + 3) end)

case("a value read from shared memory before a barrier and used behind it", [[
  cell[i] = x;
  __syncthreads();
  int before = cell[(i + 1) % n];
  __syncthreads();
  cell[i] = -1;
  __syncthreads();
  result = before + cell[(i + 1) % n];
]], function(_, i, n, block) return int(block[(i + 1) % n] - 1) end)

case("pointers that are null in some threads, or in all", [[
  const int *mine = x & 1 ? in + i : nullptr, *none = no ? in : nullptr, *left = i > 0 ? in + i - 1 : nullptr;
  if (mine) result = *mine;
  if (none) result += *none;
  if (left) result += *left;
]], function(x, i, _, block) return int((x & 1 == 1 and x or 0) + (i > 0 and block[i - 1] or 0)) end)

case("indices that are wrong in the threads that do not use them", [[
  unsigned j = i - 16u, k = i + 0xfffffff0u, m = i * 0x10001u;
  if (i >= 16) result = in[j];
  if (k < (unsigned)n) result += in[k];
  if (m < (unsigned)n) result += in[m];
  long long far = (long long)i - 5;
  if (far >= 0) result += in[far];
]], function(_, i, n, block)
  local sum = 0
  if i >= 16 then sum = 2 * block[i - 16] end
  if i * 0x10001 & 0xffffffff < n then sum = sum + block[i * 0x10001 & 0xffffffff] end
  if i >= 5 then sum = sum + block[i - 5] end
  return int(sum)
end)

case("a switch that falls through, its default in the middle", [[
  switch (x & 7) {
  case 0: result += 1;
  case 5: result += 10; break;
  default: result += 100;
  case 2:
    result += 1000;
    if (i & 1) break;
  case 3: result += 10000; return_early: break;
  case 6: result = -x; if (i & 2) goto return_early; result -= 5;
  }
]], function(x, i)
  local what = x & 7
  if what == 0 then return 11 elseif what == 5 then return 10 end
  if what == 3 then return 10000 end
  if what == 6 then return i & 2 ~= 0 and int(-x) or int(-x - 5) end
  local sum = what == 2 and 1000 or 1100
  return i & 1 == 1 and sum or sum + 10000
end)

case("a loop that is entered in two places", [[
  int k = 0;
  if (x & 1) goto middle;
top:
  result += 3;
  if (result > 60) goto end;
middle:
  result += 5 + (x >> 1 & 3);
  k++;
  if (k < 10) goto top;
end:;
]], function(x)
  local result, k, middle = 0, 0, x & 1 == 1
  while true do
    if not middle then
      result = result + 3
      if result > 60 then return result end
    end
    middle = false
    result = result + 5 + (x >> 1 & 3)
    k = k + 1
    if k >= 10 then return result end
  end
end)

case("a switch into a loop", [[
  int count = (x & 31) + 1, left = (count + 3) / 4, k = 0;
  switch (count % 4) { // Duff's device
  case 0: do { result += ++k * k;
  case 3: result += ++k * k;
  case 2: result += ++k * k;
  case 1: result += ++k * k;
    } while (--left > 0);
  }
]], function(x)
  local sum = 0
  for k = 1, (x & 31) + 1 do sum = sum + k * k end
  return sum
end)

case("values that change places in a loop", [[
  int a = i, b = x, c = 7;
  for (int k = 0; k < (x & 15); k++) {
    int t = a;
    a = b;
    b = c;
    c = t;
  }
  unsigned f = 0, g = 1;
  for (int k = 0; k < (i & 31); k++) {
    unsigned t = f + g;
    f = g;
    g = t;
  }
  result = a + 3 * b + 5 * c + (int)f;
]], function(x, i)
  local a, b, c, f, g = i, x, 7, 0, 1
  for _ = 1, x & 15 do a, b, c = b, c, a end
  for _ = 1, i & 31 do f, g = g, f + g end
  return int(a + 3 * b + 5 * c + f)
end)

case("a loop whose length nobody knows: 3n + 1", [[
  unsigned long long v = (x & 0xffff) + 1;
  while (v != 1) {
    v = v & 1 ? 3 * v + 1 : v / 2;
    result++;
  }
]], function(x)
  local v, steps = (x & 0xffff) + 1, 0
  while v ~= 1 do
    v = v & 1 == 1 and 3 * v + 1 or v // 2
    steps = steps + 1
  end
  return steps
end)

case("nested loops of different lengths, left from the inner one", [[
  int a, b = 0;
  for (a = 0; a < 12; a++) {
    for (b = 0; b < 12; b++) {
      if (a * b == (x & 63)) goto found;
      if (b > a + (i & 3)) break;
      result++;
    }
  }
found:
  result = result * 1000 + a * 20 + b;
]], function(x, i)
  local steps, a, b = 0, 0, 0
  while a < 12 do
    b = 0
    while b < 12 do
      if a * b == x & 63 then return steps * 1000 + a * 20 + b end
      if b > a + (i & 3) then break end
      steps = steps + 1
      b = b + 1
    end
    a = a + 1
  end
  return steps * 1000 + a * 20 + b
end)

case("a loop that only a return ends", [[
  for (int k = 0;; k++) {
    __syncthreads();
    cell[i] = k;
    if (k == 5 + no) {
      out[i] = k + x;
      return;
    }
  }
]], function(x) return int(x + 5) end)

case("loops of threads, and a loop of the block between them", [[
  int mine = x & 7;
  for (int r = 0; r < 3; r++) {
    for (int k = 0; k < mine; k++) result += k * r;
    cell[i] = mine;
    __syncthreads();
    mine = cell[(i + 1) % n];
    __syncthreads();
  }
]], function(_, i, n, block)
  local sum = 0
  for r = 0, 2 do
    local mine = block[(i + r) % n] & 7
    sum = sum + r * (mine * (mine - 1) // 2)
  end
  return sum
end)

case("a local array, indexed by what differs and by what does not", [[
  int a[8], uniform = no + 3;
  for (int k = 0; k < 8; k++) a[k] = x + k * k;
  a[i % 8] = -i;
  a[uniform] += 100;
  for (int k = 0; k < (i & 7); k++) a[(k + x) & 7] ^= k;
  for (int k = 0; k < 8; k++) result = result * 31 + a[k];
]], function(x, i)
  local a, result = {}, 0
  for k = 0, 7 do a[k] = int(x + k * k) end
  a[i % 8] = -i
  a[3] = int(a[3] + 100)
  for k = 0, (i & 7) - 1 do a[(k + x) & 7] = int(a[(k + x) & 7] ~ k) end
  for k = 0, 7 do result = int(result * 31 + a[k]) end
  return result
end)

case("a local array that a function is given", [[
  int a[5] = {x, i, 3, 4, 5};
  shuffle_list(a, x & 3);
  result = a[0] + 7 * a[1] + 49 * a[2] + 343 * a[3] + 2401 * a[4];
]], function(x, i)
  local a = { [0] = x, i, 3, 4, 5 }
  for _ = 0, x & 3 do a[0], a[1], a[2], a[3], a[4] = a[4], a[0], a[1], a[2], a[3] end
  return int(a[0] + 7 * a[1] + 49 * a[2] + 343 * a[3] + 2401 * a[4])
end)

case("a local array of structs with members of several types", [[
  struct { char c; double d; short s[3]; } a[4];
  for (int k = 0; k < 4; k++) {
    a[k].c = (char)(x + k);
    a[k].d = x * 0.5;
    for (int j = 0; j < 3; j++) a[k].s[j] = (short)(i * j);
  }
  a[x & 3].s[i % 3] = (short)x;
  a[i & 3].d += 2;
  for (int k = 0; k < 4; k++) result += a[k].c + (int)a[k].d + a[k].s[0] + a[k].s[1] * 3 + a[k].s[2] * 5;
]], function(x, i)
  local sum = 0
  for k = 0, 3 do
    local s = { [0] = 0, int(i) & 0xffff, i * 2 & 0xffff }
    if k == x & 3 then s[i % 3] = x & 0xffff end
    for j = 0, 2 do if s[j] >= 0x8000 then s[j] = s[j] - 0x10000 end end
    local c = x + k & 0xff
    if c >= 0x80 then c = c - 0x100 end
    local d = x * 0.5 + (k == i & 3 and 2 or 0)
    sum = sum + c + (d < 0 and math.ceil(d) or math.floor(d)) + s[0] + s[1] * 3 + s[2] * 5
  end
  return int(math.tointeger(sum))
end)

case("a local array that lives across barriers", [[
  int a[16];
  for (int k = 0; k < 16; k++) a[k] = x >> k;
  for (int r = 0; r < 4; r++) {
    cell[i] = a[(i + r) & 15];
    __syncthreads();
    a[r * 3 & 15] = cell[(i + r) % n];
    __syncthreads();
  }
  for (int k = 0; k < 16; k++) result = result * 5 + a[k];
]], "by hand")

case("many values that live across a barrier", [[
  int v[64];
#pragma unroll
  for (int k = 0; k < 64; k++) v[k] = x * (2 * k + 1);
  cell[i] = x;
  __syncthreads();
  int next = cell[(i + 1) % n];
#pragma unroll
  for (int k = 0; k < 64; k++) result ^= v[k] + next;
]], function(x, i, n, block)
  local result, nextx = 0, block[(i + 1) % n]
  for k = 0, 63 do result = result ~ (x * (2 * k + 1) + nextx) & 0xffffffff end
  return int(result)
end)

case("recursion", [[
  result = fibonacci(x & 15);
]], function(x)
  local a, b = 0, 1
  for _ = 1, x & 15 do a, b = b, a + b end
  return a
end)

case("quicksort, one a thread, by recursion", [[
  int a[12];
  unsigned state = x;
  for (int k = 0; k < 12; k++) {
    state = state * 1664525u + 1013904223u;
    a[k] = (int)(state >> 8 & 0xff);
  }
  quicksort(a, 0, 11);
  for (int k = 0; k < 12; k++) result = result * 3 + a[k];
]], function(x)
  local a, state, result = {}, x, 0
  for k = 1, 12 do
    state = state * 1664525 + 1013904223 & 0xffffffff
    a[k] = state >> 8 & 0xff
  end
  table.sort(a)
  for k = 1, 12 do result = int(result * 3 + a[k]) end
  return result
end)

case("functions by pointer", [[
  result = table_of_functions[x & 3](x, i);
]], function(x, i)
  local what = x & 3
  return int(what == 0 and x + i or what == 1 and x - i or what == 2 and x * i or i)
end)

case("virtual functions", [[
  square a;
  circle b;
  a.side = i;
  b.radius = x & 255;
  const shape *s = x & 1 ? (const shape *)&a : (const shape *)&b;
  result = s->area();
]], function(x, i) return x & 1 == 1 and i * i or 3 * (x & 255) * (x & 255) end)

case("lambdas and references", [[
  int sum = i;
  auto add = [&](int v) -> int & { sum += v; return sum; };
  for (int k = 0; k < (x & 7); k++) add(k) ^= 1;
  result = sum;
]], function(x, i)
  local sum = i
  for k = 0, (x & 7) - 1 do sum = (sum + k) ~ 1 end
  return sum
end)

case("reading backwards, with strides, by tables, the same for all", [[
  result = in[n - 1 - i] + 2 * in[i * 2 % n] + 3 * in[i * 3 % n] + 5 * in[(x & 0x7fffffff) % n] + 7 * in[n / 2];
]], function(x, i, n, block)
  return int(block[n - 1 - i] + 2 * block[i * 2 % n] + 3 * block[i * 3 % n] + 5 * block[(x & 0x7fffffff) % n]
    + 7 * block[n // 2])
end)

case("an address made in one place and used in another, where some threads are", [[
  int local[16];
  int round = 0;
  while (round++ < 16) {
    local[0] = in[0] && 0;
    if (i % 7) break;
    result = in[i & 1];
  }
]], function(_, i, _, block) return i % 7 == 0 and block[i & 1] or 0 end)

case("writing backwards", [[
  out[n - 1 - i] = x;
  return;
]], function(x, i, n, _, out) out(n - 1 - i, x) end)

case("bytes at odd addresses", [[
  char bytes[20];
  for (int k = 0; k < 20; k++) bytes[k] = (char)(x + k * 7);
  int at = i % 13, v;
  short s;
  memcpy(&v, bytes + at, sizeof v);
  memcpy(&s, bytes + at + 3, sizeof s);
  result = v ^ s;
]], function(x, i)
  local at = i % 13
  local function byte(k) return x + k * 7 & 0xff end
  local v = byte(at) | byte(at + 1) << 8 | byte(at + 2) << 16 | byte(at + 3) << 24
  local s = byte(at + 3) | byte(at + 4) << 8
  if s >= 0x8000 then s = s - 0x10000 end
  return int(v ~ s)
end)

case("narrow and wide integers", [[
  signed char c = (signed char)x;
  unsigned char u = (unsigned char)(x >> 3);
  short s = (short)(x * 3);
  unsigned short w = (unsigned short)(c - u);
  long long l = (long long)x * x + c;
  result = (int)(l >> 16) ^ (c * u) ^ (s << 3) ^ w ^ (x > 0 ? (int)((unsigned)x >> 5) : x >> 5);
]], function(x)
  local function signed(v, bits) return (v & (1 << bits) - 1 ~ 1 << bits - 1) - (1 << bits - 1) end
  local c, u, s = signed(x, 8), x >> 3 & 0xff, signed(x * 3, 16)
  local w, l = c - u & 0xffff, x * x + c
  return int((l >> 16) ~ (c * u) ~ (s << 3) ~ w ~ (x // 32))
end)

case("conditions of conditions", [[
  bool a = x & 1, b = x & 2, c = i & 4;
  if (a && (b || c) && !(a && b && c)) result = 1;
  if ((a ? b : c) != (b && !c)) result += 2;
  result += (a ? (b ? 10 : c ? 20 : 30) : (c ? 40 : 50));
]], function(x, i)
  local a, b, c = x & 1 ~= 0, x & 2 ~= 0, i & 4 ~= 0
  local result = 0
  if a and (b or c) and not (a and b and c) then result = 1 end
  local choice
  if a then choice = b else choice = c end
  if choice ~= (b and not c) then result = result + 2 end
  return result + (a and (b and 10 or c and 20 or 30) or (c and 40 or 50))
end)

case("a search of each thread's own in what all wrote", [[
  cell[i] = i * 3 + (x & 1);
  __syncthreads();
  int low = 0, high = n, wanted = (x & 0xffff) % (3 * n);
  while (low < high) {
    int middle = (low + high) / 2;
    if (cell[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  result = low;
]], function(x, _, n, block)
  local wanted, low, high = (x & 0xffff) % (3 * n), 0, n
  while low < high do
    local middle = (low + high) // 2
    if middle * 3 + (block[middle] & 1) < wanted then low = middle + 1 else high = middle end
  end
  return low
end)

local preamble = [==[
__device__ int linear() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
__device__ int threads() { return blockDim.x * blockDim.y * blockDim.z; }
__device__ __noinline__ void shuffle_list(int *a, int times) {
  for (int k = 0; k <= times; k++) {
    int last = a[4];
    for (int j = 4; j > 0; j--) a[j] = a[j - 1];
    a[0] = last;
  }
}
__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ void quicksort(int *a, int first, int last) {
  int pivot = a[(first + last) / 2], i = first, j = last;
  while (i <= j) {
    while (a[i] < pivot) i++;
    while (a[j] > pivot) j--;
    if (i <= j) {
      int t = a[i];
      a[i++] = a[j];
      a[j--] = t;
    }
  }
  if (first < j) quicksort(a, first, j);
  if (i < last) quicksort(a, i, last);
}
typedef int binary(int, int);
__device__ int plus(int a, int b) { return a + b; }
__device__ int minus(int a, int b) { return a - b; }
__device__ int times(int a, int b) { return a * b; }
__device__ int second(int, int b) { return b; }
__device__ binary *const table_of_functions[4] = {plus, minus, times, second};
struct shape { __device__ virtual int area() const = 0; };
struct square : shape { int side; __device__ int area() const { return side * side; } };
struct circle : shape { int radius; __device__ int area() const { return 3 * radius * radius; } };
]==]

local kernel_text = [==[
__global__ void case_%d(const int *in, int *out, int no) {
  __shared__ int cell[1024];
  int i = linear(), n = threads(), result = 0;
  in += blockIdx.x * n;
  out += blockIdx.x * n;
  int x = in[i];
  cell[i] = 0;
%s
  out[i] = result;
}
]==]

-- The one model that needs all threads of the block side by side.
local function local_array_across_barriers(input, n)
  local lists, out = {}, {}
  for i = 0, n - 1 do
    lists[i] = {}
    for k = 0, 15 do lists[i][k] = input[i] // (1 << k) end
  end
  for r = 0, 3 do
    local cell = {}
    for i = 0, n - 1 do cell[i] = lists[i][(i + r) & 15] end
    for i = 0, n - 1 do lists[i][r * 3 & 15] = cell[(i + r) % n] end
  end
  for i = 0, n - 1 do
    out[i] = 0
    for k = 0, 15 do out[i] = int(out[i] * 5 + lists[i][k]) end
  end
  return out
end

local function expected(model, input, n)
  if model == "by hand" then return local_array_across_barriers(input, n) end
  local out = {}
  local function set(j, value) out[j] = value end
  for i = 0, n - 1 do
    local value = model(input[i], i, n, input, set)
    if value then out[i] = value end
  end
  return out
end

local function check(kernel, model, block, grid)
  local n, inputs, list = block.threads, {}, {}
  for b = 0, grid - 1 do
    inputs[b] = {}
    for i = 0, n - 1 do
      inputs[b][i] = random(4) == 1 and random(-20, 20) or int(random(0, 0xffffffff))
      list[#list + 1] = inputs[b][i]
    end
  end
  local array = mw.zeros(grid * n, "int")
  kernel(grid, block.size)(mw.array(list, "int"), array, 0)
  local got = array:totable()
  for b = 0, grid - 1 do
    local wanted = expected(model, inputs[b], n)
    for i = 0, n - 1 do
      if wanted[i] ~= got[b * n + i + 1] then
        error(("%s, block %d, thread %d of input %d: %d, not %d"):format(block, b, i, inputs[b][i], got[b * n + i + 1],
          wanted[i]), 0)
      end
    end
  end
end

for _, tier in ipairs(tiers) do
  describe("a kernel with one value a thread, " .. tier.name .. ":", function()
    -- A few to a module, so that they are compiled side by side and a defect names few.
    local modules = {}
    local function module_of(index)
      local first = (index - 1) // 12 * 12 + 1
      if not modules[first] then
        local parts = { preamble }
        for i = first, math.min(first + 11, #cases) do parts[#parts + 1] = kernel_text:format(i, cases[i].body) end
        modules[first] = mw.compile { source = table.concat(parts), options = tier.options }
      end
      return modules[first]
    end

    for index, c in ipairs(cases) do
      it(c.name, function()
        local kernel = module_of(index)["case_" .. index]
        for _, block in ipairs(blocks) do check(kernel, c.model, block, 3) end
      end)
    end
  end)
end

-- ---- kernels with more to them

local others = [==[
__device__ int linear() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
__device__ int threads() { return blockDim.x * blockDim.y * blockDim.z; }

// ---- atomics

__global__ void tickets(int *counter, int *mine, int *bins) {
  __shared__ int shared_counter, shared_bins[7];
  int i = linear(), at = blockIdx.x * threads() + i;
  if (i == 0) shared_counter = 0;
  if (i < 7) shared_bins[i] = 0;
  __syncthreads();
  int inside = atomicAdd(&shared_counter, 1);
  atomicAdd(&shared_bins[i % 7], i);
  if (i % 3 == 0) atomicMax(&bins[7], at);
  mine[2 * at] = atomicAdd(counter, 1);
  mine[2 * at + 1] = inside;
  __syncthreads();
  if (i < 7) atomicAdd(&bins[i], shared_bins[i]);
}

// A lock that threads of one block and of others take turns with; no thread waits while another holds it.
__global__ void try_lock(int *lock, int *total) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      *(volatile int *)total = *(volatile int *)total + 1;
      __threadfence();
      done = true;
      atomicExch(lock, 0);
    }
  }
}

// ---- blocks that wait for blocks before them

// Sums of all elements up to each: a block looks back at the sums of those before it.
__global__ void scan_looking_back(const int *in, int *out, volatile int *state, volatile int *sums, int n) {
  __shared__ int cell[256];
  __shared__ int before;
  int i = threadIdx.x, at = blockIdx.x * 256 + i, value = at < n ? in[at] : 0;
  cell[i] = value;
  for (int step = 1; step < 256; step *= 2) {
    __syncthreads();
    int left = i >= step ? cell[i - step] : 0;
    __syncthreads();
    cell[i] += left;
  }
  __syncthreads();
  if (i == 0) {
    sums[2 * blockIdx.x] = cell[255];
    __threadfence();
    state[blockIdx.x] = 1; // its own sum is there
    int sum = 0;
    for (int b = (int)blockIdx.x - 1; b >= 0; b--) {
      int known;
      while ((known = state[b]) == 0) {}
      __threadfence();
      sum += sums[2 * b + known - 1];
      if (known == 2) break;
    }
    sums[2 * blockIdx.x + 1] = sum + cell[255];
    __threadfence();
    state[blockIdx.x] = 2; // and that of all before it
    before = sum;
  }
  __syncthreads();
  if (at < n) out[at] = before + cell[i];
}

// ---- memory

struct odd { char c; double d; };
struct __align__(4) triple { unsigned char r, g, b; };
__global__ void structs(odd *a, const float4 *b, float3 *c, triple *t) {
  int at = blockIdx.x * threads() + linear();
  odd v = a[at];
  v.d *= 2;
  v.c++;
  a[at] = v;
  float4 f = b[at];
  c[at] = make_float3(f.w + f.x, f.y * f.z, f.x);
  t[at].g = (unsigned char)(t[at].r + t[at].b);
}

__global__ void stride_three(const int *in, int *out) {
  int at = blockIdx.x * threads() + linear();
  out[3 * at + 2] = in[3 * at];
  out[3 * at] = in[3 * at + 1];
  out[3 * at + 1] = in[3 * at + 2];
}

__global__ void in_place(int *a, int *b, const int *c) {
  int at = blockIdx.x * threads() + linear();
  a[at] += 1;
  b[at] *= 3;
  a[at] += c[at];
  b[at] ^= a[at];
}

__global__ void shift_by_one_thread(int *to, const int *from, int n) {
  if (blockIdx.x == 0 && linear() == 0)
    for (int k = 0; k < n; k++) to[k] = from[k] + 1;
}

__global__ void shift_up(int *a, int by, int n) {
  int *to = a + by;
  if (linear() == 0)
    for (int k = 0; k < n; k++) to[k] = a[k] + 1;
}

__global__ void far_apart(unsigned char *a, size_t distance, int negative) {
  int i = linear();
  unsigned char *far = a + distance;
  far[i] = (unsigned char)i;
  far[i + (long long)negative * 1000] = (unsigned char)(i + 1);
  if (i < 8) a[i * (distance / 8)] = 77;
}

__global__ void shared_of_two_types(float *out, int floats) {
  extern __shared__ double doubles[];
  float *singles = (float *)doubles;
  int i = linear(), n = threads();
  doubles[i] = i * 1.5;
  __syncthreads();
  double mine = doubles[n - 1 - i];
  __syncthreads();
  if (i < floats) singles[i] = (float)mine;
  __syncthreads();
  out[i] = i < floats ? singles[floats - 1 - i] : 0;
}

// ---- floating point

__global__ void numbers(const float *a, const float *b, float *out) {
  int i = linear(), n = threads();
  float x = a[i], y = b[i];
  out[i] = fminf(x, y);
  out[n + i] = fmaxf(x, y);
  out[2 * n + i] = x < y ? 1 : x == y ? 2 : x != y ? 3 : 4;
  out[3 * n + i] = x + y;
  out[4 * n + i] = copysignf(1, x * 0.0f);
  out[5 * n + i] = isnan(x) ? 1 : isinf(y) ? 2 : 3;
  out[6 * n + i] = x * 0.5f;
}

__global__ void mandelbrot(int *out, int width, int height, int most) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column >= width || row >= height) return;
  // In whole numbers of 1/4096, so that no rounding is in it.
  int cx = column * 3 * 4096 / width - 2 * 4096, cy = row * 2 * 4096 / height - 4096, x = 0, y = 0, k = 0;
  while (k < most && (long long)x * x + (long long)y * y < 4ll * 4096 * 4096) {
    int t = (int)(((long long)x * x - (long long)y * y) >> 12) + cx;
    y = (int)((long long)x * y >> 11) + cy;
    x = t;
    k++;
  }
  out[row * width + column] = k;
}

// Breadth first: each round reaches the neighbours of what was reached; all go on while any thread found something.
__global__ void distances(const int *first, const int *next, int *distance, int nodes) {
  int found;
  for (int round = 0;; round++) {
    found = 0;
    for (int v = threadIdx.x; v < nodes; v += blockDim.x) {
      if (distance[v] != round) continue;
      for (int e = first[v]; e < first[v + 1]; e++)
        if (atomicCAS(&distance[next[e]], -1, round + 1) == -1) found = 1;
    }
    if (!__syncthreads_or(found)) break;
  }
}
]==]

local function check_equal(wanted, got, what)
  assert.equal(#wanted, #got, what)
  for i = 1, #wanted do
    if wanted[i] ~= got[i] then
      error(("%s: element %d is %s, not %s"):format(what, i, tostring(got[i]), tostring(wanted[i])), 2)
    end
  end
end

for _, tier in ipairs(tiers) do
  describe("a kernel, " .. tier.name .. ",", function()
    local m = mw.compile { source = others, options = tier.options }

    it("that draws tickets gives each number once", function()
      for _, block in ipairs(blocks) do
        local n, grid = block.threads, 4
        local counter, mine, bins = mw.zeros(1, "int"), mw.zeros(2 * n * grid, "int"), mw.zeros(8, "int")
        m.tickets(grid, block.size)(counter, mine, bins)
        local drawn, inside, list = {}, {}, mine:totable()
        for i = 1, #list, 2 do
          drawn[#drawn + 1] = list[i]
          inside[#inside + 1] = list[i + 1]
        end
        table.sort(drawn)
        for i = 1, n * grid do assert.equal(i - 1, drawn[i]) end
        for b = 0, grid - 1 do
          local part = table.move(inside, b * n + 1, b * n + n, 1, {})
          table.sort(part)
          for i = 1, n do assert.equal(i - 1, part[i]) end
        end
        local wanted = { 0, 0, 0, 0, 0, 0, 0, (grid - 1) * n + (n - 1) // 3 * 3 }
        for i = 0, n - 1 do wanted[i % 7 + 1] = wanted[i % 7 + 1] + grid * i end
        -- Of block shapes with less than seven threads, only as many bins are handed on.
        for i = n + 1, 7 do wanted[i] = 0 end
        check_equal(wanted, bins:totable(), tostring(block))
      end
    end)

    it("whose threads take turns with a lock comes to its end", function()
      for _, block in ipairs(blocks) do
        local lock, total = mw.zeros(1, "int"), mw.zeros(1, "int")
        m.try_lock(5, block.size)(lock, total)
        assert.equal(5 * block.threads, total[1])
      end
    end)

    it("whose blocks wait for those before them comes to its end", function()
      for _, n in ipairs { 1, 256, 1000, 50000 } do
        local list, wanted, sum = {}, {}, 0
        for i = 1, n do
          list[i] = random(-100, 100)
          sum = sum + list[i]
          wanted[i] = sum
        end
        local grid, out = mw.cdiv(n, 256), mw.zeros(n, "int")
        m.scan_looking_back(grid, 256)(mw.array(list, "int"), out, mw.zeros(grid, "int"), mw.zeros(2 * grid, "int"), n)
        check_equal(wanted, out:totable(), n .. " elements")
      end
    end)

    it("that reads and writes structs keeps their members apart", function()
      for _, block in ipairs(blocks) do
        local n = 2 * block.threads
        local a, b, t = {}, {}, {}
        for i = 1, n do
          a[i] = string.pack("<i1xxxxxxxd", i % 100, i * 0.5)
          b[i] = { i, i + 1, i + 2, i + 3 }
          t[i] = string.pack("BBBB", i % 90, 5, i % 70, 200)
        end
        local odd = mw.from_bytes(table.concat(a), "char"):as(m:dtype "odd")
        local triple = mw.from_bytes(table.concat(t), "char"):as(m:dtype "triple")
        local c = mw.zeros(n, "float3")
        m.structs(2, block.size)(odd, mw.array(b, "float4"), c, triple)
        local odd_bytes, triple_bytes, list = odd:bytes(), triple:bytes(), c:totable()
        for i = 1, n do
          local char, double = string.unpack("<i1xxxxxxxd", odd_bytes, 16 * i - 15)
          assert.equal(i % 100 + 1, char)
          assert.equal(i, double)
          assert.equal(2 * i + 3, list[i][1])
          assert.equal((i + 1) * (i + 2), list[i][2])
          assert.equal(i, list[i][3])
          local r, g, blue, rest = triple_bytes:byte(4 * i - 3, 4 * i)
          assert.same({ i % 90, i % 90 + i % 70, i % 70, 200 }, { r, g, blue, rest })
        end
      end
    end)

    it("that goes through memory in threes misses nothing", function()
      for _, block in ipairs(blocks) do
        local n = 2 * block.threads
        local list, wanted = {}, {}
        for i = 1, 3 * n do list[i] = random(0, 1 << 30) end
        for i = 0, n - 1 do
          wanted[3 * i + 1], wanted[3 * i + 2], wanted[3 * i + 3] = list[3 * i + 2], list[3 * i + 3], list[3 * i + 1]
        end
        local out = mw.zeros(3 * n, "int")
        m.stride_three(2, block.size)(mw.array(list, "int"), out)
        check_equal(wanted, out:totable(), tostring(block))
      end
    end)

    it("whose arguments are the same memory sees its own writes", function()
      for _, block in ipairs(blocks) do
        local n = 2 * block.threads
        local list, wanted = {}, {}
        for i = 1, n do
          list[i] = random(-1000, 1000)
          local v = (list[i] + 1) * 3
          v = v + v
          wanted[i] = v ~ v
        end
        local a = mw.array(list, "int")
        m.in_place(2, block.size)(a, a, a)
        check_equal(wanted, a:totable(), tostring(block))
        local b, c = mw.array(list, "int"), mw.array(list, "int")
        m.in_place(2, block.size)(b, c, c)
        for i = 1, n do wanted[i] = list[i] * 3 ~ list[i] + 1 + list[i] * 3 end
        check_equal(wanted, c:totable(), tostring(block))
      end
      -- Overlapping by one element: each is read after the one before it was written.
      local bytes = {}
      for i = 0, 99 do bytes[i + 1] = string.pack("<i4", i == 0 and 5 or -9) end
      local whole = mw.from_bytes(table.concat(bytes), "int")
      m.shift_up(1, 32)(whole, 1, 99)
      for i = 0, 99 do assert.equal(5 + i, whole[i + 1]) end
      m.shift_by_one_thread(1, 32)(whole, whole, 100)
      for i = 0, 99 do assert.equal(6 + i, whole[i + 1]) end
    end)

    it("that reaches beyond 4 GiB reaches where it means to", function()
      local distance = 5 * 2 ^ 30 // 1 | 0
      if mw.memory().total < 8 * 2 ^ 30 then return pending "there is not enough memory" end
      for _, block in ipairs(blocks) do
        local a <close> = mw.empty(distance + 2048, "uchar")
        local n = block.threads
        m.far_apart(1, block.size)(a, distance, -2000)
        for i = 0, n - 1, 1 + n // 7 do
          assert.equal(i & 255, a[distance + i + 1])
          assert.equal(i + 1 & 255, a[distance + i - 2000000 + 1])
        end
        for i = 0, math.min(n, 8) - 1 do assert.equal(77, a[i * (distance // 8) + 1]) end
      end
    end)

    it("that uses one piece of shared memory for two types keeps them in order", function()
      for _, block in ipairs(blocks) do
        local n = block.threads
        local floats, wanted = n // 2, {}
        for i = 0, n - 1 do wanted[i + 1] = i < floats and (n - 1 - (floats - 1 - i)) * 1.5 or 0 end
        local out = mw.zeros(n)
        m.shared_of_two_types(1, block.size, 8 * n)(out, floats)
        check_equal(wanted, out:totable(), tostring(block))
      end
    end)

    it("that computes with odd numbers follows IEEE 754", function()
      local nan, inf, tiny = 0 / 0, math.huge, 2.0 ^ -149
      local values = { nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, tiny, -tiny, 2.0 ^ -126, 1.75 * 2.0 ^ 126 }
      local a, b = {}, {}
      for _, x in ipairs(values) do
        for _, y in ipairs(values) do a[#a + 1], b[#b + 1] = x, y end
      end
      local n = #a
      local out = mw.zeros(7 * n)
      m.numbers(1, n)(mw.array(a), mw.array(b), out)
      local list = out:totable()
      -- As text: NaN is not equal to itself, and 0 is to -0.
      local function text_of(v) return v ~= v and "nan" or ("%a"):format(v) end
      local single = mw.zeros(1)
      local function round(v)
        single[1] = v
        return single[1]
      end
      for i = 1, n do
        local x, y = a[i], b[i]
        if x == y or x ~= x or y ~= y then
          if not (x == 0 and y == 0) then
            assert.equal(text_of(x == x and x or y), text_of(list[i]))
            assert.equal(text_of(x == x and x or y), text_of(list[n + i]))
          end
        else
          assert.equal(math.min(x, y), list[i])
          assert.equal(math.max(x, y), list[n + i])
        end
        assert.equal(x < y and 1 or x == y and 2 or 3, list[2 * n + i])
        assert.equal(text_of(round(x + y)), text_of(list[3 * n + i]))
        if x == x and x ~= inf and x ~= -inf then
          assert.equal(1 / (x * 0.0) > 0 and 1 or -1, list[4 * n + i])
        end
        assert.equal(x ~= x and 1 or (y == inf or y == -inf) and 2 or 3, list[5 * n + i])
        assert.equal(text_of(round(x * 0.5)), text_of(list[6 * n + i]))
      end
    end)

    it("whose threads go round as often as they please agrees with a loop", function()
      local width, height, most = 70, 37, 60
      local wanted = {}
      for row = 0, height - 1 do
        for column = 0, width - 1 do
          local cx, cy = column * 3 * 4096 // width - 2 * 4096, row * 2 * 4096 // height - 4096
          local x, y, k = 0, 0, 0
          while k < most and x * x + y * y < 4 * 4096 * 4096 do
            x, y = ((x * x - y * y) // 4096) + cx, (x * y // 2048) + cy
            k = k + 1
          end
          wanted[row * width + column + 1] = k
        end
      end
      for _, block in ipairs { { 16, 16 }, { 32, 1 }, { 7, 5 }, { 1, 64 } } do
        local out = mw.zeros(width * height, "int")
        m.mandelbrot({ mw.cdiv(width, block[1]), mw.cdiv(height, block[2]) }, block)(out, width, height, most)
        check_equal(wanted, out:totable(), table.concat(block, "x"))
      end
    end)

    it("that goes on while any thread finds something finds all", function()
      for _, threads in ipairs { 1, 31, 96, 1024 } do
        local nodes, edges = 300, {}
        local first, next_node = {}, {}
        for v = 1, nodes do
          edges[v] = {}
          for e = 1, random(0, 3) do edges[v][e] = random(1, nodes) end
        end
        for v = 1, nodes do
          first[v] = #next_node
          for _, to in ipairs(edges[v]) do next_node[#next_node + 1] = to - 1 end
        end
        first[nodes + 1] = #next_node
        local wanted, reached = {}, { 1 }
        for v = 1, nodes do wanted[v] = -1 end
        wanted[1] = 0
        while #reached > 0 do
          local v = table.remove(reached, 1)
          for _, to in ipairs(edges[v]) do
            if wanted[to] == -1 then
              wanted[to] = wanted[v] + 1
              reached[#reached + 1] = to
            end
          end
        end
        local distance = mw.full(nodes, -1, "int")
        distance[1] = 0
        if #next_node == 0 then next_node[1] = 0 end
        m.distances(1, threads)(mw.array(first, "int"), mw.array(next_node, "int"), distance, nodes)
        check_equal(wanted, distance:totable(), threads .. " threads")
      end
    end)

    it("of hundreds of branches and twenty barriers compiles and is right", function()
      local lines = { preamble, "__global__ void huge(const int *in, int *out) {", "__shared__ int cell[1024];",
        "int i = linear(), n = threads(); unsigned v = in[i];" }
      for k = 0, 199 do
        lines[#lines + 1] = ("if (v >> %d & 1) v = v * %du + i; else v ^= %du;"):format(k % 32, 2 * k + 3, k * 977)
        if k % 10 == 9 then
          lines[#lines + 1] = "__syncthreads(); cell[i] = v; __syncthreads(); v += cell[(i + 1) % n];"
        end
      end
      lines[#lines + 1] = "out[i] = v; }"
      local huge = mw.compile { source = table.concat(lines, "\n"), options = tier.options }
      for _, block in ipairs(blocks) do
        local n, list, v = block.threads, {}, {}
        for i = 0, n - 1 do
          v[i] = random(0, 0xffffffff)
          list[i + 1] = int(v[i])
        end
        for k = 0, 199 do
          for i = 0, n - 1 do
            if v[i] >> k % 32 & 1 == 1 then
              v[i] = v[i] * (2 * k + 3) + i & 0xffffffff
            else
              v[i] = v[i] ~ k * 977
            end
          end
          if k % 10 == 9 then
            local cell = table.move(v, 0, n - 1, 0, {})
            for i = 0, n - 1 do v[i] = v[i] + cell[(i + 1) % n] & 0xffffffff end
          end
        end
        local out, wanted = mw.zeros(n, "int"), {}
        huge.huge(1, block.size)(mw.array(list, "int"), out)
        for i = 0, n - 1 do wanted[i + 1] = int(v[i]) end
        check_equal(wanted, out:totable(), tostring(block))
      end
    end)

    it("with large local arrays has room for them", function()
      local large = mw.compile {
        source = [[
          template <int N> __device__ int fill(int x) {
            int a[N];
            for (int k = 0; k < N; k++) a[k] = k * x;
            for (int k = 0; k < N; k += 7) a[(k * 31 + x) % N] += k;
            int sum = 0;
            for (int k = 0; k < N; k++) sum ^= a[k];
            return sum;
          }
          __global__ void kilobytes_4(int *p) { p[threadIdx.x] = fill<1000>(threadIdx.x); }
          __global__ void kilobytes_32(int *p) { p[threadIdx.x] = fill<8000>(threadIdx.x); }
          __global__ void kilobytes_32_and_barrier(int *p) {
            int value = fill<8000>(threadIdx.x);
            __syncthreads();
            p[blockDim.x - 1 - threadIdx.x] = value;
          }
        ]],
        options = tier.options,
      }
      local function fill(n, x)
        local a, sum = {}, 0
        for k = 0, n - 1 do a[k] = k * x end
        for k = 0, n - 1, 7 do
          local at = (k * 31 + x) % n
          a[at] = a[at] + k
        end
        for k = 0, n - 1 do sum = sum ~ a[k] end
        return int(sum)
      end
      for _, n in ipairs { 1, 33, 64 } do
        for name, size in pairs { kilobytes_4 = 1000, kilobytes_32 = 8000, kilobytes_32_and_barrier = 8000 } do
          local wanted, p = {}, mw.zeros(n, "int")
          for i = 0, n - 1 do
            local at = name:find "barrier" and n - 1 - i or i
            wanted[at + 1] = fill(size, i)
          end
          large[name](1, n)(p)
          check_equal(wanted, p:totable(), name)
        end
      end
    end)

    it("that prints in a loop of many lengths prints each line once", function()
      local result = child({
        [[
          local mw = require "moonwarp"
          local option = ...
          local m = mw.compile {
            source = [=[
              __global__ void print() {
                int i = threadIdx.x;
                for (int k = 0; k < i % 4; k++) {
                  if (k == 1) continue;
                  printf("block %d thread %d round %d: %s %.1f\n", blockIdx.x, i, k, i & 1 ? "odd" : "even", k * 0.5);
                }
              }
            ]=],
            options = option ~= "" and { option } or nil,
          }
          m.print(2, 70)()
          mw.synchronize()
        ]], tier.options and tier.options[1] or "",
      })
      assert.is_true(result.ok, result.output)
      local seen, count = {}, 0
      for line in result.output:gmatch "[^\n]+" do
        assert.is_nil(seen[line], line)
        seen[line] = true
        count = count + 1
      end
      local wanted = 0
      for b = 0, 1 do
        for i = 0, 69 do
          for k = 0, i % 4 - 1 do
            if k ~= 1 then
              local line = ("block %d thread %d round %d: %s %.1f"):format(b, i, k, i & 1 == 1 and "odd" or "even",
                k * 0.5)
              assert.is_true(seen[line], line)
              wanted = wanted + 1
            end
          end
        end
      end
      assert.equal(wanted, count)
    end)
  end)
end
