-- Which kernels have screened code (src/mwcc/prepare/race_screen.c): they note accesses in cells.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mwcc = require "support.mwcc"

local function notes_cells(text, checks)
  return mwcc.after(text, "vectorize", "--checks=" .. checks):find("mw.cells", 1, true) ~= nil
end

local function is_screened(body, checks)
  return notes_cells("__global__ void k(int n, int *y) { int t = threadIdx.x;\n" .. body .. "\n}", checks)
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

  -- Structs that members of parameters are copied to are registers, and a pointer in a parameter is known as one.
  it("is made of kernels whose arrays are fields of struct parameters", function()
    for _, checks in ipairs { races, all } do
      assert.is_true(notes_cells([[
struct Matrix { int width, height, stride; float *elements; };
__device__ float get(Matrix a, int row, int column) { return a.elements[row * a.stride + column]; }
__device__ void set(Matrix a, int row, int column, float value) { a.elements[row * a.stride + column] = value; }
__device__ Matrix tile(Matrix a, int row) {
  Matrix sub;
  sub.width = a.width; sub.height = 16; sub.stride = a.stride;
  sub.elements = a.elements + row * a.stride;
  return sub;
}
__global__ void k(Matrix a, Matrix b) {
  Matrix from = tile(a, blockIdx.y * 16), to = tile(b, blockIdx.y * 16);
  set(to, threadIdx.y, threadIdx.x, get(from, threadIdx.y, threadIdx.x));
}]], checks))
    end
    assert.is_false(notes_cells([[
struct Rows { float *at; };
__global__ void k(Rows a) { if (threadIdx.x & 1) a.at += 32; a.at[threadIdx.x] = 1; }]], races))
  end)

  it("is not made of kernels that print, or access memory that has no cells", function()
    for _, body in ipairs {
      'y[t] = t; printf("%d", t);', "*(volatile int *)&y[t] = t;", "int **p = (int **)y; *p[t] = 1;",
    } do
      assert.is_false(is_screened(body, races), body)
    end
  end)
end)
