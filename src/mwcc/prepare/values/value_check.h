/* Declarations that value_check.c and value_shadow.c share. */
#ifndef MWCC_VALUE_CHECK_H
#define MWCC_VALUE_CHECK_H

#include "mwcc/mwcc.h"
#include "mwcc/support/predicates.h"
#include "mwcc/support/checked_access.h"

enum { WIDEST = 64 /* bytes of a value */ };

/* The pass's own functions and variables, of which none is left after it. */
#define USE       "__mw_use"
#define HIDDEN    "__mw_hidden"
#define UNWRITTEN "__mw_unwritten"
#define ABSENT    "__mw_absent"
#define FOUND     "mw.found"

/* MemorySanitizer drops the alignments of copies, and keeps their order. */
typedef struct alignments {
  unsigned target, source;
} alignments;

typedef struct value_check {
  program *p;
  LLVMBuilderRef b;
  alignments *copies;
  size_t copy_count, next_copy;
  LLVMValueRef unwritten, absent; /* memory whose shadow is unwritten: uninitialised, or from an absent lane */
  LLVMValueRef shadow, event;
  LLVMTypeRef shadow_type, event_type;
  LLVMValueRef sharing, shared; /* the function to which the slot `shared` belongs */
} value_check;

static inline bool is_named(LLVMValueRef call, const char *prefix) { return starts_with(callee_name(call), prefix); }

/* Copy or set memory as a call of memcpy, memmove or memset does. (value_shadow.c) */
void copy_memory(value_check *c, LLVMValueRef call, const char *what, alignments known);
/* Turn MemorySanitizer's calls into the runtime's, and delete what the pass has added. */
void make_shadows(value_check *c);

#endif
