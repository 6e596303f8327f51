/* The uniform path of a region: code for gangs whose lanes all take the same branches (cf. BOSCC, "branch on
 * superword condition code").
 *
 * Conditions such as `i < n` agree in all lanes of most gangs and in most iterations of a loop over an array. For
 * these gangs the region is emitted a second time, with such branches as real ones. Each branch is preceded by a
 * run-time test whether all lanes agree. The test compares one or two scalars where the indices are affine. Where an
 * index might pass the largest number, as an unsigned one that grows by the grid's size, it also compares whether that
 * happens in this gang. For a loop that iterates until a number escapes or converges it combines the masks of all
 * lanes. On the uniform path masks are full, loops need none, and values that leave a loop are not blended. Where the
 * second copy would be too much code the longest loops are left out, and only their stores test whether all lanes are
 * active (mask_elision.c).
 *
 * Where lanes disagree, a gang that has had no effect yet starts over in the fallback (divergent_fallback.c).
 * Otherwise it switches to the general path at that very branch. Masks there are full for all classes that all lanes
 * have passed, and empty for the others. The gang returns to the uniform path where all lanes have reconverged.
 * Values need no copying at a switch: both paths keep them in the same slots and in the same form. */
#include "mwcc/widen/memory/memory.h"
#include "mwcc/widen/values/shape_test.h"
#include "emission.h"
#include "mwcc/target/tuning.h"

#include <stdlib.h>

/* ---- comparisons of consecutive numbers with a limit ---- */

static bool is_ordered(LLVMIntPredicate p) { return p != LLVMIntEQ && p != LLVMIntNE; }
static bool is_signed(LLVMIntPredicate p) { return p >= LLVMIntSGT; }
static bool is_less(LLVMIntPredicate p) {
  return p == LLVMIntSLT || p == LLVMIntSLE || p == LLVMIntULT || p == LLVMIntULE;
}

/* Whether a value that is affine over the gang, or the same in all lanes of each vector, is proved not to wrap in the
   order that the predicate compares by. */
static bool is_proved_ordered(const widener *w, LLVMValueRef value, LLVMIntPredicate p) {
  shape s = shape_of(w->shapes, value);
  bool lanes_alike = s.stride == 0 && is_vector_affine(w, value);
  return is_uniform(w, value) || lanes_alike || (s.no_wrap && (is_signed(p) || s.positive));
}

/* Whether the lanes' order is proved, or is_ordered_here can test it: an unsigned index that grows by the grid's size
   might pass 2^32. */
static bool is_ordered_over_lanes(const widener *w, LLVMValueRef value, LLVMIntPredicate p) {
  if (is_uniform(w, value)) return true;
  if (is_varying(w, value)) return false;
  shape s = shape_of(w->shapes, value);
  bool small = llabs(s.stride) < LONG_STEP && llabs(s.step) < LONG_STEP;
  return is_proved_ordered(w, value, p) || (small && LLVMGetIntTypeWidth(LLVMTypeOf(value)) >= 32);
}

/* Whether the value is a uniform limit, but not a constant: a constant limit divides the threads of every block in the
   same way, so a gang with lanes on both sides of it would switch paths every time. */
static bool is_limit(const widener *w, LLVMValueRef value) { return is_uniform(w, value) && !LLVMIsAConstant(value); }

static bool is_comparison(const widener *w, LLVMValueRef i) {
  if (!LLVMIsAICmpInst(i)) return false;
  LLVMIntPredicate p = LLVMGetICmpPredicate(i);
  LLVMValueRef a = LLVMGetOperand(i, 0), b = LLVMGetOperand(i, 1);
  if (LLVMGetTypeKind(LLVMTypeOf(a)) != LLVMIntegerTypeKind || !is_ordered(p)) return false;
  return is_ordered_over_lanes(w, a, p) && is_ordered_over_lanes(w, b, p) && (is_limit(w, a) || is_limit(w, b));
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

/* Whether the operands of a value are available at node n, so that the test can be made from them. In the value's own
   node they are. In other nodes only values in slots are, and after a barrier none. */
static bool has_operands_at(const widener *w, LLVMValueRef value, int n) {
  if (graph_node_of(w->g, value) == n) return true;
  for (int i = 0; i < LLVMGetNumOperands(value); i++) {
    LLVMValueRef operand = LLVMGetOperand(value, (unsigned)i);
    if (LLVMIsAInstruction(operand) && !is_in_slot(w, operand)) return false;
  }
  return !w->several_regions;
}

/* Whether a loop is innermost and has neither loads nor side effects. */
static bool is_arithmetic(const widener *w, int l) {
  const order *o = w->shapes->order;
  for (int i = 0; i < w->g->value_count; i++) {
    int at = w->g->node_of[i];
    if (!o->loops[l].contains[at]) continue;
    if (o->innermost[at] != l || LLVMIsALoadInst(w->g->values[i]) || !touches_no_memory(w->g->values[i])) return false;
  }
  return true;
}

/* The loop that a branch at node n leaves, or that it guards (the test before a loop's first iteration); else -1. */
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

/* Whether the condition is a floating-point comparison that a purely arithmetic loop iterates for, as in escape-time
   or convergence tests: neighbouring lanes mostly do most iterations together. */
static bool is_convergence_test(const widener *w, LLVMValueRef condition, int n) {
  if (!LLVMIsAFCmpInst(condition) || graph_node_of(w->g, condition) != n) return false;
  int l = loop_at(w, n);
  return l >= 0 && is_arithmetic(w, l);
}

/* Whether it can be tested at node n that all lanes agree on the condition, and whether they are likely to. */
static bool is_likely_uniform(const widener *w, LLVMValueRef condition, int n, int depth) {
  if (is_uniform(w, condition)) return true;
  if (depth == 0 || !has_operands_at(w, condition, n)) return false;
  logic l = logic_of(condition);
  if (l.left) return is_likely_uniform(w, l.left, n, depth - 1) && is_likely_uniform(w, l.right, n, depth - 1);
  return is_comparison(w, condition) || is_convergence_test(w, condition, n);
}

/* What the lane of vector u that holds the least or the greatest value adds to the vector's first one; of all vectors
   where the value is affine over the gang. */
static LLVMValueRef extreme_distance(const widener *w, LLVMValueRef value, bool greatest) {
  shape s = shape_of(w->shapes, value);
  int64_t lanes = (w->width - 1) * s.stride, steps = is_vector_affine(w, value) ? 0 : (w->vectors - 1) * s.step,
          distance = 0;
  if ((lanes > 0) == greatest) distance += lanes;
  if ((steps > 0) == greatest) distance += steps;
  return LLVMConstInt(LLVMTypeOf(value), (uint64_t)distance, 1);
}

static LLVMValueRef extreme(widener *w, LLVMValueRef value, int u, bool greatest) {
  LLVMValueRef first = vector_scalar(w, value, u);
  return is_uniform(w, value) ? first : LLVMBuildAdd(w->b, first, extreme_distance(w, value, greatest), "");
}

/* Whether no lane's value wraps in the predicate's order, and `all` holds. All values lie between the extremes, which
   are less than 2^31 from the first value: an extreme that wraps is on its other side. */
static LLVMValueRef is_ordered_here(widener *w, LLVMValueRef all, LLVMValueRef value, LLVMIntPredicate p, int u) {
  if (is_proved_ordered(w, value, p)) return all;
  LLVMValueRef first = vector_scalar(w, value, u);
  for (int greatest = 0; greatest < 2; greatest++) {
    if (LLVMIsNull(extreme_distance(w, value, greatest))) continue;
    LLVMIntPredicate below = is_signed(p) ? LLVMIntSLE : LLVMIntULE, above = is_signed(p) ? LLVMIntSGE : LLVMIntUGE;
    LLVMValueRef one = LLVMBuildICmp(w->b, greatest ? above : below, extreme(w, value, u, greatest), first, "");
    all = LLVMBuildAnd(w->b, all, one, "");
  }
  return all;
}

static LLVMValueRef and_then(widener *w, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(w->b, a, b, LLVMConstNull(w->p->i1), ""); /* select: b may be poison where a is false */
}

/* Whether the comparison is `truth` in all lanes: the lane nearest to the limit decides. False where lanes wrap. */
static LLVMValueRef compare_extremes(widener *w, LLVMValueRef i, bool truth) {
  LLVMIntPredicate p = LLVMGetICmpPredicate(i);
  LLVMValueRef a = LLVMGetOperand(i, 0), b = LLVMGetOperand(i, 1), all = NULL;
  bool greatest = is_less(p) == truth;
  int count = is_vector_affine(w, a) || is_vector_affine(w, b) ? w->vectors : 1;
  for (int u = 0; u < count; u++) {
    LLVMValueRef one = LLVMBuildICmp(w->b, p, extreme(w, a, u, greatest), extreme(w, b, u, !greatest), "");
    if (!truth) one = LLVMBuildNot(w->b, one, "");
    one = is_ordered_here(w, is_ordered_here(w, one, a, p, u), b, p, u);
    all = all ? LLVMBuildAnd(w->b, all, one, "") : one;
  }
  return all;
}

/* Whether the value is `truth` in all lanes. */
static LLVMValueRef is_in_all_lanes(widener *w, LLVMValueRef value, bool truth) {
  vectors others = {0};
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef lanes = value_vector(w, value, u);
    others.of[u] = truth ? LLVMBuildNot(w->b, lanes, "") : lanes;
  }
  return LLVMBuildNot(w->b, any_lane(w, others), "");
}

/* A scalar: whether the condition is `truth` in all lanes. May be false although they agree, where the test would be
   expensive. */
static LLVMValueRef all_lanes_agree(widener *w, LLVMValueRef condition, bool truth) {
  if (is_uniform(w, condition)) {
    LLVMValueRef value = value_scalar(w, condition);
    return truth ? value : LLVMBuildNot(w->b, value, "");
  }
  logic l = logic_of(condition);
  if (LLVMIsAFCmpInst(condition)) return is_in_all_lanes(w, condition, truth);
  if (!l.left) return compare_extremes(w, condition, truth);
  LLVMValueRef left = all_lanes_agree(w, l.left, truth);
  if (l.both == truth) return and_then(w, left, all_lanes_agree(w, l.right, truth));
  if (!is_uniform(w, l.right) || is_uniform(w, l.left)) return left;
  /* Either operand suffices. This one may be undefined where the other decides. */
  LLVMValueRef right = LLVMBuildFreeze(w->b, all_lanes_agree(w, l.right, truth), "");
  return LLVMBuildSelect(w->b, right, LLVMConstInt(w->p->i1, 1, 0), left, "");
}

/* ---- which branches are assumed uniform ---- */

/* Whether the mask of a class is full when all lanes of the gang enter the region. */
static bool is_full(const plan *p, int class) {
  const mask_class *c = &p->classes[class];
  if (c->kind == CLASS_SAME) return is_full(p, p->item_class[c->level]);
  return c->kind == CLASS_REGION;
}

static bool may_assume_uniform(const emission *e, int n) {
  enum { DEPTH = 3 };
  const node *here = &e->w.g->nodes[n];
  if (here->barrier || here->succ_count != 2 || here->succs[0] == here->succs[1]) return false;
  return e->w.shapes->divergent[n] && is_likely_uniform(&e->w, LLVMGetCondition(here->last), n, DEPTH);
}

static bool all_reconverge(const plan *p, int item) {
  return p->classes[plan_class_of_item(p, -1, item)].kind == CLASS_REGION && plan_alone(p, -1, item);
}

bool reconverged_at(const emission *e, int item) {
  return e->paths[1].assumed_uniform && all_reconverge(&e->paths[0].plan, item) &&
         all_reconverge(&e->paths[1].plan, item);
}

/* The instructions that both paths have, times vectors: those between a branch that is assumed uniform and the point
   where all lanes have reconverged. */
static int duplicated_code(const emission *e, const bool *assumed_uniform) {
  const plan *p = &e->paths[0].plan;
  const graph *g = e->w.g;
  int code = 0, depth = 0, *stack = mw_alloc((size_t)(g->count + 1) * sizeof *stack);
  bool *seen = mw_alloc((size_t)g->count + 1);
  for (int n = 0; n < g->count; n++)
    if (assumed_uniform[n]) stack[depth++] = n, seen[n] = true;
  while (depth) {
    int n = stack[--depth], succs[2], count = p->flow.succs(g, n, succs);
    code += graph_number(g, g->nodes[n].last) - graph_number(g, g->nodes[n].first) + 1;
    for (int i = 0; i < count; i++) {
      int to = succs[i];
      bool enters = plan_item(p, -1, to) == to && plan_item(p, -1, n) != to;
      if (seen[to] || (enters && all_reconverge(p, to))) continue;
      seen[to] = true;
      stack[depth++] = to;
    }
  }
  free(seen);
  free(stack);
  return code * e->w.vectors;
}

/* Drop the assumption for branches that not all lanes reach on the uniform path. Returns how many branches remain. */
static int drop_partial(const emission *e, int entry, bool *divergent, bool *assumed_uniform, int count) {
  bool settled = false;
  while (count && !settled) {
    plan p;
    const char *why;
    if (!plan_region(e->w.g, divergent, entry, &p, &why)) return 0;
    settled = true;
    for (int n = 0; n < e->w.g->count; n++) {
      if (!assumed_uniform[n] || is_full(&p, p.class_of[n])) continue;
      assumed_uniform[n] = settled = false;
      divergent[n] = true;
      count--;
    }
    plan_free(&p);
  }
  return count;
}

/* Instructions of a loop. */
static int length_of(const emission *e, int l) {
  int count = 0;
  for (int i = 0; i < e->w.g->value_count; i++) count += e->w.shapes->order->loops[l].contains[e->w.g->node_of[i]];
  return count;
}

/* Drop the assumption for the branches of the longest loop, so that the others may keep it. Returns how many branches
   remain. */
static int exclude_longest_loop(const emission *e, bool *divergent, bool *assumed_uniform) {
  int longest = -1, most = 0, others = 0;
  for (int n = 0; n < e->w.g->count; n++) {
    int l = assumed_uniform[n] ? loop_at(&e->w, n) : -1, length = l >= 0 ? length_of(e, l) : 0;
    if (length > most) longest = l, most = length;
  }
  for (int n = 0; n < e->w.g->count; n++) {
    if (assumed_uniform[n] && loop_at(&e->w, n) == longest) assumed_uniform[n] = false, divergent[n] = true;
    others += assumed_uniform[n];
  }
  return longest < 0 ? 0 : others;
}

bool begin_uniform_path(emission *e, int entry) {
  enum { MOST_CODE = TUNE_UNIFORM_PATH_CODE };
  widener *w = &e->w;
  int count = 0;
  path *general = &e->paths[0], *to = &e->paths[1];
  if (!has_pass(w->p, PASS_UNIFORM_PATH) || !e->tries_uniform_path || !general->root.all || w->why) return false;
  bool *divergent = mw_alloc((size_t)(w->g->count + 1) * sizeof(bool)),
       *assumed_uniform = mw_alloc((size_t)(w->g->count + 1) * sizeof(bool));
  for (int n = 0; n < w->g->count; n++) divergent[n] = general->divergent[n];
  for (int i = 0; i < general->plan.order.rpo_count; i++) {
    int n = general->plan.order.rpo[i];
    assumed_uniform[n] = may_assume_uniform(e, n);
    if (assumed_uniform[n]) divergent[n] = false, count++;
  }
  e->falls_back = can_fall_back(e, assumed_uniform);
  while (!e->falls_back && count && duplicated_code(e, assumed_uniform) > MOST_CODE) {
    count = exclude_longest_loop(e, divergent, assumed_uniform);
    e->too_long = true;
  }
  bool found = drop_partial(e, entry, divergent, assumed_uniform, count) && begin_path(e, to, divergent, entry);
  free(divergent);
  if (found)
    to->assumed_uniform = assumed_uniform, to->root = general->root;
  else
    free(assumed_uniform);
  return found;
}

/* ---- switching to the general path ---- */

/* Mark the classes that all lanes have passed when control is at node n: their masks are full. */
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

/* Set the general path's masks to what they are when all lanes are at node n. */
static void set_masks(emission *e, int n) {
  widener *w = &e->w;
  const plan *p = &e->path->plan;
  bool *passed = mw_alloc((size_t)p->class_count + 1);
  note_passed(p, n, passed);
  for (int c = 0; c < p->class_count; c++) {
    class_kind kind = p->classes[c].kind;
    if (kind != CLASS_LED && kind != CLASS_LOOP) continue;
    store_mask(e, passed[c] ? mask_vectors(w, (mask){.all = true}) : no_lanes(w), e->path->masks[c]);
  }
  for (int l = 0; l < p->order.loop_count; l++)
    if (p->divergent_loop[l]) store_mask(e, no_lanes(w), e->path->loop_next[l]);
  free(passed);
}

/* Whether the test for the first successor precedes the other: it stays in the loop, or is not the point of
   reconvergence. */
static bool tests_true_first(const plan *p, int n, const node *here) {
  int l = p->order.innermost[n];
  for (int s = 0; s < 2; s++)
    if (l >= 0 && !p->order.loops[l].contains[here->succs[s]]) return s == 1;
  return p->order.ipdom[n] != here->succs[0];
}

static void switch_path(emission *e, int n) {
  LLVMValueRef condition = LLVMGetCondition(e->w.g->nodes[n].last);
  path *own = e->path;
  e->path = &e->paths[0];
  set_masks(e, n);
  /* Emitted again here, so that gangs that stay on the uniform path need not compute it for each lane. */
  if (LLVMIsAICmpInst(condition)) widen_instruction(&e->w, condition, (mask){.all = true});
  divide_lanes(e, n, (mask){.all = true});
  e->path = own;
}

void end_uniform_branch(emission *e, int n) {
  widener *w = &e->w;
  const node *here = &w->g->nodes[n];
  LLVMValueRef condition = LLVMGetCondition(here->last);
  bool yes_first = tests_true_first(&e->path->plan, n, here);
  LLVMBasicBlockRef first = new_block(e, "together"), other = new_block(e, "other"), second = new_block(e, "together"),
                    disagreeing = new_block(e, "apart");
  build_likely(w->p, w->b, all_lanes_agree(w, condition, yes_first), first, other);
  continue_at(e, other);
  build_likely(w->p, w->b, all_lanes_agree(w, condition, !yes_first), second, disagreeing);
  /* The fallback is emitted before another node begins: values of this node are in registers only until then. */
  continue_at(e, disagreeing);
  if (e->falls_back)
    call_fallback(e);
  else
    switch_path(e, n);
  for (int i = 0; i < 2; i++) {
    continue_at(e, i ? second : first);
    w->stamp++;
    LLVMBuildBr(w->b, take_uniform(e, n, here->succs[yes_first == (i == 0) ? 0 : 1]));
  }
}
