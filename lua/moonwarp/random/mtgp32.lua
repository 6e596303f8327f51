-- MTGP32: states with a set of parameters each, which take turns in drawing 256 words. A block has a state, a thread a
-- word of a turn or several.

local raw = require "moonwarp.binding"
local sources = require "moonwarp.random.sources"

local M = {}
M.__index = M

local WORDS = 256 -- that a state draws in its turn
local FEW = 64 -- threads of a block on the CPU device, which make four words each between barriers
local STATE, PARAMETERS = 4112, 40808 -- bytes of curandStateMtgp32_t, and no less than mtgp32_kernel_params_t has
do
  local begin = "MW_MTGP_BEGIN\n"
  local kernels = { begin_parameters = begin, begin_states = begin }
  for _, name in ipairs {
    "bits", "uniform", "uniform_double", "normal", "normal_double", "lognormal", "lognormal_double", "poisson",
  } do
    kernels[name] = ("MW_MTGP_FILL(%s)\n"):format(name)
  end
  M.source = sources.new("MTGP32", "#include <moonwarp/random/streams/mtgp32.h>\n", kernels)
end

local states_of = { default = 192, best = 192, legacy = 64 }
function M.orderings() return states_of end

---@param g table ordering, seed = {low, high}, offset
function M.begin(g)
  return setmetatable({ seed = g.seed, count = states_of[g.ordering], at = g.offset, skip = 0 }, M)
end

function M.unit() return 1 end

-- States and parameters on the device in use, at turn 0.
function M:prepare()
  if self.states and self.states.device.name == raw.device().name then return end
  self.parameters = raw.array_new("ulonglong", { PARAMETERS / 8 })
  self.states = raw.array_new("ulonglong", { self.count, STATE / 8 })
  self.source:kernel "begin_parameters"(2, 128)(self.parameters)
  local begin = self.source:kernel "begin_states"
  begin(math.ceil(self.count / 64), 64)(self.seed[1], self.seed[2], self.count, self.parameters, self.states)
  self.turn = 0
end

---Skip n words. They have to be generated, which is done when the next ones are drawn.
function M:jump(n) self.at = self.at + n end

function M:draw(what, count, out, a, b)
  self:prepare()
  local turn = self.count * WORDS
  local threads = raw.properties_of().driver == "cpu" and FEW or WORDS
  local function run(name, rounds, partial, from, last)
    self.source:kernel(name)(self.count, threads)(self.states, self.parameters, rounds, partial, from, last, a, b, out)
  end
  local rounds = math.floor(self.at / turn) - self.turn
  if rounds > 0 then run("bits", rounds, 0, 0, 0) end
  local from = self.at % turn
  local last = from + count
  local whole = math.floor(last / turn)
  run(what, math.ceil(last / turn), last % turn > 0 and 1 or 0, from, last)
  self.at = self.at + count
  self.turn = self.turn + math.max(rounds, 0) + whole
end

function M:save() return ("%.0f"):format(self.at) end
function M:restore(saved)
  self.at, self.states = tonumber(saved), nil
end

return M
