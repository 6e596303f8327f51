/* The linker: relocatable objects, which the code generator makes in memory, become one shared object in memory.
 *
 *   elf_object.c    reads an object: sections, symbols, relocations; validates all of it
 *   elf_symbols.c   symbol resolution: definitions, imports, COMDAT groups
 *   elf_library.c   finds the library that has a function, and the function's version
 *   elf_layout.c    selects sections and assigns addresses
 *   elf_relocate.c  relocations: scanning and applying them
 *   elf_eh_frame.c  .eh_frame without records of dropped functions, and the sorted table .eh_frame_hdr
 *   elf_dynamic.c   dynamic linking: symbols, their hash table, versions, relocations
 *   elf_image.c     writes the file
 *
 * The order of calls: linker_add for each object; linker_imports, whose library and version the caller fills in;
 * linker_write. Supported are 64-bit objects for x86-64 and AArch64 with position-independent code. Thread-local
 * variables, link-time optimisation, scripts and archives are not: device code has none. The output is
 * deterministic. */
#ifndef MWCC_LINKER_H
#define MWCC_LINKER_H

#include "mwcc/mwcc.h"

#include <elf.h>

typedef struct output output;
typedef struct global global;
typedef struct library library;

typedef struct section { /* of an object */
  const char *name;
  uint32_t type;
  uint64_t flags, size, align, entry;
  const unsigned char *data;        /* NULL: zeros, which take no space in the file */
  const unsigned char *relocations; /* Elf64_Rela, not necessarily aligned: read them by relocation_at */
  size_t relocation_count;
  bool dropped;    /* of a COMDAT group that an earlier object has */
  output *output;  /* NULL: it is not in the result */
  uint64_t offset; /* in the output */
} section;

typedef struct symbol { /* of an object */
  const char *name;
  uint64_t value, size;
  uint32_t section; /* its index, or SHN_UNDEF, SHN_ABS, SHN_COMMON */
  unsigned char type, bind, visibility;
  global *global; /* NULL for a local symbol */
  uint32_t slot;  /* of a local symbol in the global offset table, from 1; 0: none */
} symbol;

typedef struct object {
  const char *name; /* for messages */
  const unsigned char *data;
  size_t size;
  section *sections;
  size_t section_count;
  symbol *symbols;
  size_t symbol_count;
  bool understood; /* read completely: another linker may support what this one reports from now on */
} object;

struct global {
  const char *name;
  uint32_t hash; /* elf_hash */
  const object *owner;
  const symbol *definition; /* NULL: imported */
  uint64_t common_offset;   /* of a definition without a section, in linker.commons */
  unsigned char bind, visibility;
  bool is_exported;
  const library *library; /* of an import, and its version, if it has one */
  const char *version;
  uint32_t dynamic;    /* index in the table of dynamic symbols; 0: none */
  uint32_t slot, stub; /* in the global offset table and among the stubs, from 1; 0: none */
};

/* Segments, by access permissions. */
typedef enum output_place {
  PLACE_READ,
  PLACE_CODE,
  PLACE_RELOCATED, /* read-only after relocation by the dynamic linker (RELRO) */
  PLACE_DATA,
  PLACE_FILE /* not loaded */
} output_place;

struct output { /* a section of the result */
  const char *name;
  uint32_t type, info, index, name_offset;
  output_place place;
  uint64_t flags, size, align, entry;
  uint64_t address, offset;
  output *link;
  section **pieces;
  size_t piece_count;
};

typedef struct frame_record { /* of .eh_frame */
  const object *object;
  const section *section;
  uint64_t offset, size; /* in the section */
  uint64_t target;       /* offset in the result */
  size_t relocation;     /* the first one in the record or after it */
  size_t cie;            /* the record that it refers to; a CIE refers to itself */
} frame_record;

typedef struct linker {
  uint16_t machine;
  object **objects;
  size_t object_count;
  global **globals; /* in the order of their first occurrence */
  size_t global_count;
  uint32_t *buckets; /* hash table of globals: index plus 1 */
  size_t bucket_count;
  strings groups;  /* COMDAT groups of earlier objects */
  section commons; /* variables without a section (SHN_COMMON) */
  const library *libraries;
  size_t library_count;

  output **outputs; /* in file order */
  size_t output_count;
  output *hash, *dynsym, *dynstr, *versym, *verneed, *rela, *stubs, *slots, *dynamic, *frame_header, *frames, *symtab,
      *strtab, *shstrtab;
  frame_record *records;
  size_t record_count;
  size_t slot_count, stub_count, relative_count, symbolic_count; /* needed by relocations */
  mw_text dynamic_names, names, section_names, versions;
  size_t import_count, export_count;
  global **dynamic_symbols; /* the imports, then the exports in the order of their buckets */
  size_t local_count;       /* local symbols of the symbol table */
  Elf64_Sym *symbols;
  size_t symbol_count;

  unsigned char *image;
  size_t image_size;
  Elf64_Rela *relative, *symbolic; /* dynamic relocations, */
  size_t relatives, symbolics;     /* and how many have been written */
} linker;

struct library {
  const char *file; /* "libm.so.6" */
  bool is_needed;   /* the module imports from it */
  bool is_missing, is_open;
  const unsigned char *data;
  size_t size;
};

uint32_t elf_hash(const char *name); /* as in .gnu.hash */

/* ---- elf_object.c ---- */
object *object_read(const char *name, const void *data, size_t size, uint16_t *machine);
_Noreturn void object_bad(const object *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
Elf64_Rela relocation_at(const section *s, size_t i);
/* The symbol that a relocation refers to. */
symbol *relocation_symbol(const object *o, const section *s, Elf64_Rela r);

/* ---- elf_symbols.c ---- */
void linker_add(linker *l, object *o);
global *linker_find(const linker *l, const char *name); /* or NULL */
/* Undefined symbols, in the order of their first use. */
global **linker_imports(const linker *l, size_t *count);
/* A symbol's definition, which may be in another object; NULL if it is imported. */
const symbol *symbol_definition(const object **o, const symbol *s);
/* A definition's address; false if its section is not in the result. */
bool definition_address(const linker *l, const object *o, const symbol *definition, uint64_t *address);

/* ---- elf_library.c ---- */
/* Whether the library has the function. *version is its default version, or NULL. */
bool library_has(library *l, uint16_t machine, bool other_machine, const char *name, const char **version);

/* ---- elf_layout.c ---- */
void choose_outputs(linker *l);
output *add_output(linker *l, const char *name, uint32_t type, uint64_t flags, output_place place, uint64_t align);
void lay_out(linker *l); /* assign addresses, once all sizes are known; drops empty sections */
size_t count_segments(const linker *l);
uint64_t page_of(const linker *l);

/* ---- elf_relocate.c ---- */
void count_relocations(linker *l, const object *o, const section *s);
void relocate_section(linker *l, const object *o, const section *s);
/* Apply one relocation. The place has the address `address` in the module and `size` bytes at `at`, in this process. */
void relocate(linker *l, const object *o, const section *s, Elf64_Rela r, unsigned char *at, uint64_t size,
              uint64_t address);
void write_stubs(linker *l);
void write_slots(linker *l);

/* ---- elf_eh_frame.c ---- */
void read_frames(linker *l);
void write_frames(linker *l);

/* ---- elf_dynamic.c ---- */
void prepare_dynamic(linker *l);
void write_dynamic(linker *l);

/* ---- elf_image.c ---- */
/* The shared object, followed by `spare` bytes for the caller. */
unsigned char *linker_write(linker *l, size_t spare, size_t *size);

#endif
