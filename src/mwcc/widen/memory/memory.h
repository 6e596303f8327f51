/* Memory accesses of a gang: the access classes, and what their files share. memory.c chooses; the first class that
 * applies is taken:
 *
 *   uniform address           one scalar access
 *   the same in each vector   one scalar access for each vector
 *   contiguous                a vector access, masked where lanes may be inactive: mask_elision.c; streaming
 *                             stores: nontemporal_stores.c
 *   interleaved               whole vectors and shuffles: interleaved.c
 *   transposed                a short vector for each lane, transposed in registers: transposed.c
 *   permuted                  lanes at constant distances: whole vectors and shuffles: permuted.c
 *   of records                members at places of the lanes' own: a piece for each lane, transposed: records.c
 *   selected                  from a few places that lanes choose between, each of which is loaded: selected_access.c
 *   tested at run time        contiguous, in two runs, or near each other: tested_access.c, windowed_gather.c
 *   paired                    two neighbouring members as one element: paired_gather.c
 *   anything else             a gather or scatter (gather.c), or lane by lane
 *
 * Invariants: an access is only reached with at least one active lane. Memory is read only at addresses of active
 * lanes or on their pages, and written only where an active lane writes. The address of an inactive lane may be
 * anything. */
#ifndef MEMORY_H
#define MEMORY_H

#include "mwcc/widen/widen.h"

/* A place in memory: an address of the kernel plus a constant offset, and the properties of the access. */
typedef struct place {
  LLVMValueRef address;
  uint64_t offset;
  unsigned align;
  bool is_volatile;
  LLVMValueRef by; /* the load, store or copy */
  int64_t step;    /* bytes from vector to vector, where the address does not show them; 0: not known */
} place;

LLVMValueRef vector_pointer(widener *w, const place *at, int u); /* of vector u's lane 0 */
/* The pointer in the generic address space, as host intrinsics require; and a pointer plus a constant. Also for
   vectors of pointers. */
LLVMValueRef plain_pointer(widener *w, LLVMValueRef pointer);
LLVMValueRef moved(widener *w, LLVMValueRef pointer, uint64_t offset);
/* Whether a value is available at the access: in another node or after a barrier only if it is saved. */
bool is_available(widener *w, const place *at, LLVMValueRef value);
/* One value for each lane, at addresses that differ. */
vectors load_lanes(widener *w, const place *at, LLVMTypeRef type, mask m);
void store_lanes(widener *w, const place *at, vectors lanes, mask m);

/* A run-time test with two paths: one for gangs whose lanes are all active, where the builder continues, and one for
   others. Where all lanes are known to be active there is only the first, and else_some and end_choice are not to be
   called. */
typedef struct choice {
  LLVMBasicBlockRef some, done;
} choice;
choice choose_every(widener *w, mask m);
void else_some(widener *w, const choice *c);
void end_choice(widener *w, const choice *c);

/* ---- mask_elision.c ---- */

/* Contiguous elements in each vector, starting at lane 0's pointer in `firsts`; NULL: at the address. A load may be of
   fewer vectors than the gang has. */
vectors load_following(widener *w, const place *at, LLVMTypeRef wide, const vectors *firsts, mask m, int count);
void store_following(widener *w, const place *at, vectors lanes, const vectors *firsts, mask m);
LLVMValueRef is_on_a_page(widener *w, LLVMValueRef pointer, uint64_t bytes); /* whether so many bytes there are */
LLVMValueRef place_for(widener *w, uint64_t bytes); /* a dummy on the stack within one page: aligned to its size */
/* Strided elements where some lanes may be inactive: whether those of all lanes may be read nevertheless, and the
   loads. */
bool loads_all_steps(widener *w, const place *at, uint64_t bytes);
vectors load_all_steps(widener *w, const place *at, LLVMTypeRef wide, mask m, int count);

/* ---- gather.c ---- */

LLVMValueRef gather(widener *w, const place *at, LLVMTypeRef wide, mask m, int u);
void scatter(widener *w, const place *at, LLVMValueRef lanes, mask m, int u);
/* The pointers of a vector's lanes, one lane's, and lane 0's. After a branch they are available only if need_pointers
   was called before it. */
LLVMValueRef lane_pointers(widener *w, const place *at, int u);
LLVMValueRef pointer_of_lane(widener *w, const place *at, int u, int lane);
LLVMValueRef first_pointer(widener *w, const place *at, int u);
void need_pointers(widener *w, const place *at);

/* ---- tested_access.c ---- */

/* An index that is often, but not always, contiguous, and the operations that may make it discontiguous. */
typedef struct tested_index {
  LLVMValueRef index; /* as it is used or extended to 64 bits; NULL: there is nothing to test */
  bool loads;
  bool clamps;                         /* lanes may be clamped to an edge */
  bool swaps;                          /* bits are flipped: neighbours may be exchanged */
  bool contiguous, runs, near, window; /* the tests that are made */
  bool follows;                        /* lanes follow each other, unless one wraps before it is extended */
} tested_index;

/* The index of an address that is a uniform base plus one varying index of the element's size. */
tested_index index_to_test(widener *w, const place *at, LLVMTypeRef type, bool loads);
vectors load_tested(widener *w, const place *at, const tested_index *x, LLVMTypeRef wide, mask m);
void store_tested(widener *w, const place *at, const tested_index *x, vectors lanes, mask m);
/* Tests of a vector's lanes, as scalars: whether all are true; and the lanes, or true where one is inactive. */
LLVMValueRef in_every_lane(widener *w, LLVMValueRef lanes);
LLVMValueRef unless_inactive(widener *w, mask m, int u, LLVMValueRef lanes);
/* Whether the index plus any number of lanes below `lanes` does not wrap. */
LLVMValueRef has_room(widener *w, LLVMValueRef index, bool is_unsigned, unsigned lanes);

/* ---- selected_access.c ---- */

/* Whether a load is from places that lanes choose between; and the loads of the first `count` vectors. */
struct selected_address;
bool is_selected(widener *w, const place *at, struct selected_address *x);
vectors load_selected(widener *w, const place *at, const struct selected_address *x, LLVMTypeRef wide, mask m,
                      int count);

/* ---- tested_butterfly.c ---- */

typedef struct butterfly { /* the places of a vector's lanes */
  LLVMValueRef pointer;    /* of a window */
  LLVMValueRef lanes;      /* each lane's place in it, as vectors of i32 */
} butterfly;

/* Whether accesses of that type can be tested; the tests of a vector's indices; and the accesses. */
bool may_be_near(const widener *w, LLVMTypeRef type);
LLVMValueRef test_near(widener *w, const place *at, LLVMValueRef index, bool is_unsigned, mask m, int u, butterfly *x);
LLVMValueRef load_near(widener *w, const place *at, LLVMTypeRef wide, const butterfly *x);
LLVMValueRef test_swap(widener *w, const place *at, LLVMValueRef index, bool is_unsigned, int u, butterfly *x);
void store_swapped(widener *w, const place *at, LLVMValueRef lanes, mask m, int u, const butterfly *x);

/* ---- windowed_gather.c ---- */

/* Whether the run-time test for a window pays here; and the loads with it, by the index. */
bool may_be_window(const widener *w, const place *at, LLVMTypeRef type);
vectors load_window(widener *w, const place *at, LLVMValueRef index, LLVMTypeRef type, mask m);

/* ---- paired_gather.c ---- */

/* An access to one of two neighbouring members at arbitrary places. True: it was done, or is deferred, together with
   the other. */
bool load_pair(widener *w, LLVMValueRef load, mask m);
bool store_pair(widener *w, LLVMValueRef store, mask m);

/* ---- permuted.c ---- */

/* Accesses for which follows_pattern is true; else false. A store may be deferred to others. */
bool load_pattern(widener *w, LLVMValueRef load, mask m, vectors *result);
bool store_pattern(widener *w, LLVMValueRef store, mask m);

/* ---- records.c ---- */

/* An access for which is_member_of_record is true: true if it was done, or will be, with others of its record. */
bool load_of_record(widener *w, LLVMValueRef load, mask m);
bool store_to_record(widener *w, LLVMValueRef store, mask m);

/* ---- transposed.c ---- */

/* Addresses for which reaches_rows is true. */
vectors load_rows(widener *w, const place *at, LLVMTypeRef type, mask m);
void store_rows(widener *w, const place *at, vectors lanes, mask m);

/* ---- gather.c, of strided lanes ---- */

/* Whether a strided access with all lanes active is better done lane by lane; and those accesses. */
bool in_even_steps(widener *w, const place *at);
/* from lane 0's element on */
LLVMValueRef load_steps(widener *w, const place *at, LLVMTypeRef wide, LLVMValueRef base);
LLVMValueRef load_singly(widener *w, const place *at, LLVMTypeRef wide, int u);
void store_singly(widener *w, const place *at, LLVMValueRef lanes, int u);

/* ---- nontemporal_stores.c ---- */

/* A streaming store of all lanes' contiguous elements of so many bytes, in launches for which that is faster; false:
   there are none. */
bool store_streamed(widener *w, const place *at, vectors lanes, uint64_t bytes);

/* ---- interleaved.c ---- */

/* The address as another one plus a constant distance. */
LLVMValueRef base_of(widener *w, LLVMValueRef address, int64_t *distance);
/* The type that the last index of an address counts; NULL where other indices are not 0. */
LLVMTypeRef element_of(LLVMValueRef gep);
/* The distance from lane l to lane l + 1 in elements of so many bytes, if it is 2 to 4; else 0. */
int few_steps(widener *w, const place *at, uint64_t bytes);
vectors load_strided(widener *w, const place *at, LLVMTypeRef type, int steps, mask m);
/* A store to every second, third or fourth element of shared memory; false: it is not that, or does not pay. */
bool store_strided(widener *w, const place *at, vectors lanes, mask m);
/* The elements 0 .. steps - 1 of each lane's struct, which is at `at`. */
void store_structs(widener *w, const place *at, vectors *values, int steps, mask m);
/* A store that forms whole structs with others in its node. True: it was done, or is deferred, with them. */
bool store_struct_member(widener *w, LLVMValueRef store, mask m);
bool is_stored_together(widener *w, LLVMValueRef store);

#endif
