/* Atomics of a gang: lane by lane; or one for all lanes (a joint atomic, cf. warp-aggregated atomics), where all
 * change one address and the old values are unused or are prefix sums. See widen.h. */
#include "mwcc/divergence/access_predicates.h"
#include "mwcc/support/predicates.h"
#include "mwcc/widen/widen.h"
#include "mwcc/target/tuning.h"

/* An address whose lanes differ in one index alone. Then the index is stored for the lanes, in fewer bits, and each
   lane's address is made from the uniform pointers, which are known to stay in bounds (store_sandbox.c). */
typedef struct indexed {
  LLVMValueRef address;
  LLVMValueRef index;  /* the index that is stored; NULL: the address itself is */
  LLVMOpcode extended; /* the extension of the index to 64 bits; or 0 */
} indexed;

/* After a barrier only values that the code uses there are available: the address, but not the values from which it was
   computed. */
static bool is_available(widener *w, LLVMValueRef value, LLVMValueRef atomic) {
  if (!LLVMIsAInstruction(value) || graph_node_of(w->g, value) == graph_node_of(w->g, atomic)) return true;
  return !w->several_regions && is_in_slot(w, value);
}

static indexed find_index(widener *w, LLVMValueRef atomic) {
  indexed found = {.address = LLVMGetOperand(atomic, 0)};
  LLVMValueRef gep = found.address, last;
  if (!LLVMIsAGetElementPtrInst(gep) || is_uniform(w, gep)) return found;
  int count = LLVMGetNumOperands(gep);
  for (int i = 0; i < count - 1; i++) {
    LLVMValueRef operand = LLVMGetOperand(gep, (unsigned)i);
    if (!is_uniform(w, operand) || !is_available(w, operand, atomic)) return found;
  }
  last = LLVMGetOperand(gep, (unsigned)count - 1);
  if (!is_available(w, last, atomic)) return found;
  found.index = last;
  if (!LLVMIsAZExtInst(last) && !LLVMIsASExtInst(last)) return found;
  if (!is_available(w, LLVMGetOperand(last, 0), atomic)) return found;
  found.extended = LLVMGetInstructionOpcode(last);
  found.index = LLVMGetOperand(last, 0);
  return found;
}

static LLVMValueRef address_of(widener *w, const indexed *at, LLVMValueRef lane) {
  LLVMValueRef gep = at->address, indices[8];
  unsigned count = at->index ? (unsigned)LLVMGetNumIndices(gep) : 0;
  if (!at->index || count > MW_COUNT(indices)) return lane_of(w, gep, lane);
  for (unsigned i = 0; i + 1 < count; i++) indices[i] = value_scalar(w, LLVMGetOperand(gep, i + 1));
  LLVMValueRef index = lane_of(w, at->index, lane), base = value_scalar(w, LLVMGetOperand(gep, 0));
  if (at->extended) index = LLVMBuildCast(w->b, at->extended, index, LLVMTypeOf(LLVMGetOperand(gep, count)), "");
  indices[count - 1] = index;
  return LLVMBuildGEP2(w->b, LLVMGetGEPSourceElementType(gep), base, indices, count, "");
}

/* Serialised lanes first compute a few addresses and then do their updates: loads between stores to unknown addresses
   are slower. */
enum { MOST_PENDING = TUNE_SERIALISED_ATOMICS };

typedef struct lane_atomic {
  LLVMValueRef atomic;
  indexed at;
  LLVMValueRef addresses[MOST_PENDING], values[MOST_PENDING]; /* of the lanes whose updates are pending */
  int pending;
} lane_atomic;

static LLVMValueRef one_lane(widener *w, LLVMValueRef lane, void *context) {
  lane_atomic *one = context;
  LLVMValueRef atomic = one->atomic, address = address_of(w, &one->at, lane);
  if (is_short_atomic(atomic)) {
    one->addresses[one->pending] = address;
    one->values[one->pending++] = lane_of(w, LLVMGetOperand(atomic, 1), lane);
    if (w->lanes_after && one->pending < MOST_PENDING) return NULL;
    for (int i = 0; i < one->pending; i++) build_change(w->b, atomic, one->addresses[i], one->values[i]);
    one->pending = 0;
    return NULL;
  }
  if (LLVMIsAAtomicRMWInst(atomic))
    return build_change(w->b, atomic, address, lane_of(w, LLVMGetOperand(atomic, 1), lane));
  return build_exchange(w->b, atomic, address, lane_of(w, LLVMGetOperand(atomic, 1), lane),
                        lane_of(w, LLVMGetOperand(atomic, 2), lane));
}

/* ---- joint atomics ----
   All lanes change one address: one atomic for all of them, which is exact for integers. Floating-point additions are
   serialised by lane, so that results are repeatable. */

static LLVMValueRef neutral_of(const reduction *r, LLVMTypeRef type) {
  uint64_t sign = 1ull << (LLVMGetIntTypeWidth(type) - 1);
  switch (r->neutral) {
  case ONES: return LLVMConstAllOnes(type);
  case LEAST: return LLVMConstInt(type, sign, 0);
  case MOST: return LLVMConstInt(type, sign - 1, 0);
  default: return LLVMConstNull(type);
  }
}

static LLVMValueRef active_or(widener *w, LLVMValueRef value, mask m, int u, LLVMValueRef neutral) {
  LLVMValueRef lanes = value_vector(w, value, u);
  return m.all ? lanes : LLVMBuildSelect(w->b, m.lanes.of[u], lanes, splat(w, neutral), "");
}

static void change_jointly(widener *w, LLVMValueRef atomic, mask m) {
  const reduction *r = find_reduction(atomic);
  LLVMValueRef value = LLVMGetOperand(atomic, 1), together = NULL;
  LLVMAtomicRMWBinOp op = r->op == LLVMAtomicRMWBinOpSub ? LLVMAtomicRMWBinOpAdd : r->op;
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef lanes = active_or(w, value, m, u, neutral_of(r, LLVMTypeOf(value)));
    together = together ? combine_atomic(w->b, op, together, lanes) : lanes;
  }
  LLVMTypeRef wide = LLVMTypeOf(together);
  LLVMValueRef all = call_intrinsic(w->p, w->b, r->intrinsic, &wide, 1, &together, 1);
  build_change(w->b, atomic, value_scalar(w, LLVMGetOperand(atomic, 0)), all);
}

/* The old value that a lane sees: the sum of what the lanes before it add. For a uniform operand it is a multiple. */

/* The number of active lanes of a vector before each lane; *count: of all. */
static LLVMValueRef ranks(widener *w, mask m, int u, LLVMTypeRef type, LLVMValueRef *count) {
  program *p = w->p;
  *count = LLVMConstInt(type, (unsigned)w->width, 0);
  if (m.all) return lane_numbers(w, type);
  LLVMTypeRef bits = w->width > 32 ? p->i64 : p->i32, wide = vector_type(w, bits);
  LLVMValueRef word = LLVMBuildZExtOrBitCast(w->b, mask_word(w, m.lanes.of[u]), bits, ""), below[64];
  for (int l = 0; l < w->width; l++) below[l] = LLVMConstInt(bits, (1ull << l) - 1, 0);
  LLVMValueRef before = LLVMBuildAnd(w->b, splat(w, word), LLVMConstVector(below, (unsigned)w->width), "");
  /* the bits of up to 8 lanes are in the lowest byte: counting that alone needs no sum over bytes */
  LLVMTypeRef counted = w->width > 8 ? wide : LLVMVectorType(LLVMInt8TypeInContext(p->context), 4 * (unsigned)w->width);
  before = LLVMBuildBitCast(w->b, before, counted, "");
  before = LLVMBuildBitCast(w->b, call_intrinsic(p, w->b, "llvm.ctpop", &counted, 1, &before, 1), wide, "");
  *count = LLVMBuildIntCast2(w->b, call_intrinsic(p, w->b, "llvm.ctpop", &bits, 1, &word, 1), type, 0, "");
  return LLVMBuildIntCast2(w->b, before, vector_type(w, type), 0, "");
}

/* The exclusive prefix sums; *total: of all. */
static LLVMValueRef sums_before(widener *w, LLVMValueRef lanes, LLVMValueRef *total) {
  LLVMValueRef zeros = LLVMConstNull(LLVMTypeOf(lanes)), sums = lanes, from[64];
  for (int distance = 1; distance < w->width; distance *= 2) {
    for (int l = 0; l < w->width; l++)
      from[l] = constant_i32(w->p, (unsigned)(l < distance ? w->width + l : l - distance));
    LLVMValueRef moved = LLVMBuildShuffleVector(w->b, sums, zeros, LLVMConstVector(from, (unsigned)w->width), "");
    sums = LLVMBuildAdd(w->b, sums, moved, "");
  }
  *total = LLVMBuildExtractElement(w->b, sums, constant_i32(w->p, (unsigned)w->width - 1), "");
  return LLVMBuildSub(w->b, sums, lanes, "");
}

static void sum_jointly(widener *w, LLVMValueRef atomic, mask m) {
  LLVMValueRef value = LLVMGetOperand(atomic, 1), total = LLVMConstNull(LLVMTypeOf(value)), of_vector;
  LLVMTypeRef type = LLVMTypeOf(value);
  bool alike = is_uniform(w, value);
  vectors before = {0};
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef lanes = alike ? ranks(w, m, u, type, &of_vector)
                               : sums_before(w, active_or(w, value, m, u, LLVMConstNull(type)), &of_vector);
    before.of[u] = LLVMBuildAdd(w->b, lanes, splat(w, total), "");
    total = LLVMBuildAdd(w->b, total, of_vector, "");
  }
  if (alike) total = LLVMBuildMul(w->b, total, value_scalar(w, value), "");
  LLVMValueRef old = build_change(w->b, atomic, value_scalar(w, LLVMGetOperand(atomic, 0)), total);
  for (int u = 0; u < w->vectors; u++) {
    if (alike) before.of[u] = LLVMBuildMul(w->b, before.of[u], splat(w, value_scalar(w, value)), "");
    before.of[u] = combine_atomic(w->b, LLVMGetAtomicRMWBinOp(atomic), splat(w, old), before.of[u]);
  }
  set_value(w, atomic, before);
}

void widen_atomic(widener *w, LLVMValueRef atomic, mask m) {
  LLVMValueRef operands[3];
  unsigned count = (unsigned)LLVMGetNumOperands(atomic);
  if (is_joint_atomic(w->shapes, atomic)) {
    if (LLVMGetFirstUse(atomic))
      sum_jointly(w, atomic, m);
    else
      change_jointly(w, atomic, m);
    return;
  }
  for (unsigned i = 0; i < count; i++) operands[i] = LLVMGetOperand(atomic, i);
  lane_atomic one = {.atomic = atomic, .at = find_index(w, atomic)};
  if (one.at.index) {
    operands[0] = one.at.index;
    for (int i = 0; i + 1 < LLVMGetNumOperands(one.at.address); i++) /* before the loop, as in each_lane */
      value_form(w, LLVMGetOperand(one.at.address, (unsigned)i));
  }
  LLVMTypeRef type = LLVMGetFirstUse(atomic) ? LLVMTypeOf(atomic) : NULL;
  vectors old = each_lane(w, atomic, m, operands, count, type, is_short_atomic(atomic), one_lane, &one);
  if (type && is_uniform(w, atomic))
    refuse(w, atomic, "a serialised atomic with a uniform result");
  else if (type)
    set_value(w, atomic, old);
}

/* ---- loads and stores ---- */

/* Atomic accesses of a gang are volatile, since there are no atomic vector accesses: aligned elements are read and
   written whole. Fences around them provide their ordering. */
bool stays_in_place(LLVMValueRef access) { return !is_plain_access(access); }

static void fence_for(widener *w, LLVMValueRef access, LLVMAtomicOrdering ordering) {
  LLVMAtomicOrdering has = LLVMGetOrdering(access);
  bool strict = has == LLVMAtomicOrderingSequentiallyConsistent;
  if (ordering == LLVMAtomicOrderingSequentiallyConsistent ? strict : has == ordering || strict)
    LLVMBuildFence(w->b, ordering, 0, "");
}

void widen_load(widener *w, LLVMValueRef load, mask m) {
  prefetch_deferred_rows(w, load);
  widen_plain_load(w, load, m);
  fence_for(w, load, LLVMAtomicOrderingAcquire);
}

void widen_store(widener *w, LLVMValueRef store, mask m) {
  fence_for(w, store, LLVMAtomicOrderingRelease);
  widen_plain_store(w, store, m);
  fence_for(w, store, LLVMAtomicOrderingSequentiallyConsistent);
}
