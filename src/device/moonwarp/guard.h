/* Failures of threads on a GPU: a thread reports to the host, requests that its grid ends, and exits.
 *
 * A fault of the hardware would make the GPU's context unusable for the rest of the process. So the first thread of a
 * grid that fails writes a report into host memory. The other threads poll for the request (when they wait and, in
 * instrumented code, at their start and in loops) and exit as well; barriers do not wait for threads that have exited.
 * In a module that was not loaded by moonwarp, the report would not be read, and the thread traps. */
#ifndef MOONWARP_GUARD_H
#define MOONWARP_GUARD_H

#include "moonwarp/guard_layout.h"

#ifdef __MW_NVRTC__
extern "C" __constant__ mw_guard __mw_guard; /* the host looks it up by name */
__constant__ mw_guard __mw_guard;
#define __mw_cold_function template <int = 0> static __device__ __noinline__
#define __mw_last          template <int = 0> __attribute__((noreturn)) static __device__ __noinline__
#else
static __attribute__((constant)) mw_guard __mw_guard; /* mwcc exports it if it is used */
#define __mw_cold_function template <int = 0> static __attribute__((device, noinline, nodebug))
#define __mw_last          template <int = 0> static __attribute__((device, noinline, nodebug, noreturn))
#endif

__mw_device unsigned long long __mw_grid_id() {
  unsigned long long grid;
  asm("mov.u64 %0, %%gridid;" : "=l"(grid));
  return grid;
}
__mw_device mw_guard_words *__mw_guard_shared() { return (mw_guard_words *)__mw_guard.words; }
__mw_device unsigned int __mw_exchange(unsigned int *at, unsigned int value) {
  unsigned int old;
  asm volatile("atom.exch.b32 %0, [%1], %2;" : "=r"(old) : "l"(at), "r"(value) : "memory");
  return old;
}
__mw_device unsigned int __mw_count_one(unsigned int *at) {
  unsigned int old;
  asm volatile("atom.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(at) : "memory");
  return old;
}
/* End the thread. */
__mw_device void __mw_end_thread() {
  asm volatile("exit;");
  __builtin_unreachable();
}
__mw_device void __mw_copy_text(volatile char *to, const char *text, int most) {
  int n = 0;
  for (; text && text[n] && n < most - 1; n++) to[n] = text[n];
  to[n] = 0;
}

typedef struct __mw_failure {
  unsigned int kind;
  const char *text, *file, *function;
  unsigned int line, is_store;
  unsigned long long object, address, bytes, size;
} __mw_failure;

__mw_cold_function void __mw_report_host(const __mw_failure &what, unsigned long long grid) {
  unsigned int n = __mw_count_one(&__mw_guard_shared()->reports);
  volatile mw_guard_report *r = &((mw_guard_host *)__mw_guard.host)->reports[n % MW_GUARD_REPORTS];
  r->count = n;
  asm volatile("membar.sys;" : : : "memory");
  r->grid = grid;
  r->kind = what.kind;
  r->unit = __mw_guard.unit;
  r->line = what.line;
  r->is_store = what.is_store;
  r->object = what.object;
  r->address = what.address;
  r->bytes = what.bytes;
  r->size = what.size;
  r->block[0] = blockIdx.x;
  r->block[1] = blockIdx.y;
  r->block[2] = blockIdx.z;
  r->thread[0] = threadIdx.x;
  r->thread[1] = threadIdx.y;
  r->thread[2] = threadIdx.z;
  __mw_copy_text(r->file, what.file, sizeof r->file);
  __mw_copy_text(r->function, what.function, sizeof r->function);
  __mw_copy_text(r->text, what.text, sizeof r->text);
  asm volatile("membar.sys;" : : : "memory");
  r->count = n + 1;
  asm volatile("membar.sys;" : : : "memory");
}

/* One thread of a grid that the host stopped reports so, which shows that the grid had not ended before. */
__mw_cold_function void __mw_report_stopped(unsigned long long grid) {
  unsigned int mark = (unsigned int)grid << 1;
  if (__mw_exchange(&__mw_guard_shared()->left[grid % MW_GUARD_LAUNCHES], mark) == mark) return;
  __mw_failure what = {MW_GUARD_STOPPED};
  __mw_report_host(what, grid);
}

__mw_last void __mw_fail(const __mw_failure &what) {
  if (!__mw_guard.words) asm volatile("trap;");
  unsigned long long grid = __mw_grid_id();
  unsigned int mark = (unsigned int)grid << 1;
  unsigned int old = __mw_exchange(&__mw_guard_shared()->stops[grid % MW_GUARD_LAUNCHES], mark);
  if (old == (mark | 1))
    __mw_report_stopped(grid);
  else if (old != mark)
    __mw_report_host(what, grid);
  __mw_end_thread();
}

/* A poll: end the thread if the end of its grid was requested. */
__mw_cold_function void __mw_poll() {
  if (!__mw_guard.words) return;
  unsigned long long grid = __mw_grid_id();
  unsigned int mark = (unsigned int)grid << 1;
  unsigned int stop = *(volatile unsigned int *)&__mw_guard_shared()->stops[grid % MW_GUARD_LAUNCHES];
  if ((stop | 1) != (mark | 1)) return;
  if (stop & 1) __mw_report_stopped(grid);
  __mw_end_thread();
}

__mw_last void __mw_fail_assertion(const char *text, const char *file, unsigned int line, const char *function,
                                   size_t = 1) {
  __mw_failure what = {MW_GUARD_ASSERT, text, file, function, line};
  __mw_fail(what);
}
__mw_last void __mw_fail_trap(const char *file, unsigned int line, const char *function) {
  __mw_failure what = {MW_GUARD_TRAP, 0, file, function, line};
  __mw_fail(what);
}

#endif
