-- .npy files that ranks read and write in pieces.

local mw = require "moonwarp"

local path

describe("a distributed array in a file", function()
  before_each(function()
    mw.use "cpu"
    path = os.tmpname()
  end)
  after_each(function() os.remove(path) end)

  it("is written as NumPy's file of the whole array, byte by byte", function()
    local a = mw.arange(30):reshape(5, 6) - 7
    for _, dtype in ipairs { "float", "double", "int", "uchar", "complex64" } do
      local whole = dtype == "uchar" and (a + 7):to(dtype) or a:to(dtype)
      mw.save_npy(path, whole)
      local file = io.open(path, "rb")
      local wanted = file:read "*a"
      file:close()
      for _, n in ipairs { 1, 2, 3, 7 } do
        os.remove(path)
        mw.nccl.run(n, function(comm)
          mw.dist.from(mw.dist.layout(comm, { 5, 6 }, { axis = 2 }), whole):save_npy(path)
          file = io.open(path, "rb")
          assert.equal(wanted, file:read "*a")
          file:close()
          comm:barrier()
        end)
      end
    end
  end)

  it("is read by the ranks, each its rows, into any layout", function()
    local a = mw.random(2):uniform { 11, 3 }
    mw.save_npy(path, a)
    local shape, dtype = mw.dist.npy_shape(path)
    assert.same({ 11, 3 }, shape)
    assert.equal("float", dtype)
    for _, n in ipairs { 1, 2, 3, 4, 7 } do
      mw.nccl.run(n, function(comm)
        assert.equal(a:bytes(), mw.dist.load_npy(comm, path):gather():bytes())
        local d = mw.dist.load_npy(comm, path, { axis = 1, block = { 2, 3 } })
        assert.equal(a:bytes(), d:gather():bytes())
      end)
    end
  end)

  it("that is cut off, missing, or in Fortran's order, is an error that names it", function()
    mw.save_npy(path, mw.zeros(100))
    local file = io.open(path, "rb")
    local text = file:read "*a"
    file:close()
    local function write(bytes)
      file = io.open(path, "wb")
      file:write(bytes)
      file:close()
    end
    local comm = mw.nccl.init_all(1)[1]
    local function refuses(words)
      local ok, err = pcall(mw.dist.load_npy, comm, path)
      assert.is_false(ok)
      assert.matches(words, err.message)
    end
    write(text:sub(1, -5))
    refuses("is cut off: byte %d+ is missing")
    write((text:gsub("False", "True ")))
    refuses("is in Fortran's order")
    write "nonsense, and more of it"
    refuses("it is no .npy file")
    os.remove(path)
    refuses("No such file")
  end)
end)
