/* Compiling for the CPU device, and specialising for block classes: runs of mwcc (run_mwcc.h). */
#include "cpu/cpu.h"
#include "cpu/image/object.h"
#include "cpu/options.h"
#include "cpu/execution/fiber_switch.h"
#include "core/compile/source_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- running mwcc ---- */

/* The device's capability, unless the source's options name one: they do if the module was loaded from a compiled file,
   since further units must agree with the first. */
static void add_capability(compiler_args *args, const cpu_device *device) {
  char text[32];
  bool is_given = false;
  for (size_t i = 0; i < args->count; i++)
    if (strncmp(args->items[i], "--capability=", strlen("--capability=")) == 0) is_given = true;
  if (!device->is_restricted || is_given) return;
  snprintf(text, sizeof text, "--capability=%d.%d", device->capability.major, device->capability.minor);
  compiler_args_add(args, text);
}

static void add_reach(compiler_args *args, const cpu_device *device) {
  char text[32];
  snprintf(text, sizeof text, "--reach=%u,%u", device->reach.pointers, device->reach.null);
  compiler_args_add(args, text);
}

static int make_arguments(compiler_args *args, const char *mwcc, const compiler_job *job, const mw_source *source,
                          const char *const *instances, size_t instance_count) {
  compiler_args_add(args, mwcc);
  int code = compiler_args_add_options(args, source->options, source->option_count);
  if (code != MW_SUCCESS) return code;
  if (source->header_count) {
    compiler_args_add(args, "--headers");
    compiler_args_add(args, ORIGIN_HEADERS);
  }
  for (size_t i = 0; i < instance_count; i++) {
    compiler_args_add(args, "--instance");
    compiler_args_add(args, instances[i]);
  }
  compiler_args_add(args, "-o");
  compiler_args_add(args, job->output);
  compiler_args_add(args, MW_SOURCE_NAME);
  return MW_SUCCESS;
}

/* A module is made read-only, so that it can be mapped directly (object.c). */
static int take_module(const char *mwcc, const char *path) {
  if (chmod(path, S_IRUSR | S_IRGRP | S_IROTH) == 0) return MW_SUCCESS;
  fail(MW_UNKNOWN, "the compiler (%s) reported success, but wrote no module: %s", mwcc, strerror(errno));
  mw_error_kind("compile");
  return MW_UNKNOWN;
}

/* In a build with AddressSanitizer, mwcc has it as well, and its shadow takes terabytes of address space. */
static size_t memory_limit(const cpu_device *device) {
#ifdef CPU_ASAN
  (void)device;
  return 0;
#else
  return (size_t)cpu_limit(device, MW_LIMIT_COMPILE_MEMORY);
#endif
}

static int run_compiler(const cpu_device *device, const compiler_job *job, const compiler_args *args) {
  return compiler_job_run(job, args, cpu_limit(device, MW_LIMIT_COMPILE_TIME), memory_limit(device));
}

int cpu_compile(void *device, const mw_source *source, const char *const *instances, size_t instance_count,
                const char *path) {
  char *mwcc = NULL;
  compiler_args args = {0};
  compiler_job job = compiler_job_new(path);
  int code = compiler_job_check(source);
  bool known = code == MW_SUCCESS;
  if (code == MW_SUCCESS) code = compiler_find(&mwcc);
  if (code == MW_SUCCESS) code = make_arguments(&args, mwcc, &job, source, instances, instance_count);
  if (code == MW_SUCCESS) add_capability(&args, device);
  if (code == MW_SUCCESS) add_reach(&args, device);
  if (code == MW_SUCCESS) code = compiler_job_write(&job, source);
  if (code == MW_SUCCESS) code = run_compiler(device, &job, &args);
  if (code == MW_SUCCESS) code = take_module(mwcc, path);
  compiler_job_free(&job, known ? source : NULL);
  compiler_args_free(&args);
  free(mwcc);
  return code;
}

/* ---- specialised and watched units, from the bitcode of the general one ---- */

#define BITCODE      "module.bc"
#define DEPENDENCIES "module.d"

/* What the unit was made of, as lines that is_unchanged reads: of a shipped unit itself. */
static char *list_dependencies(const cpu_unit *unit) {
  struct stat now;
  if (!unit->shipped || stat(unit->shipped, &now) != 0) return mw_strdup(unit->image->dependencies);
  return mw_format("%lld %lld %s\n", (long long)now.st_size,
                   (long long)now.st_mtim.tv_sec * 1000000000 + now.st_mtim.tv_nsec, unit->shipped);
}

static int add_bitcode(compiler_args *args, const char *mwcc, const compiler_job *job, const mw_source *source) {
  const char *const more[] = {"--bitcode", BITCODE, "--dependencies", DEPENDENCIES, "-o", job->output, MW_SOURCE_NAME};
  compiler_args_add(args, mwcc);
  int code = compiler_args_add_options(args, source->options, source->option_count);
  for (size_t i = 0; i < MW_COUNT(more); i++) compiler_args_add(args, more[i]);
  return code;
}

/* Compile the unit's bitcode once more, with the option and its value, if any, and perhaps another option. */
static int compile_bitcode(const cpu_unit *unit, const mw_source *source, const char *option, const char *value,
                           const char *another, const char *path) {
  const mw_mwo *image = unit->image;
  compiler_job job = compiler_job_new(path);
  char *mwcc = NULL, *bitcode = mw_format("%s/" BITCODE, job.folder),
       *dependencies = mw_format("%s/" DEPENDENCIES, job.folder), *list = list_dependencies(unit);
  compiler_args args = {0};
  int code = compiler_find(&mwcc);
  if (code == MW_SUCCESS) code = add_bitcode(&args, mwcc, &job, source);
  if (code == MW_SUCCESS) compiler_args_add(&args, option);
  if (code == MW_SUCCESS && value) compiler_args_add(&args, value);
  if (code == MW_SUCCESS && another) compiler_args_add(&args, another);
  if (code == MW_SUCCESS) add_reach(&args, unit->device);
  if (code == MW_SUCCESS) code = mw_file_write(bitcode, image->bitcode, image->bitcode_bytes);
  if (code == MW_SUCCESS) code = mw_file_write(dependencies, list, strlen(list));
  if (code == MW_SUCCESS) code = run_compiler(unit->device, &job, &args);
  if (code == MW_SUCCESS) code = take_module(mwcc, path);
  unlink(bitcode);
  unlink(dependencies);
  compiler_job_free(&job, NULL);
  compiler_args_free(&args);
  free(bitcode);
  free(dependencies);
  free(list);
  free(mwcc);
  return code;
}

int cpu_specialise(void *argument, const mw_source *source, const mw_launch_class *launches, const char *path) {
  static const char *const counts[] = {[MW_BLOCKS_MANY] = "", [MW_BLOCKS_FEW] = ":few", [MW_BLOCKS_ONE] = ":one"};
  const cpu_kernel *kernel = argument;
  const unsigned *block = launches->block;
  char checks[24] = "";
  if (launches->checked)
    snprintf(checks, sizeof checks, "--checks=%u", launches->checked | (launches->screened ? MW_CHECKED_SCREEN : 0));
  if (!block[0]) return compile_bitcode(kernel->unit, source, checks, NULL, NULL, path);
  char *launch = mw_format("%s:%ux%ux%u%s%s", kernel->image->info.linkage, block[0], block[1], block[2],
                           launches->columns == 2 ? ":2" : "", counts[launches->blocks]);
  char *width = launches->gang ? mw_format("--width=%ux%u", launches->gang >> 16, launches->gang & 0xffff) : NULL;
  int code = compile_bitcode(kernel->unit, source, "--launch", launch, *checks ? checks : width, path);
  free(launch);
  free(width);
  return code;
}

int cpu_observe(void *argument, const mw_source *source, unsigned observes, const char *path) {
  static const char *const words[] = {"access", "sync", "branch", "code", "step"};
  const cpu_unit *unit = argument;
  mw_text option = {0};
  if (!unit->image->bitcode_bytes)
    return fail(MW_INVALID_SOURCE,
                "a module that was compiled for one kind of launch (mwcc --launch) cannot be watched");
  mw_text_addf(&option, "--observe=");
  for (unsigned i = 0, any = 0; i < MW_COUNT(words); i++)
    if (observes & 1u << i) mw_text_addf(&option, "%s%s", any++ ? "," : "", words[i]);
  int code = compile_bitcode(unit, source, option.data, NULL, NULL, path);
  mw_text_free(&option);
  return code;
}

/* ---- whether a compiled file is up to date ---- */

/* "size mtime_ns path": whether the file is unchanged. */
static bool is_unchanged(const char *line) {
  char *rest, *name;
  long long size = strtoll(line, &rest, 10), time = strtoll(rest, &name, 10);
  struct stat now;
  if (*name != ' ' || stat(name + 1, &now) != 0) return false;
  return now.st_size == size && (long long)now.st_mtim.tv_sec * 1000000000 + now.st_mtim.tv_nsec == time;
}

bool cpu_usable(void *device, const char *path) {
  (void)device;
  mw_text list = {0};
  bool usable = object_dependencies(path, &list);
  for (char *line = list.data, *end; usable && line && *line; line = end + 1) {
    end = strchr(line, '\n');
    if (!end) break;
    *end = '\0';
    usable = is_unchanged(line);
  }
  mw_text_free(&list);
  return usable;
}
