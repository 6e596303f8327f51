-- DLPack: a:dlpack() and mw.from_dlpack, between scripts, and with a host in C (support/c/dlpack.c).

local mw = require "moonwarp"
local failure = require "support.failure"

local is_ffi, ffi = pcall(require, "ffi")

describe("DLPack", function()
  it("is handed out and taken by a host in C", function()
    local home = assert(os.getenv "MOONWARP_HOME")
    if (os.getenv "MOONWARP_TARGET" or "") ~= "" or os.getenv "MOONWARP_CONFIG" == "sanitize" then
      return pending "a program for this machine, without sanitizers"
    end
    local program = os.tmpname()
    local built = io.popen(("cc -std=c11 -Wall -Werror -Isrc -o %s spec/support/c/dlpack.c -L%s/lib -lmoonwarp "
      .. "-Wl,-rpath,%s/lib 2>&1 && %s"):format(program, home, home, program))
    local output = built:read "*a"
    built:close()
    os.remove(program)
    assert.matches("^%d+ checks, 0 failed\n$", output)
  end)

  for _, versioned in ipairs { false, true } do
    it("goes from a script to a script" .. (versioned and ", versioned" or ""), function()
      local a = mw.array { { 1, 2, 3 }, { 4, 5, 6 } }
      local b = mw.from_dlpack(a:transpose():dlpack { versioned = versioned }, { versioned = versioned })
      assert.same({ 3, 2 }, b.shape)
      assert.same({ { 1, 4 }, { 2, 5 }, { 3, 6 } }, b:totable())
      a[1][1] = 100
      assert.equal(1, b[1][1]) -- a copy
      local strided = mw.from_dlpack(a[{ 2, { 3, 1, -2 } }]:dlpack())
      assert.same({ 6, 4 }, strided:totable())
    end)
  end

  it("keeps the memory until the tensor is deleted", function()
    local a = mw.arange(1000)
    local tensor = (a * 2):dlpack()
    a = nil -- luacheck: ignore 311
    collectgarbage()
    collectgarbage()
    assert.equal(1998, mw.from_dlpack(tensor)[1000])
  end)

  it("takes elements of every kind", function()
    for _, dtype in ipairs { "bool", "uchar", "short", "int", "longlong", "half", "double", "float2", "complex64" } do
      local a = mw.zeros(4, dtype)
      local b = mw.from_dlpack(a:dlpack())
      assert.equal(a.dtype, b.dtype)
      assert.equal(a:bytes(), b:bytes())
    end
  end)

  it("refuses what it cannot say, and says what to write", function()
    local wide = mw.ones(1):broadcast_to(5)
    assert.matches("a:dlpack { versioned = true }", tostring(failure(wide.dlpack, wide)), 1, true)
    assert.same({ 1, 1, 1, 1, 1 },
      mw.from_dlpack(wide:dlpack { versioned = true }, { versioned = true }):totable())
    assert.matches("wants a pointer to a tensor", tostring(failure(mw.from_dlpack, 5)))
    local m = mw.compile "struct pair { int a; float b; }; __global__ void f(pair *p) {}"
    local pairs_of = mw.zeros(2, m.f.params[1].dtype)
    assert.matches("DLPack has no elements such as", tostring(failure(pairs_of.dlpack, pairs_of)))
  end)

  it("is read through LuaJIT's FFI", function()
    if not is_ffi then return pending "this is not LuaJIT" end
    ffi.cdef [[
      typedef struct { void *data; int32_t device_type, device_id, ndim; uint8_t code, bits; uint16_t lanes;
        int64_t *shape, *strides; uint64_t byte_offset; } spec_DLTensor;
      typedef struct spec_DLManagedTensor { spec_DLTensor tensor; void *context;
        void (*deleter)(struct spec_DLManagedTensor *); } spec_DLManagedTensor;
    ]]
    if mw.device().name:find "cuda" then return pending "the memory is the GPU's" end
    local t = ffi.cast("spec_DLManagedTensor *", mw.array({ 7, 8, 9 }, "int"):dlpack())
    assert.equal(8, ffi.cast("int *", t.tensor.data)[1])
    assert.equal(3, tonumber(t.tensor.shape[0]))
    t.deleter(t)
  end)
end)
