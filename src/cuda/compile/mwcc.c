/* Compiling without NVRTC: mwcc generates PTX, and the driver compiles that when it is loaded. A GPU then needs only
 * its driver.
 *
 * After the PTX mwcc writes the module's facts as comments (src/mwcc/gpu/metadata.c); they become the image's facts. */
#include "core/compile/run_mwcc.h"
#include "compiler.h"
#include "cuda/check/check.h"
#include "cuda/measure/measure.h"
#include "image.h"
#include "core/compile/source_map.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Only mwcc can compile kernels that can be stopped, kernels that check their accesses, and several sources as one
   module (mwcc/front/units.h). */
bool cuda_for_mwcc(const cuda_device *device, const mw_source *source) {
  static const char mark[] = "\n#pragma moonwarp source";
  if (source && memmem(source->text, source->length, mark, sizeof mark - 1)) return true;
  for (size_t i = 0; source && i < source->option_count; i++)
    if (source->options[i] && strncmp(source->options[i], "--check", strlen("--check")) == 0) return true;
  return cuda_stoppable(device);
}

bool cuda_has_mwcc(void) {
  char *path = NULL;
  bool there = compiler_find(&path) == MW_SUCCESS;
  mw_error_clear();
  free(path);
  return there;
}

bool cuda_stoppable(const cuda_device *device) { return device->limits[MW_LIMIT_TIME] > 0 && cuda_has_mwcc(); }

bool cuda_by_mwcc(void) { return nvrtc_load() != MW_SUCCESS && cuda_has_mwcc(); }

void cuda_mwcc_report(mw_text *out) {
  char *path = NULL;
  if (compiler_find(&path) == MW_SUCCESS)
    mw_text_addf(out, "without NVRTC kernels for GPUs are compiled by %s\n", path);
  else
    mw_text_addf(out, "without NVRTC no kernel for a GPU can be compiled: %s\n", mw_error_last()->message);
  mw_error_clear();
  free(path);
}

/* ---- targets ---- */

/* The GPU's own architecture, or the newest one before it that mwcc supports: the driver accepts its PTX. */
static int arch_for(const cuda_device *device, int wanted) {
  static const int archs[] = {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90};
  int own = device->major * 10 + device->minor, best = archs[0];
  for (size_t i = 0; i < MW_COUNT(archs); i++)
    if (archs[i] <= (wanted ? wanted : own)) best = archs[i];
  return best;
}

/* The newest version of PTX that both the driver and mwcc support. (PTX ISA, release history: CUDA 12.0 has 8.0) */
static int ptx_minor(void) {
  int minor = (cuda_driver_version() - 12000) / 10;
  return minor < 0 ? 0 : minor > 5 ? 5 : minor;
}

int cuda_mwcc_target(const cuda_device *device, mw_text *out) {
  char *path;
  int code = compiler_find(&path);
  if (code != MW_SUCCESS) return code;
  mw_text_addf(out, "moonwarp %s, PTX 8.%d by mwcc, sm_%d\n", MW_VERSION, ptx_minor(), arch_for(device, 0));
  compiler_describe(path, out);
  if (cuda_stoppable(device)) mw_text_addf(out, "stoppable\n");
  free(path);
  return MW_SUCCESS;
}

/* ---- a run ---- */

static void add_formatted(compiler_args *args, char *text) {
  compiler_args_add(args, text);
  free(text);
}

/* A run of mwcc: compiles `source` with those template instances to PTX and facts, or to facts alone. */
typedef struct request {
  const cuda_device *device;
  const mw_source *source;
  const char *const *instances;
  size_t instance_count;
  bool facts_only;
  unsigned checks; /* kinds of a checked run, or 0 */
  bool measures;   /* kernels count what their warps do */
} request;

static int make_arguments(const request *r, const char *mwcc, const compiler_job *job, compiler_args *args) {
  const cuda_device *device = r->device;
  const mw_source *source = r->source;
  cuda_list options = {0};
  int arch = 0, code = cuda_options_read(device, source, &options, &arch);
  compiler_args_add(args, mwcc);
  compiler_args_add(args, "--target=nvptx");
  add_formatted(args, mw_format("--arch=sm_%d", arch_for(device, arch)));
  add_formatted(args, mw_format("--ptx=8.%d", ptx_minor()));
  if (r->facts_only)
    compiler_args_add(args, "--emit=facts");
  else if (cuda_stoppable(device))
    compiler_args_add(args, "--stoppable");
  if (r->checks) add_formatted(args, mw_format("--checks=%u", r->checks));
  if (r->measures) compiler_args_add(args, "--observe=all");
  for (size_t i = 0; i < options.count; i++)
    if (!r->measures || strncmp(options.items[i], "--check", strlen("--check")) != 0)
      compiler_args_add(args, options.items[i]);
  if (source->header_count) {
    compiler_args_add(args, "--headers");
    compiler_args_add(args, ORIGIN_HEADERS);
  }
  for (size_t i = 0; i < r->instance_count; i++) {
    compiler_args_add(args, "--instance");
    add_formatted(args, cuda_qualify(source, r->instances[i]));
  }
  compiler_args_add(args, "-o");
  compiler_args_add(args, job->output);
  compiler_args_add(args, MW_SOURCE_NAME);
  cuda_list_free(&options);
  return code;
}

static size_t memory_limit(const cuda_device *device) {
#ifdef __SANITIZE_ADDRESS__ /* mwcc's shadow memory then takes terabytes of address space */
  (void)device;
  return 0;
#else
  return (size_t)device->limits[MW_LIMIT_COMPILE_MEMORY];
#endif
}

/* ---- the image ---- */

void cuda_split_facts(const char *text, cuda_image *image) {
  static const char mark[] = "//mw\t";
  static const struct {
    const char *what;
    image_part part;
    bool keep; /* whether the line keeps its first word, which distinguishes the kinds of facts */
  } kinds[] = {{"depends\t", IMAGE_DEPENDS, false}, {"log\t", IMAGE_LOG, false}, {"", IMAGE_FACTS, true}};
  for (const char *line = text; (line = strstr(line, mark));) {
    line += strlen(mark);
    size_t length = strcspn(line, "\n"), i = 0;
    while (strncmp(line, kinds[i].what, strlen(kinds[i].what)) != 0) i++;
    size_t skip = kinds[i].keep ? 0 : strlen(kinds[i].what);
    mw_text_addf(&image->parts[kinds[i].part], "%.*s\n", (int)(length - skip), line + skip);
    line += length;
  }
}

static int fill_image(const cuda_device *device, const mw_source *source, const char *path, cuda_image *image) {
  mw_text *ptx = &image->parts[IMAGE_PTX];
  int code = mw_file_read(path, ptx);
  if (code != MW_SUCCESS) return code;
  mw_text_addf(&image->parts[IMAGE_ARCH], "sm_%d", arch_for(device, 0));
  mw_text_add(&image->parts[IMAGE_FACTS], "", 0);
  cuda_split_facts(ptx->data, image);
  cuda_image_keep_source(image, source);
  return MW_SUCCESS;
}

/* Run mwcc, which writes to `path`. */
static int run(const request *r, const char *path) {
  char *mwcc = NULL;
  compiler_args args = {0};
  compiler_job job = compiler_job_new(path);
  int code = compiler_job_check(r->source);
  bool known = code == MW_SUCCESS;
  if (code == MW_SUCCESS) code = compiler_find(&mwcc);
  if (code == MW_SUCCESS) code = make_arguments(r, mwcc, &job, &args);
  if (code == MW_SUCCESS) code = compiler_job_write(&job, r->source);
  if (code == MW_SUCCESS)
    code = compiler_job_run(&job, &args, r->device->limits[MW_LIMIT_COMPILE_TIME], memory_limit(r->device));
  compiler_job_free(&job, known ? r->source : NULL);
  compiler_args_free(&args);
  free(mwcc);
  return code;
}

static int compile(const request *r, const char *path) {
  cuda_image image = {0};
  int code = run(r, path);
  if (code == MW_SUCCESS) code = fill_image(r->device, r->source, path, &image);
  if (code == MW_SUCCESS) code = cuda_image_write(&image, path);
  cuda_image_free(&image);
  return code;
}

int cuda_mwcc_compile(cuda_device *device, const mw_source *source, const char *const *instances, size_t instance_count,
                      const char *path) {
  return compile(&(request){device, source, instances, instance_count, false, 0, false}, path);
}

/* A kernel of a template is an instance of its own. */
int cuda_check_compile(void *argument, const mw_source *source, const mw_launch_class *launches, const char *path) {
  const cuda_kernel *kernel = argument;
  const char *name = kernel->info.name;
  if (launches->screened) return fail(MW_NOT_SUPPORTED, "kernels of a GPU follow each thread at once");
  size_t count = strchr(name, '<') ? 1 : 0;
  return compile(&(request){kernel->unit->device, source, &name, count, false, launches->checked, false}, path);
}

int cuda_measure_compile(void *handle, const mw_source *source, unsigned observes, const char *path) {
  const cuda_unit *unit = handle;
  (void)observes;
  const char **instances = mw_alloc((unit->kernel_count + 1) * sizeof *instances);
  size_t count = 0;
  for (size_t i = 0; i < unit->kernel_count; i++)
    if (strchr(unit->kernels[i].info.name, '<')) instances[count++] = unit->kernels[i].info.name;
  int code = compile(&(request){unit->device, source, instances, count, false, 0, true}, path);
  free(instances);
  return code;
}

bool cuda_mwcc_facts(const cuda_device *device, const mw_source *source, const char *const *instances,
                     size_t instance_count, const char *path, mw_text *out) {
  const request r = {device, source, instances, instance_count, true, 0, false};
  cuda_image image = {0};
  mw_text text = {0};
  char *file = mw_format("%s.facts", path);
  bool succeeded = run(&r, file) == MW_SUCCESS && mw_file_read(file, &text) == MW_SUCCESS;
  if (succeeded) {
    mw_text *facts = &image.parts[IMAGE_FACTS];
    cuda_split_facts(text.data, &image);
    mw_text_add(out, facts->data ? facts->data : "", facts->length);
  } else {
    mw_error_clear();
  }
  unlink(file);
  free(file);
  mw_text_free(&text);
  cuda_image_free(&image);
  return succeeded;
}
