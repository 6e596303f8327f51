/* The core behind moonwarp.h: what its files share, and the contract with a driver.
 *
 * The core owns handles, reference counts, signatures, argument checks and the compile cache. It knows a device only
 * through the table mw_driver; nothing here names a driver but the list in device.c. */
#ifndef MW_CORE_H
#define MW_CORE_H

#include "base/base.h"
#include "base/lock.h"

/* ---- the driver contract -----------------------------------------------------------------------------------------
 *
 * Unless a member says otherwise: any thread may call it, several at once; it returns a mw_result and has filled the
 * error slot where that is not MW_SUCCESS; strings and structs passed in are borrowed during the call.
 *
 * Streams. Work in one stream runs in order. Commands (launch, copy, fill) return when they are queued; `done` of a
 * command is called once, on any thread but never on one inside a kernel, when the command has finished or failed;
 * it may free memory and unload units, and must not wait; the driver does not touch the command's memory, kernel or unit
 * afterwards. A kernel's failure belongs to its stream: the command counts as done, later commands run, and the next
 * stream_synchronize reports the first failure and forgets it.
 *
 * Different streams overlap. The one made with MW_STREAM_LEGACY, the device's first, follows the default stream's rule:
 * what is queued there waits for all queued before in streams without MW_STREAM_NON_BLOCKING, and the reverse.
 *
 * Holds. A hold stops its stream until the host lets go of it. What waits for a stream, and would have to wait for a hold,
 * returns MW_NOT_READY instead, with the error slot filled. */

typedef struct mw_completion {
  void (*done)(void *context); /* NULL: nobody waits */
  void *context;
} mw_completion;

typedef struct mw_launch_request {
  void *kernel; /* from driver->module_kernel */
  unsigned grid[3], block[3];
  size_t dynamic_shared;
  bool cooperative;   /* all blocks are to be there at once: MW_COOPERATIVE_LAUNCH_TOO_LARGE where they cannot */
  const void *params; /* copied by the driver before it returns */
  size_t param_bytes;
  /* What texture and surface references are bound to: handles, and the references' linkage names; copied likewise. */
  size_t reference_count;
  const char *const *reference_names;
  const uint64_t *references;
  const char *site; /* "script.lua:12" or NULL; copied */
  mw_completion completion;
} mw_launch_request;

/* Of a list (mw_driver.list_new): a launch, whose completion is not looked at and which is not cooperative and has no
   references; or a fill with a pattern; or, without one, a copy, of `count` elements of `size` bytes. */
typedef struct mw_list_item {
  const mw_launch_request *launch; /* or NULL */
  uint64_t target, source;
  const void *pattern;
  size_t size, count;
} mw_list_item;

/* width bytes of each of `height` rows of each of `depth` slices; pitch: bytes from row to row, slice: from slice to slice.
   None of them is 0, and neither rows nor slices overlap. */
typedef struct mw_box {
  uint64_t target, source;
  size_t target_pitch, target_slice, source_pitch, source_slice;
  size_t width, height, depth;
} mw_box;

/* One side of a copy with a CUDA array of the driver's own (array_new), and the whole: `array` with the box's place in it, x
   in bytes; or memory, the host's or the device's, with a pitch and the rows from slice to slice. */
typedef struct mw_array_side {
  uint64_t array; /* 0: memory */
  int level;
  size_t x, y, z;
  uint64_t address;
  size_t row_pitch, rows;
} mw_array_side;

typedef struct mw_array_box {
  mw_array_side target, source;
  size_t width, height, depth;
} mw_array_box;

struct mw_tex_record;

/* Sharing resources of OpenGL by the driver's own means. `make` is called with a current context; target 0 is a buffer;
   MW_INVALID_GRAPHICS_CONTEXT where that context is not one that the driver can share with. `pointer`, `array` and `mipmap`
   are asked between map and unmap, which order OpenGL's work with the stream's; an array goes by `array_end`, before unmap
   or after. `draws`: whether the device of that number draws for the current context; see mw_graphics_device. */
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

/* How many blocks a grid has: FEW, where multiprocessors may have nothing to do while others run the last ones. */
typedef enum mw_block_count { MW_BLOCKS_MANY, MW_BLOCKS_FEW, MW_BLOCKS_ONE } mw_block_count;

/* Launches that a kernel can be compiled for once more: specialize.c. */
typedef struct mw_launch_class {
  unsigned block[3];
  unsigned columns; /* what the width of their grids is a multiple of: 1 or 2 */
  mw_block_count blocks;
} mw_launch_class;

enum {
  MW_ANY_WIDTH = 1, /* else for grids of an even width there is other code than for the rest */
  MW_ANY_COUNT = 2  /* else for grids of few blocks; that for one block is always another */
};

#define MW_SOURCE_NAME "kernel.cu"

typedef struct mw_driver {
  const char *name; /* "cpu" */

  /* Lines for mw_doctor: what the driver needs, and what of it was found where. May be NULL. */
  void (*report)(mw_text *out);
  /* How many devices there are, without side effects. */
  int (*count)(int *count);
  /* Open device `ordinal`; *device is the core's until close. */
  int (*open)(int ordinal, void **device);
  /* The same as a device of that compute capability; NULL where a device is what it is. */
  int (*open_as)(int ordinal, const mw_capability *capability, void **device);
  /* See mw_device_simulate; NULL where devices are found. */
  int (*simulate)(const char *devices);
  /* Whether kernels of one device can be let reach the memory of another of this driver, and letting them, or no more.
     Both NULL where they cannot. */
  bool (*can_reach)(void *device, void *other);
  int (*reach)(void *device, void *other, bool on);
  /* All streams are destroyed and all memory freed by then. */
  void (*close)(void *device);
  /* Make a device whose kernels' faults have lost it usable again: its memory, units, arrays and textures are gone, without
     being given back; streams, events and holds stay, and are empty. Nobody else uses it. NULL where no fault does that. */
  int (*reset)(void *device);
  /* Local memory that a kernel is known to need is there, whatever the limit "stack" is. */
  bool grows_stack;
  int (*properties)(void *device, mw_properties *out);
  int (*memory)(void *device, mw_memory *out);
  int (*limit_get)(void *device, mw_limit limit, double *value);
  int (*limit_set)(void *device, mw_limit limit, double value);

  /* See mw_device_keep_printed, mw_device_printed; NULL where the device cannot do that. Any thread. */
  void (*keep_printed)(void *device, bool keep);
  size_t (*printed)(void *device, char *text, size_t size);

  /* Memory. Addresses are device addresses, 256-byte aligned; kernels, copies and fills take those of all kinds, and for
     pinned and managed memory the host's are the same. kind: DEVICE, PINNED or MANAGED; bytes > 0. */
  int (*alloc)(void *device, mw_memory_kind kind, size_t bytes, uint64_t *address);
  /* No command that uses the memory is queued or running: the core sees to that. Never fails, never waits. */
  void (*free)(void *device, uint64_t address);
  /* The live allocation or variable that `address` lies in, whoever made it; false where there is none. */
  bool (*find)(void *device, uint64_t address, uint64_t *base, size_t *bytes);
  /* Whether nobody but the device can have memory at the address, live or not. NULL: it cannot tell. */
  bool (*reserves)(void *device, uint64_t address);
  /* A host pointer to device memory, or NULL where the host cannot reach it. */
  void *(*host)(void *device, uint64_t address);

  /* Hardware for textures; NULL where there is none, and textures are read by device code out of records
     (texture_descriptor.h). CUDA arrays then are the driver's. A texture reads `array`, all of it or its `level` >= 0, or (0)
     what the record's first level says; a surface is over a level; their handle is what kernels get. They are given back as
     memory is. */
  int (*array_new)(void *device, const mw_cuda_array_desc *desc, uint64_t *array);
  void (*array_free)(void *device, uint64_t array);
  int (*array_copy)(void *stream, const mw_array_box *box, mw_completion completion);
  int (*texture_new)(void *device, const struct mw_tex_record *record, uint64_t array, int level, uint64_t *handle);
  int (*surface_new)(void *device, uint64_t array, int level, uint64_t *handle);
  void (*texture_free)(void *device, uint64_t handle);
  void (*surface_free)(void *device, uint64_t handle);
  const mw_driver_graphics *graphics; /* NULL: what is shared is a copy */

  /* priority: within the range below. */
  int (*stream_new)(void *device, unsigned flags, int priority, void **stream);
  void (*priorities)(void *device, int *least, int *greatest);
  void (*stream_free)(void *stream); /* waits until it is empty and every `done` has returned; lets go of its holds */
  /* Wait until the stream is empty and every `done` has returned; report the stream's first failure, once. */
  int (*stream_synchronize)(void *stream);
  /* MW_SUCCESS when empty, MW_NOT_READY (without filling the error slot) when not. */
  int (*stream_query)(void *stream);
  /* What is queued from now on waits for the event's last record so far; the event may be another device's of this
     driver. */
  int (*stream_wait)(void *stream, void *event);
  /* function.done is called in stream order, on any thread; the stream goes on when it has returned. */
  int (*stream_call)(void *stream, mw_completion function);
  int (*hold_new)(void *stream, void **hold);
  bool (*hold_reached)(void *hold);
  void (*hold_free)(void *hold); /* the stream goes on */
  int (*event_new)(void *device, unsigned flags, void **event);
  void (*event_free)(void *event); /* what waits for its records goes on doing so */
  int (*event_record)(void *event, void *stream);
  int (*event_query)(void *event); /* as stream_query; done where it was never recorded */
  int (*event_synchronize)(void *event);
  /* Between the last records, in milliseconds; see mw_event_elapsed for failures. */
  int (*event_elapsed)(void *start, void *end, double *milliseconds);
  /* Stop the kernels that run now, as a time limit does; queued ones stay. On any thread. NULL where it cannot. */
  void (*interrupt)(void *device);
  int (*launch)(void *stream, const mw_launch_request *request);
  /* Lists: commands that are laid out once, then run any number of times, in their order, as one command of a stream. What
     they say is copied; failures are those of the commands that an item stands for. list_is_good: whether it would be laid
     out the same now (limits, memory within reach): to be asked before a run. list_free: no run of it is queued or
     running, but its last `done` may be what calls this. All NULL where there is nothing to gain. */
  int (*list_new)(void *device, const mw_list_item *items, size_t count, void **list);
  bool (*list_is_good)(const void *list);
  int (*list_run)(void *stream, void *list, mw_completion completion);
  void (*list_free)(void *list);
  /* Addresses in these may be the host's own, too. copy is memmove. */
  int (*copy)(void *stream, uint64_t target, uint64_t source, size_t bytes, mw_completion completion);
  int (*fill)(void *stream, uint64_t target, const void *pattern, size_t size, size_t count, mw_completion completion);
  int (*copy_box)(void *stream, const mw_box *box, mw_completion completion);
  /* From the device `from` to the device `to`, both of this driver, in any stream of it. NULL: only the host is between, or
     `copy` and `copy_box` reach all devices' memory. */
  int (*copy_between)(void *stream, void *to, void *from, const mw_box *box, mw_completion completion);
  /* box->source is not looked at; its width is a multiple of `size`: 1, 2 or 4. */
  int (*fill_box)(void *stream, const mw_box *box, const void *pattern, size_t size, mw_completion completion);
  /* Host <-> device, in stream order; return when done. A kernel's failure before them is not theirs to report. */
  int (*write)(void *stream, uint64_t target, const void *source, size_t bytes);
  int (*read)(void *stream, uint64_t source, void *target, size_t bytes);

  /* Everything besides the source that decides what `compile` writes: processor, compiler versions, format version.
     Part of the cache key. Cheap: called for every mw_module_compile. */
  int (*target)(void *device, mw_text *out);
  /* Compile to a file at `path` (inside a private temporary folder). `instances` (may be empty) are template kernels to
     instantiate, "fill<float,4>". The text is compiled under the name MW_SOURCE_NAME with lines from 1, whatever
     source->file and line say, so that one cache entry serves wherever the text stands. Folders in its options are
     absolute. On MW_INVALID_SOURCE the error slot's file and line and its log speak of MW_SOURCE_NAME; the core
     translates them. */
  int (*compile)(void *device, const mw_source *source, const char *const *instances, size_t instance_count,
                 const char *path);
  /* Whether the file at `path`, found in the cache, may still be used: undamaged, and the files it included unchanged. */
  bool (*usable)(void *device, const char *path);
  /* Load a file that compile wrote. Variables that `parent` (a loaded unit, or NULL) also has are shared with it. The
     unit keeps nothing of the file. `origin` (may be NULL; its `file` and `line` are copied) says where the source text
     stands: positions in MW_SOURCE_NAME are reported as positions there. Waits for nothing. */
  int (*load)(void *device, const char *path, void *parent, const mw_source *origin, void **unit);
  /* No kernel of it is queued or running. */
  void (*unload)(void *unit);
  /* The unit's kernels and variables, i from 0; false past the last. Strings and types live as long as the unit. */
  bool (*unit_kernel)(void *unit, size_t i, const mw_kernel_info **info, void **kernel);
  bool (*unit_symbol)(void *unit, size_t i, mw_symbol_info *info);
  /* Whether the kernel could run faster if it were compiled for blocks of one size: 0, or how many times as long as usual its
     threads may take. A launch of what is loaded then, with the kernel's own unit as parent, is left to the kernel where it
     is not one that the code is good for. May be NULL. */
  unsigned (*specialises)(void *kernel);
  /* Where it could: write such a file, as compile does, to `path`, for those launches. It needs no other kernel. */
  int (*specialise)(void *kernel, const mw_source *source, const mw_launch_class *launches, const char *path);
  /* What else a kernel of what is loaded then is as good for: MW_ANY_WIDTH and MW_ANY_COUNT. */
  unsigned (*takes)(void *kernel);
  const char *(*unit_log)(void *unit); /* compiler warnings */
  /* The source and options of the unit, for further instances; false where the file holds none. */
  bool (*unit_source)(void *unit, const char **text, const char **options);
} mw_driver;

/* device.c: what all drivers report. */
void mw_drivers_report(mw_text *out);
/* Whether device i of mw_device_list draws for OpenGL's current context: see mw_graphics_device. */
bool mw_device_draws(size_t i, unsigned list);
/* device.c: ask the drivers of all open devices to stop what runs. */
void mw_devices_interrupt(void);

extern const mw_driver mw_cpu_driver;
extern const mw_driver mw_cuda_driver;

/* ---- objects (each in the file of its name) ----
 *
 * Handles and work in flight are counted apart. A handle (a reference that a host thread holds) keeps its parent's
 * handle. A command in flight holds no handle, only uses: of the buffers it touches and of the module whose code it
 * runs. So the last handle of a device is always let go by a host thread, never inside `done`, and closing a device can
 * wait for its stream, whose last `done`s give back the last memory and units, before it closes the driver's device. */

typedef struct mw_capture mw_capture; /* capture.c's */
typedef struct mw_tail {
  size_t *nodes;
  size_t count;
} mw_tail;

struct mw_stream {
  mw_refs refs; /* not of a default stream, whose handles are its device's */
  unsigned flags;
  mw_device *device;
  void *state;         /* the driver's */
  mw_capture *capture; /* that it puts its work into, or NULL */
  int priority;
  uint64_t id;
  mw_tail tail;    /* and the nodes that the next one depends on */
  int pins;        /* stream.c's: host threads that wait for it */
  mw_stream *next; /* in the device's list */
};

struct mw_device {
  mw_refs refs;
  const mw_driver *driver;
  void *state;       /* the driver's */
  void *stream;      /* the default stream's state: legacy.state */
  atomic_uint epoch; /* how often it was reset: what was made before is gone */
  /* capture.c's: graphs that streams put their work into now; those of them that are in the way of whatever waits for the
     device; and of work in the default stream. */
  atomic_int captures, loud_captures, legacy_captures;
  mw_stream legacy;
  int ordinal;
  int capability; /* that it was opened as, major * 10 + minor; 0: its own */
  char name[32];  /* "cpu:0", "cpu:0@1.1" */
  mw_properties properties;
  _Atomic(mw_error *) failure;                     /* of a kernel, met by mw_device_wait and not reported yet */
  struct mw_device *next;                          /* in device.c's list */
  _Atomic(struct mw_device_functions *) functions; /* elementwise/copy.c's */
  /* stream.c's: the other streams, those that nobody holds but that still have work included. */
  pthread_mutex_t stream_lock;
  mw_stream *streams;
  atomic_int stream_count;
  struct mw_thread_stream *thread_streams;
};

/* elementwise/copy.c: the functions of elements that the device has for itself go. */
void mw_elementwise_close(mw_device *device);

/* Wait until all work is done, without reporting: a kernel's failure is kept for the next mw_device_synchronize. Fails only
   with MW_NOT_READY, where a hold is in the way. */
int mw_device_wait(mw_device *device);
/* Keep the failure in the error slot, a kernel's, for that call. */
void mw_device_keep_failure(mw_device *device);

/* mw_buffer_copy and mw_buffer_fill in a stream of the device. */
int mw_buffer_copy_in(mw_stream *stream, mw_buffer *target, size_t target_offset, mw_buffer *source,
                      size_t source_offset, size_t bytes);
int mw_buffer_fill_in(mw_stream *stream, mw_buffer *buffer, size_t offset, const void *pattern, size_t size,
                      size_t count);

/* mw_copy_box_queued in a stream of the device's that the memory is on. (copy_3d.c) */
int mw_copy_box_in(mw_stream *stream, const mw_box_side *target, const mw_box_side *source, size_t width, size_t height,
                   size_t depth);

/* ---- streams (stream.c) ---- */

/* The stream of the calling thread (mw_stream_use), or NULL. */
extern _Thread_local mw_stream *mw_stream_current __attribute__((tls_model("initial-exec")));
/* Where work for `device` goes that names no stream. */
static inline mw_stream *mw_stream_of(mw_device *device) {
  mw_stream *current = mw_stream_current;
  return current && current->device == device ? current : &device->legacy;
}
/* Make and end the default stream; ending it ends all others, and waits for them. */
int mw_streams_open(mw_device *device);
void mw_streams_close(mw_device *device);
/* Wait for all streams but the default one; kernels' failures go to device->failure. */
int mw_streams_wait(mw_device *device);
/* Whether the thread is in a function that a stream is held for (mw_hold_enter). */
bool mw_stream_in_function(void);

struct mw_buffer {
  mw_refs refs;
  unsigned epoch; /* the device's when it was made */
  void (*give_back)(void *device, uint64_t address);
  mw_refs parts; /* handles and memory: the struct goes with the later of the two */
  mw_device *device;
  uint64_t address;
  size_t bytes;
  unsigned char *host; /* the memory as the host sees it, or NULL */
  /* How many commands in flight use the memory, plus one while the handle is not freed: the memory goes back to the
     driver when this reaches 0. */
  mw_refs uses;
  atomic_bool freed;
};

/* What a driver has made as a buffer, whose address is its handle and which goes by `give_back`. It has no bytes. */
mw_buffer *mw_buffer_of_handle(mw_device *device, uint64_t handle, void (*give_back)(void *device, uint64_t handle));

/* Take the memory for a command, and let go of it when the command is done. take fails on a freed buffer. */
int mw_buffer_use(mw_buffer *buffer);
void mw_buffer_unuse(mw_buffer *buffer);

/* ---- the compile cache (cache.c): files by key ---- */
/* The path of the entry for `key`, marked as just used: true if there is one. */
bool mw_cache_find(const mw_hash *key, char *path, size_t size);
/* Move the file at `file` into the cache as the entry for `key`; *path is where it is now (the cache's, or `file` itself
   where the cache cannot be written). Evicts old entries past the limit. */
void mw_cache_store(const mw_hash *key, const char *file, char *path, size_t size);
void mw_cache_remove(const mw_hash *key);

#endif
