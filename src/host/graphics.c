/* OpenGL interoperability under CUDA's names: registered resources have handles; buffers can also be named by
 * OpenGL's numbers. */
#include "host/driver/driver.h"
#include "include/cudaGL.h"
#include "include/cuda_gl_interop.h"

typedef struct shown_array {
  unsigned layer, level;
  cudaArray_t handle;
} shown_array;

typedef struct host_graphics {
  mw_graphics *resource;
  unsigned flags;
  shown_array *arrays; /* the arrays that were handed out since it was mapped */
  size_t count;
  cudaMipmappedArray_t mipmap; /* or NULL */
} host_graphics;

/* ---- resources ---- */

static void forget_arrays(host_graphics *graphics) {
  for (size_t i = 0; i < graphics->count; i++)
    mw_cuda_array_release(host_handle_take(HOST_ARRAY, graphics->arrays[i].handle));
  free(graphics->arrays);
  graphics->arrays = NULL;
  graphics->count = 0;
  if (graphics->mipmap) host_mipmap_take_back(graphics->mipmap);
  graphics->mipmap = NULL;
}

void host_graphics_release(void *object) {
  host_graphics *graphics = object;
  forget_arrays(graphics);
  mw_graphics_release(graphics->resource);
  free(graphics);
}

/* target 0: a buffer. */
static int new_resource(host_context *context, unsigned name, unsigned target, unsigned flags, host_graphics **out) {
  mw_graphics *resource;
  int code = target ? mw_graphics_image(context->device, name, target, flags, &resource)
                    : mw_graphics_buffer(context->device, name, flags, &resource);
  if (code != MW_SUCCESS) return code;
  *out = calloc(1, sizeof **out);
  if (!*out) abort();
  **out = (host_graphics){.resource = resource, .flags = flags};
  return MW_SUCCESS;
}

static int enter(host_context *context, cudaGraphicsResource_t *out, unsigned name, unsigned target, unsigned flags) {
  host_graphics *graphics;
  if (!out) return host_fail(MW_INVALID_VALUE, "the pointer that receives the resource is NULL");
  int code = new_resource(context, name, target, flags, &graphics);
  if (code == MW_SUCCESS) *out = host_handle_new(HOST_GRAPHICS, context->id, graphics);
  return code;
}

/* An image needs a target: 0 would mean a buffer. */
static int enter_image(host_context *context, cudaGraphicsResource_t *out, unsigned name, unsigned target,
                       unsigned flags) {
  return enter(context, out, name, target ? target : ~0u, flags);
}

static int find(cudaGraphicsResource_t handle, host_graphics **out) {
  *out = host_handle_find(HOST_GRAPHICS, handle);
  return *out ? MW_SUCCESS
              : host_fail(MW_INVALID_RESOURCE_HANDLE, "this is not a resource of OpenGL, or one that was unregistered");
}

static int unregister(cudaGraphicsResource_t handle) {
  host_graphics *graphics;
  int code = find(handle, &graphics);
  if (code == MW_SUCCESS) host_graphics_release(host_handle_take(HOST_GRAPHICS, handle));
  return code;
}

static int set_flags(cudaGraphicsResource_t handle, unsigned flags) {
  host_graphics *graphics;
  int code = find(handle, &graphics);
  return code ? code : mw_graphics_set_flags(graphics->resource, flags);
}

/* ---- mapping ---- */

static int map_all(host_context *context, host_graphics **list, size_t count, cudaStream_t handle, bool on) {
  mw_stream *stream;
  mw_graphics **resources = calloc(count + 1, sizeof(mw_graphics *));
  if (!resources) abort();
  for (size_t i = 0; i < count; i++) resources[i] = list[i]->resource;
  int code = host_stream(context, handle, &stream);
  if (code == MW_SUCCESS) {
    code = on ? mw_graphics_map(stream, resources, count) : mw_graphics_unmap(stream, resources, count);
    mw_stream_release(stream);
  }
  free(resources);
  /* Even after an error: a kernel's failure may be reported here although the resources were unmapped. */
  for (size_t i = 0; i < count; i++)
    if (!mw_graphics_is_mapped(list[i]->resource)) forget_arrays(list[i]);
  return code;
}

static int map(host_context *context, int count, cudaGraphicsResource_t *handles, cudaStream_t stream, bool on) {
  if (count < 0 || (count && !handles)) return host_fail(MW_INVALID_VALUE, "there are no resources to map");
  host_graphics **list = calloc((size_t)count + 1, sizeof(host_graphics *));
  if (!list) abort();
  int code = MW_SUCCESS;
  for (int i = 0; i < count && code == MW_SUCCESS; i++) code = find(handles[i], &list[i]);
  if (code == MW_SUCCESS) code = map_all(context, list, (size_t)count, stream, on);
  free(list);
  return code;
}

static int pointer(cudaGraphicsResource_t handle, uint64_t *address, size_t *bytes) {
  host_graphics *graphics;
  int code = find(handle, &graphics);
  return code ? code : mw_graphics_pointer(graphics->resource, address, bytes);
}

/* The flags of registration as flags of arrays. */
static unsigned array_flags(const host_graphics *graphics) {
  unsigned surface = graphics->flags & cudaGraphicsRegisterFlagsSurfaceLoadStore ? cudaArraySurfaceLoadStore : 0;
  unsigned gather = graphics->flags & cudaGraphicsRegisterFlagsTextureGather ? cudaArrayTextureGather : 0;
  return surface | gather;
}

static int array(host_context *context, cudaGraphicsResource_t handle, unsigned layer, unsigned level,
                 cudaArray_t *out) {
  host_graphics *graphics;
  mw_cuda_array *array;
  int code = find(handle, &graphics);
  if (code == MW_SUCCESS) code = mw_graphics_array(graphics->resource, layer, level, &array);
  if (code != MW_SUCCESS) return code;
  for (size_t i = 0; i < graphics->count; i++) {
    if (graphics->arrays[i].layer != layer || graphics->arrays[i].level != level) continue;
    mw_cuda_array_release(array);
    *out = graphics->arrays[i].handle;
    return MW_SUCCESS;
  }
  *out = host_handle_new(HOST_ARRAY, context->id, array);
  host_handle_set_note(HOST_ARRAY, *out, array_flags(graphics) | HOST_ARRAY_LENT);
  graphics->arrays = realloc(graphics->arrays, (graphics->count + 1) * sizeof *graphics->arrays);
  if (!graphics->arrays) abort();
  graphics->arrays[graphics->count++] = (shown_array){layer, level, *out};
  return MW_SUCCESS;
}

static int mipmap(host_context *context, cudaGraphicsResource_t handle, cudaMipmappedArray_t *out) {
  host_graphics *graphics;
  mw_cuda_array *array;
  if (!out) return host_fail(MW_INVALID_VALUE, "the pointer that receives the mipmapped array is NULL");
  int code = find(handle, &graphics);
  if (code == MW_SUCCESS) code = mw_graphics_mipmap(graphics->resource, &array);
  if (code != MW_SUCCESS) return code;
  if (graphics->mipmap)
    mw_cuda_array_release(array);
  else
    graphics->mipmap = host_mipmap_lend(context, array, array_flags(graphics));
  *out = graphics->mipmap;
  return MW_SUCCESS;
}

/* The number of devices that draw for the current OpenGL context, and the first `size` of them. */
static int devices(unsigned *count, int *out, unsigned size, unsigned list) {
  char name[32];
  int code;
  unsigned found = 0;
  if (!count || (size && !out)) return host_fail(MW_INVALID_VALUE, "the pointer that receives the devices is NULL");
  for (; (code = mw_graphics_device(list, found, name)) == MW_SUCCESS; found++)
    if (found < size) out[found] = host_device_find(name);
  if (code != MW_INVALID_DEVICE) return code;
  *count = found;
  return MW_SUCCESS;
}

/* ---- buffers by their names ---- */

/* missing: the code if the name is not registered. */
static int find_name(unsigned name, int missing, host_graphics **out) {
  *out = host_handle_find_key(HOST_BUFFER_NAME, name);
  return *out ? MW_SUCCESS : host_fail(missing, "buffer %u was not registered: see cudaGLRegisterBufferObject", name);
}

static int register_name(host_context *context, unsigned name, int already) {
  host_graphics *graphics;
  if (host_handle_find_key(HOST_BUFFER_NAME, name)) return host_fail(already, "buffer %u is registered already", name);
  int code = new_resource(context, name, 0, 0, &graphics);
  if (code == MW_SUCCESS) host_handle_enter(HOST_BUFFER_NAME, context->id, name, graphics);
  return code;
}

static int unregister_name(unsigned name, int missing) {
  host_graphics *graphics;
  int code = find_name(name, missing, &graphics);
  if (code == MW_SUCCESS) host_graphics_release(host_handle_take_key(HOST_BUFFER_NAME, name));
  return code;
}

static int set_flags_of_name(unsigned name, unsigned flags) {
  host_graphics *graphics;
  int code = find_name(name, MW_INVALID_RESOURCE_HANDLE, &graphics);
  return code ? code : mw_graphics_set_flags(graphics->resource, flags);
}

/* The same failure with its message under another code. */
static int as_code(int other) {
  const mw_error *error = mw_error_last();
  return host_fail(other, "%s", error ? error->message : mw_result_text(other));
}

/* The functions for buffers by name have fewer codes: one for an unknown name, one for everything else except kernels'
   failures. */
static int recode(int code, int missing, int failed) {
  if (code == MW_SUCCESS || (code >= MW_ILLEGAL_ADDRESS && code < MW_NOT_SUPPORTED)) return code;
  return as_code(code == MW_INVALID_RESOURCE_HANDLE ? missing : failed);
}

static int map_name(host_context *context, unsigned name, int missing, cudaStream_t stream, uint64_t *address,
                    size_t *bytes) {
  host_graphics *graphics;
  int code = find_name(name, missing, &graphics);
  if (code != MW_SUCCESS) return code;
  code = map_all(context, &graphics, 1, stream, true);
  if (code == MW_SUCCESS) code = mw_graphics_pointer(graphics->resource, address, bytes);
  return recode(code, missing, MW_MAP_FAILED);
}

static int unmap_name(host_context *context, unsigned name, int missing, cudaStream_t stream) {
  host_graphics *graphics;
  int code = find_name(name, missing, &graphics);
  return code ? code : recode(map_all(context, &graphics, 1, stream, false), missing, MW_UNMAP_FAILED);
}

/* ---- the runtime API, which has no codes for the states of a mapping ---- */

static int without_map_codes(int code) {
  bool is_specific = code == MW_ALREADY_MAPPED || code == MW_NOT_MAPPED || code == MW_NOT_MAPPED_AS_ARRAY ||
                     code == MW_NOT_MAPPED_AS_POINTER;
  return is_specific ? as_code(MW_UNKNOWN) : code;
}

cudaError_t cudaGraphicsGLRegisterBuffer(cudaGraphicsResource_t *resource, unsigned buffer, unsigned flags) {
  HOST_RUNTIME(enter(context, resource, buffer, 0, flags));
}
cudaError_t cudaGraphicsGLRegisterImage(cudaGraphicsResource_t *resource, unsigned image, unsigned target,
                                        unsigned flags) {
  HOST_RUNTIME(enter_image(context, resource, image, target, flags));
}
cudaError_t cudaGraphicsUnregisterResource(cudaGraphicsResource_t resource) { return host_end(unregister(resource)); }
cudaError_t cudaGraphicsResourceSetMapFlags(cudaGraphicsResource_t resource, unsigned flags) {
  return host_end(without_map_codes(set_flags(resource, flags)));
}
cudaError_t cudaGraphicsMapResources(int count, cudaGraphicsResource_t *resources, cudaStream_t stream) {
  HOST_RUNTIME(without_map_codes(map(context, count, resources, stream, true)));
}
cudaError_t cudaGraphicsUnmapResources(int count, cudaGraphicsResource_t *resources, cudaStream_t stream) {
  HOST_RUNTIME(without_map_codes(map(context, count, resources, stream, false)));
}
cudaError_t cudaGraphicsResourceGetMappedPointer(void **address, size_t *size, cudaGraphicsResource_t resource) {
  uint64_t at = 0;
  size_t bytes = 0;
  int code = pointer(resource, &at, &bytes);
  if (code == MW_SUCCESS && address) *address = host_pointer(at);
  if (code == MW_SUCCESS && size) *size = bytes;
  return host_end(without_map_codes(code));
}
cudaError_t cudaGraphicsSubResourceGetMappedArray(cudaArray_t *out, cudaGraphicsResource_t resource, unsigned layer,
                                                  unsigned level) {
  HOST_RUNTIME(out ? without_map_codes(array(context, resource, layer, level, out))
                   : host_fail(MW_INVALID_VALUE, "the pointer that receives the array is NULL"));
}

cudaError_t cudaGraphicsResourceGetMappedMipmappedArray(cudaMipmappedArray_t *out, cudaGraphicsResource_t resource) {
  HOST_RUNTIME(without_map_codes(mipmap(context, resource, out)));
}

cudaError_t cudaGLGetDevices(unsigned *count, int *list_of, unsigned size, enum cudaGLDeviceList list) {
  return host_end(devices(count, list_of, size, list));
}
/* CUDA no longer needs it: every device can share with OpenGL. */
cudaError_t cudaGLSetGLDevice(int device) { return cudaSetDevice(device); }
cudaError_t cudaGLRegisterBufferObject(unsigned buffer) { HOST_RUNTIME(register_name(context, buffer, MW_UNKNOWN)); }
cudaError_t cudaGLUnregisterBufferObject(unsigned buffer) {
  return host_end(unregister_name(buffer, MW_INVALID_RESOURCE_HANDLE));
}
cudaError_t cudaGLSetBufferObjectMapFlags(unsigned buffer, unsigned flags) {
  return host_end(without_map_codes(set_flags_of_name(buffer, flags)));
}
cudaError_t cudaGLMapBufferObjectAsync(void **address, unsigned buffer, cudaStream_t stream) {
  uint64_t at = 0;
  size_t bytes;
  host_context *context;
  int code = host_context_current(&context);
  if (code == MW_SUCCESS) code = map_name(context, buffer, MW_MAP_FAILED, stream, &at, &bytes);
  if (code == MW_SUCCESS) *address = host_pointer(at);
  return host_end(code);
}
cudaError_t cudaGLMapBufferObject(void **address, unsigned buffer) {
  return cudaGLMapBufferObjectAsync(address, buffer, NULL);
}
cudaError_t cudaGLUnmapBufferObjectAsync(unsigned buffer, cudaStream_t stream) {
  HOST_RUNTIME(unmap_name(context, buffer, MW_UNMAP_FAILED, stream));
}
cudaError_t cudaGLUnmapBufferObject(unsigned buffer) { return cudaGLUnmapBufferObjectAsync(buffer, NULL); }

/* ---- the driver API ---- */

CUresult cuGraphicsGLRegisterBuffer(CUgraphicsResource *resource, unsigned buffer, unsigned flags) {
  HOST_DRIVER(enter(context, resource, buffer, 0, flags));
}
CUresult cuGraphicsGLRegisterImage(CUgraphicsResource *resource, unsigned image, unsigned target, unsigned flags) {
  HOST_DRIVER(enter_image(context, resource, image, target, flags));
}
CUresult cuGraphicsUnregisterResource(CUgraphicsResource resource) { HOST_DRIVER(unregister(resource)); }
CUresult cuGraphicsResourceSetMapFlags(CUgraphicsResource resource, unsigned flags) {
  HOST_DRIVER(set_flags(resource, flags));
}
CUresult cuGraphicsMapResources(unsigned count, CUgraphicsResource *resources, CUstream stream) {
  HOST_DRIVER(map(context, (int)count, resources, stream, true));
}
CUresult cuGraphicsUnmapResources(unsigned count, CUgraphicsResource *resources, CUstream stream) {
  HOST_DRIVER(map(context, (int)count, resources, stream, false));
}
CUresult cuGraphicsResourceGetMappedPointer(CUdeviceptr *address, size_t *size, CUgraphicsResource resource) {
  uint64_t at = 0;
  size_t bytes = 0;
  host_context *context;
  int code = host_context_driver(&context);
  if (code == MW_SUCCESS) code = pointer(resource, &at, &bytes);
  if (code == MW_SUCCESS && address) *address = at;
  if (code == MW_SUCCESS && size) *size = bytes;
  return host_end_driver(code);
}
CUresult cuGraphicsSubResourceGetMappedArray(CUarray *out, CUgraphicsResource resource, unsigned layer,
                                             unsigned level) {
  HOST_DRIVER(out ? array(context, resource, layer, level, out)
                  : host_fail(MW_INVALID_VALUE, "the pointer that receives the array is NULL"));
}

CUresult cuGraphicsResourceGetMappedMipmappedArray(CUmipmappedArray *out, CUgraphicsResource resource) {
  HOST_DRIVER(mipmap(context, resource, out));
}

CUresult cuGLGetDevices(unsigned *count, CUdevice *list_of, unsigned size, CUGLDeviceList list) {
  HOST_DRIVER(devices(count, list_of, size, list));
}
CUresult cuGLInit(void) { HOST_DRIVER(MW_SUCCESS); }
CUresult cuGLCtxCreate(CUcontext *context, unsigned flags, CUdevice device) {
  return cuCtxCreate(context, flags, device);
}
CUresult cuGLRegisterBufferObject(unsigned buffer) { HOST_DRIVER(register_name(context, buffer, MW_ALREADY_MAPPED)); }
CUresult cuGLUnregisterBufferObject(unsigned buffer) { HOST_DRIVER(unregister_name(buffer, MW_INVALID_VALUE)); }
CUresult cuGLSetBufferObjectMapFlags(unsigned buffer, unsigned flags) { HOST_DRIVER(set_flags_of_name(buffer, flags)); }
CUresult cuGLMapBufferObjectAsync(CUdeviceptr *address, size_t *size, unsigned buffer, CUstream stream) {
  uint64_t at = 0;
  size_t bytes = 0;
  host_context *context;
  int code = host_context_driver(&context);
  if (code == MW_SUCCESS) code = map_name(context, buffer, MW_INVALID_VALUE, stream, &at, &bytes);
  if (code == MW_SUCCESS && address) *address = at;
  if (code == MW_SUCCESS && size) *size = bytes;
  return host_end_driver(code);
}
CUresult cuGLMapBufferObject(CUdeviceptr *address, size_t *size, unsigned buffer) {
  return cuGLMapBufferObjectAsync(address, size, buffer, NULL);
}
CUresult cuGLUnmapBufferObjectAsync(unsigned buffer, CUstream stream) {
  HOST_DRIVER(unmap_name(context, buffer, MW_INVALID_VALUE, stream));
}
CUresult cuGLUnmapBufferObject(unsigned buffer) { return cuGLUnmapBufferObjectAsync(buffer, NULL); }
