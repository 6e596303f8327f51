-- Two sweeps over a small script: each large allocation fails once, and each system call once. In every case the script
-- gets a clear error or its result, and the process neither ends nor hangs. (Only a failed allocation of some bytes for
-- the library's own objects may end it: docs/build/architecture.md.)
--
-- Each run has a module and a function of elements of its own, which are compiled; the library's own functions of
-- elements, which are compiled in the same way, come from the cache. Without a cache a shorter script runs.
-- Lua 5.4 only: LuaJIT's interpreter has its own memory; the core is the same.
-- CPU device only: calls of NVIDIA's driver would fail as well, and what it does then is its own affair.

local files = require "support.files"

local script = [==[
local mw, raw = require "moonwarp", require "moonwarp.binding"
local folder, run = arg[1], arg[2]
local text = "// run " .. run .. [[

  __global__ void twice(int n, const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * in[i];
  }
  __global__ void turn(int *p) {
    __shared__ int t[64];
    int n = p[0];
    t[threadIdx.x] = p[threadIdx.x];
    for (int i = 0; i <= n; i++) __syncthreads();
    p[threadIdx.x] = t[63 - threadIdx.x];
  }
  __global__ void tell(int n) { printf("%d from %d\n", n, threadIdx.x); }
]]
local N = 30000

local function step(name, f)
  local ok, err = pcall(f)
  if ok then
    print("good", name)
  else
    print(type(err) == "table" and err.code or "lua", name, (tostring(err):gsub("\n.*", "")))
  end
end
local function check(condition, what) if not condition then print("WRONG", what) end end

local function use(m)
  local a, b = mw.arange(N), mw.zeros(N)
  m.twice(mw.cdiv(N, 256), 256)(N, a, b)
  check(b:sum() == 2 * a:sum(), "sum")
  local t, s = b:totable(), b:bytes()
  check(#t == N and t[7] == 2 * a[7] and #s == 4 * N, "elements")
  local p = mw.arange(64, "int")
  p[1] = 3
  m.turn(1, 64)(p)
  check(p[64] == 3 and p[1] == mw.arange(64, "int")[64], "turned")
end

if os.getenv "MOONWARP_CACHE" == "off" then
  step("compile", function()
    local p, m = mw.arange(64, "int"), mw.compile(text)
    local first, last = p[1], p[64]
    m.turn(1, 64)(p)
    check(p[1] == last and p[64] == first, "turned")
    m:save(folder .. "/m.mwo")
    mw.load(folder .. "/m.mwo").turn(1, 64)(p)
    check(p[1] == first and p[64] == last, "turned back")
  end)
  print "end"
  return
end

local m
step("compile", function() m = mw.compile(("// what a large source has\n"):rep(4000) .. text) end)
if m then
  step("run", function() use(m) end)
  step("print", function()
    local got = {}
    mw.on_print(function(s) got[#got + 1] = s end)
    m.tell(1, 2)(7)
    mw.synchronize()
    mw.on_print(nil)
    check(table.concat(got):find("7 from 1", 1, true), "printed")
  end)
  step("save", function() m:save(folder .. "/m.mwo") end)
end
step("load", function()
  local file = io.open(folder .. "/m.mwo", "rb")
  if file then file:close() use(mw.load(folder .. "/m.mwo")) end
end)
for _, ending in ipairs { "ppm", "png" } do
  step(ending, function()
    local picture = mw.zeros({ 200, 300, 3 }, "uchar")
    picture:fill(9)
    mw.write_image(folder .. "/p." .. ending, picture)
    local again = mw.read_image(folder .. "/p." .. ending)
    check(again:bytes() == ("\9"):rep(200 * 300 * 3), "picture")
  end)
end
step("elements", function()
  local f = raw.elementwise_new { name = "f", body = "y = 2 * x + 0 * " .. run .. ";",
    operands = { { "y", "out", "float" }, { "x", "in", "float" } } }
  check(raw.elementwise_run(f, nil, mw.arange(N)):sum() == 2 * mw.arange(N):sum(), "elements")
end)
step("strings", function()
  local a = mw.from_bytes(("\1\0\0\0"):rep(N), "int")
  check(a:sum() == N, "from bytes")
  check(a:copy():as("uint"):sum() == N, "copied")
end)
step("streams", function()
  local s, x = mw.stream(), mw.zeros(N, "int")
  mw.with(s, function() x:fill(5) end)
  s:synchronize()
  check(x:sum() == 5 * N, "filled")
end)
print "end"
]==]

local library = os.getenv "MOONWARP_HOME" .. "/test/libfailing.so"

local runs = 0

local function run(folder, kind, at, cache)
  runs = runs + 1
  local variables = ("FAIL_KIND=%s FAIL_AT=%d FAIL_COUNT=%s/count MOONWARP_CACHE=%s TMPDIR=%s LD_PRELOAD=%s"):format(
    kind, at, folder, cache, folder, library)
  local pipe = assert(io.popen(("cd %s; rm -f *.mwo p.*; timeout 60 env %s %s script.lua %s %d 2>&1"):format(folder,
    variables, arg[-1], folder, runs)))
  local output = pipe:read "*a"
  local _, how, code = pipe:close()
  return output, how .. " " .. code
end

-- How the script ended, if that is wrong; else nil.
local function fault(output, ending)
  if ending ~= "exit 0" then return ending end
  if output:find("WRONG", 1, true) then return "a wrong result" end
  if not output:find("end\n$") then return "it did not come to its end" end
  for line in output:gmatch "[^\n]+" do
    local known = line:find "^good\t" or line:find "^cudaError%w+\t" or line:find "^lua\t.*not enough memory"
      or line == "end" or line:find "^moonwarp: "
    if not known then return "an unclear error: " .. line end
  end
end

-- Lets each call of the kind fail once; returns what went wrong.
local function failures(folder, kind, cache)
  local output, ending = run(folder, kind, 0, cache) -- fills the cache
  assert.is_nil(fault(output, ending), output)
  assert.is_nil(output:find("cudaError", 1, true), output)
  assert.is_nil(fault(run(folder, kind, 0, cache)))
  local count = tonumber((files.read(folder .. "/count")))
  assert.is_true(count > 0, "nothing was counted")
  local bad = {}
  for at = 1, count do
    output, ending = run(folder, kind, at, cache)
    local what = fault(output, ending)
    if what then bad[#bad + 1] = ("%s %d of %d: %s\n%s"):format(kind, at, count, what, output) end
  end
  return table.concat(bad, "\n")
end

local function sweep(kind)
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir " .. folder))
  files.write(folder .. "/script.lua", script)
  local cached, uncached = failures(folder, kind, folder .. "/cache"), failures(folder, kind, "off")
  os.execute("rm -r " .. folder)
  assert.equal("", cached)
  assert.equal("", uncached)
end

describe("if one system call fails, a script gets an error or its result:", function()
  if os.getenv "MOONWARP_CONFIG" == "sanitize" then return end -- the sanitizers' own memory comes from the same calls

  it("an allocation of 64 KiB or more", function() sweep "memory" end)

  it("a file, a mapping, a pipe, a process or a thread", function() sweep "system" end)
end)
