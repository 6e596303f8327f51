/* Memory from a gang: one access for all lanes where their addresses allow it. See widen.h.
 *
 *   uniform address     one scalar access (the lanes are known to be active: nobody gets here with none)
 *   one after the other a vector access, masked where lanes may be inactive
 *   anything else       a gather or scatter
 *   atomics             lane by lane; one for all where they add to one place and nobody asks for the old values */
#include "widen.h"

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

static bool is_contiguous(widener *w, LLVMValueRef address, LLVMTypeRef type) {
  return is_affine(w, address) && shape_of(w->shapes, address).stride == (int64_t)bytes_of(w, type);
}

/* The address in the generic address space, as intrinsics of the host want it. */
static LLVMValueRef plain_pointer(widener *w, LLVMValueRef pointer) {
  LLVMTypeRef type = LLVMTypeOf(pointer);
  bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  if (LLVMGetPointerAddressSpace(vector ? LLVMGetElementType(type) : type) == 0) return pointer;
  return LLVMBuildAddrSpaceCast(w->b, pointer, vector ? vector_type(w, w->p->pointer) : w->p->pointer, "");
}

/* Ordinary code may keep volatile and atomic accesses of a gang in program order by keeping them volatile; masked
   intrinsics cannot be, so they stand between compiler fences. */
static void compiler_fence(widener *w, LLVMValueRef access) {
  if (LLVMGetVolatile(access)) LLVMBuildFence(w->b, LLVMAtomicOrderingSequentiallyConsistent, 1, "");
}

/* A by-value parameter, which nobody writes (see check_params): it is the same all through the launch. */
static bool is_parameter(LLVMValueRef address) {
  while (LLVMIsAGetElementPtrInst(address) || LLVMIsAAddrSpaceCastInst(address)) address = LLVMGetOperand(address, 0);
  if (!LLVMIsAArgument(address)) return false;
  LLVMValueRef function = LLVMGetParamParent(address);
  unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
  for (unsigned i = 0; i < LLVMCountParams(function); i++)
    if (LLVMGetParam(function, i) == address) return LLVMGetEnumAttributeAtIndex(function, i + 1, byval) != NULL;
  return false;
}

void widen_load(widener *w, LLVMValueRef load, mask m) {
  LLVMValueRef address = LLVMGetOperand(load, 0);
  LLVMTypeRef type = LLVMTypeOf(load), wide = NULL;
  unsigned align = LLVMGetAlignment(load);
  if (is_uniform(w, address)) {
    LLVMValueRef value = LLVMBuildLoad2(w->b, type, value_scalar(w, address), "");
    LLVMSetAlignment(value, align);
    LLVMSetVolatile(value, LLVMGetVolatile(load));
    if (is_parameter(address)) {
      LLVMValueRef empty = LLVMMetadataAsValue(w->p->context, LLVMMDNodeInContext2(w->p->context, NULL, 0));
      LLVMSetMetadata(value, LLVMGetMDKindIDInContext(w->p->context, "invariant.load", 14), empty);
    }
    if (!is_uniform(w, load)) {
      if (!is_element(type)) {
        refuse(w, load, "it loads what is no number or pointer");
        return;
      }
      value = splat(w, value);
    }
    set_value(w, load, value);
    return;
  }
  if (!is_element(type)) {
    refuse(w, load, "it loads what is no number or pointer");
    return;
  }
  wide = vector_type(w, type);
  compiler_fence(w, load);
  LLVMValueRef result;
  if (is_contiguous(w, address, type)) {
    LLVMValueRef base = plain_pointer(w, value_scalar(w, address));
    if (m.all) {
      result = LLVMBuildLoad2(w->b, wide, base, "");
      LLVMSetAlignment(result, align);
    } else {
      LLVMTypeRef overloads[] = {wide, w->p->pointer};
      LLVMValueRef arguments[] = {base, constant_i32(w->p, align), m.lanes, LLVMGetPoison(wide)};
      result = call_intrinsic(w->p, w->b, "llvm.masked.load", overloads, 2, arguments, 4);
    }
  } else {
    LLVMValueRef pointers = plain_pointer(w, value_vector(w, address));
    LLVMTypeRef overloads[] = {wide, LLVMTypeOf(pointers)};
    LLVMValueRef arguments[] = {pointers, constant_i32(w->p, align), mask_vector(w, m), LLVMGetPoison(wide)};
    result = call_intrinsic(w->p, w->b, "llvm.masked.gather", overloads, 2, arguments, 4);
  }
  compiler_fence(w, load);
  set_value(w, load, result);
}

/* Of lanes that store to one place the last one wins, as good as any. */
static LLVMValueRef last_active(widener *w, LLVMValueRef value, mask m) {
  LLVMValueRef form = value_vector(w, value);
  LLVMTypeRef bits = LLVMIntTypeInContext(w->p->context, (unsigned)w->width);
  if (m.all) return LLVMBuildExtractElement(w->b, form, constant_i32(w->p, (unsigned)w->width - 1), "");
  LLVMValueRef arguments[] = {LLVMBuildBitCast(w->b, m.lanes, bits, ""), LLVMConstInt(w->p->i1, 1, 0)};
  LLVMValueRef zeros = call_intrinsic(w->p, w->b, "llvm.ctlz", &bits, 1, arguments, 2);
  LLVMValueRef lane = LLVMBuildSub(w->b, LLVMConstInt(bits, (unsigned)w->width - 1, 0), zeros, "");
  return LLVMBuildExtractElement(w->b, form, lane, "");
}

void widen_store(widener *w, LLVMValueRef store, mask m) {
  LLVMValueRef value = LLVMGetOperand(store, 0), address = LLVMGetOperand(store, 1);
  LLVMTypeRef type = LLVMTypeOf(value);
  unsigned align = LLVMGetAlignment(store);
  if (is_uniform(w, address)) {
    if (!is_uniform(w, value) && !is_element(type)) {
      refuse(w, store, "it stores what is no number or pointer");
      return;
    }
    LLVMValueRef one = is_uniform(w, value) ? value_scalar(w, value) : last_active(w, value, m);
    LLVMValueRef made = LLVMBuildStore(w->b, one, value_scalar(w, address));
    LLVMSetAlignment(made, align);
    LLVMSetVolatile(made, LLVMGetVolatile(store));
    return;
  }
  if (!is_element(type)) {
    refuse(w, store, "it stores what is no number or pointer");
    return;
  }
  LLVMValueRef lanes = value_vector(w, value);
  compiler_fence(w, store);
  if (is_contiguous(w, address, type)) {
    LLVMValueRef base = plain_pointer(w, value_scalar(w, address));
    if (m.all) {
      LLVMSetAlignment(LLVMBuildStore(w->b, lanes, base), align);
    } else {
      LLVMTypeRef overloads[] = {LLVMTypeOf(lanes), w->p->pointer};
      LLVMValueRef arguments[] = {lanes, base, constant_i32(w->p, align), m.lanes};
      call_intrinsic(w->p, w->b, "llvm.masked.store", overloads, 2, arguments, 4);
    }
  } else {
    LLVMValueRef pointers = plain_pointer(w, value_vector(w, address));
    LLVMTypeRef overloads[] = {LLVMTypeOf(lanes), LLVMTypeOf(pointers)};
    LLVMValueRef arguments[] = {lanes, pointers, constant_i32(w->p, align), mask_vector(w, m)};
    call_intrinsic(w->p, w->b, "llvm.masked.scatter", overloads, 2, arguments, 4);
  }
  compiler_fence(w, store);
}

/* ---- atomics ---- */

/* One thread runs a block: its shared memory needs no lock. */
static bool is_shared(LLVMValueRef address) {
  for (int depth = 0; depth < 8; depth++) {
    if (LLVMGetPointerAddressSpace(LLVMTypeOf(address)) == 3) return true;
    bool expression = LLVMIsAConstantExpr(address) != NULL;
    if (!expression && !LLVMIsAInstruction(address)) return false;
    LLVMOpcode opcode = expression ? LLVMGetConstOpcode(address) : LLVMGetInstructionOpcode(address);
    if (opcode != LLVMGetElementPtr && opcode != LLVMAddrSpaceCast && opcode != LLVMBitCast) return false;
    address = LLVMGetOperand(address, 0);
  }
  return false;
}

static LLVMValueRef combine(widener *w, LLVMAtomicRMWBinOp op, LLVMValueRef old, LLVMValueRef value) {
  LLVMBuilderRef b = w->b;
  LLVMIntPredicate predicate = op == LLVMAtomicRMWBinOpMax    ? LLVMIntSGT
                               : op == LLVMAtomicRMWBinOpMin  ? LLVMIntSLT
                               : op == LLVMAtomicRMWBinOpUMax ? LLVMIntUGT
                                                              : LLVMIntULT;
  switch (op) {
  case LLVMAtomicRMWBinOpXchg: return value;
  case LLVMAtomicRMWBinOpAdd: return LLVMBuildAdd(b, old, value, "");
  case LLVMAtomicRMWBinOpSub: return LLVMBuildSub(b, old, value, "");
  case LLVMAtomicRMWBinOpAnd: return LLVMBuildAnd(b, old, value, "");
  case LLVMAtomicRMWBinOpOr: return LLVMBuildOr(b, old, value, "");
  case LLVMAtomicRMWBinOpXor: return LLVMBuildXor(b, old, value, "");
  case LLVMAtomicRMWBinOpFAdd: return LLVMBuildFAdd(b, old, value, "");
  case LLVMAtomicRMWBinOpFSub: return LLVMBuildFSub(b, old, value, "");
  case LLVMAtomicRMWBinOpMax:
  case LLVMAtomicRMWBinOpMin:
  case LLVMAtomicRMWBinOpUMax:
  case LLVMAtomicRMWBinOpUMin: return LLVMBuildSelect(b, LLVMBuildICmp(b, predicate, old, value, ""), old, value, "");
  default: return NULL;
  }
}

static LLVMValueRef one_lane(widener *w, LLVMValueRef lane, void *context) {
  LLVMValueRef atomic = context, address = lane_of(w, LLVMGetOperand(atomic, 0), lane);
  if (LLVMIsAAtomicRMWInst(atomic)) {
    LLVMValueRef value = lane_of(w, LLVMGetOperand(atomic, 1), lane);
    LLVMAtomicRMWBinOp op = LLVMGetAtomicRMWBinOp(atomic);
    if (is_shared(LLVMGetOperand(atomic, 0))) {
      LLVMValueRef old = LLVMBuildLoad2(w->b, LLVMTypeOf(value), address, ""), result = combine(w, op, old, value);
      if (result) {
        LLVMBuildStore(w->b, result, address);
        return old;
      }
    }
    return LLVMBuildAtomicRMW(w->b, op, address, value, LLVMGetOrdering(atomic), 0);
  }
  LLVMValueRef expected = lane_of(w, LLVMGetOperand(atomic, 1), lane),
               wanted = lane_of(w, LLVMGetOperand(atomic, 2), lane);
  return LLVMBuildAtomicCmpXchg(w->b, address, expected, wanted, LLVMGetCmpXchgSuccessOrdering(atomic),
                                LLVMGetCmpXchgFailureOrdering(atomic), 0);
}

/* All lanes add to one place and nobody wants the old values: their sum, once. Exact for integers; for floating-point
   numbers the order of atomic additions is open anyway, but results stay repeatable only lane by lane, so they are. */
static bool reduce_first(widener *w, LLVMValueRef atomic, mask m) {
  if (!LLVMIsAAtomicRMWInst(atomic) || LLVMGetFirstUse(atomic) || !is_uniform(w, LLVMGetOperand(atomic, 0)))
    return false;
  LLVMValueRef value = LLVMGetOperand(atomic, 1), neutral;
  LLVMTypeRef type = LLVMTypeOf(value);
  const char *reduction;
  LLVMAtomicRMWBinOp op = LLVMGetAtomicRMWBinOp(atomic);
  switch (op) {
  case LLVMAtomicRMWBinOpAdd: reduction = "llvm.vector.reduce.add", neutral = LLVMConstNull(type); break;
  case LLVMAtomicRMWBinOpOr: reduction = "llvm.vector.reduce.or", neutral = LLVMConstNull(type); break;
  case LLVMAtomicRMWBinOpAnd: reduction = "llvm.vector.reduce.and", neutral = LLVMConstAllOnes(type); break;
  case LLVMAtomicRMWBinOpUMax: reduction = "llvm.vector.reduce.umax", neutral = LLVMConstNull(type); break;
  case LLVMAtomicRMWBinOpUMin: reduction = "llvm.vector.reduce.umin", neutral = LLVMConstAllOnes(type); break;
  default: return false;
  }
  LLVMValueRef lanes = value_vector(w, value);
  LLVMTypeRef wide = LLVMTypeOf(lanes);
  if (!m.all) lanes = LLVMBuildSelect(w->b, m.lanes, lanes, splat(w, neutral), "");
  LLVMValueRef sum = call_intrinsic(w->p, w->b, reduction, &wide, 1, &lanes, 1);
  LLVMBuildAtomicRMW(w->b, op, value_scalar(w, LLVMGetOperand(atomic, 0)), sum, LLVMGetOrdering(atomic), 0);
  return true;
}

void widen_atomic(widener *w, LLVMValueRef atomic, mask m) {
  if (reduce_first(w, atomic, m)) return;
  for (int i = 0; i < LLVMGetNumOperands(atomic); i++) value_kept(w, LLVMGetOperand(atomic, (unsigned)i));
  LLVMTypeRef type = LLVMGetFirstUse(atomic) ? kept_type(w, atomic) : NULL;
  if (type && !is_uniform(w, atomic))
    set_value(w, atomic, each_lane(w, m, type, one_lane, atomic));
  else if (type)
    refuse(w, atomic, "an atomic whose result is the same for all lanes");
  else
    each_lane(w, m, NULL, one_lane, atomic);
}
