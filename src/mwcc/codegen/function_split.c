/* Splits huge functions: LLVM's optimiser and code generator take time that grows with the square of a function's
 * length and worse (register allocation, live intervals, dominators), so regions of a limited length become functions
 * of their own, which several threads then compile.
 *
 * Regions have a single entry and a single exit, and are consecutive. From the entry on, each block is followed by its
 * immediate post-dominator: a chain of segments, of which as many as fit become a region. In a segment that is too long
 * by itself (a loop, such as that over the blocks of the launch, or a long branch) the same is done with its parts.
 * Long blocks are divided first, where few values are live. Each region costs a call, and a store and a load for each
 * vector that crosses its borders, even if only cold code needs it: the code outside of cold blocks has to outweigh
 * that. So parts that are mostly cold, such as checks in the inner loop of a tiled product, stay where they are. */
#include "outline.h"
#include "mwcc/read/read.h"
#include "mwcc/target/tuning.h"
#include "codegen.h"

#include <llvm-c/Support.h>

#include <stdlib.h>
#include <string.h>

enum {
  HUGE_FUNCTION = TUNE_HUGE_FUNCTION,
  MOST = TUNE_SPLIT_MOST,
  FEWEST = MOST / 4,
  CHUNK = MOST / 4, /* instructions of a block, at most */
  DEPTH = 4,        /* operations that are repeated in the region rather than passed */
  CROSSING = TUNE_SPLIT_CROSSING,
  UNLIKELY = 32 /* a branch's weights differ at least by this factor: the other side is cold */
};

/* ---- long blocks ---- */

typedef struct numbered {
  LLVMValueRef value;
  size_t at;
} numbered;

static int by_value(const void *left, const void *right) {
  const numbered *a = left, *b = right;
  return ((uintptr_t)a->value > (uintptr_t)b->value) - ((uintptr_t)a->value < (uintptr_t)b->value);
}

/* For each place in the block, the number of its values that are live there. */
static int *count_live_at(LLVMBasicBlockRef block, const LLVMValueRef *items, size_t count) {
  numbered *sorted = mw_alloc((count + 1) * sizeof *sorted);
  int *live = mw_alloc((count + 2) * sizeof *live);
  for (size_t n = 0; n < count; n++) sorted[n] = (numbered){items[n], n};
  qsort(sorted, count, sizeof *sorted, by_value);
  for (size_t n = 0; n < count; n++) {
    size_t last = n;
    for (LLVMUseRef use = LLVMGetFirstUse(items[n]); use && last < count; use = LLVMGetNextUse(use)) {
      const numbered key = {.value = LLVMGetUser(use)};
      const numbered *found = LLVMGetInstructionParent(key.value) != block || LLVMIsAPHINode(key.value)
                                  ? NULL
                                  : bsearch(&key, sorted, count, sizeof *sorted, by_value);
      if (!found || found->at > last) last = found ? found->at : count;
    }
    live[n + 1]++, live[last < count ? last + 1 : count + 1]--;
  }
  for (size_t n = 1; n <= count; n++) live[n] += live[n - 1];
  free(sorted);
  return live;
}

static void divide_block(program *p, LLVMBasicBlockRef block) {
  LLVMValueRef *items = NULL;
  size_t count = 0, room = 0, first = 0;
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
    if (count == room) items = mw_realloc(items, (room = 2 * room + 256) * sizeof *items);
    if (LLVMIsAPHINode(i) || LLVMIsAAllocaInst(i)) first = count + 1;
    items[count++] = i;
  }
  if (count - first > CHUNK) {
    int *live = count_live_at(block, items, count);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
    if (first > 0 && LLVMIsAAllocaInst(items[first - 1])) { /* the entry, which stays */
      LLVMPositionBuilderAtEnd(b, split_block(p, items[first]));
      LLVMBuildBr(b, block);
    }
    for (size_t from = first; count - from > CHUNK;) {
      size_t best = from + CHUNK / 2;
      for (size_t at = best; at < from + CHUNK; at++)
        if (live[at] <= live[best]) best = at;
      LLVMPositionBuilderAtEnd(b, split_block(p, items[best]));
      LLVMBuildBr(b, block);
      from = best;
    }
    LLVMDisposeBuilder(b);
    free(live);
  }
  free(items);
}

/* ---- regions ---- */

typedef struct chosen {
  extraction region;
  int place; /* of its entry, in reverse postorder */
} chosen;

typedef struct split {
  program *p;
  LLVMValueRef function;
  LLVMBasicBlockRef *blocks; /* by number, 0 the entry */
  numbered *numbers;         /* the blocks by address */
  int count;
  int (*succs)[2], *succ_counts;
  size_t *weights;
  bool *cold;  /* by block: only reached by unlikely branches */
  bool *stays; /* has an alloca, or does not end with a branch */
  order o;
  bool *visited;     /* by block: it has begun a segment */
  bool *taken;       /* by block: it is in a region already */
  int *stack, *list; /* scratch: the blocks of the region that is being grown */
  bool *in;          /* by block */
  chosen *regions;
  size_t region_count;
} split;

static int number_of_block(const split *s, LLVMBasicBlockRef block) {
  const numbered key = {.value = LLVMBasicBlockAsValue(block)};
  const numbered *found = bsearch(&key, s->numbers, (size_t)s->count, sizeof key, by_value);
  return (int)found->at;
}

static int successors(const void *context, int n, int out[2]) {
  const split *s = context;
  memcpy(out, s->succs[n], sizeof s->succs[n]);
  return s->succ_counts[n];
}

/* False if a block ends with a switch. */
static bool read_graph(split *s) {
  size_t room = LLVMCountBasicBlocks(s->function) + 1;
  s->count = (int)room - 1;
  s->blocks = mw_alloc(room * sizeof(LLVMBasicBlockRef));
  s->numbers = mw_alloc(room * sizeof *s->numbers);
  s->succs = mw_alloc(room * sizeof *s->succs), s->succ_counts = mw_alloc(room * sizeof *s->succ_counts);
  s->weights = mw_alloc(room * sizeof *s->weights), s->stays = mw_alloc(room), s->cold = mw_alloc(room);
  s->taken = mw_alloc(room), s->visited = mw_alloc(room), s->in = mw_alloc(room);
  s->stack = mw_alloc(2 * room * sizeof *s->stack), s->list = mw_alloc(room * sizeof *s->list);
  LLVMGetBasicBlocks(s->function, s->blocks);
  for (int n = 0; n < s->count; n++) s->numbers[n] = (numbered){LLVMBasicBlockAsValue(s->blocks[n]), (size_t)n};
  qsort(s->numbers, (size_t)s->count, sizeof *s->numbers, by_value);
  for (int n = 0; n < s->count; n++) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(s->blocks[n]);
    s->succ_counts[n] = (int)LLVMGetNumSuccessors(end);
    if (s->succ_counts[n] > 2) return false;
    for (int i = 0; i < s->succ_counts[n]; i++) s->succs[n][i] = number_of_block(s, LLVMGetSuccessor(end, (unsigned)i));
    s->stays[n] = !LLVMIsABranchInst(end);
    for (LLVMValueRef i = LLVMGetFirstInstruction(s->blocks[n]); i; i = LLVMGetNextInstruction(i)) {
      s->weights[n]++;
      if (LLVMIsAAllocaInst(i)) s->stays[n] = true;
    }
  }
  return true;
}

/* The successor that a branch hardly ever takes, or -1. */
static int unlikely_successor(const split *s, int n) {
  LLVMValueRef end = LLVMGetBasicBlockTerminator(s->blocks[n]), operands[8];
  LLVMValueRef weights = LLVMGetMetadata(end, LLVMGetMDKindIDInContext(s->p->context, "prof", 4));
  unsigned count = weights ? (unsigned)LLVMGetMDNodeNumOperands(weights) : 0;
  if (s->succ_counts[n] != 2 || count < 3 || count > MW_COUNT(operands)) return -1;
  LLVMGetMDNodeOperands(weights, operands);
  LLVMValueRef first = operands[count - 2], second = operands[count - 1];
  if (!LLVMIsAConstantInt(first) || !LLVMIsAConstantInt(second)) return -1;
  uint64_t one = LLVMConstIntGetZExtValue(first), other = LLVMConstIntGetZExtValue(second);
  if (one / UNLIKELY >= other) return s->succs[n][1];
  return other / UNLIKELY >= one ? s->succs[n][0] : -1;
}

/* A block is cold if its dominator is, or hardly ever branches to it. */
static void find_cold(split *s) {
  for (int i = 1; i < s->o.rpo_count; i++) {
    int n = s->o.rpo[i], above = s->o.idom[n];
    s->cold[n] = s->cold[above] || unlikely_successor(s, above) == n;
  }
}

/* A region that is being put together. */
typedef struct candidate {
  int entry, exit;      /* entry -1: none */
  size_t weight, count; /* its blocks: s->list[0 … count - 1] */
} candidate;

/* Add the blocks from `start` to `exit`; false, and nothing is added, if they are not a region together with the
   others, or more than `MOST` instructions. */
static bool grow(split *s, candidate *c, int start, int exit) {
  size_t depth = 0, before = c->count;
  bool is_region = true;
  s->stack[depth++] = start;
  while (depth && is_region) {
    int n = s->stack[--depth];
    if (s->in[n] || n == exit) continue;
    s->in[n] = true, s->list[c->count++] = n, c->weight += s->weights[n];
    is_region = !s->stays[n] && !s->taken[n] && c->weight <= MOST && dominates(&s->o, c->entry, n) && n != 0;
    for (int i = s->succ_counts[n]; i-- > 0;) s->stack[depth++] = s->succs[n][i];
  }
  if (is_region && !s->in[exit]) {
    c->exit = exit;
    return true;
  }
  while (c->count > before) {
    int n = s->list[--c->count];
    s->in[n] = false, c->weight -= s->weights[n];
  }
  return false;
}

static bool has_instruction(const split *s, LLVMValueRef i) {
  return s->in[number_of_block(s, LLVMGetInstructionParent(i))];
}

static bool is_live_out(const split *s, LLVMValueRef i) {
  for (LLVMUseRef use = LLVMGetFirstUse(i); use; use = LLVMGetNextUse(use))
    if (!has_instruction(s, LLVMGetUser(use))) return true;
  return false;
}

/* Values that are live into the region, but for those that it computes again, and those that are live out of it. */
static size_t crossings(const split *s, const candidate *c) {
  numbered *in = NULL;
  size_t count = 0, room = 0, live = 0;
  for (size_t k = 0; k < c->count; k++)
    for (LLVMValueRef i = LLVMGetFirstInstruction(s->blocks[s->list[k]]); i; i = LLVMGetNextInstruction(i)) {
      live += is_live_out(s, i);
      for (int o = 0; o < LLVMGetNumOperands(i); o++) {
        LLVMValueRef value = LLVMGetOperand(i, (unsigned)o);
        if (!LLVMIsAInstruction(value) || has_instruction(s, value) || is_rematerialisable(value)) continue;
        if (count == room) in = mw_realloc(in, (room = 2 * room + 64) * sizeof *in);
        in[count++].value = value;
      }
    }
  if (count) qsort(in, count, sizeof *in, by_value);
  for (size_t n = 0; n < count; n++) live += n == 0 || in[n].value != in[n - 1].value;
  free(in);
  return live;
}

static size_t hot_weight(const split *s, const candidate *c) {
  size_t weight = 0;
  for (size_t k = 0; k < c->count; k++) weight += s->cold[s->list[k]] ? 0 : s->weights[s->list[k]];
  return weight;
}

static void drop(split *s, candidate *c) {
  for (size_t k = 0; k < c->count; k++) s->in[s->list[k]] = false;
  *c = (candidate){.entry = -1};
}

/* Take the candidate if it pays for a call, and begin another. */
static void close_region(split *s, candidate *c) {
  if (c->entry >= 0 && c->weight >= FEWEST && CROSSING * crossings(s, c) < hot_weight(s, c)) {
    extraction e = {.blocks = mw_alloc((c->count + 1) * sizeof *e.blocks),
                    .count = c->count,
                    .entry = s->blocks[c->entry],
                    .exit = s->blocks[c->exit],
                    .depth = DEPTH};
    s->regions = mw_realloc(s->regions, (s->region_count + 1) * sizeof *s->regions);
    s->regions[s->region_count++] = (chosen){e, s->o.index[c->entry]};
    for (size_t k = 0; k < c->count; k++) {
      e.blocks[k] = s->blocks[s->list[k]];
      s->taken[s->list[k]] = true;
    }
  }
  drop(s, c);
}

static bool has_node(const split *s, int l, int n) { return l < 0 || s->o.loops[l].contains[n]; }

/* Where control is after the block and, if it is a loop's header, after the loop; -1: nowhere in the loop `around`. */
static int next_segment(const split *s, int n, int around) {
  int l = s->o.innermost[n], next = s->o.ipdom[n];
  while (l >= 0 && l != around && s->o.loops[l].parent != around) l = s->o.loops[l].parent;
  while (l >= 0 && l != around && next >= 0 && s->o.loops[l].contains[next]) next = s->o.ipdom[next];
  return next >= 0 && has_node(s, around, next) ? next : -1;
}

/* The chain from `n` to `stop`, or to the end of the loop `around` (-1: of the function). */
static void walk(split *s, int n, int stop, int around) {
  candidate c = {.entry = -1};
  for (int next; n >= 0 && n != stop && !s->visited[n]; n = next) {
    s->visited[n] = true;
    next = next_segment(s, n, around);
    if (next >= 0 && c.entry >= 0 && grow(s, &c, n, next)) continue;
    close_region(s, &c);
    c.entry = n;
    if (next >= 0 && grow(s, &c, n, next)) continue;
    c.entry = -1;
    int l = s->o.innermost[n];
    bool enters = l >= 0 && l != around && s->o.loops[l].header == n;
    for (int i = 0; i < s->succ_counts[n]; i++) {
      int to = s->succs[n][i];
      if (to == n || (to == next && !enters) || !has_node(s, enters ? l : around, to) || !dominates(&s->o, n, to))
        continue;
      walk(s, to, enters ? n : next >= 0 ? next : stop, enters ? l : around);
    }
  }
  close_region(s, &c);
}

/* ---- functions ---- */

static size_t weight_of(LLVMValueRef function) {
  size_t weight = 0;
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block))
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) weight++;
  return weight;
}

/* A region is extracted before the one that follows it, while its exit is still in the same function. */
static int by_place(const void *left, const void *right) {
  const chosen *a = left, *b = right;
  return (a->place > b->place) - (a->place < b->place);
}

static void extract_chosen(split *s, const kernel *k) {
  program *p = s->p;
  bool has_lines = LLVMGetSubprogram(s->function);
  if (s->region_count) qsort(s->regions, s->region_count, sizeof *s->regions, by_place);
  for (size_t n = 0; n < s->region_count; n++) {
    extraction *e = &s->regions[n].region;
    char *name = mw_format("part%zu.%s", p->split_count, k->linkage);
    e->name = name, e->line = (unsigned)k->line;
    e->scope = has_lines ? program_new_scope(p, k, NULL) : NULL;
    p->split = mw_realloc(p->split, (p->split_count + 1) * sizeof *p->split);
    p->split[p->split_count++] = extract_region(p, s->function, e);
    free(name);
  }
}

static void split_free(split *s) {
  for (size_t n = 0; n < s->region_count; n++) free(s->regions[n].region.blocks);
  free(s->blocks), free(s->numbers), free(s->succs), free(s->succ_counts), free(s->weights), free(s->stays);
  free(s->cold), free(s->taken), free(s->visited), free(s->in), free(s->stack), free(s->list), free(s->regions);
}

static void split_function(program *p, const kernel *k, LLVMValueRef function) {
  split s = {.p = p, .function = function};
  size_t count = LLVMCountBasicBlocks(function);
  LLVMBasicBlockRef *blocks = mw_alloc((count + 1) * sizeof(LLVMBasicBlockRef));
  LLVMGetBasicBlocks(function, blocks);
  for (size_t n = 0; n < count; n++) divide_block(p, blocks[n]);
  free(blocks);
  if (read_graph(&s)) {
    flow f = {.count = s.count, .entry = 0, .succs = successors, .context = &s};
    s.o = order_of(&f);
    find_cold(&s);
    walk(&s, 0, -1, -1);
    order_free(&s.o);
    extract_chosen(&s, k);
  }
  split_free(&s);
}

/* Scheduling after register allocation took a quarter of the time for 3,000 loads and stores in a row; processors that
   execute out of order gain nothing from it. There is no option for a function. */
static void disable_late_scheduling(void) {
  static const char *const words[] = {"mwcc", "-post-RA-scheduler=false"};
  LLVMParseCommandLineOptions((int)MW_COUNT(words), words, "");
}

void split_functions(program *p) {
  for (size_t i = 0; i < p->kernel_count; i++) {
    const kernel *k = &p->kernels[i];
    LLVMValueRef functions[2 * MOST_VARIANTS + 3];
    size_t count = 0;
    for (int n = 0; n < k->variant_count; n++) {
      functions[count++] = k->variants[n].function;
      functions[count++] = k->variants[n].fallback;
    }
    functions[count++] = k->variant_count ? k->general : k->run;
    functions[count++] = k->thread_function;
    for (size_t n = 0; n < count; n++)
      if (functions[n] && !LLVMIsDeclaration(functions[n]) && weight_of(functions[n]) > HUGE_FUNCTION)
        split_function(p, k, functions[n]);
  }
  if (p->split_count) {
    disable_late_scheduling();
    if (p->debug) LLVMDIBuilderFinalize(p->debug);
    verify_module(p, "splitting");
  }
}
