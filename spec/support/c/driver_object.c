/* Texture and surface objects under the driver API's names. */
#include "check.h"

static const char source[] =
    "extern \"C\" __global__ void look(cudaTextureObject_t t, float *out, float x, float y) {\n"
    "  *out = tex2D<float>(t, x, y); }\n"
    "extern \"C\" __global__ void number(cudaTextureObject_t t, float *out, float x, float y) {\n"
    "  *out = tex2D<unsigned char>(t, x, y); }\n"
    "extern \"C\" __global__ void fetch(cudaTextureObject_t t, float *out, float x, float) {\n"
    "  *out = tex1Dfetch<float>(t, (int)x); }\n"
    "extern \"C\" __global__ void write(cudaSurfaceObject_t s) {\n"
    "  surf2Dwrite(100.0f + threadIdx.x, s, threadIdx.x * 4, 0); }\n";

enum { W = 4, H = 2 };

static CUmodule module;
static CUdeviceptr result;
static const CUDA_TEXTURE_DESC plain = {
    .addressMode = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP}};

static float value_of(const char *name, CUtexObject object, float x, float y) {
  float value = -1;
  OK(cuLaunchKernel(function_of(module, name), 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&object, &result, &x, &y}, NULL));
  OK(cuMemcpyDtoH(&value, result, 4));
  return value;
}

static CUarray make_array(void) {
  const CUDA_ARRAY3D_DESCRIPTOR desc = {W, H, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST};
  const float data[H][W] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
  CUarray array = NULL;
  OK(cuArray3DCreate(&array, &desc));
  OK(cuMemcpyHtoA(array, 0, data, sizeof data));
  return array;
}

static void test_array(CUarray array) {
  CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array}, from;
  CUDA_TEXTURE_DESC how = {.addressMode = {CU_TR_ADDRESS_MODE_BORDER, CU_TR_ADDRESS_MODE_WRAP, 0},
                           .filterMode = CU_TR_FILTER_MODE_LINEAR,
                           .flags = CU_TRSF_NORMALIZED_COORDINATES,
                           .maxAnisotropy = 2,
                           .borderColor = {9}},
                    got;
  struct cudaTextureDesc runtime;
  CUtexObject object;
  OK(cuTexObjectCreate(&object, &resource, &how, NULL));
  EXPECT(value_of("look", object, 0.25f, 0.25f) == 1.5f); /* between two texels */
  EXPECT(value_of("look", object, 3, 0.25f) == 9);        /* the border */
  OK(cuTexObjectGetResourceDesc(&from, object));
  EXPECT(from.resType == CU_RESOURCE_TYPE_ARRAY && from.res.array.hArray == array);
  OK(cuTexObjectGetTextureDesc(&got, object));
  EXPECT(got.flags == how.flags && got.filterMode == how.filterMode && got.maxAnisotropy == 2);
  EXPECT(got.addressMode[0] == CU_TR_ADDRESS_MODE_BORDER && got.addressMode[1] == CU_TR_ADDRESS_MODE_WRAP);
  EXPECT(got.borderColor[0] == 9 && got.borderColor[1] == 0);
  /* Both APIs know it. */
  OK(cudaGetTextureObjectTextureDesc(&runtime, object));
  EXPECT(runtime.normalizedCoords == 1 && runtime.readMode == cudaReadModeElementType);
  OK(cuTexObjectDestroy(object));
  CODE(CUDA_ERROR_INVALID_VALUE, cuTexObjectDestroy(object));
  /* One that the runtime API made tells its flags too. */
  struct cudaResourceDesc same = {.resType = cudaResourceTypeArray, .res.array.array = array};
  runtime.sRGB = 0;
  OK(cudaCreateTextureObject(&object, &same, &runtime, NULL));
  OK(cuTexObjectGetTextureDesc(&got, object));
  EXPECT(got.flags == (CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_READ_AS_INTEGER));
  OK(cuTexObjectDestroy(object));
}

static void test_memory(void) {
  CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_PITCH2D}, from;
  CUDA_TEXTURE_DESC how = plain, got;
  CUtexObject object;
  CUdeviceptr p;
  size_t pitch;
  const float line[3] = {10, 20, 30};
  OK(cuMemAllocPitch(&p, &pitch, W, H, 4));
  OK(cuMemsetD2D8(p, pitch, 255, W, H));
  resource.res.pitch2D.devPtr = p;
  resource.res.pitch2D.format = CU_AD_FORMAT_UNSIGNED_INT8;
  resource.res.pitch2D.numChannels = 1;
  resource.res.pitch2D.width = W;
  resource.res.pitch2D.height = H;
  resource.res.pitch2D.pitchInBytes = pitch;
  /* Bytes are read as numbers up to 1, unless the flags say that they are integers. */
  OK(cuTexObjectCreate(&object, &resource, &how, NULL));
  EXPECT(value_of("look", object, 1.5f, 1.5f) == 1);
  OK(cuTexObjectGetResourceDesc(&from, object));
  EXPECT(from.resType == CU_RESOURCE_TYPE_PITCH2D && from.res.pitch2D.devPtr == p && from.res.pitch2D.width == W);
  EXPECT(from.res.pitch2D.height == H && from.res.pitch2D.pitchInBytes == pitch);
  EXPECT(from.res.pitch2D.format == CU_AD_FORMAT_UNSIGNED_INT8 && from.res.pitch2D.numChannels == 1);
  OK(cuTexObjectDestroy(object));
  how.flags = CU_TRSF_READ_AS_INTEGER;
  OK(cuTexObjectCreate(&object, &resource, &how, NULL));
  EXPECT(value_of("number", object, 1.5f, 1.5f) == 255);
  OK(cuTexObjectGetTextureDesc(&got, object));
  EXPECT(got.flags == CU_TRSF_READ_AS_INTEGER);
  OK(cuTexObjectDestroy(object));

  OK(cuMemcpyHtoD(p, line, sizeof line));
  resource = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_LINEAR};
  resource.res.linear.devPtr = p;
  resource.res.linear.format = CU_AD_FORMAT_FLOAT;
  resource.res.linear.numChannels = 1;
  resource.res.linear.sizeInBytes = sizeof line;
  OK(cuTexObjectCreate(&object, &resource, &plain, NULL));
  EXPECT(value_of("fetch", object, 2, 0) == 30 && value_of("fetch", object, 3, 0) == 0);
  OK(cuTexObjectGetResourceDesc(&from, object));
  EXPECT(from.res.linear.devPtr == p && from.res.linear.sizeInBytes == sizeof line);
  EXPECT(from.res.linear.format == CU_AD_FORMAT_FLOAT && from.res.linear.numChannels == 1);
  OK(cuTexObjectGetTextureDesc(&got, object));
  EXPECT(got.flags == 0);
  OK(cuTexObjectDestroy(object));
  OK(cuMemFree(p));
}

static void test_surface(CUarray array) {
  CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array}, from;
  CUsurfObject object;
  float got[W] = {0};
  OK(cuSurfObjectCreate(&object, &resource));
  OK(cuSurfObjectGetResourceDesc(&from, object));
  EXPECT(from.resType == CU_RESOURCE_TYPE_ARRAY && from.res.array.hArray == array);
  OK(cuLaunchKernel(function_of(module, "write"), 1, 1, 1, W, 1, 1, 0, NULL, (void *[]){&object}, NULL));
  OK(cuMemcpyAtoH(got, array, 0, sizeof got));
  EXPECT(got[0] == 100 && got[3] == 103);
  OK(cuSurfObjectDestroy(object));
  CODE(CUDA_ERROR_INVALID_VALUE, cuSurfObjectDestroy(object));
}

/* Objects go with their context. */
static void test_contexts(CUarray array) {
  CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array}, from;
  CUcontext other;
  CUtexObject object;
  OK(cuCtxCreate(&other, 0, 0));
  OK(cuTexObjectCreate(&object, &resource, &plain, NULL));
  OK(cuCtxDestroy(other));
  CODE(CUDA_ERROR_INVALID_VALUE, cuTexObjectGetResourceDesc(&from, object));
}

int main(void) {
  CUcontext context = open_module(&module, source);
  CUarray array = make_array();
  OK(cuMemAlloc(&result, 4));
  test_array(array);
  test_memory();
  test_surface(array);
  test_contexts(array);
  OK(cuCtxDestroy(context));
  return finish();
}
