/* Checks of a gang's accesses (bounds_check.c): its addresses are compared with the range in which they may lie, those
   of regular accesses by their first and last lane. Only lanes that are out of bounds then call the runtime, one by
   one. */
#include "mwcc/widen/widen.h"
#include "mwcc/lower/lower.h"
#include "mwcc/target/target.h"
#include "mwcc/support/checked_access.h"

#include <string.h>

/* Operands of CHECK_ACCESS_FUNCTION. */
enum { OBJECT, ADDRESS, BYTES };

static LLVMValueRef number_of(widener *w, LLVMValueRef pointer) {
  bool lanes = LLVMGetTypeKind(LLVMTypeOf(pointer)) == LLVMVectorTypeKind;
  return LLVMBuildPtrToInt(w->b, pointer, lanes ? vector_type(w, w->p->i64) : w->p->i64, "");
}

static LLVMValueRef sum(widener *w, LLVMValueRef number, int64_t distance) {
  return distance ? LLVMBuildAdd(w->b, number, constant_i64(w->p, (uint64_t)distance), "") : number;
}

static LLVMValueRef either(widener *w, LLVMValueRef a, LLVMValueRef b) { return a ? LLVMBuildOr(w->b, a, b, "") : b; }

/* Whether an end of a run of lanes is out of bounds; if neither is, all of its lanes are in bounds. */
static LLVMValueRef run_leaves(widener *w, const check_range *where, LLVMValueRef first, int64_t distance,
                               LLVMValueRef low_bits) {
  LLVMValueRef number = number_of(w, first), leaves = is_out_of_range(w->b, where, number, low_bits);
  if (!distance) return leaves;
  /* the last lane's address is as aligned as the first one's, if strides are */
  LLVMValueRef none = LLVMConstNull(LLVMTypeOf(low_bits));
  return LLVMBuildOr(w->b, leaves, is_out_of_range(w->b, where, sum(w, number, distance), none), "");
}

/* Whether any lane of the gang, active or not, may be out of bounds, by the ends of its runs of lanes; NULL: its
   addresses form no runs. */
static LLVMValueRef runs_leave(widener *w, LLVMValueRef address, const check_range *where, uint64_t align) {
  if (is_varying(w, address)) return NULL;
  shape s = shape_of(w->shapes, address);
  bool uniform = is_uniform(w, address);
  int64_t stride = uniform ? 0 : s.stride;
  if (stride % (int64_t)align) return NULL;
  LLVMValueRef low_bits = constant_i64(w->p, align - 1), leaves = NULL;
  if (uniform || (is_affine(w, address) && s.step == s.stride * w->width))
    return run_leaves(w, where, value_scalar(w, address), stride * (w->width * w->vectors - 1), low_bits);
  for (int u = 0; u < w->vectors; u++)
    leaves = either(w, leaves, run_leaves(w, where, vector_scalar(w, address, u), stride * (w->width - 1), low_bits));
  return leaves;
}

/* The active lanes that are out of bounds. `object`: where each lane's own array begins, or NULL. */
static vectors lanes_out(widener *w, LLVMValueRef address, LLVMValueRef object, const check_range *where,
                         uint64_t align, mask m) {
  vectors out = {0};
  check_range wide = {splat(w, where->base), splat(w, where->places)};
  LLVMValueRef low_bits = splat(w, constant_i64(w->p, align - 1));
  if (align == 1) low_bits = LLVMConstNull(vector_type(w, w->p->i64));
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef lanes = number_of(w, value_vector(w, address, u));
    if (object) wide.base = number_of(w, value_vector(w, object, u));
    if (!m.all) lanes = LLVMBuildFreeze(w->b, lanes, "");
    out.of[u] = is_out_of_range(w->b, &wide, lanes, low_bits);
    if (!m.all) out.of[u] = LLVMBuildAnd(w->b, out.of[u], m.lanes.of[u], "");
  }
  return out;
}

static LLVMBasicBlockRef begin_block(widener *w, const char *name) {
  return LLVMAppendBasicBlockInContext(w->p->context, w->function, name);
}

/* Branch to the cold block if the condition is true. */
static void branch_if(widener *w, LLVMValueRef condition, LLVMBasicBlockRef cold, LLVMBasicBlockRef rest) {
  build_likely(w->p, w->b, LLVMBuildNot(w->b, condition, ""), rest, cold);
  LLVMPositionBuilderAtEnd(w->b, cold);
}

static bool call_failed(widener *w, LLVMValueRef call, mask failed, LLVMBasicBlockRef out, LLVMBasicBlockRef rest) {
  branch_if(w, any_lane(w, failed.lanes), out, rest);
  bool made = widen_call_by_lanes(w, call, failed);
  LLVMBuildBr(w->b, rest);
  LLVMPositionBuilderAtEnd(w->b, rest);
  return made;
}

/* An event of the lanes for which a condition is true. */
static bool widen_event_if(widener *w, LLVMValueRef call, mask m) {
  mask failed = {.all = false};
  for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) value_form(w, LLVMGetOperand(call, i));
  (void)serial_thread(w);
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef lanes = value_vector(w, LLVMGetOperand(call, 2), u);
    if (!m.all) lanes = LLVMBuildAnd(w->b, LLVMBuildFreeze(w->b, lanes, ""), m.lanes.of[u], "");
    failed.lanes.of[u] = lanes;
  }
  return call_failed(w, call, failed, begin_block(w, "event"), begin_block(w, "no.event"));
}

bool widen_check(widener *w, LLVMValueRef call, mask m) {
  if (strcmp(callee_name(call), CHECK_EVENT_IF) == 0) return widen_event_if(w, call, m);
  if (strcmp(callee_name(call), SHADOW_DISTANCE) == 0) {
    set_scalar(w, call, shadow_distance(w->p, w->b, w->worker));
    return true;
  }
  if (strcmp(callee_name(call), CHECK_ACCESS_FUNCTION) != 0) return false;
  LLVMValueRef object = LLVMGetOperand(call, OBJECT), address = LLVMGetOperand(call, ADDRESS),
               bytes = LLVMGetOperand(call, BYTES);
  check_range where;
  /* not first in the cold block, which does not dominate the code after it */
  for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) value_form(w, LLVMGetOperand(call, i));
  (void)serial_thread(w);
  bool common = is_uniform(w, object); /* and not an array of each lane's own */
  bool decides = is_uniform(w, bytes) && find_check_range(w->p, w->b, call, vector_scalar(w, object, 0),
                                                          value_scalar(w, bytes), w->worker, &where);
  if (!decides && notes_accesses(w->p->options)) refuse(w, call, "an access is not to one array");
  if (!decides) return widen_call_by_lanes(w, call, m);
  uint64_t align = alignment_checked(call);
  LLVMValueRef leaves = common ? runs_leave(w, address, &where, align) : NULL;
  LLVMBasicBlockRef cold = begin_block(w, "check.lanes"), out = begin_block(w, "check.out"),
                    rest = begin_block(w, "checked");
  if (leaves) branch_if(w, leaves, cold, rest);
  mask failed = {.lanes = lanes_out(w, address, common ? NULL : object, &where, align, m)};
  if (!leaves) LLVMDeleteBasicBlock(cold);
  if (!call_failed(w, call, failed, out, rest)) return false;
  screen_access(w, call, m);
  return true;
}
