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

  it("is written into an .npz file as NumPy does, byte by byte, and read from one", function()
    local x, y = mw.random(3):uniform { 11, 3 }, mw.arange(7):to "int"
    mw.save_npz(path, { x = x, y = y, empty = mw.zeros { 0, 2 } })
    local file = io.open(path, "rb")
    local wanted = file:read "*a"
    file:close()
    for _, n in ipairs { 1, 2, 3, 9 } do
      os.remove(path)
      mw.nccl.run(n, function(comm)
        local columns = mw.dist.from(mw.dist.layout(comm, { 11, 3 }, { axis = 2 }), x)
        mw.dist.save_npz(path, { x = columns, y = mw.dist.from(mw.dist.layout(comm, { 7 }), y),
          empty = mw.dist.zeros(mw.dist.layout(comm, { 0, 2 })) })
        file = io.open(path, "rb")
        assert.equal(wanted, file:read "*a")
        file:close()
        comm:barrier()
        local found = mw.dist.load_npz(comm, path, { block = 2 })
        assert.equal(x:bytes(), found.x:gather():bytes())
        assert.equal(y:bytes(), found.y:gather():bytes())
        assert.same({ 0, 2 }, found.empty.shape)
        comm:barrier()
      end)
    end
  end)

  it("is read from NumPy's .npz files, stored and deflated", function()
    for _, name in ipairs { "stored", "deflated" } do
      local file = "spec/data/arrays/files/forms/" .. name .. ".npz"
      local whole = mw.load_npz(file)
      mw.nccl.run(2, function(comm)
        local found = mw.dist.load_npz(comm, file)
        for key, a in pairs(whole) do
          assert.equal(a.dtype, found[key].dtype)
          assert.equal(a:bytes(), found[key]:gather():bytes())
        end
        for key in pairs(found) do assert.is_truthy(whole[key]) end
      end)
    end
  end)

  it("in an .npz file is an error if it is damaged", function()
    mw.save_npz(path, { x = mw.arange(100) })
    local file = io.open(path, "rb")
    local text = file:read "*a"
    file:close()
    file = io.open(path, "wb")
    file:write(text:sub(1, 300), "!", text:sub(302))
    file:close()
    local comm = mw.nccl.init_all(1)[1]
    local ok, err = pcall(mw.dist.load_npz, comm, path)
    assert.is_false(ok)
    assert.matches("x%.npy' is damaged: its checksum does not match", err.message)
    ok, err = pcall(mw.dist.save_npz, path, { mw.dist.ones(mw.dist.layout(comm, { 2 })) })
    assert.is_false(ok)
    assert.matches("wants arrays by name", err.message)
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
