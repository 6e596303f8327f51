-- Generators whose stream interleaves columns: XORWOW, Philox and MRG32k3a.
--
-- A column is a subsequence that has drawn `row` words so far. Numbers are made in units (one number, a pair, Philox's
-- four); columns take turns in making a unit, beginning with column `column`. So the stream depends only on the number
-- of columns, which the kind's ordering determines. Columns' states are words on the device. Rows are also kept here,
-- as runs (only few differ), so that a generator can be saved and restored on any device. If normal numbers are drawn
-- singly, a column keeps the second number of a pair: `pair` is the row of the pair's first word, plus 1, or 0.

local raw = require "moonwarp.binding"
local sources = require "moonwarp.random.sources"

local floor = math.floor

local M = {}
M.__index = M

local TEXT = "#include <moonwarp/random/streams/columns.h>\n"

-- The kinds of numbers that are drawn, and their dtypes.
local draws = {
  bits = "uint", uniform = "float", uniform_double = "double", normal = "float", normal_double = "double",
  lognormal = "float", lognormal_double = "double", poisson = "uint", single = "float",
}

-- The words that a unit consumes, and the numbers that it produces.
local sizes = {
  one = {
    bits = { 1, 1 }, uniform = { 1, 1 }, uniform_double = { 2, 1 }, normal = { 2, 2 }, normal_double = { 4, 2 },
    poisson = { 1, 1 }, single = { 0, 1 },
  },
  four = {
    bits = { 4, 4 }, uniform = { 4, 4 }, uniform_double = { 8, 4 }, normal = { 4, 4 }, normal_double = { 8, 4 },
    poisson = { 4, 4 },
  },
}
-- MRG32k3a's doubles take one step each.
sizes.mrg32k3a = setmetatable({ uniform_double = { 1, 1 }, normal_double = { 2, 2 } }, { __index = sizes.one })

local function kind_of(kind, size)
  local kernels = { begin = ("MW_COLUMNS_BEGIN(%s)\n"):format(kind) }
  for name in pairs(draws) do kernels[name] = ("MW_COLUMNS_FILL(%s, %s)\n"):format(kind, name) end
  for _, name in ipairs(kind == "philox" and { "uniform_double", "normal_double", "lognormal_double" } or {}) do
    kernels[name .. "_halves"] = ("MW_COLUMNS_FILL_HALVES(%s)\n"):format(name)
  end
  return { source = sources.new(kind, TEXT, kernels), sizes = size, words = kind == "philox" and 3 or 8 }
end
local kinds = {
  xorwow = kind_of("xorwow", sizes.one),
  mrg32k3a = kind_of("mrg32k3a", sizes.mrg32k3a),
  philox = kind_of("philox", sizes.four),
}
local columns_of = {
  xorwow = { default = 4096, best = 4096, legacy = 4096, seeded = 4096 },
  mrg32k3a = { default = 81920, best = 81920, legacy = 4096 },
  philox = { default = 65536, best = 65536, legacy = 65536 },
}

---@param kind string
---@return table ordering -> number of columns
function M.orderings(kind) return columns_of[kind] end

---@param g table kind, ordering, seed = {low, high}, offset
function M.begin(g)
  local self = setmetatable({ kind = g.kind, of = kinds[g.kind], seed = g.seed, seeded = g.ordering == "seeded" }, M)
  self.columns = columns_of[g.kind][g.ordering]
  self.singles = g.kind ~= "philox" -- whether it makes "single" numbers
  self.column, self.skip, self.runs = 0, 0, { { from = 0, row = 0, pair = 0 } }
  self:jump(g.offset)
  return self
end

-- ---- rows ----

-- The run that begins at a column, after splitting a run if necessary.
local function cut(runs, column)
  for at, run in ipairs(runs) do
    if run.from == column then return at end
    if run.from > column then
      table.insert(runs, at, { from = column, row = runs[at - 1].row, pair = runs[at - 1].pair })
      return at
    end
  end
  runs[#runs + 1] = { from = column, row = runs[#runs].row, pair = runs[#runs].pair }
  return #runs
end

-- A column draws `count` single numbers: the second number of its pair, then further pairs.
local function draw_singles(run, count)
  if count > 0 and run.pair > 0 then run.pair, count = 0, count - 1 end
  run.row = run.row + floor(count / 2) * 2
  if count % 2 == 1 then run.pair, run.row = run.row + 1, run.row + 2 end
end

-- `count` columns from `first` on draw `units` units each of `words` words, or, if that is 0, `units` single numbers.
function M:advance(first, count, units, words)
  if first + count > self.columns then
    self:advance(0, first + count - self.columns, units, words)
    count = self.columns - first
  end
  if count == 0 or units == 0 then return end
  local runs = self.runs
  local from = cut(runs, first)
  local to = first + count < self.columns and cut(runs, first + count) or #runs + 1
  for at = from, to - 1 do
    if words == 0 then draw_singles(runs[at], units) else runs[at].row = runs[at].row + units * words end
  end
  for at = #runs, 2, -1 do
    if runs[at].row == runs[at - 1].row and runs[at].pair == runs[at - 1].pair then table.remove(runs, at) end
  end
end

-- Advance all columns by `units` units, each of which takes a fixed number of words.
function M:passed(units, words)
  local rounds = floor(units / self.columns)
  local rest = units - rounds * self.columns
  self:advance(0, self.columns, rounds, words)
  self:advance(self.column, rest, 1, words)
  self.column = (self.column + rest) % self.columns
end

---Skip n words.
function M:jump(n)
  local width = self.of.sizes.bits[1]
  n = n + self.skip
  self:passed(floor(n / width), width)
  self.skip = n % width
  self.states = nil
end

-- ---- drawing ----

function M:prepare()
  if self.states and self.states.device.name == raw.device().name then return end
  local columns, rows, pairs_of = self.columns, {}, {}
  for at, run in ipairs(self.runs) do
    local last = self.runs[at + 1] and self.runs[at + 1].from or columns
    for i = run.from + 1, last do rows[i], pairs_of[i] = run.row, run.pair end
  end
  self.states = raw.array_new("uint", { self.of.words, columns })
  self.of.source:kernel "begin"(math.ceil(columns / 128), 128)(self.seed[1], self.seed[2], self.seeded and 3133713 or 0,
    columns, raw.array_from(rows, "ulonglong"), raw.array_from(pairs_of, "ulonglong"), self.states)
end

---The number of numbers that are made at once.
---@param what string
---@return integer
function M:unit(what) return self.of.sizes[(what:gsub("^log", ""))][2] end

---Only the first `taken` numbers of the last unit of `what` were used: the next unit, of whatever kind of numbers, is
---made from the same column and words, without its first `taken` numbers. In cuRAND only Philox behaves so.
---@param what string
---@param taken integer
function M:undo(what, taken)
  if self.kind ~= "philox" then return end
  self.column = (self.column - 1) % self.columns
  self:advance(self.column, 1, -1, self.of.sizes[(what:gsub("^log", ""))][1])
  self.skip, self.states = taken, nil
end

local LEAST = 1024 -- words for which a thread of a GPU jumps

-- On GPUs threads share columns that draw many words: how many, and the rounds of each. Numbers that take long deserve
-- more threads. A jump takes a while for each digit to the base 16 of its words that is not 0, so all but two or three
-- are.
local function shares(what, rounds, words)
  local most = (what == "bits" or what:find "^uniform") and 4 or 16
  local count = math.min(most, floor(rounds * words / LEAST))
  if count < 2 then return 1, rounds end
  local span, unit = math.ceil(rounds * words / count), 1
  while unit * 256 <= span do unit = unit * 16 end
  span = math.ceil(span / unit) * unit / words
  return math.ceil(rounds / span), span
end

---Draw whole units into an array.
---@param what string
---@param units integer
---@param out moonwarp.array contiguous
function M:draw(what, units, out, a, b)
  self:prepare()
  local per_unit, words = self:unit(what), self.of.sizes[(what:gsub("^log", ""))][1]
  local on_gpu, threads = raw.properties_of().driver ~= "cpu", math.min(units, self.columns)
  if on_gpu and self.kind == "philox" and what:find "_double$" then
    local kernel = self.of.source:kernel(what .. "_halves")
    kernel(math.ceil(threads / 64), 128)(self.states, self.columns, self.column, units, a, b, out:as "double2")
  else
    if per_unit > 1 then out = out:as(draws[what] .. per_unit) end
    local count, span = 1, 0
    if on_gpu and self.kind ~= "philox" and words > 0 then
      count, span = shares(what, floor(units / self.columns), words)
    end
    local width = count > 1 and 32 or 128
    local kernel = self.of.source:kernel(what)
    kernel(math.ceil(threads / width), { width, count })(self.states, self.columns, self.column, units, span, words, a,
      b, out)
  end
  self:passed(units, words)
end

-- ---- saving ----

-- A run is its column, its row and, unless it is 0, its pair.
function M:save()
  local runs = {}
  for at, run in ipairs(self.runs) do
    runs[at] = ("%.0f:%.0f"):format(run.from, run.row) .. (run.pair > 0 and (":%.0f"):format(run.pair) or "")
  end
  return ("%.0f,%.0f,%s"):format(self.column, self.skip, table.concat(runs, ","))
end

function M:restore(saved)
  local column, skip, rest = saved:match "^(%d+),(%d+),(.+)$"
  self.column, self.skip, self.runs, self.states = tonumber(column), tonumber(skip), {}, nil
  for from, row, pair in rest:gmatch "(%d+):(%d+):?(%d*)" do
    self.runs[#self.runs + 1] = { from = tonumber(from), row = tonumber(row), pair = tonumber(pair) or 0 }
  end
end

return M
