/* The way of a region for gangs whose lanes all go the same way.
 *
 * Most gangs lie well inside of what `i < n` and the like ask for, and most rounds of a loop over an array do. For them
 * the region is emitted once more, with such branches as real ones: each asks whether all lanes agree, which a number or
 * two tell, since their indices count up. There masks are full, loops need none, and values that leave a loop are not
 * blended. Nor do lanes part in most rounds of a loop that computes until a number escapes or converges; there all lanes'
 * masks tell. (Mandelbrot's set on a Zen 4: 10.4 ms -> 9.5.) Where all this would be long, the longest loops remain as they are,
 * and only their stores look whether all lanes are active (mask_elision.c).
 *
 * Where lanes disagree the gang begins again elsewhere, if it has changed nothing so far (divergent_fallback.c). Or else it changes to
 * the way for any lanes: at that very branch, with masks that are full for
 * whatever all lanes have come through, and empty for the rest. Where all have met again it comes back. Values need
 * nothing: both ways keep them in the same slots, in the same form. */
#include "mwcc/widen/memory/memory.h"
#include "emission.h"
#include "mwcc/target/tuning.h"

#include <stdlib.h>

/* ---- conditions that say of consecutive numbers whether they are below a limit ---- */

static bool is_ordered(LLVMIntPredicate p) { return p != LLVMIntEQ && p != LLVMIntNE; }
static bool is_signed(LLVMIntPredicate p) { return p >= LLVMIntSGT; }
static bool is_less(LLVMIntPredicate p) {
  return p == LLVMIntSLT || p == LLVMIntSLE || p == LLVMIntULT || p == LLVMIntULE;
}

/* Whether lanes count up, or are alike in each part, as numbers that can be compared by the predicate. */
static bool counts(const widener *w, LLVMValueRef value, LLVMIntPredicate p) {
  if (is_uniform(w, value)) return true;
  if (is_varying(w, value)) return false;
  shape s = shape_of(w->shapes, value);
  bool lanes_alike = s.stride == 0 && is_parted(w, value);
  return (s.no_wrap || lanes_alike) && (is_signed(p) || s.positive || lanes_alike);
}

/* A limit that is a constant divides the threads of every block in the same way: then a gang with lanes on both sides would
   change ways each time. */
static bool is_limit(const widener *w, LLVMValueRef value) { return is_uniform(w, value) && !LLVMIsAConstant(value); }

static bool is_comparison(const widener *w, LLVMValueRef i) {
  if (!LLVMIsAICmpInst(i)) return false;
  LLVMIntPredicate p = LLVMGetICmpPredicate(i);
  LLVMValueRef a = LLVMGetOperand(i, 0), b = LLVMGetOperand(i, 1);
  if (LLVMGetTypeKind(LLVMTypeOf(a)) != LLVMIntegerTypeKind || !is_ordered(p)) return false;
  return counts(w, a, p) && counts(w, b, p) && (is_limit(w, a) || is_limit(w, b));
}

logic logic_of(LLVMValueRef i) {
  if (LLVMIsABinaryOperator(i)) {
    LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
    if (opcode == LLVMAnd || opcode == LLVMOr)
      return (logic){LLVMGetOperand(i, 0), LLVMGetOperand(i, 1), opcode == LLVMAnd};
  }
  if (!LLVMIsASelectInst(i)) return (logic){0};
  LLVMValueRef condition = LLVMGetOperand(i, 0), yes = LLVMGetOperand(i, 1), no = LLVMGetOperand(i, 2);
  if (LLVMIsAConstantInt(no) && LLVMConstIntGetZExtValue(no) == 0) return (logic){condition, yes, true};
  if (LLVMIsAConstantInt(yes) && LLVMConstIntGetZExtValue(yes) == 1) return (logic){condition, no, false};
  return (logic){0};
}

/* Whether a value can be taken apart at node n. What it was made from is there in its own node; elsewhere only what the
   code itself needs there, and behind a barrier nothing else is kept. */
static bool can_take_apart(const widener *w, LLVMValueRef value, int n) {
  if (graph_node_of(w->g, value) == n) return true;
  for (int i = 0; i < LLVMGetNumOperands(value); i++) {
    LLVMValueRef operand = LLVMGetOperand(value, (unsigned)i);
    if (LLVMIsAInstruction(operand) && !is_in_slot(w, operand)) return false;
  }
  return !w->several_regions;
}

/* Whether a loop only computes, and has no loop in it. */
static bool is_arithmetic(const widener *w, int l) {
  const order *o = w->shapes->order;
  for (int i = 0; i < w->g->value_count; i++) {
    int at = w->g->node_of[i];
    if (!o->loops[l].contains[at]) continue;
    if (o->innermost[at] != l || LLVMIsALoadInst(w->g->values[i]) || !is_harmless(w->g->values[i])) return false;
  }
  return true;
}

/* The loop that a branch at node n leaves, or that it may enter, as the one before a loop's first round does; else -1. */
static int loop_at(const widener *w, int n) {
  const order *o = w->shapes->order;
  const node *here = &w->g->nodes[n];
  int l = o->innermost[n];
  if (l >= 0 && o->loops[l].contains[here->succs[0]] != o->loops[l].contains[here->succs[1]]) return l;
  for (int s = 0; s < 2; s++) {
    const node *next = &w->g->nodes[here->succs[s]];
    int to = next->succ_count == 1 && !next->barrier ? next->succs[0] : here->succs[s], in = o->innermost[to];
    if (in >= 0 && in != l && o->loops[in].header == to) return in;
  }
  return -1;
}

/* Whether the condition is a comparison of floating-point numbers that a loop computes until it holds, as where they escape or
   converge: neighbours mostly do the most of that together. */
static bool is_awaited(const widener *w, LLVMValueRef condition, int n) {
  if (!LLVMIsAFCmpInst(condition) || graph_node_of(w->g, condition) != n) return false;
  int l = loop_at(w, n);
  return l >= 0 && is_arithmetic(w, l);
}

/* Whether it can be told of the condition, at node n, that all lanes agree; and is likely that they do. */
static bool is_often_alike(const widener *w, LLVMValueRef condition, int n, int depth) {
  if (is_uniform(w, condition)) return true;
  if (depth == 0 || !can_take_apart(w, condition, n)) return false;
  logic l = logic_of(condition);
  if (l.left) return is_often_alike(w, l.left, n, depth - 1) && is_often_alike(w, l.right, n, depth - 1);
  return is_comparison(w, condition) || is_awaited(w, condition, n);
}

/* The scalar of the lane of a part that is the least, or the greatest; of all parts where they count up too. */
static LLVMValueRef extreme(widener *w, LLVMValueRef value, int u, bool greatest) {
  LLVMValueRef first = part_scalar(w, value, u);
  shape s = shape_of(w->shapes, value);
  if (is_uniform(w, value)) return first;
  int64_t lanes = (w->width - 1) * s.stride, steps = is_parted(w, value) ? 0 : (w->parts - 1) * s.step, distance = 0;
  if ((lanes > 0) == greatest) distance += lanes;
  if ((steps > 0) == greatest) distance += steps;
  return LLVMBuildAdd(w->b, first, LLVMConstInt(LLVMTypeOf(value), (uint64_t)distance, 1), "");
}

static LLVMValueRef and_then(widener *w, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(w->b, a, b, LLVMConstNull(w->p->i1), ""); /* select: b may be poison where a is false */
}

/* Whether the comparison is `wanted` for all lanes: for the one that is the nearest to the limit. */
static LLVMValueRef compare_extremes(widener *w, LLVMValueRef i, bool wanted) {
  LLVMIntPredicate p = LLVMGetICmpPredicate(i);
  LLVMValueRef a = LLVMGetOperand(i, 0), b = LLVMGetOperand(i, 1), all = NULL;
  bool greatest = is_less(p) == wanted;
  int count = is_parted(w, a) || is_parted(w, b) ? w->parts : 1;
  for (int u = 0; u < count; u++) {
    LLVMValueRef one = LLVMBuildICmp(w->b, p, extreme(w, a, u, greatest), extreme(w, b, u, !greatest), "");
    if (!wanted) one = LLVMBuildNot(w->b, one, "");
    all = all ? LLVMBuildAnd(w->b, all, one, "") : one;
  }
  return all;
}

/* Whether the value is `wanted` in all lanes. */
static LLVMValueRef is_in_all_lanes(widener *w, LLVMValueRef value, bool wanted) {
  parts others = {0};
  for (int u = 0; u < w->parts; u++) {
    LLVMValueRef lanes = part_vector(w, value, u);
    others.of[u] = wanted ? LLVMBuildNot(w->b, lanes, "") : lanes;
  }
  return LLVMBuildNot(w->b, any_lane(w, others), "");
}

/* Whether the condition is `wanted` for all lanes, as a scalar; false also where that is not easy to tell. */
static LLVMValueRef is_alike(widener *w, LLVMValueRef condition, bool wanted) {
  if (is_uniform(w, condition)) {
    LLVMValueRef value = value_scalar(w, condition);
    return wanted ? value : LLVMBuildNot(w->b, value, "");
  }
  logic l = logic_of(condition);
  if (LLVMIsAFCmpInst(condition)) return is_in_all_lanes(w, condition, wanted);
  if (!l.left) return compare_extremes(w, condition, wanted);
  LLVMValueRef left = is_alike(w, l.left, wanted);
  if (l.both == wanted) return and_then(w, left, is_alike(w, l.right, wanted));
  if (!is_uniform(w, l.right) || is_uniform(w, l.left)) return left;
  /* one half is enough; it may be undefined where the other decides */
  LLVMValueRef right = LLVMBuildFreeze(w->b, is_alike(w, l.right, wanted), "");
  return LLVMBuildSelect(w->b, right, LLVMConstInt(w->p->i1, 1, 0), left, "");
}

/* ---- which branches are asked ---- */

/* Whether the mask of a class is all lanes of the gang, where they all enter the region. */
static bool is_full(const plan *p, int class) {
  const mask_class *c = &p->classes[class];
  if (c->kind == CLASS_SAME) return is_full(p, p->item_class[c->level]);
  return c->kind == CLASS_REGION;
}

static bool is_asked(const emission *e, int n) {
  enum { DEPTH = 3 };
  const node *here = &e->w.g->nodes[n];
  if (here->barrier || here->succ_count != 2 || here->succs[0] == here->succs[1]) return false;
  return e->w.shapes->divergent[n] && is_often_alike(&e->w, LLVMGetCondition(here->last), n, DEPTH);
}

static bool all_meet(const plan *p, int item) {
  return p->classes[plan_class_of_item(p, -1, item)].kind == CLASS_REGION && plan_alone(p, -1, item);
}

bool are_together_at(const emission *e, int item) {
  return e->ways[1].together && all_meet(&e->ways[0].plan, item) && all_meet(&e->ways[1].plan, item);
}

/* The instructions that both ways have, times the parts that they are for: those between an asked branch and where all
   lanes have met again. */
static int code_of_both(const emission *e, const bool *asked) {
  const plan *p = &e->ways[0].plan;
  const graph *g = e->w.g;
  int code = 0, depth = 0, *stack = mw_alloc((size_t)(g->count + 1) * sizeof *stack);
  bool *seen = mw_alloc((size_t)g->count + 1);
  for (int n = 0; n < g->count; n++)
    if (asked[n]) stack[depth++] = n, seen[n] = true;
  while (depth) {
    int n = stack[--depth], succs[2], count = p->flow.succs(g, n, succs);
    code += graph_number(g, g->nodes[n].last) - graph_number(g, g->nodes[n].first) + 1;
    for (int i = 0; i < count; i++) {
      int to = succs[i];
      bool enters = plan_item(p, -1, to) == to && plan_item(p, -1, n) != to;
      if (seen[to] || (enters && all_meet(p, to))) continue;
      seen[to] = true;
      stack[depth++] = to;
    }
  }
  free(seen);
  free(stack);
  return code * e->w.parts;
}

/* Branches that only some lanes come to, where the asked ones are taken together, are not asked. How many remain. */
static int keep_full(const emission *e, int entry, bool *divergent, bool *together, int asked) {
  bool settled = false;
  while (asked && !settled) {
    plan p;
    const char *why;
    if (!plan_region(e->w.g, divergent, entry, &p, &why)) return 0;
    settled = true;
    for (int n = 0; n < e->w.g->count; n++) {
      if (!together[n] || is_full(&p, p.class_of[n])) continue;
      together[n] = settled = false;
      divergent[n] = true;
      asked--;
    }
    plan_free(&p);
  }
  return asked;
}

/* Instructions of a loop. */
static int length_of(const emission *e, int l) {
  int count = 0;
  for (int i = 0; i < e->w.g->value_count; i++) count += e->w.shapes->order->loops[l].contains[e->w.g->node_of[i]];
  return count;
}

/* The branches of the longest loop are not asked any more, so that the others may be. How many remain. */
static int leave_longest(const emission *e, bool *divergent, bool *asked) {
  int longest = -1, most = 0, others = 0;
  for (int n = 0; n < e->w.g->count; n++) {
    int l = asked[n] ? loop_at(&e->w, n) : -1, length = l >= 0 ? length_of(e, l) : 0;
    if (length > most) longest = l, most = length;
  }
  for (int n = 0; n < e->w.g->count; n++) {
    if (asked[n] && loop_at(&e->w, n) == longest) asked[n] = false, divergent[n] = true;
    others += asked[n];
  }
  return longest < 0 ? 0 : others;
}

bool begin_together(emission *e, int entry) {
  enum { MOST_CODE = TUNE_UNIFORM_PATH_CODE };
  widener *w = &e->w;
  int asked = 0;
  way *general = &e->ways[0], *to = &e->ways[1];
  if (!has_pass(w->p, PASS_UNIFORM_PATH) || !e->asks || !general->root.all || w->why) return false;
  bool *divergent = mw_alloc((size_t)(w->g->count + 1) * sizeof(bool)),
       *together = mw_alloc((size_t)(w->g->count + 1) * sizeof(bool));
  for (int n = 0; n < w->g->count; n++) divergent[n] = general->divergent[n];
  for (int i = 0; i < general->plan.order.rpo_count; i++) {
    int n = general->plan.order.rpo[i];
    together[n] = is_asked(e, n);
    if (together[n]) divergent[n] = false, asked++;
  }
  e->begins_again = can_begin_again(e, together);
  while (!e->begins_again && asked && code_of_both(e, together) > MOST_CODE) {
    asked = leave_longest(e, divergent, together);
    e->too_long = true;
  }
  bool found = keep_full(e, entry, divergent, together, asked) && begin_way(e, to, divergent, entry);
  free(divergent);
  if (found)
    to->together = together, to->root = general->root;
  else
    free(together);
  return found;
}

/* ---- changing ways ---- */

/* The items that all lanes have come through on their way to node n: their classes have full masks. */
static void note_passed(const plan *p, int n, bool *passed) {
  int level = p->order.innermost[n];
  for (;;) {
    const order *o = &p->levels[level + 1];
    for (int item = plan_item(p, level, n);; item = o->idom[item]) {
      if (item < p->graph->count) passed[plan_class_of_item(p, level, item)] = true;
      if (o->idom[item] == item) break;
    }
    if (level < 0) return;
    level = p->order.loops[level].parent;
  }
}

/* The masks as they are where all lanes are at node n. */
static void set_masks(emission *e, int n) {
  widener *w = &e->w;
  const plan *p = &e->way->plan;
  bool *passed = mw_alloc((size_t)p->class_count + 1);
  note_passed(p, n, passed);
  for (int c = 0; c < p->class_count; c++) {
    class_kind kind = p->classes[c].kind;
    if (kind != CLASS_LED && kind != CLASS_LOOP) continue;
    store_mask(e, passed[c] ? mask_vectors(w, (mask){.all = true}) : no_lanes(w), e->way->masks[c]);
  }
  for (int l = 0; l < p->order.loop_count; l++)
    if (p->divergent_loop[l]) store_mask(e, no_lanes(w), e->way->loop_next[l]);
  free(passed);
}

/* Whether the first successor is asked for first: the one that stays in the loop, or is not where both meet. */
static bool asks_true_first(const plan *p, int n, const node *here) {
  int l = p->order.innermost[n];
  for (int s = 0; s < 2; s++)
    if (l >= 0 && !p->order.loops[l].contains[here->succs[s]]) return s == 1;
  return p->order.ipdom[n] != here->succs[0];
}

static void change_way(emission *e, int n) {
  LLVMValueRef condition = LLVMGetCondition(e->w.g->nodes[n].last);
  way *own = e->way;
  e->way = &e->ways[0];
  set_masks(e, n);
  /* here once more, so that gangs that stay together need not compute it lane by lane */
  if (LLVMIsAICmpInst(condition)) widen_instruction(&e->w, condition, (mask){.all = true});
  part_lanes(e, n, (mask){.all = true});
  e->way = own;
}

void end_together(emission *e, int n) {
  widener *w = &e->w;
  const node *here = &w->g->nodes[n];
  LLVMValueRef condition = LLVMGetCondition(here->last);
  bool yes_first = asks_true_first(&e->way->plan, n, here);
  LLVMBasicBlockRef first = new_block(e, "together"), other = new_block(e, "other"), second = new_block(e, "together"),
                    apart = new_block(e, "apart");
  build_likely(w->p, w->b, is_alike(w, condition, yes_first), first, other);
  go_on_at(e, other);
  build_likely(w->p, w->b, is_alike(w, condition, !yes_first), second, apart);
  /* what the node has in registers is there only before another node is begun */
  go_on_at(e, apart);
  if (e->begins_again)
    begin_again(e);
  else
    change_way(e, n);
  for (int i = 0; i < 2; i++) {
    go_on_at(e, i ? second : first);
    w->stamp++;
    LLVMBuildBr(w->b, take_together(e, n, here->succs[yes_first == (i == 0) ? 0 : 1]));
  }
}
