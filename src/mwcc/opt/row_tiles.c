/* Finds loops whose lanes walk rows of their own: row_tiles.h. */
#include "row_tiles.h"
#include "mwcc/target/target.h"
#include "mwcc/target/tuning.h"

#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 12 };

int row_item(const row_loop *l, LLVMValueRef value) {
  if (!LLVMIsAInstruction(value) || LLVMGetInstructionParent(value) != l->block) return -1;
  for (int i = 0; i <= l->count; i++)
    if (l->body[i] == value) return i;
  return -1;
}

LLVMValueRef row_begin(const row_loop *l, LLVMValueRef phi) {
  return LLVMGetIncomingValue(phi, LLVMGetIncomingBlock(phi, 0) == l->block ? 1 : 0);
}

LLVMValueRef row_next(const row_loop *l, LLVMValueRef phi) {
  return LLVMGetIncomingValue(phi, LLVMGetIncomingBlock(phi, 0) == l->block ? 0 : 1);
}

/* ---- steps ---- */

static bool small_constant(LLVMValueRef value, int64_t *number) {
  enum { MOST = 1 << 20 };
  if (is_vector_type(LLVMTypeOf(value))) value = constant_of_lanes(value);
  if (!value || !LLVMIsAConstantInt(value) || LLVMGetIntTypeWidth(LLVMTypeOf(value)) > 64) return false;
  *number = LLVMConstIntGetSExtValue(value);
  return *number <= MOST && *number >= -MOST;
}

static bool phi_step(const row_loop *l, LLVMValueRef phi, int64_t *step) {
  LLVMValueRef next = row_next(l, phi);
  if (row_item(l, next) < 0 || !LLVMIsAInstruction(next)) return false;
  LLVMOpcode opcode = LLVMGetInstructionOpcode(next);
  if (opcode == LLVMGetElementPtr && LLVMGetNumIndices(next) == 1 && LLVMGetOperand(next, 0) == phi) {
    int64_t count;
    if (!small_constant(LLVMGetOperand(next, 1), &count)) return false;
    *step = count * (int64_t)LLVMABISizeOfType(l->p->layout, LLVMGetGEPSourceElementType(next));
    return true;
  }
  if (opcode != LLVMAdd && opcode != LLVMSub) return false;
  bool left = LLVMGetOperand(next, 0) == phi;
  if (!left && (opcode == LLVMSub || LLVMGetOperand(next, 1) != phi)) return false;
  if (!small_constant(LLVMGetOperand(next, left ? 1 : 0), step)) return false;
  if (opcode == LLVMSub) *step = -*step;
  return true;
}

/* Whether all elements of the vector are the scalar's: its splat. Returns the scalar, or NULL. */
static LLVMValueRef splat_scalar(LLVMValueRef value) {
  if (!LLVMIsAShuffleVectorInst(value)) return NULL;
  LLVMValueRef one = LLVMGetOperand(value, 0);
  for (unsigned i = 0; i < LLVMGetNumMaskElements(value); i++)
    if (LLVMGetMaskValue(value, i) != 0) return NULL;
  if (!LLVMIsAInsertElementInst(one) || !LLVMIsAConstantInt(LLVMGetOperand(one, 2))) return NULL;
  return LLVMConstIntGetZExtValue(LLVMGetOperand(one, 2)) == 0 ? LLVMGetOperand(one, 1) : NULL;
}

static bool step_of(const row_loop *l, LLVMValueRef value, int64_t *step, bool *may_wrap, int depth) {
  const int64_t most = (int64_t)1 << 30;
  int64_t other = 0, factor;
  *step = 0;
  if (row_item(l, value) < 0) return true;
  if (depth == 0) return false;
  LLVMValueRef scalar = splat_scalar(value);
  if (scalar) return step_of(l, scalar, step, may_wrap, depth - 1);
  int operands = LLVMGetNumOperands(value);
  LLVMValueRef a = operands > 0 ? LLVMGetOperand(value, 0) : NULL, b = operands > 1 ? LLVMGetOperand(value, 1) : NULL;
  switch (LLVMGetInstructionOpcode(value)) {
  case LLVMPHI: return phi_step(l, value, step);
  case LLVMOr:
    if (!LLVMGetIsDisjoint(value)) return false;
    /* fall through */
  case LLVMAdd:
  case LLVMSub:
    if (!step_of(l, a, step, may_wrap, depth - 1) || !step_of(l, b, &other, may_wrap, depth - 1)) return false;
    *step += LLVMGetInstructionOpcode(value) == LLVMSub ? -other : other;
    break;
  case LLVMMul:
  case LLVMShl:
    if (!step_of(l, a, step, may_wrap, depth - 1)) return false;
    if (*step == 0) return step_of(l, b, &other, may_wrap, depth - 1) && other == 0;
    if (!small_constant(b, &factor)) return false;
    if (LLVMGetInstructionOpcode(value) == LLVMShl && (factor < 0 || factor > 20)) return false;
    *step = LLVMGetInstructionOpcode(value) == LLVMShl ? *step * ((int64_t)1 << factor) : *step * factor;
    break;
  case LLVMSExt:
  case LLVMZExt:
    if (!step_of(l, a, step, may_wrap, depth - 1)) return false;
    if (*step && *may_wrap) return false; /* one that is extended can be checked, not two */
    if (*step) *may_wrap = true;
    break;
  case LLVMGetElementPtr:
    if (LLVMGetNumIndices(value) != 1) return false;
    if (!step_of(l, a, step, may_wrap, depth - 1) || !step_of(l, b, &other, may_wrap, depth - 1)) return false;
    *step += other * (int64_t)LLVMABISizeOfType(l->p->layout, LLVMGetGEPSourceElementType(value));
    break;
  default: return false;
  }
  return *step <= most && *step >= -most;
}

bool row_step(const row_loop *l, LLVMValueRef value, int64_t *step, bool *may_wrap) {
  *may_wrap = false;
  return step_of(l, value, step, may_wrap, DEEPEST);
}

/* ---- distances between lanes ---- */

/* Whether the lanes' values are likely to have the same distance from each other: made from lane numbers, and from what
   all lanes share, by sums and products. */
static bool looks_even(LLVMValueRef value, int depth) {
  LLVMTypeRef type = LLVMTypeOf(value);
  if (!is_vector_type(type) || splat_scalar(value)) return true;
  if (LLVMIsAConstant(value)) return LLVMIsAConstantDataSequential(value) || LLVMIsNull(value);
  if (depth == 0 || !LLVMIsAInstruction(value)) return false;
  switch (LLVMGetInstructionOpcode(value)) {
  case LLVMAdd:
  case LLVMSub:
  case LLVMMul:
  case LLVMShl:
  case LLVMOr:
  case LLVMSExt:
  case LLVMZExt:
  case LLVMTrunc:
  case LLVMGetElementPtr:
    for (int n = 0; n < LLVMGetNumOperands(value); n++)
      if (!looks_even(LLVMGetOperand(value, (unsigned)n), depth - 1)) return false;
    return true;
  default: return false;
  }
}

/* ---- what is in the loop ---- */

static bool is_power_of_two(int n) { return n > 0 && !(n & (n - 1)); }

static bool fits_tile(row_loop *l, LLVMTypeRef wide, row_stream *s) {
  s->element = LLVMGetElementType(wide);
  s->lanes = (int)LLVMGetVectorSize(wide);
  uint64_t bytes = LLVMABISizeOfType(l->p->layout, s->element);
  if (!is_power_of_two((int)bytes) || bytes > 8 || !is_power_of_two(s->lanes) || s->lanes < 4) return false;
  s->columns = CHUNK / (int)bytes;
  return s->lanes <= MOST_LANES && LLVMStoreSizeOfType(l->p->layout, s->element) == bytes;
}

static bool is_row_gather(row_loop *l, LLVMValueRef call, row_stream *s) {
  if (!LLVMIsACallInst(call) || !starts_with(callee_name(call), "llvm.masked.gather")) return false;
  *s = (row_stream){.gather = call};
  LLVMValueRef pointers = LLVMGetOperand(call, 0);
  if (!fits_tile(l, LLVMTypeOf(call), s) || row_item(l, LLVMGetOperand(call, MASKED_LOAD_MASK)) >= 0) return false;
  if (!LLVMIsUndef(LLVMGetOperand(call, MASKED_LOAD_ELSE))) return false;
  if (LLVMGetPointerAddressSpace(LLVMGetElementType(LLVMTypeOf(pointers))) != 0) return false;
  s->align = masked_alignment(call);
  LLVMValueRef mask = LLVMGetOperand(call, MASKED_LOAD_MASK);
  s->even = LLVMIsConstant(mask) && constant_of_lanes(mask) && looks_even(pointers, DEEPEST);
  return row_step(l, pointers, &s->step, &s->may_wrap);
}

/* A chain of insertions of as many scalar loads as there are lanes (gather.c). */
static bool is_row_chain(row_loop *l, LLVMValueRef value, row_stream *s) {
  if (!LLVMIsAInsertElementInst(value)) return false;
  *s = (row_stream){.gather = value, .even = true};
  if (!fits_tile(l, LLVMTypeOf(value), s)) return false;
  LLVMValueRef places[MOST_LANES], chain = value;
  for (int lane = s->lanes - 1; lane >= 0; lane--, chain = LLVMGetOperand(chain, 0)) {
    if (!LLVMIsAInsertElementInst(chain) || row_item(l, chain) < 0) return false;
    LLVMValueRef load = LLVMGetOperand(chain, 1), at = LLVMGetOperand(chain, 2);
    if (!LLVMIsAConstantInt(at) || LLVMConstIntGetZExtValue(at) != (uint64_t)lane) return false;
    if (!LLVMIsALoadInst(load) || !is_plain_access(load) || row_item(l, load) < 0) return false;
    LLVMUseRef use = LLVMGetFirstUse(load);
    if (LLVMGetNextUse(use)) return false;
    int64_t step;
    bool may_wrap;
    places[lane] = LLVMGetOperand(load, 0);
    if (LLVMGetPointerAddressSpace(LLVMTypeOf(places[lane])) != 0) return false;
    if (!row_step(l, places[lane], &step, &may_wrap) || (lane < s->lanes - 1 && step != s->step)) return false;
    s->step = step;
    s->may_wrap = s->may_wrap || may_wrap;
    unsigned align = LLVMGetAlignment(load);
    if (!s->align || align < s->align) s->align = align;
  }
  s->places = mw_alloc(sizeof places);
  memcpy(s->places, places, sizeof places);
  return true;
}

/* Whether a stored address has a constant step, so that the places of all iterations are known. */
static bool is_plain_store(row_loop *l, LLVMValueRef i, bool *is_store) {
  LLVMValueRef pointer = NULL;
  int64_t step;
  bool may_wrap;
  *is_store = true;
  if (LLVMIsAStoreInst(i) && is_plain_access(i)) pointer = LLVMGetOperand(i, 1);
  if (LLVMIsACallInst(i) &&
      (starts_with(callee_name(i), "llvm.masked.store") || starts_with(callee_name(i), "llvm.masked.scatter")))
    pointer = LLVMGetOperand(i, 1);
  *is_store = pointer != NULL;
  if (!pointer || l->store_count == MOST_ROW_STORES) return false;
  LLVMTypeRef type = LLVMTypeOf(pointer);
  if (LLVMGetPointerAddressSpace(is_vector_type(type) ? LLVMGetElementType(type) : type) != 0) return false;
  l->stores[l->store_count++] = i;
  return row_step(l, pointer, &step, &may_wrap);
}

static bool only_reads(LLVMValueRef i) {
  if (is_pure(i)) return true;
  if (!LLVMIsACallInst(i)) return LLVMIsAFreezeInst(i) != NULL;
  return touches_no_memory(i) || starts_with(callee_name(i), "llvm.prefetch") ||
         starts_with(callee_name(i), "llvm.masked.gather") || starts_with(callee_name(i), "llvm.masked.load");
}

static bool find_exit(row_loop *l) {
  LLVMValueRef end = l->body[l->count], condition = LLVMGetCondition(end);
  bool may_wrap, stays_if = LLVMGetSuccessor(end, 0) == l->block;
  if (!LLVMIsAICmpInst(condition) || row_item(l, condition) < 0) return false;
  l->predicate = LLVMGetICmpPredicate(condition);
  l->counter = LLVMGetOperand(condition, 0), l->limit = LLVMGetOperand(condition, 1);
  if (LLVMGetTypeKind(LLVMTypeOf(l->counter)) != LLVMIntegerTypeKind) return false;
  if (row_item(l, l->counter) < 0) {
    LLVMValueRef other = l->counter;
    l->counter = l->limit, l->limit = other;
    switch (l->predicate) {
    case LLVMIntSLT: l->predicate = LLVMIntSGT; break;
    case LLVMIntSGT: l->predicate = LLVMIntSLT; break;
    case LLVMIntSLE: l->predicate = LLVMIntSGE; break;
    case LLVMIntSGE: l->predicate = LLVMIntSLE; break;
    case LLVMIntULT: l->predicate = LLVMIntUGT; break;
    case LLVMIntUGT: l->predicate = LLVMIntULT; break;
    case LLVMIntULE: l->predicate = LLVMIntUGE; break;
    case LLVMIntUGE: l->predicate = LLVMIntULE; break;
    default: break;
    }
  }
  if (!stays_if) switch (l->predicate) {
    case LLVMIntEQ: l->predicate = LLVMIntNE; break;
    case LLVMIntNE: l->predicate = LLVMIntEQ; break;
    case LLVMIntSLT: l->predicate = LLVMIntSGE; break;
    case LLVMIntSGE: l->predicate = LLVMIntSLT; break;
    case LLVMIntSGT: l->predicate = LLVMIntSLE; break;
    case LLVMIntSLE: l->predicate = LLVMIntSGT; break;
    case LLVMIntULT: l->predicate = LLVMIntUGE; break;
    case LLVMIntUGE: l->predicate = LLVMIntULT; break;
    case LLVMIntUGT: l->predicate = LLVMIntULE; break;
    case LLVMIntULE: l->predicate = LLVMIntUGT; break;
    }
  unsigned width = LLVMGetIntTypeWidth(LLVMTypeOf(l->counter));
  if ((width != 32 && width != 64) || row_item(l, l->limit) >= 0) return false;
  if (!row_step(l, l->counter, &l->counts, &may_wrap) || may_wrap || !l->counts) return false;
  switch (l->predicate) {
  case LLVMIntNE: return l->counts == 1 || l->counts == -1;
  case LLVMIntSLT:
  case LLVMIntSLE:
  case LLVMIntULT:
  case LLVMIntULE: return l->counts > 0;
  case LLVMIntSGT:
  case LLVMIntSGE:
  case LLVMIntUGT:
  case LLVMIntUGE: return l->counts < 0;
  default: return false;
  }
}

static void choose_strip(row_loop *l) {
  int columns = 0;
  for (int i = 0; i < l->stream_count; i++)
    if (l->streams[i].columns > columns) columns = l->streams[i].columns;
  l->strip = columns;
  while (2 * l->strip <= MOST_STRIP && 2 * l->strip * l->count <= TUNE_ROW_TILE_STRIP) l->strip *= 2;
}

static bool has_candidate(LLVMBasicBlockRef block) {
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i))
    if (LLVMIsAInsertElementInst(i) || (LLVMIsACallInst(i) && starts_with(callee_name(i), "llvm.masked.gather")))
      return true;
  return false;
}

static void add_stream(row_loop *l, const row_stream *s) {
  int64_t bytes = (int64_t)LLVMABISizeOfType(l->p->layout, s->element);
  bool walks = s->step == bytes || s->step == -bytes;
  if (walks && l->stream_count < MOST_ROW_STREAMS)
    l->streams[l->stream_count++] = *s;
  else
    free(s->places);
}

static bool find_row_loop(program *p, LLVMBasicBlockRef block, row_loop *l) {
  *l = (row_loop){.p = p, .block = block};
  if (!is_own_loop(block, &l->before, &l->exit) || !has_candidate(block)) return false;
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
    if (l->count == MOST_ROW_BODY) return false;
    if (LLVMIsAPHINode(i)) l->phi_count++;
    l->body[l->count++] = i;
  }
  l->count--;
  if (!find_exit(l)) return false;
  for (int i = 0; i < l->count; i++) {
    row_stream s;
    bool is_store;
    if (is_row_gather(l, l->body[i], &s) || is_row_chain(l, l->body[i], &s)) {
      add_stream(l, &s);
    } else if (!only_reads(l->body[i])) {
      if (!is_plain_store(l, l->body[i], &is_store) || !is_store) return false;
    }
  }
  if (!l->stream_count) return false;
  choose_strip(l);
  return l->strip * l->count <= (p->options->launch_kernel ? TUNE_ROW_TILE_CODE : TUNE_ROW_TILE_GENERAL);
}

void tile_rows(program *p) {
  EACH_FUNCTION(p, f) {
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f), next; block; block = next) {
      next = LLVMGetNextBasicBlock(block);
      row_loop *l = mw_alloc(sizeof *l);
      if (find_row_loop(p, block, l)) strip_rows(l);
      for (int i = 0; i < l->stream_count; i++) free(l->streams[i].places);
      free(l);
    }
  }
}
