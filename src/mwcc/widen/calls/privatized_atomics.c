/* Atomic sums that are added to memory when several blocks are done (grid_stride/atomic_privatization.c), in lanes. */
#include "mwcc/grid_stride/grid_stride.h"
#include "mwcc/widen/widen.h"

#include <stdlib.h>
#include <string.h>

/* Each byte of an address to which nothing is to be added: no array lies there. NULL will not do, since a mistaken
   address may be NULL. */
enum { NOTHING = 0xff };

/* Memory for all lanes of a block, with this value in each byte. */
static LLVMValueRef new_memory_of(widener *w, LLVMTypeRef type, LLVMValueRef count, int byte) {
  enum { LINE = 64 };
  LLVMValueRef memory = LLVMBuildArrayAlloca(w->entry, type, count, "added");
  LLVMValueRef bytes = constant_i32(w->p, (unsigned)LLVMABISizeOfType(w->p->layout, type));
  LLVMSetAlignment(memory, LINE);
  LLVMBuildMemSet(w->entry, memory, LLVMConstInt(LLVMInt8TypeInContext(w->p->context), (unsigned)byte, 0),
                  LLVMBuildMul(w->entry, count, bytes, ""), LINE);
  return memory;
}

static privatised_add *add_of(widener *w, LLVMValueRef call) {
  unsigned long number = strtoul(strrchr(callee_name(call), '.') + 1, NULL, 10);
  if (number >= MOST_SAVED) die("internal: sum %lu of %d", number, MOST_SAVED);
  privatised_add *a = &w->adds[number];
  if (a->sums) return a;
  LLVMValueRef count = LLVMBuildMul(w->entry, w->gangs, constant_i32(w->p, (unsigned)(w->vectors * w->width)), "");
  *a = (privatised_add){
      .type = LLVMTypeOf(LLVMGetOperand(call, 1)), .pointer = LLVMTypeOf(LLVMGetOperand(call, 0)), .count = count};
  a->sums = new_memory_of(w, a->type, count, 0);
  a->places = new_memory_of(w, a->pointer, count, NOTHING);
  a->position = LLVMGetCurrentDebugLocation2(w->b);
  return a;
}

static LLVMValueRef load_private(widener *w, LLVMTypeRef type, LLVMValueRef at) {
  LLVMValueRef lanes = LLVMBuildLoad2(w->b, vector_type(w, type), at, "");
  LLVMSetAlignment(lanes, (unsigned)LLVMABISizeOfType(w->p->layout, type));
  return lanes;
}

static void store_private(widener *w, LLVMTypeRef type, LLVMValueRef lanes, LLVMValueRef at) {
  LLVMSetAlignment(LLVMBuildStore(w->b, lanes, at), (unsigned)LLVMABISizeOfType(w->p->layout, type));
}

bool widen_private_add(widener *w, LLVMValueRef call, mask m) {
  if (!starts_with(callee_name(call), PRIVATE_ADD)) return false;
  privatised_add *a = add_of(w, call);
  vectors active = m.all ? (vectors){0} : mask_vectors(w, m);
  LLVMValueRef gang = LLVMBuildLoad2(w->b, w->p->i32, w->gang, "");
  LLVMValueRef first = LLVMBuildMul(w->b, gang, constant_i32(w->p, (unsigned)(w->vectors * w->width)), "");
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef lane = LLVMBuildAdd(w->b, first, constant_i32(w->p, (unsigned)(u * w->width)), "");
    LLVMValueRef sum = LLVMBuildInBoundsGEP2(w->b, a->type, a->sums, &lane, 1, "");
    LLVMValueRef where = LLVMBuildInBoundsGEP2(w->b, a->pointer, a->places, &lane, 1, "");
    LLVMValueRef added = value_vector(w, LLVMGetOperand(call, 1), u), at = value_vector(w, LLVMGetOperand(call, 0), u);
    if (!m.all) {
      added = LLVMBuildSelect(w->b, active.of[u], added, LLVMConstNull(LLVMTypeOf(added)), "");
      at = LLVMBuildSelect(w->b, active.of[u], at, load_private(w, a->pointer, where), "");
    }
    store_private(w, a->type, LLVMBuildAdd(w->b, load_private(w, a->type, sum), added, ""), sum);
    store_private(w, a->pointer, at, where);
  }
  return true;
}
