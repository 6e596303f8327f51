/* The control flow of a barrier region for one gang: what linearization.h decides, as branches and masks. */
#include "emission.h"

#include <stdlib.h>
#include <string.h>

/* ---- masks of classes ---- */

mask class_mask(emission *e, int class) {
  const mask_class *c = &e->path->plan.classes[class];
  switch (c->kind) {
  case CLASS_REGION: return e->path->root;
  case CLASS_SAME: return class_mask(e, e->path->plan.item_class[c->level]);
  default: return (mask){.lanes = load_mask(e, e->path->masks[class])};
  }
}

void add_lanes(emission *e, vectors slots, vectors lanes) {
  for (int u = 0; u < e->w.vectors; u++)
    LLVMBuildStore(e->w.b, LLVMBuildOr(e->w.b, load_slot(e, mask_type(e), slots.of[u]), lanes.of[u], ""), slots.of[u]);
}

/* ---- where control goes ---- */

static LLVMBasicBlockRef start_in(const path *of, int level, int item) {
  const plan *p = &of->plan;
  return plan_is_loop_item(p, level, item) ? of->enters[plan_loop_at(p, level, item)] : of->bodies[item];
}

static LLVMBasicBlockRef item_start(emission *e, int level, int item) { return start_in(e->path, level, item); }

/* The block after the last item of a level, in this iteration. */
static LLVMBasicBlockRef end_of_level(emission *e, int level) {
  if (level < 0) return e->end;
  if (!e->path->plan.divergent_loop[level])
    refuse(&e->w, NULL, "some lanes return inside a loop that the others leave uniformly");
  return e->path->latches[level];
}

/* The block that control enters to run an item (-1: to end the level). */
static LLVMBasicBlockRef enter_item(emission *e, int level, int item) {
  if (item < 0) return end_of_level(e, level);
  if (level < 0 && e->path == &e->paths[0] && reconverged_at(e, item)) return start_in(&e->paths[1], level, item);
  int led = plan_class_led(&e->path->plan, level, item);
  if (led >= 0 && !e->path->plan.classes[led].sure) return e->path->guards[led];
  return item_start(e, level, item);
}

/* Empty the masks of a level: at its start, and for a loop at the start of every iteration. A class whose owner is
   skipped (all lanes left before it) must not find the lanes of an earlier gang or iteration. */
static void clear_level(emission *e, int level) {
  for (int c = 0; c < e->path->plan.class_count; c++)
    if (e->path->plan.classes[c].kind == CLASS_LED && e->path->plan.classes[c].level == level)
      store_mask(e, no_lanes(&e->w), e->path->masks[c]);
}

/* The block after an item from which no lane continues in the level. */
static LLVMBasicBlockRef after_item(emission *e, int level, int item) {
  return enter_item(e, level, plan_next(&e->path->plan, level, item, -1));
}

/* ---- edges ---- */

typedef struct edge {
  int level, from, to;             /* items of the level that holds both ends */
  int control_level, control_item; /* the level and item where control continues: see resolve */
  bool back;                       /* to the header of loop `level` */
  bool uniform;                    /* all lanes of the class take it at once */
} edge;

/* Follow an edge outwards through the loops that it leaves. Lanes leave a divergent loop in different iterations, so
   control stays in the loop. */
static edge resolve(emission *e, int source, int target, bool uniform) {
  const plan *p = &e->path->plan;
  edge g = {.level = p->order.innermost[source], .from = source, .uniform = uniform};
  g.control_level = g.level, g.control_item = source;
  for (;;) {
    if (g.level >= 0 && target == p->order.loops[g.level].header) {
      g.back = true;
      g.to = target;
      if (p->divergent_loop[g.level]) g.uniform = false;
      return g;
    }
    g.to = plan_item(p, g.level, target);
    if (g.to >= 0) return g;
    if (p->divergent_loop[g.level]) g.uniform = false;
    g.from = p->order.loops[g.level].header;
    g.level = p->order.loops[g.level].parent;
    if (g.uniform) g.control_level = g.level, g.control_item = g.from;
  }
}

/* The effects of an edge other than control: values of phis, lanes of masks. Returns where control goes if all lanes
   of the class take the edge together; NULL where they diverge, since the caller branches then. */
static LLVMBasicBlockRef take_edge(emission *e, int source, int target, bool uniform, mask taken) {
  const plan *p = &e->path->plan;
  edge g = resolve(e, source, target, uniform);
  mask here = class_mask(e, p->class_of[source]);
  if (g.back) {
    move_phis(e, source, target, true, taken, here); /* the values of lanes that left the loop are not read here */
    if (!p->divergent_loop[g.level]) return e->path->bodies[target];
    add_lanes(e, e->path->loop_next[g.level], mask_vectors(&e->w, taken));
    if (!uniform) return NULL;
    return after_item(e, g.control_level, g.control_item);
  }
  int from = plan_class_of_item(p, g.level, g.from), led = plan_class_led(p, g.level, g.to);
  bool same = from == plan_class_of_item(p, g.level, g.to) && g.uniform;
  /* A value that leaves a divergent loop may be stored for all lanes still in it: each lane overwrites its own when it
     leaves. So the mask of the loop suffices. */
  int l = p->order.innermost[source];
  bool leaves = l >= 0 && p->divergent_loop[l] && g.level != l;
  bool plain = same || plan_is_first(p, g.level, source, target);
  move_phis(e, source, target, plain, leaves ? here : taken, here);
  if (led >= 0) add_lanes(e, e->path->masks[led], mask_vectors(&e->w, taken));
  if (!uniform) return NULL;
  if (!g.uniform) return after_item(e, g.control_level, g.control_item);
  return enter_item(e, g.level, plan_next(p, g.level, g.from, g.to));
}

/* ---- nodes ---- */

/* A condition with a uniform half: `a && uniform`, where `a` must have no effect if that is false. left == NULL: it is
   none. */
static logic uniform_half(const emission *e, int n) {
  const widener *w = &e->w;
  LLVMValueRef condition = LLVMGetCondition(w->g->nodes[n].last);
  logic l = {0};
  if (LLVMIsAInstruction(condition) && graph_node_of(w->g, condition) == n) l = logic_of(condition);
  if (l.left && is_uniform(w, l.left)) l = (logic){l.right, l.left, l.both};
  return l.left && is_uniform(w, l.right) && !is_uniform(w, l.left) ? l : (logic){0};
}

/* Where the uniform half decides, all lanes continue to one successor of n; the builder is left where it does not. */
static void split_by_uniform_half(emission *e, int n, LLVMValueRef common, bool both, mask m) {
  widener *w = &e->w;
  LLVMBasicBlockRef decided = new_block(e, "decided"), open = new_block(e, "open");
  int level = e->path->plan.order.innermost[n], target = w->g->nodes[n].succs[both ? 1 : 0];
  /* it may be undefined where the other half decides */
  LLVMValueRef condition = LLVMBuildFreeze(w->b, value_scalar(w, common), "");
  LLVMBuildCondBr(w->b, condition, both ? open : decided, both ? decided : open);
  continue_at(e, decided);
  w->stamp++;
  take_edge(e, n, target, false, m);
  LLVMBuildBr(w->b, enter_item(e, level, plan_next_divergent(&e->path->plan, level, n)));
  continue_at(e, open);
  w->stamp++;
}

static void save_again(emission *e, int n, LLVMValueRef again) {
  int l = e->path->plan.order.innermost[n];
  if (!e->path->again[l]) e->path->again[l] = LLVMBuildAlloca(e->w.entry, e->w.p->i1, "");
  LLVMBuildStore(e->w.b, again, e->path->again[l]);
}

void divide_lanes(emission *e, int n, mask m) {
  widener *w = &e->w;
  const node *here = &w->g->nodes[n];
  logic half = uniform_half(e, n);
  vectors yes = value_vectors(w, half.left ? half.left : LLVMGetCondition(here->last)), no;
  if (half.left) split_by_uniform_half(e, n, half.right, half.both, m);
  LLVMValueRef none = LLVMConstNull(mask_type(e)), again = half.left ? NULL : counted_loop_continues(e, n);
  bool yes_is_mask = again && here->succs[0] == e->path->plan.order.loops[e->path->plan.order.innermost[n]].header;
  if (again) save_again(e, n, again);
  for (int u = 0; u < w->vectors; u++) {
    no.of[u] = LLVMBuildNot(w->b, yes.of[u], "");
    if (m.all) continue;
    /* select, not and: an inactive lane may be poison, which would poison the mask */
    if (!again || !yes_is_mask) yes.of[u] = LLVMBuildSelect(w->b, m.lanes.of[u], yes.of[u], none, "");
    if (!again || yes_is_mask) no.of[u] = LLVMBuildSelect(w->b, m.lanes.of[u], no.of[u], none, "");
  }
  /* The phi values of both edges are read before either edge stores to phis: a loop's next iteration and what leaves
     it use the same old values. */
  for (int s = 0; s < 2; s++) read_incoming(e, n, here->succs[s]);
  take_edge(e, n, here->succs[0], false, (mask){.lanes = yes});
  take_edge(e, n, here->succs[1], false, (mask){.lanes = no});
  int level = e->path->plan.order.innermost[n];
  LLVMBuildBr(w->b, enter_item(e, level, plan_next_divergent(&e->path->plan, level, n)));
}

LLVMBasicBlockRef take_uniform(emission *e, int n, int target) {
  return take_edge(e, n, target, true, class_mask(e, e->path->plan.class_of[n]));
}

static void end_node(emission *e, int n, mask m) {
  widener *w = &e->w;
  const node *here = &w->g->nodes[n];
  int level = e->path->plan.order.innermost[n];
  if (here->barrier) reach_barrier(e, n, m);
  if (here->barrier || here->succ_count == 0) {
    LLVMBuildBr(w->b, after_item(e, level, n));
    return;
  }
  if (here->succ_count == 1 || here->succs[0] == here->succs[1]) {
    LLVMBuildBr(w->b, take_edge(e, n, here->succs[0], true, m));
    return;
  }
  if (e->path->assumed_uniform && e->path->assumed_uniform[n]) {
    end_uniform_branch(e, n);
  } else if (e->path->divergent[n]) {
    divide_lanes(e, n, m);
  } else {
    LLVMBasicBlockRef targets[2] = {new_block(e, "target"), new_block(e, "target")};
    LLVMBuildCondBr(w->b, value_scalar(w, LLVMGetCondition(here->last)), targets[0], targets[1]);
    for (int i = 0; i < 2; i++) {
      continue_at(e, targets[i]);
      w->stamp++;
      LLVMBuildBr(w->b, take_uniform(e, n, here->succs[i]));
    }
  }
}

/* Set the debug location of an instruction in this function's scope. Inlined code keeps its line where that is in the
   kernel's own file; otherwise it has the line of the code before it. */
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
  continue_at(e, e->path->bodies[n]);
  w->stamp++;
  int l = e->path->plan.order.innermost[n];
  if (l >= 0 && e->path->plan.order.loops[l].header == n) clear_level(e, l), poison_joins(e, l);
  mask m = class_mask(e, e->path->plan.class_of[n]);
  w->mostly_full = e->too_long && !w->fallback && (e->path == &e->paths[1] || !e->paths[1].divergent);
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

static void emit_enter(emission *e, int l) {
  const plan *p = &e->path->plan;
  int header = p->order.loops[l].header;
  continue_at(e, e->path->enters[l]);
  if (p->divergent_loop[l]) {
    store_mask(e, mask_vectors(&e->w, class_mask(e, p->item_class[l])), e->path->masks[p->class_of[header]]);
    store_mask(e, no_lanes(&e->w), e->path->loop_next[l]);
  }
  LLVMBuildBr(e->w.b, e->path->bodies[header]);
}

/* The latch of a divergent loop; the back edge of a uniform one is a branch. */
static void emit_latch(emission *e, int l) {
  const plan *p = &e->path->plan;
  int header = p->order.loops[l].header, parent = p->order.loops[l].parent;
  continue_at(e, e->path->latches[l]);
  store_exit_values(e, l);
  vectors next = load_mask(e, e->path->loop_next[l]);
  store_mask(e, next, e->path->masks[p->class_of[header]]);
  store_mask(e, no_lanes(&e->w), e->path->loop_next[l]);
  LLVMValueRef again = e->path->again[l] ? load_slot(e, e->w.p->i1, e->path->again[l]) : any_lane(&e->w, next);
  LLVMBuildCondBr(e->w.b, again, e->path->bodies[header],
                  enter_item(e, parent, plan_next_divergent(p, parent, header)));
}

static void emit_guard(emission *e, int class) {
  const mask_class *c = &e->path->plan.classes[class];
  continue_at(e, e->path->guards[class]);
  LLVMValueRef any = any_lane(&e->w, load_mask(e, e->path->masks[class]));
  LLVMBuildCondBr(e->w.b, any, item_start(e, c->level, c->leader), after_item(e, c->level, c->leader));
}

bool begin_path(emission *e, path *to, const bool *divergent, int entry) {
  widener *w = &e->w;
  int nodes = w->g->count;
  const char *why;
  *to = (path){.divergent = mw_alloc((size_t)(nodes + 1) * sizeof(bool))};
  for (int n = 0; n < nodes; n++) to->divergent[n] = divergent[n];
  if (!plan_region(w->g, to->divergent, entry, &to->plan, &why)) {
    refuse(w, NULL, why);
    free_path(to);
    return false;
  }
  const plan *p = &to->plan;
  int loops = p->order.loop_count;
  to->bodies = mw_alloc((size_t)(nodes + 1) * sizeof *to->bodies);
  to->enters = mw_alloc((size_t)(loops + 1) * sizeof *to->enters);
  to->latches = mw_alloc((size_t)(loops + 1) * sizeof *to->latches);
  to->loop_next = mw_alloc((size_t)(loops + 1) * sizeof *to->loop_next);
  to->again = mw_alloc((size_t)(loops + 1) * sizeof *to->again);
  to->guards = mw_alloc((size_t)(p->class_count + 1) * sizeof *to->guards);
  to->masks = mw_alloc((size_t)(p->class_count + 1) * sizeof *to->masks);
  for (int i = 0; i < p->order.rpo_count; i++) to->bodies[p->order.rpo[i]] = new_block(e, "node");
  for (int l = 0; l < loops; l++) {
    to->enters[l] = new_block(e, "loop");
    to->latches[l] = new_block(e, "latch");
    to->loop_next[l] = new_slots(w, mask_type(e), w->vectors);
  }
  for (int c = 0; c < p->class_count; c++) {
    to->guards[c] = new_block(e, "guard");
    to->masks[c] = new_slots(w, mask_type(e), w->vectors);
  }
  return true;
}

static void drop(LLVMBasicBlockRef block) {
  if (block && !LLVMGetBasicBlockTerminator(block)) LLVMDeleteBasicBlock(block);
}

void drop_path(path *of) {
  const plan *p = &of->plan;
  for (int i = 0; i < p->order.rpo_count; i++) drop(of->bodies[p->order.rpo[i]]);
  for (int l = 0; l < p->order.loop_count; l++) drop(of->enters[l]), drop(of->latches[l]);
  for (int c = 0; c < p->class_count; c++) drop(of->guards[c]);
}

void free_path(path *of) {
  if (of->divergent) plan_free(&of->plan);
  free(of->divergent);
  free(of->assumed_uniform);
  free(of->bodies);
  free(of->enters);
  free(of->latches);
  free(of->loop_next);
  free(of->again);
  free(of->guards);
  free(of->masks);
  *of = (path){0};
}

/* Whether a branch leads to the block, but it has not been emitted. */
static bool is_pending(LLVMBasicBlockRef block) {
  return !LLVMGetBasicBlockTerminator(block) && LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
}

/* Emit the blocks to which emitted code branches: of two paths, one has little of the code after they join. False:
   there were none. */
static bool emit_pending(emission *e) {
  const path *of = e->path;
  bool found = false, more = true;
  while (more && !e->w.why) {
    more = false;
    for (int l = 0; l < of->plan.order.loop_count && !e->w.why; l++) {
      if (is_pending(of->enters[l])) emit_enter(e, l), more = true;
      if (is_pending(of->latches[l])) emit_latch(e, l), more = true;
    }
    for (int c = 0; c < of->plan.class_count && !e->w.why; c++)
      if (is_pending(of->guards[c])) emit_guard(e, c), more = true;
    for (int i = 0; i < of->plan.order.rpo_count && !e->w.why; i++)
      if (is_pending(of->bodies[of->plan.order.rpo[i]])) emit_node(e, of->plan.order.rpo[i]), more = true;
    found = found || more;
  }
  return found;
}

void emit_path(emission *e, int entry) {
  clear_level(e, -1);
  LLVMBuildBr(e->w.b, enter_item(e, -1, plan_item(&e->path->plan, -1, entry)));
  emit_pending(e);
}

void emit_rest(emission *e) {
  bool more = true;
  while (more) {
    more = false;
    for (int i = 0; i < 2; i++) {
      e->path = &e->paths[i];
      if (e->path->divergent && emit_pending(e)) more = true;
    }
  }
  for (int i = 0; i < 2 && !e->w.why; i++)
    if (e->paths[i].divergent) drop_path(&e->paths[i]);
  e->path = &e->paths[0];
}
