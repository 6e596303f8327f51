-- Divergence analysis before widening: divergent branches and loops that lanes leave one by one; by mwcc --dump, with
-- 16 lanes unless another number is given.
-- Lua 5.4 only: the compiler is tested, and models calculate in 64-bit integers.
-- CPU device only: about the code that mwcc makes for lanes

local shapes = require "support.compile.shapes"

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
