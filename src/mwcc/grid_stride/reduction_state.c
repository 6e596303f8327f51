/* Grid-stride loops that carry sums: a few rounds of many blocks one after the other, and then the next few.
 *
 *   float sum = 0;
 *   for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
 *   …
 *
 * A block's rounds lie far apart in memory, and those of the blocks beside it between them (interchange.c). Here a block has
 * its sums to keep, and something to do behind the loop. So the kernel becomes this:
 *
 *   sums = nothing is done yet ? what they begin with : those that were kept;
 *   if (all rounds are done) …                       what is behind the loop
 *   else { the next rounds; keep the sums; }
 *
 * and the block function runs it for some blocks and a few rounds, for the same blocks and the next few, and so on, and in the
 * end once more for what is behind the loop. What stands before the loop is done again each time; it is arithmetic alone. All
 * of that is the same for all threads of a launch, so that no lanes part there that did not before. What a thread has computed
 * in its last round, and needs behind the loop, is kept as sums are.
 *
 * How many blocks: the more there are, the longer is what is read in one piece; but their sums are to stay in the near caches
 * while memory streams by. How many rounds: so many that loading and storing the sums is little beside them, and so few that
 * the processor still sees each as a stream of its own. (Zen 4, two processors, sums of 2^24 numbers: one block after the
 * other 2.0 ms, 64 blocks with 4, 8 and 16 rounds at a time 1.8, 1.7 and 2.2, 32 blocks with 8 1.75, 128 to 512 as 64; in
 * quicker minutes of that machine 1.3 and 0.9. Rounds are mostly a power of two apart, and share sets of the caches.)
 *
 * Blocks that have something in shared memory meanwhile, as counts, get shared memory of their own: shared_privatization.c. */
#include "grid_stride.h"
#include "mwcc/target/tuning.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT_BYTES = TUNE_REDUCTION_BYTES, MOST_BLOCKS = MOST_BESIDE, FEWEST_BLOCKS = TUNE_REDUCTION_BLOCKS };

/* ---- which loops ---- */

/* What is kept: a phi of the header with what comes into it; or a value that is needed behind the loop alone. */
typedef struct sum {
  LLVMValueRef phi, begins, next; /* phi: or NULL */
  LLVMValueRef so_far;            /* before the rounds to do now: as it begins, or as it was kept */
} sum;

typedef struct sums {
  sum list[MOST_KEPT];
  unsigned count;
} sums;

/* Whether a store leaves the block's own memory alone: what comes as an argument is not of one block. */
static bool stores_elsewhere(const kernel *k, LLVMValueRef address) {
  memory_kind kind = memory_of(address);
  if (kind != MEMORY_UNKNOWN) return kind == MEMORY_GLOBAL;
  while (LLVMIsAGetElementPtrInst(address) || LLVMIsAAddrSpaceCastInst(address)) address = LLVMGetOperand(address, 0);
  return LLVMIsAArgument(address) || (!k->shared_bytes && !k->dynamic_shared);
}

/* Whether in the loop a block has no more to do with others than plain loads and stores, and its threads with each other but
   what they do in shared memory, to be found there the next time (`beside`). */
static bool is_independent(const kernel *k, LLVMValueRef i, bool beside) {
  if (shared_place(i)) return beside && !LLVMGetVolatile(i);
  if (!is_alone(i) || is_barrier(i)) return false;
  return !LLVMIsAStoreInst(i) || stores_elsewhere(k, LLVMGetOperand(i, 1));
}

static bool rounds_are_independent(const kernel *k, const grid_loop *l, bool beside) {
  for (size_t n = 0; n < l->block_count; n++)
    for (LLVMValueRef i = LLVMGetFirstInstruction(l->blocks[n]); i; i = LLVMGetNextInstruction(i))
      if (!is_independent(k, i, beside)) return false;
  return true;
}

static bool reaches_shared(const grid_loop *l) {
  for (size_t n = 0; n < l->block_count; n++)
    for (LLVMValueRef i = LLVMGetFirstInstruction(l->blocks[n]); i; i = LLVMGetNextInstruction(i))
      if (shared_place(i)) return true;
  return false;
}

/* What the phi is when it comes from the block. */
static LLVMValueRef incoming_from(LLVMValueRef phi, LLVMBasicBlockRef from) {
  for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
    if (LLVMGetIncomingBlock(phi, i) == from) return LLVMGetIncomingValue(phi, i);
  return NULL;
}

static bool can_be_kept(LLVMTypeRef type) {
  return is_lane_type(type) && (LLVMGetTypeKind(type) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(type) >= 8);
}

static bool add_sum(sums *to, sum s) {
  if (to->count == MOST_KEPT || !s.begins || !s.next || !can_be_kept(LLVMTypeOf(s.next))) return false;
  to->list[to->count++] = s;
  return true;
}

static sum *sum_that_ends(sums *all, LLVMValueRef value) {
  for (unsigned n = 0; n < all->count; n++)
    if (all->list[n].next == value) return &all->list[n];
  return NULL;
}

/* Those that go round, and what else is needed behind the loop: the phis at its exit have it (LCSSA form). */
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

/* Whether what stands right before the loop can be done by all threads. */
static bool starts_with_arithmetic(const grid_loop *l) {
  for (LLVMValueRef i = LLVMGetFirstInstruction(l->before); i; i = LLVMGetNextInstruction(i))
    if (LLVMIsALoadInst(i) || LLVMIsAPHINode(i)) return false;
  return true;
}

/* Of a thread. */
static uint32_t bytes_of(const program *p, const sums *all) {
  uint64_t bytes = 0;
  for (unsigned n = 0; n < all->count; n++) bytes += LLVMABISizeOfType(p->layout, LLVMTypeOf(all->list[n].next));
  return (uint32_t)bytes;
}

uint32_t blocks_to_keep(uint64_t bytes) {
  if (bytes * MOST_BLOCKS <= KEPT_BYTES) return MOST_BLOCKS;
  return bytes < KEPT_BYTES ? (uint32_t)(KEPT_BYTES / bytes) : 1;
}

/* Whether enough blocks' sums find room; of rows that are shorter than vectors they would take many times as much. */
static bool find_room(const program *p, uint32_t bytes) {
  enum { SHORTEST = 16 };
  uint64_t rows = (uint64_t)p->block[1] * p->block[2];
  return (rows == 1 || p->block[0] >= SHORTEST) && blocks_to_keep(bytes * p->block[0] * rows) >= FEWEST_BLOCKS;
}

/* ---- the kernel with a way back into its loop ---- */

typedef struct rebuilt {
  program *p;
  LLVMBuilderRef b;
  LLVMValueRef function;
  const grid_loop *loop;
  sums *sums;
  /* entry: what was the start, without the guard, which is all of `finish`; leave: the return, alone */
  LLVMBasicBlockRef entry, resume, merge, rounds, finish, ended, keep, leave;
} rebuilt;

static LLVMBasicBlockRef add_block(rebuilt *r, const char *name) {
  return LLVMAppendBasicBlockInContext(r->p->context, r->function, name);
}

/* A call with the sum's number: a load, or a store of `value`. */
static LLVMValueRef call_kept(rebuilt *r, unsigned number, LLVMTypeRef type, LLVMValueRef value) {
  program *p = r->p;
  LLVMTypeRef signature = LLVMFunctionType(value ? p->void_type : type, &type, value ? 1 : 0, 0);
  char *name = mw_format("%s%u", value ? KEPT_STORE : KEPT_LOAD, number);
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

/* From the entry block: the sums as they begin, or as they were kept. */
static void build_start(rebuilt *r, LLVMValueRef nothing_done) {
  LLVMValueRef waited[MOST_KEPT];
  LLVMBuildCondBr(r->b, nothing_done, r->merge, r->resume);
  LLVMPositionBuilderAtEnd(r->b, r->resume);
  for (unsigned n = 0; n < r->sums->count; n++) waited[n] = call_kept(r, n, LLVMTypeOf(r->sums->list[n].next), NULL);
  LLVMBuildBr(r->b, r->merge);
  LLVMPositionBuilderAtEnd(r->b, r->merge);
  for (unsigned n = 0; n < r->sums->count; n++)
    r->sums->list[n].so_far = phi_of(r, r->sums->list[n].begins, r->entry, waited[n], r->resume);
}

static LLVMValueRef build_below(rebuilt *r, LLVMValueRef count, LLVMValueRef limit) {
  return LLVMBuildICmp(r->b, r->loop->is_signed ? LLVMIntSLT : LLVMIntULT, count, limit, "");
}

/* Of the limit for now and the end; so that what is known about the end is known about the lesser one. */
static LLVMValueRef build_limit(rebuilt *r) {
  LLVMTypeRef type = LLVMTypeOf(r->loop->count);
  LLVMValueRef both[] = {r->loop->end, elements_now(r->p, r->b, r->loop)};
  return call_intrinsic(r->p, r->b, r->loop->is_signed ? "llvm.smin" : "llvm.umin", &type, 1, both, 2);
}

static void set_incoming(LLVMValueRef phi, LLVMBasicBlockRef from, LLVMValueRef value) {
  for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
    if (LLVMGetIncomingBlock(phi, i) == from) LLVMSetOperand(phi, i, value);
}

/* The loop goes on from what is done to the limit. */
static void build_rounds(rebuilt *r, LLVMValueRef limit) {
  const grid_loop *l = r->loop;
  LLVMPositionBuilderAtEnd(r->b, r->rounds);
  LLVMValueRef first = count_from(r->p, r->b, l);
  LLVMBuildCondBr(r->b, build_below(r, first, limit), l->before, r->keep);
  set_incoming(l->count, l->before, first);
  for (unsigned n = 0; n < r->sums->count; n++)
    if (r->sums->list[n].phi) set_incoming(r->sums->list[n].phi, l->before, r->sums->list[n].so_far);
  LLVMValueRef back = LLVMGetBasicBlockTerminator(l->latch), again = LLVMGetCondition(back);
  LLVMPositionBuilderBefore(r->b, back);
  LLVMBuildCondBr(r->b, build_below(r, l->next, limit), l->header, r->ended);
  LLVMInstructionEraseFromParent(back);
  erase_unused(again);
}

/* Behind the rounds, or where a thread has none of them: the sums are kept. */
static void build_keeping(rebuilt *r) {
  LLVMValueRef ends[MOST_KEPT], now[MOST_KEPT];
  LLVMPositionBuilderAtEnd(r->b, r->ended);
  for (unsigned n = 0; n < r->sums->count; n++) ends[n] = phi_of(r, r->sums->list[n].next, r->loop->latch, NULL, NULL);
  LLVMBuildBr(r->b, r->keep);
  LLVMPositionBuilderAtEnd(r->b, r->keep);
  for (unsigned n = 0; n < r->sums->count; n++)
    now[n] = phi_of(r, r->sums->list[n].so_far, r->rounds, ends[n], r->ended);
  for (unsigned n = 0; n < r->sums->count; n++) call_kept(r, n, LLVMTypeOf(now[n]), now[n]);
  LLVMBuildBr(r->b, r->leave);
}

/* Where all rounds are done, a thread that had any goes to the loop's exit with its sums so far. */
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

/* What stands right before the loop, in front of the guard: what is behind the loop may need it, too. */
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
  r->finish = LLVMGetInstructionParent(l->guard); /* phis behind name it as the way around the loop */
  r->entry = split_block(r->p, l->guard);
  r->resume = add_block(r, "resume"), r->merge = add_block(r, "merge"), r->rounds = add_block(r, "rounds");
  r->ended = add_block(r, "ended"), r->keep = add_block(r, "keep");
  LLVMPositionBuilderAtEnd(r->b, r->entry);
  LLVMValueRef done = elements_done(r->p, r->b, l), limit = build_limit(r);
  LLVMValueRef remain = build_below(r, done, l->end);
  build_start(r, LLVMBuildICmp(r->b, LLVMIntEQ, done, LLVMConstNull(LLVMTypeOf(done)), ""));
  LLVMBuildCondBr(r->b, remain, r->rounds, r->finish);
  build_rounds(r, limit);
  build_keeping(r);
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

/* Whether what a block has in shared memory can stay there between its rounds; what else there is before the loop, too. */
static bool can_lie_beside(const kernel *k) {
  enum { FEWEST = 4 };
  return !k->dynamic_shared && !k->sees_warp && blocks_beside(k) >= FEWEST;
}

bool keep_sums(program *p, kernel *k, grid_loop *l) {
  sums all;
  bool beside = reaches_shared(l);
  if (!has_pass(p, PASS_REDUCTION_STATE) || (beside && !has_pass(p, PASS_SHARED_PRIVATIZATION))) return false;
  if (beside ? !can_lie_beside(k) : l->again_from != NULL) return false;
  if (!find_sums(l, &all) || !starts_with_arithmetic(l) || !rounds_are_independent(k, l, beside)) return false;
  if (!find_room(p, bytes_of(p, &all))) return false;
  LLVMBasicBlockRef leave = return_alone(p, k->body);
  if (!leave || (beside && !start_once(p, k, l))) return false;
  if (!read_grid_loop(p, k, l) || !find_sums(l, &all)) { /* again: blocks and values may be others now */
    if (beside) die("internal: a loop whose start was left out is none any more");
    return false;
  }
  rebuilt r = {.p = p, .function = k->body, .loop = l, .sums = &all, .leave = leave};
  r.b = LLVMCreateBuilderInContext(p->context);
  rebuild(&r);
  if (has_pass(p, PASS_ATOMIC_PRIVATIZATION)) keep_adds(p, k);
  LLVMDisposeBuilder(r.b);
  k->keeps_sums = true;
  k->kept_bytes = bytes_of(p, &all);
  return true;
}
