/* Software fault isolation (Wahbe et al. 1993) for stores: a kernel cannot write outside of the device's memory.
 *
 *   *p = x   ->   safe = (uintptr_t)p - base < size ? p : base; *safe = x      (a select, not a branch)
 *
 * Device memory, the stacks and the blocks' shared memory are in one reserved address range, [base, base + size), with
 * inaccessible margins of 2^reach bytes on both sides (--reach; src/cpu/memory/heap.c). The range's first bytes are
 * never accessible either, so that a store to `base` faults and is reported.
 *
 * A store needs no test if its address is a trusted pointer (a kernel parameter, a variable, shared memory, the stack)
 * plus an offset whose magnitude is provably less than 2^reach: the store then hits the range or a margin. A kernel
 * parameter may also be null; offsets from it have to be less than 2^null_reach, below which the host maps nothing.
 * Loads are not sandboxed: a wild load can only fault or read.
 *
 * It runs after inlining and promotion to registers. */
#include "mwcc/mwcc.h"
#include "mwcc/support/predicates.h"
#include "mwcc/analysis/analysis.h"
#include "mwcc/support/checked_access.h"
#include "entry.h"

#include <stdlib.h>
#include <string.h>

enum {
  DEPTH = 12,
  NEVER_MAPPED = 16 /* log2 of the lowest addresses that systems never map */,
  NEAR = MW_NOWHERE_BYTES / 2
};

/* The least n for which the value, as a signed number, is known to lie within [-2^n, 2^n]; its width if unknown. */
static unsigned magnitude(LLVMValueRef value, int depth);

/* The scalar of a broadcast, or NULL. That the shuffle's operand is an inserted element is not enough: instcombine
   makes such shuffles of selects with constant conditions, as `t == 0` is if a block is one gang. So all mask elements
   are tested. */
static LLVMValueRef broadcast_of(LLVMValueRef shuffle) {
  LLVMValueRef from = LLVMGetOperand(shuffle, 0), at = LLVMIsAInsertElementInst(from) ? LLVMGetOperand(from, 2) : NULL;
  if (!at || !LLVMIsAConstantInt(at) || LLVMConstIntGetZExtValue(at)) return NULL;
  for (unsigned i = 0; i < LLVMGetNumMaskElements(shuffle); i++) {
    int lane = LLVMGetMaskValue(shuffle, i);
    if (lane && lane != LLVMGetUndefMaskElem()) return NULL;
  }
  return LLVMGetOperand(from, 1);
}

/* The largest magnitude of all lanes, for constants and broadcasts. */
static unsigned vector_magnitude(LLVMValueRef value, int depth) {
  unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(value)), width = LLVMGetIntTypeWidth(element_type(LLVMTypeOf(value))),
           most = 0;
  if (LLVMIsAShuffleVectorInst(value)) {
    LLVMValueRef one = broadcast_of(value);
    return one ? magnitude(one, depth - 1) : width;
  }
  for (unsigned i = 0; i < lanes; i++) {
    LLVMValueRef lane = LLVMGetAggregateElement(value, i);
    if (lane && LLVMIsPoison(lane)) continue; /* an inactive lane's, or the address is poison already */
    if (!lane || !LLVMIsAConstantInt(lane)) return width;
    unsigned bits = magnitude(lane, 0);
    if (bits > most) most = bits;
  }
  return most;
}

/* The non-negative constant operand of an `and`, or NULL. */
static LLVMValueRef mask_of(LLVMValueRef value) {
  for (unsigned i = 0; LLVMIsABinaryOperator(value) && LLVMGetInstructionOpcode(value) == LLVMAnd && i < 2; i++) {
    LLVMValueRef mask = LLVMGetOperand(value, i);
    if (LLVMIsAConstantInt(mask) && LLVMConstIntGetSExtValue(mask) >= 0) return mask;
  }
  return NULL;
}

static unsigned magnitude(LLVMValueRef value, int depth) {
  LLVMTypeRef type = LLVMTypeOf(value);
  unsigned width = LLVMGetIntTypeWidth(element_type(type)), a, b;
  if (is_vector_type(type) && (LLVMIsAConstant(value) || LLVMIsAShuffleVectorInst(value)))
    return depth ? vector_magnitude(value, depth) : width;
  if (LLVMIsAConstantInt(value)) {
    int64_t number = LLVMConstIntGetSExtValue(value);
    unsigned bits = 0;
    for (uint64_t m = number < 0 ? (uint64_t)-number : (uint64_t)number; m; m >>= 1) bits++;
    return bits;
  }
  if (!LLVMIsAInstruction(value) || depth == 0) return width;
  switch (LLVMGetInstructionOpcode(value)) {
  case LLVMSExt:
  case LLVMZExt:
  case LLVMTrunc:
    a = magnitude(LLVMGetOperand(value, 0), depth - 1);
    b = LLVMGetIntTypeWidth(element_type(LLVMTypeOf(LLVMGetOperand(value, 0))));
    if (LLVMGetInstructionOpcode(value) == LLVMTrunc) return a < width ? a : width;
    /* a negative number, zero-extended, is large; sign-extended, it has one bit less than its type */
    if (LLVMGetInstructionOpcode(value) == LLVMZExt) return mask_of(LLVMGetOperand(value, 0)) ? a : b;
    return a < b ? a : b - 1;
  case LLVMAdd:
  case LLVMSub:
  case LLVMOr:
  case LLVMXor:
    a = magnitude(LLVMGetOperand(value, 0), depth - 1), b = magnitude(LLVMGetOperand(value, 1), depth - 1);
    a = (a > b ? a : b) + 1;
    return a < width ? a : width;
  case LLVMMul:
    a = magnitude(LLVMGetOperand(value, 0), depth - 1) + magnitude(LLVMGetOperand(value, 1), depth - 1);
    return a < width ? a : width;
  case LLVMShl:
    if (!LLVMIsAConstantInt(LLVMGetOperand(value, 1))) return width;
    a = magnitude(LLVMGetOperand(value, 0), depth - 1) + (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(value, 1));
    return a < width ? a : width;
  case LLVMAnd: return mask_of(value) ? magnitude(mask_of(value), 0) : width;
  case LLVMSelect:
    a = magnitude(LLVMGetOperand(value, 1), depth - 1), b = magnitude(LLVMGetOperand(value, 2), depth - 1);
    return a > b ? a : b;
  default: return width;
  }
}

static unsigned bits_of(uint64_t value) {
  unsigned bits = 0;
  for (; value; value >>= 1) bits++;
  return bits;
}

typedef struct sandbox {
  program *p;
  LLVMBuilderRef b;
  LLVMValueRef function;
  bool entry; /* an entry function, whose first parameter is the frame; otherwise it is the thread */
  LLVMValueRef base, size, shadow; /* shadow: the distance to the shadow of the range, or NULL */
  /* The address that was sandboxed last, the result, and the block. */
  LLVMValueRef tested, sandboxed;
  LLVMBasicBlockRef block;
} sandbox;

static bool is_thread(const program *p, LLVMValueRef place) {
  return LLVMIsAAllocaInst(place) && LLVMGetMetadata(place, thread_mark(p));
}

static bool is_within(uint64_t far, unsigned bits) { return far == 0 || far < (uint64_t)1 << bits; }

/* The base of the address that a pointer is loaded from. */
static LLVMValueRef source_of(LLVMValueRef load) {
  LLVMValueRef from = LLVMGetOperand(load, 0);
  return LLVMIsAGetElementPtrInst(from) ? LLVMGetOperand(from, 0) : from;
}

/* Whether a loaded pointer plus an offset up to `far` may be stored to. Fields of the frame, the worker and the thread
   are never null. Kernel parameters, which are loaded from memory that such a field points to, may be. */
static bool is_safe_load(const sandbox *g, LLVMValueRef load, uint64_t far) {
  LLVMValueRef from = source_of(load);
  bool of_thread = g->entry ? is_thread(g->p, from) : from == LLVMGetParam(g->function, 0);
  if (!of_thread && !is_marked_invariant(g->p, load)) return false;
  bool field = of_thread || (g->entry && LLVMIsAArgument(from));
  return is_within(far, field ? g->p->reach : g->p->null_reach);
}

/* Sums saturate at this value, which is more than any reach. */
#define UNKNOWN ((uint64_t)1 << 62)

static uint64_t sum_of(uint64_t a, uint64_t b) { return a + b < UNKNOWN ? a + b : UNKNOWN; }

/* The most bytes that an index moves an address by, with elements of `size` bytes. */
static uint64_t bytes_of_index(LLVMValueRef index, uint64_t size) {
  if (LLVMGetTypeKind(element_type(LLVMTypeOf(index))) != LLVMIntegerTypeKind) return UNKNOWN;
  unsigned bits = magnitude(index, DEPTH);
  if (bits == 0) return 0;
  return bits + bits_of(size) < 62 ? size << bits : UNKNOWN;
}

/* The largest distance in bytes of a getelementptr from its base pointer. */
static uint64_t bytes_moved(const sandbox *g, LLVMValueRef address) {
  LLVMTypeRef type = LLVMGetGEPSourceElementType(address);
  uint64_t far = 0;
  for (int i = 1; i < LLVMGetNumOperands(address); i++) {
    LLVMValueRef index = LLVMGetOperand(address, (unsigned)i);
    if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
      unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);
      far = sum_of(far, LLVMOffsetOfElement(g->p->layout, type, field));
      type = LLVMStructGetTypeAtIndex(type, field);
      continue;
    }
    if (i > 1) type = LLVMGetElementType(type);
    far = sum_of(far, bytes_of_index(index, LLVMABISizeOfType(g->p->layout, type)));
  }
  return far;
}

/* Whether the address, plus or minus `far` bytes, is a trusted pointer plus an offset within reach. */
static bool is_safe(const sandbox *g, LLVMValueRef address, uint64_t far, int depth) {
  if (LLVMIsAGlobalVariable(address)) return far == 0; /* read-only data: a store to it faults */
  if (LLVMIsAArgument(address))
    return is_within(far, g->p->reach) && (g->entry || address == LLVMGetParam(g->function, 0));
  if (depth == 0) return false;
  bool expression = LLVMIsAConstantExpr(address) != NULL;
  if (!expression && !LLVMIsAInstruction(address)) return LLVMIsNull(address) && is_within(far, NEVER_MAPPED);
  switch (expression ? LLVMGetConstOpcode(address) : LLVMGetInstructionOpcode(address)) {
  case LLVMAlloca: return is_within(far, g->p->reach);
  case LLVMLoad: return is_safe_load(g, address, far);
  case LLVMAddrSpaceCast:
  case LLVMBitCast:
  case LLVMFreeze: return is_safe(g, LLVMGetOperand(address, 0), far, depth - 1);
  case LLVMShuffleVector: {
    LLVMValueRef one = broadcast_of(address);
    return one && is_safe(g, one, far, depth - 1);
  }
  case LLVMSelect:
    return is_safe(g, LLVMGetOperand(address, 1), far, depth - 1) &&
           is_safe(g, LLVMGetOperand(address, 2), far, depth - 1);
  case LLVMGetElementPtr: {
    far = sum_of(far, bytes_moved(g, address));
    return far < UNKNOWN && is_safe(g, LLVMGetOperand(address, 0), far, depth - 1);
  }
  default: return false; /* a number made a pointer, or a phi */
  }
}

static void load_range(sandbox *g) {
  program *p = g->p;
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(g->function)));
  LLVMValueRef frame = LLVMGetParam(g->function, 0);
  if (!g->entry) frame = thread_load(p, b, frame, THREAD_FRAME, 0);
  g->base = load_invariant(p, b, p->i64, frame, offsetof(mw_frame, heap_base));
  g->size = load_invariant(p, b, p->i64, frame, offsetof(mw_frame, heap_size));
  g->size = LLVMBuildSub(b, g->size, constant_i64(p, NEAR), "");
  if (p->options->checks & MW_CHECK_INITIALISATION && !p->follows) {
    LLVMValueRef worker =
        g->entry ? LLVMGetParam(g->function, 1) : thread_load(p, b, LLVMGetParam(g->function, 0), THREAD_WORKER, 0);
    g->shadow = load_invariant(p, b, p->i64, worker, offsetof(mw_worker, shadow));
  }
  LLVMDisposeBuilder(b);
}

static LLVMValueRef in_lanes(sandbox *g, LLVMTypeRef like, LLVMValueRef scalar) {
  if (!is_vector_type(like)) return scalar;
  LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), LLVMGetVectorSize(like));
  LLVMTypeRef zeros = LLVMVectorType(g->p->i32, LLVMGetVectorSize(like));
  LLVMValueRef one = LLVMBuildInsertElement(g->b, LLVMGetPoison(type), scalar, constant_i32(g->p, 0), "");
  return LLVMBuildShuffleVector(g->b, one, LLVMGetPoison(type), LLVMConstNull(zeros), "");
}

/* The address that this one is a few constant bytes after; the address itself if there is none. */
static LLVMValueRef near_address(const sandbox *g, LLVMValueRef address, uint64_t *distance) {
  *distance = 0;
  while (LLVMIsAGetElementPtrInst(address) && LLVMGetNumOperands(address) == 2 &&
         LLVMIsAConstantInt(LLVMGetOperand(address, 1))) {
    int64_t index = LLVMConstIntGetSExtValue(LLVMGetOperand(address, 1));
    uint64_t size = LLVMABISizeOfType(g->p->layout, LLVMGetGEPSourceElementType(address));
    if (index < 0 || index > NEAR || size > NEAR || *distance + (uint64_t)index * size > NEAR) break;
    *distance += (uint64_t)index * size;
    address = LLVMGetOperand(address, 0);
  }
  return address;
}

/* The address if it lies in the range, otherwise the range's first byte. */
static LLVMValueRef sandboxed_address(sandbox *g, LLVMValueRef address) {
  LLVMTypeRef type = LLVMTypeOf(address);
  LLVMValueRef base = in_lanes(g, type, g->base), size = in_lanes(g, type, g->size);
  LLVMValueRef number = LLVMBuildPtrToInt(g->b, address, LLVMTypeOf(base), "");
  LLVMValueRef inside = LLVMBuildICmp(g->b, LLVMIntULT, LLVMBuildSub(g->b, number, base, ""), size, "inside");
  if (g->shadow) {
    LLVMValueRef there = LLVMBuildSub(g->b, LLVMBuildSub(g->b, number, base, ""), in_lanes(g, type, g->shadow), "");
    inside = LLVMBuildOr(g->b, inside, LLVMBuildICmp(g->b, LLVMIntULT, there, size, ""), "");
  }
  LLVMValueRef nowhere = LLVMBuildIntToPtr(g->b, base, type, "");
  return LLVMBuildSelect(g->b, inside, address, nowhere, "sandboxed");
}

/* Sandbox an address operand. Stores to neighbouring addresses, as of several vectors or fields, share the test of the
   first: they are at most NEAR bytes after it, and the range begins with more inaccessible bytes than that. The last
   NEAR bytes of the range count as outside (load_range), so that no such store gets past its end. */
static void check_operand(sandbox *g, LLVMValueRef instruction, unsigned operand) {
  LLVMValueRef address = LLVMGetOperand(instruction, operand);
  LLVMBasicBlockRef block = LLVMGetInstructionParent(instruction);
  uint64_t distance = 0;
  if (is_safe(g, address, 0, DEPTH)) return;
  if (!g->base) load_range(g);
  LLVMPositionBuilderBefore(g->b, instruction);
  LLVMValueRef near = near_address(g, address, &distance);
  if (near != g->tested || block != g->block) {
    g->sandboxed = sandboxed_address(g, near);
    g->tested = near, g->block = block;
  }
  LLVMValueRef offset = constant_i64(g->p, distance);
  LLVMSetOperand(instruction, operand,
                 distance ? LLVMBuildGEP2(g->b, g->p->i8, g->sandboxed, &offset, 1, "") : g->sandboxed);
}

static void check_instruction(sandbox *g, LLVMValueRef i) {
  if (LLVMGetMetadata(i, LLVMGetMDKindIDInContext(g->p->context, CELLS_METADATA, strlen(CELLS_METADATA)))) return;
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMStore: check_operand(g, i, 1); return;
  case LLVMAtomicRMW:
  case LLVMAtomicCmpXchg: check_operand(g, i, 0); return;
  case LLVMCall: {
    const char *name = callee_name(i);
    if (starts_with(name, "llvm.memcpy") || starts_with(name, "llvm.memmove") || starts_with(name, "llvm.memset") ||
        strcmp(name, "memcpy") == 0 || strcmp(name, "memmove") == 0 || strcmp(name, "memset") == 0)
      check_operand(g, i, 0);
    if (starts_with(name, "llvm.masked.store") || starts_with(name, "llvm.masked.scatter")) check_operand(g, i, 1);
    return;
  }
  default: return;
  }
}

/* mem2reg comes first: most slots are scalars, for which sroa takes three times as long. */
void simplify_module(program *p) {
  run_passes(
      p, p->options->level
             ? "always-inline,function(mem2reg,sroa,dce,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)"
             : "always-inline");
}

void sandbox_stores(program *p) {
  EACH_FUNCTION(p, f) {
    if (LLVMIsDeclaration(f)) continue;
    sandbox g = {.p = p, .b = LLVMCreateBuilderInContext(p->context), .function = f, .entry = is_entry(p, f)};
    instructions list = instructions_of_function(f);
    for (size_t i = 0; i < list.count; i++) check_instruction(&g, list.items[i]);
    free(list.items);
    LLVMDisposeBuilder(g.b);
  }
  verify_module(p, "the store sandbox");
}
