/* The PTX instructions that inline asm may use on the CPU device, and what each is here (PTX ISA 8.0, chapter 9).
 *
 * Shifts, divisions and conversions become LLVM's plain instructions: the stage after this one gives them PTX's meaning
 * where LLVM leaves it open. Barriers, fences, shuffles and votes become the intrinsics that clang makes of CUDA C's. */
#include "ptx.h"

#include <stdio.h>
#include <string.h>

/* ---- special registers ---- */

static LLVMValueRef read_register(ptx_statement *s, const char *name) {
  return call_intrinsic(s->p, s->b, name, NULL, 0, NULL, 0);
}

LLVMValueRef ptx_special(ptx_statement *s, const char *name) {
  static const char *const plain[][2] = {{"%tid.x", "tid.x"},
                                         {"%tid.y", "tid.y"},
                                         {"%tid.z", "tid.z"},
                                         {"%ntid.x", "ntid.x"},
                                         {"%ntid.y", "ntid.y"},
                                         {"%ntid.z", "ntid.z"},
                                         {"%ctaid.x", "ctaid.x"},
                                         {"%ctaid.y", "ctaid.y"},
                                         {"%ctaid.z", "ctaid.z"},
                                         {"%nctaid.x", "nctaid.x"},
                                         {"%nctaid.y", "nctaid.y"},
                                         {"%nctaid.z", "nctaid.z"},
                                         {"%laneid", "laneid"},
                                         {"%warpid", "warpid"},
                                         {"%clock", "clock"},
                                         {"%clock64", "clock64"},
                                         {"%globaltimer", "globaltimer"}};
  char full[64];
  for (size_t i = 0; i < MW_COUNT(plain); i++) {
    if (strcmp(name, plain[i][0]) != 0) continue;
    snprintf(full, sizeof full, "llvm.nvvm.read.ptx.sreg.%s", plain[i][1]);
    return read_register(s, full);
  }
  if (strcmp(name, "WARP_SZ") == 0) return constant_i32(s->p, 32);
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

/* mov.b64 {low, high}, x and mov.b64 x, {low, high}; also b32 of two 16-bit halves. */
static bool translate_halves(const ptx_source *x) {
  bool packs = x->i->operands[1][0] == '{';
  const char *text = x->i->operands[packs ? 1 : 0];
  char low[PTX_NAME] = "", high[PTX_NAME] = "";
  if (sscanf(text, "{%31[^,],%31[^}]}", low, high) != 2) return false;
  LLVMBuilderRef b = x->s->b;
  LLVMTypeRef half = LLVMIntTypeInContext(x->s->p->context, x->t.bits / 2);
  LLVMValueRef shift = ptx_number(x, x->t.bits / 2);
  if (packs) {
    LLVMValueRef upper = LLVMBuildZExt(b, ptx_read(x->s, high, half), x->t.type, "");
    LLVMValueRef lower = LLVMBuildZExt(b, ptx_read(x->s, low, half), x->t.type, "");
    ptx_result(x, LLVMBuildOr(b, LLVMBuildShl(b, upper, shift, ""), lower, ""));
  } else {
    LLVMValueRef value = ptx_operand(x, 1);
    ptx_write(x->s, low, LLVMBuildTrunc(b, value, half, ""));
    ptx_write(x->s, high, LLVMBuildTrunc(b, LLVMBuildLShr(b, value, shift, ""), half, ""));
  }
  return true;
}

/* What a comparison asks of real numbers where one may be no number: its name ends in u. */
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

/* setp.lt.s32 p, a, b; with .and, .or or .xor and a fourth operand, that joins the result. */
static bool translate_setp(const ptx_source *x) {
  int n = x->i->operand_count - 3, parts = x->i->part_count - ptx_has_part(x->i, "ftz");
  LLVMValueRef result;
  if (n < 0 || n > 1 || parts != 3 + n) return false;
  if (!compare(x, x->i->parts[1], ptx_operand(x, 1), ptx_operand(x, 2), &result)) return false;
  if (n) {
    const char *join = x->i->parts[2], *name = x->i->operands[3];
    LLVMValueRef other = ptx_read(x->s, name + (*name == '!'), x->s->p->i1);
    if (*name == '!') other = LLVMBuildNot(x->s->b, other, "");
    if (strcmp(join, "and") == 0)
      result = LLVMBuildAnd(x->s->b, result, other, "");
    else if (strcmp(join, "or") == 0)
      result = LLVMBuildOr(x->s->b, result, other, "");
    else if (strcmp(join, "xor") == 0)
      result = LLVMBuildXor(x->s->b, result, other, "");
    else
      return false;
  }
  ptx_result(x, result);
  return true;
}

/* slct: a where c is not negative, else b */
static bool translate_slct(const ptx_source *x) {
  ptx_type type;
  LLVMBuilderRef b = x->s->b;
  bool real = strcmp(x->i->parts[x->i->part_count - 1], "f32") == 0;
  if (!ptx_type_of(x->s, x->i->parts[x->i->part_count - 2], &type) || x->t.bits != 32) return false;
  LLVMValueRef by = ptx_operand(x, 3), zero = LLVMConstNull(x->t.type);
  LLVMValueRef positive =
      real ? LLVMBuildFCmp(b, LLVMRealOGE, by, zero, "") : LLVMBuildICmp(b, LLVMIntSGE, by, zero, "");
  LLVMValueRef left = ptx_read(x->s, x->i->operands[1], type.type),
               right = ptx_read(x->s, x->i->operands[2], type.type);
  ptx_result(x, LLVMBuildSelect(b, positive, left, right, ""));
  return true;
}

static bool translate_selp(const ptx_source *x) {
  LLVMValueRef predicate = ptx_read(x->s, x->i->operands[3], x->s->p->i1);
  ptx_result(x, LLVMBuildSelect(x->s->b, predicate, ptx_operand(x, 1), ptx_operand(x, 2), ""));
  return true;
}

/* The intrinsic that rounds as .rni, .rzi, .rmi or .rpi say, or NULL. */
static const char *whole_rounding(const ptx_source *x) {
  return ptx_has_part(x->i, "rni")   ? "llvm.rint"
         : ptx_has_part(x->i, "rzi") ? "llvm.trunc"
         : ptx_has_part(x->i, "rmi") ? "llvm.floor"
         : ptx_has_part(x->i, "rpi") ? "llvm.ceil"
                                     : NULL;
}

/* cvt.to.from: integers among each other, to real numbers, and from them by all four roundings. */
static bool translate_cvt(const ptx_source *x) {
  LLVMBuilderRef b = x->s->b;
  ptx_type to, from = x->t;
  if (x->i->part_count < 3 || ptx_has_part(x->i, "sat") || !ptx_type_of(x->s, x->i->parts[x->i->part_count - 2], &to))
    return false;
  LLVMValueRef value = ptx_operand(x, 1);
  const char *rounding = from.is_float ? whole_rounding(x) : NULL;
  if (rounding) value = call_intrinsic(x->s->p, b, rounding, &from.type, 1, &value, 1);
  if (!to.is_float && !from.is_float)
    value = LLVMBuildIntCast2(b, value, to.type, from.is_signed, "");
  else if (to.is_float && from.is_float && to.bits != from.bits && (to.bits > from.bits || ptx_has_part(x->i, "rn")))
    value = LLVMBuildFPCast(b, value, to.type, "");
  else if (to.is_float && !from.is_float && ptx_has_part(x->i, "rn"))
    value = from.is_signed ? LLVMBuildSIToFP(b, value, to.type, "") : LLVMBuildUIToFP(b, value, to.type, "");
  else if (!to.is_float && from.is_float && rounding)
    value = to.is_signed ? LLVMBuildFPToSI(b, value, to.type, "") : LLVMBuildFPToUI(b, value, to.type, "");
  else if (!rounding || to.bits != from.bits)
    return false;
  ptx_result(x, value);
  return true;
}

/* ---- memory ---- */

/* "[$1+8]" */
static LLVMValueRef address(const ptx_source *x, const char *text) {
  char base[PTX_NAME] = "";
  long offset = 0;
  if (sscanf(text, "[%31[^]+]+%ld]", base, &offset) < 1) return NULL;
  LLVMValueRef at = constant_i64(x->s->p, (uint64_t)offset);
  LLVMValueRef pointer = ptx_read(x->s, base, x->s->p->pointer);
  return LLVMBuildGEP2(x->s->b, x->s->p->i8, pointer, &at, 1, "");
}

/* "{$0,$1}" by number */
static bool element_name(const char *list, int n, char *name) {
  const char *at = list + (*list == '{');
  for (; n > 0 && at; n--) at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
  return at && sscanf(at, "%31[^,}]", name) == 1;
}

/* Generic and global addresses; hints and scopes of caches change no value. .v2 and .v4 are as many elements. */
static bool translate_access(const ptx_source *x, bool load) {
  static const char *const hints[] = {"global", "ca", "cg", "cs",       "lu", "cv", "nc",
                                      "wb",     "wt", "v2", "volatile", "v4", "ro"};
  bool is_volatile = ptx_has_part(x->i, "volatile") || ptx_has_part(x->i, "cv") || ptx_has_part(x->i, "wt");
  int count = ptx_has_part(x->i, "v4") ? 4 : ptx_has_part(x->i, "v2") ? 2 : 1;
  const char *list = x->i->operands[load ? 0 : 1];
  for (int n = 1; n + 1 < x->i->part_count; n++) {
    bool known = false;
    for (size_t k = 0; k < MW_COUNT(hints); k++) known = known || strcmp(x->i->parts[n], hints[k]) == 0;
    if (!known) return false;
  }
  LLVMValueRef start = address(x, x->i->operands[load ? 1 : 0]), access, loaded[4];
  char names[4][PTX_NAME];
  if (!start || (*list == '{') != (count > 1)) return false;
  for (int n = 0; n < count; n++) {
    LLVMValueRef offset = constant_i64(x->s->p, (uint64_t)n * x->t.bits / 8);
    LLVMValueRef at = LLVMBuildGEP2(x->s->b, x->s->p->i8, start, &offset, 1, "");
    if (!element_name(list, n, names[n])) return false;
    if (load)
      loaded[n] = access = LLVMBuildLoad2(x->s->b, x->t.type, at, "");
    else
      access = LLVMBuildStore(x->s->b, ptx_read(x->s, names[n], x->t.type), at);
    LLVMSetAlignment(access, x->t.bits / 8);
    LLVMSetVolatile(access, is_volatile);
  }
  for (int n = 0; load && n < count; n++) ptx_write(x->s, names[n], loaded[n]);
  return true;
}

/* atom d, [a], b and red [a], b: generic and global addresses, every order and scope as CUDA C's functions have it. */
static bool translate_atomic(const ptx_source *x, bool result) {
  static const struct {
    const char *name;
    LLVMAtomicRMWBinOp is_unsigned, is_signed;
  } table[] = {
      {"add", LLVMAtomicRMWBinOpAdd, LLVMAtomicRMWBinOpAdd},    {"and", LLVMAtomicRMWBinOpAnd, LLVMAtomicRMWBinOpAnd},
      {"or", LLVMAtomicRMWBinOpOr, LLVMAtomicRMWBinOpOr},       {"xor", LLVMAtomicRMWBinOpXor, LLVMAtomicRMWBinOpXor},
      {"exch", LLVMAtomicRMWBinOpXchg, LLVMAtomicRMWBinOpXchg}, {"min", LLVMAtomicRMWBinOpUMin, LLVMAtomicRMWBinOpMin},
      {"max", LLVMAtomicRMWBinOpUMax, LLVMAtomicRMWBinOpMax}};
  static const char *const allowed[] = {"relaxed", "acquire", "release", "acq_rel", "cta",
                                        "cluster", "gpu",     "sys",     "global"};
  const LLVMAtomicOrdering order = LLVMAtomicOrderingSequentiallyConsistent;
  const char *name = x->i->parts[x->i->part_count - 2];
  LLVMBuilderRef b = x->s->b;
  int first = result ? 1 : 0, operands = x->i->operand_count - first;
  for (int n = 1; n + 2 < x->i->part_count; n++) {
    bool known = false;
    for (size_t k = 0; k < MW_COUNT(allowed); k++) known = known || strcmp(x->i->parts[n], allowed[k]) == 0;
    if (!known) return false;
  }
  LLVMValueRef at = address(x, x->i->operands[first]), old = NULL;
  if (!at || x->t.bits < 32) return false;
  if (strcmp(name, "cas") == 0 && operands == 3 && !x->t.is_float) {
    LLVMValueRef pair =
        LLVMBuildAtomicCmpXchg(b, at, ptx_operand(x, first + 1), ptx_operand(x, first + 2), order, order, 0);
    old = LLVMBuildExtractValue(b, pair, 0, "");
  }
  for (size_t n = 0; n < MW_COUNT(table) && operands == 2; n++) {
    if (strcmp(name, table[n].name) != 0 || (x->t.is_float && n > 0)) continue;
    LLVMAtomicRMWBinOp op = x->t.is_float    ? LLVMAtomicRMWBinOpFAdd
                            : x->t.is_signed ? table[n].is_signed
                                             : table[n].is_unsigned;
    old = LLVMBuildAtomicRMW(b, op, at, ptx_operand(x, first + 1), order, 0);
  }
  if (old && result) ptx_result(x, old);
  return old != NULL;
}

/* ---- threads together ---- */

/* d[|p], value, lane, clamp and segment, mask. Without .sync the lanes that are there. */
static bool translate_shfl(const ptx_source *x) {
  static const char *const modes[] = {"idx", "up", "down", "bfly"};
  program *p = x->s->p;
  if (!ptx_has_part(x->i, "sync") || x->i->operand_count != 5 || strchr(x->i->operands[0], '|')) return false;
  for (size_t n = 0; n < MW_COUNT(modes); n++) {
    if (!ptx_has_part(x->i, modes[n])) continue;
    char name[64];
    snprintf(name, sizeof name, "llvm.nvvm.shfl.sync.%s.i32", modes[n]);
    LLVMValueRef arguments[4] = {ptx_operand_i32(x, 4), ptx_operand_i32(x, 1), ptx_operand_i32(x, 2),
                                 ptx_operand_i32(x, 3)};
    ptx_result(x, call_intrinsic(p, x->s->b, name, NULL, 0, arguments, 4));
    return true;
  }
  return false;
}

static bool translate_vote(const ptx_source *x) {
  program *p = x->s->p;
  if (!ptx_has_part(x->i, "sync") || x->i->operand_count != 3) return false;
  const char *name = ptx_has_part(x->i, "ballot") ? "llvm.nvvm.vote.ballot.sync"
                     : ptx_has_part(x->i, "all")  ? "llvm.nvvm.vote.all.sync"
                     : ptx_has_part(x->i, "any")  ? "llvm.nvvm.vote.any.sync"
                     : ptx_has_part(x->i, "uni")  ? "llvm.nvvm.vote.uni.sync"
                                                  : NULL;
  if (!name) return false;
  LLVMValueRef arguments[2] = {ptx_operand_i32(x, 2), ptx_read(x->s, x->i->operands[1], p->i1)};
  ptx_result(x, call_intrinsic(p, x->s->b, name, NULL, 0, arguments, 2));
  return true;
}

/* match.any.sync.b32 d, a, mask and redux.sync.add.s32 d, a, mask */
static bool translate_together(const ptx_source *x) {
  program *p = x->s->p;
  bool match = strcmp(x->i->parts[0], "match") == 0;
  if (!ptx_has_part(x->i, "sync") || x->i->operand_count != 3 || (!match && x->t.bits != 32)) return false;
  LLVMValueRef value = ptx_operand(x, 1), mask = ptx_operand_i32(x, 2);
  char name[64] = "";
  if (match && ptx_has_part(x->i, "any")) snprintf(name, sizeof name, "llvm.nvvm.match.any.sync.i%u", x->t.bits);
  static const char *const operations[] = {"add", "min", "max", "and", "or", "xor"};
  for (size_t n = 0; n < MW_COUNT(operations) && !match; n++)
    if (ptx_has_part(x->i, operations[n]))
      snprintf(name, sizeof name, "llvm.nvvm.redux.sync.%s%s", !x->t.is_signed && (n == 1 || n == 2) ? "u" : "",
               operations[n]);
  if (!*name) return false;
  LLVMValueRef arguments[2] = {match ? mask : value, match ? value : mask};
  ptx_result(x, call_intrinsic(p, x->s->b, name, NULL, 0, arguments, 2));
  return true;
}

/* What has no result. */
static bool translate_effect(ptx_statement *s, const ptx_instruction *i) {
  const char *name = i->parts[0];
  bool barrier = strcmp(name, "bar") == 0 || strcmp(name, "barrier") == 0;
  if (barrier && ptx_has_part(i, "warp") && i->operand_count == 1) {
    LLVMValueRef mask = ptx_read(s, i->operands[0], s->p->i32);
    call_intrinsic(s->p, s->b, "llvm.nvvm.bar.warp.sync", NULL, 0, &mask, 1);
  } else if (barrier && ptx_has_part(i, "sync") && i->operand_count == 1 && strcmp(i->operands[0], "0") == 0) {
    static const char from_21[] = "llvm.nvvm.barrier.cta.sync.aligned.all";
    LLVMValueRef number = constant_i32(s->p, 0);
    bool is_numbered = LLVMLookupIntrinsicID(from_21, strlen(from_21)) != 0;
    call_intrinsic(s->p, s->b, is_numbered ? from_21 : "llvm.nvvm.barrier0", NULL, 0, &number, is_numbered);
  } else if (strcmp(name, "membar") == 0 || strcmp(name, "fence") == 0) {
    call_intrinsic(s->p, s->b, "llvm.nvvm.membar.gl", NULL, 0, NULL, 0);
  } else if (strcmp(name, "trap") == 0) {
    call_intrinsic(s->p, s->b, "llvm.trap", NULL, 0, NULL, 0);
  } else if (strcmp(name, "nanosleep") != 0 && strcmp(name, "prefetch") != 0 && strcmp(name, "prefetchu") != 0) {
    return false;
  }
  return true;
}

/* ---- by name ---- */

bool ptx_translate(ptx_statement *s, const ptx_instruction *i) {
  const char *name = i->parts[0];
  int operands = i->operand_count;
  if (translate_effect(s, i)) return true;
  ptx_source x = {.s = s, .i = i};
  if (i->part_count < 2 || operands < 1 || !ptx_type_of(s, i->parts[i->part_count - 1], &x.t)) return false;
#define IS(text, count) (strcmp(name, text) == 0 && operands == (count))
  if (IS("mov", 2) && (i->operands[0][0] == '{' || i->operands[1][0] == '{')) return translate_halves(&x);
  if (IS("mov", 2) || IS("cvta", 2)) return ptx_result(&x, ptx_operand(&x, 1)), true;
  if (IS("ld", 2) || IS("ldu", 2)) return translate_access(&x, true);
  if (IS("st", 2)) return translate_access(&x, false);
  if (IS("cvt", 2)) return translate_cvt(&x);
  if (strcmp(name, "setp") == 0) return translate_setp(&x);
  if (IS("slct", 4)) return translate_slct(&x);
  if (strcmp(name, "atom") == 0) return operands > 2 && translate_atomic(&x, true);
  if (IS("red", 2)) return translate_atomic(&x, false);
  if (strcmp(name, "match") == 0 || strcmp(name, "redux") == 0) return translate_together(&x);
  if (IS("selp", 4)) return translate_selp(&x);
  if (strcmp(name, "shfl") == 0) return translate_shfl(&x);
  if (strcmp(name, "vote") == 0) return translate_vote(&x);
  if (IS("activemask", 1)) return ptx_result(&x, read_register(s, "llvm.nvvm.activemask")), true;
#undef IS
  return ptx_translate_number(&x);
}
