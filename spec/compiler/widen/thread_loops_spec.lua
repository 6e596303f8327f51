-- Kernels whose inner loops write rows of each thread run one thread at a time: LLVM vectorises such loops, where lanes
-- would scatter.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about its compiler.

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local function kernel(body)
  return ([[extern "C" __global__ void rows(int n, int m, const float *a, const int *index, float *out, float *sums) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    BODY
  }]]):gsub("BODY", function() return body end)
end

local function report(body, options) return mwcc.run(kernel(body), "--mcpu=x86-64-v3 --report " .. (options or "")) end

local alone = "vectorised for one thread at a time"

describe("a kernel whose inner loops write rows", function()
  for name, body in pairs {
    ["from rows"] = "for (int k = 0; k < m; k++) out[i * m + k] = 2 * a[i * m + k];",
    ["in a longer loop for some threads"] =
      "for (int j = 0; j <= i; j++) for (int k = 0; k < m; k++) out[i * m + k] += a[j] * a[j * m + k];",
    ["of one number"] = "for (int k = 0; k < m; k++) out[i * m + k] = i;",
  } do
    it("runs one thread at a time: " .. name, function()
      assert.matches(alone, report(body))
      assert.not_matches(alone, report(body, "--without=thread-loops"))
      assert.not_matches(alone, report(body, "--width=8"))
      assert.matches("ymm", mwcc.run(kernel(body), "--mcpu=x86-64-v3 --emit=asm"))
    end)
  end

  for name, body in pairs {
    ["each element needs the one before it"] =
      "for (int k = 1; k < m; k++) out[i * m + k] = out[i * m + k - 1] + a[i * m + k];",
    ["a sum runs along the row"] =
      "float s = 0; for (int k = 0; k < m; k++) { s += a[i * m + k]; out[i * m + k] = s; }",
    ["threads write side by side"] = "for (int k = 0; k < m; k++) out[k * n + i] = a[k * n + i];",
    ["elements are looked up"] = "for (int k = 0; k < m; k++) out[i * m + k] = a[index[k]];",
    ["another loop only reads"] =
      [[for (int k = 0; k < m; k++) out[i * m + k] = k;
        float s = 0;
        for (int k = 0; k < m; k++) s += a[k * n + i];
        sums[i] = s;]],
    ["the row is short"] = "for (int k = 0; k < 4; k++) out[i * m + k] = 2 * a[i * m + k];",
  } do
    it("has lanes where " .. name, function() assert.not_matches(alone, report(body)) end)
  end

  it("has the same results, also if its arrays overlap", function()
    local body = [[for (int j = 0; j <= i % 3; j++)
      for (int k = 0; k < m; k++) out[2 * i * m + k] += a[2 * i * m + k + j];]]
    local results = {}
    for at, options in ipairs { { "-G", "--width=1" }, { "-O2" } } do
      local m, pieces = mw.compile { source = kernel(body), options = options }, {}
      for shift = 1, 20, 3 do
        local all = mw.arange(100 * 80 + 30) % 7
        m.rows(4, 25)(100, 40, all:sub(1, 8000), mw.zeros(1, "int"), all:sub(shift, 8000 + shift),
          all:sub(8025, 8030))
        pieces[#pieces + 1] = all:bytes()
      end
      results[at] = table.concat(pieces)
    end
    assert.is_true(results[1] == results[2])
  end)
end)

describe("a kernel whose loop sums a row of integers", function()
  local function rows(body)
    return mwcc.run(([[extern "C" __global__ void sums(int n, int m, const unsigned char *bytes, const short *shorts,
                                                       const float *reals, unsigned *out) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= n) return;
      unsigned sum = 0;
      BODY
      out[i] = sum;
    }]]):gsub("BODY", function() return body end), "--mcpu=x86-64-v4 --report")
  end

  it("runs one thread at a time", function()
    assert.matches(alone, rows "for (int k = 0; k < m; k++) sum += bytes[i * m + k];")
    assert.matches(alone, rows "for (int k = 0; k < m; k++) sum += abs(bytes[i * m + k] - bytes[k]);")
    assert.matches(alone, rows "for (int k = 0; k < m; k++) sum = max(sum, shorts[i * m + k] * 3);")
  end)

  it("has lanes where LLVM could not sum a row, rows are short, or threads may share them", function()
    assert.not_matches(alone, rows "for (int k = 0; k < 16; k++) sum += shorts[i * 16 + k];")
    assert.not_matches(alone, rows "for (int k = 0; k < m; k++) sum = sum * 31 + bytes[i * m + k];")
    assert.not_matches(alone, rows "for (int k = 0; k < m; k++) sum = sum ^ bytes[i * m + k] ^ sum >> 3;")
    assert.not_matches(alone, rows "for (int k = 0; k < m; k++) sum += bytes[k * n + i];")
    assert.not_matches(alone, rows "for (int k = 0; k < m; k++) sum += bytes[(i + threadIdx.y) * m + k];")
    assert.not_matches(alone, rows "float s = 0; for (int k = 0; k < m; k++) s += reals[i * m + k]; sum = s;")
  end)
end)

describe("a loop whose gathers wait for each other", function()
  it("is unrolled, unlike one that only gathers", function()
    local function loads(value)
      local asm = mwcc.run(([[extern "C" __global__ void f(int n, const int *start, const unsigned char *text,
                                                           const unsigned *table, unsigned *out) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        unsigned sum = 0;
        for (int k = start[i]; k < start[i + 1]; k++) sum = VALUE;
        out[i] = sum;
      }]]):gsub("VALUE", value), "--mcpu=x86-64-v4 --emit=asm")
      return mwcc.count(asm, "%(%%r%w+,%%r%w+,4%)")
    end
    assert.is_true(loads "table[(sum ^ text[k]) & 255] ^ sum >> 8" >= 8)
    assert.is_true(loads "sum + table[text[k] * 3]" < 8)
  end)

  it("is in the loop over threads once, where it is not unrolled", function()
    local asm = mwcc.run([==[extern "C" __global__ void f(int length, const unsigned char *text, const int *next,
                                                         const int *ends, int before, int *out) {
      int first = (blockIdx.x * blockDim.x + threadIdx.x) * 64;
      if (first >= length) return;
      int state = 0, found = 0;
      for (int k = max(first - before, 0); k < min(first + 64, length); k++) {
        state = next[state * 4 + text[k]];
        if (k >= first) found += ends[state];
      }
      out[first / 64] = found;
    }]==], "--mcpu=x86-64-v3 --emit=asm")
    assert.equal(1, mwcc.count(asm, "movzbl%s+%(%%r"))
  end)
end)

describe("a kernel of segments of different lengths", function()
  local text = [[extern "C" __global__ void maxima(int n, const int *start, const int *value, int *most) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int greatest = -1;
    for (int k = start[i]; k < start[i + 1]; k++) greatest = value[VALUE] > greatest ? value[VALUE] : greatest;
    most[i] = greatest;
  }]]

  it("is vectorised for each thread where its elements are side by side", function()
    local function maxima(value, options)
      local asm = mwcc.run(text:gsub("VALUE", value), "--mcpu=x86-64-v3 --emit=asm " .. (options or ""))
      return mwcc.count(asm, "vpmaxsd%s+[^\n]*ymm")
    end
    assert.is_true(maxima "k" > maxima("k", "--without=thread-loops"))
    assert.equal(0, maxima "value[k]")
  end)

  it("has no scalar loop for the rest where there are mask registers", function()
    local asm = mwcc.run(text:gsub("VALUE", "k"), "--mcpu=x86-64-v4 --emit=asm")
    assert.is_truthy(asm:find "vmovdqu32%s+%([^\n]*%%ymm%d+ {%%k%d} {z}")
  end)

  it("is vectorised where the loop loads an index of another type than it stores", function()
    local sparse = [[extern "C" __global__ void sparse(int rows, int n, const INDEX *start, const INDEX *column,
                                                       const float *value, const float *x, float *y) {
      int r = blockIdx.x * blockDim.x + threadIdx.x;
      if (r >= rows) return;
      for (int e = start[r]; e < start[r + 1]; e++)
        for (int c = 0; c < n; c++) y[r * n + c] += value[e] * x[(int)column[e] * n + c];
    }]]
    for _, processor in ipairs { "x86-64-v3", "x86-64-v4" } do
      local function sums(index)
        local asm = mwcc.run(sparse:gsub("INDEX", index), "--emit=asm --mcpu=" .. processor)
        return mwcc.count(asm, "vfmadd%d+ps[^\n]*[yz]mm")
      end
      assert.is_true(sums "int" > 0)
      assert.equal(0, sums "unsigned char") -- which a store of any type may write
    end
  end)

  it("has vectors for the rest of a short row", function()
    local rows = [[extern "C" __global__ void rows(int rows, int n, const int *start, const int *column, float *y,
                                                   const float *x) {
      int r = blockIdx.x * blockDim.x + threadIdx.x;
      if (r >= rows) return;
      for (int e = start[r]; e < start[r + 1]; e++)
        for (int c = 0; c < n; c++) y[r * n + c] += x[column[e] * n + c];
    }]]
    for _, processor in ipairs { "x86-64-v3", "sapphirerapids", "znver4" } do
      local ir = mwcc.run(rows, "--emit=ir --mcpu=" .. processor)
      assert.is_truthy(ir:find("vec.epilog.vector.body:", 1, true), processor)
    end
  end)

  it("is compared with lanes in long launches, where a thread sums its own row of integers", function()
    local sums = [[extern "C" __global__ void sums(const unsigned char *rows, TYPE *out, int n) {
      int i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
      TYPE sum = 0;
      for (int k = 0; k < n; k++) {
        int d = rows[i * n + k] - k % 256;
        sum += (d < 0 ? -d : d) * (k ^ 3) + (k & 5) * (d | 1) - (d ^ k) + (k + d >> 2);
      }
      out[i] = sum;
    }]]
    local function candidates(type)
      local said = mwcc.run(sums:gsub("TYPE", type), "--report --mcpu=x86-64-v4 --launch=sums:64x2x1")
      return said:match "long launches measure other gangs: ([^\n]*)"
    end
    assert.equal("1 x 1 lanes", candidates "int")
    assert.is_nil(candidates "float")
  end)
end)
