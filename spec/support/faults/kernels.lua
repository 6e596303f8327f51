-- CUDA C of kernels that fail, and the lines where their failures have to be reported.
--
-- A line with //@name at its end is where the failure called `name` has to be reported: exactly there, unless the case
-- says `near`: anywhere in a loop may be where a kernel is stopped, and an access that the compiler moved out of a loop
-- has lost its line. Failures without a mark have to be reported somewhere in this file.

local mw = require "moonwarp"

local kernels = {}

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

kernels.file = debug.getinfo(1, "S").source:sub(2)

-- The first line of this file that the pattern matches.
function kernels.find_line(pattern)
  local number = 0
  for line in io.lines(kernels.file) do
    number = number + 1
    if line:find(pattern) then return number end
  end
end

-- Compiled here, so that failures are reported in this file.
function kernels.compile(options)
  local m = mw.compile { source = text, options = options }
  return m
end

return kernels
