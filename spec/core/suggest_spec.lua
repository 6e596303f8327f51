-- Unknown names: the error suggests the name that was meant.

local mw = require "moonwarp"
local failure = require "support.failure"

local function message(f) return failure(f).message end

describe("a name that is not there", function()
  it("is an error that suggests the intended one", function()
    assert.equal("moonwarp has no 'zero'; did you mean 'zeros'?", message(function() return mw.zero end))
    assert.equal("moonwarp has no 'Compile'; did you mean 'compile'?", message(function() mw.Compile "" end))
    assert.equal("moonwarp has no 'sychronize'; did you mean 'synchronize'?", message(function() mw.sychronize() end))
    assert.equal("moonwarp has no 'quaternion'", message(function() return mw.quaternion end))
    local err = failure(function() return mw.zero end)
    assert.equal("usage", err.kind)
    assert.matches("suggest_spec.lua$", err.file)
  end)

  it("is an error for fields and methods of objects as well", function()
    local a = mw.zeros(3)
    assert.equal("an array has no 'shpe'; did you mean 'shape'?", message(function() return a.shpe end))
    assert.equal("an array has no 'smu'; did you mean 'sum'?", message(function() a:smu() end))
    assert.equal("an array has no 'quaternion'", message(function() return a.quaternion end))
    local m = mw.compile "__global__ void k(float *x) {}"
    assert.equal("a kernel has no 'ech'; did you mean 'each'?", message(function() m.k:ech(3) end))
    assert.equal("a launch has no 'bnd'; did you mean 'bind'?", message(function() m.k(1, 1):bnd(a) end))
    assert.equal("a stream has no 'synchronise'; did you mean 'synchronize'?",
      message(function() mw.stream():synchronise() end))
    assert.equal("a cuda array has no 'heigt'; did you mean 'height'?",
      message(function() return mw.cuda_array { width = 4, height = 4 }.heigt end))
    assert.equal("a device has no 'nme'; did you mean 'name'?", message(function() return mw.device().nme end))
    assert.equal("a pitched has no 'pich'; did you mean 'pitch'?",
      message(function() return mw.pitched(4, 4).pich end))
  end)

  it("is what NumPy calls a function or an attribute that has another name here", function()
    local a = mw.zeros(3)
    assert.equal("moonwarp has no 'concatenate'; here it is mw.concat({a, b}, axis)",
      message(function() return mw.concatenate end))
    assert.equal("an array has no 'astype'; here it is a:to(dtype)", message(function() return a:astype "int" end))
    assert.equal("an array has no 'T'; here it is a:permute()", message(function() return a.T end))
    assert.equal("moonwarp has no 'pi'; here it is math.pi", message(function() return mw.pi end))
    assert.equal("moonwarp has no 'sum'; it is a method: a:sum(…)", message(function() return mw.sum(a) end))
    for _, here in pairs(require("moonwarp.diagnostics.numpy_names").names) do -- what is named is there
      local name = here:match "^mw%.([%w_]+)"
      assert.is_true(not name or type(mw[name]) == "function", here)
      local member = here:match "^a[:.]([%w_]+)"
      assert.is_true(not member or a[member] ~= nil, here)
    end
  end)

  it("is one of CUDA's functions by name", function()
    local rt, cu = require "moonwarp.runtime", require "moonwarp.driver"
    assert.equal("moonwarp.runtime has no 'cudaMaloc'; did you mean 'cudaMalloc'?",
      message(function() rt.cudaMaloc(3) end))
    assert.equal("moonwarp.driver has no 'cuMemAloc'; did you mean 'cuMemAlloc'?",
      message(function() cu.cuMemAloc(3) end))
  end)

  it("can be tested without an error", function()
    assert.is_nil(rawget(mw, "zero"))
    for name in pairs(mw) do assert.not_equal("zero", name) end
  end)

  it("leaves properties that have no value as they are", function()
    assert.is_nil(mw.zeros(3)[4])
    assert.equal("", mw.compile("__global__ void k() {}"):log())
  end)
end)

describe("names that are similar", function()
  local closest = require("moonwarp.diagnostics.nearest").name

  it("differs by few letters, put in, left out, changed or swapped", function()
    local list = { "zeros", "ones", "linspace", "arange", "sum" }
    for name, like in pairs {
      zero = "zeros", zeroes = "zeros", zreos = "zeros", ZEROS = "zeros", lnspace = "linspace", arrange = "arange",
      smu = "sum",
    } do
      assert.equal(like, closest(name, list), name)
    end
    for _, name in ipairs { "x", "qqq", "quaternion", "" } do assert.is_nil(closest(name, list), name) end
  end)
end)
