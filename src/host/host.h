/* What the files of libmoonwarp_cuda share: CUDA's C API for hosts, mapped onto moonwarp.h.
 *
 * The functions convert: handles to objects, CUDA's structs to the core's, the core's codes to CUDA's. What the core
 * checks is not checked here. Each public function is one expression that ends in host_end or host_end_driver. */
#ifndef MW_HOST_H
#define MW_HOST_H

#include "include/cuda.h"
#include "include/cuda_runtime_api.h"
#include "moonwarp.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The library exports the public functions only. */

/* ---- results (result.c) ---- */

/* Save the message of a failed call for mwCudaErrorMessage; returns the code. */
int host_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The end of a function of the runtime API: sets the thread's last error, and the message if the core failed.
   MW_NOT_READY is an answer, not a failure. */
cudaError_t host_end(int code);
/* The same for the driver API, which has no last error. */
CUresult host_end_driver(int code);

/* The end of a function of the driver API that called one of the runtime API: `code` is the result, and `before` the
   last error before the call, which is restored. */
CUresult host_end_through(int code, int before);
int host_last_error(void);

/* ---- handles (handle.c) ---- */

typedef enum host_kind {
  HOST_STREAM = 1,
  HOST_EVENT,
  HOST_ARRAY,
  HOST_TEXTURE,
  HOST_SURFACE,
  HOST_GRAPH,
  HOST_EXEC,
  HOST_NODE,
  HOST_CONTEXT,
  HOST_MODULE,
  HOST_FUNCTION,
  HOST_TEXREF,
  HOST_GRAPHICS,
  HOST_MIPMAP,
  HOST_GENERATOR,
  HOST_REFERENCE,   /* from here on never handles, but keys of another kind: a symbol */
  HOST_SHOWN,       /* a reference by its struct's address */
  HOST_BUFFER_NAME, /* OpenGL's number of a buffer */
  HOST_DISTRIBUTION /* cuRAND's, by its address */
} host_kind;

/* A handle for an object. It is never reused, so that the handle of a destroyed object is recognised. `owner` is the
   number of the context that the object belongs to. */
void *host_handle_new(host_kind kind, unsigned owner, void *object);
/* The same with a given key: an address, or the handle that kernels take. */
void host_handle_enter(host_kind kind, unsigned owner, uint64_t key, void *object);
/* The object, or NULL if the handle is not of a living object of this kind. Streams, events and arrays are retained
   under the lock, so that another thread may destroy them meanwhile; others are borrowed. */
void *host_handle_find(host_kind kind, const void *handle);
void *host_handle_find_key(host_kind kind, uint64_t key);
/* Remove the handle: the caller must release the object. NULL as above. */
void *host_handle_take(host_kind kind, const void *handle);
void *host_handle_take_key(host_kind kind, uint64_t key);
/* Remove any handle of this kind that the context owns, or NULL: for destroying a context. */
void *host_handle_take_owned(host_kind kind, unsigned owner);
/* The same without removing it; borrowed or retained as above. */
void *host_handle_any_owned(host_kind kind, unsigned owner);
/* The number of the context that a handle belongs to, 0 if there is no living object. */
unsigned host_handle_owner(host_kind kind, const void *handle);
/* A number that is stored with a handle, 0 at first: the flags that an array was made with. */
void host_handle_set_note(host_kind kind, const void *handle, unsigned note);
unsigned host_handle_note(host_kind kind, const void *handle);
/* Whether a value has the form of a handle, living or not: then it is no address. */
bool host_is_handle(const void *value);

/* ---- contexts (driver/context.c) ---- */

/* A context of a device: the primary one, which the runtime API uses, or one of cuCtxCreate. Memory, modules, streams
   and all else that was made in a context is released with it. */
typedef struct host_context {
  unsigned id; /* owner of handles; never reused */
  int ordinal;
  mw_device *device;
  bool primary;
  int uses; /* attachments; of a primary context, the number of cuDevicePrimaryCtxRetain */
  unsigned flags;
  double limits[3]; /* the limits of the stack, the heap and launches before they were changed; 0: unchanged */
  void *handle;
  void *program; /* runtime/program.c's: the program's modules in this context */
} host_context;

int host_device_count(void);
/* The device's name, or NULL and a failure. */
const char *host_device_name(int ordinal);
int host_device_ordinal(const mw_device *device);
int host_device_find(const char *name);
/* The device's primary context, made in the first call. */
int host_context_primary(int ordinal, host_context **out);
/* The calling thread's context: the current one, or else its device's primary one. */
int host_context_current(host_context **out);
/* The same for the driver API: MW_INVALID_CONTEXT if there is none, MW_INITIALIZATION_ERROR before cuInit. */
int host_context_driver(host_context **out);
/* Release all that was made in the context. */
void host_context_empty(host_context *context);

/* The core stores flags with memory; a context's number stands in them above CUDA's flags. */
#define HOST_FLAG_BITS 8
static inline unsigned host_flags_in(const host_context *context, unsigned flags) {
  return context->id << HOST_FLAG_BITS | flags;
}

/* A public function's body: `call`, an expression that may use `context`, and the end of a function of either API. */
#define HOST_RUNTIME(call)                                                                                             \
  host_context *context;                                                                                               \
  int code = host_context_current(&context);                                                                           \
  return host_end(code ? code : (call))
#define HOST_DRIVER(call)                                                                                              \
  host_context *context;                                                                                               \
  int code = host_context_driver(&context);                                                                            \
  return host_end_driver(code ? code : (call))

/* The stream of the context's device for a stream argument; *out is yours to release. */
int host_stream(host_context *context, cudaStream_t stream, mw_stream **out);
/* The thread's context and the stream. */
int host_context_stream(cudaStream_t stream, host_context **context, mw_stream **out);

/* ---- devices (runtime/device.c) ---- */
int host_properties(int ordinal, struct cudaDeviceProp *out);
int host_attribute(int attribute, int ordinal, int *value);
int host_limit_get(host_context *context, int limit, size_t *value);
void host_limits_reset(host_context *context);
int host_limit_set(host_context *context, int limit, size_t value);
/* runtime/occupancy.c: the row of CUDA's tables of compute capabilities for a device. */
int host_capability(const mw_properties *facts, mw_capability *out);

/* ---- kernels and variables of the program (runtime/program.c) ---- */

int host_kernel(host_context *context, const void *func, mw_kernel **out);   /* borrowed from the context */
int host_symbol(host_context *context, const void *symbol, mw_symbol **out); /* likewise */
void host_program_drop(host_context *context);
bool host_is_registered(const void *address); /* by mwCudaRegister */
/* A module from a file or from an image in memory: either one that mwcc compiled, or CUDA C text. */
int host_module_from_text(host_context *context, const char *text, const char *file, const char *options,
                          mw_module **out);
int host_module_from_file(host_context *context, const char *path, const char *options, mw_module **out);
int host_module_from_memory(host_context *context, const void *image, mw_module **out);

/* ---- launching (runtime/launch.c) ---- */

typedef struct host_geometry {
  unsigned grid[3], block[3];
  size_t shared;
  bool cooperative, dependent;
  unsigned cluster[3]; /* 0: none, or the kernel's */
} host_geometry;
/* A launch with an array of pointers to its arguments, one a parameter; yours. */
int host_launch_pointers(mw_kernel *kernel, const host_geometry *geometry, void *const *arguments, mw_launch **out);
/* The same with a parameter block; set[i] says whether byte i was given; NULL: all of `size`. */
int host_launch_block(mw_kernel *kernel, const host_geometry *geometry, const unsigned char *block,
                      const unsigned char *set, size_t size, mw_launch **out);
/* Run in the stream of a handle; the launch is released even if that fails. */
int host_launch_run(host_context *context, mw_launch *launch, cudaStream_t stream);
/* A launch by a configuration with attributes, which cudaLaunchKernelExC and cuLaunchKernelEx share, as their structs do;
   events: that are recorded after it. (runtime/launch_attributes.c) */
typedef struct host_attributes {
  host_geometry geometry;
  cudaStream_t stream;
  cudaEvent_t events[2];
} host_attributes;
int host_attributes_read(const cudaLaunchConfig_t *config, host_attributes *out);
int host_attributes_run(host_context *context, const host_attributes *attributes, mw_launch *launch);
/* The largest cluster that a launch of the configuration may have, and how many of its own the device holds. */
int host_cluster_largest(host_context *context, mw_kernel *kernel, const cudaLaunchConfig_t *config, int *size);
int host_cluster_count(host_context *context, mw_kernel *kernel, const cudaLaunchConfig_t *config, int *clusters);
/* The clusters that were set for the kernel, or those of its __cluster_dims__, 0: none; and whether they may have more than
   8 blocks. (runtime/function.c) */
void host_function_cluster(mw_kernel *kernel, unsigned cluster[3], bool *larger);
/* The address of a function of the driver API, or NULL. (runtime/entry_point.c) */
void *host_entry_point(const char *name);
int host_function_attributes(host_context *context, mw_kernel *kernel, struct cudaFuncAttributes *out);
int host_function_set_attribute(host_context *context, mw_kernel *kernel, int attribute, int value);
/* runtime/occupancy.c: the number of blocks of `threads` threads that are resident on a multiprocessor. */
int host_occupancy(host_context *context, mw_kernel *kernel, int threads, size_t shared, int *blocks);
/* The block size with the most resident threads, the largest of these, and the smallest grid that fills the device.
   Blocks have `shared` bytes of dynamic shared memory, or by_size(block size). limit 0: none. */
int host_occupancy_best(host_context *context, mw_kernel *kernel, size_t (*by_size)(int threads), size_t shared,
                        int limit, int *grid, int *block);

/* ---- memory (runtime/memory.c) ---- */
int host_memory_new(host_context *context, mw_memory_kind kind, unsigned flags, size_t bytes, uint64_t *address);
/* Free memory if its kind is in the set `kinds` of bits 1 << kind; address 0 does nothing. */
int host_memory_free(host_context *context, uint64_t address, unsigned kinds, const char *function);
int host_memory_pitched(host_context *context, size_t width, size_t height, uint64_t *address, size_t *pitch);
int host_memory_mapped(host_context *context, void *host, unsigned flags, uint64_t *address);
int host_memory_flags(host_context *context, void *host, unsigned *flags);
/* cudaMemcpy3D and cuMemcpy3D (driver/array.c). */
int host_copy_3d(host_context *context, mw_stream *stream, const struct cudaMemcpy3DParms *p);
int host_copy_3d_driver(host_context *context, mw_stream *stream, const CUDA_MEMCPY3D *p);
/* stream NULL: wait, in the default stream. */
int host_copy(host_context *context, mw_stream *stream, const mw_copy *copy);
int host_copy_line(host_context *context, mw_stream *stream, uint64_t target, uint64_t source, size_t bytes, int kind);
int host_fill(host_context *context, mw_stream *stream, uint64_t target, size_t pitch, size_t rows, unsigned value,
              size_t size, size_t width, size_t height, size_t depth);
static inline uint64_t host_address(const void *p) { return (uint64_t)(uintptr_t)p; }
static inline void *host_pointer(uint64_t address) { return (void *)(uintptr_t)address; }

/* ---- CUDA arrays (runtime/array.c, copy_3d.c) ---- */

int host_channels(const struct cudaChannelFormatDesc *desc, mw_channels *out);
struct cudaChannelFormatDesc host_channel_desc(const mw_channels *channels);
int host_array_new(host_context *context, const mw_cuda_array_desc *desc, cudaArray_t *out);
/* The array, retained; or MW_INVALID_VALUE (driver: MW_INVALID_RESOURCE_HANDLE). */
int host_array(cudaArray_const_t handle, mw_cuda_array **out);
/* The core's description of an array of one level from CUDA's extent and flags. */
int host_array_describe(const mw_channels *channels, struct cudaExtent extent, unsigned flags, mw_cuda_array_desc *out);
/* The mipmapped array, retained; or MW_INVALID_VALUE. (mipmap.c) */
int host_mipmap(const void *handle, mw_cuda_array **out);
/* A handle of an array that the user does not free (takes the reference); and removing it, with its levels' handles. */
cudaMipmappedArray_t host_mipmap_lend(host_context *context, mw_cuda_array *array, unsigned flags);
void host_mipmap_take_back(cudaMipmappedArray_t handle);
/* The note of an array that belongs to an OpenGL resource or is a level of a mipmapped array, above CUDA's flags: the
   user cannot free it. */
#define HOST_ARRAY_LENT  0x100u
#define HOST_ARRAY_LEVEL 0x200u
#define HOST_ARRAY_FLAGS 0xffu
int host_array_check_own(const void *handle);
/* One side of a copy: an array, or memory by address with its pitch and the rows of a slice. */
typedef struct host_side {
  mw_cuda_array *array;
  uint64_t address;
  size_t pitch, rows;
  size_t x, y, z; /* bytes, rows, slices */
} host_side;
/* In the stream; NULL: wait. */
int host_box_copy(host_context *context, mw_stream *stream, const host_side *target, const host_side *source,
                  size_t width, size_t height, size_t depth, int kind);
/* `bytes` consecutive bytes from byte x of row y of the array on, to or from memory. */
int host_array_line(host_context *context, mw_stream *stream, mw_cuda_array *array, size_t x, size_t y, uint64_t memory,
                    size_t bytes, bool to_array);
int host_array_to_array(host_context *context, mw_cuda_array *to, size_t dx, size_t dy, mw_cuda_array *from, size_t sx,
                        size_t sy, size_t count);

/* ---- textures (runtime/texture.c) ---- */
/* Memory from an address on as a resource of textures; MW_INVALID_VALUE if it is no device memory. */
int host_resource_linear(host_context *context, uint64_t address, const mw_channels *channels, size_t bytes,
                         mw_resource *out, mw_array **keep);
int host_resource_pitched(host_context *context, uint64_t address, const mw_channels *channels, size_t width,
                          size_t height, size_t pitch, mw_resource *out, mw_array **keep);

/* A texture of the resource. For linear memory, which is read by element, CUDA ignores filter and address modes. */
int host_texture_new(const mw_resource *resource, const mw_texture_desc *desc, mw_texture **out);

void host_object_release(void *object); /* runtime/texture_object.c */
void host_reference_release(void *reference);

void host_graphics_release(void *graphics); /* graphics.c */

/* ---- graphs (runtime/graph.c) ---- */
void host_graph_release(void *graph);
void host_node_release(void *node);
/* A node that does what `give` queues in a capturing stream; NULL: an empty node. */
typedef int (*host_give)(host_context *context, mw_stream *stream, const void *params);
int host_graph_add(host_context *context, cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after,
                   size_t count, host_give give, const void *params);
/* The same, replacing a node of an exec. */
int host_graph_replace(host_context *context, cudaGraphExec_t exec, cudaGraphNode_t node, host_give give,
                       const void *params);

/* graph_conditional.c: a conditional node; *bodies is the library's, and lives as long as the graph. */
int host_graph_add_conditional(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                               struct cudaConditionalNodeParams *params);
/* Numbers of the graph's nodes; calloc'd, yours. */
int host_graph_numbers(cudaGraph_t graph, const cudaGraphNode_t *nodes, size_t count, size_t **numbers);

void host_generator_release(void *generator); /* random/curand.c */

void host_module_release(void *module); /* driver/module.c */
void host_texref_release(void *texref); /* driver/texture_reference.c */

#endif
