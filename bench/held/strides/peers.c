/* The kernels of strides.cu as C with OpenMP: each function does what one launch does. */

int blocks;

void bitonic_step(float *keys, int distance, int run) {
  int groups = blocks * 256 / (2 * distance);
#pragma omp parallel for
  for (int g = 0; g < groups; g++) {
    float *low = keys + (long)g * 2 * distance, *high = low + distance;
    for (int i = 0; i < distance; i++) {
      float a = low[i], b = high[i];
      int rising = ((g * 2 * distance + i) & run) == 0, swap = rising ? a > b : a < b;
      low[i] = swap ? b : a;
      high[i] = swap ? a : b;
    }
  }
}

void walsh_quarter(float *data, int stride) {
  int groups = blocks * 256 / stride;
#pragma omp parallel for
  for (int g = 0; g < groups; g++) {
    float *at = data + (long)g * 4 * stride;
    for (int i = 0; i < stride; i++) {
      float a = at[i], b = at[i + stride], c = at[i + 2 * stride], d = at[i + 3 * stride];
      float p = a + c, q = a - c, r = b + d, s = b - d;
      at[i] = p + r;
      at[i + stride] = p - r;
      at[i + 2 * stride] = q + s;
      at[i + 3 * stride] = q - s;
    }
  }
}

void sweep_sums(const int *in, int *out) {
#pragma omp parallel for
  for (int block = 0; block < blocks; block++) {
    int sum = 0;
    for (int i = block * 512; i < block * 512 + 512; i++) {
      out[i] = sum;
      sum += in[i];
    }
  }
}

void haar_levels(const float *in, float *out) {
#pragma omp parallel for
  for (int block = 0; block < blocks; block++) {
    float row[512], *to = out + (long)block * 512;
    for (int i = 0; i < 512; i++) row[i] = in[block * 512 + i];
    for (int half = 256; half > 0; half /= 2)
      for (int i = 0; i < half; i++) {
        float a = row[2 * i], b = row[2 * i + 1];
        row[i] = 0.5f * (a + b);
        to[half + i] = 0.5f * (a - b);
      }
    to[0] = row[0];
  }
}

void fourier_rows(const float *re, const float *im, const float *cosine, const float *sine, float *to_re,
                  float *to_im) {
#pragma omp parallel for
  for (int block = 0; block < blocks; block++) {
    float *x = to_re + (long)block * 512, *y = to_im + (long)block * 512;
    for (int i = 0; i < 512; i++) x[i] = re[block * 512 + i], y[i] = im[block * 512 + i];
    for (int span = 256; span > 0; span /= 2)
      for (int g = 0; g < 512; g += 2 * span)
        for (int j = 0; j < span; j++) {
          int i = g + j, root = j * (256 / span);
          float dx = x[i] - x[i + span], dy = y[i] - y[i + span], c = cosine[root], s = sine[root];
          x[i] += x[i + span], y[i] += y[i + span];
          x[i + span] = dx * c - dy * s, y[i + span] = dx * s + dy * c;
        }
  }
}
