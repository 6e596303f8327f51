-- Scripts with a fake GPU: libraries of the tests replace the NVIDIA driver and NVRTC, record their calls and fail on
-- request (support/fake/cuda.c and nvrtc.c).
--   local result = gpu { script, cuda = "devices=2", fail = "cuMemAllocAsync@1=2", nvrtc = "archs=80",
--                        environment = {} }
--   result.output, result.ok; result.calls: the driver's calls, a list of lines; result.compiler: NVRTC's
--   gpu.count(result, "cuMemFree"), gpu.call(result, "cuLaunchKernel"): the first such line, or nil

local child = require "support.child"

local home = assert(os.getenv "MOONWARP_HOME")

local M = {}

local function lines_of(path)
  local list, file = {}, io.open(path)
  for line in file and file:lines() or function() end do list[#list + 1] = line end
  if file then file:close() end
  os.remove(path)
  return list
end

local function run(_, spec)
  if type(spec) == "string" then spec = { spec } end
  local calls, compiler = os.tmpname(), os.tmpname()
  local environment = {
    MOONWARP_CUDA = home .. "/test/libfakecuda.so", MOONWARP_NVRTC = home .. "/test/libfakenvrtc.so",
    MOONWARP_CACHE = "off", MOONWARP_DEVICE = "cuda",
    FAKE_CUDA = spec.cuda or "", FAKE_CUDA_FAIL = spec.fail or "", FAKE_CUDA_LOG = calls,
    FAKE_NVRTC = spec.nvrtc or "", FAKE_NVRTC_LOG = compiler,
  }
  for name, value in pairs(spec.environment or {}) do environment[name] = value end
  local result = child { 'local mw = require "moonwarp"\n' .. spec[1], environment = environment }
  result.calls, result.compiler = lines_of(calls), lines_of(compiler)
  return result
end

function M.count(result, name)
  local count = 0
  for _, line in ipairs(result.calls) do
    if line:match "^%S+" == name then count = count + 1 end
  end
  return count
end

function M.call(result, name)
  for _, line in ipairs(result.calls) do
    if line:match "^%S+" == name then return line end
  end
end

return setmetatable(M, { __call = run })
