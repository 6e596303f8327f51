/* Unrolling of loops that wait for other threads: they are not unrolled in code for any block size, and are unrolled in
 * code specialised for one.
 *
 * Each iteration of an unrolled loop would be a barrier region of its own, which costs compile time and gains little: a
 * barrier costs more than a branch. Code for one block size (launch_specialization.c) is made for launches that are
 * frequent. There distances between threads become constants, so that more is unrolled than LLVM would by itself. A
 * #pragma unroll holds in both, unless it makes too much code between barriers: each region loads and saves the values
 * that live across its barriers, and compile time grows faster than the code. */
#include "mwcc/analysis/simt.h"
#include "mwcc/analysis/analysis.h"
#include "prepare.h"
#include "mwcc/target/tuning.h"

#include <stdlib.h>
#include <string.h>

/* The control-flow graph, blocks numbered. */
typedef struct blocks {
  LLVMBasicBlockRef *items; /* sorted by address; a block's number is its index */
  bool *waits;              /* has a barrier, of the block or of a warp */
  bool *divides;            /* has a barrier of the block, which divides the kernel into regions */
  bool *locals;             /* accesses a local array */
  size_t count;
  size_t *first_pred, *preds; /* the predecessors of block i: preds[first_pred[i] … first_pred[i + 1] - 1] */
} blocks;

static int by_address(const void *left, const void *right) {
  uintptr_t a = (uintptr_t)*(const LLVMBasicBlockRef *)left, b = (uintptr_t)*(const LLVMBasicBlockRef *)right;
  return (a > b) - (a < b);
}

static size_t number_of(const blocks *all, LLVMBasicBlockRef block) {
  LLVMBasicBlockRef *found = bsearch(&block, all->items, all->count, sizeof *all->items, by_address);
  return (size_t)(found - all->items);
}

static void find_barriers(blocks *all, size_t at) {
  for (LLVMValueRef i = LLVMGetFirstInstruction(all->items[at]); i; i = LLVMGetNextInstruction(i)) {
    if (is_barrier(i)) all->divides[at] = true;
    if (is_barrier(i) || waits_for_warp(i)) all->waits[at] = true;
    LLVMValueRef address = LLVMIsALoadInst(i)    ? LLVMGetOperand(i, 0)
                           : LLVMIsAStoreInst(i) ? LLVMGetOperand(i, 1)
                                                 : NULL;
    if (address && memory_of(address) == MEMORY_LOCAL) all->locals[at] = true;
  }
}

static void link_predecessors(blocks *all) {
  all->first_pred = mw_alloc((all->count + 2) * sizeof *all->first_pred);
  for (int pass = 0; pass < 2; pass++) { /* count them, then enter them */
    for (size_t i = 0; i < all->count; i++) {
      LLVMValueRef end = LLVMGetBasicBlockTerminator(all->items[i]);
      for (unsigned s = 0; s < LLVMGetNumSuccessors(end); s++) {
        size_t *place = &all->first_pred[number_of(all, LLVMGetSuccessor(end, s)) + (pass ? 1 : 2)];
        if (pass) all->preds[*place] = i;
        ++*place;
      }
    }
    if (pass) break;
    for (size_t i = 2; i < all->count + 2; i++) all->first_pred[i] += all->first_pred[i - 1];
    all->preds = mw_alloc((all->first_pred[all->count + 1] + 1) * sizeof *all->preds);
  }
}

static bool make_blocks(LLVMValueRef function, blocks *out) {
  unsigned count = LLVMCountBasicBlocks(function);
  bool any = false;
  *out = (blocks){.items = mw_alloc((count + 1) * sizeof *out->items),
                  .waits = mw_alloc((count + 1) * sizeof *out->waits),
                  .divides = mw_alloc((count + 1) * sizeof *out->divides),
                  .locals = mw_alloc((count + 1) * sizeof *out->locals),
                  .count = count};
  LLVMGetBasicBlocks(function, out->items);
  qsort(out->items, count, sizeof *out->items, by_address);
  for (size_t i = 0; i < count; i++) {
    find_barriers(out, i);
    any = any || out->waits[i];
  }
  if (any) link_predecessors(out);
  return any;
}

static void free_blocks(blocks *all) {
  free(all->items);
  free(all->waits);
  free(all->divides);
  free(all->locals);
  free(all->first_pred);
  free(all->preds);
}

static size_t count_instructions(LLVMBasicBlockRef block) {
  size_t count = 0;
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) count++;
  return count;
}

typedef struct extent_of_loop {
  size_t size; /* instructions */
  bool waits, divides, locals;
  bool nests; /* it contains another loop */
} extent_of_loop;

static void add_block(const blocks *all, size_t at, extent_of_loop *out) {
  out->size += count_instructions(all->items[at]);
  out->waits = out->waits || all->waits[at];
  out->divides = out->divides || all->divides[at];
  out->locals = out->locals || all->locals[at];
}

/* Whether the blocks of the loop without its header have a cycle: those that nothing inside precedes are removed. */
static bool contains_loop(const blocks *all, bool *inside, size_t header) {
  enum { MOST = 200 }; /* it takes time that grows with the square */
  if (all->count > MOST) return true;
  inside[header] = false;
  for (bool removed = true; removed;) {
    removed = false;
    for (size_t at = 0; at < all->count; at++) {
      bool preceded = false;
      for (size_t i = all->first_pred[at]; inside[at] && i < all->first_pred[at + 1]; i++)
        preceded = preceded || inside[all->preds[i]];
      if (!inside[at] || preceded) continue;
      inside[at] = false, removed = true;
    }
  }
  for (size_t at = 0; at < all->count; at++)
    if (inside[at]) return true;
  return false;
}

/* The extent of a natural loop: the blocks from which `latch` is reached without passing `header`. */
static extent_of_loop measure_loop(const blocks *all, size_t header, size_t latch) {
  extent_of_loop found = {0};
  bool *inside = mw_alloc((all->count + 1) * sizeof *inside);
  size_t *stack = mw_alloc((all->count + 1) * sizeof *stack), depth = 0;
  inside[header] = inside[latch] = true;
  add_block(all, header, &found);
  if (latch != header) {
    stack[depth++] = latch;
    add_block(all, latch, &found);
  }
  while (depth) {
    size_t at = stack[--depth];
    for (size_t i = all->first_pred[at]; i < all->first_pred[at + 1]; i++) {
      size_t before = all->preds[i];
      if (inside[before]) continue;
      inside[before] = true;
      add_block(all, before, &found);
      stack[depth++] = before;
    }
  }
  found.nests = contains_loop(all, inside, header);
  free(inside);
  free(stack);
  return found;
}

/* The unrolling that an operand of a loop's metadata requests ("count", "full", "enable" …), or NULL; *copies is set
   for a count. */
static const char *unroll_of(LLVMValueRef operand, size_t *copies) {
  static const char about[] = "llvm.loop.unroll.";
  unsigned length = 0, count = operand && LLVMIsAMDNode(operand) ? LLVMGetMDNodeNumOperands(operand) : 0;
  if (!count) return NULL;
  LLVMValueRef *items = mw_alloc((count + 1) * sizeof *items);
  LLVMGetMDNodeOperands(operand, items);
  const char *word = items[0] ? LLVMGetMDString(items[0], &length) : NULL;
  if (count > 1 && items[1] && LLVMIsAConstantInt(items[1])) *copies = (size_t)LLVMConstIntGetZExtValue(items[1]);
  free(items);
  return word && length > strlen(about) && starts_with(word, about) ? word + strlen(about) : NULL;
}

/* A loop's metadata: itself as the first operand, then the loop's position and options. */
typedef struct loop_metadata {
  unsigned kind, count;
  LLVMValueRef *items;
} loop_metadata;

static loop_metadata metadata_of(const program *p, LLVMValueRef latch_end) {
  loop_metadata m = {.kind = LLVMGetMDKindIDInContext(p->context, "llvm.loop", 9)};
  LLVMValueRef known = LLVMGetMetadata(latch_end, m.kind);
  m.count = known ? LLVMGetMDNodeNumOperands(known) : 1;
  m.items = mw_alloc((m.count + 1) * sizeof *m.items);
  if (known) LLVMGetMDNodeOperands(known, m.items);
  return m;
}

/* The number of copies that the source requests for a loop with that trip count (0: not known, or many); 0: it requests
   none. */
static size_t requested_copies(const program *p, LLVMValueRef latch_end, size_t iterations) {
  enum { MANY = TUNE_UNROLL_COPIES };
  loop_metadata m = metadata_of(p, latch_end);
  size_t requested = 0;
  for (unsigned i = 1; i < m.count; i++) {
    size_t copies = iterations ? iterations : MANY;
    const char *option = unroll_of(m.items[i], &copies);
    if (option && strncmp(option, "disable", strlen("disable")) != 0)
      requested = iterations && iterations < copies ? iterations : copies;
  }
  free(m.items);
  return requested;
}

/* Set the loop's unrolling. The source's own request has precedence, unless `override`. */
static void set_unroll(program *p, LLVMValueRef latch_end, const char *option, bool override) {
  loop_metadata m = metadata_of(p, latch_end);
  LLVMMetadataRef *operands = mw_alloc((m.count + 2) * sizeof *operands);
  unsigned count = 1;
  bool requested = false;
  for (unsigned i = 1; i < m.count; i++) {
    size_t copies;
    bool about = unroll_of(m.items[i], &copies) != NULL;
    requested = requested || (about && !override);
    if (!about || !override) operands[count++] = LLVMValueAsMetadata(m.items[i]);
  }
  if (!requested) {
    LLVMMetadataRef word = LLVMMDStringInContext2(p->context, option, strlen(option));
    operands[0] = LLVMTemporaryMDNode(p->context, NULL, 0);
    operands[count++] = LLVMMDNodeInContext2(p->context, &word, 1);
    LLVMMetadataRef id = LLVMMDNodeInContext2(p->context, operands, count);
    LLVMMetadataReplaceAllUsesWith(operands[0], id);
    LLVMSetMetadata(latch_end, m.kind, LLVMMetadataAsValue(p->context, id));
  }
  free(m.items);
  free(operands);
}

/* The source's request is granted unless it makes too much code. This limits loops with a barrier of the block and, in
   code for any block size, where each access may be serialised by lane, all loops; except those that access local
   arrays, which unrolling turns into registers. */
static bool is_too_much(const program *p, const extent_of_loop *found, size_t copies) {
  enum { MOST = TUNE_UNROLL_REQUESTED, MOST_IN_GENERAL = TUNE_UNROLL_GENERAL };
  if (found->divides) return copies * found->size > MOST;
  return !p->options->launch_kernel && !found->locals && copies * found->size > MOST_IN_GENERAL;
}

/* Without a request, no waiting loop is unrolled in code for any block size; in code for one, all whose unrolled code
   is not longer than LONGEST; or LONGEST_SMALL, where no loop is inside and a block is one gang, so that lanes' places in
   shared memory become constants (opt/lane_forwarding.c). */
static void decide(program *p, const blocks *all, size_t header, size_t latch) {
  enum { LONGEST = TUNE_UNROLL_BARRIER_LOOP, LONGEST_SMALL = TUNE_UNROLL_SMALL_BLOCK, SMALL = TUNE_SMALL_BLOCK };
  static const char never[] = "llvm.loop.unroll.disable";
  LLVMValueRef end = LLVMGetBasicBlockTerminator(all->items[latch]);
  extent_of_loop found = measure_loop(all, header, latch);
  size_t iterations = trip_count(all->items[header], all->items[latch]);
  const unsigned *block = p->options->launch_block;
  size_t longest = block[0] * block[1] * block[2] <= SMALL && !found.nests ? LONGEST_SMALL : LONGEST;
  if (is_too_much(p, &found, requested_copies(p, end, iterations)))
    set_unroll(p, end, never, true);
  else if (found.waits && !p->options->launch_kernel)
    set_unroll(p, end, never, false);
  else if (found.waits && iterations && iterations * found.size <= longest)
    set_unroll(p, end, "llvm.loop.unroll.full", false);
}

/* Depth-first search: an edge to an open block is a back edge. */
static void decide_waiting_loops(program *p, LLVMValueRef function) {
  enum { NEW, OPEN, DONE };
  blocks all;
  if (make_blocks(function, &all)) {
    char *state = mw_alloc(all.count);                   /* NEW */
    unsigned *next = mw_alloc(all.count * sizeof *next); /* the successor to visit next */
    size_t *path = mw_alloc((all.count + 1) * sizeof *path), depth = 0;
    path[depth++] = number_of(&all, LLVMGetEntryBasicBlock(function));
    while (depth) {
      size_t at = path[depth - 1];
      LLVMValueRef end = LLVMGetBasicBlockTerminator(all.items[at]);
      state[at] = OPEN;
      if (next[at] == LLVMGetNumSuccessors(end)) {
        state[at] = DONE;
        depth--;
        continue;
      }
      size_t to = number_of(&all, LLVMGetSuccessor(end, next[at]++));
      if (state[to] == OPEN) decide(p, &all, to, at);
      if (state[to] == NEW) path[depth++] = to;
    }
    free(state);
    free(next);
    free(path);
  }
  free_blocks(&all);
}

void decide_all_waiting_loops(program *p) {
  for (size_t i = 0; i < p->kernel_count; i++) decide_waiting_loops(p, p->kernels[i].body);
}
