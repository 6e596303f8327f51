-- Mathematical functions in lanes: only those that docs/build/accuracy.md lists are called for each lane; and all have
-- the same bits on every processor.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about its compiler's code and results.

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local targets = require "support.targets"

local function words(text)
  local list = {}
  for word in text:gmatch "%S+" do list[#list + 1] = word end
  return list
end

-- How each is called; NAME is its name. Functions of one number with the suffix f are single precision.
local forms = {
  ["y[i] = NAME(x[i])"] = words [[acos asin atan acosh asinh atanh cosh sinh tanh exp exp2 exp10 expm1 log log2 log10
    log1p sin cos tan sinpi cospi sqrt rsqrt cbrt rcbrt erf erfc erfcx erfinv erfcinv normcdf normcdfinv tgamma lgamma
    logb ilogb lround llround lrint llrint fabs ceil floor trunc round rint nearbyint
    j0 j1 y0 y1 cyl_bessel_i0 cyl_bessel_i1]],
  ["y[i] = NAME(x[i], z[i])"] = words [[atan2 pow hypot rhypot fmod remainder fmin fmax fdim copysign nextafter]],
  ["y[i] = NAME(x[i], y[i], z[i])"] = words [[norm3d rnorm3d fma]],
  ["y[i] = NAME(x[i], n)"] = words [[ldexp scalbn scalbln]],
  ["y[i] = NAME(n, x[i])"] = words [[jn yn]],
  ["y[i] = NAME(x[i], &integer) + integer"] = words [[frexp]],
  ["y[i] = NAME(x[i], z[i], &integer) + integer"] = words [[remquo]],
  ["y[i] = NAME(x[i], &number) + number"] = words [[modf]],
  ["NAME(x[i], &number, &y[i]); y[i] += number"] = words [[sincos sincospi]],
}
local fast = {
  ["y[i] = NAME(x[i])"] = words [[__expf __exp10f __logf __log2f __log10f __sinf __cosf __tanf __saturatef]],
  ["y[i] = NAME(x[i], z[i])"] = words [[__powf __fdividef]],
}

-- Functions that call the C library for each lane.
local by_lanes = {}
for _, name in ipairs(words [[tgamma lgamma sin cos tan sincos j0f j1f y0f y1f j0 j1 y0 y1 jn yn jnf ynf]]) do
  by_lanes[name] = true
end

-- Kernels of eight functions, one in each line, and the functions by line.
local function kernels(type, suffix, list)
  local text, on_line = {}, {}
  local function add(line) text[#text + 1] = line end
  local count = 0
  local function close() if count % 8 == 0 then add "}" end end
  for form, names in pairs(list) do
    for _, name in ipairs(names) do
      if count % 8 == 0 then
        add(("__global__ void %s%d(int n, const T *x, const T *z, T *y) {"):format(type, count):gsub("T", type))
        add(("int i = blockIdx.x * blockDim.x + threadIdx.x, integer; %s number;"):format(type))
      end
      add((form:gsub("NAME", name .. suffix)) .. "; y += n;")
      on_line[#text] = name .. suffix
      count = count + 1
      close()
    end
  end
  if count % 8 ~= 0 then add "}" end
  return table.concat(text, "\n") .. "\n", on_line, math.ceil(count / 8)
end

-- The functions that the compiler's report lists as called for each lane, and the number of kernels in lanes.
local function report(text, on_line, option)
  local output, status = mwcc.try(text, option .. " --report")
  assert(status == 0, output)
  local found = {}
  for line in output:gmatch "(%d+):%d+ +serialised call of %S+" do
    found[on_line[tonumber(line)]] = true
  end
  local _, lanes = output:gsub("kernel %w+: simd,", "")
  return found, lanes, output
end

local function check(type, suffix, list, option)
  local text, on_line, count = kernels(type, suffix, list)
  local found, lanes, output = report(text, on_line, option)
  assert.equal(count, lanes, output)
  for _, name in pairs(on_line) do
    assert.equal(by_lanes[name] or false, found[name] or false, name .. " " .. option)
  end
end

describe("mathematical functions in lanes", function()
  it("are not called for each lane, except the few that the documentation lists", function()
    check("double", "", forms, "")
    check("float", "f", forms, "")
    check("float", "", fast, "")
  end)

  it("are not with fast mathematics, nor for processors without FMA", function()
    check("float", "f", { ["y[i] = NAME(x[i])"] = words "exp log sin cos tan erf tanh",
      ["y[i] = NAME(x[i], z[i])"] = { "pow" } }, "-use_fast_math")
    check("double", "", { ["y[i] = NAME(x[i])"] = words "asin erf sinh acosh",
      ["y[i] = NAME(x[i], z[i])"] = words "pow atan2 fmod" }, "--mcpu=x86-64-v2")
  end)

  it("have their exceptions documented", function()
    local file = assert(io.open "docs/build/accuracy.md")
    local paragraph = file:read("*a"):match "from the C library, lane by lane.-\n\n"
    file:close()
    for name in pairs(by_lanes) do
      -- the page lists jnf and ynf as jn and yn
      local root = name:match "^([jy]n)f$" or name
      assert.is_truthy(paragraph:find("`" .. root .. "`", 1, true) or root:match "^[jy][01]$", name)
    end
  end)

  -- Every rounding is explicit in the headers: fused multiply-adds only where they are written.
  local function equal_on_targets()
    local names = words [[pow hypot expm1 sinh cosh asinh acosh atanh asin acos atan atan2 erf erfc erfcx normcdf sinpi
      cospi fmod remainder log1p exp log nextafter tgammaf lgammaf powf erff]]
    local two = {}
    for _, name in ipairs(words "pow hypot atan2 fmod remainder nextafter powf") do two[name] = true end
    local lines = { "template <typename T> __device__ T plain(T v) { return v == v ? v : (T)__builtin_nan(\"\"); }" }
    for _, name in ipairs(names) do
      lines[#lines + 1] = ("__global__ void k_%s(const double *x, const double *z, double *y) {"):format(name)
      lines[#lines + 1] = ("  int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = plain(%s(x[i]%s)); }"):format(name,
        two[name] and ", z[i]" or "")
    end
    local special = { 0.0, -0.0, 1, -1, 0.5, 3, 1 / 0, -1 / 0, 0 / 0, 1e30, -1e-30, 1e-310, 1e300, -2.5, 700, -740 }
    local x, z, n = {}, {}, 1024
    for i = 1, n do -- all pairs of special numbers, then numbers of all sizes
      local row, column = (i - 1) // #special + 1, (i - 1) % #special + 1
      x[i] = special[row] and special[column] or math.sin(i) * 2.0 ^ (i % 13 - 6)
      z[i] = special[row] or math.cos(i) * 2.0 ^ (i % 7 - 3)
    end
    x, z = mw.array(x, "double"), mw.array(z, "double")
    local source = table.concat(lines, "\n")
    local function results(options)
      local m, list = mw.compile { source = source, options = options }, {}
      for _, name in ipairs(names) do
        local y = mw.zeros(n, "double")
        m["k_" .. name](n / 128, 128)(x, z, y)
        list[name] = y:bytes()
      end
      return list
    end
    local own = results()
    for _, target in ipairs(targets) do
      local other = results(target.options)
      for _, name in ipairs(names) do assert.is_true(own[name] == other[name], name .. " " .. target.name) end
    end
  end
  it("have the same bits for every processor", equal_on_targets)
end)
