/* Phis as blends: the stores to slots along control-flow edges, which mem2reg promotes.
 *
 * Lanes enter a join on different edges. On each edge the incoming value is blended with the value in the join's slot:
 * slot = select(mask, incoming, slot). On the first edge of an iteration no blend is needed. At the start of an
 * iteration the slots are poison; otherwise what they held in the previous iteration would be carried around the loop
 * in registers. (Except where a barrier region enters a loop in its middle: its iterations begin elsewhere, and a join
 * may hold values that lanes brought along.)
 *
 * Lanes leave a divergent loop in different iterations, and their exit values are kept until the last one has left.
 * Usually an exit value is also the value with which the next iteration would begin, as a sum is. Then it is left in
 * the header phi's slot, provided that the iterations that follow change only lanes still in the loop; it is copied to
 * the exit's phi when the last lane leaves. So a sum is one register, not two. */
#include "emission.h"

static LLVMValueRef incoming_from(LLVMValueRef phi, LLVMBasicBlockRef from) {
  for (unsigned n = 0; n < LLVMCountIncoming(phi); n++)
    if (LLVMGetIncomingBlock(phi, n) == from) return LLVMGetIncomingValue(phi, n);
  return NULL;
}

void read_incoming(emission *e, int source, int target) {
  const graph *g = e->w.g;
  for (LLVMValueRef i = g->nodes[target].first; i && LLVMIsAPHINode(i); i = LLVMGetNextInstruction(i)) {
    LLVMValueRef incoming = incoming_from(i, g->nodes[source].block);
    if (incoming) value_form(&e->w, incoming);
  }
}

/* A value in the form of the phi that takes it. */
static vectors form_for(widener *w, LLVMValueRef phi, LLVMValueRef value) {
  vectors form = {0};
  if (is_varying(w, phi)) return value_vectors(w, value);
  if (!is_vector_affine(w, phi)) return (vectors){{value_scalar(w, value)}};
  for (int u = 0; u < w->vectors; u++) form.of[u] = vector_scalar(w, value, u);
  return form;
}

static bool begins_block(const node *n) {
  return LLVMGetFirstInstruction(n->block) == n->first;
} /* false: a barrier precedes it */

/* The phi of the loop's header that takes on the back edge what `phi` takes on the exit edge: the value stays there
   until the loop ends. NULL: it is stored at once. */
static LLVMValueRef header_phi_for_exit(const emission *e, int source, int target, LLVMValueRef phi) {
  const plan *p = &e->path->plan;
  const graph *g = e->w.g;
  const node *from = &g->nodes[source];
  int l = p->order.innermost[source];
  if (l < 0 || !p->divergent_loop[l] || !is_varying(&e->w, phi) || LLVMCountIncoming(phi) != 1) return NULL;
  /* only for one loop: after two, lanes may have waited since an earlier iteration of the outer one */
  if (plan_item(p, l, target) >= 0 || plan_item(p, p->order.loops[l].parent, target) < 0) return NULL;
  const node *header = &g->nodes[p->order.loops[l].header];
  /* all lanes continue from there: a back edge elsewhere would overwrite the value */
  bool is_back_edge = false, only = true;
  for (int i = 0; i < header->pred_count; i++) {
    if (header->preds[i] == source) is_back_edge = true;
    if (header->preds[i] != source && plan_item(p, l, header->preds[i]) >= 0) only = false;
  }
  LLVMValueRef value = incoming_from(phi, from->block);
  if (!is_back_edge || !only || !begins_block(header) || !value) return NULL;
  for (LLVMValueRef i = header->first; LLVMIsAPHINode(i); i = LLVMGetNextInstruction(i))
    if (is_varying(&e->w, i) && incoming_from(i, from->block) == value) return i;
  return NULL;
}

/* Whether lanes that leave the loop at `source` leave a value in the header's phi. */
static bool holds_exit_value(const emission *e, int source, LLVMValueRef phi) {
  const graph *g = e->w.g;
  for (int i = 0; i < g->nodes[source].succ_count; i++) {
    int target = g->nodes[source].succs[i];
    if (!begins_block(&g->nodes[target])) continue;
    for (LLVMValueRef out = g->nodes[target].first; LLVMIsAPHINode(out); out = LLVMGetNextInstruction(out))
      if (header_phi_for_exit(e, source, target, out) == phi) return true;
  }
  return false;
}

void store_exit_values(emission *e, int l) {
  widener *w = &e->w;
  const plan *p = &e->path->plan;
  const node *header = &w->g->nodes[p->order.loops[l].header];
  for (int i = 0; i < header->pred_count; i++) {
    int source = header->preds[i];
    const node *from = &w->g->nodes[source];
    for (int s = 0; plan_item(p, l, source) >= 0 && s < from->succ_count; s++) {
      const node *to = &w->g->nodes[from->succs[s]];
      for (LLVMValueRef phi = to->first; begins_block(to) && LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi)) {
        LLVMValueRef in = header_phi_for_exit(e, source, from->succs[s], phi);
        if (!in) continue;
        store_slots(w, load_slots(w, form_type(w, in), slot_of(w, in), w->vectors), slot_of(w, phi), w->vectors);
      }
    }
  }
}

void move_phis(emission *e, int source, int target, bool plain, mask blend, mask here) {
  widener *w = &e->w;
  const struct node *to = &w->g->nodes[target];
  LLVMValueRef phis[128];
  vectors forms[128];
  int count = 0;
  LLVMBasicBlockRef from = w->g->nodes[source].block;
  if (!begins_block(to)) return;
  /* All values are read before any is stored: phis are simultaneous. */
  for (LLVMValueRef i = to->first; i && LLVMIsAPHINode(i); i = LLVMGetNextInstruction(i)) {
    if (count == (int)MW_COUNT(phis)) {
      refuse(w, i, "more than 128 values merge at one point of its control flow");
      return;
    }
    LLVMValueRef incoming = incoming_from(i, from);
    if (!incoming) {
      refuse(w, i, "a phi lacks the value of an edge");
      return;
    }
    phis[count] = i;
    forms[count++] = form_for(w, i, incoming);
  }
  for (int n = 0; n < count; n++) {
    LLVMValueRef in = header_phi_for_exit(e, source, target, phis[n]);
    bool stays = in || holds_exit_value(e, source, phis[n]), over = !is_varying(w, phis[n]) || (plain && !stays);
    vectors slots = slot_of(w, in ? in : phis[n]);
    mask lanes = stays ? here : blend;
    for (int u = 0; u < form_count(w, phis[n]); u++) {
      LLVMValueRef form = forms[n].of[u];
      if (!over && !lanes.all)
        form = LLVMBuildSelect(w->b, lanes.lanes.of[u], form, load_slot(e, LLVMTypeOf(form), slots.of[u]), "");
      LLVMBuildStore(w->b, form, slots.of[u]);
    }
  }
}

void poison_joins(emission *e, int l) {
  widener *w = &e->w;
  const plan *p = &e->path->plan;
  for (int i = 0; i < p->order.rpo_count; i++) {
    int n = p->order.rpo[i];
    const struct node *join = &w->g->nodes[n];
    if (p->order.innermost[n] != l || n == p->order.loops[l].header) continue;
    if (!begins_block(join) || !dominates(w->shapes->order, p->order.loops[l].header, n)) continue;
    for (LLVMValueRef phi = join->first; LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi)) {
      if (!is_varying(w, phi)) continue;
      vectors slots = slot_of(w, phi);
      for (int u = 0; u < form_count(w, phi); u++) LLVMBuildStore(w->b, LLVMGetPoison(form_type(w, phi)), slots.of[u]);
    }
  }
}
