/* Staging elimination for tiles of a matrix product: the tiles are not copied to shared memory, the matrices are read
 * directly.
 *
 *   for (tile = 0; tile < n; tile += 16) {
 *     as[y][x] = a[row * n + tile + x], bs[y][x] = b[(tile + y) * n + column];
 *     __syncthreads();
 *     for (k = 0; k < 16; k++) sum += as[y][k] * bs[k][x];
 *     __syncthreads();
 *   }
 *
 * as[y][k] holds what thread (k, y) has loaded, a[row * n + tile + k]. So each read of a tile becomes that load, and
 * both loops become one: for (k = 0; k < n rounded up; k++) sum += a[row * n + k] * b[k * n + column]. That is a
 * product like any other: register blocking, block merging and prefetching apply (register_blocking.c, block_merge.c,
 * prefetch.c).
 *
 * Conditions: either all threads reach the loop or none. In an iteration they store one tile of each matrix, an
 * element a thread, indexed by their ids alone. The addresses that they load from are made of ids, block-uniform
 * values and the tile counter, and grow by as much from the last element of a tile to the first of the next as between
 * elements: so with one counter instead of two the address is the same, also in arithmetic that wraps (affine.c). No
 * other memory is stored to in the loop or before it. Code after it may store to the matrices, so a barrier stays
 * after the loop: by then all threads of the block have read, as before.
 *
 * Source positions: where a multiplication takes its operand from memory, as x86's do, a fault is reported at the line
 * of the multiplication.
 *
 * Runs on code for blocks of one size, before loops are unrolled. */
#include "staging.h"
#include "mwcc/support/predicates.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 16, LINE = 16 /* numbers of 32 bits */ };

LLVMValueRef incoming_value(LLVMValueRef phi, LLVMBasicBlockRef block, bool from_there) {
  for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
    if ((LLVMGetIncomingBlock(phi, i) == block) == from_there) return LLVMGetIncomingValue(phi, i);
  return NULL;
}

/* ---- which loops ---- */

/* head -> inner, a loop of one block -> latch -> head or exit (t->after) */
static bool find_blocks(tile_loop *t) {
  if (!is_own_loop(t->inner, &t->head, &t->latch) || t->head == t->latch) return false;
  LLVMValueRef enters = LLVMGetBasicBlockTerminator(t->head), ends = LLVMGetBasicBlockTerminator(t->latch);
  if (!LLVMIsABranchInst(enters) || LLVMIsConditional(enters) || !LLVMIsABranchInst(ends) || !LLVMIsConditional(ends))
    return false;
  bool again = LLVMGetSuccessor(ends, 0) == t->head, other = LLVMGetSuccessor(ends, 1) == t->head;
  LLVMValueRef first = LLVMGetFirstInstruction(t->head), of_latch = LLVMGetFirstInstruction(t->latch);
  if (again == other || !LLVMIsAPHINode(first) || LLVMCountIncoming(first) != 2) return false;
  if (LLVMIsAPHINode(of_latch) && LLVMCountIncoming(of_latch) != 1) return false;
  t->after = LLVMGetSuccessor(ends, again ? 1 : 0);
  for (unsigned i = 0; i < 2; i++)
    if (LLVMGetIncomingBlock(first, i) != t->latch) t->before = LLVMGetIncomingBlock(first, i);
  LLVMValueRef comes = t->before ? LLVMGetBasicBlockTerminator(t->before) : NULL;
  return comes && LLVMIsABranchInst(comes) && incoming_value(first, t->latch, true) &&
         LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(t->latch)) == 2;
}

static bool has_one_pred(LLVMBasicBlockRef block) {
  LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
  return use && !LLVMGetNextUse(use);
}

bool is_uniform_to(const tile_loop *t, LLVMBasicBlockRef block) {
  enum { FAR = 64 };
  LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(t->function);
  LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
  if (LLVMIsConditional(end) && !is_common_to_grid(t, LLVMGetCondition(end))) return false;
  for (int steps = 0; block != entry; steps++) {
    if (steps == FAR || !has_one_pred(block)) return false;
    LLVMValueRef branch = LLVMGetUser(LLVMGetFirstUse(LLVMBasicBlockAsValue(block)));
    if (!LLVMIsABranchInst(branch)) return false;
    if (LLVMIsConditional(branch) && !is_common_to_grid(t, LLVMGetCondition(branch))) return false;
    block = LLVMGetInstructionParent(branch);
  }
  return true;
}

LLVMValueRef through_latch(const tile_loop *t, LLVMValueRef value) {
  bool passes = LLVMIsAPHINode(value) && LLVMGetInstructionParent(value) == t->latch;
  return passes ? LLVMGetIncomingValue(value, 0) : value;
}

/* `i + number`, or NULL. */
static LLVMValueRef increment_of(LLVMValueRef next, LLVMValueRef i) {
  if (!is_operation(next, LLVMAdd) || LLVMGetOperand(next, 0) != i) return NULL;
  return LLVMIsAConstantInt(LLVMGetOperand(next, 1)) ? LLVMGetOperand(next, 1) : NULL;
}

static bool find_counter(tile_loop *t) {
  for (LLVMValueRef phi = LLVMGetFirstInstruction(t->head); LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi)) {
    LLVMValueRef next = incoming_value(phi, t->latch, true), by = increment_of(next, phi);
    if (!by) continue;
    if (t->counter || LLVMTypeOf(phi) != t->p->i32 || LLVMGetInstructionParent(next) == t->inner) return false;
    t->counter = phi, t->counter_next = next, t->counter_first = incoming_value(phi, t->latch, false);
    t->step = LLVMConstIntGetSExtValue(by);
  }
  return t->counter && t->step > 0 && is_common(t, t->counter_first);
}

static bool find_k(tile_loop *t) {
  t->iterations = (int64_t)trip_count(t->inner, t->inner);
  for (LLVMValueRef phi = LLVMGetFirstInstruction(t->inner); LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi)) {
    LLVMValueRef by = increment_of(incoming_value(phi, t->inner, true), phi),
                 first = incoming_value(phi, t->inner, false);
    if (!by) continue;
    if (t->k || LLVMConstIntGetZExtValue(by) != 1 || !LLVMIsAConstantInt(first) || LLVMConstIntGetZExtValue(first))
      return false;
    t->k = phi;
  }
  return t->k && t->iterations > 1 && (t->iterations & (t->iterations - 1)) == 0;
}

static bool is_floating(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMFloatTypeKind || LLVMGetTypeKind(type) == LLVMDoubleTypeKind;
}

/* The loops carry one floating-point sum, which register blocking can group (cost_model.c). */
static bool find_sum(tile_loop *t) {
  int phis = 0;
  for (LLVMValueRef phi = LLVMGetFirstInstruction(t->inner); LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi)) {
    if (phi == t->k) continue;
    if (t->inner_sum) return false;
    t->inner_sum = phi, t->sum_next = incoming_value(phi, t->inner, true),
    t->outer_sum = incoming_value(phi, t->inner, false);
  }
  if (!t->inner_sum || !is_floating(LLVMTypeOf(t->inner_sum)) || !LLVMIsAPHINode(t->outer_sum) ||
      t->outer_sum == t->counter)
    return false;
  if (LLVMGetInstructionParent(t->outer_sum) != t->head || LLVMIsAPHINode(t->sum_next)) return false;
  if (!LLVMIsAInstruction(t->sum_next) || LLVMGetInstructionParent(t->sum_next) != t->inner) return false;
  for (LLVMValueRef phi = LLVMGetFirstInstruction(t->head); LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi))
    phis++;
  return phis == 2 && through_latch(t, incoming_value(t->outer_sum, t->latch, true)) == t->sum_next;
}

/* ---- tiles ---- */

LLVMValueRef shared_variable(LLVMValueRef address) {
  while (LLVMIsAConstantExpr(address) && LLVMGetConstOpcode(address) == LLVMAddrSpaceCast)
    address = LLVMGetOperand(address, 0);
  return LLVMIsAGlobalVariable(address) && memory_of(address) == MEMORY_SHARED ? address : NULL;
}

bool mentions_shared(LLVMValueRef value, int depth) {
  if (!LLVMIsAConstant(value) || LLVMIsAFunction(value)) return false;
  if (LLVMIsAGlobalVariable(value)) return memory_of(value) == MEMORY_SHARED;
  if (depth == 0) return true;
  for (int i = 0; i < LLVMGetNumOperands(value); i++)
    if (mentions_shared(LLVMGetOperand(value, (unsigned)i), depth - 1)) return true;
  return false;
}

/* Match &array[i][j], an element of a square tile, perhaps with padding columns. */
static bool read_place(const tile_loop *t, LLVMValueRef address, LLVMValueRef *array, LLVMValueRef indices[2]) {
  if (!LLVMIsAGetElementPtrInst(address) || LLVMGetNumIndices(address) != 3) return false;
  LLVMValueRef zero = LLVMGetOperand(address, 1);
  LLVMTypeRef rows = LLVMGetGEPSourceElementType(address);
  *array = shared_variable(LLVMGetOperand(address, 0));
  if (!*array || !LLVMIsAConstantInt(zero) || LLVMConstIntGetZExtValue(zero)) return false;
  if (LLVMGlobalGetValueType(*array) != rows || LLVMGetTypeKind(rows) != LLVMArrayTypeKind) return false;
  LLVMTypeRef row = LLVMGetElementType(rows);
  if (LLVMGetTypeKind(row) != LLVMArrayTypeKind || LLVMGetArrayLength2(rows) != (uint64_t)t->iterations) return false;
  if (LLVMGetArrayLength2(row) < (uint64_t)t->iterations) return false;
  indices[0] = LLVMGetOperand(address, 2), indices[1] = LLVMGetOperand(address, 3);
  return true;
}

static tile *tile_of(tile_loop *t, LLVMValueRef array) {
  for (int i = 0; i < t->tile_count; i++)
    if (t->tiles[i].array == array) return &t->tiles[i];
  return NULL;
}

static bool match_store(tile_loop *t, LLVMValueRef store) {
  LLVMValueRef load = LLVMGetOperand(store, 0), indices[2], array;
  if (!is_plain_access(store) || !read_place(t, LLVMGetOperand(store, 1), &array, indices) || tile_of(t, array))
    return false;
  if (!LLVMIsALoadInst(load) || !is_plain_access(load) || LLVMGetInstructionParent(load) != t->head) return false;
  if (t->tile_count == MOST_TILES) return false;
  memory_kind from = memory_of(LLVMGetOperand(load, 0));
  if (from == MEMORY_SHARED || from == MEMORY_LOCAL) return false;
  tile *made = &t->tiles[t->tile_count];
  *made = (tile){.array = array, .store = store, .load = load};
  for (int d = 0; d < 2; d++) made->axes[d] = axis_of(indices[d]);
  if (made->axes[0] == NEITHER || made->axes[1] == NEITHER || made->axes[0] == made->axes[1]) return false;
  t->tile_count++;
  return true;
}

/* A read of a tile has k as one index, and the thread's own id as the other. */
static bool match_read(tile_loop *t, LLVMValueRef load) {
  LLVMValueRef indices[2], array;
  if (!is_plain_access(load) || !read_place(t, LLVMGetOperand(load, 0), &array, indices)) return false;
  tile *of = tile_of(t, array);
  if (!of || of->read || LLVMTypeOf(load) != LLVMTypeOf(of->load)) return false;
  of->read = load, of->counted = NEITHER;
  for (int d = 0; d < 2; d++) {
    bool counts = unextended(indices[d]) == t->k;
    if (!counts && axis_of(indices[d]) != of->axes[d]) return false;
    if (counts && of->counted != NEITHER) return false;
    if (counts) of->counted = of->axes[d];
  }
  return of->counted != NEITHER && all_steps_match(t, LLVMGetOperand(of->load, 0), of->counted);
}

bool is_plain_barrier(LLVMValueRef i) {
  return LLVMIsACallInst(i) && strcmp(callee_name(i), "llvm.nvvm.barrier0") == 0;
}

static bool match_barrier(tile_loop *t, LLVMValueRef i) {
  if (!is_plain_barrier(i)) return false;
  t->barrier = i;
  return true;
}

/* Whether the instruction of the inner loop uses nothing of the outer one but the counter. */
static bool needs_counter_alone(const tile_loop *t, LLVMValueRef i) {
  for (int n = 0; n < LLVMGetNumOperands(i); n++) {
    LLVMValueRef operand = LLVMGetOperand(i, (unsigned)n);
    if (LLVMValueIsBasicBlock(operand) || !LLVMIsAInstruction(operand) || operand == t->counter) continue;
    if (is_in_loop(t, operand) && LLVMGetInstructionParent(operand) != t->inner) return false;
  }
  return true;
}

bool is_place_of_read(const tile_loop *t, LLVMValueRef i) {
  for (int n = 0; n < t->tile_count; n++)
    if (t->tiles[n].read && LLVMGetOperand(t->tiles[n].read, 0) == i)
      return LLVMGetUser(LLVMGetFirstUse(i)) == t->tiles[n].read && !LLVMGetNextUse(LLVMGetFirstUse(i));
  return false;
}

static bool find_tiles(tile_loop *t) {
  for (LLVMValueRef i = LLVMGetFirstInstruction(t->head); i; i = LLVMGetNextInstruction(i)) {
    bool good =
        is_pure(i) || LLVMIsATerminatorInst(i) || axis_of(i) != NEITHER || is_common(t, i) || match_barrier(t, i);
    if (LLVMIsAStoreInst(i) ? !match_store(t, i) : !good) return false;
  }
  for (LLVMValueRef i = LLVMGetFirstInstruction(t->inner); i; i = LLVMGetNextInstruction(i))
    if (LLVMIsALoadInst(i) ? !match_read(t, i) : !is_pure(i) && !LLVMIsATerminatorInst(i)) return false;
  for (LLVMValueRef i = LLVMGetFirstInstruction(t->inner); i; i = LLVMGetNextInstruction(i))
    if (!LLVMIsAPHINode(i) && !LLVMIsALoadInst(i) && !is_place_of_read(t, i) && !needs_counter_alone(t, i))
      return false;
  for (LLVMValueRef i = LLVMGetFirstInstruction(t->latch); i; i = LLVMGetNextInstruction(i))
    if (LLVMIsALoadInst(i) || (!is_pure(i) && !LLVMIsATerminatorInst(i) && !match_barrier(t, i))) return false;
  return t->barrier && t->tile_count == MOST_TILES && t->tiles[0].read && t->tiles[1].read;
}

/* Whether both loads are contiguous along x, one matrix being read by rows and one by columns; otherwise it does not
   pay. */
static bool is_by_rows(const tile_loop *t) {
  int by[AXES] = {0};
  for (int n = 0; n < t->tile_count; n++) {
    const tile *of = &t->tiles[n];
    uint64_t bytes = LLVMABISizeOfType(t->p->layout, LLVMTypeOf(of->load));
    if (!grows_along_x(t, LLVMGetOperand(of->load, 0), bytes)) return false;
    by[of->counted]++;
  }
  return by[X] == 1 && by[Y] == 1;
}

/* ---- the rest of the kernel ---- */

bool reaches_loop(const tile_loop *t, LLVMBasicBlockRef from) {
  unsigned count = LLVMCountBasicBlocks(t->function), seen_count = 0, next = 0;
  LLVMBasicBlockRef *seen = mw_alloc((count + 1) * sizeof *seen);
  bool found = false;
  seen[seen_count++] = from;
  while (next < seen_count && !found) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(seen[next++]);
    for (unsigned s = 0; s < LLVMGetNumSuccessors(end); s++) {
      LLVMBasicBlockRef to = LLVMGetSuccessor(end, s);
      bool known = false;
      for (unsigned i = 0; i < seen_count; i++) known = known || seen[i] == to;
      if (!known) seen[seen_count++] = to;
      found = found || to == t->head;
    }
  }
  free(seen);
  return found;
}

bool is_unrelated(const tile_loop *t, LLVMValueRef i) {
  for (int n = 0; n < LLVMGetNumOperands(i); n++) {
    LLVMValueRef operand = LLVMGetOperand(i, (unsigned)n);
    if (!LLVMValueIsBasicBlock(operand) && mentions_shared(operand, DEPTH)) return false;
  }
  bool id = LLVMIsACallInst(i) && starts_with(callee_name(i), "llvm.nvvm.read.ptx.sreg.");
  if (is_pure(i) || id || LLVMIsATerminatorInst(i)) return true;
  return LLVMIsAStoreInst(i) && is_plain_access(i) && !reaches_loop(t, LLVMGetInstructionParent(i));
}

/* Whether the value is the sum, or is not used after the loop. */
static bool leaves_sum(const tile_loop *t, LLVMValueRef i) {
  bool is_sum = through_latch(t, i) == t->sum_next;
  for (LLVMUseRef use = LLVMGetFirstUse(i); use && !is_sum; use = LLVMGetNextUse(use))
    if (!is_in_loop(t, LLVMGetUser(use))) return false;
  return true;
}

static bool is_isolated(const tile_loop *t) {
  instructions all = instructions_of_function(t->function);
  bool good = true;
  for (size_t n = 0; n < all.count && good; n++)
    good = is_in_loop(t, all.items[n]) ? leaves_sum(t, all.items[n]) : is_unrelated(t, all.items[n]);
  free(all.items);
  return good;
}

/* The block has the same size as the tiles. */
static bool suits_blocks(const tile_loop *t) {
  const unsigned *block = t->p->block;
  return block[X] == (unsigned)t->iterations && block[Y] == (unsigned)t->iterations && block[2] == 1 &&
         block[X] % LINE == 0;
}

/* Whether `times` times the value still fits a signed number of 32 bits. */
static bool is_small(LLVMValueRef value, int64_t times) {
  LLVMValueRef by = LLVMIsABinaryOperator(value) ? LLVMGetOperand(value, 1) : NULL;
  if (LLVMIsAConstantInt(value)) return llabs(LLVMConstIntGetSExtValue(value)) <= INT32_MAX / times;
  if (!by || !LLVMIsAConstantInt(by)) return false;
  int64_t number = LLVMConstIntGetSExtValue(by), power = (int64_t)1 << (number & 31);
  switch (LLVMGetInstructionOpcode(value)) {
  case LLVMSDiv: return number >= times;
  case LLVMUDiv: return number >= 2 * times;
  case LLVMAShr: return power >= times;
  case LLVMLShr: return power >= 2 * times;
  default: return false;
  }
}

/* The loop ends by comparing the stepped counter with a uniform limit, and 32 bits can count the iterations of both
   loops. */
static bool find_end(tile_loop *t) {
  LLVMValueRef end = LLVMGetBasicBlockTerminator(t->latch), condition = LLVMGetCondition(end);
  if (!LLVMIsAICmpInst(condition)) return false;
  LLVMValueRef a = LLVMGetOperand(condition, 0), b = LLVMGetOperand(condition, 1);
  LLVMValueRef limit = a == t->counter_next ? b : a, first = t->counter_first;
  if ((a != t->counter_next && b != t->counter_next) || !is_common(t, limit)) return false;
  LLVMIntPredicate p = LLVMGetICmpPredicate(condition);
  bool continues = a == t->counter_next && LLVMGetSuccessor(end, 0) == t->head;
  bool less = continues && (p == LLVMIntSLT || p == LLVMIntULT);
  bool zero = LLVMIsAConstantInt(first) && LLVMConstIntGetZExtValue(first) == 0;
  bool by_tiles = t->step == 1 && zero && less && is_small(limit, t->iterations);
  t->from_zero = zero && less && p == LLVMIntSLT && (by_tiles || t->step == t->iterations);
  return by_tiles || t->step == t->iterations;
}

static void eliminate_staged_tiles(program *p, kernel *k) {
  const options *o = p->options;
  LLVMValueRef function = k->body;
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block)) {
    int visits_left = MOST_VALUES;
    tile_loop t = {.p = p, .function = function, .visits_left = &visits_left, .inner = block};
    if (!find_blocks(&t) || !find_counter(&t) || !find_k(&t) || !find_sum(&t) || !suits_blocks(&t)) continue;
    if (!find_tiles(&t) || !is_by_rows(&t) || !find_end(&t) || !is_uniform_to(&t, t.before) || !is_isolated(&t))
      continue;
    if (visits_left < 0) continue;
    visits_left = INT_MAX;
    /* Rows of only one cache line are faster with tiles; two merged blocks have rows of two lines (block_merge.c). */
    bool joins = p->block[X] < 2 * LINE;
    p->even_pays = joins;
    if (joins && o->launch_columns % 2) return;
    make_one_loop(&t);
    k->reads_tiles_in_place = true;
    return;
  }
}

static void read_in_place(program *p, kernel *k) {
  if (has_pass(p, PASS_STAGED_TILES)) eliminate_staged_tiles(p, k);
  if (k->reads_tiles_in_place || !has_pass(p, PASS_STAGED_ROWS)) return;
  k->reads_rows_in_place = eliminate_staged_rows(p, k);
}

void eliminate_staging(program *p) {
  const options *o = p->options;
  if (!o->launch_kernel || o->width || o->check_memory || o->level < 2) return;
  for (size_t i = 0; i < p->kernel_count; i++) read_in_place(p, &p->kernels[i]);
}
