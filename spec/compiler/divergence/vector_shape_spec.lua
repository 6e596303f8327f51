-- Divergence analysis before widening: access classes and indices; by mwcc --dump, with 16 lanes unless another number
-- is given.
-- Lua 5.4 only: the compiler is tested, and models calculate in 64-bit integers.
-- CPU device only: about the code that mwcc makes for lanes

local mwcc = require "support.mwcc"
local run = mwcc.run
local shapes = require "support.compile.shapes"

describe("a load of one address for the whole block", function()
  it("is block-uniform if no thread writes there before the next barrier, else gang-uniform", function()
    local dump = shapes [=[
      __constant__ int fixed;
      __global__ void k(const int *p, int n, int *o) {
        __shared__ int a[64], b[64];
        a[threadIdx.x] = b[threadIdx.x] = threadIdx.x;
        __syncthreads();
        o[0] = a[n]; //@kept
        o[1] = b[n]; //@written
        b[threadIdx.x] = n;
        __syncthreads();
        o[2] = b[n]; //@later
        o[3] = fixed; //@fixed
        o[4] = *p; //@other
      }]=]
    assert.equal("block", dump.stored "kept")
    assert.equal("raced", dump.stored "written")
    assert.equal("block", dump.stored "later")
    assert.equal("block", dump.stored "fixed")
    assert.equal("raced", dump.stored "other")
  end)
end)

describe("the shape of an access", function()
  it("is contiguous if consecutive threads access consecutive elements", function()
    local dump = shapes [=[
      __global__ void saxpy(int n, float a, const float *x, float *y) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] = a * x[i] + y[i]; //@sum
      }]=]
    assert.same({ "contiguous load", "contiguous load", "contiguous store" }, dump.accesses "sum")
    assert.is_nil(dump.output:find("assumes"))
  end)

  it("is contiguous in the rows of a stencil", function()
    local dump = shapes [=[
      __global__ void stencil(int w, int h, const float *a, float *o) {
        int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
        if (x > 0 && y > 0 && x < w - 1 && y < h - 1)
          o[y * w + x] = a[(y - 1) * w + x] + a[(y + 1) * w + x] + a[y * w + x - 1] + a[y * w + x + 1]; //@sum
      }]=]
    local load, store = "contiguous load", "contiguous store"
    assert.same({ load, load, load, load, store }, dump.accesses "sum")
  end)

  it("has a stride along a column of fixed length, and is a gather along one of any length", function()
    local dump = shapes [=[
      __global__ void columns(int n, const float *in, float *out) {
        __shared__ float tile[16][17];
        int x = threadIdx.x, y = threadIdx.y;
        tile[y][x] = in[y * n + x]; //@rows
        __syncthreads();
        out[y * n + x] = tile[x][y]; //@fixed
        out[x * n + y] = 0; //@any
      }]=]
    assert.same({ "contiguous load", "contiguous store" }, dump.accesses "rows")
    assert.same({ "load with a stride of 68 bytes", "contiguous store" }, dump.accesses "fixed")
    assert.same({ "scatter" }, dump.accesses "any")
  end)

  it("is reversed, broadcast, strided or a gather, depending on the index", function()
    local dump = shapes [=[
      struct point { float x, y, z; char tag; };
      __global__ void kinds(int n, const float *a, const int *index, point *points, point origin, float *o) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        o[n - 1 - i] = i; //@reversed
        o[i] = a[blockIdx.x]; //@block
        o[i] = a[threadIdx.y]; //@gang
        o[i] = a[2 * i]; //@second
        o[i] = a[index[i]]; //@index
        points[i].y = points[i].x + origin.y; //@field
      }]=]
    assert.same({ "reversed store" }, dump.accesses "reversed")
    for _, at in ipairs { "block", "gang" } do
      assert.same({ "broadcast load", "contiguous store" }, dump.accesses(at))
    end
    assert.same({ "load with a stride of 8 bytes", "contiguous store" }, dump.accesses "second")
    assert.same({ "contiguous load", "gather", "contiguous store" }, dump.accesses "index")
    assert.same({ "load with a stride of 16 bytes", "broadcast load", "store with a stride of 16 bytes" },
      dump.accesses "field")
  end)

  it("is not used for deductions if it is volatile or atomic", function()
    local dump = shapes [=[
      __global__ void flags(volatile int *flag, int *count, int *o) {
        int seen = flag[0]; //@flag
        o[seen] = 1; //@seen
        int old = atomicAdd(count, 1);
        o[old] = 2; //@old
      }]=]
    assert.same({ "volatile load" }, dump.accesses "flag")
    assert.same({ "scatter" }, dump.accesses "seen")
    assert.same({ "scatter" }, dump.accesses "old")
  end)

  it("is found for copies as well", function()
    local dump = shapes [=[
      __global__ void copy(const float4 *in, const int *index, float4 *out) {
        __shared__ float4 tile[64];
        tile[threadIdx.x] = in[threadIdx.x]; //@side
        __syncthreads();
        out[index[threadIdx.x]] = tile[0]; //@far
      }]=]
    assert.same({ "contiguous load, contiguous store" }, dump.accesses "side")
    assert.same({ "contiguous load", "broadcast load, scatter" }, dump.accesses "far")
  end)

  it("to volatile shared memory makes the kernel depend on its warp", function()
    local function sees(memory)
      local source = "__global__ void f(volatile int *p, int *o) { %s o[threadIdx.x] = p[threadIdx.x + 1]; }"
      return run(source:format(memory), "--dump=shapes"):match("sees its warp: ([^\n]+)")
    end
    assert.is_nil(sees "")
    assert.same("volatile shared memory", sees "__shared__ volatile int s[64]; p = s;")
  end)

  it("of a local array is contiguous if the index is uniform, else one for each lane", function()
    local dump = shapes [=[
      __global__ void local(int n, const int *a, int *o) {
        int bins[8] = {0, 1, 2, 3, 4, 5, 6, 7};
        for (int i = 0; i < n; i++) bins[a[i] & 7] += i; //@bins
        o[threadIdx.x] = bins[a[threadIdx.x] & 7]; //@own
      }]=]
    assert.same({ "broadcast load", "contiguous load", "contiguous store" }, dump.accesses "bins")
    assert.same({ "contiguous load", "load of local memory", "contiguous store" }, dump.accesses "own")
  end)
end)

describe("an index", function()
  it("stays contiguous in a grid-stride loop, on an assumption about the bound", function()
    local dump = shapes [=[
      __global__ void stride(int n, const int *a, int *o) {
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
          o[i] = a[i]; //@copy
      }]=]
    assert.same({ "contiguous load", "contiguous store" }, dump.accesses "copy")
    assert.matches("\nassumes %-1073741824 <= n <= 1073741824\n", dump.output)
  end)

  it("needs no assumption if the step is a signed number", function()
    local dump = shapes [=[
      __global__ void stride(int n, const int *a, int *o) {
        int step = gridDim.x * blockDim.x;
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
          o[i] = a[i]; //@copy
      }]=]
    assert.same({ "contiguous load", "contiguous store" }, dump.accesses "copy")
    assert.is_nil(dump.output:find("assumes"))
  end)

  it("may be unsigned", function()
    local dump = shapes [=[
      __global__ void halves(unsigned n, const int *a, int *o) {
        unsigned i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
        if (i + blockDim.x < n) o[i] = a[i] + a[i + blockDim.x]; //@pair
        for (i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
          o[i] = 0; //@fill
      }]=]
    assert.same({ "contiguous load", "contiguous load", "contiguous store" }, dump.accesses "pair")
    assert.same({ "contiguous store" }, dump.accesses "fill")
    assert.matches("\nassumes 0 <= n <= 1073741824\n", dump.output)
    assert.matches("\nassumes gridDim <= 2097152, gridDim %* blockDim <= 536870912\n", dump.output) -- for the double
  end)

  it("that may wrap as an unsigned number is contiguous by a test alone", function()
    local dump = shapes [=[
      __global__ void wrap(const int *a, int *o) {
        unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
        o[t] = a[t - 16u]; //@before
        o[t + 1] += a[t + 0xffffff00u]; //@around
      }]=]
    assert.same({ "contiguous load if no index wraps", "contiguous store" }, dump.accesses "before")
    assert.same({ "contiguous load if no index wraps", "contiguous load", "contiguous store" }, dump.accesses "around")
  end)

  it("that a guard keeps from wrapping is contiguous, though lane 0 may fail the guard", function()
    local dump = shapes [=[
      __global__ void guarded(const int *a, int *o) {
        unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
        if (t >= 16u) o[t] = a[t - 16u]; //@guarded
      }]=]
    assert.same({ "contiguous load", "contiguous store" }, dump.accesses "guarded")
  end)

  it("made from unknown unsigned numbers is contiguous by a test alone", function()
    local dump = shapes [=[
      __global__ void far(unsigned pitch, const int *a, int *o) {
        unsigned x = threadIdx.x, y = blockIdx.y;
        o[x] = a[y * pitch + x]; //@row
        o[x] = a[(size_t)y * pitch + x]; //@wide
      }]=]
    assert.same({ "contiguous load if no index wraps", "contiguous store" }, dump.accesses "row")
    assert.same({ "contiguous load", "contiguous store" }, dump.accesses "wide")
  end)

  it("swapped in a loop keeps its shape", function()
    local dump = shapes [=[
      __global__ void swap(int n, int *o) {
        int x = threadIdx.x, y = x + 1;
        for (int i = 0; i < n; i++) { int t = x; x = y; y = t; }
        o[x] = 1; //@after
      }]=]
    assert.same({ "contiguous store" }, dump.accesses "after")
  end)

  it("made by masks and shifts of an aligned one has a known shape", function()
    local dump = shapes [=[
      __global__ void bits(const int *a, int *o) {
        int t = threadIdx.x;
        o[t] = a[t & 31]; //@and31
        o[t] = a[t & 7]; //@and7
        o[t] = a[t >> 5]; //@shift
        o[t] = a[t / 16]; //@divide
        o[t] = a[t % 16]; //@rest
        o[t] = a[t ^ 15]; //@mirror
        o[t] = a[t ^ 1]; //@neighbour
      }]=]
    assert.same("contiguous load", dump.accesses "and31"[1])
    assert.same("permuted load", dump.accesses "and7"[1])
    assert.same("broadcast load", dump.accesses "shift"[1])
    assert.same("contiguous load", dump.accesses "rest"[1])
    assert.same("reversed load", dump.accesses "mirror"[1])
    assert.same("permuted load", dump.accesses "neighbour"[1])
    assert.same("broadcast load", dump.accesses "divide"[1])
  end)

  it("counted from a loaded number and the lane in a warp is contiguous", function()
    local dump = shapes [=[
      __global__ void rows(const int *starts, const float *x, float *o) {
        int t = threadIdx.x, row = blockIdx.x;
        float sum = 0;
        for (int j = starts[row] + (t & 31); j < starts[row + 1]; j += 32)
          sum += x[j]; //@lane
        for (int j = starts[row] - (t & 31); j > starts[row + 1]; j -= 32)
          sum += x[j]; //@down
        o[t] = sum;
      }]=]
    assert.same({ "contiguous load" }, dump.accesses "lane")
    assert.same({ "reversed load" }, dump.accesses "down")
  end)

  it("has none if the gang may begin anywhere", function()
    local dump = shapes [=[
      __global__ void bits(const int *a, int *o) {
        int t = blockIdx.x * blockDim.x + threadIdx.x;
        o[t] = a[t & 31]; //@and31
        o[t] = a[t / 32]; //@divide
        if (t < 64) atomicAdd(o, 1); //@limit
      }]=]
    assert.same("gather", dump.accesses "and31"[1])
    assert.same("gather", dump.accesses "divide"[1])
    assert.same({ "divergent" }, dump.branches "limit")
  end)

  it("has none with more lanes than it is aligned for", function()
    local dump = shapes([=[
      __global__ void bits(const int *a, int *o) {
        int t = threadIdx.x;
        o[t] = a[t & 31]; //@and31
        o[t] = a[t & 15]; //@and15
        o[t] = a[t / 16]; //@divide
      }]=], 32)
    assert.same("contiguous load", dump.accesses "and31"[1])
    assert.same("permuted load", dump.accesses "and15"[1])
    assert.same("permuted load", dump.accesses "divide"[1])
  end)

  it("is aligned if rows are whole gangs", function()
    local source = [=[
      __global__ void warps(const int *a, int *o) {
        int t = threadIdx.y * blockDim.x + threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
        o[i] = a[t & 31]; //@lane
        o[i] = a[t / 32]; //@warp
        if (i < 64) atomicAdd(o, 1); //@limit
      }]=]
    local any, whole = shapes(source), shapes(source, 16, "rows")
    assert.same("gather", any.accesses "lane"[1])
    assert.same("gather", any.accesses "warp"[1])
    assert.same({ "divergent" }, any.branches "limit")
    assert.same("contiguous load", whole.accesses "lane"[1])
    assert.same("broadcast load", whole.accesses "warp"[1])
    assert.same({ "uniform" }, whole.branches "limit")
  end)

  it("that is uniform in a warp is uniform if a gang is a warp", function()
    local source = [=[
      __global__ void agree(int *o) {
        int t = threadIdx.x;
        int all = __ballot_sync(0xffffffffu, o[t] > 3), first = __shfl_sync(0xffffffffu, o[t], 0);
        int next = __shfl_down_sync(0xffffffffu, o[t], 1);
        o[all] = 1; //@ballot
        o[first] = 2; //@first
        o[next] = 3; //@next
      }]=]
    local whole, narrow = shapes(source, 32, "rows"), shapes(source, 16, "rows")
    assert.same({ "store by one lane" }, whole.accesses "ballot")
    assert.same({ "store by one lane" }, whole.accesses "first")
    assert.same({ "scatter" }, whole.accesses "next")
    assert.same({ "scatter" }, narrow.accesses "ballot")
    assert.same({ "scatter" }, shapes(source, 32).accesses "ballot")
  end)

  it("is uniform if a gang is one thread", function()
    local dump = shapes([=[
      __global__ void alone(const int *a, int *o) { o[a[threadIdx.x]] = a[threadIdx.x ^ 1]; } //@all
    ]=], 1)
    assert.same({ "broadcast load", "broadcast load", "store by one lane" }, dump.accesses "all")
  end)
end)
