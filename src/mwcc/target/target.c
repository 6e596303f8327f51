/* The target processor: this machine's or a named one (--mcpu), of this machine's architecture or of another
 * (--target).
 *
 * The processor's features determine the number of lanes of a register, the functions that libmvec offers, and what the
 * loader has to test. LLVM's C interface does not return the features of a named processor, so they are read off the
 * macros that clang predefines for it. On AArch64, clang's -cc1 does not derive features from a processor's name (its
 * driver does); none are needed there, since registers always have four lanes and the loader tests nothing. */
#include "mwcc/mwcc.h"
#include "mwcc/front/front.h"
#include "target.h"

#include <stdlib.h>
#include <string.h>

/* Features that the loader can test or that the compiler depends on, and clang's macros for them. */
static const struct {
  const char *macro, *feature;
} known[] = {
    {"__SSE3__", "sse3"},
    {"__SSSE3__", "ssse3"},
    {"__SSE4_1__", "sse4.1"},
    {"__SSE4_2__", "sse4.2"},
    {"__POPCNT__", "popcnt"},
    {"__AVX__", "avx"},
    {"__AVX2__", "avx2"},
    {"__FMA__", "fma"},
    {"__F16C__", "f16c"},
    {"__BMI__", "bmi"},
    {"__BMI2__", "bmi2"},
    {"__LZCNT__", "lzcnt"},
    {"__MOVBE__", "movbe"},
    {"__AVX512F__", "avx512f"},
    {"__AVX512BW__", "avx512bw"},
    {"__AVX512CD__", "avx512cd"},
    {"__AVX512DQ__", "avx512dq"},
    {"__AVX512VL__", "avx512vl"},
    {"__AVX512VNNI__", "avx512vnni"},
};

static bool defines(const char *macros, const char *name) {
  char *line = mw_format("#define %s ", name);
  bool found = strstr(macros, line) != NULL;
  free(line);
  return found;
}

/* LLVM's list of features of the processor called `cpu`. */
static const char *features_of(const char *triple, const char *cpu) {
  char *clang = find_clang();
  const char *argv[] = {clang, "-cc1", "-triple", triple, "-target-cpu", cpu,
                        "-E",  "-dM",  "-x",      "c",    "/dev/null",   NULL};
  mw_child_result result = {0};
  if (mw_child_run(argv, NULL, NULL, &result) != MW_SUCCESS) die("%s", mw_error_last()->message);
  if (result.status != 0 || !result.output.data)
    die("--mcpu=%s is not a processor that clang knows: %s", cpu, result.errors.data ? result.errors.data : "");
  mw_text list = {0};
  mw_text_addf(&list, "%s", "");
  for (size_t i = 0; i < MW_COUNT(known); i++)
    if (defines(result.output.data, known[i].macro))
      mw_text_addf(&list, "%s+%s", list.length ? "," : "", known[i].feature);
  mw_child_result_free(&result);
  free(clang);
  return list.data;
}

/* "x86_64" of "x86_64-pc-linux-gnu" */
static char *architecture_of(const char *triple) { return mw_format("%.*s", (int)strcspn(triple, "-"), triple); }

static bool is_architecture(const char *triple, const char *name) {
  size_t length = strlen(name);
  return strncmp(triple, name, length) == 0 && (triple[length] == '-' || !triple[length]);
}

/* MW_LLVM_TARGETS is a list of T(X86) and T(AArch64), as far as this LLVM was built with them. */
static void initialise_other(void) {
#define T(name)                                                                                                        \
  LLVMInitialize##name##TargetInfo(), LLVMInitialize##name##Target(), LLVMInitialize##name##TargetMC(),                \
      LLVMInitialize##name##AsmPrinter(), LLVMInitialize##name##AsmParser();
  MW_LLVM_TARGETS
#undef T
}

/* Cross-compilation to another architecture. Without --mcpu, the code runs on practically all of its processors. */
static void choose_other(program *p, const char *target) {
  bool x86 = is_architecture(target, "x86_64"), arm = is_architecture(target, "aarch64");
  if (!(x86 || arm) || !strstr(target, "linux"))
    die("--target=%s is not supported: use x86_64-linux-gnu, aarch64-linux-gnu or nvptx", target);
  initialise_other();
  p->triple = LLVMNormalizeTargetTriple(target);
  p->cross = architecture_of(target);
  p->cpu = p->options->cpu ? p->options->cpu : x86 ? "x86-64-v2" : "generic";
  if (strcmp(p->cpu, "native") == 0)
    die("--mcpu=native is this machine's processor, which cannot run code for --target=%s: name another one", target);
  p->features = features_of(p->triple, p->cpu);
}

static void choose_gpu(program *p) {
#ifdef MW_LLVM_HAS_NVPTX
  LLVMInitializeNVPTXTargetInfo(), LLVMInitializeNVPTXTarget(), LLVMInitializeNVPTXTargetMC(),
      LLVMInitializeNVPTXAsmPrinter();
#else
  die("--target=nvptx: this LLVM was built without NVPTX");
#endif
  p->triple = "nvptx64-nvidia-cuda";
  p->cpu = p->options->arch;
  p->features = p->options->ptx;
}

bool has_mask_registers(const program *p) {
  return strstr(p->features, "+avx512f") && strstr(p->features, "+avx512bw") && strstr(p->features, "+avx512vl");
}

bool has_half_units(const program *p) { return strcmp(p->cpu, "znver4") == 0 && has_mask_registers(p); }

/* Nothing is known about hosts of another architecture. A host of this one most likely maps as much memory as this
   machine. */
static void choose_reach(program *p) {
  const options *o = p->options;
  bool given = o->reach != MWCC_REACH_UNKNOWN;
  p->reach = given ? o->reach : p->cross ? MW_REACH_LEAST : MW_REACH_MOST;
  p->null_reach = given ? o->null_reach : p->cross ? MW_NULL_REACH_LEAST : MW_REACH_MOST;
}

static void choose_processor(program *p) {
  const char *cpu = p->options->cpu, *target = p->options->target;
  if (p->options->gpu) {
    choose_gpu(p);
    return;
  }
  p->triple = LLVMGetDefaultTargetTriple();
  char *own = architecture_of(p->triple);
  bool other = target && !is_architecture(target, own);
  free(own);
  if (other) {
    choose_other(p, target);
    return;
  }
  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
  LLVMInitializeNativeAsmParser();
  if (!cpu || strcmp(cpu, "native") == 0) {
    p->cpu = LLVMGetHostCPUName();
    p->features = LLVMGetHostCPUFeatures();
  } else {
    p->cpu = cpu;
    p->features = features_of(p->triple, cpu);
  }
}

void choose_target(program *p) {
  choose_processor(p);
  choose_reach(p);
}

int register_lanes(const program *p) {
  if (has_mask_registers(p)) return 16;
  if (strstr(p->features, "+avx2")) return 8;
  return 4;
}

int vector_registers(const program *p) {
  bool many = strstr(p->features, "+avx512f") || !starts_with(p->triple, "x86_64");
  return many ? 32 : 16;
}

bool has_fused_multiply_add(const program *p) {
  return !starts_with(p->triple, "x86_64") || strstr(p->features, "+fma");
}

/* On most processors without AVX-512, AVX2's gathers take three times as long as scalar loads (or LLVM scalarises
   them). */
bool has_slow_gathers(const program *p) { return !strstr(p->features, "+avx512f"); }

/* Intel's with AVX-512 gather and scatter 16 lanes in less than half the time of a Zen 4. */
bool has_quick_gathers(const program *p) {
  return strstr(p->features, "+avx512f") && !starts_with(p->cpu, "znver") && !starts_with(p->cpu, "x86-64");
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
  if (!p->machine) die("this LLVM cannot generate code for the processor '%s'", p->cpu);
  p->layout = LLVMCreateTargetDataLayout(p->machine);
}
