/* Privatisation of atomic sums: what the blocks of a strip (reduction_state.c) add to the same address is added there
 * once.
 *
 *   atomicAdd(&bins[threadIdx.x], counts[threadIdx.x]);
 *
 * A locked instruction costs some twenty cycles, and many times that if another processor owns the line; a histogram
 * over few iterations executes as many of them as it counts numbers. Thread t of every block adds to the same address,
 * so a worker accumulates for each thread of a block the sum and the address, and adds the sums when the blocks are
 * done.
 *
 * The difference cannot be observed: the old value is unused; the operation is relaxed (monotonic), as atomicAdd is
 * but cuda::atomic_ref's is not by default, so it orders nothing else; integer sums are the same in any order; and
 * after it the thread neither loads nor stores memory that others could access. A state that other blocks see in the
 * meantime is one that they could also see if these blocks ran later. A bad address faults when the sums are added: at
 * the same source line, but not in the block that computed it. Where all threads add to one address, lanes combine
 * their sums first anyway (atomics.c), which costs less. */
#include "grid_stride.h"

#include <stdlib.h>
#include <string.h>

/* ---- which atomics ---- */

/* Whether the address is the same in all blocks: it depends on parameters and on the thread's index in its block only.
*/
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

static bool is_relaxed_add(LLVMValueRef i) {
  return LLVMIsAAtomicRMWInst(i) && LLVMGetAtomicRMWBinOp(i) == LLVMAtomicRMWBinOpAdd && !LLVMGetFirstUse(i) &&
         !LLVMGetVolatile(i) && LLVMGetOrdering(i) == LLVMAtomicOrderingMonotonic;
}

static bool is_privatizable(LLVMValueRef i) {
  enum { DEPTH = 12 };
  bool by_thread = false;
  if (!is_relaxed_add(i) || !is_lane_type(LLVMTypeOf(i))) return false;
  unsigned width = LLVMGetIntTypeWidth(LLVMTypeOf(i));
  memory_kind kind = memory_of(LLVMGetOperand(i, 0));
  if ((width != 32 && width != 64) || (kind != MEMORY_GLOBAL && kind != MEMORY_UNKNOWN)) return false;
  return is_same_for_blocks(LLVMGetOperand(i, 0), &by_thread, DEPTH) && by_thread;
}

/* Whether the instruction, executed after the atomic, could observe whether the sum was added already. */
static bool may_observe(LLVMValueRef i) {
  LLVMValueRef address = LLVMIsALoadInst(i) ? LLVMGetOperand(i, 0) : LLVMIsAStoreInst(i) ? LLVMGetOperand(i, 1) : NULL;
  if (is_relaxed_add(i) || touches_no_memory(i) || is_barrier(i)) return false;
  if (LLVMIsACallInst(i) && starts_with(callee_name(i), SAVED_STORE)) return false;
  memory_kind kind = address ? memory_of(address) : MEMORY_UNKNOWN;
  return kind != MEMORY_SHARED && kind != MEMORY_LOCAL && kind != MEMORY_CONSTANT;
}

typedef struct search {
  LLVMBasicBlockRef *blocks; /* of the kernel, sorted */
  bool *seen;                /* by index in `blocks` */
  LLVMBasicBlockRef *list;   /* the work list; each block is entered once */
  size_t count, open;
} search;

static int compare_blocks(const void *a, const void *b) {
  uintptr_t x = (uintptr_t)*(const LLVMBasicBlockRef *)a, y = (uintptr_t)*(const LLVMBasicBlockRef *)b;
  return (x > y) - (x < y);
}

static void enqueue(search *s, LLVMBasicBlockRef block) {
  const LLVMBasicBlockRef *at = bsearch(&block, s->blocks, s->count, sizeof block, compare_blocks);
  if (!at || s->seen[at - s->blocks]) return;
  s->seen[at - s->blocks] = true;
  s->list[s->open++] = block;
}

/* Whether an instruction from `i` to the end of its block may observe the sum; enqueues the block's successors. */
static bool observes_to_end(search *s, LLVMValueRef i) {
  for (; i; i = LLVMGetNextInstruction(i)) {
    if (may_observe(i)) return true;
    for (unsigned n = 0; LLVMIsATerminatorInst(i) && n < LLVMGetNumSuccessors(i); n++)
      enqueue(s, LLVMGetSuccessor(i, n));
  }
  return false;
}

/* Whether any code after the instruction may observe the sum. The search ends at the return, though the body is entered
   again for the next strip: it need not continue there, since the loop contains no such atomics (is_independent in
   reduction_state.c). */
static bool is_observed(const kernel *k, LLVMValueRef i) {
  size_t count = LLVMCountBasicBlocks(k->body);
  search s = {.blocks = mw_alloc((count + 1) * sizeof *s.blocks),
              .list = mw_alloc((count + 1) * sizeof *s.list),
              .seen = mw_alloc(count + 1),
              .count = count};
  LLVMGetBasicBlocks(k->body, s.blocks);
  qsort(s.blocks, count, sizeof *s.blocks, compare_blocks);
  bool result = observes_to_end(&s, LLVMGetNextInstruction(i));
  while (s.open && !result) result = observes_to_end(&s, LLVMGetFirstInstruction(s.list[--s.open]));
  free(s.blocks);
  free(s.list);
  free(s.seen);
  return result;
}

/* ---- rewriting ---- */

static void replace(program *p, LLVMBuilderRef b, LLVMValueRef atomic, unsigned number) {
  LLVMValueRef arguments[] = {LLVMGetOperand(atomic, 0), LLVMGetOperand(atomic, 1)};
  LLVMTypeRef types[] = {LLVMTypeOf(arguments[0]), LLVMTypeOf(arguments[1])};
  LLVMTypeRef signature = LLVMFunctionType(p->void_type, types, 2, 0);
  char *name = mw_format("%s%u", PRIVATE_ADD, number);
  LLVMPositionBuilderBefore(b, atomic);
  LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(atomic));
  LLVMValueRef function = LLVMGetNamedFunction(p->module, name);
  if (!function) function = LLVMAddFunction(p->module, name, signature);
  LLVMBuildCall2(b, signature, function, arguments, 2, "");
  LLVMInstructionEraseFromParent(atomic);
  free(name);
}

void privatize_atomics(program *p, kernel *k) {
  instructions all = instructions_of_function(k->body);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  unsigned count = 0;
  for (size_t i = 0; i < all.count; i++)
    if (count < MOST_SAVED && is_privatizable(all.items[i]) && !is_observed(k, all.items[i]))
      replace(p, b, all.items[i], count++);
  LLVMDisposeBuilder(b);
  free(all.items);
}
