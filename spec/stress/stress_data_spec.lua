-- Kernels whose data are hard to hold in lanes of vector registers: addresses, local memory, calls, narrow types. Each
-- is compared with a plain Lua model, in blocks of all shapes, by several tiers.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local blocks = require "support.blocks"
local thread_cases = require "support.models.thread_cases"
local tiers = require "support.tiers"
require "support.random" "stress_data_spec"

require "support.time_limit" (setup, teardown)

local int = thread_cases.int

local cases, case = thread_cases.list()

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
]], { block = local_array_across_barriers })

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

local preamble = [==[
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

for _, tier in ipairs(tiers) do
  describe("a kernel with one value a thread, " .. tier.name .. ":", function()
    local kernel = thread_cases.compile(cases, preamble, tier.options)
    for index, c in ipairs(cases) do
      it(c.name, function()
        for _, block in ipairs(blocks) do thread_cases.check(kernel(index), c.model, block, 3) end
      end)
    end
  end)
end
