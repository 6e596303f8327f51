-- Outlining: long code for one block size is compiled as two functions in parallel (src/mwcc/codegen/outline.c).
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local files = require "support.files"
local mwcc = require "support.mwcc"

local source = files.benchmark "fft" -- 512 numbers a block
local size = 512

local function has_processors(wanted)
  local pipe = assert(io.popen "nproc")
  local count = pipe:read "n"
  pipe:close()
  return count >= wanted
end

-- Real and imaginary parts of exp(2 pi i step j / size), j = 0, 1, ...
local function wave(step)
  local numbers = {}
  for j = 0, size - 1 do
    local angle = 2 * math.pi * (step * j % size) / size
    numbers[2 * j + 1], numbers[2 * j + 2] = math.cos(angle), math.sin(angle)
  end
  return numbers
end

describe("long code for one block size", function()
  local before, m, twiddle

  setup(function()
    before = mw.limit("specialise", 0)
    m = mw.compile(source)
    twiddle = mw.array(wave(-1)):as "float2"
  end)
  teardown(function() mw.limit("specialise", before) end)

  local function has_rest(text, class)
    local module = mwcc.run(text, "--verify --mcpu=x86-64-v4 --launch=" .. class)
    assert.is_truthy(module:find("fits.", 1, true), class)
    return module:find("outlined.", 1, true) ~= nil
  end

  -- conv2d is mostly one block, whose second half becomes the other function if a third processor is idle (the second
  -- compiles the code for edges); a tiled product would call the function in each iteration.
  it("is two functions if there are processors for both, and one if many values are live between them", function()
    local classes = {
      fft = "_Z3fftPK6float2S1_PS_:256x1x1", softmax = "_Z7softmaxiPKfPf:256x1x1", radix = "_Z5radixiPKjPj:256x1x1",
      conv2d = "_Z6conv2diiPKfS0_Pf:16x16x1", sgemm_tiled = "_Z11sgemm_tilediPKfS0_Pf:16x16x1",
    }
    local apart = { fft = 2, softmax = 2, conv2d = 3 }
    for name, class in pairs(classes) do
      local wanted = apart[name] and has_processors(apart[name]) or false
      assert.equal(wanted, has_rest(files.benchmark(name), class), name)
    end
  end)

  it("computes the same as one function", function()
    local numbers, impulse, bin = wave(37), 3, 37
    for j = 1, 2 * size do numbers[2 * size + j] = j == 2 * impulse + 1 and 1 or 0 end
    local out = mw.zeros(2 * size, "float2")
    m.fft(2, 256)(mw.array(numbers):as "float2", twiddle, out)
    local got, wanted = out:as("float"):totable(), wave(-impulse)
    for j = 0, size - 1 do
      assert.near(j == bin and size or 0, got[2 * j + 1], 1e-3)
      assert.near(0, got[2 * j + 2], 1e-3)
      assert.near(wanted[2 * j + 1], got[2 * size + 2 * j + 1], 1e-5)
      assert.near(wanted[2 * j + 2], got[2 * size + 2 * j + 2], 1e-5)
    end
  end)

  -- The second half may repeat loads, but not of memory that has changed since. (A block is one gang, so that no other
  -- gang reads what it changes.)
  it("computes the same as one function if a block is split", function()
    local text = [[extern "C" __global__ void steps(unsigned *factors, unsigned *out) {
      int t = blockIdx.x * 4 + threadIdx.x;
      unsigned *p = factors + blockIdx.x * 4, f[4] = {p[0], p[1], p[2], p[3]}, a = t, b = ~t;]]
    for _, change in ipairs { "", "p[0] = p[1] = p[2] = p[3] = 0;" } do
      local steps = {}
      for i = 1, 300 do steps[i] = ("a = a * f[%d] + b; b += a >> 3; %s\n"):format(i % 4, i == 60 and change or "") end
      local whole = text .. table.concat(steps) .. "out[t] = a + b; }"
      assert.equal(has_processors(2), has_rest(whole, "steps:4x1x1"))
      local factors, out = {}, mw.zeros(1000, "uint")
      for i = 1, 1000 do factors[i] = 2 * i + 1 end
      mw.compile(whole).steps(250, 4)(mw.array(factors, "uint"), out)
      local got, word = out:totable(), 2 ^ 32
      for t = 0, 999, 37 do
        local a, b = t, word - 1 - t
        for i = 1, 300 do
          a = (a * factors[t - t % 4 + i % 4 + 1] + b) % word
          b = (b + math.floor(a / 8)) % word
        end
        assert.equal((a + b) % word, got[t + 1])
      end
    end
  end)

  it("has the source's lines in both", function()
    local x = mw.zeros(2 * size, "float2")
    local function line_of(...)
      m.fft(2, 256)(...)
      local ok, err = pcall(mw.synchronize)
      assert.is_false(ok)
      local _, count = source:sub(1, (source:find("out[first + t]", 1, true))):gsub("\n", "")
      return err.line, count + 1
    end
    local got, written = line_of(x, twiddle, nil)
    assert.equal(written, got)
    assert.is_true(line_of(nil, twiddle, x) < written - 8) -- where the numbers are read
  end)

  -- All pairs of its many blocks were examined, with all values that they use, which took minutes.
  it("is analysed in bounded time, however many blocks it has", function()
    local path = os.tmpname()
    files.write(path, [[
extern "C" __global__ void sorted(int shift, unsigned *keys) {
  __shared__ unsigned flags[256], kept[256];
  unsigned t = threadIdx.x;
  kept[t] = keys[blockIdx.x * 256 + t];
  __syncthreads();
  for (int bit = 0; bit < 8; bit++) {
    unsigned key = kept[t], is_set = key >> (shift + bit) & 1;
    flags[t] = !is_set;
    __syncthreads();
    for (int step = 1; step < 256; step <<= 1) {
      unsigned before = t >= step ? flags[t - step] : 0;
      __syncthreads();
      flags[t] += before;
      __syncthreads();
    }
    unsigned zeros = flags[255], place = is_set ? zeros + t - flags[t] : flags[t] - 1;
    __syncthreads();
    kept[place] = key;
    __syncthreads();
  }
  keys[blockIdx.x * 256 + t] = kept[t];
}]])
    local pipe = assert(io.popen(("ulimit -t 30; '%s' --mcpu=x86-64-v3 --launch=sorted:256x1x1 %s -o /dev/null 2>&1")
      :format(mwcc.program, path)))
    local output = pipe:read "*a"
    local _, how, status = pipe:close()
    os.remove(path)
    assert.same({ "", "exit", 0 }, { output, how, status })
  end)
end)
