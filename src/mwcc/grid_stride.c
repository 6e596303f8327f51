/* Grid-stride loops: the rounds of many blocks one after the other, rather than the blocks.
 *
 *   for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) …
 *
 * A block that does all its rounds leaps through memory: a kilobyte here, the next one where the whole grid's threads have
 * been, and each leap is one that the processor does not see coming. Copies take three times as long as they need. The
 * blocks that a worker was given lie side by side, so their first rounds together are one long stretch, and so are their
 * second ones. They may be run in that order, since blocks may be run at the same time, if a block has nothing to keep from
 * round to round: one count, no sums, no memory of its own, nothing but arithmetic before the loop and nothing behind it.
 * Then the kernel becomes what one round does, with the round as another id of the block, and the loop over the blocks is
 * run once for each round (blocks.c). What is left has no loop any more, and is as good as the kernel with a thread for each
 * element.
 *
 * The count is exact: with i at most n - 1 in a round that is run, i plus the stride is what the thread itself would count
 * up to next. Should that be past the end of the type, then its own count never gets to n. */
#include "access.h"
#include "emission.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BEFORE = 32 /* instructions that each round repeats */, MOST_OPERANDS = 16 /* of one of the end's */ };

/* ---- x * blockIdx.x + y * threadIdx.x + z * gridDim.x ---- */

typedef struct linear {
  int64_t block, thread, grid;
} linear;

static linear times(linear a, int64_t n) { return (linear){a.block * n, a.thread * n, a.grid * n}; }

/* Exact: where the launch's class holds there are less than 2^31 threads along the axis. False: it is something else. */
static bool is_linear(LLVMValueRef v, linear *out, int depth) {
  static const char prefix[] = "llvm.nvvm.read.ptx.sreg.";
  linear a, b;
  if (!LLVMIsAInstruction(v) || depth == 0) return false;
  LLVMValueRef last = LLVMGetOperand(v, (unsigned)LLVMGetNumOperands(v) - 1);
  int64_t number = LLVMIsAConstantInt(last) ? LLVMConstIntGetSExtValue(last) : -1;
  switch (LLVMGetInstructionOpcode(v)) {
  case LLVMCall: {
    const char *name = callee_name(v);
    if (!starts_with(name, prefix)) return false;
    name += sizeof prefix - 1;
    *out = (linear){.block = strcmp(name, "ctaid.x") == 0,
                    .thread = strcmp(name, "tid.x") == 0,
                    .grid = strcmp(name, "nctaid.x") == 0};
    return out->block || out->thread || out->grid;
  }
  case LLVMZExt:
  case LLVMSExt: return is_linear(LLVMGetOperand(v, 0), out, depth - 1);
  case LLVMMul:
  case LLVMShl:
    if (number < 0 || number > 1024 || !is_linear(LLVMGetOperand(v, 0), &a, depth - 1)) return false;
    if (LLVMGetInstructionOpcode(v) == LLVMShl && number > 10) return false;
    *out = times(a, LLVMGetInstructionOpcode(v) == LLVMShl ? (int64_t)1 << number : number);
    return true;
  case LLVMOr:
  case LLVMAdd:
    if (LLVMGetInstructionOpcode(v) == LLVMOr && !LLVMGetIsDisjoint(v)) return false;
    if (!is_linear(LLVMGetOperand(v, 0), &a, depth - 1) || !is_linear(LLVMGetOperand(v, 1), &b, depth - 1))
      return false;
    *out = (linear){a.block + b.block, a.thread + b.thread, a.grid + b.grid};
    return true;
  default: return false;
  }
}

static bool is_number_of(LLVMValueRef v, linear wanted) {
  enum { DEPTH = 6 };
  linear found;
  return is_linear(v, &found, DEPTH) && memcmp(&found, &wanted, sizeof found) == 0;
}

/* ---- what a count is compared with ---- */

static bool is_repeatable(LLVMValueRef i) {
  if (LLVMIsAPHINode(i) || LLVMIsAAllocaInst(i)) return false;
  if (LLVMIsALoadInst(i)) return memory_of(LLVMGetOperand(i, 0)) == MEMORY_CONSTANT && !LLVMGetVolatile(i);
  return is_harmless(i);
}

static unsigned count_operands(LLVMValueRef i) {
  return LLVMIsACallInst(i) ? LLVMGetNumArgOperands(i) : (unsigned)LLVMGetNumOperands(i);
}

/* Whether it can be computed from the kernel's parameters alone. */
static bool is_launch_wide(LLVMValueRef v, int depth) {
  if (LLVMIsAConstantInt(v) || LLVMIsAArgument(v)) return true;
  if (!LLVMIsAInstruction(v) || depth == 0 || LLVMIsALoadInst(v) || !is_repeatable(v)) return false;
  if (LLVMIsACallInst(v) && starts_with(callee_name(v), "llvm.nvvm.")) return false;
  unsigned count = count_operands(v);
  if (count > MOST_OPERANDS) return false;
  for (unsigned i = 0; i < count; i++)
    if (!is_launch_wide(LLVMGetOperand(v, i), depth - 1)) return false;
  return true;
}

/* ---- the loop ---- */

typedef struct stride_loop {
  LLVMBasicBlockRef header, latch, exit;
  LLVMValueRef count, first, next, end; /* count: the phi, of first and next; end: what it has to stay below */
  bool is_signed;
} stride_loop;

/* A branch to `then` as long as `count` is less than what is in *end. */
static bool goes_on_below(LLVMValueRef branch, LLVMBasicBlockRef then, LLVMValueRef count, LLVMValueRef *end,
                          bool *is_signed) {
  if (!LLVMIsABranchInst(branch) || !LLVMIsConditional(branch)) return false;
  LLVMValueRef test = LLVMGetCondition(branch);
  if (!LLVMIsAICmpInst(test)) return false;
  LLVMIntPredicate is = LLVMGetICmpPredicate(test);
  bool swapped = LLVMGetOperand(test, 1) == count, negated = LLVMGetSuccessor(branch, 1) == then;
  if (LLVMGetSuccessor(branch, negated ? 1 : 0) != then || (!swapped && LLVMGetOperand(test, 0) != count)) return false;
  *is_signed = is == LLVMIntSLT || is == LLVMIntSGT || is == LLVMIntSGE || is == LLVMIntSLE;
  *end = LLVMGetOperand(test, swapped ? 0 : 1);
  if (swapped) return negated ? is == LLVMIntSLE || is == LLVMIntULE : is == LLVMIntSGT || is == LLVMIntUGT;
  return negated ? is == LLVMIntSGE || is == LLVMIntUGE : is == LLVMIntSLT || is == LLVMIntULT;
}

static LLVMBasicBlockRef only_successor(LLVMBasicBlockRef block) {
  LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
  return LLVMIsABranchInst(end) && !LLVMIsConditional(end) ? LLVMGetSuccessor(end, 0) : NULL;
}

static int count_repeatable(LLVMBasicBlockRef block) {
  int count = 0;
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i != LLVMGetBasicBlockTerminator(block);
       i = LLVMGetNextInstruction(i), count++)
    if (!is_repeatable(i)) return MOST_BEFORE + 1;
  return count;
}

static LLVMBasicBlockRef other_successor(LLVMValueRef branch, LLVMBasicBlockRef one) {
  return LLVMGetSuccessor(branch, LLVMGetSuccessor(branch, 0) == one);
}

/* Whether from there the thread returns and does nothing else. */
static bool only_returns(LLVMBasicBlockRef block) {
  for (int most = 8; block && most > 0; block = only_successor(block), most--) {
    LLVMValueRef first = LLVMGetFirstInstruction(block);
    if (first != LLVMGetBasicBlockTerminator(block)) return false;
    if (LLVMIsAReturnInst(first)) return true;
  }
  return false;
}

/* The count of the loop that is entered from `from`. */
static bool find_count(LLVMBasicBlockRef from, stride_loop *l) {
  LLVMValueRef phi = LLVMGetFirstInstruction(l->header);
  if (!LLVMIsAPHINode(phi) || LLVMIsAPHINode(LLVMGetNextInstruction(phi)) || LLVMCountIncoming(phi) != 2) return false;
  unsigned outer = LLVMGetIncomingBlock(phi, 0) != from;
  if (LLVMGetIncomingBlock(phi, outer) != from || LLVMGetIncomingBlock(phi, !outer) == from) return false;
  l->count = phi, l->latch = LLVMGetIncomingBlock(phi, !outer);
  l->first = LLVMGetIncomingValue(phi, outer), l->next = LLVMGetIncomingValue(phi, !outer);
  return true;
}

/* From the thread's number in the grid, by as many as the grid has. */
static bool counts_grid(const program *p, const stride_loop *l) {
  int64_t block = block_size(p, 'x');
  if (LLVMTypeOf(l->count) != p->i32 && LLVMTypeOf(l->count) != p->i64) return false;
  if (!LLVMIsABinaryOperator(l->next) || LLVMGetInstructionOpcode(l->next) != LLVMAdd) return false;
  unsigned own = LLVMGetOperand(l->next, 0) != l->count;
  return LLVMGetOperand(l->next, own) == l->count &&
         is_number_of(LLVMGetOperand(l->next, !own), (linear){.grid = block}) &&
         is_number_of(l->first, (linear){.block = block, .thread = 1});
}

/* Whether no way leads out of the loop but the one behind its count. `before`: the block in front of it. */
static bool has_one_exit(LLVMValueRef function, const stride_loop *l, LLVMBasicBlockRef before) {
  LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(function);
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(b);
    if (b == entry || b == before || only_returns(b)) continue;
    if (!LLVMIsABranchInst(end)) return false;
    for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++)
      if (b != l->latch && only_returns(LLVMGetSuccessor(end, i))) return false;
  }
  return true;
}

static bool find_loop(const program *p, const kernel *k, stride_loop *l) {
  enum { DEPTH = 8 };
  LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(k->body);
  LLVMValueRef guard = LLVMGetBasicBlockTerminator(entry), end;
  bool is_signed;
  if (!LLVMIsABranchInst(guard) || !LLVMIsConditional(guard)) return false;
  LLVMBasicBlockRef before = LLVMGetSuccessor(guard, only_returns(LLVMGetSuccessor(guard, 0)));
  *l = (stride_loop){.header = only_successor(before)};
  if (!l->header || count_repeatable(entry) + count_repeatable(before) > MOST_BEFORE) return false;
  if (!find_count(before, l) || !counts_grid(p, l)) return false;
  LLVMValueRef back = LLVMGetBasicBlockTerminator(l->latch);
  if (!goes_on_below(guard, before, l->first, &l->end, &l->is_signed)) return false;
  if (!goes_on_below(back, l->header, l->next, &end, &is_signed)) return false;
  if (end != l->end || is_signed != l->is_signed || !is_launch_wide(end, DEPTH)) return false;
  l->exit = other_successor(back, l->header);
  return only_returns(l->exit) && only_returns(other_successor(guard, before)) && has_one_exit(k->body, l, before);
}

/* ---- what has to be so besides ---- */

static bool adds_floats(LLVMValueRef i) {
  return LLVMIsAAtomicRMWInst(i) && LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMIntegerTypeKind;
}

static bool suits(const program *p, const kernel *k) {
  if (!p->options->launch_kernel || p->options->width == 1 || p->options->check_memory) return false;
  if (k->waits || !k->any_order || k->shared_bytes || k->dynamic_shared) return false;
  instructions all = instructions_of_function(k->body);
  bool suits = true;
  for (size_t i = 0; i < all.count; i++) suits = suits && !adds_floats(all.items[i]); /* sums come out as always */
  free(all.items);
  return suits;
}

/* ---- one round ---- */

/* How many threads' worth of elements the rounds before have done, as a number of the count's type. */
static LLVMValueRef done_before(program *p, LLVMBuilderRef b, const stride_loop *l) {
  bool is_long = LLVMTypeOf(l->count) == p->i64;
  if (!is_long && l->is_signed) return call_intrinsic(p, b, ROUND_REGISTER, NULL, 0, NULL, 0);
  LLVMValueRef low = call_intrinsic(p, b, ROUND_REGISTER_LOW, NULL, 0, NULL, 0);
  if (!is_long) return low;
  LLVMValueRef high = call_intrinsic(p, b, ROUND_REGISTER_HIGH, NULL, 0, NULL, 0);
  high = LLVMBuildShl(b, LLVMBuildZExt(b, high, p->i64, ""), constant_i64(p, 32), "");
  return LLVMBuildOr(b, high, LLVMBuildZExt(b, low, p->i64, ""), "");
}

/* It, and what only it used. */
static void erase_unused(LLVMValueRef v) {
  LLVMValueRef operands[2];
  if (!LLVMIsAInstruction(v) || LLVMGetFirstUse(v) || LLVMGetNumOperands(v) > 2 || !is_harmless(v)) return;
  unsigned count = LLVMIsACallInst(v) ? 0 : (unsigned)LLVMGetNumOperands(v);
  for (unsigned i = 0; i < count; i++) operands[i] = LLVMGetOperand(v, i);
  LLVMInstructionEraseFromParent(v);
  for (unsigned i = 0; i < count; i++)
    if (i == 0 || operands[1] != operands[0]) erase_unused(operands[i]);
}

static void do_one_round(program *p, kernel *k, const stride_loop *l) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  LLVMValueRef guard = LLVMGetBasicBlockTerminator(LLVMGetEntryBasicBlock(k->body)), test = LLVMGetCondition(guard),
               back = LLVMGetBasicBlockTerminator(l->latch), again = LLVMGetCondition(back);
  LLVMPositionBuilderBefore(b, test);
  LLVMValueRef count = LLVMBuildNUWAdd(b, l->first, done_before(p, b, l), "");
  if (LLVMIsAInstruction(count)) LLVMSetNSW(count, l->is_signed);
  LLVMSetOperand(test, LLVMGetOperand(test, 0) == l->first ? 0 : 1, count);
  LLVMReplaceAllUsesWith(l->count, count);
  LLVMInstructionEraseFromParent(l->count);
  LLVMInstructionEraseFromParent(back);
  LLVMPositionBuilderAtEnd(b, l->latch);
  LLVMBuildBr(b, l->exit);
  erase_unused(again);
  LLVMDisposeBuilder(b);
}

void take_rounds_apart(program *p) {
  for (size_t i = 0; i < p->kernel_count; i++) {
    kernel *k = &p->kernels[i];
    stride_loop l;
    if (!suits(p, k) || !find_loop(p, k, &l)) continue;
    do_one_round(p, k, &l);
    k->rounds_end = l.end;
    k->rounds_signed = l.is_signed;
  }
  verify_module(p, "taking rounds apart");
}

/* ---- the loop over the rounds ---- */

/* What `v` is, from the parameters, in the block function. */
static LLVMValueRef launch_wide(widener *w, LLVMValueRef v) {
  if (!LLVMIsAInstruction(v)) return LLVMIsAArgument(v) ? value_scalar(w, v) : v;
  unsigned count = count_operands(v);
  LLVMValueRef operands[MOST_OPERANDS], copy = LLVMInstructionClone(v);
  for (unsigned i = 0; i < count; i++) operands[i] = launch_wide(w, LLVMGetOperand(v, i));
  for (unsigned i = 0; i < count; i++) LLVMSetOperand(copy, i, operands[i]);
  LLVMInstructionSetDebugLoc(copy, NULL); /* its place is in another function */
  LLVMInsertIntoBuilder(w->b, copy);
  return copy;
}

static LLVMValueRef grid_threads(widener *w) {
  LLVMValueRef blocks = load_invariant(w->p, w->b, w->p->i32, w->frame, offsetof(mw_frame, grid));
  blocks = LLVMBuildZExt(w->b, blocks, w->p->i64, "");
  return LLVMBuildMul(w->b, blocks, constant_i64(w->p, block_size(w->p, 'x')), "");
}

static LLVMValueRef round_place(widener *w) {
  LLVMValueRef at = constant_i64(w->p, offsetof(mw_worker, round));
  return LLVMBuildInBoundsGEP2(w->b, w->p->i8, w->worker, &at, 1, "");
}

LLVMValueRef round_word(widener *w, bool high) {
  LLVMValueRef at = constant_i64(w->p, offsetof(mw_worker, round) + (high ? sizeof(uint32_t) : 0));
  return LLVMBuildLoad2(w->b, w->p->i32, LLVMBuildInBoundsGEP2(w->b, w->p->i8, w->worker, &at, 1, ""), "");
}

void begin_rounds(emission *e, round_loop *l) {
  widener *w = &e->w;
  if (!w->k->rounds_end) return;
  LLVMValueRef end = launch_wide(w, w->k->rounds_end);
  w->elements = w->k->rounds_signed ? LLVMBuildSExt(w->b, end, w->p->i64, "") : LLVMBuildZExt(w->b, end, w->p->i64, "");
  LLVMBasicBlockRef body = new_block(e, "round");
  *l = (round_loop){.head = new_block(e, "rounds"), .done = new_block(e, "rounds.done")};
  l->slot = LLVMBuildAlloca(w->entry, w->p->i64, "round");
  LLVMBuildStore(w->b, constant_i64(w->p, 0), l->slot);
  LLVMBuildBr(w->b, l->head);
  go_on_at(e, l->head);
  LLVMValueRef round = load_slot(e, w->p->i64, l->slot);
  LLVMIntPredicate less = w->k->rounds_signed ? LLVMIntSLT : LLVMIntULT;
  LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, less, round, w->elements, ""), body, l->done);
  go_on_at(e, body);
  LLVMBuildStore(w->b, round, round_place(w));
}

void end_rounds(emission *e, const round_loop *l) {
  widener *w = &e->w;
  if (!l->head) return;
  LLVMBuildStore(w->b, LLVMBuildAdd(w->b, load_slot(e, w->p->i64, l->slot), grid_threads(w), ""), l->slot);
  LLVMBuildBr(w->b, l->head);
  go_on_at(e, l->done);
}
