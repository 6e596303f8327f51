/* Members of structs and rows of arrays that constants leave: `s.a[4]`, or `s.a[i]` in a loop to a constant. What LLVM
 * simplifies of them has only a distance from the struct's start, which is in bounds of the struct. So these are found
 * before that; an index of which nothing is known keeps its array (find_inner_array). */
#include "mwcc/mwcc.h"
#include "mwcc/support/predicates.h"
#include "mwcc/prepare/addresses/addresses.h"

#include <stdlib.h>

enum { STEPS = 8 };

typedef struct range {
  int64_t low, high;
  bool known;
} range;

static range range_of(LLVMValueRef value, int steps);

static range moved(range r, int64_t by) {
  bool fits = r.known && by > INT32_MIN && by < INT32_MAX && r.low > INT32_MIN && r.high < INT32_MAX;
  return (range){r.low + (fits ? by : 0), r.high + (fits ? by : 0), fits};
}

/* Of a counter that a comparison with a constant ends. */
static range range_to(LLVMValueRef test, int64_t from, int64_t step) {
  int64_t to = LLVMConstIntGetSExtValue(LLVMGetOperand(test, 1));
  switch (LLVMGetICmpPredicate(test)) {
  case LLVMIntSLT:
  case LLVMIntULT: return (range){from, to - 1, step > 0};
  case LLVMIntSLE:
  case LLVMIntULE: return (range){from, to, step > 0};
  case LLVMIntSGT: return (range){to + 1, from, step < 0};
  case LLVMIntSGE: return (range){to, from, step < 0};
  case LLVMIntNE: return (range){step > 0 ? from : to + 1, step > 0 ? to - 1 : from, step == 1 || step == -1};
  default: return (range){0};
  }
}

/* Of the counter of a loop in the loop's body: the widest that its comparisons with constants allow. */
static range range_of_counter(LLVMValueRef phi) {
  range widest = {0};
  if (LLVMCountIncoming(phi) != 2) return widest;
  unsigned first = LLVMIsAConstantInt(LLVMGetIncomingValue(phi, 0)) ? 0 : 1;
  LLVMValueRef start = LLVMGetIncomingValue(phi, first), next = LLVMGetIncomingValue(phi, 1 - first);
  if (!LLVMIsAConstantInt(start) || opcode_of(next) != LLVMAdd || LLVMGetOperand(next, 0) != phi) return widest;
  if (!LLVMIsAConstantInt(LLVMGetOperand(next, 1))) return widest;
  int64_t from = LLVMConstIntGetSExtValue(start), step = LLVMConstIntGetSExtValue(LLVMGetOperand(next, 1));
  for (LLVMUseRef use = LLVMGetFirstUse(phi); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef test = LLVMGetUser(use);
    if (!LLVMIsAICmpInst(test) || LLVMGetOperand(test, 0) != phi || !LLVMIsAConstantInt(LLVMGetOperand(test, 1)))
      continue;
    range r = range_to(test, from, step);
    if (!r.known) continue;
    if (!widest.known || r.low < widest.low) widest.low = r.low;
    if (!widest.known || r.high > widest.high) widest.high = r.high;
    widest.known = true;
  }
  return widest;
}

static range range_of(LLVMValueRef value, int steps) {
  range none = {0};
  if (LLVMIsAConstantInt(value) && LLVMGetIntTypeWidth(LLVMTypeOf(value)) <= 64)
    return (range){LLVMConstIntGetSExtValue(value), LLVMConstIntGetSExtValue(value), true};
  if (steps == 0) return none;
  LLVMValueRef by = LLVMIsABinaryOperator(value) ? LLVMGetOperand(value, 1) : NULL;
  if (by && !LLVMIsAConstantInt(by)) return none;
  switch (opcode_of(value)) {
  case LLVMSExt:
  case LLVMZExt: return range_of(LLVMGetOperand(value, 0), steps - 1);
  case LLVMAdd: return moved(range_of(LLVMGetOperand(value, 0), steps - 1), LLVMConstIntGetSExtValue(by));
  case LLVMSub: return moved(range_of(LLVMGetOperand(value, 0), steps - 1), -LLVMConstIntGetSExtValue(by));
  case LLVMPHI: return range_of_counter(value);
  default: return none;
  }
}

static bool may_leave(LLVMValueRef index, LLVMTypeRef array) {
  range r = range_of(index, STEPS);
  int64_t length = (int64_t)LLVMGetArrayLength2(array);
  return r.known && length > 1 && (r.low < 0 || r.high >= length);
}

/* Whether it is a variable of the type, whose size is known in any case. */
static bool is_variable(LLVMValueRef pointer, LLVMTypeRef type) {
  LLVMValueRef root = root_of(pointer);
  return (LLVMIsAAllocaInst(root) && LLVMGetAllocatedType(root) == type) ||
         (LLVMIsAGlobalVariable(root) && LLVMGlobalGetValueType(root) == type);
}

/* The array within what `gep` points into. */
static bool find_left(program *p, LLVMBuilderRef b, LLVMValueRef gep, accessed *inner) {
  unsigned count = (unsigned)LLVMGetNumOperands(gep);
  LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
  for (unsigned i = 2; i < count; i++) {
    LLVMValueRef index = LLVMGetOperand(gep, i), from = LLVMGetOperand(gep, 0);
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    if (kind != LLVMStructTypeKind && kind != LLVMArrayTypeKind) return false;
    bool is_whole = i == 2 && is_variable(from, type);
    if (kind == LLVMArrayTypeKind && !is_whole && may_leave(index, type)) {
      LLVMValueRef *indices = mw_alloc(count * sizeof *indices);
      for (unsigned k = 1; k < i; k++) indices[k - 1] = LLVMGetOperand(gep, k);
      inner->base = LLVMBuildGEP2(b, LLVMGetGEPSourceElementType(gep), from, indices, i - 1, "");
      inner->size = LLVMABISizeOfType(p->layout, type);
      free(indices);
      return true;
    }
    type = kind == LLVMStructTypeKind ? LLVMStructGetTypeAtIndex(type, (unsigned)LLVMConstIntGetZExtValue(index))
                                      : LLVMGetElementType(type);
  }
  return false;
}

bool find_left_array(program *p, LLVMBuilderRef b, LLVMValueRef address, accessed *inner) {
  for (;; address = LLVMGetOperand(address, 0)) {
    LLVMOpcode opcode = opcode_of(address);
    if (opcode != LLVMGetElementPtr && opcode != LLVMAddrSpaceCast && opcode != LLVMBitCast) return false;
    if (opcode == LLVMGetElementPtr && find_left(p, b, address, inner)) return true;
  }
}
