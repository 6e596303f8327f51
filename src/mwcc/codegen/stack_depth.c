/* Measures the stack that a function and its callees need, as far as it is known before code generation: their local
 * arrays, along the call chain that needs the most.
 *
 * The functions of a recursion (a strongly connected component of the call graph, found by Tarjan's algorithm) count
 * once each: the depth of the recursion is unknown. */
#include "mwcc/mwcc.h"
#include "codegen.h"
#include "mwcc/entry/entry.h"

#include <stdlib.h>
#include <string.h>

typedef struct reached { /* a function; the list is in depth-first order */
  LLVMValueRef function;
  size_t own;   /* bytes of its own arrays */
  size_t below; /* bytes of the deepest chain below its component; when that is closed, including the component */
  size_t low;   /* Tarjan's low link: the earliest function known to be in its component */
  bool open;    /* its component is not complete yet */
} reached;

typedef struct walk {
  program *p;
  reached *list;
  size_t count;
  size_t *open, open_count; /* Tarjan's stack: functions of components that are not complete */
} walk;

static void visit(walk *w, size_t at);

static size_t bytes_of(const program *p, LLVMValueRef array) {
  LLVMValueRef count = LLVMGetOperand(array, 0);
  return LLVMABISizeOfType(p->layout, LLVMGetAllocatedType(array)) *
         (LLVMIsAConstantInt(count) ? LLVMConstIntGetZExtValue(count) : 1);
}

static void follow_reference(walk *w, size_t from, LLVMValueRef function) {
  size_t at = 0;
  while (at < w->count && w->list[at].function != function) at++;
  if (at == w->count) {
    if ((w->count & (w->count - 1)) == 0) {
      size_t room = w->count ? 2 * w->count : 1;
      w->list = mw_realloc(w->list, room * sizeof *w->list);
      w->open = mw_realloc(w->open, room * sizeof *w->open);
    }
    w->list[w->count++] = (reached){.function = function, .low = at, .open = true};
    visit(w, at);
  }
  reached *caller = &w->list[from];
  const reached *callee = &w->list[at];
  if (callee->open) {
    if (callee->low < caller->low) caller->low = callee->low;
  } else if (callee->below > caller->below) {
    caller->below = callee->below;
  }
}

static void visit_body(walk *w, size_t at) {
  instructions list = instructions_of_function(w->list[at].function);
  for (size_t n = 0; n < list.count; n++) {
    LLVMValueRef i = list.items[n];
    if (LLVMIsAAllocaInst(i)) {
      w->list[at].own += bytes_of(w->p, i);
      continue;
    }
    int operands = LLVMGetNumOperands(i);
    for (int o = 0; o < operands; o++) { /* called, or passed to run_fibers */
      LLVMValueRef operand = LLVMGetOperand(i, (unsigned)o);
      if (!LLVMValueIsBasicBlock(operand) && LLVMIsAFunction(operand)) follow_reference(w, at, operand);
    }
  }
  free(list.items);
}

/* The functions on the stack from the component's first one on are the component. */
static void close_component(walk *w, size_t first) {
  size_t start = w->open_count, bytes = 0, below = 0;
  do {
    const reached *here = &w->list[w->open[--start]];
    bytes += here->own;
    if (here->below > below) below = here->below;
  } while (w->open[start] != first);
  for (size_t i = start; i < w->open_count; i++) {
    w->list[w->open[i]].open = false;
    w->list[w->open[i]].below = bytes + below;
  }
  w->open_count = start;
}

static void visit(walk *w, size_t at) {
  LLVMValueRef function = w->list[at].function;
  w->open[w->open_count++] = at;
  if (LLVMIsDeclaration(function))
    w->list[at].own = w->p->partitions ? partitions_stack(w->p->partitions, function) : 0;
  else
    visit_body(w, at);
  if (w->list[at].low == at) close_component(w, at);
}

size_t measure_stack(program *p, LLVMValueRef function) {
  walk w = {.p = p, .list = mw_alloc(sizeof *w.list), .open = mw_alloc(sizeof *w.open), .count = 1};
  w.list[0] = (reached){.function = function, .open = true};
  visit(&w, 0);
  size_t bytes = w.list[0].below;
  free(w.list);
  free(w.open);
  return bytes;
}

void write_stack_sizes(program *p) {
  for (size_t i = 0; i < p->kernel_count; i++) {
    const char *name = p->kernels[i].thread_code;
    LLVMValueRef function = name ? LLVMGetNamedFunction(p->module, name) : NULL;
    if (function) p->kernels[i].local_bytes = measure_stack(p, function);
  }
  set_local_bytes(p);
}
