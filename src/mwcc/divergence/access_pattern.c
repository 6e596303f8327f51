/* Accesses at constant distances from lane 0's: see access_pattern.h. */
#include "access_pattern.h"
#include "mwcc/support/predicates.h"

static LLVMValueRef address_of(LLVMValueRef access) { return LLVMGetOperand(access, LLVMIsALoadInst(access) ? 0 : 1); }

static LLVMTypeRef type_of(LLVMValueRef access) {
  return LLVMTypeOf(LLVMIsALoadInst(access) ? access : LLVMGetOperand(access, 0));
}

static int64_t size_of(const shapes *s, LLVMTypeRef type) {
  return (int64_t)LLVMABISizeOfType(s->graph->program->layout, type);
}

/* Whether `i` is an access like `like`, at a constant distance from the pattern. */
static bool is_member(const shapes *s, const pattern *p, LLVMValueRef i, LLVMValueRef like, form *f) {
  bool same_kind = LLVMIsALoadInst(like) ? LLVMIsALoadInst(i) != NULL : LLVMIsAStoreInst(i) != NULL;
  if (!same_kind || !is_plain_access(i)) return false;
  LLVMTypeKind kind = LLVMGetTypeKind(type_of(i));
  bool element = kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind || kind == LLVMIntegerTypeKind;
  if (!element || size_of(s, type_of(i)) != p->bytes) return false;
  if (LLVMSizeOfTypeInBits(s->graph->program->layout, type_of(i)) != (unsigned long long)p->bytes * 8) return false;
  return form_of(s, address_of(i), f) && same_but_distance(&p->form, f);
}

/* In very long code the search for others is skipped. */
static bool find_pattern(const shapes *s, LLVMValueRef access, pattern *p) {
  enum { FEWEST_LANES = 4, LONGEST = 1000 };
  form f;
  shape a = shape_of(s, address_of(access));
  *p = (pattern){.bytes = size_of(s, type_of(access))};
  if (s->cut.lanes < FEWEST_LANES || a.kind < SHAPE_AFFINE || !is_plain_access(access)) return false;
  if (a.kind != SHAPE_VARYING && (a.stride == p->bytes || a.stride == 0)) return false; /* contiguous or uniform */
  if (!form_of(s, address_of(access), &p->form) || !form_distances(s, &p->form, p->distances)) return false;
  if (!is_member(s, p, access, access, &f)) return false;
  if (reaches_rows(s, address_of(access), (uint64_t)p->bytes)) return false;
  int64_t low = 0, high = 0;
  for (int l = 0; l < s->cut.lanes; l++) {
    int64_t here = p->distances[l];
    if (here % p->bytes || here > INT32_MAX || here < INT32_MIN) return false;
    if (here < low) low = here;
    if (here > high) high = here;
  }
  p->low = INT64_MAX, p->high = INT64_MIN;
  const node *home = &s->graph->nodes[graph_node_of(s->graph, access)];
  int looked_at = 0;
  for (LLVMValueRef i = home->first;; i = LLVMGetNextInstruction(i)) {
    if (++looked_at > LONGEST) return false;
    if (is_member(s, p, i, access, &f)) {
      if ((f.distance - p->form.distance) % p->bytes) return false;
      if (!p->first) p->first = i;
      p->last = i;
      if (p->member_count < MOST_MEMBERS) p->members[p->member_count] = i, p->offsets[p->member_count] = f.distance;
      p->member_count++;
      if (f.distance + low < p->low) p->low = f.distance + low;
      if (f.distance + high + p->bytes > p->high) p->high = f.distance + high + p->bytes;
    }
    if (i == home->last) break;
  }
  return true;
}

static int64_t span_of(const pattern *p) { return (p->high - p->low) / p->bytes; }

/* The pattern spans few vectors. A strided access that shares no vectors with others is left to interleaved.c. */
bool loads_in_pattern(const shapes *s, LLVMValueRef load, pattern *p) {
  if (!has_pass(s->graph->program, PASS_PERMUTED) || !find_pattern(s, load, p)) return false;
  shape a = shape_of(s, address_of(load));
  if (a.kind != SHAPE_VARYING && a.stride > 0 && p->member_count < 2) return false;
  return span_of(p) >= 2 && span_of(p) <= PATTERN_VECTORS * s->cut.lanes;
}

static bool is_device_memory(LLVMValueRef address) {
  return memory_of(address) != MEMORY_SHARED && LLVMIsAArgument(root_of(address));
}

bool reads_elsewhere(LLVMValueRef i, LLVMValueRef address) {
  if (!LLVMIsALoadInst(i) || !is_plain_access(i)) return false;
  LLVMValueRef own = LLVMGetOperand(i, 0);
  bool reads_shared = memory_of(own) == MEMORY_SHARED, writes_shared = memory_of(address) == MEMORY_SHARED;
  return (reads_shared && is_device_memory(address)) || (writes_shared && is_device_memory(own));
}

/* The member and the lane that store each element; false: an element has none. */
bool stores_in_pattern(const shapes *s, LLVMValueRef store, pattern *p, int *member, int *lane) {
  int lanes = s->cut.lanes;
  if (!has_pass(s->graph->program, PASS_PERMUTED)) return false;
  if (!find_pattern(s, store, p) || p->member_count > MOST_MEMBERS || span_of(p) != p->member_count * lanes)
    return false;
  for (int i = 0; i < p->member_count * lanes; i++) member[i] = -1;
  for (int m = 0; m < p->member_count; m++)
    for (int l = 0; l < lanes; l++) {
      int64_t at = (p->offsets[m] + p->distances[l] - p->low) / p->bytes;
      if (member[at] >= 0) return false;
      member[at] = m, lane[at] = l;
    }
  for (LLVMValueRef i = p->first; i != p->last; i = LLVMGetNextInstruction(i)) {
    bool own = false;
    for (int m = 0; m < p->member_count; m++) own = own || p->members[m] == i;
    if (!own && !touches_no_memory(i) && !reads_elsewhere(i, address_of(store))) return false;
  }
  return true;
}

bool follows_pattern(const shapes *s, LLVMValueRef access) {
  pattern p;
  int member[MOST_MEMBERS * MOST_LANES], lane[MOST_MEMBERS * MOST_LANES];
  if (LLVMIsALoadInst(access)) return loads_in_pattern(s, access, &p);
  return LLVMIsAStoreInst(access) && stores_in_pattern(s, access, &p, member, lane);
}
