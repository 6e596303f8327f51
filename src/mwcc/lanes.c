/* Values in lanes, and instructions without side effects on all lanes at once: see widen.h. */
#include "widen.h"

#include <stdlib.h>
#include <string.h>

void refuse(widener *w, LLVMValueRef at, const char *why) {
  if (w->why) return;
  w->why = why;
  w->why_at = at;
}

/* ---- the table of values: open addressing by pointer ---- */

static size_t place_of(const widener *w, LLVMValueRef value) {
  size_t i = ((uintptr_t)value >> 4) * 0x9e3779b97f4a7c15u % w->table_size;
  while (w->table[i].value && w->table[i].value != value) i = (i + 1) % w->table_size;
  return i;
}

static void grow_table(widener *w) {
  kept *old = w->table;
  size_t size = w->table_size;
  w->table_size = size ? size * 2 : 256;
  w->table = mw_alloc(w->table_size * sizeof *w->table);
  for (size_t i = 0; i < size; i++)
    if (old[i].value) w->table[place_of(w, old[i].value)] = old[i];
  free(old);
}

kept *kept_of(widener *w, LLVMValueRef value) {
  if (w->table_used * 2 >= w->table_size) grow_table(w);
  kept *found = &w->table[place_of(w, value)];
  if (!found->value) {
    found->value = value;
    w->table_used++;
  }
  return found;
}

/* ---- forms ---- */

LLVMTypeRef vector_type(const widener *w, LLVMTypeRef scalar) { return LLVMVectorType(scalar, (unsigned)w->width); }

bool is_uniform(const widener *w, LLVMValueRef value) {
  if (!LLVMIsAInstruction(value)) return true;
  return shape_of(w->shapes, value).kind <= SHAPE_GANG;
}

bool is_affine(const widener *w, LLVMValueRef value) {
  return LLVMIsAInstruction(value) && shape_of(w->shapes, value).kind == SHAPE_AFFINE;
}

static bool is_varying(const widener *w, LLVMValueRef value) { return !is_uniform(w, value) && !is_affine(w, value); }

/* A struct (of cmpxchg) of vectors; else a vector. */
static LLVMTypeRef wide_type(const widener *w, LLVMTypeRef type) {
  if (LLVMGetTypeKind(type) != LLVMStructTypeKind) return vector_type(w, type);
  LLVMTypeRef parts[2] = {vector_type(w, LLVMStructGetTypeAtIndex(type, 0)),
                          vector_type(w, LLVMStructGetTypeAtIndex(type, 1))};
  return LLVMStructTypeInContext(w->p->context, parts, 2, 0);
}

LLVMTypeRef kept_type(const widener *w, LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  return is_varying(w, value) ? wide_type(w, type) : type;
}

LLVMValueRef slot_of(widener *w, LLVMValueRef value) {
  kept *k = kept_of(w, value);
  if (!k->slot) k->slot = LLVMBuildAlloca(w->entry, kept_type(w, value), "");
  return k->slot;
}

LLVMValueRef value_kept(widener *w, LLVMValueRef value) {
  if (!LLVMIsAInstruction(value) && !LLVMIsAArgument(value)) return value;
  kept *k = kept_of(w, value);
  if (LLVMIsAArgument(value)) return k->saved; /* loaded at the function's top */
  if (k->local && k->node_stamp == w->stamp) return k->local;
  LLVMValueRef slot = slot_of(w, value);
  k = kept_of(w, value);
  k->local = LLVMBuildLoad2(w->b, kept_type(w, value), slot, "");
  k->node_stamp = w->stamp;
  return k->local;
}

/* Where all lanes are known to have one value made from a varying one, any lane's will do. */
LLVMValueRef value_scalar(widener *w, LLVMValueRef value) {
  LLVMValueRef form = value_kept(w, value);
  return is_varying(w, value) ? LLVMBuildExtractElement(w->b, form, constant_i32(w->p, 0), "") : form;
}

LLVMValueRef splat(widener *w, LLVMValueRef scalar) {
  if (LLVMIsUndef(scalar)) return LLVMGetUndef(vector_type(w, LLVMTypeOf(scalar)));
  LLVMTypeRef type = vector_type(w, LLVMTypeOf(scalar));
  if (LLVMIsAConstant(scalar) && !LLVMIsAConstantExpr(scalar) && !LLVMIsAGlobalValue(scalar)) {
    LLVMValueRef *items = mw_alloc((size_t)w->width * sizeof *items);
    for (int i = 0; i < w->width; i++) items[i] = scalar;
    LLVMValueRef vector = LLVMConstVector(items, (unsigned)w->width);
    free(items);
    return vector;
  }
  LLVMValueRef one = LLVMBuildInsertElement(w->b, LLVMGetPoison(type), scalar, constant_i32(w->p, 0), "");
  return LLVMBuildShuffleVector(w->b, one, LLVMGetPoison(type), LLVMConstNull(vector_type(w, w->p->i32)), "");
}

LLVMValueRef lane_numbers(widener *w, LLVMTypeRef integer) {
  LLVMValueRef *items = mw_alloc((size_t)w->width * sizeof *items);
  for (int i = 0; i < w->width; i++) items[i] = LLVMConstInt(integer, (uint64_t)i, 0);
  LLVMValueRef vector = LLVMConstVector(items, (unsigned)w->width);
  free(items);
  return vector;
}

/* <0, stride, 2*stride, …> */
static LLVMValueRef lane_steps(widener *w, LLVMTypeRef integer, int64_t stride) {
  LLVMValueRef *items = mw_alloc((size_t)w->width * sizeof *items);
  for (int i = 0; i < w->width; i++) items[i] = LLVMConstInt(integer, (uint64_t)(i * stride), 1);
  LLVMValueRef vector = LLVMConstVector(items, (unsigned)w->width);
  free(items);
  return vector;
}

LLVMValueRef value_vector(widener *w, LLVMValueRef value) {
  LLVMValueRef form = value_kept(w, value);
  if (is_varying(w, value)) return form;
  if (is_uniform(w, value)) return splat(w, form);
  int64_t stride = shape_of(w->shapes, value).stride;
  if (LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMPointerTypeKind) {
    LLVMValueRef steps = lane_steps(w, w->p->i64, stride);
    return LLVMBuildGEP2(w->b, w->p->i8, form, &steps, 1, "");
  }
  return LLVMBuildAdd(w->b, splat(w, form), lane_steps(w, LLVMTypeOf(value), stride), "");
}

bool is_in_slot(const widener *w, LLVMValueRef value) {
  int home = graph_node_of(w->g, value);
  for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (LLVMIsAPHINode(user) || graph_node_of(w->g, user) != home) return true;
  }
  return false;
}

void set_value(widener *w, LLVMValueRef value, LLVMValueRef form) {
  if (is_in_slot(w, value)) LLVMBuildStore(w->b, form, slot_of(w, value));
  kept *k = kept_of(w, value);
  k->local = form;
  k->node_stamp = w->stamp;
}

/* ---- masks ---- */

LLVMValueRef any_lane(widener *w, LLVMValueRef lanes) {
  LLVMTypeRef bits = LLVMIntTypeInContext(w->p->context, (unsigned)w->width);
  return LLVMBuildICmp(w->b, LLVMIntNE, LLVMBuildBitCast(w->b, lanes, bits, ""), LLVMConstNull(bits), "any");
}

LLVMValueRef mask_vector(widener *w, mask m) { return m.all ? LLVMConstAllOnes(vector_type(w, w->p->i1)) : m.lanes; }

/* ---- lane by lane ---- */

LLVMValueRef lane_of(widener *w, LLVMValueRef value, LLVMValueRef lane) {
  LLVMValueRef form = value_kept(w, value);
  if (is_uniform(w, value)) return form;
  if (is_affine(w, value)) form = value_vector(w, value);
  return LLVMBuildExtractElement(w->b, form, lane, "");
}

/* The body runs in a block of its own, which what follows does not come through: it must find its operands loaded. */
LLVMValueRef each_lane(widener *w, mask m, LLVMTypeRef type, lane_body *body, void *context) {
  program *p = w->p;
  LLVMTypeRef bits = LLVMIntTypeInContext(p->context, (unsigned)w->width);
  LLVMValueRef none = LLVMConstNull(bits), todo = LLVMBuildAlloca(w->entry, bits, ""), result = NULL;
  if (type) {
    result = LLVMBuildAlloca(w->entry, type, "");
    LLVMBuildStore(w->b, LLVMGetPoison(type), result);
  }
  LLVMBuildStore(w->b, LLVMBuildBitCast(w->b, mask_vector(w, m), bits, ""), todo);
  LLVMBasicBlockRef head = LLVMAppendBasicBlockInContext(p->context, w->function, "lanes");
  LLVMBasicBlockRef each = LLVMAppendBasicBlockInContext(p->context, w->function, "lane");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(p->context, w->function, "lanes.done");
  LLVMBuildBr(w->b, head);
  LLVMPositionBuilderAtEnd(w->b, head);
  LLVMValueRef left = LLVMBuildLoad2(w->b, bits, todo, "");
  LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, LLVMIntNE, left, none, ""), each, done);
  LLVMPositionBuilderAtEnd(w->b, each);
  LLVMValueRef count_arguments[] = {left, LLVMConstInt(p->i1, 1, 0)};
  LLVMValueRef lane = call_intrinsic(p, w->b, "llvm.cttz", &bits, 1, count_arguments, 2);
  LLVMBuildStore(w->b, LLVMBuildAnd(w->b, left, LLVMBuildSub(w->b, left, LLVMConstInt(bits, 1, 0), ""), ""), todo);
  LLVMValueRef index = w->width < 32   ? LLVMBuildZExt(w->b, lane, p->i32, "")
                       : w->width > 32 ? LLVMBuildTrunc(w->b, lane, p->i32, "")
                                       : lane;
  LLVMValueRef one = body(w, index, context);
  if (type) {
    LLVMValueRef sum = LLVMBuildLoad2(w->b, type, result, "");
    if (LLVMGetTypeKind(type) == LLVMStructTypeKind) {
      for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef part = LLVMBuildExtractValue(w->b, sum, i, "");
        part = LLVMBuildInsertElement(w->b, part, LLVMBuildExtractValue(w->b, one, i, ""), index, "");
        sum = LLVMBuildInsertValue(w->b, sum, part, i, "");
      }
    } else {
      sum = LLVMBuildInsertElement(w->b, sum, one, index, "");
    }
    LLVMBuildStore(w->b, sum, result);
  }
  LLVMBuildBr(w->b, head);
  LLVMPositionBuilderAtEnd(w->b, done);
  return type ? LLVMBuildLoad2(w->b, type, result, "") : NULL;
}

/* ---- instructions ---- */

/* A copy of the instruction over other operands. Flags that make a result undefined are dropped on scalars: lane 0 may
   not be active, and what it computes must not spoil the rest. */
static LLVMValueRef copy_scalar(widener *w, LLVMValueRef i) {
  LLVMValueRef copy = LLVMInstructionClone(i);
  int count = LLVMGetNumOperands(i);
  for (int n = 0; n < count; n++) {
    LLVMValueRef operand = LLVMGetOperand(i, (unsigned)n);
    LLVMSetOperand(copy, (unsigned)n, value_scalar(w, operand));
  }
  LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
  if (opcode == LLVMAdd || opcode == LLVMSub || opcode == LLVMMul || opcode == LLVMShl)
    LLVMSetNUW(copy, 0), LLVMSetNSW(copy, 0);
  if (opcode == LLVMUDiv || opcode == LLVMSDiv || opcode == LLVMLShr || opcode == LLVMAShr) LLVMSetExact(copy, 0);
  if (opcode == LLVMGetElementPtr) LLVMSetIsInBounds(copy, 0), LLVMGEPSetNoWrapFlags(copy, 0);
  if (opcode == LLVMZExt) LLVMSetNNeg(copy, 0);
  if (opcode == LLVMOr) LLVMSetIsDisjoint(copy, 0);
  LLVMInsertIntoBuilder(w->b, copy);
  return copy;
}

static LLVMValueRef widen_gep(widener *w, LLVMValueRef i) {
  unsigned count = (unsigned)LLVMGetNumIndices(i);
  LLVMValueRef *indices = mw_alloc((count + 1) * sizeof *indices), base = LLVMGetOperand(i, 0);
  /* uniform parts stay scalar: "one base and a vector of indices" is what gathers like */
  base = is_uniform(w, base) ? value_kept(w, base) : value_vector(w, base);
  for (unsigned n = 0; n < count; n++) {
    LLVMValueRef index = LLVMGetOperand(i, n + 1);
    indices[n] = is_uniform(w, index) ? value_kept(w, index) : value_vector(w, index);
  }
  LLVMValueRef result = LLVMBuildGEP2(w->b, LLVMGetGEPSourceElementType(i), base, indices, count, "");
  free(indices);
  return result;
}

static LLVMValueRef widen_plain(widener *w, LLVMValueRef i, mask m) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
  LLVMValueRef operands[3];
  int count = LLVMGetNumOperands(i);
  if (count > 3) return refuse(w, i, "an instruction of unknown form"), NULL;
  for (int n = 0; n < count; n++) operands[n] = value_vector(w, LLVMGetOperand(i, (unsigned)n));
  /* lanes that do not come here may divide by anything, and must not trap */
  if (!m.all && (opcode == LLVMUDiv || opcode == LLVMSDiv || opcode == LLVMURem || opcode == LLVMSRem))
    operands[1] = LLVMBuildSelect(w->b, m.lanes, operands[1], splat(w, LLVMConstInt(LLVMTypeOf(i), 1, 0)), "");
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

/* Intrinsics that work on vectors as on scalars. The number: how many of the leading arguments are lanes. */
static const struct wide_intrinsic {
  const char *name;
  unsigned lanes;
  bool by_argument;
} wide_intrinsics[] = {
    {"llvm.sqrt", 1, 0},       {"llvm.fma", 3, 0},        {"llvm.fmuladd", 3, 0},   {"llvm.fabs", 1, 0},
    {"llvm.floor", 1, 0},      {"llvm.ceil", 1, 0},       {"llvm.trunc", 1, 0},     {"llvm.rint", 1, 0},
    {"llvm.nearbyint", 1, 0},  {"llvm.round", 1, 0},      {"llvm.roundeven", 1, 0}, {"llvm.minnum", 2, 0},
    {"llvm.maxnum", 2, 0},     {"llvm.minimum", 2, 0},    {"llvm.maximum", 2, 0},   {"llvm.copysign", 2, 0},
    {"llvm.ctpop", 1, 0},      {"llvm.ctlz", 1, 0},       {"llvm.cttz", 1, 0},      {"llvm.bswap", 1, 0},
    {"llvm.bitreverse", 1, 0}, {"llvm.fshl", 3, 0},       {"llvm.fshr", 3, 0},      {"llvm.abs", 1, 0},
    {"llvm.smin", 2, 0},       {"llvm.smax", 2, 0},       {"llvm.umin", 2, 0},      {"llvm.umax", 2, 0},
    {"llvm.sadd.sat", 2, 0},   {"llvm.uadd.sat", 2, 0},   {"llvm.ssub.sat", 2, 0},  {"llvm.usub.sat", 2, 0},
    {"llvm.fptosi.sat", 1, 1}, {"llvm.fptoui.sat", 1, 1},
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

/* The built-ins that say who a thread is. */
static bool widen_id(widener *w, LLVMValueRef call, const char *name) {
  static const char prefix[] = "llvm.nvvm.read.ptx.sreg.";
  if (!starts_with(name, prefix)) return false;
  name += sizeof prefix - 1;
  const char *dot = strrchr(name, '.');
  unsigned axis = dot ? (unsigned)(dot[1] - 'x') : 0;
  LLVMValueRef value = NULL;
  if (starts_with(name, "tid."))
    value = LLVMBuildLoad2(w->b, w->p->i32, axis == 0 ? w->tid_x : axis == 1 ? w->tid_y : w->tid_z, "");
  else if (starts_with(name, "ctaid."))
    value = LLVMBuildLoad2(w->b, w->p->i32, w->ctaid[axis], "");
  else if (starts_with(name, "ntid."))
    value = w->ntid[axis];
  else if (starts_with(name, "nctaid."))
    value = load_invariant(w->p, w->b, w->p->i32, w->frame, offsetof(mw_frame, grid) + axis * sizeof(uint32_t));
  else if (strcmp(name, "warpsize") == 0)
    value = constant_i32(w->p, 32);
  if (!value) return false;
  set_value(w, call, value);
  return true;
}

static void widen_call(widener *w, LLVMValueRef call, mask m) {
  const char *name = callee_name(call);
  if (widen_id(w, call, name)) return;
  if (starts_with(name, "llvm.lifetime.") || starts_with(name, "llvm.dbg.") || strcmp(name, "llvm.assume") == 0 ||
      starts_with(name, "llvm.experimental.noalias"))
    return;
  if (starts_with(name, "llvm.nvvm.membar.")) {
    LLVMBuildFence(w->b, LLVMAtomicOrderingSequentiallyConsistent, 0, "");
    return;
  }
  if (starts_with(name, "llvm.memcpy.") || starts_with(name, "llvm.memmove.")) {
    widen_copy(w, call, m);
    return;
  }
  const struct wide_intrinsic *wide = find_wide(name);
  const char *root = math_function(name, LLVMTypeOf(call));
  if (!wide && !root) {
    refuse(w, call, "it calls what lanes cannot do together yet");
    return;
  }
  if (!is_varying(w, call)) {
    set_value(w, call, copy_scalar(w, call));
    return;
  }
  unsigned count = LLVMGetNumArgOperands(call);
  LLVMValueRef arguments[4];
  if (wide) {
    for (unsigned i = 0; i < count; i++)
      arguments[i] = i < wide->lanes ? value_vector(w, LLVMGetOperand(call, i)) : LLVMGetOperand(call, i);
    LLVMTypeRef overloads[2] = {vector_type(w, LLVMTypeOf(call)), LLVMTypeOf(arguments[0])};
    LLVMValueRef result =
        call_intrinsic(w->p, w->b, wide->name, overloads, wide->by_argument ? 2 : 1, arguments, count);
    if (LLVMCanValueUseFastMathFlags(result)) LLVMSetFastMathFlags(result, LLVMGetFastMathFlags(call));
    set_value(w, call, result);
    return;
  }
  LLVMValueRef result = call_vector_math(w, call, root, m);
  for (unsigned i = 0; i < count; i++) value_kept(w, LLVMGetOperand(call, i));
  if (!result) result = each_lane(w, m, vector_type(w, LLVMTypeOf(call)), call_one_lane, call);
  set_value(w, call, result);
}

/* Each lane's own memory, one behind the other; each gang's, where gangs wait for each other. */
static void widen_alloca(widener *w, LLVMValueRef i) {
  LLVMTypeRef type = LLVMGetAllocatedType(i);
  LLVMValueRef count = LLVMGetOperand(i, 0);
  if (!LLVMIsAConstantInt(count)) {
    refuse(w, i, "it allocates stack memory of a size that is not constant");
    return;
  }
  uint64_t bytes = LLVMABISizeOfType(w->p->layout, type) * LLVMConstIntGetZExtValue(count);
  unsigned align = LLVMGetAlignment(i) > 16 ? LLVMGetAlignment(i) : 16;
  bytes = (bytes + align - 1) / align * align;
  /* every lane's stands on the worker's stack, and every gang's where gangs wait */
  w->local_bytes += bytes;
  if (w->local_bytes > (w->several_regions ? LOCAL_MOST_WAITING : LOCAL_MOST)) {
    refuse(w, i, "its local arrays are large");
    return;
  }
  LLVMTypeRef of_gang = LLVMArrayType2(w->p->i8, bytes * (uint64_t)w->width);
  LLVMValueRef memory = w->several_regions ? LLVMBuildArrayAlloca(w->entry, of_gang, w->gangs, "")
                                           : LLVMBuildAlloca(w->entry, of_gang, "");
  LLVMSetAlignment(memory, 64);
  if (w->several_regions) {
    LLVMValueRef at = LLVMBuildLoad2(w->b, w->p->i32, w->gang, "");
    memory = LLVMBuildInBoundsGEP2(w->b, of_gang, memory, &at, 1, "");
  }
  LLVMValueRef steps = lane_steps(w, w->p->i64, (int64_t)bytes);
  set_value(w, i, LLVMBuildGEP2(w->b, w->p->i8, memory, &steps, 1, ""));
}

static LLVMValueRef widen_extract(widener *w, LLVMValueRef i) {
  return LLVMBuildExtractValue(w->b, value_kept(w, LLVMGetOperand(i, 0)), LLVMGetIndices(i)[0], "");
}

static bool is_lane_type(LLVMTypeRef type) {
  switch (LLVMGetTypeKind(type)) {
  case LLVMIntegerTypeKind: return LLVMGetIntTypeWidth(type) <= 64;
  case LLVMFloatTypeKind:
  case LLVMDoubleTypeKind:
  case LLVMHalfTypeKind:
  case LLVMPointerTypeKind: return true;
  default: return false;
  }
}

void widen_instruction(widener *w, LLVMValueRef i, mask m) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
  switch (opcode) {
  case LLVMLoad: widen_load(w, i, m); return;
  case LLVMStore: widen_store(w, i, m); return;
  case LLVMAtomicRMW:
  case LLVMAtomicCmpXchg: widen_atomic(w, i, m); return;
  case LLVMFence: LLVMBuildFence(w->b, LLVMAtomicOrderingSequentiallyConsistent, 0, ""); return;
  case LLVMCall: widen_call(w, i, m); return;
  case LLVMAlloca: widen_alloca(w, i); return;
  case LLVMExtractValue:
    if (LLVMIsAAtomicCmpXchgInst(LLVMGetOperand(i, 0)))
      set_value(w, i, widen_extract(w, i));
    else
      refuse(w, i, "it takes structs apart in registers");
    return;
  default: break;
  }
  if (!is_lane_type(LLVMTypeOf(i))) {
    refuse(w, i, "it has values that are no numbers or pointers");
    return;
  }
  if (is_varying(w, i)) {
    LLVMValueRef result = opcode == LLVMGetElementPtr ? widen_gep(w, i) : widen_plain(w, i, m);
    if (result) set_value(w, i, result);
  } else if (opcode == LLVMZExt && is_affine(w, LLVMGetOperand(i, 0))) {
    /* lane 0 may be inactive and below 0: the other lanes continue from its sign-extension */
    set_value(w, i, LLVMBuildSExt(w->b, value_scalar(w, LLVMGetOperand(i, 0)), LLVMTypeOf(i), ""));
  } else {
    set_value(w, i, copy_scalar(w, i));
  }
}
