/* The paths of a region for one gang: the speculative path, for gangs whose values have the shapes of
 * speculative_shapes.c, that for gangs in which a row ends, and the general and uniform ones.
 *
 * Where indices are divided by the length of a row, `x = i % w, y = i / w`, they are contiguous up to the row's end. A
 * gang in which a row ends is run as several, each of which is the rest of a row: the first thread of each computes its
 * quotients as scalars, and how many threads follow it in its row.
 *
 * A row of the data that goes on in the next block ends no gang there, where blocks may be joined (block_loop.c).
 *
 * Invariant: each thread of the block's row is in exactly one gang. Row by row, a gang begins where the one before
 * ended, and has at least one thread; the rest of a gang whose shapes are others is run as the general path would
 * have. */
#include "emission.h"
#include "mwcc/widen/values/continued_division.h"
#include "mwcc/read/read.h"

#include <stdlib.h>
#include <string.h>

/* The uniform path, if `both`, and the general path. */
static void emit_paths(emission *e, int entry, bool both) {
  e->too_long = false;
  bool has_uniform_path = both && begin_uniform_path(e, entry);
  if (has_uniform_path) {
    e->path = &e->paths[1];
    emit_path(e, entry);
    e->path = &e->paths[0];
  }
  if (!has_uniform_path || !e->falls_back) {
    if (has_uniform_path) continue_at(e, new_block(e, "apart"));
    emit_path(e, entry);
  }
  emit_rest(e);
  free_path(&e->paths[1]);
}

/* The known forms of values, to be restored. */
typedef struct forms {
  widened *table;
  size_t size, used;
} forms;

static forms copy_forms(const widener *w) {
  forms copy = {mw_alloc(w->table_size * sizeof *copy.table), w->table_size, w->table_used};
  if (copy.size) memcpy(copy.table, w->table, copy.size * sizeof *copy.table);
  return copy;
}

/* A path for lanes whose values have the shapes, with slots of its own, from `block` on. `before`: the forms before the
   test that leads to it. */
static void emit_speculative_path(emission *e, int entry, LLVMBasicBlockRef block, const speculation *x, mask root,
                                  forms before) {
  widener *w = &e->w;
  const shapes *proved = w->shapes;
  path general = e->paths[0];
  forms kept = {w->table, w->table_size, w->table_used};
  w->shapes = &x->shapes, w->speculated = x;
  w->table = before.table, w->table_size = before.size, w->table_used = before.used;
  continue_at(e, block);
  w->stamp++;
  if (begin_path(e, &e->paths[0], x->shapes.divergent, entry)) {
    e->paths[0].root = root;
    emit_paths(e, entry, root.all);
    free_path(&e->paths[0]);
  }
  free(w->table);
  w->shapes = proved, w->speculated = NULL;
  w->table = kept.table, w->table_size = kept.size, w->table_used = kept.used;
  e->paths[0] = general;
  w->stamp++;
}

/* The path for gangs that have the speculated shapes. The builder is left where gangs fail the test. */
static void emit_whole_gangs(emission *e, int entry) {
  widener *w = &e->w;
  LLVMBasicBlockRef as_expected = new_block(e, "speculative"), other = new_block(e, "general");
  forms before = copy_forms(w);
  build_likely(w->p, w->b, build_shape_test(w, e->speculation), as_expected, other);
  emit_speculative_path(e, entry, as_expected, e->speculation, e->path->root, before);
  continue_at(e, other);
}

/* The lanes up to number `end`, or from it on. */
static mask lanes_before(widener *w, LLVMValueRef end, bool before) {
  mask m = {0};
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef number = splat(w, constant_i32(w->p, (unsigned)(u * w->width)));
    number = LLVMBuildAdd(w->b, number, lane_numbers(w, w->p->i32), "");
    m.lanes.of[u] = LLVMBuildICmp(w->b, before ? LLVMIntULT : LLVMIntUGE, number, splat(w, end), "");
  }
  return m;
}

/* From the gang's first thread to the end of the block's row: a gang is as many threads as have the speculated shapes,
   and the next one begins after them. The builder is left where rows are too short for that, or, for the rest of a
   gang as others have it, where the shapes are not those: the general path's root mask then has that rest. */
static void emit_row_runs(emission *e, int entry) {
  widener *w = &e->w;
  program *p = w->p;
  const speculation *x = e->speculation->rows;
  LLVMValueRef threads = constant_i32(p, (unsigned)(w->width * w->vectors)), holds;
  LLVMBasicBlockRef rows = new_block(e, "rows"), head = new_block(e, "row"), run = new_block(e, "run"),
                    next = new_block(e, "next"), done = new_block(e, "rows.done"), rest = new_block(e, "rest"),
                    general = new_block(e, "general"), region_end = e->end;
  bool is_zero = w->tid_is_zero[0];
  const shapes *proved = w->shapes;
  LLVMValueRef first = first_id(w, 0);
  LLVMBasicBlockRef start = LLVMGetInsertBlock(w->b);
  continued_divisions quotients = {0};
  list_positive_divisors(w, &quotients);
  LLVMValueRef chosen = build_row_choice(w, x), positive = build_positive_test(w, &quotients);
  if (positive) chosen = LLVMBuildAnd(w->b, chosen, positive, "");
  if (e->begun) chosen = LLVMBuildAnd(w->b, chosen, can_be_joined(e), "");
  LLVMBuildCondBr(w->b, chosen, rows, general);
  continue_at(e, rows);
  LLVMValueRef limit = e->shared_gangs ? LLVMBuildAdd(w->b, first, threads, "") : w->ntid[0], place = w->tid[0];
  joined_blocks joined;
  if (e->begun) {
    begin_joined(e, &joined);
    limit = joined.threads, place = joined.at;
  }
  LLVMBuildBr(w->b, head);
  continue_at(e, head);
  w->stamp++;
  size_t slots = w->slot_count;
  forms kept = {w->table, w->table_size, w->table_used}, begun = copy_forms(w);
  /* threadIdx.x is a constant if a row is one gang, but not here */
  for (size_t i = 0; i < begun.size; i++) begun.table[i].constant = NULL;
  w->tid_is_zero[0] = false;
  w->table = begun.table;
  assume_positive(w, &quotients);
  begun = (forms){w->table, w->table_size, w->table_used};
  forms before = copy_forms(w);
  LLVMValueRef at = load_slot(e, p->i32, place), left = LLVMBuildSub(w->b, limit, at, "");
  LLVMValueRef some = LLVMBuildICmp(w->b, LLVMIntULT, left, threads, "");
  if (e->begun) enter_joined(e, &joined, at);
  w->continued = &quotients;
  quotients.testing = true;
  w->shapes = &e->speculation->rows_proved;
  LLVMValueRef length = build_row_test(w, x, LLVMBuildSelect(w->b, some, left, threads, ""), &holds);
  w->shapes = proved;
  quotients.testing = false;
  build_likely(p, w->b, holds, run, rest);
  continue_at(e, run);
  mask lanes = lanes_before(w, length, true);
  w->run = lanes.lanes, w->run_length = length;
  e->end = next;
  emit_speculative_path(e, entry, run, x, lanes, before);
  e->end = region_end;
  w->continued = NULL, w->run = (vectors){0}, w->row_index = NULL;
  free(w->table);
  w->table = kept.table, w->table_size = kept.size, w->table_used = kept.used;
  w->tid_is_zero[0] = is_zero;
  continue_at(e, next);
  LLVMValueRef after = LLVMBuildAdd(w->b, at, length, "");
  LLVMBuildStore(w->b, after, place);
  LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, LLVMIntULT, after, limit, ""), head, done);
  continue_at(e, done); /* the loop over gangs continues after the last one */
  LLVMBuildStore(w->b, LLVMBuildSub(w->b, e->begun ? w->ntid[0] : limit, threads, ""), w->tid[0]);
  if (e->begun) end_joined(e, &joined);
  LLVMBuildBr(w->b, region_end);
  continue_at(e, rest);
  LLVMValueRef here = load_slot(e, p->i32, w->tid[0]), skipped = LLVMBuildURem(w->b, here, threads, "");
  LLVMBuildStore(w->b, LLVMBuildSub(w->b, here, skipped, ""), w->tid[0]);
  if (e->begun) save_for_fallback(e);
  LLVMBuildBr(w->b, general);
  empty_slots(w, slots, at);
  keep_quotients(w, &quotients, rows, (LLVMBasicBlockRef[]){done, rest}, 2);
  continue_at(e, general);
  LLVMValueRef skip = LLVMBuildPhi(w->b, p->i32, ""), none = constant_i32(p, 0);
  LLVMAddIncoming(skip, &none, &start, 1);
  LLVMAddIncoming(skip, &skipped, &rest, 1);
  e->path->root = lanes_before(w, skip, false);
  w->stamp++;
}

void emit_gang(emission *e, int entry) {
  bool speculates = e->speculation->count && e->region_count == 1 && e->path->root.all;
  if (speculates) emit_whole_gangs(e, entry);
  bool fails_often = speculates && e->speculation->divides;
  if (speculates && e->has_fallback && !fails_often) {
    call_fallback(e);
    drop_path(e->path);
    return;
  }
  if (speculates && e->speculation->rows && !e->w.why) emit_row_runs(e, entry);
  e->w.speculation_failed = speculates;
  if (!e->w.why) emit_paths(e, entry, !speculates || fails_often);
}
