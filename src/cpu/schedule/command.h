/* Commands, which streams queue: a launch, a copy, a fill or a function of the driver's, divided into blocks that workers
 * take; a host function, as one block; or a mark or a wait, which have no blocks. */
#ifndef MW_CPU_COMMAND_H
#define MW_CPU_COMMAND_H

#include "cpu/cpu.h"

typedef struct cpu_stream cpu_stream;
typedef struct cpu_command cpu_command;

typedef enum cpu_command_kind {
  CPU_KERNEL,
  CPU_COPY,
  CPU_FILL,
  CPU_COPY_BOX,
  CPU_FILL_BOX,
  CPU_FUNCTION, /* of the driver's own, for ranges of blocks */
  CPU_LIST,     /* a sequence of nodes: `doing` is the kind of the current one */
  CPU_CALL,     /* its completion is the function; the stream continues when it has returned */
  CPU_RECORD,   /* from here on without blocks: `mark` is done when the command becomes current */
  CPU_WAIT      /* the stream is blocked until `mark` is done */
} cpu_command_kind;

typedef struct cpu_kernel_work cpu_kernel_work;
struct cpu_kernel_work {
  cpu_kernel *kernel;
  mw_frame frame;
  size_t stack;  /* bytes of a thread's stack: the limit at the launch */
  size_t shared; /* static and dynamic */
  size_t param_bytes;
  const char *site;           /* the launch's source position, "" if unknown */
  uint64_t owner;             /* the launch's */
  mw_block_function *instead; /* a copy or a fill of device code's: runs in the kernel's place */
};

typedef struct cpu_transfer_work {
  unsigned char *target;
  const unsigned char *source;  /* copy */
  const unsigned char *pattern; /* fill */
  size_t size, count;           /* elements; a copy's are bytes */
  size_t piece;                 /* elements of a block; for a box: rows */
  mw_box box;                   /* instead of target, source and count */
  void (*function)(void *context, uint64_t first,
                   uint64_t last); /* instead of all others: for blocks first .. last - 1 */
  void *context;
} cpu_transfer_work;

struct cpu_command {
  cpu_command *next; /* in its stream or in the free list */
  cpu_stream *stream;
  mw_completion completion;
  cpu_command_kind kind;
  atomic_int doing; /* `kind`, or that of a list's current node */
  bool finished;    /* all blocks done and `completion` called */

  /* Guarded by the pool's lock: */
  bool active;              /* in the pool's list of commands with blocks to take */
  bool awaits_draw;         /* it could run, and waits to be drawn (random_streams.c) */
  bool gated;               /* it has or had the pool's gate, which counts the threads that run its blocks */
  bool timed_out, reported; /* stopped by its deadline or an interrupt; and this has been reported */
  bool interrupted;
  double deadline;  /* of a kernel, on mw_time's clock, set when it starts; 0: none */
  uint32_t checked; /* its number in a checked run (check/launch_order.c); 0: none */
  double seconds;   /* the time limit when it started */
  cpu_command *active_next, *active_previous;
  struct cpu_mark *mark; /* CPU_RECORD, CPU_WAIT: a reference */
  int users;             /* the number of threads that run its blocks, unless it is gated */

  uint64_t blocks;        /* the units that the block function counts: blocks, gangs or iterations of blocks */
  uint64_t grain;         /* the least number of blocks to take at once, while so many are left */
  uint64_t unit;          /* ranges of blocks are multiples of this, but for the last: those that the code packs */
  _Atomic uint64_t taken; /* blocks taken so far */
  bool shared_out;        /* each slot has a range of blocks of its own: `ranges` has the rest of each */
  bool by_rows;           /* exactly `grain` blocks are taken at once, while so many are left */
  bool drawn;             /* one slot takes all blocks, which switch at random (residents) */
  bool backwards;         /* blocks run from the last to the first, in pieces of `piece` blocks */
  uint64_t piece;
  _Atomic uint64_t *ranges; /* allocated for all uses of the struct, or NULL */
  atomic_bool stop;         /* the kernel failed: take no more blocks, abandon the running ones */

  /* In a list, those of its current node. Only a thread that has taken all blocks, and so has the command to itself,
     may advance to another node. */
  cpu_kernel_work kernel;
  const struct cpu_list *list;       /* CPU_LIST (command_list.h) */
  size_t node;                       /* the list's current node */
  struct cpu_watched *watched;       /* a watched launch (cpu/watch/watch.h), or NULL */
  struct cpu_family *_Atomic family; /* grids that its kernels launched (children.h), or NULL */
  struct cpu_screen *screen;         /* of a launch that is screened (check/screen.h), or NULL */
  struct cpu_residents *residents;   /* a cooperative launch's blocks (cooperative.h), or NULL */
  cpu_transfer_work transfer;
  unsigned char *params; /* parameters, or a fill's pattern: `capacity` bytes, allocated for all uses of the struct */
  size_t capacity;
  char *site; /* the launch's source position, "" if unknown; likewise */
  size_t site_capacity;
};

static inline cpu_command_kind cpu_command_doing(const cpu_command *command) {
  return (cpu_command_kind)atomic_load_explicit(&command->doing, memory_order_relaxed);
}

/* Blocks that one thread has taken. */
typedef struct cpu_taken {
  uint64_t first, last;
  bool begins, rest; /* they are the first ones taken; some remain */
} cpu_taken;

/* Take blocks for a slot: guided self-scheduling, many blocks at first and one at the end, so that all workers finish
 * at the same time. False if none are left or the command was stopped.
 *
 * By default blocks are taken in order, since a block may wait for earlier ones. If no block can wait for another
 * (block independence), each slot has a range of its own, the same in each launch of that size, so that its data is
 * still in its caches; a slot that has finished its range steals from others. If blocks in adjacent rows of the grid
 * write adjacent cache lines, more of them than the caches hold, slots take whole rows in order instead. In both cases
 * a long launch starts where the previous one ended: of large arrays, that part is in the caches. */
bool cpu_command_take(cpu_command *command, int workers, int slot, cpu_taken *out);

/* Before the first block is taken: choose among these orders, and the grain, so that several very short blocks are
   taken at once. */
void cpu_command_set_grain(cpu_command *command);
/* The initial setting, which remains if a block may wait for another: in order, by any slot. */
void cpu_command_keep_order(cpu_command *command);
/* The number of blocks to take at once, by the time that blocks took in earlier launches. */
uint64_t cpu_kernel_grain(const cpu_kernel *kernel);
/* Whether the remaining blocks are worth waking a thread, by the time of earlier launches. */
bool cpu_command_worth(const cpu_command *command);
/* Whether the remaining blocks will keep all workers busy for longer than it takes to wake them. */
bool cpu_command_lasts(const cpu_command *command);

/* copy.c: run blocks of a copy or fill; the number of its blocks. */
void cpu_transfer_run(const cpu_command *command, uint64_t first, uint64_t last);
uint64_t cpu_transfer_blocks(cpu_command_kind kind, cpu_transfer_work *work);

#endif
