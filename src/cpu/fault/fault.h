/* Why a kernel was abandoned: recorded where it happens (perhaps in a signal handler), reported afterwards. */
#ifndef MW_CPU_FAULT_H
#define MW_CPU_FAULT_H

#include "cpu/cpu.h"

typedef enum cpu_fault_kind {
  CPU_FAULT_NONE,
  CPU_FAULT_READ,
  CPU_FAULT_WRITE,
  CPU_FAULT_JUMP, /* to an address without code */
  CPU_FAULT_STACK,
  CPU_FAULT_MISALIGNED,
  CPU_FAULT_DIVISION,
  CPU_FAULT_INSTRUCTION,
  CPU_FAULT_SERVICE,  /* `what` is the message, `code` the result */
  CPU_FAULT_CANCELLED /* another block failed, or the time limit was reached */
} cpu_fault_kind;

#define CPU_ADDRESS_UNKNOWN UINTPTR_MAX

typedef struct cpu_fault {
  cpu_fault_kind kind;
  int code;
  uintptr_t address; /* that was accessed, or CPU_ADDRESS_UNKNOWN */
  uintptr_t pc;      /* in the kernel's code; 0: unknown */
  const char *file;  /* the source position if the fault has one of its own, else NULL */
  int line;
  char what[512];
} cpu_fault;

struct cpu_worker;
struct cpu_command;

/* Install signal handlers while any device is open. */
void cpu_fault_install(void);
void cpu_fault_uninstall(void);
/* Make thread `tid` of this process abandon the kernel that it runs if the kernel's command is stopped. */
void cpu_fault_cancel(int tid);
/* Room for handlers on the calling thread, which runs kernels, and back. */
bool cpu_fault_possible(void); /* whether this thread does not block the signals */

/* report.c: "; extern __shared__ arrays have …" if the command's kernel has such an array but the launch gave it no
   bytes, else "". For messages about invalid accesses. */
struct cpu_kernel_work;
void cpu_fault_hint_shared(const struct cpu_kernel_work *work, char *out, size_t size);
/* The error for worker->fault. Yours: mw_error_free. */
mw_error *cpu_fault_report(struct cpu_worker *worker, const struct cpu_command *command);

#endif
