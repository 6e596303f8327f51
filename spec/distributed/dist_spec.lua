-- Distributed arrays over emulated ranks: every operation gives what it gives on the whole array in one place. Where no
-- number is rounded, and for stencils, bit by bit.

local mw = require "moonwarp"
local run = require "support.mpi.clique"

-- The largest difference is at most `most`; 0: the same.
local function same(wanted, got, most)
  assert.same(wanted.shape, got.shape)
  if wanted.count > 0 then
    local difference = (wanted - got):abs():max()
    assert.is_true(difference <= (most or 0), ("differs by %g"):format(difference))
  end
end

-- Layouts of every kind for a matrix.
local function layouts(comm, shape)
  local list = {
    mw.dist.layout(comm, shape),
    mw.dist.layout(comm, shape, { axis = 2 }),
    mw.dist.layout(comm, shape, { block = 2 }),
    mw.dist.layout(comm, shape, { axis = 2, block = { 1, 1 } }),
  }
  if comm.size % 2 == 0 then
    list[#list + 1] = mw.dist.layout(comm, shape, { grid = { 2, comm.size / 2 } })
    list[#list + 1] = mw.dist.layout(comm, shape, { grid = { comm.size / 2, 2 }, block = { 2, 3 } })
  end
  return list
end

local function numbers(rows, columns) return mw.arange(rows * columns):reshape(rows, columns) * 3 % 17 - 8 end

describe("a layout", function()
  it("gives every element to one rank, in blocks whose sizes differ by 1 at most, or in turn", function()
    run(function(comm)
      for _, layout in ipairs(layouts(comm, { 5, 6 })) do
        local seen, least, most = {}, math.huge, 0
        for rank = 0, comm.size - 1 do
          local runs, shape = layout:runs(rank), layout:part_shape(rank)
          least, most = math.min(least, shape[1]), math.max(most, shape[1])
          local count = 0
          for _, r in ipairs(runs[1]) do
            for _, c in ipairs(runs[2]) do
              for i = r.global, r.global + r.count - 1 do
                for j = c.global, c.global + c.count - 1 do
                  assert.is_nil(seen[10 * i + j])
                  seen[10 * i + j], count = true, count + 1
                end
              end
            end
          end
          assert.equal(shape[1] * shape[2], count)
          assert.equal(rank, layout:rank_at(layout:place(rank)))
        end
        for i = 1, 5 do
          for j = 1, 6 do assert.is_true(seen[10 * i + j]) end
        end
        if not layout.block and layout.grid[1] == comm.size then assert.is_true(most - least <= 1) end
      end
    end)
  end)

  it("of blocks in turn is ScaLAPACK's", function()
    mw.use "cpu"
    local layout = mw.dist.layout(mw.nccl.init_all(2)[2], 10, { block = 3 })
    assert.same({ { { global = 4, count = 3, at = 1 }, { global = 10, count = 1, at = 4 } } }, layout:runs())
    assert.matches("^{10} over a grid of {2} ranks, blocks of {3} in turn$", tostring(layout))
  end)

  it("is refused with the numbers that do not fit", function()
    mw.use "cpu"
    local comm = mw.nccl.init_all(2)[1]
    local function refuses(words, ...)
      local ok, err = pcall(mw.dist.layout, comm, ...)
      assert.is_false(ok)
      assert.matches(words, err.message)
    end
    refuses("the grid {3, 1} has 3 places, and the communicator 2 ranks", { 4, 4 }, { grid = { 3, 1 } })
    refuses("axis 3 of an array with 2 axes", { 4, 4 }, { axis = 3 })
    refuses("a number for each of the 2 axes", { 4, 4 }, { grid = { 2 } })
    refuses("whole numbers from 1 on, got the number 0", 4, { block = 0 })
    refuses("a shape has whole numbers", { 1.5 })
  end)
end)

describe("a distributed array", function()
  it("is gathered at every rank or at one, and comes from arrays of all ranks or of one", function()
    run(function(comm)
      local a = numbers(5, 6)
      for _, layout in ipairs(layouts(comm, { 5, 6 })) do
        local d = mw.dist.from(layout, a)
        assert.same(layout:part_shape(), d.part.shape)
        same(a, d:gather())
        local root = comm.size - 1
        local whole = d:gather(root)
        assert.equal(comm.rank == root, whole ~= nil)
        same(a, mw.dist.scatter(layout, whole, root):gather())
        same(mw.full({ 5, 6 }, 2), mw.dist.full(layout, 2):gather())
        same(mw.arange(6):reshape(1, 6):broadcast_to { 5, 6 } + 1, mw.dist.positions(layout, 2):gather():to "float")
      end
    end)
  end)

  it("moves between any two layouts", function()
    run(function(comm)
      local a = numbers(5, 6)
      local list = layouts(comm, { 5, 6 })
      for i, from in ipairs(list) do
        local to = list[i % #list + 1]
        same(a, mw.dist.from(from, a):redistribute(to):redistribute(from):gather())
        same(a:transpose(), mw.dist.from(from, a):transpose():gather())
      end
    end)
  end)

  it("has operators and functions of elements, with numbers and with arrays that broadcast", function()
    run(function(comm)
      local a, row, column = numbers(5, 6), mw.arange(6), mw.arange(5):reshape(5, 1)
      for _, layout in ipairs(layouts(comm, { 5, 6 })) do
        local d = mw.dist.from(layout, a)
        same(a * 2 + a - 1, (d * 2 + d - 1):gather())
        same(2 - a, (2 - d):gather())
        same(-a + row, (-d + row):gather())
        same(a * column, (d * column):gather())
        same(a:abs():sqrt(), d:abs():sqrt():gather())
        same(a:maximum(0), d:maximum(0):gather())
        same(row + a, (row + d):gather())
        same(mw.hypot(row, a), mw.hypot(row, d):gather())
        same(a:to "int", d:to("int"):gather())
        same(a * 3 + row, mw.dist.map("a * x + r", { a = 3, x = d, r = row }):gather())
        local f = mw.dist.fuse(function(x, y) return (x * y + 1):exp() / 7 end)
        same(((a * a + 1):exp() / 7):log(), f(d, d):gather():log(), 1e-4)
      end
    end)
  end)

  it("reduces over all axes or some, as one machine does", function()
    run(function(comm)
      local a = numbers(5, 6)
      for _, layout in ipairs(layouts(comm, { 5, 6 })) do
        local d = mw.dist.from(layout, a)
        for _, name in ipairs { "sum", "max", "min", "mean", "any", "all", "count_nonzero", "prod" } do
          assert.equal(a[name](a), d[name](d))
          for _, axis in ipairs { 1, 2 } do
            local options = { axis = axis, keepdims = (axis + comm.size) % 2 == 0 }
            same(a[name](a, options):to "double", d[name](d, options):to "double")
          end
        end
      end
    end)
  end)

  it("sums floats to the last rounding of the exact sum", function()
    run(function(comm)
      local a = mw.random(5):uniform(10001)
      local exact = a:to("double"):sum()
      local got = mw.dist.from(mw.dist.layout(comm, 10001), a):sum()
      assert.is_true(math.abs(got - exact) <= exact * 2 ^ -24)
    end)
  end)

  it("scans along an axis", function()
    run(function(comm)
      local a = numbers(5, 6)
      for _, layout in ipairs(layouts(comm, { 5, 6 })) do
        if not layout.block then
          local d = mw.dist.from(layout, a)
          for axis = 1, 2 do
            same(a:cumsum { axis = axis }, d:cumsum { axis = axis }:gather())
            same(a:cumprod { axis = axis }, d:cumprod { axis = axis }:gather())
          end
        end
      end
    end)
  end)

  it("sorts any numbers, also equal ones, few ones, and NaN", function()
    run(function(comm)
      for _, n in ipairs { 1, 5, 300 } do
        for _, a in ipairs { mw.random(n):uniform(n), mw.full(n, 3), mw.arange(n) % 4, -mw.arange(n) } do
          local d = mw.dist.from(mw.dist.layout(comm, n), a)
          same(a:sort(), d:sort():gather())
          same(a:sort(), mw.dist.from(mw.dist.layout(comm, n, { block = 3 }), a):sort():gather())
        end
      end
      local a = mw.array { 3, 0 / 0, 1, 2, 0 / 0, -1 }
      local sorted = mw.dist.from(mw.dist.layout(comm, 6), a):sort():gather():totable()
      assert.same({ -1, 1, 2, 3 }, { sorted[1], sorted[2], sorted[3], sorted[4] })
      assert.is_true(sorted[5] ~= sorted[5] and sorted[6] ~= sorted[6])
    end)
  end)

  it("multiplies matrices", function()
    run(function(comm)
      local a, b = numbers(5, 6), numbers(6, 4)
      local left, right = layouts(comm, { 5, 6 }), layouts(comm, { 6, 4 })
      for i, layout in ipairs(left) do
        same(a:mm(b), mw.dist.from(layout, a):mm(mw.dist.from(right[i], b)):gather())
      end
    end)
  end)

  it("transforms by Fourier, by pencils", function()
    run(function(comm)
      local a = numbers(4, 6)
      for _, layout in ipairs(layouts(comm, { 4, 6 })) do
        local d = mw.dist.from(layout, a)
        local wanted, got = mw.fft.fftn(a), mw.dist.fftn(d):gather()
        same(wanted:real(), got:real(), 1e-4)
        same(wanted:imag(), got:imag(), 1e-4)
        same(mw.fft.fft(a, { axis = 1 }):imag(), mw.dist.fft(d, { axis = 1 }):gather():imag(), 1e-4)
        same(a, mw.dist.ifftn(mw.dist.fftn(d)):gather():real(), 1e-5)
      end
      local cube = mw.random(1):uniform { 4, 5, 6 }
      local grid = comm.size % 2 == 0 and { 2, comm.size / 2, 1 } or { 1, comm.size, 1 }
      local d = mw.dist.from(mw.dist.layout(comm, { 4, 5, 6 }, { grid = grid }), cube)
      same(mw.fft.fftn(cube):real(), mw.dist.fftn(d):gather():real(), 1e-4)
    end)
  end)

  it("transforms a single axis by Fourier, of any length", function()
    run(function(comm)
      for _, n in ipairs { 1, 2, 7, 12, 30, 64 } do
        local a = mw.arange(n) * 3 % 17 - 8
        for _, layout in ipairs { mw.dist.layout(comm, { n }), mw.dist.layout(comm, { n }, { block = 3 }) } do
          local d = mw.dist.from(layout, a)
          local got = mw.dist.fft(d)
          local wanted = mw.fft.fft(a)
          same(wanted:real(), got:gather():real(), 1e-4)
          same(wanted:imag(), got:gather():imag(), 1e-4)
          assert.equal(wanted.dtype, got.dtype)
          same(a, mw.dist.ifft(got):gather():real(), 1e-5)
          same(mw.fft.fft(a, { norm = "ortho" }):imag(), mw.dist.fftn(d, { norm = "ortho" }):gather():imag(), 1e-4)
        end
      end
    end)
  end)

  it("draws the random numbers of one machine, and leaves the generator where that leaves it", function()
    run(function(comm)
      for _, kind in ipairs { "philox", "xorwow" } do
        for _, name in ipairs { "uniform", "normal", "bits" } do
          local one, many = mw.random(9, kind), mw.random(9, kind)
          local whole = one[name](one, { 5, 4 })
          local layout = mw.dist.layout(comm, { 5, 4 }, { axis = 2 })
          local got = mw.dist[name](layout, many):gather()
          assert.equal(whole:bytes(), got:bytes())
          assert.equal(one:uniform(4):bytes(), many:uniform(4):bytes())
        end
      end
    end)
  end)

  it("refuses operands of other layouts, shapes and dtypes, naming both", function()
    mw.use "cpu"
    local comm = mw.nccl.init_all(1)[1]
    local a = mw.dist.zeros(mw.dist.layout(comm, { 2, 3 }))
    local b = mw.dist.zeros(mw.dist.layout(comm, { 3, 2 }))
    local function refuses(words, f, ...)
      local ok, err = pcall(f, ...)
      assert.is_false(ok)
      assert.matches(words, err.message)
    end
    refuses("{2, 3} over a grid of {1, 1} ranks, and {3, 2} over", function() return a + b end)
    refuses("the shape {4} does not broadcast to {2, 3}", function() return a + mw.zeros(4) end)
    refuses("the shapes {2, 3} and {2, 3} do not fit", a.mm, a, a)
    refuses("the dtypes float and int differ", a.mm, a, b:to "int")
    refuses("the array is {2, 3} and the layout for {3, 2}", a.redistribute, a, b.layout)
    refuses("without a rank and a size", mw.dist.layout, {}, { 2, 3 })
    refuses("has the shape {2, 3}, got {3, 2}", mw.dist.wrap, a.layout, mw.zeros(3, 2))
    refuses("no elements by index", function() return a[1] end)
    refuses("no method nonsense", function() return a.nonsense end)
    refuses("axis 3 of an array with 2 axes", a.sum, a, { axis = 3 })
    refuses('the boundary is "zero", "periodic" or "edge"', a.exchange, a, 1, { boundary = "open" })
    refuses("is a method of what mw.dist makes", a.gather, 1)
  end)
end)

-- ---- stencils ----

-- Five points, in float, rounded in one order.
local function heat(padded)
  local h, w = padded.shape[1], padded.shape[2]
  local function at(i, j) return padded[{ { 1 + i, h - 2 + i }, { 1 + j, w - 2 + j } }] end
  return at(1, 1) + ((at(0, 1) + at(2, 1)) + (at(1, 0) + at(1, 2)) - at(1, 1) * 4) * 0.2
end

describe("a stencil", function()
  it("gives the bits of one rank on any number of ranks, for each boundary and layout", function()
    mw.use "cpu"
    local a = mw.random(3):uniform { 9, 8 }
    for _, boundary in ipairs { "zero", "periodic", "edge" } do
      local wanted
      for _, n in ipairs { 1, 2, 3, 4, 7 } do
        mw.nccl.run(n, function(comm)
          for _, layout in ipairs(layouts(comm, { 9, 8 })) do
            if not layout.block then
              local d = mw.dist.from(layout, a)
              for _ = 1, 5 do d = d:stencil(1, heat, { boundary = boundary }) end
              local bytes = d:gather():bytes()
              wanted = wanted or bytes
              assert.equal(wanted, bytes)
            end
          end
        end)
      end
    end
  end)

  it("has halos of any width, also wider than the neighbours' parts, with their corners", function()
    run(function(comm)
      local a = numbers(5, 6)
      local padded = { zero = a:pad(3), edge = a:pad(3, { mode = "edge" }), periodic = a:pad(3, { mode = "wrap" }) }
      for _, layout in ipairs(layouts(comm, { 5, 6 })) do
        for boundary, whole in pairs(padded) do
          local runs = layout:runs()
          if not layout.block and #runs[1] > 0 and #runs[2] > 0 then
            local r, c = runs[1][1], runs[2][1]
            local wanted = whole[{ { r.global, r.global + r.count + 5 }, { c.global, c.global + c.count + 5 } }]
            same(wanted, mw.dist.from(layout, a):exchange(3, { boundary = boundary }))
          elseif not layout.block then
            mw.dist.from(layout, a):exchange(3, { boundary = boundary })
          end
        end
      end
      local rows = mw.dist.from(mw.dist.layout(comm, { 5, 6 }), a):exchange { 1, 0 }
      assert.equal(6, rows.shape[2])
    end)
  end)
end)
