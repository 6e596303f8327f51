-- Local arrays in kernels that run in lanes: lanes' elements are interleaved where possible.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local random = require "support.random" "local_arrays_spec"

local function int(value)
  value = value & 0xffffffff
  return value >= 0x80000000 and value - 0x100000000 or value
end

-- Bodies of kernels: x is the thread's input, 0 to 255; b a uniform number, 0 to 7; n is 15; r the result. Next to
-- each, the same in Lua.
local cases = {}

local function case(name, body, model) cases[#cases + 1] = { name = name, body = body, model = model } end

case("indexed by what all share", [[
  int a[16];
  for (int k = 0; k < 16; k++) a[k & n] = x * k + b;
  for (int k = 0; k < 16; k++) r = r * 3 + a[k * b & n];
]], function(x, b)
  local a, r = {}, 0
  for k = 0, 15 do a[k] = x * k + b end
  for k = 0, 15 do r = int(r * 3 + a[k * b & 15]) end
  return r
end)

case("indexed by what each has", [[
  int a[16];
  for (int k = 0; k < 16; k++) a[(k ^ x) & n] = k;
  for (int k = 0; k < 16; k++) if ((x >> (k & 7)) & 1) a[(x + k) & n] += a[k & n] * 7;
  for (int k = 0; k < 16; k++) r = r * 31 + a[k & n];
]], function(x)
  local a, r = {}, 0
  for k = 0, 15 do a[(k ~ x) & 15] = k end
  for k = 0, 15 do
    if x >> (k & 7) & 1 == 1 then a[x + k & 15] = int(a[x + k & 15] + a[k] * 7) end
  end
  for k = 0, 15 do r = int(r * 31 + a[k]) end
  return r
end)

case("that starts with zeros, with bytes, and with a list", [[
  int a[40] = {0}, list[10] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3};
  unsigned bytes[20];
  if (x & 1) memset(bytes, 0x12, sizeof bytes); else memset(bytes, x, sizeof bytes);
  if (x % 3 == 0) for (int k = 0; k < 40; k++) a[(k * 7 + x) % 40] += k;
  list[x % 10] += b;
  for (int k = 0; k < 40; k++) r = r * 5 + a[k % (n + 25)] + list[k % 10] + bytes[(k + x) % 20];
]], function(x, b)
  local a, list, r = {}, { [0] = 3, 1, 4, 1, 5, 9, 2, 6, 5, 3 }, 0
  for k = 0, 39 do a[k] = 0 end
  if x % 3 == 0 then
    for k = 0, 39 do
      local at = (k * 7 + x) % 40
      a[at] = a[at] + k
    end
  end
  local byte = x & 1 == 1 and 0x12 or x
  list[x % 10] = list[x % 10] + b
  for k = 0, 39 do r = int(r * 5 + a[k] + list[k % 10] + byte * 0x01010101) end
  return r
end)

case("of arrays and of structs", [[
  struct { float f; int i; } s[6];
  short grid[4][5];
  for (int k = 0; k < 6; k++) { s[k % (n - 9)].f = x * 0.5f + k; s[k].i = x - k; }
  for (int k = 0; k < 20; k++) grid[k % 4][k % (n - 10)] = x * k;
  s[x % 6].i += 100;
  grid[x % 4][b % 5] = 77;
  for (int k = 0; k < 6; k++) r = r * 3 + (int)(s[(k + x) % 6].f * 2) + s[(k + b) % 6].i;
  for (int k = 0; k < 20; k++) r = r * 3 + grid[(k + x) % 4][(k + b) % 5];
]], function(x, b)
  local f, i, grid, r = {}, {}, {}, 0
  for k = 0, 5 do f[k], i[k] = x + 2 * k, x - k end
  for k = 0, 19 do grid[k % 4 * 5 + k % 5] = (x * k + 0x8000 & 0xffff) - 0x8000 end
  i[x % 6] = i[x % 6] + 100
  grid[x % 4 * 5 + b % 5] = 77
  for k = 0, 5 do r = int(r * 3 + f[(k + x) % 6] + i[(k + b) % 6]) end
  for k = 0, 19 do r = int(r * 3 + grid[(k + x) % 4 * 5 + (k + b) % 5]) end
  return r
end)

case("of bytes, of doubles, of pointers", [[
  unsigned char c[32];
  double d[9];
  const int *p[4];
  for (int k = 0; k < 32; k++) c[k & (n + 16)] = x * 3 + k;
  for (int k = 0; k < 9; k++) d[k % (n - 6)] = x / 4.0 + k;
  for (int k = 0; k < 4; k++) p[k & n] = in + (x + k) % 7;
  for (int k = 0; k < 32; k++) r = r * 3 + c[(k * x) & 31] + (int)d[(k + x) % 9] + *p[(k + b) & 3];
]], function(x, b, input)
  local r = 0
  for k = 0, 31 do
    r = int(r * 3 + (x * 3 + (k * x & 31) & 255) + (x / 4 + (k + x) % 9) // 1 + input[(x + (k + b & 3)) % 7])
  end
  return r
end)

case("that a function is given", [[
  int a[12], count = 0;
  for (int k = 0; k < 12; k++) a[k] = (x * (k + 1)) & 63;
  sort(a, 12, &count);
  for (int k = 0; k < 12; k++) r = r * 5 + a[k];
  r += count;
]], function(x)
  local a, r, count = {}, 0, 0
  for k = 1, 12 do a[k] = x * k & 63 end
  for k = 2, 12 do
    local j = k
    while j > 1 and a[j - 1] > a[j] do
      a[j - 1], a[j] = a[j], a[j - 1]
      j, count = j - 1, count + 1
    end
  end
  for k = 1, 12 do r = int(r * 5 + a[k]) end
  return int(r + count)
end)

case("that lives across barriers", [[
  int a[8];
  for (int k = 0; k < 8; k++) a[k & n] = x + k;
  int *at = &a[b];
  __syncthreads();
  a[x & 7] *= 3;
  __syncthreads();
  *at += 1000;
  __syncthreads();
  for (int k = 0; k < 8; k++) r = r * 3 + a[(k + x) & 7];
]], function(x, b)
  local a, r = {}, 0
  for k = 0, 7 do a[k] = x + k end
  a[x & 7] = a[x & 7] * 3
  a[b] = a[b] + 1000
  for k = 0, 7 do r = int(r * 3 + a[k + x & 7]) end
  return r
end)

case("too large to be copied word by word", [[
  struct { int v[50]; } one, two;
  for (int k = 0; k < 50; k++) one.v[k] = x + k, two.v[k] = -k;
  if (x & 1) two = one;
  for (int k = 0; k < 50; k++) r = r * 3 + two.v[(k + x) % (n + 35)];
]], function(x)
  local r = 0
  for k = 0, 49 do
    local at = (k + x) % 50
    r = int(r * 3 + (x & 1 == 1 and x + at or -at))
  end
  return r
end)

local kernel_text = [[
__global__ void case_%d(const int *in, int *out, int b, int n) {
  int i = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z), x = in[i], r = 0;
  %s
  out[i] = r;
}
]]

local preamble = [[
__device__ void sort(int *a, int n, int *count) {
  for (int k = 1; k < n; k++)
    for (int j = k; j > 0 && a[j - 1] > a[j]; j--) {
      int t = a[j];
      a[j] = a[j - 1];
      a[j - 1] = t;
      ++*count;
    }
}
]]

-- All threads of a block wait at the barrier; their arrays fit on a stack together, or do not.
local large = [[
__global__ void large(int *out) {
  int a[300], i = threadIdx.x + blockDim.x * threadIdx.y, s = 0;
  for (int k = 0; k < 300; k++) a[k] = i * k;
  __syncthreads();
  for (int k = 0; k < 300; k++) s += a[(k + i) % 300] ^ k;
  __syncthreads();
  out[i] = s + a[i % 300];
}
]]

for _, width in ipairs { "1", "4", "16", "8x4" } do
  describe(("a local array, with %s lanes,"):format(width), function()
    local m
    setup(function()
      local texts = { preamble .. large }
      for i, c in ipairs(cases) do texts[i + 1] = kernel_text:format(i, c.body) end
      m = mw.compile { source = table.concat(texts), options = { "--width=" .. width } }
    end)

    for index, c in ipairs(cases) do
      it(c.name, function()
        local kernel = m["case_" .. index]
        if width ~= "1" then assert.equal("simd", kernel.tier, kernel.tier_reason) end
        for _, block in ipairs { { 64 }, { 37 }, { 8, 8 }, { 5, 3, 2 } } do
          local count, list, input = block[1] * (block[2] or 1) * (block[3] or 1), {}, {}
          for i = 1, count do
            list[i] = random(0, 255)
            input[i - 1] = list[i]
          end
          local from, out = mw.array(list, "int"), mw.zeros(count, "int")
          for b = 0, 7, 3 do
            kernel(1, block)(from, out, b, 15)
            for i, got in ipairs(out:totable()) do
              local wanted = c.model(list[i], b, input)
              if got ~= wanted then
                local threads = table.concat(block, "x")
                error(("%s threads, x = %d, b = %d: %d, not %d"):format(threads, list[i], b, got, wanted), 0)
              end
            end
          end
        end
      end)
    end

    it("may be large, and live across barriers, in blocks of any size", function()
      if width ~= "1" then assert.equal("simd", m.large.tier, m.large.tier_reason) end
      for _, block in ipairs { { 48 }, { 1024 }, { 1, 700 }, { 17, 20 } } do
        local count, wanted = block[1] * (block[2] or 1), {}
        for i = 0, count - 1 do
          local s = i * (i % 300)
          for k = 0, 299 do s = s + (i * ((k + i) % 300) ~ k) end
          wanted[i + 1] = int(s)
        end
        local out = mw.zeros(count, "int")
        m.large(1, block)(out)
        assert.same(wanted, out:totable())
      end
    end)
  end)
end
