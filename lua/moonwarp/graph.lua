-- Graphs: work that is described once and launched many times.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"

local M = {}

local unpack = table.unpack or unpack -- luacheck: ignore 113

-- Captures: the number of a stream -> the stream. A stream that is freed or collected ends its own.
local begun = setmetatable({}, { __mode = "v" })

local function forget(id)
  if not begun[id] then return end
  begun[id] = nil
  raw.captures = raw.captures - 1
end

-- Begin a capture in a stream, of CUDA's mode. While there is one, the library frees nothing that its functions have
-- used (array/kernels.lua).
raw.capture_begin = function(graph, stream, after, mode)
  raw.graph_capture(graph, stream, after, mode)
  forget(stream.id)
  begun[stream.id] = stream
  raw.captures = (raw.captures or 0) + 1
end

-- End a stream's capture: the last node.
raw.capture_end = function(stream)
  forget(stream.id)
  return raw.graph_capture_end(stream)
end

-- Whether any of the captures that raw.captures counts is still under way.
raw.is_capturing = function()
  for id, stream in pairs(begun) do
    local is_open, active = pcall(raw.stream_capturing, stream)
    if is_open and active then return true end
    begun[id] = nil
  end
  raw.captures = 0
  return false
end

-- End a capture after f ran for it; a failure of f fails the capture.
local function finish(stream, ok, ...)
  local ended, last = pcall(raw.capture_end, stream)
  if not ok then error((...), 0) end
  if not ended then error(last, 0) end
  return last, ...
end

-- Run f with the stream as the one in use, and record the work that it queues as nodes of the graph after others.
local function capture(graph, stream, after, f, ...)
  raw.capture_begin(graph, stream, after)
  local before = raw.stream_use(stream)
  local function leave(...)
    raw.stream_use(before)
    return ...
  end
  return finish(stream, leave(pcall(f, ...)))
end

---A new graph of the device in use, without nodes.
---@return moonwarp.graph
M.graph = raw.graph_new

---The graph of the work that f queues in a stream (launches, fills, copies, functions), without running it. Other
---streams join the capture when they wait for this stream's events; this stream must wait for them before f returns.
---Reading an array during a capture is an error.
---@param stream moonwarp.stream|function a stream (not the default one), or f itself, for a new one
---@param f? function
---@param ... any
---@return moonwarp.graph
function M.capture(stream, f, ...)
  if type(stream) == "function" then return M.capture(raw.stream_new(false, 0), stream, f, ...) end
  if type(f) ~= "function" then errors.usage("mw.capture wants a function, got %s", raw.describe(f)) end
  local graph = raw.graph_new()
  capture(graph, stream, nil, f, ...)
  return graph
end

-- ---- graphs by hand ----

local graph, exec = raw.classes.graph, raw.classes.graph_exec

---Record the work that f queues in the stream in use as a sequence of nodes; the first follows the nodes `after`.
---@param after integer[]|nil
---@param f function
---@param ... any arguments of f
---@return integer? the last node
function graph:add(after, f, ...)
  local stream = raw.stream_new(true, 0)
  local last = capture(self, stream, after, f, ...)
  stream:free()
  return last
end

---Add a kernel node: g:kernel(after, k(grid, block), arguments).
---@param after integer[]|nil
---@param launch moonwarp.launch
---@param ... any
---@return integer node
function graph:kernel(after, launch, ...)
  return self:add(after, launch, ...)
end

---Add a node that copies an array into another.
---@param after integer[]|nil
---@param target moonwarp.array
---@param source moonwarp.array
---@return integer node
function graph:copy(after, target, source)
  return self:add(after, function() target:copy_from(source) end)
end

---Add a node that fills an array with a value.
---@param after integer[]|nil
---@param array moonwarp.array
---@param value number|boolean|moonwarp.vector
---@return integer node
function graph:fill(after, array, value)
  return self:add(after, function() array:fill(value) end)
end

local conditionals = { ["if"] = 0, ["while"] = 1, switch = 2 } -- as CUDA counts them

---A value that kernels set, by cudaGraphSetConditional(condition, value), and one conditional node of the graph tests.
---It is the argument for a parameter of type cudaGraphConditionalHandle.
---@param value? integer what each launch begins with; else the value is undefined until a kernel sets it
---@return integer condition
function graph:condition(value)
  return raw.graph_condition(self, value)
end

---Add a node with graphs of its own, its bodies, among which a condition's value chooses. "if" runs the first unless
---the value is 0, else the second if there are two; "while" repeats its body while the value is not 0; "switch" runs
---the body number value, counted from 0, if there is one. Bodies are empty graphs, to which launches, copies, fills and
---conditional nodes are added.
---@param after integer[]|nil
---@param kind "if"|"while"|"switch"
---@param condition integer of the same graph: g:condition()
---@param bodies? integer how many; 1 by default
---@return integer node
---@return moonwarp.graph ... the bodies
function graph:conditional(after, kind, condition, bodies)
  local known = conditionals[kind]
  if not known then
    errors.usage('g:conditional wants "if", "while" or "switch", got %s', raw.describe(kind))
  end
  local node, list = raw.graph_conditional(self, after, known, condition, bodies or 1)
  return node, unpack(list)
end

---Add a node that calls a Lua function, as s:call does.
---@param after integer[]|nil
---@param f function
---@return integer node
function graph:call(after, f)
  local stream = raw.stream_new(true, 0)
  return (capture(self, stream, after, function() stream:call(f) end))
end

-- ---- inspection ----

---All nodes: {kind =, label =, after = {nodes}}, by number.
---@return table[]
function graph:nodes()
  local list = {}
  for i = 1, self.count do list[i] = self:node(i) end
  return list
end

function graph:__tostring()
  local lines = { ("graph of %d node%s"):format(self.count, self.count == 1 and "" or "s") }
  for i, node in ipairs(self:nodes()) do
    local after = #node.after > 0 and " after " .. table.concat(node.after, ", ") or ""
    lines[#lines + 1] = ("  %d: %s%s"):format(i, node.label, after)
  end
  return table.concat(lines, "\n")
end

---The graph in Graphviz's DOT language.
---@return string
function graph:dot()
  local shapes = { kernel = "box", copy = "parallelogram", fill = "parallelogram", host = "ellipse", empty = "point",
    conditional = "diamond" }
  local lines = { "digraph moonwarp {" }
  for i, node in ipairs(self:nodes()) do
    lines[#lines + 1] = ("  n%d [label=%q, shape=%s];"):format(i, node.label, shapes[node.kind])
    for _, before in ipairs(node.after) do lines[#lines + 1] = ("  n%d -> n%d;"):format(before, i) end
  end
  lines[#lines + 1] = "}\n"
  return table.concat(lines, "\n")
end

function exec.__tostring() return "graph ready to launch" end

return M
