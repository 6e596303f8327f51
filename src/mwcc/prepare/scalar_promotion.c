/* Scalar promotion: memory that a loop reads and writes at one address is in a register while the loop runs.
 *
 * In `for (k …) c[i] += a[k] * b[k]` the store to c[i] cannot leave the loop, since it might change a or b. With
 * --launch, parameters that point into different allocations are assumed; the runtime runs other code for launches
 * whose pointers do not (mw_mwo_kernel.separate). Without --launch, only what is apart by itself counts: __restrict__,
 * different variables, fields of one struct.
 *
 * For a loop and an address that is invariant in it, all of these hold:
 *   - all other memory accesses of the loop are plain loads and stores to bytes apart from it (compare_places), so that
 *     the register is what the memory would be whenever the thread itself reads it;
 *   - nothing in the loop waits, synchronises or is volatile, so that no other thread may read or write the memory
 *     meanwhile without a data race;
 *   - the memory is accessed in each execution of the loop: by an access that precedes all exits in the first
 *     iteration, or one before the loop. So the load before the loop does not fault where the source would not.
 * If no store precedes the loop or all of its exits, a flag records whether one was executed: memory that the source
 * does not write is not written. Each exit stores the last value; the order of a thread's own operations is unchanged.
 * Loops are taken from the outside to the inside. Values become registers by mem2reg.
 *
 * A load at an invariant address that no store of the loop can write is moved before the loop, under the same
 * conditions, as in `for (j …) row[j] = … a[i] …` with a local row. Vector code could not: there, a row is memory like
 * any other. */
#include "mwcc/analysis/simt.h"
#include "mwcc/read/read.h"
#include "mwcc/support/predicates.h"
#include "mwcc/prepare/addresses/memory_place.h"
#include "prepare.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_ACCESSES = 64, MOST_EXITS = 16, MOST_PROMOTED = 16, MOST_LOOPS = 64, DEPTH = 12 };

typedef struct access {
  LLVMValueRef instruction;
  bool stores;
  int block;
  place at;
} access;

/* A function's blocks, numbered, and a loop of it. */
typedef struct loop_search {
  program *p;
  kernel *k;
  LLVMBuilderRef b;
  LLVMBasicBlockRef *blocks; /* sorted by address */
  int count;
  order order;
  const loop *loop;
  LLVMBasicBlockRef before; /* the loop's preheader */
  LLVMBasicBlockRef exits[MOST_EXITS];
  int leaving[MOST_EXITS]; /* the blocks that exits are taken from */
  int exit_count, leaving_count;
  access accesses[MOST_ACCESSES];
  int access_count;
} loop_search;

/* ---- blocks ---- */

static int by_address(const void *left, const void *right) {
  uintptr_t a = (uintptr_t)*(const LLVMBasicBlockRef *)left, b = (uintptr_t)*(const LLVMBasicBlockRef *)right;
  return (a > b) - (a < b);
}

static int number_of(const loop_search *s, LLVMBasicBlockRef block) {
  LLVMBasicBlockRef *found = bsearch(&block, s->blocks, (size_t)s->count, sizeof *s->blocks, by_address);
  return (int)(found - s->blocks);
}

static bool is_inside(const loop_search *s, LLVMValueRef instruction) {
  return s->loop->contains[number_of(s, LLVMGetInstructionParent(instruction))];
}

static int successors(const void *context, int n, int out[2]) {
  const loop_search *s = context;
  LLVMValueRef end = LLVMGetBasicBlockTerminator(s->blocks[n]);
  int count = (int)LLVMGetNumSuccessors(end);
  for (int i = 0; i < count; i++) out[i] = number_of(s, LLVMGetSuccessor(end, (unsigned)i));
  return count;
}

/* False: a block has more than two successors. */
static bool number_blocks(loop_search *s) {
  s->count = (int)LLVMCountBasicBlocks(s->k->body);
  s->blocks = mw_realloc(s->blocks, ((size_t)s->count + 1) * sizeof *s->blocks);
  LLVMGetBasicBlocks(s->k->body, s->blocks);
  for (int i = 0; i < s->count; i++)
    if (LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(s->blocks[i])) > 2) return false;
  LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(s->k->body);
  qsort(s->blocks, (size_t)s->count, sizeof *s->blocks, by_address);
  s->order = order_of(&(flow){.count = s->count, .entry = number_of(s, entry), .succs = successors, .context = s});
  return true;
}

/* ---- the loop's frame and its accesses ---- */

static bool add_exit(loop_search *s, int from, int to) {
  if (s->leaving_count == MOST_EXITS) return false;
  s->leaving[s->leaving_count++] = from;
  for (int i = 0; i < s->exit_count; i++)
    if (s->exits[i] == s->blocks[to]) return true;
  s->exits[s->exit_count++] = s->blocks[to];
  return true;
}

/* The preheader and the exits, which are reached from the loop alone (loop-simplify); false: the loop is another. */
static bool find_frame(loop_search *s) {
  s->before = NULL;
  s->exit_count = s->leaving_count = 0;
  for (int n = 0; n < s->count; n++) {
    int to[2], count = s->order.index[n] < 0 ? 0 : successors(s, n, to);
    for (int i = 0; i < count; i++) {
      bool from_inside = s->loop->contains[n], into = s->loop->contains[to[i]];
      if (from_inside && !into && !add_exit(s, n, to[i])) return false;
      if (from_inside || !into) continue;
      if (s->before || to[i] != s->loop->header || count > 1) return false;
      s->before = s->blocks[n];
    }
  }
  for (int n = 0; n < s->count; n++) {
    int to[2], count = s->loop->contains[n] ? 0 : successors(s, n, to);
    for (int i = 0; i < count; i++)
      for (int e = 0; e < s->exit_count; e++)
        if (s->blocks[to[i]] == s->exits[e]) return false;
  }
  return s->before && s->exit_count;
}

/* False: something in the loop may wait, or access memory in another way. */
static bool find_accesses(loop_search *s) {
  s->access_count = 0;
  for (int n = 0; n < s->count; n++) {
    if (!s->loop->contains[n]) continue;
    for (LLVMValueRef i = LLVMGetFirstInstruction(s->blocks[n]); i; i = LLVMGetNextInstruction(i)) {
      bool loads = LLVMIsALoadInst(i) != NULL, stores = LLVMIsAStoreInst(i) != NULL;
      if (!is_alone(i)) return false;
      if (!loads && !stores) continue;
      if (s->access_count == MOST_ACCESSES) return false;
      s->accesses[s->access_count++] = (access){.instruction = i, .stores = stores, .block = n};
    }
  }
  return true;
}

static LLVMValueRef address_of(LLVMValueRef by) { return LLVMGetOperand(by, LLVMIsAStoreInst(by) ? 1 : 0); }

static bool stores_something(const loop_search *s) {
  bool any = false;
  for (int i = 0; i < s->access_count; i++)
    any = any || (s->accesses[i].stores && !LLVMIsAAllocaInst(address_of(s->accesses[i].instruction)));
  return any;
}

static bool is_invariant(const loop_search *s, LLVMValueRef value, int depth) {
  if (!LLVMIsAInstruction(value) || !is_inside(s, value)) return true;
  bool pure = is_integer_operation(value) || LLVMIsAGetElementPtrInst(value) || LLVMIsACastInst(value);
  for (int i = 0; pure && i < LLVMGetNumOperands(value); i++)
    pure = depth && is_invariant(s, LLVMGetOperand(value, (unsigned)i), depth - 1);
  return pure;
}

/* Move an invariant value's computation before the loop. */
static void hoist(const loop_search *s, LLVMValueRef value) {
  if (!LLVMIsAInstruction(value) || !is_inside(s, value)) return;
  for (int i = 0; i < LLVMGetNumOperands(value); i++) hoist(s, LLVMGetOperand(value, (unsigned)i));
  LLVMPositionBuilderBefore(s->b, LLVMGetBasicBlockTerminator(s->before));
  LLVMInstructionRemoveFromParent(value);
  LLVMInsertIntoBuilder(s->b, value);
}

/* ---- what can be promoted ---- */

/* A place of the loop, its accesses, and what its promotion requires. */
typedef struct candidate {
  const access *first;            /* a store */
  bool equal[MOST_ACCESSES];      /* by access: to this place */
  const access *certain;          /* in each execution of the loop; NULL: one before the loop */
  bool is_stored, is_read;        /* what it holds at the exits may be stored; the value before the loop is needed */
  uint32_t others[MOST_ACCESSES]; /* parameters that have to point into other allocations */
  int other_count;
} candidate;

/* Whether the access precedes all exits of the loop in the first iteration. */
static bool precedes_exits(const loop_search *s, const access *a) {
  for (int i = 0; i < s->leaving_count; i++)
    if (!dominates(&s->order, a->block, s->leaving[i])) return false;
  return true;
}

/* Whether an access (or, with `stores`, a store) at that address precedes the loop: it would have faulted. */
static bool is_accessed_before(const loop_search *s, LLVMValueRef address, const place *at, bool stores) {
  for (LLVMUseRef use = LLVMGetFirstUse(address); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if ((stores || !LLVMIsALoadInst(user)) && !(LLVMIsAStoreInst(user) && address_of(user) == address)) continue;
    LLVMTypeRef type = LLVMIsALoadInst(user) ? LLVMTypeOf(user) : LLVMTypeOf(LLVMGetOperand(user, 0));
    int block = number_of(s, LLVMGetInstructionParent(user));
    if (type == at->type && !s->loop->contains[block] && dominates(&s->order, block, number_of(s, s->before)))
      return true;
  }
  return false;
}

static void report(const loop_search *s, const access *a, const char *format, const access *other) {
  const char *file, *its = "another";
  unsigned line, column;
  char position[32];
  if (!s->p->options->report) return;
  if (other && program_position(other->instruction, &file, &line, &column))
    its = position, snprintf(position, sizeof position, "%u:%u", line, column);
  char *text = mw_format(format, its);
  report_decision(s->p, s->k, a->instruction, text);
  free(text);
}

static bool need_separate(const loop_search *s, candidate *c, uint32_t parameter) {
  if (!s->p->options->launch_kernel) return false;
  for (int i = 0; i < c->other_count; i++)
    if (c->others[i] == parameter) return true;
  c->others[c->other_count++] = parameter;
  return true;
}

static bool is_kind_of_memory(const place *at) {
  if (at->base == BASE_LOCAL) return LLVMGetTypeKind(LLVMGetAllocatedType(at->object)) == LLVMArrayTypeKind;
  return at->base == BASE_PARAMETER || at->base == BASE_SHARED || at->base == BASE_VARIABLE;
}

static bool is_promotable(loop_search *s, const access *store, candidate *c) {
  const place *at = &store->at;
  LLVMValueRef address = address_of(store->instruction);
  if (!at->exact || !is_kind_of_memory(at) || !is_invariant(s, address, DEPTH)) return false;
  for (int i = 0; i < s->access_count; i++) {
    const access *other = &s->accesses[i];
    place_relation found = compare_places(at, &other->at);
    if (found == PLACES_MAY_OVERLAP || (found == PLACES_SEPARATE && !need_separate(s, c, other->at.parameter))) {
      report(s, store, "stays in memory: it may be what %s accesses", other);
      return false;
    }
    if (found != PLACES_EQUAL) continue;
    c->equal[i] = true;
    bool precedes = precedes_exits(s, other);
    if (precedes) c->certain = other;
    c->is_stored = c->is_stored || (precedes && other->stores);
    c->is_read = c->is_read || !other->stores;
  }
  c->first = store;
  c->is_read = c->is_read || !c->is_stored;
  /* The thread may write again what it has written before, if no other thread can have written since. */
  bool is_alone_there = !s->k->waits && s->k->any_order;
  c->is_stored = c->is_stored || (is_alone_there && is_accessed_before(s, address, at, true));
  if (c->certain || is_accessed_before(s, address, at, false)) return true;
  report(s, store, "stays in memory: not each execution of the loop accesses it", NULL);
  return false;
}

/* ---- the promotion ---- */

static LLVMValueRef make_slot(const loop_search *s, LLVMTypeRef type, unsigned align) {
  LLVMPositionBuilderBefore(s->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(s->k->body)));
  LLVMValueRef slot = LLVMBuildAlloca(s->b, type, "");
  if (align > LLVMGetAlignment(slot)) LLVMSetAlignment(slot, align);
  return slot;
}

static LLVMValueRef after_phis(LLVMBasicBlockRef block) {
  LLVMValueRef i = LLVMGetFirstInstruction(block);
  while (LLVMIsAPHINode(i)) i = LLVMGetNextInstruction(i);
  return i;
}

/* Store the slot's value where the loop is left; with a flag, only if it is set. */
static void store_at_exit(const loop_search *s, LLVMBasicBlockRef exit, const candidate *c, LLVMValueRef slot,
                          LLVMValueRef flag) {
  LLVMValueRef at = after_phis(exit), address = address_of(c->first->instruction);
  LLVMSetCurrentDebugLocation2(s->b, LLVMInstructionGetDebugLoc(c->first->instruction));
  if (flag) {
    LLVMBasicBlockRef head = split_block(s->p, at);
    LLVMBasicBlockRef write = LLVMInsertBasicBlockInContext(s->p->context, exit, "promoted");
    LLVMPositionBuilderAtEnd(s->b, head);
    LLVMBuildCondBr(s->b, LLVMBuildLoad2(s->b, s->p->i1, flag, ""), write, exit);
    LLVMPositionBuilderAtEnd(s->b, write);
    at = LLVMBuildBr(s->b, exit);
  }
  LLVMPositionBuilderBefore(s->b, at);
  LLVMValueRef store = LLVMBuildStore(s->b, LLVMBuildLoad2(s->b, c->first->at.type, slot, ""), address);
  LLVMSetAlignment(store, LLVMGetAlignment(c->first->instruction));
}

static void promote(loop_search *s, const candidate *c) {
  LLVMTypeRef type = c->first->at.type;
  LLVMValueRef address = address_of(c->first->instruction);
  unsigned least = LLVMGetAlignment(c->first->instruction), most = least;
  for (int i = 0; i < s->access_count; i++) {
    unsigned align = c->equal[i] ? LLVMGetAlignment(s->accesses[i].instruction) : least;
    if (align < least) least = align;
    if (align > most) most = align;
  }
  hoist(s, address);
  LLVMValueRef slot = make_slot(s, type, most);
  LLVMValueRef flag = c->is_stored ? NULL : make_slot(s, s->p->i1, 1);
  LLVMPositionBuilderBefore(s->b, LLVMGetBasicBlockTerminator(s->before));
  LLVMSetCurrentDebugLocation2(s->b, LLVMInstructionGetDebugLoc(c->first->instruction));
  if (c->is_read) {
    LLVMValueRef old = LLVMBuildLoad2(s->b, type, address, "");
    LLVMSetAlignment(old, least);
    LLVMBuildStore(s->b, old, slot);
  }
  if (flag) LLVMBuildStore(s->b, LLVMConstNull(s->p->i1), flag);
  for (int i = 0; i < s->exit_count; i++) store_at_exit(s, s->exits[i], c, slot, flag);
  for (int i = 0; i < s->access_count; i++) {
    if (!c->equal[i]) continue;
    LLVMValueRef here = s->accesses[i].instruction;
    if (flag && s->accesses[i].stores) {
      LLVMPositionBuilderBefore(s->b, here);
      LLVMBuildStore(s->b, LLVMConstInt(s->p->i1, 1, 0), flag);
    }
    LLVMSetOperand(here, s->accesses[i].stores ? 1 : 0, slot);
  }
}

static void add_separate(kernel *k, uint32_t stored, uint32_t other) {
  for (size_t i = 0; i < k->separate_count; i++)
    if (k->separate[i].stored == stored && k->separate[i].other == other) return;
  k->separate = mw_realloc(k->separate, (k->separate_count + 1) * sizeof *k->separate);
  k->separate[k->separate_count++] = (mw_mwo_separate){stored, other};
}

/* Whether each iteration loads the same number: no store of the loop writes it, in any launch. */
static bool is_invariant_load(loop_search *s, const access *load) {
  LLVMValueRef address = address_of(load->instruction);
  if (load->stores || !load->at.exact || load->at.base == BASE_LOCAL || !is_invariant(s, address, DEPTH)) return false;
  for (int i = 0; i < s->access_count; i++)
    if (s->accesses[i].stores && compare_places(&load->at, &s->accesses[i].at) != PLACES_DISJOINT) return false;
  return precedes_exits(s, load);
}

static bool hoist_loads(loop_search *s) {
  bool any = false;
  for (int i = 0; i < s->access_count; i++) {
    LLVMValueRef load = s->accesses[i].instruction;
    if (!is_invariant_load(s, &s->accesses[i])) continue;
    report(s, &s->accesses[i], "is loaded before the loop", NULL);
    hoist(s, load);
    any = true;
  }
  return any;
}

/* Promote or hoist what can be in one loop; false: nothing. */
static bool promote_in_loop(loop_search *s) {
  candidate found[MOST_PROMOTED];
  bool seen[MOST_ACCESSES] = {0};
  int count = 0;
  if (!find_frame(s) || !find_accesses(s) || !stores_something(s)) return false;
  for (int i = 0; i < s->access_count; i++) s->accesses[i].at = place_of(s->p, s->k, s->accesses[i].instruction);
  if (hoist_loads(s)) return true;
  for (int i = 0; i < s->access_count && count < MOST_PROMOTED; i++) {
    candidate c = {0};
    if (seen[i] || !s->accesses[i].stores || !is_promotable(s, &s->accesses[i], &c)) continue;
    for (int n = 0; n < s->access_count; n++) seen[n] = seen[n] || c.equal[n];
    found[count++] = c;
  }
  for (int i = 0; i < count; i++) {
    const candidate *c = &found[i];
    report(s, c->first,
           c->other_count ? "is in a register during the loop, if its array shares memory with no other"
                          : "is in a register during the loop",
           NULL);
    for (int n = 0; n < c->other_count; n++) add_separate(s->k, c->first->at.parameter, c->others[n]);
    promote(s, c);
  }
  return count > 0;
}

/* Each promotion may change the blocks: then they are numbered anew. */
static bool promote_once(loop_search *s) {
  bool done = false;
  if (!number_blocks(s)) return false;
  for (int depth = 1, any = 1; any && !done; depth++) {
    any = 0;
    for (int i = 0; i < s->order.loop_count && !done; i++) {
      s->loop = &s->order.loops[i];
      if (s->loop->depth != depth) continue;
      any = 1;
      done = promote_in_loop(s);
    }
  }
  order_free(&s->order);
  return done;
}

void promote_scalars(program *p) {
  bool any = false;
  for (size_t i = 0; i < p->kernel_count; i++) {
    loop_search s = {.p = p, .k = &p->kernels[i], .b = LLVMCreateBuilderInContext(p->context)};
    for (int n = 0; n < MOST_LOOPS && promote_once(&s); n++) any = true;
    LLVMDisposeBuilder(s.b);
    free(s.blocks);
  }
  if (any) run_passes(p, "function(sroa,simplifycfg<no-switch-to-lookup>,loop-simplify,lcssa)");
}
