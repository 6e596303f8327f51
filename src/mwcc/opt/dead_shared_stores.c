/* Dead-store elimination for shared memory.
 *
 * If a block is one gang, store_to_load_forwarding.c keeps the values that threads exchange in registers, and often
 * only stores to a shared array remain. LLVM cannot remove them, as it does not know that a block's shared memory ends
 * with the block. This pass knows: where a block begins (the function stores its number in the worker), nothing that
 * the previous block stored can be read.
 *
 * A backward data-flow analysis: a bit for each word of shared memory says whether it may be read before it is written
 * again. All reads must be known: the pass gives up if an address in shared memory escapes from the function, and an
 * address at a variable distance counts as all addresses. */
#include "mwcc/mwcc.h"
#include "mwcc/support/predicates.h"
#include "mwcc/analysis/analysis.h"
#include "opt.h"

#include <stdlib.h>
#include <string.h>

enum { WORD = 4, MOST_WORDS = 1 << 14, MOST_BITS = 1 << 23, DEPTH = 16 };

/* An instruction's access to shared memory. */
typedef struct access {
  LLVMValueRef at;
  int64_t offset, bytes; /* from the first byte of shared memory */
  bool known;            /* offset and bytes are */
  bool reads, fills;     /* fills: it writes all of the bytes, and nothing else */
  bool removable;
} access;

typedef struct shared_stores {
  program *p;
  LLVMValueRef function;
  access *list; /* by instruction */
  size_t count;
  bool escapes;
  size_t words;
} shared_stores;

/* ---- the accesses ---- */

static void note(shared_stores *s, access a) {
  if (a.known && (a.offset < 0 || (a.offset + a.bytes) / WORD >= MOST_WORDS)) a.known = false;
  if (a.known && (size_t)((a.offset + a.bytes + WORD - 1) / WORD) > s->words)
    s->words = (size_t)((a.offset + a.bytes + WORD - 1) / WORD);
  s->list = mw_realloc(s->list, (s->count + 1) * sizeof *s->list);
  s->list[s->count++] = a;
}

static int64_t size_of(const shared_stores *s, LLVMTypeRef type) {
  return (int64_t)LLVMStoreSizeOfType(s->p->layout, type);
}

static bool constant_distance(const shared_stores *s, LLVMValueRef gep, int64_t *distance) {
  LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
  for (int i = 1; i < LLVMGetNumOperands(gep); i++) {
    LLVMValueRef index = LLVMGetOperand(gep, (unsigned)i);
    if (!LLVMIsAConstantInt(index) || (i > 1 && LLVMGetTypeKind(type) != LLVMArrayTypeKind)) return false;
    if (i > 1) type = LLVMGetElementType(type);
    *distance += LLVMConstIntGetSExtValue(index) * (int64_t)LLVMABISizeOfType(s->p->layout, type);
  }
  return true;
}

/* An intrinsic call with the address as an operand. */
static void note_call(shared_stores *s, LLVMValueRef call, LLVMValueRef address, int64_t offset, bool known) {
  const char *name = callee_name(call);
  access a = {.at = call, .offset = offset, .known = known};
  if (starts_with(name, "llvm.masked.load.") || starts_with(name, "llvm.masked.gather.")) {
    a.reads = true;
    a.bytes = size_of(s, LLVMTypeOf(call));
    note(s, a);
  } else if ((starts_with(name, "llvm.masked.store.") || starts_with(name, "llvm.masked.scatter.")) &&
             LLVMGetOperand(call, 0) != address) {
    a.removable = true;
    a.bytes = size_of(s, LLVMTypeOf(LLVMGetOperand(call, 0)));
    note(s, a);
  } else if (!starts_with(name, "llvm.prefetch.")) {
    s->escapes = true;
  }
}

static void follow(shared_stores *s, LLVMValueRef address, int64_t offset, bool known, int depth);

static void note_user(shared_stores *s, LLVMValueRef user, LLVMValueRef address, int64_t offset, bool known,
                      int depth) {
  access a = {.at = user, .offset = offset, .known = known};
  switch (LLVMGetInstructionOpcode(user)) {
  case LLVMLoad:
    a.reads = true;
    a.bytes = size_of(s, LLVMTypeOf(user));
    note(s, a);
    return;
  case LLVMStore:
    if (LLVMGetOperand(user, 0) == address) break;
    a.bytes = size_of(s, LLVMTypeOf(LLVMGetOperand(user, 0)));
    a.fills = a.removable = is_plain_access(user);
    note(s, a);
    return;
  case LLVMAtomicRMW:
  case LLVMAtomicCmpXchg:
    for (unsigned i = 1; i < (unsigned)LLVMGetNumOperands(user); i++)
      if (LLVMGetOperand(user, i) == address) s->escapes = true;
    a.reads = true;
    a.bytes = size_of(s, LLVMTypeOf(LLVMGetOperand(user, 1)));
    note(s, a);
    return;
  case LLVMGetElementPtr: {
    bool constant = known && LLVMGetTypeKind(LLVMTypeOf(user)) == LLVMPointerTypeKind;
    int64_t distance = 0;
    constant = constant && constant_distance(s, user, &distance);
    follow(s, user, offset + distance, constant, depth);
    return;
  }
  case LLVMInsertElement: /* for gathers and scatters */
  case LLVMShuffleVector: follow(s, user, 0, false, depth); return;
  case LLVMCall: note_call(s, user, address, offset, known); return;
  default: break;
  }
  s->escapes = true;
}

static void follow(shared_stores *s, LLVMValueRef address, int64_t offset, bool known, int depth) {
  if (depth == 0) s->escapes = true;
  for (LLVMUseRef use = LLVMGetFirstUse(address); use && !s->escapes; use = LLVMGetNextUse(use))
    note_user(s, LLVMGetUser(use), address, offset, known, depth - 1);
}

/* How the function uses the worker: it loads the address of shared memory, and stores the block's number. */
static bool find_accesses(shared_stores *s) {
  LLVMValueRef worker = LLVMGetParam(s->function, 1);
  for (LLVMUseRef use = LLVMGetFirstUse(worker); use && !s->escapes; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    int64_t distance = 0;
    if (LLVMIsALoadInst(user) && LLVMTypeOf(user) == s->p->pointer)
      follow(s, user, 0, true, DEPTH);
    else if (!LLVMIsAGetElementPtrInst(user) || !constant_distance(s, user, &distance) ||
             distance != offsetof(mw_worker, block))
      s->escapes = true; /* whatever receives the worker can find shared memory */
  }
  return !s->escapes && s->count && s->words;
}

/* Whether a block begins here. */
static bool begins_block(const shared_stores *s, LLVMValueRef i) {
  LLVMValueRef at = LLVMIsAStoreInst(i) ? LLVMGetOperand(i, 1) : NULL;
  return at && LLVMIsAGetElementPtrInst(at) && LLVMGetOperand(at, 0) == LLVMGetParam(s->function, 1);
}

static int by_instruction(const void *a, const void *b) {
  uintptr_t x = (uintptr_t)((const access *)a)->at, y = (uintptr_t)((const access *)b)->at;
  return x < y ? -1 : x > y;
}

static access *access_of(const shared_stores *s, LLVMValueRef i) {
  access key = {.at = i};
  return bsearch(&key, s->list, s->count, sizeof key, by_instruction);
}

/* ---- which words may be read ---- */

typedef uint64_t bits;
enum { BITS = 64 };

static bool is_set(const bits *words, size_t at) { return words[at / BITS] >> at % BITS & 1; }

static void set_words(const shared_stores *s, bits *words, const access *a) {
  size_t first = a->known ? (size_t)(a->offset / WORD) : 0;
  size_t end = a->known ? (size_t)((a->offset + a->bytes + WORD - 1) / WORD) : s->words;
  for (size_t i = first; i < end; i++) words[i / BITS] |= (bits)1 << i % BITS;
}

/* Clear the words that are entirely written. */
static void clear_words(bits *words, const access *a) {
  size_t first = (size_t)((a->offset + WORD - 1) / WORD), end = (size_t)((a->offset + a->bytes) / WORD);
  for (size_t i = first; i < end; i++) words[i / BITS] &= ~((bits)1 << i % BITS);
}

static bool some_set(const bits *words, const access *a) {
  for (int64_t i = a->offset / WORD; i < (a->offset + a->bytes + WORD - 1) / WORD; i++)
    if (is_set(words, (size_t)i)) return true;
  return false;
}

/* Walk a basic block backwards; true if `removes` and a store was removed. */
static bool scan_block(const shared_stores *s, LLVMBasicBlockRef block, bits *words, size_t length, bool removes) {
  bool removed = false;
  for (LLVMValueRef before, i = LLVMGetLastInstruction(block); i; i = before) {
    before = LLVMGetPreviousInstruction(i);
    if (begins_block(s, i)) memset(words, 0, length * sizeof *words);
    const access *a = access_of(s, i);
    if (!a) continue;
    if (removes && a->removable && a->known && !some_set(words, a)) {
      LLVMInstructionEraseFromParent(i);
      removed = true;
      continue;
    }
    if (a->fills && a->known) clear_words(words, a);
    if (a->reads) set_words(s, words, a);
  }
  return removed;
}

typedef struct flow_of_words {
  LLVMBasicBlockRef *blocks;
  size_t count, length;
  bits *in; /* by basic block: the words that may be read at its beginning */
} flow_of_words;

/* The words that may be read after a basic block. */
static void at_end(const flow_of_words *f, LLVMBasicBlockRef block, bits *words) {
  LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
  memset(words, 0, f->length * sizeof *words);
  for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++) {
    LLVMBasicBlockRef next = LLVMGetSuccessor(end, i);
    size_t at = 0;
    while (f->blocks[at] != next) at++;
    for (size_t k = 0; k < f->length; k++) words[k] |= f->in[at * f->length + k];
  }
}

static bool remove_unread(const shared_stores *s) {
  flow_of_words f = {.count = LLVMCountBasicBlocks(s->function), .length = (s->words + BITS - 1) / BITS};
  bool changed = true, removed = false;
  if (f.count * f.length * BITS > MOST_BITS) return false;
  f.blocks = mw_alloc(f.count * sizeof *f.blocks);
  f.in = mw_alloc(f.count * f.length * sizeof *f.in);
  bits *words = mw_alloc(f.length * sizeof *words);
  LLVMGetBasicBlocks(s->function, f.blocks);
  while (changed) {
    changed = false;
    for (size_t n = f.count; n-- > 0;) {
      bits *in = f.in + n * f.length;
      at_end(&f, f.blocks[n], words);
      scan_block(s, f.blocks[n], words, f.length, false);
      changed = changed || memcmp(words, in, f.length * sizeof *words) != 0;
      memcpy(in, words, f.length * sizeof *words);
    }
  }
  for (size_t n = 0; n < f.count; n++) {
    at_end(&f, f.blocks[n], words);
    removed = scan_block(s, f.blocks[n], words, f.length, true) || removed;
  }
  free(f.blocks);
  free(f.in);
  free(words);
  return removed;
}

void remove_dead_shared_stores(program *p) {
  bool removed = false;
  EACH_FUNCTION(p, f) {
    if (LLVMIsDeclaration(f) || !is_entry(p, f) || LLVMCountParams(f) < 2) continue;
    shared_stores s = {.p = p, .function = f};
    if (find_accesses(&s)) {
      qsort(s.list, s.count, sizeof *s.list, by_instruction);
      removed = remove_unread(&s) || removed;
    }
    free(s.list);
  }
  if (removed) run_passes(p, "function(adce)");
}
