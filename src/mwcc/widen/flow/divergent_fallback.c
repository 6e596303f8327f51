/* Gangs that do not go the way of most, in a function of their own, one part after the other.
 *
 * uniform_path.c and speculative_shapes.c have code for gangs whose lanes all do the same, or whose indices follow on. Where a gang turns
 * out to be none such before it has changed any memory, it can as well begin again: in a function that runs its parts by
 * themselves, for any lanes. That is less code than all parts at once, under masks, between what most gangs run; and the
 * two functions are optimised side by side (parallel.c). */
#include "mwcc/widen/memory/memory.h"
#include "emission.h"
#include "mwcc/target/tuning.h"

#include <stdlib.h>

enum { FRAME, WORKER, BLOCK_X, BLOCK_Y, BLOCK_Z, THREAD_X, THREAD_Y, THREAD_Z, PARAMETERS };

/* ---- which gangs can begin again ---- */

bool may_have_strays(const program *p, const kernel *k, const graph *g, const cut *c) {
  enum { WORTH = TUNE_FALLBACK_CODE };
  bool whole = c->kind == CUT_ROWS || c->kind == CUT_PLANE;
  if (!has_pass(p, PASS_DIVERGENT_FALLBACK)) return false;
  if (!p->options->launch_kernel || !whole || g->seamless || c->lanes == 1) return false;
  /* what both functions would have to agree on */
  if (k->waits || k->sees_warp || k->shared_bytes || k->dynamic_shared || k->keeps_sums) return false;
  for (int n = 0; n < g->count; n++)
    if (g->nodes[n].barrier) return false;
  return g->value_count * c->parts > WORTH;
}

/* Whether it makes no difference that it was done before. */
static bool can_be_repeated(LLVMValueRef i) {
  if (LLVMIsALoadInst(i)) return !LLVMGetVolatile(i) && LLVMGetOrdering(i) == LLVMAtomicOrderingNotAtomic;
  return is_harmless(i);
}

static bool repeats(const node *n) {
  for (LLVMValueRef i = n->first;; i = LLVMGetNextInstruction(i)) {
    if (!LLVMIsATerminatorInst(i) && !can_be_repeated(i)) return false;
    if (i == n->last) return true;
  }
}

/* Lanes that part in a loop have been through rounds of it, which would be lost. */
bool can_begin_again(const emission *e, const bool *asked) {
  const plan *p = &e->ways[0].plan;
  const graph *g = e->w.g;
  int depth = 0, *stack = mw_alloc((size_t)(g->count + 1) * sizeof *stack);
  bool *late = mw_alloc((size_t)g->count + 1), can = e->single; /* late: behind what must not be repeated */
  for (int i = 0; i < p->order.rpo_count; i++) {
    int n = p->order.rpo[i];
    if (asked[n] && p->order.innermost[n] >= 0) can = false;
    if (!repeats(&g->nodes[n])) stack[depth++] = n, late[n] = true;
  }
  while (depth && can) {
    int n = stack[--depth], succs[2], count = p->flow.succs(g, n, succs);
    if (asked[n]) can = false;
    for (int i = 0; i < count; i++)
      if (!late[succs[i]]) stack[depth++] = succs[i], late[succs[i]] = true;
  }
  free(stack);
  free(late);
  return can;
}

/* ---- from the function that most gangs run ---- */

static LLVMTypeRef type_of(const program *p) {
  LLVMTypeRef params[PARAMETERS];
  for (int i = 0; i < PARAMETERS; i++) params[i] = i <= WORKER ? p->pointer : p->i32;
  return LLVMFunctionType(p->void_type, params, PARAMETERS, 0);
}

/* In memory, and not in registers that most gangs need for other things. */
void keep_for_strays(emission *e) {
  widener *w = &e->w;
  if (!e->single) return;
  for (int i = 0; i < THREAD_X; i++) {
    LLVMTypeRef type = i <= WORKER ? w->p->pointer : w->p->i32;
    LLVMValueRef value =
        i <= WORKER ? LLVMGetParam(w->function, (unsigned)i) : load_slot(e, type, w->ctaid[i - BLOCK_X]);
    if (!e->for_strays[i]) e->for_strays[i] = LLVMBuildAlloca(w->entry, type, "");
    LLVMSetVolatile(LLVMBuildStore(w->b, value, e->for_strays[i]), 1);
  }
}

void forget_for_strays(emission *e) {
  for (int i = 0; i < FOR_STRAYS && e->for_strays[i]; i++) {
    for (LLVMUseRef use; (use = LLVMGetFirstUse(e->for_strays[i]));) LLVMInstructionEraseFromParent(LLVMGetUser(use));
    LLVMInstructionEraseFromParent(e->for_strays[i]);
  }
}

void begin_again(emission *e) {
  widener *w = &e->w;
  program *p = w->p;
  LLVMTypeRef type = type_of(p), types[PARAMETERS];
  LLVMValueRef arguments[PARAMETERS];
  LLVMGetParamTypes(type, types);
  for (int i = 0; i < PARAMETERS; i++) {
    bool is_kept = i < THREAD_X;
    arguments[i] = is_kept ? load_slot(e, types[i], e->for_strays[i]) : first_id(w, (unsigned)(i - THREAD_X));
    if (is_kept) LLVMSetVolatile(arguments[i], 1);
  }
  if (!e->strays) {
    char *name = mw_format("strays.%s", w->k->linkage);
    e->strays = LLVMAddFunction(p->module, name, type);
    free(name);
  }
  LLVMValueRef call = LLVMBuildCall2(w->b, type, e->strays, arguments, PARAMETERS, "");
  unsigned line = (unsigned)w->k->line;
  LLVMInstructionSetDebugLoc(call, LLVMDIBuilderCreateDebugLocation(p->context, line, 1, e->scope, NULL));
  LLVMBuildBr(w->b, e->end);
}

/* ---- their function ---- */

static void add_distance(emission *e, LLVMValueRef from, LLVMValueRef distance, LLVMValueRef to) {
  LLVMValueRef sum = LLVMBuildAdd(e->w.b, from, load_slot(e, e->w.p->i32, distance), "");
  LLVMBuildStore(e->w.b, sum, to);
}

/* `cut`: of the gangs that begin again. */
void emit_strays(emission *e, const cut *gang) {
  widener *w = &e->w;
  program *p = w->p;
  unsigned across = gang->kind == CUT_PLANE ? (unsigned)gang->columns : (unsigned)gang->parts,
           rows = (unsigned)gang->parts / across, width = (unsigned)gang->lanes;
  begin_function(e);
  add_attribute(p, w->function, "noinline");
  add_attribute(p, w->function, "cold");
  for (int axis = 0; axis < 3; axis++)
    LLVMBuildStore(w->b, LLVMGetParam(w->function, (unsigned)(BLOCK_X + axis)), w->ctaid[axis]);
  LLVMBuildStore(w->b, LLVMGetParam(w->function, THREAD_Z), w->tid[2]);
  LLVMBuildStore(w->b, constant_i32(p, 0), w->gang);
  LLVMValueRef down = LLVMBuildAlloca(w->entry, p->i32, "down"), right = LLVMBuildAlloca(w->entry, p->i32, "right");
  e->way = &e->ways[0];
  if (!begin_way(e, e->way, w->shapes->divergent, 0)) return;
  e->way->root = (mask){.all = true};
  e->end = new_block(e, "part.end");
  counted y = begin_counted(e, down, constant_i32(p, rows), 1);
  add_distance(e, LLVMGetParam(w->function, THREAD_Y), down, w->tid[1]);
  counted x = begin_counted(e, right, constant_i32(p, width * across), width);
  add_distance(e, LLVMGetParam(w->function, THREAD_X), right, w->tid[0]);
  LLVMValueRef start = begin_gang(e);
  emit_way(e, 0);
  emit_rest(e);
  go_on_at(e, e->end);
  end_counted(e, x);
  end_counted(e, y);
  empty_slots(w, start);
  forget_way(e->way);
  LLVMBuildRetVoid(w->b);
}
