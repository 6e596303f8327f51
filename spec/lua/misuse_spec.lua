-- Misuse: errors of every public function for wrong arguments, none of which is accepted silently.

local mw = require "moonwarp"
local run = require "support.child"
local failure = require "support.failure"
local signatures = require "moonwarp.check.signatures"

local here = debug.getinfo(1, "S").source:sub(2)

local unpack = table.unpack or unpack -- luacheck: ignore 143

local function message(f, ...) return failure(f, ...).message end

local m = mw.compile "__global__ void k(int *p) { p[0] = 1; } __device__ int g;"

-- An object of each class.
local function objects()
  local array = mw.zeros({ 4, 4 })
  local cuda_array = mw.cuda_array { kind = "2d", width = 4, height = 4, dtype = "float" }
  local graph = mw.graph()
  return {
    array = array, cuda_array = cuda_array, pitched = mw.pitched(4, 4), texture = mw.texture(cuda_array),
    surface = mw.surface(cuda_array), module = m, kernel = m.k, symbol = m:symbol "g", device = mw.device(),
    stream = mw.stream(), event = mw.event(), graph = graph, graph_exec = graph:instantiate(),
  }
end

-- Patterns of Lua's own messages, which do not explain the mistake to a script's author.
local function is_raw(text)
  for _, pattern in ipairs { "attempt to", "bad argument", "stack overflow", "expected, got" } do
    if text:find(pattern) then return true end
  end
  return false
end

local function check_clear(f, ...)
  local ok, err = pcall(f, ...)
  if ok then return end
  assert.equal("error", mw.type(err), tostring(err))
  assert.is_false(is_raw(err.message), err.message)
end

-- Every public function and method with a signature: f(name, function, object or nil, signature).
local function each(f)
  for name, text in pairs(signatures.mw) do f("mw." .. name, mw[name], nil, text) end
  for class, object in pairs(objects()) do
    for name, text in pairs(signatures.classes[class]) do
      if name ~= "letter" then f(class .. ":" .. name, object[name], object, text) end
    end
  end
end

describe("misuse", function()
  it("is found after a method's file has been read, as before", function()
    local result = run { [[
      local mw = require "moonwarp"
      local a = mw.arange(6)
      local function reason(name)
        local text = tostring(select(2, pcall(a[name], a, 3))):gsub("^.-: ", "")
        return text
      end
      local used = { function() a:sum() end, function() return a[{ { 1, 2 } }] end, function() return a + 1 end,
        function() return a:mean() end, function() mw.save_npy(os.tmpname(), a) end }
      for _, use in ipairs(used) do
        use()
        for _, name in ipairs { "sum", "mean", "argmax", "cumsum", "cumprod" } do print(reason(name)) end
      end]] }
    assert.is_true(result.ok, result.output)
    local count = 0
    for line in result.output:gmatch "[^\n]+" do
      count = count + 1
      assert.matches("^a:%a+ wants .*, got the number 3; write a:%a+[%( ][%[{]", line)
    end
    assert.equal(25, count)
  end)

  it("names the function, the argument, what it expects, what it got and what to write", function()
    local a = mw.zeros(4)
    assert.equal('a:sub wants a whole number as first, got the string "x"; write a:sub(first[, last])',
      message(a.sub, a, "x"))
    assert.equal("a:sub wants a whole number as first, got nil; write a:sub(first[, last])", message(a.sub, a))
    assert.equal("mw.copy_region wants an array, a pitched array or a CUDA array as target, got the number 3; "
      .. "write mw.copy_region(target, source[, region])", message(mw.copy_region, 3, a))
    assert.equal("a:sub is a method of an array, called on the number 3; write a:sub(first[, last]) with a colon",
      message(a.sub, 3))
    assert.matches("^a:sub wants a whole number as first, got the number", message(a.sub, a, 2 ^ 64))
    assert.equal("mw.cdiv takes 2 arguments, got 3; write mw.cdiv(a, b)", message(mw.cdiv, 1, 2, 3))
  end)

  it("points at the caller", function()
    local a = mw.zeros(4)
    local err, at = failure(function() a:sub("x") end), debug.getinfo(1, "l").currentline
    assert.equal(here, err.file)
    assert.equal(at, err.line)
    err, at = failure(function() mw.stream(3) end), debug.getinfo(1, "l").currentline
    assert.equal(at, err.line)
  end)

  it("of options lists their names, also of nested options", function()
    assert.equal("mw.stream has no option 'prioriti'; did you mean 'priority'? It has priority, nonblocking",
      message(mw.stream, { prioriti = 1 }))
    assert.equal("mw.event has no option 'colour'; it has timing, blocking", message(mw.event, { colour = true }))
    assert.equal("mw.event: timing is true or false, got the number 1", message(mw.event, { timing = 1 }))
    local a = mw.zeros(4)
    assert.equal("mw.copy_region: to is a table of options, got the number 3",
      message(mw.copy_region, a, a, { to = 3 }))
    assert.equal("mw.copy_region: to: x is a whole number, got true",
      message(mw.copy_region, a, a, { to = { x = true } }))
    assert.matches("^mw.copy_region: from has no option 'q'", message(mw.copy_region, a, a, { from = { q = 1 } }))
    assert.matches("^a:show has no option 'with'; did you mean 'width'%?", message(a.show, a, { with = 3 }))
    assert.matches("^graphics is kitty, sixel, blocks or text", message(a.show, mw.zeros(2, 2), { graphics = "x" }))
    assert.matches("is from 1 to 10000 characters", message(a.plot, a, { width = -1 }))
  end)

  it("has a message of its own for every function", function()
    local values = { 0, -1, 1.5, 0 / 0, 1 / 0, 2 ^ 62, "", "/nonexistent/x", true, print, {}, { 1, { 2 } }, { x = {} },
      mw.zeros(2), mw.stream(), m, m.k, m.k(1, 1), mw.graph(), io.stdout }
    -- These change state, print, or return what the caller has to delete.
    local silent = { ["mw.limit"] = true, ["array:show"] = true, ["array:plot"] = true, ["array:dlpack"] = true }
    each(function(name, f, object)
      if silent[name] or name:find ":free$" or name == "mw.on_print" or name == "mw.capture" then return end
      local function call(...)
        if object then return check_clear(f, object, ...) end
        check_clear(f, ...)
      end
      call()
      for _, value in ipairs(values) do
        call(value)
        call(nil, value)
        call(value, value)
        call(1, nil, value)
      end
      if object then check_clear(f, nil) check_clear(f, 3) check_clear(f, m) end
    end)
    mw.synchronize()
  end)

  it("is an extra argument, for every function", function()
    local checked = 0
    each(function(name, f, object, text)
      if text:find "%.%.%." or text:find ": any" and not text:find "^%w+: any$" then return end
      local _, most = text:gsub("%b{}", ""):gsub("%w%??:", "")
      local list = {}
      if object then list[1] = object end
      for _ = 1, most + 1 do list[#list + 1] = true end
      local ok, err = pcall(f, unpack(list, 1, #list))
      assert.is_false(ok, name)
      assert.equal("usage", err.kind, name)
      checked = checked + 1
    end)
    assert.is_true(checked > 60)
  end)

  it("is an axis of a reduction that is not an option", function()
    local a = mw.arange(6):reshape(2, 3)
    assert.equal("a:sum wants a table of options, got the number 1; write a:sum { axis = 1 }", message(a.sum, a, 1))
    assert.matches("write a:mean { axis = 1 }, where 1 is the first axis$", message(a.mean, a, 0))
    assert.matches("there is no axis 3: the array has 2", message(a.max, a, { axis = 3 }))
    assert.matches("axis 2 is given twice", message(a.mean, a, { axis = { 2, -1 } }))
    assert.equal(15, a:sum())
    assert.equal(3, a[1]:sum())
  end)

  it("of a launch names arguments after the stream", function()
    local said = "a launch takes grid, block, shared and stream, got 5 values; write k(grid, block)(arguments)"
    assert.equal(said, message(function() m.k(1, 1, 0, 0, 5) end))
    assert.equal(said, message(m.k.cooperative, m.k, 1, 1, 0, 0, 5))
    assert.equal("k:each takes one size, or a table of up to three, got 2 values; write k:each{nx, ny}(arguments)",
      message(m.k.each, m.k, 4, 4))
  end)
end)

describe("an index", function()
  it("is nil one after the end, where ipairs stops, and an error anywhere else outside", function()
    local a = mw.zeros(10)
    assert.is_nil(a[11])
    for _, i in ipairs { 0, -1, 12, 1.5 } do assert.equal("usage", failure(function() return a[i] end).kind) end
    assert.equal("usage", failure(function() a[11] = 1 end).kind)
  end)
end)

describe("a shape", function()
  it("names a dtype in its table", function()
    local a = mw.zeros { 3, 4, dtype = "int" }
    assert.equal("int", a.dtype)
    assert.same({ 3, 4 }, a.shape)
    assert.equal("double", mw.ones({ 2, dtype = "double" }).dtype)
    assert.equal("uchar4", mw.empty({ 2, dtype = "uchar4" }).dtype)
    local full = mw.full({ 2, 2, dtype = "short" }, 7)
    assert.equal("short", full.dtype)
    assert.equal(28, full:sum())
  end)

  it("has no other values, and no argument follows the dtype", function()
    assert.matches('this one has the string "dtpye"', message(mw.zeros, { 3, dtpye = "int" }))
    assert.matches("the dtype is given twice", message(mw.zeros, { 3, dtype = "int" }, "float"))
    assert.equal("mw.zeros takes a shape and a dtype, and nothing after that", message(mw.zeros, 3, "int", "x"))
    assert.equal("mw.ones takes a shape and a dtype, and nothing after that", message(mw.ones, { 3 }, "int", 4))
    assert.matches("mw.arange takes 3 numbers at most", message(mw.arange, 1, 2, 3, 4))
    assert.matches("mw.arange wants numbers and then a dtype", message(mw.arange, 1, "int", 4))
    assert.matches("keeps the dtype", message(mw.zeros(4).reshape, mw.zeros(4), { 2, 2, dtype = "int" }))
    assert.matches("got the string \"x\"", message(mw.zeros(4).reshape, mw.zeros(4), "x"))
    assert.matches("nothing after it", message(mw.zeros(4).reshape, mw.zeros(4), { 2, 2 }, 3))
  end)
end)

describe("the signatures", function()
  it("are those of the annotations", function()
    local reference = dofile "docs/use/reference.lua"
    local own = { -- which check their arguments themselves, or are not called
      ["mw.version"] = true, ["mw.binding"] = true, ["mw.null"] = true, ["mw.cache"] = true, ["mw.empty"] = true,
      ["mw.pinned"] = true, ["mw.managed"] = true, ["mw.zeros"] = true, ["mw.ones"] = true, ["mw.arange"] = true,
      ["mw.compile"] = true, ["mw.warnings"] = true, ["mw.linalg"] = true, ["mw.fft"] = true, ["mw.nccl"] = true,
      ["mw.dist"] = true, ["mw.mpi"] = true,
      ["mw.try_compile"] = true, ["array.get"] = true, ["array.set"] = true,
      ["kernel.each"] = true, ["kernel.cooperative"] = true, ["kernel.cluster"] = true,
      ["kernel.dependent"] = true, ["kernel.checked"] = true, ["launch.bind"] = true,
    }
    -- Of these classes' methods, the functions check what they are given.
    local classes = { layout = true, request = true, exchange = true, measured = true, debugged = true,
      mpi_communicator = true, mpi_window = true, mpi_file = true }
    for _, receiver in ipairs(reference.read()) do
      for _, entry in ipairs(receiver.entries) do
        local name = receiver.name .. "." .. entry.name
        local list = signatures.classes[receiver.name] or signatures[receiver.name] or {}
        local text = list[entry.name]
        -- brief: functions of elements and reductions, which check theirs; complex numbers' methods take none
        local takes_none = receiver.name == "complex" and #entry.params == 0
        if not own[name] and not classes[receiver.name] and not entry.brief and not takes_none then
          assert.is_string(text, name .. " has no signature")
          text = text:gsub("%b{}", "{}"):gsub("%-%-.*", "")
          for i, param in ipairs(entry.params) do
            local got = text:match("^%s*([%w_%.]+)")
            assert.equal(param.name, got, name .. ", parameter " .. i)
            text = text:gsub("^[^,]*,?", "")
          end
        end
      end
    end
  end)
end)

describe("misuse of CUDA's own functions", function()
  local rt, cu = require "moonwarp.runtime", require "moonwarp.driver"
  local values = { 0, 1, 1.5, -1, 0 / 0, 2 ^ 40, "x", {}, { width = 1, height = {} }, true, tostring, m, m.k,
    m:symbol "g", mw.zeros(4), mw.stream(), mw.event(), mw.graph(), io.stdout }
  -- Functions that end the device or the context for other tests, and functions that write files by name.
  local leave_out = { cudaThreadExit = true, cudaDeviceReset = true, cudaGraphDebugDotPrint = true,
    cuGraphDebugDotPrint = true, cudaSetDevice = true, cudaGLSetGLDevice = true }

  -- Each function with nothing, and some calls with anything.
  local function each_call(library, f)
    local names = {}
    for name, value in pairs(library) do
      if type(value) == "function" and not leave_out[name] and not name:find "Ctx" then names[#names + 1] = name end
    end
    table.sort(names)
    for _, name in ipairs(names) do
      f(library[name])
      for _ = 1, 12 do
        local copies = name:find "Memcpy" or name:find "Register" -- where a number is an address of the host's own
        local usual = copies and mw.stream() or 4
        local list = { usual, usual, m.k, usual, usual, usual, usual }
        for _ = 1, 2 do
          local value = values[math.random(#values)]
          if not copies or type(value) ~= "number" then list[math.random(7)] = value end
        end
        f(library[name], unpack(list, 1, math.random(7)))
      end
    end
  end

  it("is a result code, or an error of the library's", function()
    require "support.random" "misuse_spec"
    local _, context
    cu.cuInit(0)
    _, context = cu.cuCtxCreate(0, 0)
    for _, library in ipairs { rt, cu } do each_call(library, check_clear) end
    cu.cuCtxDestroy(context)
  end)

  it("explains what was wrong", function()
    assert.equal(rt.cudaErrorInvalidValue, (rt.cudaMemset2D(0, "x", 0, 1, 1)))
    assert.equal('cudaMemset2D wants a whole number as pitch, got the string "x"; '
      .. "write cudaMemset2D(dst, pitch, value, width, height)", rt.story().message)
    local ok, err = pcall(require("moonwarp.binding").memory_free, mw.device())
    assert.is_false(ok)
    assert.matches("an address is a whole number that is not negative, got a device", tostring(err))
    assert.equal(rt.cudaErrorInvalidValue, (rt.cudaMalloc(16, 3)))
    assert.equal("this function takes 1 argument, got 2", rt.story().message)
  end)
end)
