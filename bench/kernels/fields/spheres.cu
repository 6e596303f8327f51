// Mirroring balls over a plane: each ray is followed through up to four reflections. A sphere is centre and radius.
struct ray {
  float3 from, way;
};
__device__ float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ float3 along(float3 from, float t, float3 way) {
  return make_float3(from.x + t * way.x, from.y + t * way.y, from.z + t * way.z);
}

// The distance to the nearest sphere, and which; 1e30 where there is none.
__device__ float nearest(ray r, int count, const float4 *spheres, int *which) {
  float least = 1e30f;
  for (int s = 0; s < count; s++) {
    float3 to = make_float3(spheres[s].x - r.from.x, spheres[s].y - r.from.y, spheres[s].z - r.from.z);
    float middle = dot(to, r.way), inside = middle * middle - dot(to, to) + spheres[s].w * spheres[s].w;
    if (inside <= 0) continue;
    float t = middle - sqrtf(inside);
    if (t > 1e-3f && t < least) {
      least = t;
      *which = s;
    }
  }
  return least;
}

__global__ void spheres(int width, int height, int count, const float4 *spheres, float *out) {
  int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) return;
  ray r = {{0, 1, -4}, {(px - width * 0.5f) / height, (height * 0.5f - py) / height, 1}};
  float length = sqrtf(dot(r.way, r.way));
  r.way = make_float3(r.way.x / length, r.way.y / length, r.way.z / length);
  float light = 0, strength = 1;
  for (int bounce = 0; bounce < 5; bounce++) {
    int which = 0;
    float t = nearest(r, count, spheres, &which);
    if (t == 1e30f) {
      if (r.way.y < 0) { // a chequered plane
        float3 at = along(r.from, -r.from.y / r.way.y, r.way);
        light += strength * ((int)floorf(at.x) + (int)floorf(at.z) & 1 ? 0.9f : 0.2f);
      } else {
        light += strength * (0.5f + 0.5f * r.way.y);
      }
      break;
    }
    r.from = along(r.from, t, r.way);
    float4 s = spheres[which];
    float3 normal = make_float3((r.from.x - s.x) / s.w, (r.from.y - s.y) / s.w, (r.from.z - s.z) / s.w);
    r.way = along(r.way, -2 * dot(normal, r.way), normal);
    strength *= 0.7f;
  }
  out[py * width + px] = light;
}
