/* Finds all accesses to shared memory, by following its address from where the function loads it from the worker. An
 * address may be a vector, with a constant distance for each lane: those of a block that is one gang, where loops with
 * barriers are unrolled. */
#include "shared_accesses.h"
#include "mwcc/analysis/analysis.h"
#include "mwcc/support/predicates.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH = 16 };

/* An address as distances from the first byte of shared memory. */
typedef struct distances {
  bool known;
  unsigned count;
  int64_t of[MOST_LANES]; /* NO_PLACE: of a lane whose address is poison */
} distances;

LLVMValueRef constant_mask_of(LLVMValueRef call) {
  bool load = LLVMGetTypeKind(LLVMTypeOf(call)) != LLVMVoidTypeKind;
  LLVMValueRef mask = LLVMGetOperand(call, load ? MASKED_LOAD_MASK : MASKED_STORE_MASK);
  unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(mask));
  for (unsigned i = 0; i < lanes; i++) {
    LLVMValueRef bit = LLVMIsConstant(mask) ? LLVMGetAggregateElement(mask, i) : NULL;
    if (!bit || !LLVMIsAConstantInt(bit)) return NULL;
  }
  return mask;
}

/* ---- addresses ---- */

/* Adds the index of `size` bytes each to all lanes; false if it is not constant. */
static bool add_index(distances *d, LLVMValueRef index, int64_t size) {
  bool vector = is_vector_type(LLVMTypeOf(index));
  for (unsigned i = 0; i < d->count; i++) {
    LLVMValueRef number = index;
    if (vector) number = LLVMIsConstant(index) ? LLVMGetAggregateElement(index, i) : NULL;
    if (number && LLVMIsUndef(number)) {
      d->of[i] = NO_PLACE;
      continue;
    }
    if (!number || !LLVMIsAConstantInt(number)) return false;
    if (d->of[i] != NO_PLACE) d->of[i] += LLVMConstIntGetSExtValue(number) * size;
  }
  return true;
}

static distances distances_of_gep(const shared_accesses *s, LLVMValueRef gep, const distances *base) {
  distances d = *base;
  LLVMTypeRef type = LLVMGetGEPSourceElementType(gep), result = LLVMTypeOf(gep);
  unsigned lanes = is_vector_type(result) ? LLVMGetVectorSize(result) : 1;
  if (lanes > MOST_LANES) d.known = false;
  for (; d.known && d.count < lanes; d.count++) d.of[d.count] = d.of[0];
  for (int i = 1; d.known && i < LLVMGetNumOperands(gep); i++) {
    if (i > 1 && LLVMGetTypeKind(type) != LLVMArrayTypeKind) d.known = false;
    if (i > 1 && d.known) type = LLVMGetElementType(type);
    int64_t size = d.known ? (int64_t)LLVMABISizeOfType(s->p->layout, type) : 0;
    d.known = d.known && add_index(&d, LLVMGetOperand(gep, (unsigned)i), size);
  }
  return d;
}

static distances distance_of_lane(LLVMValueRef extract, const distances *d) {
  LLVMValueRef lane = LLVMGetOperand(extract, 1);
  distances one = {.count = 1};
  if (!d->known || !LLVMIsAConstantInt(lane) || LLVMConstIntGetZExtValue(lane) >= d->count) return one;
  one.of[0] = d->of[LLVMConstIntGetZExtValue(lane)];
  one.known = one.of[0] != NO_PLACE;
  return one;
}

/* ---- accesses ---- */

/* Whether the elements of a vector fill whole bytes, so that each has a place of its own. */
static bool has_whole_elements(const shared_accesses *s, LLVMTypeRef type) {
  LLVMTypeRef element = element_type(type);
  return LLVMSizeOfTypeInBits(s->p->layout, element) == 8 * LLVMABISizeOfType(s->p->layout, element);
}

/* The places of an access of that type: of a vector's elements next to each other, or at an address for each lane. */
static void find_places(shared_accesses *s, shared_access *a, LLVMTypeRef type, const distances *d, LLVMValueRef mask) {
  bool vector = is_vector_type(type), by_lane = d->count > 1;
  bool elements = vector && LLVMGetVectorSize(type) <= MOST_LANES && has_whole_elements(s, type);
  a->count = elements ? LLVMGetVectorSize(type) : 1;
  a->bytes = (int64_t)(elements ? LLVMABISizeOfType(s->p->layout, element_type(type))
                                : LLVMStoreSizeOfType(s->p->layout, type));
  if (!d->known || (by_lane && (!elements || d->count != a->count))) return;
  int64_t *places = mw_alloc(a->count * sizeof *places);
  bool known = true;
  for (unsigned i = 0; i < a->count; i++) {
    bool active = !mask || !elements || LLVMConstIntGetZExtValue(LLVMGetAggregateElement(mask, i));
    places[i] = !active ? NO_PLACE : by_lane ? d->of[i] : d->of[0] + (int64_t)i * a->bytes;
    if (!active) continue;
    int64_t end = (places[i] + a->bytes + SHARED_WORD - 1) / SHARED_WORD;
    known = known && places[i] >= 0 && end < MOST_SHARED_WORDS;
    if (known && (size_t)end > s->words) s->words = (size_t)end;
  }
  if (known)
    a->places = places;
  else
    free(places);
}

static void note(shared_accesses *s, shared_access a, LLVMTypeRef type, const distances *d, LLVMValueRef mask) {
  find_places(s, &a, type, d, mask);
  s->list = mw_realloc(s->list, (s->count + 1) * sizeof *s->list);
  s->list[s->count++] = a;
}

/* An intrinsic call with the address as an operand. */
static void note_call(shared_accesses *s, LLVMValueRef call, LLVMValueRef address, const distances *d) {
  const char *name = callee_name(call);
  shared_access a = {.at = call};
  bool loads = starts_with(name, "llvm.masked.load.") || starts_with(name, "llvm.masked.gather."),
       stores = starts_with(name, "llvm.masked.store.") || starts_with(name, "llvm.masked.scatter.");
  if (!loads && !(stores && LLVMGetOperand(call, 0) != address)) {
    if (!starts_with(name, "llvm.prefetch.")) s->escapes = true;
    return;
  }
  LLVMValueRef mask = constant_mask_of(call);
  a.reads = loads, a.writes = a.removable = stores, a.certain = mask != NULL;
  note(s, a, LLVMTypeOf(loads ? call : LLVMGetOperand(call, 0)), d, mask);
}

static void follow(shared_accesses *s, LLVMValueRef address, const distances *d, int depth);

static void note_user(shared_accesses *s, LLVMValueRef user, LLVMValueRef address, const distances *d, int depth) {
  static const distances unknown = {0};
  shared_access a = {.at = user, .certain = true};
  switch (LLVMGetInstructionOpcode(user)) {
  case LLVMLoad:
    a.reads = true;
    note(s, a, LLVMTypeOf(user), d, NULL);
    return;
  case LLVMStore:
    if (LLVMGetOperand(user, 0) == address) break;
    a.writes = true;
    a.certain = a.removable = is_plain_access(user);
    note(s, a, LLVMTypeOf(LLVMGetOperand(user, 0)), d, NULL);
    return;
  case LLVMAtomicRMW:
  case LLVMAtomicCmpXchg:
    for (unsigned i = 1; i < (unsigned)LLVMGetNumOperands(user); i++)
      if (LLVMGetOperand(user, i) == address) s->escapes = true;
    a.reads = a.writes = true, a.certain = false;
    note(s, a, LLVMTypeOf(LLVMGetOperand(user, 1)), d, NULL);
    return;
  case LLVMGetElementPtr: {
    distances moved = distances_of_gep(s, user, d);
    follow(s, user, &moved, depth);
    return;
  }
  case LLVMExtractElement: {
    distances one = distance_of_lane(user, d);
    follow(s, user, &one, depth);
    return;
  }
  case LLVMInsertElement: /* for gathers and scatters */
  case LLVMShuffleVector: follow(s, user, &unknown, depth); return;
  case LLVMCall: note_call(s, user, address, d); return;
  default: break;
  }
  s->escapes = true;
}

static void follow(shared_accesses *s, LLVMValueRef address, const distances *d, int depth) {
  if (depth == 0) s->escapes = true;
  for (LLVMUseRef use = LLVMGetFirstUse(address); use && !s->escapes; use = LLVMGetNextUse(use))
    note_user(s, LLVMGetUser(use), address, d, depth - 1);
}

static bool is_block_number(const shared_accesses *s, LLVMValueRef gep) {
  static const distances start = {.known = true, .count = 1};
  if (!LLVMIsAGetElementPtrInst(gep)) return false;
  distances d = distances_of_gep(s, gep, &start);
  return d.known && d.count == 1 && d.of[0] == offsetof(mw_worker, block);
}

static int by_instruction(const void *a, const void *b) {
  uintptr_t x = (uintptr_t)((const shared_access *)a)->at, y = (uintptr_t)((const shared_access *)b)->at;
  return x < y ? -1 : x > y;
}

/* How the function uses the worker: it loads the address of shared memory, and stores the block's number. */
bool find_shared_accesses(program *p, LLVMValueRef function, shared_accesses *out) {
  static const distances start = {.known = true, .count = 1};
  *out = (shared_accesses){.p = p, .function = function};
  LLVMValueRef worker = LLVMGetParam(function, 1);
  for (LLVMUseRef use = LLVMGetFirstUse(worker); use && !out->escapes; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (LLVMIsALoadInst(user) && LLVMTypeOf(user) == p->pointer)
      follow(out, user, &start, DEPTH);
    else if (!is_block_number(out, user))
      out->escapes = true; /* whatever receives the worker can find shared memory */
  }
  if (out->count) qsort(out->list, out->count, sizeof *out->list, by_instruction);
  return !out->escapes && out->count && out->words;
}

void free_shared_accesses(shared_accesses *s) {
  for (size_t i = 0; i < s->count; i++) free(s->list[i].places);
  free(s->list);
}

const shared_access *shared_access_of(const shared_accesses *s, LLVMValueRef i) {
  shared_access key = {.at = i};
  return bsearch(&key, s->list, s->count, sizeof key, by_instruction);
}

bool begins_shared_block(const shared_accesses *s, LLVMValueRef i) {
  LLVMValueRef at = LLVMIsAStoreInst(i) ? LLVMGetOperand(i, 1) : NULL;
  return at && LLVMIsAGetElementPtrInst(at) && LLVMGetOperand(at, 0) == LLVMGetParam(s->function, 1);
}
