/* Scalarisation: operations that are done lane by lane (ISPC: foreach_active). See widen.h.
 *
 * The lanes' operands are stored in memory, and a loop over the active lanes, one vector after the other, reads them
 * and stores the results there. So the body's code exists once, however many lanes a gang has. */
#include "mwcc/widen/widen.h"
#include "mwcc/target/tuning.h"

#include <string.h>

enum { MOST_OPERANDS = 32, MOST_UNROLLED = TUNE_UNROLLED_LANES };

typedef struct spilled {
  LLVMValueRef values[MOST_OPERANDS], memory[MOST_OPERANDS]; /* memory NULL: recomputed for each lane */
  unsigned count;
} spilled;

static bool is_bit(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) == 1;
}

/* Bits would be packed in memory, so they are stored as bytes. */
static LLVMTypeRef stored_type(widener *w, LLVMTypeRef type) { return is_bit(type) ? w->p->i8 : type; }

static LLVMValueRef element(widener *w, LLVMTypeRef type, LLVMValueRef memory, LLVMValueRef lane) {
  return LLVMBuildInBoundsGEP2(w->b, stored_type(w, type), memory, &lane, 1, "");
}

static LLVMValueRef vector_memory(widener *w, LLVMTypeRef type, LLVMValueRef memory, int u) {
  LLVMValueRef at = constant_i32(w->p, (unsigned)(u * w->width));
  return LLVMBuildInBoundsGEP2(w->b, stored_type(w, type), memory, &at, 1, "");
}

static LLVMValueRef new_memory(widener *w, LLVMTypeRef type) {
  LLVMTypeRef all = LLVMArrayType2(stored_type(w, type), (uint64_t)w->width * (uint64_t)w->vectors);
  LLVMValueRef memory = LLVMBuildAlloca(w->entry, all, "");
  LLVMSetAlignment(memory, 64);
  return memory;
}

/* in_memory: even if registers would do. Where each lane adds at an address of its own, indices that are extracted
   from vector registers make processors mispredict which loads depend on which stores, in nearly every lane; indices
   that are read back from memory do not. */
static LLVMValueRef spill(widener *w, LLVMValueRef value, bool in_memory) {
  LLVMTypeRef type = LLVMTypeOf(value);
  LLVMValueRef memory = new_memory(w, type);
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef lanes = value_vector(w, value, u);
    if (is_bit(type)) lanes = LLVMBuildZExt(w->b, lanes, vector_type(w, w->p->i8), "");
    LLVMSetVolatile(LLVMBuildStore(w->b, lanes, vector_memory(w, type, memory, u)), in_memory);
  }
  return memory;
}

LLVMValueRef lane_of(widener *w, LLVMValueRef operand, LLVMValueRef lane) {
  LLVMTypeRef type = LLVMTypeOf(operand);
  for (unsigned i = 0; i < w->spilled->count; i++) {
    if (w->spilled->values[i] != operand) continue;
    LLVMValueRef memory = w->spilled->memory[i];
    if (!memory) return rematerialize(w, operand, lane);
    LLVMValueRef value = LLVMBuildLoad2(w->b, stored_type(w, type), element(w, type, memory, lane), "");
    return is_bit(type) ? LLVMBuildTrunc(w->b, value, type, "") : value;
  }
  return value_form(w, operand).of[0];
}

/* ---- results ---- */

typedef struct results { /* one, or the two members of a struct */
  LLVMTypeRef types[2];
  LLVMValueRef memory[2];
  unsigned count;
  bool is_struct;
} results;

static results new_results(widener *w, LLVMTypeRef type) {
  results r = {0};
  if (!type) return r;
  r.is_struct = LLVMGetTypeKind(type) == LLVMStructTypeKind;
  r.count = r.is_struct ? 2 : 1;
  for (unsigned i = 0; i < r.count; i++) {
    r.types[i] = r.is_struct ? LLVMStructGetTypeAtIndex(type, i) : type;
    r.memory[i] = new_memory(w, r.types[i]);
  }
  return r;
}

static void put_result(widener *w, const results *r, LLVMValueRef value, LLVMValueRef lane) {
  for (unsigned i = 0; i < r->count; i++) {
    LLVMValueRef one = r->is_struct ? LLVMBuildExtractValue(w->b, value, i, "") : value;
    if (is_bit(r->types[i])) one = LLVMBuildZExt(w->b, one, w->p->i8, "");
    LLVMBuildStore(w->b, one, element(w, r->types[i], r->memory[i], lane));
  }
}

static LLVMValueRef get_vector(widener *w, const results *r, int u) {
  LLVMValueRef loaded[2] = {0};
  for (unsigned i = 0; i < r->count; i++) {
    LLVMTypeRef wide = vector_type(w, stored_type(w, r->types[i]));
    loaded[i] = LLVMBuildLoad2(w->b, wide, vector_memory(w, r->types[i], r->memory[i], u), "");
    if (is_bit(r->types[i])) loaded[i] = LLVMBuildTrunc(w->b, loaded[i], vector_type(w, r->types[i]), "");
  }
  if (!r->is_struct) return loaded[0];
  LLVMTypeRef types[2] = {LLVMTypeOf(loaded[0]), LLVMTypeOf(loaded[1])};
  LLVMValueRef both = LLVMGetPoison(LLVMStructTypeInContext(w->p->context, types, 2, 0));
  for (unsigned i = 0; i < 2; i++) both = LLVMBuildInsertValue(w->b, both, loaded[i], i, "");
  return both;
}

/* ---- the loop ---- */

static LLVMBasicBlockRef new_block(widener *w, const char *name) {
  return LLVMAppendBasicBlockInContext(w->p->context, w->function, name);
}

static LLVMValueRef as_i32(widener *w, LLVMValueRef number) {
  unsigned bits = LLVMGetIntTypeWidth(LLVMTypeOf(number));
  if (bits == 32) return number;
  return bits < 32 ? LLVMBuildZExt(w->b, number, w->p->i32, "") : LLVMBuildTrunc(w->b, number, w->p->i32, "");
}

static void emit_lanes(widener *w, const results *r, LLVMValueRef first, int count, lane_body *body, void *context) {
  for (int l = 0; l < count; l++) {
    LLVMValueRef lane = LLVMBuildAdd(w->b, first, constant_i32(w->p, (unsigned)l), "");
    w->lane_number = (uint64_t)l;
    w->lanes_after = count - 1 - l;
    put_result(w, r, body(w, lane, context), lane);
  }
}

/* Emit the body for each lane of the gang, all of which are active: without a loop, so that lanes are constants; in a
   large gang, by a loop over pieces of it. */
static void emit_each(widener *w, const results *r, lane_body *body, void *context) {
  enum { AT_ONCE = MOST_UNROLLED / 2 };
  program *p = w->p;
  int count = w->width * w->vectors;
  if (count <= MOST_UNROLLED) {
    emit_lanes(w, r, constant_i32(p, 0), count, body, context);
    return;
  }
  LLVMBasicBlockRef before = LLVMGetInsertBlock(w->b), each = new_block(w, "lanes"), done = new_block(w, "lanes.all");
  LLVMBuildBr(w->b, each);
  LLVMPositionBuilderAtEnd(w->b, each);
  LLVMValueRef first = LLVMBuildPhi(w->b, p->i32, ""), zero = constant_i32(p, 0);
  emit_lanes(w, r, first, AT_ONCE, body, context);
  LLVMValueRef next = LLVMBuildNUWAdd(w->b, first, constant_i32(p, AT_ONCE), "");
  LLVMBasicBlockRef end = LLVMGetInsertBlock(w->b);
  LLVMAddIncoming(first, &zero, &before, 1);
  LLVMAddIncoming(first, &next, &end, 1);
  LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, LLVMIntULT, next, constant_i32(p, (unsigned)count), ""), each, done);
  LLVMPositionBuilderAtEnd(w->b, done);
}

/* Emit a loop over the set bits of the words, in order. Leaves the builder after the loop. */
static void emit_loop(widener *w, const vectors *words, const results *r, bool unrolled, lane_body *body,
                      void *context) {
  program *p = w->p;
  LLVMTypeRef bits = LLVMTypeOf(words->of[0]);
  LLVMValueRef none = LLVMConstNull(bits), todo = LLVMBuildAlloca(w->entry, bits, "");
  LLVMValueRef vector = LLVMBuildAlloca(w->entry, p->i32, ""),
               all = LLVMBuildAlloca(w->entry, LLVMArrayType2(bits, (uint64_t)w->vectors), "");
  LLVMBasicBlockRef next = new_block(w, "lanes.vector"), head = new_block(w, "lanes"), each = new_block(w, "lane");
  LLVMBasicBlockRef done = new_block(w, "lanes.done"), leave = new_block(w, "lanes.all");
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef at = constant_i32(p, (unsigned)u);
    LLVMBuildStore(w->b, words->of[u], LLVMBuildInBoundsGEP2(w->b, bits, all, &at, 1, ""));
  }
  LLVMBuildStore(w->b, constant_i32(p, 0), vector);
  LLVMBuildBr(w->b, next);
  LLVMPositionBuilderAtEnd(w->b, next);
  LLVMValueRef u = LLVMBuildLoad2(w->b, p->i32, vector, "");
  LLVMBuildStore(w->b, LLVMBuildLoad2(w->b, bits, LLVMBuildInBoundsGEP2(w->b, bits, all, &u, 1, ""), ""), todo);
  LLVMValueRef first = LLVMBuildMul(w->b, u, constant_i32(p, (unsigned)w->width), "");
  if (unrolled) {
    LLVMBasicBlockRef full = new_block(w, "lanes.full");
    LLVMValueRef word = LLVMBuildLoad2(w->b, bits, todo, "");
    LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, LLVMIntEQ, word, LLVMConstAllOnes(bits), ""), full, head);
    LLVMPositionBuilderAtEnd(w->b, full);
    for (int l = 0; l < w->width; l++) {
      LLVMValueRef index = LLVMBuildAdd(w->b, first, constant_i32(p, (unsigned)l), "");
      put_result(w, r, body(w, index, context), index);
    }
    LLVMBuildBr(w->b, done);
  } else {
    LLVMBuildBr(w->b, head);
  }
  LLVMPositionBuilderAtEnd(w->b, head);
  LLVMValueRef left = LLVMBuildLoad2(w->b, bits, todo, "");
  LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, LLVMIntNE, left, none, ""), each, done);
  LLVMPositionBuilderAtEnd(w->b, each);
  LLVMValueRef count_arguments[] = {left, LLVMConstInt(p->i1, 1, 0)};
  LLVMValueRef lane = call_intrinsic(p, w->b, "llvm.cttz", &bits, 1, count_arguments, 2);
  LLVMBuildStore(w->b, LLVMBuildAnd(w->b, left, LLVMBuildSub(w->b, left, LLVMConstInt(bits, 1, 0), ""), ""), todo);
  LLVMValueRef index = LLVMBuildAdd(w->b, first, as_i32(w, lane), "");
  put_result(w, r, body(w, index, context), index);
  LLVMBuildBr(w->b, head);
  LLVMPositionBuilderAtEnd(w->b, done);
  LLVMValueRef after = LLVMBuildAdd(w->b, u, constant_i32(p, 1), "");
  LLVMBuildStore(w->b, after, vector);
  LLVMValueRef more = LLVMBuildICmp(w->b, LLVMIntULT, after, constant_i32(p, (unsigned)w->vectors), "");
  LLVMBuildCondBr(w->b, more, next, leave);
  LLVMPositionBuilderAtEnd(w->b, leave);
}

vectors each_lane(widener *w, LLVMValueRef by, mask m, const LLVMValueRef *operands, unsigned count, LLVMTypeRef type,
                  bool unrolled, lane_body *body, void *context) {
  spilled s = {0};
  vectors words = {0}, result = {0};
  bool each =
      unrolled && m.all && (w->width * w->vectors <= MOST_UNROLLED || w->width * w->vectors % MOST_UNROLLED == 0);
  for (unsigned i = 0; i < count; i++) {
    value_form(w, operands[i]); /* also for uniform ones: the loop's block does not dominate what follows */
    if (is_uniform(w, operands[i])) continue;
    if (s.count == MOST_OPERANDS) {
      refuse(w, NULL, "a serialised instruction has too many operands");
      return result;
    }
    bool remade = is_rematerialized(w, operands[i], by, each);
    if (remade) begin_rematerialization(w, operands[i]);
    s.memory[s.count] = remade ? NULL : spill(w, operands[i], each);
    s.values[s.count++] = operands[i];
  }
  for (int u = 0; u < w->vectors; u++) words.of[u] = mask_word(w, mask_vector(w, m, u));
  results r = new_results(w, type);
  w->spilled = &s;
  if (each)
    emit_each(w, &r, body, context);
  else
    emit_loop(w, &words, &r, unrolled, body, context);
  w->spilled = NULL;
  if (type)
    for (int u = 0; u < w->vectors; u++) result.of[u] = get_vector(w, &r, u);
  return result;
}
