-- The watcher "accesses": each access of a small launch, compared with a plain loop over the threads.
-- CPU device only: no other device can watch launches

local mw = require "moonwarp"
local raw = require "moonwarp.binding"

local LOAD, STORE, GLOBAL, SHARED = 0, 1, 1, 3

-- "load global a 3" and so on for each thread, in its order; and what stands in lines of other kinds.
local function accesses(f, arrays)
  raw.watch_begin "accesses"
  f()
  mw.synchronize()
  raw.watch_end()
  local threads, others = {}, {}
  for line in raw.watch_result():gmatch "[^\n]+" do
    local words = {}
    for word in (line .. "\t"):gmatch "([^\t]*)\t" do words[#words + 1] = word end
    if words[1] == "access" then
      local kind, space, bytes, name = tonumber(words[3]), tonumber(words[4]), tonumber(words[5]), words[12]
      local block, thread, address = tonumber(words[14]), tonumber(words[15]), tonumber(words[16])
      local index = address / bytes
      for known, array in pairs(arrays) do
        local at = (address - array.address) / bytes
        if space == GLOBAL and at >= 0 and at < array.count then name, index = known, at end
      end
      local key = block .. ":" .. thread
      threads[key] = threads[key] or {}
      table.insert(threads[key], ("%s %s %s %d"):format(kind == LOAD and "load" or kind == STORE and "store" or kind,
        space == SHARED and "shared" or "global", name, index))
    else
      others[#others + 1] = line
    end
  end
  return threads, others
end

describe("the watcher of accesses", function()
  it("has each thread's accesses in their order, of global and of shared memory", function()
    local m = mw.compile [==[
__global__ void f(float *out, const float *a, int n) {
  __shared__ float other[4], tile[40];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  if (t < 4) other[t] = 1;
  tile[t] = i < n ? a[i] : 0;
  __syncthreads();
  if (i < n) out[i] = tile[39 - t] + other[t % 4];
}]==]
    local n = 75
    local a, out = mw.arange(n), mw.zeros(n)
    local threads, others = accesses(function() m.f(2, 40)(out, a, n) end, { a = a, out = out })
    assert.same({}, others)
    for block = 0, 1 do
      for t = 0, 39 do
        local i, seen = 40 * block + t, threads[block .. ":" .. t]
        local shared, rest = {}, {}
        for _, word in ipairs(seen) do table.insert(word:find "shared" and shared or rest, word) end
        assert.same(i < n and { "load global a " .. i, "store global out " .. i } or {}, rest)
        assert.equal((t < 4 and 2 or 1) + (i < n and 2 or 0), #shared)
      end
    end
  end)

  it("has those around fences", function()
    local m = mw.compile [==[
__global__ void f(int *p, int *q) {
  p[threadIdx.x] = 1;
  __threadfence();
  atomicAdd(q, 1);
  __threadfence_block();
  p[threadIdx.x] = 2;
}]==]
    local p, q = mw.zeros(3, "int"), mw.zeros(1, "int")
    local threads = accesses(function() m.f(1, 3)(p, q) end, { p = p, q = q })
    for t = 0, 2 do
      assert.same({ "store global p " .. t, "3 global q 0", "store global p " .. t }, threads["0:" .. t])
    end
  end)

  it("says how many it had no room for", function()
    local m = mw.compile [==[
__global__ void f(volatile int *p) { for (int k = 0; k < 1000; k++) p[threadIdx.x] = k; }]==]
    local p = mw.zeros(32, "int")
    local threads, others = accesses(function() m.f(1, 32)(p) end, { p = p })
    local kept = 0
    for _, list in pairs(threads) do kept = kept + #list end
    assert.same({ "left out\t" .. 32000 - kept }, others)
    assert.is_true(kept >= 16384 and kept < 32000)
  end)
end)
