/* Child processes: run a program, feed it, collect its output, and never wait longer than allowed. process_spawn.c
 * starts it. The child leads a process group, so that a kill reaches all processes that it started, and dies with the
 * thread that runs it. */
#include "process_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The most that a child may write to either stream, so that a runaway program does not exhaust the host's memory. */
#define OUTPUT_LIMIT ((size_t)256 << 20)

/* ---- the program ---- */

static bool is_program(const char *path) {
  struct stat facts;
  return stat(path, &facts) == 0 && S_ISREG(facts.st_mode) && access(path, X_OK) == 0;
}

/* argv[0] as a path: itself, or the first file of that name in PATH; NULL if there is none. Yours: free. */
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

/* The same file, for use from another folder. */
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

/* If the host closed its standard streams, new files get their numbers: moves a descriptor above those. */
static bool above_standard(int *descriptor) {
  if (*descriptor > 2) return true;
  if (*descriptor < 0) return false;
  int moved = fcntl(*descriptor, F_DUPFD_CLOEXEC, 3);
  close(*descriptor);
  *descriptor = moved;
  return moved >= 0;
}

/* *ours is for reading without blocking; *theirs is the child's. */
static bool make_pipe(int *ours, int *theirs) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  *ours = ends[0];
  *theirs = ends[1];
  return above_standard(ours) && above_standard(theirs) && fcntl(*ours, F_SETFL, O_NONBLOCK) == 0;
}

/* The input as a file in memory, so that nothing has to be written while the child runs: no deadlock, no SIGPIPE. */
static int open_input(const mw_text *input) {
  int file = input && input->length ? memfd_create("input", MFD_CLOEXEC) : open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (!above_standard(&file)) return -1;
  mw_writing writing = mw_writing_begin();
  bool written = true;
  for (size_t done = 0; written && input && done < input->length;) {
    ssize_t put = write(file, input->data + done, input->length - done);
    if (put > 0)
      done += (size_t)put;
    else
      written = errno == EINTR;
  }
  mw_writing_end(&writing);
  if (!written) return close(file), -1;
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

/* Reads what is available; closes the pipe at its end. False if the output exceeds OUTPUT_LIMIT or the memory. */
static bool drain(int *pipe, mw_text *text) {
  char buffer[65536];
  while (*pipe >= 0) {
    ssize_t got = read(*pipe, buffer, sizeof buffer);
    if (got > 0 && !mw_text_reserve(text, (size_t)got, "what a program writes")) return false;
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

/* The calling thread's, or NULL. */
static _Thread_local const atomic_bool *cancelled __attribute__((tls_model("initial-exec")));

void mw_child_cancel(const atomic_bool *flag) { cancelled = flag; }

static bool has_ended(pid_t child) {
  siginfo_t info = {0};
  return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0 || info.si_pid == child;
}

/* The group, and the child itself in case that it left its group. It was not reaped yet, so no other process can have
   its number. */
static void kill_group(pid_t child) {
  kill(-child, SIGKILL);
  kill(child, SIGKILL);
}

/* Waits for the child to end, not for its pipes to be closed: a process that it started may hold them open, and is
   killed with the group. False if the child wrote too much. */
static bool collect(pid_t child, double deadline, int pipes[2], mw_child_result *result) {
  int handle = -1; /* becomes readable when the child ends */
#ifdef SYS_pidfd_open
  handle = (int)syscall(SYS_pidfd_open, child, 0);
#endif
  bool fits = true, ended = false;
  while (!ended) {
    struct pollfd events[] = {{pipes[0], POLLIN, 0}, {pipes[1], POLLIN, 0}, {handle, POLLIN, 0}};
    int wait = milliseconds_until(deadline);
    if (handle < 0 && (wait < 0 || wait > 5)) wait = 5; /* Linux before 5.3: poll repeatedly */
    if (cancelled && (wait < 0 || wait > 10)) wait = 10;
    poll(events, MW_COUNT(events), wait);
    ended = handle < 0 ? has_ended(child) : events[2].revents != 0;
    if (fits) fits = drain(&pipes[0], &result->output) && drain(&pipes[1], &result->errors);
    result->timed_out = result->timed_out || (!ended && deadline != 0 && now() >= deadline);
    if (ended || result->timed_out || !fits || (cancelled && atomic_load(cancelled))) kill_group(child);
    if (result->timed_out || !fits) deadline = 0;
    if (!fits) close_if_open(&pipes[0]), close_if_open(&pipes[1]);
  }
  close_if_open(&handle);
  return fits;
}

/* ---- one run ---- */

struct mw_child {
  char *path;
  mw_child_plan plan; /* its side may still write to it */
  pid_t process;
  int pipes[2];    /* for reading the child's output */
  double deadline; /* 0: none */
};

static void child_free(mw_child *child) {
  for (int i = 0; i < 3; i++) close_if_open(&child->plan.descriptors[i]);
  for (int i = 0; i < 2; i++) close_if_open(&child->pipes[i]);
  mw_child_plan_free(&child->plan);
  free(child->path);
  free(child);
}

static mw_child *child_new(char *path, const char *const *argv, const mw_child_limits *limits) {
  mw_child *child = mw_alloc(sizeof *child);
  mw_child_plan plan = {.path = path, .directory = limits->directory, .argv = (char *const *)argv};
  struct rlimit own = {RLIM_INFINITY, RLIM_INFINITY};
  getrlimit(RLIMIT_AS, &own); /* a process cannot raise its own limit, and one that could should not */
  plan.has_memory = limits->memory != 0 && limits->memory < own.rlim_cur;
  plan.memory = (struct rlimit){limits->memory, limits->memory};
  for (int i = 0; i < 3; i++) plan.descriptors[i] = -1;
  *child = (mw_child){.path = path, .plan = plan, .process = -1, .pipes = {-1, -1}};
  return child;
}

static bool open_streams(mw_child *child, const mw_text *input) {
  int *theirs = child->plan.descriptors;
  theirs[0] = open_input(input);
  return theirs[0] >= 0 && make_pipe(&child->pipes[0], &theirs[1]) && make_pipe(&child->pipes[1], &theirs[2]);
}

/* Reaps the child. False if its status is not available. */
static bool reap(const mw_child *child, int *status) {
  pid_t reaped;
  do reaped = waitpid(child->process, status, __WALL);
  while (reaped < 0 && errno == EINTR);
  return reaped >= 0;
}

static int start(mw_child *child, double seconds) {
  mw_child_plan *plan = &child->plan;
  int status;
  child->deadline = seconds > 0 ? now() + seconds : 0;
  child->process = mw_child_start(plan);
  if (child->process >= 0 && !plan->error) return MW_SUCCESS;
  if (child->process >= 0) reap(child, &status);
  int error = plan->error, code = error == ENOENT || error == ENOTDIR ? MW_FILE_NOT_FOUND : MW_OPERATING_SYSTEM;
  if (plan->no_folder) {
    return fail(code, "cannot run '%s' in the folder '%s': %s", child->path, plan->directory, strerror(error));
  }
  return fail(code, "cannot run '%s': %s", child->path, strerror(error));
}

int mw_child_begin(const char *const *argv, const mw_text *input, const mw_child_limits *limits, mw_child **out) {
  static const mw_child_limits none;
  if (!limits) limits = &none;
  char *path = find_program(argv[0]);
  if (!path) return fail(MW_FILE_NOT_FOUND, "there is no program '%s' in $PATH", argv[0]);
  if (limits->directory) path = make_absolute(path);
  mw_child *child = child_new(path, argv, limits);
  int code = open_streams(child, input)
                 ? start(child, limits->seconds)
                 : fail(MW_OPERATING_SYSTEM, "cannot prepare to run '%s': %s", path, strerror(errno));
  for (int i = 0; i < 3; i++) close_if_open(&child->plan.descriptors[i]);
  if (code)
    child_free(child);
  else
    *out = child;
  return code;
}

static int wait_for(mw_child *child, mw_child_result *result) {
  const mw_child_plan *plan = &child->plan;
  struct rlimit own;
  result->inherited = !plan->has_memory && getrlimit(RLIMIT_AS, &own) == 0 && own.rlim_cur != RLIM_INFINITY;
  result->memory = plan->has_memory ? plan->memory.rlim_cur : result->inherited ? own.rlim_cur : 0;
  bool fits = collect(child->process, child->deadline, child->pipes, result);
  int status = 0;
  bool reaped = reap(child, &status);
  if (!fits && result->output.length <= OUTPUT_LIMIT && result->errors.length <= OUTPUT_LIMIT)
    return fail(MW_MEMORY_ALLOCATION, "the host has no memory for what '%s' writes, which was ended", plan->path);
  if (!fits) {
    return fail(MW_OPERATING_SYSTEM, "'%s' wrote more than %zu MiB and was ended", plan->path, OUTPUT_LIMIT >> 20);
  }
  if (plan->has_status) {
    status = plan->status;
  } else if (!reaped) {
    return fail(MW_OPERATING_SYSTEM,
                "the exit status of '%s' is lost: something in this process waits for all children", plan->path);
  }
  result->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return MW_SUCCESS;
}

int mw_child_finish(mw_child *child, mw_child_result *out) {
  mw_child_result result = {0};
  mw_text_add(&result.output, "", 0);
  mw_text_add(&result.errors, "", 0);
  int code = wait_for(child, &result);
  child_free(child);
  if (code)
    mw_child_result_free(&result);
  else
    *out = result;
  return code;
}

int mw_child_run(const char *const *argv, const mw_text *input, const mw_child_limits *limits, mw_child_result *out) {
  mw_child *child;
  int code = mw_child_begin(argv, input, limits, &child);
  return code ? code : mw_child_finish(child, out);
}

void mw_child_result_free(mw_child_result *result) {
  mw_text_free(&result->output);
  mw_text_free(&result->errors);
}
