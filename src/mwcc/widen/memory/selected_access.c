/* Loads from places that lanes choose between (access_pattern.h): each place is loaded for the lanes that choose
 * it, by a vector load or a scalar one, and the results are blended.
 *
 * Mostly all lanes of a gang choose one place, as away from the edges; a test of the choices leads to its loads alone.
 *
 * The values from which the places are computed must be at hand where the load is. Where a clamped index is used in a
 * loop or after a barrier only the index itself is. So in kernels with barriers, before they are widened, each load
 * gets copies of the operations of its address down to values that do not differ between lanes, or follow each other.
 *
 * Proof. A lane's address is that of the place that it chooses, under whatever mask: access_pattern.h. A place is
 * loaded from for the active lanes that choose it; if there are none, from the stack. */
#include "mwcc/divergence/access_pattern.h"
#include "mwcc/support/predicates.h"
#include "mwcc/target/target.h"
#include "memory.h"

#include <stdlib.h>

enum { DEPTH = 12, MOST_COPIES = 200 };

/* ---- whether all that is needed is at hand ---- */

/* `used_here`: by an operation of the load's node, for which it is at hand. */
static bool is_at_hand(widener *w, const place *at, LLVMValueRef value, bool used_here, int depth) {
  bool here = LLVMIsAInstruction(value) && graph_node_of(w->g, value) == graph_node_of(w->g, at->by);
  if (depth == 0 || (!used_here && !here && !is_available(w, at, value))) return false;
  if (!is_varying(w, value)) return true;
  LLVMIntPredicate compares;
  LLVMValueRef condition = is_choice(value) ? condition_of_choice(value, &compares) : NULL;
  if (condition && !here && !is_available(w, at, condition)) return false;
  int count = LLVMGetNumOperands(value), from = is_choice(value) ? count - (condition ? 2 : 3) : 0;
  if (is_choice(value)) count = from + 2;
  for (int n = from; n < count; n++)
    if (!is_at_hand(w, at, LLVMGetOperand(value, (unsigned)n), here, depth - 1)) return false;
  return true;
}

bool is_selected(widener *w, const place *at, selected_address *x) {
  return LLVMIsALoadInst(at->by) && !at->offset && LLVMGetOperand(at->by, 0) == at->address &&
         selects_places(w->shapes, at->by, x) && is_at_hand(w, at, at->address, true, DEPTH);
}

/* Loads all of it from its slots here: after a branch, only what has been loaded before it is available. */
static void need_values(widener *w, LLVMValueRef value) {
  if (!is_varying(w, value)) {
    value_form(w, value);
    return;
  }
  LLVMIntPredicate compares;
  if (is_choice(value)) {
    LLVMValueRef condition = condition_of_choice(value, &compares);
    for (int n = 0; n < 2; n++) {
      need_values(w, operand_of_choice(value, n));
      if (!condition) value_form(w, operand_of_choice(value, n));
    }
    if (condition) value_form(w, condition);
    return;
  }
  for (int n = 0; n < LLVMGetNumOperands(value); n++) need_values(w, LLVMGetOperand(value, (unsigned)n));
}

/* ---- one place ---- */

/* The value in lane 0 of vector u, as if that lane had chosen the place. `met`: the number of choices on the way. */
static LLVMValueRef first_of_place(widener *w, LLVMValueRef value, const chosen_place *p, int u, int met) {
  if (!is_varying(w, value)) return vector_scalar(w, value, u);
  if (is_choice(value)) return first_of_place(w, operand_of_choice(value, p->second[met]), p, u, met + 1);
  LLVMValueRef operands[8];
  int count = LLVMGetNumOperands(value);
  for (int n = 0; n < count && n < (int)MW_COUNT(operands); n++)
    operands[n] = first_of_place(w, LLVMGetOperand(value, (unsigned)n), p, u, met);
  switch (LLVMGetInstructionOpcode(value)) {
  case LLVMGetElementPtr:
    return LLVMBuildGEP2(w->b, LLVMGetGEPSourceElementType(value), operands[0], operands + 1, (unsigned)count - 1, "");
  case LLVMAdd: return LLVMBuildAdd(w->b, operands[0], operands[1], "");
  case LLVMSub: return LLVMBuildSub(w->b, operands[0], operands[1], "");
  case LLVMZExt:
    /* lanes that follow each other may begin below 0, in a lane that is not active */
    if (!p->stride) return LLVMBuildZExt(w->b, operands[0], LLVMTypeOf(value), "");
    return LLVMBuildSExt(w->b, operands[0], LLVMTypeOf(value), "");
  default: return LLVMBuildSExt(w->b, operands[0], LLVMTypeOf(value), "");
  }
}

static LLVMValueRef pointer_to(widener *w, const place *at, const chosen_place *p, int u) {
  return plain_pointer(w, first_of_place(w, at->address, p, u, 0));
}

/* The lanes of vector u that choose the place. */
static LLVMValueRef lanes_of_place(widener *w, LLVMValueRef value, const chosen_place *p, int u, int met) {
  LLVMValueRef lanes = NULL;
  while (met < p->choices) {
    if (is_choice(value)) {
      LLVMIntPredicate compares = LLVMIntEQ;
      LLVMValueRef condition = condition_of_choice(value, &compares);
      LLVMValueRef chosen = condition
                                ? value_vector(w, condition, u)
                                : LLVMBuildICmp(w->b, compares, value_vector(w, operand_of_choice(value, false), u),
                                                value_vector(w, operand_of_choice(value, true), u), "");
      if (p->second[met]) chosen = LLVMBuildNot(w->b, chosen, "");
      lanes = lanes ? LLVMBuildAnd(w->b, lanes, chosen, "") : chosen;
      value = operand_of_choice(value, p->second[met++]);
      continue;
    }
    int n = 0; /* the one operand that varies */
    while (!is_varying(w, LLVMGetOperand(value, (unsigned)n))) n++;
    value = LLVMGetOperand(value, (unsigned)n);
  }
  return lanes;
}

static LLVMValueRef active_in(widener *w, mask m, int u, LLVMValueRef lanes) {
  return m.all ? lanes : LLVMBuildSelect(w->b, m.lanes.of[u], lanes, LLVMConstNull(LLVMTypeOf(lanes)), "");
}

static LLVMValueRef pointer_if(widener *w, LLVMValueRef any, LLVMValueRef pointer, uint64_t bytes) {
  return LLVMBuildSelect(w->b, any, pointer, place_for(w, bytes), "");
}

/* One element for all lanes of each vector. */
static vectors load_common(widener *w, const place *at, const chosen_place *p, LLVMTypeRef wide, const mask *m,
                           int count) {
  LLVMTypeRef type = LLVMGetElementType(wide);
  uint64_t bytes = LLVMABISizeOfType(w->p->layout, type);
  vectors result = {0};
  LLVMValueRef all = m->lanes.of[0];
  for (int u = 1; u < count && p->uniform; u++) all = LLVMBuildOr(w->b, all, m->lanes.of[u], "");
  for (int u = 0; u < count; u++) {
    if (u && p->uniform) {
      result.of[u] = result.of[0];
      continue;
    }
    LLVMValueRef any = any_in_vector(w, p->uniform ? all : m->lanes.of[u]);
    LLVMValueRef element = LLVMBuildLoad2(w->b, type, pointer_if(w, any, pointer_to(w, at, p, u), bytes), "");
    LLVMSetAlignment(element, at->align);
    result.of[u] = splat(w, element);
  }
  return result;
}

static vectors load_place(widener *w, const place *at, const chosen_place *p, LLVMTypeRef wide, const mask *m,
                          int count) {
  uint64_t bytes = LLVMABISizeOfType(w->p->layout, LLVMGetElementType(wide));
  vectors result = {0}, firsts = {0};
  if (!p->stride) return load_common(w, at, p, wide, m, count);
  bool masks = has_masked_access(w->p, bytes);
  for (int u = 0; u < count; u++) {
    firsts.of[u] = pointer_to(w, at, p, u);
    if (masks)
      result.of[u] = masked_load(w->p, w->b, wide, firsts.of[u], at->align, m->lanes.of[u]);
    else
      firsts.of[u] =
          pointer_if(w, any_in_vector(w, m->lanes.of[u]), firsts.of[u], LLVMABISizeOfType(w->p->layout, wide));
  }
  return masks ? result : load_following(w, at, wide, &firsts, *m, count);
}

/* ---- all of them ---- */

/* The first place where lanes follow each other; -1: there is none. */
static int usual_place(const selected_address *x) {
  for (int i = 0; i < x->count; i++)
    if (x->places[i].stride) return i;
  return -1;
}

static vectors blend(widener *w, const place *at, const selected_address *x, LLVMTypeRef wide, mask m, int count) {
  vectors result = {0};
  for (int i = 0; i < x->count; i++) {
    mask here = {0};
    vectors lanes = {0};
    for (int u = 0; u < count; u++) {
      lanes.of[u] = lanes_of_place(w, at->address, &x->places[i], u, 0);
      here.lanes.of[u] = active_in(w, m, u, lanes.of[u]);
    }
    vectors found = load_place(w, at, &x->places[i], wide, &here, count);
    for (int u = 0; u < count; u++)
      result.of[u] = i ? LLVMBuildSelect(w->b, lanes.of[u], found.of[u], result.of[u], "") : found.of[u];
  }
  return result;
}

vectors load_selected(widener *w, const place *at, const selected_address *x, LLVMTypeRef wide, mask m, int count) {
  int usual = usual_place(x);
  need_values(w, at->address);
  if (usual < 0) return blend(w, at, x, wide, m, count);
  const chosen_place *p = &x->places[usual];
  LLVMValueRef others = NULL;
  vectors firsts = {0}, slots = new_slots(w, wide, count);
  for (int u = 0; u < count; u++) {
    LLVMValueRef other = active_in(w, m, u, LLVMBuildNot(w->b, lanes_of_place(w, at->address, p, u, 0), ""));
    others = others ? LLVMBuildOr(w->b, others, other, "") : other;
  }
  LLVMBasicBlockRef follow = LLVMAppendBasicBlockInContext(w->p->context, w->function, "follow"),
                    choose = LLVMAppendBasicBlockInContext(w->p->context, w->function, "choose"),
                    done = LLVMAppendBasicBlockInContext(w->p->context, w->function, "accessed");
  /* freeze: an inactive lane may be poison, on which no branch may depend */
  LLVMBuildCondBr(w->b, any_in_vector(w, LLVMBuildFreeze(w->b, others, "")), choose, follow);
  LLVMPositionBuilderAtEnd(w->b, choose);
  store_slots(w, blend(w, at, x, wide, m, count), slots, count);
  LLVMBuildBr(w->b, done);
  LLVMPositionBuilderAtEnd(w->b, follow);
  for (int u = 0; u < count; u++) firsts.of[u] = pointer_to(w, at, p, u);
  place stepped = *at;
  if (p->stepped) stepped.step = p->step;
  store_slots(w, load_following(w, &stepped, wide, &firsts, m, count), slots, count);
  LLVMBuildBr(w->b, done);
  LLVMPositionBuilderAtEnd(w->b, done);
  return load_slots(w, wide, slots, count);
}

/* ---- before widening ---- */

typedef struct copies {
  const shapes *s;
  LLVMBuilderRef b;
  LLVMValueRef load; /* where copies are made */
  int node;
  struct {
    LLVMValueRef value, made;
    int node;
  } items[MOST_COPIES];
  int count;
} copies;

static bool differs(const copies *c, LLVMValueRef value) {
  return LLVMIsAInstruction(value) && shape_of(c->s, value).kind == SHAPE_VARYING;
}

static bool is_comparison_of_known(const copies *c, LLVMValueRef value) {
  return LLVMIsAICmpInst(value) && !differs(c, LLVMGetOperand(value, 0)) && !differs(c, LLVMGetOperand(value, 1));
}

/* Whether it is made anew at the load: it differs between lanes, and is no condition but a comparison of numbers that
   do not. */
static bool is_copied(const copies *c, LLVMValueRef value) {
  return differs(c, value) && (LLVMTypeOf(value) != c->s->graph->program->i1 || is_comparison_of_known(c, value));
}

/* Whether some operation is in another node than the load. */
static bool is_elsewhere(const copies *c, LLVMValueRef value) {
  if (!is_copied(c, value)) return false;
  if (graph_node_of(c->s->graph, value) != c->node) return true;
  if (LLVMIsAPHINode(value) || LLVMIsALoadInst(value)) return false;
  int count = LLVMIsACallInst(value) ? 2 : LLVMGetNumOperands(value);
  for (int n = 0; n < count; n++)
    if (is_elsewhere(c, LLVMGetOperand(value, (unsigned)n))) return true;
  return false;
}

static LLVMValueRef copy_to(copies *c, LLVMValueRef value) {
  if (!is_copied(c, value)) return value;
  for (int i = 0; i < c->count; i++)
    if (c->items[i].value == value && c->items[i].node == c->node) return c->items[i].made;
  LLVMValueRef made = LLVMInstructionClone(value);
  int count = LLVMIsACallInst(value) ? 2 : LLVMGetNumOperands(value);
  for (int n = 0; n < count; n++) LLVMSetOperand(made, (unsigned)n, copy_to(c, LLVMGetOperand(value, (unsigned)n)));
  LLVMPositionBuilderBefore(c->b, c->load);
  LLVMInsertIntoBuilder(c->b, made);
  if (c->count < MOST_COPIES) {
    c->items[c->count].value = value, c->items[c->count].made = made;
    c->items[c->count++].node = c->node;
  }
  return made;
}

void place_choices(program *p, kernel *k, int lanes) {
  const options *all = p->options;
  graph g;
  const char *why;
  selected_address x;
  if (!k->waits || all->level == 0 || all->checks || all->observe || !has_pass(p, PASS_SELECTED)) return;
  if (!graph_build(p, k->body, false, &g, &why)) return;
  flow f = graph_flow(&g);
  order o = order_of(&f);
  shapes s = shapes_at_best(&g, &o, (cut){CUT_ROW, lanes, 1, 1});
  copies *c = mw_alloc(sizeof *c);
  *c = (copies){.s = &s, .b = LLVMCreateBuilderInContext(p->context)};
  for (int i = 0; i < g.value_count && c->count < MOST_COPIES; i++) {
    LLVMValueRef load = g.values[i];
    if (!LLVMIsALoadInst(load) || !selects_places(&s, load, &x)) continue;
    c->load = load, c->node = g.node_of[i];
    LLVMValueRef address = LLVMGetOperand(load, 0);
    if (is_elsewhere(c, address)) LLVMSetOperand(load, 0, copy_to(c, address));
  }
  LLVMDisposeBuilder(c->b);
  free(c);
  shapes_free(&s);
  order_free(&o);
  graph_free(&g);
}
