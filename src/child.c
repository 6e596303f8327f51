/* Child processes: run a program, feed it, collect what it says, and never wait for it longer than allowed.
 *
 * The host may be large (so no fork: vfork copies no page tables), threaded (so nothing between vfork and exec but
 * system calls, with all signals blocked), and particular about its children (its SIGCHLD handler may reap whatever it
 * finds, or SIGCHLD may be ignored and then the kernel keeps no exit status). In that last case a supervisor stands
 * between: a process whose end raises no signal, which waits for the program and leaves the status in shared memory.
 *
 * The child leads a process group, so that a kill reaches all that it started, and dies with the thread that runs it. */
#include "base.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The most that a child may write to either stream: what a runaway program prints must not fill the host's memory. */
#define OUTPUT_LIMIT ((size_t)256 << 20)

extern char **environ;

/* What the child's side tells the parent: in the parent's own memory (vfork shares it) or in a shared page. */
typedef struct child_report {
  volatile int error;      /* errno of a failed start, or 0 */
  volatile bool no_folder; /* it is the folder's, not the program's */
  volatile int status;     /* as waitpid gives it, from the supervisor */
  volatile bool has_status;
} child_report;

/* All that the child's side needs, found before it starts: it can allocate nothing. */
typedef struct child_plan {
  const char *path;
  const char *directory; /* to run in, or NULL */
  char *const *argv;
  int descriptors[3]; /* its standard streams, each above 2 */
  struct rlimit memory;
  bool has_memory;
  bool leads_group;
  pid_t parent;
  child_report *report;
} child_plan;

/* ---- the child's side: system calls only ---- */

static void close_from(unsigned first) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0u, 0) == 0) return;
#endif
  struct rlimit limit; /* Linux before 5.9 */
  unsigned end = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536 ? (unsigned)limit.rlim_cur : 65536;
  for (unsigned i = first; i < end; i++) close((int)i);
}

/* The parent may have died before prctl could say what is to happen then. */
static void die_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
}

/* Handlers go first: one that ran here would run in the parent's memory. The C library's own two signals refuse. */
static void default_signals(void) {
  struct sigaction action = {.sa_handler = SIG_DFL};
  sigset_t none;
  for (int i = 1; i < NSIG; i++) sigaction(i, &action, NULL);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void become_program(const child_plan *plan) {
  struct rlimit no_core = {0, 0};
  int error = 0;
  die_with_parent(plan->parent);
  if (plan->leads_group) setpgid(0, 0);
  for (int i = 0; i < 3 && !error; i++) {
    if (dup2(plan->descriptors[i], i) < 0) error = errno;
  }
  close_from(3);
  setrlimit(RLIMIT_CORE, &no_core); /* a crash is reported, not left in the host's folder */
  if (plan->has_memory && setrlimit(RLIMIT_AS, &plan->memory) != 0 && !error) error = errno;
  default_signals();
  if (!error && plan->directory && chdir(plan->directory) != 0) {
    error = errno;
    plan->report->no_folder = true;
  }
  if (!error) {
    execve(plan->path, plan->argv, environ);
    error = errno;
  }
  plan->report->error = error;
  _exit(127);
}

/* Returns in the parent, when the program runs or has failed to start. Signals are blocked. */
static pid_t start_program(const child_plan *plan) {
  pid_t child = vfork();
  if (child == 0) become_program(plan);
  if (child < 0) plan->report->error = errno;
  return child;
}

static _Noreturn void supervise(child_plan *plan) {
  struct sigaction action = {.sa_handler = SIG_DFL};
  die_with_parent(plan->parent);
  setpgid(0, 0);
  sigaction(SIGCHLD, &action, NULL);
  plan->parent = getpid();
  plan->leads_group = false; /* it is in the supervisor's */
  pid_t program = start_program(plan);
  close_from(0); /* the host's files are not to stay open because of us */
  int status = 0;
  while (program > 0 && waitpid(program, &status, 0) < 0 && errno == EINTR) {}
  plan->report->status = status;
  plan->report->has_status = true;
  _exit(0);
}

/* ---- starting ---- */

/* Whether the kernel will keep the exit status of a child for us, and nobody in this process is likely to take it. */
static bool keeps_children(void) {
  struct sigaction action;
  return sigaction(SIGCHLD, NULL, &action) == 0 && !(action.sa_flags & (SA_SIGINFO | SA_NOCLDWAIT)) &&
         action.sa_handler == SIG_DFL;
}

/* Without CLONE_VM this is fork, but with no signal for its end: wait(-1) does not see it and SIG_IGN does not reap it.
   Fork's own handlers are not run: the supervisor makes system calls only. */
static pid_t start_supervisor(child_plan *plan) {
  pid_t child = (pid_t)syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L);
  if (child == 0) supervise(plan);
  if (child < 0) plan->report->error = errno;
  if (child > 0) setpgid(child, child); /* as it does itself: whoever comes first */
  return child;
}

static pid_t start(child_plan *plan, bool supervised) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  plan->parent = getpid();
  plan->leads_group = true;
  pid_t child = supervised ? start_supervisor(plan) : start_program(plan);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return child;
}

static bool is_program(const char *path) { return access(path, X_OK) == 0; }

/* argv[0] as a path: itself, or the first of that name in PATH; NULL if there is none. Yours: free. */
static char *find_program(const char *name) {
  if (strchr(name, '/')) return mw_strdup(name);
  const char *folders = getenv("PATH");
  if (!folders) folders = "/usr/local/bin:/usr/bin:/bin";
  for (;;) {
    size_t length = strcspn(folders, ":");
    char *path = length ? mw_format("%.*s/%s", (int)length, folders, name) : mw_format("./%s", name);
    if (is_program(path)) return path;
    free(path);
    if (!folders[length]) return NULL;
    folders += length + 1;
  }
}

/* The same file, seen from another folder. */
static char *make_absolute(char *path) {
  char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
  if (!here) return path;
  char *absolute = mw_format("%s/%s", here, path);
  free(here);
  free(path);
  return absolute;
}

/* ---- descriptors ---- */

static void close_if_open(int *descriptor) {
  if (*descriptor >= 0) close(*descriptor);
  *descriptor = -1;
}

/* A host that closed its standard streams gets their numbers for new files: move out of the child's way. */
static bool above_standard(int *descriptor) {
  if (*descriptor > 2) return true;
  if (*descriptor < 0) return false;
  int moved = fcntl(*descriptor, F_DUPFD_CLOEXEC, 3);
  close(*descriptor);
  *descriptor = moved;
  return moved >= 0;
}

/* *ours is to read, without blocking; *theirs for the child. */
static bool make_pipe(int *ours, int *theirs) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  *ours = ends[0];
  *theirs = ends[1];
  return above_standard(ours) && above_standard(theirs) && fcntl(*ours, F_SETFL, O_NONBLOCK) == 0;
}

/* A file in memory, so that nothing has to be fed while the child runs: no deadlock, no SIGPIPE. */
static int open_input(const mw_text *input) {
  int file = input && input->length ? memfd_create("input", MFD_CLOEXEC) : open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (!above_standard(&file)) return -1;
  for (size_t done = 0; input && done < input->length;) {
    ssize_t put = write(file, input->data + done, input->length - done);
    if (put > 0)
      done += (size_t)put;
    else if (errno != EINTR)
      return close(file), -1;
  }
  return lseek(file, 0, SEEK_SET) < 0 ? (close(file), -1) : file;
}

/* ---- waiting ---- */

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Poll's milliseconds until `deadline` (0: none), rounded up so that the wait does not spin before it. */
static int milliseconds_until(double deadline) {
  if (deadline == 0) return -1;
  double left = (deadline - now()) * 1000 + 1;
  return left < 0 ? 0 : left > 1e9 ? 1000000000 : (int)left;
}

/* What is there now; closes the pipe at its end. False past OUTPUT_LIMIT. */
static bool drain(int *pipe, mw_text *text) {
  char buffer[65536];
  while (*pipe >= 0) {
    ssize_t got = read(*pipe, buffer, sizeof buffer);
    if (got > 0)
      mw_text_add(text, buffer, (size_t)got);
    else if (got == 0 || (errno != EINTR && errno != EAGAIN))
      close_if_open(pipe);
    else if (errno == EAGAIN)
      return true;
    if (text->length > OUTPUT_LIMIT) return false;
  }
  return true;
}

static bool has_ended(pid_t child) {
  siginfo_t info = {0};
  return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0 || info.si_pid == child;
}

/* A child that left its group is killed all the same; not yet reaped, its number can be nobody else's. */
static void kill_group(pid_t child) {
  kill(-child, SIGKILL);
  kill(child, SIGKILL);
}

/* Until the child has ended, not until its pipes are closed: something it left behind may hold them open, and is
   killed with its group. False if the child wrote too much. */
static bool collect(pid_t child, double seconds, int pipes[2], mw_child_result *result) {
  int handle = -1; /* becomes readable when the child ends */
#ifdef SYS_pidfd_open
  handle = (int)syscall(SYS_pidfd_open, child, 0);
#endif
  double deadline = seconds > 0 ? now() + seconds : 0;
  bool fits = true, ended = false;
  while (!ended) {
    struct pollfd events[] = {{pipes[0], POLLIN, 0}, {pipes[1], POLLIN, 0}, {handle, POLLIN, 0}};
    int wait = milliseconds_until(deadline);
    if (handle < 0 && (wait < 0 || wait > 5)) wait = 5; /* Linux before 5.3: look again and again */
    poll(events, MW_COUNT(events), wait);
    ended = handle < 0 ? has_ended(child) : events[2].revents != 0;
    if (fits) fits = drain(&pipes[0], &result->output) && drain(&pipes[1], &result->errors);
    result->timed_out = result->timed_out || (!ended && deadline != 0 && now() >= deadline);
    if (ended || result->timed_out || !fits) kill_group(child);
    if (result->timed_out || !fits) deadline = 0;
    if (!fits) close_if_open(&pipes[0]), close_if_open(&pipes[1]);
  }
  close_if_open(&handle);
  return fits;
}

/* ---- one run ---- */

/* Where the child's side reports: a stack variable serves vfork, which shares it, but not a supervisor. */
static child_report *new_report(bool supervised, child_report *own) {
  if (!supervised) return own;
  void *page = mmap(NULL, sizeof *own, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? NULL : page;
}

static int fail_start(const child_plan *plan) {
  int error = plan->report->error, code = error == ENOENT || error == ENOTDIR ? MW_FILE_NOT_FOUND : MW_OPERATING_SYSTEM;
  if (plan->report->no_folder) {
    return fail(code, "cannot run '%s' in the folder '%s': %s", plan->path, plan->directory, strerror(error));
  }
  return fail(code, "cannot run '%s': %s", plan->path, strerror(error));
}

static int run(child_plan *plan, bool supervised, double seconds, int pipes[2], mw_child_result *result) {
  pid_t child = start(plan, supervised);
  if (child < 0) return fail_start(plan);
  bool fits = collect(child, seconds, pipes, result);
  int status = 0;
  pid_t reaped;
  do reaped = waitpid(child, &status, __WALL);
  while (reaped < 0 && errno == EINTR);
  if (plan->report->error) return fail_start(plan);
  if (!fits) {
    return fail(MW_OPERATING_SYSTEM, "'%s' wrote more than %zu MiB and was ended", plan->path, OUTPUT_LIMIT >> 20);
  }
  if (plan->report->has_status)
    status = plan->report->status;
  else if (reaped < 0) {
    return fail(MW_OPERATING_SYSTEM,
                "the exit status of '%s' is lost: something in this process waits for all children", plan->path);
  }
  result->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return MW_SUCCESS;
}

int mw_child_run(const char *const *argv, const mw_text *input, const mw_child_limits *limits, mw_child_result *out) {
  char *path = find_program(argv[0]);
  if (!path) return fail(MW_FILE_NOT_FOUND, "there is no program '%s' in $PATH", argv[0]);
  if (limits && limits->directory) path = make_absolute(path);
  bool supervised = !keeps_children();
  size_t memory = limits ? limits->memory : 0;
  int code, pipes[2] = {-1, -1};
  child_report own = {0};
  child_plan plan = {.path = path, .argv = (char *const *)argv, .descriptors = {open_input(input), -1, -1}};
  plan.memory = (struct rlimit){memory, memory};
  plan.has_memory = memory != 0;
  plan.directory = limits ? limits->directory : NULL;
  mw_child_result result = {0};
  mw_text_add(&result.output, "", 0);
  mw_text_add(&result.errors, "", 0);
  if (plan.descriptors[0] >= 0 && make_pipe(&pipes[0], &plan.descriptors[1]) &&
      make_pipe(&pipes[1], &plan.descriptors[2]) && (plan.report = new_report(supervised, &own))) {
    code = run(&plan, supervised, limits ? limits->seconds : 0, pipes, &result);
  } else {
    code = fail(MW_OPERATING_SYSTEM, "cannot prepare to run '%s': %s", path, strerror(errno));
  }
  for (int i = 0; i < 3; i++) close_if_open(&plan.descriptors[i]);
  for (int i = 0; i < 2; i++) close_if_open(&pipes[i]);
  if (supervised && plan.report) munmap(plan.report, sizeof own);
  free(path);
  if (code)
    mw_child_result_free(&result);
  else
    *out = result;
  return code;
}

void mw_child_result_free(mw_child_result *result) {
  mw_text_free(&result->output);
  mw_text_free(&result->errors);
}
