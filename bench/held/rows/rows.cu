// Threads that walk rows of their own: thread i reads a[i * n + k] for k = 0, 1, 2, …

// y = alpha * A x + beta * B x (PolyBench's gesummv has this form).
extern "C" __global__ void sum_of_products(int n, float alpha, float beta, const float *a, const float *b,
                                           const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = 0, t = 0;
  for (int k = 0; k < n; k++) {
    s += a[i * n + k] * x[k];
    t += b[i * n + k] * x[k];
  }
  y[i] = alpha * s + beta * t;
}

// All inner products of two sets of vectors, in double precision: c[i][j] = a_i . b_j.
extern "C" __global__ void inner_products(int n, int m, int d, const double *a, const double *b, double *c) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < n && j < m) {
    double s = 0;
    for (int k = 0; k < d; k++) s += a[i * d + k] * b[j * d + k];
    c[i * m + j] = s;
  }
}

// The nearest of a few centres, by features that a point has side by side.
extern "C" __global__ void nearest_center(int points, int features, int centers, const float *p, const float *center,
                                          int *nearest) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= points) return;
  int best = 0;
  float least = 3.402823466e38f;
  for (int c = 0; c < centers; c++) {
    float sum = 0;
    for (int f = 0; f < features; f++) {
      float difference = p[i * features + f] - center[c * features + f];
      sum += difference * difference;
    }
    if (sum < least) least = sum, best = c;
  }
  nearest[i] = best;
}

// The sum of absolute differences between rows of bytes and one of them.
extern "C" __global__ void byte_distances(unsigned count, unsigned length, const unsigned char *rows,
                                          const unsigned char *wanted, unsigned *distance) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  unsigned sum = 0;
  for (unsigned k = 0; k < length; k++) {
    int d = (int)rows[i * length + k] - (int)wanted[k];
    sum += d < 0 ? -d : d;
  }
  distance[i] = sum;
}

// One step of bodies in a field; each is eight numbers: its place, mass, velocity and charge.
extern "C" __global__ void step_bodies(int n, float dt, float field, float *bodies) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float *b = bodies + 8 * i;
  float force = field * b[7] / b[3];
  b[4] += dt * (force - b[0]);
  b[5] += dt * (force - b[1]);
  b[6] += dt * (force - b[2]);
  b[0] += dt * b[4];
  b[1] += dt * b[5];
  b[2] += dt * b[6];
}

// Running sums of rows: what each thread writes is a row, too.
extern "C" __global__ void running_sums(int rows, int columns, const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  float s = 0;
  for (int k = 0; k < columns; k++) {
    s += in[i * columns + k];
    out[i * columns + k] = s;
  }
}

// Polynomials whose coefficients are rows, the highest first in the sum: backwards through the row.
extern "C" __global__ void polynomials(int n, int degree, unsigned long long pitch, const double *coefficients,
                                       const double *x, double *y) {
  unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double v = x[i], s = 0;
  for (int k = degree; k >= 0; k--) s = s * v + coefficients[i * pitch + k];
  y[i] = s;
}

// Inner products of rows of 16-bit samples with one signal.
extern "C" __global__ void correlations(int rows, int length, const short *samples, const short *signal, int *sums) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  int sum = 0;
  for (int k = 0; k < length; k++) sum += samples[i * length + k] * signal[k];
  sums[i] = sum;
}

// The brightest pixel of each line of a picture.
extern "C" __global__ void brightest(int lines, int width, const unsigned char *picture, unsigned *most) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= lines) return;
  unsigned greatest = 0;
  for (int k = 0; k < width; k++) greatest = max(greatest, (unsigned)picture[i * width + k]);
  most[i] = greatest;
}
