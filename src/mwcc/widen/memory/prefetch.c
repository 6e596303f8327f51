/* Software prefetching: prefetches in widened code for memory that is loaded later. A prefetch beyond the end of an
 * array or after the last iteration is harmless, so no bounds are computed.
 *
 * Hardware prefetchers follow addresses that advance by little. In a grid-stride loop, or in a loop down the rows of
 * a matrix, each iteration is far from the one before, and every iteration would wait for memory unless it is short
 * enough for out-of-order execution to reach the next ones. address_stride.c finds how far an address advances in an
 * iteration, or from one block to the next. The strategies, by the loop and the access:
 *
 *   long iterations    The addresses of a few iterations ahead. Where lanes use the elements one by one, each lane
 *                    prefetches its own line (prefetch_by_lanes): prefetched all at once, lines wait for each other.
 *   long, but near     Nearby iterations are treated likewise if one has more arithmetic than out-of-order execution
 *                    covers, unless an earlier loop has brought the array into the caches.
 *   short iterations   Bandwidth is the limit, and long contiguous stretches use it best. Where neighbouring
 *                      gangs load neighbouring memory, each gang prefetches what a later gang loads in the same
 *                      iteration. With very many iterations that would be evicted before it is used; then, where a
 *                      block is one gang, every second block prefetches for itself and the next block a few
 *                      iterations ahead (prefetch_block_pairs). Vectors shorter than a line indicate smaller
 *                      caches: there, blocks of one gang are treated like long iterations.
 *   matrix products    Each line that is loaded is combined with numbers of many rows. Where rows are a power of
 *                      two apart, few lines of a column fit into the near caches. So a line of each vector of a row
 *                      is prefetched many iterations ahead (prefetch_columns, prefetch_shared_row).
 *   shared tiles       An iteration loads rows of a matrix into shared memory, waits at a barrier, and works on
 *                      them. Prefetches next to these loads would compete with them, since only so many lines can be
 *                      in flight. So the next iteration's rows are prefetched one by one, with the loads from
 *                      shared memory (defer_rows, prefetch_deferred_rows). Only where a row is a vector of a whole line
 *                      and a block is one gang.
 *   barriers           Blocks that wait at barriers load first and then work for long without access to memory.
 *                      Loads outside of loops are prefetched for the next block (prefetch_next_block).
 *   many streams       Where a thread loads a few elements of one array, of neighbours above and below, say, there
 *                      are more streams than hardware follows. A page ahead in each is prefetched for later blocks
 *                      (prefetch_next_block). */
#include "mwcc/widen/values/address_stride.h"
#include "mwcc/support/predicates.h"
#include "mwcc/target/tuning.h"
#include "mwcc/target/target.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 64, NEAR = TUNE_PREFETCH_NEAR };

/* The length of an iteration in instructions, for all lanes. */
static int iteration_length(const widener *w, int which) {
  int count = 0;
  for (int i = 0; i < w->g->value_count; i++) {
    if (!w->shapes->order->loops[which].contains[w->g->node_of[i]]) continue;
    bool by_lanes = LLVMIsAAtomicRMWInst(w->g->values[i]) || LLVMIsAAtomicCmpXchgInst(w->g->values[i]);
    count += (by_lanes ? 3 * w->width : 1) * (is_uniform(w, w->g->values[i]) ? 1 : w->vectors);
  }
  return count;
}

/* Whether a block, which is one row of threads, is one gang. */
static bool is_whole_block(const widener *w) { return w->p->block[0] == (unsigned)(w->width * w->vectors); }

static LLVMValueRef prefetch(widener *w, LLVMValueRef first, LLVMValueRef distance) {
  enum { READ = 0, SECOND_LEVEL = 2, DATA = 1 }; /* the first level would evict what is needed at once */
  LLVMValueRef at = LLVMBuildGEP2(w->b, w->p->i8, first, &distance, 1, "");
  if (LLVMGetPointerAddressSpace(LLVMTypeOf(at))) at = LLVMBuildAddrSpaceCast(w->b, at, w->p->pointer, "");
  LLVMValueRef arguments[] = {at, constant_i32(w->p, READ), constant_i32(w->p, SECOND_LEVEL), constant_i32(w->p, DATA)};
  return call_intrinsic(w->p, w->b, "llvm.prefetch", &w->p->pointer, 1, arguments, 4);
}

/* The number of vectors, `step` bytes apart, that share a line. */
static int vectors_of_line(const widener *w, uint64_t bytes, int64_t step) {
  uint64_t bytes_each = bytes * (uint64_t)w->width;
  return step == (int64_t)bytes_each && bytes_each < LINE ? (int)(LINE / bytes_each) : 1;
}

/* Prefetch `whole` bytes, which is all that the gang loads, at that distance from the address. */
static void prefetch_stretch(widener *w, LLVMValueRef address, uint64_t whole, LLVMValueRef distance) {
  LLVMValueRef first = vector_scalar(w, address, 0);
  for (uint64_t at = 0; at < whole; at += LINE)
    prefetch(w, first, LLVMBuildAdd(w->b, distance, constant_i64(w->p, at), ""));
}

/* Prefetch in every second block, for itself and the next block, some iterations ahead. A block is one gang. */
static void prefetch_block_pairs(widener *w, LLVMValueRef address, LLVMValueRef stride, uint64_t whole,
                                 LLVMBasicBlockRef on) {
  enum { BLOCKS = TUNE_PREFETCH_BLOCKS, ITERATIONS = TUNE_PREFETCH_BLOCK_ITERATIONS };
  LLVMBasicBlockRef pair = LLVMAppendBasicBlockInContext(w->p->context, w->function, "ahead");
  LLVMValueRef block = LLVMBuildLoad2(w->b, w->p->i32, w->ctaid[0], "");
  LLVMValueRef rest = LLVMBuildAnd(w->b, block, constant_i32(w->p, BLOCKS - 1), "");
  LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, LLVMIntEQ, rest, constant_i32(w->p, 0), ""), pair, on);
  LLVMPositionBuilderAtEnd(w->b, pair);
  prefetch_stretch(w, address, BLOCKS * whole, LLVMBuildMul(w->b, stride, constant_i64(w->p, ITERATIONS), ""));
  LLVMBuildBr(w->b, on);
}

static void start_prefetch_counts(widener *w) {
  LLVMValueRef zero = constant_i32(w->p, 0);
  w->prefetch_count = LLVMBuildAlloca(w->entry, w->p->i32, "prefetches");
  w->most_prefetches = LLVMBuildAlloca(w->entry, w->p->i32, "prefetches.most");
  LLVMBuildStore(w->entry, zero, w->most_prefetches);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(w->p->context);
  LLVMPositionBuilder(b, w->gang_begins, LLVMGetFirstInstruction(w->gang_begins));
  LLVMBuildStore(b, zero, w->prefetch_count);
  LLVMDisposeBuilder(b);
}

/* Whether this gang and every one before it have prefetched at most `few` times. */
static LLVMValueRef prefetches_rarely(widener *w, uint64_t few) {
  if (!w->prefetch_count) start_prefetch_counts(w);
  LLVMValueRef count =
      LLVMBuildAdd(w->b, LLVMBuildLoad2(w->b, w->p->i32, w->prefetch_count, ""), constant_i32(w->p, 1), "");
  LLVMValueRef before = LLVMBuildLoad2(w->b, w->p->i32, w->most_prefetches, "");
  LLVMValueRef more = LLVMBuildICmp(w->b, LLVMIntUGT, count, before, "");
  LLVMValueRef most = LLVMBuildSelect(w->b, more, count, before, "");
  LLVMBuildStore(w->b, count, w->prefetch_count);
  LLVMBuildStore(w->b, most, w->most_prefetches);
  return LLVMBuildICmp(w->b, LLVMIntULE, most, constant_i32(w->p, (unsigned)few), "");
}

static void prefetch_for_gangs(widener *w, LLVMValueRef address, LLVMValueRef stride, uint64_t whole) {
  enum { LEAST = TUNE_PREFETCH_LEAST, CACHED = TUNE_PREFETCH_CACHED };
  uint64_t distance = 2 * whole > LEAST ? 2 * whole : LEAST;
  LLVMBasicBlockRef near = LLVMAppendBasicBlockInContext(w->p->context, w->function, "near"),
                    far = LLVMAppendBasicBlockInContext(w->p->context, w->function, "far"),
                    on = LLVMAppendBasicBlockInContext(w->p->context, w->function, "on");
  value_form(w, address); /* computed here, so that it dominates the blocks that follow */
  vector_scalar(w, address, 0);
  LLVMBuildCondBr(w->b, prefetches_rarely(w, CACHED / distance), near, far);
  LLVMPositionBuilderAtEnd(w->b, near);
  prefetch_stretch(w, address, whole, constant_i64(w->p, distance));
  LLVMBuildBr(w->b, on);
  LLVMPositionBuilderAtEnd(w->b, far);
  if (is_whole_block(w))
    prefetch_block_pairs(w, address, stride, whole, on);
  else
    LLVMBuildBr(w->b, on);
  LLVMPositionBuilderAtEnd(w->b, on);
}

static bool is_number(LLVMValueRef value, uint64_t number) {
  return value && LLVMIsAConstantInt(value) && LLVMConstIntGetZExtValue(value) == number;
}

static bool reads_register(const widener *w, const char *name) {
  for (int i = 0; i < w->g->value_count; i++) {
    const char *read = register_of(w->g->values[i]);
    if (read && strcmp(read, name) == 0) return true;
  }
  return false;
}

/* Whether consecutive gangs load consecutive memory, and so do consecutive blocks. */
static bool follows_neighbour(stride_query q, LLVMValueRef address, uint64_t bytes) {
  const widener *w = q.w;
  const unsigned *block = w->p->block;
  if (w->shapes->cut.kind != CUT_ROWS && !is_whole_block(w)) return false;
  if (block[1] * block[2] > 1 || shape_of(w->shapes, address).step != (int64_t)bytes * w->width) return false;
  return is_number(stride_along(q.w, "tid.x", address), bytes) &&
         is_number(stride_along(q.w, "ctaid.x", address), bytes * block[0]);
}

/* Whether other rows of blocks, or other iterations of an enclosing loop, load the same, so that it may well be
   cached. */
static bool is_loaded_again(stride_query q, LLVMValueRef address) {
  static const char *const others[] = {"ctaid.y", "ctaid.z"};
  const order *o = q.w->shapes->order;
  for (size_t i = 0; i < MW_COUNT(others); i++)
    if (reads_register(q.w, others[i]) && is_number(stride_along(q.w, others[i], address), 0)) return true;
  for (q.loop = o->loops[q.loop].parent; q.loop >= 0; q.loop = o->loops[q.loop].parent) {
    address_stride g = stride_of(&q, address);
    if (!g.known || !g.by) return true;
  }
  return false;
}

/* Whether the load is from memory that gangs share (neither shared nor local), in a loop of a specialised kernel. */
static bool may_prefetch(const widener *w, const stride_query *q, LLVMValueRef address) {
  if (!has_pass(w->p, PASS_PREFETCH)) return false;
  if (!w->p->options->launch_kernel || (w->several_regions && !w->k->reads_tiles_in_place) || q->loop < 0) return false;
  if (w->k->saves_state && !w->k->private_shared)
    return false; /* strip-mining reads memory in long stretches already */
  return memory_of(address) != MEMORY_SHARED && memory_of(address) != MEMORY_LOCAL;
}

/* Whether the next iteration loads where hardware prefetchers do not reach. */
static bool is_far(address_stride stride) {
  if (!stride.known || !stride.by) return false;
  return !LLVMIsAConstantInt(stride.by) || llabs(LLVMConstIntGetSExtValue(stride.by)) >= NEAR;
}

/* Whether the same array is accessed before the load's loop. */
static bool is_accessed_before(const stride_query *q, LLVMValueRef load) {
  const graph *g = q->w->g;
  LLVMValueRef root = root_of(LLVMGetOperand(load, 0));
  for (int i = 0; i < graph_number(g, load); i++) {
    LLVMValueRef other = g->values[i];
    bool loads = LLVMIsALoadInst(other) != NULL;
    if ((!loads && !LLVMIsAStoreInst(other)) || is_inside(q, other)) continue;
    if (root_of(LLVMGetOperand(other, loads ? 0 : 1)) == root) return true;
  }
  return false;
}

/* Arithmetic instructions of an iteration for all lanes; 0 where the iteration has a barrier. */
static int iteration_arithmetic(const widener *w, int which) {
  int count = 0;
  for (int i = 0; i < w->g->value_count; i++) {
    LLVMValueRef value = w->g->values[i];
    if (!w->shapes->order->loops[which].contains[w->g->node_of[i]]) continue;
    if (is_barrier(value)) return 0;
    count += is_varying(w, value) && (LLVMIsABinaryOperator(value) || LLVMIsACallInst(value) || LLVMIsAFCmpInst(value));
  }
  return count * w->vectors;
}

bool reads_between_barriers(const widener *w, LLVMValueRef access) {
  const order *o = w->shapes->order;
  int which = w->g->seamless ? o->innermost[graph_node_of(w->g, access)] : -1;
  for (int i = 0; i < w->g->value_count && which >= 0; i++)
    if (o->loops[which].contains[w->g->node_of[i]] && is_barrier(w->g->values[i])) return true;
  return false;
}

/* Whether iterations load near each other but are too long for out-of-order execution to reach the next one's loads in
   time. */
static bool is_beyond_lookahead(const stride_query *q, LLVMValueRef load, address_stride stride) {
  enum { COVERED = TUNE_PREFETCH_LOOKAHEAD };
  if (!stride.known || !stride.by || is_far(stride) || iteration_arithmetic(q->w, q->loop) <= COVERED) return false;
  return !is_accessed_before(q, load);
}

/* The number of loads of consecutive elements from the array that the load reads. */
static int places_in_array(const widener *w, LLVMValueRef load, uint64_t bytes) {
  LLVMValueRef root = root_of(LLVMGetOperand(load, 0));
  int count = 0;
  for (int i = 0; i < w->g->value_count; i++) {
    LLVMValueRef other = w->g->values[i];
    if (!LLVMIsALoadInst(other) || root_of(LLVMGetOperand(other, 0)) != root) continue;
    count += has_stride(w, LLVMGetOperand(other, 0), (int64_t)bytes);
  }
  return count;
}

static void prefetch_vectors(widener *w, LLVMValueRef address, uint64_t bytes, LLVMValueRef distance) {
  int64_t step = shape_of(w->shapes, address).step;
  int different = step ? w->vectors : 1;
  for (int u = 0; u < different; u += vectors_of_line(w, bytes, step))
    for (uint64_t at = 0; at < bytes * (uint64_t)w->width; at += LINE)
      prefetch(w, vector_scalar(w, address, u), LLVMBuildAdd(w->b, distance, constant_i64(w->p, at), ""));
}

void prefetch_next_block(widener *w, LLVMValueRef load, uint64_t bytes) {
  enum { SEVERAL = TUNE_PREFETCH_PLACES, MOST = TUNE_PREFETCH_MOST_PLACES, AHEAD = TUNE_PREFETCH_AHEAD };
  LLVMValueRef address = LLVMGetOperand(load, 0);
  stride_query q = {.w = w, .loop = w->shapes->order->innermost[graph_node_of(w->g, load)], .all = {.all = true}};
  if (!has_pass(w->p, PASS_PREFETCH)) return;
  if (!w->p->options->launch_kernel || q.loop >= 0 || !is_affine(w, address)) return;
  if (memory_of(address) == MEMORY_SHARED || memory_of(address) == MEMORY_LOCAL) return;
  if (!w->k->waits) {
    int places = w->shapes->order->loop_count || w->fallback ? 0 : places_in_array(w, load, bytes);
    if (places >= SEVERAL && places <= MOST) prefetch_vectors(w, address, bytes, constant_i64(w->p, AHEAD));
    return;
  }
  LLVMValueRef distance = stride_along(q.w, "ctaid.x", address);
  if (!distance || !LLVMIsAConstantInt(distance) || llabs(LLVMConstIntGetSExtValue(distance)) < LINE) return;
  prefetch_vectors(w, address, bytes, distance);
}

/* Whether it is a load from shared memory in that node. */
static bool is_tile_load(const widener *w, LLVMValueRef value, int at) {
  return LLVMIsALoadInst(value) && w->g->node_of[graph_number(w->g, value)] == at &&
         memory_of(LLVMGetOperand(value, 0)) == MEMORY_SHARED;
}

/* Record the next iteration's rows for prefetch_deferred_rows: rows of one line each; after loading them, the iteration
   waits at a barrier and works on them. */
static void defer_rows(widener *w, LLVMValueRef load, uint64_t bytes, address_stride stride) {
  const graph *g = w->g;
  int at = graph_node_of(g, load), works = 0, waits = 0;
  if (!g->seamless || register_lanes(w->p) * sizeof(float) < LINE || bytes * (uint64_t)w->width != LINE) return;
  if (!is_far(stride) || w->vectors == 1 || !is_vector_affine(w, LLVMGetOperand(load, 0))) return;
  for (int i = graph_number(g, load); i < g->value_count && g->node_of[i] == at; i++) {
    waits += is_barrier(g->values[i]);
    works += waits && is_tile_load(w, g->values[i], at);
  }
  deferred_prefetches *a = &w->deferred;
  if (a->stamp != w->stamp) *a = (deferred_prefetches){.stamp = w->stamp};
  if (!works || a->count == (int)MW_COUNT(a->rows)) return;
  LLVMValueRef first = vector_scalar(w, LLVMGetOperand(load, 0), 0),
               second = vector_scalar(w, LLVMGetOperand(load, 0), 1);
  LLVMValueRef step = LLVMBuildSub(w->b, LLVMBuildPtrToInt(w->b, second, w->p->i64, ""),
                                   LLVMBuildPtrToInt(w->b, first, w->p->i64, ""), "");
  a->rows[a->count++] = (row_prefetch){.at = LLVMBuildGEP2(w->b, w->p->i8, first, &stride.by, 1, ""), .step = step};
  a->each = (a->count * w->vectors + works - 1) / works;
}

/* Rows are mostly equidistant, so one address and a step suffice. A wrong prefetch is harmless. */
static void prefetch_row(widener *w, row_prefetch *rows) {
  prefetch(w, rows->at, constant_i64(w->p, 0));
  rows->at = LLVMBuildGEP2(w->b, w->p->i8, rows->at, &rows->step, 1, "");
}

void prefetch_deferred_rows(widener *w, LLVMValueRef load) {
  deferred_prefetches *a = &w->deferred;
  int all = a->count * w->vectors;
  if (a->next == all || a->stamp != w->stamp || !is_tile_load(w, load, graph_node_of(w->g, load))) return;
  for (int n = 0; n < a->each && a->next < all; n++, a->next++) prefetch_row(w, &a->rows[a->next / w->vectors]);
}

/* Whether an iteration loads a line far from the previous one's and combines it with at least FEWEST rows, so that the
   prefetch costs little beside the arithmetic. */
static bool pays_for_rows(const widener *w, uint64_t bytes, int rows, address_stride stride) {
  enum { FEWEST = TUNE_PREFETCH_ROWS };
  return rows >= FEWEST && bytes * (uint64_t)w->width == LINE && is_far(stride);
}

static void prefetch_iterations_ahead(widener *w, LLVMValueRef address, int u, address_stride stride) {
  enum { ITERATIONS = TUNE_PREFETCH_ROW_ITERATIONS };
  prefetch(w, vector_scalar(w, address, u), LLVMBuildMul(w->b, stride.by, constant_i64(w->p, ITERATIONS), ""));
}

/* Where a gang is a plane of rows: the vectors of its first row. */
static void prefetch_columns(widener *w, LLVMValueRef address, uint64_t bytes, address_stride stride) {
  const cut *c = &w->shapes->cut;
  if (c->kind != CUT_PLANE || !pays_for_rows(w, bytes, w->vectors / c->columns, stride)) return;
  if (!is_vector_affine(w, address) || !is_number(stride_along(w, "tid.y", address), 0)) return;
  for (int u = 0; u < c->columns; u++) prefetch_iterations_ahead(w, address, u, stride);
}

void prefetch_ahead(widener *w, LLVMValueRef load, uint64_t bytes) {
  enum { LONG = TUNE_PREFETCH_LONG, ITERATIONS = TUNE_PREFETCH_LONG_ITERATIONS };
  LLVMValueRef address = LLVMGetOperand(load, 0);
  stride_query q = {.w = w, .loop = w->shapes->order->innermost[graph_node_of(w->g, load)], .all = {.all = true}};
  uint64_t bytes_each = bytes * (uint64_t)w->width, whole = bytes_each * (uint64_t)w->vectors;
  if (!may_prefetch(w, &q, address) || whole < LINE) return;
  address_stride stride = stride_of(&q, address);
  if (!is_affine(w, address)) {
    defer_rows(w, load, bytes, stride);
    prefetch_columns(w, address, bytes, stride);
  }
  bool is_near = is_beyond_lookahead(&q, load, stride), waits = reads_between_barriers(w, load);
  bool is_short = !is_near && !waits && iteration_length(w, q.loop) < LONG;
  if (!is_affine(w, address) || !(is_near || is_far(stride))) return;
  if (is_short && (!w->gang_begins || !follows_neighbour(q, address, bytes) || is_loaded_again(q, address))) return;
  if (is_short && (bytes_each >= LINE || !is_whole_block(w))) {
    prefetch_for_gangs(w, address, stride.by, whole);
    return;
  }
  int64_t step = shape_of(w->shapes, address).step;
  if (bytes_each < LINE && step != (int64_t)bytes_each) return;
  w->prefetched =
      (lane_prefetches){.load = load, .distance = LLVMBuildMul(w->b, stride.by, constant_i64(w->p, ITERATIONS), "")};
  for (int u = 0; u < w->vectors; u += vectors_of_line(w, bytes, step))
    w->prefetched.calls.of[w->prefetched.count++] = prefetch(w, vector_scalar(w, address, u), w->prefetched.distance);
  if (!waits || step != (int64_t)bytes_each) return;
  /* rows begin anywhere in a line, and the last vector may end in another line */
  LLVMValueRef last = LLVMBuildAdd(w->b, w->prefetched.distance, constant_i64(w->p, whole - 1), "");
  prefetch(w, vector_scalar(w, address, 0), last);
}

void prefetch_shared_row(widener *w, LLVMValueRef load, uint64_t bytes) {
  LLVMValueRef address = LLVMGetOperand(load, 0);
  stride_query q = {.w = w, .loop = w->shapes->order->innermost[graph_node_of(w->g, load)], .all = {.all = true}};
  if (!may_prefetch(w, &q, address) || is_varying(w, address)) return;
  address_stride stride = stride_of(&q, address);
  if (!pays_for_rows(w, bytes, w->vectors, stride)) return;
  prefetch_iterations_ahead(w, address, 0, stride);
}

void prefetch_by_lanes(widener *w, LLVMValueRef load, LLVMValueRef address) {
  lane_prefetches *a = &w->prefetched;
  if (a->load != load) return;
  while (a->count > 0) LLVMInstructionEraseFromParent(a->calls.of[--a->count]);
  if (w->lane_number * LLVMABISizeOfType(w->p->layout, LLVMTypeOf(load)) % LINE == 0) prefetch(w, address, a->distance);
}
