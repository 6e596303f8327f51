/* CUDA C's types for textures and surfaces: references at file scope, objects, and the enumerations of modes.
 *
 * A reference (texture<float, 2> img;) is a class of the kind that clang has for texture references: on the device it
 * is a 64-bit handle, and using it loads the handle that the host has bound. Objects are handles themselves. Handles
 * are addresses of records (texture_descriptor.h). */
#ifndef MOONWARP_TEXTURE_TYPES_H
#define MOONWARP_TEXTURE_TYPES_H

#include "moonwarp/texture/texture_descriptor.h"
#include "moonwarp/texture/texture_kinds.h"

enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
enum cudaTextureFilterMode { cudaFilterModePoint, cudaFilterModeLinear };
enum cudaTextureAddressMode { cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder };
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero, cudaBoundaryModeClamp, cudaBoundaryModeTrap };
enum cudaSurfaceFormatMode { cudaFormatModeForced, cudaFormatModeAuto };

typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;

/* Old declarations have reading modes (texture<float, 2> img(0, cudaFilterModePoint, cudaAddressModeClamp);). The host
   sets these; the default ones are accepted. */
#define __mw_as_bound(mode_is_default)                                                                                 \
  __attribute__((diagnose_if(!(mode_is_default),                                                                       \
                             "a texture reference's modes are set when it is bound, not in its declaration: write "    \
                             "m.name = mw.texture(memory, { filter = ..., address = ..., normalized = ... })",         \
                             "error")))

/* The pointer members, arrays of length 0, tell mwcc the element type by debug information; size and alignment are
   those of the handle. */
template <class T, int Type = cudaTextureType1D, cudaTextureReadMode Mode = cudaReadModeElementType>
struct __attribute__((device_builtin_texture_type)) texture {
  unsigned long long __mw_handle;
  const T *__mw_element[0];

  texture() = default;
  texture(int normalized, cudaTextureFilterMode filter = cudaFilterModePoint,
          cudaTextureAddressMode address = cudaAddressModeClamp)
      __mw_as_bound(normalized == 0 && filter == cudaFilterModePoint && address == cudaAddressModeClamp) {}
};
#undef __mw_as_bound
template <class T, int Type = cudaSurfaceType1D> struct __attribute__((device_builtin_surface_type)) surface {
  unsigned long long __mw_handle;
  const T *__mw_element[0];
};

#ifdef __MW_NVPTX__
/* The handle, for instructions; a reference's is that of the texture object that is bound to it. */
template <class T, int Type, cudaTextureReadMode Mode>
__mw_device_template unsigned long long __mw_handle_of(texture<T, Type, Mode> reference) {
  return __builtin_bit_cast(unsigned long long, reference);
}
template <class T, int Type> __mw_device_template unsigned long long __mw_handle_of(surface<T, Type> reference) {
  return __builtin_bit_cast(unsigned long long, reference);
}
__mw_device unsigned long long __mw_handle_of(unsigned long long object) { return object; }
#else
/* The record of a reference or an object. */
template <class T, int Type, cudaTextureReadMode Mode>
__mw_device_template const mw_tex_record *__mw_record(texture<T, Type, Mode> reference) {
  return (const mw_tex_record *)__builtin_bit_cast(unsigned long long, reference);
}
template <class T, int Type> __mw_device_template const mw_tex_record *__mw_record(surface<T, Type> reference) {
  return (const mw_tex_record *)__builtin_bit_cast(unsigned long long, reference);
}
__mw_device const mw_tex_record *__mw_record(cudaTextureObject_t object) { return (const mw_tex_record *)object; }

/* A field of a record or of a level. It is invariant during a launch, so that it is not loaded again for each gang. */
__mw_device uint32_t __mw_fixed(const uint32_t &field) { return __nvvm_ldg_ui(&field); }
__mw_device uint64_t __mw_fixed(const uint64_t &field) { return __nvvm_ldg_ul(&field); }
__mw_device float __mw_fixed(const float &field) { return __nvvm_ldg_f(&field); }
#endif

#endif
