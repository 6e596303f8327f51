-- Reports of memory and of the lines that allocated it, and pools of stream-ordered memory.

local mw = require "moonwarp"
local collect = require("support.lifetime").collect
local rt = require "moonwarp.runtime"

local function here() return debug.getinfo(2, "l").currentline end

local function ok(code, ...)
  assert.equal(0, code, code ~= 0 and rt.cudaGetErrorName(code) or nil)
  return ...
end

describe("mw.memory", function()
  after_each(function() mw.trace_memory(false) end)

  -- The entries that this file made on a line.
  local function made_on(line)
    local found = {}
    for _, entry in ipairs(mw.memory().live) do
      if entry.line == line and entry.file:find "memory_report_spec" then found[#found + 1] = entry end
    end
    return found
  end

  it("counts bytes and allocations", function()
    collect()
    local before = mw.memory()
    local a = mw.zeros(1000)
    local with = mw.memory()
    assert.equal(4000, with.bytes - before.bytes)
    assert.equal(1, with.count - before.count)
    assert.is_true(with.peak >= with.bytes and with.total > with.bytes)
    a:free()
    mw.synchronize()
    assert.equal(before.bytes, mw.memory().bytes)
  end)

  it("lists the lines that made live objects, while tracing is on", function()
    assert.is_nil(mw.memory().live)
    assert.is_false(mw.trace_memory(true))
    assert.is_true(mw.trace_memory(true))
    local line = here()
    local a = mw.zeros(1000)
    local held = { mw.pinned(10, "int") } -- luacheck: ignore 241
    local c = mw.pitched(3, 5)
    local d = mw.cuda_array(nil, { kind = "1d", dtype = "float", width = 8 })
    local p = ok(rt.cudaMalloc(500))
    local function one(behind) return made_on(line + behind)[1] or {} end
    assert.same({ "array", "device", 4000, "float" }, { one(1).class, one(1).kind, one(1).bytes, one(1).dtype })
    assert.same({ "array", "pinned", 40, "int" }, { one(2).class, one(2).kind, one(2).bytes, one(2).dtype })
    assert.equal("pitched", one(3).class)
    assert.equal("cuda_array", one(4).class)
    assert.same({ "memory", 500, mw.device().name }, { one(5).class, one(5).bytes, one(5).device })
    a:free()
    ok(rt.cudaFree(p))
    assert.same({ 0, 0 }, { #made_on(line + 1), #made_on(line + 5) })
    held[1] = nil
    for _ = 1, 3 do collectgarbage() end
    assert.equal(0, #made_on(line + 2))
    assert.same({ 1, 1 }, { #made_on(line + 3), #made_on(line + 4) })
    c:free()
    d:free()
    assert.is_true(mw.trace_memory(false))
    assert.is_nil(mw.memory().live)
  end)

  it("lists the largest first, and views not at all", function()
    mw.trace_memory(true)
    local arrays = { mw.zeros(10), mw.zeros(1000), mw.zeros(100) }
    local view = arrays[2]:sub(1, 5)
    local sizes = {}
    for _, entry in ipairs(mw.memory().live) do
      if entry.file:find "memory_report_spec" then sizes[#sizes + 1] = entry.bytes end
    end
    assert.same({ 4000, 400, 40 }, sizes)
    assert.equal(5, #view)
    assert.equal(3, #arrays)
  end)

  it("is switched by true and false", function() assert.has_error(function() mw.trace_memory("yes") end) end)
end)

describe("memory pools", function()
  after_each(function() rt.cudaGetLastError() end)

  it("count their allocations", function()
    local pool = ok(rt.cudaDeviceGetDefaultMemPool(0))
    local function used() return ok(rt.cudaMemPoolGetAttribute(pool, rt.cudaMemPoolAttrUsedMemCurrent)) end
    local before = used()
    local p, q = ok(rt.cudaMallocAsync(4000, 0)), ok(rt.cudaMallocAsync(500, 0))
    assert.equal(before + 4500, used())
    assert.equal(before + 4500, ok(rt.cudaMemPoolGetAttribute(pool, rt.cudaMemPoolAttrReservedMemCurrent)))
    ok(rt.cudaFreeAsync(p, 0))
    ok(rt.cudaFree(q)) -- as CUDA allows
    assert.equal(before, used())
    assert.is_true(ok(rt.cudaMemPoolGetAttribute(pool, rt.cudaMemPoolAttrUsedMemHigh)) >= 4500)
    ok(rt.cudaMemPoolSetAttribute(pool, rt.cudaMemPoolAttrUsedMemHigh, 0))
    assert.equal(before, ok(rt.cudaMemPoolGetAttribute(pool, rt.cudaMemPoolAttrUsedMemHigh)))
    assert.equal(0, ok(rt.cudaMallocAsync(0, 0)).address)
    assert.equal(before, used())
  end)

  it("are made with a limit, chosen, and destroyed", function()
    local pool = ok(rt.cudaMemPoolCreate {
      allocType = rt.cudaMemAllocationTypePinned, location = { type = rt.cudaMemLocationTypeDevice, id = 0 },
      maxSize = 1000,
    })
    local p = ok(rt.cudaMallocFromPoolAsync(600, pool, 0))
    assert.equal(rt.cudaErrorMemoryAllocation, (rt.cudaMallocFromPoolAsync(600, pool, 0)))
    ok(rt.cudaFreeAsync(p, 0))
    ok(rt.cudaDeviceSetMemPool(0, pool))
    assert.equal(pool, ok(rt.cudaDeviceGetMemPool(0)))
    assert.not_equal(pool, ok(rt.cudaDeviceGetDefaultMemPool(0)))
    p = ok(rt.cudaMallocAsync(900, 0))
    assert.equal(900, ok(rt.cudaMemPoolGetAttribute(pool, rt.cudaMemPoolAttrUsedMemCurrent)))
    ok(rt.cudaMemPoolDestroy(pool))
    assert.equal(ok(rt.cudaDeviceGetDefaultMemPool(0)), ok(rt.cudaDeviceGetMemPool(0)))
    ok(rt.cudaFreeAsync(p, 0))
    for _, refused in ipairs {
      { rt.cudaMallocFromPoolAsync(1, pool, 0) }, { rt.cudaMemPoolDestroy(pool) }, { rt.cudaMemPoolTrimTo(pool, 0) },
      { rt.cudaMemPoolDestroy(ok(rt.cudaDeviceGetDefaultMemPool(0))) }, { rt.cudaDeviceSetMemPool(0, pool) },
      { rt.cudaMemPoolCreate(nil) }, { rt.cudaMemPoolCreate { allocType = 7 } }, { rt.cudaMallocAsync(-1, 0) },
      { rt.cudaMemPoolTrimTo(ok(rt.cudaDeviceGetDefaultMemPool(0)), -1) },
    } do
      assert.equal(rt.cudaErrorInvalidValue, refused[1])
    end
    assert.equal(rt.cudaErrorInvalidDevice, (rt.cudaDeviceGetMemPool(99)))
  end)

  it("have attributes by CUDA's numbers", function()
    local pool = ok(rt.cudaDeviceGetDefaultMemPool(0))
    for attribute = 1, 8 do assert.is_number(ok(rt.cudaMemPoolGetAttribute(pool, attribute))) end
    for attribute = 1, 4 do
      local before = ok(rt.cudaMemPoolGetAttribute(pool, attribute))
      ok(rt.cudaMemPoolSetAttribute(pool, attribute, 4096))
      assert.equal(4096, ok(rt.cudaMemPoolGetAttribute(pool, attribute)))
      ok(rt.cudaMemPoolSetAttribute(pool, attribute, before))
    end
    for _, wrong in ipairs { { 5, 0 }, { 7, 0 }, { 8, 5 }, { 9, 0 }, { 4, -1 } } do
      assert.equal(rt.cudaErrorInvalidValue, (rt.cudaMemPoolSetAttribute(pool, wrong[1], wrong[2])))
    end
    assert.equal(rt.cudaErrorInvalidValue, (rt.cudaMemPoolGetAttribute(pool, 9)))
  end)

  it("take memory back in the stream's order, and device memory only", function()
    local m = mw.compile "__global__ void f(int *p, int n) { for (int i = 0; i < n; i++) atomicAdd(p, 1); }"
    local s = ok(rt.cudaStreamCreate())
    local host = ok(rt.cudaMallocHost(4)):cast "int"
    for _ = 1, 20 do
      local p = ok(rt.cudaMallocAsync(4, s))
      ok(rt.cudaMemsetAsync(p, 0, 4, s))
      ok(rt.cudaLaunchKernel(m.f, 1, 32, { p, 100 }, 0, s))
      ok(rt.cudaMemcpyAsync(host, p, 4, rt.cudaMemcpyDeviceToHost, s))
      ok(rt.cudaFreeAsync(p, s))
      assert.equal(rt.cudaErrorInvalidValue, (rt.cudaFreeAsync(p, s)))
    end
    ok(rt.cudaStreamSynchronize(s))
    assert.equal(3200, host[0])
    assert.equal(rt.cudaErrorInvalidValue, (rt.cudaFreeAsync(host, s)))
    ok(rt.cudaFreeAsync(nil, s))
    ok(rt.cudaFreeHost(host))
    ok(rt.cudaStreamDestroy(s))
  end)
end)
