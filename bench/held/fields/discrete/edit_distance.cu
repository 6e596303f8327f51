// Edit distance of many pairs of short words: one thread per pair, one row of the table in local memory.
__global__ void edit_distance(int pairs, const unsigned char *first, const unsigned char *second, int *distance) {
  const int length = 24;
  int pair = blockIdx.x * blockDim.x + threadIdx.x;
  if (pair >= pairs) return;
  const unsigned char *a = first + pair * length, *b = second + pair * length;
  int row[length + 1];
  for (int j = 0; j <= length; j++) row[j] = j;
  for (int i = 1; i <= length; i++) {
    int diagonal = row[0];
    row[0] = i;
    for (int j = 1; j <= length; j++) {
      int substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = min(min(row[j] + 1, row[j - 1] + 1), substituted);
    }
  }
  distance[pair] = row[length];
}
