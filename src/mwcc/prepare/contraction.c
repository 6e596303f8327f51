/* Contraction: a product that only a sum of the same block uses is one instruction with the sum, a fused multiply-add
 * (nvcc's -fmad=true).
 *
 * LLVM's code generator would contract as well, but so late that the choice of products, and with it the last bit of
 * results, would depend on the gang's width, on masks and on the rest of the block. Here the code is still that of one
 * thread. So the general code, the code for each launch class and all widths of gangs compute the same bits, which
 * measured candidates rely on (candidates.c).
 *
 * Before: the flag `contract` on sums and products. After: no sum has it; every contraction is an llvm.fma, where the
 * processor has the instruction.
 *
 * Of two products, the first is fused, unless it alone is computed without data from memory: from constants, arguments,
 * counters and thread ids. Such a product is often the same for all threads and computed once for a gang, and the other
 * one then costs no multiplication. Thread ids count as uniform because code for a launch class may know them.
 *
 * A product of block sizes and constants is not fused: in code for a launch class it is a constant, rounded.
 *
 * What is left: loops are unrolled, and products that are then equal are one, before products are fused. Where that
 * depends on the block's size, the last bits of code for a launch class can differ from general code's; also where it
 * removes a branch between a product and its sum, or is a factor that is 1. */
#include "mwcc/mwcc.h"
#include "mwcc/target/target.h"
#include "mwcc/support/predicates.h"
#include "prepare.h"

#include <stdlib.h>
#include <string.h>

static bool may_contract(LLVMValueRef i, LLVMOpcode opcode) {
  return LLVMIsABinaryOperator(i) && LLVMGetInstructionOpcode(i) == opcode &&
         (LLVMGetFastMathFlags(i) & LLVMFastMathAllowContract);
}

static bool is_fused_type(LLVMTypeRef type) {
  if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) type = LLVMGetElementType(type);
  return LLVMGetTypeKind(type) == LLVMFloatTypeKind || LLVMGetTypeKind(type) == LLVMDoubleTypeKind;
}

/* Whether code for one launch class knows the number: it is made of constants and the sizes of blocks and grids. */
static bool is_of_launch(LLVMValueRef value, int depth) {
  static const char sreg[] = "llvm.nvvm.read.ptx.sreg.";
  if (!LLVMIsAInstruction(value)) return LLVMIsAConstant(value);
  if (LLVMIsACallInst(value)) {
    const char *name = callee_name(value);
    if (!starts_with(name, sreg)) return false;
    return starts_with(name + strlen(sreg), "ntid.") || starts_with(name + strlen(sreg), "nctaid.");
  }
  if (depth == 0 || !(LLVMIsABinaryOperator(value) || LLVMIsACastInst(value) || LLVMIsASelectInst(value) ||
                      LLVMIsACmpInst(value) || LLVMIsAUnaryOperator(value)))
    return false;
  for (int n = 0; n < LLVMGetNumOperands(value); n++)
    if (!is_of_launch(LLVMGetOperand(value, (unsigned)n), depth - 1)) return false;
  return true;
}

static bool is_fused_product(LLVMValueRef product, LLVMValueRef sum) {
  enum { DEPTH = 8 };
  if (!may_contract(product, LLVMFMul) || is_of_launch(product, DEPTH)) return false;
  if (LLVMGetInstructionParent(product) != LLVMGetInstructionParent(sum)) return false;
  LLVMUseRef use = LLVMGetFirstUse(product);
  return use && !LLVMGetNextUse(use);
}

/* a*b + c, a*b - c as a*b + (-c), c - a*b as (-a)*b + c. */
static void fuse(program *p, LLVMBuilderRef b, LLVMValueRef sum, unsigned which) {
  LLVMValueRef product = LLVMGetOperand(sum, which), other = LLVMGetOperand(sum, 1 - which);
  LLVMValueRef left = LLVMGetOperand(product, 0), right = LLVMGetOperand(product, 1);
  LLVMTypeRef type = LLVMTypeOf(sum);
  LLVMPositionBuilderBefore(b, sum);
  LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(sum));
  if (LLVMGetInstructionOpcode(sum) == LLVMFSub) {
    if (which == 0)
      other = LLVMBuildFNeg(b, other, "");
    else
      left = LLVMBuildFNeg(b, left, "");
  }
  LLVMValueRef arguments[] = {left, right, other}, made = call_intrinsic(p, b, "llvm.fma", &type, 1, arguments, 3);
  LLVMSetFastMathFlags(made, LLVMGetFastMathFlags(sum) & LLVMGetFastMathFlags(product) &
                                 ~(unsigned)LLVMFastMathAllowContract);
  LLVMReplaceAllUsesWith(sum, made);
  LLVMInstructionEraseFromParent(sum);
  LLVMInstructionEraseFromParent(product);
}

static bool is_contracted_sum(LLVMValueRef i) {
  return (may_contract(i, LLVMFAdd) || may_contract(i, LLVMFSub)) && is_fused_type(LLVMTypeOf(i));
}

static bool is_sum_of_products(LLVMValueRef i) {
  return is_contracted_sum(i) && is_fused_product(LLVMGetOperand(i, 0), i) && is_fused_product(LLVMGetOperand(i, 1), i);
}

/* A mark on instructions during the pass: computed with data from memory. */
static unsigned data_mark(const program *p) { return LLVMGetMDKindIDInContext(p->context, "mw.data", 7); }

static bool is_data(LLVMValueRef v, unsigned mark) { return LLVMIsAInstruction(v) && LLVMGetMetadata(v, mark); }

static bool reads_memory(LLVMValueRef i) {
  uint64_t accesses;
  if (LLVMIsACallInst(i)) return !memory_fact(i, &accesses) || accesses != 0;
  return LLVMIsALoadInst(i) || LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i);
}

static void mark_data(const program *p, const instructions *all) {
  unsigned mark = data_mark(p);
  LLVMValueRef set = LLVMMetadataAsValue(p->context, LLVMMDNodeInContext2(p->context, NULL, 0));
  LLVMValueRef *pending = mw_alloc(all->count * sizeof(LLVMValueRef));
  size_t count = 0;
  for (size_t n = 0; n < all->count; n++)
    if (reads_memory(all->items[n])) LLVMSetMetadata(pending[count++] = all->items[n], mark, set);
  while (count > 0)
    for (LLVMUseRef use = LLVMGetFirstUse(pending[--count]), next; use; use = next) {
      LLVMValueRef user = LLVMGetUser(use);
      next = LLVMGetNextUse(use);
      if (!is_data(user, mark)) LLVMSetMetadata(pending[count++] = user, mark, set);
    }
  free(pending);
}

static void remove_marks(const program *p, LLVMValueRef f) {
  instructions all = instructions_of_function(f);
  for (size_t n = 0; n < all.count; n++) LLVMSetMetadata(all.items[n], data_mark(p), NULL);
  free(all.items);
}

/* The operand that is a product to fuse; -1: none. */
static int product_of(const program *p, LLVMValueRef i) {
  if (is_sum_of_products(i))
    return !is_data(LLVMGetOperand(i, 0), data_mark(p)) && is_data(LLVMGetOperand(i, 1), data_mark(p));
  for (int n = 0; n < 2 && is_contracted_sum(i); n++)
    if (is_fused_product(LLVMGetOperand(i, (unsigned)n), i)) return n;
  return -1;
}

/* The same sum without the flag: LLVM's C interface can only add flags. */
static void remove_flag(LLVMBuilderRef b, LLVMValueRef sum) {
  unsigned flags = LLVMGetFastMathFlags(sum) & ~(unsigned)LLVMFastMathAllowContract;
  LLVMPositionBuilderBefore(b, sum);
  LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(sum));
  LLVMValueRef left = LLVMGetOperand(sum, 0), right = LLVMGetOperand(sum, 1),
               made = LLVMBuildBinOp(b, LLVMGetInstructionOpcode(sum), left, right, "");
  if (LLVMIsAInstruction(made)) LLVMSetFastMathFlags(made, flags);
  LLVMReplaceAllUsesWith(sum, made);
  LLVMInstructionEraseFromParent(sum);
}

static void fuse_products(program *p, LLVMBuilderRef b, LLVMValueRef f) {
  instructions all = instructions_of_function(f);
  bool chooses = false;
  for (size_t i = 0; i < all.count; i++) chooses = chooses || is_sum_of_products(all.items[i]);
  if (chooses) mark_data(p, &all);
  for (size_t i = 0; i < all.count; i++) {
    /* erased ones are products, which come before their sums */
    int which = product_of(p, all.items[i]);
    if (which >= 0) fuse(p, b, all.items[i], (unsigned)which);
  }
  free(all.items);
  if (chooses) remove_marks(p, f);
}

static void contract_function(program *p, LLVMBuilderRef b, LLVMValueRef f) {
  if (has_fused_multiply_add(p)) fuse_products(p, b, f);
  instructions all = instructions_of_function(f);
  for (size_t i = 0; i < all.count; i++)
    if (may_contract(all.items[i], LLVMFAdd) || may_contract(all.items[i], LLVMFSub)) remove_flag(b, all.items[i]);
  free(all.items);
}

void contract(program *p) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    if (!LLVMIsDeclaration(f)) contract_function(p, b, f);
  }
  LLVMDisposeBuilder(b);
}
