/* What the runtime enters and reads: block functions, the table, the stores' sandbox. */
#ifndef MWCC_ENTRY_ENTRY_H
#define MWCC_ENTRY_ENTRY_H

#include "mwcc/mwcc.h"

void build_runs(program *p);
void build_table(program *p);
void set_local_bytes(program *p); /* in the finished table, from what write_stack_sizes found */
void simplify_module(program *p); /* store_sandbox.c: slots become registers */
void sandbox_stores(program *p);

#endif
