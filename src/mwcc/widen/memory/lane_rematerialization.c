/* Rematerialisation for serialised lanes: numbers that each lane recomputes where it needs them. See
 * lane_serialization.c.
 *
 * A value that is affine over the gang is lane 0's plus a multiple of the lane. An index such as `x[i] & 255` would
 * be computed for all lanes at once, stored, and read back by each lane. If nothing else uses it, it is cheaper for
 * each lane to read x[i] itself: the line is in the cache anyway, and no lane waits for the others' store to be
 * forwarded. */
#include "mwcc/widen/widen.h"
#include "mwcc/support/predicates.h"

enum { DEPTH = 4 };

/* The address has to derive from a kernel's parameter, which does not point to shared memory. */
static bool is_of_parameter(LLVMValueRef address) { return LLVMIsAArgument(root_of(address)) != NULL; }

static bool may_write(LLVMValueRef i) {
  return LLVMIsAStoreInst(i) || LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i) || LLVMIsAFenceInst(i) ||
         (LLVMIsACallInst(i) && !starts_with(callee_name(i), "llvm.nvvm.read.ptx.sreg."));
}

/* Whether each lane of the gang, not only of a vector, has lane 0's value plus a multiple of its number. */
static bool is_affine_over_gang(const widener *w, LLVMValueRef value) {
  if (!LLVMIsAInstruction(value) || !is_affine(w, value)) return false;
  shape s = shape_of(w->shapes, value);
  return w->vectors == 1 || s.step == s.stride * w->width;
}

/* Whether the lanes read elements that are contiguous over the gang, and nothing is written until `by`. */
static bool is_rematerialized_load(const widener *w, LLVMValueRef load, LLVMValueRef by) {
  LLVMValueRef address = LLVMGetOperand(load, 0);
  int64_t bytes = (int64_t)LLVMABISizeOfType(w->p->layout, LLVMTypeOf(load));
  if (!is_plain_access(load)) return false;
  if (!is_affine_over_gang(w, address) || shape_of(w->shapes, address).stride != bytes || !is_of_parameter(address))
    return false;
  for (LLVMValueRef i = load; i != by; i = LLVMGetNextInstruction(i))
    if (!i || may_write(i)) return false;
  return true;
}

static bool can_recompute(const widener *w, LLVMValueRef value, LLVMValueRef by, int depth) {
  if (is_uniform(w, value) || is_affine_over_gang(w, value)) return true;
  if (depth == 0 || !LLVMIsAInstruction(value) || graph_node_of(w->g, value) != graph_node_of(w->g, by)) return false;
  if (LLVMIsALoadInst(value)) return is_rematerialized_load(w, value, by);
  if (!is_integer_operation(value)) return false;
  for (int n = 0; n < LLVMGetNumOperands(value); n++)
    if (!can_recompute(w, LLVMGetOperand(value, (unsigned)n), by, depth - 1)) return false;
  return true;
}

bool is_rematerialized(const widener *w, LLVMValueRef value, LLVMValueRef by, bool all) {
  if (is_affine_over_gang(w, value)) return true;
  bool made = all && LLVMIsAInstruction(value) && is_varying(w, value) && !LLVMIsAPHINode(value);
  return made && LLVMGetInstructionParent(value) == LLVMGetInstructionParent(by) && can_recompute(w, value, by, DEPTH);
}

void begin_rematerialization(widener *w, LLVMValueRef value) {
  if (!is_varying(w, value)) {
    value_form(w, value);
    return;
  }
  for (int n = 0; n < LLVMGetNumOperands(value); n++) begin_rematerialization(w, LLVMGetOperand(value, (unsigned)n));
}

static LLVMValueRef counted(widener *w, LLVMValueRef value, LLVMValueRef lane) {
  LLVMTypeRef type = LLVMTypeOf(value);
  bool address = LLVMGetTypeKind(type) == LLVMPointerTypeKind;
  LLVMTypeRef number = address ? w->p->i64 : type;
  LLVMValueRef stride = LLVMConstInt(number, (uint64_t)shape_of(w->shapes, value).stride, 1);
  LLVMValueRef distance = LLVMBuildMul(w->b, LLVMBuildIntCast2(w->b, lane, number, 0, ""), stride, "");
  if (address) return LLVMBuildGEP2(w->b, w->p->i8, value_scalar(w, value), &distance, 1, "");
  return LLVMBuildAdd(w->b, value_scalar(w, value), distance, "");
}

LLVMValueRef rematerialize(widener *w, LLVMValueRef value, LLVMValueRef lane) {
  enum { MOST = 2 };
  LLVMValueRef operands[MOST];
  if (is_uniform(w, value)) return value_scalar(w, value);
  if (is_affine_over_gang(w, value)) return counted(w, value, lane);
  if (LLVMIsALoadInst(value)) {
    LLVMValueRef address = counted(w, LLVMGetOperand(value, 0), lane);
    prefetch_by_lanes(w, value, address);
    LLVMValueRef made = LLVMBuildLoad2(w->b, LLVMTypeOf(value), address, "");
    LLVMSetAlignment(made, LLVMGetAlignment(value));
    return made;
  }
  int count = LLVMGetNumOperands(value);
  for (int n = 0; n < count; n++) operands[n] = rematerialize(w, LLVMGetOperand(value, (unsigned)n), lane);
  LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
  if (count == 1) return LLVMBuildCast(w->b, opcode, operands[0], LLVMTypeOf(value), "");
  return LLVMBuildBinOp(w->b, opcode, operands[0], operands[1], "");
}
