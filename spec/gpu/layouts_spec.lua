-- Kernels of the device suite, by each compiler: parameters, their types, sizes and offsets, and the fields of structs
-- are the same. Every 30th source is compared; MOONWARP_LAYOUTS=1 compares every one.
-- Lua 5.4 only: this compares compilers' output.

local paths = require "support.compile.paths"
local sources = require "support.compile.sources"

local step = tonumber(os.getenv "MOONWARP_LAYOUTS") or 30

local function write_source(file, spec, entry)
  file:write(("{ from = %q, source = %q, options = {"):format(spec, entry.source))
  for _, option in ipairs(entry.options or {}) do file:write(("%q, "):format(option)) end
  file:write "'-O0' }, headers = {"
  for name, text in pairs(entry.headers or {}) do file:write(("[%q] = %q, "):format(name, text)) end
  file:write "}, instances = {"
  for _, name in ipairs(entry.instances) do file:write(("%q, "):format(name)) end
  file:write "} },\n"
end

-- Each step-th source, in a file that returns them: how many sources there are, and how many are in the file.
local function write_sources(path)
  local file, count, written, seen = assert(io.open(path, "w")), 0, 0, {}
  file:write "return {\n"
  for spec in io.popen("find spec/device -name '*_spec.lua' | LC_ALL=C sort"):lines() do
    for _, entry in ipairs(sources(spec)) do
      if not seen[entry.source] then
        seen[entry.source] = true
        count = count + 1
        if count % step == 0 then
          write_source(file, spec, entry)
          written = written + 1
        end
      end
    end
  end
  file:write "}\n"
  file:close()
  return count, written
end

-- Prints a line for each kernel, after the number of its source.
local script = [==[
local sources = dofile(PATH)
local function describe(places, depth)
  local list = {}
  for i, place in ipairs(places) do
    local dtype = place.dtype
    local inside = type(dtype) ~= "string" and dtype and depth < 6 and describe(dtype.fields, depth + 1) or ""
    list[i] = ("%s %s @%d +%d %s{%s}"):format(place.type, place.name, place.offset, place.size, tostring(dtype), inside)
  end
  return table.concat(list, ", ")
end
for i, entry in ipairs(sources) do
  -- Some have options that one of the devices has not.
  local known, m = pcall(mw.try_compile, { source = entry.source, options = entry.options, headers = entry.headers })
  if not (known and m) then
    print(i .. " refused: by this compiler")
  else
    for k, name in ipairs(entry.instances) do
      if k <= 1 then pcall(m.kernel, m, name) end
    end
    for _, name in ipairs((m:names())) do
      local k = m:kernel(name)
      print(i .. " " .. name .. ": " .. k:signature() .. ": " .. describe(k.params, 0))
    end
  end
end
]==]

local function by_kernel(output)
  local kernels, count = {}, 0
  for number, name, text in output:gmatch "(%d+) (%C-): (%C+)" do
    kernels[number .. " " .. name] = text
    count = count + 1
  end
  return kernels, count
end

describe("the kernels of the device suite", function()
  it("have the same signatures, types and layouts wherever they are compiled", function()
    local path = os.tmpname()
    local count, written = write_sources(path)
    assert.is_true(count > 60 and written > 0, count .. " sources were found")
    local outputs = paths.outputs((script:gsub("PATH", ("%q"):format(path))))
    os.remove(path)
    local cpu, all = by_kernel(outputs.cpu)
    assert.is_true(all >= written, ("%d kernels of %d sources: %s"):format(all, written, outputs.cpu:sub(1, 1000)))
    local refused = select(2, outputs.cpu:gsub("%d+ refused: ", ""))
    assert.is_true(refused * 4 <= written, ("%d of %d sources are refused"):format(refused, written))
    print(("layouts_spec: %d of %d sources, %d kernels"):format(written, count, all))
    for way, output in pairs(outputs) do
      local kernels, found = by_kernel(output)
      -- Refused are, for one, launches from kernels without the device's runtime library.
      local compared, refusing, of_refused = 0, 0, 0
      for number in output:gmatch "(%d+) refused: " do
        refusing = refusing + 1
        for name in pairs(cpu) do of_refused = of_refused + (name:match "^%d+" == number and 1 or 0) end
      end
      assert.is_true(refusing * 4 <= written, ("%s: %d of %d sources are refused"):format(way, refusing, written))
      for name, text in pairs(kernels) do
        if cpu[name] then
          assert.equal(cpu[name], text, way .. ": " .. name)
          compared = compared + 1
        end
      end
      assert.is_true(compared > (all - of_refused) * 0.8,
        ("%s: %d of %d kernels, %d there"):format(way, compared, all - of_refused, found))
    end
    if not paths.nvrtc then pending "NVRTC is not on this machine: a false one was compared" end
  end)
end)
