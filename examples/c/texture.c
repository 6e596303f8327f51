/* Textures in both forms. An image in a CUDA array is rotated by a quarter turn through a texture reference of the 1.1
 * guide (section 4.5.2.6), and through a texture object.
 *
 *     make cuda && build/release/bin/c/texture */
#include "check.h"

enum { WIDTH = 64, HEIGHT = 48 };

static const char kernels[] =
    "texture<float, 2, cudaReadModeElementType> texRef;\n"
    "__constant__ float gain;\n"
    "__global__ void turn(float *out, int width, int height) {\n"
    "  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;\n"
    "  if (x < height) out[y * height + x] = gain * tex2D(texRef, y + 0.5f, height - 1 - x + 0.5f);\n"
    "}\n"
    "__global__ void shrink(float *out, cudaTextureObject_t image, int width, int height) {\n"
    "  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;\n"
    "  if (x < width) out[y * width + x] =\n"
    "    tex2D<float>(image, (x + 0.5f) / width, (y + 0.5f) / height);\n"
    "}\n";

static float image[HEIGHT][WIDTH], result[WIDTH * HEIGHT];

static int by_reference(cudaArray_t cuArray) {
  struct textureReference *texRefPtr;
  struct cudaChannelFormatDesc channelDesc;
  float gain = 2, *out;
  int width = WIDTH, height = HEIGHT, wrong = 0;
  CHECK(cudaMemcpyToSymbol("gain", &gain, sizeof gain));
  CHECK(cudaGetTextureReference(&texRefPtr, "texRef"));
  CHECK(cudaGetChannelDesc(&channelDesc, cuArray));
  texRefPtr->filterMode = cudaFilterModePoint;
  CHECK(cudaBindTextureToArray(texRefPtr, cuArray, &channelDesc));
  CHECK(cudaMalloc((void **)&out, sizeof result));
  dim3 grid = {1, WIDTH, 1}, block = {64, 1, 1};
  void *arguments[] = {&out, &width, &height};
  CHECK(cudaLaunchKernel("turn", grid, block, arguments, 0, 0));
  CHECK(cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(out));
  for (int y = 0; y < WIDTH; y++)
    for (int x = 0; x < HEIGHT; x++) wrong += result[y * HEIGHT + x] != 2 * image[HEIGHT - 1 - x][y];
  return wrong;
}

/* Linear filtering between four texels, exactly in the middle: their mean. */
static int by_object(cudaArray_t cuArray) {
  struct cudaResourceDesc resource = {.resType = cudaResourceTypeArray};
  struct cudaTextureDesc texture = {.addressMode = {cudaAddressModeClamp, cudaAddressModeClamp},
                                    .filterMode = cudaFilterModeLinear,
                                    .normalizedCoords = 1};
  cudaTextureObject_t object;
  float *out;
  int width = WIDTH / 2, height = HEIGHT / 2, wrong = 0;
  resource.res.array.array = cuArray;
  CHECK(cudaCreateTextureObject(&object, &resource, &texture, NULL));
  CHECK(cudaMalloc((void **)&out, sizeof result / 4));
  dim3 grid = {1, HEIGHT / 2, 1}, block = {WIDTH / 2, 1, 1};
  void *arguments[] = {&out, &object, &width, &height};
  CHECK(cudaLaunchKernel("shrink", grid, block, arguments, 0, 0));
  CHECK(cudaMemcpy(result, out, sizeof result / 4, cudaMemcpyDeviceToHost));
  CHECK(cudaDestroyTextureObject(object));
  CHECK(cudaFree(out));
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      wrong +=
          result[y * width + x] !=
          (image[2 * y][2 * x] + image[2 * y][2 * x + 1] + image[2 * y + 1][2 * x] + image[2 * y + 1][2 * x + 1]) / 4;
  return wrong;
}

int main(void) {
  struct cudaChannelFormatDesc desc = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  cudaArray_t cuArray;
  for (int y = 0; y < HEIGHT; y++)
    for (int x = 0; x < WIDTH; x++) image[y][x] = (float)(y * 100 + x);
  CHECK(mwCudaSource(kernels, NULL));
  CHECK(cudaMallocArray(&cuArray, &desc, WIDTH, HEIGHT));
  CHECK(cudaMemcpy2DToArray(cuArray, 0, 0, image, sizeof image[0], sizeof image[0], HEIGHT, cudaMemcpyHostToDevice));
  int turned = by_reference(cuArray), shrunk = by_object(cuArray);
  CHECK(cudaFreeArray(cuArray));
  printf("turned: %d wrong, shrunk: %d wrong\n", turned, shrunk);
  return turned + shrunk != 0;
}
