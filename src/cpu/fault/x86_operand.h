/* What an x86-64 instruction that faulted was after: of a general protection fault the processor does not say, and of a page
   fault not where it begins. */
#ifndef MW_CPU_OPERAND_H
#define MW_CPU_OPERAND_H

#include <stdbool.h>
#include <stdint.h>

typedef enum operand_use { OPERAND_UNKNOWN, OPERAND_READ, OPERAND_WRITE, OPERAND_JUMP } operand_use;

typedef struct operand {
  operand_use use;
  bool gather;      /* one address a lane, which are not looked at */
  uint64_t address; /* that it touches or jumps to */
} operand;

/* Whether the processor has no such address at all: bits 47 to 63 differ. */
static inline bool operand_is_wild(uint64_t address) { return (uint64_t)((int64_t)(address << 16) >> 16) != address; }

/* Of the instruction at `code`, with the general registers in the order of the encoding (rax rcx rdx rbx rsp rbp rsi rdi
   r8 … r15). Reads no further than the instruction goes, and the stack or memory that a jump takes its target from. */
operand operand_of(const unsigned char *code, const uint64_t registers[16]);

#endif
