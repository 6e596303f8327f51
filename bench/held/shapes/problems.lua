-- Kernels whose indices are clamped, divided or flipped, or whose bytes stand next to each other. Entries are as
-- in bench/held/fields/problems.lua; `source` has the kernels.

local mw = require "moonwarp"

local FOLDER = "bench/held/shapes/"

return function(make)
  local uniform, bits, cdiv = make.uniform, make.bits, mw.cdiv
  local problems = {}

  local function step(kernel, grid, block, ...) return { kernel, grid, block, { ... } } end

  local function add(source, name, open)
    problems[name] = function()
      local made = open()
      made.source = FOLDER .. source
      return made
    end
  end

  local function words(n, seed, shift) return bits(n, seed, shift, "int") end

  -- ---- clamps.cu ----

  add("clamps.cu", "cheapest_path", function()
    local columns, rows, steps = 100000, 100, 20
    local costs = words(columns * rows, 1, 28)
    local a, b = words(columns, 2, 28), mw.zeros(columns, "int")
    local start, list = words(columns, 2, 28), {}
    for first = 0, rows - steps, steps do
      list[#list + 1] = step("cheapest_path", cdiv(columns, 256 - 2 * steps), 256, steps, costs, a, b, columns, first)
      a, b = b, a
    end
    return { steps = list, result = a, restore = { #list % 2 == 0 and a or b, start } }
  end)

  add("clamps.cu", "heat_tile", function()
    local n, steps = 1000, 3
    local power, from, to = uniform(n * n, 1, 0, 1), uniform(n * n, 2, 20, 80), mw.zeros(n * n)
    local blocks = cdiv(n, 16 - 2 * steps)
    return { result = to, steps = { step("heat_tile", { blocks, blocks }, { 16, 16 }, steps, power, from, to, n, n,
      0.1, 0.12, 0.05) } }
  end)

  add("clamps.cu", "diffusion_rates", function()
    local rows, columns = 1002, 900
    local image, rate = uniform(rows * columns, 1, 1, 2), mw.zeros(rows * columns)
    return { result = rate, steps = { step("diffusion_rates", cdiv(rows * columns, 256), 256, rows, columns, image,
      rate, 0.05) } }
  end)

  add("clamps.cu", "torus_step", function()
    local width, height = 1250, 801
    local u, v = uniform(width * height, 1, -1, 1), mw.zeros(width * height)
    return { result = v, steps = { step("torus_step", { cdiv(width, 32), cdiv(height, 8) }, { 32, 8 }, width, height,
      u, v, 0.1) } }
  end)

  add("clamps.cu", "mean_window", function()
    local width, height = 1000, 500
    local image, out = bits(width * height / 4, 1, 0):as("uchar"), mw.zeros(width * height, "uchar")
    return { result = out, steps = { step("mean_window", { cdiv(width, 32), cdiv(height, 8) }, { 32, 8 }, width,
      height, 3, image, out) } }
  end)

  -- ---- divisions.cu ----

  add("divisions.cu", "patches", function()
    local width, height, size, channels = 150, 130, 5, 3
    local n = width * height * size * size * channels
    local image, rows = uniform(width * height * channels, 1, 0, 1), mw.zeros(n)
    return { result = rows, steps = { step("patches", cdiv(n, 256), 256, n, image, width, height, size, width, height,
      rows) } }
  end)

  add("divisions.cu", "exchange", function()
    local n = 2 ^ 18
    local keys, list = uniform(n, 1, 0, 1), {}
    local run = 2
    while run <= 64 do
      local distance = run / 2
      while distance >= 1 do
        list[#list + 1] = step("exchange", n / 2 / 256, 256, n / 2, keys, distance, run)
        distance = distance / 2
      end
      run = run * 2
    end
    return { result = keys, restore = { keys, uniform(n, 1, 0, 1) }, steps = list }
  end)

  add("divisions.cu", "modular_power", function()
    local n = 2 ^ 16
    local bases, out = bits(n, 1, 0), mw.zeros(n, "uint")
    return { result = out, steps = { step("modular_power", n / 256, 256, n, bases, 998244351, 998244353, out) } }
  end)

  add("divisions.cu", "permute_axes", function()
    local a, b, c, d = 20, 50, 33, 30
    local n = a * b * c * d
    local from, to = uniform(n, 1, 0, 1), mw.zeros(n)
    return { result = to, steps = { step("permute_axes", cdiv(n, 128), 128, n, from, to, b, c, d) } }
  end)

  add("divisions.cu", "common_divisor", function()
    local n = 2 ^ 16
    local out = mw.zeros(n, "int")
    return { result = out, steps = { step("common_divisor", n / 128, 128, n, words(n, 1, 1), words(n, 2, 1), out) } }
  end)

  -- ---- butterflies.cu ----

  add("butterflies.cu", "hadamard_stage", function()
    local n = 2 ^ 19
    local data, list = uniform(n, 1, -1, 1), {}
    local stride = 1
    while stride < n do
      list[#list + 1] = step("hadamard_stage", n / 2 / 256, 256, n / 2, data, stride)
      stride = stride * 2
    end
    return { result = data, restore = { data, uniform(n, 1, -1, 1) }, steps = list }
  end)

  add("butterflies.cu", "hadamard_rows", function()
    local rows = 500
    local from, to = uniform(rows * 1024, 1, -1, 1), mw.zeros(rows * 1024)
    return { result = to, steps = { step("hadamard_rows", rows, 256, 10, from, to) } }
  end)

  add("butterflies.cu", "sort_rows", function()
    local n = 512 * 200
    local keys, values = bits(n, 1, 0), bits(n, 2, 0)
    return { result = keys, restore = { keys, bits(n, 1, 0) }, steps = { step("sort_rows", n / 512, 256, 512, keys,
      values) } }
  end)

  add("butterflies.cu", "fourier_stage", function()
    local n = 2 ^ 17
    local data, roots = uniform(2 * n, 1, -1, 1):as("float2"), uniform(n, 2, -1, 1):as("float2")
    local list, span = {}, 1
    while span < n do
      list[#list + 1] = step("fourier_stage", n / 2 / 128, 128, n / 2, data, roots, span, n / 2 / span)
      span = span * 2
    end
    return { result = data, restore = { data, uniform(2 * n, 1, -1, 1):as("float2") }, steps = list }
  end)

  add("butterflies.cu", "subset_sums", function()
    local n = 2 ^ 18
    local a, b, list, bit = words(n, 1, 20), mw.zeros(n, "int"), {}, 1
    local start = words(n, 1, 20)
    local first = a
    while bit < n do
      list[#list + 1] = step("subset_sums", n / 256, 256, n, a, b, bit)
      a, b, bit = b, a, bit * 2
    end
    return { result = a, restore = { first, start }, steps = list }
  end)

  -- ---- bytes.cu ----

  local function text(n, seed) return bits(math.ceil(n / 4), seed, 0):as("uchar") end

  add("bytes.cu", "string_hash", function()
    local n, length = 2 ^ 15, 52
    local out = mw.zeros(n, "uint")
    return { result = out, steps = { step("string_hash", n / 128, 128, n, text(n * length, 1), length, 17, out) } }
  end)

  add("bytes.cu", "read_records", function()
    local n = 2 ^ 17
    local file, places = text(2 ^ 20 + 8, 1), words(n, 2, 12)
    local out = mw.zeros(n, "int")
    return { result = out, steps = { step("read_records", n / 256, 256, n, file, places, out) } }
  end)

  add("bytes.cu", "fnv_rows", function()
    local rows, length = 2 ^ 15, 40
    local out = mw.zeros(rows, "uint")
    return { result = out, steps = { step("fnv_rows", rows / 256, 256, rows, length, text(rows * length, 1):as("char"),
      out) } }
  end)

  add("bytes.cu", "grey", function()
    local n = 2 ^ 20
    local out = mw.zeros(n, "uchar")
    return { result = out, steps = { step("grey", n / 256, 256, n, text(3 * n, 1), out) } }
  end)

  add("bytes.cu", "byte_products", function()
    local n, length = 2 ^ 14, 128
    local out = mw.zeros(n, "int")
    return { result = out, steps = { step("byte_products", n / 128, 128, n, length, text(n * length, 1):as("char"),
      text(length, 2):as("char"), out) } }
  end)

  return problems
end
