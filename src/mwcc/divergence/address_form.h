/* The linear form of an address, as address_form.c and permuted.c share it. */
#ifndef ADDRESS_FORM_H
#define ADDRESS_FORM_H

#include "mwcc/analysis/simt.h"

enum { MOST_TERMS = 4 };

typedef struct term {
  LLVMValueRef value; /* an integer, as a signed number */
  int64_t times;
} term;

/* An address: root + the sum of the terms + distance, in bytes. */
typedef struct form {
  LLVMValueRef root; /* the same for all lanes of a gang */
  term terms[MOST_TERMS];
  int count;
  int64_t distance;
} form;

/* False where the address is not such a sum. */
bool form_of(const shapes *s, LLVMValueRef address, form *f);
bool same_but_distance(const form *a, const form *b);
/* By lane: its distance from lane 0 of its vector in bytes, the same in every vector. False where that is not
   constant. */
bool form_distances(const shapes *s, const form *f, int64_t *distances);
/* Whether lane l of every vector has the same address. */
bool vectors_share_form(const shapes *s, LLVMValueRef address);
/* The values from which lane 0's address can be computed without vectors: none is varying. */
bool form_needs(const form *f, LLVMValueRef *values, int *count, int most, const shapes *s);

#endif
