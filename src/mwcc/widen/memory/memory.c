/* The choice of an access class for a load or store of a gang; contiguous, broadcast and scalar accesses. See
 * memory.h. */
#include "memory.h"
#include "mwcc/support/predicates.h"
#include "mwcc/divergence/address_form.h"
#include "mwcc/divergence/access_pattern.h"
#include "mwcc/target/tuning.h"

#include <stdlib.h>
#include <string.h>

static uint64_t bytes_of(widener *w, LLVMTypeRef type) { return LLVMABISizeOfType(w->p->layout, type); }

static bool is_element(LLVMTypeRef type) {
  switch (LLVMGetTypeKind(type)) {
  case LLVMIntegerTypeKind: {
    unsigned width = LLVMGetIntTypeWidth(type);
    return width == 8 || width == 16 || width == 32 || width == 64;
  }
  case LLVMFloatTypeKind:
  case LLVMDoubleTypeKind:
  case LLVMHalfTypeKind:
  case LLVMPointerTypeKind: return true;
  default: return false;
  }
}

static bool is_contiguous(widener *w, const place *at, uint64_t bytes) {
  return bytes && has_stride(w, at->address, (int64_t)bytes);
}

LLVMValueRef plain_pointer(widener *w, LLVMValueRef pointer) {
  LLVMTypeRef type = LLVMTypeOf(pointer);
  bool vector = is_vector_type(type);
  if (LLVMGetPointerAddressSpace(vector ? LLVMGetElementType(type) : type) == 0) return pointer;
  return LLVMBuildAddrSpaceCast(w->b, pointer, vector ? vector_type(w, w->p->pointer) : w->p->pointer, "");
}

LLVMValueRef moved(widener *w, LLVMValueRef pointer, uint64_t offset) {
  LLVMValueRef at = constant_i64(w->p, offset);
  return offset ? LLVMBuildGEP2(w->b, w->p->i8, pointer, &at, 1, "") : pointer;
}

LLVMValueRef vector_pointer(widener *w, const place *at, int u) {
  return moved(w, plain_pointer(w, vector_scalar(w, at->address, u)), at->offset);
}

/* The pointer of a vector whose lanes share one address. If the vector has no active lane, the pointer may be anything,
   so a dummy on the stack replaces it. */
static LLVMValueRef safe_pointer(widener *w, const place *at, LLVMTypeRef type, mask m, int u) {
  LLVMValueRef pointer = vector_pointer(w, at, u);
  if (m.all || is_uniform(w, at->address)) return pointer;
  LLVMValueRef nowhere = LLVMBuildAlloca(w->entry, type, "");
  if (at->align > LLVMGetAlignment(nowhere)) LLVMSetAlignment(nowhere, at->align);
  return LLVMBuildSelect(w->b, any_in_vector(w, m.lanes.of[u]), pointer, nowhere, "");
}

/* Scalar and vector accesses keep program order by being volatile. Masked intrinsics cannot be volatile, so they stand
   between compiler fences. */
static void compiler_fence(widener *w, const place *at) {
  if (at->is_volatile) LLVMBuildFence(w->b, LLVMAtomicOrderingSequentiallyConsistent, 1, "");
}

static LLVMValueRef load_scalar(widener *w, const place *at, LLVMTypeRef type, mask m, int u) {
  LLVMValueRef value = LLVMBuildLoad2(w->b, type, safe_pointer(w, at, type, m, u), "");
  LLVMSetAlignment(value, at->align);
  LLVMSetVolatile(value, at->is_volatile);
  if (is_byval_parameter(at->address) || (LLVMIsALoadInst(at->by) && is_marked_invariant(w->p, at->by)))
    mark_invariant(w->p, value);
  return value;
}

/* ---- a test whether all lanes are active ---- */

choice choose_every(widener *w, mask m) {
  choice c = {0};
  if (m.all) return c;
  LLVMValueRef every = m.lanes.of[0];
  for (int u = 1; u < w->vectors; u++) every = LLVMBuildAnd(w->b, every, m.lanes.of[u], "");
  LLVMValueRef word = mask_word(w, every);
  LLVMBasicBlockRef all = LLVMAppendBasicBlockInContext(w->p->context, w->function, "every");
  c.some = LLVMAppendBasicBlockInContext(w->p->context, w->function, "some");
  c.done = LLVMAppendBasicBlockInContext(w->p->context, w->function, "accessed");
  LLVMValueRef full = LLVMBuildICmp(w->b, LLVMIntEQ, word, LLVMConstAllOnes(LLVMTypeOf(word)), "");
  LLVMBuildCondBr(w->b, full, all, c.some);
  LLVMPositionBuilderAtEnd(w->b, all);
  return c;
}

void else_some(widener *w, const choice *c) {
  LLVMBuildBr(w->b, c->done);
  LLVMPositionBuilderAtEnd(w->b, c->some);
}

void end_choice(widener *w, const choice *c) {
  LLVMBuildBr(w->b, c->done);
  LLVMPositionBuilderAtEnd(w->b, c->done);
}

/* Whether a value is available at the access. In another node or after a barrier, the address may be saved, but not the
   values from which it was computed. */
bool is_available(widener *w, const place *at, LLVMValueRef value) {
  if (!LLVMIsAInstruction(value) || graph_node_of(w->g, value) == graph_node_of(w->g, at->by)) return true;
  return !w->several_regions && is_in_slot(w, value);
}

/* Whether the lanes of every vector have the same addresses as those of the first: then all vectors can share what is
   loaded for any of them. */
static bool vectors_share(widener *w, const place *at) {
  if (at->is_volatile || w->vectors == 1) return false;
  if (is_affine(w, at->address)) return shape_of(w->shapes, at->address).step == 0;
  return is_varying(w, at->address) && vectors_share_form(w->shapes, at->address);
}

/* The lanes that are active in any vector, as the mask of the first. */
static mask any_vector(widener *w, mask m) {
  for (int u = 1; !m.all && u < w->vectors; u++) m.lanes.of[0] = LLVMBuildOr(w->b, m.lanes.of[0], m.lanes.of[u], "");
  return m;
}

/* One value for each lane, from addresses that differ. */
vectors load_lanes(widener *w, const place *at, LLVMTypeRef type, mask m) {
  LLVMTypeRef wide = vector_type(w, type);
  tested_index index = index_to_test(w, at, type, true);
  bool contiguous = is_contiguous(w, at, bytes_of(w, type));
  if (!at->is_volatile && reaches_rows(w->shapes, at->address, bytes_of(w, type))) return load_rows(w, at, type, m);
  int steps = few_steps(w, at, bytes_of(w, type));
  if (steps) return load_strided(w, at, type, steps, m);
  vectors result = {0};
  compiler_fence(w, at);
  bool common = vectors_share(w, at);
  selected_address places;
  if (!contiguous && is_selected(w, at, &places)) {
    result = load_selected(w, at, &places, wide, common ? any_vector(w, m) : m, common ? 1 : w->vectors);
    for (int u = 1; u < w->vectors && common; u++) result.of[u] = result.of[0];
  } else if (!contiguous && index.index && !common) {
    result = load_tested(w, at, &index, wide, m);
  } else {
    if (common) m = any_vector(w, m);
    bool read = m.all || w->mostly_full || (contiguous && reads_between_barriers(w, at->by));
    if (contiguous && read && LLVMIsALoadInst(at->by) && !at->is_volatile)
      (common ? prefetch_shared_row : prefetch_ahead)(w, at->by, bytes_of(w, type));
    if (contiguous && LLVMIsALoadInst(at->by) && !at->is_volatile) prefetch_next_block(w, at->by, bytes_of(w, type));
    int count = common ? 1 : w->vectors;
    bool steps_alike = !contiguous && !m.all && loads_all_steps(w, at, bytes_of(w, type));
    if (contiguous) result = load_following(w, at, wide, NULL, m, count);
    if (steps_alike) result = load_all_steps(w, at, wide, m, count);
    for (int u = 0; u < w->vectors; u++)
      if (u >= count)
        result.of[u] = result.of[0];
      else if (!contiguous && !steps_alike)
        result.of[u] = gather(w, at, wide, m, u);
  }
  compiler_fence(w, at);
  return result;
}

static void store_scalar(widener *w, const place *at, LLVMValueRef value, mask m, int u) {
  LLVMValueRef made = LLVMBuildStore(w->b, value, safe_pointer(w, at, LLVMTypeOf(value), m, u));
  LLVMSetAlignment(made, at->align);
  LLVMSetVolatile(made, at->is_volatile);
}

void store_lanes(widener *w, const place *at, vectors lanes, mask m) {
  uint64_t bytes = bytes_of(w, LLVMGetElementType(LLVMTypeOf(lanes.of[0])));
  if (!at->is_volatile && reaches_rows(w->shapes, at->address, bytes)) {
    store_rows(w, at, lanes, m);
    return;
  }
  tested_index index = index_to_test(w, at, LLVMGetElementType(LLVMTypeOf(lanes.of[0])), false);
  bool contiguous = is_contiguous(w, at, bytes);
  if (contiguous && m.all && store_streamed(w, at, lanes, bytes)) return;
  compiler_fence(w, at);
  if (!contiguous && index.index) {
    store_tested(w, at, &index, lanes, m);
  } else {
    if (contiguous) store_following(w, at, lanes, NULL, m);
    for (int u = 0; u < w->vectors && !contiguous; u++) scatter(w, at, lanes.of[u], m, u);
  }
  compiler_fence(w, at);
}

/* The value of the last active lane of a vector, since any of those that store to one place may win; of a vector
   without active lanes, anything. */
static LLVMValueRef last_in_vector(widener *w, LLVMValueRef lanes, mask m, int u) {
  LLVMTypeRef bits = LLVMIntTypeInContext(w->p->context, (unsigned)w->width);
  if (m.all) return LLVMBuildExtractElement(w->b, lanes, constant_i32(w->p, (unsigned)w->width - 1), "");
  LLVMValueRef arguments[] = {mask_word(w, m.lanes.of[u]), LLVMConstInt(w->p->i1, 0, 0)};
  LLVMValueRef zeros = call_intrinsic(w->p, w->b, "llvm.ctlz", &bits, 1, arguments, 2);
  LLVMValueRef last = LLVMConstInt(bits, (unsigned)w->width - 1, 0);
  LLVMValueRef lane = LLVMBuildAnd(w->b, LLVMBuildSub(w->b, last, zeros, ""), last, "");
  return LLVMBuildExtractElement(w->b, lanes, lane, "");
}

/* The same for the gang. */
static LLVMValueRef last_active(widener *w, vectors lanes, mask m) {
  if (m.all) return last_in_vector(w, lanes.of[w->vectors - 1], m, w->vectors - 1);
  LLVMValueRef last = last_in_vector(w, lanes.of[0], m, 0);
  for (int u = 1; u < w->vectors; u++)
    last = LLVMBuildSelect(w->b, any_in_vector(w, m.lanes.of[u]), last_in_vector(w, lanes.of[u], m, u), last, "");
  return last;
}

/* Where the lanes' addresses differ, one may be aligned for a vector of which it is the first element, as in
   `if (x % 4 == n) *(float4 *)(a + x - n)`. Its neighbours are not, nor is a vector of lanes that begins with one. */
static unsigned lanes_alignment(widener *w, LLVMValueRef access, LLVMValueRef address, LLVMTypeRef type) {
  unsigned align = LLVMGetAlignment(access);
  if (!is_element(type) || has_stride(w, address, 0) || align < bytes_of(w, type)) return align;
  return (unsigned)bytes_of(w, type);
}

void widen_plain_load(widener *w, LLVMValueRef load, mask m) {
  LLVMValueRef address = LLVMGetOperand(load, 0);
  LLVMTypeRef type = LLVMTypeOf(load);
  place at = {address, 0, lanes_alignment(w, load, address, type), stays_in_place(load), load, 0};
  bool alike = has_stride(w, at.address, 0), uniform = is_uniform(w, load);
  vectors result = {0};
  if (!is_element(type) && !(alike && uniform)) {
    refuse(w, load, "it loads something that is neither a number nor a pointer");
    return;
  }
  if (!alike && load_pattern(w, load, m, &result)) {
    set_value(w, load, result);
    return;
  }
  if (!alike && (load_of_record(w, load, m) || load_pair(w, load, m))) return;
  if (!alike) {
    set_value(w, load, load_lanes(w, &at, type, m));
    return;
  }
  bool once = is_uniform(w, at.address);
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef value = once && u ? result.of[0] : load_scalar(w, &at, type, m, u);
    result.of[u] = is_varying(w, load) && !(once && u) ? splat(w, value) : value;
  }
  set_value(w, load, result);
}

void widen_plain_store(widener *w, LLVMValueRef store, mask m) {
  LLVMValueRef value = LLVMGetOperand(store, 0), address = LLVMGetOperand(store, 1);
  place at = {address, 0, lanes_alignment(w, store, address, LLVMTypeOf(value)), stays_in_place(store), store, 0};
  if (!is_element(LLVMTypeOf(value)) && !(is_uniform(w, at.address) && is_uniform(w, value))) {
    refuse(w, store, "it stores something that is neither a number nor a pointer");
    return;
  }
  if (store_struct_member(w, store, m) || store_pattern(w, store, m) || store_to_record(w, store, m) ||
      store_pair(w, store, m))
    return;
  if (!has_stride(w, at.address, 0)) {
    vectors lanes = value_vectors(w, value);
    if (!store_strided(w, &at, lanes, m)) store_lanes(w, &at, lanes, m);
  } else if (!is_uniform(w, at.address)) {
    for (int u = 0; u < w->vectors; u++)
      store_scalar(w, &at,
                   has_stride(w, value, 0) ? vector_scalar(w, value, u)
                                           : last_in_vector(w, value_vector(w, value, u), m, u),
                   m, u);
  } else {
    store_scalar(w, &at, is_uniform(w, value) ? value_scalar(w, value) : last_active(w, value_vectors(w, value), m), m,
                 0);
  }
}

/* ---- copies of structs ---- */

/* The widest element that both ends are aligned for. */
static LLVMTypeRef copy_unit(widener *w, uint64_t bytes, unsigned align) {
  unsigned unit = 8;
  while (unit > 1 && (align % unit || bytes % unit)) unit /= 2;
  return LLVMIntTypeInContext(w->p->context, unit * 8);
}

static unsigned argument_alignment(LLVMValueRef call, unsigned index) {
  LLVMAttributeRef align = LLVMGetCallSiteEnumAttribute(call, index, LLVMGetEnumAttributeKindForName("align", 5));
  return align ? (unsigned)LLVMGetEnumAttributeValue(align) : 1;
}

/* Copy a vector's structs in one piece: they are contiguous at both ends, and all lanes copy. */
static void copy_vector(widener *w, const place *target, const place *source, LLVMTypeRef wide, int u) {
  LLVMValueRef value = LLVMBuildLoad2(w->b, wide, vector_pointer(w, source, u), "");
  LLVMSetAlignment(value, source->align);
  LLVMSetAlignment(LLVMBuildStore(w->b, value, vector_pointer(w, target, u)), target->align);
}

static vectors load_element(widener *w, const place *at, LLVMTypeRef unit, mask m) {
  vectors result = {0};
  if (!has_stride(w, at->address, 0)) return load_lanes(w, at, unit, m);
  bool once = is_uniform(w, at->address);
  for (int u = 0; u < w->vectors; u++)
    result.of[u] = once && u ? result.of[0] : splat(w, load_scalar(w, at, unit, m, u));
  return result;
}

static void store_element(widener *w, const place *at, vectors lanes, mask m) {
  if (!has_stride(w, at->address, 0))
    store_lanes(w, at, lanes, m);
  else if (is_uniform(w, at->address))
    store_scalar(w, at, last_active(w, lanes, m), m, 0);
  else
    for (int u = 0; u < w->vectors; u++) store_scalar(w, at, last_in_vector(w, lanes.of[u], m, u), m, u);
}

/* Every lane copies a constant, small number of bytes (false: it is not): in one piece where the structs of all lanes
   are contiguous, else element by element. A whole struct is read before any of it is written. */
bool widen_copy(widener *w, LLVMValueRef call, mask m) {
  enum { MOST = TUNE_COPY_BYTES };
  LLVMValueRef length = LLVMGetOperand(call, 2);
  vectors elements[MOST];
  if (!LLVMIsAConstantInt(length) || LLVMConstIntGetZExtValue(length) > MOST) return false;
  uint64_t bytes = LLVMConstIntGetZExtValue(length);
  place target = {LLVMGetOperand(call, 0), 0, 0, false, call, 0},
        source = {LLVMGetOperand(call, 1), 0, 0, false, call, 0};
  target.align = argument_alignment(call, 1), source.align = argument_alignment(call, 2);
  unsigned align = target.align < source.align ? target.align : source.align;
  if (!bytes) return true;
  LLVMTypeRef unit = copy_unit(w, bytes, align);
  uint64_t step = bytes_of(w, unit);
  if (m.all && is_contiguous(w, &target, bytes) && is_contiguous(w, &source, bytes)) {
    LLVMTypeRef wide = LLVMVectorType(unit, (unsigned)(bytes / step) * (unsigned)w->width);
    for (int u = 0; u < w->vectors; u++) copy_vector(w, &target, &source, wide, u);
    return true;
  }
  source.align = source.align < step ? source.align : (unsigned)step;
  for (; source.offset < bytes; source.offset += step)
    elements[source.offset / step] = load_element(w, &source, unit, m);
  target.align = target.align < step ? target.align : (unsigned)step;
  int steps = few_steps(w, &target, step);
  if (steps && (uint64_t)steps * step == bytes) {
    store_structs(w, &target, elements, steps, m);
    return true;
  }
  for (; target.offset < bytes; target.offset += step) store_element(w, &target, elements[target.offset / step], m);
  return true;
}
