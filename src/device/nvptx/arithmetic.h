/* Single operations with a stated rounding, which a GPU has instructions for: arithmetic, and conversions (conversions.h).
 * They are never merged with others. */
#ifndef MOONWARP_NVPTX_ARITHMETIC_H
#define MOONWARP_NVPTX_ARITHMETIC_H

/* clang-format off */
#define __mw_rounded(prefix, T, suffix, name, builtin, parameters, ...)                                                \
  __mw_both T prefix##name##_rn parameters { return __nvvm_##builtin##_rn_##suffix(__VA_ARGS__); }                     \
  __mw_both T prefix##name##_rz parameters { return __nvvm_##builtin##_rz_##suffix(__VA_ARGS__); }                     \
  __mw_both T prefix##name##_ru parameters { return __nvvm_##builtin##_rp_##suffix(__VA_ARGS__); }                     \
  __mw_both T prefix##name##_rd parameters { return __nvvm_##builtin##_rm_##suffix(__VA_ARGS__); }
#define __mw_rounded_kind(prefix, T, suffix)                                                                           \
  __mw_rounded(prefix, T, suffix, add, add, (T x, T y), x, y)                                                          \
  __mw_rounded(prefix, T, suffix, sub, add, (T x, T y), x, -y)                                                         \
  __mw_rounded(prefix, T, suffix, mul, mul, (T x, T y), x, y)                                                          \
  __mw_rounded(prefix, T, suffix, div, div, (T x, T y), x, y)                                                          \
  __mw_rounded(prefix, T, suffix, rcp, rcp, (T x), x)                                                                  \
  __mw_rounded(prefix, T, suffix, sqrt, sqrt, (T x), x)
__mw_rounded_kind(__f, float, f)
__mw_rounded_kind(__d, double, d)
__mw_rounded(__, float, f, fmaf, fma, (float x, float y, float z), x, y, z)
__mw_rounded(__, float, f, fmaf_ieee, fma, (float x, float y, float z), x, y, z)
__mw_rounded(__, double, d, fma, fma, (double x, double y, double z), x, y, z)
#undef __mw_rounded_kind
#undef __mw_rounded
/* clang-format on */

#endif
