/* Declarations that value_check.c, value_locals.c, value_shadow.c and value_screen.c share. */
#ifndef MWCC_VALUE_CHECK_H
#define MWCC_VALUE_CHECK_H

#include "mwcc/mwcc.h"
#include "mwcc/support/predicates.h"
#include "mwcc/support/checked_access.h"

enum { WIDEST = 64 /* bytes of a value */, LONGEST = 256 /* of a struct whose members are registers */ };

/* The pass's own functions and variables, of which none is left after it. */
#define USE       "__mw_use"
#define HIDDEN    "__mw_hidden"
#define UNWRITTEN "__mw_unwritten"
#define ABSENT    "__mw_absent"
#define GIVEN     "__mw_given"
#define TAKEN     "__mw_taken"
#define FOUND     "mw.found"
#define HOLD      "__mw_hold"
/* Instructions that gpu_locals.c makes: not to be checked. */
#define GPU_SHADOW "mw.shadow"

/* MemorySanitizer drops the alignments of copies, and keeps their order. */
typedef struct alignments {
  unsigned target, source;
} alignments;

/* A struct parameter of a kernel that is only read: all of it is written. */
typedef struct written_parameter {
  LLVMValueRef argument;
  LLVMAttributeRef byval;
} written_parameter;

/* A pointer to a local variable or into it, and the same pointer to its shadow: gpu_locals.c. */
typedef struct gpu_pointer {
  LLVMValueRef value, local, shadow;
} gpu_pointer;

enum { GPU_FRAME = 5 };
/* In a function, the shadow of a variable or an array; NULL: that of a local variable is at a distance from it. */
typedef struct root_shadows {
  LLVMValueRef function, of, shadow;
} root_shadows;

typedef struct value_check {
  program *p;
  LLVMBuilderRef b;
  alignments *copies;
  size_t copy_count, next_copy;
  written_parameter *written;
  size_t written_count;
  root_shadows *roots;
  size_t root_count;
  LLVMValueRef unwritten, absent; /* memory whose shadow is unwritten: uninitialised, or from an absent lane */
  LLVMValueRef given, taken;      /* what goes into a shuffle and comes out of it: value_shuffle.c */
  LLVMValueRef shuffle, moved, moved_origin; /* the latest one; the shadow that goes into it, and its origin */
  LLVMValueRef shadow, event;
  LLVMTypeRef shadow_type, event_type;
  gpu_pointer *pointers;
  size_t pointer_count;
  LLVMValueRef framed, frame[GPU_FRAME], latest; /* the function to which they belong: gpu_shadow.c */
  LLVMValueRef sharing, shared;                  /* the function to which the slot `shared` belongs */
  LLVMValueRef measured, distance;               /* the function whose entry computes `distance` */
  LLVMValueRef seeing, seen; /* the function to which the variable `seen` belongs (value_screen.c) */
} value_check;

static inline bool is_scalar(const value_check *c, LLVMTypeRef type) {
  LLVMTypeKind kind = LLVMGetTypeKind(type);
  return kind != LLVMStructTypeKind && kind != LLVMArrayTypeKind && LLVMABISizeOfType(c->p->layout, type) <= WIDEST;
}

static inline bool is_named(LLVMValueRef call, const char *prefix) { return starts_with(callee_name(call), prefix); }

static inline bool is_written(const value_check *c, LLVMValueRef root) {
  for (size_t n = 0; n < c->written_count; n++)
    if (c->written[n].argument == root) return true;
  return false;
}

/* value_locals.c. */
/* The function's variables that are to be registers begin unwritten; the others are held in memory. */
void begin_variables(value_check *c, LLVMValueRef f);
void make_registers(program *p);
/* MemorySanitizer gives each byval argument a shadow in memory, which looks as if the kernel stored to the parameter;
   then the kernel is not vectorised. Without the attribute it does not. */
void hide_written_parameters(value_check *c);
void show_written_parameters(value_check *c);

/* gpu_locals.c */
/* Before MemorySanitizer: the variables of the function that are to have shadows; after it: give them to these. */
void find_gpu_locals(value_check *c, LLVMValueRef f);
void make_gpu_locals(value_check *c);
/* The address of the variable's shadow; NULL: the address is not known to be a variable's. */
LLVMValueRef gpu_local_shadow(const value_check *c, LLVMValueRef address);
/* gpu_shadow.c */
/* A call of MemorySanitizer becomes one of moonwarp/checked_run/written.h. what: its name without "__msan_". */
void rewrite_gpu_call(value_check *c, LLVMValueRef call, const char *what);
LLVMValueRef call_gpu_function(value_check *c, const char *name, LLVMValueRef *arguments, unsigned count);
/* Whether the function is instrumented: those that mwcc calls itself are not. */
bool is_checked_function(const value_check *c, LLVMValueRef f);

/* value_shadow.c */
LLVMValueRef slot(value_check *c, LLVMValueRef call, unsigned bytes);
void forget_state(LLVMValueRef address);
void make_context(value_check *c, LLVMValueRef call);
/* Copy or set memory as a call of memcpy, memmove or memset does. (value_shadow.c) */
void copy_memory(value_check *c, LLVMValueRef call, const char *what, alignments known);
/* Turn MemorySanitizer's calls into the runtime's, and delete what the pass has added. */
void make_shadows(value_check *c);
/* Report a use of an unwritten value if the condition is true. */
void call_event_if(value_check *c, LLVMValueRef value, LLVMValueRef condition);

/* value_shuffle.c */
/* Before MemorySanitizer: the call is of a function that it does not know. After it: it is what it was. */
void hide_shuffle(value_check *c, LLVMValueRef call);
void show_shuffle(value_check *c, LLVMValueRef call);
/* Whether MemorySanitizer's call is for a shuffle; then its result is replaced. */
bool make_shuffled(value_check *c, LLVMValueRef call);
void drop_given(value_check *c);

/* Where the shadow of what is at the address is, at the builder's place. (shadow_address.c) */
LLVMValueRef shadow_address(value_check *c, LLVMValueRef address);

/* value_screen.c, for screened code. */
/* Note the shadow that the load reads, and replace it by that of a written value. */
void collect_shadow(value_check *c, LLVMValueRef load);
/* Test what the function has noted. */
void test_collected(value_check *c, LLVMValueRef f);

#endif
