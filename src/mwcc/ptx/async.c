/* Inline PTX: barriers that count arrivals and bytes (mbarrier), and bulk copies, of memory and of tensors (PTX ISA
 * 8.0, chapters 9.7.8.24 and 9.7.13.15).
 *
 * Barriers are functions of the device headers (moonwarp/sync/ptx_mbarrier.h), copies a service of the runtime
 * (mw_services.bulk), which does them at once, so that waiting for groups of them does nothing. */
#include "ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is(const ptx_instruction *i, int word, const char *text) {
  return word < i->word_count && strcmp(i->words[word], text) == 0;
}

static LLVMValueRef i32_of(const ptx_source *x, int n) { return ptx_read(x->s, x->i->operands[n], x->s->p->i32); }

/* ---- barriers ---- */

static LLVMValueRef barrier_at(const ptx_source *x, int n) {
  bool in_shared = ptx_has_modifier(x->i, "shared") || ptx_has_modifier(x->i, "shared::cta") ||
                   ptx_has_modifier(x->i, "shared::cluster");
  LLVMValueRef address = ptx_flat_address(x, x->i->operands[n], in_shared);
  return address ? LLVMBuildIntToPtr(x->s->b, address, x->s->p->pointer, "") : NULL;
}

/* arrive, arrive_drop, with .expect_tx: state, [at], count or bytes; the state may be missing. */
static bool translate_arrival(const ptx_source *x) {
  const ptx_instruction *i = x->i;
  bool has_state = i->operands[0][0] != '[', expects = ptx_has_modifier(i, "expect_tx");
  int at = has_state, number = at + 1;
  LLVMValueRef one = constant_i32(x->s->p, 1), barrier = barrier_at(x, at);
  if (!barrier || i->operand_count < at + 1 + expects || i->operand_count > number + 1) return false;
  LLVMValueRef given = i->operand_count > number ? i32_of(x, number) : one;
  LLVMValueRef arguments[] = {barrier, given};
  if (expects && !ptx_call(x, "mbarrier_expect_tx", arguments, 2)) return false;
  if (expects) arguments[1] = one;
  LLVMValueRef state = ptx_call(x, is(i, 1, "arrive") ? "mbarrier_arrive" : "mbarrier_arrive_drop", arguments, 2);
  if (state && has_state) ptx_write(x->s, i->operands[0], state);
  return state != NULL;
}

/* test_wait, try_wait: p, [at], state or parity, a time hint; await (mbarrier_wait_loop.c): [at], state or parity. */
static bool translate_wait(const ptx_source *x) {
  const ptx_instruction *i = x->i;
  bool awaits = is(i, 1, "await"), by_parity = ptx_has_modifier(i, "parity");
  int at = !awaits;
  char name[PTX_NAME + 24];
  LLVMValueRef barrier = i->operand_count > at + 1 ? barrier_at(x, at) : NULL;
  if (!barrier) return false;
  LLVMTypeRef type = by_parity ? x->s->p->i32 : x->s->p->i64;
  LLVMValueRef arguments[] = {barrier, ptx_read(x->s, i->operands[at + 1], type)};
  snprintf(name, sizeof name, "mbarrier_%s%s", i->words[1], by_parity ? "_parity" : "");
  LLVMValueRef result = ptx_call(x, name, arguments, 2);
  if (result && !awaits) ptx_write(x->s, i->operands[0], result);
  return result != NULL;
}

static bool translate_barrier(const ptx_source *x) {
  static const char *const plain[] = {"init", "expect_tx", "complete_tx"};
  const ptx_instruction *i = x->i;
  char name[PTX_NAME + 24];
  if (is(i, 1, "arrive") || is(i, 1, "arrive_drop")) return i->operand_count > 0 && translate_arrival(x);
  if (is(i, 1, "test_wait") || is(i, 1, "try_wait") || is(i, 1, "await")) return translate_wait(x);
  if (is(i, 1, "inval")) return i->operand_count == 1;
  if (is(i, 1, "pending_count") && i->operand_count == 2) {
    LLVMValueRef state = ptx_read(x->s, i->operands[1], x->s->p->i64);
    LLVMValueRef count = ptx_call(x, "mbarrier_pending_count", &state, 1);
    if (count) ptx_write(x->s, i->operands[0], count);
    return count != NULL;
  }
  for (size_t n = 0; n < MW_COUNT(plain); n++) {
    if (!is(i, 1, plain[n]) || i->operand_count != 2) continue;
    LLVMValueRef arguments[] = {barrier_at(x, 0), i32_of(x, 1)};
    snprintf(name, sizeof name, "mbarrier_%s", plain[n]);
    return arguments[0] && ptx_call(x, name, arguments, 2);
  }
  return false;
}

/* ---- copies ---- */

typedef struct bulk {
  LLVMValueRef call, target, source, a, b, c, barrier;
} bulk;

static void call_bulk(const ptx_source *x, const bulk *k) {
  program *p = x->s->p;
  LLVMTypeRef params[7] = {p->i32};
  LLVMValueRef arguments[7] = {k->call, k->target, k->source, k->a, k->b, k->c, k->barrier};
  for (int n = 1; n < 7; n++) {
    params[n] = p->i64;
    if (!arguments[n]) arguments[n] = constant_i64(p, 0);
  }
  LLVMTypeRef type = LLVMFunctionType(p->void_type, params, 7, 0);
  LLVMBuildCall2(x->s->b, type, ptx_declared(x->s, "__mw_bulk", type), arguments, 7, "");
}

static LLVMValueRef widened(const ptx_source *x, LLVMValueRef value) {
  return LLVMBuildZExt(x->s->b, value, x->s->p->i64, "");
}

/* An mw_bulk_operation; MW_BULK_SET: none. */
static mw_bulk_operation operation_of(const ptx_instruction *i) {
  static const char *const names[] = {"", "add", "min", "max", "inc", "dec", "and", "or", "xor"};
  for (size_t n = 1; n < MW_COUNT(names); n++)
    if (ptx_has_modifier(i, names[n])) return (mw_bulk_operation)n;
  return MW_BULK_SET;
}

static bool type_of(const ptx_instruction *i, mw_bulk_type *out) {
  static const struct {
    const char *name;
    mw_bulk_type type;
  } types[] = {{"u32", MW_BULK_U32}, {"s32", MW_BULK_S32}, {"u64", MW_BULK_U64}, {"s64", MW_BULK_S64},
               {"b32", MW_BULK_U32}, {"b64", MW_BULK_U64}, {"f16", MW_BULK_F16}, {"bf16", MW_BULK_BF16},
               {"f32", MW_BULK_F32}, {"f64", MW_BULK_F64}};
  for (size_t n = 0; n < MW_COUNT(types); n++)
    if (is(i, i->word_count - 1, types[n].name)) {
      *out = types[n].type;
      return true;
    }
  return false;
}

/* [to], [from], bytes, [barrier], ranks: with an operation, a reduction. Words `first` and the next name the spaces. */
static bool translate_copy(const ptx_source *x, int first, bool reduces) {
  const ptx_instruction *i = x->i;
  program *p = x->s->p;
  bool counts = ptx_has_modifier(i, "mbarrier::complete_tx::bytes"),
       spreads = ptx_has_modifier(i, "multicast::cluster");
  bool to_global = is(i, first, "global"), from_global = is(i, first + 1, "global");
  mw_bulk_type type = MW_BULK_U8;
  mw_bulk_operation operation = reduces ? operation_of(i) : MW_BULK_SET;
  if (i->operand_count < 3 + counts + spreads || (to_global && from_global) || (!to_global && !counts)) return false;
  if (reduces && (operation == MW_BULK_SET || !type_of(i, &type))) return false;
  unsigned call = reduces ? MW_BULK_REDUCE | (unsigned)operation << 8 | (unsigned)type << 16 : MW_BULK_COPY;
  bulk k = {.call = constant_i32(p, call),
            .target = ptx_flat_address(x, i->operands[0], !to_global),
            .source = ptx_flat_address(x, i->operands[1], !from_global),
            .a = widened(x, i32_of(x, 2)),
            .barrier = counts ? ptx_flat_address(x, i->operands[3], true) : NULL,
            .b = spreads ? widened(x, ptx_convert(x->s, ptx_read(x->s, i->operands[4], p->i32), p->i32)) : NULL};
  if (!k.target || !k.source || (counts && !k.barrier)) return false;
  if (spreads) k.b = LLVMBuildAnd(x->s->b, k.b, constant_i64(p, 0xffff), "");
  call_bulk(x, &k);
  return true;
}

/* "[map,{x,y}]": the map's address, and the coordinates in pairs. */
static bool read_place(const ptx_source *x, const char *text, unsigned dimensions, LLVMValueRef *map, bulk *k) {
  program *p = x->s->p;
  char base[PTX_NAME], names[PTX_ELEMENTS][PTX_NAME];
  const char *list = strchr(text, ',');
  if (*text != '[' || !list) return false;
  snprintf(base, sizeof base, "%.*s]", (int)(list - text), text);
  if (ptx_elements(list + 1, names) != (int)dimensions) return false;
  LLVMValueRef at[6];
  for (unsigned n = 0; n < 6; n++)
    at[n] = n < dimensions ? widened(x, ptx_read(x->s, names[n], p->i32)) : constant_i64(p, 0);
  LLVMValueRef *pairs[] = {&k->a, &k->b, &k->c}, half = constant_i64(p, 32);
  for (int n = 0; n < 3; n++)
    *pairs[n] = LLVMBuildOr(x->s->b, at[2 * n], LLVMBuildShl(x->s->b, at[2 * n + 1], half, ""), "");
  *map = ptx_flat_address(x, base, false);
  return *map != NULL;
}

/* The offsets of im2col in 16 bits: one of 16 bits, two of 8 or three of 5. */
static LLVMValueRef read_offsets(const ptx_source *x, const char *list, unsigned dimensions) {
  program *p = x->s->p;
  char names[PTX_ELEMENTS][PTX_NAME];
  unsigned count = dimensions - 2, bits = count == 1 ? 16 : count == 2 ? 8 : 5;
  if (ptx_elements(list, names) != (int)count) return NULL;
  LLVMValueRef all = constant_i64(p, 0);
  for (unsigned n = 0; n < count; n++) {
    LLVMValueRef offset =
        LLVMBuildZExt(x->s->b, ptx_read(x->s, names[n], LLVMInt16TypeInContext(p->context)), p->i64, "");
    offset = LLVMBuildAnd(x->s->b, offset, constant_i64(p, (1u << bits) - 1), "");
    all = LLVMBuildOr(x->s->b, all, LLVMBuildShl(x->s->b, offset, constant_i64(p, n * bits), ""), "");
  }
  return all;
}

/* cp.async.bulk.tensor.2d.shared::cluster.global… [to], [map, {x, y}], [barrier], offsets of im2col, ranks and
   cp.async.bulk.tensor.2d.global.shared::cta… [map, {x, y}], [from]. Word `first` is the number of dimensions. */
static bool translate_tensor(const ptx_source *x, int first, bool reduces) {
  const ptx_instruction *i = x->i;
  program *p = x->s->p;
  unsigned dimensions = (unsigned)(i->words[first][0] - '0');
  bool stores = is(i, first + 1, "global"), spreads = ptx_has_modifier(i, "multicast::cluster");
  mw_bulk_operation operation = reduces ? operation_of(i) : MW_BULK_SET;
  bool im2col = ptx_has_modifier(i, stores ? "im2col_no_offs" : "im2col");
  unsigned mode = im2col ? MW_BULK_IM2COL : 0;
  int offsets = im2col && !stores;
  bulk k = {0};
  if (dimensions < (im2col ? 3 : 1) || dimensions > 5) return false;
  if (i->operand_count < (stores ? 2 : 3 + offsets + spreads)) return false;
  if (reduces && (!stores || operation == MW_BULK_SET)) return false;
  for (int n = first; n < i->word_count; n++)
    if (!im2col && starts_with(i->words[n], "im2col")) {
      ptx_refuse(x->s, "cp.async.bulk.tensor", "has a mode of im2col that compute capability 9.0 does not have");
      return true;
    }
  if (!read_place(x, i->operands[!stores], dimensions, stores ? &k.target : &k.source, &k)) return false;
  LLVMValueRef inside = ptx_flat_address(x, i->operands[stores], true);
  if (!inside) return false;
  if (stores) {
    k.source = inside;
    k.call = constant_i32(p, MW_BULK_STORE | dimensions << 8 | (unsigned)operation << 16 | mode);
  } else {
    k.target = inside;
    k.call = constant_i32(p, MW_BULK_LOAD | dimensions << 8 | mode);
    k.barrier = ptx_flat_address(x, i->operands[2], true);
    if (!k.barrier) return false;
  }
  if (spreads) {
    LLVMValueRef ranks = LLVMBuildAnd(x->s->b, i32_of(x, 3 + offsets), constant_i32(p, 0xffff), "");
    k.c = LLVMBuildOr(x->s->b, k.c, LLVMBuildShl(x->s->b, widened(x, ranks), constant_i64(p, 32), ""), "");
  }
  if (offsets) {
    LLVMValueRef all = read_offsets(x, i->operands[3], dimensions);
    if (!all) return false;
    k.c = LLVMBuildOr(x->s->b, k.c, LLVMBuildShl(x->s->b, all, constant_i64(p, 48), ""), "");
  }
  call_bulk(x, &k);
  return true;
}

/* st.async [a], values, [barrier] and red.async: a store or a reduction in the shared memory of a block of the cluster,
   whose bytes the barrier there counts. */
static bool translate_counted(const ptx_source *x) {
  static const char *const left_out[] = {"async", "weak", "relaxed", "cluster", "mbarrier::complete_tx::bytes"};
  const ptx_instruction *i = x->i;
  ptx_instruction plain = {.operand_count = 2};
  ptx_type type;
  for (int n = 0; n < i->word_count; n++) {
    bool is_plain = true;
    for (size_t k = 0; k < MW_COUNT(left_out); k++) is_plain = is_plain && strcmp(i->words[n], left_out[k]) != 0;
    if (is_plain) memcpy(plain.words[plain.word_count++], i->words[n], PTX_NAME);
  }
  memcpy(plain.operands, i->operands, 2 * sizeof *i->operands);
  if (i->operand_count != 3 || !ptx_has_modifier(i, "mbarrier::complete_tx::bytes") || plain.word_count < 2 ||
      !ptx_type_of(x->s, plain.words[plain.word_count - 1], &type) || !ptx_translate(x->s, &plain))
    return false;
  unsigned count = ptx_has_modifier(i, "v2") ? 2 : ptx_has_modifier(i, "v4") ? 4 : 1;
  LLVMValueRef arguments[] = {barrier_at(x, 2), constant_i32(x->s->p, count * type.bits / 8)};
  return arguments[0] && ptx_call(x, "mbarrier_complete_tx", arguments, 2);
}

bool ptx_translate_async(ptx_statement *s, const ptx_instruction *i) {
  enum { SPACES = 3 };
  ptx_source x = {.s = s, .i = i};
  if (is(i, 0, "mbarrier")) return translate_barrier(&x);
  if (is(i, 1, "async") && (is(i, 0, "st") || is(i, 0, "red"))) return translate_counted(&x);
  if (!is(i, 0, "cp")) return false;
  bool reduces = is(i, 1, "reduce");
  int bulk_word = reduces ? 3 : 2;
  if (is(i, 1, "async") && is(i, 2, "mbarrier")) { /* an arrival when the thread's copies are done */
    if (!ptx_has_modifier(i, "noinc")) return true;
    LLVMValueRef arguments[] = {barrier_at(&x, 0), constant_i32(s->p, 1)};
    return arguments[0] && ptx_call(&x, "mbarrier_arrive", arguments, 2);
  }
  if (!is(i, bulk_word, "bulk")) return false;
  if (is(i, 3, "commit_group")) ptx_report(&x, MW_CHECK_COMMIT, constant_i32(s->p, 0));
  if (is(i, 3, "wait_group") && i->operand_count == 1)
    ptx_report(&x, MW_CHECK_COPIED, ptx_read(s, i->operands[0], s->p->i32));
  if (is(i, 3, "commit_group") || is(i, 3, "wait_group") || is(i, 3, "prefetch")) return true;
  if (is(i, bulk_word + 1, "tensor")) return translate_tensor(&x, bulk_word + 2, reduces);
  return translate_copy(&x, bulk_word + 1, reduces);
}
