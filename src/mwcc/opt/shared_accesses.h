/* The accesses of an entry function to the shared memory of its block, with the place of each lane's element where it is
 * a constant. Nothing else accesses that memory while the function runs a block, unless its workers share blocks. */
#ifndef MWCC_OPT_SHARED_ACCESSES_H
#define MWCC_OPT_SHARED_ACCESSES_H

#include "mwcc/mwcc.h"

enum { SHARED_WORD = 4, MOST_SHARED_WORDS = 1 << 14 };

#define NO_PLACE INT64_MIN /* of a lane that is not active */

typedef struct shared_access {
  LLVMValueRef at;
  int64_t *places; /* of each lane's element, in bytes from the first byte of shared memory; NULL: not known */
  unsigned count;  /* lanes; 1 for scalars, and for vectors whose elements are not whole bytes */
  int64_t bytes;   /* of an element */
  bool reads, writes;
  bool certain;   /* it accesses all of its places, whatever its mask */
  bool removable; /* a store, neither volatile nor atomic */
} shared_access;

typedef struct shared_accesses {
  program *p;
  LLVMValueRef function;
  shared_access *list; /* by instruction */
  size_t count, words; /* words: all known places are before this one */
  bool escapes;
} shared_accesses;

/* False: there are none, or an address escapes. Free them in both cases. */
bool find_shared_accesses(program *p, LLVMValueRef function, shared_accesses *out);
void free_shared_accesses(shared_accesses *s);

/* The instruction's, or NULL. */
const shared_access *shared_access_of(const shared_accesses *s, LLVMValueRef i);

/* Whether a block begins with the instruction: then nothing that was stored before can be read. */
bool begins_shared_block(const shared_accesses *s, LLVMValueRef i);

/* The constant mask of a masked load, store, gather or scatter, or NULL. */
LLVMValueRef constant_mask_of(LLVMValueRef call);

#endif
