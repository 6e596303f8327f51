-- Output of kernels, and their device memory: mw.on_print, every conversion of printf, the limit "heap", assert.
-- CPU device only: a GPU prints to stdout by itself

-- Lua 5.4 only: this tests the compiler, and the device that both bindings share.
local mw = require "moonwarp"

local function printed(source, options, ...)
  local m, texts = mw.compile { source = source, options = options }, {}
  mw.on_print(function(text) texts[#texts + 1] = text end)
  m.k(...)()
  mw.synchronize()
  mw.on_print()
  return table.concat(texts), #texts
end

for _, options in ipairs { {}, { "--width=1" } } do
  local how = options[1] and " with " .. options[1] or ""

  describe("printf" .. how, function()
    it("knows the conversions, flags and sizes of the guide", function()
      local text = printed([[
__global__ void k() {
  printf("%d %i %5d|%-5d|%05d|%+d|% d\n", -7, 8, 42, 42, 42, 42, 42);
  printf("%u %o %x %X %#x %#o\n", 4000000000u, 8, 255, 255, 255, 8);
  printf("%hhd %hd %ld %lld %llu %lx\n", 300, 70000, -5000000000l, -6ll, 18446744073709551615ull, 255l);
  printf("%f %.2f %8.3f|%-8.1f|%e %G %a\n", 1.5, 2.345, 3.14159, 2.5, 12345.678, 1e-10, 1.0);
  printf("%s|%10s|%-10s|%.2s|%c%c\n", "text", "right", "left", "cut", 'o', 'k');
  printf("%*d|%-*d|%.*f %%\n", 6, 42, 6, 42, 3, 2.0 / 3);
  const void *nothing = 0;
  printf("%p\n", (void *)255);
  float single = 0.5f;
  short small = -3;
  printf("%g %d %d%s", single, small, nothing == 0, "");
}]], options, 1, 1)
      assert.equal(table.concat({
        "-7 8    42|42   |00042|+42| 42",
        "4000000000 10 ff FF 0xff 010",
        "44 4464 -5000000000 -6 18446744073709551615 ff",
        "1.500000 2.35    3.142|2.5     |1.234568e+04 1E-10 0x1p+0",
        "text|     right|left      |cu|ok",
        "    42|42    |0.667 %",
        "0xff",
        "0.5 -3 1",
      }, "\n"), text)
    end)

    it("writes as the C library does, in every flag, width and precision", function()
      local calls, want = {}, {}
      local function add(formats, values, says)
        for format in formats:gmatch "%S+" do
          format = format:gsub("_", " ")
          for _, v in ipairs(values) do
            calls[#calls + 1] = ('printf("%s|\\n", %s);'):format(format, says(v))
            want[#want + 1] = format:format(v) .. "|\n"
          end
        end
      end
      add("%d %5d %-5d %05d %+d %_d %.3d %8.3d %-8.3d %+08d %_05d %i", { 0, 42, -42, 2147483647 }, tostring)
      add("%x %X %#x %#X %08x %#010x %-#8x %.4x %o %#o", { 0, 42, 0xdeadbeef }, function(v) return v .. "u" end)
      add("%f %.0f %#.0f %+.3f %_8.2f %-9.2f %09.2f %e %.0e %E %12.4e %g %#g %G %.10g %a %.2a %A %+012.3f",
        { 0.0, -0.0, 1.5, -2.5, 3.14159e10, 1e-7, 1e300, 1 / 0, -1 / 0 },
        function(v) return math.abs(v) == 1 / 0 and (v > 0 and "1.0 / 0.0" or "-1.0 / 0.0") or ("%a"):format(v) end)
      add("%c %5c %-5c", { 65 }, tostring)
      add("%s %8s %-8s %.2s %8.2s", { "hello" }, function(v) return '"' .. v .. '"' end)
      local numbers = {}
      for i = 1, 32 do numbers[i] = i end
      calls[#calls + 1] = ('printf("%s\\n", %s);'):format(("%d "):rep(32), table.concat(numbers, ", "))
      want[#want + 1] = table.concat(numbers, " ") .. " \n"
      calls[#calls + 1] = 'printf("%d%%|%k|\\n", 5, 6, 7); printf("%s\\n", (const char *)0);' -- too many, none, null
      want[#want + 1] = "5%|%k|\n(null)\n"
      calls[#calls + 1] = 'int n = printf("%d %d\\n", 1, 2); printf("%d\\n", n);' -- the arguments, as CUDA counts
      want[#want + 1] = "1 2\n2\n"
      local text = printed("__global__ void k() {\n" .. table.concat(calls, "\n") .. "\n}", options, 1, 1)
      assert.equal(table.concat(want), text)
    end)

    it("does not mix the text of one call with that of others", function()
      local text = printed([[
__global__ void k() {
  for (int i = 0; i < 3; ++i)
    printf("block %d thread %d round %d says %s\n", blockIdx.x, threadIdx.x, i, threadIdx.x & 1 ? "odd" : "even");
}]], options, 8, 64)
      local seen, count = {}, 0
      for line in text:gmatch "[^\n]+" do
        local block, thread, round, word = line:match "^block (%d+) thread (%d+) round (%d) says (%a+)$"
        assert.is_truthy(block, line)
        assert.equal(tonumber(thread) % 2 == 1 and "odd" or "even", word)
        local key = block .. " " .. thread .. " " .. round
        assert.is_nil(seen[key])
        seen[key], count = true, count + 1
      end
      assert.equal(8 * 64 * 3, count)
    end)
  end)

  describe("device memory" .. how, function()
    local source = [[
__global__ void k(int bytes, int blocks, int *got, int **kept) {
  int n = 0;
  for (int i = 0; i < blocks; ++i) {
    char *p = (char *)malloc(bytes);
    if (!p) break;
    p[0] = p[bytes - 1] = 1;
    kept[i] = (int *)p;
    n++;
  }
  got[0] = n;
}
__global__ void drop(int blocks, int **kept) {
  for (int i = 0; i < blocks; ++i) free(kept[i]);
}
struct Shape { int sides; __device__ virtual int area() { return sides; } __device__ virtual ~Shape() {} };
struct Square : Shape { __device__ int area() { return sides * sides; } };
__global__ void objects(int *out) {
  Shape *shape = threadIdx.x % 2 ? new Square : new Shape;
  shape->sides = threadIdx.x;
  int *list = new int[threadIdx.x + 1];
  list[threadIdx.x] = shape->area();
  out[threadIdx.x] = list[threadIdx.x];
  delete[] list;
  delete shape;
}]]

    it("ends where the limit \"heap\" says, which changes while kernels hold none", function()
      local m = mw.compile { source = source, options = options }
      local got, kept = mw.zeros(1, "int"), mw.zeros(64, "ulonglong")
      local before = mw.limit("heap", 3 * 2 ^ 20)
      finally(function() mw.limit("heap", before) end)
      assert.equal(3 * 2 ^ 20, mw.limit "heap")
      m.k(1, 1)(2 ^ 20, 64, got, kept)
      assert.equal(3, got[1])
      assert.has_error(function() mw.limit("heap", 2 ^ 20) end)
      assert.equal(3 * 2 ^ 20, mw.limit "heap")
      m.drop(1, 1)(3, kept)
      mw.synchronize()
      mw.limit("heap", 32 * 2 ^ 20)
      m.k(1, 1)(2 ^ 20, 64, got, kept)
      assert.equal(32, got[1])
      m.drop(1, 1)(32, kept)
      mw.synchronize()
      mw.limit("heap", 0)
      m.k(1, 1)(16, 64, got, kept)
      assert.equal(0, got[1])
    end)

    it("holds objects with virtual functions, made and given back", function()
      local m = mw.compile { source = source, options = options }
      local out = mw.zeros(96, "int")
      for _ = 1, 20 do m.objects(4, 96)(out) end
      for i, got in ipairs(out:totable()) do assert.equal(i % 2 == 0 and (i - 1) ^ 2 or i - 1, got) end
    end)
  end)

  describe("assert" .. how, function()
    it("names the expression, file, line, block and thread", function()
      local m = mw.compile {
        source = "__global__ void k(const int *x) {\n  assert(x[blockIdx.x * blockDim.x + threadIdx.x] != 5);\n}",
        options = options,
      }
      local x = {}
      for i = 1, 128 do x[i] = i == 71 and 5 or 0 end
      m.k(4, 32)(mw.array(x, "int"))
      local ok, e = pcall(mw.synchronize)
      assert.is_false(ok)
      assert.equal("k", e.kernel)
      assert.equal(2, e.line)
      assert.same({ 2, 0, 0 }, { e.block[1] or e.block.x, e.block[2] or e.block.y, e.block[3] or e.block.z })
      assert.same({ 6, 0, 0 }, { e.thread[1] or e.thread.x, e.thread[2] or e.thread.y, e.thread[3] or e.thread.z })
      assert.is_truthy(tostring(e):find("!= 5", 1, true))
    end)
  end)
end

describe("mw.on_print", function()
  it("is called when an array is read, and not if nothing was printed", function()
    local m = mw.compile [[__global__ void k(int *x) { if (x[0]) printf("seen %d\n", x[0]); x[0]++; }]]
    local x, texts = mw.zeros(1, "int"), {}
    mw.on_print(function(text) texts[#texts + 1] = text end)
    finally(function() mw.on_print() end)
    m.k(1, 1)(x)
    assert.equal(1, x[1])
    assert.same({}, texts)
    m.k(1, 1)(x)
    m.k(1, 1)(x)
    assert.equal(3, x[1])
    assert.equal("seen 1\nseen 2\n", table.concat(texts))
  end)

  it("is called for text that was printed before a kernel failed", function()
    local m = mw.compile [[__global__ void k() { printf("before\n"); __trap(); }]]
    local texts = {}
    mw.on_print(function(text) texts[#texts + 1] = text end)
    finally(function() mw.on_print() end)
    m.k(1, 1)()
    assert.is_false(pcall(mw.synchronize))
    assert.equal("before\n", table.concat(texts))
  end)

  it("wants a function", function()
    assert.has_error(function() mw.on_print "stdout" end)
  end)
end)
