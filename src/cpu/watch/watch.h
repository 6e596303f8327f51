/* Watched launches: the manual for those who write watchers.
 *
 * A launch is watched if its kernel was compiled with mwcc --observe and its request has a watch. Then generated code
 * calls the runtime (mw_services.watch) before each access, barrier, warp function, fence and branch and at the start
 * of each basic block, once for a warp: with the site's number (mw_site: what it is, and where the source has it), the
 * set of active lanes, and a word for each of them. watch.c hands each call to the watchers of the launch.
 *
 * A watch has one or more watchers, each of them a `cpu_watcher`: a table of functions. A watcher has
 *
 *   - a state of its own for the watch (open, close), in which results are collected,
 *   - a state for each launch (begin … end),
 *   - and a state for each worker that runs blocks of the launch (enter … leave).
 *
 * Several workers run blocks of one launch at the same time. Only a worker itself uses its state, so `on` needs no
 * locks. `leave` is called for each worker's state when all blocks are done, on one thread, and then `end`: there states
 * are merged. Launches of one watch may overlap, in streams; `begin`, `leave` and `end` of one watch never do.
 *
 * `on` is called on the kernel's stack, where some kilobytes are left: it neither calls malloc nor takes a lock, or does
 * so in cpu_service_call. It is called by site kind; NULL: such sites do not interest the watcher. The set of lanes is
 * never empty. The words of other lanes are undefined.
 *
 * Where a kernel cannot be widened its threads are fibers. They converge at each site (mw_services.warp_converge), lanes
 * with the lowest site first, so a watcher sees warps there, too. Where lines are watched (MW_OBSERVE_STEP) the threads
 * are always fibers, which converge at lines only; all other calls are of one lane. */
#ifndef MW_CPU_WATCH_H
#define MW_CPU_WATCH_H

#include "cpu/cpu.h"
#include "cpu/schedule/command.h"
#include "core/launch/watch.h"

typedef struct cpu_watch cpu_watch;       /* a watch: mw_watch's state */
typedef struct cpu_watched cpu_watched;   /* a launch of it */
typedef struct cpu_watching cpu_watching; /* a worker that runs blocks of the launch */

/* One call. */
typedef struct cpu_watch_event {
  mw_worker *worker; /* ->block is the block */
  const mw_site *site;
  uint32_t number; /* the site's */
  uint32_t warp;   /* its number in the block: threads 32 * warp … by linear id */
  uint32_t lanes;
  uint32_t space; /* of an access: MW_SPACE_*, of the first active lane's address where the site does not say */
  uint32_t takes; /* of a branch: the lanes that take it */
  /* NULL for a watcher with `takes_runs`, where runs are known; then lane l of run r, of 32 / run_count lanes, has the
     address bases[r] + l * stride. */
  const uint64_t *words;
  const uint64_t *bases; /* NULL: `words` are known */
  uint64_t stride;
  uint32_t run_count;
} cpu_watch_event;

/* The words of the runs of an access. */
void cpu_watch_expand(const cpu_watch_event *event, uint64_t words[32]);

typedef struct cpu_watcher {
  const char *name;
  unsigned observes; /* of enum mw_observed */
  bool takes_runs;
  /* `options`: what follows the name and a colon, "" if nothing does. MW_INVALID_VALUE for unknown ones. */
  int (*open)(cpu_device *device, const char *options, void **state);
  void (*close)(void *state);
  /* A launch begins, on the thread that launches it. Its work is command->kernel (not yet filled in here). */
  void *(*begin)(void *state, const cpu_watched *launch);
  /* A worker will run blocks of the launch; called once for each of them, on its own thread and stack. */
  void *(*enter)(void *launch);
  void (*on[MW_SITE_KINDS])(void *worker, const cpu_watch_event *event);
  /* The table in which generated code counts for the worker, where it does (mw_tally), or NULL; and a worker will run
     the launch's first block, not yet at its first call. A watch of several watchers counts nothing in place. */
  mw_tally *(*tallies)(void *worker);
  void (*first_block)(void *worker);
  /* A worker begins with a block, at its first call in it, and is done with it; may be NULL. With `tallies` there may
     be no call in a block. */
  void (*block_begin)(void *worker, uint64_t block);
  void (*block_end)(void *worker, uint64_t block);
  void (*leave)(void *launch, void *worker); /* frees the worker's state */
  void (*end)(void *launch, bool failed);    /* frees the launch's state */
  /* Lines of text for lua/moonwarp/watch/, which begin with a word that is the watcher's. */
  void (*result)(void *state, mw_text *out);
} cpu_watcher;

enum { CPU_WATCHERS_MOST = 8 };

struct cpu_watched {
  cpu_watch *watch;
  const cpu_kernel *kernel;
  const mw_site *sites;
  size_t site_count;
  bool is_stepped;            /* the code's lanes converge at lines, not at accesses */
  const cpu_command *command; /* set when it is queued, before a worker enters */
  void *states[CPU_WATCHERS_MOST];
  pthread_mutex_t lock; /* guards the list */
  cpu_watching *workers;
};

/* counters.c */
extern const cpu_watcher cpu_counters;
/* accesses.c */
extern const cpu_watcher cpu_accesses;
/* steps.c */
extern const cpu_watcher cpu_steps;

/* mw_driver's members of the same names. */
int cpu_watch_new(void *device, const char *watchers, unsigned *observes, void **watch);
int cpu_watch_result(void *watch, mw_text *out);
void cpu_watch_free(void *watch);

/* For stream.c and worker.c: a launch from its beginning to its end. */
cpu_watched *cpu_watched_new(cpu_watch *watch, const cpu_kernel *kernel);
void cpu_watched_begin(cpu_watched *launch, cpu_command *command); /* with the pool's lock held */
cpu_watching *cpu_watched_enter(cpu_watched *launch, const void *worker);
/* The worker's table of tallies. */
mw_tally *cpu_watched_tallies(const cpu_watching *watching);
/* The worker will run the launch's first block. */
void cpu_watched_first_block(const cpu_watching *watching);
void cpu_watched_end(cpu_command *command);

/* mw_services' members. */
void cpu_watch_call(mw_worker *worker, uint32_t site, uint32_t warp, uint32_t lanes, const uint64_t words[32]);
void cpu_watch_thread(mw_worker *worker, uint32_t site, uint64_t word);
void cpu_watch_runs(mw_worker *worker, uint32_t site, uint32_t warp, uint32_t lanes, const uint64_t *bases,
                    uint64_t stride, uint32_t count);

/* Append a site to a watcher's result as fields with tabs before them: kind, space, bytes, detail, line, column, outer
   line, file, outer file, name, function. Positions are the script's. */
void cpu_watch_add_site(mw_text *out, const cpu_kernel *kernel, const mw_site *site);

#endif
