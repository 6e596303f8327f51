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

/* A place in memory: an address of the kernel's and a constant distance from it, with what is known of the access. */
typedef struct place {
  LLVMValueRef address;
  uint64_t offset;
  unsigned align;
  bool is_volatile;
  LLVMValueRef by; /* the load, store or copy */
} place;

static bool is_contiguous(widener *w, const place *at, uint64_t bytes) {
  return is_affine(w, at->address) && shape_of(w->shapes, at->address).stride == (int64_t)bytes;
}

/* The address in the generic address space, as intrinsics of the host want it. */
static LLVMValueRef plain_pointer(widener *w, LLVMValueRef pointer) {
  LLVMTypeRef type = LLVMTypeOf(pointer);
  bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  if (LLVMGetPointerAddressSpace(vector ? LLVMGetElementType(type) : type) == 0) return pointer;
  return LLVMBuildAddrSpaceCast(w->b, pointer, vector ? vector_type(w, w->p->pointer) : w->p->pointer, "");
}

static LLVMValueRef moved(widener *w, LLVMValueRef pointer, uint64_t offset) {
  LLVMValueRef at = constant_i64(w->p, offset);
  return offset ? LLVMBuildGEP2(w->b, w->p->i8, pointer, &at, 1, "") : pointer;
}

static LLVMValueRef scalar_pointer(widener *w, const place *at) {
  return moved(w, plain_pointer(w, value_scalar(w, at->address)), at->offset);
}

static LLVMValueRef vector_pointer(widener *w, const place *at) {
  return moved(w, plain_pointer(w, value_vector(w, at->address)), at->offset);
}

/* Ordinary code may keep volatile and atomic accesses of a gang in program order by keeping them volatile; masked
   intrinsics cannot be, so they stand between compiler fences. */
static void compiler_fence(widener *w, const place *at) {
  if (at->is_volatile) LLVMBuildFence(w->b, LLVMAtomicOrderingSequentiallyConsistent, 1, "");
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

static LLVMValueRef load_scalar(widener *w, const place *at, LLVMTypeRef type) {
  LLVMValueRef value = LLVMBuildLoad2(w->b, type, scalar_pointer(w, at), "");
  LLVMSetAlignment(value, at->align);
  LLVMSetVolatile(value, at->is_volatile);
  if (is_parameter(at->address) || (LLVMIsALoadInst(at->by) && is_marked_invariant(w->p, at->by)))
    mark_invariant(w->p, value);
  return value;
}

/* ---- gathers that turn out to be contiguous ----
   An index that is clamped to an edge, or flipped by an exclusive or, is affine in most gangs though not in all. Where it
   is made by such operations only, the gang looks: a compare is much cheaper than a gather. */

/* Whether the value is made from affine and uniform ones alone, by operations that often keep them so. */
static bool often_affine(widener *w, LLVMValueRef value, int depth) {
  if (is_uniform(w, value) || is_affine(w, value)) return true;
  if (depth == 0 || !LLVMIsAInstruction(value)) return false;
  switch (LLVMGetInstructionOpcode(value)) {
  case LLVMAdd:
  case LLVMSub:
  case LLVMAnd:
  case LLVMOr:
  case LLVMXor:
  case LLVMSExt:
  case LLVMZExt:
  case LLVMTrunc: break;
  case LLVMSelect:
    return often_affine(w, LLVMGetOperand(value, 1), depth - 1) && often_affine(w, LLVMGetOperand(value, 2), depth - 1);
  case LLVMCall: {
    const char *name = callee_name(value);
    if (strncmp(name, "llvm.", 5) != 0 || (strncmp(name + 6, "min.", 4) != 0 && strncmp(name + 6, "max.", 4) != 0))
      return false;
    return often_affine(w, LLVMGetOperand(value, 0), depth - 1) && often_affine(w, LLVMGetOperand(value, 1), depth - 1);
  }
  default: return false;
  }
  for (int i = 0; i < LLVMGetNumOperands(value); i++)
    if (!often_affine(w, LLVMGetOperand(value, (unsigned)i), depth - 1)) return false;
  return true;
}

/* Whether a value can be looked at where the access is. The code itself may need the address there, but not what it was
   made from: then that is not kept, in another node or behind a barrier. */
static bool is_at_hand(widener *w, const place *at, LLVMValueRef value) {
  if (!LLVMIsAInstruction(value) || graph_node_of(w->g, value) == graph_node_of(w->g, at->by)) return true;
  return !w->several_regions && is_in_slot(w, value);
}

/* The index to look at: of an address that is a uniform base and one varying index of the element's size. */
static LLVMValueRef index_to_test(widener *w, const place *at, LLVMTypeRef type) {
  enum { DEPTH = 8 };
  LLVMValueRef gep = at->address;
  if (!LLVMIsAGetElementPtrInst(gep) || LLVMGetNumIndices(gep) != 1 || !is_uniform(w, LLVMGetOperand(gep, 0)))
    return NULL;
  if (bytes_of(w, LLVMGetGEPSourceElementType(gep)) != bytes_of(w, type) || bytes_of(w, type) < 4) return NULL;
  LLVMValueRef index = LLVMGetOperand(gep, 1);
  if (is_affine(w, index) || !often_affine(w, index, DEPTH)) return NULL;
  LLVMValueRef narrow = LLVMIsASExtInst(index) || LLVMIsAZExtInst(index) ? LLVMGetOperand(index, 0) : index;
  return is_at_hand(w, at, narrow) ? index : NULL;
}

/* Whether active lane l's index is lane 0's plus l; neither they nor their extension to 64 bits wrap on the way. */
static LLVMValueRef follows_on(widener *w, LLVMValueRef index, mask m) {
  LLVMTypeRef type = LLVMTypeOf(index), bits = LLVMIntTypeInContext(w->p->context, (unsigned)w->width);
  LLVMValueRef narrow = index;
  bool is_unsigned = LLVMIsAZExtInst(index) != NULL;
  if (LLVMIsASExtInst(index) || is_unsigned) narrow = LLVMGetOperand(index, 0), type = LLVMTypeOf(narrow);
  LLVMValueRef lanes = value_vector(w, narrow);
  /* lane 0 may be inactive and hold nothing at all: no branch may depend on that */
  LLVMValueRef first = LLVMBuildFreeze(w->b, LLVMBuildExtractElement(w->b, lanes, constant_i32(w->p, 0), ""), "");
  LLVMValueRef expected = LLVMBuildAdd(w->b, splat(w, first), lane_numbers(w, type), "");
  LLVMValueRef same = LLVMBuildICmp(w->b, LLVMIntEQ, lanes, expected, "");
  if (!m.all) same = LLVMBuildSelect(w->b, m.lanes, same, LLVMConstAllOnes(LLVMTypeOf(m.lanes)), "");
  unsigned width = LLVMGetIntTypeWidth(type);
  uint64_t most = (is_unsigned ? UINT64_MAX : (uint64_t)INT64_MAX) >> (64 - width);
  LLVMValueRef room = LLVMConstInt(type, most - (unsigned)w->width, 0);
  LLVMValueRef fits = LLVMBuildICmp(w->b, is_unsigned ? LLVMIntULT : LLVMIntSLT, first, room, "");
  LLVMValueRef every =
      LLVMBuildICmp(w->b, LLVMIntEQ, LLVMBuildBitCast(w->b, same, bits, ""), LLVMConstAllOnes(bits), "");
  return LLVMBuildAnd(w->b, every, fits, "");
}

static LLVMValueRef masked_load(widener *w, LLVMValueRef pointer, LLVMTypeRef wide, unsigned align, mask m) {
  if (m.all) {
    LLVMValueRef result = LLVMBuildLoad2(w->b, wide, pointer, "");
    LLVMSetAlignment(result, align);
    return result;
  }
  LLVMTypeRef overloads[] = {wide, w->p->pointer};
  LLVMValueRef arguments[] = {pointer, constant_i32(w->p, align), m.lanes, LLVMGetPoison(wide)};
  return call_intrinsic(w->p, w->b, "llvm.masked.load", overloads, 2, arguments, 4);
}

static LLVMValueRef gather(widener *w, const place *at, LLVMTypeRef wide, mask m) {
  LLVMValueRef pointers = vector_pointer(w, at);
  LLVMTypeRef overloads[] = {wide, LLVMTypeOf(pointers)};
  LLVMValueRef arguments[] = {pointers, constant_i32(w->p, at->align), mask_vector(w, m), LLVMGetPoison(wide)};
  return call_intrinsic(w->p, w->b, "llvm.masked.gather", overloads, 2, arguments, 4);
}

static LLVMValueRef gather_or_load(widener *w, const place *at, LLVMValueRef index, LLVMTypeRef wide, mask m) {
  program *p = w->p;
  LLVMValueRef slot = LLVMBuildAlloca(w->entry, wide, ""), pointers = vector_pointer(w, at);
  LLVMValueRef follows = follows_on(w, index, m);
  LLVMValueRef first = LLVMBuildExtractElement(w->b, pointers, constant_i32(p, 0), "");
  LLVMBasicBlockRef quick = LLVMAppendBasicBlockInContext(p->context, w->function, "contiguous");
  LLVMBasicBlockRef slow = LLVMAppendBasicBlockInContext(p->context, w->function, "gather");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(p->context, w->function, "loaded");
  LLVMBuildCondBr(w->b, follows, quick, slow);
  LLVMPositionBuilderAtEnd(w->b, quick);
  LLVMBuildStore(w->b, masked_load(w, first, wide, at->align, m), slot);
  LLVMBuildBr(w->b, done);
  LLVMPositionBuilderAtEnd(w->b, slow);
  LLVMBuildStore(w->b, gather(w, at, wide, m), slot);
  LLVMBuildBr(w->b, done);
  LLVMPositionBuilderAtEnd(w->b, done);
  return LLVMBuildLoad2(w->b, wide, slot, "");
}

/* One value a lane, from addresses that differ. */
static LLVMValueRef load_lanes(widener *w, const place *at, LLVMTypeRef type, mask m) {
  LLVMTypeRef wide = vector_type(w, type);
  LLVMValueRef result, index = index_to_test(w, at, type);
  compiler_fence(w, at);
  if (is_contiguous(w, at, bytes_of(w, type)))
    result = masked_load(w, scalar_pointer(w, at), wide, at->align, m);
  else if (index)
    result = gather_or_load(w, at, index, wide, m);
  else
    result = gather(w, at, wide, m);
  compiler_fence(w, at);
  return result;
}

static void store_scalar(widener *w, const place *at, LLVMValueRef value) {
  LLVMValueRef made = LLVMBuildStore(w->b, value, scalar_pointer(w, at));
  LLVMSetAlignment(made, at->align);
  LLVMSetVolatile(made, at->is_volatile);
}

static void store_lanes(widener *w, const place *at, LLVMValueRef lanes, mask m) {
  LLVMTypeRef wide = LLVMTypeOf(lanes);
  compiler_fence(w, at);
  if (!is_contiguous(w, at, bytes_of(w, LLVMGetElementType(wide)))) {
    LLVMValueRef pointers = vector_pointer(w, at);
    LLVMTypeRef overloads[] = {wide, LLVMTypeOf(pointers)};
    LLVMValueRef arguments[] = {lanes, pointers, constant_i32(w->p, at->align), mask_vector(w, m)};
    call_intrinsic(w->p, w->b, "llvm.masked.scatter", overloads, 2, arguments, 4);
  } else if (m.all) {
    LLVMSetAlignment(LLVMBuildStore(w->b, lanes, scalar_pointer(w, at)), at->align);
  } else {
    LLVMTypeRef overloads[] = {wide, w->p->pointer};
    LLVMValueRef arguments[] = {lanes, scalar_pointer(w, at), constant_i32(w->p, at->align), m.lanes};
    call_intrinsic(w->p, w->b, "llvm.masked.store", overloads, 2, arguments, 4);
  }
  compiler_fence(w, at);
}

/* Of lanes that store to one place the last one wins, as good as any. */
static LLVMValueRef last_active(widener *w, LLVMValueRef lanes, mask m) {
  LLVMTypeRef bits = LLVMIntTypeInContext(w->p->context, (unsigned)w->width);
  if (m.all) return LLVMBuildExtractElement(w->b, lanes, constant_i32(w->p, (unsigned)w->width - 1), "");
  LLVMValueRef arguments[] = {LLVMBuildBitCast(w->b, m.lanes, bits, ""), LLVMConstInt(w->p->i1, 1, 0)};
  LLVMValueRef zeros = call_intrinsic(w->p, w->b, "llvm.ctlz", &bits, 1, arguments, 2);
  LLVMValueRef lane = LLVMBuildSub(w->b, LLVMConstInt(bits, (unsigned)w->width - 1, 0), zeros, "");
  return LLVMBuildExtractElement(w->b, lanes, lane, "");
}

void widen_load(widener *w, LLVMValueRef load, mask m) {
  place at = {LLVMGetOperand(load, 0), 0, LLVMGetAlignment(load), LLVMGetVolatile(load), load};
  LLVMTypeRef type = LLVMTypeOf(load);
  bool uniform = is_uniform(w, at.address);
  if (!is_element(type) && !(uniform && is_uniform(w, load))) {
    refuse(w, load, "it loads what is no number or pointer");
    return;
  }
  LLVMValueRef value = uniform ? load_scalar(w, &at, type) : load_lanes(w, &at, type, m);
  set_value(w, load, uniform && !is_uniform(w, load) ? splat(w, value) : value);
}

void widen_store(widener *w, LLVMValueRef store, mask m) {
  LLVMValueRef value = LLVMGetOperand(store, 0);
  place at = {LLVMGetOperand(store, 1), 0, LLVMGetAlignment(store), LLVMGetVolatile(store), store};
  bool one = is_uniform(w, at.address) && is_uniform(w, value);
  if (!is_element(LLVMTypeOf(value)) && !one) {
    refuse(w, store, "it stores what is no number or pointer");
    return;
  }
  if (one)
    store_scalar(w, &at, value_scalar(w, value));
  else if (is_uniform(w, at.address))
    store_scalar(w, &at, last_active(w, value_vector(w, value), m));
  else
    store_lanes(w, &at, value_vector(w, value), m);
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

/* Every lane copies `bytes`, a constant and small: all at once where the structs of all lanes lie one behind the other,
   else element by element. A whole struct is read before any of it is written. */
void widen_copy(widener *w, LLVMValueRef call, mask m) {
  enum { MOST = 64 };
  LLVMValueRef length = LLVMGetOperand(call, 2), parts[MOST];
  if (!LLVMIsAConstantInt(length) || LLVMConstIntGetZExtValue(length) > MOST) {
    refuse(w, call, "it copies a large or unknown number of bytes");
    return;
  }
  uint64_t bytes = LLVMConstIntGetZExtValue(length);
  place target = {LLVMGetOperand(call, 0), 0, 0, false, call}, source = {LLVMGetOperand(call, 1), 0, 0, false, call};
  target.align = argument_alignment(call, 1), source.align = argument_alignment(call, 2);
  unsigned align = target.align < source.align ? target.align : source.align;
  if (!bytes) return;
  LLVMTypeRef unit = copy_unit(w, bytes, align);
  uint64_t step = bytes_of(w, unit);
  if (m.all && is_contiguous(w, &target, bytes) && is_contiguous(w, &source, bytes)) {
    LLVMTypeRef wide = LLVMVectorType(unit, (unsigned)(bytes / step) * (unsigned)w->width);
    LLVMValueRef value = LLVMBuildLoad2(w->b, wide, scalar_pointer(w, &source), "");
    LLVMSetAlignment(value, source.align);
    LLVMSetAlignment(LLVMBuildStore(w->b, value, scalar_pointer(w, &target)), target.align);
    return;
  }
  bool same = is_uniform(w, source.address);
  source.align = source.align < step ? source.align : (unsigned)step;
  for (; source.offset < bytes; source.offset += step)
    parts[source.offset / step] = same ? load_scalar(w, &source, unit) : load_lanes(w, &source, unit, m);
  target.align = target.align < step ? target.align : (unsigned)step;
  for (; target.offset < bytes; target.offset += step) {
    LLVMValueRef part = parts[target.offset / step];
    if (!is_uniform(w, target.address))
      store_lanes(w, &target, same ? splat(w, part) : part, m);
    else
      store_scalar(w, &target, same ? part : last_active(w, part, m));
  }
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
