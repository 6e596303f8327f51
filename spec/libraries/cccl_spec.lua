-- NVIDIA's CCCL with -I (wheel nvidia-cuda-cccl, or a toolkit's include/cccl): CUB's primitives for blocks and warps
-- against plain loops, and the device side of libcu++ and Thrust. MOONWARP_CCCL names the folder of its headers.

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local paths = require "support.compile.paths"
local random = require "support.random" "cccl_spec"
local suite = require "support.suite"

local function folder()
  for _, path in ipairs { os.getenv "MOONWARP_CCCL" or "", "/usr/local/cuda/include/cccl" } do
    local file = io.open(path .. "/cub/version.cuh")
    if file then
      file:close()
      return path
    end
  end
end

local cccl = folder()

-- CCCL's barrier has a destructor, which the program clang refuses for shared variables.
local lacking = not mwcc.has_clang_inside() and "this mwcc has no clang of its own"

local function compile(text)
  pcall(mw.limit, "compile_time", 600) -- many instances; NVRTC has no such limit
  return mw.compile { source = text, options = { "-I" .. cccl, "-O1" } }
end

-- Kernels of one primitive after the other, for these types and block sizes: explicit instances in one module each.
local types = { "int", "unsigned int", "float", "double" }
local sizes = { 32, 64, 96, 128, 256, 512 }
local Items = 3

local function text_of_instances(text, name, parameters)
  local lines = { "#include <cub/cub.cuh>", text }
  for _, type in ipairs(types) do
    for _, size in ipairs(sizes) do
      lines[#lines + 1] = ("template __global__ void %s<%s, %d>(%s);"):format(name, type, size,
        (parameters:gsub("T", type)))
    end
  end
  return table.concat(lines, "\n")
end

local function instances(...) return compile(text_of_instances(...)) end

local sums = [==[
template <typename T, int Threads> __global__ void sums(const T *in, T *out) {
  using Reduce = cub::BlockReduce<T, Threads>;
  using Scan = cub::BlockScan<T, Threads>;
  __shared__ typename Reduce::TempStorage reduce;
  __shared__ typename Scan::TempStorage scan;
  T items[3], before[3];
  for (int i = 0; i < 3; i++) items[i] = in[threadIdx.x * 3 + i];
  T sum = Reduce(reduce).Sum(items);
  if (threadIdx.x == 0) out[3 * Threads] = sum;
  Scan(scan).ExclusiveSum(items, before);
  for (int i = 0; i < 3; i++) out[threadIdx.x * 3 + i] = before[i];
}]==]

local moves = [==[
template <typename T, int Threads> __global__ void moves(const T *in, T *out, int *bins) {
  using Load = cub::BlockLoad<T, Threads, 3, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<T, Threads, 3, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  using Exchange = cub::BlockExchange<T, Threads, 3>;
  using Histogram = cub::BlockHistogram<unsigned char, Threads, 3, 16>;
  __shared__ union { // for 512 doubles all of them together do not fit
    typename Load::TempStorage load;
    typename Store::TempStorage store;
    typename Exchange::TempStorage exchange;
    typename Histogram::TempStorage histogram;
  } storage;
  __shared__ unsigned counts[16];
  T items[3];
  unsigned char bytes[3];
  Load(storage.load).Load(in, items);
  for (int i = 0; i < 3; i++) bytes[i] = (unsigned char)((int)items[i] & 15);
  __syncthreads();
  Histogram(storage.histogram).Histogram(bytes, counts);
  __syncthreads();
  Exchange(storage.exchange).BlockedToStriped(items, items);
  __syncthreads();
  Store(storage.store).Store(out, items);
  __syncthreads();
  if (threadIdx.x < 16) bins[threadIdx.x] = counts[threadIdx.x];
}]==]

local sorts = [==[
template <typename T, int Threads> __global__ void sorts(const T *in, T *out) {
  using Sort = cub::BlockRadixSort<T, Threads, 3>;
  __shared__ typename Sort::TempStorage sort;
  T items[3];
  for (int i = 0; i < 3; i++) items[i] = in[threadIdx.x * 3 + i];
  Sort(sort).Sort(items);
  for (int i = 0; i < 3; i++) out[threadIdx.x * 3 + i] = items[i];
}]==]

-- Each thread has a run of 1 to 5 copies of its value.
local runs = [==[
template <typename T, int Threads> __global__ void runs(const T *in, T *out) {
  using Decode = cub::BlockRunLengthDecode<T, Threads, 1, 3>;
  __shared__ typename Decode::TempStorage storage;
  T value[1] = {in[threadIdx.x]}, decoded[3];
  int length[1] = {(int)value[0] % 5 + 1}, total;
  Decode decode(storage, value, length, total);
  for (int from = 0; from < total; from += 3 * Threads) {
    decode.RunLengthDecode(decoded, from);
    for (int i = 0; i < 3; i++) {
      int at = from + threadIdx.x * 3 + i;
      if (at < total && at < 3 * Threads) out[at] = decoded[i];
    }
  }
  if (threadIdx.x == 0) out[3 * Threads] = total;
}]==]

-- Calls check(values, results, bins, threads, name) for each type and block size of a kernel.
local function each(m, kernel, check)
  for _, type in ipairs(types) do
    for _, threads in ipairs(sizes) do
      local values = {}
      for i = 1, threads * Items do values[i] = random(0, 999) end
      local out = mw.zeros(threads * Items + 1, type == "unsigned int" and "uint" or type)
      local bins = kernel == "moves" and mw.zeros(16, "int") or nil
      local name = ("%s<%s,%d>"):format(kernel, type, threads)
      local launch, given = m[name](1, threads), mw.array(values, out.dtype)
      if bins then launch(given, out, bins) else launch(given, out) end
      check(values, out:totable(), bins and bins:totable(), threads, name)
    end
  end
end

describe("CUB", function()
  if not cccl then return pending "there is no CCCL: pip download nvidia-cuda-cccl, and set MOONWARP_CCCL" end

  it("reduces and scans", function()
    each(instances(sums, "sums", "const T *, T *"), "sums", function(values, got, _, _, name)
      local sum = 0
      for i, value in ipairs(values) do
        assert.equal(sum, got[i], name)
        sum = sum + value
      end
      assert.equal(sum, got[#values + 1], name)
    end)
  end)

  it("loads, stores, exchanges and counts", function()
    local m = instances(moves, "moves", "const T *, T *, int *")
    each(m, "moves", function(values, got, bins, threads, name)
      local counts = {}
      for b = 1, 16 do counts[b] = 0 end
      for i, value in ipairs(values) do
        counts[value % 16 + 1] = counts[value % 16 + 1] + 1
        -- striped: item n of thread t is element n * threads + t
        local t, n = math.floor((i - 1) / Items), (i - 1) % Items
        assert.equal(values[n * threads + t + 1], got[i], name)
      end
      assert.same(counts, bins, name)
    end)
  end)

  it("sorts", function()
    each(instances(sorts, "sorts", "const T *, T *"), "sorts", function(values, got, _, _, name)
      table.sort(values)
      for i, value in ipairs(values) do assert.equal(value, got[i], name) end
    end)
  end)

  it("decodes runs", function()
    each(instances(runs, "runs", "const T *, T *"), "runs", function(values, got, _, threads, name)
      local decoded = {}
      for t = 1, threads do
        for _ = 0, values[t] % 5 do decoded[#decoded + 1] = values[t] end
      end
      assert.equal(#decoded, got[#values + 1], name)
      for i = 1, math.min(#decoded, #values) do assert.equal(decoded[i], got[i], name) end
    end)
  end)

  it("decodes runs, and reduces, scans and sorts in warps", function()
    local out = mw.zeros(4, 64, "int")
    compile([==[
      #include <cub/cub.cuh>
      __global__ void k(int *out) {
        using Decode = cub::BlockRunLengthDecode<int, 64, 1, 1>;
        using Reduce = cub::WarpReduce<int, 16>;
        using Scan = cub::WarpScan<int>;
        __shared__ typename Decode::TempStorage decode;
        __shared__ typename Reduce::TempStorage reduce[4];
        __shared__ typename Scan::TempStorage scan[2];
        int t = threadIdx.x, value[1] = { t }, length[1] = { t % 3 == 0 ? 3 : 0 }, decoded[1];
        unsigned total;
        Decode runs(decode, value, length, total);
        runs.RunLengthDecode(decoded, 0);
        out[t] = decoded[0];
        int sum = Reduce(reduce[t / 16]).Sum(t), before;
        out[64 + t] = t % 16 == 0 ? sum : 0;
        Scan(scan[t / 32]).InclusiveSum(t, before);
        out[128 + t] = before;
        out[192 + t] = total;
      }]==]).k(1, 64)(out)
    for t = 0, 63 do
      local first, below = t - t % 32, 0
      for i = first, t do below = below + i end
      assert.equal(t - t % 3, out:get(1, t + 1))
      assert.equal(t % 16 == 0 and 16 * t + 120 or 0, out:get(2, t + 1))
      assert.equal(below, out:get(3, t + 1))
      assert.equal(66, out:get(4, t + 1))
    end
  end)
end)

describe("CUB for GPUs", function()
  if not cccl then return pending "there is no CCCL" end

  it("compiles with mwcc, and with NVRTC by itself", function()
    types, sizes = { "double" }, { 512 }
    for name, text in pairs { sums = sums, moves = moves, sorts = sorts, runs = runs } do
      local parameters = "const T *, T *" .. (name == "moves" and ", int *" or "")
      paths.assert_compiles_for_gpus({
        source = text_of_instances(text, name, parameters), options = { "-I" .. cccl, "-O1" },
      }, { "mwcc for a GPU", "NVRTC alone" })
    end
  end)
end)

describe("libcu++ and Thrust in device code:", function()
  if not cccl then return pending "there is no CCCL" end

  it("atomics, optional values, spans, complex numbers, PTX", function()
    local out, count = mw.zeros(6, "float"), mw.zeros(1, "int")
    compile([==[
      #include <cuda/atomic>
      #include <cuda/ptx>
      #include <cuda/std/complex>
      #include <cuda/std/mdspan>
      #include <cuda/std/optional>
      #include <cuda/std/span>
      __global__ void k(float *out, int *count) {
        cuda::atomic_ref<int, cuda::thread_scope_device> all(*count);
        all.fetch_add(2, cuda::memory_order_relaxed);
        if (threadIdx.x > 0) return;
        cuda::std::optional<float> maybe;
        out[0] = maybe.value_or(1.5f);
        cuda::std::span<float> part(out, 2);
        out[1] = part.size();
        cuda::std::complex<float> z(3, 4);
        z *= z;
        out[2] = z.real(), out[3] = z.imag();
        out[4] = cuda::ptx::get_sreg_laneid() + 7;
        cuda::std::mdspan<float, cuda::std::extents<int, 2, 3>> grid(out);
        grid(1, 2) = 9;
      }]==]).k(1, 32)(out, count)
    assert.same({ 1.5, 2, -7, 24, 7, 9 }, out:totable())
    assert.equal(64, count[1])
  end)

  it("cuda::barrier as a shared variable, for 8.0 and 9.0", function()
    if lacking then return pending(lacking) end
    local text = [==[
      #include <cuda/barrier>
      __global__ void k(int *p) {
        __shared__ cuda::barrier<cuda::thread_scope_block> ready;
        __shared__ int s[128];
        if (threadIdx.x == 0) init(&ready, blockDim.x);
        __syncthreads();
        for (int i = 0; i < 5; i++) {
          s[threadIdx.x] = p[threadIdx.x];
          auto token = ready.arrive();
          ready.wait(static_cast<decltype(token) &&>(token));
          p[threadIdx.x] = s[127 - threadIdx.x] + 1;
          ready.arrive_and_wait();
        }
      }]==]
    local expected = {}
    for t = 0, 127 do expected[t + 1] = 127 - t + 5 end
    for _, capability in ipairs { "", "--capability=8.0", "--capability=9.0" } do
      if capability ~= "" and suite.on_gpu then break end
      local p = mw.arange(128, "int")
      mw.compile { source = text, options = { "-I" .. cccl, capability ~= "" and capability or "-O2" } }.k(1, 128)(p)
      assert.same(expected, p:totable(), capability)
    end
  end)

  it("cuda::memcpy_async of a thread, tracked by a barrier", function()
    if lacking then return pending(lacking) end
    local p, q = mw.arange(1024, "int"), mw.zeros(1024, "int")
    compile([==[
      #include <cuda/barrier>
      __global__ void k(const int *p, int *q) {
        __shared__ alignas(16) int s[1024];
        __shared__ cuda::barrier<cuda::thread_scope_block> ready;
        if (threadIdx.x == 0) init(&ready, blockDim.x);
        __syncthreads();
        if (threadIdx.x == 0) cuda::memcpy_async(s, p, cuda::aligned_size_t<16>(sizeof s), ready);
        ready.arrive_and_wait();
        for (int i = threadIdx.x; i < 1024; i += blockDim.x) q[i] = s[i] + 1;
      }]==]).k(1, 128)(p, q)
    for i = 1, 1024 do assert.equal(i, q[i]) end
  end)

  it("function objects, tuples, pairs, complex numbers and random numbers of Thrust", function()
    local out = mw.zeros(5, "float")
    compile([==[
      #include <thrust/complex.h>
      #include <thrust/functional.h>
      #include <thrust/pair.h>
      #include <thrust/random.h>
      #include <thrust/tuple.h>
      __global__ void k(float *out) {
        out[0] = thrust::plus<float>()(1, 2) + thrust::maximum<int>()(4, 3);
        thrust::tuple<int, float> both(5, 0.5f);
        out[1] = thrust::get<0>(both) + thrust::get<1>(both);
        out[2] = thrust::make_pair(1, 8).second;
        out[3] = (thrust::complex<float>(1, 2) * thrust::complex<float>(0, 1)).real();
        thrust::minstd_rand numbers;
        numbers.discard(9999);
        out[4] = numbers() == 399268537;
      }]==]).k(1, 1)(out)
    assert.same({ 7, 5.5, 8, -2, 1 }, out:totable())
  end)
end)
