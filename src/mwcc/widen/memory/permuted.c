/* Permuted access: each lane's address is a constant distance from lane 0's (address_form.h), and all are near each
 * other, as where a butterfly exchanges halves of every eight elements, or lanes alternate between two neighbouring
 * places. The span is loaded in whole vectors, from which shuffles select; stores that together cover every byte
 * from the first to the last are shuffled into whole vectors.
 *
 * Accesses of one node to the same structs span the same vectors, which are loaded once.
 *
 * Only for gangs whose lanes are all active, as in interleaved.c: then every byte between the first and the last is
 * on a page of some lane. */
#include "memory.h"
#include "mwcc/divergence/access_pattern.h"

#include <stdlib.h>

static LLVMValueRef address_of(LLVMValueRef access) { return LLVMGetOperand(access, LLVMIsALoadInst(access) ? 0 : 1); }

static int64_t span_of(const pattern *p) { return (p->high - p->low) / p->bytes; }

/* ---- lane 0's address ---- */

/* Whether the value is available in the access's node. */
static bool is_in_node(widener *w, LLVMValueRef access, LLVMValueRef value) {
  int home = graph_node_of(w->g, access);
  if (!LLVMIsAInstruction(value) || graph_node_of(w->g, value) == home) return true;
  if (!w->several_regions && is_in_slot(w, value)) return true;
  for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (!LLVMIsAPHINode(user) && graph_node_of(w->g, user) == home) return true;
  }
  return false;
}

static bool are_all_in_node(widener *w, LLVMValueRef access, const form *f) {
  LLVMValueRef values[MOST_TERMS];
  int count;
  if (!form_needs(f, values, &count, MOST_TERMS, w->shapes) || !is_in_node(w, access, f->root)) return false;
  for (int i = 0; i < count; i++)
    if (!is_in_node(w, access, values[i])) return false;
  return true;
}

/* A number in lane 0 of vector u, recomputed from the operands whose bits address_form.c tracks. */
static LLVMValueRef first_number(widener *w, LLVMValueRef value, int u) {
  if (!is_varying(w, value)) return vector_scalar(w, value, u);
  LLVMValueRef from = first_number(w, LLVMGetOperand(value, 0), u);
  LLVMTypeRef type = LLVMTypeOf(value);
  LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
  if (opcode == LLVMZExt) return LLVMBuildZExt(w->b, from, type, "");
  if (opcode == LLVMTrunc) return LLVMBuildTrunc(w->b, from, type, "");
  if (opcode == LLVMCall) return call_intrinsic(w->p, w->b, "llvm.bitreverse", &type, 1, &from, 1);
  return LLVMBuildBinOp(w->b, opcode, from, LLVMGetOperand(value, 1), "");
}

/* The pointer of vector u, `distance` from the sum of the form's terms. */
static LLVMValueRef pattern_pointer(widener *w, LLVMValueRef access, const form *f, int64_t distance, int u) {
  if (!are_all_in_node(w, access, f)) {
    LLVMValueRef first = plain_pointer(w, vector_scalar(w, address_of(access), u));
    return moved(w, first, (uint64_t)(distance - f->distance));
  }
  LLVMValueRef pointer = plain_pointer(w, vector_scalar(w, f->root, u));
  for (int i = 0; i < f->count; i++) {
    LLVMValueRef number = first_number(w, f->terms[i].value, u),
                 times = constant_i64(w->p, (uint64_t)f->terms[i].times);
    if (LLVMTypeOf(number) != w->p->i64) number = LLVMBuildSExt(w->b, number, w->p->i64, "");
    number = LLVMBuildMul(w->b, number, times, "");
    pointer = LLVMBuildGEP2(w->b, w->p->i8, pointer, &number, 1, "");
  }
  return moved(w, pointer, (uint64_t)distance);
}

/* Values that pattern_pointer and gathers use must be computed before the branch. */
static void need_pattern(widener *w, LLVMValueRef access, const form *f) {
  LLVMValueRef values[MOST_TERMS];
  int count;
  place at = {address_of(access), 0, LLVMGetAlignment(access), false, access, 0};
  need_pointers(w, &at);
  value_form(w, at.address);
  if (!are_all_in_node(w, access, f)) return;
  form_needs(f, values, &count, MOST_TERMS, w->shapes);
  value_form(w, f->root);
  for (int i = 0; i < count; i++) value_form(w, values[i]);
}

/* ---- shuffles ---- */

static LLVMValueRef shuffled(widener *w, LLVMValueRef a, LLVMValueRef b, const int *pick) {
  LLVMValueRef items[MOST_LANES];
  for (int i = 0; i < w->width; i++)
    items[i] = pick[i] < 0 ? LLVMGetPoison(w->p->i32) : constant_i32(w->p, (unsigned)pick[i]);
  return LLVMBuildShuffleVector(w->b, a, b ? b : LLVMGetPoison(LLVMTypeOf(a)),
                                LLVMConstVector(items, (unsigned)w->width), "");
}

/* The best order for the elements selected from two vectors, together with others that are selected elsewhere: every
   second element, or the first or second halves alternately. So shuffles of pairs are shared between loads of a
   struct's members, or vectors that members are stored in. `pick`: by place, the element of the pair to select, which
   is replaced; `lies`: its present position. */
static void share_pair(int width, int length, int *pick, int *lies) {
  bool even = true, odd = true, first = true, second = true;
  for (int i = 0; i < width; i++) {
    lies[i] = i;
    if (pick[i] < 0) continue;
    even = even && pick[i] % 2 == 0, odd = odd && pick[i] % 2 == 1;
    first = first && pick[i] % length < length / 2, second = second && pick[i] % length >= length / 2;
  }
  if (length != width || (!even && !odd && !first && !second)) return;
  bool alternate = even || odd;
  int skipped = second ? length / 2 : 0;
  for (int i = 0; i < width; i++) {
    if (pick[i] >= 0) lies[i] = alternate ? pick[i] / 2 : 2 * (pick[i] % length - skipped) + pick[i] / length;
    pick[i] = alternate ? 2 * i + odd : i % 2 * length + skipped + i / 2;
  }
}

/* Element i is element at[i] of vector from[i], of `length` elements each: first shuffles of pairs of vectors, then of
   their results. */
static LLVMValueRef collected(widener *w, const LLVMValueRef *sources, int count, int length, const int *from,
                              const int *at) {
  LLVMValueRef some[PATTERN_VECTORS];
  int pick[MOST_LANES], lies[MOST_LANES], number[PATTERN_VECTORS], result[MOST_LANES], used = 0;
  for (int v = 0; v < count; v++) {
    bool needed = false;
    for (int i = 0; i < w->width; i++) needed = needed || from[i] == v;
    number[v] = needed ? used++ : -1;
    if (needed) some[number[v]] = sources[v];
  }
  int made = 0;
  for (int first = 0; first < used; first += 2, made++) {
    LLVMValueRef second = first + 1 < used ? some[first + 1] : NULL;
    for (int i = 0; i < w->width; i++) {
      int own = number[from[i]] - first;
      pick[i] = own == 0 || own == 1 ? own * length + at[i] : -1;
      lies[i] = i;
    }
    if (used == PATTERN_VECTORS) share_pair(w->width, length, pick, lies);
    for (int i = 0; i < w->width; i++) {
      int own = number[from[i]] - first;
      if (own == 0 || own == 1) result[i] = made * w->width + lies[i];
    }
    some[made] = shuffled(w, some[first], second, pick);
  }
  if (made == 1) return some[0];
  return shuffled(w, some[0], some[1], result);
}

/* ---- gangs ---- */

static LLVMValueRef element_pointer(widener *w, LLVMValueRef base, int64_t bytes, int64_t element) {
  return moved(w, base, (uint64_t)(element * bytes));
}

static unsigned element_align(LLVMValueRef access, int64_t bytes) {
  return LLVMGetAlignment(access) < (unsigned)bytes ? LLVMGetAlignment(access) : (unsigned)bytes;
}

/* Vectors of `length` elements each, the last of which ends with the last element. */
static LLVMValueRef load_vector(widener *w, LLVMValueRef load, const pattern *p, int u) {
  LLVMTypeRef type = LLVMTypeOf(load);
  int span = (int)span_of(p), length = 1, from[MOST_LANES], at[MOST_LANES];
  while (length * 2 <= span && length * 2 <= w->width) length *= 2;
  int count = (span + length - 1) / length;
  LLVMValueRef loaded[PATTERN_VECTORS] = {0}, base = pattern_pointer(w, load, &p->form, p->low, u);
  for (int l = 0; l < w->width; l++) {
    int element = (int)((p->form.distance + p->distances[l] - p->low) / p->bytes);
    from[l] = element / length < count - 1 ? element / length : count - 1;
    int first = from[l] < count - 1 ? from[l] * length : span - length;
    at[l] = element - first;
    if (loaded[from[l]]) continue;
    LLVMTypeRef vector = LLVMVectorType(type, (unsigned)length);
    loaded[from[l]] = LLVMBuildLoad2(w->b, vector, element_pointer(w, base, p->bytes, first), "");
    LLVMSetAlignment(loaded[from[l]], element_align(load, p->bytes));
  }
  return collected(w, loaded, count, length, from, at);
}

bool load_pattern(widener *w, LLVMValueRef load, mask m, vectors *result) {
  pattern p;
  if (!loads_in_pattern(w->shapes, load, &p)) return false;
  LLVMTypeRef wide = vector_type(w, LLVMTypeOf(load));
  place at = {address_of(load), 0, LLVMGetAlignment(load), false, load, 0};
  need_pattern(w, load, &p.form); /* needed on both paths */
  vectors slots = m.all ? *result : new_slots(w, wide, w->vectors);
  choice c = choose_every(w, m);
  for (int u = 0; u < w->vectors; u++) result->of[u] = load_vector(w, load, &p, u);
  if (m.all) return true;
  store_slots(w, *result, slots, w->vectors);
  else_some(w, &c);
  for (int u = 0; u < w->vectors; u++) result->of[u] = gather(w, &at, wide, m, u);
  store_slots(w, *result, slots, w->vectors);
  end_choice(w, &c);
  *result = load_slots(w, wide, slots, w->vectors);
  return true;
}

static void store_vector(widener *w, const pattern *p, const vectors *values, const int *member, const int *lane,
                         int u) {
  LLVMValueRef sources[MOST_MEMBERS], base = pattern_pointer(w, p->members[0], &p->form, p->low, u);
  LLVMTypeRef bits = vector_type(w, LLVMIntTypeInContext(w->p->context, (unsigned)p->bytes * 8));
  unsigned align = element_align(p->members[0], p->bytes);
  for (int m = 0; m < p->member_count; m++) {
    sources[m] = LLVMBuildBitCast(w->b, values[m].of[u], bits, ""); /* members may have different types */
    unsigned own = element_align(p->members[m], p->bytes);
    if (own < align) align = own;
  }
  for (int v = 0; v < p->member_count; v++) {
    int first = v * w->width;
    LLVMValueRef whole = collected(w, sources, p->member_count, w->width, member + first, lane + first);
    LLVMSetAlignment(LLVMBuildStore(w->b, whole, element_pointer(w, base, p->bytes, first)), align);
  }
}

/* Whether the last store does all members: not where they form a struct, or are contiguous by another class. */
static bool last_stores_all(widener *w, LLVMValueRef last) {
  pattern p;
  int member[MOST_MEMBERS * MOST_LANES], lane[MOST_MEMBERS * MOST_LANES];
  return !is_stored_together(w, last) && stores_in_pattern(w->shapes, last, &p, member, lane);
}

bool store_pattern(widener *w, LLVMValueRef store, mask m) {
  pattern p;
  int member[MOST_MEMBERS * MOST_LANES], lane[MOST_MEMBERS * MOST_LANES];
  if (!stores_in_pattern(w->shapes, store, &p, member, lane)) return false;
  if (store != p.last) return last_stores_all(w, p.last);
  vectors values[MOST_MEMBERS];
  for (int i = 0; i < p.member_count; i++) {
    values[i] = value_vectors(w, LLVMGetOperand(p.members[i], 0));
    if (!m.all) need_pattern(w, p.members[i], &p.form);
  }
  choice c = choose_every(w, m);
  p.form.distance = p.offsets[0]; /* the pointer is made from the first member's address */
  for (int u = 0; u < w->vectors; u++) store_vector(w, &p, values, member, lane, u);
  if (m.all) return true;
  else_some(w, &c);
  for (int i = 0; i < p.member_count; i++) {
    place at = {address_of(p.members[i]), 0, LLVMGetAlignment(p.members[i]), false, p.members[i], 0};
    for (int u = 0; u < w->vectors; u++) scatter(w, &at, values[i].of[u], m, u);
  }
  end_choice(w, &c);
  return true;
}
