-- Flags that are set in some branches and decide others, across barriers and loops, as bools and as integers: see
-- fuzz.lua.

return function(draw)
  local types = { "bool", "bool", "int", "unsigned char", "unsigned", "short", "long long" }
  local block, grid = draw.pick { 32, 64, 96, 256, { 16, 8 } }, draw.between(1, 4)
  local threads = type(block) == "number" and block or block[1] * block[2]
  local count, names = draw.between(1, 3), {}
  local lines, depth = {}, 1
  local function add(text) lines[#lines + 1] = ("  "):rep(depth) .. text end
  for n = 1, count do names[n] = "f" .. n end
  local function flag() return draw.pick(names) end

  local function condition()
    return draw.pick { "v > i", "(t + i) % 3 == 0", "t >= i + 1 && t < N - i", "v & 1", "p", "q > i", "t == i",
      flag(), "!" .. flag(), flag() .. " && " .. flag(), "(int)" .. flag() .. " == (v & 1)" }
  end
  local function bit()
    return draw.pick { "true", "true", "false", "1", "0", "v > q", flag(), "!" .. flag(),
      ("(%s ? 1 : 0)"):format(condition()),
      ("(%s ? %s : %s)"):format(condition(), flag(), flag()), ("(%s & %s)"):format(flag(), flag()), ("(v & 1)") }
  end
  local loops = 0
  local function statement(room)
    local kind = draw(10)
    if kind < 4 then
      add(("%s = %s;"):format(flag(), bit()))
    elseif kind == 4 and draw.chance(60) then -- not a flag after all, but for a bool
      add(("%s = %s;"):format(flag(), draw.pick { "2", "4", "2", "v", "q", "f1 + 1" }))
    elseif kind < 7 and room > 0 then
      add(("if (%s) {"):format(condition()))
      depth = depth + 1
      for _ = 1, draw.between(1, 3) do statement(room - 1) end
      depth = depth - 1
      if draw.chance(40) then
        add "} else {"
        depth = depth + 1
        statement(room - 1)
        depth = depth - 1
      end
      add "}"
    elseif kind == 7 and loops < 2 then
      loops = loops + 1
      add(("for (int j%d = 0; j%d < %s; j%d++) {"):format(loops, loops, draw.pick { "p", "3", "(v & 3)" }, loops))
      depth = depth + 1
      for _ = 1, draw.between(1, 3) do statement(room - 1) end
      if draw.chance(40) then add(("if (%s) break;"):format(condition())) end
      depth = depth - 1
      add "}"
    elseif kind == 8 then
      add(("v += %s ? %d : i;"):format(flag(), draw.between(1, 5)))
    else
      add(("if (%s) v = (int)(v * 3u + (unsigned)%s);"):format(condition(), flag()))
    end
  end

  add(("for (int i = 0; i < %s; i++) {"):format(draw.pick { "p", "4" }))
  depth = depth + 1
  for _ = 1, draw.between(2, 5) do
    if draw.chance(50) then add(("%s = false;"):format(flag())) end
    statement(2)
    if draw.chance(50) then
      add "__syncthreads();"
      add(("if (%s) tile[t] = v;"):format(flag()))
      add "__syncthreads();"
      add(("v ^= tile[(t + %d) %% N];"):format(draw.between(0, 9)))
    end
  end
  depth = depth - 1
  add "}"
  local declared = {}
  for n, name in ipairs(names) do
    local first = draw.pick { " = false", " = false", " = v > 10", " = p == 2" }
    declared[n] = ("  %s %s%s;"):format(draw.pick(types), name, first)
  end
  local source = ([[
__global__ void NAME(const int *from, int *to, int p, int q) {
  __shared__ int tile[N];
  int t = threadIdx.y * blockDim.x + threadIdx.x, at = blockIdx.x * N + t, v = from[at];
  tile[t] = v;
DECLARED
  __syncthreads();
BODY
  to[at] = v + 2 * (int)f1 + tile[t];
}]]):gsub("DECLARED", table.concat(declared, "\n")):gsub("BODY", function() return table.concat(lines, "\n") end)
    :gsub("%f[%w_]N%f[^%w_]", threads)
  local function launch()
    return { grid = grid, block = block, arguments = { { type = "int", size = grid * threads },
      { type = "int", size = grid * threads }, draw.between(0, 4), draw.between(0, 60) } }
  end
  return { source = source, launches = { launch(), launch() } }
end
