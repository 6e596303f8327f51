/* Debugging: printf, __trap, clocks. assert is in assert.h. */
#ifndef MOONWARP_DEBUG_H
#define MOONWARP_DEBUG_H

#include "assert.h"

/* clang packs printf's arguments into a buffer with CUDA's layout and calls vprintf(format, buffer). */
__mw_import int printf(const char *format, ...);
__mw_import int vprintf(const char *format, const char *arguments);

/* Makes the launch fail; what threads have written stays. */
#ifdef __MW_NVPTX__
#include "moonwarp/guard.h"
__mw_device void __trap(const char *file = __builtin_FILE(), unsigned int line = __builtin_LINE(),
                        const char *function = __builtin_FUNCTION()) {
  __mw_fail_trap(file, line, function);
}
#define __assertfail(...) __mw_fail_assertion(__VA_ARGS__)
__mw_device void __brkpt() { asm volatile("brkpt;"); }
#else
__mw_device void __trap() { __builtin_trap(); }
__mw_device void __brkpt() {}
#endif

__mw_device long long clock64() { return __nvvm_read_ptx_sreg_clock64(); }
__mw_device clock_t clock() { return clock64(); }

/* Counters for a profiler, which are not read here. */
__mw_device void __prof_trigger(int) {}

__mw_device void __nanosleep(unsigned int nanoseconds) { __nvvm_nanosleep(nanoseconds); }

#endif
