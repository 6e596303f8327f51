/* mwcc: compiles CUDA C to code for the CPU device, or to PTX for a GPU. This file parses the options, starts clang,
 * and meanwhile loads LLVM with the other stages. */
#include "mwcc/front/clang_embedded.h"
#include "mwcc.h"
#include "mwcc/front/front.h"
#include "mwcc/front/units.h"
#include "mwcc/support/checked_access.h"

#include <llvm/Config/llvm-config.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char forms[] =
    "usage: mwcc [options] input.cu… [-o out.mwo]\n"
    "       mwcc [options] -c input.cu [-o out.o]   compiles one of a module's sources\n"
    "       mwcc [options] units.o… [-o out.mwo]    makes a module of what -c wrote\n"
    "       mwcc objects.o… [-o out.mwo]     links objects that --emit=obj wrote\n"
    "Compiles CUDA C for moonwarp's CPU device, or for an NVIDIA GPU. '-' stands for standard input or output.\n";
static const char usage[] =
    "  -o FILE               the output (default: the input's name with .mwo, .ptx, .ll, .s or .o)\n"
    "  --ship=FOLDER         write the module to that folder, under the name by which moonwarp finds modules that are\n"
    "                        installed with it, and without a list of the files that it includes\n"
    "  -D NAME[=VALUE]  -U NAME  -I FOLDER    as for other C compilers\n"
    "  -std=c++11|14|17|20   language (default c++17)\n"
    "  -O0 … -O3             optimisation (default -O2)\n"
    "  -G                    the same as -O0\n"
    "  --capability=1.1      refuse features that compute capability 1.1 does not have; __CUDA_ARCH__ is 110\n"
    "  -use_fast_math        approximate divisions and functions\n"
    "  -nostdinc++           use built-in versions of the C++ headers that device code needs, not the system's\n"
    "  -lineinfo  --maxrregcount=N   accepted; the first is always on, the second is for GPUs\n"
    "  --headers FOLDER      search headers there before all other folders\n"
    "  --instance NAME       also instantiate a template kernel, 'fill<float,4>'; may be repeated\n"
    "  -c                    compile one of a module's sources; its functions and variables may be used by others\n"
    "  --emit=mwo|ir|asm|obj|ptx|facts  the output's kind (default mwo; ptx for a GPU). facts: the source's kernels,\n"
    "                        variables and types, as a driver reads them, without code\n"
    "  --mcpu=NAME           generate code for that processor (default: this one; 'x86-64-v3' for any with AVX2)\n"
    "  --target=aarch64-linux-gnu   generate code for another architecture (or x86_64-linux-gnu)\n"
    "  --target=nvptx        generate PTX for NVIDIA GPUs, which the driver compiles. For this target:\n"
    "  --arch=sm_80            the oldest GPU to support, sm_50 to sm_90 (default sm_52)\n"
    "  --stoppable             kernels poll for the host's request to end, which costs some time\n"
    "  --ptx=8.0               the version of PTX, which the driver has to support (default 8.0, as in CUDA 12.0)\n"
    "  --width=N or NxV      lanes of a vector in the SIMD tier, 1 (none), 4, 8, 16, 32; and vectors of a gang\n"
    "  --launch=K:XxYxZ[:2][:few|:one]  compile only the kernel with linkage name K, for this block size (:2: for\n"
    "                        grids of even width; :few, :one: with so few blocks that workers share them, with one)\n"
    "  --reach=N,M           for hosts whose device memory has margins of 2^N bytes, and that map nothing below the\n"
    "                        address 2^M: stores that may pass them are tested (default 40,40;\n"
    "                        for another architecture 25,16, which suits all hosts)\n"
    "  --bitcode FILE        read clang's output of an earlier run instead of the input\n"
    "  --dependencies FILE   with --bitcode: the files that the input includes, as a module lists them\n"
    "  --dump=graph|shapes|rows|plane|live  print an analysis of each kernel, and stop (rows, plane: shapes for\n"
    "                        blocks whose rows are whole gangs, and for gangs of several rows)\n"
    "  --check-memory        end the launch at an access outside its array; --checks: for mw.check; slower\n"
    "  --check               only check the source, and print diagnostics as JSON\n"
    "  --report              print each kernel's tier and the reason, its gangs and memory accesses, and stop\n"
    "  --report=spills       also print the size of the code and, by line, register spills\n"
    "  --verify              verify the module after every pass\n"
    "  --timings             print the time of each pass and each stage\n"
    "  --passes              list the passes, in their order\n"
    "  --without=NAME        leave out an optional pass; may be repeated\n"
    "  --stop-after=NAME     write the module after that pass, as IR\n"
    "  --only=NAME           run only that pass, and write IR; may be repeated. The input may be IR, as .ll or .bc\n"
    "  --make-pch FILE       instead of compiling, write the device headers, precompiled for -std and -use_fast_math\n"
    "  --version  --help, -h\n"
    "If MOONWARP_LD is set, as to ld, that program links the module (for another architecture, a cross linker).\n";

/* The value of an option written as `-X value` or `-Xvalue`; NULL if `arg` is not it. */
static const char *joined_value(const char *arg, const char *name, char **argv, int *i) {
  size_t length = strlen(name);
  if (strncmp(arg, name, length) != 0) return NULL;
  if (arg[length]) return arg + length;
  if (!argv[*i + 1]) die("%s needs a value", name);
  return argv[++*i];
}

static const char *equals_value(const char *arg, const char *name) {
  size_t length = strlen(name);
  return strncmp(arg, name, length) == 0 && arg[length] == '=' ? arg + length + 1 : NULL;
}

static emit_kind parse_emit(const char *word) {
  static const char *const words[] = {[EMIT_MWO] = "mwo",    [EMIT_IR] = "ir",   [EMIT_ASM] = "asm",
                                      [EMIT_OBJECT] = "obj", [EMIT_PTX] = "ptx", [EMIT_FACTS] = "facts"};
  for (size_t i = 0; i < MW_COUNT(words); i++)
    if (strcmp(words[i], word) == 0) return (emit_kind)i;
  die("--emit=%s is not supported: use mwo, ir, asm, obj, ptx or facts", word);
}

static pass_id parse_pass(const char *option, const char *name) {
  pass_id id = pass_named(name);
  if (!id) die("%s: there is no pass '%s' (mwcc --passes lists them)", option, name);
  return id;
}

static void parse_without(options *o, const char *name) {
  pass_id id = parse_pass("--without", name);
  if (!pass_table[id].optional) die("--without: the pass '%s' is required", name);
  o->without[id] = true;
}

static void parse_only(options *o, const char *name) {
  pass_id id = parse_pass("--only", name);
  if (pass_table[id].is_choice || pass_table[id].stage > STAGE_OPTIMISE || pass_table[id].stage == STAGE_GPU)
    die("--only: the pass '%s' cannot run by itself", name);
  o->only[id] = o->has_only = true;
}

static bool is_power_up_to(long number, long most) { return number >= 1 && number <= most && !(number & (number - 1)); }

/* LANES or LANESxVECTORS */
static void parse_width(options *o, const char *word) {
  char *end;
  long lanes = strtol(word, &end, 10), vectors = *end == 'x' ? strtol(end + 1, &end, 10) : 1;
  if (*end || !is_power_up_to(lanes, MOST_LANES) || !is_power_up_to(vectors, MOST_VECTORS))
    die("--width=%s is not supported: use 1, 2, 4, … %d lanes, or lanes x vectors such as 16x4 with up to %d vectors",
        word, MOST_LANES, MOST_VECTORS);
  o->width = (int)lanes, o->vectors = (int)vectors;
}

static void parse_capability(options *o, const char *name) {
  mw_capability found;
  if (mw_capability_find(name, &found) != MW_SUCCESS) die("--capability: %s", mw_error_last()->message);
  o->capability = found.major * 10 + found.minor;
}

/* Whether the first `length` bytes of the text end with that word, which is then cut off. */
static bool ends_with(const char *text, size_t *length, const char *word) {
  size_t bytes = strlen(word);
  if (*length < bytes || strncmp(text + *length - bytes, word, bytes) != 0) return false;
  *length -= bytes;
  return true;
}

/* KERNEL:64x1x1, followed by :2 if the widths of all grids are even, and by :few or :one if grids have few blocks or
   one */
static void parse_launch(options *o, const char *text) {
  char *at = NULL;
  size_t length = strlen(text);
  o->launch_one = ends_with(text, &length, ":one");
  o->launch_few = o->launch_one || ends_with(text, &length, ":few");
  o->launch_columns = ends_with(text, &length, ":2") ? 2 : 1;
  const char *colon = text + length;
  while (colon > text && *--colon != ':') {}
  static const char message[] = "--launch=%s is not valid: write a kernel's linkage name and a block size, as "
                                "_Z4axpyPf:64x1x1, then optionally :2 for grids of even width, and :few or :one for "
                                "grids of few blocks or one";
  if (*colon != ':' || colon == text) die(message, text);
  o->launch_kernel = mw_format("%.*s", (int)(colon - text), text);
  for (int axis = 0; axis < 3; axis++) {
    o->launch_block[axis] = (unsigned)strtoul(axis ? at + 1 : colon + 1, &at, 10);
    bool ends = axis < 2 ? *at == 'x' : at == text + length;
    if (o->launch_block[axis] < 1 || o->launch_block[axis] > 1024 || !ends) die(message, text);
  }
}

/* N,M */
static void parse_reach(options *o, const char *text) {
  char *end;
  unsigned long reach = strtoul(text, &end, 10), null = *end == ',' ? strtoul(end + 1, &end, 10) : MW_REACH_MOST + 1;
  if (*end || reach > MW_REACH_MOST || null > MW_REACH_MOST)
    die("--reach=%s is not valid: write two numbers of bits up to %d, as 40,22", text, MW_REACH_MOST);
  o->reach = (unsigned)reach, o->null_reach = (unsigned)null;
}

static void print_version(void) {
  printf("mwcc %s (LLVM %d.%d.%d)\n", MW_VERSION, LLVM_VERSION_MAJOR, LLVM_VERSION_MINOR, LLVM_VERSION_PATCH);
}

static const char *default_output(const options *o) {
  static const char *const endings[] = {[EMIT_MWO] = "mwo",  [EMIT_IR] = "ll",   [EMIT_ASM] = "s",
                                        [EMIT_OBJECT] = "o", [EMIT_PTX] = "ptx", [EMIT_FACTS] = "facts"};
  if (strcmp(o->input, "-") == 0) return "-";
  const char *slash = strrchr(o->input, '/'), *dot = strrchr(o->input, '.');
  int stem = dot && (!slash || dot > slash) ? (int)(dot - o->input) : (int)strlen(o->input);
  return mw_format("%.*s.%s", stem, o->input, o->relocatable ? "o" : endings[o->emit]);
}

/* Record an option that affects the result, so that a later run for further instances can repeat it. */
static void record(options *o, const char *item) { strings_add(&o->recorded, item); }

enum { ALL_CHECKS = MW_CHECK_MEMORY | MW_CHECK_RACES | MW_CHECK_BARRIERS | MW_CHECK_INITIALISATION };

/* Bits of mw_check_kind, as a number. */
static unsigned parse_checks(const char *number) {
  char *end;
  unsigned long kinds = strtoul(number, &end, 10);
  if (!*number || *end || kinds < 1 || kinds > (ALL_CHECKS | MW_CHECKED_SCREEN) || kinds == MW_CHECKED_SCREEN)
    die("--checks=%s: it takes a sum of 1, 2, 4 and 8, and 16 for code that is screened", number);
  return (unsigned)kinds;
}

/* "access,branch" as bits of mw_observed. */
static unsigned parse_observed(const char *list) {
  static const struct {
    const char *name;
    unsigned bits;
  } words[] = {{"access", MW_OBSERVE_ACCESS},
               {"sync", MW_OBSERVE_SYNC},
               {"branch", MW_OBSERVE_BRANCH},
               {"code", MW_OBSERVE_CODE},
               {"step", MW_OBSERVE_STEP},
               {"all", MW_OBSERVE_ACCESS | MW_OBSERVE_SYNC | MW_OBSERVE_BRANCH | MW_OBSERVE_CODE}};
  unsigned bits = 0;
  for (const char *at = list; *at;) {
    size_t length = strcspn(at, ","), i = 0;
    while (i < MW_COUNT(words) && (strlen(words[i].name) != length || strncmp(words[i].name, at, length) != 0)) i++;
    if (i == MW_COUNT(words)) die("--observe=%s: it takes access, sync, branch, code, step or all, with commas", list);
    bits |= words[i].bits;
    at += length + (at[length] == ',');
  }
  return bits;
}

static void parse_option(options *o, char **argv, int *i) {
  const char *arg = argv[*i], *value;
  static const char *const front[] = {"-D", "-U", "-I"};
  for (size_t n = 0; n < MW_COUNT(front); n++)
    if ((value = joined_value(arg, front[n], argv, i))) {
      char *item = mw_format("%s%s", front[n], value);
      strings_add(&o->front, item);
      record(o, item);
      return;
    }
  if ((value = equals_value(arg, "--headers")))
    o->headers = value;
  else if (strcmp(arg, "--headers") == 0)
    o->headers = joined_value(arg, "--headers", argv, i);
  else if ((value = equals_value(arg, "--instance")))
    strings_add(&o->instances, value);
  else if (strcmp(arg, "--instance") == 0)
    strings_add(&o->instances, joined_value(arg, "--instance", argv, i));
  else if ((value = equals_value(arg, "--emit")))
    o->emit = parse_emit(value);
  else if ((value = equals_value(arg, "--width")))
    parse_width(o, value), record(o, arg);
  else if ((value = equals_value(arg, "--launch")))
    parse_launch(o, value);
  else if ((value = equals_value(arg, "--reach")))
    parse_reach(o, value); /* not recorded: it depends on the host that loads the module */
  else if (strcmp(arg, "--bitcode") == 0)
    o->bitcode = joined_value(arg, "--bitcode", argv, i);
  else if (strcmp(arg, "--dependencies") == 0)
    o->dependencies = joined_value(arg, "--dependencies", argv, i);
  else if ((value = equals_value(arg, "--ship")))
    o->ship = value;
  else if (strcmp(arg, "--launch") == 0)
    parse_launch(o, joined_value(arg, "--launch", argv, i));
  else if ((value = equals_value(arg, "--capability")))
    parse_capability(o, value), record(o, arg);
  else if ((value = equals_value(arg, "--dump")))
    o->dump = value;
  else if ((value = equals_value(arg, "--mcpu")))
    o->cpu = value, record(o, arg);
  else if ((value = equals_value(arg, "--target")))
    o->target = value; /* not recorded: the host that loads the module has that architecture */
  else if ((value = equals_value(arg, "--arch")) || (value = equals_value(arg, "-arch")))
    o->arch = value;
  else if ((value = equals_value(arg, "--ptx")))
    o->ptx = value;
  else if ((value = equals_value(arg, "-std")) || (value = equals_value(arg, "--std")))
    o->standard = value, record(o, arg);
  else if (arg[1] == 'O' && arg[2] >= '0' && arg[2] <= '3' && !arg[3])
    o->level = arg[2] - '0', record(o, arg);
  else if (strcmp(arg, "-G") == 0)
    o->level = 0, record(o, arg);
  else if (strcmp(arg, "-use_fast_math") == 0 || strcmp(arg, "--use_fast_math") == 0)
    o->fast_math = true, record(o, arg);
  else if (equals_value(arg, "-rdc") || equals_value(arg, "--relocatable-device-code") || strcmp(arg, "-dc") == 0)
    return; /* functions of a module's sources are always found */
  else if (strcmp(arg, "-c") == 0)
    o->relocatable = true;
  else if (strcmp(arg, "-lineinfo") == 0)
    o->line_info = true, record(o, arg);
  else if ((value = equals_value(arg, "--maxrregcount")) || (value = equals_value(arg, "-maxrregcount")))
    o->registers = atoi(value), record(o, arg);
  else if (strcmp(arg, "-nostdinc++") == 0)
    o->no_cxx = true, record(o, arg);
  else if (strcmp(arg, "--check-memory") == 0)
    o->check_memory = true, record(o, arg);
  else if ((value = equals_value(arg, "--observe")))
    o->observe = parse_observed(value), record(o, arg);
  else if (strcmp(arg, "--checks") == 0 || (value = equals_value(arg, "--checks")))
    o->checks = value ? parse_checks(value) : ALL_CHECKS, record(o, arg);
  else if (strcmp(arg, "--stoppable") == 0)
    o->stoppable = true, record(o, arg);
  else if (strcmp(arg, "--check") == 0)
    o->check = true;
  else if ((value = equals_value(arg, "--without")))
    parse_without(o, value), record(o, arg);
  else if ((value = equals_value(arg, "--only")))
    parse_only(o, value);
  else if ((value = equals_value(arg, "--stop-after")))
    o->stop_after = parse_pass("--stop-after", value);
  else if (strcmp(arg, "--passes") == 0)
    print_passes(), exit(0);
  else if (strcmp(arg, "--verify") == 0)
    o->verify = true;
  else if (strcmp(arg, "--timings") == 0)
    o->timings = true;
  else if (strcmp(arg, "--report") == 0)
    o->report = true;
  else if (strcmp(arg, "--report=spills") == 0)
    o->report = o->report_spills = true;
  else if (strcmp(arg, "--make-pch") == 0)
    o->make_pch = joined_value(arg, "--make-pch", argv, i);
  else if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0)
    fputs(forms, stdout), fputs(usage, stdout), exit(0);
  else if (strcmp(arg, "--version") == 0)
    print_version(), exit(0);
  else if ((value = joined_value(arg, "-o", argv, i)))
    o->output = value;
  else
    die("unknown option '%s' (mwcc --help lists them)", arg);
}

/* Check which options were combined with --target=nvptx, or require it. */
static void settle_gpu(options *o) {
  o->gpu = o->target && starts_with(o->target, "nvptx");
  o->check_memory |= o->checks && !(o->gpu && o->checks == MW_CHECK_BARRIERS); /* which are no accesses */
  if (!o->gpu) {
    if (o->arch || o->ptx) die("--arch and --ptx need --target=nvptx");
    if (o->emit == EMIT_PTX || o->emit == EMIT_FACTS) die("--emit=ptx and --emit=facts need --target=nvptx");
    if (o->stoppable) die("--stoppable needs --target=nvptx: kernels of the CPU device can always be stopped");
    return;
  }
  gpu_settle(o);
  if (o->emit == EMIT_MWO || o->emit == EMIT_ASM) o->emit = EMIT_PTX;
  if (o->emit == EMIT_OBJECT) die("--emit=obj is not supported for a GPU: use --emit=ptx or --emit=ir");
  if (o->dump || o->report || o->launch_kernel || o->width)
    die("--target=nvptx cannot be combined with options for the CPU device: --dump, --report, --launch and --width");
  if (o->check_memory || o->checks || o->observe) o->stoppable = true; /* their kernels take the launch's number */
}

enum { REGISTERS = 64 }; /* of a GPU, with which a block of 1024 threads can be launched whatever is inserted */
/* Watched code makes the source's accesses one by one, so passes that change them are left out. */
static void settle_observed(options *o) {
  static const pass_id off[] = {PASS_COLD_HELPERS, PASS_STAGING,      PASS_GRID_STRIDE,
                                PASS_BLOCK_MERGE,  PASS_GANG_SHARING, PASS_PREFETCH};
  if (o->gpu && o->observe & MW_OBSERVE_STEP) die("--observe=step is for the CPU device");
  if (o->gpu && (o->check_memory || o->checks)) die("--observe cannot be combined with --checks or --check-memory");
  if (o->gpu && !o->registers) o->registers = REGISTERS;
  if (o->launch_kernel) die("--observe cannot be combined with --launch");
  o->check_memory = false; /* a watcher does that */
  for (size_t i = 0; i < MW_COUNT(off); i++) o->without[off[i]] = true;
  if (o->observe & MW_OBSERVE_STEP) o->width = o->vectors = 1;
}

/* Checked code makes each access at its place in the source, by the block's own threads. */
static void settle_checked(options *o) {
  if (o->gpu && o->checks && !o->registers) o->registers = REGISTERS;
  static const pass_id off[] = {PASS_STAGING, PASS_BLOCK_MERGE, PASS_LANE_AXIS, PASS_BLOCK_ROWS},
                       screened[] = {PASS_GRID_STRIDE, PASS_BLOCK_PACKING, PASS_GANG_SHARING, PASS_THREAD_LOOPS};
  for (size_t i = 0; i < MW_COUNT(off) && !o->gpu; i++) o->without[off[i]] = true;
  for (size_t i = 0; i < MW_COUNT(screened) && notes_accesses(o); i++) o->without[screened[i]] = true;
}

static bool is_named(const char *name, const char *ending) {
  size_t length = strlen(name), last = strlen(ending);
  return length > last && strcmp(name + length - last, ending) == 0;
}

static options parse_options(int argc, char **argv) {
  options o = {.standard = "c++17", .level = 2, .reach = MWCC_REACH_UNKNOWN};
#ifdef MW_DEBUG
  o.verify = true;
#endif
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] == '-' && argv[i][1])
      parse_option(&o, argv, &i);
    else if (is_named(argv[i], ".o"))
      strings_add(&o.objects, argv[i]);
    else if (o.input)
      strings_add(&o.sources, argv[i]);
    else
      o.input = argv[i];
  }
  settle_gpu(&o);
  if (o.observe) settle_observed(&o);
  if (o.check_memory || o.checks) settle_checked(&o);
  if (o.make_pch) return o;
  if (o.relocatable && (o.sources.count || o.objects.count)) die("-c compiles one source: start mwcc once for each");
  if (units_take(&o)) {
    o.input = o.sources.items[0];
  } else if (o.objects.count) {
    if (o.input) die("give either a source file or objects, not '%s' and '%s'", o.input, o.objects.items[0]);
    o.input = o.objects.items[0], o.emit = EMIT_MWO;
  }
  if (!o.input) die("no source file: mwcc k.cu -o k.mwo compiles one, and mwcc --help lists the options");
  o.is_ir = is_named(o.input, ".ll") || is_named(o.input, ".bc");
  if (o.is_ir && !o.has_only) die("%s: IR needs --only=NAME, the pass to run on it", o.input);
  if (o.is_ir) o.bitcode = o.input;
  if (o.has_only || o.stop_after) o.emit = EMIT_IR;
  if (!o.output) o.output = default_output(&o);
  return o;
}

static void read_source(program *p) {
  char chunk[65536];
  if (strcmp(p->options->input, "-") != 0) {
    units_read(p);
    return;
  }
  for (size_t n; (n = fread(chunk, 1, sizeof chunk, stdin)) > 0;) mw_text_add(&p->source, chunk, n);
}

static void name_shipped(options *o, const mw_text *source) {
  char name[33];
  if (o->recorded.count > (o->cpu != NULL) || o->instances.count)
    die("--ship: a shipped module is compiled without options besides --mcpu");
  mw_hash_shipped_name(source->data, source->length, name);
  o->output = mw_format("%s/%s.mwo", o->ship, name);
}

/* The stages are linked into the program, or are a shared object that is linked with LLVM's. */
#pragma weak mwcc_stages

static stages_function *load_stages(void) {
  if (mwcc_stages) return mwcc_stages;
  char *path = find_installed("lib/moonwarp/mwcc.so");
  void *object = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  stages_function *stages = NULL;
  if (object) *(void **)&stages = dlsym(object, "mwcc_stages");
  if (!stages) die("the compiler's stages cannot be loaded: %s", dlerror());
  return stages;
}

int main(int argc, char **argv) {
  use_large_pages();
  if (argc > 1 && strcmp(argv[1], "-cc1") == 0 && mwcc_clang_inside) /* frontend.c runs mwcc itself as clang */
    quit(mwcc_clang_inside(argc, (const char *const *)argv));
  options o = parse_options(argc, argv);
  program p = {.options = &o};
  stage_done(&p, NULL);
  if (o.make_pch) {
    front_make_pch(&o);
    quit(0);
  }
  units_load(&p);
  bool compiles = !o.bitcode && !o.objects.count && !p.unit_count;
  if (compiles) read_source(&p);
  if (o.ship) name_shipped(&o, &p.source);
  front_job *clang = !compiles ? NULL : front_begin(&p);
  stage_done(&p, "start");
  if (o.check && clang) quit(front_check(&p, clang) ? 0 : 1);
  load_stages()(&p, clang);
  quit(0);
}
