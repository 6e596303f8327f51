/* Compiling by NVRTC if it is installed and finds the source's headers, else by mwcc (mwcc.c), which reads the system's
 * C++ library. NVRTC generates machine code for the device's architecture, and PTX, and is queried about what it
 * compiled (describe.c). */
#include "compiler.h"
#include "cuda/compile/signature/describe.h"
#include "cuda/compile/signature/source_scan.h"
#include "cuda/compile/signature/mwcc_facts.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

#define IMAGE_VERSION 2

typedef struct job {
  const mw_source *source;
  cuda_headers headers;
  cuda_list options;
  cuda_list instances;
  const char *const *given; /* the template instances as the user wrote them */
  size_t given_count;
} job;

/* Neither compiler is installed: says how to install one. */
static int fail_without_compiler(void) {
  char *why = mw_strdup(mw_error_last()->message);
  mw_text report = {0};
  cuda_mwcc_report(&report);
  int code = fail(MW_JIT_COMPILER_NOT_FOUND, "%s; %.*s", why, (int)report.length - 1, report.data);
  mw_text_free(&report);
  free(why);
  return code;
}

int cuda_target(void *handle, mw_text *out) {
  cuda_device *device = handle;
  int major, minor;
  if (cuda_by_mwcc()) return cuda_mwcc_target(device, out);
  if (nvrtc_load() != MW_SUCCESS) return fail_without_compiler();
  /* Code with checks is compiled by mwcc, so the key depends on its target. */
  if (cuda_mwcc_target(device, out) != MW_SUCCESS) mw_error_clear();
  nvrtc.nvrtcVersion(&major, &minor);
  mw_text_addf(out, "moonwarp %s, image %d, nvrtc %d.%d, sm_%d%d\n", MW_VERSION, IMAGE_VERSION, major, minor,
               device->major, device->minor);
  return MW_SUCCESS;
}

bool cuda_usable(void *device, const char *path) {
  cuda_image image = {0};
  (void)device;
  bool usable = cuda_image_read(path, &image) == MW_SUCCESS && cuda_depends_hold(image.parts[IMAGE_DEPENDS].data);
  if (!usable) mw_error_clear();
  cuda_image_free(&image);
  return usable;
}

/* ---- programs ---- */

static int fail_nvrtc(const char *what, nvrtcResult result) {
  int code = fail(result == NVRTC_OUT_OF_MEMORY ? MW_MEMORY_ALLOCATION : MW_UNKNOWN, "NVRTC cannot %s (error %d)", what,
                  result);
  mw_error_kind("compile");
  return code;
}

static void read_log(nvrtcProgram program, mw_text *out) {
  size_t size = 0;
  if (nvrtc.nvrtcGetProgramLogSize(program, &size) != 0 || size < 2) return;
  char *text = mw_alloc(size + 1);
  if (nvrtc.nvrtcGetProgramLog(program, text) == 0) mw_text_add(out, text, strlen(text));
  free(text);
}

/* Explains messages of NVRTC that mean something else here. */
static int fail_source(const cuda_diagnosis *first, const mw_text *log, nvrtcResult result) {
  const char *message = first->message ? first->message
                        : log->length  ? log->data
                                       : "NVRTC does not say what is wrong with the source";
  int code = fail(MW_INVALID_SOURCE, "%s%s", message, result == NVRTC_INVALID_OPTION ? " (an option)" : "");
  if (first->file) mw_error_place(first->file, first->line, first->column);
  char *digest = log->length ? mw_log_digest(log->data) : NULL;
  if (digest) mw_error_log(digest);
  free(digest);
  return code;
}

/* Compiles text with these name expressions. *out is yours on success; otherwise the log is translated. */
static nvrtcResult run(const job *j, const char *text, const char *const *names, size_t count,
                       const char *const *options, size_t option_count, nvrtcProgram *out, mw_text *log) {
  nvrtcProgram program = NULL;
  nvrtcResult result =
      nvrtc.nvrtcCreateProgram(&program, text, MW_SOURCE_NAME, j->headers.count, j->headers.texts, j->headers.names);
  for (size_t i = 0; i < count && result == 0; i++) result = nvrtc.nvrtcAddNameExpression(program, names[i]);
  if (result == 0) result = nvrtc.nvrtcCompileProgram(program, (int)option_count, options);
  if (program && log) read_log(program, log);
  if (result == 0)
    *out = program;
  else if (program)
    nvrtc.nvrtcDestroyProgram(&program);
  return result;
}

/* ---- queries (describe.h) ---- */

/* Compiling to PTX alone is faster than to machine code. */
static char **quick_options(const job *j) {
  char **list = mw_alloc((j->options.count + 1) * sizeof *list);
  for (size_t i = 0; i < j->options.count; i++) {
    const char *option = j->options.items[i], *number = strstr(option, "architecture=sm_");
    list[i] =
        number ? mw_format("--gpu-architecture=compute_%s", number + strlen("architecture=sm_")) : mw_strdup(option);
  }
  return list;
}

static bool lower_names(void *context, const char *epilogue, const char *const *expressions, size_t count,
                        char **answers) {
  const job *j = context;
  nvrtcProgram program;
  char **options = quick_options(j);
  char *text = mw_format("%.*s%s", (int)j->source->length, j->source->text, epilogue);
  nvrtcResult result = run(j, text, expressions, count, (const char *const *)options, j->options.count, &program, NULL);
  for (size_t i = 0; i < count && result == 0; i++) {
    const char *name = NULL;
    answers[i] = nvrtc.nvrtcGetLoweredName(program, expressions[i], &name) == 0 ? mw_strdup(name) : NULL;
  }
  if (result == 0) nvrtc.nvrtcDestroyProgram(&program);
  for (size_t i = 0; i < j->options.count; i++) free(options[i]);
  free(options);
  free(text);
  return result == 0;
}

/* ---- compiling ---- */

static void read_code(nvrtcProgram program, mw_text *out, nvrtcResult (*size_of)(nvrtcProgram, size_t *),
                      nvrtcResult (*read)(nvrtcProgram, char *)) {
  size_t size = 0;
  if (size_of(program, &size) != 0 || size < 2) return;
  char *code = mw_alloc(size + 1);
  if (read(program, code) == 0) mw_text_add(out, code, size);
  free(code);
}

char *cuda_qualify(const mw_source *source, const char *instance) {
  scanned found = {0};
  size_t length = strcspn(instance, "<");
  const char *scope = NULL;
  bool bare = !memmem(instance, length, "::", 2);
  cuda_scan(source->text, source->length, false, &found);
  for (size_t i = 0; bare && i < found.kernel_count; i++)
    if (strlen(found.kernels[i].name) == length && memcmp(found.kernels[i].name, instance, length) == 0 &&
        (!scope || *scope))
      scope = found.kernels[i].scope;
  char *name = mw_format("%s%s", scope ? scope : "", instance);
  cuda_scanned_free(&found);
  return name;
}

void cuda_image_keep_source(cuda_image *image, const mw_source *source) {
  mw_text *parts = image->parts;
  if (source->header_count) return;
  mw_text_add(&parts[IMAGE_SOURCE], source->text, source->length);
  mw_text_add(&parts[IMAGE_OPTIONS], "", 0);
  for (size_t i = 0; i < source->option_count; i++) mw_text_addf(&parts[IMAGE_OPTIONS], "%s\n", source->options[i]);
}

/* Facts by mwcc, which has complete types; by queries to NVRTC where mwcc is not available or rejects the source. */
static void describe(const job *j, const cuda_device *device, const char *path, const char *text, mw_text *facts) {
  mw_text lines = {0};
  ptx_text ptx;
  ptx_parse(text, &ptx);
  bool matched = cuda_mwcc_facts(device, j->source, j->given, j->given_count, path, &lines) &&
                 cuda_match_facts(lines.data, &ptx, text, facts);
  if (!matched) cuda_describe(j->source, &ptx, text, lower_names, (void *)(uintptr_t)j, facts);
  mw_text_free(&lines);
  ptx_free(&ptx);
}

static void fill_image(const job *j, nvrtcProgram program, const cuda_device *device, const char *path,
                       const mw_text *log, cuda_image *image) {
  mw_text *parts = image->parts;
  read_code(program, &parts[IMAGE_CUBIN], nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN);
  read_code(program, &parts[IMAGE_PTX], nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX);
  mw_text_addf(&parts[IMAGE_ARCH], "sm_%d%d", device->major, device->minor);
  if (log->length) mw_text_add(&parts[IMAGE_LOG], log->data, log->length);
  mw_text_add(&parts[IMAGE_FACTS], "", 0);
  describe(j, device, path, parts[IMAGE_PTX].data ? parts[IMAGE_PTX].data : "", &parts[IMAGE_FACTS]);
  cuda_image_keep_source(image, j->source);
  cuda_depends(j->source, &parts[IMAGE_DEPENDS]);
}

typedef struct attempt {
  nvrtcProgram program;
  nvrtcResult result;
  mw_text log; /* translated */
  cuda_diagnosis first;
} attempt;

static void try_compiling(const job *j, attempt *out) {
  mw_text raw = {0};
  char *text = mw_format("%.*s", (int)j->source->length, j->source->text);
  *out = (attempt){0};
  out->result = run(j, text, (const char *const *)j->instances.items, j->instances.count,
                    (const char *const *)j->options.items, j->options.count, &out->program, &raw);
  const char *instance = j->given_count == 1 ? j->given[0] : NULL;
  if (raw.data) cuda_log_translate(raw.data, &j->headers, instance, &out->log, &out->first);
  mw_text_free(&raw);
  free(text);
}

static void attempt_free(attempt *a) {
  free(a->first.message);
  free(a->first.file);
  mw_text_free(&a->log);
}

/* Once more, as code that is linked with the device runtime (link.c), which the module then needs. */
static void try_relocatable(job *j, attempt *a) {
  attempt again;
  cuda_list_add(&j->options, mw_strdup("--relocatable-device-code=true"));
  try_compiling(j, &again);
  bool launches = cuda_is_about_launch(a->first.message);
  bool better = again.result == 0 || (launches && again.first.message);
  attempt_free(better ? a : &again);
  if (better) *a = again;
}

/* *lacks_header: NVRTC does not find a header, which may be one of the C++ library that it does not have. */
static int compile(const cuda_device *device, job *j, const char *path, bool *lacks_header) {
  attempt a;
  cuda_image image = {0};
  try_compiling(j, &a);
  if (a.first.lacks_runtime) try_relocatable(j, &a);
  int code = MW_SUCCESS;
  if (a.result == NVRTC_COMPILATION || a.result == NVRTC_INVALID_OPTION)
    code = fail_source(&a.first, &a.log, a.result);
  else if (a.result != 0)
    code = fail_nvrtc("compile this", a.result);
  if (code == MW_SUCCESS) {
    fill_image(j, a.program, device, path, &a.log, &image);
    nvrtc.nvrtcDestroyProgram(&a.program);
    code = cuda_image_write(&image, path);
    cuda_image_free(&image);
  }
  *lacks_header = a.first.lacks_header;
  attempt_free(&a);
  return code;
}

static int check_headers(const mw_source *source) {
  for (size_t i = 0; i < source->header_count; i++) {
    const mw_header *header = &source->headers[i];
    if (!header->name || !*header->name) return fail(MW_INVALID_VALUE, "a header has no name");
    if (!header->text) return fail(MW_INVALID_VALUE, "header \"%s\" has no text", header->name);
  }
  return MW_SUCCESS;
}

static int compile_by_nvrtc(const cuda_device *device, const mw_source *source, const char *const *instances,
                            size_t instance_count, const char *path, bool *lacks_header) {
  cuda_list given = {0};
  mw_source completed = *source;
  job j = {.source = &completed, .given = instances, .given_count = instance_count};
  cuda_options_complete(source, &given);
  completed.options = (const char *const *)given.items;
  completed.option_count = given.count;
  int code = check_headers(source);
  if (code == MW_SUCCESS) code = cuda_options(device, &completed, &j.options);
  if (code == MW_SUCCESS) {
    for (size_t i = 0; i < instance_count; i++) cuda_list_add(&j.instances, cuda_qualify(source, instances[i]));
    cuda_headers_collect(&completed, &j.headers);
    code = compile(device, &j, path, lacks_header);
    cuda_headers_free(&j.headers);
  }
  cuda_list_free(&j.options);
  cuda_list_free(&j.instances);
  cuda_list_free(&given);
  return code;
}

int cuda_compile(void *handle, const mw_source *source, const char *const *instances, size_t instance_count,
                 const char *path) {
  cuda_device *device = handle;
  bool lacks_header = false, has_mwcc = cuda_has_mwcc(); /* before compiling: it clears the error slot */
  if (cuda_by_mwcc() || cuda_for_mwcc(device, source))
    return cuda_mwcc_compile(device, source, instances, instance_count, path);
  if (nvrtc_load() != MW_SUCCESS) return fail_without_compiler();
  int code = compile_by_nvrtc(device, source, instances, instance_count, path, &lacks_header);
  if (lacks_header && has_mwcc) return cuda_mwcc_compile(device, source, instances, instance_count, path);
  return code;
}
