/* Instructions without side effects, on all lanes at once. See widen.h. */
#include "mwcc/widen/widen.h"
#include "division.h"
#include "mwcc/widen/values/continued_division.h"
#include "mwcc/support/predicates.h"
#include "mwcc/analysis/analysis.h"
#include "mwcc/lower/lower.h"
#include "mwcc/prepare/prepare.h"
#include "mwcc/target/tuning.h"

#include <stdlib.h>
#include <string.h>

/* ---- on scalars ---- */

/* Drop the flags that make a result poison: lane 0 may be inactive, and its poison must not reach the other lanes. */
static void drop_flags(LLVMValueRef copy) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(copy);
  if (opcode == LLVMAdd || opcode == LLVMSub || opcode == LLVMMul || opcode == LLVMShl)
    LLVMSetNUW(copy, 0), LLVMSetNSW(copy, 0);
  if (opcode == LLVMUDiv || opcode == LLVMSDiv || opcode == LLVMLShr || opcode == LLVMAShr) LLVMSetExact(copy, 0);
  if (opcode == LLVMGetElementPtr) LLVMSetIsInBounds(copy, 0), LLVMGEPSetNoWrapFlags(copy, 0);
  if (opcode == LLVMZExt) LLVMSetNNeg(copy, 0);
  if (opcode == LLVMOr) LLVMSetIsDisjoint(copy, 0);
}

/* Whether an active lane computes exactly the same, so that flags may stay. */
static bool may_keep_flags(const widener *w, LLVMValueRef i, mask m) {
  for (int n = 0; n < LLVMGetNumOperands(i) && !m.all; n++)
    if (!is_uniform(w, LLVMGetOperand(i, (unsigned)n))) return false;
  return true;
}

/* A copy of the instruction over other operands. */
static LLVMValueRef copy_instruction(widener *w, LLVMValueRef i, const LLVMValueRef *operands, mask m) {
  LLVMValueRef copy = LLVMInstructionClone(i);
  int count = LLVMGetNumOperands(i);
  for (int n = 0; n < count; n++) LLVMSetOperand(copy, (unsigned)n, operands[n]);
  if (!may_keep_flags(w, i, m)) drop_flags(copy);
  LLVMInstructionSetDebugLoc(copy, NULL); /* the builder's, if it has one, is of this function */
  LLVMInsertIntoBuilder(w->b, copy);
  return copy;
}

/* A number as another one plus a constant, both extended. Several columns of an image that are clamped to its edges
   share such a number on the speculative path, whose test shows that none of them wraps. */
static LLVMValueRef extended(widener *w, LLVMValueRef value, LLVMValueRef i, int u, int64_t *distance) {
  value = unclamped_base(w, value, graph_node_of(w->g, i), distance);
  return LLVMBuildSExt(w->b, u < 0 ? value_scalar(w, value) : vector_scalar(w, value, u), LLVMTypeOf(i), "");
}

/* The extension of a sum that does not overflow, as a sum of two extensions and a distance: where rows or columns of
   an array are accessed by several sums, each term is extended once, and addresses need no arithmetic of their own.
   False: it is none. */
static bool extended_sum(widener *w, LLVMValueRef i, mask m, int u, LLVMValueRef of[2], int64_t *distance) {
  *distance = 0;
  bool extends = LLVMIsASExtInst(i) || (LLVMIsAZExtInst(i) && LLVMGetNNeg(i));
  LLVMValueRef sum = extends ? LLVMGetOperand(i, 0) : NULL;
  if (!sum || !LLVMIsAInstruction(sum) || LLVMGetInstructionOpcode(sum) != LLVMAdd || !LLVMGetNSW(sum)) return false;
  if (graph_node_of(w->g, sum) != graph_node_of(w->g, i) || !may_keep_flags(w, sum, m)) return false;
  bool common = false;
  for (unsigned n = 0; n < 2; n++) {
    LLVMUseRef use = LLVMGetFirstUse(LLVMGetOperand(sum, n));
    common = common || (!LLVMIsAConstant(LLVMGetOperand(sum, n)) && LLVMGetNextUse(use));
  }
  for (unsigned n = 0; n < 2 && common; n++) {
    LLVMValueRef operand = LLVMGetOperand(sum, n);
    if (is_varying(w, operand)) return false;
    of[n] = extended(w, operand, i, u, distance);
  }
  return common;
}

/* One address step for each term: LLVM would add them before the extension, and then see no pointer with a constant
   stride. */
static LLVMValueRef address_in_steps(widener *w, LLVMValueRef gep, mask m, int u) {
  LLVMValueRef base = LLVMGetOperand(gep, 0), index = LLVMGetOperand(gep, 1), of[2];
  int64_t distance;
  if (LLVMGetNumOperands(gep) != 2 || !LLVMIsAInstruction(index) || is_varying(w, base)) return NULL;
  if (graph_node_of(w->g, index) != graph_node_of(w->g, gep) || !extended_sum(w, index, m, u, of, &distance))
    return NULL;
  LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
  LLVMValueRef at = u < 0 ? value_scalar(w, base) : vector_scalar(w, base, u);
  for (unsigned n = 0; n < 2; n++) at = LLVMBuildGEP2(w->b, type, at, &of[n], 1, "");
  LLVMValueRef farther = LLVMConstInt(LLVMTypeOf(index), (uint64_t)distance, 1);
  return distance ? LLVMBuildGEP2(w->b, type, at, &farther, 1, "") : at;
}

/* The result for the gang's lane 0 (u = -1), or for that of vector u. */
static LLVMValueRef on_scalars(widener *w, LLVMValueRef i, mask m, int u) {
  int count = LLVMGetNumOperands(i);
  LLVMValueRef of[2];
  int64_t distance;
  if (u < 0 && w->row_index && is_grid_index(w->p, i)) return LLVMBuildZExt(w->b, w->row_index, LLVMTypeOf(i), "");
  if (extended_sum(w, i, m, u, of, &distance)) {
    LLVMValueRef sum = LLVMBuildNSWAdd(w->b, of[0], of[1], "");
    return LLVMBuildNSWAdd(w->b, sum, LLVMConstInt(LLVMTypeOf(i), (uint64_t)distance, 1), "");
  }
  LLVMValueRef address = LLVMIsAGetElementPtrInst(i) ? address_in_steps(w, i, m, u) : NULL;
  if (address) return address;
  LLVMValueRef *operands = mw_alloc(((size_t)count + 1) * sizeof *operands);
  for (int n = 0; n < count; n++) {
    LLVMValueRef operand = LLVMGetOperand(i, (unsigned)n);
    operands[n] = u < 0 ? value_scalar(w, operand) : vector_scalar(w, operand, u);
  }
  LLVMValueRef result;
  bool counts_up = is_affine(w, i) || (is_vector_affine(w, i) && !has_stride(w, i, 0));
  if (LLVMGetInstructionOpcode(i) == LLVMZExt && counts_up) {
    /* lane 0 may be inactive and negative: the other lanes and vectors continue from its sign-extension */
    result = LLVMBuildSExt(w->b, operands[0], LLVMTypeOf(i), "");
  } else if (LLVMGetInstructionOpcode(i) == LLVMOr && LLVMGetIsDisjoint(i) && !may_keep_flags(w, i, m)) {
    /* a sum, which LLVM writes as `or` where active lanes' operands have no bit in common; an inactive lane 0's may */
    result = LLVMBuildAdd(w->b, operands[0], operands[1], "");
  } else {
    result = copy_instruction(w, i, operands, m);
  }
  free(operands);
  return result;
}

/* ---- on vectors ---- */

static LLVMValueRef widen_gep(widener *w, LLVMValueRef i, int u) {
  unsigned count = (unsigned)LLVMGetNumIndices(i);
  LLVMValueRef *indices = mw_alloc((count + 1) * sizeof *indices), base = LLVMGetOperand(i, 0);
  /* uniform components of an address stay scalar: gathers prefer one base and a vector of indices */
  base = has_stride(w, base, 0) ? vector_scalar(w, base, u) : value_vector(w, base, u);
  for (unsigned n = 0; n < count; n++) {
    LLVMValueRef index = LLVMGetOperand(i, n + 1);
    indices[n] = has_stride(w, index, 0) ? vector_scalar(w, index, u) : value_vector(w, index, u);
  }
  LLVMValueRef result = LLVMBuildGEP2(w->b, LLVMGetGEPSourceElementType(i), base, indices, count, "");
  free(indices);
  if (!is_vector_type(LLVMTypeOf(result))) result = splat(w, result);
  return result;
}

/* Inactive lanes may have any divisor, and must not trap. Lanes are known by number in code for one block size and for
   warps. A selection there may be between constants of which one has a 0 in a lane that is not selected. LLVM folds the
   division into each side of the selection, and a division by a vector with a 0 in any lane is undefined. So the origin
   of such divisors is hidden from it. */
static LLVMValueRef safe_divisor(widener *w, LLVMValueRef i, LLVMValueRef divisor, mask m, int u) {
  LLVMTypeRef type = LLVMTypeOf(divisor);
  LLVMValueRef one = splat(w, LLVMConstInt(LLVMGetElementType(type), 1, 0));
  if (!m.all) divisor = LLVMBuildSelect(w->b, m.lanes.of[u], divisor, one, "");
  bool known = (w->p->options->launch_kernel || w->k->sees_warp) && !is_uniform(w, LLVMGetOperand(i, 1));
  if (!known) return divisor;
  LLVMValueRef memory = LLVMBuildAlloca(w->entry, type, "");
  LLVMSetVolatile(LLVMBuildStore(w->b, divisor, memory), 1);
  divisor = LLVMBuildLoad2(w->b, type, memory, "");
  LLVMSetVolatile(divisor, 1);
  return divisor;
}

static LLVMValueRef widen_plain(widener *w, LLVMValueRef i, LLVMValueRef *operands, mask m, int u) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
  bool divides = opcode == LLVMUDiv || opcode == LLVMSDiv || opcode == LLVMURem || opcode == LLVMSRem;
  if (divides && !LLVMIsAConstantInt(LLVMGetOperand(i, 1))) operands[1] = safe_divisor(w, i, operands[1], m, u);
  LLVMTypeRef type = vector_type(w, LLVMTypeOf(i));
  LLVMValueRef result;
  switch (opcode) {
  case LLVMICmp: return LLVMBuildICmp(w->b, LLVMGetICmpPredicate(i), operands[0], operands[1], "");
  case LLVMFCmp: result = LLVMBuildFCmp(w->b, LLVMGetFCmpPredicate(i), operands[0], operands[1], ""); break;
  case LLVMSelect: result = LLVMBuildSelect(w->b, operands[0], operands[1], operands[2], ""); break;
  case LLVMFNeg: result = LLVMBuildFNeg(w->b, operands[0], ""); break;
  case LLVMFreeze: return LLVMBuildFreeze(w->b, operands[0], "");
  case LLVMTrunc:
  case LLVMZExt:
  case LLVMSExt:
  case LLVMFPTrunc:
  case LLVMFPExt:
  case LLVMSIToFP:
  case LLVMUIToFP:
  case LLVMFPToSI:
  case LLVMFPToUI:
  case LLVMPtrToInt:
  case LLVMIntToPtr:
  case LLVMBitCast:
  case LLVMAddrSpaceCast: return LLVMBuildCast(w->b, opcode, operands[0], type, "");
  default: result = LLVMBuildBinOp(w->b, opcode, operands[0], operands[1], ""); break;
  }
  if (LLVMIsAInstruction(result) && LLVMCanValueUseFastMathFlags(result) && LLVMCanValueUseFastMathFlags(i))
    LLVMSetFastMathFlags(result, LLVMGetFastMathFlags(i));
  return result;
}

static void on_vectors(widener *w, LLVMValueRef i, mask m) {
  enum { MOST = 3 };
  vectors operands[MOST], result = {0};
  int count = LLVMGetNumOperands(i);
  bool address = LLVMIsAGetElementPtrInst(i) != NULL;
  if (!address && count > MOST) {
    refuse(w, i, "an unsupported instruction");
    return;
  }
  for (int n = 0; n < count && !address; n++) operands[n] = value_vectors(w, LLVMGetOperand(i, (unsigned)n));
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef own[MOST];
    for (int n = 0; n < count && !address; n++) own[n] = operands[n].of[u];
    result.of[u] = address ? widen_gep(w, i, u) : widen_plain(w, i, own, m, u);
  }
  set_value(w, i, result);
}

/* An affine number compared with a uniform one: the distance from lane 0 is computed once, and each vector compares it
   with its steps, which are constants. False if numbers may wrap, or there are so few vectors that nothing is
   gained. */
static bool compare_steps(widener *w, LLVMValueRef i) {
  enum { WORTH = TUNE_COUNTED_VECTORS, FAR = 1 << 30 };
  program *p = w->p;
  LLVMValueRef sides[2];
  int stepping = is_affine(w, LLVMGetOperand(i, 0)) ? 0 : 1;
  LLVMValueRef first = LLVMGetOperand(i, (unsigned)stepping), other = LLVMGetOperand(i, (unsigned)(1 - stepping));
  LLVMIntPredicate predicate = LLVMGetICmpPredicate(i);
  if (w->vectors < WORTH || predicate < LLVMIntSGT || LLVMTypeOf(first) != p->i32) return false;
  if (!is_affine(w, first) || !is_uniform(w, other)) return false;
  shape s = shape_of(w->shapes, first);
  int64_t most = (s.stride < 0 ? -s.stride : s.stride) * w->width + (s.step < 0 ? -s.step : s.step) * w->vectors;
  LLVMValueRef base = value_scalar(w, first), steps;
  if (!s.no_wrap || most >= FAR || LLVMIsAConstant(base)) return false;
  LLVMValueRef far = LLVMBuildSExt(w->b, value_scalar(w, other), p->i64, "");
  far = LLVMBuildSub(w->b, far, LLVMBuildSExt(w->b, base, p->i64, ""), "");
  LLVMValueRef bounds[2] = {far, constant_i64(p, FAR)};
  bounds[0] = call_intrinsic(p, w->b, "llvm.smin", &p->i64, 1, bounds, 2);
  bounds[1] = LLVMConstInt(p->i64, (uint64_t)-(int64_t)FAR, 1);
  far = call_intrinsic(p, w->b, "llvm.smax", &p->i64, 1, bounds, 2);
  sides[1 - stepping] = splat(w, LLVMBuildTrunc(w->b, far, p->i32, ""));
  vectors result = {0};
  for (int u = 0; u < w->vectors; u++) {
    steps = splat(w, LLVMConstInt(p->i32, (uint64_t)(u * s.step), 1));
    sides[stepping] = LLVMBuildAdd(w->b, steps, lane_steps(w, p->i32, s.stride), "");
    result.of[u] = LLVMBuildICmp(w->b, predicate, sides[0], sides[1], "");
  }
  set_value(w, i, result);
  return true;
}

/* A quotient of scalars that continues that of the gang before; NULL: it is none. */
static LLVMValueRef continued_quotient(widener *w, LLVMValueRef i) {
  if (!w->continued || !is_division(i) || !is_uniform(w, LLVMGetOperand(i, 1))) return NULL;
  return continue_division(w, i, LLVMGetInstructionOpcode(i), value_scalar(w, LLVMGetOperand(i, 0)),
                           value_scalar(w, LLVMGetOperand(i, 1)));
}

/* Widen the instruction in the form of its shape. */
static void widen_plainly(widener *w, LLVMValueRef i, mask m) {
  vectors result = {0};
  if (is_varying(w, i) && is_division(i) && widen_division(w, i, &result)) {
    set_value(w, i, result);
  } else if (is_varying(w, i)) {
    if (!LLVMIsAICmpInst(i) || !compare_steps(w, i)) on_vectors(w, i, m);
  } else if (is_vector_affine(w, i)) {
    for (int u = 0; u < w->vectors; u++) result.of[u] = on_scalars(w, i, m, u);
    set_value(w, i, result);
  } else {
    LLVMValueRef quotient = continued_quotient(w, i);
    set_scalar(w, i, quotient ? quotient : on_scalars(w, i, m, -1));
  }
}

/* ---- calls ---- */

/* Intrinsics that exist for vectors as for scalars, and how many of their leading arguments are lanes. */
static const struct wide_intrinsic {
  const char *name;
  unsigned lanes;
  unsigned named; /* the types in its name: 0 the result's, 1 also the last argument's, 2 the argument's alone */
} wide_intrinsics[] = {
    {"llvm.sqrt", 1, 0},       {"llvm.fma", 3, 0},        {"llvm.fmuladd", 3, 0},    {"llvm.fabs", 1, 0},
    {"llvm.floor", 1, 0},      {"llvm.ceil", 1, 0},       {"llvm.trunc", 1, 0},      {"llvm.rint", 1, 0},
    {"llvm.nearbyint", 1, 0},  {"llvm.round", 1, 0},      {"llvm.roundeven", 1, 0},  {"llvm.minnum", 2, 0},
    {"llvm.maxnum", 2, 0},     {"llvm.minimum", 2, 0},    {"llvm.maximum", 2, 0},    {"llvm.copysign", 2, 0},
    {"llvm.ctpop", 1, 0},      {"llvm.ctlz", 1, 0},       {"llvm.cttz", 1, 0},       {"llvm.bswap", 1, 0},
    {"llvm.bitreverse", 1, 0}, {"llvm.fshl", 3, 0},       {"llvm.fshr", 3, 0},       {"llvm.abs", 1, 0},
    {"llvm.smin", 2, 0},       {"llvm.smax", 2, 0},       {"llvm.umin", 2, 0},       {"llvm.umax", 2, 0},
    {"llvm.sadd.sat", 2, 0},   {"llvm.uadd.sat", 2, 0},   {"llvm.ssub.sat", 2, 0},   {"llvm.usub.sat", 2, 0},
    {"llvm.fptosi.sat", 1, 1}, {"llvm.fptoui.sat", 1, 1}, {"llvm.is.fpclass", 1, 2}, {"llvm.arithmetic.fence", 1, 0},
    {"llvm.ldexp", 2, 1},
};

static const struct wide_intrinsic *find_wide(const char *name) {
  for (size_t i = 0; i < MW_COUNT(wide_intrinsics); i++) {
    size_t length = strlen(wide_intrinsics[i].name);
    if (strncmp(name, wide_intrinsics[i].name, length) == 0 && name[length] == '.') return &wide_intrinsics[i];
  }
  return NULL;
}

static LLVMValueRef call_one_lane(widener *w, LLVMValueRef lane, void *context) {
  LLVMValueRef call = context, arguments[4];
  unsigned count = LLVMGetNumArgOperands(call);
  for (unsigned i = 0; i < count; i++) arguments[i] = lane_of(w, LLVMGetOperand(call, i), lane);
  return LLVMBuildCall2(w->b, LLVMGetCalledFunctionType(call), LLVMGetCalledValue(call), arguments, count, "");
}

/* threadIdx.x or .y where rows have several vectors. */
static vectors vector_ids(widener *w, unsigned axis, LLVMValueRef base) {
  vectors result = {0};
  int columns = w->shapes->cut.columns;
  for (int u = 0; u < w->vectors; u++) {
    unsigned distance = (unsigned)(axis == 0 ? u % columns * w->width : u / columns);
    result.of[u] = LLVMBuildAdd(w->b, base, constant_i32(w->p, distance), "");
  }
  return result;
}

/* The built-ins that read thread ids. */
static bool widen_id(widener *w, LLVMValueRef call, const char *name) {
  static const char prefix[] = "llvm.nvvm.read.ptx.sreg.";
  if (!starts_with(name, prefix)) return false;
  name += sizeof prefix - 1;
  const char *dot = strrchr(name, '.');
  unsigned axis = dot ? (unsigned)(dot[1] - 'x') : 0;
  LLVMValueRef value = NULL;
  if (widen_warp_register(w, call, name)) return true;
  if (starts_with(name, "tid."))
    value = first_id(w, axis);
  else if (starts_with(name, "ctaid."))
    value = LLVMBuildLoad2(w->b, w->p->i32, w->ctaid[axis], "");
  else if (starts_with(name, "ntid."))
    value = w->ntid[axis];
  else if (starts_with(name, "nctaid."))
    value = load_invariant(w->p, w->b, w->p->i32, w->frame, offsetof(mw_frame, grid) + axis * sizeof(uint32_t));
  else if (starts_with(name, "cluster.nctaid."))
    value = load_invariant(w->p, w->b, w->p->i32, w->frame, offsetof(mw_frame, cluster) + axis * sizeof(uint32_t));
  else if (strcmp(name, "envreg1") == 0)
    value = load_invariant(w->p, w->b, w->p->i32, w->frame, offsetof(mw_frame, cooperative));
  else if (strcmp(name, "warpsize") == 0)
    value = constant_i32(w->p, 32);
  else if (starts_with(name, "envreg"))
    value = iteration_word(w, callee_name(call));
  if (!value) return false;
  if (is_vector_affine(w, call) && starts_with(name, "tid."))
    set_value(w, call, vector_ids(w, axis, value));
  else
    set_scalar(w, call, value);
  return true;
}

static LLVMValueRef call_wide(widener *w, LLVMValueRef call, const struct wide_intrinsic *wide, int u) {
  LLVMValueRef arguments[4];
  unsigned count = LLVMGetNumArgOperands(call);
  for (unsigned i = 0; i < count; i++)
    arguments[i] = i < wide->lanes ? value_vector(w, LLVMGetOperand(call, i), u) : LLVMGetOperand(call, i);
  LLVMTypeRef types[2] = {vector_type(w, LLVMTypeOf(call)), LLVMTypeOf(arguments[wide->lanes - 1])};
  LLVMTypeRef *named = wide->named == 2 ? types + 1 : types;
  LLVMValueRef result = call_intrinsic(w->p, w->b, wide->name, named, wide->named == 1 ? 2 : 1, arguments, count);
  if (LLVMCanValueUseFastMathFlags(result)) LLVMSetFastMathFlags(result, LLVMGetFastMathFlags(call));
  return result;
}

static void widen_function(widener *w, LLVMValueRef call, const struct wide_intrinsic *wide, const char *root, mask m) {
  vectors result = {0};
  if (!is_varying(w, call)) {
    widen_plainly(w, call, m);
    return;
  }
  if (wide) {
    for (int u = 0; u < w->vectors; u++) result.of[u] = call_wide(w, call, wide, u);
  } else if (!call_vector_math(w, call, root, m, &result)) {
    LLVMValueRef operands[4];
    unsigned count = LLVMGetNumArgOperands(call);
    for (unsigned i = 0; i < count; i++) operands[i] = LLVMGetOperand(call, i);
    result = each_lane(w, call, m, operands, count, LLVMTypeOf(call), false, call_one_lane, call);
  }
  set_value(w, call, result);
}

const char *called_by_lanes(program *p, LLVMValueRef call) {
  const char *name = callee_name(call), *root = math_function(name, LLVMTypeOf(call));
  if (find_wide(name) || !LLVMIsAFunction(LLVMGetCalledValue(call))) return NULL;
  if (root) return has_vector_math(p, root, LLVMTypeOf(call)) ? NULL : root;
  return LLVMIsDeclaration(LLVMGetCalledValue(call)) && is_importable(name) ? name : NULL;
}

static void widen_call(widener *w, LLVMValueRef call, mask m) {
  const char *name = callee_name(call);
  if (widen_id(w, call, name) || widen_warp(w, call, m) || widen_barrier(w, call, m) || widen_saved(w, call)) return;
  if (widen_private_add(w, call, m) || widen_watch(w, call, m) || widen_check(w, call, m)) return;
  if (starts_with(name, "llvm.lifetime.") || starts_with(name, "llvm.dbg.") || strcmp(name, "llvm.assume") == 0 ||
      starts_with(name, "llvm.experimental.noalias"))
    return;
  if (starts_with(name, "llvm.nvvm.membar.")) {
    LLVMBuildFence(w->b, LLVMAtomicOrderingSequentiallyConsistent, 0, "");
    return;
  }
  bool copies = starts_with(name, "llvm.memcpy.") || starts_with(name, "llvm.memmove.");
  if ((copies || starts_with(name, "llvm.memset.")) && widen_filling(w, call, m)) return;
  if (copies && widen_copy(w, call, m)) return;
  const struct wide_intrinsic *wide = find_wide(name);
  const char *root = math_function(name, LLVMTypeOf(call));
  LLVMValueRef same = unclamped_operand(w, call);
  if (same)
    set_value(w, call, value_form(w, same));
  else if (wide || root)
    widen_function(w, call, wide, root, m);
  else if (is_varying(w, call) && is_cold_call(call))
    call_cold(w, call);
  else if (!is_varying(w, call) && LLVMGetTypeKind(LLVMTypeOf(call)) != LLVMVoidTypeKind)
    widen_plainly(w, call, m); /* a function of numbers, and those are the same for all */
  else if (!widen_call_by_lanes(w, call, m))
    refuse(w, call, "it calls an intrinsic that has no vector form");
}

/* ---- all of them ---- */

static void widen_extract(widener *w, LLVMValueRef i) {
  vectors from = value_form(w, LLVMGetOperand(i, 0)), result = {0};
  if (!LLVMIsAAtomicCmpXchgInst(LLVMGetOperand(i, 0)) && !LLVMIsACallInst(LLVMGetOperand(i, 0))) {
    refuse(w, i, "it reads members of a struct in registers");
    return;
  }
  for (int u = 0; u < form_count(w, i); u++)
    result.of[u] = LLVMBuildExtractValue(w->b, from.of[u], LLVMGetIndices(i)[0], "");
  set_value(w, i, result);
}

void widen_instruction(widener *w, LLVMValueRef i, mask m) {
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMLoad: widen_load(w, i, m); return;
  case LLVMStore: widen_store(w, i, m); return;
  case LLVMAtomicRMW:
  case LLVMAtomicCmpXchg: widen_atomic(w, i, m); return;
  case LLVMFence: LLVMBuildFence(w->b, LLVMGetOrdering(i), LLVMIsAtomicSingleThread(i), ""); return;
  case LLVMCall: widen_call(w, i, m); return;
  case LLVMAlloca: widen_alloca(w, i); return;
  case LLVMExtractValue: widen_extract(w, i); return;
  case LLVMGetElementPtr:
    if (!local_unit(w->g, i)) break;
    widen_local_address(w, i);
    return;
  default: break;
  }
  if (is_lane_type(LLVMTypeOf(i)))
    widen_plainly(w, i, m);
  else
    refuse(w, i, "it has values that are neither numbers nor pointers");
}
