/* The barrier regions of a kernel (pocl: parallel regions; Karrenberg 2015), and which region a gang continues with.
 *
 * A region begins at the kernel's entry or after a barrier, and ends at barriers and returns. All gangs run it before
 * any continues, which is what a barrier requires. Lanes that have returned no longer take part in barriers. All gangs
 * provably reach the same barrier where the branches to it are block-uniform; other kernels are refused, and run as
 * fibers.
 *
 * Where only a data race can make such a branch differ (raced_loads.c), each gang has a state of its own. A region is
 * run for the gangs in whose state it is, and the next region is the first one with which any gang continues. So a gang
 * never runs code that its threads did not reach, on values that it never computed. */
#include "emission.h"
#include "mwcc/support/checked_access.h"
#include "mwcc/analysis/analysis.h"

/* ---- the regions, and whether gangs agree on the next one ---- */

/* How far threads may disagree at a node from which paths lead to different barriers; SHAPE_BLOCK: not at all. */
static shape_kind disagreement_at(const emission *e, const plan *p, int n) {
  const node *here = &e->w.g->nodes[n];
  if (here->barrier || here->succ_count < 2 || p->order.ipdom[n] >= 0) return SHAPE_BLOCK;
  for (int s = 0; s < 2; s++)
    if (ends_launch(e->w.g, here->succs[s])) return SHAPE_BLOCK;
  return shape_of(e->w.shapes, LLVMGetCondition(here->last)).kind;
}

static void check_region(emission *e, const plan *p) {
  int barriers = 0, class = -1;
  bool returns = false, diverges = false, gang_diverges = false, raced = false, classes_differ = false;
  for (int i = 0; i < p->order.rpo_count; i++) {
    int n = p->order.rpo[i];
    const node *here = &e->w.g->nodes[n];
    if (here->barrier) {
      const char *why = is_block_wait(here->last) ? block_wait_objection(e->w.shapes, here->last) : NULL;
      if (why) refuse(&e->w, here->last, why);
      if (barriers++ && p->class_of[n] != class) classes_differ = true;
      class = p->class_of[n];
      if (p->order.innermost[n] >= 0)
        refuse(&e->w, here->last, "a barrier in a loop that belongs to the barrier region before it");
    }
    if (here->returns) returns = true;
    shape_kind kind = disagreement_at(e, p, n);
    if (kind == SHAPE_RACED) raced = true;
    if (kind > SHAPE_RACED) diverges = true;
    if (kind > SHAPE_RACED && !e->w.shapes->divergent[n]) gang_diverges = true;
  }
  if (barriers > 1 && (classes_differ || gang_diverges))
    refuse(
        &e->w, NULL,
        "its threads may reach different barriers next: place __syncthreads() where all threads of the block reach it");
  if (barriers && returns && diverges) e->can_die = true;
  if (barriers && raced) e->may_disagree = true;
  unsigned checks = e->w.p->options->checks;
  if (notes_accesses(e->w.p->options) && (e->may_disagree || (e->can_die && checks & MW_CHECK_BARRIERS)))
    refuse(&e->w, NULL, "its threads may reach different barriers, or none");
}

static int region_after(const emission *e, const plan *p) {
  int then = STATE_EXIT, barriers = 0;
  bool returns = false;
  for (int i = 0; i < p->order.rpo_count; i++) {
    const node *here = &e->w.g->nodes[p->order.rpo[i]];
    returns = returns || here->returns;
    if (!here->barrier) continue;
    int next = region_at(e, here->succs[0]);
    if (barriers++ && next != then) return STATE_OPEN;
    then = next;
  }
  return barriers && returns ? STATE_OPEN : then;
}

void find_regions(emission *e) {
  const graph *g = e->w.g;
  e->regions = mw_alloc((size_t)(g->count + 1) * sizeof(int));
  e->regions[e->region_count++] = 0;
  for (int n = 0; n < g->count; n++)
    if (g->nodes[n].barrier && region_at(e, g->nodes[n].succs[0]) == STATE_EXIT)
      e->regions[e->region_count++] = g->nodes[n].succs[0];
  e->then = mw_alloc((size_t)e->region_count * sizeof(int));
  for (int i = 0; i < e->region_count && !e->w.why; i++) {
    plan p;
    const char *why;
    if (!plan_region(g, e->w.shapes->divergent, e->regions[i], &p, &why)) {
      refuse(&e->w, NULL, why);
      return;
    }
    check_region(e, &p);
    e->then[i] = region_after(e, &p);
    plan_free(&p);
  }
}

/* ---- where gangs may disagree ---- */

LLVMBasicBlockRef begin_if_next(emission *e, int region) {
  widener *w = &e->w;
  LLVMBasicBlockRef skipped = new_block(e, "skipped"), resumes = new_block(e, "resumes");
  LLVMValueRef gang = load_slot(e, w->p->i32, w->gang), exits = constant_i32(w->p, (unsigned)STATE_EXIT);
  LLVMValueRef place = LLVMBuildInBoundsGEP2(w->b, w->p->i32, e->states, &gang, 1, "");
  if (region == 0) {
    LLVMBuildBr(w->b, resumes);
  } else {
    LLVMValueRef state = load_slot(e, w->p->i32, place);
    LLVMBuildStore(w->b, state, e->state);
    LLVMValueRef same = LLVMBuildICmp(w->b, LLVMIntEQ, state, constant_i32(w->p, (unsigned)region), "");
    LLVMBuildCondBr(w->b, same, resumes, skipped);
  }
  continue_at(e, resumes);
  LLVMBuildStore(w->b, exits, e->state);
  return skipped;
}

void end_if_next(emission *e, LLVMBasicBlockRef skipped) {
  widener *w = &e->w;
  LLVMValueRef gang = load_slot(e, w->p->i32, w->gang);
  LLVMBuildStore(w->b, load_slot(e, w->p->i32, e->state),
                 LLVMBuildInBoundsGEP2(w->b, w->p->i32, e->states, &gang, 1, ""));
  LLVMBuildBr(w->b, skipped);
  continue_at(e, skipped);
  LLVMValueRef next = load_slot(e, w->p->i32, e->next_state), state = load_slot(e, w->p->i32, e->state);
  LLVMValueRef sooner = LLVMBuildICmp(w->b, LLVMIntULT, state, next, ""); /* STATE_EXIT is the greatest */
  LLVMBuildStore(w->b, LLVMBuildSelect(w->b, sooner, state, next, ""), e->next_state);
}
