/* Streaming (non-temporal) stores.
 *
 * A plain store reads its line into the cache first, and later the line is written to memory: twice the traffic of
 * what is written. Where lanes write whole lines that are not read soon, streaming stores write them to memory
 * directly.
 *
 * Lines are not read soon if the kernel does not load from the array, and the launch writes more than the caches hold,
 * so that the next kernel would not find them there either. A place that is stored to in every iteration of a loop, or
 * by several stores, is better gathered in a cache, unless each of these stores writes whole lines.
 *
 * Where blocks write the columns of a matrix, as a transposition does, blocks above and below each other write
 * neighbouring lines, and memory is fastest if they do so at about the same time. So if the launch writes more than the
 * caches hold, rows of blocks are dealt out to the workers one by one (cpu/command.h).
 *
 * All this is about speed alone: a streaming store has the effect of any other. A fence at the end of a worker's
 * blocks orders it before what the worker signals to others. Kernels that order memory themselves (atomics, fences,
 * unknown calls) have no streaming stores. */
#include "memory.h"
#include "mwcc/support/predicates.h"
#include "mwcc/target/tuning.h"

#include <stdlib.h>

enum { LINE = 64 };

/* The parameter or variable that the address is made from; else NULL. */
static LLVMValueRef array_of(LLVMValueRef address) {
  LLVMValueRef root = root_of(address);
  return LLVMIsAArgument(root) || LLVMIsAGlobalVariable(root) ? root : NULL;
}

static bool is_own_memory(LLVMValueRef address) {
  memory_kind kind = memory_of(address);
  return kind == MEMORY_SHARED || kind == MEMORY_LOCAL;
}

/* The number of consecutive vectors that make a line, if vectors are shorter, as those of one row of a block may;
   whether they are consecutive is tested at run time (are_consecutive). Else 0. */
static int vectors_of_line(const widener *w, const place *at, uint64_t bytes_each) {
  const cut *c = &w->shapes->cut;
  int count = bytes_each && bytes_each < LINE ? (int)(LINE / bytes_each) : 0;
  if (!count || c->kind != CUT_PLANE || c->columns % count || !is_vector_affine(w, at->address)) return 0;
  return w->vectors % count ? 0 : count;
}

/* Whether vectors are whole lines, or make some together. */
static bool fills_lines(const widener *w, const place *at, uint64_t bytes) {
  uint64_t bytes_each = bytes * (uint64_t)w->width;
  if (bytes_each % LINE == 0 || vectors_of_line(w, at, bytes_each)) return true;
  if (!is_affine(w, at->address) || shape_of(w->shapes, at->address).step != (int64_t)bytes_each) return false;
  return bytes_each * (uint64_t)w->vectors % LINE == 0;
}

/* Whether the store is certainly of other whole lines, as where each thread has several elements. */
static bool stores_other_lines(const widener *w, LLVMValueRef other, LLVMValueRef store) {
  if (!LLVMIsAStoreInst(other) || LLVMGetOperand(other, 1) == LLVMGetOperand(store, 1)) return false;
  if (w->shapes->order->innermost[graph_node_of(w->g, other)] >= 0) return false;
  uint64_t bytes = LLVMABISizeOfType(w->p->layout, LLVMTypeOf(LLVMGetOperand(other, 0)));
  place at = {.address = LLVMGetOperand(other, 1), .by = other};
  return has_stride(w, at.address, (int64_t)bytes) && fills_lines(w, &at, bytes);
}

/* Whether no other instruction accesses the array, except stores of other lines: *stores with this one. *loaded: the
   parameters that other accesses use, which may be the same array in some launches. */
static bool is_only_stored(const widener *w, LLVMValueRef store, LLVMValueRef root, LLVMValueRef *loaded, int most,
                           int *count, unsigned *stores) {
  *count = 0, *stores = 1;
  for (int n = 0; n < w->g->value_count; n++) {
    LLVMValueRef i = w->g->values[n];
    if (i == store || touches_no_memory(i) || is_barrier(i)) continue;
    if (!LLVMIsALoadInst(i) && !LLVMIsAStoreInst(i)) return false;
    if (!is_plain_access(i)) return false;
    LLVMValueRef address = LLVMGetOperand(i, LLVMIsALoadInst(i) ? 0 : 1), from = array_of(address);
    if (is_own_memory(address)) continue;
    if (from == root && stores_other_lines(w, i, store)) {
      ++*stores;
      continue;
    }
    if (!from || from == root) return false;
    bool known = !LLVMIsAArgument(from) || LLVMIsAStoreInst(i);
    for (int l = 0; l < *count; l++) known = known || loaded[l] == from;
    if (known) continue;
    if (*count == most) return false;
    loaded[(*count)++] = from;
  }
  return true;
}

/* Whether the launch writes more than the caches hold. */
static LLVMValueRef writes_much(widener *w, uint64_t bytes) {
  LLVMValueRef all = constant_i64(w->p, bytes);
  if (w->elements) all = LLVMBuildMul(w->b, all, w->elements, "");
  for (unsigned axis = 0; axis < 3 && !w->elements; axis++) {
    size_t at = offsetof(mw_frame, grid) + axis * sizeof(uint32_t);
    LLVMValueRef blocks = load_invariant(w->p, w->b, w->p->i32, w->frame, at);
    all = LLVMBuildMul(w->b, all, LLVMBuildZExt(w->b, blocks, w->p->i64, ""), "");
    all = LLVMBuildMul(w->b, all, constant_i64(w->p, w->p->options->launch_block[axis]), "");
  }
  LLVMValueRef held = load_invariant(w->p, w->b, w->p->i64, w->frame, offsetof(mw_frame, cached));
  return LLVMBuildICmp(w->b, LLVMIntUGE, all, held, "");
}

/* Whether all vectors are aligned for streaming stores: to lines, or to vectors where several make a line; then only
   the first of so many (`every`) needs to be at a line. */
static LLVMValueRef begins_lines(widener *w, const place *at, const LLVMValueRef *pointers, uint64_t bytes_each,
                                 int every) {
  int64_t step = is_affine(w, at->address) ? shape_of(w->shapes, at->address).step : 1;
  bool is_first_decisive = step % LINE == 0 || step == (int64_t)bytes_each;
  LLVMValueRef bits = NULL;
  for (int u = 0; u < (is_first_decisive ? 1 : w->vectors); u += every) {
    LLVMValueRef number = LLVMBuildPtrToInt(w->b, plain_pointer(w, pointers[u]), w->p->i64, "");
    bits = bits ? LLVMBuildOr(w->b, bits, number, "") : number;
  }
  bits = LLVMBuildAnd(w->b, bits, constant_i64(w->p, LINE - 1), "");
  return LLVMBuildICmp(w->b, LLVMIntEQ, bits, constant_i64(w->p, 0), "");
}

/* Whether every `count` vectors are consecutive. */
static LLVMValueRef are_consecutive(widener *w, const LLVMValueRef *pointers, int count, uint64_t bytes_each) {
  LLVMValueRef all = LLVMConstInt(w->p->i1, 1, 0);
  for (int u = 0; u < w->vectors; u++) {
    if (u % count == 0) continue;
    LLVMValueRef next = moved(w, plain_pointer(w, pointers[u - 1]), bytes_each);
    LLVMValueRef follows = LLVMBuildICmp(w->b, LLVMIntEQ, plain_pointer(w, pointers[u]), next, "");
    all = LLVMBuildAnd(w->b, all, follows, "");
  }
  return all;
}

static void store_streaming(widener *w, LLVMValueRef lanes, LLVMValueRef pointer, unsigned align) {
  program *p = w->p;
  LLVMMetadataRef one = LLVMValueAsMetadata(constant_i32(p, 1));
  LLVMValueRef made = LLVMBuildStore(w->b, lanes, pointer),
               mark = LLVMMetadataAsValue(p->context, LLVMMDNodeInContext2(p->context, &one, 1));
  LLVMSetAlignment(made, align);
  LLVMSetMetadata(made, LLVMGetMDKindIDInContext(p->context, "nontemporal", 11), mark);
}

static bool may_stream(const widener *w, const place *at, uint64_t bytes) {
  const program *p = w->p;
  if (w->fallback || !p->options->launch_kernel || !starts_with(p->triple, "x86_64")) return false;
  if (at->is_volatile || !LLVMIsAStoreInst(at->by) || !fills_lines(w, at, bytes)) return false;
  return w->shapes->order->innermost[graph_node_of(w->g, at->by)] < 0;
}

/* Whether the block in the next row of the grid stores nearby, and the next one in this row far away. */
static bool stores_columns(widener *w, LLVMValueRef address) {
  enum { NEAR = TUNE_COLUMN_STRIDE };
  LLVMValueRef down = stride_along(w, "ctaid.y", address);
  if (!down || !LLVMIsAConstantInt(down)) return false;
  int64_t near = llabs(LLVMConstIntGetSExtValue(down));
  if (near == 0 || near >= NEAR) return false;
  LLVMValueRef across = stride_along(w, "ctaid.x", address);
  return !across || !LLVMIsAConstantInt(across) || llabs(LLVMConstIntGetSExtValue(across)) >= NEAR;
}

bool store_streamed(widener *w, const place *at, vectors lanes, uint64_t bytes) {
  enum { MOST = TUNE_STREAMED_LOADS };
  LLVMValueRef root = array_of(at->address), loaded[MOST], pointers[MOST_VECTORS];
  uint64_t bytes_each = bytes * (uint64_t)w->width;
  int count;
  unsigned stores;
  if (!has_pass(w->p, PASS_NONTEMPORAL_STORES) || !may_stream(w, at, bytes) || !root || !LLVMIsAArgument(root))
    return false;
  if (!is_only_stored(w, at->by, root, loaded, MOST, &count, &stores)) return false;
  const unsigned *block = w->p->options->launch_block;
  if (stores_columns(w, at->address)) w->k->column_bytes = (uint32_t)(bytes * stores * block[0] * block[1] * block[2]);
  LLVMValueRef past = writes_much(w, bytes * stores);
  for (int l = 0; l < count; l++) {
    LLVMValueRef other = LLVMBuildICmp(w->b, LLVMIntNE, value_scalar(w, root), value_scalar(w, loaded[l]), "");
    past = LLVMBuildAnd(w->b, past, other, "");
  }
  for (int u = 0; u < w->vectors; u++) pointers[u] = vector_pointer(w, at, u);
  int together = vectors_of_line(w, at, bytes_each);
  past = LLVMBuildAnd(w->b, past, begins_lines(w, at, pointers, bytes_each, together ? together : 1), "");
  if (together) past = LLVMBuildAnd(w->b, past, are_consecutive(w, pointers, together, bytes_each), "");
  LLVMBasicBlockRef streamed = LLVMAppendBasicBlockInContext(w->p->context, w->function, "streamed"),
                    usual = LLVMAppendBasicBlockInContext(w->p->context, w->function, "cached"),
                    done = LLVMAppendBasicBlockInContext(w->p->context, w->function, "stored");
  LLVMBuildCondBr(w->b, past, streamed, usual);
  LLVMPositionBuilderAtEnd(w->b, streamed);
  for (int u = 0; u < w->vectors; u++)
    store_streaming(w, lanes.of[u], pointers[u], bytes_each < LINE ? (unsigned)bytes_each : LINE);
  LLVMBuildBr(w->b, done);
  LLVMPositionBuilderAtEnd(w->b, usual);
  for (int u = 0; u < w->vectors; u++) LLVMSetAlignment(LLVMBuildStore(w->b, lanes.of[u], pointers[u]), at->align);
  LLVMBuildBr(w->b, done);
  LLVMPositionBuilderAtEnd(w->b, done);
  w->streams = true;
  return true;
}

void fence_streamed(widener *w) {
  if (w->streams) call_intrinsic(w->p, w->b, "llvm.x86.sse.sfence", NULL, 0, NULL, 0);
}
