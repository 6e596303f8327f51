-- __syncthreads() wherever a whole block can reach it, in blocks of all shapes; compared with plain Lua.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local blocks = require "support.blocks"
local lists = require "support.models.lists"
local tiers = require "support.tiers"
require "support.random" "barrier_spec"

local random_list, check_equal = lists.random, lists.check_equal

local control_flow = [==[
__device__ int linear() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
__device__ int threads() { return blockDim.x * blockDim.y * blockDim.z; }

// ---- control flow: every kernel turns `steps` times, by one place, the values of its block

__global__ void straight(int *a, int steps) {
  __shared__ int cell[1024];
  int i = linear(), n = threads(), *mine = a + blockIdx.x * n;
  cell[i] = mine[i];
  __syncthreads();
  mine[i] = cell[(i + steps) % n];
}

__global__ void in_loop(int *a, int steps) {
  __shared__ int cell[1024];
  int i = linear(), n = threads(), *mine = a + blockIdx.x * n;
  cell[i] = mine[i];
  for (int k = 0; k < steps; k++) {
    __syncthreads();
    int next = cell[(i + 1) % n];
    __syncthreads();
    cell[i] = next;
  }
  mine[i] = cell[i];
}

__global__ void in_while_with_break(int *a, int steps) {
  __shared__ int cell[1024];
  int i = linear(), n = threads(), *mine = a + blockIdx.x * n, k = 0;
  cell[i] = mine[i];
  while (true) {
    if (k == steps) break;
    __syncthreads();
    int next = cell[(i + 1) % n];
    __syncthreads();
    cell[i] = next;
    if (k++ % 2 == 0) continue;
    if (k > 1000) break;
  }
  mine[i] = cell[i];
}

__global__ void in_nested_loops(int *a, int steps) {
  __shared__ int cell[1024];
  int i = linear(), n = threads(), *mine = a + blockIdx.x * n, done = 0;
  cell[i] = mine[i];
  for (int outer = 0; done < steps; outer++) {
    __syncthreads();
    for (int inner = 0; inner <= outer && done < steps; inner++, done++) {
      int next = cell[(i + 1) % n];
      __syncthreads();
      cell[i] = next;
      __syncthreads();
    }
  }
  mine[i] = cell[i];
}

__global__ void in_branch(int *a, int steps) {
  __shared__ int cell[1024];
  int i = linear(), n = threads(), *mine = a + blockIdx.x * n;
  if (blockIdx.x % 3 == 0) {
    cell[i] = mine[i];
    __syncthreads();
    mine[i] = cell[(i + steps) % n];
  } else if (steps > 2) { // different barriers in different branches
    cell[n - 1 - i] = mine[i];
    __syncthreads();
    int value = cell[n - 1 - (i + steps) % n];
    __syncthreads();
    mine[i] = value;
  } else {
    for (int k = 0; k < steps; k++) {
      cell[i] = mine[i];
      __syncthreads();
      mine[i] = cell[(i + 1) % n];
      __syncthreads();
    }
  }
}

__global__ void in_switch(int *a, int steps) {
  __shared__ int cell[1024];
  int i = linear(), n = threads(), *mine = a + blockIdx.x * n, value = mine[i];
  for (int k = 0; k < steps;) {
    switch (steps - k) {
    default:
      cell[i] = value;
      __syncthreads();
      value = cell[(i + 4) % n];
      k += 4;
      break;
    case 3:
    case 2:
      cell[i] = value;
      __syncthreads();
      value = cell[(i + 2) % n];
      k += 2;
      break;
    case 1:
      cell[i] = value;
      __syncthreads();
      value = cell[(i + 1) % n];
      k++;
    }
    __syncthreads();
  }
  mine[i] = value;
}

__global__ void by_goto(int *a, int steps) {
  __shared__ int cell[1024];
  int i = linear(), n = threads(), *mine = a + blockIdx.x * n, k = 0;
  cell[i] = mine[i];
again:
  __syncthreads();
  if (k < steps) {
    int next = cell[(i + 1) % n];
    k++;
    __syncthreads();
    cell[i] = next;
    goto again;
  }
  mine[i] = cell[i];
}

__device__ void turn(int *cell, int i, int n) {
  __syncthreads();
  int next = cell[(i + 1) % n];
  __syncthreads();
  cell[i] = next;
}

__global__ void in_function(int *a, int steps) {
  __shared__ int cell[1024];
  int i = linear(), n = threads(), *mine = a + blockIdx.x * n;
  cell[i] = mine[i];
  if (steps % 2) turn(cell, i, n); // called from two places
  for (int k = 0; k < steps / 2; k++) {
    turn(cell, i, n);
    turn(cell, i, n);
  }
  mine[i] = cell[i];
}

__device__ __noinline__ void turn_apart(int *cell, int i, int n) { turn(cell, i, n); }

__global__ void in_function_apart(int *a, int steps) {
  __shared__ int cell[1024];
  int i = linear(), n = threads(), *mine = a + blockIdx.x * n;
  cell[i] = mine[i];
  if (steps % 2) turn_apart(cell, i, n);
  for (int k = 0; k < steps / 2; k++) {
    turn_apart(cell, i, n);
    turn_apart(cell, i, n);
  }
  mine[i] = cell[i];
}

template <int STEPS, typename T> __device__ void turn_by(T *cell, int i, int n) {
  if (STEPS > 0) {
    turn(cell, i, n);
    turn_by<(STEPS > 0 ? STEPS - 1 : 0)>(cell, i, n);
  }
}

__global__ void in_template(int *a, int steps) {
  __shared__ int cell[1024];
  int i = linear(), n = threads(), *mine = a + blockIdx.x * n;
  cell[i] = mine[i];
  for (int k = 0; k < steps / 3; k++) turn_by<3>(cell, i, n);
  if (steps % 3 == 1) turn_by<1>(cell, i, n);
  if (steps % 3 == 2) turn_by<2>(cell, i, n);
  mine[i] = cell[i];
}

__device__ int turn_rest(int *cell, int i, int n, int steps) {
  if (steps == 0) return 0;
  int before = i * steps; // lives across the barriers of the calls below
  turn(cell, i, n);
  int below = turn_rest(cell, i, n, steps - 1);
  __syncthreads();
  return below + before - i * steps;
}

__global__ void in_recursion(int *a, int steps) {
  __shared__ int cell[1024];
  int i = linear(), n = threads(), *mine = a + blockIdx.x * n;
  cell[i] = mine[i];
  int zero = turn_rest(cell, i, n, steps);
  mine[i] = cell[i] + zero;
}

typedef void turner(int *, int, int);
__device__ turner *turners[2] = {turn, turn_apart};

__global__ void by_function_pointer(int *a, int steps) {
  __shared__ int cell[1024];
  int i = linear(), n = threads(), *mine = a + blockIdx.x * n;
  cell[i] = mine[i];
  for (int k = 0; k < steps; k++) turners[k & 1](cell, i, n);
  mine[i] = cell[i];
}

// The condition is loaded from shared memory, and is the same for all.
__global__ void until_told(int *a, int steps) {
  __shared__ int cell[1024];
  __shared__ int done;
  int i = linear(), n = threads(), *mine = a + blockIdx.x * n;
  cell[i] = mine[i];
  if (i == 0) done = 0;
  __syncthreads();
  while (done < steps) {
    int next = cell[(i + 1) % n];
    __syncthreads();
    cell[i] = next;
    if (i == n / 2) done++;
    __syncthreads();
  }
  mine[i] = cell[i];
}

// Threads that return are not waited for: the first `alive` turn their values among themselves.
__global__ void after_return(int *a, int steps, int alive) {
  __shared__ int cell[1024];
  int i = linear(), n = threads(), *mine = a + blockIdx.x * n;
  if (i >= alive) return;
  cell[i] = mine[i];
  for (int k = 0; k < steps; k++) {
    __syncthreads();
    int next = cell[(i + 1) % alive];
    __syncthreads();
    cell[i] = next;
  }
  mine[i] = cell[i];
}

// In each round the last one leaves, with a value from its neighbour.
__global__ void leave_one_by_one(int *a) {
  __shared__ int cell[1024];
  int i = linear(), n = threads(), *mine = a + blockIdx.x * n;
  cell[i] = mine[i];
  for (int left = n;; left--) {
    __syncthreads();
    if (i == left - 1) {
      mine[i] = cell[(i + left) % n];
      return;
    }
    __syncthreads();
    if (i == 0) cell[0] += left;
  }
}

// ---- barriers that count

__global__ void votes(const int *a, int *counts, int *all, int *any, int rounds) {
  int i = linear(), n = threads(), at = blockIdx.x * n + i;
  for (int k = 0; k < rounds; k++) {
    int bit = a[at] >> k & 1;
    int count = __syncthreads_count(bit), both = __syncthreads_and(bit), one = __syncthreads_or(bit);
    counts[k * gridDim.x * n + at] = count;
    all[k * gridDim.x * n + at] = both != 0;
    any[k * gridDim.x * n + at] = one != 0;
  }
}

__global__ void votes_of_the_rest(int *counts, int alive) {
  int i = linear();
  if (i >= alive) return;
  counts[i] = __syncthreads_count(i % 3 == 0 ? 8 : 0);
}

// As often as anyone wants to.
__global__ void until_nobody(const int *wanted, int *rounds) {
  int i = linear(), n = threads(), at = blockIdx.x * n + i, k = 0, again;
  do {
    k++;
    again = __syncthreads_or(k < wanted[at]);
  } while (again);
  rounds[at] = k;
}
]==]

-- Within each block of n, the first `alive` turned by `steps`.
local function turned(list, n, steps, alive)
  local result = {}
  for i = 0, #list - 1 do
    local block, place = i - i % n, i % n
    result[i + 1] = place < alive and list[block + (place + steps) % alive + 1] or list[i + 1]
  end
  return result
end

local turning = { "straight", "in_loop", "in_while_with_break", "in_nested_loops", "in_branch", "in_switch", "by_goto",
  "in_function", "in_function_apart", "in_template", "in_recursion", "by_function_pointer", "until_told" }

for _, tier in ipairs(tiers) do
  describe("a barrier, " .. tier.name .. ",", function()
    local m = mw.compile { source = control_flow, options = tier.options }

    for _, name in ipairs(turning) do
      it("works " .. name:gsub("_", " "), function()
        for _, block in ipairs(blocks) do
          local n, grid = block.threads, 4
          for _, steps in ipairs { 0, 1, 2, 7 } do
            local list = random_list(grid * n, -1000, 1000)
            local a = mw.array(list, "int")
            m[name](grid, block.size)(a, steps)
            check_equal(turned(list, n, steps, n), a:totable(), ("%s, %s, %d steps"):format(name, block, steps))
          end
        end
      end)
    end

    it("does not wait for threads that returned", function()
      for _, block in ipairs(blocks) do
        local n = block.threads
        for _, alive in ipairs { 1, n // 2, n // 3 + 1, n - 1, n } do
          if alive > 0 then
            local list = random_list(3 * n, -1000, 1000)
            local a = mw.array(list, "int")
            m.after_return(3, block.size)(a, 5, alive)
            check_equal(turned(list, n, 5, alive), a:totable(), ("%s, %d alive"):format(block, alive))
          end
        end
      end
    end)

    it("does not wait for threads that return one by one", function()
      for _, block in ipairs(blocks) do
        local n = block.threads
        local list = random_list(2 * n, -1000, 1000)
        local wanted = {}
        for start = 0, n, n do
          local first = list[start + 1]
          for left = n, 1, -1 do
            local i = left - 1
            local from = (i + left) % n
            wanted[start + i + 1] = from == 0 and first or list[start + from + 1]
            first = first + left
          end
        end
        local a = mw.array(list, "int")
        m.leave_one_by_one(2, block.size)(a)
        check_equal(wanted, a:totable(), tostring(block))
      end
    end)

    it("counts", function()
      for _, block in ipairs(blocks) do
        local n, grid, rounds = block.threads, 3, 4
        local list = random_list(grid * n, 0, 15)
        for i = 1, n do list[i] = list[i] | 1 end -- all of block 0 in round 0
        for i = n + 1, 2 * n do list[i] = list[i] & 13 end -- none of block 1 in round 1
        local counts, all, any = {}, {}, {}
        for k = 0, rounds - 1 do
          for b = 0, grid - 1 do
            local count = 0
            for i = 1, n do count = count + (list[b * n + i] >> k & 1) end
            for _ = 1, n do
              counts[#counts + 1], all[#all + 1], any[#any + 1] = count, count == n and 1 or 0, count > 0 and 1 or 0
            end
          end
        end
        local a, b, c = mw.zeros(#counts, "int"), mw.zeros(#counts, "int"), mw.zeros(#counts, "int")
        m.votes(grid, block.size)(mw.array(list, "int"), a, b, c, rounds)
        check_equal(counts, a:totable(), "counts of " .. tostring(block))
        check_equal(all, b:totable(), "and of " .. tostring(block))
        check_equal(any, c:totable(), "or of " .. tostring(block))
      end
    end)

    it("counts those that are there", function()
      for _, block in ipairs(blocks) do
        local alive = (block.threads + 1) // 2
        local a = mw.zeros(block.threads, "int")
        m.votes_of_the_rest(1, block.size)(a, alive)
        local wanted = {}
        for i = 1, block.threads do wanted[i] = i <= alive and (alive + 2) // 3 or 0 end
        check_equal(wanted, a:totable(), tostring(block))
      end
    end)

    it("ends a loop for all", function()
      for _, block in ipairs(blocks) do
        local n = block.threads
        local list, wanted = random_list(3 * n, 0, 9), {}
        for b = 0, 2 do
          local most = 1
          for i = 1, n do most = math.max(most, list[b * n + i]) end
          for i = 1, n do wanted[b * n + i] = most end
        end
        local a = mw.zeros(3 * n, "int")
        m.until_nobody(3, block.size)(mw.array(list, "int"), a)
        check_equal(wanted, a:totable(), tostring(block))
      end
    end)
  end)
end
