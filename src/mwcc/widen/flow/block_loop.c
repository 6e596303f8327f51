/* The loop over the blocks that a worker was given.
 *
 * As a rule blocks are run one after the other. Kernels that are bound by memory are faster if memory is accessed in
 * order: adjacent blocks of several rows are run together, first the first row of all, then the second, and so on. So
 * each row is one long stretch, which hardware prefetchers follow.
 *
 * That is for kernels whose threads are independent: no barrier, shared memory, atomics or calls; and no loops, in
 * which a block reads again what it has just read, and which might wait for another block.
 *
 * Gangs that end with a row of the data (speculative_path.c) would also end with each block. Adjacent blocks of one row
 * of threads run as one, if all that the kernel knows of its ids along the row is blockIdx.x * blockDim.x + threadIdx.x
 * (block_merge.c): that counts up from thread to thread, from block to block as well. A gang's first thread has its own
 * ids, and its other lanes are computed from that sum, which is at most BOUND_EXTENT in all of these blocks, so that no
 * gang has to test that, and wraps in no lane. Invariant: the loop's block and the `begun` ones after it have run, but
 * for the gangs of the last of these that the loop over gangs still has before it. */
#include "mwcc/lower/lower.h"
#include "mwcc/prepare/prepare.h"
#include "mwcc/widen/memory/memory.h"
#include "emission.h"
#include "mwcc/target/tuning.h"

enum { MOST_TOGETHER = TUNE_BLOCK_ROWS, MOST_JOINED = 64 };

static LLVMValueRef launched_grid(widener *w, unsigned axis) {
  LLVMValueRef size =
      load_invariant(w->p, w->b, w->p->i32, w->frame, offsetof(mw_frame, grid) + axis * sizeof(uint32_t));
  return LLVMBuildZExt(w->b, size, w->p->i64, "");
}

/* The size of the grid in blocks, or in merged blocks; of a transposed one (lane_axis.c) with x and y exchanged. */
static LLVMValueRef grid_size(widener *w, unsigned axis) {
  LLVMValueRef size = launched_grid(w, w->p->turned_grid && axis < 2 ? !axis : axis);
  return axis ? size : LLVMBuildUDiv(w->b, size, constant_i64(w->p, w->p->merged), "");
}

/* The first merged block that begins at this block or after it: a merged block runs with its first part. */
static LLVMValueRef joined_from(widener *w, LLVMValueRef block) {
  LLVMValueRef merged = constant_i64(w->p, w->p->merged), before = constant_i64(w->p, w->p->merged - 1);
  return LLVMBuildUDiv(w->b, LLVMBuildAdd(w->b, block, before, ""), merged, "");
}

/* The number in the grid of the launch: of a transposed grid, from the ids. */
static LLVMValueRef launched_number(widener *w, LLVMValueRef block) {
  if (!w->p->turned_grid) return block;
  LLVMValueRef ids[3], number;
  for (unsigned axis = 0; axis < 3; axis++)
    ids[axis] = LLVMBuildZExt(w->b, LLVMBuildLoad2(w->b, w->p->i32, w->ctaid[axis], ""), w->p->i64, "");
  number = LLVMBuildAdd(w->b, LLVMBuildMul(w->b, ids[2], launched_grid(w, 1), ""), ids[0], "");
  return LLVMBuildAdd(w->b, LLVMBuildMul(w->b, number, launched_grid(w, 0), ""), ids[1], "");
}

/* Fault reports and the runtime read the running block from the worker. */
static void store_block(widener *w, LLVMValueRef block) {
  block = launched_number(w, block);
  LLVMValueRef at = constant_i64(w->p, offsetof(mw_worker, block));
  LLVMBuildStore(w->b, block, LLVMBuildInBoundsGEP2(w->b, w->p->i8, w->worker, &at, 1, ""));
  report_block(w->p, w->b, w->frame, w->worker, w->k);
  screen_block(w, block);
}

/* ---- which kernels ---- */

static bool has_rows(const cut *c, const unsigned block[3]) {
  unsigned rows = c->kind == CUT_PLANE ? (unsigned)(c->vectors / c->columns) : 1;
  return c->kind != CUT_LINE && block[1] / rows * block[2] > 1;
}

bool takes_rows_of_blocks(const kernel *k, const shapes *s) {
  const options *o = s->graph->program->options;
  if (!has_pass(s->graph->program, PASS_BLOCK_ROWS)) return false;
  if (s->graph->program->rows_apart || s->graph->program->packed > 1) return false;
  if (!o->launch_kernel || !has_rows(&s->cut, s->graph->program->block) || s->order->loop_count) return false;
  if (k->waits || k->sees_warp || k->shared_bytes || k->dynamic_shared) return false;
  for (int i = 0; i < s->graph->value_count; i++)
    if (!is_alone(s->graph->values[i])) return false;
  return true;
}

/* Whether rows of the data may go on from one block to the next. */
static bool joins_blocks(const emission *e) {
  const program *p = e->w.p;
  const options *o = p->options;
  if (!has_pass(p, PASS_JOINED_BLOCKS) || !e->speculation->rows || e->region_count != 1 || e->shared_gangs ||
      p->packed > 1 || p->turned_grid)
    return false;
  if (o->check_memory || o->observe || o->checks || p->block[1] * p->block[2] != 1) return false;
  return is_blind_to_blocks(p, e->w.k);
}

/* ---- the loop ---- */

/* Whether the ids are counted up from block to block, without divisions: where some blocks have nothing to do, and the
   divisions take most of their time. Elsewhere they run along with the block before, and counters would be more values
   to keep. The guard that is built here for any block is not used. */
static bool counts_ids(emission *e) {
  LLVMValueRef none = constant_i32(e->w.p, 0), ids[3] = {none, none, none};
  return !e->shared_gangs && e->w.p->packed == 1 && build_block_guard(&e->w, ids);
}

static void store_ids(widener *w, LLVMValueRef block, LLVMValueRef slots[3]) {
  LLVMValueRef gx = grid_size(w, 0), gy = grid_size(w, 1), rest = LLVMBuildUDiv(w->b, block, gx, "");
  LLVMValueRef ids[3] = {LLVMBuildURem(w->b, block, gx, ""), LLVMBuildURem(w->b, rest, gy, ""),
                         LLVMBuildUDiv(w->b, rest, gy, "")};
  for (unsigned axis = 0; axis < 3; axis++)
    LLVMBuildStore(w->b, LLVMBuildTrunc(w->b, ids[axis], w->p->i32, ""), slots[axis]);
}

/* The ids after `count` blocks, which are in one row of the grid. */
static void count_ids(emission *e, const block_loop *l, LLVMValueRef count) {
  widener *w = &e->w;
  LLVMTypeRef i32 = w->p->i32;
  LLVMValueRef more = LLVMBuildTrunc(w->b, count, i32, ""), none = constant_i32(w->p, 0);
  for (unsigned axis = 0; axis < 3; axis++) {
    LLVMValueRef id = LLVMBuildAdd(w->b, load_slot(e, i32, l->ids[axis]), more, "");
    if (axis < 2) {
      LLVMValueRef ends = LLVMBuildICmp(w->b, LLVMIntEQ, id, LLVMBuildTrunc(w->b, grid_size(w, axis), i32, ""), "");
      id = LLVMBuildSelect(w->b, ends, none, id, "");
      more = LLVMBuildZExt(w->b, ends, i32, "");
    }
    LLVMBuildStore(w->b, id, l->ids[axis]);
  }
}

static void continue_blocks(emission *e, const block_loop *l, LLVMValueRef count) {
  widener *w = &e->w;
  if (l->ids[0]) count_ids(e, l, count);
  LLVMBuildStore(w->b, LLVMBuildNUWAdd(w->b, load_slot(e, w->p->i64, l->slot), count, ""), l->slot);
  LLVMBuildBr(w->b, l->head);
}

/* Continue with the next block, or with those after `count` gangs, if no thread of this one has anything to do. */
static void skip_empty_block(emission *e, const block_loop *l, LLVMValueRef count) {
  widener *w = &e->w;
  LLVMValueRef ctaid[3];
  for (unsigned axis = 0; axis < 3; axis++) ctaid[axis] = load_slot(e, w->p->i32, w->ctaid[axis]);
  LLVMValueRef some = build_block_guard(w, ctaid);
  w->k->skips_blocks = some != NULL;
  if (!some) return;
  LLVMBasicBlockRef skip = new_block(e, "block.skipped"), run = new_block(e, "block.run");
  LLVMBuildCondBr(w->b, some, run, skip);
  continue_at(e, skip);
  continue_blocks(e, l, count);
  continue_at(e, run);
}

static LLVMValueRef lesser(widener *w, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(w->b, LLVMBuildICmp(w->b, LLVMIntULT, a, b, ""), a, b, "");
}

void begin_blocks(emission *e, block_loop *l) {
  widener *w = &e->w;
  program *p = w->p;
  LLVMBasicBlockRef body = new_block(e, "block");
  *l = (block_loop){.head = new_block(e, "blocks"), .done = new_block(e, "blocks.done")};
  l->slot = LLVMBuildAlloca(w->entry, p->i64, "block");
  LLVMValueRef end = joined_from(w, e->end_block), first = joined_from(w, e->first_block);
  LLVMBuildStore(w->b, first, l->slot);
  bool counts = counts_ids(e);
  for (unsigned axis = 0; axis < 3 && counts; axis++) l->ids[axis] = LLVMBuildAlloca(w->entry, p->i32, "id");
  if (counts) store_ids(w, first, l->ids);
  LLVMBuildBr(w->b, l->head);
  continue_at(e, l->head);
  LLVMValueRef block = load_slot(e, p->i64, l->slot);
  LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, LLVMIntULT, block, end, ""), body, l->done);
  continue_at(e, body);
  l->count = e->shared_gangs ? begin_block_range(e, block, end, &block) : constant_i64(p, 1);
  if (p->packed > 1) l->count = constant_i64(p, p->packed);
  LLVMValueRef number = p->packed > 1 ? LLVMBuildOr(w->b, block, constant_i64(p, MW_PACKED_BLOCKS), "")
                                      : LLVMBuildMul(w->b, block, constant_i64(p, p->merged), "");
  if (!p->turned_grid) store_block(w, number);
  if (!counts) store_ids(w, block, w->ctaid);
  for (unsigned axis = 0; axis < 3 && counts; axis++)
    LLVMBuildStore(w->b, load_slot(e, p->i32, l->ids[axis]), w->ctaid[axis]);
  if (p->turned_grid) store_block(w, number);
  skip_empty_block(e, l, l->count);
  w->k->joins_blocks = joins_blocks(e);
  if (w->k->joins_blocks) {
    e->block = block, e->last_block = end;
    e->begun = LLVMBuildAlloca(w->entry, p->i64, "begun");
    LLVMBuildStore(w->b, constant_i64(p, 0), e->begun);
  }
  save_for_fallback(e);
  select_strip_block(w, LLVMBuildSub(w->b, block, e->first_block, ""));
  if (takes_rows_of_blocks(w->k, w->shapes)) {
    LLVMValueRef column = load_slot(e, p->i32, w->ctaid[0]), wide = LLVMBuildZExt(w->b, column, p->i64, "");
    LLVMValueRef left = lesser(w, LLVMBuildSub(w->b, grid_size(w, 0), wide, ""), LLVMBuildSub(w->b, end, block, ""));
    l->count = lesser(w, left, constant_i64(p, MOST_TOGETHER));
    e->row_of_blocks = LLVMBuildAlloca(w->entry, p->i32, "adjacent");
    e->row_count = LLVMBuildTrunc(w->b, l->count, p->i32, "");
    e->row_first = block;
    e->row_column = column;
  }
}

void end_blocks(emission *e, const block_loop *l) {
  program *p = e->w.p;
  LLVMValueRef more = e->begun ? load_slot(e, p->i64, e->begun) : constant_i64(p, 0);
  continue_blocks(e, l, LLVMBuildNUWAdd(e->w.b, l->count, more, ""));
  continue_at(e, l->done);
}

/* ---- blocks as one row of threads ---- */

LLVMValueRef can_be_joined(emission *e) {
  widener *w = &e->w;
  LLVMValueRef most = constant_i32(w->p, (unsigned)(BOUND_EXTENT / w->p->block[0]) - MOST_JOINED);
  return LLVMBuildICmp(w->b, LLVMIntULE, load_slot(e, w->p->i32, w->ctaid[0]), most, "");
}

void begin_joined(emission *e, joined_blocks *j) {
  widener *w = &e->w;
  LLVMBuilderRef b = w->b;
  LLVMTypeRef i64 = w->p->i64;
  j->begun = load_slot(e, i64, e->begun), j->column = load_slot(e, w->p->i32, w->ctaid[0]);
  j->first = LLVMBuildAdd(b, e->block, j->begun, "");
  LLVMValueRef left = LLVMBuildSub(b, grid_size(w, 0), LLVMBuildZExt(b, j->column, i64, ""), "");
  left = lesser(w, left, LLVMBuildSub(b, e->last_block, j->first, ""));
  j->count = lesser(w, left, constant_i64(w->p, MOST_JOINED));
  LLVMValueRef count = LLVMBuildTrunc(b, j->count, w->p->i32, "");
  j->threads = LLVMBuildMul(b, count, constant_i32(w->p, w->p->block[0]), "");
  j->at = LLVMBuildAlloca(w->entry, w->p->i32, "at");
  LLVMBuildStore(b, first_id(w, 0), j->at);
}

void enter_joined(emission *e, const joined_blocks *j, LLVMValueRef thread) {
  widener *w = &e->w;
  LLVMBuilderRef b = w->b;
  LLVMValueRef before = LLVMBuildNUWMul(b, j->column, constant_i32(w->p, w->p->block[0]), "");
  w->row_index = LLVMBuildNUWAdd(b, before, thread, "");
  LLVMSetNSW(w->row_index, 1);
  LLVMValueRef wide = constant_i32(w->p, w->p->block[0]), number = LLVMBuildUDiv(b, thread, wide, "");
  LLVMBuildStore(b, LLVMBuildURem(b, thread, wide, ""), w->tid[0]);
  LLVMBuildStore(b, LLVMBuildAdd(b, j->column, number, ""), w->ctaid[0]);
  number = LLVMBuildZExt(b, number, w->p->i64, "");
  LLVMBuildStore(b, LLVMBuildAdd(b, j->begun, number, ""), e->begun);
  number = LLVMBuildAdd(b, j->first, number, "");
  store_block(w, LLVMBuildMul(b, number, constant_i64(w->p, w->p->merged), ""));
}

void end_joined(emission *e, const joined_blocks *j) {
  widener *w = &e->w;
  LLVMValueRef others = LLVMBuildSub(w->b, j->count, constant_i64(w->p, 1), "");
  LLVMBuildStore(w->b, LLVMBuildAdd(w->b, j->begun, others, ""), e->begun);
}

/* ---- within a row of blocks ---- */

counted begin_adjacent_blocks(emission *e) {
  widener *w = &e->w;
  if (!e->row_of_blocks) return (counted){0};
  counted c = begin_counted(e, e->row_of_blocks, e->row_count, 1);
  LLVMValueRef adjacent = load_slot(e, w->p->i32, e->row_of_blocks);
  LLVMBuildStore(w->b, LLVMBuildAdd(w->b, e->row_column, adjacent, ""), w->ctaid[0]);
  save_for_fallback(e);
  store_block(w, LLVMBuildAdd(w->b, e->row_first, LLVMBuildZExt(w->b, adjacent, w->p->i64, ""), ""));
  return c;
}

void end_adjacent_blocks(emission *e, counted c) {
  if (c.head) end_counted(e, c);
}
