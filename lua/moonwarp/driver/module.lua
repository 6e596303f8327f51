-- cuModule…: modules are moonwarp's. An image is CUDA C, or the output of m:save or the mwcc command. Machine code for
-- other processors has a different error from damaged images.

local raw = require "moonwarp.binding"
local modules = require "moonwarp.module.module"
local pointer = require "moonwarp.runtime.pointer"
local textures = require "moonwarp.runtime.texture"
local result = require "moonwarp.driver.result"
local contexts = require "moonwarp.driver.context"

local fail, call = result.fail, contexts.call
local takes = require("moonwarp.runtime.result").takes
local M = {}

---@param value any
---@return moonwarp.module
function M.check(value)
  if raw.type(value) ~= "module" then fail("CUDA_ERROR_INVALID_HANDLE", "this is not a module") end
  if contexts.unloaded[value] then fail("CUDA_ERROR_INVALID_HANDLE", "the module was unloaded") end
  return value
end

-- ---- images ----

local ELF, ELF_CUDA = "\127ELF", "\190\0"
local no_binary = "%s: it is machine code for %s only, and %s runs CUDA C, or files that m:save wrote there"

-- The kind of an image: "source"; "cpu" or "gpu" for compiled modules that moonwarp loads on such devices; "foreign"
-- for others; and its name.
local function kind_of(image)
  if image:sub(1, 4) == ELF then
    if image:sub(19, 20) == ELF_CUDA then return "gpu", "a cubin" end
    return "cpu", "a module for the CPU device"
  end
  if image:sub(1, 6) == "MWCUDA" then return "gpu", "a module for a GPU" end
  local magic = image:sub(1, 4)
  if magic == "\80\237\85\186" or magic == "\177\67\98\70" then return "foreign", "a fat binary" end
  if image:find("%f[^%s%z]%.version%s+%d") and image:find("%.target%s+sm_%d") then return "gpu", "PTX" end
  if image:find("^%s*architecture%s*{%s*sm_%d") then return "foreign", "a cubin" end
  if image:find("%S") and not image:find("%z") then return "source" end
  fail("CUDA_ERROR_INVALID_IMAGE", "%d bytes that are neither CUDA C nor a compiled module", #image)
end

-- Load a compiled module from memory.
local function load_bytes(image)
  local path = os.tmpname()
  local file, why = io.open(path, "wb")
  if not file then fail("CUDA_ERROR_OPERATING_SYSTEM", "cannot write %s", why) end
  file:write(image)
  file:close()
  local ok, module = pcall(raw.load, path)
  os.remove(path)
  if not ok then error(module, 0) end
  return module
end

local function adopt(module)
  contexts.current().modules[module] = true
  return module
end

-- CUjit_option: number -> the compiler's option for a value; false: accepted, without effect here.
local jit = {
  [0] = function(value) return "--maxrregcount=" .. value end,
  [1] = false, [2] = false, [3] = false, [4] = false, [5] = false, [6] = false,
  [7] = function(value) return "-O" .. math.min(value, 3) end,
  [8] = false, [9] = false, [10] = false,
  [11] = function(value) return value ~= 0 and "-G" or nil end,
  [12] = false,
  [13] = function(value) return value ~= 0 and "-lineinfo" or nil end,
  [14] = false,
}

local function compiler_options(given)
  local list = {}
  for key, value in pairs(given or {}) do
    if key == "options" then
      if type(value) ~= "table" then fail("CUDA_ERROR_INVALID_VALUE", "options are a table of strings") end
      for _, option in ipairs(value) do list[#list + 1] = option end
    else
      if jit[key] == nil then fail("CUDA_ERROR_INVALID_VALUE", "there is no CUjit_option %s", tostring(key)) end
      if jit[key] then
        if type(value) ~= "number" then fail("CUDA_ERROR_INVALID_VALUE", "a CUjit_option is a number") end
        list[#list + 1] = jit[key](math.floor(value))
      end
    end
  end
  table.sort(list)
  return list
end

-- The module of an image; `path` is the file from which it was read, if any.
local function load(image, options, path)
  if type(image) ~= "string" then
    fail("CUDA_ERROR_INVALID_VALUE", "an image is a string: CUDA C, or the bytes of a compiled module; got a %s",
      type(image))
  end
  local kind, what = kind_of(image)
  local here = raw.properties_of().driver == "cpu" and "cpu" or "gpu"
  if kind == here then return adopt(path and raw.load(path) or load_bytes(image)) end
  if kind ~= "source" then
    fail("CUDA_ERROR_NO_BINARY_FOR_GPU", no_binary, path or what, kind == "cpu" and "the CPU device" or "NVIDIA GPUs",
      raw.device().name)
  end
  return adopt(modules.compile(path and { file = path, options = options } or { source = image, options = options }))
end

local function load_file(path)
  if type(path) ~= "string" then fail("CUDA_ERROR_INVALID_VALUE", "cuModuleLoad wants the path of a file") end
  local file, why = io.open(path, "rb")
  local image = file and file:read("*a")
  if file then file:close() end
  if not image then fail("CUDA_ERROR_FILE_NOT_FOUND", "cannot read %s", why or path) end
  return load(image, nil, path)
end

-- A fat image: one image or several. The first is loaded for which this device has code.
local function load_fat(images)
  if type(images) ~= "table" then return load(images) end
  if #images == 0 then fail("CUDA_ERROR_INVALID_VALUE", "a fat image without images") end
  local reason
  for _, image in ipairs(images) do
    local ok, module = pcall(load, image)
    if ok then return module end
    reason = module
    local code = type(reason) == "table" and reason.code
    if code ~= "CUDA_ERROR_NO_BINARY_FOR_GPU" and code ~= "cudaErrorNoKernelImageForDevice" then break end
  end
  error(reason, 0)
end

-- ---- symbols ----

local function symbol_of(module, name)
  if type(name) ~= "string" then fail("CUDA_ERROR_INVALID_VALUE", "a name is a string, got a %s", type(name)) end
  return M.check(module):symbol(name)
end

---A texture reference's table, one for each symbol; texture.lua defines its fields.
local references = setmetatable({}, { __mode = "k" })
local modules_with = setmetatable({}, { __mode = "k" })

---The texture references of a module that were looked up.
function M.references_of(module) return modules_with[module] or {} end

local function reference(module, name, kind)
  local symbol = symbol_of(module, name)
  if textures.kind_of(symbol) ~= kind then
    fail("CUDA_ERROR_NOT_FOUND", "'%s' is not a %s reference of the module", name, kind)
  end
  if not references[symbol] then
    references[symbol] = M.new_reference(symbol, kind)
    local list = modules_with[module] or {}
    list[#list + 1] = references[symbol]
    modules_with[module] = list
  end
  return references[symbol]
end

---@param cu table
function M.install(cu)
  cu.cuModuleLoad = call(load_file)
  cu.cuModuleLoadData = call(function(image) return load(image) end)
  ---Options by CUjit_option, and moonwarp's own, options = {"-DN=4"}. Returns the compiler's log after the module.
  cu.cuModuleLoadDataEx = call(takes("cuModuleLoadDataEx", function(image, options)
    local module = load(image, compiler_options(options))
    return module, module:log()
  end))
  cu.cuModuleLoadFatBinary = call(load_fat)
  cu.cuModuleUnload = call(function(module)
    raw.synchronize()
    contexts.unloaded[M.check(module)] = true
    contexts.current().modules[module] = nil
  end)
  cu.cuModuleGetFunction = call(function(module, name)
    if type(name) ~= "string" then fail("CUDA_ERROR_INVALID_VALUE", "a name is a string, got a %s", type(name)) end
    return M.check(module):kernel(name)
  end)
  cu.cuModuleGetGlobal = call(function(module, name)
    local symbol = symbol_of(module, name)
    if textures.kind_of(symbol) then
      fail("CUDA_ERROR_NOT_FOUND", "'%s' is a reference: see cuModuleGetTexRef and cuModuleGetSurfRef", name)
    end
    return pointer.new(symbol.address), symbol.size
  end)
  cu.cuModuleGetTexRef = call(function(module, name) return reference(module, name, "texture") end)
  cu.cuModuleGetSurfRef = call(function(module, name) return reference(module, name, "surface") end)
end

return M
