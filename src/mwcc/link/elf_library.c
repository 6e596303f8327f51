/* Finds the library that has a function, and the function's default version, in the library's dynamic symbol table.
 *
 * glibc has old versions of some functions for old programs (exp, pow and log that handle errno differently and are
 * slower), and the dynamic linker resolves a reference without a version to the oldest. Hence imports name the default
 * version, as in other linkers.
 *
 * The libraries are files: those of another architecture cannot be loaded into this process. They are searched in the
 * folders of Debian and other systems. Their contents are trusted more than those of objects, but offsets are checked
 * against the file's size. */
#include "elf.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the file ---- */

static bool is_for(const library *l, uint16_t machine) {
  Elf64_Ehdr header;
  if (l->size < sizeof header) return false;
  memcpy(&header, l->data, sizeof header);
  return memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_machine == machine && header.e_phentsize == sizeof(Elf64_Phdr) && header.e_phoff <= l->size &&
         header.e_phnum * sizeof(Elf64_Phdr) <= l->size - header.e_phoff;
}

static bool map(library *l, const char *path, uint16_t machine) {
  struct stat facts;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  void *data = MAP_FAILED;
  if (fstat(file, &facts) == 0 && facts.st_size > 0)
    data = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (data == MAP_FAILED) return false;
  l->data = data, l->size = (size_t)facts.st_size;
  l->is_open = is_for(l, machine);
  if (!l->is_open) munmap(data, l->size);
  return l->is_open;
}

/* Map the library from where this process's dynamic linker finds it. */
static bool map_own(library *l, uint16_t machine) {
  struct link_map *found = NULL;
  void *handle = dlopen(l->file, RTLD_LAZY | RTLD_LOCAL);
  return handle && dlinfo(handle, RTLD_DI_LINKMAP, &found) == 0 && map(l, found->l_name, machine);
}

static bool find_file(library *l, uint16_t machine, bool other_machine) {
  const char *kind = machine == EM_AARCH64 ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
  const char *folders[] = {mw_format("/lib/%s", kind), other_machine ? mw_format("/usr/%s/lib", kind) : "/usr/lib64",
                           other_machine ? mw_format("/usr/lib/%s", kind) : "/lib64"};
  for (size_t i = 0; i < MW_COUNT(folders) && !l->is_open; i++)
    map(l, mw_format("%s/%s", folders[i], l->file), machine);
  if (!l->is_open && !other_machine) map_own(l, machine);
  return l->is_open;
}

/* ---- its tables ---- */

/* The bytes of the file that are loaded at an address; NULL if there are none. */
static const void *loaded_at(const library *l, uint64_t address, uint64_t size) {
  Elf64_Ehdr header;
  memcpy(&header, l->data, sizeof header);
  for (unsigned i = 0; i < header.e_phnum; i++) {
    Elf64_Phdr s;
    memcpy(&s, l->data + header.e_phoff + i * sizeof s, sizeof s);
    if (s.p_type != PT_LOAD || address < s.p_vaddr || address - s.p_vaddr >= s.p_filesz) continue;
    uint64_t at = s.p_offset + (address - s.p_vaddr);
    return at <= l->size && size <= l->size - at ? l->data + at : NULL;
  }
  return NULL;
}

static uint64_t dynamic_value(const library *l, int64_t tag) {
  Elf64_Ehdr header;
  memcpy(&header, l->data, sizeof header);
  for (unsigned i = 0; i < header.e_phnum; i++) {
    Elf64_Phdr s;
    memcpy(&s, l->data + header.e_phoff + i * sizeof s, sizeof s);
    if (s.p_type != PT_DYNAMIC || s.p_offset > l->size || s.p_filesz > l->size - s.p_offset) continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= s.p_filesz; at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry;
      memcpy(&entry, l->data + s.p_offset + at, sizeof entry);
      if (entry.d_tag == tag) return entry.d_un.d_val;
    }
  }
  return 0;
}

static bool load(const library *l, uint64_t address, void *out, size_t size) {
  const void *from = loaded_at(l, address, size);
  if (from) memcpy(out, from, size);
  return from != NULL;
}

static const char *string_at(const library *l, uint64_t offset) {
  uint64_t table = dynamic_value(l, DT_STRTAB);
  const char *text = loaded_at(l, table + offset, 1);
  return text && memchr(text, 0, l->size - (size_t)((const unsigned char *)text - l->data)) ? text : NULL;
}

enum { HIDDEN = 0x8000 }; /* not the default version */

static const char *version_name(const library *l, unsigned number) {
  uint64_t at = dynamic_value(l, DT_VERDEF), count = dynamic_value(l, DT_VERDEFNUM);
  Elf64_Verdef version;
  Elf64_Verdaux name;
  for (uint64_t i = 0; at && i < count && load(l, at, &version, sizeof version); i++, at += version.vd_next)
    if (version.vd_ndx == number && load(l, at + version.vd_aux, &name, sizeof name))
      return string_at(l, name.vda_name);
  return NULL;
}

/* Whether the symbol with that index is the default version of a function of that name. */
static bool is_default_version(const library *l, uint64_t number, const char *name, const char **version) {
  Elf64_Sym entry;
  uint16_t own = 1;
  uint64_t versions = dynamic_value(l, DT_VERSYM);
  if (!load(l, dynamic_value(l, DT_SYMTAB) + number * sizeof entry, &entry, sizeof entry)) return false;
  const char *found = entry.st_shndx == SHN_UNDEF ? NULL : string_at(l, entry.st_name);
  if (!found || strcmp(found, name) != 0) return false;
  if (versions && !load(l, versions + number * sizeof own, &own, sizeof own)) return false;
  if (own & HIDDEN) return false;
  *version = own > 1 ? version_name(l, own) : NULL;
  return true;
}

/* Look up a name in the GNU hash table: a header of four words, a Bloom filter, the first symbol of each bucket, and
   each symbol's hash, whose lowest bit is set for the last one of a bucket. */
static bool find(const library *l, const char *name, const char **version) {
  struct {
    uint32_t buckets, first, filter, shift;
  } header;
  uint64_t table = dynamic_value(l, DT_GNU_HASH);
  if (!table || !load(l, table, &header, sizeof header) || !header.buckets) return false;
  uint32_t hash = elf_hash(name), number, other;
  uint64_t buckets = table + sizeof header + header.filter * sizeof(uint64_t);
  uint64_t hashes = buckets + header.buckets * sizeof(uint32_t);
  if (!load(l, buckets + hash % header.buckets * sizeof(uint32_t), &number, sizeof number)) return false;
  for (; number >= header.first; number++) {
    if (!load(l, hashes + (number - header.first) * sizeof(uint32_t), &other, sizeof other)) return false;
    if ((other | 1) == (hash | 1) && is_default_version(l, number, name, version)) return true;
    if (other & 1) return false;
  }
  return false;
}

bool library_has(library *l, uint16_t machine, bool other_machine, const char *name, const char **version) {
  *version = NULL;
  if (!l->is_open && !l->is_missing) l->is_missing = !find_file(l, machine, other_machine);
  return l->is_open && find(l, name, version);
}
