/* Shadows of local variables on a GPU: a variable in memory, whose address the code uses for nothing but accesses, has
 * a companion of the same size with a set bit for each bit that nothing has written. Variables whose address goes
 * elsewhere, into memory or a function, count as written. */
#include "value_check.h"

#include <stdlib.h>
#include <string.h>

/* ---- before MemorySanitizer: which variables ---- */

static gpu_pointer *find_pointer(const value_check *c, LLVMValueRef value) {
  for (size_t n = c->pointer_count; n-- > 0;)
    if (c->pointers[n].value == value) return &c->pointers[n];
  return NULL;
}

static void add_pointer(value_check *c, LLVMValueRef value, LLVMValueRef local) {
  if (find_pointer(c, value)) return;
  c->pointers = mw_realloc(c->pointers, (c->pointer_count + 1) * sizeof *c->pointers);
  c->pointers[c->pointer_count++] = (gpu_pointer){value, local, NULL};
}

/* Whether the use keeps the address to accesses; pointers that are derived from it are added. */
static bool is_plain_use(value_check *c, LLVMValueRef user, LLVMValueRef pointer, LLVMValueRef local) {
  switch (opcode_of(user)) {
  case LLVMLoad:
  case LLVMICmp: return true;
  case LLVMStore: return LLVMGetOperand(user, 0) != pointer;
  case LLVMAtomicRMW: return LLVMGetOperand(user, 1) != pointer;
  case LLVMAtomicCmpXchg: return LLVMGetOperand(user, 1) != pointer && LLVMGetOperand(user, 2) != pointer;
  case LLVMGetElementPtr:
  case LLVMBitCast:
  case LLVMPHI:
  case LLVMSelect:
    if (LLVMTypeOf(user) != c->p->pointer) return false;
    add_pointer(c, user, local);
    return true;
  case LLVMCall: return LLVMIsAMemIntrinsic(user) || is_named(user, "llvm.lifetime.");
  default: return false;
  }
}

/* Whether all that a merged pointer may be points into the variable. */
static bool merges_only(const value_check *c, const gpu_pointer *pointer) {
  LLVMOpcode opcode = opcode_of(pointer->value);
  unsigned first = opcode == LLVMSelect ? 1 : 0, count = (unsigned)LLVMGetNumOperands(pointer->value);
  for (unsigned i = first; i < count && (opcode == LLVMSelect || opcode == LLVMPHI); i++) {
    const gpu_pointer *from = find_pointer(c, LLVMGetOperand(pointer->value, i));
    if (!from || from->local != pointer->local) return false;
  }
  return true;
}

static bool follow_local(value_check *c, LLVMValueRef local) {
  if (!LLVMIsAConstantInt(LLVMGetOperand(local, 0))) return false;
  size_t first = c->pointer_count;
  add_pointer(c, local, local);
  for (size_t n = first; n < c->pointer_count; n++) {
    LLVMValueRef pointer = c->pointers[n].value;
    for (LLVMUseRef use = LLVMGetFirstUse(pointer); use; use = LLVMGetNextUse(use))
      if (!is_plain_use(c, LLVMGetUser(use), pointer, local)) return false;
  }
  for (size_t n = first; n < c->pointer_count; n++)
    if (!merges_only(c, &c->pointers[n])) return false;
  return true;
}

void find_gpu_locals(value_check *c, LLVMValueRef f) {
  instructions list = instructions_of_function(f);
  for (size_t n = 0; n < list.count; n++) {
    size_t first = c->pointer_count;
    if (LLVMIsAAllocaInst(list.items[n]) && !follow_local(c, list.items[n])) c->pointer_count = first;
  }
  free(list.items);
}

/* ---- after it: companions, and the same pointers into them ---- */

static LLVMValueRef companion_of(value_check *c, LLVMValueRef local) {
  uint64_t count = LLVMConstIntGetZExtValue(LLVMGetOperand(local, 0));
  uint64_t bytes = count * LLVMABISizeOfType(c->p->layout, LLVMGetAllocatedType(local));
  LLVMPositionBuilderBefore(c->b, LLVMGetNextInstruction(local));
  LLVMValueRef made = LLVMBuildAlloca(c->b, LLVMArrayType2(c->p->i8, bytes), GPU_SHADOW);
  LLVMSetAlignment(made, LLVMGetAlignment(local));
  return made;
}

static LLVMValueRef shadow_of(value_check *c, LLVMValueRef value);

static LLVMValueRef make_element(value_check *c, LLVMValueRef gep) {
  unsigned count = LLVMGetNumIndices(gep);
  LLVMValueRef *indices = mw_alloc((count + 1) * sizeof *indices), base = shadow_of(c, LLVMGetOperand(gep, 0));
  for (unsigned i = 0; i < count; i++) indices[i] = LLVMGetOperand(gep, i + 1);
  LLVMPositionBuilderBefore(c->b, LLVMGetNextInstruction(gep));
  LLVMValueRef made = LLVMBuildGEP2(c->b, LLVMGetGEPSourceElementType(gep), base, indices, count, GPU_SHADOW);
  free(indices);
  return made;
}

static LLVMValueRef make_shadow_pointer(value_check *c, LLVMValueRef value) {
  LLVMValueRef chosen[2];
  switch (opcode_of(value)) {
  case LLVMAlloca: return companion_of(c, value);
  case LLVMGetElementPtr: return make_element(c, value);
  case LLVMBitCast: return shadow_of(c, LLVMGetOperand(value, 0));
  case LLVMPHI: LLVMPositionBuilderBefore(c->b, value); return LLVMBuildPhi(c->b, c->p->pointer, GPU_SHADOW);
  default:
    for (unsigned i = 0; i < 2; i++) chosen[i] = shadow_of(c, LLVMGetOperand(value, i + 1));
    LLVMPositionBuilderBefore(c->b, LLVMGetNextInstruction(value));
    return LLVMBuildSelect(c->b, LLVMGetOperand(value, 0), chosen[0], chosen[1], GPU_SHADOW);
  }
}

static LLVMValueRef shadow_of(value_check *c, LLVMValueRef value) {
  gpu_pointer *pointer = find_pointer(c, value);
  if (pointer->shadow) return pointer->shadow;
  LLVMValueRef made = make_shadow_pointer(c, value);
  find_pointer(c, value)->shadow = made;
  return made;
}

void make_gpu_locals(value_check *c) {
  for (size_t n = 0; n < c->pointer_count; n++) shadow_of(c, c->pointers[n].value);
  for (size_t n = 0; n < c->pointer_count; n++) {
    LLVMValueRef value = c->pointers[n].value, shadow = c->pointers[n].shadow;
    for (unsigned i = 0; LLVMIsAPHINode(value) && i < LLVMCountIncoming(value); i++) {
      LLVMValueRef from = shadow_of(c, LLVMGetIncomingValue(value, i));
      LLVMBasicBlockRef block = LLVMGetIncomingBlock(value, i);
      LLVMAddIncoming(shadow, &from, &block, 1);
    }
  }
}

LLVMValueRef gpu_local_shadow(const value_check *c, LLVMValueRef address) {
  const gpu_pointer *pointer = find_pointer(c, address);
  return pointer ? pointer->shadow : NULL;
}
