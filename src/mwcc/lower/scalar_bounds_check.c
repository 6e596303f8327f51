/* Bounds checks in the kernel's own code: the range in which the addresses of an access have to begin, and the check of
 * a single thread's. The runtime is called with an address out of this range, and decides. See bounds_check.c. */
#include "lower.h"
#include "mwcc/support/checked_access.h"

/* Operands of CHECK_ACCESS_FUNCTION. */
enum { OBJECT, ADDRESS, BYTES, SIZE, NAME, FLAGS, PARAM };

static LLVMValueRef worker_field(program *p, LLVMBuilderRef b, LLVMTypeRef type, LLVMValueRef worker, size_t offset) {
  LLVMValueRef at = constant_i64(p, offset);
  return LLVMBuildLoad2(b, type, LLVMBuildInBoundsGEP2(b, p->i8, worker, &at, 1, ""), "");
}

static LLVMValueRef number_of(program *p, LLVMBuilderRef b, LLVMValueRef pointer) {
  return LLVMBuildPtrToInt(b, pointer, p->i64, "");
}

/* `size` bytes hold size - bytes + 1 accesses, or none. */
static LLVMValueRef places_in(program *p, LLVMBuilderRef b, LLVMValueRef size, LLVMValueRef bytes) {
  LLVMValueRef arguments[] = {size, LLVMBuildSub(b, bytes, constant_i64(p, 1), "")};
  return call_intrinsic(p, b, "llvm.usub.sat", &p->i64, 1, arguments, 2);
}

/* Where threads are followed, every access is a call, in bounds or not. */
static bool is_always_reported(LLVMValueRef call) {
  return LLVMConstIntGetZExtValue(LLVMGetOperand(call, FLAGS)) & (MW_ACCESS_WATCHED | MW_ACCESS_UNBOUND);
}

bool find_check_range(program *p, LLVMBuilderRef b, LLVMValueRef call, LLVMValueRef object, LLVMValueRef bytes,
                      LLVMValueRef worker, check_range *out) {
  uint64_t size = LLVMConstIntGetZExtValue(LLVMGetOperand(call, SIZE)),
           number = LLVMConstIntGetZExtValue(LLVMGetOperand(call, PARAM));
  if (is_always_reported(call)) return false;
  if (size == MW_OBJECT_ALLOCATION) {
    if (!number) return false;
    LLVMValueRef bounds = load_invariant(p, b, p->pointer, worker, offsetof(mw_worker, bounds));
    size_t at = (number - 1) * sizeof(mw_bounds);
    out->base = load_invariant(p, b, p->i64, bounds, at + offsetof(mw_bounds, base));
    out->places = places_in(p, b, load_invariant(p, b, p->i64, bounds, at + offsetof(mw_bounds, size)), bytes);
    return true;
  }
  out->base = number_of(p, b, object);
  LLVMValueRef whole = constant_i64(p, size);
  if (size == MW_OBJECT_SHARED) {
    LLVMValueRef begin = worker_field(p, b, p->pointer, worker, offsetof(mw_worker, shared));
    LLVMValueRef count = worker_field(p, b, p->i32, worker, offsetof(mw_worker, shared_bytes));
    LLVMValueRef end = LLVMBuildAdd(b, number_of(p, b, begin), LLVMBuildZExt(b, count, p->i64, ""), "");
    whole = LLVMBuildSub(b, end, out->base, "");
  }
  out->places = places_in(p, b, whole, bytes);
  return true;
}

uint64_t alignment_checked(LLVMValueRef call) {
  return (uint64_t)1 << (LLVMConstIntGetZExtValue(LLVMGetOperand(call, FLAGS)) >> MW_ACCESS_ALIGN_SHIFT);
}

LLVMValueRef is_out_of_range(LLVMBuilderRef b, const check_range *where, LLVMValueRef number, LLVMValueRef low_bits) {
  LLVMValueRef far = LLVMBuildSub(b, number, where->base, "");
  LLVMValueRef out = LLVMBuildICmp(b, LLVMIntUGE, far, where->places, "");
  if (LLVMIsNull(low_bits)) return out;
  LLVMValueRef low = LLVMBuildAnd(b, number, low_bits, "");
  return LLVMBuildOr(b, out, LLVMBuildICmp(b, LLVMIntNE, low, LLVMConstNull(LLVMTypeOf(low)), ""), "");
}

LLVMBasicBlockRef begin_failed_check(program *p, LLVMBuilderRef b, LLVMValueRef call, LLVMValueRef worker) {
  check_range where;
  LLVMPositionBuilderBefore(b, call);
  if (!find_check_range(p, b, call, LLVMGetOperand(call, OBJECT), LLVMGetOperand(call, BYTES), worker, &where))
    return NULL;
  LLVMValueRef number = number_of(p, b, LLVMGetOperand(call, ADDRESS));
  LLVMValueRef out = is_out_of_range(b, &where, number, constant_i64(p, alignment_checked(call) - 1));
  return begin_cold(p, b, call, out);
}

LLVMBasicBlockRef begin_cold(program *p, LLVMBuilderRef b, LLVMValueRef call, LLVMValueRef condition) {
  LLVMBasicBlockRef rest = LLVMGetInstructionParent(call), head = split_block(p, call);
  LLVMBasicBlockRef cold = LLVMInsertBasicBlockInContext(p->context, rest, "cold");
  LLVMPositionBuilderAtEnd(b, head);
  build_likely(p, b, LLVMBuildNot(b, condition, ""), rest, cold);
  LLVMPositionBuilderAtEnd(b, cold);
  return rest;
}

LLVMValueRef shadow_distance(program *p, LLVMBuilderRef b, LLVMValueRef worker) {
  return load_invariant(p, b, p->i64, worker, offsetof(mw_worker, shadow));
}

/* If threads are followed, the runtime resets the block's shared memory itself. */
void report_block(program *p, LLVMBuilderRef b, LLVMValueRef frame, LLVMValueRef worker, const kernel *k) {
  bool has_shared = k->shared_bytes || k->dynamic_shared;
  if (!(p->options->checks & MW_CHECK_INITIALISATION) || p->follows || !has_shared) return;
  LLVMTypeRef params[] = {p->pointer, p->i32, p->i64};
  LLVMValueRef arguments[] = {worker, constant_i32(p, MW_CHECK_BLOCK), constant_i64(p, 0)};
  call_service(p, b, frame, offsetof(mw_services, check_event), LLVMFunctionType(p->void_type, params, 3, 0), arguments,
               3);
}
