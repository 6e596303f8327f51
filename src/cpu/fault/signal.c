/* Signal handlers: a signal that a kernel causes ends its launch; all others are passed to the previous handlers.
 *
 * The handler runs on an alternate stack, since the kernel's own may have overflowed. It records the fault in
 * worker->fault and changes the interrupted context so that the thread continues in cpu_leave, on its own stack:
 * returning from the handler restores the signal mask, and the kernel's frames are never returned to.
 *
 * A running kernel is cancelled by queueing SIGSEGV to its thread with a value that only this file knows. The handler
 * abandons the kernel only if its command is stopped, so a signal that arrives late, or after the thread has moved on
 * to other work, has no effect. */
#include "fault.h"
#include "x86_operand.h"
#include "cpu/execution/worker.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
static struct sigaction previous[MW_COUNT(signals)];
static pthread_mutex_t lock = MW_LOCK_INITIALIZER;
static int installed; /* number of open devices */
static char cookie;

/* ---- machine-dependent code ---- */

typedef struct machine {
  uintptr_t pc, sp, link; /* link: the return address if a register holds it, or 0 */
  uintptr_t address;      /* that was accessed */
  bool store, jump, aligned;
} machine;

#if defined(__x86_64__)

enum { PROTECTION = 13, PAGE_FAULT = 14, FAULT_WRITE = 2, FAULT_FETCH = 16 };

/* The memory operand of the instruction; none if the instruction itself cannot be read. */
static operand read_operand(const machine *m, const greg_t *registers) {
  static const int order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  uint64_t values[16];
  for (int i = 0; i < 16; i++) values[i] = (uint64_t)registers[order[i]];
  if (operand_is_wild(m->pc)) return (operand){.use = OPERAND_JUMP, .address = m->pc};
  return operand_of((const unsigned char *)m->pc, values);
}

/* A general protection fault is caused by a misaligned address or by a non-canonical one. */
static void read_protection(machine *m, const greg_t *registers) {
  operand o = read_operand(m, registers);
  if (o.use == OPERAND_UNKNOWN || !(o.gather || operand_is_wild(o.address))) return;
  m->address = o.gather ? CPU_ADDRESS_UNKNOWN : o.address;
  m->jump = o.use == OPERAND_JUMP;
  m->store = o.use == OPERAND_WRITE;
  m->aligned = true;
}

/* If an access crosses the end of a page, some processors (Intel's) report its last byte, others (AMD's) the first
   inaccessible one, which this function normalises to. */
static void find_first_byte(machine *m, const greg_t *registers) {
  enum { PAGE = 4096, LARGEST = 64 /* bytes of the largest contiguous access */ };
  operand o = read_operand(m, registers);
  uintptr_t page = m->address & ~(uintptr_t)(PAGE - 1), bytes = m->address + 1 - o.address;
  bool reaches = (o.use == OPERAND_READ || o.use == OPERAND_WRITE) && !o.gather;
  if (!reaches || bytes < 2 || bytes > LARGEST || (bytes & (bytes - 1))) return;
  m->address = o.address > page ? o.address : page;
}

static machine machine_read(const ucontext_t *context, uintptr_t address) {
  const greg_t *registers = context->uc_mcontext.gregs;
  bool page = registers[REG_TRAPNO] == PAGE_FAULT;
  machine m = {(uintptr_t)registers[REG_RIP], (uintptr_t)registers[REG_RSP], .address = address, .aligned = page};
  m.store = page && registers[REG_ERR] & FAULT_WRITE;
  m.jump = page && (registers[REG_ERR] & FAULT_FETCH || m.pc == address);
  if (registers[REG_TRAPNO] == PROTECTION && address == 0) read_protection(&m, registers);
  if (page && !m.jump) find_first_byte(&m, registers);
  return m;
}

static void machine_leave(ucontext_t *context, void *host) {
  greg_t *registers = context->uc_mcontext.gregs;
  registers[REG_RIP] = (greg_t)(uintptr_t)cpu_leave;
  registers[REG_RSP] = registers[REG_RDI] = (greg_t)(uintptr_t)host;
  registers[REG_EFL] &= ~(greg_t)0x400; /* direction */
}

#elif defined(__aarch64__)

enum { SYNDROME_RECORD = 0x45535201, SYNDROME_WRITE = 1 << 6 };

/* The processor's description of the access; false if the system does not provide it. */
static bool syndrome(const ucontext_t *context, uint64_t *value) {
  const unsigned char *record = (const unsigned char *)context->uc_mcontext.__reserved;
  const unsigned char *end = record + sizeof context->uc_mcontext.__reserved;
  uint32_t head[2]; /* of a record: its type, its size */
  for (; record + 16 <= end; record += head[1]) {
    memcpy(head, record, sizeof head);
    if (head[1] < 8) return false;
    memcpy(value, record + 8, sizeof *value);
    if (head[0] == SYNDROME_RECORD) return true;
  }
  return false;
}

/* Whether the instruction writes memory, given that it is a load or a store (Arm ARM, C4.1, "Loads and Stores"). */
static bool writes(uint32_t instruction) {
  bool single = (instruction >> 27 & 7) == 7, vector = instruction >> 26 & 1;
  if (single && (instruction >> 21 & 9) == 1 && (instruction >> 10 & 3) == 0) return true; /* atomic */
  if (single && !vector && instruction >> 23 & 1) return false; /* a load with sign extension */
  return !(instruction >> 22 & 1);
}

static machine machine_read(const ucontext_t *context, uintptr_t address) {
  const mcontext_t *registers = &context->uc_mcontext;
  machine m = {registers->pc, registers->sp, registers->regs[30], .address = address, .aligned = true};
  m.jump = m.pc == address;
  uint64_t value;
  if (m.jump) return m;
  m.store = syndrome(context, &value) ? value & SYNDROME_WRITE : writes(*(const uint32_t *)m.pc);
  return m;
}

static void machine_leave(ucontext_t *context, void *host) {
  context->uc_mcontext.pc = (uintptr_t)cpu_leave;
  context->uc_mcontext.sp = context->uc_mcontext.regs[0] = (uintptr_t)host;
}

#endif

/* ---- inside a kernel ---- */

static cpu_stack current_stack(const cpu_worker *worker) {
  const cpu_ring *ring = &worker->ring;
  return ring->current == &ring->home ? worker->stack : cpu_ring_stack(ring, ring->current);
}

static bool is_code(const cpu_unit *unit, uintptr_t pc) {
  for (; unit; unit = unit->parent)
    if (pc >= unit->first && pc < unit->last) return true;
  return false;
}

/* The current instruction of the kernel. If `m` is in a library or at an invalid address, the innermost return address
   into the kernel's code. */
CPU_ANY_FRAME static uintptr_t kernel_pc(const cpu_worker *worker, const machine *m, const cpu_stack *stack) {
  const cpu_unit *unit = worker->work->kernel->unit;
  uintptr_t bottom = (uintptr_t)stack->bottom, top = bottom + stack->size;
  if (is_code(unit, m->pc)) return m->pc;
  if (is_code(unit, m->link)) return m->link - 1;
  uintptr_t frame = worker->call_frame;
  if (worker->call && m->sp >= bottom && m->sp <= frame && frame < top - 16 &&
      ((uintptr_t *)frame)[1] == worker->call + 1) {
    return worker->call;
  }
  const uintptr_t *word = (const uintptr_t *)((m->sp + 7) & ~(uintptr_t)7);
  for (int i = 0; i < 64 && (uintptr_t)word >= bottom && (uintptr_t)word < top; i++, word++) {
    if (is_code(unit, *word)) return *word - 1;
  }
  return 0;
}

static cpu_fault_kind classify(const cpu_worker *worker, int signal, const machine *m, int code) {
  cpu_stack stack = current_stack(worker);
  uintptr_t bottom = (uintptr_t)stack.bottom;
  switch (signal) {
  case SIGFPE: return CPU_FAULT_DIVISION;
  case SIGILL:
  case SIGTRAP: return CPU_FAULT_INSTRUCTION;
  case SIGBUS: return code == BUS_ADRALN ? CPU_FAULT_MISALIGNED : m->store ? CPU_FAULT_WRITE : CPU_FAULT_READ;
  default: break;
  }
  if (m->sp < bottom && bottom - m->sp < worker->ring.stride + worker->stack.size) return CPU_FAULT_STACK;
  if (m->address < bottom && bottom - m->address <= worker->guard) return CPU_FAULT_STACK;
  if (m->jump) return CPU_FAULT_JUMP;
  if (!m->aligned) return CPU_FAULT_MISALIGNED;
  return m->store ? CPU_FAULT_WRITE : CPU_FAULT_READ;
}

static void leave(cpu_worker *worker, ucontext_t *context) {
  worker->in_kernel = 0;
  cpu_stack_leave(&worker->ring.current->kept, &worker->host_stack);
  machine_leave(context, worker->host);
}

static void record(cpu_worker *worker, int signal, const siginfo_t *info, ucontext_t *context) {
  cpu_fault *fault = &worker->fault;
  machine m = machine_read(context, (uintptr_t)info->si_addr);
  cpu_stack stack = current_stack(worker);
  fault->code = 0;
  fault->file = NULL;
  fault->address = m.address;
  fault->pc = kernel_pc(worker, &m, &stack);
  fault->kind = classify(worker, signal, &m, info->si_code);
}

static void cancelled(cpu_worker *worker, ucontext_t *context) {
  if (!worker || !worker->in_kernel || worker->in_service || !atomic_load(&worker->command->stop)) return;
  machine m = machine_read(context, CPU_ADDRESS_UNKNOWN);
  cpu_stack stack = current_stack(worker);
  worker->fault.file = NULL;
  worker->fault.pc = kernel_pc(worker, &m, &stack);
  worker->fault.kind = CPU_FAULT_CANCELLED;
  leave(worker, context);
}

/* ---- handlers ---- */

/* Block the signals that would be blocked if the system had called the handler directly. */
static void mask_as(const struct sigaction *action, int signal, const ucontext_t *context) {
  sigset_t mask = context->uc_sigmask;
  sigorset(&mask, &mask, &action->sa_mask);
  if (!(action->sa_flags & SA_NODEFER)) sigaddset(&mask, signal);
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

static void pass_on(int signal, siginfo_t *info, void *context) {
  size_t i = 0;
  while (signals[i] != signal) i++;
  struct sigaction old = previous[i];
  bool sent = info->si_code <= 0; /* by kill or the like: executing the instruction again would not raise it again */
  if (old.sa_flags & SA_RESETHAND) previous[i].sa_handler = SIG_DFL, previous[i].sa_flags = 0;
  if (old.sa_flags & SA_SIGINFO) {
    mask_as(&old, signal, context);
    old.sa_sigaction(signal, info, context);
  } else if (old.sa_handler == SIG_DFL || (old.sa_handler == SIG_IGN && !sent)) {
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigaction(signal, &standard, NULL);
    if (sent) syscall(SYS_tgkill, getpid(), (int)syscall(SYS_gettid), signal);
  } else if (old.sa_handler != SIG_IGN) {
    mask_as(&old, signal, context);
    old.sa_handler(signal);
  }
}

static void handle(int signal, siginfo_t *info, void *context) {
  int saved = errno;
  cpu_worker *worker = cpu_worker_current;
  /* If too many signals are queued, the system drops the value and reports process 0 as the sender. */
  bool ours = (info->si_code == SI_QUEUE && info->si_value.sival_ptr == &cookie) ||
              (info->si_code == SI_USER && info->si_pid == 0);
  if (signal == SIGSEGV && ours) {
    cancelled(worker, context);
  } else if (worker && worker->in_kernel && !worker->in_service && info->si_code > 0) {
    record(worker, signal, info, context);
    leave(worker, context);
  } else {
    pass_on(signal, info, context);
  }
  errno = saved;
}

void cpu_fault_cancel(int tid) {
  siginfo_t info = {.si_signo = SIGSEGV, .si_code = SI_QUEUE};
  info.si_pid = getpid();
  info.si_uid = getuid();
  info.si_value.sival_ptr = &cookie;
  syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, SIGSEGV, &info);
}

bool cpu_fault_possible(void) {
  static _Thread_local signed char possible __attribute__((tls_model("initial-exec"))); /* 0: not known yet */
  if (!possible) {
    sigset_t mask;
    possible = 1;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    for (size_t i = 0; i < MW_COUNT(signals); i++) {
      if (sigismember(&mask, signals[i])) possible = -1;
    }
  }
  return possible > 0;
}

void cpu_fault_install(void) {
  mw_lock(&lock);
  if (installed++ == 0) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    /* Signals must not nest: the inner handler would leave the kernel while the outer signal stays blocked for good. */
    for (size_t i = 0; i < MW_COUNT(signals); i++) sigaddset(&action.sa_mask, signals[i]);
    for (size_t i = 0; i < MW_COUNT(signals); i++) sigaction(signals[i], &action, &previous[i]);
  }
  mw_unlock(&lock);
}

/* A handler installed later may chain to this one: then the library must stay in memory. */
static void pin_library(void) {
  Dl_info info;
  if (dladdr(&cookie, &info) && info.dli_fname) (void)!dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

void cpu_fault_uninstall(void) {
  mw_lock(&lock);
  if (--installed == 0) {
    for (size_t i = 0; i < MW_COUNT(signals); i++) {
      struct sigaction now;
      sigaction(signals[i], NULL, &now);
      if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == handle)
        sigaction(signals[i], &previous[i], NULL);
      else
        pin_library();
    }
  }
  mw_unlock(&lock);
}
