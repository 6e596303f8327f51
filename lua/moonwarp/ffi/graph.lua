-- Graphs: captured from streams, instantiated, launched. Nodes count from 1 here.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"
local errors = require "moonwarp.ffi.error"
local value = require "moonwarp.ffi.convert.value"
local device = require "moonwarp.ffi.device"
local streams = require "moonwarp.ffi.stream"

-- The Lua functions of a graph's host nodes, in the order of the nodes: by the graph's handle, an exec's by the exec.
local functions = {}
local exec_functions = setmetatable({}, { __mode = "k" })

local function key(handle) return tonumber(ffi.cast("uintptr_t", handle)) end

function streams.keep_function(handle, call)
  local list = functions[key(handle)]
  if list then list[#list + 1] = call end
end

local graph_type = class.struct("graph", "struct { mw_graph *_handle; $ *_device; }", {
  __gc = function(self)
    if self._handle == nil then return end
    functions[key(self._handle)] = nil
    C.mw_graph_release(self._handle)
    self._handle = nil
  end,
}, device.ctype)

local function free_exec(self)
  C.mw_graph_exec_release(self._handle)
  self._handle = nil
end

local exec_type = class.struct("graph_exec", "struct { mw_graph_exec *_handle; $ *_device; }", { __gc = free_exec },
  device.ctype)

local function check(graph, what) return errors.check_open(graph, "graph", what) end
local function check_exec(exec, what) return errors.check_open(exec, "graph_exec", what, "graph") end

-- A node's number, from 1, as the core counts it.
local function node_at(node)
  local whole = value.whole(node)
  if not whole or whole < 1 then errors.refuse("node", node) end
  return whole - 1
end

local function nodes_at(list)
  local count = type(list) == "table" and #list or 0
  local nodes = ffi.new("size_t[?]", count + 1)
  for i = 1, count do nodes[i - 1] = node_at(list[i]) end
  return nodes, count
end

-- ---- graphs ----

local graphs = class.methods.graph
local kinds = { [0] = "kernel", "copy", "fill", "host", "empty", "conditional" }

function class.properties.graph.count(self) return tonumber(C.mw_graph_count(check(self, "count")._handle)) end

-- g:node(i) -> {kind =, label =, after = {nodes}}
function graphs.node(self, i)
  local info = ffi.new "mw_node_info"
  errors.must(C.mw_graph_node(check(self, "node")._handle, node_at(i), info))
  local after = {}
  for k = 1, tonumber(info.after_count) do after[k] = tonumber(info.after[k - 1]) + 1 end
  return { kind = kinds[tonumber(info.kind)], label = ffi.string(info.label), after = after }
end

-- g:empty({nodes}) -> node
function graphs.empty(self, list)
  check(self, "empty")
  local nodes, count = nodes_at(list)
  local out = ffi.new "size_t[1]"
  errors.must(C.mw_graph_add_empty(self._handle, nodes, count, out))
  return tonumber(out[0]) + 1
end

-- g:depend(node, on)
function graphs.depend(self, node, on)
  errors.must(C.mw_graph_depend(check(self, "depend")._handle, node_at(node), node_at(on)))
end

-- g:instantiate() -> exec
function graphs.instantiate(self)
  check(self, "instantiate")
  local out, list = ffi.new "mw_graph_exec *[1]", {}
  errors.must(C.mw_graph_instantiate(self._handle, out))
  local exec = exec_type()
  exec._handle, exec._device = out[0], self._device
  for i, call in ipairs(functions[key(self._handle)]) do list[i] = call end
  exec_functions[exec] = list
  return exec
end

-- ---- execs ----

local execs = class.methods.graph_exec

execs.free = function(self) free_exec(errors.check(self, "graph_exec", "free")) end

-- e:launch([stream]) -> e
function execs.launch(self, stream)
  check_exec(self, "launch")
  local handle = stream == nil and streams.in_use(self._device) or nil
  if stream ~= nil then handle = streams.check(stream, "e:launch")._handle end
  local count = tonumber(C.mw_graph_exec_holds(self._handle))
  local holds = count > 0 and ffi.new("mw_hold *[?]", count) or nil
  errors.must(C.mw_graph_exec_launch(self._handle, handle, holds))
  for i = 1, count do streams.queue_call(holds[i - 1], exec_functions[self][i]) end
  self._device._pending = 1
  return self
end

-- Replace a node by the only node of a graph, and its function if it is a host node.
local function set_node(exec, node, graph)
  local hold = ffi.new "size_t[1]"
  errors.must(C.mw_graph_exec_set_node(exec._handle, node, check(graph, "e:set")._handle, hold))
  local call = functions[key(graph._handle)][1]
  if call then exec_functions[exec][tonumber(hold[0]) + 1] = call end
end

-- e:set(node, bound launch or graph of one node) -> e
function execs.set(self, node, what)
  check_exec(self, "set")
  node = node_at(node)
  if class.is(what, "graph") then
    set_node(self, node, what)
    return self
  end
  errors.check(what, "bound", "e:set")
  if what._handle == nil then errors.closed("e:set", "bound launch") end
  errors.must(C.mw_graph_exec_set_launch(self._handle, node, what._handle, errors.site()))
  return self
end

-- e:update(graph) -> e
function execs.update(self, graph)
  check_exec(self, "update")
  errors.must(C.mw_graph_exec_update(self._handle, check(graph, "e:update")._handle, nil))
  for i, call in ipairs(functions[key(graph._handle)]) do exec_functions[self][i] = call end
  return self
end

-- ---- the raw table ----

return {
  raw = {
    graph_new = function()
      local where, out = device.current(), ffi.new "mw_graph *[1]"
      errors.must(C.mw_graph_new(where._handle, out))
      local graph = graph_type()
      graph._handle, graph._device = out[0], where
      functions[key(out[0])] = {}
      return graph
    end,
    -- graph_condition(graph, value or nil) -> the condition's handle
    graph_condition = function(graph, initial)
      check(graph, "condition")
      local whole, out = value.whole(initial), ffi.new "uint64_t[1]"
      if initial ~= nil and (not whole or whole < 0 or whole > 0xffffffff) then
        errors.refuse("size", "g:condition", initial)
      end
      errors.must(C.mw_graph_condition_new(graph._handle, whole or 0, whole and 1 or 0, out))
      return tonumber(out[0])
    end,
    -- graph_conditional(graph, {nodes}, kind, condition, count) -> node, {bodies}
    graph_conditional = function(graph, list, kind, condition, count)
      check(graph, "conditional")
      local handle, most = value.whole(condition), value.whole(count)
      if not handle then errors.refuse("size", "g:conditional", condition) end
      if not most or most < 0 or most > 0xffff then errors.refuse("size", "g:conditional", count) end
      local nodes, after = nodes_at(list)
      local out, made = ffi.new "size_t[1]", ffi.new("mw_graph *[?]", most + 1)
      errors.must(C.mw_graph_add_conditional(graph._handle, kind, handle, most, nodes, after, out, made))
      local bodies = {}
      for i = 1, most do
        local body = graph_type()
        body._handle, body._device = C.mw_graph_retain(made[i - 1]), graph._device
        functions[key(body._handle)] = {}
        bodies[i] = body
      end
      return tonumber(out[0]) + 1, bodies
    end,
    -- graph_capture(graph, stream, {nodes}, mode): the stream's work becomes nodes after these
    graph_capture = function(graph, stream, list, mode)
      check(graph, "a capture")
      streams.check(stream, "a capture")
      local nodes, count = nodes_at(list)
      errors.must(C.mw_graph_capture(graph._handle, stream._handle, nodes, count, mode or C.MW_CAPTURE_GLOBAL))
    end,
    -- graph_capture_end(stream) -> the last node, or nil
    graph_capture_end = function(stream)
      local out = ffi.new "size_t[1]"
      errors.must(C.mw_graph_capture_end(streams.check(stream, "a capture")._handle, out))
      if out[0] == ffi.cast("size_t", -1) then return nil end
      return tonumber(out[0]) + 1
    end,
    -- stream_capturing(stream) -> whether it captures, whether that has failed
    stream_capturing = function(stream)
      local spoilt = ffi.new "int[1]"
      local graph = C.mw_stream_capturing(streams.check(stream, "a capture")._handle, spoilt)
      return graph ~= nil, spoilt[0] ~= 0
    end,
  },
}
