-- Kernels with numbers of any stride and type that wrap between threads: they are compared, clamped, divided, and
-- counted up in loops. See fuzz.lua.

local strides = {
  "1", "1", "2", "3", "4", "7", "16", "255", "4096", "5000", "65535", "1000000", "1048577", "16777216", "100000000",
  "134217728", "300000000", "536870912", "1073741823", "2654435769u", "4294967295u", "4293918720u",
}
local types = { "int", "int", "unsigned", "unsigned", "long long", "unsigned long long", "short", "unsigned char" }
local few = { 0, 1, 3, 5, 16, 30, 100, 255, 1000, 65535, -1, -7, 1073741824, 2147483647, -2147483648 }

return function(draw)
  local kind = draw.pick { "any", "compared", "compared", "many", "counted" }
  local block = draw.pick { 16, 32, 64, 64, 100, 256, { 16, 16 }, { 32, 4 }, { 8, 8 }, { 24, 4 } }
  if kind == "counted" then block = 16 end
  local grid = draw.between(1, 3)
  local threads = type(block) == "table" and block[1] * block[2] or block

  -- Sums and products are unsigned, so that they have no undefined overflow.
  local function common() return ("(unsigned)%s"):format(draw.pick { "p", "q", "n", "p", "q", draw.pick(strides) }) end
  local function number()
    local e = "(unsigned)" .. draw.pick { "x", "x", "x", "y", "threadIdx.x", "t" }
    local form = draw(10)
    if form < 6 then e = ("%s * %s"):format(e, draw.pick(strides)) end
    if form == 6 then e = ("(%s << %d)"):format(e, draw(31)) end
    if form == 7 then e = ("(%s %s)"):format(e, draw.pick { "& 7", "| 3", "^ 8", "/ 4", "/ w", "% w", "& ~15u" }) end
    if draw.chance(50) then e = ("%s %s %s"):format(e, draw.pick { "+", "-" }, common()) end
    if draw.chance(20) then e = ("%s - (%s)"):format(common(), e) end
    return e
  end
  local function typed() return ("(%s)(%s)"):format(draw.pick(types), number()) end
  local function condition()
    local t, order = draw.pick(types), draw.pick { "<", "<=", ">", ">=", "==", "!=" }
    return ("(%s)(%s) %s (%s)%s"):format(t, number(), order, t, common())
  end
  local function fixed() return draw.pick { "0", "3", "(p & 255)", "(q & 255)", "min(n, 255)" } end
  local function index()
    local wide = draw.pick { "int", "long long", "unsigned", "unsigned long long" }
    local clamped = ("min(max((W)(%s), (W)0), (W)%s)"):gsub("W", wide)
    local forms = {
      clamped:format(draw.chance(50) and number() or typed(), fixed()),
      ("%s ? %s : %s"):format(condition(), fixed(), fixed()), ("%s ? %s : %s"):format(condition(), fixed(), fixed()),
      ("(%s ? %s : %s) & 255"):format(condition(), number(), common()),
      ("(%s %s w) & 255"):format(typed(), draw.pick { "/", "%" }),
      ("min((%s) / w, 255u)"):format(number()), ("%s & 255"):format(typed()),
    }
    return draw.pick(forms)
  end

  local lines = {}
  local function add(text, ...) lines[#lines + 1] = text:format(...) end
  local function load() add("s = s * 3 + a[%s];", index()) end
  if kind == "compared" then -- as hashes are
    local t = draw.pick { "int", "unsigned" }
    add("s = a[(%s)((unsigned)x * %s + %d) %s (%s)p ? n : 0];", t, strides[draw.between(12, #strides)], draw(100),
      draw.pick { "<", "<=", ">", ">=" }, t)
  elseif kind == "many" then -- more indices than speculative_shapes.c has in its list
    for k = 1, draw.between(20, 30) do
      add("s = s * 3 + a[min((long long)(unsigned)(n %s x + %d), (long long)(q & 255))];", draw.pick { "-", "+" }, k)
    end
  elseif kind == "counted" then -- threads begin far apart
    add("for (int i = (int)threadIdx.x * %s - %s; i < min(p & 0x7fffffff, 1 << 30); i += %s)",
      draw.pick { "65536", "50000000", "100000000", "120000000" }, draw.pick { "33", "1000000000", "1073741824" },
      draw.pick { "1048576", "1000000" })
    add("  s = s * 3 + a[(i >> %d) & 255];", draw(24))
  else
    if draw.chance(10) then add("if (%s) return;", condition()) end
    for _ = 1, draw.pick { 1, 1, 1, 2, 3 } do
      if draw.chance(20) then add("for (unsigned k = 0; k < (n & 7); k++)") end
      if draw.chance(70) then load() else add("if (%s) s ^= %d;", condition(), draw(100)) end
    end
  end

  local launches = {}
  for k = 1, 3 do
    local function any() return draw.chance(50) and draw.pick(few) or draw.between(-2147483647, 2147483647) end
    launches[k] = { grid = grid, block = block, arguments = { { type = "uint", size = grid * threads },
      { type = "int", size = 256 }, any(), any(), draw.pick { 1, 5, 13, 31, 100, 255 },
      draw.pick { 1, 3, 10, 16, 24, 100, 1000 } } }
  end
  return { launches = launches, source = [[
extern "C" __global__ void NAME(unsigned *o, const int *a, int p, int q, int n, unsigned w) {
  const unsigned t = threadIdx.y * blockDim.x + threadIdx.x;
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = threadIdx.y;
  unsigned s = 0;
  ]] .. table.concat(lines, "\n  ") .. [[

  o[blockIdx.x * (blockDim.x * blockDim.y) + t] = s;
}
]] }
end
