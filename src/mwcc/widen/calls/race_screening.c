/* Screened code (prepare/race_screen.c): a gang records its accesses in the cells of the words that it accesses (mwo.h,
 * MW_CHECKED_SCREEN), and compares them with what it finds there.
 *
 * Two accesses are in order if one thread makes both, or if a barrier of their block is between them. They need no
 * order if both only read, or both are atomic. Any other pair makes the launch suspicious, even if something orders
 * them that cells do not record. So a launch that is not suspicious has no race within a block. Between blocks, a
 * launch is only unsuspicious if a single block accesses each word. Two blocks may access a word at the same time, so
 * each cell that a block finds empty is a claim, and the runtime counts the claims in the end.
 *
 * A warp function is correct if all lanes of its warp call it together and name all of them: then each named lane takes
 * part, and so does each lane that a shuffle reads from. Anything else is suspicious. Cells do not record the order
 * that warp functions and fences create, so accesses that only these order are suspicious. */
#include "mwcc/widen/widen.h"
#include "mwcc/lower/lower.h"
#include "mwcc/support/checked_access.h"
#include "mwcc/target/target.h"

#include <string.h>

/* Operands of CHECK_ACCESS_FUNCTION. */
enum { OBJECT, ADDRESS, BYTES, SIZE, NAME, FLAGS, PARAM };

enum { WORD = 4, WIDEST = 16, WRITES = 0, READS = 1 /* mw_worker.cells and .claims */ };

/* An access of a gang. */
typedef struct noted {
  widener *w;
  bool is_global, stores, is_atomic, is_read; /* is_read: the array that is stored to is also read */
  LLVMValueRef tag, thread_bits, block_bits;  /* of thread 0; scalars */
  LLVMValueRef bad;                           /* whether there may be a race: an i1 */
} noted;

/* The cells of one vector of accesses. */
typedef struct cells {
  LLVMTypeRef type;    /* a vector of i32 */
  LLVMValueRef at[2];  /* of writes and of reads: a pointer, or a vector of pointers */
  LLVMValueRef tags;   /* of the accessing threads */
  LLVMValueRef active; /* a mask; NULL: all */
  bool distinct;       /* no two are the same */
} cells;

/* ---- the worker's fields ---- */

static LLVMValueRef field(widener *w, size_t offset) {
  LLVMValueRef at = constant_i64(w->p, offset);
  return LLVMBuildInBoundsGEP2(w->b, w->p->i8, w->worker, &at, 1, "");
}

static LLVMValueRef load_word(widener *w, size_t offset) {
  return LLVMBuildLoad2(w->b, w->p->i32, field(w, offset), "");
}

static void suspect_if(widener *w, LLVMValueRef condition) {
  LLVMBasicBlockRef cold = LLVMAppendBasicBlockInContext(w->p->context, w->function, "suspicious"),
                    rest = LLVMAppendBasicBlockInContext(w->p->context, w->function, "unsuspicious");
  build_likely(w->p, w->b, LLVMBuildNot(w->b, condition, ""), rest, cold);
  LLVMPositionBuilderAtEnd(w->b, cold);
  LLVMBuildStore(w->b, constant_i32(w->p, 1), field(w, offsetof(mw_worker, suspicious)));
  LLVMBuildBr(w->b, rest);
  LLVMPositionBuilderAtEnd(w->b, rest);
}

/* ---- tags ---- */

static LLVMValueRef fill(LLVMBuilderRef b, program *p, LLVMTypeRef type, LLVMValueRef scalar) {
  LLVMTypeRef zeros = LLVMVectorType(p->i32, LLVMGetVectorSize(type));
  LLVMValueRef one = LLVMBuildInsertElement(b, LLVMGetPoison(type), scalar, constant_i32(p, 0), "");
  return LLVMBuildShuffleVector(b, one, LLVMGetPoison(type), LLVMConstNull(zeros), "");
}

static LLVMValueRef filled(const noted *n, const cells *c, LLVMValueRef scalar) {
  return fill(n->w->b, n->w->p, c->type, scalar);
}

/* Whether the tags differ in their threads only: another thread has accessed the word between the same barriers. */
static LLVMValueRef is_other_thread(const noted *n, const cells *c, LLVMValueRef differs) {
  LLVMBuilderRef b = n->w->b;
  LLVMValueRef one = filled(n, c, constant_i32(n->w->p, 1));
  return LLVMBuildICmp(b, LLVMIntULT, LLVMBuildSub(b, differs, one, ""), filled(n, c, n->thread_bits), "");
}

static LLVMValueRef is_empty(const noted *n, const cells *c, LLVMValueRef found) {
  return LLVMBuildICmp(n->w->b, LLVMIntEQ, found, LLVMConstNull(c->type), "");
}

static LLVMValueRef is_other_block(const noted *n, const cells *c, LLVMValueRef found, LLVMValueRef differs) {
  LLVMBuilderRef b = n->w->b;
  LLVMValueRef blocks = LLVMBuildAnd(b, differs, filled(n, c, n->block_bits), "");
  blocks = LLVMBuildICmp(b, LLVMIntNE, blocks, LLVMConstNull(c->type), "");
  return LLVMBuildAnd(b, blocks, LLVMBuildNot(b, is_empty(n, c, found), ""), "");
}

/* ---- cells ---- */

/* Inactive lanes are poison even under a mask, so they are frozen before a branch depends on them. */
static LLVMValueRef load_cells(const noted *n, const cells *c, int which) {
  widener *w = n->w;
  LLVMValueRef at = c->at[which], active = c->active;
  bool gathers = LLVMGetTypeKind(LLVMTypeOf(at)) == LLVMVectorTypeKind;
  if (gathers && !active) active = LLVMConstAllOnes(LLVMVectorType(w->p->i1, LLVMGetVectorSize(c->type)));
  if (active) return LLVMBuildFreeze(w->b, masked_load(w->p, w->b, c->type, at, WORD, active), "");
  LLVMValueRef load = LLVMBuildLoad2(w->b, c->type, at, "");
  LLVMSetAlignment(load, WORD);
  return load;
}

static void store_cells(const noted *n, const cells *c, int which, LLVMValueRef tags, LLVMValueRef active) {
  widener *w = n->w;
  LLVMValueRef at = c->at[which], store;
  bool scatters = LLVMGetTypeKind(LLVMTypeOf(at)) == LLVMVectorTypeKind;
  if (scatters && !active) active = LLVMConstAllOnes(LLVMVectorType(w->p->i1, LLVMGetVectorSize(c->type)));
  if (active) {
    store = masked_store(w->p, w->b, tags, at, WORD, active);
  } else {
    store = LLVMBuildStore(w->b, tags, at);
    LLVMSetAlignment(store, WORD);
  }
  LLVMSetMetadata(store, LLVMGetMDKindIDInContext(w->p->context, CELLS_METADATA, strlen(CELLS_METADATA)),
                  LLVMMetadataAsValue(w->p->context, LLVMMDNodeInContext2(w->p->context, NULL, 0)));
}

static LLVMValueRef both(LLVMBuilderRef b, LLVMValueRef lanes, LLVMValueRef active) {
  return active ? LLVMBuildAnd(b, lanes, active, "") : lanes;
}

/* A mask as a number with a bit for each. */
static LLVMValueRef bits_of(const noted *n, LLVMValueRef lanes) {
  unsigned count = LLVMGetVectorSize(LLVMTypeOf(lanes));
  return LLVMBuildBitCast(n->w->b, lanes, LLVMIntTypeInContext(n->w->p->context, count), "");
}

static LLVMValueRef count_bits(widener *w, LLVMValueRef bits, LLVMTypeRef type) {
  LLVMTypeRef own = LLVMTypeOf(bits);
  LLVMValueRef count = call_intrinsic(w->p, w->b, "llvm.ctpop", &own, 1, &bits, 1);
  return LLVMBuildIntCast2(w->b, count, type, 0, "");
}

static void suspect(noted *n, const cells *c, LLVMValueRef lanes) {
  LLVMValueRef bits = bits_of(n, both(n->w->b, lanes, c->active));
  LLVMValueRef any = LLVMBuildICmp(n->w->b, LLVMIntNE, bits, LLVMConstNull(LLVMTypeOf(bits)), "");
  n->bad = n->bad ? LLVMBuildOr(n->w->b, n->bad, any, "") : any;
}

static void claim(const noted *n, const cells *c, int which, LLVMValueRef lanes) {
  widener *w = n->w;
  if (!n->is_global) return;
  LLVMValueRef at = field(w, offsetof(mw_worker, claims) + (size_t)which * sizeof(uint64_t));
  LLVMValueRef count = count_bits(w, bits_of(n, both(w->b, lanes, c->active)), w->p->i64);
  LLVMBuildStore(w->b, LLVMBuildAdd(w->b, LLVMBuildLoad2(w->b, w->p->i64, at, ""), count, ""), at);
}

/* Whether the tags that were found show accesses that are not in order. */
static LLVMValueRef conflicts(const noted *n, const cells *c, LLVMValueRef found) {
  LLVMBuilderRef b = n->w->b;
  LLVMValueRef differs = LLVMBuildXor(b, found, c->tags, ""), bad = is_other_thread(n, c, differs);
  return n->is_global ? LLVMBuildOr(b, bad, is_other_block(n, c, found, differs), "") : bad;
}

/* If several threads read between two barriers, the cell gets a tag without a thread. */
static void note_reads(noted *n, const cells *c) {
  LLVMBuilderRef b = n->w->b;
  suspect(n, c, conflicts(n, c, load_cells(n, c, WRITES)));
  LLVMValueRef found = load_cells(n, c, READS), differs = LLVMBuildXor(b, found, c->tags, ""),
               several = LLVMBuildOr(b, c->tags, filled(n, c, n->thread_bits), ""), overwritten = NULL;
  if (n->is_global) suspect(n, c, is_other_block(n, c, found, differs));
  LLVMValueRef tags = LLVMBuildSelect(b, is_other_thread(n, c, differs), several, c->tags, "");
  store_cells(n, c, READS, tags, c->active);
  if (!c->distinct) {
    overwritten = LLVMBuildICmp(b, LLVMIntNE, load_cells(n, c, READS), tags, "");
    store_cells(n, c, READS, several, both(b, overwritten, c->active));
  }
  LLVMValueRef first = is_empty(n, c, found);
  claim(n, c, READS, overwritten ? LLVMBuildAnd(b, first, LLVMBuildNot(b, overwritten, ""), "") : first);
}

static void note_writes(noted *n, const cells *c) {
  LLVMBuilderRef b = n->w->b;
  LLVMValueRef found = load_cells(n, c, WRITES);
  suspect(n, c, conflicts(n, c, found));
  if (n->is_read) suspect(n, c, conflicts(n, c, load_cells(n, c, READS)));
  store_cells(n, c, WRITES, c->tags, c->active);
  if (!c->distinct && !n->is_atomic) suspect(n, c, LLVMBuildICmp(b, LLVMIntNE, load_cells(n, c, WRITES), c->tags, ""));
  claim(n, c, WRITES, is_empty(n, c, found));
}

static void note_cells(noted *n, cells *c) {
  program *p = n->w->p;
  if (n->is_atomic) { /* a tag without a thread */
    c->tags = LLVMBuildOr(n->w->b, c->tags, filled(n, c, n->thread_bits), "");
    c->tags = LLVMBuildSub(n->w->b, c->tags, filled(n, c, constant_i32(p, 1)), "");
  }
  n->stores ? note_writes(n, c) : note_reads(n, c);
}

/* ---- which cells ---- */

/* The addresses of the cells for an address, or for a vector of them. */
static void find_cells(const noted *n, cells *c, LLVMValueRef address, uint64_t distance, bool rounds) {
  widener *w = n->w;
  bool lanes = LLVMGetTypeKind(LLVMTypeOf(address)) == LLVMVectorTypeKind;
  LLVMTypeRef number = lanes ? vector_type(w, w->p->i64) : w->p->i64;
  LLVMTypeRef pointer = lanes ? vector_type(w, w->p->pointer) : w->p->pointer;
  for (int which = WRITES; which <= READS; which++) {
    LLVMValueRef from =
        load_invariant(w->p, w->b, w->p->i64, w->worker, offsetof(mw_worker, cells) + (size_t)which * sizeof(uint64_t));
    from = LLVMBuildAdd(w->b, from, constant_i64(w->p, distance), "");
    LLVMValueRef at = LLVMBuildPtrToInt(w->b, address, number, ""), word = constant_i64(w->p, ~(uint64_t)(WORD - 1));
    if (rounds) at = LLVMBuildAnd(w->b, at, lanes ? splat(w, word) : word, "");
    at = LLVMBuildAdd(w->b, at, lanes ? splat(w, from) : from, "");
    c->at[which] = LLVMBuildIntToPtr(w->b, at, pointer, "");
  }
}

/* An access to one word, or a few, by all lanes of the vectors from `begin` on. */
static void note_uniform(noted *n, LLVMValueRef address, unsigned words, bool rounds, mask m, int begin, int end) {
  widener *w = n->w;
  program *p = w->p;
  LLVMValueRef first = first_thread(w), count = constant_i32(p, (unsigned)(w->width * (end - begin))), tag;
  LLVMBasicBlockRef rest = NULL;
  if (m.all) {
    first = LLVMBuildAdd(w->b, first, constant_i32(p, (unsigned)(begin * w->width)), "");
  } else {
    LLVMValueRef lane = constant_i32(p, 0);
    count = constant_i32(p, 0);
    for (int u = end - 1; u >= begin; u--) {
      LLVMValueRef bits = mask_word(w, LLVMBuildFreeze(w->b, m.lanes.of[u], ""));
      LLVMTypeRef type = LLVMTypeOf(bits);
      LLVMValueRef arguments[] = {bits, LLVMConstNull(p->i1)};
      LLVMValueRef here = call_intrinsic(p, w->b, "llvm.cttz", &type, 1, arguments, 2);
      here = LLVMBuildIntCast2(w->b, here, p->i32, 0, "");
      here = LLVMBuildAdd(w->b, here, constant_i32(p, (unsigned)(u * w->width)), "");
      LLVMValueRef some = LLVMBuildICmp(w->b, LLVMIntNE, bits, LLVMConstNull(type), "");
      lane = LLVMBuildSelect(w->b, some, here, lane, "");
      count = LLVMBuildAdd(w->b, count, count_bits(w, bits, p->i32), "");
    }
    LLVMBasicBlockRef some = LLVMAppendBasicBlockInContext(p->context, w->function, "noted");
    rest = LLVMAppendBasicBlockInContext(p->context, w->function, "unnoted");
    LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, LLVMIntNE, count, constant_i32(p, 0), ""), some, rest);
    LLVMPositionBuilderAtEnd(w->b, some);
    first = LLVMBuildAdd(w->b, first, lane, "");
  }
  LLVMValueRef several = LLVMBuildICmp(w->b, LLVMIntUGT, count, constant_i32(p, 1), "");
  tag = LLVMBuildSelect(w->b, several, n->thread_bits, first, "");
  tag = LLVMBuildAdd(w->b, n->tag, tag, "");
  if (n->is_atomic) several = NULL;
  cells c = {.type = LLVMVectorType(p->i32, words), .distinct = true};
  c.tags = fill(w->b, p, c.type, tag);
  find_cells(n, &c, address, 0, rounds);
  note_cells(n, &c);
  if (n->stores && several) n->bad = LLVMBuildOr(w->b, n->bad, several, "");
  suspect_if(w, n->bad);
  n->bad = NULL;
  if (!rest) return;
  LLVMBuildBr(w->b, rest);
  LLVMPositionBuilderAtEnd(w->b, rest);
}

/* The tags of a vector's lanes. */
static LLVMValueRef tags_of(const noted *n, int u) {
  widener *w = n->w;
  LLVMValueRef first = LLVMBuildAdd(w->b, first_thread(w), constant_i32(w->p, (unsigned)(u * w->width)), "");
  return LLVMBuildAdd(w->b, splat(w, LLVMBuildAdd(w->b, n->tag, first, "")), lane_numbers(w, w->p->i32), "");
}

/* Each element of a vector several times. */
static LLVMValueRef repeated(widener *w, LLVMValueRef lanes, unsigned times) {
  LLVMValueRef places[256];
  unsigned count = (unsigned)w->width * times;
  if (times == 1) return lanes;
  for (unsigned i = 0; i < count; i++) places[i] = constant_i32(w->p, i / times);
  return LLVMBuildShuffleVector(w->b, lanes, LLVMGetPoison(LLVMTypeOf(lanes)), LLVMConstVector(places, count), "");
}

static void note_contiguous(noted *n, LLVMValueRef address, unsigned words, mask m) {
  widener *w = n->w;
  for (int u = 0; u < w->vectors; u++) {
    cells c = {.type = LLVMVectorType(w->p->i32, (unsigned)w->width * words), .distinct = true};
    c.tags = repeated(w, tags_of(n, u), words);
    if (!m.all) c.active = repeated(w, LLVMBuildFreeze(w->b, m.lanes.of[u], ""), words);
    find_cells(n, &c, vector_scalar(w, address, u), 0, false);
    note_cells(n, &c);
  }
}

static void note_scattered(noted *n, LLVMValueRef address, unsigned words, bool rounds, mask m) {
  widener *w = n->w;
  int64_t stride = is_varying(w, address) ? 0 : shape_of(w->shapes, address).stride;
  bool distinct = stride && !rounds && (stride >= words * WORD || -stride >= words * WORD);
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef lanes = value_vector(w, address, u);
    for (unsigned i = 0; i < words; i++) {
      cells c = {.type = vector_type(w, w->p->i32), .distinct = distinct, .tags = tags_of(n, u)};
      if (!m.all) c.active = LLVMBuildFreeze(w->b, m.lanes.of[u], "");
      find_cells(n, &c, lanes, (uint64_t)i * WORD, rounds);
      note_cells(n, &c);
    }
  }
}

void screen_access(widener *w, LLVMValueRef call, mask m) {
  program *p = w->p;
  LLVMValueRef size = LLVMGetOperand(call, BYTES), address = LLVMGetOperand(call, ADDRESS);
  uint64_t flags = LLVMConstIntGetZExtValue(LLVMGetOperand(call, FLAGS));
  if (!(flags & MW_ACCESS_SCREENED) || flags & MW_ACCESS_INNER) return;
  uint64_t bytes = LLVMIsAConstantInt(size) ? LLVMConstIntGetZExtValue(size) : 0;
  bool rounds = bytes < WORD;
  unsigned words = rounds ? 1 : (unsigned)(bytes / WORD);
  if (!bytes || (!rounds && bytes % WORD) || words > WIDEST || alignment_checked(call) < (rounds ? bytes : WORD)) {
    refuse(w, call, "it accesses memory that is not aligned to words");
    return;
  }
  noted n = {.w = w, .is_global = LLVMConstIntGetZExtValue(LLVMGetOperand(call, PARAM)) != 0};
  n.stores = flags & MW_ACCESS_STORE;
  n.is_read = flags & MW_ACCESS_USED;
  n.is_atomic = flags & MW_ACCESS_ATOMIC;
  n.tag = load_word(w, n.is_global ? offsetof(mw_worker, tag) : offsetof(mw_worker, shared_tag));
  n.thread_bits = n.is_global ? load_invariant(p, w->b, p->i32, w->worker, offsetof(mw_worker, thread_bits))
                              : constant_i32(p, (1u << MW_SHARED_TAG_BITS) - 1);
  n.block_bits = load_invariant(p, w->b, p->i32, w->worker, offsetof(mw_worker, block_bits));
  if (is_uniform(w, address))
    note_uniform(&n, value_scalar(w, address), words, rounds, m, 0, w->vectors);
  else if (has_stride(w, address, 0))
    for (int u = 0; u < w->vectors; u++) note_uniform(&n, vector_scalar(w, address, u), words, rounds, m, u, u + 1);
  else if (!rounds && has_stride(w, address, (int64_t)bytes))
    note_contiguous(&n, address, words, m);
  else
    note_scattered(&n, address, words, rounds, m);
  if (n.bad) suspect_if(w, n.bad);
}

/* ---- warp functions ---- */

/* Whether the mask `named` names all lanes. Frozen, since it may be poison in inactive lanes. */
static LLVMValueRef are_all_named(widener *w, LLVMValueRef named) {
  if (is_uniform(w, named)) {
    LLVMValueRef lanes = LLVMBuildFreeze(w->b, value_scalar(w, named), "");
    return LLVMBuildICmp(w->b, LLVMIntEQ, lanes, constant_i32(w->p, ~0u), "");
  }
  LLVMValueRef all = NULL;
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef lanes = LLVMBuildFreeze(w->b, value_vector(w, named, u), "");
    LLVMValueRef word = mask_word(w, LLVMBuildICmp(w->b, LLVMIntEQ, lanes, splat(w, constant_i32(w->p, ~0u)), ""));
    LLVMValueRef every = LLVMBuildICmp(w->b, LLVMIntEQ, word, LLVMConstAllOnes(LLVMTypeOf(word)), "");
    all = all ? LLVMBuildAnd(w->b, all, every, "") : every;
  }
  return all;
}

/* Suspicious unless no lane calls it, or all do and name all. */
void screen_warp_call(widener *w, LLVMValueRef named, mask m) {
  if (!notes_accesses(w->p->options)) return;
  LLVMValueRef whole = are_all_named(w, named);
  if (!m.all) {
    for (int u = 0; u < w->vectors; u++) m.lanes.of[u] = LLVMBuildFreeze(w->b, m.lanes.of[u], "");
    LLVMValueRef word = active_word(w, m);
    LLVMValueRef every = LLVMBuildICmp(w->b, LLVMIntEQ, word, constant_i32(w->p, ~0u), "");
    LLVMValueRef none = LLVMBuildICmp(w->b, LLVMIntEQ, word, constant_i32(w->p, 0), "");
    whole = LLVMBuildOr(w->b, none, LLVMBuildAnd(w->b, every, whole, ""), "");
  }
  suspect_if(w, LLVMBuildNot(w->b, whole, ""));
}

/* ---- blocks and barriers ---- */

static void pass_shared(widener *w) {
  LLVMValueRef at = field(w, offsetof(mw_worker, shared_tag)), old = LLVMBuildLoad2(w->b, w->p->i32, at, "");
  LLVMValueRef next = LLVMBuildAdd(w->b, old, constant_i32(w->p, 1u << MW_SHARED_TAG_BITS), "");
  LLVMBuildStore(w->b, next, at);
  suspect_if(w, LLVMBuildICmp(w->b, LLVMIntULT, next, old, "")); /* all numbers are used up */
}

void screen_block(widener *w, LLVMValueRef block) {
  if (!notes_accesses(w->p->options)) return;
  program *p = w->p;
  LLVMValueRef unit = load_invariant(p, w->b, p->i32, w->worker, offsetof(mw_worker, block_unit));
  LLVMValueRef number = LLVMBuildAdd(w->b, LLVMBuildTrunc(w->b, block, p->i32, ""), constant_i32(p, 1), "");
  LLVMBuildStore(w->b, LLVMBuildMul(w->b, number, unit, ""), field(w, offsetof(mw_worker, tag)));
  pass_shared(w);
}

void screen_barrier(widener *w) {
  if (!notes_accesses(w->p->options)) return;
  program *p = w->p;
  LLVMValueRef at = field(w, offsetof(mw_worker, tag)), old = LLVMBuildLoad2(w->b, p->i32, at, "");
  LLVMValueRef threads = load_invariant(p, w->b, p->i32, w->worker, offsetof(mw_worker, thread_bits));
  LLVMValueRef blocks = load_invariant(p, w->b, p->i32, w->worker, offsetof(mw_worker, block_bits));
  LLVMValueRef next = LLVMBuildAdd(w->b, LLVMBuildAdd(w->b, old, threads, ""), constant_i32(p, 1), "");
  LLVMBuildStore(w->b, next, at);
  LLVMValueRef differs = LLVMBuildAnd(w->b, LLVMBuildXor(w->b, next, old, ""), blocks, "");
  suspect_if(w, LLVMBuildICmp(w->b, LLVMIntNE, differs, constant_i32(p, 0), ""));
  pass_shared(w);
}
