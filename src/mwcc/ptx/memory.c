/* Inline PTX: loads, stores, atomic operations, and copies to shared memory (PTX ISA 8.0, chapter 9.7.8).
 *
 * An address is a 64-bit pointer or, in shared memory, a pointer's low 32 bits, which is what CUDA C code gets by
 * truncating the result of `cvta`. Cache hints are ignored: they change no value. */
#include "ptx.h"
#include "mwcc/support/checked_access.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPACE_GLOBAL = 1, SPACE_SHARED = 3 };

/* The address space that an instruction names; 0 is generic, or that of the cluster's blocks. */
static unsigned space_of(const ptx_instruction *i) {
  if (ptx_has_modifier(i, "shared") || ptx_has_modifier(i, "shared::cta")) return SPACE_SHARED;
  return ptx_has_modifier(i, "global") ? SPACE_GLOBAL : 0;
}

/* The pointer with these low 32 bits. A block's shared memory is far smaller than 4 GB, so the upper bits follow from
   the address of any shared variable: pointer = variable + sign-extended 32-bit difference. */
static LLVMValueRef shared_pointer(const ptx_source *x, LLVMValueRef low) {
  program *p = x->s->p;
  LLVMBuilderRef b = x->s->b;
  const shared *known = NULL;
  for (size_t n = 0; n < p->shared_count; n++)
    if (!known || p->shareds[n].dynamic) known = &p->shareds[n];
  if (!known) {
    ptx_refuse(x->s, x->i->words[0], "has a 32-bit address, but this source declares no shared memory");
    return LLVMGetPoison(p->pointer);
  }
  LLVMValueRef start = LLVMBuildPtrToInt(b, LLVMConstAddrSpaceCast(known->global, p->pointer), p->i64, "");
  LLVMValueRef distance = LLVMBuildSub(b, low, LLVMBuildTrunc(b, start, p->i32, ""), "");
  distance = LLVMBuildSExt(b, distance, p->i64, "");
  return LLVMBuildIntToPtr(b, LLVMBuildAdd(b, start, distance, ""), p->pointer, "");
}

static bool is_short(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) == 32;
}

/* The address "[$1+8]" in the address space. */
static LLVMValueRef address_in(const ptx_source *x, const char *text, unsigned space) {
  program *p = x->s->p;
  char base[PTX_NAME] = "";
  long offset = 0;
  if (sscanf(text, "[%63[^]+]+%li]", base, &offset) < 1) return NULL;
  LLVMTypeRef type = ptx_type_in(x->s, base);
  LLVMValueRef pointer;
  if ((space == SPACE_SHARED || ptx_has_modifier(x->i, "shared::cluster")) && type && is_short(type))
    pointer = shared_pointer(x, ptx_read(x->s, base, p->i32));
  else
    pointer = ptx_read(x->s, base, p->pointer);
  if (space) pointer = LLVMBuildAddrSpaceCast(x->s->b, pointer, LLVMPointerTypeInContext(p->context, space), "");
  LLVMValueRef at = constant_i64(p, (uint64_t)offset);
  return LLVMBuildGEP2(x->s->b, p->i8, pointer, &at, 1, "");
}

LLVMValueRef ptx_flat_address(const ptx_source *x, const char *text, bool in_shared) {
  program *p = x->s->p;
  char base[PTX_NAME] = "";
  long offset = 0;
  if (sscanf(text, "[%63[^]+]+%li]", base, &offset) < 1) return NULL;
  LLVMTypeRef type = ptx_type_in(x->s, base);
  LLVMValueRef address;
  if (in_shared && type && is_short(type))
    address = LLVMBuildPtrToInt(x->s->b, shared_pointer(x, ptx_read(x->s, base, p->i32)), p->i64, "");
  else
    address = ptx_read(x->s, base, p->i64);
  return LLVMBuildAdd(x->s->b, address, constant_i64(p, (uint64_t)offset), "");
}

LLVMValueRef ptx_address(const ptx_source *x, const char *text) { return address_in(x, text, space_of(x->i)); }

static bool is_among(const char *word, const char *const *list, size_t count) {
  for (size_t n = 0; n < count; n++)
    if (strcmp(word, list[n]) == 0) return true;
  return false;
}

static const char *const scopes[] = {"cta", "cluster", "gpu", "sys"};
static const char *const spaces[] = {"global", "shared", "shared::cta", "shared::cluster", "local", "const"};

/* ---- loads and stores ---- */

static bool access_is_known(const ptx_instruction *i) {
  static const char *const hints[] = {"ca", "cg", "cs",       "lu",   "cv",      "nc",      "wb",      "wt",  "ro",
                                      "v2", "v4", "volatile", "weak", "relaxed", "acquire", "release", "mmio"};
  for (int n = 1; n + 1 < i->word_count; n++) {
    const char *modifier = i->words[n];
    bool cache = starts_with(modifier, "L1::") || starts_with(modifier, "L2::");
    if (!cache && !is_among(modifier, hints, MW_COUNT(hints)) && !is_among(modifier, scopes, MW_COUNT(scopes)) &&
        !is_among(modifier, spaces, MW_COUNT(spaces)))
      return false;
  }
  return true;
}

static void set_order(const ptx_instruction *i, LLVMValueRef access) {
  LLVMAtomicOrdering order = ptx_has_modifier(i, "acquire")   ? LLVMAtomicOrderingAcquire
                             : ptx_has_modifier(i, "release") ? LLVMAtomicOrderingRelease
                             : ptx_has_modifier(i, "relaxed") ? LLVMAtomicOrderingMonotonic
                                                              : LLVMAtomicOrderingNotAtomic;
  if (order != LLVMAtomicOrderingNotAtomic) LLVMSetOrdering(access, order);
  LLVMSetVolatile(access, ptx_has_modifier(i, "volatile") || ptx_has_modifier(i, "mmio") || ptx_has_modifier(i, "cv") ||
                              ptx_has_modifier(i, "wt"));
}

/* A register may be wider than the loaded type; the value is then sign- or zero-extended, by that type's signedness. */
static LLVMValueRef extended(const ptx_source *x, LLVMValueRef loaded) {
  bool extends = x->t.is_signed && x->t.bits < 64;
  return extends ? LLVMBuildSExt(x->s->b, loaded, x->s->p->i64, "") : loaded;
}

/* ld and st. With .v2 and .v4, the operand is a list of 2 or 4 registers. */
static bool translate_access(const ptx_source *x, bool load) {
  int count = ptx_has_modifier(x->i, "v4") ? 4 : ptx_has_modifier(x->i, "v2") ? 2 : 1;
  const char *list = x->i->operands[load ? 0 : 1];
  char names[PTX_ELEMENTS][PTX_NAME];
  LLVMValueRef loaded[PTX_ELEMENTS];
  if (!access_is_known(x->i) || (*list == '{') != (count > 1) || ptx_elements(list, names) != count) return false;
  LLVMValueRef start = ptx_address(x, x->i->operands[load ? 1 : 0]), access;
  if (!start) return false;
  for (int n = 0; n < count; n++) {
    LLVMValueRef offset = constant_i64(x->s->p, (uint64_t)n * x->t.bits / 8);
    LLVMValueRef at = LLVMBuildGEP2(x->s->b, x->s->p->i8, start, &offset, 1, "");
    if (load)
      access = LLVMBuildLoad2(x->s->b, x->t.type, at, "");
    else
      access = LLVMBuildStore(x->s->b, ptx_read(x->s, names[n], x->t.type), at);
    LLVMSetAlignment(access, x->t.bits / 8);
    set_order(x->i, access);
    loaded[n] = load ? extended(x, access) : NULL;
  }
  for (int n = 0; load && n < count; n++) ptx_write(x->s, names[n], loaded[n]);
  return true;
}

/* ---- atomic operations ---- */

static LLVMValueRef change(const ptx_source *x, const char *name, LLVMValueRef at, LLVMValueRef by) {
  static const struct {
    const char *name;
    LLVMAtomicRMWBinOp is_unsigned, is_signed;
  } table[] = {
      {"add", LLVMAtomicRMWBinOpAdd, LLVMAtomicRMWBinOpAdd},    {"and", LLVMAtomicRMWBinOpAnd, LLVMAtomicRMWBinOpAnd},
      {"or", LLVMAtomicRMWBinOpOr, LLVMAtomicRMWBinOpOr},       {"xor", LLVMAtomicRMWBinOpXor, LLVMAtomicRMWBinOpXor},
      {"exch", LLVMAtomicRMWBinOpXchg, LLVMAtomicRMWBinOpXchg}, {"min", LLVMAtomicRMWBinOpUMin, LLVMAtomicRMWBinOpMin},
      {"max", LLVMAtomicRMWBinOpUMax, LLVMAtomicRMWBinOpMax}};
  for (size_t n = 0; n < MW_COUNT(table); n++) {
    if (strcmp(name, table[n].name) != 0 || (x->t.is_float && n > 0)) continue;
    LLVMAtomicRMWBinOp op = x->t.is_float    ? LLVMAtomicRMWBinOpFAdd
                            : x->t.is_signed ? table[n].is_signed
                                             : table[n].is_unsigned;
    return LLVMBuildAtomicRMW(x->s->b, op, at, by, LLVMAtomicOrderingSequentiallyConsistent, 0);
  }
  bool wraps = strcmp(name, "inc") == 0 || strcmp(name, "dec") == 0;
  if (!wraps || x->t.is_signed || x->t.bits != 32) return NULL;
  LLVMValueRef arguments[] = {LLVMBuildAddrSpaceCast(x->s->b, at, x->s->p->pointer, ""), by};
  if (LLVMTypeOf(at) == x->s->p->pointer) arguments[0] = at;
  return ptx_call(x, name[0] == 'i' ? "atom_inc_u32" : "atom_dec_u32", arguments, 2);
}

/* atom d, [a], b and red [a], b. The operation is sequentially consistent, whatever its order and scope. */
static bool translate_atomic(const ptx_source *x, bool result) {
  static const char *const orders[] = {"relaxed", "acquire", "release", "acq_rel"};
  const LLVMAtomicOrdering order = LLVMAtomicOrderingSequentiallyConsistent;
  const char *name = NULL; /* the one modifier that is not a qualifier; qualifiers may precede or follow */
  int first = result ? 1 : 0, operands = x->i->operand_count - first;
  for (int n = 1; n + 1 < x->i->word_count; n++) {
    const char *modifier = x->i->words[n];
    if (is_among(modifier, orders, MW_COUNT(orders)) || is_among(modifier, scopes, MW_COUNT(scopes)) ||
        is_among(modifier, spaces, 4))
      continue;
    if (name) return false;
    name = modifier;
  }
  if (!name) return false;
  bool swaps = strcmp(name, "cas") == 0 && operands == 3 && !x->t.is_float;
  if (operands < 2 || x->t.bits < (swaps ? 16u : 32u)) return false;
  LLVMValueRef at = ptx_address(x, x->i->operands[first]), old = NULL;
  if (!at) return false;
  if (swaps) {
    LLVMValueRef pair =
        LLVMBuildAtomicCmpXchg(x->s->b, at, ptx_operand(x, first + 1), ptx_operand(x, first + 2), order, order, 0);
    old = LLVMBuildExtractValue(x->s->b, pair, 0, "");
  } else if (operands == 2) {
    old = change(x, name, at, ptx_operand(x, first + 1));
  }
  if (old && result) ptx_result(x, old);
  return old != NULL;
}

/* ---- copies ---- */

void ptx_report(const ptx_source *x, mw_check_event event, LLVMValueRef value) {
  program *p = x->s->p;
  LLVMTypeRef params[] = {p->i32, p->i64}, type = LLVMFunctionType(p->void_type, params, 2, 0);
  LLVMValueRef arguments[] = {constant_i32(p, event), LLVMBuildZExt(x->s->b, value, p->i64, "")};
  LLVMBuildCall2(x->s->b, type, ptx_declared(x->s, CHECK_EVENT_FUNCTION, type), arguments, 2, "");
}

/* cp.async.commit_group, wait_group n, wait_all: only a checked run uses them. */
static bool translate_async_wait(const ptx_source *x) {
  static const char *const done[] = {"commit_group", "wait_group", "wait_all"};
  program *p = x->s->p;
  const char *what = x->i->words[2];
  if (x->i->word_count != 3 || !is_among(what, done, MW_COUNT(done))) return false;
  if (strcmp(what, "wait_group") != 0) ptx_report(x, MW_CHECK_COMMIT, constant_i32(p, 0));
  if (strcmp(what, "wait_all") == 0) ptx_report(x, MW_CHECK_COPIED, constant_i32(p, 0));
  if (strcmp(what, "wait_group") == 0 && x->i->operand_count == 1)
    ptx_report(x, MW_CHECK_COPIED, ptx_read(x->s, x->i->operands[0], p->i32));
  return true;
}

/* cp.async.ca.shared.global [to], [from], bytes, given. The copy is synchronous. Bytes after the first `given` are set
   to 0. */
bool ptx_translate_copy(ptx_statement *s, const ptx_instruction *i) {
  ptx_source x = {.s = s, .i = i};
  program *p = s->p;
  if (strcmp(i->words[0], "cp") != 0 || !ptx_has_modifier(i, "async")) return false;
  if (translate_async_wait(&x)) return true;
  bool plain = i->word_count >= 5 && (ptx_has_modifier(i, "ca") || ptx_has_modifier(i, "cg"));
  if (!plain || i->operand_count < 3 || i->operand_count > 4 || !ptx_has_modifier(i, "global")) return false;
  LLVMValueRef to = address_in(&x, i->operands[0], SPACE_SHARED), from = address_in(&x, i->operands[1], SPACE_GLOBAL);
  LLVMValueRef size = ptx_read(s, i->operands[2], p->i32);
  uint64_t bytes = LLVMIsAConstantInt(size) ? LLVMConstIntGetZExtValue(size) : 0;
  if (!to || !from || (bytes != 4 && bytes != 8 && bytes != 16)) return false;
  if (i->operand_count == 3) {
    ptx_report(&x, MW_CHECK_ASYNC, constant_i32(p, 1));
    LLVMBuildMemCpy(s->b, to, (unsigned)bytes, from, (unsigned)bytes, LLVMConstInt(p->i64, bytes, 0));
    ptx_report(&x, MW_CHECK_ASYNC, constant_i32(p, 0));
    return true;
  }
  LLVMValueRef arguments[] = {LLVMBuildAddrSpaceCast(s->b, to, p->pointer, ""),
                              LLVMBuildAddrSpaceCast(s->b, from, p->pointer, ""), ptx_read(s, i->operands[3], p->i32)};
  return ptx_call(&x, bytes == 4 ? "cp_async_4" : bytes == 8 ? "cp_async_8" : "cp_async_16", arguments, 3) != NULL;
}

/* isspacep.shared p, a */
bool ptx_translate_space(ptx_statement *s, const ptx_instruction *i) {
  static const struct {
    const char *name;
    unsigned kind;
  } table[] = {{"global", MW_SPACE_GLOBAL},
               {"shared", MW_SPACE_SHARED},
               {"shared::cta", MW_SPACE_SHARED},
               {"shared::cluster", MW_SPACE_CLUSTER},
               {"const", MW_SPACE_CONSTANT},
               {"local", MW_SPACE_LOCAL},
               {"param", UINT8_MAX}}; /* parameters are no memory here, as __isGridConstant says */
  program *p = s->p;
  LLVMTypeRef type = LLVMFunctionType(p->i32, &p->pointer, 1, 0);
  for (size_t n = 0; n < MW_COUNT(table) && i->word_count == 2 && i->operand_count == 2; n++) {
    if (strcmp(i->words[0], "isspacep") != 0 || strcmp(i->words[1], table[n].name) != 0) continue;
    LLVMValueRef address = ptx_read(s, i->operands[1], p->pointer);
    LLVMValueRef kind = LLVMBuildCall2(s->b, type, ptx_declared(s, "__mw_memory_kind", type), &address, 1, "");
    LLVMValueRef is = LLVMBuildICmp(s->b, LLVMIntEQ, kind, constant_i32(p, table[n].kind), "");
    if (table[n].kind == MW_SPACE_GLOBAL) /* as on a GPU, any address outside the other spaces, including NULL */
      is = LLVMBuildOr(s->b, is, LLVMBuildICmp(s->b, LLVMIntEQ, kind, constant_i32(p, 0), ""), "");
    if (table[n].kind == MW_SPACE_CLUSTER) /* the block's own as well */
      is = LLVMBuildOr(s->b, is, LLVMBuildICmp(s->b, LLVMIntEQ, kind, constant_i32(p, MW_SPACE_SHARED), ""), "");
    ptx_write(s, i->operands[0], is);
    return true;
  }
  return false;
}

/* ---- by name ---- */

bool ptx_translate_memory(const ptx_source *x) {
  const char *name = x->i->words[0];
  int operands = x->i->operand_count - ptx_has_modifier(x->i, "L2::cache_hint"); /* a cache policy comes last */
  if ((strcmp(name, "ld") == 0 || strcmp(name, "ldu") == 0) && operands == 2) return translate_access(x, true);
  if (strcmp(name, "st") == 0 && operands == 2) return translate_access(x, false);
  if (strcmp(name, "atom") == 0) return operands > 2 && translate_atomic(x, true);
  return strcmp(name, "red") == 0 && operands == 2 && translate_atomic(x, false);
}
