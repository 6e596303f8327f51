-- Wild stores of kernels do not hit the host's memory, whether that is near the device's in a limited address space or
-- at low addresses. In C hosts, which determine the addresses of their memory (support/c/neighbours.c).
-- Lua 5.4 only: separate programs are run.
-- CPU device only: a GPU has its own memory

local mwcc = require "support.mwcc"

local home = os.getenv "MOONWARP_HOME"
local sanitized = os.getenv "MOONWARP_CONFIG" == "sanitize"

local function output_of(command)
  local pipe = assert(io.popen(command .. " 2>&1"))
  local text = pipe:read "*a"
  return text, pipe:close() == true
end

describe("a wild store", function()
  local folder, host
  setup(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder))
    host = folder .. "/neighbours"
    local text, ok = output_of(("cc -Wall -Wextra -Werror -Isrc %s -o %s spec/support/c/neighbours.c -L%s/lib " ..
      "-lmoonwarp -Wl,-rpath,%s/lib"):format(sanitized and "-fsanitize=address,undefined" or "", host, home, home))
    assert.is_true(ok, text)
  end)
  teardown(function() os.execute("rm -rf " .. folder) end)

  local function leaves_alone(arguments)
    local text, ok = output_of(host .. " " .. arguments)
    assert.is_true(ok, text)
    assert.truthy(text:find "neighbours are as they were", text)
  end

  it("by an index from null does not hit the host's memory at low addresses", function() leaves_alone "low" end)

  for _, gigabytes in ipairs { 8, 16, 32 } do
    it("by an index does not leave the device's memory in an address space of " .. gigabytes .. " GiB", function()
      if sanitized then return pending "AddressSanitizer's shadow takes terabytes of address space" end
      leaves_alone(("near %d"):format(gigabytes * 2 ^ 30))
    end)
  end

  it("of a module that was compiled for other hosts is prevented by refusing null pointers", function()
    local source = assert(io.open(folder .. "/wild.cu", "w"))
    source:write [[
      __global__ void wild(int *p, int i) { p[i] = 1; }
      __global__ void row(int *p, int i) { p[i + threadIdx.x] = 1; }
      struct to { int *p; };
      __global__ void inside(to t, int i) { t.p[i] = 1; }
      __global__ void constant(int i) { ((int *)nullptr)[i] = 1; }]]
    source:close()
    local text, ok = output_of(("'%s' %s/wild.cu -o %s/wild.mwo"):format(mwcc.program, folder, folder))
    assert.is_true(ok, text)
    leaves_alone(("foreign %s/wild.mwo"):format(folder))
  end)

  it("is tested only if it may leave the range that --reach describes", function()
    local source = [[__global__ void k(int *p, int i) { p[i] = 1; }
      __global__ void inner(int *p, int i) {
        __shared__ int s[64];
        s[i & 63] = i;
        __syncthreads();
        *p = s[threadIdx.x & 63];
      }]]
    local function tests(options, kernel)
      return mwcc.count(mwcc.run(source, "--emit=ir --launch=" .. kernel .. ":64x1x1 " .. options), "%%sandboxed%d* =")
    end
    for _, reach in ipairs { "", "--reach=40,40", "--reach=35,35" } do
      assert.equal(0, tests(reach, "_Z1kPii"), reach)
    end
    for _, reach in ipairs { "--reach=40,22", "--reach=30,30", "--reach=30,0" } do
      assert.is_true(tests(reach, "_Z1kPii") > 0, reach)
    end
    for _, reach in ipairs { "", "--reach=30,22" } do assert.equal(0, tests(reach, "_Z5innerPii"), reach) end
  end)

  it("has a limit for --reach", function()
    for _, reach in ipairs { "41,0", "40,41", "40", "a,b", "40,40,1" } do
      local text, status = mwcc.try("__global__ void k() {}", "--reach=" .. reach)
      assert.equal(2, status)
      assert.truthy(text:find "two numbers of bits up to 40", text)
    end
  end)
end)
