/* What a stream queues: a launch, a copy or a fill, cut into blocks that workers take in increasing order; a function of
 * the host's, as one block; or a place to mark or to wait at, which has none. */
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
  CPU_LIST,   /* nodes, one behind the other: what it does now is `doing` */
  CPU_CALL,   /* its completion is the function; the stream goes on when it has returned */
  CPU_RECORD, /* from here on without blocks: `mark` is done when its turn comes */
  CPU_WAIT    /* the stream stands still until `mark` is done */
} cpu_command_kind;

typedef struct cpu_kernel_work {
  cpu_kernel *kernel;
  mw_frame frame;
  size_t stack;  /* bytes a thread has: the limit when it was launched */
  size_t shared; /* static and dynamic */
  size_t param_bytes;
  const char *site; /* where it was launched, "" where unknown */
} cpu_kernel_work;

typedef struct cpu_transfer_work {
  unsigned char *target;
  const unsigned char *source;  /* copy */
  const unsigned char *pattern; /* fill */
  size_t size, count;           /* elements; a copy's are bytes */
  size_t piece;                 /* elements a block; of a box rows */
  mw_box box;                   /* instead of target, source and count */
} cpu_transfer_work;

struct cpu_command {
  cpu_command *next; /* in its stream or among the unused */
  cpu_stream *stream;
  mw_completion completion;
  cpu_command_kind kind;
  atomic_int doing; /* `kind`, or that of a list's current node */
  bool finished;    /* all blocks done and `completion` called */

  /* Guarded by the pool's lock: */
  bool active;              /* in the pool's list of commands with blocks to take */
  bool gated;               /* it has or had the pool's gate, which counts who runs blocks of it */
  bool timed_out, reported; /* stopped for its deadline, or an interrupt; and the error says so */
  bool interrupted;
  double deadline; /* of a kernel, on mw_time's clock, set when it starts; 0: none */
  double seconds;  /* the time limit when it started */
  cpu_command *active_next, *active_previous;
  struct cpu_mark *mark; /* CPU_RECORD, CPU_WAIT: a reference */
  int users;             /* threads that run blocks of it, unless it is gated */

  uint64_t blocks;        /* or gangs of them, or rounds: what the block function counts */
  uint64_t grain;         /* fewest blocks to take at once, as long as there are so many */
  _Atomic uint64_t taken; /* blocks handed out so far */
  bool shared_out;        /* each slot has blocks of its own, what is left of them in `ranges` */
  bool by_rows;           /* so many as `grain` are taken at once, as long as there are so many */
  bool backwards;         /* from the last to the first, a piece of so many blocks after the other */
  uint64_t piece;
  _Atomic uint64_t *ranges; /* kept from use to use, or NULL */
  atomic_bool stop;         /* a kernel that failed: take no more, leave what runs */

  /* A list's are those of its current node. Only a thread that has the command to itself, all blocks taken by it, goes on
     to another. */
  cpu_kernel_work kernel;
  const struct cpu_list *list;     /* CPU_LIST (command_list.h) */
  size_t node;                     /* of it, the current one */
  struct cpu_residents *residents; /* a cooperative launch's blocks (cooperative.h), or NULL */
  cpu_transfer_work transfer;
  unsigned char *params; /* parameters, or a fill's pattern: `capacity` bytes, kept from use to use */
  size_t capacity;
  char *site; /* where it was launched, "" where unknown; likewise */
  size_t site_capacity;
};

static inline cpu_command_kind cpu_command_doing(const cpu_command *command) {
  return (cpu_command_kind)atomic_load_explicit(&command->doing, memory_order_relaxed);
}

/* Blocks for one thread. */
typedef struct cpu_taken {
  uint64_t first, last;
  bool begins, rest; /* nobody had taken any; some remain */
} cpu_taken;

/* Take blocks for a slot: many at first, one at the end, so that all workers finish together. False when none are left or
   the command was stopped.
 *
 * As a rule they are the next ones, since a block may wait for those before it. Where no block can wait for another, each slot
 * has as many of its own, those that it had in the last launch of that size, so that it finds in its caches what it left
 * there; when they are done it takes of others'. Where blocks of one row of the grid and of the next write lines that lie
 * beside each other, more of them than the caches hold, slots take one row after the other instead. And either way a launch
 * that lasts a while begins where the one before it ended: with large arrays that is what is in the caches. */
bool cpu_command_take(cpu_command *command, int workers, int slot, cpu_taken *out);

/* Before the first is taken: which way they are taken, and that those so short that taking them costs as much are taken
   several at once. */
void cpu_command_set_grain(cpu_command *command);
/* Until then, and for good where a block may wait for another: from the first to the last, by whoever asks. */
void cpu_command_keep_order(cpu_command *command);
/* As many of its blocks as are taken at once, by what earlier launches took. */
uint64_t cpu_kernel_grain(const cpu_kernel *kernel);
/* Whether what is left to take is worth waking a thread for, as far as earlier launches of the kernel tell. */
bool cpu_command_worth(const cpu_command *command);
/* Whether what is left will keep all workers busy for longer than it takes to wake them. */
bool cpu_command_lasts(const cpu_command *command);

/* copy.c: run blocks of a copy or fill, and how many blocks there are. */
void cpu_transfer_run(const cpu_command *command, uint64_t first, uint64_t last);
uint64_t cpu_transfer_blocks(cpu_command_kind kind, cpu_transfer_work *work);

#endif
