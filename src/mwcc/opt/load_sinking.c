/* Vectors that a long block loads at its beginning and uses one after the other: each is loaded when its turn is near.
 *
 * Where threads bring a tile of a matrix and wait for each other, its rows are all loaded at once, and multiplied one by one.
 * Rows that come from the second cache then get into each other's way, and what is needed first comes with all the rest,
 * while the way to the caches is free later on; and each row holds a register until it is used. So a load goes down to where
 * as much is left to do before its first use as a processor sees ahead, but not past anything that may store.
 * (Measured: of a product by tiles of 1024 x 1024 a fortieth of the time, of 2048 x 2048 a tenth.) */
#include "mwcc/analysis/simt.h"
#include "mwcc/target/tuning.h"
#include "opt.h"

#include <stdlib.h>

enum { AHEAD = TUNE_SINK_AHEAD, LEAST = TUNE_SINK_LEAST, MOST = 64 };

typedef struct waiting {
  LLVMValueRef load;
  int at, use,
      end; /* operations before it, before its first use (-1: none yet), and before the first store behind it */
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

static void look_at(walk *w, LLVMValueRef i) {
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
    if (here->end >= 0 && here->end <= to) to = here->end - 1; /* before the operation that comes before the store */
    if (here->use >= 0 && to >= here->at + LEAST) move_before(b, here->load, w->operations[to]);
  }
}

void load_later(program *p) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  walk w = {0};
  EACH_FUNCTION(p, f) {
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block)) {
      w.count = w.done = 0;
      for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) look_at(&w, i);
      move_down(&w, b);
    }
  }
  free(w.operations);
  LLVMDisposeBuilder(b);
}
