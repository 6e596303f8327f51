/* Variables and struct parameters before MemorySanitizer sees them: what can be a register is one. What is in memory has its
 * shadow in memory, and its address is then more than an address to LLVM. The first part of value_check.c. */
#include "value_check.h"
#include "mwcc/prepare/prepare.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 6 };

/* ---- scalars ---- */

/* Whether mem2reg will make a register of it. */
static bool is_register(value_check *c, LLVMValueRef local) {
  LLVMTypeRef type = LLVMGetAllocatedType(local);
  if (!is_scalar(c, type)) return false;
  for (LLVMUseRef use = LLVMGetFirstUse(local); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    bool loads = LLVMIsALoadInst(user) && LLVMTypeOf(user) == type && !LLVMGetVolatile(user);
    bool stores = LLVMIsAStoreInst(user) && LLVMGetOperand(user, 1) == local &&
                  LLVMTypeOf(LLVMGetOperand(user, 0)) == type && !LLVMGetVolatile(user);
    if (!loads && !stores && !is_named(user, "llvm.lifetime.")) return false;
  }
  return true;
}

static LLVMValueRef earlier(LLVMValueRef found, LLVMValueRef read) {
  unsigned line = read ? LLVMGetDebugLocLine(read) : 0;
  return line && (!found || line < LLVMGetDebugLocLine(found)) ? read : found;
}

/* The line of the first read of the variable, its members or its copies. */
static LLVMValueRef first_read(LLVMValueRef pointer, int steps) {
  LLVMValueRef found = NULL;
  for (LLVMUseRef use = LLVMGetFirstUse(pointer); use && steps; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    bool copies = LLVMIsACallInst(user) && is_named(user, "llvm.memcpy.") && LLVMGetOperand(user, 1) == pointer;
    if (LLVMIsALoadInst(user)) found = earlier(found, user);
    if (LLVMIsAGetElementPtrInst(user)) found = earlier(found, first_read(user, steps - 1));
    if (copies) found = earlier(found, first_read(root_of(LLVMGetOperand(user, 0)), steps - 1));
  }
  return found;
}

static void begin_unwritten(value_check *c, LLVMValueRef local, LLVMValueRef before) {
  LLVMValueRef reader = first_read(local, 4);
  LLVMTypeRef type = LLVMGetAllocatedType(local);
  LLVMPositionBuilderBefore(c->b, before);
  LLVMSetCurrentDebugLocation2(c->b, reader ? LLVMInstructionGetDebugLoc(reader) : NULL);
  if (is_scalar(c, type)) {
    LLVMBuildStore(c->b, LLVMBuildLoad2(c->b, type, c->unwritten, ""), local);
    return;
  }
  LLVMValueRef bytes = constant_i64(c->p, LLVMABISizeOfType(c->p->layout, type));
  LLVMBuildMemCpy(c->b, local, LLVMGetAlignment(local), c->unwritten, 1, bytes);
}

/* A variable begins with a value that nothing has written, each time that its scope is entered. */
static void begin_variable(value_check *c, LLVMValueRef local) {
  LLVMValueRef next = LLVMGetNextInstruction(local);
  while (LLVMIsAAllocaInst(next)) next = LLVMGetNextInstruction(next);
  for (LLVMUseRef use = LLVMGetFirstUse(local); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (is_named(user, "llvm.lifetime.start")) begin_unwritten(c, local, LLVMGetNextInstruction(user));
  }
  begin_unwritten(c, local, next);
}

/* ---- local structs ---- */

/* Structs whose members are accessed one by one, and which are copied to each other and from parameters. SROA makes
   registers of their members. A struct in memory has its shadow in memory, and its address is then more than an address
   to LLVM. A struct that is copied to or from an array stays in memory: its padding is moved with it. */
typedef struct local_set {
  LLVMValueRef *items;
  size_t count;
} local_set;

static bool has_local(const local_set *set, LLVMValueRef local) {
  for (size_t n = 0; n < set->count; n++)
    if (set->items[n] == local) return true;
  return false;
}

static bool is_copied_within(value_check *c, const local_set *set, LLVMValueRef call) {
  bool copies = is_named(call, "llvm.memcpy."), sets = is_named(call, "llvm.memset.");
  if ((!copies && !sets) || !LLVMIsAConstantInt(LLVMGetOperand(call, 2))) return false;
  if (LLVMConstIntGetZExtValue(LLVMGetOperand(call, 3))) return false; /* volatile */
  LLVMValueRef target = root_of(LLVMGetOperand(call, 0)), from = copies ? root_of(LLVMGetOperand(call, 1)) : NULL;
  return has_local(set, target) && (sets || has_local(set, from) || is_written(c, from));
}

static bool has_members_only(value_check *c, const local_set *set, LLVMValueRef pointer) {
  for (LLVMUseRef use = LLVMGetFirstUse(pointer); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    bool loads = LLVMIsALoadInst(user) && !LLVMGetVolatile(user) && is_scalar(c, LLVMTypeOf(user));
    bool stores = LLVMIsAStoreInst(user) && LLVMGetOperand(user, 1) == pointer && LLVMGetOperand(user, 0) != pointer &&
                  !LLVMGetVolatile(user) && is_scalar(c, LLVMTypeOf(LLVMGetOperand(user, 0)));
    bool moves = LLVMIsAGetElementPtrInst(user) != NULL;
    for (unsigned i = 1; moves && i <= LLVMGetNumIndices(user); i++)
      moves = LLVMIsAConstantInt(LLVMGetOperand(user, i));
    bool copies = LLVMIsACallInst(user) && (is_named(user, "llvm.lifetime.") || is_copied_within(c, set, user));
    if (moves ? !has_members_only(c, set, user) : !loads && !stores && !copies) return false;
  }
  return true;
}

/* The function's structs of this kind. */
static local_set find_structs(value_check *c, const instructions *list) {
  local_set set = {mw_alloc((list->count + 1) * sizeof *set.items), 0};
  for (size_t n = 0; n < list->count; n++) {
    LLVMValueRef local = list->items[n];
    if (!LLVMIsAAllocaInst(local) || !LLVMIsAConstantInt(LLVMGetOperand(local, 0))) continue;
    LLVMTypeRef type = LLVMGetAllocatedType(local);
    bool one = LLVMConstIntGetZExtValue(LLVMGetOperand(local, 0)) == 1;
    if (one && !is_scalar(c, type) && LLVMABISizeOfType(c->p->layout, type) <= LONGEST) set.items[set.count++] = local;
  }
  for (bool changed = !c->p->follows; changed;) {
    size_t left = 0, count = set.count;
    for (size_t n = 0; n < count; n++)
      if (has_members_only(c, &set, set.items[n])) set.items[left++] = set.items[n];
    set.count = left;
    changed = left < count;
  }
  if (c->p->follows) set.count = 0;
  return set;
}

void begin_variables(value_check *c, LLVMValueRef f) {
  LLVMTypeRef type = LLVMFunctionType(c->p->void_type, &c->p->pointer, 1, 0);
  LLVMValueRef hold = LLVMGetNamedFunction(c->p->module, HOLD);
  if (!hold) hold = LLVMAddFunction(c->p->module, HOLD, type);
  instructions list = instructions_of_function(f);
  local_set structs = find_structs(c, &list);
  for (size_t n = 0; n < list.count; n++) {
    LLVMValueRef local = list.items[n];
    if (!LLVMIsAAllocaInst(local)) continue;
    if ((LLVMIsAConstantInt(LLVMGetOperand(local, 0)) && is_register(c, local)) || has_local(&structs, local)) {
      begin_variable(c, local);
      continue;
    }
    LLVMPositionBuilderBefore(c->b, LLVMGetNextInstruction(local));
    LLVMBuildCall2(c->b, type, hold, &local, 1, "");
  }
  free(structs.items);
  free(list.items);
}

void make_registers(program *p) {
  run_passes(p, "function(sroa<preserve-cfg>)");
  LLVMValueRef hold = LLVMGetNamedFunction(p->module, HOLD);
  for (LLVMUseRef use = hold ? LLVMGetFirstUse(hold) : NULL, next; use; use = next) {
    next = LLVMGetNextUse(use);
    LLVMInstructionEraseFromParent(LLVMGetUser(use));
  }
  if (hold) LLVMDeleteFunction(hold);
}

/* ---- struct parameters ---- */

/* Whether memory is only loaded from and copied. */
static bool is_only_a_source(LLVMValueRef pointer) {
  for (LLVMUseRef use = LLVMGetFirstUse(pointer); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    bool moves = LLVMIsAGetElementPtrInst(user) || LLVMIsAAddrSpaceCastInst(user);
    bool copies = LLVMIsACallInst(user) && is_named(user, "llvm.memcpy.") && LLVMGetOperand(user, 0) != pointer;
    if (moves ? !is_only_a_source(user) : !copies && !LLVMIsALoadInst(user)) return false;
  }
  return true;
}

static void add_written(value_check *c, LLVMValueRef function, unsigned i) {
  unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
  LLVMValueRef argument = LLVMGetParam(function, i);
  LLVMAttributeRef found = LLVMGetEnumAttributeAtIndex(function, i + 1, byval);
  if (!found || !is_only_a_source(argument)) return;
  c->written = mw_realloc(c->written, (c->written_count + 1) * sizeof *c->written);
  c->written[c->written_count++] = (written_parameter){argument, found};
  LLVMRemoveEnumAttributeAtIndex(function, i + 1, byval);
}

void hide_written_parameters(value_check *c) {
  for (size_t k = 0; k < c->p->kernel_count; k++)
    for (unsigned i = 0; i < LLVMCountParams(c->p->kernels[k].body); i++) add_written(c, c->p->kernels[k].body, i);
}

void show_written_parameters(value_check *c) {
  for (size_t n = 0; n < c->written_count; n++) {
    LLVMValueRef function = LLVMGetParamParent(c->written[n].argument);
    unsigned i = 0;
    while (LLVMGetParam(function, i) != c->written[n].argument) i++;
    LLVMAddAttributeAtIndex(function, i + 1, c->written[n].byval);
  }
  free(c->written);
}
