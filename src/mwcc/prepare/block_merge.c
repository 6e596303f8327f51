/* Thread-block merge: two neighbouring blocks of a grid's row run as one block of twice the width.
 *
 * A wider gang uses more of each cache line and page that it loads. Where a block has too few threads for that, its
 * neighbour supplies as many again (suits_block_merging, cost_model.c). The blocks must not be able to observe the
 * merge: they have no barrier (except one that all threads of a grid reach: tiles.c), shared memory, atomics or calls;
 * they may run in any order; and they use their ids along the row only as blockIdx.x * blockDim.x + threadIdx.x. That
 * is the same number if blocks are twice as wide and half as many, so only a constant changes in the code.
 * Grids with an odd number of blocks in a row have code of their own, without merging (mw_mwo_kernel.merged). */
#include "mwcc/analysis/simt.h"
#include "prepare.h"
#include "mwcc/target/target.h"

#include <stdlib.h>
#include <string.h>

enum { MERGED = 2, MOST_PRODUCTS = 16 };

#define BLOCK_ID  "llvm.nvvm.read.ptx.sreg.ctaid.x"
#define THREAD_ID "llvm.nvvm.read.ptx.sreg.tid.x"

/* The products of blockIdx.x and blockDim.x. */
typedef struct products {
  const program *p;
  LLVMValueRef of[MOST_PRODUCTS];
  int count;
} products;

static bool has_opcode(LLVMValueRef value, LLVMOpcode opcode) {
  return LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == opcode;
}

static bool is_extension(LLVMValueRef value) { return LLVMIsAZExtInst(value) || LLVMIsASExtInst(value); }

static bool reads_register(LLVMValueRef value, const char *id) {
  while (is_extension(value)) value = LLVMGetOperand(value, 0);
  return LLVMIsACallInst(value) && strcmp(callee_name(value), id) == 0;
}

/* The constant by which the instruction multiplies its first operand; 0: none. */
static uint64_t factor_of(LLVMValueRef i) {
  enum { MOST_SHIFT = 16 };
  LLVMValueRef by = LLVMGetNumOperands(i) == 2 ? LLVMGetOperand(i, 1) : NULL;
  if (!by || !LLVMIsAConstantInt(by)) return 0;
  uint64_t number = LLVMConstIntGetZExtValue(by);
  if (has_opcode(i, LLVMMul)) return number;
  return has_opcode(i, LLVMShl) && number <= MOST_SHIFT ? (uint64_t)1 << number : 0;
}

static bool is_product(const program *p, LLVMValueRef value) {
  while (is_extension(value)) value = LLVMGetOperand(value, 0);
  return LLVMIsAInstruction(value) && factor_of(value) == p->block[0] &&
         reads_register(LLVMGetOperand(value, 0), BLOCK_ID);
}

bool is_grid_index(const program *p, LLVMValueRef i) {
  bool adds = has_opcode(i, LLVMAdd) || (has_opcode(i, LLVMOr) && LLVMGetIsDisjoint(i));
  if (!adds) return false;
  LLVMValueRef a = LLVMGetOperand(i, 0), b = LLVMGetOperand(i, 1);
  return (is_product(p, a) && reads_register(b, THREAD_ID)) || (is_product(p, b) && reads_register(a, THREAD_ID));
}

/* Whether the value and its extensions are used only to compute indices; if `by_products`, also by way of products. */
static bool makes_indices(products *all, LLVMValueRef value, bool by_products) {
  for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    bool good = is_grid_index(all->p, user);
    if (is_extension(user)) {
      good = makes_indices(all, user, by_products);
    } else if (by_products && is_product(all->p, user)) {
      if (all->count == MOST_PRODUCTS) return false;
      all->of[all->count++] = user;
      good = makes_indices(all, user, false);
    }
    if (!good) return false;
  }
  return true;
}

static bool find_products(products *all, const instructions *code) {
  for (size_t i = 0; i < code->count; i++) {
    LLVMValueRef value = code->items[i];
    if (is_extension(value)) continue;
    if (reads_register(value, BLOCK_ID) && !makes_indices(all, value, true)) return false;
    if (reads_register(value, THREAD_ID) && !makes_indices(all, value, false)) return false;
  }
  return all->count > 0;
}

static bool are_independent(const kernel *k, const instructions *code) {
  if (!k->any_order || (k->waits && !k->reads_tiles_in_place) || k->sees_warp || k->shared_bytes || k->dynamic_shared ||
      k->iterations_end)
    return false;
  for (size_t i = 0; i < code->count; i++)
    if (!LLVMIsATerminatorInst(code->items[i]) && !is_barrier(code->items[i]) && !is_alone(code->items[i]))
      return false;
  return true;
}

bool is_blind_to_blocks(const program *p, const kernel *k) {
  products all = {.p = p};
  instructions code = instructions_of_function(k->body);
  bool result = are_independent(k, &code) && find_products(&all, &code);
  free(code.items);
  return result;
}

static bool pays(program *p, const kernel *k) {
  graph g;
  const char *why;
  if (!graph_build(p, k->body, false, &g, &why)) return false;
  flow f = graph_flow(&g);
  order o = order_of(&f);
  shapes s = shapes_at_best(&g, &o, (cut){CUT_ROW, register_lanes(p), 1, 1});
  bool result = suits_block_merging(&g, &o, &s);
  shapes_free(&s);
  order_free(&o);
  graph_free(&g);
  return result;
}

/* The bits of the product and of the thread's id are no longer disjoint. */
static void add_where_disjoint(LLVMBuilderRef b, const instructions *code, const products *all) {
  for (size_t i = 0; i < code->count; i++) {
    LLVMValueRef old = code->items[i];
    if (!has_opcode(old, LLVMOr) || !is_grid_index(all->p, old)) continue;
    LLVMPositionBuilderBefore(b, old);
    LLVMValueRef sum = LLVMBuildAdd(b, LLVMGetOperand(old, 0), LLVMGetOperand(old, 1), "");
    LLVMReplaceAllUsesWith(old, sum);
    LLVMInstructionEraseFromParent(old);
  }
}

static void widen_products(const products *all) {
  for (int i = 0; i < all->count; i++) {
    LLVMValueRef product = all->of[i], by = LLVMGetOperand(product, 1);
    uint64_t number = LLVMConstIntGetZExtValue(by);
    number = has_opcode(product, LLVMMul) ? MERGED * number : number + 1;
    LLVMSetOperand(product, 1, LLVMConstInt(LLVMTypeOf(by), number, 0));
  }
}

/* The range of the id that state_limits declared. */
static void widen_range(program *p) {
  unsigned kind = LLVMGetEnumAttributeKindForName("range", 5);
  LLVMValueRef f = LLVMGetNamedFunction(p->module, THREAD_ID);
  uint64_t low = 0, end = p->block[0];
  LLVMRemoveEnumAttributeAtIndex(f, LLVMAttributeReturnIndex, kind);
  LLVMAddAttributeAtIndex(f, LLVMAttributeReturnIndex,
                          LLVMCreateConstantRangeAttribute(p->context, kind, 32, &low, &end));
}

void merge_blocks(program *p) {
  const options *o = p->options;
  if (!o->launch_kernel || o->width || !has_pass(p, PASS_BLOCK_MERGE)) return;
  products all = {.p = p};
  instructions code = instructions_of_function(p->kernels[0].body);
  bool suits = are_independent(&p->kernels[0], &code) && pays(p, &p->kernels[0]) && find_products(&all, &code);
  p->mergeable = suits || p->even_pays;
  if (suits && o->launch_columns % MERGED == 0) {
    LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
    add_where_disjoint(b, &code, &all);
    widen_products(&all);
    p->merged = MERGED;
    p->block[0] *= MERGED;
    widen_range(p);
    LLVMDisposeBuilder(b);
  }
  free(code.items);
}
