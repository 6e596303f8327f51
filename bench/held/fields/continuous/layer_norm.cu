// Layer normalisation: one block per row, mean and variance by warp shuffles.
__device__ float sum_of_block(float value, float *partial) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
  __syncthreads();
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < blockDim.x / 32; i++) sum += partial[i];
  return sum;
}
__global__ void layer_norm(int columns, const float *x, const float *gain, const float *shift, float *y) {
  __shared__ float partial[32];
  const float *row = x + blockIdx.x * columns;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += row[i];
  float mean = sum_of_block(sum, partial) / columns;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) squares += (row[i] - mean) * (row[i] - mean);
  float inverse = rsqrtf(sum_of_block(squares, partial) / columns + 1e-5f);
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    y[blockIdx.x * columns + i] = (row[i] - mean) * inverse * gain[i] + shift[i];
}
