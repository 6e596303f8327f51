-- cuLaunchKernelEx and its kin, tensor maps, and finding functions. A configuration has CUlaunchConfig's fields; an
-- attribute is { id =, value = { clusterDim = … } }.

local raw = require "moonwarp.binding"
local execution = require "moonwarp.driver.execution"
local launches = require "moonwarp.runtime.launch_attributes"
local pointer = require "moonwarp.runtime.pointer"
local result = require "moonwarp.driver.result"
local contexts = require "moonwarp.driver.context"
local textures = require "moonwarp.driver.texture"

local fail, call = result.fail, contexts.call
local M = {}

-- The runtime API's form of a configuration.
local function as_runtime(config)
  if type(config) ~= "table" then fail("CUDA_ERROR_INVALID_VALUE", "a launch wants a configuration") end
  local attributes = {}
  for i = 1, config.numAttrs or #(config.attrs or {}) do
    local attribute = (config.attrs or {})[i]
    if type(attribute) ~= "table" then
      fail("CUDA_ERROR_INVALID_VALUE", "attribute %d of the launch is a table with an id and a value", i)
    end
    attributes[i] = { id = attribute.id, val = attribute.value }
  end
  return {
    gridDim = { config.gridDimX, config.gridDimY or 1, config.gridDimZ or 1 },
    blockDim = { config.blockDimX, config.blockDimY or 1, config.blockDimZ or 1 },
    dynamicSmemBytes = config.sharedMemBytes, stream = config.hStream, attrs = attributes,
  }
end

local RANK_MOST = 5

local function numbers_of(list, rank, least, what)
  if type(list) ~= "table" or #list < rank then
    fail("CUDA_ERROR_INVALID_VALUE", "%s are %d numbers, the innermost dimension's first", what, rank)
  end
  local out = {}
  for d = 1, RANK_MOST do
    local number = d <= rank and list[d] or least
    if type(number) ~= "number" or number % 1 ~= 0 then
      fail("CUDA_ERROR_INVALID_VALUE", "%s are whole numbers, got %s", what, tostring(number))
    end
    out[d] = number
  end
  return out
end

-- In C the first argument is where the map goes; here its 128 bytes are returned, which a kernel's CUtensorMap takes.
-- `pixels`: the corners of the bounding box, or nil; the box then has the numbers of channels and of pixels.
local function encode(pixels, type_, rank, address, sizes, strides, box, steps, ...)
  if type(rank) ~= "number" or rank % 1 ~= 0 or rank < 1 or rank > RANK_MOST then
    fail("CUDA_ERROR_INVALID_VALUE", "a tensor map has 1 to %d dimensions, not %s", RANK_MOST, tostring(rank))
  end
  local layout = { type_, rank }
  local function add(list, count)
    for d = 1, count do layout[#layout + 1] = list[d] end
  end
  add(numbers_of(sizes, rank, 1, "the sizes"), RANK_MOST)
  add(numbers_of(strides or {}, rank - 1, 0, "the strides"), RANK_MOST - 1)
  add(numbers_of(box, pixels and 2 or rank, 1, "the box's sizes"), RANK_MOST)
  add(numbers_of(steps, rank, 1, "the steps"), RANK_MOST)
  for i = 1, 4 do layout[#layout + 1] = (select(i, ...)) or 0 end
  layout[#layout + 1] = pixels and 1 or 0
  for corner = 1, 2 do
    add(numbers_of(pixels and pixels[corner] or {}, pixels and math.max(rank - 2, 0) or 0, 0, "the corner"), 3)
  end
  return raw.tensor_map(pointer.address(address), layout)
end

---@param cu table
function M.install(cu)
  for id, both in pairs(launches.attributes) do cu["CU_LAUNCH_ATTRIBUTE_" .. both[2]] = id end
  for number, name in pairs {
    [0] = "UINT8", "UINT16", "UINT32", "INT32", "UINT64", "INT64", "FLOAT16", "FLOAT32", "FLOAT64", "BFLOAT16",
    "FLOAT32_FTZ", "TFLOAT32", "TFLOAT32_FTZ",
  } do
    cu["CU_TENSOR_MAP_DATA_TYPE_" .. name] = number
  end
  for number, name in pairs { [0] = "NONE", "16B", "32B" } do cu["CU_TENSOR_MAP_INTERLEAVE_" .. name] = number end
  for number, name in pairs { [0] = "NONE", "32B", "64B", "128B" } do cu["CU_TENSOR_MAP_SWIZZLE_" .. name] = number end
  for number, name in pairs { [0] = "NONE", "L2_64B", "L2_128B", "L2_256B" } do
    cu["CU_TENSOR_MAP_L2_PROMOTION_" .. name] = number
  end
  cu.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE, cu.CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA = 0, 1
  cu.CU_GET_PROC_ADDRESS_SUCCESS, cu.CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 0, 1

  cu.cuLaunchKernelEx = call(function(config, f, values, extra)
    textures.bind_all(execution.check(f).module)
    if values ~= nil and extra ~= nil then
      fail("CUDA_ERROR_INVALID_VALUE", "parameters are given either as a table or as a block")
    end
    launches.launch(f, as_runtime(config), values or {}, extra and execution.block_of(extra))
  end)
  cu.cuOccupancyMaxPotentialClusterSize = call(function(f, config)
    return launches.largest(execution.check(f), as_runtime(config))
  end)
  cu.cuOccupancyMaxActiveClusters = call(function(f, config)
    return launches.count(execution.check(f), as_runtime(config))
  end)
  cu.cuTensorMapEncodeTiled = call(function(...) return encode(nil, ...) end)
  cu.cuTensorMapEncodeIm2col = call(function(type_, rank, address, sizes, strides, lower, upper, channels, pixels, ...)
    return encode({ lower, upper }, type_, rank, address, sizes, strides, { channels, pixels }, ...)
  end)
  cu.cuGetProcAddress = call(function(symbol, _version, _flags)
    if type(symbol) ~= "string" or symbol == "" then
      fail("CUDA_ERROR_INVALID_VALUE", "the name of a function of the driver API is a string")
    end
    local found = symbol:find "^cu%u" and rawget(cu, symbol)
    if not found then fail("CUDA_ERROR_NOT_FOUND", "the driver API has no function %s here", symbol) end
    return found, 0
  end)
end

return M
