-- MT19937: 8192 states of 624 words, 2^2048 steps apart, whose words are interleaved in rows. A warp has four states
-- at a time. (src/device/moonwarp/random/mt19937.h, streams/mt19937.h)

local raw = require "moonwarp.binding"
local sources = require "moonwarp.random.sources"

local M = {}
M.__index = M

local STATES, WORDS = 8192, 624
local TURN = STATES * WORDS -- numbers until all states must advance
local STRETCH = 20568 -- words of the sequence that a jump reads
local WARPS = 4 -- of a block on GPUs, which have four states each
local SIDE_BY_SIDE = 64 -- blocks that run a jump at the same time
do
  local kernels = { begin = "MW_MT_BEGIN\n", sort = "MW_MT_BEGIN\n", jump = "MW_MT_BEGIN\n" }
  for _, name in ipairs {
    "bits", "uniform", "uniform_double", "normal", "normal_double", "lognormal", "lognormal_double", "poisson",
  } do
    kernels[name] = ("MW_MT_FILL(%s)\n"):format(name)
  end
  M.source = sources.new("MT19937", "#include <moonwarp/random/streams/mt19937.h>\n", kernels)
end

local orderings = { default = true, legacy = true }
function M.orderings() return orderings end

---@param g table seed = {low, high}, offset
function M.begin(g) return setmetatable({ seed = g.seed, at = g.offset, skip = 0 }, M) end

function M.unit() return 1 end

-- The first state is the seed's. Jumps of 1, 8, 64, … states multiply the number of known states by 8 each.
function M:prepare()
  if self.states and self.states.device.name == raw.device().name then return end
  local states = raw.array_new("uint", { STATES * WORDS })
  local starts, places = raw.array_new("int", { 257 }), raw.array_new("int", { STRETCH / 8 })
  local stretches = raw.array_new("uint", { SIDE_BY_SIDE * STRETCH })
  self.source:kernel "begin"(1, 1)(self.seed[1], states)
  local sort, jump = self.source:kernel "sort", self.source:kernel "jump"
  local by, digit = 1, 0
  while by < STATES do
    sort(1, 1)(digit, starts, places)
    for first = by, math.min(8 * by, STATES) - 1, by do
      jump(math.min(by, SIDE_BY_SIDE), 640)(starts, places, first, by, by, states, stretches)
    end
    by, digit = by * 8, digit + 1
  end
  self.states, self.turn = states, -1
end

---Skip n words.
function M:jump(n) self.at = self.at + n end

function M:draw(what, count, out, a, b)
  self:prepare()
  local turn = math.floor(self.at / TURN)
  local from = self.at - turn * TURN
  local turns = math.ceil((from + count) / TURN)
  local blocks, warps = STATES / 32, 1
  if raw.properties_of().driver ~= "cpu" then blocks, warps = STATES / (4 * WARPS), WARPS end
  local kernel = self.source:kernel(what)
  kernel(blocks, { 32, warps })(self.states, turn - self.turn, turns, from, from + count, a, b, out)
  self.at = self.at + count
  self.turn = turn + turns - 1
end

function M:save() return ("%.0f"):format(self.at) end
function M:restore(saved)
  self.at, self.states = tonumber(saved), nil
end

return M
