/* How lanes can reach memory: atomics that are done once for all of them, rows, waits that are barriers. */
#include "access_predicates.h"
#include "access_pattern.h"
#include "mwcc/analysis/analysis.h"
#include "mwcc/support/predicates.h"

enum { FEWEST_LANES = 4 };

bool is_unlocked(LLVMValueRef atomic) { return memory_of(LLVMGetOperand(atomic, 0)) == MEMORY_SHARED; }

bool is_short_atomic(LLVMValueRef atomic) {
  return LLVMIsAAtomicRMWInst(atomic) && is_unlocked(atomic) && !LLVMGetFirstUse(atomic);
}

static const reduction reductions[] = {
    {LLVMAtomicRMWBinOpAdd, "llvm.vector.reduce.add", ZERO},
    {LLVMAtomicRMWBinOpSub, "llvm.vector.reduce.add", ZERO},
    {LLVMAtomicRMWBinOpOr, "llvm.vector.reduce.or", ZERO},
    {LLVMAtomicRMWBinOpXor, "llvm.vector.reduce.xor", ZERO},
    {LLVMAtomicRMWBinOpAnd, "llvm.vector.reduce.and", ONES},
    {LLVMAtomicRMWBinOpMax, "llvm.vector.reduce.smax", LEAST},
    {LLVMAtomicRMWBinOpMin, "llvm.vector.reduce.smin", MOST},
    {LLVMAtomicRMWBinOpUMax, "llvm.vector.reduce.umax", ZERO},
    {LLVMAtomicRMWBinOpUMin, "llvm.vector.reduce.umin", ONES},
};

const reduction *find_reduction(LLVMValueRef atomic) {
  for (size_t i = 0; i < MW_COUNT(reductions); i++)
    if (reductions[i].op == LLVMGetAtomicRMWBinOp(atomic)) return &reductions[i];
  return NULL;
}

bool is_sum_atomic(LLVMValueRef atomic) {
  LLVMAtomicRMWBinOp op = LLVMGetAtomicRMWBinOp(atomic);
  return op == LLVMAtomicRMWBinOpAdd || op == LLVMAtomicRMWBinOpSub;
}

bool is_joint_atomic(const shapes *s, LLVMValueRef atomic) {
  if (!LLVMIsAAtomicRMWInst(atomic) || shape_of(s, LLVMGetOperand(atomic, 0)).kind > SHAPE_GANG) return false;
  return LLVMGetFirstUse(atomic) ? is_sum_atomic(atomic) : find_reduction(atomic) != NULL;
}

const char *describe_atomic(const shapes *s, LLVMValueRef atomic) {
  if (is_joint_atomic(s, atomic)) return "joint atomic of all lanes";
  return is_unlocked(atomic) ? "serialised atomic, without a lock" : "serialised atomic";
}

bool reaches_rows(const shapes *s, LLVMValueRef address, uint64_t bytes) {
  shape a = shape_of(s, address);
  int lanes = s->cut.lanes, count = s->cut.vectors;
  if (!has_pass(s->graph->program, PASS_TRANSPOSED)) return false;
  if (a.kind != SHAPE_AFFINE || count < 2 || count & (count - 1) || count > lanes || lanes < FEWEST_LANES) return false;
  int64_t row = (int64_t)bytes * count; /* rows must not overlap */
  return a.step == (int64_t)bytes && (a.stride >= row || a.stride <= -row);
}

const char *block_wait_objection(const shapes *s, LLVMValueRef wait) {
  LLVMValueRef phase = LLVMGetOperand(wait, 0);
  if (memory_of(phase) != MEMORY_SHARED) return "a wait for a cuda::barrier outside of shared memory";
  if (shape_of(s, phase).kind > SHAPE_RACED) return "a wait for a cuda::barrier that differs between threads";
  return NULL;
}

/* Whether the value is computed from threadIdx and constants. */
static bool depends_on_thread_alone(LLVMValueRef value, int depth) {
  if (!LLVMIsAInstruction(value)) return LLVMIsAConstant(value) != NULL;
  if (LLVMIsACallInst(value)) return starts_with(callee_name(value), "llvm.nvvm.read.ptx.sreg.tid.");
  bool simple = is_integer_operation(value) || LLVMIsAGetElementPtrInst(value) || LLVMIsAAddrSpaceCastInst(value);
  for (int i = 0; simple && i < LLVMGetNumOperands(value); i++)
    simple = depth > 0 && depends_on_thread_alone(LLVMGetOperand(value, (unsigned)i), depth - 1);
  return simple;
}

bool has_constant_places(const graph *g, const order *o, LLVMValueRef address, int n) {
  enum { DEPTH = 8 };
  return has_pass(g->program, PASS_LANE_FORWARDING) && o->innermost[n] < 0 && memory_of(address) == MEMORY_SHARED &&
         depends_on_thread_alone(address, DEPTH);
}

bool gathers_lanes(const shapes *s, LLVMValueRef access) {
  selected_address places;
  LLVMValueRef address = LLVMGetOperand(access, LLVMIsALoadInst(access) ? 0 : 1);
  return shape_of(s, address).kind == SHAPE_VARYING && !follows_pattern(s, access) && !is_member_of_record(s, access) &&
         !selects_places(s, access, &places);
}

bool follows_unless_wrapped(const shapes *s, LLVMValueRef access) {
  LLVMValueRef address = LLVMGetOperand(access, LLVMIsALoadInst(access) ? 0 : 1);
  LLVMTypeRef type = LLVMTypeOf(LLVMIsALoadInst(access) ? access : LLVMGetOperand(access, 0));
  LLVMTargetDataRef layout = s->graph->program->layout;
  if (!LLVMIsAGetElementPtrInst(address) || LLVMGetNumOperands(address) != 2) return false;
  LLVMValueRef index = LLVMGetOperand(address, 1);
  if (!LLVMIsASExtInst(index) && !LLVMIsAZExtInst(index)) return false;
  shape narrow = shape_of(s, LLVMGetOperand(index, 0));
  return (narrow.kind == SHAPE_AFFINE || narrow.kind == SHAPE_VECTOR_AFFINE) && narrow.stride == 1 &&
         is_uniform_kind(shape_of(s, LLVMGetOperand(address, 0)).kind) &&
         LLVMABISizeOfType(layout, LLVMGetGEPSourceElementType(address)) == LLVMABISizeOfType(layout, type);
}
