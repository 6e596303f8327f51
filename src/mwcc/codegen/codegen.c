/* Optimise and generate code, then text or an object file. */
#include "mwcc/mwcc.h"
#include "mwcc/analysis/analysis.h"
#include "codegen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The variant for launches that the SIMD ones are not made for is rarely run: no code for it that takes its time, as
   vectorised and unrolled loops. Nor for loops that do little but gather: they have few iterations, each time another
   number of them, and a copy for several iterations at once is one more branch to guess wrong. */
static void spare_general(program *p, const kernel *k) {
  if (k->chases) add_attribute(p, k->run, "optsize");
  if (!k->general) return;
  add_attribute(p, k->general, "optsize");
  if (k->thread_function) add_attribute(p, k->thread_function, "optsize");
}

/* What remains to be done for code that is lanes already: slots became registers (store_sandbox.c), now what is
   uniform leaves the loops, and what was written twice is merged. LLVM's own pipelines take two to four times as long,
   most of it for unrolled copies of the loops over gangs and for finding nothing to vectorise, and the code is no
   faster; nor is it with instcombine, the dearest of all passes, which has been over this code once (store_sandbox.c)
   and finds no more. */
static const char lanes_pipeline[] = "globaldce,always-inline,"
                                     "function(sroa,loop-mssa(loop-rotate,licm),early-cse<memssa>,simplifycfg,adce),"
                                     "globaldce";

static bool all_in_lanes(const program *p) {
  for (size_t i = 0; i < p->kernel_count; i++)
    if (!p->kernels[i].variant_count) return false;
  return p->kernel_count > 0;
}

void run_pipeline(program *p) {
  static const char *const pipelines[] = {"always-inline,default<O0>", "globaldce,always-inline,default<O1>",
                                          "globaldce,always-inline,default<O2>", "globaldce,always-inline,default<O3>"};
  int level = p->options->level;
  run_passes(p, level == 2 && p->all_in_lanes ? lanes_pipeline : pipelines[level]);
}

/* By name, since the optimiser may remove it: where a thread has a stack to itself. Not the SIMD variants, which hold
   many lanes' and are bounded by themselves; NULL where there is nothing else. */
static const char *thread_code(const kernel *k) {
  size_t length;
  if (is_variant(k, k->run)) return NULL;
  return mw_strdup(LLVMGetValueName2(k->general ? k->general : k->run, &length));
}

void spare_cold_code(program *p) {
  p->all_in_lanes = all_in_lanes(p);
  for (size_t i = 0; i < p->kernel_count; i++) {
    p->kernels[i].thread_code = thread_code(&p->kernels[i]);
    spare_general(p, &p->kernels[i]);
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
    LLVMMemoryBufferRef objects[2 * MOST_PARTITIONS]; /* dealt out once, or twice */
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
