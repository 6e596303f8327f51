/* Privatisation of shared memory by expansion, for strip-mined grid-stride loops (reduction_state.c): each block of a
 * strip has a copy of its own.
 *
 *   __shared__ unsigned counts[256];
 *   counts[threadIdx.x] = 0;                                                   the prologue
 *   __syncthreads();
 *   for (int i = …; i < n; i += gridDim.x * blockDim.x) atomicAdd(&counts[x[i] & 255], 1);
 *   …
 *
 * The copies are adjacent, each below the one before, and as many as stay in the near cache while memory streams by
 * (TUNE_PRIVATE_SHARED_BYTES). The prologue runs in a block's first strip alone. Values that it computes for later use
 * are computed again in the later strips, so they must be arithmetic.
 *
 * Next to a copy lies another block's, not a guard page: an access out of bounds would go unnoticed. So every access to
 * shared memory has to be in bounds by its value range, assuming that the code has no undefined behaviour (such as
 * abs() of the least number). Otherwise the kernel stays as it is, and an access out of bounds faults where it
 * happens. */
#include "grid_stride.h"
#include "mwcc/support/predicates.h"
#include "mwcc/analysis/value_range.h"
#include "mwcc/target/tuning.h"

#include <stdlib.h>
#include <string.h>

enum { PRIVATE_BYTES = TUNE_PRIVATE_SHARED_BYTES, ALIGNMENT = 256 };

uint32_t shared_stride(const kernel *k) {
  return (uint32_t)((k->shared_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

uint32_t private_shared_blocks(const kernel *k) {
  if (!k->shared_bytes || k->shared_bytes > PRIVATE_BYTES) return 1;
  return PRIVATE_BYTES / shared_stride(k);
}

/* ---- accesses ---- */

LLVMValueRef shared_operand(LLVMValueRef i) {
  LLVMValueRef address = NULL;
  if (LLVMIsALoadInst(i) || LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i)) address = LLVMGetOperand(i, 0);
  if (LLVMIsAStoreInst(i)) address = LLVMGetOperand(i, 1);
  return address && memory_of(address) == MEMORY_SHARED ? address : NULL;
}

/* Offsets in bytes from the start of a variable. */
typedef struct span {
  wide low, high;
} span;

static const shared *find_array(const program *p, LLVMValueRef global) {
  for (size_t i = 0; i < p->shared_count; i++)
    if (p->shareds[i].global == global && !p->shareds[i].dynamic) return &p->shareds[i];
  return NULL;
}

/* Also uses the range of the value before it was extended. */
static range range_of_index(const ranges *r, LLVMValueRef index, int at) {
  range mine = range_at(r, index, at);
  if (!LLVMIsASExtInst(index) && !LLVMIsAZExtInst(index)) return mine;
  range within = range_of_index(r, LLVMGetOperand(index, 0), at);
  return LLVMIsASExtInst(index) || within.low >= 0 ? meet_ranges(mine, within) : mine;
}

static bool add_index(const ranges *r, LLVMValueRef index, int at, uint64_t bytes, span *to) {
  range found = {0, 0};
  if (LLVMIsAConstantInt(index))
    found.low = found.high = LLVMConstIntGetSExtValue(index);
  else if (has_range(index))
    found = range_of_index(r, index, at);
  else
    return false;
  if (is_never(found)) return false;
  to->low += (wide)found.low * (wide)bytes, to->high += (wide)found.high * (wide)bytes;
  return true;
}

static bool add_steps(const ranges *r, LLVMValueRef address, int at, span *to) {
  LLVMTargetDataRef layout = r->graph->program->layout;
  LLVMTypeRef type = LLVMGetGEPSourceElementType(address);
  for (int i = 1; i < LLVMGetNumOperands(address); i++) {
    LLVMValueRef index = LLVMGetOperand(address, (unsigned)i);
    if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
      unsigned member = (unsigned)LLVMConstIntGetZExtValue(index);
      wide offset = (wide)LLVMOffsetOfElement(layout, type, member);
      to->low += offset, to->high += offset;
      type = LLVMStructGetTypeAtIndex(type, member);
      continue;
    }
    if (i > 1 && LLVMGetTypeKind(type) != LLVMArrayTypeKind) return false;
    if (i > 1) type = LLVMGetElementType(type);
    if (!add_index(r, index, at, LLVMABISizeOfType(layout, type), to)) return false;
  }
  return true;
}

/* The variable that the address points into, and the possible offsets; NULL: unknown. */
static const shared *find_span(const ranges *r, LLVMValueRef address, int at, span *out) {
  enum { DEPTH = 16 };
  *out = (span){0, 0};
  for (int depth = 0; depth < DEPTH; depth++) {
    if (LLVMIsAGlobalVariable(address)) return find_array(r->graph->program, address);
    LLVMOpcode opcode = opcode_of(address);
    if (opcode == LLVMGetElementPtr && !add_steps(r, address, at, out)) return NULL;
    if (opcode != LLVMGetElementPtr && opcode != LLVMAddrSpaceCast && opcode != LLVMBitCast) return NULL;
    address = LLVMGetOperand(address, 0);
  }
  return NULL;
}

static LLVMTypeRef accessed_type(LLVMValueRef i) {
  if (LLVMIsAStoreInst(i)) return LLVMTypeOf(LLVMGetOperand(i, 0));
  return LLVMTypeOf(LLVMIsALoadInst(i) ? i : LLVMGetOperand(i, 1));
}

static bool is_in_bounds(const ranges *r, LLVMValueRef i) {
  const graph *g = r->graph;
  span where;
  const shared *in = find_span(r, shared_operand(i), graph_node_of(g, i), &where);
  wide bytes = (wide)LLVMStoreSizeOfType(g->program->layout, accessed_type(i));
  return in && where.low >= 0 && where.high + bytes <= (wide)in->size;
}

/* Whether the instruction uses an address in shared memory other than to access it or to derive another one. */
static bool lets_escape(LLVMValueRef i) {
  LLVMValueRef own = shared_operand(i);
  if (LLVMIsAGetElementPtrInst(i) || opcode_of(i) == LLVMAddrSpaceCast) return false;
  bool passed = false;
  for (unsigned n = 0; n < count_operands(i); n++) {
    LLVMValueRef operand = LLVMGetOperand(i, n);
    if (LLVMValueIsBasicBlock(operand)) continue;
    if (LLVMGetTypeKind(LLVMTypeOf(operand)) != LLVMPointerTypeKind) {
      if (LLVMIsAConstantExpr(operand) || LLVMIsAConstantVector(operand)) return true; /* it may contain one */
      continue;
    }
    if (operand == own && !passed)
      passed = true; /* the access itself; a second one is a stored address */
    else if (memory_of(operand) == MEMORY_SHARED)
      return true;
  }
  return false;
}

/* A call of a function that may access shared memory without being passed an address. */
static bool is_unknown_call(LLVMValueRef i) { return LLVMIsACallInst(i) && !touches_no_memory(i) && !is_barrier(i); }

static bool all_in_bounds(const ranges *r) {
  const graph *g = r->graph;
  for (int n = 0; n < g->value_count; n++) {
    LLVMValueRef i = g->values[n];
    if (is_unknown_call(i) || lets_escape(i) || (shared_operand(i) && !is_in_bounds(r, i))) return false;
  }
  return true;
}

static bool accesses_in_bounds(program *p, const kernel *k) {
  graph g;
  const char *why;
  if (!graph_build(p, k->body, false, &g, &why)) return false;
  flow f = graph_flow(&g);
  order o = order_of(&f);
  ranges r = ranges_of(&g, &o, 0);
  bool result = all_in_bounds(&r);
  order_free(&o);
  graph_free(&g);
  return result;
}

/* ---- the prologue ---- */

typedef struct prologue {
  program *p;
  const grid_loop *loop;
  LLVMBasicBlockRef guard; /* the guard's block, which follows the prologue */
  LLVMBasicBlockRef *blocks;
  size_t count;
  struct copy {
    LLVMValueRef old, now;
  } *copies; /* of values that are used after it */
  size_t copy_count;
} prologue;

static bool is_in_prologue(const prologue *s, LLVMBasicBlockRef block) {
  for (size_t i = 0; i < s->count; i++)
    if (s->blocks[i] == block) return true;
  return false;
}

/* All blocks from the entry to the guard's block, without that. */
static void find_prologue(prologue *s, LLVMValueRef function) {
  s->blocks = mw_alloc((LLVMCountBasicBlocks(function) + 1) * sizeof *s->blocks);
  s->blocks[s->count++] = LLVMGetEntryBasicBlock(function);
  for (size_t n = 0; n < s->count; n++) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(s->blocks[n]);
    for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++) {
      LLVMBasicBlockRef next = LLVMGetSuccessor(end, i);
      if (next != s->guard && !is_in_prologue(s, next)) s->blocks[s->count++] = next;
    }
  }
}

/* Whether every path from the prologue reaches the guard and none returns to the prologue. */
static bool leads_to_guard(const prologue *s, LLVMValueRef function) {
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(b);
    bool inside = is_in_prologue(s, b);
    if (inside && !LLVMIsABranchInst(end)) return false;
    for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++) {
      LLVMBasicBlockRef next = LLVMGetSuccessor(end, i);
      if (!inside && (next == s->guard || is_in_prologue(s, next))) return false;
    }
  }
  return true;
}

/* A user of the value outside of the prologue; or NULL. */
static LLVMValueRef user_after(const prologue *s, LLVMValueRef i) {
  for (LLVMUseRef use = LLVMGetFirstUse(i); use; use = LLVMGetNextUse(use))
    if (!is_in_prologue(s, LLVMGetInstructionParent(LLVMGetUser(use)))) return LLVMGetUser(use);
  return NULL;
}

/* The number of instructions that compute the value again; NEVER if it cannot be repeated. */
static int repeat_cost(const prologue *s, LLVMValueRef i, int depth) {
  enum { NEVER = 1 << 16 };
  if (!LLVMIsAInstruction(i) || !is_in_prologue(s, LLVMGetInstructionParent(i))) return 0;
  if (depth == 0 || !is_repeatable(i)) return NEVER;
  int count = 1;
  for (unsigned n = 0; n < count_operands(i) && count < NEVER; n++) {
    if (n == MOST_OPERANDS) return NEVER;
    count += repeat_cost(s, LLVMGetOperand(i, n), depth - 1);
  }
  return count;
}

static bool can_skip_prologue(const prologue *s) {
  enum { DEPTH = 8, MOST = TUNE_SKIPPED_PROLOGUE };
  int count = 0;
  for (size_t n = 0; n < s->count; n++)
    for (LLVMValueRef i = LLVMGetFirstInstruction(s->blocks[n]); i; i = LLVMGetNextInstruction(i)) {
      if (LLVMIsAAllocaInst(i)) return false;
      if (user_after(s, i)) count += repeat_cost(s, i, DEPTH);
      if (count > MOST) return false;
    }
  return true;
}

/* The value, computed again in the guard's block. */
static LLVMValueRef repeated(prologue *s, LLVMBuilderRef b, LLVMValueRef i) {
  if (!LLVMIsAInstruction(i) || !is_in_prologue(s, LLVMGetInstructionParent(i))) return i;
  for (size_t n = 0; n < s->copy_count; n++)
    if (s->copies[n].old == i) return s->copies[n].now;
  LLVMValueRef now = LLVMInstructionClone(i);
  for (unsigned n = 0; n < count_operands(i); n++) LLVMSetOperand(now, n, repeated(s, b, LLVMGetOperand(i, n)));
  LLVMInsertIntoBuilder(b, now);
  s->copies = mw_realloc(s->copies, (s->copy_count + 1) * sizeof *s->copies);
  s->copies[s->copy_count++] = (struct copy){i, now};
  return now;
}

static void replace_after(const prologue *s, LLVMValueRef old, LLVMValueRef now) {
  for (LLVMValueRef user = user_after(s, old); user; user = user_after(s, old))
    for (unsigned n = 0; n < count_operands(user); n++)
      if (LLVMGetOperand(user, n) == old) LLVMSetOperand(user, n, now);
}

static void skip_prologue(prologue *s, const kernel *k) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(s->p->context);
  LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(s->guard));
  for (size_t n = 0; n < s->count; n++)
    for (LLVMValueRef i = LLVMGetFirstInstruction(s->blocks[n]); i; i = LLVMGetNextInstruction(i))
      if (user_after(s, i)) replace_after(s, i, repeated(s, b, i));
  LLVMBasicBlockRef first = LLVMGetEntryBasicBlock(k->body);
  LLVMPositionBuilderAtEnd(b, LLVMInsertBasicBlockInContext(s->p->context, first, "later_strips"));
  LLVMValueRef done = elements_done(s->p, b, s->loop), none = LLVMConstNull(LLVMTypeOf(done));
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, done, none, ""), first, s->guard);
  LLVMDisposeBuilder(b);
}

bool privatize_shared(program *p, kernel *k, const grid_loop *l) {
  prologue s = {.p = p, .loop = l, .guard = LLVMGetInstructionParent(l->guard)};
  if (!accesses_in_bounds(p, k)) return false;
  if (l->repeat_from) {
    LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
    LLVMPositionBuilderAtEnd(b, split_block(p, l->repeat_from));
    LLVMBuildBr(b, s.guard);
    LLVMDisposeBuilder(b);
    find_prologue(&s, k->body);
    if (!leads_to_guard(&s, k->body) || !can_skip_prologue(&s)) return false;
    skip_prologue(&s, k);
  }
  k->private_shared = true;
  return true;
}
