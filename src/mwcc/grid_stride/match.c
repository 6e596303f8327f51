/* Finding grid-stride loops: see grid_stride.h. */
#include "grid_stride.h"
#include "mwcc/target/tuning.h"
#include "mwcc/analysis/analysis.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BEFORE = TUNE_REPEATED_INSTRUCTIONS };

/* ---- x * blockIdx.x + y * threadIdx.x + z * gridDim.x ---- */

typedef struct linear {
  int64_t block, thread, grid;
} linear;

static linear times(linear a, int64_t n) { return (linear){a.block * n, a.thread * n, a.grid * n}; }

/* Exact, not modulo 2^n: launches that this code is chosen for have less than 2^31 threads along the axis. False: not
   of this form. */
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

static bool is_number_of(LLVMValueRef v, linear expected) {
  enum { DEPTH = 6 };
  linear found;
  return is_linear(v, &found, DEPTH) && memcmp(&found, &expected, sizeof found) == 0;
}

bool is_thread_number(const program *p, LLVMValueRef value) {
  return is_number_of(value, (linear){.block = block_size(p, 'x'), .thread = 1});
}

/* ---- the bound that the count is compared with ---- */

bool is_repeatable(LLVMValueRef i) {
  if (LLVMIsATerminatorInst(i)) return false;
  if (LLVMIsAPHINode(i) || LLVMIsAAllocaInst(i)) return false;
  if (LLVMIsALoadInst(i)) return memory_of(LLVMGetOperand(i, 0)) == MEMORY_CONSTANT && !LLVMGetVolatile(i);
  return touches_no_memory(i);
}

unsigned count_operands(LLVMValueRef i) {
  return LLVMIsACallInst(i) ? LLVMGetNumArgOperands(i) : (unsigned)LLVMGetNumOperands(i);
}

LLVMValueRef repeat_value(LLVMBuilderRef b, LLVMValueRef value, LLVMValueRef (*parameter)(void *, LLVMValueRef),
                          void *context) {
  if (LLVMIsAArgument(value)) return parameter(context, value);
  if (!LLVMIsAInstruction(value)) return value;
  unsigned count = count_operands(value);
  LLVMValueRef operands[MOST_OPERANDS], copy = LLVMInstructionClone(value);
  for (unsigned i = 0; i < count; i++) operands[i] = repeat_value(b, LLVMGetOperand(value, i), parameter, context);
  for (unsigned i = 0; i < count; i++) LLVMSetOperand(copy, i, operands[i]);
  LLVMInstructionSetDebugLoc(copy, NULL); /* its scope is another function's */
  LLVMInsertIntoBuilder(b, copy);
  return copy;
}

/* Whether the value depends on the kernel's parameters alone. */
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

/* Whether the branch goes to `then` exactly while `count` < *end, which is set. */
static bool continues_below(LLVMValueRef branch, LLVMBasicBlockRef then, LLVMValueRef count, LLVMValueRef *end,
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

LLVMBasicBlockRef only_successor(LLVMBasicBlockRef block) {
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

/* The number of instructions right before the guard that can be repeated; *from: as grid_loop.repeat_from. */
static int count_before_guard(const kernel *k, LLVMValueRef guard, LLVMValueRef *from) {
  int count = 0;
  LLVMValueRef first = guard, before = LLVMGetPreviousInstruction(guard);
  for (; before && is_repeatable(before); before = LLVMGetPreviousInstruction(before), count++) first = before;
  *from = before || LLVMGetInstructionParent(guard) != LLVMGetEntryBasicBlock(k->body) ? first : NULL;
  return count;
}

static LLVMBasicBlockRef other_successor(LLVMValueRef branch, LLVMBasicBlockRef one) {
  return LLVMGetSuccessor(branch, LLVMGetSuccessor(branch, 0) == one);
}

bool only_returns(LLVMBasicBlockRef block) {
  for (int most = 8; block && most > 0; block = only_successor(block), most--) {
    LLVMValueRef first = LLVMGetFirstInstruction(block);
    if (first != LLVMGetBasicBlockTerminator(block)) return false;
    if (LLVMIsAReturnInst(first)) return true;
  }
  return false;
}

/* Whether the loop counts from the thread's number in the grid, in steps of the number of threads in the grid. */
static bool counts_grid(const program *p, const grid_loop *l) {
  int64_t block = block_size(p, 'x');
  if (LLVMTypeOf(l->count) != p->i32 && LLVMTypeOf(l->count) != p->i64) return false;
  if (!LLVMIsABinaryOperator(l->next) || LLVMGetInstructionOpcode(l->next) != LLVMAdd) return false;
  unsigned own = LLVMGetOperand(l->next, 0) != l->count;
  LLVMValueRef by = LLVMGetOperand(l->next, !own);
  if (p->options->launch_one) /* the grid's threads are the block's */
    return LLVMGetOperand(l->next, own) == l->count && LLVMIsAConstantInt(by) &&
           LLVMConstIntGetSExtValue(by) == block && is_number_of(l->first, (linear){.thread = 1});
  return LLVMGetOperand(l->next, own) == l->count && is_number_of(by, (linear){.grid = block}) &&
         is_thread_number(p, l->first);
}

/* Find the phi that counts so in the loop that is entered from `before`. */
static bool find_count(const program *p, grid_loop *l) {
  for (LLVMValueRef phi = LLVMGetFirstInstruction(l->header); LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi)) {
    if (LLVMCountIncoming(phi) != 2) return false;
    unsigned outer = LLVMGetIncomingBlock(phi, 0) != l->before;
    if (LLVMGetIncomingBlock(phi, outer) != l->before || LLVMGetIncomingBlock(phi, !outer) == l->before) return false;
    l->count = phi, l->latch = LLVMGetIncomingBlock(phi, !outer);
    l->first = LLVMGetIncomingValue(phi, outer), l->next = LLVMGetIncomingValue(phi, !outer);
    if (counts_grid(p, l)) return true;
  }
  return false;
}

bool is_in_grid_loop(const grid_loop *l, LLVMBasicBlockRef block) {
  for (size_t i = 0; i < l->block_count; i++)
    if (l->blocks[i] == block) return true;
  return false;
}

static bool stays_in_loop(const grid_loop *l, LLVMBasicBlockRef block) {
  LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
  for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++) {
    LLVMBasicBlockRef next = LLVMGetSuccessor(end, i);
    if (next != l->header && is_in_grid_loop(l, next)) return true;
  }
  return false;
}

/* The natural loop: the blocks that reach the latch without passing the header. */
static void find_blocks(LLVMValueRef function, grid_loop *l) {
  l->blocks = mw_alloc((LLVMCountBasicBlocks(function) + 2) * sizeof *l->blocks);
  l->blocks[l->block_count++] = l->header;
  if (l->latch != l->header) l->blocks[l->block_count++] = l->latch;
  for (size_t before = 0; before < l->block_count;) {
    before = l->block_count;
    for (LLVMBasicBlockRef b = LLVMGetLastBasicBlock(function); b; b = LLVMGetPreviousBasicBlock(b))
      if (!is_in_grid_loop(l, b) && stays_in_loop(l, b)) l->blocks[l->block_count++] = b;
  }
}

/* Whether the latch has the loop's only exit. */
static bool has_one_exit(const grid_loop *l) {
  for (size_t n = 0; n < l->block_count; n++) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(l->blocks[n]);
    if (l->blocks[n] == l->latch) continue;
    if (!LLVMIsABranchInst(end)) return false;
    for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++)
      if (!is_in_grid_loop(l, LLVMGetSuccessor(end, i))) return false;
  }
  return true;
}

/* Whether the guard of *l and its successor `before` lead into a grid-stride loop, which is then described in *l. */
static bool is_entered_from(const program *p, const kernel *k, LLVMBasicBlockRef before, grid_loop *l) {
  enum { DEPTH = 8 };
  LLVMValueRef end;
  bool is_signed;
  l->before = before, l->header = only_successor(before);
  if (!l->header || count_repeatable(before) > MOST_BEFORE || !find_count(p, l) ||
      !continues_below(l->guard, before, l->first, &l->end, &l->is_signed))
    return false;
  LLVMValueRef back = LLVMGetBasicBlockTerminator(l->latch);
  if (!continues_below(back, l->header, l->next, &end, &is_signed)) return false;
  if (end != l->end || is_signed != l->is_signed || !is_launch_wide(end, DEPTH)) return false;
  l->exit = other_successor(back, l->header);
  l->after = other_successor(l->guard, before);
  find_blocks(k->body, l);
  return has_one_exit(l);
}

bool read_grid_loop(const program *p, const kernel *k, grid_loop *l) {
  LLVMValueRef guard = l->guard;
  if (!LLVMIsABranchInst(guard) || !LLVMIsConditional(guard)) return false;
  for (unsigned i = 0; i < 2; i++) {
    *l = (grid_loop){.guard = guard};
    count_before_guard(k, guard, &l->repeat_from);
    if (is_entered_from(p, k, LLVMGetSuccessor(guard, i), l)) return true;
  }
  return false;
}

bool find_grid_loop(const program *p, const kernel *k, grid_loop *out) {
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(k->body); b; b = LLVMGetNextBasicBlock(b)) {
    *out = (grid_loop){.guard = LLVMGetBasicBlockTerminator(b)};
    if (read_grid_loop(p, k, out))
      return count_before_guard(k, out->guard, &out->repeat_from) + count_repeatable(out->before) <= MOST_BEFORE;
  }
  return false;
}
