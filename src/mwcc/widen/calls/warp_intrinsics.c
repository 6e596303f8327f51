/* Warp functions in lanes, where a gang is a warp.
 *
 * Lane l of vector u of the gang is lane u * W + l of the warp. Sets of lanes are words of 32 bits, like the program's
 * masks; the bits of inactive lanes, and of those that a block's last warp lacks, are 0. The value of such a lane may
 * be anything, even poison, so it is frozen before another lane may read it.
 *
 * Where all lanes name one mask, a result is computed once, on scalars; where masks differ, as those of tiles do,
 * lane by lane in vectors. */
#include "mwcc/widen/widen.h"
#include "mwcc/analysis/analysis.h"
#include "mwcc/target/target.h"

#include <string.h>

/* ---- words and lanes ---- */

static LLVMValueRef word_of(widener *w, vectors lanes) {
  LLVMValueRef word = NULL;
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef vector = LLVMBuildZExtOrBitCast(w->b, mask_word(w, lanes.of[u]), w->p->i32, "");
    if (u) vector = LLVMBuildShl(w->b, vector, constant_i32(w->p, (unsigned)(u * w->width)), "");
    word = word ? LLVMBuildOr(w->b, word, vector, "") : vector;
  }
  return word;
}

static vectors lanes_of(widener *w, LLVMValueRef word) {
  vectors lanes = {0};
  LLVMTypeRef bits = LLVMIntTypeInContext(w->p->context, (unsigned)w->width);
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef vector = u ? LLVMBuildLShr(w->b, word, constant_i32(w->p, (unsigned)(u * w->width)), "") : word;
    lanes.of[u] = LLVMBuildBitCast(w->b, LLVMBuildTruncOrBitCast(w->b, vector, bits, ""), vector_type(w, w->p->i1), "");
  }
  return lanes;
}

LLVMValueRef active_word(widener *w, mask m) { return m.all ? constant_i32(w->p, ~0u) : word_of(w, m.lanes); }

/* The active lanes for which something is true. */
static LLVMValueRef active_lanes(widener *w, vectors yes, mask m) {
  LLVMValueRef none = LLVMConstNull(vector_type(w, w->p->i1));
  for (int u = 0; u < w->vectors && !m.all; u++) yes.of[u] = LLVMBuildSelect(w->b, m.lanes.of[u], yes.of[u], none, "");
  return word_of(w, yes);
}

/* A value for all lanes, in the form of the call's. */
static void set_result(widener *w, LLVMValueRef call, LLVMValueRef value) {
  vectors form = {{value}};
  if (!is_uniform(w, call))
    for (int u = 0; u < w->vectors; u++) form.of[u] = u ? form.of[0] : splat(w, value);
  set_value(w, call, form);
}

/* The lanes' values, those of inactive lanes frozen. */
static vectors safe_values(widener *w, LLVMValueRef value, mask m) {
  vectors values = value_vectors(w, value);
  for (int u = 0; u < w->vectors && !m.all; u++) values.of[u] = LLVMBuildFreeze(w->b, values.of[u], "");
  return values;
}

/* The values stored in memory, from which any lane's can be read. */
static LLVMValueRef laid_out(widener *w, vectors values) {
  LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(values.of[0]));
  LLVMValueRef memory = LLVMBuildAlloca(w->entry, LLVMArrayType2(type, WARP_LANES), "");
  LLVMSetAlignment(memory, 64);
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef at = constant_i32(w->p, (unsigned)(u * w->width));
    LLVMBuildStore(w->b, values.of[u], LLVMBuildInBoundsGEP2(w->b, type, memory, &at, 1, ""));
  }
  return memory;
}

static LLVMValueRef read_lane(widener *w, LLVMTypeRef type, LLVMValueRef memory, LLVMValueRef lane) {
  lane = LLVMBuildAnd(w->b, lane, constant_i32(w->p, WARP_LANES - 1), "");
  return LLVMBuildLoad2(w->b, type, LLVMBuildInBoundsGEP2(w->b, type, memory, &lane, 1, ""), "");
}

static LLVMValueRef first_lane(widener *w, LLVMValueRef word) {
  LLVMValueRef arguments[] = {word, LLVMConstInt(w->p->i1, 0, 0)};
  return call_intrinsic(w->p, w->b, "llvm.cttz", &w->p->i32, 1, arguments, 2);
}

/* ---- shuffles ---- */

/* The lane that lanes `self` read from; all are i32, or vectors of it. (PTX ISA, shfl.sync) */
static LLVMValueRef source_lanes(widener *w, mw_warp_call call, LLVMValueRef self, LLVMValueRef lane,
                                 LLVMValueRef segments) {
  LLVMBuilderRef b = w->b;
  LLVMValueRef low = number_like(w, self, WARP_LANES - 1), from;
  LLVMValueRef segment = LLVMBuildAnd(b, LLVMBuildLShr(b, segments, number_like(w, self, 8), ""), low, "");
  LLVMValueRef first = LLVMBuildAnd(b, self, segment, ""), inside = LLVMBuildNot(b, segment, "");
  LLVMValueRef last = LLVMBuildAnd(b, LLVMBuildAnd(b, segments, low, ""), inside, "");
  last = LLVMBuildOr(b, first, last, "");
  lane = LLVMBuildAnd(b, lane, low, "");
  switch (call) {
  case MW_WARP_SHUFFLE_UP: from = LLVMBuildSub(b, self, lane, ""); break;
  case MW_WARP_SHUFFLE_DOWN: from = LLVMBuildAdd(b, self, lane, ""); break;
  case MW_WARP_SHUFFLE_XOR: from = LLVMBuildXor(b, self, lane, ""); break;
  default: from = LLVMBuildOr(b, first, LLVMBuildAnd(b, lane, inside, ""), ""); break;
  }
  LLVMIntPredicate reaches = call == MW_WARP_SHUFFLE_UP ? LLVMIntSGE : LLVMIntSLE;
  return LLVMBuildSelect(b, LLVMBuildICmp(b, reaches, from, last, ""), from, self, "");
}

/* A vector of a shuffle by constant lanes, from the vectors that they are in. */
static LLVMValueRef shuffle_known(widener *w, vectors values, LLVMValueRef from) {
  unsigned width = (unsigned)w->width;
  LLVMValueRef result = NULL, items[MOST_LANES];
  for (int source = 0; source < w->vectors; source++) {
    bool any = false;
    for (unsigned l = 0; l < width; l++) {
      unsigned lane = (unsigned)LLVMConstIntGetZExtValue(LLVMGetAggregateElement(from, l));
      bool here = lane / width == (unsigned)source;
      any = any || here;
      items[l] = constant_i32(w->p, here ? lane % width + (result ? width : 0) : l);
    }
    if (!any) continue;
    LLVMValueRef picked = LLVMConstVector(items, width), vector = values.of[source];
    LLVMValueRef first = result ? result : vector, second = result ? vector : LLVMGetPoison(LLVMTypeOf(vector));
    result = LLVMBuildShuffleVector(w->b, first, second, picked, "");
  }
  return result;
}

static bool has_wide_permute(const widener *w, LLVMTypeRef type) {
  unsigned long long bits = LLVMSizeOfTypeInBits(w->p->layout, type);
  return w->width == 16 && w->vectors == 2 && strstr(w->p->features, "+avx512f") && (bits == 32 || bits == 64);
}

/* AVX-512 selects from two registers of 16 elements by one instruction. */
static LLVMValueRef permute_words(widener *w, LLVMValueRef first, LLVMValueRef second, LLVMValueRef from) {
  LLVMValueRef arguments[] = {first, from, second};
  return call_intrinsic(w->p, w->b, "llvm.x86.avx512.vpermi2var.d.512", NULL, 0, arguments, 3);
}

/* The lower or upper half of each 64-bit number. */
static LLVMValueRef half_of(widener *w, LLVMValueRef numbers, bool upper) {
  LLVMValueRef by = splat(w, constant_i64(w->p, 32));
  if (upper) numbers = LLVMBuildLShr(w->b, numbers, by, "");
  return LLVMBuildTrunc(w->b, numbers, vector_type(w, w->p->i32), "");
}

/* Permutes words, or the halves of 64-bit numbers: those that were combined from two words, as structs are, are split
   again. `known`: from constant lanes. */
static LLVMValueRef permute_wide(widener *w, vectors values, LLVMValueRef from, bool known) {
  LLVMTypeRef type = LLVMTypeOf(values.of[0]), wide = vector_type(w, w->p->i64), words = vector_type(w, w->p->i32);
  bool is_word = LLVMSizeOfTypeInBits(w->p->layout, LLVMGetElementType(type)) == 32;
  LLVMValueRef halves[2];
  vectors of = {0}, half = {0};
  for (int u = 0; u < w->vectors; u++) of.of[u] = LLVMBuildBitCast(w->b, values.of[u], is_word ? words : wide, "");
  if (is_word) return LLVMBuildBitCast(w->b, permute_words(w, of.of[0], of.of[1], from), type, "");
  for (int h = 0; h < 2; h++) {
    for (int u = 0; u < w->vectors; u++) half.of[u] = half_of(w, of.of[u], h);
    halves[h] = known ? shuffle_known(w, half, from) : permute_words(w, half.of[0], half.of[1], from);
    halves[h] = LLVMBuildZExt(w->b, halves[h], wide, "");
  }
  halves[1] = LLVMBuildShl(w->b, halves[1], splat(w, constant_i64(w->p, 32)), "");
  return LLVMBuildBitCast(w->b, LLVMBuildOr(w->b, halves[0], halves[1], ""), type, "");
}

static LLVMValueRef pick(widener *w, LLVMTypeRef type, LLVMValueRef memory, LLVMValueRef from) {
  LLVMTypeRef wide = vector_type(w, type);
  LLVMValueRef pointers = LLVMBuildInBoundsGEP2(w->b, type, memory, &from, 1, "");
  unsigned align = LLVMABIAlignmentOfType(w->p->layout, type);
  return masked_load(w->p, w->b, wide, pointers, align, LLVMConstAllOnes(vector_type(w, w->p->i1)));
}

static void shuffle(widener *w, LLVMValueRef call, const warp_call *kind, mask m) {
  LLVMValueRef lane = LLVMGetOperand(call, 2), segments = LLVMGetOperand(call, 3);
  LLVMTypeRef type = LLVMTypeOf(call);
  vectors values = safe_values(w, LLVMGetOperand(call, (unsigned)kind->value), m), from = {0}, result = {0};
  if (is_uniform(w, call)) { /* all lanes read one lane */
    set_result(w, call, read_lane(w, type, laid_out(w, values), value_scalar(w, lane)));
    return;
  }
  bool known = LLVMIsAConstantInt(lane) && LLVMIsAConstantInt(segments);
  LLVMValueRef value = LLVMGetOperand(call, (unsigned)kind->value);
  bool combined = LLVMIsABinaryOperator(value) && LLVMGetInstructionOpcode(value) == LLVMOr && type == w->p->i64;
  LLVMValueRef memory = known || has_wide_permute(w, type) ? NULL : laid_out(w, values);
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef self =
        LLVMConstAdd(lane_numbers(w, w->p->i32), splat(w, constant_i32(w->p, (unsigned)(u * w->width))));
    from.of[u] = source_lanes(w, kind->call, self, value_vector(w, lane, u), value_vector(w, segments, u));
    if (known && !combined)
      result.of[u] = shuffle_known(w, values, from.of[u]);
    else
      result.of[u] = memory ? pick(w, type, memory, from.of[u]) : permute_wide(w, values, from.of[u], known);
  }
  set_value(w, call, result);
}

/* ---- votes ---- */

static LLVMValueRef outcome(widener *w, mw_warp_call call, LLVMValueRef votes, LLVMValueRef voters) {
  LLVMValueRef none = number_like(w, votes, 0);
  switch (call) {
  case MW_WARP_BALLOT: return votes;
  case MW_WARP_ANY: return LLVMBuildICmp(w->b, LLVMIntNE, votes, none, "");
  case MW_WARP_ALL: return LLVMBuildICmp(w->b, LLVMIntEQ, votes, voters, "");
  default:
    return LLVMBuildOr(w->b, LLVMBuildICmp(w->b, LLVMIntEQ, votes, voters, ""),
                       LLVMBuildICmp(w->b, LLVMIntEQ, votes, none, ""), "");
  }
}

static void vote(widener *w, LLVMValueRef call, const warp_call *kind, mask m) {
  LLVMValueRef named = LLVMGetOperand(call, (unsigned)kind->mask);
  vectors result = {0};
  LLVMValueRef votes = active_lanes(w, value_vectors(w, LLVMGetOperand(call, (unsigned)kind->value)), m);
  LLVMValueRef voters = active_word(w, m);
  if (is_uniform(w, named)) {
    LLVMValueRef all = value_scalar(w, named);
    set_result(w, call,
               outcome(w, kind->call, LLVMBuildAnd(w->b, votes, all, ""), LLVMBuildAnd(w->b, voters, all, "")));
    return;
  }
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef own = value_vector(w, named, u);
    result.of[u] = outcome(w, kind->call, LLVMBuildAnd(w->b, splat(w, votes), own, ""),
                           LLVMBuildAnd(w->b, splat(w, voters), own, ""));
  }
  set_value(w, call, result);
}

/* ---- for each group of lanes with equal values ---- */

typedef struct groups {
  LLVMBasicBlockRef head, done;
  LLVMValueRef todo; /* slot: lanes that are in no group yet */
  LLVMValueRef word; /* of the group */
  LLVMValueRef left;
} groups;

static LLVMBasicBlockRef new_block(widener *w, const char *name) {
  return LLVMAppendBasicBlockInContext(w->p->context, w->function, name);
}

/* The lanes of `among` that have the value of lane `leader`. */
static LLVMValueRef lanes_like(widener *w, vectors values, LLVMValueRef memory, LLVMValueRef leader,
                               LLVMValueRef among) {
  LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(values.of[0]));
  LLVMValueRef leading = splat(w, read_lane(w, type, memory, leader));
  vectors same = {0};
  for (int u = 0; u < w->vectors; u++) same.of[u] = LLVMBuildICmp(w->b, LLVMIntEQ, values.of[u], leading, "");
  return LLVMBuildAnd(w->b, word_of(w, same), among, "");
}

/* Begin a loop over groups; the builder is left in its body. `values` are frozen. */
static groups begin_groups(widener *w, vectors values, LLVMValueRef among) {
  groups g = {.head = new_block(w, "groups"), .done = new_block(w, "groups.done")};
  LLVMBasicBlockRef body = new_block(w, "group");
  LLVMValueRef memory = laid_out(w, values);
  g.todo = LLVMBuildAlloca(w->entry, w->p->i32, "");
  LLVMBuildStore(w->b, among, g.todo);
  LLVMBuildBr(w->b, g.head);
  LLVMPositionBuilderAtEnd(w->b, g.head);
  g.left = LLVMBuildLoad2(w->b, w->p->i32, g.todo, "");
  LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, LLVMIntNE, g.left, constant_i32(w->p, 0), ""), body, g.done);
  LLVMPositionBuilderAtEnd(w->b, body);
  g.word = lanes_like(w, values, memory, first_lane(w, g.left), g.left);
  return g;
}

static void end_groups(widener *w, const groups *g) {
  LLVMBuildStore(w->b, LLVMBuildAnd(w->b, g->left, LLVMBuildNot(w->b, g->word, ""), ""), g->todo);
  LLVMBuildBr(w->b, g->head);
  LLVMPositionBuilderAtEnd(w->b, g->done);
}

/* Set the value of the group's lanes. */
static void set_group_result(widener *w, const groups *g, LLVMValueRef value, vectors slots) {
  vectors lanes = lanes_of(w, g->word);
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef old = LLVMBuildLoad2(w->b, vector_type(w, LLVMTypeOf(value)), slots.of[u], "");
    LLVMBuildStore(w->b, LLVMBuildSelect(w->b, lanes.of[u], splat(w, value), old, ""), slots.of[u]);
  }
}

static vectors new_answer(widener *w) {
  vectors slots = new_slots(w, vector_type(w, w->p->i32), w->vectors);
  for (int u = 0; u < w->vectors; u++) LLVMBuildStore(w->b, LLVMConstNull(vector_type(w, w->p->i32)), slots.of[u]);
  return slots;
}

/* ---- matches ---- */

/* For each lane, the lanes of its mask that have the same value. */
static vectors matching(widener *w, LLVMValueRef call, const warp_call *kind, mask m) {
  vectors values = safe_values(w, LLVMGetOperand(call, (unsigned)kind->value), m), slots = new_answer(w);
  groups g = begin_groups(w, values, active_word(w, m));
  set_group_result(w, &g, g.word, slots);
  end_groups(w, &g);
  vectors found = load_slots(w, vector_type(w, w->p->i32), slots, w->vectors);
  for (int u = 0; u < w->vectors; u++)
    found.of[u] = LLVMBuildAnd(w->b, found.of[u], value_vector(w, LLVMGetOperand(call, (unsigned)kind->mask), u), "");
  return found;
}

/* {the mask or 0, whether it is the mask} */
static LLVMValueRef both_answers(widener *w, LLVMValueRef same, LLVMValueRef all) {
  LLVMValueRef bits = LLVMBuildSelect(w->b, same, all, number_like(w, all, 0), "");
  LLVMTypeRef types[] = {LLVMTypeOf(bits), LLVMTypeOf(same)};
  LLVMValueRef both = LLVMGetPoison(LLVMStructTypeInContext(w->p->context, types, 2, 0));
  both = LLVMBuildInsertValue(w->b, both, bits, 0, "");
  return LLVMBuildInsertValue(w->b, both, same, 1, "");
}

static void match_all(widener *w, LLVMValueRef call, const warp_call *kind, mask m) {
  LLVMValueRef named = LLVMGetOperand(call, (unsigned)kind->mask), present = active_word(w, m);
  vectors result = {0};
  if (is_uniform(w, call)) {
    LLVMValueRef among = LLVMBuildAnd(w->b, present, value_scalar(w, named), "");
    vectors values = safe_values(w, LLVMGetOperand(call, (unsigned)kind->value), m);
    LLVMValueRef like = lanes_like(w, values, laid_out(w, values), first_lane(w, among), among);
    set_scalar(w, call, both_answers(w, LLVMBuildICmp(w->b, LLVMIntEQ, like, among, ""), among));
    return;
  }
  vectors found = matching(w, call, kind, m);
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef all = LLVMBuildAnd(w->b, splat(w, present), value_vector(w, named, u), "");
    result.of[u] = both_answers(w, LLVMBuildICmp(w->b, LLVMIntEQ, found.of[u], all, ""), all);
  }
  set_value(w, call, result);
}

/* ---- reductions ---- */

static const struct reduction {
  mw_warp_call call;
  const char *across; /* the lanes of a vector */
  LLVMOpcode opcode;  /* of two vectors: an instruction, or … */
  const char *name;   /* … an intrinsic */
  unsigned neutral;
} reductions[] = {
    {MW_WARP_ADD, "llvm.vector.reduce.add", LLVMAdd, NULL, 0},
    {MW_WARP_MIN, "llvm.vector.reduce.smin", LLVMCall, "llvm.smin", 0x7fffffff},
    {MW_WARP_MAX, "llvm.vector.reduce.smax", LLVMCall, "llvm.smax", 0x80000000},
    {MW_WARP_UMIN, "llvm.vector.reduce.umin", LLVMCall, "llvm.umin", ~0u},
    {MW_WARP_UMAX, "llvm.vector.reduce.umax", LLVMCall, "llvm.umax", 0},
    {MW_WARP_AND, "llvm.vector.reduce.and", LLVMAnd, NULL, ~0u},
    {MW_WARP_OR, "llvm.vector.reduce.or", LLVMOr, NULL, 0},
    {MW_WARP_XOR, "llvm.vector.reduce.xor", LLVMXor, NULL, 0},
};

static LLVMValueRef reduced(widener *w, mw_warp_call call, vectors values, LLVMValueRef among) {
  const struct reduction *r = reductions;
  while (r->call != call) r++;
  vectors lanes = lanes_of(w, among);
  LLVMTypeRef wide = vector_type(w, w->p->i32);
  LLVMValueRef sum = NULL, neutral = splat(w, constant_i32(w->p, r->neutral));
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef vector = LLVMBuildSelect(w->b, lanes.of[u], values.of[u], neutral, ""), pair[] = {sum, vector};
    if (!sum)
      sum = vector;
    else if (r->name)
      sum = call_intrinsic(w->p, w->b, r->name, &wide, 1, pair, 2);
    else
      sum = LLVMBuildBinOp(w->b, r->opcode, sum, vector, "");
  }
  return call_intrinsic(w->p, w->b, r->across, &wide, 1, &sum, 1);
}

static void reduce(widener *w, LLVMValueRef call, const warp_call *kind, mask m) {
  LLVMValueRef named = LLVMGetOperand(call, (unsigned)kind->mask), present = active_word(w, m);
  vectors values = value_vectors(w, LLVMGetOperand(call, (unsigned)kind->value));
  if (is_uniform(w, named)) {
    set_result(w, call, reduced(w, kind->call, values, LLVMBuildAnd(w->b, present, value_scalar(w, named), "")));
    return;
  }
  vectors slots = new_answer(w); /* lanes that reduce together have one mask */
  groups g = begin_groups(w, safe_values(w, named, m), present);
  set_group_result(w, &g, reduced(w, kind->call, values, g.word), slots);
  end_groups(w, &g);
  set_value(w, call, load_slots(w, vector_type(w, w->p->i32), slots, w->vectors));
}

/* ---- all of them ---- */

bool widen_warp(widener *w, LLVMValueRef call, mask m) {
  const char *name = callee_name(call);
  const warp_call *kind = find_warp_call(name);
  if (!kind && strcmp(name, "llvm.nvvm.activemask") != 0) return false;
  if (!is_warp(&w->shapes->cut)) {
    refuse(w, call, "a warp function in a gang that is not a warp");
    return true;
  }
  if (!kind) {
    set_result(w, call, active_word(w, m));
    return true;
  }
  if (kind->mask >= 0) screen_warp_call(w, LLVMGetOperand(call, (unsigned)kind->mask), m);
  switch (kind->call) {
  case MW_WARP_APPLY: widen_warp_apply(w, call, m); break;
  case MW_WARP_SYNC: break; /* the gang's accesses happen in the program's order */
  case MW_WARP_SHUFFLE:
  case MW_WARP_SHUFFLE_UP:
  case MW_WARP_SHUFFLE_DOWN:
  case MW_WARP_SHUFFLE_XOR: shuffle(w, call, kind, m); break;
  case MW_WARP_ALL:
  case MW_WARP_ANY:
  case MW_WARP_UNIFORM:
  case MW_WARP_BALLOT: vote(w, call, kind, m); break;
  case MW_WARP_MATCH_ANY: set_value(w, call, matching(w, call, kind, m)); break;
  case MW_WARP_MATCH_ALL: match_all(w, call, kind, m); break;
  default: reduce(w, call, kind, m); break;
  }
  return true;
}

/* ---- barriers of blocks that are one gang ---- */

LLVMValueRef vote_of_vector(widener *w, const char *name, LLVMValueRef predicate, mask m, int u, LLVMValueRef sum) {
  LLVMValueRef lanes = value_vector(w, predicate, u), active = mask_vector(w, m, u);
  LLVMValueRef yes = LLVMBuildICmp(w->b, LLVMIntNE, lanes, LLVMConstNull(LLVMTypeOf(lanes)), "");
  yes = LLVMBuildSelect(w->b, active, yes, LLVMConstNull(LLVMTypeOf(yes)), "");
  LLVMValueRef word = mask_word(w, yes);
  LLVMTypeRef bits = LLVMTypeOf(word);
  if (strstr(name, ".popc")) {
    LLVMValueRef ones = call_intrinsic(w->p, w->b, "llvm.ctpop", &bits, 1, &word, 1);
    ones = w->width < 32   ? LLVMBuildZExt(w->b, ones, w->p->i32, "")
           : w->width > 32 ? LLVMBuildTrunc(w->b, ones, w->p->i32, "")
                           : ones;
    return LLVMBuildAdd(w->b, sum, ones, "");
  }
  if (strstr(name, ".and")) {
    LLVMValueRef every = LLVMBuildICmp(w->b, LLVMIntEQ, word, mask_word(w, active), "");
    return LLVMBuildAnd(w->b, sum, LLVMBuildZExt(w->b, every, w->p->i32, ""), "");
  }
  return LLVMBuildOr(w->b, sum, LLVMBuildZExt(w->b, any_in_vector(w, yes), w->p->i32, ""), "");
}

bool widen_barrier(widener *w, LLVMValueRef call, mask m) {
  if (!is_barrier(call)) return false;
  if (!m.all) {
    refuse(w, call, "a barrier that some threads of the block may not reach");
    return true;
  }
  const char *why = is_block_wait(call) ? block_wait_objection(w->shapes, call) : NULL;
  if (why) refuse(w, call, why);
  screen_barrier(w);
  if (!LLVMGetFirstUse(call)) return true;
  const char *name = callee_name(call);
  LLVMValueRef sum = constant_i32(w->p, strstr(name, ".and") != NULL);
  for (int u = 0; u < w->vectors; u++) sum = vote_of_vector(w, name, LLVMGetOperand(call, 0), m, u, sum);
  set_scalar(w, call, sum);
  return true;
}
