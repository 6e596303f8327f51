/* Shuffles, which MemorySanitizer does not know: they move values between threads. A value from an absent lane is unwritten;
 * that from another lane has that lane's shadow, which a shuffle of the shadows moves. A part of value_check.c.
 *
 * Before MemorySanitizer the value is stored to GIVEN, and the result is xor-ed with 0 that is loaded from ABSENT and from
 * TAKEN. So its calls for these two tell the shadow that goes into the shuffle, and where the one that comes out of it
 * is. On a GPU __mw_guard_shadow_shuffle (moonwarp/checked_run/written.h) moves both. */
#include "value_check.h"

#include <stdlib.h>
#include <string.h>

static unsigned place_of_value(LLVMValueRef call) {
  return strstr(callee_name(call), "_sync_") || is_named(call, "llvm.nvvm.shfl.sync.") ? 1 : 0;
}

static LLVMValueRef as(value_check *c, LLVMValueRef value, LLVMTypeRef type) {
  return LLVMTypeOf(value) == type ? value : LLVMBuildBitCast(c->b, value, type, "");
}

static void hide(value_check *c, LLVMValueRef call) {
  unsigned callee = (unsigned)LLVMGetNumOperands(call) - 1;
  char *name = mw_format("%s %s", HIDDEN, callee_name(call));
  LLVMValueRef hidden = LLVMGetNamedFunction(c->p->module, name);
  if (!hidden) hidden = LLVMAddFunction(c->p->module, name, LLVMGetCalledFunctionType(call));
  free(name);
  LLVMSetOperand(call, callee, hidden);
}

void hide_shuffle(value_check *c, LLVMValueRef call) {
  LLVMTypeRef type = LLVMTypeOf(call);
  LLVMTypeKind kind = LLVMGetTypeKind(type);
  LLVMValueRef value = LLVMGetOperand(call, place_of_value(call)), next = LLVMGetNextInstruction(call);
  hide(c, call);
  if ((kind != LLVMFloatTypeKind && kind != LLVMIntegerTypeKind) || !LLVMGetFirstUse(call)) return;
  LLVMTypeRef word = kind == LLVMFloatTypeKind ? c->p->i32 : type;
  bool moves = LLVMTypeOf(value) == type;
  LLVMPositionBuilderBefore(c->b, call);
  if (moves) LLVMBuildStore(c->b, as(c, value, word), c->given);
  LLVMPositionBuilderBefore(c->b, next);
  LLVMSetCurrentDebugLocation2(c->b, LLVMInstructionGetDebugLoc(call));
  /* a placeholder keeps the new instructions' own uses of the result */
  LLVMValueRef placeholder = LLVMBuildLoad2(c->b, type, c->absent, ""),
               zero = LLVMBuildLoad2(c->b, word, c->absent, "");
  if (moves) zero = LLVMBuildXor(c->b, zero, LLVMBuildLoad2(c->b, word, c->taken, ""), "");
  LLVMValueRef both = LLVMBuildXor(c->b, LLVMBuildBitCast(c->b, placeholder, word, ""), zero, "");
  LLVMReplaceAllUsesWith(call, LLVMBuildBitCast(c->b, both, type, ""));
  LLVMReplaceAllUsesWith(placeholder, call);
  LLVMInstructionEraseFromParent(placeholder);
}

void show_shuffle(value_check *c, LLVMValueRef call) {
  LLVMValueRef shown = LLVMGetNamedFunction(c->p->module, callee_name(call) + sizeof HIDDEN);
  LLVMSetOperand(call, (unsigned)LLVMGetNumOperands(call) - 1, shown);
  c->shuffle = call;
}

/* The parts of the pair of pointers that MemorySanitizer gets. */
static void replace_parts(LLVMValueRef call, LLVMValueRef shadow, LLVMValueRef origin) {
  for (LLVMUseRef use = LLVMGetFirstUse(call), next; use; use = next) {
    next = LLVMGetNextUse(use);
    LLVMValueRef part = LLVMGetUser(use);
    LLVMReplaceAllUsesWith(part, *LLVMGetIndices(part) == 0 ? shadow : origin);
    LLVMInstructionEraseFromParent(part);
  }
}

/* Of 8 bytes MemorySanitizer stores the origin twice at a time, as a word that is made only if some bit is unwritten: the
 * origin itself, which is known before. */
static LLVMValueRef single_origin(LLVMValueRef origin) {
  if (!LLVMIsABinaryOperator(origin) || LLVMGetInstructionOpcode(origin) != LLVMOr) return origin;
  for (unsigned n = 0; n < 2; n++) {
    LLVMValueRef part = LLVMGetOperand(origin, n);
    if (LLVMIsAZExtInst(part)) return LLVMGetOperand(part, 0);
  }
  return origin;
}

static void take_given(value_check *c, LLVMValueRef call) {
  c->moved = c->moved_origin = NULL;
  for (LLVMUseRef use = LLVMGetFirstUse(call); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef part = LLVMGetUser(use), store = LLVMGetFirstUse(part) ? LLVMGetUser(LLVMGetFirstUse(part)) : NULL;
    if (!store || !LLVMIsAStoreInst(store)) continue;
    if (*LLVMGetIndices(part) == 0)
      c->moved = LLVMGetOperand(store, 0);
    else
      c->moved_origin = single_origin(LLVMGetOperand(store, 0));
  }
  replace_parts(call, slot(c, call, WIDEST), slot(c, call, WIDEST));
}

/* What the shuffle gives each lane of `bits`. */
static LLVMValueRef shuffled(value_check *c, LLVMValueRef bits) {
  LLVMTypeRef own = LLVMTypeOf(bits), type = LLVMTypeOf(c->shuffle);
  LLVMTypeRef word = LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? type : c->p->i32;
  LLVMValueRef again = LLVMInstructionClone(c->shuffle);
  LLVMSetOperand(again, place_of_value(c->shuffle), as(c, LLVMBuildZExtOrBitCast(c->b, bits, word, ""), type));
  LLVMInsertIntoBuilder(c->b, again);
  return LLVMBuildTruncOrBitCast(c->b, as(c, again, word), own, "");
}

/* llvm.nvvm.shfl.sync.MODE.i32(mask, value, lane, clamp): a call moves the shadow and, as the thread's latest load, where
   it is from. It is right after the shuffle, where the lanes are together. */
static LLVMValueRef moved_on_gpu(value_check *c) {
  static const char *const modes[] = {"idx", "up", "down", "bfly"};
  const char *name = callee_name(c->shuffle) + sizeof "llvm.nvvm.shfl.sync." - 1;
  unsigned mode = 0;
  while (mode < MW_COUNT(modes) - 1 && !starts_with(name, modes[mode])) mode++;
  LLVMPositionBuilderBefore(c->b, LLVMGetNextInstruction(c->shuffle));
  LLVMSetCurrentDebugLocation2(c->b, LLVMInstructionGetDebugLoc(c->shuffle));
  LLVMValueRef origin = c->moved_origin ? c->moved_origin : constant_i32(c->p, 0);
  LLVMValueRef arguments[] = {LLVMGetOperand(c->shuffle, 0),
                              LLVMGetOperand(c->shuffle, 2),
                              LLVMGetOperand(c->shuffle, 3),
                              constant_i32(c->p, mode),
                              c->moved,
                              origin,
                              c->latest};
  return call_gpu_function(c, "__mw_guard_shadow_shuffle", arguments, MW_COUNT(arguments));
}

/* The shadow and the origin of the result, in memory. */
static void give_taken(value_check *c, LLVMValueRef call) {
  LLVMValueRef shadow = slot(c, call, WIDEST), origin = slot(c, call, WIDEST), bits = constant_i64(c->p, 0);
  bool gpu = c->p->options->gpu;
  LLVMValueRef from = constant_i32(c->p, gpu ? 0 : LLVMGetDebugLocLine(call));
  LLVMPositionBuilderBefore(c->b, call);
  if (c->moved && !LLVMIsNull(c->moved) && LLVMGetTypeKind(LLVMTypeOf(c->moved)) == LLVMIntegerTypeKind) {
    bits = gpu ? moved_on_gpu(c) : shuffled(c, c->moved);
    if (c->moved_origin && !gpu) from = shuffled(c, c->moved_origin);
  }
  LLVMPositionBuilderBefore(c->b, call);
  LLVMBuildStore(c->b, bits, shadow);
  LLVMBuildStore(c->b, from, origin);
  replace_parts(call, shadow, origin);
}

bool make_shuffled(value_check *c, LLVMValueRef call) {
  LLVMValueRef root = root_of(LLVMGetOperand(call, 0));
  if (root == c->given) take_given(c, call);
  if (root == c->taken) give_taken(c, call);
  return root == c->given || root == c->taken;
}

/* The stores have served their purpose. */
void drop_given(value_check *c) {
  for (LLVMUseRef use = LLVMGetFirstUse(c->given), next; use; use = next) {
    next = LLVMGetNextUse(use);
    if (LLVMIsAStoreInst(LLVMGetUser(use))) LLVMInstructionEraseFromParent(LLVMGetUser(use));
  }
}
