/* The kernels of rows.cu as C with OpenMP: each function does what one launch does. */

void largest_of_rows(const float *table, int rows, int columns, int *place) {
#pragma omp parallel for
  for (int row = 0; row < rows; row++) {
    float best = -3e38f;
    int at = 0;
    for (int k = 0; k < columns; k++)
      if (table[row * columns + k] > best) best = table[row * columns + k], at = k;
    place[row] = at;
  }
}

void variance_of_rows(const float *table, int rows, int columns, double *variance) {
#pragma omp parallel for
  for (int row = 0; row < rows; row++) {
    double sum = 0, squares = 0;
    float least = 3e38f;
#pragma omp simd reduction(+ : sum, squares) reduction(min : least)
    for (int k = 0; k < columns; k++) {
      float value = table[row * columns + k];
      sum += value;
      squares += (double)value * value;
      least = value < least ? value : least;
    }
    variance[row] = (squares / columns - sum / columns * (sum / columns)) / (1 + least);
  }
}

void volumes(const float *x, const float *y, const float *z, int groups, float *volume) {
#pragma omp parallel for
  for (int group = 0; group < groups; group++) {
    const float *of[3] = {x + 64 * group, y + 64 * group, z + 64 * group};
    float product = 1;
    for (int axis = 0; axis < 3; axis++) {
      float low = 3e38f, high = -3e38f;
#pragma omp simd reduction(min : low) reduction(max : high)
      for (int k = 0; k < 64; k++) {
        low = of[axis][k] < low ? of[axis][k] : low;
        high = of[axis][k] > high ? of[axis][k] : high;
      }
      product *= high - low;
    }
    volume[group] = product;
  }
}

void recurrences(const float *factor, const float *summand, int rows, int columns, float *y) {
#pragma omp parallel for
  for (int row = 0; row < rows; row++) {
    float before = 0;
    for (int k = row * columns; k < row * columns + columns; k++) y[k] = before = factor[k] * before + summand[k];
  }
}

void totals_of_kinds(int n, const unsigned char *kind, const int *amount, int *total, int *most) {
#pragma omp parallel for reduction(+ : total[ : 16]) reduction(max : most[ : 16])
  for (int i = 0; i < n; i++) {
    if (amount[i] < 100) continue;
    total[kind[i]] += amount[i];
    most[kind[i]] = amount[i] > most[kind[i]] ? amount[i] : most[kind[i]];
  }
}
