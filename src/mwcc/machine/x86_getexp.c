/* Logarithms by AVX-512's instructions that take numbers apart.
 *
 * The device headers' logarithms (float_logarithm.h, double_logarithm.h) bring a denormal up, have exponent and mantissa from
 * its bits, and decide at the end what becomes of 0, infinity, negative numbers and NaN. That is four comparisons and a
 * product, and comparisons into masks are done where products are, which such kernels have too many of. AVX-512 takes exponent
 * and mantissa of any number above 0, and puts in what becomes of the others by a table. The results have the same bits.
 *
 * What is not above 0 and finite has another exponent then. So it has to be seen first that all which is made of the exponent
 * and the mantissa is dropped for such a number, as the headers do.
 *
 * Vectors alone. Runs behind the optimiser, and knows the headers' arithmetic by what that made of it. */
#include "mwcc/mwcc.h"
#include "machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a number is made of. */
typedef struct format {
  unsigned bits, fraction; /* of all, and behind the leading one */
  double least;            /* that is no denormal */
  const char *packed;      /* in names of instructions */
  char words;
} format;

static const format single = {32, 23, 0x1p-126, "ps", 'd'}, twice = {64, 52, 0x1p-1022, "pd", 'q'};

static const format *format_of(LLVMTypeRef type) {
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return NULL;
  LLVMTypeKind kind = LLVMGetTypeKind(LLVMGetElementType(type));
  const format *f = kind == LLVMFloatTypeKind ? &single : kind == LLVMDoubleTypeKind ? &twice : NULL;
  return f && LLVMGetVectorSize(type) * f->bits >= 128 ? f : NULL;
}

/* ---- shapes ---- */

static bool is_real(LLVMValueRef value, double number) {
  LLVMBool loses;
  LLVMValueRef lane = constant_of_lanes(value);
  if (!lane || !LLVMIsAConstantFP(lane)) return false;
  double found = LLVMConstRealGetDouble(lane, &loses);
  return found == number || (isnan(found) && isnan(number));
}

static bool is_integer(LLVMValueRef value, uint64_t number) {
  LLVMValueRef lane = constant_of_lanes(value);
  return lane && LLVMIsAConstantInt(lane) && LLVMConstIntGetZExtValue(lane) == number;
}

static bool is_operation(LLVMValueRef value, LLVMOpcode opcode) {
  return LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == opcode;
}

static LLVMValueRef operand(LLVMValueRef value, unsigned n) { return LLVMGetOperand(value, n); }

static bool compares(LLVMValueRef value, LLVMRealPredicate predicate, LLVMValueRef x, double number) {
  return LLVMIsAFCmpInst(value) && LLVMGetFCmpPredicate(value) == predicate && operand(value, 0) == x &&
         is_real(operand(value, 1), number);
}

/* The one instruction that uses the value, or NULL. */
static LLVMValueRef only_user(LLVMValueRef value) {
  LLVMUseRef use = LLVMGetFirstUse(value);
  return use && !LLVMGetNextUse(use) ? LLVMGetUser(use) : NULL;
}

/* ---- what becomes of other numbers ---- */

/* Of x a finite number above 0 `y` is taken, of all others something else: the last of the three choices, or NULL. `first` is
   the innermost. */
static LLVMValueRef limited(LLVMValueRef first, LLVMValueRef *x, LLVMValueRef *y) {
  if (!first || !LLVMIsASelectInst(first) || !LLVMIsAFCmpInst(operand(first, 0))) return NULL;
  LLVMValueRef condition = operand(first, 0), zero = only_user(first), last = zero ? only_user(zero) : NULL;
  *x = operand(condition, 0), *y = operand(first, 1);
  if (operand(first, 2) != *x) return NULL;
  if (!compares(condition, LLVMRealONE, *x, INFINITY) && !compares(condition, LLVMRealOLT, *x, INFINITY)) return NULL;
  if (!LLVMIsASelectInst(zero) || !compares(operand(zero, 0), LLVMRealOEQ, *x, 0)) return NULL;
  if (!is_real(operand(zero, 1), -INFINITY) || operand(zero, 2) != first) return NULL;
  if (!last || !LLVMIsASelectInst(last) || !compares(operand(last, 0), LLVMRealOLT, *x, 0)) return NULL;
  return is_real(operand(last, 1), NAN) && operand(last, 2) == zero ? last : NULL;
}

/* ---- whether something is made of them at all ---- */

enum { ZERO = 1, INFINITE = 2, NEGATIVE = 4, NO_NUMBER = 8 };

/* As far as LLVM knew when it dropped the comparison with 0. */
static bool is_never_negative(LLVMValueRef x, int depth) {
  LLVMBool loses;
  LLVMValueRef lane = constant_of_lanes(x);
  if (lane) return LLVMIsAConstantFP(lane) && LLVMConstRealGetDouble(lane, &loses) >= 0;
  if (!depth || !LLVMIsAInstruction(x)) return false;
  const char *name = LLVMIsACallInst(x) ? callee_name(x) : "";
  if (LLVMIsAUIToFPInst(x) || starts_with(name, "llvm.fabs.") || starts_with(name, "llvm.sqrt.")) return true;
  unsigned count = starts_with(name, "llvm.fma.") ? 3 : is_operation(x, LLVMFAdd) || is_operation(x, LLVMFMul) ? 2 : 0;
  for (unsigned i = 0; i < count; i++)
    if (!is_never_negative(operand(x, i), depth - 1)) return false;
  return count;
}

/* The numbers x, of those given, for which a choice takes the value. */
static int chosen_for(LLVMValueRef choice, LLVMValueRef value, LLVMValueRef x, int numbers) {
  LLVMValueRef condition = operand(choice, 0);
  bool first = operand(choice, 1) == value, second = operand(choice, 2) == value;
  if (first && !second)
    return compares(condition, LLVMRealONE, x, INFINITY) || compares(condition, LLVMRealOLT, x, INFINITY)
               ? numbers & ~(INFINITE | NO_NUMBER)
               : numbers;
  if (first || !second) return numbers;
  return compares(condition, LLVMRealOEQ, x, 0)   ? numbers & ~ZERO
         : compares(condition, LLVMRealOLT, x, 0) ? numbers & ~NEGATIVE
                                                  : numbers;
}

static bool is_arithmetic(LLVMValueRef i) {
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMFAdd:
  case LLVMFSub:
  case LLVMFMul:
  case LLVMFDiv:
  case LLVMFNeg:
  case LLVMAdd:
  case LLVMBitCast: return true;
  case LLVMCall: return starts_with(callee_name(i), "llvm.fma.");
  default: return false;
  }
}

enum { MOST_STEPS = 64 };

typedef struct steps {
  struct {
    LLVMValueRef value;
    int numbers;
  } items[MOST_STEPS];
  size_t count;
} steps;

/* Whether all that is made of the value is dropped where x is one of the numbers. */
static bool is_dropped(LLVMValueRef value, LLVMValueRef x, int numbers, steps *seen) {
  if (!numbers) return true;
  for (size_t i = 0; i < seen->count; i++)
    if (seen->items[i].value == value && seen->items[i].numbers == numbers) return true;
  if (seen->count == MOST_STEPS) return false;
  seen->items[seen->count].value = value, seen->items[seen->count++].numbers = numbers;
  for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    bool chooses = LLVMIsASelectInst(user) && operand(user, 0) != value;
    if (!chooses && !is_arithmetic(user)) return false;
    if (!is_dropped(user, x, chooses ? chosen_for(user, value, x, numbers) : numbers, seen)) return false;
  }
  return true;
}

/* For numbers that are not above 0 and finite. */
static bool is_limited(LLVMValueRef value, LLVMValueRef x) {
  enum { DEEP = 4 };
  steps seen = {.count = 0};
  int negative = is_never_negative(x, DEEP) ? 0 : NEGATIVE;
  return is_dropped(value, x, ZERO | INFINITE | NO_NUMBER | negative, &seen);
}

/* ---- instructions ---- */

/* NAME.ps.512 and the like; the operands, and what all have: what lanes that are masked out keep, no such lanes, and the
   rounding that is set. */
static LLVMValueRef call_packed(program *p, LLVMBuilderRef b, const char *name, LLVMValueRef *operands, unsigned count,
                                bool keeps) {
  LLVMTypeRef type = LLVMTypeOf(operands[0]);
  const format *f = format_of(type);
  unsigned lanes = LLVMGetVectorSize(type), bits = lanes * f->bits;
  LLVMValueRef all[8];
  memcpy(all, operands, count * sizeof *operands);
  if (keeps) all[count++] = LLVMConstNull(type);
  all[count++] = LLVMConstAllOnes(lane_mask_type(p, lanes));
  if (bits == 512) all[count++] = constant_i32(p, 4);
  char *full = mw_format("llvm.x86.avx512.mask.%s.%s.%u", name, f->packed, bits);
  LLVMValueRef result = call_intrinsic(p, b, full, NULL, 0, all, count);
  free(full);
  return result;
}

static LLVMValueRef exponent(program *p, LLVMBuilderRef b, LLVMValueRef *x) {
  return call_packed(p, b, "getexp", x, 1, true);
}

/* From 1 to 2. */
static LLVMValueRef mantissa(program *p, LLVMBuilderRef b, LLVMValueRef *x) {
  LLVMValueRef operands[] = {*x, constant_i32(p, 0)};
  return call_packed(p, b, "getmant", operands, 2, true);
}

static LLVMTypeRef words_of(LLVMTypeRef type) {
  LLVMTypeRef word = LLVMIntTypeInContext(LLVMGetTypeContext(type), format_of(type)->bits);
  return LLVMVectorType(word, LLVMGetVectorSize(type));
}

/* NaN where x has a sign, y elsewhere: by bits, since the table knows NaN with a sign alone. */
static LLVMValueRef signed_out(program *p, LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y) {
  enum { CHOOSE = 0xca /* of the second where the first is 1, else of the third */ };
  LLVMTypeRef type = LLVMTypeOf(x), words = words_of(type), element = LLVMGetElementType(words);
  const format *f = format_of(type);
  LLVMValueRef shift = constant_lanes(words, LLVMConstInt(element, f->bits - 1, 0));
  LLVMValueRef sign = LLVMBuildAShr(b, LLVMBuildBitCast(b, x, words, ""), shift, "");
  LLVMValueRef nan = LLVMConstBitCast(constant_lanes(type, LLVMConstReal(LLVMGetElementType(type), NAN)), words);
  LLVMValueRef operands[] = {sign, nan, LLVMBuildBitCast(b, y, words, ""), constant_i32(p, CHOOSE)};
  char *name = mw_format("llvm.x86.avx512.pternlog.%c.%u", f->words, LLVMGetVectorSize(type) * f->bits);
  LLVMValueRef chosen = call_intrinsic(p, b, name, NULL, 0, operands, 4);
  free(name);
  return LLVMBuildBitCast(b, chosen, type, "");
}

/* x, y: what `limited` found, by one instruction for 0, infinity and NaN. */
static LLVMValueRef with_limits(program *p, LLVMBuilderRef b, LLVMValueRef *x_y) {
  enum { ITSELF = 1, MINUS_INFINITY = 4 };
  enum { TABLE = ITSELF | ITSELF << 4 | MINUS_INFINITY << 8 | ITSELF << 20 }; /* NaN of both kinds, 0, infinity */
  LLVMTypeRef words = words_of(LLVMTypeOf(*x_y));
  LLVMValueRef table = constant_lanes(words, LLVMConstInt(LLVMGetElementType(words), TABLE, 0));
  LLVMValueRef operands[] = {signed_out(p, b, x_y[0], x_y[1]), x_y[0], table, constant_i32(p, 0)};
  return call_packed(p, b, "fixupimm", operands, 4, false);
}

/* ---- a number taken apart by its bits ---- */

typedef struct split {
  LLVMValueRef x, bits, power, fraction; /* bits: x's, moved so that the mantissa's range begins elsewhere than at 1 */
} split;

/* x < least ? x 2^places : x */
static bool is_raised(LLVMValueRef value, LLVMValueRef tiny, const format *f, LLVMValueRef *x, double places) {
  if (!LLVMIsASelectInst(value) || operand(value, 0) != tiny) return false;
  *x = operand(value, 2);
  LLVMValueRef product = operand(value, 1);
  return compares(tiny, LLVMRealOLT, *x, f->least) && is_operation(product, LLVMFMul) && operand(product, 0) == *x &&
         is_real(operand(product, 1), ldexp(1, (int)places));
}

/* Of moved bits, the exponent is used and the fraction alone. */
static bool find_parts(split *s, const format *f) {
  s->fraction = NULL;
  LLVMValueRef places = NULL;
  for (LLVMUseRef use = LLVMGetFirstUse(s->bits); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (is_operation(user, LLVMAnd) && is_integer(operand(user, 1), (1ull << f->fraction) - 1) && !s->fraction)
      s->fraction = user;
    else if (is_operation(user, LLVMAShr) && is_integer(operand(user, 1), f->fraction) && !places)
      places = user;
    else
      return false;
  }
  return s->fraction && places && only_user(places);
}

/* Whether the bits' exponent stays in its place: they are moved to below, by less than there are of them. */
static bool moves_down(LLVMValueRef constant, const format *f) {
  LLVMValueRef lane = constant_of_lanes(constant);
  if (!lane || !LLVMIsAConstantInt(lane)) return false;
  long long moved = LLVMConstIntGetSExtValue(lane);
  return moved < 0 && -moved < 1ll << (f->bits - 2);
}

/* value = (x's exponent, from bits) - (x was raised ? by so much : 0), which is all of the exponent's use. */
static bool is_split(LLVMValueRef value, split *s) {
  const format *f = format_of(LLVMTypeOf(value));
  LLVMBool loses;
  if (!f || !is_operation(value, LLVMFSub)) return false;
  LLVMValueRef number = operand(value, 0), raised = operand(value, 1);
  if (!is_operation(number, LLVMSIToFP) || only_user(number) != value || !LLVMIsASelectInst(raised)) return false;
  LLVMValueRef tiny = operand(raised, 0), places = constant_of_lanes(operand(raised, 1)), shifted = operand(number, 0);
  if (!places || !LLVMIsAConstantFP(places) || !LLVMIsNull(operand(raised, 2))) return false;
  if (is_operation(shifted, LLVMTrunc) && only_user(shifted)) shifted = operand(shifted, 0);
  if (!is_operation(shifted, LLVMAShr) || !is_operation(operand(shifted, 0), LLVMAdd)) return false;
  s->power = value, s->bits = operand(shifted, 0);
  LLVMValueRef bits = operand(s->bits, 0);
  return moves_down(operand(s->bits, 1), f) && LLVMIsABitCastInst(bits) &&
         is_raised(operand(bits, 0), tiny, f, &s->x, LLVMConstRealGetDouble(places, &loses)) && find_parts(s, f);
}

static void take_apart(program *p, LLVMBuilderRef b, const split *s) {
  LLVMValueRef x = s->x;
  LLVMPositionBuilderBefore(b, s->bits);
  LLVMValueRef bits = LLVMBuildBitCast(b, by_registers(p, b, mantissa, &x, 1), LLVMTypeOf(s->bits), "");
  LLVMSetOperand(s->bits, 0, bits);
  LLVMPositionBuilderBefore(b, s->power);
  LLVMValueRef power = LLVMBuildFAdd(b, operand(s->power, 0), by_registers(p, b, exponent, &x, 1), "");
  LLVMReplaceAllUsesWith(s->power, power);
  LLVMInstructionEraseFromParent(s->power);
}

static void take_numbers_apart(program *p, LLVMBuilderRef b, LLVMValueRef function) {
  instructions list = instructions_of_function(function);
  for (size_t n = 0; n < list.count; n++) {
    split s;
    if (is_split(list.items[n], &s) && is_limited(s.power, s.x) && is_limited(s.fraction, s.x)) take_apart(p, b, &s);
  }
  free(list.items);
}

static void put_limits_in(program *p, LLVMBuilderRef b, LLVMValueRef function) {
  instructions list = instructions_of_function(function);
  for (size_t n = 0; n < list.count; n++) {
    LLVMValueRef x_y[2], last = limited(list.items[n], &x_y[0], &x_y[1]);
    if (!last || !format_of(LLVMTypeOf(last))) continue;
    LLVMPositionBuilderBefore(b, last);
    LLVMReplaceAllUsesWith(last, by_registers(p, b, with_limits, x_y, 2));
  }
  free(list.items);
}

void split_logarithms(program *p) {
  if (!strstr(p->features, "+avx512f") || !strstr(p->features, "+avx512vl")) return;
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    take_numbers_apart(p, b, f); /* first: it asks for the limits */
    put_limits_in(p, b, f);
  }
  LLVMDisposeBuilder(b);
}
