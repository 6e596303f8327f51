/* Where the shadow of an address is, in code that follows no threads: at a distance from it, for arrays and shared memory. A
 * local variable whose address is nowhere kept has its shadow in a variable of its own, which becomes a register together
 * with it; where both are arrays, lanes access both in the same way. A part of value_shadow.c. */
#include "value_check.h"

#include <stdlib.h>

enum { MOST_INDICES = 16 };

/* ---- local variables ---- */

/* Whether the address only says where to load, store and copy. */
static bool stays_known(LLVMValueRef pointer) {
  for (LLVMUseRef use = LLVMGetFirstUse(pointer); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    bool moves = LLVMIsAGetElementPtrInst(user) || LLVMIsAAddrSpaceCastInst(user);
    if (LLVMIsAGetElementPtrInst(user) && LLVMGetNumIndices(user) > MOST_INDICES) return false;
    bool stores = LLVMIsAStoreInst(user) && LLVMGetOperand(user, 0) != pointer;
    bool calls = LLVMIsACallInst(user) &&
                 (is_named(user, "llvm.lifetime.") || is_named(user, "llvm.mem") || is_named(user, "__msan_"));
    if (moves ? !stays_known(user) : !LLVMIsALoadInst(user) && !stores && !calls) return false;
  }
  return true;
}

static LLVMValueRef twin_of(value_check *c, LLVMValueRef local) {
  if (!LLVMIsAConstantInt(LLVMGetOperand(local, 0)) || !stays_known(local)) return NULL;
  LLVMBuilderRef b = LLVMCreateBuilderInContext(c->p->context);
  LLVMPositionBuilderBefore(b, local);
  LLVMValueRef made = LLVMBuildArrayAlloca(b, LLVMGetAllocatedType(local), LLVMGetOperand(local, 0), "");
  LLVMSetAlignment(made, LLVMGetAlignment(local));
  LLVMDisposeBuilder(b);
  return made;
}

/* ---- arrays ---- */

static LLVMValueRef distance_of(value_check *c, LLVMValueRef function) {
  program *p = c->p;
  if (c->measured == function) return c->distance;
  LLVMTypeRef type = LLVMFunctionType(p->i64, NULL, 0, 0);
  LLVMValueRef f = LLVMGetNamedFunction(p->module, SHADOW_DISTANCE);
  if (!f) {
    f = LLVMAddFunction(p->module, SHADOW_DISTANCE, type);
    LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(p->context, LLVMGetEnumAttributeKindForName("memory", 6), 0));
    add_attribute(p, f, "nounwind");
    add_attribute(p, f, "willreturn");
  }
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)));
  c->measured = function;
  c->distance = LLVMBuildCall2(b, type, f, NULL, 0, "");
  LLVMDisposeBuilder(b);
  return c->distance;
}

static LLVMValueRef at_distance(value_check *c, LLVMBuilderRef b, LLVMValueRef address, LLVMValueRef distance) {
  program *p = c->p;
  if (LLVMTypeOf(address) != p->pointer) address = LLVMBuildAddrSpaceCast(b, address, p->pointer, "");
  LLVMValueRef number = LLVMBuildPtrToInt(b, address, p->i64, "");
  return LLVMBuildIntToPtr(b, LLVMBuildAdd(b, number, distance, ""), p->pointer, "");
}

/* Of an argument or a variable: computed once, at the function's entry. */
static LLVMValueRef at_entry(value_check *c, LLVMValueRef function, LLVMValueRef root) {
  LLVMValueRef distance = distance_of(c, function);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(c->p->context);
  LLVMPositionBuilderBefore(b, LLVMGetNextInstruction(distance));
  LLVMValueRef made = at_distance(c, b, root, distance);
  LLVMDisposeBuilder(b);
  return made;
}

/* ---- addresses ---- */

/* The shadow of what an address is computed from, or NULL. */
static LLVMValueRef root_shadow(value_check *c, LLVMValueRef function, LLVMValueRef root) {
  bool is_local = LLVMIsAAllocaInst(root);
  if (!is_local && !LLVMIsAArgument(root) && !LLVMIsAGlobalVariable(root)) return NULL;
  for (size_t n = 0; n < c->root_count; n++)
    if (c->roots[n].of == root && c->roots[n].function == function) return c->roots[n].shadow;
  LLVMValueRef made = is_local ? twin_of(c, root) : at_entry(c, function, root);
  c->roots = mw_realloc(c->roots, (c->root_count + 1) * sizeof *c->roots);
  c->roots[c->root_count++] = (root_shadows){function, root, made};
  return made;
}

static bool has_few_indices(LLVMValueRef address) {
  for (; opcode_of(address) != (LLVMOpcode)0 && !LLVMIsAAllocaInst(address); address = LLVMGetOperand(address, 0)) {
    if (opcode_of(address) == LLVMGetElementPtr && LLVMGetNumIndices(address) > MOST_INDICES) return false;
    if (LLVMGetNumOperands(address) == 0) break;
  }
  return true;
}

/* The same element of the shadow, so that widening finds the same shape for both: an index that may be contiguous is tested
   (widen/memory/tested_access.c). */
static LLVMValueRef moved(value_check *c, LLVMValueRef address, LLVMValueRef root, LLVMValueRef shadow) {
  LLVMValueRef indices[MOST_INDICES];
  if (address == root) return shadow;
  LLVMValueRef from = moved(c, LLVMGetOperand(address, 0), root, shadow);
  if (opcode_of(address) != LLVMGetElementPtr) return from;
  unsigned count = LLVMGetNumIndices(address);
  for (unsigned i = 0; i < count; i++) indices[i] = LLVMGetOperand(address, i + 1);
  return LLVMBuildGEP2(c->b, LLVMGetGEPSourceElementType(address), from, indices, count, "");
}

LLVMValueRef shadow_address(value_check *c, LLVMValueRef address) {
  LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInsertBlock(c->b)), root = root_of(address);
  LLVMValueRef shadow = has_few_indices(address) ? root_shadow(c, function, root) : NULL;
  if (shadow) return moved(c, address, root, shadow);
  return at_distance(c, c->b, address, distance_of(c, function));
}
