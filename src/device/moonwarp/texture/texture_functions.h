/* The texture fetch functions, on references and on objects. (CUDA C programming guide 1.1, 4.4.5 and appendix F; 11.2,
 * texture functions)
 *
 * Each function is defined once, by its name, its type of reference, its parameters, and an expression of a reader. The
 * macro expands it to CUDA's three forms: for a reference, whose declaration determines the result's type; for an
 * object, with an explicit type; and for an object with a pointer to the result. */
#ifndef MOONWARP_TEXTURE_FUNCTIONS_H
#define MOONWARP_TEXTURE_FUNCTIONS_H

#ifdef __MW_NVPTX__
#include "../../nvptx/textures.h"
#else

#include "moonwarp/texture/texture_cube.h"
#include "moonwarp/texture/texture_fetch.h"

/* Layers are clamped as unsigned numbers: past the last one, and before the first, is the last one. */
__mw_device int __mw_tex_layer(const mw_tex_record *r, int layer) {
  return (unsigned int)layer < __mw_fixed(r->layers) ? layer : (int)__mw_fixed(r->layers) - 1;
}

/* ---- levels of detail from gradients, in texels of the largest level ---- */

__mw_device float __mw_tex_square_length(const mw_tex_record *r, float x, float y, float z) {
  bool normalized = __mw_fixed(r->normalized) != 0;
  const mw_tex_level *level = r->levels;
  float u = normalized ? x * (float)__mw_fixed(level->width) : x,
        v = normalized ? y * (float)__mw_fixed(level->height) : y;
  float w = normalized ? z * (float)__mw_fixed(level->depth) : z;
  return u * u + v * v + w * w;
}

__mw_device float __mw_tex_slope(const mw_tex_record *r, float dx, float dy) {
  if (__mw_fixed(r->level_count) == 1) return 0;
  return __mw_tex_detail(__mw_tex_square_length(r, dx, 0, 0), __mw_tex_square_length(r, dy, 0, 0));
}
__mw_device float __mw_tex_slope(const mw_tex_record *r, float2 dx, float2 dy) {
  if (__mw_fixed(r->level_count) == 1) return 0;
  return __mw_tex_detail(__mw_tex_square_length(r, dx.x, dx.y, 0), __mw_tex_square_length(r, dy.x, dy.y, 0));
}
__mw_device float __mw_tex_slope(const mw_tex_record *r, float4 dx, float4 dy) {
  if (__mw_fixed(r->level_count) == 1) return 0;
  return __mw_tex_detail(__mw_tex_square_length(r, dx.x, dx.y, dx.z), __mw_tex_square_length(r, dy.x, dy.y, dy.z));
}

/* The distance by which the position on the face moves if the direction changes by d. */
__mw_device float __mw_cube_square_length(const mw_tex_record *r, const __mw_facing &at, float4 d) {
  int n = at.number;
  float right = n == 0 ? -d.z : n == 1 ? d.z : n == 5 ? -d.x : d.x;
  float down = n == 2 ? d.z : n == 3 ? -d.z : -d.y;
  float out = n == 0 ? d.x : n == 1 ? -d.x : n == 2 ? d.y : n == 3 ? -d.y : n == 4 ? d.z : -d.z;
  float scale = 0.5f * (float)__mw_fixed(r->levels[0].width) / (at.out * at.out);
  float u = (right * at.out - at.right * out) * scale, v = (down * at.out - at.down * out) * scale;
  return u * u + v * v;
}
__mw_device float __mw_cube_slope(const mw_tex_record *r, float x, float y, float z, float4 dx, float4 dy) {
  if (__mw_fixed(r->level_count) == 1) return 0;
  __mw_facing at = __mw_cube_facing(x, y, z);
  return __mw_tex_detail(__mw_cube_square_length(r, at, dx), __mw_cube_square_length(r, at, dy));
}

/* ---- the functions ---- */

#define __mw_tex_list(...) , __VA_ARGS__
/* `...` is an expression of the reader R and the record r. */
#define __mw_tex_function(name, type, result, parameters, ...)                                                         \
  template <class T, cudaTextureReadMode Mode>                                                                         \
  __mw_device_template typename __mw_reader_of<T, Mode>::result name(                                                  \
      texture<T, type, Mode> reference __mw_tex_list parameters) {                                                     \
    typedef __mw_reader_of<T, Mode> R;                                                                                 \
    const mw_tex_record *r = __mw_record(reference);                                                                   \
    return __VA_ARGS__;                                                                                                \
  }                                                                                                                    \
  template <class T> __mw_device_template T name(cudaTextureObject_t object __mw_tex_list parameters) {                \
    typedef __mw_reader_of<T, __mw_tex_any_mode> R;                                                                    \
    const mw_tex_record *r = __mw_record(object);                                                                      \
    return __VA_ARGS__;                                                                                                \
  }                                                                                                                    \
  template <class T> __mw_device_template void name(T *to, cudaTextureObject_t object __mw_tex_list parameters) {      \
    typedef __mw_reader_of<T, __mw_tex_any_mode> R;                                                                    \
    const mw_tex_record *r = __mw_record(object);                                                                      \
    *to = __VA_ARGS__;                                                                                                 \
  }

/* A function without, with an explicit and with a computed level of detail. S is the sampling position. */
#define __mw_tex_sampler(name, type, D, S, parameters, steps, slope)                                                   \
  __mw_tex_function(name, type, result, (__mw_tex_unlist parameters), R::template at<D>(r, S, __mw_tex_unnamed));      \
  __mw_tex_function(name##Lod, type, result, (__mw_tex_unlist parameters, float level),                                \
                    R::template at<D>(r, S, level));                                                                   \
  __mw_tex_function(name##Grad, type, result, (__mw_tex_unlist parameters, steps dx, steps dy),                        \
                    R::template at<D>(r, S, slope));
#define __mw_tex_unlist(...) __VA_ARGS__

__mw_tex_function(tex1Dfetch, cudaTextureType1D, result, (int x), R::element(r, x));
__mw_tex_function(tex2Dgather, cudaTextureType2D, quad, (float x, float y, int component = 0),
                  R::gather(r, x, y, component));

#define __mw_tex_at(x, y, z, slice) (__mw_tex_position{x, y, z, slice, false, false})
#define __mw_cube_at(slice)         (__mw_tex_position{x, y, z, slice, true, false})

__mw_tex_sampler(tex1D, cudaTextureType1D, 1, __mw_tex_at(x, 0, 0, 0), (float x), float, __mw_tex_slope(r, dx, dy));
__mw_tex_sampler(tex2D, cudaTextureType2D, 2, __mw_tex_at(x, y, 0, 0), (float x, float y), float2,
                 __mw_tex_slope(r, dx, dy));
__mw_tex_sampler(tex3D, cudaTextureType3D, 3, __mw_tex_at(x, y, z, 0), (float x, float y, float z), float4,
                 __mw_tex_slope(r, dx, dy));
__mw_tex_sampler(tex1DLayered, cudaTextureType1DLayered, 1, __mw_tex_at(x, 0, 0, __mw_tex_layer(r, layer)),
                 (float x, int layer), float, __mw_tex_slope(r, dx, dy));
__mw_tex_sampler(tex2DLayered, cudaTextureType2DLayered, 2, __mw_tex_at(x, y, 0, __mw_tex_layer(r, layer)),
                 (float x, float y, int layer), float2, __mw_tex_slope(r, dx, dy));
__mw_tex_sampler(texCubemap, cudaTextureTypeCubemap, 0, __mw_cube_at(0), (float x, float y, float z), float4,
                 __mw_cube_slope(r, x, y, z, dx, dy));
__mw_tex_sampler(texCubemapLayered, cudaTextureTypeCubemapLayered, 0, __mw_cube_at(6 * __mw_tex_layer(r, layer)),
                 (float x, float y, float z, int layer), float4, __mw_cube_slope(r, x, y, z, dx, dy));

#undef __mw_tex_at
#undef __mw_cube_at
#undef __mw_tex_sampler
#undef __mw_tex_function
#undef __mw_tex_list
#undef __mw_tex_unlist

#endif

#endif
