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

local races, all, values = 16 + 2, 16 + 15, 16 + 8

local function count(text, what)
  return select(2, text:gsub(what, ""))
end

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

  it("tests the values that a loop loads after the loop, and follows none of them", function()
    local text = [[
__global__ void k(int n, const float *x, float *y) {
  float sum = 0;
  for (int i = 0; i < n; i++) sum += x[i] * x[i + threadIdx.x];
  y[threadIdx.x] = sum > 1 ? sum : 2 * sum;
}]]
    assert.equal(1, count(mwcc.after(text, "normal-form", "--checks=" .. values), "call void @__mw_check_event_if"))
    assert.is_true(count(mwcc.after(text, "normal-form", "--checks=8"), "call void @__mw_check_event_if") > 1)
  end)

  it("has the shadows of local variables in registers", function()
    for _, checks in ipairs { 8, values } do
      local text = mwcc.after([[
__device__ float scaled(float x, int *exponent) {
  *exponent = (__float_as_int(x) >> 23) - 127;
  int bits = *(int *)&x & 0x7fffff | 0x3f800000;
  return *(float *)&bits;
}
__global__ void k(const float *x, float *y) {
  int exponent;
  float m = scaled(x[threadIdx.x], &exponent);
  y[threadIdx.x] = m * exponent;
}]], "normal-form", "--checks=" .. checks)
      assert.equal(0, count(text, " = alloca "))
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
