/* Launches from kernels: the grids below a host's launch. (CUDA guide, "CUDA Dynamic Parallelism")
 *
 * A grid that device code launches is queued, and starts once the blocks that run now have ended: CUDA promises no
 * concurrency between a grid and its parent. So a host's launch runs in generations. The first consists of its own
 * blocks, each further one of the blocks of all grids that could start when the last one had ended; workers share out a
 * generation as they do a launch. The command is finished, and its stream continues, when no grid is left. Two cases do
 * not wait for the next generation: a grid of one block runs right after the one before it in its stream; and a block
 * that synchronises, or has queued very many grids, runs grids in another worker's stacks before it continues.
 *
 * A grid is finished when its blocks, its children and then its tail launches are. `pending` counts what is left.
 *
 * Lists of grids that can start, and of free cells, are in a pile, which one thread uses at a time; piles are handed to
 * the family when a thread leaves the command. A stream's queue and an event have a lock of their own. All memory is
 * the family's and is freed with it, so that a failed launch can be dropped in any state. */
#ifndef MW_CPU_CHILDREN_H
#define MW_CPU_CHILDREN_H

#include "cpu/execution/worker.h"
#include "cpu/schedule/pool.h"
#include "cpu/schedule/stream.h"

typedef struct cpu_grid cpu_grid;
typedef struct cpu_queue cpu_queue;
typedef struct cpu_scope cpu_scope;
typedef struct cpu_event cpu_event;

typedef struct cpu_spin {
  atomic_flag taken;
} cpu_spin;

static inline void cpu_spin_take(cpu_spin *spin) {
  while (atomic_flag_test_and_set_explicit(&spin->taken, memory_order_acquire)) cpu_relax();
}

static inline void cpu_spin_give(cpu_spin *spin) { atomic_flag_clear_explicit(&spin->taken, memory_order_release); }

/* A stream of device code: the first grid runs or can start, the others wait for it. */
struct cpu_queue {
  cpu_spin lock;
  cpu_grid *first, *last;
  bool destroyed; /* to be freed when it is empty */
};

struct cpu_event {
  cpu_spin lock;
  atomic_uint users;         /* its handle, and records and waits in streams */
  uint64_t issued, finished; /* records so far; the number of the last finished one */
  cpu_grid *waiting;
};

/* A block's launches. */
struct cpu_scope {
  const cpu_grid *grid;
  uint64_t block;
  atomic_uint users;      /* unfinished grids, and the worker while it runs the block */
  atomic_uint unfinished; /* grids that cudaDeviceSynchronize waits for */
  cpu_queue null;         /* its NULL stream */
  struct cpu_thread_error {
    uint32_t thread;
    int code;
  } errors[16]; /* of threads whose last error was not read; the last of them has room for the latest */
  unsigned error_count;
};

typedef enum cpu_grid_kind { CPU_GRID_WORK, CPU_GRID_RECORD, CPU_GRID_WAIT } cpu_grid_kind;

/* A grid; or a copy, a fill, a record or a wait in a stream. */
struct cpu_grid {
  _Alignas(16) cpu_grid *next;      /* in a pile, or among the waits for an event */
  cpu_grid *follower;               /* the next one in its stream, or of its parent's tail launches */
  cpu_grid *parent;                 /* NULL: the host's launch */
  cpu_scope *scope;                 /* of the block that launched it; NULL: a tail launch */
  cpu_queue *queue;                 /* its stream; NULL: it waits for none */
  cpu_grid *tail_first, *tail_last; /* its tail launches, not started yet; guarded by the family's lock */
  atomic_uint pending;              /* itself and its unfinished children */
  cpu_grid_kind kind;
  bool is_large;         /* allocated by itself, in the family's list of such grids */
  uint64_t blocks;       /* as cpu_command.blocks */
  _Atomic uint64_t left; /* of these, not run yet */
  cpu_kernel_work work;
  cpu_event *event; /* a record's or a wait's, with the record's number */
  uint64_t number;
  cpu_grid *large_next, *large_previous;
};

/* Its parameters, or a copy's or a fill's arguments, follow it in memory. */
static inline unsigned char *cpu_grid_params(cpu_grid *grid) { return (unsigned char *)(grid + 1); }

/* A grid of the generation, which may be finished and freed before the generation is. */
typedef struct cpu_member {
  cpu_grid *grid;
  uint64_t first, last; /* its blocks, counted through the generation */
} cpu_member;

struct cpu_family {
  cpu_grid root; /* the host's launch */
  bool started;  /* its own blocks have ended */
  bool running;  /* a generation of children */
  cpu_member *generation;
  size_t count, capacity;
  atomic_uint waiting;  /* grids that were queued and have not started */
  pthread_mutex_t lock; /* guards what follows */
  cpu_pile rest;        /* what threads left behind */
  struct cpu_chunk *chunks;
  cpu_grid *large;
  struct cpu_object *objects; /* handles */
  size_t object_count, object_capacity, object_free;
};

/* ---- generations (generation.c) ---- */

/* The command's family, made when a kernel first needs it. */
struct cpu_family *cpu_family_of(cpu_command *command);
/* With the pool's lock, when no thread runs the command: prepare its next generation. False: all grids are finished. */
bool cpu_family_next(cpu_command *command);
void cpu_family_free(cpu_command *command);
/* Run blocks of the current generation. False: a kernel failed, and worker->fault says why. */
bool cpu_family_run(cpu_worker *worker, cpu_command *command, uint64_t first, uint64_t last);
/* A thread stops running blocks of the command: hand its pile to the family. */
void cpu_family_leave(cpu_worker *worker, const cpu_command *command);
/* Run blocks of a grid, and then what follows it in its stream if that is short. */
bool cpu_grid_run(cpu_worker *worker, cpu_command *command, cpu_grid *grid, uint64_t first, uint64_t last);

/* ---- grids (grid.c) ---- */

/* Memory for a grid with this many bytes of parameters, cleared except for these; NULL: out of memory. */
cpu_grid *cpu_grid_new(struct cpu_family *family, cpu_pile *pile, size_t param_bytes);
/* Memory for anything small, cleared; and back. */
void *cpu_cell_new(struct cpu_family *family, cpu_pile *pile);
void cpu_cell_free(cpu_pile *pile, void *memory);
void cpu_cells_free(struct cpu_family *family);
/* Hand over the free cells. */
void cpu_pile_join(cpu_pile *to, const cpu_pile *from);
/* One of those that keep the scope has ended. */
void cpu_scope_drop(cpu_pile *pile, cpu_scope *scope);
/* Queue a grid after others of its stream; NULL: it can start at once. */
void cpu_grid_queue(cpu_pile *pile, cpu_grid *grid, cpu_queue *queue);
void cpu_grid_ready(cpu_pile *pile, cpu_grid *grid);
/* One of those that the grid waits for, itself or a child, has ended. If that finishes grids, others become ready; one
   that follows the given grid in its stream is returned instead. */
cpu_grid *cpu_grid_settle(struct cpu_family *family, cpu_pile *pile, cpu_grid *grid);

/* ---- handles (device_objects.c) ---- */

/* A new stream's or event's handle, 0: no memory; what a handle stands for, or NULL; and its end. */
uint64_t cpu_queue_open(struct cpu_family *family, cpu_pile *pile);
cpu_queue *cpu_queue_find(struct cpu_family *family, uint64_t handle);
bool cpu_queue_close(struct cpu_family *family, cpu_pile *pile, uint64_t handle);
uint64_t cpu_event_open(struct cpu_family *family, cpu_pile *pile);
cpu_event *cpu_event_find(struct cpu_family *family, uint64_t handle);
bool cpu_event_close(struct cpu_family *family, cpu_pile *pile, uint64_t handle);
/* One of the event's users has ended. */
void cpu_event_drop(cpu_pile *pile, cpu_event *event);

/* device_runtime.c: mw_services.device_runtime */
uint32_t cpu_device_runtime(mw_worker *worker, uint32_t call, mw_device_request *request, uint32_t thread);

#endif
