/* Choice of the region to outline: single entry and single exit, about half of the function, few values live across
 * its borders, and run at most once for each block of the launch.
 *
 * A function of some thousand instructions has hundreds of blocks, and each block is the entry of as many regions as
 * blocks post-dominate it. To examine all of them in reasonable time, a region is grown from one post-dominator to the
 * next, and the block pairs that each value crosses are computed in advance. */
#include "outline.h"
#include "codegen.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TRIED = 20000 }; /* regions whose live values are counted: a bound on the time for one function */

/* ---- the control-flow graph ---- */

/* A value that one block defines and another uses. The crossings of a value are consecutive. */
typedef struct crossing {
  LLVMValueRef value;
  int from, to; /* -1: a parameter */
} crossing;

typedef struct place {
  LLVMBasicBlockRef block;
  int number;
} place;

typedef struct map {
  const cfg *g;
  place *places; /* by address */
  int (*succs)[2], *succ_counts;
  size_t *weights, total;
  bool *makes_arrays; /* an alloca in the region would allocate again with each call */
  crossing *crossings;
  size_t crossing_count;
} map;

static int by_address(const void *left, const void *right) {
  const place *a = left, *b = right;
  return ((uintptr_t)a->block > (uintptr_t)b->block) - ((uintptr_t)a->block < (uintptr_t)b->block);
}

static int by_value(const void *left, const void *right) {
  const crossing *a = left, *b = right;
  if (a->value != b->value) return (uintptr_t)a->value < (uintptr_t)b->value ? -1 : 1;
  return (a->to > b->to) - (a->to < b->to);
}

static int place_of(const map *m, LLVMBasicBlockRef block) {
  const place key = {.block = block}, *found = bsearch(&key, m->places, (size_t)m->g->count, sizeof key, by_address);
  return found->number;
}

/* False if a block ends with anything but a branch or a return. */
static bool read_blocks(map *m) {
  size_t room = (size_t)m->g->count + 1;
  m->places = mw_alloc(room * sizeof *m->places);
  m->succs = mw_alloc(room * sizeof *m->succs);
  m->succ_counts = mw_alloc(room * sizeof *m->succ_counts);
  m->weights = mw_alloc(room * sizeof *m->weights);
  m->makes_arrays = mw_alloc(room);
  for (int n = 0; n < m->g->count; n++) m->places[n] = (place){m->g->blocks[n], n};
  qsort(m->places, (size_t)m->g->count, sizeof *m->places, by_address);
  for (int n = 0; n < m->g->count; n++) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(m->g->blocks[n]);
    if (!LLVMIsABranchInst(end) && !LLVMIsAReturnInst(end)) return false;
    m->succ_counts[n] = (int)LLVMGetNumSuccessors(end);
    for (int i = 0; i < m->succ_counts[n]; i++) m->succs[n][i] = place_of(m, LLVMGetSuccessor(end, (unsigned)i));
    for (LLVMValueRef i = LLVMGetFirstInstruction(m->g->blocks[n]); i; i = LLVMGetNextInstruction(i)) {
      m->weights[n]++;
      if (LLVMIsAAllocaInst(i)) m->makes_arrays[n] = true;
    }
    m->total += m->weights[n];
  }
  return true;
}

static void read_crossings(map *m) {
  size_t room = 0, count = 0;
  for (int n = 0; n < m->g->count; n++)
    for (LLVMValueRef i = LLVMGetFirstInstruction(m->g->blocks[n]); i; i = LLVMGetNextInstruction(i))
      for (int o = 0; o < LLVMGetNumOperands(i); o++) {
        LLVMValueRef value = LLVMGetOperand(i, (unsigned)o);
        if (!is_from_elsewhere(value, m->g->blocks[n])) continue;
        if (count == room) {
          room = 2 * room + 64;
          m->crossings = mw_realloc(m->crossings, room * sizeof *m->crossings);
        }
        int from = LLVMIsAInstruction(value) ? place_of(m, LLVMGetInstructionParent(value)) : -1;
        m->crossings[count++] = (crossing){value, from, n};
      }
  if (count) qsort(m->crossings, count, sizeof *m->crossings, by_value);
  for (size_t i = 0; i < count; i++) /* each once */
    if (i == 0 || by_value(&m->crossings[i - 1], &m->crossings[i]) != 0)
      m->crossings[m->crossing_count++] = m->crossings[i];
}

static void map_free(map *m) {
  free(m->places), free(m->succs), free(m->succ_counts), free(m->weights), free(m->makes_arrays), free(m->crossings);
}

static int successors(const void *context, int n, int out[2]) {
  const map *m = context;
  memcpy(out, m->succs[n], sizeof m->succs[n]);
  return m->succ_counts[n];
}

/* ---- the choice ---- */

/* Add the blocks reachable from `start` without passing the exit; false if they can be entered elsewhere than at the
   entry. */
static bool grow(const map *m, const order *o, region *r, int start, int *stack) {
  int depth = 0;
  stack[depth++] = start;
  while (depth) {
    int n = stack[--depth];
    if (r->has[n] || n == r->exit) continue;
    r->has[n] = true;
    r->weight += m->weights[n];
    if (!dominates(o, r->entry, n)) return false;
    for (int i = m->succ_counts[n]; i-- > 0;) stack[depth++] = m->succs[n][i];
  }
  return true;
}

/* The number of values live into or out of the region; the count stops above `most`. */
static size_t count_live(const map *m, const region *r, size_t most) {
  size_t live = 0;
  for (size_t i = 0, next; i < m->crossing_count && live <= most; i = next) {
    bool made = m->crossings[i].from >= 0 && r->has[m->crossings[i].from], crosses = false;
    for (next = i; next < m->crossing_count && m->crossings[next].value == m->crossings[i].value; next++)
      crosses |= r->has[m->crossings[next].to] != made;
    live += crosses;
  }
  return live;
}

static bool makes_arrays(const map *m, const region *r) {
  for (int n = 0; n < m->g->count; n++)
    if (r->has[n] && m->makes_arrays[n]) return true;
  return false;
}

/* The loop that contains the node and is not headed by it; -1: none. */
static int loop_around(const order *o, int n) {
  int l = o->innermost[n];
  return l >= 0 && o->loops[l].header == n ? o->loops[l].parent : l;
}

static bool choose(const map *m, const order *o, region *best) {
  size_t size = (size_t)m->g->count, least = most_length(m->total), tried = 0;
  region r = {.has = mw_alloc(size + 1)};
  int *stack = mw_alloc((2 * size + 2) * sizeof *stack);
  bool found = false;
  for (int n = 1; n < m->g->count && tried < MOST_TRIED; n++) {
    int around = loop_around(o, n), last = n; /* last: the region's exit so far */
    if (o->index[n] < 0 || (around >= 0 && o->loops[around].depth > 1)) continue;
    memset(r.has, 0, size);
    r.weight = 0, r.entry = n;
    for (int exit = o->ipdom[n]; exit >= 0; exit = o->ipdom[exit]) {
      if (loop_around(o, exit) != around) continue;
      r.exit = exit;
      if (r.has[exit]) { /* the new exit is inside: grow the region afresh */
        memset(r.has, 0, size);
        r.weight = 0, last = n;
      }
      if (!grow(m, o, &r, last, stack)) break;
      last = exit;
      if (r.weight < LEAST_HALF || m->total - r.weight < LEAST_HALF || length_of(m->total, r.weight, 0) >= least)
        continue;
      tried++;
      size_t live = count_live(m, &r, MOST_LIVE);
      if (live > MOST_LIVE || length_of(m->total, r.weight, live) >= least || makes_arrays(m, &r)) continue;
      least = length_of(m->total, r.weight, live), found = true;
      memcpy(best->has, r.has, size);
      best->weight = r.weight, best->entry = n, best->exit = exit;
    }
  }
  free(r.has), free(stack);
  return found;
}

bool choose_region(LLVMValueRef function, cfg *g, region *best) {
  map m = {.g = g};
  bool found = false;
  g->count = (int)LLVMCountBasicBlocks(function);
  g->blocks = mw_alloc((size_t)(g->count + 1) * sizeof *g->blocks);
  best->has = mw_alloc((size_t)g->count + 1);
  LLVMGetBasicBlocks(function, g->blocks);
  if (read_blocks(&m) && m.total >= LEAST) {
    flow f = {.count = g->count, .entry = 0, .succs = successors, .context = &m};
    order o = order_of(&f);
    read_crossings(&m);
    found = choose(&m, &o, best);
    order_free(&o);
  }
  map_free(&m);
  return found;
}
