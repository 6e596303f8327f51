/* An ELF file as untrusted input: all functions check ranges, so that damaged or hostile files lead to failures, not to
 * faults. Addresses are those that the file was linked for (a shared object's begin near 0). */
#ifndef MW_CPU_ELF_H
#define MW_CPU_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct elf_bytes {
  const unsigned char *data;
  size_t size;
} elf_bytes;

/* NULL if this is a complete shared object for this machine that can be passed to the dynamic linker; otherwise a
   message about the defect. *foreign is set if it is sound, but for another processor. */
const char *elf_check(elf_bytes file, bool *foreign);

/* The contents of a section; false if there is none (or it is compressed). */
bool elf_section(elf_bytes file, const char *name, elf_bytes *out);

/* The address of an exported symbol of at least `size` bytes; 0 if there is none. */
uint64_t elf_symbol(elf_bytes file, const char *name, size_t size);

/* The start of the function that contains the address; the address itself if it is not known. */
uint64_t elf_function(elf_bytes file, uint64_t address);

/* The bytes at an address of the loaded file, before relocation; NULL if the file does not contain all of them. */
const void *elf_at(elf_bytes file, uint64_t address, size_t size);

/* The address that the pointer stored at `address` will hold after relocation, in the file's own addresses; 0 for
   NULL. */
uint64_t elf_pointer(elf_bytes file, uint64_t address);

/* The string at an address; NULL if there is none or it is not terminated. */
const char *elf_string(elf_bytes file, uint64_t address);

#endif
