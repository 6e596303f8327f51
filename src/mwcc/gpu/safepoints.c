/* Loops of kernels for a GPU that the host can stop (--stoppable): each looks now and then whether it is to end. Behind the
 * passes that optimise: a call in a loop is in the way of many. */
#include "instrument.h"

#include <stdlib.h>

/* Rounds of a loop, a power of two; and how many before the first look: a grid that is to end is left so soon by blocks that
   have not begun. */
enum { LOOK_EVERY = 1024, LOOK_FIRST = 16 };

typedef struct graph {
  LLVMBasicBlockRef *blocks; /* by address */
  int *state;                /* 0: not met; 1: on the way; 2: done */
  size_t count;
} graph;

static int by_address(const void *a, const void *b) {
  uintptr_t x = (uintptr_t)*(LLVMBasicBlockRef const *)a, y = (uintptr_t)*(LLVMBasicBlockRef const *)b;
  return x < y ? -1 : x > y;
}

static size_t index_of(const graph *g, LLVMBasicBlockRef block) {
  LLVMBasicBlockRef *at = bsearch(&block, g->blocks, g->count, sizeof block, by_address);
  return (size_t)(at - g->blocks);
}

typedef struct step {
  LLVMValueRef end;
  unsigned next;
} step;

/* Blocks that lead back to one on the way to them: each cycle has such a one. */
static LLVMValueRef *find_rounds(LLVMValueRef function, size_t *count) {
  graph g = {.count = LLVMCountBasicBlocks(function)};
  g.blocks = mw_alloc((g.count + 1) * sizeof *g.blocks);
  g.state = mw_alloc((g.count + 1) * sizeof *g.state);
  step *way = mw_alloc((g.count + 1) * sizeof *way);
  LLVMValueRef *rounds = mw_alloc((g.count + 1) * sizeof *rounds);
  size_t depth = 0;
  *count = 0;
  LLVMGetBasicBlocks(function, g.blocks);
  LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(function);
  qsort(g.blocks, g.count, sizeof *g.blocks, by_address);
  way[depth++] = (step){LLVMGetBasicBlockTerminator(entry), 0};
  g.state[index_of(&g, entry)] = 1;
  while (depth > 0) {
    step *s = &way[depth - 1];
    if (s->next == LLVMGetNumSuccessors(s->end)) {
      g.state[index_of(&g, LLVMGetInstructionParent(s->end))] = 2;
      depth--;
      continue;
    }
    LLVMBasicBlockRef to = LLVMGetSuccessor(s->end, s->next++);
    int *state = &g.state[index_of(&g, to)];
    if (*state == 1 && (*count == 0 || rounds[*count - 1] != s->end)) rounds[(*count)++] = s->end;
    if (*state != 0) continue;
    *state = 1;
    way[depth++] = (step){LLVMGetBasicBlockTerminator(to), 0};
  }
  free(g.blocks);
  free(g.state);
  free(way);
  return rounds;
}

/* Every so many rounds: to look takes as long as reaching memory. */
static void look(program *p, LLVMBuilderRef b, LLVMValueRef end, LLVMValueRef counter) {
  LLVMBasicBlockRef behind = LLVMGetInstructionParent(end), head = split_block(p, end);
  LLVMBasicBlockRef looking = LLVMInsertBasicBlockInContext(p->context, behind, "look");
  LLVMPositionBuilderAtEnd(b, head);
  LLVMValueRef more = LLVMBuildAdd(b, LLVMBuildLoad2(b, p->i32, counter, ""), constant_i32(p, 1), "");
  LLVMBuildStore(b, more, counter);
  LLVMValueRef rest = LLVMBuildAnd(b, more, constant_i32(p, LOOK_EVERY - 1), "");
  build_likely(p, b, LLVMBuildICmp(b, LLVMIntNE, rest, constant_i32(p, 0), ""), behind, looking);
  LLVMPositionBuilderAtEnd(b, looking);
  guard_call(b, guard_function(p, "__mw_guard_look"), NULL, 0);
  LLVMBuildBr(b, behind);
}

void guard_loops(program *p) {
  if (!p->options->stoppable) return;
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    size_t count;
    if (LLVMIsDeclaration(f) || guard_is_ours(f)) continue;
    LLVMValueRef *rounds = find_rounds(f, &count), counter = NULL;
    if (count) {
      LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(f)));
      counter = LLVMBuildAlloca(b, p->i32, "");
      guard_position_at_entry(b, f);
      LLVMBuildStore(b, constant_i32(p, LOOK_EVERY - LOOK_FIRST), counter);
    }
    for (size_t i = 0; i < count; i++) look(p, b, rounds[i], counter);
    free(rounds);
  }
  LLVMDisposeBuilder(b);
  guard_let_go(p, false);
  run_passes(p, "function(mem2reg),globaldce");
  verify_module(p, "looking in loops");
}
