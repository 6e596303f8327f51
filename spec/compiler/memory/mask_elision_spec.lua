-- Mask elision: masked loads and stores on processors without masked instructions are whole vectors if that is correct,
-- and access only the active lanes' memory otherwise. Arrays here are whole pages between inaccessible pages.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local BLOCK, PAGE = 256, 4096

local text = [==[
#define KERNELS(NAME, TYPE) \
  /* lanes of the first and the last gangs, and those behind the array, are not active */ \
  extern "C" __global__ void NAME##_shifted(int n, const TYPE *in, TYPE *out) { \
    int i = blockIdx.x * blockDim.x + threadIdx.x; \
    if (i >= 5 && i < n - 3) out[i] = in[i - 5] + in[i + 3]; \
  } \
  extern "C" __global__ void NAME##_thirds(int n, const TYPE *in, TYPE *out) { \
    int i = blockIdx.x * blockDim.x + threadIdx.x; \
    if (i < n && (int)in[i] % 3 == 0) out[i] = in[i] * 2; \
  } \
  /* a loop that lanes leave one by one */ \
  extern "C" __global__ void NAME##_run(int n, const TYPE *in, TYPE *out) { \
    int i = blockIdx.x * blockDim.x + threadIdx.x, length = 0; \
    if (i >= n) return; \
    while (i + length < n && in[i + length] != (TYPE)0) length++; \
    out[i] = length; \
  } \
  /* rows: parts of a gang lie far from each other */ \
  extern "C" __global__ void NAME##_rows(int n, int pitch, const TYPE *in, TYPE *out) { \
    int at = threadIdx.y * pitch + threadIdx.x; \
    if (threadIdx.x < 13 && threadIdx.y % 3 != 1 && at < n) out[at] = in[at] + 1; \
  } \
  extern "C" __global__ void NAME##_shared(int from, int step, TYPE *out) { \
    __shared__ TYPE part[256]; \
    int t = threadIdx.x; \
    part[t] = t % 50; \
    __syncthreads(); \
    TYPE above = t + step < 256 ? part[t + step] : (TYPE)7; \
    __syncthreads(); \
    if (t >= from && t + step < 256) part[t + step] = above + t % 20; \
    __syncthreads(); \
    if (t % 3 == 1) part[t] += 1; \
    __syncthreads(); \
    out[t] = part[t]; \
  } \
  /* columns, of which lanes that are not active lie before the first page and behind the last */ \
  extern "C" __global__ void NAME##_columns(int from, int first, TYPE *out) { \
    __shared__ TYPE part[4096 / sizeof(TYPE)]; \
    int t = threadIdx.x, n = 4096 / sizeof(TYPE); \
    for (int i = t; i < n; i += 256) part[i] = i % 50; \
    __syncthreads(); \
    TYPE value = t >= from && (t - from) * 5 + first < n ? part[(t - from) * 5 + first] : (TYPE)77; \
    if (t % 16 > 5) value += part[t / 16 + t % 16 * 5 + first % 8]; \
    out[t] = value; \
  }

KERNELS(byte, unsigned char)
KERNELS(half, short)
KERNELS(word, int)
KERNELS(real, float)
KERNELS(twice, double)
]==]

local types = { byte = "uchar", half = "short", word = "int", real = "float", twice = "double" }
local sizes = { byte = 1, half = 2, word = 4, real = 4, twice = 8 }

local function filled(n, f)
  local list = {}
  for i = 1, n do list[i] = f(i - 1) end
  return list
end

local function expect(array, f, what)
  local list = array:totable()
  for i = 1, #list do
    local wanted = f(i - 1)
    if list[i] ~= wanted then error(("%s: element %d is %s, not %s"):format(what, i - 1, list[i], wanted)) end
  end
end

local function check_arrays(m, name, what)
  local n = PAGE / sizes[name]
  local blocks = math.ceil(n / BLOCK) + 1
  local values = filled(n, function(i) return i % 17 % 11 end)
  local function at(i) return values[i + 1] end
  local input, out = mw.array(values, types[name]), mw.zeros(n, types[name])
  m[name .. "_shifted"](blocks, BLOCK)(n, input, out)
  expect(out, function(i) return i >= 5 and i < n - 3 and at(i - 5) + at(i + 3) or 0 end, what .. " shifted")

  out = mw.array(filled(n, function(i) return i % 100 end), types[name])
  m[name .. "_thirds"](blocks, BLOCK)(n, input, out)
  expect(out, function(i) return at(i) % 3 == 0 and at(i) * 2 or i % 100 end, what .. " thirds")

  local lengths = {}
  for i = n - 1, 0, -1 do lengths[i] = at(i) == 0 and 0 or 1 + (lengths[i + 1] or 0) end
  out = mw.zeros(n, types[name])
  m[name .. "_run"](blocks, BLOCK)(n, input, out)
  expect(out, function(i) return lengths[i] end, what .. " run")

  local pitch = math.floor(n / 8)
  out = mw.zeros(n, types[name])
  m[name .. "_rows"](1, { 16, 9 })(n, pitch, input, out)
  expect(out, function(i)
    local x, y = i % pitch, i // pitch
    return x < 13 and y % 3 ~= 1 and at(i) + 1 or 0
  end, what .. " rows")
end

local function check_shared(m, name, what)
  for _, case in ipairs { { 0, 5 }, { 9, 1 }, { 200, 30 }, { 0, 255 } } do
    local from, step = case[1], case[2]
    local out = mw.zeros(BLOCK, types[name])
    m[name .. "_shared"](2, BLOCK)(from, step, out)
    expect(out, function(i)
      local t = i - step
      local value = i % 50
      if t >= from then value = value + t % 20 end
      return i % 3 == 1 and value + 1 or value
    end, ("%s shared from %d by %d"):format(what, from, step))
  end
end

local function check_columns(m, name, what)
  local n = PAGE / sizes[name]
  for _, case in ipairs { { 0, 0 }, { 11, 0 }, { 3, n - 36 }, { 250, 7 }, { 0, n - 1 } } do
    local from, first = case[1], case[2]
    local out = mw.zeros(BLOCK, types[name])
    m[name .. "_columns"](2, BLOCK)(from, first, out)
    expect(out, function(t)
      local at = (t - from) * 5 + first
      local value = t >= from and at < n and at % 50 or 77
      return value + (t % 16 > 5 and (t // 16 + t % 16 * 5 + first % 8) % 50 or 0)
    end, ("%s columns from %d at %d"):format(what, from, first))
  end
end

describe("some lanes of vectors", function()
  local processors = { "native", "x86-64-v2", "x86-64-v3" }
  local is_x86 = mwcc.try("", "--mcpu=x86-64-v2 --emit=ir"):find("target triple = \"x86_64", 1, true)
  for _, processor in ipairs(processors) do
    for _, width in ipairs { "own", "8x4", "32x1" } do
      if processor == "native" or is_x86 then
        it(("access active lanes' memory only: %s, width %s"):format(processor, width), function()
          local options = { "--mcpu=" .. processor }
          if width ~= "own" then options[2] = "--width=" .. width end
          local m = mw.compile { source = text, options = options }
          for name in pairs(types) do
            local what = ("%s, width %s: %s"):format(processor, width, name)
            check_arrays(m, name, what)
            check_shared(m, name, what)
            check_columns(m, name, what)
          end
        end)
      end
    end
  end

  local function ir(processor, body)
    local source = ("extern \"C\" __global__ void f(int n, const unsigned char *in, float *out) {\n%s }"):format(body)
    local options = "--target=%s --mcpu=%s --emit=ir --verify --without=thread-regions --without=tile-layout "
      .. "--launch=f:256x1x1"
    return mwcc.run(source, options:format(
      processor == "generic" and "aarch64-linux-gnu" or "x86_64-linux-gnu", processor))
  end

  it("are whole vectors of bytes if they do not cross a page", function()
    local body = "int i = blockIdx.x * 256 + threadIdx.x; if (i < n) out[i] = in[i] * 2;"
    for processor, loads in pairs { ["x86-64-v2"] = "4 x i8", ["x86-64-v3"] = "8 x i8", generic = "4 x i8" } do
      local code = ir(processor, body)
      assert.matches("load <" .. loads .. ">", code)
      assert.matches("and i64 %%[%w.]+, 4095", code)
      assert.not_matches("masked%.load[%w.]*i8", code)
    end
    assert.matches("masked%.load%.v16i8", ir("x86-64-v4", body))
  end)

  it("are stored as whole vectors only in shared memory, unless all are active", function()
    local shared = "__shared__ float part[256]; int t = threadIdx.x; part[t] = t; __syncthreads();"
      .. "if (t < n) part[t] += part[t ^ 64]; __syncthreads(); out[t] = part[t ^ 1];"
    assert.matches("select <8 x i1> [^\n]*<8 x float>", ir("x86-64-v3", shared))
    local global = "int t = threadIdx.x; if (in[t]) out[t] = n;"
    local code = ir("x86-64-v3", global)
    assert.matches("masked%.store%.v8f32", code)
    assert.matches("\n  store <8 x float>", code)
    assert.not_matches("load <8 x float>", code)
    for _, processor in ipairs { "x86-64-v2", "generic" } do
      code = ir(processor, global)
      assert.not_matches("masked%.store", code)
      assert.matches("store <4 x float>", code)
      assert.not_matches("load <4 x float>, ptr %%[%w.]*out", code)
    end
  end)

  it("are loaded one by one from a column in shared memory, without regard to the mask", function()
    local body = "__shared__ float part[256][17]; int t = threadIdx.x; part[t][0] = t; __syncthreads();"
      .. "out[t] = t < n ? part[t][%s] : 7;"
    for processor, lanes in pairs { ["x86-64-v2"] = 4, ["x86-64-v3"] = 8, generic = 4 } do
      local code = ir(processor, body:format "0")
      assert.matches("getelementptr [%w ]*i8, ptr %%[%w.]+, i64 " .. (lanes - 1) * 68, code)
      assert.matches("and i64 %%[%w.]+, 4095", code)
    end
    assert.not_matches("and i64 %%[%w.]+, 4095", ir("x86-64-v4", body:format "0"))
    -- elsewhere that would load unneeded cache lines
    local global = "const float *from = (const float *)in; int t = threadIdx.x; out[t] = t < n ? from[t * 17] : 7;"
    assert.not_matches("and i64 %%[%w.]+, 4095", ir("x86-64-v3", global))
  end)

  it("have no other alignment than an element's, though an active lane reads an aligned vector", function()
    local body = [[int t = threadIdx.x;
      if ((t & 3) == n) {
        float4 v = *(const float4 *)((const float *)in + t - n);
        v.x += v.y * v.z + v.w;
        *(float4 *)((float *)out + t - n) = v;
      }]]
    local code = ir("x86-64-v4", body):gsub("v16f32", "v4f32")
    assert.matches("masked%.load%.v4f32%.p0%(ptr [^,]*, i32 4,", code)
    assert.not_matches("masked%.[%w]+%.v4f32%.p0%([^\n]*ptr [^,]*, i32 16,", code)
    local source = "extern \"C\" __global__ void f(const float *in, float *out, int n) { " .. body .. " }"
    local list, before = {}, mw.limit("specialise", 0)
    for i = 1, 64 do list[i] = i * i % 31 end
    local a, results = mw.array(list), {}
    for i, options in ipairs { { "-G", "--width=1" }, { "--width=4" }, { "--width=16" } } do
      local out = mw.zeros(64)
      mw.compile { source = source, options = options }.f(1, 64)(a, out, 1)
      results[i] = out:totable()
    end
    mw.limit("specialise", before)
    assert.same(results[1], results[2])
    assert.same(results[1], results[3])
  end)
end)
