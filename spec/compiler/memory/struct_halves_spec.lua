-- Members of structs in vectors of two halves: lanes are permuted between de-interleaving and interleaving, whole
-- structs are loaded, and distant pairs are loaded at once. Numbers are small, so that sums are exact.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local random = require "support.random" "struct_halves_spec"

local N = 512 -- numbers of eight bytes that fill a page

local text = [==[
#define KERNEL(NAME, T, BODY) \
  extern "C" __global__ void NAME(int n, const T *a, const T *b, T *out) { \
    int i = blockIdx.x * blockDim.x + threadIdx.x; \
    BODY \
  }
#define PRODUCT(P, Q) (P).x * (Q).x - (P).y * (Q).y, (P).x * (Q).y + (P).y * (Q).x

KERNEL(product, float2, out[i] = make_float2(PRODUCT(a[i], b[i]));)
KERNEL(product_double, double2, out[i] = make_double2(PRODUCT(a[i], b[i]));)
/* one of them is wanted where it is, too */
KERNEL(alone, float2, out[i] = make_float2(PRODUCT(a[i], b[i])); ((float *)(out + n))[i] = a[i].x;)
KERNEL(numbered, float2, out[i] = make_float2(a[i].x + i, a[i].y - i);)
KERNEL(larger, float2, float2 p = a[i]; float2 q = b[i]; out[i] = make_float2(p.x > q.y ? p.x : q.x, p.y * 2);)
KERNEL(powers, float2, float2 p = b[i]; for (int k = 0; k < 3; k++) p = make_float2(PRODUCT(p, a[i])); out[i] = p;)
/* pairs in wide steps */
KERNEL(far, float2, out[i] = make_float2(PRODUCT(a[i], b[i % 32 * 16]));)
KERNEL(second, float2, ((float *)out)[i] = a[i].y;)
KERNEL(four, float4, float4 v = a[i]; out[i] = make_float4(v.x + v.z, v.y - v.w, v.x - v.z, v.y + v.w);)
KERNEL(some, float2, if (a[i].x > 0) out[i] = make_float2(PRODUCT(a[i], b[i]));)
]==]

local function product(a, b) return { a[1] * b[1] - a[2] * b[2], a[1] * b[2] + a[2] * b[1] } end

-- The number that thread i stores, from both arrays' numbers; `more` are those after the arrays.
local models = {
  product = { model = function(_, a, b) return product(a, b) end },
  product_double = { model = function(_, a, b) return product(a, b) end, type = "double", numbers = N / 2 },
  alone = { model = function(_, a, b) return product(a, b) end, more = function(a) return a[1] end },
  numbered = { model = function(i, a) return { a[1] + i, a[2] - i } end },
  larger = { model = function(_, a, b) return { a[1] > b[2] and a[1] or b[1], a[2] * 2 } end },
  powers = { model = function(_, a, b) return product(product(product(b, a), a), a) end },
  far = { model = function(i, a, _, all) return product(a, all[i % 32 * 16 + 1]) end },
  some = { model = function(_, a, b) return a[1] > 0 and product(a, b) or { 0, 0 } end },
}

local function numbers(count)
  local list = {}
  for i = 1, count do list[i] = { random(-9, 9), random(-9, 9) } end
  return list
end

local function array(list, type)
  local flat = {}
  for i, pair in ipairs(list) do flat[2 * i - 1], flat[2 * i] = pair[1], pair[2] end
  return mw.array(flat, type)
end

local function check(m, name, case)
  local count, type = case.numbers or N, case.type or "float"
  local a, b = numbers(count), numbers(count)
  local out, wanted = mw.zeros(count * 2 + (case.more and count or 0), type), {}
  m[name](count / 128, 128)(count, array(a, type):as(type .. "2"), array(b, type):as(type .. "2"), out:as(type .. "2"))
  for i = 1, count do
    local pair = case.model(i - 1, a[i], b[i], b)
    wanted[2 * i - 1], wanted[2 * i] = pair[1], pair[2]
  end
  for i = 1, case.more and count or 0 do wanted[2 * count + i] = case.more(a[i]) end
  assert.same(wanted, out:totable(), name)
end

describe("members of structs in vectors", function()
  local is_x86 = mwcc.try("", "--mcpu=x86-64-v2 --emit=ir"):find("target triple = \"x86_64", 1, true)
  for _, processor in ipairs { "native", "x86-64-v2", "x86-64-v3" } do
    for _, width in ipairs { "own", "8x2", "4x2", "16" } do
      if processor == "native" or is_x86 then
        it(("are each thread's: %s, width %s"):format(processor, width), function()
          local options = { "--mcpu=" .. processor }
          if width ~= "own" then options[2] = "--width=" .. width end
          local m = mw.compile { source = text, options = options }
          for name, case in pairs(models) do check(m, name, case) end
          local a, out = numbers(N), mw.zeros(N)
          m.second(4, 128)(N, array(a, "float"):as "float2", array(a, "float"):as "float2", out:as "float2")
          for i = 1, N do assert.equal(a[i][2], out[i]) end
          out = mw.zeros(2 * N)
          m.four(2, 128)(N, array(a, "float"):as "float4", array(a, "float"):as "float4", out:as "float4")
          for i = 1, N, 2 do
            local p, q = a[i], a[i + 1]
            local wanted = { p[1] + q[1], p[2] - q[2], p[1] - q[1], p[2] + q[2] }
            for k = 1, 4 do assert.equal(wanted[k], out[2 * i - 2 + k]) end
          end
        end)
      end
    end
  end

  local function code(name, width, what)
    local options = "--target=x86_64-linux-gnu --mcpu=x86-64-v3 --emit=%s --launch=%s:128x1x1 %s"
    return mwcc.run(text, options:format(what, name, width and "--width=" .. width or ""))
  end

  local function moves(name, width)
    local output, count = code(name, width, "asm"), 0
    for _, move in ipairs { "vpermpd", "vpermps", "vpermq", "vperm2f128" } do
      count = count + mwcc.count(output, move)
    end
    return count
  end

  it("stay in their halves if the order of lanes does not matter", function()
    for _, name in ipairs { "product", "larger", "powers", "far" } do assert.equal(0, moves(name), name) end
    assert.equal(0, moves("product_double", "4x2"))
    for _, name in ipairs { "alone", "numbered" } do assert.is_true(moves(name) > 0, name) end
  end)

  it("are loaded as whole structs", function()
    assert.equal(4, mwcc.count(code("product", "8x1", "ir"), "= load <8 x float>"))
  end)

  it("are one load if lanes are far apart", function()
    local loads = "= load i64, ptr %%[%w.]+, align 8[^\n]*\n[^\n]*insertelement"
    assert.equal(8, mwcc.count(code("far", "8x1", "ir"), loads))
  end)
end)
