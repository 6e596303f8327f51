-- Inline PTX beyond whole numbers: memory by its kinds, predicates, roundings, approximate functions,
-- warps, threads that end.
-- Lua 5.4 only: this tests the compiler.

local mw = require "moonwarp"
local suite = require "support.suite"
local tiers = require "support.tiers"

local source = [==[
#include <cuda_fp16.h>
// ---- memory

// Addresses that count up, though the first threads have none.
__global__ void shared_rows(const int *in, int *out) {
  __shared__ int before[4], cell[64];
  unsigned t = threadIdx.x, first = (unsigned)__cvta_generic_to_shared(cell), at = first + 4 * t;
  out[t] = before[t % 4] = -1;
  asm volatile("st.shared.s32 [%0], %1;" :: "r"(at), "r"(in[t]) : "memory");
  __syncthreads();
  if (t >= 5) asm volatile("ld.shared.s32 %0, [%1];" : "=r"(out[t]) : "r"(at - 20));
  if (t >= 60) asm volatile("ld.shared.s32 %0, [%1];" : "=r"(out[t]) : "r"(first + 4 * (t - 60)));
}
__global__ void shared_window(const int *in, int *out) {
  __shared__ int cell[64];
  __shared__ int sum, top;
  unsigned at = (unsigned)__cvta_generic_to_shared(&cell[threadIdx.x]), other;
  unsigned long long wide;
  asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(other) : "l"(&cell[63 - threadIdx.x]));
  asm("cvta.to.shared.u64 %0, %1;" : "=l"(wide) : "l"(&sum));
  if (threadIdx.x == 0) sum = top = 0;
  asm volatile("st.shared.s32 [%0], %1;" :: "r"(at), "r"(in[threadIdx.x]) : "memory");
  __syncthreads();
  int value, next, old;
  asm volatile("ld.shared.s32 %0, [%1];" : "=r"(value) : "r"(other));
  asm volatile("ld.volatile.shared::cta.s32 %0, [%1+-4];" : "=r"(next) : "r"(at + 4));
  asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(wide), "r"(1) : "memory");
  asm volatile("red.shared.max.s32 [%0], %1;" :: "r"((unsigned)__cvta_generic_to_shared(&top)), "r"(value) : "memory");
  __syncthreads();
  out[threadIdx.x] = value + 1000 * next + 1000000 * (sum == 64) + 2000000 * (old < 64) + 4000000 * (top == 163);
}

__global__ void narrow(const signed char *in, short *out, int *wide) {
  int i = threadIdx.x, a;
  unsigned b;
  asm volatile("ld.global.s8 %0, [%1];" : "=r"(a) : "l"(in + i));
  asm volatile("ld.global.nc.L1::no_allocate.u8 %0, [%1];" : "=r"(b) : "l"(in + i));
  asm volatile("st.relaxed.gpu.global.b16 [%0], %1;" :: "l"(out + i), "h"((short)(a * 3)) : "memory");
  asm volatile("{ .reg .s16 t; ld.acquire.sys.global.s16 t, [%1]; cvt.s32.s16 %0, t; }" : "=r"(a) : "l"(out + i));
  wide[i] = a * 1000 + b;
}

__global__ void copies(const int4 *in, int4 *out, int n) {
  __shared__ int4 tile[32];
  int i = threadIdx.x;
  unsigned to = (unsigned)__cvta_generic_to_shared(tile + i);
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" :: "r"(to), "l"(in + i), "r"(i < n ? 16 : 6));
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.wait_group 0;");
  __syncthreads();
  out[i] = tile[31 - i];
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0+4], [%1], 4;" :: "r"(to), "l"(in + i));
  asm volatile("cp.async.wait_all;");
  out[i].w += tile[i].y;
}

__global__ void wraps(unsigned *x, unsigned short *s) {
  unsigned old;
  unsigned short was;
  asm volatile("atom.global.inc.u32 %0, [%1], 6;" : "=r"(old) : "l"(x) : "memory");
  asm volatile("red.global.dec.u32 [%0+4], 6;" :: "l"(x) : "memory");
  asm volatile("atom.cas.b16 %0, [%1], %2, %3;" : "=h"(was) : "l"(s), "h"((short)7), "h"((short)9) : "memory");
}

__constant__ int fixed[3] = {1, 2, 3};
__device__ int variable;
__device__ __noinline__ int kind_of(const void *p) {
  return __isGlobal(p) + 2 * __isShared(p) + 4 * __isConstant(p) + 8 * __isLocal(p);
}
__global__ void kinds(int *out, int *heap) {
  __shared__ int cell[8];
  extern __shared__ int more[];
  int own[40], i = threadIdx.x, in_shared;
  for (int k = 0; k < 40; k++) own[k] = k * i;
  if (i == 0) { cell[0] = more[0] = 1; }
  int *made = (int *)malloc(4);
  const void *list[8] = {heap, cell + 7, more + 1, fixed + 2, own + i % 40, &variable, made, 0};
  asm("{ .reg .pred p; isspacep.shared p, %1; selp.s32 %0, 1, 0, p; }" : "=r"(in_shared) : "l"(list[i % 8]));
  out[i] = kind_of(list[i % 8]) + 16 * in_shared + 32 * (own[7] == 7 * i);
  free(made);
}

// ---- predicates

__global__ void predicated(int *x, int *out) {
  int i = threadIdx.x, a = -1, b = 5;
  asm volatile("{ .reg .pred p, q;\n"
               "  setp.lt.s32 p, %2, 10;\n"
               "  setp.eq.and.s32 q, %2, 3, p;\n"
               "  @p ld.global.s32 %0, [%3];       // those below 10\n"
               "  @!p st.global.s32 [%3], %2;\n"
               "  @q red.global.add.s32 [%4], 100;\n"
               "  @p add.s32 %1, %1, %0;\n"
               "  @q bar.warp.sync 8; }"
               : "+r"(a), "+r"(b) : "r"(i), "l"(x + 1 + i), "l"(x) : "memory");
  out[i] = a * 1000 + b;
}

__device__ int leaves(int i) {
  asm volatile("{ .reg .pred p; setp.ge.s32 p, %0, 5; @p exit; }" :: "r"(i));
  return i * 2;
}
__global__ void ends(int *out) {
  int i = threadIdx.x;
  for (int k = 0; k < 3; k++) out[i] += leaves(i + k);
  __syncthreads();
  out[i] += 1000;
  asm volatile("exit;");
  out[i] = -1;
}

// ---- real numbers

__device__ float flushed(float v) { return fabsf(v) < 1.17549435e-38f ? copysignf(0.0f, v) : v; }

__global__ void rounds(const float *x, const double *d, float *f, double *e, int *n) {
  int i = threadIdx.x;
  float a = x[2 * i], b = x[2 * i + 1], r, s;
  double c = d[2 * i], g = d[2 * i + 1], q;
#define F(at, text) asm(text : "=f"(r) : "f"(a), "f"(b)); f[24 * i + at] = r;
#define G(at, want) f[24 * i + 12 + at] = want;
  F(0, "add.rz.f32 %0, %1, %2;") G(0, __fadd_rz(a, b))
  F(1, "sub.rm.ftz.f32 %0, %1, %2;") G(1, __fsub_rd(flushed(a), flushed(b)))
  F(2, "mul.rp.f32 %0, %1, %2;") G(2, __fmul_ru(a, b))
  F(3, "div.rz.f32 %0, %1, %2;") G(3, __fdiv_rz(a, b))
  F(4, "fma.rp.f32 %0, %1, %2, %1;") G(4, __fmaf_ru(a, b, a))
  F(5, "{ .reg .f32 t; abs.f32 t, %1; sqrt.rm.f32 %0, t; }") G(5, __fsqrt_rd(fabsf(a)))
  F(6, "rcp.rz.f32 %0, %1;") G(6, __frcp_rz(a))
  F(7, "add.sat.f32 %0, %1, %2;") G(7, __saturatef(a + b))
  F(8, "copysign.f32 %0, %1, %2;") G(8, copysignf(b, a))
  F(9, "min.NaN.f32 %0, %1, %2;") G(9, a != a || b != b ? a + b : fminf(a, b))
  asm("cvt.rp.f32.f64 %0, %1;" : "=f"(r) : "d"(c)); f[24 * i + 10] = r; G(10, __double2float_ru(c))
  asm("cvt.rz.f32.s32 %0, %1;" : "=f"(r) : "r"(__float_as_int(a))); f[24 * i + 11] = r;
  G(11, __int2float_rz(__float_as_int(a)))
  asm("fma.rm.f64 %0, %1, %2, %1;" : "=d"(q) : "d"(c), "d"(g)); e[8 * i] = q; e[8 * i + 4] = __fma_rd(c, g, c);
  asm("div.rp.f64 %0, %1, %2;" : "=d"(q) : "d"(c), "d"(g)); e[8 * i + 1] = q; e[8 * i + 5] = __ddiv_ru(c, g);
  asm("cvt.rm.f64.s64 %0, %1;" : "=d"(q) : "l"(__double_as_longlong(c))); e[8 * i + 2] = q;
  e[8 * i + 6] = __ll2double_rd(__double_as_longlong(c));
  asm("add.rz.f64 %0, %1, %2;" : "=d"(q) : "d"(c), "d"(g)); e[8 * i + 3] = q; e[8 * i + 7] = __dadd_rz(c, g);
  int kinds;
  asm("{ .reg .pred p; .reg .u32 t;\n testp.finite.f32 p, %1; selp.u32 %0, 1, 0, p;\n"
      "testp.infinite.f32 p, %1; @p add.u32 %0, %0, 2;\n testp.notanumber.f32 p, %1; @p add.u32 %0, %0, 4;\n"
      "testp.number.f32 p, %1; @p add.u32 %0, %0, 8;\n testp.normal.f32 p, %1; @p add.u32 %0, %0, 16;\n"
      "testp.subnormal.f32 p, %1; @p add.u32 %0, %0, 32; }" : "=&r"(kinds) : "f"(a));
  int denormal = fabsf(a) < 1.17549435e-38f && a != 0;
  int want = isfinite(a) * 1 + isinf(a) * 2 + (isnan(a) ? 4 : 8)
             + 16 * (isfinite(a) && !denormal) + 32 * denormal;
  n[2 * i] = kinds; n[2 * i + 1] = want;
  (void)s;
}

__global__ void approximates(const float *x, float *f) {
  int i = threadIdx.x;
  float a = x[i], r;
#define H(at, text) asm(text : "=f"(r) : "f"(a)); f[9 * i + at] = r;
  H(0, "ex2.approx.ftz.f32 %0, %1;") H(1, "lg2.approx.f32 %0, %1;") H(2, "rcp.approx.ftz.f32 %0, %1;")
  H(3, "rsqrt.approx.f32 %0, %1;") H(4, "sqrt.approx.f32 %0, %1;") H(5, "sin.approx.f32 %0, %1;")
  H(6, "cos.approx.ftz.f32 %0, %1;") H(7, "tanh.approx.f32 %0, %1;") H(8, "div.full.f32 %0, %1, 0f40400000;")
}

__global__ void halves(const __half2 *x, __half2 *out, float *f) {
  int i = threadIdx.x;
  unsigned a = ((const unsigned *)x)[2 * i], b = ((const unsigned *)x)[2 * i + 1], r;
  unsigned short h;
  __half2 u = x[2 * i], v = x[2 * i + 1];
#define TWO(at, text, want) asm(text : "=r"(r) : "r"(a), "r"(b)); ((unsigned *)out)[10 * i + at] = r; \
  out[10 * i + 5 + at] = want;
  TWO(0, "fma.rn.f16x2 %0, %1, %2, %1;", __hfma2(u, v, u)) TWO(1, "add.f16x2 %0, %1, %2;", __hadd2(u, v))
  TWO(2, "mul.f16x2 %0, %1, %2;", __hmul2(u, v)) TWO(3, "sub.sat.f16x2 %0, %1, %2;", __hsub2_sat(u, v))
  TWO(4, "neg.f16x2 %0, %1;", __hneg2(u))
  float g;
  asm("cvt.f32.f16 %0, %1;" : "=f"(g) : "h"((unsigned short)a));
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(g * 1.001f));
  f[2 * i] = g; f[2 * i + 1] = __half2float(__ushort_as_half(h)) - __half2float(__float2half_rn(g * 1.001f));
}

// ---- threads together

__global__ void together(int *out) {
  int i = threadIdx.x, *o = out + 8 * i, sum, all, odd, same;
  unsigned up, in, mask;
  asm volatile("{ .reg .pred p; shfl.sync.up.b32 %0|p, %2, 3, 0x0, -1; selp.u32 %1, 1, 0, p; }"
               : "=r"(up), "=r"(in) : "r"(i));
  o[0] = up * 2 + in;
  asm volatile("{ .reg .pred p; shfl.sync.down.b32 %0|p, %2, 5, 0x181f, -1; selp.u32 %1, 1, 0, p; }"
               : "=r"(up), "=r"(in) : "r"(i));
  o[1] = up * 2 + in;
  asm volatile("{ .reg .pred p; shfl.sync.idx.b32 %0|p, %2, 11, 0x1807, -1; selp.u32 %1, 1, 0, p; }"
               : "=r"(up), "=r"(in) : "r"(i));
  o[2] = up * 2 + in;
  asm volatile("{ .reg .pred p; setp.lt.s32 p, %1, 40; bar.red.popc.u32 %0, 0, p; }" : "=r"(sum) : "r"(i));
  asm volatile("{ .reg .pred p, q; setp.lt.s32 p, %1, 40; bar.red.and.pred q, 0, !p; selp.s32 %0, 1, 0, q; }"
               : "=r"(all) : "r"(i));
  asm volatile("{ .reg .pred p, q; setp.lt.s32 p, %1, 40; barrier.red.or.pred q, 0, p; selp.s32 %0, 1, 0, q; }"
               : "=r"(odd) : "r"(i));
  o[3] = sum * 4 + all * 2 + odd;
  asm volatile("{ .reg .pred p; match.all.sync.b32 %0|p, %2, -1; selp.u32 %1, 1, 0, p; }"
               : "=r"(mask), "=r"(same) : "r"(i / 32));
  o[4] = (mask == ~0u) * 2 + same;
  asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 3; vote.sync.all.pred p, !p, -1; selp.s32 %0, 1, 0, p; }"
               : "=r"(all) : "r"(i));
  o[5] = all;
  asm volatile("{ .reg .pred p; setp.gt.s32 p, %1, 20; vote.ballot.b32 %0, p; }" : "=r"(mask) : "r"(i));
  o[6] = mask;
  asm("mov.u32 %0, %%nwarpid;" : "=r"(mask));
  asm("mov.u32 %0, %%smid;" : "=r"(in));
  asm("mov.u32 %0, %%nsmid;" : "=r"(up));
  o[7] = in < up;
}
]==]

-- Without .sync a vote is for compute capabilities before 7.0.
if suite.on_gpu then source = source:gsub("vote%.ballot%.b32 %%0, p;", "vote.sync.ballot.b32 %%0, p, -1;") end

local function ints(n, f) local t = {} for i = 1, n do t[i] = f(i - 1) end return t end

for _, tier in ipairs(tiers) do
  describe("inline PTX, " .. tier.name .. ",", function()
    local m
    setup(function() m = mw.compile { source = source, options = tier.options } end)

    it("reaches shared memory by 32 bits and by 64", function()
      local out = mw.zeros(64, "int")
      m.shared_window(1, 64)(mw.array(ints(64, function(i) return 100 + i end), "int"), out)
      for i = 0, 63 do assert.equal(163 - i + 1000 * (100 + i) + 7000000, out[i + 1]) end
      m.shared_rows(1, 64)(mw.array(ints(64, function(i) return 100 + i end), "int"), out)
      for i = 0, 63 do assert.equal(i < 5 and -1 or i < 60 and 95 + i or 40 + i, out[i + 1]) end
    end)

    it("extends loaded values by the type, for any memory order and hints", function()
      local out, wide = mw.zeros(256, "short"), mw.zeros(256, "int")
      m.narrow(1, 256)(mw.array(ints(256, function(i) return i - 128 end), "char"), out, wide)
      for i = 0, 255 do
        local a = i - 128
        assert.equal(3 * a, out[i + 1])
        assert.equal(3000 * a + (a & 255), wide[i + 1])
      end
    end)

    it("copies to shared memory, with zeros for the missing bytes", function()
      local out = mw.zeros(32, "int4")
      m.copies(1, 32)(mw.array(ints(128, function(i) return i + 0x10000 end), "int"):as "int4", out, 20)
      local t = out:as("int"):totable()
      for i = 0, 31 do
        local from = 31 - i
        local first = 0x10000 + 4 * from
        local want = from < 20 and { first, first + 1, first + 2, first + 3 } or { first, first + 1 & 0xffff, 0, 0 }
        want[4] = want[4] + 0x10000 + 4 * i
        assert.same(want, { t[4 * i + 1], t[4 * i + 2], t[4 * i + 3], t[4 * i + 4] })
      end
    end)

    it("knows which memory an address is of", function()
      local out = mw.zeros(40, "int")
      m.kinds(2, 40, 16)(out, mw.zeros(3, "int"))
      local want = { 1, 2 + 16, 2 + 16, 4, 8, 1, 1, 1 } -- NULL is of no other memory than global
      for i = 0, 39 do assert.equal(want[i % 8 + 1] + 32, out[i + 1]) end
    end)

    it("counts round", function()
      local x, s = mw.array({ 0, 3 }, "uint"), mw.array({ 7 }, "ushort")
      m.wraps(3, 10)(x, s)
      assert.same({ 30 % 7, (3 - 30) % 7 }, x:totable())
      assert.equal(9, s[1])
    end)

    it("executes predicated instructions for the threads whose predicate holds", function()
      local x, out = mw.array(ints(41, function(i) return i end), "int"), mw.zeros(40, "int")
      m.predicated(1, 40)(x, out)
      assert.equal(100, x[1])
      for i = 0, 39 do
        assert.equal(i < 10 and i + 1 or i, x[i + 2])
        assert.equal(i < 10 and (i + 1) * 1000 + 6 + i or -995, out[i + 1])
      end
    end)

    it("ends threads", function()
      local out = mw.zeros(50, "int")
      m.ends(1, 50)(out)
      for i = 0, 49 do
        local sum = 0
        for k = i, i + 2 do sum = sum + (k < 5 and (i + 2 < 5 or k < 5) and 2 * k or 0) end
        assert.equal(i + 2 < 5 and sum + 1000 or sum, out[i + 1])
      end
    end)

    it("rounds and classifies as the intrinsics do", function()
      local x = { 0.1, 0.7, 1 / 3, -3, 1e30, 1e-30, 1e-40, 2.5, -1e-42, 1, 0, -0.0, math.huge, 1, 0 / 0, 2, -1.5, 0.3,
        16777217, -0.1 }
      local f, e, n = mw.zeros(240), mw.zeros(80, "double"), mw.zeros(20, "int")
      m.rounds(1, 10)(mw.array(x), mw.array(x, "double"), f, e, n)
      f, e, n = f:totable(), e:totable(), n:totable()
      local function equal(want, got, what)
        local neither = want ~= want and got ~= got
        if want ~= got and not neither then error(("%s: %.9g, want %.9g"):format(what, got, want)) end
      end
      for i = 0, 9 do
        for k = 1, 12 do equal(f[24 * i + 12 + k], f[24 * i + k], "float " .. k - 1 .. " of row " .. i) end
        for k = 1, 4 do equal(e[8 * i + 4 + k], e[8 * i + k], "double " .. k - 1 .. " of row " .. i) end
        assert.equal(n[2 * i + 2], n[2 * i + 1])
      end
    end)

    it("approximates functions closely", function()
      local x = {}
      for i = 1, 60 do x[i] = 0.05 * i end
      local f = mw.zeros(9 * 60)
      m.approximates(1, 60)(mw.array(x), f)
      f = f:totable()
      for i, a in ipairs(x) do
        local want = { 2 ^ a, math.log(a, 2), 1 / a, a ^ -0.5, a ^ 0.5, math.sin(a), math.cos(a),
          1 - 2 / (math.exp(2 * a) + 1), a / 3 }
        for k = 1, 9 do
          local got = f[9 * (i - 1) + k]
          local bound = suite.on_gpu and k == 8 and 2 ^ -11 or 1e-6 -- PTX promises no more of tanh.approx
          if math.abs(got - want[k]) > bound * math.max(1, math.abs(want[k])) then
            error(("function %d of %g is %.9g, want %.9g"):format(k, a, got, want[k]))
          end
        end
      end
    end)

    it("computes in halves, two at a time", function()
      local x = ints(160, function(i) return (i * 37 % 101 - 50) / 16 end)
      local out, f = mw.zeros(400, "half2"), mw.zeros(80)
      m.halves(1, 40)(mw.array(x, "half"):as "half2", out, f)
      local t = out:as("half"):totable()
      for i = 0, 39 do
        for k = 1, 10 do assert.equal(t[20 * i + 10 + k], t[20 * i + k]) end
        assert.equal(x[4 * i + 1], f[2 * i + 1])
        assert.equal(0, f[2 * i + 2])
      end
    end)

    it("communicates with other threads and waits for them", function()
      local out = mw.zeros(8 * 64, "int")
      m.together(1, 64)(out)
      out = out:totable()
      for i = 0, 63 do
        local lane, first = i % 32, i - i % 32
        local up = lane >= 3 and 2 * (i - 3) + 1 or 2 * i
        local down = lane % 8 + 5 < 8 and 2 * (i + 5) + 1 or 2 * i
        local index = 2 * (first + lane // 8 * 8 + 3) + 1
        local ballot = first == 0 and 0xffe00000 - 2 ^ 32 | 0 or -1
        assert.same({ up, down, index, 161, 3, 0, ballot, 1 }, { table.unpack(out, 8 * i + 1, 8 * i + 8) })
      end
    end)
  end)
end
