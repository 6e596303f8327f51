/* Memory that a later round of a loop is going to load, asked for ahead.
 *
 * Processors see loads ahead where addresses move on by little. In a grid-stride loop, or one down the rows of a matrix, each
 * round is far from the one before: then every round waits for memory, unless it is short enough for the processor to look
 * into the next ones. So where a round is long, what its loads will ask for some rounds later is asked for here. How far an
 * address moves in a round follows from how it is made: sums, multiples and extensions of what the loop counts. Asking for
 * what nobody comes for, behind an array's end or a last round, does no harm. Where lanes do something with what is loaded
 * one after the other, they ask for a line each as they get to it: asked for all at once, lines wait for each other.
 *
 * Short rounds are another matter: there memory itself is what takes time, and it is quickest where it is asked for some
 * rounds ahead, and much in one place. Where neighbouring blocks load from neighbouring places, every second block asks for
 * what the one behind it will load, too. */
#include "widen.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH = 12, LINE = 64, NEAR = 4096 /* bytes, within which processors see by themselves */ };

/* What a value grows by: in a round of a loop, or from one block to the next on the x axis. */
typedef struct growth {
  bool known;
  LLVMValueRef by; /* an i64 where the builder stands; NULL: nothing */
} growth;

typedef struct question {
  widener *w;
  int loop; /* or -1: from block to block */
  mask all;
} question;

static const growth none = {.known = true}, unknown = {0};

static growth grown(const question *q, LLVMValueRef value, int depth);

static bool is_inside(const question *q, LLVMValueRef value) {
  return q->w->shapes->order->loops[q->loop].contains[graph_node_of(q->w->g, value)];
}

/* The name of an id or a size that a thread reads, or NULL. */
static const char *register_of(LLVMValueRef value) {
  static const char prefix[] = "llvm.nvvm.read.ptx.sreg.";
  const char *called = LLVMIsACallInst(value) ? callee_name(value) : "";
  return starts_with(called, prefix) ? called + sizeof prefix - 1 : NULL;
}

/* A uniform number that does not change, as an i64 where the builder stands, made anew if need be; NULL: not that easily. */
static LLVMValueRef number(const question *q, LLVMValueRef value, int depth) {
  widener *w = q->w;
  growth g = grown(q, value, depth);
  if (!g.known || g.by || !is_uniform(w, value) || LLVMGetTypeKind(LLVMTypeOf(value)) != LLVMIntegerTypeKind)
    return NULL;
  if (register_of(value)) widen_instruction(w, value, q->all);
  bool outside = !LLVMIsAInstruction(value) || (q->loop >= 0 && !is_inside(q, value));
  if (outside || register_of(value)) return LLVMBuildIntCast2(w->b, value_scalar(w, value), w->p->i64, 1, "");
  LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
  if (opcode == LLVMSExt || opcode == LLVMZExt) return number(q, LLVMGetOperand(value, 0), depth - 1);
  if (opcode != LLVMAdd && opcode != LLVMSub && opcode != LLVMMul && opcode != LLVMShl) return NULL;
  LLVMValueRef a = number(q, LLVMGetOperand(value, 0), depth - 1), b = number(q, LLVMGetOperand(value, 1), depth - 1);
  return a && b ? LLVMBuildBinOp(w->b, opcode, a, b, "") : NULL;
}

static growth sum(const question *q, growth a, growth b, bool minus) {
  LLVMBuilderRef builder = q->w->b;
  if (!a.known || !b.known) return unknown;
  if (!b.by) return a;
  if (!a.by && !minus) return b;
  LLVMValueRef left = a.by ? a.by : constant_i64(q->w->p, 0);
  LLVMValueRef made = minus ? LLVMBuildSub(builder, left, b.by, "") : LLVMBuildAdd(builder, left, b.by, "");
  return (growth){true, made};
}

static growth times(const question *q, growth a, LLVMValueRef factor) {
  if (!a.known || !a.by) return a;
  return factor ? (growth){true, LLVMBuildMul(q->w->b, a.by, factor, "")} : unknown;
}

/* What the loop counts grows by what is added on the way back; from block to block, by what it begins with does. */
static growth grown_phi(const question *q, LLVMValueRef phi, int depth) {
  const order *o = q->w->shapes->order;
  int home = graph_node_of(q->w->g, phi);
  if (LLVMCountIncoming(phi) != 2) return unknown;
  for (unsigned i = 0; i < 2; i++) {
    LLVMValueRef next = LLVMGetIncomingValue(phi, i), first = LLVMGetIncomingValue(phi, 1 - i);
    if (!LLVMIsAInstruction(next) || LLVMGetInstructionOpcode(next) != LLVMAdd) continue;
    for (unsigned n = 0; n < 2; n++) {
      if (LLVMGetOperand(next, n) != phi) continue;
      LLVMValueRef step = LLVMGetOperand(next, 1 - n);
      growth of_step = grown(q, step, depth - 1);
      if (!of_step.known || of_step.by) return unknown;
      if (q->loop < 0) return grown(q, first, depth - 1);
      if (o->loops[q->loop].header != home) return unknown;
      LLVMValueRef by = number(q, step, depth - 1);
      return by ? (growth){true, by} : unknown;
    }
  }
  return unknown;
}

static growth grown_address(const question *q, LLVMValueRef gep, int depth) {
  growth all = grown(q, LLVMGetOperand(gep, 0), depth - 1);
  LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
  for (int i = 1; i < LLVMGetNumOperands(gep) && all.known; i++) {
    if (i > 1 && LLVMGetTypeKind(type) != LLVMArrayTypeKind) return unknown;
    if (i > 1) type = LLVMGetElementType(type);
    growth index = grown(q, LLVMGetOperand(gep, (unsigned)i), depth - 1);
    all = sum(q, all, times(q, index, constant_i64(q->w->p, LLVMABISizeOfType(q->w->p->layout, type))), false);
  }
  return all;
}

static growth grown(const question *q, LLVMValueRef value, int depth) {
  if (!LLVMIsAInstruction(value)) return none;
  if (q->loop >= 0 && !is_inside(q, value)) return none;
  if (depth == 0) return unknown;
  LLVMValueRef a = LLVMGetNumOperands(value) ? LLVMGetOperand(value, 0) : NULL;
  LLVMValueRef b = LLVMGetNumOperands(value) > 1 ? LLVMGetOperand(value, 1) : NULL;
  switch (LLVMGetInstructionOpcode(value)) {
  case LLVMPHI: return grown_phi(q, value, depth);
  case LLVMOr:
    if (!LLVMGetIsDisjoint(value)) return unknown;
    return sum(q, grown(q, a, depth - 1), grown(q, b, depth - 1), false);
  case LLVMAdd:
  case LLVMSub:
    return sum(q, grown(q, a, depth - 1), grown(q, b, depth - 1), LLVMGetInstructionOpcode(value) == LLVMSub);
  case LLVMMul: {
    growth of_a = grown(q, a, depth - 1), of_b = grown(q, b, depth - 1);
    if (!of_a.known || !of_b.known || (of_a.by && of_b.by)) return unknown;
    if (of_a.by) return times(q, of_a, number(q, b, depth - 1));
    return of_b.by ? times(q, of_b, number(q, a, depth - 1)) : none;
  }
  case LLVMShl:
    if (!LLVMIsAConstantInt(b) || LLVMConstIntGetZExtValue(b) > 32) return unknown;
    return times(q, grown(q, a, depth - 1), constant_i64(q->w->p, (uint64_t)1 << LLVMConstIntGetZExtValue(b)));
  case LLVMSExt:
  case LLVMZExt:
  case LLVMAddrSpaceCast:
  case LLVMFreeze: return grown(q, a, depth - 1);
  case LLVMGetElementPtr: return grown_address(q, value, depth);
  case LLVMCall: {
    const char *name = register_of(value);
    if (!name) return unknown;
    return q->loop < 0 && strcmp(name, "ctaid.x") == 0 ? (growth){true, constant_i64(q->w->p, 1)} : none;
  }
  default: return unknown;
  }
}

/* Instructions of a round, for all lanes. */
static int length_of_round(const widener *w, int which) {
  int count = 0;
  for (int i = 0; i < w->g->value_count; i++) {
    if (!w->shapes->order->loops[which].contains[w->g->node_of[i]]) continue;
    bool by_lanes = LLVMIsAAtomicRMWInst(w->g->values[i]) || LLVMIsAAtomicCmpXchgInst(w->g->values[i]);
    count += (by_lanes ? 3 * w->width : 1) * (is_uniform(w, w->g->values[i]) ? 1 : w->parts);
  }
  return count;
}

static LLVMValueRef ask(widener *w, LLVMValueRef first, LLVMValueRef distance) {
  enum { READ = 0, SECOND_LEVEL = 2, DATA = 1 }; /* the nearest cache would lose what is needed at once */
  LLVMValueRef at = LLVMBuildGEP2(w->b, w->p->i8, first, &distance, 1, "");
  if (LLVMGetPointerAddressSpace(LLVMTypeOf(at))) at = LLVMBuildAddrSpaceCast(w->b, at, w->p->pointer, "");
  LLVMValueRef arguments[] = {at, constant_i32(w->p, READ), constant_i32(w->p, SECOND_LEVEL), constant_i32(w->p, DATA)};
  return call_intrinsic(w->p, w->b, "llvm.prefetch", &w->p->pointer, 1, arguments, 4);
}

/* Every second block: a block is one gang, which loads so many bytes in all. */
static void ask_for_blocks(widener *w, LLVMValueRef address, LLVMValueRef round, uint64_t bytes) {
  enum { BLOCKS = 2, ROUNDS = 4 };
  LLVMBasicBlockRef asks = LLVMAppendBasicBlockInContext(w->p->context, w->function, "ahead"),
                    on = LLVMAppendBasicBlockInContext(w->p->context, w->function, "on");
  LLVMValueRef block = LLVMBuildLoad2(w->b, w->p->i32, w->ctaid[0], "");
  LLVMValueRef rest = LLVMBuildAnd(w->b, block, constant_i32(w->p, BLOCKS - 1), "");
  value_kept(w, address); /* what is at hand in the one is so behind it */
  LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, LLVMIntEQ, rest, constant_i32(w->p, 0), ""), asks, on);
  LLVMPositionBuilderAtEnd(w->b, asks);
  LLVMValueRef later = LLVMBuildMul(w->b, round, constant_i64(w->p, ROUNDS), "");
  for (uint64_t n = 0; n < BLOCKS; n++) {
    LLVMValueRef distance = LLVMBuildAdd(w->b, later, constant_i64(w->p, n * bytes), "");
    for (int u = 0; u < w->parts; u++) ask(w, part_scalar(w, address, u), distance);
  }
  LLVMBuildBr(w->b, on);
  LLVMPositionBuilderAtEnd(w->b, on);
}

void ask_ahead(widener *w, LLVMValueRef load, uint64_t bytes) {
  enum { LONG = 512, ROUNDS = 3 };
  LLVMValueRef address = LLVMGetOperand(load, 0);
  question q = {.w = w, .loop = w->shapes->order->innermost[graph_node_of(w->g, load)], .all = {.all = true}};
  if (!w->p->options->launch_kernel || w->several_regions || q.loop < 0 || bytes * (uint64_t)w->width < LINE) return;
  if (!is_affine(w, address)) return; /* rows of a tile: they were there for the block before, and nothing was gained */
  if (memory_of(address) == MEMORY_SHARED || memory_of(address) == MEMORY_LOCAL) return;
  growth round = grown(&q, address, DEPTH);
  if (!round.known || !round.by) return;
  if (LLVMIsAConstantInt(round.by) && llabs(LLVMConstIntGetSExtValue(round.by)) < NEAR) return;
  if (length_of_round(w, q.loop) >= LONG) {
    LLVMValueRef distance = LLVMBuildMul(w->b, round.by, constant_i64(w->p, ROUNDS), "");
    w->asked = (asked_memory){.load = load, .distance = distance};
    for (int u = 0; u < w->parts; u++) w->asked.calls.of[u] = ask(w, part_scalar(w, address, u), distance);
    return;
  }
  uint64_t whole = bytes * (uint64_t)w->width * (uint64_t)w->parts;
  q.loop = -1;
  growth block = grown(&q, address, DEPTH);
  if (block.known && block.by && LLVMIsAConstantInt(block.by) && LLVMConstIntGetZExtValue(block.by) == whole)
    ask_for_blocks(w, address, round.by, whole);
}

void ask_by_lanes(widener *w, LLVMValueRef load, LLVMValueRef address) {
  asked_memory *a = &w->asked;
  if (a->load != load) return;
  for (int u = 0; u < w->parts && a->calls.of[u]; u++) LLVMInstructionEraseFromParent(a->calls.of[u]);
  a->calls = (parts){0};
  if (w->lane_number * LLVMABISizeOfType(w->p->layout, LLVMTypeOf(load)) % LINE == 0) ask(w, address, a->distance);
}
