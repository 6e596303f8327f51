-- A module with references of every kind, and kernels that read the records of textures, for the texture specs.

local mw = require "moonwarp"

local m = mw.compile [[
texture<float, 2, cudaReadModeElementType> img;
texture<float> line;
texture<uchar4, 2, cudaReadModeNormalizedFloat> pic;
texture<uchar4, cudaTextureType2D> raw;
texture<short2, cudaTextureType2DLayered> stack;
texture<float, cudaTextureType3D> volume;
texture<float, cudaTextureTypeCubemap> sky;
texture<float, cudaTextureType1DLayered> lines;
texture<float, cudaTextureTypeCubemapLayered> skies;
namespace ns { static texture<int> inside; }
surface<void, cudaSurfaceType2D> canvas;
__device__ float plain;

// Texel (x, y) through the record: fetches are specified elsewhere.
__device__ float texel(const mw_tex_record *r, int x, int y) {
  return ((const float *)(r->levels[0].base + y * r->levels[0].row_pitch))[x];
}
__global__ void read(int x, int y, float *out) { *out = texel(__mw_record(img), x, y); }
__global__ void read_line(int x, float *out) { *out = texel(__mw_record(line), x, 0); }
__global__ void read_inside(int *out) { *out = *(const int *)__mw_record(ns::inside)->levels[0].base; }
__device__ __noinline__ float deep(int n) { return n > 0 ? deep(n - 1) : texel(__mw_record(img), 0, 0); }
__global__ void read_deep(float *out) { *out = deep(3); }
template <int N> __global__ void read_times(float *out) { *out = N * texel(__mw_record(img), 0, 0); }
__global__ void read_nothing(float *out) { *out = 7; }
__global__ void size_of(unsigned *out) {
  out[0] = __mw_record(img)->levels[0].width; out[1] = __mw_record(img)->levels[0].height;
}
__global__ void sampler(cudaTextureObject_t t, float *out) {
  const mw_tex_record *r = __mw_record(t);
  float values[] = {(float)r->address[0], (float)r->address[1], (float)r->address[2], (float)r->filter, (float)r->read,
                    (float)r->normalized, (float)r->srgb, (float)r->seamless, r->border[0], r->border[1], r->border[2],
                    r->border[3], (float)r->mip_filter, r->lod_bias, r->lod_min, r->lod_max};
  for (int i = 0; i < 16; i++) out[i] = values[i];
}
__global__ void filter_of(int rounds, volatile int *sink, unsigned *out) {
  for (int i = 0; i < rounds; i++) *sink = i;
  *out = __mw_record(img)->filter;
}
__global__ void late(int rounds, volatile int *sink, float *out) {
  for (int i = 0; i < rounds; i++) *sink = i;
  *out = texel(__mw_record(img), 0, 0);
}
__global__ void read_object(cudaTextureObject_t t, int x, int y, float *out) { *out = texel(__mw_record(t), x, y); }
struct Scene { int x, y; cudaTextureObject_t background; };
__global__ void read_scene(Scene s, float *out) { *out = texel(__mw_record(s.background), s.x, s.y); }
__global__ void read_all(int n, const cudaTextureObject_t *list, float *out) {
  for (int i = 0; i < n; i++) out[i] = texel(__mw_record(list[i]), 0, 0);
}
__global__ void paint(float value) {
  const mw_tex_record *r = __mw_record(canvas);
  float *row = (float *)(r->levels[0].base + threadIdx.y * r->levels[0].row_pitch);
  row[threadIdx.x] = value + 10 * threadIdx.y + threadIdx.x;
}
__global__ void paint_object(cudaSurfaceObject_t s, float value) { *(float *)__mw_record(s)->levels[0].base = value; }
]]

local function read(x, y)
  local out = mw.zeros(1)
  m.read(1, 1)(x, y, out)
  return out[1]
end

local function sampler(texture)
  local out = mw.zeros(16)
  m.sampler(1, 1)(texture, out)
  return out:totable()
end

local rows = mw.arange(12):reshape(3, 4) -- 10 y + x would be 4 y + x

return { module = m, read = read, sampler = sampler, rows = rows }
