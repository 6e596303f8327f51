-- Staging elimination for rows: data that blocks copy to shared memory for all of their threads is read in place, in
-- grids of few blocks.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local run = require "support.child"

-- A result of each thread from all elements of an array, with placeholders for variants.
local text = [[
  struct pair { int first, second; };
  PREAMBLE
  extern "C" __global__ void all(int n, const void *numbers, const int *more, int *to) {
    const T *from = (const T *)numbers;
    __shared__ T line[256 PAD];
    __shared__ int other[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t, sum = i;
    GUARD
    for (LOOP) {
      AHEAD // filled below
      PUT;
      __syncthreads();
      ROUND sum = sum * 3 + (GET);
      BEHIND
      __syncthreads();
    }
    to[i] = sum;
    LAST
  }]]

local usual = {
  T = "int", PREAMBLE = "", PAD = "", GUARD = "", LOOP = "int start = 0; start < n; start += 256", AHEAD = "",
  PUT = "line[t] = from[start + t]", ROUND = "for (int j = 0; j < 256; j++)", GET = "line[j]", BEHIND = "", LAST = "",
}

local function source(changes)
  local all = setmetatable(changes or {}, { __index = usual })
  local made = text:gsub("%u%u[%u_]+", function(word) return rawget(all, word) or usual[word] end)
  return (made:gsub("%f[%w_]T%f[^%w_]", rawget(all, "T") or usual.T))
end

-- Whether the code for grids of few blocks has no barriers.
local function is_unstaged(changes, class)
  local options = "--verify --mcpu=x86-64-v4 --report --launch=all:"
  local made = source(changes)
  local report = mwcc.run(made, options .. (class or "256x1x1:few"))
  assert.matches("kernel all: simd", report)
  local line = select(2, made:match("^(.-)// filled below"):gsub("\n", "")) + 2
  return not report:find(("\n *%d:%%d+ +[^\n]*store"):format(line))
end

local function numbers(n)
  local list = {}
  for i = 1, n do list[i] = i * 7919 % 1009 end
  return mw.array(list, "int")
end

describe("rows in shared memory", function()
  -- of code for grids of few blocks, or for all launches
  local function results(changes, blocks, n, special)
    local before = mw.limit("specialise", special and 0 or 1e15)
    local kernel = mw.compile(source(changes)).all
    local from, more, to = numbers(2 * n + 256), numbers(n + 256), mw.zeros(256 * blocks, "int")
    for _ = 1, 2 do kernel(blocks, 256)(n, from, more, to) end
    mw.limit("specialise", before)
    return to:totable()
  end

  local function check(changes)
    for _, blocks in ipairs { 1, 2, 5 } do
      for _, n in ipairs { 0, 256, 1280 } do
        assert.same(results(changes, blocks, n, false), results(changes, blocks, n, true))
      end
    end
  end

  describe("are read in place", function()
    local forms = {
      { "as they are mostly written" },
      { "of structs", { T = "pair", GET = "line[j].second ^ line[j].first" } },
      { "of elements that are put together",
        { T = "pair", PUT = "line[t].second = more[start + t], line[t].first = from[start + t].second",
          GET = "line[j].first - line[j].second" } },
      { "where several are read in a round",
        { ROUND = "for (int j = 0; j < 256; j += 4)", GET = "line[j] ^ line[j + 3]" } },
      { "in two arrays",
        { PUT = "line[t] = from[start + t], other[t] = more[start + t]", GET = "line[j] ^ other[255]" } },
      { "where lines are counted",
        { LOOP = "int tile = 0; tile < n / 256; tile++", PUT = "line[t] = from[tile * 256 + t]" } },
      { "from the last to the first",
        { LOOP = "int start = n - 256; start >= 0; start -= 256", PUT = "line[t] = from[start + 255 - t]" } },
      { "where threads wait before they fill the line, too", { AHEAD = "__syncthreads();" } },
      { "of elements of one member", { T = "pair", GET = "line[j].second" } },
      { "where elements that all threads load are needed, too", { GET = "line[j] ^ more[start + j] ^ more[0]" } },
    }
    for _, form in ipairs(forms) do
      it(form[1], function()
        assert.is_true(is_unstaged(form[2]))
        check(form[2])
      end)
    end
  end)

  describe("are copied", function()
    local forms = {
      { "if threads go different ways in between", { GET = "sum % 3 == 0 ? line[j] * 5 : 1" } },
      { "if some end in it", { AHEAD = "if (t > 160) { if (start == 256) { to[i] = sum; return; } }" } },
      { "if threads load what others store behind the loop", { GUARD = "sum = to[i ^ 128];" } },
      { "if they do so in it", { GET = "line[j] + to[i ^ 128]" } },
      { "if they load from places that nobody knows", { GUARD = "sum = more[more[t] & 255];" } },
      { "if the line is not filled whole", { PUT = "if (start + t < n - 1) line[t] = from[start + t]" } },
      { "if something else is put there", { PUT = "line[t] = from[start + t] + n" } },
      { "if it is longer than the block", { PAD = "+ 1" } },
      { "if threads fill other places than their own", { PUT = "line[255 - t] = from[start + t]" } },
      { "if each thread reads another place", { GET = "line[(j + t) & 255]" } },
      { "if nobody knows that there is such a thread", { ROUND = "for (int j = 0; j < n % 257; j++)" } },
      { "if what is read may be behind the line",
        { ROUND = "for (int j = 0; j < 256; j++)", GET = "j < 255 ? line[j + 1] : 0" } },
      { "if it is read before it is filled", { AHEAD = "sum += line[3];" } },
      { "if it is read behind the loop", { LAST = "if (n) to[i] += line[5];" } },
      { "if some threads do not come", { GUARD = "if (i == 1000) return;" } },
      { "if blocks go round by themselves",
        { LOOP = "int start = 0; start < n + blockIdx.x % 2 * 256; start += 256" } },
      { "if each block has lines of its own", { PUT = "line[t] = from[(start + t + blockIdx.x) % 256]" } },
      { "if some threads go on before others", { BEHIND = "if (sum == t) break;" } },
      { "if something is stored meanwhile", { BEHIND = "to[i] = sum;" } },
      { "if something is stored before", { GUARD = "to[i] = sum;" } },
      { "if threads wait behind the loop", { LAST = "__syncthreads(); to[i] += to[i ^ 1];" } },
      { "if the memory is volatile", { PUT = "line[t] = ((const volatile T *)from)[start + t]" } },
    }
    for _, form in ipairs(forms) do
      it(form[1], function()
        assert.is_false(is_unstaged(form[2]))
        -- Nothing is promised of elements that no thread has filled.
        if form[1]:find "filled whole" or form[1]:find "before it is" or form[1]:find "do not come" then return end
        check(form[2])
      end)
    end

    it("in grids of many blocks, or of one", function()
      assert.is_false(is_unstaged(nil, "256x1x1"))
      assert.is_false(is_unstaged(nil, "256x1x1:one"))
    end)
  end)

  it("are copied if stores may overlap loads of other threads, by a test at the launch", function()
    local before = mw.limit("specialise", 0)
    local made = source { GUARD = "sum = more[i];" }
    assert.is_true(is_unstaged { GUARD = "sum = more[i];" })
    local kernel, slow = mw.compile(made).all, mw.compile { source = made, options = { "--width=1" } }.all
    local from = numbers(256)
    for _, distance in ipairs { -1000, 0, 8, 100, 1000 } do
      local function result(launch)
        local all
        for _ = 1, 2 do
          all = numbers(3000)
          launch(3, 256)(256, from, all:sub(1201), all:sub(1201 + distance))
        end
        -- of the first block: others may load before or after blocks store
        return all:sub(1201 + distance, 1456 + distance):totable()
      end
      assert.same(result(slow), result(kernel), distance)
    end
    mw.limit("specialise", before)
  end)

  it("may be overwritten in place, by a single block", function()
    local script = ([[
      local mw = require "moonwarp"
      local kernel = mw.compile [=[%s]=].all
      local list = {}
      for i = 1, 256 do list[i] = i * 7919 %% 1009 end
      for _ = 1, 200 do
        local a = mw.array(list, "int")
        kernel(1, 256)(256, a, a, a)
        print(table.concat(a:totable(), " "))
      end
    ]]):format(source())
    local result = run { script, environment = { MOONWARP_THREADS = "4", MOONWARP_SPECIALISE = "0" } }
    local first = result.output:match "^[^\n]*\n"
    assert.equal(first:rep(200), result.output)
  end)

  it("have the source line of an invalid address", function()
    local before = mw.limit("specialise", 0)
    local kernel = mw.compile(source()).all
    kernel(3, 256)(256, numbers(256), nil, mw.zeros(768, "int"))
    mw.synchronize()
    kernel(3, 256)(256, nil, nil, mw.zeros(768, "int"))
    local _, err = pcall(mw.synchronize)
    mw.limit("specialise", before)
    local line = select(2, source():match("^(.-)line%[j%]"):gsub("\n", "")) + 1
    assert.equal(line, err.line)
  end)
end)
