/* Optimisation and code generation by several threads, as LLVM's SplitModule and ParallelCG: most of mwcc's time after
 * clang.
 *
 * The functions that hold the kernels' code are distributed over partitions. Each partition but the first is a thread
 * with a copy of the module in its own LLVM context, in which it deletes the other partitions' functions. The first is
 * the module itself, with the table and all functions that were not distributed. Small functions that several
 * partitions call are compiled in each of them. A function that one partition defines and another calls is a hidden
 * symbol, resolved when the objects are linked. */
#include "mwcc/mwcc.h"
#include "mwcc/target/tuning.h"
#include "codegen.h"
#include "mwcc/target/target.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

enum { WORTH = TUNE_PARTITION_INSTRUCTIONS, COPY = TUNE_PARTITION_COPY };

typedef struct partition {
  program program; /* the copy's */
  strings functions;
  size_t *stacks; /* by function; valid once `measured` is posted */
  sem_t measured;
  bool is_measured;
  pthread_t thread;
  bool has_thread;
  LLVMMemoryBufferRef object;
} partition;

struct partitions {
  partition items[MOST_PARTITIONS]; /* items[0] has the list of functions only: it is the program itself */
  size_t count;
  size_t elsewhere;         /* the weight of all functions outside of items[0] */
  LLVMMemoryBufferRef copy; /* the module before it was partitioned, as bitcode */
  bool is_optimised;
  partitions *before; /* an earlier partitioning, or NULL */
};

/* ---- partitioning ---- */

typedef struct candidate {
  LLVMValueRef function;
  size_t weight;
} candidate;

static size_t weight_of(LLVMValueRef function) {
  size_t weight = 0;
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block))
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) weight++;
  return weight;
}

static int heaviest_first(const void *left, const void *right) {
  const candidate *a = left, *b = right;
  return (a->weight < b->weight) - (a->weight > b->weight);
}

static size_t find_candidates(const program *p, candidate *out) {
  size_t count = 0;
  for (size_t i = 0; i < p->kernel_count; i++) {
    const kernel *k = &p->kernels[i];
    for (int n = 0; n < k->variant_count; n++) {
      const variant *v = &k->variants[n];
      out[count++] = (candidate){v->function, weight_of(v->function)};
      if (v->fallback) out[count++] = (candidate){v->fallback, weight_of(v->fallback)};
    }
    if (k->outlined) out[count++] = (candidate){k->outlined, weight_of(k->outlined)};
    if (!k->variant_count) out[count++] = (candidate){k->run, weight_of(k->run)};
  }
  for (size_t i = 0; i < p->split_count; i++) out[count++] = (candidate){p->split[i], weight_of(p->split[i])};
  qsort(out, count, sizeof *out, heaviest_first);
  return count;
}

/* A function whose address is taken, as by a service, must exist once; so it cannot be copied. A function that only
   the table refers to is in the partition of the table. */
static bool is_called_only(LLVMValueRef function) {
  for (LLVMUseRef use = LLVMGetFirstUse(function); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (!LLVMIsACallInst(user) || LLVMGetCalledValue(user) != function) return false;
  }
  return true;
}

static bool is_kernels_own(const program *p, LLVMValueRef function) {
  for (size_t i = 0; i < p->kernel_count; i++) {
    const kernel *k = &p->kernels[i];
    if (function == k->run || function == k->fits || function == k->iterations || function == k->thread_function)
      return true;
  }
  return false;
}

static bool can_be_copied(const program *p) {
  EACH_FUNCTION(p, f) {
    if (!LLVMIsDeclaration(f) && !is_kernels_own(p, f) && !is_called_only(f)) return false;
  }
  return true;
}

static bool may_share(const program *p) {
  if (p->options->stop_after || p->options->has_only) return false;
  return p->options->emit == EMIT_MWO && !p->options->report && p->options->level > 0 && can_be_copied(p);
}

/* `rest`: the weight of the functions that must be in the first partition. */
static size_t choose_count(const program *p, size_t candidates, size_t weight, size_t rest) {
  size_t count = (size_t)mw_processors(), worth = weight / WORTH;
  if (!may_share(p)) return 1;
  if (count > MOST_PARTITIONS) count = MOST_PARTITIONS;
  if (rest >= COPY) candidates++;
  if (count > candidates) count = candidates;
  return count < worth ? count : worth;
}

static size_t lightest(const size_t *weights, size_t count) {
  size_t best = 0;
  for (size_t i = 1; i < count; i++)
    if (weights[i] < weights[best]) best = i;
  return best;
}

/* Assign functions to partitions; NULL if that does not pay. */
static partitions *make_partitions(const program *p) {
  candidate *candidates =
      mw_alloc(((2 * MOST_VARIANTS + 1) * p->kernel_count + p->split_count + 1) * sizeof *candidates);
  size_t candidate_count = find_candidates(p, candidates), total = 0, weights[MOST_PARTITIONS] = {0};
  EACH_FUNCTION(p, f) total += weight_of(f);
  size_t rest = total; /* less the candidates: what has to stay in the first partition */
  for (size_t i = 0; i < candidate_count; i++) rest -= candidates[i].weight;
  size_t count = choose_count(p, candidate_count, total, rest);
  if (count < 2) return NULL;
  partitions *s = mw_alloc(sizeof *s);
  s->count = count;
  for (size_t i = 1; i < count; i++) weights[i] = COPY;
  weights[0] = rest;
  for (size_t i = 0; i < candidate_count; i++) {
    /* a single kernel's main function stays in the first: a region of it may be outlined later */
    bool is_main = p->options->launch_kernel && candidates[i].function == p->kernels[0].run;
    size_t to = is_main ? 0 : lightest(weights, count), length;
    weights[to] += candidates[i].weight;
    if (to) s->elsewhere += candidates[i].weight;
    strings_add(&s->items[to].functions, mw_strdup(LLVMGetValueName2(candidates[i].function, &length)));
  }
  free(candidates);
  return s;
}

/* ---- one partition's module ---- */

static void publish(LLVMValueRef function) {
  LLVMSetLinkage(function, LLVMExternalLinkage);
  LLVMSetVisibility(function, LLVMHiddenVisibility);
}

static void drop(program *p, LLVMValueRef function) {
  size_t length;
  char *name = mw_strdup(LLVMGetValueName2(function, &length));
  LLVMSetValueName2(function, "", 0);
  LLVMValueRef declaration = LLVMAddFunction(p->module, name, LLVMGlobalGetValueType(function));
  publish(declaration);
  LLVMReplaceAllUsesWith(function, declaration);
  LLVMDeleteFunction(function);
  free(name);
}

static void keep_only(program *p, const partitions *s, const partition *own) {
  for (size_t i = 0; i < s->count; i++)
    for (size_t n = 0; n < s->items[i].functions.count; n++) {
      LLVMValueRef function = LLVMGetNamedFunction(p->module, s->items[i].functions.items[n]);
      if (&s->items[i] == own)
        publish(function);
      else
        drop(p, function);
    }
}

/* Once the table is deleted, nothing refers to other partitions' functions. */
static void drop_table(program *p) {
  LLVMValueRef table = LLVMGetNamedGlobal(p->module, MW_MWO_SYMBOL);
  LLVMReplaceAllUsesWith(table, LLVMGetUndef(p->pointer));
  LLVMDeleteGlobal(table);
}

static void make_copy(const partitions *s, partition *own) {
  program *q = &own->program;
  LLVMMemoryBufferRef bytes =
      LLVMCreateMemoryBufferWithMemoryRange(LLVMGetBufferStart(s->copy), LLVMGetBufferSize(s->copy), "copy", 0);
  make_types(q);
  make_machine(q);
  if (LLVMParseBitcodeInContext2(q->context, bytes, &q->module))
    die("internal: the bitcode of a partition cannot be parsed");
  keep_only(q, s, own);
  drop_table(q);
}

static void *work(void *argument) {
  partition *own = argument;
  program *q = &own->program;
  bool is_optimised = q->partitions->is_optimised;
  make_copy(q->partitions, own);
  q->partitions = NULL;
  if (is_optimised)
    run_passes(q, "globaldce"); /* drop what only the table referred to */
  else
    q->optimise(q);
  for (size_t i = 0; i < own->functions.count; i++)
    own->stacks[i] = measure_stack(q, LLVMGetNamedFunction(q->module, own->functions.items[i]));
  sem_post(&own->measured);
  own->object = generate(q, LLVMObjectFile);
  return NULL;
}

static void *work_in_thread(void *argument) {
  use_large_pages_here();
  return work(argument);
}

/* ---- for the stages ---- */

/* Keep the first partition's functions; k->run becomes a declaration if another partition has it. */
static void keep_to_first(program *p, const partitions *s) {
  const char **names = mw_alloc((p->kernel_count + 1) * sizeof *names);
  size_t length;
  for (size_t i = 0; i < p->kernel_count; i++) names[i] = mw_strdup(LLVMGetValueName2(p->kernels[i].run, &length));
  keep_only(p, s, &s->items[0]);
  for (size_t i = 0; i < p->kernel_count; i++) {
    p->kernels[i].run = LLVMGetNamedFunction(p->module, names[i]);
    p->kernels[i].variant_count = 0;
  }
}

static void start_partition(program *p, partition *own) {
  own->program = *p;
  own->program.kernel_count = 0; /* their values belong to another context */
  own->program.is_partition = true;
  own->stacks = mw_alloc((own->functions.count + 1) * sizeof *own->stacks);
  sem_init(&own->measured, 0, 0);
  own->has_thread = pthread_create(&own->thread, NULL, work_in_thread, own) == 0;
  if (!own->has_thread) work(own);
}

static void start(program *p, partitions *s) {
  s->before = p->partitions;
  p->partitions = s;
  s->copy = LLVMWriteBitcodeToMemoryBuffer(p->module);
  for (size_t i = 1; i < s->count; i++) start_partition(p, &s->items[i]);
  keep_to_first(p, s);
}

void partition_module(program *p) {
  partitions *s = make_partitions(p);
  if (s) start(p, s);
}

/* Outline a region of a function that had to be optimised as a whole, if it is the only one or far heavier than the
   others, and a processor is idle. */
void outline_optimised(program *p) {
  kernel *k = &p->kernels[0];
  if (!p->options->launch_kernel || !may_share(p) || mw_processors() < 2 || LLVMIsDeclaration(k->run)) return;
  if (p->partitions &&
      (p->partitions->count >= (size_t)mw_processors() || weight_of(k->run) < 2 * p->partitions->elsewhere))
    return;
  k->outlined = outline_region(p, k, k->run);
  partitions *s = k->outlined ? make_partitions(p) : NULL;
  if (!s) return;
  s->is_optimised = true;
  start(p, s);
}

static size_t stack_in(partitions *s, const char *name) {
  for (size_t i = 1; i < s->count; i++) {
    partition *owner = &s->items[i];
    for (size_t n = 0; n < owner->functions.count; n++) {
      if (strcmp(owner->functions.items[n], name) != 0) continue;
      while (!owner->is_measured) owner->is_measured = sem_wait(&owner->measured) == 0;
      return owner->stacks[n];
    }
  }
  return s->before ? stack_in(s->before, name) : 0;
}

size_t partitions_stack(partitions *s, LLVMValueRef declaration) {
  size_t length;
  return stack_in(s, LLVMGetValueName2(declaration, &length));
}

size_t partitions_objects(partitions *s, LLVMMemoryBufferRef *objects) {
  size_t count = s->before ? partitions_objects(s->before, objects) : 1;
  for (size_t i = 1; i < s->count; i++) {
    if (s->items[i].has_thread) pthread_join(s->items[i].thread, NULL);
    objects[count++] = s->items[i].object;
  }
  return count;
}
