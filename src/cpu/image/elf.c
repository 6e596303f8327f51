/* Reading ELF files: see elf.h. Supports only what a .mwo needs: 64-bit shared objects of this machine's byte order. */
#include "elf.h"
#include "elf_dynamic.h"

#include <elf.h>
#include <string.h>

#if defined(__x86_64__)
#define MACHINE           EM_X86_64
#define RELATIVE          R_X86_64_RELATIVE
#define ABSOLUTE          R_X86_64_64
#define MACHINE_IS_NATIVE "x86-64"
#elif defined(__aarch64__)
#define MACHINE           EM_AARCH64
#define RELATIVE          R_AARCH64_RELATIVE
#define ABSOLUTE          R_AARCH64_ABS64
#define MACHINE_IS_NATIVE "AArch64"
#else
#error "moonwarp's CPU device runs on x86-64 and AArch64"
#endif

/* File contents at an offset: NULL if the file ends before. Structures are copied out, since they may be misaligned in
   a damaged file. */
static const unsigned char *bytes_at(elf_bytes file, uint64_t offset, uint64_t size) {
  return offset <= file.size && size <= file.size - offset ? file.data + offset : NULL;
}

static bool copy_out(elf_bytes file, uint64_t offset, void *out, size_t size) {
  const unsigned char *from = bytes_at(file, offset, size);
  if (from) memcpy(out, from, size);
  return from != NULL;
}

static bool program_header(elf_bytes file, const Elf64_Ehdr *header, unsigned i, Elf64_Phdr *out) {
  return i < header->e_phnum && copy_out(file, header->e_phoff + (uint64_t)i * sizeof *out, out, sizeof *out);
}

const char *elf_check(elf_bytes file, bool *foreign) {
  Elf64_Ehdr header;
  *foreign = false;
  if (!copy_out(file, 0, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return "it does not begin as an ELF file does";
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != MACHINE) {
    *foreign = true;
    return header.e_machine == EM_X86_64    ? "it holds code for x86-64, and this machine is " MACHINE_IS_NATIVE
           : header.e_machine == EM_AARCH64 ? "it holds code for AArch64, and this machine is " MACHINE_IS_NATIVE
                                            : "it holds code for another kind of processor than " MACHINE_IS_NATIVE;
  }
  if (header.e_type != ET_DYN || header.e_phentsize != sizeof(Elf64_Phdr)) return "it is not a shared object";
  if (header.e_phoff > file.size) return "its program headers lie outside the file";
  /* The dynamic linker maps segments without checking the file's length: an access past the end would be a bus
     error. */
  bool dynamic = false;
  uint64_t end = 0;
  for (unsigned i = 0; i < header.e_phnum; i++) {
    Elf64_Phdr segment;
    if (!program_header(file, &header, i, &segment)) return "its program headers lie outside the file";
    if (segment.p_type == PT_DYNAMIC) dynamic = segment.p_filesz >= sizeof(Elf64_Dyn);
    if (segment.p_type != PT_LOAD) continue;
    if (!bytes_at(file, segment.p_offset, segment.p_filesz)) return "a segment lies outside the file";
    if (segment.p_memsz < segment.p_filesz || segment.p_vaddr < end || segment.p_memsz > UINT64_C(1) << 32 ||
        segment.p_vaddr > UINT64_C(1) << 32)
      return "its segments overlap";
    end = segment.p_vaddr + segment.p_memsz;
  }
  return !end ? "it has no segments" : !dynamic ? "it has no dynamic section" : elf_check_dynamic(file);
}

static bool section_header(elf_bytes file, const Elf64_Ehdr *header, uint64_t i, Elf64_Shdr *out) {
  return i < header->e_shnum && header->e_shoff <= file.size &&
         copy_out(file, header->e_shoff + i * sizeof *out, out, sizeof *out);
}

bool elf_section(elf_bytes file, const char *name, elf_bytes *out) {
  Elf64_Ehdr header;
  Elf64_Shdr names, section;
  if (!copy_out(file, 0, &header, sizeof header) || header.e_shentsize != sizeof section) return false;
  if (!section_header(file, &header, header.e_shstrndx, &names)) return false;
  size_t length = strlen(name) + 1;
  for (unsigned i = 0; i < header.e_shnum && section_header(file, &header, i, &section); i++) {
    if (section.sh_name >= names.sh_size || names.sh_offset > file.size) continue;
    const unsigned char *found = bytes_at(file, names.sh_offset + section.sh_name, length);
    if (!found || memcmp(found, name, length) != 0) continue;
    if (section.sh_type == SHT_NOBITS || section.sh_flags & SHF_COMPRESSED) return false;
    const unsigned char *data = bytes_at(file, section.sh_offset, section.sh_size);
    if (data) *out = (elf_bytes){data, section.sh_size};
    return data != NULL;
  }
  return false;
}

const void *elf_at(elf_bytes file, uint64_t address, size_t size) {
  Elf64_Ehdr header;
  Elf64_Phdr segment;
  if (!copy_out(file, 0, &header, sizeof header)) return NULL;
  for (unsigned i = 0; program_header(file, &header, i, &segment); i++) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
      continue;
    uint64_t offset = address - segment.p_vaddr;
    if (size > segment.p_filesz - offset || segment.p_offset > file.size) return NULL;
    return bytes_at(file, segment.p_offset + offset, size);
  }
  return NULL;
}

const char *elf_string(elf_bytes file, uint64_t address) {
  const char *text = elf_at(file, address, 1);
  if (!text) return NULL;
  return memchr(text, 0, file.size - (size_t)((const unsigned char *)text - file.data)) ? text : NULL;
}

/* The value of an entry of the dynamic section, 0 if it is missing. */
static uint64_t dynamic_entry(elf_bytes file, int64_t tag) {
  Elf64_Ehdr header;
  Elf64_Phdr segment;
  if (!copy_out(file, 0, &header, sizeof header)) return 0;
  for (unsigned i = 0; program_header(file, &header, i, &segment); i++) {
    if (segment.p_type != PT_DYNAMIC || segment.p_offset > file.size) continue;
    Elf64_Dyn entry;
    for (uint64_t at = 0; at < segment.p_filesz; at += sizeof entry) {
      if (!copy_out(file, segment.p_offset + at, &entry, sizeof entry) || entry.d_tag == DT_NULL) break;
      if (entry.d_tag == tag) return entry.d_un.d_val;
    }
  }
  return 0;
}

static bool read_symbol(elf_bytes file, uint64_t i, Elf64_Sym *out) {
  const void *from = elf_at(file, dynamic_entry(file, DT_SYMTAB) + i * sizeof *out, sizeof *out);
  if (from) memcpy(out, from, sizeof *out);
  return from != NULL;
}

/* The dynamic symbol table does not record its length; the section that contains it does. */
uint64_t elf_symbol(elf_bytes file, const char *name, size_t size) {
  elf_bytes table, names;
  if (!elf_section(file, ".dynsym", &table) || !elf_section(file, ".dynstr", &names)) return 0;
  size_t length = strlen(name) + 1;
  Elf64_Sym symbol;
  for (size_t at = 0; copy_out(table, at, &symbol, sizeof symbol); at += sizeof symbol) {
    const unsigned char *found = bytes_at(names, symbol.st_name, length);
    if (found && memcmp(found, name, length) == 0 && symbol.st_shndx != SHN_UNDEF && symbol.st_size >= size)
      return symbol.st_value;
  }
  return 0;
}

uint64_t elf_function(elf_bytes file, uint64_t address) {
  elf_bytes table;
  Elf64_Sym symbol;
  if (!elf_section(file, ".symtab", &table)) return address;
  for (size_t at = 0; copy_out(table, at, &symbol, sizeof symbol); at += sizeof symbol) {
    bool code = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF;
    if (code && address >= symbol.st_value && address - symbol.st_value < symbol.st_size) return symbol.st_value;
  }
  return address;
}

uint64_t elf_pointer(elf_bytes file, uint64_t address) {
  uint64_t start = dynamic_entry(file, DT_RELA), size = dynamic_entry(file, DT_RELASZ);
  const unsigned char *table = size <= file.size ? elf_at(file, start, (size_t)size) : NULL;
  Elf64_Rela entry;
  for (uint64_t at = 0; table && at + sizeof entry <= size; at += sizeof entry) {
    memcpy(&entry, table + at, sizeof entry);
    if (entry.r_offset != address) continue;
    if (ELF64_R_TYPE(entry.r_info) == RELATIVE) return (uint64_t)entry.r_addend;
    Elf64_Sym symbol;
    if (ELF64_R_TYPE(entry.r_info) == ABSOLUTE && read_symbol(file, ELF64_R_SYM(entry.r_info), &symbol))
      return symbol.st_value + (uint64_t)entry.r_addend;
    return 0;
  }
  /* No entry: the pointer is NULL or (packed relocations) stored as the address itself. */
  uint64_t value = 0;
  const void *stored = elf_at(file, address, sizeof value);
  if (stored) memcpy(&value, stored, sizeof value);
  return value;
}
