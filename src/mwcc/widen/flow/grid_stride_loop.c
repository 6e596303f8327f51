/* The loops around the blocks for the iterations of a grid-stride loop: how the block function runs the loops that
 * interchange.c has interchanged.
 *
 * Kernels that save nothing: the first iteration of all blocks that a worker was given, then the second of all, and
 * so on.
 *
 *   for each iteration
 *     for each block: run it
 *
 * Kernels that save sums are strip-mined: a few iterations of some blocks, then the next few of the same blocks, and
 * once more the code after the loop when all iterations are done (reduction_state.c).
 *
 *   for each group of blocks
 *     for each strip of iterations
 *       for each block of the group: run it */
#include "emission.h"
#include "mwcc/grid_stride/grid_stride.h"
#include "mwcc/analysis/analysis.h"

#include <string.h>

static LLVMValueRef parameter_of(void *w, LLVMValueRef argument) { return value_scalar(w, argument); }

static LLVMValueRef grid_threads(widener *w) {
  LLVMValueRef blocks = load_invariant(w->p, w->b, w->p->i32, w->frame, offsetof(mw_frame, grid));
  blocks = LLVMBuildZExt(w->b, blocks, w->p->i64, "");
  return LLVMBuildMul(w->b, blocks, constant_i64(w->p, block_size(w->p, 'x')), "");
}

/* ---- values that the kernel's code reads ---- */

static void set_worker_field(widener *w, LLVMValueRef elements, size_t field) {
  LLVMValueRef at = constant_i64(w->p, field);
  LLVMBuildStore(w->b, elements, LLVMBuildInBoundsGEP2(w->b, w->p->i8, w->worker, &at, 1, ""));
}

/* ---- the loops ---- */

static LLVMValueRef lesser(widener *w, LLVMValueRef a, LLVMValueRef b, bool is_signed) {
  LLVMValueRef less = LLVMBuildICmp(w->b, is_signed ? LLVMIntSLT : LLVMIntULT, a, b, "");
  return LLVMBuildSelect(w->b, less, a, b, "");
}

static LLVMValueRef iterations_remain(widener *w, LLVMValueRef iteration) {
  return LLVMBuildICmp(w->b, w->k->iterations_signed ? LLVMIntSLT : LLVMIntULT, iteration, w->elements, "");
}

/* for (slot = first; slot < end; slot += step): the builder is left in the body. */
static void begin_group(emission *e, iteration_loop *l) {
  widener *w = &e->w;
  LLVMBasicBlockRef body = new_block(e, "group");
  l->groups = new_block(e, "groups"), l->groups_done = new_block(e, "groups.done");
  l->group = LLVMBuildAlloca(w->entry, w->p->i64, "group");
  LLVMBuildStore(w->b, e->first_block, l->group);
  LLVMBuildBr(w->b, l->groups);
  continue_at(e, l->groups);
  LLVMValueRef end = e->end_block;
  e->first_block = load_slot(e, w->p->i64, l->group);
  LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, LLVMIntULT, e->first_block, end, ""), body, l->groups_done);
  continue_at(e, body);
  LLVMValueRef next = LLVMBuildNUWAdd(w->b, e->first_block, constant_i64(w->p, w->k->strip_blocks), "");
  e->end_block = lesser(w, next, end, false);
}

/* Parallel iterations: a worker was given a range of the iterations of all blocks, in this order. Takes the part of the
   range that belongs to one iteration. */
static void begin_parallel(emission *e, iteration_loop *l, LLVMBasicBlockRef body) {
  widener *w = &e->w;
  program *p = w->p;
  LLVMBasicBlockRef some = new_block(e, "parallel.iteration");
  LLVMValueRef at = load_slot(e, p->i64, l->slot), end = LLVMGetParam(w->function, 3), blocks = constant_i64(p, 1);
  LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, LLVMIntULT, at, end, ""), some, l->done);
  continue_at(e, some);
  for (unsigned axis = 0; axis < 3; axis++) {
    size_t field = offsetof(mw_frame, grid) + axis * sizeof(uint32_t);
    LLVMValueRef size = load_invariant(p, w->b, p->i32, w->frame, field);
    blocks = LLVMBuildMul(w->b, blocks, LLVMBuildZExt(w->b, size, p->i64, ""), "");
  }
  LLVMValueRef first = LLVMBuildURem(w->b, at, blocks, "");
  LLVMValueRef iteration = LLVMBuildMul(w->b, LLVMBuildUDiv(w->b, at, blocks, ""), grid_threads(w), "");
  LLVMValueRef count = lesser(w, LLVMBuildSub(w->b, blocks, first, ""), LLVMBuildSub(w->b, end, at, ""), false);
  LLVMBuildStore(w->b, LLVMBuildAdd(w->b, at, count, ""), l->slot);
  LLVMBuildStore(w->b, first, l->first);
  LLVMBuildStore(w->b, LLVMBuildAdd(w->b, first, count, ""), l->end);
  set_worker_field(w, iteration, offsetof(mw_worker, iteration));
  LLVMBuildBr(w->b, body);
}

/* Ordered iterations: all those of the blocks that a worker was given, one after the other. */
static void begin_ordered(emission *e, iteration_loop *l, LLVMBasicBlockRef body) {
  widener *w = &e->w;
  LLVMBasicBlockRef some = new_block(e, "iteration");
  LLVMValueRef iteration = load_slot(e, w->p->i64, l->slot);
  LLVMBuildCondBr(w->b, iterations_remain(w, iteration), some, l->done);
  continue_at(e, some);
  LLVMBuildStore(w->b, LLVMBuildAdd(w->b, iteration, grid_threads(w), ""), l->slot);
  LLVMBuildStore(w->b, e->first_block, l->first);
  LLVMBuildStore(w->b, e->end_block, l->end);
  set_worker_field(w, iteration, offsetof(mw_worker, iteration));
  LLVMBuildBr(w->b, body);
}

/* Parallel or ordered, as the launch demands. */
static void begin_chosen(emission *e, iteration_loop *l) {
  widener *w = &e->w;
  program *p = w->p;
  LLVMBasicBlockRef parallel = new_block(e, "free"), ordered = new_block(e, "ordered"),
                    body = new_block(e, "iteration.body");
  l->head = new_block(e, "iterations"), l->done = new_block(e, "iterations.done");
  l->slot = LLVMBuildAlloca(w->entry, p->i64, "iteration");
  l->first = LLVMBuildAlloca(w->entry, p->i64, "first"), l->end = LLVMBuildAlloca(w->entry, p->i64, "end");
  LLVMValueRef zero = constant_i64(p, 0),
               iterations = load_invariant(p, w->b, p->i64, w->frame, offsetof(mw_frame, iterations));
  LLVMValueRef free = LLVMBuildICmp(w->b, LLVMIntNE, iterations, zero, "");
  LLVMBuildStore(w->b, LLVMBuildSelect(w->b, free, e->first_block, zero, ""), l->slot);
  LLVMBuildBr(w->b, l->head);
  continue_at(e, l->head);
  LLVMBuildCondBr(w->b, free, parallel, ordered);
  continue_at(e, parallel);
  begin_parallel(e, l, body);
  continue_at(e, ordered);
  begin_ordered(e, l, body);
  continue_at(e, body);
  e->first_block = load_slot(e, p->i64, l->first), e->end_block = load_slot(e, p->i64, l->end);
}

void begin_iterations(emission *e, iteration_loop *l) {
  widener *w = &e->w;
  if (!w->k->iterations_end) return;
  LLVMValueRef end = repeat_value(w->b, w->k->iterations_end, parameter_of, w);
  w->elements =
      w->k->iterations_signed ? LLVMBuildSExt(w->b, end, w->p->i64, "") : LLVMBuildZExt(w->b, end, w->p->i64, "");
  choose_strip_blocks(w);
  build_iteration_count(w->p, w->k);
  if (w->k->iterations) {
    begin_chosen(e, l);
    return;
  }
  if (w->k->saves_state) begin_group(e, l);
  l->head = new_block(e, "iterations"), l->done = new_block(e, "iterations.done");
  l->slot = LLVMBuildAlloca(w->entry, w->p->i64, "iteration");
  LLVMBuildStore(w->b, constant_i64(w->p, 0), l->slot);
  LLVMBuildBr(w->b, l->head);
  continue_at(e, l->head);
  LLVMValueRef iteration = load_slot(e, w->p->i64, l->slot);
  if (w->k->saves_state) {
    LLVMValueRef few = LLVMBuildMul(w->b, grid_threads(w), constant_i64(w->p, STRIP_ITERATIONS), "");
    LLVMValueRef limit = lesser(w, LLVMBuildAdd(w->b, iteration, few, ""), w->elements, w->k->iterations_signed);
    LLVMBuildStore(w->b, limit, l->slot);
    set_worker_field(w, limit, offsetof(mw_worker, iteration_limit));
    l->iteration = iteration;
  } else {
    LLVMBasicBlockRef body = new_block(e, "iteration");
    LLVMBuildCondBr(w->b, iterations_remain(w, iteration), body, l->done);
    continue_at(e, body);
    LLVMBuildStore(w->b, LLVMBuildAdd(w->b, iteration, grid_threads(w), ""), l->slot);
  }
  set_worker_field(w, iteration, offsetof(mw_worker, iteration));
}

void end_iterations(emission *e, const iteration_loop *l) {
  widener *w = &e->w;
  if (!l->head) return;
  if (!l->groups) {
    LLVMBuildBr(w->b, l->head);
    continue_at(e, l->done);
    return;
  }
  /* once more after the last iteration */
  LLVMBuildCondBr(w->b, iterations_remain(w, l->iteration), l->head, l->done);
  continue_at(e, l->done);
  end_private_adds(e);
  LLVMBuildStore(w->b, e->end_block, l->group);
  LLVMBuildBr(w->b, l->groups);
  continue_at(e, l->groups_done);
}

/* ---- privatised atomic additions: the sums of widen/calls/privatized_atomics.c are added to memory when a group of
   strip-mined blocks is done ---- */

static LLVMValueRef no_place(const privatised_add *a, LLVMTypeRef number) {
  return LLVMConstIntToPtr(LLVMConstAllOnes(number), a->pointer);
}

/* Add one thread's sum, if there is one, and reset it. */
static void add_one(emission *e, const privatised_add *a, LLVMValueRef lane) {
  widener *w = &e->w;
  LLVMBasicBlockRef adds = new_block(e, "adds"), next = new_block(e, "added");
  LLVMValueRef sum = LLVMBuildInBoundsGEP2(w->b, a->type, a->sums, &lane, 1, "");
  LLVMValueRef where = LLVMBuildInBoundsGEP2(w->b, a->pointer, a->places, &lane, 1, "");
  LLVMValueRef at = LLVMBuildLoad2(w->b, a->pointer, where, "");
  LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, LLVMIntEQ, at, no_place(a, w->p->i64), ""), next, adds);
  continue_at(e, adds);
  LLVMSetCurrentDebugLocation2(w->b, a->position);
  LLVMBuildAtomicRMW(w->b, LLVMAtomicRMWBinOpAdd, at, LLVMBuildLoad2(w->b, a->type, sum, ""),
                     LLVMAtomicOrderingMonotonic, 0);
  LLVMBuildStore(w->b, LLVMConstNull(a->type), sum);
  LLVMBuildStore(w->b, no_place(a, w->p->i64), where);
  LLVMBuildBr(w->b, next);
  continue_at(e, next);
}

/* Record that the code from here on runs several blocks. */
static void note_several(widener *w) {
  LLVMValueRef at = constant_i64(w->p, offsetof(mw_worker, block));
  LLVMBuildStore(w->b, constant_i64(w->p, MW_SEVERAL_BLOCKS),
                 LLVMBuildInBoundsGEP2(w->b, w->p->i8, w->worker, &at, 1, ""));
}

void end_private_adds(emission *e) {
  widener *w = &e->w;
  for (int n = 0; n < MOST_SAVED; n++) {
    const privatised_add *a = &w->adds[n];
    if (!a->sums) continue;
    note_several(w);
    counted c = begin_counted(e, LLVMBuildAlloca(w->entry, w->p->i32, "lane"), a->count, 1);
    add_one(e, a, load_slot(e, w->p->i32, c.slot));
    end_counted(e, c);
  }
}
