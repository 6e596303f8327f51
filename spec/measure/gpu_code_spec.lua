-- The places where kernels of a measured run on a GPU count (mwcc --target=nvptx --observe), beside those where the CPU
-- device does; and that CUDA's assembler takes the code, where it is installed.
-- CPU device only: it has the places to compare with

local mw = require "moonwarp"
local files = require "support.files"
local mwcc = require "support.mwcc"

-- Every place is reached when they are launched with f(n, x, y, words), of one block.
local SOURCES = {
  ["loads, stores and a loop"] = [[
__global__ void f(int n, float *x, const float *y, int *words) {
  int i = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k++) sum += y[k] * x[i];
  x[i] = sum;
  words[i] = i;
}]],
  ["shared memory, barriers and branches"] = [[
__global__ void f(int n, float *x, const float *y, int *words) {
  __shared__ float tile[256];
  int i = threadIdx.x;
  tile[i] = y[i];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (i < s) tile[i] += tile[i + s];
    __syncthreads();
  }
  if (i == 0) x[0] = tile[0];
  else words[i] = n;
}]],
  ["atomics, fences and warp functions"] = [[
__global__ void f(int n, float *x, const float *y, int *words) {
  __shared__ int counts[32];
  int i = threadIdx.x;
  if (i < 32) counts[i] = 0;
  __syncthreads();
  atomicAdd(&counts[i % 7], 1);
  atomicAdd(words, 1);
  __threadfence();
  int before = atomicCAS(words + 1, i, n);
  x[i] = __shfl_down_sync(~0u, before, 1) + __ballot_sync(~0u, i & 1) + y[i];
  __syncwarp();
  words[i + 2] = counts[i % 32];
}]],
  ["members of structs, and functions"] = [[
struct pair { float a, b; };
static __device__ float norm(const pair &p) { return p.a * p.a + p.b * p.b; }
static __device__ __noinline__ float tail(const float *y, int i) { return y[i + 1]; }
__global__ void f(int n, float *x, const float *y, int *words) {
  float4 v = ((const float4 *)y)[threadIdx.x % 8];
  ((float4 *)x)[threadIdx.x % 8] = make_float4(v.y, v.x, v.w, v.z);
  words[threadIdx.x] = (int)norm(((const pair *)y)[n]) + (int)tail(y, n);
}]],
  ["asynchronous copies in PTX"] = [[
__global__ void f(int n, float *x, const float *y, int *words) {
  __shared__ float4 wide[32];
  __shared__ float narrow[32];
  int i = threadIdx.x % 32;
  unsigned to = (unsigned)__cvta_generic_to_shared(narrow + i);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(y + i) : "memory");
  to = (unsigned)__cvta_generic_to_shared(wide + i);
  asm volatile("cp.async.cg.shared.global [%0], [%1], %2;" :: "r"(to), "l"(y + 4 * i), "n"(16) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  x[i] = narrow[31 - i] + wide[31 - i].y;
}]],
  ["cached loads, constants and local arrays"] = [[
__constant__ float factors[64];
__global__ void f(int n, float *x, const float *y, int *words) {
  int own[64];
  for (int k = 0; k < n; k++) own[words[k] & 63] = k;
  x[threadIdx.x] = __ldg(y + threadIdx.x) * factors[n] + own[n & 63];
}]],
}

local function code_of(source, options)
  return mwcc.run(source, "--target=nvptx --observe=all " .. (options or "--arch=sm_75"))
end

local FIELDS = { "kind", "space", "bytes", "detail", "line", "column" }
local MOST = 7 -- kinds of sites up to branches; others are basic blocks

local function describe_place(place)
  local words = {}
  for i, name in ipairs(FIELDS) do
    local is_open = name == "space" and place.space == 0 and place.kind <= 3 -- the address decides: global
    local is_scope = name == "detail" and place.kind == 6 -- of a fence: the CPU device has one that suits all
    words[i] = name .. " " .. (is_open and 1 or is_scope and 0 or place[name])
  end
  return table.concat(words, ", ") .. ", name " .. (place.name or "")
end

local function places_of(ptx)
  local places = {}
  for line in ptx:gmatch "//mw\tplace\t([^\n]+)" do
    local words = {}
    for word in (line .. "\t"):gmatch "([^\t]*)\t" do words[#words + 1] = word end
    local place = { name = words[20] }
    for i, name in ipairs(FIELDS) do place[name] = tonumber(words[i]) end
    if place.kind <= MOST then places[#places + 1] = describe_place(place) end
  end
  table.sort(places)
  return places
end

local function measured_places(source)
  local m = mw.compile { name = "f.cu", source = source }
  local x, y, words = mw.ones(1024, "float"), mw.ones(1024, "float"), mw.zeros(1024, "int")
  local places, known = {}, {}
  for _, site in ipairs(mw.measure(m.f, 1, 256)(40, x, y, words).sites) do
    if site.kind <= MOST and not known[site.number] then
      known[site.number] = true
      places[#places + 1] = describe_place(site)
    end
  end
  table.sort(places)
  return places
end

local ptxas
for _, path in ipairs { "ptxas", "/usr/local/cuda/bin/ptxas", "/opt/cuda/bin/ptxas" } do
  if not ptxas and os.execute("command -v " .. path .. " >/dev/null 2>&1") then ptxas = path end
end

local function assemble(ptx, arch)
  local path = os.tmpname()
  files.write(path, ptx)
  local pipe = assert(io.popen(("'%s' -O0 -arch=%s %s -o /dev/null 2>&1"):format(ptxas, arch, path)))
  local said = pipe:read "*a"
  pipe:close()
  os.remove(path)
  return said
end

-- The calls at the starts of the kernel's blocks: the mask that each waits for, and the lanes that it finds.
local function lanes_of(body)
  local ir = code_of("__global__ void f(int n, float *x, const float *y, int *words) { int i = threadIdx.x;" ..
    body .. "}", "--arch=sm_75 --emit=ir")
  local calls = {}
  for line in ir:match "\ndefine [^\n]*@_Z1fiPfPKfPi%(.-\n}":gmatch "[^\n]+" do
    local site, mask = line:match "@__mw_guard_measured_code%(i64 [^,]+, i32 (%d+), i32 ([%%%w.]+)"
    calls[#calls + 1] = site and { site = tonumber(site), mask = mask, lanes = line:match "^%s*(%S+) =" }
  end
  return calls
end

-- The number of calls by which lanes leave a reconvergence point.
local function count_leaving(calls)
  local count = 0
  for _, call in ipairs(calls) do count = count + (call.site == 2 ^ 31 - 1 and 1 or 0) end
  return count
end

describe("a kernel that counts on a GPU", function()
  for name, source in pairs(SOURCES) do
    it("counts where the CPU device does: " .. name, function()
      assert.same(measured_places(source), places_of(code_of(source)))
    end)

    it("is taken by CUDA's assembler: " .. name, function()
      if not ptxas then return pending "ptxas of the CUDA toolkit is not installed" end
      for _, arch in ipairs { "sm_75", "sm_90" } do
        if source:find("cp.async", 1, true) then arch = "sm_90" end
        assert.equal("", assemble(code_of(source, "--arch=" .. arch), arch))
      end
    end)
  end

  it("takes the launch's number and an address after its own parameters", function()
    local ptx = code_of(SOURCES["loads, stores and a loop"])
    assert.equal(6, select(2, ptx:match "%.entry [%w_]+(%b())":gsub("%.param", "")))
    assert.matches("\n//mw\twatched\n", ptx, 1, true)
    assert.matches("call.uni .-__mw_guard_measured_access", ptx)
  end)

  describe("finds the lanes that are together:", function()
    it("all that entered a loop, after it", function()
      local calls = lanes_of "for (int k = 0; k < words[i]; k++) x[i] += y[k]; x[i + 1] = 0;"
      assert.equal(calls[1].lanes, calls[#calls].mask)
    end)

    it("both sides of a branch, after it", function()
      local calls = lanes_of "if (i & 1) x[i] = y[i]; else words[i] = 1; x[i + 1] = 0;"
      assert.equal(calls[1].lanes, calls[#calls].mask)
      assert.equal(0, count_leaving(calls))
    end)

    it("those that have not left the loop", function()
      local calls = lanes_of [[
for (int k = 0; k < n; k++) {
  if (words[k + i] & 1) { x[i] = 1; if (y[i + k] > 2) break; x[i + 1] = 4; }
  x[k] += y[i];
}]]
      assert.is_true(count_leaving(calls) > 0)
    end)

    it("at a break's code only those that leave together", function()
      local calls = lanes_of [[
for (int k = 0; k < n; k++) { if (y[k + i] > 2) { words[k] = 1; break; } x[k] = 2; } x[i] = 0;]]
      for n = 2, #calls - 1 do assert.not_equal(calls[1].lanes, calls[n].mask) end
      assert.equal(calls[1].lanes, calls[#calls].mask)
    end)

    it("no others after a lock, for which they wait", function()
      local calls = lanes_of [[
while (atomicCAS(words, 0, 1) != 0) ;
x[0] += y[i];
atomicExch(words, 0);
x[i] = 0;]]
      assert.is_true(#calls >= 3)
      for n = 2, #calls do assert.not_equal(calls[1].lanes, calls[n].mask) end
    end)
  end)

  it("keeps the launch in shared memory only for functions that are not inlined", function()
    local slot = "__mw_measured_now"
    assert.is_nil(code_of(SOURCES["loads, stores and a loop"]):find(slot, 1, true))
    assert.is_truthy(code_of(SOURCES["members of structs, and functions"]):find(slot, 1, true))
  end)

  it("does not count handles of textures, which the host writes", function()
    local ptx = code_of [[
texture<float, 2, cudaReadModeElementType> image;
__global__ void f(float *x) { x[threadIdx.x] = tex2D(image, threadIdx.x, 1.f); }]]
    local places = places_of(ptx)
    assert.equal(2, #places)
    assert.matches("kind 0, space 1, bytes 0", places[1]) -- the texture
    assert.matches("kind 1, space 1, bytes 4", places[2])
  end)

  it("counts each operation of a barrier that counts as an access to its word", function()
    local kinds = {}
    for _, place in ipairs(places_of(code_of([[
__global__ void f(unsigned at, unsigned *x) {
  unsigned long long state;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at), "r"(32) : "memory");
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory");
  asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
               : "=r"(*x) : "r"(at), "l"(state) : "memory");
}]], "--arch=sm_90"))) do
      kinds[#kinds + 1] = place:match "^kind (%d), space 3, bytes 8"
    end
    assert.same({ "0", "1", "2" }, kinds)
  end)

  it("is not stepped through, nor checked meanwhile", function()
    local function said(options) return mwcc.run("", "--target=nvptx --arch=sm_75 " .. options) end
    assert.matches("--observe=step is for the CPU device", said "--observe=step", 1, true)
    assert.matches("--observe cannot be combined with --checks", said "--observe=all --checks", 1, true)
  end)
end)
