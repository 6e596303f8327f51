-- The module after a given pass, for a few lines of CUDA C: what the table says that the pass gives (mwcc --passes).
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mwcc = require "support.mwcc"
local after, body, count = mwcc.after, mwcc.body, mwcc.count

local text = [[
__device__ int table[16];
extern "C" {
__global__ void ptx(int *o) { int r; asm("add.s32 %0, %1, %2;" : "=r"(r) : "r"(o[0]), "r"(o[1])); o[2] = r; }
__global__ void divide(int *o) { o[2] = o[0] / o[1]; }
__global__ void leaves(int *o) { if (o[0]) asm("exit;"); o[1] = 1; }
__global__ void waits(const int *__restrict__ a, int *o) {
  o[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  o[threadIdx.x] += a[0];
}
__global__ void runs(const int *__restrict__ a, int *o) { o[threadIdx.x] = a[threadIdx.x]; }
__global__ void chooses(int *o) { int i = threadIdx.x, x = o[i]; if (x < 0) x = -x; o[i] = x; }
__global__ void returns(int *o) {
  switch (o[0]) {
  case 1: o[1] = 2; return;
  case 5: o[1] = 7; return;
  case 9: o[3] = 1; return;
  default: o[4] = 4;
  }
  o[2] = 3;
}
__global__ void sized(int *o) { o[threadIdx.x] = blockDim.x; }
__global__ void loads(int *o) { o[threadIdx.x] = table[o[threadIdx.x] & 15]; }
__global__ void sums(int n, const float *x, float *o) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) o[i] = x[i] * 2;
}
__global__ void counts(int *o) {
  __shared__ int all;
  all = 0;
  __syncthreads();
  atomicAdd(&all, o[threadIdx.x]);
  __syncthreads();
  o[threadIdx.x] = all;
}
__global__ void powers(const float *x, float *o) { o[threadIdx.x] = expf(x[threadIdx.x]); }
__global__ void unrolled(int *o) {
  __shared__ int s[32];
  for (int k = 16; k > 0; k /= 2) {
    s[threadIdx.x] = o[threadIdx.x] + k;
    __syncthreads();
    o[threadIdx.x] = s[threadIdx.x ^ k];
    __syncthreads();
  }
}
}
]]

local function has(ir, pattern) assert.is_true(count(ir, pattern) > 0, pattern .. " in\n" .. ir) end
local function has_not(ir, pattern) assert.equal(0, count(ir, pattern), ir) end

describe("reading", function()
  it("keeps only the launched kernel (keep-launched, internalize, inline-helpers)", function()
    local source = 'extern "C" __global__ void one(int *o) { *o = 1; } __global__ void other(int *o) { *o = 2; }'
    local ir = after(source, "inline-helpers", "--launch=one:64x1x1")
    assert.equal(1, count(ir, "\ndefine "))
    has(ir, "\ndefine [^\n]*@one%(")
  end)

  it("replaces blockDim by constants (fix-block)", function()
    has_not(after(text, "inline-helpers", "--launch=sized:64x1x1"), "call [^\n]*ntid%.x")
    has(after(text, "inline-helpers"), "call [^\n]*ntid%.x")
  end)

  it("has intrinsics for products by powers of two if there is an instruction (power-intrinsics)", function()
    has(after(text, "power-intrinsics"), "@llvm%.ldexp")
    has_not(after(text, "power-intrinsics", "--mcpu=x86-64-v3"), "@llvm%.ldexp")
    has_not(after(text, "power-intrinsics", "--without=power-intrinsics"), "@llvm%.ldexp")
  end)

  it("has the processor's instructions for products of small integers (tensor-instructions)", function()
    local source = [[__global__ void k(int *p) {
      asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                   : "+r"(p[0]), "+r"(p[1]) : "r"(p[2]), "r"(p[3]));
    }]]
    has(after(source, "tensor-instructions", "--mcpu=cascadelake"), "@llvm%.x86%.avx512%.vpdpbusd%.512")
    has(after(source, "tensor-instructions", "--mcpu=x86-64-v4"), "@llvm%.x86%.avx512%.pmaddw%.d%.512")
    has(after(source, "tensor-instructions", "--mcpu=x86-64-v3"), "@llvm%.x86%.avx2%.pmadd%.wd")
    has(after(source, "tensor-instructions", "--mcpu=x86-64-v2"), "@llvm%.x86%.sse2%.pmadd%.wd")
    has_not(after(source, "tensor-instructions", "--without=tensor-instructions"), "@llvm%.x86")
  end)

  it("keeps only line tables of debug information (strip-debug)", function()
    has(after(text, "check-sizes"), "DILocalVariable")
    has_not(after(text, "strip-debug"), "DILocalVariable")
  end)

  it("inlines pure helpers late, or with the rest (helper-cse)", function()
    local source = "__global__ void f(float *o) { o[0] = sinf(o[1]) + cosf(o[1]); }"
    local kept, inlined = after(source, "inline-helpers"), after(source, "inline-helpers", "--without=helper-cse")
    assert.is_true(count(kept, "\ndefine ") > count(inlined, "\ndefine "))
    has_not(after(source, "promote", "--without=cold-helpers"), "call [^\n]*@[^\n]*__mw_")
  end)
end)

describe("preparing", function()
  it("has no inline PTX (translate-ptx)", function()
    local ir = body(after(text, "translate-ptx"), "ptx")
    has_not(ir, " asm ")
    has(ir, "= add i32")
  end)

  it("is for the host (retarget)", function()
    has(after(text, "translate-ptx"), 'target triple = "nvptx64')
    has(after(text, "retarget"), 'target triple = "x86_64')
  end)

  it("divides by zero as CUDA does (retarget)", function()
    has(body(after(text, "retarget"), "divide"), "icmp eq i32 [^\n]*, 0")
  end)

  it("has ranges on ids (id-ranges)", function()
    local class, range = "--launch=sized:64x1x1", "range%(i32 0, 64%) i32 @llvm%.nvvm%.read%.ptx%.sreg%.tid%.x"
    has(after(text, "id-ranges", class), range)
    has_not(after(text, "id-ranges", class .. " --without=id-ranges"), range)
  end)

  it("returns where inline PTX ends a thread (inline)", function()
    local ir = body(after(text, "inline"), "leaves")
    assert.equal(2, count(ir, "ret void"))
    has_not(ir, "__mw_thread_exit")
  end)

  it("ignores __restrict__ if threads wait (drop-noalias)", function()
    local ir = after(text, "drop-noalias")
    has_not(body(ir, "waits"), "noalias")
    has(body(ir, "runs"), "noalias")
  end)

  it("has values in registers (promote)", function() has_not(after(text, "promote"), "= alloca") end)

  it("has selects for branches that choose a value (select-formation)", function()
    has(body(after(text, "promote"), "chooses"), "br i1")
    has_not(body(after(text, "select-formation"), "chooses"), "br i1")
  end)

  it("has one return and no switch (normal-form)", function()
    local ir = body(after(text, "normal-form"), "returns")
    assert.equal(1, count(ir, "ret void"))
    has_not(ir, "switch")
  end)

  it("unrolls loops with barriers for one block size (barrier-loop-unroll)", function()
    local barrier = "call [^\n]*barrier"
    local once = count(body(after(text, "normal-form"), "unrolled"), barrier)
    local five = count(body(after(text, "normal-form", "--launch=unrolled:32x1x1"), "unrolled"), barrier)
    assert.equal(5 * once, five)
  end)

  it("makes kernels internal again (release-described)", function()
    has(after(text, "release-described"), "define internal [^\n]*@runs")
  end)

  it("does some iterations of a grid-stride loop (grid-stride)", function()
    local class = "--launch=sums:64x1x1"
    has(after(text, "grid-stride", class), "envreg")
    has_not(after(text, "grid-stride", class .. " --without=grid-stride"), "envreg")
  end)

  it("checks accesses only with --check-memory (bounds-check)", function()
    has(after(text, "bounds-check", "--check-memory"), "__mw_check")
    has_not(after(text, "bounds-check"), "__mw_check")
  end)
end)

describe("widening", function()
  it("makes vectors (vectorize)", function()
    has(after(text, "vectorize", "--launch=runs:64x1x1"), "<16 x i32>")
    has_not(after(text, "grid-stride", "--launch=runs:64x1x1"), "<16 x i32>")
  end)

  it("deletes the scalar kernel (drop-scalar)", function()
    has(after(text, "vectorize", "--launch=runs:64x1x1"), "define [^\n]*@runs%(")
    has_not(after(text, "drop-scalar", "--launch=runs:64x1x1"), "define [^\n]*@runs%(")
  end)

  it("has no atomics on shared memory (shared-atomics)", function()
    has_not(after(text, "shared-atomics", "--launch=counts:64x1x1"), "atomicrmw")
  end)
end)

describe("lowering", function()
  it("leaves no built-ins (thread-context)", function()
    has(after(text, "barrier-wait", "--width=1"), "call [^\n]*llvm%.nvvm%.read")
    has_not(after(text, "thread-context", "--width=1"), "call [^\n]*llvm%.nvvm%.read")
  end)

  it("leaves no variables (module-variables)", function()
    has(after(text, "thread-context"), "\n@table = ")
    has_not(after(text, "module-variables"), "\n@table = ")
  end)

  it("makes a block function for each kernel (workitem-loops)", function()
    local ir = after(text, "workitem-loops", "--width=1")
    for _, name in ipairs { "ptx", "divide", "waits", "loads" } do has(ir, "define [^\n]*@run%." .. name .. "%(") end
  end)

  it("writes the table (module-table)", function()
    has_not(after(text, "workitem-loops"), "@[%w_]*mwo")
    has(after(text, "module-table"), "@[%w_]*mwo")
  end)
end)

describe("optimising", function()
  it("has one SIMD function, without stack slots (simplify)", function()
    local class = "--launch=runs:64x1x1"
    has(after(text, "hide-float-bits", class), "= alloca")
    has_not(after(text, "simplify", class), "= alloca")
  end)
end)
