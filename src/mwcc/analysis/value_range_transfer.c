/* The transfer function: the range of an instruction from those of its operands, in threads without undefined
 * behaviour. */
#include "value_range.h"
#include "analysis.h"

#include <stdlib.h>
#include <string.h>

/* ---- wrapping ---- */

/* A result that cannot overflow (nsw). */
static range clamp(wide low, wide high, unsigned width) {
  range all = full_range(width);
  range r = {low < all.low ? all.low : (int64_t)low, high > all.high ? all.high : (int64_t)high};
  return is_never(r) || low > all.high || high < all.low ? all : r; /* it always overflows: undefined behaviour */
}

/* A result that may wrap: exact if it cannot, else anything. */
static range fit(wide low, wide high, unsigned width) {
  range all = full_range(width);
  return low < all.low || high > all.high ? all : (range){(int64_t)low, (int64_t)high};
}

typedef struct span { /* of the value as an unsigned number */
  wide low, high;
} span;

static span as_unsigned(range r, unsigned width) {
  wide all = (wide)1 << width;
  if (r.low >= 0) return (span){r.low, r.high};
  if (r.high < 0) return (span){r.low + all, r.high + all};
  return (span){0, all - 1};
}

/* ---- ids ---- */

static const char sreg[] = "llvm.nvvm.read.ptx.sreg.";

/* "tid.x" for a read of threadIdx.x, or "". */
static const char *id_name(LLVMValueRef value) {
  while (LLVMIsAZExtInst(value) || LLVMIsASExtInst(value)) value = LLVMGetOperand(value, 0);
  if (!LLVMIsACallInst(value)) return "";
  const char *name = callee_name(value);
  return starts_with(name, sreg) ? name + strlen(sreg) : "";
}

/* The range of an id, by the device's limits and the launch class. */
static range id_range(const ranges *r, const char *name) {
  enum { MOST_ROWS = 65535 }; /* gridDim.y and .z */
  const char *axis = strchr(name, '.');
  bool is_x = axis && axis[1] == 'x';
  unsigned known = axis ? block_size(r->graph->program, axis[1]) : 0;
  bool is_long =
      r->graph->program->turned_grid ? axis && axis[1] == 'y' : is_x; /* of blockIdx: what the source calls x */
  if (known && starts_with(name, "tid.")) return (range){0, known - 1};
  if (starts_with(name, "tid.z")) return (range){0, 63};
  if (starts_with(name, "ntid.z")) return (range){1, 64};
  if (starts_with(name, "ctaid.") && !is_long) return (range){0, MOST_ROWS - 1};
  if (starts_with(name, "nctaid.") && !is_x) return (range){1, MOST_ROWS};
  if (starts_with(name, "tid.")) return (range){0, 1023};
  if (starts_with(name, "ntid.")) return (range){1, 1024};
  if (starts_with(name, "ctaid.")) return (range){0, r->extent.grid - 1};
  if (starts_with(name, "nctaid.")) return (range){1, r->extent.grid};
  if (starts_with(name, "laneid") || starts_with(name, "warpid")) return (range){0, 31};
  if (starts_with(name, "warpsize")) return (range){32, 32};
  if (strcmp(name, "envreg2") == 0) return (range){0, INT32_MAX}; /* ELEMENTS_DONE */
  return full_range(starts_with(name, "clock64") || starts_with(name, "globaltimer") ? 64 : 32);
}

/* The factors of a product; a shift by a constant is a factor, too. */
typedef struct product {
  LLVMValueRef factors[6];
  int count;
  wide constant;
  bool wraps; /* an inner product or shift may have wrapped: the result is exact only if it fits */
} product;

static bool factorise(LLVMValueRef value, product *p, int depth) {
  LLVMOpcode opcode = LLVMIsAInstruction(value) ? LLVMGetInstructionOpcode(value) : (LLVMOpcode)0;
  if (LLVMIsAConstantInt(value)) {
    p->constant *= LLVMConstIntGetSExtValue(value);
    return p->constant < (wide)1 << 62 && p->constant > -((wide)1 << 62);
  }
  if (depth && (opcode == LLVMMul || opcode == LLVMShl)) p->wraps = p->wraps || !LLVMGetNSW(value);
  if (depth && opcode == LLVMMul)
    return factorise(LLVMGetOperand(value, 0), p, depth - 1) && factorise(LLVMGetOperand(value, 1), p, depth - 1);
  if (depth && opcode == LLVMShl && LLVMIsAConstantInt(LLVMGetOperand(value, 1))) {
    unsigned long long amount = LLVMConstIntGetZExtValue(LLVMGetOperand(value, 1));
    if (amount > 31) return false;
    p->constant *= (wide)1 << amount;
    return p->constant < (wide)1 << 62 && factorise(LLVMGetOperand(value, 0), p, depth - 1);
  }
  if (p->count == (int)MW_COUNT(p->factors)) return false;
  p->factors[p->count++] = value;
  return true;
}

static bool times(wide *low, wide *high, range r) {
  const wide limit = (wide)1 << 80;
  wide corners[] = {*low * r.low, *low * r.high, *high * r.low, *high * r.high};
  *low = *high = corners[0];
  for (int i = 1; i < 4; i++) {
    if (corners[i] < *low) *low = corners[i];
    if (corners[i] > *high) *high = corners[i];
  }
  return *low > -limit && *high < limit && r.low > -((int64_t)1 << 40) && r.high < (int64_t)1 << 40;
}

/* A product, factor by factor; blockIdx.a * blockDim.a and gridDim.a * blockDim.a are bounded by the launch class. */
static bool product_range(const ranges *r, LLVMValueRef value, int at, wide *low, wide *high, bool *wraps) {
  product p = {.constant = 1};
  if (!factorise(value, &p, 4)) return false;
  *low = *high = p.constant;
  for (int i = 0; i < p.count; i++) {
    const char *name = p.factors[i] ? id_name(p.factors[i]) : "";
    bool index = starts_with(name, "ctaid."), count = starts_with(name, "nctaid.");
    if (!index && !count) continue;
    for (int j = 0; j < p.count; j++) {
      const char *other = p.factors[j] ? id_name(p.factors[j]) : "";
      if (!starts_with(other, "ntid.") || strcmp(strchr(other, '.'), strchr(name, '.')) != 0) continue;
      if (!times(low, high, index ? (range){0, r->extent.launch - 1} : (range){1, r->extent.launch})) return false;
      p.factors[i] = p.factors[j] = NULL;
      break;
    }
  }
  for (int i = 0; i < p.count; i++) {
    if (!p.factors[i]) continue;
    range factor = range_at(r, p.factors[i], at);
    if (is_never(factor) || !times(low, high, factor)) return false;
  }
  *wraps = p.wraps;
  return true;
}

/* ---- transfer ---- */

static bool has_nsw(LLVMValueRef i) { return LLVMGetNSW(i); }

static wide magnitude(range r) {
  wide low = r.low < 0 ? -(wide)r.low : r.low, high = r.high < 0 ? -(wide)r.high : r.high;
  return low > high ? low : high;
}

/* All ones below and at the highest bit of a number. */
static int64_t ones_up_to(int64_t number) {
  int64_t ones = 0;
  while (ones < number) ones = ones * 2 + 1;
  return ones;
}

static range arithmetic(const ranges *r, LLVMValueRef i, range a, range b, int at, unsigned width) {
  range whole = full_range(width);
  wide low, high;
  bool wraps;
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMAdd:
    low = (wide)a.low + b.low, high = (wide)a.high + b.high;
    return has_nsw(i) ? clamp(low, high, width) : fit(low, high, width);
  case LLVMSub:
    low = (wide)a.low - b.high, high = (wide)a.high - b.low;
    if (LLVMGetNUW(i) && a.low >= 0) return clamp(low < 0 ? 0 : low, a.high, width); /* at most a */
    return has_nsw(i) ? clamp(low, high, width) : fit(low, high, width);
  case LLVMMul:
  case LLVMShl:
    if (product_range(r, i, at, &low, &high, &wraps)) whole = wraps ? fit(low, high, width) : clamp(low, high, width);
    /* neither the operands nor the result can have wrapped */
    return has_nsw(i) && a.low >= 0 && b.low >= 0 ? meet_ranges(whole, (range){0, INT64_MAX}) : whole;
  default: return full_range(width);
  }
}

static range division(LLVMValueRef i, range a, range b, unsigned width) {
  span ua = as_unsigned(a, width), ub = as_unsigned(b, width);
  wide most = magnitude(a), divisor = magnitude(b);
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMUDiv: return fit(ub.high ? ua.low / ub.high : 0, ua.high / (ub.low ? ub.low : 1), width);
  case LLVMURem: return fit(0, ua.high < ub.high ? ua.high : ub.high ? ub.high - 1 : 0, width);
  case LLVMSDiv:
    if (b.low > 0)
      return fit((wide)a.low / (a.low < 0 ? b.low : b.high), (wide)a.high / (a.high < 0 ? b.high : b.low), width);
    return clamp(-most, most, width);
  case LLVMSRem:
    if (divisor && divisor - 1 < most) most = divisor - 1;
    return clamp(a.low >= 0 ? 0 : -most, a.high <= 0 ? 0 : most, width);
  default: return full_range(width);
  }
}

static range bitwise(LLVMValueRef i, range a, range b, unsigned width) {
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMAnd:
    if (a.low >= 0 && b.low >= 0) return (range){0, a.high < b.high ? a.high : b.high};
    if (a.low >= 0) return (range){0, a.high};
    return b.low >= 0 ? (range){0, b.high} : full_range(width);
  case LLVMOr:
    if (LLVMGetIsDisjoint(i)) return fit((wide)a.low + b.low, (wide)a.high + b.high, width);
    if (a.low < 0 || b.low < 0) return full_range(width);
    return (range){a.low > b.low ? a.low : b.low, ones_up_to(a.high > b.high ? a.high : b.high)};
  case LLVMXor:
    if (b.low == -1 && b.high == -1) return (range){-1 - a.high, -1 - a.low};
    if (a.low < 0 || b.low < 0) return full_range(width);
    return (range){0, ones_up_to(a.high > b.high ? a.high : b.high)};
  default: return full_range(width);
  }
}

static range shifted_right(LLVMValueRef i, range a, range amount, unsigned width) {
  bool known = amount.low == amount.high && amount.low >= 0 && amount.low < (int64_t)width;
  if (LLVMGetInstructionOpcode(i) == LLVMAShr) {
    if (known) return (range){a.low >> amount.low, a.high >> amount.low};
    return (range){a.low < 0 ? a.low : 0, a.high < 0 ? -1 : a.high};
  }
  span u = as_unsigned(a, width);
  if (known) return fit(u.low >> amount.low, u.high >> amount.low, width);
  return fit(0, u.high, width);
}

static range extremum(const char *name, range a, range b, unsigned width) {
  bool is_unsigned = name[0] == 'u', is_min = name[2] == 'i';
  if (is_unsigned && (a.low < 0 || b.low < 0)) {
    /* at most the one that is not negative */
    if (is_min && a.low >= 0) return (range){0, a.high};
    return is_min && b.low >= 0 ? (range){0, b.high} : full_range(width);
  }
  if (is_min) return (range){a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
  return (range){a.low > b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}

static range call_range(const ranges *r, LLVMValueRef call, int at, unsigned width) {
  static const char *const extrema[] = {"smin", "smax", "umin", "umax"};
  static const char *const counts[] = {"llvm.ctpop.", "llvm.ctlz.", "llvm.cttz."};
  const char *name = callee_name(call);
  if (starts_with(name, sreg)) return meet_ranges(full_range(width), id_range(r, name + strlen(sreg)));
  if (strcmp(name, "__mw_barrier.popc") == 0) return (range){0, 1024};
  for (size_t i = 0; i < MW_COUNT(extrema); i++)
    if (starts_with(name, "llvm.") && starts_with(name + 5, extrema[i])) {
      range a = range_at(r, LLVMGetOperand(call, 0), at), b = range_at(r, LLVMGetOperand(call, 1), at);
      if (is_never(a) || is_never(b)) return never;
      return extremum(extrema[i], a, b, width);
    }
  for (size_t i = 0; i < MW_COUNT(counts); i++)
    if (starts_with(name, counts[i]) && width >= 8) return (range){0, (int64_t)width};
  if (starts_with(name, "llvm.abs.")) {
    range a = range_at(r, LLVMGetOperand(call, 0), at);
    if (is_never(a)) return never;
    wide most = magnitude(a); /* the lowest number is its own absolute value, unless that is poison */
    return a.low == full_range(width).low && LLVMIsNull(LLVMGetOperand(call, 1)) ? full_range(width)
                                                                                 : clamp(0, most, width);
  }
  return full_range(width);
}

static range cast_range(LLVMValueRef i, range a, unsigned from, unsigned width) {
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMSExt: return a;
  case LLVMZExt:
    if (LLVMGetNNeg(i)) return meet_ranges(a, (range){0, INT64_MAX});
    return fit(as_unsigned(a, from).low, as_unsigned(a, from).high, width);
  default: return fit(a.low, a.high, width);
  }
}

static range phi_range(const ranges *r, LLVMValueRef phi, int at) {
  range all = never;
  for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
    int from = graph_incoming(r->graph, phi, i);
    if (from >= 0 && r->order->index[from] >= 0)
      all = join_ranges(all, range_on_edge(r, LLVMGetIncomingValue(phi, i), from, at));
  }
  return all;
}

range transfer_range(const ranges *r, LLVMValueRef i, int at) {
  unsigned width = integer_width(i);
  LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
  range a = never, b = never;
  if (opcode == LLVMPHI) return phi_range(r, i, at);
  if (opcode == LLVMCall) return call_range(r, i, at, width);
  if (opcode == LLVMSelect) {
    LLVMValueRef condition = LLVMGetOperand(i, 0);
    return join_ranges(range_where(r, LLVMGetOperand(i, 1), at, condition, true),
                       range_where(r, LLVMGetOperand(i, 2), at, condition, false));
  }
  if (opcode == LLVMICmp || opcode == LLVMFCmp) return full_range(1);
  bool one = opcode == LLVMSExt || opcode == LLVMZExt || opcode == LLVMTrunc || opcode == LLVMFreeze;
  if (!one && !LLVMIsABinaryOperator(i)) return full_range(width);
  a = range_at(r, LLVMGetOperand(i, 0), at);
  if (is_never(a)) return never;
  if (opcode == LLVMFreeze) return a;
  if (one) return cast_range(i, a, integer_width(LLVMGetOperand(i, 0)), width);
  b = range_at(r, LLVMGetOperand(i, 1), at);
  if (is_never(b)) return never;
  switch (opcode) {
  case LLVMAdd:
  case LLVMSub:
  case LLVMMul:
  case LLVMShl: return arithmetic(r, i, a, b, at, width);
  case LLVMUDiv:
  case LLVMSDiv:
  case LLVMURem:
  case LLVMSRem: return division(i, a, b, width);
  case LLVMLShr:
  case LLVMAShr: return shifted_right(i, a, b, width);
  default: return bitwise(i, a, b, width);
  }
}
