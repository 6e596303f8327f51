/* MemorySanitizer's calls become those of the runtime (src/cpu/check/initialised.c): its shadow memory is that of the
 * device's range, and an origin is the line of a load. The second half of value_check.c. */
#include "value_check.h"
#include "mwcc/prepare/prepare.h"

#include <stdlib.h>
#include <string.h>

enum { CONTEXT = 4096 /* more than MemorySanitizer's context state */ };

/* An origin with this bit is a shuffle. */
static const unsigned FROM_SHUFFLE = 1u << 31;

void copy_memory(value_check *c, LLVMValueRef call, const char *what, alignments known) {
  LLVMValueRef target = LLVMGetOperand(call, 0), from = LLVMGetOperand(call, 1), bytes = LLVMGetOperand(call, 2);
  if (strcmp(what, "memset") == 0)
    LLVMBuildMemSet(c->b, target, LLVMBuildTrunc(c->b, from, c->p->i8, ""), bytes, known.target);
  else if (strcmp(what, "memcpy") == 0)
    LLVMBuildMemCpy(c->b, target, known.target, from, known.source, bytes);
  else
    LLVMBuildMemMove(c->b, target, known.target, from, known.source, bytes);
  LLVMReplaceAllUsesWith(call, target);
}

LLVMValueRef slot(value_check *c, LLVMValueRef call, unsigned bytes) {
  LLVMValueRef f = LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
  LLVMPositionBuilderBefore(c->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(f)));
  LLVMValueRef made = LLVMBuildAlloca(c->b, LLVMArrayType2(c->p->i8, bytes), "");
  LLVMSetAlignment(made, 16);
  return made;
}

/* Whether what `part` points to is loaded and stored only, after the call and before the next one in its basic
   block. */
static bool is_used_at_once(LLVMValueRef call, LLVMValueRef part) {
  size_t uses = 0, found = 0;
  for (LLVMUseRef use = LLVMGetFirstUse(part); use; use = LLVMGetNextUse(use)) uses++;
  for (LLVMValueRef i = LLVMGetNextInstruction(call); i; i = LLVMGetNextInstruction(i)) {
    if (LLVMIsACallInst(i) && is_named(i, "__msan_metadata")) break;
    found += (LLVMIsALoadInst(i) || LLVMIsAStoreInst(i)) && LLVMGetOperand(i, LLVMIsAStoreInst(i) ? 1 : 0) == part;
  }
  return uses == found;
}

/* The bytes of what `part` points to that are set or copied at once: of a struct among the parameters. */
static uint64_t bytes_filled(LLVMValueRef part) {
  uint64_t most = 0;
  for (LLVMUseRef use = LLVMGetFirstUse(part); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use), bytes = LLVMIsAMemIntrinsic(user) ? LLVMGetOperand(user, 2) : NULL;
    uint64_t count = bytes && LLVMIsAConstantInt(bytes) ? LLVMConstIntGetZExtValue(bytes) : 0;
    if (count > most) most = count;
  }
  return most;
}

/* One slot of a function for shadows that are used at once: a large kernel has thousands of them. */
static LLVMValueRef shared_slot(value_check *c, LLVMValueRef call) {
  LLVMValueRef f = LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
  if (c->sharing != f) c->shared = slot(c, call, WIDEST);
  c->sharing = f;
  return c->shared;
}

static LLVMValueRef shadow_slot(value_check *c, LLVMValueRef call, uint64_t bytes) {
  bool at_once = bytes <= WIDEST;
  for (LLVMUseRef use = LLVMGetFirstUse(call); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef part = LLVMGetUser(use);
    if (!LLVMIsAExtractValueInst(part) || *LLVMGetIndices(part) != 0) continue;
    at_once = at_once && is_used_at_once(call, part);
    if (bytes_filled(part) > bytes) bytes = bytes_filled(part);
  }
  return at_once ? shared_slot(c, call) : slot(c, call, (unsigned)(bytes > WIDEST ? bytes : WIDEST));
}

static void call_shadow(value_check *c, mw_shadow_operation what, LLVMValueRef address, LLVMValueRef bytes,
                        LLVMValueRef memory) {
  LLVMValueRef number = LLVMBuildPtrToInt(c->b, address, c->p->i64, "");
  LLVMValueRef arguments[] = {constant_i32(c->p, what), number, bytes, memory};
  LLVMBuildCall2(c->b, c->shadow_type, c->shadow, arguments, MW_COUNT(arguments), "");
}

/* ---- shadows in the code itself, of code that follows no threads ---- */

/* An array's shadow is where its memory is, at a distance; constants of the code and parameters are written. */
static bool has_shadow(const value_check *c, LLVMValueRef root) {
  if (root == c->unwritten || root == c->absent) return false;
  if (is_written(c, root)) return false;
  return !LLVMIsAGlobalVariable(root) || !LLVMIsGlobalConstant(root);
}

/* A shadow is stored only if it changes. Mostly all values are written; then the shadow's memory is only read, and
   needs no pages. */
static void store_changed(value_check *c, LLVMValueRef store) {
  program *p = c->p;
  LLVMValueRef value = LLVMGetOperand(store, 0), address = LLVMGetOperand(store, 1);
  if (LLVMGetTypeKind(LLVMTypeOf(value)) != LLVMIntegerTypeKind) return;
  LLVMPositionBuilderBefore(c->b, store);
  LLVMValueRef old = LLVMBuildLoad2(c->b, LLVMTypeOf(value), address, "");
  LLVMSetAlignment(old, LLVMGetAlignment(store));
  LLVMValueRef same = LLVMBuildICmp(c->b, LLVMIntEQ, old, value, "");
  LLVMBasicBlockRef rest = LLVMGetInstructionParent(store), head = split_block(p, store);
  LLVMBasicBlockRef changed = LLVMInsertBasicBlockInContext(p->context, rest, "changed");
  LLVMPositionBuilderAtEnd(c->b, head);
  build_likely(p, c->b, same, rest, changed);
  LLVMPositionBuilderAtEnd(c->b, changed);
  LLVMSetAlignment(LLVMBuildStore(c->b, value, address), LLVMGetAlignment(store));
  LLVMBuildBr(c->b, rest);
  LLVMInstructionEraseFromParent(store);
}

static void collect_loads(value_check *c, LLVMValueRef shadow) {
  for (LLVMUseRef use = LLVMGetFirstUse(shadow); use; use = LLVMGetNextUse(use))
    if (LLVMIsALoadInst(LLVMGetUser(use))) collect_shadow(c, LLVMGetUser(use));
}

static void place_metadata(value_check *c, LLVMValueRef call, bool stores) {
  program *p = c->p;
  LLVMValueRef address = LLVMGetOperand(call, 0), root = root_of(address), shadow, stored = NULL;
  if (has_shadow(c, root)) {
    LLVMPositionBuilderBefore(c->b, call);
    shadow = shadow_address(c, address);
  } else {
    const char *suffix = strrchr(callee_name(call), '_') + 1;
    uint64_t count = *suffix == 'n' ? CONTEXT : strtoul(suffix, NULL, 10);
    shadow = slot(c, call, (unsigned)(count > WIDEST ? count : WIDEST));
    LLVMPositionBuilderBefore(c->b, call);
    LLVMBuildMemSet(c->b, shadow, LLVMConstInt(p->i8, root == c->unwritten ? 0xff : 0, 0), constant_i64(p, count), 16);
  }
  for (LLVMUseRef use = LLVMGetFirstUse(call), next; use; use = next) {
    next = LLVMGetNextUse(use);
    LLVMValueRef part = LLVMGetUser(use);
    bool is_shadow = LLVMIsAExtractValueInst(part) && *LLVMGetIndices(part) == 0;
    if (is_shadow) {
      for (LLVMUseRef at = LLVMGetFirstUse(part); at && stores; at = LLVMGetNextUse(at))
        if (LLVMIsAStoreInst(LLVMGetUser(at))) stored = LLVMGetUser(at);
      if (!stores && is_screened(p) && has_shadow(c, root)) collect_loads(c, part);
      LLVMReplaceAllUsesWith(part, shadow);
    } else {
      LLVMValueRef origin = slot(c, call, WIDEST);
      LLVMPositionBuilderBefore(c->b, call);
      if (!stores) LLVMBuildStore(c->b, constant_i32(p, LLVMGetDebugLocLine(call)), origin);
      LLVMReplaceAllUsesWith(part, origin);
    }
    LLVMInstructionEraseFromParent(part);
  }
  bool is_array =
      !is_shared_variable(p, root) && !LLVMIsAAllocaInst(root_of(stored ? LLVMGetOperand(stored, 1) : root));
  if (stored && has_shadow(c, root) && is_array) store_changed(c, stored);
}

void call_event_if(value_check *c, LLVMValueRef value, LLVMValueRef condition) {
  program *p = c->p;
  LLVMTypeRef params[] = {p->i32, p->i64, p->i1}, type = LLVMFunctionType(p->void_type, params, 3, 0);
  LLVMValueRef f = LLVMGetNamedFunction(p->module, CHECK_EVENT_IF);
  if (!f) f = LLVMAddFunction(p->module, CHECK_EVENT_IF, type);
  LLVMValueRef arguments[] = {constant_i32(p, MW_CHECK_UNWRITTEN), value, condition};
  add_call_attribute(p, LLVMBuildCall2(c->b, type, f, arguments, 3, ""), "nomerge");
}

/* if (condition) warn(origin) -> a conditional event of the threads for which it is true. False: it has another
   form. */
static bool make_event(value_check *c, LLVMValueRef call) {
  program *p = c->p;
  LLVMBasicBlockRef block = LLVMGetInstructionParent(call);
  LLVMValueRef only = NULL;
  for (LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); use; use = LLVMGetNextUse(use)) {
    if (only) return false;
    only = LLVMGetUser(use);
  }
  LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
  if (!only || !LLVMIsABranchInst(only) || !LLVMIsConditional(only) || LLVMGetFirstInstruction(block) != call ||
      LLVMGetNextInstruction(call) != end || LLVMIsConditional(end) || LLVMGetSuccessor(only, 0) != block ||
      LLVMGetSuccessor(only, 1) != LLVMGetSuccessor(end, 0) ||
      LLVMIsAPHINode(LLVMGetFirstInstruction(LLVMGetSuccessor(end, 0))))
    return false;
  LLVMPositionBuilderBefore(c->b, only);
  LLVMSetCurrentDebugLocation2(c->b, LLVMInstructionGetDebugLoc(call));
  LLVMValueRef origin = LLVMBuildZExt(c->b, LLVMGetOperand(call, 0), p->i64, "");
  origin = LLVMBuildShl(c->b, origin, constant_i64(p, 32), "");
  origin = LLVMBuildOr(c->b, origin, constant_i64(p, LLVMGetDebugLocLine(call)), "");
  call_event_if(c, origin, LLVMGetCondition(only));
  LLVMBuildBr(c->b, LLVMGetSuccessor(end, 0));
  LLVMInstructionEraseFromParent(only);
  LLVMInstructionEraseFromParent(end); /* the call follows */
  LLVMPositionBuilderAtEnd(c->b, block);
  LLVMBuildUnreachable(c->b);
  return true;
}

/* All functions are inlined, so shadows of arguments and results are not used. */
void forget_state(LLVMValueRef address) {
  for (LLVMUseRef use = LLVMGetFirstUse(address), next; use; use = next) {
    next = LLVMGetNextUse(use);
    LLVMValueRef user = LLVMGetUser(use);
    LLVMOpcode opcode = opcode_of(user);
    bool moves = opcode == LLVMGetElementPtr || opcode == LLVMPtrToInt || opcode == LLVMIntToPtr || opcode == LLVMAdd;
    if (moves) forget_state(user);
    if (LLVMIsALoadInst(user)) LLVMReplaceAllUsesWith(user, LLVMConstNull(LLVMTypeOf(user)));
    if (!LLVMGetFirstUse(user) && !LLVMIsACallInst(user)) LLVMInstructionEraseFromParent(user);
  }
}

static void make_written_context(value_check *c, LLVMValueRef call) {
  forget_state(call);
  if (LLVMGetFirstUse(call)) make_context(c, call);
}

/* A shadow is aligned as its memory is. */
static void copy_shadow(value_check *c, LLVMValueRef target, LLVMValueRef from, LLVMValueRef bytes, alignments known) {
  LLVMValueRef to = shadow_address(c, target), root = from ? root_of(from) : NULL;
  if (root && has_shadow(c, root))
    LLVMBuildMemCpy(c->b, to, known.target, shadow_address(c, from), known.source, bytes);
  else
    LLVMBuildMemSet(c->b, to, LLVMConstInt(c->p->i8, root == c->unwritten ? 0xff : 0, 0), bytes, known.target);
}

/* ---- shadows by the runtime ---- */

/* Where a load's or a store's shadow and origin are, as a pair of pointers. */
static void make_metadata(value_check *c, LLVMValueRef call, bool stores) {
  program *p = c->p;
  LLVMValueRef address = LLVMGetOperand(call, 0), root = root_of(address);
  const char *suffix = strrchr(callee_name(call), '_') + 1;
  LLVMValueRef bytes = *suffix == 'n' ? LLVMGetOperand(call, 1) : constant_i64(p, strtoul(suffix, NULL, 10));
  uint64_t count = LLVMIsAConstantInt(bytes) ? LLVMConstIntGetZExtValue(bytes) : 0;
  LLVMValueRef shadow = shadow_slot(c, call, count);
  LLVMValueRef origin = slot(c, call, (unsigned)(count > WIDEST ? count : WIDEST));
  LLVMPositionBuilderBefore(c->b, call);
  unsigned line = LLVMGetDebugLocLine(call);
  if (!stores && root == c->unwritten) {
    LLVMBuildMemSet(c->b, shadow, LLVMConstInt(p->i8, 0xff, 0), bytes, 16);
  } else if (!stores && is_written(c, root)) {
    LLVMBuildMemSet(c->b, shadow, LLVMConstNull(p->i8), bytes, 16);
  } else if (!stores) {
    bool is_absent = root == c->absent;
    call_shadow(c, is_absent ? MW_SHADOW_ABSENT : MW_SHADOW_LOAD, is_absent ? shadow : address, bytes, shadow);
    if (is_absent) line |= FROM_SHUFFLE;
  }
  if (!stores) LLVMBuildStore(c->b, constant_i32(p, line), origin);
  for (LLVMUseRef use = LLVMGetFirstUse(call), next; use; use = next) {
    next = LLVMGetNextUse(use);
    LLVMValueRef part = LLVMGetUser(use);
    bool is_shadow = LLVMIsAExtractValueInst(part) && *LLVMGetIndices(part) == 0;
    for (LLVMUseRef at = is_shadow && stores ? LLVMGetFirstUse(part) : NULL; at; at = LLVMGetNextUse(at)) {
      LLVMValueRef store = LLVMGetUser(at);
      if (!LLVMIsAStoreInst(store)) continue;
      LLVMPositionBuilderBefore(c->b, LLVMGetNextInstruction(store));
      LLVMSetCurrentDebugLocation2(c->b, LLVMInstructionGetDebugLoc(call));
      call_shadow(c, MW_SHADOW_STORE, address, bytes, shadow);
    }
    LLVMReplaceAllUsesWith(part, is_shadow ? shadow : origin);
    LLVMInstructionEraseFromParent(part);
  }
}

void make_context(value_check *c, LLVMValueRef call) {
  LLVMValueRef state = slot(c, call, CONTEXT);
  LLVMPositionBuilderBefore(c->b, LLVMGetNextInstruction(state));
  LLVMBuildMemSet(c->b, state, LLVMConstInt(c->p->i8, 0, 0), constant_i64(c->p, CONTEXT), 16);
  LLVMReplaceAllUsesWith(call, state);
}

static void make_warning(value_check *c, LLVMValueRef call) {
  program *p = c->p;
  LLVMValueRef origin = LLVMBuildZExt(c->b, LLVMGetOperand(call, 0), p->i64, "");
  origin = LLVMBuildShl(c->b, origin, constant_i64(p, 32), "");
  LLVMValueRef arguments[] = {constant_i32(p, MW_CHECK_UNWRITTEN),
                              LLVMBuildOr(c->b, origin, constant_i64(p, LLVMGetDebugLocLine(call)), "")};
  LLVMValueRef made = LLVMBuildCall2(c->b, c->event_type, c->event, arguments, 2, "");
  add_call_attribute(p, made, "nomerge");
}

static void make_copy(value_check *c, LLVMValueRef call, const char *what) {
  LLVMValueRef target = LLVMGetOperand(call, 0), from = LLVMGetOperand(call, 1), bytes = LLVMGetOperand(call, 2);
  bool sets = strcmp(what, "memset") == 0;
  alignments known = c->next_copy < c->copy_count ? c->copies[c->next_copy++] : (alignments){1, 1};
  copy_memory(c, call, what, known);
  if (!c->p->follows) {
    copy_shadow(c, target, sets ? NULL : from, bytes, known);
    return;
  }
  bool cleans = sets || is_written(c, root_of(from));
  call_shadow(c, cleans ? MW_SHADOW_CLEAN : MW_SHADOW_COPY, target, bytes,
              cleans ? LLVMConstNull(c->p->pointer) : from);
}

/* A local variable's scope begins: it is unwritten, or holds what a caller wrote. */
static void begin_local(value_check *c, LLVMValueRef call, bool by_caller) {
  LLVMValueRef address = LLVMGetOperand(call, 0), bytes = LLVMGetOperand(call, 1);
  if (c->p->follows)
    call_shadow(c, by_caller ? MW_SHADOW_CLEAN : MW_SHADOW_UNWRITTEN, address, bytes, LLVMConstNull(c->p->pointer));
  else
    LLVMBuildMemSet(c->b, shadow_address(c, address), LLVMConstInt(c->p->i8, by_caller ? 0 : 0xff, 0), bytes, 1);
}

/* True: delete the call. */
static bool rewrite(value_check *c, LLVMValueRef call) {
  const char *name = callee_name(call);
  if (starts_with(name, USE) || strcmp(name, "llvm.donothing") == 0) return true;
  if (starts_with(name, HIDDEN)) show_shuffle(c, call);
  if (!starts_with(name, "__msan_")) return false;
  const char *what = name + strlen("__msan_");
  if (c->p->options->gpu) {
    rewrite_gpu_call(c, call, what);
    return true;
  }
  LLVMPositionBuilderBefore(c->b, call);
  bool stores = starts_with(what, "metadata_ptr_for_store"), follows = c->p->follows;
  if (starts_with(what, "metadata_ptr_for_") && make_shuffled(c, call)) return true;
  if (starts_with(what, "metadata_ptr_for_") && !follows)
    place_metadata(c, call, stores);
  else if (starts_with(what, "metadata_ptr_for_"))
    make_metadata(c, call, stores);
  else if (strcmp(what, "warning") == 0 && !follows && make_event(c, call))
    return true;
  else if (strcmp(what, "get_context_state") == 0 && !follows)
    make_written_context(c, call);
  else if (strcmp(what, "get_context_state") == 0)
    make_context(c, call);
  else if (strcmp(what, "warning") == 0)
    make_warning(c, call);
  else if (strcmp(what, "poison_alloca") == 0)
    begin_local(c, call, false);
  else if (strcmp(what, "unpoison_alloca") == 0)
    begin_local(c, call, true);
  else if (strcmp(what, "chain_origin") == 0)
    LLVMReplaceAllUsesWith(call, LLVMGetOperand(call, 0));
  else if (starts_with(what, "mem"))
    make_copy(c, call, what);
  return true;
}

static bool drop_freeze(LLVMValueRef i) {
  size_t length;
  if (!LLVMIsAFreezeInst(i) || !starts_with(LLVMGetValueName2(i, &length), FOUND)) return false;
  LLVMReplaceAllUsesWith(i, LLVMGetOperand(i, 0));
  return true;
}

/* Rewriting one call deletes instructions of other kinds. */
static void rewrite_calls(value_check *c, LLVMValueRef f) {
  instructions list = instructions_of_function(f);
  size_t count = 0;
  for (size_t n = 0; n < list.count; n++)
    if (LLVMIsACallInst(list.items[n]) || LLVMIsAFreezeInst(list.items[n])) list.items[count++] = list.items[n];
  list.count = count;
  for (size_t n = 0; n < list.count; n++)
    if (drop_freeze(list.items[n]) || (LLVMIsACallInst(list.items[n]) && rewrite(c, list.items[n])))
      LLVMInstructionEraseFromParent(list.items[n]);
  free(list.items);
}

/* Nothing is read from it: loads give 0, and copies are dropped. */
static void drop_reads(LLVMValueRef address) {
  for (LLVMUseRef use = LLVMGetFirstUse(address), next; use; use = next) {
    next = LLVMGetNextUse(use);
    LLVMValueRef user = LLVMGetUser(use);
    if (!LLVMIsALoadInst(user) && !LLVMIsACallInst(user)) {
      drop_reads(user);
      continue;
    }
    if (LLVMIsALoadInst(user)) LLVMReplaceAllUsesWith(user, LLVMConstNull(LLVMTypeOf(user)));
    LLVMInstructionEraseFromParent(user);
  }
}

static void drop_global(LLVMValueRef global) {
  drop_reads(global);
  LLVMReplaceAllUsesWith(global, LLVMConstNull(LLVMTypeOf(global)));
  LLVMDeleteGlobal(global);
}

static void drop_functions(program *p) {
  for (LLVMValueRef f = LLVMGetFirstFunction(p->module), next; f; f = next) {
    size_t length;
    const char *name = LLVMGetValueName2(f, &length);
    next = LLVMGetNextFunction(f);
    bool own = starts_with(name, USE) || starts_with(name, HIDDEN) || starts_with(name, "__msan_");
    if (own && !LLVMGetFirstUse(f)) LLVMDeleteFunction(f);
  }
}

void make_shadows(value_check *c) {
  make_gpu_locals(c);
  EACH_FUNCTION(c->p, f) {
    rewrite_calls(c, f);
    test_collected(c, f);
    remove_attribute(f, "sanitize_memory");
  }
  drop_global(c->unwritten);
  drop_global(c->absent);
  drop_given(c);
  drop_global(c->given);
  drop_global(c->taken);
  drop_functions(c->p);
}
