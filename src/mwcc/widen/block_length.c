/* The length of the code for a whole block as one gang: each instruction counts once for each vector with threads that
 * may run it.
 *
 * The threads of such a gang are known to the compiler, so code that `threadIdx.x < 32` guards is emitted for the
 * vectors of the first 32 threads of each row alone. In a tree of additions or a transform by levels, `for (half = 128;
 * half; half /= 2) if (threadIdx.x < half) …`, all levels together are not longer than the first two.
 *
 * Where lanes are far apart, that many vectors of one gang gain nothing: they are gathered element by element, and so
 * much code costs more than waiting (sweep_sums with AVX2: 1.77 ms instead of 1.28), unless they become shuffles of
 * large registers (opt/lane_forwarding.c). */
#include "mwcc/divergence/access_predicates.h"
#include "mwcc/analysis/simt.h"
#include "mwcc/support/predicates.h"
#include "mwcc/target/target.h"
#include "mwcc/widen/widen.h"

#include <stdlib.h>
#include <string.h>

static bool is_thread_x(LLVMValueRef value) {
  while (LLVMIsAZExtInst(value)) value = LLVMGetOperand(value, 0);
  return LLVMIsACallInst(value) && strcmp(callee_name(value), "llvm.nvvm.read.ptx.sreg.tid.x") == 0;
}

/* A number that threadIdx.x is below where the condition has that value; UINT64_MAX: none is known. */
static uint64_t bound_by(LLVMValueRef condition, bool holds) {
  if (!LLVMIsAICmpInst(condition) || !is_thread_x(LLVMGetOperand(condition, 0))) return UINT64_MAX;
  LLVMValueRef limit = LLVMGetOperand(condition, 1);
  if (!LLVMIsAConstantInt(limit) || LLVMConstIntGetSExtValue(limit) < 0) return UINT64_MAX;
  uint64_t number = LLVMConstIntGetZExtValue(limit);
  switch (LLVMGetICmpPredicate(condition)) {
  case LLVMIntULT:
  case LLVMIntSLT: return holds ? number : UINT64_MAX;
  case LLVMIntULE:
  case LLVMIntSLE: return holds ? number + 1 : UINT64_MAX;
  case LLVMIntUGE:
  case LLVMIntSGE: return holds ? UINT64_MAX : number;
  case LLVMIntUGT:
  case LLVMIntSGT: return holds ? UINT64_MAX : number + 1;
  case LLVMIntEQ: return holds ? number + 1 : UINT64_MAX;
  case LLVMIntNE: return holds ? UINT64_MAX : number + 1;
  default: return UINT64_MAX;
  }
}

/* The only block from which control reaches this one, or NULL. */
static LLVMBasicBlockRef only_predecessor(LLVMBasicBlockRef block) {
  LLVMBasicBlockRef only = NULL;
  for (LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); use; use = LLVMGetNextUse(use)) {
    if (!LLVMIsATerminatorInst(LLVMGetUser(use)) || only) return NULL;
    only = LLVMGetInstructionParent(LLVMGetUser(use));
  }
  return only;
}

/* A number that threadIdx.x is below in that block, `width` at most, by the branches before it. */
static uint64_t bound_in(LLVMBasicBlockRef block, uint64_t width) {
  enum { DEEPEST = 8 };
  uint64_t bound = width;
  for (int depth = 0; depth < DEEPEST; depth++) {
    LLVMBasicBlockRef before = only_predecessor(block);
    LLVMValueRef branch = before ? LLVMGetBasicBlockTerminator(before) : NULL;
    if (!branch) break;
    if (LLVMIsABranchInst(branch) && LLVMIsConditional(branch)) {
      uint64_t found = bound_by(LLVMGetCondition(branch), LLVMGetSuccessor(branch, 0) == block);
      if (found < bound) bound = found;
    }
    block = before;
  }
  return bound;
}

size_t operations_of_block(LLVMValueRef function, const unsigned block[3], unsigned lanes, bool guarded) {
  size_t all = 0;
  unsigned rows = block[1] * block[2];
  for (LLVMBasicBlockRef at = LLVMGetFirstBasicBlock(function); at; at = LLVMGetNextBasicBlock(at)) {
    size_t operations = 0, threads = guarded ? block[0] : (size_t)bound_in(at, block[0]), whole = block[0] % lanes == 0;
    for (LLVMValueRef i = LLVMGetFirstInstruction(at); i; i = LLVMGetNextInstruction(i))
      operations += (size_t)operations_of(i);
    all += operations * (whole ? (threads + lanes - 1) / lanes * rows : (threads * rows + lanes - 1) / lanes);
  }
  return all;
}

bool accesses_apart(const shapes *s, const order *o) {
  enum { LARGE = 16, NEAR = 4 }; /* elements, which whole vectors and shuffles serve: interleaved.c */
  bool forwards = register_lanes(s->graph->program) >= LARGE;
  for (int i = 0; i < s->graph->value_count; i++) {
    LLVMValueRef value = s->graph->values[i];
    bool loads = LLVMIsALoadInst(value), stores = LLVMIsAStoreInst(value);
    if (!loads && !stores) continue;
    LLVMTypeRef type = loads ? LLVMTypeOf(value) : LLVMTypeOf(LLVMGetOperand(value, 0));
    LLVMValueRef address = LLVMGetOperand(value, loads ? 0 : 1);
    shape at = shape_of(s, address);
    if (forwards && has_constant_places(s->graph, o, address, s->graph->node_of[i])) continue;
    int64_t near = NEAR * (int64_t)LLVMStoreSizeOfType(s->graph->program->layout, type);
    if (at.kind == SHAPE_VARYING || (!is_uniform_kind(at.kind) && llabs(at.stride) > near)) return true;
  }
  return false;
}
