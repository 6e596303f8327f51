/* The cost model: how many lanes a vector has, and how many vectors a gang (the interleave factor). Enough that the
 * instructions of one vector hide the latency of another's, and no more.
 *
 * What decides:
 *
 *   divergent loops     lanes wait for the one that leaves a loop last, and with more lanes the longer. Latency costs
 *                       more where each iteration needs the results of the one before.
 *   reductions          an accumulator waits for each addition; several vectors have several accumulators, and
 *                       share loads of common operands.
 *   tested indices      indices tested at run time (widen/memory/memory.c) are contiguous in all vectors or none.
 *   register pressure   long code with many values spills. In short code between barriers, a single vector hides
 *                       the latency.
 *   rows                with several rows of a block, conditions on threadIdx.y are masks; with one row they are
 *                       uniform branches.
 *
 * The measurements that the thresholds rest on are in docs/notes/divergence.md. */
#include "mwcc/analysis/simt.h"
#include "mwcc/support/predicates.h"
#include "mwcc/target/tuning.h"
#include "mwcc/analysis/analysis.h"
#include "mwcc/target/target.h"

#include <string.h>

enum {
  FEW = TUNE_VECTORS_FEW,
  SOME = TUNE_VECTORS_SOME,
  MANY = TUNE_VECTORS_MANY,
  MUCH_CODE = TUNE_VECTORS_MUCH_CODE,
  REGISTERS = 32
};

static const char MOST[] = "default";

int operations_of(LLVMValueRef i) { return LLVMIsACallInst(i) && starts_with(callee_name(i), "llvm.fma.") ? 2 : 1; }

/* Whether lanes leave by comparing an index that is affine over the gang: they all leave in the same iteration, or
   nearly. */
static bool exits_by_affine_index(const shapes *s, LLVMValueRef condition) {
  if (!LLVMIsAICmpInst(condition)) return false;
  shape_kind a = shape_of(s, LLVMGetOperand(condition, 0)).kind, b = shape_of(s, LLVMGetOperand(condition, 1)).kind;
  return a <= SHAPE_VECTOR_AFFINE && b <= SHAPE_VECTOR_AFFINE;
}

static bool is_divergent_loop(const graph *g, const shapes *s, const loop *l) {
  for (int n = 0; n < g->count; n++) {
    if (!l->contains[n] || !s->divergent[n]) continue;
    if (exits_by_affine_index(s, LLVMGetCondition(g->nodes[n].last))) continue;
    for (int i = 0; i < g->nodes[n].succ_count; i++)
      if (!l->contains[g->nodes[n].succs[i]]) return true;
  }
  return false;
}

static bool has_divergent_loop(const graph *g, const order *o, const shapes *s) {
  for (int l = 0; l < o->loop_count; l++)
    if (is_divergent_loop(g, s, &o->loops[l])) return true;
  return false;
}

/* Whether divergent loops do nothing but arithmetic. Then each iteration waits for the one before it. */
static bool divergent_loops_are_arithmetic(const graph *g, const order *o, const shapes *s) {
  for (int l = 0; l < o->loop_count; l++) {
    if (!is_divergent_loop(g, s, &o->loops[l])) continue;
    for (int i = 0; i < g->value_count; i++) {
      if (!o->loops[l].contains[g->node_of[i]] || LLVMIsATerminatorInst(g->values[i])) continue;
      LLVMOpcode opcode = LLVMGetInstructionOpcode(g->values[i]);
      if (opcode == LLVMLoad || opcode == LLVMStore || opcode == LLVMAtomicRMW || opcode == LLVMAtomicCmpXchg)
        return false;
      if (is_cold_call(g->values[i])) continue;
      if (opcode == LLVMCall && !starts_with(callee_name(g->values[i]), "llvm.f")) return false; /* fma, fabs */
    }
  }
  return true;
}

static bool has_long_atomics_in_loops(const graph *g, const order *o, const shapes *s) {
  for (int i = 0; i < g->value_count; i++) {
    LLVMValueRef value = g->values[i];
    bool atomic = LLVMIsAAtomicRMWInst(value) || LLVMIsAAtomicCmpXchgInst(value);
    if (atomic && o->innermost[g->node_of[i]] >= 0 && !is_short_atomic(value) && !is_joint_atomic(s, value))
      return true;
  }
  return false;
}

bool has_barriers(const graph *g, const loop *l) {
  for (int n = 0; n < g->count; n++)
    if (l->contains[n] && LLVMIsACallInst(g->nodes[n].last) && is_barrier(g->nodes[n].last)) return true;
  for (int i = 0; i < g->value_count; i++)
    if (l->contains[g->node_of[i]] && is_barrier(g->values[i])) return true;
  return false;
}

/* The most vectors that a loop carries from one iteration to the next, for each vector of the gang; of loops without
   barriers, or of `any`. */
static int carried_by_loops(const graph *g, const order *o, const shapes *s, bool any) {
  int most = 0;
  for (int l = 0; l < o->loop_count; l++) {
    int count = 0, number = graph_number(g, g->nodes[o->loops[l].header].first);
    for (; number < g->value_count && LLVMIsAPHINode(g->values[number]); number++)
      count += g->node_of[number] == o->loops[l].header && shape_of(s, g->values[number]).kind == SHAPE_VARYING;
    if (count > most && (any || !has_barriers(g, &o->loops[l]))) most = count;
  }
  return most;
}

static int carried_vectors(const graph *g, const order *o, const shapes *s) { return carried_by_loops(g, o, s, false); }

/* Whether a loop stores to an address that is only gang-uniform: one lane stores, after a test for each vector. */
static bool stores_for_each_vector(const graph *g, const order *o, const shapes *s) {
  for (int i = 0; i < g->value_count; i++) {
    LLVMValueRef value = g->values[i];
    if (!LLVMIsAStoreInst(value) || o->innermost[g->node_of[i]] < 0) continue;
    if (shape_of(s, LLVMGetOperand(value, 1)).kind == SHAPE_GANG) return true;
  }
  return false;
}

static bool is_sum(LLVMValueRef value) {
  LLVMOpcode opcode = LLVMIsAInstruction(value) ? LLVMGetInstructionOpcode(value) : (LLVMOpcode)0;
  if (opcode == LLVMFAdd || opcode == LLVMFSub) return true;
  return LLVMIsACallInst(value) &&
         (starts_with(callee_name(value), "llvm.fma.") || starts_with(callee_name(value), "llvm.fmuladd."));
}

/* Whether a loop accumulates floating-point numbers from loads that some threads share. */
static bool carries_sums(const graph *g, const order *o, const shapes *s) {
  bool sums = false, common = false;
  for (int i = 0; i < g->value_count; i++) {
    LLVMValueRef value = g->values[i];
    int l = o->innermost[g->node_of[i]];
    if (l < 0) continue;
    if (LLVMIsAPHINode(value) && o->loops[l].header == g->node_of[i])
      for (unsigned n = 0; n < LLVMCountIncoming(value); n++) sums = sums || is_sum(LLVMGetIncomingValue(value, n));
    if (LLVMIsALoadInst(value) && shape_of(s, LLVMGetOperand(value, 0)).kind <= SHAPE_GANG) common = true;
  }
  return sums && common;
}

/* The number of registers that a vector of the cut takes. */
static int registers_each(const graph *g, const shapes *s) {
  int lanes = register_lanes(g->program);
  return s->cut.lanes > lanes ? s->cut.lanes / lanes : 1;
}

enum { LINE = 16 /* of memory, in elements of 32 bits */, MOST_BLOCKED_SUMS = TUNE_BLOCKED_SUMS };

/* Whether carried values have to be loaded and stored in each iteration, and that is more than the operands of the
   sums: blocks have many if registers are small. Where memory latency dominates, it is less than the cost of several
   gangs and their barriers. */
static bool carries_too_much(const graph *g, const order *o, const shapes *s, int vectors) {
  bool small = register_lanes(g->program) < LINE;
  int sums = carried_by_loops(g, o, s, true) * vectors * registers_each(g, s);
  if (small && sums > vector_registers(g->program) && carries_sums(g, o, s)) return true;
  return carried_vectors(g, o, s) * vectors >= (small ? 2 * REGISTERS : REGISTERS);
}

bool suits_small_gangs(const graph *g, const order *o, const shapes *s, int vectors) {
  return has_divergent_loop(g, o, s) || has_long_atomics_in_loops(g, o, s) || stores_for_each_vector(g, o, s) ||
         carries_too_much(g, o, s, vectors);
}

/* The largest number of vectors, up to `vectors`, whose loops carry their values in registers, with some left. */
static int vectors_in_registers(const graph *g, const order *o, const shapes *s, int vectors) {
  while (vectors > FEW && carried_vectors(g, o, s) * vectors > vector_registers(g->program) / 2) vectors /= 2;
  int words = (int)carried_words(g, o, s); /* a vector of doubles is two registers */
  bool fills = words * registers_each(g, s) * FEW > vector_registers(g->program);
  return vectors == FEW && fills && words >= 2 * carried_vectors(g, o, s) ? 1 : vectors;
}

/* Whether the loops compute from their own values alone, other than integers, which have low latency. Then each
   iteration waits for the one before it, and longer than for spilled values. */
static bool are_latency_bound(const graph *g, const order *o, const shapes *s) {
  if (carried_vectors(g, o, s) * SOME > REGISTERS) return false;
  for (int i = 0; i < g->value_count; i++) {
    LLVMValueRef value = g->values[i];
    if (o->innermost[g->node_of[i]] < 0 || LLVMIsATerminatorInst(value)) continue;
    if (LLVMIsALoadInst(value) || !is_pure(value)) return false;
    if (LLVMIsAPHINode(value) && shape_of(s, value).kind == SHAPE_VARYING &&
        LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMIntegerTypeKind)
      return false;
  }
  return true;
}

/* ---- reductions whose operands rows and columns of threads share, where a row takes several registers ---- */

/* A line of memory that is loaded for a row of threads is used once for each row of the gang. In a matrix whose rows
   are a power of two long, the lines of a column share few cache sets, and loading them takes longer than multiplying
   them, as half-line registers, with four rows. So a row is one vector of several registers, prefetched once
   (prefetch.c), and there are as many accumulators as registers; half as many if the loop is unrolled
   (commoned_loop_unroll.c) or long. With register blocking (register_blocking.c) there are more. */
static bool shares_lines(const graph *g, const order *o, const shapes *s) {
  const options *all = g->program->options;
  const unsigned *block = g->program->block;
  if (!all->launch_kernel || all->width || s->cut.lanes >= LINE || s->cut.lanes != register_lanes(g->program))
    return false;
  return block[0] % LINE == 0 && block[1] * block[2] > 1 && carries_sums(g, o, s);
}

static size_t trip_count_of_loop(const graph *g, const loop *l) {
  const node *header = &g->nodes[l->header];
  for (int i = 0; i < header->pred_count; i++)
    if (l->contains[header->preds[i]]) return trip_count(header->block, g->nodes[header->preds[i]].block);
  return 0;
}

static bool has_known_trip_counts(const graph *g, const order *o) {
  for (int l = 0; l < o->loop_count; l++)
    if (!trip_count_of_loop(g, &o->loops[l])) return false;
  return true;
}

static bool is_long(const graph *g) {
  int much = g->program->options->checks & MW_CHECK_INITIALISATION ? 2 * MUCH_CODE : MUCH_CODE; /* half is of shadows */
  for (int n = 0, all = much; n < g->count; n++)
    if (g->nodes[n].barrier) much = all / 2;
  size_t length = 0;
  for (int i = 0; i < g->value_count; i++)
    length += (size_t)operations_of(g->values[i]) + cold_call_length(g->values[i]);
  return length > (size_t)much;
}

enum { REGISTER_BLOCKED_VECTORS = TUNE_BLOCKED_VECTORS };

/* Whether each thread has one sum of operands that rows and columns of threads share (a product of matrices). */
static bool is_product(const graph *g, const order *o, const shapes *s) {
  const options *all = g->program->options;
  const unsigned *block = g->program->block;
  if (!all->launch_kernel || block[0] % LINE || block[1] * block[2] < 2) return false;
  if (!carries_sums(g, o, s) || carried_by_loops(g, o, s, true) > MOST_BLOCKED_SUMS || has_known_trip_counts(g, o))
    return false;
  for (int i = 0; i < g->value_count; i++)
    if (o->innermost[g->node_of[i]] >= 0 && !LLVMIsATerminatorInst(g->values[i]) && !is_pure(g->values[i]))
      return false;
  for (int l = 0; l < o->loop_count; l++) {
    LLVMBasicBlockRef before, after;
    if (!is_own_loop(g->nodes[o->loops[l].header].block, &before, &after)) return false;
  }
  return true;
}

/* Register blocking does not pay where registers are executed in two halves: meanwhile an operand can be loaded. */
bool suits_register_blocking(const graph *g, const order *o, const shapes *s) {
  if (!has_pass(g->program, PASS_REGISTER_BLOCKING_SHAPE)) return false;
  return !has_half_units(g->program) && is_product(g, o, s);
}

/* The vectors of a gang whose sums all stay in registers: eight rows, as many as a set of the nearest cache has ways,
   since rows a power of two long are all in the same set; and two vectors of each row, which share what is loaded for
   the row, if sixteen sums are as many registers. */
static int vectors_of_product(const graph *g, const shapes *s) {
  bool pairs = g->program->block[0] % (2 * LINE) == 0;
  for (int i = 0; i < g->value_count && pairs; i++) {
    bool carried = LLVMIsAPHINode(g->values[i]) && shape_of(s, g->values[i]).kind == SHAPE_VARYING;
    pairs = !carried || LLVMABISizeOfType(g->program->layout, LLVMTypeOf(g->values[i])) <= sizeof(float);
  }
  return pairs ? 2 * MANY : MANY;
}

/* Where a block has too few rows for register blocking, or rows of one vector and no register blocking, two blocks
   side by side are merged: twice as much is used of each page of a matrix and of each uniform number. */
bool suits_block_merging(const graph *g, const order *o, const shapes *s) {
  enum { LEAST_ROWS = TUNE_MERGE_ROWS, LEAST_LANES = TUNE_MERGE_LANES };
  const unsigned *block = g->program->block;
  if (block[0] != LINE || block[1] < LEAST_ROWS || block[1] > REGISTER_BLOCKED_VECTORS / 2 || block[2] != 1)
    return false;
  return register_lanes(g->program) >= LEAST_LANES && !is_long(g) && is_product(g, o, s);
}

static int vectors_of_lines(const graph *g, const order *o, const shapes *s) {
  enum { SUMS = TUNE_LINE_REGISTERS };
  if (!is_long(g) && suits_register_blocking(g, o, s)) return REGISTER_BLOCKED_VECTORS;
  int most = is_long(g) || has_known_trip_counts(g, o) ? vector_registers(g->program) / 2 : SUMS,
      each = LINE / s->cut.lanes, vectors = MANY;
  while (vectors > FEW && carried_by_loops(g, o, s, true) * vectors * each > most) vectors /= 2;
  return vectors;
}

/* Whether lanes walk rows of their own, which is done by tiles (opt/row_tiles.h). The rows of one vector are as many
   streams as caches and prefetchers follow, and their loads are independent of each other. Where the rows of a block's
   threads share what lanes walk, several vectors share each gather instead, which is better still. A row of one cache
   line is no stream; but tiles of several vectors of 16 lanes are too much code (edit_distance: 12.7 ms, 7.0 with
   one). */
static bool walks_rows(const graph *g, const order *o, const shapes *s) {
  enum { LARGE = 16 };
  bool large = register_lanes(g->program) >= LARGE;
  if (!has_pass(g->program, PASS_ROW_TILES)) return false;
  for (int i = 0; i < g->value_count; i++) {
    LLVMValueRef value = g->values[i];
    if (!LLVMIsALoadInst(value) || o->innermost[g->node_of[i]] < 0 || s->divergent[g->node_of[i]]) continue;
    if (is_walked_row(s, value) && !is_row_of_column(s, value) && (large || !is_short_row(s, value))) return true;
  }
  return false;
}

static bool gathers_often(const graph *g, const shapes *s) {
  int gathers = 0, others = 0;
  for (int i = 0; i < g->value_count; i++) {
    if (!LLVMIsALoadInst(g->values[i])) continue;
    bool gather = gathers_lanes(s, g->values[i]);
    gathers += gather, others += !gather;
  }
  return gathers > others;
}

/* The bits of a varying element; 0: the value is not varying, or is a condition. */
static unsigned lane_element(const shapes *s, LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  if (LLVMGetTypeKind(type) == LLVMVoidTypeKind || shape_of(s, value).kind != SHAPE_VARYING) return 0;
  if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind) return 64;
  unsigned width = LLVMGetIntTypeWidth(type);
  return width == 1 ? 0 : width <= 8 ? 8 : width <= 16 ? 16 : 64;
}

/* ---- kernels that do little but read several arrays ---- */

/* Memory is fastest where the arrays are read alternately, little of each at a time: 128 bytes of one and then of the
   next is better than 256. */

static bool is_first_from(const graph *g, LLVMValueRef load) {
  LLVMValueRef root = root_of(LLVMGetOperand(load, 0));
  for (int i = 0; i < g->value_count; i++) {
    LLVMValueRef other = g->values[i];
    if (other != load && LLVMIsALoadInst(other) && root_of(LLVMGetOperand(other, 0)) == root) return false;
  }
  return true;
}

/* The bytes of an element that lanes load or store contiguously in global memory; 0: something else. */
static unsigned streamed_element(const graph *g, const shapes *s, LLVMValueRef access) {
  bool loads = LLVMIsALoadInst(access);
  LLVMValueRef address = LLVMGetOperand(access, loads ? 0 : 1);
  LLVMTypeRef type = LLVMTypeOf(loads ? access : LLVMGetOperand(access, 0));
  uint64_t bytes = LLVMABISizeOfType(g->program->layout, type);
  shape at = shape_of(s, address);
  memory_kind kind = memory_of(address);
  if (kind == MEMORY_SHARED || kind == MEMORY_LOCAL || LLVMGetVolatile(access)) return 0;
  return at.kind == SHAPE_AFFINE && at.stride == (int64_t)bytes && bytes <= sizeof(double) ? (unsigned)bytes : 0;
}

/* The bytes of the largest element, if the kernel only reads streams; else 0. */
static unsigned reads_streams(const graph *g, const order *o, const shapes *s) {
  enum { SEVERAL = TUNE_STREAMS, LEAST = 4 /* bytes of an element */ };
  unsigned loads = 0, stores = 0, arithmetic = 0, widest = 0;
  if (o->loop_count) return 0;
  for (int i = 0; i < g->value_count; i++) {
    LLVMValueRef value = g->values[i];
    bool load = LLVMIsALoadInst(value), store = LLVMIsAStoreInst(value);
    if (load || store) {
      unsigned bytes = streamed_element(g, s, value);
      if (!bytes || (load && !is_first_from(g, value))) return 0;
      loads += load, stores += store;
      if (bytes > widest) widest = bytes;
    } else if (shape_of(s, value).kind == SHAPE_VARYING && LLVMTypeOf(value) != g->program->i1) {
      arithmetic += (unsigned)operations_of(value);
    }
  }
  return loads >= SEVERAL && stores && arithmetic <= loads + stores && widest >= LEAST ? widest : 0;
}

/* Where the innermost loops have only bytes in their lanes (a search in text), or 16-bit numbers, a vector register
   holds more of these than of the 32-bit numbers by which registers are counted. */
int lanes_that_pay(const graph *g, const order *o, const shapes *s, const unsigned block[3], bool waits,
                   const char **why) {
  enum { STREAM_LANES = TUNE_STREAM_LANES };
  unsigned widest = 0;
  int lanes = s->cut.lanes;
  if (shares_lines(g, o, s)) {
    *why = ", more lanes because threads of a row share cache lines";
    return LINE;
  }
  if (waits) return lanes;
  if (lanes > STREAM_LANES && reads_streams(g, o, s)) {
    *why = ", fewer lanes because it streams from several arrays";
    return STREAM_LANES;
  }
  for (int i = 0; i < g->value_count; i++) {
    int l = o->innermost[g->node_of[i]];
    bool inner = l >= 0;
    for (int other = 0; inner && other < o->loop_count; other++) inner = o->loops[other].parent != l;
    unsigned element = inner ? lane_element(s, g->values[i]) : 0;
    if (element > widest) widest = element;
  }
  if (widest && widest < 32 && lanes * 32 / (int)widest <= MOST_LANES) lanes = lanes * 32 / (int)widest;
  if (block[0] % (unsigned)lanes) return s->cut.lanes;
  if (lanes > s->cut.lanes) *why = ", more lanes because its inner loops only have numbers of 8 or 16 bits";
  return lanes;
}

int vectors_that_pay(const graph *g, const order *o, const shapes *s, const char **why) {
  if (has_divergent_loop(g, o, s)) {
    bool waits =
        divergent_loops_are_arithmetic(g, o, s) && carried_vectors(g, o, s) * SOME <= vector_registers(g->program) / 2;
    *why = waits ? "it has a divergent loop that is latency-bound" : "it has a divergent loop";
    return waits ? SOME : FEW;
  }
  if (walks_rows(g, o, s)) {
    *why = "its lanes walk rows of their own";
    return 1;
  }
  if (gathers_often(g, s)) {
    *why = "it has more gathers than vector loads";
    return FEW;
  }
  if (shares_lines(g, o, s)) {
    *why = "its loops accumulate from loads that threads share";
    return vectors_of_lines(g, o, s);
  }
  if (is_long(g)) {
    *why = "its code is long";
    return FEW;
  }
  if (carries_sums(g, o, s)) {
    *why = "its loops accumulate from loads that threads share";
    if (suits_register_blocking(g, o, s)) return REGISTER_BLOCKED_VECTORS;
    if (has_half_units(g->program) && is_product(g, o, s)) return vectors_of_product(g, s);
    return vectors_in_registers(g, o, s, MANY);
  }
  if (vectors_in_registers(g, o, s, SOME) < SOME) {
    if (are_latency_bound(g, o, s)) {
      *why = "its loops are latency-bound";
      return SOME;
    }
    *why = "its loop-carried values fill the registers";
    return vectors_in_registers(g, o, s, SOME);
  }
  *why = has_records(s) ? "its lanes access records" : MOST;
  return *why != MOST || reads_streams(g, o, s) > sizeof(float) ? FEW : SOME;
}

/* The number of conditions that are masks, or differ between vectors. */
static int masks_of(const graph *g, const order *o, cut c) {
  shapes s = shapes_of(g, o, c);
  int count = 0;
  for (int i = 0; i < g->value_count; i++)
    if (LLVMTypeOf(g->values[i]) == g->program->i1) count += shape_of(&s, g->values[i]).kind > SHAPE_GANG;
  shapes_free(&s);
  return count;
}

cut rows_that_pay(const graph *g, const order *o, cut c, const unsigned block[3], const char **why) {
  if (c.kind != CUT_PLANE || c.columns < FEW || !*why || strcmp(*why, MOST) != 0) return c;
  cut row = cut_block(block, c.lanes, c.columns);
  if (row.kind != CUT_ROWS || masks_of(g, o, row) >= masks_of(g, o, c)) return c;
  *why = "gangs of several rows would need masks that gangs of one row do not";
  return row;
}
