/* The test before a loop whose lanes walk rows: how many iterations it will have, and whether tiles may be loaded
 * instead of gathers. row_tiles.h says what has to hold. */
#include "row_tiles.h"

static LLVMValueRef lanes_of(row_loop *l, LLVMValueRef scalar, int lanes) {
  LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), (unsigned)lanes);
  LLVMValueRef one = LLVMBuildInsertElement(l->b, LLVMGetPoison(type), scalar, constant_i32(l->p, 0), "");
  return LLVMBuildShuffleVector(l->b, one, LLVMGetPoison(type),
                                LLVMConstNull(LLVMVectorType(l->p->i32, (unsigned)lanes)), "");
}

static LLVMValueRef as_shaped(row_loop *l, LLVMValueRef scalar, LLVMTypeRef like) {
  return is_vector_type(like) ? lanes_of(l, scalar, (int)LLVMGetVectorSize(like)) : scalar;
}

/* ---- a value of the loop in a given iteration ---- */

static void forget_promises(LLVMValueRef i) {
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMAdd:
  case LLVMSub:
  case LLVMMul:
  case LLVMShl: LLVMSetNUW(i, 0), LLVMSetNSW(i, 0); return;
  case LLVMOr: LLVMSetIsDisjoint(i, 0); return;
  case LLVMZExt: LLVMSetNNeg(i, 0); return;
  case LLVMGetElementPtr: LLVMGEPSetNoWrapFlags(i, 0); return;
  default: return;
  }
}

/* `iteration`: an i64, or NULL for the first one. The value has a step (row_step). */
static LLVMValueRef value_at(row_loop *l, LLVMValueRef value, LLVMValueRef iteration) {
  if (row_item(l, value) < 0) return value;
  if (LLVMIsAPHINode(value)) {
    LLVMValueRef begin = row_begin(l, value);
    LLVMTypeRef type = LLVMTypeOf(value);
    int64_t step;
    bool may_wrap;
    if (!iteration || !row_step(l, value, &step, &may_wrap)) return begin;
    LLVMValueRef distance = LLVMBuildMul(l->b, iteration, constant_i64(l->p, (uint64_t)step), "");
    LLVMTypeRef element = element_type(type);
    if (LLVMGetTypeKind(element) == LLVMPointerTypeKind) {
      distance = as_shaped(l, distance, type);
      return LLVMBuildGEP2(l->b, l->p->i8, begin, &distance, 1, "");
    }
    distance = LLVMBuildIntCast2(l->b, distance, element, 0, "");
    return LLVMBuildAdd(l->b, begin, as_shaped(l, distance, type), "");
  }
  LLVMValueRef copy = LLVMInstructionClone(value);
  for (int n = 0; n < LLVMGetNumOperands(value); n++)
    LLVMSetOperand(copy, (unsigned)n, value_at(l, LLVMGetOperand(value, (unsigned)n), iteration));
  forget_promises(copy);
  LLVMInsertIntoBuilder(l->b, copy);
  return copy;
}

/* ---- the number of iterations ---- */

static LLVMValueRef less_or_none(row_loop *l, LLVMIntPredicate predicate, LLVMValueRef from, LLVMValueRef to,
                                 bool equal, int64_t by) {
  LLVMValueRef distance = LLVMBuildSub(l->b, to, from, "");
  if (!equal && by > 1) distance = LLVMBuildAdd(l->b, distance, constant_i64(l->p, (uint64_t)by - 1), "");
  if (by > 1) distance = LLVMBuildUDiv(l->b, distance, constant_i64(l->p, (uint64_t)by), "");
  if (equal) distance = LLVMBuildAdd(l->b, distance, constant_i64(l->p, 1), "");
  LLVMValueRef some = LLVMBuildICmp(l->b, predicate, from, to, "");
  return LLVMBuildSelect(l->b, some, distance, constant_i64(l->p, 0), "");
}

/* The loop continues while its condition holds of the counter, which moves towards the limit. `known`: whether the
   counter reaches the limit without wrapping. */
LLVMValueRef count_iterations(row_loop *l, LLVMValueRef *known) {
  LLVMValueRef first = value_at(l, l->counter, NULL), limit = l->limit, again;
  LLVMTypeRef i64 = l->p->i64;
  unsigned width = LLVMGetIntTypeWidth(LLVMTypeOf(first));
  LLVMIntPredicate p = l->predicate;
  bool up = l->counts > 0, equal = p == LLVMIntSLE || p == LLVMIntSGE || p == LLVMIntULE || p == LLVMIntUGE;
  bool is_signed = p == LLVMIntSLT || p == LLVMIntSLE || p == LLVMIntSGT || p == LLVMIntSGE;
  int64_t by = up ? l->counts : -l->counts;
  *known = LLVMConstInt(l->p->i1, 1, 0);
  if (p == LLVMIntNE) {
    again = up ? LLVMBuildSub(l->b, limit, first, "") : LLVMBuildSub(l->b, first, limit, "");
    again = LLVMBuildIntCast2(l->b, again, i64, 0, "");
    return LLVMBuildAdd(l->b, again, constant_i64(l->p, 1), "");
  }
  if (by > 1 || equal) {
    uint64_t most = is_signed ? (uint64_t)INT64_MAX >> (64 - width) : UINT64_MAX >> (64 - width);
    uint64_t least = is_signed ? (uint64_t)(INT64_MIN >> (64 - width)) : 0;
    LLVMValueRef bound = LLVMConstInt(LLVMTypeOf(limit), up ? most - (uint64_t)by : least + (uint64_t)by, 1);
    LLVMIntPredicate within = is_signed ? up ? LLVMIntSLE : LLVMIntSGE : up ? LLVMIntULE : LLVMIntUGE;
    *known = LLVMBuildICmp(l->b, within, limit, bound, "");
  }
  first = LLVMBuildIntCast2(l->b, first, i64, is_signed, "");
  limit = LLVMBuildIntCast2(l->b, limit, i64, is_signed, "");
  LLVMIntPredicate less = is_signed ? equal ? LLVMIntSLE : LLVMIntSLT : equal ? LLVMIntULE : LLVMIntULT;
  again = up ? less_or_none(l, less, first, limit, equal, by) : less_or_none(l, less, limit, first, equal, by);
  return LLVMBuildAdd(l->b, again, constant_i64(l->p, 1), "");
}

/* ---- tests of all lanes ---- */

/* The mask of a gather or scatter; NULL: all lanes are active. */
static LLVMValueRef mask_of(LLVMValueRef access, unsigned operand) {
  LLVMValueRef mask = LLVMIsACallInst(access) ? LLVMGetOperand(access, operand) : NULL;
  return mask && LLVMIsConstant(mask) && constant_of_lanes(mask) ? NULL : mask;
}

static LLVMValueRef stream_mask(const row_stream *s) { return s->places ? NULL : mask_of(s->gather, MASKED_LOAD_MASK); }

static LLVMValueRef bits_of(row_loop *l, LLVMValueRef lanes) {
  unsigned count = LLVMGetVectorSize(LLVMTypeOf(lanes));
  return LLVMBuildBitCast(l->b, lanes, LLVMIntTypeInContext(l->p->context, count), "");
}

/* Whether it holds of all lanes in the mask. Others may hold poison, on which no branch may depend. */
static LLVMValueRef holds(row_loop *l, LLVMValueRef lanes, LLVMValueRef mask) {
  if (mask) lanes = LLVMBuildSelect(l->b, mask, lanes, LLVMConstAllOnes(LLVMTypeOf(lanes)), "");
  LLVMValueRef bits = bits_of(l, LLVMBuildFreeze(l->b, lanes, ""));
  return LLVMBuildICmp(l->b, LLVMIntEQ, bits, LLVMConstAllOnes(LLVMTypeOf(bits)), "");
}

static LLVMValueRef numbers_of(row_loop *l, LLVMValueRef pointers) {
  LLVMTypeRef type = LLVMTypeOf(pointers), i64 = l->p->i64;
  if (is_vector_type(type)) i64 = LLVMVectorType(i64, LLVMGetVectorSize(type));
  return LLVMBuildPtrToInt(l->b, pointers, i64, "");
}

/* ---- streams ---- */

static LLVMValueRef pointers_at(row_loop *l, const row_stream *s, LLVMValueRef iteration) {
  if (!s->places) return value_at(l, LLVMGetOperand(s->gather, 0), iteration);
  LLVMValueRef all = LLVMGetPoison(LLVMVectorType(l->p->pointer, (unsigned)s->lanes));
  for (int lane = 0; lane < s->lanes; lane++)
    all = LLVMBuildInsertElement(l->b, all, value_at(l, s->places[lane], iteration), constant_i32(l->p, (unsigned)lane),
                                 "");
  return all;
}

/* An inactive lane gets the first active one's row, if there is one. */
static LLVMValueRef with_rows(row_loop *l, LLVMValueRef pointers, LLVMValueRef mask, LLVMValueRef bits, int lanes) {
  LLVMTypeRef type = LLVMTypeOf(bits);
  LLVMValueRef arguments[] = {bits, LLVMConstInt(l->p->i1, 0, 0)};
  LLVMValueRef leader = call_intrinsic(l->p, l->b, "llvm.cttz", &type, 1, arguments, 2);
  leader = LLVMBuildAnd(l->b, leader, LLVMConstInt(type, (unsigned)lanes - 1, 0), "");
  LLVMValueRef row = LLVMBuildExtractElement(l->b, pointers, leader, "");
  return LLVMBuildSelect(l->b, mask, pointers, lanes_of(l, row, lanes), "");
}

/* Whether each lane's address moves by the step in every iteration. */
static LLVMValueRef moves_evenly(row_loop *l, LLVMValueRef first, LLVMValueRef last, LLVMValueRef iterations,
                                 int64_t step) {
  LLVMValueRef before_last = LLVMBuildSub(l->b, iterations, constant_i64(l->p, 1), "");
  LLVMValueRef distance = LLVMBuildMul(l->b, before_last, constant_i64(l->p, (uint64_t)step), "");
  LLVMValueRef moved = LLVMBuildSub(l->b, numbers_of(l, last), numbers_of(l, first), "");
  return LLVMBuildICmp(l->b, LLVMIntEQ, moved, as_shaped(l, distance, LLVMTypeOf(moved)), "");
}

/* ---- stores ---- */

typedef struct span { /* of addresses: scalars, or one for each lane */
  LLVMValueRef begin, low, high;
} span;

static LLVMValueRef choose(row_loop *l, LLVMIntPredicate predicate, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(l->b, LLVMBuildICmp(l->b, predicate, a, b, ""), a, b, "");
}

static span span_of(row_loop *l, LLVMValueRef first, LLVMValueRef iterations, int64_t step, uint64_t bytes) {
  LLVMValueRef begin = numbers_of(l, first), size = constant_i64(l->p, bytes);
  LLVMValueRef before_last = LLVMBuildSub(l->b, iterations, constant_i64(l->p, 1), "");
  LLVMValueRef distance = LLVMBuildMul(l->b, before_last, constant_i64(l->p, (uint64_t)step), "");
  LLVMValueRef end = LLVMBuildAdd(l->b, begin, as_shaped(l, distance, LLVMTypeOf(begin)), "");
  span s = {begin, choose(l, LLVMIntSLT, begin, end), choose(l, LLVMIntSGT, begin, end)};
  s.high = LLVMBuildAdd(l->b, s.high, as_shaped(l, size, LLVMTypeOf(begin)), "");
  return s;
}

/* Whether a lane's store does not write what the strip loads from its row after it: in later iterations, and in the
   same one if the store `precedes` the load. */
static LLVMValueRef keeps_row(row_loop *l, const row_stream *s, const span *row, const span *stored, int64_t step,
                              uint64_t bytes, bool by_lane, bool precedes) {
  LLVMTypeRef type = LLVMTypeOf(row->begin);
  span other = *stored;
  other.low = by_lane ? other.low : lanes_of(l, other.low, s->lanes);
  other.high = by_lane ? other.high : lanes_of(l, other.high, s->lanes);
  LLVMValueRef apart = LLVMBuildOr(l->b, LLVMBuildICmp(l->b, LLVMIntSLE, row->high, other.low, ""),
                                   LLVMBuildICmp(l->b, LLVMIntSLE, other.high, row->low, ""), "");
  if (!by_lane || step != s->step) return apart;
  /* they move together */
  int64_t element = (int64_t)LLVMABISizeOfType(l->p->layout, s->element), size = (int64_t)bytes;
  int64_t same = precedes ? element : 0;
  int64_t low = step > 0 ? element - size - same : -(l->strip - 1) * element - size;
  int64_t high = step > 0 ? l->strip * element : same;
  LLVMValueRef from = LLVMBuildSub(l->b, other.begin, row->begin, "");
  LLVMValueRef below = LLVMBuildICmp(l->b, LLVMIntSLE, from, as_shaped(l, constant_i64(l->p, (uint64_t)low), type), "");
  LLVMValueRef above =
      LLVMBuildICmp(l->b, LLVMIntSGE, from, as_shaped(l, constant_i64(l->p, (uint64_t)high), type), "");
  return LLVMBuildOr(l->b, apart, LLVMBuildOr(l->b, below, above, ""), "");
}

static LLVMValueRef check_store(row_loop *l, LLVMValueRef store, LLVMValueRef iterations, LLVMValueRef before_last) {
  LLVMValueRef pointer = LLVMGetOperand(store, 1), first = value_at(l, pointer, NULL);
  bool by_lane = is_vector_type(LLVMTypeOf(pointer)), may_wrap;
  LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(store, 0));
  uint64_t bytes = LLVMStoreSizeOfType(l->p->layout, by_lane ? LLVMGetElementType(type) : type);
  int64_t step;
  LLVMValueRef mask = by_lane ? mask_of(store, MASKED_STORE_MASK) : NULL, ok = LLVMConstInt(l->p->i1, 1, 0);
  if (mask && row_item(l, mask) >= 0) mask = NULL; /* any lane may store */
  if (!row_step(l, pointer, &step, &may_wrap)) return LLVMConstInt(l->p->i1, 0, 0);
  if (may_wrap) {
    LLVMValueRef even = moves_evenly(l, first, value_at(l, pointer, before_last), iterations, step);
    ok = by_lane ? holds(l, even, mask) : even;
  }
  span stored = span_of(l, first, iterations, step, bytes);
  for (int i = 0; i < l->stream_count; i++) {
    const row_stream *s = &l->streams[i];
    uint64_t element = LLVMABISizeOfType(l->p->layout, s->element);
    span row = span_of(l, s->first, iterations, s->step, element);
    bool precedes = row_item(l, store) < row_item(l, s->gather);
    LLVMValueRef kept = keeps_row(l, s, &row, &stored, step, bytes, by_lane, precedes);
    if (mask) kept = LLVMBuildSelect(l->b, mask, kept, LLVMConstAllOnes(LLVMTypeOf(kept)), "");
    ok = LLVMBuildAnd(l->b, ok, holds(l, kept, stream_mask(s)), "");
  }
  return ok;
}

static LLVMValueRef lane_distances(row_loop *l, LLVMValueRef distance, int lanes) {
  LLVMValueRef items[MOST_LANES];
  for (int lane = 0; lane < lanes; lane++) items[lane] = constant_i64(l->p, (uint64_t)lane);
  return LLVMBuildMul(l->b, lanes_of(l, distance, lanes), LLVMConstVector(items, (unsigned)lanes), "");
}

/* The distance between rows, and whether it is the same between all of them. */
static LLVMValueRef are_even(row_loop *l, row_stream *s) {
  LLVMValueRef at = numbers_of(l, s->first);
  LLVMValueRef first = LLVMBuildExtractElement(l->b, at, constant_i32(l->p, 0), "");
  LLVMValueRef distance = LLVMBuildExtractElement(l->b, at, constant_i32(l->p, 1), "");
  distance = LLVMBuildFreeze(l->b, LLVMBuildSub(l->b, distance, first, ""), "");
  LLVMValueRef expected = LLVMBuildAdd(l->b, lanes_of(l, first, s->lanes), lane_distances(l, distance, s->lanes), "");
  s->distances[0] = distance;
  s->distances[1] = LLVMBuildMul(l->b, distance, constant_i64(l->p, 3), "");
  s->distances[2] = LLVMBuildMul(l->b, distance, constant_i64(l->p, 4), "");
  return holds(l, LLVMBuildICmp(l->b, LLVMIntEQ, at, expected, ""), NULL);
}

LLVMValueRef check_rows(row_loop *l, LLVMValueRef iterations) {
  LLVMValueRef ok = LLVMConstInt(l->p->i1, 1, 0);
  LLVMValueRef before_last = LLVMBuildSub(l->b, iterations, constant_i64(l->p, 1), "");
  for (int i = 0; i < l->stream_count; i++) {
    row_stream *s = &l->streams[i];
    LLVMValueRef mask = stream_mask(s);
    s->first = pointers_at(l, s, NULL);
    if (s->may_wrap) {
      LLVMValueRef even = moves_evenly(l, s->first, pointers_at(l, s, before_last), iterations, s->step);
      ok = LLVMBuildAnd(l->b, ok, holds(l, even, mask), "");
    }
    if (mask) {
      LLVMValueRef bits = bits_of(l, LLVMBuildFreeze(l->b, mask, ""));
      ok = LLVMBuildAnd(l->b, ok, LLVMBuildICmp(l->b, LLVMIntNE, bits, LLVMConstNull(LLVMTypeOf(bits)), ""), "");
      s->first = with_rows(l, s->first, mask, bits, s->lanes);
    }
    if (s->even) ok = LLVMBuildAnd(l->b, ok, are_even(l, s), "");
    for (int lane = 0; lane < (s->even ? 1 : s->lanes); lane++)
      s->rows[lane] = LLVMBuildExtractElement(l->b, s->first, constant_i32(l->p, (unsigned)lane), "");
  }
  for (int i = 0; i < l->store_count; i++)
    ok = LLVMBuildAnd(l->b, ok, check_store(l, l->stores[i], iterations, before_last), "");
  return ok;
}
