/* Finding and running mwcc: the source and its headers are written to files in a private folder, in which mwcc runs and
 * writes the module. See run_mwcc.h. */
#include "run_mwcc.h"
#include "source_map.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the program ---- */

static bool is_program(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* `path` if it is a program; otherwise it is added to the list of places searched. */
static char *try_path(char *path, mw_text *tried) {
  if (is_program(path)) return path;
  mw_text_addf(tried, "%s%s", tried->length ? ", " : "", path);
  free(path);
  return NULL;
}

/* <prefix>/lib/libmoonwarp.so -> <prefix>, in the build tree as in an installation. */
static bool find_prefix(char prefix[PATH_MAX]) {
  Dl_info info;
  if (!dladdr((void *)(uintptr_t)&compiler_find, &info) || !info.dli_fname || !realpath(info.dli_fname, prefix))
    return false;
  for (int up = 0; up < 2; up++) {
    char *slash = strrchr(prefix, '/');
    if (slash) *slash = '\0';
  }
  return true;
}

static char *beside_library(mw_text *tried) {
  char prefix[PATH_MAX];
  return find_prefix(prefix) ? try_path(mw_format("%s/bin/mwcc", prefix), tried) : NULL;
}

bool compiler_shipped(const char *level, const char *name, char *path, size_t size) {
  const char *home = getenv("MOONWARP_HOME");
  char prefix[PATH_MAX];
  if (!home || !*home) home = find_prefix(prefix) ? prefix : NULL;
  if (!home) return false;
  int length = snprintf(path, size, "%s/share/moonwarp/kernels/%s/%s.mwo", home, level, name);
  return length > 0 && (size_t)length < size && access(path, R_OK) == 0;
}

static char *in_search_path(void) {
  const char *folders = getenv("PATH");
  for (size_t length; folders && *folders; folders += length + (folders[length] == ':')) {
    length = strcspn(folders, ":");
    char *path = mw_format("%.*s/mwcc", (int)length, folders);
    if (length && is_program(path)) return path;
    free(path);
  }
  return NULL;
}

int compiler_find(char **out) {
  const char *home = getenv("MOONWARP_HOME");
  bool has_home = home && *home;
  mw_text tried = {0};
  if (has_home) {
    *out = try_path(mw_format("%s/bin/mwcc", home), &tried);
  } else {
    *out = beside_library(&tried);
    if (!*out) *out = in_search_path();
  }
  int code = MW_SUCCESS;
  if (!*out && has_home)
    code = fail(MW_JIT_COMPILER_NOT_FOUND,
                "the kernel compiler mwcc was not found: MOONWARP_HOME is '%s', and there is no program %s. Point "
                "MOONWARP_HOME "
                "to an installation, or unset it. Modules saved to .mwo files load without a compiler",
                home, tried.data);
  else if (!*out)
    code = fail(MW_JIT_COMPILER_NOT_FOUND,
                "the kernel compiler mwcc was not found: it is neither %s nor in $PATH. Build it with `sh setup.sh && "
                "make`, or "
                "set MOONWARP_HOME to an installation. Modules saved to .mwo files load without a compiler",
                tried.data ? tried.data : "beside the library");
  mw_text_free(&tried);
  return code;
}

static void add_file(mw_text *out, const char *path) {
  struct stat status;
  if (stat(path, &status) != 0) return;
  mw_text_addf(out, "%s %" PRId64 " %" PRId64 ".%09ld\n", path, (int64_t)status.st_size, (int64_t)status.st_mtim.tv_sec,
               status.st_mtim.tv_nsec);
}

/* mwcc runs clang, and both use LLVM's library: an update of that package changes their output, and clang's date. */
static void add_clang(mw_text *out) {
  const char *own = getenv("MOONWARP_CLANG");
  if (own && *own) {
    mw_text_addf(out, "clang ");
    add_file(out, own);
    return;
  }
  for (int version = 19; version <= 22; version++) {
    char path[64];
    snprintf(path, sizeof path, "/usr/lib/llvm-%d/bin/clang", version);
    add_file(out, path);
  }
}

void compiler_describe(const char *mwcc, mw_text *out) {
  add_file(out, mwcc);
  add_clang(out);
}

/* ---- arguments ---- */

void compiler_args_add(compiler_args *args, const char *text) {
  args->items = mw_realloc(args->items, (args->count + 2) * sizeof *args->items);
  args->items[args->count++] = mw_strdup(text);
  args->items[args->count] = NULL;
}

void compiler_args_free(compiler_args *args) {
  for (size_t i = 0; i < args->count; i++) free(args->items[i]);
  free(args->items);
  *args = (compiler_args){0};
}

/* ---- files ---- */

compiler_job compiler_job_new(const char *path) {
  const char *slash = strrchr(path, '/');
  compiler_job job = {.output = slash ? slash + 1 : path};
  job.folder = slash ? mw_format("%.*s", (int)(slash - path), path) : mw_strdup(".");
  job.source = mw_format("%s/" MW_SOURCE_NAME, job.folder);
  job.headers = mw_format("%s/" ORIGIN_HEADERS, job.folder);
  return job;
}

/* The header's folders below the folder of headers, innermost first. */
static void remove_header(const compiler_job *job, const char *name) {
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

static int write_header(const compiler_job *job, const mw_header *header) {
  char *path = mw_format("%s/%s", job->headers, header->name), *folder = mw_strdup(path);
  *strrchr(folder, '/') = '\0';
  int code = mw_directory_make(folder);
  if (code == MW_SUCCESS) code = mw_file_write(path, header->text, strlen(header->text));
  free(folder);
  free(path);
  return code;
}

int compiler_job_check(const mw_source *source) {
  int code = MW_SUCCESS;
  for (size_t i = 0; i < source->header_count && code == MW_SUCCESS; i++) code = check_header(&source->headers[i]);
  return code;
}

int compiler_job_write(const compiler_job *job, const mw_source *source) {
  int code = MW_SUCCESS;
  for (size_t i = 0; i < source->header_count && code == MW_SUCCESS; i++) code = write_header(job, &source->headers[i]);
  if (code == MW_SUCCESS) code = mw_file_write(job->source, source->text, source->length);
  return code;
}

void compiler_job_free(compiler_job *job, const mw_source *source) {
  for (size_t i = 0; source && i < source->header_count; i++) remove_header(job, source->headers[i].name);
  rmdir(job->headers);
  unlink(job->source);
  free(job->folder);
  free(job->source);
  free(job->headers);
}

/* ---- a run ---- */

int compiler_job_run(const compiler_job *job, const compiler_args *args, double seconds, size_t memory) {
  mw_child_limits limits = {.seconds = seconds, .memory = memory, .directory = job->folder};
  mw_child_result result = {0};
  int code = mw_child_run((const char *const *)args->items, NULL, &limits, &result);
  if (code == MW_SUCCESS) {
    code = compiler_outcome(args->items[0], job->source, &limits, &result);
    mw_child_result_free(&result);
  }
  return code;
}
