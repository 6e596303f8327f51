/* Atomic objects and references: cuda::atomic<T, scope>, cuda::atomic_ref<T, scope>, cuda::std::atomic<T>, fences.
 *
 * T is an integer, a floating-point number, a pointer or a struct of 1, 2, 4 or 8 bytes. */
#ifndef MOONWARP_ATOMIC_OBJECTS_H
#define MOONWARP_ATOMIC_OBJECTS_H

#include "moonwarp_device.h"
#ifdef __MW_NVRTC__
#include "moonwarp/atomic/atomic_builtins.h"
#endif

namespace cuda {

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };

namespace std {
enum class memory_order : int { relaxed, consume, acquire, release, acq_rel, seq_cst };
inline constexpr memory_order memory_order_relaxed = memory_order::relaxed;
inline constexpr memory_order memory_order_consume = memory_order::consume;
inline constexpr memory_order memory_order_acquire = memory_order::acquire;
inline constexpr memory_order memory_order_release = memory_order::release;
inline constexpr memory_order memory_order_acq_rel = memory_order::acq_rel;
inline constexpr memory_order memory_order_seq_cst = memory_order::seq_cst;
} // namespace std

using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_consume;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

namespace details {

/* The bits of a value, which are compared and exchanged. */
template <size_t Size> struct word_of {
  static_assert(Size == 1 || Size == 2 || Size == 4 || Size == 8, "an atomic value has 1, 2, 4 or 8 bytes");
};
template <> struct word_of<1> {
  using type = unsigned char;
};
template <> struct word_of<2> {
  using type = unsigned short;
};
template <> struct word_of<4> {
  using type = unsigned int;
};
template <> struct word_of<8> {
  using type = unsigned long long;
};

template <typename T> struct step_of {
  using type = T;
};
template <typename T> struct step_of<T *> {
  using type = ptrdiff_t;
};

/* The common base of objects and references. Derived has at(), the address. */
template <typename T, typename Derived> class atomic_operations {
  using word = typename word_of<sizeof(T)>::type;
  using step = typename step_of<T>::type;

  __mw_member word *bits() const { return (word *)static_cast<const Derived *>(this)->at(); }
  __mw_member static word to_bits(const T &value) { return __builtin_bit_cast(word, value); }
  __mw_member static T from_bits(word value) { return __builtin_bit_cast(T, value); }
  /* All accesses are sequentially consistent; a checked run takes them to be what the source asks for. */
  __mw_member static void report_order(memory_order order) {
    __mw_report_atomic(8 | (Derived::scope == thread_scope_block ? 4 : 0) | (unsigned int)order << 4);
  }
  /* Stores F of the old value, for operations without an instruction. */
  template <typename F> __mw_member T change(F make, memory_order order) const {
    report_order(memory_order_relaxed);
    word old = __atomic_load_n(bits(), __ATOMIC_RELAXED);
    report_order(order);
    while (!__atomic_compare_exchange_n(bits(), &old, to_bits(make(from_bits(old))), false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED)) {}
    return from_bits(old);
  }

public:
  using value_type = T;
  static constexpr bool is_always_lock_free = true;
  __mw_member bool is_lock_free() const { return true; }

  __mw_member T load(memory_order order = memory_order_seq_cst) const {
    report_order(order);
    return from_bits(__atomic_load_n(bits(), __ATOMIC_SEQ_CST));
  }
  __mw_member void store(T value, memory_order order = memory_order_seq_cst) const {
    report_order(order);
    __atomic_store_n(bits(), to_bits(value), __ATOMIC_SEQ_CST);
  }
  __mw_member T exchange(T value, memory_order order = memory_order_seq_cst) const {
    report_order(order);
    return from_bits(__atomic_exchange_n(bits(), to_bits(value), __ATOMIC_SEQ_CST));
  }
  __mw_member bool compare_exchange_strong(T &expected, T desired, memory_order order = memory_order_seq_cst,
                                           memory_order = memory_order_seq_cst) const {
    word old = to_bits(expected);
    report_order(order);
    bool done = __atomic_compare_exchange_n(bits(), &old, to_bits(desired), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    if (!done) expected = from_bits(old);
    return done;
  }
  __mw_member bool compare_exchange_weak(T &expected, T desired, memory_order order = memory_order_seq_cst,
                                         memory_order = memory_order_seq_cst) const {
    return compare_exchange_strong(expected, desired, order);
  }

  __mw_member T fetch_add(step by, memory_order order = memory_order_seq_cst) const {
    if constexpr (__is_integral(T)) {
      report_order(order);
      return (T)__atomic_fetch_add(bits(), (word)by, __ATOMIC_SEQ_CST);
    } else {
      return change([=](T old) { return old + by; }, order);
    }
  }
  __mw_member T fetch_sub(step by, memory_order order = memory_order_seq_cst) const {
    if constexpr (__is_integral(T)) {
      report_order(order);
      return (T)__atomic_fetch_sub(bits(), (word)by, __ATOMIC_SEQ_CST);
    } else {
      return change([=](T old) { return old - by; }, order);
    }
  }
  __mw_member T fetch_and(T with, memory_order order = memory_order_seq_cst) const {
    report_order(order);
    return (T)__atomic_fetch_and(bits(), (word)with, __ATOMIC_SEQ_CST);
  }
  __mw_member T fetch_or(T with, memory_order order = memory_order_seq_cst) const {
    report_order(order);
    return (T)__atomic_fetch_or(bits(), (word)with, __ATOMIC_SEQ_CST);
  }
  __mw_member T fetch_xor(T with, memory_order order = memory_order_seq_cst) const {
    report_order(order);
    return (T)__atomic_fetch_xor(bits(), (word)with, __ATOMIC_SEQ_CST);
  }
  __mw_member T fetch_min(T with, memory_order order = memory_order_seq_cst) const {
    if constexpr (__is_integral(T) && sizeof(T) >= 4) {
      report_order(order);
      return __atomic_fetch_min((T *)bits(), with, __ATOMIC_SEQ_CST);
    } else {
      return change([=](T old) { return with < old ? with : old; }, order);
    }
  }
  __mw_member T fetch_max(T with, memory_order order = memory_order_seq_cst) const {
    if constexpr (__is_integral(T) && sizeof(T) >= 4) {
      report_order(order);
      return __atomic_fetch_max((T *)bits(), with, __ATOMIC_SEQ_CST);
    } else {
      return change([=](T old) { return old < with ? with : old; }, order);
    }
  }

  /* Until the value is another one. Waiting threads poll, so that there is nothing to notify. */
  __mw_member void wait(T old, memory_order order = memory_order_seq_cst) const {
    while (to_bits(load(order)) == to_bits(old)) {}
  }
  __mw_member void notify_one() const {}
  __mw_member void notify_all() const {}

  __mw_member operator T() const { return load(); }
  __mw_member T operator++() const { return fetch_add(1) + 1; }
  __mw_member T operator--() const { return fetch_sub(1) - 1; }
  __mw_member T operator++(int) const { return fetch_add(1); }
  __mw_member T operator--(int) const { return fetch_sub(1); }
  __mw_member T operator+=(step by) const { return fetch_add(by) + by; }
  __mw_member T operator-=(step by) const { return fetch_sub(by) - by; }
  __mw_member T operator&=(T with) const { return fetch_and(with) & with; }
  __mw_member T operator|=(T with) const { return fetch_or(with) | with; }
  __mw_member T operator^=(T with) const { return fetch_xor(with) ^ with; }
};

} // namespace details

template <typename T, thread_scope Scope = thread_scope_system>
class atomic : public details::atomic_operations<T, atomic<T, Scope>> {
public:
  static constexpr thread_scope scope = Scope;
  atomic() = default;
  __mw_member constexpr atomic(T value) : held(value) {}
  atomic(const atomic &) = delete;
  atomic &operator=(const atomic &) = delete;
  __mw_member T operator=(T value) {
    this->store(value);
    return value;
  }

private:
  friend class details::atomic_operations<T, atomic<T, Scope>>;
  __mw_member T *at() const { return const_cast<T *>(&held); }
  alignas(sizeof(T)) T held;
};

template <typename T, thread_scope Scope = thread_scope_system>
class atomic_ref : public details::atomic_operations<T, atomic_ref<T, Scope>> {
public:
  static constexpr thread_scope scope = Scope;
  static constexpr size_t required_alignment = sizeof(T);
  __mw_member explicit atomic_ref(T &object) : where(&object) {}
  atomic_ref(const atomic_ref &) = default;
  __mw_member T operator=(T value) const {
    this->store(value);
    return value;
  }

private:
  friend class details::atomic_operations<T, atomic_ref<T, Scope>>;
  __mw_member T *at() const { return where; }
  T *where;
};

__mw_device_template void atomic_thread_fence(memory_order, thread_scope = thread_scope_system) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

namespace std {
template <typename T> using atomic = cuda::atomic<T, thread_scope_system>;
template <typename T> using atomic_ref = cuda::atomic_ref<T, thread_scope_system>;
using atomic_bool = atomic<bool>;
using atomic_int = atomic<int>;
using atomic_uint = atomic<unsigned int>;
using atomic_llong = atomic<long long>;
using atomic_ullong = atomic<unsigned long long>;

class atomic_flag {
public:
  __mw_member bool test_and_set(memory_order = memory_order_seq_cst) {
    return __atomic_exchange_n(&held, 1u, __ATOMIC_SEQ_CST) != 0;
  }
  __mw_member void clear(memory_order = memory_order_seq_cst) { __atomic_store_n(&held, 0u, __ATOMIC_SEQ_CST); }
  __mw_member bool test(memory_order = memory_order_seq_cst) const {
    return __atomic_load_n(&held, __ATOMIC_SEQ_CST) != 0;
  }

private:
  unsigned int held = 0;
};

__mw_device_template void atomic_thread_fence(memory_order order) { cuda::atomic_thread_fence(order); }
} // namespace std

} // namespace cuda

#endif
