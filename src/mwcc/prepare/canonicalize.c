/* Normalisation of kernels: LLVM's own passes bring them into the form that the SIMT analyses require (simt.h).
 *
 * Only passes that are safe for code that lanes will execute together: no vectorisation, unswitching, jump threading or
 * loop idioms, and nothing that moves a call across a branch. Barriers are still `convergent`, so that no pass changes
 * the control flow around them. This runs after retarget (the module is the host's, division is defined) and before
 * lower_threads (built-ins are still intrinsics). */
#include "mwcc/analysis/simt.h"
#include "mwcc/analysis/analysis.h"
#include "mwcc/support/checked_access.h"
#include "prepare.h"

#include <stdlib.h>
#include <string.h>

/* ---- inlining: all functions that are neither recursive nor too large ---- */

enum { MOST_INSTRUCTIONS = 20000 }; /* with its callees inlined; a larger function is called */

typedef struct callee {
  LLVMValueRef function;
  size_t size; /* with all that is inlined into it */
  enum { NEW, OPEN, DONE, CALLED } state;
} callee;

typedef struct callees {
  callee *items;
  size_t count;
} callees;

static callee *find_callee(const callees *list, LLVMValueRef function) {
  for (size_t i = 0; i < list->count; i++)
    if (list->items[i].function == function) return &list->items[i];
  return NULL;
}

static bool has_attribute(LLVMValueRef function, const char *name) {
  return LLVMGetEnumAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                     LLVMGetEnumAttributeKindForName(name, strlen(name))) != NULL;
}

/* Postorder over the call graph. A callee that is still open is recursive. */
static void measure(program *p, const callees *list, callee *here) {
  here->state = OPEN;
  bool stays = has_attribute(here->function, "noinline") || has_attribute(here->function, "optnone");
  instructions all = instructions_of_function(here->function);
  here->size = all.count;
  for (size_t i = 0; i < all.count; i++) {
    callee *target = LLVMIsACallInst(all.items[i]) ? find_callee(list, LLVMGetCalledValue(all.items[i])) : NULL;
    if (!target) continue;
    if (target->state == NEW) measure(p, list, target);
    if (target->state == OPEN) target->size = MOST_INSTRUCTIONS + 1;
    if (target->state == DONE) here->size += target->size;
  }
  free(all.items);
  here->state = stays || here->size > MOST_INSTRUCTIONS ? CALLED : DONE;
  if (here->state == DONE) add_attribute(p, here->function, "alwaysinline");
}

void choose_inlined(program *p) {
  callees list = {0};
  EACH_FUNCTION(p, f) {
    if (LLVMIsDeclaration(f)) continue;
    list.items = mw_realloc(list.items, (list.count + 1) * sizeof *list.items);
    list.items[list.count++] = (callee){.function = f};
  }
  for (size_t i = 0; i < list.count; i++)
    if (list.items[i].state == NEW) measure(p, &list, &list.items[i]);
  for (size_t i = 0; i < p->kernel_count; i++) remove_attribute(p->kernels[i].body, "alwaysinline");
  free(list.items);
}

/* ---- facts for the passes ---- */

/* The ranges of ids by the device's limits. (CUDA C++ Programming Guide, technical specifications per compute
   capability) */
static const struct {
  const char *name;
  uint64_t low, end;
} limits[] = {{"tid.x", 0, 1024},          {"tid.y", 0, 1024},          {"tid.z", 0, 64},
              {"ntid.x", 1, 1025},         {"ntid.y", 1, 1025},         {"ntid.z", 1, 65},
              {"ctaid.x", 0, INT32_MAX},   {"ctaid.y", 0, 65535},       {"ctaid.z", 0, 65535},
              {"nctaid.x", 1, 1u << 31},   {"nctaid.y", 1, 65536},      {"nctaid.z", 1, 65536},
              {"laneid", 0, 32},           {"warpid", 0, 32},           {"warpsize", 32, 33},
              {"cluster.nctaid.x", 1, 17}, {"cluster.nctaid.y", 1, 17}, {"cluster.nctaid.z", 1, 17}};

void state_limits(program *p) {
  unsigned kind = LLVMGetEnumAttributeKindForName("range", 5);
  for (size_t i = 0; i < MW_COUNT(limits); i++) {
    char *name = mw_format("llvm.nvvm.read.ptx.sreg.%s", limits[i].name);
    LLVMValueRef f = LLVMGetNamedFunction(p->module, name);
    free(name);
    if (!f) continue;
    uint64_t end = limits[i].end;
    if (starts_with(limits[i].name, "tid.") && block_size(p, limits[i].name[4])) end = block_size(p, limits[i].name[4]);
    LLVMAttributeRef fact = LLVMCreateConstantRangeAttribute(p->context, kind, 32, &limits[i].low, &end);
    LLVMAddAttributeAtIndex(f, LLVMAttributeReturnIndex, fact);
  }
}

/* Memory that a `noalias` parameter points to may still be written by other threads after a barrier. */
static void forget_restrict(LLVMValueRef function) {
  bool waits = false;
  instructions all = instructions_of_function(function);
  for (size_t i = 0; i < all.count; i++) waits = waits || is_barrier(all.items[i]) || waits_for_warp(all.items[i]);
  free(all.items);
  unsigned noalias = LLVMGetEnumAttributeKindForName("noalias", 7);
  for (unsigned i = 1; waits && i <= LLVMCountParams(function); i++)
    LLVMRemoveEnumAttributeAtIndex(function, i, noalias);
}

/* ---- exit in the middle of a kernel ---- */

/* A return, by a branch that is always taken: the passes delete the code after it. */
static void end_thread(program *p, LLVMValueRef call) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  LLVMBasicBlockRef after = LLVMGetInstructionParent(call), head = split_block(p, call);
  LLVMBasicBlockRef end = LLVMInsertBasicBlockInContext(p->context, after, "exit");
  LLVMPositionBuilderAtEnd(b, head);
  LLVMBuildCondBr(b, LLVMConstInt(p->i1, 1, 0), end, after);
  LLVMPositionBuilderAtEnd(b, end);
  LLVMBuildRetVoid(b);
  LLVMDisposeBuilder(b);
  LLVMInstructionEraseFromParent(call);
}

/* Inline PTX's exit. */
static void end_threads(program *p) {
  EACH_FUNCTION(p, f) {
    bool entry = false;
    for (size_t i = 0; i < p->kernel_count; i++) entry = entry || p->kernels[i].body == f;
    instructions all = instructions_of_function(f);
    for (size_t i = 0; i < all.count; i++) {
      if (!LLVMIsACallInst(all.items[i]) || strcmp(callee_name(all.items[i]), THREAD_EXIT) != 0) continue;
      if (entry)
        end_thread(p, all.items[i]);
      else
        complain(p, all.items[i], "inline PTX 'exit' in a function that cannot be inlined into its kernel");
    }
    free(all.items);
  }
  if (p->complaints) quit(1);
}

/* ---- the passes ---- */

/* globaldce deletes dead functions and variables. Those that the program's description refers to have external linkage
   meanwhile, so that it keeps them. */
static void set_linkage(program *p, LLVMLinkage kernels, bool keep) {
  size_t n = 0;
  for (size_t i = 0; i < p->kernel_count; i++) LLVMSetLinkage(p->kernels[i].body, kernels);
  for (size_t i = 0; i < p->variable_count + p->shared_count; i++, n++) {
    LLVMValueRef global = i < p->variable_count ? p->variables[i].global : p->shareds[i - p->variable_count].global;
    if (keep) p->linkages[n] = LLVMGetLinkage(global);
    LLVMSetLinkage(global, keep ? LLVMExternalLinkage : p->linkages[n]);
  }
}

void keep_described(program *p) {
  p->linkages = mw_alloc((p->variable_count + p->shared_count + 1) * sizeof *p->linkages);
  set_linkage(p, LLVMExternalLinkage, true);
}

void release_described(program *p) {
  if (p->linkages) set_linkage(p, LLVMInternalLinkage, false);
  free(p->linkages);
  p->linkages = NULL;
}

void inline_marked(program *p) {
  run_passes(p, "always-inline,globaldce");
  if (LLVMGetNamedFunction(p->module, THREAD_EXIT)) end_threads(p);
}

void drop_noalias(program *p) {
  for (size_t i = 0; i < p->kernel_count; i++) forget_restrict(p->kernels[i].body);
}

void promote_values(program *p) {
  if (!merge_pure_calls(p)) run_passes(p, "function(sroa<modify-cfg>,early-cse<memssa>)");
}

/* Tests of values (values/) that have turned out never to find anything: they would count as calls when loops are
   unrolled. */
static void drop_passed_tests(program *p) {
  LLVMValueRef f = LLVMGetNamedFunction(p->module, CHECK_EVENT_IF);
  for (LLVMUseRef use = f ? LLVMGetFirstUse(f) : NULL, next; use; use = next) {
    LLVMValueRef call = LLVMGetUser(use), condition = LLVMGetOperand(call, 2);
    next = LLVMGetNextUse(use);
    if (LLVMIsAConstantInt(condition) && LLVMConstIntGetZExtValue(condition) == 0) LLVMInstructionEraseFromParent(call);
  }
}

/* Branches that only choose between values become selects first, since instcombine would sink the computations of the
   values into them, and lanes would diverge. __builtin_constant_p is decided here. */
void form_selections(program *p) {
  run_passes(p, "function(simplifycfg<no-switch-to-lookup>,instcombine<no-verify-fixpoint>,lower-constant-intrinsics,"
                "simplifycfg<no-switch-to-lookup>,loop(loop-rotate))");
  drop_passed_tests(p);
}

void normalise(program *p) {
  run_passes(p, "function(loop(loop-unroll-full),sroa<modify-cfg>,early-cse<memssa>,instcombine<no-verify-fixpoint>,"
                "simplifycfg<no-switch-to-lookup>,lower-switch,fix-irreducible,mergereturn,dce,loop-simplify,lcssa)");
  drop_passed_tests(p);
}
