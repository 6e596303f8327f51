/* Operations with a stated rounding as instructions of a GPU: arithmetic, and conversions (conversions.h). They are
 * inline PTX: LLVM has intrinsics, but treats some as plain operations, which may then be contracted or become
 * approximate. */
#ifndef MOONWARP_NVPTX_ARITHMETIC_H
#define MOONWARP_NVPTX_ARITHMETIC_H

#ifdef __USE_FAST_MATH__
#define __mw_flush ".ftz"
#else
#define __mw_flush ""
#endif

/* clang-format off */
#define __mw_one(name, T, constraint, instruction)                                                                     \
  __mw_device T name(T x) {                                                                                            \
    T result;                                                                                                          \
    asm(instruction " %0, %1;" : "=" constraint(result) : constraint(x));                                              \
    return result;                                                                                                     \
  }
#define __mw_two(name, T, constraint, instruction)                                                                     \
  __mw_device T name(T x, T y) {                                                                                       \
    T result;                                                                                                          \
    asm(instruction " %0, %1, %2;" : "=" constraint(result) : constraint(x), constraint(y));                           \
    return result;                                                                                                     \
  }
#define __mw_three(name, T, constraint, instruction)                                                                   \
  __mw_device T name(T x, T y, T z) {                                                                                  \
    T result;                                                                                                          \
    asm(instruction " %0, %1, %2, %3;" : "=" constraint(result) : constraint(x), constraint(y), constraint(z));        \
    return result;                                                                                                     \
  }
#define __mw_rounded(form, name, T, constraint, operation, kind)                                                       \
  form(name##_rn, T, constraint, operation ".rn" kind)                                                                 \
  form(name##_rz, T, constraint, operation ".rz" kind)                                                                 \
  form(name##_ru, T, constraint, operation ".rp" kind)                                                                 \
  form(name##_rd, T, constraint, operation ".rm" kind)
#define __mw_rounded_kind(prefix, T, constraint, kind)                                                                 \
  __mw_rounded(__mw_two, prefix##add, T, constraint, "add", kind)                                                      \
  __mw_rounded(__mw_two, prefix##sub, T, constraint, "sub", kind)                                                      \
  __mw_rounded(__mw_two, prefix##mul, T, constraint, "mul", kind)                                                      \
  __mw_rounded(__mw_two, prefix##div, T, constraint, "div", kind)                                                      \
  __mw_rounded(__mw_one, prefix##rcp, T, constraint, "rcp", kind)                                                      \
  __mw_rounded(__mw_one, prefix##sqrt, T, constraint, "sqrt", kind)
__mw_rounded_kind(__f, float, "f", __mw_flush ".f32")
__mw_rounded_kind(__d, double, "d", ".f64")
__mw_rounded(__mw_three, __fmaf, float, "f", "fma", __mw_flush ".f32")
__mw_rounded(__mw_three, __fmaf_ieee, float, "f", "fma", ".f32")
__mw_rounded(__mw_three, __fma, double, "d", "fma", ".f64");
#undef __mw_rounded_kind
#undef __mw_rounded
#undef __mw_three
#undef __mw_two
#undef __mw_one
#undef __mw_flush
/* clang-format on */

#endif
