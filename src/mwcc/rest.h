/* Parts of a function: rest_part.c finds the one that is worth being a function of its own, rest.c makes it one. */
#ifndef MW_MWCC_REST_H
#define MW_MWCC_REST_H

#include "simt.h"

/* A function's blocks as a graph: its nodes are their numbers, 0 the entry. */
typedef struct cfg {
  LLVMBasicBlockRef *blocks;
  int count;
} cfg;

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

/* The best part of the function; false if none is worth it. In any case the caller frees g->blocks and best->has. */
bool choose_part(LLVMValueRef function, cfg *g, part *best);

#endif
