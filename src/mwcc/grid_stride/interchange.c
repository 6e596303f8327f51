/* Grid-stride loops: the rounds of many blocks one after the other, rather than the blocks.
 *
 *   for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) …
 *
 * A block that does all its rounds leaps through memory: a kilobyte here, the next one where the whole grid's threads have
 * been, and each leap is one that the processor does not see coming. Copies take three times as long as they need, sums
 * half as long again. The blocks that a worker was given lie side by side, so their first rounds together are one long
 * stretch, and so are their second ones. They may be run in that order, since blocks may be run at the same time.
 *
 * If a block has nothing to keep from round to round (one count, no sums, no memory of its own, nothing but arithmetic
 * before the loop and nothing behind it), the kernel becomes what one round does, with the round as another id of the block,
 * and the loop over the blocks is run once for each round (grid_stride_loop.c). What is left has no loop any more, and is as good
 * as the kernel with a thread for each element. If it does keep something, reduction_state.c has the way.
 *
 * The count is exact: with i at most n - 1 in a round that is run, i plus the stride is what the thread itself would count
 * up to next. Should that be past the end of the type, then its own count never gets to n. */
#include "grid_stride.h"

#include <stdlib.h>

/* ---- what has to be so besides ---- */

static bool adds_floats(LLVMValueRef i) {
  return LLVMIsAAtomicRMWInst(i) && LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMIntegerTypeKind;
}

/* Whether the kernel is one round, and then the next. */
static bool is_rounds_alone(const kernel *k, const grid_loop *l) {
  if (l->again_from || k->waits || k->shared_bytes || k->dynamic_shared) return false;
  if (LLVMIsAPHINode(LLVMGetNextInstruction(LLVMGetFirstInstruction(l->header)))) return false;
  if (!only_returns(l->exit) || !only_returns(l->behind)) return false;
  instructions all = instructions_of_function(k->body);
  bool suits = true;
  for (size_t i = 0; i < all.count; i++) suits = suits && !adds_floats(all.items[i]); /* sums come out as always */
  free(all.items);
  return suits;
}

/* ---- one round ---- */

static LLVMValueRef of_words(program *p, LLVMBuilderRef b, const grid_loop *l, const char *low, const char *high) {
  LLVMValueRef word = call_intrinsic(p, b, low, NULL, 0, NULL, 0);
  if (LLVMTypeOf(l->count) != p->i64) return word;
  LLVMValueRef above = LLVMBuildZExt(b, call_intrinsic(p, b, high, NULL, 0, NULL, 0), p->i64, "");
  above = LLVMBuildShl(b, above, constant_i64(p, 32), "");
  return LLVMBuildOr(b, above, LLVMBuildZExt(b, word, p->i64, ""), "");
}

LLVMValueRef elements_done(program *p, LLVMBuilderRef b, const grid_loop *l) {
  if (LLVMTypeOf(l->count) != p->i64 && l->is_signed) return call_intrinsic(p, b, ROUND_REGISTER, NULL, 0, NULL, 0);
  return of_words(p, b, l, ROUND_REGISTER_LOW, ROUND_REGISTER_HIGH);
}

LLVMValueRef elements_now(program *p, LLVMBuilderRef b, const grid_loop *l) {
  return of_words(p, b, l, ROUND_LIMIT_LOW, ROUND_LIMIT_HIGH);
}

LLVMValueRef count_from(program *p, LLVMBuilderRef b, const grid_loop *l) {
  LLVMValueRef count = LLVMBuildNUWAdd(b, l->first, elements_done(p, b, l), "");
  if (LLVMIsAInstruction(count)) LLVMSetNSW(count, l->is_signed);
  return count;
}

void erase_unused(LLVMValueRef v) {
  LLVMValueRef operands[2];
  if (!LLVMIsAInstruction(v) || LLVMGetFirstUse(v) || LLVMGetNumOperands(v) > 2 || !is_harmless(v)) return;
  unsigned count = LLVMIsACallInst(v) ? 0 : (unsigned)LLVMGetNumOperands(v);
  for (unsigned i = 0; i < count; i++) operands[i] = LLVMGetOperand(v, i);
  LLVMInstructionEraseFromParent(v);
  for (unsigned i = 0; i < count; i++)
    if (i == 0 || operands[1] != operands[0]) erase_unused(operands[i]);
}

static void do_one_round(program *p, const grid_loop *l) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  LLVMValueRef test = LLVMGetCondition(l->guard), back = LLVMGetBasicBlockTerminator(l->latch),
               again = LLVMGetCondition(back);
  LLVMPositionBuilderBefore(b, test);
  LLVMValueRef count = count_from(p, b, l);
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
  const options *o = p->options;
  for (size_t i = 0; i < p->kernel_count; i++) {
    kernel *k = &p->kernels[i];
    grid_loop l;
    if (!o->launch_kernel || o->width == 1 || o->check_memory || !k->any_order || !find_grid_loop(p, k, &l)) continue;
    bool alone = is_rounds_alone(k, &l);
    if (alone && has_pass(p, PASS_PARALLEL_ITERATIONS)) find_free_rounds(p, k, &l);
    if (alone)
      do_one_round(p, &l);
    else if (o->launch_one || !keep_sums(p, k, &l)) /* the rounds of one block lie beside each other anyway */
      continue;
    k->rounds_end = l.end;
    k->rounds_signed = l.is_signed;
  }
  verify_module(p, "taking rounds apart");
}
