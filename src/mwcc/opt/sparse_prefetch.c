/* Prefetching in sparse loops: loops that do little but gather, as over the rows of a sparse matrix or the
 * neighbours of a node, run by one thread after the other (the loop tier).
 *
 *   for (j = start[i]; j < start[i + 1]; j++) sum += value[j] * x[column[j]];
 *
 * Indices and values are consecutive elements, and each thread's elements follow those of the thread before.
 * Hardware prefetchers lose such a stream among the gathered loads in between. So before the loop, the address AHEAD
 * bytes past each stream's first element is prefetched: once a loop, not once an iteration, which would cost more
 * than it gains. A prefetch past the array's end is harmless. docs/notes/opt.md lists alternatives that were slower.
 */
#include "mwcc/analysis/simt.h"
#include "mwcc/target/tuning.h"
#include "mwcc/analysis/analysis.h"
#include "opt.h"

enum { AHEAD = TUNE_SPARSE_PREFETCH_AHEAD, MOST = TUNE_SPARSE_PREFETCH_STREAMS, LINE = 64 };

static bool is_innermost(const order *o, int l) {
  for (int other = 0; other < o->loop_count; other++)
    if (o->loops[other].parent == l) return false;
  return true;
}

/* The only block that enters the loop, if the loop is its only successor; or NULL. */
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

/* The initial value of an induction variable that each iteration increments by 1; else NULL. */
static LLVMValueRef initial_value(const graph *g, const loop *l, LLVMValueRef number) {
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

/* Consecutive elements, of which a load reads one an iteration. */
typedef struct stream {
  LLVMTypeRef type;
  LLVMValueRef base, first; /* the index of the first */
  LLVMOpcode extended;      /* how indices are extended, or 0 */
} stream;

static bool find_stream(const graph *g, const loop *l, LLVMValueRef load, stream *out) {
  if (!LLVMIsALoadInst(load) || LLVMGetVolatile(load)) return false;
  LLVMValueRef address = LLVMGetOperand(load, 0);
  while (LLVMIsAAddrSpaceCastInst(address)) address = LLVMGetOperand(address, 0);
  if (!LLVMIsAGetElementPtrInst(address) || LLVMGetNumOperands(address) != 2) return false;
  LLVMValueRef base = LLVMGetOperand(address, 0), index = LLVMGetOperand(address, 1);
  *out = (stream){.type = LLVMGetGEPSourceElementType(address), .base = base};
  if (is_inside(g, l, base) || memory_of(address) == MEMORY_SHARED || memory_of(address) == MEMORY_LOCAL) return false;
  if (LLVMABISizeOfType(g->program->layout, out->type) >= LINE) return false;
  if (LLVMIsASExtInst(index) || LLVMIsAZExtInst(index)) {
    out->extended = LLVMGetInstructionOpcode(index);
    index = LLVMGetOperand(index, 0);
  }
  out->first = initial_value(g, l, index);
  return out->first != NULL;
}

static void prefetch_stream(program *p, LLVMBuilderRef b, const stream *run) {
  enum { READ = 0, NEAREST = 3, DATA = 1 };
  LLVMValueRef index = run->first, ahead = constant_i64(p, AHEAD);
  if (run->extended) index = LLVMBuildCast(b, run->extended, index, p->i64, "");
  LLVMValueRef at = LLVMBuildGEP2(b, run->type, run->base, &index, 1, "");
  at = LLVMBuildGEP2(b, p->i8, at, &ahead, 1, "");
  if (LLVMGetPointerAddressSpace(LLVMTypeOf(at))) at = LLVMBuildAddrSpaceCast(b, at, p->pointer, "");
  LLVMValueRef arguments[] = {at, constant_i32(p, READ), constant_i32(p, NEAREST), constant_i32(p, DATA)};
  call_intrinsic(p, b, "llvm.prefetch", &p->pointer, 1, arguments, 4);
}

static void prefetch_loop(program *p, const graph *g, const loop *l) {
  LLVMBasicBlockRef entry = entry_of(g, l);
  LLVMValueRef prefetched[MOST];
  int count = 0;
  if (!entry) return;
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(entry));
  for (int i = 0; i < g->value_count && count < MOST; i++) {
    stream run;
    if (!l->contains[g->node_of[i]] || !find_stream(g, l, g->values[i], &run)) continue;
    bool known = false;
    for (int n = 0; n < count; n++) known = known || prefetched[n] == run.base;
    if (known) continue;
    prefetched[count++] = run.base;
    prefetch_stream(p, b, &run);
  }
  LLVMDisposeBuilder(b);
}

static void prefetch_function(program *p, LLVMValueRef function) {
  graph g;
  const char *why;
  if (!graph_build(p, function, false, &g, &why)) return;
  flow f = graph_flow(&g);
  order o = order_of(&f);
  for (int l = 0; l < o.loop_count; l++)
    if (is_innermost(&o, l)) prefetch_loop(p, &g, &o.loops[l]);
  order_free(&o);
  graph_free(&g);
}

void prefetch_sparse_loops(program *p) {
  for (size_t i = 0; i < p->kernel_count; i++)
    if (is_sparse_loop(p, &p->kernels[i])) prefetch_function(p, p->kernels[i].body);
}
