float nearest(float3 from, float3 way, int count, global const float4 *spheres, int *which) {
  float least = 1e30f;
  for (int s = 0; s < count; s++) {
    float3 to = spheres[s].xyz - from;
    float middle = dot(to, way), inside = middle * middle - dot(to, to) + spheres[s].w * spheres[s].w;
    if (inside <= 0) continue;
    float t = middle - sqrt(inside);
    if (t > 1e-3f && t < least) {
      least = t;
      *which = s;
    }
  }
  return least;
}

kernel void spheres(int width, int height, int count, global const float4 *spheres, global float *out) {
  int px = get_global_id(0), py = get_global_id(1);
  if (px >= width || py >= height) return;
  float3 from = (float3)(0, 1, -4), way = (float3)((px - width * 0.5f) / height, (height * 0.5f - py) / height, 1);
  way = way / sqrt(dot(way, way));
  float light = 0, strength = 1;
  for (int bounce = 0; bounce < 5; bounce++) {
    int which = 0;
    float t = nearest(from, way, count, spheres, &which);
    if (t == 1e30f) {
      if (way.y < 0) {
        float3 at = from - from.y / way.y * way;
        light += strength * ((int)floor(at.x) + (int)floor(at.z) & 1 ? 0.9f : 0.2f);
      } else {
        light += strength * (0.5f + 0.5f * way.y);
      }
      break;
    }
    from += t * way;
    float4 s = spheres[which];
    float3 normal = (from - s.xyz) / s.w;
    way -= 2 * dot(normal, way) * normal;
    strength *= 0.7f;
  }
  out[py * width + px] = light;
}
