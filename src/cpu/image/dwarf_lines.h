/* From machine code to source positions: the DWARF line table of an object. */
#ifndef MW_CPU_LINES_H
#define MW_CPU_LINES_H

#include "elf.h"

typedef struct line_position {
  char file[1024]; /* as passed to the compiler: "kernel.cu", "folder/header.h" */
  int line, column;
} line_position;

/* The source position of the instruction at `address` (an address in the file: without the load address). An
   instruction without a line has that of the ones before it in its function. False if the file has no line table or the
   table does not contain the address. Stateless: each call runs the line program again, well under a millisecond, since
   only failures need it. */
bool lines_find(elf_bytes file, uint64_t address, line_position *out);

#endif
