-- The session that docs/learn/prompt.md shows: inputs at a prompt, played through a pseudo-terminal (pty.c), and their
-- output, without times and figures of the machine.
--   make prompt    writes it into the page

local M = {}

M.inputs = {
  "help",
  "x = mw.arange(8)",
  "x",
  "m = mw.compile [==[",
  "__global__ void scale(float *p, float factor) {",
  "  p[threadIdx.x] *= faktor;",
  "}",
  "]==]",
  "m = mw.compile [==[",
  "__global__ void scale(float *p, float factor) {",
  "  p[threadIdx.x] *= factor;",
  "}",
  "]==]",
  "m.scale(1, 8)(x, 10)",
  "x",
  "m.scale(1, 9)(x, 1)",
  "m.scale(1, 8)(x)",
  "local sum = x:sum()",
  "sum / x.count",
  "x:plot { width = 40, height = 4 }",
  "careless = mw.compile [==[",
  "__global__ void sum(const float *p, float *out) {",
  "  __shared__ float part[8];",
  "  part[8] = p[threadIdx.x];",
  "  out[0] = part[threadIdx.x];",
  "}",
  "]==]",
  "{ sum = sum, shape = x.shape, dtype = x.dtype }",
  "time(m.scale(1, 8)(x, 1))",
  "?x.sum",
  "quit",
}

-- Removes figures that depend on the machine or the run.
local masks = {
  { "(moonwarp )%d+%.%d+%.%d+( on )[^\n]*", "%1…%2…" },
  { "%d[%d%.]* [mu]?s%f[%W]", "… ms" },
  { "median of %d+", "median of …" },
  { " %(… ms of it compiling%)", "" }, -- where the cache does not have it
  { "\n%(compiled in [^\n]*", "" },
}

---@param text string
---@return string
function M.mask(text)
  for _, mask in ipairs(masks) do text = text:gsub(mask[1], mask[2]) end
  return text
end

---What the terminal shows of the session, masked.
---@param pty string the compiled pty.c
---@param interpreter string
---@return string
function M.play(pty, interpreter)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  for _, line in ipairs(M.inputs) do file:write("wait > \nsend ", line, "\n") end
  file:close()
  local code = 'package.preload.readline = function() error "hidden" end os.exit(require "moonwarp.repl".main {})'
  local words = ("TERM=dumb NO_COLOR=1 LC_ALL=C '%s' '%s' '%s' -e '%s' 2>&1"):format(pty, path, interpreter, code)
  local pipe = assert(io.popen(words))
  local text = pipe:read("*a"):gsub("\r", "")
  pipe:close()
  os.remove(path)
  return (M.mask(text:gsub("; no line editing[^\n]*", "")):gsub("%s+$", "\n"))
end

---The page with the session in it.
---@param page string
---@param session string
---@return string
function M.insert(page, session)
  local before, after = page:match "^(.-\n```text\n).-(```.*)$"
  return before .. session .. after
end

return M
