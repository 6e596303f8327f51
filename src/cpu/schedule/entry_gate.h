/* The gate: threads enter and leave a command by atomic operations, without the pool's lock.
 *
 * With many threads, short kernels would spend their time waiting for the lock, which each thread takes when it starts
 * and when it ends. So one command at a time, the gated one, has the gate: one atomic word holds the number of threads
 * inside and whether the gate is open. A thread that finds it open after counting itself is inside. The gate is open
 * while the command may have blocks left to take, and never reopens for the same command. The thread that leaves last
 * after it has closed finishes the command, under the lock.
 *
 * A thread that finds the gate closed after counting itself (it was open a moment before) leaves again, and may be the
 * last to leave. So having left last does not prove that there is a command to finish: the thread has to check, under
 * the lock, whether there is a gated command without threads inside. */
#ifndef MW_CPU_GATE_H
#define MW_CPU_GATE_H

#include "command.h"

typedef struct cpu_gate {
  unsigned char before[64]; /* the gate has a cache line of its own */
  _Atomic uint64_t state;   /* the number of threads inside, and CPU_GATE_OPEN */
  cpu_command *command;     /* changed under the lock, while the gate is closed and no thread is inside */
  unsigned char after[64];
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

/* No thread can enter from now on. */
static inline void cpu_gate_close(cpu_gate *gate) {
  if (cpu_gate_is_open(gate)) atomic_fetch_and(&gate->state, ~CPU_GATE_OPEN);
}

/* True: the gate is closed and no thread is inside. */
static inline bool cpu_gate_leave(cpu_gate *gate) { return atomic_fetch_sub(&gate->state, 1) == 1; }

typedef enum cpu_entrance {
  CPU_GATE_INSIDE,
  CPU_GATE_SHUT,      /* it is closed */
  CPU_GATE_SHUT_EMPTY /* and no thread is inside: as when cpu_gate_leave returns true */
} cpu_entrance;

/* While a thread is inside, gate->command does not change. */
static inline cpu_entrance cpu_gate_enter(cpu_gate *gate) {
  if (!cpu_gate_is_open(gate)) return CPU_GATE_SHUT;
  if (atomic_fetch_add(&gate->state, 1) & CPU_GATE_OPEN) return CPU_GATE_INSIDE;
  return cpu_gate_leave(gate) ? CPU_GATE_SHUT_EMPTY : CPU_GATE_SHUT;
}

#endif
