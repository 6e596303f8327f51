/* The fallback of a kernel: a cold function for gangs that leave a fast path (a bail-out). It runs one vector at a
 * time.
 *
 * uniform_path.c and speculative_shapes.c emit code for gangs whose lanes agree, or whose indices are affine. A gang
 * that fails their test before it has changed any memory may start over in a function that runs its vectors one by
 * one, under any mask. That is less code than the general path for all vectors of the gang amid the fast path, and
 * both functions are optimised in parallel (parallel.c).
 *
 * Invariant: a gang calls the fallback only at a point that nothing but repeatable instructions precede
 * (can_be_repeated), outside of loops. So no effect happens twice. */
#include "mwcc/widen/memory/memory.h"
#include "mwcc/support/predicates.h"
#include "emission.h"
#include "mwcc/target/tuning.h"

#include <stdlib.h>

enum { FRAME, WORKER, BLOCK_X, BLOCK_Y, BLOCK_Z, THREAD_X, THREAD_Y, THREAD_Z, PARAMETERS };

/* ---- which gangs can start over ---- */

bool may_fall_back(const program *p, const kernel *k, const graph *g, const cut *c) {
  enum { WORTH = TUNE_FALLBACK_CODE };
  bool whole = c->kind == CUT_ROWS || c->kind == CUT_PLANE;
  if (!has_pass(p, PASS_DIVERGENT_FALLBACK)) return false;
  if (!p->options->launch_kernel || !whole || g->seamless || c->lanes == 1) return false;
  /* state that both functions would have to agree on */
  if (k->waits || k->sees_warp || k->shared_bytes || k->dynamic_shared || k->saves_state) return false;
  for (int n = 0; n < g->count; n++)
    if (g->nodes[n].barrier) return false;
  return g->value_count * c->vectors > WORTH;
}

/* Whether executing it a second time has no further effect. */
static bool can_be_repeated(LLVMValueRef i) {
  if (LLVMIsALoadInst(i)) return is_plain_access(i);
  return touches_no_memory(i);
}

static bool is_repeatable_node(const node *n) {
  for (LLVMValueRef i = n->first;; i = LLVMGetNextInstruction(i)) {
    if (!LLVMIsATerminatorInst(i) && !can_be_repeated(i)) return false;
    if (i == n->last) return true;
  }
}

/* A branch in a loop does not qualify: the iterations before it would be lost. */
bool can_fall_back(const emission *e, const bool *assumed_uniform) {
  const plan *p = &e->paths[0].plan;
  const graph *g = e->w.g;
  int depth = 0, *stack = mw_alloc((size_t)(g->count + 1) * sizeof *stack);
  bool *after_effect = mw_alloc((size_t)g->count + 1),
       can = e->has_fallback; /* after_effect: reachable from what must not be repeated */
  for (int i = 0; i < p->order.rpo_count; i++) {
    int n = p->order.rpo[i];
    if (assumed_uniform[n] && p->order.innermost[n] >= 0) can = false;
    if (!is_repeatable_node(&g->nodes[n])) stack[depth++] = n, after_effect[n] = true;
  }
  while (depth && can) {
    int n = stack[--depth], succs[2], count = p->flow.succs(g, n, succs);
    if (assumed_uniform[n]) can = false;
    for (int i = 0; i < count; i++)
      if (!after_effect[succs[i]]) stack[depth++] = succs[i], after_effect[succs[i]] = true;
  }
  free(stack);
  free(after_effect);
  return can;
}

/* ---- calling it ---- */

static LLVMTypeRef type_of(const program *p) {
  LLVMTypeRef params[PARAMETERS];
  for (int i = 0; i < PARAMETERS; i++) params[i] = i <= WORKER ? p->pointer : p->i32;
  return LLVMFunctionType(p->void_type, params, PARAMETERS, 0);
}

/* The values are saved in memory (volatile), so that the fast path's registers stay free for others. */
void save_for_fallback(emission *e) {
  widener *w = &e->w;
  if (!e->has_fallback) return;
  for (int i = 0; i < THREAD_X; i++) {
    LLVMTypeRef type = i <= WORKER ? w->p->pointer : w->p->i32;
    LLVMValueRef value =
        i <= WORKER ? LLVMGetParam(w->function, (unsigned)i) : load_slot(e, type, w->ctaid[i - BLOCK_X]);
    if (!e->saved_for_fallback[i]) e->saved_for_fallback[i] = LLVMBuildAlloca(w->entry, type, "");
    LLVMSetVolatile(LLVMBuildStore(w->b, value, e->saved_for_fallback[i]), 1);
  }
}

void drop_saved_for_fallback(emission *e) {
  for (int i = 0; i < SAVED_FOR_FALLBACK && e->saved_for_fallback[i]; i++) {
    for (LLVMUseRef use; (use = LLVMGetFirstUse(e->saved_for_fallback[i]));)
      LLVMInstructionEraseFromParent(LLVMGetUser(use));
    LLVMInstructionEraseFromParent(e->saved_for_fallback[i]);
  }
}

void call_fallback(emission *e) {
  widener *w = &e->w;
  program *p = w->p;
  LLVMTypeRef type = type_of(p), types[PARAMETERS];
  LLVMValueRef arguments[PARAMETERS];
  LLVMGetParamTypes(type, types);
  for (int i = 0; i < PARAMETERS; i++) {
    bool is_saved = i < THREAD_X;
    arguments[i] = is_saved ? load_slot(e, types[i], e->saved_for_fallback[i]) : first_id(w, (unsigned)(i - THREAD_X));
    if (is_saved) LLVMSetVolatile(arguments[i], 1);
  }
  if (!e->fallback) {
    char *name = mw_format("fallback.%s", w->k->linkage);
    e->fallback = LLVMAddFunction(p->module, name, type);
    free(name);
  }
  LLVMValueRef call = LLVMBuildCall2(w->b, type, e->fallback, arguments, PARAMETERS, "");
  unsigned line = (unsigned)w->k->line;
  LLVMInstructionSetDebugLoc(call, LLVMDIBuilderCreateDebugLocation(p->context, line, 1, e->scope, NULL));
  LLVMBuildBr(w->b, e->end);
}

/* ---- the function ---- */

static void add_distance(emission *e, LLVMValueRef from, LLVMValueRef distance, LLVMValueRef to) {
  LLVMValueRef sum = LLVMBuildAdd(e->w.b, from, load_slot(e, e->w.p->i32, distance), "");
  LLVMBuildStore(e->w.b, sum, to);
}

/* `gang`: the cut of the gangs that call it. */
void emit_fallback(emission *e, const cut *gang) {
  widener *w = &e->w;
  program *p = w->p;
  unsigned across = gang->kind == CUT_PLANE ? (unsigned)gang->columns : (unsigned)gang->vectors,
           rows = (unsigned)gang->vectors / across, width = (unsigned)gang->lanes;
  begin_function(e);
  add_attribute(p, w->function, "noinline");
  add_attribute(p, w->function, "cold");
  for (int axis = 0; axis < 3; axis++)
    LLVMBuildStore(w->b, LLVMGetParam(w->function, (unsigned)(BLOCK_X + axis)), w->ctaid[axis]);
  LLVMBuildStore(w->b, LLVMGetParam(w->function, THREAD_Z), w->tid[2]);
  LLVMBuildStore(w->b, constant_i32(p, 0), w->gang);
  LLVMValueRef down = LLVMBuildAlloca(w->entry, p->i32, "down"), right = LLVMBuildAlloca(w->entry, p->i32, "right");
  e->path = &e->paths[0];
  if (!begin_path(e, e->path, w->shapes->divergent, 0)) return;
  e->path->root = (mask){.all = true};
  e->end = new_block(e, "fallback.end");
  counted y = begin_counted(e, down, constant_i32(p, rows), 1);
  add_distance(e, LLVMGetParam(w->function, THREAD_Y), down, w->tid[1]);
  counted x = begin_counted(e, right, constant_i32(p, width * across), width);
  add_distance(e, LLVMGetParam(w->function, THREAD_X), right, w->tid[0]);
  LLVMValueRef start = begin_gang(e);
  emit_path(e, 0);
  emit_rest(e);
  continue_at(e, e->end);
  end_counted(e, x);
  end_counted(e, y);
  empty_slots(w, 0, start);
  free_path(e->path);
  LLVMBuildRetVoid(w->b);
}
