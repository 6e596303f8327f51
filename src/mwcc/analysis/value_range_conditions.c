/* Facts from branch conditions: after `if (i < n)`, i is less than the largest n.
 *
 * Each conditional edge that is the only edge into its node makes facts, listed by the compared value. A fact holds in
 * all nodes that its node dominates: no value can be recomputed between the comparison and there. */
#include "value_range.h"
#include "analysis.h"

#include <stdlib.h>

/* ---- comparisons ---- */

struct fact { /* the comparison holds in all nodes that `node` dominates; one list for each value */
  LLVMValueRef other;
  LLVMIntPredicate predicate;
  int64_t offset; /* value + offset is compared */
  int node, next;
};

static LLVMIntPredicate inverse(LLVMIntPredicate p) {
  static const LLVMIntPredicate list[] = {
      [LLVMIntEQ] = LLVMIntNE,   [LLVMIntNE] = LLVMIntEQ,   [LLVMIntUGT] = LLVMIntULE, [LLVMIntUGE] = LLVMIntULT,
      [LLVMIntULT] = LLVMIntUGE, [LLVMIntULE] = LLVMIntUGT, [LLVMIntSGT] = LLVMIntSLE, [LLVMIntSGE] = LLVMIntSLT,
      [LLVMIntSLT] = LLVMIntSGE, [LLVMIntSLE] = LLVMIntSGT};
  return list[p];
}

static LLVMIntPredicate swapped(LLVMIntPredicate p) {
  static const LLVMIntPredicate list[] = {
      [LLVMIntEQ] = LLVMIntEQ,   [LLVMIntNE] = LLVMIntNE,   [LLVMIntUGT] = LLVMIntULT, [LLVMIntUGE] = LLVMIntULE,
      [LLVMIntULT] = LLVMIntUGT, [LLVMIntULE] = LLVMIntUGE, [LLVMIntSGT] = LLVMIntSLT, [LLVMIntSGE] = LLVMIntSLE,
      [LLVMIntSLT] = LLVMIntSGT, [LLVMIntSLE] = LLVMIntSGE};
  return list[p];
}

/* The range of a value for which the comparison with one in `o` holds. */
static range compared(range r, LLVMIntPredicate predicate, range o) {
  range allowed = {INT64_MIN, INT64_MAX};
  if (is_never(o) || is_never(r)) return r;
  switch (predicate) {
  case LLVMIntEQ: allowed = o; break;
  case LLVMIntNE:
    if (o.low == o.high && r.low == o.low && r.low < r.high) allowed.low = r.low + 1;
    if (o.low == o.high && r.high == o.low && r.low < r.high) allowed.high = r.high - 1;
    break;
  case LLVMIntULT:
  case LLVMIntULE:
    /* at most a number that is not negative: not negative either */
    if (o.low >= 0) allowed = (range){0, predicate == LLVMIntULT && o.high > 0 ? o.high - 1 : o.high};
    break;
  case LLVMIntUGT:
  case LLVMIntUGE:
    if (o.low >= 0 && r.low >= 0) allowed.low = predicate == LLVMIntUGT && o.low < INT64_MAX ? o.low + 1 : o.low;
    break;
  case LLVMIntSLT: allowed.high = o.high > INT64_MIN ? o.high - 1 : o.high; break;
  case LLVMIntSLE: allowed.high = o.high; break;
  case LLVMIntSGT: allowed.low = o.low < INT64_MAX ? o.low + 1 : o.low; break;
  case LLVMIntSGE: allowed.low = o.low; break;
  }
  return meet_ranges(r, allowed);
}

/* One of the comparisons that hold if a condition is true. */
typedef struct comparison {
  LLVMValueRef value, other;
  LLVMIntPredicate predicate;
  int64_t offset;
} comparison;

enum { MOST_COMPARISONS = 8 };

static void add_comparison(comparison *list, int *count, comparison c) {
  if (*count < MOST_COMPARISONS && has_range(c.value)) list[(*count)++] = c;
}

static bool is_boolean(LLVMValueRef value, bool which) {
  return LLVMIsAConstantInt(value) && integer_width(value) == 1 && LLVMConstIntGetZExtValue(value) == (which ? 1 : 0);
}

static void split_condition(LLVMValueRef condition, bool truth, comparison *list, int *count, int depth) {
  if (depth == 0 || !LLVMIsAInstruction(condition)) return;
  LLVMOpcode opcode = LLVMGetInstructionOpcode(condition);
  LLVMValueRef a = LLVMGetNumOperands(condition) > 0 ? LLVMGetOperand(condition, 0) : NULL;
  LLVMValueRef b = LLVMGetNumOperands(condition) > 1 ? LLVMGetOperand(condition, 1) : NULL;
  if (opcode == LLVMICmp) {
    LLVMIntPredicate predicate = LLVMGetICmpPredicate(condition);
    if (!truth) predicate = inverse(predicate);
    add_comparison(list, count, (comparison){a, b, predicate, 0});
    add_comparison(list, count, (comparison){b, a, swapped(predicate), 0});
    /* instcombine makes low <= x && x < high the unsigned x + c < d */
    if (has_range(a) && LLVMIsAInstruction(a) && LLVMGetInstructionOpcode(a) == LLVMAdd &&
        LLVMIsAConstantInt(LLVMGetOperand(a, 1)))
      add_comparison(list, count,
                     (comparison){LLVMGetOperand(a, 0), b, predicate, LLVMConstIntGetSExtValue(LLVMGetOperand(a, 1))});
  } else if (opcode == (truth ? LLVMAnd : LLVMOr)) {
    split_condition(a, truth, list, count, depth - 1);
    split_condition(b, truth, list, count, depth - 1);
  } else if (opcode == LLVMSelect && is_boolean(LLVMGetOperand(condition, truth ? 2 : 1), !truth)) {
    split_condition(a, truth, list, count, depth - 1);
    split_condition(LLVMGetOperand(condition, truth ? 1 : 2), truth, list, count, depth - 1);
  } else if (opcode == LLVMXor && is_boolean(b, true)) {
    split_condition(a, !truth, list, count, depth - 1);
  }
}

static int number_of(const ranges *r, LLVMValueRef value) { return graph_number(r->graph, value); }

static void add_facts(ranges *r, LLVMValueRef condition, bool truth, int at) {
  comparison list[MOST_COMPARISONS];
  int count = 0;
  split_condition(condition, truth, list, &count, 4);
  for (int i = 0; i < count; i++) {
    int number = number_of(r, list[i].value);
    if (number < 0) continue;
    r->facts = mw_realloc(r->facts, (size_t)(r->fact_count + 1) * sizeof *r->facts);
    r->facts[r->fact_count] = (struct fact){.other = list[i].other,
                                            .predicate = list[i].predicate,
                                            .offset = list[i].offset,
                                            .node = at,
                                            .next = r->first_fact[number]};
    r->first_fact[number] = r->fact_count++;
  }
}

static LLVMValueRef branch_condition(const node *n) {
  return n->succ_count == 2 && n->succs[0] != n->succs[1] ? LLVMGetCondition(n->last) : NULL;
}

void read_facts(ranges *r) {
  const graph *g = r->graph;
  for (int n = 0; n < g->count; n++) {
    LLVMValueRef condition = branch_condition(&g->nodes[n]);
    for (int s = 0; condition && s < 2; s++)
      if (g->nodes[g->nodes[n].succs[s]].pred_count == 1) add_facts(r, condition, s == 0, g->nodes[n].succs[s]);
  }
}

/* ---- queries ---- */

static range constant_range(LLVMValueRef value) {
  if (!LLVMIsAConstantInt(value) || integer_width(value) > 64) return full_range(integer_width(value));
  int64_t number = LLVMConstIntGetSExtValue(value);
  return (range){number, number};
}

range range_of(const ranges *r, LLVMValueRef value) {
  int number = number_of(r, value);
  if (number >= 0) return r->of[number];
  if (LLVMIsUndef(value)) return never; /* undefined: any number may be chosen */
  return constant_range(value);
}

/* The range of `value` if value + offset compares with `other`; the shifted bounds must fit in the width. */
static range compared_shifted(range mine, unsigned width, LLVMIntPredicate predicate, int64_t offset, range other) {
  if (offset == 0) return compared(mine, predicate, other);
  if ((predicate != LLVMIntULT && predicate != LLVMIntULE) || is_never(other) || other.low < 0) return mine;
  wide low = -(wide)offset, high = (wide)other.high - (predicate == LLVMIntULT) - offset;
  range all = full_range(width);
  if (low < all.low || high > all.high || low > high) return mine;
  return meet_ranges(mine, (range){(int64_t)low, (int64_t)high});
}

/* Of a value that hundreds of branches compare, only the first facts are used. */
enum { MOST_FACTS = 24 };

static range narrowed(const ranges *r, LLVMValueRef value, int at, int depth) {
  range mine = range_of(r, value);
  int number = number_of(r, value), left = MOST_FACTS;
  if (number < 0 || depth == 0 || is_never(mine)) return mine;
  for (int f = r->first_fact[number]; f >= 0 && left > 0; f = r->facts[f].next, left--) {
    const struct fact *fact = &r->facts[f];
    if (!dominates(r->order, fact->node, at)) continue;
    range other = narrowed(r, fact->other, fact->node, depth - 1);
    mine = compared_shifted(mine, integer_width(value), fact->predicate, fact->offset, other);
  }
  return mine;
}

range range_at(const ranges *r, LLVMValueRef value, int at) { return narrowed(r, value, at, 3); }

static range number_where(const ranges *r, LLVMValueRef value, int at, LLVMValueRef condition, bool truth) {
  comparison list[MOST_COMPARISONS];
  int count = 0;
  range mine = range_at(r, value, at);
  split_condition(condition, truth, list, &count, 4);
  for (int i = 0; i < count; i++)
    if (list[i].value == value)
      mine = compared_shifted(mine, integer_width(value), list[i].predicate, list[i].offset,
                              range_at(r, list[i].other, at));
  return mine;
}

/* Also of a sum with a constant, if its other term is compared: `i + 1` after `i < n`. */
range range_where(const ranges *r, LLVMValueRef value, int at, LLVMValueRef condition, bool truth) {
  range mine = number_where(r, value, at, condition, truth), all = full_range(integer_width(value));
  if (!LLVMIsAInstruction(value) || LLVMGetInstructionOpcode(value) != LLVMAdd || is_never(mine)) return mine;
  LLVMValueRef term = LLVMGetOperand(value, 1);
  if (!LLVMIsAConstantInt(term) || !has_range(value)) return mine;
  range from = number_where(r, LLVMGetOperand(value, 0), at, condition, truth);
  wide by = LLVMConstIntGetSExtValue(term), low = from.low + by, high = from.high + by;
  if (is_never(from) || low < all.low || high > all.high) return mine;
  return meet_ranges(mine, (range){(int64_t)low, (int64_t)high});
}

range range_on_edge(const ranges *r, LLVMValueRef value, int from, int to) {
  const node *n = &r->graph->nodes[from];
  LLVMValueRef condition = branch_condition(n);
  return condition ? range_where(r, value, from, condition, n->succs[0] == to) : range_at(r, value, from);
}
