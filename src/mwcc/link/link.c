/* Links objects to a module, a .mwo file: a shared object (elf.h) and a trailer with a checksum. The file appears under
 * its name atomically.
 *
 * A module consists of few small objects that are in memory already. Linking them here takes 0.4 ms; LLD as a library
 * (liblld) takes 10 ms, and a linker process longer: docs/notes/alternatives.md. If MOONWARP_LD is set, that linker is
 * started instead, as for objects that ours does not support.
 *
 * Objects may import mathematical functions (thread_context.c makes sure of it) and functions that the code generator
 * calls itself. The module names only libraries that it needs. */
#include "elf.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what the objects import ---- */

/* Functions of the C library, which every process has loaded: the module need not name a library for them. */
static bool is_in_c_library(const char *name) {
  static const char *const names[] = {"memcpy", "memmove", "memset", "memcmp", "bcmp"};
  for (size_t i = 0; i < MW_COUNT(names); i++)
    if (strcmp(name, names[i]) == 0) return true;
  return false;
}

static bool is_other_machine(const linker *l) {
#if defined __aarch64__
  return l->machine != EM_AARCH64;
#else
  return l->machine != EM_X86_64;
#endif
}

static _Noreturn void die_without(const linker *l, const library *libraries, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (libraries[i].is_missing && is_other_machine(l))
      die("the code needs '%s', but this machine has no %s for the target: install libc6-%s-cross and "
          "libgcc-s1-%s-cross",
          name, libraries[i].file, l->machine == EM_AARCH64 ? "arm64" : "amd64",
          l->machine == EM_AARCH64 ? "arm64" : "amd64");
  die("the code needs '%s', which none of the system's libraries has", name);
}

/* Vector functions, and nothing else, are in libmvec. */
static bool belongs_elsewhere(const library *l, const char *name) {
  bool vectors = starts_with(name, "_ZGV");
  return vectors != (strcmp(l->file, "libmvec.so.1") == 0);
}

static void find_import(const linker *l, library *libraries, size_t count, global *g) {
  for (size_t i = 0; i < count; i++) {
    if (belongs_elsewhere(&libraries[i], g->name)) continue;
    if (!library_has(&libraries[i], l->machine, is_other_machine(l), g->name, &g->version)) continue;
    g->library = &libraries[i];
    libraries[i].is_needed = true;
    return;
  }
  if (g->bind != STB_WEAK) die_without(l, libraries, count, g->name);
}

/* Find the libraries of all imports. Returns whether another linker needs the C library: with --no-undefined, for
   cross-compilation. */
static bool find_imports(linker *l, library *libraries, size_t count) {
  size_t imports;
  bool needs_c = false;
  global **list = linker_imports(l, &imports);
  for (size_t i = 0; i < imports; i++) {
    if (is_in_c_library(list[i]->name))
      needs_c = true;
    else
      find_import(l, libraries, count, list[i]);
  }
  l->libraries = libraries, l->library_count = count;
  free(list);
  return needs_c && is_other_machine(l);
}

/* ---- by another linker ---- */

static void start_linker(const linker *l, const char *command, bool needs_c, const char *stem, const char *path) {
  const char *architecture = l->machine == EM_AARCH64 ? "aarch64" : "x86_64";
  bool cross = is_other_machine(l);
  const char *fixed[] = {command,
                         "-shared",
                         "-z",
                         "now",
                         "-z",
                         "noexecstack",
                         "--eh-frame-hdr",
                         "--hash-style=gnu",
                         mw_format("-L/lib/%s-linux-gnu", architecture),
                         cross ? mw_format("-L/usr/%s-linux-gnu/lib", architecture) : "-L/usr/lib64",
                         cross ? mw_format("-L/usr/lib/%s-linux-gnu", architecture) : "-L/lib64",
                         cross ? "--no-undefined" : "-L/usr/lib",
                         "-o",
                         path};
  strings args = {0};
  for (size_t i = 0; i < MW_COUNT(fixed); i++) strings_add(&args, fixed[i]);
  for (size_t i = 0; i < l->object_count; i++) {
    const char *file = mw_format("%s.%zu.o", stem, i);
    write_output(file, l->objects[i]->data, l->objects[i]->size);
    strings_add(&args, file);
  }
  for (size_t i = 0; i < l->library_count; i++)
    if (l->libraries[i].is_needed) strings_add(&args, mw_format("-l:%s", l->libraries[i].file));
  if (needs_c) strings_add(&args, "-l:libc.so.6");
  setenv("LC_ALL", "C", 1); /* otherwise 10 % of its time goes into loading translations of its messages */
  mw_child_result result = {0};
  if (mw_child_run(args.items, NULL, NULL, &result) != MW_SUCCESS)
    die("the linker '%s' (MOONWARP_LD) cannot be run: %s", command, mw_error_last()->message);
  for (size_t i = 0; i < l->object_count; i++) unlink(args.items[MW_COUNT(fixed) + i]);
  if (result.status != 0) die("the linker failed: %s", result.errors.data);
}

/* The shared object from another linker, with room for the trailer. */
static unsigned char *link_outside(const linker *l, const char *command, bool needs_c, const char *path, size_t *size) {
  char *folder = NULL;
  bool to_stdout = strcmp(path, "-") == 0;
  if (to_stdout && mw_directory_temporary(&folder) != MW_SUCCESS) die("%s", mw_error_last()->message);
  char *stem = to_stdout ? mw_format("%s/out", folder) : mw_format("%s.%d", path, (int)getpid());
  char *linked = mw_format("%s.so", stem);
  start_linker(l, command, needs_c, stem, linked);
  mw_text file = {0};
  if (mw_file_read(linked, &file) != MW_SUCCESS) die("%s", mw_error_last()->message);
  unlink(linked);
  if (folder) mw_directory_remove(folder);
  *size = file.length;
  return mw_realloc(file.data, file.length + sizeof(mw_trailer));
}

/* ---- from objects to a module ---- */

static void seal(unsigned char *image, size_t size) {
  mw_trailer trailer = {.length = size, .magic = MW_MWO_MAGIC};
  mw_hash hash = mw_hash_start();
  mw_hash_add(&hash, image, size);
  trailer.low = hash.low, trailer.high = hash.high;
  memcpy(image + size, &trailer, sizeof trailer);
}

static void link_module(linker *l, const char *path) {
  library libraries[] = {{.file = "libm.so.6"}, {.file = "libmvec.so.1"}, {.file = "libgcc_s.so.1"}};
  const char *command = getenv("MOONWARP_LD");
  size_t size;
  bool needs_c = find_imports(l, libraries, MW_COUNT(libraries)); /* libgcc: 128-bit integers */
  unsigned char *image =
      command && *command ? link_outside(l, command, needs_c, path, &size) : linker_write(l, sizeof(mw_trailer), &size);
  seal(image, size);
  write_output(path, image, size + sizeof(mw_trailer));
}

void link_mwo(program *p, const LLVMMemoryBufferRef *objects, size_t count) {
  linker l = {0};
  for (size_t i = 0; i < count; i++)
    linker_add(&l, object_read("made here", LLVMGetBufferStart(objects[i]), LLVMGetBufferSize(objects[i]), &l.machine));
  link_module(&l, p->options->output);
}

void link_files(const options *o) {
  linker l = {0};
  for (size_t i = 0; i < o->objects.count; i++) {
    mw_text file = {0};
    if (mw_file_read(o->objects.items[i], &file) != MW_SUCCESS) die("%s", mw_error_last()->message);
    linker_add(&l, object_read(o->objects.items[i], file.data, file.length, &l.machine));
  }
  link_module(&l, o->output);
}
