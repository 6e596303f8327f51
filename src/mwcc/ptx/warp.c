/* Inline PTX: shuffles, votes, matches, barriers, fences, and other instructions without type or result (PTX ISA 8.0,
 * chapters 9.7.9 and 9.7.13). They become the intrinsics that clang emits for CUDA C's functions. */
#include "ptx.h"

#include <stdio.h>
#include <string.h>

static LLVMValueRef call(const ptx_source *x, const char *name, LLVMValueRef *arguments, unsigned count) {
  return call_intrinsic(x->s->p, x->s->b, name, NULL, 0, arguments, count);
}

static LLVMValueRef active_lanes(const ptx_source *x) { return call(x, "llvm.nvvm.activemask", NULL, 0); }

/* The member mask: the last operand with .sync, otherwise the active lanes. */
static LLVMValueRef mask_of(const ptx_source *x, int n) {
  return ptx_has_modifier(x->i, "sync") ? ptx_operand_i32(x, n) : active_lanes(x);
}

/* The predicate result of a shuffle: whether its source lane is in the segment. */
static LLVMValueRef is_inside(const ptx_source *x, const char *mode, LLVMValueRef by, LLVMValueRef segments) {
  LLVMBuilderRef b = x->s->b;
  program *p = x->s->p;
  LLVMValueRef low = constant_i32(p, 31), lane = call(x, "llvm.nvvm.read.ptx.sreg.laneid", NULL, 0), from;
  LLVMValueRef segment = LLVMBuildAnd(b, LLVMBuildLShr(b, segments, constant_i32(p, 8), ""), low, "");
  LLVMValueRef within = LLVMBuildNot(b, segment, ""), clamp = LLVMBuildAnd(b, segments, low, "");
  LLVMValueRef first = LLVMBuildAnd(b, lane, segment, "");
  LLVMValueRef last = LLVMBuildOr(b, first, LLVMBuildAnd(b, clamp, within, ""), "");
  by = LLVMBuildAnd(b, by, low, "");
  if (strcmp(mode, "up") == 0) return LLVMBuildICmp(b, LLVMIntSGE, LLVMBuildSub(b, lane, by, ""), last, "");
  if (strcmp(mode, "down") == 0)
    from = LLVMBuildAdd(b, lane, by, "");
  else if (strcmp(mode, "bfly") == 0)
    from = LLVMBuildXor(b, lane, by, "");
  else
    from = LLVMBuildOr(b, first, LLVMBuildAnd(b, by, within, ""), "");
  return LLVMBuildICmp(b, LLVMIntSLE, from, last, "");
}

/* shfl d[|p], value, lane, clamp and segment, mask */
static bool translate_shfl(const ptx_source *x) {
  static const char *const modes[] = {"idx", "up", "down", "bfly"};
  char name[64], first[PTX_NAME], second[PTX_NAME];
  if (x->t.bits != 32 || x->i->operand_count != 4 + ptx_has_modifier(x->i, "sync")) return false;
  ptx_pair(x->i->operands[0], first, second);
  for (size_t n = 0; n < MW_COUNT(modes); n++) {
    if (!ptx_has_modifier(x->i, modes[n])) continue;
    snprintf(name, sizeof name, "llvm.nvvm.shfl.sync.%s.i32", modes[n]);
    LLVMValueRef arguments[4] = {mask_of(x, 4), ptx_operand_i32(x, 1), ptx_operand_i32(x, 2), ptx_operand_i32(x, 3)};
    LLVMValueRef result = call(x, name, arguments, 4);
    if (*second) ptx_write(x->s, second, is_inside(x, modes[n], arguments[2], arguments[3]));
    ptx_write(x->s, first, result);
    return true;
  }
  return false;
}

static LLVMValueRef read_predicate(const ptx_source *x, const char *name) {
  LLVMValueRef value = ptx_read(x->s, name + (*name == '!'), x->s->p->i1);
  return *name == '!' ? LLVMBuildNot(x->s->b, value, "") : value;
}

static bool translate_vote(const ptx_source *x) {
  if (x->i->operand_count != 2 + ptx_has_modifier(x->i, "sync")) return false;
  const char *name = ptx_has_modifier(x->i, "ballot") ? "llvm.nvvm.vote.ballot.sync"
                     : ptx_has_modifier(x->i, "all")  ? "llvm.nvvm.vote.all.sync"
                     : ptx_has_modifier(x->i, "any")  ? "llvm.nvvm.vote.any.sync"
                     : ptx_has_modifier(x->i, "uni")  ? "llvm.nvvm.vote.uni.sync"
                                                      : NULL;
  if (!name) return false;
  LLVMValueRef arguments[2] = {mask_of(x, 2), read_predicate(x, x->i->operands[1])};
  ptx_result(x, call(x, name, arguments, 2));
  return true;
}

/* match.any.sync.b32 d, a, mask and match.all.sync.b32 d|p, a, mask */
static bool translate_match(const ptx_source *x) {
  char name[64], first[PTX_NAME], second[PTX_NAME];
  bool all = ptx_has_modifier(x->i, "all");
  if (!ptx_has_modifier(x->i, "sync") || x->i->operand_count != 3 || (x->t.bits != 32 && x->t.bits != 64)) return false;
  if (!all && !ptx_has_modifier(x->i, "any")) return false;
  ptx_pair(x->i->operands[0], first, second);
  snprintf(name, sizeof name, "llvm.nvvm.match.%s.sync.i%u%s", all ? "all" : "any", x->t.bits, all ? "p" : "");
  LLVMValueRef arguments[2] = {ptx_operand_i32(x, 2), ptx_operand(x, 1)};
  LLVMValueRef result = call(x, name, arguments, 2);
  if (!all && *second) return false;
  ptx_write(x->s, first, all ? LLVMBuildExtractValue(x->s->b, result, 0, "") : result);
  if (*second) ptx_write(x->s, second, LLVMBuildExtractValue(x->s->b, result, 1, ""));
  return true;
}

/* redux.sync.add.s32 d, a, mask */
static bool translate_redux(const ptx_source *x) {
  static const char *const operations[] = {"add", "min", "max", "and", "or", "xor"};
  char name[64];
  if (!ptx_has_modifier(x->i, "sync") || x->i->operand_count != 3 || x->t.bits != 32) return false;
  for (size_t n = 0; n < MW_COUNT(operations); n++) {
    if (!ptx_has_modifier(x->i, operations[n])) continue;
    bool is_unsigned = !x->t.is_signed && (n == 1 || n == 2);
    snprintf(name, sizeof name, "llvm.nvvm.redux.sync.%s%s", is_unsigned ? "u" : "", operations[n]);
    LLVMValueRef arguments[2] = {ptx_operand(x, 1), ptx_operand_i32(x, 2)};
    ptx_result(x, call(x, name, arguments, 2));
    return true;
  }
  return false;
}

/* bar.red.popc.u32 d, 0, p: a barrier of the whole block with a reduction of the predicate. */
static bool translate_counting_barrier(const ptx_source *x) {
  const char *name = ptx_has_modifier(x->i, "popc")  ? "__mw_barrier.popc"
                     : ptx_has_modifier(x->i, "and") ? "__mw_barrier.and"
                     : ptx_has_modifier(x->i, "or")  ? "__mw_barrier.or"
                                                     : NULL;
  if (!ptx_has_modifier(x->i, "red") || !name || x->i->operand_count != 3) return false;
  LLVMBuilderRef b = x->s->b;
  LLVMValueRef predicate = LLVMBuildZExt(b, read_predicate(x, x->i->operands[2]), x->s->p->i32, "");
  LLVMTypeRef type = LLVMFunctionType(x->s->p->i32, &x->s->p->i32, 1, 0);
  LLVMValueRef result = LLVMBuildCall2(b, type, ptx_declared(x->s, name, type), &predicate, 1, "");
  if (x->t.type == x->s->p->i1) result = LLVMBuildICmp(b, LLVMIntNE, result, constant_i32(x->s->p, 0), "");
  ptx_result(x, result);
  return true;
}

bool ptx_translate_warp(const ptx_source *x) {
  const char *name = x->i->words[0];
  if (strcmp(name, "shfl") == 0) return translate_shfl(x);
  if (strcmp(name, "vote") == 0) return translate_vote(x);
  if (strcmp(name, "match") == 0) return translate_match(x);
  if (strcmp(name, "redux") == 0) return translate_redux(x);
  if (strcmp(name, "bar") == 0 || strcmp(name, "barrier") == 0) return translate_counting_barrier(x);
  if (strcmp(name, "activemask") != 0 || x->i->operand_count != 1) return false;
  ptx_result(x, active_lanes(x));
  return true;
}

/* ---- instructions without a type ---- */

/* elect.sync d|p, mask: the lowest lane of the mask, and whether it is this one. */
static bool translate_elect(const ptx_source *x) {
  char first[PTX_NAME], second[PTX_NAME];
  program *p = x->s->p;
  LLVMBuilderRef b = x->s->b;
  if (!ptx_has_modifier(x->i, "sync") || x->i->operand_count != 2) return false;
  ptx_pair(x->i->operands[0], first, second);
  LLVMValueRef arguments[2] = {ptx_read(x->s, x->i->operands[1], p->i32), LLVMConstInt(p->i1, 1, 0)};
  LLVMValueRef lanes = call(x, "llvm.nvvm.vote.ballot.sync", arguments, 2);
  LLVMValueRef counted[2] = {lanes, LLVMConstInt(p->i1, 0, 0)};
  LLVMValueRef leader = call_intrinsic(p, b, "llvm.cttz", &p->i32, 1, counted, 2);
  if (*second) {
    LLVMValueRef lane = call(x, "llvm.nvvm.read.ptx.sreg.laneid", NULL, 0);
    ptx_write(x->s, second, LLVMBuildICmp(b, LLVMIntEQ, lane, leader, ""));
  }
  if (strcmp(first, "_") != 0) ptx_write(x->s, first, leader);
  return true;
}

/* bar.sync n; bar.sync n, threads; bar.arrive n, threads; bar.warp.sync mask */
static bool translate_barrier(const ptx_source *x) {
  const ptx_instruction *i = x->i;
  program *p = x->s->p;
  static const char from_21[] = "llvm.nvvm.barrier.cta.sync.all";
  bool is_newer = LLVMLookupIntrinsicID(from_21, strlen(from_21)) != 0;
  LLVMTypeRef params[] = {p->i32, p->i32}, type = LLVMFunctionType(p->void_type, params, 2, 0);
  LLVMValueRef arguments[2];
  for (int n = 0; n < i->operand_count && n < 2; n++) arguments[n] = ptx_read(x->s, i->operands[n], p->i32);
  if (ptx_has_modifier(i, "warp")) {
    if (i->operand_count != 1) return false;
    call(x, "llvm.nvvm.bar.warp.sync", arguments, 1);
  } else if (ptx_has_modifier(i, "sync") && i->operand_count == 1) {
    call(x, is_newer ? from_21 : "llvm.nvvm.barrier.sync", arguments, 1);
  } else if ((ptx_has_modifier(i, "sync") || ptx_has_modifier(i, "arrive")) && i->operand_count == 2) {
    const char *name = ptx_has_modifier(i, "sync") ? BARRIER_SYNC_COUNT : BARRIER_ARRIVE;
    LLVMBuildCall2(x->s->b, type, ptx_declared(x->s, name, type), arguments, 2, "");
  } else {
    return false;
  }
  return true;
}

bool ptx_translate_effect(ptx_statement *s, const ptx_instruction *i) {
  static const char *const nothing[] = {"nanosleep",     "prefetch", "prefetchu",     "discard",
                                        "applypriority", "pmevent",  "griddepcontrol"};
  const char *name = i->words[0];
  ptx_source x = {.s = s, .i = i};
  if ((strcmp(name, "bar") == 0 || strcmp(name, "barrier") == 0) && !ptx_has_modifier(i, "red"))
    return translate_barrier(&x);
  if (strcmp(name, "elect") == 0) return translate_elect(&x);
  if (strcmp(name, "membar") == 0 || strcmp(name, "fence") == 0) {
    call(&x, "llvm.nvvm.membar.gl", NULL, 0);
  } else if (strcmp(name, "trap") == 0) {
    call(&x, "llvm.trap", NULL, 0);
  } else if (strcmp(name, "createpolicy") == 0 && i->operand_count > 0) { /* caches have no policies */
    ptx_write(s, i->operands[0], constant_i64(s->p, 0));
  } else if (strcmp(name, "exit") == 0 && i->operand_count == 0) {
    LLVMTypeRef type = LLVMFunctionType(s->p->void_type, NULL, 0, 0);
    LLVMBuildCall2(s->b, type, ptx_declared(s, THREAD_EXIT, type), NULL, 0, "");
  } else {
    for (size_t n = 0; n < MW_COUNT(nothing); n++)
      if (strcmp(name, nothing[n]) == 0) return true;
    return ptx_translate_copy(s, i) || ptx_translate_space(s, i);
  }
  return true;
}
