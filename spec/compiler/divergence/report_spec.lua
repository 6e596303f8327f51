-- The report of a kernel (mwcc --report): tier, size of gangs, vectors, accesses.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mwcc = require "support.mwcc"
local run = mwcc.run

describe("the report", function()
  local source = [=[
      __global__ void tail(int n, float *x) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) x[i] = x[i * 3] + x[0];
      }]=]

  it("has a kernel's tier, and its memory accesses by line", function()
    local output = run(source, "--report")
    assert.matches("kernel tail: simd, gangs of 1 x %d+ lanes: code for blocks of any size\n", output)
    assert.matches("3:%d+  divergent branch", output)
    assert.matches("3:%d+  contiguous store", output)
    assert.matches("3:%d+  broadcast load", output)
    assert.matches("3:%d+  load with a stride of 12 bytes", output)
  end)

  it("has the same for one block size", function()
    local output = run(source, "--mcpu=x86-64-v3 --report --launch=_Z4tailiPf:256x1x1")
    assert.matches("kernel tail: simd, gangs of 4 x 8 lanes: default\n", output)
    assert.matches("gangs of 1 x 8 lanes", run(source, "--mcpu=x86-64-v3 --report --launch=_Z4tailiPf:5x1x1"))
    assert.matches("there is no kernel 'f'", run(source, "--report --launch=f:1x1x1"))
  end)

  it("has a gang of one row, for uniform branches on threadIdx.y, rather than of several", function()
    local text = [[
      extern "C" __global__ void inside(int side, const float *in, float *out) {
        int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, i = y * side + x;
        if (x < side && %s) out[i] = in[i] * 2;
      }]]
    local options = "--mcpu=x86-64-v4 --report --launch=inside:32x8x1"
    assert.matches("gangs of 2 x 16 lanes: gangs of several rows would need masks", run(text:format "y > 0", options))
    assert.matches("gangs of 4 x 16 lanes: default", run(text:format "blockIdx.y > 0", options))
  end)

  it("has fewer vectors if each has several loop-carried sums, even if gangs wait for it", function()
    local text = [==[
      __global__ void sums(const float *a, float *out) {
        __shared__ float tile[64];
        float mine = a[threadIdx.x], %s = 0;
        for (int k = 0; k < 9; k++) {
          tile[threadIdx.x] = a[k * 64 + threadIdx.x];
          __syncthreads();
          #pragma unroll 1
          for (int i = 0; i < 64; i++) { float d = tile[i] - mine; %s; }
          __syncthreads();
        }
        out[threadIdx.x] = %s;
      }]==]
    local options = "--mcpu=x86-64-v4 --report --launch=_Z4sumsPKfPf:64x1x1"
    assert.matches("gangs of 4 x 16 lanes: the whole block is one gang", run(text:format("x", "x += d", "x"), options))
    local many = { {}, {}, {} }
    for i = 1, 9 do
      many[1][i] = "x" .. i .. (i < 9 and " = 0" or "")
      many[2][i] = ("x%d += d * %d"):format(i, i)
      many[3][i] = "x" .. i
    end
    local sums, steps, result = table.concat(many[1], ", "), table.concat(many[2], "; "), table.concat(many[3], " - ")
    assert.matches("gangs of 2 x 16 lanes: its loops accumulate from loads that threads share",
      run(text:format(sums, steps, result), options))
  end)

  describe("for small registers", function()
    local files = require "support.files"
    local function size(name, launch, processor)
      local text = files.benchmark(name)
      return run(text, ("--report --mcpu=%s --launch=%s"):format(processor, launch)):match "gangs of ([^\n]*)"
    end

    it("has whole blocks as one gang as well", function()
      assert.equal("32 x 8 lanes: the whole block is one gang", size("scan", "_Z4scaniPKfPf:256x1x1", "x86-64-v3"))
      assert.equal("32 x 8 lanes: the whole block is one gang", size("scan", "_Z4scaniPKfPf:256x1x1", "x86-64-v2"))
      assert.equal("16 x 16 lanes: the whole block is one gang",
        size("transpose", "_Z9transposeiPKfPf:16x16x1", "x86-64-v3"))
    end)

    it("counts code that threadIdx.x guards for the vectors that run it", function()
      local text = files.read "bench/held/fields/continuous/wavelet.cu"
      for processor, gang in pairs { ["x86-64-v4"] = "16 x 16", ["x86-64-v3"] = "32 x 8" } do
        local report = run(text, "--report --launch=_Z7waveletPKfPf:256x1x1 --mcpu=" .. processor)
        assert.equal(gang .. " lanes: the whole block is one gang", report:match "gangs of ([^\n]*)")
        local all = text:gsub("if %(t < half%)", "if (t < half || input[t] > 2)")
        report = run(all, "--report --launch=_Z7waveletPKfPf:256x1x1 --mcpu=" .. processor)
        assert.not_matches("whole block", report)
      end
      text = files.read "bench/held/strides/strides.cu" -- lanes far apart
      local report = run(text, "--report --launch=sweep_sums:256x1x1 --mcpu=x86-64-v3")
      assert.not_matches("whole block", report)
    end)

    it("has no whole blocks as one gang if their sums do not fit into registers", function()
      assert.matches("whole block is one gang", size("sgemm_tiled", "_Z11sgemm_tilediPKfS0_Pf:16x16x1", "x86-64-v4"))
      assert.matches("^4 x 16 lanes", size("sgemm_tiled", "_Z11sgemm_tilediPKfS0_Pf:16x16x1", "x86-64-v3"))
      assert.matches("^4 x 16 lanes", size("nbody", "_Z5nbodyiPK6float4PS_:256x1x1", "x86-64-v4"))
      assert.matches("^2 x 8 lanes", size("nbody", "_Z5nbodyiPK6float4PS_:256x1x1", "x86-64-v3"))
    end)

    it("has rows as long as a cache line if threads share lines", function()
      assert.matches("^16 x 16 lanes", size("sgemm_naive", "_Z11sgemm_naiveiPKfS0_Pf:16x16x1", "x86-64-v3"))
      assert.matches("^4 x 16 lanes", size("conv2d", "_Z6conv2diiPKfS0_Pf:16x16x1", "x86-64-v3"))
      assert.matches("^4 x 8 lanes", size("kmeans", "_Z6kmeansiPKfS0_Pi:256x1x1", "x86-64-v3"))
      local text = files.benchmark "sgemm_naive"
      local code = run(text, "--emit=asm --mcpu=x86-64-v3 --launch=_Z11sgemm_naiveiPKfS0_Pf:16x16x1")
      assert.equal(1, select(2, code:gsub("prefetch", "")))
    end)
  end)

  it("has prefetches of near memory in long iterations, one for each array", function()
    local function prefetches_of(rounds, before)
      local text = ([[
        __global__ void row(int n, const float *x, float *y) {
          float sum = 0;
          BEFORE
          for (int c = threadIdx.x; c < n; c += blockDim.x) {
            float v = x[c];
            WORK
            sum += v;
          }
          y[threadIdx.x] = sum;
        }]]):gsub("WORK", ("v = v * v + 3;"):rep(rounds)):gsub("BEFORE", before or "")
      local code = run(text, "--emit=ir --mcpu=x86-64-v4 --launch=_Z3rowiPKfPf:256x1x1")
      return select(2, code:gsub("call[^\n]* @llvm.prefetch", ""))
    end
    assert.equal(0, prefetches_of(2))
    local parts = prefetches_of(60)
    assert.is_true(parts == 4 or parts == 16)
    assert.equal(0, prefetches_of(60, "for (int c = threadIdx.x; c < n; c += blockDim.x) sum += x[c];"))
  end)

  it("has fewer lanes for kernels that mainly read several arrays", function()
    local function lanes(statement, type)
      local text = ([[
        __global__ void k(int n, const T *a, const T *b, T *c) {
          int i = blockIdx.x * blockDim.x + threadIdx.x;
          if (i < n) %s;
        }]]):format(statement):gsub("T", type or "float")
      local letter = { float = "f", double = "d", char = "c" }
      local class = ("--launch=_Z1kiPK%sS0_P%s:256x1x1"):format(letter[type or "float"], letter[type or "float"])
      return run(text, "--mcpu=x86-64-v4 --report " .. class):match "gangs of (%d x %d+) lanes"
    end
    assert.equal("4 x 8", lanes "c[i] = a[i] + b[i]")
    assert.equal("4 x 8", lanes "c[i] += 2 * a[i]")
    assert.equal("2 x 8", lanes("c[i] = a[i] + b[i]", "double"))
    assert.equal("4 x 16", lanes("c[i] = a[i] + b[i]", "char")) -- 16 bytes each
    assert.equal("4 x 16", lanes "c[i] = a[i]")
    assert.equal("4 x 16", lanes "c[i] = a[i] + a[i + 1]") -- one array
    assert.equal("4 x 16", lanes "c[i] = a[i] + b[2 * i]")
    assert.equal("4 x 16", lanes "c[i] = a[i] * a[i] * (b[i] + 1) * (b[i] + 2) * (b[i] + 3)")
  end)

  it("has more vectors for a divergent loop of arithmetic only", function()
    local text = [==[
      __global__ void rounds(int limit, const float *c, int *out) {
        float x = 0, step = c[threadIdx.x];
        int i = 0;
        while (x * x < 4 && i < limit) { x = x * x + %s; i++; }
        out[threadIdx.x] = i;
      }]==]
    local class = " --mcpu=x86-64-v4 --launch=_Z6roundsiPKfPi:64x1x1"
    assert.matches("gangs of 4 x 16 lanes: it has a divergent loop that is latency%-bound\n",
      run(text:format "step", "--report" .. class))
    assert.matches("gangs of 2 x 16 lanes: it has a divergent loop\n",
      run(text:format "c[i + threadIdx.x]", "--report" .. class))
    -- with sixteen registers, only if they hold the loop-carried values of all vectors
    local more = text:gsub("float x = 0", "float x = 0, y = 0, z = 0")
      :gsub("x = x %* x %+ %%s;", "z = z * y + step; y = y * x + z; %0")
    assert.matches("gangs of 4 x 16 lanes", run(more:format "step", "--report" .. class))
    assert.matches("gangs of 2 x 8 lanes: it has a divergent loop\n",
      run(more:format "step", "--report" .. class:gsub("v4", "v3")))
    -- a uniform condition is a branch, not a mask
    local code = run(text:format "step", "--emit=ir" .. class)
    assert.is_nil(code:find "insertelement <16 x i1>")
    assert.matches("fmul[^\n]* <16 x float>", code)
  end)

  it("has fewer vectors for loops with many simultaneously live loop-carried values", function()
    local function gangs(count, type, step)
      local names, starts, moves = {}, {}, {}
      for i = 1, count do
        names[i] = "v" .. i
        starts[i] = ("v%d = x[i + %d]"):format(i, i)
        moves[i] = i < count and ("v%d = v%d;"):format(i, i + 1) or ("v%d = old;"):format(i)
      end
      return run(([[
        extern "C" __global__ void rounds(int n, TYPE *x) {
          int i = blockIdx.x * blockDim.x + threadIdx.x;
          TYPE %s;
          #pragma unroll 1
          for (int k = 0; k < n; k++) { TYPE old = %s; %s }
          x[i] = %s;
        }]]):gsub("TYPE", type):format(table.concat(starts, ", "), step, table.concat(moves, " "),
          table.concat(names, " - ")),
        "--mcpu=x86-64-v4 --report --launch=rounds:256x1x1"):match "gangs of ([^\n]*)"
    end
    assert.equal("4 x 16 lanes: default", gangs(4, "unsigned", "v1 * 3 + (v2 ^ v3)"))
    assert.equal("2 x 16 lanes: its loop-carried values fill the registers", gangs(8, "unsigned", "v1 * 3 + (v2 ^ v3)"))
    assert.equal("4 x 16 lanes: default", gangs(4, "float", "v1 * 3 + v2 * v3"))
    assert.equal("4 x 16 lanes: its loops are latency-bound", gangs(8, "float", "v1 * 3 + v2 * v3"))
    assert.equal("2 x 16 lanes: its loop-carried values fill the registers",
      gangs(8, "float", "v1 * 3 + x[i + k * 1024]"))
    assert.equal("2 x 16 lanes: its loop-carried values fill the registers", gangs(12, "float", "v1 * 3 + v2 * v3"))
  end)

  it("has fewer vectors if there is much code between barriers", function()
    local function gangs(behind)
      local steps = {}
      for i = 1, 50 do steps[i] = ("x[i + %d] = x[i + %d] * %d; %s"):format(i * 512, i * 1024, i, behind) end
      return run(([[
        extern "C" __global__ void steps(float *x) {
          int i = blockIdx.x * blockDim.x + threadIdx.x;
          %s
        }]]):format(table.concat(steps, "\n")),
        "--mcpu=x86-64-v4 --report --launch=steps:512x1x1"):match "gangs of ([^\n]*)"
    end
    assert.equal("4 x 16 lanes: default", gangs "")
    assert.equal("2 x 16 lanes: its code is long", gangs "__syncthreads();")
  end)

  it("has the reason for the size of gangs", function()
    local function gangs(options)
      return run(source, "--mcpu=x86-64-v4 --report " .. options):match "gangs of ([^\n]*)"
    end
    assert.equal("2 x 8 lanes: as set by --width", gangs "--width=8x2")
    local fewer = ", fewer vectors because the block's size is not a multiple of the gang's"
    assert.equal("1 x 8 lanes: as set by --width" .. fewer, gangs "--width=8x2 --launch=_Z4tailiPf:5x1x1")
    assert.equal("2 x 16 lanes: default" .. fewer, gangs "--launch=_Z4tailiPf:96x1x1")
    assert.equal("4 x 8 lanes: default, fewer lanes because the block's rows are short (a larger blockDim.x fills " ..
      "the registers)", gangs "--launch=_Z4tailiPf:8x4x1")
    assert.matches("gangs of 2 x 16 lanes: a gang is a warp, since the kernel uses warp functions\n", run([[
      __global__ void turn(float *o) { o[threadIdx.x] = __shfl_xor_sync(~0u, o[threadIdx.x], 1); }]],
      "--mcpu=x86-64-v4 --report"))
  end)

  it("has at most as many lanes as __launch_bounds__ allows threads", function()
    local text = "__global__ void __launch_bounds__(%d) few(float *o) { o[threadIdx.x] += 1; }"
    local function gangs(threads)
      return run(text:format(threads), "--mcpu=x86-64-v4 --report"):match "gangs of ([^\n]*)"
    end
    assert.equal("1 x 8 lanes: code for blocks of any size, fewer lanes because of __launch_bounds__", gangs(8))
    assert.equal("1 x 4 lanes: code for blocks of any size, fewer lanes because of __launch_bounds__", gangs(2))
    assert.equal("1 x 16 lanes: code for blocks of any size", gangs(9))
    assert.equal("1 x 16 lanes: as set by --width",
      run(text:format(8), "--mcpu=x86-64-v4 --report --width=16"):match "gangs of ([^\n]*)")
  end)

  it("has contiguous accesses by 32-bit addresses in inline PTX", function()
    local output = run([=[
      __global__ void window(const float *in, float *out) {
        __shared__ float cell[256];
        unsigned at = (unsigned)__cvta_generic_to_shared(&cell[threadIdx.x]);
        asm volatile("st.shared.f32 [%0], %1;" :: "r"(at), "f"(in[threadIdx.x]) : "memory");
        __syncthreads();
        unsigned from = (unsigned)__cvta_generic_to_shared(cell) + 4 * threadIdx.x;
        asm volatile("ld.shared.f32 %0, [%1+4];" : "=f"(out[threadIdx.x]) : "r"(from - 4));
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(at), "l"(in + threadIdx.x + 256));
      }]=], "--report")
    assert.matches("4:%d+  contiguous store\n", output)
    assert.matches("7:%d+  contiguous load\n", output)
    assert.matches("8:%d+  contiguous store\n", output)
    assert.not_matches("gather", output)
    assert.not_matches("scatter", output)
  end)

  it("has the kinds of atomics", function()
    local output = run([=[
      __global__ void count(const int *a, int *o) {
        __shared__ int near[64];
        near[threadIdx.x] = 0;
        __syncthreads();
        atomicAdd(o, a[threadIdx.x]);
        atomicAdd(&o[a[threadIdx.x]], 1);
        atomicAdd(&near[a[threadIdx.x]], 1);
        o[atomicAdd(o + 1, 1)] = atomicCAS(o + 2, 0, 1);
        __syncthreads();
        o[threadIdx.x + 100] = near[threadIdx.x];
      }]=], "--report")
    assert.matches("5:%d+  joint atomic of all lanes\n", output)
    assert.matches("6:%d+  serialised atomic\n", output)
    assert.matches("7:%d+  serialised atomic, without a lock\n", output)
    assert.matches("8:%d+  serialised atomic\n.*8:%d+  joint atomic of all lanes\n", output)
  end)

  it("has the reason why a kernel has no lanes", function()
    assert.matches("kernel rows: loop: .*it is not vectorised: .*gather", run([=[
      __global__ void rows(const int *row, const int *column, const int *a, int *o) {
        int sum = 0;
        for (int j = row[threadIdx.x]; j < row[threadIdx.x + 1]; j++) sum += a[column[j]];
        o[threadIdx.x] = sum;
      }]=], "--report"))
  end)

  it("has lanes for a kernel that chases pointers, with AVX-512", function()
    local text = [[
      __global__ void walk(int n, const int *a, int *o) {
        int at = threadIdx.x, sum = 0;
        while (at != n) { sum += a[at]; at = a[at]; }
        o[threadIdx.x] = sum;
      }]]
    assert.matches("kernel walk: simd", run(text, "--report --mcpu=x86-64-v4"))
    assert.matches("kernel walk: loop", run(text, "--report --mcpu=x86-64-v3"))
  end)
end)

describe("gangs of loops with many sums", function()
  it("have one vector where two of doubles are more than all registers", function()
    local text = [[
      extern "C" __global__ void sums(int n, const TYPE *a, const TYPE *b, TYPE *c) {
        int column = blockIdx.x * blockDim.x + threadIdx.x, row = 4 * blockIdx.y, step = n / 4;
        TYPE s[4][4];
        for (int i = 0; i < 4; i++)
          for (int j = 0; j < 4; j++) s[i][j] = 0;
        for (int k = 0; k < n; k++)
          for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) s[i][j] += a[(row + i) * n + k] * b[k * n + column + j * step];
        for (int i = 0; i < 4; i++)
          for (int j = 0; j < 4; j++) c[(row + i) * n + column + j * step] = s[i][j];
      }]]
    local function gangs(type)
      local options = "--mcpu=x86-64-v4 --report --launch=sums:64x1x1"
      return mwcc.run(text:gsub("TYPE", type), options):match "gangs of (%d+) x 16"
    end
    assert.equal("1", gangs "double")
    assert.equal("2", gangs "float")
  end)
end)
