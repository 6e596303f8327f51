/* The front end: clang's own, run as a child for the nvptx64 device target with our device headers.
 *
 * That target and not the host's: aggregates and kernel parameters then come as `byval` pointers with CUDA's layout,
 * address spaces have their known numbers, and the device built-ins arrive as plain nvvm intrinsics. clang is called
 * with -cc1, since its driver would only start it once more; what the driver would have found out (resource folder,
 * C++ headers) is found here. */
#include "mwcc.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* clang of the same major version as the LLVM that reads its bitcode. */
static char *find_clang(void) {
  const char *own = getenv("MOONWARP_CLANG");
  if (own && *own) return mw_strdup(own);
  unsigned major = 0, minor, patch;
  LLVMGetVersion(&major, &minor, &patch);
  char *llvm = mw_format("/usr/lib/llvm-%u/bin/clang", major);
  if (access(llvm, X_OK) == 0) return llvm;
  char *versioned = mw_format("clang-%u", major);
  char *found = find_in_path(versioned);
  if (!found) found = find_in_path("clang");
  if (!found)
    die("clang is not installed: moonwarp compiles kernels with clang-%u. Run `sh setup.sh`, or `apt-get install "
        "clang-%u`, or "
        "set MOONWARP_CLANG to the program",
        major, major);
  return found;
}

/* clang's folder of built-in headers stands beside it: <prefix>/bin/clang -> <prefix>/lib/clang/<major>. */
static char *find_resources(const char *clang) {
  char real[PATH_MAX];
  unsigned major = 0, minor, patch;
  LLVMGetVersion(&major, &minor, &patch);
  if (!realpath(clang, real)) return NULL;
  for (int up = 0; up < 2; up++) {
    char *slash = strrchr(real, '/');
    if (slash) *slash = 0;
  }
  char *folder = mw_format("%s/lib/clang/%u", real, major);
  return exists(folder) ? folder : NULL;
}

/* The newest version in a folder of numbered folders, or 0. */
static int newest(const char *folder) {
  DIR *dir = opendir(folder);
  int best = 0;
  for (struct dirent *entry; dir && (entry = readdir(dir));) {
    int version = atoi(entry->d_name);
    if (version > best) best = version;
  }
  if (dir) closedir(dir);
  return best;
}

/* Our headers stand beside mwcc, in the build tree as in an installation. */
static char *find_device_headers(void) {
  char self[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  const char *home = getenv("MOONWARP_HOME");
  if (home && *home) {
    char *folder = mw_format("%s/share/moonwarp/device", home);
    if (exists(folder)) return folder;
    free(folder);
  }
  if (length > 0) {
    self[length] = 0;
    for (int up = 0; up < 2; up++) {
      char *slash = strrchr(self, '/');
      if (slash) *slash = 0;
    }
    char *folder = mw_format("%s/share/moonwarp/device", self);
    if (exists(folder)) return folder;
    free(folder);
  }
  die("the device headers are missing: they should be in ../share/moonwarp/device beside mwcc's folder, or in "
      "$MOONWARP_HOME/share/moonwarp/device");
}

static void add_cxx_headers(strings *args) {
  int gcc = newest("/usr/include/c++");
  if (!gcc) return;
  strings_add(args, "-internal-isystem");
  strings_add(args, mw_format("/usr/include/c++/%d", gcc));
  const char *multiarch[] = {"x86_64-linux-gnu", "aarch64-linux-gnu"};
  for (size_t i = 0; i < MW_COUNT(multiarch); i++) {
    char *folder = mw_format("/usr/include/%s/c++/%d", multiarch[i], gcc);
    if (!exists(folder)) continue;
    strings_add(args, "-internal-isystem");
    strings_add(args, folder);
    strings_add(args, "-internal-externc-isystem");
    strings_add(args, mw_format("/usr/include/%s", multiarch[i]));
  }
  strings_add(args, "-internal-externc-isystem");
  strings_add(args, "/usr/include");
}

/* A source that also takes the address of every template kernel asked for, which instantiates it. */
static void add_instances(const program *p, mw_text *text) {
  for (size_t i = 0; i < p->options->instances.count; i++) {
    const char *name = p->options->instances.items[i];
    mw_text_addf(text, "\n#line 1 \"instance %s\"\n", name);
    mw_text_addf(text, "static __attribute__((device, used)) decltype(&%s) __mw_instance_%zu = &%s;\n", name, i, name);
  }
}

/* "kernel.cu: a.h b.h \" -> one line a file, with what tells that it changed. Files of the string headers' folder and
   the input itself are part of the cache key already. */
static void read_dependencies(program *p, const char *path) {
  mw_text file = {0};
  if (mw_file_read(path, &file) != MW_SUCCESS) return;
  unlink(path);
  char *cursor = file.data ? strchr(file.data, ':') : NULL;
  if (!cursor) return;
  const char *headers = p->options->headers;
  for (cursor++; *cursor;) {
    while (*cursor == ' ' || *cursor == '\n' || (*cursor == '\\' && cursor[1] == '\n')) cursor++;
    mw_text name = {0};
    while (*cursor && *cursor != ' ' && *cursor != '\n') {
      if (*cursor == '\\' && (cursor[1] == ' ' || cursor[1] == '#' || cursor[1] == '\\')) cursor++;
      mw_text_add(&name, cursor++, 1);
    }
    struct stat status;
    if (!name.length || strcmp(name.data, "-") == 0 || stat(name.data, &status)) continue;
    if (headers && starts_with(name.data, headers)) continue;
    char real[PATH_MAX];
    mw_text_addf(&p->dependencies, "%lld %lld %s\n", (long long)status.st_size,
                 (long long)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec,
                 realpath(name.data, real) ? real : name.data);
    mw_text_free(&name);
  }
}

/* clang closes with a count ("2 errors generated when compiling for sm_80."): no news to the reader. */
static void drop_count_line(mw_text *log) {
  char *generated = log->data ? strstr(log->data, " generated when compiling for ") : NULL;
  if (!generated) return;
  char *start = generated;
  while (start > log->data && start[-1] != '\n') start--;
  char *end = strchr(generated, '\n');
  if (end && !end[1]) log->length = (size_t)(start - log->data), *start = 0;
}

static void arguments(program *p, strings *args, const char *clang, const char *dependency_file) {
  const options *o = p->options;
  const char *fixed[] = {clang,
                         "-cc1",
                         "-triple",
                         "nvptx64-nvidia-cuda",
                         "-aux-triple",
                         p->triple,
                         "-target-cpu",
                         "sm_80",
                         "-target-feature",
                         "+ptx80",
                         "-x",
                         "cuda",
                         "-fcuda-is-device",
                         "-O2",
                         "-disable-llvm-passes",
                         "-emit-llvm-bc",
                         "-fcuda-allow-variadic-functions",
                         "-fdeclspec",
                         "-fno-finite-loops",
                         "-fno-delete-null-pointer-checks",
                         "-debug-info-kind=limited",
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
                         "-sys-header-deps",
                         "-MT",
                         "x"};
  for (size_t i = 0; i < MW_COUNT(fixed); i++) strings_add(args, fixed[i]);
  strings_add(args, mw_format("-std=%s", o->standard));
  if (o->fast_math) {
    const char *fast[] = {"-D__USE_FAST_MATH__=1", "-freciprocal-math", "-fapprox-func", "-ffp-contract=fast"};
    for (size_t i = 0; i < MW_COUNT(fast); i++) strings_add(args, fast[i]);
  }
  strings_add(args, "-dependency-file");
  strings_add(args, dependency_file);
  if (o->headers) strings_add(args, "-I"), strings_add(args, o->headers);
  for (size_t i = 0; i < o->front.count; i++) strings_add(args, o->front.items[i]);
  char *resources = find_resources(clang);
  if (resources) strings_add(args, "-resource-dir"), strings_add(args, resources);
  char *device = find_device_headers();
  strings_add(args, "-internal-isystem");
  strings_add(args, device);
  if (resources) strings_add(args, "-internal-isystem"), strings_add(args, mw_format("%s/include", resources));
  add_cxx_headers(args);
  strings_add(args, "-include");
  strings_add(args, mw_format("%s/moonwarp_device.h", device));
  /* Quoted includes are looked up beside the source, which reaches clang through a pipe. */
  char *slash = strrchr(o->input, '/');
  if (strcmp(o->input, "-") != 0) {
    strings_add(args, "-iquote");
    strings_add(args, slash ? mw_format("%.*s", (int)(slash - o->input), o->input) : ".");
  }
  const char *last[] = {"-o", "-", "-main-file-name", slash ? slash + 1 : o->input, "-", NULL};
  for (size_t i = 0; i < MW_COUNT(last); i++) strings_add(args, last[i]);
}

void front_compile(program *p, mw_text *bitcode) {
  char *clang = find_clang();
  char *dependency_file = mw_format("%s.d", p->options->output);
  strings args = {0};
  arguments(p, &args, clang, dependency_file);
  mw_text text = {0};
  mw_text_addf(&text, "#line 1 \"%s\"\n", p->options->input);
  mw_text_add(&text, p->source.data, p->source.length);
  add_instances(p, &text);
  mw_child_result result = {0};
  if (mw_child_run(args.items, &text, &(mw_child_limits){0}, &result) != MW_SUCCESS)
    die("%s", mw_error_last()->message);
  drop_count_line(&result.errors);
  read_dependencies(p, dependency_file);
  unlink(dependency_file);
  if (result.status == 1) {
    fwrite(result.errors.data ? result.errors.data : "", 1, result.errors.length, stderr);
    exit(1);
  }
  if (result.status != 0)
    die("clang failed on this source (%s %d): %s", result.signal ? "signal" : "status",
        result.signal ? result.signal : result.status, result.errors.data ? result.errors.data : "");
  p->log = result.errors;
  *bitcode = result.output;
}
