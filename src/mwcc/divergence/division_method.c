#include "division_method.h"
#include "mwcc/support/predicates.h"

bool is_division(LLVMValueRef i) {
  LLVMOpcode opcode = LLVMIsAInstruction(i) ? LLVMGetInstructionOpcode(i) : (LLVMOpcode)0;
  return opcode == LLVMUDiv || opcode == LLVMSDiv || opcode == LLVMURem || opcode == LLVMSRem;
}

static bool lies_within(range r, unsigned bits) { return r.low > -((int64_t)1 << bits) && r.high < (int64_t)1 << bits; }

division_method division_of(const shapes *s, LLVMValueRef i) {
  LLVMValueRef divisor = LLVMGetOperand(i, 1);
  if (!has_pass(s->graph->program, PASS_VECTOR_DIVISION) || LLVMIsAConstant(divisor)) return DIVISION_PLAIN;
  if (LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMIntegerTypeKind) return DIVISION_PLAIN;
  unsigned width = LLVMGetIntTypeWidth(LLVMTypeOf(i));
  if (width < 8 || width > 64 || (width > 32 && width != 64)) return DIVISION_PLAIN;
  range a = range_where_used(s, i, 0), b = range_where_used(s, i, 1);
  bool is_signed = LLVMGetInstructionOpcode(i) == LLVMSDiv || LLVMGetInstructionOpcode(i) == LLVMSRem;
  bool small = lies_within(a, DIVISION_FLOAT_BITS) && lies_within(b, DIVISION_FLOAT_BITS);
  if (width <= DIVISION_FLOAT_BITS || (width <= 32 && small && (is_signed || (a.low >= 0 && b.low >= 0))))
    return DIVISION_FLOAT;
  if (width <= 32) return DIVISION_DOUBLE;
  if (!is_uniform_kind(shape_of(s, divisor).kind)) return DIVISION_PLAIN;
  return lies_within(a, DIVISION_LONG_BITS) && (is_signed || a.low >= 0) ? DIVISION_SHORT : DIVISION_LONG;
}

const char *describe_division(const shapes *s, LLVMValueRef i) {
  if (!is_division(i) || LLVMIsAConstant(LLVMGetOperand(i, 1)) || shape_of(s, i).kind != SHAPE_VARYING) return NULL;
  bool common = is_uniform_kind(shape_of(s, LLVMGetOperand(i, 1)).kind);
  switch (division_of(s, i)) {
  case DIVISION_PLAIN: return "division lane by lane";
  case DIVISION_FLOAT: return common ? "division by a reciprocal, in floats" : "division in floats";
  case DIVISION_DOUBLE: return common ? "division by a reciprocal, in doubles" : "division in doubles";
  case DIVISION_SHORT: return "division by a reciprocal, in doubles";
  default: return "division by a reciprocal, in doubles if its lanes are below 2^48, else by 128-bit products";
  }
}
