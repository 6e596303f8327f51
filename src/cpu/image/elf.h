/* An ELF file as untrusted bytes: every reader here checks its ranges, so that damaged or hostile files give "no" and not
 * a fault. Addresses are those that the file was linked for (a shared object's begin near 0). */
#ifndef MW_CPU_ELF_H
#define MW_CPU_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct elf_bytes {
  const unsigned char *data;
  size_t size;
} elf_bytes;

/* NULL where this is a whole shared object for this machine that the dynamic linker can be given; otherwise what is wrong
   with it. *foreign is set where it is sound, but for another processor. */
const char *elf_check(elf_bytes file, bool *foreign);

/* The contents of a section; false where there is none (or it is compressed). */
bool elf_section(elf_bytes file, const char *name, elf_bytes *out);

/* The address of an exported symbol of at least `size` bytes; 0 where there is none. */
uint64_t elf_symbol(elf_bytes file, const char *name, size_t size);

/* Where the function begins that the code at an address belongs to; the address itself where the file does not say. */
uint64_t elf_function(elf_bytes file, uint64_t address);

/* The bytes that will stand at an address once the file is loaded, before relocation; NULL where the file has not all. */
const void *elf_at(elf_bytes file, uint64_t address, size_t size);

/* The address that the pointer stored at `address` will hold after relocation, in the file's own addresses; 0 for NULL. */
uint64_t elf_pointer(elf_bytes file, uint64_t address);

/* The string at an address; NULL where there is none or it does not end. */
const char *elf_string(elf_bytes file, uint64_t address);

#endif
