-- Bodies that attract each other: each thread moves one of them, and the block reads the others tile by tile into
-- shared memory. The remaining momentum shows how well the forces balance.

local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void move(int n, float dt, const float4 *from, float4 *to, float4 *speed) {
  __shared__ float4 tile[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 me = from[i];
  float3 force = make_float3(0, 0, 0);
  for (int first = 0; first < n; first += 128) {
    tile[threadIdx.x] = from[first + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < 128; k++) {
      float dx = tile[k].x - me.x, dy = tile[k].y - me.y, dz = tile[k].z - me.z;
      float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      float pull = tile[k].w * r * r * r;
      force.x += pull * dx, force.y += pull * dy, force.z += pull * dz;
    }
    __syncthreads();
  }
  float4 v = speed[i];
  v.x += dt * force.x, v.y += dt * force.y, v.z += dt * force.z;
  speed[i] = v;
  to[i] = make_float4(me.x + dt * v.x, me.y + dt * v.y, me.z + dt * v.z, me.w);
}
]==]

local n, bodies = 512, {}
for i = 1, n do
  local angle = i * 2.399963                          -- a sunflower's
  local radius = math.sqrt(i / n)
  bodies[i] = { radius * math.cos(angle), radius * math.sin(angle), (i % 7 - 3) / 30, 1 / n }
end
local now, next_, speed = mw.array(bodies, "float4"), mw.empty(n, "float4"), mw.zeros(n, "float4")
for _ = 1, 20 do
  m.move(n / 128, 128)(n, 0.01, now, next_, speed)
  now, next_ = next_, now
end

local px, fastest = 0, 0
for _, v in ipairs(speed:totable()) do
  px = px + v.x
  fastest = math.max(fastest, math.sqrt(v.x ^ 2 + v.y ^ 2 + v.z ^ 2))
end
print(math.abs(px / n) < 1e-5, fastest > 0.1 and fastest < 1) --> true true
