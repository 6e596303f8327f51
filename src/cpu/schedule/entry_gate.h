/* The way into a command without the pool's lock.
 *
 * With sixteen threads and more the lock was what short kernels waited for: each thread took it to begin and again to end, and
 * the last of 16 began some 40 us after the first. So one command at a time has a gate: who finds it open is inside, and one
 * atomic addition tells the threads that are. It is open while the command may have blocks left to take, and never
 * opens for it again; the thread that leaves last, behind a closed gate, finishes the command, under the lock.
 *
 * Who finds it closed when it has stepped in already (it was open a moment ago) steps out again, and may be the last so. That
 * it left last is therefore only a reason to look, under the lock, whether there is a command that nobody is inside of. */
#ifndef MW_CPU_GATE_H
#define MW_CPU_GATE_H

#include "command.h"

typedef struct cpu_gate {
  unsigned char before[64]; /* its cache line is its own */
  _Atomic uint64_t state;   /* threads inside, and CPU_GATE_OPEN */
  cpu_command *command;     /* changed under the lock, while the gate is closed and nobody inside */
  unsigned char behind[64];
} cpu_gate;

#define CPU_GATE_OPEN ((uint64_t)1 << 32)

static inline bool cpu_gate_is_open(const cpu_gate *gate) {
  return atomic_load_explicit(&gate->state, memory_order_relaxed) & CPU_GATE_OPEN;
}

static inline int cpu_gate_inside(const cpu_gate *gate) {
  return (int)(uint32_t)atomic_load_explicit(&gate->state, memory_order_relaxed);
}

/* With the lock held; gate->command is NULL. */
static inline void cpu_gate_open(cpu_gate *gate, cpu_command *command) {
  gate->command = command;
  atomic_fetch_or(&gate->state, CPU_GATE_OPEN);
}

/* Let nobody in any more. */
static inline void cpu_gate_close(cpu_gate *gate) {
  if (cpu_gate_is_open(gate)) atomic_fetch_and(&gate->state, ~CPU_GATE_OPEN);
}

/* Step out. True: the gate is closed and nobody is inside. */
static inline bool cpu_gate_leave(cpu_gate *gate) { return atomic_fetch_sub(&gate->state, 1) == 1; }

typedef enum cpu_entrance {
  CPU_GATE_INSIDE,
  CPU_GATE_SHUT,      /* it is closed */
  CPU_GATE_SHUT_EMPTY /* and, as cpu_gate_leave says, nobody is inside */
} cpu_entrance;

/* Inside, gate->command stays what it is. */
static inline cpu_entrance cpu_gate_enter(cpu_gate *gate) {
  if (!cpu_gate_is_open(gate)) return CPU_GATE_SHUT;
  if (atomic_fetch_add(&gate->state, 1) & CPU_GATE_OPEN) return CPU_GATE_INSIDE;
  return cpu_gate_leave(gate) ? CPU_GATE_SHUT_EMPTY : CPU_GATE_SHUT;
}

#endif
