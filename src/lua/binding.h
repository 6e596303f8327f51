/* The Lua C binding: declarations that its files share.
 *
 * The binding converts between Lua's values and the core's and raises the core's errors; the core performs the checks.
 * The binding returns a raw table (described in core.c), on which the Lua layer in lua/moonwarp/ is built.
 *
 * Rules that all functions follow:
 *   - An object is a full userdata that is created closed (handle NULL), then given its metatable, and filled last. So
 *     an error raised at any moment leaves an object that its finalizer can close.
 *   - No C resource is held across a Lua call that may raise, except in such a userdata.
 *   - free, __close and __gc share one path and may be called in any order and number. Finalizers do not raise. */
#ifndef MWL_BINDING_H
#define MWL_BINDING_H

#include "compat.h"
#include "moonwarp.h"

#include <stdio.h>
#include <string.h>

typedef enum mwl_class {
  MWL_DEVICE,
  MWL_ARRAY,
  MWL_MODULE,
  MWL_KERNEL,
  MWL_SYMBOL,
  MWL_LAUNCH, /* kernel(grid, block): a configuration, called with arguments */
  MWL_BOUND,  /* launch:bind(...): called with none */
  MWL_GRAPH,
  MWL_GRAPH_EXEC,
  MWL_STREAM,
  MWL_EVENT,
  MWL_DTYPE,   /* a struct of a module, as the element type of arrays */
  MWL_HOST,    /* a:host(): an array's memory, accessible to the host */
  MWL_PITCHED, /* an array whose rows are padded */
  MWL_CUDA_ARRAY,
  MWL_TEXTURE,
  MWL_SURFACE,
  MWL_GRAPHICS, /* a buffer or an image of OpenGL's */
  MWL_ELEMENTWISE,
  MWL_COMMUNICATOR,
  MWL_MPI_COMM,
  MWL_MPI_REQUEST,
  MWL_MPI_WINDOW,
  MWL_MPI_FILE,
  MWL_CLASS_COUNT
} mwl_class;

/* ---- objects ---- */

typedef struct mwl_device {
  mw_device *handle;
  bool pending; /* there were launches since kernels' failures were last checked */
} mwl_device;

typedef struct mwl_array {
  mw_array *handle;
  mwl_device *device;
  /* Copied from the handle for element accesses: valid while it is not NULL. */
  const mw_type *dtype;
  const size_t *shape;
  int rank;
  mw_memory_kind kind; /* of the memory to allocate; MW_MEMORY_UNKNOWN: the device's */
  size_t counted;      /* bytes that were reported to the collector */
  mw_module *module;   /* that the dtype belongs to (a reference), or NULL */
} mwl_array;

/* Pitched memory: an array of whole rows, of which the first `width` elements are used. */
typedef struct mwl_pitched {
  mwl_array rows;
  size_t width;
} mwl_pitched;

typedef struct mwl_cuda_array {
  mw_cuda_array *handle;
  mwl_device *device;
  size_t counted; /* bytes that were reported to the collector */
} mwl_cuda_array;

/* Textures and surfaces. Element 1 of the environment retains the memory. */
typedef struct mwl_texture {
  mw_texture *handle;
  mwl_device *device;
} mwl_texture;

typedef struct mwl_module {
  mw_module *handle;
  mwl_device *device;
  const char *told; /* the log whose warnings have been passed to the script, or NULL */
} mwl_module;

typedef struct mwl_stream {
  mw_stream *handle; /* NULL once closed */
  mwl_device *device;
} mwl_stream;

typedef struct mwl_event {
  mw_event *handle;
  mwl_device *device;
} mwl_event;

typedef struct mwl_graphics {
  mw_graphics *handle; /* NULL once unregistered */
  mwl_device *device;
} mwl_graphics;

typedef struct mwl_graph {
  mw_graph *handle;
  mwl_device *device;
} mwl_graph;

typedef struct mwl_graph_exec {
  mw_graph_exec *handle; /* NULL once closed */
  mwl_device *device;
} mwl_graph_exec;

/* A communicator, a request, a window or a file of MPI's. */
typedef union mwl_mpi {
  mw_mpi_comm *comm; /* NULL once closed */
  mw_mpi_request *request;
  mw_mpi_window *window;
  mw_mpi_file *file;
} mwl_mpi;

/* Compared byte by byte, so it has no padding. */
typedef struct mwl_config {
  unsigned grid[3], block[3];
  unsigned cluster[3]; /* from k:cluster, else 0 */
  unsigned dependent;  /* 1 from k:dependent: it may begin before the launch before it has ended */
  size_t shared;
  size_t empty;             /* 1 from each(0): arguments are checked, nothing runs */
  size_t cooperative;       /* 1 from k:cooperative: all blocks are resident at once */
  const mwl_stream *stream; /* NULL: the current stream; retained by the configuration's environment */
} mwl_config;

struct mwl_launch;

typedef struct mwl_kernel {
  mw_kernel *handle;
  mwl_device *device;
  mw_launch *launch;       /* for plain launches; its arguments are cleared after each */
  mwl_config now;          /* the launch's configuration */
  struct mwl_launch *last; /* the newest configuration object: element 1 of the environment */
} mwl_kernel;

/* Immutable, so that equal configurations may share an object. Its environment is its kernel's, which retains the
   kernel; with a stream, a table of its own that retains both. */
typedef struct mwl_launch {
  mwl_kernel *kernel;
  mwl_config config;
  bool used;   /* called, bound, or a field was read; if not, its collection causes a warning */
  char site[]; /* where it was configured */
} mwl_launch;

typedef struct mwl_bound {
  uintptr_t mark; /* launch.c's: distinguishes a bound launch from all other userdata */
  mw_launch *launch;
  mwl_device *device;
  const mwl_stream *stream; /* retained by the environment, or NULL */
  bool empty;
  char site[]; /* the position of the bind call: finding it at each run would cost more than the run's checks */
} mwl_bound;

typedef struct mwl_symbol {
  mw_symbol *handle;
  mwl_device *device;
} mwl_symbol;

/* ---- the binding's state, one a Lua state (core.c) ---- */

typedef struct mwl_state {
  const void *metatables[MWL_CLASS_COUNT]; /* for fast class tests; the registry retains them */
  mwl_device *current;                     /* NULL until a device is needed */
  uint64_t owner;                          /* its modules', and of what it waits for: mw_owner_use */
  size_t calls;                            /* the number of Lua functions queued in streams (stream.c) */
  mwl_device *printing;                    /* whose printf output a Lua function gets (device.c); NULL: stdout */
  mw_watch *watch;                         /* that has begun (watch.c), or NULL */
  size_t live;                             /* bytes of device memory that this state's arrays hold */
  size_t kept;                             /* of them, when memory was last collected fully (garbage_collection.c) */
  size_t freed; /* bytes that scripts freed and have not allocated again (garbage_collection.c) */
  double span;  /* bytes of garbage that are worth a collection on the GPUs in use, 0 without (garbage_collection.c) */
  double owed;  /* KiB of collector work that allocations have requested but not received (garbage_collection.c) */
  /* The last launch's call site, as text and as the source and line that identify it. */
  const char *site_source;
  int site_line;
  char site_short[LUA_IDSIZE], site[512];
  /* The last error object, and where it was raised: thread, stack depth, function. Only for comparison. */
  const void *raised, *raised_thread, *raised_by;
  int raised_depth;
  /* The communicator that sent or received last (mpi/message.c), and its table, which the registry retains. */
  const void *mpi_table;
  const mwl_mpi *mpi_comm;
  char own[1024]; /* the prefix of the Lua layer's source names: errors do not point into these */
} mwl_state;

/* The first upvalue of every function of the binding is its state. */
static inline mwl_state *mwl_of(lua_State *L) { return lua_touserdata(L, lua_upvalueindex(1)); }

/* Make a class: metamethods, methods and properties (functions of the object that __index calls for a name that is not
   a method). All three may be NULL. `index` (may be NULL) replaces the default __index. Leaves the stack unchanged. */
void mwl_class_new(lua_State *L, mwl_state *state, mwl_class which, const luaL_Reg *meta, const luaL_Reg *methods,
                   const luaL_Reg *properties);
/* Give the userdata on top its class. */
void mwl_set_class(lua_State *L, mwl_state *state, mwl_class which);
/* The name of a class, "array". */
const char *mwl_class_name(mwl_class which);
static inline const char *mwl_article(const char *name) { return strchr("aeiou", name[0]) ? "an" : "a"; }
/* The object at `index` if it is of the class, else NULL. */
void *mwl_test(lua_State *L, mwl_state *state, int index, mwl_class which);
/* The object, or a usage error: "`what` wants an array, got a table". */
void *mwl_check(lua_State *L, mwl_state *state, int index, mwl_class which, const char *what);
/* In __index: push the method (upvalue 2) or the property's value (upvalue 3) for the key at stack index 2; or nil, and
   return false. */
bool mwl_index_named(lua_State *L);
/* The complete default __index: for unknown names it calls the Lua layer's __missing. */
int mwl_index_rest(lua_State *L);

/* Each file's part of the raw table (on top of the stack) and its classes. */
void mwl_open_error(lua_State *L, mwl_state *state);
void mwl_open_capability(lua_State *L, mwl_state *state);
void mwl_open_check(lua_State *L, mwl_state *state);
void mwl_open_device(lua_State *L, mwl_state *state);
extern const luaL_Reg mwl_array_facts[]; /* array/facts.c */
void mwl_open_array(lua_State *L, mwl_state *state);
void mwl_open_array_facts(lua_State *L, mwl_state *state);
void mwl_open_host(lua_State *L, mwl_state *state);
void mwl_open_bulk(lua_State *L, mwl_state *state);
void mwl_open_elementwise(lua_State *L, mwl_state *state);
void mwl_open_tensor_map(lua_State *L, mwl_state *state);
void mwl_open_linear(lua_State *L, mwl_state *state);
void mwl_open_dlpack(lua_State *L, mwl_state *state);
void mwl_open_fourier(lua_State *L, mwl_state *state);
void mwl_open_image(lua_State *L, mwl_state *state);
void mwl_open_bytes(lua_State *L, mwl_state *state);
void mwl_open_module(lua_State *L, mwl_state *state);
void mwl_open_symbol(lua_State *L, mwl_state *state);
void mwl_open_memory(lua_State *L, mwl_state *state);
void mwl_open_graph(lua_State *L, mwl_state *state);
void mwl_open_stream(lua_State *L, mwl_state *state);
void mwl_open_kernel(lua_State *L, mwl_state *state);
void mwl_open_launch(lua_State *L, mwl_state *state);
void mwl_open_texture_memory(lua_State *L, mwl_state *state);
void mwl_open_texture(lua_State *L, mwl_state *state);
void mwl_open_graphics(lua_State *L, mwl_state *state);
void mwl_open_communicator(lua_State *L, mwl_state *state);
void mwl_open_cache(lua_State *L, mwl_state *state);
void mwl_open_watch(lua_State *L, mwl_state *state);
void mwl_open_mpi(lua_State *L, mwl_state *state);

/* ---- errors (error.c) ---- */

/* Raise the thread's last failure as an error object. Does not return; int for `return mwl_raise(...)`. */
int mwl_raise(lua_State *L, mwl_state *state) __attribute__((noreturn));
/* The same, with another kind than the code implies. */
int mwl_raise_as(lua_State *L, mwl_state *state, const char *kind) __attribute__((noreturn));
/* Raise misuse: kind "usage", cudaErrorInvalidValue. */
int mwl_usage(lua_State *L, mwl_state *state, const char *format, ...) __attribute__((noreturn, format(printf, 3, 4)));
/* Push the sentence by which the Lua layer (lua/moonwarp/check/refusals.lua) refuses values: that of refusals[name],
   called with as many as `kinds` has letters. v: an int, the value at that stack place (for the last: nothing, if there
   is none); n: a double; s: a string; b: an int, a boolean. May raise. */
void mwl_sentence(lua_State *L, const char *name, const char *kinds, ...);
/* Raise it as misuse. */
int mwl_refusal(lua_State *L, mwl_state *state, const char *name, const char *kinds, ...) __attribute__((noreturn));
/* Raise that an object is no longer there: "indexing: this array was closed". */
int mwl_closed(lua_State *L, mwl_state *state, const char *what, const char *noun) __attribute__((noreturn));
/* The whole number at `index`, which is not negative, or a usage error in which `what` names it. */
size_t mwl_check_size(lua_State *L, mwl_state *state, int index, const char *what);
/* Raise misuse with the message on top of the stack, and the name of the kernel that it concerns, or NULL. */
int mwl_usage_top(lua_State *L, mwl_state *state, const char *kernel) __attribute__((noreturn));
/* Raise the table at stack index 1 (kind, code, message, …) as an error object. */
int mwl_raise_table(lua_State *L, mwl_state *state) __attribute__((noreturn));
/* Pass a compiler's warnings to the Lua layer. May raise. */
void mwl_tell_warnings(lua_State *L, const char *log);
/* Warn of a launch that was configured at `site` and never called. For finalizers: never raises. */
void mwl_tell_unused(lua_State *L, const char *kernel, const char *site);
/* Raise unless code is MW_SUCCESS. */
static inline void mwl_must(lua_State *L, mwl_state *state, int code) {
  if (code) mwl_raise(L, state);
}

/* Push the name of a library, or nil and why there is none if the code is MW_NOT_SUPPORTED. Returns the values' number. */
int mwl_library_name(lua_State *L, mwl_state *state, int code, const char *name);
/* Describe a value for a message: "a table", "the number 3", "an array of float". Written into `out`. */
const char *mwl_describe(lua_State *L, mwl_state *state, int index, char *out, size_t size);
/* The script's current position: the innermost Lua function that is not the Lua layer's, from the level `from` on: 1 is
   what called the binding. False if there is none. */
bool mwl_caller(lua_State *L, mwl_state *state, int from, lua_Debug *ar);
/* "script.lua:12" of a caller, for the error messages of a launch. */
const char *mwl_site(lua_State *L, mwl_state *state, char *out, size_t size);
/* The same; the text is composed again only when the call site has changed. */
const char *mwl_call_site(lua_State *L, mwl_state *state, int from); /* launch.c */

/* ---- the collector (garbage_collection.c) ---- */

/* Before allocating `bytes` of device memory: let the collector do proportional work. May run finalizers. */
void mwl_collect_step(lua_State *L, mwl_state *state, size_t bytes);
/* A device was opened: take its memory into account for the amount of garbage that is worth a collection. */
void mwl_collect_know(mwl_state *state, mw_device *device);
/* After a failed allocation: collect garbage. True if it is worth trying again; `attempt` counts the attempts from 0. */
bool mwl_collect_all(lua_State *L, mwl_state *state, mwl_device *device, int attempt);

/* ---- values (value.c) ---- */

/* The path to a value, for messages: "parameter 2 'view'" -> ".rows" -> "[3]". */
typedef struct mwl_place {
  const struct mwl_place *parent;
  const char *name; /* a field's, or the root's whole text */
  size_t index;     /* 1-based; 0 for a field or a root */
} mwl_place;

/* The owner that retains arrays whose addresses are stored in pointer fields. */
typedef struct mwl_keeper {
  mwl_device *device;
  mw_launch *launch; /* retains them, or NULL */
  int anchors;       /* the stack index of a table to which they are appended, or 0 */
} mwl_keeper;

/* Store the value at `index` as `type` into `out` (type->size bytes). False, with a message pushed on the stack, if it
   does not fit. Tables are read without metamethods, so no other code runs. Raises only when out of memory. */
bool mwl_pack(lua_State *L, mwl_state *state, int index, const mw_type *type, void *out, const mwl_place *place,
              const mwl_keeper *keeper);
/* Whether the value is a complex number, mw.complex's. */
bool mwl_is_complex(lua_State *L, int index);
/* Store a number (or boolean) of a scalar type; false if it does not fit, without a message. */
bool mwl_pack_number(lua_State *L, int index, const mw_type *type, void *out);
/* Push the value of `type` at `bytes`. */
void mwl_push(lua_State *L, const mw_type *type, const void *bytes);
/* Push a 64-bit integer exactly, even if Lua's numbers are doubles (int64.c). */
void mwl_push_int64(lua_State *L, int64_t value, bool is_unsigned);
/* Whether the value at `index` is a boxed 64-bit integer, not a number, and its value. */
bool mwl_test_int64(lua_State *L, int index, int64_t *value, bool *is_unsigned);
void mwl_open_int64(lua_State *L);
/* Push a scalar of a scalar type. */
void mwl_push_number(lua_State *L, const mw_type *type, const void *bytes);
void mwl_open_value(lua_State *L, mwl_state *state);

/* ---- dtypes (dtype.c) ---- */

/* A dtype at `index`, a name or an object (absent: `fallback`, may be NULL for none). *module is the module that the
   type belongs to, borrowed, or NULL. */
const mw_type *mwl_check_dtype(lua_State *L, mwl_state *state, int index, const char *fallback, mw_module **module);
/* Push a dtype as a Lua value: a name, or an object for a module's struct. */
void mwl_dtype_push(lua_State *L, mwl_state *state, const mw_type *type, mw_module *module);
/* Push the description of a parameter or a field: {name =, type =, offset =, size =, dtype =}, in bytes. dtype: that of
   its value; for a pointer, that of an array to pass; for an array, that of its elements; nil if there is none. */
void mwl_place_push(lua_State *L, mwl_state *state, const char *name, const mw_type *type, size_t offset,
                    mw_module *module);
int mwl_module_dtype(lua_State *L);
void mwl_open_dtype(lua_State *L, mwl_state *state);

/* ---- devices, arrays, kernels ---- */

/* The current device of this state, opened if necessary. */
mwl_device *mwl_current(lua_State *L, mwl_state *state);
/* Wait for work in flight and raise the failure of a kernel that this state ran since the last call; cheap if nothing
   was launched. Called before data is returned to the host, so that the results of a failed kernel are not taken for
   data. */
void mwl_settle(lua_State *L, mwl_state *state, mwl_device *device);

/* Before data is written to the device, which waits as well: only runs Lua functions that streams have to call. */
static inline void mwl_drain(lua_State *L, mwl_state *state, mwl_device *device) {
  mw_owner_use(state->owner);
  if (state->calls > 0) mwl_settle(L, state, device);
}
/* Wait by wait(handle), a mw_result, and call Lua functions that block it meanwhile. */
int mwl_wait(lua_State *L, mwl_state *state, int (*wait)(void *), void *handle);
/* Call the Lua function for kernels' printf output, if there is one and there is output. */
void mwl_deliver_printed(lua_State *L, mwl_state *state);
int mwl_wait_device(lua_State *L, mwl_state *state, mwl_device *device);
/* stream.c: queue the function on top of the stack; the caller fills in its hold. Remove the last ones from the
   queue. */
mw_hold **mwl_queue_call(lua_State *L, mwl_state *state);
void mwl_unqueue_calls(lua_State *L, mwl_state *state, size_t count);
/* The stream for work on a device that names no stream. */
mw_stream *mwl_stream_in_use(lua_State *L, mwl_state *state, mwl_device *device);
/* graph.c: retain the function at `index` for the graph's next host node. */
void mwl_graph_keep_function(lua_State *L, const mw_graph *graph, int index);
/* The stream object at `index`, open, or a usage error. */
mwl_stream *mwl_check_stream(lua_State *L, mwl_state *state, int index, const char *what);

/* Push a table of texture limits. (capability.c) */
void mwl_push_textures(lua_State *L, const mw_texture_limits *facts);
/* Push a device's object. */
void mwl_device_push(lua_State *L, mwl_device *device);

/* The handle of an array object, or a usage error if it was closed. */
mwl_array *mwl_check_array(lua_State *L, mwl_state *state, int index, const char *what);
/* The array at `index`, or the whole rows if it is pitched memory; else NULL. May be closed. */
mwl_array *mwl_test_memory(lua_State *L, mwl_state *state, int index);
/* The texture or surface at `index`, if it is one and not closed; else NULL. */
mwl_texture *mwl_test_texture(lua_State *L, mwl_state *state, int index);
/* For a symbol that is a reference: push the texture or surface that it is bound to, or nil; bind it to the value. */
int mwl_reference_get(lua_State *L, mwl_state *state, int index);
int mwl_reference_set(lua_State *L, mwl_state *state, int index, int value);

/* Push a new closed array object on `device`. */
mwl_array *mwl_array_push(lua_State *L, mwl_state *state, mwl_device *device);
/* Fill a closed array object with newly allocated memory, collecting garbage if there is none left. `module` is the one
   that dtype belongs to, or NULL. Raises. */
void mwl_array_fill_new(lua_State *L, mwl_state *state, mwl_array *array, const mw_type *dtype, mw_module *module,
                        int rank, const size_t *shape);
/* Fill a closed array object with `handle`, which it takes over. */
void mwl_array_adopt(mwl_state *state, mwl_array *array, mw_array *handle, mw_module *module, size_t counted);

/* The array, or if it is strided a contiguous copy, left on the stack. */
mwl_array *mwl_array_packed(lua_State *L, mwl_state *state, mwl_array *array);
/* `free`: free the memory; the finalizer: release the handle. */
int mwl_array_free(mwl_state *state, mwl_array *array);
void mwl_array_close(mwl_state *state, mwl_array *array);

/* Write a nested table, an array of equal count and type, or a string of bytes over the whole array. Raises. */
void mwl_array_assign(lua_State *L, mwl_state *state, mwl_array *array, int index);

#define MWL_MAX_RANK 8
/* Read a shape: a number, or a table of numbers. Raises. Returns the rank. */
int mwl_check_shape(lua_State *L, mwl_state *state, int index, size_t shape[MWL_MAX_RANK]);

/* Push a kernel object for `name` of the module object at `module_index`. Raises if there is none. */
void mwl_kernel_push(lua_State *L, mwl_state *state, int module_index, const char *name, mwl_device *device);
/* Configure the kernel's own launch as `config`; a mw_result. */
/* Make it the cooperative, dependent or clustered launch that the configuration says. */
int mwl_launch_attributes(mw_launch *launch, const mwl_config *config);
int mwl_kernel_stand_at(mwl_kernel *kernel, const mwl_config *config);
/* Push a symbol object for `name`; false (nothing pushed) if the module has none of that name. */
bool mwl_symbol_push(lua_State *L, mwl_state *state, int module_index, const char *name);
/* Read and assign the symbol at stack index `index`. */
int mwl_symbol_get(lua_State *L, mwl_state *state, int index);
int mwl_symbol_set(lua_State *L, mwl_state *state, int index, int value);

#endif
