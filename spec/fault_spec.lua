-- What a kernel or a compiler does wrong ends in an error: the host goes on, its memory and other arrays are what they
-- were, and the next launch works.
-- CPU device only: a fault loses a GPU to the whole process

local mw = require "moonwarp"
local child = require "support.child"
local faults = require "support.faults"

local function failure(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok, "no error was raised")
  return err
end

local function check_works()
  local m = mw.compile "__global__ void plus(int *p, int n) { p[threadIdx.x] += n; }"
  local a = mw.arange(100, "int")
  m.plus(1, 100)(a, 3)
  assert.equal(4950 + 300, a:sum())
end

describe("a kernel that does wrong, in this process:", function()
  for _, case in ipairs(faults.cases) do
    if not case.prints and not case.alone then
      it(case.name, function() faults.check(case) end)
    end
  end

  it("any number of times", function()
    for _ = 1, 10 do
      for i = 1, #faults.cases, 5 do
        local case = faults.cases[i]
        if not (case.limit or case.prints or case.alone) then faults.check(case) end
      end
    end
  end)

  it("guards arrays again when there were too many for it, and no longer are", function()
    do
      local hold = {}
      for i = 1, 20000 do hold[i] = mw.zeros(8) end
      assert.equal(20000, #hold)
    end
    local count = 0
    for _, case in ipairs(faults.cases) do
      if case.name:find "freed" or case.name:find "right behind" then
        faults.check(case)
        count = count + 1
      end
    end
    assert.equal(4, count)
  end)
end)

describe("a kernel that does wrong, in another process:", function()
  -- Several cases a process, because a process costs more than a case.
  local most = 8
  for first = 1, #faults.cases, most do
    local last = math.min(first + most - 1, #faults.cases)
    it(("%s, and up to %s"):format(faults.cases[first].name, faults.cases[last].name), function()
      local result = child([[
        local first, last = ...
        local faults = require "support.faults"
        for i = tonumber(first), tonumber(last) do
          io.stderr:write("now: ", faults.cases[i].name, "\n")
          faults.check(faults.cases[i])
        end
        print "alive"
      ]], first, last)
      assert.is_true(result.ok, ("%s %d: %s"):format(result.how, result.code, result.output))
      assert.matches("alive\n$", result.output)
    end)
  end

  it("is no reason for the process to fail when nobody asks", function()
    local result = child [[
      local mw = require "moonwarp"
      local m = mw.compile "__global__ void wild(int *p) { p[threadIdx.x] = 1; }"
      m.wild(100, 32)(nil)
      print "alive"
    ]]
    assert.is_true(result.ok, result.output)
    assert.equal("alive\n", result.output)
  end)
end)

describe("failures of several launches", function()
  local m = mw.compile [[
    __global__ void fail(int *p, long long at) { p[at + threadIdx.x] = 1; }
    __global__ void other(int *p, long long at) { p[at + threadIdx.x] = 2; }
  ]]

  it("are told once, the first of them", function()
    local a = mw.zeros(100, "int")
    m.other(1, 100)(a, 0)
    m.fail(1, 32)(a, 1 << 40)
    m.other(1, 32)(a, 1 << 40)
    m.other(1, 50)(a, 50)
    assert.equal("fail", failure(mw.synchronize).kernel)
    mw.synchronize()
    assert.equal(200, a:sum())
  end)

  it("do not stop the launches behind them", function()
    local a = mw.zeros(100, "int")
    for i = 0, 99 do
      m.fail(1, 1)(a, 1 << 40)
      m.other(1, 1)(a, i)
    end
    failure(mw.synchronize)
    assert.equal(200, a:sum())
  end)
end)

-- ---- arithmetic that has no result in C

-- Two's complement numbers of `bits` bits, and the other way round.
local function wrap(value, bits, signed)
  if bits == 64 then return value end
  value = value & ((1 << bits) - 1)
  if signed and value >> (bits - 1) == 1 then value = value - (1 << bits) end
  return value
end

local integer_types = {
  { "char", 8, true }, { "uchar", 8, false }, { "short", 16, true }, { "ushort", 16, false },
  { "int", 32, true }, { "uint", 32, false }, { "longlong", 64, true }, { "ulonglong", 64, false },
}
local pack_formats = { char = "i1", uchar = "I1", short = "i2", ushort = "I2", int = "i4", uint = "I4",
  longlong = "i8", ulonglong = "i8" }

-- An array of any integer type from Lua integers, 64-bit ones as the same bits; and back.
local function array_of(list, dtype)
  local parts = {}
  for i, value in ipairs(list) do parts[i] = string.pack("<" .. pack_formats[dtype], value) end
  return mw.from_bytes(table.concat(parts), dtype)
end

local function list_of(array, dtype)
  local format, bytes, list, at = "<" .. pack_formats[dtype], array:bytes(), {}, 1
  while at <= #bytes do list[#list + 1], at = string.unpack(format, bytes, at) end
  return list
end

-- Every pair of `a` and `b` put through kernel<type>(n, a, b, quotient, remainder).
local function check_pairs(kernel, dtype, bits, signed, as, bs, expected)
  local left, right = {}, {}
  for _, a in ipairs(as) do
    for _, b in ipairs(bs) do left[#left + 1], right[#right + 1] = wrap(a, bits, signed), wrap(b, bits, signed) end
  end
  local n = #left
  local q, r = mw.zeros(n, dtype), mw.zeros(n, dtype)
  kernel(mw.cdiv(n, 64), 64)(n, array_of(left, dtype), array_of(right, dtype), q, r)
  local quotients, remainders = list_of(q, dtype), list_of(r, dtype)
  for i = 1, n do
    local wanted_q, wanted_r = expected(left[i], right[i])
    local pair = ("%s %d and %d"):format(dtype, left[i], right[i])
    assert.equal(wrap(wanted_q, bits, signed), quotients[i], pair)
    if wanted_r then assert.equal(wrap(wanted_r, bits, signed), remainders[i], pair) end
  end
end

local width_one = { "--width=1" }

-- Their models calculate in the 64-bit integers of Lua 5.4.
for _, options in ipairs(rawget(_G, "jit") and {} or { false, width_one }) do
  local options_text = options and " with " .. options[1] or ""
  options = options or nil

  describe("integer division" .. options_text, function()
    local m = mw.compile { source = [[
      typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned int uint;
      typedef long long longlong; typedef unsigned long long ulonglong;
      template <typename T> __global__ void divide(int n, const T *a, const T *b, T *q, T *r) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) { q[i] = a[i] / b[i]; r[i] = a[i] % b[i]; }
      }
      // One divisor for all, which the compiler may divide by in another way; the remainder alone.
      template <typename T> __global__ void divide_all(int n, const T *a, const T *b, T *q, T *r) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        T d = *b;
        if (i < n) r[i] = a[i] % d;
        if (i < n) q[i] = a[i] / d;
      }
      __global__ void guarded(int n, const int *a, const int *b, int *q) {
        int i = threadIdx.x;
        if (i < n) {
          if (b[i] != 0) q[i] = a[i] / b[i];
          else q[i] = 77;
          q[i] += b[i] ? a[i] % b[i] : 0;
        }
      }
      __global__ void indexed(int n, const int *a, int d, int *q) {
        int i = threadIdx.x;
        if (d) q[i] = a[i / d];
        else q[i] = -5;
      }
    ]], options = options }

    local numbers = { 0, 1, -1, 2, 7, -7, 100, -100, 127, -128, 255, 32767, -32768, 65535, 2147483647,
      -2147483648, 4294967295, 4294967296, -4294967296, math.maxinteger, math.mininteger, math.mininteger + 1 }
    local divisors = { 0, 1, -1, 3, -3, 64, 255, 1000, 65537, math.mininteger, math.maxinteger }

    -- Division by zero gives ones, as many as the type has bits: but 64-bit division is done in software, and that
    -- gives 32 of them where the dividend fits into 32 bits. The smallest number divided by -1 is itself.
    local function expected(bits, signed)
      return function(a, b)
        if b == 0 then
          local ones = bits == 64 and a >> 32 == 0 and 0xffffffff or -1
          return ones, ones
        elseif not signed and bits == 64 then
          if b < 0 then return math.ult(a, b) and 0 or 1, math.ult(a, b) and a or a - b end
          local q = ((a >> 1) // b) << 1
          if not math.ult(a - q * b, b) then q = q + 1 end
          return q, a - q * b
        elseif b == -1 then
          return -a, 0
        end
        local q = a // b
        if q < 0 and q * b ~= a then q = q + 1 end
        return q, a - q * b
      end
    end

    for _, t in ipairs(integer_types) do
      local name, bits, signed = t[1], t[2], t[3]
      it("has CUDA's results for " .. name, function()
        check_pairs(m["divide<" .. name .. ">"], name, bits, signed, numbers, divisors, expected(bits, signed))
      end)

      it("has them with one divisor for all, " .. name, function()
        for _, divisor in ipairs { 0, -1, 7 } do
          check_pairs(m["divide_all<" .. name .. ">"], name, bits, signed, numbers, { divisor },
            expected(bits, signed))
        end
      end)
    end

    it("happens only where the program comes to it", function()
      local a, b, q = mw.arange(200, "int"), mw.zeros(200, "int"), mw.zeros(200, "int")
      for i = 1, 200, 3 do b[i] = i % 7 end
      m.guarded(1, 256)(200, a, b, q)
      for i = 1, 200 do
        local d = b[i]
        assert.equal(d == 0 and 77 or (i - 1) // d + (i - 1) % d, q[i])
      end
      m.indexed(1, 100)(100, a, 0, q)
      for i = 1, 100 do assert.equal(-5, q[i]) end
      m.indexed(1, 100)(100, a, 3, q)
      assert.equal(33, q[100])
    end)
  end)

  describe("a shift by the width or more" .. options_text, function()
    local m = mw.compile { source = [[
      typedef unsigned int uint; typedef long long longlong; typedef unsigned long long ulonglong;
      template <typename T> __global__ void shift(int n, const T *a, const T *b, T *left, T *right) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) { int by = (int)b[i]; left[i] = a[i] << by; right[i] = a[i] >> by; }
      }
      template <typename T> __global__ void shift_all(int n, const T *a, const T *b, T *left, T *right) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        int by = (int)*b;
        if (i < n) { left[i] = a[i] << by; right[i] = a[i] >> by; }
      }
    ]], options = options }
    local numbers = { 0, 1, -1, 5, -6, 0x7fffffff, -0x80000000, 0x123456789abcdef, math.maxinteger, math.mininteger }
    local amounts = { 0, 1, 7, 31, 32, 33, 63, 64, 65, 1000, 0x7fffffff, -1, -32 }

    for _, t in ipairs(integer_types) do
      local name, bits, signed = t[1], t[2], t[3]
      if bits >= 32 then
        it("gives zeros, or the sign, for " .. name, function()
          local function expected(a, b)
            b = wrap(b, 32, false)
            local left = b >= bits and 0 or a << b
            local right
            if b >= bits then
              right = signed and a < 0 and -1 or 0
            elseif signed then
              right = a // (1 << b)
              if b == 63 then right = a < 0 and -1 or 0 end
            else
              right = a >> b
            end
            return left, right
          end
          check_pairs(m["shift<" .. name .. ">"], name, bits, signed, numbers, amounts, expected)
          for _, amount in ipairs(amounts) do
            check_pairs(m["shift_all<" .. name .. ">"], name, bits, signed, numbers, { amount }, expected)
          end
        end)
      end
    end
  end)

  describe("a conversion from floating point" .. options_text, function()
    local m = mw.compile { source = [[
      typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned int uint;
      typedef long long longlong; typedef unsigned long long ulonglong;
      template <typename F, typename T> __global__ void convert(int n, const F *a, T *out) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) out[i] = (T)a[i];
      }
    ]], options = options }
    local nan, inf = 0 / 0, math.huge
    local numbers = { nan, inf, -inf, 0.0, -0.0, 0.5, -0.5, 0.99, -0.99, 1.5, -1.5, 127.9, 128, -128.5, -129, 255.9,
      256, 300.7, -300.7, 32767.5, 32768, -32769, 65535.5, 65536, 70000, -70000, 2147483520, 2147483648, -2147483648,
      -2147483904, 4294967040, 4294967296, 1e10, -1e10, 9.2e18, 2.0 ^ 63, -2.0 ^ 63, -1e19, 1.8e19, 2.0 ^ 64, 1e30,
      -1e30 }

    -- The processor converts to 32 and 64 bits and keeps to their range; narrower types are the low bits of 32.
    local function to_int(value, bits, signed, from)
      if value ~= value then
        if bits == 64 then return math.mininteger end
        return from == "double" and -0x80000000 or 0
      end
      local whole = value < 0 and math.ceil(value) or math.floor(value)
      local least = signed and -2.0 ^ (bits - 1) or 0.0
      local above = signed and 2.0 ^ (bits - 1) or 2.0 ^ bits
      if whole <= least then return signed and math.mininteger >> (64 - bits) | (-1 << (bits - 1)) or 0 end
      if whole >= above then return signed and (1 << (bits - 1)) - 1 or bits == 64 and -1 or (1 << bits) - 1 end
      if whole >= 2.0 ^ 63 then return math.tointeger(whole - 2.0 ^ 63) + math.mininteger end
      return math.tointeger(whole)
    end

    for _, from in ipairs { "float", "double" } do
      for _, t in ipairs(integer_types) do
        local name, bits, signed = t[1], t[2], t[3]
        it(("from %s to %s has CUDA's results"):format(from, name), function()
          local a, out = mw.array(numbers, from), mw.zeros(#numbers, name)
          m[("convert<%s,%s>"):format(from, name)](1, 64)(#numbers, a, out)
          local results = list_of(out, name)
          for i = 1, #numbers do
            local value = a[i] -- as a float has it
            local wanted = wrap(to_int(value, math.max(bits, 32), signed, from), bits, signed)
            assert.equal(wanted, results[i], ("%s %.17g to %s"):format(from, value, name))
          end
        end)
      end
    end
  end)
end

-- ---- what is refused before anything runs

describe("a launch that asks for too much", function()
  local m = mw.compile [[
    __global__ void f(int *p) { p[0] = 1; }
    __global__ void with_static(int *p) { __shared__ int cell[4000]; cell[threadIdx.x] = p[0]; p[1] = cell[0]; }
    __global__ void too_static(int *p) {
      __shared__ int cell[100000];
      int at = p[2];
      cell[threadIdx.x] = p[0];
      p[1] = cell[at];
    }
    __global__ void large_local(int *p, int n) {
      int local[100000];
      for (int i = 0; i < 100000; i++) local[i] = i * n;
      __syncthreads();
      p[0] = local[n];
    }
    __global__ void huge_local(int *p, int n) {
      volatile int local[300000000];
      for (int i = 0; i < 300000000; i++) local[i] = i * n;
      p[0] = local[n];
    }
  ]]

  local function refused(code, message, kernel, grid, block, shared)
    local p = mw.zeros(10, "int")
    local err = failure(function() m[kernel](grid, block, shared)(p) end)
    assert.equal(code, err.code)
    assert.equal(kernel, err.kernel)
    assert.matches(message, err.message)
    mw.synchronize()
    assert.equal(0, p:sum())
    check_works()
  end

  it("of threads is refused", function()
    refused("cudaErrorInvalidConfiguration", "1025", "f", 1, 1025)
    refused("cudaErrorInvalidConfiguration", "1056 threads", "f", 1, { 33, 32 })
    refused("cudaErrorInvalidConfiguration", "z may be 64", "f", 1, { 1, 1, 65 })
    refused("cudaErrorInvalidConfiguration", "1024", "f", 1, 4294967295)
  end)

  it("of blocks is refused", function()
    refused("cudaErrorInvalidConfiguration", "y may be 65535", "f", { 1, 65536 }, 1)
    refused("cudaErrorInvalidConfiguration", "z may be 65535", "f", { 1, 1, 65536 }, 1)
    refused("cudaErrorInvalidConfiguration", "2147483648", "f", 2147483648, 1)
  end)

  it("of shared memory is refused", function()
    local most = mw.properties().shared_per_block_optin
    refused("cudaErrorInvalidConfiguration", "shared memory", "f", 1, 1, most + 1)
    refused("cudaErrorInvalidConfiguration", "16000 bytes that with_static declares", "with_static", 1, 1, most - 15999)
    refused("cudaErrorInvalidConfiguration", "too_static declares 400000 bytes of shared memory", "too_static", 1, 1)
    m.with_static(1, 1, most - 16000)(mw.zeros(10, "int"))
    mw.synchronize()
  end)

  it("of local memory is refused, and told what to raise", function()
    local before = mw.limit "stack"
    local err = failure(function() m.large_local(1, 32)(mw.zeros(1, "int"), 5) end)
    assert.equal("cudaErrorLaunchOutOfResources", err.code)
    local wanted = err.message:match 'mw.limit%("stack", (%d+)%)'
    assert.is_string(wanted, err.message)
    mw.limit("stack", tonumber(wanted))
    local p = mw.zeros(1, "int")
    m.large_local(2, 40)(p, 5)
    assert.equal(25, p[1])
    mw.limit("stack", before)
    assert.equal("cudaErrorLaunchOutOfResources",
      failure(function() m.huge_local(1, 32)(mw.zeros(1, "int"), 5) end).code)
    check_works()
  end)
end)

describe("an address of the host's, given as a pointer,", function()
  local m = mw.compile [[
    struct holder { int n; int *p; struct { float f; const int *q[3]; } inner; };
    __global__ void plain(int *p, int v) { if (p) p[threadIdx.x] = v; }
    __global__ void in_struct(holder h, int v) { if (h.p) h.p[threadIdx.x] = v; }
  ]]
  local value = 5
  local address = debug.upvalueid(function() return value end, 1) -- light userdata, of memory that Lua needs

  local function refused(what, launch)
    local err = failure(launch)
    assert.equal("cudaErrorInvalidDevicePointer", err.code)
    assert.matches(what, err.message)
    mw.synchronize()
    assert.equal(5, value)
    check_works()
  end

  it("is refused", function()
    refused("parameter 1 'p' of plain is the address 0x%x+, which is not the device's",
      function() m.plain(1, 32)(address, 7) end)
    refused("parameter 1 'p' of plain", function() m.plain(1, 32):bind(address, 7)() end)
  end)

  it("is refused within a struct, too", function()
    local none = { f = 1, q = { mw.null, mw.null, mw.null } }
    refused("parameter 1 'h' of in_struct holds the address 0x%x+, which",
      function() m.in_struct(1, 32)({ n = 1, p = address, inner = none }, 7) end)
    none.q[3] = address
    refused("parameter 1 'h' of in_struct holds",
      function() m.in_struct(1, 32)({ n = 1, p = mw.null, inner = none }, 7) end)
    none.q[3] = mw.zeros(1, "int")
    local a = mw.zeros(32, "int")
    m.in_struct(1, 32)({ n = 1, p = a, inner = none }, 7)
    assert.equal(7 * 32, a:sum())
  end)
end)

-- ---- compilers

-- A folder with bin/mwcc being a shell script, and the rest of the build tree's home.
local function fake_home(script)
  local home = os.tmpname()
  os.remove(home)
  local real = os.getenv "MOONWARP_HOME"
  assert(os.execute(("mkdir -p '%s/bin' && ln -s '%s/lib' '%s/share' '%s/'"):format(home, real, real, home)))
  local file = assert(io.open(home .. "/bin/mwcc", "w"))
  file:write("#!/bin/sh\n", script, "\n")
  file:close()
  assert(os.execute(("chmod +x '%s/bin/mwcc'"):format(home)))
  return home
end

-- Compile with that compiler in a child process, which prints the error.
local function compile_with(script, limits)
  local home = fake_home(script)
  local result = child {
    ([[
      local mw = require "moonwarp"
      %s
      local a = mw.arange(100, "int")
      for _ = 1, 2 do
        local m, err = mw.try_compile "__global__ void f(int *p) { p[0] = 1; }"
        assert(m == nil)
        print(err.kind, err.code)
        print(err.message)
      end
      assert(a:sum() == 4950)
      print "alive"
    ]]):format(limits or ""),
    environment = { MOONWARP_HOME = home, XDG_CACHE_HOME = home .. "/cache" },
  }
  os.execute(("rm -rf '%s'"):format(home))
  assert.is_true(result.ok, result.output)
  assert.matches("alive\n$", result.output)
  return result.output
end

describe("a compiler that", function()
  it("crashes is told from a source that is wrong", function()
    local output = compile_with "kill -SEGV $$"
    assert.matches("^compile\tcudaErrorUnknown\n", output)
    assert.matches("crashed on this source %(signal 11", output)
    assert.matches("crashed", compile_with "kill -ABRT $$")
  end)

  it("is killed is told so", function()
    assert.matches("killed", compile_with "kill -KILL $$")
  end)

  it("fails without a word is told so", function()
    assert.matches("exit status 3", compile_with "exit 3")
  end)

  it("says something of its own is quoted", function()
    assert.matches("the moon is full", compile_with "echo 'mwcc: the moon is full' >&2; exit 2")
  end)

  it("hangs is stopped after its time", function()
    local limit = 'mw.limit("compile_time", 0.3)'
    for _, script in ipairs { "sleep 1000", "trap '' TERM INT HUP; while :; do :; done", "sleep 1000 & wait",
      "while :; do echo x; done", "while :; do echo x >&2; done", "exec cat" } do
      local output = compile_with(script, limit)
      if output:find "LaunchTimeout" or script ~= "exec cat" then
        assert.matches("cudaErrorLaunchTimeout\n[^\n]*stopped after the 0.3 s", output, nil, nil, script)
      end
    end
  end)

  it("leaves a process behind does not hold up the script", function()
    local output = compile_with("(sleep 1000 &) ; echo 'mwcc: gone' >&2; exit 2", 'mw.limit("compile_time", 5)')
    assert.is_truthy(output:find("gone", 1, true) or output:find("stopped after", 1, true), output)
  end)

  it("writes nothing, or rubbish, is told so", function()
    assert.matches("^%a+\tcudaError%a+\n", compile_with "exit 0")
    assert.matches("^%a+\tcudaError%a+\n", compile_with 'for a; do :; done; while [ "$1" != -o ] && [ $# -gt 1 ]; '
      .. 'do shift; done; echo rubbish > "$2"; exit 0')
  end)

  it("is not there is told so", function()
    local home = fake_home "exit 0"
    os.remove(home .. "/bin/mwcc")
    local result = child {
      [[
        local mw = require "moonwarp"
        print(select(2, mw.try_compile "__global__ void f(int *p) { p[0] = 1; }"))
        print(mw.arange(10):sum())
      ]],
      environment = { MOONWARP_HOME = home, XDG_CACHE_HOME = home .. "/cache", PATH = "/usr/bin:/bin" },
    }
    os.execute(("rm -rf '%s'"):format(home))
    assert.is_true(result.ok, result.output)
    assert.matches("mwcc", result.output)
    assert.matches("45", result.output)
  end)
end)

describe("a source that the compiler cannot finish", function()
  -- Compiled under limits; its error.
  local function stopped(source, limits)
    local before = {}
    for name, value in pairs(limits) do before[name] = mw.limit(name, value) end
    local m, err = mw.try_compile(source)
    for name, value in pairs(before) do mw.limit(name, value) end
    assert.is_nil(m)
    assert.equal("compile", err.kind)
    check_works()
    return err
  end

  it("is stopped after its time: a constant that takes for ever", function()
    local err = stopped({
      source = [[
        constexpr int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
        template <int N> struct count { static constexpr int v = fibonacci(23) + N; };
        template <int N> constexpr int total() { return count<N>::v + total<N - 1>(); }
        template <> constexpr int total<0>() { return 0; }
        __global__ void f(int *p) { p[0] = total<800>(); }
      ]],
    }, { compile_time = 0.5 })
    assert.equal("cudaErrorLaunchTimeout", err.code)
    assert.matches("0.5 s", err.message)
  end)

  it("leaves no compiler running", function()
    local mark = ("SPEC_MARK=%d_%d"):format(os.time(), math.random(1 << 30))
    local result = child {
      [[
        local mw = require "moonwarp"
        mw.limit("compile_time", 0.3)
        local m, err = mw.try_compile [=[
          template <int N> constexpr long f() {
            long s = 0;
            for (int i = 0; i < 100000; i++) s ^= i * N;
            return s + f<N - 1>();
          }
          template <> constexpr long f<0>() { return 0; }
          template <int N> struct value { static constexpr long v = f<N>(); };
          __global__ void k(long *p) { p[0] = value<900>::v; }
        ]=]
        print(m, err.code)
      ]],
      environment = { SPEC_MARK = mark:match "=(.*)" },
    }
    assert.equal("nil\tcudaErrorLaunchTimeout\n", result.output)
    -- What is killed takes a moment to go.
    local left
    for _ = 1, 1000 do
      local pipe = assert(io.popen("grep -ls " .. mark .. " /proc/[0-9]*/environ"))
      left = pipe:read "*a"
      pipe:close()
      if left == "" then break end
    end
    assert.equal("", left)
  end)

  it("is stopped when it takes too much memory", function()
    if os.getenv "MOONWARP_CONFIG" == "sanitize" then return pending "mwcc's shadow memory is larger than any limit" end
    local err = stopped([[
      template <typename T, T... N> struct list {};
      typedef __make_integer_seq<list, int, 100000000> many;
      __global__ void f(int *p) { p[0] = sizeof(many); }
    ]], { compile_memory = 600 * 2 ^ 20 })
    assert.equal("cudaErrorMemoryAllocation", err.code)
    assert.matches("600 MiB", err.message)
  end)

  it("is an error at its line where the language sets a bound", function()
    local _, err = mw.try_compile [[
      template <int N> struct deep { static constexpr int v = deep<N + 1>::v + 1; };
      __global__ void f(int *p) {
        p[0] = deep<0>::v;
      }
    ]]
    assert.equal("cudaErrorInvalidSource", err.code)
    assert.matches("instantiation", err.message)
    _, err = mw.try_compile [[
      constexpr int endless() { int n = 0; while (true) n ^= 1; return n; }
      __global__ void f(int *p) { constexpr int n = endless(); p[0] = n; }
    ]]
    assert.equal("cudaErrorInvalidSource", err.code)
    check_works()
  end)

  it("may be nested deeply", function()
    local depth = 200000
    local _, err = mw.try_compile(("__global__ void f(int *p) { p[0] = %s1%s; }"):format(("("):rep(depth),
      (")"):rep(depth)))
    assert.equal("compile", err.kind)
    check_works()
  end)
end)

describe("an enormous source", function()
  it("of comments compiles", function()
    local line = "// nothing to see here, and a good deal of it\n"
    local m = mw.compile(line:rep(200000) .. "__global__ void last(int *p) { p[0] = 42; }")
    local p = mw.zeros(1, "int")
    m.last(1, 1)(p)
    assert.equal(42, p[1])
  end)

  it("of statements compiles or is told to be too large, and the error stands at its line", function()
    local lines = { "__global__ void sum(unsigned *p) {", "unsigned a = p[0];" }
    for i = 1, 800 do lines[#lines + 1] = ("a = a * %du + (a >> 3);"):format(2 * i + 1) end
    lines[#lines + 1] = "p[1] = a; }"
    local m = mw.compile(table.concat(lines, "\n"))
    local p = mw.array({ 7, 0 }, "uint")
    m.sum(1, 1)(p)
    local a = 7
    for i = 1, 800 do a = (a * (2 * i + 1) + (a >> 3)) & 0xffffffff end
    assert.equal(a, p[2])
    lines[500] = "wrong;"
    local _, err = mw.try_compile(table.concat(lines, "\n"))
    assert.equal(500, err.line)
  end)

  it("with a zero byte, or of nothing at all, is an error or a module, never a crash", function()
    for _, text in ipairs {
      "", "\0", "__global__ void f() {}\0garbage", ("\255\254"):rep(1000), "/*", '"', "#include <",
    } do
      local m, err = mw.try_compile(text)
      assert.is_true(m ~= nil or err.kind == "compile", text)
    end
    check_works()
  end)
end)
