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
