/* Scalarised accesses: strided lanes accessed one by one, on processors whose gathers are slow. */
#include "memory.h"
#include "mwcc/target/target.h"

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
