-- If-conversion of stores: in kernels that mainly gather, a store that depends on a loaded value is done without a
-- branch, to a dummy address if the condition is false.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local random = require "support.random" "store_if_conversion_spec"

-- Thread i walks its edges to nodes j; `out` has a double, a short or an int a node.
local text = [==[
#define WALK(NAME, TYPE, BODY) \
  extern "C" __global__ void NAME(int n, const int *start, const int *edge, const int *flag, TYPE *out) { \
    int i = blockIdx.x * blockDim.x + threadIdx.x; \
    if (i >= n) return; \
    for (int k = start[i]; k < start[i + 1]; k++) { int j = edge[k]; BODY } \
  }
WALK(where_zero, int, if (!flag[j]) out[j] = 1;)
WALK(where_large, short, if (flag[j] > 3) out[j] = 7;)
WALK(computed, double, if (flag[j] < 5) out[j] = flag[j] * 2 + 0.5;)
WALK(one_or_other, int, if (flag[j] == 2) out[j] = 5; else out[j] = 6;)
WALK(two, int, if (flag[j] == 4) { out[2 * j] = 8; out[2 * j + 1] = 9; })
WALK(remembers, int, int was = 3; if (flag[j] != 1) { out[j] = 4; was = 5; } out[j + 500] = was;)
WALK(in_turn, int, if (flag[j] & 1) out[j] = 10; if (flag[j] == 6) out[j] = 11;)
]==]

local models = {
  where_zero = { "int", function(f, j, set) if f == 0 then set(j, 1) end end },
  where_large = { "short", function(f, j, set) if f > 3 then set(j, 7) end end },
  computed = { "double", function(f, j, set) if f < 5 then set(j, f * 2 + 0.5) end end },
  one_or_other = { "int", function(f, j, set) set(j, f == 2 and 5 or 6) end },
  two = { "int", function(f, j, set) if f == 4 then set(2 * j, 8) set(2 * j + 1, 9) end end },
  remembers = { "int", function(f, j, set)
    if f ~= 1 then set(j, 4) end
    set(j + 500, f ~= 1 and 5 or 3)
  end },
  in_turn = { "int", function(f, j, set)
    if f & 1 == 1 then set(j, 10) end
    if f == 6 then set(j, 11) end
  end },
}

describe("a kernel that mainly gathers", function()
  local m
  setup(function() m = mw.compile(text) end)

  for name, model in pairs(models) do
    it(("stores the same elements, and no others: %s"):format(name), function()
      local nodes, starts, edges, flags, wanted = 500, { 0 }, {}, {}, {}
      assert.equal("loop", m[name].tier)
      for i = 1, nodes do
        flags[i] = random(0, 7)
        for _ = 1, random(0, 3) do edges[#edges + 1] = random(0, nodes - 1) end
        starts[i + 1] = #edges
      end
      for i = 1, 2 * nodes do wanted[i] = -3 end
      for _, j in ipairs(edges) do model[2](flags[j + 1], j, function(at, v) wanted[at + 1] = v end) end
      local out = mw.zeros(2 * nodes, model[1])
      out:fill(-3)
      m[name](8, 64)(nodes, mw.array(starts, "int"), mw.array(edges, "int"), mw.array(flags, "int"), out)
      assert.same(wanted, out:totable())
    end)
  end

  it("has no branch for a store", function()
    local output = mwcc.run(text, "--verify --emit=ir")
    local function code(name) return assert(output:match("define [^\n]*@run%." .. name .. "%(.-\n}\n")) end
    for _, name in ipairs { "where_zero", "remembers" } do
      assert.matches("select i1 [^\n]*%%nowhere", code(name))
    end
    for _, name in ipairs { "one_or_other", "two" } do assert.not_matches("nowhere", code(name)) end
  end)
end)
