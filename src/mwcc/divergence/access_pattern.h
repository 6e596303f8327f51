/* Accesses of one node that are done together: permuted accesses, whose lanes are at constant distances from lane 0's, near
 * each other (widen/memory/permuted.c), and members of records (widen/memory/records.c). */
#ifndef MWCC_ACCESS_PATTERN_H
#define MWCC_ACCESS_PATTERN_H

#include "address_form.h"

enum { PATTERN_VECTORS = 4, MOST_MEMBERS = 4 };

typedef struct pattern {
  form form;
  int64_t distances[MOST_LANES]; /* by lane, from lane 0 */
  /* of all members: the first byte and the one after the last, relative to the sum of the form's terms */
  int64_t low, high;
  int64_t bytes;                      /* of an element */
  LLVMValueRef members[MOST_MEMBERS]; /* of stores */
  int64_t offsets[MOST_MEMBERS];
  int member_count;
  LLVMValueRef first, last; /* of the members, in the code */
} pattern;

/* Whether whole vectors and shuffles can do the access; `member` and `lane`: those that store each element. */
bool loads_in_pattern(const shapes *s, LLVMValueRef load, pattern *p);
/* Whether `i` loads from other memory than that of the address: one is shared memory, the other is reached through a
   kernel's parameter. */
bool reads_elsewhere(LLVMValueRef i, LLVMValueRef address);
bool stores_in_pattern(const shapes *s, LLVMValueRef store, pattern *p, int *member, int *lane);

/* ---- record_access.c ---- */

enum { RECORD_CHUNK = 16 /* bytes */, MOST_RECORD_MEMBERS = 48, MOST_RECORD_CHUNKS = 24 };

/* Loads, or stores, of one node to members of a record that each lane has at a place of its own: from one base, at
   constant distances, with nothing in between that could tell whether loads are done where the first of them is, or stores
   where the last is. */
typedef struct record {
  form form;                                 /* of the first member in the code */
  int64_t bytes;                             /* of a member */
  LLVMValueRef members[MOST_RECORD_MEMBERS]; /* in the code's order */
  int64_t offsets[MOST_RECORD_MEMBERS];
  int count;
  /* The pieces of the record that are accessed at once: 4, 8, 12 or 16 bytes from a distance on, without members in common
     where they are stored. Members in none of them are accessed by themselves. */
  struct {
    int64_t start;
    int bytes;
  } chunks[MOST_RECORD_CHUNKS];
  int chunk_count;
} record;

/* Whether the access is of a record, and in one of its chunks, whose number is *chunk. */
bool is_of_record(const shapes *s, LLVMValueRef access, record *r, int *chunk);
/* The number of the chunk with the member that begins at a distance; -1: it is in none. */
int chunk_with(const record *r, int64_t offset);

/* ---- selected places: access_pattern.c ---- */

/* Addresses that lanes choose between a few places: `tile[max(x - 1, first)]`, `*(x == 0 ? &edge[y] : &tile[y][x -
 * 1])`.
 *
 * A gather takes time for each lane. But the choice is a minimum, a maximum or a selection, and if all lanes chose
 * the same operand, their places would be neighbours, or one place. So the lanes that choose an operand need one
 * vector load or one scalar load. A clamp of a clamp has three places.
 *
 * Proof. An active lane's address is that of the one place that it chooses, as all other operands on the way are the
 * same for the lanes of a vector, or are exact: sums and differences wrap alike for all lanes, and a number that
 * differs between lanes is only extended where its shape says that sext(base) + l * stride is the extended value for
 * active lanes. One that the program takes as unsigned is known not to be negative there. */

enum { MOST_CHOICES = 3, MOST_PLACES = 4 };

typedef struct chosen_place {
  bool second[MOST_CHOICES]; /* of the choices on the way from the address: whether it is their second operand */
  int choices;
  int64_t stride;        /* bytes from lane to lane: an element's or 0 */
  int64_t step;          /* bytes from vector to vector, if `stepped` */
  bool stepped, uniform; /* uniform: the same for the gang */
} chosen_place;

typedef struct selected_address {
  chosen_place places[MOST_PLACES];
  int count;
} selected_address;

/* Whether a load of so many bytes is from such places. */
bool selects_places(const shapes *s, LLVMValueRef load, selected_address *out);
/* Whether a value is such a choice, its operands, and the predicate by which the first is chosen, with NULL as the
   condition, if these are compared; otherwise the condition. */
bool is_choice(LLVMValueRef value);
LLVMValueRef operand_of_choice(LLVMValueRef choice, bool second);
LLVMValueRef condition_of_choice(LLVMValueRef choice, LLVMIntPredicate *compares);

#endif
