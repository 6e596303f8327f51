/* How the lanes of a gang divide integers: widen/calls/division.c has the methods and why they are exact. */
#ifndef DIVISION_METHOD_H
#define DIVISION_METHOD_H

#include "mwcc/analysis/simt.h"

/* Numbers of up to so many bits, and their quotients, are exact in floats and in doubles. */
enum { DIVISION_FLOAT_BITS = 16, DIVISION_LONG_BITS = 48 };

typedef enum division_method {
  DIVISION_PLAIN,  /* by LLVM: lane by lane, unless the divisor is a constant */
  DIVISION_FLOAT,  /* all numbers have at most 16 bits */
  DIVISION_DOUBLE, /* at most 32 */
  DIVISION_SHORT,  /* dividends are below 2^48, and lanes share the divisor */
  DIVISION_LONG    /* 64 bits, and lanes share the divisor */
} division_method;

bool is_division(LLVMValueRef instruction);
division_method division_of(const shapes *s, LLVMValueRef division);
/* For the report: how lanes divide; NULL: not a division, or not by lanes. */
const char *describe_division(const shapes *s, LLVMValueRef instruction);

#endif
