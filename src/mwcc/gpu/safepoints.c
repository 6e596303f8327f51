/* Safepoints in GPU kernels (--stoppable): each loop polls for the host's request to end.
 *
 *   if ((++counter & (POLL_EVERY - 1)) == 0) __mw_guard_poll();     at each back edge
 *
 * This runs after optimisation, because calls in loops prevent many optimisations. */
#include "instrument.h"
#include "mwcc/target/tuning_nvptx.h"

#include <stdlib.h>

/* Iterations between polls, a power of two, and before the first one. The first is early, so that blocks that start
   after the request end soon. */
enum { POLL_EVERY = TUNE_POLL_ITERATIONS, POLL_FIRST = TUNE_POLL_FIRST };

typedef struct block_graph {
  LLVMBasicBlockRef *blocks; /* by address */
  int *state;                /* of depth-first search: 0 not visited; 1 on the stack; 2 done */
  size_t count;
} block_graph;

static int by_address(const void *a, const void *b) {
  uintptr_t x = (uintptr_t)*(LLVMBasicBlockRef const *)a, y = (uintptr_t)*(LLVMBasicBlockRef const *)b;
  return x < y ? -1 : x > y;
}

static size_t index_of(const block_graph *g, LLVMBasicBlockRef block) {
  LLVMBasicBlockRef *at = bsearch(&block, g->blocks, g->count, sizeof block, by_address);
  return (size_t)(at - g->blocks);
}

typedef struct step {
  LLVMValueRef end;
  unsigned next;
} step;

/* The terminators with a back edge of the depth-first search: every cycle contains one of them. */
static LLVMValueRef *find_back_edges(LLVMValueRef function, size_t *count) {
  block_graph g = {.count = LLVMCountBasicBlocks(function)};
  g.blocks = mw_alloc((g.count + 1) * sizeof *g.blocks);
  g.state = mw_alloc((g.count + 1) * sizeof *g.state);
  step *path = mw_alloc((g.count + 1) * sizeof *path);
  LLVMValueRef *latches = mw_alloc((g.count + 1) * sizeof *latches);
  size_t depth = 0;
  *count = 0;
  LLVMGetBasicBlocks(function, g.blocks);
  LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(function);
  qsort(g.blocks, g.count, sizeof *g.blocks, by_address);
  path[depth++] = (step){LLVMGetBasicBlockTerminator(entry), 0};
  g.state[index_of(&g, entry)] = 1;
  while (depth > 0) {
    step *s = &path[depth - 1];
    if (s->next == LLVMGetNumSuccessors(s->end)) {
      g.state[index_of(&g, LLVMGetInstructionParent(s->end))] = 2;
      depth--;
      continue;
    }
    LLVMBasicBlockRef to = LLVMGetSuccessor(s->end, s->next++);
    int *state = &g.state[index_of(&g, to)];
    if (*state == 1 && (*count == 0 || latches[*count - 1] != s->end)) latches[(*count)++] = s->end;
    if (*state != 0) continue;
    *state = 1;
    path[depth++] = (step){LLVMGetBasicBlockTerminator(to), 0};
  }
  free(g.blocks);
  free(g.state);
  free(path);
  return latches;
}

/* Not in every iteration: a poll takes as long as an access to memory. */
static void insert_poll(program *p, LLVMBuilderRef b, LLVMValueRef end, LLVMValueRef counter) {
  LLVMBasicBlockRef rest = LLVMGetInstructionParent(end), head = split_block(p, end);
  LLVMBasicBlockRef poll = LLVMInsertBasicBlockInContext(p->context, rest, "poll");
  LLVMPositionBuilderAtEnd(b, head);
  LLVMValueRef more = LLVMBuildAdd(b, LLVMBuildLoad2(b, p->i32, counter, ""), constant_i32(p, 1), "");
  LLVMBuildStore(b, more, counter);
  LLVMValueRef low = LLVMBuildAnd(b, more, constant_i32(p, POLL_EVERY - 1), "");
  build_likely(p, b, LLVMBuildICmp(b, LLVMIntNE, low, constant_i32(p, 0), ""), rest, poll);
  LLVMPositionBuilderAtEnd(b, poll);
  guard_call(b, guard_function(p, "__mw_guard_poll"), NULL, 0);
  LLVMBuildBr(b, rest);
}

void guard_loops(program *p) {
  if (!p->options->stoppable) return;
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    size_t count;
    if (LLVMIsDeclaration(f) || guard_is_ours(f)) continue;
    LLVMValueRef *latches = find_back_edges(f, &count), counter = NULL;
    if (count) {
      LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(f)));
      counter = LLVMBuildAlloca(b, p->i32, "");
      guard_position_at_entry(b, f);
      LLVMBuildStore(b, constant_i32(p, POLL_EVERY - POLL_FIRST), counter);
    }
    for (size_t i = 0; i < count; i++) insert_poll(p, b, latches[i], counter);
    free(latches);
  }
  LLVMDisposeBuilder(b);
  guard_drop_unused(p, false);
  run_passes(p, "function(mem2reg),globaldce");
  verify_module(p, "inserting safepoints");
}
