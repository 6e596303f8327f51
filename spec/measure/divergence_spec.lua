-- Where the lanes of a warp come together again: requests and sectors of kernels whose lanes part in loops, by breaks,
-- returns and conditions of several parts, as Nsight Compute counted them on an H100 with nvcc's code. A GPU measures
-- them all; the CPU device, which runs code for all lanes that reach it at once, only those that need no more.

local mw = require "moonwarp"
local suite = require "support.suite"

local unpack = table.unpack or unpack -- luacheck: ignore 143

-- Loads: requests, sectors; stores: requests, sectors. `gpu`: the CPU device counts less.
local KERNELS = {
  ["a break and a continue"] = { 6, 29, 7, 27, [=[
  int j = 0;
  #pragma unroll 1
  for (; j < n; j++) {
    int v = k[(i + j * 37) & 1023];
    if (v == 0)
      break;
    if (v < 4)
      continue;
    y[i + j * 1024] = v;
  }
  y[i + n * 1024] = j;]=] },
  ["a break in a branch"] = { 18, 87, 19, 86, [=[
  #pragma unroll 1
  for (int j = 0; j < n; j++) {
    int v = k[(i + j * 37) & 1023];
    if (v & 1) {
      y[i + 5] = v;
      if (k[v + i] == 7) break;
      y[i + 1024] = v + j;
    }
    y[i + 2048 + j] = k[i + 3 * j];
  }
  y[i] = 2;]=] },
  ["returns"] = { 5, 21, 5, 20, [=[
  if (k[i] & 1) {
    y[i] = 4;
    if (k[i + 32] & 1) { y[i + 64] = k[i + 64]; return; }
    y[i + 128] = k[i + 128];
  }
  y[i + 256] = 3;
  if (k[i + 99] == 3) return;
  y[i + 512] = 5;]=] },
  ["a condition of several parts"] = { 8, 26, 5, 15, gpu = true, [=[
  if (k[i] == 1 || k[k[i] + i + 1] == 2 || (k[i + 5] > 4 && k[k[i + 5]] > 3))
    y[i] = k[i + 77];
  else
    y[i + 100] = k[i + 7];
  y[i + 200] = 5;]=] },
  ["a condition of several parts before a loop"] = { 20, 66, 9, 30, gpu = true, [=[
  if (k[i] == 1 || (k[i + 5] > 4 && k[k[i + 5] + i] > 3) || k[i + 40] == 2) {
    for (int j = 0; j < k[i + 1]; j++) y[i + 32 * j] = k[i + 77 + j * 3];
  } else {
    y[i + 1000] = k[i + 7];
  }
  y[i + 2000] = 5;]=] },
  ["a lock"] = { 35, 38, 35, 38, gpu = true, [=[
  if (k[i] & 1) {
    while (atomicCAS(y + 1000, 0, 1) != 0) ;
    if (k[i] & 2) y[2000] += 1; else y[2001] += 1;
    __threadfence();
    atomicExch(y + 1000, 0);
  }
  y[i] = 2;]=] },
  ["a switch with a case that falls through"] = { 2, 8, 5, 16, [=[
  switch (k[i]) {
  case 0: y[i] = 1; break;
  case 1: y[i + 32] = 1; // falls through
  case 2: y[i + 64] = k[i + 1]; break;
  case 3: case 4: return;
  default: y[i + 128] = 5;
  }
  y[i + 256] = 3;]=] },
  ["code before a break"] = { 32, 76, 47, 99, gpu = true, [=[
  __shared__ int found;
  if (i == 0) found = 0;
  __syncthreads();
  #pragma unroll 1
  for (int j = i; j < 1024; j += 32) {
    if (k[j] == 7) { y[j] = j; atomicAdd(&found, 1); break; }
    y[j + 1024] = 1;
  }
  __syncthreads();
  y[i + 4096] = found;]=] },
  ["a return in a loop that begins with a part of the warp"] = { 29, 81, 30, 70, [=[
  if (i >= 20) return;
  #pragma unroll 1
  for (int j = i; j < 200; j += 20) {
    if (k[j] == 0) {
      y[j] = 4;
    } else if (k[j] == 1) {
      y[j + 1024] = 1;
      if (k[j + 1] == 3) return;
    }
    y[j + 2048] = k[j + 1];
  }
  y[i + 4000] = 3;]=] },
}

local METRICS = { "requests_pipe_lsu_mem_global_op_ld", "sectors_pipe_lsu_mem_global_op_ld",
  "requests_pipe_lsu_mem_global_op_st", "sectors_pipe_lsu_mem_global_op_st" }

-- Small numbers, the same as those that were given to Nsight Compute.
local function numbers()
  local list, seed = {}, 3
  for n = 1, 16384 do
    seed = (seed * 1664525 + 1013904223) % 4294967296
    list[n] = math.floor(seed / 256) % 8
  end
  return list
end

describe("lanes that part come together where a GPU brings them together:", function()
  local k = mw.array(numbers(), "int")
  local function test(name, kernel)
    it(name, function()
      local m = mw.compile("extern \"C\" __global__ void f(int n, const int *k, int *y) {\n  int i = threadIdx.x;\n" ..
        kernel[5] .. "\n}\n")
      local r, got = mw.measure(m.f, 1, 32)(6, k, mw.zeros(65536, "int")), {}
      for n, metric in ipairs(METRICS) do got[n] = r.ncu["l1tex__t_" .. metric .. ".sum"] end
      assert.same({ unpack(kernel, 1, 4) }, got)
    end)
  end
  for name, kernel in pairs(KERNELS) do
    if suite.on_gpu or not kernel.gpu then test(name, kernel) end
  end
end)
