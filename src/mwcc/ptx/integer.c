/* Inline PTX: integer arithmetic, logic and bit fields (PTX ISA 8.0, chapter 9.7). */
#include "ptx.h"

#include <stdlib.h>
#include <string.h>

/* ---- helpers ---- */

/* .ftz: a subnormal number of 32 bits, as operand or result, is a zero of the same sign. */
static LLVMValueRef flushed(const ptx_source *x, LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  if (LLVMGetTypeKind(type) != LLVMFloatTypeKind || !ptx_has_modifier(x->i, "ftz")) return value;
  LLVMValueRef least = LLVMConstReal(type, 0x1p-126), zero[2] = {LLVMConstReal(type, 0), value};
  LLVMValueRef size = call_intrinsic(x->s->p, x->s->b, "llvm.fabs", &type, 1, &value, 1);
  LLVMValueRef signed_zero = call_intrinsic(x->s->p, x->s->b, "llvm.copysign", &type, 1, zero, 2);
  LLVMValueRef tiny = LLVMBuildFCmp(x->s->b, LLVMRealOLT, size, least, "");
  return LLVMBuildSelect(x->s->b, tiny, signed_zero, value, "");
}

LLVMValueRef ptx_operand(const ptx_source *x, int n) {
  return flushed(x, ptx_read(x->s, x->i->operands[n], x->t.type));
}
LLVMValueRef ptx_operand_i32(const ptx_source *x, int n) { return ptx_read(x->s, x->i->operands[n], x->s->p->i32); }
void ptx_result(const ptx_source *x, LLVMValueRef value) { ptx_write(x->s, x->i->operands[0], flushed(x, value)); }
LLVMValueRef ptx_number(const ptx_source *x, uint64_t value) { return LLVMConstInt(x->t.type, value, 0); }

static LLVMValueRef make_intrinsic(const ptx_source *x, const char *name, LLVMTypeRef type, LLVMValueRef *arguments,
                                   unsigned count) {
  return call_intrinsic(x->s->p, x->s->b, name, &type, type ? 1 : 0, arguments, count);
}

/* The product in twice as many bits. */
static LLVMValueRef long_product(const ptx_source *x, LLVMValueRef a, LLVMValueRef b) {
  LLVMBuilderRef build = x->s->b;
  LLVMTypeRef twice = LLVMIntTypeInContext(x->s->p->context, 2 * x->t.bits);
  a = LLVMBuildIntCast2(build, a, twice, x->t.is_signed, "");
  b = LLVMBuildIntCast2(build, b, twice, x->t.is_signed, "");
  return LLVMBuildMul(build, a, b, "");
}

static LLVMValueRef upper_half(const ptx_source *x, LLVMValueRef product) {
  LLVMValueRef amount = LLVMConstInt(LLVMTypeOf(product), x->t.bits, 0);
  return LLVMBuildTrunc(x->s->b, LLVMBuildLShr(x->s->b, product, amount, ""), x->t.type, "");
}

/* mul and mad; `addend` is the operand that is added, or 0. */
static bool translate_product(const ptx_source *x, int addend) {
  LLVMBuilderRef b = x->s->b;
  LLVMValueRef left = ptx_operand(x, 1), right = ptx_operand(x, 2), product;
  if (x->t.is_float) return false;
  if (ptx_has_modifier(x->i, "wide")) {
    product = long_product(x, left, right);
    if (addend) product = LLVMBuildAdd(b, product, ptx_read(x->s, x->i->operands[addend], LLVMTypeOf(product)), "");
    ptx_result(x, product);
    return true;
  }
  if (ptx_has_modifier(x->i, "hi"))
    product = upper_half(x, long_product(x, left, right));
  else if (ptx_has_modifier(x->i, "lo"))
    product = LLVMBuildMul(b, left, right, "");
  else
    return false;
  LLVMValueRef arguments[2] = {product, addend ? ptx_operand(x, addend) : NULL};
  if (ptx_has_modifier(x->i, "sat")) { /* mad.hi.sat.s32 */
    if (!addend || !x->t.is_signed || x->t.bits != 32 || !ptx_has_modifier(x->i, "hi")) return false;
    ptx_result(x, make_intrinsic(x, "llvm.sadd.sat", x->t.type, arguments, 2));
  } else {
    ptx_result(x, addend ? LLVMBuildAdd(b, product, arguments[1], "") : product);
  }
  return true;
}

/* mul24 and mad24 multiply the operands' low 24 bits: .lo takes the low 32 of the 48 result bits, .hi the high 32. */
static bool translate_product_24(const ptx_source *x, int addend) {
  LLVMBuilderRef b = x->s->b;
  bool high = ptx_has_modifier(x->i, "hi");
  LLVMValueRef in[2];
  if (x->t.bits != 32 || x->t.is_float || ptx_has_modifier(x->i, "sat") || (!high && !ptx_has_modifier(x->i, "lo")))
    return false;
  for (int n = 0; n < 2; n++) {
    in[n] = LLVMBuildShl(b, ptx_operand(x, n + 1), ptx_number(x, 8), "");
    in[n] =
        x->t.is_signed ? LLVMBuildAShr(b, in[n], ptx_number(x, 8), "") : LLVMBuildLShr(b, in[n], ptx_number(x, 8), "");
  }
  LLVMValueRef product = long_product(x, in[0], in[1]);
  if (high) product = LLVMBuildLShr(b, product, LLVMConstInt(LLVMTypeOf(product), 16, 0), "");
  product = LLVMBuildTrunc(b, product, x->t.type, "");
  ptx_result(x, addend ? LLVMBuildAdd(b, product, ptx_operand(x, addend), "") : product);
  return true;
}

/* add.cc, addc, sub.cc, subc, mad.cc, madc: multi-word arithmetic. For subtractions the carry flag is the borrow. */
static bool translate_carry(const ptx_source *x) {
  const char *name = x->i->words[0];
  LLVMBuilderRef b = x->s->b;
  bool product = starts_with(name, "mad"), minus = starts_with(name, "sub");
  bool takes = strcmp(name + 3, "c") == 0, gives = ptx_has_modifier(x->i, "cc");
  if (!product && !minus && !starts_with(name, "add")) return false;
  if ((!takes && name[3]) || (!takes && !gives) || x->i->operand_count != (product ? 4 : 3)) return false;
  LLVMValueRef left = ptx_operand(x, 1), right = ptx_operand(x, 2);
  if (product) {
    if (ptx_has_modifier(x->i, "hi"))
      left = upper_half(x, long_product(x, left, right));
    else if (ptx_has_modifier(x->i, "lo"))
      left = LLVMBuildMul(b, left, right, "");
    else
      return false;
    right = ptx_operand(x, 3);
  }
  LLVMValueRef first = minus ? LLVMBuildSub(b, left, right, "") : LLVMBuildAdd(b, left, right, ""), result = first;
  LLVMValueRef carry =
      minus ? LLVMBuildICmp(b, LLVMIntULT, left, right, "") : LLVMBuildICmp(b, LLVMIntULT, first, left, "");
  if (takes) {
    LLVMValueRef before = LLVMBuildZExt(b, ptx_read(x->s, PTX_CARRY, x->s->p->i1), x->t.type, "");
    result = minus ? LLVMBuildSub(b, first, before, "") : LLVMBuildAdd(b, first, before, "");
    LLVMValueRef again =
        minus ? LLVMBuildICmp(b, LLVMIntULT, first, before, "") : LLVMBuildICmp(b, LLVMIntULT, result, first, "");
    carry = LLVMBuildOr(b, carry, again, "");
  }
  if (gives) ptx_write(x->s, PTX_CARRY, carry);
  ptx_result(x, result);
  return true;
}

/* ---- arithmetic and logic ---- */

/* add.sat.s32 and sub.sat.s32 clamp to the range of the type. */
static bool translate_saturated(const ptx_source *x, bool adds) {
  LLVMValueRef arguments[2] = {ptx_operand(x, 1), ptx_operand(x, 2)};
  if (!x->t.is_signed || x->t.bits != 32) return false;
  ptx_result(x, make_intrinsic(x, adds ? "llvm.sadd.sat" : "llvm.ssub.sat", x->t.type, arguments, 2));
  return true;
}

/* Instructions with two operands that are one LLVM instruction. */
static bool translate_plain(const ptx_source *x) {
  static const struct {
    const char *name;
    LLVMOpcode is_unsigned, is_signed;
  } table[] = {{"add", LLVMAdd, LLVMAdd},  {"sub", LLVMSub, LLVMSub}, {"and", LLVMAnd, LLVMAnd},
               {"or", LLVMOr, LLVMOr},     {"xor", LLVMXor, LLVMXor}, {"div", LLVMUDiv, LLVMSDiv},
               {"rem", LLVMURem, LLVMSRem}};
  for (size_t n = 0; n < MW_COUNT(table); n++) {
    if (strcmp(x->i->words[0], table[n].name) != 0 || x->i->operand_count != 3) continue;
    if (ptx_has_modifier(x->i, "cc")) return false;
    if (ptx_has_modifier(x->i, "sat")) return n < 2 && translate_saturated(x, n == 0);
    LLVMOpcode opcode = x->t.is_signed ? table[n].is_signed : table[n].is_unsigned;
    ptx_result(x, LLVMBuildBinOp(x->s->b, opcode, ptx_operand(x, 1), ptx_operand(x, 2), ""));
    return true;
  }
  return false;
}

/* The amount always has 32 bits; an amount greater than the width is clamped to it. A shift by the width, which LLVM
   leaves undefined, is defined by the retarget pass. */
static bool translate_shift(const ptx_source *x, bool left) {
  LLVMBuilderRef b = x->s->b;
  LLVMValueRef value = ptx_operand(x, 1), amount = ptx_operand_i32(x, 2), width = constant_i32(x->s->p, x->t.bits);
  LLVMValueRef arguments[2] = {amount, width};
  amount = call_intrinsic(x->s->p, b, "llvm.umin", &x->s->p->i32, 1, arguments, 2);
  amount = LLVMBuildIntCast2(b, amount, x->t.type, 0, "");
  ptx_result(x, left             ? LLVMBuildShl(b, value, amount, "")
                : x->t.is_signed ? LLVMBuildAShr(b, value, amount, "")
                                 : LLVMBuildLShr(b, value, amount, ""));
  return true;
}

static bool translate_unary(const ptx_source *x) {
  const char *name = x->i->words[0];
  LLVMBuilderRef b = x->s->b;
  if (x->i->operand_count != 2) return false;
  LLVMValueRef value = ptx_operand(x, 1), arguments[2] = {value, LLVMConstNull(x->s->p->i1)};
  if (strcmp(name, "not") == 0)
    ptx_result(x, LLVMBuildNot(b, value, ""));
  else if (strcmp(name, "neg") == 0)
    ptx_result(x, LLVMBuildNeg(b, value, ""));
  else if (strcmp(name, "cnot") == 0)
    ptx_result(x, LLVMBuildZExt(b, LLVMBuildICmp(b, LLVMIntEQ, value, ptx_number(x, 0), ""), x->t.type, ""));
  else if (strcmp(name, "abs") == 0)
    ptx_result(x, make_intrinsic(x, "llvm.abs", x->t.type, arguments, 2));
  else if (strcmp(name, "popc") == 0)
    ptx_result(x, make_intrinsic(x, "llvm.ctpop", x->t.type, arguments, 1));
  else if (strcmp(name, "clz") == 0)
    ptx_result(x, make_intrinsic(x, "llvm.ctlz", x->t.type, arguments, 2));
  else if (strcmp(name, "brev") == 0)
    ptx_result(x, make_intrinsic(x, "llvm.bitreverse", x->t.type, arguments, 1));
  else
    return false;
  return true;
}

static bool translate_extreme(const ptx_source *x, bool largest) {
  LLVMValueRef arguments[2] = {ptx_operand(x, 1), ptx_operand(x, 2)};
  const char *name = x->t.is_signed ? (largest ? "llvm.smax" : "llvm.smin") : (largest ? "llvm.umax" : "llvm.umin");
  ptx_result(x, make_intrinsic(x, name, x->t.type, arguments, 2));
  return true;
}

/* ---- bit fields ---- */

static LLVMValueRef low_bits(const ptx_source *x, LLVMValueRef count) { /* 2^count - 1; all bits if count >= width */
  LLVMBuilderRef b = x->s->b;
  LLVMValueRef all = LLVMConstAllOnes(x->t.type), width = ptx_number(x, x->t.bits);
  LLVMValueRef whole = LLVMBuildICmp(b, LLVMIntUGE, count, width, "");
  LLVMValueRef safe = LLVMBuildSelect(b, whole, ptx_number(x, 0), count, "");
  LLVMValueRef mask = LLVMBuildNot(b, LLVMBuildShl(b, all, safe, ""), "");
  return LLVMBuildSelect(b, whole, all, mask, "");
}

/* Only the low 8 bits of a position or length are used. */
static LLVMValueRef byte_operand(const ptx_source *x, int n) {
  LLVMValueRef value = LLVMBuildAnd(x->s->b, ptx_operand_i32(x, n), constant_i32(x->s->p, 255), "");
  return LLVMBuildIntCast2(x->s->b, value, x->t.type, 0, "");
}

/* A signed field is sign-extended from its top bit, or from the value's top bit where the field extends past the
   value. */
static bool translate_bfe(const ptx_source *x) {
  LLVMBuilderRef b = x->s->b;
  LLVMValueRef value = ptx_operand(x, 1), position = byte_operand(x, 2), length = byte_operand(x, 3),
               top = ptx_number(x, x->t.bits - 1);
  LLVMValueRef mask = low_bits(x, length), field = LLVMBuildAnd(b, LLVMBuildLShr(b, value, position, ""), mask, "");
  if (x->t.is_signed) {
    LLVMValueRef last = LLVMBuildSub(b, LLVMBuildAdd(b, position, length, ""), ptx_number(x, 1), "");
    LLVMValueRef arguments[2] = {last, top};
    last = make_intrinsic(x, "llvm.umin", x->t.type, arguments, 2);
    LLVMValueRef bit = LLVMBuildAnd(b, LLVMBuildLShr(b, value, last, ""), ptx_number(x, 1), "");
    LLVMValueRef empty = LLVMBuildICmp(b, LLVMIntEQ, length, ptx_number(x, 0), "");
    LLVMValueRef extends =
        LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntNE, bit, ptx_number(x, 0), ""), LLVMBuildNot(b, empty, ""), "");
    /* field bits past the value's end are copies of the sign bit as well */
    LLVMValueRef room = LLVMBuildSub(b, ptx_number(x, x->t.bits), position, "");
    LLVMValueRef beyond = LLVMBuildICmp(b, LLVMIntUGE, position, ptx_number(x, x->t.bits), "");
    LLVMValueRef kept = LLVMBuildSelect(b, beyond, ptx_number(x, 0), LLVMBuildAnd(b, mask, low_bits(x, room), ""), "");
    field = LLVMBuildAnd(b, field, kept, "");
    field = LLVMBuildSelect(b, extends, LLVMBuildOr(b, field, LLVMBuildNot(b, kept, ""), ""), field, "");
  }
  ptx_result(x, field);
  return true;
}

/* bfi d, a, b, position, length: d is b with the low bits of a inserted */
static bool translate_bfi(const ptx_source *x) {
  LLVMBuilderRef b = x->s->b;
  LLVMValueRef field = ptx_operand(x, 1), base = ptx_operand(x, 2), position = byte_operand(x, 3),
               length = byte_operand(x, 4);
  LLVMValueRef mask = LLVMBuildShl(b, low_bits(x, length), position, "");
  field = LLVMBuildAnd(b, LLVMBuildShl(b, field, position, ""), mask, "");
  ptx_result(x, LLVMBuildOr(b, field, LLVMBuildAnd(b, base, LLVMBuildNot(b, mask, ""), ""), ""));
  return true;
}

/* The prmt selector of a mode (.f4e, .b4e, …); the selector operand's low 2 bits choose one of the mode's four. */
static LLVMValueRef selector_of_mode(const ptx_source *x, LLVMValueRef selector) {
  static const struct {
    const char *name;
    uint64_t selectors; /* 16 bits each, the first lowest */
  } modes[] = {{"f4e", 0x6543543243213210}, {"b4e", 0x0123701267015670}, {"rc8", 0x3333222211110000},
               {"ecl", 0x3333322232113210}, {"ecr", 0x3210221011100000}, {"rc16", 0x3232101032321010}};
  program *p = x->s->p;
  LLVMBuilderRef b = x->s->b;
  for (size_t n = 0; n < MW_COUNT(modes); n++) {
    if (strcmp(x->i->words[2], modes[n].name) != 0) continue;
    LLVMValueRef at = LLVMBuildShl(b, LLVMBuildAnd(b, selector, constant_i32(p, 3), ""), constant_i32(p, 4), "");
    LLVMValueRef all = LLVMBuildLShr(b, constant_i64(p, modes[n].selectors), LLVMBuildZExt(b, at, p->i64, ""), "");
    return LLVMBuildAnd(b, LLVMBuildTrunc(b, all, p->i32, ""), constant_i32(p, 0xffff), "");
  }
  return NULL;
}

/* prmt: four bytes chosen out of eight; a selector nibble's top bit replicates the byte's sign instead. */
static bool translate_prmt(const ptx_source *x) {
  program *p = x->s->p;
  LLVMBuilderRef b = x->s->b;
  LLVMValueRef low = LLVMBuildZExt(b, ptx_operand(x, 1), p->i64, ""),
               high = LLVMBuildZExt(b, ptx_operand(x, 2), p->i64, "");
  LLVMValueRef bytes = LLVMBuildOr(b, low, LLVMBuildShl(b, high, constant_i64(p, 32), ""), "");
  LLVMValueRef selector = ptx_operand(x, 3), whole = constant_i32(p, 0);
  if (x->i->word_count == 3) selector = selector_of_mode(x, selector);
  if (!selector || x->i->word_count > 3) return false;
  for (unsigned n = 0; n < 4; n++) {
    LLVMValueRef nibble = LLVMBuildLShr(b, selector, constant_i32(p, 4 * n), "");
    LLVMValueRef at = LLVMBuildShl(b, LLVMBuildAnd(b, nibble, constant_i32(p, 7), ""), constant_i32(p, 3), "");
    LLVMValueRef byte = LLVMBuildTrunc(b, LLVMBuildLShr(b, bytes, LLVMBuildZExt(b, at, p->i64, ""), ""), p->i8, "");
    LLVMValueRef sign = LLVMBuildAShr(b, byte, LLVMConstInt(p->i8, 7, 0), "");
    LLVMValueRef spread =
        LLVMBuildICmp(b, LLVMIntNE, LLVMBuildAnd(b, nibble, constant_i32(p, 8), ""), constant_i32(p, 0), "");
    byte = LLVMBuildZExt(b, LLVMBuildSelect(b, spread, sign, byte, ""), p->i32, "");
    whole = LLVMBuildOr(b, whole, LLVMBuildShl(b, byte, constant_i32(p, 8 * n), ""), "");
  }
  ptx_result(x, whole);
  return true;
}

/* lop3: any function of three bits, as a truth table; bit a*4 + b*2 + c of the table is the result. */
static bool translate_lop3(const ptx_source *x) {
  LLVMBuilderRef b = x->s->b;
  LLVMValueRef in[3] = {ptx_operand(x, 1), ptx_operand(x, 2), ptx_operand(x, 3)}, whole = ptx_number(x, 0);
  char *end;
  unsigned long table = strtoul(x->i->operands[4], &end, 0);
  LLVMValueRef immediate = *end ? ptx_read(x->s, x->i->operands[4], x->s->p->i32) : NULL;
  if (immediate && !LLVMIsAConstantInt(immediate)) return false;
  if (immediate) table = (unsigned long)LLVMConstIntGetZExtValue(immediate);
  for (unsigned n = 0; n < 8; n++) {
    if (!(table >> n & 1)) continue;
    LLVMValueRef term = LLVMConstAllOnes(x->t.type);
    for (unsigned k = 0; k < 3; k++)
      term = LLVMBuildAnd(b, term, n >> (2 - k) & 1 ? in[k] : LLVMBuildNot(b, in[k], ""), "");
    whole = LLVMBuildOr(b, whole, term, "");
  }
  ptx_result(x, whole);
  return true;
}

/* shf, a funnel shift: the upper half of b:a shifted left, or the lower half shifted right. The amount is taken modulo
   32, with .clamp at most 32. */
static bool translate_shf(const ptx_source *x) {
  program *p = x->s->p;
  LLVMBuilderRef b = x->s->b;
  bool left = ptx_has_modifier(x->i, "l"), clamped = ptx_has_modifier(x->i, "clamp");
  LLVMValueRef amount = ptx_operand_i32(x, 3), arguments[2] = {amount, constant_i32(p, 32)};
  amount = clamped ? call_intrinsic(p, b, "llvm.umin", &p->i32, 1, arguments, 2)
                   : LLVMBuildAnd(b, amount, constant_i32(p, 31), "");
  LLVMValueRef low = LLVMBuildZExt(b, ptx_operand(x, 1), p->i64, ""),
               high = LLVMBuildZExt(b, ptx_operand(x, 2), p->i64, "");
  LLVMValueRef both = LLVMBuildOr(b, low, LLVMBuildShl(b, high, constant_i64(p, 32), ""), "");
  amount = LLVMBuildZExt(b, amount, p->i64, "");
  both = left ? LLVMBuildLShr(b, LLVMBuildShl(b, both, amount, ""), constant_i64(p, 32), "")
              : LLVMBuildLShr(b, both, amount, "");
  ptx_result(x, LLVMBuildTrunc(b, both, p->i32, ""));
  return true;
}

/* sad: |a - b| + c */
static bool translate_sad(const ptx_source *x) {
  LLVMBuilderRef b = x->s->b;
  LLVMValueRef left = ptx_operand(x, 1), right = ptx_operand(x, 2);
  LLVMValueRef larger = LLVMBuildICmp(b, x->t.is_signed ? LLVMIntSGT : LLVMIntUGT, left, right, "");
  LLVMValueRef up = LLVMBuildSub(b, left, right, ""), down = LLVMBuildSub(b, right, left, "");
  ptx_result(x, LLVMBuildAdd(b, LLVMBuildSelect(b, larger, up, down, ""), ptx_operand(x, 3), ""));
  return true;
}

/* bfind: the position of the highest bit that differs from the sign or, with .shiftamt, its distance from the top bit;
   all bits set if there is none. */
static bool translate_bfind(const ptx_source *x) {
  LLVMBuilderRef b = x->s->b;
  LLVMValueRef value = ptx_operand(x, 1);
  LLVMValueRef sign = LLVMBuildAShr(b, value, ptx_number(x, x->t.bits - 1), "");
  if (x->t.is_signed) value = LLVMBuildXor(b, value, sign, "");
  LLVMValueRef arguments[2] = {value, LLVMConstNull(x->s->p->i1)};
  LLVMValueRef zeros = make_intrinsic(x, "llvm.ctlz", x->t.type, arguments, 2);
  LLVMValueRef none = LLVMBuildICmp(b, LLVMIntEQ, value, ptx_number(x, 0), "");
  LLVMValueRef place = LLVMBuildSub(b, ptx_number(x, x->t.bits - 1), zeros, "");
  if (ptx_has_modifier(x->i, "shiftamt")) place = LLVMBuildSelect(b, none, LLVMConstAllOnes(x->t.type), zeros, "");
  ptx_result(x, place);
  return true;
}

/* dp4a.atype.btype: the dot product of four bytes each, plus c */
static bool translate_dp4a(const ptx_source *x) {
  LLVMBuilderRef b = x->s->b;
  program *p = x->s->p;
  if (x->i->word_count != 3 || x->t.bits != 32) return false;
  bool is_signed[2] = {strcmp(x->i->words[1], "s32") == 0, x->t.is_signed};
  LLVMValueRef sum = ptx_operand_i32(x, 3), in[2] = {ptx_operand_i32(x, 1), ptx_operand_i32(x, 2)};
  for (unsigned n = 0; n < 4; n++) {
    LLVMValueRef byte[2];
    for (int k = 0; k < 2; k++) {
      byte[k] = LLVMBuildShl(b, in[k], constant_i32(p, 24 - 8 * n), "");
      byte[k] = is_signed[k] ? LLVMBuildAShr(b, byte[k], constant_i32(p, 24), "")
                             : LLVMBuildLShr(b, byte[k], constant_i32(p, 24), "");
    }
    sum = LLVMBuildAdd(b, sum, LLVMBuildMul(b, byte[0], byte[1], ""), "");
  }
  ptx_result(x, sum);
  return true;
}

/* dp2a.lo.atype.btype: the dot product of two 16-bit words and the lower or upper two of four bytes, plus c */
static bool translate_dp2a(const ptx_source *x) {
  LLVMBuilderRef b = x->s->b;
  program *p = x->s->p;
  bool high = ptx_has_modifier(x->i, "hi");
  if (x->i->word_count != 4 || x->t.bits != 32 || (!high && !ptx_has_modifier(x->i, "lo"))) return false;
  bool is_signed[2] = {strcmp(x->i->words[2], "s32") == 0, x->t.is_signed};
  LLVMValueRef sum = ptx_operand_i32(x, 3), in[2] = {ptx_operand_i32(x, 1), ptx_operand_i32(x, 2)};
  for (unsigned n = 0; n < 2; n++) {
    LLVMValueRef part[2];
    for (int k = 0; k < 2; k++) {
      unsigned up = k ? 24 - 8 * (n + 2 * high) : 16 - 16 * n, down = k ? 24 : 16;
      part[k] = LLVMBuildShl(b, in[k], constant_i32(p, up), "");
      part[k] = is_signed[k] ? LLVMBuildAShr(b, part[k], constant_i32(p, down), "")
                             : LLVMBuildLShr(b, part[k], constant_i32(p, down), "");
    }
    sum = LLVMBuildAdd(b, sum, LLVMBuildMul(b, part[0], part[1], ""), "");
  }
  ptx_result(x, sum);
  return true;
}

/* ---- by name ---- */

bool ptx_translate_number(const ptx_source *x) {
  const char *name = x->i->words[0];
  int operands = x->i->operand_count;
#define IS(text, count) (strcmp(name, text) == 0 && operands == (count))
  if (x->t.is_float) return ptx_translate_float(x);
  if (IS("mul", 3)) return translate_product(x, 0);
  if (IS("mul24", 3)) return translate_product_24(x, 0);
  if (IS("mad24", 4)) return translate_product_24(x, 3);
  if (translate_carry(x)) return true;
  if (IS("mad", 4)) return translate_product(x, 3);
  if (IS("shl", 3)) return translate_shift(x, true);
  if (IS("shr", 3)) return translate_shift(x, false);
  if (IS("min", 3)) return translate_extreme(x, false);
  if (IS("max", 3)) return translate_extreme(x, true);
  if (IS("bfe", 4)) return translate_bfe(x);
  if (IS("bfi", 5)) return translate_bfi(x);
  if (IS("prmt", 4)) return translate_prmt(x);
  if (IS("bmsk", 3) || IS("szext", 3) || IS("fns", 4)) return ptx_translate_mask(x);
  if (IS("lop3", 5)) return translate_lop3(x);
  if (IS("shf", 4)) return translate_shf(x);
  if (IS("sad", 4)) return translate_sad(x);
  if (IS("bfind", 2)) return translate_bfind(x);
  if (IS("dp4a", 4)) return translate_dp4a(x);
  if (IS("dp2a", 4)) return translate_dp2a(x);
#undef IS
  return translate_plain(x) || translate_unary(x);
}
