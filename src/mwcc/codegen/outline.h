/* Parts of a function: outline_region.c and outline_split.c find the one that is worth being a function of its own, outline.c makes it one. */
#ifndef MW_MWCC_REST_H
#define MW_MWCC_REST_H

#include "mwcc/analysis/simt.h"
#include "codegen.h"

enum {
  LEAST = 600,    /* instructions that a function has to have */
  HALF = 250,     /* and each part of it */
  MOST_LIVE = 64, /* values that are handed over, one way or the other */
  DEAR = 3,       /* instructions that one of them costs, in the choice of where to cut */
  COPYING = 100   /* and what the copy of the module costs */
};

/* A function's blocks as a graph: its nodes are their numbers, 0 the entry. */
typedef struct cfg {
  LLVMBasicBlockRef *blocks;
  int count;
} cfg;

static inline int number_of(const cfg *g, LLVMBasicBlockRef block) {
  for (int n = 0; n < g->count; n++)
    if (g->blocks[n] == block) return n;
  return -1;
}

typedef struct part {
  bool *has; /* by block */
  size_t weight;
  int entry, exit; /* exit is the first block behind it */
} part;

/* An instruction of another block, or a parameter. */
static inline bool is_from_elsewhere(LLVMValueRef value, LLVMBasicBlockRef block) {
  if (LLVMIsAInstruction(value)) return LLVMGetInstructionParent(value) != block;
  return LLVMIsAArgument(value) != NULL;
}

/* When the later of the two is done, in instructions. */
static inline size_t length_of(size_t total, size_t taken, size_t live) {
  size_t rest = total - taken;
  taken += COPYING;
  return (rest > taken ? rest : taken) + DEAR * live;
}

/* How long that may be to be worth it. */
static inline size_t most_length(size_t total) { return total - total / 8; }

/* The best part of the function; false if none is worth it. In any case the caller frees g->blocks and best->has. */
bool choose_part(LLVMValueRef function, cfg *g, part *best);

/* The second half of a block as a part, for which the block is cut; false, and nothing is changed, if that is not worth it. */
bool choose_half(program *p, LLVMValueRef function, cfg *g, part *best);
/* Whether the instruction is made of its operands as cheaply as it would be kept: numbers for addresses, what all lanes of a
   vector share. */
bool is_cheap(LLVMValueRef i);

#endif
