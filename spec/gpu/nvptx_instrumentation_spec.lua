-- Code that mwcc adds to kernels for GPUs that poll for the host's request to end (--stoppable) or check their accesses
-- (--check-memory): where it is in the PTX, and that other kernels have none of it. (gpu_failing_kernels_spec runs such
-- kernels on a real GPU.)
-- Lua 5.4 only: this does not depend on the binding.
-- CPU device only: it runs the compiler itself.

local mwcc = require "support.mwcc"

local source = [==[
__device__ int total[4];
struct pair { float *from; int n; };
__global__ void straight(float *x, int i) { x[i] = 1; }
__global__ void round(const float *x, float *y, int n) { for (int i = 0; i < n; i++) y[0] += x[i] * x[i + 1]; }
__global__ void nested(int *x, int n) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++) x[i] += j * x[j];
}
__global__ void spin(volatile int *x) { while (x[0] == 0) ; }
__global__ void kinds(float *x, float4 *q, int *c, pair p, int i) {
  __shared__ float tile[8];
  float cells[16];
  for (int k = 0; k < 16; k++) cells[k] = x[k];
  tile[i] = 2;
  __syncthreads();
  q[i] = make_float4(1, 2, 3, tile[0]);
  atomicAdd(c + i, 1);
  atomicMax_system(c + i, 1);
  total[i] = 3;
  cells[i] = 3;
  __stcs(x, cells[(int)x[3]] + __ldg(x + i) + p.from[i]);
  memcpy(x, p.from, i);
}
template <class T> __global__ void given(T *x) { T *mine = (T *)malloc(40); mine[3] = 1; x[0] = mine[3]; free(mine); }
__global__ void traps(int *x) { if (*x) asm volatile("{ trap; }"); else __builtin_trap(); }
__global__ void claims(int *x) { assert(*x); }
]==]

local function ptx(options)
  local text, status = mwcc.try(source, "--target=nvptx --verify --arch=sm_90 --instance 'given<int>' " .. options)
  assert.equal(0, status, text)
  return text
end

local plain, stoppable, checked = ptx "", ptx "--stoppable", ptx "--check-memory"

-- The head and the body of a kernel.
local function kernel(text, name)
  local head, body = text:match("%.entry _Z%d+" .. name .. "[^(]*(%b())[^{]*{(.-)\n}")
  return assert(head, name), body
end

local function count(text, word) return select(2, text:gsub(word, "")) end

describe("a kernel for a GPU", function()
  it("has no checks and no further parameters by default", function()
    assert.equal(2, count(kernel(plain, "straight"), "%.param"))
    assert.is_nil(plain:find("__mw_guard_", 1, true))
    assert.is_nil(plain:find("numbered", 1, true))
    local _, round = kernel(plain, "round")
    assert.equal(0, count(round, "call"))
  end)

  it("that fails reports to the host, and does not trap", function()
    local _, claims = kernel(plain, "claims")
    assert.matches("__mw_fail_assertion", claims)
    assert.equal(0, count(claims, "trap;"))
    assert.matches("%.visible [^\n]*__mw_guard%[%d+%];", plain)
    local without = mwcc.run("__global__ void k(int *x) { *x = 1; }", "--target=nvptx")
    assert.is_nil(without:find("__mw_guard", 1, true))
  end)

  it("that can be stopped has a number, which it reports, and polls in every loop", function()
    assert.matches("//mw\tnumbered\t0\n", stoppable)
    local head, body = kernel(stoppable, "straight")
    assert.equal(3, count(head, "%.param"))
    assert.equal(1, count(body, "__mw_report_begun"))
    assert.equal(0, count(body, "__mw_guard_poll"))
    for name, least in pairs { round = 1, nested = 2, spin = 1 } do
      local _, looped = kernel(stoppable, name)
      assert.is_true(count(looped, "__mw_guard_poll") >= least, name)
      assert.matches("and%.b32[^\n]*1023;", looped)
    end
    assert.is_nil(stoppable:find("__mw_guard_extent", 1, true))
  end)

  it("turns traps into failures where it can be stopped", function()
    local _, body = kernel(stoppable, "traps")
    assert.equal(2, count(body, "__mw_guard_trap"))
    assert.matches("__unnamed", body)
  end)

  it("follows only what the kinds of a checked run want", function()
    local function calls(kinds, name)
      local list = {}
      local _, body = kernel(ptx("--checks=" .. kinds), name)
      for called in body:gmatch "__mw_guard_follow_?(%w*)" do list[#list + 1] = called == "" and "access" or called end
      return table.concat(list, " ")
    end
    assert.equal("begin end outside", calls(1, "straight"))
    assert.equal("begin access end", calls(2, "straight"))
    assert.equal("begin end", calls(4, "straight"))
    assert.is_nil(ptx("--checks=4"):find("__mw_guard_refuse", 1, true))
    assert.equal("begin barrier end", calls(4, "kinds"))
    assert.is_nil(calls(1, "kinds"):find "barrier")
  end)

  it("with memory checks receives its parameters' arrays, looks up others once, and tests each access", function()
    assert.matches("//mw\tnumbered\t1\n", checked)
    local head, body = kernel(checked, "round")
    assert.equal(3 + 1 + 4, count(head, "%.param"))
    assert.equal(0, count(body, "__mw_guard_extent"))
    assert.matches("//mw\tfound\t0\t0\n//mw\tfound\t1\t0\n//mw\tkernel", checked)
    assert.is_true(count(select(2, kernel(checked, "kinds")), "__mw_guard_extent") >= 1)
    assert.is_true(count(body, "__mw_guard_refuse") >= 2)
    assert.is_true(count(body, "__mw_guard_poll") >= 1)
    local _, kinds = kernel(checked, "kinds")
    assert.is_true(count(kinds, "__mw_guard_refuse_known") >= 3)
    for size in ("16 4 32 64"):gmatch "%d+" do -- of total, an access, tile and cells
      assert.matches("%[param%d%+0%], " .. size .. ";", kinds)
    end
    assert.matches("ld%.global%.nc", kinds)
    assert.matches("st%.global%.v4", kinds)
    local _, given = kernel(checked, "given")
    assert.equal(1, count(given, "__mw_guard_given"))
  end)

  local ptxas
  for _, path in ipairs { "ptxas", "/usr/local/cuda/bin/ptxas", "/opt/cuda/bin/ptxas" } do
    if not ptxas and os.execute("command -v " .. path .. " >/dev/null 2>&1") then ptxas = path end
  end

  it("is taken by ptxas with all of that", function()
    if not ptxas then return pending "ptxas of the CUDA toolkit is not installed" end
    for _, text in ipairs { plain, stoppable, checked, ptx "--check-memory -G -lineinfo" } do
      local path = os.tmpname()
      local file = assert(io.open(path, "w"))
      file:write(text)
      file:close()
      local pipe = assert(io.popen(("'%s' -O0 -arch=sm_90 %s -o /dev/null 2>&1"):format(ptxas, path)))
      local output = pipe:read "*a"
      local good = pipe:close()
      os.remove(path)
      assert.is_truthy(good, output)
    end
  end)
end)
