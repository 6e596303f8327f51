/* Raced loads: loads from one address whose value a data race can make differ between the gangs of a block.
 *
 * Gangs execute a barrier region one after the other. So a load from one address gives all of them the same value only
 * if nothing writes there at the same time: neither an earlier gang, whose stores of the region are complete, nor
 * another block. Even with such a race a thread's own variable must not change at the next barrier. So each gang saves
 * values that may be raced (SHAPE_RACED), and if one decides which barrier comes next, gangs may disagree
 * (emission.h). */
#include "simt.h"
#include "mwcc/support/predicates.h"
#include "analysis.h"

#include <stdlib.h>

/* The shared memory that gangs may write in one region. */
typedef struct writes {
  bool unknown;        /* an unknown address is written */
  LLVMValueRef *roots; /* the shared variables */
  size_t count;
} writes;

static void add_root(writes *w, LLVMValueRef root) {
  for (size_t i = 0; i < w->count; i++)
    if (w->roots[i] == root) return;
  w->roots = mw_realloc(w->roots, (w->count + 1) * sizeof *w->roots);
  w->roots[w->count++] = root;
}

/* The shared variable that contains an address, or NULL. */
static LLVMValueRef shared_variable(LLVMValueRef address) {
  LLVMValueRef root = root_of(address);
  return LLVMIsAGlobalVariable(root) ? root : NULL;
}

/* The address that an instruction writes to, or NULL. */
static LLVMValueRef written_address(LLVMValueRef i) {
  if (LLVMIsAStoreInst(i)) return LLVMGetOperand(i, 1);
  return LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i) ? LLVMGetOperand(i, 0) : NULL;
}

static void note_write(writes *w, LLVMValueRef i) {
  if (keeps_memory(i) || LLVMIsALoadInst(i) || LLVMIsAAllocaInst(i)) return;
  LLVMValueRef address = written_address(i), root = address ? shared_variable(address) : NULL;
  memory_kind kind = address ? memory_of(address) : MEMORY_UNKNOWN;
  if (address && LLVMIsAArgument(root_of(address))) return; /* parameters do not point to shared memory */
  if (kind == MEMORY_SHARED && root)
    add_root(w, root);
  else if (kind == MEMORY_SHARED || kind == MEMORY_UNKNOWN)
    w->unknown = true;
}

/* The nodes of the region that begins at list[0], and what they write. */
static int walk_region(const graph *g, int *list, int *seen, int number, writes *w) {
  int count = 1;
  seen[list[0]] = number;
  for (int at = 0; at < count; at++) {
    const node *here = &g->nodes[list[at]];
    for (LLVMValueRef i = here->first; i != here->last; i = LLVMGetNextInstruction(i)) note_write(w, i);
    for (int s = 0; s < here->succ_count && !here->barrier; s++) {
      if (seen[here->succs[s]] == number) continue;
      seen[here->succs[s]] = number;
      list[count++] = here->succs[s];
    }
  }
  return count;
}

/* Memory that does not change during a launch. */
static bool never_changes(const graph *g, LLVMValueRef load) {
  LLVMValueRef address = LLVMGetOperand(load, 0);
  return memory_of(address) == MEMORY_CONSTANT || is_marked_invariant(g->program, load) || is_byval_parameter(address);
}

static bool is_written(const writes *w, LLVMValueRef address) {
  LLVMValueRef root = shared_variable(address);
  bool found = w->unknown || (!root && w->count > 0);
  for (size_t i = 0; i < w->count; i++) found = found || w->roots[i] == root;
  return found;
}

static void mark_raced_loads(graph *g, int n, const writes *w) {
  const node *here = &g->nodes[n];
  for (LLVMValueRef i = here->first; i != here->last; i = LLVMGetNextInstruction(i)) {
    if (!LLVMIsALoadInst(i) || never_changes(g, i)) continue;
    LLVMValueRef address = LLVMGetOperand(i, 0);
    if (memory_of(address) != MEMORY_SHARED || is_written(w, address)) g->raced[graph_number(g, i)] = true;
  }
}

void find_raced_loads(graph *g) {
  bool any = false;
  for (int n = 0; n < g->count; n++) any = any || g->nodes[n].barrier;
  if (!any) return; /* no value lives across a barrier */
  int *list = mw_alloc((size_t)(g->count + 1) * sizeof *list), *seen = mw_alloc((size_t)(g->count + 1) * sizeof *seen);
  g->raced = mw_alloc((size_t)g->value_count + 1);
  for (int n = -1; n < g->count; n++) {
    if (n >= 0 && !g->nodes[n].barrier) continue;
    list[0] = n < 0 ? 0 : g->nodes[n].succs[0];
    writes w = {0};
    int count = walk_region(g, list, seen, n + 2, &w);
    for (int i = 0; i < count; i++) mark_raced_loads(g, list[i], &w);
    free(w.roots);
  }
  free(list);
  free(seen);
}

bool may_be_raced(const graph *g, LLVMValueRef load) { return g->raced && g->raced[graph_number(g, load)]; }

bool diverges_at_barriers(const graph *g, const order *o, int at) {
  int *list = mw_alloc((size_t)(g->count + 1) * sizeof *list), count = 0;
  bool *seen = mw_alloc((size_t)g->count + 1), found = false;
  list[count++] = at;
  for (int next = 0; next < count && !found; next++) {
    const node *here = &g->nodes[list[next]];
    found = here->barrier;
    for (int s = 0; s < here->succ_count; s++) {
      int to = here->succs[s];
      if (to == o->ipdom[at] || seen[to]) continue;
      seen[to] = true;
      list[count++] = to;
    }
  }
  free(list);
  free(seen);
  return found;
}
