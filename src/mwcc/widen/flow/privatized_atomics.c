/* Privatised atomic additions: the sums of widen/calls/privatized_atomics.c are added to memory when a group of
 * strip-mined blocks is done. */
#include "emission.h"
#include "mwcc/grid_stride/grid_stride.h"

static LLVMValueRef no_place(const privatised_add *a, LLVMTypeRef number) {
  return LLVMConstIntToPtr(LLVMConstAllOnes(number), a->pointer);
}

/* Add one thread's sum, if there is one, and reset it. */
static void add_one(emission *e, const privatised_add *a, LLVMValueRef lane) {
  widener *w = &e->w;
  LLVMBasicBlockRef adds = new_block(e, "adds"), next = new_block(e, "added");
  LLVMValueRef sum = LLVMBuildInBoundsGEP2(w->b, a->type, a->sums, &lane, 1, "");
  LLVMValueRef where = LLVMBuildInBoundsGEP2(w->b, a->pointer, a->places, &lane, 1, "");
  LLVMValueRef at = LLVMBuildLoad2(w->b, a->pointer, where, "");
  LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, LLVMIntEQ, at, no_place(a, w->p->i64), ""), next, adds);
  continue_at(e, adds);
  LLVMSetCurrentDebugLocation2(w->b, a->position);
  LLVMBuildAtomicRMW(w->b, LLVMAtomicRMWBinOpAdd, at, LLVMBuildLoad2(w->b, a->type, sum, ""),
                     LLVMAtomicOrderingMonotonic, 0);
  LLVMBuildStore(w->b, LLVMConstNull(a->type), sum);
  LLVMBuildStore(w->b, no_place(a, w->p->i64), where);
  LLVMBuildBr(w->b, next);
  continue_at(e, next);
}

/* From here on the running code belongs to several blocks. */
static void note_several(widener *w) {
  LLVMValueRef at = constant_i64(w->p, offsetof(mw_worker, block));
  LLVMBuildStore(w->b, constant_i64(w->p, MW_SEVERAL_BLOCKS),
                 LLVMBuildInBoundsGEP2(w->b, w->p->i8, w->worker, &at, 1, ""));
}

void end_private_adds(emission *e) {
  widener *w = &e->w;
  for (int n = 0; n < MOST_SAVED; n++) {
    const privatised_add *a = &w->adds[n];
    if (!a->sums) continue;
    note_several(w);
    counted c = begin_counted(e, LLVMBuildAlloca(w->entry, w->p->i32, "lane"), a->count, 1);
    add_one(e, a, load_slot(e, w->p->i32, c.slot));
    end_counted(e, c);
  }
}
