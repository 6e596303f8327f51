/* Between which numbers each integer of a kernel lies: a forward interval analysis of one thread's code.
 *
 * It says nothing about lanes; shape.c takes from it that a sum does not wrap. An interval holds for every thread that
 * computes the value without breaking a promise of the code (`nsw` and the like), in a launch of the class described in
 * simt.h. Starting from "never computed", intervals grow until nothing changes; those of loops grow in a few big steps,
 * and two more rounds then take back what the loops' own conditions exclude. */
#include "simt.h"

#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 wide; /* sums and products of 64-bit bounds */

static const range never = {1, 0};

static bool is_never(range r) { return r.low > r.high; }

/* ---- numbers of a width ---- */

static unsigned width_of(LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  return LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) : 0;
}

static bool is_integer(LLVMValueRef value) { return width_of(value) && width_of(value) <= 64; }

static range full(unsigned width) {
  if (width == 0 || width >= 64) return (range){INT64_MIN, INT64_MAX};
  return (range){-((int64_t)1 << (width - 1)), ((int64_t)1 << (width - 1)) - 1};
}

static range clamp(wide low, wide high, unsigned width) {
  range all = full(width);
  range r = {low < all.low ? all.low : (int64_t)low, high > all.high ? all.high : (int64_t)high};
  return is_never(r) || low > all.high || high < all.low ? all : r; /* where it always overflows, no thread is right */
}

/* An exact result; one that may wrap can be anything. */
static range fit(wide low, wide high, unsigned width) {
  range all = full(width);
  return low < all.low || high > all.high ? all : (range){(int64_t)low, (int64_t)high};
}

static range join(range a, range b) {
  if (is_never(a)) return b;
  if (is_never(b)) return a;
  return (range){a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}

/* An empty intersection is a path that is never taken; the caller keeps what it had. */
static range meet(range a, range b) {
  range both = {a.low > b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
  return is_never(both) ? a : both;
}

typedef struct span { /* of the unsigned reading */
  wide low, high;
} span;

static span as_unsigned(range r, unsigned width) {
  wide all = (wide)1 << width;
  if (r.low >= 0) return (span){r.low, r.high};
  if (r.high < 0) return (span){r.low + all, r.high + all};
  return (span){0, all - 1};
}

/* ---- conditions ---- */

struct fact { /* `value` compares so with `other` in all that `node` dominates; one list for each value */
  LLVMValueRef other;
  LLVMIntPredicate predicate;
  int64_t offset; /* it is value + offset that compares */
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

/* What is left of a value that compares so with one between o.low and o.high. */
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
    /* no more than a number that is no negative one: not negative either */
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
  return meet(r, allowed);
}

/* The comparisons that a condition consists of where it is `truth`; false where they are too many to matter. */
typedef struct comparison {
  LLVMValueRef value, other;
  LLVMIntPredicate predicate;
  int64_t offset;
} comparison;

enum { MOST_COMPARISONS = 8 };

static void add_comparison(comparison *list, int *count, comparison c) {
  if (*count < MOST_COMPARISONS && is_integer(c.value)) list[(*count)++] = c;
}

static bool is_boolean(LLVMValueRef value, bool which) {
  return LLVMIsAConstantInt(value) && width_of(value) == 1 && LLVMConstIntGetZExtValue(value) == (which ? 1 : 0);
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
    /* x + c < d, unsigned, is how low <= x && x < high looks after instcombine */
    if (is_integer(a) && LLVMIsAInstruction(a) && LLVMGetInstructionOpcode(a) == LLVMAdd &&
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

static void read_facts(ranges *r) {
  const graph *g = r->graph;
  for (int n = 0; n < g->count; n++) {
    LLVMValueRef condition = branch_condition(&g->nodes[n]);
    for (int s = 0; condition && s < 2; s++)
      if (g->nodes[g->nodes[n].succs[s]].pred_count == 1) add_facts(r, condition, s == 0, g->nodes[n].succs[s]);
  }
}

/* ---- asking ---- */

static range constant_range(LLVMValueRef value) {
  if (!LLVMIsAConstantInt(value) || width_of(value) > 64) return full(width_of(value));
  int64_t number = LLVMConstIntGetSExtValue(value);
  return (range){number, number};
}

range range_of(const ranges *r, LLVMValueRef value) {
  int number = number_of(r, value);
  if (number >= 0) return r->of[number];
  if (LLVMIsUndef(value)) return never; /* undefined: any number will do */
  return constant_range(value);
}

/* value + offset compares with `other`: what that says of value, where the shifted bounds are numbers of the width. */
static range compared_shifted(range mine, unsigned width, LLVMIntPredicate predicate, int64_t offset, range other) {
  if (offset == 0) return compared(mine, predicate, other);
  if ((predicate != LLVMIntULT && predicate != LLVMIntULE) || is_never(other) || other.low < 0) return mine;
  wide low = -(wide)offset, high = (wide)other.high - (predicate == LLVMIntULT) - offset;
  range all = full(width);
  if (low < all.low || high > all.high || low > high) return mine;
  return meet(mine, (range){(int64_t)low, (int64_t)high});
}

/* A bound that hundreds of branches compare with need not be looked at in each of them. */
enum { MOST_FACTS = 24 };

static range narrowed(const ranges *r, LLVMValueRef value, int at, int depth) {
  range mine = range_of(r, value);
  int number = number_of(r, value), left = MOST_FACTS;
  if (number < 0 || depth == 0 || is_never(mine)) return mine;
  for (int f = r->first_fact[number]; f >= 0 && left > 0; f = r->facts[f].next, left--) {
    const struct fact *fact = &r->facts[f];
    if (!dominates(r->order, fact->node, at)) continue;
    range other = narrowed(r, fact->other, fact->node, depth - 1);
    mine = compared_shifted(mine, width_of(value), fact->predicate, fact->offset, other);
  }
  return mine;
}

range range_at(const ranges *r, LLVMValueRef value, int at) { return narrowed(r, value, at, 3); }

/* ... and where `condition` is `truth`, too. */
static range range_where(const ranges *r, LLVMValueRef value, int at, LLVMValueRef condition, bool truth) {
  comparison list[MOST_COMPARISONS];
  int count = 0;
  range mine = range_at(r, value, at);
  split_condition(condition, truth, list, &count, 4);
  for (int i = 0; i < count; i++)
    if (list[i].value == value)
      mine = compared_shifted(mine, width_of(value), list[i].predicate, list[i].offset, range_at(r, list[i].other, at));
  return mine;
}

static range range_on_edge(const ranges *r, LLVMValueRef value, int from, int to) {
  const node *n = &r->graph->nodes[from];
  LLVMValueRef condition = branch_condition(n);
  return condition ? range_where(r, value, from, condition, n->succs[0] == to) : range_at(r, value, from);
}

/* ---- ids ---- */

static const char sreg[] = "llvm.nvvm.read.ptx.sreg.";

/* "tid.x" for a read of threadIdx.x, or "". */
static const char *id_name(LLVMValueRef value) {
  while (LLVMIsAZExtInst(value) || LLVMIsASExtInst(value)) value = LLVMGetOperand(value, 0);
  if (!LLVMIsACallInst(value)) return "";
  const char *name = callee_name(value);
  return starts_with(name, sreg) ? name + strlen(sreg) : "";
}

static range id_range(const char *name) {
  if (starts_with(name, "tid.")) return (range){0, 1023};
  if (starts_with(name, "ntid.")) return (range){1, 1024};
  if (starts_with(name, "ctaid.")) return (range){0, GRID_EXTENT - 1};
  if (starts_with(name, "nctaid.")) return (range){1, GRID_EXTENT};
  if (starts_with(name, "laneid") || starts_with(name, "warpid")) return (range){0, 31};
  if (starts_with(name, "warpsize")) return (range){32, 32};
  return full(starts_with(name, "clock64") || starts_with(name, "globaltimer") ? 64 : 32);
}

/* The factors of a product, a shift by a constant being one too. */
typedef struct product {
  LLVMValueRef factors[6];
  int count;
  wide constant;
} product;

static bool factorise(LLVMValueRef value, product *p, int depth) {
  LLVMOpcode opcode = LLVMIsAInstruction(value) ? LLVMGetInstructionOpcode(value) : (LLVMOpcode)0;
  if (LLVMIsAConstantInt(value)) {
    p->constant *= LLVMConstIntGetSExtValue(value);
    return p->constant < (wide)1 << 62 && p->constant > -((wide)1 << 62);
  }
  if (depth && opcode == LLVMMul)
    return factorise(LLVMGetOperand(value, 0), p, depth - 1) && factorise(LLVMGetOperand(value, 1), p, depth - 1);
  if (depth && opcode == LLVMShl && LLVMIsAConstantInt(LLVMGetOperand(value, 1))) {
    unsigned long long amount = LLVMConstIntGetZExtValue(LLVMGetOperand(value, 1));
    if (amount > 31) return false;
    p->constant *= (wide)1 << amount;
    return p->constant < (wide)1 << 62 && factorise(LLVMGetOperand(value, 0), p, depth - 1);
  }
  if (p->count == (int)MW_COUNT(p->factors)) return false;
  p->factors[p->count++] = value;
  return true;
}

static bool times(wide *low, wide *high, range r) {
  const wide limit = (wide)1 << 80;
  wide corners[] = {*low * r.low, *low * r.high, *high * r.low, *high * r.high};
  *low = *high = corners[0];
  for (int i = 1; i < 4; i++) {
    if (corners[i] < *low) *low = corners[i];
    if (corners[i] > *high) *high = corners[i];
  }
  return *low > -limit && *high < limit && r.low > -((int64_t)1 << 40) && r.high < (int64_t)1 << 40;
}

/* A product, factor by factor, where blockIdx.a * blockDim.a and gridDim.a * blockDim.a are bounded by the launch class. */
static bool product_range(const ranges *r, LLVMValueRef value, int at, wide *low, wide *high) {
  product p = {.constant = 1};
  if (!factorise(value, &p, 4)) return false;
  *low = *high = p.constant;
  for (int i = 0; i < p.count; i++) {
    const char *name = p.factors[i] ? id_name(p.factors[i]) : "";
    bool index = starts_with(name, "ctaid."), extent = starts_with(name, "nctaid.");
    if (!index && !extent) continue;
    for (int j = 0; j < p.count; j++) {
      const char *other = p.factors[j] ? id_name(p.factors[j]) : "";
      if (!starts_with(other, "ntid.") || strcmp(strchr(other, '.'), strchr(name, '.')) != 0) continue;
      if (!times(low, high, index ? (range){0, LAUNCH_EXTENT - 1} : (range){1, LAUNCH_EXTENT})) return false;
      p.factors[i] = p.factors[j] = NULL;
      break;
    }
  }
  for (int i = 0; i < p.count; i++) {
    if (!p.factors[i]) continue;
    range factor = range_at(r, p.factors[i], at);
    if (is_never(factor) || !times(low, high, factor)) return false;
  }
  return true;
}

/* ---- transfer ---- */

static bool has_nsw(LLVMValueRef i) { return LLVMGetNSW(i); }

static wide magnitude(range r) {
  wide low = r.low < 0 ? -(wide)r.low : r.low, high = r.high < 0 ? -(wide)r.high : r.high;
  return low > high ? low : high;
}

/* All ones below and at the highest bit of a number. */
static int64_t ones_up_to(int64_t number) {
  int64_t ones = 0;
  while (ones < number) ones = ones * 2 + 1;
  return ones;
}

static range arithmetic(const ranges *r, LLVMValueRef i, range a, range b, int at, unsigned width) {
  wide low, high;
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMAdd:
    low = (wide)a.low + b.low, high = (wide)a.high + b.high;
    return has_nsw(i) ? clamp(low, high, width) : fit(low, high, width);
  case LLVMSub:
    low = (wide)a.low - b.high, high = (wide)a.high - b.low;
    if (LLVMGetNUW(i) && a.low >= 0) return clamp(low < 0 ? 0 : low, a.high, width); /* no more than a */
    return has_nsw(i) ? clamp(low, high, width) : fit(low, high, width);
  case LLVMMul:
  case LLVMShl:
    if (product_range(r, i, at, &low, &high)) return has_nsw(i) ? clamp(low, high, width) : fit(low, high, width);
    return LLVMGetInstructionOpcode(i) == LLVMMul && has_nsw(i) && a.low >= 0 && b.low >= 0
               ? (range){0, full(width).high}
               : full(width);
  default: return full(width);
  }
}

static range division(LLVMValueRef i, range a, range b, unsigned width) {
  span ua = as_unsigned(a, width), ub = as_unsigned(b, width);
  wide most = magnitude(a), divisor = magnitude(b);
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMUDiv: return fit(ub.high ? ua.low / ub.high : 0, ua.high / (ub.low ? ub.low : 1), width);
  case LLVMURem: return fit(0, ua.high < ub.high ? ua.high : ub.high ? ub.high - 1 : 0, width);
  case LLVMSDiv:
    if (b.low > 0)
      return fit((wide)a.low / (a.low < 0 ? b.low : b.high), (wide)a.high / (a.high < 0 ? b.high : b.low), width);
    return clamp(-most, most, width);
  case LLVMSRem:
    if (divisor && divisor - 1 < most) most = divisor - 1;
    return clamp(a.low >= 0 ? 0 : -most, a.high <= 0 ? 0 : most, width);
  default: return full(width);
  }
}

static range bitwise(LLVMValueRef i, range a, range b, unsigned width) {
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMAnd:
    if (a.low >= 0 && b.low >= 0) return (range){0, a.high < b.high ? a.high : b.high};
    if (a.low >= 0) return (range){0, a.high};
    return b.low >= 0 ? (range){0, b.high} : full(width);
  case LLVMOr:
    if (LLVMGetIsDisjoint(i)) return fit((wide)a.low + b.low, (wide)a.high + b.high, width);
    if (a.low < 0 || b.low < 0) return full(width);
    return (range){a.low > b.low ? a.low : b.low, ones_up_to(a.high > b.high ? a.high : b.high)};
  case LLVMXor:
    if (b.low == -1 && b.high == -1) return (range){-1 - a.high, -1 - a.low};
    if (a.low < 0 || b.low < 0) return full(width);
    return (range){0, ones_up_to(a.high > b.high ? a.high : b.high)};
  default: return full(width);
  }
}

static range shifted_right(LLVMValueRef i, range a, range amount, unsigned width) {
  bool known = amount.low == amount.high && amount.low >= 0 && amount.low < (int64_t)width;
  if (LLVMGetInstructionOpcode(i) == LLVMAShr) {
    if (known) return (range){a.low >> amount.low, a.high >> amount.low};
    return (range){a.low < 0 ? a.low : 0, a.high < 0 ? -1 : a.high};
  }
  span u = as_unsigned(a, width);
  if (known) return fit(u.low >> amount.low, u.high >> amount.low, width);
  return fit(0, u.high, width);
}

static range extremum(const char *name, range a, range b, unsigned width) {
  bool is_unsigned = name[0] == 'u', is_min = name[2] == 'i';
  if (is_unsigned && (a.low < 0 || b.low < 0)) {
    /* no more than the one that is not negative */
    if (is_min && a.low >= 0) return (range){0, a.high};
    return is_min && b.low >= 0 ? (range){0, b.high} : full(width);
  }
  if (is_min) return (range){a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
  return (range){a.low > b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}

static range call_range(const ranges *r, LLVMValueRef call, int at, unsigned width) {
  static const char *const extrema[] = {"smin", "smax", "umin", "umax"};
  static const char *const counts[] = {"llvm.ctpop.", "llvm.ctlz.", "llvm.cttz."};
  const char *name = callee_name(call);
  if (starts_with(name, sreg)) return meet(full(width), id_range(name + strlen(sreg)));
  if (strcmp(name, "llvm.nvvm.barrier0.popc") == 0) return (range){0, 1024};
  for (size_t i = 0; i < MW_COUNT(extrema); i++)
    if (starts_with(name, "llvm.") && starts_with(name + 5, extrema[i])) {
      range a = range_at(r, LLVMGetOperand(call, 0), at), b = range_at(r, LLVMGetOperand(call, 1), at);
      if (is_never(a) || is_never(b)) return never;
      return extremum(extrema[i], a, b, width);
    }
  for (size_t i = 0; i < MW_COUNT(counts); i++)
    if (starts_with(name, counts[i]) && width >= 8) return (range){0, (int64_t)width};
  if (starts_with(name, "llvm.abs.")) {
    range a = range_at(r, LLVMGetOperand(call, 0), at);
    if (is_never(a)) return never;
    wide most = magnitude(a); /* the lowest number stays itself, unless that is excluded */
    return a.low == full(width).low && LLVMIsNull(LLVMGetOperand(call, 1)) ? full(width) : clamp(0, most, width);
  }
  return full(width);
}

static range cast_range(LLVMValueRef i, range a, unsigned from, unsigned width) {
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMSExt: return a;
  case LLVMZExt:
    if (LLVMGetNNeg(i)) return meet(a, (range){0, INT64_MAX});
    return fit(as_unsigned(a, from).low, as_unsigned(a, from).high, width);
  default: return fit(a.low, a.high, width);
  }
}

static range phi_range(const ranges *r, LLVMValueRef phi, int at) {
  range all = never;
  for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
    int from = graph_incoming(r->graph, phi, i);
    if (from >= 0 && r->order->index[from] >= 0)
      all = join(all, range_on_edge(r, LLVMGetIncomingValue(phi, i), from, at));
  }
  return all;
}

static range transfer(const ranges *r, LLVMValueRef i, int at) {
  unsigned width = width_of(i);
  LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
  range a = never, b = never;
  if (opcode == LLVMPHI) return phi_range(r, i, at);
  if (opcode == LLVMCall) return call_range(r, i, at, width);
  if (opcode == LLVMSelect) {
    LLVMValueRef condition = LLVMGetOperand(i, 0);
    return join(range_where(r, LLVMGetOperand(i, 1), at, condition, true),
                range_where(r, LLVMGetOperand(i, 2), at, condition, false));
  }
  if (opcode == LLVMICmp || opcode == LLVMFCmp) return full(1);
  bool one = opcode == LLVMSExt || opcode == LLVMZExt || opcode == LLVMTrunc || opcode == LLVMFreeze;
  if (!one && !LLVMIsABinaryOperator(i)) return full(width);
  a = range_at(r, LLVMGetOperand(i, 0), at);
  if (is_never(a)) return never;
  if (opcode == LLVMFreeze) return a;
  if (one) return cast_range(i, a, width_of(LLVMGetOperand(i, 0)), width);
  b = range_at(r, LLVMGetOperand(i, 1), at);
  if (is_never(b)) return never;
  switch (opcode) {
  case LLVMAdd:
  case LLVMSub:
  case LLVMMul:
  case LLVMShl: return arithmetic(r, i, a, b, at, width);
  case LLVMUDiv:
  case LLVMSDiv:
  case LLVMURem:
  case LLVMSRem: return division(i, a, b, width);
  case LLVMLShr:
  case LLVMAShr: return shifted_right(i, a, b, width);
  default: return bitwise(i, a, b, width);
  }
}

/* ---- assumptions of parameters ---- */

/* Whether a parameter, or what simple arithmetic makes of it, is compared; as an unsigned number directly. */
static void look_at_uses(LLVMValueRef value, bool direct, bool *compared_at_all, bool *unsigned_too, int depth) {
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
      if (depth) look_at_uses(user, false, compared_at_all, unsigned_too, depth - 1);
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
    r->of[r->graph->value_count + (int)i] = full(width_of(parameter));
    if (width_of(parameter) != 32 || i >= 64 || !(assumed >> i & 1)) continue;
    look_at_uses(parameter, true, &compared_at_all, &unsigned_too, 3);
    if (!compared_at_all) continue;
    assumption made = {.parameter = i, .low = unsigned_too ? 0 : -BOUND_EXTENT, .high = BOUND_EXTENT};
    r->assumptions = mw_realloc(r->assumptions, (size_t)(r->assumption_count + 1) * sizeof made);
    r->assumptions[r->assumption_count++] = made;
    r->of[r->graph->value_count + (int)i] = (range){made.low, made.high};
  }
}

/* ---- the rounds ---- */

/* Bounds that moved are moved on to where they may well stay: so no loop takes more than a few rounds. */
static range widened(range old, range new, unsigned width) {
  static const int64_t stops[] = {1023, INT16_MAX, BOUND_EXTENT, INT32_MAX, (int64_t)1 << 40};
  range all = full(width), result = new;
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

static bool round_of_ranges(ranges *r, bool growing, int round) {
  enum { PATIENCE = 2 }; /* rounds in which bounds may grow by themselves */
  const graph *g = r->graph;
  bool changed = false;
  int number = 0;
  for (int i = 0; i < r->order->rpo_count; i++) {
    int n = r->order->rpo[i];
    number = graph_number(g, g->nodes[n].first);
    for (; number < g->value_count && g->node_of[number] == n; number++) {
      LLVMValueRef value = g->values[number];
      if (!is_integer(value)) continue;
      range new = transfer(r, value, n), old = r->of[number];
      if (growing && LLVMIsAPHINode(value)) {
        new = join(old, new);
        if (round > PATIENCE) new = widened(old, new, width_of(value));
      }
      if (new.low == old.low &&new.high == old.high) continue;
      r->of[number] = new;
      changed = true;
    }
  }
  return changed;
}

ranges ranges_of(const graph *g, const order *o, uint64_t assumed) {
  size_t values = (size_t)g->value_count + LLVMCountParams(g->function) + 1;
  ranges r = {
      .graph = g, .order = o, .of = mw_alloc(values * sizeof(range)), .first_fact = mw_alloc(values * sizeof(int))};
  for (size_t i = 0; i < values; i++) {
    r.of[i] = never;
    r.first_fact[i] = -1;
  }
  for (int i = 0; i < g->value_count; i++)
    if (!is_integer(g->values[i])) r.of[i] = full(0);
  assume(&r, assumed);
  read_facts(&r);
  int round = 0;
  while (round_of_ranges(&r, true, round)) round++;
  for (int i = 0; i < 2; i++) round_of_ranges(&r, false, 0);
  return r;
}

void ranges_free(ranges *r) {
  free(r->of);
  free(r->facts);
  free(r->first_fact);
  free(r->assumptions);
  *r = (ranges){0};
}
