/* The part of an ELF file that the dynamic linker follows. */
#ifndef MW_CPU_ELF_DYNAMIC_H
#define MW_CPU_ELF_DYNAMIC_H

#include "elf.h"

/* NULL if the dynamic section and its tables are as moonwarp's linker writes them; otherwise a message about the defect.
   The file's headers have been checked (elf_check). */
const char *elf_check_dynamic(elf_bytes file);

#endif
