/* Layout of local arrays: those that can be interleaved by lane, as GPUs lay out local memory.
 *
 * An array that is only loaded and stored, in elements of one size, need not be contiguous for each thread: first come
 * the first elements of a gang's lanes, then their second ones, and so on. An access with the same index in all lanes
 * is then contiguous. If its address escapes (to a call, into memory, through a phi), the array must be contiguous.
 *
 * The size of the elements, their unit, is noted for the array and for all addresses in it. */
#include "simt.h"
#include "mwcc/support/predicates.h"
#include "analysis.h"

#include <stdlib.h>
#include <string.h>

static bool is_plain_type(LLVMTypeRef type) {
  switch (LLVMGetTypeKind(type)) {
  case LLVMIntegerTypeKind:
  case LLVMFloatTypeKind:
  case LLVMDoubleTypeKind:
  case LLVMHalfTypeKind:
  case LLVMPointerTypeKind: return true;
  default: return false;
  }
}

static bool set_or_match_unit(LLVMTargetDataRef layout, LLVMTypeRef type, uint64_t *unit) {
  if (!is_plain_type(type) || LLVMStoreSizeOfType(layout, type) != LLVMABISizeOfType(layout, type)) return false;
  if (!*unit) *unit = LLVMABISizeOfType(layout, type);
  return *unit == LLVMABISizeOfType(layout, type);
}

static bool is_constant_address(LLVMValueRef pointer) {
  return LLVMIsAAllocaInst(pointer) || (LLVMIsAGetElementPtrInst(pointer) && LLVMGetNumOperands(pointer) == 2 &&
                                        LLVMIsAConstantInt(LLVMGetOperand(pointer, 1)));
}

/* A memset or memcpy into it of a constant number of bytes, at a constant offset. */
static bool is_fill(LLVMValueRef user, LLVMValueRef pointer) {
  const char *name = LLVMIsACallInst(user) ? callee_name(user) : "";
  if (!starts_with(name, "llvm.memset.") && !starts_with(name, "llvm.memcpy.")) return false;
  if (LLVMGetOperand(user, 0) != pointer || LLVMGetOperand(user, 1) == pointer) return false;
  LLVMValueRef is_volatile = LLVMGetOperand(user, 3);
  return is_constant_address(pointer) && LLVMIsAConstantInt(LLVMGetOperand(user, 2)) &&
         LLVMIsAConstantInt(is_volatile) && !LLVMConstIntGetZExtValue(is_volatile);
}

/* Sets the unit: the element size on which all accesses through the pointer agree. False: there is none. */
static bool find_unit(LLVMTargetDataRef layout, LLVMValueRef pointer, uint64_t *unit) {
  for (LLVMUseRef use = LLVMGetFirstUse(pointer); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (LLVMIsALoadInst(user) || LLVMIsAStoreInst(user)) {
      bool is_load = LLVMIsALoadInst(user) != NULL;
      if (!is_plain_access(user)) return false;
      if (!is_load && LLVMGetOperand(user, 0) == pointer) return false;
      if (!set_or_match_unit(layout, LLVMTypeOf(is_load ? user : LLVMGetOperand(user, 0)), unit)) return false;
    } else if (LLVMIsAGetElementPtrInst(user)) {
      if (!find_unit(layout, user, unit)) return false;
    } else if (!is_fill(user, pointer) &&
               !(LLVMIsACallInst(user) && starts_with(callee_name(user), "llvm.lifetime."))) {
      return false;
    }
  }
  return true;
}

/* Whether all addresses derived from the pointer, and all lengths that are filled, are multiples of the unit. */
static bool fits_unit(LLVMTargetDataRef layout, LLVMValueRef pointer, uint64_t unit) {
  for (LLVMUseRef use = LLVMGetFirstUse(pointer); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (is_fill(user, pointer) && LLVMConstIntGetZExtValue(LLVMGetOperand(user, 2)) % unit) return false;
    if (!LLVMIsAGetElementPtrInst(user)) continue;
    LLVMTypeRef type = LLVMGetGEPSourceElementType(user);
    for (unsigned n = 1; n < (unsigned)LLVMGetNumOperands(user); n++) {
      LLVMValueRef index = LLVMGetOperand(user, n);
      uint64_t step;
      if (n > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
        unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);
        step = LLVMOffsetOfElement(layout, type, field);
        type = LLVMStructGetTypeAtIndex(type, field);
      } else {
        if (n > 1) type = LLVMGetElementType(type);
        step = LLVMABISizeOfType(layout, type);
        if (LLVMIsAConstantInt(index)) step *= (uint64_t)LLVMConstIntGetSExtValue(index);
      }
      if (step % unit) return false;
    }
    if (!fits_unit(layout, user, unit)) return false;
  }
  return true;
}

static void note_unit(graph *g, LLVMValueRef pointer, uint64_t unit) {
  g->local_unit[graph_number(g, pointer)] = (unsigned char)unit;
  for (LLVMUseRef use = LLVMGetFirstUse(pointer); use; use = LLVMGetNextUse(use))
    if (LLVMIsAGetElementPtrInst(LLVMGetUser(use))) note_unit(g, LLVMGetUser(use), unit);
}

void find_local_arrays(graph *g) {
  LLVMTargetDataRef layout = g->program->layout;
  g->local_unit = mw_alloc((size_t)g->value_count + 1);
  for (int i = 0; i < g->value_count; i++) {
    LLVMValueRef array = g->values[i];
    uint64_t unit = 0;
    if (!LLVMIsAAllocaInst(array) || !LLVMIsAConstantInt(LLVMGetOperand(array, 0))) continue;
    if (!find_unit(layout, array, &unit) || !unit || !fits_unit(layout, array, unit)) continue;
    if (LLVMABISizeOfType(layout, LLVMGetAllocatedType(array)) % unit == 0) note_unit(g, array, unit);
  }
}

unsigned local_unit(const graph *g, LLVMValueRef pointer) {
  int number = LLVMIsAInstruction(pointer) ? graph_number(g, pointer) : -1;
  return number >= 0 && number < g->value_count ? g->local_unit[number] : 0;
}

uint64_t local_bytes(const graph *g, LLVMValueRef array) {
  LLVMValueRef count = LLVMGetOperand(array, 0);
  uint64_t bytes = LLVMABISizeOfType(g->program->layout, LLVMGetAllocatedType(array));
  return LLVMIsAConstantInt(count) ? bytes * LLVMConstIntGetZExtValue(count) : 0;
}
