/* The stages behind the front end, in their order.
 *
 * This file and all that uses LLVM are a shared object of their own, which main.c loads once clang is at work: loading
 * LLVM takes as long as starting clang does, and so takes no time of its own. */
#include "mwcc/gpu/gpu.h"
#include "mwcc/analysis/simt.h"

#include <llvm-c/Support.h>
#include <llvm/Config/llvm-config.h>

#include <stdio.h>

/* Passes of the code generator that cost their time and find nothing: one follows variables from place to place, and of
   debug information there are only lines; one moves whole chains of instructions to mask registers, where lanes' masks are
   anyway. And one goes over all blocks of a function again as long as anything changes, but for very large functions over
   those that did: that is enough for any. An LLVM that does not know a word ends the process, so this is for the version
   that was looked at. */
static void spare_passes(const options *o) {
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
#ifdef __x86_64__
      "-disable-x86-domain-reassignment",
#endif
  };
  LLVMParseCommandLineOptions((int)MW_COUNT(words), words, "");
#endif
}

void make_types(program *p) {
  p->context = LLVMContextCreate();
  p->void_type = LLVMVoidTypeInContext(p->context);
  p->i1 = LLVMInt1TypeInContext(p->context);
  p->i8 = LLVMInt8TypeInContext(p->context);
  p->i32 = LLVMInt32TypeInContext(p->context);
  p->i64 = LLVMInt64TypeInContext(p->context);
  p->pointer = LLVMPointerTypeInContext(p->context, 0);
}

void make_machine(program *p) {
  char *message = NULL;
  LLVMTargetRef target;
  static const LLVMCodeGenOptLevel levels[] = {LLVMCodeGenLevelNone, LLVMCodeGenLevelLess, LLVMCodeGenLevelDefault,
                                               LLVMCodeGenLevelAggressive};
  if (LLVMGetTargetFromTriple(p->triple, &target, &message))
    die("this LLVM has no code generator for %s: %s", p->triple, message);
  p->machine = LLVMCreateTargetMachine(target, p->triple, p->cpu, p->features, levels[p->options->level], LLVMRelocPIC,
                                       LLVMCodeModelDefault);
  if (!p->machine) die("this LLVM knows no processor '%s'", p->cpu);
  p->layout = LLVMCreateTargetDataLayout(p->machine);
}

__attribute__((visibility("default"))) void mwcc_stages(program *p, front_job *clang) {
  const options *o = p->options;
  mw_text bitcode = {0};
  stage_done(p, "load");
  if (o->objects.count) {
    link_files(o);
    stage_done(p, "link");
    quit(0);
  }
  choose_target(p);
  spare_passes(o);
  make_types(p);
  make_machine(p);
  stage_done(p, "machine");
  if (clang)
    front_finish(p, clang, &bitcode);
  else
    front_read(p, &bitcode);
  stage_done(p, p->precompiled ? "front pch" : "front");
  program_read(p, &bitcode);
  p->bitcode = bitcode;
  stage_done(p, "read");
  if (o->gpu) {
    if (o->emit == EMIT_FACTS)
      make_facts(p);
    else
      make_ptx(p);
    if (p->log.length) fwrite(p->log.data, 1, p->log.length, stderr);
    quit(0);
  }
  translate_ptx(p);
  retarget(p);
  prepare_kernels(p);
  check_shared_atomics(p);
  check_memory(p);
  choose_tiers(p);
  take_rounds_apart(p);
  stage_done(p, "prepare");
  if (o->dump) {
    if (!dump_kernels(p, o->dump)) die("--dump knows graph, shapes, rows, plane and live, not '%s'", o->dump);
    quit(0);
  }
  widen_kernels(p);
  drop_scalar_code(p);
  if (o->report && !o->report_spills) quit(0);
  expand_block_waits(p);
  unlock_shared(p);
  stage_done(p, "widen");
  lower_threads(p);
  lower_variables(p);
  build_runs(p);
  build_table(p);
  if (p->debug) LLVMDIBuilderFinalize(p->debug);
  stage_done(p, "lower");
  guard_stores(p);
  optimise(p);
  stage_done(p, "optimise");
  if (o->report) {
    report_spills(p, stdout);
    quit(0);
  }
  measure_stacks(p);
  set_local_bytes(p);
  emit(p);
  stage_done(p, "emit");
  if (p->log.length) fwrite(p->log.data, 1, p->log.length, stderr);
  quit(0);
}
