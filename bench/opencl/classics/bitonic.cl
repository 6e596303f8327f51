kernel void bitonic(int n, int distance_, int run, global uint *data) {
  int i = get_global_id(0), partner = i ^ distance_;
  if (i >= n || partner <= i) return;
  uint a = data[i], b = data[partner];
  int up = (i & run) == 0;
  if ((a > b) == up) {
    data[i] = b;
    data[partner] = a;
  }
}
