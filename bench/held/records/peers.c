/* The kernels of this folder as C with OpenMP. */
#include <math.h>

void neighbour_forces(int n, int near, float *bodies, int *neighbour, float *force) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    float x = bodies[4 * i], y = bodies[4 * i + 1], z = bodies[4 * i + 2], fx = 0, fy = 0, fz = 0;
    for (int k = 0; k < near; k++) {
      float *other = bodies + 4 * neighbour[k * n + i];
      float dx = other[0] - x, dy = other[1] - y, dz = other[2] - z;
      float square = dx * dx + dy * dy + dz * dz + 0.01f, scale = other[3] / (square * square);
      fx += dx * scale, fy += dy * scale, fz += dz * scale;
    }
    force[3 * i] = fx, force[3 * i + 1] = fy, force[3 * i + 2] = fz;
  }
}

void accelerate(int n, double dt, double gx, double gy, double *cells) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    double *c = cells + 5 * i;
    double u = c[1] / c[0] + dt * gx, v = c[2] / c[0] + dt * gy;
    double inner = c[3] - 0.5 * (c[1] * c[1] + c[2] * c[2]) / c[0];
    c[1] = c[0] * u, c[2] = c[0] * v;
    c[3] = inner + 0.5 * c[0] * (u * u + v * v);
    c[4] += dt * u;
  }
}

void triangle_areas(int n, float *mesh, int *order, float *area, float *up) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    float *a = mesh + 9 * order[i], *b = a + 3, *c = a + 6;
    float px = b[0] - a[0], py = b[1] - a[1], pz = b[2] - a[2];
    float qx = c[0] - a[0], qy = c[1] - a[1], qz = c[2] - a[2];
    float nx = py * qz - pz * qy, ny = pz * qx - px * qz, nz = px * qy - py * qx;
    area[i] = 0.5f * sqrtf(nx * nx + ny * ny + nz * nz);
    up[i] = nz;
  }
}

void invert_3x3(int n, float *restrict in, float *restrict out) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    float *m = in + 9 * i, *r = out + 9 * i;
    float a = m[4] * m[8] - m[5] * m[7], b = m[5] * m[6] - m[3] * m[8], c = m[3] * m[7] - m[4] * m[6];
    float d = m[2] * m[7] - m[1] * m[8], e = m[0] * m[8] - m[2] * m[6], f = m[1] * m[6] - m[0] * m[7];
    float g = m[1] * m[5] - m[2] * m[4], h = m[2] * m[3] - m[0] * m[5], k = m[0] * m[4] - m[1] * m[3];
    float scale = 1 / (m[0] * a + m[1] * b + m[2] * c);
    r[0] = a * scale, r[1] = d * scale, r[2] = g * scale;
    r[3] = b * scale, r[4] = e * scale, r[5] = h * scale;
    r[6] = c * scale, r[7] = f * scale, r[8] = k * scale;
  }
}

void price_lines(int n, int first, int last, int *lines, int *due) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    int *l = lines + 6 * i;
    int sum = 0;
    if (l[4] >= first && l[4] < last) {
      sum = l[2] * l[3];
      if (l[2] > 40) sum -= sum / 16;
      l[5] = 1;
    }
    due[i] = sum + l[0] % 7 + l[1] % 3;
  }
}
