-- Kernels that fail: their sources, and the expected reports.
--
-- faults.cases lists them (those with `prints` write to the terminal, and those with `alone` need a heap without other
-- arrays: some megabytes away from one array there may be another); faults.check(case) runs one, and raises an error if
-- the host was affected, the failure was not reported as expected, or something does not work afterwards.
-- fault_spec runs all of them in its own process, and again in others.

local mw = require "moonwarp"
local witness = require "support.faults.witness"

local faults = { cases = {} }
local sanitized = os.getenv "MOONWARP_CONFIG" == "sanitize"

-- A line with //@name at its end is where the failure called `name` has to be reported: exactly there, unless the case
-- says `near`: anywhere in a loop may be where a kernel is stopped, and an access that the compiler moved out of a loop
-- has lost its line. Failures without a mark have to be reported somewhere in this file.
local text = [==[
struct pair { long long first; int *second; };
typedef void function(int *, int);

__constant__ int *constant_pointer;
__device__ int *device_pointer;
__device__ int *pointers[4];

// ---- addresses

__global__ void null_write(int *p) {
  p[threadIdx.x] = 1; //@null_write
}
__global__ void null_write_once(int *p, int at, int value) {
  p[at] = value; //@null_write_once
}
__global__ void null_read(const int *p, int *out) {
  out[threadIdx.x] = p[threadIdx.x]; //@null_read
}
__global__ void null_atomic(int *p) {
  atomicAdd(p + threadIdx.x, 1); //@null_atomic
}
__global__ void null_member(pair *p) {
  p[blockIdx.x].second = 0; //@null_member
}
__global__ void write_at(int *p, long long at) {
  p[at + threadIdx.x] = 7; //@write_at
}
__global__ void read_at(const int *p, long long at, int *out) {
  out[threadIdx.x] = p[at + threadIdx.x]; //@read_at
}
__global__ void in_block_two(int *p, long long at) {
  if (blockIdx.x == 2 && blockIdx.y == 1)
    p[at] = 7; //@in_block_two
}
__global__ void read_garbage(unsigned long long address, int *out) {
  out[threadIdx.x] = *(int *)(address + 4 * threadIdx.x); //@read_garbage
}
__global__ void read_text(unsigned long long address) {
  printf("%s\n", (const char *)address); //@read_text
}
__global__ void behind_a_barrier(int *p, long long at) {
  __shared__ int cell[64];
  cell[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (cell[threadIdx.x ^ 1] == 4)
    p[at] = cell[0]; //@behind_a_barrier
}

// ---- writes to the host's memory, by all that can write
__device__ __noinline__ void put(int *p, int value) {
  *p = value; //@put
}
__device__ function *functions[2] = {put, put};

__global__ void host_store(unsigned long long a, int *p) {
  ((int *)a)[threadIdx.x] = 1; //@host_store
}
__global__ void host_byte(unsigned long long a, int *p) {
  ((char *)a)[threadIdx.x] = 1; //@host_byte
}
__global__ void host_volatile(unsigned long long a, int *p) {
  ((volatile double *)a)[threadIdx.x] = 1; //@host_volatile
}
__global__ void host_vector(unsigned long long a, int *p) {
  ((float4 *)a)[threadIdx.x] = make_float4(1, 2, 3, 4); //@host_vector
}
__global__ void host_struct(unsigned long long a, int *p) {
  pair value = {threadIdx.x, p};
  ((pair *)a)[threadIdx.x] = value; //@host_struct
}
__global__ void host_add(unsigned long long a, int *p) {
  atomicAdd((int *)a + threadIdx.x, 1); //@host_add
}
__global__ void host_float_add(unsigned long long a, int *p) {
  atomicAdd((float *)a, 1.0f); //@host_float_add
}
__global__ void host_swap(unsigned long long a, int *p) {
  p[threadIdx.x] = atomicCAS((int *)a, *(int *)a, 1); //@host_swap
}
__global__ void host_set(unsigned long long a, int *p) {
  memset((void *)a, 0, 100); //@host_set
}
__global__ void host_copy(unsigned long long a, int *p) {
  memcpy((void *)a, p, 64); //@host_copy
}
__global__ void host_move(unsigned long long a, int *p) {
  memmove((void *)a, (char *)a + 1, 16 + threadIdx.x); //@host_move
}
__global__ void host_by_constant(unsigned long long a, int *p) {
  constant_pointer[threadIdx.x] = 1; //@host_by_constant
}
__global__ void host_by_variable(unsigned long long a, int *p) {
  device_pointer[threadIdx.x] = 1; //@host_by_variable
}
__global__ void host_by_table(unsigned long long a, int *p) {
  pointers[threadIdx.x & 3][threadIdx.x] = 1; //@host_by_table
}
__global__ void host_by_shared(unsigned long long a, int *p) {
  __shared__ int *cell;
  if (threadIdx.x == 0) cell = (int *)a;
  __syncthreads();
  cell[threadIdx.x] = 1; //@host_by_shared
}
__global__ void host_by_struct(unsigned long long *a, int *p) {
  ((pair *)a)->second[threadIdx.x] = 1; //@host_by_struct
}
__global__ void host_by_distance(unsigned long long a, int *p) {
  p[(long long)(a - (unsigned long long)p) / 4 + threadIdx.x] = 1; //@host_by_distance
}
__global__ void host_by_steps(unsigned long long a, char *p) {
  long long step = (long long)(a - (unsigned long long)p) / 64;
  for (int i = 0; i < 64; i++) p += step;
  *p = 1; //@host_by_steps
}
__global__ void host_by_columns(unsigned long long a, char *p) {
  // Each factor is small enough, the product is not.
  int row = (int)((a - (unsigned long long)p) >> 20), width = 1 << 20;
  p[(size_t)row * width + (a & 0xfffff)] = 1; //@host_by_columns
}
__global__ void host_by_call(unsigned long long a, int *p) { put((int *)a, 1); }
__global__ void host_by_pointer(unsigned long long a, int *p) { functions[threadIdx.x & 1]((int *)a, 1); }
__global__ void host_free(unsigned long long a, int *p) {
  free((void *)a); //@host_free
}

// ---- lengths
__global__ void long_set(char *p, unsigned long long n) {
  memset(p, 1, n); //@long_set
}
__global__ void long_copy(char *p, unsigned long long n) {
  memcpy(p, p + 65536, n); //@long_copy
}
__global__ void long_move_up(char *p, unsigned long long n) {
  memmove(p + 8, p, n); //@long_move_up
}
__global__ void long_move_down(char *p, unsigned long long n) {
  memmove(p, p + 8, n); //@long_move_down
}

// ---- endless loops
__global__ void loop_empty(int *p) {
  for (;;) {} //@loop_empty
}
__global__ void loop_counting(int *p) {
  int n = 0;
  while (n >= 0) n = (n + 1) & 0xffff; //@loop_counting
  *p = n;
}
__global__ void loop_reading(volatile int *p) {
  while (p[0] == 0) {} //@loop_reading
}
__global__ void loop_writing(volatile int *p) {
  while (p[0] == 0) p[1 + threadIdx.x] = threadIdx.x; //@loop_writing
}
__global__ void loop_spinning(int *p) {
  while (atomicCAS(p, 1, 0) != 1) {} //@loop_spinning
}
__device__ __noinline__ int again(volatile int *p) {
  while (*p == 0) {} //@loop_in_function
  return 1;
}
__global__ void loop_in_function(int *p) { p[1] = again(p); }
__global__ void loop_of_one(volatile int *p) {
  if (blockIdx.x == 3 && threadIdx.x == 1)
    while (p[0] == 0) {} //@loop_of_one
}
__global__ void loop_of_barriers(volatile int *p) {
  while (p[0] == 0) __syncthreads(); //@loop_of_barriers
}
__global__ void loop_before_barrier(volatile int *p) {
  if (threadIdx.x == 0)
    while (p[0] == 0) {} //@loop_before_barrier
  __syncthreads();
}
__global__ void loop_allocating(int *p) {
  while (p[0] == 0) free(malloc(16)); //@loop_allocating
}

// ---- stack
__device__ int down(int n, volatile int *p) {
  volatile int pad[16];
  pad[n & 15] = n;
  return n == p[0] ? 1 : down(n + 1, p) + pad[n & 15];
}
__global__ void recursion(int *p) { p[1] = down(0, p); }
__global__ void recursion_behind_barrier(int *p) {
  __syncthreads();
  p[1] = down(0, p);
  __syncthreads();
}
__device__ int odd(int n, volatile int *p);
__device__ __noinline__ int even(int n, volatile int *p) { return n == p[0] ? 1 : 1 + odd(n + 1, p); }
__device__ __noinline__ int odd(int n, volatile int *p) { return n == p[0] ? 0 : 2 + even(n + 1, p); }
__global__ void recursion_of_two(int *p) { p[1] = even(0, p); }
__device__ int wide(int n, volatile int *p) {
  volatile char pad[30000]; // frames that jump over a small guard
  pad[n & 1023] = (char)n;
  return n == p[0] ? 1 : wide(n + 1, p) + pad[n & 1023];
}
__global__ void recursion_of_wide(int *p) { p[1] = wide(0, p); }
__global__ void recursion_of_wide_behind_barrier(int *p) {
  __syncthreads();
  p[1] = wide(0, p);
}
__global__ void local_overrun(int *p, int n) {
  volatile int local[4];
  for (int i = 0; i < n; i++) local[i] = -1; // over the return address and all the stack holds
  p[0] = local[n & 3];
}
__global__ void local_overrun_behind_barrier(int *p, int n) {
  volatile int local[4];
  __syncthreads();
  for (int i = 0; i < n; i++) local[i] = -1;
  __syncthreads();
  p[0] = local[n & 3];
}
__global__ void local_underrun(int *p, int n) {
  volatile int local[4];
  for (int i = 0; i < n; i++) local[-i] = -1;
  p[0] = local[n & 3];
}

// ---- ends
__global__ void trap(int *p) {
  if (blockIdx.x == 1 && threadIdx.x == 3)
    __trap(); //@trap
}
__global__ void trap_behind_barrier(int *p) {
  __syncthreads();
  if (blockIdx.x == 1 && threadIdx.x == 3) __trap(); //@trap_behind_barrier
  __syncthreads();
}
__global__ void assertion(int *p) {
  assert(threadIdx.x < 3 && "only three"); //@assertion
}
__global__ void call_null(int *p, unsigned long long a) {
  ((function *)a)(p, 1); //@call_null
}

// ---- and what has to work afterwards
__global__ void sum_of_block(const int *in, int *out) {
  __shared__ int cell[256];
  int i = threadIdx.x;
  cell[i] = in[blockIdx.x * 256 + i];
  for (int half = 128; half; half /= 2) {
    __syncthreads();
    if (i < half) cell[i] += cell[i + half];
  }
  if (i == 0) out[blockIdx.x] = cell[0];
}
__global__ void twice(const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = 2 * in[i];
}
]==]

local here = debug.getinfo(1, "S").source:sub(2)

-- The first line of this file that the pattern matches.
local function find_line(pattern)
  local number = 0
  for line in io.lines(here) do
    number = number + 1
    if line:find(pattern) then return number end
  end
end

-- ---- what must have survived

local function check(condition, message, ...)
  if not condition then error(message:format(...), 0) end
end

local function expect(wanted, got, what)
  check(wanted == got, "%s is %s, not %s", what, tostring(got), tostring(wanted))
end

-- Arrays around those that a kernel is given, with contents that no kernel has to do with.
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
  check(here == err.file, "file is %s: %s", tostring(err.file), told)
  local line, first = find_line("//@" .. (case.at or case.kernel) .. "$"), find_line("void " .. case.kernel .. "%(")
  if line and not case.near then
    expect(line, err.line, "line")
  elseif line then
    first = math.min(first, line - 1) -- of a function that stands before the kernel
    check(err.line >= first and err.line <= line, "line is %d, not %d to %d", err.line, first, line)
  end
  check(err.message:find(("%s:%d"):format(here, err.line), 1, true), "the message has no place: %s", told)
end

---Run one; errors say what is not as it should be.
function faults.check(case)
  local m = mw.compile { source = text, options = case.options }
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

-- Run with the array and the arguments behind it.
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
-- AArch64 leaves an address's highest byte aside: what differs in that alone is the array itself.
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
    -- AddressSanitizer's own memory is all over the place.
    may_pass = sanitized and at > -(1 << 50) and at < 1 << 50 or skips_byte and (at == 1 << 60 or at == -(1 << 60)),
  })
end
-- With thousands of arrays alive the heap guards new ones no more, and leaves freed memory open (in
-- src/cpu/memory/heap.c): what other specs have left to the collector must not be among them.
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
    -- in this order: the array cannot come to stand where the other was
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
