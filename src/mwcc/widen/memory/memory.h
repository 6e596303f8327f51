/* What memory.c, gather.c, windowed_gather.c, paired_gather.c, permuted.c, transposed.c, gather_scalarization.c, nontemporal_stores.c, interleaved.c and mask_elision.c share: see
 * memory.c. */
#ifndef ACCESS_H
#define ACCESS_H

#include "mwcc/widen/widen.h"

/* A place in memory: an address of the kernel's and a constant distance from it, with what is known of the access. */
typedef struct place {
  LLVMValueRef address;
  uint64_t offset;
  unsigned align;
  bool is_volatile;
  LLVMValueRef by; /* the load, store or copy */
} place;

LLVMValueRef part_pointer(widener *w, const place *at, int u); /* of part u's lane 0 */
/* In the generic address space, as intrinsics of the host want it; and a constant distance on. Of vectors, too. */
LLVMValueRef plain_pointer(widener *w, LLVMValueRef pointer);
LLVMValueRef moved(widener *w, LLVMValueRef pointer, uint64_t offset);
/* Whether a value can be looked at where the access is: not where it is kept neither in another node nor behind a barrier. */
bool is_at_hand(widener *w, const place *at, LLVMValueRef value);
/* One value a lane, at addresses that differ. */
parts load_lanes(widener *w, const place *at, LLVMTypeRef type, mask m);
void store_lanes(widener *w, const place *at, parts lanes, mask m);

/* Two ways: one for gangs whose lanes are all active, on which the builder goes on, and one for others. Where all are known
   to be, there is the first alone, and nothing else is to be called. */
typedef struct choice {
  LLVMBasicBlockRef some, done;
} choice;
choice choose_every(widener *w, mask m);
void else_some(widener *w, const choice *c);
void end_choice(widener *w, const choice *c);

/* ---- mask_elision.c ---- */

/* Elements that follow each other in each part, from lane 0's at `firsts` on; NULL: from the address. A load may be of fewer
   parts than there are. */
parts load_following(widener *w, const place *at, LLVMTypeRef wide, const parts *firsts, mask m, int count);
void store_following(widener *w, const place *at, parts lanes, const parts *firsts, mask m);
/* Elements in even steps of which some lanes may be inactive: whether all lanes' are read nevertheless, and that. */
bool loads_all_steps(widener *w, const place *at, uint64_t bytes);
parts load_all_steps(widener *w, const place *at, LLVMTypeRef wide, mask m, int count);

/* ---- gather.c ---- */

LLVMValueRef gather(widener *w, const place *at, LLVMTypeRef wide, mask m, int u);
void scatter(widener *w, const place *at, LLVMValueRef lanes, mask m, int u);
/* The pointers of a part's lanes, and lane 0's. Behind a branch they can be asked for only if need_pointers was called
   before it. */
LLVMValueRef lane_pointers(widener *w, const place *at, int u);
LLVMValueRef first_pointer(widener *w, const place *at, int u);
void need_pointers(widener *w, const place *at);

/* ---- windowed_gather.c ---- */

/* Whether it is worth to look, there, whether lanes are near each other; and what they load, by an index that they may be. */
bool may_be_window(const widener *w, const place *at, LLVMTypeRef type);
parts load_window(widener *w, const place *at, LLVMValueRef index, LLVMTypeRef type, mask m);

/* ---- paired_gather.c ---- */

/* An access to one of two neighbouring members that lanes have anywhere: true if it was, or is going to be, done with the
   other one. */
bool load_pair(widener *w, LLVMValueRef load, mask m);
bool store_pair(widener *w, LLVMValueRef store, mask m);

/* ---- permuted.c ---- */

/* Accesses that follows_pattern (simt.h) is true for; else false. A store may wait for others. */
bool load_pattern(widener *w, LLVMValueRef load, mask m, parts *result);
bool store_pattern(widener *w, LLVMValueRef store, mask m);

/* ---- transposed.c ---- */

/* Addresses that reach_rows (simt.h) is true for. */
parts load_rows(widener *w, const place *at, LLVMTypeRef type, mask m);
void store_rows(widener *w, const place *at, parts lanes, mask m);

/* ---- gather_scalarization.c ---- */

/* Whether lanes that are all active are better reached one after the other, by addresses in even steps; and that. */
bool in_even_steps(widener *w, const place *at);
LLVMValueRef load_steps(widener *w, const place *at, LLVMTypeRef wide, LLVMValueRef base); /* from lane 0's on */
LLVMValueRef load_singly(widener *w, const place *at, LLVMTypeRef wide, int u);
void store_singly(widener *w, const place *at, LLVMValueRef lanes, int u);

/* ---- nontemporal_stores.c ---- */

/* All lanes' contiguous elements of so many bytes past the caches, in launches for which that is better; false: that would
   be none. */
bool store_streamed(widener *w, const place *at, parts lanes, uint64_t bytes);

/* ---- interleaved.c ---- */

/* The address as another one and a constant distance from it. */
LLVMValueRef base_of(widener *w, LLVMValueRef address, int64_t *distance);
/* What the last index of an address in an array counts; NULL where it has others that are not 0. */
LLVMTypeRef element_of(LLVMValueRef gep);
/* How many elements of so many bytes lane l + 1 is behind lane l, if that is few but not one: 2 to 4; else 0. */
int few_steps(widener *w, const place *at, uint64_t bytes);
parts load_strided(widener *w, const place *at, LLVMTypeRef type, int steps, mask m);
/* The elements 0 .. steps-1 of each lane's struct, which lies at `at`. */
void store_structs(widener *w, const place *at, parts *values, int steps, mask m);
/* A store that with others in its node makes whole structs: true if it was, or is going to be, done with them. */
bool store_together(widener *w, LLVMValueRef store, mask m);
bool is_stored_together(widener *w, LLVMValueRef store);

#endif
