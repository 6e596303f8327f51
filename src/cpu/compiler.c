/* Where mwcc is, and what decides the code that it makes. */
#include "cpu/compiler.h"
#include "cpu/cpu.h"
#include "cpu/processor.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* `path` if it is a program; otherwise it goes to the list of places looked at. */
static char *try_path(char *path, mw_text *tried) {
  if (is_program(path)) return path;
  mw_text_addf(tried, "%s%s", tried->length ? ", " : "", path);
  free(path);
  return NULL;
}

/* <prefix>/lib/libmoonwarp.so -> <prefix>/bin/mwcc, in the build tree as in an installation. */
static char *beside_library(mw_text *tried) {
  Dl_info info;
  char real[PATH_MAX];
  if (!dladdr(&mw_cpu_driver, &info) || !info.dli_fname || !realpath(info.dli_fname, real)) return NULL;
  for (int up = 0; up < 2; up++) {
    char *slash = strrchr(real, '/');
    if (slash) *slash = '\0';
  }
  return try_path(mw_format("%s/bin/mwcc", real), tried);
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

/* ---- the target ---- */

static void add_file(mw_text *out, const char *path) {
  struct stat status;
  if (stat(path, &status) != 0) return;
  mw_text_addf(out, "%s %" PRId64 " %" PRId64 ".%09ld\n", path, (int64_t)status.st_size, (int64_t)status.st_mtim.tv_sec,
               status.st_mtim.tv_nsec);
}

/* mwcc runs clang, and both are LLVM's library: an update of that package changes what they make, and clang's date. */
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

static pthread_once_t processor_once = PTHREAD_ONCE_INIT;
static mw_text processor;

static void describe_processor(void) {
  char name[256];
  processor_name(name, sizeof name);
  mw_text_addf(&processor, "%s %s\n", processor_architecture, name);
  processor_features(&processor);
}

/* The library may be unloaded by its host. */
__attribute__((destructor)) static void forget_processor(void) { mw_text_free(&processor); }

int cpu_target(void *argument, mw_text *out) {
  const cpu_device *device = argument;
  char *path;
  int code = compiler_find(&path);
  if (code != MW_SUCCESS) return code;
  pthread_once(&processor_once, describe_processor);
  mw_text_addf(out, "moonwarp %s, format %d\n", MW_VERSION, MW_MWO_VERSION);
  mw_text_add(out, processor.data, processor.length);
  mw_text_add(out, "\n", 1);
  if (device->is_restricted)
    mw_text_addf(out, "capability %d.%d\n", device->capability.major, device->capability.minor);
  add_file(out, path);
  add_clang(out);
  free(path);
  return MW_SUCCESS;
}
