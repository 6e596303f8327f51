/* The runtime API's functions on CUDA arrays, textures and surfaces. */
#include "check.h"

static const char source[] =
    "texture<float, 2, cudaReadModeElementType> image;\n"
    "texture<int, 1, cudaReadModeElementType> list;\n"
    "surface<void, 2> canvas;\n"
    "__device__ float sheet[32];\n"
    "__global__ void look(float *out, int width) { int x = threadIdx.x, y = threadIdx.y;\n"
    "  out[y * width + x] = tex2D(image, x + 0.5f, y + 0.5f); }\n"
    "__global__ void at(float *out, float x, float y) { *out = tex2D(image, x, y); }\n"
    "__global__ void list_at(int *out) { out[threadIdx.x] = tex1Dfetch(list, threadIdx.x); }\n"
    "__global__ void object(cudaTextureObject_t t, float *out) { *out = tex2D<float>(t, 1.5f, 0.5f); }\n"
    "__global__ void level(cudaTextureObject_t t, float lod, float *out) { *out = tex2DLod<float>(t, 0.5f, 0.5f, lod); "
    "}\n"
    "__global__ void linear(cudaTextureObject_t t, float *out) { *out = tex1Dfetch<float>(t, 3); }\n"
    "__global__ void paint(cudaSurfaceObject_t s) { surf2Dwrite(7.5f, s, threadIdx.x * 4, 1); }\n"
    "__global__ void draw() { surf2Dwrite((float)threadIdx.x, canvas, threadIdx.x * 4, 0); }\n";

enum { W = 8, H = 4 };

static const dim3 one = {1, 1, 1};
static struct cudaChannelFormatDesc floats;
static float data[H][W], back[H][W];

static void test_copies(void) {
  cudaArray_t array, other, line, cube;
  struct cudaChannelFormatDesc desc;
  struct cudaExtent extent;
  unsigned flags = 99;
  float *p;
  size_t pitch;
  OK(cudaMallocArray(&array, &floats, W, H));
  OK(cudaMallocArray(&other, &floats, W, H, cudaArraySurfaceLoadStore));
  OK(cudaMallocArray(&line, &floats, 100));
  OK(cudaGetChannelDesc(&desc, array));
  EXPECT(desc.x == 32 && desc.y == 0 && desc.f == cudaChannelFormatKindFloat);
  OK(cudaArrayGetInfo(&desc, &extent, &flags, other));
  EXPECT(extent.width == W && extent.height == H && extent.depth == 0 && flags == cudaArraySurfaceLoadStore);
  OK(cudaArrayGetInfo(NULL, &extent, NULL, line));
  EXPECT(extent.width == 100 && extent.height == 0);
  /* Consecutive bytes: the rest of a row, whole rows, a part of one. */
  OK(cudaMemcpyToArray(array, 0, 0, data, sizeof data, cudaMemcpyHostToDevice));
  OK(cudaMemcpyFromArray(back, array, 4, 1, 80, cudaMemcpyDeviceToHost));
  EXPECT(memcmp(back, &data[1][1], 80) == 0);
  OK(cudaMemcpyToArrayAsync(other, 0, 0, data, sizeof data, cudaMemcpyHostToDevice, NULL));
  OK(cudaMemcpyFromArrayAsync(back, other, 0, 0, sizeof back, cudaMemcpyDeviceToHost, NULL));
  EXPECT(memcmp(back, data, sizeof data) == 0);
  OK(cudaMemcpyArrayToArray(array, 8, 1, other, 0, 0, 60, cudaMemcpyDeviceToDevice));
  OK(cudaMemcpyFromArray(back, array, 8, 1, 60, cudaMemcpyDeviceToHost));
  EXPECT(memcmp(back, data, 60) == 0);
  OK(cudaMemcpy2DToArray(array, 4, 1, data, sizeof data[0], 12, 2, cudaMemcpyHostToDevice));
  OK(cudaMemcpy2DFromArray(back, sizeof back[0], array, 0, 1, sizeof back[0], 2, cudaMemcpyDeviceToHost));
  EXPECT(back[0][1] == data[0][0] && back[0][3] == data[0][2] && back[1][1] == data[1][0]);
  OK(cudaMemcpy2DToArrayAsync(array, 0, 0, data, sizeof data[0], sizeof data[0], H, cudaMemcpyHostToDevice, NULL));
  OK(cudaMemcpy2DArrayToArray(other, 8, 2, array, 0, 0, 16, 2, cudaMemcpyDeviceToDevice));
  OK(cudaMallocPitch((void **)&p, &pitch, sizeof data[0], H));
  OK(cudaMemcpy2DFromArrayAsync(p, pitch, other, 0, 0, sizeof data[0], H, cudaMemcpyDeviceToDevice, NULL));
  OK(cudaMemcpy2D(back, sizeof back[0], p, pitch, sizeof back[0], H, cudaMemcpyDeviceToHost));
  EXPECT(back[2][2] == data[0][0] && back[3][5] == data[1][3] && back[1][7] == data[1][7]);
  /* To a variable of a module, which is in no allocation of its own. */
  OK(cudaGetSymbolAddress((void **)&p, "sheet"));
  OK(cudaMemcpyFromArray(p, array, 0, 0, sizeof data, cudaMemcpyDeviceToDevice));
  OK(cudaMemcpyFromSymbol(back, "sheet", sizeof back));
  EXPECT(memcmp(back, data, sizeof data) == 0);
  /* Three dimensions; widths are texels where an array takes part. */
  OK(cudaMalloc3DArray(&cube, &floats, make_cudaExtent(4, 4, 2)));
  struct cudaMemcpy3DParms in = {.srcPtr = make_cudaPitchedPtr(data, 16, 4, 4),
                                 .dstArray = cube,
                                 .extent = make_cudaExtent(4, 4, 2),
                                 .kind = cudaMemcpyHostToDevice};
  OK(cudaMemcpy3D(&in));
  struct cudaMemcpy3DParms out = {.srcArray = cube,
                                  .srcPos = make_cudaPos(1, 2, 1),
                                  .dstPtr = make_cudaPitchedPtr(back, 12, 3, 2),
                                  .extent = make_cudaExtent(3, 2, 1),
                                  .kind = cudaMemcpyDeviceToHost};
  OK(cudaMemcpy3D(&out));
  EXPECT(back[0][0] == ((float *)data)[16 + 9] && back[0][3] == ((float *)data)[16 + 13]);
  OK(cudaFreeArray(array));
  OK(cudaFreeArray(other));
  OK(cudaFreeArray(line));
  OK(cudaFreeArray(cube));
}

static float fetch_at(float x, float y) {
  static float *out;
  float value = -1;
  if (!out) OK(cudaMalloc((void **)&out, 4));
  OK(cudaLaunchKernel("at", one, one, (void *[]){&out, &x, &y}, 0, NULL));
  OK(cudaMemcpy(&value, out, 4, cudaMemcpyDeviceToHost));
  return value;
}

static textureReference mine = {.addressMode = {cudaAddressModeClamp, cudaAddressModeClamp}};

static void test_references(void) {
  struct textureReference *image, *list, *same;
  cudaArray_t array;
  float *p;
  int *numbers, ints[100], width = W;
  size_t pitch, offset = 99;
  struct cudaChannelFormatDesc int_desc = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindSigned);
  OK(cudaGetTextureReference(&image, "image"));
  OK(cudaGetTextureReference(&same, "image"));
  EXPECT(image == same);
  OK(cudaMallocArray(&array, &floats, W, H));
  OK(cudaMemcpyToArray(array, 0, 0, data, sizeof data, cudaMemcpyHostToDevice));
  OK(cudaBindTextureToArray(image, array, &floats));
  OK(cudaMalloc((void **)&p, sizeof data));
  OK(cudaLaunchKernel("look", one, make_dim3(W, H, 1), (void *[]){&p, &width}, 0, NULL));
  OK(cudaMemcpy(back, p, sizeof back, cudaMemcpyDeviceToHost));
  EXPECT(memcmp(back, data, sizeof data) == 0);
  EXPECT(fetch_at(-5, 0.5f) == data[0][0] && fetch_at(100, 3.5f) == data[3][7]);
  image->filterMode = cudaFilterModeLinear;
  image->addressMode[0] = cudaAddressModeBorder;
  OK(cudaBindTextureToArray(image, array, &floats));
  EXPECT(fetch_at(2, 0.5f) == (data[0][1] + data[0][2]) / 2 && fetch_at(-5, 0.5f) == 0);
  image->normalized = 1;
  image->filterMode = cudaFilterModePoint;
  image->addressMode[0] = cudaAddressModeWrap;
  OK(cudaBindTextureToArray(image, array, &floats));
  EXPECT(fetch_at(1.0f + 2.5f / W, 1.5f / H) == data[1][2]);
  OK(cudaUnbindTexture(image));
  CODE(cudaErrorInvalidTextureBinding, cudaGetTextureAlignmentOffset(&offset, image));

  /* A reference of the host program's own, which stands for the variable. */
  OK(mwCudaRegister(&mine, "image"));
  OK(cudaMallocPitch((void **)&p, &pitch, sizeof data[0], H));
  OK(cudaMemcpy2D(p, pitch, data, sizeof data[0], sizeof data[0], H, cudaMemcpyHostToDevice));
  OK(cudaBindTexture2D(&offset, &mine, p, &floats, W, H, pitch));
  EXPECT(offset == 0 && fetch_at(3.5f, 2.5f) == data[2][3]);
  OK(cudaGetTextureAlignmentOffset(&offset, &mine));
  CODE(cudaErrorInvalidPitchValue, cudaBindTexture2D(&offset, &mine, p, &floats, W, H, 6));
  OK(cudaUnbindTexture(&mine));

  for (int i = 0; i < 100; i++) ints[i] = i * i;
  OK(cudaMalloc((void **)&numbers, sizeof ints));
  OK(cudaMemcpy(numbers, ints, sizeof ints, cudaMemcpyHostToDevice));
  OK(cudaGetTextureReference(&list, "list"));
  OK(cudaBindTexture(&offset, list, numbers, &int_desc, sizeof ints));
  OK(cudaMalloc((void **)&p, sizeof ints));
  OK(cudaLaunchKernel("list_at", one, make_dim3(100, 1, 1), (void *[]){&p}, 0, NULL));
  memset(ints, 0, sizeof ints);
  OK(cudaMemcpy(ints, p, sizeof ints, cudaMemcpyDeviceToHost));
  EXPECT(offset == 0 && ints[3] == 9 && ints[99] == 9801);
  OK(cudaUnbindTexture(list));
  OK(cudaFreeArray(array));
}

static void test_objects(void) {
  cudaTextureObject_t texture, linear, pitched;
  cudaSurfaceObject_t surface;
  cudaArray_t array;
  const struct surfaceReference *canvas;
  struct cudaResourceDesc resource = {.resType = cudaResourceTypeArray}, got;
  struct cudaTextureDesc point = {.addressMode = {cudaAddressModeClamp}}, read;
  float *out, *p, value = 0;
  size_t pitch;
  OK(cudaMalloc((void **)&out, 4));
  OK(cudaMallocArray(&array, &floats, W, H));
  OK(cudaMemcpyToArray(array, 0, 0, data, sizeof data, cudaMemcpyHostToDevice));
  resource.res.array.array = array;
  OK(cudaCreateTextureObject(&texture, &resource, &point, NULL));
  OK(cudaLaunchKernel("object", one, one, (void *[]){&texture, &out}, 0, NULL));
  OK(cudaMemcpy(&value, out, 4, cudaMemcpyDeviceToHost));
  EXPECT(value == data[0][1]);
  OK(cudaGetTextureObjectResourceDesc(&got, texture));
  EXPECT(got.resType == cudaResourceTypeArray && got.res.array.array == array);
  OK(cudaGetTextureObjectTextureDesc(&read, texture));
  EXPECT(read.addressMode[0] == cudaAddressModeClamp);
  OK(cudaDestroyTextureObject(texture));
  CODE(cudaErrorInvalidValue, cudaDestroyTextureObject(texture));
  CODE(cudaErrorInvalidValue, cudaGetTextureObjectTextureDesc(&read, texture));

  OK(cudaMallocPitch((void **)&p, &pitch, sizeof data[0], H));
  OK(cudaMemcpy2D(p, pitch, data, sizeof data[0], sizeof data[0], H, cudaMemcpyHostToDevice));
  struct cudaResourceDesc plane = {.resType = cudaResourceTypePitch2D, .res.pitch2D = {p, floats, W, H, pitch}};
  OK(cudaCreateTextureObject(&pitched, &plane, &point, NULL));
  OK(cudaLaunchKernel("object", one, one, (void *[]){&pitched, &out}, 0, NULL));
  OK(cudaMemcpy(&value, out, 4, cudaMemcpyDeviceToHost));
  EXPECT(value == data[0][1]);
  OK(cudaDestroyTextureObject(pitched));
  struct cudaResourceDesc row = {.resType = cudaResourceTypeLinear, .res.linear = {p, floats, sizeof data[0]}};
  /* Linear memory is not filtered, whatever is said of it. */
  struct cudaTextureDesc filtered = {.filterMode = cudaFilterModeLinear, .normalizedCoords = 1};
  OK(cudaCreateTextureObject(&linear, &row, &filtered, NULL));
  OK(cudaLaunchKernel("linear", one, one, (void *[]){&linear, &out}, 0, NULL));
  OK(cudaMemcpy(&value, out, 4, cudaMemcpyDeviceToHost));
  EXPECT(value == data[0][3]);
  OK(cudaDestroyTextureObject(linear));

  OK(cudaCreateSurfaceObject(&surface, &resource));
  OK(cudaLaunchKernel("paint", one, make_dim3(W, 1, 1), (void *[]){&surface}, 0, NULL));
  OK(cudaMemcpyFromArray(back, array, 0, 0, sizeof back, cudaMemcpyDeviceToHost));
  EXPECT(back[1][0] == 7.5f && back[1][7] == 7.5f && back[0][0] == data[0][0] && back[2][0] == data[2][0]);
  OK(cudaGetSurfaceObjectResourceDesc(&got, surface));
  EXPECT(got.res.array.array == array);
  OK(cudaDestroySurfaceObject(surface));
  OK(cudaGetSurfaceReference(&canvas, "canvas"));
  OK(cudaBindSurfaceToArray(canvas, array, &floats));
  OK(cudaLaunchKernel("draw", one, make_dim3(W, 1, 1), NULL, 0, NULL));
  OK(cudaMemcpyFromArray(back, array, 0, 0, sizeof back, cudaMemcpyDeviceToHost));
  EXPECT(back[0][0] == 0 && back[0][7] == 7);
  OK(cudaFreeArray(array));
}

/* Copies of arrays are work of streams: captured, they run when the graph does. */
static void test_streams(void) {
  float *h, *back;
  cudaStream_t stream;
  cudaArray_t array;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphNode_t node;
  size_t nodes = 0;
  OK(cudaMallocHost((void **)&h, sizeof data));
  OK(cudaMallocHost((void **)&back, sizeof data));
  OK(cudaMallocArray(&array, &floats, W, H, 0));
  OK(cudaStreamCreate(&stream));
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  OK(cudaMemcpy2DToArrayAsync(array, 0, 0, h, sizeof data[0], sizeof data[0], H, cudaMemcpyHostToDevice, stream));
  OK(cudaMemcpyFromArrayAsync(back, array, 0, 0, sizeof data, cudaMemcpyDeviceToHost, stream));
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaGraphGetNodes(graph, NULL, &nodes));
  EXPECT(nodes == 2);
  struct cudaMemcpy3DParms corner = {.srcArray = array,
                                     .srcPos = {1, 1, 0},
                                     .dstPtr = {back, sizeof(float), 1, 1},
                                     .extent = {1, 1, 1},
                                     .kind = cudaMemcpyDeviceToHost};
  cudaGraphNode_t all[2];
  OK(cudaGraphGetNodes(graph, all, &nodes));
  OK(cudaGraphAddMemcpyNode(&node, graph, all + 1, 1, &corner));
  OK(cudaGraphInstantiate(&exec, graph, NULL, NULL, 0));
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < W * H; i++) h[i] = (float)(100 * round + i);
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    EXPECT(back[0] == h[W + 1] && back[1] == h[1] && back[W * H - 1] == h[W * H - 1]);
  }
  OK(cudaFreeArray(array));
  CODE(cudaErrorInvalidResourceHandle, cudaGraphLaunch(exec, stream));
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphDestroy(graph));
  OK(cudaStreamDestroy(stream));
  OK(cudaFreeHost(h));
  OK(cudaFreeHost(back));
}

/* Mipmapped arrays: levels are arrays, a texture has them all. */
static void test_mipmaps(void) {
  cudaMipmappedArray_t mipmap;
  cudaArray_t levels[3], again;
  cudaTextureObject_t texture;
  struct cudaExtent extent;
  float *out, value, lod = 1.5f, plane[16];
  unsigned flags;
  OK(cudaMalloc((void **)&out, sizeof *out));
  OK(cudaMallocMipmappedArray(&mipmap, &floats, make_cudaExtent(4, 4, 0), 99, cudaArraySurfaceLoadStore));
  for (unsigned i = 0; i < 3; i++) {
    size_t size = 4u >> i;
    for (int k = 0; k < 16; k++) plane[k] = (float)(10 * i);
    OK(cudaGetMipmappedArrayLevel(&levels[i], mipmap, i));
    OK(cudaMemcpy2DToArray(levels[i], 0, 0, plane, 4 * size, 4 * size, size, cudaMemcpyHostToDevice));
    OK(cudaArrayGetInfo(NULL, &extent, &flags, levels[i]));
    EXPECT(extent.width == size && extent.height == size && flags == cudaArraySurfaceLoadStore);
  }
  CODE(cudaErrorInvalidValue, cudaGetMipmappedArrayLevel(&again, mipmap, 3));
  OK(cudaGetMipmappedArrayLevel(&again, mipmap, 1));
  EXPECT(again == levels[1]);
  struct cudaResourceDesc resource = {.resType = cudaResourceTypeMipmappedArray, .res.mipmap = {mipmap}}, got;
  struct cudaTextureDesc smooth = {
      .normalizedCoords = 1, .mipmapFilterMode = cudaFilterModeLinear, .maxMipmapLevelClamp = 2};
  OK(cudaCreateTextureObject(&texture, &resource, &smooth, NULL));
  OK(cudaLaunchKernel("level", one, one, (void *[]){&texture, &lod, &out}, 0, NULL));
  OK(cudaMemcpy(&value, out, 4, cudaMemcpyDeviceToHost));
  EXPECT(value == 15);
  OK(cudaGetTextureObjectResourceDesc(&got, texture));
  EXPECT(got.res.mipmap.mipmap == mipmap);
  OK(cudaDestroyTextureObject(texture));
  smooth.maxMipmapLevelClamp = 0; /* then the first level is all that is read */
  OK(cudaCreateTextureObject(&texture, &resource, &smooth, NULL));
  OK(cudaLaunchKernel("level", one, one, (void *[]){&texture, &lod, &out}, 0, NULL));
  OK(cudaMemcpy(&value, out, 4, cudaMemcpyDeviceToHost));
  EXPECT(value == 0);
  OK(cudaDestroyTextureObject(texture));
  /* A reference without a level of detail reads level 0, whatever its bias. */
  textureReference *image;
  OK(cudaGetTextureReference((const textureReference **)&image, "image"));
  image->normalized = 1;
  image->filterMode = cudaFilterModePoint;
  image->mipmapFilterMode = cudaFilterModePoint;
  image->mipmapLevelBias = 2;
  image->maxMipmapLevelClamp = 2;
  OK(cudaBindTextureToMipmappedArray(image, mipmap, &floats));
  EXPECT(fetch_at(0.5f, 0.5f) == 0);
  CODE(cudaErrorInvalidValue, cudaBindTextureToMipmappedArray(image, NULL, &floats));
  OK(cudaUnbindTexture(image));
  CODE(cudaErrorInvalidValue, cudaFreeArray(levels[1]));
  OK(cudaFreeMipmappedArray(mipmap));
  OK(cudaFreeMipmappedArray(NULL));
  CODE(cudaErrorInvalidValue, cudaFreeMipmappedArray(mipmap));
  CODE(cudaErrorInvalidValue, cudaGetMipmappedArrayLevel(&again, mipmap, 0));
  CODE(cudaErrorInvalidValue, cudaArrayGetInfo(NULL, NULL, NULL, levels[0]));
  CODE(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, &resource, &smooth, NULL));
  CODE(cudaErrorInvalidValue, cudaMallocMipmappedArray(&mipmap, &floats, make_cudaExtent(0, 4, 0), 1, 0));
  OK(cudaFree(out));
}

int main(void) {
  floats = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++) data[y][x] = (float)(y * 100 + x + 1);
  OK(mwCudaSource(source, NULL));
  test_copies();
  test_references();
  test_objects();
  test_streams();
  test_mipmaps();
  return finish();
}
