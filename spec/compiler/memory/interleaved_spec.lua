-- Interleaved access: structs of two, three or four equal members, and every second, third or fourth element of arrays,
-- as whole vectors if all lanes are active; no other memory is accessed.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local random = require "support.random" "interleaved_spec"

local preamble = [[
template <typename T> struct two { T a, b; };
template <typename T> struct three { T a, b, c; };
template <typename T> struct four { T a, b, c, d; };
struct mixed { int i; unsigned u; int j; };

__device__ int number() {
  int block = blockIdx.x + gridDim.x * blockIdx.y;
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * block);
}
]]

local cases = {}

-- A kernel over arrays `in` and `out` of structs with so many members of that type: its body, for thread i of the
-- launch, and the expected result: at(j, k) is member k of in[j], n the number of structs to process.
local function case(name, type, struct, members, body, model)
  cases[#cases + 1] = { name = name, type = type, struct = struct, members = members, body = body, model = model }
end

for _, type in ipairs { "uchar", "ushort", "int", "longlong", "float", "double" } do
  local c = type:gsub("^u", "unsigned "):gsub("longlong", "long long")
  case("two of " .. type, type, ("two<%s>"):format(c), 2, [[
    if (i < n) { S v = in[i]; out[i].a = v.b + 1; out[i].b = v.a; }
  ]], function(i, at) return at(i, 1) + 1, at(i, 0) end)
  case("three of " .. type, type, ("three<%s>"):format(c), 3, [[
    if (i < n) { S v = in[i], r; r.a = v.b + v.c; r.b = v.a; r.c = v.c + v.c; out[i] = r; }
  ]], function(i, at) return at(i, 1) + at(i, 2), at(i, 0), at(i, 2) * 2 end)
  case("four of " .. type, type, ("four<%s>"):format(c), 4, [[
    if (i < n) { S v = in[i]; v.d += v.a; v.b = v.c; out[i] = v; }
  ]], function(i, at) return at(i, 0), at(i, 2), at(i, 2), at(i, 3) + at(i, 0) end)
end

case("float4", "float", "float4", 4, "if (i < n) { S v = in[i]; out[i] = make_float4(v.w, v.z, v.y, v.x); }",
  function(i, at) return at(i, 3), at(i, 2), at(i, 1), at(i, 0) end)

case("copies backwards", "float", "float4", 4, "if (i < n) out[i] = in[n - 1 - i];", function(i, at, n)
  return at(n - 1 - i, 0), at(n - 1 - i, 1), at(n - 1 - i, 2), at(n - 1 - i, 3)
end)

case("copies of three", "int", "three<int>", 3, "if (i < n) out[i] = in[i];", function(i, at)
  return at(i, 0), at(i, 1), at(i, 2)
end)

case("a member that is loaded again between stores", "int", "two<int>", 2, [[
  if (i < n) { out[i] = in[i]; out[i].a += 3; out[i].b *= out[i].a; }
]], function(i, at) return at(i, 0) + 3, at(i, 1) * (at(i, 0) + 3) end)

case("another element that is loaded between stores", "int", "two<int>", 2, [[
  if (i < n) { out[i].a = in[i].a; int b = in[n - 1 - i].b + out[i].a; out[i].b = b; }
]], function(i, at, n) return at(i, 0), at(n - 1 - i, 1) + at(i, 0) end)

case("one member alone", "int", "three<int>", 3, "if (i < n) out[i].b = in[i].c;", function(i, at)
  return 0, at(i, 2), 0
end)

case("two members of four", "int", "four<int>", 4, "if (i < n) { out[i].b = in[i].c; out[i].c = in[i].d; }",
  function(i, at) return 0, at(i, 2), at(i, 3), 0 end)

case("members in another order", "int", "mixed", 3, [[
  if (i < n) { out[i].u = in[i].j + 1u; out[i].j = in[i].i * 2; out[i].i = -in[i].u; }
]], function(i, at) return -at(i, 1), at(i, 2) + 1, at(i, 0) * 2 end)

case("every second, third and fourth element", "int", "four<int>", 4, [[
  if (i < n) {
    const int *p = &in->a;
    int *q = &out->a, a = p[2 * i] - p[2 * i + 1], b = p[3 * i + 2], c = p[4 * i + 3];
    q[4 * i + 1] = a; q[4 * i] = b; q[4 * i + 3] = c; q[4 * i + 2] = i;
  }
]], function(i, at)
  return at(0, 3 * i + 2), at(0, 2 * i) - at(0, 2 * i + 1), i, at(i, 3)
end)

case("structs in shared memory", "int", "four<int>", 4, [[
  __shared__ four<int> cell[256];
  int t = threadIdx.x + blockDim.x * threadIdx.y;
  cell[t] = in[i];
  __syncthreads();
  four<int> v = cell[t];
  v.c += 1;
  if (i < n) out[i] = v;
]], function(i, at) return at(i, 0), at(i, 1), at(i, 2) + 1, at(i, 3) end)

case("some threads only", "int", "two<int>", 2, [[
  if (i < n && i % 3) { S v = in[i]; out[i].b = v.a; out[i].a = v.b; }
]], function(i, at) if i % 3 ~= 0 then return at(i, 1), at(i, 0) end return 0, 0 end)

local kernel_text = [[
extern "C" __global__ void case_%d(const %s *in_, %s *out_, int n) {
  typedef %s S;
  const S *in = (const S *)in_;
  S *out = (S *)out_;
  int i = number();
  %s
}
]]

local launches = { { { 3 }, { 64 } }, { { 2, 2 }, { 16, 8 } }, { { 3 }, { 37 } }, { { 1 }, { 256 } } }

-- Arrays end with their last struct: memory after it is not theirs.
local function check(c, kernel)
  for _, launch in ipairs(launches) do
    local grid, block, members, list = launch[1], launch[2], c.members, {}
    local count = grid[1] * (grid[2] or 1) * block[1] * (block[2] or 1)
    for i = 1, count * members do list[i] = random(0, 40) end
    local function at(i, k) return list[i * members + k + 1] end
    for _, n in ipairs { count, count - 5 } do
      local from, out = mw.array(list, c.type), mw.zeros(count * members, c.type)
      kernel(grid, block)(from, out, n)
      local got = out:totable()
      for i = 0, count - 1 do
        local wanted = i < n and { c.model(i, at, n) } or {}
        for k = 1, members do
          local value = got[i * members + k]
          if value ~= (wanted[k] or 0) then
            error(("%s threads, n = %d: member %d of thread %d is %s, not %s"):format(table.concat(block, "x"), n,
              k - 1, i, value, wanted[k] or 0), 0)
          end
        end
      end
    end
  end
end

for _, width in ipairs { "1", "4", "8", "16", "8x4" } do
  describe(("access in %s lanes to"):format(width), function()
    local m
    setup(function()
      local texts = { preamble }
      for i, c in ipairs(cases) do
        local type = c.type:gsub("^u", "unsigned "):gsub("longlong", "long long")
        texts[i + 1] = kernel_text:format(i, type, type, c.struct, c.body)
      end
      m = mw.compile { source = table.concat(texts), options = { "--width=" .. width } }
    end)

    for i, c in ipairs(cases) do
      it(c.name, function()
        local kernel = m["case_" .. i]
        if width ~= "1" then assert.equal("simd", kernel.tier, kernel.tier_reason) end
        check(c, kernel)
      end)
    end
  end)
end
