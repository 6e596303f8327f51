/* Loops that poll shared memory by atomic accesses, until another warp of the block has written it:
 *
 *   while (atomicAdd(&flag, 0) == 0) {}
 *   while (flag.load(cuda::memory_order_acquire) == 0) __nanosleep(20);
 *
 * The other warp has to run meanwhile. So each iteration ends with a call that lets other threads run, and the kernel's
 * threads are on fibers, as they are for a loop that tests a barrier. A loop that writes memory is none of these: it
 * computes an atomic function or takes a lock. Loops that poll global memory mostly wait for other blocks and stay as they
 * are. Loops that poll volatile shared memory are found later (warp_builtins.c). */
#include "mwcc/analysis/simt.h"
#include "mwcc/mwcc.h"
#include "prepare.h"

#include <stdlib.h>

static bool is_zero(LLVMValueRef value) { return LLVMIsAConstantInt(value) && LLVMConstIntGetZExtValue(value) == 0; }

/* An atomic operation that leaves the memory as it is. */
static bool changes_nothing(LLVMValueRef i) {
  if (LLVMIsAAtomicCmpXchgInst(i)) return LLVMGetOperand(i, 1) == LLVMGetOperand(i, 2);
  if (!LLVMIsAAtomicRMWInst(i)) return false;
  LLVMValueRef by = LLVMGetOperand(i, 1);
  switch (LLVMGetAtomicRMWBinOp(i)) {
  case LLVMAtomicRMWBinOpAdd:
  case LLVMAtomicRMWBinOpSub:
  case LLVMAtomicRMWBinOpOr:
  case LLVMAtomicRMWBinOpXor:
  case LLVMAtomicRMWBinOpUMax: return is_zero(by);
  case LLVMAtomicRMWBinOpAnd: return LLVMIsAConstantInt(by) && LLVMConstIntGetSExtValue(by) == -1;
  default: return false;
  }
}

static bool is_poll(LLVMValueRef i) {
  bool loads = LLVMIsALoadInst(i) && LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic;
  return (loads || changes_nothing(i)) && memory_of(LLVMGetOperand(i, 0)) == MEMORY_SHARED;
}

static bool has_poll(LLVMValueRef function) {
  instructions all = instructions_of_function(function);
  bool found = false;
  for (size_t n = 0; n < all.count && !found; n++) found = is_poll(all.items[n]);
  free(all.items);
  return found;
}

/* Whether a value of the loop depends on what a poll in the loop reads. */
static bool depends_on_poll(const graph *g, const loop *l, LLVMValueRef value, bool *seen) {
  int number = graph_number(g, value);
  if (number < 0 || number >= g->value_count || !l->contains[g->node_of[number]] || seen[number]) return false;
  seen[number] = true;
  if (is_poll(value)) return true;
  bool joins = LLVMIsAPHINode(value) != NULL;
  unsigned count = joins ? LLVMCountIncoming(value) : (unsigned)LLVMGetNumOperands(value);
  for (unsigned i = 0; i < count; i++)
    if (depends_on_poll(g, l, joins ? LLVMGetIncomingValue(value, i) : LLVMGetOperand(value, i), seen)) return true;
  return false;
}

static bool writes(const graph *g, const loop *l) {
  for (int i = 0; i < g->value_count; i++) {
    LLVMValueRef value = g->values[i];
    if (!l->contains[g->node_of[i]]) continue;
    bool updates = LLVMIsAAtomicRMWInst(value) || LLVMIsAAtomicCmpXchgInst(value);
    if (LLVMIsAStoreInst(value) || (updates && !changes_nothing(value)) || is_barrier(value)) return true;
  }
  return false;
}

/* Whether the loop ends when what it polls has changed. */
static bool waits(const graph *g, const loop *l) {
  if (writes(g, l)) return false;
  bool *seen = mw_alloc((size_t)g->value_count + 1), found = false;
  for (int n = 0; n < g->count && !found; n++) {
    const node *here = &g->nodes[n];
    if (!l->contains[n] || here->succ_count != 2) continue;
    if (l->contains[here->succs[0]] && l->contains[here->succs[1]]) continue;
    found = depends_on_poll(g, l, LLVMGetCondition(here->last), seen);
  }
  free(seen);
  return found;
}

static void let_others_run(program *p, const graph *g, const loop *l) {
  LLVMTypeRef params[] = {p->pointer, p->i32, p->i32}, type = LLVMFunctionType(p->void_type, params, 3, 0);
  LLVMValueRef function = LLVMGetNamedFunction(p->module, WORD_WAIT);
  if (!function) {
    function = LLVMAddFunction(p->module, WORD_WAIT, type);
    add_attribute(p, function, "convergent");
  }
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  const node *header = &g->nodes[l->header];
  for (int n = 0; n < header->pred_count; n++) {
    if (!l->contains[header->preds[n]]) continue;
    LLVMValueRef end = g->nodes[header->preds[n]].last;
    LLVMPositionBuilderBefore(b, end);
    LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(end));
    LLVMValueRef arguments[] = {LLVMConstNull(p->pointer), LLVMConstInt(p->i32, 0, 0), LLVMConstInt(p->i32, 0, 0)};
    LLVMBuildCall2(b, type, function, arguments, 3, "");
  }
  LLVMDisposeBuilder(b);
}

static void visit(program *p, LLVMValueRef function) {
  graph g;
  const char *why;
  if (!has_poll(function) || !graph_build(p, function, false, &g, &why)) return;
  flow f = graph_flow(&g);
  order o = order_of(&f);
  for (int l = 0; l < o.loop_count; l++)
    if (waits(&g, &o.loops[l])) let_others_run(p, &g, &o.loops[l]);
  order_free(&o);
  graph_free(&g);
}

void yield_in_polls(program *p) {
  EACH_FUNCTION(p, f) {
    if (!LLVMIsDeclaration(f)) visit(p, f);
  }
}
