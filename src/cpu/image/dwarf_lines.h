/* From machine code back to the source: the DWARF line table of an object. */
#ifndef MW_CPU_LINES_H
#define MW_CPU_LINES_H

#include "elf.h"

typedef struct line_position {
  char file[1024]; /* as the compiler was given it: "kernel.cu", "folder/header.h" */
  int line, column;
} line_position;

/* The source position of the instruction at `address` (the file's own address: less the one it is loaded at). An
   instruction of no line has that of the ones before it in its function. False where the file has no line table or the
   table does not say. Keeps no state: each call runs the line program again, well under a millisecond, since only
   failures ask. */
bool lines_find(elf_bytes file, uint64_t address, line_position *out);

#endif
