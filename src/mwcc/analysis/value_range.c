/* Value ranges: a forward interval analysis of the integers of one thread's code, with widening and narrowing (Cousot
 * and Cousot 1977).
 *
 * It knows nothing of lanes; vector_shape.c uses it to prove that sums do not wrap. An interval holds for every thread
 * that computes the value without undefined behaviour (`nsw` and similar), in a launch of the class described in
 * simt.h. Starting from "never computed", intervals grow until nothing changes; those of loops are widened in a few
 * large steps. Two more sweeps then narrow them by the loops' own conditions. */
#include "value_range.h"
#include "analysis.h"

#include <stdlib.h>
#include <string.h>

/* ---- intervals ---- */

unsigned integer_width(LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  return LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) : 0;
}

bool has_range(LLVMValueRef value) { return integer_width(value) && integer_width(value) <= 64; }

range full_range(unsigned width) {
  if (width == 0 || width >= 64) return (range){INT64_MIN, INT64_MAX};
  return (range){-((int64_t)1 << (width - 1)), ((int64_t)1 << (width - 1)) - 1};
}

range join_ranges(range a, range b) {
  if (is_never(a)) return b;
  if (is_never(b)) return a;
  return (range){a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}

range meet_ranges(range a, range b) {
  range both = {a.low > b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
  return is_never(both) ? a : both;
}

/* ---- assumptions of parameters ---- */

/* Whether a parameter, or simple arithmetic on it, is compared; and whether it is itself compared as unsigned. */
static void find_comparisons(LLVMValueRef value, bool direct, bool *compared_at_all, bool *unsigned_too, int depth) {
  for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (!LLVMIsAInstruction(user)) continue;
    switch (LLVMGetInstructionOpcode(user)) {
    case LLVMICmp: {
      LLVMIntPredicate predicate = LLVMGetICmpPredicate(user);
      bool orders = predicate != LLVMIntEQ && predicate != LLVMIntNE;
      *compared_at_all = *compared_at_all || orders;
      *unsigned_too = *unsigned_too || (direct && orders && predicate <= LLVMIntULE);
      break;
    }
    case LLVMAdd:
    case LLVMSub:
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr:
    case LLVMSDiv:
    case LLVMUDiv:
    case LLVMCall:
      if (depth) find_comparisons(user, false, compared_at_all, unsigned_too, depth - 1);
      break;
    default: break;
    }
  }
}

static void assume(ranges *r, uint64_t assumed) {
  LLVMValueRef function = r->graph->function;
  for (unsigned i = 0; i < LLVMCountParams(function); i++) {
    LLVMValueRef parameter = LLVMGetParam(function, i);
    bool compared_at_all = false, unsigned_too = false;
    r->of[r->graph->value_count + (int)i] = full_range(integer_width(parameter));
    if (integer_width(parameter) != 32 || i >= 63 || !(assumed >> i & 1)) continue;
    find_comparisons(parameter, true, &compared_at_all, &unsigned_too, 3);
    if (!compared_at_all) continue;
    assumption made = {.parameter = i, .low = unsigned_too ? 0 : -BOUND_EXTENT, .high = BOUND_EXTENT};
    r->assumptions = mw_realloc(r->assumptions, (size_t)(r->assumption_count + 1) * sizeof made);
    r->assumptions[r->assumption_count++] = made;
    r->of[r->graph->value_count + (int)i] = (range){made.low, made.high};
  }
}

/* ---- the sweeps ---- */

/* Widening: bounds that grew move to the next likely limit, so that a loop takes a few sweeps only. */
static range widened(range old, range new, unsigned width) {
  static const int64_t stops[] = {1023, INT16_MAX, BOUND_EXTENT, INT32_MAX, (int64_t)1 << 40};
  range all = full_range(width), result = new;
  if (is_never(old)) return new;
  if (new.low < old.low) result.low = new.low >= 0 ? 0 : new.low >= -BOUND_EXTENT ? -BOUND_EXTENT : all.low;
  if (new.high > old.high) {
    result.high = all.high;
    for (size_t i = MW_COUNT(stops); i-- > 0;)
      if (new.high <= stops[i] && stops[i] < all.high) result.high = stops[i];
  }
  if (result.low < all.low) result.low = all.low;
  return result;
}

static bool sweep_ranges(ranges *r, bool growing, int sweep) {
  enum { PATIENCE = 2 }; /* sweeps before bounds are widened */
  const graph *g = r->graph;
  bool changed = false;
  int number = 0;
  for (int i = 0; i < r->order->rpo_count; i++) {
    int n = r->order->rpo[i];
    number = graph_number(g, g->nodes[n].first);
    for (; number < g->value_count && g->node_of[number] == n; number++) {
      LLVMValueRef value = g->values[number];
      if (!has_range(value)) continue;
      range new = transfer_range(r, value, n), old = r->of[number];
      if (growing && LLVMIsAPHINode(value)) {
        new = join_ranges(old, new);
        if (sweep > PATIENCE) new = widened(old, new, integer_width(value));
      }
      if (new.low == old.low &&new.high == old.high) continue;
      r->of[number] = new;
      changed = true;
    }
  }
  return changed;
}

static ranges find_ranges(const graph *g, const order *o, uint64_t assumed) {
  size_t values = (size_t)g->value_count + LLVMCountParams(g->function) + 1;
  ranges r = {.graph = g,
              .order = o,
              .extent = assumed & ASSUME_TIGHT ? TIGHT_EXTENT : LOOSE_EXTENT,
              .of = mw_alloc(values * sizeof(range)),
              .first_fact = mw_alloc(values * sizeof(int))};
  for (size_t i = 0; i < values; i++) {
    r.of[i] = never;
    r.first_fact[i] = -1;
  }
  for (int i = 0; i < g->value_count; i++)
    if (!has_range(g->values[i])) r.of[i] = full_range(0);
  assume(&r, assumed);
  read_facts(&r);
  int sweep = 0;
  while (sweep_ranges(&r, true, sweep)) sweep++;
  for (int i = 0; i < 2; i++) sweep_ranges(&r, false, 0);
  return r;
}

/* ---- results, cached ---- */

/* Shapes are computed repeatedly, for other cuts and given shapes, which do not affect ranges. */
struct known_ranges {
  struct known {
    uint64_t assumed;
    ranges found;
  } *items;
  size_t count;
};

ranges ranges_of(const graph *g, const order *o, uint64_t assumed) {
  struct known_ranges *known = g->known_ranges;
  for (size_t i = 0; i < known->count; i++)
    if (known->items[i].assumed == assumed) return known->items[i].found;
  known->items = mw_realloc(known->items, (known->count + 1) * sizeof *known->items);
  known->items[known->count] = (struct known){assumed, find_ranges(g, o, assumed)};
  return known->items[known->count++].found;
}

void prepare_ranges(graph *g) { g->known_ranges = mw_alloc(sizeof *g->known_ranges); }

void forget_ranges(graph *g) {
  struct known_ranges *known = g->known_ranges;
  for (size_t i = 0; known && i < known->count; i++) {
    ranges *r = &known->items[i].found;
    free(r->of);
    free(r->facts);
    free(r->first_fact);
    free(r->assumptions);
  }
  if (known) free(known->items);
  free(known);
}
