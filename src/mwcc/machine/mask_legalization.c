/* Masks that are whole lanes, for processors without registers of masks: AVX2, SSE and NEON.
 *
 * There a comparison gives lanes of ones or of zeros, as wide as what it compares, and that is what blends, masked accesses
 * and tests for any lane take. Within a block LLVM's code generation sees it so. Between blocks it makes what the vector of
 * bits becomes by itself: eight lanes of 16 bits in half a register of AVX2, which each comparison is packed into and each use
 * unpacks again. So masks that more than one block knows, and what is computed from them, become vectors of integers here:
 * extended where they arise, and where they are used again made bits by their sign, which is all that the instructions look
 * at. Each lane is 0 or -1 throughout.
 *
 * Runs behind the optimiser, which would take all of that for detours. */
#include "mwcc/mwcc.h"
#include "machine.h"
#include "mwcc/target/target.h"

#include <stdlib.h>
#include <string.h>

/* A mask that becomes one of whole lanes. Those that are computed from each other are a group, and have lanes of one width;
   they lie one behind the other. */
typedef struct member {
  LLVMValueRef mask, wide;
  LLVMTypeRef type; /* of `wide` */
} member;

typedef struct masks {
  program *p;
  LLVMBuilderRef b;
  member *items;
  size_t count;
  unsigned *places; /* a hash table from masks to members: their numbers and one more */
  size_t place_count;
} masks;

/* ---- which ones ---- */

static bool is_vector(LLVMTypeRef type) { return LLVMGetTypeKind(type) == LLVMVectorTypeKind; }

static bool is_mask(const program *p, LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  return is_vector(type) && LLVMGetElementType(type) == p->i1;
}

static bool is_true(LLVMValueRef value) { return LLVMIsAConstantInt(value) && !LLVMIsNull(value); }

static bool has_opcode(LLVMValueRef value, LLVMOpcode opcode) {
  return LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == opcode;
}

/* The truth that all lanes have, or (`*inverted`) have the opposite of; or NULL. */
static LLVMValueRef shared_by_all(LLVMValueRef mask, bool *inverted) {
  if (!LLVMIsAShuffleVectorInst(mask)) return NULL;
  LLVMValueRef first = LLVMGetOperand(mask, 0);
  for (unsigned i = 0; i < LLVMGetNumMaskElements(mask); i++)
    if (LLVMGetMaskValue(mask, i) != 0) return NULL;
  LLVMValueRef by = has_opcode(first, LLVMXor) ? LLVMGetOperand(first, 1) : NULL;
  *inverted = by && LLVMIsAConstant(by) && is_true(LLVMGetAggregateElement(by, 0));
  if (*inverted) first = LLVMGetOperand(first, 0);
  bool is_first = LLVMIsAInsertElementInst(first) && LLVMIsNull(LLVMGetOperand(first, 2));
  return is_first ? LLVMGetOperand(first, 1) : NULL;
}

static bool is_shared(LLVMValueRef mask) {
  bool inverted;
  return shared_by_all(mask, &inverted) != NULL;
}

/* A mask that is computed from masks of as many lanes. Others arise by themselves: by comparisons, mostly. */
static bool is_derived(const program *p, LLVMValueRef value) {
  if (!LLVMIsAInstruction(value) || !is_mask(p, value)) return false;
  switch (LLVMGetInstructionOpcode(value)) {
  case LLVMPHI:
  case LLVMAnd:
  case LLVMOr:
  case LLVMXor:
  case LLVMFreeze:
  case LLVMSelect: return true;
  default: return false;
  }
}

/* Whether a join or another block than its own uses the mask, of bits or of lanes. */
static bool crosses_blocks(LLVMValueRef mask) {
  for (LLVMUseRef use = LLVMGetFirstUse(mask); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (LLVMIsAPHINode(user) || LLVMGetInstructionParent(user) != LLVMGetInstructionParent(mask)) return true;
  }
  return false;
}

/* Masks that LLVM would have as bits, or as something in between; what all lanes share it brings to them as bytes. A
   comparison is none: code generation does it again in each block that wants it, where it may find more in it, as the least
   of two numbers. */
static bool begins_group(const program *p, LLVMValueRef value) {
  if (!is_mask(p, value) || LLVMIsACmpInst(value)) return false;
  return LLVMIsAPHINode(value) || is_shared(value) || crosses_blocks(value);
}

static unsigned *place_of(const masks *m, LLVMValueRef mask) {
  size_t n = (size_t)((uintptr_t)mask >> 4) * 0x9e3779b97f4a7c15u >> 20;
  for (;; n++) {
    unsigned *place = &m->places[n & (m->place_count - 1)];
    if (!*place || m->items[*place - 1].mask == mask) return place;
  }
}

static member *member_of(const masks *m, LLVMValueRef mask) {
  unsigned *place = place_of(m, mask);
  return *place ? &m->items[*place - 1] : NULL;
}

static void add_member(masks *m, LLVMValueRef mask) {
  enum { FEW = 64 };
  if (2 * (m->count + 1) > m->place_count) {
    m->place_count = m->place_count ? 2 * m->place_count : FEW;
    free(m->places);
    m->places = mw_alloc(m->place_count * sizeof *m->places);
    m->items = mw_realloc(m->items, m->place_count * sizeof *m->items);
    for (size_t i = 0; i < m->count; i++) *place_of(m, m->items[i].mask) = (unsigned)i + 1;
  }
  unsigned *place = place_of(m, mask);
  if (*place) return;
  m->items[m->count++] = (member){.mask = mask};
  *place = (unsigned)m->count;
}

/* The mask, all that it is computed from, and all that is computed from it. */
static void add_group(masks *m, LLVMValueRef mask) {
  size_t first = m->count;
  add_member(m, mask);
  for (size_t i = first; i < m->count; i++) {
    LLVMValueRef item = m->items[i].mask;
    int operands = is_derived(m->p, item) ? LLVMGetNumOperands(item) : 0;
    for (int o = 0; o < operands; o++) {
      LLVMValueRef operand = LLVMGetOperand(item, (unsigned)o);
      if (LLVMIsAInstruction(operand) && is_mask(m->p, operand)) add_member(m, operand);
    }
    for (LLVMUseRef use = LLVMGetFirstUse(item); use; use = LLVMGetNextUse(use))
      if (is_derived(m->p, LLVMGetUser(use))) add_member(m, LLVMGetUser(use));
  }
}

/* ---- how wide ---- */

static unsigned register_bits(const program *p) { return strstr(p->features, "+avx2") ? 256 : 128; }

static unsigned bits_of(const program *p, LLVMTypeRef vector) {
  return (unsigned)LLVMSizeOfTypeInBits(p->layout, LLVMGetElementType(vector));
}

/* What an instruction that makes a mask, or takes one, works on: a vector's type, or NULL. */
static LLVMTypeRef made_from(LLVMValueRef mask) {
  return LLVMIsACmpInst(mask) ? LLVMTypeOf(LLVMGetOperand(mask, 0)) : NULL;
}

static LLVMTypeRef used_for(LLVMValueRef user) {
  LLVMTypeRef type = LLVMTypeOf(user);
  if (LLVMIsACallInst(user) && starts_with(callee_name(user), "llvm.masked.") && LLVMGetNumArgOperands(user))
    if (!is_vector(type)) type = LLVMTypeOf(LLVMGetOperand(user, 0)); /* a store */
  return is_vector(type) ? type : NULL;
}

/* How many instructions that a group's masks come from or are for work on lanes of so many bits. */
typedef struct votes {
  unsigned by_bits[65], all;
} votes;

static void count_vote(const masks *m, votes *v, LLVMTypeRef type) {
  unsigned bits = type ? bits_of(m->p, type) : 0;
  if (bits < 8 || bits > 64) return;
  v->by_bits[bits]++, v->all++;
}

/* As wide as most of these lanes, if there are more of them than of those that fill a register. Wider ones, in two registers,
   want nearly all. */
static unsigned best_bits(const masks *m, const votes *v, unsigned lanes) {
  unsigned full = register_bits(m->p) / lanes;
  full = full < 8 ? 8 : full > 64 ? 64 : full;
  unsigned best = full;
  for (unsigned bits = 8; bits < full; bits *= 2)
    if (v->by_bits[bits] > v->by_bits[best]) best = bits;
  unsigned twice = 2 * full;
  return twice <= 64 && 4 * v->by_bits[twice] > 3 * v->all ? twice : best;
}

static LLVMTypeRef lanes_type(const masks *m, size_t first, size_t behind) {
  votes v = {0};
  unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(m->items[first].mask));
  for (size_t i = first; i < behind; i++) {
    LLVMValueRef mask = m->items[i].mask;
    count_vote(m, &v, made_from(mask));
    for (LLVMUseRef use = LLVMGetFirstUse(mask); use; use = LLVMGetNextUse(use))
      count_vote(m, &v, used_for(LLVMGetUser(use)));
  }
  return LLVMVectorType(LLVMIntTypeInContext(m->p->context, best_bits(m, &v, lanes)), lanes);
}

/* ---- masks as lanes ---- */

static LLVMValueRef wide_of(masks *m, LLVMValueRef mask, LLVMTypeRef type);

static LLVMValueRef wide_operand(masks *m, LLVMValueRef of, unsigned o, LLVMTypeRef type) {
  return wide_of(m, LLVMGetOperand(of, o), type);
}

static LLVMValueRef bits_of_signs(masks *m, LLVMValueRef wide) {
  return LLVMBuildICmp(m->b, LLVMIntSLT, wide, LLVMConstNull(LLVMTypeOf(wide)), "");
}

static bool is_all(LLVMValueRef mask) { return LLVMIsAConstant(mask) && mask == LLVMConstAllOnes(LLVMTypeOf(mask)); }

static bool is_zero(LLVMValueRef value) { return LLVMIsAConstant(value) && LLVMIsNull(value); }

/* By lanes, or by one number for all. What is not selected may be poison, which ands and ors let through. */
static LLVMValueRef wide_select(masks *m, LLVMValueRef select, LLVMTypeRef type) {
  LLVMValueRef condition = LLVMGetOperand(select, 0), yes = LLVMGetOperand(select, 1), no = LLVMGetOperand(select, 2);
  LLVMValueRef if_yes = wide_of(m, yes, type), if_no = wide_of(m, no, type);
  LLVMValueRef by = is_mask(m->p, condition) ? wide_of(m, condition, type) : NULL;
  LLVMPositionBuilderBefore(m->b, select);
  if (!by) return LLVMBuildSelect(m->b, condition, if_yes, if_no, "");
  if (is_zero(no)) return LLVMBuildAnd(m->b, by, LLVMBuildFreeze(m->b, if_yes, ""), "");
  if (is_all(yes)) return LLVMBuildOr(m->b, by, LLVMBuildFreeze(m->b, if_no, ""), "");
  if (is_zero(yes)) return LLVMBuildAnd(m->b, LLVMBuildNot(m->b, by, ""), LLVMBuildFreeze(m->b, if_no, ""), "");
  return LLVMBuildSelect(m->b, bits_of_signs(m, by), if_yes, if_no, "");
}

static LLVMValueRef derived(masks *m, LLVMValueRef mask, LLVMTypeRef type) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(mask);
  if (opcode == LLVMSelect) return wide_select(m, mask, type);
  LLVMValueRef left = wide_operand(m, mask, 0, type);
  LLVMValueRef right = opcode == LLVMFreeze ? NULL : wide_operand(m, mask, 1, type);
  LLVMPositionBuilderBefore(m->b, mask);
  return right ? LLVMBuildBinOp(m->b, opcode, left, right, "") : LLVMBuildFreeze(m->b, left, "");
}

static LLVMValueRef all_lanes(masks *m, LLVMValueRef truth, LLVMTypeRef type) {
  LLVMValueRef zero = constant_i32(m->p, 0), number = LLVMBuildSExt(m->b, truth, LLVMGetElementType(type), "");
  LLVMValueRef first = LLVMBuildInsertElement(m->b, LLVMGetPoison(type), number, zero, "");
  LLVMTypeRef places = LLVMVectorType(m->p->i32, LLVMGetVectorSize(type));
  return LLVMBuildShuffleVector(m->b, first, LLVMGetPoison(type), LLVMConstNull(places), "");
}

/* Behind a mask that arises by itself, in its block: code generation makes one of the two. */
static LLVMValueRef extended(masks *m, LLVMValueRef mask, LLVMTypeRef type) {
  bool inverted;
  LLVMValueRef truth = shared_by_all(mask, &inverted);
  LLVMPositionBuilderBefore(m->b, LLVMGetNextInstruction(mask));
  if (!truth) return LLVMBuildSExt(m->b, mask, type, "");
  return all_lanes(m, inverted ? LLVMBuildNot(m->b, truth, "") : truth, type);
}

/* Joins are empty at first, since loops lead from what they join to themselves: join_wide. */
static LLVMValueRef wide_of(masks *m, LLVMValueRef mask, LLVMTypeRef type) {
  if (LLVMIsAArgument(mask)) {
    LLVMBasicBlockRef first = LLVMGetEntryBasicBlock(LLVMGetParamParent(mask));
    LLVMPositionBuilderBefore(m->b, LLVMGetFirstInstruction(first));
  }
  if (!LLVMIsAInstruction(mask)) return LLVMBuildSExt(m->b, mask, type, ""); /* that, or a constant */
  member *item = member_of(m, mask);
  if (item->wide) return item->wide;
  if (LLVMIsAPHINode(mask)) {
    LLVMPositionBuilderBefore(m->b, mask);
    return item->wide = LLVMBuildPhi(m->b, type, "");
  }
  return item->wide = is_derived(m->p, mask) ? derived(m, mask, type) : extended(m, mask, type);
}

static void join_wide(masks *m, const member *item) {
  unsigned count = LLVMIsAPHINode(item->mask) ? LLVMCountIncoming(item->mask) : 0;
  for (unsigned i = 0; i < count; i++) {
    LLVMBasicBlockRef from = LLVMGetIncomingBlock(item->mask, i);
    LLVMValueRef value = wide_of(m, LLVMGetIncomingValue(item->mask, i), item->type);
    LLVMAddIncoming(item->wide, &value, &from, 1);
  }
}

/* ---- what uses them ---- */

static void replace(LLVMValueRef instruction, LLVMValueRef by) {
  LLVMReplaceAllUsesWith(instruction, by);
  LLVMInstructionEraseFromParent(instruction);
}

/* x86 has instructions that look at no more than the signs of a mask's lanes. NEON selects bits, and wants them all. */
static bool looks_at_signs(const program *p) { return starts_with(p->triple, "x86_64"); }

/* Lanes that are not selected may be poison, which ands and ors let through. */
static LLVMValueRef as_bits(masks *m, LLVMValueRef lanes, LLVMTypeRef type) {
  if (!LLVMIsAConstant(lanes)) lanes = LLVMBuildFreeze(m->b, lanes, "");
  return LLVMBuildBitCast(m->b, lanes, type, "");
}

/* A select of lanes as wide as the mask's, by bits: of some lanes or none, which takes one instruction, where code generation,
   since it sees no more than a block, does not know that a mask is nothing but ones and zeros; and of any where there is an
   instruction for that. Or NULL. */
static LLVMValueRef selected_bits(masks *m, const member *item, LLVMValueRef select) {
  LLVMValueRef yes = LLVMGetOperand(select, 1), no = LLVMGetOperand(select, 2);
  LLVMTypeRef type = LLVMTypeOf(select);
  bool pointers = LLVMGetTypeKind(LLVMGetElementType(type)) == LLVMPointerTypeKind;
  if (LLVMGetOperand(select, 0) != item->mask || pointers) return NULL;
  if (bits_of(m->p, type) != bits_of(m->p, item->type)) return NULL;
  if (looks_at_signs(m->p) && !is_zero(yes) && !is_zero(no)) return NULL;
  LLVMValueRef taken = LLVMBuildAnd(m->b, item->wide, as_bits(m, yes, item->type), "");
  LLVMValueRef left = LLVMBuildAnd(m->b, LLVMBuildNot(m->b, item->wide, ""), as_bits(m, no, item->type), "");
  LLVMValueRef bits = is_zero(no) ? taken : is_zero(yes) ? left : LLVMBuildOr(m->b, taken, left, "");
  return LLVMBuildBitCast(m->b, bits, type, "");
}

static bool compares_with_zero(LLVMValueRef number) {
  for (LLVMUseRef use = LLVMGetFirstUse(number); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (!LLVMIsAICmpInst(user) || !is_zero(LLVMGetOperand(user, 1))) return false;
    if (LLVMGetICmpPredicate(user) != LLVMIntEQ && LLVMGetICmpPredicate(user) != LLVMIntNE) return false;
  }
  return true;
}

/* A bit a lane is what NEON takes long to make. Where the question is no more than whether there is one, a byte or more for
   each does as well. False: there are other questions. */
static bool test_bytes(masks *m, const member *item, LLVMValueRef number) {
  enum { WORD = 64 };
  unsigned lanes = LLVMGetVectorSize(item->type), bits = WORD / lanes;
  if (looks_at_signs(m->p) || bits < 8 || bits >= bits_of(m->p, item->type) || !compares_with_zero(number))
    return false;
  LLVMTypeRef narrow = LLVMVectorType(LLVMIntTypeInContext(m->p->context, bits), lanes);
  LLVMValueRef word = LLVMBuildBitCast(m->b, LLVMBuildTrunc(m->b, item->wide, narrow, ""), m->p->i64, "");
  for (LLVMUseRef use; (use = LLVMGetFirstUse(number));) {
    LLVMValueRef test = LLVMGetUser(use);
    LLVMPositionBuilderBefore(m->b, test);
    replace(test, LLVMBuildICmp(m->b, LLVMGetICmpPredicate(test), word, constant_i64(m->p, 0), ""));
  }
  LLVMInstructionEraseFromParent(number);
  return true;
}

/* What the user is instead, or NULL: it takes bits. */
static LLVMValueRef by_lanes(masks *m, const member *item, LLVMValueRef user) {
  LLVMTypeRef type = LLVMTypeOf(user);
  switch (LLVMGetInstructionOpcode(user)) {
  case LLVMSExt: return LLVMBuildIntCast2(m->b, item->wide, type, 1, "");
  case LLVMZExt: return LLVMBuildNeg(m->b, LLVMBuildIntCast2(m->b, item->wide, type, 1, ""), "");
  case LLVMSelect: return selected_bits(m, item, user);
  default: return NULL;
  }
}

static void use_wide(masks *m, const member *item, LLVMValueRef user) {
  LLVMPositionBuilderBefore(m->b, user);
  if (LLVMIsABitCastInst(user) && test_bytes(m, item, user)) return;
  LLVMValueRef other = by_lanes(m, item, user);
  if (other) {
    replace(user, other);
    return;
  }
  LLVMValueRef bits = bits_of_signs(m, item->wide);
  for (int o = 0; o < LLVMGetNumOperands(user); o++)
    if (LLVMGetOperand(user, (unsigned)o) == item->mask) LLVMSetOperand(user, (unsigned)o, bits);
}

/* Whether users take the lanes: all but those of comparisons that no other block knows as lanes, and those in the block where a
   mask arises. */
static bool takes_lanes(const masks *m, const member *item, LLVMValueRef user) {
  if (is_derived(m->p, item->mask) || is_shared(item->mask)) return true;
  if (LLVMIsACmpInst(item->mask) && !crosses_blocks(item->wide)) return false;
  return LLVMGetInstructionParent(user) != LLVMGetInstructionParent(item->mask);
}

/* All that is no mask of the group itself. */
static void replace_uses(masks *m, const member *item) {
  for (LLVMUseRef next, use = LLVMGetFirstUse(item->mask); use; use = next) {
    LLVMValueRef user = LLVMGetUser(use);
    for (next = LLVMGetNextUse(use); next && LLVMGetUser(next) == user;) next = LLVMGetNextUse(next);
    if (!is_derived(m->p, user) && user != item->wide && takes_lanes(m, item, user)) use_wide(m, item, user);
  }
}

static void drop_derived(const masks *m) {
  for (size_t i = 0; i < m->count; i++) {
    LLVMValueRef mask = m->items[i].mask;
    if (is_derived(m->p, mask)) LLVMReplaceAllUsesWith(mask, LLVMGetPoison(LLVMTypeOf(mask)));
  }
  for (size_t i = 0; i < m->count; i++)
    if (is_derived(m->p, m->items[i].mask)) LLVMInstructionEraseFromParent(m->items[i].mask);
}

static void widen_function(masks *m, LLVMValueRef function) {
  instructions list = instructions_of_function(function);
  m->count = 0;
  if (m->places) memset(m->places, 0, m->place_count * sizeof *m->places);
  for (size_t n = 0; n < list.count; n++) {
    LLVMValueRef i = list.items[n];
    if (!begins_group(m->p, i) || (m->count && member_of(m, i))) continue;
    size_t first = m->count;
    add_group(m, i);
    LLVMTypeRef type = lanes_type(m, first, m->count);
    for (size_t k = first; k < m->count; k++) m->items[k].type = type;
  }
  free(list.items);
  for (size_t i = 0; i < m->count; i++) wide_of(m, m->items[i].mask, m->items[i].type);
  for (size_t i = 0; i < m->count; i++) join_wide(m, &m->items[i]);
  for (size_t i = 0; i < m->count; i++) replace_uses(m, &m->items[i]);
  drop_derived(m);
}

void widen_masks(program *p) {
  masks m = {.p = p};
  if (has_mask_registers(p)) return;
  m.b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) widen_function(&m, f);
  LLVMDisposeBuilder(m.b);
  free(m.items);
  free(m.places);
  verify_module(p, "widening masks");
}
