/* Surfaces: CUDA arrays that kernels read and write. (CUDA C programming guide 11.2, surface functions)
 *
 * x counts bytes, y and z count rows and slices. An access outside of the array ends the launch (the default), is
 * clamped to the edge, or reads 0 and writes nothing. As for the texture functions, each function is defined once for
 * references, objects and results through a pointer. */
#ifndef MOONWARP_SURFACE_FUNCTIONS_H
#define MOONWARP_SURFACE_FUNCTIONS_H

#ifdef __MW_NVPTX__
#include "../../nvptx/surfaces.h"
#else

#include "moonwarp/debug.h"
#include "moonwarp/texture/surface_bits.h"
#include "moonwarp/texture/texture_address.h"
#include "moonwarp/texture/texture_format.h"

/* The address of `bytes` at a position, and whether they are inside. */
struct __mw_surface_place {
  char *at;
  bool inside;
};

__mw_device __mw_surface_place __mw_surface_find(const mw_tex_record *r, int x, int y, int z, int slices, int bytes,
                                                 cudaSurfaceBoundaryMode mode) {
  const mw_tex_level *level = r->levels;
  int last = (int)(__mw_fixed(level->width) * __mw_fixed(r->texel_bytes)) - bytes,
      height = (int)__mw_fixed(level->height);
  bool inside = (x >= 0) & (x <= last) & ((unsigned int)y < (unsigned int)height);
  inside &= (unsigned int)z < (unsigned int)slices;
  if (mode == cudaBoundaryModeTrap && !inside) __trap();
  if (mode == cudaBoundaryModeClamp) {
    x = __mw_tex_between(x, 0, last);
    y = __mw_tex_between(y, 0, height - 1);
    z = __mw_tex_between(z, 0, slices - 1);
    inside = true;
  }
  char *row = (char *)__mw_fixed(level->base) + (long long)z * (long long)__mw_fixed(level->slice_pitch) +
              (long long)y * (long long)__mw_fixed(level->row_pitch);
  return {row + x, inside};
}

template <class T> __mw_device_template T __mw_surface_read(const __mw_surface_place &place) {
  typedef typename __mw_surface_bits<sizeof(T)>::type bits;
  bits value = bits();
  if (place.inside) value = *(const bits *)place.at;
  return __builtin_bit_cast(T, value);
}
template <class T> __mw_device_template void __mw_surface_write(const T &value, const __mw_surface_place &place) {
  typedef typename __mw_surface_bits<sizeof(T)>::type bits;
  if (place.inside) *(bits *)place.at = __builtin_bit_cast(bits, value);
}

#define __mw_surface_list(...) __VA_ARGS__
/* `...` is the position in texels, x, y and z, and the number of slices. */
#define __mw_surface_forms(name, header, handle, parameters, ...)                                                      \
  template <__mw_surface_list header>                                                                                  \
  __mw_device_template T name##read(__mw_surface_list handle surf, __mw_surface_list parameters,                       \
                                    cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                             \
    const mw_tex_record *r = __mw_record(surf);                                                                        \
    return __mw_surface_read<T>(__mw_surface_find(r, __VA_ARGS__, (int)sizeof(T), mode));                              \
  }                                                                                                                    \
  template <__mw_surface_list header>                                                                                  \
  __mw_device_template void name##read(T *to, __mw_surface_list handle surf, __mw_surface_list parameters,             \
                                       cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                          \
    const mw_tex_record *r = __mw_record(surf);                                                                        \
    *to = __mw_surface_read<T>(__mw_surface_find(r, __VA_ARGS__, (int)sizeof(T), mode));                               \
  }                                                                                                                    \
  template <__mw_surface_list header>                                                                                  \
  __mw_device_template void name##write(T value, __mw_surface_list handle surf, __mw_surface_list parameters,          \
                                        cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                         \
    const mw_tex_record *r = __mw_record(surf);                                                                        \
    __mw_surface_write<T>(value, __mw_surface_find(r, __VA_ARGS__, (int)sizeof(T), mode));                             \
  }
#define __mw_surface_functions(name, type, parameters, ...)                                                            \
  __mw_surface_forms(name, (class T), (cudaSurfaceObject_t), parameters, __VA_ARGS__);                                 \
  __mw_surface_forms(name, (class T, class V), (surface<V, type>), parameters, __VA_ARGS__);

__mw_surface_functions(surf1D, cudaSurfaceType1D, (int x), x, 0, 0, 1);
__mw_surface_functions(surf2D, cudaSurfaceType2D, (int x, int y), x, y, 0, 1);
__mw_surface_functions(surf3D, cudaSurfaceType3D, (int x, int y, int z), x, y, z, (int)__mw_fixed(r->levels[0].depth));
__mw_surface_functions(surf1DLayered, cudaSurfaceType1DLayered, (int x, int layer), x, 0, layer,
                       (int)__mw_fixed(r->layers));
__mw_surface_functions(surf2DLayered, cudaSurfaceType2DLayered, (int x, int y, int layer), x, y, layer,
                       (int)__mw_fixed(r->layers));
__mw_surface_functions(surfCubemap, cudaSurfaceTypeCubemap, (int x, int y, int face), x, y, face, 6);
__mw_surface_functions(surfCubemapLayered, cudaSurfaceTypeCubemapLayered, (int x, int y, int layer_face), x, y,
                       layer_face, 6 * (int)__mw_fixed(r->layers));

#undef __mw_surface_functions
#undef __mw_surface_forms
#undef __mw_surface_list

#endif

#endif
