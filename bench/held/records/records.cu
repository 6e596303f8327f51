// Threads that have records of their own, by number and by index.

// Forces between a body (place and mass) and its neighbours, which a table names.
__global__ void neighbour_forces(int n, int near, const float *bodies, const int *neighbour, float *force) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = bodies[4 * i], y = bodies[4 * i + 1], z = bodies[4 * i + 2], fx = 0, fy = 0, fz = 0;
  for (int k = 0; k < near; k++) {
    int other = 4 * neighbour[k * n + i];
    float dx = bodies[other] - x, dy = bodies[other + 1] - y, dz = bodies[other + 2] - z;
    float square = dx * dx + dy * dy + dz * dz + 0.01f, scale = bodies[other + 3] / (square * square);
    fx += dx * scale, fy += dy * scale, fz += dz * scale;
  }
  force[3 * i] = fx, force[3 * i + 1] = fy, force[3 * i + 2] = fz;
}

// A gas in cells of density, momentum, energy and a tracer: accelerated, in place.
__global__ void accelerate(int n, double dt, double gx, double gy, double *cells) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double *c = cells + 5 * i;
  double density = c[0], mx = c[1], my = c[2];
  double u = mx / density + dt * gx, v = my / density + dt * gy;
  double inner = c[3] - 0.5 * (mx * mx + my * my) / density;
  c[1] = density * u, c[2] = density * v;
  c[3] = inner + 0.5 * density * (u * u + v * v);
  c[4] += dt * u;
}

// The areas of triangles, and their normals' third component, in the order of a list.
__global__ void triangle_areas(int n, const float *mesh, const int *order, float *area, float *up) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int t = 9 * order[i];
  float px = mesh[t + 3] - mesh[t], py = mesh[t + 4] - mesh[t + 1], pz = mesh[t + 5] - mesh[t + 2];
  float qx = mesh[t + 6] - mesh[t], qy = mesh[t + 7] - mesh[t + 1], qz = mesh[t + 8] - mesh[t + 2];
  float nx = py * qz - pz * qy, ny = pz * qx - px * qz, nz = px * qy - py * qx;
  area[i] = 0.5f * sqrtf(nx * nx + ny * ny + nz * nz);
  up[i] = nz;
}

// Inverses of matrices of 3 x 3.
__global__ void invert_3x3(int n, const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float *m = in + 9 * i;
  float *r = out + 9 * i;
  float a = m[4] * m[8] - m[5] * m[7], b = m[5] * m[6] - m[3] * m[8], c = m[3] * m[7] - m[4] * m[6];
  float d = m[2] * m[7] - m[1] * m[8], e = m[0] * m[8] - m[2] * m[6], f = m[1] * m[6] - m[0] * m[7];
  float g = m[1] * m[5] - m[2] * m[4], h = m[2] * m[3] - m[0] * m[5], k = m[0] * m[4] - m[1] * m[3];
  float scale = 1 / (m[0] * a + m[1] * b + m[2] * c);
  r[0] = a * scale, r[1] = d * scale, r[2] = g * scale;
  r[3] = b * scale, r[4] = e * scale, r[5] = h * scale;
  r[6] = c * scale, r[7] = f * scale, r[8] = k * scale;
}

// Lines of orders (customer, product, count, price, day, state): those of some days are priced and marked.
__global__ void price_lines(int n, int first, int last, int *lines, int *due) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int *l = lines + 6 * i;
  int customer = l[0], product = l[1], count = l[2], price = l[3], day = l[4], sum = 0;
  if (day >= first && day < last) {
    sum = count * price;
    if (count > 40) sum -= sum / 16;
    l[5] = 1;
  }
  due[i] = sum + customer % 7 + product % 3;
}
