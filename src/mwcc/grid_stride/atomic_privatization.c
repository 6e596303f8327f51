/* What blocks add to the same places of memory, added once for all of those that take turns (reduction_state.c).
 *
 *   atomicAdd(&bins[threadIdx.x], counts[threadIdx.x]);
 *
 * Each is a locked instruction, of some twenty cycles where no other processor wants the line, and many times as much where
 * one does; and a histogram of few rounds has as many of them as it has numbers to count. Thread t of each block adds to the
 * same place. So a worker keeps for each thread of a block what its blocks have added, and where, and adds that when they are
 * done. (Zen 4, two processors, 2^24 numbers, 256 bins and blocks: a twentieth less time.)
 *
 * Nobody may see the difference: the old value is not asked for, the operation orders nothing else (relaxed, as atomicAdd
 * is; cuda::atomic_ref's as a rule is not), sums of whole numbers come out the same in any order, and
 * behind it the thread neither loads nor stores what others could have, too. What other blocks see meanwhile they could also
 * see if these came later. A place that there is not is noticed when the sums are added, by the line, but not by the block that
 * meant it. Where all threads add to one place, lanes do so together already (atomics.c), which is less. */
#include "grid_stride.h"

#include <stdlib.h>
#include <string.h>

/* ---- which ---- */

/* Whether the address is the same for all blocks: made of parameters and the thread's place in its block. */
static bool is_same_for_blocks(LLVMValueRef v, bool *by_thread, int depth) {
  static const char tid[] = "llvm.nvvm.read.ptx.sreg.tid.", sizes[] = "llvm.nvvm.read.ptx.sreg.ntid.";
  if (!LLVMIsAInstruction(v)) return LLVMIsAArgument(v) || LLVMIsAConstant(v);
  if (depth == 0 || !is_repeatable(v)) return false;
  if (LLVMIsACallInst(v)) {
    *by_thread = *by_thread || starts_with(callee_name(v), tid);
    return starts_with(callee_name(v), tid) || starts_with(callee_name(v), sizes);
  }
  for (unsigned n = 0; n < count_operands(v); n++)
    if (!is_same_for_blocks(LLVMGetOperand(v, n), by_thread, depth - 1)) return false;
  return true;
}

static bool adds_alone(LLVMValueRef i) {
  return LLVMIsAAtomicRMWInst(i) && LLVMGetAtomicRMWBinOp(i) == LLVMAtomicRMWBinOpAdd && !LLVMGetFirstUse(i) &&
         !LLVMGetVolatile(i) && LLVMGetOrdering(i) == LLVMAtomicOrderingMonotonic;
}

static bool suits(LLVMValueRef i) {
  enum { DEPTH = 12 };
  bool by_thread = false;
  if (!adds_alone(i) || !is_lane_type(LLVMTypeOf(i))) return false;
  unsigned width = LLVMGetIntTypeWidth(LLVMTypeOf(i));
  memory_kind kind = memory_of(LLVMGetOperand(i, 0));
  if ((width != 32 && width != 64) || (kind != MEMORY_GLOBAL && kind != MEMORY_UNKNOWN)) return false;
  return is_same_for_blocks(LLVMGetOperand(i, 0), &by_thread, DEPTH) && by_thread;
}

/* Whether who comes to the instruction behind the sum can tell whether that was added already. */
static bool may_tell(LLVMValueRef i) {
  LLVMValueRef address = LLVMIsALoadInst(i) ? LLVMGetOperand(i, 0) : LLVMIsAStoreInst(i) ? LLVMGetOperand(i, 1) : NULL;
  if (adds_alone(i) || is_harmless(i) || is_barrier(i)) return false;
  if (LLVMIsACallInst(i) && starts_with(callee_name(i), KEPT_STORE)) return false;
  memory_kind kind = address ? memory_of(address) : MEMORY_UNKNOWN;
  return kind != MEMORY_SHARED && kind != MEMORY_LOCAL && kind != MEMORY_CONSTANT;
}

typedef struct search {
  LLVMBasicBlockRef *blocks; /* of the kernel, sorted */
  bool *seen;                /* by place in there */
  LLVMBasicBlockRef *list;   /* where it has to go on, each once */
  size_t count, open;
} search;

static int compare_blocks(const void *a, const void *b) {
  uintptr_t x = (uintptr_t)*(const LLVMBasicBlockRef *)a, y = (uintptr_t)*(const LLVMBasicBlockRef *)b;
  return (x > y) - (x < y);
}

static void go_to(search *s, LLVMBasicBlockRef block) {
  const LLVMBasicBlockRef *at = bsearch(&block, s->blocks, s->count, sizeof block, compare_blocks);
  if (!at || s->seen[at - s->blocks]) return;
  s->seen[at - s->blocks] = true;
  s->list[s->open++] = block;
}

/* From the instruction to its block's end. */
static bool is_told_from(search *s, LLVMValueRef i) {
  for (; i; i = LLVMGetNextInstruction(i)) {
    if (may_tell(i)) return true;
    for (unsigned n = 0; LLVMIsATerminatorInst(i) && n < LLVMGetNumSuccessors(i); n++) go_to(s, LLVMGetSuccessor(i, n));
  }
  return false;
}

/* Whether anybody can tell behind the instruction. (The loop goes on by way of the function's end: but there are no such sums
   in it, is_independent in reduction_state.c sees to that.) */
static bool is_told(const kernel *k, LLVMValueRef i) {
  size_t count = LLVMCountBasicBlocks(k->body);
  search s = {.blocks = mw_alloc((count + 1) * sizeof *s.blocks),
              .list = mw_alloc((count + 1) * sizeof *s.list),
              .seen = mw_alloc(count + 1),
              .count = count};
  LLVMGetBasicBlocks(k->body, s.blocks);
  qsort(s.blocks, count, sizeof *s.blocks, compare_blocks);
  bool result = is_told_from(&s, LLVMGetNextInstruction(i));
  while (s.open && !result) result = is_told_from(&s, LLVMGetFirstInstruction(s.list[--s.open]));
  free(s.blocks);
  free(s.list);
  free(s.seen);
  return result;
}

/* ---- in the kernel ---- */

static void replace(program *p, LLVMBuilderRef b, LLVMValueRef atomic, unsigned number) {
  LLVMValueRef arguments[] = {LLVMGetOperand(atomic, 0), LLVMGetOperand(atomic, 1)};
  LLVMTypeRef types[] = {LLVMTypeOf(arguments[0]), LLVMTypeOf(arguments[1])};
  LLVMTypeRef signature = LLVMFunctionType(p->void_type, types, 2, 0);
  char *name = mw_format("%s%u", KEPT_ADD, number);
  LLVMPositionBuilderBefore(b, atomic);
  LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(atomic));
  LLVMValueRef function = LLVMGetNamedFunction(p->module, name);
  if (!function) function = LLVMAddFunction(p->module, name, signature);
  LLVMBuildCall2(b, signature, function, arguments, 2, "");
  LLVMInstructionEraseFromParent(atomic);
  free(name);
}

void keep_adds(program *p, kernel *k) {
  instructions all = instructions_of_function(k->body);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  unsigned count = 0;
  for (size_t i = 0; i < all.count; i++)
    if (count < MOST_KEPT && suits(all.items[i]) && !is_told(k, all.items[i])) replace(p, b, all.items[i], count++);
  LLVMDisposeBuilder(b);
  free(all.items);
}
