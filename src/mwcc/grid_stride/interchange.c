/* Loop interchange of grid-stride loops: one iteration of all blocks of a worker, and then the next.
 *
 *   for each block: for each iteration: body   ->   for each iteration: for each block: body
 *
 * A block that runs all its iterations accesses a few kilobytes, jumps over what the rest of the grid accesses, and
 * continues there; hardware prefetchers do not follow such jumps. The blocks of one worker have consecutive ids, so the
 * same iteration of all of them covers one contiguous stretch of memory. The order is legal because blocks may run
 * concurrently.
 *
 * If a block carries nothing between iterations (one count, no sums, no shared memory, only arithmetic before the loop
 * and nothing after it), the kernel's body becomes one iteration, which takes the number of elements done from a
 * register that is like one more block id, and the loop over blocks runs once for each iteration
 * (widen/flow/grid_stride_loop.c). The body then has no loop left, like that of a kernel with one thread for each
 * element. If a block does carry something, reduction_state.c strip-mines the loop instead.
 *
 * The count does not overflow where the original does not: an iteration runs only if i <= n - 1, and i plus the stride
 * is the value that the thread itself would compute next. Were that beyond the range of the type, the original count
 * would not reach n either. */
#include "grid_stride.h"

#include <stdlib.h>

/* ---- conditions ---- */

static bool adds_floats(LLVMValueRef i) {
  return LLVMIsAAtomicRMWInst(i) && LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMIntegerTypeKind;
}

/* Whether no iteration needs anything from the one before, and nothing follows the loop. */
static bool carries_nothing(const kernel *k, const grid_loop *l) {
  if (l->repeat_from || k->waits || k->shared_bytes || k->dynamic_shared) return false;
  if (LLVMIsAPHINode(LLVMGetNextInstruction(LLVMGetFirstInstruction(l->header)))) return false;
  if (!only_returns(l->exit) || !only_returns(l->after)) return false;
  instructions all = instructions_of_function(k->body);
  bool suits = true;
  for (size_t i = 0; i < all.count; i++)
    suits = suits && !adds_floats(all.items[i]); /* floating-point sums depend on the order */
  free(all.items);
  return suits;
}

/* ---- rewriting ---- */

static LLVMValueRef join_words(program *p, LLVMBuilderRef b, const grid_loop *l, const char *low, const char *high) {
  LLVMValueRef word = call_intrinsic(p, b, low, NULL, 0, NULL, 0);
  if (LLVMTypeOf(l->count) != p->i64) return word;
  LLVMValueRef above = LLVMBuildZExt(b, call_intrinsic(p, b, high, NULL, 0, NULL, 0), p->i64, "");
  above = LLVMBuildShl(b, above, constant_i64(p, 32), "");
  return LLVMBuildOr(b, above, LLVMBuildZExt(b, word, p->i64, ""), "");
}

LLVMValueRef elements_done(program *p, LLVMBuilderRef b, const grid_loop *l) {
  if (LLVMTypeOf(l->count) != p->i64 && l->is_signed) return call_intrinsic(p, b, ELEMENTS_DONE, NULL, 0, NULL, 0);
  return join_words(p, b, l, ELEMENTS_DONE_LOW, ELEMENTS_DONE_HIGH);
}

LLVMValueRef elements_limit(program *p, LLVMBuilderRef b, const grid_loop *l) {
  return join_words(p, b, l, ELEMENTS_LIMIT_LOW, ELEMENTS_LIMIT_HIGH);
}

LLVMValueRef first_count(program *p, LLVMBuilderRef b, const grid_loop *l) {
  LLVMValueRef count = LLVMBuildNUWAdd(b, l->first, elements_done(p, b, l), "");
  if (LLVMIsAInstruction(count)) LLVMSetNSW(count, l->is_signed);
  return count;
}

void erase_unused(LLVMValueRef v) {
  LLVMValueRef operands[2];
  if (!LLVMIsAInstruction(v) || LLVMGetFirstUse(v) || LLVMGetNumOperands(v) > 2 || !touches_no_memory(v)) return;
  unsigned count = LLVMIsACallInst(v) ? 0 : (unsigned)LLVMGetNumOperands(v);
  for (unsigned i = 0; i < count; i++) operands[i] = LLVMGetOperand(v, i);
  LLVMInstructionEraseFromParent(v);
  for (unsigned i = 0; i < count; i++)
    if (i == 0 || operands[1] != operands[0]) erase_unused(operands[i]);
}

static void make_one_iteration(program *p, const grid_loop *l) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  LLVMValueRef test = LLVMGetCondition(l->guard), back = LLVMGetBasicBlockTerminator(l->latch),
               again = LLVMGetCondition(back);
  LLVMPositionBuilderBefore(b, test);
  LLVMValueRef count = first_count(p, b, l);
  LLVMSetOperand(test, LLVMGetOperand(test, 0) == l->first ? 0 : 1, count);
  LLVMReplaceAllUsesWith(l->count, count);
  LLVMInstructionEraseFromParent(l->count);
  LLVMInstructionEraseFromParent(back);
  LLVMPositionBuilderAtEnd(b, l->latch);
  LLVMBuildBr(b, l->exit);
  erase_unused(again);
  LLVMDisposeBuilder(b);
}

void interchange_grid_stride(program *p) {
  const options *o = p->options;
  for (size_t i = 0; i < p->kernel_count; i++) {
    kernel *k = &p->kernels[i];
    grid_loop l;
    if (!o->launch_kernel || o->width == 1 || o->check_memory || !k->any_order || !find_grid_loop(p, k, &l)) continue;
    bool alone = carries_nothing(k, &l);
    if (alone && has_pass(p, PASS_PARALLEL_ITERATIONS)) find_parallel_iterations(p, k, &l);
    if (alone)
      make_one_iteration(p, &l);
    else if (o->launch_one || !strip_mine_reduction(p, k, &l)) /* a single block's iterations are contiguous anyway */
      continue;
    k->iterations_end = l.end;
    k->iterations_signed = l.is_signed;
  }
  verify_module(p, "interchange of grid-stride loops");
}
