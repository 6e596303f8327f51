/* Places for the address ranges of devices, side by side (address_slot.c). Any thread. */
#ifndef MW_CPU_SLOT_H
#define MW_CPU_SLOT_H

#include "cpu/cpu.h"

enum { CPU_SLOTS = 4 };
#define CPU_SLOT_SIZE ((size_t)16 << 40)

/* A reserved and inaccessible range of CPU_SLOT_SIZE bytes at *base; its number, or -1 where there is none. */
int cpu_slot_take(uintptr_t *base);
void cpu_slot_give(int slot);
/* Whether nothing but slots lies between two; false where one of them is -1. */
bool cpu_slots_adjoin(int a, int b);
/* From the lowest to the highest of a set of slots, bit by bit. */
void cpu_slots_span(unsigned slots, uint64_t *base, uint64_t *size);

#endif
