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
#include "mwcc/analysis/analysis.h"
#include "mwcc/mwcc.h"
#include "mwcc/support/predicates.h"
#include "opt.h"
#include "shared_accesses.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BITS = 1 << 23 };

typedef uint64_t bits;
enum { BITS = 64 };

static bool is_set(const bits *words, size_t at) { return words[at / BITS] >> at % BITS & 1; }

static void set_words(const shared_accesses *s, bits *words, const shared_access *a) {
  if (!a->places) memset(words, -1, (s->words + BITS - 1) / BITS * sizeof *words);
  for (unsigned lane = 0; a->places && lane < a->count; lane++) {
    int64_t at = a->places[lane];
    if (at == NO_PLACE) continue;
    for (size_t i = (size_t)(at / SHARED_WORD); i < (size_t)((at + a->bytes + SHARED_WORD - 1) / SHARED_WORD); i++)
      words[i / BITS] |= (bits)1 << i % BITS;
  }
}

/* Clear the words that are entirely written: by lanes next to each other, whose elements may be parts of a word. */
static void clear_words(bits *words, const shared_access *a) {
  for (unsigned next, lane = 0; lane < a->count; lane = next) {
    int64_t from = a->places[lane], to = from + a->bytes;
    next = lane + 1;
    if (from == NO_PLACE) continue;
    for (; next < a->count && a->places[next] == to; next++) to += a->bytes;
    for (size_t i = (size_t)((from + SHARED_WORD - 1) / SHARED_WORD); i < (size_t)(to / SHARED_WORD); i++)
      words[i / BITS] &= ~((bits)1 << i % BITS);
  }
}

static bool is_read(const bits *words, const shared_access *a, unsigned lane) {
  int64_t at = a->places[lane];
  for (int64_t i = at / SHARED_WORD; at != NO_PLACE && i < (at + a->bytes + SHARED_WORD - 1) / SHARED_WORD; i++)
    if (is_set(words, (size_t)i)) return true;
  return false;
}

static unsigned count_read(const bits *words, const shared_access *a) {
  unsigned count = 0;
  for (unsigned lane = 0; lane < a->count; lane++) count += is_read(words, a, lane);
  return count;
}

/* Masks the lanes of a scatter whose elements are not read. */
static void mask_unread(const shared_accesses *s, const bits *words, const shared_access *a) {
  LLVMTypeRef bit = LLVMInt1TypeInContext(s->p->context);
  LLVMValueRef lanes[MOST_LANES];
  for (unsigned lane = 0; lane < a->count; lane++) lanes[lane] = LLVMConstInt(bit, is_read(words, a, lane), false);
  LLVMSetOperand(a->at, MASKED_STORE_MASK, LLVMConstVector(lanes, a->count));
}

static bool is_scatter(LLVMValueRef i) {
  return LLVMIsACallInst(i) && starts_with(callee_name(i), "llvm.masked.scatter.");
}

/* Walk a basic block backwards; true if `removes` and a store was removed. */
static bool scan_block(const shared_accesses *s, LLVMBasicBlockRef block, bits *words, size_t length, bool removes) {
  bool removed = false;
  for (LLVMValueRef before, i = LLVMGetLastInstruction(block); i; i = before) {
    before = LLVMGetPreviousInstruction(i);
    if (begins_shared_block(s, i)) memset(words, 0, length * sizeof *words);
    const shared_access *a = shared_access_of(s, i);
    if (!a) continue;
    unsigned read = removes && a->removable && a->places ? count_read(words, a) : a->count;
    if (read == 0) {
      LLVMInstructionEraseFromParent(i);
      removed = true;
      continue;
    }
    if (read < a->count && a->certain && is_scatter(i)) mask_unread(s, words, a);
    if (a->writes && !a->reads && a->certain && a->places) clear_words(words, a);
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

static bool remove_unread(const shared_accesses *s) {
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
    shared_accesses s;
    if (LLVMIsDeclaration(f) || !is_lane_code(p, f) || !is_entry(p, f) || LLVMCountParams(f) < 2) continue;
    if (find_shared_accesses(p, f, &s)) removed = remove_unread(&s) || removed;
    free_shared_accesses(&s);
  }
  if (removed) run_passes(p, "function(adce)");
}
