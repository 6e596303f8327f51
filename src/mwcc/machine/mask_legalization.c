/* Mask legalisation for processors without mask registers (AVX2, SSE, NEON): <n x i1> values that cross basic blocks
 * become vectors of integers whose lanes are 0 or -1.
 *
 *   block 1:  m = fcmp …              ->   m = fcmp …; w = sext m to <8 x i32>
 *   block 2:  select m, a, b          ->   m' = icmp slt w, 0; select m', a, b
 *
 * On these processors a comparison yields lanes of ones or zeros, as wide as the compared elements, and blends, masked
 * accesses and tests for any active lane take such vectors. LLVM's instruction selection works on one block at a time:
 * in a block it uses that form, but between blocks it represents <8 x i1> as eight 16-bit lanes, so that each
 * comparison is packed and each use unpacks. The pass extends masks where they are defined; users convert them back by
 * the sign bit, which is all that x86's instructions test, so that the conversion generates no instruction.
 *
 * Masks that are computed from each other form a group, whose vectors have lanes of one width: that of the operations
 * that make or use them, by majority.
 *
 * It runs after optimisation, which would undo it. */
#include "mwcc/mwcc.h"
#include "mwcc/support/predicates.h"
#include "machine.h"
#include "mwcc/target/target.h"

#include <stdlib.h>
#include <string.h>

/* A mask that becomes a vector of integers. The members of a group are consecutive. */
typedef struct member {
  LLVMValueRef mask, wide;
  LLVMTypeRef type; /* of `wide` */
} member;

typedef struct masks {
  program *p;
  LLVMBuilderRef b;
  member *items;
  size_t count;
  unsigned *places; /* a hash table from masks to members: index plus 1 */
  size_t place_count;
} masks;

/* ---- finding groups ---- */

static bool is_mask(const program *p, LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  return is_vector_type(type) && LLVMGetElementType(type) == p->i1;
}

static bool is_true(LLVMValueRef value) { return LLVMIsAConstantInt(value) && !LLVMIsNull(value); }

static bool has_opcode(LLVMValueRef value, LLVMOpcode opcode) {
  return LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == opcode;
}

/* The i1 of which the mask is a splat, or (`*inverted`) whose complement it is a splat of; or NULL. */
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

/* Whether a mask is computed from masks. Others are mostly comparisons. */
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

/* Whether a phi or another block uses the mask, in either form. */
static bool crosses_blocks(LLVMValueRef mask) {
  for (LLVMUseRef use = LLVMGetFirstUse(mask); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (LLVMIsAPHINode(user) || LLVMGetInstructionParent(user) != LLVMGetInstructionParent(mask)) return true;
  }
  return false;
}

/* Masks that LLVM would represent badly: those that cross blocks, and splats, which it broadcasts as bytes. A
   comparison does not begin a group: code generation repeats it in each block that uses it, where it may match an
   instruction such as a minimum. */
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

/* Add the mask, and transitively the masks that it is computed from and those that are computed from it. */
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

/* ---- the width of a group's lanes ---- */

static unsigned register_bits(const program *p) { return strstr(p->features, "+avx2") ? 256 : 128; }

static unsigned bits_of(const program *p, LLVMTypeRef vector) {
  return (unsigned)LLVMSizeOfTypeInBits(p->layout, LLVMGetElementType(vector));
}

/* The type of the vectors that an instruction compares to make a mask, or selects under a mask; or NULL. */
static LLVMTypeRef source_type(LLVMValueRef mask) {
  return LLVMIsACmpInst(mask) ? LLVMTypeOf(LLVMGetOperand(mask, 0)) : NULL;
}

static LLVMTypeRef used_for(LLVMValueRef user) {
  LLVMTypeRef type = LLVMTypeOf(user);
  if (LLVMIsACallInst(user) && starts_with(callee_name(user), "llvm.masked.") && LLVMGetNumArgOperands(user))
    if (!is_vector_type(type)) type = LLVMTypeOf(LLVMGetOperand(user, 0)); /* a store */
  return is_vector_type(type) ? type : NULL;
}

/* The instructions that make or use a group's masks, counted by the width of the lanes that they work on. */
typedef struct votes {
  unsigned by_bits[65], all;
} votes;

static void count_vote(const masks *m, votes *v, LLVMTypeRef type) {
  unsigned bits = type ? bits_of(m->p, type) : 0;
  if (bits < 8 || bits > 64) return;
  v->by_bits[bits]++, v->all++;
}

/* The width that fills a register with the lanes, unless a narrower one has more votes. A wider one, which takes two
   registers, needs more than 75 % of the votes. */
static unsigned best_bits(const masks *m, const votes *v, unsigned lanes) {
  unsigned full = register_bits(m->p) / lanes;
  full = full < 8 ? 8 : full > 64 ? 64 : full;
  unsigned best = full;
  for (unsigned bits = 8; bits < full; bits *= 2)
    if (v->by_bits[bits] > v->by_bits[best]) best = bits;
  unsigned twice = 2 * full;
  return twice <= 64 && 4 * v->by_bits[twice] > 3 * v->all ? twice : best;
}

static LLVMTypeRef lanes_type(const masks *m, size_t first, size_t end) {
  votes v = {0};
  unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(m->items[first].mask));
  for (size_t i = first; i < end; i++) {
    LLVMValueRef mask = m->items[i].mask;
    count_vote(m, &v, source_type(mask));
    for (LLVMUseRef use = LLVMGetFirstUse(mask); use; use = LLVMGetNextUse(use))
      count_vote(m, &v, used_for(LLVMGetUser(use)));
  }
  return LLVMVectorType(LLVMIntTypeInContext(m->p->context, best_bits(m, &v, lanes)), lanes);
}

/* ---- masks as vectors of integers ---- */

static LLVMValueRef wide_of(masks *m, LLVMValueRef mask, LLVMTypeRef type);

static LLVMValueRef wide_operand(masks *m, LLVMValueRef of, unsigned o, LLVMTypeRef type) {
  return wide_of(m, LLVMGetOperand(of, o), type);
}

static LLVMValueRef bits_of_signs(masks *m, LLVMValueRef wide) {
  return LLVMBuildICmp(m->b, LLVMIntSLT, wide, LLVMConstNull(LLVMTypeOf(wide)), "");
}

static bool is_all(LLVMValueRef mask) { return LLVMIsAConstant(mask) && mask == LLVMConstAllOnes(LLVMTypeOf(mask)); }

static bool is_zero(LLVMValueRef value) { return LLVMIsAConstant(value) && LLVMIsNull(value); }

/* A select of masks, by a mask or by an i1. And and or replace selects by a mask; they propagate poison from the side
   that is not selected, hence the freeze. */
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

/* The extension of a mask that is not derived, in the block that defines it: code generation then makes the wide form
   only, unless the block itself uses the bits. */
static LLVMValueRef extended(masks *m, LLVMValueRef mask, LLVMTypeRef type) {
  bool inverted;
  LLVMValueRef truth = shared_by_all(mask, &inverted);
  LLVMPositionBuilderBefore(m->b, LLVMGetNextInstruction(mask));
  if (!truth) return LLVMBuildSExt(m->b, mask, type, "");
  return all_lanes(m, inverted ? LLVMBuildNot(m->b, truth, "") : truth, type);
}

/* The wide form of a mask. Phis are made without incoming values, since a loop's phi depends on itself; complete_phi
   adds them. */
static LLVMValueRef wide_of(masks *m, LLVMValueRef mask, LLVMTypeRef type) {
  if (LLVMIsAArgument(mask)) {
    LLVMBasicBlockRef first = LLVMGetEntryBasicBlock(LLVMGetParamParent(mask));
    LLVMPositionBuilderBefore(m->b, LLVMGetFirstInstruction(first));
  }
  if (!LLVMIsAInstruction(mask)) return LLVMBuildSExt(m->b, mask, type, ""); /* an argument or a constant */
  member *item = member_of(m, mask);
  if (item->wide) return item->wide;
  if (LLVMIsAPHINode(mask)) {
    LLVMPositionBuilderBefore(m->b, mask);
    return item->wide = LLVMBuildPhi(m->b, type, "");
  }
  return item->wide = is_derived(m->p, mask) ? derived(m, mask, type) : extended(m, mask, type);
}

static void complete_phi(masks *m, const member *item) {
  unsigned count = LLVMIsAPHINode(item->mask) ? LLVMCountIncoming(item->mask) : 0;
  for (unsigned i = 0; i < count; i++) {
    LLVMBasicBlockRef from = LLVMGetIncomingBlock(item->mask, i);
    LLVMValueRef value = wide_of(m, LLVMGetIncomingValue(item->mask, i), item->type);
    LLVMAddIncoming(item->wide, &value, &from, 1);
  }
}

/* ---- uses ---- */

static void replace(LLVMValueRef instruction, LLVMValueRef by) {
  LLVMReplaceAllUsesWith(instruction, by);
  LLVMInstructionEraseFromParent(instruction);
}

/* x86's blends test the sign bit of each lane; NEON's select works bit by bit and needs all of them. */
static bool blends_by_sign(const program *p) { return starts_with(p->triple, "x86_64"); }

/* Frozen, since lanes that are not selected may be poison, which and and or propagate. */
static LLVMValueRef as_bits(masks *m, LLVMValueRef lanes, LLVMTypeRef type) {
  if (!LLVMIsAConstant(lanes)) lanes = LLVMBuildFreeze(m->b, lanes, "");
  return LLVMBuildBitCast(m->b, lanes, type, "");
}

/* A select as bitwise operations, if its lanes are as wide as the mask's; or NULL. If one side is zero, that is one
   instruction; code generation would not find it, since it does not know that a mask from another block has only lanes
   of 0 and -1. Other selects become bitwise ones where there is an instruction for that (NEON). */
static LLVMValueRef selected_bits(masks *m, const member *item, LLVMValueRef select) {
  LLVMValueRef yes = LLVMGetOperand(select, 1), no = LLVMGetOperand(select, 2);
  LLVMTypeRef type = LLVMTypeOf(select);
  bool pointers = LLVMGetTypeKind(LLVMGetElementType(type)) == LLVMPointerTypeKind;
  if (LLVMGetOperand(select, 0) != item->mask || pointers) return NULL;
  if (bits_of(m->p, type) != bits_of(m->p, item->type)) return NULL;
  if (blends_by_sign(m->p) && !is_zero(yes) && !is_zero(no)) return NULL;
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

/* NEON takes long to pack a mask into one bit per lane. If the packed mask is only compared with zero, to test for any
   active lane, a byte or more per lane suffices. Returns false if it has other uses. */
static bool test_bytes(masks *m, const member *item, LLVMValueRef number) {
  enum { WORD = 64 };
  unsigned lanes = LLVMGetVectorSize(item->type), bits = WORD / lanes;
  if (blends_by_sign(m->p) || bits < 8 || bits >= bits_of(m->p, item->type) || !compares_with_zero(number))
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

/* A replacement of the user that takes the wide form, or NULL. */
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

/* Whether the user takes the wide form: not in the block that defines the mask, where the bits are available, and not
   from a comparison whose wide form stays in its block. */
static bool takes_lanes(const masks *m, const member *item, LLVMValueRef user) {
  if (is_derived(m->p, item->mask) || is_shared(item->mask)) return true;
  if (LLVMIsACmpInst(item->mask) && !crosses_blocks(item->wide)) return false;
  return LLVMGetInstructionParent(user) != LLVMGetInstructionParent(item->mask);
}

/* Replace the uses by instructions that are not masks of the group themselves. */
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
  for (size_t i = 0; i < m->count; i++) complete_phi(m, &m->items[i]);
  for (size_t i = 0; i < m->count; i++) replace_uses(m, &m->items[i]);
  drop_derived(m);
}

void legalise_masks(program *p) {
  masks m = {.p = p};
  if (has_mask_registers(p)) return;
  m.b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) widen_function(&m, f);
  LLVMDisposeBuilder(m.b);
  free(m.items);
  free(m.places);
  verify_module(p, "widening masks");
}
