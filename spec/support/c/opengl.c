/* OpenGL under CUDA's names, both APIs: buffers and images of Mesa's software renderer, where it is installed. Prints "0
 * checks, 0 failed" and why where it is not. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include "../native/gl_context.h"

#include <cudaGL.h>
#include <cuda_gl_interop.h>

#include <stdint.h>

enum { ARRAY_BUFFER = 0x8892, TEXTURE_2D = 0x0de1, RGBA = 0x1908, UNSIGNED_BYTE = 0x1401, RGBA8 = 0x8058 };

#define GL(result, name, params) static result(*gl##name) params;
#define FUNCTIONS(X)                                                                                                   \
  X(void, GenBuffers, (int, unsigned *))                                                                               \
  X(void, BindBuffer, (unsigned, unsigned))                                                                            \
  X(void, BufferData, (unsigned, intptr_t, const void *, unsigned))                                                    \
  X(void, GetBufferSubData, (unsigned, intptr_t, intptr_t, void *))                                                    \
  X(void, GenTextures, (int, unsigned *))                                                                              \
  X(void, BindTexture, (unsigned, unsigned))                                                                           \
  X(void, TexImage2D, (unsigned, int, int, int, int, int, unsigned, unsigned, const void *))                           \
  X(void, GetTexImage, (unsigned, int, unsigned, unsigned, void *))
FUNCTIONS(GL)

static void find_functions(void) {
  void *address;
#define FIND(result, name, params)                                                                                     \
  address = gl_context_function("gl" #name);                                                                           \
  memcpy(&gl##name, &address, sizeof address);
  FUNCTIONS(FIND)
}

static unsigned new_buffer(const int *values, size_t bytes) {
  unsigned buffer;
  glGenBuffers(1, &buffer);
  glBindBuffer(ARRAY_BUFFER, buffer);
  glBufferData(ARRAY_BUFFER, (intptr_t)bytes, values, 0x88e4);
  return buffer;
}

static int value_of(unsigned buffer, int i) {
  int value = 0;
  glBindBuffer(ARRAY_BUFFER, buffer);
  glGetBufferSubData(ARRAY_BUFFER, 4 * i, 4, &value);
  return value;
}

static unsigned new_image(const char *texels) {
  unsigned image;
  glGenTextures(1, &image);
  glBindTexture(TEXTURE_2D, image);
  glTexImage2D(TEXTURE_2D, 0, RGBA8, 2, 1, 0, RGBA, UNSIGNED_BYTE, texels);
  return image;
}

static int is_image(unsigned image, const char *texels) {
  char got[8];
  glBindTexture(TEXTURE_2D, image);
  glGetTexImage(TEXTURE_2D, 0, RGBA, UNSIGNED_BYTE, got);
  return memcmp(got, texels, sizeof got) == 0;
}

static const int numbers[] = {1, 2, 3, 4};

static void test_runtime(void) {
  unsigned buffer = new_buffer(numbers, sizeof numbers), image = new_image("abcdefgh");
  cudaGraphicsResource_t list[2];
  int *p = NULL, more[] = {9, 8};
  size_t size = 0;
  cudaArray_t array, again;
  struct cudaExtent extent;
  unsigned flags = 0;
  OK(cudaGLSetGLDevice(0));
  CODE(cudaErrorInvalidResourceHandle, cudaGraphicsGLRegisterBuffer(&list[0], 4711, 0));
  EXPECT(strstr(mwCudaErrorMessage(), "4711"));
  CODE(cudaErrorInvalidValue, cudaGraphicsGLRegisterImage(&list[0], image, 0, 0));
  OK(cudaGraphicsGLRegisterBuffer(&list[0], buffer, cudaGraphicsRegisterFlagsNone));
  OK(cudaGraphicsGLRegisterImage(&list[1], image, TEXTURE_2D, cudaGraphicsRegisterFlagsSurfaceLoadStore));
  CODE(cudaErrorUnknown, cudaGraphicsResourceGetMappedPointer((void **)&p, &size, list[0]));
  EXPECT(strstr(mwCudaErrorMessage(), "not mapped"));
  OK(cudaGraphicsMapResources(2, list, 0));
  CODE(cudaErrorUnknown, cudaGraphicsMapResources(2, list, 0));
  CODE(cudaErrorUnknown, cudaGraphicsResourceSetMapFlags(list[0], cudaGraphicsMapFlagsReadOnly));
  CODE(cudaErrorUnknown, cudaGraphicsResourceGetMappedPointer((void **)&p, &size, list[1]));
  OK(cudaGraphicsResourceGetMappedPointer((void **)&p, &size, list[0]));
  EXPECT(size == sizeof numbers);
  OK(cudaMemcpy(p + 1, more, sizeof more, cudaMemcpyHostToDevice));
  CODE(cudaErrorInvalidValue, cudaFree(p));
  OK(cudaGraphicsSubResourceGetMappedArray(&array, list[1], 0, 0));
  OK(cudaGraphicsSubResourceGetMappedArray(&again, list[1], 0, 0));
  EXPECT(array == again);
  OK(cudaArrayGetInfo(NULL, &extent, &flags, array));
  EXPECT(extent.width == 2 && extent.height == 1 && flags == cudaArraySurfaceLoadStore);
  CODE(cudaErrorInvalidValue, cudaFreeArray(array));
  cudaMipmappedArray_t mipmap, same;
  OK(cudaGraphicsResourceGetMappedMipmappedArray(&mipmap, list[1]));
  OK(cudaGraphicsResourceGetMappedMipmappedArray(&same, list[1]));
  EXPECT(mipmap == same);
  CODE(cudaErrorUnknown, cudaGraphicsResourceGetMappedMipmappedArray(&same, list[0]));
  CODE(cudaErrorInvalidValue, cudaGraphicsResourceGetMappedMipmappedArray(NULL, list[1]));
  CODE(cudaErrorInvalidValue, cudaFreeMipmappedArray(mipmap));
  OK(cudaGetMipmappedArrayLevel(&again, mipmap, 0));
  CODE(cudaErrorInvalidValue, cudaFreeArray(again));
  OK(cudaMemcpy2DToArray(again, 0, 0, "ABCD", 4, 4, 1, cudaMemcpyHostToDevice)); /* the same texels */
  OK(cudaMemcpy2DToArray(array, 4, 0, "wxyz", 4, 4, 1, cudaMemcpyHostToDevice));
  OK(cudaGraphicsUnmapResources(2, list, 0));
  CODE(cudaErrorUnknown, cudaGraphicsUnmapResources(2, list, 0));
  CODE(cudaErrorInvalidValue, cudaMemcpy2DToArray(array, 4, 0, "wxyz", 4, 4, 1, cudaMemcpyHostToDevice));
  EXPECT(value_of(buffer, 0) == 1 && value_of(buffer, 1) == 9 && value_of(buffer, 2) == 8 && value_of(buffer, 3) == 4);
  EXPECT(is_image(image, "ABCDwxyz"));
  CODE(cudaErrorInvalidValue, cudaGetMipmappedArrayLevel(&again, mipmap, 0));
  OK(cudaGraphicsResourceSetMapFlags(list[0], cudaGraphicsMapFlagsReadOnly));
  OK(cudaGraphicsUnregisterResource(list[0]));
  CODE(cudaErrorInvalidResourceHandle, cudaGraphicsUnregisterResource(list[0]));
  CODE(cudaErrorInvalidResourceHandle, cudaGraphicsMapResources(1, list, 0));
  OK(cudaGraphicsMapResources(1, &list[1], 0));
  OK(cudaGraphicsSubResourceGetMappedArray(&array, list[1], 0, 0));
  OK(cudaGraphicsUnregisterResource(list[1])); /* its array goes with it */
  CODE(cudaErrorInvalidValue, cudaGetChannelDesc(&(struct cudaChannelFormatDesc){0}, array));
}

static void test_devices(void) {
  unsigned count = 0;
  int devices[64], known = 0;
  OK(cudaGetDeviceCount(&known));
  OK(cudaGLGetDevices(&count, devices, 64, cudaGLDeviceListAll));
  EXPECT(count == (unsigned)known && devices[0] == 0 && devices[count - 1] == known - 1);
  OK(cudaGLGetDevices(&count, NULL, 0, cudaGLDeviceListNextFrame));
  EXPECT(count == (unsigned)known);
  CODE(cudaErrorInvalidValue, cudaGLGetDevices(&count, devices, 64, (enum cudaGLDeviceList)7));
}

static void test_runtime_names(void) {
  unsigned buffer = new_buffer(numbers, sizeof numbers);
  cudaStream_t stream;
  void *p = NULL;
  OK(cudaStreamCreate(&stream));
  CODE(cudaErrorMapBufferObjectFailed, cudaGLMapBufferObject(&p, buffer));
  EXPECT(strstr(mwCudaErrorMessage(), "cudaGLRegisterBufferObject"));
  CODE(cudaErrorUnmapBufferObjectFailed, cudaGLUnmapBufferObject(buffer));
  CODE(cudaErrorInvalidResourceHandle, cudaGLUnregisterBufferObject(buffer));
  OK(cudaGLRegisterBufferObject(buffer));
  CODE(cudaErrorUnknown, cudaGLRegisterBufferObject(buffer));
  CODE(cudaErrorUnmapBufferObjectFailed, cudaGLUnmapBufferObject(buffer));
  EXPECT(strstr(mwCudaErrorMessage(), "not mapped"));
  OK(cudaGLMapBufferObject(&p, buffer));
  OK(cudaMemset(p, 0, 8));
  CODE(cudaErrorMapBufferObjectFailed, cudaGLMapBufferObject(&p, buffer));
  OK(cudaGLUnmapBufferObject(buffer));
  EXPECT(value_of(buffer, 1) == 0 && value_of(buffer, 2) == 3);
  OK(cudaGLSetBufferObjectMapFlags(buffer, cudaGLMapFlagsReadOnly));
  OK(cudaGLMapBufferObjectAsync(&p, buffer, stream));
  OK(cudaMemsetAsync(p, 7, 16, stream));
  OK(cudaGLUnmapBufferObjectAsync(buffer, stream));
  EXPECT(value_of(buffer, 2) == 3);
  OK(cudaGLUnregisterBufferObject(buffer));
  OK(cudaStreamDestroy(stream));
}

static void test_driver(void) {
  unsigned buffer = new_buffer(numbers, sizeof numbers), image = new_image("abcdefgh");
  CUcontext context;
  CUgraphicsResource list[2];
  CUdeviceptr p = 0;
  CUarray array;
  size_t size = 0;
  CODE(CUDA_ERROR_INVALID_VALUE, cuGLCtxCreate(&context, 77, 0));
  OK(cuGLCtxCreate(&context, 0, 0));
  OK(cuGLInit());
  OK(cuGraphicsGLRegisterBuffer(&list[0], buffer, CU_GRAPHICS_REGISTER_FLAGS_NONE));
  OK(cuGraphicsGLRegisterImage(&list[1], image, TEXTURE_2D, CU_GRAPHICS_REGISTER_FLAGS_NONE));
  OK(cuGraphicsResourceSetMapFlags(list[1], CU_GRAPHICS_MAP_RESOURCE_FLAGS_READ_ONLY));
  CODE(CUDA_ERROR_NOT_MAPPED, cuGraphicsUnmapResources(2, list, NULL));
  OK(cuGraphicsMapResources(2, list, NULL));
  CODE(CUDA_ERROR_ALREADY_MAPPED, cuGraphicsMapResources(2, list, NULL));
  CODE(CUDA_ERROR_NOT_MAPPED_AS_POINTER, cuGraphicsResourceGetMappedPointer(&p, &size, list[1]));
  CODE(CUDA_ERROR_NOT_MAPPED_AS_ARRAY, cuGraphicsSubResourceGetMappedArray(&array, list[0], 0, 0));
  OK(cuGraphicsResourceGetMappedPointer(&p, &size, list[0]));
  CUmipmappedArray mipmap;
  CODE(CUDA_ERROR_NOT_MAPPED_AS_ARRAY, cuGraphicsResourceGetMappedMipmappedArray(&mipmap, list[0]));
  OK(cuGraphicsResourceGetMappedMipmappedArray(&mipmap, list[1]));
  OK(cuMipmappedArrayGetLevel(&array, mipmap, 0));
  CODE(CUDA_ERROR_INVALID_VALUE, cuMipmappedArrayDestroy(mipmap));
  unsigned count = 0;
  CUdevice devices[2] = {-1, -1};
  OK(cuGLGetDevices(&count, devices, 1, CU_GL_DEVICE_LIST_ALL));
  EXPECT(count >= 1 && devices[0] == 0 && devices[1] == -1);
  CODE(CUDA_ERROR_INVALID_VALUE, cuGLGetDevices(&count, NULL, 1, CU_GL_DEVICE_LIST_ALL));
  OK(cuMemsetD32(p, 5, size / 4));
  OK(cuGraphicsSubResourceGetMappedArray(&array, list[1], 0, 0));
  CODE(CUDA_ERROR_INVALID_VALUE, cuArrayDestroy(array));
  OK(cuGraphicsUnmapResources(2, list, NULL));
  EXPECT(value_of(buffer, 3) == 5 && is_image(image, "abcdefgh"));
  OK(cuGraphicsUnregisterResource(list[0]));

  CODE(CUDA_ERROR_INVALID_VALUE, cuGLMapBufferObject(&p, &size, buffer));
  OK(cuGLRegisterBufferObject(buffer));
  CODE(CUDA_ERROR_ALREADY_MAPPED, cuGLRegisterBufferObject(buffer));
  CODE(CUDA_ERROR_UNMAP_FAILED, cuGLUnmapBufferObject(buffer));
  OK(cuGLMapBufferObject(&p, &size, buffer));
  EXPECT(size == sizeof numbers);
  OK(cuMemsetD32(p, 6, 1));
  CODE(CUDA_ERROR_MAP_FAILED, cuGLMapBufferObjectAsync(&p, &size, buffer, NULL));
  CODE(CUDA_ERROR_ALREADY_MAPPED, cuGLSetBufferObjectMapFlags(buffer, 0));
  OK(cuGLUnmapBufferObjectAsync(buffer, NULL));
  EXPECT(value_of(buffer, 0) == 6 && value_of(buffer, 1) == 5);
  OK(cuGLMapBufferObjectAsync(&p, &size, buffer, NULL));
  OK(cuGLUnregisterBufferObject(buffer));
  CODE(CUDA_ERROR_INVALID_VALUE, cuGLUnregisterBufferObject(buffer));
  OK(cuGraphicsMapResources(1, &list[1], NULL));
  OK(cuGraphicsSubResourceGetMappedArray(&array, list[1], 0, 0));
  OK(cuCtxDestroy(context)); /* and with it the resource, mapped as it is */
  OK(cuCtxCreate(&context, 0, 0));
  CODE(CUDA_ERROR_INVALID_HANDLE, cuGraphicsUnmapResources(1, &list[1], NULL));
  OK(cuCtxDestroy(context));
}

static void test_without(void) {
  cudaGraphicsResource_t resource;
  unsigned count = 0;
  int device = -1;
  CODE(cudaErrorInvalidGraphicsContext, cudaGraphicsGLRegisterBuffer(&resource, 1, 0));
  CODE(cudaErrorInvalidGraphicsContext, cudaGLGetDevices(&count, &device, 1, cudaGLDeviceListAll));
  EXPECT(strstr(mwCudaErrorMessage(), "no current OpenGL context"));
  CODE(cudaErrorInvalidGraphicsContext, cudaGLRegisterBufferObject(1));
  CODE(CUDA_ERROR_INVALID_GRAPHICS_CONTEXT, cuGLRegisterBufferObject(1));
}

int main(void) {
  OK(cuInit(0));
  CODE(CUDA_ERROR_INVALID_CONTEXT, cuGLInit());
  OK(cudaDeviceSynchronize()); /* the device's own context is current from here on */
  test_without();
  const char *why = gl_context_open("gl");
  if (why) {
    printf("no OpenGL: %s\n", why);
    return finish();
  }
  find_functions();
  test_runtime();
  test_runtime_names();
  test_devices();
  test_driver();
  gl_context_current(0);
  test_without();
  return finish();
}
