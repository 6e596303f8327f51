-- Conditional nodes, and nodes of any kind, under CUDA's names.

local raw = require "moonwarp.binding"
local result = require "moonwarp.runtime.result"

local fail, api = result.fail, result.api
local M = {}

---@param rt table
---@param check function check(value, class)
function M.install(rt, check)
  rt.cudaGraphCondAssignDefault = 1
  rt.cudaGraphCondTypeIf, rt.cudaGraphCondTypeWhile, rt.cudaGraphCondTypeSwitch = 0, 1, 2

  rt.cudaGraphConditionalHandleCreate = api(function(graph, value, flags)
    if (flags or 0) ~= 0 and flags ~= 1 then
      fail("cudaErrorInvalidValue", "the flags of cudaGraphConditionalHandleCreate are 0 or cudaGraphCondAssignDefault")
    end
    return raw.graph_condition(check(graph, "graph"), flags == 1 and (value or 0) or nil)
  end)

  -- Its bodies, the node's phGraph_out, are in params.conditional.phGraph_out from 0 on, as in C.
  local function conditional(graph, after, params)
    local kind = params.type
    if kind ~= 0 and kind ~= 1 and kind ~= 2 then
      fail("cudaErrorInvalidValue", "%s is not a kind of conditional node", tostring(kind))
    end
    local node, bodies = raw.graph_conditional(graph, after, kind, params.handle or 0, params.size or 0)
    params.phGraph_out = {}
    for i, body in ipairs(bodies) do params.phGraph_out[i - 1] = body end
    return node
  end

  local function other(name, ...) return result.body(rt["cudaGraphAdd" .. name])(...) end

  rt.cudaGraphAddNode = api(function(graph, after, params)
    check(graph, "graph")
    if type(params) ~= "table" then fail("cudaErrorInvalidValue", "a node wants a table of parameters") end
    local kind = params.type
    if kind == 0 then return other("KernelNode", graph, after, params.kernel) end
    if kind == 1 then return other("MemcpyNode", graph, after, (params.memcpy or {}).copyParams) end
    if kind == 2 then return other("MemsetNode", graph, after, params.memset) end
    if kind == 3 then return other("HostNode", graph, after, params.host) end
    if kind == 5 then return other("EmptyNode", graph, after) end
    if kind == 13 then return conditional(graph, after, params.conditional or {}) end
    fail("cudaErrorNotSupported", "nodes of type %s are not supported", tostring(kind))
  end)
end

return M
