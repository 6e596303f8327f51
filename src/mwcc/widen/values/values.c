/* Values in widened code: their forms and slots, and masks. See widen.h. */
#include "mwcc/widen/widen.h"
#include "mwcc/support/predicates.h"
#include "mwcc/target/target.h"

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
  widened *old = w->table;
  size_t size = w->table_size;
  w->table_size = size ? size * 2 : 256;
  w->table = mw_alloc(w->table_size * sizeof *w->table);
  for (size_t i = 0; i < size; i++)
    if (old[i].value) w->table[place_of(w, old[i].value)] = old[i];
  free(old);
}

widened *widened_of(widener *w, LLVMValueRef value) {
  if (w->table_used * 2 >= w->table_size) grow_table(w);
  widened *found = &w->table[place_of(w, value)];
  if (!found->value) {
    found->value = value;
    w->table_used++;
  }
  return found;
}

/* ---- forms ---- */

LLVMTypeRef vector_type(const widener *w, LLVMTypeRef scalar) { return LLVMVectorType(scalar, (unsigned)w->width); }

static shape_kind kind_of(const widener *w, LLVMValueRef value) {
  return LLVMIsAInstruction(value) ? shape_of(w->shapes, value).kind : SHAPE_BLOCK;
}

bool is_uniform(const widener *w, LLVMValueRef value) { return kind_of(w, value) <= SHAPE_GANG; }
bool is_affine(const widener *w, LLVMValueRef value) { return kind_of(w, value) == SHAPE_AFFINE; }
bool is_vector_affine(const widener *w, LLVMValueRef value) { return kind_of(w, value) == SHAPE_VECTOR_AFFINE; }
bool is_varying(const widener *w, LLVMValueRef value) { return kind_of(w, value) == SHAPE_VARYING; }

bool has_stride(const widener *w, LLVMValueRef value, int64_t stride) {
  if (is_uniform(w, value)) return stride == 0;
  return !is_varying(w, value) && shape_of(w->shapes, value).stride == stride;
}

int form_count(const widener *w, LLVMValueRef value) {
  return kind_of(w, value) >= SHAPE_VECTOR_AFFINE ? w->vectors : 1;
}

/* A struct (of cmpxchg) of vectors; else a vector. */
LLVMTypeRef wide_type(const widener *w, LLVMTypeRef type) {
  if (LLVMGetTypeKind(type) != LLVMStructTypeKind) return vector_type(w, type);
  LLVMTypeRef members[2] = {vector_type(w, LLVMStructGetTypeAtIndex(type, 0)),
                            vector_type(w, LLVMStructGetTypeAtIndex(type, 1))};
  return LLVMStructTypeInContext(w->p->context, members, 2, 0);
}

LLVMTypeRef form_type(const widener *w, LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  return is_varying(w, value) ? wide_type(w, type) : type;
}

void begin_slots(widener *w) {
  w->slot_count = 0;
  for (size_t i = 0; i < w->table_size; i++) w->table[i].slot = (vectors){0};
}

void empty_slots(widener *w, size_t from, LLVMValueRef before) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(w->p->context);
  LLVMPositionBuilderBefore(b, before);
  for (size_t i = from; i < w->slot_count; i++)
    LLVMBuildStore(b, LLVMGetUndef(LLVMGetAllocatedType(w->slots[i])), w->slots[i]);
  LLVMDisposeBuilder(b);
}

vectors new_slots(widener *w, LLVMTypeRef type, int count) {
  vectors slots = {0};
  if (w->slot_count + (size_t)count > w->slot_capacity) {
    w->slot_capacity = w->slot_capacity * 2 + 256;
    w->slots = mw_realloc(w->slots, w->slot_capacity * sizeof *w->slots);
  }
  for (int u = 0; u < count; u++) w->slots[w->slot_count++] = slots.of[u] = LLVMBuildAlloca(w->entry, type, "");
  return slots;
}

LLVMValueRef first_id(widener *w, unsigned axis) {
  return w->tid_is_zero[axis] ? constant_i32(w->p, 0) : LLVMBuildLoad2(w->b, w->p->i32, w->tid[axis], "");
}

vectors load_slots(widener *w, LLVMTypeRef type, vectors slots, int count) {
  vectors values = {0};
  for (int u = 0; u < count; u++) values.of[u] = LLVMBuildLoad2(w->b, type, slots.of[u], "");
  return values;
}

void store_slots(widener *w, vectors values, vectors slots, int count) {
  for (int u = 0; u < count; u++) LLVMBuildStore(w->b, values.of[u], slots.of[u]);
}

/* ---- values saved in memory ---- */

/* Without mask registers a mask is saved as lanes: unpacking bits would go lane by lane. */
LLVMTypeRef stored_type_of(const widener *w, LLVMTypeRef type) {
  enum { LANES_OF_WORDS = 8 };
  if (type != vector_type(w, w->p->i1) || has_mask_registers(w->p)) return type;
  return vector_type(w, w->width <= LANES_OF_WORDS ? w->p->i32 : w->p->i8);
}

vectors load_waiting(widener *w, LLVMTypeRef type, vectors places, int count) {
  LLVMTypeRef waiting = stored_type_of(w, type);
  vectors values = load_slots(w, waiting, places, count);
  for (int u = 0; u < count && waiting != type; u++)
    values.of[u] = LLVMBuildICmp(w->b, LLVMIntSLT, values.of[u], LLVMConstNull(waiting), "");
  return values;
}

void store_waiting(widener *w, LLVMTypeRef type, vectors values, vectors places, int count) {
  LLVMTypeRef waiting = stored_type_of(w, type);
  for (int u = 0; u < count && waiting != type; u++) values.of[u] = LLVMBuildSExt(w->b, values.of[u], waiting, "");
  store_slots(w, values, places, count);
}

vectors slot_of(widener *w, LLVMValueRef value) {
  widened *k = widened_of(w, value);
  if (!k->slot.of[0]) k->slot = new_slots(w, form_type(w, value), form_count(w, value));
  return k->slot;
}

vectors value_form(widener *w, LLVMValueRef value) {
  if (!LLVMIsAInstruction(value) && !LLVMIsAArgument(value)) return (vectors){{value}};
  widened *k = widened_of(w, value);
  if (LLVMIsAArgument(value)) return (vectors){{k->saved}}; /* loaded at the function's top */
  if (k->constant) return *k->constant;
  if (k->local.of[0] && k->node_stamp == w->stamp) return k->local;
  k->local = load_slots(w, form_type(w, value), slot_of(w, value), form_count(w, value));
  k->node_stamp = w->stamp;
  return k->local;
}

/* If all lanes are known to have one value, computed from a varying one, any lane's value suffices. */
LLVMValueRef value_scalar(widener *w, LLVMValueRef value) {
  LLVMValueRef form = value_form(w, value).of[0];
  return is_varying(w, value) ? LLVMBuildExtractElement(w->b, form, constant_i32(w->p, 0), "") : form;
}

LLVMValueRef vector_scalar(widener *w, LLVMValueRef value, int u) {
  if (is_uniform(w, value)) return value_form(w, value).of[0];
  if (is_vector_affine(w, value)) return value_form(w, value).of[u];
  if (is_varying(w, value)) return LLVMBuildExtractElement(w->b, value_form(w, value).of[u], constant_i32(w->p, 0), "");
  LLVMValueRef base = value_form(w, value).of[0];
  int64_t distance = u * shape_of(w->shapes, value).step;
  if (distance == 0) return base;
  if (LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMPointerTypeKind) {
    LLVMValueRef at = constant_i64(w->p, (uint64_t)distance);
    return LLVMBuildGEP2(w->b, w->p->i8, base, &at, 1, "");
  }
  return LLVMBuildAdd(w->b, base, LLVMConstInt(LLVMTypeOf(value), (uint64_t)distance, 1), "");
}

LLVMValueRef splat(widener *w, LLVMValueRef scalar) {
  if (LLVMIsUndef(scalar)) return LLVMGetUndef(vector_type(w, LLVMTypeOf(scalar)));
  LLVMTypeRef type = vector_type(w, LLVMTypeOf(scalar));
  if (LLVMIsAConstant(scalar) && !LLVMIsAConstantExpr(scalar) && !LLVMIsAGlobalValue(scalar)) {
    LLVMValueRef items[MOST_LANES];
    for (int i = 0; i < w->width; i++) items[i] = scalar;
    return LLVMConstVector(items, (unsigned)w->width);
  }
  LLVMValueRef one = LLVMBuildInsertElement(w->b, LLVMGetPoison(type), scalar, constant_i32(w->p, 0), "");
  return LLVMBuildShuffleVector(w->b, one, LLVMGetPoison(type), LLVMConstNull(vector_type(w, w->p->i32)), "");
}

LLVMValueRef lane_steps(widener *w, LLVMTypeRef integer, int64_t stride) {
  LLVMValueRef items[MOST_LANES];
  for (int i = 0; i < w->width; i++) items[i] = LLVMConstInt(integer, (uint64_t)i * (uint64_t)stride, 1);
  return LLVMConstVector(items, (unsigned)w->width);
}

LLVMValueRef lane_numbers(widener *w, LLVMTypeRef integer) { return lane_steps(w, integer, 1); }

LLVMValueRef value_vector(widener *w, LLVMValueRef value, int u) {
  if (is_varying(w, value)) return value_form(w, value).of[u];
  LLVMValueRef scalar = vector_scalar(w, value, u);
  int64_t stride = is_uniform(w, value) ? 0 : shape_of(w->shapes, value).stride;
  if (stride == 0) return splat(w, scalar);
  if (LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMPointerTypeKind) {
    LLVMValueRef steps = lane_steps(w, w->p->i64, stride);
    return LLVMBuildGEP2(w->b, w->p->i8, scalar, &steps, 1, "");
  }
  return LLVMBuildAdd(w->b, splat(w, scalar), lane_steps(w, LLVMTypeOf(value), stride), "");
}

vectors value_vectors(widener *w, LLVMValueRef value) {
  vectors all = {0};
  bool same = is_uniform(w, value);
  for (int u = 0; u < w->vectors; u++) all.of[u] = same && u ? all.of[0] : value_vector(w, value, u);
  return all;
}

bool is_in_slot(const widener *w, LLVMValueRef value) {
  int home = graph_node_of(w->g, value);
  for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (LLVMIsAPHINode(user) || graph_node_of(w->g, user) != home) return true;
  }
  return false;
}

/* Whether the form is a constant, or one for each lane, on which the mask has no influence: then it is the same in
   every gang, and what is computed from it folds as well. */
static bool is_constant(const widener *w, LLVMValueRef value, vectors form) {
  bool computes = LLVMIsABinaryOperator(value) || LLVMIsACastInst(value) || LLVMIsAICmpInst(value) ||
                  (LLVMIsACallInst(value) && starts_with(callee_name(value), "llvm.nvvm.read.ptx.sreg.tid."));
  switch (LLVMGetInstructionOpcode(value)) {
  case LLVMUDiv:
  case LLVMSDiv:
  case LLVMURem:
  case LLVMSRem: return false; /* inactive lanes divide by one */
  default: break;
  }
  for (int u = 0; u < form_count(w, value) && computes; u++) {
    LLVMTypeRef type = LLVMTypeOf(form.of[u]);
    if (is_vector_type(type)) type = LLVMGetElementType(type);
    computes = LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMIsConstant(form.of[u]) &&
               !LLVMIsAConstantExpr(form.of[u]) && !LLVMIsUndef(form.of[u]);
  }
  return computes;
}

void set_value(widener *w, LLVMValueRef value, vectors form) {
  if (is_in_slot(w, value)) store_slots(w, form, slot_of(w, value), form_count(w, value));
  widened *k = widened_of(w, value);
  if (!k->constant && is_constant(w, value, form)) {
    k->constant = mw_alloc(sizeof *k->constant);
    *k->constant = form;
  }
  k->local = form;
  k->node_stamp = w->stamp;
}

void set_scalar(widener *w, LLVMValueRef value, LLVMValueRef form) { set_value(w, value, (vectors){{form}}); }

/* ---- masks ---- */

LLVMValueRef mask_word(widener *w, LLVMValueRef lanes) {
  return LLVMBuildBitCast(w->b, lanes, LLVMIntTypeInContext(w->p->context, (unsigned)w->width), "");
}

LLVMValueRef any_in_vector(widener *w, LLVMValueRef lanes) {
  LLVMValueRef word = mask_word(w, lanes);
  return LLVMBuildICmp(w->b, LLVMIntNE, word, LLVMConstNull(LLVMTypeOf(word)), "any");
}

LLVMValueRef any_lane(widener *w, vectors lanes) {
  LLVMValueRef together = lanes.of[0];
  for (int u = 1; u < w->vectors; u++) together = LLVMBuildOr(w->b, together, lanes.of[u], "");
  return any_in_vector(w, together);
}

LLVMValueRef mask_vector(widener *w, mask m, int u) {
  return m.all ? LLVMConstAllOnes(vector_type(w, w->p->i1)) : m.lanes.of[u];
}

vectors mask_vectors(widener *w, mask m) {
  vectors all = {0};
  for (int u = 0; u < w->vectors; u++) all.of[u] = mask_vector(w, m, u);
  return all;
}

vectors no_lanes(widener *w) {
  vectors none = {0};
  for (int u = 0; u < w->vectors; u++) none.of[u] = LLVMConstNull(vector_type(w, w->p->i1));
  return none;
}
