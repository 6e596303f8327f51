/* The dispatch between a kernel's variants: a function that inspects the launch and calls the variant for it
 * (multiversioning). For code that is specialised to a block class: the predicate whether a launch is of that class.
 */
#include "mwcc/analysis/footprint.h"
#include "mwcc/widen/widen.h"
#include "mwcc/read/read.h"

#include <stdlib.h>

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

static LLVMValueRef is_multiple(program *p, LLVMBuilderRef b, LLVMValueRef number, int of) {
  LLVMValueRef rest = LLVMBuildAnd(b, number, constant_i32(p, (unsigned)of - 1), "");
  return LLVMBuildICmp(b, LLVMIntEQ, rest, constant_i32(p, 0), "");
}

/* Whether the launch's blocks can be cut like that. */
static LLVMValueRef can_be_cut(program *p, LLVMBuilderRef b, const cut *c, LLVMValueRef frame) {
  size_t block = offsetof(mw_frame, block);
  LLVMValueRef x = load_invariant(p, b, p->i32, frame, block);
  LLVMValueRef y = load_invariant(p, b, p->i32, frame, block + sizeof(uint32_t));
  LLVMValueRef z = load_invariant(p, b, p->i32, frame, block + 2 * sizeof(uint32_t));
  switch (c->kind) {
  case CUT_ROW:
  case CUT_LINE: break;
  case CUT_SINGLE: return LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildMul(b, y, z, ""), constant_i32(p, 1), "");
  case CUT_ROWS: return is_multiple(p, b, x, c->lanes * c->vectors);
  case CUT_PLANE:
    return LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntEQ, x, constant_i32(p, (unsigned)(c->lanes * c->columns)), ""),
                        is_multiple(p, b, y, c->vectors / c->columns), "");
  }
  return LLVMConstInt(p->i1, 1, 0);
}

/* Whether the stack has room for all gangs of one of the launch's blocks. */
static LLVMValueRef gangs_have_room(program *p, LLVMBuilderRef b, const variant *v, LLVMValueRef frame) {
  LLVMValueRef size[3];
  uint64_t rows = v->cut.kind == CUT_PLANE ? (uint64_t)(v->cut.vectors / v->cut.columns) : 1;
  uint64_t columns = (uint64_t)(v->cut.lanes * v->cut.vectors) / rows;
  if (!v->waiting) return LLVMConstInt(p->i1, 1, 0);
  for (unsigned axis = 0; axis < 3; axis++) {
    size_t at = offsetof(mw_frame, block) + axis * sizeof(uint32_t);
    size[axis] = LLVMBuildZExt(b, load_invariant(p, b, p->i32, frame, at), p->i64, "");
  }
  LLVMValueRef gangs = LLVMBuildAdd(b, size[0], constant_i64(p, columns - 1), "");
  gangs = LLVMBuildUDiv(b, gangs, constant_i64(p, columns), "");
  gangs = LLVMBuildMul(b, gangs, LLVMBuildMul(b, size[1], size[2], ""), "");
  gangs = LLVMBuildUDiv(b, gangs, constant_i64(p, rows), "");
  return LLVMBuildICmp(b, LLVMIntULE, LLVMBuildMul(b, gangs, constant_i64(p, v->waiting), ""),
                       constant_i64(p, SAVED_MOST), "");
}

/* The number of threads in a row of the grid. */
static LLVMValueRef threads_of_row(program *p, LLVMBuilderRef b, LLVMValueRef frame) {
  LLVMValueRef blocks = load_invariant(p, b, p->i32, frame, offsetof(mw_frame, grid)),
               threads = load_invariant(p, b, p->i32, frame, offsetof(mw_frame, block));
  return LLVMBuildMul(b, LLVMBuildZExt(b, blocks, p->i64, ""), LLVMBuildZExt(b, threads, p->i64, ""), "");
}

static LLVMValueRef has_several_blocks(program *p, LLVMBuilderRef b, LLVMValueRef frame) {
  LLVMValueRef any = constant_i32(p, 0);
  for (unsigned axis = 0; axis < 3; axis++) {
    size_t at = offsetof(mw_frame, grid) + axis * sizeof(uint32_t);
    any = LLVMBuildOr(b, any, load_invariant(p, b, p->i32, frame, at), "");
  }
  return LLVMBuildICmp(b, LLVMIntUGT, any, constant_i32(p, 1), "");
}

static void call_variant(program *p, LLVMBuilderRef b, LLVMValueRef function, LLVMValueRef callee,
                         LLVMBasicBlockRef at) {
  LLVMValueRef arguments[4];
  for (unsigned i = 0; i < 4; i++) arguments[i] = LLVMGetParam(function, i);
  LLVMPositionBuilderAtEnd(b, at);
  LLVMBuildCall2(b, LLVMGlobalGetValueType(callee), callee, arguments, 4, "");
  LLVMBuildRetVoid(b);
  add_attribute(p, callee, "noinline");
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
                    next = LLVMAppendBasicBlockInContext(p->context, function, "simd"),
                    other = LLVMAppendBasicBlockInContext(p->context, function, "general");
  LLVMPositionBuilderAtEnd(b, top);
  LLVMBuildCondBr(b, in_class(p, b, k, LLVMGetParam(function, 0)), next, other);
  for (int i = 0; i < k->variant_count; i++) {
    LLVMBasicBlockRef run = LLVMAppendBasicBlockInContext(p->context, function, "run");
    LLVMPositionBuilderAtEnd(b, next);
    next = i + 1 < k->variant_count ? LLVMAppendBasicBlockInContext(p->context, function, "next") : other;
    const variant *v = &k->variants[i];
    LLVMValueRef fits = can_be_cut(p, b, &v->cut, LLVMGetParam(function, 0));
    fits = LLVMBuildAnd(b, fits, gangs_have_room(p, b, v, LLVMGetParam(function, 0)), "");
    LLVMBuildCondBr(b, fits, run, next);
    call_variant(p, b, function, v->function, run);
  }
  call_variant(p, b, function, general, other);
  LLVMDisposeBuilder(b);
  free(name);
  k->run = function;
}

static LLVMValueRef has_blocks_of_that_size(program *p, LLVMBuilderRef b, LLVMValueRef frame) {
  LLVMValueRef all = LLVMConstInt(p->i1, 1, 0);
  for (unsigned axis = 0; axis < 3; axis++) {
    LLVMValueRef size = load_invariant(p, b, p->i32, frame, offsetof(mw_frame, block) + axis * sizeof(uint32_t));
    LLVMValueRef same = LLVMBuildICmp(b, LLVMIntEQ, size, constant_i32(p, p->options->launch_block[axis]), "");
    all = LLVMBuildAnd(b, all, same, "");
  }
  return all;
}

/* This is not a dispatch: the runtime selects the launches beforehand (mw_mwo_kernel.fits). */
void build_launched(program *p, kernel *k) {
  LLVMTypeRef type = LLVMFunctionType(p->i32, &p->pointer, 1, 0);
  char *name = mw_format("fits.%s", k->linkage);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  k->fits = LLVMAddFunction(p->module, name, type);
  LLVMSetLinkage(k->fits, LLVMInternalLinkage);
  prefer_widest(p, k->fits);
  LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(p->context, k->fits, "entry"));
  LLVMValueRef fits = k->variant_count ? in_class(p, b, k, LLVMGetParam(k->fits, 0)) : LLVMConstInt(p->i1, 1, 0);
  if (k->variant_count)
    fits = LLVMBuildAnd(b, fits, gangs_have_room(p, b, &k->variants[0], LLVMGetParam(k->fits, 0)), "");
  fits = LLVMBuildAnd(b, fits, has_blocks_of_that_size(p, b, LLVMGetParam(k->fits, 0)), "");
  LLVMValueRef several = has_several_blocks(p, b, LLVMGetParam(k->fits, 0));
  if (k->reads_rows_in_place) {
    LLVMValueRef params = load_invariant(p, b, p->pointer, LLVMGetParam(k->fits, 0), offsetof(mw_frame, params));
    LLVMValueRef last = LLVMBuildSub(b, threads_of_row(p, b, LLVMGetParam(k->fits, 0)), constant_i64(p, 1), "");
    fits = LLVMBuildAnd(b, fits, several, "");
    fits = LLVMBuildAnd(b, fits, build_disjoint_test(p, b, k, &k->row_footprints, params, last), "");
  }
  if (p->options->launch_one) fits = LLVMBuildAnd(b, fits, LLVMBuildNot(b, several, ""), "");
  LLVMValueRef width = load_invariant(p, b, p->i32, LLVMGetParam(k->fits, 0), offsetof(mw_frame, grid));
  fits = LLVMBuildAnd(b, fits, is_multiple(p, b, width, (int)p->merged), "");
  LLVMBuildRet(b, LLVMBuildZExt(b, fits, p->i32, ""));
  LLVMDisposeBuilder(b);
  free(name);
}
