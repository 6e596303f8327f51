/* The core that implements moonwarp.h: declarations that its files share, and the contract with drivers.
 *
 * The core owns handles, reference counts, signatures, argument checks and the compile cache. It accesses a device only
 * through the table mw_driver; only the list in device.c names the drivers.
 *
 * Folders. compile/ and image/ use no other folder, and no folder uses opengl/, linear/, fourier/ or collective/. The
 * folders of objects (array, copy, elementwise, graph, launch, memory, module, texture) and the files of this folder
 * use each other: a launch, copy or fill in a stream under capture becomes a graph's node, a graph's launch is a
 * command in a stream, a command retains arrays, textures and modules, and elementwise operators are launches of a
 * module's kernels. There is no cycle among their headers' includes (spec/project/layers_spec.lua). */
#ifndef MW_CORE_H
#define MW_CORE_H

#include "base/base.h"
#include "base/lock.h"
#include "core/memory/buffer.h"
#include "core/request.h"

/* ---- the driver contract -----------------------------------------------------------------------------------------
 *
 * Unless a member says otherwise: any thread may call it, also concurrently; it returns a mw_result, and has filled the
 * error slot if that is not MW_SUCCESS; strings and structs passed in are borrowed during the call.
 *
 * Streams. Work in one stream runs in order. Commands (launch, copy, fill) return when they are queued. When a command
 * has finished or failed, the driver calls its `done` once, on any thread except one inside a kernel. `done` may free
 * memory and unload units, and must not wait; afterwards the driver does not access the command's memory, kernel or
 * unit. A kernel's failure belongs to its stream and to the launch's owner: the driver hands it to mw_stream_fail
 * before a wait for the command returns, the command counts as done, and later commands run.
 *
 * Different streams overlap. The stream made with MW_STREAM_LEGACY, the device's first, follows the legacy default
 * stream's rule: its work waits for work queued earlier in streams without MW_STREAM_NON_BLOCKING, and the reverse.
 *
 * Holds. A hold stops its stream until the host releases it. A call that waits for a stream, and would have to wait for
 * a hold, returns MW_NOT_READY instead, with the error slot filled. */

struct mw_tex_record;

/* OpenGL interoperability of a driver. `make` is called with a current context; target 0 is a buffer;
   MW_INVALID_GRAPHICS_CONTEXT if the driver cannot share with that context. `pointer`, `array` and `mipmap` are called
   between map and unmap, which order OpenGL's work with the stream's; `array_end` destroys an array, before unmap or
   after. `draws`: whether the device of that number renders for the current context; see mw_graphics_device. */
typedef struct mw_driver_graphics {
  int (*make)(void *device, unsigned name, unsigned target, unsigned flags, void **resource);
  void (*end)(void *device, void *resource);
  int (*set_flags)(void *resource, unsigned flags);
  int (*map)(void *stream, void *resource);
  int (*unmap)(void *stream, void *resource);
  int (*pointer)(void *resource, uint64_t *address, size_t *bytes);
  int (*array)(void *resource, unsigned layer, unsigned level, const mw_cuda_array_desc *desc, uint64_t *array);
  int (*mipmap)(void *resource, const mw_cuda_array_desc *desc, uint64_t *array);
  void (*array_end)(void *device, uint64_t array);
  bool (*draws)(int ordinal, unsigned list);
} mw_driver_graphics;

/* One variable of a loaded unit. */
typedef struct mw_symbol_info {
  const char *name, *linkage;
  const mw_type *type;
  uint64_t address;
  size_t size;
  bool constant;
  const mw_reference *reference; /* or NULL; lives as long as the unit */
} mw_symbol_info;

/* The size class of a grid. FEW: multiprocessors may idle while others run the last blocks. */
typedef enum mw_block_count { MW_BLOCKS_MANY, MW_BLOCKS_FEW, MW_BLOCKS_ONE } mw_block_count;

/* The launches that a kernel is specialised for (the block class): specialize.c. */
typedef struct mw_launch_class {
  unsigned block[3];
  unsigned columns; /* the width of their grids is a multiple of this: 1 or 2 */
  mw_block_count blocks;
  unsigned checked; /* the kinds of a checked run (mw_check_kind), else 0; with a block of 0 threads: any class */
  bool screened;    /* in a checked run: the code that runs before the code that follows threads; for any class */
  uint32_t gang;    /* which of the driver's `candidates` to compile; 0: the one that it expects to be fastest */
} mw_launch_class;

enum { MW_CANDIDATES = 3 }; /* the most candidates of a specialised kernel: candidates.c */

enum {
  MW_ANY_WIDTH = 1, /* grids of even and of odd width use the same code */
  MW_ANY_COUNT = 2  /* grids of many and of few blocks use the same code; one block is always a class of its own */
};

#define MW_SOURCE_NAME "kernel.cu"

typedef struct mw_driver {
  const char *name; /* "cpu" */
  size_t lingering; /* bytes of freed memory that queued work may hold until an allocation waits for it */

  /* Lines for mw_doctor: the driver's requirements, and where each was found. May be NULL. */
  void (*report)(mw_text *out);
  /* The number of devices; without side effects. */
  int (*count)(int *count);
  /* Open device `ordinal`; the core owns *device until close. */
  int (*open)(int ordinal, void **device);
  /* The same as a device of that compute capability; NULL if a device's capability is fixed. */
  int (*open_as)(int ordinal, const mw_capability *capability, void **device);
  /* See mw_device_simulate; NULL for physical devices. */
  int (*simulate)(const char *devices);
  /* Peer access: whether kernels of one device can access the memory of another device of this driver; enabling and
     disabling it. Both NULL without peer access. */
  bool (*can_reach)(void *device, void *other);
  int (*reach)(void *device, void *other, bool on);
  /* The core has destroyed all streams and freed all memory before. */
  void (*close)(void *device);
  /* Make a device usable again that a kernel's fault has broken. Its memory, units, arrays and textures are lost and
     are not freed one by one; streams, events and holds remain and are empty. No other thread uses the device. NULL if
     faults cannot break a device. */
  int (*reset)(void *device);
  /* Whether a kernel always gets the local memory that it is known to need, whatever the limit "stack" is. */
  bool grows_stack;
  int (*properties)(void *device, mw_properties *out);
  int (*memory)(void *device, mw_memory *out);
  int (*limit_get)(void *device, mw_limit limit, double *value);
  int (*limit_set)(void *device, mw_limit limit, double value);

  /* See mw_device_keep_printed, mw_device_printed; NULL if the device cannot do that. Any thread. */
  void (*keep_printed)(void *device, bool keep);
  size_t (*printed)(void *device, char *text, size_t size);

  /* Memory. Addresses are device addresses, 256-byte aligned. Kernels, copies and fills accept addresses of all kinds;
     pinned and managed memory has the same address on the host. kind: DEVICE, PINNED or MANAGED; bytes > 0. */
  int (*alloc)(void *device, mw_memory_kind kind, size_t bytes, uint64_t *address);
  /* The core guarantees that no command that uses the memory is queued or running. Never fails, never waits. */
  void (*free)(void *device, uint64_t address);
  /* Free memory whose address was never given to a script or to its kernels. No stale pointer can refer to it, so it
     may stay accessible. NULL: `free` does it. */
  void (*discard)(void *device, uint64_t address);
  /* The live allocation or variable that contains `address`, of any origin; false if there is none. */
  bool (*find)(void *device, uint64_t address, uint64_t *base, size_t *bytes);
  /* Whether the address is in a range that is reserved for the device, allocated or not. NULL: not known. */
  bool (*reserves)(void *device, uint64_t address);
  /* A host pointer to memory, or NULL if the host cannot access it. far: that is so of all memory of the kind DEVICE. */
  void *(*host)(void *device, uint64_t address);
  bool far;
  /* The host has written, or may write, through the pointer of `host`. NULL: the driver need not know. */
  void (*wrote)(void *device, uint64_t address, uint64_t bytes);

  /* Texture hardware. NULL without it: device code then reads textures by records (texture_descriptor.h). With it, CUDA
     arrays belong to the driver. A texture reads `array`, all of it or its `level` >= 0, or (array 0) the memory that
     the record's first level describes; a surface accesses one level; kernels get their handle. The contract of `free`
     applies to all three. */
  int (*array_new)(void *device, const mw_cuda_array_desc *desc, uint64_t *array);
  void (*array_free)(void *device, uint64_t array);
  int (*array_copy)(void *stream, const mw_array_box *box, mw_completion completion);
  int (*texture_new)(void *device, const struct mw_tex_record *record, uint64_t array, int level, uint64_t *handle);
  int (*surface_new)(void *device, uint64_t array, int level, uint64_t *handle);
  void (*texture_free)(void *device, uint64_t handle);
  void (*surface_free)(void *device, uint64_t handle);
  const mw_driver_graphics *graphics;            /* NULL: resources are shared by copies */
  const struct mw_driver_fourier *fourier;       /* fourier/fourier.h; NULL: no library for Fourier transforms */
  const struct mw_driver_linear *linear;         /* linear/linear.h; NULL: no libraries for linear algebra */
  const struct mw_driver_collective *collective; /* collective/collective.h; NULL: no messages between devices */

  /* priority: within the range below. `handle`: the core's stream, for mw_stream_fail; it outlives the driver's. */
  int (*stream_new)(void *device, unsigned flags, int priority, mw_stream *handle, void **stream);
  void (*priorities)(void *device, int *least, int *greatest);
  void (*stream_free)(void *stream); /* releases its holds; waits until it is empty and every `done` has returned */
  /* Wait until the stream is empty and every `done` has returned. Kernels' failures are not reported, but for those
     that the device does not survive: then every call fails. */
  int (*stream_synchronize)(void *stream);
  /* MW_SUCCESS when empty, MW_NOT_READY (without filling the error slot) when not. */
  int (*stream_query)(void *stream);
  /* Work queued from now on waits for the event's latest record; the event may belong to another device of this
     driver. */
  int (*stream_wait)(void *stream, void *event);
  /* function.done is called in stream order, on any thread; the stream continues when it has returned. */
  int (*stream_call)(void *stream, mw_completion function);
  int (*hold_new)(void *stream, void **hold);
  bool (*hold_reached)(void *hold);
  void (*hold_free)(void *hold); /* the stream continues */
  int (*event_new)(void *device, unsigned flags, void **event);
  void (*event_free)(void *event); /* work that waits for its records still does */
  int (*event_record)(void *event, void *stream);
  int (*event_query)(void *event); /* as stream_query; done if it was never recorded */
  int (*event_synchronize)(void *event);
  /* Between the last records, in milliseconds; see mw_event_elapsed for failures. */
  int (*event_elapsed)(void *start, void *end, double *milliseconds);
  /* Take the failures that kernels have reported so far, as a wait does. NULL: the host does not see what a kernel
     writes while it runs. */
  void (*take_failures)(void *device);
  /* Stop the running kernels, as a time limit does; queued ones are not affected. On any thread. NULL if it cannot. */
  void (*interrupt)(void *device);
  int (*launch)(void *stream, const mw_launch_request *request);
  /* mw_launch_clusters. NULL: there is no rule. */
  int (*clusters)(const mw_launch_request *request, int *count);
  /* Command lists: commands that are laid out once and then run any number of times, in order, as one command of a
     stream. The items are copied; failures are those of the items' commands. list_is_good: whether the layout is still
     valid (limits, accessible memory); the core checks this before each run. list_free: no run of the list is queued or
     running, but its last `done` may be the caller. All NULL if there are none. conditional_lists: lists have no
     advantage but for conditional nodes. */
  bool conditional_lists;
  int (*list_new)(void *device, const mw_list_item *items, size_t count, void **list);
  bool (*list_is_good)(const void *list);
  int (*list_run)(void *stream, void *list, mw_completion completion);
  void (*list_free)(void *list);
  /* Addresses may also be in host memory. copy allows overlap, as memmove. */
  int (*copy)(void *stream, uint64_t target, uint64_t source, size_t bytes, mw_completion completion);
  int (*fill)(void *stream, uint64_t target, const void *pattern, size_t size, size_t count, mw_completion completion);
  int (*copy_box)(void *stream, const mw_box *box, mw_completion completion);
  /* From the device `from` to the device `to`, both of this driver, in any stream of the driver. NULL: copies go
     through host memory, or `copy` and `copy_box` access all devices' memory. */
  int (*copy_between)(void *stream, void *to, void *from, const mw_box *box, mw_completion completion);
  /* box->source is ignored; its width is a multiple of `size`: 1, 2 or 4. */
  int (*fill_box)(void *stream, const mw_box *box, const void *pattern, size_t size, mw_completion completion);
  /* Host <-> device, in stream order; return when done. They do not report failures of earlier kernels. */
  int (*write)(void *stream, uint64_t target, const void *source, size_t bytes);
  int (*read)(void *stream, uint64_t source, void *target, size_t bytes);

  /* Everything besides the source that determines the output of `compile`: processor, compiler versions, format
     version. Part of the cache key. Must be cheap, since each mw_module_compile calls it. */
  int (*target)(void *device, mw_text *out);
  /* The level of instruction sets whose shipped modules the device runs, "x86-64-v3"; NULL, or a NULL result: none. */
  const char *(*level)(void *device);
  /* Compile to a file at `path` (inside a private temporary folder). `instances` (may be empty) are template kernels to
     instantiate, "fill<float,4>". The text is compiled under the name MW_SOURCE_NAME with lines from 1, whatever
     source->file and line are, so that one cache entry serves the text at any position. Folders in its options are
     absolute. On MW_INVALID_SOURCE the error slot's file, line and log refer to MW_SOURCE_NAME; the core translates
     them. The file ends in MW_CACHE_KEY_SIZE bytes that are 0, where the cache puts its key. */
  int (*compile)(void *device, const mw_source *source, const char *const *instances, size_t instance_count,
                 const char *path);
  /* Whether the file at `path`, found in the cache, is still valid: undamaged, and the files it included unchanged. */
  bool (*usable)(void *device, const char *path);
  /* Load a file that compile wrote. Variables that `parent` (a loaded unit, or NULL) also has are shared with it. The
     unit does not refer to the file afterwards. `origin` (may be NULL; its `file` and `line` are copied) is the
     position of the source text: positions in MW_SOURCE_NAME are reported relative to it. Does not wait. */
  int (*load)(void *device, const char *path, void *parent, const mw_source *origin, void **unit);
  /* No kernel of the unit is queued or running. */
  void (*unload)(void *unit);
  /* The unit's kernels and variables, i from 0; false past the last. Strings and types live as long as the unit. */
  bool (*unit_kernel)(void *unit, size_t i, const mw_kernel_info **info, void **kernel);
  bool (*unit_symbol)(void *unit, size_t i, mw_symbol_info *info);
  /* Whether specialisation for one block size may make the kernel faster: 0, or for how many threads a launch of so many
     blocks and threads counts in MW_LIMIT_SPECIALISE. The specialised unit is loaded with the kernel's own unit as
     parent; launches that it does not suit run the kernel's general code. May be NULL. */
  uint64_t (*specialises)(void *kernel, uint64_t blocks, uint64_t threads);
  /* Compile the kernel, and no other, for these launches to a file at `path`, as `compile` does. */
  int (*specialise)(void *kernel, const mw_source *source, const mw_launch_class *launches, const char *path);
  /* Other code for a specialised kernel that may be faster and computes the same; all NULL if there is none.
     candidates: the values of mw_launch_class.gang, and their number. ripen: call `ripe` once, on any thread, when the
     kernel's blocks have taken this many seconds of the device's threads. compete: time `candidate` against the best so
     far, in some launches of the kernel; call `decided` once, on any thread. prefer: run `candidate` in its place,
     without a trial. preferred: the best so far. A kernel has one of ripen and compete at a time. */
  size_t (*candidates)(void *kernel, uint32_t gangs[MW_CANDIDATES]);
  void (*ripen)(void *kernel, double seconds, mw_completion ripe);
  void (*compete)(void *kernel, void *candidate, mw_completion decided);
  void (*prefer)(void *kernel, void *candidate);
  void *(*preferred)(void *kernel);
  /* The other launches that suit a specialised kernel equally well: MW_ANY_WIDTH and MW_ANY_COUNT. */
  unsigned (*takes)(void *kernel);
  /* Watching launches (watch.c); all NULL if the device cannot. observe: compile the whole unit for watchers that need
     what the bits of enum mw_observed name. watch_new: `watchers` is a comma-separated list such as "counters";
     *observes gets the bits. watch_result: their results, as text for scripts to parse; no watched launch is queued or
     running. */
  int (*observe)(void *unit, const mw_source *source, unsigned observes, const char *path);
  int (*watch_new)(void *device, const char *watchers, unsigned *observes, void **watch);
  int (*watch_result)(void *watch, mw_text *out);
  void (*watch_free)(void *watch);
  /* Begin and end a checked run on the idle device: mw_check_begin, mw_check_end. NULL: there are none. */
  int (*check_begin)(void *device, unsigned kinds, uint64_t seed);
  int (*check_end)(void *device, mw_report **out);
  /* Make a tensor map of a layout that mw_tensor_map_encode has checked. */
  int (*tensor_map)(void *device, uint64_t address, const mw_tensor_layout *layout, unsigned char out[128]);
  const char *(*unit_log)(void *unit); /* compiler warnings */
  /* The source and options of the unit, for further instances; false if the file contains none. */
  bool (*unit_source)(void *unit, const char **text, const char **options);
} mw_driver;

/* device.c: the reports of all drivers. */
void mw_drivers_report(mw_text *out);
/* Whether device i of mw_device_list renders for OpenGL's current context: see mw_graphics_device. */
bool mw_device_draws(size_t i, unsigned list);
/* failure.c: for drivers, a kernel of `owner` failed in the stream. Takes the error over. Takes a leaf
   lock. */
void mw_stream_fail(mw_stream *stream, uint64_t owner, mw_error *error);
/* device.c: stop the running kernels of all open devices. */
void mw_devices_interrupt(void);

/* check_report.c: a report of findings, which are moved into it. */
mw_report *mw_report_new(mw_finding *findings, size_t count);
/* What could not be checked, lines of text, or NULL; taken over. */
void mw_report_say(mw_report *report, char *unchecked);

extern const mw_driver mw_cpu_driver;
extern const mw_driver mw_cuda_driver;

/* ---- objects (each in the file of its name) ----
 *
 * Handles and work in flight have separate counts. A handle (a reference that a host thread holds) retains its parent's
 * handle. A command in flight holds no handle, only uses: of the buffers it accesses and of the module whose code it
 * runs. So a host thread always releases the last handle of a device, never a `done`. Closing a device can therefore
 * wait for its streams, whose last `done`s free the last memory and units, before it closes the driver's device. */

typedef struct mw_failure mw_failure; /* failure.c's */
typedef struct mw_capture mw_capture; /* capture.c's */
typedef struct mw_tail {
  size_t *nodes;
  size_t count;
} mw_tail;

struct mw_stream {
  mw_refs refs; /* unused in a default stream, whose handles are its device's */
  unsigned flags;
  mw_device *device;
  void *state;         /* the driver's */
  mw_capture *capture; /* in progress, or NULL */
  int priority;
  uint64_t id;
  mw_tail tail;    /* during a capture: the nodes that the next one depends on */
  int pins;        /* stream.c's: the number of host threads that wait for it */
  mw_stream *next; /* in the device's list */
};

struct mw_device {
  mw_refs refs;
  const mw_driver *driver; /* or `lost`, in a forked child */
  mw_driver lost;
  void *state;             /* the driver's */
  void *stream;            /* the default stream's state: legacy.state */
  atomic_uint epoch;       /* the number of resets: objects of an earlier epoch are lost */
  atomic_size_t lingering; /* bytes of freed buffers that queued work still uses */
  /* capture.c's: captures in progress; those that forbid waiting for the device, and work in the default stream. */
  atomic_int captures, loud_captures, legacy_captures;
  atomic_uint checking;          /* the kinds of a checked run: check_report.c; 0: none */
  _Atomic(mw_error *) unchecked; /* why a kernel of the checked run could not be compiled with checks; or NULL */
  mw_stream legacy;
  int ordinal;
  int capability; /* requested when it was opened, major * 10 + minor; 0: its own */
  char name[32];  /* "cpu:0", "cpu:0@1.1" */
  mw_properties properties;
  /* failure.c's: failures that were not reported yet. */
  pthread_mutex_t failure_lock;
  mw_failure *failures;
  atomic_int failure_count;
  struct mw_device *next;                          /* in device.c's list */
  _Atomic(struct mw_device_functions *) functions; /* elementwise/copy.c's */
  /* stream.c's: the other streams, including released ones that still have work. */
  pthread_mutex_t stream_lock;
  mw_stream *streams;
  atomic_int stream_count;
  struct mw_thread_stream *thread_streams;
  struct mw_background *_Atomic background; /* background.c's */
};

/* elementwise/copy.c: destroy the device's internal elementwise functions. */
void mw_elementwise_close(mw_device *device);

/* Wait until all work is done, without reporting failures: that is for a later mw_device_synchronize.
   Fails only with MW_NOT_READY, if a hold would block. */
int mw_device_wait(mw_device *device);

/* mw_buffer_copy and mw_buffer_fill in a stream of the device. */
int mw_buffer_copy_in(mw_stream *stream, mw_buffer *target, size_t target_offset, mw_buffer *source,
                      size_t source_offset, size_t bytes);
int mw_buffer_fill_in(mw_stream *stream, mw_buffer *buffer, size_t offset, const void *pattern, size_t size,
                      size_t count);

/* mw_copy_box_queued in a stream of the memory's device. (copy_3d.c) */
int mw_copy_box_in(mw_stream *stream, const mw_box_side *target, const mw_box_side *source, size_t width, size_t height,
                   size_t depth);

/* ---- streams (stream.c) ---- */

/* The current stream of the calling thread (mw_stream_use), or NULL. */
extern _Thread_local mw_stream *mw_stream_current __attribute__((tls_model("initial-exec")));
/* The stream for work on `device` that names no stream. */
static inline mw_stream *mw_stream_of(mw_device *device) {
  mw_stream *current = mw_stream_current;
  return current && current->device == device ? current : &device->legacy;
}
/* Make the default stream; close it and all other streams, waiting for them. */
int mw_streams_open(mw_device *device);
void mw_streams_close(mw_device *device);
/* Wait for all streams except the default one, without reporting failures. */
int mw_streams_wait(mw_device *device);
/* Whether the thread is in a host function that a hold stands for (mw_hold_enter). */
bool mw_stream_in_function(void);

/* ---- the compile cache (cache.c): files by key ---- */
enum { MW_CACHE_KEY_SIZE = sizeof(mw_hash) };
/* Find the entry that holds `key`, and mark it as just used; false if there is none. */
bool mw_cache_find(const mw_hash *key, char *path, size_t size);
bool mw_cache_has(const mw_hash *key); /* a file of its name; neither a hit nor a miss */
/* Move the file at `file` into the cache as the entry for `key`; *path is its new path (in the cache, or `file` itself
   if the cache is not writable). Evicts the least recently used entries above the limit. */
void mw_cache_store(const mw_hash *key, const char *file, char *path, size_t size);
void mw_cache_remove(const mw_hash *key);

#endif
