-- Pictures in files: PGM, PPM and PNG.

local mw = require "moonwarp"
local failure = require "support.failure"
local files = require "support.files"
local random = require "support.random" "image_spec"

local read = files.read

local folder = os.tmpname()
os.remove(folder)
assert(os.execute("mkdir " .. folder))
teardown(function() os.execute("rm -r " .. folder) end)

local function write(name, bytes)
  local path = folder .. "/" .. name
  files.write(path, bytes)
  return path
end

local function noise(...)
  local shape, count = { ... }, 1
  for _, size in ipairs(shape) do count = count * size end
  local bytes = {}
  for i = 1, count do bytes[i] = string.char(random(0, 255)) end
  return mw.from_bytes(table.concat(bytes), "uchar"):reshape(shape)
end

local has_png = pcall(mw.write_image, folder .. "/probe.png", mw.zeros(1, 1, "uchar"))

describe("a picture", function()
  it("is read from PGM and PPM as their standard says", function()
    local a = mw.read_image(write("a.pgm", "P5\n# a comment\n3 2\n255\n\0\1\2\253\254\255"))
    assert.equal("uchar", a.dtype)
    assert.same({ { 0, 1, 2 }, { 253, 254, 255 } }, a:totable())
    a = mw.read_image(write("a.ppm", "P6 1 2 255\nabcdef"))
    assert.same({ 2, 1, 3 }, a.shape)
    assert.equal("abcdef", a:bytes())
    a = mw.read_image(write("plain.pgm", "P2\n2 2\n255\n0 1\n 2\t255\n"))
    assert.same({ { 0, 1 }, { 2, 255 } }, a:totable())
    a = mw.read_image(write("plain.ppm", "P3 1 1 255 7 8 9\n"))
    assert.same({ { { 7, 8, 9 } } }, a:totable())
  end)

  it("is written as PGM and PPM", function()
    local path = folder .. "/out.pgm"
    mw.write_image(path, mw.array({ { 1, 2, 3 } }, "uchar"))
    assert.matches("^P5%s3 1%s255%s\1\2\3$", read(path))
    path = folder .. "/out.ppm"
    mw.write_image(path, mw.array({ { { 65, 66, 67 } } }, "uchar"))
    assert.matches("^P6%s1 1%s255%sABC$", read(path))
  end)

  it("is read as it was written", function()
    local cases = { { "pgm", 7, 5 }, { "pgm", 1, 300 }, { "ppm", 6, 4, 3 } }
    if has_png then
      for _, case in ipairs { { "png", 9, 11 }, { "png", 5, 4, 3 }, { "png", 3, 8, 4 } } do cases[#cases + 1] = case end
    end
    for _, case in ipairs(cases) do
      local a = noise(table.unpack(case, 2))
      local path = folder .. "/round." .. case[1]
      mw.write_image(path, a)
      local b = mw.read_image(path)
      assert.same(a.shape, b.shape)
      assert.equal(a:bytes(), b:bytes())
    end
  end)

  it("may have vectors as pixels, or one channel by name", function()
    local a = noise(4, 6, 3)
    local path = folder .. "/vector.ppm"
    mw.write_image(path, a:as("uchar3"))
    assert.equal(a:bytes(), mw.read_image(path):bytes())
    local grey = noise(4, 6, 1)
    path = folder .. "/one.pgm"
    mw.write_image(path, grey)
    assert.same({ 4, 6 }, mw.read_image(path).shape)
  end)

  it("is written after the kernels that make it", function()
    local m = mw.compile [[__global__ void ramp(unsigned char *p) { p[threadIdx.x] = 3 * threadIdx.x; }]]
    local a = mw.zeros(2, 8, "uchar")
    m.ramp(1, 16)(a)
    local path = folder .. "/ramp.pgm"
    mw.write_image(path, a)
    assert.same({ { 0, 3, 6, 9, 12, 15, 18, 21 }, { 24, 27, 30, 33, 36, 39, 42, 45 } }, mw.read_image(path):totable())
  end)

  it("that is not there, or none, is an error or nil and one", function()
    local path = folder .. "/none.pgm"
    assert.equal("cudaErrorFileNotFound", failure(mw.read_image, path).code)
    local picture, err = mw.try_read_image(path)
    assert.is_nil(picture)
    assert.equal("io", err.kind)
    for _, bytes in ipairs { "", "P5", "P5\n3 2\n255\n12345", "P7\n1 1\n255\n1", "hello, world", "P5\n-1 2\n255\n" } do
      picture, err = mw.try_read_image(write("bad.pgm", bytes))
      if picture == nil and err == nil then err = "nothing" end
      assert.is_nil(picture, bytes)
      assert.equal("error", mw.type(err))
    end
    picture, err = mw.try_write_image(folder .. "/no/such/folder.pgm", mw.zeros(1, 1, "uchar"))
    assert.is_nil(picture)
    assert.equal("error", mw.type(err))
    assert.is_true(mw.try_write_image(folder .. "/fine.pgm", mw.zeros(1, 1, "uchar")))
  end)

  it("is refused if it is not a picture, with the accepted formats", function()
    local path = folder .. "/refused.pgm"
    assert.matches("wants uchar pixels .- got an array of float with 2 dimensions",
      failure(mw.write_image, path, mw.zeros(2, 2)).message)
    assert.matches("got an array of uchar with 1 dimension$",
      failure(mw.write_image, path, mw.zeros(4, "uchar")).message)
    assert.is_string(failure(mw.write_image, path, mw.zeros({ 2, 2, 2 }, "uchar")).message)
    assert.is_string(failure(mw.write_image, path, mw.zeros({ 2, 2, 3 }, "uchar")).message) -- PGM has one channel
    assert.is_string(failure(mw.write_image, folder .. "/x.gif", mw.zeros({ 2, 2 }, "uchar")).message)
    assert.matches("wants a path", failure(mw.write_image, 5).message)
    assert.matches("wants an array, got nil", failure(mw.write_image, path).message)
    assert.matches("wants a path", failure(mw.read_image).message)
  end)
end)
