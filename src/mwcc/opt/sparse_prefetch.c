/* Loops that do little but gather, one thread after the other: the rows of a sparse matrix, the neighbours of a node.
 *
 * What they gather by is mostly a run of numbers, one behind the other, and so is the run of the next thread behind that of this
 * one. Processors would see that by themselves, but for the gathered loads in between, which look like nothing: they lose
 * sight of the run again and again. So each run, where it begins, asks for what comes a little behind. (Measured on sparse
 * matrices whose rows have 1 to 16 numbers: 8.8 ms became 7.4. To ask in each round is slower than not to ask, and so
 * is asking for less than a kilobyte ahead.)
 *
 * That is near what such rows can have where all they gather from lies in the last cache: the same elements gathered one
 * after the other, without rows, take 6.8 ms where rows take 7.2. By hand nothing else was quicker: the rows of a block in
 * the order of their lengths, so that no end of a loop is guessed wrong (10 ms with memory asked for, 20 without: loads from
 * here and there look like nothing); one loop over the elements of one to four rows without branches (14 to 19); sixteen rows
 * as lanes (29); to ask for what is gathered 16 to 160 elements later (8 to 9; it pays from memory, 19 instead of 29, and
 * costs a tenth to a third where the nearer caches hold all). Nodes whose threads return at once, taken out beforehand, gain
 * nothing either: there it is the stores that take time, to lines that both processors write. */
#include "mwcc/analysis/simt.h"
#include "mwcc/target/tuning.h"
#include "mwcc/analysis/analysis.h"
#include "opt.h"

enum { AHEAD = TUNE_SPARSE_PREFETCH_AHEAD, MOST = TUNE_SPARSE_PREFETCH_RUNS, LINE = 64 };

static bool is_innermost(const order *o, int l) {
  for (int other = 0; other < o->loop_count; other++)
    if (o->loops[other].parent == l) return false;
  return true;
}

/* The only block from which the loop is entered, and that goes nowhere else; or NULL. */
static LLVMBasicBlockRef entry_of(const graph *g, const loop *l) {
  const node *header = &g->nodes[l->header];
  int from = -1;
  for (int i = 0; i < header->pred_count; i++) {
    if (l->contains[header->preds[i]]) continue;
    if (from >= 0) return NULL;
    from = header->preds[i];
  }
  return from >= 0 && g->nodes[from].succ_count == 1 ? g->nodes[from].block : NULL;
}

static bool is_inside(const graph *g, const loop *l, LLVMValueRef value) {
  return LLVMIsAInstruction(value) && l->contains[graph_node_of(g, value)];
}

/* What a number of the loop's begins with, where each round adds 1; else NULL. */
static LLVMValueRef counts_from(const graph *g, const loop *l, LLVMValueRef number) {
  if (!LLVMIsAPHINode(number) || graph_node_of(g, number) != l->header || LLVMCountIncoming(number) != 2) return NULL;
  for (unsigned i = 0; i < 2; i++) {
    LLVMValueRef next = LLVMGetIncomingValue(number, i), first = LLVMGetIncomingValue(number, 1 - i);
    if (!LLVMIsAInstruction(next) || LLVMGetInstructionOpcode(next) != LLVMAdd || is_inside(g, l, first)) continue;
    LLVMValueRef by = LLVMGetOperand(next, 1);
    bool counts = LLVMGetOperand(next, 0) == number && LLVMIsAConstantInt(by) && LLVMConstIntGetZExtValue(by) == 1;
    if (counts) return first;
  }
  return NULL;
}

/* A run that the load takes one element of in each round. */
typedef struct elements {
  LLVMTypeRef type;
  LLVMValueRef base, first; /* the index of the first */
  LLVMOpcode extended;      /* how indices are, or 0 */
} elements;

static bool find_run(const graph *g, const loop *l, LLVMValueRef load, elements *out) {
  if (!LLVMIsALoadInst(load) || LLVMGetVolatile(load)) return false;
  LLVMValueRef address = LLVMGetOperand(load, 0);
  while (LLVMIsAAddrSpaceCastInst(address)) address = LLVMGetOperand(address, 0);
  if (!LLVMIsAGetElementPtrInst(address) || LLVMGetNumOperands(address) != 2) return false;
  LLVMValueRef base = LLVMGetOperand(address, 0), index = LLVMGetOperand(address, 1);
  *out = (elements){.type = LLVMGetGEPSourceElementType(address), .base = base};
  if (is_inside(g, l, base) || memory_of(address) == MEMORY_SHARED || memory_of(address) == MEMORY_LOCAL) return false;
  if (LLVMABISizeOfType(g->program->layout, out->type) >= LINE) return false;
  if (LLVMIsASExtInst(index) || LLVMIsAZExtInst(index)) {
    out->extended = LLVMGetInstructionOpcode(index);
    index = LLVMGetOperand(index, 0);
  }
  out->first = counts_from(g, l, index);
  return out->first != NULL;
}

static void ask(program *p, LLVMBuilderRef b, const elements *run) {
  enum { READ = 0, NEAREST = 3, DATA = 1 };
  LLVMValueRef index = run->first, behind = constant_i64(p, AHEAD);
  if (run->extended) index = LLVMBuildCast(b, run->extended, index, p->i64, "");
  LLVMValueRef at = LLVMBuildGEP2(b, run->type, run->base, &index, 1, "");
  at = LLVMBuildGEP2(b, p->i8, at, &behind, 1, "");
  if (LLVMGetPointerAddressSpace(LLVMTypeOf(at))) at = LLVMBuildAddrSpaceCast(b, at, p->pointer, "");
  LLVMValueRef arguments[] = {at, constant_i32(p, READ), constant_i32(p, NEAREST), constant_i32(p, DATA)};
  call_intrinsic(p, b, "llvm.prefetch", &p->pointer, 1, arguments, 4);
}

static void ask_for_loop(program *p, const graph *g, const loop *l) {
  LLVMBasicBlockRef entry = entry_of(g, l);
  LLVMValueRef asked[MOST];
  int count = 0;
  if (!entry) return;
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(entry));
  for (int i = 0; i < g->value_count && count < MOST; i++) {
    elements run;
    if (!l->contains[g->node_of[i]] || !find_run(g, l, g->values[i], &run)) continue;
    bool known = false;
    for (int n = 0; n < count; n++) known = known || asked[n] == run.base;
    if (known) continue;
    asked[count++] = run.base;
    ask(p, b, &run);
  }
  LLVMDisposeBuilder(b);
}

static void ask_for_runs(program *p, LLVMValueRef function) {
  graph g;
  const char *why;
  if (!graph_build(p, function, false, &g, &why)) return;
  flow f = graph_flow(&g);
  order o = order_of(&f);
  for (int l = 0; l < o.loop_count; l++)
    if (is_innermost(&o, l)) ask_for_loop(p, &g, &o.loops[l]);
  order_free(&o);
  graph_free(&g);
}

void prefetch_sparse_loops(program *p) {
  for (size_t i = 0; i < p->kernel_count; i++)
    if (is_sparse_loop(p, &p->kernels[i])) ask_for_runs(p, p->kernels[i].body);
}
