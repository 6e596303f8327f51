-- Conditional nodes: if, while and switch, nested, with kernels, copies and fills in their bodies; and what is refused.
-- (CUDA Programming Guide, "Conditional Graph Nodes")

local mw = require "moonwarp"
local failure = require "support.failure"

local m = mw.compile [[
__global__ void add(int n, int d, int *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += d;
}
__global__ void choose(cudaGraphConditionalHandle handle, const int *value) {
  cudaGraphSetConditional(handle, *value);
}
__global__ void count_down(cudaGraphConditionalHandle handle, int *left, int *runs) {
  *runs += 1;
  cudaGraphSetConditional(handle, --*left);
}
__global__ void wild(cudaGraphConditionalHandle handle, int *x, long at) { x[at] = 1; }
]]

local N = 1000

-- A graph whose first node sets the condition of its second to an integer in memory: the value, the graph, and what
-- g:conditional returns.
local function chosen(kind, bodies)
  local value, g = mw.zeros(1, "int"), mw.graph()
  local condition = g:condition()
  local first = g:kernel(nil, m.choose(1, 1), condition, value)
  return value, g, g:conditional({ first }, kind, condition, bodies)
end

describe("an if node", function()
  it("runs its body if the value is not 0", function()
    local value, g, node, body = chosen "if"
    local x = mw.zeros(N, "int")
    body:kernel(nil, m.add(4, 256), N, 1, x)
    g:kernel({ node }, m.add(4, 256), N, 100, x)
    local exec, sums = g:instantiate(), {}
    for i, v in ipairs { 0, 1, 0, -5 } do
      value[1] = v
      exec:launch()
      sums[i] = x:sum() / N
    end
    assert.same({ 100, 201, 301, 402 }, sums)
  end)

  it("runs the second of two bodies if the value is 0", function()
    local value, g, _, yes, no = chosen("if", 2)
    local x = mw.zeros(N, "int")
    yes:kernel(nil, m.add(4, 256), N, 1, x)
    no:kernel(nil, m.add(4, 256), N, 10, x)
    local exec = g:instantiate()
    exec:launch()
    assert.equal(10 * N, x:sum())
    value[1] = 7
    exec:launch()
    assert.equal(11 * N, x:sum())
  end)

  it("may be the first node, and have bodies without nodes", function()
    local g, x = mw.graph(), mw.zeros(4, "int")
    local first = g:conditional(nil, "if", g:condition(1))
    g:kernel({ first }, m.add(1, 4), 4, 1, x)
    g:instantiate():launch()
    assert.same({ 1, 1, 1, 1 }, x:totable())
  end)
end)

describe("a while node", function()
  it("repeats its body while the value is not 0", function()
    local g, left, runs = mw.graph(), mw.array({ 100 }, "int"), mw.zeros(1, "int")
    local condition = g:condition(1)
    local _, body = g:conditional(nil, "while", condition)
    body:kernel(nil, m.count_down(1, 1), condition, left, runs)
    local exec = g:instantiate()
    exec:launch()
    assert.equal(100, runs[1])
    left[1] = 50
    exec:launch() -- each launch begins with the value 1
    assert.equal(150, runs[1])
  end)

  it("does not run its body if the value is 0 to begin with", function()
    local g, left, runs = mw.graph(), mw.array({ 1 }, "int"), mw.zeros(1, "int")
    local condition = g:condition(0)
    local _, body = g:conditional(nil, "while", condition)
    body:kernel(nil, m.count_down(1, 1), condition, left, runs)
    g:instantiate():launch()
    assert.equal(0, runs[1])
  end)

  it("takes copies and fills, and what follows the node sees them", function()
    local g, left, runs = mw.graph(), mw.array({ 3 }, "int"), mw.zeros(1, "int")
    local x, y = mw.zeros(N, "int"), mw.zeros(N, "int")
    local condition = g:condition(1)
    local node, body = g:conditional(nil, "while", condition)
    local a = body:fill(nil, y, 5)
    local b = body:kernel({ a }, m.add(4, 256), N, 1, y)
    local c = body:copy({ b }, x, y)
    local d = body:kernel({ c }, m.add(4, 256), N, 10, y)
    body:kernel({ d }, m.count_down(1, 1), condition, left, runs)
    g:kernel({ node }, m.add(4, 256), N, 100, x)
    g:instantiate():launch()
    assert.same({ 106 * N, 16 * N, 3 }, { x:sum(), y:sum(), runs[1] })
  end)

  it("contains conditional nodes", function()
    -- for (i = 3; i; i--) { j = 2; do j--; while (j); if (i & 1) … }
    local inner_runs, runs, odd = mw.zeros(1, "int"), mw.zeros(1, "int"), mw.zeros(1, "int")
    local i, j = mw.array({ 3 }, "int"), mw.zeros(1, "int")
    local g = mw.graph()
    local outer = g:condition(1)
    local _, body = g:conditional(nil, "while", outer)
    local inner = body:condition()
    local a = body:fill(nil, j, 2)
    local b = body:kernel({ a }, m.choose(1, 1), inner, j)
    local c, loop = body:conditional({ b }, "while", inner)
    loop:kernel(nil, m.count_down(1, 1), inner, j, inner_runs)
    local parity = mw.compile [[
      __global__ void k(cudaGraphConditionalHandle handle, const int *i) { cudaGraphSetConditional(handle, *i & 1); }
    ]].k
    local is_odd = body:condition()
    local d = body:kernel({ c }, parity(1, 1), is_odd, i)
    local e, yes = body:conditional({ d }, "if", is_odd)
    yes:kernel(nil, m.add(1, 1), 1, 1, odd)
    body:kernel({ e }, m.count_down(1, 1), outer, i, runs)
    g:instantiate():launch()
    assert.same({ 3, 6, 2 }, { runs[1], inner_runs[1], odd[1] })
  end)
end)

describe("a switch node", function()
  it("runs the body of the value's number, or none", function()
    local value, g, node, a, b, c = chosen("switch", 3)
    local x = mw.zeros(N, "int")
    for i, body in ipairs { a, b, c } do body:kernel(nil, m.add(4, 256), N, 10 ^ i, x) end
    g:kernel({ node }, m.add(4, 256), N, 1, x)
    local exec, seen = g:instantiate(), {}
    for i, v in ipairs { 0, 2, 1, 3, -1 } do
      x:fill(0)
      value[1] = v
      exec:launch()
      seen[i] = x[N]
    end
    assert.same({ 11, 1001, 101, 1, 1 }, seen)
  end)
end)

describe("a graph with conditional nodes", function()
  it("names them", function()
    local _, g = chosen("switch", 2)
    assert.equal("conditional", g:node(2).kind)
    assert.equal("switch", g:node(2).label)
    assert.matches("n2 %[label=\"switch\", shape=diamond%]", g:dot())
  end)

  it("does not change when its bodies get further nodes after it was instantiated", function()
    local value, g, _, body = chosen "if"
    local x = mw.zeros(4, "int")
    body:kernel(nil, m.add(1, 4), 4, 1, x)
    value[1] = 1
    local exec = g:instantiate()
    body:kernel({ 1 }, m.add(1, 4), 4, 10, x)
    exec:launch()
    assert.equal(1, x[1])
    g:instantiate():launch()
    assert.equal(12, x[1])
  end)

  it("is updated by one of the same form", function()
    local function make(d, x)
      local g, left = mw.graph(), mw.array({ 3 }, "int")
      local condition = g:condition(1)
      local _, body = g:conditional(nil, "while", condition)
      local a = body:kernel(nil, m.add(1, 4), 4, d, x)
      body:kernel({ a }, m.count_down(1, 1), condition, left, mw.zeros(1, "int"))
      return g
    end
    local x = mw.zeros(4, "int")
    local exec = make(1, x):instantiate()
    exec:launch()
    exec:update(make(100, x)):launch()
    assert.equal(303, x[1])
    local other = mw.graph()
    other:conditional(nil, "if", other:condition(1))
    assert.equal("cudaErrorGraphExecUpdateFailure", failure(exec.update, exec, other).code)
  end)

  it("keeps conditions and bodies alive when only it is left", function()
    local x, exec = mw.zeros(4, "int") -- luacheck: ignore
    do
      local value, g, _, body = chosen "if"
      value[1] = 1
      body:kernel(nil, m.add(1, 4), 4, 1, x)
      exec = g:instantiate()
    end
    for _ = 1, 3 do collectgarbage() end
    for _ = 1, 10 do exec:launch() end
    assert.equal(10, x[1])
  end)

  it("takes captured work in bodies", function()
    local value, g, _, body = chosen "if"
    local x = mw.zeros(4, "int")
    value[1] = 1
    body:add(nil, function()
      x:fill(3)
      m.add(1, 4)(4, 1, x)
    end)
    g:instantiate():launch()
    assert.same({ 4, 4, 4, 4 }, x:totable())
  end)
end)

describe("a conditional node", function()
  it("has one condition, of its own graph, and a number of bodies that suits its kind", function()
    local g = mw.graph()
    local condition = g:condition(1)
    local function refused(...) return failure(g.conditional, g, ...) end
    assert.equal("cudaErrorInvalidValue", refused(nil, "if", condition, 3).code)
    assert.equal("cudaErrorInvalidValue", refused(nil, "while", condition, 2).code)
    assert.equal("cudaErrorInvalidValue", refused(nil, "switch", condition, 0).code)
    assert.equal("cudaErrorInvalidValue", refused(nil, "if", mw.graph():condition(1)).code)
    assert.matches("the condition of a conditional node is made in the graph", refused(nil, "if", 0).message)
    assert.matches('wants "if", "while" or "switch"', refused(nil, "unless", condition).message)
    assert.matches("there is no node 8", refused({ 9 }, "if", condition).message)
    g:conditional(nil, "if", condition)
    assert.matches("another conditional node has this condition", refused(nil, "if", condition).message)
  end)

  it("has no host functions in its bodies", function()
    local _, g, _, body = chosen "if"
    body:call(nil, function() end)
    local e = failure(g.instantiate, g)
    assert.equal("cudaErrorNotSupported", e.code)
    assert.matches("takes launches, copies and fills, but no host functions: 'host function'", e.message, 1, true)
  end)

  it("has no cooperative launches in its bodies", function()
    local _, g, _, body = chosen "if"
    body:kernel(nil, m.add:cooperative(1, 4), 4, 1, mw.zeros(4, "int"))
    assert.matches("no cooperative launches", failure(g.instantiate, g).message)
  end)

  it("needs a kernel in the body of a loop, and a body no graph of its own", function()
    local _, g, _, body = chosen "while"
    body:fill(nil, mw.zeros(4, "int"), 1)
    assert.matches("no kernel that could end the loop", failure(g.instantiate, g).message)
    assert.matches("instantiated with its graph", failure(body.instantiate, body).message)
  end)

  it("is there for each condition", function()
    local g = mw.graph()
    g:condition(1)
    assert.matches("no conditional node has it", failure(g.instantiate, g).message)
  end)

  it("is not replaced by another node", function()
    local value, g = chosen "if"
    local exec, one = g:instantiate(), mw.graph()
    one:kernel(nil, m.choose(1, 1), one:condition(), value)
    assert.equal("cudaErrorGraphExecUpdateFailure", failure(exec.set, exec, 2, one).code)
  end)
end)

local on_cpu = mw.device().name:find "^cpu"

describe("a loop in which a kernel fails", on_cpu and function()
  it("ends, and the error names the kernel", function()
    local g, x = mw.graph(), mw.zeros(4, "int")
    local condition = g:condition(1)
    local node, body = g:conditional(nil, "while", condition)
    body:kernel(nil, m.wild(1, 1), condition, x, 2 ^ 40)
    g:kernel({ node }, m.add(1, 4), 4, 1, x)
    g:instantiate():launch()
    local e = failure(mw.synchronize)
    assert.same({ "cudaErrorIllegalAddress", "wild" }, { e.code, e.kernel })
  end)

  it("has one time limit for all of its iterations", function()
    local g, x = mw.graph(), mw.zeros(4, "int")
    local condition = g:condition(1)
    local _, body = g:conditional(nil, "while", condition)
    body:kernel(nil, m.add(1, 4), 4, 1, x)
    local exec = g:instantiate()
    mw.limit("time", 0.2)
    exec:launch()
    local e = failure(mw.synchronize)
    mw.limit("time", 0)
    assert.equal("cudaErrorLaunchTimeout", e.code)
    assert.is_true(x[1] > 10)
  end)
end or function() pending "the CPU device's" end)
