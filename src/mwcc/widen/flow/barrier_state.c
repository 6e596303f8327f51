/* Barrier state: values that live across barriers, saved for each gang, and the running results of counting
 * barriers. */
#include "emission.h"

#include <string.h>

int region_at(const emission *e, int source) {
  for (int i = 0; i < e->region_count; i++)
    if (e->regions[i] == source) return i;
  return STATE_EXIT;
}

static bool is_block_uniform(const emission *e, LLVMValueRef value) {
  return shape_of(e->w.shapes, value).kind <= SHAPE_BLOCK; /* not raced values: each gang saves its own */
}

/* A value is saved in one entry for each gang. A block-uniform value has one entry to read and one to write, so that a
   gang does not see what an earlier one stored in the same region. */
static LLVMTypeRef saved_type(emission *e, LLVMValueRef value) {
  return LLVMArrayType2(stored_type_of(&e->w, form_type(&e->w, value)), (uint64_t)form_count(&e->w, value));
}

/* Whether its saved form differs from its form in registers. */
static bool is_converted(emission *e, LLVMValueRef value) {
  LLVMTypeRef type = form_type(&e->w, value);
  return stored_type_of(&e->w, type) != type;
}

/* The saved bytes of each lane. */
static uint64_t saved_bytes(emission *e, LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  if (is_converted(e, value)) type = LLVMGetElementType(stored_type_of(&e->w, form_type(&e->w, value)));
  return LLVMABISizeOfType(e->w.p->layout, type);
}

/* Whether the value was saved before the region, which does not compute it: then its entry is still valid. LLVM would
   remove the redundant store itself, but not in functions of many regions, nor where the value is converted. A vote's
   result is only known in the region after it, and saved from there on. */
static bool is_still_saved(emission *e, LLVMValueRef value) {
  int n = graph_node_of(e->w.g, value);
  bool is_vote = e->w.g->nodes[n].barrier && value == e->w.g->nodes[n].last;
  return !is_vote && e->path->plan.order.index[n] < 0;
}

static LLVMValueRef saved_of(emission *e, LLVMValueRef value) {
  widened *k = widened_of(&e->w, value);
  if (!k->saved) {
    LLVMTypeRef type = saved_type(e, value);
    e->w.saved_bytes += saved_bytes(e, value);
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
    index = load_slot(e, e->w.p->i32, e->w.gang);
  return LLVMBuildInBoundsGEP2(e->w.b, saved_type(e, value), base, &index, 1, "");
}

/* The slots of a value in its entry. */
static vectors saved_slots(emission *e, LLVMValueRef value, bool writing) {
  vectors slots = {0};
  LLVMValueRef place = saved_place(e, value, writing);
  LLVMTypeRef type = stored_type_of(&e->w, form_type(&e->w, value));
  for (int u = 0; u < form_count(&e->w, value); u++) {
    LLVMValueRef at = constant_i32(e->w.p, (unsigned)u);
    slots.of[u] = LLVMBuildInBoundsGEP2(e->w.b, type, place, &at, 1, "");
  }
  return slots;
}

static void count_vote(emission *e, int source, mask m) {
  widener *w = &e->w;
  LLVMValueRef call = w->g->nodes[source].last;
  if (!LLVMGetFirstUse(call) || LLVMGetNumArgOperands(call) == 0) return;
  LLVMValueRef predicate = LLVMGetOperand(call, 0), sum = load_slot(e, w->p->i32, e->votes[source]);
  for (int u = 0; u < w->vectors; u++) sum = vote_of_vector(w, callee_name(call), predicate, m, u, sum);
  LLVMBuildStore(w->b, sum, e->votes[source]);
}

void reach_barrier(emission *e, int source, mask m) {
  widener *w = &e->w;
  count_vote(e, source, m);
  const live_set *live = &w->live->across[source];
  for (size_t i = 0; i < live->count; i++) {
    LLVMValueRef value = live->values[i];
    if (value == w->g->nodes[source].last) continue; /* a vote's result is known only when all have voted */
    if (is_still_saved(e, value)) continue;
    store_waiting(w, form_type(w, value), value_form(w, value), saved_slots(e, value, true), form_count(w, value));
  }
  if (e->can_die) add_lanes(e, e->alive_new, mask_vectors(w, m));
  LLVMBuildStore(w->b, constant_i32(w->p, (unsigned)region_at(e, w->g->nodes[source].succs[0])), e->state);
}

void load_saved(emission *e, int region) {
  widener *w = &e->w;
  if (region == 0) return;
  for (int n = 0; n < w->g->count; n++) {
    if (!w->g->nodes[n].barrier || w->g->nodes[n].succs[0] != e->regions[region]) continue;
    const live_set *live = &w->live->across[n];
    for (size_t i = 0; i < live->count; i++) {
      LLVMValueRef value = live->values[i];
      if (value == w->g->nodes[n].last) continue;
      int count = form_count(w, value);
      vectors values = load_waiting(w, form_type(w, value), saved_slots(e, value, false), count);
      store_slots(w, values, slot_of(w, value), count);
    }
    if (e->voted[n]) LLVMBuildStore(w->b, load_slot(e, w->p->i32, e->voted[n]), slot_of(w, w->g->nodes[n].last).of[0]);
  }
}

void publish_uniform(emission *e) {
  widener *w = &e->w;
  for (int i = 0; i < e->path->plan.order.rpo_count; i++) {
    int n = e->path->plan.order.rpo[i];
    if (!w->g->nodes[n].barrier) continue;
    const live_set *live = &w->live->across[n];
    for (size_t v = 0; v < live->count; v++) {
      LLVMValueRef value = live->values[v];
      if (!is_block_uniform(e, value) || value == w->g->nodes[n].last) continue;
      store_slots(w, load_slots(w, form_type(w, value), saved_slots(e, value, true), 1), saved_slots(e, value, false),
                  1);
    }
    if (e->voted[n]) LLVMBuildStore(w->b, load_slot(e, w->p->i32, e->votes[n]), e->voted[n]);
  }
}

void begin_votes(emission *e) {
  for (int i = 0; i < e->path->plan.order.rpo_count; i++) {
    int n = e->path->plan.order.rpo[i];
    if (!e->votes[n]) continue;
    bool starts_true = strstr(callee_name(e->w.g->nodes[n].last), ".and") != NULL;
    LLVMBuildStore(e->w.b, constant_i32(e->w.p, starts_true), e->votes[n]);
  }
}
