/* Tier selection, by a summary of the call graph: whether a kernel's threads wait, which needs a stack for each of
 * them; which shared variables it uses, and their offsets in its block's memory; and which texture and surface
 * references it reads, which must be bound.
 *
 * Runs on the device module, after inlining and before the built-ins are lowered. An indirect call may reach every
 * function whose address is taken. */
#include "mwcc/mwcc.h"
#include "mwcc/analysis/analysis.h"
#include "prepare.h"

#include <stdlib.h>
#include <string.h>

typedef struct call_node { /* one defined function */
  LLVMValueRef function;
  bool waits, sees_warp,
      has_block_wait;   /* itself: for others of the block, of the warp, or in a loop (cuda::barrier) */
  bool observes_blocks; /* itself: observes other blocks */
  bool *uses;           /* the shared variables, and after them the variables, that it refers to itself */
  bool calls_pointers, address_taken;
  size_t *callees, callee_count;
} call_node;

typedef struct call_graph {
  program *p;
  call_node *nodes;
  size_t count;
} call_graph;

static call_node *find_node(call_graph *g, LLVMValueRef function) {
  for (size_t i = 0; i < g->count; i++)
    if (g->nodes[i].function == function) return &g->nodes[i];
  return NULL;
}

static bool waits(const char *name) {
  return starts_with(name, "__mw_barrier.") || starts_with(name, "llvm.nvvm.barrier") ||
         starts_with(name, "llvm.nvvm.bar.sync");
}

static void note_globals(call_graph *g, call_node *n, LLVMValueRef value) {
  if (!LLVMIsAConstant(value) || LLVMIsAFunction(value)) return;
  for (size_t i = 0; i < g->p->shared_count; i++)
    if (g->p->shareds[i].global == value) n->uses[i] = true;
  for (size_t i = 0; i < g->p->variable_count; i++)
    if (g->p->variables[i].global == value) n->uses[g->p->shared_count + i] = true;
  int count = LLVMIsAGlobalVariable(value) ? 0 : LLVMGetNumOperands(value);
  for (int i = 0; i < count; i++) note_globals(g, n, LLVMGetOperand(value, (unsigned)i));
}

static void note_call(call_graph *g, call_node *n, LLVMValueRef call) {
  LLVMValueRef callee = LLVMGetCalledValue(call);
  if (LLVMIsAInlineAsm(callee)) return;
  if (!LLVMIsAFunction(callee)) {
    n->calls_pointers = true;
    return;
  }
  if (waits(callee_name(call))) n->waits = true;
  call_node *target = find_node(g, callee);
  if (!target) return;
  n->callees = mw_realloc(n->callees, (n->callee_count + 1) * sizeof *n->callees);
  n->callees[n->callee_count++] = (size_t)(target - g->nodes);
}

static void read_node(call_graph *g, call_node *n) {
  n->uses = mw_alloc(g->p->shared_count + g->p->variable_count + 1);
  n->address_taken = has_address_taken(n->function);
  instructions list = instructions_of_function(n->function);
  for (size_t k = 0; k < list.count; k++) {
    LLVMValueRef i = list.items[k];
    int count = LLVMGetNumOperands(i);
    for (int o = 0; o < count; o++)
      if (!LLVMValueIsBasicBlock(LLVMGetOperand(i, (unsigned)o))) note_globals(g, n, LLVMGetOperand(i, (unsigned)o));
    if (waits_for_warp(i)) n->sees_warp = true;
    if (is_block_wait(i) || (LLVMIsACallInst(i) && is_word_wait(callee_name(i)))) n->waits = n->has_block_wait = true;
    if (observes_other_blocks(i)) n->observes_blocks = true;
    if (LLVMIsACallInst(i)) note_call(g, n, i);
  }
  free(list.items);
}

static call_graph read_call_graph(program *p) {
  call_graph g = {.p = p};
  EACH_FUNCTION(p, f) {
    if (LLVMIsDeclaration(f)) continue;
    g.nodes = mw_realloc(g.nodes, (g.count + 1) * sizeof *g.nodes);
    g.nodes[g.count++] = (call_node){.function = f};
  }
  for (size_t i = 0; i < g.count; i++) read_node(&g, &g.nodes[i]);
  return g;
}

static void reach(call_graph *g, size_t from, bool *seen) {
  if (seen[from]) return;
  seen[from] = true;
  call_node *n = &g->nodes[from];
  for (size_t i = 0; i < n->callee_count; i++) reach(g, n->callees[i], seen);
  for (size_t i = 0; n->calls_pointers && i < g->count; i++)
    if (g->nodes[i].address_taken) reach(g, i, seen);
}

/* Offsets: a variable follows all earlier ones that some kernel uses together with it. */
static void place_shared(program *p, bool **used) {
  for (size_t s = 0; s < p->shared_count; s++) {
    shared *here = &p->shareds[s];
    size_t offset = 0;
    for (size_t t = 0; t < s; t++) {
      const shared *other = &p->shareds[t];
      bool together = false;
      for (size_t k = 0; k < p->kernel_count; k++) together = together || (used[k][s] && used[k][t]);
      if (together && !other->dynamic && other->offset + other->size > offset) offset = other->offset + other->size;
    }
    here->offset = (offset + here->align - 1) / here->align * here->align;
  }
  for (size_t k = 0; k < p->kernel_count; k++) {
    kernel *owner = &p->kernels[k];
    size_t align = 16; /* of dynamic shared memory, which follows the static variables */
    for (size_t s = 0; s < p->shared_count; s++) {
      const shared *here = &p->shareds[s];
      if (!used[k][s]) continue;
      if (here->dynamic) owner->dynamic_shared = true;
      if ((here->dynamic || here->align > 256) && here->align > align) align = here->align;
      if (here->dynamic) continue;
      if (here->offset + here->size > owner->shared_bytes) owner->shared_bytes = here->offset + here->size;
    }
    owner->shared_bytes = (owner->shared_bytes + align - 1) / align * align;
  }
}

static void list_references(program *p, kernel *k, const bool *used) {
  k->references = mw_alloc((p->variable_count + 1) * sizeof *k->references);
  for (size_t i = 0; i < p->variable_count; i++)
    if (used[i] && p->variables[i].reference) k->references[k->reference_count++] = i;
}

void choose_tiers(program *p) {
  size_t globals = p->shared_count + p->variable_count;
  call_graph g = read_call_graph(p);
  bool **used = mw_alloc((p->kernel_count + 1) * sizeof *used);
  for (size_t k = 0; k < p->kernel_count; k++) {
    kernel *owner = &p->kernels[k];
    bool *seen = mw_alloc(g.count + 1);
    used[k] = mw_alloc(globals + 1);
    reach(&g, (size_t)(find_node(&g, owner->body) - g.nodes), seen);
    owner->tier = "loop";
    owner->tier_reason = "its threads do not wait for each other";
    owner->any_order = true;
    owner->sees_warp = p->options->observe != 0; /* watched code runs warp by warp */
    for (size_t i = 0; i < g.count; i++) {
      if (!seen[i]) continue;
      for (size_t s = 0; s < globals; s++) used[k][s] = used[k][s] || g.nodes[i].uses[s];
      owner->sees_warp = owner->sees_warp || g.nodes[i].sees_warp;
      owner->has_block_wait = owner->has_block_wait || g.nodes[i].has_block_wait;
      owner->any_order = owner->any_order && !g.nodes[i].observes_blocks;
      owner->waits = owner->waits || owner->sees_warp || g.nodes[i].waits;
    }
    if (p->follows) owner->sees_warp = owner->waits = true; /* the run follows each thread */
    if (owner->waits) {
      owner->tier = "fiber";
      owner->tier_reason = p->follows              ? "each thread is checked separately (--checks)"
                           : p->options->observe   ? "its warps are watched"
                           : owner->sees_warp      ? "its threads wait for others of their warp"
                           : owner->has_block_wait ? "its threads wait for others of their block"
                                                   : "its threads wait at a barrier";
    }
    free(seen);
    list_references(p, owner, used[k] + p->shared_count);
  }
  place_shared(p, used);
  for (size_t k = 0; k < p->kernel_count; k++) free(used[k]);
  free(used);
}
