-- Unstructured divergent control flow runs in lanes, with the results of a plain Lua model.
-- Lua 5.4 only: the compiler is tested, and models calculate in 64-bit integers.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local blocks = require "support.blocks"
local random = require "support.random" "control_flow_spec"

require "support.time_limit" (setup, teardown)

-- Bodies of kernels with these names: x, the thread's input, 0 to 63; b, a uniform number, 0 to 7; n, which is 9; r,
-- the result. Next to each, the same in Lua.
local cases = {}

local function case(name, body, model) cases[#cases + 1] = { name = name, body = body, model = model } end

case("a loop left two ways, one of them by all together", [[
  int k = 0;
  do {
    if (k == b) { r = 1000 + k; break; }
    if (k == x % 11) { r = 2000 + k; break; }
    k++;
  } while (k < n);
  r += k;
]], function(x, b, n)
  local k = 0
  repeat
    if k == b then return 1000 + 2 * k end
    if k == x % 11 then return 2000 + 2 * k end
    k = k + 1
  until k >= n
  return k
end)

case("a loop left to three places", [[
  for (int k = 0;; k++) {
    if (k == n) goto common;
    if (k * 7 % 13 == x % 13) goto own;
    if (k == b && (x & 1)) goto half;
    r += k;
  }
own:
  r += 100;
common:
  r += 10000;
  if (r & 1) goto out;
half:
  r *= 3;
out:;
]], function(x, b, n)
  local r, k = 0, 0
  local function half() return r * 3 end
  local function common()
    r = r + 10000
    return r & 1 == 1 and r or half()
  end
  while true do
    if k == n then return common() end
    if k * 7 % 13 == x % 13 then
      r = r + 100
      return common()
    end
    if k == b and x & 1 == 1 then return half() end
    r = r + k
    k = k + 1
  end
end)

case("a condition of what all share or each has", [[
  if (b == 3 || x > 20) r += 1;
  if (x > 30 || b == 4) r += 10;
  if ((b > 2 && x & 1) || (x & 2 && b < 5) || b == 7) r += 100; else r += x;
  if (b & 1) { if (x & 4) goto set; } else if (x & 8 && b != 2) goto set;
  r += 1000;
set:
  r += 10000;
]], function(x, b)
  local r = 0
  if b == 3 or x > 20 then r = r + 1 end
  if x > 30 or b == 4 then r = r + 10 end
  local either = b > 2 and x & 1 ~= 0 or x & 2 ~= 0 and b < 5 or b == 7
  r = r + (either and 100 or x)
  local set
  if b & 1 == 1 then set = x & 4 ~= 0 else set = x & 8 ~= 0 and b ~= 2 end
  return r + (set and 10000 or 11000)
end)

case("a switch that falls through", [[
  switch (x % 6) {
  case 0: r += 1;
  case 1: r += 20; if (b & 1) break;
  case 2: r += 300;
  default: r += 4000; if (b == 2) break;
  case 4: r += 50000;
  }
]], function(x, b)
  local at, r = x % 6, 0
  if at == 0 then r = r + 1 end
  if at <= 1 then
    r = r + 20
    if b & 1 == 1 then return r end
  end
  if at <= 2 then r = r + 300 end
  if at ~= 4 then
    r = r + 4000
    if b == 2 then return r end
  end
  return r + 50000
end)

case("loops within a loop, left by all and by each, to either loop's end", [[
  for (int i = 0; i < n; i++) {
    if (i == b) continue;
    for (int j = 0;; j++) {
      if (j == b) break;
      if (j > i) goto next;
      if ((x + i + j) % 17 == 0) goto out;
      if ((x ^ j) % 5 == i % 5) break;
      r += j + 1;
    }
    r += 100;
    if (i == 6 && b > 3) break;
  next:
    r += 1000;
  }
  r += 7;
out:
  r ^= 1;
]], function(x, b, n)
  local r = 0
  for i = 0, n - 1 do
    if i ~= b then
      local how
      for j = 0, 100 do
        if j == b then how = "break" break end
        if j > i then how = "next" break end
        if (x + i + j) % 17 == 0 then return r ~ 1 end
        if (x ~ j) % 5 == i % 5 then how = "break" break end
        r = r + j + 1
      end
      if how == "break" then
        r = r + 100
        if i == 6 and b > 3 then break end
      end
      r = r + 1000
    end
  end
  return (r + 7) ~ 1
end)

case("ways that cross", [[
  if (b & 1) {
    if (x & 1) goto left; else goto right;
  }
  if (x & 2) goto right;
  if (b & 2) goto meet;
left:
  r += 1;
  if (x & 4) goto meet;
right:
  r += 10;
  if (b == 5) goto out;
meet:
  r += 100;
out:
  r += x;
]], function(x, b)
  local r, at = 0, "left"
  if b & 1 == 1 then
    at = x & 1 == 1 and "left" or "right"
  elseif x & 2 ~= 0 then
    at = "right"
  elseif b & 2 ~= 0 then
    at = "meet"
  end
  if at == "left" then
    r = r + 1
    at = x & 4 ~= 0 and "meet" or "right"
  end
  if at == "right" then
    r = r + 10
    at = b == 5 and "out" or "meet"
  end
  if at == "meet" then r = r + 100 end
  return r + x
end)

case("a search that one thread's find ends for it, and a count for all", [[
  int tries = 0;
  for (;;) {
    if (++tries > n) { r = -1; break; }
    int v = (x * tries + b) % 23;
    if (v == 5) { r = v + 10 * tries; break; }
    if (v & 1) { if (tries > b + 3) { r = 9000 + v; break; } continue; }
    r += v;
    if (r > 60) break;
  }
  r = r * 16 + tries;
]], function(x, b, n)
  local tries, r = 0, 0
  while true do
    tries = tries + 1
    if tries > n then r = -1 break end
    local v = (x * tries + b) % 23
    if v == 5 then r = v + 10 * tries break end
    if v & 1 == 1 then
      if tries > b + 3 then r = 9000 + v break end
    else
      r = r + v
      if r > 60 then break end
    end
  end
  return r * 16 + tries
end)

local kernel_text = [[
__global__ void case_%d(const int *in, int *out, int b, int n) {
  int i = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  int x = in[i], r = 0;
  {
    %s
  }
  out[i] = r;
}
]]

for _, width in ipairs { 1, 4, 8, 16, 64 } do
  describe(("with %d lanes:"):format(width), function()
    local m
    setup(function()
      local parts = {}
      for i, c in ipairs(cases) do parts[i] = kernel_text:format(i, c.body) end
      m = mw.compile { source = table.concat(parts), options = { "--width=" .. width } }
    end)

    for index, c in ipairs(cases) do
      it(c.name, function()
        local kernel = m["case_" .. index]
        if width > 1 then assert.equal("simd", kernel.tier, kernel.tier_reason) end
        for _, block in ipairs(blocks) do
          local list = {}
          for i = 1, block.threads do list[i] = random(0, 63) end
          local input, output = mw.array(list, "int"), mw.zeros(block.threads, "int")
          for b = 0, 7 do
            kernel(1, block.size)(input, output, b, 9)
            local got = output:totable()
            for i, x in ipairs(list) do
              local wanted = c.model(x, b, 9)
              if got[i] ~= wanted then
                error(("%s, x = %d, b = %d: %d, not %d"):format(block, x, b, got[i], wanted), 0)
              end
            end
          end
        end
      end)
    end
  end)
end
