// Sphere tracing of a scene of a rounded box and a torus above a floor, with one light and its shadow.
__device__ float scene(float3 p) {
  float floor_distance = p.y + 1.0f;
  float qx = fabsf(p.x + 1.2f) - 0.6f, qy = fabsf(p.y) - 0.6f, qz = fabsf(p.z - 4) - 0.6f;
  float mx = fmaxf(qx, 0), my = fmaxf(qy, 0), mz = fmaxf(qz, 0);
  float box = sqrtf(mx * mx + my * my + mz * mz) + fminf(fmaxf(qx, fmaxf(qy, qz)), 0) - 0.1f;
  float ring = hypotf(p.x - 1.2f, p.z - 4) - 0.8f;
  float torus = hypotf(ring, p.y) - 0.25f;
  return fminf(floor_distance, fminf(box, torus));
}
__device__ float march(float3 origin, float3 direction, float far, int steps) {
  float t = 0;
  for (int i = 0; i < steps && t < far; i++) {
    float d = scene(make_float3(origin.x + t * direction.x, origin.y + t * direction.y, origin.z + t * direction.z));
    if (d < 0.001f) return t;
    t += d;
  }
  return far;
}
__global__ void ray_march(int width, int height, float *shade) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float u = (x - width / 2) / (float)height, v = (height / 2 - y) / (float)height, inverse = rsqrtf(u * u + v * v + 1);
  float3 eye = make_float3(0, 0.5f, 0), direction = make_float3(u * inverse, v * inverse, inverse);
  float t = march(eye, direction, 20, 96), result = 0.1f;
  if (t < 20) {
    float3 p = make_float3(eye.x + t * direction.x, eye.y + t * direction.y, eye.z + t * direction.z);
    const float e = 0.001f;
    float here = scene(p);
    float nx = scene(make_float3(p.x + e, p.y, p.z)) - here, ny = scene(make_float3(p.x, p.y + e, p.z)) - here,
          nz = scene(make_float3(p.x, p.y, p.z + e)) - here, scale = rsqrtf(nx * nx + ny * ny + nz * nz);
    float3 light = make_float3(0.48f, 0.8f, -0.36f);
    float lit = fmaxf((nx * light.x + ny * light.y + nz * light.z) * scale, 0);
    float3 above = make_float3(p.x + nx * scale * 0.01f, p.y + ny * scale * 0.01f, p.z + nz * scale * 0.01f);
    result += march(above, light, 8, 48) < 8 ? 0.1f * lit : 0.9f * lit;
  }
  shade[y * width + x] = result;
}
