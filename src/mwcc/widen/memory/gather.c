/* Gathers and scatters: one element for each lane, from arbitrary addresses.
 *
 * Where an address is a uniform base plus an index of 32 bits, the instruction with 32-bit indices is used: it takes
 * sixteen of them, but only eight addresses. LLVM selects it if the extension of the index is next to the access, so
 * both are emitted here. */
#include "memory.h"
#include "mwcc/support/predicates.h"
#include "mwcc/target/target.h"

#include <stdlib.h>

typedef struct indexed {
  LLVMValueRef base, index; /* the index before extension; NULL: the address is not of this form */
  LLVMTypeRef unit;
  int64_t offset;
  bool is_unsigned;
} indexed;

/* The scales that the instructions have. */
static bool is_scale(unsigned long long bytes) { return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8; }

static indexed index_of(widener *w, const place *at) {
  indexed none = {0}, x = {0};
  LLVMValueRef gep = base_of(w, at->address, &x.offset);
  x.offset += (int64_t)at->offset;
  if (!LLVMIsAGetElementPtrInst(gep) || local_unit(w->g, gep) || !is_uniform(w, LLVMGetOperand(gep, 0))) return none;
  x.unit = element_of(gep);
  LLVMValueRef wide = LLVMGetOperand(gep, (unsigned)LLVMGetNumIndices(gep));
  if (!x.unit || !is_varying(w, wide) || !is_scale(LLVMABISizeOfType(w->p->layout, x.unit))) return none;
  if (!LLVMIsASExtInst(wide) && !LLVMIsAZExtInst(wide)) return none;
  x.base = LLVMGetOperand(gep, 0);
  x.index = LLVMGetOperand(wide, 0);
  x.is_unsigned = LLVMIsAZExtInst(wide) != NULL;
  unsigned width = LLVMGetIntTypeWidth(LLVMTypeOf(x.index));
  if (width > 32 || width == 1 || !is_varying(w, x.index)) return none;
  if (!is_available(w, at, x.index) || !is_available(w, at, x.base)) return none;
  /* an unsigned index with the sign bit known to be clear is also a signed one */
  if (x.is_unsigned && width == 32 && !shape_of(w->shapes, x.index).positive) return none;
  return x;
}

static LLVMValueRef base_pointer(widener *w, const indexed *x, int u) {
  LLVMValueRef base = plain_pointer(w, vector_scalar(w, x->base, u)),
               distance = constant_i64(w->p, (uint64_t)x->offset);
  return x->offset ? LLVMBuildGEP2(w->b, w->p->i8, base, &distance, 1, "") : base;
}

/* The index as a signed 64-bit number, extended from one of 32 bits. */
static LLVMValueRef extended(widener *w, LLVMValueRef index, bool is_unsigned, bool vector) {
  LLVMTypeRef i32 = vector ? vector_type(w, w->p->i32) : w->p->i32,
              i64 = vector ? vector_type(w, w->p->i64) : w->p->i64;
  if (LLVMTypeOf(index) != i32)
    index = is_unsigned ? LLVMBuildZExt(w->b, index, i32, "") : LLVMBuildSExt(w->b, index, i32, "");
  return LLVMBuildSExt(w->b, index, i64, "");
}

void need_pointers(widener *w, const place *at) {
  indexed x = index_of(w, at);
  value_form(w, x.index ? x.base : at->address);
  if (x.index) value_form(w, x.index);
}

LLVMValueRef lane_pointers(widener *w, const place *at, int u) {
  indexed x = index_of(w, at);
  if (!x.index) return moved(w, plain_pointer(w, value_vector(w, at->address, u)), at->offset);
  LLVMValueRef index = extended(w, value_vector(w, x.index, u), x.is_unsigned, true);
  return LLVMBuildGEP2(w->b, x.unit, base_pointer(w, &x, u), &index, 1, "");
}

LLVMValueRef pointer_of_lane(widener *w, const place *at, int u, int lane) {
  indexed x = index_of(w, at);
  LLVMValueRef number = constant_i32(w->p, (unsigned)lane);
  if (!x.index) return LLVMBuildExtractElement(w->b, lane_pointers(w, at, u), number, "");
  LLVMValueRef index = LLVMBuildExtractElement(w->b, value_vector(w, x.index, u), number, "");
  index = extended(w, index, x.is_unsigned, false);
  return LLVMBuildGEP2(w->b, x.unit, base_pointer(w, &x, u), &index, 1, "");
}

LLVMValueRef first_pointer(widener *w, const place *at, int u) { return pointer_of_lane(w, at, u, 0); }

/* ---- strided lanes, one by one, on processors whose gathers are slow ---- */

bool in_even_steps(widener *w, const place *at) {
  shape a = shape_of(w->shapes, at->address);
  return has_slow_gathers(w->p) && (a.kind == SHAPE_AFFINE || a.kind == SHAPE_VECTOR_AFFINE) &&
         !local_unit(w->g, at->address);
}

static LLVMValueRef lane_pointer(widener *w, const place *at, LLVMValueRef base, int lane) {
  return moved(w, base, (uint64_t)(lane * shape_of(w->shapes, at->address).stride));
}

LLVMValueRef load_steps(widener *w, const place *at, LLVMTypeRef wide, LLVMValueRef base) {
  LLVMValueRef result = LLVMGetPoison(wide);
  for (int l = 0; l < w->width; l++) {
    LLVMValueRef element = LLVMBuildLoad2(w->b, LLVMGetElementType(wide), lane_pointer(w, at, base, l), "");
    LLVMSetAlignment(element, at->align);
    result = LLVMBuildInsertElement(w->b, result, element, constant_i32(w->p, (unsigned)l), "");
  }
  return result;
}

LLVMValueRef load_singly(widener *w, const place *at, LLVMTypeRef wide, int u) {
  return load_steps(w, at, wide, vector_pointer(w, at, u));
}

void store_singly(widener *w, const place *at, LLVMValueRef lanes, int u) {
  LLVMValueRef base = vector_pointer(w, at, u);
  for (int l = 0; l < w->width; l++) {
    LLVMValueRef element = LLVMBuildExtractElement(w->b, lanes, constant_i32(w->p, (unsigned)l), "");
    LLVMSetAlignment(LLVMBuildStore(w->b, element, lane_pointer(w, at, base, l)), at->align);
  }
}

/* ---- gathers and scatters ---- */

LLVMValueRef gather(widener *w, const place *at, LLVMTypeRef wide, mask m, int u) {
  if (m.all && in_even_steps(w, at)) return load_singly(w, at, wide, u);
  return masked_load(w->p, w->b, wide, lane_pointers(w, at, u), at->align, mask_vector(w, m, u));
}

void scatter(widener *w, const place *at, LLVMValueRef lanes, mask m, int u) {
  if (m.all && in_even_steps(w, at)) {
    store_singly(w, at, lanes, u);
    return;
  }
  masked_store(w->p, w->b, lanes, lane_pointers(w, at, u), at->align, mask_vector(w, m, u));
}

/* ---- after the optimiser ---- */

static bool is_small_extension(LLVMValueRef index) {
  if (!LLVMIsAInstruction(index) || !(LLVMIsASExtInst(index) || (LLVMIsAZExtInst(index) && LLVMGetNNeg(index))))
    return false;
  LLVMTypeRef from = LLVMTypeOf(LLVMGetOperand(index, 0));
  return is_vector_type(from) && LLVMGetIntTypeWidth(LLVMGetElementType(from)) == 32;
}

/* The optimiser shares extensions between accesses, hoists them out of loops, and makes those unsigned that are known
   not to be negative. Code generation works on one block at a time and would not recognise them. */
static void extend_at_access(program *p, LLVMBuilderRef b, LLVMValueRef call, unsigned operand) {
  LLVMValueRef gep = LLVMGetOperand(call, operand);
  if (!LLVMIsAGetElementPtrInst(gep) || is_vector_type(LLVMTypeOf(LLVMGetOperand(gep, 0)))) return;
  LLVMValueRef index = LLVMGetOperand(gep, 1);
  bool constant = LLVMIsAConstant(index) != NULL; /* a constant stride */
  if (LLVMGetNumIndices(gep) != 1 || !(constant || is_small_extension(index))) return;
  unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(index));
  LLVMPositionBuilderBefore(b, call);
  if (!constant) index = LLVMBuildSExt(b, LLVMGetOperand(index, 0), LLVMVectorType(p->i64, lanes), "");
  LLVMSetOperand(call, operand,
                 LLVMBuildGEP2(b, LLVMGetGEPSourceElementType(gep), LLVMGetOperand(gep, 0), &index, 1, ""));
}

void show_small_indices(program *p) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    instructions list = instructions_of_function(f);
    for (size_t i = 0; i < list.count; i++) {
      if (!LLVMIsACallInst(list.items[i])) continue;
      if (starts_with(callee_name(list.items[i]), "llvm.masked.gather")) extend_at_access(p, b, list.items[i], 0);
      if (starts_with(callee_name(list.items[i]), "llvm.masked.scatter")) extend_at_access(p, b, list.items[i], 1);
    }
    free(list.items);
  }
  LLVMDisposeBuilder(b);
}
