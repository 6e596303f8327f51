-- If a grid has fewer blocks than workers, the gangs of blocks are distributed over workers.
-- Lua 5.4 only: the compiler and the runtime are tested.
-- CPU device only: about the code that mwcc makes for lanes

local mwcc = require "support.mwcc"
local run = require "support.child"

-- A kernel with the body, whose threads have a loop.
local function source(body, before)
  return ([[%s
    extern "C" __global__ void k(int n, const int *a, int *out) {
      __shared__ int shared[64];
      int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, sum = 0;
      %s
    }]]):format(before or "", body)
end

-- Whether code for grids of few blocks counts gangs.
local function is_shared(text, class)
  local options = "--verify --mcpu=x86-64-v4 --report --launch=k:"
  local report = mwcc.run(text, options .. (class or "256x1x1:few"))
  assert.matches("kernel k: simd", report)
  return report:find("gang sharing", 1, true) ~= nil
end

local LOOP = "for (int j = 0; j < n; j++) sum = sum * 3 + a[(i + j) % n]; "

describe("gangs of blocks are distributed over workers", function()
  it("if threads have loops and never wait", function()
    assert.is_true(is_shared(source(LOOP .. "out[i] = sum;")))
    assert.is_true(is_shared(source(LOOP .. "out[i] = sum;"), "256x1x1:one"))
    assert.is_true(is_shared(source(LOOP .. "out[i] = sum;"), "100x2x1:2:few"))
    assert.is_true(is_shared(source(LOOP .. "atomicAdd(out, sum);")))
    assert.is_true(is_shared(source(LOOP .. "out[i] = __shfl_xor_sync(~0u, sum, 1);")))
  end)

  it("but not in other kernels", function()
    assert.is_false(is_shared(source(LOOP .. "out[i] = sum;"), "256x1x1"), "of many blocks")
    assert.is_false(is_shared(source(LOOP .. "out[i] = sum;"), "16x1x1:few"), "of one gang")
    assert.is_false(is_shared(source "out[i] = a[i] * n;"), "of no loop")
    assert.is_false(is_shared(source(LOOP .. "out[i] = atomicAdd(&out[sum & 1], 1);")), "that tell the order")
    assert.is_false(is_shared(source(LOOP .. "__syncthreads(); out[i] = sum;")), "that wait")
    local counts = "atomicAdd(&shared[t & 63], sum); out[i] = shared[t];"
    assert.is_false(is_shared(source(LOOP .. counts)), "of shared memory")
  end)

  it("with the results of the loop tier", function()
    local text = [[
      __device__ int number() {
        return ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * blockDim.x * blockDim.y * blockDim.z +
               (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
      }
      __global__ void loop(int n, const int *a, int *out) {
        int i = number(), sum = threadIdx.x + 7 * threadIdx.y + 31 * threadIdx.z + 1000 * blockIdx.x;
        for (int j = 0; j < n; j++) sum = sum * 3 + a[(i + j) % n];
        out[i] += sum;
      }
      __global__ void parts(int n, const int *a, int *out) {
        int i = number(), local[8];
        for (int j = 0; j < 8; j++) local[(i + j) & 7] = a[j] + i;
        for (int j = 0; j < i % n; j++) {
          if (j % 5 == threadIdx.x % 5) continue;
          if (j > 20 + i % 7) break;
          local[j & 7] += local[a[j] & 7] ^ j;
        }
        out[i] += local[i & 7];
      }
      __global__ void warps(int n, const int *a, int *out) {
        int i = number(), sum = i;
        for (int j = 0; j < n; j++) sum += __shfl_down_sync(~0u, sum, j & 15) ^ a[j];
        out[i] += sum + __popc(__ballot_sync(~0u, sum & 1));
      }]]
    local script = ([[
      local mw = require "moonwarp"
      local m = mw.compile [=[%s]=]
      local n = 37
      local numbers = {}
      for i = 1, n do numbers[i] = i * 7919 %% 1009 end
      local a, hash = mw.array(numbers, "int"), 0
      local grids = { { 1 }, { 2 }, { 7 }, { 3, 2 }, { 2, 1, 3 }, { 40 } }
      local blocks = {
        { 96 }, { 256 }, { 100 }, { 1000 }, { 16, 16 }, { 32, 8 }, { 5, 7, 3 }, { 4, 4, 4 }, { 64, 2, 2 },
      }
      for _, name in ipairs { "loop", "parts", "warps" } do
        for _, grid in ipairs(grids) do
          for _, block in ipairs(blocks) do
            local size = (grid[1] or 1) * (grid[2] or 1) * (grid[3] or 1)
            for axis = 1, 3 do size = size * (block[axis] or 1) end
            local out = mw.zeros(size, "int")
            for _ = 1, 2 do m[name](grid, block)(n, a, out) end
            for i, number in ipairs(out:totable()) do hash = (hash * 31 + number + i) %% 0x7fffffff end
          end
        end
        print(name, hash)
      end
    ]]):format(text)
    local function result(threads, specialise)
      local environment = { MOONWARP_THREADS = threads, MOONWARP_SPECIALISE = specialise }
      return run({ script, environment = environment }).output
    end
    local want = result("1", "1000000000000")
    assert.matches("warps%s+%d+", want)
    for _, threads in ipairs { "1", "2", "5" } do assert.equal(want, result(threads, "0")) end
  end)

  it("in a graph as well", function()
    local result = run { [[
      local mw = require "moonwarp"
      local m = mw.compile [=[__global__ void add(int n, int *x) {
        for (int i = 0; i < n; i++) x[threadIdx.x] += i * n % 5;
      }]=]
      local s, x = mw.stream(), mw.zeros(512, "int")
      local graph = mw.capture(s, function() for _ = 1, 5 do m.add(1, 512, 0, s)(9, x) end end)
      local exec = graph:instantiate()
      for _ = 1, 4 do exec:launch(s) end
      mw.synchronize()
      print(x:min(), x:max())
    ]], environment = { MOONWARP_THREADS = "3", MOONWARP_SPECIALISE = "0" } }
    local sum = 0
    for i = 0, 8 do sum = sum + i * 9 % 5 end
    assert.equal(("%d\t%d\n"):format(20 * sum, 20 * sum), result.output)
  end)

  it("and a fault's report has the block", function()
    local result = run { [[
      local mw = require "moonwarp"
      local m = mw.compile [=[__global__ void far(int n, int *x) {
        int sum = 0;
        for (int i = 0; i < n; i++) sum = sum * 3 + x[i];
        if (blockIdx.x == 2 && blockIdx.y == 1) x += (size_t)1 << 50;
        x[threadIdx.x] = sum;
      }]=]
      for _ = 1, 2 do
        m.far({ 3, 2 }, 256)(4, mw.zeros(256, "int"))
        local _, err = pcall(mw.synchronize)
        print(err.block[1], err.block[2])
      end
    ]], environment = { MOONWARP_THREADS = "4", MOONWARP_SPECIALISE = "0" } }
    assert.equal(("2\t1\n"):rep(2), result.output)
  end)

  it("with the same results in cooperative launches", function()
    local result = run { [[
      local mw = require "moonwarp"
      local m = mw.compile "__global__ void add(int n, int *x) { for (int i = 0; i < n; i++) x[threadIdx.x] += i; }"
      local x = mw.zeros(256, "int")
      for _ = 1, 3 do m.add(1, 256)(10, x) end
      m.add:cooperative(1, 256)(10, x)
      mw.synchronize()
      print(x:min(), x:max())
    ]], environment = { MOONWARP_THREADS = "4", MOONWARP_SPECIALISE = "0" } }
    assert.equal("180\t180\n", result.output)
  end)

  it("and a module with only such code refuses other launches", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "wb"))
    file:write(mwcc.run(source(LOOP .. "out[i] = sum;"), "--launch=k:256x1x1:few"))
    file:close()
    local result = run { ([[
      local mw = require "moonwarp"
      local m = mw.load(%q)
      local a, out = mw.ones(1024, "int"), mw.zeros(1024, "int")
      m.k(4, 256)(5, a, out)
      print(out:min(), out:max())
      local ok, err = pcall(function() m.k(8, 128)(5, a, out) end)
      print(ok, err.code, err.message:match "mwcc %%-%%-launch")
    ]]):format(path) }
    os.remove(path)
    assert.equal("121\t121\nfalse\tcudaErrorInvalidConfiguration\tmwcc --launch\n", result.output)
  end)
end)
