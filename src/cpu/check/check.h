/* Checked runs (mw.check): what kernels compiled with --checks do wrong, as findings.
 *
 *   session.c          the session of a device, its findings, and source lines
 *   launch_order.c     which launches happen before which: streams, events, waits of the host (vector clocks)
 *   clock.c            which accesses of a block happen before which: barriers, __syncwarp, fences and atomics
 *   screen.c           screened launches: vector code runs first, threads are followed only if it sees signs of a race
 *   race.c             the latest accesses to each byte (shadow memory), and races between them
 *   participation.c    divergent barriers and wrong warp masks
 *   initialised.c      values that nothing has written
 *   bulk.c             bulk copies
 *   random_threads.c   random order of threads and blocks, with a seed
 *   lifetime.c         memory that was freed, and blocks of malloc in kernels
 *
 * Races are decided by happens-before in CUDA's memory model and never by the order in which threads ran. Code of
 * checked kernels holds the session's lock, so that nothing here runs twice at once; a kernel that waits for another
 * launch gives it up now and then (cpu_check_pause).
 *
 * Services run on a kernel's stack: they set in_service, so that no signal abandons them, and return soon. */
#ifndef MW_CPU_CHECK_H
#define MW_CPU_CHECK_H

#include "cpu/execution/worker.h"

typedef struct cpu_check cpu_check; /* a session */
typedef struct cpu_checked cpu_checked;

/* ---- session.c ---- */

/* mw_driver's members of the same names. The device is idle. */
int cpu_check_begin(void *device, unsigned kinds, uint64_t seed);
int cpu_check_end(void *device, mw_report **out);
/* The device's session, or NULL. */
cpu_check *cpu_check_of(const cpu_device *device);
/* While a kernel of a session runs. */
void cpu_check_enter(cpu_worker *worker);
void cpu_check_leave(cpu_worker *worker);
/* Lock the worker's session, unless it holds the lock for the whole kernel. Not on a kernel's stack. */
void cpu_check_lock(const cpu_worker *worker);
void cpu_check_unlock(const cpu_worker *worker);
void cpu_check_pause(cpu_worker *worker);
/* A kernel was abandoned: whether the session takes over the error and reports it as a finding. */
bool cpu_check_keeps(cpu_worker *worker, const struct cpu_command *command, mw_error *error);
/* Whether kernels that this one launches are checked: not if threads are followed, since nothing says what of a launch
   happens before those that it launches. In a session: a kernel that is launched is not. */
bool cpu_check_covers_children(const cpu_kernel *kernel);
void cpu_check_leaves_out(cpu_worker *worker, const char *child);

/* ---- launch_order.c: with the pool's lock ---- */

/* A launch, copy or fill was queued. Its number, from 1. */
uint32_t cpu_check_queued(cpu_stream *stream);
void cpu_check_recorded(cpu_stream *stream, const void *event);
void cpu_check_waits(cpu_stream *stream, const void *event);
void cpu_check_synchronized(cpu_stream *stream);                    /* the host has waited for it */
void cpu_check_event_passed(cpu_device *device, const void *event); /* or for an event */
void cpu_check_freed(cpu_device *device, const void *stream_or_event);
/* A copy or fill is about to run. */
void cpu_check_transfer(const struct cpu_command *command);

/* ---- clock.c ---- */

/* A block begins or has ended; its threads are 0 .. count - 1. */
void cpu_check_block(cpu_worker *worker, uint32_t count);
void cpu_check_block_end(cpu_worker *worker);
/* All threads of the block have arrived at a barrier, or these lanes of a warp at __syncwarp, or the threads of a named
   barrier. */
void cpu_check_barrier(cpu_worker *worker);
void cpu_check_warp(cpu_worker *worker, uint32_t first, uint32_t lanes);
void cpu_check_named(cpu_worker *worker, const uint32_t *arrived, const uint32_t *waits, uint32_t warps);
void cpu_check_cluster(cpu_worker *worker);        /* the cluster barrier was passed */
void cpu_check_grid(cpu_worker *worker, bool all); /* the grid barrier was passed; not all: some blocks had ended */
void cpu_checked_free(cpu_checked *block);
/* mw_services.check_event */
void cpu_check_event(mw_worker *worker, mw_check_event event, uint64_t value);

/* ---- race.c ---- */

/* An access in bounds, by the worker's current thread. `object`: where the array begins, or 0; name: of the array, or
   NULL. */
void cpu_check_watch(cpu_worker *worker, uint64_t address, uint64_t bytes, uint64_t object, const char *name,
                     uint32_t flags);

/* ---- participation.c ---- */

/* A barrier of the block is about to end: at the given code addresses. */
void cpu_check_arrivals(cpu_worker *worker);
/* The grid barrier was passed although some blocks had ended. */
void cpu_check_grid_part(cpu_worker *worker);
/* A lane calls a warp function; a group of lanes is about to get its results. */
void cpu_check_mask(cpu_worker *worker, uint32_t thread, uint32_t mask);
void cpu_check_group(cpu_worker *worker, uint32_t thread, uint32_t group);
void cpu_check_places(cpu_worker *worker, uint32_t first, uint32_t group);
void cpu_check_absent(cpu_worker *worker, uint32_t thread, uint32_t from);

/* ---- bulk.c: in a service that copies ---- */

/* A bulk copy of the current thread's reads or writes (MW_ACCESS_STORE, MW_ACCESS_UPDATE) memory; its copies so far are
   counted by the barrier, and no others. */
void cpu_check_bulk(mw_worker *worker, uint64_t address, uint64_t bytes, uint32_t flags);
void cpu_check_counted(mw_worker *worker, uint64_t barrier);

/* ---- random_threads.c ---- */

/* Whether the device's launches run in a random order, from a seed. */
bool cpu_check_is_random(const cpu_device *device);
/* The initial random state of a launch (block 0) or of one of its blocks, counted from 1; 0: threads run in order. */
uint64_t cpu_check_random_state(const cpu_device *device, uint32_t launch, uint64_t block);
/* The next random number, less than `below`. */
uint32_t cpu_check_draw(uint64_t *state, uint32_t below);
/* The same, of the device's own state, for commands of streams (schedule/random_streams.c). With the pool's lock. */
uint32_t cpu_check_draw_command(const cpu_device *device, uint32_t below);
/* Before an access: at random, let another thread or block run first. */
void cpu_check_may_switch(cpu_worker *worker);

/* ---- lifetime.c ---- */

/* The device's memory at the address is freed: true if the session keeps it until its end. */
bool cpu_check_frees(cpu_device *device, uint64_t address);
/* An array was allocated; the host or a library has written to it. */
void cpu_check_allocated(cpu_device *device, uint64_t address, uint64_t bytes);
void cpu_check_wrote(void *device, uint64_t address, uint64_t bytes);
/* Whether the address lies in memory that was freed. */
bool cpu_check_is_freed(cpu_check *check, uint64_t address);
uint64_t cpu_check_frees_count(const cpu_check *check);
void cpu_check_malloced(cpu_worker *worker, uint64_t address, uint64_t bytes);
bool cpu_check_malloc_freed(cpu_worker *worker, uint64_t address);
/* Whether the address is in an array, a variable, a live block of malloc, or shared memory of the block's cluster. */
bool cpu_check_is_global(const cpu_worker *worker, uint64_t address);
/* The live block of malloc in kernels that contains the address. */
bool cpu_check_malloc_find(cpu_check *check, uint64_t address, uint64_t *base, size_t *bytes);

#endif
