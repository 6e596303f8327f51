/* Slots: adjacent address ranges for devices (address_slot.c). Any thread. */
#ifndef MW_CPU_SLOT_H
#define MW_CPU_SLOT_H

#include "cpu/cpu.h"

enum { CPU_SLOTS = 4 };
#define CPU_SLOT_SIZE ((size_t)16 << 40)

/* Take a slot: a reserved, inaccessible range of CPU_SLOT_SIZE bytes at *base. Returns its number, or -1 if there is
   none. */
int cpu_slot_take(uintptr_t *base);
void cpu_slot_give(int slot);
/* Whether only slots lie between the two; false if one of them is -1. */
bool cpu_slots_adjoin(int a, int b);
/* The range from the lowest to the highest slot of a bit set. */
void cpu_slots_span(unsigned slots, uint64_t *base, uint64_t *size);

#endif
