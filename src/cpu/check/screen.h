/* Screened launches of a checked run: see screen.c. */
#ifndef MW_CPU_SCREEN_H
#define MW_CPU_SCREEN_H

#include "check.h"

typedef struct cpu_screen cpu_screen; /* of a launch */

/* Before a launch is queued: NULL if only the code that follows threads can check it. `screened`: the kernel of
   screened code; work: of the code that follows threads. */
cpu_screen *cpu_screen_new(cpu_device *device, const mw_launch_request *request, const cpu_kernel_work *work,
                           const cpu_kernel *screened);
void cpu_screen_free(cpu_screen *screen); /* of a launch that is not queued */
/* With the pool's lock: whether all work in the device's other streams is ordered with the work of this one. */
bool cpu_screen_is_ordered(const cpu_stream *stream);
/* The steps around the screened launch, as functions of commands (CPU_FUNCTION), which have that many blocks. */
uint64_t cpu_screen_pieces(const cpu_screen *screen);
void cpu_screen_begin(void *screen, uint64_t first, uint64_t last); /* one block */
void cpu_screen_save(void *screen, uint64_t first, uint64_t last);
void cpu_screen_compare(void *screen, uint64_t first, uint64_t last);
void cpu_screen_restore(void *screen, uint64_t first, uint64_t last);
/* The completion of the last command: frees it, and calls the launch's own. */
mw_completion cpu_screen_completion(cpu_screen *screen, mw_completion own);

bool cpu_screen_is_suspicious(cpu_screen *screen);
/* Whether the command runs screened code. */
bool cpu_screen_runs(const struct cpu_command *command);
/* Whether the command need not run: it follows threads, and the screened run saw nothing suspicious; or it is the
   screened run itself, after something suspicious was seen. */
bool cpu_screen_skips(const struct cpu_command *command);
/* A worker enters and leaves screened code; failed: it was abandoned. */
void cpu_screen_enter(cpu_worker *worker);
void cpu_screen_leave(cpu_worker *worker, bool failed);
/* With a device: its cells. */
void cpu_screen_session_end(cpu_device *device);
void cpu_screen_close(cpu_device *device);

#endif
