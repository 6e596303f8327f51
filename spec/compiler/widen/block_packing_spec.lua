-- Small blocks side by side share a gang (src/mwcc/widen/flow/block_packing.c): which kernels, and that each thread has
-- the ids of its own block.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

-- The number of blocks that run as one; 1: blocks run alone.
local function pack(body, block, options)
  local source = ('extern "C" __global__ void f(int n, const float *x, float *y) {\n%s\n}'):format(body)
  local text = mwcc.run(source, "--mcpu=x86-64-v3 --report --launch=f:" .. block .. (options and " " .. options or ""))
  assert.matches("kernel f: ", text)
  return tonumber(text:match "block packing: (%d+) adjacent blocks run as one" or 1)
end

local plain = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] + 1;"

describe("blocks of few threads", function()
  it("fill the lanes of a gang together", function()
    assert.equal(32, pack(plain, "1x1x1"))
    assert.equal(16, pack(plain, "2x1x1"))
    assert.equal(8, pack(plain, "4x1x1"))
    assert.equal(8, pack("y[blockIdx.x * 4 + threadIdx.x] = blockIdx.x + 100.0f * threadIdx.x;", "4x1x1"))
    assert.equal(32, pack("for (int k = 0; k < n; k++) y[blockIdx.x] += x[k];", "1x1x1"))
    assert.equal(32, pack("atomicAdd((int *)y + (int)x[blockIdx.x], 1);", "1x1x1"))
  end)

  it("run alone where they fill a vector, or could observe each other", function()
    assert.equal(1, pack(plain, "8x1x1"))
    assert.equal(1, pack(plain, "3x1x1"))
    assert.equal(1, pack(plain, "4x1x1:one"))
    assert.equal(1, pack(plain, "4x1x1", "--without=block-packing"))
    assert.equal(1, pack("__shared__ float s[4]; s[threadIdx.x] = x[blockIdx.x * 4 + threadIdx.x]; __syncthreads();"
      .. "y[blockIdx.x * 4 + threadIdx.x] = s[3 - threadIdx.x];", "4x1x1"))
    assert.equal(1, pack("y[blockIdx.x * 4 + threadIdx.x] = __shfl_sync(15, x[blockIdx.x * 4 + threadIdx.x], 1);",
      "4x1x1"))
    assert.equal(1, pack("while (atomicAdd((int *)y, 0) != blockIdx.x) ; atomicAdd((int *)y, 1);", "1x1x1"))
  end)

  it("have ids of their own, in rows of any length, and run once", function()
    local before = mw.limit("specialise", 0)
    finally(function() mw.limit("specialise", before) end)
    local m = mw.compile [[
      __global__ void ids(int *out) {
        int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
        int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
        int *to = out + 8 * (block * blockDim.x * blockDim.y * blockDim.z + thread);
        to[0] += blockIdx.x, to[1] += blockIdx.y, to[2] += blockIdx.z;
        to[3] += threadIdx.x, to[4] += threadIdx.y, to[5] += threadIdx.z;
        to[6] += blockIdx.x * blockDim.x + threadIdx.x, to[7] += 1;
      }]]
    for _, block in ipairs { { 1, 1, 1 }, { 2, 1, 1 }, { 1, 2, 2 } } do
      for _, grid in ipairs { { 1, 1, 1 }, { 31, 1, 1 }, { 32, 1, 1 }, { 75, 1, 1 }, { 33, 3, 2 }, { 5, 7, 1 },
        { 1003, 1, 1 } } do
        local threads, blocks = block[1] * block[2] * block[3], grid[1] * grid[2] * grid[3]
        local out = mw.zeros(8 * threads * blocks, "int")
        m.ids(grid, block)(out)
        local got, at = out:totable(), 0
        for b = 0, blocks - 1 do
          local bx, by, bz = b % grid[1], b // grid[1] % grid[2], b // (grid[1] * grid[2])
          for t = 0, threads - 1 do
            local tx, ty, tz = t % block[1], t // block[1] % block[2], t // (block[1] * block[2])
            for k, value in ipairs { bx, by, bz, tx, ty, tz, bx * block[1] + tx, 1 } do
              if got[at + k] ~= value then
                error(("%d instead of %d, number %d of block %d, thread %d"):format(got[at + k], value, k, b, t))
              end
            end
            at = at + 8
          end
        end
      end
    end
  end)

  it("names the pack's first block when one of them fails", function()
    local before = mw.limit("specialise", 0)
    finally(function() mw.limit("specialise", before) end)
    local m = mw.compile [[__global__ void strays(int *out, int where) {
      int i = blockIdx.x;
      out[i == where ? 100000000 : i] = i;
    }]]
    local out = mw.zeros(300, "int")
    local ok, why = pcall(function()
      m.strays(300, 1)(out, 150)
      mw.synchronize()
    end)
    assert.is_false(ok)
    local first, others = tostring(why):match "block %((%d+),0,0%) or one of the (%d+) after it"
    assert.is_truthy(first, why)
    assert.is_true(tonumber(first) <= 150 and 150 <= first + others, why)
  end)
end)
