/* By how much a value or an address grows: in a round of a loop, or from one block or thread to the next on an axis. */
#ifndef GROWTH_H
#define GROWTH_H

#include "mwcc/widen/widen.h"

typedef struct growth {
  bool known;
  LLVMValueRef by; /* an i64 where the builder stands; NULL: nothing */
} growth;

typedef struct question {
  widener *w;
  int loop;           /* or -1 */
  const char *varied; /* then the register that counts up by one */
  mask all;
} question;

growth growth_of(const question *q, LLVMValueRef value);
/* Whether the value is computed in the question's loop. */
bool is_inside(const question *q, LLVMValueRef value);
/* The name of an id or a size that a thread reads, or NULL. */
const char *register_of(LLVMValueRef value);

#endif
