/* The session of a checked run: what its files share. check.h is the rest of the driver's view. */
#ifndef MW_CPU_CHECK_SESSION_H
#define MW_CPU_CHECK_SESSION_H

#include "check.h"
#include "core/launch/stream_clocks.h"

/* A place in the code of a kernel. Places are numbered from 1. */
typedef struct check_site {
  uintptr_t pc;
  const cpu_unit *unit;
  const char *kernel, *file; /* owned */
  int line;
} check_site;

/* One side of a finding. */
typedef struct check_end {
  uint32_t site, thread, block, launch;
  const char *access; /* "read", "write", … or NULL */
} check_end;

typedef struct check_sites {
  check_site *items;
  uint32_t count, capacity;
  uint32_t *slots; /* hash of code addresses -> number */
  uint32_t slot_count;
} check_sites;

typedef struct check_launch {
  mw_ordered_command order;
  uint32_t grid[3], block[3], cluster[3];
  bool stopped; /* by a failure: incomplete work is not a finding */
} check_launch;

typedef struct check_range {
  uint64_t base, bytes;
  uint32_t site, thread, block, launch; /* of malloc */
  bool live, quarantined, is_array;
} check_range;

typedef struct shadow shadow;
typedef struct views views;

struct cpu_check {
  cpu_device *device;
  unsigned kinds;         /* bits of mw_check_kind */
  uint64_t seed;          /* 0: threads and blocks run in order */
  uint64_t command_state; /* random state for drawing commands of streams; 0: none yet */
  pthread_mutex_t lock;
  check_sites sites;
  mw_finding *findings;
  struct finding_key *keys;
  size_t finding_count, finding_capacity;
  /* launch_order.c, guarded by order_lock: */
  pthread_mutex_t order_lock;
  check_launch **launches; /* by number; [0] is unused */
  uint32_t launch_count, launch_capacity;
  mw_stream_clocks clocks;
  mw_text left_out; /* lines of what was not checked */
  /* initialised.c: the shadow of the device's range; NULL: there was no room */
  uint8_t *values;
  uint64_t values_base, values_size;
  /* race.c */
  shadow *global;
  /* clock.c: what was published at words of global memory */
  views *published;
  /* lifetime.c */
  check_range *ranges;
  size_t range_count, range_capacity, range_latest;
  atomic_uint_fast64_t frees; /* of arrays and of malloc's blocks: cached ranges may be stale */
};

static inline bool check_wants(const cpu_check *check, mw_check_kind kind) { return check->kinds & (unsigned)kind; }

/* The number of the place of the worker's latest service call. */
uint32_t check_site_here(cpu_worker *worker);
uint32_t check_site_of(cpu_worker *worker, uintptr_t pc);
uint32_t check_site_at_pc(cpu_worker *worker, uintptr_t pc); /* the same on a thread's own stack */
/* The place some lines after or before another one. */
uint32_t check_site_beside(cpu_check *check, uint32_t site, int lines);
static inline const check_site *check_site_at(const cpu_check *check, uint32_t site) {
  return site ? &check->sites.items[site - 1] : NULL;
}

/* Count a finding of these lines; the first of its kind is filled in by the caller: *fresh, or NULL for a further one.
   other: NULL if there is one end only. `name` (may be NULL) separates findings at the same line. */
typedef struct check_fact {
  const char *kind;
  check_end here;
  const check_end *other;
  const char *array; /* or NULL */
  bool has_index;
  int64_t index;
  const char *scope, *hint; /* or NULL */
  const char *text;         /* of the message; NULL for a race, whose message is composed */
} check_fact;
void check_found(cpu_check *check, const check_fact *fact);

/* launch_order.c */
void check_order_open(cpu_check *check);
void check_order_close(cpu_check *check);
bool check_launch_before(cpu_check *check, uint32_t first, uint32_t second);
check_launch *check_launch_at(cpu_check *check, uint32_t launch);

/* lifetime.c */
void check_lifetime_end(cpu_check *check); /* leaks; frees what was kept */

/* ---- clock.c ---- */

/* A thread's time: the number of barriers that its block has passed, and that of its own releases since. */
typedef uint64_t check_time;
static inline check_time check_time_of(uint32_t epoch, uint32_t step) { return (check_time)epoch << 32 | step; }
static inline uint32_t check_epoch(check_time time) { return (uint32_t)(time >> 32); }

typedef struct view view;

/* Each thread has an agent that makes its asynchronous copies and whose time counts groups of copies. Other threads
   know of a copy once they know that the thread has waited for it. */
enum { AGENTS = 1024 }; /* the number of the first thread's agent */
static inline check_time check_time_of_group(uint32_t group) { return check_time_of(0x7fffffff, group); }

typedef struct checked_thread {
  uint32_t step;
  uint32_t groups; /* of asynchronous copies: committed ones */
  bool copies;     /* is within an asynchronous copy */
  bool absent;     /* its latest shuffle read a lane that takes no part */
  uint8_t order;   /* of its next atomic access: MW_CHECK_ATOMIC's value */
  bool has_fenced;
  check_time fenced[2]; /* at the last fence for the device, for the block; valid if has_fenced */
  bool fenced_for[2];
  view *known; /* of other threads in this epoch, and of other blocks; or NULL */
  view *seen;  /* read by relaxed atomics, and known after a fence; or NULL */
} checked_thread;

/* A load of unwritten memory, and its array if that is known. */
typedef struct check_unwritten_read {
  uint32_t thread, site;
  const char *array; /* or NULL */
  bool has_index;
  int64_t index;
} check_unwritten_read;
enum { CHECK_UNWRITTEN_READS = 32 };

/* A bulk copy that a barrier counts, in the phase that it had then: known to threads that wait for the barrier when
   that phase has ended. */
typedef struct check_counted {
  uint64_t barrier;
  uint32_t thread, group, phase;
  bool shared;
} check_counted;
enum { CHECK_COUNTED = 64 };

/* The worker's current block. */
struct cpu_checked {
  cpu_check *check;
  uint32_t launch, block, grids, clusters; /* grids, clusters: barriers of these that it has passed */
  uint32_t epoch, count;
  bool has_views;
  view *known; /* of other blocks, by all its threads */
  checked_thread threads[CPU_MAX_THREADS];
  shadow *shared;
  views *published; /* at words of shared memory */
  struct {
    uintptr_t pc;
    uint32_t site;
  } sites[64];                                           /* the latest, by code address */
  check_unwritten_read unwritten[CHECK_UNWRITTEN_READS]; /* the latest, and the number of all */
  uint32_t unwritten_count;
  check_counted counted[CHECK_COUNTED]; /* of phases that had not ended */
  uint32_t counted_count;
  uint64_t spinning_at; /* the latest word of an atomic access, by which thread, and how often in succession */
  uint32_t spinning, spins;
  unsigned accesses; /* since the last pause */
};

cpu_checked *checked_of(const cpu_worker *worker);
uint32_t checked_thread_of(const cpu_worker *worker);
/* The thread's copies so far are counted by the barrier. */
void checked_count(cpu_worker *worker, uint32_t thread, uint64_t barrier);
/* Whether the current thread knows what this thread did up to `time`. */
bool checked_knows(const cpu_checked *self, uint32_t thread, uint32_t launch, uint32_t block, uint32_t other,
                   check_time time);
/* The current thread reads or writes a word by which threads synchronise. */
void checked_acquire(cpu_checked *self, uint32_t thread, uint64_t address, bool shared, bool is_relaxed);
void checked_release(cpu_checked *self, uint32_t thread, uint64_t address, bool shared, uint32_t flags);
views *views_new(void);
void views_free(views *all);

/* lifetime.c: the latest range that contains the address, or NULL */
check_range *check_range_of(cpu_check *check, uint64_t address);

/* initialised.c */
void check_values_open(cpu_check *check);
void check_values_close(cpu_check *check);
void check_set_unwritten(cpu_check *check, uint64_t address, uint64_t bytes);
void check_wrote(cpu_check *check, uint64_t address, uint64_t bytes);
void check_wrote_all(cpu_check *check); /* all arrays: by code whose writes are not seen */
void check_copied(cpu_check *check, uint64_t to, uint64_t from, uint64_t bytes);
void check_unwritten(cpu_worker *worker, uint64_t value); /* MW_CHECK_UNWRITTEN */
/* An event in code that does not follow threads. */
void check_unfollowed(cpu_worker *worker, mw_check_event event, uint64_t value);
/* The shadow of the memory, or NULL. */
unsigned char *check_values_at(const cpu_check *check, uint64_t address, uint64_t bytes);
/* From an address to its shadow's. */
uint64_t check_shadow_distance(const cpu_check *check);
/* Where an access to a shadow faulted: the address whose shadow it is. */
void check_show_address(const cpu_worker *worker, uint64_t *address);

/* race.c */
/* Whether the address is in shared memory of the block's own. That of a cluster's blocks is common to them. */
bool check_is_own(const cpu_worker *worker, uint64_t address);
shadow *shadow_new(void);
void shadow_clear(shadow *s);
void shadow_free(shadow *s);
/* The memory is no longer what it was: forget its accesses. */
void shadow_forget(shadow *s, uint64_t address, uint64_t bytes);

#endif
