/* Switching stacks (fiber_switch.S), and announcing it to AddressSanitizer. */
#ifndef MW_CPU_SWITCH_H
#define MW_CPU_SWITCH_H

#include <stddef.h>

/* From the host's stack to a kernel's: call function(argument) on the stack that ends at `top` (16-byte aligned), with
   the default floating-point modes. *saved is the context to return to; it is written first. Returns when the function
   has returned, or when cpu_leave(*saved) abandons it. All callee-saved registers are preserved, including the host's
   floating-point modes. */
void cpu_enter(void **saved, void *top, void (*function)(void *), void *argument);
_Noreturn void cpu_leave(void *saved);

/* Between fibers: store the current context in *from and continue at the context `to`. Floating-point modes are not
   changed: all fibers of a kernel share them. */
void cpu_switch(void **from, void *to);
/* The context `to` of a new fiber that calls function(argument), which never returns, on the stack that ends at
   `top`. */
void *cpu_fiber_prepare(void *top, void (*function)(void *), void *argument);

/* From a kernel's stack to the host's, temporarily: store the current context in *place and continue where
   cpu_enter(&saved, …) was called. A cpu_switch to *place, from a function that cpu_enter calls, returns here. */
void cpu_suspend(void **place, void *saved);

/* From a kernel's stack, call function(argument) on the host's stack below `top`. */
void cpu_call_on(void *top, void (*function)(void *), void *argument);

/* AddressSanitizer tracks the bounds of the current stack, and has a shadow of it. Before each switch: cpu_stack_leave
   with the stack to switch to. After it, on the new stack: cpu_stack_arrive with the value that *keep got when that
   stack was last left, NULL the first time. */
typedef struct cpu_stack {
  const void *bottom;
  size_t size;
} cpu_stack;

#ifndef __has_feature
#define __has_feature(x) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define CPU_ASAN 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
static inline void cpu_stack_leave(void **keep, const cpu_stack *to) {
  __sanitizer_start_switch_fiber(keep, to->bottom, to->size);
}
static inline void cpu_stack_arrive(void *kept, cpu_stack *from) {
  const void *bottom;
  size_t size;
  __sanitizer_finish_switch_fiber(kept, &bottom, &size);
  if (from) *from = (cpu_stack){bottom, size};
}
/* Frames on the stack were abandoned: clear their shadow. */
static inline void cpu_stack_forget(const cpu_stack *stack) { ASAN_UNPOISON_MEMORY_REGION(stack->bottom, stack->size); }
#else
static inline void cpu_stack_leave(void **keep, const cpu_stack *to) { (void)keep, (void)to; }
static inline void cpu_stack_arrive(void *kept, cpu_stack *from) { (void)kept, (void)from; }
static inline void cpu_stack_forget(const cpu_stack *stack) { (void)stack; }
#endif

/* For reading other frames of the stack. */
#define CPU_ANY_FRAME __attribute__((no_sanitize("address")))

/* ThreadSanitizer tracks calls and returns, which do not pair up across stack switches. */
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define CPU_UNSANITIZED __attribute__((no_sanitize("thread")))
#else
#define CPU_UNSANITIZED
#endif

#endif
