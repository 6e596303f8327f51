-- Warps with divergent lanes: warp functions of the active lanes, lockstep, and synchronisation with other warps.
-- Each against its definition, in blocks of all shapes, by several tiers.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local suite = require "support.suite"
local tiers = require "support.compile.warp_tiers"
local warps = require "support.models.warps"
local random = require "support.random" "warp_spec"

local each_warp, warpwise, ballot, fold = warps.each_warp, warps.warpwise, warps.ballot, warps.fold
local list_of, array_of, compare = warps.list_of, warps.array_of, warps.compare

require "support.time_limit" (setup, teardown)

local apart = warps.preamble .. [==[
// A shuffle among the lanes that come here, which they name.
__global__ void subset(const int *in, int *out) {
  int i = linear(), x = in[i], result = -1;
  unsigned odd = __ballot_sync(0xffffffff, x & 1);
  if (x & 1) {
    int first = __ffs(odd) - 1;
    result = __shfl_sync(odd, x, first) + __popc(odd);
  } else {
    result = __reduce_add_sync(~odd & __activemask(), 1);
  }
  out[i] = result;
}
// Half of the lanes by themselves, in two places.
__global__ void halves(const int *in, int *out) {
  int i = linear(), x = in[i], lane = i % 32;
  if (lane < 16)
    x += __shfl_down_sync(0x0000ffff, x, 1, 16);
  else
    x -= __shfl_xor_sync(0xffff0000, x, 1);
  out[i] = x;
}
// Threads that have returned vote for nothing.
__global__ void exited(const int *in, int *out) {
  int i = linear(), x = in[i];
  if ((x & 3) == 0) {
    out[i] = -5;
    return;
  }
  out[i] = __ballot_sync(0xffffffff, 1) ^ __popc(__activemask());
}
// Lanes leave the loop one by one, and vote as long as they are in it.
__global__ void in_loop(const int *in, int *out) {
  int i = linear(), rounds = in[i] & 7, sum = 0;
  for (int k = 0; k < rounds; k++) {
    unsigned here = __activemask();
    sum += __popc(__ballot_sync(here, (k & 1) == 0)) << (2 * k);
  }
  out[i] = sum;
}
// One ticket for each thread that wants one, drawn by one thread for all of its warp.
__global__ void tickets(const int *in, int *counter, int *out) {
  int i = linear();
  out[i] = -1;
  if ((in[i] & 3) != 1) {
    unsigned active = __activemask(), lane = i % 32;
    int leader = __ffs(active) - 1, first;
    if (lane == leader) first = atomicAdd(counter, __popc(active));
    first = __shfl_sync(active, first, leader);
    out[i] = first + __popc(active & ((1u << lane) - 1));
  }
}
// The sum of a warp, by halves, and of a block by its warps' sums.
__device__ int sum_of_warp(int x) {
  for (int delta = 16; delta > 0; delta /= 2) x += __shfl_down_sync(0xffffffff, x, delta);
  return x;
}
__global__ void sum_of_block(const int *in, int *out) {
  __shared__ int sums[32];
  int i = linear(), n = threads(), lane = i % 32, warp = i / 32;
  int x = sum_of_warp(in[i]);
  if (n % 32) return; // whole warps only
  if (lane == 0) sums[warp] = x;
  __syncthreads();
  if (warp == 0) {
    x = sum_of_warp(lane < n / 32 ? sums[lane] : 0);
    if (lane == 0) *out = x;
  }
}
// The last warp of the SDK's reduction: 32 threads in step, no barrier.
__device__ void last_warp(volatile int *cell, int i) {
  cell[i] += cell[i + 32];
  cell[i] += cell[i + 16];
  cell[i] += cell[i + 8];
  cell[i] += cell[i + 4];
  cell[i] += cell[i + 2];
  cell[i] += cell[i + 1];
}
__global__ void in_step(const int *in, int *out) {
  __shared__ int cell[1024 + 64];
  int i = linear(), n = threads();
  cell[i] = in[i];
  for (int k = n + i; k < 1024 + 64; k += n) cell[k] = 0;
  __syncthreads();
  for (int half = 512; half > 32; half /= 2) {
    for (int k = i; k < half; k += n) cell[k] += cell[k + half];
    __syncthreads();
  }
  if (n >= 32) {
    if (i < 32) last_warp(cell, i);
  } else if (i == 0) {
    for (int k = 1; k < 64; k++) cell[0] += cell[k];
  }
  if (i == 0) *out = cell[0];
}
// Each warp by itself, in step.
__global__ void step_by_step(const int *in, int *out) {
  __shared__ volatile int cell[1024 + 32];
  int i = linear();
  for (int k = i; k < 32; k += threads()) cell[threads() + k] = 0;
  __syncthreads();
  cell[i] = in[i];
  cell[i] += cell[i + 1];
  cell[i] += cell[i + 2];
  out[i] = cell[i];
}
// The same by __syncwarp.
__global__ void with_syncwarp(const int *in, int *out) {
  __shared__ int cell[1024];
  int i = linear(), lane = i % 32, n = threads();
  cell[i] = in[i];
  for (int delta = 16; delta > 0; delta /= 2) {
    __syncwarp();
    int other = lane + delta < 32 && i + delta < n ? cell[i + delta] : 0;
    __syncwarp();
    cell[i] += other;
  }
  __syncwarp();
  out[i] = cell[i / 32 * 32];
}
// A function that each thread calls for itself, between two that they call together.
__device__ __noinline__ int place() { return threadIdx.x + 10000 * threadIdx.y + 1000000 * threadIdx.z; }
__global__ void alone(const int *in, int *out) {
  int i = linear(), x = in[i];
  x += __popc(__ballot_sync(0xffffffff, x & 1));
  if (x & 2) x += place();
  out[i] = __shfl_xor_sync(0xffffffff, x, 1);
}
// A warp waits for what another one writes.
__global__ void waiting(int *out) {
  __shared__ volatile int flag;
  int i = linear();
  if (i == 0) flag = 0;
  __syncthreads();
  if (i / 32 == 0) {
    if (threads() > 32)
      while (!__any_sync(0xffffffff, flag)) {}
    out[i] = threads() > 32 ? flag : 5;
  } else {
    if (i == 32) flag = 5;
    out[i] = 6;
  }
}
]==]

for _, tier in ipairs(tiers) do
  describe("a warp, " .. tier.name .. ",", function()
    local compile = tiers.compiler(tier, setup, teardown)

    describe("that parts", function()
      local m = compile(apart)
      local function run(name, block, values, size)
        local n = block.threads
        local out = mw.zeros(size or n, "int")
        m[name](1, block.size)(array_of(values, n, "int"), out)
        return out
      end
      local function inputs(block) return list_of(block.threads, function() return random(-1000, 1000) end) end

      it("shuffles among the lanes that are there", function()
        for _, block in ipairs(tier.blocks) do
          local n, values = block.threads, inputs(block)
          local wanted = warpwise(values, n, { function(v, count, lane)
            local odd = ballot(function(x) return x & 1 == 1 end)(v, count)
            local many, first = 0, nil
            for l = 0, count - 1 do
              if odd >> l & 1 == 1 then many, first = many + 1, first or l end
            end
            return v[lane] & 1 == 1 and v[first] + many or count - many
          end })
          compare(wanted, run("subset", block, values), n, tostring(block))
        end
      end)

      it("shuffles in two halves", function()
        for _, block in ipairs(tier.blocks) do
          local n, values = block.threads, inputs(block)
          local wanted = {}
          each_warp(n, function(first, count)
            for lane = 0, count - 1 do
              local i, other = first + lane, lane < 16 and (lane == 15 and 15 or lane + 1) or lane ~ 1
              if other < count then
                wanted[i] = lane < 16 and values[i] + values[first + other] or values[i] - values[first + other]
              end
            end
          end)
          compare(wanted, run("halves", block, values), n, tostring(block))
        end
      end)

      it("does not count threads that have returned", function()
        for _, block in ipairs(tier.blocks) do
          local n, values = block.threads, inputs(block)
          local wanted = warpwise(values, n, { function(v, count, lane)
            local bits, many = ballot(function(x) return x & 3 ~= 0 end)(v, count), 0
            for l = 0, count - 1 do many = many + (bits >> l & 1) end
            return v[lane] & 3 == 0 and -5 or bits ~ many
          end })
          compare(wanted, run("exited", block, values), n, tostring(block))
        end
      end)

      it("votes in a loop that lanes leave one by one", function()
        for _, block in ipairs(tier.blocks) do
          local n, values = block.threads, inputs(block)
          local wanted = warpwise(values, n, { function(v, count, lane)
            local sum = 0
            for k = 0, (v[lane] & 7) - 1 do
              local many = 0
              for l = 0, count - 1 do many = many + (v[l] & 7 > k and 1 or 0) end
              if k & 1 == 0 then sum = sum + (many << 2 * k) end
            end
            return sum
          end })
          compare(wanted, run("in_loop", block, values), n, tostring(block))
        end
      end)

      it("draws tickets by one lane for all", function()
        for _, block in ipairs(tier.blocks) do
          local n, values = block.threads, inputs(block)
          local counter, out = mw.zeros(1, "int"), mw.zeros(n, "int")
          m.tickets(1, block.size)(array_of(values, n, "int"), counter, out)
          local drawn, list = {}, out:totable()
          for i = 0, n - 1 do
            if values[i] & 3 == 1 then
              assert.equal(-1, list[i + 1])
            else
              drawn[#drawn + 1] = list[i + 1]
            end
          end
          table.sort(drawn)
          for i, ticket in ipairs(drawn) do assert.equal(i - 1, ticket) end
          assert.equal(#drawn, counter[1])
        end
      end)

      it("sums", function()
        for _, block in ipairs(tier.blocks) do
          local n, values, sum = block.threads, inputs(block), 0
          for i = 0, n - 1 do sum = sum + values[i] end
          if n % 32 == 0 then assert.equal(sum, run("sum_of_block", block, values, 1)[1], tostring(block)) end
          assert.equal(sum, run("in_step", block, values, 1)[1], tostring(block))
          local wanted = warpwise(values, n, { fold(function(a, b) return a + b end) })
          compare(wanted, run("with_syncwarp", block, values), n, tostring(block))
        end
      end)

      it("runs in step", function()
        for _, block in ipairs(tier.blocks) do
          local n, values = block.threads, inputs(block)
          local wanted = warpwise(values, n, { function(v, _, lane)
            local function at(l) return v[l] or 0 end
            return at(lane) + at(lane + 1) + at(lane + 2) + at(lane + 3)
          end })
          -- the last lanes read of the next warp, whenever that runs
          for i = 0, n - 1 do
            if i % 32 > 28 and i < (n - 1) // 32 * 32 then wanted[i] = nil end
          end
          compare(wanted, run("step_by_step", block, values), n, tostring(block))
        end
      end)

      it("calls functions lane by lane", function()
        for _, block in ipairs(tier.blocks) do
          local n, values = block.threads, inputs(block)
          local width, height = block.size[1], block.size[2] or 1
          local function place(i)
            return i % width + 10000 * (i // width % height) + 1000000 * (i // width // height)
          end
          local made = {}
          for first = 0, n - 1, 32 do
            local count = math.min(32, n - first)
            local here = table.move(values, first, first + count - 1, 0, {})
            local odd = 0
            for lane = 0, count - 1 do odd = odd + (here[lane] & 1) end
            for lane = 0, count - 1 do
              local x = here[lane] + odd
              made[first + lane] = x & 2 ~= 0 and x + place(first + lane) or x
            end
          end
          local wanted = {}
          for i = 0, n - 1 do wanted[i] = made[i ~ 1] end
          compare(wanted, run("alone", block, values), n, tostring(block))
        end
      end)

      it("waits for another", function()
        for _, block in ipairs(tier.blocks) do
          local n = block.threads
          local out = mw.zeros(n, "int")
          m.waiting(1, block.size)(out)
          compare(list_of(n, function(i) return i < 32 and 5 or 6 end), out, n, tostring(block))
        end
      end)
    end)
  end)
end

describe("lanes that wait for others that never arrive", function()
  it("end the launch, with the reason and the line", function()
    if suite.on_gpu then return pending "CPU device only: a GPU goes on without them, or hangs" end
    local m = mw.compile {
      source = [[
        __global__ void k(int *p) {
          if (threadIdx.x < 4)
            __syncwarp(0xff);
          else
            __syncthreads();
          p[threadIdx.x] = 1;
        }
      ]],
      options = { "--width=1" },
    }
    m.k(1, 32)(mw.zeros(32, "int"))
    local ok, err = pcall(mw.synchronize)
    assert.is_false(ok)
    assert.equal("cudaErrorLaunchFailure", err.code)
    assert.matches("kernel k waits at a warp function for lanes %(mask 0x000000f0%) that wait elsewhere", err.message)
    assert.matches("warp_spec.lua:%d+", tostring(err))
    assert.equal(0, err.thread[1])
  end)
end)
