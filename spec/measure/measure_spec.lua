-- Measured runs: the figures by line and in total, the rules of old GPUs, and the source with a margin.
-- CPU device only: no other device can watch launches

local mw = require "moonwarp"

local source = [[
__global__ void strided(int stride, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i * stride];
}
__global__ void banks(int stride, float *y) {
  __shared__ float t[1024];
  t[threadIdx.x * stride] = 1;
  y[threadIdx.x] = 2;
}
__global__ void half(float *y) {
  if (threadIdx.x < 16) y[threadIdx.x] = sqrtf(y[threadIdx.x]);
  y[threadIdx.x + 32] = y[threadIdx.x + 32] * 2.0f + 1.0f;
}
__global__ void count(int *n) { atomicAdd(&n[threadIdx.x / 8], 1); }
]]

-- The number of a line in this file.
local function line_of(text)
  local n = 0
  for line in io.lines "spec/measure/measure_spec.lua" do
    n = n + 1
    if line:find(text, 1, true) then return n end
  end
end

describe("a measured run", function()
  local m = mw.compile(source)
  local x, y = mw.ones(4096), mw.zeros(1024)

  it("counts sectors beside the least that the bytes fit into", function()
    for stride, sectors in pairs { [1] = 4, [2] = 8, [8] = 32, [32] = 32 } do
      local t = mw.measure(m.strided, 2, 64)(stride, x, y).total
      assert.same({ 4, 4 * sectors, 16 },
        { t.global_load_requests, t.global_load_sectors, t.global_load_ideal_sectors })
      assert.same({ 4, 16, 16 }, { t.global_store_requests, t.global_store_sectors, t.global_store_ideal_sectors })
      assert.same({ 512, 512 }, { t.global_load_bytes, t.global_store_bytes })
    end
  end)

  it("counts the passes of shared memory's banks", function()
    for stride, passes in pairs { [1] = 1, [2] = 2, [3] = 1, [16] = 16, [31] = 1, [32] = 32 } do
      local t = mw.measure(m.banks, 1, 32)(stride, y).total
      assert.same({ 1, passes, passes - 1 }, { t.shared_store_requests, t.shared_store_wavefronts, t.bank_conflicts })
    end
  end)

  it("has the figures of each line, which add up to the total", function()
    local r = mw.measure(m.half, 1, 32)(y)
    local first, second = r.lines[line_of "if (threadIdx.x < 16) y"], r.lines[line_of "* 2.0f + 1.0f"]
    assert.same({ 1, 1, 1, 2 }, { first.branches, first.divergent_branches, first.global_load_requests,
      first.global_load_sectors })
    assert.same({ 0, 1, 4, 64 }, { second.branches, second.global_store_requests, second.global_store_sectors,
      second.flops })
    local sum = 0
    for _, line in pairs(r.lines) do sum = sum + line.thread_instructions end
    assert.equal(r.total.thread_instructions, sum)
    assert.is_true(first.active_lanes < 32 and second.active_lanes == 32)
  end)

  it("counts lanes that update one address as collisions", function()
    local n = mw.zeros(4, "int")
    local t = mw.measure(m.count, 1, 32)(n).total
    assert.same({ 1, 28 }, { t.atomic_requests, t.atomic_collisions })
    assert.same({ 8, 8, 8, 8 }, n:totable())
  end)

  it("follows the rules of 1.0 and 1.1, which want words in order, and of 1.2 and 1.3, which count segments", function()
    local function transactions(capability, stride)
      local t = mw.measure(m.strided, 1, 32, 0, { capability = capability })(stride, x, y).total
      return { t.global_load_sectors, t.global_load_moved_bytes }
    end
    assert.same({ 2, 128 }, transactions("1.1", 1)) -- one of 64 bytes per half-warp
    assert.same({ 32, 1024 }, transactions("1.1", 2)) -- one of 32 bytes per thread
    assert.same({ 2, 128 }, transactions("1.3", 1))
    assert.same({ 2, 256 }, transactions("1.3", 2)) -- one of 128 bytes per half-warp
    assert.same({ 32, 1024 }, transactions("1.2", 32))
    assert.is_nil(next(mw.measure(m.strided, 1, 32, 0, { capability = "1.1" })(1, x, y).ncu))
  end)

  it("has 16 banks for half-warps by the rules of 1.x", function()
    for stride, passes in pairs { [1] = 2, [2] = 4, [16] = 32, [17] = 2 } do
      local r = mw.measure(m.banks, 1, 32, 0, { capability = "1.3" })(stride, y)
      assert.equal(passes, r.total.shared_store_wavefronts)
    end
  end)

  it("says how many blocks a multiprocessor holds, and why no more", function()
    local found = mw.measure(m.strided, 1, 1024)(0, x, y).occupancy
    assert.same({ 2, 64, "threads" }, { found.blocks, found.warps, found.limited_by })
  end)

  it("shows the source with a margin, and says why a line is slow and what to try", function()
    local r = mw.measure(m.strided, 2, 64)(32, x, y)
    local written = {}
    local write = io.write
    io.write = function(text) written[#written + 1] = text end -- luacheck: ignore 122
    local ok, text = pcall(r.show, r, { colour = false })
    io.write = write -- luacheck: ignore 122
    assert.is_true(ok)
    assert.equal(text, table.concat(written))
    assert.matches("144/32 .*y%[i%] = x%[i %* stride%];", text)
    assert.matches("uncoalesced loads: 32%.0 sectors of 32 bytes a request where 4%.0 would do", text)
    assert.is_nil(text:find "\27")
    assert.matches("\27%[31m[^\n]*y%[i%] = x%[i %* stride%];\27%[0m",
      require("moonwarp.watch.source_margin").text(r, true))
    assert.is_nil(require("moonwarp.watch.source_margin").text(mw.measure(m.strided, 2, 64)(1, x, y), true):find "\27")
  end)

  it("counts the work of hundreds of lines", function()
    local k = mw.compile("__global__ void k(float *y) { float v = y[0], w = y[1];\n" .. ("v = v + w;\n"):rep(300)
      .. "y[threadIdx.x] = v; }").k
    assert.equal(300 * 32, mw.measure(k, 1, 32)(y).total.flops)
  end)

  it("knows accesses by pointers that were numbers, as for alignment, from those of textures", function()
    local casts = mw.compile [[
texture<float, 1, cudaReadModeElementType> image;
__global__ void f(float *x) {
  __shared__ float s[64];
  float *p = (float *)(((size_t)x + 15) & ~(size_t)15);
  float a = p[threadIdx.x];
  asm volatile("st.shared.f32 [%0], %1;" :: "r"((unsigned)__cvta_generic_to_shared(&s[threadIdx.x])), "f"(a));
  x[threadIdx.x] = tex1Dfetch(image, threadIdx.x);
}]]
    casts.image = mw.texture(mw.zeros(64))
    local r = mw.measure(casts.f, 1, 64)(mw.zeros(128))
    local aligned = r.lines[line_of "float a = p[threadIdx.x]"]
    local shared = r.lines[line_of "st.shared.f32 [%0]"]
    assert.same({ 2, 0 }, { aligned.global_load_requests, aligned.texture_requests })
    assert.same({ 2, 0 }, { shared.shared_store_requests, shared.texture_requests })
    assert.is_true(r.total.texture_requests > 0)
  end)

  it("says what it does not take", function()
    assert.error_matches(function() mw.measure(m.strided, 1, 32, 0, { capability = "1.9" })(1, x, y) end,
      "no counters for compute capability 1%.9")
    assert.error_matches(function() mw.measure(m.strided, 1, 32)(1, x) end, "takes 3 arguments, got 2")
  end)
end)
