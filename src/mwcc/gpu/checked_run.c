/* Calls that report to a checked run on a GPU (mwcc --target=nvptx --checks) each access to global or shared memory,
 * barriers, warp functions, fences, malloc and free. The functions are in moonwarp/checked_run/calls.h.
 *
 * A call names its place by a number, a site; the sites' lines, files and arrays are facts of the module (metadata.c).
 * Barriers are replaced by the functions' own, which detect divergence instead of waiting forever; warp functions get
 * the mask of the lanes that call them. Runs after the bounds checks, on inlined code. */
#include "follower.h"
#include "instrument.h"
#include "device/moonwarp/checked_run/layout.h"
#include "mwcc/prepare/prepare.h"
#include "mwcc/support/checked_access.h"
#include "mwcc/support/predicates.h"
#include "mwcc/read/read.h"

#include <stdlib.h>
#include <string.h>

/* ---- sites ---- */

LLVMValueRef follow_site(follower *f, LLVMValueRef i, const char *name, uint64_t bytes) {
  return constant_i32(f->p, add_followed_site(f->p, i, name, bytes));
}

LLVMValueRef follow_call_guard(follower *f, const char *name, LLVMValueRef *arguments, unsigned count) {
  LLVMValueRef function = guard_function(f->p, name);
  return LLVMBuildCall2(f->b, LLVMGlobalGetValueType(function), function, arguments, count, "");
}

LLVMValueRef generic_pointer(follower *f, LLVMValueRef pointer) {
  if (LLVMTypeOf(pointer) == f->p->pointer) return pointer;
  return LLVMBuildAddrSpaceCast(f->b, pointer, f->p->pointer, "");
}

void position_after(follower *f, LLVMValueRef i) { LLVMPositionBuilderBefore(f->b, LLVMGetNextInstruction(i)); }

/* ---- accesses ---- */

/* Whether a loaded value is used for more than being copied. */
static bool is_used(LLVMValueRef value, int depth) {
  for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    LLVMOpcode opcode = opcode_of(user);
    if (opcode == LLVMStore && LLVMGetOperand(user, 0) == value) continue;
    bool passes = opcode == LLVMPHI || opcode == LLVMSelect || opcode == LLVMBitCast || opcode == LLVMTrunc ||
                  opcode == LLVMExtractElement || opcode == LLVMInsertElement || opcode == LLVMFreeze ||
                  opcode == LLVMExtractValue || opcode == LLVMZExt || opcode == LLVMSExt || opcode == LLVMShl ||
                  opcode == LLVMOr || opcode == LLVMLShr || opcode == LLVMAnd;
    if (!passes || depth == 0) return true;
    if (opcode == LLVMSelect && LLVMGetOperand(user, 0) == value) return true;
    if (is_used(user, depth - 1)) return true;
  }
  return false;
}

static unsigned order_flags(LLVMAtomicOrdering order) {
  bool both = order == LLVMAtomicOrderingAcquireRelease || order == LLVMAtomicOrderingSequentiallyConsistent;
  return (both || order == LLVMAtomicOrderingAcquire ? MW_FOLLOW_ACQUIRE : 0) |
         (both || order == LLVMAtomicOrderingRelease ? MW_FOLLOW_RELEASE : 0);
}

static unsigned inline_flags(LLVMValueRef call) {
  size_t length;
  const char *text = LLVMGetInlineAsmAsmString(LLVMGetCalledValue(call), &length);
  unsigned flags = strstr(text, "atom.") || strstr(text, "red.") ? MW_FOLLOW_ATOMIC | MW_FOLLOW_STORE : 0;
  if (strstr(text, ".cta.")) flags |= MW_FOLLOW_BLOCK;
  if (strstr(text, ".volatile") || strstr(text, ".relaxed")) flags |= MW_FOLLOW_VOLATILE;
  if (strstr(text, ".acquire") || strstr(text, ".acq_rel")) flags |= MW_FOLLOW_ACQUIRE | MW_FOLLOW_VOLATILE;
  if (strstr(text, ".release") || strstr(text, ".acq_rel")) flags |= MW_FOLLOW_RELEASE | MW_FOLLOW_VOLATILE;
  return flags;
}

static unsigned flags_of(LLVMValueRef i, const gpu_access *a) {
  unsigned flags = a->is_store ? MW_FOLLOW_STORE : 0;
  enum { DEEP = 4 };
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMLoad:
    if (LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic)
      flags |= MW_FOLLOW_VOLATILE | order_flags(LLVMGetOrdering(i));
    if (LLVMGetVolatile(i)) flags |= MW_FOLLOW_VOLATILE;
    return is_used(i, DEEP) ? flags | MW_FOLLOW_USED : flags;
  case LLVMStore:
    if (LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic)
      flags |= MW_FOLLOW_VOLATILE | order_flags(LLVMGetOrdering(i));
    return LLVMGetVolatile(i) ? flags | MW_FOLLOW_VOLATILE : flags;
  case LLVMAtomicRMW:
    return flags | MW_FOLLOW_ATOMIC | order_flags(LLVMGetOrdering(i)) | (is_block_scope(i) ? MW_FOLLOW_BLOCK : 0);
  case LLVMAtomicCmpXchg:
    flags |= is_block_scope(i) ? MW_FOLLOW_BLOCK : 0;
    return flags | MW_FOLLOW_ATOMIC | order_flags(LLVMGetCmpXchgSuccessOrdering(i));
  case LLVMCall:
    if (LLVMIsAInlineAsm(LLVMGetCalledValue(i))) return flags | inline_flags(i);
    if (starts_with(callee_name(i), "llvm.nvvm.atomic.")) return flags | MW_FOLLOW_ATOMIC;
    return flags;
  default: return flags;
  }
}

/* The order in the source; LLVM's is the strongest. (checked_events.h: 4, for the block; 8, an order << 4) */
static unsigned reported_flags(follower *f, unsigned flags) {
  enum { BLOCK = 4, HAS_ORDER = 8, RELAXED = 0, ACQUIRE = 2, RELEASE = 3 };
  if (!f->has_order || !(flags & (MW_FOLLOW_ATOMIC | MW_FOLLOW_VOLATILE))) return flags;
  unsigned order = f->order >> 4;
  f->has_order = false;
  if (f->order & BLOCK) flags |= MW_FOLLOW_BLOCK;
  if (!(f->order & HAS_ORDER)) return flags;
  flags &= ~(unsigned)(MW_FOLLOW_ACQUIRE | MW_FOLLOW_RELEASE);
  if (order == RELAXED || order == RELEASE) flags |= MW_FOLLOW_RELAXED;
  if (order >= RELEASE) flags |= MW_FOLLOW_RELEASE;
  return order == RELEASE || order == RELAXED ? flags : flags | MW_FOLLOW_ACQUIRE;
}

static bool is_exchange(LLVMValueRef i) {
  return LLVMGetInstructionOpcode(i) == LLVMAtomicRMW && LLVMGetAtomicRMWBinOp(i) == LLVMAtomicRMWBinOpXchg;
}

/* Where the memory is, as far as it is known. */
static unsigned place_flags(const follower *f, LLVMValueRef base) {
  enum { GLOBAL = 1, SHARED = 3 };
  unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(base));
  bool is_parameter = false;
  for (size_t n = 0; n < f->p->kernel_count && LLVMIsAArgument(base); n++)
    is_parameter |= f->p->kernels[n].body == LLVMGetParamParent(base);
  return space == SHARED ? MW_FOLLOW_IN_SHARED : space == GLOBAL || is_parameter ? MW_FOLLOW_IN_GLOBAL : 0;
}

/* Whether calls of prepare/values follow which bytes are written. */
static bool is_shadowed(const follower *f, LLVMValueRef i) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
  bool known = opcode == LLVMLoad || opcode == LLVMStore || opcode == LLVMAtomicRMW || opcode == LLVMAtomicCmpXchg;
  return f->uses & MW_FOLLOW_INITIALISATION && (known || LLVMIsAMemIntrinsic(i));
}

static void follow_access(follower *f, LLVMValueRef i, const gpu_access *a) {
  accessed o;
  unsigned flags = reported_flags(f, flags_of(i, a)) | (f->has_copies ? MW_FOLLOW_COPIES : 0);
  if (!(f->uses & (MW_FOLLOW_RACES | MW_FOLLOW_INITIALISATION))) return;
  if (!find_accessed(f->p, a->address, &o) || LLVMIsAAllocaInst(o.base)) return;
  LLVMTypeRef type = LLVMTypeOf(o.base);
  enum { CONSTANT = 4, WORD = 4 };
  if (LLVMGetPointerAddressSpace(type) == CONSTANT) return;
  if (flags & MW_FOLLOW_ATOMIC && !is_exchange(i)) flags |= MW_FOLLOW_USED;
  if (is_shadowed(f, i)) flags = (flags & ~(unsigned)MW_FOLLOW_USED) | MW_FOLLOW_SHADOWED;
  if (flags & MW_FOLLOW_SHADOWED && !(f->uses & MW_FOLLOW_RACES)) return;
  if (!(f->uses & MW_FOLLOW_RACES) && !(flags & (MW_FOLLOW_USED | MW_FOLLOW_STORE))) return;
  flags |= place_flags(f, o.base);
  uint64_t bytes = LLVMIsAConstantInt(a->bytes) ? LLVMConstIntGetZExtValue(a->bytes) : 1;
  if (bytes < WORD && !(flags & MW_FOLLOW_IN_GLOBAL) && f->uses & MW_FOLLOW_RACES) f->uses |= MW_FOLLOW_BYTES;
  LLVMPositionBuilderBefore(f->b, i);
  LLVMValueRef site = follow_site(f, i, o.name, bytes), address = generic_pointer(f, a->address);
  int parameter = follow_parameter(f->p, o.base);
  LLVMValueRef arguments[] = {address,
                              LLVMBuildZExt(f->b, a->bytes, f->p->i64, ""),
                              generic_pointer(f, o.base),
                              site,
                              constant_i32(f->p, flags),
                              NULL};
  if (f->read_only && parameter >= 0 && !(flags & (MW_FOLLOW_STORE | MW_FOLLOW_VOLATILE | MW_FOLLOW_COPIES))) {
    arguments[5] = LLVMBuildAnd(f->b, f->read_only, constant_i32(f->p, 1u << parameter), "");
    follow_call_guard(f, "__mw_guard_follow_read", arguments, 6);
    return;
  }
  follow_call_guard(f, "__mw_guard_follow", arguments, 5);
  bool acquires = flags & MW_FOLLOW_ATOMIC || (flags & MW_FOLLOW_VOLATILE && !(flags & MW_FOLLOW_STORE));
  if (!acquires || !(f->uses & MW_FOLLOW_RACES)) return;
  position_after(f, i);
  follow_call_guard(f, "__mw_guard_follow_after", (LLVMValueRef[]){address, constant_i32(f->p, flags)}, 2);
}

/* Before an access outside of all arrays is refused: whether a block of malloc has it. */
void follow_outside(program *p, LLVMBuilderRef b, LLVMValueRef i, const gpu_access *a, const accessed *o) {
  if (!(p->options->checks & MW_CHECK_MEMORY)) return;
  follower f = {.p = p, .b = b};
  uint64_t bytes = LLVMIsAConstantInt(a->bytes) ? LLVMConstIntGetZExtValue(a->bytes) : 1;
  LLVMValueRef arguments[] = {generic_pointer(&f, a->address), LLVMBuildZExt(b, a->bytes, p->i64, ""),
                              generic_pointer(&f, o->base), follow_site(&f, i, o->name, bytes),
                              constant_i32(p, flags_of(i, a))};
  follow_call_guard(&f, "__mw_guard_follow_outside", arguments, MW_COUNT(arguments));
}

/* ---- barriers, warp functions ---- */

static void replace(follower *f, LLVMValueRef i, LLVMValueRef by) {
  (void)f;
  if (LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMVoidTypeKind) LLVMReplaceAllUsesWith(i, by);
  LLVMInstructionEraseFromParent(i);
}

bool follows_order(const follower *f) { return f->uses & (MW_FOLLOW_RACES | MW_FOLLOW_BARRIERS); }

void follow_barrier(follower *f, LLVMValueRef i) {
  LLVMPositionBuilderBefore(f->b, i);
  LLVMValueRef site = follow_site(f, i, NULL, 0);
  replace(f, i, follow_call_guard(f, "__mw_guard_follow_barrier", &site, 1));
}

static void follow_counting(follower *f, LLVMValueRef i, unsigned what) {
  LLVMPositionBuilderBefore(f->b, i);
  LLVMValueRef arguments[] = {LLVMGetOperand(i, 0), constant_i32(f->p, what), follow_site(f, i, NULL, 0)};
  replace(f, i, follow_call_guard(f, "__mw_guard_follow_vote", arguments, MW_COUNT(arguments)));
}

static void follow_warp(follower *f, LLVMValueRef i) {
  LLVMPositionBuilderBefore(f->b, i);
  LLVMValueRef arguments[] = {LLVMGetOperand(i, 0), follow_site(f, i, NULL, 0)};
  f->uses |= MW_FOLLOW_WARPS;
  replace(f, i, follow_call_guard(f, "__mw_guard_follow_warp", arguments, MW_COUNT(arguments)));
}

/* shfl.sync.MODE(mask, value, lane, clamp) */
static void follow_shuffle(follower *f, LLVMValueRef i, const char *mode) {
  static const char *const modes[] = {"idx", "up", "down", "bfly"};
  unsigned which = 0;
  while (which < 3 && !starts_with(mode, modes[which])) which++;
  LLVMPositionBuilderBefore(f->b, i);
  LLVMValueRef arguments[] = {LLVMGetOperand(i, 0), LLVMGetOperand(i, 2), LLVMGetOperand(i, 3),
                              constant_i32(f->p, which), follow_site(f, i, NULL, 0)};
  f->uses |= MW_FOLLOW_WARPS;
  LLVMSetOperand(i, 0, follow_call_guard(f, "__mw_guard_follow_shuffle", arguments, MW_COUNT(arguments)));
}

static void follow_mask(follower *f, LLVMValueRef i, unsigned operand) {
  LLVMPositionBuilderBefore(f->b, i);
  LLVMValueRef arguments[] = {LLVMGetOperand(i, operand), follow_site(f, i, NULL, 0)};
  f->uses |= MW_FOLLOW_WARPS;
  LLVMSetOperand(i, operand, follow_call_guard(f, "__mw_guard_follow_mask", arguments, MW_COUNT(arguments)));
}

static void follow_fence(follower *f, LLVMValueRef i, unsigned scope) {
  if (!(f->uses & MW_FOLLOW_RACES)) return;
  LLVMPositionBuilderBefore(f->b, i);
  LLVMValueRef argument = constant_i32(f->p, scope);
  follow_call_guard(f, "__mw_guard_follow_fence", &argument, 1);
}

void follow_unknown(follower *f, LLVMValueRef i, unsigned what) {
  LLVMPositionBuilderBefore(f->b, i);
  LLVMValueRef argument = constant_i32(f->p, what);
  follow_call_guard(f, "__mw_guard_follow_unknown", &argument, 1);
}

static void follow_inline(follower *f, LLVMValueRef i) {
  size_t length;
  const char *text = LLVMGetInlineAsmAsmString(LLVMGetCalledValue(i), &length);
  follow_stores(f, i, text);
  if (strstr(text, "barrier.red.") && !follows_order(f)) return;
  if (strstr(text, "barrier.red.popc.aligned"))
    follow_counting(f, i, MW_FOLLOW_COUNT);
  else if (strstr(text, "barrier.red.and.aligned"))
    follow_counting(f, i, MW_FOLLOW_AND);
  else if (strstr(text, "barrier.red.or.aligned"))
    follow_counting(f, i, MW_FOLLOW_OR);
  else if (strstr(text, "membar.cta"))
    follow_fence(f, i, 1);
  else if (strstr(text, "membar.") || starts_with(text, "fence.acq_rel") || starts_with(text, "fence.sc"))
    follow_fence(f, i, 0);
  else if (strstr(text, "mbarrier.init"))
    follow_word(f, i, false, MW_FOLLOW_STORE);
  else if (strstr(text, "mbarrier.arrive"))
    follow_word(f, i, true, MW_FOLLOW_STORE | MW_FOLLOW_ATOMIC);
  else if (strstr(text, "mbarrier.test_wait") || strstr(text, "mbarrier.try_wait"))
    follow_word(f, i, false, MW_FOLLOW_ATOMIC);
  else if (strstr(text, "barrier.cluster") || strstr(text, "mapa."))
    follow_unknown(f, i, MW_FOLLOW_CLUSTERS);
  else if (strstr(text, "cp.async.") && follow_copies(f, i, text))
    return;
  else if (strstr(text, "cp.async") || strstr(text, "cp.reduce"))
    follow_unknown(f, i, MW_FOLLOW_BULK);
  else if (strstr(text, "bar.") || strstr(text, "barrier."))
    follow_named(f, i, text);
}

/* The operand with the lanes' mask of a warp function; -1: it is none. */
static int mask_operand(const char *name) {
  if (starts_with(name, "vote.") && strstr(name, ".sync")) return 0;
  if (starts_with(name, "match.")) return 0;
  return starts_with(name, "redux.sync.") ? 1 : -1;
}

/* A report of the headers. Of an order that is not constant nothing is known, and the strongest is assumed. */
static void follow_event(follower *f, LLVMValueRef i) {
  LLVMValueRef report = LLVMGetOperand(i, 0), value = LLVMGetOperand(i, 1);
  LLVMPositionBuilderBefore(f->b, i);
  if (LLVMIsAConstantInt(report) && LLVMConstIntGetZExtValue(report) == MW_FOLLOW_ORDER) {
    f->has_order = LLVMIsAConstantInt(value) != NULL;
    f->order = f->has_order ? (unsigned)LLVMConstIntGetZExtValue(value) : 0;
  } else if (f->uses & MW_FOLLOW_RACES) {
    follow_call_guard(f, "__mw_guard_follow_event", (LLVMValueRef[]){report, value}, 2);
  }
  LLVMInstructionEraseFromParent(i);
}

static void follow_call(follower *f, LLVMValueRef i) {
  const char *name = callee_name(i);
  if (strcmp(name, CHECK_EVENT_FUNCTION) == 0) {
    follow_event(f, i);
    return;
  }
  bool barriers = f->p->options->checks & MW_CHECK_BARRIERS;
  if (LLVMIsAInlineAsm(LLVMGetCalledValue(i))) {
    follow_inline(f, i);
  } else if (strstr(name, "__mw_grid_wait")) {
    LLVMPositionBuilderBefore(f->b, i);
    if (!follows_order(f)) return;
    LLVMValueRef site = follow_site(f, i, NULL, 0);
    f->uses |= MW_FOLLOW_ARRIVALS;
    follow_call_guard(f, "__mw_guard_follow_grid_wait", &site, 1);
    position_after(f, i);
    follow_call_guard(f, "__mw_guard_follow_grid", NULL, 0);
  } else if (strcmp(name, "malloc") == 0) {
    position_after(f, i);
    LLVMValueRef bytes = LLVMBuildZExt(f->b, LLVMGetOperand(i, 0), f->p->i64, "");
    follow_call_guard(f, "__mw_guard_follow_given", (LLVMValueRef[]){i, bytes, follow_site(f, i, NULL, 0)}, 3);
  } else if (strcmp(name, "free") == 0) {
    LLVMPositionBuilderBefore(f->b, i);
    replace(f, i,
            follow_call_guard(f, "__mw_guard_follow_free",
                              (LLVMValueRef[]){LLVMGetOperand(i, 0), follow_site(f, i, NULL, 0)}, 2));
  } else if (starts_with(name, "llvm.nvvm.")) {
    const char *what = name + strlen("llvm.nvvm.");
    bool is_barrier = strcmp(what, "barrier0") == 0, is_warp_barrier = strcmp(what, "bar.warp.sync") == 0;
    if ((is_barrier || is_warp_barrier) && !follows_order(f)) return;
    if (is_barrier)
      follow_barrier(f, i);
    else if (is_warp_barrier)
      follow_warp(f, i);
    else if (starts_with(what, "shfl.sync.") && barriers)
      follow_shuffle(f, i, what + strlen("shfl.sync."));
    else if (mask_operand(what) >= 0 && barriers)
      follow_mask(f, i, (unsigned)mask_operand(what));
    else if (starts_with(what, "membar."))
      follow_fence(f, i, strstr(what, "cta") != NULL);
    else if (starts_with(what, "barrier") || starts_with(what, "bar."))
      follow_unknown(f, i, MW_FOLLOW_NAMED);
  }
}

/* ---- functions ---- */

static void follow_instruction(follower *f, LLVMValueRef i) {
  gpu_access accesses[2];
  int count = find_gpu_accesses(f->p, i, accesses);
  for (int k = 0; k < count; k++) follow_access(f, i, &accesses[k]);
  if (count) return;
  if (LLVMIsACallInst(i))
    follow_call(f, i);
  else if (LLVMGetInstructionOpcode(i) == LLVMFence)
    follow_fence(f, i, LLVMIsAtomicSingleThread(i));
}

/* The body of the function by which the functions of checked runs know what they are to follow. */
static void define_uses(follower *f) {
  LLVMValueRef function = guard_function(f->p, "__mw_guard_follow_uses");
  LLVMPositionBuilderAtEnd(f->b, LLVMAppendBasicBlockInContext(f->p->context, function, ""));
  LLVMBuildRet(f->b, constant_i32(f->p, f->uses));
  LLVMSetLinkage(function, LLVMInternalLinkage);
}

/* The bits of a kernel's parameters to whose arrays it does not write, and no other kernel at the same time. */
static void find_read_only(follower *f, LLVMValueRef function) {
  const program *p = f->p;
  f->read_only = NULL;
  for (size_t n = 0; n < p->kernel_count && f->uses & MW_FOLLOW_RACES; n++) {
    if (p->kernels[n].body != function || p->kernels[n].written_params == UINT32_MAX) continue;
    guard_position_at_entry(f->b, function);
    f->read_only = follow_call_guard(f, "__mw_guard_follow_read_only", NULL, 0);
  }
}

static void follow_function(follower *f, LLVMValueRef function) {
  instructions list = instructions_of_function(function);
  find_read_only(f, function);
  for (size_t n = 0; n < list.count; n++) follow_instruction(f, list.items[n]);
  free(list.items);
}

/* The launch's address is a kernel's last parameter. */
static void frame_kernel(follower *f, LLVMValueRef body) {
  instructions list = instructions_of_function(body);
  for (size_t n = 0; n < list.count; n++) {
    if (LLVMGetInstructionOpcode(list.items[n]) != LLVMRet) continue;
    LLVMPositionBuilderBefore(f->b, list.items[n]);
    follow_call_guard(f, "__mw_guard_follow_end", NULL, 0);
  }
  free(list.items);
  LLVMValueRef launch = LLVMGetLastParam(body);
  guard_position_at_entry(f->b, body);
  follow_call_guard(f, "__mw_guard_follow_begin", &launch, 1);
}

static bool is_async_copy(LLVMValueRef i) {
  if (!LLVMIsACallInst(i) || !LLVMIsAInlineAsm(LLVMGetCalledValue(i))) return false;
  size_t length;
  return strstr(LLVMGetInlineAsmAsmString(LLVMGetCalledValue(i), &length), "cp.async.c") != NULL;
}

static bool reports_copies(program *p) {
  EACH_FUNCTION(p, function) {
    instructions list = instructions_of_function(function);
    bool found = false;
    for (size_t n = 0; n < list.count; n++) found |= is_async_copy(list.items[n]);
    free(list.items);
    if (found) return true;
  }
  LLVMValueRef function = LLVMGetNamedFunction(p->module, CHECK_EVENT_FUNCTION);
  for (LLVMUseRef use = function ? LLVMGetFirstUse(function) : NULL; use; use = LLVMGetNextUse(use)) {
    LLVMValueRef report = LLVMGetOperand(LLVMGetUser(use), 0);
    if (LLVMIsAConstantInt(report) && LLVMConstIntGetZExtValue(report) == MW_FOLLOW_ASYNC) return true;
  }
  return false;
}

void follow_kernels(program *p) {
  follower f = {.p = p,
                .b = LLVMCreateBuilderInContext(p->context),
                .uses = p->options->checks & MW_FOLLOW_KINDS,
                .has_copies = reports_copies(p)};
  find_read_parameters(p);
  EACH_FUNCTION(p, function) {
    if (!LLVMIsDeclaration(function) && !guard_is_ours(function)) follow_function(&f, function);
  }
  for (size_t i = 0; i < p->kernel_count && p->followed_site_count; i++) frame_kernel(&f, p->kernels[i].body);
  define_uses(&f);
  p->follow_uses = f.uses;
  LLVMDisposeBuilder(f.b);
}
