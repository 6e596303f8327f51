/* Reads a relocatable object. It may be truncated or damaged, so every offset and index is validated: what this file
 * returns lies within the object. Nothing in it need be aligned, so structures are copied. */
#include "elf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_ALIGN = 1 << 21, MOST_BYTES = 1 << 30 };

_Noreturn void object_bad(const object *o, const char *format, ...) {
  mw_text text = {0};
  char reason[512];
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  mw_text_addf(&text, "%s", reason);
  die("the object '%s' cannot be linked: %s%s", o->name, text.data,
      o->understood ? ". If it is intact, link it with the system's linker: MOONWARP_LD=ld" : "");
}

static const unsigned char *bytes_at(const object *o, uint64_t offset, uint64_t size, const char *what) {
  if (offset > o->size || size > o->size - offset) object_bad(o, "%s outside it", what);
  return o->data + offset;
}

static Elf64_Ehdr read_header(object *o, uint16_t *machine) {
  Elf64_Ehdr header;
  memcpy(&header, bytes_at(o, 0, sizeof header, "its header lies"), sizeof header);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) object_bad(o, "it is not an ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_REL)
    object_bad(o, "it is not a 64-bit, little-endian relocatable object");
  if (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64)
    object_bad(o, "it has code for machine %u, which is neither x86-64 (62) nor AArch64 (183)", header.e_machine);
  if (*machine && *machine != header.e_machine)
    object_bad(o, "its code is for another machine than that of the others");
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum == 0 || header.e_shstrndx >= header.e_shnum)
    object_bad(o, "its section headers are invalid");
  if (header.e_shnum >= SHN_LORESERVE) object_bad(o, "it has too many sections");
  *machine = header.e_machine;
  return header;
}

/* A string table, which ends with a zero byte. */
typedef struct names {
  const char *data;
  uint64_t size;
} names;

static names read_names(const object *o, const Elf64_Shdr *table) {
  const char *data = (const char *)bytes_at(o, table->sh_offset, table->sh_size, "a string table lies");
  if (table->sh_type != SHT_STRTAB || !table->sh_size || data[table->sh_size - 1])
    object_bad(o, "a string table is invalid");
  return (names){data, table->sh_size};
}

static const char *name_at(const object *o, names table, uint32_t offset) {
  if (offset >= table.size) object_bad(o, "a name lies outside its table");
  return table.data + offset;
}

static void read_section(const object *o, section *s, const Elf64_Shdr *header, const char *name) {
  *s = (section){.name = name,
                 .type = header->sh_type,
                 .flags = header->sh_flags,
                 .size = header->sh_size,
                 .align = header->sh_addralign ? header->sh_addralign : 1,
                 .entry = header->sh_entsize};
  if (s->align & (s->align - 1) || s->align > MOST_ALIGN)
    object_bad(o, "the section %s has an invalid alignment of %llu bytes", name, (unsigned long long)s->align);
  if (s->size > MOST_BYTES) object_bad(o, "the section %s is larger than a module can be", name);
  if (s->type != SHT_NOBITS && s->type != SHT_NULL) s->data = bytes_at(o, header->sh_offset, s->size, "a section lies");
  if (s->flags & SHF_ALLOC && s->type == SHT_NULL) object_bad(o, "a loaded section has no type");
  if (s->flags & SHF_TLS) object_bad(o, "the section %s holds variables of host threads", name);
  if (s->flags & SHF_COMPRESSED) object_bad(o, "the section %s is compressed", name);
  if (s->flags & SHF_WRITE && s->flags & SHF_EXECINSTR)
    object_bad(o, "the section %s is both writable and executable", name);
}

static Elf64_Shdr header_at(const unsigned char *headers, size_t i) {
  Elf64_Shdr header;
  memcpy(&header, headers + i * sizeof header, sizeof header);
  return header;
}

static void read_sections(object *o, const Elf64_Ehdr *header, const unsigned char *headers) {
  Elf64_Shdr own = header_at(headers, header->e_shstrndx);
  names table = read_names(o, &own);
  o->section_count = header->e_shnum;
  o->sections = mw_alloc(o->section_count * sizeof *o->sections);
  for (size_t i = 1; i < o->section_count; i++) {
    own = header_at(headers, i);
    read_section(o, &o->sections[i], &own, name_at(o, table, own.sh_name));
  }
}

static void read_relocations(object *o, const Elf64_Shdr *header) {
  if (header->sh_type == SHT_REL) object_bad(o, "its relocations have no addends");
  if (header->sh_info == 0 || header->sh_info >= o->section_count || header->sh_size % sizeof(Elf64_Rela))
    object_bad(o, "a table of relocations belongs to no section");
  section *s = &o->sections[header->sh_info];
  if (s->relocations) object_bad(o, "the section %s has two tables of relocations", s->name);
  s->relocations = bytes_at(o, header->sh_offset, header->sh_size, "a table of relocations lies");
  s->relocation_count = header->sh_size / sizeof(Elf64_Rela);
  if (s->relocation_count && !s->data) object_bad(o, "the section %s has relocations, but no contents", s->name);
}

static void read_symbol(const object *o, symbol *s, const Elf64_Sym *from, const char *name) {
  *s = (symbol){.name = name,
                .value = from->st_value,
                .size = from->st_size,
                .section = from->st_shndx,
                .type = ELF64_ST_TYPE(from->st_info),
                .bind = ELF64_ST_BIND(from->st_info),
                .visibility = ELF64_ST_VISIBILITY(from->st_other)};
  bool special = s->section == SHN_UNDEF || s->section == SHN_ABS || s->section == SHN_COMMON;
  if (!special && s->section >= o->section_count)
    object_bad(o, "the symbol '%s' is in a section that does not exist", name);
  if (s->bind != STB_LOCAL && s->bind != STB_GLOBAL && s->bind != STB_WEAK)
    object_bad(o, "the symbol '%s' has an unsupported binding (%u)", name, s->bind);
  if (s->type == STT_TLS || s->type == STT_GNU_IFUNC)
    object_bad(o, "the symbol '%s' has an unsupported type (%u)", name, s->type);
  if (s->bind != STB_LOCAL && !*name) object_bad(o, "a global symbol has no name");
  if (s->section == SHN_COMMON &&
      (s->bind == STB_LOCAL || !s->value || s->value & (s->value - 1) || s->value > MOST_ALIGN || s->size > MOST_BYTES))
    object_bad(o, "the variable '%s' has an invalid alignment or size", name);
}

static void read_symbols(object *o, const unsigned char *headers, const Elf64_Shdr *table) {
  if (o->symbols) object_bad(o, "it has two symbol tables");
  if (table->sh_link >= o->section_count || table->sh_size % sizeof(Elf64_Sym))
    object_bad(o, "its symbol table is invalid");
  const unsigned char *entries = bytes_at(o, table->sh_offset, table->sh_size, "its symbol table lies");
  Elf64_Shdr names_header = header_at(headers, table->sh_link);
  names texts = read_names(o, &names_header);
  o->symbol_count = table->sh_size / sizeof(Elf64_Sym);
  o->symbols = mw_alloc((o->symbol_count + 1) * sizeof *o->symbols);
  for (size_t i = 0; i < o->symbol_count; i++) {
    Elf64_Sym entry;
    memcpy(&entry, entries + i * sizeof entry, sizeof entry);
    read_symbol(o, &o->symbols[i], &entry, name_at(o, texts, entry.st_name));
  }
}

object *object_read(const char *name, const void *data, size_t size, uint16_t *machine) {
  object *o = mw_alloc(sizeof *o);
  *o = (object){.name = name, .data = data, .size = size};
  Elf64_Ehdr header = read_header(o, machine);
  const unsigned char *headers =
      bytes_at(o, header.e_shoff, (uint64_t)header.e_shnum * sizeof(Elf64_Shdr), "its section headers lie");
  read_sections(o, &header, headers);
  for (size_t i = 1; i < o->section_count; i++) {
    Elf64_Shdr own = header_at(headers, i);
    if (own.sh_type == SHT_SYMTAB) read_symbols(o, headers, &own);
    if (own.sh_type == SHT_RELA || own.sh_type == SHT_REL) read_relocations(o, &own);
    if (own.sh_type == SHT_SYMTAB_SHNDX) object_bad(o, "it has too many sections");
  }
  return o;
}

Elf64_Rela relocation_at(const section *s, size_t i) {
  Elf64_Rela r;
  memcpy(&r, s->relocations + i * sizeof r, sizeof r);
  return r;
}

symbol *relocation_symbol(const object *o, const section *s, Elf64_Rela r) {
  if (ELF64_R_SYM(r.r_info) >= o->symbol_count)
    object_bad(o, "a relocation of %s refers to a symbol that does not exist", s->name);
  return &o->symbols[ELF64_R_SYM(r.r_info)];
}
