/* Gathers and scatters under a constant mask, with addresses at constant distances: as accesses of their lanes one by
 * one, if that takes less time.
 *
 *   scatter(vector, base + <0, 68, …>, <1, 0, …>)   ->   *base = the vector's lane 0
 *
 * Such accesses are made where a block is one gang and its code is unrolled (opt/lane_forwarding.c). On Intel's
 * processors with AVX-512 they take the same time for one lane as for all; on others, longer than their lanes' accesses.
 * Without AVX-512 LLVM does the same. Lanes are accessed in their order, as a scatter's later lanes win. */
#include "mwcc/analysis/analysis.h"
#include "mwcc/mwcc.h"
#include "machine.h"
#include "mwcc/target/target.h"
#include "mwcc/target/tuning.h"
#include "mwcc/support/predicates.h"

#include <stdlib.h>

typedef struct lanes_call {
  program *p;
  LLVMBuilderRef b;
  LLVMValueRef call, pointers, mask;
  LLVMTypeRef type;
  bool loads;
  unsigned count, active;
} lanes_call;

static bool is_active(const lanes_call *c, unsigned lane) {
  return LLVMConstIntGetZExtValue(LLVMGetAggregateElement(c->mask, lane)) != 0;
}

static bool read_call(lanes_call *c, LLVMValueRef call) {
  if (!LLVMIsACallInst(call)) return false;
  c->loads = starts_with(callee_name(call), "llvm.masked.gather.");
  if (!c->loads && !starts_with(callee_name(call), "llvm.masked.scatter.")) return false;
  c->call = call;
  c->pointers = LLVMGetOperand(call, c->loads ? 0 : 1);
  c->mask = LLVMGetOperand(call, c->loads ? MASKED_LOAD_MASK : MASKED_STORE_MASK);
  c->type = c->loads ? LLVMTypeOf(call) : LLVMTypeOf(LLVMGetOperand(call, 0));
  c->count = LLVMGetVectorSize(c->type), c->active = 0;
  for (unsigned i = 0; i < c->count; i++) {
    LLVMValueRef bit = LLVMIsConstant(c->mask) ? LLVMGetAggregateElement(c->mask, i) : NULL;
    if (!bit || !LLVMIsAConstantInt(bit)) return false;
    c->active += is_active(c, i);
  }
  return true;
}

static bool is_constant_for_lanes(const lanes_call *c, LLVMValueRef index) {
  for (unsigned i = 0; i < c->count; i++) {
    LLVMValueRef number = LLVMIsConstant(index) ? LLVMGetAggregateElement(index, i) : NULL;
    if (is_active(c, i) && (!number || !LLVMIsAConstantInt(number))) return false;
  }
  return true;
}

/* Whether all addresses are at constant distances from one: a vector of numbers and common ones are added to it. */
static bool has_constant_distances(const lanes_call *c) {
  enum { DEPTH = 3 };
  LLVMValueRef gep = c->pointers;
  for (int depth = 0; is_vector_type(LLVMTypeOf(gep)); depth++) {
    if (depth == DEPTH || !LLVMIsAGetElementPtrInst(gep) || LLVMGetNumIndices(gep) != 1) return false;
    LLVMValueRef index = LLVMGetOperand(gep, 1);
    if (is_vector_type(LLVMTypeOf(index)) && !is_constant_for_lanes(c, index)) return false;
    gep = LLVMGetOperand(gep, 0);
  }
  return true;
}

/* The address before the lanes' distances are added. */
static LLVMValueRef common_address(const lanes_call *c, LLVMValueRef pointers) {
  if (!is_vector_type(LLVMTypeOf(pointers))) return pointers;
  LLVMValueRef from = common_address(c, LLVMGetOperand(pointers, 0)), index = LLVMGetOperand(pointers, 1);
  if (is_vector_type(LLVMTypeOf(index))) return from;
  return LLVMBuildGEP2(c->b, LLVMGetGEPSourceElementType(pointers), from, &index, 1, "");
}

static LLVMValueRef add_distances(const lanes_call *c, LLVMValueRef pointers, unsigned lane, LLVMValueRef address) {
  if (!is_vector_type(LLVMTypeOf(pointers))) return address;
  LLVMValueRef index = LLVMGetOperand(pointers, 1), number;
  address = add_distances(c, LLVMGetOperand(pointers, 0), lane, address);
  if (!is_vector_type(LLVMTypeOf(index))) return address;
  number = LLVMGetAggregateElement(index, lane);
  return LLVMBuildGEP2(c->b, LLVMGetGEPSourceElementType(pointers), address, &number, 1, "");
}

static void access_each(lanes_call *c) {
  LLVMPositionBuilderBefore(c->b, c->call);
  LLVMValueRef common = common_address(c, c->pointers);
  LLVMValueRef all = c->loads ? LLVMGetOperand(c->call, MASKED_LOAD_ELSE) : LLVMGetOperand(c->call, 0);
  for (unsigned i = 0; i < c->count; i++) {
    if (!is_active(c, i)) continue;
    LLVMValueRef address = add_distances(c, c->pointers, i, common), lane = constant_i32(c->p, i);
    if (c->loads) {
      LLVMValueRef one = LLVMBuildLoad2(c->b, LLVMGetElementType(c->type), address, "");
      LLVMSetAlignment(one, masked_alignment(c->call));
      all = LLVMBuildInsertElement(c->b, all, one, lane, "");
    } else {
      LLVMValueRef store = LLVMBuildStore(c->b, LLVMBuildExtractElement(c->b, all, lane, ""), address);
      LLVMSetAlignment(store, masked_alignment(c->call));
    }
  }
  if (c->loads) LLVMReplaceAllUsesWith(c->call, all);
  LLVMInstructionEraseFromParent(c->call);
}

void access_constant_lanes(program *p) {
  enum { LOADS = TUNE_GATHERED_LANES, STORES = TUNE_SCATTERED_LANES };
  if (has_slow_gathers(p)) return;
  bool quick = has_quick_gathers(p);
  lanes_call c = {.p = p, .b = LLVMCreateBuilderInContext(p->context)};
  EACH_FUNCTION(p, f) {
    if (!is_lane_code(p, f)) continue;
    instructions list = instructions_of_function(f);
    for (size_t i = 0; i < list.count; i++) {
      if (!read_call(&c, list.items[i]) || !has_constant_distances(&c)) continue;
      if (!quick || c.active <= (c.loads ? LOADS : STORES)) access_each(&c);
    }
    free(list.items);
  }
  LLVMDisposeBuilder(c.b);
}
