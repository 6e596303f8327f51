/* Load sinking: in a long block that loads vectors at its beginning and uses them one after the other, each load is
 * moved down to shortly before its first use (scheduling for register pressure).
 *
 *   before:  a = load; b = load; c = load; …; use a; …; use b; …; use c
 *   after:   a = load; …; use a; b = load; …; use b; c = load; …
 *
 * Threads that bring a tile of a matrix into shared memory wait for each other, load all its rows, and multiply them
 * one by one. Loads in a burst compete for the cache, and each row holds a register until it is used. So a load
 * moves to AHEAD vector operations before its first use, which is as far as out-of-order execution reaches.
 *
 * Invariant: a load is never moved past an instruction that may write memory. */
#include "mwcc/analysis/simt.h"
#include "mwcc/target/tuning.h"
#include "opt.h"

#include <stdlib.h>

enum { AHEAD = TUNE_SINK_AHEAD, LEAST = TUNE_SINK_LEAST, MOST = 64 };

typedef struct waiting {
  LLVMValueRef load;
  /* Operations before the load, before its first use (-1: none yet), and before the first possible store after it
     (-1: none yet). */
  int at, use, end;
} waiting;

typedef struct walk {
  waiting loads[MOST];
  int count;
  LLVMValueRef *operations;
  int done, room;
} walk;

static bool is_vector(LLVMValueRef i) { return LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMVectorTypeKind; }

static bool is_operation(LLVMValueRef i) {
  if (!is_vector(i)) return false;
  return LLVMIsABinaryOperator(i) || (LLVMIsACallInst(i) && starts_with(callee_name(i), "llvm.fm"));
}

static void note_uses(walk *w, LLVMValueRef i) {
  for (int n = 0; n < LLVMGetNumOperands(i); n++) {
    LLVMValueRef operand = LLVMGetOperand(i, (unsigned)n);
    if (!LLVMIsALoadInst(operand)) continue;
    for (int l = 0; l < w->count; l++)
      if (w->loads[l].load == operand && w->loads[l].use < 0) w->loads[l].use = w->done;
  }
}

static void note_store(walk *w) {
  for (int l = 0; l < w->count; l++)
    if (w->loads[l].end < 0) w->loads[l].end = w->done;
}

static void visit(walk *w, LLVMValueRef i) {
  if (w->count) note_uses(w, i);
  if (!keeps_memory(i)) note_store(w);
  if (LLVMIsALoadInst(i) && is_vector(i) && is_pure(i) && w->count < MOST)
    w->loads[w->count++] = (waiting){i, w->done, -1, -1};
  if (!is_operation(i)) return;
  if (w->done == w->room) {
    w->room = 2 * w->room + AHEAD;
    w->operations = mw_realloc(w->operations, (size_t)w->room * sizeof *w->operations);
  }
  w->operations[w->done++] = i;
}

static void move_before(LLVMBuilderRef b, LLVMValueRef load, LLVMValueRef operation) {
  LLVMMetadataRef position = LLVMInstructionGetDebugLoc(load);
  LLVMInstructionRemoveFromParent(load);
  LLVMPositionBuilderBefore(b, operation);
  LLVMInsertIntoBuilder(b, load);
  LLVMInstructionSetDebugLoc(load, position);
}

static void move_down(walk *w, LLVMBuilderRef b) {
  for (int l = 0; l < w->count; l++) {
    const waiting *here = &w->loads[l];
    int to = here->use - AHEAD;
    if (here->end >= 0 && here->end <= to) to = here->end - 1; /* before the last operation that precedes the store */
    if (here->use >= 0 && to >= here->at + LEAST) move_before(b, here->load, w->operations[to]);
  }
}

void sink_loads(program *p) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  walk w = {0};
  EACH_FUNCTION(p, f) {
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block)) {
      w.count = w.done = 0;
      for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) visit(&w, i);
      move_down(&w, b);
    }
  }
  free(w.operations);
  LLVMDisposeBuilder(b);
}
