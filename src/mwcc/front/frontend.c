/* The front end: clang's own, run as a child for the nvptx64 device target with our device headers.
 *
 * That target and not the host's: aggregates and kernel parameters then come as `byval` pointers with CUDA's layout,
 * address spaces have their known numbers, and the device built-ins arrive as plain nvvm intrinsics. clang is called
 * with -cc1, since its driver would only start it once more.
 *
 * The user's macros (-D, -U) are lines before the source, so that they come behind our headers, precompiled or not: what
 * CUDA has built in is not changed by a macro, as with NVRTC. */
#include "base/log.h"
#include "mwcc/mwcc.h"
#include "front.h"

#include <llvm/Config/llvm-config.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct front_job {
  strings command; /* clang, and what a precompiled header has to agree with */
  char *header;    /* ours, which all sources begin with */
  pch pch;
  mw_text text;          /* what clang compiles */
  char *dependency_file; /* what it writes besides */
  char *folder;          /* that this is in; NULL: it is beside the output */
  mw_child *child;
};

/* ---- arguments ---- */

static void add_all(strings *args, const char *const *items, size_t count) {
  for (size_t i = 0; i < count; i++) strings_add(args, items[i]);
}

/* The macros that our headers ask about (assert.h does), and so have to be there before them. */
static bool is_asked_for(const char *macro) {
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
      "-Wno-unknown-cuda-version",
  };
  /* For a GPU built-ins of all architectures are let through: what is too new is refused by name (capability_check.c). */
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
    if (item[1] != 'I' && is_asked_for(item + 2)) strings_add(args, item);
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

/* With the precompiled header, or (NULL) with the header itself. */
static strings arguments(const front_job *f, const options *o, const char *precompiled) {
  strings args = {0};
  add_all(&args, f->command.items, f->command.count);
  const char *outputs[] = {"-emit-llvm-bc", "-sys-header-deps", "-MT", "x", "-dependency-file", f->dependency_file};
  add_all(&args, outputs, MW_COUNT(outputs));
  if (o->headers) strings_add(&args, "-I"), strings_add(&args, o->headers);
  for (size_t i = 0; i < o->front.count; i++)
    if (o->front.items[i][1] == 'I') strings_add(&args, o->front.items[i]);
  strings_add(&args, precompiled ? "-include-pch" : "-include");
  strings_add(&args, precompiled ? precompiled : f->header);
  /* Quoted includes are looked up beside the source, which reaches clang through a pipe. */
  const char *slash = strrchr(o->input, '/');
  if (strcmp(o->input, "-") != 0) {
    strings_add(&args, "-iquote");
    strings_add(&args, slash ? mw_format("%.*s", (int)(slash - o->input), o->input) : ".");
  }
  const char *last[] = {"-main-file-name", slash ? slash + 1 : o->input, "-o", "-", "-"};
  add_all(&args, last, MW_COUNT(last));
  return args;
}

/* ---- the text ---- */

/* Our headers, which come first, are the same for all compute capabilities. A keyword is a macro, whose use clang itself
   has to refuse: nothing is left of it later. */
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
    if (item[1] == 'I' || is_asked_for(macro)) continue;
    int name = (int)(value ? (size_t)(value - macro) : strlen(macro));
    if (item[1] == 'U')
      mw_text_addf(text, "#undef %s\n", macro);
    else
      mw_text_addf(text, "#define %.*s %.*s\n", name, macro, value ? (int)strcspn(value + 1, "\n") : 1,
                   value ? value + 1 : "1");
  }
}

/* A source that also takes the address of every template kernel asked for, which instantiates it. */
static void add_instances(mw_text *text, const options *o) {
  for (size_t i = 0; i < o->instances.count; i++) {
    const char *name = o->instances.items[i];
    mw_text_addf(text, "\n#line 1 \"instance %s\"\n", name);
    mw_text_addf(text, "static __attribute__((device, used)) auto __mw_instance_%zu = &%s;\n", i, name);
  }
}

/* What inline PTX calls, where the source or a header of its own may have some. */
static void add_ptx_functions(mw_text *text, const mw_text *source) {
  if (source->data && (strstr(source->data, "asm") || strstr(source->data, "#include \"")))
    mw_text_addf(text, "\n#line 1 \"<inline PTX>\"\n#include \"moonwarp/ptx_functions.h\"\n");
}

/* What a GPU's kernels call that can be stopped from outside. */
static void add_guard_calls(mw_text *text, const options *o) {
  if (o->gpu && o->stoppable) mw_text_addf(text, "\n#line 1 \"<checks>\"\n#include \"moonwarp/guard_calls.h\"\n");
}

static mw_text make_text(const program *p) {
  mw_text text = {0};
  add_macros(&text, p->options);
  mw_text_addf(&text, "#line 1 \"%s\"\n", p->options->input);
  mw_text_add(&text, p->source.data, p->source.length);
  order_specifiers(text.data + text.length - p->source.length, p->source.length);
  if (!p->options->gpu) add_ptx_functions(&text, &p->source); /* a GPU has the instructions */
  add_instances(&text, p->options);
  add_guard_calls(&text, p->options);
  return text;
}

/* ---- what clang says ---- */

/* clang closes with a count ("2 errors generated when compiling for sm_80."): no news to the reader. */
static void drop_count_line(mw_text *log) {
  char *generated = log->data ? strstr(log->data, " generated when compiling for ") : NULL;
  if (!generated) return;
  char *start = generated;
  while (start > log->data && start[-1] != '\n') start--;
  char *end = strchr(generated, '\n');
  if (end && !end[1]) log->length = (size_t)(start - log->data), *start = 0;
}

/* As the person who wrote the source is to read it. */
static void tidy(mw_text *log) {
  if (!log->data) return;
  drop_count_line(log);
  char *digest = mw_log_digest(log->data);
  mw_text_free(log);
  mw_text_add(log, digest, strlen(digest));
  free(digest);
}

static bool has_compiled(const mw_child_result *result) { return result->status == 0 || result->status == 1; }

static bool says(const mw_child_result *result, const char *word) { return strstr(result->errors.data, word) != NULL; }

/* Whether the precompiled header may be what clang could not cope with: it says so, or crashed. Not where memory ended or
   somebody killed it: that would only happen again. */
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

/* Beside the output, which nobody else writes; there is no such place where that is standard output. */
static void choose_dependency_file(front_job *f, const char *output) {
  if (strcmp(output, "-") == 0 && mw_directory_temporary(&f->folder) != MW_SUCCESS) die("%s", mw_error_last()->message);
  f->dependency_file = f->folder ? mw_format("%s/files", f->folder) : mw_format("%s.d", output);
  remove_at_end(f->dependency_file, f->folder);
}

static void remove_dependency_file(const front_job *f) {
  unlink(f->dependency_file);
  if (f->folder) rmdir(f->folder);
  remove_at_end(NULL, NULL);
}

front_job *front_begin(program *p) {
  const options *o = p->options;
  front_job *f = mw_alloc(sizeof *f);
  char *device = find_device_headers();
  f->header = find_prefix_header(device);
  f->command = make_command(o, device);
  f->pch = pch_find(&f->command, device, f->header);
  choose_dependency_file(f, o->output);
  f->text = make_text(p);
  begin(f, o, f->pch.path);
  return f;
}

void front_make_pch(const options *o) {
  char *device = find_device_headers();
  strings command = make_command(o, device);
  pch_make(&command, find_prefix_header(device), o->make_pch);
}

/* Clang's result, without the precompiled header where that is what it could not cope with. */
static mw_child_result compile(program *p, front_job *f) {
  mw_child_result result = finish(f);
  p->precompiled = f->pch.path;
  if (is_suspect(&result, &f->pch)) {
    begin(f, p->options, NULL);
    result = finish(f);
    if (has_compiled(&result)) pch_refused(&f->pch);
    p->precompiled = NULL;
  }
  if (has_compiled(&result)) tidy(&result.errors);
  return result;
}

static _Noreturn void fail_otherwise(const mw_child_result *result) {
  die("clang failed on this source (%s %d): %s", result->signal ? "signal" : "status",
      result->signal ? result->signal : result->status, result->errors.data);
}

bool front_check(program *p, front_job *f) {
  mw_child_result result = compile(p, f);
  remove_dependency_file(f);
  if (!has_compiled(&result)) fail_otherwise(&result);
  return check_print(result.errors.data ? result.errors.data : "");
}

void front_read(program *p, mw_text *bitcode) {
  const options *o = p->options;
  if (mw_file_read(o->bitcode, bitcode) != MW_SUCCESS ||
      (o->dependencies && mw_file_read(o->dependencies, &p->dependencies) != MW_SUCCESS))
    die("%s", mw_error_last()->message);
}

void front_finish(program *p, front_job *f, mw_text *bitcode) {
  mw_child_result result = compile(p, f);
  depend_read(&p->dependencies, f->dependency_file, p->options->headers);
  remove_dependency_file(f);
  if (result.status == 1) {
    fwrite(result.errors.data, 1, result.errors.length, stderr);
    quit(1);
  }
  if (result.status != 0) fail_otherwise(&result);
  p->log = result.errors;
  *bitcode = result.output;
}
