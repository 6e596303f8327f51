/* What waits at barriers: values that a gang needs again, and the running results of counting barriers. */
#include "emission.h"

#include <string.h>

int region_at(const emission *e, int source) {
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
    e->w.saved_bytes += LLVMABISizeOfType(e->w.p->layout, LLVMTypeOf(value));
    if (e->w.saved_bytes > SAVED_MOST) refuse(&e->w, value, "very many values wait at its barriers");
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
  return LLVMBuildInBoundsGEP2(e->w.b, kept_type(&e->w, value), base, &index, 1, "");
}

static void count_vote(emission *e, int source, mask m) {
  widener *w = &e->w;
  LLVMValueRef call = w->g->nodes[source].last;
  if (!LLVMGetFirstUse(call) || LLVMGetNumArgOperands(call) == 0) return;
  LLVMValueRef predicate = value_vector(w, LLVMGetOperand(call, 0)), sum = load_slot(e, w->p->i32, e->votes[source]);
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

void reach_barrier(emission *e, int source, mask m) {
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

void load_saved(emission *e, int region) {
  widener *w = &e->w;
  if (region == 0) return;
  for (int n = 0; n < w->g->count; n++) {
    if (!w->g->nodes[n].barrier || w->g->nodes[n].succs[0] != e->regions[region]) continue;
    const live_set *behind = &w->live->behind[n];
    for (size_t i = 0; i < behind->count; i++) {
      LLVMValueRef value = behind->values[i];
      if (value == w->g->nodes[n].last) continue;
      LLVMBuildStore(w->b, load_slot(e, kept_type(w, value), saved_place(e, value, false)), slot_of(w, value));
    }
    if (e->voted[n]) LLVMBuildStore(w->b, load_slot(e, w->p->i32, e->voted[n]), slot_of(w, w->g->nodes[n].last));
  }
}

void publish_uniform(emission *e) {
  widener *w = &e->w;
  for (int i = 0; i < e->plan.order.rpo_count; i++) {
    int n = e->plan.order.rpo[i];
    if (!w->g->nodes[n].barrier) continue;
    const live_set *behind = &w->live->behind[n];
    for (size_t v = 0; v < behind->count; v++) {
      LLVMValueRef value = behind->values[v];
      if (!is_block_uniform(e, value) || value == w->g->nodes[n].last) continue;
      LLVMBuildStore(w->b, load_slot(e, kept_type(w, value), saved_place(e, value, true)),
                     saved_place(e, value, false));
    }
    if (e->voted[n]) LLVMBuildStore(w->b, load_slot(e, w->p->i32, e->votes[n]), e->voted[n]);
  }
}

void begin_votes(emission *e) {
  for (int i = 0; i < e->plan.order.rpo_count; i++) {
    int n = e->plan.order.rpo[i];
    if (!e->votes[n]) continue;
    bool starts_true = strstr(callee_name(e->w.g->nodes[n].last), ".and") != NULL;
    LLVMBuildStore(e->w.b, constant_i32(e->w.p, starts_true), e->votes[n]);
  }
}
