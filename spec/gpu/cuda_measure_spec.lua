-- Measured runs on a GPU: the memory that kernels count in and what the driver makes of it, with a fake libcuda whose
-- kernels have counted (support/fake/failing_kernels.h). spec/measure/device_counts_spec.lua has how kernels count, and
-- spec/measure/gpu_code_spec.lua where.

local gpu = require "support.fake.gpu"

local source = [==[
local m = mw.compile { name = "k.cu", source = [[
template <class T> __global__ void fill(T *x, T *y) { x[threadIdx.x] = 1; }
__global__ void k(float *x, float *y) {
  x[threadIdx.x] = 1;
  y[0] = x[1];
}
]] }
local x = mw.ones(64)
]==]

local function run(script, cuda, options)
  options = options or {}
  local environment = options.environment or {}
  environment.MOONWARP_NVRTC = "off"
  local result = gpu { source .. script, cuda = cuda, fail = options.fail, environment = environment }
  return result.output, result
end

describe("a measured run on a GPU", function()
  it("compiles its kernels so that they count and passes them where, and other launches run as before", function()
    local output, result = run [[
      m.k(2, 64)(x, x)
      local r = mw.measure(m.k, 2, 64)(x, x)
      m.k(2, 64)(x, x)
      mw.measure(m.k, 2, 64)(x, x)
      print(r.kernel, #r.sites, r.total.instructions, r.total.global_load_requests)
    ]]
    assert.equal("k\t0\t0\t0\n", output)
    local sizes = {}
    for _, line in ipairs(result.calls) do
      local params = line:match "^cuLaunchKernel .* params (%x+)"
      if params then sizes[#sizes + 1] = #params / 2 end
    end
    assert.same({ 16, 32, 16, 32 }, sizes) -- with a number and an address
    assert.equal(2, gpu.count(result, "cuModuleLoadData")) -- the kernels that count are compiled once
  end)

  it("adds up what its multiprocessors counted, by line and with Nsight Compute's names", function()
    local output = run([[
      local r = mw.measure(m.k, 2, 64)(x, x)
      for _, s in ipairs(r.sites) do
        print(s.number, s.kind, s.space, s.bytes, s.line, s.file, s.name, s.executed, s.sectors)
      end
      local f = r.lines[3]
      print(f.global_store_requests, f.global_store_sectors, f.global_store_ideal_sectors, f.global_store_instructions)
      print(r.ncu["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"], r.total.global_load_requests)
      print(r.samples[4][0], r.samples[4][1], r.samples[4][2], #r.timeline, r.timeline[1].lanes)
      print(#r.work > 0, r.work[1].executed, r.work[1].lanes, r.occupancy.blocks > 0)
    ]], "counts=4")
    assert.equal("0\t8\t0\t0\t5\tk.cu\tnil\t4\t0\n" ..
      "4\t1\t1\t4\t3\tk.cu\tx\t4\t16\n4\t16\t10\t4\n4\t0\n0\t4\tnil\t1\t4294967295\ntrue\t4\t100\ttrue\n", output)
  end)

  it("counts by the rules of the capability, and says which there are", function()
    local output = run([[
      local r = mw.measure(m.k, 2, 64, 0, { capability = "1.1" })(x, x)
      print(r.capability, #r.timeline)
      print(select(2, pcall(mw.measure(m.k, 2, 64, 0, { capability = "0.9" }), x, x)))
    ]], "counts=4")
    assert.matches("^1.1\t512\n.-there are no counters for compute capability 0.9: there are for 1.0 to 1.3, and " ..
      "from 2.0 on those of 9.0\n$", output)
  end)

  it("measures instances of templates", function()
    local output = run('print(mw.measure(m["fill<float>"], 2, 64)(x, x).kernel)')
    assert.equal("fill<float>\n", output)
  end)

  it("says what it cannot do", function()
    local output = run [[
      print(select(2, pcall(mw.debug(m.k, 1, 32), x, x)))
    ]]
    assert.matches("on cuda:0 launches can be measured, and not recorded access by access or stepped through: use " ..
      "the CPU device for that, mw.use \"cpu\"", output, 1, true)
    output = run([[print(select(2, pcall(mw.measure(m.k, 1, 32), x, x)))]], "capability=61")
    assert.matches("measured runs want a GPU of compute capability 7.0", output, 1, true)
  end)

  it("fails with a message without memory or after a failure of the GPU, and measures again afterwards", function()
    local script = [[
      print(select(2, pcall(mw.measure(m.k, 1, 32), x, x)))
      print(pcall(mw.measure(m.k, 1, 32), x, x))
    ]]
    local output = run(script, "", { fail = "cuMemAlloc@2=2" })
    assert.matches("cuda:0 has no memory for the counts of k, %d+ bytes: free arrays, or measure on the CPU device\n" ..
      "true\tmeasured run of k", output)
    output = run(script, "", { fail = "cuMemcpyDtoHAsync@1=1" })
    assert.matches("the end of a measured run.-\ntrue\tmeasured run of k", output)
  end)
end)
