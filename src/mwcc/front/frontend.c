/* The front end: clang, run as a child process for the nvptx64 device target with our device headers.
 *
 * The target is nvptx64 rather than the host's because aggregates and kernel parameters are then `byval` pointers with
 * CUDA's layout, address spaces have their known numbers, and CUDA's built-ins are nvvm intrinsics. clang is called
 * with -cc1: its driver would start another process.
 *
 * The user's macros (-D, -U) are written as lines before the source and so follow our headers, precompiled or not. As
 * with NVRTC, a macro cannot change what CUDA has built in. */
#include "base/log.h"
#include "mwcc/mwcc.h"
#include "front.h"
#include "units.h"

#include <llvm/Config/llvm-config.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct front_job {
  strings command; /* clang and the options that a precompiled header has to agree with */
  char *header;    /* the device headers' main file, included before the source */
  char *first;     /* the folder of those that are searched before all others */
  pch pch;
  unit unit;        /* the unit that clang compiles */
  const char *rest; /* the units after it, and the line where they begin */
  int rest_line;
  mw_text text;          /* clang's input */
  char *dependency_file; /* the make rule that clang writes */
  char *folder;          /* the temporary folder that holds it; NULL: it is next to the output */
  mw_child *child;
};

/* ---- arguments ---- */

static void add_all(strings *args, const char *const *items, size_t count) {
  for (size_t i = 0; i < count; i++) strings_add(args, items[i]);
}

/* Macros that our headers test (assert.h does), and that have to be defined before them. */
static bool is_tested_by_headers(const char *macro) {
  size_t length = strcspn(macro, "=(");
  return (length == strlen("NDEBUG") && starts_with(macro, "NDEBUG")) || starts_with(macro, "MOONWARP_");
}

static void add_language(strings *args, const options *o) {
  static const char *const fixed[] = {
      "-triple",
      "nvptx64-nvidia-cuda",
      "-aux-triple",
      LLVM_DEFAULT_TARGET_TRIPLE,
      "-x",
      "cuda",
      "-fcuda-is-device",
      "-O2",
      "-disable-llvm-passes",
      "-fcuda-allow-variadic-functions",
      "-fdeclspec",
      "-fgnuc-version=4.2.1", /* clang's default: headers of C++ libraries test for a compiler that they know */
      "-fcheck-new",
      "-fno-finite-loops",
      "-fno-delete-null-pointer-checks",
      "-debug-info-kind=standalone",
      "-dwarf-version=4",
      "-debugger-tuning=gdb",
      "-fdebug-compilation-dir=.",
      "-ferror-limit",
      "20",
      "-fno-diagnostics-show-line-numbers",
      "-fmessage-length=0",
      "-disable-free",
      "-Wno-unused-value",
      "-Wno-error=register", /* C++17 removed the keyword; nvcc accepts it with a warning */
      "-Wno-unknown-cuda-version",
  };
  /* For a GPU, clang accepts the built-ins of all architectures; capability_check.c reports those that are too new. */
  const char *target[] = {"-target-cpu", o->gpu ? "sm_90" : "sm_80", "-target-feature", o->gpu ? "+ptx83" : "+ptx80"};
  static const char *const fast[] = {"-D__USE_FAST_MATH__=1", "-freciprocal-math", "-fapprox-func",
                                     "-ffp-contract=fast"};
  add_all(args, fixed, MW_COUNT(fixed));
  add_all(args, target, MW_COUNT(target));
  if (o->gpu) strings_add(args, "-D__MW_NVPTX__=1");
  if (o->gpu && o->fast_math) strings_add(args, "-fdenormal-fp-math-f32=preserve-sign,preserve-sign");
  strings_add(args, mw_format("-std=%s", o->standard));
  if (o->fast_math) add_all(args, fast, MW_COUNT(fast));
  for (size_t i = 0; i < o->front.count; i++) {
    const char *item = o->front.items[i];
    if (item[1] != 'I' && is_tested_by_headers(item + 2)) strings_add(args, item);
  }
}

static char *find_prefix_header(const char *device) { return mw_format("%s/moonwarp_device.h", device); }

static strings make_command(const options *o, const char *device) {
  strings command = {0};
  char *clang = find_clang();
  strings_add(&command, clang);
  strings_add(&command, "-cc1");
  add_language(&command, o);
  add_system_headers(&command, clang, device, !o->no_cxx);
  return command;
}

/* Whether a folder has a CUDA toolkit's headers, which must not replace those that moonwarp has itself. */
static bool is_toolkit(const char *folder) {
  char *path = mw_format("%s/cuda_runtime_api.h", folder);
  bool there = access(path, R_OK) == 0;
  free(path);
  return there;
}

/* Folders of -I; before them the few headers of ours that stand for a library's own. */
static void add_folders(strings *args, const front_job *f, const options *o) {
  bool any = false;
  for (size_t i = 0; i < o->front.count; i++) {
    const char *item = o->front.items[i];
    if (item[1] != 'I') continue;
    if (!any) strings_add(args, "-I"), strings_add(args, f->first);
    any = true;
    if (is_toolkit(item + 2)) {
      strings_add(args, mw_format("%s/cccl", item)); /* where nvcc looks too, since CUDA 13 */
      strings_add(args, "-idirafter"), strings_add(args, item + 2);
    } else
      strings_add(args, item);
  }
}

/* Clang's arguments, with the precompiled header, or (NULL) with the header itself. */
static strings arguments(const front_job *f, const options *o, const char *precompiled) {
  strings args = {0};
  add_all(&args, f->command.items, f->command.count);
  const char *outputs[] = {"-emit-llvm-bc", "-sys-header-deps", "-MT", "x", "-dependency-file", f->dependency_file};
  add_all(&args, outputs, MW_COUNT(outputs));
  if (o->headers) strings_add(&args, "-I"), strings_add(&args, o->headers);
  add_folders(&args, f, o);
  strings_add(&args, precompiled ? "-include-pch" : "-include");
  strings_add(&args, precompiled ? precompiled : f->header);
  /* Quoted includes are searched next to the source; clang does not know its folder, since it reads from a pipe. */
  const char *input = f->unit.name ? f->unit.name : o->input, *slash = strrchr(input, '/');
  if (strcmp(input, "-") != 0) {
    strings_add(&args, "-iquote");
    strings_add(&args, slash ? mw_format("%.*s", (int)(slash - input), input) : ".");
  }
  const char *last[] = {"-main-file-name", slash ? slash + 1 : input, "-o", "-", "-"};
  add_all(&args, last, MW_COUNT(last));
  return args;
}

/* ---- the text ---- */

/* Set after our headers, which are the same for all compute capabilities. __managed__ is a macro and leaves no trace
   after preprocessing, so it is the preprocessor that has to report it. */
static void add_capability(mw_text *text, int capability) {
  mw_text_addf(text, "#undef __CUDA_ARCH__\n#define __CUDA_ARCH__ %d\n", capability * 10);
  if (capability < 30)
    mw_text_addf(text,
                 "#pragma clang deprecated(__managed__, \"managed memory came with compute capability 3.0, and this is "
                 "compiled for %d.%d\")\n#pragma clang diagnostic error \"-Wdeprecated-pragma\"\n",
                 capability / 10, capability % 10);
}

static void add_macros(mw_text *text, const options *o) {
  mw_text_addf(text, "#line 1 \"<command line>\"\n");
  if (o->capability) add_capability(text, o->capability);
  for (size_t i = 0; i < o->front.count; i++) {
    const char *item = o->front.items[i], *macro = item + 2, *value = strchr(macro, '=');
    if (item[1] == 'I' || is_tested_by_headers(macro)) continue;
    int name = (int)(value ? (size_t)(value - macro) : strlen(macro));
    if (item[1] == 'U')
      mw_text_addf(text, "#undef %s\n", macro);
    else
      mw_text_addf(text, "#define %.*s %.*s\n", name, macro, value ? (int)strcspn(value + 1, "\n") : 1,
                   value ? value + 1 : "1");
  }
}

/* Only units that contain a template's name can have the template. */
static bool may_have(const mw_text *source, const char *instance) {
  const char *end = instance + strcspn(instance, "<"), *start = end;
  while (start > instance && is_word(start[-1])) start--;
  return memmem(source->data, source->length, start, (size_t)(end - start)) != NULL;
}

/* Instantiate the requested template kernels by taking their addresses. */
static void add_instances(mw_text *text, const options *o, const mw_text *source, bool is_alone) {
  for (size_t i = 0; i < o->instances.count; i++) {
    const char *name = o->instances.items[i];
    if (!is_alone && !may_have(source, name)) continue;
    mw_text_addf(text, "\n#line 1 \"instance %s\"\n", name);
    mw_text_addf(text, "static __attribute__((device, used)) auto __mw_instance_%zu = &%s;\n", i, name);
  }
}

/* The functions of matrix instructions, only for the types that the source names: clang takes longer for them than for
   a usual source. */
static void add_tensor_functions(mw_text *text, const mw_text *source) {
  static const char *const types[][2] = {{"f16", "F16"},    {"bf16", "BF16"}, {"tf32", "TF32"}, {"e4m3", "FP8"},
                                         {"e5m2", "FP8"},   {"s8", "BYTES"},  {"u8", "BYTES"},  {"s4", "NIBBLES"},
                                         {"u4", "NIBBLES"}, {"b1", "BITS"}};
  const char *data = source->data;
  bool is_dense = data && (strstr(data, "mma.sync") || strstr(data, "matrix.sync"));
  bool is_sparse = data && strstr(data, "mma.sp");
  if (!is_dense && !is_sparse) return;
  mw_text_addf(text, "\n");
  for (size_t n = 0; n < MW_COUNT(types); n++)
    if (strstr(data, types[n][0])) mw_text_addf(text, "#define __MW_TENSOR_%s 1\n", types[n][1]);
  if (is_dense) mw_text_addf(text, "#include \"moonwarp/tensor/ptx_products.h\"\n");
  if (is_sparse) mw_text_addf(text, "#include \"moonwarp/tensor/sparse_product.h\"\n");
}

/* The functions of bfloat16, tf32 and 8-bit numbers. */
static void add_narrow_functions(mw_text *text, const mw_text *source) {
  static const char *const words[] = {"bf16", "tf32", "x2.f32", "e4m3x2", "e5m2x2"};
  const char *data = source->data;
  for (size_t n = 0; data && n < MW_COUNT(words); n++) {
    if (!strstr(data, words[n])) continue;
    if (strstr(data, "e4m3x2") || strstr(data, "e5m2x2")) mw_text_addf(text, "\n#define __MW_PTX_FP8 1\n");
    mw_text_addf(text, "\n#line 1 \"<inline PTX>\"\n#include \"moonwarp/ptx_narrow.h\"\n");
    return;
  }
}

/* The functions of clusters, and of barriers with transaction counts. */
static void add_cluster_functions(mw_text *text, const mw_text *source) {
  static const char *const words[][2] = {
      {"cluster", "cluster"},        {"mapa", "cluster"},     {"mbarrier", "mbarrier"},
      {"cuda/barrier", "mbarrier"}, /* CCCL's, with -I */
      {"cuda/pipeline", "mbarrier"}, {"cuda/ptx", "cluster"}, {"cuda/ptx", "mbarrier"}};
  for (size_t n = 0; source->data && n < MW_COUNT(words); n++)
    if (strstr(source->data, words[n][0]))
      mw_text_addf(text, "\n#line 1 \"<inline PTX>\"\n#include \"moonwarp/sync/ptx_%s.h\"\n", words[n][1]);
}

/* Whether the source includes headers that are not ours. */
static bool includes_others(const options *o, const mw_text *source) {
  bool has_folder = false;
  for (size_t i = 0; i < o->front.count; i++) has_folder = has_folder || o->front.items[i][1] == 'I';
  return strstr(source->data, "#include \"") || (has_folder && strstr(source->data, "#include"));
}

/* The functions that inline PTX is translated to, if the source or a header that it includes may contain some. */
static void add_ptx_functions(const options *o, mw_text *text, const mw_text *source) {
  if (source->data && (strstr(source->data, "asm") || includes_others(o, source)))
    mw_text_addf(text, "\n#line 1 \"<inline PTX>\"\n#include \"moonwarp/ptx_functions.h\"\n");
  if (source->data && strstr(source->data, "asm")) add_narrow_functions(text, source);
  add_cluster_functions(text, source);
  add_tensor_functions(text, source);
}

/* The functions that instrumented GPU kernels call (gpu/instrument.c). */
static void add_guard_calls(mw_text *text, const options *o) {
  if (o->gpu && o->stoppable) mw_text_addf(text, "\n#line 1 \"<checks>\"\n#include \"moonwarp/guard_calls.h\"\n");
  if (o->gpu && o->checks) mw_text_addf(text, "#include \"moonwarp/checked_run/calls.h\"\n");
  if (o->gpu && o->observe) mw_text_addf(text, "#include \"moonwarp/measured_run/calls.h\"\n");
}

/* The text from `start` on. */
static void replace_launches(mw_text *text, size_t start) {
  mw_text source = {0};
  if (!text->data || !strstr(text->data + start, "<<<")) return;
  mw_text_add(&source, text->data + start, text->length - start);
  text->length = start;
  rewrite_launches(text, source.data, source.length);
  mw_text_free(&source);
}

/* Clang's input for the job's unit; is_alone: there is no other. */
static mw_text make_text(const options *o, const unit *u, bool is_alone) {
  mw_text text = {0}, source = {0};
  mw_text_add(&source, u->text, u->length);
  add_macros(&text, o);
  mw_text_addf(&text, "#line %d \"%s\"\n", u->line, u->name ? u->name : o->input);
  size_t start = text.length;
  if (source.data && strstr(source.data, "asm"))
    escape_registers(&text, source.data);
  else
    mw_text_add(&text, source.data, source.length);
  move_alignas(text.data + start, text.length - start);
  replace_launches(&text, start);
  if (!o->gpu) add_ptx_functions(o, &text, &source); /* on a GPU, inline PTX stays as it is */
  add_instances(&text, o, &source, is_alone);
  add_guard_calls(&text, o);
  mw_text_free(&source);
  return text;
}

/* ---- clang's diagnostics ---- */

/* Drop clang's last line, a count ("2 errors generated when compiling for sm_80."). */
static void drop_count_line(mw_text *log) {
  char *generated = log->data ? strstr(log->data, " generated when compiling for ") : NULL;
  if (!generated) return;
  char *start = generated;
  while (start > log->data && start[-1] != '\n') start--;
  char *end = strchr(generated, '\n');
  if (end && !end[1]) log->length = (size_t)(start - log->data), *start = 0;
}

/* The diagnostics as users see them. */
static void tidy(mw_text *log) {
  if (!log->data) return;
  drop_count_line(log);
  restore_launches(log);
  char *digest = mw_log_digest(log->data);
  mw_text_free(log);
  mw_text_add(log, digest, strlen(digest));
  free(digest);
}

static bool has_compiled(const mw_child_result *result) { return result->status == 0 || result->status == 1; }

static bool says(const mw_child_result *result, const char *word) { return strstr(result->errors.data, word) != NULL; }

/* Whether the precompiled header may be the reason why clang failed: its message says so, or it crashed. When it ran
   out of memory or was killed, another attempt would fail as well. */
static bool is_suspect(const mw_child_result *result, const pch *p) {
  if (!p->path || result->status == 0 || result->signal == SIGKILL) return false;
  if (says(result, "out of memory") || says(result, "bad_alloc")) return false;
  return !has_compiled(result) || says(result, p->path) || says(result, "PCH");
}

/* ---- the two steps ---- */

static void begin(front_job *f, const options *o, const char *precompiled) {
  strings args = arguments(f, o, precompiled);
  if (mw_child_begin(args.items, &f->text, NULL, &f->child) != MW_SUCCESS) die("%s", mw_error_last()->message);
}

static mw_child_result finish(front_job *f) {
  mw_child_result result = {0};
  if (mw_child_finish(f->child, &result) != MW_SUCCESS) die("%s", mw_error_last()->message);
  return result;
}

/* Next to the output, a name that no other process uses; in a temporary folder if the output is standard output. */
static void choose_dependency_file(front_job *f, const char *output) {
  if (strcmp(output, "-") == 0 && mw_directory_temporary(&f->folder) != MW_SUCCESS) die("%s", mw_error_last()->message);
  f->dependency_file = f->folder ? mw_format("%s/files", f->folder) : mw_format("%s.d", output);
  front_remove_at_end(f);
}

void front_remove_at_end(const front_job *f) { remove_at_end(f->dependency_file, f->folder); }

static void remove_dependency_file(const front_job *f) {
  unlink(f->dependency_file);
  if (f->folder) rmdir(f->folder);
  remove_at_end(NULL, NULL);
}

/* The next unit of the source. */
static bool begin_unit(program *p, front_job *f) {
  bool is_first = !f->unit.text;
  if (!unit_next(&f->rest, &f->rest_line, &f->unit)) return false;
  f->text = make_text(p->options, &f->unit, is_first && !f->rest);
  begin(f, p->options, f->pch.path);
  return true;
}

front_job *front_begin(program *p) {
  const options *o = p->options;
  front_job *f = mw_alloc(sizeof *f);
  *f = (front_job){.rest = p->source.data ? p->source.data : "", .rest_line = 1};
  char *device = find_device_headers();
  f->header = find_prefix_header(device);
  f->first = mw_format("%s/first", device);
  f->command = make_command(o, device);
  f->pch = pch_find(&f->command, device, f->header);
  choose_dependency_file(f, o->output);
  begin_unit(p, f);
  return f;
}

void front_make_pch(const options *o) {
  char *device = find_device_headers();
  strings command = make_command(o, device);
  pch_make(&command, find_prefix_header(device), o->make_pch);
}

/* Clang's result, from a second attempt without the precompiled header if that may have made it fail. */
static mw_child_result compile(program *p, front_job *f) {
  mw_child_result result = finish(f);
  p->precompiled = f->pch.path;
  if (is_suspect(&result, &f->pch)) {
    begin(f, p->options, NULL);
    result = finish(f);
    if (has_compiled(&result)) pch_reject(&f->pch);
    p->precompiled = NULL;
  }
  if (has_compiled(&result)) tidy(&result.errors);
  return result;
}

static _Noreturn void die_of_clang_failure(const mw_child_result *result) {
  die("clang failed on this source (%s %d): %s", result->signal ? "signal" : "status",
      result->signal ? result->signal : result->status, result->errors.data);
}

bool front_check(program *p, front_job *f) {
  mw_text messages = {0};
  do {
    mw_child_result result = compile(p, f);
    remove_dependency_file(f);
    if (!has_compiled(&result)) die_of_clang_failure(&result);
    mw_text_add(&messages, result.errors.data ? result.errors.data : "", result.errors.length);
  } while (begin_unit(p, f));
  return check_print(messages.data ? messages.data : "");
}

void front_read(program *p, mw_text *bitcode) {
  const options *o = p->options;
  if (mw_file_read(o->bitcode, bitcode) != MW_SUCCESS ||
      (o->dependencies && mw_file_read(o->dependencies, &p->dependencies) != MW_SUCCESS))
    die("%s", mw_error_last()->message);
}

/* The bitcode of the unit that clang is compiling. */
static mw_text finish_unit(program *p, front_job *f) {
  mw_child_result result = compile(p, f);
  if (!p->options->ship) depend_read(&p->dependencies, f->dependency_file, p->options->headers);
  if (result.status == 1) {
    remove_dependency_file(f);
    fwrite(p->log.data ? p->log.data : "", 1, p->log.length, stderr);
    fwrite(result.errors.data, 1, result.errors.length, stderr);
    quit(1);
  }
  if (result.status != 0) die_of_clang_failure(&result);
  mw_text_add(&p->log, result.errors.data, result.errors.length);
  return result.output;
}

void front_finish(program *p, front_job *f, mw_text *bitcode) {
  *bitcode = finish_unit(p, f);
  while (f->rest) {
    if (!p->unit_count) {
      p->units = mw_alloc(sizeof *p->units);
      p->units[p->unit_count++] = *bitcode, *bitcode = (mw_text){0};
    }
    begin_unit(p, f);
    p->units = mw_realloc(p->units, (p->unit_count + 1) * sizeof *p->units);
    p->units[p->unit_count++] = finish_unit(p, f);
  }
  remove_dependency_file(f);
}
