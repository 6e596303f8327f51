/* The pass pipeline: runs the passes of passes.def in their order, stage by stage.
 *
 * This file and everything that uses LLVM may be a shared object of its own, which main.c loads after starting clang:
 * loading LLVM then overlaps with clang's start, which takes as long. */
#include "mwcc/analysis/analysis.h"
#include "mwcc/codegen/codegen.h"
#include "mwcc/entry/entry.h"
#include "mwcc/front/front.h"
#include "mwcc/lower/lower.h"
#include "mwcc/machine/machine.h"
#include "mwcc/opt/opt.h"
#include "mwcc/prepare/prepare.h"
#include "mwcc/read/read.h"
#include "mwcc/target/target.h"
#include "mwcc/gpu/gpu.h"
#include "mwcc/analysis/simt.h"

#include <llvm-c/Support.h>
#include <llvm/Config/llvm-config.h>

#include <stdio.h>
#include <string.h>

/* Disable parts of LLVM's code generation that take time without effect here:
   - tracking variables' locations for debug information: there are only line tables;
   - domain reassignment to mask registers: masks are there already;
   - CodeGenPrepare's iteration over all blocks until nothing changes: its mode for very large functions, which revisits
     changed blocks only, is sufficient;
   - comparing each memory access with more than 200 others in scheduling: of 3,000 loads and stores in a row these took
     27 of 34 s;
   - promotion of memory to registers in loops of more than 40 accesses, which LICM compares with each other:
     scalar-promotion has promoted them;
   - verifying the bitcode of clang and of partitions when it is read.
   And vectorise the rest of a row, after a loop of vectors, also with vectors of 8 elements, as with AVX2: rows shorter
   than the loop's 32 would be scalar. LLVM ends the process if it does not know an option, so this is done for the
   version with which it was tested. */
static void set_llvm_options(const options *o) {
  if (o->gpu) {
    static const char *const fast[] = {"mwcc", "-nvptx-prec-divf32=0"}; /* CUDA's -prec-div=false */
    if (o->fast_math) LLVMParseCommandLineOptions((int)MW_COUNT(fast), fast, "");
    return;
  }
#if LLVM_VERSION_MAJOR == 19
  static const char *const words[] = {
      "mwcc",
      "-experimental-debug-variable-locations=false",
      "-cgpp-huge-func=0",
      "-dag-maps-huge-region=200",
      "-dag-maps-reduction-size=100",
      "-epilogue-vectorization-minimum-VF=8",
      "-licm-mssa-max-acc-promotion=40",
#ifdef __x86_64__
      "-disable-x86-domain-reassignment",
#endif
  };
  LLVMParseCommandLineOptions((int)MW_COUNT(words), words, "");
  static const char *const unverified[] = {"mwcc", "-disable-auto-upgrade-debug-info"};
  if (!o->has_only && !o->verify) LLVMParseCommandLineOptions((int)MW_COUNT(unverified), unverified, "");
  /* Loads of shadows double a loop's body. It is unrolled where it would be without them: the threshold is 150. */
  static const char *const checked[] = {"mwcc", "-unroll-threshold=300"};
  if (o->checks & MW_CHECK_INITIALISATION) LLVMParseCommandLineOptions((int)MW_COUNT(checked), checked, "");
#endif
}

/* ---- the passes ---- */

typedef void pass_function(program *p);

static pass_function *const functions[PASS_COUNT] = {
#define PASS(id, name, stage, function, ...) [PASS_##id] = function,
#include "mwcc/passes.def"
#undef PASS
};

void finish_debug(program *p) {
  if (p->debug) LLVMDIBuilderFinalize(p->debug);
}

/* With --only, the named passes run, and before them those that they depend on: the parser and, for passes up to LOWER,
   the required passes of READ. Passes on widened code work on a module for the host, which describes no kernels. */
static bool is_selected(const program *p, pass_id id) {
  const options *o = p->options;
  if (!o->has_only || o->only[id]) return true;
  if (id == PASS_PARSE) return true;
  bool describes = pass_table[id].stage == STAGE_READ && !pass_table[id].optional;
  for (int other = PASS_NONE + 1; describes && other < PASS_COUNT; other++)
    if (o->only[other] && pass_table[other].stage < STAGE_PARTITION) return true;
  return false;
}

static bool is_due(const program *p, pass_id id) {
  const options *o = p->options;
  if (!functions[id] || o->without[id] || !is_selected(p, id)) return false;
  switch (pass_table[id].when) {
  case PASS_ALWAYS: return true;
  case PASS_CPU: return !o->gpu;
  case PASS_LEVEL: return o->level > 0;
  case PASS_LANES: return o->has_only || (o->level == 2 && p->some_in_lanes);
  }
  return true;
}

static _Noreturn void print_module(const program *p) {
  char *text = LLVMPrintModuleToString(p->module);
  write_output(p->options->output, text, strlen(text));
  if (p->log.length) fwrite(p->log.data, 1, p->log.length, stderr);
  quit(0);
}

/* IR that is not for the device target (--only) gets the host's target and layout, as the pass retarget would have
   done. */
static void adopt_host_ir(program *p) {
  if (strstr(LLVMGetTarget(p->module), "nvptx")) return;
  LLVMSetTarget(p->module, p->triple);
  LLVMSetModuleDataLayout(p->module, p->layout);
}

static void run_pass(program *p, pass_id id) {
  const options *o = p->options;
  if (is_due(p, id)) {
    double start = time_now();
    functions[id](p);
    if (id == PASS_PARSE && o->has_only) adopt_host_ir(p);
    if (o->verify && p->module) verify_module(p, pass_table[id].name);
    if (o->timings && !p->is_partition) fprintf(stderr, "  %-26s %7.2f ms\n", pass_table[id].name, time_now() - start);
  }
  if (o->stop_after == id) print_module(p);
}

static void run_stage(program *p, pass_stage stage) {
  for (int id = PASS_NONE + 1; id < PASS_COUNT; id++)
    if (pass_table[id].stage == stage) run_pass(p, (pass_id)id);
}

static void optimise_partition(program *p) { run_stage(p, STAGE_OPTIMISE); }

/* ---- the stages ---- */

/* Link objects that earlier runs wrote. */
static _Noreturn void link_objects(program *p) {
  link_files(p->options);
  stage_done(p, "link");
  quit(0);
}

static _Noreturn void finish(const program *p) {
  if (p->log.length) fwrite(p->log.data, 1, p->log.length, stderr);
  quit(0);
}

static void read_bitcode(program *p, front_job *clang) {
  if (clang)
    front_finish(p, clang, &p->bitcode);
  else if (!p->unit_count)
    front_read(p, &p->bitcode);
  if (p->options->relocatable) {
    write_output(p->options->output, p->bitcode.data, p->bitcode.length);
    finish(p);
  }
  stage_done(p, p->precompiled ? "front pch" : "front");
  run_stage(p, STAGE_READ);
  stage_done(p, "read");
}

__attribute__((visibility("default"))) void mwcc_stages(program *p, front_job *clang) {
  const options *o = p->options;
  if (clang) front_remove_at_end(clang);
  stage_done(p, "load");
  if (o->objects.count) link_objects(p);
  choose_target(p);
  set_llvm_options(o);
  make_types(p);
  make_machine(p);
  p->optimise = optimise_partition;
  stage_done(p, "machine");
  read_bitcode(p, clang);
  if (o->gpu) {
    run_stage(p, STAGE_GPU);
    finish(p);
  }
  run_stage(p, STAGE_PREPARE);
  stage_done(p, "prepare");
  if (o->dump) {
    if (!dump_kernels(p, o->dump)) die("--dump=%s is not supported: use graph, shapes, rows, plane or live", o->dump);
    quit(0);
  }
  run_stage(p, STAGE_WIDEN);
  if (o->report && !o->report_spills) quit(0);
  stage_done(p, "widen");
  run_stage(p, STAGE_LOWER);
  stage_done(p, "lower");
  run_stage(p, STAGE_PARTITION);
  run_stage(p, STAGE_OPTIMISE);
  if (o->has_only) print_module(p);
  stage_done(p, "optimise");
  if (o->report) {
    report_spills(p, stdout);
    quit(0);
  }
  run_stage(p, STAGE_EMIT);
  stage_done(p, "emit");
  finish(p);
}
