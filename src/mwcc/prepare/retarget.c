/* Retargeting: from the device target to the host's.
 *
 * Both lay out structs alike (CUDA requires it), so the module is changed in place: triple, data layout, attributes.
 * Operations that CUDA defines and LLVM leaves undefined are expanded here: division by zero, conversion of numbers out
 * of range, shifts by the width or more. After this pass no such instruction has undefined behaviour. */
#include "mwcc/mwcc.h"
#include "mwcc/support/predicates.h"
#include "prepare.h"

#include <stdlib.h>
#include <string.h>

static LLVMTypeRef scalar_type(LLVMTypeRef type) { return is_vector_type(type) ? LLVMGetElementType(type) : type; }

/* The constant `value` of an integer type, in every lane of a vector type. */
static LLVMValueRef constant_like(LLVMTypeRef type, uint64_t value) {
  if (!is_vector_type(type)) return LLVMConstInt(type, value, 0);
  unsigned lanes = LLVMGetVectorSize(type);
  LLVMValueRef *items = mw_alloc(lanes * sizeof *items);
  for (unsigned i = 0; i < lanes; i++) items[i] = LLVMConstInt(LLVMGetElementType(type), value, 0);
  LLVMValueRef vector = LLVMConstVector(items, lanes);
  free(items);
  return vector;
}

/* The GPU's division is a routine, not an instruction. Division by 0 gives all ones, as quotient and as remainder,
   signed and unsigned. In 64 bits it takes a 32-bit path if the dividend's upper half is 0, and then gives 32 ones
   (measured on an H100). INT_MIN / -1 wraps. Operands are replaced if the host's instruction would trap. */
static LLVMValueRef divided_by_zero(LLVMBuilderRef b, LLVMValueRef dividend) {
  LLVMTypeRef type = LLVMTypeOf(dividend);
  if (LLVMGetIntTypeWidth(scalar_type(type)) != 64) return LLVMConstAllOnes(type);
  LLVMValueRef low_half = constant_like(type, 0xffffffffu);
  LLVMValueRef is_short = LLVMBuildICmp(b, LLVMIntULE, dividend, low_half, "");
  return LLVMBuildSelect(b, is_short, low_half, LLVMConstAllOnes(type), "");
}

/* Only the divisor is replaced, by a value that depends on it alone, so that a uniform divisor stays uniform. Division
   by -1 becomes a negation. */
static void define_division(LLVMBuilderRef b, LLVMValueRef i) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
  LLVMValueRef dividend = LLVMGetOperand(i, 0), divisor = LLVMGetOperand(i, 1);
  LLVMTypeRef type = LLVMTypeOf(i);
  bool is_signed = opcode == LLVMSDiv || opcode == LLVMSRem;
  if (LLVMIsAConstantInt(divisor) && !LLVMIsNull(divisor) && (!is_signed || LLVMConstIntGetSExtValue(divisor) != -1))
    return;
  LLVMPositionBuilderBefore(b, i);
  divisor = LLVMBuildFreeze(b, divisor, "");
  dividend = LLVMBuildFreeze(b, dividend, "");
  LLVMValueRef zero = LLVMBuildICmp(b, LLVMIntEQ, divisor, LLVMConstNull(type), "by.zero"), minus_one = NULL;
  LLVMValueRef unsafe = zero;
  if (is_signed) {
    minus_one = LLVMBuildICmp(b, LLVMIntEQ, divisor, LLVMConstAllOnes(type), "");
    unsafe = LLVMBuildOr(b, zero, minus_one, "");
  }
  LLVMValueRef safe = LLVMBuildSelect(b, unsafe, constant_like(type, 1), divisor, "");
  LLVMValueRef result = LLVMBuildBinOp(b, opcode, dividend, safe, "");
  if (opcode == LLVMSDiv) result = LLVMBuildSelect(b, minus_one, LLVMBuildNeg(b, result, ""), result, "");
  result = LLVMBuildSelect(b, zero, divided_by_zero(b, dividend), result, "");
  LLVMReplaceAllUsesWith(i, result);
  LLVMInstructionEraseFromParent(i);
}

/* Shifts by the width or more give 0, or the sign. (PTX ISA, shl and shr: amounts above the width are clamped) */
static void define_shift(LLVMBuilderRef b, LLVMValueRef i) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
  LLVMValueRef value = LLVMGetOperand(i, 0), amount = LLVMGetOperand(i, 1);
  LLVMTypeRef type = LLVMTypeOf(i);
  unsigned width = LLVMGetIntTypeWidth(scalar_type(type));
  if (LLVMIsAConstantInt(amount) && LLVMConstIntGetZExtValue(amount) < width) return;
  LLVMPositionBuilderBefore(b, i);
  LLVMValueRef over = LLVMBuildICmp(b, LLVMIntUGE, amount, constant_like(type, width), "");
  LLVMValueRef result;
  if (opcode == LLVMAShr) {
    LLVMValueRef clamped = LLVMBuildSelect(b, over, constant_like(type, width - 1), amount, "");
    result = LLVMBuildAShr(b, value, clamped, "");
  } else {
    LLVMValueRef clamped = LLVMBuildSelect(b, over, LLVMConstNull(type), amount, "");
    result = LLVMBuildBinOp(b, opcode, value, clamped, "");
    result = LLVMBuildSelect(b, over, LLVMConstNull(type), result, "");
  }
  LLVMReplaceAllUsesWith(i, result);
  LLVMInstructionEraseFromParent(i);
}

/* Numbers out of range saturate (PTX ISA, cvt: integer results are clamped). NaN becomes 0 from float to 32 bits and
   the sign bit alone in all other cases (measured on an H100). Narrow types are converted through 32 bits and
   truncated, as nvcc does. LLVM's saturating intrinsics would be scalarised, since no vector instructions exist for
   them; this expansion is not. */
static void define_conversion(program *p, LLVMBuilderRef b, LLVMValueRef i) {
  LLVMValueRef value = LLVMGetOperand(i, 0);
  LLVMTypeRef type = LLVMTypeOf(i), from = LLVMTypeOf(value);
  if (is_vector_type(type)) return;
  bool is_signed = LLVMGetInstructionOpcode(i) == LLVMFPToSI;
  LLVMTypeRef wide = LLVMGetIntTypeWidth(type) < 32 ? p->i32 : type;
  unsigned width = LLVMGetIntTypeWidth(wide), bits = is_signed ? width - 1 : width;
  LLVMPositionBuilderBefore(b, i);
  value = LLVMBuildFreeze(b, value, "");
  LLVMValueRef zero = LLVMConstNull(from),
               end = LLVMConstReal(from, bits == 64 ? 0x1p64 : (double)((uint64_t)1 << bits));
  LLVMValueRef size = is_signed ? call_intrinsic(p, b, "llvm.fabs", &from, 1, &value, 1) : value;
  LLVMValueRef fits = LLVMBuildFCmp(b, LLVMRealOLT, size, end, "");
  LLVMValueRef negative = LLVMBuildFCmp(b, LLVMRealOLT, value, zero, "");
  if (!is_signed) fits = LLVMBuildSelect(b, negative, LLVMConstNull(p->i1), fits, "");
  LLVMValueRef safe = LLVMBuildSelect(b, fits, value, zero, "");
  LLVMValueRef result = LLVMBuildCast(b, is_signed ? LLVMFPToSI : LLVMFPToUI, safe, wide, "");
  LLVMValueRef most = LLVMConstInt(wide, ~(uint64_t)0 >> (64 - bits), 0);
  LLVMValueRef least = is_signed ? LLVMConstInt(wide, (uint64_t)1 << bits, 0) : LLVMConstNull(wide);
  LLVMValueRef beyond = LLVMBuildSelect(b, negative, least, most, "");
  result = LLVMBuildSelect(b, fits, result, beyond, "");
  bool to_zero = width == 32 && LLVMGetTypeKind(from) == LLVMFloatTypeKind;
  LLVMValueRef nothing = LLVMConstInt(wide, to_zero ? 0 : (uint64_t)1 << (width - 1), 0);
  result = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealUNO, value, value, ""), nothing, result, "");
  if (wide != type) result = LLVMBuildTrunc(b, result, type, "");
  LLVMReplaceAllUsesWith(i, result);
  LLVMInstructionEraseFromParent(i);
}

static void define_results(program *p, LLVMValueRef function) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  instructions list = instructions_of_function(function);
  for (size_t n = 0; n < list.count; n++) {
    LLVMValueRef i = list.items[n];
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMSDiv:
    case LLVMUDiv:
    case LLVMSRem:
    case LLVMURem: define_division(b, i); break;
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr: define_shift(b, i); break;
    case LLVMFPToSI:
    case LLVMFPToUI: define_conversion(p, b, i); break;
    default: break;
    }
  }
  free(list.items);
  LLVMDisposeBuilder(b);
}

static void retarget_function(program *p, LLVMValueRef f) {
  if (LLVMGetIntrinsicID(f)) return;
  LLVMSetFunctionCallConv(f, LLVMCCallConv);
  if (LLVMIsDeclaration(f)) return;
  LLVMSetLinkage(f, LLVMInternalLinkage);
  LLVMSetVisibility(f, LLVMDefaultVisibility);
  /* A kernel may loop forever without side effects, or dereference a null pointer: both must happen as written, so that
     the runtime can report them. Functions that read no memory will read the thread's state, which is memory. */
  remove_attribute(f, "mustprogress");
  remove_attribute(f, "willreturn");
  remove_attribute(f, "memory");
  add_attribute(p, f, "null_pointer_is_valid");
  define_results(p, f);
}

/* A vtable names these in place of pure virtual and deleted functions; only calling them is an error. On a host the C++
   library defines them. */
void define_pure_virtual(program *p) {
  static const char *const names[] = {"__cxa_pure_virtual", "__cxa_deleted_virtual"};
  for (size_t i = 0; i < MW_COUNT(names); i++) {
    LLVMValueRef f = LLVMGetNamedFunction(p->module, names[i]);
    if (!f || !LLVMIsDeclaration(f)) continue;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(p->context, f, "entry"));
    call_intrinsic(p, b, "llvm.trap", NULL, 0, NULL, 0);
    LLVMBuildUnreachable(b);
    LLVMDisposeBuilder(b);
  }
}

void retarget(program *p) {
  LLVMSetTarget(p->module, p->triple);
  LLVMSetModuleDataLayout(p->module, p->layout);
  define_pure_virtual(p);
  EACH_FUNCTION(p, f) retarget_function(p, f);
  verify_module(p, "retargeting");
}
