/* Integer division and remainder on all lanes at once, where processors have no such instruction (cf. Granlund and
 * Montgomery 1994). A divisor that all lanes share is inverted once; LLVM hoists that out of the loops over gangs and
 * blocks.
 *
 *   to 16 bits           in floats
 *   to 32 bits           in doubles
 *   64 bits, one divisor in doubles if all dividends of the gang are below 2^48, a test at run time; else by the upper
 *                        half of a product
 *
 * Why the quotient is exact. Let a >= 0 and b >= 1 be exact in the type, of precision p (24 or 53 bits), u = 2^(1-p),
 * and q the integer quotient, so that q <= a/b <= q + 1 - 1/b. The computed quotient c is
 *
 *   a / b, rounded. Rounding is monotonic and q is representable, so c >= q. It is less than (a/b)(1 + u), which is
 *   less than q + 1 if a * u < 1.
 *   a * r, rounded, where r = (1/b)(1 + 8u), rounded. r >= (1/b)(1 - u)(1 + 8u)(1 - u) > 1/b, so c >= q again. And
 *   c <= (a/b)(1 + u)^3 (1 + 8u) < (a/b)(1 + 16u), which is less than q + 1 if a * 16u < 1.
 *
 * Both hold in every rounding mode, and a < 2^16 (floats) and a < 2^48 (doubles) suffice. So the integer part of c is
 * q; with signs, they hold for magnitudes. A b of 64 bits that is not exact as a double is above every such a, and c
 * is less than 1. q * b <= a is exact, and so is a - q * b.
 *
 * The upper half: with l = ceil(log2 b) and m = floor(2^64 (2^l - b) / b) + 1, q = (t + ((a - t) >> min(l, 1))) >>
 * max(l - 1, 0), where t is the upper half of a * m, for all a and b of 64 bits (their theorem 4.2 and figure 4.1).
 *
 * retarget.c has replaced what traps or is undefined in active lanes. Inactive lanes may divide by 0, or get a number
 * that does not fit: they are poison, and frozen. */
#include "division.h"
#include "mwcc/support/predicates.h"
#include "mwcc/target/target.h"

typedef struct division {
  widener *w;
  LLVMBuilderRef b;
  LLVMValueRef i, divisor; /* the scalar divisor of all lanes; NULL: each has its own */
  bool is_signed, remainder;
  bool positive; /* no lane's dividend is negative as a signed number */
  LLVMTypeRef scalar, lanes;
} division;

static LLVMValueRef lanes_of(const division *d, LLVMTypeRef scalar, uint64_t number) {
  return splat(d->w, LLVMConstInt(scalar, number, 0));
}

static LLVMValueRef real_lanes(const division *d, LLVMTypeRef real, double number) {
  return splat(d->w, LLVMConstReal(real, number));
}

/* ---- reciprocals, of scalars ---- */

/* r of the proof above. */
static LLVMValueRef reciprocal(const division *d, LLVMValueRef divisor, LLVMTypeRef real, bool is_signed) {
  bool is_double = LLVMGetTypeKind(real) == LLVMDoubleTypeKind;
  divisor = LLVMBuildCast(d->b, is_signed ? LLVMSIToFP : LLVMUIToFP, divisor, real, "");
  LLVMValueRef one = LLVMBuildFDiv(d->b, LLVMConstReal(real, 1), divisor, "");
  return LLVMBuildFMul(d->b, one, LLVMConstReal(real, is_double ? 1 + 0x1p-49 : 1 + 0x1p-20), "reciprocal");
}

typedef struct magic {
  LLVMValueRef factor, first_shift, second_shift; /* m, min(l, 1), max(l - 1, 0) */
} magic;

/* A step of long division: the next 32 bits of (rest, digits) / divisor, where the divisor's top bit is set. The
   first estimate is at most 2 too large (Knuth, 4.3.1 D). */
static LLVMValueRef next_digit(const division *d, LLVMValueRef *rest, LLVMValueRef divisor) {
  LLVMBuilderRef b = d->b;
  LLVMTypeRef i64 = d->w->p->i64;
  LLVMValueRef half = LLVMConstInt(i64, 32, 0), low = LLVMConstInt(i64, 0xffffffff, 0);
  LLVMValueRef top = LLVMBuildLShr(b, divisor, half, ""), bottom = LLVMBuildAnd(b, divisor, low, "");
  /* never 0, as LLVM sees: so it may be computed anywhere */
  top = LLVMBuildOr(b, top, LLVMConstInt(i64, 0x80000000u, 0), "");
  LLVMValueRef digit = LLVMBuildUDiv(b, *rest, top, "");
  LLVMValueRef over = LLVMBuildSub(b, *rest, LLVMBuildMul(b, digit, top, ""), "");
  for (int n = 0; n < 2; n++) {
    LLVMValueRef product = LLVMBuildMul(b, digit, bottom, "");
    LLVMValueRef have = LLVMBuildShl(b, over, half, "");
    LLVMValueRef small = LLVMBuildICmp(b, LLVMIntULE, over, low, "");
    LLVMValueRef large = LLVMBuildICmp(b, LLVMIntUGT, digit, low, "");
    LLVMValueRef wrong = LLVMBuildOr(b, large, LLVMBuildICmp(b, LLVMIntUGT, product, have, ""), "");
    wrong = LLVMBuildAnd(b, small, wrong, "");
    digit = LLVMBuildSub(b, digit, LLVMBuildZExt(b, wrong, i64, ""), "");
    over = LLVMBuildAdd(b, over, LLVMBuildSelect(b, wrong, top, LLVMConstNull(i64), ""), "");
  }
  /* rest * 2^32 - digit * divisor, modulo 2^64 */
  *rest = LLVMBuildSub(b, LLVMBuildShl(b, *rest, half, ""), LLVMBuildMul(b, digit, divisor, ""), "");
  return digit;
}

static magic magic_of(const division *d, LLVMValueRef divisor) {
  LLVMBuilderRef b = d->b;
  LLVMTypeRef i64 = d->w->p->i64;
  LLVMValueRef one = LLVMConstInt(i64, 1, 0), zero = LLVMConstNull(i64), no = LLVMConstInt(d->w->p->i1, 0, 0);
  LLVMValueRef less[] = {LLVMBuildSub(b, divisor, one, ""), no}, itself[] = {divisor, no};
  LLVMValueRef width = LLVMConstInt(i64, 64, 0);
  LLVMValueRef bits = LLVMBuildSub(b, width, call_intrinsic(d->w->p, b, "llvm.ctlz", &i64, 1, less, 2), "");
  LLVMValueRef power = LLVMBuildShl(b, one, LLVMBuildAnd(b, bits, LLVMConstInt(i64, 63, 0), ""), "");
  LLVMValueRef whole = LLVMBuildICmp(b, LLVMIntEQ, bits, width, ""); /* 2^64 is 0 here */
  power = LLVMBuildSelect(b, whole, zero, power, "");
  /* both shifted until the divisor's top bit is set: the quotient stays, and has no more than 64 bits */
  LLVMValueRef shift = call_intrinsic(d->w->p, b, "llvm.ctlz", &i64, 1, itself, 2);
  LLVMValueRef normal = LLVMBuildShl(b, divisor, LLVMBuildAnd(b, shift, LLVMConstInt(i64, 63, 0), ""), "");
  LLVMValueRef rest = LLVMBuildSub(b, power, divisor, "");
  rest = LLVMBuildShl(b, rest, LLVMBuildAnd(b, shift, LLVMConstInt(i64, 63, 0), ""), "");
  LLVMValueRef high = next_digit(d, &rest, normal), low = next_digit(d, &rest, normal);
  LLVMValueRef factor = LLVMBuildOr(b, LLVMBuildShl(b, high, LLVMConstInt(i64, 32, 0), ""), low, "");
  LLVMValueRef many = LLVMBuildICmp(b, LLVMIntNE, bits, zero, "");
  LLVMValueRef second = LLVMBuildSelect(b, many, LLVMBuildSub(b, bits, one, ""), zero, "");
  return (magic){LLVMBuildAdd(b, factor, one, "magic"), LLVMBuildZExt(b, many, i64, ""), second};
}

/* ---- in floating point ---- */

/* 2^52: a double between it and 2^53 has its integer in its low bits. */
static const double OFFSET = 0x1p52;
static const uint64_t OFFSET_BITS = 0x4330000000000000u;

static LLVMValueRef from_low_bits(const division *d, LLVMValueRef number, LLVMTypeRef real) {
  LLVMTypeRef i64 = d->w->p->i64;
  number = LLVMBuildOr(d->b, number, lanes_of(d, i64, OFFSET_BITS), "");
  number = LLVMBuildBitCast(d->b, number, vector_type(d->w, real), "");
  return LLVMBuildFSub(d->b, number, real_lanes(d, real, OFFSET), "");
}

static LLVMValueRef to_low_bits(const division *d, LLVMValueRef number, LLVMTypeRef real) {
  LLVMTypeRef i64 = d->w->p->i64;
  number = LLVMBuildFAdd(d->b, number, real_lanes(d, real, OFFSET), "");
  return LLVMBuildBitCast(d->b, number, vector_type(d->w, i64), "");
}

static LLVMValueRef whole_part(const division *d, LLVMValueRef number) {
  LLVMTypeRef type = LLVMTypeOf(number);
  return call_intrinsic(d->w->p, d->b, "llvm.trunc", &type, 1, &number, 1);
}

/* Numbers of up to 32 bits. */
static LLVMValueRef divide_in(const division *d, LLVMTypeRef real, LLVMValueRef a, LLVMValueRef by) {
  widener *w = d->w;
  bool in_floats = LLVMGetTypeKind(real) == LLVMFloatTypeKind;
  /* converted as 32-bit numbers; floats are used for small ones only */
  LLVMTypeRef i32 = w->p->i32;
  bool narrow = LLVMGetIntTypeWidth(d->scalar) < 32, is_signed = d->is_signed || narrow || in_floats || d->positive;
  LLVMOpcode widen = d->is_signed ? LLVMSExt : LLVMZExt;
  LLVMValueRef x = narrow ? LLVMBuildCast(d->b, widen, a, vector_type(w, i32), "") : a, c;
  LLVMValueRef number = LLVMBuildCast(d->b, is_signed ? LLVMSIToFP : LLVMUIToFP, x, vector_type(w, real), "");
  if (d->divisor) {
    LLVMValueRef one = narrow ? LLVMBuildCast(d->b, widen, d->divisor, i32, "") : d->divisor;
    c = LLVMBuildFMul(d->b, number, splat(w, reciprocal(d, one, real, d->is_signed || narrow)), "");
  } else {
    LLVMValueRef y = narrow ? LLVMBuildCast(d->b, widen, by, vector_type(w, i32), "") : by;
    LLVMOpcode convert = d->is_signed || narrow || in_floats ? LLVMSIToFP : LLVMUIToFP;
    c = LLVMBuildFDiv(d->b, number, LLVMBuildCast(d->b, convert, y, vector_type(w, real), ""), "");
  }
  if (is_signed || has_mask_registers(w->p))
    c = LLVMBuildCast(d->b, is_signed ? LLVMFPToSI : LLVMFPToUI, c, vector_type(w, i32), "");
  else
    c = LLVMBuildTrunc(d->b, to_low_bits(d, whole_part(d, c), real), vector_type(w, i32), "");
  c = LLVMBuildFreeze(d->b, c, "");
  return narrow ? LLVMBuildTrunc(d->b, c, d->lanes, "") : c;
}

/* ---- 64 bits ---- */

/* All ones where the number is negative. */
static LLVMValueRef signs(const division *d, LLVMValueRef number) {
  LLVMTypeRef type = LLVMTypeOf(number);
  LLVMValueRef negative = LLVMBuildICmp(d->b, LLVMIntSLT, number, LLVMConstNull(type), "");
  return LLVMBuildSExt(d->b, negative, type, "");
}

/* The number where the sign is 0, minus the number where it is all ones. */
static LLVMValueRef with_sign(const division *d, LLVMValueRef number, LLVMValueRef sign) {
  return LLVMBuildSub(d->b, LLVMBuildXor(d->b, number, sign, ""), sign, "");
}

static LLVMValueRef short_quotient(const division *d, LLVMValueRef a, LLVMValueRef divisor) {
  LLVMTypeRef real = LLVMDoubleTypeInContext(d->w->p->context);
  LLVMValueRef number = from_low_bits(d, a, real);
  LLVMValueRef c = LLVMBuildFMul(d->b, number, splat(d->w, reciprocal(d, divisor, real, false)), "");
  c = whole_part(d, c);
  if (d->remainder) {
    LLVMValueRef by = splat(d->w, LLVMBuildUIToFP(d->b, divisor, real, ""));
    LLVMValueRef product = LLVMBuildFMul(d->b, c, by, "");
    c = LLVMBuildFSub(d->b, number, product, "");
    /* exact, whether or not it is rounded between the two */
    LLVMSetFastMathFlags(product, LLVMFastMathAllowContract);
    LLVMSetFastMathFlags(c, LLVMFastMathAllowContract);
  }
  LLVMValueRef bits = to_low_bits(d, c, real);
  return LLVMBuildXor(d->b, bits, lanes_of(d, d->w->p->i64, OFFSET_BITS), "");
}

/* The upper half of a product of 64 bits, by halves. */
static LLVMValueRef upper_half(const division *d, LLVMValueRef a, LLVMValueRef m) {
  LLVMBuilderRef b = d->b;
  LLVMTypeRef i64 = d->w->p->i64;
  LLVMValueRef low = lanes_of(d, i64, 0xffffffff), half = lanes_of(d, i64, 32);
  LLVMValueRef scalar_low = LLVMConstInt(i64, 0xffffffff, 0), scalar_half = LLVMConstInt(i64, 32, 0);
  LLVMValueRef a0 = LLVMBuildAnd(b, a, low, ""), a1 = LLVMBuildLShr(b, a, half, "");
  LLVMValueRef m0 = splat(d->w, LLVMBuildAnd(b, m, scalar_low, ""));
  LLVMValueRef m1 = splat(d->w, LLVMBuildLShr(b, m, scalar_half, ""));
  LLVMValueRef first = LLVMBuildLShr(b, LLVMBuildMul(b, a0, m0, ""), half, "");
  LLVMValueRef middle = LLVMBuildAdd(b, LLVMBuildMul(b, a1, m0, ""), first, "");
  LLVMValueRef other = LLVMBuildAdd(b, LLVMBuildMul(b, a0, m1, ""), LLVMBuildAnd(b, middle, low, ""), "");
  LLVMValueRef top = LLVMBuildAdd(b, LLVMBuildMul(b, a1, m1, ""), LLVMBuildLShr(b, middle, half, ""), "");
  return LLVMBuildAdd(b, top, LLVMBuildLShr(b, other, half, ""), "");
}

static LLVMValueRef long_quotient(const division *d, LLVMValueRef a, LLVMValueRef divisor) {
  LLVMBuilderRef b = d->b;
  magic m = magic_of(d, divisor);
  LLVMValueRef t = upper_half(d, a, m.factor);
  LLVMValueRef rest = LLVMBuildLShr(b, LLVMBuildSub(b, a, t, ""), splat(d->w, m.first_shift), "");
  LLVMValueRef q = LLVMBuildLShr(b, LLVMBuildAdd(b, t, rest, ""), splat(d->w, m.second_shift), "");
  if (!d->remainder) return q;
  return LLVMBuildSub(b, a, LLVMBuildMul(b, q, splat(d->w, divisor), ""), "");
}

static vectors divide_long(const division *d, vectors a, bool is_short) {
  widener *w = d->w;
  LLVMBuilderRef b = d->b;
  bool flips = d->is_signed && !d->positive;
  LLVMValueRef divisor = d->divisor, sign = NULL;
  vectors lane_signs = {0}, result = {0}, slots = {0};
  LLVMBasicBlockRef quick = NULL, slow = NULL, done = NULL;
  if (d->is_signed) {
    sign = signs(d, divisor);
    divisor = with_sign(d, divisor, sign);
    sign = splat(w, sign);
  }
  for (int u = 0; u < w->vectors && flips; u++) {
    lane_signs.of[u] = signs(d, a.of[u]);
    a.of[u] = with_sign(d, a.of[u], lane_signs.of[u]);
  }
  if (!is_short) {
    LLVMValueRef all = a.of[0];
    for (int u = 1; u < w->vectors; u++) all = LLVMBuildOr(b, all, a.of[u], "");
    /* freeze: inactive lanes may be poison */
    all = LLVMBuildFreeze(b, all, "");
    LLVMValueRef beyond =
        LLVMBuildICmp(b, LLVMIntUGE, all, lanes_of(d, w->p->i64, (uint64_t)1 << DIVISION_LONG_BITS), "");
    slots = new_slots(w, d->lanes, w->vectors);
    quick = LLVMAppendBasicBlockInContext(w->p->context, w->function, "short");
    slow = LLVMAppendBasicBlockInContext(w->p->context, w->function, "long");
    done = LLVMAppendBasicBlockInContext(w->p->context, w->function, "divided");
    build_likely(w->p, b, LLVMBuildNot(b, any_in_vector(w, beyond), ""), quick, slow);
    LLVMPositionBuilderAtEnd(b, quick);
  }
  for (int u = 0; u < w->vectors; u++) result.of[u] = short_quotient(d, a.of[u], divisor);
  if (!is_short) {
    store_slots(w, result, slots, w->vectors);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, slow);
    for (int u = 0; u < w->vectors; u++) result.of[u] = long_quotient(d, a.of[u], divisor);
    store_slots(w, result, slots, w->vectors);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
    result = load_slots(w, d->lanes, slots, w->vectors);
  }
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef flip = flips ? lane_signs.of[u] : NULL;
    if (sign && !d->remainder) flip = flip ? LLVMBuildXor(b, flip, sign, "") : sign;
    if (flip) result.of[u] = with_sign(d, result.of[u], flip);
    result.of[u] = LLVMBuildFreeze(b, result.of[u], "");
  }
  return result;
}

/* ---- all of them ---- */

bool widen_division(widener *w, LLVMValueRef i, vectors *out) {
  division_method method = division_of(w->shapes, i);
  if (method == DIVISION_PLAIN) return false;
  LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
  LLVMValueRef divisor = LLVMGetOperand(i, 1);
  division d = {.w = w,
                .b = w->b,
                .i = i,
                .is_signed = opcode == LLVMSDiv || opcode == LLVMSRem,
                .remainder = opcode == LLVMURem || opcode == LLVMSRem,
                .positive = range_where_used(w->shapes, i, 0).low >= 0,
                .scalar = LLVMTypeOf(i),
                .lanes = vector_type(w, LLVMTypeOf(i))};
  vectors a = value_vectors(w, LLVMGetOperand(i, 0)), by = {0};
  if (is_uniform(w, divisor))
    d.divisor = value_scalar(w, divisor);
  else
    by = value_vectors(w, divisor);
  if (method == DIVISION_SHORT || method == DIVISION_LONG) {
    *out = divide_long(&d, a, method == DIVISION_SHORT);
    return true;
  }
  LLVMTypeRef real =
      method == DIVISION_FLOAT ? LLVMFloatTypeInContext(w->p->context) : LLVMDoubleTypeInContext(w->p->context);
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef q = divide_in(&d, real, a.of[u], by.of[u]);
    if (d.remainder) {
      LLVMValueRef product = LLVMBuildMul(w->b, q, d.divisor ? splat(w, d.divisor) : by.of[u], "");
      q = LLVMBuildSub(w->b, a.of[u], product, "");
    }
    out->of[u] = q;
  }
  return true;
}
