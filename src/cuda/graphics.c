/* OpenGL interoperability: buffers and images shared by the driver, without a copy, if the GL context belongs to that
 * driver. */
#include "cuda/cuda.h"

#include <stdlib.h>

typedef struct resource {
  cuda_device *device;
  CUgraphicsResource handle;
  uint64_t lent; /* its address while it is mapped, as recorded in the heap; or 0 */
} resource;

enum { OPERATING_SYSTEM = 304, GRAPHICS_CONTEXT = 219, NOT_SUPPORTED = 801, UNKNOWN = 999 };

/* The GL context belongs to another vendor's driver, or this driver cannot share: the codes for that differ between
   releases. */
static bool is_strange(CUresult result) {
  return result == GRAPHICS_CONTEXT || result == OPERATING_SYSTEM || result == NOT_SUPPORTED || result == UNKNOWN;
}

static int make(void *handle, unsigned name, unsigned target, unsigned flags, void **out) {
  cuda_device *device = handle;
  int code = cuda_enter(device);
  if (code != MW_SUCCESS) return code;
  CUgraphicsResource registered;
  CUresult result = !cu.cuGraphicsGLRegisterBuffer ? NOT_SUPPORTED
                    : target                       ? cu.cuGraphicsGLRegisterImage(&registered, name, target, flags)
                                                   : cu.cuGraphicsGLRegisterBuffer(&registered, name, flags);
  if (is_strange(result))
    return fail(MW_INVALID_GRAPHICS_CONTEXT, "the NVIDIA driver does not share with this OpenGL context");
  if (result != 0) return cuda_outcome(device, result, "registering a resource of OpenGL");
  resource *new = mw_alloc(sizeof *new);
  *new = (resource){device, registered, 0};
  *out = new;
  return MW_SUCCESS;
}

static void take_back(resource *r) {
  if (r->lent) cuda_heap_remove(r->device, r->lent);
  r->lent = 0;
}

static void end(void *device, void *handle) {
  resource *old = handle;
  take_back(old);
  if (cuda_enter_quietly(device)) cu.cuGraphicsUnregisterResource(old->handle);
  free(old);
}

static int set_flags(void *handle, unsigned flags) {
  resource *r = handle;
  int code = cuda_enter(r->device);
  return code ? code
              : cuda_outcome(r->device, cu.cuGraphicsResourceSetMapFlags(r->handle, flags),
                             "setting the access of a mapped OpenGL resource");
}

static int map(void *handle, void *object) {
  cuda_stream *stream = handle;
  resource *r = object;
  int code = cuda_stream_enter(stream);
  if (code == MW_SUCCESS) code = cuda_stream_held(stream);
  return code ? code
              : cuda_outcome(r->device, cu.cuGraphicsMapResources(1, &r->handle, stream->handle),
                             "mapping a resource of OpenGL");
}

static int unmap(void *handle, void *object) {
  cuda_stream *stream = handle;
  resource *r = object;
  int code = cuda_stream_enter(stream);
  take_back(r);
  return code ? code
              : cuda_outcome(r->device, cu.cuGraphicsUnmapResources(1, &r->handle, stream->handle),
                             "unmapping a resource of OpenGL");
}

static int pointer(void *handle, uint64_t *address, size_t *bytes) {
  resource *r = handle;
  int code = cuda_enter(r->device);
  if (code == MW_SUCCESS)
    code = cuda_outcome(r->device, cu.cuGraphicsResourceGetMappedPointer(address, bytes, r->handle),
                        "reading the address of a mapped OpenGL buffer");
  if (code != MW_SUCCESS) return code;
  cuda_heap_lend(r->device, *address, *bytes);
  r->lent = *address;
  return MW_SUCCESS;
}

static int array(void *handle, unsigned layer, unsigned level, const mw_cuda_array_desc *desc, uint64_t *out) {
  resource *r = handle;
  CUarray found;
  int code = cuda_enter(r->device);
  if (code == MW_SUCCESS)
    code = cuda_outcome(r->device, cu.cuGraphicsSubResourceGetMappedArray(&found, r->handle, layer, level),
                        "reading the array of an OpenGL image");
  if (code == MW_SUCCESS) *out = cuda_array_lent(found, desc);
  return code;
}

static int mipmap(void *handle, const mw_cuda_array_desc *desc, uint64_t *out) {
  resource *r = handle;
  CUmipmappedArray found;
  int code = cuda_enter(r->device);
  if (code == MW_SUCCESS)
    code = cuda_outcome(r->device, cu.cuGraphicsResourceGetMappedMipmappedArray(&found, r->handle),
                        "reading the mipmapped array of an OpenGL image");
  if (code == MW_SUCCESS) *out = cuda_mipmap_lent(found, desc);
  return code;
}

/* False for another vendor's GL context, which is not a failure. */
static bool draws(int ordinal, unsigned list) {
  CUdevice devices[64], wanted;
  unsigned count = 0;
  if (!cu.cuGraphicsGLRegisterBuffer || cu.cuDeviceGet(&wanted, ordinal) != 0) return false;
  if (cu.cuGLGetDevices(&count, devices, MW_COUNT(devices), list) != 0) return false;
  for (unsigned i = 0; i < count && i < MW_COUNT(devices); i++)
    if (devices[i] == wanted) return true;
  return false;
}

const mw_driver_graphics cuda_graphics = {
    .make = make,
    .end = end,
    .set_flags = set_flags,
    .map = map,
    .unmap = unmap,
    .pointer = pointer,
    .array = array,
    .mipmap = mipmap,
    .array_end = cuda_array_lent_end,
    .draws = draws,
};
