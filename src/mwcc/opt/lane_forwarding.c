/* Element-wise store-to-load forwarding in shared memory: scalar replacement of arrays, over lanes.
 *
 * Where a block is one gang and its loops are unrolled, the places that lanes access in shared memory are constants, also
 * along diagonals and columns of tiles (`table[d - t][t]`, `row[t][k]`). For each word this pass knows the lane of the
 * vector that was stored there last. A gather of words that a few vectors hold becomes a shuffle of these, in place of as
 * many loads as lanes, which would wait for the scatters before them. Stores that are no longer read are removed after it
 * (dead_shared_stores.c).
 *
 * Proof. All accesses to shared memory are known (shared_accesses.c), and no other thread accesses it between two of
 * them: the block is run by this function, and calls that may write memory, fences and the beginning of a block forget
 * everything. An access at an unknown place that writes forgets everything, too; one under an unknown mask forgets its
 * places. A load's lanes are replaced only if each active one reads exactly a stored element.
 *
 * Loads of parts of rows that shuffles transpose (widen/memory/records.c), or of which they use some lanes, are replaced
 * together with the shuffles, if their result comes from few vectors. */
#include "mwcc/analysis/analysis.h"
#include "mwcc/mwcc.h"
#include "mwcc/support/predicates.h"
#include "opt.h"
#include "shared_accesses.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_STATE = 1 << 22, MOST_SOURCES = 8, WHOLE = -1, DEPTH = 12 };

/* An element: a lane of a vector, or a scalar as a WHOLE. */
typedef struct element {
  LLVMValueRef value; /* NULL: not known */
  int lane;
} element;

/* What a word of shared memory, or the first of an element's two words, holds. */
typedef struct word {
  element of;
  int64_t bytes;
  bool partial; /* stored by a scatter or under a mask: the processor would forward it late */
} word;

/* What is known of the lanes of a load that stays. */
typedef struct known_load {
  LLVMValueRef load;
  element *lanes;
} known_load;

typedef struct forwarder {
  program *p;
  LLVMBuilderRef b;
  const shared_accesses *shared;
  known_load *loads;
  size_t load_count;
  bool changed;
} forwarder;

/* ---- what words hold ---- */

static void forget_all(const forwarder *f, word *words) { memset(words, 0, f->shared->words * sizeof *words); }

static void forget(word *words, int64_t at, int64_t bytes) {
  int64_t first = at / SHARED_WORD, end = (at + bytes + SHARED_WORD - 1) / SHARED_WORD;
  if (first > 0 && words[first - 1].bytes > SHARED_WORD) words[first - 1] = (word){0};
  for (int64_t i = first; i < end; i++) words[i] = (word){0};
}

static bool can_be_known(LLVMTypeRef type, int64_t bytes) {
  LLVMTypeKind kind = LLVMGetTypeKind(element_type(type));
  bool number = kind == LLVMIntegerTypeKind || kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind;
  return number && (bytes == SHARED_WORD || bytes == 2 * SHARED_WORD);
}

static word word_at(const word *words, int64_t at, int64_t bytes) {
  word none = {0};
  if (at % SHARED_WORD || words[at / SHARED_WORD].bytes != bytes) return none;
  return words[at / SHARED_WORD];
}

/* ---- vectors from elements ---- */

static LLVMTypeRef bits_of(const forwarder *f, LLVMTypeRef type, unsigned lanes) {
  LLVMTypeRef scalar =
      LLVMIntTypeInContext(f->p->context, (unsigned)LLVMSizeOfTypeInBits(f->p->layout, element_type(type)));
  return lanes ? LLVMVectorType(scalar, lanes) : scalar;
}

static unsigned lanes_of(LLVMValueRef value) {
  return is_vector_type(LLVMTypeOf(value)) ? LLVMGetVectorSize(LLVMTypeOf(value)) : 0;
}

static LLVMValueRef as_bits(const forwarder *f, LLVMValueRef value) {
  return LLVMBuildBitCast(f->b, value, bits_of(f, LLVMTypeOf(value), lanes_of(value)), "");
}

/* The vectors and scalars that the elements are of. */
static int sources_of(const element *lanes, unsigned count, LLVMValueRef *sources) {
  int found = 0;
  for (unsigned i = 0; i < count; i++) {
    int at = 0;
    while (lanes[i].value && at < found && sources[at] != lanes[i].value) at++;
    if (!lanes[i].value || at < found) continue;
    if (found == MOST_SOURCES) return MOST_SOURCES + 1;
    sources[found++] = lanes[i].value;
  }
  return found;
}

/* As many shuffles as cost less than loads of the lanes one by one. */
static int most_sources(unsigned lanes) {
  int most = 1 + (int)lanes / 4;
  return most < MOST_SOURCES ? most : MOST_SOURCES;
}

/* The lanes of `source` where they are wanted, the others from `before` (NULL: arbitrary). */
static LLVMValueRef add_source(const forwarder *f, LLVMValueRef before, LLVMValueRef source, const element *lanes,
                               unsigned count) {
  unsigned width = lanes_of(source);
  LLVMValueRef bits = as_bits(f, source), places[MOST_LANES], undefined = LLVMGetPoison(f->p->i32);
  LLVMTypeRef type = bits_of(f, LLVMTypeOf(source), count);
  if (!width) {
    LLVMValueRef all = before ? before : LLVMGetPoison(type);
    for (unsigned i = 0; i < count; i++)
      if (lanes[i].value == source) all = LLVMBuildInsertElement(f->b, all, bits, constant_i32(f->p, i), "");
    return all;
  }
  bool in_place = width == count;
  for (unsigned i = 0; i < count; i++) {
    places[i] = lanes[i].value == source ? constant_i32(f->p, (unsigned)lanes[i].lane) : undefined;
    in_place = in_place && (lanes[i].value != source || (unsigned)lanes[i].lane == i);
  }
  if (before && width == count) { /* one permutation of both */
    for (unsigned i = 0; i < count; i++)
      places[i] = constant_i32(f->p, lanes[i].value == source ? count + (unsigned)lanes[i].lane : i);
    return LLVMBuildShuffleVector(f->b, before, bits, LLVMConstVector(places, count), "");
  }
  LLVMValueRef own = in_place ? bits
                              : LLVMBuildShuffleVector(f->b, bits, LLVMGetPoison(LLVMTypeOf(bits)),
                                                       LLVMConstVector(places, count), "");
  if (!before) return own;
  for (unsigned i = 0; i < count; i++) places[i] = constant_i32(f->p, lanes[i].value == source ? count + i : i);
  return LLVMBuildShuffleVector(f->b, before, own, LLVMConstVector(places, count), "");
}

/* A vector of the elements, before the instruction; NULL where they come from more vectors than `most`. Lanes without a
   value are arbitrary. */
static LLVMValueRef vector_of(const forwarder *f, const element *lanes, LLVMTypeRef type, int most,
                              LLVMValueRef before) {
  LLVMValueRef sources[MOST_SOURCES], all = NULL;
  unsigned count = LLVMGetVectorSize(type);
  int found = sources_of(lanes, count, sources);
  if (found == 0 || found > most) return NULL;
  LLVMPositionBuilderBefore(f->b, before);
  for (int i = 0; i < found; i++) all = add_source(f, all, sources[i], lanes, count);
  return LLVMBuildBitCast(f->b, all, type, "");
}

/* ---- loads ---- */

static void replace(forwarder *f, LLVMValueRef old, LLVMValueRef value) {
  LLVMReplaceAllUsesWith(old, value);
  f->changed = true;
}

static void keep_lanes(forwarder *f, LLVMValueRef load, const element *lanes, unsigned count) {
  f->loads = mw_realloc(f->loads, (f->load_count + 1) * sizeof *f->loads);
  known_load *k = &f->loads[f->load_count++];
  *k = (known_load){load, mw_alloc(count * sizeof *k->lanes)};
  memcpy(k->lanes, lanes, count * sizeof *lanes);
}

static const known_load *find_load(const forwarder *f, LLVMValueRef load) {
  for (size_t i = f->load_count; i-- > 0;)
    if (f->loads[i].load == load) return &f->loads[i];
  return NULL;
}

static void forward_scalar(forwarder *f, const word *words, const shared_access *a) {
  word w = word_at(words, a->places[0], a->bytes);
  LLVMTypeRef type = LLVMTypeOf(a->at);
  if (!w.of.value || !can_be_known(type, a->bytes) || (w.of.lane != WHOLE && !w.partial)) return;
  LLVMPositionBuilderBefore(f->b, a->at);
  LLVMValueRef value = w.of.value;
  if (w.of.lane != WHOLE) value = LLVMBuildExtractElement(f->b, value, constant_i32(f->p, (unsigned)w.of.lane), "");
  replace(f, a->at, LLVMBuildBitCast(f->b, value, type, ""));
}

/* Whether only shuffles use the load: process_shuffle replaces them all by one. */
static bool is_shuffled(LLVMValueRef load) {
  for (LLVMUseRef use = LLVMGetFirstUse(load); use; use = LLVMGetNextUse(use))
    if (!LLVMIsAShuffleVectorInst(LLVMGetUser(use))) return false;
  return LLVMIsALoadInst(load) != NULL;
}

static void forward_vector(forwarder *f, const word *words, const shared_access *a) {
  enum { CONTIGUOUS = 2 }; /* which load a row otherwise */
  element lanes[MOST_LANES] = {{0}};
  LLVMTypeRef type = LLVMTypeOf(a->at);
  bool call = LLVMIsACallInst(a->at), gather = call && starts_with(callee_name(a->at), "llvm.masked.gather."),
       partial = gather;
  unsigned unknown = 0, known = 0;
  for (unsigned i = 0; i < a->count; i++) {
    if (a->places[i] == NO_PLACE) continue;
    word w = word_at(words, a->places[i], a->bytes);
    lanes[i] = w.of;
    partial = partial || w.partial;
    if (w.of.value)
      known++;
    else
      unknown++;
  }
  if (!known) return;
  int most = most_sources(a->count);
  if (!gather && most > CONTIGUOUS) most = CONTIGUOUS;
  LLVMValueRef value = partial && !unknown && !is_shuffled(a->at) ? vector_of(f, lanes, type, most, a->at) : NULL;
  if (!value) {
    if (!call) keep_lanes(f, a->at, lanes, a->count);
    return;
  }
  LLVMValueRef other = call ? LLVMGetOperand(a->at, MASKED_LOAD_ELSE) : NULL;
  if (other && !LLVMIsUndef(other))
    value = LLVMBuildSelect(f->b, LLVMGetOperand(a->at, MASKED_LOAD_MASK), value, other, "");
  replace(f, a->at, value);
}

static void process_load(forwarder *f, const word *words, const shared_access *a) {
  if (!a->places || !a->certain || (LLVMIsALoadInst(a->at) && !is_plain_access(a->at))) return;
  if (!is_vector_type(LLVMTypeOf(a->at)))
    forward_scalar(f, words, a);
  else if (a->count == LLVMGetVectorSize(LLVMTypeOf(a->at)) && can_be_known(LLVMTypeOf(a->at), a->bytes))
    forward_vector(f, words, a);
}

/* ---- shuffles of loads ---- */

/* The element that is the vector's lane, through shuffles and known loads. */
static element trace(const forwarder *f, LLVMValueRef value, unsigned lane, int depth, bool *loaded) {
  element own = {value, (int)lane};
  if (depth > 0 && LLVMIsAShuffleVectorInst(value)) {
    int at = LLVMGetMaskValue(value, lane);
    unsigned half = LLVMGetVectorSize(LLVMTypeOf(LLVMGetOperand(value, 0)));
    if (at == LLVMGetUndefMaskElem()) return (element){0};
    LLVMValueRef from = LLVMGetOperand(value, (unsigned)at < half ? 0 : 1);
    return trace(f, from, (unsigned)at % half, depth - 1, loaded);
  }
  const known_load *k = LLVMIsALoadInst(value) ? find_load(f, value) : NULL;
  if (!k || !k->lanes[lane].value) return own;
  *loaded = true;
  return k->lanes[lane];
}

static bool is_last_shuffle(LLVMValueRef shuffle) {
  for (LLVMUseRef use = LLVMGetFirstUse(shuffle); use; use = LLVMGetNextUse(use))
    if (!LLVMIsAShuffleVectorInst(LLVMGetUser(use))) return true;
  return false;
}

static void process_shuffle(forwarder *f, LLVMValueRef shuffle) {
  LLVMTypeRef type = LLVMTypeOf(shuffle);
  unsigned count = LLVMGetVectorSize(type);
  element lanes[MOST_LANES];
  bool loaded = false;
  if (!f->load_count || count > MOST_LANES || !is_last_shuffle(shuffle)) return;
  for (unsigned i = 0; i < count; i++) lanes[i] = trace(f, shuffle, i, DEPTH, &loaded);
  LLVMValueRef value = loaded ? vector_of(f, lanes, type, most_sources(count), shuffle) : NULL;
  if (value) replace(f, shuffle, value);
}

/* ---- stores ---- */

/* Whether the store of a shuffle leaves a word as it is, of which nothing is known: the lane was loaded from there. Whole
   vectors are stored for a few of their elements (widen/memory/interleaved.c). */
static bool leaves_unknown(const forwarder *f, const word *at, int64_t place, LLVMValueRef value, unsigned lane) {
  bool loaded = false;
  if (!LLVMIsAShuffleVectorInst(value) || at->of.value) return false;
  element from = trace(f, value, lane, DEPTH, &loaded);
  const shared_access *a = from.value && LLVMIsALoadInst(from.value) ? shared_access_of(f->shared, from.value) : NULL;
  return a && a->places && a->count > (unsigned)from.lane && a->places[from.lane] == place;
}

static void note_store(const forwarder *f, word *words, const shared_access *a, LLVMValueRef value) {
  if (!a->places) {
    forget_all(f, words);
    return;
  }
  bool vector = value && is_vector_type(LLVMTypeOf(value)), partial = LLVMIsACallInst(a->at) != NULL;
  bool known = value && a->certain && can_be_known(LLVMTypeOf(value), a->bytes) && (vector || a->count == 1);
  for (unsigned lane = 0; lane < a->count; lane++) {
    int64_t at = a->places[lane];
    if (at == NO_PLACE) continue;
    bool left = known && vector && leaves_unknown(f, &words[at / SHARED_WORD], at, value, lane);
    forget(words, at, a->bytes);
    if (known && !left && at % SHARED_WORD == 0)
      words[at / SHARED_WORD] = (word){{value, vector ? (int)lane : WHOLE}, a->bytes, partial};
  }
}

/* ---- blocks ---- */

static void process(forwarder *f, word *words, LLVMValueRef i) {
  const shared_access *a = shared_access_of(f->shared, i);
  if (begins_shared_block(f->shared, i)) {
    forget_all(f, words);
  } else if (a) {
    if (a->reads && !a->writes) process_load(f, words, a);
    if (a->writes) note_store(f, words, a, a->reads ? NULL : LLVMGetOperand(i, 0));
  } else if (LLVMIsAShuffleVectorInst(i)) {
    process_shuffle(f, i);
  } else if (LLVMIsAFenceInst(i) || (LLVMIsACallInst(i) && !starts_with(callee_name(i), "llvm.masked.") &&
                                     !starts_with(callee_name(i), "llvm.prefetch.") && !writes_no_memory(f->p, i))) {
    forget_all(f, words);
  }
}

static LLVMBasicBlockRef only_before(LLVMBasicBlockRef block) {
  LLVMBasicBlockRef before = NULL;
  for (LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); use; use = LLVMGetNextUse(use)) {
    LLVMBasicBlockRef from = LLVMGetInstructionParent(LLVMGetUser(use));
    if (before && before != from) return NULL;
    before = from;
  }
  return before;
}

/* The block, and those that only it leads to, with what is known at its end. */
static void visit(forwarder *f, LLVMBasicBlockRef block, const word *at_start) {
  size_t size = f->shared->words * sizeof *at_start;
  word *words = mw_alloc(size);
  if (at_start) memcpy(words, at_start, size);
  for (LLVMValueRef next, i = LLVMGetFirstInstruction(block); i; i = next) {
    next = LLVMGetNextInstruction(i);
    process(f, words, i);
  }
  LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
  for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++) {
    LLVMBasicBlockRef to = LLVMGetSuccessor(end, i);
    bool repeated = false;
    for (unsigned k = 0; k < i; k++) repeated = repeated || LLVMGetSuccessor(end, k) == to;
    if (!repeated && only_before(to) == block) visit(f, to, words);
  }
  free(words);
}

/* Whether lanes access constant places that are not next to each other. */
static bool has_constant_lanes(const shared_accesses *s) {
  for (size_t i = 0; i < s->count; i++) {
    const char *name = LLVMIsACallInst(s->list[i].at) ? callee_name(s->list[i].at) : "";
    bool by_lane = starts_with(name, "llvm.masked.gather.") || starts_with(name, "llvm.masked.scatter.");
    if (by_lane && s->list[i].places && s->list[i].certain) return true;
  }
  return false;
}

static bool forward_in(program *p, const shared_accesses *s) {
  size_t blocks = LLVMCountBasicBlocks(s->function);
  if (!has_constant_lanes(s) || blocks * s->words > MOST_STATE) return false;
  forwarder f = {.p = p, .b = LLVMCreateBuilderInContext(p->context), .shared = s};
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(s->function); block; block = LLVMGetNextBasicBlock(block))
    if (!only_before(block)) visit(&f, block, NULL);
  for (size_t i = 0; i < f.load_count; i++) free(f.loads[i].lanes);
  free(f.loads);
  LLVMDisposeBuilder(f.b);
  return f.changed;
}

void forward_lanes(program *p) {
  bool changed = false;
  EACH_FUNCTION(p, f) {
    shared_accesses s;
    if (LLVMIsDeclaration(f) || !is_lane_code(p, f) || !is_entry(p, f) || LLVMCountParams(f) < 2) continue;
    if (find_shared_accesses(p, f, &s)) changed = forward_in(p, &s) || changed;
    free_shared_accesses(&s);
  }
  if (changed) run_passes(p, "function(adce)");
}
