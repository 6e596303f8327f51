/* The strip loop of a loop whose lanes walk rows (row_tiles.h): copies of an iteration, with columns of tiles instead
 * of gathers.
 *
 *   before -> counted -> tested -> strips -> ended -> left -> exit
 *                 \________\______________________ `-> the loop -^
 *
 * The original loop runs the iterations after the last whole strip, or all where the test fails. */
#include "row_tiles.h"

#include <stdlib.h>
#include <string.h>

typedef struct stripping {
  row_loop *l;
  LLVMBasicBlockRef counted, tested, strips, ended, left;
  LLVMValueRef phis[MOST_ROW_BODY], now[MOST_ROW_BODY], made[MOST_ROW_BODY]; /* by item of the body */
  LLVMValueRef after[MOST_ROW_BODY];                                         /* its phi in `left`, or NULL */
  bool needed[MOST_ROW_BODY];
  LLVMValueRef done, back; /* iterations before this strip, and minus that */
} stripping;

/* ---- what the strip loop needs: not the addresses of gathers, and not the condition ---- */

static row_stream *stream_at(row_loop *l, LLVMValueRef value) {
  for (int i = 0; i < l->stream_count; i++)
    if (l->streams[i].gather == value) return &l->streams[i];
  return NULL;
}

static void need(stripping *t, LLVMValueRef value) {
  row_loop *l = t->l;
  int item = row_item(l, value);
  if (item < 0 || t->needed[item]) return;
  t->needed[item] = true;
  if (stream_at(l, value)) return;
  if (LLVMIsAPHINode(value)) {
    need(t, row_next(l, value));
    return;
  }
  for (int n = 0; n < LLVMGetNumOperands(value); n++) need(t, LLVMGetOperand(value, (unsigned)n));
}

static void find_needed(stripping *t) {
  row_loop *l = t->l;
  for (int i = 0; i < l->count; i++) {
    bool effect = LLVMIsAStoreInst(l->body[i]) ||
                  (LLVMIsACallInst(l->body[i]) && LLVMGetTypeKind(LLVMTypeOf(l->body[i])) == LLVMVoidTypeKind);
    /* the original loop may continue after the strips, so all phis are needed */
    if (effect || LLVMIsAPHINode(l->body[i])) need(t, l->body[i]);
    for (LLVMUseRef use = LLVMGetFirstUse(l->body[i]); use; use = LLVMGetNextUse(use))
      if (LLVMGetInstructionParent(LLVMGetUser(use)) != l->block) need(t, l->body[i]);
  }
}

/* ---- one iteration ---- */

static LLVMValueRef mapped(stripping *t, LLVMValueRef value) {
  int item = row_item(t->l, value);
  if (item < 0) return value;
  return LLVMIsAPHINode(value) ? t->now[item] : t->made[item];
}

static LLVMValueRef moved(row_loop *l, LLVMTypeRef unit, LLVMValueRef from, LLVMValueRef by) {
  return LLVMBuildGEP2(l->b, unit, from, &by, 1, "");
}

/* The pointer, as LLVM cannot see: loop strength reduction would otherwise make a pointer of its own for every row, and
   spill them. */
static LLVMValueRef opaque(row_loop *l, LLVMValueRef pointer) {
  LLVMTypeRef type = LLVMFunctionType(l->p->pointer, &l->p->pointer, 1, 0);
  LLVMValueRef nothing = LLVMGetInlineAsm(type, "", 0, "=r,0", 4, 0, 0, LLVMInlineAsmDialectATT, 0);
  return LLVMBuildCall2(l->b, type, nothing, &pointer, 1, "");
}

/* Even rows: four of them by what addressing modes add to a pointer, and then the next four. */
static void find_even_rows(row_loop *l, const row_stream *s, LLVMValueRef *rows) {
  LLVMValueRef at = s->begin, one = constant_i64(l->p, 1);
  LLVMTypeRef unit = l->p->i8;
  for (int row = 0; row < s->lanes; row += 4) {
    at = opaque(l, row ? moved(l, unit, at, s->distances[2]) : at);
    rows[row] = at;
    rows[row + 1] = moved(l, unit, at, s->distances[0]);
    rows[row + 2] = moved(l, unit, at, LLVMBuildShl(l->b, s->distances[0], one, ""));
    rows[row + 3] = moved(l, unit, at, s->distances[1]);
  }
}

static void load_columns(stripping *t, row_stream *s, int iteration) {
  row_loop *l = t->l;
  LLVMValueRef rows[MOST_LANES];
  int64_t first = s->step > 0 ? iteration : -(int64_t)(iteration + s->columns - 1);
  LLVMValueRef offset = constant_i64(l->p, (uint64_t)first);
  if (s->even) find_even_rows(l, s, rows);
  for (int lane = 0; lane < s->lanes; lane++) {
    if (!s->even) rows[lane] = moved(l, s->element, s->rows[lane], s->step > 0 ? t->done : t->back);
    if (first) rows[lane] = moved(l, s->element, rows[lane], offset);
  }
  load_tile(l->p, l->b, s->element, s->lanes, s->columns, s->align, rows, s->tile);
}

static void copy_iteration(stripping *t, int iteration) {
  row_loop *l = t->l;
  for (int i = 0; i < l->count; i++) {
    LLVMValueRef value = l->body[i];
    if (!t->needed[i] || LLVMIsAPHINode(value)) continue;
    row_stream *s = stream_at(l, value);
    if (s) {
      int column = iteration % s->columns;
      if (column == 0) load_columns(t, s, iteration);
      t->made[i] = s->tile[s->step > 0 ? column : s->columns - 1 - column];
      continue;
    }
    LLVMValueRef copy = LLVMInstructionClone(value);
    for (int n = 0; n < LLVMGetNumOperands(value); n++)
      LLVMSetOperand(copy, (unsigned)n, mapped(t, LLVMGetOperand(value, (unsigned)n)));
    LLVMInsertIntoBuilder(l->b, copy);
    t->made[i] = copy;
  }
  LLVMValueRef next[MOST_ROW_BODY];
  for (int i = 0; i < l->phi_count; i++) next[i] = mapped(t, row_next(l, l->body[i]));
  memcpy(t->now, next, (size_t)l->phi_count * sizeof *next);
}

/* ---- phis ---- */

/* LLVM's C interface does not change a phi's blocks, so a new one is made. */

static LLVMValueRef new_phi(row_loop *l, LLVMValueRef like, LLVMBasicBlockRef block) {
  LLVMValueRef first = LLVMGetFirstInstruction(block);
  if (first)
    LLVMPositionBuilderBefore(l->b, first);
  else
    LLVMPositionBuilderAtEnd(l->b, block);
  return LLVMBuildPhi(l->b, LLVMTypeOf(like), "");
}

static void replace_phi(LLVMValueRef phi, LLVMValueRef by) {
  LLVMReplaceAllUsesWith(phi, by);
  LLVMInstructionEraseFromParent(phi);
}

/* The value of an item where the loop is left, by the original loop or after a strip. */
static LLVMValueRef value_after(stripping *t, LLVMValueRef value) {
  row_loop *l = t->l;
  int item = row_item(l, value);
  if (item < 0) return value;
  if (t->after[item]) return t->after[item];
  /* a phi's value after the last iteration is the one that it had in it */
  LLVMValueRef last = LLVMIsAPHINode(value) ? t->phis[item] : t->made[item];
  LLVMValueRef values[] = {value, last};
  LLVMBasicBlockRef blocks[] = {l->block, t->ended};
  t->after[item] = new_phi(l, value, t->left);
  LLVMAddIncoming(t->after[item], values, blocks, 2);
  return t->after[item];
}

static void leave_through(stripping *t) {
  row_loop *l = t->l;
  for (LLVMValueRef phi = LLVMGetFirstInstruction(l->exit), next; phi && LLVMIsAPHINode(phi); phi = next) {
    next = LLVMGetNextInstruction(phi);
    LLVMValueRef made = new_phi(l, phi, l->exit);
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
      LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, i);
      LLVMValueRef value = LLVMGetIncomingValue(phi, i);
      if (from == l->block) value = value_after(t, value), from = t->left;
      LLVMAddIncoming(made, &value, &from, 1);
    }
    replace_phi(phi, made);
  }
  for (int i = 0; i < l->count; i++)
    for (LLVMUseRef use = LLVMGetFirstUse(l->body[i]), next; use; use = next) {
      LLVMValueRef user = LLVMGetUser(use);
      LLVMBasicBlockRef where = LLVMGetInstructionParent(user);
      next = LLVMGetNextUse(use);
      if (where == l->block || where == t->left) continue;
      LLVMValueRef value = value_after(t, l->body[i]);
      for (int n = 0; n < LLVMGetNumOperands(user); n++)
        if (LLVMGetOperand(user, (unsigned)n) == l->body[i]) LLVMSetOperand(user, (unsigned)n, value);
      next = LLVMGetFirstUse(l->body[i]);
    }
}

/* The original loop begins before or after the strips. */
static void enter_from(stripping *t) {
  row_loop *l = t->l;
  for (int i = 0; i < l->phi_count; i++) {
    LLVMValueRef phi = l->body[i], begin = row_begin(l, phi), made = new_phi(l, phi, l->block);
    LLVMValueRef values[] = {row_next(l, phi), begin, begin, t->now[i]};
    LLVMBasicBlockRef blocks[] = {l->block, t->counted, t->tested, t->ended};
    LLVMAddIncoming(made, values, blocks, 4);
    replace_phi(phi, made);
    l->body[i] = made;
  }
}

/* ---- the blocks ---- */

static void make_blocks(stripping *t) {
  row_loop *l = t->l;
  LLVMContextRef c = l->p->context;
  t->counted = LLVMInsertBasicBlockInContext(c, l->block, "rows.counted");
  t->tested = LLVMInsertBasicBlockInContext(c, l->block, "rows.tested");
  t->strips = LLVMInsertBasicBlockInContext(c, l->block, "rows.strips");
  t->ended = LLVMInsertBasicBlockInContext(c, l->block, "rows.ended");
  t->left = LLVMInsertBasicBlockInContext(c, l->block, "rows.left");
}

static void redirect(LLVMBasicBlockRef from, LLVMBasicBlockRef old, LLVMBasicBlockRef to) {
  LLVMValueRef end = LLVMGetBasicBlockTerminator(from);
  for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++)
    if (LLVMGetSuccessor(end, i) == old) LLVMSetSuccessor(end, i, to);
}

/* The number of iterations, if it is a constant, or 0. */
static int64_t constant_iterations(const row_loop *l) {
  LLVMValueRef begin = l->counter, limit = l->limit;
  bool is_next = !LLVMIsAPHINode(begin);
  for (int i = 0; i < l->phi_count && is_next; i++)
    if (row_next(l, l->body[i]) == l->counter) begin = l->body[i];
  begin = LLVMIsAPHINode(begin) ? row_begin(l, begin) : begin;
  if (!LLVMIsAConstantInt(begin) || !LLVMIsAConstantInt(limit) || LLVMGetIntTypeWidth(LLVMTypeOf(limit)) > 64) return 0;
  int64_t distance = LLVMConstIntGetSExtValue(limit) - LLVMConstIntGetSExtValue(begin);
  LLVMIntPredicate p = l->predicate;
  bool equal = p == LLVMIntSLE || p == LLVMIntSGE || p == LLVMIntULE || p == LLVMIntUGE;
  int64_t again = (distance + (l->counts > 0 ? 1 : -1) * (equal ? 0 : -1)) / l->counts + 1;
  return is_next ? again : again + 1;
}

/* Where the number of iterations is a constant, shorter strips leave fewer iterations, in which lanes are gathered one
   by one: 24 bytes are three strips of 8, not one of 16. */
static void shorten_strips(row_loop *l) {
  enum { FEWEST = 4 };
  int64_t count = constant_iterations(l);
  int best = l->strip;
  for (int strip = best / 2; count > 0 && strip >= FEWEST; strip /= 2)
    if (count % strip < count % best) best = strip;
  l->strip = best;
  for (int i = 0; i < l->stream_count; i++)
    if (l->streams[i].columns > best) l->streams[i].columns = best;
}

void strip_rows(row_loop *l) {
  stripping *t = mw_alloc(sizeof *t);
  program *p = l->p;
  shorten_strips(l);
  LLVMValueRef known, strip = constant_i64(p, (uint64_t)l->strip), zero = constant_i64(p, 0);
  t->l = l;
  l->b = LLVMCreateBuilderInContext(p->context);
  find_needed(t);
  make_blocks(t);

  LLVMPositionBuilderAtEnd(l->b, t->counted);
  LLVMValueRef iterations = count_iterations(l, &known);
  LLVMValueRef enough = LLVMBuildICmp(l->b, LLVMIntUGE, iterations, strip, "");
  LLVMBuildCondBr(l->b, LLVMBuildAnd(l->b, known, enough, ""), t->tested, l->block);

  LLVMPositionBuilderAtEnd(l->b, t->tested);
  LLVMValueRef end = LLVMBuildAnd(l->b, iterations, constant_i64(p, -(uint64_t)l->strip), "");
  build_likely(p, l->b, check_rows(l, iterations), t->strips, l->block);

  LLVMPositionBuilderAtEnd(l->b, t->strips);
  for (int i = 0; i < l->phi_count; i++) {
    LLVMValueRef begin = row_begin(l, l->body[i]);
    t->phis[i] = t->now[i] = LLVMBuildPhi(l->b, LLVMTypeOf(l->body[i]), "");
    LLVMAddIncoming(t->now[i], &begin, &t->tested, 1);
  }
  t->done = LLVMBuildPhi(l->b, p->i64, "");
  LLVMAddIncoming(t->done, &zero, &t->tested, 1);
  for (int i = 0; i < l->stream_count; i++) {
    row_stream *s = &l->streams[i];
    if (!s->even) continue;
    s->begin = LLVMBuildPhi(l->b, p->pointer, "");
    LLVMAddIncoming(s->begin, &s->rows[0], &t->tested, 1);
  }
  t->back = LLVMBuildNeg(l->b, t->done, "");
  for (int i = 0; i < l->strip; i++) {
    if (i) memcpy(t->phis, t->now, sizeof t->phis); /* the values in the last iteration */
    copy_iteration(t, i);
  }
  LLVMValueRef next = LLVMBuildAdd(l->b, t->done, strip, "");
  for (int i = 0; i < l->stream_count; i++) {
    row_stream *s = &l->streams[i];
    if (!s->even) continue;
    LLVMValueRef strip_bytes = constant_i64(p, (uint64_t)(s->step * l->strip)),
                 later = moved(l, p->i8, s->begin, strip_bytes);
    LLVMAddIncoming(s->begin, &later, &t->strips, 1);
  }
  LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntULT, next, end, ""), t->strips, t->ended);
  LLVMAddIncoming(t->done, &next, &t->strips, 1);
  LLVMValueRef phi = LLVMGetFirstInstruction(t->strips);
  for (int i = 0; i < l->phi_count; i++, phi = LLVMGetNextInstruction(phi))
    LLVMAddIncoming(phi, &t->now[i], &t->strips, 1);

  LLVMPositionBuilderAtEnd(l->b, t->ended);
  LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntEQ, end, iterations, ""), t->left, l->block);
  leave_through(t);
  LLVMPositionBuilderAtEnd(l->b, t->left);
  LLVMBuildBr(l->b, l->exit);
  enter_from(t);
  redirect(l->block, l->exit, t->left);
  redirect(l->before, l->block, t->counted);
  LLVMDisposeBuilder(l->b);
  free(t);
}
