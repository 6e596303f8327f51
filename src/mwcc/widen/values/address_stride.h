/* The stride of a value or address: how far it advances in one iteration of a loop, or from one block or thread to
 * the next along an axis. */
#ifndef ADDRESS_STRIDE_H
#define ADDRESS_STRIDE_H

#include "mwcc/widen/widen.h"

typedef struct address_stride {
  bool known;
  LLVMValueRef by; /* an i64 at the builder's position; NULL: it does not advance */
} address_stride;

typedef struct stride_query {
  widener *w;
  int loop;            /* or -1: along the register `counter` */
  const char *counter; /* the id that increases by one, such as "ctaid.x" */
  mask all;
} stride_query;

address_stride stride_of(const stride_query *q, LLVMValueRef value);
/* Whether the value is computed in the query's loop. */
bool is_inside(const stride_query *q, LLVMValueRef value);
/* The name of an id or a size that a thread reads, or NULL. */
const char *register_of(LLVMValueRef value);

#endif
