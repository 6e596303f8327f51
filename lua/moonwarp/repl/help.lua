-- help(x) and ?x at the prompt: what a value is and what can be done with it, from the annotations.
--
--   help            what to type            help(mw)       all functions
--   help(mw.zeros)  a function              help(x)        an array's methods, for instance
--   help "sum"      entries whose name or text contains the word

local annotations = require "moonwarp.meta.annotations"
local raw = require "moonwarp.binding"
local terminal = require "moonwarp.show.terminal"

local GENERAL = [=[
mw is moonwarp, CUDA for Lua. What to type:

  x = mw.arange(8)                   an array; also mw.zeros, mw.ones, mw.array {1, 2, 3}, ...
  x                                  shows it; x:show() and x:plot() draw it
  m = mw.compile [==[                kernels, in CUDA C, up to ]==]
  m.scale(1, 8)(x, 2)                runs one of them: scale<<<1, 8>>>(x, 2)
  time(m.scale(1, 8)(x, 2))          measures the first run and the median of many further runs

  help(mw)   help(x)   help(m)       all functions, an array's methods, a module's contents
  ?mw.zeros                          the same as help(mw.zeros)
  help "sum"                         entries with that word in their names

Ctrl-C discards a line or stops a running kernel, Tab completes, the arrows recall earlier lines; quit, exit or
Ctrl-D leaves. Kernels check their memory here, which makes them slower; after mw.check_memory(false), new kernels
run as in scripts.]=]

-- ---- the annotations ----

local receivers -- name -> { name =, entries = {…}, class = entry or nil }

local function load_receivers()
  if receivers then return receivers end
  receivers = {}
  local folder = debug.getinfo(1, "S").source:match "^@(.*)repl/help%.lua$"
  local ok, list = pcall(annotations.read, folder or "")
  for _, receiver in ipairs(ok and list or {}) do receivers[receiver.name] = receiver end
  return receivers
end

local function entries_of(name)
  local receiver = load_receivers()[name]
  return receiver and receiver.entries or {}
end

local signature = annotations.signature

-- ---- writing ----

local function wrap(text, indent)
  local lines, line, width = {}, indent, math.min(terminal.width(), 110) - 1
  for word in text:gmatch "%S+" do
    if #line + #word + 1 > width and line:find "%S" then
      lines[#lines + 1] = line
      line = indent
    end
    line = line .. (line:find "%S" and " " or "") .. word
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

local function first_sentence(entry)
  local text = table.concat(entry.text, " ")
  if text == "" and entry.returns[1] then
    local kind, words = annotations.split_type(entry.returns[1].what)
    return words ~= "" and words or kind
  end
  return text:match "^(.-[^%.])[%.:;]%s" or text:gsub("%.$", "")
end

local function line_of(entry)
  local room, name = math.min(terminal.width(), 110) - 1, "  " .. signature(entry)
  local text = name .. (" "):rep(math.max(2, 36 - #name)) .. first_sentence(entry)
  return #text > room and text:sub(1, room - 3) .. "..." or text
end

-- One line for each entry; of functions of elements, of which there are many, only the names.
local function list(entries)
  local lines, names = {}, {}
  for _, entry in ipairs(entries) do
    if entry.brief and #entries > 20 then
      names[#names + 1] = entry.name
    else
      lines[#lines + 1] = line_of(entry)
    end
  end
  table.sort(names)
  if #names > 0 then
    lines[#lines + 1] = "on all elements, and reductions (help \"exp\" tells more of one):"
    lines[#lines + 1] = wrap(table.concat(names, " "), "  ")
  end
  return table.concat(lines, "\n")
end

local function describe(entry)
  local out = { signature(entry) }
  if #entry.text > 0 then out[2] = wrap(table.concat(entry.text, " "), "  ") end
  for _, param in ipairs(entry.params) do
    local kind, words = annotations.split_type(param.what)
    out[#out + 1] = wrap(("%s: %s%s"):format(param.name, kind, words ~= "" and ", " .. words or ""), "    ")
  end
  for _, result in ipairs(entry.returns) do
    local kind, words = annotations.split_type(result.what)
    out[#out + 1] = wrap(("returns %s%s"):format(kind, words ~= "" and ": " .. words or ""), "    ")
  end
  return table.concat(out, "\n")
end

local function describe_class(name)
  local receiver = load_receivers()[name]
  if not receiver then return nil end
  local out, class = {}, receiver.class
  if class and #class.text > 0 then out[#out + 1] = wrap(table.concat(class.text, " "), "") end
  for _, overload in ipairs(class and class.overloads or {}) do out[#out + 1] = "  called: " .. overload end
  if class and #class.fields > 0 then
    out[#out + 1] = "fields:"
    for _, field in ipairs(class.fields) do
      local kind, words = annotations.split_type(field.what)
      out[#out + 1] = ("  %-14s %s%s"):format(field.name, kind, words ~= "" and ", " .. words or "")
    end
  end
  if #receiver.entries > 0 then
    out[#out + 1] = "methods:"
    out[#out + 1] = list(receiver.entries)
  end
  return table.concat(out, "\n")
end

-- ---- finding ----

-- The entry of a function that is a field of mw or a method of a class.
local function find_function(f)
  for _, entry in ipairs(entries_of "mw") do
    if rawget(require "moonwarp", entry.name) == f then return entry end
  end
  for name, methods in pairs(raw.classes) do
    for _, entry in ipairs(entries_of(name)) do
      if methods[entry.name] == f then return entry end
    end
  end
  return nil
end

local function search(words)
  local receiver, name = words:match "^([%w_]+)[%.:]([%w_]+)$"
  local wanted, exact, named, told = (name or words):lower(), {}, {}, {}
  local names = {}
  for key in pairs(load_receivers()) do names[#names + 1] = key end
  table.sort(names)
  for _, key in ipairs(names) do
    for _, entry in ipairs(not receiver and entries_of(key) or key == receiver and entries_of(key) or {}) do
      local low = entry.name:lower()
      if low == wanted then
        exact[#exact + 1] = entry
      elseif low:find(wanted, 1, true) then
        named[#named + 1] = entry
      elseif table.concat(entry.text, " "):lower():find(wanted, 1, true) then
        told[#told + 1] = entry
      end
    end
  end
  local out = {}
  for i, entry in ipairs(exact) do out[i] = describe(entry) end
  if #out > 0 then return table.concat(out, "\n") end
  if load_receivers()[words] then return describe_class(words) end
  if #named + #told == 0 then return ("nothing is called '%s' or tells of it; help(mw) lists all"):format(words) end
  for _, entry in ipairs(told) do named[#named + 1] = entry end
  return list(named)
end

local function describe_module(module)
  local kernels, symbols = module:names()
  local out = { "a module: its fields are the names in its source" }
  for i, name in ipairs(kernels) do
    local ok, kernel = pcall(module.kernel, module, name)
    out[#out + 1] = "  kernel " .. (ok and kernel:signature() or kernels[i])
  end
  for _, name in ipairs(symbols) do out[#out + 1] = "  " .. tostring(module:symbol(name)) end
  out[#out + 1] = "methods:"
  out[#out + 1] = list(entries_of "module")
  return table.concat(out, "\n")
end

local function text_of(value)
  local class = raw.type(value)
  if value == require "moonwarp" then
    return list(entries_of "mw") .. "\nhelp(mw.zeros), or help \"zeros\", tells more of one"
  end
  if type(value) == "string" then return search(value) end
  if type(value) == "function" then
    local entry = find_function(value)
    return entry and describe(entry) or "a function of which nothing is written"
  end
  if class == "module" then return describe_module(value) end
  if class == "kernel" then return "kernel " .. value:signature() .. "\n" .. (describe_class(class) or "") end
  local about = class and describe_class(class)
  if about then return about end
  local kind = class or type(value)
  return ("a%s %s; help tells what to type, help(mw) what there is"):format(kind:find "^[aeiou]" and "n" or "", kind)
end

return setmetatable({}, {
  __call = function(self, ...)
    print(select("#", ...) == 0 and tostring(self) or text_of((...)))
  end,
  __tostring = function() return GENERAL end,
})
