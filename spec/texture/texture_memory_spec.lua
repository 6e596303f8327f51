-- Memory that textures read: pitched arrays, CUDA arrays of every kind, and copies by regions in every direction.
-- CPU device only: kernels here read the CPU device's texture records

local mw = require "moonwarp"
local random = require "support.random" "texture_memory_spec"

local function message(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok, "no error was raised")
  return err.message, err.code
end

local function matches(pattern, f, ...) assert.matches(pattern, (message(f, ...))) end

-- What a record says, and texels by it: what fetches rest on, seen from a kernel.
local m = mw.compile [[
__global__ void describe(cudaTextureObject_t t, int level, unsigned *out) {
  const mw_tex_record *r = __mw_record(t);
  const mw_tex_level *l = &r->levels[level];
  unsigned values[] = {r->kind, r->channel_kind, r->channel_bits, r->channels, r->texel_bytes, r->layers,
                       r->level_count, l->width, l->height, l->depth};
  for (int i = 0; i < 10; i++) out[i] = values[i];
}
__global__ void texel_bytes(cudaTextureObject_t t, int level, int x, int y, int z, unsigned char *out) {
  const mw_tex_record *r = __mw_record(t);
  const mw_tex_level *l = &r->levels[level];
  unsigned long long row = l->base + z * l->slice_pitch + y * l->row_pitch;
  const unsigned char *texel = (const unsigned char *)row + x * r->texel_bytes;
  for (unsigned i = 0; i < r->texel_bytes; i++) out[i] = texel[i];
}
// cudaMallocPitch's example (CUDA 1.1 guide, 4.5.1.2)
__global__ void rows(float *base, size_t pitch, int width, int height, float *sums) {
  for (int r = 0; r < height; r++) {
    float *row = (float *)((char *)base + r * pitch);
    for (int c = 0; c < width; c++) sums[r] += row[c];
  }
}
]]

local function described(texture, level)
  local out = mw.zeros(10, "uint")
  m.describe(1, 1)(texture, level or 0, out)
  local v = out:totable()
  return {
    kind = v[1], channel_kind = v[2], bits = v[3], channels = v[4], texel = v[5], layers = v[6], levels = v[7],
    width = v[8], height = v[9], depth = v[10],
  }
end

local function texel(texture, level, x, y, z, size)
  local out = mw.zeros(16, "uchar")
  m.texel_bytes(1, 1)(texture, level, x, y, z, out)
  return out:bytes():sub(1, size)
end

-- Bytes that tell every texel from its neighbours.
local function noise(count)
  local bytes = {}
  for i = 1, count do bytes[i] = string.char(random(0, 255)) end
  return table.concat(bytes)
end

describe("a pitched array", function()
  it("has rows at aligned addresses, and counts its own elements only", function()
    local p = mw.pitched(3, 5, "float")
    local alignment = mw.properties().texture_alignment
    assert.same({ 3, 5 }, p.shape)
    assert.equal(3, #p)
    assert.equal("float", p.dtype)
    assert.equal(0, p.address % alignment)
    assert.equal(0, p.pitch % alignment)
    assert.is_true(p.pitch >= 20)
    assert.equal(3 * p.pitch, p.nbytes)
  end)

  it("has whole rows of elements whose size divides no alignment", function()
    local p = mw.pitched(2, 3, "float3")
    assert.equal(0, p.pitch % 12)
    assert.equal(0, p.pitch % mw.properties().texture_alignment)
    p:copy_from { { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } }, { { 1, 1, 1 }, { 2, 2, 2 }, { 3, 3, 3 } } }
    assert.equal(6, p[1][2].z)
    assert.equal(2, p[2][2].x)
  end)

  it("takes tables, arrays and bytes, and gives them back", function()
    local p = mw.pitched(2, 3, "int")
    assert.same({ { 1, 2, 3 }, { 4, 5, 6 } }, p:copy_from { { 1, 2, 3 }, { 4, 5, 6 } }:totable())
    p:copy_from(mw.array({ { 7, 8, 9 }, { 10, 11, 12 } }, "int"))
    assert.same({ { 7, 8, 9 }, { 10, 11, 12 } }, p:array():totable())
    p:copy_from(string.pack("<i4i4i4i4i4i4", 6, 5, 4, 3, 2, 1))
    assert.same({ { 6, 5, 4 }, { 3, 2, 1 } }, p:totable())
    assert.equal(string.pack("<i4i4i4i4i4i4", 6, 5, 4, 3, 2, 1), p:bytes())
    assert.same({ { 8, 8, 8 }, { 8, 8, 8 } }, p:fill(8):totable())
  end)

  it("has rows as views, counted from 1", function()
    local p = mw.pitched(2, 3):fill(0)
    p[2][3] = 5
    p[1]:copy_from { 1, 2, 3 }
    assert.same({ { 1, 2, 3 }, { 0, 0, 5 } }, p:totable())
    assert.is_nil(p[3])
    matches("row 4 is outside 1..2", function() return p[4] end)
  end)

  it("is a pointer to a kernel, to be walked with its pitch", function()
    local p = mw.pitched(3, 2):copy_from { { 1, 2 }, { 3, 4 }, { 5, 6 } }
    local sums = mw.zeros(3)
    m.rows(1, 1)(p, p.pitch, 2, 3, sums)
    assert.same({ 3, 7, 11 }, sums:totable())
  end)

  it("is freed as arrays are", function()
    local p = mw.pitched(3, 2)
    p:free()
    p:free()
    assert.is_true(p.freed)
    matches("was freed", function() p:totable() end)
    matches("freed", function() m.rows(1, 1)(p, 4, 1, 1, mw.zeros(1)) end)
  end)

  it("refuses invalid sizes", function()
    matches("mw%.pitched%(height, width%[, dtype%]%)", mw.pitched, 3)
    matches("whole number", mw.pitched, 3, 2.5)
    matches("no dtype", mw.pitched, 3, 2, "flaot")
  end)
end)

describe("a CUDA array", function()
  local kinds = {
    { spec = { kind = "1d", width = 5 }, record = 2, shape = { 5 } },
    { spec = { kind = "2d", width = 5, height = 3 }, record = 3, shape = { 3, 5 } },
    { spec = { kind = "3d", width = 5, height = 3, depth = 2 }, record = 4, shape = { 2, 3, 5 } },
    { spec = { kind = "1dlayered", width = 5, layers = 3 }, record = 5, shape = { 3, 5 } },
    { spec = { kind = "2dlayered", width = 5, height = 3, depth = 4 }, record = 6, shape = { 4, 3, 5 } },
    { spec = { kind = "cubemap", width = 4, depth = 6 }, record = 7, shape = { 6, 4, 4 } },
    { spec = { kind = "cubemaplayered", width = 4, height = 4, depth = 12 }, record = 8, shape = { 12, 4, 4 } },
  }

  for _, case in ipairs(kinds) do
    local spec = case.spec
    it("of kind " .. spec.kind .. " returns what was copied into it, texel by texel", function()
      local count = 1
      for _, size in ipairs(case.shape) do count = count * size end
      local bytes = noise(count * 4)
      spec.dtype = "ushort2"
      local array = mw.cuda_array(bytes, spec)
      assert.same(case.shape, array.shape)
      assert.equal(spec.kind, array.kind)
      assert.equal("ushort2", array.dtype)
      assert.equal(bytes, array:bytes())
      local texture = mw.texture(array)
      local facts = described(texture)
      assert.equal(case.record, facts.kind)
      assert.equal(16, facts.bits)
      assert.equal(2, facts.channels)
      assert.equal(1, facts.channel_kind)
      local slices = count / (array.width * array.height)
      assert.equal(spec.kind == "3d" and 2 or 1, facts.depth)
      for _ = 1, 10 do
        local x, y, z = random(0, array.width - 1), random(0, array.height - 1),
          random(0, slices - 1)
        local at = ((z * array.height + y) * array.width + x) * 4
        assert.equal(bytes:sub(at + 1, at + 4), texel(texture, 0, x, y, z, 4))
      end
    end)
  end

  it("takes kind, sizes and dtype from the data where nothing is said", function()
    assert.equal("1d", mw.cuda_array({ 1, 2, 3 }).kind)
    assert.equal("2d", mw.cuda_array(mw.zeros(2, 3, "uchar4")).kind)
    assert.equal("uchar4", mw.cuda_array(mw.zeros(2, 3, "uchar4")).dtype)
    assert.same({ 2, 3, 4 }, mw.cuda_array(mw.zeros(2, 3, 4)).shape)
    assert.equal("3d", mw.cuda_array(mw.zeros(2, 3, 4)).kind)
    assert.same({ 2, 3 }, mw.cuda_array(mw.pitched(2, 3)).shape)
    assert.same({ 2, 3, 4 }, mw.cuda_array(mw.zeros(2, 3, 4), { kind = "2dlayered" }).shape)
    assert.equal(2, mw.cuda_array(mw.zeros(2, 3), { kind = "1dlayered" }).layers)
  end)

  it("takes scalars as texels of several channels", function()
    local bytes = noise(24)
    local array = mw.cuda_array(mw.from_bytes(bytes, "uchar"):reshape(2, 3, 4), { dtype = "uchar4" })
    assert.same({ 2, 3 }, array.shape)
    assert.equal(bytes, array:bytes())
  end)

  it("says its channels as a channel descriptor does", function()
    local function channels(dtype) return mw.cuda_array { width = 1, dtype = dtype }.channels end
    assert.same({ x = 8, y = 8, z = 8, w = 8, kind = "unsigned" }, channels "uchar4")
    assert.same({ x = 16, y = 16, z = 0, w = 0, kind = "signed" }, channels "short2")
    assert.same({ x = 32, y = 0, z = 0, w = 0, kind = "float" }, channels "float")
    assert.same({ x = 16, y = 16, z = 16, w = 16, kind = "float" }, channels "half4")
  end)

  it("can be made of every format that textures have, and of no other", function()
    local bytes = { char = 1, uchar = 1, short = 2, ushort = 2, int = 4, uint = 4, half = 2, float = 4 }
    for name, size in pairs(bytes) do
      for _, count in ipairs { 1, 2, 4 } do
        local dtype = count == 1 and name or name .. count
        local data = noise(6 * size * count)
        local array = mw.cuda_array(data, { width = 3, height = 2, dtype = dtype })
        assert.equal(dtype, array.dtype)
        assert.equal(data, array:bytes())
        assert.equal(size * count, described(mw.texture(array)).texel)
      end
    end
    for _, dtype in ipairs { "double", "float3", "longlong", "bool", "uchar3" } do
      local text, code = message(mw.cuda_array, { width = 3, dtype = dtype })
      assert.matches("a texture cannot be made of ", text)
      assert.equal("cudaErrorInvalidChannelDescriptor", code)
    end
  end)

  it("has the levels of a mipmap, each copied by itself", function()
    local array = mw.cuda_array { width = 8, height = 4, levels = 4 }
    assert.equal(4, array.levels)
    local texture = mw.texture(array, { normalized = true })
    local sizes = { { 8, 4 }, { 4, 2 }, { 2, 1 }, { 1, 1 } }
    for level, size in ipairs(sizes) do
      local data = mw.full({ size[2], size[1] }, level)
      array:copy_from(data, { to = { level = level } })
    end
    for level, size in ipairs(sizes) do
      local facts = described(texture, level - 1)
      assert.same(size, { facts.width, facts.height })
      assert.same(mw.full({ size[2], size[1] }, level):totable(), array:totable(level))
      assert.equal(string.pack("<f", level), texel(texture, level - 1, size[1] - 1, size[2] - 1, 0, 4))
    end
  end)

  it("refuses sizes that its kind does not have, or not so", function()
    matches("there is no kind '4d'; there are 1d, 2d, 3d", mw.cuda_array, nil, { kind = "4d", width = 3 })
    matches("a 2%-D CUDA array needs a height", mw.cuda_array, nil, { kind = "2d", width = 3 })
    matches("needs a number of layers", mw.cuda_array, nil, { kind = "2dlayered", width = 3, height = 2 })
    matches("a '1d' array has no height", mw.cuda_array, nil, { kind = "1d", width = 3, height = 2 })
    matches("a '2d' array has no depth", mw.cuda_array, nil, { kind = "2d", width = 3, height = 2, depth = 2 })
    matches("squares, not 4 by 3", mw.cuda_array, nil, { kind = "cubemap", width = 4, height = 3 })
    matches("6 faces, not 5", mw.cuda_array, nil, { kind = "cubemap", width = 4, height = 4, depth = 5 })
    local seven = { kind = "cubemaplayered", width = 4, depth = 7 }
    matches("do not make whole layers of 6 faces", mw.cuda_array, nil, seven)
    matches("width of 131072 at most, and this one was given 131073", mw.cuda_array, nil, { width = 131073 })
    matches("5 levels are too many for a 2%-D CUDA array of 8 x 4 x 1: it can be halved to 4", mw.cuda_array, nil,
      { width = 8, height = 4, levels = 5 })
    matches("has no option 'hight'; did you mean 'height'", mw.cuda_array, nil, { width = 3, hight = 2 })
    matches("wants data, or sizes", mw.cuda_array)
    local text, code = message(mw.cuda_array, nil, { width = 32768, height = 32768, layers = 2048, dtype = "uchar" })
    assert.matches("8 GiB at most", text)
    assert.equal("cudaErrorMemoryAllocation", code)
  end)

  it("refuses data that does not fill it", function()
    matches("wants 24 bytes %(6 float%), got a string of 23", mw.cuda_array, ("x"):rep(23), { width = 3, height = 2 })
    matches("{2, 2} elements do not fill {3, 2}", function()
      mw.cuda_array { width = 2, height = 3 }:copy_from(mw.zeros(2, 2))
    end)
    matches("wants 6 elements of float, got an array of 12 half", function()
      mw.cuda_array { width = 2, height = 3 }:copy_from(mw.zeros(13, "half"):sub(1, 12))
    end)
  end)

  it("gives its memory back when it is freed, or collected", function()
    collectgarbage()
    collectgarbage()
    mw.synchronize()
    local before = mw.memory().bytes
    local array = mw.cuda_array { width = 1000, height = 100 }
    assert.is_true(mw.memory().bytes >= before + 400000)
    assert.is_true(array.nbytes >= 400000)
    array:free()
    array:free()
    assert.is_true(array.freed)
    assert.equal(before, mw.memory().bytes)
    matches("this memory was freed", function() array:bytes() end)
    matches("was freed", mw.texture, array)
    mw.cuda_array { width = 1000, height = 100 } -- luacheck: ignore
    collectgarbage()
    collectgarbage()
    assert.equal(before, mw.memory().bytes)
  end)
end)

describe("a copy of a region", function()
  -- Every form of memory, all of 7 x 5 ints.
  local forms = {
    array = function(data) return mw.array(data, "int") end,
    pitched = function(data) return mw.pitched(5, 7, "int"):copy_from(data) end,
    ["CUDA array"] = function(data) return mw.cuda_array(data, { dtype = "int" }) end,
  }

  local function table_of(first)
    local rows = {}
    for y = 1, 5 do
      rows[y] = {}
      for x = 1, 7 do rows[y][x] = first + 10 * y + x end
    end
    return rows
  end

  local function values(memory) return memory:totable() end

  for from_name, from in pairs(forms) do
    for to_name, to in pairs(forms) do
      it(("goes from %s to %s, and nowhere else"):format(from_name, to_name), function()
        for _ = 1, 5 do
          local source, target = from(table_of(1000)), to(table_of(0))
          local w, h = random(1, 7), random(1, 5)
          local fx, fy = random(1, 8 - w), random(1, 6 - h)
          local tx, ty = random(1, 8 - w), random(1, 6 - h)
          mw.copy_region(target, source, { from = { x = fx, y = fy }, to = { x = tx, y = ty }, width = w, height = h })
          local expected = table_of(0)
          for y = 0, h - 1 do
            for x = 0, w - 1 do expected[ty + y][tx + x] = 1000 + 10 * (fy + y) + fx + x end
          end
          assert.same(expected, values(target))
          assert.same(table_of(1000), values(source))
        end
      end)
    end
  end

  it("moves slices, layers and faces", function()
    local volume = mw.arange(24):reshape(2, 3, 4)
    local layered = mw.cuda_array(mw.zeros(4, 3, 4), { kind = "2dlayered" })
    mw.copy_region(layered, volume, { to = { z = 3 } })
    assert.same(volume[2]:totable(), layered:array()[4]:totable())
    assert.equal(0, layered:array()[2]:sum())
    local faces = mw.cuda_array(mw.zeros(6, 3, 3), { kind = "cubemap" })
    mw.copy_region(faces, layered, { from = { x = 2, z = 4 }, to = { z = 6 }, depth = 1 })
    assert.same({ { 13, 14, 15 }, { 17, 18, 19 }, { 21, 22, 23 } }, faces:array()[6]:totable())
  end)

  it("within one array may overlap itself", function()
    for _, make in pairs(forms) do
      local array = make(table_of(0))
      mw.copy_region(array, array, { from = { x = 1, y = 1 }, to = { x = 2, y = 2 }, width = 6, height = 4 })
      local expected = table_of(0)
      for y = 2, 5 do
        for x = 2, 7 do expected[y][x] = 10 * (y - 1) + x - 1 end
      end
      assert.same(expected, values(array))
    end
  end)

  it("runs after the work before it", function()
    local slow = mw.compile [[
      __global__ void slow(volatile int *p, int rounds) { for (int i = 0; i < rounds; i++) *p = i; *p = -1; }
    ]]
    local p = mw.zeros(1, "int")
    slow.slow(1, 1)(p, 3000000)
    assert.same({ -1 }, mw.cuda_array(p):totable())
  end)

  -- What s was given waits until Lua calls the function, which is when s is waited for.
  it("is queued in the current stream, from every kind to every other, and keeps its memory", function()
    for from_name, from in pairs(forms) do
      for to_name, to in pairs(forms) do
        local source, target, s = from(table_of(1000)), to(table_of(0)), mw.stream { nonblocking = true }
        local called = false
        s:call(function() called = true end)
        mw.with(s, function() mw.copy_region(target, source, { height = 3 }) end)
        assert.is_false(called, from_name .. " to " .. to_name)
        source:free()
        s:synchronize()
        local expected = table_of(1000)
        for y = 4, 5 do expected[y] = table_of(0)[y] end
        assert.same(expected, values(target))
      end
    end
  end)

  it("is captured, and reads the contents at the graph's launch", function()
    local first, last = mw.array(table_of(0), "int"), mw.zeros(5, 7, "int")
    local pitched, array = forms.pitched(table_of(7)), forms["CUDA array"](table_of(8))
    local graph = mw.capture(function()
      mw.copy_region(pitched, first)
      mw.copy_region(array, pitched, { width = 6 })
      mw.copy_region(last, array)
    end)
    assert.equal(3, graph.count)
    assert.equal("copy", graph:node(2).kind)
    assert.matches("copy of 120 bytes", graph:node(2).label)
    local exec = graph:instantiate()
    assert.equal(0, last:sum())
    for _, value in ipairs { 100, 200 } do
      first:copy_from(mw.array(table_of(value), "int"))
      exec:launch()
      local expected = table_of(value)
      for y = 1, 5 do expected[y][7] = 8 + 10 * y + 7 end
      assert.same(expected, last:totable())
    end
    pitched:free()
    matches("freed", exec.launch, exec)
    matches("cannot be captured", mw.capture, function()
      mw.copy_region(array, array, { from = { x = 1 }, to = { x = 2 }, width = 6 })
    end)
  end)

  it("takes as much as both sides have where no size is said", function()
    local target = mw.zeros(5, 7, "int")
    mw.copy_region(target, forms["CUDA array"](table_of(0)), { from = { x = 6, y = 4 }, to = { x = 7 } })
    assert.equal(46 + 56, target:sum())
    assert.equal(46, target[1][7])
  end)

  it("refuses regions that leave a side", function()
    local a, c = forms.array(table_of(0)), forms["CUDA array"](table_of(0))
    matches("a region with a width of 3: the target has 2 from there on, the source 7", mw.copy_region, a, c,
      { to = { x = 6 }, width = 3 })
    matches("begins at from%.y = 6 %(counted from 1%) of 5", mw.copy_region, a, c, { from = { y = 6 } })
    matches("begins at to%.x = 0", mw.copy_region, a, c, { to = { x = 0 } })
    matches("no level 1 %(counted from 0%)", mw.copy_region, c, a, { to = { level = 2 } })
    matches("elements of 8 and 4 bytes", mw.copy_region, c, mw.zeros(5, 7, "double"))
    matches("mw%.copy_region wants an array, a pitched array or a CUDA array as source", mw.copy_region, a, 3)
    matches("whole number", mw.copy_region, a, c, { width = 1.5 })
  end)
end)
