/* Compiling: the source and its headers go to files, mwcc runs beside them, and what is left is the module.
 *
 * mwcc's working directory is the private folder, so that all it writes of the source, in messages, in debug information
 * and in __FILE__, says MW_SOURCE_NAME and no folder. */
#include "cpu/compiler.h"
#include "cpu/cpu.h"
#include "cpu/object.h"
#include "cpu/origin.h"
#include "cpu/switch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct compile_job {
  char *folder;           /* the private one */
  char *source, *headers; /* paths in it */
  const char *output;     /* the name of the module in it */
} compile_job;

/* ---- files ---- */

static compile_job job_new(const char *path) {
  const char *slash = strrchr(path, '/');
  compile_job job = {.output = slash ? slash + 1 : path};
  job.folder = slash ? mw_format("%.*s", (int)(slash - path), path) : mw_strdup(".");
  job.source = mw_format("%s/" MW_SOURCE_NAME, job.folder);
  job.headers = mw_format("%s/" ORIGIN_HEADERS, job.folder);
  return job;
}

/* The header's folders below the folder of headers, innermost first. */
static void remove_header(const compile_job *job, const char *name) {
  char *path = mw_format("%s/%s", job->headers, name);
  unlink(path);
  for (char *slash; (slash = strrchr(path, '/')) && slash > path + strlen(job->headers);) {
    *slash = '\0';
    rmdir(path);
  }
  free(path);
}

static bool is_inside(const char *name) {
  for (const char *part = name;; part++) {
    size_t length = strcspn(part, "/");
    if (length == 2 && strncmp(part, "..", 2) == 0) return false;
    part += length;
    if (!*part) return *name != '/';
  }
}

static int check_header(const mw_header *header) {
  const char *name = header->name;
  if (!name || !*name || name[strlen(name) - 1] == '/') return fail(MW_INVALID_VALUE, "a header has no name");
  if (!is_inside(name))
    return fail(
        MW_INVALID_VALUE,
        "header \"%s\": a header's name is what #include says, as \"math.h\" or \"lib/math.h\"; it cannot be %s", name,
        *name == '/' ? "an absolute path" : "above its folder");
  if (strchr(name, '\n')) return fail(MW_INVALID_VALUE, "a header's name has a line break in it");
  if (!header->text) return fail(MW_INVALID_VALUE, "header \"%s\" has no text", name);
  return MW_SUCCESS;
}

static int write_header(const compile_job *job, const mw_header *header) {
  char *path = mw_format("%s/%s", job->headers, header->name), *folder = mw_strdup(path);
  *strrchr(folder, '/') = '\0';
  int code = mw_directory_make(folder);
  if (code == MW_SUCCESS) code = mw_file_write(path, header->text, strlen(header->text));
  free(folder);
  free(path);
  return code;
}

/* What fails here is the folder of temporary files: full, or not to be written. */
static int write_files(const compile_job *job, const mw_source *source) {
  int code = MW_SUCCESS;
  for (size_t i = 0; i < source->header_count && code == MW_SUCCESS; i++) code = write_header(job, &source->headers[i]);
  if (code == MW_SUCCESS) code = mw_file_write(job->source, source->text, source->length);
  return code;
}

static void job_free(compile_job *job, const mw_source *source) {
  for (size_t i = 0; i < source->header_count; i++) remove_header(job, source->headers[i].name);
  rmdir(job->headers);
  unlink(job->source);
  free(job->folder);
  free(job->source);
  free(job->headers);
}

/* ---- running mwcc ---- */

/* The device's, unless the source says what it is for: it does where it was loaded from a compiled file, and further
   units have to agree with the first. */
static void add_capability(compiler_args *args, const cpu_device *device) {
  char text[32];
  bool is_given = false;
  for (size_t i = 0; i < args->count; i++)
    if (strncmp(args->items[i], "--capability=", strlen("--capability=")) == 0) is_given = true;
  if (!device->is_restricted || is_given) return;
  snprintf(text, sizeof text, "--capability=%d.%d", device->capability.major, device->capability.minor);
  compiler_args_add(args, text);
}

static int make_arguments(compiler_args *args, const char *mwcc, const compile_job *job, const mw_source *source,
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

/* A module is read-only from the start: such a one can be mapped as it stands (object.c). */
static int take_module(const char *mwcc, const char *path) {
  if (chmod(path, S_IRUSR | S_IRGRP | S_IROTH) == 0) return MW_SUCCESS;
  fail(MW_UNKNOWN, "the compiler (%s) said that all went well, but wrote no module: %s", mwcc, strerror(errno));
  mw_error_kind("compile");
  return MW_UNKNOWN;
}

/* A build with AddressSanitizer comes with an mwcc that was built so too, and whose shadow takes terabytes of address
   space. */
static size_t memory_limit(const cpu_device *device) {
#ifdef CPU_ASAN
  (void)device;
  return 0;
#else
  return (size_t)cpu_limit(device, MW_LIMIT_COMPILE_MEMORY);
#endif
}

static int run_compiler(const cpu_device *device, const char *mwcc, const compile_job *job, const compiler_args *args) {
  mw_child_limits limits = {
      .seconds = cpu_limit(device, MW_LIMIT_COMPILE_TIME),
      .memory = memory_limit(device),
      .directory = job->folder,
  };
  mw_child_result result = {0};
  int code = mw_child_run((const char *const *)args->items, NULL, &limits, &result);
  if (code == MW_SUCCESS) {
    code = compiler_outcome(mwcc, &limits, &result);
    mw_child_result_free(&result);
  }
  return code;
}

int cpu_compile(void *device, const mw_source *source, const char *const *instances, size_t instance_count,
                const char *path) {
  char *mwcc = NULL;
  compiler_args args = {0};
  compile_job job = job_new(path);
  int code = MW_SUCCESS;
  for (size_t i = 0; i < source->header_count && code == MW_SUCCESS; i++) code = check_header(&source->headers[i]);
  mw_source known = *source;
  if (code != MW_SUCCESS) known.header_count = 0;
  if (code == MW_SUCCESS) code = compiler_find(&mwcc);
  if (code == MW_SUCCESS) code = make_arguments(&args, mwcc, &job, source, instances, instance_count);
  if (code == MW_SUCCESS) add_capability(&args, device);
  if (code == MW_SUCCESS) code = write_files(&job, source);
  if (code == MW_SUCCESS) code = run_compiler(device, mwcc, &job, &args);
  if (code == MW_SUCCESS) code = take_module(mwcc, path);
  job_free(&job, &known);
  compiler_args_free(&args);
  free(mwcc);
  return code;
}

/* ---- code for blocks of one size, from what clang made of the source before ---- */

#define BITCODE      "module.bc"
#define DEPENDENCIES "module.d"

static int add_launch(compiler_args *args, const char *mwcc, const compile_job *job, const mw_source *source,
                      const char *linkage, const unsigned block[3]) {
  char *launch = mw_format("%s:%ux%ux%u", linkage, block[0], block[1], block[2]);
  const char *const more[] = {"--launch",   launch, "--bitcode", BITCODE,       "--dependencies",
                              DEPENDENCIES, "-o",   job->output, MW_SOURCE_NAME};
  compiler_args_add(args, mwcc);
  int code = compiler_args_add_options(args, source->options, source->option_count);
  for (size_t i = 0; i < MW_COUNT(more); i++) compiler_args_add(args, more[i]);
  free(launch);
  return code;
}

int cpu_specialise(void *argument, const mw_source *source, const unsigned block[3], const char *path) {
  const cpu_kernel *kernel = argument;
  const mw_mwo *image = kernel->unit->image;
  compile_job job = job_new(path);
  char *mwcc = NULL, *bitcode = mw_format("%s/" BITCODE, job.folder),
       *dependencies = mw_format("%s/" DEPENDENCIES, job.folder);
  compiler_args args = {0};
  int code = compiler_find(&mwcc);
  if (code == MW_SUCCESS) code = add_launch(&args, mwcc, &job, source, kernel->image->info.linkage, block);
  if (code == MW_SUCCESS) code = mw_file_write(bitcode, image->bitcode, image->bitcode_bytes);
  if (code == MW_SUCCESS) code = mw_file_write(dependencies, image->dependencies, strlen(image->dependencies));
  if (code == MW_SUCCESS) code = run_compiler(kernel->unit->device, mwcc, &job, &args);
  if (code == MW_SUCCESS) code = take_module(mwcc, path);
  unlink(bitcode);
  unlink(dependencies);
  job_free(&job, &(mw_source){0});
  compiler_args_free(&args);
  free(bitcode);
  free(dependencies);
  free(mwcc);
  return code;
}

/* ---- is what was compiled still right? ---- */

/* "size mtime_ns path": whether the file is as it was. */
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
