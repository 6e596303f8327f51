/* Local arrays of a gang, in one of two layouts (local_array_layout.c). See widen.h.
 *
 *   interleaved   element n of lane l of vector u is element (u * elements + n) * W + l of the gang's memory. The
 *                 array's address is that of lane 0's first element, and all distances from it are W times as
 *                 large.
 *   consecutive   each lane's array is one piece, after the array of the lane before it. */
#include "mwcc/widen/widen.h"
#include "mwcc/support/predicates.h"
#include "mwcc/target/target.h"

#include <stdlib.h>

/* The gang's memory, or each gang's where there are barriers. NULL: it would be too much. */
static LLVMValueRef gang_memory(widener *w, LLVMValueRef at, uint64_t of_lane) {
  uint64_t lanes = (uint64_t)w->width * (uint64_t)w->vectors;
  /* all lanes' arrays are on the worker's stack, and those of all gangs where there are barriers */
  w->local_bytes += of_lane;
  if (w->local_bytes * lanes > (uint64_t)LOCAL_MOST) {
    refuse(w, at, "its local arrays exceed the stack of a gang: make them smaller, or use shared memory");
    return NULL;
  }
  LLVMTypeRef of_gang = LLVMArrayType2(w->p->i8, of_lane * lanes);
  LLVMValueRef memory = w->several_regions ? LLVMBuildArrayAlloca(w->entry, of_gang, w->gangs, "")
                                           : LLVMBuildAlloca(w->entry, of_gang, "");
  LLVMSetAlignment(memory, 64);
  if (!w->several_regions) return memory;
  LLVMValueRef gang = LLVMBuildLoad2(w->b, w->p->i32, w->gang, "");
  return LLVMBuildInBoundsGEP2(w->b, of_gang, memory, &gang, 1, "");
}

void widen_alloca(widener *w, LLVMValueRef i) {
  vectors result = {0};
  uint64_t bytes = local_bytes(w->g, i);
  if (!LLVMIsAConstantInt(LLVMGetOperand(i, 0))) {
    refuse(w, i, "it allocates stack memory of variable size");
    return;
  }
  if (local_unit(w->g, i)) {
    LLVMValueRef memory = gang_memory(w, i, bytes);
    if (memory) set_scalar(w, i, memory);
    return;
  }
  unsigned align = LLVMGetAlignment(i) > 16 ? LLVMGetAlignment(i) : 16;
  bytes = (bytes + align - 1) / align * align;
  LLVMValueRef memory = gang_memory(w, i, bytes), steps = lane_steps(w, w->p->i64, (int64_t)bytes);
  if (!memory) return;
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef at = constant_i64(w->p, bytes * (uint64_t)w->width * (uint64_t)u);
    LLVMValueRef base = LLVMBuildInBoundsGEP2(w->b, w->p->i8, memory, &at, 1, "");
    result.of[u] = LLVMBuildGEP2(w->b, w->p->i8, base, &steps, 1, "");
  }
  set_value(w, i, result);
}

/* ---- addresses in interleaved arrays ---- */

/* A number of units, converted to `type`. */
static LLVMValueRef resized(widener *w, LLVMValueRef number, LLVMTypeRef type) {
  LLVMTypeRef from = LLVMTypeOf(number), element = from;
  if (is_vector_type(from)) {
    element = LLVMGetElementType(from);
    type = vector_type(w, type);
  }
  unsigned have = LLVMGetIntTypeWidth(element);
  unsigned want = LLVMGetIntTypeWidth(is_vector_type(type) ? LLVMGetElementType(type) : type);
  if (have == want) return number;
  return have < want ? LLVMBuildSExt(w->b, number, type, "") : LLVMBuildTrunc(w->b, number, type, "");
}

/* The sum of two numbers, either of which may be a vector. */
static LLVMValueRef sum_of(widener *w, LLVMValueRef a, LLVMValueRef b) {
  bool a_wide = is_vector_type(LLVMTypeOf(a));
  bool b_wide = is_vector_type(LLVMTypeOf(b));
  if (a_wide && !b_wide) b = splat(w, b);
  if (b_wide && !a_wide) a = splat(w, a);
  return LLVMBuildAdd(w->b, a, b, "");
}

static LLVMValueRef times(widener *w, LLVMValueRef number, uint64_t factor) {
  LLVMTypeRef type = LLVMTypeOf(number);
  if (!is_vector_type(type)) return LLVMBuildMul(w->b, number, LLVMConstInt(type, factor, 0), "");
  return LLVMBuildMul(w->b, number, splat(w, LLVMConstInt(LLVMGetElementType(type), factor, 0)), "");
}

/* The distance in units between an address and the one that it was made from, in vector u. An index into the array is
   small whatever its type, so 32 bits suffice, which gathers prefer. */
static LLVMValueRef units_away(widener *w, LLVMValueRef i, LLVMTypeRef type, uint64_t unit, int u) {
  LLVMTypeRef here = LLVMGetGEPSourceElementType(i);
  LLVMValueRef sum = LLVMConstNull(type);
  for (unsigned n = 1; n < (unsigned)LLVMGetNumOperands(i); n++) {
    LLVMValueRef index = LLVMGetOperand(i, n);
    if (n > 1 && LLVMGetTypeKind(here) == LLVMStructTypeKind) {
      unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);
      sum = sum_of(w, sum, LLVMConstInt(type, LLVMOffsetOfElement(w->p->layout, here, field) / unit, 0));
      here = LLVMStructGetTypeAtIndex(here, field);
      continue;
    }
    if (n > 1) here = LLVMGetElementType(here);
    uint64_t size = LLVMABISizeOfType(w->p->layout, here);
    if (LLVMIsAConstantInt(index)) {
      int64_t away = LLVMConstIntGetSExtValue(index) * (int64_t)size / (int64_t)unit;
      sum = sum_of(w, sum, LLVMConstInt(type, (uint64_t)away, 1));
      continue;
    }
    LLVMValueRef number = has_stride(w, index, 0) ? vector_scalar(w, index, u) : value_vector(w, index, u);
    sum = sum_of(w, sum, times(w, resized(w, number, type), size / unit));
  }
  return sum;
}

void widen_local_address(widener *w, LLVMValueRef i) {
  LLVMValueRef base = LLVMGetOperand(i, 0);
  uint64_t unit = local_unit(w->g, i);
  LLVMTypeRef element = LLVMIntTypeInContext(w->p->context, (unsigned)unit * 8);
  vectors result = {0};
  for (int u = 0; u < form_count(w, i); u++) {
    bool gathers = is_varying(w, i) && !is_varying(w, base);
    LLVMValueRef units = times(w, units_away(w, i, gathers ? w->p->i32 : w->p->i64, unit, u), (uint64_t)w->width);
    LLVMValueRef from = is_varying(w, base) ? value_vector(w, base, u) : vector_scalar(w, base, u);
    /* gathers prefer one base and a vector of indices */
    if (gathers) units = sum_of(w, units, lane_numbers(w, w->p->i32));
    result.of[u] = LLVMBuildGEP2(w->b, element, from, &units, 1, "");
  }
  set_value(w, i, result);
}

/* ---- filling them ---- */

typedef struct filling {
  LLVMValueRef call;
  LLVMTypeRef element;              /* an integer */
  LLVMValueRef source;              /* the address that is copied from, or NULL */
  LLVMValueRef bytes[MOST_VECTORS]; /* else, the byte of each lane, as an element */
} filling;

static LLVMValueRef spread_byte(widener *w, LLVMValueRef byte, LLVMTypeRef element) {
  LLVMValueRef wide = LLVMBuildZExt(w->b, byte, vector_type(w, element), "");
  return times(w, wide, UINT64_C(0x0101010101010101) >> (64 - LLVMGetIntTypeWidth(element)));
}

static LLVMValueRef element_of_source(widener *w, const filling *f, LLVMValueRef n, mask m, int u) {
  LLVMTypeRef wide = vector_type(w, f->element);
  bool alike = is_uniform(w, f->source);
  LLVMValueRef from = alike ? value_scalar(w, f->source) : value_vector(w, f->source, u);
  LLVMValueRef pointer = LLVMBuildGEP2(w->b, f->element, from, &n, 1, "");
  if (alike) {
    LLVMValueRef value = LLVMBuildLoad2(w->b, f->element, pointer, "");
    LLVMSetAlignment(value, 1);
    return splat(w, value);
  }
  return masked_load(w->p, w->b, wide, pointer, 1, mask_vector(w, m, u));
}

static void fill_element(widener *w, const filling *f, LLVMValueRef n, mask m, int u) {
  LLVMValueRef value = f->source ? element_of_source(w, f, n, m, u) : f->bytes[u];
  LLVMTypeRef wide = LLVMTypeOf(value);
  LLVMValueRef target = vector_scalar(w, LLVMGetOperand(f->call, 0), u);
  target = LLVMBuildGEP2(w->b, wide, target, &n, 1, ""); /* an element of the array is a vector in the gang's memory */
  unsigned align = (unsigned)LLVMABISizeOfType(w->p->layout, f->element);
  if (m.all) {
    LLVMSetAlignment(LLVMBuildStore(w->b, value, target), align);
    return;
  }
  masked_store(w->p, w->b, value, target, align, m.lanes.of[u]);
}

bool widen_filling(widener *w, LLVMValueRef call, mask m) {
  program *p = w->p;
  LLVMValueRef target = LLVMGetOperand(call, 0), second = LLVMGetOperand(call, 1);
  uint64_t unit = local_unit(w->g, target);
  if (!unit) return false;
  uint64_t count = LLVMConstIntGetZExtValue(LLVMGetOperand(call, 2)) / unit;
  filling f = {.call = call, .element = LLVMIntTypeInContext(p->context, (unsigned)unit * 8)};
  if (starts_with(callee_name(call), "llvm.memcpy.")) f.source = second;
  value_form(w, target); /* the loop's block does not dominate what follows */
  value_form(w, second);
  for (int u = 0; u < w->vectors && !f.source; u++) f.bytes[u] = spread_byte(w, value_vector(w, second, u), f.element);
  if (!count) return true;
  LLVMValueRef slot = LLVMBuildAlloca(w->entry, p->i64, "");
  LLVMBasicBlockRef each = LLVMAppendBasicBlockInContext(p->context, w->function, "fill"),
                    done = LLVMAppendBasicBlockInContext(p->context, w->function, "filled");
  LLVMBuildStore(w->b, constant_i64(p, 0), slot);
  LLVMBuildBr(w->b, each);
  LLVMPositionBuilderAtEnd(w->b, each);
  LLVMValueRef n = LLVMBuildLoad2(w->b, p->i64, slot, "");
  for (int u = 0; u < w->vectors; u++) fill_element(w, &f, n, m, u);
  LLVMValueRef next = LLVMBuildNUWAdd(w->b, n, constant_i64(p, 1), "");
  LLVMBuildStore(w->b, next, slot);
  LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, LLVMIntULT, next, constant_i64(p, count), ""), each, done);
  LLVMPositionBuilderAtEnd(w->b, done);
  return true;
}
