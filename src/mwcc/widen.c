/* The block function of the SIMD tier: see widen.h and plan.h.
 *
 *   for each block
 *     state = the first region
 *     while there is a state
 *       for each gang: its saved values are loaded, the region is run, and at a barrier values are saved
 *       state = the region behind the barrier that the gangs reached
 *
 * A region begins at the kernel's entry or behind a barrier and ends at barriers and returns; all gangs run it before any
 * goes on, which is what a barrier asks for. Lanes that returned are dead from then on and nobody waits for them. That
 * all gangs reach the same barrier is certain where the branches to it are uniform for the whole block; other kernels
 * are refused and run as fibers. */
#include "widen.h"

#include <stdlib.h>
#include <string.h>

enum { STATE_EXIT = -1 };

typedef struct emission {
  widener w;
  bool tail;                     /* the last gang of a row may have lanes past its end */
  int *regions, region_count;    /* the nodes where regions begin */
  bool can_die;                  /* lanes may return while others go on to a barrier */
  LLVMValueRef alive, alive_new; /* by gang, saved; of this gang (slot) */
  LLVMValueRef next_state;       /* slot */
  LLVMValueRef *votes;           /* by node: the running result of a counting barrier (slot), and the last finished */
  LLVMValueRef *voted;
  LLVMMetadataRef scope; /* for source positions */
  /* of the region being emitted */
  plan plan;
  mask root;
  LLVMValueRef *masks;                                        /* by class: slots, for LED and LOOP */
  LLVMValueRef *loop_next;                                    /* by loop: lanes that go round (slot) */
  LLVMBasicBlockRef *bodies, *enters, *latches, *guards, end; /* by source, loop, loop, class */
} emission;

static LLVMBasicBlockRef new_block(emission *e, const char *name) {
  return LLVMAppendBasicBlockInContext(e->w.p->context, e->w.function, name);
}

static void go_on_at(emission *e, LLVMBasicBlockRef block) { LLVMPositionBuilderAtEnd(e->w.b, block); }

static LLVMValueRef load(emission *e, LLVMTypeRef type, LLVMValueRef slot) {
  return LLVMBuildLoad2(e->w.b, type, slot, "");
}

static LLVMTypeRef mask_type(emission *e) { return vector_type(&e->w, e->w.p->i1); }

/* ---- masks of classes ---- */

static mask class_mask(emission *e, int class) {
  const mask_class *c = &e->plan.classes[class];
  switch (c->kind) {
  case CLASS_REGION: return e->root;
  case CLASS_SAME: return class_mask(e, e->plan.item_class[c->level]);
  default: return (mask){.lanes = load(e, mask_type(e), e->masks[class])};
  }
}

static void add_lanes(emission *e, LLVMValueRef slot, LLVMValueRef lanes) {
  LLVMBuildStore(e->w.b, LLVMBuildOr(e->w.b, load(e, mask_type(e), slot), lanes, ""), slot);
}

/* ---- where control goes ---- */

static LLVMBasicBlockRef continuation(emission *e, int class);

static LLVMBasicBlockRef enter_item(emission *e, int level, int item) {
  return plan_is_loop_item(&e->plan, level, item) ? e->enters[plan_loop_at(&e->plan, level, item)] : e->bodies[item];
}

/* Behind all that an item started. */
static LLVMBasicBlockRef after_item(emission *e, int level, int item) {
  int meet = plan_postdominator(&e->plan, level, item), class = plan_class_of_item(&e->plan, level, item);
  if (meet >= 0 && meet < e->w.g->count && plan_class_of_item(&e->plan, level, meet) == class)
    return enter_item(e, level, meet);
  return continuation(e, class);
}

static LLVMBasicBlockRef chain_start(emission *e, int level, int owner) {
  int *chain = mw_alloc((size_t)(e->plan.class_count + 1) * sizeof(int));
  int count = plan_chain(&e->plan, level, owner, chain);
  LLVMBasicBlockRef block = count ? e->guards[chain[0]] : after_item(e, level, owner);
  free(chain);
  return block;
}

/* Where control goes when a class is done. */
static LLVMBasicBlockRef continuation(emission *e, int class) {
  const mask_class *c = &e->plan.classes[class];
  switch (c->kind) {
  case CLASS_REGION: return e->end;
  case CLASS_LOOP: return e->latches[c->level];
  case CLASS_SAME: refuse(&e->w, NULL, "lanes end inside a loop that all leave together"); return e->end;
  case CLASS_LED: break;
  }
  int *chain = mw_alloc((size_t)(e->plan.class_count + 1) * sizeof(int));
  int count = plan_chain(&e->plan, c->level, c->owner, chain), at = 0;
  while (chain[at] != class) at++;
  LLVMBasicBlockRef block = at + 1 < count ? e->guards[chain[at + 1]] : after_item(e, c->level, c->owner);
  free(chain);
  return block;
}

static void clear_owned(emission *e, int level, int owner) {
  int *chain = mw_alloc((size_t)(e->plan.class_count + 1) * sizeof(int));
  int count = plan_owned(&e->plan, level, owner, chain);
  for (int i = 0; i < count; i++) LLVMBuildStore(e->w.b, LLVMConstNull(mask_type(e)), e->masks[chain[i]]);
  free(chain);
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

static void move_phis(emission *e, int source, int target, bool plain, mask taken) {
  widener *w = &e->w;
  const struct node *to = &w->g->nodes[target];
  LLVMValueRef forms[256], phis[256];
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
    forms[count++] = is_uniform(w, i) || is_affine(w, i) ? value_scalar(w, incoming) : value_vector(w, incoming);
  }
  for (int n = 0; n < count; n++) {
    LLVMValueRef form = forms[n], slot = slot_of(w, phis[n]);
    bool vector = !is_uniform(w, phis[n]) && !is_affine(w, phis[n]);
    if (vector && !plain && !taken.all)
      form = LLVMBuildSelect(w->b, taken.lanes, form, load(e, LLVMTypeOf(form), slot), "");
    LLVMBuildStore(w->b, form, slot);
  }
}

/* What an edge does besides moving control: values for the joins, lanes for the masks. Returns where control goes if all
   lanes take it together. */
static LLVMBasicBlockRef take_edge(emission *e, int source, int target, bool together, mask taken) {
  const plan *p = &e->plan;
  edge g = resolve(e, source, target, together);
  if (g.back) {
    move_phis(e, source, target, true, taken); /* lanes that left the loop have their values elsewhere */
    if (!p->divergent_loop[g.level]) return e->bodies[target];
    add_lanes(e, e->loop_next[g.level], mask_vector(&e->w, taken));
    return continuation(e, plan_class_of_item(p, g.control_level, g.control_item));
  }
  int from = plan_class_of_item(p, g.level, g.from), to = plan_class_of_item(p, g.level, g.to);
  bool same = from == to && g.together;
  move_phis(e, source, target, same, taken);
  const mask_class *c = &p->classes[to];
  if (from != to && c->kind == CLASS_LED && c->level == g.level && c->leader == g.to)
    add_lanes(e, e->masks[to], mask_vector(&e->w, taken));
  if (same) return enter_item(e, g.level, g.to);
  /* all lanes of the class join others: nobody else waits, so the class they join is next */
  if (g.together && from != to && c->kind == CLASS_LED && c->leader == g.to &&
      plan_class_of_item(p, g.level, c->owner) == from)
    return e->guards[to];
  return continuation(e, plan_class_of_item(p, g.control_level, g.control_item));
}

/* ---- barriers ---- */

static int region_at(const emission *e, int source) {
  for (int i = 0; i < e->region_count; i++)
    if (e->regions[i] == source) return i;
  return STATE_EXIT;
}

static bool is_block_uniform(const emission *e, LLVMValueRef value) {
  return shape_of(e->w.shapes, value).kind <= SHAPE_BLOCK;
}

/* Where a value waits while other gangs run: one entry a gang. A value that is uniform for the block has one place to be
   read from and one to be written to, so that a gang does not see what an earlier one made of it in the same region. */
static LLVMValueRef saved_of(emission *e, LLVMValueRef value) {
  kept *k = kept_of(&e->w, value);
  if (!k->saved) {
    LLVMTypeRef type = kept_type(&e->w, value);
    k->saved = is_block_uniform(e, value) ? LLVMBuildArrayAlloca(e->w.entry, type, constant_i32(e->w.p, 2), "")
                                          : LLVMBuildArrayAlloca(e->w.entry, type, e->w.gangs, "");
  }
  return k->saved;
}

static LLVMValueRef saved_place(emission *e, LLVMValueRef value, bool writing) {
  LLVMValueRef base = saved_of(e, value), index;
  if (is_block_uniform(e, value))
    index = constant_i32(e->w.p, writing);
  else
    index = load(e, e->w.p->i32, e->w.gang);
  return LLVMBuildInBoundsGEP2(e->w.b, kept_type(&e->w, value), base, &index, 1, "");
}

static void count_vote(emission *e, int source, mask m) {
  widener *w = &e->w;
  LLVMValueRef call = w->g->nodes[source].last;
  if (!LLVMGetFirstUse(call) || LLVMGetNumArgOperands(call) == 0) return;
  LLVMValueRef predicate = value_vector(w, LLVMGetOperand(call, 0)), sum = load(e, w->p->i32, e->votes[source]);
  LLVMValueRef yes = LLVMBuildICmp(w->b, LLVMIntNE, predicate, LLVMConstNull(LLVMTypeOf(predicate)), "");
  yes = LLVMBuildSelect(w->b, mask_vector(w, m), yes, LLVMConstNull(mask_type(e)), "");
  LLVMTypeRef bits = LLVMIntTypeInContext(w->p->context, (unsigned)w->width);
  LLVMValueRef word = LLVMBuildBitCast(w->b, yes, bits, "");
  const char *name = callee_name(call);
  if (strstr(name, ".popc")) {
    LLVMValueRef ones = call_intrinsic(w->p, w->b, "llvm.ctpop", &bits, 1, &word, 1);
    ones = w->width < 32   ? LLVMBuildZExt(w->b, ones, w->p->i32, "")
           : w->width > 32 ? LLVMBuildTrunc(w->b, ones, w->p->i32, "")
                           : ones;
    sum = LLVMBuildAdd(w->b, sum, ones, "");
  } else if (strstr(name, ".and")) {
    LLVMValueRef active = LLVMBuildBitCast(w->b, mask_vector(w, m), bits, "");
    LLVMValueRef every = LLVMBuildICmp(w->b, LLVMIntEQ, word, active, "");
    sum = LLVMBuildAnd(w->b, sum, LLVMBuildZExt(w->b, every, w->p->i32, ""), "");
  } else {
    sum = LLVMBuildOr(w->b, sum, LLVMBuildZExt(w->b, any_lane(w, yes), w->p->i32, ""), "");
  }
  LLVMBuildStore(w->b, sum, e->votes[source]);
}

static void reach_barrier(emission *e, int source, mask m) {
  widener *w = &e->w;
  count_vote(e, source, m);
  const live_set *behind = &w->live->behind[source];
  for (size_t i = 0; i < behind->count; i++) {
    LLVMValueRef value = behind->values[i];
    if (value == w->g->nodes[source].last) continue; /* a vote's result is known when all have voted */
    LLVMBuildStore(w->b, value_kept(w, value), saved_place(e, value, true));
  }
  if (e->can_die) add_lanes(e, e->alive_new, mask_vector(w, m));
  LLVMBuildStore(w->b, constant_i32(w->p, (unsigned)region_at(e, w->g->nodes[source].succs[0])), e->next_state);
}

/* ---- nodes ---- */

static void end_node(emission *e, int n, mask m) {
  widener *w = &e->w;
  const node *here = &w->g->nodes[n];
  int level = e->plan.order.innermost[n], class = e->plan.class_of[n];
  if (here->barrier) reach_barrier(e, n, m);
  if (here->barrier || here->succ_count == 0) {
    LLVMBuildBr(w->b, continuation(e, class));
    return;
  }
  if (here->succ_count == 1 || here->succs[0] == here->succs[1]) {
    LLVMBuildBr(w->b, take_edge(e, n, here->succs[0], true, m));
    return;
  }
  LLVMValueRef condition = LLVMGetCondition(here->last);
  clear_owned(e, level, n);
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
  LLVMValueRef yes = value_vector(w, condition), no = LLVMBuildNot(w->b, yes, ""), none = LLVMConstNull(mask_type(e));
  /* select, not and: a lane that is not active may hold anything, and must not spoil the mask */
  if (!m.all) yes = LLVMBuildSelect(w->b, m.lanes, yes, none, ""), no = LLVMBuildSelect(w->b, m.lanes, no, none, "");
  /* Both edges' values are read before either edge changes a join's: a loop's next round and what it leaves behind are
     made from the same old values. */
  for (int s = 0; s < 2; s++) read_incoming(e, n, here->succs[s]);
  take_edge(e, n, here->succs[0], false, (mask){.lanes = yes});
  take_edge(e, n, here->succs[1], false, (mask){.lanes = no});
  LLVMBuildBr(w->b, chain_start(e, level, n));
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

/* ---- loops and chains of a region ---- */

static void emit_loop(emission *e, int l) {
  const plan *p = &e->plan;
  int header = p->order.loops[l].header, parent = p->order.loops[l].parent;
  go_on_at(e, e->enters[l]);
  clear_owned(e, parent, header);
  if (p->divergent_loop[l]) {
    int root = p->class_of[header];
    LLVMBuildStore(e->w.b, mask_vector(&e->w, class_mask(e, p->item_class[l])), e->masks[root]);
    LLVMBuildStore(e->w.b, LLVMConstNull(mask_type(e)), e->loop_next[l]);
    LLVMBuildBr(e->w.b, e->bodies[header]);
    go_on_at(e, e->latches[l]);
    LLVMValueRef next = load(e, mask_type(e), e->loop_next[l]);
    LLVMBuildStore(e->w.b, next, e->masks[root]);
    LLVMBuildStore(e->w.b, LLVMConstNull(mask_type(e)), e->loop_next[l]);
    LLVMBuildCondBr(e->w.b, any_lane(&e->w, next), e->bodies[header], chain_start(e, parent, header));
  } else {
    LLVMBuildBr(e->w.b, e->bodies[header]);
    go_on_at(e, e->latches[l]);
    LLVMBuildUnreachable(e->w.b); /* nobody comes: a uniform loop's back edge is a branch */
  }
}

static void emit_guard(emission *e, int class) {
  const mask_class *c = &e->plan.classes[class];
  go_on_at(e, e->guards[class]);
  if (c->kind != CLASS_LED) {
    LLVMBuildUnreachable(e->w.b);
    return;
  }
  LLVMValueRef any = any_lane(&e->w, load(e, mask_type(e), e->masks[class]));
  LLVMBuildCondBr(e->w.b, any, enter_item(e, c->level, c->leader), continuation(e, class));
}

static void prepare_blocks(emission *e) {
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
    e->loop_next[l] = LLVMBuildAlloca(e->w.entry, mask_type(e), "");
  }
  for (int c = 0; c < p->class_count; c++) {
    e->guards[c] = new_block(e, "guard");
    e->masks[c] = LLVMBuildAlloca(e->w.entry, mask_type(e), "");
  }
  e->end = new_block(e, "region.end");
}

static void forget_blocks(emission *e) {
  free(e->bodies);
  free(e->enters);
  free(e->latches);
  free(e->loop_next);
  free(e->guards);
  free(e->masks);
}

/* ---- which regions there are, and whether gangs agree on the way ---- */

static bool ends_apart(const emission *e, const plan *p, int n) {
  const node *here = &e->w.g->nodes[n];
  if (here->barrier || here->succ_count < 2) return false;
  bool gang_only = shape_of(e->w.shapes, LLVMGetCondition(here->last)).kind != SHAPE_BLOCK;
  return gang_only && LLVMIsAInstruction(LLVMGetCondition(here->last)) && p->order.ipdom[n] < 0;
}

static void check_region(emission *e, const plan *p) {
  int barriers = 0, class = -1;
  bool returns = false, apart = false, gang_apart = false, classes_differ = false;
  for (int i = 0; i < p->order.rpo_count; i++) {
    int n = p->order.rpo[i];
    const node *here = &e->w.g->nodes[n];
    if (here->barrier) {
      if (barriers++ && p->class_of[n] != class) classes_differ = true;
      class = p->class_of[n];
      if (p->order.innermost[n] >= 0) refuse(&e->w, here->last, "a barrier in a loop of its own region");
    }
    if (here->returns) returns = true;
    if (ends_apart(e, p, n)) {
      apart = true;
      if (!e->w.shapes->divergent[n]) gang_apart = true;
    }
  }
  if (barriers > 1 && (classes_differ || gang_apart))
    refuse(&e->w, NULL, "which barrier comes next may differ between its threads");
  if (barriers && returns && apart) e->can_die = true;
}

static void find_regions(emission *e) {
  const graph *g = e->w.g;
  e->regions = mw_alloc((size_t)(g->count + 1) * sizeof(int));
  e->regions[e->region_count++] = 0;
  for (int n = 0; n < g->count; n++)
    if (g->nodes[n].barrier && region_at(e, g->nodes[n].succs[0]) == STATE_EXIT)
      e->regions[e->region_count++] = g->nodes[n].succs[0];
  for (int i = 0; i < e->region_count && !e->w.why; i++) {
    plan p;
    const char *why;
    if (!plan_region(g, e->w.shapes->divergent, e->regions[i], &p, &why)) {
      refuse(&e->w, NULL, why);
      return;
    }
    check_region(e, &p);
    plan_free(&p);
  }
}

/* ---- one region for all gangs ---- */

typedef struct counted {
  LLVMBasicBlockRef head, done;
  LLVMValueRef slot;
  unsigned step;
} counted;

static counted begin_counted(emission *e, LLVMValueRef slot, LLVMValueRef limit, unsigned step) {
  widener *w = &e->w;
  counted c = {.head = new_block(e, "each"), .done = new_block(e, "done"), .slot = slot, .step = step};
  LLVMBasicBlockRef body = new_block(e, "body");
  LLVMBuildStore(w->b, LLVMConstNull(LLVMTypeOf(limit)), slot);
  LLVMBuildBr(w->b, c.head);
  go_on_at(e, c.head);
  LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, LLVMIntULT, load(e, LLVMTypeOf(limit), slot), limit, ""), body, c.done);
  go_on_at(e, body);
  return c;
}

static void end_counted(emission *e, counted c) {
  LLVMTypeRef type = LLVMGetAllocatedType(c.slot);
  LLVMBuildStore(e->w.b, LLVMBuildNUWAdd(e->w.b, load(e, type, c.slot), LLVMConstInt(type, c.step, 0), ""), c.slot);
  LLVMBuildBr(e->w.b, c.head);
  go_on_at(e, c.done);
}

/* The lanes that enter the region. */
static mask entering_lanes(emission *e, int region) {
  widener *w = &e->w;
  if (e->can_die && region != 0) {
    LLVMValueRef at = load(e, w->p->i32, e->w.gang);
    return (mask){.lanes = load(e, mask_type(e), LLVMBuildInBoundsGEP2(w->b, mask_type(e), e->alive, &at, 1, ""))};
  }
  if (!e->tail) return (mask){.all = true};
  LLVMValueRef x = LLVMBuildAdd(w->b, splat(w, load(e, w->p->i32, w->tid_x)), lane_numbers(w, w->p->i32), "");
  return (mask){.lanes = LLVMBuildICmp(w->b, LLVMIntULT, x, splat(w, w->ntid[0]), "")};
}

/* The barriers that end a region lead to the same region only if they are the same barrier. */
static void load_saved(emission *e, int region) {
  widener *w = &e->w;
  if (region == 0) return;
  for (int n = 0; n < w->g->count; n++) {
    if (!w->g->nodes[n].barrier || w->g->nodes[n].succs[0] != e->regions[region]) continue;
    const live_set *behind = &w->live->behind[n];
    for (size_t i = 0; i < behind->count; i++) {
      LLVMValueRef value = behind->values[i];
      if (value == w->g->nodes[n].last) continue;
      LLVMBuildStore(w->b, load(e, kept_type(w, value), saved_place(e, value, false)), slot_of(w, value));
    }
    if (e->voted[n]) LLVMBuildStore(w->b, load(e, w->p->i32, e->voted[n]), slot_of(w, w->g->nodes[n].last));
  }
}

static void publish_uniform(emission *e) {
  widener *w = &e->w;
  for (int i = 0; i < e->plan.order.rpo_count; i++) {
    int n = e->plan.order.rpo[i];
    if (!w->g->nodes[n].barrier) continue;
    const live_set *behind = &w->live->behind[n];
    for (size_t v = 0; v < behind->count; v++) {
      LLVMValueRef value = behind->values[v];
      if (!is_block_uniform(e, value) || value == w->g->nodes[n].last) continue;
      LLVMBuildStore(w->b, load(e, kept_type(w, value), saved_place(e, value, true)), saved_place(e, value, false));
    }
    if (e->voted[n]) LLVMBuildStore(w->b, load(e, w->p->i32, e->votes[n]), e->voted[n]);
  }
}

static void begin_votes(emission *e) {
  for (int i = 0; i < e->plan.order.rpo_count; i++) {
    int n = e->plan.order.rpo[i];
    if (!e->votes[n]) continue;
    bool starts_true = strstr(callee_name(e->w.g->nodes[n].last), ".and") != NULL;
    LLVMBuildStore(e->w.b, constant_i32(e->w.p, starts_true), e->votes[n]);
  }
}

static void emit_region(emission *e, int region) {
  widener *w = &e->w;
  const char *why;
  if (!plan_region(w->g, w->shapes->divergent, e->regions[region], &e->plan, &why)) {
    refuse(w, NULL, why);
    return;
  }
  prepare_blocks(e);
  LLVMBuildStore(w->b, constant_i32(w->p, (unsigned)STATE_EXIT), e->next_state);
  LLVMBuildStore(w->b, constant_i32(w->p, 0), e->w.gang);
  begin_votes(e);
  counted z = begin_counted(e, w->tid_z, w->ntid[2], 1), y = begin_counted(e, w->tid_y, w->ntid[1], 1);
  counted x = begin_counted(e, w->tid_x, w->ntid[0], (unsigned)w->width);
  w->stamp++;
  e->root = entering_lanes(e, region);
  if (e->can_die) LLVMBuildStore(w->b, LLVMConstNull(mask_type(e)), e->alive_new);
  if (!e->root.all && region != 0) {
    LLVMBasicBlockRef some = new_block(e, "some");
    LLVMBuildCondBr(w->b, any_lane(w, e->root.lanes), some, e->end);
    go_on_at(e, some);
  }
  load_saved(e, region);
  int entry = plan_item(&e->plan, -1, e->regions[region]);
  LLVMBuildBr(w->b, enter_item(e, -1, entry));
  for (int l = 0; l < e->plan.order.loop_count && !w->why; l++) emit_loop(e, l);
  for (int c = 0; c < e->plan.class_count && !w->why; c++) emit_guard(e, c);
  for (int i = 0; i < e->plan.order.rpo_count && !w->why; i++) emit_node(e, e->plan.order.rpo[i]);
  go_on_at(e, e->end);
  w->stamp++;
  if (e->can_die) {
    LLVMValueRef at = load(e, w->p->i32, e->w.gang);
    LLVMBuildStore(w->b, load(e, mask_type(e), e->alive_new),
                   LLVMBuildInBoundsGEP2(w->b, mask_type(e), e->alive, &at, 1, ""));
  }
  LLVMBuildStore(w->b, LLVMBuildNUWAdd(w->b, load(e, w->p->i32, e->w.gang), constant_i32(w->p, 1), ""), e->w.gang);
  end_counted(e, x);
  end_counted(e, y);
  end_counted(e, z);
  publish_uniform(e);
  forget_blocks(e);
  plan_free(&e->plan);
}

/* ---- the function ---- */

static LLVMValueRef frame_field(widener *w, size_t offset, unsigned axis) {
  return load_invariant(w->p, w->b, w->p->i32, w->frame, offset + axis * sizeof(uint32_t));
}

static void load_arguments(widener *w) {
  program *p = w->p;
  unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
  LLVMValueRef params = load_invariant(p, w->b, p->pointer, w->frame, offsetof(mw_frame, params));
  for (unsigned i = 0; i < w->k->param_count; i++) {
    LLVMValueRef argument = LLVMGetParam(w->g->function, i), form;
    size_t offset = w->k->params[i].offset;
    if (LLVMGetEnumAttributeAtIndex(w->g->function, i + 1, byval)) {
      LLVMValueRef at = constant_i64(p, offset);
      form = LLVMBuildInBoundsGEP2(w->b, p->i8, params, &at, 1, "");
    } else if (LLVMTypeOf(argument) == p->i1) {
      form = LLVMBuildICmp(w->b, LLVMIntNE, load_invariant(p, w->b, p->i8, params, offset), LLVMConstNull(p->i8), "");
    } else {
      form = load_invariant(p, w->b, LLVMTypeOf(argument), params, offset);
    }
    kept_of(w, argument)->saved = form;
  }
}

/* A by-value parameter is a thread's own: it may be shared as long as nobody writes it. */
static bool is_only_read(LLVMValueRef pointer) {
  for (LLVMUseRef use = LLVMGetFirstUse(pointer); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (LLVMIsALoadInst(user)) continue;
    if (LLVMIsAGetElementPtrInst(user) || LLVMIsAAddrSpaceCastInst(user)) {
      if (!is_only_read(user)) return false;
      continue;
    }
    return false;
  }
  return true;
}

static void check_params(widener *w) {
  unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
  for (unsigned i = 0; i < w->k->param_count; i++)
    if (LLVMGetEnumAttributeAtIndex(w->g->function, i + 1, byval) && !is_only_read(LLVMGetParam(w->g->function, i)))
      refuse(w, NULL, "it changes a struct that it got by value");
}

static void begin_function(emission *e, const char *name) {
  widener *w = &e->w;
  program *p = w->p;
  LLVMTypeRef params[] = {p->pointer, p->pointer, p->i64, p->i64};
  w->function = LLVMAddFunction(p->module, name, LLVMFunctionType(p->void_type, params, 4, 0));
  LLVMSetLinkage(w->function, LLVMInternalLinkage);
  add_attribute(p, w->function, "nounwind");
  add_attribute(p, w->function, "null_pointer_is_valid");
  add_text_attribute(p, w->function, "frame-pointer", "non-leaf");
  add_text_attribute(p, w->function, "prefer-vector-width", "512");
  e->scope = program_new_scope(p, w->k, w->function);
  w->frame = LLVMGetParam(w->function, 0);
  w->worker = LLVMGetParam(w->function, 1);
  w->b = LLVMCreateBuilderInContext(p->context);
  w->entry = LLVMCreateBuilderInContext(p->context);
  LLVMBasicBlockRef top = new_block(e, "entry"), start = new_block(e, "start");
  go_on_at(e, top);
  for (unsigned axis = 0; axis < 3; axis++) w->ntid[axis] = frame_field(w, offsetof(mw_frame, block), axis);
  LLVMValueRef rows = LLVMBuildMul(w->b, w->ntid[1], w->ntid[2], "");
  LLVMValueRef row = LLVMBuildAdd(w->b, w->ntid[0], constant_i32(p, (unsigned)w->width - 1), "");
  e->w.gangs = LLVMBuildMul(w->b, LLVMBuildUDiv(w->b, row, constant_i32(p, (unsigned)w->width), ""), rows, "");
  LLVMValueRef branch = LLVMBuildBr(w->b, start);
  LLVMPositionBuilderBefore(w->entry, branch);
  go_on_at(e, start);
  load_arguments(w);
  LLVMValueRef *ids[] = {&w->tid_x,    &w->tid_y,    &w->tid_z,  &w->ctaid[0],
                         &w->ctaid[1], &w->ctaid[2], &e->w.gang, &e->next_state};
  for (size_t i = 0; i < MW_COUNT(ids); i++) *ids[i] = LLVMBuildAlloca(w->entry, p->i32, "");
  e->alive_new = LLVMBuildAlloca(w->entry, mask_type(e), "");
  if (e->can_die) e->alive = LLVMBuildArrayAlloca(w->entry, mask_type(e), e->w.gangs, "alive");
  e->votes = mw_alloc((size_t)(w->g->count + 1) * sizeof *e->votes);
  e->voted = mw_alloc((size_t)(w->g->count + 1) * sizeof *e->voted);
  for (int n = 0; n < w->g->count; n++) {
    const node *here = &w->g->nodes[n];
    if (!here->barrier || !LLVMGetFirstUse(here->last)) continue;
    e->votes[n] = LLVMBuildAlloca(w->entry, p->i32, "");
    e->voted[n] = LLVMBuildAlloca(w->entry, p->i32, "");
  }
}

static void begin_block(emission *e, LLVMValueRef block) {
  widener *w = &e->w;
  program *p = w->p;
  LLVMValueRef at = constant_i64(p, offsetof(mw_worker, block));
  LLVMBuildStore(w->b, block, LLVMBuildInBoundsGEP2(w->b, p->i8, w->worker, &at, 1, ""));
  LLVMValueRef gx = LLVMBuildZExt(w->b, frame_field(w, offsetof(mw_frame, grid), 0), p->i64, "");
  LLVMValueRef gy = LLVMBuildZExt(w->b, frame_field(w, offsetof(mw_frame, grid), 1), p->i64, "");
  LLVMValueRef rest = LLVMBuildUDiv(w->b, block, gx, "");
  LLVMValueRef ids[3] = {LLVMBuildURem(w->b, block, gx, ""), LLVMBuildURem(w->b, rest, gy, ""),
                         LLVMBuildUDiv(w->b, rest, gy, "")};
  for (unsigned axis = 0; axis < 3; axis++)
    LLVMBuildStore(w->b, LLVMBuildTrunc(w->b, ids[axis], p->i32, ""), w->ctaid[axis]);
}

static void emit_states(emission *e) {
  widener *w = &e->w;
  if (e->region_count == 1) {
    emit_region(e, 0);
    return;
  }
  LLVMBasicBlockRef dispatch = new_block(e, "dispatch"), finished = new_block(e, "finished");
  LLVMBuildStore(w->b, constant_i32(w->p, 0), e->next_state);
  LLVMBuildBr(w->b, dispatch);
  go_on_at(e, dispatch);
  LLVMValueRef choice = LLVMBuildSwitch(w->b, load(e, w->p->i32, e->next_state), finished, (unsigned)e->region_count);
  for (int i = 0; i < e->region_count && !w->why; i++) {
    LLVMBasicBlockRef start = new_block(e, "region");
    LLVMAddCase(choice, constant_i32(w->p, (unsigned)i), start);
    go_on_at(e, start);
    emit_region(e, i);
    LLVMBuildBr(w->b, dispatch);
  }
  go_on_at(e, finished);
}

static void emit_function(emission *e, const char *name) {
  widener *w = &e->w;
  w->several_regions = e->region_count > 1;
  begin_function(e, name);
  LLVMValueRef block = LLVMBuildAlloca(w->entry, w->p->i64, "block");
  LLVMBasicBlockRef head = new_block(e, "blocks"), body = new_block(e, "block"), done = new_block(e, "blocks.done");
  LLVMBuildStore(w->b, LLVMGetParam(w->function, 2), block);
  LLVMBuildBr(w->b, head);
  go_on_at(e, head);
  LLVMValueRef now = load(e, w->p->i64, block);
  LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, LLVMIntULT, now, LLVMGetParam(w->function, 3), ""), body, done);
  go_on_at(e, body);
  begin_block(e, now);
  emit_states(e);
  LLVMBuildStore(w->b, LLVMBuildNUWAdd(w->b, load(e, w->p->i64, block), constant_i64(w->p, 1), ""), block);
  LLVMBuildBr(w->b, head);
  go_on_at(e, done);
  LLVMBuildRetVoid(w->b);
}

LLVMValueRef widen_kernel(program *p, kernel *k, const graph *g, const shapes *s, const liveness *live, bool tail,
                          const char *name, const char **why, LLVMValueRef *why_at) {
  emission e = {.w = {.p = p, .k = k, .g = g, .shapes = s, .live = live, .width = s->width}, .tail = tail};
  check_params(&e.w);
  if (!e.w.why) find_regions(&e);
  if (!e.w.why) emit_function(&e, name);
  if (e.w.why) {
    *why = e.w.why;
    *why_at = e.w.why_at;
    if (e.w.function) LLVMDeleteFunction(e.w.function);
    e.w.function = NULL;
  }
  if (e.w.b) LLVMDisposeBuilder(e.w.b);
  if (e.w.entry) LLVMDisposeBuilder(e.w.entry);
  free(e.w.table);
  free(e.regions);
  free(e.votes);
  free(e.voted);
  return e.w.function;
}
