-- Texture fetches compared with C (bench/peers/texture.c): bilinear, from 2048 x 2048 floats, at neighbouring and at
-- scattered positions.

local mw = require "moonwarp"
local measure = require "bench.measure"
local peers = require "bench.peers"
local problems = require "bench.problems.problems"
local sheet = require "bench.sheet"

local SIZE, WALKS, STEPS = 2048, 2 ^ 18, 32

local texture = {}

local function open()
  local m = mw.compile(problems.read(problems.path "texture"))
  local texels = problems.uniform(SIZE * SIZE, 20, -1, 1):reshape(SIZE, SIZE)
  m.img = mw.texture(mw.cuda_array(texels), { filter = "linear" })
  local picture, sums = mw.zeros(SIZE * SIZE), mw.zeros(WALKS)
  return {
    { name = "turn", kernel = m.turn, out = picture, fetches = SIZE * SIZE,
      run = m.turn({ SIZE / 64, SIZE / 4 }, { 64, 4 }):bind(SIZE, 0.82, 0.31, 400.25, -150.5, picture) },
    { name = "walk", kernel = m.walk, out = sums, fetches = WALKS * STEPS,
      run = m.walk(WALKS / 256, 256):bind(STEPS, problems.uniform(WALKS, 21, 0, SIZE),
        problems.uniform(WALKS, 22, 0, SIZE), problems.bits(WALKS, 23, 0), sums) },
  }
end

local function same(a, b, scale) return math.abs(a - b) <= 1e-4 * scale end

function texture.print()
  local report = sheet.new("bilinear tex2D", "tier", "moonwarp ms", "fetches/s", "C ms", "vs C")
  for _, problem in ipairs(open()) do
    problem.run()
    local sum = problems.digest(problem.out)
    local time = measure.milliseconds(problem.run)
    local peer_time, peer_sum, scale = peers.solve("texture", problem.name)
    local ratio = peer_time and (same(sum, peer_sum, scale) and ("%.2fx"):format(peer_time / time) or "DIFFERS") or "-"
    report:add(problem.name, problem.kernel.tier, ("%.2f"):format(time),
      ("%.0f million"):format(problem.fetches / time / 1000), peer_time and ("%.2f"):format(peer_time) or "-", ratio)
  end
  report:print()
end

return texture
