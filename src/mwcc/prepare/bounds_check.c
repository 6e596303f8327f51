/* Bounds checks (--check-memory), as AddressSanitizer's: before every access the runtime checks that it lies in the
 * array from which its address was derived. An index out of range ends the launch with a name and a line, even if the
 * address is valid because it lies in another array.
 *
 * addresses/accessed_object.c finds that array. The size of variables, shared and local arrays is known here; that of
 * what a pointer points to is known to the device (src/cpu/memory/bounds_check.c). If an address was loaded from memory,
 * or may come from one of several arrays, the access has to lie in any array. Runs before tiers are chosen.
 * widen/calls/vector_bounds_check.c and lower/scalar_bounds_check.c compare addresses in the kernel's own code, and call
 * the runtime only with those out of bounds. */
#include "mwcc/mwcc.h"
#include "mwcc/analysis/analysis.h"
#include "mwcc/support/predicates.h"
#include "prepare.h"
#include "mwcc/support/checked_access.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 6 };

/* Called where blocks access each other's shared memory, at addresses that are computed as integers. */
#define CLUSTER_SIZE "llvm.nvvm.read.ptx.sreg.cluster.nctaid.x"

typedef struct checker {
  program *p;
  LLVMBuilderRef b;
  LLVMValueRef function;
  LLVMTypeRef type;
  LLVMValueRef event; /* __mw_check_event */
  LLVMTypeRef event_type;
} checker;

static LLVMValueRef plain(checker *c, LLVMValueRef pointer) {
  if (LLVMTypeOf(pointer) == c->p->pointer) return pointer;
  return LLVMBuildAddrSpaceCast(c->b, pointer, c->p->pointer, "");
}

static void call_check(checker *c, const accessed *o, LLVMValueRef address, LLVMValueRef bytes, uint32_t flags) {
  LLVMValueRef name = o->name ? LLVMBuildGlobalStringPtr(c->b, o->name, "") : LLVMConstNull(c->p->pointer);
  LLVMValueRef arguments[] = {plain(c, o->base),
                              plain(c, address),
                              LLVMBuildZExt(c->b, bytes, c->p->i64, ""),
                              constant_i64(c->p, o->size),
                              name,
                              constant_i32(c->p, flags),
                              constant_i32(c->p, o->param)};
  LLVMBuildCall2(c->b, c->type, c->function, arguments, MW_COUNT(arguments), "");
}

static bool is_called(const program *p, const char *name) {
  LLVMValueRef function = LLVMGetNamedFunction(p->module, name);
  return function && LLVMGetFirstUse(function);
}

static void add_check(checker *c, LLVMValueRef access, LLVMValueRef address, LLVMValueRef bytes, uint32_t flags) {
  accessed o, inner = {0};
  if (!find_accessed(c->p, address, &o)) return;
  if (is_made_from_integer(o.base)) {
    bool reads = !(flags & (MW_ACCESS_STORE | MW_ACCESS_ATOMIC));
    if (!(flags & MW_ACCESS_WATCHED) || (reads && !is_called(c->p, CLUSTER_SIZE))) return;
    LLVMPositionBuilderBefore(c->b, access);
    call_check(c, &o, address, bytes, flags | MW_ACCESS_UNBOUND);
    return;
  }
  bool has_inner = c->p->options->checks && find_inner_array(c->p, c->b, address, &inner);
  LLVMPositionBuilderBefore(c->b, access);
  if (has_inner) {
    inner.name = o.name;
    call_check(c, &inner, address, bytes, flags | MW_ACCESS_INNER);
  }
  if (is_screened(c->p) && c->p->options->checks & MW_CHECK_RACES && is_noted(c->p, access, &o))
    flags |= MW_ACCESS_SCREENED | (are_reads_noted(c->p, access, &o) ? MW_ACCESS_USED : 0);
  call_check(c, &o, address, bytes, flags);
}

/* ---- events of a checked run (--checks) ---- */

static uint32_t order_of(LLVMAtomicOrdering order) {
  switch (order) {
  case LLVMAtomicOrderingAcquire: return MW_ACCESS_ACQUIRE;
  case LLVMAtomicOrderingRelease: return MW_ACCESS_RELEASE;
  case LLVMAtomicOrderingAcquireRelease:
  case LLVMAtomicOrderingSequentiallyConsistent: return MW_ACCESS_ACQUIRE | MW_ACCESS_RELEASE;
  default: return 0;
  }
}

bool is_block_scope(LLVMValueRef i) {
  char *text = LLVMPrintValueToString(i);
  bool found = strstr(text, "syncscope(\"block\")") || strstr(text, "syncscope(\"workgroup\")");
  LLVMDisposeMessage(text);
  return found;
}

/* Whether the value is used other than to be moved: in conditions, addresses or arithmetic. Bits that are extracted and
   combined, as for bit-fields, are only moved, and so are arguments of the source's functions. */
static bool is_used(LLVMValueRef value, int steps) {
  for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    bool through = false;
    switch ((int)opcode_of(user)) {
    case LLVMStore:
      if (LLVMGetOperand(user, 1) == value) return true;
      break;
    case LLVMSelect:
      if (LLVMGetOperand(user, 0) == value) return true;
      through = true;
      break;
    case LLVMExtractElement:
    case LLVMInsertElement:
      if (LLVMGetOperand(user, (unsigned)LLVMGetNumOperands(user) - 1) == value) return true;
      through = true;
      break;
    case LLVMPHI:
    case LLVMBitCast:
    case LLVMFreeze:
    case LLVMExtractValue:
    case LLVMInsertValue:
    case LLVMShuffleVector:
    case LLVMTrunc:
    case LLVMZExt:
    case LLVMAnd:
    case LLVMOr:
    case LLVMShl:
    case LLVMLShr: through = true; break;
    case LLVMRet: break;
    case LLVMCall:
      if (starts_with(callee_name(user), "llvm.") && !starts_with(callee_name(user), "llvm.nvvm.shfl")) return true;
      break;
    default: return true;
    }
    if (through && steps && is_used(user, steps - 1)) return true;
  }
  return false;
}

static bool uses_value(LLVMValueRef i) {
  if (LLVMIsALoadInst(i)) return is_used(i, STEPS);
  if (LLVMIsAAtomicRMWInst(i)) return LLVMGetAtomicRMWBinOp(i) != LLVMAtomicRMWBinOpXchg;
  return LLVMIsAAtomicCmpXchgInst(i);
}

static uint32_t alignment_bits(unsigned alignment) {
  return (uint32_t)__builtin_ctz(alignment | 256) << MW_ACCESS_ALIGN_SHIFT;
}

/* The alignment that a copy's types guarantee. */
static uint32_t alignment_of_copy(LLVMValueRef call, bool is_store) {
  unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
  LLVMAttributeRef found = LLVMGetCallSiteEnumAttribute(call, is_store ? 1 : 2, kind);
  return found ? alignment_bits((unsigned)LLVMGetEnumAttributeValue(found)) : 0;
}

static uint32_t flags_of(checker *c, LLVMValueRef i, bool is_store) {
  uint32_t flags = is_store ? MW_ACCESS_STORE : 0;
  if (!c->p->options->checks) return flags;
  if (c->p->options->checks & MW_CHECK_RACES && !is_screened(c->p)) flags |= MW_ACCESS_WATCHED;
  if (LLVMIsACallInst(i)) return flags | alignment_of_copy(i, is_store);
  if (uses_value(i)) flags |= MW_ACCESS_USED;
  if (LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i)) {
    LLVMAtomicOrdering order = LLVMIsAAtomicRMWInst(i) ? LLVMGetOrdering(i) : LLVMGetCmpXchgSuccessOrdering(i);
    flags |= MW_ACCESS_UPDATE | MW_ACCESS_ATOMIC | order_of(order);
  } else if (LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic) {
    flags |= MW_ACCESS_ATOMIC | order_of(LLVMGetOrdering(i));
  }
  if (LLVMGetVolatile(i)) flags |= MW_ACCESS_VOLATILE;
  if (flags & MW_ACCESS_ATOMIC && is_block_scope(i)) flags |= MW_ACCESS_BLOCK;
  return flags | alignment_bits(LLVMGetAlignment(i));
}

static void add_event(checker *c, mw_check_event event, LLVMValueRef value) {
  LLVMValueRef arguments[] = {constant_i32(c->p, event), value};
  LLVMBuildCall2(c->b, c->event_type, c->event, arguments, MW_COUNT(arguments), "");
}

/* __threadfence_block is an acquire-release fence, wider ones are sequentially consistent:
   device/moonwarp/sync/sync.h. */
static void add_fence_event(checker *c, LLVMValueRef fence) {
  LLVMPositionBuilderBefore(c->b, fence);
  add_event(c, MW_CHECK_FENCE, constant_i64(c->p, LLVMGetOrdering(fence) != LLVMAtomicOrderingSequentiallyConsistent));
}

static void add_membar_event(checker *c, LLVMValueRef call, const char *name) {
  LLVMPositionBuilderBefore(c->b, call);
  add_event(c, MW_CHECK_FENCE, constant_i64(c->p, strcmp(name, "llvm.nvvm.membar.cta") == 0));
}

static void add_wait_event(checker *c, LLVMValueRef call) {
  LLVMPositionBuilderBefore(c->b, LLVMGetNextInstruction(call));
  add_event(c, MW_CHECK_WAITED, LLVMBuildPtrToInt(c->b, plain(c, LLVMGetOperand(call, 0)), c->p->i64, ""));
}

/* ---- accesses ---- */

static void check_typed(checker *c, LLVMValueRef access, unsigned operand, LLVMTypeRef type, bool is_store) {
  LLVMValueRef bytes = constant_i64(c->p, LLVMStoreSizeOfType(c->p->layout, type));
  add_check(c, access, LLVMGetOperand(access, operand), bytes, flags_of(c, access, is_store));
}

static void check_call(checker *c, LLVMValueRef call) {
  const char *name = callee_name(call);
  bool follows = c->p->follows;
  if (follows && starts_with(name, "llvm.nvvm.membar.")) add_membar_event(c, call, name);
  if (follows && strcmp(name, BLOCK_WAIT) == 0) add_wait_event(c, call);
  bool copies = starts_with(name, "llvm.memcpy.") || starts_with(name, "llvm.memmove.") ||
                strcmp(name, "memcpy") == 0 || strcmp(name, "memmove") == 0;
  if (!copies && !starts_with(name, "llvm.memset.") && strcmp(name, "memset") != 0) return;
  LLVMValueRef bytes = LLVMGetOperand(call, 2);
  add_check(c, call, LLVMGetOperand(call, 0), bytes, flags_of(c, call, true));
  if (copies) add_check(c, call, LLVMGetOperand(call, 1), bytes, flags_of(c, call, false));
}

static void check_access(checker *c, LLVMValueRef i) {
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMLoad: check_typed(c, i, 0, LLVMTypeOf(i), false); return;
  case LLVMStore: check_typed(c, i, 1, LLVMTypeOf(LLVMGetOperand(i, 0)), true); return;
  case LLVMAtomicRMW: check_typed(c, i, 0, LLVMTypeOf(i), true); return;
  case LLVMAtomicCmpXchg: check_typed(c, i, 0, LLVMTypeOf(LLVMGetOperand(i, 1)), true); return;
  case LLVMCall: check_call(c, i); return;
  case LLVMFence:
    if (c->p->follows) add_fence_event(c, i);
    return;
  default: return;
  }
}

/* LLVM would merge two barriers in the branches of a condition if the code after them is the same. */
static void keep_waits(program *p) {
  EACH_FUNCTION(p, f) {
    instructions list = instructions_of_function(f);
    for (size_t i = 0; i < list.count; i++) {
      LLVMValueRef call = list.items[i];
      if (LLVMIsACallInst(call) && (starts_with(callee_name(call), "llvm.nvvm.bar") || is_warp_call(callee_name(call))))
        add_call_attribute(p, call, "nomerge");
    }
    free(list.items);
  }
}

/* For code that does not follow threads: drops all events but those of values. */
static void drop_events(program *p) {
  LLVMValueRef function = LLVMGetNamedFunction(p->module, CHECK_EVENT_FUNCTION);
  if (!function) return;
  for (LLVMUseRef use = LLVMGetFirstUse(function), next; use; use = next) {
    next = LLVMGetNextUse(use);
    if (!is_event_of_values(LLVMGetUser(use))) LLVMInstructionEraseFromParent(LLVMGetUser(use));
  }
  if (!LLVMGetFirstUse(function)) LLVMDeleteFunction(function);
}

/* To LLVM a use after free is undefined, and it deletes both. */
static void keep_memory_calls(program *p, const char *name) {
  LLVMValueRef function = LLVMGetNamedFunction(p->module, name);
  for (LLVMUseRef use = function ? LLVMGetFirstUse(function) : NULL; use; use = LLVMGetNextUse(use)) {
    LLVMValueRef call = LLVMGetUser(use);
    if (LLVMIsACallInst(call)) add_call_attribute(p, call, "nobuiltin");
  }
}

void keep_calls(program *p) {
  unsigned checks = p->options->checks;
  /* memory from malloc is identified by the thread that allocated it */
  p->follows = !is_screened(p) && (checks & (MW_CHECK_RACES | MW_CHECK_BARRIERS) ||
                                   (checks && (is_called(p, "malloc") || is_called(p, "free"))));
  if (!p->follows && !is_screened(p)) drop_events(p);
  if (p->follows || is_screened(p)) keep_waits(p);
  if (!checks) return;
  keep_memory_calls(p, "malloc");
  keep_memory_calls(p, "free");
}

static checker open_checker(program *p) {
  LLVMTypeRef params[] = {p->pointer, p->pointer, p->i64, p->i64, p->pointer, p->i32, p->i32};
  checker c = {.p = p, .b = LLVMCreateBuilderInContext(p->context)};
  c.type = LLVMFunctionType(p->void_type, params, MW_COUNT(params), 0);
  c.function = LLVMGetNamedFunction(p->module, CHECK_ACCESS_FUNCTION);
  if (!c.function) c.function = LLVMAddFunction(p->module, CHECK_ACCESS_FUNCTION, c.type);
  LLVMTypeRef event_params[] = {p->i32, p->i64};
  c.event_type = LLVMFunctionType(p->void_type, event_params, MW_COUNT(event_params), 0);
  c.event = LLVMGetNamedFunction(p->module, CHECK_EVENT_FUNCTION);
  if (!c.event) c.event = LLVMAddFunction(p->module, CHECK_EVENT_FUNCTION, c.event_type);
  return c;
}

static void each_access(checker *c, void (*check)(checker *c, LLVMValueRef i)) {
  EACH_FUNCTION(c->p, f) {
    instructions list = instructions_of_function(f);
    for (size_t i = 0; i < list.count; i++) check(c, list.items[i]);
    free(list.items);
  }
  LLVMDisposeBuilder(c->b);
  verify_module(c->p, "bounds checks");
}

static void check_member(checker *c, LLVMValueRef i) {
  bool loads = LLVMIsALoadInst(i), stores = LLVMIsAStoreInst(i), updates = LLVMIsAAtomicRMWInst(i);
  if (!loads && !stores && !updates) return;
  LLVMValueRef address = LLVMGetOperand(i, stores ? 1 : 0);
  LLVMTypeRef type = LLVMTypeOf(stores ? LLVMGetOperand(i, 0) : i);
  accessed o, inner = {0};
  LLVMPositionBuilderBefore(c->b, i);
  if (!find_left_array(c->p, c->b, address, &inner)) return;
  if (find_accessed(c->p, address, &o)) inner.name = o.name;
  LLVMSetCurrentDebugLocation2(c->b, LLVMInstructionGetDebugLoc(i));
  LLVMValueRef bytes = constant_i64(c->p, LLVMStoreSizeOfType(c->p->layout, type));
  call_check(c, &inner, address, bytes, flags_of(c, i, !loads) | MW_ACCESS_INNER);
}

void check_members(program *p) {
  if (!p->options->check_memory || !p->options->checks) return;
  run_passes(p, "function(sroa<modify-cfg>)"); /* indices are values, of which nothing is computed yet */
  checker c = open_checker(p);
  each_access(&c, check_member);
}

void check_memory(program *p) {
  if (!p->options->check_memory) return;
  if (is_screened(p)) choose_screened(p), drop_events(p);
  checker c = open_checker(p);
  each_access(&c, check_access);
}
