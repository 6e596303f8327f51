/* Command lists (a linearised CUDA graph): launches, copies and fills that are laid out once and run many times, in
 * order, as one command of a stream.
 *
 * A list is immutable, so any number of its runs may be in flight; a run changes only its command, which takes the form
 * of one node after another. A thread that can run all of a node itself continues with the next node without the pool's
 * lock; nodes of many blocks are activated for all threads, as any command. Conditional nodes are decided by the thread
 * that finished what is before them. */
#ifndef MW_CPU_LIST_H
#define MW_CPU_LIST_H

#include "command.h"

typedef struct cpu_list cpu_list;

/* mw_cpu_driver's members; list_run is in stream.c. */
int cpu_list_new(void *device, const mw_list_item *items, size_t count, void **list);
bool cpu_list_is_good(const void *list);
void cpu_list_free(void *list);

/* Make `node` the command's current node. False: there is none. */
bool cpu_list_load(cpu_command *command, size_t node);
bool cpu_list_has_more(const cpu_command *command); /* perhaps, if it branches */
size_t cpu_list_count(const cpu_command *command);
/* Whether it has conditional nodes. */
bool cpu_list_branches(const cpu_command *command);
/* The node that follows the current one, which is done: conditional nodes are decided now. */
size_t cpu_list_next(const cpu_command *command);
/* Advance to the next node if it is so short that one thread should run it; returns the number of its blocks, else 0.
   For a thread that has the command to itself. */
uint64_t cpu_list_go_on(cpu_command *command);

#endif
