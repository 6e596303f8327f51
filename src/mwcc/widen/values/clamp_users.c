/* The lanes that use a clamped index: `if (x >= 1) … tile[max(x - 1, first)]` clamps lane 0 alone, which does not read.
 *
 * A clamp may be replaced by the number that it clamps where no lane that uses it is clamped. What the other lanes have
 * then is arbitrary, as they have no active access and no active lane depends on them. Arithmetic and addresses
 * pass a value on; every other use counts, in the lanes that are active in its node. The interval of the number there
 * follows from the branches that dominate the node (value_range.h). */
#include "mwcc/support/predicates.h"
#include "mwcc/widen/values/shape_test.h"

#include <stdlib.h>

enum { DEPTH = 6, MOST = 64 };

typedef struct users {
  const shapes *s;
  LLVMValueRef number;
  range found;
  int visited;
} users;

/* As a number plus a constant: branches compare the number. */
static range range_there(const shapes *s, LLVMValueRef number, int at) {
  range here = range_in_node(s, number, at);
  if (!LLVMIsAInstruction(number) || LLVMGetInstructionOpcode(number) != LLVMAdd || !LLVMGetNSW(number)) return here;
  LLVMValueRef step = LLVMGetOperand(number, 1);
  if (!LLVMIsAConstantInt(step) || llabs(LLVMConstIntGetSExtValue(step)) >= LONG_STEP) return here;
  int64_t by = LLVMConstIntGetSExtValue(step);
  range from = range_there(s, LLVMGetOperand(number, 0), at);
  if (from.low > from.high || from.low < INT32_MIN || from.high > INT32_MAX) return here;
  if (from.low + by > here.low) here.low = from.low + by;
  if (from.high + by < here.high) here.high = from.high + by;
  return here;
}

static void join(users *u, int at) {
  range here = range_there(u->s, u->number, at);
  if (here.low > here.high) return; /* never computed */
  bool first = u->found.low > u->found.high;
  if (first || here.low < u->found.low) u->found.low = here.low;
  if (first || here.high > u->found.high) u->found.high = here.high;
}

/* False: not all uses are known. */
static bool visit(users *u, LLVMValueRef value, int depth) {
  for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (++u->visited > MOST || graph_number(u->s->graph, user) < 0 || LLVMIsAPHINode(user)) return false;
    bool passes = is_integer_operation(user) || LLVMIsAGetElementPtrInst(user) || is_extreme(user);
    if (!passes)
      join(u, graph_node_of(u->s->graph, user));
    else if (depth == 0 || !visit(u, user, depth - 1))
      return false;
  }
  return true;
}

LLVMValueRef farthest_user(widener *w, LLVMValueRef clamp, LLVMValueRef number, int sign, LLVMValueRef far) {
  users u = {.s = w->shapes, .number = number, .found = {1, 0}};
  /* where the number is computed: a clamp may be next to the load, where fewer lanes are active (selected_access.c) */
  range all = range_there(w->shapes, number, graph_node_of(w->g, LLVMIsAInstruction(number) ? number : clamp));
  if (!visit(&u, clamp, DEPTH) || u.found.low > u.found.high) return far;
  if (sign > 0 ? u.found.high >= all.high : u.found.low <= all.low) return far;
  w->rarely_fails = true; /* in all others it would have failed in every block */
  LLVMValueRef most = LLVMConstInt(LLVMTypeOf(far), (uint64_t)(sign > 0 ? u.found.high : u.found.low), 1);
  LLVMValueRef nearer = LLVMBuildICmp(w->b, sign > 0 ? LLVMIntSLT : LLVMIntSGT, far, most, "");
  return LLVMBuildSelect(w->b, nearer, far, most, "");
}

/* ---- clamps that return what they clamp ---- */

bool is_speculated(const speculation *x, LLVMValueRef value) {
  for (int i = 0; i < x->count; i++)
    if (x->list[i].value == value) return true;
  return false;
}

int extreme_sign(LLVMValueRef value) {
  const char *name = is_extreme(value) ? callee_name(value) + 5 : "";
  return starts_with(name, "smin.") ? 1 : starts_with(name, "smax.") ? -1 : 0;
}

bool split_operands(const widener *w, LLVMValueRef value, LLVMValueRef *counting, LLVMValueRef *common) {
  for (unsigned n = 0; n < 2; n++) {
    *counting = LLVMGetOperand(value, n), *common = LLVMGetOperand(value, 1 - n);
    if (is_uniform(w, *common) && !is_uniform(w, *counting)) return true;
  }
  return false;
}

LLVMValueRef unclamped_operand(const widener *w, LLVMValueRef value) {
  LLVMValueRef counting, common;
  if (!w->speculated || !extreme_sign(value) || !is_speculated(w->speculated, value)) return NULL;
  if (!split_operands(w, value, &counting, &common)) return NULL;
  bool affine = is_affine(w, value) && is_affine(w, counting),
       parted = is_vector_affine(w, value) && is_vector_affine(w, counting);
  return affine || parted ? counting : NULL;
}

LLVMValueRef unclamped_base(const widener *w, LLVMValueRef value, int at, int64_t *distance) {
  LLVMValueRef from = value, inner = unclamped_operand(w, value);
  int64_t all = 0;
  while (inner) { /* the clamped operand is often a sum with a constant */
    from = inner;
    inner = unclamped_operand(w, from);
    if (inner || !LLVMIsAInstruction(from) || LLVMGetInstructionOpcode(from) != LLVMAdd) continue;
    LLVMValueRef step = LLVMGetOperand(from, 1);
    if (!LLVMIsAConstantInt(step) || llabs(LLVMConstIntGetSExtValue(step)) >= LONG_STEP) continue;
    all += LLVMConstIntGetSExtValue(step);
    inner = LLVMGetOperand(from, 0);
  }
  bool at_hand = !LLVMIsAInstruction(from) || graph_node_of(w->g, from) == at || is_in_slot(w, from);
  if (!at_hand || is_varying(w, from)) return value;
  *distance += all;
  return from;
}
