/* Interleaved access (LLVM: InterleavedAccess): lanes that each have a struct of two, three or four equal members
 * (float2, float4), or every second element of an array. The span of a vector's lanes is loaded or stored in whole
 * vectors, and shuffled, which is several times faster than a gather.
 *
 * Only for gangs whose lanes are all active, by a run-time test where that is not known: then every byte between the
 * first and the last lane's is on a page of some lane. Stores leave no gaps: a struct is stored whole, by the stores
 * of all its members together, or scattered. */
#include "memory.h"
#include "mwcc/divergence/access_pattern.h"
#include "mwcc/support/predicates.h"

#include <string.h>

enum { FEWEST = 2, MOST = 4 };

static uint64_t size_of(widener *w, LLVMTypeRef type) { return LLVMABISizeOfType(w->p->layout, type); }

int few_steps(widener *w, const place *at, uint64_t bytes) {
  if (at->is_volatile || w->width < MOST || !has_pass(w->p, PASS_INTERLEAVED)) return 0;
  for (int steps = FEWEST; steps <= MOST; steps++)
    if (has_stride(w, at->address, (int64_t)bytes * steps)) return steps;
  return 0;
}

/* ---- vectors from vectors ---- */

/* Element i is element pick[i] of a and b; below 0: anything. */
static LLVMValueRef shuffled(widener *w, LLVMValueRef a, LLVMValueRef b, const int *pick) {
  LLVMValueRef items[MOST_LANES];
  for (int i = 0; i < w->width; i++)
    items[i] = pick[i] < 0 ? LLVMGetPoison(w->p->i32) : constant_i32(w->p, (unsigned)pick[i]);
  return LLVMBuildShuffleVector(w->b, a, b, LLVMConstVector(items, (unsigned)w->width), "");
}

/* Element i is element at[i] of vector from[i]. */
static LLVMValueRef collected(widener *w, const LLVMValueRef *sources, int count, const int *from, const int *at) {
  LLVMValueRef pairs[MOST / 2] = {0};
  int pick[MOST_LANES], width = w->width;
  for (int p = 0; p < count / 2; p++) {
    for (int i = 0; i < width; i++) pick[i] = from[i] / 2 == p ? from[i] % 2 * width + at[i] : -1;
    pairs[p] = shuffled(w, sources[2 * p], sources[2 * p + 1], pick);
  }
  if (count == 2) return pairs[0];
  bool odd = count == 3;
  for (int i = 0; i < width; i++) pick[i] = from[i] < 2 ? i : width + (odd ? at[i] : i);
  return shuffled(w, pairs[0], odd ? sources[2] : pairs[1], pick);
}

/* ---- one vector whose lanes are all active ---- */

static LLVMValueRef element_pointer(widener *w, LLVMTypeRef type, LLVMValueRef base, int n) {
  LLVMValueRef at = constant_i64(w->p, (uint64_t)n);
  return n ? LLVMBuildGEP2(w->b, type, base, &at, 1, "") : base;
}

/* Whether another load, of an aligned struct's first member, shows that the struct begins so many bytes before. */
static bool begins_before(widener *w, const place *where, uint64_t size, int64_t *before) {
  const node *here = &w->g->nodes[graph_node_of(w->g, where->by)];
  int64_t own, distance;
  LLVMValueRef base = base_of(w, where->address, &own);
  for (LLVMValueRef i = here->first;; i = LLVMGetNextInstruction(i)) {
    if (LLVMIsALoadInst(i) && LLVMGetAlignment(i) >= size && base_of(w, LLVMGetOperand(i, 0), &distance) == base &&
        distance < own && own - distance < (int64_t)size) {
      *before = own - distance;
      return true;
    }
    if (i == here->last) return false;
  }
}

/* The member of its struct that is loaded, if whole structs can be read: they are aligned, so that none crosses a page.
   Then loads of other members share the vectors, which end where shuffles are cheapest. -1: none. AVX-512 shuffles
   anything from two vectors. */
static int member_loaded(widener *w, const place *where, uint64_t bytes, int steps) {
  memory_kind kind = memory_of(where->address);
  uint64_t size = bytes * (unsigned)steps;
  int64_t before;
  bool takes_halves = !strstr(w->p->features, "+avx512f") && (size & (size - 1)) == 0;
  if (!takes_halves || kind == MEMORY_LOCAL || kind == MEMORY_CONSTANT || where->offset) return -1;
  if (where->align >= size) return 0;
  if (!begins_before(w, where, size, &before) || before % (int64_t)bytes) return -1;
  return (int)(before / (int64_t)bytes);
}

/* The last vector ends with the last lane's element or struct: nothing after it is read. */
static LLVMValueRef load_vector(widener *w, const place *where, LLVMTypeRef type, int steps, int u) {
  int member = member_loaded(w, where, size_of(w, type), steps);
  bool whole = member >= 0;
  place start = *where;
  if (whole) start.offset -= (uint64_t)member * size_of(w, type);
  LLVMValueRef loaded[MOST], base = vector_pointer(w, &start, u);
  int width = w->width, last = whole ? (steps - 1) * width : (width - 1) * steps + 1 - width, from[MOST_LANES],
      at[MOST_LANES];
  for (int v = 0; v < steps; v++) {
    int first = v + 1 < steps ? v * width : last;
    loaded[v] = LLVMBuildLoad2(w->b, vector_type(w, type), element_pointer(w, type, base, first), "");
    LLVMSetAlignment(loaded[v], where->align < size_of(w, type) ? where->align : (unsigned)size_of(w, type));
  }
  for (int l = 0; l < width; l++) {
    int element = l * steps + (whole ? member : 0);
    from[l] = element / width < steps - 1 ? element / width : steps - 1;
    at[l] = element - (from[l] < steps - 1 ? from[l] * width : last);
  }
  return collected(w, loaded, steps, from, at);
}

static void store_vector(widener *w, const place *where, const vectors *values, int steps, int u) {
  LLVMValueRef sources[MOST], base = vector_pointer(w, where, u);
  LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(values[0].of[u]));
  int width = w->width, from[MOST_LANES], at[MOST_LANES];
  for (int v = 0; v < steps; v++) sources[v] = values[v].of[u];
  for (int v = 0; v < steps; v++) {
    for (int i = 0; i < width; i++) from[i] = (v * width + i) % steps, at[i] = (v * width + i) / steps;
    LLVMValueRef whole = collected(w, sources, steps, from, at);
    LLVMValueRef made = LLVMBuildStore(w->b, whole, element_pointer(w, type, base, v * width));
    LLVMSetAlignment(made, where->align < size_of(w, type) ? where->align : (unsigned)size_of(w, type));
  }
}

/* ---- gangs ---- */

vectors load_strided(widener *w, const place *at, LLVMTypeRef type, int steps, mask m) {
  LLVMTypeRef wide = vector_type(w, type);
  vectors result = {0};
  value_form(w, at->address); /* needed on both paths */
  vectors slots = m.all ? result : new_slots(w, wide, w->vectors);
  choice c = choose_every(w, m);
  for (int u = 0; u < w->vectors; u++) result.of[u] = load_vector(w, at, type, steps, u);
  if (m.all) return result;
  store_slots(w, result, slots, w->vectors);
  else_some(w, &c);
  for (int u = 0; u < w->vectors; u++) result.of[u] = gather(w, at, wide, m, u);
  store_slots(w, result, slots, w->vectors);
  end_choice(w, &c);
  return load_slots(w, wide, slots, w->vectors);
}

/* Store to shared memory, which only the worker that runs the block writes: the span from the first lane's element to
   the last one's is loaded, the lanes' elements are replaced, and the span is stored. Other gangs run before or after
   that. Vectors are loaded before any is stored, and where two overlap both have the same elements. */
static void store_vector_between(widener *w, const place *where, LLVMValueRef lanes, int steps, int u) {
  LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(lanes));
  LLVMValueRef parts[MOST], pointers[MOST], base = vector_pointer(w, where, u);
  int width = w->width, span = (width - 1) * steps + 1, pick[MOST_LANES];
  unsigned align = where->align < size_of(w, type) ? where->align : (unsigned)size_of(w, type);
  for (int v = 0; v < steps; v++) {
    int first = v + 1 < steps ? v * width : span - width;
    pointers[v] = element_pointer(w, type, base, first);
    parts[v] = LLVMBuildLoad2(w->b, vector_type(w, type), pointers[v], "");
    LLVMSetAlignment(parts[v], align);
    for (int i = 0; i < width; i++) pick[i] = (first + i) % steps ? width + i : (first + i) / steps;
    parts[v] = shuffled(w, lanes, parts[v], pick);
  }
  for (int v = 0; v < steps; v++) LLVMSetAlignment(LLVMBuildStore(w->b, parts[v], pointers[v]), align);
}

bool store_strided(widener *w, const place *at, vectors lanes, mask m) {
  enum { LARGE = 16 };
  int steps = few_steps(w, at, size_of(w, LLVMGetElementType(LLVMTypeOf(lanes.of[0]))));
  bool pays = steps == FEWEST || (steps && w->width >= LARGE);
  if (!pays || memory_of(at->address) != MEMORY_SHARED || !is_plain_access(at->by)) return false;
  value_form(w, at->address); /* needed on both paths */
  choice c = choose_every(w, m);
  for (int u = 0; u < w->vectors; u++) store_vector_between(w, at, lanes.of[u], steps, u);
  if (m.all) return true;
  else_some(w, &c);
  for (int u = 0; u < w->vectors; u++) scatter(w, at, lanes.of[u], m, u);
  end_choice(w, &c);
  return true;
}

/* Members may have different types, so that integers of their size are shuffled. */
static vectors as_bits(widener *w, vectors values) {
  for (int u = 0; u < w->vectors; u++) {
    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(values.of[u]));
    LLVMTypeRef bits = LLVMIntTypeInContext(w->p->context, (unsigned)size_of(w, type) * 8);
    bool pointer = LLVMGetTypeKind(type) == LLVMPointerTypeKind;
    values.of[u] = pointer ? LLVMBuildPtrToInt(w->b, values.of[u], vector_type(w, bits), "")
                           : LLVMBuildBitCast(w->b, values.of[u], vector_type(w, bits), "");
  }
  return values;
}

void store_structs(widener *w, const place *at, vectors *values, int steps, mask m) {
  value_form(w, at->address); /* needed on both paths */
  for (int i = 0; i < steps; i++) values[i] = as_bits(w, values[i]);
  uint64_t bytes = size_of(w, LLVMGetElementType(LLVMTypeOf(values[0].of[0])));
  choice c = choose_every(w, m);
  for (int u = 0; u < w->vectors; u++) store_vector(w, at, values, steps, u);
  if (m.all) return;
  else_some(w, &c);
  place member = *at;
  if (member.align > bytes) member.align = (unsigned)bytes;
  for (int i = 0; i < steps; i++, member.offset += bytes)
    for (int u = 0; u < w->vectors; u++) scatter(w, &member, values[i].of[u], m, u);
  end_choice(w, &c);
}

/* ---- stores of members ---- */

LLVMValueRef base_of(widener *w, LLVMValueRef address, int64_t *distance) {
  *distance = 0;
  while (LLVMIsAGetElementPtrInst(address) && LLVMGetNumOperands(address) == 2 &&
         LLVMIsAConstantInt(LLVMGetOperand(address, 1)) && !local_unit(w->g, address)) {
    uint64_t size = size_of(w, LLVMGetGEPSourceElementType(address));
    *distance += LLVMConstIntGetSExtValue(LLVMGetOperand(address, 1)) * (int64_t)size;
    address = LLVMGetOperand(address, 0);
  }
  return address;
}

LLVMTypeRef element_of(LLVMValueRef gep) {
  LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
  if (LLVMGetNumIndices(gep) == 1) return type;
  LLVMValueRef first = LLVMGetOperand(gep, 1);
  bool array = LLVMGetTypeKind(type) == LLVMArrayTypeKind && LLVMGetNumIndices(gep) == 2;
  return array && LLVMIsAConstantInt(first) && LLVMIsNull(first) ? LLVMGetElementType(type) : NULL;
}

typedef struct group {
  LLVMValueRef base, stores[MOST]; /* by member */
  int64_t first;                   /* of the first member from the base */
  int64_t bytes;                   /* of a member */
  int steps;
  LLVMValueRef last; /* of the stores, in the code */
} group;

static bool is_store_of(widener *w, const group *g, LLVMValueRef i, int64_t *distance) {
  if (!LLVMIsAStoreInst(i) || !is_plain_access(i)) return false;
  LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(i, 0));
  return base_of(w, LLVMGetOperand(i, 1), distance) == g->base && (int64_t)size_of(w, type) == g->bytes &&
         LLVMSizeOfTypeInBits(w->p->layout, type) == (unsigned long long)g->bytes * 8;
}

/* Find the stores in the node of `store` that form whole structs with it. Others from the same base that might form
   some with one of them make it ambiguous: then none is formed. */
static bool find_members(widener *w, LLVMValueRef store, group *g) {
  const node *here = &w->g->nodes[graph_node_of(w->g, store)];
  int64_t distance, own, lowest;
  g->base = base_of(w, LLVMGetOperand(store, 1), &own);
  lowest = own;
  for (LLVMValueRef i = here->first;; i = LLVMGetNextInstruction(i)) {
    bool near = is_store_of(w, g, i, &distance) && distance > own - g->bytes * g->steps && distance < lowest;
    if (near) lowest = distance;
    if (i == here->last) break;
  }
  g->first = lowest;
  for (LLVMValueRef i = here->first;; i = LLVMGetNextInstruction(i)) {
    int64_t size = g->bytes * g->steps;
    if (is_store_of(w, g, i, &distance) && distance > lowest - size && distance < lowest + 2 * size) {
      int64_t member = (distance - lowest) / g->bytes;
      if (distance < lowest || (distance - lowest) % g->bytes || member >= g->steps || g->stores[member]) return false;
      g->stores[member] = i;
      g->last = i;
    }
    if (i == here->last) break;
  }
  for (int i = 0; i < g->steps; i++)
    if (!g->stores[i]) return false;
  return true;
}

static int member_of(const group *g, LLVMValueRef store) {
  for (int i = 0; i < g->steps; i++)
    if (g->stores[i] == store) return i;
  return -1;
}

/* Whether the stores can be deferred to the last of them: nothing between may access their memory. A load of another
   member does not, as lanes' structs do not overlap. */
static bool can_defer(widener *w, const group *g) {
  const node *here = &w->g->nodes[graph_node_of(w->g, g->last)];
  bool stored[MOST] = {0}, begun = false;
  for (LLVMValueRef i = here->first; i != g->last; i = LLVMGetNextInstruction(i)) {
    int member = member_of(g, i);
    int64_t distance;
    if (member >= 0) {
      begun = stored[member] = true;
      continue;
    }
    if (!begun || touches_no_memory(i) || reads_elsewhere(i, LLVMGetOperand(g->last, 1))) continue;
    if (!LLVMIsALoadInst(i) || LLVMGetVolatile(i) || base_of(w, LLVMGetOperand(i, 0), &distance) != g->base)
      return false;
    distance -= g->first;
    bool inside = distance >= 0 && distance % g->bytes == 0 && distance / g->bytes < g->steps;
    if (!inside || (int64_t)size_of(w, LLVMTypeOf(i)) != g->bytes || stored[distance / g->bytes]) return false;
  }
  return true;
}

/* Whether the store and others form whole structs, which are stored where the last of them is. */
static bool find_group(widener *w, LLVMValueRef store, place *at, group *g) {
  *at = (place){LLVMGetOperand(store, 1), 0, LLVMGetAlignment(store), LLVMGetVolatile(store), store, 0};
  *g = (group){.bytes = (int64_t)size_of(w, LLVMTypeOf(LLVMGetOperand(store, 0)))};
  g->steps = few_steps(w, at, (uint64_t)g->bytes);
  return g->steps && find_members(w, store, g) && can_defer(w, g);
}

bool is_stored_together(widener *w, LLVMValueRef store) {
  place at;
  group g;
  return find_group(w, store, &at, &g);
}

bool store_struct_member(widener *w, LLVMValueRef store, mask m) {
  place at;
  group g;
  if (!find_group(w, store, &at, &g)) return false;
  if (store != g.last) return true;
  vectors values[MOST];
  for (int i = 0; i < g.steps; i++) values[i] = value_vectors(w, LLVMGetOperand(g.stores[i], 0));
  at.address = LLVMGetOperand(g.stores[0], 1);
  for (int i = 0; i < g.steps; i++)
    if (LLVMGetAlignment(g.stores[i]) < at.align) at.align = LLVMGetAlignment(g.stores[i]);
  store_structs(w, &at, values, g.steps, m);
  return true;
}
