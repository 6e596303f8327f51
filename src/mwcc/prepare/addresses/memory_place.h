/* Places (alias analysis): what is known about the bytes of a load or store, to find that two accesses are to
 * different bytes. */
#ifndef MEMORY_PLACE_H
#define MEMORY_PLACE_H

#include "mwcc/mwcc.h"

typedef enum base_kind {
  BASE_UNKNOWN,
  BASE_PARAMETER, /* memory that a pointer in the parameter block points into */
  BASE_BYVAL,     /* the parameter block */
  BASE_LOCAL,     /* a local variable */
  BASE_SHARED,    /* a __shared__ variable */
  BASE_VARIABLE,  /* a __device__ variable */
  BASE_CONSTANT   /* nothing writes there during a launch */
} base_kind;

enum { MOST_TERMS = 6 };

typedef struct place_term {
  LLVMValueRef value; /* an integer; one of fewer than 64 bits stands for its sign extension */
  uint64_t times;
} place_term;

/* root + the sum of times * value + offset, modulo 2^64, for as many bytes. */
typedef struct place {
  LLVMValueRef root;
  place_term terms[MOST_TERMS];
  int term_count;
  uint64_t offset, bytes;
  LLVMTypeRef type;
  bool exact; /* false: there are too many terms, so only the base is known */
  base_kind base;
  LLVMValueRef object;  /* LOCAL, SHARED, VARIABLE: the variable */
  uint32_t parameter;   /* PARAMETER: the pointer's offset in the parameter block */
  bool is_root_pointer; /* PARAMETER: the root is that pointer itself, not one that a loop advances */
  bool is_restricted;   /* PARAMETER: __restrict__ */
  bool is_dynamic;      /* SHARED: extern __shared__, which shares its bytes with others */
} place;

/* Whether a pointer is loaded from a field of a kernel's struct parameter, of which all is only loaded: the parameter,
   and the field's offset in it; or NULL. */
LLVMValueRef find_pointer_field(const program *p, LLVMValueRef load, uint64_t *offset);

/* The place of a plain load or store in the kernel's body. */
place place_of(const program *p, const kernel *k, LLVMValueRef access);

typedef enum place_relation {
  PLACES_EQUAL,    /* the same bytes, as the same type */
  PLACES_DISJOINT, /* no byte in common */
  PLACES_SEPARATE, /* no byte in common if both pointers of the parameter block point into different allocations */
  PLACES_MAY_OVERLAP
} place_relation;

/* Compare the places for one execution of each access, with the same values of all terms. */
place_relation compare_places(const place *a, const place *b);

#endif
