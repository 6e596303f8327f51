-- The compile cache, as Lua sees it: hits and misses, what a key depends on, clearing, limits, damage, many processes.
-- Cache of its own: modules of other specs would evict those that are tested

local mw = require "moonwarp"
local read, write = require("support.files").read, require("support.files").write

local run = require "support.child"

local counter = 0

-- A source that no other spec compiles.
local function source(value)
  counter = counter + 1
  return ("// cache_spec %d %s\n__global__ void f(int *out) { *out = %d; }"):format(counter, os.time(), value)
end

local function value_of(m)
  local out = mw.full(1, -1, "int")
  m.f(1, 1)(out)
  return out[1]
end

-- How many hits and misses f() makes.
local function count(f)
  local hits, misses = mw.cache.hits, mw.cache.misses
  local result = f()
  return mw.cache.hits - hits, mw.cache.misses - misses, result
end

local function files(folder)
  local pipe = assert(io.popen("find '" .. folder .. "' -type f"))
  local list = {}
  for path in pipe:lines() do list[#list + 1] = path end
  pipe:close()
  return list
end

describe("the compile cache", function()
  it("returns modules that were compiled before", function()
    local text = source(5)
    local hits, misses, m = count(function() return mw.compile(text) end)
    assert.same({ 0, 1 }, { hits, misses })
    assert.equal(5, value_of(m))
    hits, misses, m = count(function() return mw.compile(text) end)
    assert.same({ 1, 0 }, { hits, misses })
    assert.equal(5, value_of(m))
  end)

  it("ignores the position of the text, which errors still report", function()
    local text = source(5)
    mw.compile { source = text, name = "one.cu" }
    local hits, misses, m = count(function() return mw.compile { source = text, name = "two.cu" } end)
    assert.same({ 1, 0 }, { hits, misses })
    assert.equal("two.cu", m.f.file)
    assert.equal(2, m.f.line)
  end)

  it("distinguishes modules by options and headers", function()
    local text = '#include "h.h"\n' .. source(0):gsub("= 0", "= N + H")
    local function build(n, h)
      return mw.compile { source = text, options = { "-DN=" .. n }, headers = { ["h.h"] = "#define H " .. h } }
    end
    assert.equal(3, value_of(build(1, 2)))
    assert.equal(4, value_of(build(2, 2)))
    assert.equal(5, value_of(build(2, 3)))
    local hits, misses = count(function() return build(1, 2) end)
    assert.same({ 1, 0 }, { hits, misses })
  end)

  it("notices that an included file changed", function()
    local folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder))
    local text = '#include "value.h"\n' .. source(0):gsub("= 0", "= VALUE")
    local function build() return mw.compile { source = text, options = { "-I" .. folder } } end
    write(folder .. "/value.h", "#define VALUE 1\n")
    assert.equal(1, value_of(build()))
    assert.equal(1, value_of(build()))
    write(folder .. "/value.h", "#define VALUE 12\n")
    assert.equal(12, value_of(build()))
    os.execute("rm -r " .. folder)
  end)

  it("does not keep failures", function()
    local text = source(1) .. " broken"
    for _ = 1, 2 do
      local _, err = mw.try_compile(text)
      assert.equal("compile", err.kind)
    end
  end)

  it("has a place, a size and a limit", function()
    mw.compile(source(1))
    assert.is_true(mw.cache.bytes > 0)
    assert.is_true(mw.cache.entries > 0)
    assert.is_true(#files(mw.cache.path) >= mw.cache.entries)
    assert.matches("^compile cache ", tostring(mw.cache))
    local limit = mw.cache.limit
    mw.cache.limit = 123456789
    assert.equal(123456789, mw.cache.limit)
    mw.cache.limit = limit
    assert.is_false(pcall(function() mw.cache.limit = "x" end))
    assert.is_false(pcall(function() mw.cache.hits = 0 end))
  end)

  it("lets the least recently used go past its limit", function()
    mw.cache.clear()
    local limit = mw.cache.limit
    local first = source(1)
    mw.compile(first)
    local one = mw.cache.bytes
    mw.cache.limit = 4 * one
    local texts = {}
    for i = 1, 8 do
      texts[i] = source(i)
      assert.equal(i, value_of(mw.compile(texts[i])))
    end
    assert.is_true(mw.cache.bytes <= 4 * one, mw.cache.bytes .. " of " .. 4 * one)
    local hits = count(function() return mw.compile(texts[8]) end)
    assert.equal(1, hits)
    local _, misses = count(function() return mw.compile(first) end)
    assert.equal(1, misses)
    mw.cache.limit = limit
  end)

  it("can be cleared, and loaded modules remain", function()
    local text = source(9)
    local m = mw.compile(text)
    mw.cache.clear()
    assert.equal(0, mw.cache.entries)
    assert.equal(0, mw.cache.bytes)
    assert.equal(9, value_of(m))
    local _, misses, again = count(function() return mw.compile(text) end)
    assert.equal(1, misses)
    assert.equal(9, value_of(again))
    mw.cache:clear()
    assert.equal(0, mw.cache.entries)
  end)

  it("rebuilds entries that were damaged", function()
    for _, damage in ipairs {
      function(bytes) return bytes:sub(1, #bytes // 2) end,
      function() return "" end,
      function(bytes)
        local at = #bytes // 3
        if at == 0 then return "x" end
        return bytes:sub(1, at - 1) .. string.char(bytes:byte(at) ~ 0x55) .. bytes:sub(at + 1)
      end,
    } do
      mw.cache.clear()
      local text = source(3)
      mw.compile(text)
      for _, path in ipairs(files(mw.cache.path)) do
        local bytes = damage(read(path))
        os.remove(path) -- not in place: the file may be mapped
        write(path, bytes)
      end
      assert.equal(3, value_of(mw.compile(text)))
      local hits = count(function() return mw.compile(text) end)
      assert.equal(1, hits)
    end
  end)

  -- A process with a cache of its own: the kernel runs twice, and `between`, a shell command on its folder (%s), in
  -- between. Its own cache, and nothing compiled for one block size: that is a second compilation, with 0 at the first
  -- launch.
  local function one_compile(folder) return { MOONWARP_CACHE = folder, MOONWARP_SPECIALISE = "65536" } end

  local function twice(between)
    local folder = os.tmpname()
    os.remove(folder)
    local result = run { ([[
      local mw = require "moonwarp"
      local function value()
        local out = mw.zeros(1, "int")
        mw.compile("__global__ void f(int *out) { *out = 7; }").f(1, 1)(out)
        return out[1]
      end
      print(value())
      os.execute(%q)
      print(value(), mw.cache.hits)
    ]]):format(between:gsub("%%s", folder)), environment = one_compile(folder), seconds = 60 }
    os.execute("rm -rf " .. folder)
    assert.is_true(result.ok, result.output)
    return result.output
  end

  it("ignores a file under another entry's name", function()
    local folder = os.tmpname()
    os.remove(folder)
    local script = [[
      local mw = require "moonwarp"
      local out = mw.zeros(1, "int")
      mw.compile("__global__ void f(int *out) { *out = " .. arg[1] .. "; }").f(1, 1)(out)
      print(out[1], mw.cache.hits, mw.cache.misses)
    ]]
    local function compiled(value)
      return run { script, value, environment = one_compile(folder) }.output
    end
    assert.equal("5\t0\t1\n", compiled(5))
    local path
    for _, name in ipairs(files(folder)) do path = name:find "mwo$" and name or path end
    local five = read(path)
    assert.equal("5\t1\t0\n", compiled(5))
    os.remove(path)
    assert.equal("6\t0\t1\n", compiled(6))
    local other
    for _, name in ipairs(files(folder)) do other = name:find "mwo$" and name or other end
    os.execute(("chmod u+w '%s'"):format(other))
    write(other, five)
    assert.equal("6\t0\t1\n", compiled(6))
    assert.equal("6\t1\t0\n", compiled(6))
    os.execute(("rm -rf '%s'"):format(folder))
  end)

  it("has nothing from a folder or a file that others can write", function()
    assert.equal("7\n7\t1\n", twice "true")
    assert.equal("7\n7\t0\n", twice "chmod g+w %s")
    assert.equal("7\n7\t0\n", twice "chmod o+w %s")
    assert.equal("7\n7\t1\n", twice "chmod 1777 %s") -- where others may touch their own files only
    assert.equal("7\n7\t0\n", twice "chmod g+w %s/*.mwo")
    assert.equal("7\n7\t0\n", twice "for f in %s/*.mwo; do mv $f $f.x; ln -s $f.x $f; done")
  end)

  it("has nothing that another user put there", function()
    if not os.execute "test $(id -u) = 0" then return pending "only root can make files that are another user's" end
    assert.equal("7\n7\t0\n", twice "chmod 1777 %s; chown nobody %s/*.mwo")
    assert.equal("7\n7\t0\n", twice "chown nobody %s")
  end)

  it("does not wait for a pipe in the meter's place", function()
    assert.equal("7\n7\t0\n", twice "rm -f %s/*; mkfifo %s/moonwarp.size")
  end)

  it("serves users other than root", function()
    if not os.execute "test $(id -u) = 0" then return end -- as the other tests here show
    local lua = [[setpriv --reuid=65534 --regid=65534 --clear-groups ]] .. arg[-1]
    local home = os.getenv "MOONWARP_HOME"
    if not os.execute(lua .. " -v >/dev/null 2>&1 && setpriv --reuid=65534 test -r " .. home .. "/bin/mwcc") then
      return pending "nobody cannot run this build"
    end
    local folder, script = os.tmpname(), os.tmpname()
    os.remove(folder)
    write(script, [[
      local mw = require "moonwarp"
      for _ = 1, 2 do mw.compile "__global__ void f(int *out) { *out = 7; }" end
      print(mw.cache.hits, mw.cache.misses, mw.cache.entries)
    ]])
    os.execute("chmod a+r " .. script)
    local pipe = assert(io.popen(("MOONWARP_CACHE=%s %s %s 2>&1"):format(folder, lua, script)))
    assert.equal("1\t1\t1\n", pipe:read "a")
    pipe:close()
    os.execute("rm -rf " .. folder)
    os.remove(script)
  end)

  it("serves several processes at once", function()
    local script = os.tmpname()
    write(script, ([[
      local mw = require "moonwarp"
      local sum = 0
      for i = 1, 4 do
        local m = mw.compile("// %s\n__global__ void f(int *out) { *out = " .. i .. "; }")
        local out = mw.zeros(1, "int")
        m.f(1, 1)(out)
        sum = sum + out[1]
      end
      print(sum)
    ]]):format(os.time()))
    local pipes = {}
    for i = 1, 4 do pipes[i] = assert(io.popen(arg[-1] .. " " .. script .. " 2>&1")) end
    for i = 1, 4 do
      assert.equal("10\n", pipes[i]:read("*a"))
      pipes[i]:close()
    end
    os.remove(script)
  end)
end)

describe("a folder of temporary files", function()
  -- A compilation with $TMPDIR a folder in which `name` was left, last touched at `when`; whether it is still there.
  local function is_left(name, when)
    local folder = os.tmpname()
    os.remove(folder)
    local left = folder .. "/" .. name
    assert(os.execute(("mkdir -p %s/include/a && cd %s && touch kernel.cu include/a/b.h && touch -d '%s' ."):format(
      left, left, when)))
    local result = run { [[require "moonwarp".compile "__global__ void f(int *out) { *out = 7; }"]],
      environment = { TMPDIR = folder, MOONWARP_CACHE = "off" } }
    assert.is_true(result.ok, result.output)
    local there = os.execute("test -e " .. left) == true
    local others = tonumber((io.popen("ls " .. folder .. " | wc -l"):read "a"))
    os.execute("rm -rf " .. folder)
    assert.equal(there and 1 or 0, others)
    return there
  end

  it("that a killed process left is removed by a compilation hours later", function()
    local gone = 2 ^ 22 + 12345 -- more than Linux gives out
    assert.is_false(is_left(("moonwarp-%d-a1B2c3"):format(gone), "1 day ago"))
    assert.is_true(is_left(("moonwarp-%d-a1B2c3"):format(gone), "1 minute ago"))
    assert.is_true(is_left("moonwarp-1-a1B2c3", "1 day ago"))
    assert.is_true(is_left(("moonwarp-%d-mine"):format(gone), "1 day ago"))
    assert.is_true(is_left("something-else", "1 day ago"))
  end)
end)
