-- Kernels whose memory is awkward: structs, strides, aliases, great distances, types that share memory, large local
-- arrays; and awkward numbers. Each is compared with plain Lua, in blocks of all shapes, by several tiers.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local blocks = require "support.blocks"
local linear = require "support.models.linear"
local lists = require "support.models.lists"
local int = require("support.models.thread_cases").int
local tiers = require "support.tiers"
local random = require "support.random" "stress_memory_spec"

local check_equal = lists.check_equal

require "support.time_limit" (setup, teardown)

local text = linear .. [==[
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
]==]

for _, tier in ipairs(tiers) do
  describe("a kernel, " .. tier.name .. ",", function()
    local m = mw.compile { source = text, options = tier.options }

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

    it("that accesses memory with a step of three misses nothing", function()
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
  end)
end
