/* Splits vector operations into registers, for target intrinsics that take vectors of a register's size only.
 *
 * The number of lanes is a power of two. Vectors longer than AVX-512's registers are split into halves, recursively,
 * and the results are concatenated. */
#include "mwcc/mwcc.h"
#include "mwcc/support/predicates.h"
#include "target.h"

#include <string.h>

enum { WIDEST = 64 /* bytes of a register */, LONGEST = 256 /* lanes of a vector */ };

LLVMTypeRef element_type(LLVMTypeRef type) { return is_vector_type(type) ? LLVMGetElementType(type) : type; }

LLVMValueRef constant_lanes(LLVMTypeRef type, LLVMValueRef number) {
  LLVMValueRef items[LONGEST];
  if (!is_vector_type(type)) return number;
  unsigned lanes = LLVMGetVectorSize(type);
  for (unsigned i = 0; i < lanes; i++) items[i] = number;
  return LLVMConstVector(items, lanes);
}

LLVMValueRef constant_of_lanes(LLVMValueRef value) {
  if (!LLVMIsAConstant(value)) return NULL;
  if (!is_vector_type(LLVMTypeOf(value))) return value;
  LLVMValueRef first = LLVMGetAggregateElement(value, 0);
  unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(value));
  for (unsigned i = 1; first && i < lanes; i++)
    if (LLVMGetAggregateElement(value, i) != first) return NULL;
  return first;
}

LLVMTypeRef lane_mask_type(program *p, unsigned lanes) {
  return lanes > 8 ? LLVMIntTypeInContext(p->context, lanes) : p->i8;
}

static LLVMValueRef lanes_from(program *p, LLVMBuilderRef b, LLVMValueRef vector, unsigned first, unsigned count) {
  LLVMValueRef items[LONGEST];
  for (unsigned i = 0; i < count; i++) items[i] = constant_i32(p, first + i);
  return LLVMBuildShuffleVector(b, vector, LLVMGetPoison(LLVMTypeOf(vector)), LLVMConstVector(items, count), "");
}

LLVMValueRef by_registers(program *p, LLVMBuilderRef b, register_operation *make, LLVMValueRef *operands,
                          unsigned count) {
  enum { MOST = 4 };
  LLVMTypeRef type = LLVMTypeOf(operands[0]);
  LLVMValueRef made[2], items[LONGEST], pieces[MOST];
  if (!is_vector_type(type) || LLVMABISizeOfType(p->layout, type) <= WIDEST) return make(p, b, operands);
  unsigned lanes = LLVMGetVectorSize(type), half = lanes / 2;
  for (unsigned i = 0; i < 2; i++) {
    for (unsigned n = 0; n < count; n++) pieces[n] = lanes_from(p, b, operands[n], i * half, half);
    made[i] = by_registers(p, b, make, pieces, count);
  }
  for (unsigned i = 0; i < lanes; i++) items[i] = constant_i32(p, i);
  return LLVMBuildShuffleVector(b, made[0], made[1], LLVMConstVector(items, lanes), "");
}
