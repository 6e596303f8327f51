/* The control-flow graph of a kernel: numbered nodes, which are basic blocks cut after every barrier.
 *
 * It is built once; the analyses and the widening use its nodes and numbers instead of LLVM's lists. Kernels that a
 * gang cannot run are refused with the reason that a report shows. */
#include "simt.h"
#include "mwcc/support/predicates.h"
#include "analysis.h"

#include <stdlib.h>
#include <string.h>

/* ---- barriers ---- */

bool is_barrier(LLVMValueRef i) {
  if (!LLVMIsACallInst(i)) return false;
  const char *name = callee_name(i);
  if (strcmp(name, BLOCK_WAIT) == 0) return true;
  return starts_with(name, "__mw_barrier.") || strcmp(name, "llvm.nvvm.barrier0") == 0 ||
         starts_with(name, "llvm.nvvm.barrier.cta.") || starts_with(name, "llvm.nvvm.barrier.sync") ||
         starts_with(name, "llvm.nvvm.barrier.n") || strcmp(name, "llvm.nvvm.barrier") == 0 ||
         starts_with(name, "llvm.nvvm.bar.sync");
}

/* ---- address spaces ---- */

enum { SPACE_GLOBAL = 1, SPACE_SHARED = 3, SPACE_CONSTANT = 4, SPACE_LOCAL = 5 };

static memory_kind memory_of_space(unsigned space) {
  switch (space) {
  case SPACE_GLOBAL: return MEMORY_GLOBAL;
  case SPACE_SHARED: return MEMORY_SHARED;
  case SPACE_CONSTANT: return MEMORY_CONSTANT;
  case SPACE_LOCAL: return MEMORY_LOCAL;
  default: return MEMORY_UNKNOWN;
  }
}

static memory_kind memory_within(LLVMValueRef pointer, int depth) {
  memory_kind found = memory_of_space(LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)));
  if (found != MEMORY_UNKNOWN || depth == 0) return found;
  if (LLVMIsAAllocaInst(pointer)) return MEMORY_LOCAL;
  if (LLVMIsAGlobalVariable(pointer) && LLVMIsGlobalConstant(pointer)) return MEMORY_CONSTANT;
  switch (opcode_of(pointer)) {
  case LLVMGetElementPtr:
  case LLVMAddrSpaceCast:
  case LLVMBitCast: return memory_within(LLVMGetOperand(pointer, 0), depth - 1);
  case LLVMSelect: {
    memory_kind a = memory_within(LLVMGetOperand(pointer, 1), depth - 1);
    return a == memory_within(LLVMGetOperand(pointer, 2), depth - 1) ? a : MEMORY_UNKNOWN;
  }
  case LLVMPHI: {
    found = memory_within(LLVMGetIncomingValue(pointer, 0), depth / 2);
    for (unsigned i = 1; i < LLVMCountIncoming(pointer); i++) {
      LLVMValueRef incoming = LLVMGetIncomingValue(pointer, i);
      /* a pointer that a loop advances */
      if (opcode_of(incoming) == LLVMGetElementPtr && LLVMGetOperand(incoming, 0) == pointer) continue;
      if (memory_within(incoming, depth / 2) != found) return MEMORY_UNKNOWN;
    }
    return found;
  }
  default: return MEMORY_UNKNOWN;
  }
}

memory_kind memory_of(LLVMValueRef pointer) { return memory_within(pointer, 16); }

/* ---- numbers of instructions and parameters, and of blocks (a block's is its first node) ---- */

struct number {
  LLVMValueRef key;
  int value;
};

static struct number *number_slot(const graph *g, LLVMValueRef key) {
  unsigned at = (unsigned)(((uintptr_t)key >> 4) * 2654435761u) & g->number_mask;
  while (g->numbers[at].key && g->numbers[at].key != key) at = (at + 1) & g->number_mask;
  return &g->numbers[at];
}

static void set_number(graph *g, LLVMValueRef key, int value) { *number_slot(g, key) = (struct number){key, value}; }

int graph_number(const graph *g, LLVMValueRef value) {
  const struct number *slot = number_slot(g, value);
  return slot->key ? slot->value : -1;
}

int graph_node_of(const graph *g, LLVMValueRef instruction) {
  int number = graph_number(g, instruction);
  return number < 0 || number >= g->value_count ? -1 : g->node_of[number];
}

int graph_incoming(const graph *g, LLVMValueRef phi, unsigned i) {
  return graph_node_of(g, LLVMGetBasicBlockTerminator(LLVMGetIncomingBlock(phi, i)));
}

/* ---- objections: what a gang cannot run ---- */

typedef struct visited {
  LLVMValueRef *items;
  size_t count;
  bool pointers; /* the possible callees of indirect calls were visited */
} visited;

static bool interacts(LLVMValueRef function, visited *seen);

/* An indirect call may reach any function whose address is taken. */
static bool call_interacts(LLVMValueRef call, visited *seen) {
  LLVMValueRef callee = LLVMGetCalledValue(call);
  if (LLVMIsAInlineAsm(callee)) return true;
  if (LLVMIsAFunction(callee)) return !LLVMIsDeclaration(callee) && interacts(callee, seen);
  if (seen->pointers) return false;
  seen->pointers = true;
  LLVMModuleRef module = LLVMGetGlobalParent(LLVMGetBasicBlockParent(LLVMGetInstructionParent(call)));
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
    if (!LLVMIsDeclaration(f) && has_address_taken(f) && interacts(f, seen)) return true;
  return false;
}

/* Whether a function, or one that it calls, may wait for or observe other threads, so that it cannot be serialised by
   lane. */
static bool interacts(LLVMValueRef function, visited *seen) {
  for (size_t i = 0; i < seen->count; i++)
    if (seen->items[i] == function) return false;
  seen->items = mw_realloc(seen->items, (seen->count + 1) * sizeof *seen->items);
  seen->items[seen->count++] = function;
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block))
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
      if (waits_for_warp(i)) return true;
      if (!LLVMIsACallInst(i)) continue;
      if (is_barrier(i) || is_warp_call(callee_name(i)) || call_interacts(i, seen)) return true;
    }
  return false;
}

static const char *call_objection(LLVMValueRef call) {
  if (LLVMIsAInlineAsm(LLVMGetCalledValue(call))) return "inline PTX";
  if (is_named_barrier(callee_name(call))) return "a named barrier, for which only a part of the block waits";
  visited seen = {0};
  bool needs = call_interacts(call, &seen);
  free(seen.items);
  return needs ? "a call, not inlined, of a function that may wait for other threads" : NULL;
}

static const char *objection(LLVMValueRef i) {
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMSwitch: return "a switch that could not be turned into branches";
  case LLVMIndirectBr: return "a computed goto";
  case LLVMInvoke:
  case LLVMCallBr:
  case LLVMLandingPad:
  case LLVMResume: return "an exception";
  case LLVMVAArg: return "a variable argument list";
  case LLVMCall: return call_objection(i);
  default: return NULL;
  }
}

/* ---- building ---- */

static node *add_node(graph *g, LLVMBasicBlockRef block, LLVMValueRef first) {
  g->nodes = mw_realloc(g->nodes, (size_t)(g->count + 1) * sizeof *g->nodes);
  g->nodes[g->count] = (node){.block = block, .first = first};
  return &g->nodes[g->count++];
}

static void add_block(graph *g, LLVMBasicBlockRef block, const char **why) {
  LLVMValueRef i = LLVMGetFirstInstruction(block);
  set_number(g, LLVMBasicBlockAsValue(block), g->count);
  node *here = add_node(g, block, i);
  for (; i; i = LLVMGetNextInstruction(i)) {
    if (!*why) *why = objection(i);
    g->values[g->value_count] = i;
    g->node_of[g->value_count] = g->count - 1;
    set_number(g, i, g->value_count++);
    here->last = i;
    if (g->seamless || !is_barrier(i)) continue;
    here->barrier = true;
    here = add_node(g, block, LLVMGetNextInstruction(i));
  }
}

static void connect(graph *g) {
  for (int n = 0; n < g->count; n++) {
    node *here = &g->nodes[n];
    if (here->barrier) {
      here->succs[here->succ_count++] = n + 1;
      continue;
    }
    here->returns = LLVMIsAReturnInst(here->last) != NULL;
    if (!LLVMIsABranchInst(here->last)) continue;
    for (unsigned s = 0; s < LLVMGetNumSuccessors(here->last); s++)
      here->succs[here->succ_count++] = graph_number(g, LLVMBasicBlockAsValue(LLVMGetSuccessor(here->last, s)));
  }
  for (int n = 0; n < g->count; n++)
    for (int s = 0; s < g->nodes[n].succ_count; s++) g->nodes[g->nodes[n].succs[s]].pred_count++;
  for (int n = 0; n < g->count; n++) {
    g->nodes[n].preds = mw_alloc((size_t)(g->nodes[n].pred_count + 1) * sizeof(int));
    g->nodes[n].pred_count = 0;
  }
  for (int n = 0; n < g->count; n++)
    for (int s = 0; s < g->nodes[n].succ_count; s++) {
      node *to = &g->nodes[g->nodes[n].succs[s]];
      to->preds[to->pred_count++] = n;
    }
}

bool graph_build(program *p, LLVMValueRef function, bool seamless, graph *out, const char **why) {
  graph *g = out;
  unsigned keys = LLVMCountBasicBlocks(function) + LLVMCountParams(function), size = 64;
  *g = (graph){.program = p, .function = function, .seamless = seamless};
  *why = NULL;
  instructions all = instructions_of_function(function);
  keys += (unsigned)all.count;
  free(all.items);
  while (size < 2 * keys) size *= 2;
  g->numbers = mw_alloc(size * sizeof *g->numbers);
  g->number_mask = size - 1;
  g->values = mw_alloc((keys + 1) * sizeof *g->values);
  g->node_of = mw_alloc((keys + 1) * sizeof *g->node_of);
  LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function);
  for (; block && !*why; block = LLVMGetNextBasicBlock(block)) add_block(g, block, why);
  if (*why) {
    graph_free(g);
    return false;
  }
  connect(g);
  for (unsigned i = 0; i < LLVMCountParams(function); i++)
    set_number(g, LLVMGetParam(function, i), g->value_count + (int)i);
  find_local_arrays(g);
  find_raced_loads(g);
  prepare_ranges(g);
  return true;
}

void graph_free(graph *g) {
  for (int n = 0; n < g->count; n++) free(g->nodes[n].preds);
  free(g->nodes);
  free(g->values);
  free(g->node_of);
  free(g->numbers);
  free(g->local_unit);
  free(g->raced);
  forget_ranges(g);
  *g = (graph){0};
}

static int node_succs(const void *context, int n, int out[2]) {
  const node *here = &((const graph *)context)->nodes[n];
  for (int i = 0; i < here->succ_count; i++) out[i] = here->succs[i];
  return here->succ_count;
}

flow graph_flow(const graph *g) { return (flow){.count = g->count, .succs = node_succs, .context = g}; }

static bool is_dead_end(const graph *g, int n, bool *seen) {
  if (seen[n]) return true;
  seen[n] = true;
  if (g->nodes[n].barrier || g->nodes[n].returns) return false;
  for (int s = 0; s < g->nodes[n].succ_count; s++)
    if (!is_dead_end(g, g->nodes[n].succs[s], seen)) return false;
  return true;
}

bool ends_launch(const graph *g, int n) {
  bool *seen = mw_alloc((size_t)g->count + 1), ends = is_dead_end(g, n, seen);
  free(seen);
  return ends;
}
