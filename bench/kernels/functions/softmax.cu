// Each block turns a row into the exponentials of its elements over their sum.
__global__ void softmax(int columns, const float *x, float *y) {
  __shared__ float part[256];
  const int t = threadIdx.x;
  x += (size_t)blockIdx.x * columns;
  y += (size_t)blockIdx.x * columns;

  float largest = -INFINITY;
  for (int c = t; c < columns; c += blockDim.x) largest = fmaxf(largest, x[c]);
  part[t] = largest;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) part[t] = fmaxf(part[t], part[t + half]);
    __syncthreads();
  }
  largest = part[0];
  __syncthreads();

  float sum = 0;
  for (int c = t; c < columns; c += blockDim.x) sum += y[c] = expf(x[c] - largest);
  part[t] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  const float factor = 1 / part[0];

  for (int c = t; c < columns; c += blockDim.x) y[c] *= factor;
}
