/* Where the lanes of a warp come together again: convergence.c, waiting_loops.c. */
#ifndef MWCC_GPU_CONVERGENCE_H
#define MWCC_GPU_CONVERGENCE_H

#include "gpu.h"
#include "mwcc/analysis/simt.h"

/* A reconvergence point: a block at which all lanes meet that passed another one, `from`, except those that have left
   by then. */
typedef struct reconvergence {
  int at, from;
  bool *region; /* by block: whether it lies between the two */
  int size;     /* of the region */
} reconvergence;

typedef struct convergence {
  LLVMBasicBlockRef *blocks; /* in their order in the function; [0] is the entry */
  int count;
  bool has_jumps; /* a block ends with something else than a branch or a return: no edges, no points */
  order order;
  int (*succs)[2], *succ_count, **preds, *pred_count;
  reconvergence *points; /* inner ones first */
  int point_count;
  int *point_of; /* by block: of `points` at it, or -1 */
} convergence;

void convergence_of(LLVMValueRef function, convergence *out);
void convergence_free(convergence *c);
int convergence_index(const convergence *c, LLVMBasicBlockRef block);
/* Whether lanes that take the edge will not come to the point that the lanes of `block` are on their way to. */
bool leaves_point(const reconvergence *m, int block, int succ);

/* waiting_loops.c: whether lanes may stay in the loop until others that have left it do something. */
bool is_waiting_loop(const convergence *c, const loop *l);

#endif
