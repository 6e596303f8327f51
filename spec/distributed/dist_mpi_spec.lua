-- Distributed arrays over MPI: what the emulated ranks of dist_spec.lua do, between processes.

local mpi = require "support.mpi.ranks"

local script = [[
  local function same(wanted, got, most, what)
    assert(table.concat(wanted.shape, " ") == table.concat(got.shape, " "), what)
    local difference = wanted.count > 0 and (wanted - got):abs():max() or 0
    assert(difference <= (most or 0), ("%s differs by %g"):format(what, difference))
  end
  local a = mw.arange(30):reshape(5, 6) * 3 % 17 - 8
  local layouts = { mw.dist.layout(comm, { 5, 6 }), mw.dist.layout(comm, { 5, 6 }, { axis = 2, block = 2 }) }
  for _, layout in ipairs(layouts) do
    local d = mw.dist.from(layout, a)
    same(a, d:gather(), 0, "gather")
    same(a * 2 + a, (d * 2 + a):redistribute(layouts[1]):gather(), 0, "redistribute")
    same(a:transpose(), d:transpose():gather(), 0, "transpose")
    assert(d:sum() == a:sum() and d:max() == a:max())
    same(a:sum { axis = 1 }, d:sum { axis = 1 }, 0, "sum")
    same(a:min { axis = 2 }, d:min { axis = 2 }, 0, "min")
    local b = mw.dist.from(layout:with { 6, 5 }, a:transpose())
    same(a:mm(a:transpose()), d:mm(b):gather(), 0, "mm")
    same(mw.fft.fftn(a):real(), mw.dist.fftn(d):gather():real(), 1e-4, "fftn")
    if not layout.block then
      same(a:cumsum { axis = 1 }, d:cumsum { axis = 1 }:gather(), 0, "cumsum")
      local got = d:stencil(1, function(p) return p[{ { 1, p.shape[1] - 2 }, { 3, p.shape[2] } }] end)
      same(a:pad(1)[{ { 1, 5 }, { 3, 8 } }], got:gather(), 0, "stencil")
    end
    d:save_npy(path)
    same(a, mw.load_npy(path), 0, "save_npy")
    same(a, mw.dist.load_npy(comm, path, { axis = 2 }):gather(), 0, "load_npy")
    comm:barrier()
  end
  local x = mw.random(1):uniform(200)
  same(x:sort(), mw.dist.from(mw.dist.layout(comm, 200), x):sort():gather(), 0, "sort")
  same(x, mw.dist.uniform(mw.dist.layout(comm, 200), mw.random(1)):gather(), 0, "uniform")
  io.write "good\n"
]]

describe("distributed arrays over MPI", function()
  local test = mpi.tests(it, pending)

  test("compute what one process computes", function(run)
    local path = os.tmpname()
    for _, ranks in ipairs(mpi.ranks) do
      local result = run(ranks, ("local path = %q\n"):format(path) .. script)
      local _, count = result.output:gsub("good\n", "")
      assert.equal(ranks, count, result.output)
    end
    os.remove(path)
  end)
end)
