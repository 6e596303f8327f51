/* The NVIDIA driver: declarations that its files share.
 *
 *   driver.c      the table mw_cuda_driver; opening, limits
 *   library.c     libcuda and NVRTC, found at run time
 *   context.c     the context; losing and recreating it
 *   heap.c        device memory and its records
 *   stream.c      streams, and completions of commands
 *   event.c       events, host functions, holds
 *   transfer.c    copies and fills
 *   staging.c     large copies through pinned memory
 *   launch.c      launches
 *   module.c      loaded modules
 *   texture.c     CUDA arrays, textures and surfaces
 *   graphics.c    OpenGL interoperability
 *   log.c         NVRTC's messages in clang's format
 *   scratch.c     memory of commands of libraries
 *   graph/        conditional nodes of graphs, as graphs of CUDA's
 *   linear/       products by cuBLAS (cublas.c), factorisations by cuSOLVER (cusolver.c)
 *   fourier/      transforms by cuFFT
 *   nccl/         messages between GPUs by NCCL
 *   check/        checked runs
 *   measure/      measured runs
 *   guard/        kernels that report failures (failure_reports.c), bounds of arrays for checks (array_table.c),
 *                 messages (failure_message.c), stopping kernels that run too long (watchdog.c)
 *   compile/      source to machine code, by NVRTC (nvrtc.c) or mwcc (mwcc.c); options.c; finding kernels, variables and
 *                 types of a module (describe.c, source_scan.c, demangle.c, module_metadata.c); compiled files (image.c)
 *
 * CUDA has no cheap notification that a command is done. So a stream has a queue of its commands' completions, and
 * records an event in the queue from time to time. The next call that queues a command, waits for the stream, or
 * allocates memory calls the completions before the events that have passed.
 *
 * No CUDA function may be called inside a host function that a stream calls (cuLaunchHostFunc). Objects that are freed
 * there are put aside (cuda_end), and the next call on another thread frees them. So is what waits for the device, while
 * a stream waits for a function that the thread has to run. */
#ifndef MW_CUDA_H
#define MW_CUDA_H

#include "core/core.h"
#include "cuda/library.h"

typedef struct cuda_device cuda_device;
typedef struct cuda_stream cuda_stream;
typedef struct cuda_unit cuda_unit;
typedef struct cuda_kernel cuda_kernel;
typedef struct cuda_heap cuda_heap;

enum { CUDA_HOLDS = 1024 };

struct cuda_device {
  /* Fields that every command reads, together. */
  CUcontext context;
  unsigned epoch;  /* the number of times that the context was recreated: objects of earlier ones are lost */
  atomic_int lost; /* the CUresult with which the context was lost, or 0 */
  atomic_int live_holds, deferred_count;
  int ordinal;
  CUdevice id;
  int major, minor, multiprocessors;
  bool pools;         /* whether allocation is stream-ordered */
  size_t cached_most; /* the bytes that heap.c's free lists keep at most */
  CUevent order;      /* recorded as a command that does nothing */
  int urgent;         /* the highest priority: such streams share no hardware queue with a blocked stream */
  CUstream side;      /* an internal stream, for allocation and large copies */
  cuda_heap *heap;
  pthread_mutex_t lock; /* for what follows */
  cuda_stream *streams;
  struct cuda_hold *holds;
  struct cuda_deferred *deferred;
  volatile uint32_t *words; /* event.c's: the words that holds wait for; pinned */
  uint32_t word_values[CUDA_HOLDS];
  bool word_taken[CUDA_HOLDS];
  struct cuda_guard *guard;
  struct check_session *check; /* check/: of a checked run, or NULL */
  struct check_past *past;     /* check/: of a run in which the device was reset, until it goes on; or NULL */
  atomic_int guarded;          /* the number of commands in flight of units that can report failures */
  char *loss;                  /* the message about the loss of the context */
  struct cuda_staging *staging;
  pthread_mutex_t linear_lock, fourier_lock;
  struct cuda_setter *setter; /* graph/conditional.c's, or NULL */
  void *linear;               /* linear/cublas.c's: cuBLAS's handle, or NULL */
  unsigned linear_epoch;
  void *solver, *solver_params; /* linear/cusolver.c's: cuSOLVER's handle, or NULL */
  unsigned solver_epoch;
  struct cuda_plans *plans; /* fourier/cufft.c's, or NULL */
  _Atomic double limits[MW_LIMIT_LAUNCHES + 1];
};

/* ---- context.c ---- */

/* The first call in every member of the driver's table: make the context current in the thread, and free what was put
   aside. Fails if the context is lost. */
int cuda_enter(cuda_device *device);
/* Whether cuda_enter would have nothing to do: for hot paths. */
static inline bool cuda_is_entered(const cuda_device *device) {
  CUcontext now = NULL;
  return atomic_load_explicit(&device->lost, memory_order_acquire) == 0 &&
         atomic_load_explicit(&device->deferred_count, memory_order_relaxed) == 0 && cu.cuCtxGetCurrent(&now) == 0 &&
         now == device->context;
}
/* The same for freeing: false if the context is lost, or if no CUDA function may be called. */
bool cuda_enter_quietly(cuda_device *device);
/* CUlimit of a limit that is the context's. */
int cuda_context_limit(mw_limit limit);
int cuda_context_open(cuda_device *device);
void cuda_context_close(cuda_device *device);
int cuda_reset(void *device);
/* The driver call `what` returned `result`: as cuda_check; if the context is lost, all commands count as done, and the
   message names the kernels that may have caused it. */
int cuda_outcome(cuda_device *device, CUresult result, const char *what);
/* Whether the thread runs a host function that a stream calls. */
void cuda_set_in_function(bool inside);
/* Free an object by function(device, handle): now, or at a later cuda_enter. It is later inside a host function, and
   for what waits for the device, while a stream waits for a function that only the calling thread may run. */
typedef void cuda_ending(cuda_device *device, uint64_t handle);
void cuda_end(cuda_device *device, cuda_ending *function, uint64_t handle, bool waits);

/* ---- heap.c: mw_driver's members, and the record of allocations ---- */

cuda_heap *cuda_heap_open(void);
void cuda_heap_close(cuda_heap *heap);
void cuda_heap_forget(cuda_heap *heap);          /* all records: the context was lost */
void cuda_heap_drop_cached(cuda_device *device); /* give unused memory back to the driver */
/* A driver call returned `result`: where memory was short, give back what is cached. True if the call may succeed now. */
bool cuda_heap_make_room(cuda_device *device, CUresult result);
/* Memory that is not recorded, for cuMemFree. */
CUresult cuda_heap_unrecorded(cuda_device *device, size_t bytes, CUdeviceptr *address);
int cuda_alloc(void *device, mw_memory_kind kind, size_t bytes, uint64_t *address);
void cuda_free(void *device, uint64_t address);
/* Memory that was freed in a checked run, and kept until its end. */
void cuda_heap_give_back(cuda_device *device, uint64_t address);
bool cuda_find(void *device, uint64_t address, uint64_t *base, size_t *bytes);
bool cuda_reserves(void *device, uint64_t address); /* allocated, or freed and kept for later */
void *cuda_host(void *device, uint64_t address);
int cuda_memory(void *device, mw_memory *out);
/* Check that `bytes` more stay within the limit "memory". */
int cuda_heap_check(cuda_device *device, size_t bytes);
/* CUDA arrays have no address and are only counted; with -bytes when they are freed. */
void cuda_heap_count(cuda_device *device, size_t bytes);
/* Variables of modules are recorded as well. */
void cuda_heap_add(cuda_device *device, uint64_t address, size_t bytes);
void cuda_heap_remove(cuda_device *device, uint64_t address);
/* Record memory that others own, only for kernels with bounds checks. */
void cuda_heap_lend(cuda_device *device, uint64_t address, size_t bytes);
/* All recorded extents of all devices, and a counter that changes with them. */
typedef struct cuda_extent {
  uint64_t address, bytes;
} cuda_extent;
uint64_t cuda_heaps_changes(void);
cuda_extent *cuda_heaps_list(size_t *count);   /* by address; yours */
cuda_extent cuda_heaps_find(uint64_t address); /* of 0 bytes if there is none */

/* ---- stream.c ---- */

#define CUDA_SITE 96

/* A command whose completion has not been called yet; or several runs of the same launch. */
typedef struct cuda_pending {
  mw_completion completion;
  unsigned times;
  const mw_kernel_info *kernel; /* NULL: not a launch */
  cuda_unit *unit;
  uint64_t owner;      /* of the launch */
  bool interrupted;    /* the host stopped it */
  unsigned number;     /* identifies the launch to the host, or 0: failure_reports.c */
  const char *site_at; /* the address from which the text below was copied: not to be read */
  char site[CUDA_SITE];
} cuda_pending;

#define CUDA_MARKS 8

struct cuda_stream {
  cuda_device *device;
  mw_stream *core; /* the core's handle */
  CUstream handle;
  unsigned flags, epoch;
  pthread_mutex_t lock;
  /* Commands are counted: queue[i % capacity] for first <= i < end. */
  cuda_pending *queue;
  size_t capacity; /* a power of 2 */
  uint64_t first, end;
  uint64_t marked;   /* the last mark's upto */
  unsigned unmarked; /* the number of commands since then */
  int mark_count;
  struct {
    CUevent event;
    uint64_t upto;
  } marks[CUDA_MARKS]; /* events that were recorded after command upto - 1; used ones first */
  cuda_stream *next;   /* in the device's list */
  int priority;
  struct cuda_waits *waits; /* event.c's: the holds that block it */
  /* failure_reports.c's: the command that should end, and since when; 0: none. watchdog.c's: the running launch, and
     since when. */
  uint64_t ending;
  double ending_since;
  unsigned watched;
  double watched_since;
};

int cuda_stream_new(void *device, unsigned flags, int priority, mw_stream *core, void **stream);
void cuda_stream_free(void *stream);
int cuda_stream_synchronize(void *stream);
int cuda_stream_query(void *stream);
/* Recreate the stream's handle if the context was recreated. */
int cuda_stream_enter(cuda_stream *stream);
/* A command that is no launch was queued: its completion is called when it is done. */
void cuda_stream_queued(cuda_stream *stream, const mw_completion *completion);
/* A launch was queued; one with a number (failure_reports.c). */
void cuda_stream_launched(cuda_stream *stream, const cuda_kernel *kernel, const mw_launch_request *request);
void cuda_stream_launched_numbered(cuda_stream *stream, const cuda_kernel *kernel, const mw_launch_request *request,
                                   unsigned number);
/* Wait until what is queued in the stream is done. */
CUresult cuda_stream_wait_done(cuda_stream *stream);
/* A launch call returned a fault: if CUDA waits for each launch, this is the launch that failed. */
void cuda_stream_blames(cuda_stream *stream, const mw_kernel_info *kernel, const char *site);
/* Complete all commands of all streams that are known to be done, which releases memory. */
void cuda_streams_poll(cuda_device *device);
/* The context is lost: all commands count as done. The kernels among them are listed in `story`; *name, which is yours,
   is that of the only one, or NULL. */
void cuda_streams_abandon(cuda_device *device, mw_text *story, char **name);

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
/* MW_NOT_READY, with the error slot filled, if a hold blocks the stream. */
int cuda_stream_held(cuda_stream *stream);
/* Work queued in the stream now is blocked by holds of other streams according to the legacy default stream's rule. */
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
void cuda_staging_forget(struct cuda_staging *staging); /* the context was lost */
void cuda_staging_close(struct cuda_staging *staging);
/* Large copies through pinned memory, between host and device memory; does not wait for any stream. */
int cuda_stage(cuda_device *device, uint64_t address, void *host, size_t bytes, bool to_device);

/* ---- scratch.c ---- */

/* Allocate device memory, and host memory if host_bytes is not 0 (else `host` may be NULL), which are freed when the
   command is done: `completion` is replaced by one that does it. */
int cuda_scratch_new(cuda_device *device, size_t bytes, size_t host_bytes, mw_completion *completion, uint64_t *address,
                     void **host);
/* The command was not queued: free the memory, and restore the completion. */
void cuda_scratch_drop(mw_completion *completion);

/* ---- launch.c ---- */

int cuda_launch(void *stream, const mw_launch_request *request);
int cuda_clusters(const mw_launch_request *request, int *count);
/* What a launch needs of its kernel before it is made. */
int cuda_launch_allow(cuda_kernel *kernel, const mw_launch_request *request);

/* ---- failure_reports.c: kernels report their failures (device/moonwarp/guard.h), so that the context survives ---- */

struct mw_guard_report;
void cuda_guard_open(cuda_device *device);
void cuda_guard_close(cuda_device *device);  /* before the context is destroyed */
void cuda_guard_forget(cuda_device *device); /* the context was lost */
/* Tell a loaded unit where to write its reports. */
int cuda_guard_unit(cuda_device *device, cuda_unit *unit);
/* Before a launch of a unit whose kernels take a launch number: the number. */
int cuda_guard_number(cuda_device *device, cuda_unit *unit, unsigned *number);
/* Turn kernels' reports since the last call into failures of their streams. */
void cuda_guard_take(cuda_device *device);
/* Whether a kernel should have ended long ago and has not. */
bool cuda_guard_gives_up(cuda_device *device);
/* Whether launch `number` has started; make it end. Under the lock of its stream. */
bool cuda_guard_has_begun(cuda_device *device, unsigned number);
void cuda_guard_stop(cuda_device *device, unsigned number);

/* failure_message.c: the failure that a report describes. site: the launch's source position, or "". Yours:
   mw_error_free. */
mw_error *cuda_guard_report(cuda_device *device, const struct mw_guard_report *report, const mw_kernel_info *kernel,
                            cuda_unit *unit, const char *site, bool interrupted);

/* watchdog.c: a thread of the device, started when a time limit is first set. */
int cuda_monitor_start(cuda_device *device);
void cuda_monitor_wake(cuda_device *device); /* a command is in flight again */
/* Whether a kernel that can be stopped is running, or was the last in its stream. */
bool cuda_monitor_sees(cuda_device *device);
void cuda_monitor_close(cuda_device *device);
void cuda_interrupt(void *device);

/* ---- compiling: nvrtc.c, options.c, describe.c ---- */

int cuda_target(void *device, mw_text *out);
int cuda_compile(void *device, const mw_source *source, const char *const *instances, size_t instance_count,
                 const char *path);
bool cuda_usable(void *device, const char *path);

/* A list of strings that it owns, ended by NULL. */
typedef struct cuda_list {
  char **items;
  size_t count;
} cuda_list;
void cuda_list_add(cuda_list *list, char *text); /* takes the text over */
void cuda_list_free(cuda_list *list);
/* The source's options in a canonical spelling, without the architecture: its number, or 0. The message of
   MW_INVALID_VALUE names an unknown option. */
int cuda_options_read(const cuda_device *device, const mw_source *source, cuda_list *out, int *arch);
/* The options for NVRTC. */
int cuda_options(const cuda_device *device, const mw_source *source, cuda_list *out);
/* The source's options and, after a toolkit's folder, that of its CCCL. */
void cuda_options_complete(const mw_source *source, cuda_list *out);

/* ---- module.c ---- */

typedef struct cuda_symbol {
  mw_symbol_info info;
  uint64_t bound; /* for a reference: the handle that was written last */
} cuda_symbol;

struct cuda_kernel {
  cuda_unit *unit;
  CUfunction function;
  size_t dynamic;  /* its current limit of dynamic shared memory */
  bool is_aligned; /* a parameter is aligned to more than 16 bytes, where the block of all of them does not begin */
  mw_kernel_info info;
  size_t *found, found_count; /* pointer parameters whose extents a launch passes: failure_reports.c */
  bool *only_read;            /* of each of these: the kernel does not write to what it points to */
  size_t *reference_symbols;  /* for each of info.references: its index among the unit's symbols */
};

/* A place in a kernel that findings of a checked run name. */
typedef struct cuda_site {
  const char *file, *name; /* the array's, or "" */
  int line;
  unsigned bytes;
} cuda_site;

/* A place in a kernel that counts what its warps do, as mwcc's mw_site. */
typedef struct cuda_place {
  struct mw_watched_site *site;
  unsigned issued, flops, work[7]; /* MW_MEASURED_CLASSES */
} cuda_place;

struct cuda_unit {
  cuda_device *device;
  unsigned epoch;
  bool shares;
  bool guarded;            /* its kernels report failures */
  bool numbered;           /* and take a launch number; they can be stopped */
  bool checked;            /* and check their accesses */
  bool followed;           /* and tell a checked run what they do: check/ */
  unsigned follows;        /* mw_follow_uses */
  struct cuda_site *sites; /* of that: their places */
  size_t site_count;
  bool measured;             /* and count what they do: measure/ */
  struct cuda_place *places; /* of that */
  size_t place_count;
  unsigned guard_id;        /* identifies it in reports */
  CUdeviceptr guard, table; /* its variable __mw_guard, and the table's address stored there */
  CUmodule module;
  cuda_unit *parent;
  cuda_kernel *kernels;
  size_t kernel_count;
  cuda_symbol *symbols;
  size_t symbol_count;
  size_t *shared_with;  /* for each symbol: 1 + its index among the parent's, or 0 */
  pthread_mutex_t lock; /* guards `bound` */
};

/* Whether the code has to be linked with CUDA's device runtime, because its kernels launch kernels; and to link it.
   (link.c) */
struct cuda_image;
bool cuda_needs_linking(const struct cuda_image *image);
/* what: needs the device runtime, "launches from kernels need" */
int cuda_load_linked(cuda_device *device, const struct cuda_image *image, const char *what, CUmodule *module);
int cuda_load_unit(void *device, const char *path, void *parent, const mw_source *origin, void **unit);
void cuda_unload(void *unit);
bool cuda_unit_kernel(void *unit, size_t i, const mw_kernel_info **info, void **kernel);
bool cuda_unit_symbol(void *unit, size_t i, mw_symbol_info *info);
/* Translate a file and a line to the source's origin, for messages. */
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
/* Handles of arrays that others own. */
uint64_t cuda_array_lent(CUarray array, const mw_cuda_array_desc *desc);
uint64_t cuda_mipmap_lent(CUmipmappedArray array, const mw_cuda_array_desc *desc);
void cuda_array_lent_end(void *device, uint64_t handle);
void cuda_surface_end(void *device, uint64_t handle);

extern const mw_driver_graphics cuda_graphics; /* graphics.c */

/* graph/conditional.c: mw_driver's members for lists with conditional nodes */
int cuda_list_new(void *device, const mw_list_item *items, size_t count, void **list);
bool cuda_list_is_good(const void *list);
int cuda_list_run(void *stream, void *list, mw_completion completion);
void cuda_list_end(void *list);
void cuda_setter_close(cuda_device *device);

/* tensor_map.c */
int cuda_tensor_map(void *device, uint64_t address, const mw_tensor_layout *layout, unsigned char out[128]);

#endif
