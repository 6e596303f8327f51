-- Kernels with communicating threads: they draw tickets, take turns, wait, print, and iterate until no thread finds
-- anything. Each is compared with plain Lua, in blocks of all shapes, by several tiers.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local blocks = require "support.blocks"
local child = require "support.child"
local linear = require "support.models.linear"
local lists = require "support.models.lists"
local int = require("support.models.thread_cases").int
local tiers = require "support.tiers"
local random = require "support.random" "stress_threads_spec"

local check_equal = lists.check_equal

require "support.time_limit" (setup, teardown)

local text = linear .. [==[
// ---- atomics

__global__ void tickets(int *counter, int *mine, int *bins) {
  __shared__ int shared_counter, shared_bins[7];
  int i = linear(), at = blockIdx.x * threads() + i;
  if (i == 0) shared_counter = 0;
  if (i < 7) shared_bins[i] = 0;
  __syncthreads();
  int inside = atomicAdd(&shared_counter, 1);
  atomicAdd(&shared_bins[i % 7], i);
  if (i % 3 == 0) atomicMax(&bins[7], at);
  mine[2 * at] = atomicAdd(counter, 1);
  mine[2 * at + 1] = inside;
  __syncthreads();
  if (i < 7) atomicAdd(&bins[i], shared_bins[i]);
}

// A lock that threads of one block and of others take turns with; no thread waits while another holds it.
__global__ void try_lock(int *lock, int *total) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      *(volatile int *)total = *(volatile int *)total + 1;
      __threadfence();
      done = true;
      atomicExch(lock, 0);
    }
  }
}

// ---- blocks that wait for blocks before them

// Sums of all elements up to each: a block looks back at the sums of those before it.
__global__ void scan_looking_back(const int *in, int *out, volatile int *state, volatile int *sums, int n) {
  __shared__ int cell[256];
  __shared__ int before;
  int i = threadIdx.x, at = blockIdx.x * 256 + i, value = at < n ? in[at] : 0;
  cell[i] = value;
  for (int step = 1; step < 256; step *= 2) {
    __syncthreads();
    int left = i >= step ? cell[i - step] : 0;
    __syncthreads();
    cell[i] += left;
  }
  __syncthreads();
  if (i == 0) {
    sums[2 * blockIdx.x] = cell[255];
    __threadfence();
    state[blockIdx.x] = 1; // its own sum is there
    int sum = 0;
    for (int b = (int)blockIdx.x - 1; b >= 0; b--) {
      int known;
      while ((known = state[b]) == 0) {}
      __threadfence();
      sum += sums[2 * b + known - 1];
      if (known == 2) break;
    }
    sums[2 * blockIdx.x + 1] = sum + cell[255];
    __threadfence();
    state[blockIdx.x] = 2; // and that of all before it
    before = sum;
  }
  __syncthreads();
  if (at < n) out[at] = before + cell[i];
}

__global__ void mandelbrot(int *out, int width, int height, int most) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column >= width || row >= height) return;
  // In whole numbers of 1/4096, so that no rounding is in it.
  int cx = column * 3 * 4096 / width - 2 * 4096, cy = row * 2 * 4096 / height - 4096, x = 0, y = 0, k = 0;
  while (k < most && (long long)x * x + (long long)y * y < 4ll * 4096 * 4096) {
    int t = (int)(((long long)x * x - (long long)y * y) >> 12) + cx;
    y = (int)((long long)x * y >> 11) + cy;
    x = t;
    k++;
  }
  out[row * width + column] = k;
}

// Breadth first: each round reaches the neighbours of what was reached; all go on while any thread found something.
__global__ void distances(const int *first, const int *next, int *distance, int nodes) {
  int found;
  for (int round = 0;; round++) {
    found = 0;
    for (int v = threadIdx.x; v < nodes; v += blockDim.x) {
      if (distance[v] != round) continue;
      for (int e = first[v]; e < first[v + 1]; e++)
        if (atomicCAS(&distance[next[e]], -1, round + 1) == -1) found = 1;
    }
    if (!__syncthreads_or(found)) break;
  }
}
]==]

for _, tier in ipairs(tiers) do
  describe("a kernel, " .. tier.name .. ",", function()
    local m = mw.compile { source = text, options = tier.options }

    it("that draws tickets gives each number once", function()
      for _, block in ipairs(blocks) do
        local n, grid = block.threads, 4
        local counter, mine, bins = mw.zeros(1, "int"), mw.zeros(2 * n * grid, "int"), mw.zeros(8, "int")
        m.tickets(grid, block.size)(counter, mine, bins)
        local drawn, inside, list = {}, {}, mine:totable()
        for i = 1, #list, 2 do
          drawn[#drawn + 1] = list[i]
          inside[#inside + 1] = list[i + 1]
        end
        table.sort(drawn)
        for i = 1, n * grid do assert.equal(i - 1, drawn[i]) end
        for b = 0, grid - 1 do
          local part = table.move(inside, b * n + 1, b * n + n, 1, {})
          table.sort(part)
          for i = 1, n do assert.equal(i - 1, part[i]) end
        end
        local wanted = { 0, 0, 0, 0, 0, 0, 0, (grid - 1) * n + (n - 1) // 3 * 3 }
        for i = 0, n - 1 do wanted[i % 7 + 1] = wanted[i % 7 + 1] + grid * i end
        -- Blocks with fewer than seven threads add only as many bins.
        for i = n + 1, 7 do wanted[i] = 0 end
        check_equal(wanted, bins:totable(), tostring(block))
      end
    end)

    it("whose threads take a lock in turn ends", function()
      for _, block in ipairs(blocks) do
        local lock, total = mw.zeros(1, "int"), mw.zeros(1, "int")
        m.try_lock(5, block.size)(lock, total)
        assert.equal(5 * block.threads, total[1])
      end
    end)

    it("whose blocks wait for those before them ends", function()
      for _, n in ipairs { 1, 256, 1000, 50000 } do
        local list, wanted, sum = {}, {}, 0
        for i = 1, n do
          list[i] = random(-100, 100)
          sum = sum + list[i]
          wanted[i] = sum
        end
        local grid, out = mw.cdiv(n, 256), mw.zeros(n, "int")
        m.scan_looking_back(grid, 256)(mw.array(list, "int"), out, mw.zeros(grid, "int"), mw.zeros(2 * grid, "int"), n)
        check_equal(wanted, out:totable(), n .. " elements")
      end
    end)

    it("whose threads go round as often as they please agrees with a loop", function()
      local width, height, most = 70, 37, 60
      local wanted = {}
      for row = 0, height - 1 do
        for column = 0, width - 1 do
          local cx, cy = column * 3 * 4096 // width - 2 * 4096, row * 2 * 4096 // height - 4096
          local x, y, k = 0, 0, 0
          while k < most and x * x + y * y < 4 * 4096 * 4096 do
            x, y = ((x * x - y * y) // 4096) + cx, (x * y // 2048) + cy
            k = k + 1
          end
          wanted[row * width + column + 1] = k
        end
      end
      for _, block in ipairs { { 16, 16 }, { 32, 1 }, { 7, 5 }, { 1, 64 } } do
        local out = mw.zeros(width * height, "int")
        m.mandelbrot({ mw.cdiv(width, block[1]), mw.cdiv(height, block[2]) }, block)(out, width, height, most)
        check_equal(wanted, out:totable(), table.concat(block, "x"))
      end
    end)

    it("that repeats while any thread finds something finds all", function()
      for _, threads in ipairs { 1, 31, 96, 1024 } do
        local nodes, edges = 300, {}
        local first, next_node = {}, {}
        for v = 1, nodes do
          edges[v] = {}
          for e = 1, random(0, 3) do edges[v][e] = random(1, nodes) end
        end
        for v = 1, nodes do
          first[v] = #next_node
          for _, to in ipairs(edges[v]) do next_node[#next_node + 1] = to - 1 end
        end
        first[nodes + 1] = #next_node
        local wanted, reached = {}, { 1 }
        for v = 1, nodes do wanted[v] = -1 end
        wanted[1] = 0
        while #reached > 0 do
          local v = table.remove(reached, 1)
          for _, to in ipairs(edges[v]) do
            if wanted[to] == -1 then
              wanted[to] = wanted[v] + 1
              reached[#reached + 1] = to
            end
          end
        end
        local distance = mw.full(nodes, -1, "int")
        distance[1] = 0
        if #next_node == 0 then next_node[1] = 0 end
        m.distances(1, threads)(mw.array(first, "int"), mw.array(next_node, "int"), distance, nodes)
        check_equal(wanted, distance:totable(), threads .. " threads")
      end
    end)

    it("of hundreds of branches and twenty barriers compiles and is right", function()
      local lines = { linear, "__global__ void huge(const int *in, int *out) {", "__shared__ int cell[1024];",
        "int i = linear(), n = threads(); unsigned v = in[i];" }
      for k = 0, 199 do
        lines[#lines + 1] = ("if (v >> %d & 1) v = v * %du + i; else v ^= %du;"):format(k % 32, 2 * k + 3, k * 977)
        if k % 10 == 9 then
          lines[#lines + 1] = "__syncthreads(); cell[i] = v; __syncthreads(); v += cell[(i + 1) % n];"
        end
      end
      lines[#lines + 1] = "out[i] = v; }"
      local huge = mw.compile { source = table.concat(lines, "\n"), options = tier.options }
      for _, block in ipairs(blocks) do
        local n, list, v = block.threads, {}, {}
        for i = 0, n - 1 do
          v[i] = random(0, 0xffffffff)
          list[i + 1] = int(v[i])
        end
        for k = 0, 199 do
          for i = 0, n - 1 do
            if v[i] >> k % 32 & 1 == 1 then
              v[i] = v[i] * (2 * k + 3) + i & 0xffffffff
            else
              v[i] = v[i] ~ k * 977
            end
          end
          if k % 10 == 9 then
            local cell = table.move(v, 0, n - 1, 0, {})
            for i = 0, n - 1 do v[i] = v[i] + cell[(i + 1) % n] & 0xffffffff end
          end
        end
        local out, wanted = mw.zeros(n, "int"), {}
        huge.huge(1, block.size)(mw.array(list, "int"), out)
        for i = 0, n - 1 do wanted[i + 1] = int(v[i]) end
        check_equal(wanted, out:totable(), tostring(block))
      end
    end)

    it("that prints in a loop of many lengths prints each line once", function()
      local result = child({
        [[
          local mw = require "moonwarp"
          local option = ...
          local m = mw.compile {
            source = [=[
              __global__ void print() {
                int i = threadIdx.x;
                for (int k = 0; k < i % 4; k++) {
                  if (k == 1) continue;
                  printf("block %d thread %d round %d: %s %.1f\n", blockIdx.x, i, k, i & 1 ? "odd" : "even", k * 0.5);
                }
              }
            ]=],
            options = option ~= "" and { option } or nil,
          }
          m.print(2, 70)()
          mw.synchronize()
        ]], tier.options and tier.options[1] or "",
      })
      assert.is_true(result.ok, result.output)
      local seen, count = {}, 0
      for line in result.output:gmatch "[^\n]+" do
        assert.is_nil(seen[line], line)
        seen[line] = true
        count = count + 1
      end
      local wanted = 0
      for b = 0, 1 do
        for i = 0, 69 do
          for k = 0, i % 4 - 1 do
            if k ~= 1 then
              local line = ("block %d thread %d round %d: %s %.1f"):format(b, i, k, i & 1 == 1 and "odd" or "even",
                k * 0.5)
              assert.is_true(seen[line], line)
              wanted = wanted + 1
            end
          end
        end
      end
      assert.equal(wanted, count)
    end)
  end)
end
