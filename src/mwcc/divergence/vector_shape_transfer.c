/* The transfer function: the shape of one instruction from those of its operands. Addresses, memory and calls are
 * here; integers are in vector_shape_integer.c. */
#include "vector_shape.h"
#include "mwcc/analysis/analysis.h"
#include "mwcc/support/checked_access.h"

#include <string.h>

/* ---- addresses ---- */

/* A local array with interleaved lanes. */
static view local_array_shape(const shapes *s, LLVMValueRef i) {
  enum { ALIGN = 6 };
  unsigned unit = local_unit(s->graph, i);
  if (!unit) return varying;
  uint64_t of_vector = local_bytes(s->graph, i) * (uint64_t)s->cut.lanes;
  return (view){.shape = {.kind = SHAPE_AFFINE, .stride = unit, .step = (int64_t)of_vector, .align = ALIGN}};
}

/* Where lanes share an index, their elements are contiguous, as the array's first ones are. */
static view local_address_shape(const shapes *s, LLVMValueRef i) {
  view v = view_of(s, LLVMGetOperand(i, 0));
  if (v.shape.kind == SHAPE_UNDEFINED) return v;
  for (unsigned n = 1; n < (unsigned)LLVMGetNumOperands(i); n++) {
    shape_kind kind = view_of(s, LLVMGetOperand(i, n)).shape.kind;
    if (kind == SHAPE_UNDEFINED) return (view){0};
    if (!is_uniform_kind(kind)) return varying;
  }
  if (v.shape.kind == SHAPE_VARYING) return varying;
  v.shape.align = least(v.shape.align, power_in(local_unit(s->graph, i) * (uint64_t)s->cut.lanes));
  return v;
}

static view address_shape(const shapes *s, LLVMValueRef i, int at) {
  LLVMTargetDataRef layout = s->graph->program->layout;
  LLVMTypeRef type = LLVMGetGEPSourceElementType(i);
  view v = view_of(s, LLVMGetOperand(i, 0));
  shape_kind kind = v.shape.kind;
  wide stride = v.shape.stride, vector_step = v.shape.step;
  unsigned align = v.shape.align;
  if (!is_pointer(i)) return varying;
  if (local_unit(s->graph, i)) return local_address_shape(s, i);
  for (unsigned n = 1; n < (unsigned)LLVMGetNumOperands(i); n++) {
    LLVMValueRef index = LLVMGetOperand(i, n);
    view step = view_of(s, index);
    if (step.shape.kind == SHAPE_UNDEFINED) return (view){0};
    if (n > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
      unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);
      align = least(align, power_in(LLVMOffsetOfElement(layout, type, field)));
      type = LLVMStructGetTypeAtIndex(type, field);
      continue;
    }
    if (n > 1) type = LLVMGetElementType(type);
    uint64_t size = LLVMABISizeOfType(layout, type);
    kind = larger(kind, step.shape.kind);
    if (step.shape.kind == SHAPE_AFFINE) {
      unsigned width = integer_width(index);
      bool exact = step.shape.no_wrap || base_fits(s, range_at(&s->table->ranges, index, at), step.shape, width);
      if (width < 64 && !exact) return varying;
      stride += (wide)step.shape.stride * (wide)size;
      vector_step += (wide)step.shape.step * (wide)size;
    }
    align = least(align, least(EVERY_POWER, step.shape.align + power_in(size)));
  }
  if (kind == SHAPE_VARYING || kind == SHAPE_UNDEFINED) return kind == SHAPE_VARYING ? varying : (view){0};
  v = uniform(kind, align);
  v.shape.stride = kind == SHAPE_AFFINE ? cut_to_width(stride, 64) : 0;
  v.shape.step = kind == SHAPE_AFFINE ? cut_to_width(vector_step, 64) : 0;
  return v;
}

/* ---- built-ins and calls ---- */

/* An affine value, whose base is a multiple of 2^align between 0 and most. */
static view count_up(int64_t stride, int64_t step, unsigned align, int64_t most) {
  return (view){.shape = {.kind = SHAPE_AFFINE, .stride = stride, .step = step, .align = align, .no_wrap = true},
                .base = {0, most}};
}

static view laneid(const shapes *s) {
  if (is_warp(&s->cut)) return count_up(1, s->cut.lanes, EVERY_POWER, 0);
  if (!is_whole_rows(s)) return varying;
  int lanes = s->cut.lanes, threads = lanes * s->cut.vectors;
  if (s->cut.kind == CUT_PLANE) return lanes == 32 && s->cut.columns == 1 ? count_up(1, 0, EVERY_POWER, 0) : varying;
  return threads <= 32 ? count_up(1, lanes, threads == 32 ? EVERY_POWER : power_in((unsigned)threads), 32 - threads)
                       : varying;
}

static view warpid(const shapes *s) {
  if (is_warp(&s->cut)) return uniform(SHAPE_GANG, 0);
  if (!is_whole_rows(s)) return varying;
  int threads = s->cut.lanes * s->cut.vectors;
  if (s->cut.kind == CUT_PLANE) return s->cut.lanes == 32 && s->cut.columns == 1 ? count_up(0, 1, 0, 31) : varying;
  return threads <= 32 ? uniform(SHAPE_GANG, 0) : varying;
}

/* Where rows have several vectors, each vector has its own value. */
static view of_column(const shapes *s, bool is_x) {
  unsigned lanes = power_in((unsigned)s->cut.lanes);
  if (!s->by_vector) return varying;
  if (!is_x) return uniform(SHAPE_GANG, 0);
  return count_up(1, 0, lanes, (int64_t)s->cut.lanes * s->cut.columns - s->cut.lanes);
}

/* Warps are cut from x + y * Dx + z * Dx * Dy: gangs are parts of them only where rows are whole. */
static view register_shape(const shapes *s, const char *name) {
  int lanes = s->cut.lanes, vectors = s->cut.vectors;
  bool plane = s->cut.kind == CUT_PLANE;
  unsigned threads = !s->cut.columns ? 0 : power_in((unsigned)(lanes * vectors));
  if (s->cut.kind == CUT_LINE && starts_with(name, "tid.")) return varying;
  if (plane && s->cut.columns > 1 && (strcmp(name, "tid.x") == 0 || strcmp(name, "tid.y") == 0))
    return of_column(s, name[4] == 'x');
  if (strcmp(name, "tid.x") == 0) return plane ? count_up(1, 0, EVERY_POWER, 0) : count_up(1, lanes, threads, 1023);
  if (strcmp(name, "tid.y") == 0 && plane) return count_up(0, 1, power_in((unsigned)vectors), 1023);
  if (strcmp(name, "tid.y") == 0 || strcmp(name, "tid.z") == 0) return uniform(SHAPE_GANG, 0);
  if (strcmp(name, "ntid.x") == 0)
    return uniform(SHAPE_BLOCK,
                   is_whole_rows(s) ? (plane ? power_in((unsigned)(lanes * s->cut.columns)) : threads) : 0);
  if (strcmp(name, "ntid.y") == 0)
    return uniform(SHAPE_BLOCK, plane ? power_in((unsigned)(vectors / s->cut.columns)) : 0);
  if (starts_with(name, "ctaid.") || starts_with(name, "ntid.") || starts_with(name, "nctaid.") ||
      starts_with(name, "cluster.nctaid."))
    return uniform(SHAPE_BLOCK, 0);
  if (strcmp(name, "warpsize") == 0) return uniform(SHAPE_BLOCK, 5);
  if (strcmp(name, "envreg2") == 0 || strcmp(name, "envreg3") == 0) /* iterations */
    return uniform(SHAPE_BLOCK, power_in(block_size(s->graph->program, 'x')));
  if (starts_with(name, "envreg")) return uniform(SHAPE_BLOCK, 0);
  if (strcmp(name, "laneid") == 0) return laneid(s);
  return strcmp(name, "warpid") == 0 ? warpid(s) : varying;
}

static bool reads_and_writes_nothing(LLVMValueRef call) {
  unsigned convergent = LLVMGetEnumAttributeKindForName("convergent", 10);
  const LLVMAttributeIndex whole = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
  LLVMValueRef callee = LLVMGetCalledValue(call);
  if (is_cold_call(call)) return true;
  if (!LLVMIsAFunction(callee) || !LLVMIsDeclaration(callee)) return false;
  if (LLVMGetEnumAttributeAtIndex(callee, whole, convergent)) return false;
  uint64_t bits;
  if (memory_fact(call, &bits)) return bits == 0;
  if (LLVMGetIntrinsicID(callee)) return false;
  /* A function that is only declared is of libm; without pointer arguments it depends on its arguments alone. */
  for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++)
    if (is_pointer(LLVMGetOperand(call, i))) return false;
  return !is_pointer(call);
}

/* The largest kind among the operands; UNDEFINED where one is. */
static shape_kind kind_of_operands(const shapes *s, LLVMValueRef i, unsigned count) {
  shape_kind kind = SHAPE_BLOCK;
  for (unsigned n = 0; n < count; n++) {
    LLVMValueRef operand = LLVMGetOperand(i, n);
    if (LLVMIsUndef(operand)) continue;
    shape_kind here = view_of(s, operand).shape.kind;
    if (here == SHAPE_UNDEFINED) return here;
    kind = larger(kind, here);
  }
  return kind;
}

static bool is_uniform_operand(const shapes *s, LLVMValueRef call, unsigned n) {
  return is_uniform_kind(view_of(s, LLVMGetOperand(call, n)).shape.kind);
}

/* Whether all lanes of a warp that make the call together have the same result. That helps only where a warp is one
   gang. */
static bool is_agreed(const shapes *s, LLVMValueRef call, const char *name) {
  if (!is_warp(&s->cut)) return false;
  if (strcmp(name, "llvm.nvvm.activemask") == 0) return true;
  if (starts_with(name, "llvm.nvvm.vote.") || starts_with(name, "llvm.nvvm.match.all."))
    return is_uniform_operand(s, call, 0); /* the mask */
  if (starts_with(name, "llvm.nvvm.redux.")) return is_uniform_operand(s, call, 1);
  if (!starts_with(name, "llvm.nvvm.shfl.sync.idx.") && !starts_with(name, "__mw_shfl_sync_idx_")) return false;
  /* all lanes read one lane of an undivided warp */
  LLVMValueRef segments = LLVMGetOperand(call, 3);
  return is_uniform_operand(s, call, 2) && LLVMIsAConstantInt(segments) && LLVMConstIntGetZExtValue(segments) == 31;
}

/* The kind of a counting barrier's result: gangs in a loop that are out of step may reach it in different
   iterations. */
static shape_kind vote_kind(const shapes *s, LLVMValueRef call) {
  for (int l = s->order->innermost[graph_node_of(s->graph, call)]; l >= 0; l = s->order->loops[l].parent)
    if (s->table->out_of_step[l]) return SHAPE_RACED;
  return SHAPE_BLOCK;
}

static view call_shape(const shapes *s, LLVMValueRef call) {
  static const char sreg[] = "llvm.nvvm.read.ptx.sreg.";
  const char *name = callee_name(call);
  unsigned count = LLVMGetNumArgOperands(call);
  if (starts_with(name, sreg)) return register_shape(s, name + strlen(sreg));
  if (strcmp(name, SHADOW_DISTANCE) == 0) return uniform(SHAPE_BLOCK, 0);
  if (is_barrier(call)) return uniform(vote_kind(s, call), 0);
  if (is_agreed(s, call, name)) return uniform(SHAPE_GANG, 0);
  if (starts_with(name, SAVED_LOAD)) return varying;
  if (!reads_and_writes_nothing(call)) return varying;
  shape_kind kind = kind_of_operands(s, call, count);
  return kind >= SHAPE_AFFINE ? varying : (view){.shape = {.kind = kind}};
}

/* ---- memory ---- */

static view load_shape(const shapes *s, LLVMValueRef load) {
  shape_kind kind = view_of(s, LLVMGetOperand(load, 0)).shape.kind;
  if (LLVMGetVolatile(load)) return varying;
  /* all lanes of a gang load at the same time; gangs do not */
  if (LLVMGetOrdering(load) != LLVMAtomicOrderingNotAtomic)
    return is_uniform_kind(kind)     ? (view){.shape = {.kind = SHAPE_GANG}}
           : kind == SHAPE_UNDEFINED ? (view){0}
                                     : varying;
  if (kind == SHAPE_BLOCK && may_be_raced(s->graph, load)) kind = SHAPE_RACED;
  return kind == SHAPE_AFFINE ? varying : (view){.shape = {.kind = kind}};
}

static view select_shape(const shapes *s, LLVMValueRef i) {
  view condition = view_of(s, LLVMGetOperand(i, 0));
  view a = view_of(s, LLVMGetOperand(i, 1)), b = view_of(s, LLVMGetOperand(i, 2));
  if (condition.shape.kind == SHAPE_UNDEFINED) return (view){0};
  if (!is_uniform_kind(condition.shape.kind)) return varying;
  view v = {.shape = join_shapes(a.shape, b.shape)};
  v.base.low = a.base.low < b.base.low ? a.base.low : b.base.low;
  v.base.high = a.base.high > b.base.high ? a.base.high : b.base.high;
  if (v.shape.kind != SHAPE_UNDEFINED) v.shape.kind = larger(v.shape.kind, condition.shape.kind);
  return v;
}

/* ---- all of them ---- */

static view transfer(const shapes *s, LLVMValueRef i, int at) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
  unsigned count = (unsigned)LLVMGetNumOperands(i);
  switch (opcode) {
  case LLVMCall: return settle(s, i, call_shape(s, i));
  case LLVMLoad: return settle(s, i, load_shape(s, i));
  case LLVMGetElementPtr: return settle(s, i, address_shape(s, i, at));
  case LLVMSelect: return settle(s, i, select_shape(s, i));
  case LLVMAlloca: return settle(s, i, local_array_shape(s, i)); /* each thread has its own */
  case LLVMAtomicRMW:
  case LLVMAtomicCmpXchg:
  case LLVMVAArg: return settle(s, i, varying);
  default: break;
  }
  shape_kind kind = kind_of_operands(s, i, count);
  if (kind == SHAPE_UNDEFINED) return (view){0};
  view a = view_of(s, LLVMGetOperand(i, 0)), b = count > 1 ? view_of(s, LLVMGetOperand(i, 1)) : (view){0};
  if (is_uniform_kind(kind)) return settle(s, i, uniform(kind, uniform_align(i, a, b)));
  if (opcode == LLVMICmp) return settle(s, i, compare_shape(s, i, a, b));
  if (kind == SHAPE_VARYING) return settle(s, i, varying);
  if (LLVMIsABinaryOperator(i)) return settle(s, i, binary_shape(s, i, at, a, b));
  return settle(s, i, cast_shape(s, i, at, a));
}

/* Calls handle their operands themselves. */
static bool has_vector_affine_operand(const shapes *s, LLVMValueRef i) {
  if (LLVMIsACallInst(i)) return false;
  for (unsigned n = 0; n < (unsigned)LLVMGetNumOperands(i); n++)
    if (view_of(s, LLVMGetOperand(i, n)).shape.kind == SHAPE_VECTOR_AFFINE) return true;
  return false;
}

view transfer_shape(const shapes *s, LLVMValueRef i, int at) {
  view v = has_vector_affine_operand(s, i) ? varying : transfer(s, i, at);
  if (v.shape.kind < SHAPE_VECTOR_AFFINE || s->cut.vectors == 1) return v;
  shapes of_vector = shapes_of_vector(s);
  return view_of_vectors(transfer(&of_vector, i, at));
}
