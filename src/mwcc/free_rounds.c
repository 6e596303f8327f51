/* Rounds of a grid-stride loop that workers may do in any order.
 *
 * A grid has as many blocks as somebody thought a GPU should have, and a worker that has its share of them finds its part of each
 * round, leaping from one to the next; where there are fewer blocks than workers, some have nothing to do. If no round needs
 * what another one leaves, the rounds of a block are as good as blocks: then the launch is one of all rounds' blocks, in the order of
 * memory, and a worker gets a stretch of them (mw_frame.rounds).
 *
 * Rounds of other threads may not need each other's, or their blocks could not run at the same time. But a thread may go back to what
 * it did: a[i] += a[i - gridDim.x * blockDim.x]. So this is for kernels in which every access is of one element for each round, as in
 * y[i] = a * x[i] + y[i]: at a parameter, so many bytes behind it for each element and so many more (a reach). Accesses at one
 * parameter to which there are stores have to stay within an element of one size. Whether two parameters point to the same memory is
 * seen when the kernel is launched: where they do, other than to the same elements, its blocks do their rounds one after the other. */
#include "grid_loop.h"
#include "access.h"

#include <stdlib.h>

enum { DEPTH = 12, MOST_TIMES = 1024, FARTHEST = 1 << 16 };

/* times * count + distance, in numbers that do not wrap while the count is small enough (most_elements). */
typedef struct affine {
  bool known;
  int64_t times, distance;
} affine;

static const affine unknown = {0};

typedef struct search {
  const program *p;
  const grid_loop *l;
  kernel *k;
  int64_t most_times; /* of a number made of the count */
} search;

static affine checked(search *s, int64_t times, int64_t distance) {
  if (times < 0 || times > MOST_TIMES || distance > FARTHEST || distance < -FARTHEST) return unknown;
  if (times > s->most_times) s->most_times = times;
  return (affine){true, times, distance};
}

static affine number_of(search *s, LLVMValueRef value, int depth) {
  if (value == s->l->count) return (affine){true, 1, 0};
  if (LLVMIsAConstantInt(value)) {
    if (LLVMGetIntTypeWidth(LLVMTypeOf(value)) > 64) return unknown;
    return checked(s, 0, LLVMConstIntGetSExtValue(value));
  }
  if (depth == 0 || !LLVMIsAInstruction(value)) return unknown;
  LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
  bool extends = opcode == LLVMSExt || opcode == LLVMZExt;
  if (!extends && opcode != LLVMAdd && opcode != LLVMMul && opcode != LLVMShl && opcode != LLVMOr) return unknown;
  affine a = number_of(s, LLVMGetOperand(value, 0), depth - 1);
  if (!a.known) return unknown;
  if (extends) return opcode == LLVMZExt && a.distance < 0 ? unknown : a;
  affine b = number_of(s, LLVMGetOperand(value, 1), depth - 1);
  if (!b.known) return unknown;
  switch (opcode) {
  case LLVMAdd: return checked(s, a.times + b.times, a.distance + b.distance);
  case LLVMOr:
    if (!LLVMGetIsDisjoint(value)) return unknown;
    return checked(s, a.times + b.times, a.distance + b.distance);
  case LLVMMul:
    if (b.times) return unknown;
    return checked(s, a.times * b.distance, a.distance * b.distance);
  default:
    if (b.times || b.distance < 0 || b.distance > 10) return unknown;
    return checked(s, a.times << b.distance, a.distance * ((int64_t)1 << b.distance));
  }
}

/* Of an address, in bytes behind a pointer that is a parameter. */
static affine address_of(search *s, LLVMValueRef address, LLVMValueRef *parameter, int depth) {
  LLVMTargetDataRef layout = s->p->layout;
  if (LLVMIsAArgument(address)) {
    *parameter = address;
    return (affine){.known = true};
  }
  if (depth == 0) return unknown;
  if (LLVMIsAAddrSpaceCastInst(address)) return address_of(s, LLVMGetOperand(address, 0), parameter, depth - 1);
  if (!LLVMIsAGetElementPtrInst(address)) return unknown;
  affine sum = address_of(s, LLVMGetOperand(address, 0), parameter, depth - 1);
  LLVMTypeRef type = LLVMGetGEPSourceElementType(address);
  for (unsigned i = 1; i <= LLVMGetNumIndices(address) && sum.known; i++) {
    LLVMValueRef index = LLVMGetOperand(address, i);
    if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
      unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);
      sum.distance += (int64_t)LLVMOffsetOfElement(layout, type, field);
      type = LLVMStructGetTypeAtIndex(type, field);
      continue;
    }
    if (i > 1 && LLVMGetTypeKind(type) != LLVMArrayTypeKind) return unknown;
    if (i > 1) type = LLVMGetElementType(type);
    affine by = number_of(s, index, depth - 1);
    int64_t size = (int64_t)LLVMABISizeOfType(layout, type);
    if (!by.known || size > FARTHEST) return unknown;
    sum.times += by.times * size, sum.distance += by.distance * size;
  }
  bool good = sum.known && sum.times <= FARTHEST && llabs(sum.distance) <= FARTHEST * (int64_t)MOST_TIMES;
  return good ? sum : unknown;
}

/* ---- what the kernel reaches ---- */

static void add_reach(kernel *k, reach made) {
  for (int i = 0; i < k->reach_count; i++) {
    reach *s = &k->reaches[i];
    if (s->parameter != made.parameter || s->times != made.times) continue;
    if (made.low < s->low) s->low = made.low;
    if (made.high > s->high) s->high = made.high;
    s->stored = s->stored || made.stored;
    return;
  }
  k->reaches = mw_realloc(k->reaches, (size_t)(k->reach_count + 1) * sizeof *k->reaches);
  k->reaches[k->reach_count++] = made;
}

static bool note_access(search *s, LLVMValueRef i) {
  bool stores = LLVMIsAStoreInst(i) != NULL;
  LLVMValueRef address = LLVMGetOperand(i, stores ? 1 : 0), parameter = NULL;
  if (LLVMGetVolatile(i) || LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic) return false;
  memory_kind kind = memory_of(address);
  if (kind == MEMORY_LOCAL || (!stores && kind == MEMORY_CONSTANT)) return true;
  affine at = address_of(s, address, &parameter, DEPTH);
  unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
  if (!at.known || (stores && !at.times)) return false;
  unsigned number = 0;
  while (LLVMGetParam(s->k->body, number) != parameter) number++;
  if (LLVMGetEnumAttributeAtIndex(s->k->body, number + 1, byval)) return !stores;
  LLVMTypeRef type = stores ? LLVMTypeOf(LLVMGetOperand(i, 0)) : LLVMTypeOf(i);
  int64_t bytes = (int64_t)LLVMStoreSizeOfType(s->p->layout, type);
  add_reach(s->k, (reach){number, at.times, at.distance, at.distance + bytes, stores});
  return true;
}

static bool are_within_elements(const reach *a, const reach *b) {
  int64_t low = a->low < b->low ? a->low : b->low, high = a->high > b->high ? a->high : b->high;
  return a->times == b->times && high - low <= a->times;
}

static bool are_free(const kernel *k) {
  for (int i = 0; i < k->reach_count; i++) {
    const reach *s = &k->reaches[i];
    for (int j = 0; j < k->reach_count && s->stored; j++)
      if (k->reaches[j].parameter == s->parameter && !are_within_elements(s, &k->reaches[j])) return false;
  }
  return true;
}

void find_free_rounds(const program *p, kernel *k, const grid_loop *l) {
  enum { MOST_REACHES = 12 };
  search s = {.p = p, .l = l, .k = k, .most_times = 1};
  instructions all = instructions_of_function(k->body);
  bool good = true;
  for (size_t i = 0; i < all.count && good; i++) {
    LLVMValueRef here = all.items[i];
    bool reaches = LLVMIsALoadInst(here) || LLVMIsAStoreInst(here);
    good = reaches ? note_access(&s, here) : is_harmless(here);
  }
  free(all.items);
  good = good && k->reach_count > 0 && k->reach_count <= MOST_REACHES && are_free(k);
  if (!good) k->reach_count = 0;
  /* so that no number made of the count is more than one of 32 bits, signed, can be; and no distance more than half of 64 bits */
  k->most_elements = (((int64_t)1 << 31) - 4 * FARTHEST) / s.most_times;
}

/* ---- when it is launched ---- */

typedef struct launch_code {
  program *p;
  const kernel *k;
  LLVMBuilderRef b;
  LLVMValueRef frame, params;
} launch_code;

/* What `v` is, from the parameters. */
static LLVMValueRef value_at_launch(const launch_code *c, LLVMValueRef v) {
  program *p = c->p;
  if (LLVMIsAArgument(v)) {
    unsigned i = 0;
    while (LLVMGetParam(c->k->body, i) != v) i++;
    LLVMTypeRef type = LLVMTypeOf(v);
    size_t offset = c->k->params[i].offset;
    if (type != p->i1) return load_invariant(p, c->b, type, c->params, offset);
    return LLVMBuildICmp(c->b, LLVMIntNE, load_invariant(p, c->b, p->i8, c->params, offset), LLVMConstNull(p->i8), "");
  }
  if (!LLVMIsAInstruction(v)) return v;
  unsigned count = count_operands(v);
  LLVMValueRef operands[MOST_OPERANDS], copy = LLVMInstructionClone(v);
  for (unsigned i = 0; i < count; i++) operands[i] = value_at_launch(c, LLVMGetOperand(v, i));
  for (unsigned i = 0; i < count; i++) LLVMSetOperand(copy, i, operands[i]);
  LLVMInstructionSetDebugLoc(copy, NULL); /* its place is in another function */
  LLVMInsertIntoBuilder(c->b, copy);
  return copy;
}

/* The first byte that is reached, or behind the last. */
static LLVMValueRef edge(const launch_code *c, const reach *s, LLVMValueRef base, LLVMValueRef last) {
  program *p = c->p;
  LLVMValueRef at = LLVMBuildAdd(c->b, base, constant_i64(p, (uint64_t)(last ? s->high : s->low)), "");
  if (!last || !s->times) return at;
  return LLVMBuildAdd(c->b, at, LLVMBuildMul(c->b, last, constant_i64(p, (uint64_t)s->times), ""), "");
}

/* Whether what is stored by the one and reached by the other lie apart, or are the same elements. */
static LLVMValueRef do_not_meet(const launch_code *c, const reach *s, const reach *other, LLVMValueRef last) {
  program *p = c->p;
  LLVMValueRef a = load_invariant(p, c->b, p->i64, c->params, c->k->params[s->parameter].offset),
               b = load_invariant(p, c->b, p->i64, c->params, c->k->params[other->parameter].offset);
  LLVMValueRef below = LLVMBuildICmp(c->b, LLVMIntULE, edge(c, s, a, last), edge(c, other, b, NULL), "");
  LLVMValueRef above = LLVMBuildICmp(c->b, LLVMIntULE, edge(c, other, b, last), edge(c, s, a, NULL), "");
  LLVMValueRef apart = LLVMBuildOr(c->b, below, above, "");
  if (!are_within_elements(s, other)) return apart;
  return LLVMBuildOr(c->b, apart, LLVMBuildICmp(c->b, LLVMIntEQ, a, b, ""), "");
}

/* rounds = the elements, by so many as the grid has threads; 0 where they are too many, or none, or reaches meet. */
void build_free_rounds(program *p, kernel *k) {
  if (!k->reach_count || k->rounds) return;
  char *name = mw_format("rounds.%s", k->linkage);
  launch_code c = {.p = p, .k = k, .b = LLVMCreateBuilderInContext(p->context)};
  k->rounds = LLVMAddFunction(p->module, name, LLVMFunctionType(p->i64, &p->pointer, 1, 0));
  free(name);
  LLVMSetLinkage(k->rounds, LLVMInternalLinkage);
  prefer_widest(p, k->rounds);
  c.frame = LLVMGetParam(k->rounds, 0);
  LLVMPositionBuilderAtEnd(c.b, LLVMAppendBasicBlockInContext(p->context, k->rounds, "entry"));
  c.params = load_invariant(p, c.b, p->pointer, c.frame, offsetof(mw_frame, params));
  LLVMValueRef end = value_at_launch(&c, k->rounds_end), one = constant_i64(p, 1);
  end = k->rounds_signed ? LLVMBuildSExt(c.b, end, p->i64, "") : LLVMBuildZExt(c.b, end, p->i64, "");
  LLVMValueRef last = LLVMBuildSub(c.b, end, one, "");
  LLVMValueRef good = LLVMBuildICmp(c.b, LLVMIntULT, last, constant_i64(p, (uint64_t)k->most_elements), "");
  for (int i = 0; i < k->reach_count; i++) {
    const reach *s = &k->reaches[i];
    for (int j = 0; j < k->reach_count && s->stored; j++)
      if (k->reaches[j].parameter != s->parameter)
        good = LLVMBuildAnd(c.b, good, do_not_meet(&c, s, &k->reaches[j], last), "");
  }
  LLVMValueRef blocks = load_invariant(p, c.b, p->i32, c.frame, offsetof(mw_frame, grid));
  LLVMValueRef threads =
      LLVMBuildMul(c.b, LLVMBuildZExt(c.b, blocks, p->i64, ""), constant_i64(p, block_size(p, 'x')), "");
  LLVMValueRef rounds = LLVMBuildAdd(c.b, LLVMBuildUDiv(c.b, last, threads, ""), one, "");
  LLVMBuildRet(c.b, LLVMBuildSelect(c.b, good, rounds, constant_i64(p, 0), ""));
  LLVMDisposeBuilder(c.b);
}
