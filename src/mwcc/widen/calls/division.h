/* Integer division and remainder on all lanes at once: division.c. */
#ifndef DIVISION_H
#define DIVISION_H

#include "mwcc/divergence/division_method.h"
#include "mwcc/widen/widen.h"

/* The results of all vectors; false: DIVISION_PLAIN. */
bool widen_division(widener *w, LLVMValueRef division, vectors *out);

#endif
