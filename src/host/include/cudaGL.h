/* OpenGL under the driver API's names: see cuda_gl_interop.h. */
#ifndef MOONWARP_CUDAGL_H
#define MOONWARP_CUDAGL_H

#include "cuda.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

CUresult cuGraphicsGLRegisterBuffer(CUgraphicsResource *resource, unsigned buffer, unsigned flags);
CUresult cuGraphicsGLRegisterImage(CUgraphicsResource *resource, unsigned image, unsigned target, unsigned flags);

typedef enum CUGLDeviceList {
  CU_GL_DEVICE_LIST_ALL = 1,
  CU_GL_DEVICE_LIST_CURRENT_FRAME = 2,
  CU_GL_DEVICE_LIST_NEXT_FRAME = 3
} CUGLDeviceList;
CUresult cuGLGetDevices(unsigned *count, CUdevice *devices, unsigned size, CUGLDeviceList list);

/* ---- of the 1.1 guide: buffers by their OpenGL names ---- */
typedef enum CUGLmap_flags {
  CU_GL_MAP_RESOURCE_FLAGS_NONE = 0,
  CU_GL_MAP_RESOURCE_FLAGS_READ_ONLY = 1,
  CU_GL_MAP_RESOURCE_FLAGS_WRITE_DISCARD = 2
} CUGLmap_flags;

CUresult cuGLInit(void);
CUresult cuGLCtxCreate(CUcontext *context, unsigned flags, CUdevice device);
CUresult cuGLRegisterBufferObject(unsigned buffer);
CUresult cuGLMapBufferObject(CUdeviceptr *address, size_t *size, unsigned buffer);
CUresult cuGLUnmapBufferObject(unsigned buffer);
CUresult cuGLUnregisterBufferObject(unsigned buffer);
CUresult cuGLSetBufferObjectMapFlags(unsigned buffer, unsigned flags);
CUresult cuGLMapBufferObjectAsync(CUdeviceptr *address, size_t *size, unsigned buffer, CUstream stream);
CUresult cuGLUnmapBufferObjectAsync(unsigned buffer, CUstream stream);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
