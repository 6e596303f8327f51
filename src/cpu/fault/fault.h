/* Why a kernel was abandoned: recorded where it happened (perhaps a signal handler), told afterwards. */
#ifndef MW_CPU_FAULT_H
#define MW_CPU_FAULT_H

#include "cpu/cpu.h"

typedef enum cpu_fault_kind {
  CPU_FAULT_NONE,
  CPU_FAULT_READ,
  CPU_FAULT_WRITE,
  CPU_FAULT_JUMP, /* to an address that holds no code */
  CPU_FAULT_STACK,
  CPU_FAULT_MISALIGNED,
  CPU_FAULT_DIVISION,
  CPU_FAULT_INSTRUCTION,
  CPU_FAULT_SERVICE,  /* `what` has the words, `code` the result */
  CPU_FAULT_CANCELLED /* another block failed, or time is up */
} cpu_fault_kind;

#define CPU_ADDRESS_UNKNOWN UINTPTR_MAX

typedef struct cpu_fault {
  cpu_fault_kind kind;
  int code;
  uintptr_t address; /* that was touched, or CPU_ADDRESS_UNKNOWN */
  uintptr_t pc;      /* in the kernel's code; 0: unknown */
  const char *file;  /* where known otherwise, else NULL */
  int line;
  char what[512];
} cpu_fault;

struct cpu_worker;
struct cpu_command;

/* Signal handlers, for as long as any device is open. */
void cpu_fault_install(void);
void cpu_fault_uninstall(void);
/* Make thread `tid` of this process leave the kernel that it runs if that kernel's command is stopped. */
void cpu_fault_cancel(int tid);
/* Room for handlers on the calling thread, which runs kernels, and back. */
bool cpu_fault_possible(void); /* whether this thread lets the signals through */

/* report.c: "; extern __shared__ arrays have …" where the command's kernel has such an array and was given no bytes for it,
   else "". For messages about accesses that went wrong. */
void cpu_fault_hint_shared(const struct cpu_command *command, char *out, size_t size);
/* The error for worker->fault. Yours: mw_error_free. */
mw_error *cpu_fault_report(struct cpu_worker *worker, const struct cpu_command *command);

#endif
