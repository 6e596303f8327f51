/* How many lanes a vector should have, and how many vectors a gang: enough that one's instructions fill the time that
 * another's take, and no more.
 *
 * What decides, as measured on the benchmarks' kernels:
 *   Lanes that leave a loop one by one wait for the longest, and the more they are the longer that takes. That is less
 *   than what rounds take that do nothing but wait for what the one before them has computed.
 *   A sum that is carried around a loop waits for each addition; several vectors have several sums, and share the loads of
 *   what they have in common.
 *   Indices that are looked at (widen/memory/memory.c) follow each other in all vectors or in none.
 *   Much code with many values runs out of registers. Where it is in pieces between barriers, one part's piece fills the
 *   time by itself.
 *   Several rows of a block make masks of conditions on threadIdx.y, which are plain branches for one row. */
#include "mwcc/analysis/simt.h"
#include "mwcc/target/tuning.h"
#include "mwcc/analysis/analysis.h"
#include "mwcc/target/target.h"

#include <string.h>

enum {
  FEW = TUNE_PARTS_FEW,
  SOME = TUNE_PARTS_SOME,
  MANY = TUNE_PARTS_MANY,
  MUCH_CODE = TUNE_PARTS_MUCH_CODE,
  REGISTERS = 32
};

static const char MOST[] = "as most kernels";

/* Whether lanes differ in when they leave by an index that counts up from one to the next: they all leave in one round, or
   nearly. */
static bool leaves_by_index(const shapes *s, LLVMValueRef condition) {
  if (!LLVMIsAICmpInst(condition)) return false;
  shape_kind a = shape_of(s, LLVMGetOperand(condition, 0)).kind, b = shape_of(s, LLVMGetOperand(condition, 1)).kind;
  return a <= SHAPE_PARTED && b <= SHAPE_PARTED;
}

static bool lanes_leave(const graph *g, const shapes *s, const loop *l) {
  for (int n = 0; n < g->count; n++) {
    if (!l->contains[n] || !s->divergent[n]) continue;
    if (leaves_by_index(s, LLVMGetCondition(g->nodes[n].last))) continue;
    for (int i = 0; i < g->nodes[n].succ_count; i++)
      if (!l->contains[g->nodes[n].succs[i]]) return true;
  }
  return false;
}

static bool lanes_leave_loops(const graph *g, const order *o, const shapes *s) {
  for (int l = 0; l < o->loop_count; l++)
    if (lanes_leave(g, s, &o->loops[l])) return true;
  return false;
}

/* Whether no loop that lanes leave one by one does anything but arithmetic. Then each round waits for the one before it. */
static bool leave_arithmetic(const graph *g, const order *o, const shapes *s) {
  for (int l = 0; l < o->loop_count; l++) {
    if (!lanes_leave(g, s, &o->loops[l])) continue;
    for (int i = 0; i < g->value_count; i++) {
      if (!o->loops[l].contains[g->node_of[i]] || LLVMIsATerminatorInst(g->values[i])) continue;
      LLVMOpcode opcode = LLVMGetInstructionOpcode(g->values[i]);
      if (opcode == LLVMLoad || opcode == LLVMStore || opcode == LLVMAtomicRMW || opcode == LLVMAtomicCmpXchg)
        return false;
      if (is_seldom(g->values[i])) continue;
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

static bool has_barriers(const graph *g, const loop *l) {
  for (int n = 0; n < g->count; n++)
    if (l->contains[n] && LLVMIsACallInst(g->nodes[n].last) && is_barrier(g->nodes[n].last)) return true;
  for (int i = 0; i < g->value_count; i++)
    if (l->contains[g->node_of[i]] && is_barrier(g->values[i])) return true;
  return false;
}

/* The most vectors that a part takes along from round to round of a loop; of one in which nobody waits, or of any. */
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

/* Whether a loop stores what is the same for all lanes of a part, and not for other parts: one lane of each part does, behind
   a test of its own. */
static bool stores_by_part(const graph *g, const order *o, const shapes *s) {
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

/* A floating-point number that a loop adds to in every round, from loads that some threads share. */
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

/* Registers that a vector of the shapes takes. */
static int registers_each(const graph *g, const shapes *s) {
  int lanes = register_lanes(g->program);
  return s->cut.lanes > lanes ? s->cut.lanes / lanes : 1;
}

enum { LINE = 16 /* of memory: numbers of 32 bits */, MOST_BLOCKED_SUMS = TUNE_BLOCKED_SUMS };

/* Whether values that go from round to round have to be loaded and stored in each, where that is more than what a sum is made
   from: for small registers, a block has many. Where memory is waited for in any case, it is less than several gangs and their
   barriers. */
static bool carries_too_much(const graph *g, const order *o, const shapes *s, int parts) {
  bool small = register_lanes(g->program) < LINE;
  int sums = carried_by_loops(g, o, s, true) * parts * registers_each(g, s);
  if (small && sums > vector_registers(g->program) && carries_sums(g, o, s)) return true;
  return carried_vectors(g, o, s) * parts >= (small ? 2 * REGISTERS : REGISTERS);
}

bool suits_small_gangs(const graph *g, const order *o, const shapes *s, int parts) {
  return lanes_leave_loops(g, o, s) || has_long_atomics_in_loops(g, o, s) || stores_by_part(g, o, s) ||
         carries_too_much(g, o, s, parts);
}

/* Of so many parts, those whose loops still carry their values in registers, and have some left. */
static int parts_in_registers(const graph *g, const order *o, const shapes *s, int parts) {
  while (parts > FEW && carried_vectors(g, o, s) * parts > vector_registers(g->program) / 2) parts /= 2;
  return parts;
}

/* Whether the loops calculate from their own values alone, and not in integers, which are there at once. Then each round waits for the one before it, and longer than for
   values that are not in registers. (Orbits with 6 values to carry took three tenths less time with four parts than with two, and
   with the registers of AVX2 a third; chains of 8 that do not wait as long, as much as with two.) */
static bool wait_for_themselves(const graph *g, const order *o, const shapes *s) {
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

/* ---- sums of what rows and columns of threads share, where a row is several registers ----
   A line of memory that is loaded for a row of threads is used once for each row that a gang has. In a matrix whose rows are
   a power of two long, lines of a column get into each other's way in the caches, and take longer to come than registers
   that are half a line take to be multiplied with four rows. So a row is one vector, of several registers, which is asked
   for ahead once (prefetch.c), and there are as many sums as registers; or half as many where the loop is unfolded (commoned_loop_unroll.c)
   or long, in which much else is to be had at hand. (Products of matrices took a fifth to a third less time with 8 lanes,
   filters a fifth.) Where sums take turns in the registers (register_blocking.c), there are more. (Products of matrices took a fifth to a
   quarter less time, distances half; with registers of a whole line, on a Xeon, large products an eighth to a third. Of larger
   blocks 32 vectors together took a fifth to two fifths less than 16.) */

static bool shares_lines(const graph *g, const order *o, const shapes *s) {
  const options *all = g->program->options;
  const unsigned *block = g->program->block;
  if (!all->launch_kernel || all->width || s->cut.lanes >= LINE || s->cut.lanes != register_lanes(g->program))
    return false;
  return block[0] % LINE == 0 && block[1] * block[2] > 1 && carries_sums(g, o, s);
}

static size_t rounds_of_loop(const graph *g, const loop *l) {
  const node *header = &g->nodes[l->header];
  for (int i = 0; i < header->pred_count; i++)
    if (l->contains[header->preds[i]]) return rounds_of(header->block, g->nodes[header->preds[i]].block);
  return 0;
}

static bool has_known_rounds(const graph *g, const order *o) {
  for (int l = 0; l < o->loop_count; l++)
    if (!rounds_of_loop(g, &o->loops[l])) return false;
  return true;
}

static bool is_long(const graph *g) {
  int much = MUCH_CODE;
  for (int n = 0; n < g->count; n++)
    if (g->nodes[n].barrier) much = MUCH_CODE / 2;
  size_t length = (size_t)g->value_count;
  for (int i = 0; i < g->value_count; i++) length += seldom_length(g->values[i]);
  return length > (size_t)much;
}

enum { REGISTER_BLOCKED_VECTORS = TUNE_BLOCKED_VECTORS };

/* One sum a thread, of what rows and columns of a block's threads share. */
static bool is_product(const graph *g, const order *o, const shapes *s) {
  const options *all = g->program->options;
  const unsigned *block = g->program->block;
  if (!all->launch_kernel || block[0] % LINE || block[1] * block[2] < 2) return false;
  if (!carries_sums(g, o, s) || carried_by_loops(g, o, s, true) > MOST_BLOCKED_SUMS || has_known_rounds(g, o))
    return false;
  for (int i = 0; i < g->value_count; i++)
    if (o->innermost[g->node_of[i]] >= 0 && !LLVMIsATerminatorInst(g->values[i]) && !is_pure(g->values[i]))
      return false;
  for (int l = 0; l < o->loop_count; l++) {
    LLVMBasicBlockRef before, behind;
    if (!is_own_loop(g->nodes[o->loops[l].header].block, &before, &behind)) return false;
  }
  return true;
}

/* A processor that multiplies a register in two steps has the time to load a number for each multiplication, and a line
   again for each eight. (With turns, products of 1024 x 1024 took a seventh to a quarter more time on a Zen 4.) */
bool suits_register_blocking(const graph *g, const order *o, const shapes *s) {
  if (!has_pass(g->program, PASS_REGISTER_BLOCKING_SHAPE)) return false;
  return !has_half_units(g->program) && is_product(g, o, s);
}

/* Vectors of a gang whose sums all stay in registers: eight rows, as many as a set of the nearest cache has lines, for rows
   that are a power of two long are all in the same one; and of two vectors, where a row has them, which share what is
   loaded for the row, if sixteen sums are as many registers. (On a Zen 4 blocks of 32 x 32 take three tenths less time with two,
   of 16 x 16 twice as much with sixteen rows.) */
static int parts_of_product(const graph *g, const shapes *s) {
  bool pairs = g->program->block[0] % (2 * LINE) == 0;
  for (int i = 0; i < g->value_count && pairs; i++) {
    bool carried = LLVMIsAPHINode(g->values[i]) && shape_of(s, g->values[i]).kind == SHAPE_VARYING;
    pairs = !carried || LLVMABISizeOfType(g->program->layout, LLVMTypeOf(g->values[i])) <= sizeof(float);
  }
  return pairs ? 2 * MANY : MANY;
}

/* Where a block has too few rows for as many vectors as may take turns, or rows of one vector only where none do, two of them
   beside each other have more: of each page of a matrix, and of each number for all lanes, twice as much is used. (A product of matrices with blocks of
   16 x 16 took a tenth less time with 8 lanes, and a fifth with 16, on a Xeon.) */
bool suits_block_merging(const graph *g, const order *o, const shapes *s) {
  enum { LEAST_ROWS = TUNE_MERGE_ROWS, LEAST_LANES = TUNE_MERGE_LANES };
  const unsigned *block = g->program->block;
  if (block[0] != LINE || block[1] < LEAST_ROWS || block[1] > REGISTER_BLOCKED_VECTORS / 2 || block[2] != 1)
    return false;
  return register_lanes(g->program) >= LEAST_LANES && !is_long(g) && is_product(g, o, s);
}

static int parts_of_lines(const graph *g, const order *o, const shapes *s) {
  enum { SUMS = 16 };
  if (!is_long(g) && suits_register_blocking(g, o, s)) return REGISTER_BLOCKED_VECTORS;
  int most = is_long(g) || has_known_rounds(g, o) ? vector_registers(g->program) / 2 : SUMS, each = LINE / s->cut.lanes,
      parts = MANY;
  while (parts > FEW && carried_by_loops(g, o, s, true) * parts * each > most) parts /= 2;
  return parts;
}

static bool gathers_often(const graph *g, const shapes *s) {
  int gathers = 0, others = 0;
  for (int i = 0; i < g->value_count; i++) {
    if (!LLVMIsALoadInst(g->values[i])) continue;
    if (shape_of(s, LLVMGetOperand(g->values[i], 0)).kind == SHAPE_VARYING && !follows_pattern(s, g->values[i]))
      gathers++;
    else
      others++;
  }
  return gathers > others;
}

/* Bits of an element that differs from lane to lane; 0: the value is none such, or a condition. */
static unsigned lane_element(const shapes *s, LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  if (LLVMGetTypeKind(type) == LLVMVoidTypeKind || shape_of(s, value).kind != SHAPE_VARYING) return 0;
  if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind) return 64;
  unsigned width = LLVMGetIntTypeWidth(type);
  return width == 1 ? 0 : width <= 8 ? 8 : width <= 16 ? 16 : 64;
}

/* ---- kernels that do little but read several arrays ----
   Memory answers best where the arrays are asked for in turns, little of each at a time: with 256 bytes of one and then of
   the next, additions of large arrays took a tenth to a quarter more time than with 128. */

static bool is_first_from(const graph *g, LLVMValueRef load) {
  LLVMValueRef root = root_of(LLVMGetOperand(load, 0));
  for (int i = 0; i < g->value_count; i++) {
    LLVMValueRef other = g->values[i];
    if (other != load && LLVMIsALoadInst(other) && root_of(LLVMGetOperand(other, 0)) == root) return false;
  }
  return true;
}

/* Bytes of an element that lanes load or store one behind the other in memory that all have; 0: something else. */
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

/* Bytes of the largest element, where the kernel is such a one; else 0. */
static unsigned reads_streams(const graph *g, const order *o, const shapes *s) {
  enum { SEVERAL = 2, LEAST = 4 };
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
      arithmetic++;
    }
  }
  return loads >= SEVERAL && stores && arithmetic <= loads + stores && widest >= LEAST ? widest : 0;
}

/* Where the innermost loops have nothing but bytes in their lanes (a search in text), or 16-bit numbers, a vector register
   holds more of these than of the numbers of 32 bits that registers are counted by. */
int lanes_that_pay(const graph *g, const order *o, const shapes *s, const unsigned block[3], bool waits,
                   const char **why) {
  enum { STREAM_LANES = TUNE_STREAM_LANES };
  unsigned widest = 0;
  int lanes = s->cut.lanes;
  if (shares_lines(g, o, s)) {
    *why = ", and more lanes as threads of a row share lines of memory";
    return LINE;
  }
  if (waits) return lanes;
  if (lanes > STREAM_LANES && reads_streams(g, o, s)) {
    *why = ", no more lanes as it reads several arrays in turns";
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
  if (lanes > s->cut.lanes) *why = ", and more lanes as its inner loops have small numbers alone";
  return lanes;
}

int parts_that_pay(const graph *g, const order *o, const shapes *s, const char **why) {
  if (lanes_leave_loops(g, o, s)) {
    bool waits = leave_arithmetic(g, o, s) && carried_vectors(g, o, s) * SOME <= vector_registers(g->program) / 2;
    *why = waits ? "lanes leave a loop one by one, whose rounds wait for each other" : "lanes leave a loop one by one";
    return waits ? SOME : FEW;
  }
  if (gathers_often(g, s)) {
    *why = "it gathers more than it loads";
    return FEW;
  }
  if (shares_lines(g, o, s)) {
    *why = "its loops carry sums of what threads share";
    return parts_of_lines(g, o, s);
  }
  if (is_long(g)) {
    *why = "it is long";
    return FEW;
  }
  if (carries_sums(g, o, s)) {
    *why = "its loops carry sums of what threads share";
    if (suits_register_blocking(g, o, s)) return REGISTER_BLOCKED_VECTORS;
    if (has_half_units(g->program) && is_product(g, o, s)) return parts_of_product(g, s);
    return parts_in_registers(g, o, s, MANY);
  }
  if (parts_in_registers(g, o, s, SOME) < SOME) {
    if (wait_for_themselves(g, o, s)) {
      *why = "rounds of its loops wait for each other";
      return SOME;
    }
    *why = "its loops carry many values";
    return parts_in_registers(g, o, s, SOME);
  }
  *why = MOST;
  return reads_streams(g, o, s) > sizeof(float) ? FEW : SOME;
}

/* Conditions that are masks, or one for each part. */
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
  *why = "several rows would need masks that one alone does not";
  return row;
}
