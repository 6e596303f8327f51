-- Independent iterations of grid-stride loops are distributed over workers like blocks.
-- Lua 5.4 only: the compiler and the runtime are tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local run = require "support.child"

local function source(body, count)
  local text = [[
    struct three { int a, b, c; };
    extern "C" __global__ void k(int n, const int *x, int *y, int *z, int m) {
      for (COUNT i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) { %s }
    }]]
  return (text:format(body):gsub("COUNT", count or "int"))
end

local function is_shared(text, class)
  local report = mwcc.run(text, "--verify --mcpu=x86-64-v4 --report --launch=k:" .. (class or "64x1x1"))
  assert.matches("kernel k: simd", report)
  return report:find("shared by the workers", 1, true) ~= nil
end

local free = {
  { "y[i] = 3 * x[i] + y[i];" },
  { "y[i] = 3 * x[i] + y[i];", "size_t" },
  { "y[i] = 3 * x[i] + y[i];", "unsigned" },
  { "if (x[i] % 3) y[i] += i; else z[i] = x[i];" },
  { "y[i] = x[i] + x[i + 1] * x[2 * i];" },
  { "three *s = (three *)y; s[i].a = x[i]; s[i].c ^= x[i] + s[i].b;" },
  { "((int2 *)y)[i].x = x[i];" },
  { "y[2 * i] = x[i]; y[2 * i + 1] = -x[i];" },
  { "y[i + 5] = x[i] + x[0];" },
  { "int sum = 0; for (int j = 0; j < 7; j++) sum += x[i * 7 + j]; y[i] = sum;" },
  { "y[i] = z[i], z[i] = x[i];" },
}

local bound = {
  { "y[i] += x[i]; y[i + 1] = 0;" }, -- a race, but not for a grid of one thread
  { "y[i] = y[0] + x[i];" }, { "y[0] = x[i];" }, { "y[i % 7] = x[i];" }, { "y[x[i] & 15] = i;" },
  { "y[i + m] = x[i];" }, { "y[i] = i < m ? x[i] : y[i - m];" }, { "y[i] = x[x[i] & 31];" },
  { "atomicAdd(&y[i & 1], x[i]);" }, { "y[i / 2] = x[i];" }, { "y[i & 63] = x[i];" },
  { "y[2 * i] = x[i]; z[i] = y[2 * i + 2];" }, { "((short *)y)[i] = y[i];" },
}

describe("iterations of grid-stride loops", function()
  it("are distributed if each accesses elements of its own", function()
    for _, form in ipairs(free) do assert.is_true(is_shared(source(form[1], form[2])), form[1]) end
  end)

  it("are not if one may depend on another", function()
    for _, form in ipairs(bound) do assert.is_false(is_shared(source(form[1])), form[1]) end
  end)

  it("are those of a block in a grid of one", function()
    local text = source("y[i] = 3 * x[i] + y[i];"):gsub("blockIdx.x %* blockDim.x %+ ", ""):gsub("gridDim.x %* ", "")
    assert.is_true(is_shared(text, "64x1x1:one"))
    assert.is_false(is_shared(text, "64x1x1:few"))
    assert.is_true(is_shared(source "y[i] = 3 * x[i] + y[i];", "64x1x1:one"))
  end)

  -- The memory after the loops, with so many workers; x, y and z are at these places of one array, and the grid has G
  -- threads.
  local function results(forms, places, threads, specialise)
    local made = {}
    for n, form in ipairs(forms) do made[n] = source(form[1], form[2]) end
    local script = ([[
      local mw = require "moonwarp"
      local list, texts = {}, { %s }
      for i = 1, 27000 do list[i] = i * 7919 %% 1009 - 500 end
      for form, text in ipairs(texts) do
        local hash, kernel = 0, mw.compile(text).k
        for _, n in ipairs { 0, 1, 65, 1000 } do
          for _, blocks in ipairs { 1, 2, 3, 7 } do
            local G = 64 * blocks
            local all, at = mw.array(list, "int"), { %s }
            for _ = 1, 2 do kernel(blocks, 64)(n, all:sub(at[1]), all:sub(at[2]), all:sub(at[3]), 3) end
            for i, number in ipairs(all:totable()) do hash = (hash * 31 + number + i) %% 0x7fffffff end
          end
        end
        print(form, hash)
      end
    ]]):format("[=[" .. table.concat(made, "]=], [=[") .. "]=]", places)
    local environment = { MOONWARP_THREADS = threads, MOONWARP_SPECIALISE = specialise }
    return run({ script, environment = environment }).output
  end

  local function check(forms, places)
    local want = results(forms, places, 1, 1e15)
    assert.matches("\n" .. #forms .. "%s+%d+\n$", "\n" .. want)
    for _, threads in ipairs { 1, 4 } do assert.equal(want, results(forms, places, threads, 0)) end
  end

  it("have the same results as in the loop tier", function() check(free, "1, 9001, 18001") end)

  it("have them if arrays are the same", function()
    check({ { "y[i] = 3 * x[i] + y[i];" }, { "z[i] += y[i] ^ x[i];" } }, "1, 1, 1")
  end)

  it("have them if a thread accesses elements of other iterations in another array", function()
    local forms = {
      { "y[i] = 3 * x[i] + y[i];" }, { "z[i] = x[i]; y[i] ^= z[i];" }, { "y[i] = x[i], z[i] = y[i] + 1;" },
    }
    for _, places in ipairs { "1, G + 1, 18001", "G + 1, 1, 18001", "1, G + 1, 2 * G + 1", "G + 1, 2 * G + 1, 1" } do
      check(forms, places)
    end
  end)

  it("may be none, or too many to count", function()
    local kernel = mw.compile(source("if (i >= 5000) return; y[i] = x[i];", "unsigned")).k
    local before = mw.limit("specialise", 0)
    local x, y = mw.full(5000, 7, "int"), mw.zeros(5000, "int")
    for _, n in ipairs { -1, 0, 5000 } do kernel(2, 64)(n, x, y, nil, 0) end
    mw.limit("specialise", before)
    assert.equal(5000 * 7, y:sum())
  end)

  it("run in a graph, and in launches whose blocks may wait for each other", function()
    local before = mw.limit("specialise", 0)
    local kernel = mw.compile(source "y[i] = 3 * x[i] + y[i];").k
    local s, x, y = mw.stream(), mw.ones(5000, "int"), mw.zeros(5000, "int")
    for _ = 1, 2 do kernel(3, 64)(5000, x, y, nil, 0) end
    local graph = mw.capture(s, function() for _ = 1, 3 do kernel(3, 64, 0, s)(5000, x, y, nil, 0) end end)
    local exec = graph:instantiate()
    exec:launch(s)
    exec:launch(s)
    kernel:cooperative(2, 64)(5000, x, y, nil, 0)
    mw.limit("specialise", before)
    mw.synchronize()
    assert.same({ 27, 27 }, { y:min(), y:max() })
  end)

  it("name the block of an invalid address", function()
    local result = run { [[
      local mw = require "moonwarp"
      local kernel = mw.compile [=[__global__ void k(int n, int *y) {
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
          y[i] = i;
        }
      }]=].k
      for _ = 1, 2 do
        kernel(5, 64)(4096 + 64, mw.zeros(4096, "int")) -- the 65th 64 elements: block 5, iteration 13
        local _, err = pcall(mw.synchronize)
        print(err.block[1])
      end
    ]], environment = { MOONWARP_THREADS = "4", MOONWARP_SPECIALISE = "0" } }
    assert.equal(("4\n"):rep(2), result.output)
  end)
end)
