/* Register blocking: which accumulators make a group, which vectors later groups read from a buffer, and how many
 * iterations the buffers hold. See register_blocking.c. */
#include "register_blocking.h"
#include "mwcc/support/predicates.h"
#include "mwcc/target/target.h"

#include <stdlib.h>

enum {
  STRIP = 64, /* iterations, at most */
  LEAST_STRIP = 8,
  BUFFER = 4096 /* bytes: a part of the nearest cache */
};

int registers_of_type(const program *p, LLVMTypeRef type) {
  int bytes = (int)LLVMABISizeOfType(p->layout, type), each = register_lanes(p) * (int)sizeof(float);
  return (bytes + each - 1) / each;
}

/* Whether a group reads the value from the buffer rather than recomputing it: a vector that is neither a splat, which
   is one instruction, nor a mask. */
static bool is_buffered_kind(const blocking *t, int i) {
  LLVMValueRef value = t->items[i];
  LLVMTypeRef type = LLVMTypeOf(value);
  if (i < t->phi_count || !is_vector_type(type) || LLVMGetElementType(type) == t->p->i1 ||
      LLVMIsAInsertElementInst(value))
    return false;
  return !LLVMIsAShuffleVectorInst(value) || !LLVMIsAInsertElementInst(LLVMGetOperand(value, 0));
}

/* Registers for the largest vector that is shared, and one for the value being computed. */
static int registers_for_shared(const blocking *t) {
  int most = 0;
  for (int i = t->phi_count; i < t->count - 1; i++) {
    bool several = (t->needed[i] & (t->needed[i] - 1)) && is_buffered_kind(t, i);
    int count = several ? registers_of_type(t->p, LLVMTypeOf(t->items[i])) : 0;
    if (count > most) most = count;
  }
  return most + 1;
}

static int registers_of(const blocking *t, int k) {
  return registers_of_type(t->p, LLVMTypeOf(t->items[t->carried[k]]));
}

/* Accumulators of a group, where all have one size: as many as there is room for, unless the first group, which takes
   what is left, would have less than half of that. The others may be alike then. 0: they differ in size. */
static int accumulators_of_group(const blocking *t, int room) {
  int weight = registers_of(t, 0), each = room / weight;
  for (int k = 1; k < t->carried_count; k++)
    if (registers_of(t, k) != weight) return 0;
  while (each > 1 && t->carried_count % each && 2 * (t->carried_count % each) < each) each--;
  return each;
}

/* Choose as few groups as possible, of about as many registers each. Values that the first group computes for the
   others count as part of it. */
bool choose_groups(blocking *t) {
  int besides = registers_for_shared(t), all = 0, largest = 1, taken = besides - 1;
  for (int k = 0; k < t->carried_count; k++) {
    all += registers_of(t, k);
    if (registers_of(t, k) > largest) largest = registers_of(t, k);
  }
  int room = (vector_registers(t->p) - besides) / largest * largest;
  if (room > MOST_ROWS * largest) { /* then there are registers for the shared vectors besides */
    room = MOST_ROWS * largest;
    taken = 0;
  }
  if (room < 1 || all <= room) return false;
  all += taken;
  int group_total = (all + room - 1) / room, each = accumulators_of_group(t, room),
      left = each ? t->carried_count % each : 0;
  for (int k = 0; k < t->carried_count; k++) {
    int weight = registers_of(t, k);
    /* The next group begins where this one and those before it have their proportion of all registers. */
    bool next = each ? (k - left) % each == 0 : (taken + weight) * group_total > all * t->group_count;
    if (!t->group_count || next) {
      if (t->group_count == MOST_GROUPS) return false;
      t->group_count++;
    }
    t->list[t->group_count - 1].carried |= bit(k);
    taken += weight;
  }
  return t->group_count > 1;
}

int first_group(const blocking *t, int i) {
  int n = 0;
  while (n < t->group_count && !(t->needed[i] & t->list[n].carried)) n++;
  return n;
}

/* Whether the group computes the value rather than reading it from the buffer. */
static bool computes(const blocking *t, int which, int i) {
  return (t->needed[i] & t->list[which].carried) && (!is_buffered_kind(t, i) || first_group(t, i) == which);
}

/* Whether a group after the first one that needs the value computes something from it, or carries it. */
static bool is_left_in_buffer(const blocking *t, int i) {
  if (!is_buffered_kind(t, i)) return false;
  for (int n = first_group(t, i) + 1; n < t->group_count; n++) {
    for (int k = 0; k < t->carried_count; k++)
      if ((t->list[n].carried & bit(k)) && next_of(t, t->carried[k]) == t->items[i]) return true;
    for (LLVMUseRef use = LLVMGetFirstUse(t->items[i]); use; use = LLVMGetNextUse(use)) {
      int user = item_of(t, LLVMGetUser(use));
      if (user >= t->phi_count && computes(t, n, user)) return true;
    }
  }
  return false;
}

/* The buffers, and the number of iterations for which they suffice. */
bool choose_strip(blocking *t) {
  uint64_t bytes = 0, iterations = STRIP;
  bool *left = mw_alloc((size_t)t->count * sizeof *left);
  for (int i = 0; i < t->count; i++) {
    left[i] = is_left_in_buffer(t, i);
    if (left[i]) bytes += LLVMABISizeOfType(t->p->layout, LLVMTypeOf(t->items[i]));
  }
  while (bytes * iterations > BUFFER) iterations /= 2;
  t->strip = iterations;
  t->buffers = mw_alloc((size_t)t->count * sizeof(LLVMValueRef));
  LLVMPositionBuilderBefore(t->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(t->function)));
  for (int i = 0; i < t->count && iterations >= LEAST_STRIP; i++)
    if (left[i]) t->buffers[i] = new_memory(t, LLVMArrayType2(LLVMTypeOf(t->items[i]), iterations));
  free(left);
  return iterations >= LEAST_STRIP;
}
