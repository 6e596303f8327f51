-- Code for AArch64: cross-compiled, and run by an emulator if sh setup.sh --aarch64 has
-- installed one. Other specs run there too: make target=aarch64 test SPEC=spec/stress/stress_spec.lua
-- Lua 5.4 only: the compiler is tested, and programs of their own
-- CPU device only: about the code that mwcc makes

local mw = require "moonwarp"
local shell = require "support.shell" "MFLAGS STATIC_LLVM LD_PRELOAD"

local home = os.getenv "MOONWARP_HOME"
local run, must = shell.run, shell.must
local emulated = os.getenv "MOONWARP_TARGET" == "aarch64"
local sysroot = "build/sysroot/aarch64"

local function has(program) return (select(2, run("command -v " .. program))) end

local function exists(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

-- The reason why AArch64 programs cannot be run, or nil.
local function missing()
  if emulated then return "this is AArch64" end
  if (os.getenv "MOONWARP_CONFIG" or "release") ~= "release" then return "the emulated library is the release's" end
  for _, program in ipairs { "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-ld", "qemu-aarch64" } do
    if not has(program) then return "there is no " .. program .. " (sh setup.sh --aarch64)" end
  end
  if not exists(sysroot .. "/usr/bin/lua5.4") then return "there is no " .. sysroot .. " (sh setup.sh --aarch64)" end
end

-- Lanes, divergence, barriers, shared memory, doubles, 64 bits, shuffles. All results are exact, so all machines agree.
local source = [[
__device__ int odds = 3;
__global__ void mixed(int n, const int *in, const double *real, long long *out) {
  __shared__ int cell[96];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  int x = i < n ? in[i] : 0;
  cell[t] = x;
  __syncthreads();
  long long sum = (long long)x * cell[(t + 1) % blockDim.x] + __popc(x) + __clz(x) + (long long)__umulhi(x, 0x12345678);
  for (int k = x & 15; k > 0; k -= odds) {
    sum = sum * 5 + max(min(k, x), -9);
    if (sum & 64) break;
  }
  __syncthreads();
  atomicAdd(&cell[t % 7], 1);
  if (n < 0) memset(out, i, n * i); // a function of the C library, for the linker to find
  __syncthreads();
  sum += cell[t % 7] + __shfl_xor_sync(~0u, x, 5) + __popc(__ballot_sync(~0u, x > 0));
  if (i >= n) return;
  sum += x / (in[n - 1 - i] % 7 + 0) + (x >> (i & 63)) + (long long)fma(real[i], real[n - 1 - i], 0.5);
  out[i] = sum + __float2int_rn(sqrtf(fabsf((float)x)) * 0.25f) + (int)real[i] * (x % 3 == 0 ? 1 : -1);
}
]]

-- The same script for both machines: it loads a module's file if there is one, else compiles, and prints the results.
local script = [[
local mw = require "moonwarp"
local path, text, width = ...
local m = path ~= "" and mw.load(path) or mw.compile { source = text, options = width and { "--width=" .. width } }
local n, state, numbers, reals = 1000, 12345, {}, {}
for i = 1, n do
  state = (state * 1103515245 + 12345) % 2147483648
  numbers[i], reals[i] = state % 65536 * (i % 2 == 0 and 1 or -1) * (i % 5 + 1), (state % 100003 - 50000) / 997
end
local out = mw.zeros(n, "longlong")
m.mixed(mw.cdiv(n, 96), 96)(n, mw.array(numbers, "int"), mw.array(reals, "double"), out)
io.stderr:write(m.mixed.tier, ": ", m.mixed.tier_reason, "\n")
for i, value in ipairs(out:totable()) do print(i, value) end
]]

local folder
setup(function()
  folder = os.tmpname()
  os.remove(folder)
  must("mkdir " .. folder)
  for name, text in pairs { ["mixed.cu"] = source, ["script.lua"] = script } do
    local file = assert(io.open(folder .. "/" .. name, "w"))
    file:write(text)
    file:close()
  end
end)
teardown(function() os.execute("rm -rf " .. folder) end)

local function mwcc(options)
  return run(("MOONWARP_HOME=%s %s/bin/mwcc %s %s/mixed.cu"):format(home, home, options, folder))
end

describe("mwcc --target", function()
  it("generates vector code for AArch64", function()
    local output, ok = mwcc "--target=aarch64-linux-gnu --verify --emit=asm -o -"
    assert.is_true(ok, output)
    assert.matches("mul\tv%d+%.4s, v%d+%.4s, v%d+%.4s", output)
    assert.is_nil(output:find("xmm", 1, true))
  end)

  it("refuses a processor of another architecture", function()
    local output, ok = mwcc "--target=aarch64-linux-gnu --mcpu=haswell -o -"
    assert.is_false(ok)
    assert.matches("%-%-mcpu=haswell is not a processor that clang knows.*cortex%-a53", output)
  end)

  it("refuses other targets, and the native processor for another architecture", function()
    local output, ok = mwcc "--target=sparc-linux-gnu -o -"
    assert.is_false(ok)
    assert.matches("%-%-target=sparc%-linux%-gnu is not supported: use x86_64%-linux%-gnu, aarch64%-linux%-gnu or",
      output)
    local other = emulated and "x86_64-linux-gnu" or "aarch64-linux-gnu"
    output, ok = mwcc("--target=" .. other .. " --mcpu=native -o -")
    assert.is_false(ok)
    assert.matches("%-%-mcpu=native is this machine's processor", output)
  end)

  it("needs no binutils", function()
    if not exists(home .. "/lib/libmoonwarp.so") or emulated then return pending "this is its own kind of machine" end
    local command = "PATH=/nowhere MOONWARP_HOME=%s %s/bin/mwcc --target=aarch64-linux-gnu -o %s/x.mwo %s/mixed.cu"
    local output, ok = run(command:format(home, home, folder, folder))
    assert.is_true(ok, output)
    local file = assert(io.open(folder .. "/x.mwo", "rb"))
    assert.equal(183, string.unpack("<I2", file:read(20), 19)) -- AArch64
    file:close()
  end)

  it("names the packages with the functions that the code needs", function()
    if emulated or exists "/usr/aarch64-linux-gnu/lib/libm.so.6" or exists "/lib/aarch64-linux-gnu/libm.so.6" then
      return pending "AArch64's libraries are here"
    end
    local output, ok = run(("echo '__global__ void k(double *x) { *x = tgamma(*x); }' > %s/m.cu; MOONWARP_HOME=%s " ..
      "%s/bin/mwcc --target=aarch64-linux-gnu -o %s/x.mwo %s/m.cu"):format(folder, home, home, folder, folder))
    assert.is_false(ok)
    assert.matches("needs 'tgamma'.*install libc6%-arm64%-cross", output)
  end)
end)

describe("AArch64, emulated,", function()
  local expected, why

  -- The script's output, and the kernel's tier.
  local function results(environment, lua, path, width)
    local command = ("%s XDG_CACHE_HOME=%s/cache %s %s/script.lua '%s' \"$(cat %s/mixed.cu)\" %s 2>%s/tier"):format(
      environment, folder, lua, folder, path, folder, width or "", folder)
    local output, ok = run(command)
    local file = assert(io.open(folder .. "/tier"))
    local tier = file:read "*a"
    file:close()
    assert.is_true(ok, command .. "\n" .. output .. tier)
    return output, tier
  end

  local function emulate(...)
    return results([[eval "$(make -s target=aarch64 env)";]], "build/aarch64/bin/lua5.4", ...)
  end

  setup(function()
    why = missing()
    if why then return end
    must "make -s target=aarch64 lib lua mwcc embed"
    expected = results([[eval "$(make -s env)";]], "lua5.4", "")
  end)

  it("computes the same as this machine: lanes", function()
    if why then return pending(why) end
    assert.equal(1000, select(2, expected:gsub("\n", "\n")))
    local output, tier = emulate ""
    assert.matches("^simd: ", tier)
    assert.equal(expected, output)
  end)

  it("computes the same as this machine: threads on fibers", function()
    if why then return pending(why) end
    local output, tier = emulate("", 1)
    assert.matches("^fiber: ", tier)
    assert.equal(expected, output)
  end)

  it("loads a cross-compiled module, which this machine refuses", function()
    if why then return pending(why) end
    local path = folder .. "/mixed.mwo"
    local output, ok = mwcc("--target=aarch64-linux-gnu -o " .. path)
    assert.is_true(ok, output)
    assert.equal(expected, (emulate(path)))
    local module, failure = pcall(mw.load, path)
    assert.is_false(module)
    assert.is_truthy(tostring(failure):find("it holds code for AArch64, and this machine is x86-64", 1, true))
  end)

  it("has a C host", function()
    if why then return pending(why) end
    local output = must("XDG_CACHE_HOME=" .. folder .. "/cache build/aarch64/bin/emulate build/aarch64/bin/embed")
    assert.matches("y%[99999%] = 4.5, 0 wrong", output)
  end)

  it("passes the spec of named processors", function()
    if why then return pending(why) end
    local output = must "make -s target=aarch64 test SPEC=spec/compiler/target_spec.lua"
    assert.matches("%d+ successes / 0 failures / 0 errors", (output:gsub("\27%[[%d;]*m", "")))
  end)
end)
