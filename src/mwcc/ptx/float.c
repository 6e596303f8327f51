/* Inline PTX: floating-point arithmetic in all roundings, approximate functions, conversions (PTX ISA 8.0, chapters
 * 9.7.3, 9.7.4 and 9.7.9.21).
 *
 * Instructions without a counterpart in LLVM call functions of the device headers, which are named after them
 * (moonwarp/ptx_functions.h). Subnormal numbers are preserved, except with .ftz. */
#include "ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static LLVMValueRef make_intrinsic(const ptx_source *x, const char *name, LLVMTypeRef type, LLVMValueRef *arguments,
                                   unsigned count) {
  return call_intrinsic(x->s->p, x->s->b, name, &type, 1, arguments, count);
}

/* .sat: clamped to [0, 1]; NaN becomes 0. */
static LLVMValueRef saturated(const ptx_source *x, LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  LLVMValueRef arguments[2] = {value, LLVMConstNull(type)};
  arguments[0] = make_intrinsic(x, "llvm.maxnum", type, arguments, 2);
  arguments[1] = LLVMConstReal(type, 1);
  return make_intrinsic(x, "llvm.minnum", type, arguments, 2);
}

/* The rounding modifier: rz, rm (down) or rp (up); NULL if it is to nearest. */
static const char *direction(const ptx_instruction *i) {
  static const char *const directions[] = {"rz", "rm", "rp"};
  for (size_t n = 0; n < MW_COUNT(directions); n++)
    if (ptx_has_modifier(i, directions[n])) return directions[n];
  return NULL;
}

/* ---- arithmetic ---- */

/* Operations that round to nearest and whose operands all have one type; NULL if it is none of these. */
static LLVMValueRef nearest(const ptx_source *x, LLVMTypeRef type, LLVMValueRef *in) {
  const char *name = x->i->words[0];
  LLVMBuilderRef b = x->s->b;
  switch (x->i->operand_count) {
  case 2:
    if (strcmp(name, "abs") == 0) return make_intrinsic(x, "llvm.fabs", type, in, 1);
    if (strcmp(name, "sqrt") == 0) return make_intrinsic(x, "llvm.sqrt", type, in, 1);
    if (strcmp(name, "neg") == 0) return LLVMBuildFNeg(b, in[0], "");
    if (strcmp(name, "rcp") == 0) return LLVMBuildFDiv(b, LLVMConstReal(type, 1), in[0], "");
    if (strcmp(name, "rsqrt") != 0) return NULL;
    return LLVMBuildFDiv(b, LLVMConstReal(type, 1), make_intrinsic(x, "llvm.sqrt", type, in, 1), "");
  case 3: {
    bool least = strcmp(name, "min") == 0, whole = ptx_has_modifier(x->i, "NaN");
    LLVMValueRef swapped[2] = {in[1], in[0]}; /* PTX: the sign of a and the magnitude of b */
    if (strcmp(name, "add") == 0) return LLVMBuildFAdd(b, in[0], in[1], "");
    if (strcmp(name, "sub") == 0) return LLVMBuildFSub(b, in[0], in[1], "");
    if (strcmp(name, "mul") == 0) return LLVMBuildFMul(b, in[0], in[1], "");
    if (strcmp(name, "div") == 0) return LLVMBuildFDiv(b, in[0], in[1], "");
    if (strcmp(name, "copysign") == 0) return make_intrinsic(x, "llvm.copysign", type, swapped, 2);
    if ((!least && strcmp(name, "max") != 0) || ptx_has_modifier(x->i, "xorsign")) return NULL;
    if (whole) return make_intrinsic(x, least ? "llvm.minimum" : "llvm.maximum", type, in, 2);
    return make_intrinsic(x, least ? "llvm.minnum" : "llvm.maxnum", type, in, 2);
  }
  case 4:
    if (strcmp(name, "fma") == 0 || strcmp(name, "mad") == 0) return make_intrinsic(x, "llvm.fma", type, in, 3);
    return NULL;
  default: return NULL;
  }
}

/* Half precision, computed in double precision. The double result is exact, except for sums of numbers with distant
   exponents, and those round to the same half as the exact sum. */
static LLVMValueRef half_nearest(const ptx_source *x, LLVMValueRef *in) {
  static const char *const known[] = {"abs", "neg", "add", "sub", "mul", "fma", "min", "max"};
  LLVMTypeRef wide = LLVMDoubleTypeInContext(x->s->p->context);
  bool found = false;
  for (size_t n = 0; n < MW_COUNT(known); n++) found = found || strcmp(x->i->words[0], known[n]) == 0;
  if (!found) return NULL;
  for (int n = 0; n + 1 < x->i->operand_count; n++) in[n] = LLVMBuildFPExt(x->s->b, in[n], wide, "");
  LLVMValueRef result = nearest(x, wide, in);
  if (result && ptx_has_modifier(x->i, "sat")) result = saturated(x, result);
  return result ? LLVMBuildFPTrunc(x->s->b, result, x->t.type, "") : NULL;
}

/* Call the headers' function. Its name leaves out modifiers that change no value: add_rz_f32, ex2_approx_f32. */
static LLVMValueRef by_function(const ptx_source *x, const char *kind, LLVMValueRef *in) {
  char *name = mw_format("%s_%s_f%u", x->i->words[0], kind, x->t.bits);
  LLVMValueRef result = ptx_call(x, name, in, (unsigned)x->i->operand_count - 1);
  free(name);
  return result;
}

static bool is_function(const char *name) {
  static const char *const functions[] = {"ex2", "lg2", "sin", "cos", "tanh"};
  for (size_t n = 0; n < MW_COUNT(functions); n++)
    if (strcmp(name, functions[n]) == 0) return true;
  return false;
}

static bool is_rounded(const char *name) {
  static const char *const rounded[] = {"add", "sub", "mul", "div", "fma", "mad", "rcp", "sqrt"};
  for (size_t n = 0; n < MW_COUNT(rounded); n++)
    if (strcmp(name, rounded[n]) == 0) return true;
  return false;
}

/* testp.finite.f32 p, a. Zero is among the normal numbers. */
static bool translate_testp(const ptx_source *x) {
  static const struct {
    const char *name;
    unsigned classes; /* of llvm.is.fpclass */
  } table[] = {{"finite", 0x1f8}, {"infinite", 0x204}, {"number", 0x3fc},
               {"notanumber", 3}, {"normal", 0x168},   {"subnormal", 0x90}};
  for (size_t n = 0; n < MW_COUNT(table); n++) {
    if (!ptx_has_modifier(x->i, table[n].name)) continue;
    LLVMValueRef arguments[2] = {ptx_operand(x, 1), constant_i32(x->s->p, table[n].classes)};
    ptx_result(x, make_intrinsic(x, "llvm.is.fpclass", x->t.type, arguments, 2));
    return true;
  }
  return false;
}

bool ptx_translate_float(const ptx_source *x) {
  const char *name = x->i->words[0], *rounds = direction(x->i);
  LLVMValueRef in[PTX_OPERANDS], result;
  if (strcmp(name, "testp") == 0) return x->i->operand_count == 2 && x->t.bits > 16 && translate_testp(x);
  if (x->i->operand_count < 2 || x->i->operand_count > 4) return false;
  for (int n = 1; n < x->i->operand_count; n++) in[n - 1] = ptx_operand(x, n);
  if (strcmp(name, "mad") == 0 && rounds) return false;
  if (x->t.bits == 16)
    result = rounds ? NULL : half_nearest(x, in);
  else if (is_function(name))
    result = x->t.bits == 32 ? by_function(x, "approx", in) : NULL;
  else if (rounds)
    result = is_rounded(name) ? by_function(x, rounds, in) : NULL;
  else
    result = nearest(x, x->t.type, in);
  if (!result) return false;
  if (ptx_has_modifier(x->i, "sat") && x->t.bits > 16) result = saturated(x, result);
  ptx_result(x, result);
  return true;
}

/* Packed halves, such as fma.rn.f16x2: two numbers in 32 bits. */
bool ptx_translate_halves(const ptx_source *x) {
  LLVMBuilderRef b = x->s->b;
  program *p = x->s->p;
  LLVMTypeRef half = LLVMHalfTypeInContext(p->context), bits = LLVMIntTypeInContext(p->context, 16);
  LLVMValueRef in[PTX_OPERANDS], operands[PTX_OPERANDS], result = constant_i32(p, 0);
  ptx_source one = *x;
  one.t = (ptx_type){.type = half, .bits = 16, .is_float = true};
  if (x->i->operand_count < 2 || x->i->operand_count > 4 || direction(x->i)) return false;
  for (int n = 0; n + 1 < x->i->operand_count; n++) operands[n] = ptx_operand_i32(x, n + 1);
  for (unsigned k = 0; k < 2; k++) {
    LLVMValueRef place = constant_i32(p, 16 * k);
    for (int n = 0; n + 1 < x->i->operand_count; n++) {
      in[n] = LLVMBuildTrunc(b, LLVMBuildLShr(b, operands[n], place, ""), bits, "");
      in[n] = LLVMBuildBitCast(b, in[n], half, "");
    }
    LLVMValueRef element = half_nearest(&one, in);
    if (!element) return false;
    element = LLVMBuildZExt(b, LLVMBuildBitCast(b, element, bits, ""), p->i32, "");
    result = LLVMBuildOr(b, result, LLVMBuildShl(b, element, place, ""), "");
  }
  ptx_result(x, result);
  return true;
}

/* ---- conversions ---- */

/* The intrinsic for .rni, .rzi, .rmi or .rpi, or NULL. */
static const char *whole_rounding(const ptx_instruction *i) {
  return ptx_has_modifier(i, "rni")   ? "llvm.rint"
         : ptx_has_modifier(i, "rzi") ? "llvm.trunc"
         : ptx_has_modifier(i, "rmi") ? "llvm.floor"
         : ptx_has_modifier(i, "rpi") ? "llvm.ceil"
                                      : NULL;
}

/* .sat: an integer clamped to the range of another type. */
static LLVMValueRef clamped(const ptx_source *x, LLVMValueRef value, const ptx_type *to) {
  program *p = x->s->p;
  value = LLVMBuildIntCast2(x->s->b, value, p->i64, x->t.is_signed, "");
  unsigned bits = to->bits - to->is_signed;
  uint64_t most = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
  LLVMValueRef arguments[2] = {value, constant_i64(p, to->is_signed ? -most - 1 : 0)};
  if (x->t.is_signed) arguments[0] = make_intrinsic(x, "llvm.smax", p->i64, arguments, 2);
  arguments[1] = constant_i64(p, most);
  bool is_signed = x->t.is_signed && bits < 64;
  return make_intrinsic(x, is_signed ? "llvm.smin" : "llvm.umin", p->i64, arguments, 2);
}

static LLVMValueRef to_integer(const ptx_source *x, LLVMValueRef value, const ptx_type *to) {
  LLVMBuilderRef b = x->s->b;
  const char *whole = whole_rounding(x->i);
  if (x->t.is_float) {
    if (!whole) return NULL;
    LLVMTypeRef type = x->t.bits == 16 ? LLVMFloatTypeInContext(x->s->p->context) : x->t.type;
    if (x->t.bits == 16) value = LLVMBuildFPExt(b, value, type, "");
    value = make_intrinsic(x, whole, type, &value, 1);
    return to->is_signed ? LLVMBuildFPToSI(b, value, to->type, "") : LLVMBuildFPToUI(b, value, to->type, "");
  }
  if (whole || direction(x->i)) return NULL;
  if (!ptx_has_modifier(x->i, "sat")) return LLVMBuildIntCast2(b, value, to->type, x->t.is_signed, "");
  return LLVMBuildIntCast2(b, clamped(x, value, to), to->type, 0, "");
}

static LLVMValueRef to_float(const ptx_source *x, LLVMValueRef value, const ptx_type *to) {
  LLVMBuilderRef b = x->s->b;
  const char *whole = whole_rounding(x->i), *rounds = direction(x->i);
  bool narrows = x->t.is_float ? to->bits < x->t.bits : to->bits < 64 || x->t.bits == 64;
  if (rounds && narrows && to->bits > 16 && x->t.bits >= 32) {
    char name[64];
    snprintf(name, sizeof name, "cvt_%s_f%u_%c%u", rounds, to->bits, "usf"[x->t.is_float ? 2 : x->t.is_signed],
             x -> t.bits);
    return ptx_call(x, name, &value, 1);
  }
  if (rounds && (to->bits == 16 || narrows != !x->t.is_float)) return NULL;
  if (!x->t.is_float)
    return x->t.is_signed ? LLVMBuildSIToFP(b, value, to->type, "") : LLVMBuildUIToFP(b, value, to->type, "");
  if (whole && (x->t.bits != to->bits || to->bits == 16)) return NULL;
  if (whole) return make_intrinsic(x, whole, to->type, &value, 1);
  return x->t.bits == to->bits ? value : LLVMBuildFPCast(b, value, to->type, "");
}

/* cvt.to.from, in all roundings */
bool ptx_translate_cvt(const ptx_source *x) {
  ptx_type to;
  if (x->i->word_count < 3 || !ptx_type_of(x->s, x->i->words[x->i->word_count - 2], &to)) return false;
  if (ptx_has_modifier(x->i, "relu") || to.bits == 1 || x->t.bits == 1) return false;
  LLVMValueRef value = ptx_operand(x, 1);
  value = to.is_float ? to_float(x, value, &to) : to_integer(x, value, &to);
  if (!value) return false;
  if (ptx_has_modifier(x->i, "sat") && to.is_float) value = saturated(x, value);
  if (!to.is_float && to.is_signed && to.bits < 64) value = LLVMBuildSExt(x->s->b, value, x->s->p->i64, "");
  ptx_result(x, value);
  return true;
}
