/* The memory operand of a faulting x86-64 instruction: the processor does not report the address of a general
   protection fault, nor the start of the access of a page fault. */
#ifndef MW_CPU_OPERAND_H
#define MW_CPU_OPERAND_H

#include <stdbool.h>
#include <stdint.h>

typedef enum operand_use { OPERAND_UNKNOWN, OPERAND_READ, OPERAND_WRITE, OPERAND_JUMP } operand_use;

typedef struct operand {
  operand_use use;
  bool gather;      /* one address for each lane: not decoded */
  uint64_t address; /* that it accesses or jumps to */
} operand;

/* Whether the address is non-canonical: bits 47 to 63 differ. */
static inline bool operand_is_wild(uint64_t address) { return (uint64_t)((int64_t)(address << 16) >> 16) != address; }

/* Decode the instruction at `code`, with the general registers in the order of the encoding (rax rcx rdx rbx rsp rbp
   rsi rdi r8 … r15). Reads only the instruction, and the stack or memory that contains a jump's target. */
operand operand_of(const unsigned char *code, const uint64_t registers[16]);

#endif
