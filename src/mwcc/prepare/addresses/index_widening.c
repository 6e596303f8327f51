/* Index widening: the 64-bit extension of a 32-bit sum becomes a sum of extensions (cf. LLVM IndVarSimplify).
 *
 *   sext(columns * row + x)   ->   sext(columns * row) + sext(x)
 *
 * `nsw` guarantees that a thread's sum does not wrap, so both forms are equal where the thread computes it. For lanes
 * they differ: the address of a vector is computed from lane 0, which may be inactive, and whose 32-bit sum may wrap
 * although those of active lanes do not. So the extension of such a sum is not known to be contiguous, though each of
 * its terms is. A sum of 64 bits may wrap, as addresses do.
 *
 * Only sums that differ between lanes are changed, and only where all terms are the same for all lanes or are known not
 * to wrap in any: others stay 32-bit indices, since one gather takes more of them. */
#include "mwcc/analysis/simt.h"
#include "mwcc/support/predicates.h"
#include "mwcc/prepare/addresses/addresses.h"
#include "mwcc/read/read.h"

#include <stdlib.h>

enum { DEEPEST = 6 };

static bool is_exact_sum(LLVMValueRef value) {
  LLVMOpcode opcode = opcode_of(value);
  return (opcode == LLVMAdd || opcode == LLVMSub) && LLVMGetNSW(value);
}

static bool is_exact_multiple(LLVMValueRef value) {
  LLVMOpcode opcode = opcode_of(value);
  return (opcode == LLVMMul || opcode == LLVMShl) && LLVMGetNSW(value) && LLVMIsAConstantInt(LLVMGetOperand(value, 1));
}

/* The extension from 32 to 64 bits of a sum that does not wrap. */
static bool is_candidate(LLVMValueRef i) {
  bool extends = LLVMIsASExtInst(i) || (LLVMIsAZExtInst(i) && LLVMGetNNeg(i));
  if (!extends || LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMIntegerTypeKind) return false;
  LLVMValueRef from = LLVMGetOperand(i, 0);
  return LLVMGetIntTypeWidth(LLVMTypeOf(i)) == 64 && LLVMGetIntTypeWidth(LLVMTypeOf(from)) == 32 && is_exact_sum(from);
}

/* Whether the value is uniform, or does not wrap in any lane, or in any active lane by the branches before the node. */
static bool is_term(const shapes *s, LLVMValueRef value, int at) {
  const int64_t margin = 1 << 24;
  shape a = shape_of(s, value);
  if (is_uniform_kind(a.kind)) return true;
  if (a.kind != SHAPE_AFFINE && a.kind != SHAPE_VECTOR_AFFINE) return false;
  range r = range_in_node(s, value, at);
  return a.no_wrap || (r.low >= INT32_MIN + margin && r.high <= INT32_MAX - margin);
}

static bool is_sum_of_terms(const shapes *s, LLVMValueRef value, int at, int depth) {
  if (is_term(s, value, at)) return true;
  if (depth == 0) return false;
  if (is_exact_multiple(value)) return is_sum_of_terms(s, LLVMGetOperand(value, 0), at, depth - 1);
  return is_exact_sum(value) && is_sum_of_terms(s, LLVMGetOperand(value, 0), at, depth - 1) &&
         is_sum_of_terms(s, LLVMGetOperand(value, 1), at, depth - 1);
}

static LLVMValueRef extended(const shapes *s, LLVMBuilderRef b, LLVMTypeRef i64, LLVMValueRef value, int at) {
  if (is_term(s, value, at)) return LLVMBuildSExt(b, value, i64, "");
  LLVMValueRef left = extended(s, b, i64, LLVMGetOperand(value, 0), at), right = LLVMGetOperand(value, 1);
  if (opcode_of(value) == LLVMShl) /* the factor is at most 2^31 */
    return LLVMBuildShl(b, left, LLVMConstInt(i64, LLVMConstIntGetZExtValue(right), 0), "");
  right = opcode_of(value) == LLVMMul ? LLVMConstInt(i64, (uint64_t)LLVMConstIntGetSExtValue(right), 1)
                                      : extended(s, b, i64, right, at);
  return LLVMBuildBinOp(b, opcode_of(value), left, right, "");
}

static void widen_in(program *p, const kernel *k, LLVMBuilderRef b) {
  graph g;
  const char *why;
  if (!graph_build(p, k->body, false, &g, &why)) return;
  flow f = graph_flow(&g);
  order o = order_of(&f);
  int lanes = p->options->width > 1 ? p->options->width : 8;
  cut c = {CUT_ROWS, lanes, 1, 1};
  if (p->options->launch_kernel) c = cut_block(p->block, lanes, 1);
  shapes s = shapes_at_best(&g, &o, c);
  LLVMValueRef *unused = mw_alloc(((size_t)g.value_count + 1) * sizeof *unused);
  size_t unused_count = 0;
  for (int n = 0; n < g.value_count; n++) {
    LLVMValueRef i = g.values[n];
    if (!is_candidate(i) || shape_of(&s, i).kind != SHAPE_VARYING) continue;
    LLVMValueRef sum = LLVMGetOperand(i, 0);
    int at = graph_node_of(&g, i);
    shape_kind kind = shape_of(&s, sum).kind;
    if (kind != SHAPE_AFFINE && kind != SHAPE_VECTOR_AFFINE) continue;
    if (!is_sum_of_terms(&s, sum, at, DEEPEST)) {
      report_decision(p, k, sum, "stays a 32-bit index: a term that differs between lanes may wrap");
      continue;
    }
    report_decision(p, k, sum, "is a 64-bit index of lanes, term by term");
    LLVMPositionBuilderBefore(b, i);
    LLVMReplaceAllUsesWith(i, extended(&s, b, p->i64, sum, at));
    unused[unused_count++] = i;
  }
  shapes_free(&s);
  order_free(&o);
  graph_free(&g);
  for (size_t n = 0; n < unused_count; n++) LLVMInstructionEraseFromParent(unused[n]);
  free(unused);
}

static bool has_candidate(LLVMValueRef function) {
  for (LLVMBasicBlockRef at = LLVMGetFirstBasicBlock(function); at; at = LLVMGetNextBasicBlock(at))
    for (LLVMValueRef i = LLVMGetFirstInstruction(at); i; i = LLVMGetNextInstruction(i))
      if (is_candidate(i)) return true;
  return false;
}

void widen_indices(program *p) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  for (size_t i = 0; i < p->kernel_count; i++)
    if (has_candidate(p->kernels[i].body)) widen_in(p, &p->kernels[i], b);
  LLVMDisposeBuilder(b);
}
