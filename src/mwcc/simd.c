/* Which kernels run as SIMD lanes, and the dispatch between a kernel's variants.
 *
 * A kernel that can be widened gets three: `rows`, where the rows of a block are whole gangs; `tail`, where they are not;
 * and the loop or fiber variant for launches outside the class that the others are compiled for (a very large grid, or
 * parameters that the shapes do not hold for: simt.h). The block function looks at the launch and picks one. */
#include "widen.h"

#include <stdlib.h>
#include <string.h>

/* Lanes: one vector register of 32-bit elements. */
static int native_width(const program *p) {
  if (strstr(p->features, "+avx512f") && strstr(p->features, "+avx512bw") && strstr(p->features, "+avx512vl"))
    return 16;
  if (strstr(p->features, "+avx2")) return 8;
  return 4;
}

/* What one of the variants assumes, they all keep to. */
static void add_assumptions(kernel *k, const shapes *s) {
  bool first = !k->most_blocks;
  if (first || s->extent.grid < k->most_blocks) k->most_blocks = s->extent.grid;
  if (first || s->extent.launch < k->most_threads) k->most_threads = s->extent.launch;
  for (int i = 0; i < s->assumption_count; i++) {
    int n = 0;
    while (n < k->assumption_count && k->assumptions[n].parameter != s->assumptions[i].parameter) n++;
    if (n < k->assumption_count) continue; /* of a parameter there is only one to be made */
    k->assumptions = mw_realloc(k->assumptions, (size_t)(n + 1) * sizeof *k->assumptions);
    k->assumptions[k->assumption_count++] = s->assumptions[i];
  }
}

/* ---- is it worth it? ----
   A gather costs about as much as its loads one by one, and the lanes of a divergent loop wait for the longest: a loop
   that does little but gather is quicker one thread at a time (sparse matrices, lists, trees). */

static bool is_gather(const shapes *s, LLVMValueRef i) {
  if (!LLVMIsALoadInst(i)) return false;
  shape at = shape_of(s, LLVMGetOperand(i, 0));
  return at.kind == SHAPE_VARYING || (at.kind == SHAPE_AFFINE && at.stride > 8);
}

static bool is_arithmetic(LLVMValueRef i) {
  return !LLVMIsALoadInst(i) && !LLVMIsAStoreInst(i) && !LLVMIsAGetElementPtrInst(i) && !LLVMIsACastInst(i) &&
         !LLVMIsAPHINode(i) && !LLVMIsATerminatorInst(i);
}

static bool leaves_apart(const graph *g, const shapes *s, const loop *l) {
  for (int n = 0; n < g->count; n++) {
    if (!l->contains[n] || !s->divergent[n]) continue;
    for (int i = 0; i < g->nodes[n].succ_count; i++)
      if (!l->contains[g->nodes[n].succs[i]]) return true;
  }
  return false;
}

static bool mostly_gathers(const graph *g, const order *o, const shapes *s) {
  enum { WORTH = 4 }; /* arithmetic instructions that make up for one gather */
  for (int l = 0; l < o->loop_count; l++) {
    const loop *here = &o->loops[l];
    unsigned gathers = 0, arithmetic = 0;
    if (!leaves_apart(g, s, here)) continue;
    for (int n = 0; n < g->count; n++) {
      if (!here->contains[n]) continue;
      for (LLVMValueRef i = g->nodes[n].first;; i = LLVMGetNextInstruction(i)) {
        gathers += is_gather(s, i);
        arithmetic += is_arithmetic(i);
        if (i == g->nodes[n].last) break;
      }
    }
    if (gathers && arithmetic < WORTH * gathers) return true;
  }
  return false;
}

/* ---- the variants ---- */

static void widen_variants(program *p, kernel *k, const graph *g, const shapes *whole, const shapes *s,
                           const char **why, LLVMValueRef *why_at) {
  liveness live = liveness_of(g);
  char *rows = mw_format("rows.%s", k->linkage), *tail = mw_format("tail.%s", k->linkage);
  k->rows = widen_kernel(p, k, g, whole, &live, false, rows, why, why_at);
  if (k->rows) k->tail = widen_kernel(p, k, g, s, &live, true, tail, why, why_at);
  if (k->rows && !k->tail) {
    LLVMDeleteFunction(k->rows);
    k->rows = NULL;
  }
  free(rows);
  free(tail);
  liveness_free(g, &live);
}

static void explain(kernel *k, const char *why, LLVMValueRef why_at) {
  const char *file;
  unsigned line = 0, column;
  if (why_at) program_position(why_at, &file, &line, &column);
  k->tier_reason = line ? mw_format("%s; it does not run as SIMD lanes: line %u: %s", k->tier_reason, line, why)
                        : mw_format("%s; it does not run as SIMD lanes: %s", k->tier_reason, why);
}

static void widen_one(program *p, kernel *k, int width) {
  graph g;
  const char *why = NULL;
  LLVMValueRef why_at = NULL;
  if (!graph_build(p, k->body, &g, &why)) {
    explain(k, why, NULL);
    return;
  }
  if (k->sees_warp && width != 32) {
    explain(k, "it was asked to run in fewer lanes than a warp has", NULL);
    graph_free(&g);
    return;
  }
  flow f = graph_flow(&g);
  order o = order_of(&f);
  shapes whole = shapes_of_rows(&g, &o, width), s = shapes_of(&g, &o, width);
  if (!k->waits && !p->options->width && mostly_gathers(&g, &o, &s)) {
    why = "a loop that its threads leave at different times does little but gather";
  } else {
    widen_variants(p, k, &g, &whole, &s, &why, &why_at);
  }
  if (k->rows) {
    k->width = width;
    add_assumptions(k, &whole);
    add_assumptions(k, &s);
    k->tier = "simd";
    k->tier_reason = mw_format("%d threads of a row are the lanes of vector registers", width);
  } else {
    explain(k, why, why_at);
  }
  shapes_free(&whole);
  shapes_free(&s);
  order_free(&o);
  graph_free(&g);
}

void widen_kernels(program *p) {
  int width = p->options->width ? p->options->width : native_width(p);
  for (size_t i = 0; i < p->kernel_count && width > 1; i++) {
    bool whole_warps = p->kernels[i].sees_warp && !p->options->width;
    widen_one(p, &p->kernels[i], whole_warps ? 32 : width);
  }
  verify_module(p, "widening");
}

static LLVMValueRef at_most(program *p, LLVMBuilderRef b, LLVMValueRef all, LLVMValueRef number, int64_t most) {
  LLVMValueRef fits = LLVMBuildICmp(b, LLVMIntULE, number, constant_i64(p, (uint64_t)most), "");
  return all ? LLVMBuildAnd(b, all, fits, "") : fits;
}

/* Whether the launch is of the class that the SIMD variants are compiled for. */
static LLVMValueRef in_class(program *p, LLVMBuilderRef b, const kernel *k, LLVMValueRef frame) {
  LLVMValueRef all = NULL;
  for (unsigned axis = 0; axis < 3; axis++) {
    LLVMValueRef grid = load_invariant(p, b, p->i32, frame, offsetof(mw_frame, grid) + axis * sizeof(uint32_t));
    LLVMValueRef block = load_invariant(p, b, p->i32, frame, offsetof(mw_frame, block) + axis * sizeof(uint32_t));
    grid = LLVMBuildZExt(b, grid, p->i64, "");
    LLVMValueRef threads = LLVMBuildMul(b, grid, LLVMBuildZExt(b, block, p->i64, ""), "");
    all = at_most(p, b, all, grid, k->most_blocks);
    all = at_most(p, b, all, threads, k->most_threads);
  }
  LLVMValueRef params = load_invariant(p, b, p->pointer, frame, offsetof(mw_frame, params));
  for (int i = 0; i < k->assumption_count; i++) {
    const assumption *a = &k->assumptions[i];
    LLVMValueRef value = load_invariant(p, b, p->i32, params, k->params[a->parameter].offset);
    LLVMValueRef above = LLVMBuildSub(b, LLVMBuildSExt(b, value, p->i64, ""), constant_i64(p, (uint64_t)a->low), "");
    all = at_most(p, b, all, above, a->high - a->low);
  }
  return all;
}

static void call_variant(program *p, LLVMBuilderRef b, LLVMValueRef function, LLVMValueRef variant,
                         LLVMBasicBlockRef at) {
  LLVMValueRef arguments[4];
  for (unsigned i = 0; i < 4; i++) arguments[i] = LLVMGetParam(function, i);
  LLVMPositionBuilderAtEnd(b, at);
  LLVMBuildCall2(b, LLVMGlobalGetValueType(variant), variant, arguments, 4, "");
  LLVMBuildRetVoid(b);
  add_attribute(p, variant, "noinline");
}

/* Gangs that are parts of rows are warps only where there is a single row. */
static LLVMValueRef gangs_fit(program *p, LLVMBuilderRef b, const kernel *k, LLVMValueRef frame) {
  if (!k->sees_warp) return LLVMConstInt(p->i1, 1, 0);
  size_t block = offsetof(mw_frame, block);
  LLVMValueRef y = load_invariant(p, b, p->i32, frame, block + sizeof(uint32_t));
  LLVMValueRef z = load_invariant(p, b, p->i32, frame, block + 2 * sizeof(uint32_t));
  return LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildMul(b, y, z, ""), constant_i32(p, 1), "");
}

/* k->run is the general variant so far; it becomes the dispatch. */
void build_dispatch(program *p, kernel *k) {
  LLVMValueRef general = k->general = k->run;
  char *name = mw_format("run.%s", k->linkage);
  LLVMSetValueName2(general, "general", 7);
  LLVMSetLinkage(general, LLVMInternalLinkage);
  LLVMValueRef function = LLVMAddFunction(p->module, name, LLVMGlobalGetValueType(general));
  LLVMSetLinkage(function, LLVMInternalLinkage);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  LLVMBasicBlockRef top = LLVMAppendBasicBlockInContext(p->context, function, "entry"),
                    fits = LLVMAppendBasicBlockInContext(p->context, function, "simd");
  LLVMBasicBlockRef rows = LLVMAppendBasicBlockInContext(p->context, function, "rows"),
                    tail = LLVMAppendBasicBlockInContext(p->context, function, "tail");
  LLVMBasicBlockRef other = LLVMAppendBasicBlockInContext(p->context, function, "general");
  LLVMPositionBuilderAtEnd(b, top);
  LLVMBuildCondBr(b, in_class(p, b, k, LLVMGetParam(function, 0)), fits, other);
  LLVMPositionBuilderAtEnd(b, fits);
  LLVMValueRef x = load_invariant(p, b, p->i32, LLVMGetParam(function, 0), offsetof(mw_frame, block));
  LLVMValueRef rest = LLVMBuildURem(b, x, constant_i32(p, (unsigned)k->width), "");
  LLVMBasicBlockRef part = LLVMAppendBasicBlockInContext(p->context, function, "part");
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, rest, constant_i32(p, 0), ""), rows, part);
  LLVMPositionBuilderAtEnd(b, part);
  LLVMBuildCondBr(b, gangs_fit(p, b, k, LLVMGetParam(function, 0)), tail, other);
  call_variant(p, b, function, k->rows, rows);
  call_variant(p, b, function, k->tail, tail);
  call_variant(p, b, function, general, other);
  LLVMDisposeBuilder(b);
  free(name);
  k->run = function;
}
