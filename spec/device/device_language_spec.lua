-- C++ in kernels, construct by construct: everything but arithmetic has the meaning that it has on a host. Every kernel
-- writes one number per thread, which is compared with a model in Lua, on all tiers.
-- Lua 5.4 only: this tests the compiler.

local mw = require "moonwarp"
local suite = require "support.suite"
local tiers = require "support.tiers"

local function s32(x) return ((x & 0xffffffff) ~ 0x80000000) - 0x80000000 end
local function s8(x) return ((x & 255) ~ 128) - 128 end
local function bits(x) return string.unpack("<I4", string.pack("<f", x)) end

-- name of the kernel, what it is about, its text, what thread i writes
local kernels = {}
local function kernel(name, says, source, model)
  kernels[#kernels + 1] = { name = name, says = says, source = source, model = model }
end

kernel("virtuals", "virtual functions, pure ones among them", [[
struct Op { __device__ virtual int apply(int x) const = 0; __device__ virtual ~Op() {} int weight = 3; };
struct Twice : Op { __device__ int apply(int x) const override { return 2 * x + weight; } };
struct Square : Op {
  int bias;
  __device__ Square(int b) : bias(b) {}
  __device__ int apply(int x) const override { return x * x + bias; }
};
struct Both : Twice { __device__ int apply(int x) const override { return Twice::apply(x) - 1; } };
__global__ void virtuals(int *out) {
  int i = threadIdx.x;
  Twice a; Square b(i); Both c;
  const Op *ops[3] = {&a, &b, &c};
  out[i] = ops[i % 3]->apply(i);
}]], function(i) return i % 3 == 0 and 2 * i + 3 or i % 3 == 1 and i * i + i or 2 * i + 2 end)

kernel("placed", "objects placed in local memory and the heap, and their destructors", [[
__device__ int alive;
struct Counted {
  int v;
  __device__ Counted(int x) : v(x) { atomicAdd(&alive, 1); }
  __device__ ~Counted() { atomicSub(&alive, 1); }
};
__global__ void placed(int *out) {
  int i = threadIdx.x;
  alignas(Counted) char room[sizeof(Counted)];
  Counted *p = new (room) Counted(i * 5), *list = (Counted *)malloc(3 * sizeof(Counted));
  for (int k = 0; k < 3; ++k) new (list + k) Counted(k + i);
  int sum = p->v + list[0].v + list[2].v;
  p->~Counted();
  for (int k = 0; k < 3; ++k) list[k].~Counted();
  free(list);
  Counted *made = new Counted(7 + i);
  sum += made->v;
  delete made;
  Counted *many = new Counted[2]{i, 2 * i};
  sum += many[1].v;
  delete[] many;
  __syncthreads();
  out[i] = sum + 1000000 * alive;
}]], function(i) return 5 * i + i + i + 2 + 7 + i + 2 * i end)

kernel("lambdas", "lambdas, with captures, generic, and as plain functions", [[
template <class F> __device__ int applied(F f, int x) { return f(f(x)); }
__global__ void lambdas(int *out) {
  int i = threadIdx.x, sum = 0, a = 6;
  auto add = [=](int x) { return x + a * i; };
  auto count = [&sum](int x) mutable { sum += x; return sum; };
  auto generic = [](auto x, auto y) { return x * y; };
  count(3); count(i);
  int (*plain)(int) = [](int x) { return x - 1; };
  out[i] = applied(add, i) + sum + generic(i, 2) + plain(i);
}]], function(i) return i + 12 * i + 3 + i + 2 * i + i - 1 end)

kernel("unions", "unions", [[
union Word { unsigned u; float f; unsigned char b[4]; struct { unsigned short lo, hi; } h; };
__global__ void unions(int *out) {
  int i = threadIdx.x;
  Word w, v;
  w.f = i * 1.5f;
  v.u = i * 0x01010101u;
  v.b[2] = 0xee;
  out[i] = w.u ^ (v.h.hi + v.b[0]);
}]], function(i) return s32(bits(i * 1.5) ~ ((i << 8 | 0xee) + i)) end)

kernel("fields", "bit-fields of all kinds", [[
struct Fields {
  unsigned a : 3; int b : 5; unsigned : 0; unsigned c : 17; bool d : 1; unsigned long long e : 40; signed char f : 2;
};
__global__ void fields(int *out) {
  int i = threadIdx.x;
  Fields s = {};
  s.a = i; s.b = i; s.c = i * 1000003; s.d = i & 4; s.e = i * 0x123456789abull; s.f = i;
  s.a++; s.b -= 3; s.c ^= 0x155;
  out[i] = s.a * 7 + s.b * 11 + s.c + s.d * 13 + (int)(s.e >> 13) + s.f * 17;
}]], function(i)
  local b, f = (i - 3 + 16) % 32 - 16, (i + 2) % 4 - 2
  return s32((i + 1) % 8 * 7 + b * 11 + (i * 1000003 % 131072 ~ 0x155) + (i // 4 % 2) * 13
    + ((i * 0x123456789ab & 0xffffffffff) >> 13) + f * 17)
end)

kernel("jumps", "goto, falling through a switch, and a switch into a loop", [[
__global__ void jumps(int *out) {
  int i = threadIdx.x, n = 0, steps = 0;
again:
  n += i;
  if (++steps < i % 7) goto again;
  for (int a = 0; a < 5; ++a)
    for (int b = 0; b < 5; ++b) {
      if (a * b == i % 11) goto found;
      n += a ^ b;
    }
  n += 1000;
found:
  switch (i % 6) {
    case 0: n += 1;
    case 1: n *= 3; break;
    case 2: n -= 5;
    default: n ^= 0x33;
    case 4: { n += 7; if (i & 8) break; n <<= 1; }
    case 3: n += 100;
  }
  int count = i % 9 + 1, rounds = (count + 3) / 4;
  switch (count % 4) { case 0: do { n += 3; case 3: n ^= 5; case 2: n += 7; case 1: n ^= 9; } while (--rounds > 0); }
  out[i] = n;
}]], function(i)
  local n = i * math.max(1, i % 7)
  local function search()
    for a = 0, 4 do
      for b = 0, 4 do
        if a * b == i % 11 then return end
        n = n + (a ~ b)
      end
    end
    n = n + 1000
  end
  search()
  local case = i % 6
  if case == 0 then n = n + 1 end
  if case <= 1 then
    n = n * 3
  else
    if case == 2 then n = n - 5 end
    if case == 2 or case == 5 then n = n ~ 0x33 end
    local leaves = false
    if case ~= 3 then
      n, leaves = n + 7, i & 8 ~= 0
      if not leaves then n = n << 1 end
    end
    if not leaves then n = n + 100 end
  end
  local count = i % 9 + 1
  local rounds, from = (count + 3) // 4, count % 4 == 0 and 4 or count % 4
  repeat
    if from >= 4 then n = n + 3 end
    if from >= 3 then n = n ~ 5 end
    if from >= 2 then n = n + 7 end
    n, from, rounds = n ~ 9, 4, rounds - 1
  until rounds <= 0
  return s32(n)
end)

kernel("constants", "constexpr functions, arrays and objects, in constant memory too", [[
constexpr int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__constant__ int weights[4] = {1, -2, 4, -8};
__constant__ struct { int x; float y; } pair = {9, 0.5f};
constexpr __device__ int squares(int n) { return n ? squares(n - 1) + n * n : 0; }
struct Table {
  int v[16];
  constexpr __host__ __device__ Table() : v() { for (int i = 0; i < 16; ++i) v[i] = i * i * i; }
};
__constant__ constexpr Table cubes{};
__global__ void constants(int *out) {
  int i = threadIdx.x;
  static_assert(squares(4) == 30, "squares");
  static const int local[3] = {4, 40, 400};
  out[i] = primes[i % 8] * weights[i % 4] + pair.x + (int)(pair.y * 4) + squares(5) + cubes.v[i % 16] + local[i % 3];
}]], function(i)
  local primes, weights = { 2, 3, 5, 7, 11, 13, 17, 19 }, { 1, -2, 4, -8 }
  return primes[i % 8 + 1] * weights[i % 4 + 1] + 9 + 2 + 55 + (i % 16) ^ 3 + 4 * 10 ^ (i % 3)
end)

kernel("memory", "memset, memcpy, memmove and memcmp, of lengths known and not", [[
__global__ void memory(int *out) {
  int i = threadIdx.x;
  char from[64], mine[64];
  memset(mine, i, 64);
  for (int k = 0; k < 64; ++k) from[k] = (char)(k * 3 + i);
  memcpy(mine + 5, from + 9, 20 + i % 30);
  memmove(mine + 3, mine + 6, 25);
  memmove(mine + 20, mine + 11, 30 + i % 7);
  int sum = memcmp(from, from, 64) + (memcmp("b", "a", 1) > 0);
  for (int k = 0; k < 64; ++k) sum = sum * 31 + mine[k];
  out[i] = sum;
}]], function(i)
  local mine, from = {}, {}
  for k = 0, 63 do mine[k], from[k] = s8(i), s8(k * 3 + i) end
  table.move(from, 9, 9 + 20 + i % 30 - 1, 5, mine)
  table.move(mine, 6, 6 + 25 - 1, 3)
  table.move(mine, 11, 11 + 30 + i % 7 - 1, 20)
  local sum = 1
  for k = 0, 63 do sum = sum * 31 + mine[k] end
  return s32(sum)
end)

local function ackermann(m, n)
  return m == 0 and n + 1 or n == 0 and ackermann(m - 1, 1) or ackermann(m - 1, ackermann(m, n - 1))
end

kernel("functions", "recursion, pointers to functions in tables and constants, static and managed variables", [[
__device__ static int ours = 5;
__managed__ int handed = 11;
static __device__ __noinline__ int ackermann(int m, int n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
__device__ int plus1(int x) { return x + 1; }
__device__ int times3(int x) { return x * 3; }
typedef int (*unary)(int);
__device__ unary table[2] = {plus1, times3};
__constant__ unary chosen = times3;
__global__ void functions(int *out) {
  int i = threadIdx.x;
  int (*f)(int) = i % 3 ? plus1 : times3;
  out[i] = ackermann(i % 3, i % 4) + table[i & 1](i) + f(i) + chosen(i) + ours + handed;
}]], function(i)
  return ackermann(i % 3, i % 4) + (i % 2 == 0 and i + 1 or 3 * i) + (i % 3 ~= 0 and i + 1 or 3 * i) + 3 * i + 16
end)

kernel("members", "pointers to members", [[
struct Member {
  int v;
  __device__ int get(int k) const { return v + k; }
  __device__ int neg(int k) const { return k - v; }
};
__global__ void members(int *out) {
  int i = threadIdx.x;
  Member m{i * 4};
  int (Member::*f)(int) const = i & 1 ? &Member::get : &Member::neg;
  int Member::*field = &Member::v;
  out[i] = (m.*f)(10) + m.*field;
}]], function(i) return i % 2 == 0 and 10 or 10 + 8 * i end)

kernel("alignment", "alignment by __align__ and alignas, on the stack and in shared memory", [[
struct __align__(16) A16 { float x; };
struct alignas(32) A32 { char c; };
struct __align__(8) A8 { char c[3]; };
__global__ void alignment(int *out) {
  int i = threadIdx.x;
  __shared__ char pad[3];
  __shared__ A16 s[2];
  __shared__ __align__(64) char wide[5];
  A32 l[2];
  A8 q[2];
  pad[i % 3] = 1; s[i % 2].x = 1; wide[i % 5] = 2; l[i & 1].c = 1; q[i & 1].c[0] = 2;
  out[i] = (int)(((size_t)s | (size_t)(s + 1)) % 16) + (int)((size_t)wide % 64) + (int)((size_t)l % 32) +
           (int)((size_t)q % 8) + 1000 * sizeof(A16) + 100 * sizeof(A32) + 10 * sizeof(A8) + alignof(A8) +
           l[i & 1].c + q[i & 1].c[0];
}]], function() return 16000 + 3200 + 80 + 8 + 3 end)

kernel("alignas_behind", "alignas behind a keyword of CUDA's", [[
extern __shared__ alignas(32) char dynamic_room[];
__device__ alignas(64) int wide_global[3]; // not in a text: __shared__ alignas(16) int x;
__constant__ alignas( 128 )float wide_constant[3] = {1, 2, 3};
#define ALIGNED_TILE __shared__ alignas(8) alignas(16)
struct alignas(16) Wide { int a[3]; };
__global__ void alignas_behind(int *out) {
  int i = threadIdx.x;
  __shared__ char pad[3];
  __shared__ alignas(alignof(float4)) float tile[2][3]; static __shared__ alignas(64) char wide[5];
  ALIGNED_TILE char both[3];
  const char *text = "__shared__ alignas(16) x";
  pad[i % 3] = both[i % 3] = wide[i % 5] = dynamic_room[0] = 1;
  tile[1][i % 3] = 2;
  wide_global[0] = 1;
  out[i] = (int)((size_t)tile % 16 + (size_t)wide % 64 + (size_t)both % 16 + (size_t)wide_global % 64 +
                 (size_t)wide_constant % 128 + (size_t)dynamic_room % 32) + text[11] + 10 * sizeof(Wide) +
           (int)wide_constant[1];
}]], function() return ("a"):byte() + 160 + 2 end)

kernel("minima", "the least and greatest under names that say their type", [[
__global__ void minima(int *out) {
  int i = threadIdx.x;
  long long wide = (long long)i << 33;
  out[i] = umin(i, 40u) + umax(i, -1) % 7 + (int)(llmin(wide, -wide) >> 33) + (int)(llmax(wide, -5) >> 33) +
           (ullmin(wide, -1ull) == wide) + (int)(ullmax(wide, -1ull) == -1ull);
}]], function(i) return math.min(i, 40) + 0xffffffff % 7 + 2 end)

kernel("modern", "templates, fold expressions, if constexpr, structured bindings, scoped enumerations", [[
template <int N> struct Vec {
  float v[N];
  __device__ Vec operator+(const Vec &o) const { Vec r; for (int k = 0; k < N; ++k) r.v[k] = v[k] + o.v[k]; return r; }
  __device__ float &operator[](int k) { return v[k]; }
};
template <class... T> __device__ int total(T... x) { return (x + ...); }
template <class T> __device__ int kind(T) { if constexpr (sizeof(T) == 8) return 8; else return 4; }
enum class Colour : unsigned char { red = 3, green = 250 };
__device__ int which(int) { return 1; }
__device__ int which(double) { return 2; }
__device__ int which(const char *) { return 3; }
__device__ inline int inlined = 6;
__global__ void modern(int *out) {
  int i = threadIdx.x;
  Vec<3> a{{1.f * i, 2, 3}}, b{{4, 5, 6.f + i}};
  Vec<3> c = a + b;
  c[1] += i;
  struct P { int x, y; } p{i, 2 * i};
  auto [x, y] = p;
  int &ref = p.x, s = 0;
  ref += 5;
  const int list[] = {1, 2, i};
  for (int q : list) s += q;
  if (int z = i % 4; z > 1) s += z * 50;
  char text[] = "moonwarp";
  int length = 0;
  while (text[length]) length++;
  out[i] = (int)(c[0] + c[1] + c[2]) + x + y + p.x + s + total(1, i, 3) + kind(1) + kind(2.0) + (int)Colour::green +
           which(1) + which(1.0) + which("") + inlined + length + (i ?: 9);
}]], function(i)
  local s = 3 + i + (i % 4 > 1 and i % 4 * 50 or 0)
  return 20 + 3 * i + 3 * i + i + 5 + s + 4 + i + 12 + 250 + 6 + 6 + 8 + (i == 0 and 9 or i)
end)

kernel("groups", "labeled and binary partitions of a warp", [[
#include <cooperative_groups.h>
__global__ void groups(int *out) {
  namespace cg = cooperative_groups;
  int i = threadIdx.x;
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
  auto third = cg::binary_partition(warp, i % 3 == 0);
  auto label = cg::labeled_partition(warp, i % 5);
  out[i] = third.size() * 1000000 + third.thread_rank() * 10000 + label.size() * 100 + label.thread_rank();
}]], function(i)
  local first, sizes, ranks = i - i % 32, { 0, 0 }, { 0, 0 }
  for k = first, first + 31 do
    for n, same in ipairs { (k % 3 == 0) == (i % 3 == 0), k % 5 == i % 5 } do
      if same then
        sizes[n] = sizes[n] + 1
        if k < i then ranks[n] = ranks[n] + 1 end
      end
    end
  end
  return sizes[1] * 1000000 + ranks[1] * 10000 + sizes[2] * 100 + ranks[2]
end)

kernel("carved", "dynamic shared memory as several arrays", [[
extern __shared__ double views[];
__global__ void carved(int *out) {
  int i = threadIdx.x, n = blockDim.x;
  double *d = views;
  float *f = (float *)(d + n);
  short *s = (short *)(f + n);
  char *c = (char *)(s + n);
  d[i] = i * 0.5; f[i] = i * 2; s[i] = -i; c[i] = i;
  __syncthreads();
  int j = n - 1 - i;
  out[i] = (int)(d[j] * 2) + (int)f[j] + s[j] + c[j];
}]], function(i) return 3 * (95 - i) end)

local texts = {}
for n, k in ipairs(kernels) do texts[n] = k.source end
local source = table.concat(texts, "\n\n")
if suite.on_gpu then -- NVRTC accepts neither GNU's form nor this keyword after two others
  source = source:gsub("i %?: 9", "i ? i : 9")
  source = source:gsub("(%l+ __shared__) alignas(%(%d+%))", "%1 __align__%2")
end

for _, tier in ipairs(tiers) do
  describe("C++ in kernels, " .. tier.name .. ":", function()
    local m
    setup(function() m = mw.compile { source = source, options = tier.options } end)

    for _, k in ipairs(kernels) do
      it(k.says, function()
        local out = mw.zeros(96, "int")
        m[k.name](1, 96, k.name == "carved" and 96 * 15 or 16)(out)
        for i, got in ipairs(out:totable()) do assert.equal(k.model(i - 1), got, "thread " .. i - 1) end
      end)
    end
  end)
end

describe("a pure virtual function", function()
  it("that a constructor calls ends the kernel", function()
    if suite.on_gpu then return pending "CPU device only: NVRTC calls nothing in its place" end
    local m = mw.compile [[
struct Base {
  __device__ Base() { start(); }
  __device__ void start() { each(); }
  __device__ virtual void each() = 0;
};
struct Made : Base { int n = 0; __device__ void each() override { n++; } };
__global__ void k(int *out) { Made made; out[0] = made.n; }]]
    m.k(1, 1)(mw.zeros(1, "int"))
    assert.error_matches(function() mw.synchronize() end, "trap")
  end)
end)
