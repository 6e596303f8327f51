// Prints values of cuRAND's device functions: the generator, what, and the values' bits. device_functions.txt has NVIDIA's.
#include <curand_kernel.h>

__device__ void show(unsigned x) { printf(" %08x", x); }
__device__ void show(unsigned long long x) { printf(" %08x%08x", (unsigned)(x >> 32), (unsigned)x); }
__device__ void show(float x) { show(__float_as_uint(x)); }
__device__ void show(double x) { show((unsigned long long)__double_as_longlong(x)); }
__device__ void show(float2 x) { show(x.x); show(x.y); }
__device__ void show(double2 x) { show(x.x); show(x.y); }
__device__ void show(uint4 x) { show(x.x); show(x.y); show(x.z); show(x.w); }
__device__ void show(float4 x) { show(x.x); show(x.y); show(x.z); show(x.w); }
#define ROW(name, what, count, value) { printf("%s %s", name, what); for (int i = 0; i < count; i++) show(value); printf("\n"); }
#define ROW4D(name, what, count, value) { printf("%s %s", name, what); for (int i = 0; i < count; i++) { auto q = value; show(q.x); show(q.y); show(q.z); show(q.w); } printf("\n"); }

template <class S> __device__ void common(const char *name, S state, curandDiscreteDistribution_t table, curandDiscreteDistribution_t gauss) {
  S s = state;
  ROW(name, "bits", 8, curand(&s)); s = state;
  ROW(name, "uniform", 8, curand_uniform(&s)); s = state;
  ROW(name, "uniform_double", 8, curand_uniform_double(&s)); s = state;
  ROW(name, "normal", 16, curand_normal(&s)); s = state;
  ROW(name, "normal_double", 16, curand_normal_double(&s)); s = state;
  ROW(name, "log_normal", 8, curand_log_normal(&s, 0.5f, 0.75f)); s = state;
  ROW(name, "log_normal_double", 8, curand_log_normal_double(&s, 0.5, 0.75)); s = state;
  ROW(name, "poisson_0.5", 8, curand_poisson(&s, 0.5)); s = state;
  ROW(name, "poisson_30", 8, curand_poisson(&s, 30.0)); s = state;
  ROW(name, "poisson_63.9", 8, curand_poisson(&s, 63.9)); s = state;
  ROW(name, "poisson_100", 16, curand_poisson(&s, 100.0)); s = state;
  ROW(name, "poisson_999", 16, curand_poisson(&s, 999.0)); s = state;
  ROW(name, "poisson_2500", 16, curand_poisson(&s, 2500.0)); s = state;
  ROW(name, "poisson_4001", 8, curand_poisson(&s, 4001.0)); s = state;
  ROW(name, "poisson_123456", 8, curand_poisson(&s, 123456.0)); s = state;
  ROW(name, "discrete_table", 16, curand_discrete(&s, table)); s = state;
  ROW(name, "discrete_normal", 8, curand_discrete(&s, gauss)); s = state;
}
template <class S> __device__ void pairs(const char *name, S state) {
  S s = state;
  ROW(name, "normal2", 8, curand_normal2(&s)); s = state;
  ROW(name, "normal2_double", 8, curand_normal2_double(&s)); s = state;
  ROW(name, "log_normal2", 4, curand_log_normal2(&s, 0.5f, 0.75f)); s = state;
  ROW(name, "log_normal2_double", 4, curand_log_normal2_double(&s, 0.5, 0.75)); s = state;
  for (int i = 0; i < 4; i++) { curand_normal(&s); skipahead(12345678901ull, &s); skipahead_sequence(987654321ull, &s); ROW(name, "jumped", 2, curand(&s)); }
  S t;
  unsigned long long seeds[] = {0, 1, 1234, 987654321, 9223372036854775813ull}, offsets[] = {0, 1, 3, 4096, 1000007};
  for (auto seed : seeds) for (auto offset : offsets) { curand_init(seed, 77ull * (offset + 1), offset, &t); ROW(name, "init", 2, curand(&t)); }
}
__global__ void values() {
  double V[7] = {0.1, 0.2, 0.4, 0.5, 0.6, 0.7222222, 1};
  unsigned K[7] = {3, 3, 4, 1, 2, 0, 6};
  curandHistogramM2_st h = {V, V, K, K, 0};
  curandDistributionM2Shift_st m2 = {&h, &h, 100, 7, 0};
  curandDiscreteDistribution_st table = {0, &m2, &m2, 20.0, 3000.25, CURAND_M2, 0}, gauss = {0, &m2, &m2, 20.0, 3000.25, CURAND_DISCRETE_GAUSS, 0};
  printf("sizes x %u %u %u %u %u %u\n", (unsigned)sizeof(curandState), (unsigned)sizeof(curandStatePhilox4_32_10_t), (unsigned)sizeof(curandStateMRG32k3a), (unsigned)sizeof(curandStateMtgp32_t), (unsigned)sizeof(curandStateSobol32_t), (unsigned)sizeof(curandStateScrambledSobol64_t));
  curandState x; curand_init(1234ull, 5ull, 2ull, &x); common("xorwow", x, &table, &gauss); pairs("xorwow", x);
  curandStateMRG32k3a m; curand_init(1234ull, 5ull, 2ull, &m); common("mrg32k3a", m, &table, &gauss); pairs("mrg32k3a", m);
  curandStatePhilox4_32_10_t p; curand_init(1234ull, 5ull, 2ull, &p); common("philox", p, &table, &gauss); pairs("philox", p);
  curandStatePhilox4_32_10_t s = p;
  ROW("philox", "bits4", 3, curand4(&s)); s = p;
  ROW("philox", "uniform4", 3, curand_uniform4(&s)); s = p;
  ROW("philox", "uniform2_double", 3, curand_uniform2_double(&s)); s = p;
  ROW4D("philox", "uniform4_double", 2, curand_uniform4_double(&s)); s = p;
  ROW("philox", "normal4", 3, curand_normal4(&s)); s = p;
  ROW4D("philox", "normal4_double", 2, curand_normal4_double(&s)); s = p;
  ROW("philox", "log_normal4", 3, curand_log_normal4(&s, 0.5f, 0.75f)); s = p;
  ROW4D("philox", "log_normal4_double", 2, curand_log_normal4_double(&s, 0.5, 0.75)); s = p;
  ROW("philox", "poisson4_30", 3, curand_poisson4(&s, 30.0)); s = p;
  ROW("philox", "poisson4_500", 3, curand_poisson4(&s, 500.0)); s = p;
  ROW("philox", "poisson4_5000", 3, curand_poisson4(&s, 5000.0)); s = p;
  ROW("philox", "discrete4_table", 3, curand_discrete4(&s, &table)); s = p;
  ROW("philox", "discrete4_normal", 3, curand_discrete4(&s, &gauss));
  unsigned v[32]; unsigned long long w[64];
  for (int i = 0; i < 64; i++) { w[i] = (0x9e3779b97f4a7c15ull * (i + 1)) | 1ull << (63 - i); if (i < 32) v[i] = (unsigned)(w[i] >> 32); }
  curandStateSobol32_t a; curand_init(v, 77u, &a); common("sobol32", a, &table, &gauss); skipahead(1000007u, &a); ROW("sobol32", "jumped", 4, curand(&a));
  curandStateScrambledSobol32_t b; curand_init(v, 0x12345678u, 77u, &b); common("scrambled_sobol32", b, &table, &gauss); skipahead(1000007u, &b); ROW("scrambled_sobol32", "jumped", 4, curand(&b));
  curandStateSobol64_t c; curand_init(w, 77ull, &c); common("sobol64", c, &table, &gauss); skipahead(1000007ull, &c); ROW("sobol64", "jumped", 4, curand(&c));
  curandStateScrambledSobol64_t d; curand_init(w, 0x123456789abcdefull, 77ull, &d); common("scrambled_sobol64", d, &table, &gauss); skipahead(1000007ull, &d); ROW("scrambled_sobol64", "jumped", 4, curand(&d));
}
