/* Atomic functions that LLVM's NVPTX does not support, as inline PTX: those with a scope, and inc and dec.
 *
 * Addresses are generic: the driver's compiler infers their memory space. */
#ifndef MOONWARP_NVPTX_ATOMICS_H
#define MOONWARP_NVPTX_ATOMICS_H

/* clang-format off */
#define __mw_atom(name, suffix, instruction, type, constraint, given)                                                  \
  __mw_device type atomic##name##suffix(type *address, type value) {                                                   \
    type old;                                                                                                          \
    asm volatile(instruction " %0, [%1], %2;" : "=" constraint(old) : "l"(address), constraint(given) : "memory");     \
    return old;                                                                                                        \
  }
#define __mw_atom_cas(suffix, instruction, type, constraint)                                                           \
  __mw_device type atomicCAS##suffix(type *address, type expected, type desired) {                                     \
    type old;                                                                                                          \
    asm volatile(instruction " %0, [%1], %2, %3;"                                                                      \
                 : "=" constraint(old) : "l"(address), constraint(expected), constraint(desired) : "memory");          \
    return old;                                                                                                        \
  }
#define __mw_atom_bits(suffix, scope, type, bits, constraint)                                                          \
  __mw_atom(Exch, suffix, "atom" scope ".exch.b" bits, type, constraint, value)                                        \
  __mw_atom(And, suffix, "atom" scope ".and.b" bits, type, constraint, value)                                          \
  __mw_atom(Or, suffix, "atom" scope ".or.b" bits, type, constraint, value)                                            \
  __mw_atom(Xor, suffix, "atom" scope ".xor.b" bits, type, constraint, value)                                          \
  __mw_atom_cas(suffix, "atom" scope ".cas.b" bits, type, constraint)
#define __mw_atom_order(suffix, scope, type, kind, constraint)                                                         \
  __mw_atom(Min, suffix, "atom" scope ".min." kind, type, constraint, value)                                           \
  __mw_atom(Max, suffix, "atom" scope ".max." kind, type, constraint, value)
#define __mw_atom_wrap(suffix, scope)                                                                                  \
  __mw_atom(Inc, suffix, "atom" scope ".inc.u32", unsigned int, "r", value)                                            \
  __mw_atom(Dec, suffix, "atom" scope ".dec.u32", unsigned int, "r", value)
#define __mw_atoms(suffix, scope)                                                                                      \
  __mw_atom_bits(suffix, scope, int, "32", "r")                                                                        \
  __mw_atom_bits(suffix, scope, unsigned int, "32", "r")                                                               \
  __mw_atom_bits(suffix, scope, unsigned long long, "64", "l")                                                         \
  __mw_atom(And, suffix, "atom" scope ".and.b64", long long, "l", value)                                               \
  __mw_atom(Or, suffix, "atom" scope ".or.b64", long long, "l", value)                                                 \
  __mw_atom(Xor, suffix, "atom" scope ".xor.b64", long long, "l", value)                                               \
  __mw_atom(Exch, suffix, "atom" scope ".exch.b32", float, "f", value)                                                 \
  __mw_atom_order(suffix, scope, int, "s32", "r")                                                                      \
  __mw_atom_order(suffix, scope, unsigned int, "u32", "r")                                                             \
  __mw_atom_order(suffix, scope, long long, "s64", "l")                                                                \
  __mw_atom_order(suffix, scope, unsigned long long, "u64", "l")                                                       \
  __mw_atom(Add, suffix, "atom" scope ".add.s32", int, "r", value)                                                     \
  __mw_atom(Add, suffix, "atom" scope ".add.u32", unsigned int, "r", value)                                            \
  __mw_atom(Add, suffix, "atom" scope ".add.u64", unsigned long long, "l", value)                                      \
  __mw_atom(Add, suffix, "atom" scope ".add.f32", float, "f", value)                                                   \
  __mw_atom(Add, suffix, "atom" scope ".add.f64", double, "d", value)                                                  \
  __mw_atom(Sub, suffix, "atom" scope ".add.s32", int, "r", -(unsigned int)value)                                      \
  __mw_atom(Sub, suffix, "atom" scope ".add.u32", unsigned int, "r", -value)                                           \
  __mw_atom_cas(suffix, "atom" scope ".cas.b16", unsigned short, "h")                                                  \
  __mw_atom_wrap(suffix, scope)

__mw_atom_wrap(, "")
__mw_atoms(_block, ".cta")
__mw_atoms(_system, ".sys")

#undef __mw_atoms
#undef __mw_atom_wrap
#undef __mw_atom_order
#undef __mw_atom_bits
#undef __mw_atom_cas
#undef __mw_atom
/* clang-format on */

#endif
