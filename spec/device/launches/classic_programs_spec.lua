-- Five kinds of programs with launches from kernels, written for this test and compared with the same in plain Lua:
-- nested printing, quicksort, a quadtree, Bézier lines with memory that the parent allocates, and an LU factorisation
-- whose parent waits for its children.
-- On GPUs by NVRTC, with the device runtime library.

local mw = require "moonwarp"
local suite = require "support.suite"

local function random(seed)
  local state = seed
  return function()
    state = (state * 1103515245 + 12345) % 2147483648
    return state / 2147483648
  end
end

describe("programs with launches from kernels:", function()
  it("each thread of each level prints and launches the next level", function()
    if suite.on_gpu then return pending "CPU device only: output of a GPU cannot be captured" end
    local m = mw.compile [[
      __device__ int ids;
      __global__ void report(int depth, int most, int parent) {
        __shared__ int id;
        if (threadIdx.x == 0) {
          id = atomicAdd(&ids, 1);
          printf("grid %d of %d at %d\n", id, parent, depth);
        }
        __syncthreads();
        if (depth < most) report<<<1, 2>>>(depth + 1, most, id);
      }
    ]]
    local texts = {}
    mw.on_print(function(text) texts[#texts + 1] = text end)
    m.report(2, 2)(0, 3, -1)
    mw.synchronize()
    mw.on_print()
    local counts, parents = {}, {}
    for id, parent, depth in table.concat(texts):gmatch "grid (%d+) of (%-?%d+) at (%d)" do
      counts[depth] = (counts[depth] or 0) + 1
      parents[id] = { parent, tonumber(depth) }
    end
    assert.same({ ["0"] = 2, ["1"] = 4, ["2"] = 8, ["3"] = 16 }, counts)
    for _, entry in pairs(parents) do
      if entry[2] > 0 then assert.equal(entry[2] - 1, parents[entry[1]][2]) end
    end
  end)

  it("quicksort, each half in a stream of its own", function()
    local n = 3000
    local m = mw.compile [[
      __device__ void selection(unsigned *data, int left, int right) {
        for (int i = left; i < right; i++) {
          int least = i;
          for (int j = i + 1; j <= right; j++) if (data[j] < data[least]) least = j;
          unsigned keep = data[i];
          data[i] = data[least];
          data[least] = keep;
        }
      }
      __global__ void quicksort(unsigned *data, int left, int right, int depth) {
        if (depth == 24 || right - left < 32) return selection(data, left, right);
        unsigned *low = data + left, *high = data + right, pivot = data[(left + right) / 2];
        while (low <= high) {
          while (*low < pivot) low++;
          while (*high > pivot) high--;
          if (low > high) break;
          unsigned keep = *low;
          *low++ = *high;
          *high-- = keep;
        }
        int middle_low = (int)(high - data), middle_high = (int)(low - data);
        cudaStream_t s, t;
        if (left < middle_low) {
          cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
          quicksort<<<1, 1, 0, s>>>(data, left, middle_low, depth + 1);
          cudaStreamDestroy(s);
        }
        if (middle_high < right) {
          cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
          quicksort<<<1, 1, 0, t>>>(data, middle_high, right, depth + 1);
          cudaStreamDestroy(t);
        }
      }
    ]]
    local next_number, values = random(7), {}
    for i = 1, n do values[i] = math.floor(next_number() * 5000) end
    local data = mw.array(values, "uint")
    m.quicksort(1, 1)(data, 0, n - 1, 0)
    table.sort(values)
    assert.same(values, data:totable())
  end)

  it("a quadtree of points, refined where there are many", function()
    local n, most = 4000, 24
    local m = mw.compile [[
      struct box { float x, y, size; int first, last; };
      // points of the box go to its quarters, in an order that keeps them apart; leaves are counted and marked
      __global__ void divide(float2 *points, float2 *other, int *leaf, int *leaves, box b, int most, int depth) {
        __shared__ int count[4], place[4];
        int t = threadIdx.x, n = b.last - b.first;
        if (n <= most || depth == 12) {
          if (t == 0) atomicAdd(leaves, 1);
          for (int i = b.first + t; i < b.last; i += blockDim.x) leaf[i] = n, other[i] = points[i];
          return;
        }
        float half = b.size / 2, mx = b.x + half, my = b.y + half;
        if (t < 4) count[t] = 0;
        __syncthreads();
        for (int i = b.first + t; i < b.last; i += blockDim.x)
          atomicAdd(&count[(points[i].x >= mx) + 2 * (points[i].y >= my)], 1);
        __syncthreads();
        if (t == 0) {
          place[0] = b.first;
          for (int q = 1; q < 4; q++) place[q] = place[q - 1] + count[q - 1];
        }
        __syncthreads();
        int start = t < 4 ? place[t] : 0;
        __syncthreads();
        for (int i = b.first + t; i < b.last; i += blockDim.x)
          other[atomicAdd(&place[(points[i].x >= mx) + 2 * (points[i].y >= my)], 1)] = points[i];
        __syncthreads();
        if (t < 4 && count[t] > 0) {
          box quarter = {t & 1 ? mx : b.x, t & 2 ? my : b.y, half, start, start + count[t]};
          divide<<<1, 64>>>(other, points, leaf, leaves, quarter, most, depth + 1);
        }
      }
    ]]
    local next_number, points, flat = random(3), {}, {}
    for i = 1, n do
      local x, y = next_number() ^ 3, next_number() ^ 2
      points[i] = { x, y }
      flat[#flat + 1], flat[#flat + 2] = x, y
    end
    local floats = mw.array(flat, "float")
    local device_points, exact = floats:as "float2", floats:totable()
    for i = 1, n do points[i] = { exact[2 * i - 1], exact[2 * i] } end
    local leaf, leaves = mw.zeros(n, "int"), mw.zeros(1, "int")
    local other = mw.zeros(n, "float2")
    m.divide(1, 64)(device_points, other, leaf, leaves, { x = 0, y = 0, size = 1, first = 0, last = n }, most, 0)
    local expected, sizes = 0, {}
    local function divide(list, x, y, size, depth)
      if #list <= most or depth == 12 then
        expected = expected + 1
        sizes[#list] = (sizes[#list] or 0) + #list
        return
      end
      local half, quarters = size / 2, { {}, {}, {}, {} }
      for _, p in ipairs(list) do
        local q = 1 + (p[1] >= x + half and 1 or 0) + (p[2] >= y + half and 2 or 0)
        table.insert(quarters[q], p)
      end
      for q, part in ipairs(quarters) do
        if #part > 0 then divide(part, x + (q - 1) % 2 * half, y + (q > 2 and half or 0), half, depth + 1) end
      end
    end
    divide(points, 0, 0, 1, 0)
    assert.equal(expected, leaves[1])
    local found = {}
    for _, size in ipairs(leaf:totable()) do found[size] = (found[size] or 0) + 1 end
    assert.same(sizes, found)
  end)

  it("Bézier lines: as many points as a line is bent, in memory from cudaMalloc", function()
    local lines = 37
    local m = mw.compile [[
      struct line { float2 control[3]; float2 *points; int count; };
      __global__ void points(line *lines, int l) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        line &b = lines[l];
        if (i >= b.count) return;
        float u = (float)i / (b.count - 1), v = 1 - u, w[3] = {v * v, 2 * u * v, u * u};
        float2 sum = {0, 0};
        for (int c = 0; c < 3; c++) sum.x += w[c] * b.control[c].x, sum.y += w[c] * b.control[c].y;
        b.points[i] = sum;
      }
      __global__ void bend(line *lines, int count) {
        int l = blockIdx.x * blockDim.x + threadIdx.x;
        if (l >= count) return;
        line &b = lines[l];
        float dx = b.control[1].x - 0.5f * (b.control[0].x + b.control[2].x);
        float dy = b.control[1].y - 0.5f * (b.control[0].y + b.control[2].y);
        b.count = min(max((int)(sqrtf(dx * dx + dy * dy) * 16), 4), 256);
        cudaMalloc(&b.points, b.count * sizeof(float2));
        points<<<(b.count + 31) / 32, 32>>>(lines, l);
      }
      __global__ void make(line *lines, const float *control) {
        int l = threadIdx.x;
        for (int c = 0; c < 3; c++)
          lines[l].control[c] = make_float2(control[l * 6 + 2 * c], control[l * 6 + 2 * c + 1]);
      }
      __global__ void finish(line *lines, int *counts, float *last, float *middle) {
        int l = threadIdx.x;
        counts[l] = lines[l].count;
        last[l] = lines[l].points[lines[l].count - 1].x;
        middle[l] = lines[l].points[lines[l].count / 2].y;
        cudaFree(lines[l].points);
      }
    ]]
    local next_number, control = random(11), {}
    for i = 1, lines * 6 do control[i] = next_number() * 20 end
    local given = mw.array(control, "float")
    local store = mw.zeros(lines, m:dtype "line")
    local counts, last, middle = mw.zeros(lines, "int"), mw.zeros(lines, "float"), mw.zeros(lines, "float")
    m.make(1, lines)(store, given)
    m.bend(2, 32)(store, lines)
    m.finish(1, lines)(store, counts, last, middle)
    control = given:totable()
    for l = 0, lines - 1 do
      local c = function(k) return control[l * 6 + k] end
      local dx, dy = c(3) - (c(1) + c(5)) / 2, c(4) - (c(2) + c(6)) / 2
      local bent = math.sqrt(dx * dx + dy * dy) * 16
      if math.abs(bent - math.floor(bent + 0.5)) > 1e-3 then
        local n = math.min(math.max(math.floor(bent), 4), 256)
        assert.equal(n, counts[l + 1])
        assert.near(c(5), last[l + 1], 1e-4)
        local u = math.floor(n / 2) / (n - 1)
        assert.near((1 - u) ^ 2 * c(2) + 2 * u * (1 - u) * c(4) + u * u * c(6), middle[l + 1], 1e-4)
      end
    end
  end)

  it("LU factorisation: one thread drives it and waits for each step", function()
    if suite.on_gpu then return pending "CPU device only: CUDA 12 has no cudaDeviceSynchronize in kernels" end
    local n = 24
    local m = mw.compile [[
      __global__ void largest(const double *a, int n, int k, int *pivot) {
        int best = k;
        for (int i = k + 1; i < n; i++) if (fabs(a[i * n + k]) > fabs(a[best * n + k])) best = i;
        *pivot = best;
      }
      __global__ void exchange(double *a, int n, int i, int j) {
        int c = threadIdx.x;
        double keep = a[i * n + c];
        a[i * n + c] = a[j * n + c];
        a[j * n + c] = keep;
      }
      __global__ void scale(double *a, int n, int k) {
        int i = k + 1 + threadIdx.x;
        a[i * n + k] /= a[k * n + k];
      }
      __global__ void update(double *a, int n, int k) {
        int i = k + 1 + blockIdx.x, j = k + 1 + threadIdx.x;
        a[i * n + j] -= a[i * n + k] * a[k * n + j];
      }
      __global__ void factor(double *a, int *pivots, int n) {
        for (int k = 0; k < n; k++) {
          largest<<<1, 1>>>(a, n, k, pivots + k);
          cudaDeviceSynchronize();
          if (pivots[k] != k) exchange<<<1, n>>>(a, n, k, pivots[k]);
          if (k == n - 1) break;
          scale<<<1, n - k - 1>>>(a, n, k);
          update<<<n - k - 1, n - k - 1>>>(a, n, k);
        }
      }
    ]]
    local next_number, values = random(5), {}
    for i = 1, n * n do values[i] = next_number() * 2 - 1 end
    local a, pivots = mw.array(values, "double"), mw.zeros(n, "int")
    m.factor(1, 1)(a, pivots, n)
    local lu, product = a:totable(), {}
    for i = 0, n - 1 do
      for j = 0, n - 1 do
        local sum = 0
        for k = 0, math.min(i, j) do sum = sum + (k == i and 1 or lu[i * n + k + 1]) * lu[k * n + j + 1] end
        product[i * n + j + 1] = sum
      end
    end
    for k = n - 1, 0, -1 do
      local other = pivots[k + 1]
      for j = 1, n do
        product[k * n + j], product[other * n + j] = product[other * n + j], product[k * n + j]
      end
    end
    for i = 1, n * n do assert.near(values[i], product[i], 1e-12) end
  end)
end)
