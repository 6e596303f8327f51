/* From an object to a sealed .mwo file: the system's linker makes it a shared object (a few milliseconds), the trailer
 * with the checksum goes behind it, and the result appears under its name all at once.
 *
 * What an object may import are functions of mathematics (thread.c has seen to that) and what the code generator calls by
 * itself. The linker is given the libraries that are needed and no others: reading their symbols is most of its work. */
#include "mwcc.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what the object imports ---- */

static const void *object_at(const mw_text *object, uint64_t offset, uint64_t size) {
  if (offset > object->length || size > object->length - offset) die("the object that LLVM made is cut short");
  return object->data + offset;
}

static void add_undefined(const mw_text *object, const Elf64_Shdr *sections, const Elf64_Shdr *table, strings *out) {
  const Elf64_Sym *symbols = object_at(object, table->sh_offset, table->sh_size);
  const char *names = object_at(object, sections[table->sh_link].sh_offset, sections[table->sh_link].sh_size);
  for (size_t i = 1; i < table->sh_size / sizeof *symbols; i++)
    if (symbols[i].st_shndx == SHN_UNDEF) strings_add(out, names + symbols[i].st_name);
}

static strings imports_of(const mw_text *object) {
  strings imports = {0};
  const Elf64_Ehdr *header = object_at(object, 0, sizeof *header);
  const Elf64_Shdr *sections = object_at(object, header->e_shoff, (uint64_t)header->e_shnum * sizeof *sections);
  for (unsigned i = 0; i < header->e_shnum; i++)
    if (sections[i].sh_type == SHT_SYMTAB) add_undefined(object, sections, &sections[i], &imports);
  return imports;
}

/* ---- who has it ---- */

typedef struct library {
  const char *file;
  const char *prefix; /* of names that are certainly there: saves loading the library */
  void *handle;
  bool wanted;
} library;

/* Every process has the C library and finds these in it, with no word from the linker. */
static bool is_everywhere(const char *name) {
  static const char *const names[] = {"memcpy", "memmove", "memset", "memcmp", "bcmp"};
  for (size_t i = 0; i < MW_COUNT(names); i++)
    if (strcmp(name, names[i]) == 0) return true;
  return false;
}

/* In the library itself, and not in one that it depends on. */
static bool has(library *l, const char *name) {
  Dl_info where;
  if (l->prefix) return starts_with(name, l->prefix);
  if (!l->handle) l->handle = dlopen(l->file, RTLD_LAZY | RTLD_LOCAL);
  void *symbol = l->handle ? dlsym(l->handle, name) : NULL;
  return symbol && dladdr(symbol, &where) && where.dli_fname && strstr(where.dli_fname, l->file);
}

static bool find_library(library *libraries, size_t count, const char *name) {
  if (is_everywhere(name)) return true;
  for (size_t i = 0; i < count; i++)
    if (has(&libraries[i], name)) return libraries[i].wanted = true;
  return false;
}

/* ---- linking ---- */

static void add_libraries(const mw_text *object, strings *args) {
  library libraries[] = {{.file = "libm.so.6"},
                         {.file = "libmvec.so.1", .prefix = "_ZGV"},
                         {.file = "libgcc_s.so.1"}}; /* 128-bit integers */
  strings imports = imports_of(object);
  for (size_t i = 0; i < imports.count; i++)
    if (!find_library(libraries, MW_COUNT(libraries), imports.items[i]))
      die("the code needs '%s', which no library has", imports.items[i]);
  for (size_t i = 0; i < MW_COUNT(libraries); i++)
    if (libraries[i].wanted) strings_add(args, mw_format("-l:%s", libraries[i].file));
}

static void link_object(const mw_text *object, const char *path, const char *output) {
  const char *linker = getenv("MOONWARP_LD");
  const char *fixed[] = {linker && *linker ? linker : "ld",
                         "-shared",
                         "-z",
                         "now",
                         "-z",
                         "noexecstack",
                         "--eh-frame-hdr",
                         "--hash-style=gnu",
                         "-o",
                         output,
                         path,
                         "-L/lib/x86_64-linux-gnu",
                         "-L/lib/aarch64-linux-gnu",
                         "-L/usr/lib64",
                         "-L/lib64",
                         "-L/usr/lib"};
  strings args = {0};
  for (size_t i = 0; i < MW_COUNT(fixed); i++) strings_add(&args, fixed[i]);
  add_libraries(object, &args);
  write_output(path, object->data, object->length);
  mw_child_result result = {0};
  if (mw_child_run(args.items, NULL, NULL, &result) != MW_SUCCESS)
    die("the linker 'ld' cannot be run (%s): install binutils, or set MOONWARP_LD", mw_error_last()->message);
  unlink(path);
  if (result.status != 0) die("the linker failed: %s", result.errors.data);
}

static void seal(const char *path, const char *output) {
  mw_text file = {0};
  if (mw_file_read(path, &file) != MW_SUCCESS) die("%s", mw_error_last()->message);
  unlink(path);
  mw_trailer trailer = {.length = file.length, .magic = "MWOIMG1"};
  mw_hash hash = mw_hash_start();
  mw_hash_add(&hash, file.data, file.length);
  trailer.low = hash.low, trailer.high = hash.high;
  mw_text_add(&file, &trailer, sizeof trailer);
  write_output(output, file.data, file.length);
}

void link_mwo(program *p, const char *data, size_t length) {
  bool to_stdout = strcmp(p->options->output, "-") == 0;
  char *folder = NULL;
  mw_text object = {0};
  mw_text_add(&object, data, length);
  if (to_stdout && mw_directory_temporary(&folder) != MW_SUCCESS) die("%s", mw_error_last()->message);
  char *stem = to_stdout ? mw_format("%s/out", folder) : mw_format("%s.%d", p->options->output, (int)getpid());
  char *linked = mw_format("%s.so", stem);
  link_object(&object, mw_format("%s.o", stem), linked);
  seal(linked, p->options->output);
  if (folder) mw_directory_remove(folder);
}
