/* The interface to the runtime.
 *
 *   workitem_loops.c   block functions, "run blocks first..last" (pocl: work-group functions)
 *   store_sandbox.c    stores stay in the device's memory (software fault isolation)
 *   module_table.c     the module's description for the runtime */
#ifndef MWCC_ENTRY_ENTRY_H
#define MWCC_ENTRY_ENTRY_H

#include "mwcc/mwcc.h"

void build_block_functions(program *p); /* workitem_loops.c: the block functions */
void build_table(program *p);           /* module_table.c */
void set_local_bytes(program *p); /* module_table.c: in the finished table, the stack sizes that are known by then */
void simplify_module(program *p); /* store_sandbox.c: promote stack slots to registers */
void sandbox_stores(program *p);  /* store_sandbox.c */

#endif
