/* Paired gathers (cf. ISPC's GatherCoalescePass): two neighbouring members of four bytes in structs at arbitrary places
 * (a float2 by an index that is looked up) are gathered or scattered as one element of eight bytes. The cost of a
 * gather depends on the number of elements, not on their size. Strided loads that are done lane by lane
 * (gather.c) are paired as well.
 *
 * A pair is two loads, or two stores, in one node, from one base, at distances 8 * n and 8 * n + 4. Loads are done
 * where the first of them is, stores where the last is. Nothing between may access their memory. */
#include "memory.h"
#include "mwcc/support/predicates.h"
#include "mwcc/target/tuning.h"

enum { HALF = 4, WHOLE = 8, FAR = TUNE_PAIRED_STRIDE /* too far for whole vectors */ };

static bool is_load(LLVMValueRef i) { return LLVMIsALoadInst(i) != NULL; }

static LLVMValueRef address_of(LLVMValueRef access) { return LLVMGetOperand(access, is_load(access) ? 0 : 1); }

static LLVMTypeRef type_of(LLVMValueRef access) {
  return LLVMTypeOf(is_load(access) ? access : LLVMGetOperand(access, 0));
}

/* Whether each lane accesses a place of its own. */
static bool is_scattered(widener *w, LLVMValueRef access) {
  if (is_varying(w, address_of(access))) return true;
  place at = {address_of(access), 0, 0, false, access, 0};
  return is_load(access) && in_even_steps(w, &at) && shape_of(w->shapes, at.address).stride >= FAR;
}

/* Whether the instruction can be one of a pair; if so, its place. */
static bool is_member(widener *w, LLVMValueRef i, LLVMValueRef *base, int64_t *distance) {
  if (!is_load(i) && !LLVMIsAStoreInst(i)) return false;
  if (!is_plain_access(i) || !is_scattered(w, i)) return false;
  LLVMTypeKind kind = LLVMGetTypeKind(type_of(i));
  if (kind != LLVMFloatTypeKind && (kind != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(type_of(i)) != HALF * 8))
    return false;
  *base = base_of(w, address_of(i), distance);
  return true;
}

typedef struct pair {
  LLVMValueRef first, second; /* in code order */
  LLVMValueRef low, high;     /* by address */
} pair;

/* Whether the instructions between allow the loads to be done at the first, or the stores at the last. */
static bool can_combine(const pair *p) {
  for (LLVMValueRef i = LLVMGetNextInstruction(p->first); i != p->second; i = LLVMGetNextInstruction(i))
    if (!touches_no_memory(i) && !(is_load(p->first) && is_load(i) && is_plain_access(i))) return false;
  return true;
}

static bool find_pair(widener *w, LLVMValueRef access, pair *p) {
  LLVMValueRef base, other_base, other = NULL;
  int64_t distance, other_distance;
  if (!has_pass(w->p, PASS_PAIRED_GATHER)) return false;
  if (!is_member(w, access, &base, &distance) || distance % HALF) return false;
  const node *here = &w->g->nodes[graph_node_of(w->g, access)];
  bool before = false;
  for (LLVMValueRef i = here->first;; i = LLVMGetNextInstruction(i)) {
    if (i != access && is_load(i) == is_load(access) && is_member(w, i, &other_base, &other_distance) &&
        other_base == base) {
      if (other_distance == distance) return false; /* ambiguous */
      if (other_distance == (distance ^ HALF)) {
        if (other) return false;
        other = i;
      }
    }
    if (i == access) before = other != NULL;
    if (i == here->last) break;
  }
  if (!other) return false;
  p->first = before ? other : access, p->second = before ? access : other;
  p->low = distance & HALF ? other : access, p->high = distance & HALF ? access : other;
  /* the gather uses the lower one's address */
  if (is_load(access) && p->low != p->first) return false;
  return can_combine(p);
}

static place place_of(LLVMValueRef access) {
  return (place){address_of(access), 0, LLVMGetAlignment(access), false, access, 0};
}

/* Every second element of a vector of twice as many, from the first or the second on. */
static LLVMValueRef every_second(widener *w, LLVMValueRef vector, unsigned from) {
  LLVMValueRef items[MOST_LANES];
  for (int i = 0; i < w->width; i++) items[i] = constant_i32(w->p, 2 * (unsigned)i + from);
  return LLVMBuildShuffleVector(w->b, vector, LLVMGetPoison(LLVMTypeOf(vector)),
                                LLVMConstVector(items, (unsigned)w->width), "");
}

bool load_pair(widener *w, LLVMValueRef load, mask m) {
  pair p;
  if (!find_pair(w, load, &p)) return false;
  if (load == p.second) return true; /* done with the first one */
  place at = place_of(p.low);
  vectors both = load_lanes(w, &at, w->p->i64, m), low = {0}, high = {0};
  for (int u = 0; u < w->vectors; u++) {
    LLVMTypeRef halves = LLVMVectorType(w->p->i32, 2 * (unsigned)w->width);
    LLVMValueRef words = LLVMBuildBitCast(w->b, both.of[u], halves, "");
    low.of[u] = LLVMBuildBitCast(w->b, every_second(w, words, 0), vector_type(w, type_of(p.low)), "");
    high.of[u] = LLVMBuildBitCast(w->b, every_second(w, words, 1), vector_type(w, type_of(p.high)), "");
  }
  set_value(w, p.low, low);
  set_value(w, p.high, high);
  return true;
}

bool store_pair(widener *w, LLVMValueRef store, mask m) {
  pair p;
  if (!find_pair(w, store, &p)) return false;
  if (store == p.first) return true; /* deferred to the other one */
  vectors low = value_vectors(w, LLVMGetOperand(p.low, 0)), high = value_vectors(w, LLVMGetOperand(p.high, 0)),
          both = {0};
  LLVMTypeRef words = vector_type(w, w->p->i32);
  LLVMValueRef items[2 * MOST_LANES];
  for (int i = 0; i < 2 * w->width; i++) items[i] = constant_i32(w->p, (unsigned)(i / 2 + i % 2 * w->width));
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef a = LLVMBuildBitCast(w->b, low.of[u], words, ""), b = LLVMBuildBitCast(w->b, high.of[u], words, "");
    LLVMValueRef mixed = LLVMBuildShuffleVector(w->b, a, b, LLVMConstVector(items, 2 * (unsigned)w->width), "");
    both.of[u] = LLVMBuildBitCast(w->b, mixed, vector_type(w, w->p->i64), "");
  }
  place at = place_of(p.low);
  store_lanes(w, &at, both, m);
  return true;
}
