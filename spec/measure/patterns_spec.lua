-- Measured accesses by patterns that occur again, alternate or never repeat, compared with a plain loop over warps and
-- lanes, in many blocks.
-- CPU device only: no other device can watch launches

local mw = require "moonwarp"

local GRID = 12

local source = [[
struct place { int *x; };
__global__ void f(int n, const int *at, const T *x, T *y, struct place p) {
  __shared__ T tile[1024];
  int t = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
  for (int i = t; i < 1024; i += threads) tile[i] = T(1);
  __syncthreads();
  for (int k = 0; k < 3; k++) {
    int j = at[(blockIdx.x * 3 + k) * threads + t];
    if (j < n) {
      T a = x[j]; // GLOBAL
      T b = tile[j]; // SHARED
      y[j] = a + b; // STORE
      p.x[j] = 1; // GENERIC
    }
  }
}
]]

local function line_of(text)
  local before = source:match("^(.-)[^\n]*// " .. text)
  return select(2, before:gsub("\n", "")) + 1
end

-- Sectors, wavefronts and so on of the lanes' indices, of elements of so many bytes.
local function count(indices, bytes)
  local sectors, places, words, banks = {}, {}, {}, {}
  local c = { sectors = 0, used = 0, most = 0 }
  for _, j in ipairs(indices) do
    local at = j * bytes
    if not places[at] then places[at], c.used = true, c.used + bytes end
    local sector, word = math.floor(at / 32), math.floor(at / 4)
    if not sectors[sector] then sectors[sector], c.sectors = true, c.sectors + 1 end
    if not words[word] then
      words[word], banks[word % 32] = true, (banks[word % 32] or 0) + 1
      c.most = math.max(c.most, banks[word % 32])
    end
  end
  return c
end

local function expected(at, threads, n, bytes)
  local c = { requests = 0, sectors = 0, used = 0, wavefronts = 0, ints = 0 }
  for first = 0, #at - 1, threads do
    for warp = 0, threads - 1, 32 do
      local indices = {}
      for lane = warp, math.min(warp + 31, threads - 1) do
        local j = at[first + lane + 1]
        if j < n then indices[#indices + 1] = j end
      end
      if #indices > 0 then
        local here = count(indices, bytes)
        c.requests, c.sectors, c.used = c.requests + 1, c.sectors + here.sectors, c.used + here.used
        c.wavefronts, c.ints = c.wavefronts + here.most, c.ints + count(indices, 4).sectors
      end
    end
  end
  return c
end

-- The index of thread t in iteration `k` of all.
local patterns = {
  { "that repeats, moved by whole elements", function(t, k) return t * 7 % 64 + k * 5 end },
  { "of two that alternate", function(t, k) return k % 2 == 0 and t % 32 * 3 or (31 - t % 32) * 2 end },
  { "in which part of a warp has no access", function(t, k) return (t * 5 + k) % 3 == 0 and 5000 or t + k end },
  { "in which fewer and fewer lanes are active", function(t, k) return t % 32 < k and 5000 or t end },
  { "that never repeats", function() return math.random(0, 1000) end },
  { "in which all lanes meet", function(_, k) return k end },
}

describe("a measured access by a pattern", function()
  local seed = os.time()
  for _, pattern in ipairs(patterns) do
    it(pattern[1] .. " is counted as each lane would be", function()
      math.randomseed(seed)
      for type, bytes in pairs { float = 4, short = 2, char = 1 } do
        local m = mw.compile { source = source, name = "spec/measure/patterns_spec.lua", options = { "-DT=" .. type } }
        for _, block in ipairs { { 64, 1 }, { 16, 6 }, { 50, 1 }, { 8, 8 } } do
          local threads, at = block[1] * block[2], {}
          for k = 0, GRID * 3 - 1 do
            for t = 0, threads - 1 do at[#at + 1] = pattern[2](t, k) end
          end
          local x, y, z = mw.zeros(1024, type), mw.zeros(1024, type), mw.zeros(1024, "int")
          local r = mw.measure(m.f, GRID, block)(1024, mw.array(at, "int"), x, y, { x = z })
          local want = expected(at, threads, 1024, bytes)
          local got, shared = r.lines[line_of "GLOBAL"], r.lines[line_of "SHARED"]
          local stored, generic = r.lines[line_of "STORE"], r.lines[line_of "GENERIC"]
          assert.same({ want.requests, want.sectors, want.used, want.wavefronts, want.sectors, want.ints },
            { got.global_load_requests, got.global_load_sectors, got.global_load_used_bytes,
              shared.shared_load_wavefronts, stored.global_store_sectors, generic.global_store_sectors },
            ("seed %d, %s, blocks of %d x %d"):format(seed, type, block[1], block[2]))
        end
      end
    end)
  end
end)
