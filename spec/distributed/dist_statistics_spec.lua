-- Variances, positions of extremes, medians and sorted lines of distributed arrays, and scans and stencils of blocks in
-- turn: each gives what it gives on the whole array in one place.

local mw = require "moonwarp"
local run = require "support.mpi.clique"

local function same(wanted, got, most)
  assert.same(wanted.shape, got.shape)
  assert.equal(wanted.dtype, got.dtype)
  if wanted.count > 0 then
    local difference = (wanted:to "double" - got:to "double"):abs():max()
    assert.is_true(difference <= (most or 0), ("differs by %g"):format(difference))
  end
end

local function layouts(comm, shape)
  local list = { mw.dist.layout(comm, shape), mw.dist.layout(comm, shape, { axis = 2 }),
    mw.dist.layout(comm, shape, { block = 2 }) }
  if comm.size % 2 == 0 then
    list[4] = mw.dist.layout(comm, shape, { grid = { 2, comm.size / 2 } })
    list[5] = mw.dist.layout(comm, shape, { grid = { comm.size / 2, 2 }, block = { 2, 1 } })
  end
  return list
end

local function numbers(dtype) return (mw.arange(40):reshape(5, 8) * 7 % 13 - 6):to(dtype) end

describe("a distributed array", function()
  it("has the variance and the standard deviation of the whole array", function()
    run(function(comm)
      for _, dtype in ipairs { "float", "double", "int" } do
        local a = numbers(dtype)
        for _, layout in ipairs(layouts(comm, { 5, 8 })) do
          local d = mw.dist.from(layout, a)
          assert.is_true(math.abs(d:var() - a:var()) < 1e-5)
          assert.is_true(math.abs(d:std { ddof = 1 } - a:std { ddof = 1 }) < 1e-5)
          same(a:var { axis = 1 }, d:var { axis = 1 }, 1e-5)
          same(a:std { axis = 2, keepdims = true, ddof = 1 }, d:std { axis = 2, keepdims = true, ddof = 1 }, 1e-5)
        end
      end
    end)
  end)

  it("says where its extremes are, the first of equal ones, and ignores NaN", function()
    run(function(comm)
      local with = numbers "float"
      with[{ 2, 3 }], with[{ {}, 8 }] = 0 / 0, 0 / 0
      for _, a in ipairs { numbers "int", numbers "float", with } do
        for _, layout in ipairs(layouts(comm, { 5, 8 })) do
          local d = mw.dist.from(layout, a)
          assert.equal(a:max(), d:max())
          same(a[{ {}, { 1, 7 } }]:min { axis = 1 }, d:min { axis = 1 }[{ { 1, 7 } }])
          for _, name in ipairs { "argmax", "argmin" } do
            assert.equal(a[name](a), d[name](d))
            same(a[name](a, { axis = 1 }), d[name](d, { axis = 1 }))
            same(a[name](a, { axis = 2, keepdims = true }), d[name](d, { axis = 2, keepdims = true }))
          end
        end
      end
    end)
  end)

  it("is sorted along an axis, and has medians along it", function()
    run(function(comm)
      local a = numbers "float"
      for _, layout in ipairs(layouts(comm, { 5, 8 })) do
        local d = mw.dist.from(layout, a)
        for axis = 1, 2 do
          same(a:sort { axis = axis }, d:sort { axis = axis }:gather())
          same(a:median { axis = axis }, d:median { axis = axis })
        end
        assert.is_true(d:sort().layout:equals(layout))
        same(a:sort(), d:sort():gather())
        same(a:median { axis = 2, keepdims = true }, d:median { axis = 2, keepdims = true })
      end
    end)
  end)

  it("in blocks that ranks have in turn has scans and stencils", function()
    run(function(comm)
      local a = numbers "double"
      local function step(p)
        local h, w = p.shape[1], p.shape[2]
        return p[{ { 1, h - 2 }, { 2, w - 1 } }] + p[{ { 3, h }, { 2, w - 1 } }]
      end
      local wanted = mw.zeros({ 7, 10 }, "double")
      wanted[{ { 2, 6 }, { 2, 9 } }] = a
      for _, layout in ipairs(layouts(comm, { 5, 8 })) do
        local d = mw.dist.from(layout, a)
        local sums, around = d:cumsum { axis = 1 }, d:stencil(1, step)
        assert.is_true(sums.layout:equals(layout) and around.layout:equals(layout))
        same(a:cumsum { axis = 1 }, sums:gather())
        same(step(wanted), around:gather())
      end
    end)
  end)

  it("refuses axes that it does not have", function()
    mw.use "cpu"
    mw.nccl.run(1, function(comm)
      local d = mw.dist.from(mw.dist.layout(comm, { 2, 2 }), mw.ones { 2, 2 })
      local function refuses(words, f)
        local ok, err = pcall(f)
        assert.is_false(ok)
        assert.matches(words, tostring(err))
      end
      refuses("d:sort: axis 3 of an array with 2 axes", function() d:sort { axis = 3 } end)
      refuses("d:argmax: axis 3 of an array with 2 axes", function() d:argmax { axis = 3 } end)
      refuses("d:median wants one of several axes, { axis = 1 }", function() d:median { axis = 3 } end)
    end)
  end)
end)
