/* Atomics from a gang: lane by lane; one for all lanes where they change one place and nobody asks for the old values. See
 * widen.h. */
#include "widen.h"

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

/* An address whose lanes differ in one index alone: lanes then lay out that, in few bits, and the address is made from
   pointers that all share, which is known to stay near them (guard.c). */
typedef struct indexed {
  LLVMValueRef address;
  LLVMValueRef index;  /* what is laid out; NULL: the address itself is */
  LLVMOpcode extended; /* how the index was, to 64 bits; or 0 */
} indexed;

/* Behind a barrier is only what the code itself needs there: the address, but not what it was made from. */
static bool is_at_hand(widener *w, LLVMValueRef value, LLVMValueRef atomic) {
  if (!LLVMIsAInstruction(value) || graph_node_of(w->g, value) == graph_node_of(w->g, atomic)) return true;
  return !w->several_regions && is_in_slot(w, value);
}

static indexed find_index(widener *w, LLVMValueRef atomic) {
  indexed found = {.address = LLVMGetOperand(atomic, 0)};
  LLVMValueRef gep = found.address, last;
  if (!LLVMIsAGetElementPtrInst(gep) || is_uniform(w, gep)) return found;
  int count = LLVMGetNumOperands(gep);
  for (int i = 0; i < count - 1; i++) {
    LLVMValueRef operand = LLVMGetOperand(gep, (unsigned)i);
    if (!is_uniform(w, operand) || !is_at_hand(w, operand, atomic)) return found;
  }
  last = LLVMGetOperand(gep, (unsigned)count - 1);
  if (!is_at_hand(w, last, atomic)) return found;
  found.index = last;
  if (!LLVMIsAZExtInst(last) && !LLVMIsASExtInst(last)) return found;
  if (!is_at_hand(w, LLVMGetOperand(last, 0), atomic)) return found;
  found.extended = LLVMGetInstructionOpcode(last);
  found.index = LLVMGetOperand(last, 0);
  return found;
}

static LLVMValueRef address_of(widener *w, const indexed *at, LLVMValueRef lane) {
  LLVMValueRef gep = at->address, indices[8];
  unsigned count = at->index ? (unsigned)LLVMGetNumIndices(gep) : 0;
  if (!at->index || count > MW_COUNT(indices)) return lane_of(w, gep, lane);
  for (unsigned i = 0; i + 1 < count; i++) indices[i] = value_scalar(w, LLVMGetOperand(gep, i + 1));
  LLVMValueRef index = lane_of(w, at->index, lane), base = value_scalar(w, LLVMGetOperand(gep, 0));
  if (at->extended) index = LLVMBuildCast(w->b, at->extended, index, LLVMTypeOf(LLVMGetOperand(gep, count)), "");
  indices[count - 1] = index;
  return LLVMBuildGEP2(w->b, LLVMGetGEPSourceElementType(gep), base, indices, count, "");
}

typedef struct lane_atomic {
  LLVMValueRef atomic;
  indexed at;
} lane_atomic;

/* The reduction by which lanes have one atomic together, and what changes nothing in it; NULL where there is none. */
static const char *reduction_of(LLVMAtomicRMWBinOp op, LLVMTypeRef type, LLVMValueRef *neutral) {
  switch (op) {
  case LLVMAtomicRMWBinOpAdd: *neutral = LLVMConstNull(type); return "llvm.vector.reduce.add";
  case LLVMAtomicRMWBinOpOr: *neutral = LLVMConstNull(type); return "llvm.vector.reduce.or";
  case LLVMAtomicRMWBinOpAnd: *neutral = LLVMConstAllOnes(type); return "llvm.vector.reduce.and";
  case LLVMAtomicRMWBinOpUMax: *neutral = LLVMConstNull(type); return "llvm.vector.reduce.umax";
  case LLVMAtomicRMWBinOpUMin: *neutral = LLVMConstAllOnes(type); return "llvm.vector.reduce.umin";
  default: return NULL;
  }
}

/* All lanes add to one place and nobody wants the old values: their sum, once. Exact for integers; for floating-point
   numbers the order of atomic additions is open anyway, but results stay repeatable only lane by lane, so they are. */
static const char *reduction_in(const shapes *s, LLVMValueRef atomic, LLVMValueRef *neutral) {
  if (!LLVMIsAAtomicRMWInst(atomic) || LLVMGetFirstUse(atomic)) return NULL;
  if (shape_of(s, LLVMGetOperand(atomic, 0)).kind > SHAPE_GANG) return NULL;
  return reduction_of(LLVMGetAtomicRMWBinOp(atomic), LLVMTypeOf(LLVMGetOperand(atomic, 1)), neutral);
}

const char *describe_atomic(const shapes *s, LLVMValueRef atomic) {
  LLVMValueRef neutral;
  if (reduction_in(s, atomic, &neutral)) return "one atomic for all lanes";
  if (LLVMIsAAtomicRMWInst(atomic) && is_shared(LLVMGetOperand(atomic, 0)))
    return "atomic by one lane after another, without a lock";
  return "atomic by one lane after another";
}

bool is_short_atomic(LLVMValueRef atomic) {
  return LLVMIsAAtomicRMWInst(atomic) && is_shared(LLVMGetOperand(atomic, 0)) && !LLVMGetFirstUse(atomic);
}

static LLVMValueRef one_lane(widener *w, LLVMValueRef lane, void *context) {
  const lane_atomic *one = context;
  LLVMValueRef atomic = one->atomic, address = address_of(w, &one->at, lane);
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

static bool reduce_first(widener *w, LLVMValueRef atomic, mask m) {
  LLVMValueRef neutral;
  const char *reduction = reduction_in(w->shapes, atomic, &neutral);
  if (!reduction) return false;
  LLVMValueRef value = LLVMGetOperand(atomic, 1);
  LLVMAtomicRMWBinOp op = LLVMGetAtomicRMWBinOp(atomic);
  LLVMValueRef together = NULL;
  for (int u = 0; u < w->parts; u++) {
    LLVMValueRef lanes = part_vector(w, value, u);
    if (!m.all) lanes = LLVMBuildSelect(w->b, m.lanes.of[u], lanes, splat(w, neutral), "");
    together = together ? combine(w, op, together, lanes) : lanes;
  }
  LLVMTypeRef wide = LLVMTypeOf(together);
  LLVMValueRef sum = call_intrinsic(w->p, w->b, reduction, &wide, 1, &together, 1);
  LLVMBuildAtomicRMW(w->b, op, value_scalar(w, LLVMGetOperand(atomic, 0)), sum, LLVMGetOrdering(atomic), 0);
  return true;
}

void widen_atomic(widener *w, LLVMValueRef atomic, mask m) {
  LLVMValueRef operands[3];
  unsigned count = (unsigned)LLVMGetNumOperands(atomic);
  if (reduce_first(w, atomic, m)) return;
  for (unsigned i = 0; i < count; i++) operands[i] = LLVMGetOperand(atomic, i);
  lane_atomic one = {atomic, find_index(w, atomic)};
  if (one.at.index) {
    operands[0] = one.at.index;
    for (int i = 0; i + 1 < LLVMGetNumOperands(one.at.address); i++) /* before the loop, as each_lane does it */
      value_kept(w, LLVMGetOperand(one.at.address, (unsigned)i));
  }
  LLVMTypeRef type = LLVMGetFirstUse(atomic) ? LLVMTypeOf(atomic) : NULL;
  parts old = each_lane(w, atomic, m, operands, count, type, is_short_atomic(atomic), one_lane, &one);
  if (type && is_uniform(w, atomic))
    refuse(w, atomic, "an atomic whose result is the same for all lanes");
  else if (type)
    set_value(w, atomic, old);
}
