/* The driver API on CUDA arrays and texture references. */
#include "check.h"

static const char source[] =
    "texture<float, 2, cudaReadModeElementType> image;\n"
    "texture<unsigned char, 1, cudaReadModeElementType> bytes;\n"
    "surface<void, 2> canvas;\n"
    "__device__ int plain;\n"
    "extern \"C\" __global__ void at(float *out, float x, float y) { *out = tex2D(image, x, y); }\n"
    "extern \"C\" __global__ void level_at(float *out, float lod) { *out = tex2DLod(image, 0.5f, 0.5f, lod); }\n"
    "extern \"C\" __global__ void byte_at(float *out, int i) { *out = tex1Dfetch(bytes, i); }\n"
    "extern \"C\" __global__ void draw() { surf2Dwrite((float)threadIdx.x, canvas, threadIdx.x * 4, 0); }\n";

enum { W = 8, H = 4 };

static float data[H][W], back[H][W];
static CUmodule module;
static CUdeviceptr result;

static CUarray make_array(void) {
  const CUDA_ARRAY_DESCRIPTOR desc = {W, H, CU_AD_FORMAT_FLOAT, 1};
  CUarray array = NULL;
  OK(cuArrayCreate(&array, &desc));
  return array;
}

/* A copy of the data's rows. */
static CUDA_MEMCPY2D from_data(void) {
  return (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                         .srcHost = data,
                         .srcPitch = sizeof data[0],
                         .WidthInBytes = sizeof data[0],
                         .Height = H};
}

static void test_arrays(void) {
  CUDA_ARRAY_DESCRIPTOR desc, wrong = {W, H, CU_AD_FORMAT_FLOAT, 3};
  CUDA_ARRAY3D_DESCRIPTOR solid = {4, 4, 2, CU_AD_FORMAT_FLOAT, 1, 0}, got;
  CUarray array = make_array(), other = make_array(), line, cube;
  CUdeviceptr p;
  CODE(CUDA_ERROR_INVALID_VALUE, cuArrayCreate(&line, &wrong));
  OK(cuArrayGetDescriptor(&desc, array));
  EXPECT(desc.Width == W && desc.Height == H && desc.Format == CU_AD_FORMAT_FLOAT && desc.NumChannels == 1);
  const CUDA_ARRAY_DESCRIPTOR flat = {100, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4};
  OK(cuArrayCreate(&line, &flat));
  OK(cuArrayGetDescriptor(&desc, line));
  EXPECT(desc.Width == 100 && desc.Height == 0 && desc.Format == CU_AD_FORMAT_UNSIGNED_INT8 && desc.NumChannels == 4);
  OK(cuArray3DCreate(&cube, &solid));
  OK(cuArray3DGetDescriptor(&got, cube));
  EXPECT(got.Width == 4 && got.Depth == 2);
  CODE(CUDA_ERROR_INVALID_VALUE, cuArrayGetDescriptor(&desc, cube));

  OK(cuMemcpyHtoA(array, 0, data, sizeof data));
  OK(cuMemcpyAtoH(back, array, 36, 40));
  EXPECT(memcmp(back, &data[1][1], 40) == 0);
  OK(cuMemcpyAtoA(other, 8, array, 0, 64));
  OK(cuMemAlloc(&p, sizeof data));
  OK(cuMemcpyAtoD(p, other, 8, 64));
  OK(cuMemcpyDtoA(other, 64, p, 64));
  OK(cuMemcpyAtoHAsync(back, other, 64, 64, NULL));
  EXPECT(memcmp(back, data, 64) == 0);
  OK(cuMemcpyHtoAAsync(other, 0, data, sizeof data, NULL));
  CODE(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoA(array, 0, data, sizeof data + 4));

  CUDA_MEMCPY2D to = from_data();
  to.srcXInBytes = 4;
  to.srcY = 1;
  to.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  to.dstArray = array;
  to.dstXInBytes = 8;
  to.dstY = 2;
  to.WidthInBytes = 12;
  to.Height = 2;
  OK(cuMemcpy2D(&to));
  CUDA_MEMCPY2D from = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                        .srcArray = array,
                        .dstMemoryType = CU_MEMORYTYPE_HOST,
                        .dstHost = back,
                        .dstPitch = sizeof back[0],
                        .WidthInBytes = sizeof back[0],
                        .Height = H};
  OK(cuMemcpy2DUnaligned(&from));
  EXPECT(back[2][2] == data[1][1] && back[3][4] == data[2][3] && back[2][5] == data[2][5]);
  OK(cuMemcpy2DAsync(&from, NULL));
  OK(cuCtxSynchronize());
  from.dstPitch = 8;
  CODE(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&from));
  from.srcMemoryType = (CUmemorytype)9;
  CODE(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&from));
  CUDA_MEMCPY3D in = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                      .srcHost = data,
                      .srcPitch = 16,
                      .srcHeight = 4,
                      .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                      .dstArray = cube,
                      .WidthInBytes = 16,
                      .Height = 4,
                      .Depth = 2};
  OK(cuMemcpy3D(&in));
  CUDA_MEMCPY3D out = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                       .srcArray = cube,
                       .srcXInBytes = 4,
                       .srcY = 2,
                       .srcZ = 1,
                       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                       .dstDevice = p,
                       .WidthInBytes = 8,
                       .Height = 2,
                       .Depth = 1};
  OK(cuMemcpy3DAsync(&out, NULL));
  OK(cuMemcpyDtoH(back, p, 16));
  EXPECT(back[0][0] == ((float *)data)[16 + 9] && back[0][2] == ((float *)data)[16 + 13]);
  in.srcHeight = 3;
  CODE(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&in));
  EXPECT(strstr(mwCudaErrorMessage(), "4 rows from row 0 on in slices of 3"));
  OK(cuArrayDestroy(array));
  CODE(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(array));
  CODE(CUDA_ERROR_INVALID_HANDLE, cuMemcpyHtoA(array, 0, data, 4));
  OK(cuArrayDestroy(other));
  OK(cuArrayDestroy(line));
  OK(cuArrayDestroy(cube));
  OK(cuMemFree(p));
}

static float run(const char *name, void **parameters) {
  float value = -1;
  OK(cuLaunchKernel(function_of(module, name), 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
  OK(cuMemcpyDtoH(&value, result, 4));
  return value;
}

static float fetch_at(float x, float y) { return run("at", (void *[]){&result, &x, &y}); }
static float byte_at(int i) { return run("byte_at", (void *[]){&result, &i}); }

static void test_references(void) {
  CUtexref image, bytes, same, own;
  CUarray array = make_array(), bound;
  CUdeviceptr p, address;
  CUaddress_mode mode;
  CUfilter_mode filter;
  CUarray_format format;
  unsigned flags;
  int components;
  size_t offset = 99, pitch;
  unsigned char list[100];
  OK(cuMemcpyHtoA(array, 0, data, sizeof data));
  CODE(CUDA_ERROR_NOT_FOUND, cuModuleGetTexRef(&image, module, "nothing"));
  CODE(CUDA_ERROR_NOT_FOUND, cuModuleGetTexRef(&image, module, "plain"));
  OK(cuModuleGetTexRef(&image, module, "image"));
  OK(cuModuleGetTexRef(&same, module, "image"));
  EXPECT(image == same);
  OK(cuModuleGetTexRef(&bytes, module, "bytes"));
  CODE(CUDA_ERROR_INVALID_VALUE, cuTexRefSetArray(image, array, 0));
  CODE(CUDA_ERROR_INVALID_VALUE, cuTexRefGetArray(&bound, image));
  OK(cuTexRefSetArray(image, array, CU_TRSA_OVERRIDE_FORMAT));
  OK(cuTexRefGetArray(&bound, image));
  EXPECT(bound == array);
  EXPECT(fetch_at(2.5f, 1.5f) == data[1][2] && fetch_at(-3, 0.5f) == data[0][0]);
  /* Changes hold for the next launch, without binding anew. */
  OK(cuTexRefSetFilterMode(image, CU_TR_FILTER_MODE_LINEAR));
  EXPECT(fetch_at(2, 0.5f) == (data[0][1] + data[0][2]) / 2);
  OK(cuTexRefSetAddressMode(image, 0, CU_TR_ADDRESS_MODE_BORDER));
  EXPECT(fetch_at(-3, 0.5f) == 0);
  OK(cuTexRefSetFilterMode(image, CU_TR_FILTER_MODE_POINT));
  OK(cuTexRefSetFlags(image, CU_TRSF_NORMALIZED_COORDINATES));
  EXPECT(fetch_at(2.5f / W, 1.5f / H) == data[1][2]);
  OK(cuTexRefGetAddressMode(&mode, image, 0));
  OK(cuTexRefGetFilterMode(&filter, image));
  OK(cuTexRefGetFlags(&flags, image));
  OK(cuTexRefGetFormat(&format, &components, image));
  EXPECT(mode == CU_TR_ADDRESS_MODE_BORDER && filter == CU_TR_FILTER_MODE_POINT);
  EXPECT(flags == CU_TRSF_NORMALIZED_COORDINATES && format == CU_AD_FORMAT_FLOAT && components == 1);
  CODE(CUDA_ERROR_INVALID_VALUE, cuTexRefSetAddressMode(image, 3, CU_TR_ADDRESS_MODE_WRAP));
  CODE(CUDA_ERROR_INVALID_VALUE, cuTexRefSetFilterMode(image, (CUfilter_mode)7));
  CODE(CUDA_ERROR_INVALID_VALUE, cuTexRefSetFlags(image, 0x80));
  OK(cuParamSetTexRef(function_of(module, "at"), CU_PARAM_TR_DEFAULT, image));

  OK(cuTexRefSetFlags(image, 0));
  OK(cuMemAllocPitch(&p, &pitch, sizeof data[0], H, 4));
  CUDA_MEMCPY2D copy = from_data();
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = p;
  copy.dstPitch = pitch;
  OK(cuMemcpy2D(&copy));
  const CUDA_ARRAY_DESCRIPTOR plane = {W, H, CU_AD_FORMAT_FLOAT, 1};
  OK(cuTexRefSetAddress2D(image, &plane, p, pitch));
  EXPECT(fetch_at(6.5f, 3.5f) == data[3][6]);
  OK(cuTexRefGetAddress(&address, image));
  EXPECT(address == p);

  for (int i = 0; i < 100; i++) list[i] = (unsigned char)(2 * i);
  OK(cuMemcpyHtoD(p, list, sizeof list));
  OK(cuTexRefSetFormat(bytes, CU_AD_FORMAT_UNSIGNED_INT8, 1));
  OK(cuTexRefSetFlags(bytes, CU_TRSF_READ_AS_INTEGER));
  OK(cuTexRefSetAddress(&offset, bytes, p, sizeof list));
  EXPECT(offset == 0 && byte_at(0) == 0 && byte_at(60) == 120);
  CODE(CUDA_ERROR_INVALID_VALUE, cuTexRefSetAddress(&offset, bytes, 12345, 16));

  OK(cuTexRefCreate(&own));
  OK(cuTexRefSetFilterMode(own, CU_TR_FILTER_MODE_LINEAR));
  OK(cuTexRefSetArray(own, array, CU_TRSA_OVERRIDE_FORMAT));
  OK(cuTexRefDestroy(own));
  CODE(CUDA_ERROR_INVALID_HANDLE, cuTexRefDestroy(own));
  CODE(CUDA_ERROR_INVALID_VALUE, cuTexRefDestroy(image));
  OK(cuArrayDestroy(array));
  OK(cuMemFree(p));
}

static void test_surfaces(void) {
  CUsurfref canvas;
  CUarray array = make_array(), got;
  OK(cuModuleGetSurfRef(&canvas, module, "canvas"));
  CODE(CUDA_ERROR_NOT_FOUND, cuModuleGetSurfRef(&canvas, module, "image"));
  OK(cuModuleGetSurfRef(&canvas, module, "canvas"));
  OK(cuSurfRefSetArray(canvas, array, 0));
  OK(cuSurfRefGetArray(&got, canvas));
  EXPECT(got == array);
  OK(cuLaunchKernel(function_of(module, "draw"), 1, 1, 1, W, 1, 1, 0, NULL, NULL, NULL));
  OK(cuMemcpyAtoH(back, array, 0, sizeof back[0]));
  EXPECT(back[0][0] == 0 && back[0][7] == 7);
  OK(cuArrayDestroy(array));
}

static float level_at(float lod) {
  float value = -1;
  OK(cuLaunchKernel(function_of(module, "level_at"), 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&result, &lod}, NULL));
  OK(cuMemcpyDtoH(&value, result, 4));
  return value;
}

static void test_mipmaps(void) {
  const CUDA_ARRAY3D_DESCRIPTOR desc = {4, 4, 0, CU_AD_FORMAT_FLOAT, 1, 0}, none = {0, 4, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  CUmipmappedArray mipmap, bound;
  CUarray level;
  CUtexref image;
  CUtexObject object;
  CUfilter_mode mode;
  float plane[16], bias, least, most;
  OK(cuMipmappedArrayCreate(&mipmap, &desc, 3));
  for (unsigned i = 0; i < 3; i++) {
    for (int k = 0; k < 16; k++) plane[k] = (float)(10 * i);
    OK(cuMipmappedArrayGetLevel(&level, mipmap, i));
    OK(cuMemcpyHtoA(level, 0, plane, (16u >> 2 * i) * sizeof *plane));
  }
  CODE(CUDA_ERROR_INVALID_VALUE, cuArrayDestroy(level));
  CODE(CUDA_ERROR_INVALID_VALUE, cuMipmappedArrayGetLevel(&level, mipmap, 3));
  CODE(CUDA_ERROR_INVALID_VALUE, cuMipmappedArrayCreate(&bound, &none, 1));
  OK(cuModuleGetTexRef(&image, module, "image"));
  CODE(CUDA_ERROR_INVALID_VALUE, cuTexRefSetMipmappedArray(image, mipmap, 0));
  CODE(CUDA_ERROR_INVALID_VALUE, cuTexRefSetMipmappedArray(image, NULL, CU_TRSA_OVERRIDE_FORMAT));
  OK(cuTexRefSetMipmappedArray(image, mipmap, CU_TRSA_OVERRIDE_FORMAT));
  OK(cuTexRefSetFlags(image, CU_TRSF_NORMALIZED_COORDINATES));
  EXPECT(level_at(1.4f) == 10);
  OK(cuTexRefSetMipmapFilterMode(image, CU_TR_FILTER_MODE_LINEAR));
  OK(cuTexRefSetMipmapLevelBias(image, 0.25f));
  EXPECT(level_at(1.5f) == 17.5f);
  OK(cuTexRefSetMipmapLevelClamp(image, 0.5f, 1));
  EXPECT(level_at(0) == 5 && level_at(9) == 10);
  OK(cuTexRefGetMipmappedArray(&bound, image));
  OK(cuTexRefGetMipmapFilterMode(&mode, image));
  OK(cuTexRefGetMipmapLevelBias(&bias, image));
  OK(cuTexRefGetMipmapLevelClamp(&least, &most, image));
  EXPECT(bound == mipmap && mode == CU_TR_FILTER_MODE_LINEAR && bias == 0.25f && least == 0.5f && most == 1);
  CODE(CUDA_ERROR_INVALID_VALUE, cuTexRefGetArray(&level, image));
  CODE(CUDA_ERROR_INVALID_VALUE, cuTexRefSetMipmapFilterMode(image, (CUfilter_mode)2));
  CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, .res.mipmap = {mipmap}}, got;
  const CUDA_TEXTURE_DESC how = {.flags = CU_TRSF_NORMALIZED_COORDINATES, .maxMipmapLevelClamp = 2};
  OK(cuTexObjectCreate(&object, &resource, &how, NULL));
  OK(cuTexObjectGetResourceDesc(&got, object));
  EXPECT(got.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY && got.res.mipmap.hMipmappedArray == mipmap);
  OK(cuTexObjectDestroy(object));
  OK(cuMipmappedArrayDestroy(mipmap));
  CODE(CUDA_ERROR_INVALID_HANDLE, cuMipmappedArrayDestroy(mipmap));
  CODE(CUDA_ERROR_INVALID_HANDLE, cuMipmappedArrayGetLevel(&level, mipmap, 0));
  OK(cuMipmappedArrayCreate(&mipmap, &desc, 2)); /* goes with the context */
  OK(cuMipmappedArrayGetLevel(&level, mipmap, 1));
}

int main(void) {
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++) data[y][x] = (float)(y * 100 + x + 1);
  CUcontext context = open_module(&module, source);
  OK(cuMemAlloc(&result, 4));
  test_arrays();
  test_references();
  test_surfaces();
  test_mipmaps();
  OK(cuCtxDestroy(context));
  return finish();
}
