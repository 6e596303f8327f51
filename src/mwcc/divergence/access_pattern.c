/* Accesses at constant distances from lane 0's: see access_pattern.h. */
#include "access_pattern.h"
#include "mwcc/analysis/analysis.h"
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

/* ---- places that lanes choose between ---- */

enum { ROUTE = 12 }; /* operations between an address and a place, at most */

static const struct extreme {
  const char *name;
  LLVMIntPredicate first; /* the comparison of the operands for which the first is the result */
} extremes[] = {
    {"llvm.smin.", LLVMIntSLT}, {"llvm.smax.", LLVMIntSGT}, {"llvm.umin.", LLVMIntULT}, {"llvm.umax.", LLVMIntUGT}};

static const struct extreme *extreme_of(LLVMValueRef value) {
  if (!LLVMIsACallInst(value)) return NULL;
  for (size_t i = 0; i < MW_COUNT(extremes); i++)
    if (starts_with(callee_name(value), extremes[i].name)) return &extremes[i];
  return NULL;
}

bool is_choice(LLVMValueRef value) {
  LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(value));
  if (kind != LLVMIntegerTypeKind && kind != LLVMPointerTypeKind) return false;
  return LLVMIsASelectInst(value) || extreme_of(value);
}

LLVMValueRef operand_of_choice(LLVMValueRef choice, bool second) {
  return LLVMGetOperand(choice, (LLVMIsASelectInst(choice) ? 1 : 0) + (second ? 1 : 0));
}

LLVMValueRef condition_of_choice(LLVMValueRef choice, LLVMIntPredicate *compares) {
  if (LLVMIsASelectInst(choice)) return LLVMGetOperand(choice, 0);
  *compares = extreme_of(choice)->first;
  return NULL;
}

/* ---- the walk from the address to each place ---- */

typedef struct walk {
  const shapes *s;
  selected_address *out;
  int64_t bytes;
} walk;

typedef struct route {
  chosen_place place;
  int64_t scale;                  /* bytes for each unit of the value */
  bool extends, extends_unsigned; /* the value is extended before it is used, */
  bool computes;                  /* after arithmetic that may wrap */
} route;

/* Another operand: the same for the lanes of a vector. */
static bool add_other(const walk *x, route *way, LLVMValueRef value, int64_t scale) {
  if (!LLVMIsAInstruction(value)) return true;
  shape a = shape_of(x->s, value);
  if (is_uniform_kind(a.kind)) {
    way->place.uniform = way->place.uniform && a.kind <= SHAPE_GANG;
    return true;
  }
  if ((a.kind != SHAPE_AFFINE && a.kind != SHAPE_VECTOR_AFFINE) || a.stride) return false;
  way->place.uniform = false;
  way->place.stepped = way->place.stepped && a.kind == SHAPE_AFFINE && !way->extends;
  way->place.step += a.step * scale;
  return true;
}

static bool is_varying_value(const walk *x, LLVMValueRef value) {
  return LLVMIsAInstruction(value) && shape_of(x->s, value).kind == SHAPE_VARYING;
}

static bool add_place(walk *x, LLVMValueRef value, route way) {
  chosen_place *place = &way.place;
  shape a = LLVMIsAInstruction(value) ? shape_of(x->s, value) : (shape){.kind = SHAPE_BLOCK};
  if (a.kind == SHAPE_UNDEFINED || x->out->count == MOST_PLACES || !place->choices) return false;
  if (!is_uniform_kind(a.kind)) {
    place->uniform = false;
    place->stride = a.stride * way.scale;
    place->stepped = place->stepped && a.kind == SHAPE_AFFINE;
    place->step += a.step * way.scale;
    bool exact = !way.extends || (!way.computes && a.no_wrap && (!way.extends_unsigned || a.positive));
    if (!exact && (a.stride || a.kind == SHAPE_AFFINE)) {
      if (a.stride) return false;
      place->stepped = false; /* from vector to vector it may wrap */
    }
  }
  if (place->stride && place->stride != x->bytes) return false;
  x->out->places[x->out->count++] = *place;
  return true;
}

static bool visit(walk *x, LLVMValueRef value, route from, int depth);

static bool visit_sum(walk *x, LLVMValueRef sum, route from, int depth) {
  bool second = is_varying_value(x, LLVMGetOperand(sum, 1));
  LLVMValueRef inner = LLVMGetOperand(sum, second), other = LLVMGetOperand(sum, !second);
  bool subtracts = LLVMGetInstructionOpcode(sum) == LLVMSub;
  if (!add_other(x, &from, other, subtracts && !second ? -from.scale : from.scale)) return false;
  if (subtracts && second) from.scale = -from.scale;
  from.computes = from.computes || from.extends;
  return visit(x, inner, from, depth);
}

/* One operand varies: the pointer, or the last index. */
static bool visit_address(walk *x, LLVMValueRef gep, route from, int depth) {
  LLVMTargetDataRef layout = x->s->graph->program->layout;
  LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
  int last = LLVMGetNumOperands(gep) - 1, varies = is_varying_value(x, LLVMGetOperand(gep, 0)) ? 0 : last;
  for (int n = 0; n <= last; n++) {
    LLVMValueRef operand = LLVMGetOperand(gep, (unsigned)n);
    if (n > 1) {
      if (LLVMGetTypeKind(type) != LLVMArrayTypeKind) return false;
      type = LLVMGetElementType(type);
    }
    int64_t unit = n ? (int64_t)LLVMABISizeOfType(layout, type) : 1;
    if (n && LLVMGetIntTypeWidth(LLVMTypeOf(operand)) != 64) return false; /* it would be extended */
    if (n == varies) {
      if (n) from.scale = unit;
    } else if (!add_other(x, &from, operand, unit)) {
      return false;
    }
  }
  return visit(x, LLVMGetOperand(gep, (unsigned)varies), from, depth);
}

static bool visit_choice(walk *x, LLVMValueRef choice, route from, int depth) {
  if (from.place.choices == MOST_CHOICES) return false;
  int here = from.place.choices++;
  from.place.second[here] = false;
  if (!visit(x, operand_of_choice(choice, false), from, depth)) return false;
  from.place.second[here] = true;
  return visit(x, operand_of_choice(choice, true), from, depth);
}

static bool visit(walk *x, LLVMValueRef value, route from, int depth) {
  if (!is_varying_value(x, value)) return add_place(x, value, from);
  if (depth == 0) return false;
  if (is_choice(value)) return visit_choice(x, value, from, depth - 1);
  switch (LLVMGetInstructionOpcode(value)) {
  case LLVMGetElementPtr: return visit_address(x, value, from, depth - 1);
  case LLVMAdd:
  case LLVMSub: return visit_sum(x, value, from, depth - 1);
  case LLVMSExt:
  case LLVMZExt:
    if (from.extends) return false;
    from.extends = true;
    from.extends_unsigned = LLVMIsAZExtInst(value) && !LLVMGetNNeg(value);
    return visit(x, LLVMGetOperand(value, 0), from, depth - 1);
  default: return false;
  }
}

bool selects_places(const shapes *s, LLVMValueRef load, selected_address *out) {
  const graph *g = s->graph;
  *out = (selected_address){0};
  if (!has_pass(g->program, PASS_SELECTED) || !LLVMIsALoadInst(load) || !is_plain_access(load)) return false;
  LLVMValueRef address = LLVMGetOperand(load, 0);
  if (!is_lane_type(LLVMTypeOf(load)) || memory_of(address) == MEMORY_LOCAL || local_unit(g, address)) return false;
  walk x = {s, out, (int64_t)LLVMABISizeOfType(g->program->layout, LLVMTypeOf(load))};
  if (!is_varying_value(&x, address)) return false;
  route from = {.place = {.stepped = true, .uniform = true}, .scale = 1};
  return visit(&x, address, from, ROUTE) && out->count > 1;
}
