-- Specialisation: how code for one block size is made. (Its results are compared with those of other code in
-- uniform_path_spec, transposed_spec and vector_shape_spec.)
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local child = require "support.child"

local text = [==[
  local mw = require "moonwarp"
  local m = mw.compile [[
    template <class T> __global__ void twice(T *p, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) p[i] = p[i] * 2;
    }
    __global__ void add(float *p, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) p[i] += 1;
    }
  ]]
  local p = mw.ones(1000)
  local function say(what) print(what, mw.cache.misses, p[1], p[1000]) end
]==]

-- A clang that records its compilations, and the record.
local function make_recorder()
  local program, list = os.tmpname(), os.tmpname()
  local pipe = assert(io.popen "$(sh setup.sh --llvm-config) --bindir")
  local folder = pipe:read "l"
  pipe:close()
  local file = assert(io.open(program, "w"))
  local script = "#!/bin/sh\ncase \"$*\" in *-emit-llvm-bc*) echo once >>%s ;; esac\nexec %s/clang \"$@\"\n"
  file:write(script:format(list, folder))
  file:close()
  os.execute("chmod +x " .. program)
  return program, list
end

local function count_lines(path)
  local count = 0
  for _ in io.lines(path) do count = count + 1 end
  return count
end

describe("code for one block size", function()
  it("is made from clang's output for the module", function()
    local clang, list = make_recorder()
    local result = child { text .. [[
      m.add(4, 256)(p, 1000)
      say "add"
      m.add(8, 128)(p, 1000)
      say "add in other blocks"
      m["twice<float>"](4, 256)(p, 1000)
      say "an instance"
    ]], environment = { MOONWARP_CLANG = clang, MOONWARP_SPECIALISE = "0", XDG_CACHE_HOME = clang .. ".cache" } }
    assert.equal("add\t2\t2.0\t2.0\nadd in other blocks\t3\t3.0\t3.0\nan instance\t5\t6.0\t6.0\n",
      (result.output:gsub("(%d)\t(%d)\t(%d)\n", "%1\t%2.0\t%3.0\n")))
    assert.equal(2, count_lines(list), "compilations by clang: the module's, and the instance's")
    os.execute(("rm -r %s %s %s.cache"):format(clang, list, clang))
  end)

  it("is made from a saved module as well", function()
    local path = os.tmpname()
    local result = child { text .. ([[
      m:save(%q)
      m = mw.load(%q)
      local before = mw.cache.misses
      m.add(4, 256)(p, 1000)
      say(mw.cache.misses - before)
    ]]):format(path, path), environment = { MOONWARP_SPECIALISE = "0", XDG_CACHE_HOME = path .. ".cache" } }
    assert.matches("^1\t2\t2", result.output)
    os.execute(("rm -r %s %s.cache"):format(path, path))
  end)

  it("is made earlier for kernels with more loops", function()
    local folder = os.tmpname()
    local result = child { [==[
      local mw = require "moonwarp"
      local m = mw.compile [[
        __global__ void once(int n, int *p) { p[threadIdx.x] += n; }
        __global__ void loop(int n, int *p) { for (int i = 0; i < n; i++) p[threadIdx.x] ^= p[i] + i; }
        __global__ void loops(int n, int *p) {
          for (int i = 0; i < n; i++)
            for (int k = i; k < n; k++) p[threadIdx.x] ^= p[i] + k;
        }]]
      local p = mw.zeros(256, "int")
      for _, name in ipairs { "once", "loop", "loops" } do
        local before, launches = mw.cache.misses, 0
        repeat
          m[name](4, 256)(3, p)
          launches = launches + 1
        until mw.cache.misses > before
        print(name, launches)
      end
    ]==], environment = { MOONWARP_SPECIALISE = "8192", MOONWARP_BACKGROUND = "off",
      XDG_CACHE_HOME = folder .. ".cache" } }
    assert.equal("once\t8\nloop\t4\nloops\t1\n", result.output)
    os.execute(("rm -r %s %s.cache"):format(folder, folder))
  end)

  it("is made earlier for launches that take long, however few their threads", function()
    local folder = os.tmpname()
    local result = child { [==[
      local mw = require "moonwarp"
      local m = mw.compile [[
        __global__ void walk(int n, unsigned *p) {
          unsigned x = p[threadIdx.x];
          for (int i = 0; i < n; i++) x = x * 1664525u + i;
          p[threadIdx.x] = x;
        }]]
      local p = mw.zeros(64, "uint")
      for _, n in ipairs { 10, 10 ^ 7 } do
        local before, launches = mw.cache.misses, 0
        repeat
          m.walk(1, n < 100 and 32 or 64)(n, p)
          mw.synchronize()
          launches = launches + 1
        until mw.cache.misses > before or launches == 40
        print(launches)
      end
    ]==], environment = { MOONWARP_SPECIALISE = "65536", MOONWARP_BACKGROUND = "off",
      XDG_CACHE_HOME = folder .. ".cache" } }
    local short, long = result.output:match "^(%d+)\n(%d+)\n$"
    assert.equal("40", short) -- of 1024 that are necessary
    assert.is_true(tonumber(long) < 40, long) -- of 512
    os.execute(("rm -r %s %s.cache"):format(folder, folder))
  end)

  it("serves graphs that were captured before and after it was made", function()
    local before = mw.limit("specialise", 3000)
    local m = mw.compile [[
      __global__ void add(int *p, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) p[i] += i;
      } // launch_specialization_spec
    ]]
    local p, s = mw.zeros(1000, "int"), mw.stream()
    local function capture()
      return mw.capture(s, function() m.add(4, 256, 0, s)(p, 1000) end):instantiate()
    end
    local early = capture()
    for _ = 1, 5 do m.add(4, 256, 0, s)(p, 1000) end
    local late = capture()
    for _ = 1, 3 do
      early:launch(s)
      late:launch(s)
    end
    s:synchronize()
    mw.limit("specialise", before)
    for i = 1, 1000, 37 do assert.equal(11 * (i - 1), p[i]) end
  end)

  it("accesses rows by unsigned indices that wrap around for inactive lanes", function()
    local before = mw.limit("specialise", 0)
    local m = mw.compile [[
      __global__ void above(const signed char *in, int *out) {
        unsigned x = threadIdx.x, y = threadIdx.y;
        int found = -1;
        if (y - 1 < 3) found = in[y - 1];
        out[y * 8 + x] = found;
      }]]
    local out = mw.zeros(64, "int")
    m.above(1, { 8, 8 })(mw.array({ 10, 20, 30 }, "char"), out)
    mw.limit("specialise", before)
    local wanted = { [2] = 10, [3] = 20, [4] = 30 }
    for i, got in ipairs(out:totable()) do assert.equal(wanted[(i - 1) // 8 + 1] or -1, got) end
  end)

  it("divides by vectors with known lanes, including 0", function()
    local before = mw.limit("specialise", 0)
    local m = mw.compile [[
      __global__ void divide(int n, int *out) {
        int t = threadIdx.x;
        out[t] = n / (0 / t); // 0 / 0 is -1 on GPUs, as n / 0 is
      }]]
    local out = mw.zeros(64, "int")
    m.divide(1, 64)(3, out)
    mw.limit("specialise", before)
    for i, got in ipairs(out:totable()) do assert.equal(i == 1 and -3 or -1, got) end
  end)

  it("divides signed numbers if inactive lanes would divide by 0", function()
    local before = mw.limit("specialise", 0)
    local m = mw.compile [[
      __global__ void divide(const int *in, int *out) {
        int t = threadIdx.x;
        if (t > 3) out[t] = in[t] / (t - 2) + 1000 * (in[t] % (t - 2));
        if (t > 2 && in[t] > 9) out[t] -= in[t] / (2 - t);
      }]]
    local numbers, out = {}, mw.zeros(32, "int")
    for i = 0, 31 do numbers[i + 1] = (i % 3 - 1) * (37 * i + 5) end
    m.divide(1, 32)(mw.array(numbers, "int"), out)
    mw.limit("specialise", before)
    for t, got in ipairs(out:totable()) do
      t = t - 1
      local a, wanted = numbers[t + 1], 0
      local function quotient(b) return math.tointeger((a - math.fmod(a, b)) // b) end
      if t > 3 then wanted = quotient(t - 2) + 1000 * math.fmod(a, t - 2) end
      if t > 2 and a > 9 then wanted = wanted - quotient(2 - t) end
      assert.equal(wanted, got)
    end
  end)

  it("adds an offset that can be an or for the active lanes only", function()
    local before = mw.limit("specialise", 0)
    local m = mw.compile [[
      __global__ void even(float *out) {
        int t = threadIdx.x + blockDim.x * threadIdx.y;
        if (t & 1) return;
        out[t * 12 + 4] = 1; // t * 12 is a multiple of 8 here
      }]]
    local out = mw.zeros(21 * 12 + 16)
    m.even(1, { 7, 3 })(out)
    mw.limit("specialise", before)
    for i, got in ipairs(out:totable()) do assert.equal((i - 5) % 24 == 0 and i < 21 * 12 and 1 or 0, got) end
  end)
end)
