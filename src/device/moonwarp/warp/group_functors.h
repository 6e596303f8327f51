/* The operators of cooperative groups' reductions and scans: plus, less, greater, bit_and, bit_xor, bit_or. */
#ifndef MOONWARP_GROUP_FUNCTORS_H
#define MOONWARP_GROUP_FUNCTORS_H

#include "cooperative_groups.h"

namespace cooperative_groups {

#define __mw_functor(name, expression)                                                                                 \
  template <typename T = void> struct name {                                                                           \
    __mw_member T operator()(T a, T b) const { return expression; }                                                    \
  };                                                                                                                   \
  template <> struct name<void> {                                                                                      \
    template <typename T> __mw_member T operator()(T a, T b) const { return expression; }                              \
  };
__mw_functor(plus, a + b) __mw_functor(less, b < a ? b : a) /* the least */
    __mw_functor(greater, a < b ? b : a) __mw_functor(bit_and, a &b) __mw_functor(bit_or, a | b)
        __mw_functor(bit_xor, a ^ b)
#undef __mw_functor

            namespace details {
  /* Combines an atomic object's value with another one. Returns the value before. */
  template <typename Atomic, typename T, typename F> __mw_device_template T update(Atomic & target, T with, F op) {
    T before = target.load();
    while (!target.compare_exchange_weak(before, op(before, with))) {}
    return before;
  }
} // namespace details

} // namespace cooperative_groups

#endif
