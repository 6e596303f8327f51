/* Affine functions of the thread's number: see footprint.h. */
#include "footprint.h"
#include "mwcc/support/predicates.h"
#include "simt.h"
#include "analysis.h"

#include <stdlib.h>

enum { DEPTH = 12, MOST_TIMES = 1024, FARTHEST = 1 << 16 };

/* times * number + distance, which does not wrap if the number is at most footprints.most. */
typedef struct affine {
  bool known;
  int64_t times, distance;
} affine;

static const affine unknown = {0};

static affine checked(const footprint_search *s, int64_t times, int64_t distance) {
  if (times < 0 || times > MOST_TIMES || distance > FARTHEST || distance < -FARTHEST) return unknown;
  int64_t most = (((int64_t)1 << 31) - 4 * FARTHEST) / (times ? times : 1);
  if (!s->into->most || most < s->into->most) s->into->most = most;
  return (affine){true, times, distance};
}

static affine number_of(const footprint_search *s, LLVMValueRef value, int depth) {
  if (s->is_number(s->context, value)) return checked(s, 1, 0);
  if (LLVMIsAConstantInt(value)) {
    if (LLVMGetIntTypeWidth(LLVMTypeOf(value)) > 64) return unknown;
    return checked(s, 0, LLVMConstIntGetSExtValue(value));
  }
  if (depth == 0 || !LLVMIsAInstruction(value)) return unknown;
  LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
  bool extends = opcode == LLVMSExt || opcode == LLVMZExt;
  if (!extends && opcode != LLVMAdd && opcode != LLVMMul && opcode != LLVMShl && opcode != LLVMOr) return unknown;
  affine a = number_of(s, LLVMGetOperand(value, 0), depth - 1);
  if (!a.known) return unknown;
  if (extends) return opcode == LLVMZExt && a.distance < 0 ? unknown : a;
  affine b = number_of(s, LLVMGetOperand(value, 1), depth - 1);
  if (!b.known) return unknown;
  switch (opcode) {
  case LLVMAdd: return checked(s, a.times + b.times, a.distance + b.distance);
  case LLVMOr:
    if (!LLVMGetIsDisjoint(value)) return unknown;
    return checked(s, a.times + b.times, a.distance + b.distance);
  case LLVMMul:
    if (b.times) return unknown;
    return checked(s, a.times * b.distance, a.distance * b.distance);
  default:
    if (b.times || b.distance < 0 || b.distance > 10) return unknown;
    return checked(s, a.times << b.distance, a.distance * ((int64_t)1 << b.distance));
  }
}

/* An address as an affine number of bytes after a pointer parameter. */
static affine address_of(const footprint_search *s, LLVMValueRef address, LLVMValueRef *parameter, int depth) {
  LLVMTargetDataRef layout = s->p->layout;
  if (LLVMIsAArgument(address)) {
    *parameter = address;
    return (affine){.known = true};
  }
  if (depth == 0) return unknown;
  if (LLVMIsAAddrSpaceCastInst(address)) return address_of(s, LLVMGetOperand(address, 0), parameter, depth - 1);
  if (!LLVMIsAGetElementPtrInst(address)) return unknown;
  affine sum = address_of(s, LLVMGetOperand(address, 0), parameter, depth - 1);
  LLVMTypeRef type = LLVMGetGEPSourceElementType(address);
  for (unsigned i = 1; i <= LLVMGetNumIndices(address) && sum.known; i++) {
    LLVMValueRef index = LLVMGetOperand(address, i);
    if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
      unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);
      sum.distance += (int64_t)LLVMOffsetOfElement(layout, type, field);
      type = LLVMStructGetTypeAtIndex(type, field);
      continue;
    }
    if (i > 1 && LLVMGetTypeKind(type) != LLVMArrayTypeKind) return unknown;
    if (i > 1) type = LLVMGetElementType(type);
    affine by = number_of(s, index, depth - 1);
    int64_t size = (int64_t)LLVMABISizeOfType(layout, type);
    if (!by.known || size > FARTHEST) return unknown;
    sum.times += by.times * size, sum.distance += by.distance * size;
  }
  bool good = sum.known && sum.times <= FARTHEST && llabs(sum.distance) <= FARTHEST * (int64_t)MOST_TIMES;
  return good ? sum : unknown;
}

/* ---- footprints ---- */

static void add(footprints *all, footprint made) {
  for (int i = 0; i < all->count; i++) {
    footprint *r = &all->items[i];
    if (r->parameter != made.parameter || r->times != made.times) continue;
    if (made.low < r->low) r->low = made.low;
    if (made.high > r->high) r->high = made.high;
    r->stored = r->stored || made.stored;
    return;
  }
  all->items = mw_realloc(all->items, (size_t)(all->count + 1) * sizeof *all->items);
  all->items[all->count++] = made;
}

bool add_footprint(const footprint_search *s, LLVMValueRef i) {
  bool stores = LLVMIsAStoreInst(i) != NULL;
  LLVMValueRef address = LLVMGetOperand(i, stores ? 1 : 0), parameter = NULL;
  if (!is_plain_access(i)) return false;
  memory_kind kind = memory_of(address);
  if (kind == MEMORY_LOCAL || (!stores && kind == MEMORY_CONSTANT)) return true;
  affine at = address_of(s, address, &parameter, DEPTH);
  if (!at.known || (stores && !at.times) || s->into->count == MOST_FOOTPRINTS) return false;
  unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5), number = 0;
  while (LLVMGetParam(s->k->body, number) != parameter) number++;
  if (LLVMGetEnumAttributeAtIndex(s->k->body, number + 1, byval)) return !stores;
  LLVMTypeRef type = stores ? LLVMTypeOf(LLVMGetOperand(i, 0)) : LLVMTypeOf(i);
  int64_t bytes = (int64_t)LLVMStoreSizeOfType(s->p->layout, type);
  add(s->into, (footprint){number, at.times, at.distance, at.distance + bytes, stores});
  return true;
}

/* Whether two different numbers never access the same bytes. */
static bool are_within_elements(const footprint *a, const footprint *b) {
  int64_t low = a->low < b->low ? a->low : b->low, high = a->high > b->high ? a->high : b->high;
  return a->times == b->times && high - low <= a->times;
}

bool are_elements(const footprints *all) {
  for (int i = 0; i < all->count; i++) {
    const footprint *r = &all->items[i];
    for (int j = 0; j < all->count && r->stored; j++)
      if (all->items[j].parameter == r->parameter && !are_within_elements(r, &all->items[j])) return false;
  }
  return true;
}

/* ---- the test at launch ---- */

typedef struct launch_code {
  program *p;
  LLVMBuilderRef b;
  const kernel *k;
  LLVMValueRef params, last;
} launch_code;

static LLVMValueRef pointer_of(const launch_code *c, const footprint *r) {
  return load_invariant(c->p, c->b, c->p->i64, c->params, c->k->params[r->parameter].offset);
}

/* The first byte that is accessed, or the one after the last. */
static LLVMValueRef edge(const launch_code *c, const footprint *r, bool end) {
  LLVMBuilderRef b = c->b;
  LLVMValueRef at = LLVMBuildAdd(b, pointer_of(c, r), constant_i64(c->p, (uint64_t)(end ? r->high : r->low)), "");
  if (!end || !r->times) return at;
  return LLVMBuildAdd(b, at, LLVMBuildMul(b, c->last, constant_i64(c->p, (uint64_t)r->times), ""), "");
}

static LLVMValueRef are_disjoint(const launch_code *c, const footprint *r, const footprint *other) {
  LLVMBuilderRef b = c->b;
  LLVMValueRef below = LLVMBuildICmp(b, LLVMIntULE, edge(c, r, true), edge(c, other, false), "");
  LLVMValueRef above = LLVMBuildICmp(b, LLVMIntULE, edge(c, other, true), edge(c, r, false), "");
  LLVMValueRef disjoint = LLVMBuildOr(b, below, above, "");
  if (!are_within_elements(r, other)) return disjoint;
  return LLVMBuildOr(b, disjoint, LLVMBuildICmp(b, LLVMIntEQ, pointer_of(c, r), pointer_of(c, other), ""), "");
}

LLVMValueRef build_disjoint_test(program *p, LLVMBuilderRef b, const kernel *k, const footprints *all,
                                 LLVMValueRef params, LLVMValueRef last) {
  launch_code c = {p, b, k, params, last};
  LLVMValueRef good = LLVMBuildICmp(b, LLVMIntULT, last, constant_i64(p, (uint64_t)all->most), "");
  for (int i = 0; i < all->count; i++) {
    const footprint *r = &all->items[i];
    for (int j = 0; j < all->count && r->stored; j++)
      if (all->items[j].parameter != r->parameter)
        good = LLVMBuildAnd(b, good, are_disjoint(&c, r, &all->items[j]), "");
  }
  return good;
}
