/* The linker: relocatable objects, as the code generator makes them in memory -> one shared object in memory.
 *
 *   elf_object.c    reading an object: sections, symbols, relocations; all of it checked
 *   elf_symbols.c   what the objects mean by a name: definitions, imports
 *   elf_library.c   which library has a function, and in which version
 *   elf_layout.c    what goes into the result, and at which address
 *   elf_relocate.c  relocations: what they ask for, and their values
 *   elf_eh_frame.c    .eh_frame without what was dropped, and the sorted table in .eh_frame_hdr
 *   elf_dynamic.c   what the dynamic linker reads: symbols, their hash table, versions, relocations
 *   elf_image.c     the file
 *
 * The order of work: linker_add for each object; linker_imports, and the caller fills in who has them; linker_write.
 * It knows 64-bit objects for x86-64 and AArch64 that are compiled as position-independent code. Thread-local variables,
 * link-time optimisation, scripts and archives it does not know: device code has none. The same objects give the same bytes. */
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
  const unsigned char *data;        /* NULL: zeros, which take no place in the file */
  const unsigned char *relocations; /* Elf64_Rela, at any address: relocation_at */
  size_t relocation_count;
  bool dropped;    /* of a group that an object before this one has, too */
  output *output;  /* NULL: nothing of it is carried over */
  uint64_t offset; /* there */
} section;

typedef struct symbol { /* of an object */
  const char *name;
  uint64_t value, size;
  uint32_t section; /* its number, or SHN_UNDEF, SHN_ABS, SHN_COMMON */
  unsigned char type, bind, visibility;
  global *global; /* NULL: nobody else means it by that name */
  uint32_t slot;  /* a local symbol's in the table of addresses, from 1; 0: none */
} symbol;

typedef struct object {
  const char *name; /* for messages */
  const unsigned char *data;
  size_t size;
  section *sections;
  size_t section_count;
  symbol *symbols;
  size_t symbol_count;
  bool understood; /* as far as is needed for leaving it to another linker, which may know more of the rest */
} object;

struct global {
  const char *name;
  uint32_t hash; /* elf_hash */
  const object *owner;
  const symbol *definition; /* NULL: imported */
  uint64_t common_offset;   /* of a definition without a section, in linker.commons */
  unsigned char bind, visibility;
  bool is_exported;
  const library *library; /* of an import: whose version it is, where it has one */
  const char *version;
  uint32_t dynamic;    /* number in the table of dynamic symbols; 0: not there */
  uint32_t slot, stub; /* in the table of addresses and among the stubs, from 1; 0: none */
};

/* What has the same rights in memory. */
typedef enum output_place {
  PLACE_READ,
  PLACE_CODE,
  PLACE_RELOCATED, /* read-only behind the dynamic linker's work */
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
  uint64_t offset, size; /* there */
  uint64_t target;       /* in the result */
  size_t relocation;     /* the first that lies in it or behind it */
  size_t cie;            /* the record that it refers to; itself: it is a CIE */
} frame_record;

typedef struct linker {
  uint16_t machine;
  object **objects;
  size_t object_count;
  global **globals; /* in the order in which they were met */
  size_t global_count;
  uint32_t *buckets; /* numbers of globals, from 1, by their hash */
  size_t bucket_count;
  strings groups;  /* whose members are there already */
  section commons; /* variables that were defined in no section */
  const library *libraries;
  size_t library_count;

  output **outputs; /* as they lie in the file */
  size_t output_count;
  output *hash, *dynsym, *dynstr, *versym, *verneed, *rela, *stubs, *slots, *dynamic, *frame_header, *frames, *symtab,
      *strtab, *shstrtab;
  frame_record *records;
  size_t record_count;
  size_t slot_count, stub_count, relative_count, symbolic_count; /* what the relocations ask for */
  mw_text dynamic_names, names, section_names, versions;
  size_t import_count, export_count;
  global **dynamic_symbols; /* the imports, then the exports by their bucket */
  size_t local_count;       /* of the symbol table */
  Elf64_Sym *symbols;
  size_t symbol_count;

  unsigned char *image;
  size_t image_size;
  Elf64_Rela *relative, *symbolic; /* for the dynamic linker, as far as written */
  size_t relatives, symbolics;
} linker;

/* A function of `libraries` that an object imports, in the version that new programs get: elf_library.c */
struct library {
  const char *file; /* "libm.so.6" */
  bool wanted;
  bool is_missing, is_open;
  const unsigned char *data;
  size_t size;
};

uint32_t elf_hash(const char *name); /* of .gnu.hash */

/* ---- elf_object.c ---- */
object *object_read(const char *name, const void *data, size_t size, uint16_t *machine);
_Noreturn void object_bad(const object *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
Elf64_Rela relocation_at(const section *s, size_t i);
/* The symbol that a relocation is about. */
symbol *relocation_symbol(const object *o, const section *s, Elf64_Rela r);

/* ---- elf_symbols.c ---- */
void linker_add(linker *l, object *o);
global *linker_find(const linker *l, const char *name); /* or NULL */
/* What is used and nowhere defined, in the order of its first use. */
global **linker_imports(const linker *l, size_t *count);
/* A symbol's own definition, which may be in another object; NULL: imported. */
const symbol *symbol_definition(const object **o, const symbol *s);
/* Where a definition lies; false where nothing of its section is in the result. */
bool definition_address(const linker *l, const object *o, const symbol *definition, uint64_t *address);

/* ---- elf_library.c ---- */
/* Whether the library has that function; *version is the one that new programs get, or NULL. `kind` is a machine's, as in
   the names of Debian's folders. */
bool library_has(library *l, uint16_t machine, bool other_machine, const char *name, const char **version);

/* ---- elf_layout.c ---- */
void choose_outputs(linker *l);
output *add_output(linker *l, const char *name, uint32_t type, uint64_t flags, output_place place, uint64_t align);
void lay_out(linker *l); /* addresses, when all sizes are known; drops what is empty */
size_t count_segments(const linker *l);
uint64_t page_of(const linker *l);

/* ---- elf_relocate.c ---- */
void count_relocations(linker *l, const object *o, const section *s);
void relocate_section(linker *l, const object *o, const section *s);
/* One of a piece that lies at `address` now, and at `at` in memory with `size` bytes. */
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
/* The shared object, with `spare` bytes behind it for the caller. */
unsigned char *linker_write(linker *l, size_t spare, size_t *size);

#endif
