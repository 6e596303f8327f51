/* Video instructions in inline PTX (PTX ISA 8.0, chapters 9.7.17 and 9.7.18): arithmetic of one element, two halves or
 * four bytes of 32-bit registers, at full precision, with saturation to the result's type and a second operation.
 *
 *   vabsdiff4.u32.s32.s32.add d, a, b, c;     d = c + the sum of |a.i - b.i| over four signed bytes
 *
 * Elements are extended to a type in which no operation overflows: 64 bits for whole registers, 32 for the others. */
#include "ptx.h"

#include <string.h>

typedef struct video {
  const ptx_source *x;
  LLVMTypeRef type;   /* of the arithmetic */
  const char *name;   /* "vadd" of vadd4 */
  unsigned elements;  /* 1, 2 or 4 */
  unsigned bits;      /* of an element */
  bool is_signed[3];  /* the result, a and b */
  const char *second; /* "add", "min", "max", "shr7" …, or NULL */
  const char *mode;   /* a comparison, or how a shift's amount is limited */
  bool saturates, plus_one;
} video;

static LLVMValueRef number(const video *v, long long value) {
  return LLVMConstInt(v->type, (unsigned long long)value, 1);
}

static LLVMValueRef chosen(const video *v, LLVMIntPredicate condition, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(v->x->s->b, LLVMBuildICmp(v->x->s->b, condition, a, b, ""), a, b, "");
}

/* `bits` bits of a register from `shift` on, extended. */
static LLVMValueRef field(const video *v, LLVMValueRef whole, unsigned shift, unsigned bits, bool is_signed) {
  LLVMBuilderRef b = v->x->s->b;
  LLVMTypeRef narrow = LLVMIntTypeInContext(v->x->s->p->context, bits);
  LLVMValueRef moved = shift ? LLVMBuildLShr(b, whole, constant_i32(v->x->s->p, shift), "") : whole;
  moved = bits < 32 ? LLVMBuildTrunc(b, moved, narrow, "") : moved;
  return LLVMBuildIntCast2(b, moved, v->type, is_signed, "");
}

/* The operand's name without its selector (.b2, .h1), and the bits that this selects. */
static bool select_bits(const video *v, int n, char name[PTX_NAME], unsigned *shift, unsigned *bits) {
  strcpy(name, v->x->i->operands[n]);
  char *selector = strchr(name, '.');
  *shift = 0;
  *bits = 32;
  if (!selector) return true;
  if ((selector[1] != 'b' && selector[1] != 'h') || !selector[2] || selector[3]) return false;
  *bits = selector[1] == 'b' ? 8 : 16;
  *shift = (unsigned)(selector[2] - '0') * *bits;
  *selector = 0;
  return *shift < 32;
}

/* Operand n, extended; vmad's may be negated. */
static LLVMValueRef operand(const video *v, int n) {
  char name[PTX_NAME];
  unsigned shift, bits;
  if (!select_bits(v, n, name, &shift, &bits)) return NULL;
  bool negated = *name == '-' && strcmp(v->name, "vmad") == 0;
  LLVMValueRef whole = ptx_read(v->x->s, name + negated, v->x->s->p->i32);
  LLVMValueRef value = field(v, whole, shift, bits, v->is_signed[n < 3 ? n : 0]);
  return negated ? LLVMBuildNeg(v->x->s->b, value, "") : value;
}

static LLVMIntPredicate comparison(const char *name) {
  static const struct {
    const char *name;
    LLVMIntPredicate condition;
  } table[] = {{"eq", LLVMIntEQ},  {"ne", LLVMIntNE},  {"lt", LLVMIntSLT},
               {"le", LLVMIntSLE}, {"gt", LLVMIntSGT}, {"ge", LLVMIntSGE}};
  for (size_t n = 0; n < MW_COUNT(table); n++)
    if (strcmp(name, table[n].name) == 0) return table[n].condition;
  return (LLVMIntPredicate)0;
}

static LLVMValueRef shifted(const video *v, LLVMValueRef a, LLVMValueRef by) {
  LLVMBuilderRef b = v->x->s->b;
  if (strcmp(v->mode, "wrap") == 0)
    by = LLVMBuildAnd(b, by, number(v, 31), "");
  else
    by = chosen(v, LLVMIntULT, by, number(v, 32));
  if (strcmp(v->name, "vshl") == 0) return LLVMBuildShl(b, a, by, "");
  return v->is_signed[1] ? LLVMBuildAShr(b, a, by, "") : LLVMBuildLShr(b, a, by, "");
}

/* The operation of two elements; NULL: there is none of that name. */
static LLVMValueRef operation(const video *v, LLVMValueRef left, LLVMValueRef right) {
  LLVMBuilderRef b = v->x->s->b;
  const char *name = v->name;
  if (strcmp(name, "vadd") == 0) return LLVMBuildAdd(b, left, right, "");
  if (strcmp(name, "vsub") == 0) return LLVMBuildSub(b, left, right, "");
  if (strcmp(name, "vmin") == 0) return chosen(v, LLVMIntSLT, left, right);
  if (strcmp(name, "vmax") == 0) return chosen(v, LLVMIntSGT, left, right);
  if (strcmp(name, "vmad") == 0) return LLVMBuildMul(b, left, right, "");
  if (strcmp(name, "vshl") == 0 || strcmp(name, "vshr") == 0) return shifted(v, left, right);
  if (strcmp(name, "vabsdiff") == 0) {
    LLVMValueRef difference = LLVMBuildSub(b, left, right, "");
    return chosen(v, LLVMIntSGT, difference, LLVMBuildNeg(b, difference, ""));
  }
  if (strcmp(name, "vavrg") == 0) { /* halves are rounded away from zero */
    LLVMValueRef sum = LLVMBuildAdd(b, left, right, "");
    LLVMValueRef up = LLVMBuildZExt(b, LLVMBuildICmp(b, LLVMIntSGE, sum, number(v, 0), ""), v->type, "");
    return LLVMBuildAShr(b, LLVMBuildAdd(b, sum, up, ""), number(v, 1), "");
  }
  if (strcmp(name, "vset") != 0) return NULL;
  return LLVMBuildZExt(b, LLVMBuildICmp(b, comparison(v->mode), left, right, ""), v->type, "");
}

static LLVMValueRef saturated(const video *v, LLVMValueRef value) {
  if (!v->saturates) return value;
  long long span = 1ll << v->bits, least = v->is_signed[0] ? -span / 2 : 0;
  value = chosen(v, LLVMIntSGT, value, number(v, least));
  return chosen(v, LLVMIntSLT, value, number(v, least + span - 1));
}

static LLVMValueRef combined(const video *v, LLVMValueRef value, LLVMValueRef c) {
  LLVMIntPredicate least = v->is_signed[0] ? LLVMIntSLT : LLVMIntULT, most = v->is_signed[0] ? LLVMIntSGT : LLVMIntUGT;
  if (strcmp(v->second, "min") == 0) return chosen(v, least, value, c);
  if (strcmp(v->second, "max") == 0) return chosen(v, most, value, c);
  return LLVMBuildAdd(v->x->s->b, value, c, "");
}

/* The result as a part of operand 3, whose other bits stay: vadd.s32.s32.s32 d.b1, a, b, c. */
static LLVMValueRef merged(const video *v, LLVMValueRef value, unsigned shift, unsigned bits) {
  LLVMBuilderRef b = v->x->s->b;
  if (v->x->i->operand_count != 4 || v->second) return NULL;
  LLVMValueRef rest = ptx_read(v->x->s, v->x->i->operands[3], v->x->s->p->i32);
  long long part = ((1ll << bits) - 1) << shift;
  value = LLVMBuildAnd(b, LLVMBuildShl(b, value, number(v, shift), ""), number(v, part), "");
  rest = LLVMBuildAnd(b, LLVMBuildZExt(b, rest, v->type, ""), number(v, ~part), "");
  return LLVMBuildOr(b, value, rest, "");
}

/* vmad: a * b + c, and 1 more with .po, shifted down. */
static LLVMValueRef product_and_sum(const video *v, LLVMValueRef product, LLVMValueRef c) {
  LLVMBuilderRef b = v->x->s->b;
  LLVMValueRef value = LLVMBuildAdd(b, product, c, "");
  if (v->plus_one) value = LLVMBuildAdd(b, value, number(v, 1), "");
  long long down = !v->second ? 0 : strcmp(v->second, "shr7") == 0 ? 7 : 15;
  return down ? LLVMBuildAShr(b, value, number(v, down), "") : value;
}

/* One element: vadd.s32.u32.s32.sat.max d, a.b0, b, c. Returns NULL if it is not written so. */
static LLVMValueRef scalar(video *v, char target[PTX_NAME]) {
  program *p = v->x->s->p;
  LLVMBuilderRef b = v->x->s->b;
  int count = v->x->i->operand_count;
  unsigned shift, bits;
  if (!select_bits(v, 0, target, &shift, &bits)) return NULL;
  v->bits = bits;
  LLVMValueRef left = operand(v, 1), right = operand(v, 2), third = count == 4 ? operand(v, 3) : NULL;
  if (!left || !right || (count == 4 && !third)) return NULL;
  LLVMValueRef value = operation(v, left, right);
  if (!value) return NULL;
  if (strcmp(v->name, "vmad") == 0) return third && bits == 32 ? saturated(v, product_and_sum(v, value, third)) : NULL;
  value = saturated(v, value);
  if (bits < 32) return merged(v, value, shift, bits);
  if (!v->second) return count == 3 ? value : NULL;
  value = LLVMBuildIntCast2(b, LLVMBuildTrunc(b, value, p->i32, ""), v->type, v->is_signed[0], "");
  return third ? combined(v, value, third) : NULL;
}

/* An operand's name without its selector. from[e]: the number of the element of { a, b } from which element e is taken;
   without a selector, that of a or b itself. */
static bool select_elements(const video *v, int n, char name[PTX_NAME], unsigned from[4]) {
  strcpy(name, v->x->i->operands[n]);
  char *selector = strchr(name, '.');
  for (unsigned e = 0; e < v->elements; e++) from[e] = e + (n == 2 ? v->elements : 0);
  if (!selector) return true;
  if (selector[1] != (v->elements == 2 ? 'h' : 'b') || strlen(selector + 2) != v->elements) return false;
  for (unsigned e = 0; e < v->elements; e++) {
    from[e] = (unsigned)(selector[1 + v->elements - e] - '0');
    if (from[e] >= 2 * v->elements) return false;
  }
  *selector = 0;
  return true;
}

/* The elements that are written, as bits: all of them, or those that the selector names. */
static unsigned written(const video *v, char name[PTX_NAME]) {
  unsigned mask = 0;
  strcpy(name, v->x->i->operands[0]);
  char *selector = strchr(name, '.');
  if (!selector) return (1u << v->elements) - 1;
  for (const char *at = selector + 2; selector[1] && *at; at++) mask |= 1u << ((unsigned)(*at - '0') & 3);
  *selector = 0;
  return mask;
}

/* Two or four elements: they replace those of c, or (.add) are added to it. */
static LLVMValueRef packed(const video *v, char target[PTX_NAME]) {
  program *p = v->x->s->p;
  LLVMBuilderRef b = v->x->s->b;
  bool adds = v->second && strcmp(v->second, "add") == 0;
  unsigned from[3][4], mask = written(v, target);
  char name[PTX_NAME];
  LLVMValueRef in[3], whole = ptx_operand_i32(v->x, 3);
  if (v->x->i->operand_count != 4 || (v->second && !adds) || (adds && v->saturates)) return NULL;
  for (int n = 1; n < 3; n++) {
    if (!select_elements(v, n, name, from[n])) return NULL;
    in[n] = ptx_read(v->x->s, name, p->i32);
  }
  for (unsigned e = 0; e < v->elements; e++) {
    LLVMValueRef element[3];
    if (!(mask >> e & 1)) continue;
    for (int n = 1; n < 3; n++)
      element[n] =
          field(v, in[1 + from[n][e] / v->elements], from[n][e] % v->elements * v->bits, v->bits, v->is_signed[n]);
    LLVMValueRef value = operation(v, element[1], element[2]);
    if (!value) return NULL;
    value = saturated(v, value);
    if (adds) {
      whole = LLVMBuildAdd(b, whole, value, "");
      continue;
    }
    long long part = (1ll << v->bits) - 1;
    value = LLVMBuildAnd(b, value, number(v, part), "");
    whole = LLVMBuildAnd(b, whole, number(v, ~(part << (e * v->bits))), "");
    whole = LLVMBuildOr(b, whole, LLVMBuildShl(b, value, number(v, e * v->bits), ""), "");
  }
  return whole;
}

/* The words after the name: types, then modifiers. */
static bool read_parts(video *v, const ptx_instruction *i) {
  static const char *const seconds[] = {"add", "min", "max", "shr7", "shr15"};
  bool compares = strcmp(v->name, "vset") == 0, shifts = strcmp(v->name, "vshl") == 0 || strcmp(v->name, "vshr") == 0;
  int first = compares ? 1 : 0, n = 1; /* a comparison has no type of a result: it is u32 */
  for (int t = first; t < 3; t++, n++) {
    const char *type = n < i->word_count ? i->words[n] : "";
    if (strcmp(type, "s32") != 0 && strcmp(type, "u32") != 0) return false;
    v->is_signed[t] = *type == 's';
  }
  for (; n < i->word_count; n++) {
    const char *modifier = i->words[n];
    if (strcmp(modifier, "sat") == 0) {
      v->saturates = true;
    } else if (strcmp(modifier, "po") == 0 && strcmp(v->name, "vmad") == 0) {
      v->plus_one = true;
    } else if (shifts && !v->mode && (strcmp(modifier, "clamp") == 0 || strcmp(modifier, "wrap") == 0)) {
      v->mode = modifier;
    } else if (compares && !v->mode && comparison(modifier)) {
      v->mode = modifier;
    } else {
      for (size_t k = 0; k < MW_COUNT(seconds); k++)
        if (strcmp(modifier, seconds[k]) == 0 && (k < 3) == (strcmp(v->name, "vmad") != 0)) v->second = seconds[k];
      if (!v->second || strcmp(v->second, modifier) != 0) return false;
    }
  }
  return !(compares || shifts) || v->mode;
}

bool ptx_translate_video(ptx_statement *s, const ptx_instruction *i) {
  static const char *const names[] = {"vadd",  "vsub", "vabsdiff", "vmin", "vmax",
                                      "vavrg", "vset", "vshl",     "vshr", "vmad"};
  enum { PACKED = 7 }; /* of which there are forms of halves and bytes */
  ptx_source x = {.s = s, .i = i};
  video v = {.x = &x, .bits = 32, .elements = 1};
  for (size_t n = 0; n < MW_COUNT(names); n++) {
    size_t length = strlen(names[n]);
    const char *rest = i->words[0] + length;
    if (strncmp(i->words[0], names[n], length) != 0) continue;
    if (*rest && (n >= PACKED || rest[1] || (*rest != '2' && *rest != '4'))) continue;
    if (!*rest && strcmp(names[n], "vavrg") == 0) continue;
    v.name = names[n];
    if (*rest) v.elements = (unsigned)(*rest - '0');
    v.bits = 32 / v.elements;
  }
  if (!v.name || i->operand_count < 3 || i->operand_count > 4 || !read_parts(&v, i)) return false;
  v.type = v.elements == 1 ? s->p->i64 : s->p->i32;
  char target[PTX_NAME];
  LLVMValueRef value = v.elements == 1 ? scalar(&v, target) : packed(&v, target);
  if (!value) return false;
  ptx_write(s, target, v.elements == 1 ? LLVMBuildTrunc(s->b, value, s->p->i32, "") : value);
  return true;
}
