-- Measured accesses whose addresses the compiler knows by their shape, compared with a plain loop over warps and lanes:
-- blocks in lines and in rows, strides, offsets, warps of which a part is active.
-- CPU device only: no other device can watch launches

local mw = require "moonwarp"

local source = [[
__global__ void f(int n, const T *x, T *y) {
  __shared__ T tile[2048];
  int t = threadIdx.y * blockDim.x + threadIdx.x;
  for (int i = t; i < 2048; i += blockDim.x * blockDim.y) tile[i] = T(1);
  __syncthreads();
  if (threadIdx.x < n) {
    T a = x[threadIdx.x * SX + threadIdx.y * SY + SHIFT]; // GLOBAL
    T b = tile[threadIdx.x * SX + threadIdx.y * SY]; // SHARED
    y[t] = a + b;
  }
}
]]

-- The number of a line in the source.
local function line_of(text)
  local before = source:match("^(.-)[^\n]*// " .. text)
  return select(2, before:gsub("\n", "")) + 1
end

-- Sectors of global memory, wavefronts of shared memory, and bytes used, of the warps of a block.
local function expected(case, bx, by, n)
  local sectors, wavefronts, used, requests = 0, 0, 0, 0
  for first = 0, bx * by - 1, 32 do
    local touched, words, banks, most, lanes, places = {}, {}, {}, 0, 0, {}
    for t = first, math.min(first + 31, bx * by - 1) do
      local x, y = t % bx, math.floor(t / bx)
      if x < n then
        lanes = lanes + 1
        local at = (x * case.sx + y * case.sy + case.shift) * case.bytes
        if not places[at] then
          places[at] = true
          used = used + case.bytes
        end
        for byte = at, at + case.bytes - 1 do
          local sector = math.floor(byte / 32)
          if not touched[sector] then
            touched[sector] = true
            sectors = sectors + 1
          end
        end
        local word = math.floor((x * case.sx + y * case.sy) * case.bytes / 4)
        if not words[word] then
          words[word] = true
          banks[word % 32] = (banks[word % 32] or 0) + 1
          most = math.max(most, banks[word % 32])
        end
      end
    end
    if lanes > 0 then requests, wavefronts = requests + 1, wavefronts + most end
  end
  return requests, sectors, used, wavefronts
end

describe("a measured access of a known shape", function()
  local types = { float = 4, char = 1, int = 4, short = 2 }
  for _, case in ipairs {
    { type = "float", sx = 1, sy = 32, shift = 0 }, { type = "float", sx = 1, sy = 32, shift = 5 },
    { type = "float", sx = 0, sy = 1, shift = 0 }, { type = "float", sx = 0, sy = 33, shift = 3 },
    { type = "float", sx = 1, sy = 0, shift = 0 }, { type = "float", sx = 2, sy = 64, shift = 1 },
    { type = "float", sx = 3, sy = 17, shift = 0 }, { type = "int", sx = 8, sy = 1, shift = 0 },
    { type = "int", sx = 9, sy = 5, shift = 0 }, { type = "float", sx = 1, sy = 8, shift = 2 },
    { type = "char", sx = 1, sy = 16, shift = 7 }, { type = "char", sx = 4, sy = 64, shift = 0 },
    { type = "short", sx = 2, sy = 48, shift = 1 }, { type = "float", sx = 16, sy = 1, shift = 0 },
    { type = "float", sx = 1, sy = 4, shift = 0 }, { type = "float", sx = 32, sy = 2, shift = 0 },
  } do
    case.bytes = types[case.type]
    it(("is counted as each lane would be: %s, %d across, %d down, from %d on"):format(case.type, case.sx, case.sy,
      case.shift), function()
      local m = mw.compile { source = source, name = "spec/measure/runs_spec.lua", options = {
        "-DT=" .. case.type, "-DSX=" .. case.sx, "-DSY=" .. case.sy, "-DSHIFT=" .. case.shift } }
      local x, y = mw.zeros(4096, case.type), mw.zeros(1024, case.type)
      for _, shape in ipairs { { 32, 2, 32 }, { 32, 2, 19 }, { 16, 4, 16 }, { 16, 4, 11 }, { 8, 8, 8 }, { 8, 8, 3 },
        { 24, 3, 24 }, { 64, 1, 33 }, { 4, 16, 4 }, { 50, 1, 50 } } do
        local bx, by, n = shape[1], shape[2], shape[3]
        local r = mw.measure(m.f, 1, { bx, by })(n, x, y)
        local requests, sectors, used, wavefronts = expected(case, bx, by, n)
        local global, shared = r.lines[line_of "GLOBAL"], r.lines[line_of "SHARED"]
        local where = ("block %dx%d, %d of a row"):format(bx, by, n)
        assert.equal(requests, global.global_load_requests, where)
        assert.equal(sectors, global.global_load_sectors, where)
        assert.equal(used, global.global_load_used_bytes, where)
        assert.equal(requests, shared.shared_load_requests, where)
        assert.equal(wavefronts, shared.shared_load_wavefronts, where)
      end
    end)
  end
end)
