/* Lines of an array that blocks copy to shared memory and then all read from there, read where they came from instead.
 *
 *   for (start = 0; start < n; start += 256) {
 *     tile[threadIdx.x] = bodies[start + threadIdx.x];
 *     __syncthreads();
 *     for (j = 0; j < 256; j++) sum += force(me, tile[j]);
 *     __syncthreads();
 *   }
 *
 * On a GPU that spares memory. Here it makes a block's gangs wait for each other, so that no two workers can share a block. What
 * tile[j] holds is what the thread j has loaded, bodies[start + j]: the same expression with j for the id. It is computed as that
 * thread has computed it, so nothing wraps that did not. And no barrier is left.
 *
 * What has to hold. All threads of the grid come to the loop, and all go the same way in it. In it each stores one element for its
 * id before any is read, and elements that are read there are those of threads of the block. The kernel stores to no other memory
 * before the loop or in it. What it stores behind the loop other threads of the block may read too late then, as no barrier is left:
 *  - what lines are from, and what else all threads load alike. But all blocks load all of that and use it, so that in a grid of
 *    several blocks one might have read it too late before, as well; and grids of one block are not what such code is for;
 *  - elements that other threads load for themselves. So those may be nothing but a thread's own, by its number in the grid, and
 *    when it is launched memory that is stored to is compared with memory that is loaded from (footprint.h, kernel.lines_footprints).
 *
 * It gains nothing by itself: reading what is in shared memory is a little quicker. So it is for grids of few blocks alone
 * (gang_loop.c). */
#include "rows.h"
#include "mwcc/analysis/footprint.h"

#include <stdlib.h>

enum { DEPTH = 16, MOST_PHIS = 8 };

/* ---- the loop ---- */

static bool contains(const line_loop *l, LLVMBasicBlockRef block) {
  for (int i = 0; i < l->block_count; i++)
    if (l->blocks[i] == block) return true;
  return false;
}

/* What leads to the latch without coming through the head. */
static bool find_body(line_loop *l) {
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

static bool find_loop(line_loop *l) {
  LLVMValueRef first = LLVMGetFirstInstruction(l->t.head);
  if (!LLVMIsAPHINode(first) || LLVMCountIncoming(first) != 2) return false;
  for (unsigned i = 0; i < 2; i++) {
    l->latch = LLVMGetIncomingBlock(first, i), l->t.before = LLVMGetIncomingBlock(first, 1 - i);
    if (l->latch != l->t.before && find_body(l)) return true;
  }
  return false;
}

/* ---- what all threads of the grid have ---- */

typedef struct alike { /* phis that are taken to be */
  LLVMValueRef phis[MOST_PHIS];
  int count;
} alike;

static bool is_alike(const line_loop *l, LLVMValueRef value, alike *taken, int depth) {
  if (!LLVMIsAInstruction(value)) return true;
  if (depth == 0 || --*l->t.patience < 0 || LLVMGetNumOperands(value) > MOST_OPERANDS) return false;
  if (LLVMIsAPHINode(value)) {
    for (int i = 0; i < taken->count; i++)
      if (taken->phis[i] == value) return true;
    if (!contains(l, LLVMGetInstructionParent(value)) || taken->count == MOST_PHIS) return false;
    taken->phis[taken->count++] = value;
    for (unsigned i = 0; i < LLVMCountIncoming(value); i++)
      if (!is_alike(l, LLVMGetIncomingValue(value, i), taken, depth - 1)) return false;
    return true;
  }
  if (LLVMIsACallInst(value)) return is_common_to_grid(&l->t, value);
  bool pure = LLVMIsABinaryOperator(value) || LLVMIsACastInst(value) || LLVMIsAICmpInst(value) ||
              LLVMIsASelectInst(value) || LLVMIsAGetElementPtrInst(value);
  for (int i = 0; pure && i < LLVMGetNumOperands(value); i++)
    pure = is_alike(l, LLVMGetOperand(value, (unsigned)i), taken, depth - 1);
  return pure;
}

static bool is_alike_in_grid(const line_loop *l, LLVMValueRef value) {
  alike taken = {0};
  return is_alike(l, value, &taken, DEPTH);
}

/* All threads go the same way, in each round. */
static bool all_stay_together(const line_loop *l) {
  for (int i = 0; i < l->block_count; i++) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(l->blocks[i]);
    if (!LLVMIsABranchInst(end) || (LLVMIsConditional(end) && !is_alike_in_grid(l, LLVMGetCondition(end))))
      return false;
  }
  return true;
}

static bool is_by_id(const line_loop *l, LLVMValueRef value, int depth) {
  if (is_alike_in_grid(l, value) || axis_of(value) == X) return true;
  if (depth == 0 || !LLVMIsAInstruction(value) || LLVMGetNumOperands(value) > MOST_OPERANDS) return false;
  if (!LLVMIsABinaryOperator(value) && !LLVMIsACastInst(value) && !LLVMIsAGetElementPtrInst(value)) return false;
  for (int i = 0; i < LLVMGetNumOperands(value); i++)
    if (!is_by_id(l, LLVMGetOperand(value, (unsigned)i), depth - 1)) return false;
  return true;
}

bool goes_by_id(const line_loop *l, LLVMValueRef value) { return is_by_id(l, value, DEPTH); }

/* ---- the kernel ---- */

static bool is_read(const line_loop *l, LLVMValueRef i) {
  for (int n = 0; n < l->read_count; n++)
    if (l->reads[n].load == i) return true;
  return false;
}

static bool is_of_shared(LLVMValueRef address) {
  while (LLVMIsAGetElementPtrInst(address)) address = LLVMGetOperand(address, 0);
  return mentions_shared(address, DEPTH);
}

static bool is_store_to_line(const line_loop *l, LLVMValueRef i) {
  for (int n = 0; n < l->piece_count; n++)
    if (l->pieces[n].store == i) return true;
  return false;
}

/* An address of an array's element, of which nobody makes anything but loads and stores of it. */
static bool is_for_lines(const line_loop *l, LLVMValueRef address) {
  for (LLVMUseRef use = LLVMGetFirstUse(address); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    bool good = LLVMIsAGetElementPtrInst(user) ? is_for_lines(l, user) : is_store_to_line(l, user) || is_read(l, user);
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

static bool note(line_loop *l, LLVMValueRef i) {
  bool in_head = LLVMGetInstructionParent(i) == l->t.head, loads = LLVMIsALoadInst(i);
  if (LLVMIsAStoreInst(i)) return in_head && note_line_store(l, i);
  if (note_line_copy(l, i)) return in_head;
  if (loads && is_of_shared(LLVMGetOperand(i, 0))) return note_line_read(l, i);
  return is_pure(i) || LLVMIsATerminatorInst(i) || axis_of(i) != NEITHER || is_common(&l->t, i) || is_plain_barrier(i);
}

/* The head comes first, so that what is read of a line was stored before, in the same round. */
static bool find_lines(line_loop *l) {
  bool barrier = false;
  for (int n = 0; n < l->block_count; n++)
    for (LLVMValueRef i = LLVMGetFirstInstruction(l->blocks[n]); i; i = LLVMGetNextInstruction(i)) {
      if (!note(l, i)) return false;
      barrier = barrier || is_plain_barrier(i);
    }
  return barrier && l->piece_count && l->read_count;
}

static bool is_thread(const void *p, LLVMValueRef value) { return is_thread_number(p, value); }

static bool is_of_piece(const line_loop *l, LLVMValueRef load) {
  for (int n = 0; n < l->piece_count; n++)
    if (l->pieces[n].load == load) return true;
  return false;
}

/* Whether nobody misses the barriers between a load that threads may come to before them and the stores behind them. */
static bool is_noted(const line_loop *l, const footprint_search *s, LLVMValueRef i) {
  bool loads = LLVMIsALoadInst(i);
  if (!loads && !LLVMIsAStoreInst(i)) return true;
  if (is_read(l, i) || is_of_piece(l, i) || is_store_to_line(l, i)) return true;
  bool before = contains(l, LLVMGetInstructionParent(i)) || reaches_loop(&l->t, LLVMGetInstructionParent(i));
  if (loads && (!before || is_alike_in_grid(l, LLVMGetOperand(i, 0)))) return true;
  return add_footprint(s, i);
}

static bool is_alone_with_lines(const line_loop *l, kernel *k) {
  instructions all = instructions_of_function(l->t.function);
  const footprint_search s = {
      .p = l->t.p, .k = k, .is_number = is_thread, .context = l->t.p, .into = &k->lines_footprints};
  bool good = true;
  k->lines_footprints.count = 0;
  for (size_t n = 0; n < all.count && good; n++) {
    LLVMValueRef i = all.items[n];
    if (!contains(l, LLVMGetInstructionParent(i)))
      good = is_apart(&l->t, i);
    else if (mentions_array(i))
      good = LLVMIsAGetElementPtrInst(i) ? is_for_lines(l, i) : is_read(l, i);
    good = good && is_noted(l, &s, i);
  }
  free(all.items);
  return good && are_elements(&k->lines_footprints);
}

/* ---- the other code ---- */

static LLVMValueRef for_id(const line_loop *l, LLVMBuilderRef b, LLVMValueRef value, LLVMValueRef id) {
  if (!LLVMIsAInstruction(value) || is_alike_in_grid(l, value)) return value;
  if (LLVMIsACallInst(value)) return id;
  LLVMValueRef operands[MOST_OPERANDS], made;
  int count = LLVMGetNumOperands(value);
  for (int i = 0; i < count; i++) operands[i] = for_id(l, b, LLVMGetOperand(value, (unsigned)i), id);
  made = LLVMInstructionClone(value);
  for (int i = 0; i < count; i++) LLVMSetOperand(made, (unsigned)i, operands[i]);
  LLVMInsertIntoBuilder(b, made);
  return made;
}

static void make_read(const line_loop *l, LLVMBuilderRef b, const line_read *r) {
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

static void make_plain(line_loop *l) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(l->t.p->context);
  *l->t.patience = INT32_MAX; /* what was looked at before is found again */
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

bool read_lines_in_place(program *p, kernel *k) {
  LLVMValueRef function = k->body;
  const options *o = p->options;
  if (p->block[1] * p->block[2] > 1) return false;
  line_read *reads = mw_alloc(MOST_READS * sizeof *reads);
  bool found = false;
  for (LLVMBasicBlockRef head = LLVMGetFirstBasicBlock(function); head && !found; head = LLVMGetNextBasicBlock(head)) {
    int patience = MOST_VALUES;
    line_loop l = {.t = {.p = p, .function = function, .patience = &patience, .head = head}, .reads = reads};
    found = find_loop(&l) && find_lines(&l) && all_stay_together(&l) && all_come(&l.t, l.t.before) &&
            is_alone_with_lines(&l, k) && patience >= 0;
    p->few_pays = found;
    found = found && o->launch_few && !o->launch_one;
    if (found) make_plain(&l);
    if (p->few_pays) break;
  }
  free(reads);
  return found;
}
