/* Straight code instead of a loop whose iterations overlap (predictive_commoning.c), by list scheduling for register
 * pressure.
 *
 * Each vector is loaded once, and all operations that it makes ready follow at once, so that few vectors are live. For
 * a vertical filter, the code takes one row of the picture at a time and adds it to each row of the result, rather than
 * one iteration of the loop at a time. */
#include "predictive_commoning.h"
#include "opt.h"
#include "mwcc/target/target.h"
#include "mwcc/target/tuning.h"

#include <stdlib.h>
#include <string.h>

/* ---- scheduling ---- */

static int heavy_operand(const commoning *l, const item *i, int n) {
  int operand = l->operands[i->first + n];
  return l->items[operand].heavy ? operand : NONE;
}

/* Mark what is used after the loop, and link the users of each heavy item. */
static void link_users(commoning *l) {
  int total = 0;
  for (int i = 0; i < l->count; i++) {
    item *user = &l->items[i];
    for (int n = 0; user->heavy && n < user->count; n++) {
      int operand = heavy_operand(l, user, n);
      if (operand == NONE) continue;
      l->items[operand].user_count++, l->items[operand].left++;
      user->pending++;
      total++;
    }
  }
  l->users = mw_alloc((size_t)(total + 1) * sizeof *l->users);
  total = 0;
  for (int i = 0; i < l->count; i++) {
    l->items[i].users = total;
    total += l->items[i].user_count;
    l->items[i].user_count = 0;
  }
  for (int i = 0; i < l->count; i++)
    for (int n = 0; l->items[i].heavy && n < l->items[i].count; n++) {
      int operand = heavy_operand(l, &l->items[i], n);
      if (operand != NONE) l->users[l->items[operand].users + l->items[operand].user_count++] = i;
    }
}

/* Place an item and all items that become ready. Returns the increase of live values. */
static int place_item(commoning *l, int which) {
  item *here = &l->items[which];
  int more = here->left || here->root;
  l->placed[l->placed_count++] = which;
  for (int n = 0; n < here->count; n++) {
    int operand = heavy_operand(l, here, n);
    if (operand != NONE && --l->items[operand].left == 0 && !l->items[operand].root) more--;
  }
  for (int n = 0; n < here->user_count; n++) {
    int user = l->users[here->users + n];
    if (--l->items[user].pending == 0) more += place_item(l, user);
  }
  return more;
}

static void undo_placement(commoning *l, int from) {
  while (l->placed_count > from) {
    item *here = &l->items[l->placed[--l->placed_count]];
    for (int n = 0; n < here->user_count; n++) l->items[l->users[here->users + n]].pending++;
    for (int n = 0; n < here->count; n++) {
      int operand = heavy_operand(l, here, n);
      if (operand != NONE) l->items[operand].left++;
    }
  }
}

/* Repeatedly the load that leaves the fewest values live, and all items that it makes ready. */
static void schedule(commoning *l) {
  int *loads = mw_alloc((size_t)(l->count + 1) * sizeof *loads), count = 0, alive = 0;
  l->placed = mw_alloc((size_t)(l->count + 1) * sizeof *l->placed);
  for (int i = 0; i < l->count; i++)
    if (l->items[i].heavy && is_vector_load(l->items[i].like)) loads[count++] = i;
  while (count) {
    int best = 0, least = 0;
    for (int i = 0; i < count; i++) {
      int before = l->placed_count, more = place_item(l, loads[i]);
      undo_placement(l, before);
      if (i == 0 || more < least) best = i, least = more;
      if (least <= 0) break;
    }
    alive += place_item(l, loads[best]);
    if (alive > l->alive) l->alive = alive;
    memmove(loads + best, loads + best + 1, (size_t)(--count - best) * sizeof *loads);
  }
  free(loads);
}

/* ---- the code ---- */

/* Drop flags and metadata: those of the copied instruction need not hold for all equal ones. */
static void drop_flags(program *p, LLVMValueRef i) {
  static const char *const promises[] = {"range", "nonnull", "noundef", "align", "dereferenceable"};
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMAdd:
  case LLVMSub:
  case LLVMMul:
  case LLVMShl: LLVMSetNUW(i, 0), LLVMSetNSW(i, 0); return;
  case LLVMLShr:
  case LLVMAShr: LLVMSetExact(i, 0); return;
  case LLVMOr: LLVMSetIsDisjoint(i, 0); return;
  case LLVMZExt: LLVMSetNNeg(i, 0); return;
  case LLVMGetElementPtr: LLVMSetIsInBounds(i, 0); return;
  case LLVMLoad:
    for (size_t n = 0; n < MW_COUNT(promises); n++)
      LLVMSetMetadata(i, LLVMGetMDKindIDInContext(p->context, promises[n], (unsigned)strlen(promises[n])), NULL);
    return;
  default: return;
  }
}

/* ---- splats of scalars from memory ---- */

/* A filter's coefficients are too many to stay in registers. Processors broadcast an element from memory at no cost
   where it is used, but LLVM loads each once and spills whole vectors. So those that are not among the first few are
   loaded again at their uses, through a pointer that is made opaque every few loads. */

static bool is_constant_place(const commoning *l, const item *pointer) {
  if (!pointer->like || !LLVMIsAGetElementPtrInst(pointer->like) || !l->items[l->operands[pointer->first]].outside)
    return pointer->outside != NULL;
  for (int n = 1; n < pointer->count; n++) {
    const item *index = &l->items[l->operands[pointer->first + n]];
    if (index->outside || index->like || index->base != NONE) return false;
  }
  return true;
}

/* Operands precede their users. */ static void find_reloadable(commoning *l) {
  for (int which = 0; which < l->count; which++) {
    item *i = &l->items[which];
    if (!i->like || i->heavy) continue;
    if (LLVMIsALoadInst(i->like)) i->reloadable = is_constant_place(l, &l->items[l->operands[i->first]]);
    bool lanes = LLVMIsAInsertElementInst(i->like) || LLVMIsAShuffleVectorInst(i->like);
    for (int n = 0; lanes && n < i->count; n++)
      i->reloadable = i->reloadable || l->items[l->operands[i->first + n]].reloadable;
  }
}

static bool is_made(commoning *l, item *i) {
  enum { EPOCH = 16 };
  if (!i->made || !i->reloadable || i->pinned) return i->made != NULL;
  return i->epoch == l->epoch && l->in_epoch < EPOCH;
}

static LLVMValueRef opaque_pointer(commoning *l, LLVMValueRef base) {
  if (base == l->base) return l->opaque;
  LLVMTypeRef pointer = LLVMTypeOf(base), type = LLVMFunctionType(pointer, &pointer, 1, 0);
  LLVMValueRef nothing = LLVMGetInlineAsm(type, "", 0, "=r,0", 4, 0, 0, LLVMInlineAsmDialectATT, 0);
  l->base = base;
  return l->opaque = LLVMBuildCall2(l->b, type, nothing, &base, 1, "");
}

static LLVMValueRef make(commoning *l, int which);

/* ---- fused multiply-adds, which LLVM would form with more effort ---- */

static bool has_fused(const program *p) { return !starts_with(p->triple, "x86_64") || strstr(p->features, "+fma"); }

static bool may_fuse(LLVMValueRef i, LLVMOpcode opcode) {
  return LLVMIsABinaryOperator(i) && LLVMGetInstructionOpcode(i) == opcode &&
         (LLVMGetFastMathFlags(i) & LLVMFastMathAllowContract);
}

static bool is_fused(const commoning *l, const item *product) {
  if (!has_fused(l->p) || !may_fuse(product->like, LLVMFMul)) return false;
  if (product->user_count != 1 || product->root) return false;
  const item *user = &l->items[l->users[product->users]];
  if (!may_fuse(user->like, LLVMFAdd)) return false;
  int other = l->operands[user->first + 1]; /* of two products, the second */
  return &l->items[other] == product || !l->items[other].like || !may_fuse(l->items[other].like, LLVMFMul);
}

/* A sum with a product as a multiply-add; NULL: it has no product. */
static LLVMValueRef make_fused(commoning *l, const item *sum) {
  if (!may_fuse(sum->like, LLVMFAdd)) return NULL;
  for (int n = 0; n < 2; n++) {
    const item *product = &l->items[l->operands[sum->first + n]];
    if (!product->heavy || !is_fused(l, product)) continue;
    LLVMValueRef arguments[] = {make(l, l->operands[product->first]), make(l, l->operands[product->first + 1]),
                                make(l, l->operands[sum->first + 1 - n])};
    LLVMTypeRef type = sum->type;
    LLVMValueRef made = call_intrinsic(l->p, l->b, "llvm.fma", &type, 1, arguments, 3);
    LLVMInstructionSetDebugLoc(made, LLVMInstructionGetDebugLoc(sum->like));
    LLVMSetFastMathFlags(made, LLVMGetFastMathFlags(sum->like) & LLVMGetFastMathFlags(product->like));
    return made;
  }
  return NULL;
}

/* The address from which a scalar is reloaded. */
static LLVMValueRef reload_address(commoning *l, int which) {
  item *i = &l->items[which];
  if (i->outside) return opaque_pointer(l, i->outside);
  LLVMValueRef copy = LLVMInstructionClone(i->like);
  LLVMSetOperand(copy, 0, opaque_pointer(l, l->items[l->operands[i->first]].outside));
  for (int n = 1; n < i->count; n++) LLVMSetOperand(copy, (unsigned)n, make(l, l->operands[i->first + n]));
  LLVMInsertIntoBuilder(l->b, copy);
  return copy;
}

/* Make a splat, for the first time or again. */
static void make_splat(commoning *l, item *i) {
  enum { EPOCH = 16 };
  if (!i->made && l->pins > 0) {
    l->pins--;
    i->pinned = true;
    return;
  }
  if (++l->in_epoch < EPOCH) return;
  l->in_epoch = 0;
  l->epoch++;
  l->base = NULL;
}

/* ---- prefetching rows ---- */

/* Narrow adjacent blocks load short stretches of a picture's rows, row by row, which hardware prefetchers do not
   follow. So each row is prefetched some blocks' width ahead, where a later block loads it. */

static bool is_step(const item *i) { return i->like && LLVMIsAGetElementPtrInst(i->like) && i->count == 2; }

/* The item that loads of one row share: the base to which the row's number, times the row's length, is added; or the
   sum. */
static item *row_of(commoning *l, const item *load) {
  item *place = &l->items[l->operands[load->first]], *base = NULL;
  while (is_step(place)) {
    base = &l->items[l->operands[place->first]];
    if (base->outside) break;
    place = base;
  }
  if (!is_step(place)) return place;
  item *index = &l->items[l->operands[place->first + 1]];
  return index->base == NONE || index->second ? index : &l->items[index->base];
}

static void prefetch_blocks_ahead(commoning *l, const item *i, LLVMValueRef load) {
  enum {
    SHORT = TUNE_PREFETCH_FILTER_ROW,
    LINE = 64,
    BLOCKS = TUNE_PREFETCH_FILTER_BLOCKS,
    READ = 0,
    SECOND_LEVEL = 2,
    DATA = 1
  };
  program *p = l->p;
  const unsigned *block = p->block;
  uint64_t row = LLVMABISizeOfType(p->layout, LLVMGetElementType(LLVMTypeOf(load))) * block[0];
  item *prefetched = row_of(l, i);
  if (prefetched->prefetched || block[1] * block[2] == 1 || row < LINE || row > SHORT) return;
  prefetched->prefetched = true;
  for (uint64_t at = 0; at < row; at += LINE) {
    LLVMValueRef distance = constant_i64(p, BLOCKS * row + at);
    LLVMValueRef arguments[] = {LLVMBuildGEP2(l->b, p->i8, LLVMGetOperand(load, 0), &distance, 1, ""),
                                constant_i32(p, READ), constant_i32(p, SECOND_LEVEL), constant_i32(p, DATA)};
    call_intrinsic(p, l->b, "llvm.prefetch", &p->pointer, 1, arguments, 4);
  }
}

static LLVMValueRef make(commoning *l, int which) {
  item *i = &l->items[which];
  if (i->outside) return i->outside;
  if (is_made(l, i)) return i->made;
  if (i->second) return i->made = LLVMBuildAdd(l->b, make(l, i->base), make(l, i->second - 1), "");
  if (!i->like) {
    LLVMValueRef distance = LLVMConstInt(i->type, (uint64_t)i->distance, 1);
    return i->made = i->base == NONE ? distance : LLVMBuildAdd(l->b, make(l, i->base), distance, "");
  }
  if (i->heavy && (i->made = make_fused(l, i))) return i->made;
  if (i->reloadable && LLVMIsAShuffleVectorInst(i->like)) make_splat(l, i);
  LLVMValueRef copy = LLVMInstructionClone(i->like);
  bool reload = i->made && i->reloadable && LLVMIsALoadInst(i->like);
  for (int n = 0; n < i->count; n++) {
    int operand = l->operands[i->first + n];
    LLVMSetOperand(copy, (unsigned)n, reload ? reload_address(l, operand) : make(l, operand));
  }
  drop_flags(l->p, copy);
  if (i->align) LLVMSetAlignment(copy, i->align);
  LLVMInsertIntoBuilder(l->b, copy);
  if (is_vector_load(copy)) prefetch_blocks_ahead(l, i, copy);
  i->epoch = l->epoch;
  return i->made = copy;
}

static bool is_used_after_loop(const commoning *l, LLVMValueRef value) {
  for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use))
    if (LLVMGetInstructionParent(LLVMGetUser(use)) != l->block) return true;
  return false;
}

void unroll_commoned(commoning *l) {
  enum { SPARE = TUNE_COMMONING_SPARE };
  const int *last = l->known + (l->iterations - 1) * l->body_count;
  LLVMValueRef end = LLVMGetBasicBlockTerminator(l->block);
  for (size_t i = 0; i < l->body_count; i++)
    if (is_used_after_loop(l, l->body[i])) l->items[last[i]].root = true;
  link_users(l);
  schedule(l);
  find_reloadable(l);
  l->pins = vector_registers(l->p) - l->alive - SPARE;
  l->b = LLVMCreateBuilderInContext(l->p->context);
  LLVMPositionBuilderBefore(l->b, end);
  for (int i = 0; i < l->placed_count; i++)
    if (!is_fused(l, &l->items[l->placed[i]])) make(l, l->placed[i]);
  for (size_t i = 0; i < l->body_count; i++)
    if (is_used_after_loop(l, l->body[i])) LLVMReplaceAllUsesWith(l->body[i], make(l, last[i]));
  LLVMBuildBr(l->b, l->exit);
  LLVMInstructionEraseFromParent(end);
  for (size_t i = 0; i < l->body_count; i++) LLVMReplaceAllUsesWith(l->body[i], LLVMGetPoison(LLVMTypeOf(l->body[i])));
  for (size_t i = l->body_count; i-- > 0;) LLVMInstructionEraseFromParent(l->body[i]);
  LLVMDisposeBuilder(l->b);
}
