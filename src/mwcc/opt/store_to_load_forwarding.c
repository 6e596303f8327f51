/* Store-to-load forwarding between vectors, for loads at a distance of a few lanes from a store.
 *
 * Where a block is one gang, `sums[t - step]` after a barrier reads a vector that straddles two stored ones. LLVM
 * forwards only whole values, and processors stall until both stores have reached the cache. So such a load becomes a
 * shuffle of the two vectors, and stores that are no longer read are removed. (LLVM's own dead-store elimination
 * compares accesses pairwise, which is slow where there are hundreds of them, as in prefix sums.)
 *
 * Works on a basic block, and continues into a block that only this one leads to. The pass tracks the vectors at
 * constant distances from one base pointer. It forgets them at a store to elsewhere, a call that may write, and an
 * atomic or volatile access. A barrier within one gang has no effect, and between two barriers no other thread may
 * change what this one stores. */
#include "mwcc/mwcc.h"
#include "mwcc/analysis/analysis.h"
#include "mwcc/support/predicates.h"
#include "opt.h"

#include <stdlib.h>

enum { MOST = 64, MOST_ELEMENTS = 64 };

typedef struct known {
  int64_t offset, bytes;
  LLVMValueRef value, store; /* store: NULL where what it stored may be read */
  bool blended;              /* the last store was of some lanes */
} known;

typedef struct memory {
  program *p;
  LLVMValueRef base; /* NULL: nothing is known */
  known items[MOST];
  int count;
} memory;

/* ---- addresses ---- */

/* A pointer as another one plus a constant distance. */
static LLVMValueRef base_of(program *p, LLVMValueRef pointer, int64_t *offset) {
  *offset = 0;
  while (LLVMIsAGetElementPtrInst(pointer)) {
    LLVMTypeRef type = LLVMGetGEPSourceElementType(pointer);
    int64_t distance = 0;
    for (int i = 1; i < LLVMGetNumOperands(pointer); i++) {
      LLVMValueRef index = LLVMGetOperand(pointer, (unsigned)i);
      if (!LLVMIsAConstantInt(index)) return pointer;
      if (i > 1 && LLVMGetTypeKind(type) != LLVMArrayTypeKind) return pointer;
      if (i > 1) type = LLVMGetElementType(type);
      distance += LLVMConstIntGetSExtValue(index) * (int64_t)LLVMABISizeOfType(p->layout, type);
    }
    *offset += distance;
    pointer = LLVMGetOperand(pointer, 0);
  }
  return pointer;
}

static bool is_vector(const memory *m, LLVMTypeRef type) {
  if (!is_vector_type(type) || LLVMGetVectorSize(type) > MOST_ELEMENTS) return false;
  LLVMTypeRef element = LLVMGetElementType(type);
  if (LLVMGetTypeKind(element) == LLVMPointerTypeKind) return false;
  return LLVMSizeOfTypeInBits(m->p->layout, element) == 8 * LLVMABISizeOfType(m->p->layout, element);
}

static int64_t bytes_of(const memory *m, LLVMTypeRef type) { return (int64_t)LLVMStoreSizeOfType(m->p->layout, type); }

/* ---- what is known ---- */

static void forget_all(memory *m) { m->base = NULL, m->count = 0; }

static void forget(memory *m, int64_t offset, int64_t bytes) {
  int kept = 0;
  for (int i = 0; i < m->count; i++) {
    bool disjoint = m->items[i].offset + m->items[i].bytes <= offset || m->items[i].offset >= offset + bytes;
    if (disjoint) m->items[kept++] = m->items[i];
  }
  m->count = kept;
}

/* Bytes of the base may be read (all of them, if it is NULL): their stores have to stay. */
static void note_read(memory *m, LLVMValueRef base, int64_t offset, int64_t bytes) {
  for (int i = 0; i < m->count; i++) {
    bool disjoint = m->items[i].offset + m->items[i].bytes <= offset || m->items[i].offset >= offset + bytes;
    if (base != m->base || !disjoint) m->items[i].store = NULL;
  }
}

/* Remove stores of which no byte is read before all of them are stored again. */
static void drop_dead(memory *m, int64_t offset, int64_t bytes) {
  for (int i = 0; i < m->count; i++) {
    known *k = &m->items[i];
    if (!k->store || k->offset < offset || k->offset + k->bytes > offset + bytes) continue;
    LLVMInstructionEraseFromParent(k->store);
    k->store = NULL;
  }
}

/* `value` NULL: bytes of that type are stored in part. */
static void note_store(memory *m, LLVMValueRef pointer, LLVMTypeRef type, LLVMValueRef value, LLVMValueRef store) {
  int64_t offset, bytes = bytes_of(m, type);
  LLVMValueRef base = base_of(m->p, pointer, &offset);
  if (base != m->base) forget_all(m);
  m->base = base;
  if (value) drop_dead(m, offset, bytes);
  forget(m, offset, bytes);
  if (!value || !is_vector(m, type)) return;
  if (m->count == MOST) forget_all(m), m->base = base;
  m->items[m->count++] = (known){offset, bytes, value, store, false};
}

static LLVMValueRef known_at(const memory *m, int64_t offset, LLVMTypeRef type) {
  for (int i = 0; i < m->count; i++)
    if (m->items[i].offset == offset && LLVMTypeOf(m->items[i].value) == type) return m->items[i].value;
  return NULL;
}

/* The known vector that contains the first byte of a load, or would if it were known. */
static int64_t first_offset(const memory *m, int64_t offset, LLVMTypeRef type) {
  int64_t bytes = bytes_of(m, type);
  for (int i = 0; i < m->count; i++) {
    int64_t at = m->items[i].offset;
    if (LLVMTypeOf(m->items[i].value) != type) continue;
    if (at <= offset && offset < at + bytes) return at;
    if (offset < at && at < offset + bytes) return at - bytes;
  }
  return offset;
}

/* ---- loads ---- */

static bool is_active(LLVMValueRef mask, unsigned lane) {
  LLVMValueRef bit = mask ? LLVMGetAggregateElement(mask, lane) : NULL;
  return !mask || !bit || !LLVMIsAConstantInt(bit) || LLVMConstIntGetZExtValue(bit);
}

/* The value that a load of the active lanes has (`mask` NULL: all), as a shuffle before it; or NULL. */
static LLVMValueRef shuffle_known(const memory *m, LLVMBuilderRef b, LLVMValueRef load, LLVMValueRef pointer,
                                  LLVMTypeRef type, LLVMValueRef mask) {
  int64_t offset;
  if (!m->count || !is_vector(m, type) || base_of(m->p, pointer, &offset) != m->base) return NULL;
  unsigned count = LLVMGetVectorSize(type);
  int64_t element = bytes_of(m, type) / count, from = first_offset(m, offset, type), bytes = bytes_of(m, type);
  if ((offset - from) % element) return NULL;
  unsigned shift = (unsigned)((offset - from) / element);
  LLVMValueRef low = known_at(m, from, type), high = shift ? known_at(m, from + bytes, type) : NULL;
  LLVMValueRef lanes[MOST_ELEMENTS];
  for (unsigned i = 0; i < count; i++) {
    bool is_known = i + shift < count ? low != NULL : high != NULL, active = is_active(mask, i);
    if (active && !is_known) return NULL;
    lanes[i] = active ? constant_i32(m->p, i + shift) : LLVMGetPoison(m->p->i32);
  }
  if (!shift && !mask) return low;
  LLVMPositionBuilderBefore(b, load);
  /* of integers: LLVM selects x86's valignd for those alone */
  LLVMTypeRef bits = LLVMVectorType(LLVMIntTypeInContext(m->p->context, (unsigned)element * 8), count);
  low = low ? LLVMBuildBitCast(b, low, bits, "") : LLVMGetPoison(bits);
  high = high ? LLVMBuildBitCast(b, high, bits, "") : LLVMGetPoison(bits);
  return LLVMBuildBitCast(b, LLVMBuildShuffleVector(b, low, high, LLVMConstVector(lanes, count), ""), type, "");
}

/* An element of a vector of which some lanes were stored last, or NULL. Such a store and all before it would have to
   reach the cache before the element can be loaded. Elements of other vectors are forwarded by the processor at once,
   and take no register. */
static LLVMValueRef element_at(const memory *m, LLVMBuilderRef b, LLVMValueRef load) {
  int64_t offset, bytes = bytes_of(m, LLVMTypeOf(load));
  if (!m->count || base_of(m->p, LLVMGetOperand(load, 0), &offset) != m->base) return NULL;
  for (int i = 0; i < m->count; i++) {
    const known *k = &m->items[i];
    if (!k->blended || LLVMGetElementType(LLVMTypeOf(k->value)) != LLVMTypeOf(load) || offset < k->offset) continue;
    if (offset + bytes > k->offset + k->bytes || (offset - k->offset) % bytes) continue;
    LLVMPositionBuilderBefore(b, load);
    return LLVMBuildExtractElement(b, k->value, constant_i32(m->p, (unsigned)((offset - k->offset) / bytes)), "");
  }
  return NULL;
}

static bool is_known_mask(LLVMValueRef mask) { return LLVMIsConstant(mask) && !LLVMIsAConstantExpr(mask); }

/* A store of some constant lanes to a place where all were known: the blend of both is known now. The store stays for
   readers of other lanes. */
static LLVMValueRef blend(const memory *m, LLVMBuilderRef b, LLVMValueRef store) {
  LLVMValueRef value = LLVMGetOperand(store, 0), mask = LLVMGetOperand(store, MASKED_STORE_MASK);
  int64_t offset;
  if (!is_known_mask(mask) || base_of(m->p, LLVMGetOperand(store, 1), &offset) != m->base) return NULL;
  LLVMValueRef before = known_at(m, offset, LLVMTypeOf(value));
  if (!before) return NULL;
  LLVMPositionBuilderBefore(b, store);
  return LLVMBuildSelect(b, mask, value, before, "");
}

static bool forward_to(const memory *m, LLVMBuilderRef b, LLVMValueRef load) {
  LLVMValueRef value, mask = NULL;
  if (LLVMIsALoadInst(load) && !is_vector_type(LLVMTypeOf(load))) {
    value = element_at(m, b, load);
  } else if (LLVMIsALoadInst(load)) {
    value = shuffle_known(m, b, load, LLVMGetOperand(load, 0), LLVMTypeOf(load), NULL);
  } else {
    mask = LLVMGetOperand(load, MASKED_LOAD_MASK);
    bool constant = is_known_mask(mask); /* else any lane may be active */
    value = shuffle_known(m, b, load, LLVMGetOperand(load, 0), LLVMTypeOf(load), constant ? mask : NULL);
  }
  if (!value) return false;
  if (mask && !LLVMIsUndef(LLVMGetOperand(load, MASKED_LOAD_ELSE))) {
    LLVMPositionBuilderBefore(b, load);
    value = LLVMBuildSelect(b, mask, value, LLVMGetOperand(load, MASKED_LOAD_ELSE), "");
  }
  LLVMReplaceAllUsesWith(load, value);
  LLVMInstructionEraseFromParent(load);
  return true;
}

/* ---- blocks ---- */

static void process_load(memory *m, LLVMBuilderRef b, LLVMValueRef i) {
  int64_t offset, bytes = bytes_of(m, LLVMTypeOf(i));
  LLVMValueRef base = base_of(m->p, LLVMGetOperand(i, 0), &offset);
  if (!forward_to(m, b, i)) note_read(m, base, offset, bytes);
}

static void note_masked_store(memory *m, LLVMBuilderRef b, LLVMValueRef i) {
  LLVMValueRef pointer = LLVMGetOperand(i, 1), all = blend(m, b, i);
  note_store(m, pointer, LLVMTypeOf(LLVMGetOperand(i, 0)), NULL, NULL);
  int64_t offset;
  if (!all || base_of(m->p, pointer, &offset) != m->base || m->count == MOST) return;
  m->items[m->count++] = (known){offset, bytes_of(m, LLVMTypeOf(all)), all, NULL, true};
}

static void process_call(memory *m, LLVMBuilderRef b, LLVMValueRef i) {
  const char *name = callee_name(i);
  uint64_t effects;
  if (starts_with(name, "llvm.masked.load."))
    process_load(m, b, i);
  else if (starts_with(name, "llvm.masked.store."))
    note_masked_store(m, b, i);
  else if (starts_with(name, "llvm.prefetch."))
    return;
  else if (!writes_no_memory(m->p, i))
    forget_all(m);
  else if (!memory_fact(i, &effects) || effects)
    note_read(m, NULL, 0, 0);
}

static void process(memory *m, LLVMBuilderRef b, LLVMValueRef i) {
  bool loads = LLVMIsALoadInst(i), stores = LLVMIsAStoreInst(i);
  if (LLVMIsACallInst(i))
    process_call(m, b, i);
  else if (loads && is_plain_access(i))
    process_load(m, b, i);
  else if (stores && is_plain_access(i))
    note_store(m, LLVMGetOperand(i, 1), LLVMTypeOf(LLVMGetOperand(i, 0)), LLVMGetOperand(i, 0), i);
  else if (loads || stores || LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i) || LLVMIsAFenceInst(i))
    forget_all(m);
}

typedef struct seen {
  LLVMBasicBlockRef block;
  bool begun;
  memory at_end;
} seen;

typedef struct walk {
  program *p;
  LLVMBuilderRef b;
  seen *list;
  size_t count;
} walk;

static seen *find(const walk *w, LLVMBasicBlockRef block) {
  for (size_t i = 0; i < w->count; i++)
    if (w->list[i].block == block) return &w->list[i];
  return NULL;
}

/* The only block that leads to this one: what is known at its end is known here. If that block has other successors,
   they may read what it stored. */
static seen *only_before(const walk *w, LLVMBasicBlockRef block) {
  LLVMBasicBlockRef before = NULL;
  for (LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); use; use = LLVMGetNextUse(use)) {
    LLVMBasicBlockRef from = LLVMGetInstructionParent(LLVMGetUser(use));
    if (before && before != from) return NULL;
    before = from;
  }
  return before ? find(w, before) : NULL;
}

static void visit(walk *w, seen *s) {
  seen *before = only_before(w, s->block);
  s->begun = true;
  if (before && !before->begun) visit(w, before);
  s->at_end = before ? before->at_end : (memory){.p = w->p};
  if (before && LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(before->block)) > 1) note_read(&s->at_end, NULL, 0, 0);
  for (LLVMValueRef next, i = LLVMGetFirstInstruction(s->block); i; i = next) {
    next = LLVMGetNextInstruction(i);
    process(&s->at_end, w->b, i);
  }
}

static void forward_in(program *p, LLVMBuilderRef b, LLVMValueRef function) {
  walk w = {.p = p, .b = b};
  w.list = mw_alloc((size_t)LLVMCountBasicBlocks(function) * sizeof *w.list);
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block))
    w.list[w.count++] = (seen){.block = block, .at_end.p = p};
  for (size_t i = 0; i < w.count; i++)
    if (!w.list[i].begun) visit(&w, &w.list[i]);
  free(w.list);
}

void forward_stores(program *p) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    if (!LLVMIsDeclaration(f) && is_lane_code(p, f)) forward_in(p, b, f);
  }
  LLVMDisposeBuilder(b);
}
