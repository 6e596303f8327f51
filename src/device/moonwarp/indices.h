/* threadIdx, blockIdx, blockDim, gridDim and warpSize.
 *
 * Each is an object whose members are properties: reading one calls the built-in for the special register, and
 * assigning to one is an error. It converts to uint3 and dim3 and can be copied (a copy reads the same registers).
 * Nothing is stored: after inlining, nothing refers to the objects themselves. */
#ifndef MOONWARP_INDICES_H
#define MOONWARP_INDICES_H

#define __mw_register(part, builtin)                                                                                   \
  __declspec(property(get = __get_##part)) unsigned int part;                                                          \
  static __mw_member unsigned int __get_##part() { return builtin(); }

#define __mw_index(name, own, other, reg)                                                                              \
  struct __mw_##name {                                                                                                 \
    __mw_register(x, __nvvm_read_ptx_sreg_##reg##_x);                                                                  \
    __mw_register(y, __nvvm_read_ptx_sreg_##reg##_y);                                                                  \
    __mw_register(z, __nvvm_read_ptx_sreg_##reg##_z);                                                                  \
    __mw_member operator own() const { return own{__get_x(), __get_y(), __get_z()}; }                                  \
    __mw_member operator other() const { return other{__get_x(), __get_y(), __get_z()}; }                              \
    void operator=(const __mw_##name &) const = delete;                                                                \
    void operator&() const = delete;                                                                                   \
  };                                                                                                                   \
  static const __device__ __attribute__((nodebug)) __mw_##name name = {}

__mw_index(threadIdx, uint3, dim3, tid);
__mw_index(blockIdx, uint3, dim3, ctaid);
__mw_index(blockDim, dim3, uint3, ntid);
__mw_index(gridDim, dim3, uint3, nctaid);

#undef __mw_index
#undef __mw_register

constexpr __device__ int warpSize = 32;

#endif
