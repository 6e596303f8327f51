/* LLVM's optimisation pipelines, code generation, and the output. */
#include "mwcc/mwcc.h"
#include "mwcc/analysis/analysis.h"
#include "mwcc/machine/machine.h"
#include "codegen.h"
#include "mwcc/target/target.h"

#include <llvm-c/Support.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Do not spend compile time on the general variant, for launches that no SIMD variant fits: it is rarely run, so its
   loops are not vectorised and unrolled. Nor are loops that mainly gather, unless a thread's own loads are
   contiguous: their trip counts are small and vary, and an unrolled copy adds a branch that is hard to predict;
   except where iterations wait for the gather of the one before, and the branch does not matter (line_checksum:
   2.20 ms, 1.72 unrolled). If iterations have branches of their own, LLVM copies the loop over threads instead, and
   the copies' branches are predicted worse (automaton_match: 2.64 ms, 2.38 for size). Where there are mask
   registers, LLVM vectorises them for size, too: with the last iteration under a mask, and without a scalar loop
   for what is left, which would take longest where rows are short. But for size it generates no tests whether
   arrays overlap. */
static void mark_general_cold(program *p, const kernel *k) {
  if (k->gather_bound && !k->recurrent && (!k->vectorisable || (has_mask_registers(p) && !k->stores_rows)))
    add_attribute(p, k->run, "optsize");
  /* The loop for the rest of a row is vectorised only if the main loop has vectors of 16 elements. */
  if (k->gather_bound && k->vectorisable && k->stores_rows) prefer_widest(p, k->run);
  if (!k->general) return;
  add_attribute(p, k->general, "optsize");
  if (k->thread_function) add_attribute(p, k->thread_function, "optsize");
}

/* The pipeline for widened code, whose stack slots have been promoted (store_sandbox.c): it hoists uniform values out
   of loops and merges duplicates. LLVM's default pipelines take two to four times as long, mainly for unrolled copies
   of the loops over gangs and for vectorisation, which finds nothing, and the code is no faster. A second run of
   instcombine, the most expensive pass, finds nothing either. */
static const char lanes_pipeline[] = "function(sroa,loop-mssa(loop-rotate,licm),early-cse<memssa>,simplifycfg,adce),"
                                     "globaldce";

/* Gangs of one lane are chosen where vector code is slow. LLVM's SLP vectoriser would make vectors of unrolled threads
   again, with gathers for their loads (column_cipher: 4.9 ms, 1.7 without). There is no option for a function or a
   pipeline. */
static void disable_slp(const program *p) {
  static const char *const words[] = {"mwcc", "-vectorize-slp=false"};
  for (size_t i = 0; i < p->kernel_count; i++) {
    if (!is_one_lane(&p->kernels[i])) continue;
    LLVMParseCommandLineOptions((int)MW_COUNT(words), words, "");
    return;
  }
}

void run_pipeline(program *p) {
  static const char *const pipelines[] = {"default<O0>", "default<O1>", "default<O2>", "default<O3>"};
  int level = p->options->level;
  bool some_in_lanes = level == 2 && p->some_in_lanes, all_in_lanes = some_in_lanes && p->all_in_lanes;
  run_passes(p, level ? "globaldce,always-inline" : "always-inline");
  if (all_in_lanes) {
    run_passes(p, lanes_pipeline);
    return;
  }
  if (level >= 2) forbid_wrapped_strides(p);
  if (some_in_lanes)
    run_passes_on(p, false, pipelines[level]);
  else
    run_passes(p, pipelines[level]);
  if (level >= 2) allow_wrapped_strides(p);
  if (some_in_lanes) run_passes_on(p, true, lanes_pipeline);
}

/* The name of the function that runs on one thread's stack, whose depth is measured later; optimisation may delete the
   function. It is not a SIMD variant, which has many lanes' arrays and a bound of its own; NULL if there are only
   those. */
static const char *thread_code(const kernel *k) {
  size_t length;
  if (is_variant(k, k->run) || k->pack > 1) return NULL;
  return mw_strdup(LLVMGetValueName2(k->general ? k->general : k->run, &length));
}

void mark_cold_code(program *p) {
  mark_lane_code(p);
  disable_slp(p);
  for (size_t i = 0; i < p->kernel_count; i++) {
    p->kernels[i].thread_code = thread_code(&p->kernels[i]);
    mark_general_cold(p, &p->kernels[i]);
  }
}

LLVMMemoryBufferRef generate(program *p, LLVMCodeGenFileType type) {
  char *message = NULL;
  LLVMMemoryBufferRef buffer;
  if (LLVMTargetMachineEmitToMemoryBuffer(p->machine, p->module, type, &message, &buffer))
    die("code generation failed: %s", message);
  return buffer;
}

void emit(program *p) {
  switch (p->options->emit) {
  case EMIT_MWO: {
    LLVMMemoryBufferRef objects[2 * MOST_PARTITIONS]; /* the module may be partitioned twice */
    objects[0] = generate(p, LLVMObjectFile);
    link_mwo(p, objects, p->partitions ? partitions_objects(p->partitions, objects) : 1);
    return;
  }
  case EMIT_IR: {
    char *text = LLVMPrintModuleToString(p->module);
    write_output(p->options->output, text, strlen(text));
    return;
  }
  case EMIT_PTX: /* nvptx.c */
  case EMIT_FACTS: /* gpu/metadata.c */ return;
  case EMIT_ASM:
  case EMIT_OBJECT: {
    LLVMMemoryBufferRef buffer = generate(p, p->options->emit == EMIT_ASM ? LLVMAssemblyFile : LLVMObjectFile);
    write_output(p->options->output, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
    return;
  }
  }
}
