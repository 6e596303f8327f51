/* Mask elision: whole vectors instead of masked ones, for processors without masked memory accesses. SSE and NEON
 * have none, AVX2 none for bytes and halves, and its masked stores are slow and delay the loads that follow.
 *
 * Reads. At least one lane of a gang is active at an access, and memory is readable by whole pages. So everything on
 * the page of an active lane can be read, and inactive lanes may hold anything. Where a vector crosses the end of a
 * page, which is rare, active lanes load their elements one by one.
 *
 * Writes. Elements of inactive lanes belong to other threads, which may be writing them. In shared memory none is:
 * one host thread runs a block's gangs one after the other, and its pages hold nothing else. There inactive lanes
 * store back what was read. Elsewhere a run-time test selects a whole store if all lanes are active.
 *
 * That test also pays with AVX-512, whose masked stores are fast, for stores of whole lines where mostly all lanes
 * are active: a plain store of a whole line need not read it first, and can be forwarded to loads at once. */
#include "memory.h"
#include "mwcc/target/target.h"
#include "mwcc/target/tuning.h"

enum { PAGE = 4096 /* or a multiple of it */, MOST_SPAN = TUNE_ELISION_SPAN, LINE = 64 };

static uint64_t wide_bytes(const widener *w, LLVMTypeRef wide) { return LLVMABISizeOfType(w->p->layout, wide); }

static uint64_t element_bytes(const widener *w, LLVMTypeRef wide) {
  return LLVMABISizeOfType(w->p->layout, LLVMGetElementType(wide));
}

static LLVMValueRef pointer_of(widener *w, const place *at, const vectors *firsts, int u) {
  return firsts ? firsts->of[u] : vector_pointer(w, at, u);
}

static vectors all_pointers(widener *w, const place *at, const vectors *firsts, int count) {
  vectors pointers = {0};
  for (int u = 0; u < count; u++) pointers.of[u] = pointer_of(w, at, firsts, u);
  return pointers;
}

/* ---- pages ---- */

LLVMValueRef is_on_a_page(widener *w, LLVMValueRef pointer, uint64_t bytes) {
  LLVMValueRef offset = LLVMBuildPtrToInt(w->b, pointer, w->p->i64, "");
  offset = LLVMBuildAnd(w->b, offset, constant_i64(w->p, PAGE - 1), "");
  return LLVMBuildICmp(w->b, LLVMIntULE, offset, constant_i64(w->p, PAGE - bytes), "");
}

/* Bytes from the first vector's first lane to the last one's last, if that is constant and small: then one page test
   covers all vectors. */
static uint64_t span_of(const widener *w, const place *at, uint64_t bytes, int count) {
  if (count == 1) return bytes;
  int64_t step = is_affine(w, at->address) ? shape_of(w->shapes, at->address).step : at->step;
  if (!is_affine(w, at->address) && !step) return 0;
  if (step < 0 || step > MOST_SPAN) return 0;
  uint64_t span = (uint64_t)step * (unsigned)(count - 1) + bytes;
  return span <= MOST_SPAN ? span : 0;
}

LLVMValueRef place_for(widener *w, uint64_t bytes) {
  LLVMValueRef nowhere = LLVMBuildAlloca(w->entry, LLVMArrayType2(w->p->i8, bytes), "");
  unsigned align = 1;
  while (align < bytes) align *= 2;
  LLVMSetAlignment(nowhere, align);
  return nowhere;
}

/* Whether so many bytes can be read at each vector's pointer. A vector without active lanes reads a dummy instead,
   unless its pointer is on the others' page. */
static LLVMValueRef can_be_read(widener *w, const place *at, uint64_t bytes, vectors *pointers, mask m, int count) {
  uint64_t span = span_of(w, at, bytes, count);
  if (span) return is_on_a_page(w, pointers->of[0], span);
  LLVMValueRef nowhere = place_for(w, bytes), all = NULL;
  for (int u = 0; u < count; u++) {
    pointers->of[u] = LLVMBuildSelect(w->b, any_in_vector(w, m.lanes.of[u]), pointers->of[u], nowhere, "");
    LLVMValueRef one = is_on_a_page(w, pointers->of[u], bytes);
    all = all ? LLVMBuildAnd(w->b, all, one, "") : one;
  }
  return all;
}

static choice choose_readable(widener *w, LLVMValueRef readable) {
  LLVMBasicBlockRef whole = LLVMAppendBasicBlockInContext(w->p->context, w->function, "whole");
  choice c = {.some = LLVMAppendBasicBlockInContext(w->p->context, w->function, "some"),
              .done = LLVMAppendBasicBlockInContext(w->p->context, w->function, "accessed")};
  build_likely(w->p, w->b, readable, whole, c.some);
  LLVMPositionBuilderAtEnd(w->b, whole);
  return c;
}

/* ---- one lane after the other ---- */

static LLVMValueRef element_at(widener *w, LLVMTypeRef type, LLVMValueRef first, LLVMValueRef lane) {
  return LLVMBuildGEP2(w->b, type, first, &lane, 1, "");
}

/* Copy the elements of active lanes one by one. */
static void copy_lanes(widener *w, LLVMTypeRef type, LLVMValueRef target, unsigned target_align, LLVMValueRef source,
                       unsigned source_align, LLVMValueRef lanes) {
  program *p = w->p;
  LLVMValueRef word = mask_word(w, lanes);
  LLVMTypeRef bits = LLVMTypeOf(word);
  LLVMValueRef none = LLVMConstNull(bits), one = LLVMConstInt(bits, 1, 0);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(w->b);
  LLVMBasicBlockRef each = LLVMAppendBasicBlockInContext(p->context, w->function, "lane");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(p->context, w->function, "lanes.done");
  LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, LLVMIntNE, word, none, ""), each, done);
  LLVMPositionBuilderAtEnd(w->b, each);
  LLVMValueRef left = LLVMBuildPhi(w->b, bits, "");
  LLVMValueRef arguments[] = {left, LLVMConstInt(p->i1, 1, 0)};
  LLVMValueRef lane = call_intrinsic(p, w->b, "llvm.cttz", &bits, 1, arguments, 2);
  lane = LLVMBuildIntCast2(w->b, lane, p->i64, 0, "");
  LLVMValueRef value = LLVMBuildLoad2(w->b, type, element_at(w, type, source, lane), "");
  LLVMSetAlignment(value, source_align);
  LLVMSetAlignment(LLVMBuildStore(w->b, value, element_at(w, type, target, lane)), target_align);
  LLVMValueRef rest = LLVMBuildAnd(w->b, left, LLVMBuildSub(w->b, left, one, ""), "");
  LLVMAddIncoming(left, &word, &before, 1);
  LLVMAddIncoming(left, &rest, &each, 1);
  LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, LLVMIntNE, rest, none, ""), each, done);
  LLVMPositionBuilderAtEnd(w->b, done);
}

/* ---- loads ---- */

/* LLVM knows the size of stack variables. Values that gangs have just stored to shared memory are not forwarded to a
   masked load. */
static bool loads_whole(const widener *w, const place *at, LLVMTypeRef wide) {
  uint64_t bytes = element_bytes(w, wide);
  memory_kind kind = memory_of(at->address);
  if (at->is_volatile || kind == MEMORY_LOCAL || kind == MEMORY_CONSTANT) return false;
  return kind == MEMORY_SHARED ? !has_quick_masked_access(w->p, bytes) : !has_masked_access(w->p, bytes);
}

static LLVMValueRef load_vector(widener *w, LLVMTypeRef wide, LLVMValueRef pointer, unsigned align) {
  LLVMValueRef lanes = LLVMBuildLoad2(w->b, wide, pointer, "");
  LLVMSetAlignment(lanes, align);
  return lanes;
}

/* Load only the active lanes of a vector. */
static LLVMValueRef load_alone(widener *w, LLVMTypeRef wide, LLVMValueRef pointer, unsigned align,
                               LLVMValueRef active) {
  unsigned unit = (unsigned)element_bytes(w, wide);
  if (has_masked_access(w->p, unit)) return masked_load(w->p, w->b, wide, pointer, align, active);
  LLVMValueRef room = LLVMBuildAlloca(w->entry, wide, "");
  copy_lanes(w, LLVMGetElementType(wide), room, unit, pointer, align, active);
  return load_vector(w, wide, room, unit);
}

static vectors load_readable(widener *w, const place *at, LLVMTypeRef wide, vectors pointers, mask m, int count) {
  vectors slots = new_slots(w, wide, count);
  choice c = choose_readable(w, can_be_read(w, at, wide_bytes(w, wide), &pointers, m, count));
  for (int u = 0; u < count; u++) LLVMBuildStore(w->b, load_vector(w, wide, pointers.of[u], at->align), slots.of[u]);
  else_some(w, &c);
  for (int u = 0; u < count; u++)
    LLVMBuildStore(w->b, load_alone(w, wide, pointers.of[u], at->align, m.lanes.of[u]), slots.of[u]);
  end_choice(w, &c);
  return load_slots(w, wide, slots, count);
}

vectors load_following(widener *w, const place *at, LLVMTypeRef wide, const vectors *firsts, mask m, int count) {
  vectors result = {0};
  if (!m.all && loads_whole(w, at, wide))
    return load_readable(w, at, wide, all_pointers(w, at, firsts, count), m, count);
  for (int u = 0; u < count; u++) {
    LLVMValueRef pointer = pointer_of(w, at, firsts, u);
    result.of[u] = m.all ? load_vector(w, wide, pointer, at->align)
                         : masked_load(w->p, w->b, wide, pointer, at->align, m.lanes.of[u]);
  }
  return result;
}

/* ---- loads in even steps ---- */

/* Shared memory is cached: reading for inactive lanes costs no time. */
bool loads_all_steps(widener *w, const place *at, uint64_t bytes) {
  if (at->is_volatile || memory_of(at->address) != MEMORY_SHARED || !in_even_steps(w, at)) return false;
  int64_t stride = shape_of(w->shapes, at->address).stride;
  return stride >= (int64_t)bytes && stride * w->width <= MOST_SPAN;
}

vectors load_all_steps(widener *w, const place *at, LLVMTypeRef wide, mask m, int count) {
  need_pointers(w, at); /* needed on both paths */
  vectors slots = new_slots(w, wide, count), pointers = all_pointers(w, at, NULL, count);
  int64_t stride = shape_of(w->shapes, at->address).stride;
  uint64_t bytes = (uint64_t)stride * ((unsigned)w->width - 1) + element_bytes(w, wide);
  choice c = choose_readable(w, can_be_read(w, at, bytes, &pointers, m, count));
  for (int u = 0; u < count; u++) LLVMBuildStore(w->b, load_steps(w, at, wide, pointers.of[u]), slots.of[u]);
  else_some(w, &c);
  for (int u = 0; u < count; u++) LLVMBuildStore(w->b, gather(w, at, wide, m, u), slots.of[u]);
  end_choice(w, &c);
  return load_slots(w, wide, slots, count);
}

/* ---- stores ---- */

static void store_vector(widener *w, LLVMValueRef lanes, LLVMValueRef pointer, unsigned align) {
  LLVMSetAlignment(LLVMBuildStore(w->b, lanes, pointer), align);
}

static void store_alone(widener *w, LLVMValueRef lanes, LLVMValueRef pointer, unsigned align, LLVMValueRef active) {
  LLVMTypeRef wide = LLVMTypeOf(lanes);
  unsigned unit = (unsigned)element_bytes(w, wide);
  if (has_masked_access(w->p, unit)) {
    masked_store(w->p, w->b, lanes, pointer, align, active);
    return;
  }
  LLVMValueRef room = LLVMBuildAlloca(w->entry, wide, "");
  store_vector(w, lanes, room, unit);
  copy_lanes(w, LLVMGetElementType(wide), pointer, align, room, unit, active);
}

static void store_shared(widener *w, const place *at, vectors lanes, vectors pointers, mask m) {
  LLVMTypeRef wide = LLVMTypeOf(lanes.of[0]);
  choice c = choose_readable(w, can_be_read(w, at, wide_bytes(w, wide), &pointers, m, w->vectors));
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef there = load_vector(w, wide, pointers.of[u], at->align);
    store_vector(w, LLVMBuildSelect(w->b, m.lanes.of[u], lanes.of[u], there, ""), pointers.of[u], at->align);
  }
  else_some(w, &c);
  for (int u = 0; u < w->vectors; u++) store_alone(w, lanes.of[u], pointers.of[u], at->align, m.lanes.of[u]);
  end_choice(w, &c);
}

static void store_if_full(widener *w, const place *at, vectors lanes, vectors pointers, mask m) {
  choice c = choose_every(w, m);
  for (int u = 0; u < w->vectors; u++) store_vector(w, lanes.of[u], pointers.of[u], at->align);
  else_some(w, &c);
  for (int u = 0; u < w->vectors; u++) store_alone(w, lanes.of[u], pointers.of[u], at->align, m.lanes.of[u]);
  end_choice(w, &c);
}

/* ---- stores of runs ---- */

/* Whether the mask is that of a gang that ends with a row (speculative_path.c): the first lanes, run_length of them. */
static bool is_run(const widener *w, mask m) { return w->run.of[0] && m.lanes.of[0] == w->run.of[0]; }

/* The upper half of a vector, or the lower one. */
static LLVMValueRef half_of(widener *w, LLVMValueRef lanes, bool upper) {
  unsigned count = LLVMGetVectorSize(LLVMTypeOf(lanes)) / 2;
  LLVMValueRef numbers[MOST_LANES];
  for (unsigned n = 0; n < count; n++) numbers[n] = constant_i32(w->p, upper ? count + n : n);
  return LLVMBuildShuffleVector(w->b, lanes, LLVMGetPoison(LLVMTypeOf(lanes)), LLVMConstVector(numbers, count), "");
}

/* The first `length` lanes, fewer than there are: a half, a quarter and so on, by the number's bits. */
static void store_first(widener *w, LLVMValueRef lanes, LLVMValueRef pointer, unsigned align, LLVMValueRef length) {
  program *p = w->p;
  LLVMTypeRef element = LLVMGetElementType(LLVMTypeOf(lanes));
  unsigned unit = (unsigned)LLVMABISizeOfType(p->layout, element);
  for (unsigned count = LLVMGetVectorSize(LLVMTypeOf(lanes)) / 2; count >= 1; count /= 2) {
    LLVMBasicBlockRef part = LLVMAppendBasicBlockInContext(p->context, w->function, "part"),
                      skip = LLVMAppendBasicBlockInContext(p->context, w->function, "parted");
    LLVMValueRef number = constant_i32(p, count), lower = half_of(w, lanes, false);
    LLVMValueRef stored =
        LLVMBuildICmp(w->b, LLVMIntNE, LLVMBuildAnd(w->b, length, number, ""), constant_i32(p, 0), "");
    LLVMBasicBlockRef from = LLVMGetInsertBlock(w->b);
    LLVMBuildCondBr(w->b, stored, part, skip);
    LLVMPositionBuilderAtEnd(w->b, part);
    store_vector(w, lower, pointer, align < unit ? align : unit);
    LLVMValueRef after = LLVMBuildGEP2(w->b, element, pointer, &number, 1, ""), upper = half_of(w, lanes, true);
    LLVMBuildBr(w->b, skip);
    LLVMPositionBuilderAtEnd(w->b, skip);
    if (count == 1) break;
    LLVMValueRef rest = LLVMBuildPhi(w->b, LLVMTypeOf(lower), ""), next = LLVMBuildPhi(w->b, LLVMTypeOf(pointer), "");
    LLVMBasicBlockRef blocks[] = {from, part};
    LLVMAddIncoming(rest, (LLVMValueRef[]){lower, upper}, blocks, 2);
    LLVMAddIncoming(next, (LLVMValueRef[]){pointer, after}, blocks, 2);
    lanes = rest, pointer = next;
  }
}

/* Whole vectors, and the rest of the last. */
static void store_run(widener *w, const place *at, vectors lanes, vectors pointers) {
  program *p = w->p;
  unsigned width = (unsigned)w->width;
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(p->context, w->function, "stored");
  for (int u = 0; u < w->vectors; u++) {
    LLVMBasicBlockRef whole = LLVMAppendBasicBlockInContext(p->context, w->function, "whole"),
                      rest = LLVMAppendBasicBlockInContext(p->context, w->function, "part");
    LLVMValueRef end = constant_i32(p, (unsigned)(u + 1) * width);
    LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, LLVMIntUGE, w->run_length, end, ""), whole, rest);
    LLVMPositionBuilderAtEnd(w->b, rest);
    store_first(w, lanes.of[u], pointers.of[u], at->align, w->run_length); /* of its bits the lower ones count */
    LLVMBuildBr(w->b, done);
    LLVMPositionBuilderAtEnd(w->b, whole);
    store_vector(w, lanes.of[u], pointers.of[u], at->align);
  }
  LLVMBuildBr(w->b, done);
  LLVMPositionBuilderAtEnd(w->b, done);
}

/* Whether the store is of whole lines, where mostly all lanes are active. */
static bool mostly_fills_lines(const widener *w, LLVMTypeRef wide) {
  return w->mostly_full && wide_bytes(w, wide) % LINE == 0;
}

void store_following(widener *w, const place *at, vectors lanes, const vectors *firsts, mask m) {
  LLVMTypeRef wide = LLVMTypeOf(lanes.of[0]);
  bool is_shared = memory_of(at->address) == MEMORY_SHARED;
  bool has_masks = has_quick_masked_access(w->p, element_bytes(w, wide));
  if (!m.all && !at->is_volatile && (!has_masks || (!is_shared && mostly_fills_lines(w, wide)))) {
    vectors pointers = all_pointers(w, at, firsts, w->vectors);
    if (is_run(w, m) && !has_masks && !is_shared)
      store_run(w, at, lanes, pointers);
    else
      (is_shared ? store_shared : store_if_full)(w, at, lanes, pointers, m);
    return;
  }
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef pointer = pointer_of(w, at, firsts, u);
    if (m.all)
      store_vector(w, lanes.of[u], pointer, at->align);
    else
      masked_store(w->p, w->b, lanes.of[u], pointer, at->align, m.lanes.of[u]);
  }
}
