-- Compilers' warnings: shown once, with the script's line and the compiler's caret, from the compiler or from the
-- cache.

local mw = require "moonwarp"
local failure = require "support.failure"
local child = require "support.child"
local fake_gpu = require "support.fake.gpu"

-- An index past the end of an array, on line 3 of the source.
local careless = [==[
__global__ void k(int *p) {
  int careless[4];
  careless[4] = p[0];
  p[1] = careless[p[0]];
}
]==]

local function collect(action)
  local list = {}
  local before = mw.warnings(function(warning) list[#list + 1] = warning end)
  local ok, err = pcall(action)
  mw.warnings(before)
  assert(ok, err)
  return list
end

describe("a compiler's warning", function()
  it("is an object with an error's fields", function()
    local text = [==[
__global__ void k(int *p) {
  int careless[4];
  careless[4] = p[0];
  p[1] = careless[p[0]];
}]==]
    local line = debug.getinfo(1, "l").currentline - 3 -- careless[4]'s
    local list = collect(function() mw.compile(text) end)
    assert.equal(1, #list)
    local warning = list[1]
    assert.equal("warning", warning.kind)
    assert.equal("warning", mw.type(warning))
    assert.matches("array index 4 is past the end of the array", warning.message)
    assert.equal(line, warning.line)
    assert.equal(3, warning.column)
    assert.matches("warnings_spec%.lua$", warning.file)
    assert.matches("warnings_spec%.lua:%d+$", warning.where)
    assert.equal("-Warray-bounds", warning.option)
    assert.matches("warnings_spec%.lua:" .. line .. ":3: warning: .-\n  careless%[4%] = p%[0%];\n  %^", warning.log)
    assert.equal(warning.log, tostring(warning))
  end)

  it("is shown whether it is from the compiler or from the cache, and once", function()
    local text = careless .. "// " .. tostring({}) -- never compiled before
    local function told() return collect(function() mw.compile(text) mw.compile(text) end) end
    local hits = mw.cache.hits
    local first, second = told(), told()
    assert.is_true(mw.cache.hits > hits)
    assert.equal(1, #first)
    assert.equal(1, #second)
    assert.equal(first[1].log, second[1].log)
    collect(function() assert.equal(first[1].log, (mw.compile(text):log():gsub("%s+$", ""))) end)
  end)

  it("has the compiling line if the source is not in a file", function()
    local text = careless:gsub("careless", "assembled")
    local list = collect(function() mw.compile(text) end)
    assert.equal("kernel.cu", list[1].file)
    assert.matches("kernel.cu:3:3: warning: .*\n  %(compiled at .*warnings_spec%.lua:%d+%)$", tostring(list[1]))
  end)

  it("about a template instance is shown when that is made, and once", function()
    local list = collect(function()
      local m = mw.compile [==[
        template <int N> __global__ void t(int *p) { int few[2]; few[N] = p[0]; p[0] = few[p[1]]; }
        __global__ void k(int *p) { int few[2]; few[3] = p[0]; p[0] = few[p[1]]; }
      ]==]
      for _, name in ipairs { "t<1>", "t<5>", "t<5>" } do assert.truthy(m[name]) end
      local _, count = m:log():gsub(": warning: ", "")
      assert.equal(2, count)
    end)
    assert.equal(2, #list)
    assert.matches("array index 3", list[1].message)
    assert.matches("array index 5", list[2].message)
  end)

  it("in a header given with the source has the header's name and line", function()
    local list = collect(function()
      mw.compile { source = '#include "few.h"\n__global__ void k(int *p) { p[0] = few(p[1]); }',
        headers = { ["few.h"] = "\n__device__ int few(int i) { int list[2]; list[7] = i; return list[i]; }" } }
    end)
    assert.equal(1, #list)
    assert.matches("few%.h$", list[1].file)
    assert.equal(2, list[1].line)
    assert.matches("^In file included from ", list[1].log)
  end)

  it("does not show how our headers define a keyword", function()
    local list = collect(function()
      mw.compile "__global__ void k(int *p) { __shared__ int s[2]; s[2] = 1; p[0] = s[p[1]]; }"
    end)
    assert.matches("past the end", list[1].log)
    assert.matches("note: array 's' declared here", list[1].log)
    assert.not_matches("keywords%.h", list[1].log)
  end)
end)

describe("mw.warnings", function()
  it("prints on stderr by default, in scripts", function()
    local script = 'local mw = require "moonwarp"\nfor i = 1, 2 do mw.compile [==[\n' .. careless ..
      "]==] end print 'done'"
    for _ = 1, 2 do -- from the compiler, from the cache
      local output = child { script }.output
      assert.matches("^[^\n]*:6:3: warning: array index 4 is past the end of the array[^\n]*\n" ..
        "  careless%[4%] = p%[0%];\n  %^", output)
      local _, count = output:gsub("warning: ", "")
      assert.equal(1, count)
      assert.matches("done\n$", output)
    end
    assert.equal("done\n", child { script:gsub('"moonwarp"', '"moonwarp" mw.warnings(false)') }.output)
  end)

  it("makes them errors", function()
    local before = mw.warnings "error"
    local ok, message = pcall(function()
      local err = failure(mw.compile, careless)
      assert.equal("compile", err.kind)
      assert.equal("cudaErrorInvalidSource", err.code)
      assert.equal(3, err.column)
      assert.matches("array index 4 is past the end", err.message)
      assert.matches("warning: array index 4", err.log)
      local none, why = mw.try_compile(careless)
      assert.is_nil(none)
      assert.equal("compile", why.kind)
      assert.truthy(mw.compile "__global__ void f() {}".f)
      local m = mw.compile "template <int N> __global__ void t(int *p) { int few[2]; few[N] = p[0]; p[0] = few[p[1]]; }"
      for _ = 1, 2 do assert.matches("array index 5", failure(function() return m["t<5>"] end).message) end
    end)
    mw.warnings(before)
    assert(ok, message)
  end)

  it("returns the previous setting, and refuses other than the four", function()
    local before = mw.warnings(false)
    assert.is_false(mw.warnings(true))
    assert.is_true(mw.warnings())
    mw.warnings(before)
    assert.matches('mw.warnings wants true %(print them%), false, "error" or a function, got the string "errors"',
      failure(mw.warnings, "errors").message)
    assert.matches("got a number", failure(mw.warnings, 1).message)
    assert.matches("got a nil", failure(mw.warnings, nil).message)
  end)
end)

describe("NVRTC's warnings", function()
  it("are shown in the same way, except those about our headers", function()
    local result = fake_gpu [==[
      mw.warnings(function(w) print(w.kind, w.line, w.column, w.message) print(w.log) end)
      mw.compile [[/*PTX .version 8.0 */
        a[256] = 1;
/*LOG moonwarp/prelude.h(12): warning #177-D: function "unused" was declared but never referenced
  inline void unused();
              ^

kernel.cu(2): warning #175-D: subscript out of range
          a[256] = 1;
            ^

Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"

*/]]
    ]==]
    assert.matches("^warning\t5\t11\tsubscript out of range\n[^\n]*:5:11: warning: subscript out of range\n" ..
      " +5 |         a%[256%] = 1;\n +|           %^\n$", result.output)
  end)
end)
