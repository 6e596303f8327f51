/* Limits of logarithms by AVX-512's fixupimm instruction.
 *
 * The device headers' logarithms end with the values for infinity, 0 and negative numbers (float_logarithm.h):
 *
 *   y = x < infinity ? y : x;   y = x == 0 ? -infinity : y;   y = x < 0 ? NaN : y
 *
 * That is three comparisons into masks and three blends. fixupimm chooses by x's class from a table: y for finite
 * numbers, x itself for infinity and NaN, and -infinity for 0 of either sign. Negative numbers have their NaN before
 * that, by the sign as a word. The results have the same bits.
 *
 * Vectors of floats only: scalars are compared, and with doubles it gained nothing. */
#include "mwcc/mwcc.h"
#include "mwcc/support/predicates.h"
#include "machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool has_instruction(const program *p) {
  return strstr(p->features, "+avx512f") && strstr(p->features, "+avx512vl");
}

/* ---- finding the limits ---- */

static bool is_splat_of(LLVMValueRef value, double number) {
  LLVMBool loses;
  LLVMValueRef lane = constant_of_lanes(value);
  if (!lane || !LLVMIsAConstantFP(lane)) return false;
  double found = LLVMConstRealGetDouble(lane, &loses);
  return found == number || (isnan(found) && isnan(number));
}

static bool compares(LLVMValueRef value, LLVMRealPredicate predicate, LLVMValueRef x, double number) {
  return LLVMIsAFCmpInst(value) && LLVMGetFCmpPredicate(value) == predicate && LLVMGetOperand(value, 0) == x &&
         is_splat_of(LLVMGetOperand(value, 1), number);
}

/* The select that alone uses the value, as its third operand; NULL: there is none. */
static LLVMValueRef next_select(LLVMValueRef value) {
  LLVMUseRef use = LLVMGetFirstUse(value);
  LLVMValueRef user = use && !LLVMGetNextUse(use) ? LLVMGetUser(use) : NULL;
  return user && LLVMIsASelectInst(user) && LLVMGetOperand(user, 2) == value ? user : NULL;
}

typedef struct limits {
  LLVMValueRef x, y;
  LLVMValueRef nan; /* for negative numbers; NULL: these have y, since LLVM knows that there are none */
  LLVMValueRef last;
} limits;

/* `first` is x < infinity ? y : x, which LLVM also writes as x != infinity (ordered): alike for -infinity, too. */
static bool find_limits(LLVMValueRef first, limits *out) {
  if (!LLVMIsASelectInst(first) || !LLVMIsAFCmpInst(LLVMGetOperand(first, 0))) return false;
  LLVMValueRef condition = LLVMGetOperand(first, 0), x = LLVMGetOperand(condition, 0);
  if (LLVMGetOperand(first, 2) != x) return false;
  if (!compares(condition, LLVMRealONE, x, INFINITY) && !compares(condition, LLVMRealOLT, x, INFINITY)) return false;
  LLVMValueRef zero = next_select(first), negative = zero ? next_select(zero) : NULL;
  if (!zero || !compares(LLVMGetOperand(zero, 0), LLVMRealOEQ, x, 0)) return false;
  if (!is_splat_of(LLVMGetOperand(zero, 1), -INFINITY)) return false;
  *out = (limits){.x = x, .y = LLVMGetOperand(first, 1), .last = zero};
  if (!negative || !compares(LLVMGetOperand(negative, 0), LLVMRealOLT, x, 0)) return true;
  if (is_splat_of(LLVMGetOperand(negative, 1), NAN)) out->nan = LLVMGetOperand(negative, 1), out->last = negative;
  return true;
}

/* ---- instructions ---- */

static LLVMValueRef call_for_lanes(program *p, LLVMBuilderRef b, const char *name, unsigned lanes,
                                   LLVMValueRef *operands, unsigned count) {
  char *full = mw_format("llvm.x86.avx512.%s.%u", name, lanes * 32);
  LLVMValueRef result = call_intrinsic(p, b, full, NULL, 0, operands, count);
  free(full);
  return result;
}

/* x, y */
static LLVMValueRef with_limits(program *p, LLVMBuilderRef b, LLVMValueRef *x_y) {
  /* four bits for each class of x: NaN, signalling NaN, 0, 1, -infinity, infinity, other negative, other positive; and
     what they choose */
  enum { KEEP_Y = 0, TAKE_X = 1, MINUS_INFINITY = 4 };
  enum { TABLE = TAKE_X | TAKE_X << 4 | MINUS_INFINITY << 8 | KEEP_Y << 16 | TAKE_X << 20 };
  unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(x_y[0]));
  LLVMValueRef table = constant_lanes(LLVMVectorType(p->i32, lanes), constant_i32(p, TABLE));
  LLVMValueRef all = LLVMConstAllOnes(lane_mask_type(p, lanes)), current_rounding = constant_i32(p, 4);
  LLVMValueRef operands[] = {x_y[1], x_y[0], table, constant_i32(p, 0), all, current_rounding};
  return call_for_lanes(p, b, "mask.fixupimm.ps", lanes, operands, lanes == 16 ? 6 : 5);
}

/* x, y, NaN: y is NaN where x has a sign. */
static LLVMValueRef with_limits_by_sign(program *p, LLVMBuilderRef b, LLVMValueRef *x_y_nan) {
  enum { FIRST_CHOOSES = 0xca }; /* a bit of the second where the first's is 1, else of the third */
  LLVMTypeRef type = LLVMTypeOf(x_y_nan[0]);
  unsigned lanes = LLVMGetVectorSize(type);
  LLVMTypeRef words = LLVMVectorType(p->i32, lanes);
  LLVMValueRef shift = constant_lanes(words, constant_i32(p, 31));
  LLVMValueRef sign = LLVMBuildAShr(b, LLVMBuildBitCast(b, x_y_nan[0], words, ""), shift, "");
  LLVMValueRef operands[] = {sign, LLVMBuildBitCast(b, x_y_nan[2], words, ""),
                             LLVMBuildBitCast(b, x_y_nan[1], words, ""), constant_i32(p, FIRST_CHOOSES)};
  LLVMValueRef y = call_for_lanes(p, b, "pternlog.d", lanes, operands, 4);
  return with_limits(p, b, (LLVMValueRef[]){x_y_nan[0], LLVMBuildBitCast(b, y, type, "")});
}

static bool is_vector_of_floats(LLVMTypeRef type) {
  return is_vector_type(type) && LLVMGetTypeKind(LLVMGetElementType(type)) == LLVMFloatTypeKind &&
         LLVMGetVectorSize(type) >= 4;
}

void form_fixupimm(program *p) {
  if (!has_instruction(p)) return;
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    instructions list = instructions_of_function(f);
    for (size_t n = 0; n < list.count; n++) {
      limits l;
      if (!is_vector_of_floats(LLVMTypeOf(list.items[n])) || !find_limits(list.items[n], &l)) continue;
      LLVMPositionBuilderBefore(b, l.last);
      LLVMValueRef operands[] = {l.x, l.y, l.nan};
      LLVMReplaceAllUsesWith(l.last, l.nan ? by_registers(p, b, with_limits_by_sign, operands, 3)
                                           : by_registers(p, b, with_limits, operands, 2));
    }
    free(list.items);
  }
  LLVMDisposeBuilder(b);
}
