/* CUDA's atomic functions. Each returns the old value. As in CUDA, they are relaxed: they order no other accesses.
 *
 * Each exists in three scopes: the device (no suffix), the block (_block) and the system (_system). They become LLVM's
 * atomicrmw and cmpxchg instructions. */
#ifndef MOONWARP_ATOMICS_H
#define MOONWARP_ATOMICS_H

#define __mw_report_scope(scope)                                                                                       \
  if (scope == __MEMORY_SCOPE_WRKGRP) __mw_report_atomic(4)
/* Compare *address with `expected` and store `desired` if they are equal, as bits rather than as numbers. */
#define __mw_cas(type, suffix, scope)                                                                                  \
  __mw_device type atomicCAS##suffix(type *address, type expected, type desired) {                                     \
    __mw_report_scope(scope);                                                                                          \
    __scoped_atomic_compare_exchange_n(address, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED, scope); \
    return expected;                                                                                                   \
  }
#define __mw_rmw(name, builtin, type, suffix, scope)                                                                   \
  __mw_device type atomic##name##suffix(type *address, type value) {                                                   \
    __mw_report_scope(scope);                                                                                          \
    return __scoped_atomic_##builtin(address, value, __ATOMIC_RELAXED, scope);                                         \
  }
#define __mw_exchange(type, suffix, scope)                                                                             \
  __mw_device type atomicExch##suffix(type *address, type value) {                                                     \
    __mw_report_scope(scope);                                                                                          \
    type old;                                                                                                          \
    __scoped_atomic_exchange(address, &value, &old, __ATOMIC_RELAXED, scope);                                          \
    return old;                                                                                                        \
  }
/* inc wraps to 0 above `limit`; dec wraps to `limit` below 0 and from above it. */
#ifdef __MW_NVPTX__
#define __mw_wrap(name, next, suffix, scope)
#else
#define __mw_wrap(name, next, suffix, scope)                                                                           \
  __mw_device unsigned int atomic##name##suffix(unsigned int *address, unsigned int limit) {                           \
    unsigned int old = __scoped_atomic_load_n(address, __ATOMIC_RELAXED, scope);                                       \
    __mw_report_scope(scope);                                                                                          \
    while (!__scoped_atomic_compare_exchange_n(address, &old, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED, scope)); \
    return old;                                                                                                        \
  }
#endif

/* clang-format off */
#define __mw_integer_atomics(type, suffix, scope)                                                                      \
  __mw_rmw(Add, fetch_add, type, suffix, scope)                                                                        \
  __mw_rmw(Exch, exchange_n, type, suffix, scope)                                                                      \
  __mw_rmw(Min, fetch_min, type, suffix, scope)                                                                        \
  __mw_rmw(Max, fetch_max, type, suffix, scope)                                                                        \
  __mw_rmw(And, fetch_and, type, suffix, scope)                                                                        \
  __mw_rmw(Or, fetch_or, type, suffix, scope)                                                                          \
  __mw_rmw(Xor, fetch_xor, type, suffix, scope)                                                                        \
  __mw_cas(type, suffix, scope)

#define __mw_atomics(suffix, scope)                                                                                    \
  __mw_integer_atomics(int, suffix, scope)                                                                             \
  __mw_integer_atomics(unsigned int, suffix, scope)                                                                    \
  __mw_integer_atomics(unsigned long long, suffix, scope)                                                              \
  __mw_rmw(Sub, fetch_sub, int, suffix, scope)                                                                         \
  __mw_rmw(Sub, fetch_sub, unsigned int, suffix, scope)                                                                \
  __mw_rmw(Min, fetch_min, long long, suffix, scope)                                                                   \
  __mw_rmw(Max, fetch_max, long long, suffix, scope)                                                                   \
  __mw_rmw(And, fetch_and, long long, suffix, scope)                                                                   \
  __mw_rmw(Or, fetch_or, long long, suffix, scope)                                                                     \
  __mw_rmw(Xor, fetch_xor, long long, suffix, scope)                                                                   \
  __mw_rmw(Add, fetch_add, float, suffix, scope)                                                                       \
  __mw_rmw(Add, fetch_add, double, suffix, scope)                                                                      \
  __mw_exchange(float, suffix, scope)                                                                                  \
  __mw_cas(unsigned short, suffix, scope)                                                                              \
  __mw_wrap(Inc, old >= limit ? 0 : old + 1, suffix, scope)                                                            \
  __mw_wrap(Dec, old == 0 || old > limit ? limit : old - 1, suffix, scope)

__mw_atomics(, __MEMORY_SCOPE_DEVICE)
#ifndef __MW_NVPTX__ /* LLVM's NVPTX does not support the other scopes: see nvptx/atomics.h */
__mw_atomics(_block, __MEMORY_SCOPE_WRKGRP)
__mw_atomics(_system, __MEMORY_SCOPE_SYSTEM)
#endif

#undef __mw_atomics
#undef __mw_integer_atomics
#undef __mw_exchange
#undef __mw_wrap
#undef __mw_rmw
#undef __mw_cas
#undef __mw_report_scope
/* clang-format on */

#ifdef __MW_NVPTX__
#include "../../nvptx/atomics.h"
#endif

/* Vectors: each component is added atomically, the whole is not. */
#define __mw_vector_atomics(suffix)                                                                                    \
  __mw_device float2 atomicAdd##suffix(float2 *address, float2 value) {                                                \
    return {atomicAdd##suffix(&address->x, value.x), atomicAdd##suffix(&address->y, value.y)};                         \
  }                                                                                                                    \
  __mw_device float4 atomicAdd##suffix(float4 *address, float4 value) {                                                \
    return {atomicAdd##suffix(&address->x, value.x), atomicAdd##suffix(&address->y, value.y),                          \
            atomicAdd##suffix(&address->z, value.z), atomicAdd##suffix(&address->w, value.w)};                         \
  }
        __mw_vector_atomics() __mw_vector_atomics(_block) __mw_vector_atomics(_system)
#undef __mw_vector_atomics

#endif
