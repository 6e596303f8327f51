/* The axis of the lanes: a gang's lanes are neighbours along threadIdx.x as a rule. Kernels that use threadIdx.x for
 * rows, `a[x * n + y]`, would gather what a gang of neighbours along threadIdx.y loads as a vector. For such a kernel
 * the two ids are exchanged, and the block is transposed: an interchange of the two innermost loops over threads.
 *
 * Only in code for one block class, and only where no thread can observe which others are its neighbours or ran before
 * it: no barrier, no shared memory, no warp function, no call and no atomic operation. Then a block's threads may run
 * in any order, and each has the ids that it had: the built-ins are renamed, and the widening uses the block's height
 * as its width.
 *
 * Where a sum such as `blockIdx.y * blockDim.y + threadIdx.y` shows that neighbours along blockIdx.y are neighbours in
 * memory, the grid is transposed as well, and blocks are run along blockIdx.y. Nothing else changes for the runtime,
 * which numbers blocks along x: a worker's range of numbers means other blocks (block_loop.c). So all blocks of a launch
 * must be run by the same code, and there are no candidates (candidates.c). Sums of indices that were terms of lanes along
 * x may be terms now: index_widening.c runs again.
 *
 * Both ways are analysed, and the accesses that are not contiguous are counted, those in loops eight times a level. */
#include "mwcc/analysis/analysis.h"
#include "mwcc/divergence/access_pattern.h"
#include "mwcc/prepare/addresses/addresses.h"
#include "mwcc/support/predicates.h"
#include "mwcc/target/target.h"
#include "mwcc/widen/widen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEWEST_ROWS = 4, BETTER = 3, IN_LOOP = 8, DEEPEST = 2 };

#define THREAD_ID(axis) "llvm.nvvm.read.ptx.sreg.tid." axis
#define BLOCK_ID(axis)  "llvm.nvvm.read.ptx.sreg.ctaid." axis

static bool suits_any_axis(const program *p, const kernel *k) {
  const options *o = p->options;
  if (!o->launch_kernel || o->width || !has_pass(p, PASS_LANE_AXIS) || p->block[1] < FEWEST_ROWS) return false;
  /* the lanes that a gang would have */
  unsigned lanes = (unsigned)register_lanes(p), full = p->block[0] < lanes ? p->block[0] : lanes;
  if (p->block[1] < full) return false;
  if (!k->any_order || k->waits || k->sees_warp || k->shared_bytes || k->dynamic_shared) return false;
  if (k->iterations_end || k->saves_state || k->reads_rows_in_place || k->reads_tiles_in_place) return false;
  instructions all = instructions_of_function(k->body);
  bool suits = true;
  for (size_t i = 0; i < all.count; i++)
    suits = suits && (LLVMIsATerminatorInst(all.items[i]) || is_alone(all.items[i]));
  free(all.items);
  return suits;
}

/* Or the lanes are near each other, so that whole vectors and shuffles suffice. */
static bool is_contiguous(const program *p, const shapes *s, LLVMValueRef access) {
  pattern found;
  int member, lane;
  bool stores = LLVMIsAStoreInst(access) != NULL;
  LLVMTypeRef type = stores ? LLVMTypeOf(LLVMGetOperand(access, 0)) : LLVMTypeOf(access);
  shape at = shape_of(s, LLVMGetOperand(access, stores ? 1 : 0));
  if (is_uniform_kind(at.kind)) return true;
  if (at.kind < SHAPE_VARYING) return llabs(at.stride) <= (int64_t)LLVMStoreSizeOfType(p->layout, type);
  return stores ? stores_in_pattern(s, access, &found, &member, &lane) : loads_in_pattern(s, access, &found);
}

/* The cost of the accesses that are not contiguous; -1: the kernel cannot be widened. */
static long cost_of_accesses(const program *p, const kernel *k) {
  graph g;
  const char *why;
  if (!graph_build((program *)(uintptr_t)p, k->body, false, &g, &why)) return -1;
  flow f = graph_flow(&g);
  order o = order_of(&f);
  shapes s = shapes_at_best(&g, &o, (cut){CUT_ROW, register_lanes(p), 1, 1});
  long cost = 0;
  for (int i = 0; i < g.value_count; i++) {
    LLVMValueRef value = g.values[i];
    if ((!LLVMIsALoadInst(value) && !LLVMIsAStoreInst(value)) || is_contiguous(p, &s, value)) continue;
    int inside = o.innermost[g.node_of[i]], depth = inside < 0 ? 0 : o.loops[inside].depth;
    long each = 1;
    for (int d = 0; d < depth && d < DEEPEST; d++) each *= IN_LOOP;
    cost += each;
  }
  shapes_free(&s);
  order_free(&o);
  graph_free(&g);
  return cost;
}

static void set_name(LLVMValueRef function, const char *name) {
  if (function) LLVMSetValueName2(function, name, strlen(name));
}

/* The range of an id's values is the function's attribute, which it keeps. */
static void exchange_names(program *p, const char *of_x, const char *of_y) {
  LLVMValueRef x = LLVMGetNamedFunction(p->module, of_x), y = LLVMGetNamedFunction(p->module, of_y);
  set_name(x, "turned");
  set_name(y, of_x);
  set_name(x, of_y);
}

/* Whether the number is a blockIdx, or a multiple of it. */
static bool is_multiple_of_block(LLVMValueRef value, const char *id) {
  LLVMOpcode opcode = opcode_of(value);
  while (opcode == LLVMMul || opcode == LLVMShl || opcode == LLVMZExt || opcode == LLVMSExt) {
    value = LLVMGetOperand(value, 0);
    opcode = opcode_of(value);
  }
  return LLVMIsACallInst(value) && strcmp(callee_name(value), id) == 0;
}

/* Whether a sum of the value, which may be extended, and a multiple of that blockIdx is computed. */
static bool is_added_to_block(LLVMValueRef value, const char *id, int depth) {
  if (depth == 0) return false;
  for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    LLVMOpcode opcode = opcode_of(user);
    if ((opcode == LLVMZExt || opcode == LLVMSExt) && is_added_to_block(user, id, depth - 1)) return true;
    if (opcode != LLVMAdd && opcode != LLVMOr) continue;
    if (is_multiple_of_block(LLVMGetOperand(user, LLVMGetOperand(user, 0) == value), id)) return true;
  }
  return false;
}

/* Whether neighbours along that axis of the grid continue the rows of threads along threadIdx.y. */
static bool blocks_continue_rows(const program *p, const char *id) {
  enum { DEPTH = 2 };
  LLVMValueRef thread = LLVMGetNamedFunction(p->module, THREAD_ID("y"));
  for (LLVMUseRef use = thread ? LLVMGetFirstUse(thread) : NULL; use; use = LLVMGetNextUse(use))
    if (is_added_to_block(LLVMGetUser(use), id, DEPTH)) return true;
  return false;
}

static void exchange_axes(program *p) {
  exchange_names(p, THREAD_ID("x"), THREAD_ID("y"));
  unsigned width = p->block[0];
  p->block[0] = p->block[1];
  p->block[1] = width;
  p->turned = !p->turned;
}

void choose_lane_axis(program *p) {
  kernel *k = &p->kernels[0];
  if (!p->kernel_count || !suits_any_axis(p, k)) return;
  long along_x = cost_of_accesses(p, k);
  if (along_x <= 0) return;
  bool along_block_y = blocks_continue_rows(p, BLOCK_ID("y")), along_block_x = blocks_continue_rows(p, BLOCK_ID("x"));
  exchange_axes(p);
  long along_y = cost_of_accesses(p, k);
  if (along_y < 0 || along_y * BETTER > along_x) {
    exchange_axes(p);
    return;
  }
  if (p->options->report)
    printf("kernel %s: its lanes are neighbours along threadIdx.y%s\n", k->linkage,
           along_block_y ? ", and its blocks run along blockIdx.y" : "");
  p->turned_grid = along_block_y;
  /* rows of threads do not continue in the next block of the order: block_loop.c does not interleave blocks */
  p->rows_apart = !along_block_y && !along_block_x;
  if (along_block_y) exchange_names(p, BLOCK_ID("x"), BLOCK_ID("y"));
  if (has_pass(p, PASS_INDEX_WIDENING)) widen_indices(p);
}
