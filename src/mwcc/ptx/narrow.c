/* Inline PTX: narrow formats without LLVM instructions: bfloat16, tf32 and the two formats of 8 bits.
 *
 *   cvt.rn.satfinite.e4m3x2.f32 d, a, b;     d = { b, a } as two bytes
 *   fma.rn.bf16x2 d, a, b, c;
 *
 * Functions of the device headers convert and compute (moonwarp/ptx_narrow.h); their names are the instructions'. */
#include "ptx.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {"bf16", "bf16x2", "e4m3x2", "e5m2x2", "tf32", "f16x2"};
enum { HALVES = 5 }; /* of which float.c has all but the conversions */

static bool is_narrow(const char *word, size_t count) {
  for (size_t n = 0; n < count; n++)
    if (strcmp(word, names[n]) == 0) return true;
  return false;
}

static LLVMTypeRef type_of(const ptx_source *x, const char *name) {
  program *p = x->s->p;
  if (strcmp(name, "f32") == 0) return LLVMFloatTypeInContext(p->context);
  return strcmp(name, "bf16") == 0 || strcmp(name, "f16") == 0 || name[0] == 'e' ? LLVMInt16TypeInContext(p->context)
                                                                                 : p->i32;
}

/* cvt.to.from d, a or d, a, b, where a is the upper element. The function's last argument is whether negative results
   are 0. Values are always clamped to the finite numbers of 8 bits. */
static bool convert(const ptx_source *x) {
  const ptx_instruction *i = x->i;
  char name[PTX_NAME * 3];
  const char *to = i->words[i->word_count - 2], *from = i->words[i->word_count - 1];
  const char *rounds = ptx_has_modifier(i, "rz") ? "rz" : ptx_has_modifier(i, "rna") ? "rna" : "rn";
  LLVMValueRef in[3];
  if (i->operand_count > 3) return false;
  for (int n = 1; n < i->operand_count; n++) in[n - 1] = ptx_read(x->s, i->operands[n], type_of(x, from));
  in[i->operand_count - 1] = constant_i32(x->s->p, ptx_has_modifier(i, "relu"));
  snprintf(name, sizeof name, "cvt_%s_%s_%s", rounds, to, from);
  LLVMValueRef result = ptx_call(x, name, in, (unsigned)i->operand_count);
  if (result) ptx_write(x->s, i->operands[0], result);
  return result != NULL;
}

/* One operation of bfloat16, or of the two in a word. */
static bool compute(const ptx_source *x) {
  const ptx_instruction *i = x->i;
  program *p = x->s->p;
  LLVMBuilderRef b = x->s->b;
  LLVMTypeRef bits = LLVMInt16TypeInContext(p->context);
  unsigned elements = strcmp(i->words[i->word_count - 1], "bf16x2") == 0 ? 2 : 1;
  char name[PTX_NAME * 2];
  LLVMValueRef in[PTX_OPERANDS], all[PTX_OPERANDS], result = constant_i32(p, 0);
  int count = i->operand_count - 1;
  if (count < 1 || count > 3) return false;
  snprintf(name, sizeof name, "%s_bf16%s%s", i->words[0], ptx_has_modifier(i, "NaN") ? "_nan" : "",
           ptx_has_modifier(i, "relu") ? "_relu" : "");
  for (int n = 0; n < count; n++) all[n] = ptx_read(x->s, i->operands[n + 1], elements == 2 ? p->i32 : bits);
  for (unsigned k = 0; k < elements; k++) {
    LLVMValueRef place = constant_i32(p, 16 * k);
    for (int n = 0; n < count; n++)
      in[n] = elements == 1 ? all[n] : LLVMBuildTrunc(b, LLVMBuildLShr(b, all[n], place, ""), bits, "");
    LLVMValueRef element = ptx_call(x, name, in, (unsigned)count);
    if (!element) return false;
    if (elements == 1)
      result = element;
    else
      result = LLVMBuildOr(b, result, LLVMBuildShl(b, LLVMBuildZExt(b, element, p->i32, ""), place, ""), "");
  }
  ptx_write(x->s, i->operands[0], result);
  return true;
}

bool ptx_translate_narrow(ptx_statement *s, const ptx_instruction *i) {
  ptx_source x = {.s = s, .i = i};
  if (i->word_count < 2 || i->operand_count < 2) return false;
  const char *last = i->words[i->word_count - 1];
  if (strcmp(i->words[0], "cvt") == 0)
    return (is_narrow(last, MW_COUNT(names)) || is_narrow(i->words[i->word_count - 2], MW_COUNT(names))) && convert(&x);
  return is_narrow(last, 2) && compute(&x);
}
