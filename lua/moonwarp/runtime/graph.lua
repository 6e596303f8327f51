-- Graphs under CUDA's names. A node is its number in the graph, as in moonwarp's graphs; a dependency list is a
-- sequence of such numbers.

local raw = require "moonwarp.binding"
local result = require "moonwarp.runtime.result"
local pointer = require "moonwarp.runtime.pointer"
local streams = require "moonwarp.runtime.stream"
local names = require "moonwarp.runtime.names"
require "moonwarp.graph" -- the methods of graphs

local fail, api, takes = result.fail, result.api, result.takes
local M = {}

local unpack = table.unpack or unpack -- luacheck: ignore 113

local function check(value, class)
  if raw.type(value) ~= class then fail("cudaErrorInvalidValue", "this is not a %s", class:gsub("_", " ")) end
  return value
end

---Add the work that f queues in a stream as a node after others.
local function add(graph, after, f)
  local stream = raw.stream_new(true, 0)
  raw.capture_begin(check(graph, "graph"), stream, after, 2) -- relaxed: other streams may be used
  local ok, err = pcall(f, stream)
  local node = raw.capture_end(stream)
  stream:free()
  if not ok then error(err, 0) end
  return node
end
M.add = add

---Replace a node of an exec by the work that f queues in a stream.
function M.replace(exec, node, f)
  check(exec, "graph_exec")
  local one = raw.graph_new()
  add(one, nil, f)
  exec:set(node, one)
end

-- The launch that cudaKernelNodeParams describes: func, gridDim, blockDim, sharedMemBytes, kernelParams.
local function launch_of(params, stream)
  if type(params) ~= "table" then fail("cudaErrorInvalidValue", "a kernel node wants a table of parameters") end
  local kernel, values = names.kernel(params.func), {}
  local count = #kernel.params
  for i = 1, count do
    local value = (params.kernelParams or {})[i]
    values[i] = pointer.is(value) and raw.pointer(value.address) or value
  end
  return kernel(params.gridDim, params.blockDim, params.sharedMemBytes or 0, stream), values, count
end

---@param rt table
function M.install(rt)
  rt.cudaStreamCaptureModeGlobal, rt.cudaStreamCaptureModeThreadLocal, rt.cudaStreamCaptureModeRelaxed = 0, 1, 2
  rt.cudaStreamCaptureStatusNone, rt.cudaStreamCaptureStatusActive = 0, 1
  rt.cudaStreamCaptureStatusInvalidated = 2
  rt.cudaGraphNodeTypeKernel, rt.cudaGraphNodeTypeMemcpy, rt.cudaGraphNodeTypeMemset = 0, 1, 2
  rt.cudaGraphNodeTypeHost, rt.cudaGraphNodeTypeEmpty = 3, 5
  rt.cudaGraphNodeTypeConditional = 13
  local types = { kernel = 0, copy = 1, fill = 2, host = 3, empty = 5, conditional = 13 }

  -- The graph that a stream's capture records, until the capture ends.
  local captured = {}
  rt.cudaStreamBeginCapture = api(function(stream, mode)
    if mode ~= nil and mode ~= 0 and mode ~= 1 and mode ~= 2 then
      fail("cudaErrorInvalidValue", "%s is not a capture mode", tostring(mode))
    end
    local object, graph = streams.stream(stream), raw.graph_new()
    raw.capture_begin(graph, object, nil, mode)
    captured[object.id] = graph
  end)
  rt.cudaStreamEndCapture = api(function(stream)
    local object = streams.stream(stream)
    raw.capture_end(object)
    local graph = captured[object.id]
    captured[object.id] = nil
    return graph
  end)
  rt.cudaStreamIsCapturing = api(function(stream)
    local active, spoilt = raw.stream_capturing(streams.stream(stream))
    return spoilt and 2 or active and 1 or 0
  end)

  ---The graph as it is after the capture is what cudaStreamEndCapture returns.
  rt.cudaStreamBeginCaptureToGraph = api(function(stream, graph, after, _edges, mode)
    if mode ~= nil and mode ~= 0 and mode ~= 1 and mode ~= 2 then
      fail("cudaErrorInvalidValue", "%s is not a capture mode", tostring(mode))
    end
    local object = streams.stream(stream)
    raw.capture_begin(check(graph, "graph"), object, after, mode)
    captured[object.id] = graph
  end)

  rt.cudaGraphCreate = api(function(flags)
    if (flags or 0) ~= 0 then fail("cudaErrorInvalidValue", "the flags of cudaGraphCreate are 0") end
    return raw.graph_new()
  end)
  rt.cudaGraphDestroy = api(function(graph) check(graph, "graph") end) -- collected after its last use
  rt.cudaGraphAddEmptyNode = api(function(graph, after) return check(graph, "graph"):empty(after) end)
  rt.cudaGraphAddKernelNode = api(function(graph, after, params)
    return add(graph, after, function(stream)
      local launch, values, count = launch_of(params, stream)
      launch(unpack(values, 1, count))
    end)
  end)

  -- The work of a node, by kind: queued in a stream, it becomes a node of a graph, or replaces a node of an exec.
  local give = {
    MemcpyNode1D = function(stream, dst, src, count, kind)
      raw.memory_copy(stream, pointer.address(dst), pointer.address(src), kind, count)
    end,
    MemcpyNode = function(stream, params) result.body(rt.cudaMemcpy3DAsync)(params, stream) end,
    MemsetNode = function(stream, params)
      raw.memory_fill(stream, pointer.address(params.dst), params.value, params.elementSize or 1, params.width,
        params.height or 1, 1, params.pitch or 0, params.height or 1)
    end,
    HostNode = function(stream, params)
      stream:call(function() params.fn(params.userData) end)
    end,
  }
  local function install(name, f) rt[name] = api(takes(name, f)) end
  for kind, f in pairs(give) do
    install("cudaGraphAdd" .. kind, function(graph, after, ...)
      local values, count = { ... }, select("#", ...)
      return add(graph, after, function(stream) f(stream, unpack(values, 1, count)) end)
    end)
    install("cudaGraphExec" .. (kind == "MemcpyNode1D" and "MemcpyNodeSetParams1D" or kind .. "SetParams"),
      function(exec, node, ...)
        local values, count = { ... }, select("#", ...)
        M.replace(exec, node, function(stream) f(stream, unpack(values, 1, count)) end)
      end)
  end
  require("moonwarp.runtime.graph_node").install(rt, check)
  rt.cudaGraphAddDependencies = api(takes("cudaGraphAddDependencies", function(graph, from, to)
    for i, node in ipairs(to) do check(graph, "graph"):depend(node, from[i]) end
  end))
  rt.cudaGraphGetNodes = api(function(graph)
    local list = {}
    for i = 1, check(graph, "graph").count do list[i] = i end
    return list
  end)
  rt.cudaGraphNodeGetType = api(function(graph, node) return types[check(graph, "graph"):node(node).kind] end)
  rt.cudaGraphNodeGetDependencies = api(function(graph, node) return check(graph, "graph"):node(node).after end)
  -- Edges as two sequences: the nodes at which they begin, and the nodes at which they end.
  local function edges_of(graph)
    local from, to = {}, {}
    for i = 1, check(graph, "graph").count do
      for _, before in ipairs(graph:node(i).after) do from[#from + 1], to[#to + 1] = before, i end
    end
    return from, to
  end
  rt.cudaGraphGetEdges = api(edges_of)
  rt.cudaGraphGetRootNodes = api(function(graph)
    local list = {}
    for i = 1, check(graph, "graph").count do
      if #graph:node(i).after == 0 then list[#list + 1] = i end
    end
    return list
  end)
  rt.cudaGraphNodeGetDependentNodes = api(function(graph, node)
    check(graph, "graph"):node(node)
    local from, to = edges_of(graph)
    local list = {}
    for i, before in ipairs(from) do
      if before == node then list[#list + 1] = to[i] end
    end
    return list
  end)

  -- Attributes of kernel nodes are recorded and reported, as those of streams are.
  rt.cudaKernelNodeAttributeAccessPolicyWindow, rt.cudaKernelNodeAttributeCooperative = 1, 2
  local attributes = setmetatable({}, { __mode = "k" })
  local function attributes_of(graph, node)
    if check(graph, "graph"):node(node).kind ~= "kernel" then
      fail("cudaErrorInvalidValue", "node %s is not a kernel node", tostring(node))
    end
    attributes[graph] = attributes[graph] or {}
    attributes[graph][node] = attributes[graph][node] or {}
    return attributes[graph][node]
  end
  local function check_attribute(attribute)
    if attribute ~= 1 and attribute ~= 2 then
      fail("cudaErrorInvalidValue", "a kernel node has no attribute %s", tostring(attribute))
    end
    return attribute
  end
  rt.cudaGraphKernelNodeSetAttribute = api(function(graph, node, attribute, value)
    local known = attributes_of(graph, node)
    if check_attribute(attribute) == 1 then
      streams.check_window(value)
    elseif type(value) == "table" and value.cooperative ~= 0 then
      fail("cudaErrorNotSupported", "whether a kernel node is cooperative is fixed when it is captured")
    end
    known[attribute] = value
  end)
  rt.cudaGraphKernelNodeGetAttribute = api(function(graph, node, attribute)
    return attributes_of(graph, node)[check_attribute(attribute)] or {}
  end)
  rt.cudaGraphKernelNodeCopyAttributes = api(function(graph, source, target)
    local from, to = attributes_of(graph, source), attributes_of(graph, target)
    for attribute, value in pairs(from) do to[attribute] = value end
  end)

  rt.cudaGraphDebugDotPrint = api(takes("cudaGraphDebugDotPrint", function(graph, path)
    local file, why = io.open(path, "w")
    if not file then fail("cudaErrorOperatingSystem", "cannot write %s", why) end
    file:write(check(graph, "graph"):dot())
    file:close()
  end))

  rt.cudaGraphInstantiate = api(function(graph, _flags) return check(graph, "graph"):instantiate() end)
  rt.cudaGraphLaunch = api(function(exec, stream) check(exec, "graph_exec"):launch(streams.stream(stream)) end)
  rt.cudaGraphExecDestroy = api(function(exec) check(exec, "graph_exec"):free() end)
  rt.cudaGraphExecUpdate = api(function(exec, graph)
    check(exec, "graph_exec"):update(check(graph, "graph"))
  end)
  rt.cudaGraphExecKernelNodeSetParams = api(function(exec, node, params)
    local launch, values, count = launch_of(params)
    check(exec, "graph_exec"):set(node, launch:bind(unpack(values, 1, count)))
  end)
end

return M
