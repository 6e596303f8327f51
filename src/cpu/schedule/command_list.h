/* Lists: launches, copies and fills laid out once and run many times, node after node, as one command of a stream.
 *
 * A list never changes, so any number of its runs may be in flight; what a run changes is its command, which becomes one
 * node after the other. The thread that has the command goes on from node to node without the pool's lock where it can run
 * all of a node itself; nodes of many blocks are offered to the others as any command's are. */
#ifndef MW_CPU_LIST_H
#define MW_CPU_LIST_H

#include "command.h"

typedef struct cpu_list cpu_list;

/* mw_cpu_driver's members; list_run is in stream.c. */
int cpu_list_new(void *device, const mw_list_item *items, size_t count, void **list);
bool cpu_list_is_good(const void *list);
void cpu_list_free(void *list);

/* Make the command its list's node `node`. False: there is none. */
bool cpu_list_load(cpu_command *command, size_t node);
bool cpu_list_has_more(const cpu_command *command);
/* The same with the next one, where that is so short that one thread runs it: how many blocks it has, else 0. For the
   thread that has the command to itself. */
uint64_t cpu_list_go_on(cpu_command *command);

#endif
