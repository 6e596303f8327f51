/* What the threads of a warp do together: which built-ins that are, and how fibers do it.
 *
 * Before: warp functions are calls of the device target's intrinsics (or, for 64 bits, of functions that the device
 * headers name after them). After: calls of the services `warp` and `warp_converge` (mwo.h). */
#include "mwcc/analysis/simt.h"

#include <stdlib.h>
#include <string.h>

static const warp_call calls[] = {
    {"llvm.nvvm.shfl.sync.idx.", MW_WARP_SHUFFLE, 1, 0},
    {"llvm.nvvm.shfl.sync.up.", MW_WARP_SHUFFLE_UP, 1, 0},
    {"llvm.nvvm.shfl.sync.down.", MW_WARP_SHUFFLE_DOWN, 1, 0},
    {"llvm.nvvm.shfl.sync.bfly.", MW_WARP_SHUFFLE_XOR, 1, 0},
    {"__mw_shfl_sync_idx_", MW_WARP_SHUFFLE, 1, 0},
    {"__mw_shfl_sync_up_", MW_WARP_SHUFFLE_UP, 1, 0},
    {"__mw_shfl_sync_down_", MW_WARP_SHUFFLE_DOWN, 1, 0},
    {"__mw_shfl_sync_bfly_", MW_WARP_SHUFFLE_XOR, 1, 0},
    {"llvm.nvvm.vote.all.sync", MW_WARP_ALL, 1, 0},
    {"llvm.nvvm.vote.any.sync", MW_WARP_ANY, 1, 0},
    {"llvm.nvvm.vote.uni.sync", MW_WARP_UNIFORM, 1, 0},
    {"llvm.nvvm.vote.ballot.sync", MW_WARP_BALLOT, 1, 0},
    {"llvm.nvvm.match.any.sync.", MW_WARP_MATCH_ANY, 1, 0},
    {"llvm.nvvm.match.all.sync.", MW_WARP_MATCH_ALL, 1, 0},
    {"llvm.nvvm.redux.sync.add", MW_WARP_ADD, 0, 1},
    {"llvm.nvvm.redux.sync.min", MW_WARP_MIN, 0, 1},
    {"llvm.nvvm.redux.sync.max", MW_WARP_MAX, 0, 1},
    {"llvm.nvvm.redux.sync.umin", MW_WARP_UMIN, 0, 1},
    {"llvm.nvvm.redux.sync.umax", MW_WARP_UMAX, 0, 1},
    {"llvm.nvvm.redux.sync.and", MW_WARP_AND, 0, 1},
    {"llvm.nvvm.redux.sync.or", MW_WARP_OR, 0, 1},
    {"llvm.nvvm.redux.sync.xor", MW_WARP_XOR, 0, 1},
    {"llvm.nvvm.bar.warp.sync", MW_WARP_SYNC, -1, 0},
};

const warp_call *find_warp_call(const char *name) {
  for (size_t i = 0; i < MW_COUNT(calls); i++)
    if (starts_with(name, calls[i].name)) return &calls[i];
  return NULL;
}

static bool is_active_mask(const char *name) { return strcmp(name, "llvm.nvvm.activemask") == 0; }

bool is_warp_call(const char *name) {
  static const char *const registers[] = {"laneid", "warpid", "nwarpid", "lanemask."};
  static const char prefix[] = "llvm.nvvm.read.ptx.sreg.";
  if (find_warp_call(name) || is_active_mask(name)) return true;
  if (!starts_with(name, prefix)) return false;
  for (size_t r = 0; r < MW_COUNT(registers); r++)
    if (starts_with(name + strlen(prefix), registers[r])) return true;
  return false;
}

bool is_warp_access(LLVMValueRef i) {
  if (!(LLVMIsALoadInst(i) || LLVMIsAStoreInst(i)) || !LLVMGetVolatile(i)) return false;
  return memory_of(LLVMGetOperand(i, LLVMIsALoadInst(i) ? 0 : 1)) == MEMORY_SHARED;
}

bool is_turn(const char *name) { return strcmp(name, TURN) == 0; }

bool is_part_barrier(const char *name) {
  return strcmp(name, BARRIER_SYNC_COUNT) == 0 || strcmp(name, BARRIER_ARRIVE) == 0;
}

bool waits_for_warp(LLVMValueRef i) {
  if (is_warp_access(i)) return true;
  if (!LLVMIsACallInst(i)) return false;
  const char *name = callee_name(i);
  return find_warp_call(name) || is_active_mask(name) || is_turn(name) || is_part_barrier(name);
}

const char *observes_warp(const graph *g) {
  for (int i = 0; i < g->value_count; i++) {
    LLVMValueRef value = g->values[i];
    if (LLVMIsACallInst(value) && is_warp_call(callee_name(value))) return callee_name(value);
    if (is_warp_access(value)) return "volatile shared memory";
  }
  return NULL;
}

/* ---- loops that wait for another warp ---- */

static bool is_watched(LLVMValueRef i) { return LLVMIsALoadInst(i) && is_warp_access(i); }

/* Whether a value of the loop is made from what it reads there of volatile shared memory. */
static bool comes_from_watched(const graph *g, const loop *l, LLVMValueRef value, bool *seen) {
  int number = graph_number(g, value);
  if (number < 0 || number >= g->value_count || !l->contains[g->node_of[number]] || seen[number]) return false;
  seen[number] = true;
  if (is_watched(value)) return true;
  bool joins = LLVMIsAPHINode(value) != NULL;
  unsigned count = joins ? LLVMCountIncoming(value) : (unsigned)LLVMGetNumOperands(value);
  for (unsigned i = 0; i < count; i++) {
    LLVMValueRef operand = joins ? LLVMGetIncomingValue(value, i) : LLVMGetOperand(value, i);
    if (comes_from_watched(g, l, operand, seen)) return true;
  }
  return false;
}

static bool leaves(const loop *l, const node *here) {
  for (int i = 0; i < here->succ_count; i++)
    if (!l->contains[here->succs[i]]) return true;
  return false;
}

/* A loop that only looks, at what somebody else is to write. */
static bool is_wait(const graph *g, const loop *l) {
  bool *seen = mw_alloc((size_t)g->value_count + 1), waits = false;
  for (int i = 0; i < g->value_count; i++) {
    LLVMValueRef value = g->values[i];
    if (!l->contains[g->node_of[i]]) continue;
    if (LLVMIsAStoreInst(value) || LLVMIsAAtomicRMWInst(value) || LLVMIsAAtomicCmpXchgInst(value) ||
        is_barrier(value)) {
      free(seen);
      return false;
    }
  }
  for (int n = 0; n < g->count && !waits; n++) {
    const node *here = &g->nodes[n];
    if (l->contains[n] && here->succ_count == 2 && leaves(l, here))
      waits = comes_from_watched(g, l, LLVMGetCondition(here->last), seen);
  }
  free(seen);
  return waits;
}

LLVMValueRef waits_for_other_warps(const graph *g, const order *o) {
  for (int i = 0; i < g->value_count; i++)
    if (LLVMIsACallInst(g->values[i]) && is_turn(callee_name(g->values[i]))) return g->values[i];
  for (int l = 0; l < o->loop_count; l++)
    if (is_wait(g, &o->loops[l])) return g->nodes[o->loops[l].header].last;
  return NULL;
}

/* ---- on fibers ---- */

LLVMValueRef lower_converge(program *p, LLVMBuilderRef b, LLVMValueRef frame, LLVMValueRef worker) {
  LLVMTypeRef params[] = {p->pointer, p->i32};
  LLVMValueRef arguments[] = {worker, constant_i32(p, p->converge_sites++)};
  return call_service(p, b, frame, offsetof(mw_services, warp_converge), LLVMFunctionType(p->i32, params, 2, 0),
                      arguments, 2);
}

/* The service takes and gives 64 bits for every type. */
static LLVMValueRef as_bits(program *p, LLVMBuilderRef b, LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind)
    value = LLVMBuildBitCast(b, value,
                             LLVMIntTypeInContext(p->context, (unsigned)LLVMSizeOfTypeInBits(p->layout, type)), "");
  return LLVMBuildZExtOrBitCast(b, value, p->i64, "");
}

static LLVMValueRef from_bits(program *p, LLVMBuilderRef b, LLVMValueRef bits, LLVMTypeRef type) {
  if (LLVMGetTypeKind(type) == LLVMStructTypeKind) { /* match.all: {mask, whether there is one} */
    LLVMValueRef mask = LLVMBuildTrunc(b, bits, p->i32, "");
    LLVMValueRef same = LLVMBuildICmp(b, LLVMIntNE, mask, constant_i32(p, 0), "");
    LLVMValueRef both = LLVMBuildInsertValue(b, LLVMGetPoison(type), mask, 0, "");
    return LLVMBuildInsertValue(b, both, same, 1, "");
  }
  LLVMTypeRef integer = LLVMIntTypeInContext(p->context, (unsigned)LLVMSizeOfTypeInBits(p->layout, type));
  if (integer != p->i64) bits = LLVMBuildTrunc(b, bits, integer, "");
  return LLVMBuildBitCast(b, bits, type, "");
}

LLVMValueRef lower_warp(program *p, LLVMBuilderRef b, LLVMValueRef call, LLVMValueRef frame, LLVMValueRef worker) {
  const warp_call *kind = find_warp_call(callee_name(call));
  if (!kind) return lower_converge(p, b, frame, worker);
  bool shuffles = kind->call >= MW_WARP_SHUFFLE && kind->call <= MW_WARP_SHUFFLE_XOR;
  LLVMValueRef zero = constant_i32(p, 0);
  LLVMTypeRef params[] = {p->pointer, p->i32, p->i32, p->i64, p->i32, p->i32};
  LLVMValueRef arguments[] = {worker,
                              constant_i32(p, kind->call),
                              LLVMGetOperand(call, (unsigned)kind->mask),
                              kind->value < 0 ? constant_i64(p, 0)
                                              : as_bits(p, b, LLVMGetOperand(call, (unsigned)kind->value)),
                              shuffles ? LLVMGetOperand(call, 2) : zero,
                              shuffles ? LLVMGetOperand(call, 3) : zero};
  LLVMTypeRef type = LLVMTypeOf(call);
  LLVMValueRef bits =
      call_service(p, b, frame, offsetof(mw_services, warp), LLVMFunctionType(p->i64, params, 6, 0), arguments, 6);
  LLVMSetTailCallKind(bits, LLVMTailCallKindNoTail); /* a report looks for the line that called */
  return LLVMGetTypeKind(type) == LLVMVoidTypeKind ? NULL : from_bits(p, b, bits, type);
}
