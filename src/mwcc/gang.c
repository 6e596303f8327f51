/* The control flow of a barrier region for one gang: what plan.h decides, as branches and masks. */
#include "emission.h"

#include <stdlib.h>
#include <string.h>

/* ---- masks of classes ---- */

static mask class_mask(emission *e, int class) {
  const mask_class *c = &e->plan.classes[class];
  switch (c->kind) {
  case CLASS_REGION: return e->root;
  case CLASS_SAME: return class_mask(e, e->plan.item_class[c->level]);
  default: return (mask){.lanes = load_mask(e, e->masks[class])};
  }
}

void add_lanes(emission *e, parts slots, parts lanes) {
  for (int u = 0; u < e->w.parts; u++)
    LLVMBuildStore(e->w.b, LLVMBuildOr(e->w.b, load_slot(e, mask_type(e), slots.of[u]), lanes.of[u], ""), slots.of[u]);
}

/* ---- where control goes ---- */

static LLVMBasicBlockRef item_start(emission *e, int level, int item) {
  return plan_is_loop_item(&e->plan, level, item) ? e->enters[plan_loop_at(&e->plan, level, item)] : e->bodies[item];
}

/* Behind the last item of a level, in this round. */
static LLVMBasicBlockRef end_of_level(emission *e, int level) {
  if (level < 0) return e->end;
  if (!e->plan.divergent_loop[level]) refuse(&e->w, NULL, "lanes end inside a loop that all leave together");
  return e->latches[level];
}

/* Where control is to go for an item (-1: for the level's end). */
static LLVMBasicBlockRef enter_item(emission *e, int level, int item) {
  if (item < 0) return end_of_level(e, level);
  int led = plan_class_led(&e->plan, level, item);
  if (led >= 0 && !e->plan.classes[led].sure) return e->guards[led];
  return item_start(e, level, item);
}

/* No lane has come to the classes of a level yet: at its start, and in a loop at the start of every round. A class whose
   owner is not run on the way (all lanes left before it) must not find the lanes of an earlier gang or round. */
static void clear_level(emission *e, int level) {
  for (int c = 0; c < e->plan.class_count; c++)
    if (e->plan.classes[c].kind == CLASS_LED && e->plan.classes[c].level == level)
      store_mask(e, no_lanes(&e->w), e->masks[c]);
}

/* Behind an item whose lanes are in the level no more, or that had none. */
static LLVMBasicBlockRef after_item(emission *e, int level, int item) {
  return enter_item(e, level, plan_next(&e->plan, level, item, -1));
}

/* ---- edges ---- */

typedef struct edge {
  int level, from, to;             /* items of the level that holds both ends */
  int control_level, control_item; /* the innermost place where control goes on as it must: see resolve */
  bool back;                       /* to the header of loop `level` */
  bool together;                   /* all lanes of the class take it at once */
} edge;

/* Follow an edge outwards through the loops that it leaves. Lanes that leave a divergent loop drop out of it one by one:
   control stays in the loop. */
static edge resolve(emission *e, int source, int target, bool together) {
  const plan *p = &e->plan;
  edge g = {.level = p->order.innermost[source], .from = source, .together = together};
  g.control_level = g.level, g.control_item = source;
  for (;;) {
    if (g.level >= 0 && target == p->order.loops[g.level].header) {
      g.back = true;
      g.to = target;
      if (p->divergent_loop[g.level]) g.together = false;
      return g;
    }
    g.to = plan_item(p, g.level, target);
    if (g.to >= 0) return g;
    if (p->divergent_loop[g.level]) g.together = false;
    g.from = p->order.loops[g.level].header;
    g.level = p->order.loops[g.level].parent;
    if (g.together) g.control_level = g.level, g.control_item = g.from;
  }
}

static LLVMValueRef incoming_from(LLVMValueRef phi, LLVMBasicBlockRef from) {
  for (unsigned n = 0; n < LLVMCountIncoming(phi); n++)
    if (LLVMGetIncomingBlock(phi, n) == from) return LLVMGetIncomingValue(phi, n);
  return NULL;
}

static void read_incoming(emission *e, int source, int target) {
  const graph *g = e->w.g;
  for (LLVMValueRef i = g->nodes[target].first; i && LLVMIsAPHINode(i); i = LLVMGetNextInstruction(i)) {
    LLVMValueRef incoming = incoming_from(i, g->nodes[source].block);
    if (incoming) value_kept(&e->w, incoming);
  }
}

/* A value in the form in which a phi is kept that takes it over. */
static parts form_for(widener *w, LLVMValueRef phi, LLVMValueRef value) {
  parts form = {0};
  if (is_varying(w, phi)) return value_vectors(w, value);
  if (!is_parted(w, phi)) return (parts){{value_scalar(w, value)}};
  for (int u = 0; u < w->parts; u++) form.of[u] = part_scalar(w, value, u);
  return form;
}

static void move_phis(emission *e, int source, int target, bool plain, mask taken) {
  widener *w = &e->w;
  const struct node *to = &w->g->nodes[target];
  LLVMValueRef phis[128];
  parts forms[128];
  int count = 0;
  LLVMBasicBlockRef from = w->g->nodes[source].block;
  if (LLVMGetFirstInstruction(to->block) != to->first) return; /* behind a barrier: the same basic block */
  /* All are read before any is written: they happen at once. */
  for (LLVMValueRef i = to->first; i && LLVMIsAPHINode(i); i = LLVMGetNextInstruction(i)) {
    if (count == (int)MW_COUNT(phis)) {
      refuse(w, i, "it has very many values at one join");
      return;
    }
    LLVMValueRef incoming = incoming_from(i, from);
    if (!incoming) {
      refuse(w, i, "a join without a value for one of its edges");
      return;
    }
    phis[count] = i;
    forms[count++] = form_for(w, i, incoming);
  }
  for (int n = 0; n < count; n++) {
    parts slots = slot_of(w, phis[n]);
    for (int u = 0; u < form_count(w, phis[n]); u++) {
      LLVMValueRef form = forms[n].of[u];
      if (is_varying(w, phis[n]) && !plain && !taken.all)
        form = LLVMBuildSelect(w->b, taken.lanes.of[u], form, load_slot(e, LLVMTypeOf(form), slots.of[u]), "");
      LLVMBuildStore(w->b, form, slots.of[u]);
    }
  }
}

/* What an edge does besides moving control: values for the joins, lanes for the masks. Returns where control goes if all
   lanes of the class take it together; where they part, that is the branch's affair (NULL). */
static LLVMBasicBlockRef take_edge(emission *e, int source, int target, bool together, mask taken) {
  const plan *p = &e->plan;
  edge g = resolve(e, source, target, together);
  if (g.back) {
    move_phis(e, source, target, true, taken); /* lanes that left the loop have their values elsewhere */
    if (!p->divergent_loop[g.level]) return e->bodies[target];
    add_lanes(e, e->loop_next[g.level], mask_vectors(&e->w, taken));
    if (!together) return NULL;
    return after_item(e, g.control_level, g.control_item);
  }
  int from = plan_class_of_item(p, g.level, g.from), led = plan_class_led(p, g.level, g.to);
  bool same = from == plan_class_of_item(p, g.level, g.to) && g.together;
  move_phis(e, source, target, same, taken);
  if (led >= 0) add_lanes(e, e->masks[led], mask_vectors(&e->w, taken));
  if (!together) return NULL;
  if (!g.together) return after_item(e, g.control_level, g.control_item);
  return enter_item(e, g.level, plan_next(p, g.level, g.from, g.to));
}

/* ---- nodes ---- */

static void end_node(emission *e, int n, mask m) {
  widener *w = &e->w;
  const node *here = &w->g->nodes[n];
  int level = e->plan.order.innermost[n], class = e->plan.class_of[n];
  if (here->barrier) reach_barrier(e, n, m);
  if (here->barrier || here->succ_count == 0) {
    LLVMBuildBr(w->b, after_item(e, level, n));
    return;
  }
  if (here->succ_count == 1 || here->succs[0] == here->succs[1]) {
    LLVMBuildBr(w->b, take_edge(e, n, here->succs[0], true, m));
    return;
  }
  LLVMValueRef condition = LLVMGetCondition(here->last);
  if (!w->shapes->divergent[n]) {
    LLVMBasicBlockRef ways[2] = {new_block(e, "way"), new_block(e, "way")};
    LLVMBuildCondBr(w->b, value_scalar(w, condition), ways[0], ways[1]);
    for (int i = 0; i < 2; i++) {
      go_on_at(e, ways[i]);
      w->stamp++;
      LLVMBuildBr(w->b, take_edge(e, n, here->succs[i], true, class_mask(e, class)));
    }
    return;
  }
  parts yes = value_vectors(w, condition), no;
  LLVMValueRef none = LLVMConstNull(mask_type(e));
  for (int u = 0; u < w->parts; u++) {
    no.of[u] = LLVMBuildNot(w->b, yes.of[u], "");
    if (m.all) continue;
    /* select, not and: a lane that is not active may hold anything, and must not spoil the mask */
    yes.of[u] = LLVMBuildSelect(w->b, m.lanes.of[u], yes.of[u], none, "");
    no.of[u] = LLVMBuildSelect(w->b, m.lanes.of[u], no.of[u], none, "");
  }
  /* Both edges' values are read before either edge changes a join's: a loop's next round and what it leaves behind are
     made from the same old values. */
  for (int s = 0; s < 2; s++) read_incoming(e, n, here->succs[s]);
  take_edge(e, n, here->succs[0], false, (mask){.lanes = yes});
  take_edge(e, n, here->succs[1], false, (mask){.lanes = no});
  LLVMBuildBr(w->b, enter_item(e, level, plan_next_apart(&e->plan, level, n)));
}

/* The position of an instruction, in this function's scope: inlined code keeps its line where it stands in the kernel's
   own file, else that of what comes before it. */
static void set_position(emission *e, LLVMValueRef i) {
  widener *w = &e->w;
  unsigned length = 0, line = LLVMGetDebugLocLine(i);
  const char *file = LLVMGetDebugLocFilename(i, &length);
  if (!line || !file || strlen(w->k->file) != length || strncmp(file, w->k->file, length) != 0) return;
  LLVMMetadataRef at = LLVMDIBuilderCreateDebugLocation(w->p->context, line, LLVMGetDebugLocColumn(i), e->scope, NULL);
  LLVMSetCurrentDebugLocation2(w->b, at);
}

static void emit_node(emission *e, int n) {
  widener *w = &e->w;
  const node *here = &w->g->nodes[n];
  go_on_at(e, e->bodies[n]);
  w->stamp++;
  int round = e->plan.order.innermost[n];
  if (round >= 0 && e->plan.order.loops[round].header == n) clear_level(e, round);
  mask m = class_mask(e, e->plan.class_of[n]);
  for (LLVMValueRef i = here->first; i != here->last && !w->why; i = LLVMGetNextInstruction(i)) {
    if (LLVMIsAPHINode(i)) continue;
    set_position(e, i);
    widen_instruction(w, i, m);
  }
  set_position(e, here->last);
  if (!w->why) end_node(e, n, m);
  LLVMSetCurrentDebugLocation2(w->b, NULL);
}

/* ---- loops and guards of a region ---- */

static void emit_loop(emission *e, int l) {
  const plan *p = &e->plan;
  int header = p->order.loops[l].header, parent = p->order.loops[l].parent;
  go_on_at(e, e->enters[l]);
  if (p->divergent_loop[l]) {
    int root = p->class_of[header];
    store_mask(e, mask_vectors(&e->w, class_mask(e, p->item_class[l])), e->masks[root]);
    store_mask(e, no_lanes(&e->w), e->loop_next[l]);
    LLVMBuildBr(e->w.b, e->bodies[header]);
    go_on_at(e, e->latches[l]);
    parts next = load_mask(e, e->loop_next[l]);
    store_mask(e, next, e->masks[root]);
    store_mask(e, no_lanes(&e->w), e->loop_next[l]);
    LLVMBuildCondBr(e->w.b, any_lane(&e->w, next), e->bodies[header],
                    enter_item(e, parent, plan_next_apart(p, parent, header)));
  } else {
    LLVMBuildBr(e->w.b, e->bodies[header]);
    go_on_at(e, e->latches[l]);
    LLVMBuildUnreachable(e->w.b); /* nobody comes: a uniform loop's back edge is a branch */
  }
}

static void emit_guard(emission *e, int class) {
  const mask_class *c = &e->plan.classes[class];
  go_on_at(e, e->guards[class]);
  if (c->kind != CLASS_LED || c->sure) {
    LLVMBuildUnreachable(e->w.b); /* nobody comes */
    return;
  }
  LLVMValueRef any = any_lane(&e->w, load_mask(e, e->masks[class]));
  LLVMBuildCondBr(e->w.b, any, item_start(e, c->level, c->leader), after_item(e, c->level, c->leader));
}

void prepare_blocks(emission *e) {
  const plan *p = &e->plan;
  int nodes = e->w.g->count, loops = p->order.loop_count;
  e->bodies = mw_alloc((size_t)(nodes + 1) * sizeof *e->bodies);
  e->enters = mw_alloc((size_t)(loops + 1) * sizeof *e->enters);
  e->latches = mw_alloc((size_t)(loops + 1) * sizeof *e->latches);
  e->loop_next = mw_alloc((size_t)(loops + 1) * sizeof *e->loop_next);
  e->guards = mw_alloc((size_t)(p->class_count + 1) * sizeof *e->guards);
  e->masks = mw_alloc((size_t)(p->class_count + 1) * sizeof *e->masks);
  for (int i = 0; i < p->order.rpo_count; i++) e->bodies[p->order.rpo[i]] = new_block(e, "node");
  for (int l = 0; l < loops; l++) {
    e->enters[l] = new_block(e, "loop");
    e->latches[l] = new_block(e, "latch");
    e->loop_next[l] = new_slots(&e->w, mask_type(e), e->w.parts);
  }
  for (int c = 0; c < p->class_count; c++) {
    e->guards[c] = new_block(e, "guard");
    e->masks[c] = new_slots(&e->w, mask_type(e), e->w.parts);
  }
  e->end = new_block(e, "region.end");
}

void forget_blocks(emission *e) {
  free(e->bodies);
  free(e->enters);
  free(e->latches);
  free(e->loop_next);
  free(e->guards);
  free(e->masks);
}

void emit_gang(emission *e, int entry) {
  clear_level(e, -1);
  LLVMBuildBr(e->w.b, enter_item(e, -1, entry));
  for (int l = 0; l < e->plan.order.loop_count && !e->w.why; l++) emit_loop(e, l);
  for (int c = 0; c < e->plan.class_count && !e->w.why; c++) emit_guard(e, c);
  for (int i = 0; i < e->plan.order.rpo_count && !e->w.why; i++) emit_node(e, e->plan.order.rpo[i]);
}
