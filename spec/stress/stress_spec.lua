-- Kernels whose control flow is hard to run as lanes of vector registers: divergence, awkward loops, barriers next
-- to them. Each is compared with a plain Lua model, in blocks of all shapes, by several tiers.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local blocks = require "support.blocks"
local thread_cases = require "support.models.thread_cases"
local tiers = require "support.tiers"
require "support.random" "stress_spec"

require "support.time_limit" (setup, teardown)

local int = thread_cases.int

-- C's remainder, which has the dividend's sign.
local function rem(a, b) return math.fmod(a, b) end

local cases, case = thread_cases.list()

case("a barrier that nobody comes to, in a loop of different lengths", [[
  for (int k = 0; k < 2 + i % 5; k++) {
    if (no) __syncthreads();
    result += (x >> k) & 15;
  }
]], function(x, i)
  local sum = 0
  for k = 0, 1 + i % 5 do sum = sum + (x >> k & 15) end
  return sum
end)

case("a loop with a barrier that all leave before they come to it", [[
  while (true) {
    result++;
    if (x & 1) break;
    result += 10;
    if (x + no != 77) break; // which is odd
    __syncthreads();
  }
]], function(x) return x & 1 == 1 and 1 or 11 end)

case("a barrier and two ways to go on", [[
  for (int k = 0; k < 6; k++) {
    __syncthreads();
    cell[i] = k + i;
    __syncthreads();
    result += cell[(i + k) % n];
    if ((x + k) % 3 == 0) continue;
    result += 100;
    if ((x + k) % 3 == 1) continue;
    result += 1000;
  }
]], function(x, i, n)
  local sum = 0
  for k = 0, 5 do
    sum = sum + k + (i + k) % n
    local r = rem(x + k, 3)
    if r ~= 0 then sum = sum + 100 end
    if r ~= 0 and r ~= 1 then sum = sum + 1000 end
  end
  return sum
end)

case("nested loops with three barriers, two of them on conditions that all share", [[
  cell[i] = x;
  for (int a = 0; a < 3; a++) {
    for (int b = 0; b < a + 2; b++) {
      if (a == 1) __syncthreads();
      __syncthreads();
      int next = cell[(i + 1) % n];
      if (b & 1) __syncthreads();
      __syncthreads();
      cell[i] = next + a;
    }
  }
  result = cell[i];
]], function(_, i, n, block) return int(block[(i + 9) % n] + 3 * 1 + 4 * 2) end)

case("a return from within a loop, and code behind the loop", [[
  int sum = 0;
  for (int k = 0; k < 10; k++) {
    sum += x >> k;
    if ((sum & 7) == (i & 7)) {
      out[i] = sum;
      return;
    }
  }
  result = sum ^ 0x5555;
]], function(x, i)
  local sum = 0
  for k = 0, 9 do
    sum = int(sum + (x >> k | (x < 0 and k > 0 and -1 << (64 - k) or 0)))
    if sum & 7 == i & 7 then return sum end
  end
  return int(sum ~ 0x5555)
end)

case("a counter that all share, left at different times and used behind the loop", [[
  int k = 0;
  for (; k < 20; k++)
    if (((x ^ k) & 15) == (i & 15)) break;
  result = k;
]], function(x, i)
  for k = 0, 19 do
    if (x ~ k) & 15 == i & 15 then return k end
  end
  return 20
end)

case("a value from before a loop of barriers, changed by one thread in each round", [[
  int v = x * 3;
  for (int r = 0; r < 4; r++) {
    if (i == r * 7) v += 1000;
    __syncthreads();
    cell[i] = r;
    __syncthreads();
  }
  result = v + cell[n - 1 - i];
]], function(x, i) return int(x * 3 + ((i % 7 == 0 and i < 28) and 1000 or 0) + 3) end)

case("a value read from shared memory before a barrier and used behind it", [[
  cell[i] = x;
  __syncthreads();
  int before = cell[(i + 1) % n];
  __syncthreads();
  cell[i] = -1;
  __syncthreads();
  result = before + cell[(i + 1) % n];
]], function(_, i, n, block) return int(block[(i + 1) % n] - 1) end)

case("a switch that falls through, its default in the middle", [[
  switch (x & 7) {
  case 0: result += 1;
  case 5: result += 10; break;
  default: result += 100;
  case 2:
    result += 1000;
    if (i & 1) break;
  case 3: result += 10000; return_early: break;
  case 6: result = -x; if (i & 2) goto return_early; result -= 5;
  }
]], function(x, i)
  local what = x & 7
  if what == 0 then return 11 elseif what == 5 then return 10 end
  if what == 3 then return 10000 end
  if what == 6 then return i & 2 ~= 0 and int(-x) or int(-x - 5) end
  local sum = what == 2 and 1000 or 1100
  return i & 1 == 1 and sum or sum + 10000
end)

case("a loop that is entered in two places", [[
  int k = 0;
  if (x & 1) goto middle;
top:
  result += 3;
  if (result > 60) goto end;
middle:
  result += 5 + (x >> 1 & 3);
  k++;
  if (k < 10) goto top;
end:;
]], function(x)
  local result, k, middle = 0, 0, x & 1 == 1
  while true do
    if not middle then
      result = result + 3
      if result > 60 then return result end
    end
    middle = false
    result = result + 5 + (x >> 1 & 3)
    k = k + 1
    if k >= 10 then return result end
  end
end)

case("a switch into a loop", [[
  int count = (x & 31) + 1, left = (count + 3) / 4, k = 0;
  switch (count % 4) { // Duff's device
  case 0: do { result += ++k * k;
  case 3: result += ++k * k;
  case 2: result += ++k * k;
  case 1: result += ++k * k;
    } while (--left > 0);
  }
]], function(x)
  local sum = 0
  for k = 1, (x & 31) + 1 do sum = sum + k * k end
  return sum
end)

case("values that change places in a loop", [[
  int a = i, b = x, c = 7;
  for (int k = 0; k < (x & 15); k++) {
    int t = a;
    a = b;
    b = c;
    c = t;
  }
  unsigned f = 0, g = 1;
  for (int k = 0; k < (i & 31); k++) {
    unsigned t = f + g;
    f = g;
    g = t;
  }
  result = a + 3 * b + 5 * c + (int)f;
]], function(x, i)
  local a, b, c, f, g = i, x, 7, 0, 1
  for _ = 1, x & 15 do a, b, c = b, c, a end
  for _ = 1, i & 31 do f, g = g, f + g end
  return int(a + 3 * b + 5 * c + f)
end)

case("a loop whose length nobody knows: 3n + 1", [[
  unsigned long long v = (x & 0xffff) + 1;
  while (v != 1) {
    v = v & 1 ? 3 * v + 1 : v / 2;
    result++;
  }
]], function(x)
  local v, steps = (x & 0xffff) + 1, 0
  while v ~= 1 do
    v = v & 1 == 1 and 3 * v + 1 or v // 2
    steps = steps + 1
  end
  return steps
end)

case("nested loops of different lengths, left from the inner one", [[
  int a, b = 0;
  for (a = 0; a < 12; a++) {
    for (b = 0; b < 12; b++) {
      if (a * b == (x & 63)) goto found;
      if (b > a + (i & 3)) break;
      result++;
    }
  }
found:
  result = result * 1000 + a * 20 + b;
]], function(x, i)
  local steps, a, b = 0, 0, 0
  while a < 12 do
    b = 0
    while b < 12 do
      if a * b == x & 63 then return steps * 1000 + a * 20 + b end
      if b > a + (i & 3) then break end
      steps = steps + 1
      b = b + 1
    end
    a = a + 1
  end
  return steps * 1000 + a * 20 + b
end)

case("a loop that only a return ends", [[
  for (int k = 0;; k++) {
    __syncthreads();
    cell[i] = k;
    if (k == 5 + no) {
      out[i] = k + x;
      return;
    }
  }
]], function(x) return int(x + 5) end)

case("loops of threads, and a loop of the block between them", [[
  int mine = x & 7;
  for (int r = 0; r < 3; r++) {
    for (int k = 0; k < mine; k++) result += k * r;
    cell[i] = mine;
    __syncthreads();
    mine = cell[(i + 1) % n];
    __syncthreads();
  }
]], function(_, i, n, block)
  local sum = 0
  for r = 0, 2 do
    local mine = block[(i + r) % n] & 7
    sum = sum + r * (mine * (mine - 1) // 2)
  end
  return sum
end)

case("conditions of conditions", [[
  bool a = x & 1, b = x & 2, c = i & 4;
  if (a && (b || c) && !(a && b && c)) result = 1;
  if ((a ? b : c) != (b && !c)) result += 2;
  result += (a ? (b ? 10 : c ? 20 : 30) : (c ? 40 : 50));
]], function(x, i)
  local a, b, c = x & 1 ~= 0, x & 2 ~= 0, i & 4 ~= 0
  local result = 0
  if a and (b or c) and not (a and b and c) then result = 1 end
  local choice
  if a then choice = b else choice = c end
  if choice ~= (b and not c) then result = result + 2 end
  return result + (a and (b and 10 or c and 20 or 30) or (c and 40 or 50))
end)

case("a search of each thread's own in what all wrote", [[
  cell[i] = i * 3 + (x & 1);
  __syncthreads();
  int low = 0, high = n, wanted = (x & 0xffff) % (3 * n);
  while (low < high) {
    int middle = (low + high) / 2;
    if (cell[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  result = low;
]], function(x, _, n, block)
  local wanted, low, high = (x & 0xffff) % (3 * n), 0, n
  while low < high do
    local middle = (low + high) // 2
    if middle * 3 + (block[middle] & 1) < wanted then low = middle + 1 else high = middle end
  end
  return low
end)

for _, tier in ipairs(tiers) do
  describe("a kernel with one value a thread, " .. tier.name .. ":", function()
    local kernel = thread_cases.compile(cases, "", tier.options)
    for index, c in ipairs(cases) do
      it(c.name, function()
        for _, block in ipairs(blocks) do thread_cases.check(kernel(index), c.model, block, 3) end
      end)
    end
  end)
end
