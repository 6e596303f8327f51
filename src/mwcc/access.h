/* What access.c, rows.c and strided.c share: see access.c. */
#ifndef ACCESS_H
#define ACCESS_H

#include "widen.h"

/* A place in memory: an address of the kernel's and a constant distance from it, with what is known of the access. */
typedef struct place {
  LLVMValueRef address;
  uint64_t offset;
  unsigned align;
  bool is_volatile;
  LLVMValueRef by; /* the load, store or copy */
} place;

LLVMValueRef part_pointer(widener *w, const place *at, int u); /* of part u's lane 0 */
LLVMValueRef gather(widener *w, const place *at, LLVMTypeRef wide, mask m, int u);
void scatter(widener *w, const place *at, LLVMValueRef lanes, mask m, int u);

/* Two ways: one for gangs whose lanes are all active, on which the builder goes on, and one for others. Where all are known
   to be, there is the first alone, and nothing else is to be called. */
typedef struct choice {
  LLVMBasicBlockRef some, done;
} choice;
choice choose_every(widener *w, mask m);
void else_some(widener *w, const choice *c);
void end_choice(widener *w, const choice *c);

/* ---- rows.c ---- */

/* Addresses that reach_rows (simt.h) is true for. */
parts load_rows(widener *w, const place *at, LLVMTypeRef type, mask m);
void store_rows(widener *w, const place *at, parts lanes, mask m);

/* ---- strided.c ---- */

/* How many elements of so many bytes lane l + 1 is behind lane l, if that is few but not one: 2 to 4; else 0. */
int few_steps(widener *w, const place *at, uint64_t bytes);
parts load_strided(widener *w, const place *at, LLVMTypeRef type, int steps, mask m);
/* The elements 0 .. steps-1 of each lane's struct, which lies at `at`. */
void store_structs(widener *w, const place *at, parts *values, int steps, mask m);
/* A store that with others in its node makes whole structs: true if it was, or is going to be, done with them. */
bool store_together(widener *w, LLVMValueRef store, mask m);

#endif
