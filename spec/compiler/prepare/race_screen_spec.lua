-- Which kernels have screened code (src/mwcc/prepare/race_screen.c): they note accesses in cells.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mwcc = require "support.mwcc"

local function is_screened(body, checks)
  local text = mwcc.after("__global__ void k(int n, int *y) { int t = threadIdx.x;\n" .. body .. "\n}", "vectorize",
    "--checks=" .. checks)
  return text:find("mw.cells", 1, true) ~= nil
end

local races, all = 16 + 2, 16 + 15

describe("screened code", function()
  it("is made of kernels with barriers, atomics, warp functions and fences", function()
    for _, body in ipairs {
      "y[t] = t; __syncthreads(); y[t] += y[t ^ 64];", "y[t] = atomicAdd(&y[n], 1);",
      "y[t] = __shfl_down_sync(0xffffffff, y[t], 1);", "y[t] = __popc(__ballot_sync(0xffffffff, y[t] > 3));",
      "y[t] = t; __syncwarp(); y[t ^ 1] += 1;", "y[t] = t; __threadfence(); if (t == 0) atomicAdd(&y[n], 1);",
      "y[t] = t; __threadfence_block(); y[t] += 1;",
    } do
      assert.is_true(is_screened(body, races), body)
      assert.is_true(is_screened(body, all), body)
    end
  end)

  it("is not made of kernels that print, or access memory that has no cells", function()
    for _, body in ipairs {
      'y[t] = t; printf("%d", t);', "*(volatile int *)&y[t] = t;", "int **p = (int **)y; *p[t] = 1;",
    } do
      assert.is_false(is_screened(body, races), body)
    end
  end)
end)
