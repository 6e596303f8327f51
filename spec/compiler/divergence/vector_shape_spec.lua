-- Divergence analysis before widening: access classes, divergent branches, divergent loops; by mwcc --dump, with 16
-- lanes unless another number is given.
-- Lua 5.4 only: the compiler is tested, and models calculate in 64-bit integers.
-- CPU device only: about the code that mwcc makes for lanes

local mwcc = require "support.mwcc"
local run = mwcc.run

-- The lines of `source` that end in a comment //@name, by name.
local function marks_of(source)
  local marks, number = {}, 0
  for line in (source .. "\n"):gmatch("(.-)\n") do
    number = number + 1
    local name = line:match("//@(%w+)%s*$")
    if name then marks[name] = number end
  end
  return marks
end

-- The output of --dump=shapes, as functions of a line's mark.
local function shapes(source, width, what)
  local output = run(source, ("--verify --dump=%s --width=%d"):format(what or "shapes", width or 16))
  assert(output:find("^kernel "), output)
  local marks, facts = marks_of(source), {}
  for line in output:gmatch("[^\n]+") do
    local at, found, text = line:match("^ *(%d+):%d+  (.-)   +(.+)$")
    if at then facts[#facts + 1] = { line = tonumber(at), found = found, text = text } end
  end
  local function at(mark, want)
    local line, list = assert(marks[mark], "no line is marked " .. mark), {}
    for _, fact in ipairs(facts) do
      local word = fact.line == line and want(fact)
      if word then list[#list + 1] = word end
    end
    return list
  end
  local dump = { output = output }
  -- "contiguous load", "gather" ..., in the order of the code
  function dump.accesses(mark) return at(mark, function(fact) return fact.found:match("%((.-)%)$") end) end
  -- "divergent" or "uniform", for each branch of the line
  function dump.branches(mark) return at(mark, function(fact) return fact.found:match("^(%w+) branch$") end) end
  -- "block", "raced", "gang", "affine", "varying": the shape of the value that the line stores
  function dump.stored(mark)
    local text = at(mark, function(fact) return fact.text:match("^store %S+ (%%[%w_.]+),") end)[1]
    assert(text, output)
    for line in output:gmatch("[^\n]+") do
      local shape = line:match("^ *[%d:]*  (%w+).-   +" .. text:gsub("[%%.]", "%%%0") .. " = ")
      if shape then return shape end
    end
  end
  return dump
end

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
    for _, at in ipairs { "block", "gang" } do assert.same({ "broadcast load", "contiguous store" }, dump.accesses(at)) end
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

  it("that may wrap as an unsigned number is not contiguous", function()
    local dump = shapes [=[
      __global__ void wrap(const int *a, int *o) {
        unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
        o[t] = a[t - 16u]; //@before
        o[t + 1] += a[t + 0xffffff00u]; //@around
      }]=]
    assert.same({ "gather", "contiguous store" }, dump.accesses "before")
    assert.same({ "gather", "contiguous load", "contiguous store" }, dump.accesses "around")
  end)

  it("that a guard keeps from wrapping is contiguous, though lane 0 may fail the guard", function()
    local dump = shapes [=[
      __global__ void guarded(const int *a, int *o) {
        unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
        if (t >= 16u) o[t] = a[t - 16u]; //@guarded
      }]=]
    assert.same({ "contiguous load", "contiguous store" }, dump.accesses "guarded")
  end)

  it("made from unknown unsigned numbers is not contiguous", function()
    local dump = shapes [=[
      __global__ void far(unsigned pitch, const int *a, int *o) {
        unsigned x = threadIdx.x, y = blockIdx.y;
        o[x] = a[y * pitch + x]; //@row
        o[x] = a[(size_t)y * pitch + x]; //@wide
      }]=]
    assert.same({ "gather", "contiguous store" }, dump.accesses "row")
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

describe("a branch", function()
  it("is uniform if its condition is", function()
    local dump = shapes [=[
      __global__ void branches(int n, const int *a, int *o) {
        int t = threadIdx.x;
        if (n > 3) o[t] = 1; //@parameter
        if (a[blockIdx.x]) o[t] = 2; //@load
        if (threadIdx.y == 2) o[t] = 3; //@row
        if (t < n) o[t] = 4; //@lane
        if (a[t]) o[t] = 5; //@data
        __syncthreads();
      }]=]
    assert.same({ "uniform" }, dump.branches "parameter")
    assert.same({ "uniform" }, dump.branches "load")
    assert.same({ "uniform" }, dump.branches "row")
    assert.same({ "divergent" }, dump.branches "lane")
    assert.same({ "divergent" }, dump.branches "data")
  end)

  it("is uniform at a limit that is a multiple of gangs", function()
    local dump = shapes [=[
      __global__ void limits(int *o) {
        int t = threadIdx.x;
        if (t < 32) atomicAdd(o, 1); //@below
        if (t > 47) atomicAdd(o, 2); //@above
        if (t < 31) atomicAdd(o, 3); //@inside
        if (t <= 32) atomicAdd(o, 4); //@one
      }]=]
    assert.same({ "uniform" }, dump.branches "below")
    assert.same({ "uniform" }, dump.branches "above")
    assert.same({ "divergent" }, dump.branches "inside")
    assert.same({ "divergent" }, dump.branches "one")
  end)

  it("that is divergent makes the values that it selects varying", function()
    local dump = shapes [=[
      __global__ void choose(int n, int m, int *o) {
        int t = threadIdx.x, p = n, q = n, r = n;
        if (t < n) { atomicAdd(o, 1); p = m; } //@lanes
        if (n < m) { atomicAdd(o, 1); q = m; }
        if (threadIdx.y < n) { atomicAdd(o, 1); r = m; }
        o[p] = 1; //@parted
        o[q] = q; //@block
        o[r] = r; //@gang
      }]=]
    assert.same({ "divergent" }, dump.branches "lanes")
    assert.same({ "scatter" }, dump.accesses "parted")
    assert.same({ "store by one lane" }, dump.accesses "block")
    assert.same({ "store by one lane" }, dump.accesses "gang")
    assert.same("block", dump.stored "block")
    assert.same("gang", dump.stored "gang")
  end)

  it("to the end does not make the lanes that continue diverge", function()
    local dump = shapes [=[
      __global__ void leave(int n, int m, int *o) {
        int p = 0;
        if (threadIdx.x < n) return;
        for (int i = 0; i < m; i++) p += o[i]; //@loop
        o[p] = 1; //@after
      }]=]
    assert.same({ "uniform", "uniform" }, dump.branches "loop")
    assert.same({ "store by one lane" }, dump.accesses "after")
  end)

  it("inside a switch, or out of nested ifs, is taken into account where paths meet", function()
    local dump = shapes [=[
      __global__ void nested(int n, int m, const int *a, int *o) {
        int p;
        switch (a[threadIdx.x]) {
        case 0: p = n; break;
        case 1: atomicAdd(o, 1); // falls through
        case 2: p = m; break;
        default: p = 7;
        }
        o[p] = 1; //@switch
        if (n > 2) {
          if (a[threadIdx.x] > m) goto out;
          atomicAdd(o, 2);
        }
        m = 3;
      out:
        o[m] = 2; //@jump
      }]=]
    assert.same({ "scatter" }, dump.accesses "switch")
    assert.same({ "scatter" }, dump.accesses "jump")
  end)
end)

describe("a loop that lanes leave one by one", function()
  it("makes values varying that are uniform inside", function()
    local dump = shapes [=[
      __global__ void until(int n, const int *a, int *o) {
        int t = threadIdx.x, i;
        for (i = 0; i < n; i++) {
          if (a[t] == i) break;
          o[i] = 0; //@inside
        }
        o[i] = 1; //@behind
      }]=]
    assert.same({ "store by one lane" }, dump.accesses "inside")
    assert.same({ "scatter" }, dump.accesses "behind")
    assert.matches("loop n%d+ is divergent", dump.output)
  end)

  it("does so with a single exit as well", function()
    local dump = shapes [=[
      __global__ void single(const int *a, int *o) {
        int t = threadIdx.x, i = 0;
        do { atomicAdd(o, 1); } while (a[t] > i++);
        o[i] = 1; //@behind
      }]=]
    assert.same({ "scatter" }, dump.accesses "behind")
  end)

  it("by a return leaves values uniform for the others", function()
    local dump = shapes [=[
      __global__ void early(int n, const int *a, int *o) {
        int t = threadIdx.x, s = 0, i = 0;
        do {
          if (a[t + i] < 0) return;
          s += i;
        } while (++i < 64);
        o[s + a[t]] = s; //@behind
      }]=]
    assert.same({ "contiguous load", "scatter" }, dump.accesses "behind")
    assert.matches("loop n%d+ is divergent", dump.output)
  end)

  it("leaves loop-invariant values uniform", function()
    local dump = shapes [=[
      __global__ void fixed(int n, int m, const int *a, int *o) {
        int t = threadIdx.x, i = 0, twice;
        do { twice = n * m; o[twice + i] = 3; } while (a[t] > i++);
        o[twice] = 1; //@behind
      }]=]
    assert.same({ "store by one lane" }, dump.accesses "behind")
  end)

  it("makes phis varying where its exits meet", function()
    local dump = shapes [=[
      __global__ void exits(int n, const int *a, int *o) {
        int t = threadIdx.x, found = 5;
        for (int i = 0; i < n; i++) {
          if (a[t + i] == 3) { found = 1; break; }
          if (i > 7) { found = 2; break; } // all lanes that are left
        }
        o[found] = 1; //@behind
      }]=]
    assert.same({ "scatter" }, dump.accesses "behind")
  end)

  it("makes phis varying by exits that are taken in different iterations", function()
    local dump = shapes [=[
      __global__ void rounds(const int *a, int *o) {
        int t = threadIdx.x, found, i = 0;
        while (true) {
          if (a[i] & 1) atomicAdd(o, 1); // so that the exits are in the middle of the loop
          else atomicAdd(o + 1, i);
          if (a[i] > 7) { found = 2; break; } // all lanes that are left
          if (a[t + i] == 3) { found = 1; break; }
          i++;
        }
        o[found] = 1; //@behind
      }]=]
    assert.same({ "scatter" }, dump.accesses "behind")
  end)

  it("makes the outer loop divergent if they leave both", function()
    local dump = shapes [=[
      __global__ void both(int n, const int *a, int *o) {
        int t = threadIdx.x, i, j = 0;
        for (i = 0; i < n; i++)
          for (j = 0; j < n; j++) {
            atomicAdd(o, 1);
            if (a[t] == i * j) goto out;
          }
      out:
        o[i] = j; //@behind
      }]=]
    assert.same({ "scatter" }, dump.accesses "behind")
    local _, count = dump.output:gsub("loop n%d+ is divergent", "")
    assert.same(2, count)
  end)

  it("does not make the outer loop divergent if they leave only the inner one", function()
    local dump = shapes [=[
      __global__ void inner(int n, const int *a, int *o) {
        int t = threadIdx.x, s = 0;
        for (int i = 0; i < n; i++) {
          for (int j = 0; j < a[t + i]; j++) s += a[j]; //@inner
          o[i] = 1; //@outer
        }
        o[t] = s;
      }]=]
    assert.same({ "store by one lane" }, dump.accesses "outer")
    local _, count = dump.output:gsub("loop n%d+ is divergent", "")
    assert.same(1, count)
  end)

  it("makes a pair of values that are exchanged in it varying", function()
    local dump = shapes [=[
      __global__ void fibonacci(int *o) {
        int x = 0, y = 1;
        for (unsigned i = 0; i < threadIdx.x; i++) { int t = x; x = y; y = t + y; }
        o[x] = y; //@behind
      }]=]
    assert.same({ "scatter" }, dump.accesses "behind")
  end)

  it("is not a loop that a trap ends", function()
    local dump = shapes [=[
      __global__ void checked(int n, const int *a, int *o) {
        int t = threadIdx.x, i;
        for (i = 0; i < n; i++) {
          if (a[t + i] < 0) __trap();
          o[t] += i;
        }
        o[i] = 1; //@behind
      }]=]
    assert.same({ "store by one lane" }, dump.accesses "behind")
  end)
end)
