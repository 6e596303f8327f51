/* OpenGL under the runtime API's names. An OpenGL context must be current in the calling thread. Buffers, textures
 * and targets are OpenGL's GLuint and GLenum, which are unsigned, so its headers are not needed here. Functions of
 * registered resources are in cuda_runtime_api.h. */
#ifndef MOONWARP_CUDA_GL_INTEROP_H
#define MOONWARP_CUDA_GL_INTEROP_H

#include "cuda_runtime_api.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

cudaError_t cudaGraphicsGLRegisterBuffer(cudaGraphicsResource_t *resource, unsigned buffer, unsigned flags);
cudaError_t cudaGraphicsGLRegisterImage(cudaGraphicsResource_t *resource, unsigned image, unsigned target,
                                        unsigned flags);

enum cudaGLDeviceList { cudaGLDeviceListAll = 1, cudaGLDeviceListCurrentFrame = 2, cudaGLDeviceListNextFrame = 3 };
cudaError_t cudaGLGetDevices(unsigned *count, int *devices, unsigned size, enum cudaGLDeviceList list);

/* ---- of the 1.1 guide: buffers by their OpenGL names ---- */
enum cudaGLMapFlags { cudaGLMapFlagsNone = 0, cudaGLMapFlagsReadOnly = 1, cudaGLMapFlagsWriteDiscard = 2 };

cudaError_t cudaGLSetGLDevice(int device);
cudaError_t cudaGLRegisterBufferObject(unsigned buffer);
cudaError_t cudaGLMapBufferObject(void **address, unsigned buffer);
cudaError_t cudaGLUnmapBufferObject(unsigned buffer);
cudaError_t cudaGLUnregisterBufferObject(unsigned buffer);
cudaError_t cudaGLSetBufferObjectMapFlags(unsigned buffer, unsigned flags);
cudaError_t cudaGLMapBufferObjectAsync(void **address, unsigned buffer, cudaStream_t stream);
cudaError_t cudaGLUnmapBufferObjectAsync(unsigned buffer, cudaStream_t stream);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
