-- mw.random's streams have kernels of other forms on GPUs. Here these forms run on the CPU device: the numbers are the
-- same as those of its own.

local mw = require "moonwarp"
local raw = require "moonwarp.binding"
local sources = require "moonwarp.random.sources"

local FORMS = [[
#define MW_COLUMNS_OF_GPUS
#define MW_SOBOL_OF_GPUS
#define MW_MTGP_OF_GPUS
#define __mw_mt_of_gpus
]]

-- Run f with sources and launches as they are for a GPU.
local function as_on_a_gpu(f)
  local properties_of, kernel, others = raw.properties_of, sources.kernel, {}
  raw.properties_of = function() return { driver = "cuda" } end
  function sources:kernel(name)
    others[self] = others[self] or sources.new(self.name, FORMS .. self.shared, self.kernels)
    return kernel(others[self], name)
  end
  local ok, err = pcall(f)
  raw.properties_of, sources.kernel = properties_of, kernel
  if not ok then error(err, 0) end
end

-- Numbers from a place in the stream on, in pieces.
local function drawn(case, counts)
  local options = { offset = case.offset or 7, dimensions = case.dimensions, ordering = case.ordering }
  local g = mw.random(99, case.kind, options)
  local method, list = case.what:gsub("_double", ""), {}
  for i, count in ipairs(counts) do
    local out = mw.zeros(count, case.dtype)
    list[i] = g[method](g, nil, { out = out })
  end
  return list
end

local LONG = 4096 * 2100 + 4 -- numbers of which threads share XORWOW's columns
local TURN = 8192 * 624 -- words of all states of MT19937
local cases = {
  { kind = "xorwow", what = "bits", dtype = "uint", counts = { 5, LONG, 8 } },
  { kind = "xorwow", what = "uniform_double", dtype = "double", counts = { LONG, 3 } },
  { kind = "xorwow", what = "normal", dtype = "float", counts = { 6, 2 * LONG, 6 } },
  { kind = "mrg32k3a", ordering = "legacy", what = "uniform", dtype = "float", counts = { LONG, 5 } },
  { kind = "philox", what = "bits", dtype = "uint", counts = { 5, 600000 } },
  { kind = "philox", what = "uniform_double", dtype = "double", counts = { 3, 600000, 9 } },
  { kind = "philox", what = "normal_double", dtype = "double", counts = { 300001, 9 } },
  { kind = "philox", what = "lognormal_double", dtype = "double", counts = { 1000 } },
  { kind = "mtgp32", what = "bits", dtype = "uint", counts = { 1, 192 * 256 * 9, 49152, 1000003, 7 } },
  { kind = "mtgp32", what = "normal", dtype = "float", counts = { 700001, 9 } },
  { kind = "mt19937", what = "bits", dtype = "uint", counts = { 1, TURN * 2, 3 } },
  { kind = "mt19937", offset = 2 * TURN - 1, what = "uniform", dtype = "float", counts = { 70001, TURN } },
  { kind = "mt19937", offset = 0, what = "uniform_double", dtype = "double", counts = { TURN, TURN } },
  { kind = "mt19937", what = "normal_double", dtype = "double", counts = { TURN + 5, 1000 } },
  { kind = "sobol32", what = "bits", dtype = "uint", counts = { 1, 600000, 3 } },
  { kind = "sobol32", offset = 2 ^ 32 - 70001, what = "bits", dtype = "uint", counts = { 140000, 50000 } },
  { kind = "sobol32", dimensions = 3, what = "uniform", dtype = "float", counts = { 300000, 30003 } },
  { kind = "scrambled_sobol64", what = "bits", dtype = "ulonglong", counts = { 300000, 5 } },
  { kind = "sobol64", dimensions = 2, what = "uniform_double", dtype = "double", counts = { 300002, 30 } },
}

describe("mw.random's kernels for GPUs", function()
  for _, case in ipairs(cases) do
    local name = ("%s of %s"):format(case.what, case.kind)
    it(("make %s%s"):format(name, case.dimensions and (" of %d dimensions"):format(case.dimensions) or ""), function()
      local expected, got = drawn(case, case.counts)
      as_on_a_gpu(function() got = drawn(case, case.counts) end)
      for i, x in ipairs(expected) do assert.is_true(x:eq(got[i]):all(), ("piece %d"):format(i)) end
    end)
  end
end)
