/* Store sinking: slots of widened code begin where they are first needed.
 *
 * Masks of paths begin empty where their region begins: a switch of 1,000 cases has thousands of slots that are set to
 * zero in one place and used in two blocks each. LLVM's mem2reg looks for phis in all blocks that a store dominates, so
 * that its time is the slots times the blocks. Here the zero is stored where the slot's other accesses have their
 * nearest common dominator. Then no load reads an earlier value of the slot, and the stores of undefined values that
 * end its lifetime can be deleted.
 *
 * The zero stays in the loops that it was in: a common dominator in a loop of its own would set the slot again in each
 * iteration. Functions with few slots are left alone. */
#include "mwcc/mwcc.h"
#include "mwcc/analysis/simt.h"
#include "mwcc/target/tuning.h"
#include "opt.h"

#include <stdlib.h>

typedef struct place {
  LLVMBasicBlockRef block;
  int number;
} place;

typedef struct sinker {
  place *by_address; /* the function's blocks */
  LLVMBasicBlockRef *blocks;
  int count;
  order o;
} sinker;

static int compare(const void *a, const void *b) {
  uintptr_t left = (uintptr_t)((const place *)a)->block, right = (uintptr_t)((const place *)b)->block;
  return (left > right) - (left < right);
}

static int number_of(const sinker *l, LLVMBasicBlockRef block) {
  place key = {.block = block};
  return ((const place *)bsearch(&key, l->by_address, (size_t)l->count, sizeof key, compare))->number;
}

static int successors(const void *context, int n, int out[2]) {
  const sinker *l = context;
  LLVMValueRef end = LLVMGetBasicBlockTerminator(l->blocks[n]);
  int count = (int)LLVMGetNumSuccessors(end);
  for (int i = 0; i < count; i++) out[i] = number_of(l, LLVMGetSuccessor(end, (unsigned)i));
  return count;
}

/* ---- a slot ---- */

typedef struct slot {
  LLVMValueRef begin;    /* the store of zero */
  instructions ends;     /* stores of undefined values */
  instructions accesses; /* all others */
} slot;

static void append(instructions *list, LLVMValueRef i) {
  if ((list->count & (list->count - 1)) == 0)
    list->items = mw_realloc(list->items, (list->count ? 2 * list->count : 1) * sizeof *list->items);
  list->items[list->count++] = i;
}

/* Whether it is only loaded and stored. */
static bool read_slot(LLVMValueRef alloca, slot *s) {
  for (LLVMUseRef use = LLVMGetFirstUse(alloca); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    bool is_store = LLVMIsAStoreInst(user) != NULL;
    if (!is_store && !LLVMIsALoadInst(user)) return false;
    if (LLVMGetVolatile(user) || (is_store && LLVMGetOperand(user, 0) == alloca)) return false;
    LLVMValueRef value = is_store ? LLVMGetOperand(user, 0) : NULL;
    if (value && LLVMIsUndef(value)) {
      append(&s->ends, user);
    } else if (value && LLVMIsNull(value) && !s->begin) {
      s->begin = user;
    } else {
      append(&s->accesses, user);
    }
  }
  return s->begin && s->accesses.count;
}

static int meet(const sinker *l, int a, int b) {
  while (a != b) {
    while (l->o.index[a] > l->o.index[b]) a = l->o.idom[a];
    while (l->o.index[b] > l->o.index[a]) b = l->o.idom[b];
  }
  return a;
}

/* The block at whose beginning the zero can be stored; -1: where it is. */
static int best_begin(const sinker *l, const slot *s) {
  int from = number_of(l, LLVMGetInstructionParent(s->begin)), to = -1;
  for (size_t i = 0; i < s->accesses.count; i++) {
    int at = number_of(l, LLVMGetInstructionParent(s->accesses.items[i]));
    if (at == from || l->o.index[at] < 0 || l->o.index[from] < 0 || !dominates(&l->o, from, at)) return -1;
    to = to < 0 ? at : meet(l, to, at);
  }
  while (to != from && l->o.innermost[to] >= 0 && !l->o.loops[l->o.innermost[to]].contains[from]) to = l->o.idom[to];
  return to == from ? -1 : to;
}

static void sink_store(const sinker *l, LLVMBuilderRef b, const slot *s) {
  int to = best_begin(l, s);
  if (to < 0) return;
  LLVMValueRef first = LLVMGetFirstInstruction(l->blocks[to]);
  while (LLVMIsAPHINode(first)) first = LLVMGetNextInstruction(first);
  LLVMInstructionRemoveFromParent(s->begin);
  LLVMPositionBuilderBefore(b, first);
  LLVMInsertIntoBuilder(b, s->begin);
  for (size_t i = 0; i < s->ends.count; i++) LLVMInstructionEraseFromParent(s->ends.items[i]);
}

/* ---- a function ---- */

static instructions slots_of(LLVMValueRef function) {
  instructions list = {0};
  LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(function);
  for (LLVMValueRef i = LLVMGetFirstInstruction(entry); i; i = LLVMGetNextInstruction(i))
    if (LLVMIsAAllocaInst(i)) append(&list, i);
  return list;
}

/* False: a block has more than two successors, as no widened code has. */
static bool number_blocks(sinker *l, LLVMValueRef function) {
  l->count = (int)LLVMCountBasicBlocks(function);
  l->blocks = mw_alloc((size_t)l->count * sizeof *l->blocks);
  l->by_address = mw_alloc((size_t)l->count * sizeof *l->by_address);
  LLVMGetBasicBlocks(function, l->blocks);
  for (int i = 0; i < l->count; i++) l->by_address[i] = (place){l->blocks[i], i};
  qsort(l->by_address, (size_t)l->count, sizeof *l->by_address, compare);
  for (int i = 0; i < l->count; i++)
    if (LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(l->blocks[i])) > 2) return false;
  return true;
}

static void sink_stores_of(program *p, LLVMValueRef function, const instructions *slots) {
  sinker l = {0};
  if (number_blocks(&l, function)) {
    LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
    flow f = {
        .count = l.count, .entry = number_of(&l, LLVMGetEntryBasicBlock(function)), .succs = successors, .context = &l};
    l.o = order_of(&f);
    for (size_t i = 0; i < slots->count; i++) {
      slot s = {0};
      if (read_slot(slots->items[i], &s)) sink_store(&l, b, &s);
      free(s.ends.items);
      free(s.accesses.items);
    }
    order_free(&l.o);
    LLVMDisposeBuilder(b);
  }
  free(l.blocks);
  free(l.by_address);
}

void sink_stores(program *p) {
  EACH_FUNCTION(p, f) {
    if (LLVMIsDeclaration(f)) continue;
    instructions slots = slots_of(f);
    if (slots.count >= TUNE_STORE_SINKING) sink_stores_of(p, f, &slots);
    free(slots.items);
  }
  verify_module(p, "store sinking");
}
