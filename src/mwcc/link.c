/* From objects to a sealed .mwo file: the system's linker makes a shared object (a few milliseconds), the trailer
 * with the checksum goes behind it, and the result appears under its name all at once.
 *
 * What objects may import are functions of mathematics (thread.c has seen to that) and what the code generator calls by
 * itself. The linker is given the libraries that are needed and no others: reading their symbols is most of its work. */
#include "mwcc.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what the objects import ---- */

typedef struct symbols {
  strings defined, undefined;
} symbols;

static const void *object_at(LLVMMemoryBufferRef object, uint64_t offset, uint64_t size) {
  size_t length = LLVMGetBufferSize(object);
  if (offset > length || size > length - offset) die("an object that LLVM made is cut short");
  return LLVMGetBufferStart(object) + offset;
}

static void read_table(LLVMMemoryBufferRef object, const Elf64_Shdr *sections, const Elf64_Shdr *table, symbols *out) {
  const Elf64_Sym *entries = object_at(object, table->sh_offset, table->sh_size);
  const char *names = object_at(object, sections[table->sh_link].sh_offset, sections[table->sh_link].sh_size);
  for (size_t i = 1; i < table->sh_size / sizeof *entries; i++)
    if (ELF64_ST_BIND(entries[i].st_info) != STB_LOCAL)
      strings_add(entries[i].st_shndx == SHN_UNDEF ? &out->undefined : &out->defined, names + entries[i].st_name);
}

static void read_symbols(LLVMMemoryBufferRef object, symbols *out) {
  const Elf64_Ehdr *header = object_at(object, 0, sizeof *header);
  const Elf64_Shdr *sections = object_at(object, header->e_shoff, (uint64_t)header->e_shnum * sizeof *sections);
  for (unsigned i = 0; i < header->e_shnum; i++)
    if (sections[i].sh_type == SHT_SYMTAB) read_table(object, sections, &sections[i], out);
}

static bool contains(const strings *list, const char *name) {
  for (size_t i = 0; i < list->count; i++)
    if (strcmp(list->items[i], name) == 0) return true;
  return false;
}

/* ---- who has it ---- */

typedef struct library {
  const char *file;
  const char *prefix; /* of names that are certainly there: saves loading the library */
  void *handle;
  bool wanted;
} library;

/* Every process has the C library and finds these in it, with no word from the linker; but for one of another kind of
   machine, where the linker has to see that everything is there. */
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

static void add_libraries(const program *p, const LLVMMemoryBufferRef *objects, size_t count, strings *args) {
  library libraries[] = {{.file = "libm.so.6"},
                         {.file = "libmvec.so.1", .prefix = "_ZGV"},
                         {.file = "libgcc_s.so.1"}}; /* 128-bit integers */
  symbols all = {0};
  bool needs_c = false;
  for (size_t i = 0; i < count; i++) read_symbols(objects[i], &all);
  for (size_t i = 0; i < all.undefined.count; i++) {
    const char *name = all.undefined.items[i];
    if (p->cross && is_everywhere(name)) needs_c = true;
    if (!contains(&all.defined, name) && !find_library(libraries, MW_COUNT(libraries), name))
      die("the code needs '%s', which no library has", name);
  }
  for (size_t i = 0; i < MW_COUNT(libraries); i++)
    if (libraries[i].wanted) strings_add(args, mw_format("-l:%s", libraries[i].file));
  if (needs_c) strings_add(args, "-l:libc.so.6");
}

/* Debian has a linker for each kind of processor, and the libraries of the other kinds in folders of their own. */
static const char *choose_linker(const program *p) {
  const char *own = getenv("MOONWARP_LD");
  if (own && *own) return own;
  return p->cross ? mw_format("%s-linux-gnu-ld", p->cross) : "ld";
}

static void link_objects(const program *p, const LLVMMemoryBufferRef *objects, size_t count, const char *stem,
                         const char *output) {
  const char *linker = choose_linker(p);
  const char *architecture = starts_with(p->triple, "aarch64") ? "aarch64" : "x86_64";
  const char *fixed[] = {linker,
                         "-shared",
                         "-z",
                         "now",
                         "-z",
                         "noexecstack",
                         "--eh-frame-hdr",
                         "--hash-style=gnu",
                         mw_format("-L/lib/%s-linux-gnu", architecture),
                         p->cross ? mw_format("-L/usr/%s-linux-gnu/lib", architecture) : "-L/usr/lib64",
                         p->cross ? mw_format("-L/usr/lib/%s-linux-gnu", architecture) : "-L/lib64",
                         p->cross ? "--no-undefined" : "-L/usr/lib",
                         "-o",
                         output};
  strings args = {0};
  for (size_t i = 0; i < MW_COUNT(fixed); i++) strings_add(&args, fixed[i]);
  for (size_t i = 0; i < count; i++) {
    const char *path = mw_format("%s.%zu.o", stem, i);
    write_output(path, LLVMGetBufferStart(objects[i]), LLVMGetBufferSize(objects[i]));
    strings_add(&args, path);
  }
  add_libraries(p, objects, count, &args);
  setenv("LC_ALL", "C", 1); /* else it looks for its messages in the user's language: a tenth of its time */
  mw_child_result result = {0};
  if (mw_child_run(args.items, NULL, NULL, &result) != MW_SUCCESS)
    die("the linker '%s' cannot be run (%s): install binutils%s, or set MOONWARP_LD", linker, mw_error_last()->message,
        !p->cross                          ? ""
        : starts_with(p->cross, "aarch64") ? "-aarch64-linux-gnu"
                                           : "-x86-64-linux-gnu");
  for (size_t i = 0; i < count; i++) unlink(args.items[MW_COUNT(fixed) + i]);
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

void link_mwo(program *p, const LLVMMemoryBufferRef *objects, size_t count) {
  bool to_stdout = strcmp(p->options->output, "-") == 0;
  char *folder = NULL;
  if (to_stdout && mw_directory_temporary(&folder) != MW_SUCCESS) die("%s", mw_error_last()->message);
  char *stem = to_stdout ? mw_format("%s/out", folder) : mw_format("%s.%d", p->options->output, (int)getpid());
  char *linked = mw_format("%s.so", stem);
  link_objects(p, objects, count, stem, linked);
  seal(linked, p->options->output);
  if (folder) mw_directory_remove(folder);
}
