/* Lane permutation for de-interleaving and interleaving shuffles on AVX and AVX2, whose registers have two 128-bit
 * halves.
 *
 * Interleaved access splits two vectors into their even and odd elements (0, 2, 4 … and 1, 3, 5 …) and later
 * interleaves the results. Most shuffles work within the halves of a register; those that cross halves take several
 * times as long. Between splitting and interleaving, the order of lanes does not matter if all values that are combined
 * have the same order. So in clusters of values that are computed lane-wise from split vectors and end in interleaving
 * shuffles, the middle two quarters of each vector are exchanged:
 *
 *   even:  0 2 4 6 | 8 10 12 14   ->   0 2 8 10 | 4 6 12 14        (one shufps of the halves' own elements)
 *
 * Then each splitting and each interleaving shuffle is one instruction.
 *
 * It runs after optimisation, which would undo the permutation. */
#include "mwcc/mwcc.h"
#include "mwcc/support/predicates.h"
#include "machine.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 192, REGISTER_BITS = 256, QUARTER_BITS = 64 };

/* Values that are computed from each other lane-wise, splitting shuffles included, and the interleaving shuffles
   (roots) that use them. */
typedef struct cluster {
  program *p;
  unsigned lanes, bits; /* of an element */
  LLVMValueRef members[MOST], roots[MOST];
  unsigned member_count, root_count, seen; /* the members before `seen` have been visited */
} cluster;

/* ---- shuffles ---- */

typedef int order_of_elements(unsigned i, unsigned lanes);

static int even(unsigned i, unsigned lanes) { return (int)(2 * i + 0 * lanes); }
static int odd(unsigned i, unsigned lanes) { return (int)(2 * i + 1 + 0 * lanes); }
static int lower(unsigned i, unsigned lanes) { return (int)(i / 2 + i % 2 * lanes); }
static int upper(unsigned i, unsigned lanes) { return (int)(lanes / 2 + i / 2 + i % 2 * lanes); }

/* Whether the value is a shuffle in that order, of two vectors or of one vector of twice the length. */
static bool is_shuffle_in_order(LLVMValueRef value, order_of_elements *order) {
  if (!LLVMIsAShuffleVectorInst(value)) return false;
  LLVMTypeRef type = LLVMTypeOf(value);
  unsigned lanes = LLVMGetVectorSize(type);
  unsigned from = LLVMGetVectorSize(LLVMTypeOf(LLVMGetOperand(value, 0)));
  if (from != lanes && from != 2 * lanes) return false;
  for (unsigned i = 0; i < lanes; i++)
    if (LLVMGetMaskValue(value, i) != order(i, lanes)) return false;
  return true;
}

/* A truncation to half the width takes the even elements as well. */
static bool is_truncation_to_even(const program *p, LLVMValueRef value) {
  if (!LLVMIsATruncInst(value) || !is_vector_type(LLVMTypeOf(value))) return false;
  LLVMTypeRef from = LLVMTypeOf(LLVMGetOperand(value, 0)), type = LLVMTypeOf(value);
  return LLVMSizeOfTypeInBits(p->layout, LLVMGetElementType(from)) ==
         2 * LLVMSizeOfTypeInBits(p->layout, LLVMGetElementType(type));
}

static bool is_split(const program *p, LLVMValueRef value) {
  return is_shuffle_in_order(value, even) || is_shuffle_in_order(value, odd) || is_truncation_to_even(p, value);
}

/* The source element that is element i of a shuffle or truncation. */
static unsigned source_index(LLVMValueRef value, unsigned i) {
  return (unsigned)(LLVMIsATruncInst(value) ? even(i, 0) : LLVMGetMaskValue(value, i));
}

static bool interleaves(LLVMValueRef value) {
  bool two = LLVMIsAShuffleVectorInst(value) && LLVMTypeOf(LLVMGetOperand(value, 0)) == LLVMTypeOf(value);
  return two && (is_shuffle_in_order(value, lower) || is_shuffle_in_order(value, upper));
}

/* The position of element i after the exchange of the middle quarters; the permutation is its own inverse. */
static unsigned exchanged_index(const cluster *c, unsigned i) {
  static const unsigned quarters[] = {0, 2, 1, 3};
  unsigned each = QUARTER_BITS / c->bits, vector = i / c->lanes * c->lanes, n = i % c->lanes;
  return vector + quarters[n / each] * each + n % each;
}

/* ---- lane-wise operations ---- */

static bool is_splat(LLVMValueRef value) {
  if (LLVMIsAUndefValue(value) || LLVMIsAConstantAggregateZero(value)) return true;
  LLVMTypeRef type = LLVMTypeOf(value);
  if (LLVMIsAConstant(value)) {
    LLVMValueRef first = LLVMGetAggregateElement(value, 0);
    for (unsigned i = 1; i < LLVMGetVectorSize(type); i++)
      if (!first || LLVMGetAggregateElement(value, i) != first) return false;
    return first != NULL;
  }
  if (!LLVMIsAShuffleVectorInst(value)) return false;
  for (unsigned i = 0; i < LLVMGetNumMaskElements(value); i++)
    if (LLVMGetMaskValue(value, i) != 0) return false;
  return true;
}

static bool is_lane_function(LLVMValueRef call) {
  static const char *const names[] = {"llvm.fma.",  "llvm.fmuladd.", "llvm.sqrt.",
                                      "llvm.fabs.", "llvm.minnum.",  "llvm.maxnum."};
  for (size_t i = 0; i < MW_COUNT(names); i++)
    if (starts_with(callee_name(call), names[i])) return true;
  return false;
}

/* Whether the type has the cluster's lanes, with elements of its size, or is a mask for them. */
static bool is_like(const cluster *c, LLVMTypeRef type) {
  if (!is_vector_type(type) || LLVMGetVectorSize(type) != c->lanes) return false;
  LLVMTypeRef element = LLVMGetElementType(type);
  return element == c->p->i1 || LLVMSizeOfTypeInBits(c->p->layout, element) == c->bits;
}

static bool is_by_lanes(const cluster *c, LLVMValueRef value) {
  if (!LLVMIsAInstruction(value) || !is_like(c, LLVMTypeOf(value))) return false;
  if (LLVMIsABinaryOperator(value)) return true;
  switch (LLVMGetInstructionOpcode(value)) {
  case LLVMFNeg:
  case LLVMPHI:
  case LLVMICmp:
  case LLVMFCmp:
  case LLVMSelect:
  case LLVMFreeze: return true;
  case LLVMInsertElement: return LLVMIsAConstantInt(LLVMGetOperand(value, 2)) != NULL;
  case LLVMBitCast: return is_like(c, LLVMTypeOf(LLVMGetOperand(value, 0)));
  case LLVMCall: return is_lane_function(value);
  default: return false;
  }
}

/* ---- a cluster ---- */

static bool add(LLVMValueRef *list, unsigned *count, LLVMValueRef value) {
  for (unsigned i = 0; i < *count; i++)
    if (list[i] == value) return true;
  if (*count == MOST) return false;
  list[(*count)++] = value;
  return true;
}

static bool add_operands(cluster *c, LLVMValueRef value) {
  int count = LLVMGetNumOperands(value) - (LLVMIsACallInst(value) != NULL); /* a call's last operand is the callee */
  for (int i = 0; i < count; i++) {
    LLVMValueRef operand = LLVMGetOperand(value, (unsigned)i);
    if (!is_vector_type(LLVMTypeOf(operand)) || is_splat(operand)) continue;
    bool fits = (is_split(c->p, operand) && is_like(c, LLVMTypeOf(operand))) || is_by_lanes(c, operand);
    if (!fits || !add(c->members, &c->member_count, operand)) return false;
  }
  return true;
}

static bool add_uses(cluster *c, LLVMValueRef value) {
  for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (interleaves(user)) {
      if (!add(c->roots, &c->root_count, user) || !add_operands(c, user)) return false;
    } else if (!is_by_lanes(c, user) || !add(c->members, &c->member_count, user)) {
      return false;
    }
  }
  return true;
}

/* Add all values connected with the first member. Returns false if one of them depends on the order of lanes. */
static bool add_connected(cluster *c) {
  while (c->seen < c->member_count) {
    LLVMValueRef value = c->members[c->seen++];
    if (!is_split(c->p, value) && !add_operands(c, value)) return false;
    if (!add_uses(c, value)) return false;
  }
  return c->root_count > 0;
}

/* ---- the exchange ---- */

static void replace(cluster *c, LLVMBuilderRef b, LLVMValueRef shuffle, const unsigned *elements) {
  LLVMValueRef mask[REGISTER_BITS];
  for (unsigned i = 0; i < c->lanes; i++) mask[i] = constant_i32(c->p, elements[i]);
  LLVMPositionBuilderBefore(b, shuffle);
  LLVMValueRef first = LLVMGetOperand(shuffle, 0);
  if (LLVMIsATruncInst(shuffle)) {
    LLVMTypeRef element = LLVMGetElementType(LLVMTypeOf(shuffle));
    first = LLVMBuildBitCast(b, first, LLVMVectorType(element, 2 * c->lanes), "");
  }
  LLVMValueRef second = LLVMIsATruncInst(shuffle) ? LLVMGetPoison(LLVMTypeOf(first)) : LLVMGetOperand(shuffle, 1);
  LLVMValueRef made = LLVMBuildShuffleVector(b, first, second, LLVMConstVector(mask, c->lanes), "");
  LLVMReplaceAllUsesWith(shuffle, made);
  LLVMInstructionEraseFromParent(shuffle);
}

static void move_insertion(const cluster *c, LLVMValueRef insertion) {
  unsigned lane = (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(insertion, 2));
  LLVMSetOperand(insertion, 2, constant_i32(c->p, exchanged_index(c, lane)));
}

static void change_order(cluster *c, LLVMBuilderRef b) {
  unsigned elements[REGISTER_BITS];
  for (unsigned m = 0; m < c->member_count; m++) {
    if (LLVMIsAInsertElementInst(c->members[m])) move_insertion(c, c->members[m]);
    if (!is_split(c->p, c->members[m])) continue;
    for (unsigned i = 0; i < c->lanes; i++) elements[i] = source_index(c->members[m], exchanged_index(c, i));
    replace(c, b, c->members[m], elements);
  }
  for (unsigned r = 0; r < c->root_count; r++) {
    for (unsigned i = 0; i < c->lanes; i++) elements[i] = exchanged_index(c, source_index(c->roots[r], i));
    replace(c, b, c->roots[r], elements);
  }
}

static bool begin(cluster *c, LLVMValueRef value) {
  if (!is_split(c->p, value)) return false;
  LLVMTypeRef type = LLVMTypeOf(value);
  c->lanes = LLVMGetVectorSize(type);
  c->bits = (unsigned)LLVMSizeOfTypeInBits(c->p->layout, LLVMGetElementType(type));
  c->members[0] = value;
  c->member_count = 1, c->root_count = c->seen = 0;
  return c->lanes * c->bits == REGISTER_BITS && c->bits <= QUARTER_BITS;
}

static void order_function(program *p, LLVMBuilderRef b, LLVMValueRef function) {
  cluster c = {.p = p};
  instructions list = instructions_of_function(function);
  for (size_t i = 0; i < list.count; i++) {
    if (!list.items[i] || !begin(&c, list.items[i])) continue;
    bool changes = add_connected(&c);
    /* visit each cluster once: remove its values from the list */
    for (unsigned m = 0; m < c.member_count; m++)
      for (size_t k = i; k < list.count; k++)
        if (list.items[k] == c.members[m]) list.items[k] = NULL;
    for (unsigned r = 0; changes && r < c.root_count; r++)
      for (size_t k = i; k < list.count; k++)
        if (list.items[k] == c.roots[r]) list.items[k] = NULL;
    if (changes) change_order(&c, b);
  }
  free(list.items);
}

void permute_shuffle_lanes(program *p) {
  if (!strstr(p->features, "+avx") || strstr(p->features, "+avx512f")) return;
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) order_function(p, b, f);
  LLVMDisposeBuilder(b);
}
