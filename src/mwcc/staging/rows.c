/* Staging elimination for rows: elements that a block copies to shared memory, and that all its threads then read.
 *
 *   for (start = 0; start < n; start += 256) {
 *     tile[threadIdx.x] = bodies[start + threadIdx.x];
 *     __syncthreads();
 *     for (j = 0; j < 256; j++) sum += force(me, tile[j]);
 *     __syncthreads();
 *   }
 *
 * The barriers make a block's gangs wait for each other, so that no two workers can share a block. tile[j] holds what
 * thread j has loaded, bodies[start + j]: the same expression with j for the id. The address is computed as that
 * thread has computed it, so nothing overflows that did not before. No barrier is left.
 *
 * Conditions: all threads of the grid reach the loop and branch uniformly in it. In an iteration each thread stores one
 * element, at its id, before any is read, and reads only elements of threads of the block. The kernel stores to no
 * other memory before the loop or in it. Without the barriers, threads that are still in the loop may already load what
 * others store after it. That concerns
 *   - the rows' source, and other addresses that are the same for all threads. All blocks load these, so with several
 *     blocks the kernel had that race before; and grids of one block are excluded;
 *   - elements that other threads load for themselves. So each such access may only be to the thread's own element, by
 *     its number in the grid, and at the launch the memory that is stored to is compared with the memory that is
 *     loaded (footprint.h, kernel.row_footprints).
 *
 * By itself this gains nothing: reading shared memory is a little faster. So it is done for grids of few blocks only,
 * whose blocks workers then share (gang_loop.c). */
#include "rows.h"
#include "mwcc/analysis/footprint.h"

#include <stdlib.h>

enum { DEPTH = 16, MOST_PHIS = 8 };

/* ---- the loop ---- */

static bool contains(const row_loop *l, LLVMBasicBlockRef block) {
  for (int i = 0; i < l->block_count; i++)
    if (l->blocks[i] == block) return true;
  return false;
}

/* The natural loop: the blocks that reach the latch without passing the header. */
static bool find_body(row_loop *l) {
  LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(l->t.function);
  l->block_count = 0;
  l->blocks[l->block_count++] = l->t.head;
  if (l->latch != l->t.head) l->blocks[l->block_count++] = l->latch;
  for (int i = 1; i < l->block_count; i++) {
    LLVMBasicBlockRef here = l->blocks[i];
    for (LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(here)); use; use = LLVMGetNextUse(use)) {
      LLVMValueRef user = LLVMGetUser(use);
      if (!LLVMIsATerminatorInst(user)) return false;
      LLVMBasicBlockRef from = LLVMGetInstructionParent(user);
      if (contains(l, from)) continue;
      if (from == entry || from == l->t.before || l->block_count == MOST_BLOCKS) return false;
      l->blocks[l->block_count++] = from;
    }
  }
  return true;
}

static bool find_loop(row_loop *l) {
  LLVMValueRef first = LLVMGetFirstInstruction(l->t.head);
  if (!LLVMIsAPHINode(first) || LLVMCountIncoming(first) != 2) return false;
  for (unsigned i = 0; i < 2; i++) {
    l->latch = LLVMGetIncomingBlock(first, i), l->t.before = LLVMGetIncomingBlock(first, 1 - i);
    if (l->latch != l->t.before && find_body(l)) return true;
  }
  return false;
}

/* ---- uniform values ---- */

typedef struct assumed_uniform { /* phis that are assumed to be uniform, optimistically */
  LLVMValueRef phis[MOST_PHIS];
  int count;
} assumed_uniform;

static bool is_grid_uniform(const row_loop *l, LLVMValueRef value, assumed_uniform *taken, int depth) {
  if (!LLVMIsAInstruction(value)) return true;
  if (depth == 0 || --*l->t.visits_left < 0 || LLVMGetNumOperands(value) > MOST_OPERANDS) return false;
  if (LLVMIsAPHINode(value)) {
    for (int i = 0; i < taken->count; i++)
      if (taken->phis[i] == value) return true;
    if (!contains(l, LLVMGetInstructionParent(value)) || taken->count == MOST_PHIS) return false;
    taken->phis[taken->count++] = value;
    for (unsigned i = 0; i < LLVMCountIncoming(value); i++)
      if (!is_grid_uniform(l, LLVMGetIncomingValue(value, i), taken, depth - 1)) return false;
    return true;
  }
  if (LLVMIsACallInst(value)) return is_common_to_grid(&l->t, value);
  bool pure = LLVMIsABinaryOperator(value) || LLVMIsACastInst(value) || LLVMIsAICmpInst(value) ||
              LLVMIsASelectInst(value) || LLVMIsAGetElementPtrInst(value);
  for (int i = 0; pure && i < LLVMGetNumOperands(value); i++)
    pure = is_grid_uniform(l, LLVMGetOperand(value, (unsigned)i), taken, depth - 1);
  return pure;
}

static bool is_uniform_in_grid(const row_loop *l, LLVMValueRef value) {
  assumed_uniform taken = {0};
  return is_grid_uniform(l, value, &taken, DEPTH);
}

/* Whether all threads take the same path, in each iteration. */
static bool branches_are_uniform(const row_loop *l) {
  for (int i = 0; i < l->block_count; i++) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(l->blocks[i]);
    if (!LLVMIsABranchInst(end) || (LLVMIsConditional(end) && !is_uniform_in_grid(l, LLVMGetCondition(end))))
      return false;
  }
  return true;
}

static bool depends_only_on_id(const row_loop *l, LLVMValueRef value, int depth) {
  if (is_uniform_in_grid(l, value) || axis_of(value) == X) return true;
  if (depth == 0 || !LLVMIsAInstruction(value) || LLVMGetNumOperands(value) > MOST_OPERANDS) return false;
  if (!LLVMIsABinaryOperator(value) && !LLVMIsACastInst(value) && !LLVMIsAGetElementPtrInst(value)) return false;
  for (int i = 0; i < LLVMGetNumOperands(value); i++)
    if (!depends_only_on_id(l, LLVMGetOperand(value, (unsigned)i), depth - 1)) return false;
  return true;
}

bool depends_on_id(const row_loop *l, LLVMValueRef value) { return depends_only_on_id(l, value, DEPTH); }

/* ---- the kernel ---- */

static bool is_read(const row_loop *l, LLVMValueRef i) {
  for (int n = 0; n < l->read_count; n++)
    if (l->reads[n].load == i) return true;
  return false;
}

static bool is_of_shared(LLVMValueRef address) {
  while (LLVMIsAGetElementPtrInst(address)) address = LLVMGetOperand(address, 0);
  return mentions_shared(address, DEPTH);
}

static bool is_store_to_row(const row_loop *l, LLVMValueRef i) {
  for (int n = 0; n < l->piece_count; n++)
    if (l->pieces[n].store == i) return true;
  return false;
}

/* Whether the address of an array's element is used for matched loads and stores only. */
static bool is_for_rows(const row_loop *l, LLVMValueRef address) {
  for (LLVMUseRef use = LLVMGetFirstUse(address); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    bool good = LLVMIsAGetElementPtrInst(user) ? is_for_rows(l, user) : is_store_to_row(l, user) || is_read(l, user);
    if (!good) return false;
  }
  return true;
}

static bool mentions_array(LLVMValueRef i) {
  for (int n = 0; n < LLVMGetNumOperands(i); n++) {
    LLVMValueRef operand = LLVMGetOperand(i, (unsigned)n);
    if (!LLVMValueIsBasicBlock(operand) && mentions_shared(operand, DEPTH)) return true;
  }
  return false;
}

static bool note(row_loop *l, LLVMValueRef i) {
  bool in_head = LLVMGetInstructionParent(i) == l->t.head, loads = LLVMIsALoadInst(i);
  if (LLVMIsAStoreInst(i)) return in_head && match_row_store(l, i);
  if (match_row_copy(l, i)) return in_head;
  if (loads && is_of_shared(LLVMGetOperand(i, 0))) return match_row_read(l, i);
  return is_pure(i) || LLVMIsATerminatorInst(i) || axis_of(i) != NEITHER || is_common(&l->t, i) || is_plain_barrier(i);
}

/* The header is executed first, so that each read element was stored before, in the same iteration. */
static bool find_rows(row_loop *l) {
  bool barrier = false;
  for (int n = 0; n < l->block_count; n++)
    for (LLVMValueRef i = LLVMGetFirstInstruction(l->blocks[n]); i; i = LLVMGetNextInstruction(i)) {
      if (!note(l, i)) return false;
      barrier = barrier || is_plain_barrier(i);
    }
  return barrier && l->piece_count && l->read_count;
}

static bool is_thread(const void *p, LLVMValueRef value) { return is_thread_number(p, value); }

static bool is_of_piece(const row_loop *l, LLVMValueRef load) {
  for (int n = 0; n < l->piece_count; n++)
    if (l->pieces[n].load == load) return true;
  return false;
}

/* Whether the access is right without the barriers, between loads in or before the loop and stores after it (see
   above). */
static bool is_safe_without_barriers(const row_loop *l, const footprint_search *s, LLVMValueRef i) {
  bool loads = LLVMIsALoadInst(i);
  if (!loads && !LLVMIsAStoreInst(i)) return true;
  if (is_read(l, i) || is_of_piece(l, i) || is_store_to_row(l, i)) return true;
  bool before = contains(l, LLVMGetInstructionParent(i)) || reaches_loop(&l->t, LLVMGetInstructionParent(i));
  if (loads && (!before || is_uniform_in_grid(l, LLVMGetOperand(i, 0)))) return true;
  return add_footprint(s, i);
}

static bool is_isolated(const row_loop *l, kernel *k) {
  instructions all = instructions_of_function(l->t.function);
  const footprint_search s = {
      .p = l->t.p, .k = k, .is_number = is_thread, .context = l->t.p, .into = &k->row_footprints};
  bool good = true;
  k->row_footprints.count = 0;
  for (size_t n = 0; n < all.count && good; n++) {
    LLVMValueRef i = all.items[n];
    if (!contains(l, LLVMGetInstructionParent(i)))
      good = is_unrelated(&l->t, i);
    else if (mentions_array(i))
      good = LLVMIsAGetElementPtrInst(i) ? is_for_rows(l, i) : is_read(l, i);
    good = good && is_safe_without_barriers(l, &s, i);
  }
  free(all.items);
  return good && are_elements(&k->row_footprints);
}

/* ---- rewriting ---- */

static LLVMValueRef for_id(const row_loop *l, LLVMBuilderRef b, LLVMValueRef value, LLVMValueRef id) {
  if (!LLVMIsAInstruction(value) || is_uniform_in_grid(l, value)) return value;
  if (LLVMIsACallInst(value)) return id;
  LLVMValueRef operands[MOST_OPERANDS], made;
  int count = LLVMGetNumOperands(value);
  for (int i = 0; i < count; i++) operands[i] = for_id(l, b, LLVMGetOperand(value, (unsigned)i), id);
  made = LLVMInstructionClone(value);
  for (int i = 0; i < count; i++) LLVMSetOperand(made, (unsigned)i, operands[i]);
  LLVMInsertIntoBuilder(b, made);
  return made;
}

static void make_read(const row_loop *l, LLVMBuilderRef b, const row_read *r) {
  program *p = l->t.p;
  LLVMPositionBuilderBefore(b, r->load);
  LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(r->load));
  LLVMValueRef index = r->place.index, id = constant_i32(p, (unsigned)r->place.number);
  if (index) id = LLVMBuildIntCast2(b, unextended(index), p->i32, 0, "");
  uint64_t more = r->place.at - r->of->at;
  LLVMValueRef address = for_id(l, b, r->of->from, id), at = constant_i64(p, more);
  if (more) address = LLVMBuildInBoundsGEP2(b, p->i8, address, &at, 1, "");
  LLVMValueRef load = LLVMBuildLoad2(b, LLVMTypeOf(r->load), address, "");
  unsigned align = r->of->align;
  while (more % align) align /= 2;
  LLVMSetAlignment(load, align);
  LLVMReplaceAllUsesWith(r->load, load);
}

static void remove_unused(LLVMValueRef address) {
  while (LLVMIsAGetElementPtrInst(address) && !LLVMGetFirstUse(address)) {
    LLVMValueRef base = LLVMGetOperand(address, 0);
    LLVMInstructionEraseFromParent(address);
    address = base;
  }
}

static void remove_access(LLVMValueRef i, LLVMValueRef address) {
  LLVMInstructionEraseFromParent(i);
  remove_unused(address);
}

static void rewrite(row_loop *l) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(l->t.p->context);
  *l->t.visits_left = INT32_MAX; /* the searches succeeded before, and are repeated */
  for (int n = 0; n < l->read_count; n++) make_read(l, b, &l->reads[n]);
  for (int n = 0; n < l->read_count; n++) remove_access(l->reads[n].load, LLVMGetOperand(l->reads[n].load, 0));
  for (int n = 0; n < l->piece_count; n++) {
    LLVMValueRef store = l->pieces[n].store, load = l->pieces[n].load;
    remove_access(store, LLVMGetOperand(store, LLVMIsAStoreInst(store) ? 1 : 0));
    if (load && !LLVMGetFirstUse(load)) LLVMInstructionEraseFromParent(load);
  }
  for (int n = 0; n < l->block_count; n++)
    for (LLVMValueRef next, i = LLVMGetFirstInstruction(l->blocks[n]); i; i = next) {
      next = LLVMGetNextInstruction(i);
      if (is_plain_barrier(i)) LLVMInstructionEraseFromParent(i);
    }
  LLVMDisposeBuilder(b);
}

bool eliminate_staged_rows(program *p, kernel *k) {
  LLVMValueRef function = k->body;
  const options *o = p->options;
  if (p->block[1] * p->block[2] > 1) return false;
  row_read *reads = mw_alloc(MOST_READS * sizeof *reads);
  bool found = false;
  for (LLVMBasicBlockRef head = LLVMGetFirstBasicBlock(function); head && !found; head = LLVMGetNextBasicBlock(head)) {
    int visits_left = MOST_VALUES;
    row_loop l = {.t = {.p = p, .function = function, .visits_left = &visits_left, .head = head}, .reads = reads};
    found = find_loop(&l) && find_rows(&l) && branches_are_uniform(&l) && is_uniform_to(&l.t, l.t.before) &&
            is_isolated(&l, k) && visits_left >= 0;
    p->few_pays = found;
    found = found && o->launch_few && !o->launch_one;
    if (found) rewrite(&l);
    if (p->few_pays) break;
  }
  free(reads);
  return found;
}
