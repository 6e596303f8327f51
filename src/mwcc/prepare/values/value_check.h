/* Declarations that value_check.c, value_locals.c and value_shadow.c share. */
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
#define FOUND     "mw.found"
#define HOLD      "__mw_hold"

/* MemorySanitizer drops the alignments of copies, and keeps their order. */
typedef struct alignments {
  unsigned target, source;
} alignments;

/* A struct parameter of a kernel that is only read: all of it is written. */
typedef struct written_parameter {
  LLVMValueRef argument;
  LLVMAttributeRef byval;
} written_parameter;

typedef struct value_check {
  program *p;
  LLVMBuilderRef b;
  alignments *copies;
  size_t copy_count, next_copy;
  written_parameter *written;
  size_t written_count;
  LLVMValueRef unwritten, absent; /* memory whose shadow is unwritten: uninitialised, or from an absent lane */
  LLVMValueRef shadow, event;
  LLVMTypeRef shadow_type, event_type;
  LLVMValueRef sharing, shared; /* the function to which the slot `shared` belongs */
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

/* Copy or set memory as a call of memcpy, memmove or memset does. (value_shadow.c) */
void copy_memory(value_check *c, LLVMValueRef call, const char *what, alignments known);
/* Turn MemorySanitizer's calls into the runtime's, and delete what the pass has added. */
void make_shadows(value_check *c);

#endif
