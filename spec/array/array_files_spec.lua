-- Arrays in files: NumPy's .npy and .npz, CSV and WAV.
local mw = require "moonwarp"
local failure = require "support.failure"

local DTYPES, FORMS = "spec/data/arrays/files/dtypes/", "spec/data/arrays/files/forms/"

local function message(...) return failure(...).message end
local function flat(array) return array:copy():reshape(-1):totable() end

local made = {}
local function temporary(bytes)
  local path = os.tmpname()
  made[#made + 1] = path
  local file = assert(io.open(path, "wb"))
  file:write(bytes or "")
  file:close()
  return path
end

local function bytes_of(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "*a"
  file:close()
  return text
end

local function little(value, size)
  local text = ""
  for _ = 1, size do
    text = text .. string.char(value % 256)
    value = (value - value % 256) / 256
  end
  return text
end

teardown(function()
  for _, path in ipairs(made) do os.remove(path) end
end)

describe("NumPy's files", function()
  local dtypes = { b1 = "bool", i1 = "char", u1 = "uchar", i2 = "short", u2 = "ushort", i4 = "int", u4 = "uint",
    i8 = "longlong", u8 = "ulonglong", f2 = "half", f4 = "float", f8 = "double" }

  local function numbers(array)
    local list = flat(array)
    for i = 1, #list do list[i] = type(list[i]) == "boolean" and (list[i] and 1 or 0) or tonumber(list[i]) end
    return list
  end

  it("are read and written with every dtype", function()
    for code, dtype in pairs(dtypes) do
      local a = mw.load_npy(DTYPES .. code .. ".npy")
      assert.equal(dtype, a.dtype)
      assert.same({ 2, 3 }, a.shape)
      assert.same(dtype == "bool" and { 0, 1, 1, 1, 1, 1 } or { 0, 1, 2, 3, 4, 100 }, numbers(a))
      local path = temporary()
      mw.save_npy(path, a)
      assert.equal(bytes_of(DTYPES .. code .. ".npy"), bytes_of(path))
    end
  end)

  it("are read in big-endian and in Fortran's order", function()
    for _, code in ipairs { "i2", "f4", "f8", "i8" } do
      local a = mw.load_npy(FORMS .. "big_" .. code .. ".npy")
      assert.equal(dtypes[code], a.dtype)
      assert.same({ 0, 1, 2, 3, 4, 100 }, numbers(a))
    end
    local f = mw.load_npy(FORMS .. "fortran.npy")
    assert.same({ 2, 3, 4 }, f.shape)
    assert.same(mw.arange(24):totable(), flat(f))
  end)

  it("of one number and of none are read", function()
    assert.equal(2.5, mw.load_npy(FORMS .. "number.npy")[1])
    assert.same({ 0, 3 }, mw.load_npy(FORMS .. "empty.npy").shape)
    local path = temporary()
    mw.save_npy(path, mw.zeros(0, 3, "uchar"))
    assert.equal(bytes_of(FORMS .. "empty.npy"), bytes_of(path))
  end)

  it("hold strided arrays and vectors as arrays of numbers", function()
    local path = temporary()
    mw.save_npy(path, mw.arange(6):reshape(2, 3):transpose())
    assert.same({ 0, 3, 1, 4, 2, 5 }, flat(mw.load_npy(path)))
    mw.save_npy(path, mw.array({ { 1, 2 }, { 3, 4 } }, "float2"))
    assert.same({ 2, 2 }, mw.load_npy(path).shape)
  end)

  it("of several arrays are read, stored and deflated, and written", function()
    for _, name in ipairs { "stored", "deflated" } do
      local t = mw.load_npz(FORMS .. name .. ".npz")
      assert.same({ 0, 1, 2, 3, 4, 100 }, flat(t.x))
      assert.equal("float", t.x.dtype)
      assert.equal(name == "stored" and 3 or 5000, t.y.count)
    end
    local path = temporary()
    mw.save_npz(path, { a = mw.arange(5), b = mw.ones(2, 2, "bool") })
    local t = mw.load_npz(path)
    assert.same({ 0, 1, 2, 3, 4 }, t.a:totable())
    assert.same({ true, true, true, true }, flat(t.b))
    assert.matches("'x' is a number, not an array", (message(mw.save_npz, path, { x = 3 }):gsub("the number 3",
      "a number")))
  end)

  it("that arrays cannot hold are refused with the reason", function()
    assert.matches("elements are structured.*numpy.save%(path, a%['field'%]%)", message(mw.load_npy, FORMS ..
      "structured.npy"))
    assert.matches("Python objects", message(mw.load_npy, FORMS .. "objects.npy"))
    assert.matches("'<U2', strings", message(mw.load_npy, FORMS .. "strings.npy"))
    assert.equal("io", failure(mw.load_npy, FORMS .. "strings.npy").kind)
    assert.matches("NumPy has no bfloat16", message(mw.save_npy, temporary(), mw.zeros(2, "bfloat16")))
  end)

  it("that are cut off at any byte are errors", function()
    for _, name in ipairs { "fortran.npy", "deflated.npz", "stored.npz" } do
      local whole = bytes_of(FORMS .. name)
      local path = temporary()
      for length = 0, #whole - 1, name == "fortran.npy" and 1 or 7 do
        local file = assert(io.open(path, "wb"))
        file:write(whole:sub(1, length))
        file:close()
        local err = failure(name:find "npz" and mw.load_npz or mw.load_npy, path)
        assert.equal("io", err.kind, err.message)
      end
    end
  end)

  it("that are damaged are errors, or read", function()
    local whole = bytes_of(FORMS .. "deflated.npz")
    local path = temporary()
    for at = 1, #whole, 3 do
      local file = assert(io.open(path, "wb"))
      file:write(whole:sub(1, at - 1), string.char((whole:byte(at) + 128) % 256), whole:sub(at + 1))
      file:close()
      local ok, err = pcall(mw.load_npz, path)
      assert.is_true(ok or mw.type(err) == "error", tostring(err))
    end
  end)

  it("do not allocate sizes that a header only claims", function()
    local function npy(shape)
      local header = ("{'descr': '<f8', 'fortran_order': False, 'shape': (%s), }\n"):format(shape)
      return temporary("\147NUMPY\1\0" .. little(#header, 2) .. header .. ("\0"):rep(64))
    end
    assert.matches("is cut off: its shape {1000000000000} of double takes 8000000000000 bytes, and 64 are there",
      message(mw.load_npy, npy "1000000000000,"))
    assert.matches("larger than any memory", message(mw.load_npy, npy "99999999999999999999,"))
    assert.matches("is cut off", message(mw.load_npy, npy "4294967296, 4294967296"))
    assert.matches("9 dimensions, but arrays have at most 8", message(mw.load_npy, npy "1, 1, 1, 1, 1, 1, 1, 1, 1"))
    assert.matches("no shape", message(mw.load_npy, npy "-1"))
    assert.matches("does not begin with", message(mw.load_npy, temporary "no such thing"))
    assert.matches("not a zip file", message(mw.load_npz, temporary "no such thing"))
  end)

  it("that are pipes, folders or missing are errors", function()
    local pipe = os.tmpname()
    os.remove(pipe)
    assert(os.execute("mkfifo " .. pipe))
    made[#made + 1] = pipe
    for _, read in ipairs { mw.load_npy, mw.load_npz, mw.read_csv, mw.read_wav } do
      assert.equal("io", failure(read, pipe).kind)
      assert.equal("io", failure(read, "spec").kind)
      assert.matches("/no/such/file", message(read, "/no/such/file"))
    end
    assert.equal("io", failure(mw.save_npy, "/no/such/folder/x.npy", mw.zeros(1)).kind)
  end)
end)

describe("CSV files", function()
  local function read(text, options) return mw.read_csv(temporary(text), options) end

  it("are tables of numbers, with or without names", function()
    local a, names = read "1,2\n3.5,-4e2\n"
    assert.same({ 1, 2, 3.5, -400 }, flat(a))
    assert.is_nil(names)
    a, names = read("\239\187\191x, \"y, \"\"z\"\"\"\r\n1,2\r\n\r\n3,4", { header = true })
    assert.same({ "x", 'y, "z"' }, names)
    assert.same({ 2, 2 }, a.shape)
    assert.same({ 1, 2, 3, 4 }, flat(a))
    assert.same({ 0, 2 }, read("x,y\n", { header = true }).shape)
    assert.same({ 1, 2 }, flat(read("# one\n# two\n1;2\n", { skip = 2, delimiter = ";", dtype = "int" })))
  end)

  it("have NaN where a field is empty or NA, and an error where it is a word", function()
    local list = flat(read("1,,NA\nnan,inf,\"7\"\n", { dtype = "double" }))
    assert.is_true(list[2] ~= list[2] and list[3] ~= list[3] and list[4] ~= list[4])
    assert.same({ 1, math.huge, 7 }, { list[1], list[5], list[6] })
    assert.matches("line 3, field 2 %(b%): 'word' is not a number",
      message(read, "a,b\n1,2\n3,word\n", { header = true }))
    assert.matches("line 1, field 1: 'a' is not a number; if the first line has names, write {header = true}",
      message(read, "a,b\n"))
    assert.matches("line 2 has 3 fields, but the lines before it have 2", message(read, "1,2\n1,2,3\n"))
    assert.matches("line 2, field 1 is empty, which only floating point can hold", message(read, "1,1\n,2\n",
      { dtype = "int" }))
    assert.matches("line 1: a quote is not closed", message(read, '1,"2\n'))
    assert.matches("no line has fields", message(read, "\n\n"))
    assert.matches("the delimiter is one character", message(read, "1\n", { delimiter = ", " }))
  end)

  it("are written so that the same numbers are read", function()
    local path = temporary()
    for _, dtype in ipairs { "float", "double", "half" } do
      local a = mw.array({ { 0.1, 1 / 3, -1e30 % 7 }, { 12345.7, 2 ^ -14, -2.5 } }, dtype)
      mw.write_csv(path, a, { header = { "p", "q r", 's"t' } })
      local b, names = mw.read_csv(path, { header = true, dtype = dtype })
      assert.same({ "p", "q r", 's"t' }, names)
      assert.same(flat(a), flat(b))
    end
    mw.write_csv(path, mw.array({ 0.1, 0.5, 1e10 }))
    assert.equal("0.1\n0.5\n1e+10\n", bytes_of(path))
    mw.write_csv(path, mw.array({ { 1, 2 }, { 3, 4 } }, "longlong"):transpose(), { delimiter = ";" })
    assert.equal("1;3\n2;4\n", bytes_of(path))
    assert.matches("2 names for 1 columns", message(mw.write_csv, path, mw.zeros(3), { header = { "a", "b" } }))
    assert.matches("one or two dimensions, got 3", message(mw.write_csv, path, mw.zeros(1, 1, 1)))
  end)
end)

describe("WAV files", function()
  local function wav(kind, channels, bits, data)
    local frame = channels * bits / 8
    local format = little(kind, 2) .. little(channels, 2) .. little(8000, 4) .. little(8000 * frame, 4) ..
      little(frame, 2) .. little(bits, 2)
    return "RIFF" .. little(0, 4) .. "WAVELIST" .. little(3, 4) .. "abc\0fmt " .. little(16, 4) .. format .. "data" ..
      little(#data, 4) .. data
  end

  it("are read as floats from -1 to 1", function()
    local function samples(...) return flat((mw.read_wav(temporary(wav(...))))) end
    assert.same({ -1, 0, 127 / 128 }, samples(1, 1, 8, "\0\128\255"))
    assert.same({ 0.5, -1 }, samples(1, 1, 16, "\0\64\0\128"))
    assert.same({ 2 ^ -23, -2 ^ -23, -1 }, samples(1, 1, 24, "\1\0\0\255\255\255\0\0\128"))
    assert.same({ 0.5, -1 }, samples(1, 1, 32, "\0\0\0\64\0\0\0\128"))
    assert.same({ 1, -0.5 }, samples(3, 1, 32, "\0\0\128\63\0\0\0\191"))
    assert.same({ 1 }, samples(3, 1, 64, "\0\0\0\0\0\0\240\63"))
    local stereo, rate = mw.read_wav(temporary(wav(1, 2, 16, "\0\64\0\128\0\0\0\64")))
    assert.same({ 2, 2 }, stereo.shape)
    assert.equal(8000, rate)
  end)

  it("are written with 16 bits, or as the array has them", function()
    local path = temporary()
    mw.write_wav(path, mw.array { 0, 0.5, -1, 2, -3 }, 44100)
    local a, rate = mw.read_wav(path)
    assert.equal(44100, rate)
    assert.same({ 0, 0.5, -1, 32767 / 32768, -1 }, flat(a))
    mw.write_wav(path, mw.array { 0.1, 2 }, 8000, { format = "float" })
    assert.same(flat(mw.array { 0.1, 2 }), flat((mw.read_wav(path))))
    mw.write_wav(path, mw.array({ { 1, -2 }, { 3, 4 } }, "short"):transpose(), 8000)
    assert.same({ 1 / 32768, 3 / 32768, -2 / 32768, 4 / 32768 }, flat((mw.read_wav(path))))
    mw.write_wav(path, mw.zeros(3, "uchar"), 8000)
    assert.equal(44 + 4, #bytes_of(path))
    assert.matches("got bool", message(mw.write_wav, path, mw.zeros(3, "bool"), 8000))
    assert.matches("shape {samples} or {samples, channels}", message(mw.write_wav, path, mw.zeros(1, 1, 1), 8000))
  end)

  it("that are damaged are errors", function()
    local whole = wav(1, 1, 16, "\0\64\0\128")
    for length = 0, #whole - 1 do
      assert.equal("io", failure(mw.read_wav, temporary(whole:sub(1, length))).kind)
    end
    assert.matches("format 6 and 8 bits", message(mw.read_wav, temporary(wav(6, 1, 8, "ab"))))
    assert.matches("has no channels", message(mw.read_wav, temporary(wav(1, 0, 16, "ab"))))
    assert.matches("bytes of samples, and it has 4", message(mw.read_wav, temporary((whole:gsub("data....",
      "data\255\255\255\127")))))
  end)
end)
