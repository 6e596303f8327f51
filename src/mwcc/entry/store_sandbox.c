/* A wild store cannot leave the device's memory.
 *
 * The device's memory, its stacks and its blocks' shared memory lie in one reserved address range with empty margins on both
 * sides (src/cpu/memory/heap.c), as wide as --reach says. So a store needs no test where its address is a trusted pointer (a
 * kernel parameter, a variable, shared memory, the stack) plus an offset that provably stays below that: whatever it hits is
 * the device's, or inaccessible and so an error. A parameter may be null, too: an offset from there has to stay below where
 * the host's memory begins. All other stores are sent to the range's first bytes, which are never accessible, where they
 * would fall outside. Loads cannot harm anyone: a wild one reads or faults.
 *
 * Runs behind inlining and promotion to registers, before vectorisation. No branch is added. */
#include "mwcc/mwcc.h"
#include "mwcc/analysis/analysis.h"
#include "entry.h"

#include <stdlib.h>
#include <string.h>

enum {
  DEPTH = 12,
  NEVER_MAPPED = 16 /* bits of the lowest addresses, which no system gives to programs */,
  NEAR = MW_NOWHERE_BYTES / 2
};

/* The least n for which the value, taken as a signed number, is known to lie within -2^n .. 2^n; 64 where unknown. */
static unsigned magnitude(LLVMValueRef value, int depth);

/* The number or address that all lanes have, or NULL. Other shuffles begin with an inserted element, too: instcombine makes
   them of selects whose conditions are constants, as `t == 0` is where a block is one gang. */
static LLVMValueRef broadcast_of(LLVMValueRef shuffle) {
  LLVMValueRef from = LLVMGetOperand(shuffle, 0), at = LLVMIsAInsertElementInst(from) ? LLVMGetOperand(from, 2) : NULL;
  if (!at || !LLVMIsAConstantInt(at) || LLVMConstIntGetZExtValue(at)) return NULL;
  for (unsigned i = 0; i < LLVMGetNumMaskElements(shuffle); i++) {
    int lane = LLVMGetMaskValue(shuffle, i);
    if (lane && lane != LLVMGetUndefMaskElem()) return NULL;
  }
  return LLVMGetOperand(from, 1);
}

/* Of all lanes: a constant's largest, a broadcast's scalar. */
static unsigned vector_magnitude(LLVMValueRef value, int depth) {
  unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(value)), width = LLVMGetIntTypeWidth(element_type(LLVMTypeOf(value))),
           most = 0;
  if (LLVMIsAShuffleVectorInst(value)) {
    LLVMValueRef one = broadcast_of(value);
    return one ? magnitude(one, depth - 1) : width;
  }
  for (unsigned i = 0; i < lanes; i++) {
    LLVMValueRef lane = LLVMGetAggregateElement(value, i);
    if (!lane || !LLVMIsAConstantInt(lane)) return width;
    unsigned bits = magnitude(lane, 0);
    if (bits > most) most = bits;
  }
  return most;
}

/* The constant that an `and` leaves bits of, without a sign; NULL: there is none. */
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
  if (LLVMGetTypeKind(type) == LLVMVectorTypeKind && (LLVMIsAConstant(value) || LLVMIsAShuffleVectorInst(value)))
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
  bool entry; /* a function of workitem_loops.c: its first parameter is the frame; else it is the thread */
  LLVMValueRef base, size;
  /* The address that was tested last, what became of it, and where. */
  LLVMValueRef tested, sandboxed;
  LLVMBasicBlockRef block;
} sandbox;

static bool is_thread(const program *p, LLVMValueRef place) {
  return LLVMIsAAllocaInst(place) && LLVMGetMetadata(place, thread_mark(p));
}

static bool is_within(uint64_t far, unsigned bits) { return far == 0 || far < (uint64_t)1 << bits; }

/* The place that a pointer is loaded from, without steps. */
static LLVMValueRef source_of(LLVMValueRef load) {
  LLVMValueRef from = LLVMGetOperand(load, 0);
  return LLVMIsAGetElementPtrInst(from) ? LLVMGetOperand(from, 0) : from;
}

/* Whether a loaded pointer is trusted so far. Fields of the frame, the worker and the thread are never null; parameters,
   which are loaded from where such a field leads to, may be. */
static bool is_safe_load(const sandbox *g, LLVMValueRef load, uint64_t far) {
  LLVMValueRef from = source_of(load);
  const options *o = g->p->options;
  bool of_thread = g->entry ? is_thread(g->p, from) : from == LLVMGetParam(g->function, 0);
  if (!of_thread && !is_marked_invariant(g->p, load)) return false;
  bool field = of_thread || (g->entry && LLVMIsAArgument(from));
  return is_within(far, field ? o->reach : o->null_reach);
}

/* Saturated: whatever is more than any reach. */
#define UNKNOWN ((uint64_t)1 << 62)

static uint64_t sum_of(uint64_t a, uint64_t b) { return a + b < UNKNOWN ? a + b : UNKNOWN; }

/* How many bytes an index moves an address at most, in elements of so many bytes. */
static uint64_t bytes_of_index(LLVMValueRef index, uint64_t size) {
  if (LLVMGetTypeKind(element_type(LLVMTypeOf(index))) != LLVMIntegerTypeKind) return UNKNOWN;
  unsigned bits = magnitude(index, DEPTH);
  if (bits == 0) return 0;
  return bits + bits_of(size) < 62 ? size << bits : UNKNOWN;
}

/* How many bytes an address may be away from the pointer that it is made from, at most. */
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

/* Whether the address, moved by up to `far` bytes, is a trusted pointer and an offset within reach. */
static bool is_safe(const sandbox *g, LLVMValueRef address, uint64_t far, int depth) {
  if (LLVMIsAGlobalVariable(address)) return far == 0; /* read-only data: a store there faults by itself */
  if (LLVMIsAArgument(address))
    return is_within(far, g->p->options->reach) && (g->entry || address == LLVMGetParam(g->function, 0));
  if (depth == 0) return false;
  bool expression = LLVMIsAConstantExpr(address) != NULL;
  if (!expression && !LLVMIsAInstruction(address)) return LLVMIsNull(address) && is_within(far, NEVER_MAPPED);
  switch (expression ? LLVMGetConstOpcode(address) : LLVMGetInstructionOpcode(address)) {
  case LLVMAlloca: return is_within(far, g->p->options->reach);
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
  default: return false; /* loaded, made from a number, or carried around a loop */
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
  LLVMDisposeBuilder(b);
}

static LLVMValueRef in_lanes(sandbox *g, LLVMTypeRef like, LLVMValueRef scalar) {
  if (LLVMGetTypeKind(like) != LLVMVectorTypeKind) return scalar;
  LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), LLVMGetVectorSize(like));
  LLVMTypeRef zeros = LLVMVectorType(g->p->i32, LLVMGetVectorSize(like));
  LLVMValueRef one = LLVMBuildInsertElement(g->b, LLVMGetPoison(type), scalar, constant_i32(g->p, 0), "");
  return LLVMBuildShuffleVector(g->b, one, LLVMGetPoison(type), LLVMConstNull(zeros), "");
}

/* The address that this one is a few bytes behind; itself where that is not known. */
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

/* The address where it lies in the range, else the range's first byte. */
static LLVMValueRef sandboxed_address(sandbox *g, LLVMValueRef address) {
  LLVMTypeRef type = LLVMTypeOf(address);
  LLVMValueRef base = in_lanes(g, type, g->base), size = in_lanes(g, type, g->size);
  LLVMValueRef number = LLVMBuildPtrToInt(g->b, address, LLVMTypeOf(base), "");
  LLVMValueRef inside = LLVMBuildICmp(g->b, LLVMIntULT, LLVMBuildSub(g->b, number, base, ""), size, "inside");
  LLVMValueRef nowhere = LLVMBuildIntToPtr(g->b, base, type, "");
  return LLVMBuildSelect(g->b, inside, address, nowhere, "sandboxed");
}

/* What several parts or fields store side by side is tested as one: the range begins and ends with more bytes that nobody
   can access than they are apart. The last of these count as outside, so that no store gets beyond them. */
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

/* mem2reg: most slots are whole values, for which sroa takes three times as long. */
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
