/* Strip-mining of grid-stride loops that carry values, as reductions do: a few iterations of each block, then the next
 * few.
 *
 *   float sum = 0;
 *   for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
 *   …
 *
 * Interchange (interchange.c) pays for the same reason here, but a block has values to carry and code after the loop.
 * The body becomes:
 *
 *   sums = nothing is done yet ? their initial values : the saved ones;
 *   if (all iterations are done) …                   the code after the loop
 *   else { the next iterations; save the sums; }
 *
 * The block function runs it for a strip of blocks and some iterations, for the same blocks and the next iterations,
 * and so on, and once more at the end for the code after the loop. Code before the loop is repeated each time, so it
 * must be arithmetic. The new branches are uniform over the launch and add no divergence. Values of a thread's last
 * iteration that are used after the loop (LCSSA phis at its exit) are saved as sums are.
 *
 * More blocks in a strip make each contiguous read longer, but their saved values should stay in the near caches while
 * memory streams by (TUNE_REDUCTION_BYTES). More iterations amortise loading and storing the sums, but each iteration
 * is a stream of its own to the hardware prefetcher (STRIP_ITERATIONS).
 *
 * Blocks that use shared memory in the loop, as for private counts, get a copy of it each: shared_privatization.c. */
#include "grid_stride.h"
#include "mwcc/target/tuning.h"

#include <stdlib.h>
#include <string.h>

enum { SAVED_BYTES = TUNE_REDUCTION_BYTES, MOST_BLOCKS = MOST_STRIP_BLOCKS, FEWEST_BLOCKS = TUNE_REDUCTION_BLOCKS };

/* ---- which loops ---- */

/* A saved value: a phi of the header with its incoming values; or, if phi is NULL, a value that is used only after the
   loop. */
typedef struct sum {
  LLVMValueRef phi, begins, next;
  LLVMValueRef so_far; /* before this strip: the initial value, or the saved one */
} sum;

typedef struct sums {
  sum list[MOST_SAVED];
  unsigned count;
} sums;

/* Whether a store does not reach the block's shared memory: arguments never point there. */
static bool stores_elsewhere(const kernel *k, LLVMValueRef address) {
  memory_kind kind = memory_of(address);
  if (kind != MEMORY_UNKNOWN) return kind == MEMORY_GLOBAL;
  while (LLVMIsAGetElementPtrInst(address) || LLVMIsAAddrSpaceCastInst(address)) address = LLVMGetOperand(address, 0);
  return LLVMIsAArgument(address) || (!k->shared_bytes && !k->dynamic_shared);
}

/* Whether the instruction lets other blocks' iterations run in between: blocks interact by plain loads and stores only,
   and threads of a block by shared memory only, whose contents survive until the next strip (`privatizes`). */
static bool is_independent(const kernel *k, LLVMValueRef i, bool privatizes) {
  if (shared_operand(i)) return privatizes && !LLVMGetVolatile(i);
  if (!is_alone(i) || is_barrier(i)) return false;
  return !LLVMIsAStoreInst(i) || stores_elsewhere(k, LLVMGetOperand(i, 1));
}

static bool iterations_are_independent(const kernel *k, const grid_loop *l, bool privatizes) {
  for (size_t n = 0; n < l->block_count; n++)
    for (LLVMValueRef i = LLVMGetFirstInstruction(l->blocks[n]); i; i = LLVMGetNextInstruction(i))
      if (!is_independent(k, i, privatizes)) return false;
  return true;
}

static bool reaches_shared(const grid_loop *l) {
  for (size_t n = 0; n < l->block_count; n++)
    for (LLVMValueRef i = LLVMGetFirstInstruction(l->blocks[n]); i; i = LLVMGetNextInstruction(i))
      if (shared_operand(i)) return true;
  return false;
}

/* The phi's value for the edge from the block. */
static LLVMValueRef incoming_from(LLVMValueRef phi, LLVMBasicBlockRef from) {
  for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
    if (LLVMGetIncomingBlock(phi, i) == from) return LLVMGetIncomingValue(phi, i);
  return NULL;
}

static bool can_be_saved(LLVMTypeRef type) {
  return is_lane_type(type) && (LLVMGetTypeKind(type) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(type) >= 8);
}

static bool add_sum(sums *to, sum s) {
  if (to->count == MOST_SAVED || !s.begins || !s.next || !can_be_saved(LLVMTypeOf(s.next))) return false;
  to->list[to->count++] = s;
  return true;
}

static sum *sum_that_ends(sums *all, LLVMValueRef value) {
  for (unsigned n = 0; n < all->count; n++)
    if (all->list[n].next == value) return &all->list[n];
  return NULL;
}

/* The values that the loop carries, and those that are used after it, which are the phis at its exit (LCSSA form). */
static bool find_sums(const grid_loop *l, sums *out) {
  out->count = 0;
  for (LLVMValueRef i = LLVMGetFirstInstruction(l->header); LLVMIsAPHINode(i); i = LLVMGetNextInstruction(i))
    if (i != l->count && !add_sum(out, (sum){i, incoming_from(i, l->before), incoming_from(i, l->latch), NULL}))
      return false;
  for (LLVMValueRef i = LLVMGetFirstInstruction(l->exit); LLVMIsAPHINode(i); i = LLVMGetNextInstruction(i)) {
    LLVMValueRef ends = LLVMCountIncoming(i) == 1 ? incoming_from(i, l->latch) : NULL;
    if (ends && sum_that_ends(out, ends)) continue;
    if (!add_sum(out, (sum){NULL, LLVMConstNull(LLVMTypeOf(i)), ends, NULL})) return false;
  }
  return true;
}

/* Whether the preheader can be executed by all threads, also by those that do not enter the loop. */
static bool starts_with_arithmetic(const grid_loop *l) {
  for (LLVMValueRef i = LLVMGetFirstInstruction(l->before); i; i = LLVMGetNextInstruction(i))
    if (LLVMIsALoadInst(i) || LLVMIsAPHINode(i)) return false;
  return true;
}

/* The bytes that a thread saves. */
static uint32_t bytes_of(const program *p, const sums *all) {
  uint64_t bytes = 0;
  for (unsigned n = 0; n < all->count; n++) bytes += LLVMABISizeOfType(p->layout, LLVMTypeOf(all->list[n].next));
  return (uint32_t)bytes;
}

uint32_t blocks_per_strip(uint64_t bytes) {
  if (bytes * MOST_BLOCKS <= SAVED_BYTES) return MOST_BLOCKS;
  return bytes < SAVED_BYTES ? (uint32_t)(SAVED_BYTES / bytes) : 1;
}

/* Whether the saved values of enough blocks fit. Rows shorter than vectors are excluded: most lanes would be unused. */
static bool fits_budget(const program *p, uint32_t bytes) {
  enum { SHORTEST = TUNE_REDUCTION_ROW };
  uint64_t rows = (uint64_t)p->block[1] * p->block[2];
  return (rows == 1 || p->block[0] >= SHORTEST) && blocks_per_strip(bytes * p->block[0] * rows) >= FEWEST_BLOCKS;
}

/* ---- the body that resumes its loop ---- */

typedef struct rebuilt {
  program *p;
  LLVMBuilderRef b;
  LLVMValueRef function;
  const grid_loop *loop;
  sums *sums;
  /* entry: the code before the guard; finish: the guard alone; leave: the return alone */
  LLVMBasicBlockRef entry, resume, merge, strip, finish, ended, save, leave;
} rebuilt;

static LLVMBasicBlockRef add_block(rebuilt *r, const char *name) {
  return LLVMAppendBasicBlockInContext(r->p->context, r->function, name);
}

/* A call that loads the saved value of that number, or stores `value` there. */
static LLVMValueRef call_saved(rebuilt *r, unsigned number, LLVMTypeRef type, LLVMValueRef value) {
  program *p = r->p;
  LLVMTypeRef signature = LLVMFunctionType(value ? p->void_type : type, &type, value ? 1 : 0, 0);
  char *name = mw_format("%s%u", value ? SAVED_STORE : SAVED_LOAD, number);
  LLVMValueRef function = LLVMGetNamedFunction(p->module, name);
  if (!function) function = LLVMAddFunction(p->module, name, signature);
  free(name);
  return LLVMBuildCall2(r->b, signature, function, &value, value ? 1 : 0, "");
}

static LLVMValueRef phi_of(rebuilt *r, LLVMValueRef a, LLVMBasicBlockRef from_a, LLVMValueRef b,
                           LLVMBasicBlockRef from_b) {
  LLVMValueRef phi = LLVMBuildPhi(r->b, LLVMTypeOf(a), ""), values[] = {a, b};
  LLVMBasicBlockRef blocks[] = {from_a, from_b};
  LLVMAddIncoming(phi, values, blocks, b ? 2 : 1);
  return phi;
}

/* From the entry block: choose between the initial and the saved values. */
static void build_start(rebuilt *r, LLVMValueRef nothing_done) {
  LLVMValueRef saved[MOST_SAVED];
  LLVMBuildCondBr(r->b, nothing_done, r->merge, r->resume);
  LLVMPositionBuilderAtEnd(r->b, r->resume);
  for (unsigned n = 0; n < r->sums->count; n++) saved[n] = call_saved(r, n, LLVMTypeOf(r->sums->list[n].next), NULL);
  LLVMBuildBr(r->b, r->merge);
  LLVMPositionBuilderAtEnd(r->b, r->merge);
  for (unsigned n = 0; n < r->sums->count; n++)
    r->sums->list[n].so_far = phi_of(r, r->sums->list[n].begins, r->entry, saved[n], r->resume);
}

static LLVMValueRef build_below(rebuilt *r, LLVMValueRef count, LLVMValueRef limit) {
  return LLVMBuildICmp(r->b, r->loop->is_signed ? LLVMIntSLT : LLVMIntULT, count, limit, "");
}

/* The minimum of the strip's limit and the end, so that what is known about the end also bounds the limit. */
static LLVMValueRef build_limit(rebuilt *r) {
  LLVMTypeRef type = LLVMTypeOf(r->loop->count);
  LLVMValueRef both[] = {r->loop->end, elements_limit(r->p, r->b, r->loop)};
  return call_intrinsic(r->p, r->b, r->loop->is_signed ? "llvm.smin" : "llvm.umin", &type, 1, both, 2);
}

static void set_incoming(LLVMValueRef phi, LLVMBasicBlockRef from, LLVMValueRef value) {
  for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
    if (LLVMGetIncomingBlock(phi, i) == from) LLVMSetOperand(phi, i, value);
}

/* The loop continues from the elements done to the limit. */
static void build_strip(rebuilt *r, LLVMValueRef limit) {
  const grid_loop *l = r->loop;
  LLVMPositionBuilderAtEnd(r->b, r->strip);
  LLVMValueRef first = first_count(r->p, r->b, l);
  LLVMBuildCondBr(r->b, build_below(r, first, limit), l->before, r->save);
  set_incoming(l->count, l->before, first);
  for (unsigned n = 0; n < r->sums->count; n++)
    if (r->sums->list[n].phi) set_incoming(r->sums->list[n].phi, l->before, r->sums->list[n].so_far);
  LLVMValueRef back = LLVMGetBasicBlockTerminator(l->latch), again = LLVMGetCondition(back);
  LLVMPositionBuilderBefore(r->b, back);
  LLVMBuildCondBr(r->b, build_below(r, l->next, limit), l->header, r->ended);
  LLVMInstructionEraseFromParent(back);
  erase_unused(again);
}

/* After the strip, or where a thread has no iteration in it: save the sums. */
static void build_saving(rebuilt *r) {
  LLVMValueRef ends[MOST_SAVED], now[MOST_SAVED];
  LLVMPositionBuilderAtEnd(r->b, r->ended);
  for (unsigned n = 0; n < r->sums->count; n++) ends[n] = phi_of(r, r->sums->list[n].next, r->loop->latch, NULL, NULL);
  LLVMBuildBr(r->b, r->save);
  LLVMPositionBuilderAtEnd(r->b, r->save);
  for (unsigned n = 0; n < r->sums->count; n++)
    now[n] = phi_of(r, r->sums->list[n].so_far, r->strip, ends[n], r->ended);
  for (unsigned n = 0; n < r->sums->count; n++) call_saved(r, n, LLVMTypeOf(now[n]), now[n]);
  LLVMBuildBr(r->b, r->leave);
}

/* Once all iterations are done, a thread that had any continues at the loop's exit with its sums. */
static void replace_ends(rebuilt *r) {
  const grid_loop *l = r->loop;
  for (LLVMValueRef next, i = LLVMGetFirstInstruction(l->exit); LLVMIsAPHINode(i); i = next) {
    next = LLVMGetNextInstruction(i);
    LLVMReplaceAllUsesWith(i, sum_that_ends(r->sums, incoming_from(i, l->latch))->so_far);
    LLVMInstructionEraseFromParent(i);
  }
  for (unsigned i = 0; i < 2; i++)
    if (LLVMGetSuccessor(l->guard, i) == l->before) LLVMSetSuccessor(l->guard, i, l->exit);
}

/* Hoist the preheader above the guard: code after the loop may use its values. */
static void move_start(rebuilt *r) {
  LLVMValueRef end = LLVMGetBasicBlockTerminator(r->loop->before);
  LLVMPositionBuilderBefore(r->b, r->loop->guard);
  for (LLVMValueRef next, i = LLVMGetFirstInstruction(r->loop->before); i != end; i = next) {
    next = LLVMGetNextInstruction(i);
    LLVMInstructionRemoveFromParent(i);
    LLVMInsertIntoBuilder(r->b, i);
  }
}

static void rebuild(rebuilt *r) {
  const grid_loop *l = r->loop;
  move_start(r);
  r->finish = LLVMGetInstructionParent(l->guard); /* later phis name it as the edge that bypasses the loop */
  r->entry = split_block(r->p, l->guard);
  r->resume = add_block(r, "resume"), r->merge = add_block(r, "merge"), r->strip = add_block(r, "strip");
  r->ended = add_block(r, "ended"), r->save = add_block(r, "save");
  LLVMPositionBuilderAtEnd(r->b, r->entry);
  LLVMValueRef done = elements_done(r->p, r->b, l), limit = build_limit(r);
  LLVMValueRef remain = build_below(r, done, l->end);
  build_start(r, LLVMBuildICmp(r->b, LLVMIntEQ, done, LLVMConstNull(LLVMTypeOf(done)), ""));
  LLVMBuildCondBr(r->b, remain, r->strip, r->finish);
  build_strip(r, limit);
  build_saving(r);
  replace_ends(r);
}

/* The block that returns, with nothing else in it. */
static LLVMBasicBlockRef return_alone(program *p, LLVMValueRef function) {
  LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function);
  while (b && !LLVMIsAReturnInst(LLVMGetBasicBlockTerminator(b))) b = LLVMGetNextBasicBlock(b);
  if (!b || LLVMGetFirstInstruction(b) == LLVMGetBasicBlockTerminator(b)) return b;
  LLVMBuilderRef builder = LLVMCreateBuilderInContext(p->context);
  LLVMPositionBuilderAtEnd(builder, split_block(p, LLVMGetBasicBlockTerminator(b)));
  LLVMBuildBr(builder, b);
  LLVMDisposeBuilder(builder);
  return b;
}

/* Whether a block's shared memory can persist between its strips, whatever else the code before the loop does. */
static bool can_privatize_shared(const kernel *k) {
  enum { FEWEST = TUNE_PRIVATE_SHARED_BLOCKS };
  return !k->dynamic_shared && !k->sees_warp && private_shared_blocks(k) >= FEWEST;
}

bool strip_mine_reduction(program *p, kernel *k, grid_loop *l) {
  sums all;
  bool privatizes = reaches_shared(l);
  if (!has_pass(p, PASS_REDUCTION_STATE) || (privatizes && !has_pass(p, PASS_SHARED_PRIVATIZATION))) return false;
  if (privatizes ? !can_privatize_shared(k) : l->repeat_from != NULL) return false;
  if (!find_sums(l, &all) || !starts_with_arithmetic(l) || !iterations_are_independent(k, l, privatizes)) return false;
  if (!fits_budget(p, bytes_of(p, &all))) return false;
  LLVMBasicBlockRef leave = return_alone(p, k->body);
  if (!leave || (privatizes && !privatize_shared(p, k, l))) return false;
  if (!read_grid_loop(p, k, l) || !find_sums(l, &all)) { /* match again: blocks and values may have been replaced */
    if (privatizes) die("internal: the grid-stride loop no longer matches after its prologue was privatised");
    return false;
  }
  rebuilt r = {.p = p, .function = k->body, .loop = l, .sums = &all, .leave = leave};
  r.b = LLVMCreateBuilderInContext(p->context);
  rebuild(&r);
  if (has_pass(p, PASS_ATOMIC_PRIVATIZATION)) privatize_atomics(p, k);
  LLVMDisposeBuilder(r.b);
  k->saves_state = true;
  k->saved_bytes = bytes_of(p, &all);
  return true;
}
