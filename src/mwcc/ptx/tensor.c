/* Inline PTX: matrix instructions of a warp, mma.sync, mma.sp, ldmatrix, stmatrix and movmatrix (PTX ISA 8.0, chapter
 * 9.7.13).
 *
 *   mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d0,d1,d2,d3}, {a0,a1,a2,a3}, {b0,b1}, {c0,c1,c2,c3};
 *
 * becomes a call of a function of the device headers (moonwarp/tensor/ptx_products.h), whose name consists of the
 * shape, the types and the operation. A form that no such function has is refused. Sparse forms have two more
 * operands, the metadata and the sparsity selector (moonwarp/tensor/sparse_product.h). */
#include "ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct register_list {
  char names[PTX_ELEMENTS][PTX_NAME];
  int count;
} register_list;

/* Modifiers that are the same in all forms. */
static bool is_ignored(const char *modifier) {
  static const char *const modifiers[] = {"sync", "aligned", "row", "col"};
  for (size_t n = 0; n < MW_COUNT(modifiers); n++)
    if (strcmp(modifier, modifiers[n]) == 0) return true;
  return false;
}

/* Metadata whose order is promised says the same as other metadata does. */
static const char *spelling(const char *modifier) {
  return strcmp(modifier, "sp::ordered_metadata") == 0 ? "sp" : modifier;
}

/* "mma_m16n8k16_f32_f16_f16_f32", with what follows ("satfinite", "xor_popc") at the end. To be freed. */
static char *function_name(const ptx_instruction *i) {
  mw_text name = {0}, last = {0};
  mw_text_addf(&name, "mma");
  for (int n = 1; n < i->word_count; n++) {
    bool is_last = strcmp(i->words[n], "satfinite") == 0;
    if (!is_ignored(i->words[n])) mw_text_addf(is_last ? &last : &name, "_%s", spelling(i->words[n]));
  }
  mw_text_addf(&name, "%s", last.data ? last.data : "");
  free(last.data);
  return name.data;
}

static bool is_sparse(const ptx_instruction *i) {
  return i->word_count > 1 && strcmp(spelling(i->words[1]), "sp") == 0;
}

static bool read_lists(const ptx_instruction *i, register_list lists[4]) {
  if (i->operand_count != (is_sparse(i) ? 6 : 4)) return false;
  for (int n = 0; n < 4; n++) {
    lists[n].count = ptx_elements(i->operands[n], lists[n].names);
    if (lists[n].count == 0) return false;
  }
  return true;
}

/* Doubles: 8 rows by 8 columns by 4 at once; other shapes are made of these, k ascending. */
static bool multiply_doubles(const ptx_source *x, const register_list lists[4]) {
  const register_list *a = &lists[1], *b = &lists[2], *c = &lists[3];
  LLVMTypeRef real = LLVMDoubleTypeInContext(x->s->p->context);
  LLVMValueRef d[PTX_ELEMENTS];
  int steps = b->count, halves = steps ? a->count / steps : 0;
  if (halves < 1 || halves > 2 || a->count != halves * steps || c->count != 2 * halves || lists[0].count != c->count)
    return false;
  for (int n = 0; n < c->count; n++) d[n] = ptx_read(x->s, c->names[n], real);
  for (int step = 0; step < steps; step++) {
    for (int half = 0; half < halves; half++) {
      LLVMValueRef arguments[] = {ptx_read(x->s, a->names[step * halves + half], real),
                                  ptx_read(x->s, b->names[step], real), d[2 * half], d[2 * half + 1]};
      LLVMValueRef pair = ptx_call(x, "mma_m8n8k4_f64", arguments, 4);
      if (!pair) return false;
      for (unsigned n = 0; n < 2; n++)
        d[2 * half + (int)n] = LLVMBuildExtractElement(x->s->b, pair, constant_i32(x->s->p, n), "");
    }
  }
  for (int n = 0; n < c->count; n++) ptx_write(x->s, lists[0].names[n], d[n]);
  return true;
}

static bool translate_mma(const ptx_source *x) {
  register_list lists[4];
  LLVMTypeRef word = x->s->p->i32;
  LLVMValueRef arguments[14];
  static const int dense[] = {0, 4, 6, 10},
                   sparse[] = {0, 4, 8, 12}; /* of A, B and C among the arguments, and the end */
  const int *places = is_sparse(x->i) ? sparse : dense;
  int count = places[3];
  if (!read_lists(x->i, lists)) return false;
  if (ptx_has_modifier(x->i, "f64")) return multiply_doubles(x, lists);
  for (int n = 0; n < count; n++) arguments[n] = constant_i32(x->s->p, 0);
  for (int n = 4; n < x->i->operand_count; n++) arguments[count++] = ptx_read(x->s, x->i->operands[n], word);
  for (int list = 0; list < 3; list++) {
    const register_list *from = &lists[list + 1];
    if (from->count > places[list + 1] - places[list]) return false;
    for (int n = 0; n < from->count; n++) arguments[places[list] + n] = ptx_read(x->s, from->names[n], word);
  }
  char *name = function_name(x->i);
  LLVMValueRef result = ptx_call(x, name, arguments, (unsigned)count);
  free(name);
  if (!result || lists[0].count > 4) return false;
  for (unsigned n = 0; n < (unsigned)lists[0].count; n++) { /* two registers a number of 64 bits */
    LLVMValueRef two = LLVMBuildExtractValue(x->s->b, result, n / 2, "");
    two = LLVMBuildLShr(x->s->b, two, constant_i64(x->s->p, n % 2 * 32), "");
    ptx_write(x->s, lists[0].names[n], LLVMBuildTrunc(x->s->b, two, word, ""));
  }
  return true;
}

/* ldmatrix.sync.aligned.m8n8.x4[.trans].shared.b16 {…}, [row] and stmatrix … [row], {…} */
static bool translate_rows(const ptx_source *x, bool loads) {
  register_list registers;
  const ptx_instruction *i = x->i;
  if (i->operand_count != 2 || !ptx_has_modifier(i, "m8n8") || !ptx_has_modifier(i, "b16")) return false;
  int count = ptx_has_modifier(i, "x4") ? 4 : ptx_has_modifier(i, "x2") ? 2 : 1;
  registers.count = ptx_elements(i->operands[loads ? 0 : 1], registers.names);
  LLVMValueRef row = ptx_address(x, i->operands[loads ? 1 : 0]);
  if (registers.count != count || !row) return false;
  if (LLVMTypeOf(row) != x->s->p->pointer) row = LLVMBuildAddrSpaceCast(x->s->b, row, x->s->p->pointer, "");
  char *name = mw_format("%smatrix%s", loads ? "ld" : "st", ptx_has_modifier(i, "trans") ? "_trans" : "");
  LLVMValueRef loaded[4];
  bool known = true;
  for (int n = 0; n < count && known; n++) {
    LLVMValueRef arguments[] = {row, constant_i32(x->s->p, (unsigned)n),
                                loads ? NULL : ptx_read(x->s, registers.names[n], x->s->p->i32)};
    loaded[n] = ptx_call(x, name, arguments, loads ? 2 : 3);
    known = loaded[n] != NULL;
  }
  free(name);
  for (int n = 0; n < count && known && loads; n++) ptx_write(x->s, registers.names[n], loaded[n]);
  return known;
}

/* movmatrix.sync.aligned.m8n8.trans.b16 d, a */
static bool translate_movmatrix(const ptx_source *x) {
  if (x->i->operand_count != 2) return false;
  LLVMValueRef a = ptx_read(x->s, x->i->operands[1], x->s->p->i32), result = ptx_call(x, "movmatrix", &a, 1);
  if (!result) return false;
  ptx_result(x, result);
  return true;
}

bool ptx_translate_tensor(ptx_statement *s, const ptx_instruction *i) {
  ptx_source x = {.s = s, .i = i};
  const char *name = i->words[0];
  bool multiplies = strcmp(name, "mma") == 0, loads = strcmp(name, "ldmatrix") == 0;
  bool stores = strcmp(name, "stmatrix") == 0;
  if (!multiplies && !loads && !stores && strcmp(name, "movmatrix") != 0) return false;
  bool done = multiplies ? translate_mma(&x) : loads || stores ? translate_rows(&x, loads) : translate_movmatrix(&x);
  if (!done) ptx_refuse(s, name, "has a shape, types or operands that the CPU device does not have");
  return true;
}
