-- Tensor maps of pixels: copies by cp.async.bulk.tensor in the mode im2col, in both directions, compared with plain
-- loops (PTX ISA, "Tensors", im2col mode; driver API, cuTensorMapEncodeIm2col).

local mw = require "moonwarp"
local suite = require "support.suite"

local kernels = [==[
template <int N> __global__ void pixels(const __grid_constant__ CUtensorMap map, const int *at, const short *off,
                                        unsigned int *out, int words) {
  extern __shared__ __align__(1024) unsigned int tile[];
  __shared__ unsigned long long bar;
  unsigned int b = (unsigned int)__cvta_generic_to_shared(&bar), to = (unsigned int)__cvta_generic_to_shared(tile);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(b));
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" : : "r"(b), "r"(words * 4) : "memory");
    if (N == 3)
      asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
                   "[%0], [%1, {%2, %3, %4}], [%5], {%6};"
                   : : "r"(to), "l"(&map), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(b), "h"(off[0]) : "memory");
    if (N == 4)
      asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
                   "[%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};"
                   : : "r"(to), "l"(&map), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(b), "h"(off[0]),
                       "h"(off[1]) : "memory");
    if (N == 5)
      asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
                   "[%0], [%1, {%2, %3, %4, %5, %6}], [%7], {%8, %9, %10};"
                   : : "r"(to), "l"(&map), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]), "r"(b),
                       "h"(off[0]), "h"(off[1]), "h"(off[2]) : "memory");
  }
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W; }"
               : : "r"(b) : "memory");
  for (int i = threadIdx.x; i < words; i += blockDim.x) out[i] = tile[i];
}

__global__ void back(const __grid_constant__ CUtensorMap map, int w, int h, int n, int words) {
  extern __shared__ __align__(128) unsigned int tile[];
  for (int i = threadIdx.x; i < words; i += blockDim.x) tile[i] = 1000 + i;
  asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [%0, {%1, %2, %3, %4}], [%5];"
                 : : "l"(&map), "r"(0), "r"(w), "r"(h), "r"(n), "r"((unsigned int)__cvta_generic_to_shared(tile))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

// A convolution: a block computes 32 outputs of one channel of a 3 x 3 filter, a copy for each of the filter's weights.
__global__ void convolve(const __grid_constant__ CUtensorMap map, const float *weights, float *out, int width,
                         int height, int channels) {
  extern __shared__ __align__(128) float part[];
  __shared__ unsigned long long bar;
  unsigned int b = (unsigned int)__cvta_generic_to_shared(&bar), to = (unsigned int)__cvta_generic_to_shared(part);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(b));
  __syncthreads();
  int first = blockIdx.x * 32, phase = 0;
  float sum = 0;
  for (int y = 0; y < 3; y++) {
    for (int x = 0; x < 3; x++) {
      if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                     : : "r"(b), "r"(32 * channels * 4) : "memory");
        asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};"
                     : : "r"(to), "l"(&map), "r"(0), "r"(first % width - 1), "r"(first / width % height - 1),
                         "r"(first / width / height), "r"(b), "h"((short)x), "h"((short)y) : "memory");
      }
      asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra W; }"
                   : : "r"(b), "r"(phase) : "memory");
      phase ^= 1;
      for (int c = 0; c < channels; c++) sum += weights[(y * 3 + x) * channels + c] * part[threadIdx.x * channels + c];
      __syncthreads();
    }
  }
  out[first + threadIdx.x] = sum;
}
]==]

-- One case: the array's shape without the channels (outermost first), the corners, steps, first pixel and offsets
-- (innermost first, as the instruction has them).
local cases = {
  { shape = { 3, 4, 5 }, pixels = 8, at = { 0, 0, 0 } },
  { shape = { 3, 4, 5 }, upper = { -2, -2 }, pixels = 16, at = { 1, 1, 0 } },
  { shape = { 3, 4, 5 }, upper = { -2, -2 }, pixels = 16, at = { 1, 1, 0 }, off = { 2, 1 } },
  { shape = { 3, 4, 5 }, lower = { -1, -1 }, upper = { -1, -1 }, pixels = 24, at = { -1, -1, 1 }, off = { 1, 2 } },
  { shape = { 2, 6, 7 }, lower = { -1, -1 }, upper = { -1, -1 }, step = { 2, 2 }, pixels = 16, at = { -1, -1, 0 } },
  { shape = { 2, 6, 7 }, lower = { -1, -1 }, upper = { -1, -1 }, step = { 2, 3 }, pixels = 16, at = { 1, 2, 0 },
    off = { 1, 1 } },
  { shape = { 2, 6, 7 }, upper = { 1, 1 }, step = { 3, 2 }, pixels = 20, at = { 0, 0, 0 } },
  { shape = { 3, 4, 5 }, pixels = 16, at = { 2, 3, 2 } },
  { shape = { 3, 9 }, lower = { -2 }, upper = { -3 }, pixels = 20, at = { -2, 0 }, off = { 3 } },
  { shape = { 3, 9 }, lower = { -2 }, upper = { -3 }, step = { 2 }, pixels = 12, at = { -2, 0 }, off = { 1 } },
  { shape = { 2, 3, 3, 3 }, lower = { -1, -1, -1 }, upper = { -1, -1, -1 }, pixels = 40, at = { -1, -1, -1, 0 },
    off = { 1, 1, 1 } },
  { shape = { 2, 5, 3, 4 }, lower = { -1, 0, -1 }, upper = { -1, 0, 0 }, step = { 2, 1, 2 }, pixels = 30,
    at = { -1, 0, -1, 0 }, off = { 0, 2, 1 } },
}

local function reversed(list, default, count)
  local out = {}
  for d = 1, count do out[d] = list and list[count + 1 - d] or default end
  return out
end

local function map_of(a, case, channels)
  local inner = #case.shape - 1
  local step = reversed(case.step, 1, inner)
  table.insert(step, 1, 1)
  step[#step + 1] = 1
  return mw.tensor_map(a, { step = step, im2col = { channels = channels, pixels = case.pixels,
    lower = reversed(case.lower, 0, inner), upper = reversed(case.upper, 0, inner) } })
end

-- The number of each pixel in the array, or nil where it is outside: a plain loop over the bounding box.
local function places(case)
  local inner, list = #case.shape - 1, {}
  local size, at = reversed(case.shape, 1, inner + 1), {}
  for d = 1, inner + 1 do at[d] = case.at[d] end
  for p = 1, case.pixels do
    local number, stride, inside = 0, 1, true
    for d = 1, inner + 1 do
      local where = at[d] + (d <= inner and case.off and case.off[d] or 0)
      inside = inside and where >= 0 and where < size[d]
      number, stride = number + where * stride, stride * size[d]
    end
    list[p] = inside and number or nil
    local d = 1
    while d <= inner do
      at[d] = at[d] + (case.step and case.step[d] or 1)
      if at[d] <= size[d] - 1 + (case.upper and case.upper[d] or 0) then break end
      at[d] = case.lower and case.lower[d] or 0
      d = d + 1
    end
    if d > inner then at[d] = at[d] + 1 end
  end
  return list
end

describe("a tensor map of pixels", function()
  local m = mw.compile { source = "#include <cuda.h>\n" .. kernels, options = { "-arch=compute_90" } }
  local CHANNELS = 8

  local function array(case)
    local count, shape = CHANNELS, {}
    for d, size in ipairs(case.shape) do count, shape[d] = count * size, size end
    shape[#shape + 1] = CHANNELS
    return mw.arange(1, count + 1, 1, "uint"):reshape(shape), count
  end

  it("copies them one after the other within the bounding box, with offsets", function()
    for number, case in ipairs(cases) do
      local a = array(case)
      local words, N = case.pixels * 4, #case.shape + 1
      for channel = 0, 4, 4 do -- half of the channels
        local out, at = mw.zeros(words, "uint"), { channel }
        for d = 1, N - 1 do at[d + 1] = case.at[d] end
        m["pixels<" .. N .. ">"](1, 32, words * 4)(map_of(a, case, 4), mw.array(at, "int"),
          mw.array(case.off or { 0, 0, 0 }, "short"), out, words)
        local list, where = out:totable(), places(case)
        for i = 0, words - 1 do
          local pixel = where[math.floor(i / 4) + 1]
          assert.equal(pixel and pixel * CHANNELS + channel + i % 4 + 1 or 0, list[i + 1], "case " .. number)
        end
      end
    end
  end)

  it("writes them back without offsets", function()
    local with_steps = { shape = { 2, 6, 7 }, step = { 2, 3 }, pixels = 16, at = { 0, 0, 0 } }
    for _, case in ipairs { cases[1], cases[2], with_steps } do
      local a, count = array(case)
      local expected = {}
      for i = 1, count do expected[i] = i end
      m.back(1, 32, case.pixels * CHANNELS * 4)(map_of(a, case, CHANNELS), case.at[1], case.at[2], case.at[3],
        case.pixels * CHANNELS)
      local where = places(case)
      for p = 1, case.pixels do
        for c = 0, CHANNELS - 1 do
          if where[p] then expected[where[p] * CHANNELS + c + 1] = 1000 + (p - 1) * CHANNELS + c end
        end
      end
      assert.same(expected, a:reshape(count):totable())
    end
  end)

  it("convolves", function()
    local n, height, width, channels = 2, 8, 8, 4
    local a = (mw.arange(0, n * height * width * channels, 1, "float") % 13):reshape(n, height, width, channels)
    local weights, out = mw.arange(0, 9 * channels, 1, "float") % 5, mw.zeros(n * height * width)
    local map = mw.tensor_map(a, { im2col = { channels = channels, pixels = 32, lower = { -1, -1 },
      upper = { -1, -1 } } })
    m.convolve(n * height * width / 32, 32, 32 * channels * 4)(map, weights, out, width, height, channels)
    local list = out:totable()
    for i = 0, n * height * width - 1 do
      local x, y, picture, sum = i % width, math.floor(i / width) % height, math.floor(i / width / height), 0
      for dy = -1, 1 do
        for dx = -1, 1 do
          for c = 0, channels - 1 do
            if x + dx >= 0 and x + dx < width and y + dy >= 0 and y + dy < height then
              local at = ((picture * height + y + dy) * width + x + dx) * channels + c
              sum = sum + at % 13 * ((((dy + 1) * 3 + dx + 1) * channels + c) % 5)
            end
          end
        end
      end
      assert.equal(sum, list[i + 1])
    end
  end)

  it("is refused where CUDA refuses it", function()
    local a = mw.zeros(2, 4, 4, 8)
    local function message(options, of)
      local ok, err = pcall(mw.tensor_map, of or a, options)
      assert.is_false(ok)
      return tostring(err)
    end
    assert.matches("wants a box, .* or pixels", message {})
    assert.matches("copies 1 to 1024 pixels, not 1025", message { im2col = { channels = 4, pixels = 1025 } })
    assert.matches("copies 1 to 256 channels of a pixel, not 0", message { im2col = { pixels = 4 } })
    assert.matches("has 3 to 5 dimensions, not 2", message({ im2col = { channels = 4, pixels = 4 } }, mw.zeros(8, 8)))
    assert.matches("bounding box is %-129: with 4 dimensions it has to be %-128 to 127",
      message { im2col = { channels = 4, pixels = 4, lower = { 0, -129 } } })
    assert.matches("a row of a tensor map's box has 12 bytes", message { im2col = { channels = 3, pixels = 4 } })
  end)

  it("begins within the bounding box", function()
    if suite.on_gpu then return pending "CPU device only: a GPU is lost" end
    local map = mw.tensor_map(mw.zeros(2, 4, 5, 8), { im2col = { channels = 4, pixels = 8, upper = { -2, -2 } } })
    for at, words in pairs { [3] = "from 3 on, outside of .* from 0 to 2", [-1] = "from %-1 on, outside" } do
      local ok, why = pcall(function()
        m["pixels<4>"](1, 32, 128)(map, mw.array({ 0, at, 0, 0 }, "int"), mw.zeros(3, "short"),
          mw.zeros(32, "uint"), 32)
        mw.synchronize()
      end)
      assert.is_false(ok)
      assert.matches("copies pixels " .. words, tostring(why))
    end
  end)

  it("is not one of tiles", function()
    if suite.on_gpu then return pending "CPU device only: a GPU is lost" end
    local a, out = mw.zeros(2, 4, 4, 8), mw.zeros(32, "uint")
    local ok, why = pcall(function()
      m["pixels<4>"](1, 32, 128)(mw.tensor_map(a, { box = { 1, 1, 4, 8 } }), mw.zeros(4, "int"), mw.zeros(3, "short"),
        out, 32)
      mw.synchronize()
    end)
    assert.is_false(ok)
    assert.matches("copies pixels %(im2col%), and the tensor map is one of tiles", tostring(why))
  end)
end)
