/* Outlining: outline_region.c and outline_split.c find the region of a function for which separate compilation pays,
 * outline.c makes it a function. */
#ifndef MW_MWCC_OUTLINE_H
#define MW_MWCC_OUTLINE_H

#include "mwcc/analysis/simt.h"
#include "codegen.h"

enum {
  LEAST = 600,      /* instructions of a function, at least, for outlining from it */
  LEAST_HALF = 250, /* and of each of its two parts */
  MOST_LIVE = 64,   /* values live into or out of the region */
  LIVE_COST = 3,    /* the cost of each, in instructions */
  COPY_COST = 100   /* the cost of copying the module, in instructions */
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

typedef struct region {
  bool *has; /* by block */
  size_t weight;
  int entry, exit; /* exit: the first block after the region */
} region;

/* An instruction of another block, or a parameter. */
static inline bool is_from_elsewhere(LLVMValueRef value, LLVMBasicBlockRef block) {
  if (LLVMIsAInstruction(value)) return LLVMGetInstructionParent(value) != block;
  return LLVMIsAArgument(value) != NULL;
}

/* The time until both parts are compiled, in instructions. */
static inline size_t length_of(size_t total, size_t taken, size_t live) {
  size_t rest = total - taken;
  taken += COPY_COST;
  return (rest > taken ? rest : taken) + LIVE_COST * live;
}

/* The longest such time that pays. */
static inline size_t most_length(size_t total) { return total - total / 8; }

/* A region that becomes a function: it is entered at `entry` only, and left to `exit` only, which is outside. */
typedef struct extraction {
  LLVMBasicBlockRef *blocks, entry, exit;
  size_t count;
  const char *name;      /* of the function */
  LLVMMetadataRef scope; /* its debug scope, or NULL */
  unsigned line, depth;  /* depth: so many operations may be rematerialised for one value */
} extraction;
LLVMValueRef extract_region(program *p, LLVMValueRef from, extraction *e); /* outline.c */

/* The best region of the function; false if none pays. The caller frees g->blocks and best->has in either case. */
bool choose_region(LLVMValueRef function, cfg *g, region *best);

/* Split a block, and make its second half the region; false, and nothing is changed, if that does not pay. */
bool choose_half(program *p, LLVMValueRef function, cfg *g, region *best);
/* Whether recomputing the instruction from its operands is as cheap as passing its value: address arithmetic,
   broadcasts. */
bool is_rematerialisable(LLVMValueRef i);

#endif
