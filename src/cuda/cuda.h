/* The NVIDIA driver: what its files share.
 *
 *   driver.c    the table mw_cuda_driver; opening, limits   nvrtc.c      source to machine code, by NVRTC; mwcc.c, by mwcc
 *   library.c   libcuda and NVRTC, found at run time        options.c    compile options
 *   context.c   the context; losing it, and a new one       describe.c   what a module has: kernels, variables, types
 *   heap.c      device memory and its book                  source_scan.c       names that only the source text has
 *   stream.c    streams, and what is done in them           demangle.c     types out of linkage names
 *   event.c     events, functions, holds                    image.c      compiled files: written, read, checked
 *   transfer.c  copies and fills                            module.c       loaded modules
 *   staging.c   host memory to the device and back          texture.c    CUDA arrays, textures and surfaces
 *   launch.c    launches                                    guard.c      kernels that tell of their failures (table.c:
 *   watchdog.c   kernels that run too long are stopped                    where arrays lie; report.c: what it means)
 *
 * CUDA has no word for "this command is done" that costs nothing. A stream keeps its commands' completions in a queue,
 * records an event among them now and then, and whoever next gives the stream a command, waits for it, or wants memory,
 * calls those that an event has passed.
 *
 * Inside of a function that a stream calls (cuLaunchHostFunc) nothing of CUDA may be called. What is freed there is put
 * aside (cuda_defer) and freed by the next call on another thread. */
#ifndef MW_CUDA_H
#define MW_CUDA_H

#include "core/core.h"
#include "cuda/library.h"

typedef struct cuda_device cuda_device;
typedef struct cuda_stream cuda_stream;
typedef struct cuda_unit cuda_unit;
typedef struct cuda_heap cuda_heap;

enum { CUDA_HOLDS = 1024 };

struct cuda_device {
  /* What every command asks for stands together. */
  CUcontext context;
  unsigned epoch;  /* how often the context was made anew: what belongs to an earlier one is gone */
  atomic_int lost; /* the CUresult that the context was lost with, or 0 */
  atomic_int live_holds, deferred_count;
  int ordinal;
  CUdevice id;
  int major, minor, multiprocessors;
  bool pools;    /* whether allocation goes by streams */
  CUevent order; /* recorded where a command is wanted that does nothing */
  int urgent;    /* the highest priority: such streams share none of the hardware's queues with one that stands still */
  CUstream side; /* for what no stream of the host's is concerned with: allocation, large copies */
  cuda_heap *heap;
  pthread_mutex_t lock; /* for what follows */
  cuda_stream *streams;
  struct cuda_hold *holds;
  struct cuda_deferred *deferred;
  volatile uint32_t *words; /* event.c's: what holds wait for; pinned */
  uint32_t word_values[CUDA_HOLDS];
  bool word_taken[CUDA_HOLDS];
  struct cuda_guard *guard;
  atomic_int guarded; /* commands in flight of units that can tell of failures */
  char *loss;         /* the story of how the context was lost */
  struct cuda_staging *staging;
  _Atomic double limits[MW_LIMIT_HEAP + 1];
};

/* ---- context.c ---- */

/* The first thing that any member of the driver's table does: the context is the thread's, and what was put aside is
   freed. Fails where the context is lost. */
int cuda_enter(cuda_device *device);
/* Whether it has nothing to do: asked for by those that are called very often. */
static inline bool cuda_is_entered(const cuda_device *device) {
  CUcontext now = NULL;
  return atomic_load_explicit(&device->lost, memory_order_acquire) == 0 &&
         atomic_load_explicit(&device->deferred_count, memory_order_relaxed) == 0 && cu.cuCtxGetCurrent(&now) == 0 &&
         now == device->context;
}
/* The same for giving back: false where there is nothing to be given back to, or nothing may be called. */
bool cuda_enter_quietly(cuda_device *device);
int cuda_context_open(cuda_device *device);
void cuda_context_close(cuda_device *device);
int cuda_reset(void *device);
/* The driver call `what` ended with `result`: as cuda_check, and where that has lost the context, all commands count as
   done and the failure tells which kernels may have caused it. */
int cuda_outcome(cuda_device *device, CUresult result, const char *what);
/* Free later: by function(device, handle). Only where cuda_in_function. */
bool cuda_in_function(void);
void cuda_set_in_function(bool inside);
void cuda_defer(cuda_device *device, void (*function)(cuda_device *device, uint64_t handle), uint64_t handle);

/* ---- heap.c: mw_driver's members, and the book ---- */

cuda_heap *cuda_heap_open(void);
void cuda_heap_close(cuda_heap *heap);
void cuda_heap_forget(cuda_heap *heap); /* all: the context is gone */
int cuda_alloc(void *device, mw_memory_kind kind, size_t bytes, uint64_t *address);
void cuda_free(void *device, uint64_t address);
bool cuda_find(void *device, uint64_t address, uint64_t *base, size_t *bytes);
void *cuda_host(void *device, uint64_t address);
int cuda_memory(void *device, mw_memory *out);
/* Whether so much more stays within the limit "memory". */
int cuda_heap_check(cuda_device *device, size_t bytes);
/* CUDA arrays have no address, and are only counted: with -bytes when they go. */
void cuda_heap_count(cuda_device *device, size_t bytes);
/* Variables of modules are in the book, too. */
void cuda_heap_add(cuda_device *device, uint64_t address, size_t bytes);
void cuda_heap_remove(cuda_device *device, uint64_t address);
/* Memory that is another's, for kernels with checks alone. */
void cuda_heap_lend(cuda_device *device, uint64_t address, size_t bytes);
/* All that lies in any device's book, and a number that another state of them has not. */
typedef struct cuda_extent {
  uint64_t address, bytes;
} cuda_extent;
uint64_t cuda_heaps_changes(void);
cuda_extent *cuda_heaps_list(size_t *count);   /* by address; yours */
cuda_extent cuda_heaps_find(uint64_t address); /* without bytes where there is none */
/* In words where the address lies, as the error of an access there tells it. */
void cuda_heaps_describe(uint64_t address, char *out, size_t size);

/* ---- stream.c ---- */

#define CUDA_SITE 96

/* A command whose completion is still to be called; or the same launch again and again. */
typedef struct cuda_pending {
  mw_completion completion;
  unsigned times;
  const mw_kernel_info *kernel; /* NULL: no launch */
  cuda_unit *unit;
  bool interrupted;    /* the host ended it */
  unsigned number;     /* by which the host knows the launch, or 0: guard.c */
  const char *site_at; /* where the text below was given: not to be read */
  char site[CUDA_SITE];
} cuda_pending;

#define CUDA_MARKS 8

struct cuda_stream {
  cuda_device *device;
  CUstream handle;
  unsigned flags, epoch;
  pthread_mutex_t lock;
  /* Commands are counted: queue[i % capacity] for first <= i < end. */
  cuda_pending *queue;
  size_t capacity; /* a power of 2 */
  uint64_t first, end;
  uint64_t marked;   /* the last mark's upto */
  unsigned unmarked; /* commands since then */
  int mark_count;
  struct {
    CUevent event;
    uint64_t upto;
  } marks[CUDA_MARKS]; /* events that were recorded behind command upto - 1; used ones first */
  cuda_stream *next;   /* in the device's list */
  int priority;
  struct cuda_waits *waits; /* event.c's: holds that it stands behind */
  mw_error *failure;        /* of a kernel's, the first that nobody was told of yet */
  /* guard.c's: the command that is to end, and since when; 0: none. watchdog.c's: the launch that runs, and since when. */
  uint64_t ending;
  double ending_since;
  unsigned watched;
  double watched_since;
};

int cuda_stream_new(void *device, unsigned flags, int priority, void **stream);
void cuda_stream_free(void *stream);
int cuda_stream_synchronize(void *stream);
int cuda_stream_query(void *stream);
/* The stream's handle, made anew where the context was. */
int cuda_stream_enter(cuda_stream *stream);
/* A command was queued: its completion is called when it is done. */
void cuda_stream_queued(cuda_stream *stream, const mw_completion *completion, const mw_kernel_info *kernel,
                        cuda_unit *unit, const char *site);
/* The same of a launch with a number (guard.c). */
void cuda_stream_queued_numbered(cuda_stream *stream, const mw_completion *completion, const mw_kernel_info *kernel,
                                 cuda_unit *unit, const char *site, unsigned number);
/* Wait until what is queued in the stream is done. */
CUresult cuda_stream_wait_done(cuda_stream *stream);
/* A launch ended with a fault at once: where CUDA waits for each launch, it is the one that failed. */
void cuda_stream_blames(cuda_stream *stream, const mw_kernel_info *kernel, const char *site);
/* All commands that are known to be done, of all streams; what holds memory lets go of it. */
void cuda_streams_poll(cuda_device *device);
/* The context is lost: they all count as done. The kernels among them are told of in `story`. */
void cuda_streams_abandon(cuda_device *device, mw_text *story, const mw_kernel_info **one);

/* ---- event.c ---- */

int cuda_event_new(void *device, unsigned flags, void **event);
void cuda_event_free(void *event);
int cuda_event_record(void *event, void *stream);
int cuda_event_query(void *event);
int cuda_event_synchronize(void *event);
int cuda_event_elapsed(void *start, void *end, double *milliseconds);
int cuda_stream_wait(void *stream, void *event);
int cuda_stream_call(void *stream, mw_completion function);
int cuda_hold_new(void *stream, void **hold);
bool cuda_hold_reached(void *hold);
void cuda_hold_free(void *hold);
/* MW_NOT_READY, with the error slot filled, where the stream stands behind a hold. */
int cuda_stream_held(cuda_stream *stream);
/* What is queued in the stream now comes behind the holds that the default stream's rule says. */
void cuda_stream_inherit_holds(cuda_stream *stream);
void cuda_stream_forget_holds(cuda_stream *stream);

/* ---- transfer.c, staging.c ---- */

int cuda_copy(void *stream, uint64_t target, uint64_t source, size_t bytes, mw_completion completion);
int cuda_fill(void *stream, uint64_t target, const void *pattern, size_t size, size_t count, mw_completion completion);
int cuda_copy_box(void *stream, const mw_box *box, mw_completion completion);
int cuda_copy_between(void *stream, void *to, void *from, const mw_box *box, mw_completion completion);
int cuda_fill_box(void *stream, const mw_box *box, const void *pattern, size_t size, mw_completion completion);
int cuda_write(void *stream, uint64_t target, const void *source, size_t bytes);
int cuda_read(void *stream, uint64_t source, void *target, size_t bytes);
struct cuda_staging *cuda_staging_open(void);
void cuda_staging_forget(struct cuda_staging *staging); /* the context is gone */
void cuda_staging_close(struct cuda_staging *staging);
/* Large copies through pinned memory, between the host's memory and the device's; no stream is waited for. */
int cuda_stage(cuda_device *device, uint64_t address, void *host, size_t bytes, bool to_device);

/* ---- launch.c ---- */

int cuda_launch(void *stream, const mw_launch_request *request);

/* ---- guard.c: kernels that tell of their failures (device/moonwarp/guard.h), so that the GPU is not lost ---- */

struct mw_guard_report;
void cuda_guard_open(cuda_device *device);
void cuda_guard_close(cuda_device *device);  /* before the context goes */
void cuda_guard_forget(cuda_device *device); /* the context is gone */
/* Let a unit that was loaded know whom to tell. */
int cuda_guard_unit(cuda_device *device, cuda_unit *unit);
/* Before a launch of a unit whose kernels take a number: which one. */
int cuda_guard_number(cuda_device *device, cuda_unit *unit, unsigned *number);
/* What kernels told since the last time becomes their streams' failures. */
void cuda_guard_take(cuda_device *device);
/* Whether a kernel was to end long ago and has not. */
bool cuda_guard_gives_up(cuda_device *device);
/* Whether launch `number` has begun; and have it end: under the lock of the stream that it is in. */
bool cuda_guard_has_begun(cuda_device *device, unsigned number);
void cuda_guard_stop(cuda_device *device, unsigned number);

/* report.c: the failure that a report is about. site: where it was launched, or "". Yours: mw_error_free. */
mw_error *cuda_guard_report(cuda_device *device, const struct mw_guard_report *report, const mw_kernel_info *kernel,
                            cuda_unit *unit, const char *site, bool interrupted);

/* watchdog.c: a thread of the device's, from when a limit of time is set. */
int cuda_monitor_start(cuda_device *device);
void cuda_monitor_wake(cuda_device *device); /* there is something in flight again */
/* Whether a kernel runs, or ran last in its stream, that can be stopped. */
bool cuda_monitor_sees(cuda_device *device);
void cuda_monitor_close(cuda_device *device);
void cuda_interrupt(void *device);

/* ---- compiling: nvrtc.c, options.c, describe.c ---- */

int cuda_target(void *device, mw_text *out);
int cuda_compile(void *device, const mw_source *source, const char *const *instances, size_t instance_count,
                 const char *path);
bool cuda_usable(void *device, const char *path);

/* A list of strings, each its own, ended by NULL. */
typedef struct cuda_list {
  char **items;
  size_t count;
} cuda_list;
void cuda_list_add(cuda_list *list, char *text); /* takes the text over */
void cuda_list_free(cuda_list *list);
/* The source's options, each in one spelling, but for the architecture: its number, or 0. MW_INVALID_VALUE names one that
   there is not. */
int cuda_options_read(const cuda_device *device, const mw_source *source, cuda_list *out, int *arch);
/* As NVRTC wants them. */
int cuda_options(const cuda_device *device, const mw_source *source, cuda_list *out);

/* ---- module.c ---- */

typedef struct cuda_symbol {
  mw_symbol_info info;
  uint64_t bound; /* of a reference: the handle that was written last */
} cuda_symbol;

typedef struct cuda_kernel {
  cuda_unit *unit;
  CUfunction function;
  size_t dynamic; /* shared memory that it was allowed */
  mw_kernel_info info;
  size_t *found, found_count; /* parameters of which a launch says what they lead to: guard.c */
  size_t *reference_symbols;  /* each of info.references: its place among the unit's symbols */
} cuda_kernel;

struct cuda_unit {
  cuda_device *device;
  unsigned epoch;
  bool shares;
  bool guarded;             /* its kernels tell of failures */
  bool numbered;            /* and take a launch's number; they can be stopped */
  bool checked;             /* and check their accesses */
  unsigned guard_id;        /* by which their reports name it */
  CUdeviceptr guard, table; /* its variable __mw_guard, and what that says of where the table is */
  CUmodule module;
  cuda_unit *parent;
  cuda_kernel *kernels;
  size_t kernel_count;
  cuda_symbol *symbols;
  size_t symbol_count;
  size_t *shared_with;  /* for each symbol: 1 + its place among the parent's, or 0 */
  pthread_mutex_t lock; /* for what is bound */
};

int cuda_load_unit(void *device, const char *path, void *parent, const mw_source *origin, void **unit);
void cuda_unload(void *unit);
bool cuda_unit_kernel(void *unit, size_t i, const mw_kernel_info **info, void **kernel);
bool cuda_unit_symbol(void *unit, size_t i, mw_symbol_info *info);
/* The name of a file in messages, and the line there: as people know them. */
const char *cuda_unit_place(const cuda_unit *unit, const char *file, int *line);
const char *cuda_unit_log(void *unit);
bool cuda_unit_source(void *unit, const char **text, const char **options);

/* ---- texture.c ---- */

int cuda_array_make(void *device, const mw_cuda_array_desc *desc, uint64_t *handle);
void cuda_array_end(void *device, uint64_t handle);
int cuda_array_copy(void *stream, const mw_array_box *box, mw_completion completion);
int cuda_texture_make(void *device, const struct mw_tex_record *record, uint64_t array, int level, uint64_t *handle);
int cuda_surface_make(void *device, uint64_t array, int level, uint64_t *handle);
void cuda_texture_end(void *device, uint64_t handle);
/* Handles of arrays that CUDA made for others. */
uint64_t cuda_array_lent(CUarray array, const mw_cuda_array_desc *desc);
uint64_t cuda_mipmap_lent(CUmipmappedArray array, const mw_cuda_array_desc *desc);
void cuda_array_lent_end(void *device, uint64_t handle);
void cuda_surface_end(void *device, uint64_t handle);

extern const mw_driver_graphics cuda_graphics; /* graphics.c */

#endif
