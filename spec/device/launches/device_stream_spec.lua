-- Streams, events, copies and synchronisation in device code. (CUDA guide, "CUDA Dynamic Parallelism")
-- On GPUs by NVRTC, with the device runtime library.

local mw = require "moonwarp"
local suite = require "support.suite"

local function run(text, count, grid, block, ...)
  local out = mw.zeros(count, "int")
  mw.compile(text).k(grid, block)(out, ...)
  return out:totable()
end

describe("streams of device code:", function()
  it("order the grids in them, also after they were destroyed", function()
    local out = run([[
      __global__ void append(int *p, int v) { p[1 + p[0]++] = v; }
      __global__ void k(int *p) {
        cudaStream_t s[2];
        for (int i = 0; i < 2; i++) cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking);
        for (int n = 0; n < 7; n++)
          for (int i = 0; i < 2; i++) append<<<1, 1, 0, s[i]>>>(p + i * 8, n * 2 + i);
        for (int i = 0; i < 2; i++) cudaStreamDestroy(s[i]);
      }
    ]], 16, 1, 1)
    assert.same({ 7, 0, 2, 4, 6, 8, 10, 12, 7, 1, 3, 5, 7, 9, 11, 13 }, out)
  end)

  it("tail launches run one by one after the grid and its children", function()
    assert.same({ 40, 40, 41, 42 }, run([[
      __global__ void add(int *p) { atomicAdd(p, 1); }
      __global__ void middle(int *p) { add<<<1, 5>>>(p); }
      __global__ void look(int *p, int i) { p[i] = (*p)++; }
      __global__ void last(int *p) { p[0] -= 3; }
      __global__ void k(int *p) {
        if (blockIdx.x == 0 && threadIdx.x == 0) {
          look<<<1, 1, 0, cudaStreamTailLaunch>>>(p, 1);
          look<<<1, 1, 0, cudaStreamTailLaunch>>>(p, 2);
          look<<<1, 1, 0, cudaStreamTailLaunch>>>(p, 3);
          last<<<1, 1, 0, cudaStreamTailLaunch>>>(p);
        }
        middle<<<1, 1, 0, cudaStreamFireAndForget>>>(p);
      }
    ]], 4, 2, 4))
  end)

  it("a tail launch's own tail launches run before the next one", function()
    local out = run([[
      __global__ void append(int *p, int v) { p[1 + p[0]++] = v; }
      __global__ void outer(int *p, int v) {
        append<<<1, 1, 0, cudaStreamTailLaunch>>>(p, v);
        append<<<1, 1>>>(p, v + 1);
      }
      __global__ void k(int *p) {
        outer<<<1, 1, 0, cudaStreamTailLaunch>>>(p, 10);
        append<<<1, 1, 0, cudaStreamTailLaunch>>>(p, 30);
        append<<<1, 1>>>(p, 5);
      }
    ]], 5, 1, 1)
    assert.same({ 4, 5, 11, 10, 30 }, out)
  end)

  it("a stream waits for an event of another one", function()
    local out = run([[
      __global__ void slow(int *p) { if (threadIdx.x == 0) p[0] = 5; }
      __global__ void split(int *p) { slow<<<1, 32>>>(p); }
      __global__ void look(int *p) { p[1] = p[0]; }
      __global__ void k(int *p) {
        cudaStream_t a, b;
        cudaEvent_t e, unused;
        cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
        cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
        p[2] = cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
        p[3] = cudaEventCreateWithFlags(&unused, cudaEventDisableTiming);
        split<<<1, 1, 0, a>>>(p);
        p[4] = cudaEventRecord(e, a);
        p[5] = cudaStreamWaitEvent(b, unused, 0); // never recorded: no wait
        p[6] = cudaStreamWaitEvent(b, e, 0);
        look<<<1, 1, 0, b>>>(p);
        cudaEventDestroy(e);
        cudaEventDestroy(unused);
      }
    ]], 7, 1, 1)
    assert.same({ 5, 5, 0, 0, 0, 0, 0 }, out)
  end)

  it("copies and fills are in their order", function()
    if suite.on_gpu then return pending "CPU device only: an H100 fills with zeros, whatever the value" end
    local out = run([[
      __global__ void add(int *p, int n) { if (threadIdx.x < n) p[threadIdx.x] += 1; }
      __global__ void k(int *p) {
        cudaMemsetAsync(p, 1, 4 * sizeof(int));
        add<<<1, 4>>>(p, 4);
        cudaMemcpyAsync(p + 4, p, 4 * sizeof(int), cudaMemcpyDeviceToDevice, 0);
        add<<<1, 4>>>(p, 2);
      }
    ]], 8, 1, 1)
    local one = 0x01010101 + 1
    assert.same({ one + 1, one + 1, one, one, one, one, one, one }, out)
  end)

  it("copies and fills of rows and of slices, in order with grids", function()
    if suite.on_gpu then return pending "CPU device only: as the fills above" end
    local out = run([[
      __global__ void add(int *p) { p[threadIdx.x] += 1; }
      __global__ void k(int *p) {
        cudaMemset2DAsync(p, 4 * sizeof(int), 1, 2 * sizeof(int), 2);
        add<<<1, 8>>>(p);
        cudaMemcpy2DAsync(p + 16, 2 * sizeof(int), p, 4 * sizeof(int), 2 * sizeof(int), 2, cudaMemcpyDeviceToDevice);
        cudaMemset3DAsync(make_cudaPitchedPtr(p + 24, 8, 8, 2), 0, make_cudaExtent(4, 1, 2));
      }
    ]], 32, 1, 1)
    local one = 0x01010101 + 1
    assert.same({ one, one, 1, 1, one, one, 1, 1 }, { table.unpack(out, 1, 8) })
    assert.same({ one, one, one, one }, { table.unpack(out, 17, 20) })
  end)

  it("what is the same on every device of the capability is known", function()
    assert.same({ 0, 32, 1024, 0 }, run([[
      __global__ void k(int *p) {
        p[0] = cudaDeviceGetAttribute(&p[1], cudaDevAttrWarpSize, 0);
        p[3] = cudaDeviceGetAttribute(&p[2], cudaDevAttrMaxThreadsPerBlock, 0);
      }
    ]], 4, 1, 1))
  end)

  it("copies of slices between pitched memory", function()
    local out = run([[
      __global__ void add(int *p) { p[threadIdx.x] += threadIdx.x; }
      __global__ void k(int *p) {
        add<<<1, 24>>>(p);
        cudaMemcpy3DParms copy = {};
        copy.srcPtr.ptr = p, copy.srcPtr.pitch = 16, copy.srcPtr.ysize = 3;
        copy.dstPtr.ptr = p + 24, copy.dstPtr.pitch = 8, copy.dstPtr.ysize = 2;
        copy.srcPos.x = 4, copy.srcPos.y = 1;
        copy.extent.width = 8, copy.extent.height = 2, copy.extent.depth = 2;
        copy.kind = cudaMemcpyDeviceToDevice;
        p[32] = cudaMemcpy3DAsync(&copy, 0);
      }
    ]], 33, 1, 1)
    assert.same({ 5, 6, 9, 10, 17, 18, 21, 22, 0 }, { table.unpack(out, 25, 33) })
  end)

  it("limits and configurations are those of the host", function()
    if suite.on_gpu then return pending "CPU device only: CUDA's device runtime lacks or refuses some of these" end
    local m = mw.compile [[
      __global__ void none() {}
      __global__ void k(int *p, size_t *z) {
        cudaFuncCache cache;
        cudaSharedMemConfig banks;
        cudaEvent_t event;
        none<<<1, 1>>>();
        p[0] = cudaDeviceGetLimit(&z[0], cudaLimitMallocHeapSize);
        p[1] = cudaDeviceGetLimit(&z[1], cudaLimitDevRuntimePendingLaunchCount);
        p[2] = cudaDeviceGetLimit(&z[2], cudaLimitStackSize);
        p[3] = cudaDeviceGetCacheConfig(&cache);
        p[4] = cudaDeviceGetSharedMemConfig(&banks);
        p[5] = cudaRuntimeGetVersion(&p[6]);
        cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
        p[7] = cudaEventRecordWithFlags(event, 0, 0);
        cudaEventDestroy(event);
      }]]
    local p, z = mw.zeros(8, "int"), mw.zeros(3, "ulonglong")
    m.k(1, 1)(p, z)
    assert.same({ 0, 0, 0, 0, 0, 0 }, { table.unpack(p:totable(), 1, 6) })
    assert.is_true(p[7] >= 11000)
    assert.equal(0, p[8])
    assert.same({ mw.limit "heap", mw.limit "launches", mw.limit "stack" }, z:totable())
  end)

  it("copies outside of device memory are refused", function()
    if suite.on_gpu then return pending "CPU device only: a GPU does not look at addresses" end
    assert.same({ 1, 1 }, run([[
      __global__ void k(int *p) {
        p[0] = cudaMemcpyAsync((void *)16, p, 4, cudaMemcpyDeviceToDevice, 0);
        p[1] = cudaMemsetAsync((void *)0, 0, 4, 0);
      }
    ]], 2, 1, 1))
  end)
end)

describe("cudaDeviceSynchronize in device code", function()
  it("waits for what the block has launched, in every stream", function()
    if suite.on_gpu then return pending "CPU device only: CUDA 12 has none in kernels" end
    local out = run([[
      __global__ void add(int *p) { atomicAdd(p, 1); }
      __global__ void middle(int *p) { add<<<3, 4>>>(p); }
      __global__ void k(int *p) {
        int *mine = p + 2 * blockIdx.x;
        if (threadIdx.x == 0) {
          cudaStream_t s;
          cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
          middle<<<2, 1, 0, s>>>(mine);
          middle<<<1, 1>>>(mine);
          mine[1] = cudaDeviceSynchronize() * 1000;
          mine[1] += mine[0];
        }
        __syncthreads();
        if (threadIdx.x == 5) add<<<1, 1>>>(mine);
      }
    ]], 8, 4, 32)
    assert.same({ 37, 36, 37, 36, 37, 36, 37, 36 }, out)
  end)

  it("nests 24 deep at most", function()
    if suite.on_gpu then return pending "CPU device only: CUDA 12 has none in kernels" end
    local out = run([[
      __global__ void k(int *p, int n, int most) {
        if (n == most) return;
        k<<<1, 1>>>(p, n + 1, most);
        cudaError_t code = cudaDeviceSynchronize();
        if (code && p[2]++ == 0) p[1] = code * 100 + n;
        p[0] += 1;
      }
    ]], 3, 1, 1, 0, 30)
    assert.same({ 30, 6824, 6 }, out) -- cudaErrorSyncDepthExceeded, for the first time at the 25th grid
  end)
end)
