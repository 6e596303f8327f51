/* Finds clang and the header folders that its driver would have passed: clang's own, the C++ library's, and ours. */
#include "clang_embedded.h"
#include "mwcc/mwcc.h"
#include "front.h"

#include <llvm/Config/llvm-config.h>

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool exists(const char *path) { return access(path, R_OK) == 0; }

/* The first program of that name in PATH, or NULL. */
static char *find_in_path(const char *name) {
  const char *path = getenv("PATH");
  if (!path) path = "/usr/local/bin:/usr/bin:/bin";
  while (*path) {
    size_t length = strcspn(path, ":");
    char *candidate = mw_format("%.*s/%s", (int)length, path, name);
    if (access(candidate, X_OK) == 0) return candidate;
    free(candidate);
    path += length + (path[length] == ':');
  }
  return NULL;
}

char *find_clang(void) {
  const char *own = getenv("MOONWARP_CLANG");
  if (own && *own) return mw_strdup(own);
  char self[PATH_MAX];
  if (mwcc_clang_inside && realpath("/proc/self/exe", self)) return mw_strdup(self);
  char *llvm = mw_format("/usr/lib/llvm-%d/bin/clang", LLVM_VERSION_MAJOR);
  if (access(llvm, X_OK) == 0) return llvm;
  char *versioned = mw_format("clang-%d", LLVM_VERSION_MAJOR);
  char *found = find_in_path(versioned);
  if (!found) found = find_in_path("clang");
  if (!found)
    die("clang is not installed: moonwarp compiles kernels with clang-%d. Run `sh setup.sh`, or `apt-get install "
        "clang-%d`, or set MOONWARP_CLANG to the program",
        LLVM_VERSION_MAJOR, LLVM_VERSION_MAJOR);
  return found;
}

/* <prefix>/bin/name -> <prefix> */
static void cut_two_names(char *path) {
  for (int up = 0; up < 2; up++) {
    char *slash = strrchr(path, '/');
    if (slash) *slash = 0;
  }
}

/* clang's resource folder: <prefix>/lib/clang/<major> for <prefix>/bin/clang, or the one found when mwcc was built. */
static char *find_resources(const char *clang) {
  char real[PATH_MAX];
  if (!realpath(clang, real)) return NULL;
  cut_two_names(real);
  char *folder = mw_format("%s/lib/clang/%d", real, LLVM_VERSION_MAJOR);
  if (exists(folder)) return folder;
  free(folder);
  return exists(MW_CLANG_RESOURCES) ? mw_strdup(MW_CLANG_RESOURCES) : NULL;
}

char *find_installed(const char *path) {
  char self[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  self[length < 0 ? 0 : length] = 0;
  cut_two_names(self);
  return mw_format("%s/%s", self, path);
}

/* In the build tree and in installations, the headers have the same place relative to mwcc. */
char *find_device_headers(void) {
  const char *home = getenv("MOONWARP_HOME");
  if (home && *home) {
    char *folder = mw_format("%s/share/moonwarp/device", home);
    if (exists(folder)) return folder;
    free(folder);
  }
  char *folder = find_installed("share/moonwarp/device");
  if (exists(folder)) return folder;
  die("the device headers are missing: they should be in %s, or in $MOONWARP_HOME/share/moonwarp/device", folder);
}

/* The highest version among a folder's numbered subfolders, or 0. */
static int newest_version(const char *folder) {
  DIR *dir = opendir(folder);
  int best = 0;
  for (struct dirent *entry; dir && (entry = readdir(dir));) {
    int version = atoi(entry->d_name);
    if (version > best) best = version;
  }
  if (dir) closedir(dir);
  return best;
}

static void add(strings *args, const char *option, const char *value) {
  strings_add(args, option);
  strings_add(args, value);
}

static const char *const multiarch[] = {"x86_64-linux-gnu", "aarch64-linux-gnu"};

static void add_if_there(strings *args, const char *option, char *folder) {
  if (exists(folder)) add(args, option, folder);
}

static void add_cxx_headers(strings *args) {
  int gcc = newest_version("/usr/include/c++");
  if (!gcc) return;
  add(args, "-internal-isystem", mw_format("/usr/include/c++/%d", gcc));
  for (size_t i = 0; i < MW_COUNT(multiarch); i++)
    add_if_there(args, "-internal-isystem", mw_format("/usr/include/%s/c++/%d", multiarch[i], gcc));
}

static void add_c_headers(strings *args) {
  for (size_t i = 0; i < MW_COUNT(multiarch); i++)
    add_if_there(args, "-internal-externc-isystem", mw_format("/usr/include/%s", multiarch[i]));
  add(args, "-internal-externc-isystem", "/usr/include");
}

void add_system_headers(strings *args, const char *clang, const char *device, bool cxx) {
  char *resources = find_resources(clang);
  if (resources) add(args, "-resource-dir", resources);
  add(args, "-internal-isystem", device);
  if (resources) add(args, "-internal-isystem", mw_format("%s/include", resources));
  if (cxx) add_cxx_headers(args);
  add_c_headers(args);
  /* last, so that the system's C++ library has precedence */
  add(args, "-internal-isystem", mw_format("%s/fallback", device));
}
