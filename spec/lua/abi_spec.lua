-- One C interface: what moonwarp_abi.h declares is what the library exports, and what the Lua binding calls.

local home = os.getenv("MOONWARP_HOME")
local read = require("support.files").read

-- The functions that the header declares.
local function declared()
  local text = read("src/moonwarp_abi.h"):gsub("/%*.-%*/", "")
  local names = {}
  for statement in text:gmatch("[^;]+;") do
    local name = statement:match("(mw_[%w_]+)%s*%(")
    if name and not statement:match("^%s*typedef") then names[#names + 1] = name end
  end
  return names
end

-- The mw_ symbols of a shared object as `nm` lists them, a set.
local function symbols(path, options)
  local pipe, found = assert(io.popen("nm -D " .. options .. " '" .. path .. "'")), {}
  for line in pipe:lines() do
    local name = line:match("%s[TUDRBW]%s+([%w_]+)$")
    if name then found[name] = true end
  end
  pipe:close()
  return found
end

-- Not called by the Lua bindings, and why.
local arrays = "Lua has arrays, which are typed buffers; bare buffers are for C hosts"
local references = "an object holds one reference: copying a Lua value takes none"
local typed = "tables, strings and numbers go through mw_array_read and mw_array_write, typed"
local not_in_lua = {
  mw_array_use = "for what keeps an array in C, as messages do",
  mw_array_unuse = "for what keeps an array in C, as messages do",
  mw_array_read_doubles = typed,
  mw_array_write_doubles = typed,
  mw_buffer_new = arrays,
  mw_buffer_new_kind = arrays,
  mw_buffer_release = arrays,
  mw_buffer_free = arrays,
  mw_buffer_size = arrays,
  mw_buffer_device = arrays,
  mw_buffer_write = arrays,
  mw_buffer_read = arrays,
  mw_buffer_copy = arrays,
  mw_buffer_fill = arrays,
  mw_buffer_retain = references,
  mw_device_retain = references,
  mw_kernel_retain = references,
  mw_symbol_retain = references,
  mw_launch_retain = references,
  mw_event_retain = references,
  mw_event_device = "an object knows its device",
  mw_graph_is_body = "CUDA's names ask it: mw's graphs know their bodies",
  mw_stream_device = "a stream's object knows its device's",
  mw_stream_call = "Lua functions run on Lua's thread: s:call is a hold",
  mw_cuda_array_retain = references,
  mw_texture_retain = references,
  mw_mpi_retain = references,
  mw_cuda_array_device = "an object knows its device",
  mw_type_accepts = "mw_array_as_pointer and mw_array_as_elements ask it",
}
local in_one_only = {
  c = { mw_abi_text = "for LuaJIT's ffi.cdef" },
  ffi = {
    mw_array_new = "mw_array_new_kind makes device memory too",
    mw_buffer_host = "mw_array_host is what host views need, and a:bytes() reads",
    mw_launch_kernel = "a launch's state has its kernel's description at hand",
  },
}

-- What the files of the FFI binding call: all of them write C.mw_name.
local function called_by_ffi()
  local pipe, found = assert(io.popen "cat lua/moonwarp/ffi.lua $(find lua/moonwarp/ffi -name '*.lua')"), {}
  for name in pipe:read("*a"):gmatch "%f[%w]C%.(mw_[%l%d_]+)" do found[name] = true end
  pipe:close()
  return found
end

describe("the C interface", function()
  local names = declared()
  local exported = symbols(home .. "/lib/libmoonwarp.so", "--defined-only")

  it("is read whole by this spec", function()
    assert.is_true(#names > 80)
    local set = {}
    for _, name in ipairs(names) do
      assert.is_nil(set[name], name .. " is declared twice")
      set[name] = true
    end
    assert.is_true(set.mw_error_last and set.mw_launch_run and set.mw_image_release)
  end)

  it("is exported by the library, function by function", function()
    local missing = {}
    for _, name in ipairs(names) do
      if not exported[name] then missing[#missing + 1] = name end
    end
    assert.same({}, missing)
  end)

  it("is all that the library exports", function()
    local set, more = {}, {}
    for _, name in ipairs(names) do set[name] = true end
    for name in pairs(exported) do
      if not set[name] then more[#more + 1] = name end
    end
    assert.same({}, more)
  end)

  -- Both lists are exact: what is called must not be excused.
  local function check(called, excused)
    local missing = {}
    for _, name in ipairs(names) do
      local reason = not_in_lua[name] or excused[name]
      if not called[name] and not reason then missing[#missing + 1] = name end
      assert.is_falsy(called[name] and reason, name .. " is listed as not called from Lua, but it is")
    end
    assert.same({}, missing)
  end

  for _, version in ipairs { "5.4", "5.1" } do
    it("is reached from the C module of Lua " .. version .. ", or there is a reason why not", function()
      local module = home .. "/lib/lua/" .. version .. "/moonwarp/core.so"
      if not io.open(module) then return pending "not built" end
      check(symbols(module, "--undefined-only"), in_one_only.c)
    end)
  end

  it("is reached with LuaJIT's FFI, or there is a reason why not", function()
    check(called_by_ffi(), in_one_only.ffi)
  end)
end)
