-- Kernels that fail (faults/kernels.lua), and the expected reports.
--
-- faults.cases lists them (those with `prints` write to the terminal, and those with `alone` need a heap without other
-- arrays: some megabytes away from one array there may be another); faults.check(case) runs one, and raises an error if
-- the host was affected, the failure was not reported as expected, or something does not work afterwards.
-- fault_spec runs all of them in its own process, and again in others.

local mw = require "moonwarp"
local kernels = require "support.faults.kernels"
local witness = require "support.faults.witness"

local faults = { cases = {} }
local sanitized = os.getenv "MOONWARP_CONFIG" == "sanitize"

-- ---- what must be unchanged

local function check(condition, message, ...)
  if not condition then error(message:format(...), 0) end
end

local function expect(wanted, got, what)
  check(wanted == got, "%s is %s, not %s", what, tostring(got), tostring(wanted))
end

-- Arrays next to those that a kernel gets, which no kernel may change.
local function make_others()
  local others = {}
  for i = 1, 4 do others[i] = mw.arange(1000 * i, "int") end
  return others
end

local function check_others(others)
  for i, array in ipairs(others) do
    expect(1000 * i * (1000 * i - 1) // 2, array:sum(), "the sum of another array")
    expect(999, array[1000], "an element of another array")
  end
end

local function check_next_launch(m)
  local a, b, c = mw.ones(1024, "int"), mw.zeros(1024, "int"), mw.zeros(4, "int")
  m.twice(8, 128)(a, b)
  m.sum_of_block(4, 256)(b, c)
  expect("512 512 512 512", table.concat(c:totable(), " "), "the next launch's result")
end

-- ---- running one

local function check_error(case, err)
  local told = tostring(err)
  check(mw.type(err) == "error", "it raised no error object, but %s", told)
  expect("kernel", err.kind, "kind")
  expect(case.kernel, err.kernel, "kernel")
  local codes = type(case.code) == "table" and case.code or { case.code }
  local known = false
  for _, code in ipairs(codes) do known = known or code == err.code end
  check(known, "code is %s, not %s: %s", err.code, table.concat(codes, " or "), told)
  check(err.message:find(case.message), "the message does not say %q: %s", case.message, told)
  check(err.message:find("kernel " .. case.kernel, 1, true), "the message does not name the kernel: %s", told)
  check(err.block ~= nil, "the block is missing: %s", told)
  if case.block then expect(case.block, table.concat(err.block, " "), "block") end
  check(kernels.file == err.file, "file is %s: %s", tostring(err.file), told)
  local line = kernels.find_line("//@" .. (case.at or case.kernel) .. "$")
  local first = kernels.find_line("void " .. case.kernel .. "%(")
  if line and not case.near then
    expect(line, err.line, "line")
  elseif line then
    first = math.min(first, line - 1) -- of a function that stands before the kernel
    check(err.line >= first and err.line <= line, "line is %d, not %d to %d", err.line, first, line)
  end
  check(err.message:find(("%s:%d"):format(kernels.file, err.line), 1, true), "the message has no place: %s", told)
end

---Run one; errors say what is not as it should be.
function faults.check(case)
  local m = kernels.compile(case.options)
  local others = make_others()
  local before = mw.limit("time", case.limit or 0)
  local ok, err = pcall(function()
    case.run(m[case.kernel], m)
    mw.synchronize()
  end)
  mw.limit("time", before)
  check(witness.intact(), "the host's memory was changed")
  if not ok then
    check_error(case, err)
  elseif not case.may_pass then
    error(("case %q did not fail"):format(case.name), 0)
  end
  check_others(others)
  check_next_launch(m)
end

-- ---- the cases

local function add(name, kernel, case)
  case.name, case.kernel = name, kernel
  faults.cases[#faults.cases + 1] = case
end

local address, stack = "cudaErrorIllegalAddress", "cudaErrorHardwareStackError"
local timeout = "cudaErrorLaunchTimeout"

local function ints(n) return mw.zeros(n or 64, "int") end

-- Run with the array and the arguments after it.
local function with_array(grid, block, ...)
  local arguments = table.pack(...)
  return function(kernel) kernel(grid, block)(ints(), table.unpack(arguments, 1, arguments.n)) end
end

add("a write through a null pointer", "null_write", {
  run = function(k) k(4, 33)(nil) end, code = address, message = "wrote to",
})
add("a write through a null pointer by all threads", "null_write_once", {
  run = function(k) k(4, 33)(nil, 3, 1) end, code = address, message = "wrote to", near = true,
})
add("a read through a null pointer", "null_read", {
  run = function(k) k(4, 33)(nil, ints()) end, code = address, message = "read address 0x%x+, .*null pointer",
})
add("an atomic on a null pointer", "null_atomic", {
  run = function(k) k(4, 33)(nil) end, code = address, message = "address",
})
add("a write to a member through a null pointer", "null_member", {
  run = function(k) k(4, 33)(nil) end, code = address, message = "wrote to", near = true,
})
-- AArch64 ignores the highest byte of an address: one that differs there only is the array's.
local machine = io.popen "uname -m"
local skips_byte = os.getenv "MOONWARP_TARGET" == "aarch64" or machine:read "*a" == "aarch64\n"
machine:close()
for _, at in ipairs { 1 << 20, 1 << 30, 1 << 40, 1 << 44, 1 << 60, -(1 << 20), -(1 << 31), -(1 << 40), -(1 << 60) } do
  local alone = at == 1 << 20 or at == -(1 << 20)
  add(("a write %d elements from an array's start"):format(at), "write_at", {
    run = with_array(1, 32, at), code = address, message = "wrote to", alone = alone,
  })
  add(("a read %d elements from an array's start"):format(at), "read_at", {
    run = function(k) k(1, 32)(ints(), at, ints()) end, code = address, message = "read", alone = alone,
    -- AddressSanitizer's own memory may be anywhere.
    may_pass = sanitized and at > -(1 << 50) and at < 1 << 50 or skips_byte and (at == 1 << 60 or at == -(1 << 60)),
  })
end
-- With thousands of live arrays the heap no longer guards new ones, nor protects freed memory (src/cpu/memory/heap.c),
-- so garbage of other specs is collected first.
local function alone_in_heap(run)
  return function(...)
    collectgarbage()
    collectgarbage()
    return run(...)
  end
end

add("a write right behind an array", "write_at", {
  run = alone_in_heap(with_array(1, 32, 64 - 31)), code = address,
  message = "0 bytes past the end of an array of 256 bytes",
})
add("a read right behind an array", "read_at", {
  run = alone_in_heap(function(k) k(1, 32)(ints(), 64 - 31, ints()) end), code = address,
  message = "0 bytes past the end of an array of 256 bytes",
})
add("a write to an array that was freed", "write_at", {
  run = alone_in_heap(function(k)
    -- in this order, so that the array cannot get the place of the other
    local array, freed = ints(), ints(100000)
    local distance = freed.address - array.address
    freed:free()
    k(1, 32)(array, distance // 4)
  end),
  code = address, message = "that was freed",
})
add("a read of an array that was freed", "read_garbage", {
  run = alone_in_heap(function(k)
    local out, freed = ints(), ints(100000)
    local where = freed.address
    freed:free()
    k(1, 32)(where, out)
  end),
  code = address, message = "that was freed",
})
add("a write in one block of many", "in_block_two", {
  run = with_array({ 5, 3 }, 32, 1 << 40), code = address, message = "block %(2,1,0%)", block = "2 1 0",
})
add("a write after a barrier", "behind_a_barrier", {
  run = with_array(3, 64, 1 << 40), code = address, message = "wrote to",
})
for _, garbage in ipairs { "deadbeefdeadbeef", "00007fffffffff00", "0000000000000010", "ffffffffffffff00",
  "ffffffff80000000", "8000000000000000", "0123456789abcdec" } do
  local bytes = garbage:gsub("%x%x", function(byte) return string.char(tonumber(byte, 16)) end):reverse()
  local number = string.unpack("<i8", bytes)
  add("a read of address 0x" .. garbage, "read_garbage", {
    run = function(k) k(2, 32)(number, ints()) end, code = address, message = "read",
  })
  add("a write to address 0x" .. garbage, "host_store", {
    run = function(k) k(2, 32)(number, ints()) end, code = address, message = "wrote to",
  })
end
for _, where in ipairs { 8, 0x0123456789abcdef } do
  add(("printf of a text at address 0x%x"):format(where), "read_text", {
    run = function(k) k(1, 1)(where) end, code = address, message = "read address",
  })
end

for _, kernel in ipairs { "store", "byte", "volatile", "vector", "struct", "add", "float_add", "swap", "set", "copy",
  "move", "by_constant", "by_variable", "by_table", "by_shared", "by_distance", "by_steps", "by_columns" } do
  add("a write to the host's memory: " .. kernel, "host_" .. kernel, {
    run = function(k, m)
      local bytes = string.pack("<i8", witness.address)
      m:symbol "constant_pointer":set_bytes(bytes)
      m:symbol "device_pointer":set_bytes(bytes)
      m:symbol "pointers":set_bytes(bytes:rep(4))
      local array = kernel:find "steps" or kernel:find "columns"
      k(2, 33)(witness.address, array and mw.zeros(64, "char") or ints())
    end,
    code = address, message = "wrote to",
    near = kernel == "by_steps" or kernel == "by_columns",
  })
end
add("a write to the host's memory: by a pointer in an array", "host_by_struct", {
  run = function(k)
    k(2, 33)(mw.from_bytes(string.pack("<i8i8", 1, witness.address), "ulonglong"), ints())
  end,
  code = address, message = "wrote to",
})
for _, kernel in ipairs { "host_by_call", "host_by_pointer" } do
  add("a write to the host's memory: " .. kernel, kernel, {
    run = function(k) k(2, 33)(witness.address, ints()) end, code = address, message = "wrote to", at = "put",
  })
end
add("free() of the host's memory", "host_free", {
  run = function(k) k(1, 1)(witness.address, ints()) end, code = address, message = "malloc did not return",
})

-- AddressSanitizer's own memset and memmove end the process where they get 2^40 bytes or more.
local function is_moved(n) return not sanitized or n > 0 and n < 1 << 40 end

for _, kernel in ipairs { "long_set", "long_copy", "long_move_up", "long_move_down" } do
  for _, n in ipairs { 1 << 20, 1 << 41, 1 << 46, math.mininteger } do
    if is_moved(n) then add(("%s of 0x%x bytes"):format(kernel, n), kernel, {
      run = function(k) k(1, 1)(mw.zeros(100000, "char"), n) end, code = address, message = "address",
      alone = n == 1 << 20,
    }) end
  end
end

for _, kernel in ipairs { "loop_empty", "loop_counting", "loop_reading", "loop_writing", "loop_spinning",
  "loop_in_function", "loop_of_barriers", "loop_before_barrier", "loop_allocating" } do
  add("an endless loop: " .. kernel, kernel, {
    run = function(k) k(5, 33)(ints()) end, code = timeout, message = "longer than 0.2 s", limit = 0.2, near = true,
  })
end
add("an endless loop of one thread", "loop_of_one", {
  run = function(k) k(5, 33)(ints()) end, code = timeout, message = "longer than 0.2 s", limit = 0.2, block = "3 0 0",
  near = true,
})
add("an endless loop in many blocks", "loop_reading", {
  run = function(k) k({ 100, 100, 10 }, 256)(ints()) end, code = timeout, message = "longer than 0.2 s", limit = 0.2,
  near = true,
})

for _, kernel in ipairs { "recursion", "recursion_behind_barrier", "recursion_of_two", "recursion_of_wide",
  "recursion_of_wide_behind_barrier" } do
  add("runaway " .. kernel, kernel, {
    run = function(k)
      local p = ints()
      p[1] = -1
      k(3, 40)(p)
    end,
    code = stack, message = "ran out of stack",
  })
end
for _, kernel in ipairs { "local_overrun", "local_overrun_behind_barrier", "local_underrun" } do
  for _, n in ipairs { 8, 100, 4000, 1000000 } do
    add(("%s by %d elements"):format(kernel, n), kernel, {
      run = with_array(3, 33, n), may_pass = true, limit = 2,
      code = { address, stack, timeout, "cudaErrorInvalidPc", "cudaErrorLaunchFailure", "cudaErrorIllegalInstruction",
        "cudaErrorMisalignedAddress" },
      message = "",
    })
  end
end

add("__trap()", "trap", {
  run = with_array(5, 32), code = "cudaErrorLaunchFailure", message = "__trap%(%)", block = "1 0 0",
})
add("__trap() after a barrier", "trap_behind_barrier", {
  run = with_array(5, 32), code = "cudaErrorLaunchFailure", message = "__trap%(%)", block = "1 0 0",
})
add("an assertion", "assertion", {
  run = with_array(1, 32), code = "cudaErrorAssert", message = "only three", block = "0 0 0", prints = true,
})
for _, where in ipairs { 0, 0x10000, 0x0123456789abcdef, witness.address } do
  add(("a call of address 0x%x"):format(where), "call_null", {
    run = with_array(1, 32, where), code = { "cudaErrorInvalidPc", address, "cudaErrorIllegalInstruction" },
    message = "",
  })
end

return faults
