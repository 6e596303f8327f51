/* Starting a child process: from a plan to a running process, or to the reason why it could not be started. */
#ifndef MW_PROCESS_SPAWN_H
#define MW_PROCESS_SPAWN_H

#include "base.h"

#include <sys/resource.h>
#include <sys/types.h>

/* All that the child's side needs, prepared before it starts, because it cannot allocate. Zero it, then set the first
   part. */
typedef struct mw_child_plan {
  const char *path;
  const char *directory; /* to run in, or NULL */
  char *const *argv;
  int descriptors[3]; /* its standard streams, each above 2 */
  bool has_memory;
  struct rlimit memory; /* of address space */

  /* Set by mw_child_start. */
  char *stacks; /* of the child's side, in our memory: mw_child_plan_free after all processes have ended */
  int ready[2]; /* a supervisor holds the other end open until the program runs */
  pid_t parent;
  bool leads_group;

  /* Set by the child's side: the first two by the time mw_child_start returns, the others when the child has ended. */
  volatile int error;      /* errno of a failed start, or 0 */
  volatile bool no_folder; /* the error concerns the folder, not the program */
  volatile int status;     /* in the form of waitpid, from a supervisor */
  volatile bool has_status;
} mw_child_plan;

/* Start the program; the child (the program or its supervisor) leads a new process group. Returns its process id, to
   wait for with __WALL, or -1 with plan->error set. plan->error may be set although an id is returned: then that
   child ends immediately. */
pid_t mw_child_start(mw_child_plan *plan);
void mw_child_plan_free(mw_child_plan *plan);

#endif
