/* Calls that fail, for spec/core/fault_injection_spec.lua: preloaded into a process, it makes one call of a kind fail,
 * as a system that has no more of something does.
 *
 *   FAIL_KIND=memory     allocations of at least 64 KiB, whoever asks
 *   FAIL_KIND=system     open, openat, mmap, mprotect, write, pipe2, memfd_create, mkdtemp, rename, clone, pthread_create
 *                        of libmoonwarp
 *   FAIL_AT=n            the n-th one fails, from 1; 0: none
 *   FAIL_COUNT=path      at the end, how many there were is written there
 *
 * The process's children are left alone. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define LARGE  ((size_t)64 << 10)

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static long at;
static enum { NOTHING, MEMORY, SYSTEM } kind;
static atomic_long count;
static pid_t process;

__attribute__((constructor)) static void begin(void) {
  const char *wanted = getenv("FAIL_KIND"), *number = getenv("FAIL_AT");
  process = getpid();
  at = number ? atol(number) : 0;
  unsetenv("LD_PRELOAD");
  kind = !wanted ? NOTHING : strcmp(wanted, "memory") == 0 ? MEMORY : SYSTEM;
}

__attribute__((destructor)) static void end(void) {
  const char *path = getenv("FAIL_COUNT");
  bool counts = path && getpid() == process;
  kind = NOTHING;
  FILE *file = counts ? fopen(path, "w") : NULL;
  if (!file) return;
  fprintf(file, "%ld\n", atomic_load(&count));
  fclose(file);
}

static bool is_due(void) { return atomic_fetch_add(&count, 1) + 1 == at; }

static bool no_memory(size_t bytes) {
  if (kind != MEMORY || bytes < LARGE || !is_due()) return false;
  errno = ENOMEM;
  return true;
}

EXPORT void *malloc(size_t bytes) { return no_memory(bytes) ? NULL : __libc_malloc(bytes); }
EXPORT void *calloc(size_t n, size_t bytes) { return no_memory(n * bytes) ? NULL : __libc_calloc(n, bytes); }
EXPORT void *realloc(void *old, size_t bytes) { return no_memory(bytes) ? NULL : __libc_realloc(old, bytes); }
EXPORT void *aligned_alloc(size_t align, size_t bytes) {
  return no_memory(bytes) ? NULL : __libc_memalign(align, bytes);
}

static bool fails(void *caller, int error) {
  Dl_info info;
  if (kind != SYSTEM || !dladdr(caller, &info) || !info.dli_fname || !strstr(info.dli_fname, "libmoonwarp"))
    return false;
  if (!is_due()) return false;
  errno = error;
  return true;
}

#define CALLER     __builtin_return_address(0)
#define REAL(name) (__extension__(__typeof__(&name)) dlsym(RTLD_NEXT, #name))

static int mode_of(int flags, va_list args) { return flags & O_CREAT ? va_arg(args, int) : 0; }

EXPORT int open(const char *path, int flags, ...) {
  va_list args;
  va_start(args, flags);
  int mode = mode_of(flags, args);
  va_end(args);
  return fails(CALLER, EMFILE) ? -1 : REAL(open)(path, flags, mode);
}
EXPORT int openat(int folder, const char *path, int flags, ...) {
  va_list args;
  va_start(args, flags);
  int mode = mode_of(flags, args);
  va_end(args);
  return fails(CALLER, EMFILE) ? -1 : REAL(openat)(folder, path, flags, mode);
}
EXPORT void *mmap(void *address, size_t bytes, int protection, int flags, int descriptor, off_t offset) {
  if (fails(CALLER, ENOMEM)) return MAP_FAILED;
  return REAL(mmap)(address, bytes, protection, flags, descriptor, offset);
}
EXPORT int mprotect(void *address, size_t bytes, int protection) {
  return fails(CALLER, ENOMEM) ? -1 : REAL(mprotect)(address, bytes, protection);
}
EXPORT ssize_t write(int descriptor, const void *data, size_t bytes) {
  return fails(CALLER, ENOSPC) ? -1 : REAL(write)(descriptor, data, bytes);
}
EXPORT int pipe2(int ends[2], int flags) { return fails(CALLER, EMFILE) ? -1 : REAL(pipe2)(ends, flags); }
EXPORT int memfd_create(const char *name, unsigned flags) {
  return fails(CALLER, EMFILE) ? -1 : REAL(memfd_create)(name, flags);
}
EXPORT char *mkdtemp(char *path) { return fails(CALLER, ENOSPC) ? NULL : REAL(mkdtemp)(path); }
EXPORT int rename(const char *from, const char *to) { return fails(CALLER, EACCES) ? -1 : REAL(rename)(from, to); }
EXPORT int clone(int (*run)(void *), void *stack, int flags, void *argument, ...) {
  return fails(CALLER, EAGAIN) ? -1 : REAL(clone)(run, stack, flags, argument);
}
EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
  return fails(CALLER, EAGAIN) ? EAGAIN : REAL(pthread_create)(thread, attributes, run, argument);
}
