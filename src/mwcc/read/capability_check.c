/* Checks of the compute capability: uses of features that devices of the requested capability lack are errors, with the
 * capability that they need. capability_table.c lists functions; the rules of the language are here.
 *
 * Calls are checked before anything is inlined, while they have names. Functions of the device headers have no debug
 * information and are called from a line of the source; calls within them do not count. A program's own function of the
 * same name, such as the guide's atomicAdd() of double, is not one of them. */
#include "capability_table.h"
#include "read.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int capability_of(const program *p) { return p->options->capability; }

static void refuse(program *p, LLVMValueRef at, int since, const char *what, const char *instead) {
  int have = capability_of(p);
  if (have >= since) return;
  complain(p, at, "%s came with compute capability %d.%d, and this is compiled for %d.%d%s%s", what, since / 10,
           since % 10, have / 10, have % 10, instead ? ": " : "", instead ? instead : "");
}

/* ---- calls ---- */

/* "_ZL9atomicAddILi0EEfPff" -> "atomicAdd", followed by "ILi0EEfPff"; false if the name is not plain. */
static bool split_name(const char *linkage, char *name, size_t size, const char **rest) {
  char *at;
  if (!starts_with(linkage, "_Z")) return false;
  linkage += 2 + (linkage[2] == 'L');
  if (starts_with(linkage, "pl") || starts_with(linkage, "mi") || starts_with(linkage, "ml") ||
      starts_with(linkage, "dv")) {
    snprintf(name, size, "operator");
    *rest = linkage + 2;
    return true;
  }
  if (!isdigit((unsigned char)*linkage)) return false;
  size_t length = strtoul(linkage, &at, 10);
  if (length >= size || strlen(at) < length) return false;
  memcpy(name, at, length);
  name[length] = '\0';
  *rest = at + length;
  return true;
}

static bool is_groups(const char *linkage) { return strstr(linkage, "18cooperative_groups") != NULL; }

/* Functions of clusters. The CPU device has them, whatever capability it stands for: its launches are checked. */
static bool is_cluster(const program *p, const char *linkage) {
  return p->options->gpu && (strstr(linkage, "13cluster_group") || strstr(linkage, "__cluster"));
}

/* Launches from kernels: a member of a class of the headers. */
static bool is_launch(const char *linkage) { return strstr(linkage, "11__mw_launch") && strstr(linkage, "EEclE"); }

static void check_device_runtime(program *p, LLVMValueRef call, const char *linkage) {
  int have = capability_of(p);
  if (is_launch(linkage)) refuse(p, call, 35, "launches from kernels", "launch it from the host");
  if (have >= 90 && strstr(linkage, "21cudaDeviceSynchronizeI"))
    complain(p, call,
             "cudaDeviceSynchronize() in kernels ended before compute capability 9.0, and this is compiled for %d.%d: "
             "do what follows it in another kernel, launched into the same stream or into cudaStreamTailLaunch",
             have / 10, have % 10);
}

static void check_call(program *p, LLVMValueRef call) {
  LLVMValueRef callee = LLVMGetCalledValue(call);
  if (LLVMIsAInlineAsm(callee)) return;
  if (!LLVMIsAFunction(callee)) {
    refuse(p, call, 20, "a call through a pointer, or of a virtual function,",
           "call the function by its name, or give it as a template parameter");
    return;
  }
  const char *linkage = callee_name(call), *rest;
  char name[128];
  const feature *f = LLVMIsDeclaration(callee) || starts_with(linkage, "_Z") ? feature_of_import(linkage) : NULL;
  if (!f) check_device_runtime(p, call, linkage);
  if (!f && is_cluster(p, linkage)) refuse(p, call, 90, "clusters of blocks", NULL);
  if (!f && LLVMGetSubprogram(callee)) return;
  if (!f && split_name(linkage, name, sizeof name, &rest)) f = feature_of(name, rest);
  if (f) refuse(p, call, f->since, f->what, f->instead);
  if (!f && is_groups(linkage)) {
    bool grid = strstr(linkage, "10grid_group") && strstr(linkage, "sync");
    refuse(p, call, grid ? 60 : 30, grid ? "barriers of the whole grid" : "cooperative groups",
           grid ? "end the kernel, and launch another" : "use __syncthreads()");
  }
}

/* ---- double ---- */

static bool holds_double(LLVMTypeRef type) {
  switch (LLVMGetTypeKind(type)) {
  case LLVMDoubleTypeKind: return true;
  case LLVMArrayTypeKind:
  case LLVMVectorTypeKind: return holds_double(LLVMGetElementType(type));
  case LLVMStructTypeKind:
    for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++)
      if (holds_double(LLVMStructGetTypeAtIndex(type, i))) return true;
    return false;
  default: return false;
  }
}

/* The first use of a variable, since its declaration has no position. */
static LLVMValueRef use_with_place(LLVMValueRef memory) {
  LLVMValueRef first = memory;
  for (LLVMUseRef use = LLVMGetFirstUse(memory); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    unsigned line = LLVMIsAInstruction(user) ? LLVMGetDebugLocLine(user) : 0;
    if (line && (first == memory || line < LLVMGetDebugLocLine(first))) first = user;
  }
  return first;
}

/* A double that is stored. Mere computation in double, because of a constant without the suffix f, is allowed, as in
   CUDA's compiler. */
static LLVMValueRef keeps_double(LLVMValueRef i) {
  if (LLVMIsAAllocaInst(i) && holds_double(LLVMGetAllocatedType(i))) return use_with_place(i);
  if (LLVMIsALoadInst(i) && holds_double(LLVMTypeOf(i))) return i;
  if (LLVMIsAStoreInst(i) && holds_double(LLVMTypeOf(LLVMGetOperand(i, 0)))) return i;
  return NULL;
}

/* ---- recursion ---- */

typedef struct walk {
  program *p;
  LLVMValueRef *path; /* the chain of calls, outermost first */
  size_t length;
  LLVMValueRef *done;
  size_t done_count;
} walk;

static bool contains(LLVMValueRef *list, size_t count, LLVMValueRef function) {
  for (size_t i = 0; i < count; i++)
    if (list[i] == function) return true;
  return false;
}

static void follow(walk *w, LLVMValueRef function) {
  if (contains(w->done, w->done_count, function)) return;
  w->done[w->done_count++] = function;
  w->path[w->length++] = function;
  instructions list = instructions_of_function(function);
  for (size_t i = 0; i < list.count; i++) {
    LLVMValueRef callee = LLVMIsACallInst(list.items[i]) ? LLVMGetCalledValue(list.items[i]) : NULL;
    if (!callee || !LLVMIsAFunction(callee) || LLVMIsDeclaration(callee)) continue;
    if (contains(w->path, w->length, callee))
      refuse(w->p, list.items[i], 20, "recursion", "write it as a loop");
    else
      follow(w, callee);
  }
  free(list.items);
  w->length--;
}

static void check_recursion(program *p) {
  size_t count = 0;
  EACH_FUNCTION(p, f) count++;
  walk w = {.p = p, .path = mw_alloc((count + 1) * sizeof *w.path), .done = mw_alloc((count + 1) * sizeof *w.done)};
  EACH_FUNCTION(p, f) {
    if (!LLVMIsDeclaration(f)) follow(&w, f);
  }
  free(w.path);
  free(w.done);
}

/* ---- all of it ---- */

void check_features(program *p) {
  if (!capability_of(p)) return;
  unsigned line = 0; /* of the last error about double, of which each line has one */
  EACH_FUNCTION(p, f) {
    if (LLVMIsDeclaration(f) || !LLVMGetSubprogram(f)) continue;
    instructions list = instructions_of_function(f);
    for (size_t i = 0; i < list.count; i++) {
      if (LLVMIsACallInst(list.items[i])) check_call(p, list.items[i]);
      LLVMValueRef at = keeps_double(list.items[i]);
      if (!at || LLVMGetDebugLocLine(at) == line) continue;
      line = LLVMGetDebugLocLine(at);
      refuse(p, at, 13, "double", "write float");
    }
    free(list.items);
  }
  if (capability_of(p) < 20) check_recursion(p);
}

void check_sizes(program *p) {
  mw_capability limits;
  char name[24];
  int capability = capability_of(p) ? capability_of(p) : 90; /* parameters are bounded in any case */
  snprintf(name, sizeof name, "%d.%d", capability / 10, capability % 10);
  if (mw_capability_find(name, &limits) != MW_SUCCESS) die("%s", mw_error_last()->message);
  size_t constant = 0;
  for (size_t i = 0; i < p->variable_count && capability_of(p); i++)
    if (p->variables[i].constant && !p->variables[i].internal) constant += p->variables[i].size;
  if (constant > (size_t)limits.total_constant)
    complain(p, NULL,
             "the __constant__ variables take %zu bytes, and compute capability %s has %d: move some to global "
             "memory",
             constant, name, limits.total_constant);
  for (size_t i = 0; i < p->kernel_count; i++)
    if (p->kernels[i].param_bytes > (size_t)limits.parameter_bytes)
      complain(p, p->kernels[i].body,
               "the parameters of %s take %zu bytes, and compute capability %s has %d: pass an "
               "array, or a __constant__ variable",
               p->kernels[i].name, p->kernels[i].param_bytes, name, limits.parameter_bytes);
}

/* ---- atomics on shared memory ---- */

static bool is_shared(const program *p, LLVMValueRef pointer, int depth) {
  for (size_t i = 0; i < p->shared_count; i++)
    if (p->shareds[i].global == pointer) return true;
  if (depth == 0) return false;
  if (LLVMIsAPHINode(pointer)) {
    for (unsigned i = 0; i < LLVMCountIncoming(pointer); i++)
      if (is_shared(p, LLVMGetIncomingValue(pointer, i), depth - 1)) return true;
    return false;
  }
  if (LLVMIsASelectInst(pointer))
    return is_shared(p, LLVMGetOperand(pointer, 1), depth - 1) || is_shared(p, LLVMGetOperand(pointer, 2), depth - 1);
  bool passes = LLVMIsAGetElementPtrInst(pointer) || LLVMIsACastInst(pointer) || LLVMIsAConstantExpr(pointer);
  return passes && is_shared(p, LLVMGetOperand(pointer, 0), depth - 1);
}

void check_shared_atomics(program *p) {
  enum { DEPTH = 12 };
  if (!capability_of(p) || capability_of(p) >= 20) return;
  EACH_FUNCTION(p, f) {
    if (LLVMIsDeclaration(f)) continue;
    instructions list = instructions_of_function(f);
    for (size_t n = 0; n < list.count; n++) {
      LLVMValueRef i = list.items[n];
      bool exchange = LLVMIsAAtomicCmpXchgInst(i);
      if (!(exchange || LLVMIsAAtomicRMWInst(i)) || !is_shared(p, LLVMGetOperand(i, 0), DEPTH)) continue;
      bool wide = LLVMSizeOfTypeInBits(p->layout, LLVMTypeOf(LLVMGetOperand(i, 1))) == 64;
      refuse(p, i, wide ? 20 : 12,
             wide ? "an atomic function of 64 bits on shared memory" : "atomic functions on shared memory",
             "use global memory, or let each thread count by itself");
    }
    free(list.items);
  }
  if (p->complaints) quit(1);
}
