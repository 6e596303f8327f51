/* The stride of an address (cf. LLVM's SCEV add-recurrences): how far it advances in an iteration of a loop, or when an
 * id such as ctaid.x increases by one. It follows from the operations that make the address: sums, products and
 * extensions of induction variables and ids. */
#include "address_stride.h"

#include <string.h>

enum { DEPTH = 12 };

static const address_stride none = {.known = true}, unknown = {0};

static address_stride stride_at_depth(const stride_query *q, LLVMValueRef value, int depth);

bool is_inside(const stride_query *q, LLVMValueRef value) {
  return q->w->shapes->order->loops[q->loop].contains[graph_node_of(q->w->g, value)];
}

const char *register_of(LLVMValueRef value) {
  static const char prefix[] = "llvm.nvvm.read.ptx.sreg.";
  const char *called = LLVMIsACallInst(value) ? callee_name(value) : "";
  return starts_with(called, prefix) ? called + sizeof prefix - 1 : NULL;
}

/* A uniform number that does not change with the counter, as an i64 at the builder's position, recomputed there if
   need be; NULL: it would take more than integer arithmetic. */
static LLVMValueRef number(const stride_query *q, LLVMValueRef value, int depth) {
  widener *w = q->w;
  address_stride g = stride_at_depth(q, value, depth);
  if (!g.known || g.by || !is_uniform(w, value) || LLVMGetTypeKind(LLVMTypeOf(value)) != LLVMIntegerTypeKind)
    return NULL;
  if (register_of(value)) w->widen(w, value, q->all);
  bool outside = !LLVMIsAInstruction(value) || (q->loop >= 0 && !is_inside(q, value));
  if (outside || register_of(value)) return LLVMBuildIntCast2(w->b, value_scalar(w, value), w->p->i64, 1, "");
  LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
  if (opcode == LLVMSExt || opcode == LLVMZExt) return number(q, LLVMGetOperand(value, 0), depth - 1);
  if (opcode != LLVMAdd && opcode != LLVMSub && opcode != LLVMMul && opcode != LLVMShl) return NULL;
  LLVMValueRef a = number(q, LLVMGetOperand(value, 0), depth - 1), b = number(q, LLVMGetOperand(value, 1), depth - 1);
  return a && b ? LLVMBuildBinOp(w->b, opcode, a, b, "") : NULL;
}

static address_stride sum(const stride_query *q, address_stride a, address_stride b, bool minus) {
  LLVMBuilderRef builder = q->w->b;
  if (!a.known || !b.known) return unknown;
  if (!b.by) return a;
  if (!a.by && !minus) return b;
  LLVMValueRef left = a.by ? a.by : constant_i64(q->w->p, 0);
  LLVMValueRef made = minus ? LLVMBuildSub(builder, left, b.by, "") : LLVMBuildAdd(builder, left, b.by, "");
  return (address_stride){true, made};
}

static address_stride times(const stride_query *q, address_stride a, LLVMValueRef factor) {
  if (!a.known || !a.by) return a;
  return factor ? (address_stride){true, LLVMBuildMul(q->w->b, a.by, factor, "")} : unknown;
}

/* An induction variable of the query's loop advances by what the latch adds to it. Seen from another loop or along an
   id, it advances as its initial value does. */
static address_stride stride_of_phi(const stride_query *q, LLVMValueRef phi, int depth) {
  const order *o = q->w->shapes->order;
  int home = graph_node_of(q->w->g, phi);
  if (LLVMCountIncoming(phi) != 2) return unknown;
  for (unsigned i = 0; i < 2; i++) {
    LLVMValueRef next = LLVMGetIncomingValue(phi, i), first = LLVMGetIncomingValue(phi, 1 - i);
    if (!LLVMIsAInstruction(next) || LLVMGetInstructionOpcode(next) != LLVMAdd) continue;
    for (unsigned n = 0; n < 2; n++) {
      if (LLVMGetOperand(next, n) != phi) continue;
      LLVMValueRef step = LLVMGetOperand(next, 1 - n);
      address_stride of_step = stride_at_depth(q, step, depth - 1);
      if (!of_step.known || of_step.by) return unknown;
      if (q->loop < 0 || o->loops[q->loop].header != home) return stride_at_depth(q, first, depth - 1);
      LLVMValueRef by = number(q, step, depth - 1);
      return by ? (address_stride){true, by} : unknown;
    }
  }
  return unknown;
}

static address_stride stride_of_gep(const stride_query *q, LLVMValueRef gep, int depth) {
  address_stride all = stride_at_depth(q, LLVMGetOperand(gep, 0), depth - 1);
  LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
  for (int i = 1; i < LLVMGetNumOperands(gep) && all.known; i++) {
    if (i > 1 && LLVMGetTypeKind(type) != LLVMArrayTypeKind) return unknown;
    if (i > 1) type = LLVMGetElementType(type);
    address_stride index = stride_at_depth(q, LLVMGetOperand(gep, (unsigned)i), depth - 1);
    all = sum(q, all, times(q, index, constant_i64(q->w->p, LLVMABISizeOfType(q->w->p->layout, type))), false);
  }
  return all;
}

static address_stride stride_at_depth(const stride_query *q, LLVMValueRef value, int depth) {
  if (!LLVMIsAInstruction(value)) return none;
  if (q->loop >= 0 && !is_inside(q, value)) return none;
  if (depth == 0) return unknown;
  LLVMValueRef a = LLVMGetNumOperands(value) ? LLVMGetOperand(value, 0) : NULL;
  LLVMValueRef b = LLVMGetNumOperands(value) > 1 ? LLVMGetOperand(value, 1) : NULL;
  switch (LLVMGetInstructionOpcode(value)) {
  case LLVMPHI: return stride_of_phi(q, value, depth);
  case LLVMOr:
    if (!LLVMGetIsDisjoint(value)) return unknown;
    return sum(q, stride_at_depth(q, a, depth - 1), stride_at_depth(q, b, depth - 1), false);
  case LLVMAdd:
  case LLVMSub:
    return sum(q, stride_at_depth(q, a, depth - 1), stride_at_depth(q, b, depth - 1),
               LLVMGetInstructionOpcode(value) == LLVMSub);
  case LLVMMul: {
    address_stride of_a = stride_at_depth(q, a, depth - 1), of_b = stride_at_depth(q, b, depth - 1);
    if (!of_a.known || !of_b.known || (of_a.by && of_b.by)) return unknown;
    if (of_a.by) return times(q, of_a, number(q, b, depth - 1));
    return of_b.by ? times(q, of_b, number(q, a, depth - 1)) : none;
  }
  case LLVMShl:
    if (!LLVMIsAConstantInt(b) || LLVMConstIntGetZExtValue(b) > 32) return unknown;
    return times(q, stride_at_depth(q, a, depth - 1),
                 constant_i64(q->w->p, (uint64_t)1 << LLVMConstIntGetZExtValue(b)));
  case LLVMSExt:
  case LLVMZExt:
  case LLVMAddrSpaceCast:
  case LLVMFreeze: return stride_at_depth(q, a, depth - 1);
  case LLVMGetElementPtr: return stride_of_gep(q, value, depth);
  case LLVMCall: {
    const char *name = register_of(value);
    if (!name) return unknown;
    return q->loop < 0 && strcmp(name, q->counter) == 0 ? (address_stride){true, constant_i64(q->w->p, 1)} : none;
  }
  default: return unknown;
  }
}

address_stride stride_of(const stride_query *q, LLVMValueRef value) { return stride_at_depth(q, value, DEPTH); }

LLVMValueRef stride_along(widener *w, const char *name, LLVMValueRef address) {
  stride_query q = {.w = w, .loop = -1, .counter = name, .all = {.all = true}};
  address_stride g = stride_of(&q, address);
  return g.known ? g.by ? g.by : constant_i64(w->p, 0) : NULL;
}
