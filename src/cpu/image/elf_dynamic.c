/* Checks of what the dynamic linker follows before any check of moonwarp's runs: the dynamic section, and the tables to
 * which it leads. Allowed is what moonwarp's linker writes (src/mwcc/link/elf_dynamic.c) or the system's in its place
 * (MOONWARP_LD): no initialisers, no relocations but those of pointers in writable segments, and imports from a few
 * libraries. */
#include "elf_dynamic.h"

#include <elf.h>
#include <string.h>

#if defined(__x86_64__)
#define RELATIVE R_X86_64_RELATIVE
#define ABSOLUTE R_X86_64_64
#define TO_DATA  R_X86_64_GLOB_DAT
#define TO_CODE  R_X86_64_JUMP_SLOT
#elif defined(__aarch64__)
#define RELATIVE R_AARCH64_RELATIVE
#define ABSOLUTE R_AARCH64_ABS64
#define TO_DATA  R_AARCH64_GLOB_DAT
#define TO_CODE  R_AARCH64_JUMP_SLOT
#endif

typedef struct tables {
  uint64_t symbols, strings, strings_size, hash, versions, needs;
  uint64_t relocations, relocations_size, relatives, calls, calls_size, slots;
} tables;

static Elf64_Phdr segment_at(elf_bytes file, unsigned i) {
  Elf64_Ehdr header;
  Elf64_Phdr segment;
  memcpy(&header, file.data, sizeof header);
  memcpy(&segment, file.data + header.e_phoff + i * sizeof segment, sizeof segment);
  return segment;
}

static unsigned segment_count(elf_bytes file) {
  Elf64_Ehdr header;
  memcpy(&header, file.data, sizeof header);
  return header.e_phnum;
}

/* ---- names ---- */

/* The name at `offset` of the string table, or NULL. */
static const char *name_at(elf_bytes file, const tables *t, uint64_t offset) {
  return offset < t->strings_size ? elf_at(file, t->strings + offset, t->strings_size - offset) : NULL;
}

static bool is_library(const char *name) {
  static const char *const known[] = {"libc.so.6", "libm.so.6", "libmvec.so.1", "libgcc_s.so.1"};
  for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
    if (strcmp(name, known[i]) == 0) return true;
  return false;
}

static const char *check_names(elf_bytes file, const tables *t) {
  const char *names = t->strings_size ? elf_at(file, t->strings, t->strings_size) : NULL;
  return names && !names[t->strings_size - 1] ? NULL : "its names lie outside the file";
}

/* ---- the dynamic section ---- */

static const char *take_entry(const Elf64_Dyn *entry, tables *t) {
  uint64_t value = entry->d_un.d_val;
  switch (entry->d_tag) {
  case DT_NEEDED: return NULL;
  case DT_GNU_HASH: t->hash = value; return NULL;
  case DT_STRTAB: t->strings = value; return NULL;
  case DT_STRSZ: t->strings_size = value; return NULL;
  case DT_SYMTAB: t->symbols = value; return NULL;
  case DT_RELA: t->relocations = value; return NULL;
  case DT_RELASZ: t->relocations_size = value; return NULL;
  case DT_RELACOUNT: t->relatives = value; return NULL;
  case DT_VERSYM: t->versions = value; return NULL;
  case DT_VERNEED: t->needs = value; return NULL;
  case DT_VERNEEDNUM: return NULL; /* check_versions follows the records themselves, as the dynamic linker does */
  case DT_JMPREL: t->calls = value; return NULL;
  case DT_PLTRELSZ: t->calls_size = value; return NULL;
  case DT_PLTGOT: t->slots = value; return NULL;
  case DT_PLTREL: return value == DT_RELA ? NULL : "its relocations have another size";
  case DT_SYMENT: return value == sizeof(Elf64_Sym) ? NULL : "its symbols have another size";
  case DT_RELAENT: return value == sizeof(Elf64_Rela) ? NULL : "its relocations have another size";
  case DT_FLAGS: return value == DF_BIND_NOW ? NULL : "it has flags that no module has";
  case DT_FLAGS_1: return value == DF_1_NOW ? NULL : "it has flags that no module has";
  default: return "its dynamic section has an entry that no module has";
  }
}

/* The entries up to DT_NULL, which has to be there. */
static const char *read_entries(elf_bytes file, const Elf64_Phdr *segment, tables *t) {
  const unsigned char *from = elf_at(file, segment->p_vaddr, segment->p_filesz);
  Elf64_Dyn entry;
  for (uint64_t at = 0; from && at + sizeof entry <= segment->p_filesz; at += sizeof entry) {
    memcpy(&entry, from + at, sizeof entry);
    if (entry.d_tag == DT_NULL) return NULL;
    const char *wrong = take_entry(&entry, t);
    if (wrong) return wrong;
  }
  return "its dynamic section has no end";
}

static const char *check_needed(elf_bytes file, const Elf64_Phdr *segment, const tables *t) {
  const unsigned char *from = elf_at(file, segment->p_vaddr, segment->p_filesz);
  Elf64_Dyn entry;
  for (;; from += sizeof entry) {
    memcpy(&entry, from, sizeof entry);
    if (entry.d_tag == DT_NULL) return NULL;
    if (entry.d_tag == DT_NEEDED && !is_library(name_at(file, t, entry.d_un.d_val)))
      return "it needs a library that no module needs";
  }
}

/* ---- symbols ---- */

static const char *check_symbol(elf_bytes file, const tables *t, uint64_t i) {
  Elf64_Sym symbol;
  const void *from = elf_at(file, t->symbols + i * sizeof symbol, sizeof symbol);
  if (!from) return "its symbols lie outside the file";
  memcpy(&symbol, from, sizeof symbol);
  if (!name_at(file, t, symbol.st_name)) return "a symbol's name lies outside its names";
  /* The dynamic linker would call it. */
  if (ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC) return "it has a symbol that is resolved by code";
  if (t->versions && !elf_at(file, t->versions + i * sizeof(Elf64_Half), sizeof(Elf64_Half)))
    return "its symbols' versions lie outside the file";
  return NULL;
}

static bool read_word(elf_bytes file, uint64_t address, uint32_t *out) {
  const void *from = elf_at(file, address, sizeof *out);
  if (from) memcpy(out, from, sizeof *out);
  return from != NULL;
}

/* Each chain of the hash table ends, and leads to symbols of the table. */
static const char *check_hash(elf_bytes file, const tables *t) {
  static const char *const outside = "its hash table lies outside the file";
  uint32_t head[4]; /* buckets, the first symbol, words of the filter, a shift */
  for (unsigned i = 0; i < 4; i++)
    if (!read_word(file, t->hash + i * sizeof *head, &head[i])) return outside;
  if (head[0] == 0 || head[2] == 0 || head[2] & (head[2] - 1) || head[3] > 31) return "its hash table has no buckets";
  uint64_t filter = t->hash + sizeof head, buckets = filter + head[2] * sizeof(uint64_t);
  uint64_t chains = buckets + head[0] * sizeof(uint32_t);
  if (!elf_at(file, filter, chains - filter)) return outside;
  for (uint32_t i = 0; i < head[0]; i++) {
    uint32_t symbol, hash = 0;
    if (!read_word(file, buckets + i * sizeof symbol, &symbol)) return outside;
    if (symbol == 0) continue;
    if (symbol < head[1]) return "its hash table leads to no symbol";
    for (; !(hash & 1); symbol++) {
      if (!read_word(file, chains + (symbol - head[1]) * sizeof hash, &hash)) return outside;
      const char *wrong = check_symbol(file, t, symbol);
      if (wrong) return wrong;
    }
  }
  return NULL;
}

/* Records of libraries, each with a list of versions. The dynamic linker stops at an offset of 0. */
static const char *check_versions(elf_bytes file, const tables *t) {
  static const char *const outside = "its versions lie outside the file";
  Elf64_Verneed need;
  Elf64_Vernaux one;
  uint64_t at = t->needs, left = file.size / sizeof one;
  if (!t->needs) return NULL;
  do {
    const void *from = elf_at(file, at, sizeof need);
    if (!from) return outside;
    memcpy(&need, from, sizeof need);
    if (!is_library(name_at(file, t, need.vn_file))) return "it needs a version of a library that no module needs";
    uint64_t next = at + need.vn_aux;
    do {
      from = elf_at(file, next, sizeof one);
      if (!from || left-- == 0) return outside;
      memcpy(&one, from, sizeof one);
      if (!name_at(file, t, one.vna_name)) return outside;
      next += one.vna_next;
    } while (one.vna_next);
    at += need.vn_next;
  } while (need.vn_next);
  return NULL;
}

/* ---- relocations ---- */

static bool is_writable(elf_bytes file, uint64_t address) {
  for (unsigned i = 0; i < segment_count(file); i++) {
    Elf64_Phdr segment = segment_at(file, i);
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_W) || segment.p_flags & PF_X) continue;
    if (address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_memsz)
      return segment.p_memsz - (address - segment.p_vaddr) >= sizeof(uint64_t);
  }
  return false;
}

/* calls: whether this is the table for calls of imported functions. relatives: the number of relocations at its start
   that need no symbol. */
static const char *check_table(elf_bytes file, const tables *t, uint64_t address, uint64_t size, uint64_t relatives,
                               bool calls) {
  uint64_t count = size / sizeof(Elf64_Rela);
  const unsigned char *from = count ? elf_at(file, address, size) : NULL;
  if (size % sizeof(Elf64_Rela) || (address && !from) || (count && !from) || relatives > count)
    return "its relocations lie outside the file";
  for (uint64_t i = 0; i < count; i++) {
    Elf64_Rela entry;
    memcpy(&entry, from + i * sizeof entry, sizeof entry);
    uint32_t type = ELF64_R_TYPE(entry.r_info), symbol = ELF64_R_SYM(entry.r_info);
    bool known = calls           ? type == TO_CODE
                 : i < relatives ? type == RELATIVE
                                 : type == RELATIVE || type == ABSOLUTE || type == TO_DATA;
    if (!known) return "a relocation is of a kind that no module has";
    if (!is_writable(file, entry.r_offset)) return "a relocation writes outside its data";
    const char *wrong = symbol ? check_symbol(file, t, symbol) : NULL;
    if (wrong) return wrong;
  }
  return NULL;
}

static const char *check_relocations(elf_bytes file, const tables *t) {
  if (t->slots && !is_writable(file, t->slots)) return "a relocation writes outside its data";
  const char *wrong = check_table(file, t, t->relocations, t->relocations_size, t->relatives, false);
  return wrong ? wrong : check_table(file, t, t->calls, t->calls_size, 0, true);
}

/* ---- the whole ---- */

const char *elf_check_dynamic(elf_bytes file) {
  tables t = {0};
  const char *wrong = NULL;
  Elf64_Phdr dynamic = {0};
  for (unsigned i = 0; i < segment_count(file); i++) {
    Elf64_Phdr segment = segment_at(file, i);
    if (segment.p_type == PT_INTERP || segment.p_type == PT_TLS) return "it has a segment that no module has";
    if (segment.p_type != PT_DYNAMIC) continue;
    if (dynamic.p_type) return "it has two dynamic sections";
    dynamic = segment;
  }
  wrong = read_entries(file, &dynamic, &t);
  if (!wrong) wrong = check_names(file, &t);
  if (!wrong) wrong = check_needed(file, &dynamic, &t);
  if (!wrong) wrong = check_hash(file, &t);
  if (!wrong) wrong = check_versions(file, &t);
  if (!wrong) wrong = check_relocations(file, &t);
  return wrong;
}
