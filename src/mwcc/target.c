/* For which processor code is made: the one at hand, or one by name (--mcpu), with all the features that it has.
 *
 * LLVM makes code for a processor by its name, but does not tell which features that name stands for, and how many lanes
 * a register has, which functions libmvec offers and what a loader has to look for depend on them. clang tells: by the
 * macros that it predefines for the processor. */
#include "mwcc.h"

#include <stdlib.h>
#include <string.h>

/* Of those that a loader can test and that the compiler asks for. */
static const struct {
  const char *macro, *feature;
} known[] = {
    {"SSE3", "sse3"},
    {"SSSE3", "ssse3"},
    {"SSE4_1", "sse4.1"},
    {"SSE4_2", "sse4.2"},
    {"POPCNT", "popcnt"},
    {"AVX", "avx"},
    {"AVX2", "avx2"},
    {"FMA", "fma"},
    {"F16C", "f16c"},
    {"BMI", "bmi"},
    {"BMI2", "bmi2"},
    {"LZCNT", "lzcnt"},
    {"MOVBE", "movbe"},
    {"AVX512F", "avx512f"},
    {"AVX512BW", "avx512bw"},
    {"AVX512CD", "avx512cd"},
    {"AVX512DQ", "avx512dq"},
    {"AVX512VL", "avx512vl"},
    {"AVX512VNNI", "avx512vnni"},
};

static bool defines(const char *macros, const char *name) {
  char *line = mw_format("#define __%s__ ", name);
  bool found = strstr(macros, line) != NULL;
  free(line);
  return found;
}

/* LLVM's list of features of the processor called `cpu`. */
static const char *features_of(const char *triple, const char *cpu) {
  bool x86 = starts_with(triple, "x86_64");
  char *clang = find_clang();
  const char *argv[] = {clang, "-cc1", "-triple", triple, "-target-cpu", cpu,
                        "-E",  "-dM",  "-x",      "c",    "/dev/null",   NULL};
  mw_child_result result = {0};
  if (mw_child_run(argv, NULL, NULL, &result) != MW_SUCCESS) die("%s", mw_error_last()->message);
  if (result.status != 0 || !result.output.data)
    die("no processor is called '%s': clang says: %s", cpu, result.errors.data ? result.errors.data : "");
  mw_text list = {0};
  mw_text_addf(&list, "%s", "");
  for (size_t i = 0; x86 && i < MW_COUNT(known); i++)
    if (defines(result.output.data, known[i].macro))
      mw_text_addf(&list, "%s+%s", list.length ? "," : "", known[i].feature);
  mw_child_result_free(&result);
  free(clang);
  return list.data;
}

void choose_target(program *p) {
  const char *cpu = p->options->cpu;
  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
  LLVMInitializeNativeAsmParser();
  p->triple = LLVMGetDefaultTargetTriple();
  if (!cpu || strcmp(cpu, "native") == 0) {
    p->cpu = LLVMGetHostCPUName();
    p->features = LLVMGetHostCPUFeatures();
  } else {
    p->cpu = cpu;
    p->features = features_of(p->triple, cpu);
  }
}
