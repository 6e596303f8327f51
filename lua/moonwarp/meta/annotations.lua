-- The annotations of all functions, methods and fields, which editors (LuaLS), the reference and the prompt's help
-- show. They stand above the functions in lua/moonwarp/; those of the bindings' functions, and of functions that are
-- made from tables, in this folder.

local M = {}

local FILES = { "init", "array", "array/views", "array/scan", "array/user_defined", "array/moments", "array/quantile",
  "array/indices", "array/masks", "array/map", "array/lazy", "array/joining", "array/pattern_matrices",
  "array/order/sort", "array/order/search", "array/order/histogram",
  "array/linear/products", "array/linear/einsum", "array/complex", "complex",
  "nccl/nccl", "nccl/communicator", "dist/dist", "dist/layout",
  "mpi/mpi", "mpi/communicator", "mpi/message", "mpi/collective", "mpi/nonblocking", "mpi/grid", "mpi/window",
  "mpi/file",
  "dist/array", "meta/dist", "dist/reduction", "dist/statistics", "dist/sort", "dist/product", "dist/files",
  "linalg/linalg", "linalg/measures", "fourier/fft", "fourier/convolve", "array/dlpack",
  "array/files/npy", "array/files/csv",
  "array/files/wav", "module/module", "module/kernel", "module/sources", "watch/measure",
  "watch/check", "stepping/debug", "stream", "graph",
  "random", "random/sampling",
  "texture/texture_memory", "texture/texture", "texture/opengl", "texture/image", "device", "meta/values",
  "meta/memory", "meta/array", "meta/execution" }
-- Functions of these tables of mw.
local TABLES = { linalg = true, fft = true, nccl = true, dist = true, mpi = true }
-- Only methods of theirs are public.
local INTERNAL = { ["array/views"] = true, ["mpi/communicator"] = true, ["mpi/message"] = true }

local function lines_of(path)
  local list = {}
  for line in io.lines(path) do list[#list + 1] = line end
  list[#list + 1] = "" -- which ends a block at the end of the file
  return list
end

-- ---- parts of an entry ----

---"integer how many" -> the type and the words: a type has blanks only within brackets and after colons and commas.
---@param text string
---@return string type
---@return string words
function M.split_type(text)
  local depth, at = 0, 1
  while at <= #text do
    local letter = text:sub(at, at)
    if letter:find "[%(%{%[<]" then depth = depth + 1 end
    if letter:find "[%)%}%]>]" then depth = depth - 1 end
    if letter == " " and depth == 0 and not text:sub(1, at - 1):find "[:,|]$" then break end
    at = at + 1
  end
  return text:sub(1, at - 1), text:sub(at + 1)
end

-- A run of --- lines: text, parameters, results, fields, the class it opens. Lines below a parameter, a result or a
-- field that have no tag go on with it.
local function parse(block)
  local entry = { text = {}, params = {}, returns = {}, fields = {}, overloads = {} }
  local tagged -- the list whose last element goes on
  for _, line in ipairs(block) do
    local tag, rest = line:match "^@(%a+)%s*(.*)$"
    if tag then tagged = entry[({ param = "params", ["return"] = "returns", field = "fields" })[tag]] end
    if tag == "param" then
      local name, what = rest:match "^(%S+)%s+(.*)$"
      entry.params[#entry.params + 1] = { name = name:gsub("%?$", ""), optional = name:find "%?$" ~= nil,
        what = what }
    elseif tag == "return" then
      entry.returns[#entry.returns + 1] = { what = rest }
    elseif tag == "field" then
      local name, what = rest:match "^(%S+)%s+(.*)$"
      entry.fields[#entry.fields + 1] = { name = name:gsub("%?$", ""), what = what }
    elseif tag == "class" then
      entry.class = rest:match "^moonwarp%.([%w_]+)"
      local after = rest:match "^[%w_%.]+%s*:%s*%l+%s+(.+)$" or rest:match "^[%w_%.]+%s+([^:%s].*)$"
      if after then entry.text[#entry.text + 1] = after:gsub("^%l", string.upper):gsub("[^%.]$", "%0.") end
    elseif tag == "alias" then
      entry.alias = rest
    elseif tag == "overload" then
      entry.overloads[#entry.overloads + 1] = rest
    elseif not tag and tagged then
      local last = tagged[#tagged]
      last.what = last.what .. " " .. line
    elseif not tag then
      entry.text[#entry.text + 1] = line
    end
  end
  return entry
end

-- What the line below a block declares: the receiver ("mw" or a class) and a name, and whether it is a value.
local function declared(line)
  local receiver, separator, name = line:match "^function ([%w_%.]+)([%.:])([%a][%w_]*)%("
  if not receiver then
    receiver, name = line:match "^(M)%.([%a][%w_]*) = "
    if not receiver then receiver, name = line:match "^(mw)%.([%a][%w_]*) = " end
    separator = "."
  end
  if not receiver then
    name = line:match "^  ([%a][%w_]*) = "
    if name then return "mw", ".", name, true end
  end
  if not receiver then return nil end
  receiver = receiver:gsub("^raw%.classes%.", ""):gsub("^exec$", "graph_exec")
  if receiver == "M" or receiver == "M.public" or receiver == "mw" then return "mw", ".", name end
  if TABLES[receiver] then receiver = "mw." .. receiver end
  return receiver, separator, name
end

-- The entry of a field that is a function: `name fun(self, a: type, options?: type): type words`. It is a sentence.
local function function_of(receiver, field)
  local kind, words = M.split_type(field.what)
  local params, result = kind:match "^fun%((.-)%):%s*(.*)$"
  if not params then return nil end
  local entry = { receiver = receiver, separator = ".", name = field.name, text = { words }, params = {},
    returns = { { what = result } }, fields = {}, overloads = {}, brief = true }
  for param in params:gmatch "[^,]+" do
    local name, optional, what = param:match "^%s*([%w_]+)(%??):?%s*(.*)$"
    if name == "self" then
      entry.separator = ":"
    else
      entry.params[#entry.params + 1] = { name = name, optional = optional == "?", what = what }
    end
  end
  return entry
end

-- A class may be declared in several files. Its functions become entries.
local function add_class(receiver, class)
  local fields = {}
  for _, field in ipairs(class.fields) do
    local entry = function_of(receiver.name, field)
    if entry then
      receiver.entries[#receiver.entries + 1] = entry
    else
      fields[#fields + 1] = field
    end
  end
  class.fields = fields
  if #fields + #class.text + #class.overloads > 0 then receiver.class = class end
end

---All entries: receivers in the order in which they come, each { name =, entries = {…}, class = entry or nil }; and
---the aliases of types.
---@param folder string where the files are, with its slash
---@return table[] receivers
---@return table[] aliases
function M.read(folder)
  local receivers, order, aliases = {}, {}, {}
  local function receiver_of(name)
    if not receivers[name] then
      receivers[name] = { name = name, entries = {} }
      order[#order + 1] = receivers[name]
    end
    return receivers[name]
  end
  receiver_of "mw"
  for _, file in ipairs(FILES) do
    local block
    local lines = lines_of(folder .. file .. ".lua")
    lines[#lines + 1] = "" -- ends a block at the end of the file
    for _, line in ipairs(lines) do
      local text = line:match "^%s*%-%-%-(.*)$"
      if text and not line:match "^%-%-%-%-" then
        block = block or {}
        block[#block + 1] = text:gsub("^ ", "")
      elseif block then
        local entry = parse(block)
        local receiver, separator, name, value = declared(line)
        if entry.alias then
          aliases[#aliases + 1] = entry
        elseif entry.class then
          add_class(receiver_of(entry.class), entry)
        elseif receiver and not (receiver == "mw" and INTERNAL[file]) then
          entry.receiver, entry.separator, entry.name, entry.value = receiver, separator, name, value
          local list = receiver_of(receiver).entries
          list[#list + 1] = entry
        end
        block = nil
      end
    end
  end
  return order, aliases
end

---"mw.zeros(..., [dtype])"
---@param entry table
---@return string
function M.signature(entry)
  local names = {}
  for i, param in ipairs(entry.params) do names[i] = param.optional and "[" .. param.name .. "]" or param.name end
  local call = entry.receiver .. entry.separator .. entry.name
  if entry.value then return call end
  return call .. "(" .. table.concat(names, ", ") .. ")"
end

return M
