/* Built-ins by which threads observe their warp, or wait for others of their block. */
#include "simt.h"
#include "analysis.h"

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
    {WARP_APPLY, MW_WARP_APPLY, -1, -1},
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

bool is_word_wait(const char *name) { return strcmp(name, WORD_WAIT) == 0; }

bool is_named_barrier(const char *name) {
  return strcmp(name, BARRIER_SYNC_COUNT) == 0 || strcmp(name, BARRIER_ARRIVE) == 0;
}

bool waits_for_warp(LLVMValueRef i) {
  if (is_warp_access(i)) return true;
  if (!LLVMIsACallInst(i)) return false;
  const char *name = callee_name(i);
  return find_warp_call(name) || is_active_mask(name) || is_word_wait(name) || is_named_barrier(name);
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

static bool loads_volatile_shared(LLVMValueRef i) { return LLVMIsALoadInst(i) && is_warp_access(i); }

/* Whether a value of the loop depends on volatile shared memory that is loaded in the loop. */
static bool depends_on_volatile_shared(const graph *g, const loop *l, LLVMValueRef value, bool *seen) {
  int number = graph_number(g, value);
  if (number < 0 || number >= g->value_count || !l->contains[g->node_of[number]] || seen[number]) return false;
  seen[number] = true;
  if (loads_volatile_shared(value)) return true;
  bool joins = LLVMIsAPHINode(value) != NULL;
  unsigned count = joins ? LLVMCountIncoming(value) : (unsigned)LLVMGetNumOperands(value);
  for (unsigned i = 0; i < count; i++) {
    LLVMValueRef operand = joins ? LLVMGetIncomingValue(value, i) : LLVMGetOperand(value, i);
    if (depends_on_volatile_shared(g, l, operand, seen)) return true;
  }
  return false;
}

static bool is_exit(const loop *l, const node *here) {
  for (int i = 0; i < here->succ_count; i++)
    if (!l->contains[here->succs[i]]) return true;
  return false;
}

/* A loop that writes nothing and polls memory that another warp writes. */
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
    if (l->contains[n] && here->succ_count == 2 && is_exit(l, here))
      waits = depends_on_volatile_shared(g, l, LLVMGetCondition(here->last), seen);
  }
  free(seen);
  return waits;
}

LLVMValueRef waits_for_other_warps(const graph *g, const order *o) {
  for (int i = 0; i < g->value_count; i++)
    if (LLVMIsACallInst(g->values[i]) && is_word_wait(callee_name(g->values[i]))) return g->values[i];
  for (int l = 0; l < o->loop_count; l++)
    if (is_wait(g, &o->loops[l])) return g->nodes[o->loops[l].header].last;
  return NULL;
}

bool is_block_wait(LLVMValueRef i) { return LLVMIsACallInst(i) && strcmp(callee_name(i), BLOCK_WAIT) == 0; }
