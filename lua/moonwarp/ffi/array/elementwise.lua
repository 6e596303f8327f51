-- Elementwise functions, and operators on arrays that dispatch on the types of their arguments.
--
-- An operator is a function of one to three arrays and numbers. It looks up its elementwise function in a table by the
-- arguments' types; for a missing combination it calls resolve(arguments…), once.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"
local errors = require "moonwarp.ffi.error"
local value = require "moonwarp.ffi.convert.value"
local vector = require "moonwarp.ffi.convert.vector"
local dtype = require "moonwarp.ffi.convert.dtype"
local device = require "moonwarp.ffi.device"
local array = require "moonwarp.ffi.array.array"
local collect = require "moonwarp.ffi.garbage_collection"

local value_list, intptr = ffi.typeof "mw_operand_value[?]", ffi.typeof "intptr_t"

local MOST = 32 -- operands
local kinds = { out = 0, ["in"] = 1, whole = 2, scalar = 3 }
local OUT, SCALAR = kinds.out, kinds.scalar

local meta = class.proxy_meta "elementwise"

local function check(f, what)
  errors.check(f, "elementwise", what)
  return class.state(f)
end

local function elementwise_new(what)
  local state = { device = device.current(), kinds = {}, types = {}, modules = {} }
  local source = ffi.new "mw_elementwise_source"
  local operands, options = ffi.new("mw_operand[?]", MOST), ffi.new("const char *[?]", MOST)
  local count = #what.operands
  if count > MOST then errors.refuse("operands", count, MOST) end
  for k, operand in ipairs(what.operands) do
    local of, module = dtype.check(operand[3])
    operands[k - 1].name, operands[k - 1].kind, operands[k - 1].dtype = operand[1], kinds[operand[2]], of
    state.kinds[k], state.types[k] = kinds[operand[2]], of
    if module ~= nil then state.modules[k] = ffi.gc(C.mw_module_retain(module), C.mw_module_release) end
  end
  for i, option in ipairs(what.options or {}) do
    options[i - 1] = option
    source.option_count = i
  end
  source.name, source.preamble, source.body, source.file = what.name, what.preamble, what.body, what.file
  source.line, source.uses_index = what.line or 0, what.index and 1 or 0
  source.options, source.operands, source.operand_count = options, operands, count
  local out = ffi.new "mw_elementwise *[1]"
  errors.must(C.mw_elementwise_new(state.device._handle, source, out))
  state.handle = ffi.gc(out[0], C.mw_elementwise_release)
  state.count = count
  state.values = value_list(count)
  state.codes, state.cells = {}, {} -- of operands of scalar types: array.code_of, and room for a scalar operand
  for k, of in ipairs(state.types) do
    state.codes[k] = array.code_of(of)
    if state.kinds[k] == SCALAR and state.codes[k] ~= 0 then state.cells[k] = array.block_types[state.codes[k]](1) end
  end
  state.is_quick = state.kinds[1] == OUT and not state.modules[1]
  return class.proxy("elementwise", state, meta)
end

-- ---- running ----

local function run(f, given)
  local values, rooms = value_list(f.count), {} -- rooms keep what values point to
  local most, made, outputs = 0, {}, 0
  for k = 1, f.count do
    local operand = given[k]
    if f.kinds[k] == SCALAR then
      local bytes = ffi.new("uint8_t[?]", f.types[k].size)
      local ok, why = value.pack(operand, f.types[k], value.bytes(bytes), value.place(nil, "a scalar operand"), {})
      if not ok then errors.misuse(why) end
      rooms[k], values[k - 1].bytes = bytes, bytes
    elseif operand ~= nil then
      values[k - 1].array = array.check(operand, "a function of elements")._handle
      most = math.max(most, tonumber(C.mw_array_bytes(operand._handle)))
    end
  end
  for k = 1, f.count do
    if f.kinds[k] == OUT and given[k] == nil then
      collect.step(most)
      outputs = outputs + 1
      made[outputs] = array.push(f.device)
    end
  end
  local site = errors.site()
  assert(rooms)
  errors.must(collect.retry(f.device, function() return C.mw_elementwise_run(f.handle, values, site) end))
  f.device._pending = 1
  local at = 0
  for k = 1, f.count do
    if f.kinds[k] == OUT and given[k] == nil then
      at = at + 1
      local handle = values[k - 1].array
      array.adopt(made[at], handle, f.modules[k], tonumber(C.mw_array_bytes(handle)))
    end
  end
  return unpack(made, 1, outputs)
end

-- Set operand k; false if it takes the checks of `run`.
local function set_quickly(f, values, k, operand)
  local cell = f.cells[k]
  if cell then
    if type(operand) ~= "number" or not array.fits(f.codes[k], operand) then return false end
    cell[0] = operand
    values[k - 1].bytes = cell
    return true
  end
  if f.kinds[k] == SCALAR or not array.is_open(operand) then return false end
  values[k - 1].array = operand._handle
  return true
end

-- The bytes of operand k where it is a larger array than those before.
local function bytes_of(f, values, k, most)
  if f.kinds[k] == SCALAR then return most end
  return math.max(most, tonumber(C.mw_array_bytes(values[k - 1].array)))
end

-- The same as `run` for one output, to be made, and up to three operands: without garbage but the result.
local function run_quickly(f, a, b, c)
  local values, count = f.values, f.count
  if not f.is_quick or (count > 1 and not set_quickly(f, values, 2, a)) or
    (count > 2 and not set_quickly(f, values, 3, b)) or (count > 3 and not set_quickly(f, values, 4, c)) then
    return run(f, { nil, a, b, c })
  end
  local most = count > 1 and bytes_of(f, values, 2, 0) or 0 -- without a loop, which is compiled by itself
  if count > 2 then most = bytes_of(f, values, 3, most) end
  if count > 3 then most = bytes_of(f, values, 4, most) end
  collect.step(most)
  local made, where = array.push(f.device), f.device
  values[0].array = nil
  local site = errors.site(2) -- above this function, which is called by tail calls only
  local code, round = C.mw_elementwise_run(f.handle, values, site), 0
  while code == 2 and collect.all(where, round) do -- MW_MEMORY_ALLOCATION
    code, round = C.mw_elementwise_run(f.handle, values, site), round + 1
  end
  if code ~= 0 then errors.must(code) end
  where._pending = 1
  local handle = values[0].array
  return array.adopt_as(made, handle, f.types[1], f.codes[1], tonumber(C.mw_array_bytes(handle)))
end

-- The same into an array; false if it takes the checks of `run`.
local function run_into(f, out, a, b, c)
  local values, count = f.values, f.count
  if not f.is_quick or not array.is_open(out) or (count > 1 and not set_quickly(f, values, 2, a)) or
    (count > 2 and not set_quickly(f, values, 3, b)) or (count > 3 and not set_quickly(f, values, 4, c)) then
    return false
  end
  values[0].array = out._handle
  -- The script is above this function, elementwise_run and the functions with {out = y} (array/operators.lua).
  local code = C.mw_elementwise_run(f.handle, values, errors.site(4))
  if code == 2 then return false end -- MW_MEMORY_ALLOCATION: `run` collects
  if code ~= 0 then errors.must(code) end
  f.device._pending = 1
  return true
end

-- ---- operators ----

local CODES, COMPLEX, WHOLE, FRACTION, BOOLEAN = 128, 124, 125, 126, 127

local function code_of(given)
  local kind = type(given)
  if kind == "number" then return given % 1 == 0 and WHOLE or FRACTION end
  if kind == "boolean" then return BOOLEAN end
  if kind == "table" and vector.is_complex(given) then return COMPLEX end
  if kind ~= "cdata" or not class.is(given, "array") or given._handle == nil then return nil end
  local code = C.mw_type_code(given._type)
  return code ~= 0 and code or nil, given
end

local function array_operator(count, resolve)
  local by_device = {}
  return function(a, b, c)
    local key, of = code_of(a)
    if count > 1 then
      local code, given = code_of(b)
      of, key = of or given, code and key and key * CODES + code
    end
    if count > 2 then
      local code, given = code_of(c)
      of, key = of or given, code and key and key * CODES + code
    end
    local functions
    if key and of then
      local where = tonumber(ffi.cast(intptr, of._device._handle))
      functions = by_device[where] or {}
      by_device[where] = functions
      local f = functions[key]
      if f then return run_quickly(f, a, b, c) end
    end
    local first, second = resolve(a, b, c)
    if not class.is(first, "elementwise") then
      if second == nil then return first end
      return first, second
    end
    local f = class.state(first)
    if functions then functions[key] = f end
    return run(f, { nil, a, b, c })
  end
end

return {
  raw = {
    elementwise_new = elementwise_new,
    -- elementwise_text(f) -> CUDA C
    elementwise_text = function(f)
      local text = C.mw_elementwise_text(check(f, "elementwise_text").handle)
      local copy = ffi.string(text)
      C.mw_text_release(text)
      return copy
    end,
    -- elementwise_run(f, operands…): an array, a scalar, or nil for an output to be made -> the outputs that were made
    elementwise_run = function(f, out, a, b, c, ...)
      local state = check(f, "elementwise_run")
      if out ~= nil and state.count <= 4 and run_into(state, out, a, b, c) then return end
      return run(state, { out, a, b, c, ... })
    end,
    array_operator = array_operator,
    -- sources_begin(): note the CUDA C of launched kernels' modules
    sources_begin = function() C.mw_sources_begin() end,
    -- sources_end() -> CUDA C
    sources_end = function()
      local text = C.mw_sources_end()
      local copy = ffi.string(text)
      C.mw_text_release(text)
      return copy
    end,
  },
}
