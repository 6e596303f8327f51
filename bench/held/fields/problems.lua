-- Kernels from fields that the other tables do not have. They are measured and never tuned for, and show how the
-- compiler does on unfamiliar code. The sizes keep one processor busy for some milliseconds.
--
-- An entry is a function that makes {steps, result}: the launches of one run, each {kernel, grid, block, arguments},
-- and the array that is compared. Where a run works in place, `restore` has {target, source}: copied before each run.

local mw = require "moonwarp"

return function(make)
  local uniform, bits, cdiv = make.uniform, make.bits, mw.cdiv
  local problems = {}

  local function step(kernel, grid, block, ...) return { kernel, grid, block, { ... } } end

  -- Double buffering: `count` steps, each of which reads one array and writes the other, alternately.
  local function alternate(count, a, b, launch)
    local steps = {}
    for i = 1, count do
      steps[i] = launch(i, a, b)
      a, b = b, a
    end
    return steps, a
  end

  local function bytes_of(n, seed, mask) -- n random bytes, of which only the bits in mask are set
    local list = bits(n, seed, 24):totable()
    for i = 1, n do list[i] = list[i] % (mask + 1) end
    return mw.array(list, "uchar")
  end

  function problems.edit_distance()
    local pairs_of_words = 2 ^ 15
    local distance = mw.zeros(pairs_of_words, "int")
    return { result = distance, steps = { step("edit_distance", pairs_of_words / 128, 128, pairs_of_words,
      bytes_of(pairs_of_words * 24, 1, 3), bytes_of(pairs_of_words * 24, 2, 3), distance) } }
  end

  function problems.knapsack()
    local capacity = 100000
    local weights, values = bits(64, 1, 20):totable(), bits(64, 2, 22):totable()
    local a, b = mw.zeros(capacity + 1, "int"), mw.zeros(capacity + 1, "int")
    local steps, last = alternate(64, a, b, function(i, before, after)
      return step("knapsack", cdiv(capacity + 1, 256), 256, capacity, weights[i] + 1, values[i], before, after)
    end)
    return { steps = steps, result = last, restore = { a, mw.zeros(capacity + 1, "int") } }
  end

  -- The nodes of a complete binary tree of 2^levels - 1 sorted keys, in the order of levels.
  local function implicit_tree(keys)
    local tree = {}
    local function place(node, first, last)
      if first > last then return end
      local middle = math.floor((first + last) / 2)
      tree[node] = keys[middle]
      place(2 * node, first, middle - 1)
      place(2 * node + 1, middle + 1, last)
    end
    place(1, 1, #keys)
    return tree
  end

  function problems.tree_search()
    local nodes, queries = 2 ^ 16 - 1, 2 ^ 18
    local keys = bits(nodes, 1, 0):totable()
    table.sort(keys)
    local found = mw.zeros(queries, "int")
    local tree = mw.array(implicit_tree(keys), "uint")
    return { result = found, steps = { step("tree_search", queries / 256, 256, nodes, tree, queries,
      bits(queries, 2, 0), found) } }
  end

  function problems.lu_step()
    local n, steps = 256, {}
    local a, source = mw.zeros(n * n), uniform(n * n, 1, 0, 1)
    for i = 0, n - 1 do source[i * n + i + 1] = n end
    for k = 0, n - 2, 4 do steps[#steps + 1] = step("lu_step", { n / 16, n / 16 }, { 16, 16 }, n, k, a) end
    return { steps = steps, result = a, restore = { a, source } }
  end

  function problems.fdtd()
    local side = 512
    local cells = side * side
    local hx, hy, ez = mw.zeros(cells), mw.zeros(cells), mw.zeros(cells)
    local steps = {}
    for i = 1, 20, 2 do
      steps[i] = step("fdtd_electric", { side / 32, side / 8 }, { 32, 8 }, side, side, 0.5, hx, hy, ez)
      steps[i + 1] = step("fdtd_magnetic", { side / 32, side / 8 }, { 32, 8 }, side, side, 0.5, ez, hx, hy)
    end
    return { steps = steps, result = hx, restore = { ez, uniform(cells, 1, 0, 1) } }
  end

  function problems.ray_march()
    local side = 256
    local shade = mw.zeros(side * side)
    return { result = shade, steps = { step("ray_march", { side / 16, side / 16 }, { 16, 16 }, side, side, shade) } }
  end

  -- The automaton of Aho and Corasick for some words over four letters: the next states, and how many words end there.
  local function automaton(words)
    local children, ends, fallback = { {} }, { 0 }, { 1 }
    for _, word in ipairs(words) do
      local at = 1
      for _, letter in ipairs(word) do
        if not children[at][letter] then
          children[#children + 1], ends[#ends + 1] = {}, 0
          children[at][letter] = #children
        end
        at = children[at][letter]
      end
      ends[at] = ends[at] + 1
    end
    local queue, next_state = { 1 }, {}
    for _, state in ipairs(queue) do
      next_state[state] = {}
      for letter = 0, 3 do
        local child = children[state][letter]
        local other = state == 1 and 1 or next_state[fallback[state]][letter]
        next_state[state][letter] = child or other
        if child then
          fallback[child] = state == 1 and 1 or other
          ends[child] = ends[child] + (state == 1 and 0 or ends[other])
          queue[#queue + 1] = child
        end
      end
    end
    local table_of = {}
    for state = 1, #children do
      for letter = 0, 3 do table_of[(state - 1) * 4 + letter + 1] = next_state[state][letter] - 1 end
    end
    return table_of, ends
  end

  function problems.automaton_match()
    local length, words = 2 ^ 20, {}
    for w = 1, 16 do words[w] = bits(4 + w % 5, 100 + w, 30):totable() end
    local next_state, ends = automaton(words)
    local count = mw.zeros(length / 64, "int")
    return { result = count, steps = { step("automaton_match", length / 64 / 128, 128, length, make.letters(length, 1),
      mw.array(next_state, "int"), mw.array(ends, "int"), 8, count) } }
  end

  function problems.hash_table()
    local keys, slots = 2 ^ 16, 2 ^ 18
    local hashes, found = mw.zeros(slots, "uint"), mw.zeros(2 ^ 18, "int")
    return { result = found, restore = { hashes, mw.zeros(slots, "uint") }, steps = {
      step("hash_insert", keys / 256, 256, keys, bits(keys, 1, 12), slots - 1, hashes),
      step("hash_find", 2 ^ 18 / 256, 256, 2 ^ 18, bits(2 ^ 18, 2, 12), slots - 1, hashes, found),
    } }
  end

  function problems.components()
    local side = 512
    local inside, labels = bytes_of(side * side, 1, 3), mw.arange(side * side, "int")
    local a, b = mw.zeros(side * side, "int"), mw.zeros(side * side, "int")
    local steps, last = alternate(16, a, b, function(_, before, after)
      return step("components", { side / 32, side / 8 }, { 32, 8 }, side, side, inside, before, after)
    end)
    return { steps = steps, result = last, restore = { a, labels } }
  end

  function problems.conv_layer()
    local side = 64
    local output = mw.zeros(32 * side * side)
    return { result = output, steps = { step("conv_layer", { side / 32, side / 8, 32 }, { 32, 8 }, side,
      uniform(16 * side * side, 1, -1, 1), uniform(32 * 16 * 9, 2, -1, 1), uniform(32, 3, -1, 1), output) } }
  end

  function problems.attention()
    local tokens = 512
    local out = mw.zeros(tokens * 64)
    return { result = out, steps = { step("attention", tokens, 128, tokens, 0.125, uniform(tokens * 64, 1, -1, 1),
      uniform(tokens * 64, 2, -1, 1), uniform(tokens * 64, 3, -1, 1), out) } }
  end

  function problems.layer_norm()
    local rows, columns = 2048, 768
    local y = mw.zeros(rows * columns)
    return { result = y, steps = { step("layer_norm", rows, 256, columns, uniform(rows * columns, 1, -1, 1),
      uniform(columns, 2, 0, 2), uniform(columns, 3, -1, 1), y) } }
  end

  function problems.lz_match()
    local length = 2 ^ 17
    local match = mw.zeros(length, "int")
    return { result = match,
      steps = { step("lz_match", length / 256, 256, length, make.letters(length, 1), match) } }
  end

  function problems.huffman_decode()
    local blocks, lengths = 2 ^ 13, { 1, 2, 3, 4, 5, 6, 8, 8, 8, 8 }
    local symbol, length, at = {}, {}, 0
    for s, l in ipairs(lengths) do -- the code of symbol s is read from its least bit on, so its bits are reversed
      local code, reversed = math.floor(at / 2 ^ (8 - l)), 0
      for _ = 1, l do reversed, code = reversed * 2 + code % 2, math.floor(code / 2) end
      for high = 0, 2 ^ (8 - l) - 1 do
        symbol[high * 2 ^ l + reversed + 1], length[high * 2 ^ l + reversed + 1] = s - 1, l
      end
      at = at + 2 ^ (8 - l)
    end
    local begins = {}
    for b = 1, blocks do begins[b] = (b - 1) * 512 + b % 32 end
    local out = mw.zeros(blocks * 64, "uchar")
    return { result = out, steps = { step("huffman_decode", blocks / 128, 128, blocks, bits(blocks * 16 + 32, 1, 0),
      mw.array(begins, "uint"), mw.array(symbol, "uchar"), mw.array(length, "uchar"), out) } }
  end

  function problems.kd_nearest()
    local levels, queries, points = 14, 2 ^ 14, {}
    local flat = uniform(2 * (2 ^ 14 - 1), 1, 0, 1):totable()
    for i = 1, 2 ^ levels - 1 do points[i] = { flat[2 * i - 1], flat[2 * i] } end
    local tree = {}
    local function place(node, list, axis)
      if #list == 0 then return end
      table.sort(list, function(a, b) return a[axis] < b[axis] end)
      local middle, low, high = (#list + 1) / 2, {}, {}
      tree[2 * node - 1], tree[2 * node] = list[middle][1], list[middle][2]
      for i = 1, middle - 1 do low[i], high[i] = list[i], list[middle + i] end
      place(2 * node, low, 3 - axis)
      place(2 * node + 1, high, 3 - axis)
    end
    place(1, points, 1)
    local nearest = mw.zeros(queries, "int")
    return { result = nearest, steps = { step("kd_nearest", queries / 128, 128, levels, mw.array(tree):as("float2"),
      queries, uniform(2 * queries, 2, 0, 1):as("float2"), nearest) } }
  end

  function problems.sph_density()
    local particles, cells = 2 ^ 15, 64
    local flat, bins, begin, sorted = uniform(2 * particles, 1, 0, 1):totable(), {}, {}, {}
    for i = 1, 2 * particles, 2 do
      local cell = math.floor(flat[i + 1] * cells) * cells + math.floor(flat[i] * cells) + 1
      bins[cell] = bins[cell] or {}
      table.insert(bins[cell], i)
    end
    for cell = 1, cells * cells do
      begin[cell] = #sorted / 2
      for _, i in ipairs(bins[cell] or {}) do
        sorted[#sorted + 1] = flat[i]
        sorted[#sorted + 1] = flat[i + 1]
      end
    end
    begin[cells * cells + 1] = particles
    local density = mw.zeros(particles)
    return { result = density, steps = { step("sph_density", particles / 128, 128, particles, cells, 1 / cells,
      mw.array(sorted):as("float2"), mw.array(begin, "int"), density) } }
  end

  function problems.lbm()
    local side = 256
    local source = uniform(9 * side * side, 1, 0.1, 0.12)
    local a, b = mw.zeros(9 * side * side), mw.zeros(9 * side * side)
    local steps, last = alternate(4, a, b, function(_, before, after)
      return step("lbm", { side / 32, side / 8 }, { 32, 8 }, side, side, 1.2, before, after)
    end)
    return { steps = steps, result = last, restore = { a, source } }
  end

  function problems.floyd_warshall()
    local nodes, steps = 256, {}
    local distance = mw.zeros(nodes * nodes, "int")
    for k = 0, nodes - 1, 2 do steps[#steps + 1] = step("floyd_warshall", { 1, nodes }, 256, nodes, k, distance) end
    return { steps = steps, result = distance, restore = { distance, bits(nodes * nodes, 1, 20, "int") } }
  end

  function problems.jacobi()
    local side = 512
    local a, b, change = mw.zeros(side * side), mw.zeros(side * side), mw.zeros(1, "int")
    local source = uniform(side * side, 1, -1, 1)
    local steps, last = alternate(10, a, b, function(_, before, after)
      return step("jacobi", { side / 32, side / 8 }, { 32, 8 }, side, source, before, after, change)
    end)
    return { steps = steps, result = last, restore = { a, mw.zeros(side * side) } }
  end

  function problems.gauss_jordan()
    local systems = 1024
    local matrices, solution = uniform(systems * 256, 1, -1, 1), mw.zeros(systems * 16)
    return { result = solution, steps = { step("gauss_jordan", systems, { 17, 16 }, matrices,
      uniform(systems * 16, 2, -1, 1), solution) } }
  end

  function problems.wavelet()
    local samples = 2 ^ 20
    local output = mw.zeros(samples)
    return { result = output, steps = { step("wavelet", samples / 512, 256, uniform(samples, 1, -1, 1), output) } }
  end

  local function picture_filter(name, side, target, ...)
    return { result = target, steps = { step(name, { side / 32, side / 16 }, { 32, 16 }, side, side, ...) } }
  end

  function problems.median_filter()
    local side = 1024
    local picture, out = bits(side * side / 4, 1, 0):as("uchar"), mw.zeros(side * side, "uchar")
    return picture_filter("median_filter", side, out, picture, out)
  end

  function problems.sobel()
    local side = 1024
    local picture, out = bits(side * side / 4, 1, 0):as("uchar"), mw.zeros(side * side, "uchar")
    return picture_filter("sobel", side, out, picture, out)
  end

  function problems.bilateral()
    local side = 256
    local picture, out = uniform(side * side, 1, 0, 1), mw.zeros(side * side)
    return picture_filter("bilateral", side, out, 0.1, 8, picture, out)
  end

  function problems.generator()
    local streams = 2 ^ 15
    local sums = mw.zeros(streams)
    return { result = sums, steps = { step("generator", streams / 256, 256, streams, 42, sums) } }
  end

  return problems
end
