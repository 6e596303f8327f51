-- Modules: compiling or loading CUDA C, and the text of a module.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local arguments = require "moonwarp.check.arguments"

local M = {}

local fields = { source = "string|table", file = "string", name = "string", options = "table", headers = "table",
  checks = "string|table" }

local function check(spec)
  for name, value in pairs(spec) do
    if not fields[name] then
      arguments.no_option("mw.compile", name, { "source", "file", "name", "options", "headers", "checks" })
    end
    if not ("|" .. fields[name] .. "|"):find("|" .. type(value) .. "|", 1, true) then
      errors.usage("mw.compile: %s is a %s, got a %s", name, fields[name], type(value))
    end
  end
  if (spec.source == nil) == (spec.file == nil) then
    errors.usage("mw.compile wants the text to compile as source = … or its path as file = …")
  end
end

-- Several texts as one, in which the compiler finds them again, and the file and the line of the first. A later text
-- from the same file tells the line that it has there.
local function join(texts)
  local locate = raw.part("diagnostics.source").locate
  local parts, file, line = {}, nil, 1
  for i = 1, #texts do
    if type(texts[i]) ~= "string" then
      errors.usage("mw.compile: source[%d] is a %s, and should be a text", i, type(texts[i]))
    end
    local its_file, its_line = locate(texts[i])
    if i == 1 then file, line = its_file, its_line or 1 end
    local number = its_file and its_file == file and its_line - line + 1 or 0
    if i > 1 then parts[#parts + 1] = ("#pragma moonwarp source%s"):format(number > 0 and " " .. number or "") end
    parts[#parts + 1] = texts[i]
  end
  if #parts == 0 then errors.usage("mw.compile: source is an empty table") end
  return table.concat(parts, "\n"), file, line
end

local CHECK = "--check-memory"
local checking = false

-- The options, with the one for checked runs if `checks` asks for it, or for memory checks if they are on.
local function with_checks(options, checks)
  if checks then raw.part("watch.check").bits_of(checks) end
  if not (checking or checks) then return options end
  local all = { checks and "--checks" or CHECK }
  for i, option in ipairs(options or {}) do all[i + 1] = option end
  return all
end

---Set whether kernels compiled from now on check each memory access. An access outside the array that its pointer was
---made from ends the launch with an error that names the array, the index, the line and the thread. Checked kernels run
---up to three times slower on CPU devices, and up to four times slower on GPUs. To check one module, use
---options = {"--check-memory"}. At the prompt checks are on.
---@param on? boolean
---@return boolean the setting before; without an argument nothing changes
function M.check_memory(on)
  local before = checking
  if on ~= nil then checking = on end
  return before
end

---Set how warnings are reported: a compiler's, and those about launches that were configured and never called. By
---default each is printed on stderr once, whether the module was compiled now or found in the cache. A warning has the
---fields of an error: kind = "warning", message, file, line, column, log (its text with the caret) and where; option is
---the compiler's option for it, "-Warray-bounds".
---@param how? boolean|"error"|fun(warning: moonwarp.warning) true: print them; false: drop them (m:log() still has
---them); "error": mw.compile raises the first; a function: it is called with each
---@return boolean|string|function the setting before; without an argument nothing changes
function M.warnings(...) return raw.part("diagnostics.warnings").choose(...) end

raw.on_warnings(function(log, kernel, site)
  local warnings = raw.part "diagnostics.warnings"
  if log then warnings.tell(log) else warnings.tell_unused(kernel, site) end
end)

-- The sources of compiled modules, for functions of elements that use a module's functions and types.
raw.module_sources = raw.module_sources or setmetatable({}, { __mode = "k" })

---Compile CUDA C for the device in use, or find it in the compile cache.
---@param spec string|table the text; or { source = text, or a list of texts that use each other's functions and
---variables, or file = path, options = {"-DN=4", "-use_fast_math"},
---headers = { ["vec.h"] = text }, name = "what messages call the text", checks = "all" or a list: for checked runs
---(mw.check), which compile kernels so themselves; outside of them such kernels check their memory }
---@return moonwarp.module
function M.compile(spec, more)
  if type(spec) == "string" then spec = { source = spec } end
  if type(spec) ~= "table" then
    errors.usage("mw.compile wants CUDA C as a string, or a table { source = …, options = …, headers = … }; got %s",
      spec == nil and "nil" or "a " .. type(spec))
  end
  if type(more) == "table" then -- a number is accepted: it may be string.gsub's second result
    errors.usage("mw.compile takes one argument: write mw.compile { source = …, options = …, headers = … }")
  end
  check(spec)
  local text, options = spec.source, spec.options
  local file, line = spec.name, 1
  if spec.file then
    text = raw.source_read(spec.file)
    file = file or spec.file
    local folder = spec.file:match("^(.*)/[^/]*$") or "."
    options = { "-I" .. folder }
    for i, option in ipairs(spec.options or {}) do options[i + 1] = option end
  elseif type(text) == "table" then
    local its_file, its_line
    text, its_file, its_line = join(text)
    if not file then file, line = its_file, its_line end
  elseif not file then
    file, line = raw.part("diagnostics.source").locate(text)
  end
  local checked = with_checks(options, spec.checks)
  local m = raw.compile(text, { file = file, line = line, options = checked, headers = spec.headers })
  raw.module_sources[m] = { text = text, options = options, headers = spec.headers, file = file, line = line }
  return m
end

---As mw.compile, but returns nil and the error if the text does not compile.
M.try_compile = errors.try(M.compile)

---Load a module that m:save or the command mwcc wrote, without a compiler.
---@param path string
---@return moonwarp.module
M.load = raw.load

---As mw.load, but returns nil and the error if the file cannot be loaded.
M.try_load = errors.try(M.load)

function raw.classes.module:__tostring()
  local kernels, symbols = raw.classes.module.names(self)
  local text = #kernels == 0 and "module without kernels" or "module with " .. table.concat(kernels, ", ")
  return #symbols == 0 and text or text .. "; variables " .. table.concat(symbols, ", ")
end

function raw.classes.symbol:__tostring() return ("variable %s of type %s"):format(self.name, self.type) end

return M
