/* Whether a load's address moves by one element in each iteration of a loop, forwards or backwards: then a thread walks
 * a row (opt/row_tiles.h). For the cost model, which does not need a proof: numbers are taken not to wrap. */
#include "mwcc/analysis/simt.h"
#include "mwcc/support/predicates.h"

#include <string.h>

enum { DEEPEST = 12, FEW_STEPS = 4 /* elements between lanes up to which whole vectors are loaded: interleaved.c */ };

static bool adds_constant(LLVMValueRef next, LLVMValueRef phi, int64_t *step) {
  if (!LLVMIsAInstruction(next)) return false;
  LLVMOpcode opcode = LLVMGetInstructionOpcode(next);
  if ((opcode != LLVMAdd && opcode != LLVMSub) || LLVMGetOperand(next, 0) != phi) return false;
  LLVMValueRef by = LLVMGetOperand(next, 1);
  if (!LLVMIsAConstantInt(by)) return false;
  *step = opcode == LLVMAdd ? LLVMConstIntGetSExtValue(by) : -LLVMConstIntGetSExtValue(by);
  return true;
}

/* The access's type by strict aliasing; NULL: any. */
static LLVMValueRef access_type(const program *p, LLVMValueRef access) {
  enum { ACCESSED = 1, OPERANDS = 4, NAMED = 3 };
  LLVMValueRef tag = LLVMGetMetadata(access, LLVMGetMDKindIDInContext(p->context, "tbaa", 4)), of_tag[OPERANDS];
  int count = tag ? (int)LLVMGetMDNodeNumOperands(tag) : 0;
  if (count <= ACCESSED || count > OPERANDS) return NULL;
  LLVMGetMDNodeOperands(tag, of_tag);
  LLVMValueRef type = of_tag[ACCESSED], of_type[NAMED];
  if (!type || !LLVMIsAMDNode(type) || LLVMGetMDNodeNumOperands(type) != NAMED) return NULL;
  LLVMGetMDNodeOperands(type, of_type);
  unsigned length;
  const char *name = of_type[0] && LLVMIsAMDString(of_type[0]) ? LLVMGetMDString(of_type[0], &length) : "";
  return starts_with(name, "omnipotent") ? NULL : type;
}

/* Whether no store of the block is of the load's type: LLVM hoists the load if its address does not change. */
static bool is_hoistable(const program *p, LLVMBasicBlockRef block, LLVMValueRef load) {
  LLVMValueRef type = access_type(p, load);
  if (!type || !is_plain_access(load)) return false;
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
    LLVMValueRef other = LLVMIsAStoreInst(i) ? access_type(p, i) : NULL;
    if (LLVMIsAStoreInst(i) && (!other || other == type)) return false;
  }
  return true;
}

/* The change of the value in each iteration of the loop, which is a single block. */
static bool step_in(const program *p, LLVMBasicBlockRef block, LLVMValueRef value, int64_t *step, int depth) {
  int64_t other = 0;
  *step = 0;
  if (!LLVMIsAInstruction(value) || LLVMGetInstructionParent(value) != block) return true;
  if (depth == 0) return false;
  LLVMValueRef a = LLVMGetNumOperands(value) > 0 ? LLVMGetOperand(value, 0) : NULL;
  LLVMValueRef b = LLVMGetNumOperands(value) > 1 ? LLVMGetOperand(value, 1) : NULL;
  switch (LLVMGetInstructionOpcode(value)) {
  case LLVMPHI:
    for (unsigned i = 0; i < LLVMCountIncoming(value); i++)
      if (LLVMGetIncomingBlock(value, i) == block) return adds_constant(LLVMGetIncomingValue(value, i), value, step);
    return false;
  case LLVMLoad: return is_hoistable(p, block, value) && step_in(p, block, a, &other, depth - 1) && other == 0;
  case LLVMOr:
  case LLVMAdd:
  case LLVMSub:
    if (!step_in(p, block, a, step, depth - 1) || !step_in(p, block, b, &other, depth - 1)) return false;
    *step += LLVMGetInstructionOpcode(value) == LLVMSub ? -other : other;
    return true;
  case LLVMMul:
    if (!step_in(p, block, a, step, depth - 1) || !step_in(p, block, b, &other, depth - 1)) return false;
    return *step == 0 && other == 0;
  case LLVMSExt:
  case LLVMZExt:
  case LLVMFreeze:
  case LLVMAddrSpaceCast: return step_in(p, block, a, step, depth - 1);
  case LLVMGetElementPtr:
    if (LLVMGetNumIndices(value) != 1) return false;
    if (!step_in(p, block, a, step, depth - 1) || !step_in(p, block, b, &other, depth - 1)) return false;
    *step += other * (int64_t)LLVMABISizeOfType(p->layout, LLVMGetGEPSourceElementType(value));
    return true;
  default: return false;
  }
}

static bool walks_elements(const program *p, LLVMValueRef access, LLVMValueRef address, LLVMTypeRef type) {
  LLVMBasicBlockRef block = LLVMGetInstructionParent(access), before, after;
  int64_t step, bytes = (int64_t)LLVMABISizeOfType(p->layout, type);
  if (!is_own_loop(block, &before, &after)) return false;
  return step_in(p, block, address, &step, DEEPEST) && (step == bytes || step == -bytes);
}

/* Whether lanes access elements that are far from each other, in global memory. */
static bool is_scattered(const shapes *s, LLVMValueRef address, LLVMTypeRef type) {
  shape at = shape_of(s, address);
  int64_t bytes = (int64_t)LLVMABISizeOfType(s->graph->program->layout, type);
  bool strided = at.kind == SHAPE_AFFINE || at.kind == SHAPE_VECTOR_AFFINE;
  if (at.kind != SHAPE_VARYING && (!strided || (at.stride <= FEW_STEPS * bytes && at.stride >= -FEW_STEPS * bytes)))
    return false;
  return memory_of(address) != MEMORY_LOCAL;
}

bool is_walked_row(const shapes *s, LLVMValueRef load) {
  LLVMValueRef address = LLVMGetOperand(load, 0);
  LLVMTypeRef type = LLVMTypeOf(load);
  return is_scattered(s, address, type) && is_plain_access(load) &&
         walks_elements(s->graph->program, load, address, type);
}

bool is_short_row(const shapes *s, LLVMValueRef load) {
  enum { CACHE_LINE = 64 };
  LLVMBasicBlockRef block = LLVMGetInstructionParent(load);
  size_t iterations = trip_count(block, block);
  return iterations && iterations * LLVMABISizeOfType(s->graph->program->layout, LLVMTypeOf(load)) <= CACHE_LINE;
}

enum { MOST_SEEN = 64 };

typedef struct slice {
  LLVMValueRef seen[MOST_SEEN];
  int count;
} slice;

/* Whether a value may depend on threadIdx.y or z. */
static bool depends_on_row(slice *of, LLVMValueRef value) {
  if (!LLVMIsAInstruction(value)) return false;
  for (int i = 0; i < of->count; i++)
    if (of->seen[i] == value) return false;
  if (of->count == MOST_SEEN) return true;
  of->seen[of->count++] = value;
  if (LLVMIsACallInst(value)) {
    size_t length;
    const char *name = LLVMGetValueName2(LLVMGetCalledValue(value), &length);
    if (!strcmp(name, "llvm.nvvm.read.ptx.sreg.tid.y") || !strcmp(name, "llvm.nvvm.read.ptx.sreg.tid.z")) return true;
  }
  bool phi = LLVMIsAPHINode(value) != NULL;
  int count = phi ? (int)LLVMCountIncoming(value) : LLVMGetNumOperands(value);
  for (int i = 0; i < count; i++) {
    unsigned n = (unsigned)i;
    if (depends_on_row(of, phi ? LLVMGetIncomingValue(value, n) : LLVMGetOperand(value, n))) return true;
  }
  return false;
}

bool is_row_of_column(const shapes *s, LLVMValueRef load) {
  const unsigned *block = s->graph->program->block;
  slice of = {.count = 0};
  return block[1] * block[2] > 1 && !depends_on_row(&of, LLVMGetOperand(load, 0));
}

/* ---- loops that are vectorised for one thread ---- */

/* Whether the addresses are the same, or from different pointers, so that iterations are presumably independent. */
static bool are_independent(LLVMValueRef load, LLVMValueRef store) {
  LLVMValueRef a = LLVMGetOperand(load, 0), b = LLVMGetOperand(store, 1);
  if (a == b || root_of(a) != root_of(b)) return true;
  if (!LLVMIsAGetElementPtrInst(a) || !LLVMIsAGetElementPtrInst(b)) return false;
  if (LLVMGetNumOperands(a) != LLVMGetNumOperands(b)) return false;
  for (int n = 0; n < LLVMGetNumOperands(a); n++)
    if (LLVMGetOperand(a, (unsigned)n) != LLVMGetOperand(b, (unsigned)n)) return false;
  return true;
}

static bool is_independent_of_loads(LLVMBasicBlockRef block, LLVMValueRef store) {
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i))
    if (LLVMIsALoadInst(i) && !are_independent(i, store)) return false;
  return true;
}

static bool is_induction(const program *p, LLVMBasicBlockRef block, LLVMValueRef phi) {
  int64_t step;
  return step_in(p, block, phi, &step, DEEPEST);
}

/* Whether iterations are independent, and what they load and store is contiguous: a loop vectoriser's easiest task.
   `integers`: they may carry integers, whose sums have no order. */
static bool is_vectorisable(const shapes *s, LLVMBasicBlockRef block, bool integers, bool *stores) {
  const program *p = s->graph->program;
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
    int64_t step, bytes;
    if (LLVMIsAPHINode(i)) {
      bool integer = LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMIntegerTypeKind;
      if (!is_induction(p, block, i) && !(integers && integer)) return false;
    } else if (LLVMIsALoadInst(i)) {
      bytes = (int64_t)LLVMABISizeOfType(p->layout, LLVMTypeOf(i));
      if (!is_plain_access(i) || !step_in(p, block, LLVMGetOperand(i, 0), &step, DEEPEST)) return false;
      if (step != 0 && step != bytes) return false;
    } else if (LLVMIsAStoreInst(i)) {
      LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(i, 0));
      bytes = (int64_t)LLVMABISizeOfType(p->layout, type);
      if (!is_plain_access(i) || !step_in(p, block, LLVMGetOperand(i, 1), &step, DEEPEST) || step != bytes)
        return false;
      if (!is_scattered(s, LLVMGetOperand(i, 1), type) || !is_independent_of_loads(block, i)) return false;
      *stores = true;
    } else if (!LLVMIsATerminatorInst(i) && !is_pure(i)) {
      return false;
    }
  }
  return true;
}

static bool are_vectorisable(const graph *g, const order *o, const shapes *s, bool integers, bool *stores) {
  enum { FEW_ITERATIONS = 8 };
  for (int l = 0; l < o->loop_count; l++) {
    bool inner = true;
    LLVMBasicBlockRef block = g->nodes[o->loops[l].header].block, before, after;
    for (int other = 0; inner && other < o->loop_count; other++) inner = o->loops[other].parent != l;
    if (!inner) continue;
    if (!is_own_loop(block, &before, &after) || !is_vectorisable(s, block, integers, stores)) return false;
    size_t iterations = trip_count(block, block);
    if (iterations && iterations < FEW_ITERATIONS) return false;
  }
  return o->loop_count > 0;
}

/* ---- sums of rows of integers ---- */

/* Lanes that load a row each by tiles add one element of each row at a time. LLVM's vectoriser adds as many elements of
   one row as a register holds, where the order of the additions does not matter: rows of 100 to 1000 elements take 0.3
   to 0.8 of the time, of 24 elements about the same, and of 10 shorts 1.2 times as long. */

/* Whether `value` is a chain of the same operation that begins with the phi. */
static bool is_chain_from(LLVMBasicBlockRef block, LLVMValueRef value, LLVMValueRef phi, int depth) {
  if (value == phi) return true;
  if (depth == 0 || !LLVMIsAInstruction(value) || LLVMGetInstructionParent(value) != block) return false;
  bool sum = LLVMIsABinaryOperator(value) && LLVMGetInstructionOpcode(value) == LLVMAdd;
  const char *name = LLVMIsACallInst(value) ? callee_name(value) : "";
  bool extremum = starts_with(name, "llvm.smax.") || starts_with(name, "llvm.smin.") ||
                  starts_with(name, "llvm.umax.") || starts_with(name, "llvm.umin.");
  if (!sum && !extremum) return false;
  bool first = is_chain_from(block, LLVMGetOperand(value, 0), phi, depth - 1);
  return first || is_chain_from(block, LLVMGetOperand(value, 1), phi, depth - 1);
}

/* The only use of the phi in the loop is its sum or extremum. */
static bool is_reduced(LLVMBasicBlockRef block, LLVMValueRef phi) {
  int uses = 0;
  for (LLVMUseRef use = LLVMGetFirstUse(phi); use; use = LLVMGetNextUse(use))
    uses += LLVMGetInstructionParent(LLVMGetUser(use)) == block;
  for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
    if (LLVMGetIncomingBlock(phi, i) == block)
      return uses == 1 && is_chain_from(block, LLVMGetIncomingValue(phi, i), phi, DEEPEST);
  return false;
}

/* With several rows of threads in a block, threads may share rows of memory and their loads. */
static bool has_one_axis(const graph *g) {
  for (int i = 0; i < g->value_count; i++) {
    const char *name = LLVMIsACallInst(g->values[i]) ? callee_name(g->values[i]) : "";
    if (!strcmp(name, "llvm.nvvm.read.ptx.sreg.tid.y") || !strcmp(name, "llvm.nvvm.read.ptx.sreg.tid.z")) return false;
  }
  return true;
}

static bool sums_rows(const graph *g, const order *o, const shapes *s) {
  enum { FEWEST = 32 };
  bool stores = false, walks_row = false;
  if (o->loop_count != 1 || !has_one_axis(g)) return false;
  LLVMBasicBlockRef block = g->nodes[o->loops[0].header].block, before, after;
  size_t iterations = trip_count(block, block);
  if (!is_own_loop(block, &before, &after) || (iterations && iterations < FEWEST)) return false;
  if (!is_vectorisable(s, block, true, &stores) || stores) return false;
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
    if (LLVMIsAPHINode(i) && !is_induction(g->program, block, i) && !is_reduced(block, i)) return false;
    if (!LLVMIsALoadInst(i)) continue;
    LLVMTypeRef type = LLVMTypeOf(i);
    if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(type) > 32) return false;
    walks_row = walks_row || is_walked_row(s, i);
  }
  return walks_row;
}

bool suits_one_thread(const graph *g, const order *o, const shapes *s) {
  bool stores = false;
  return (are_vectorisable(g, o, s, false, &stores) && stores) || sums_rows(g, o, s);
}

bool has_vectorisable_loops(const graph *g, const order *o, const shapes *s, bool *stores) {
  *stores = false;
  return are_vectorisable(g, o, s, true, stores);
}
