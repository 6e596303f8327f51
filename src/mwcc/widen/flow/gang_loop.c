/* The loops over the gangs of a block, and gangs that several workers share.
 *
 * As a rule a worker runs whole blocks. Where a grid has few blocks for its workers (mwcc --launch=…:few), the last
 * blocks keep some workers busy while others are idle: 32 blocks keep 16 workers for two blocks each, or three if
 * one of them is late, and two blocks keep only two workers busy. Then the block function counts gangs instead of
 * blocks: all those of the first block, those of the second, and so on. So a worker may begin and end anywhere in a
 * block.
 *
 * That is done for kernels in which no thread can observe which others ran before it (no barriers, no shared memory, no
 * waiting), and which have loops: a shorter block takes less time than waking a worker. */
#include "mwcc/widen/memory/memory.h"
#include "emission.h"

/* ---- which kernels ---- */

static unsigned rows_of(const cut *c) { return c->kind == CUT_PLANE ? (unsigned)(c->vectors / c->columns) : 1; }

static unsigned columns_of(const cut *c) { return (unsigned)(c->lanes * c->vectors) / rows_of(c); }

/* The number of gangs in a block of that size, by axis. */
static void count_gangs_of(const cut *c, const unsigned block[3], unsigned out[3]) {
  bool line = c->kind == CUT_LINE;
  unsigned length = line ? block[0] * block[1] * block[2] : block[0];
  out[0] = (length + columns_of(c) - 1) / columns_of(c);
  out[1] = line ? 1 : block[1] / rows_of(c);
  out[2] = line ? 1 : block[2];
}

/* The number of gangs of a block that workers may share; 0: they may not. */
static unsigned gangs_to_share(const emission *e) {
  const widener *w = &e->w;
  const program *p = w->p;
  const kernel *k = w->k;
  unsigned count[3];
  if (!p->options->launch_kernel || p->merged > 1 || e->region_count > 1 || !w->shapes->order->loop_count) return 0;
  if (!k->any_order || k->shared_bytes || k->dynamic_shared || k->iterations_end) return 0;
  count_gangs_of(&w->shapes->cut, p->block, count);
  unsigned all = count[0] * count[1] * count[2];
  return all > 1 ? all : 0;
}

void choose_sharing(emission *e) {
  program *p = e->w.p;
  if (p->packed > 1) return;
  unsigned gangs = has_pass(p, PASS_GANG_SHARING) ? gangs_to_share(e) : 0;
  e->shared_gangs = p->options->launch_few ? gangs : 0;
  p->gangs = e->shared_gangs ? gangs : gangs > 0 || p->few_pays;
}

/* ---- the range of a block's gangs that is run ---- */

LLVMValueRef begin_block_range(emission *e, LLVMValueRef at, LLVMValueRef end, LLVMValueRef *block) {
  widener *w = &e->w;
  program *p = w->p;
  LLVMValueRef gangs = constant_i64(p, e->shared_gangs), first = LLVMBuildURem(w->b, at, gangs, "");
  LLVMValueRef in_block = LLVMBuildSub(w->b, gangs, first, ""), left = LLVMBuildSub(w->b, end, at, "");
  LLVMValueRef less = LLVMBuildICmp(w->b, LLVMIntULT, in_block, left, "");
  LLVMValueRef count = LLVMBuildSelect(w->b, less, in_block, left, "");
  e->first_gang = LLVMBuildTrunc(w->b, first, p->i32, "");
  e->end_gang = LLVMBuildTrunc(w->b, LLVMBuildAdd(w->b, first, count, ""), p->i32, "");
  *block = LLVMBuildUDiv(w->b, at, gangs, "");
  return count;
}

/* threadIdx of the gang's first thread. */
static void set_ids(emission *e, LLVMValueRef gang) {
  widener *w = &e->w;
  program *p = w->p;
  const cut *c = &w->shapes->cut;
  unsigned count[3], step[3] = {columns_of(c), rows_of(c), 1};
  count_gangs_of(c, p->block, count);
  for (int axis = 0; axis < 3; axis++) {
    LLVMValueRef n = LLVMBuildURem(w->b, gang, constant_i32(p, count[axis]), "");
    LLVMBuildStore(w->b, LLVMBuildMul(w->b, n, constant_i32(p, step[axis]), ""), w->tid[axis]);
    w->tid_is_zero[axis] = count[axis] == 1;
    gang = LLVMBuildUDiv(w->b, gang, constant_i32(p, count[axis]), "");
  }
}

static void begin_shared(emission *e, gang_loop *l) {
  widener *w = &e->w;
  LLVMBasicBlockRef body = new_block(e, "body");
  l->head = new_block(e, "each"), l->done = new_block(e, "done");
  LLVMBuildStore(w->b, e->first_gang, w->gang);
  LLVMBuildBr(w->b, l->head);
  continue_at(e, l->head);
  LLVMValueRef gang = load_slot(e, w->p->i32, w->gang);
  LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, LLVMIntULT, gang, e->end_gang, ""), body, l->done);
  continue_at(e, body);
  set_ids(e, gang);
}

/* ---- the loops ---- */

void begin_gangs(emission *e, gang_loop *l) {
  widener *w = &e->w;
  const cut *c = &w->shapes->cut;
  *l = (gang_loop){0};
  if (e->shared_gangs) {
    begin_shared(e, l);
    return;
  }
  /* Where gangs are cut from the linear id, tid[0] is that id. */
  bool line = c->kind == CUT_LINE;
  LLVMValueRef one = constant_i32(w->p, 1), length = line ? count_threads(w) : w->ntid[0];
  LLVMBuildStore(w->b, constant_i32(w->p, 0), w->gang);
  l->z = begin_counted(e, w->tid[2], line ? one : w->ntid[2], 1);
  l->y = begin_counted(e, w->tid[1], line ? one : w->ntid[1], rows_of(c));
  l->adjacent = begin_adjacent_blocks(e);
  l->x = begin_counted(e, w->tid[0], length, columns_of(c));
  w->tid_is_zero[0] = !l->x.head, w->tid_is_zero[1] = !l->y.head, w->tid_is_zero[2] = !l->z.head;
}

void end_gangs(emission *e, const gang_loop *l) {
  widener *w = &e->w;
  LLVMBuildStore(w->b, LLVMBuildNUWAdd(w->b, load_slot(e, w->p->i32, w->gang), constant_i32(w->p, 1), ""), w->gang);
  if (e->shared_gangs) {
    LLVMBuildBr(w->b, l->head);
    continue_at(e, l->done);
    return;
  }
  end_counted(e, l->x);
  end_adjacent_blocks(e, l->adjacent);
  end_counted(e, l->y);
  end_counted(e, l->z);
}
