/* Surface functions as instructions of a GPU: unconverted elements of 1, 2, 4, 8 or 16 bytes. x counts bytes. The
 * instruction handles positions outside of the array. (PTX ISA, suld and sust) */
#ifndef MOONWARP_NVPTX_SURFACES_H
#define MOONWARP_NVPTX_SURFACES_H

#include "../moonwarp/texture/surface_bits.h"
#include "../moonwarp/texture/texture_types.h"

/* clang-format off */
#define __mw_surf_list(...) __VA_ARGS__
/* An element size: the contents of its registers, which are `values`, "%[..]" each. */
#define __mw_surf_size(name, geometry, place, mode, bits, between, values, outputs, inputs, parameters, operands)      \
  __mw_device void __mw_suld_##name##_##mode(between &v, unsigned long long surf, __mw_surf_list parameters) {         \
    asm volatile("suld.b." geometry "." bits "." #mode " {" values "}, [%[surf], " place "];"                          \
                 : __mw_surf_list outputs : [surf] "l"(surf), __mw_surf_list operands : "memory");                     \
  }                                                                                                                    \
  __mw_device void __mw_sust_##name##_##mode(const between &v, unsigned long long surf, __mw_surf_list parameters) {   \
    asm volatile("sust.b." geometry "." bits "." #mode " [%[surf], " place "], {" values "};"                          \
                 : : [surf] "l"(surf), __mw_surf_list operands, __mw_surf_list inputs : "memory");                     \
  }
#define __mw_surf_mode(name, geometry, place, mode, parameters, operands)                                              \
  __mw_surf_size(name, geometry, place, mode, "b16", unsigned short, "%[a]", ([a] "=h"(v)), ([a] "h"(v)),              \
                 parameters, operands)                                                                                 \
  __mw_surf_size(name, geometry, place, mode, "b32", unsigned int, "%[a]", ([a] "=r"(v)), ([a] "r"(v)),                \
                 parameters, operands)                                                                                 \
  __mw_surf_size(name, geometry, place, mode, "v2.b32", __mw_two_words, "%[a], %[b]",                                  \
                 ([a] "=r"(v.x), [b] "=r"(v.y)), ([a] "r"(v.x), [b] "r"(v.y)), parameters, operands)                   \
  __mw_surf_size(name, geometry, place, mode, "v4.b32", __mw_four_words, "%[a], %[b], %[c], %[d]",                     \
                 ([a] "=r"(v.x), [b] "=r"(v.y), [c] "=r"(v.z), [d] "=r"(v.w)),                                         \
                 ([a] "r"(v.x), [b] "r"(v.y), [c] "r"(v.z), [d] "r"(v.w)), parameters, operands)                       \
  /* there is no register of 8 bits */                                                                                 \
  __mw_device void __mw_suld_##name##_##mode(unsigned char &v, unsigned long long surf, __mw_surf_list parameters) {   \
    unsigned short word;                                                                                               \
    asm volatile("suld.b." geometry ".b8." #mode " {%[a]}, [%[surf], " place "];"                                      \
                 : [a] "=h"(word) : [surf] "l"(surf), __mw_surf_list operands : "memory");                             \
    v = (unsigned char)word;                                                                                           \
  }                                                                                                                    \
  __mw_device void __mw_sust_##name##_##mode(const unsigned char &v, unsigned long long surf,                          \
                                             __mw_surf_list parameters) {                                              \
    asm volatile("sust.b." geometry ".b8." #mode " [%[surf], " place "], {%[a]};"                                      \
                 : : [surf] "l"(surf), __mw_surf_list operands, [a] "h"((unsigned short)v) : "memory");                \
  }
#define __mw_surf_geometry(name, geometry, place, parameters, operands, arguments)                                     \
  __mw_surf_mode(name, geometry, place, zero, parameters, operands)                                                    \
  __mw_surf_mode(name, geometry, place, clamp, parameters, operands)                                                   \
  __mw_surf_mode(name, geometry, place, trap, parameters, operands)                                                    \
  template <class T>                                                                                                   \
  __mw_device_template T __mw_surface_read_##name(unsigned long long surf, __mw_surf_list parameters,                  \
                                                  cudaSurfaceBoundaryMode mode) {                                      \
    typename __mw_surface_bits<sizeof(T)>::type bits;                                                                  \
    if (mode == cudaBoundaryModeZero)                                                                                  \
      __mw_suld_##name##_zero(bits, surf, __mw_surf_list arguments);                                                   \
    else if (mode == cudaBoundaryModeClamp)                                                                            \
      __mw_suld_##name##_clamp(bits, surf, __mw_surf_list arguments);                                                  \
    else                                                                                                               \
      __mw_suld_##name##_trap(bits, surf, __mw_surf_list arguments);                                                   \
    return __builtin_bit_cast(T, bits);                                                                                \
  }                                                                                                                    \
  template <class T>                                                                                                   \
  __mw_device_template void __mw_surface_write_##name(const T &value, unsigned long long surf,                         \
                                                      __mw_surf_list parameters, cudaSurfaceBoundaryMode mode) {       \
    auto bits = __builtin_bit_cast(typename __mw_surface_bits<sizeof(T)>::type, value);                                \
    if (mode == cudaBoundaryModeZero)                                                                                  \
      __mw_sust_##name##_zero(bits, surf, __mw_surf_list arguments);                                                   \
    else if (mode == cudaBoundaryModeClamp)                                                                            \
      __mw_sust_##name##_clamp(bits, surf, __mw_surf_list arguments);                                                  \
    else                                                                                                               \
      __mw_sust_##name##_trap(bits, surf, __mw_surf_list arguments);                                                   \
  }

__mw_surf_geometry(1d, "1d", "{%[x]}", (int x), ([x] "r"(x)), (x))
__mw_surf_geometry(2d, "2d", "{%[x], %[y]}", (int x, int y), ([x] "r"(x), [y] "r"(y)), (x, y))
__mw_surf_geometry(3d, "3d", "{%[x], %[y], %[z], %[z]}", (int x, int y, int z), ([x] "r"(x), [y] "r"(y), [z] "r"(z)),
                   (x, y, z))
__mw_surf_geometry(a1d, "a1d", "{%[z], %[x]}", (int x, int z), ([x] "r"(x), [z] "r"(z)), (x, z))
__mw_surf_geometry(a2d, "a2d", "{%[z], %[x], %[y], %[y]}", (int x, int y, int z),
                   ([x] "r"(x), [y] "r"(y), [z] "r"(z)), (x, y, z))
#undef __mw_surf_geometry
#undef __mw_surf_mode
#undef __mw_surf_size

/* ---- the functions: on references and on objects. A cubemap's faces are layers. ---- */

#define __mw_surface_forms(name, header, handle, geometry, parameters, arguments)                                      \
  template <__mw_surf_list header>                                                                                     \
  __mw_device_template T name##read(__mw_surf_list handle surf, __mw_surf_list parameters,                             \
                                    cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                             \
    return __mw_surface_read_##geometry<T>(__mw_handle_of(surf), __mw_surf_list arguments, mode);                      \
  }                                                                                                                    \
  template <__mw_surf_list header>                                                                                     \
  __mw_device_template void name##read(T *to, __mw_surf_list handle surf, __mw_surf_list parameters,                   \
                                       cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                          \
    *to = __mw_surface_read_##geometry<T>(__mw_handle_of(surf), __mw_surf_list arguments, mode);                       \
  }                                                                                                                    \
  template <__mw_surf_list header>                                                                                     \
  __mw_device_template void name##write(T value, __mw_surf_list handle surf, __mw_surf_list parameters,                \
                                        cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                         \
    __mw_surface_write_##geometry<T>(value, __mw_handle_of(surf), __mw_surf_list arguments, mode);                     \
  }
#define __mw_surface_functions(name, type, geometry, parameters, arguments)                                            \
  __mw_surface_forms(name, (class T), (cudaSurfaceObject_t), geometry, parameters, arguments)                          \
  __mw_surface_forms(name, (class T, class V), (surface<V, type>), geometry, parameters, arguments)

__mw_surface_functions(surf1D, cudaSurfaceType1D, 1d, (int x), (x))
__mw_surface_functions(surf2D, cudaSurfaceType2D, 2d, (int x, int y), (x, y))
__mw_surface_functions(surf3D, cudaSurfaceType3D, 3d, (int x, int y, int z), (x, y, z))
__mw_surface_functions(surf1DLayered, cudaSurfaceType1DLayered, a1d, (int x, int layer), (x, layer))
__mw_surface_functions(surf2DLayered, cudaSurfaceType2DLayered, a2d, (int x, int y, int layer), (x, y, layer))
__mw_surface_functions(surfCubemap, cudaSurfaceTypeCubemap, a2d, (int x, int y, int face), (x, y, face))
__mw_surface_functions(surfCubemapLayered, cudaSurfaceTypeCubemapLayered, a2d, (int x, int y, int layer_face),
                       (x, y, layer_face))
#undef __mw_surface_functions
#undef __mw_surface_forms
#undef __mw_surf_list
/* clang-format on */

#endif
