/* Choice of a split for outlining (outline.c) in a function that is mostly one block: the second half of that block
 * becomes a function.
 *
 * Fully unrolled loops, as over a filter's elements, make such blocks: hundreds of multiply-adds into a few sums. Few
 * values are live at a time, not counting those that are rematerialised. The call may be executed by every gang, so
 * the block is only split if it is long for the number of values that cross, and never if it is a loop: a call in each
 * iteration costs more than it saves. */
#include "outline.h"
#include "mwcc/support/predicates.h"
#include "mwcc/target/tuning.h"
#include "codegen.h"

#include <stdlib.h>
#include <string.h>

enum { PAYS = TUNE_OUTLINE_PER_VALUE };

/* ---- rematerialisation ---- */

static bool is_vector(LLVMValueRef value) { return is_vector_type(LLVMTypeOf(value)); }

bool is_rematerialisable(LLVMValueRef i) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
  if (opcode == LLVMInsertElement) return LLVMIsUndef(LLVMGetOperand(i, 0)); /* or poison, which is an undef */
  if (opcode == LLVMShuffleVector)
    return LLVMIsAInsertElementInst(LLVMGetOperand(i, 0)) && LLVMIsUndef(LLVMGetOperand(i, 1));
  if (is_vector(i) || (LLVMGetNumOperands(i) && is_vector(LLVMGetOperand(i, 0)))) return false;
  if (opcode == LLVMCall) return is_pure(i) && LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMIntegerTypeKind;
  return is_integer_operation(i) || opcode == LLVMGetElementPtr || (opcode == LLVMLoad && is_pure(i));
}

/* ---- values ---- */

typedef struct value {
  LLVMValueRef value;
  int at;   /* its index in the block; -1: defined elsewhere */
  int last; /* the index of its last use there, also by rematerialised values */
  bool again;
} value;

typedef struct named {
  LLVMValueRef value;
  int number;
} named;

typedef struct halves {
  program *p;
  LLVMBasicBlockRef block;
  value *items; /* the block's values in order, then the other values that it uses */
  int own, count, room;
  named *by_address; /* the block's */
  int *changed_from; /* by index: the next instruction that may write memory */
  int leaving;       /* the number of the block's values that are used elsewhere, or in the next iteration */
  int first_place;   /* the first index after phis and allocas, which stay in the function */
} halves;

static int compare_addresses(const void *left, const void *right) {
  const named *a = left, *b = right;
  return ((uintptr_t)a->value > (uintptr_t)b->value) - ((uintptr_t)a->value < (uintptr_t)b->value);
}

static int find_own(const halves *h, LLVMValueRef target) {
  const named key = {.value = target},
              *found = bsearch(&key, h->by_address, (size_t)h->own, sizeof key, compare_addresses);
  return found ? found->number : -1;
}

static int add_item(halves *h, LLVMValueRef made, int at) {
  if (h->count == h->room) {
    h->room = 2 * h->room + 256;
    h->items = mw_realloc(h->items, (size_t)h->room * sizeof *h->items);
  }
  h->items[h->count] = (value){.value = made, .at = at, .last = -1};
  return h->count++;
}

static int find_item(halves *h, LLVMValueRef target) {
  int own = find_own(h, target);
  if (own >= 0) return own;
  for (int i = h->own; i < h->count; i++)
    if (h->items[i].value == target) return i;
  return add_item(h, target, -1);
}

static bool can_rematerialise(const halves *h, const value *v) {
  if (!LLVMIsAInstruction(v->value) || !is_rematerialisable(v->value)) return false;
  if (!LLVMIsALoadInst(v->value) || is_marked_invariant(h->p, v->value)) return true;
  return v->at >= 0 && h->changed_from[v->at] > v->last;
}

/* Note a use at index `last`. A rematerialised value needs its operands there; values defined elsewhere pass that on
   at once, since the backward walk visits the block's own values only. */
static void note_use(halves *h, LLVMValueRef made, int last) {
  if (!LLVMIsAInstruction(made) && !LLVMIsAArgument(made)) return;
  int n = find_item(h, made);
  if (h->items[n].last >= last) return;
  h->items[n].last = last;
  if (n < h->own || !can_rematerialise(h, &h->items[n])) return;
  h->items[n].again = true;
  for (int o = 0; o < LLVMGetNumOperands(made); o++) note_use(h, LLVMGetOperand(made, (unsigned)o), last);
}

static bool leaves(const halves *h, LLVMValueRef made) {
  for (LLVMUseRef use = LLVMGetFirstUse(made); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (LLVMGetInstructionParent(user) != h->block || LLVMIsAPHINode(user) || LLVMIsATerminatorInst(user)) return true;
  }
  return false;
}

static void read_block(halves *h) {
  LLVMValueRef end = LLVMGetBasicBlockTerminator(h->block);
  for (LLVMValueRef i = LLVMGetFirstInstruction(h->block); i != end; i = LLVMGetNextInstruction(i))
    add_item(h, i, h->count);
  h->own = h->count;
  h->by_address = mw_alloc((size_t)(h->own + 1) * sizeof *h->by_address);
  h->changed_from = mw_alloc((size_t)(h->own + 1) * sizeof(int));
  for (int i = 0; i < h->own; i++) h->by_address[i] = (named){h->items[i].value, i};
  qsort(h->by_address, (size_t)h->own, sizeof *h->by_address, compare_addresses);
  h->changed_from[h->own] = h->own;
  for (int i = h->own; i-- > 0;) {
    h->changed_from[i] = keeps_memory(h->items[i].value) ? h->changed_from[i + 1] : i;
    h->leaving += leaves(h, h->items[i].value);
    if (h->first_place == 0 && (LLVMIsAAllocaInst(h->items[i].value) || LLVMIsAPHINode(h->items[i].value)))
      h->first_place = i + 1;
  }
  for (int i = h->own; i-- > 0;) { /* backwards: all uses of a value are known when it is visited */
    LLVMValueRef here = h->items[i].value;
    bool again = h->items[i].again = h->items[i].last >= 0 && can_rematerialise(h, &h->items[i]);
    int last = again ? h->items[i].last : i;
    for (int o = 0; o < LLVMGetNumOperands(here) && !LLVMIsAPHINode(here); o++)
      note_use(h, LLVMGetOperand(here, (unsigned)o), last);
  }
}

/* ---- the choice ---- */

/* An estimate of the code from each instruction on: rematerialisable ones count nothing, as they fold into their
   users. */
static int *costs_after(const halves *h) {
  int *costs = mw_alloc(((size_t)h->own + 1) * sizeof *costs);
  for (int c = h->own; c-- > 0;) costs[c] = costs[c + 1] + !is_rematerialisable(h->items[c].value);
  return costs;
}

/* The index of the instruction to split before; 0: do not split. */
static int choose_place(const halves *h, size_t total) {
  size_t room = (size_t)h->own + 2, best = most_length(total);
  int *costs = costs_after(h), *handed = mw_alloc(room * sizeof *handed), *again = mw_alloc(room * sizeof *again),
      place = 0;
  for (int n = 0; n < h->count; n++) {
    const value *v = &h->items[n];
    int *list = v->again ? again : handed;
    if (v->last > v->at) list[v->at + 1]++, list[v->last + 1]--;
  }
  int in = 0, made = 0;
  for (int c = 0; c < h->own; c++) {
    in += handed[c], made += again[c];
    size_t taken = (size_t)h->own * (size_t)costs[c] / (size_t)(costs[0] + 1), live = (size_t)(in + h->leaving);
    if (c == 0 || c < h->first_place || taken < LEAST_HALF || total - taken < LEAST_HALF) continue;
    if (live > MOST_LIVE || taken < PAYS * live) continue;
    size_t length = length_of(total, taken, live) + (size_t)made;
    if (length < best) best = length, place = c;
  }
  free(costs), free(handed), free(again);
  return place;
}

/* ---- the split ---- */

static void branch_on(program *p, LLVMBasicBlockRef from, LLVMBasicBlockRef to) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  LLVMPositionBuilderAtEnd(b, from);
  LLVMBuildBr(b, to);
  LLVMDisposeBuilder(b);
}

static void cut_before(program *p, LLVMValueRef function, LLVMValueRef from, cfg *g, region *best) {
  LLVMBasicBlockRef end = LLVMGetInstructionParent(from), first = split_block(p, from);
  branch_on(p, first, end);
  LLVMBasicBlockRef second = split_block(p, LLVMGetBasicBlockTerminator(end));
  branch_on(p, second, end);
  g->count += 2;
  g->blocks = mw_realloc(g->blocks, (size_t)(g->count + 1) * sizeof *g->blocks);
  best->has = mw_realloc(best->has, (size_t)g->count + 1);
  memset(best->has, 0, (size_t)g->count + 1);
  LLVMGetBasicBlocks(function, g->blocks);
  for (int n = 0; n < g->count; n++) {
    if (g->blocks[n] == second) best->has[n] = true, best->entry = n;
    if (g->blocks[n] == end) best->exit = n;
  }
}

/* Whether the block is a loop other than the one over the blocks of the launch: that is, inside of another loop. */
static bool is_inner_loop(const cfg *g, LLVMBasicBlockRef block) {
  bool *seen = mw_alloc((size_t)g->count + 1), is_loop = false, returns = false;
  int *stack = mw_alloc((size_t)(g->count + 1) * sizeof *stack), depth = 0;
  LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
  for (unsigned s = 0; s < LLVMGetNumSuccessors(end); s++) {
    int n = number_of(g, LLVMGetSuccessor(end, s));
    if (g->blocks[n] == block)
      is_loop = true;
    else if (!seen[n])
      seen[n] = true, stack[depth++] = n;
  }
  while (is_loop && !returns && depth) {
    LLVMValueRef branch = LLVMGetBasicBlockTerminator(g->blocks[stack[--depth]]);
    for (unsigned s = 0; s < LLVMGetNumSuccessors(branch); s++) {
      int n = number_of(g, LLVMGetSuccessor(branch, s));
      if (g->blocks[n] == block) returns = true;
      if (!seen[n]) seen[n] = true, stack[depth++] = n;
    }
  }
  free(seen), free(stack);
  return is_loop && returns;
}

bool choose_half(program *p, LLVMValueRef function, cfg *g, region *best) {
  size_t total = 0, most = 0;
  halves h = {.p = p};
  for (int n = 0; n < g->count; n++) {
    size_t weight = 0;
    for (LLVMValueRef i = LLVMGetFirstInstruction(g->blocks[n]); i; i = LLVMGetNextInstruction(i)) weight++;
    if (weight > most) most = weight, h.block = g->blocks[n];
    total += weight;
  }
  if (total < LEAST || most < LEAST_HALF || is_inner_loop(g, h.block)) return false;
  read_block(&h);
  int place = choose_place(&h, total);
  if (place) cut_before(p, function, h.items[place].value, g, best);
  free(h.items), free(h.by_address), free(h.changed_from);
  return place > 0;
}
