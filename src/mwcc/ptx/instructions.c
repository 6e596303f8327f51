/* Inline PTX: special registers, moves, comparisons and selections, and the dispatch by an instruction's name (PTX ISA
 * 8.0, chapter 9). integer.c, float.c, memory.c and warp.c hold the other instructions.
 *
 * Divisions and conversions become LLVM's own instructions; where their result is undefined in LLVM, the next pass,
 * retarget, gives them CUDA's. */
#include "ptx.h"

#include <stdio.h>
#include <string.h>

/* ---- special registers ---- */

static LLVMValueRef read_register(ptx_statement *s, const char *name) {
  return call_intrinsic(s->p, s->b, name, NULL, 0, NULL, 0);
}

LLVMValueRef ptx_special(ptx_statement *s, const char *name) {
  static const char *const plain[][2] = {
      {"%tid.x", "tid.x"},       {"%tid.y", "tid.y"},       {"%tid.z", "tid.z"},
      {"%ntid.x", "ntid.x"},     {"%ntid.y", "ntid.y"},     {"%ntid.z", "ntid.z"},
      {"%ctaid.x", "ctaid.x"},   {"%ctaid.y", "ctaid.y"},   {"%ctaid.z", "ctaid.z"},
      {"%nctaid.x", "nctaid.x"}, {"%nctaid.y", "nctaid.y"}, {"%nctaid.z", "nctaid.z"},
      {"%laneid", "laneid"},     {"%warpid", "warpid"},     {"%nwarpid", "nwarpid"},
      {"%clock", "clock"},       {"%clock64", "clock64"},   {"%globaltimer", "globaltimer"}};
  char full[64];
  for (size_t i = 0; i < MW_COUNT(plain); i++) {
    if (strcmp(name, plain[i][0]) != 0) continue;
    snprintf(full, sizeof full, "llvm.nvvm.read.ptx.sreg.%s", plain[i][1]);
    return read_register(s, full);
  }
  if (strcmp(name, "WARP_SZ") == 0) return constant_i32(s->p, 32);
  /* To kernels, the CPU device is one multiprocessor: which worker runs a block is not observable. */
  if (strcmp(name, "%smid") == 0) return constant_i32(s->p, 0);
  if (strcmp(name, "%nsmid") == 0) return constant_i32(s->p, 1);
  bool high = strcmp(name, "%clock_hi") == 0 || strcmp(name, "%globaltimer_hi") == 0;
  if (high || strcmp(name, "%globaltimer_lo") == 0) {
    LLVMValueRef time = read_register(s, "llvm.nvvm.read.ptx.sreg.clock64");
    if (high) time = LLVMBuildLShr(s->b, time, constant_i64(s->p, 32), "");
    return LLVMBuildTrunc(s->b, time, s->p->i32, "");
  }
  LLVMValueRef of_cluster = ptx_cluster_register(s, name);
  if (of_cluster) return of_cluster;
  /* below: 2^lane - 1; at: 2^lane */
  static const char *const masks[] = {"%lanemask_eq", "%lanemask_lt", "%lanemask_le", "%lanemask_gt", "%lanemask_ge"};
  for (size_t i = 0; i < MW_COUNT(masks); i++) {
    if (strcmp(name, masks[i]) != 0) continue;
    LLVMValueRef one = constant_i32(s->p, 1), lane = read_register(s, "llvm.nvvm.read.ptx.sreg.laneid");
    LLVMValueRef at = LLVMBuildShl(s->b, one, lane, ""), below = LLVMBuildSub(s->b, at, one, "");
    if (i == 0) return at;
    if (i == 1) return below;
    LLVMValueRef up_to = LLVMBuildOr(s->b, below, at, "");
    if (i == 2) return up_to;
    return LLVMBuildNot(s->b, i == 3 ? up_to : below, "");
  }
  return NULL;
}

/* ---- moves, comparisons, conversions ---- */

/* mov.b64 {low, high}, x and mov.b64 x, {low, high}, with two or four elements. */
static bool translate_elements(const ptx_source *x) {
  bool packs = x->i->operands[1][0] == '{';
  const char *list = x->i->operands[packs ? 1 : 0];
  char names[PTX_ELEMENTS][PTX_NAME];
  int count = ptx_elements(list, names);
  LLVMBuilderRef b = x->s->b;
  if ((count != 2 && count != 4) || x->t.is_float || x->t.bits / (unsigned)count < 8) return false;
  unsigned size = x->t.bits / (unsigned)count;
  LLVMTypeRef part = LLVMIntTypeInContext(x->s->p->context, size);
  LLVMValueRef whole = packs ? ptx_number(x, 0) : ptx_operand(x, 1);
  for (int n = 0; n < count; n++) {
    LLVMValueRef shift = ptx_number(x, size * (unsigned)n);
    if (packs) {
      LLVMValueRef element = LLVMBuildZExt(b, ptx_read(x->s, names[n], part), x->t.type, "");
      whole = LLVMBuildOr(b, whole, LLVMBuildShl(b, element, shift, ""), "");
    } else {
      ptx_write(x->s, names[n], LLVMBuildTrunc(b, LLVMBuildLShr(b, whole, shift, ""), part, ""));
    }
  }
  if (packs) ptx_result(x, whole);
  return true;
}

/* Comparisons of floating-point numbers are ordered (false for NaN), unless their names end in u. */
static bool compare(const ptx_source *x, const char *name, LLVMValueRef a, LLVMValueRef b, LLVMValueRef *out) {
  static const struct {
    const char *name;
    LLVMIntPredicate is_unsigned, is_signed;
    LLVMRealPredicate real;
  } table[] = {{"eq", LLVMIntEQ, LLVMIntEQ, LLVMRealOEQ},
               {"ne", LLVMIntNE, LLVMIntNE, LLVMRealONE},
               {"lt", LLVMIntULT, LLVMIntSLT, LLVMRealOLT},
               {"le", LLVMIntULE, LLVMIntSLE, LLVMRealOLE},
               {"gt", LLVMIntUGT, LLVMIntSGT, LLVMRealOGT},
               {"ge", LLVMIntUGE, LLVMIntSGE, LLVMRealOGE},
               {"lo", LLVMIntULT, LLVMIntULT, 0},
               {"ls", LLVMIntULE, LLVMIntULE, 0},
               {"hi", LLVMIntUGT, LLVMIntUGT, 0},
               {"hs", LLVMIntUGE, LLVMIntUGE, 0},
               {"equ", 0, 0, LLVMRealUEQ},
               {"neu", 0, 0, LLVMRealUNE},
               {"ltu", 0, 0, LLVMRealULT},
               {"leu", 0, 0, LLVMRealULE},
               {"gtu", 0, 0, LLVMRealUGT},
               {"geu", 0, 0, LLVMRealUGE},
               {"num", 0, 0, LLVMRealORD},
               {"nan", 0, 0, LLVMRealUNO}};
  for (size_t n = 0; n < MW_COUNT(table); n++) {
    if (strcmp(name, table[n].name) != 0) continue;
    if (x->t.is_float ? !table[n].real : !table[n].is_signed) return false;
    LLVMIntPredicate whole = x->t.is_signed ? table[n].is_signed : table[n].is_unsigned;
    *out = x->t.is_float ? LLVMBuildFCmp(x->s->b, table[n].real, a, b, "") : LLVMBuildICmp(x->s->b, whole, a, b, "");
    return true;
  }
  return false;
}

/* A predicate "p", or a negated one "!p". */
static LLVMValueRef read_predicate(const ptx_source *x, const char *name) {
  LLVMValueRef value = ptx_read(x->s, name + (*name == '!'), x->s->p->i1);
  return *name == '!' ? LLVMBuildNot(x->s->b, value, "") : value;
}

static bool combine(const ptx_source *x, const char *how, LLVMValueRef a, LLVMValueRef b, LLVMValueRef *out) {
  if (strcmp(how, "and") == 0)
    *out = LLVMBuildAnd(x->s->b, a, b, "");
  else if (strcmp(how, "or") == 0)
    *out = LLVMBuildOr(x->s->b, a, b, "");
  else if (strcmp(how, "xor") == 0)
    *out = LLVMBuildXor(x->s->b, a, b, "");
  else
    return false;
  return true;
}

/* setp.lt.s32 p, a, b. With .and, .or or .xor, the result is combined with a fourth operand. p|q: q is the result of
   the opposite comparison, likewise combined. */
static bool translate_setp(const ptx_source *x, int types) {
  int n = x->i->operand_count - 3, words = x->i->word_count - ptx_has_modifier(x->i, "ftz") - types + 1;
  LLVMValueRef result, opposite;
  char first[PTX_NAME], second[PTX_NAME];
  if (n < 0 || n > 1 || words != 3 + n) return false;
  if (!compare(x, x->i->words[1], ptx_operand(x, 1), ptx_operand(x, 2), &result)) return false;
  opposite = LLVMBuildNot(x->s->b, result, "");
  if (n) {
    LLVMValueRef other = read_predicate(x, x->i->operands[3]);
    if (!combine(x, x->i->words[2], result, other, &result) || !combine(x, x->i->words[2], opposite, other, &opposite))
      return false;
  }
  if (types == 2) { /* set: true is all bits set, or 1.0 */
    ptx_type to;
    if (!ptx_type_of(x->s, x->i->words[x->i->word_count - 2], &to)) return false;
    LLVMValueRef yes = to.is_float ? LLVMConstReal(to.type, 1) : LLVMConstAllOnes(to.type);
    ptx_result(x, LLVMBuildSelect(x->s->b, result, yes, LLVMConstNull(to.type), ""));
    return true;
  }
  ptx_pair(x->i->operands[0], first, second);
  ptx_write(x->s, first, result);
  if (*second) ptx_write(x->s, second, opposite);
  return true;
}

/* slct: a where c is not negative, else b */
static bool translate_slct(const ptx_source *x) {
  ptx_type type;
  LLVMBuilderRef b = x->s->b;
  bool real = strcmp(x->i->words[x->i->word_count - 1], "f32") == 0;
  if (!ptx_type_of(x->s, x->i->words[x->i->word_count - 2], &type) || x->t.bits != 32) return false;
  LLVMValueRef by = ptx_operand(x, 3), zero = LLVMConstNull(x->t.type);
  LLVMValueRef positive =
      real ? LLVMBuildFCmp(b, LLVMRealOGE, by, zero, "") : LLVMBuildICmp(b, LLVMIntSGE, by, zero, "");
  LLVMValueRef left = ptx_read(x->s, x->i->operands[1], type.type),
               right = ptx_read(x->s, x->i->operands[2], type.type);
  ptx_result(x, LLVMBuildSelect(b, positive, left, right, ""));
  return true;
}

static bool translate_selp(const ptx_source *x) {
  LLVMValueRef predicate = read_predicate(x, x->i->operands[3]);
  ptx_result(x, LLVMBuildSelect(x->s->b, predicate, ptx_operand(x, 1), ptx_operand(x, 2), ""));
  return true;
}

/* ---- by name ---- */

bool ptx_translate(ptx_statement *s, const ptx_instruction *i) {
  const char *name = i->words[0];
  int operands = i->operand_count;
  if (ptx_translate_cluster(s, i) || ptx_translate_async(s, i) || ptx_translate_effect(s, i) ||
      ptx_translate_video(s, i) || ptx_translate_tensor(s, i))
    return true;
  if (ptx_translate_narrow(s, i)) return true;
  ptx_source x = {.s = s, .i = i};
  if (i->word_count > 1 && strcmp(i->words[i->word_count - 1], "f16x2") == 0) return ptx_translate_halves(&x);
  int last = strcmp(name, "prmt") == 0 ? 1 : i->word_count - 1; /* prmt's mode follows its type */
  if (i->word_count < 2 || operands < 1 || !ptx_type_of(s, i->words[last], &x.t)) return false;
#define IS(text, count) (strcmp(name, text) == 0 && operands == (count))
  if (IS("mov", 2) && (i->operands[0][0] == '{' || i->operands[1][0] == '{')) return translate_elements(&x);
  if (IS("mov", 2) || IS("cvta", 2)) return ptx_result(&x, ptx_operand(&x, 1)), true;
  if (IS("cvt", 2)) return ptx_translate_cvt(&x);
  if (strcmp(name, "setp") == 0) return translate_setp(&x, 1);
  if (strcmp(name, "set") == 0) return i->word_count > 3 && translate_setp(&x, 2);
  if (IS("slct", 4)) return translate_slct(&x);
  if (IS("selp", 4)) return translate_selp(&x);
#undef IS
  return ptx_translate_memory(&x) || ptx_translate_warp(&x) || ptx_translate_number(&x);
}
