/* Predictive commoning with full unrolling (cf. GCC's -fpredictive-commoning): loops whose iterations load what
 * other iterations load.
 *
 *   for (j = -2; j <= 2; j++) sum += image[(y + j) * width + x] * filter[j];
 *
 * The vectors of a gang are rows y, y + 1, …, so row y + 1 of one iteration is row y of the next.
 *
 * Such a loop, if it is one basic block that changes no memory and has few iterations, becomes straight code in which
 * each vector is loaded once. There are more vectors than registers, so the order matters, too: all uses of a loaded
 * vector have to follow its load. Here all values of all iterations are numbered (value numbering), so that equal
 * values have one number; commoned_loop_unroll.c then schedules what remains.
 *
 * Only in code for a single block size, since it is long. */
#include "predictive_commoning.h"
#include "mwcc/target/tuning.h"
#include "opt.h"

#include <stdlib.h>
#include <string.h>

enum {
  MOST_ITEMS = TUNE_COMMONING_ITEMS,
  MOST_HEAVY = TUNE_COMMONING_LOADS,
  SUMS = 3 /* depth of sums that are searched */
};

/* ---- which loops ---- */

/* A loop of one block with a known number of iterations, which loads vectors and does not change memory. */
static bool find_loop(program *p, LLVMBasicBlockRef block, commoning *out) {
  LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
  size_t loads = 0;
  *out = (commoning){.p = p, .block = block};
  if (!is_own_loop(block, &out->before, &out->exit)) return false;
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i != end; i = LLVMGetNextInstruction(i)) {
    if (!is_pure(i)) return false;
    loads += is_vector_load(i);
    out->body_count++;
  }
  if (loads < 2) return false;
  out->iterations = trip_count(block, block);
  return out->iterations > 1 && out->iterations * out->body_count <= MOST_ITEMS;
}

/* ---- value numbering ---- */

/* Whether two instructions are equal if their operands are, apart from poison-generating flags and metadata, which are
   dropped. */
static bool may_be_same(LLVMValueRef a, LLVMValueRef b) {
  if (a == b) return true;
  if (!a || !b || LLVMGetInstructionOpcode(a) != LLVMGetInstructionOpcode(b)) return false;
  if (is_integer_operation(a)) return true;
  switch (LLVMGetInstructionOpcode(a)) {
  case LLVMGetElementPtr: return LLVMGetGEPSourceElementType(a) == LLVMGetGEPSourceElementType(b);
  case LLVMLoad: return true;
  case LLVMCall: return LLVMGetTypeKind(LLVMTypeOf(a)) == LLVMIntegerTypeKind;
  default: return false;
  }
}

static bool same(const commoning *l, const item *a, const item *b) {
  if (a->type != b->type || a->outside != b->outside || a->base != b->base || a->distance != b->distance) return false;
  if (a->second != b->second || a->count != b->count || !may_be_same(a->like, b->like)) return false;
  return memcmp(l->operands + a->first, l->operands + b->first, (size_t)a->count * sizeof(int)) == 0;
}

static uint64_t mix(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x9E3779B97F4A7C15u ^ hash >> 29; }

/* The number of an item equal to this one; its operands, if any, are the last in the list. */
static int number_item(commoning *l, item made) {
  enum { SLOTS = 4 * MOST_ITEMS };
  uint64_t hash = mix((uintptr_t)made.type, (uintptr_t)made.outside);
  hash = mix(mix(mix(hash, (uint64_t)made.distance), (uint64_t)made.base), (uint64_t)made.second);
  hash = mix(hash, made.like ? LLVMGetInstructionOpcode(made.like) : 0u);
  for (int i = 0; i < made.count; i++) hash = mix(hash, (uint64_t)l->operands[made.first + i]);
  if (!l->table) l->table = mw_alloc(SLOTS * sizeof *l->table);
  size_t slot = (hash >> 20) % SLOTS;
  for (; l->table[slot]; slot = (slot + 1) % SLOTS) {
    item *known = &l->items[l->table[slot] - 1];
    if (!same(l, known, &made)) continue;
    if (made.align < known->align) known->align = made.align;
    l->operand_count -= made.count;
    return l->table[slot] - 1;
  }
  if (l->count == 2 * MOST_ITEMS) {
    l->fails = true;
    return 0;
  }
  l->items[l->count] = made;
  l->table[slot] = l->count + 1;
  return l->count++;
}

static bool is_number(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) <= 64;
}

static int number_sum(commoning *l, LLVMTypeRef type, int base, uint64_t distance) {
  unsigned spare = 64 - LLVMGetIntTypeWidth(type);
  int64_t short_distance = (int64_t)(distance << spare) >> spare;
  if (base != NONE && !short_distance) return base;
  return number_item(l, (item){.type = type, .base = base, .distance = short_distance});
}

/* An item as another one plus a distance; NONE and a distance: a constant. */
static int base_of(const commoning *l, int number, uint64_t *distance) {
  const item *i = &l->items[number];
  *distance = 0;
  if (i->outside || i->like || i->second) return number;
  *distance = (uint64_t)i->distance;
  return i->base;
}

static bool adds(LLVMValueRef i) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
  return opcode == LLVMAdd || (opcode == LLVMOr && LLVMGetIsDisjoint(i));
}

/* A sum of two numbers and a distance has the sum of the numbers as its base: rows y + 1 and y + 2 of a block differ
   by one, in whatever order the first row and the thread's are added. */
static int number_outside(commoning *l, LLVMValueRef value, int depth) {
  LLVMTypeRef type = LLVMTypeOf(value);
  if (is_number(type) && LLVMIsAConstantInt(value))
    return number_sum(l, type, NONE, (uint64_t)LLVMConstIntGetSExtValue(value));
  if (depth && is_number(type) && LLVMIsAInstruction(value) && adds(value)) {
    uint64_t a, b;
    int left = base_of(l, number_outside(l, LLVMGetOperand(value, 0), depth - 1), &a),
        right = base_of(l, number_outside(l, LLVMGetOperand(value, 1), depth - 1), &b);
    int less = left < right ? left : right, more = left < right ? right : left;
    if (less != NONE) more = number_item(l, (item){.type = type, .base = less, .second = more + 1});
    return number_sum(l, type, more, a + b);
  }
  return number_item(l, (item){.type = type, .outside = value, .base = NONE});
}

/* The result for constant operands, or for an operand plus a distance; false: neither. */
static bool fold(commoning *l, LLVMValueRef i, const int *operands, int *result) {
  LLVMTypeRef type = LLVMTypeOf(i);
  uint64_t a = 0, b = 0;
  if (!is_number(type) || LLVMGetNumOperands(i) > 2 || !is_number(LLVMTypeOf(LLVMGetOperand(i, 0)))) return false;
  int left = base_of(l, operands[0], &a), right = NONE;
  if (LLVMGetNumOperands(i) == 2) right = base_of(l, operands[1], &b);
  bool constant = left == NONE && right == NONE;
  unsigned from = LLVMGetIntTypeWidth(LLVMTypeOf(LLVMGetOperand(i, 0)));
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMAdd:
  case LLVMOr:
    if (!adds(i) || (left != NONE && right != NONE)) return false;
    *result = number_sum(l, type, left == NONE ? right : left, a + b);
    return true;
  case LLVMSub:
    if (right != NONE) return false;
    *result = number_sum(l, type, left, a - b);
    return true;
  case LLVMMul: a *= b; break;
  case LLVMShl:
    if (b >= from) return false;
    a <<= b;
    break;
  case LLVMZExt:
    if (from < 64) a &= ((uint64_t)1 << from) - 1;
    break;
  case LLVMSExt:
  case LLVMTrunc: break;
  default: return false;
  }
  if (constant) *result = number_sum(l, type, NONE, a);
  return constant;
}

/* Operand n of instruction `at`, in an iteration. */
static int number_operand(commoning *l, size_t at, unsigned n, size_t iteration) {
  int inside = l->inside[l->first_inside[at] + (int)n];
  if (inside == NONE) return number_outside(l, LLVMGetOperand(l->body[at], n), SUMS);
  return l->known[iteration * l->body_count + (size_t)inside];
}

static int number_phi(commoning *l, size_t at, size_t iteration) {
  for (unsigned n = 0; n < 2; n++) {
    bool first = LLVMGetIncomingBlock(l->body[at], n) != l->block;
    if (iteration == 0 && first) return number_outside(l, LLVMGetIncomingValue(l->body[at], n), SUMS);
    if (iteration > 0 && !first) return number_operand(l, at, n, iteration - 1);
  }
  l->fails = true;
  return 0;
}

static int number_copy(commoning *l, size_t at, size_t iteration) {
  enum { MOST = 8 };
  LLVMValueRef i = l->body[at];
  int operands[MOST], count = LLVMGetNumOperands(i), result;
  bool heavy = is_vector_load(i);
  if (LLVMIsAPHINode(i)) return number_phi(l, at, iteration);
  l->fails = l->fails || count > MOST;
  for (int n = 0; n < count && !l->fails; n++) {
    operands[n] = number_operand(l, at, (unsigned)n, iteration);
    if (!l->items[operands[n]].heavy) continue;
    l->fails = heavy && is_vector_load(i); /* a gather: it cannot be reordered freely */
    heavy = true;
  }
  if (l->fails) return 0;
  if (fold(l, i, operands, &result)) return result;
  item made = {.type = LLVMTypeOf(i), .like = i, .base = NONE, .count = count, .heavy = heavy};
  made.first = l->operand_count;
  memcpy(l->operands + made.first, operands, (size_t)count * sizeof *operands);
  l->operand_count += count;
  if (LLVMIsALoadInst(i)) made.align = LLVMGetAlignment(i);
  return number_item(l, made);
}

typedef struct place {
  LLVMValueRef value;
  int index;
} place;

static int by_value(const void *left, const void *right) {
  uintptr_t a = (uintptr_t)((const place *)left)->value, b = (uintptr_t)((const place *)right)->value;
  return (a > b) - (a < b);
}

/* Find which operands are instructions of the loop. */
static void find_operands_in_loop(commoning *l) {
  place *places = mw_alloc((l->body_count + 1) * sizeof *places);
  int total = 0;
  l->body = mw_alloc((l->body_count + 1) * sizeof *l->body);
  LLVMValueRef next = LLVMGetFirstInstruction(l->block);
  for (size_t i = 0; i < l->body_count; i++, next = LLVMGetNextInstruction(next)) {
    l->body[i] = next;
    places[i] = (place){next, (int)i};
    total += LLVMGetNumOperands(next);
  }
  qsort(places, l->body_count, sizeof *places, by_value);
  l->first_inside = mw_alloc((l->body_count + 1) * sizeof *l->first_inside);
  l->inside = mw_alloc((size_t)(total + 1) * sizeof *l->inside);
  total = 0;
  for (size_t i = 0; i < l->body_count; i++) {
    l->first_inside[i] = total;
    for (int n = 0; n < LLVMGetNumOperands(l->body[i]); n++) {
      place key = {LLVMGetOperand(l->body[i], (unsigned)n), 0};
      const place *found = bsearch(&key, places, l->body_count, sizeof *places, by_value);
      l->inside[total++] = found ? found->index : NONE;
    }
  }
  free(places);
}

/* Number all iterations. Whether at least a third of their loads are common. */
static bool number_iterations(commoning *l) {
  enum { OPERANDS = 8 };
  size_t loads = 0, different = 0, heavy = 0;
  find_operands_in_loop(l);
  l->known = mw_alloc((l->iterations * l->body_count + 1) * sizeof *l->known);
  l->items = mw_alloc((2 * MOST_ITEMS + 1) * sizeof *l->items);
  l->operands = mw_alloc((2 * MOST_ITEMS + 1) * OPERANDS * sizeof *l->operands);
  for (size_t iteration = 0; iteration < l->iterations; iteration++)
    for (size_t i = 0; i < l->body_count && !l->fails; i++) {
      l->known[iteration * l->body_count + i] = number_copy(l, i, iteration);
      loads += is_vector_load(l->body[i]);
    }
  for (int i = 0; i < l->count; i++) {
    heavy += l->items[i].heavy;
    different += l->items[i].like && is_vector_load(l->items[i].like);
  }
  return !l->fails && heavy <= MOST_HEAVY && 3 * different <= 2 * loads;
}

static void free_loop(commoning *l) {
  free(l->body);
  free(l->inside);
  free(l->first_inside);
  free(l->known);
  free(l->items);
  free(l->operands);
  free(l->table);
  free(l->users);
  free(l->placed);
}

void common_overlapping_loads(program *p) {
  if (!p->options->launch_kernel) return;
  EACH_FUNCTION(p, f) {
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block)) {
      commoning l;
      if (!find_loop(p, block, &l)) continue;
      if (number_iterations(&l)) unroll_commoned(&l);
      free_loop(&l);
    }
  }
}
