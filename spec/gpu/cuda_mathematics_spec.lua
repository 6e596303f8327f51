-- Fourier transforms by cuFFT and factorisations by cuSOLVER, on machines with neither: fake libraries compute on the
-- host, with the results of the definition and of LAPACK.
local raw = require "moonwarp.binding"
local gpu = require "support.fake.gpu"

local home = assert(os.getenv "MOONWARP_HOME")

local function run(script, spec)
  local logs = { MOONWARP_CUFFT = os.tmpname(), MOONWARP_CUSOLVER = os.tmpname(), MOONWARP_CUBLAS = os.tmpname() }
  local environment = {
    MOONWARP_CUFFT = home .. "/test/libfakecufft.so", FAKE_CUFFT_LOG = logs.MOONWARP_CUFFT,
    MOONWARP_CUSOLVER = home .. "/test/libfakecusolver.so", FAKE_CUSOLVER_LOG = logs.MOONWARP_CUSOLVER,
    MOONWARP_CUBLAS = home .. "/test/libfakecublas.so", FAKE_CUBLAS_LOG = logs.MOONWARP_CUBLAS,
  }
  for name, value in pairs(spec and spec.environment or {}) do environment[name] = value end
  local result = gpu { 'local raw = require "moonwarp.binding"\n' .. script, fail = spec and spec.fail,
    environment = environment }
  local lines = {}
  for _, path in pairs(logs) do
    for line in io.lines(path) do lines[#lines + 1] = line end
    os.remove(path)
  end
  result.library = table.concat(lines, "\n")
  return result
end

local function count(result, word)
  local n = 0
  for line in result.library:gmatch "[^\n]+" do
    if line:match "^%S+" == word then n = n + 1 end
  end
  return n
end

describe("libraries of GPUs for mathematics", function()
  it("are named, or said to be missing", function()
    local script = "print(raw.fourier_library(), (raw.linear_library(true)), mw.doctor())"
    local with = run(script).output
    assert.matches("^cuFFT %(.*libfakecufft%.so%)\tcuSOLVER %(.*libfakecusolver%.so%)\t", with)
    assert.matches("\nfactorisations on GPUs: cuSOLVER %(.*\nFourier transforms on GPUs: cuFFT %(", with)
    local without = run(script, { environment = { MOONWARP_CUFFT = "off", MOONWARP_CUSOLVER = "off" } }).output
    assert.matches("Fourier transforms on GPUs: moonwarp's own kernels. cuFFT is not loaded", without)
    assert.matches("factorisations on GPUs: moonwarp's own kernels", without)
  end)
end)

describe("cuFFT", function()
  it("is reported by a transform where it is missing", function()
    assert.matches("false\tcuFFT was not found under these names: /nowhere", run([[
      local a = mw.zeros(4, "complex64")
      print(raw.array_fourier(a, mw.zeros(4, "complex64"), "forward", 4, 1))
    ]], { environment = { MOONWARP_CUFFT = "/nowhere" } }).output)
  end)

  -- Lines of any distance and number compared with sums in Lua: of both precisions and each kind.
  it("transforms lines as the definition says", function()
    local result = run [[
      local function number(z) return type(z) == "number" and z or z.re, type(z) == "number" and 0 or z.im end
      local worst = 0
      for _, dtype in ipairs { "float", "double" } do
        local complex = dtype == "float" and "complex64" or "complex128"
        for _, sizes in ipairs { { 1, 6, 1 }, { 4, 5, 1 }, { 1, 4, 3 }, { 2, 3, 5 }, { 5, 3, 2 } } do
          for _, kind in ipairs { "forward", "inverse", "real", "real inverse" } do
            local outer, n, inner = sizes[1], sizes[2], sizes[3]
            local half, sign = math.floor(n / 2) + 1, kind:match "inverse" and 1 or -1
            local ins, outs = kind == "real inverse" and half or n, kind == "real" and half or n
            local t, seed = {}, 7
            for i = 1, outer * ins * inner do
              seed = (seed * 75 + 74) % 65537
              t[i] = kind == "real" and seed / 65537 or { seed / 65537, kind == "real inverse" and 0 or i % 3 }
            end
            local x = mw.array(t, kind == "real" and dtype or complex)
            local y = mw.zeros(outer * outs * inner, kind == "real inverse" and dtype or complex)
            -- Of an odd number of real numbers at a distance, every other begins within a pair.
            local is_odd = kind:match "real" and outer > 1 and inner > 1 and n * inner % 2 == 1
            assert(raw.array_fourier(x, y, kind, n, inner) == not is_odd)
            for o = 0, is_odd and -1 or outer - 1 do
              for c = 0, inner - 1 do
                for j = 0, outs - 1 do
                  local re, im = 0, 0
                  for k = 0, n - 1 do
                    local from = k < ins and k or n - k
                    local a, b = number(x[o * ins * inner + from * inner + c + 1])
                    local angle = sign * 2 * math.pi * j * k / n
                    local cos, sin = math.cos(angle), math.sin(angle)
                    re, im = re + a * cos - b * sin, im + a * sin + b * cos
                  end
                  local a, b = number(y[o * outs * inner + j * inner + c + 1])
                  if kind == "real inverse" then im = 0 end
                  worst = math.max(worst, (math.abs(a - re) + math.abs(b - im)) / (dtype == "float" and 1e-5 or 1e-13))
                end
              end
            end
          end
        end
      end
      print(worst < 1, mw.memory().count)
    ]]
    assert.matches("^true\t", result.output) -- and the input of "real inverse" is as it was
    for _, name in ipairs { "C2C", "Z2Z", "R2C", "D2Z", "C2R", "Z2D" } do
      assert.is_true(count(result, "cufftExec" .. name) > 0, name)
    end
  end)

  it("leaves real numbers that do not begin at a pair to kernels", function()
    local result = run [[
      local x = mw.arange(9):sub(2)
      local y = mw.zeros(5, "complex64")
      print(raw.array_fourier(x, y, "real", 8, 1))
    ]]
    assert.matches("^false\t[^\n]*aligned to two numbers\n", result.output)
  end)

  it("makes a plan once for a shape, keeps sixteen, and releases all", function()
    local result = run [[
      local function transform(n)
        raw.array_fourier(mw.zeros(n, "complex64"), mw.zeros(n, "complex64"), "forward", n, 1)
      end
      for _ = 1, 3 do transform(8) end
      for n = 9, 24 do transform(n) end
      mw.synchronize()
    ]]
    assert.equal(3 + 16, count(result, "cufftExecC2C"))
    assert.equal(1 + 16, count(result, "cufftMakePlanMany64"))
    assert.equal(1 + 16, count(result, "cufftDestroy"))
  end)

  it("frees a transform's workspace when it is done, and leaves many batches of lines to kernels", function()
    local result = run [[
      local x, y = mw.zeros(70 * 3 * 70, "complex64"), mw.zeros(70 * 3 * 70, "complex64")
      local before = mw.memory().count
      raw.array_fourier(x, y, "forward", 70 * 3 * 70, 1)
      mw.synchronize()
      print(mw.memory().count - before, raw.array_fourier(x, y, "forward", 3, 70))
    ]]
    assert.matches("^0\tfalse\tcuFFT cannot transform 70 batches", result.output)
  end)
end)

describe("cuBLAS", function()
  it("multiplies matrices, batches and vectors, of any order, as sums of products", function()
    if not raw.linear_library(false) then return pending "no BLAS" end
    local result = run [[
      local worst = 0
      for _, dtype in ipairs { "float", "double" } do
        for _, sizes in ipairs { { 3, 4, 5, 1 }, { 2, 3, 4, 3 }, { 4, 3, 1, 1 }, { 1, 5, 3, 1 } } do
          local rows, inner, columns, count = sizes[1], sizes[2], sizes[3], sizes[4]
          for order = 0, 3 do
            local function operand(m, n, flipped)
              local t = {}
              for i = 1, count * m * n do t[i] = (i * 7 % 11) - 4 end
              local x = mw.array(t, dtype):reshape(flipped and { count, n, m } or { count, m, n })
              return flipped and x:transpose() or x, function(b, i, j)
                return t[b * m * n + (flipped and j * m + i or i * n + j) + 1]
              end
            end
            local a, at = operand(rows, inner, order % 2 == 1)
            local b, bt = operand(inner, columns, order >= 2)
            local c = mw.zeros({ count, rows, columns }, dtype)
            assert(raw.array_product(a, b, c))
            for k = 0, count - 1 do
              for i = 0, rows - 1 do
                for j = 0, columns - 1 do
                  local sum = 0
                  for l = 0, inner - 1 do sum = sum + at(k, i, l) * bt(k, l, j) end
                  worst = math.max(worst, math.abs(sum - c:get(k + 1, i + 1, j + 1)))
                end
              end
            end
          end
        end
      end
      print(worst)
    ]]
    assert.matches("^0", result.output)
    assert.is_true(count(result, "gemv") > 0 and count(result, "gemm") > 0)
  end)
end)

describe("cuSOLVER", function()
  local has_lapack = raw.linear_library(true)

  -- What each routine writes, compared with LAPACK's on the CPU device; the signs of singular and eigenvectors are
  -- free, and the part of r below its diagonal is not defined.
  it("factors each matrix of a batch as LAPACK does", function()
    if not has_lapack then return pending "no LAPACK" end
    local result = run [[
      mw.seed(3)
      local function matrices(dtype, columns, rows, symmetric, count)
        local t, seed = {}, 11
        for b = 1, count or 2 do
          t[b] = {}
          for i = 1, columns do
            t[b][i] = {}
            for j = 1, rows do
              seed = (seed * 75 + 74) % 65537
              local value = symmetric and t[b][j] and j < i and t[b][j][i]
              value = type(value) == "table" and value[1] or value or seed / 65537 + (i == j and 4 or 0)
              t[b][i][j] = dtype:match "complex" and { value, 0 } or value
            end
          end
        end
        return mw.array(t, dtype)
      end
      local function size(z) return type(z) == "number" and math.abs(z) or math.sqrt(z.re ^ 2 + z.im ^ 2) end
      local function compare(name, dtype, arrays)
        local host = {}
        mw.synchronize()
        for i, a in ipairs(arrays) do
          host[i] = mw.with(mw.device "cpu", mw.zeros, a.shape, a.dtype)
          host[i]:copy_from(a)
        end
        assert(raw.array_factor(name, (table.unpack or unpack)(arrays)))
        mw.with(mw.device "cpu", function() assert(raw.array_factor(name, (table.unpack or unpack)(host))) end)
        local worst = 0
        for i = name:match "^[es]" and name ~= "solve" and name ~= "eigh" and 2 or 1, #arrays do
          local n, k = arrays[i].shape[2], arrays[i].shape[3]
          local a, b = arrays[i]:copy():reshape(-1), host[i]:copy():reshape(-1)
          for at = 1, #a do
            local is_low = name == "qr" and i == 2 and (at - 1) % k > math.floor((at - 1) / k) % n
            if not is_low then worst = math.max(worst, math.abs(size(a[at]) - size(b[at]))) end
          end
        end
        local limit = (dtype == "float" or dtype == "complex64") and 1e-4 or 1e-11
        print(name, dtype, worst < limit or worst)
      end
      for _, dtype in ipairs { "float", "double", "complex64", "complex128" } do
        local real = (dtype == "float" or dtype == "complex64") and "float" or "double"
        local function new(...) return mw.zeros({ ... }, dtype) end
        local function values(k) return mw.zeros({ 2, k }, real) end
        local function info() return mw.full(2, 9, "int") end
        local square = matrices(dtype, 4, 4)
        compare("solve", dtype, { square, matrices(dtype, 3, 4), mw.zeros({ 2, 4 }, "int"), info() })
        compare("lu", dtype, { matrices(dtype, 4, 4), mw.zeros({ 2, 4 }, "int"), info() })
        compare("cholesky", dtype, { matrices(dtype, 4, 4, true), info() })
        compare("qr", dtype, { matrices(dtype, 3, 5), new(2, 3, 3), info() })
        compare("qr", dtype, { matrices(dtype, 5, 3), new(2, 5, 3), info() })
        compare("eigh", dtype, { matrices(dtype, 4, 4, true), values(4), info() })
        compare("eigvalsh", dtype, { matrices(dtype, 4, 4, true), values(4), info() })
        compare("svd", dtype, { matrices(dtype, 3, 5), values(3), info(), new(2, 3, 5), new(2, 3, 3) })
        compare("svdvals", dtype, { matrices(dtype, 3, 5), values(3), info() })
        compare("solve", dtype, { matrices(dtype, 4, 4, false, 5), matrices(dtype, 3, 4, false, 5),
          mw.zeros({ 5, 4 }, "int"), mw.full(5, 9, "int") })
        compare("lu", dtype, { matrices(dtype, 3, 3, false, 5), mw.zeros({ 5, 3 }, "int"), mw.full(5, 9, "int") })
        compare("eigh", dtype, { matrices(dtype, 4, 4, true, 5), mw.zeros({ 5, 4 }, real), mw.full(5, 9, "int") })
        if dtype:match "complex" then
          local function wide(...) return mw.zeros({ ... }, dtype) end
          compare("eig", dtype, { matrices(dtype, 4, 4), wide(2, 4), info(), wide(2, 4, 4) })
          compare("eigvals", dtype, { matrices(dtype, 4, 4), wide(2, 4), info() })
        end
      end
    ]]
    local lines = 0
    for line in result.output:gmatch "[^\n]+" do
      assert.matches("^%S+\t%S+\ttrue$", line)
      lines = lines + 1
    end
    assert.equal(4 * 12 + 4, lines)
    assert.equal(4 * 2, count(result, "getrfBatched")) -- of many small matrices
    assert.equal(4, count(result, "syevjBatched"))
    assert.equal(1, count(result, "cusolverDnCreate"))
    assert.equal(1, count(result, "cusolverDnDestroy"))
  end)

  it("says which matrix is singular, and frees its workspace", function()
    if not has_lapack then return pending "no LAPACK" end
    local result = run [[
      local a = mw.array { { { 1, 0 }, { 0, 1 } }, { { 1, 1 }, { 1, 1 } } }
      local x, pivots, info = mw.ones(2, 1, 2), mw.zeros({ 2, 2 }, "int"), mw.zeros(2, "int")
      local before = mw.memory().count
      raw.array_factor("solve", a, x, pivots, info)
      mw.synchronize()
      print(info[1], info[2], x:get(1, 1, 2), mw.memory().count - before)
    ]]
    assert.matches("^0\t2\t1%.?0?\t0\n", result.output)
  end)

  it("leaves to kernels and to the CPU what it does not have", function()
    local result = run [[
      local function int(...) return mw.zeros({ ... }, "int") end
      print(raw.array_factor("cholesky", mw.zeros(8, 3, 3), int(8)))
      print(raw.array_factor("svdvals", mw.zeros(1, 4, 3), mw.zeros(1, 3), int(1)))
      print(raw.array_factor("eigvals", mw.zeros(1, 3, 3), mw.zeros({ 1, 3 }, "complex64"), int(1)))
    ]]
    assert.matches("many small matrices.*\nfalse\tcuSOLVER's svd needs.*\nfalse\tcuSOLVER's eig needs", result.output)
  end)

  it("is not left with a workspace where a copy fails", function()
    if not has_lapack then return pending "no LAPACK" end
    local result = run([[
      local a, r, info = mw.ones(1, 3, 5), mw.zeros(1, 3, 3), mw.zeros(1, "int")
      local before = mw.memory().count
      local ok, why = pcall(raw.array_factor, "qr", a, r, info)
      print(ok, tostring(why):match "a factorisation failed", mw.memory().count - before)
    ]], { fail = "cuMemcpy3DAsync@1=1" })
    assert.matches("^false\ta factorisation failed\t0\n", result.output)
  end)
end)
