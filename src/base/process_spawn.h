/* The start of a child process: from a plan to a process that runs, or to the reason why it does not. */
#ifndef MW_CHILD_START_H
#define MW_CHILD_START_H

#include "base.h"

#include <sys/resource.h>
#include <sys/types.h>

/* All that the child's side needs, found before it starts: it can allocate nothing. Zero it, then set the first part. */
typedef struct mw_child_plan {
  const char *path;
  const char *directory; /* to run in, or NULL */
  char *const *argv;
  int descriptors[3]; /* its standard streams, each above 2 */
  bool has_memory;
  struct rlimit memory; /* of address space */

  /* Set by mw_child_start. */
  char *stacks; /* the child's side runs on them, in our memory: free with mw_child_plan_free when all has ended */
  int ready[2]; /* a supervisor holds the other end open until the program runs */
  pid_t parent;
  bool leads_group;

  /* Set by the child's side: the first two by the time mw_child_start returns, the others when the child has ended. */
  volatile int error;      /* errno of a failed start, or 0 */
  volatile bool no_folder; /* it is the folder's, not the program's */
  volatile int status;     /* as waitpid gives it, from a supervisor */
  volatile bool has_status;
} mw_child_plan;

/* Start the program; the child (the program or its supervisor) leads a new process group. Returns its number, to wait for
   with __WALL, or -1 with plan->error set. plan->error may be set all the same, of a child that ends at once. */
pid_t mw_child_start(mw_child_plan *plan);
void mw_child_plan_free(mw_child_plan *plan);

#endif
