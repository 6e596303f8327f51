-- Pi by throwing darts: each thread has its own random generator, seeded by its number.

local mw = require "moonwarp"

local m = mw.compile [==[
__device__ unsigned next(unsigned &state) {           // PCG's output of a linear congruence
  state = state * 747796405u + 2891336453u;
  unsigned word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
  return (word >> 22) ^ word;
}
__global__ void darts(int throws, unsigned long long *hits) {
  unsigned state = blockIdx.x * blockDim.x + threadIdx.x, inside = 0;
  next(state);
  for (int i = 0; i < throws; i++) {
    float x = next(state) * 2.3283064e-10f, y = next(state) * 2.3283064e-10f;
    inside += x * x + y * y < 1;
  }
  atomicAdd(hits, (unsigned long long)inside);
}
]==]

local threads, throws = 4096, 1000
local hits = mw.zeros(1, "ulonglong")
m.darts(threads / 256, 256)(throws, hits)

local pi = 4 * hits[1] / (threads * throws)
print(("%.2f"):format(pi), math.abs(pi - math.pi) < 0.005) --> 3.14 true
