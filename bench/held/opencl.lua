-- An OpenCL CPU device by LuaJIT's FFI, as far as the peers of the held-out kernels need it.

local ffi = require "ffi"

ffi.cdef [[
int clGetPlatformIDs(uint32_t, void **, uint32_t *);
int clGetPlatformInfo(void *, uint32_t, size_t, void *, size_t *);
int clGetDeviceIDs(void *, uint64_t, uint32_t, void **, uint32_t *);
void *clCreateContext(const intptr_t *, uint32_t, void **, void *, void *, int *);
void *clCreateCommandQueue(void *, void *, uint64_t, int *);
void *clCreateProgramWithSource(void *, uint32_t, const char **, const size_t *, int *);
int clBuildProgram(void *, uint32_t, void **, const char *, void *, void *);
int clGetProgramBuildInfo(void *, void *, uint32_t, size_t, void *, size_t *);
void *clCreateKernel(void *, const char *, int *);
int clSetKernelArg(void *, uint32_t, size_t, const void *);
void *clCreateBuffer(void *, uint64_t, size_t, void *, int *);
int clEnqueueNDRangeKernel(void *, void *, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t, void *,
  void *);
int clEnqueueCopyBuffer(void *, void *, void *, size_t, size_t, size_t, uint32_t, void *, void *);
int clEnqueueReadBuffer(void *, void *, uint32_t, size_t, size_t, void *, uint32_t, void *, void *);
int clFinish(void *);
]]

local CPU, READ_WRITE, COPY_HOST, PLATFORM_NAME, BUILD_LOG = 2, 1, 32, 0x0902, 0x1183

local opencl = {}

local function check(code, what)
  if code ~= 0 then error(("%s: OpenCL's error %d"):format(what, code), 0) end
end

local function text_of(ask)
  local size = ffi.new "size_t[1]"
  ask(0, nil, size)
  local buffer = ffi.new("char[?]", size[0] + 1)
  ask(size[0], buffer, nil)
  return ffi.string(buffer)
end

-- The CPU device of the platform whose name has `part` in it.
function opencl.open(part)
  local C = ffi.load "OpenCL.so.1"
  local platforms, count = ffi.new "void *[8]", ffi.new "uint32_t[1]"
  check(C.clGetPlatformIDs(8, platforms, count), "clGetPlatformIDs")
  local device = ffi.new "void *[1]"
  for i = 0, count[0] - 1 do
    local name = text_of(function(...) return C.clGetPlatformInfo(platforms[i], PLATFORM_NAME, ...) end)
    if name:find(part, 1, true) then C.clGetDeviceIDs(platforms[i], CPU, 1, device, nil) end
  end
  if device[0] == nil then error("no platform is named '" .. part .. "'", 0) end
  local code = ffi.new "int[1]"
  local context = C.clCreateContext(nil, 1, device, nil, nil, code)
  check(code[0], "clCreateContext")
  local queue = C.clCreateCommandQueue(context, device[0], 0, code)
  check(code[0], "clCreateCommandQueue")
  local it = {}

  -- standard: of the language, "CL3.0" unless given
  function it.build(text, standard)
    local options = ("-cl-std=%s -cl-mad-enable"):format(standard or "CL3.0")
    local program = C.clCreateProgramWithSource(context, 1, ffi.new("const char *[1]", { text }), nil, code)
    check(code[0], "clCreateProgramWithSource")
    if C.clBuildProgram(program, 1, device, options, nil, nil) ~= 0 then
      error(text_of(function(...) return C.clGetProgramBuildInfo(program, device[0], BUILD_LOG, ...) end), 0)
    end
    return program
  end

  function it.kernel(program, name)
    local kernel = C.clCreateKernel(program, name, code)
    check(code[0], name)
    return kernel
  end

  function it.buffer(host, bytes)
    local buffer = C.clCreateBuffer(context, READ_WRITE + COPY_HOST, bytes, host, code)
    check(code[0], "clCreateBuffer")
    return buffer
  end

  function it.argument(kernel, i, value, bytes) check(C.clSetKernelArg(kernel, i, bytes, value), "clSetKernelArg") end

  -- Queue a launch: grid and block are lists of three sizes.
  function it.launch(kernel, grid, block)
    local all, each = ffi.new "size_t[3]", ffi.new("size_t[3]", block)
    for d = 0, 2 do all[d] = grid[d + 1] * block[d + 1] end
    return function()
      check(C.clEnqueueNDRangeKernel(queue, kernel, 3, nil, all, each, 0, nil, nil), "clEnqueueNDRangeKernel")
    end
  end

  function it.copy(target, source, bytes)
    check(C.clEnqueueCopyBuffer(queue, source, target, 0, 0, bytes, 0, nil, nil), "clEnqueueCopyBuffer")
  end

  function it.read(buffer, host, bytes)
    check(C.clEnqueueReadBuffer(queue, buffer, 1, 0, bytes, host, 0, nil, nil), "clEnqueueReadBuffer")
  end

  function it.finish() check(C.clFinish(queue), "clFinish") end

  return it
end

return opencl
