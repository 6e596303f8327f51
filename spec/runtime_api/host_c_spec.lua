-- CUDA's own C interface (libmoonwarp_cuda): host code of the guides, compiled by the C compiler, run on this device.
-- Lua 5.4 only: separate programs run.

local suite = require "support.suite"
local cu = require "moonwarp.driver"
local rt = require "moonwarp.runtime"

local home = os.getenv "MOONWARP_HOME"
local sanitized = os.getenv "MOONWARP_CONFIG" == "sanitize"

local function output_of(command)
  local pipe = assert(io.popen(command .. " 2>&1"))
  local text = pipe:read "*a"
  return text, pipe:close() == true
end

local folder
setup(function()
  folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir " .. folder))
end)
teardown(function() os.execute("rm -rf " .. folder) end)

-- Build a program (of spec/support/c, or a path) against the build tree; a function that runs it.
local function program(compiler, name, options)
  local path = folder .. "/" .. name:gsub("%W", "_")
  local source = name:match "/" and name or "spec/support/c/" .. name
  local flags = sanitized and "-fsanitize=address,undefined " or ""
  local text, ok = output_of(("%s %s -Wall -Wextra -Werror -Isrc/host/include %s -o %s %s -L%s/lib " ..
    "-lmoonwarp_cuda -Wl,-rpath,%s/lib"):format(compiler, options, flags, path, source, home, home))
  assert.is_true(ok, text)
  return function(arguments) return output_of(path .. " " .. (arguments or "")) end
end

local function declared()
  local text = output_of "cat src/host/include/*.h"
  text = text:gsub("/%*.-%*/", "")
  local names = {}
  for result, name in text:gmatch "([%w_]+)[%s%*]+(m?w?[cC]ud?a?[A-Z][%w_]*)%(" do
    if result ~= "return" and result ~= "define" and result ~= "inline" then names[name] = true end
  end
  for name in text:gmatch "curandStatus_t (curand%u%w*)%(" do names[name] = true end
  local inline = {} -- templates, of C++ alone
  for name in text:gmatch "cudaError_t inline (cuda%u%w*)%(" do inline[name] = true end
  return names, inline
end

describe("the library of CUDA's names", function()
  it("exports exactly what its headers declare", function()
    local names, found, missing, more = declared(), {}, {}, {}
    for line in output_of("nm -D --defined-only " .. home .. "/lib/libmoonwarp_cuda.so"):gmatch "[^\n]+" do
      local name = line:match "%s[TDRBW]%s+([%w_]+)$"
      if name then found[name] = true end
    end
    for name in pairs(names) do
      if not found[name] then missing[#missing + 1] = name end
    end
    for name in pairs(found) do
      if not names[name] then more[#more + 1] = name end
    end
    assert.same({}, missing)
    assert.same({}, more)
    assert.is_true(names.cudaMalloc and names.cuMemAlloc and names.mwCudaSource)
  end)

  it("has every function of moonwarp.runtime and of moonwarp.driver", function()
    local missing = {}
    local names, inline = declared()
    for _, module in ipairs { rt, cu } do
      for name, value in pairs(module) do
        if type(value) == "function" and name:match "^cud?a?%u" and not (names[name] or inline[name]) then
          missing[#missing + 1] = name
        end
      end
    end
    table.sort(missing)
    assert.same({}, missing)
  end)

  it("calls each of its functions in a test", function()
    local text, missing = output_of "cat spec/support/c/*.c examples/c/*.[ch]", {}
    for name in pairs(declared()) do
      if not text:find("%f[%w_]" .. name .. "%f[^%w_]") then missing[#missing + 1] = name end
    end
    table.sort(missing)
    assert.same({}, missing)
  end)
end)

describe("the guides' C host code", function()
  for _, name in ipairs { "matmul", "matmul_driver", "overlap", "pi", "texture" } do
    it("runs: " .. name, function()
      local text, ok = output_of(home .. "/bin/c/" .. name)
      assert.is_true(ok, text)
      assert.matches("%f[%d]0 wrong", text)
      assert.not_matches("[1-9]%d* wrong", text)
    end)
  end

  it("runs as docs/use/embedding.md has it", function()
    local file = assert(io.open "docs/use/embedding.md")
    local snippet = file:read("*a"):match "```c\n(#include <cuda_runtime.h>.-)```"
    file:close()
    file = assert(io.open(folder .. "/snippet.c", "w"))
    file:write(snippet)
    file:close()
    local text, ok = program("cc", folder .. "/snippet.c", "-std=c11")()
    assert.is_true(ok, text)
    assert.equal(snippet:match "%-%-> (.-) %*/" .. "\n", text)
  end)

  it("loads modules that mwcc compiled, from files and from memory", function()
    local source = folder .. "/muld.cu"
    local file = assert(io.open("examples/c/matmul_driver.c"))
    local text = file:read "*a"
    file:close()
    local lines = {}
    for line in text:match("kernels%[%].-;\n\n"):gmatch '"(.-)\\n"' do lines[#lines + 1] = line:gsub('\\"', '"') end
    file = assert(io.open(source, "w"))
    file:write(table.concat(lines, "\n"), "\n")
    file:close()
    local log, ok = output_of(("%s/bin/mwcc %s -o %s/muld.mwo"):format(home, source, folder))
    assert.is_true(ok, log)
    for _, path in ipairs(suite.on_gpu and { source } or { source, folder .. "/muld.mwo" }) do
      text, ok = output_of(("%s/bin/c/matmul_driver %s"):format(home, path))
      assert.is_true(ok, text)
      assert.matches("%f[%d]0 wrong", text)
    end
    text, ok = output_of(("%s/bin/c/matmul_driver %s/nothing.mwo"):format(home, folder))
    assert.is_false(ok)
    assert.matches("CUDA_ERROR_FILE_NOT_FOUND: cannot read", text)
  end)
end)

describe("functions under CUDA's names in C", function()
  for _, name in ipairs {
    "runtime", "runtime_array", "runtime_graph", "driver", "driver_array", "driver_object", "driver_later",
    "graphs_and_pools",
    "launch", "opengl", "threads",
  } do
    it("behave as documented: " .. name, function()
      local text, ok = program("cc", name .. ".c", "-std=c11")(folder)
      assert.is_true(ok, text)
      local why = text:match "^(no OpenGL: .-)\n"
      if why then return pending(why) end
      assert.matches("^%d+ checks, 0 failed\n$", text)
    end)
  end

  it("are there for C++, with its default arguments and typed forms", function()
    if not select(2, output_of "command -v g++") then return pending "there is no g++" end
    local text, ok = program("g++", "host.cpp", "-std=c++11")()
    assert.is_true(ok, text)
    assert.matches("^%d+ checks, 0 failed\n$", text)
  end)

  -- The codes that a program prints, by its names of the cases.
  local function codes_of(name)
    local text, ok = program("cc", name .. ".c", "-std=c11")()
    assert.is_true(ok, text)
    local found = {}
    for case, code in text:gmatch "([^\n=]+)=(%d+)" do found[case] = tonumber(code) end
    return found
  end

  -- A table of codes by their names, f(code).
  local function named(codes, f)
    local names = {}
    for case, code in pairs(codes) do names[case] = f(code) end
    return names
  end

  it("fail with the codes that moonwarp.runtime returns for the same calls", function()
    local found = named(codes_of "codes", rt.cudaGetErrorName)
    assert.same(named(require "support.api.host_codes"(), rt.cudaGetErrorName), found)
    assert.equal("cudaErrorInvalidPitchValue", found["memcpy2d narrow pitch"])
  end)

  it("fail with the codes that moonwarp.driver returns for the same calls", function()
    local function name(code) return select(2, cu.cuGetErrorName(code)) end
    local found = named(codes_of "driver_codes", name)
    assert.same(named(require "support.api.driver_codes"(), name), found)
    assert.equal("CUDA_ERROR_NOT_SUPPORTED", found["texture with a view"])
    assert.equal("CUDA_ERROR_INVALID_CONTEXT", found["module without a context"])
  end)
end)
