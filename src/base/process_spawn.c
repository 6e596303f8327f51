/* The host may be large, so it is not forked: the child's side runs in the host's memory, on a stack of its own, with
 * all signals blocked, until it executes the program; the calling thread waits until then. (This is vfork with a
 * stack.)
 *
 * The host may handle its children in a way that loses ours: a SIGCHLD handler may reap any child, or SIGCHLD may be
 * ignored, so that the kernel discards the exit status. In such a host a supervisor is started in between: a process
 * whose end raises no signal; it waits for the program and writes the status into the plan.
 *
 * The child's side shares the calling thread's errno. It is excluded from AddressSanitizer, which knows only the
 * stacks of threads. */
#include "process_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef __has_feature
#define __has_feature(x) 0
#endif

#define CHILD_SIDE __attribute__((no_sanitize("address")))
#define STACK_SIZE ((size_t)64 << 10)

extern char **environ;

/* ---- the child's side: system calls only ---- */

CHILD_SIDE static void close_from(unsigned first) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0u, 0) == 0) return;
#endif
  struct rlimit limit; /* Linux before 5.9 */
  unsigned end = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536 ? (unsigned)limit.rlim_cur : 65536;
  for (unsigned i = first; i < end; i++) close((int)i);
}

/* The parent may have died before prctl took effect. */
CHILD_SIDE static void die_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
}

/* Resets the handlers first: a handler of the host would run in the host's memory. Two signals belong to the C
   library, and refuse. */
CHILD_SIDE static void default_signals(void) {
  struct sigaction action = {.sa_handler = SIG_DFL};
  sigset_t none;
  for (int i = 1; i < NSIG; i++) sigaction(i, &action, NULL);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Returns errno of the first failure; on success it does not return. */
CHILD_SIDE static int become_program(mw_child_plan *plan) {
  struct rlimit no_core = {0, 0};
  for (int i = 0; i < 3; i++) {
    if (dup2(plan->descriptors[i], i) < 0) return errno;
  }
  close_from(3);
  setrlimit(RLIMIT_CORE, &no_core); /* a crash is reported, and leaves no core file in the host's folder */
  if (plan->has_memory && setrlimit(RLIMIT_AS, &plan->memory) != 0) return errno;
  default_signals();
  if (plan->directory && chdir(plan->directory) != 0) {
    plan->no_folder = true;
    return errno;
  }
  execve(plan->path, plan->argv, environ);
  return errno;
}

CHILD_SIDE static int run_program(void *argument) {
  mw_child_plan *plan = argument;
  die_with_parent(plan->parent);
  if (plan->leads_group) setpgid(0, 0);
  plan->error = become_program(plan);
  _exit(127);
}

/* Returns when the program runs or has failed to start. ThreadSanitizer's records are in the memory that the child's
   side would share, and intercepted calls there (close, _exit) would be recorded as the host's. With it the host is
   forked, and only the status shows that a program did not start. */
CHILD_SIDE static pid_t start_program(mw_child_plan *plan) {
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
  pid_t child = fork();
  if (child == 0) run_program(plan);
#else
  pid_t child = clone(run_program, plan->stacks + STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD, plan);
#endif
  if (child < 0) plan->error = errno;
  return child;
}

/* The calling thread continues as soon as descriptor 0 is closed, and from then on its errno must not change: nothing
   that follows can fail. */
CHILD_SIDE static int run_supervisor(void *argument) {
  mw_child_plan *plan = argument;
  struct sigaction action = {.sa_handler = SIG_DFL};
  die_with_parent(plan->parent);
  setpgid(0, 0);
  sigaction(SIGCHLD, &action, NULL);
  plan->parent = getpid();
  plan->leads_group = false; /* it belongs to the supervisor's group */
  pid_t program = start_program(plan);
  int status = 0;
  dup2(plan->ready[1], 0);
  close_from(1); /* the supervisor must not hold the host's files open */
  close(0);
  if (program > 0) syscall(SYS_wait4, program, &status, __WALL, NULL);
  plan->status = status;
  plan->has_status = program > 0;
  return 0;
}

/* ---- starting ---- */

/* No signal for its end: so the host's wait(-1) does not see the supervisor, and SIG_IGN does not reap it. */
static pid_t start_supervisor(mw_child_plan *plan) {
  char nothing;
  if (pipe2(plan->ready, O_CLOEXEC) != 0) {
    plan->error = errno;
    return -1;
  }
  pid_t child = clone(run_supervisor, plan->stacks + 2 * STACK_SIZE, CLONE_VM, plan);
  if (child < 0) plan->error = errno;
  close(plan->ready[1]);
  if (child > 0 && read(plan->ready[0], &nothing, 1) < 0) plan->error = errno;
  close(plan->ready[0]);
  return child;
}

/* Whether the kernel will keep a child's exit status, and other code in this process is unlikely to reap it. */
static bool keeps_children(void) {
  struct sigaction action;
  return sigaction(SIGCHLD, NULL, &action) == 0 && !(action.sa_flags & (SA_SIGINFO | SA_NOCLDWAIT)) &&
         action.sa_handler == SIG_DFL;
}

pid_t mw_child_start(mw_child_plan *plan) {
  sigset_t all, before;
  void *stacks = mmap(NULL, 2 * STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stacks == MAP_FAILED) {
    plan->error = errno;
    return -1;
  }
  plan->stacks = stacks;
  plan->parent = getpid();
  plan->leads_group = true;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t child = keeps_children() ? start_program(plan) : start_supervisor(plan);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return child;
}

void mw_child_plan_free(mw_child_plan *plan) {
  if (plan->stacks) munmap(plan->stacks, 2 * STACK_SIZE);
  plan->stacks = NULL;
}
