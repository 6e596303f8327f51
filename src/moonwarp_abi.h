/* moonwarp: the public C interface.
 *
 * This text holds every public declaration and not one preprocessor line, so that the same words serve a C compiler
 * (through moonwarp.h) and LuaJIT's ffi.cdef (through mw_abi_text). It is also the manual of the C interface.
 *
 * Conventions
 *   Results.    A function that can fail returns a mw_result; what went wrong stands in the calling thread's error slot
 *               (mw_error_last) until the next failure on that thread. Out parameters are written on success only.
 *   Ownership.  mw_X_new, mw_X_open, mw_X_compile, mw_X_load and mw_module_kernel/_symbol hand out one reference, which
 *               is yours: give it back with mw_X_release. Releasing NULL is fine. References may be given back in any
 *               order: a child keeps its parent (buffer -> device, kernel -> module -> device, launch -> kernel and
 *               arguments), and work in flight keeps all that it uses.
 *   Threads.    Every object may be used from any thread; two threads may use one object at once, except a mw_launch.
 *   Blocking.   Launches return at once; they run in the order in which they were made. A function that reads or writes
 *               device memory for the host waits for the work before it. Each declaration says whether it blocks.
 *   Indices     are 0-based here and sizes are in bytes, unless a declaration says "elements".
 */

/* ---- results and errors ------------------------------------------------------------------------------------------ */

/* CUDA's result codes (the values of cudaError_t, CUDA 11.2 runtime API, section 5.28). mw_result_name(code) is
   CUDA's name of it, "cudaErrorInvalidValue". */
typedef enum mw_result {
  MW_SUCCESS = 0,
  MW_INVALID_VALUE = 1,
  MW_MEMORY_ALLOCATION = 2,
  MW_INITIALIZATION_ERROR = 3,
  MW_INVALID_CONFIGURATION = 9,
  MW_INVALID_PITCH_VALUE = 12,
  MW_INVALID_SYMBOL = 13,
  MW_INVALID_HOST_POINTER = 16,
  MW_INVALID_DEVICE_POINTER = 17,
  MW_INVALID_TEXTURE = 18,
  MW_INVALID_TEXTURE_BINDING = 19,
  MW_INVALID_CHANNEL_DESCRIPTOR = 20,
  MW_INVALID_MEMCPY_DIRECTION = 21,
  MW_INVALID_FILTER_SETTING = 26,
  MW_INVALID_NORM_SETTING = 27,
  MW_INVALID_SURFACE = 37,
  MW_MISSING_CONFIGURATION = 52,
  MW_INVALID_DEVICE_FUNCTION = 98,
  MW_NO_DEVICE = 100,
  MW_INVALID_DEVICE = 101,
  MW_INVALID_KERNEL_IMAGE = 200,
  MW_INVALID_CONTEXT = 201,
  MW_MAP_FAILED = 205,
  MW_UNMAP_FAILED = 206,
  MW_ALREADY_MAPPED = 208,
  MW_NO_KERNEL_IMAGE_FOR_DEVICE = 209,
  MW_NOT_MAPPED = 211,
  MW_NOT_MAPPED_AS_ARRAY = 212,
  MW_NOT_MAPPED_AS_POINTER = 213,
  MW_UNSUPPORTED_LIMIT = 215,
  MW_PEER_ACCESS_UNSUPPORTED = 217,
  MW_INVALID_GRAPHICS_CONTEXT = 219,
  MW_JIT_COMPILER_NOT_FOUND = 221,
  MW_INVALID_SOURCE = 300,
  MW_FILE_NOT_FOUND = 301,
  MW_OPERATING_SYSTEM = 304,
  MW_INVALID_RESOURCE_HANDLE = 400,
  MW_SYMBOL_NOT_FOUND = 500,
  MW_NOT_READY = 600,
  MW_ILLEGAL_ADDRESS = 700,
  MW_LAUNCH_OUT_OF_RESOURCES = 701,
  MW_LAUNCH_TIMEOUT = 702,
  MW_PEER_ACCESS_ALREADY_ENABLED = 704,
  MW_PEER_ACCESS_NOT_ENABLED = 705,
  MW_ASSERT = 710,
  MW_HOST_MEMORY_ALREADY_REGISTERED = 712,
  MW_HOST_MEMORY_NOT_REGISTERED = 713,
  MW_HARDWARE_STACK_ERROR = 714,
  MW_ILLEGAL_INSTRUCTION = 715,
  MW_MISALIGNED_ADDRESS = 716,
  MW_INVALID_PC = 718,
  MW_LAUNCH_FAILURE = 719,
  MW_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
  MW_NOT_SUPPORTED = 801,
  MW_STREAM_CAPTURE_UNSUPPORTED = 900,
  MW_STREAM_CAPTURE_INVALIDATED = 901,
  MW_STREAM_CAPTURE_MERGE = 902,
  MW_STREAM_CAPTURE_UNMATCHED = 903,
  MW_STREAM_CAPTURE_UNJOINED = 904,
  MW_STREAM_CAPTURE_ISOLATION = 905,
  MW_STREAM_CAPTURE_IMPLICIT = 906,
  MW_CAPTURED_EVENT = 907,
  MW_STREAM_CAPTURE_WRONG_THREAD = 908,
  MW_GRAPH_EXEC_UPDATE_FAILURE = 910,
  MW_UNKNOWN = 999
} mw_result;

/* The whole story of one failure. Strings live until the next failure on the same thread. */
typedef struct mw_error {
  int code;            /* a mw_result */
  const char *name;    /* CUDA's name of the code */
  const char *kind;    /* "usage", "memory", "compile", "launch", "kernel", "device" or "io" */
  const char *message; /* one or more sentences for the person who made the mistake */
  const char *file;    /* of the source position, or NULL */
  int line, column;    /* 1-based; 0 where unknown */
  const char *kernel;  /* the kernel's source name, or NULL */
  int has_block;       /* whether block is known */
  unsigned block[3];   /* blockIdx */
  int has_thread;      /* whether thread is known */
  unsigned thread[3];  /* threadIdx of the faulting thread */
  const char *log;     /* the compiler's whole output with carets, or NULL */
} mw_error;

/* The calling thread's last failure, or NULL where it has none since mw_error_clear. Yours to read, not to free. */
const mw_error *mw_error_last(void);
void mw_error_clear(void);

const char *mw_result_name(int code); /* "cudaErrorInvalidValue"; "cudaErrorUnknown" for a number that is no code */
const char *mw_result_text(int code); /* CUDA's sentence for it, "invalid argument" */

/* ---- the library ------------------------------------------------------------------------------------------------- */

const char *mw_version(void);  /* "0.1.0" */
const char *mw_abi_text(void); /* this text without its comments, for ffi.cdef */
double mw_time(void);          /* monotonic seconds, for measuring */
/* Which devices there are, what was looked for to use them, where, what was found, and what to do where something is
   missing: lines for people, at most `size` bytes of them with the NUL. Returns their whole length. Opens every device. */
size_t mw_doctor(char *text, size_t size);

/* ---- types ------------------------------------------------------------------------------------------------------- */

typedef enum mw_type_kind {
  MW_TYPE_VOID,
  MW_TYPE_BOOL,
  MW_TYPE_INT,     /* signed, 1, 2, 4 or 8 bytes; enumerations too */
  MW_TYPE_UINT,    /* unsigned */
  MW_TYPE_BFLOAT,  /* bfloat16: a float's upper half, 2 bytes */
  MW_TYPE_FLOAT,   /* IEEE binary: 2 (half), 4 or 8 bytes */
  MW_TYPE_POINTER, /* element: what it points to */
  MW_TYPE_STRUCT,  /* fields; unions too (fields that overlap) */
  MW_TYPE_VECTOR,  /* float4 and its like: count components of type element, named x y z w */
  MW_TYPE_ARRAY    /* count elements of type element */
} mw_type_kind;

struct mw_type;

typedef struct mw_field {
  const char *name; /* "" for an anonymous member */
  const struct mw_type *type;
  size_t offset;
} mw_field;

/* A CUDA C type. Built-in ones (mw_dtype) live for ever, those of a module as long as the module. */
typedef struct mw_type {
  mw_type_kind kind;
  int is_const;                  /* const-qualified (a pointer's element, a symbol) */
  size_t size;                   /* bytes */
  size_t align;                  /* bytes */
  const char *name;              /* as CUDA C spells it, "const float *" */
  const struct mw_type *element; /* of a pointer, vector or array, else NULL */
  size_t count;                  /* vector: components; array: elements; struct: fields */
  const mw_field *fields;        /* of a struct, else NULL. A struct of more than a byte and no fields: not known */
} mw_type;

/* Bytes that an element of an array has at most: a struct may be as large as all of a kernel's parameters. (CUDA 12.1) */
enum { MW_ELEMENT_BYTES = 32764 };

/* The built-in type called `name`: bool char uchar short ushort int uint long ulong longlong ulonglong float double half
   bfloat16, the fixed-width names int8 … uint64, C spellings such as "unsigned int", each integer and floating one (of 4 bytes or
   more) also with 1 to 4 behind it for the vector type, half2, half4 and bfloat162, and cuComplex, cuFloatComplex and
   cuDoubleComplex, which are float2 and double2. NULL (and no error) where there is none. */
const mw_type *mw_dtype(const char *name);

/* A small number (from 1, below 100) for each built-in scalar and vector type; 0 for any other. */
int mw_type_code(const mw_type *type);

/* Whether memory that holds `stored` elements may be passed where the kernel declares elements of type `wanted`: same
   kind, size and components, const aside; void and plain bytes (char, uchar) accept anything, and pointers accept
   addresses kept as ulonglong. */
int mw_type_accepts(const mw_type *wanted, const mw_type *stored);

/* Store a number into a location of scalar type `type`. `what` names the place in an error ("parameter 2 'n'").
   MW_INVALID_VALUE where it does not fit: an integer out of range, a fraction into an integer type. */
int mw_value_from_double(const mw_type *type, double value, void *out, const char *what);
int mw_value_from_int64(const mw_type *type, int64_t value, void *out, const char *what);
/* Read a scalar; double is exact for all but 64-bit integers. */
double mw_value_to_double(const mw_type *type, const void *value);
int64_t mw_value_to_int64(const mw_type *type, const void *value);

/* ---- devices ----------------------------------------------------------------------------------------------------- */

typedef struct mw_device mw_device;

/* The largest textures and surfaces, in texels: width, height, depth or layers (of cubemaps: faces). 0: there are none of
   the kind, or nothing is known about it. */
typedef struct mw_texture_limits {
  int texture_1d, texture_1d_linear; /* linear: of memory that is no CUDA array */
  int texture_1d_layered[2];
  int texture_2d[2], texture_2d_linear[2], texture_2d_gather[2];
  int texture_2d_layered[3];
  int texture_3d[3];
  int texture_cubemap, texture_cubemap_layered[2];
  int textures; /* that a kernel can use */
  int surface_1d, surface_1d_layered[2];
  int surface_2d[2], surface_2d_layered[3];
  int surface_3d[3];
  int surface_cubemap, surface_cubemap_layered[2];
  int surfaces;
} mw_texture_limits;

/* What a compute capability has. (CUDA guides, "technical specifications per compute capability") */
typedef struct mw_capability {
  int major, minor;
  /* of a multiprocessor */
  int warps, blocks, registers, shared;
  /* of a block, a grid, a thread */
  int threads_per_block, max_block[3];
  int64_t max_grid[3];
  int registers_per_block, registers_per_thread;
  int shared_per_block, shared_per_block_optin; /* without asking for more; the most that can be asked for */
  int banks;                                    /* of shared memory */
  int total_constant, parameter_bytes, local_bytes;
  /* how registers and shared memory are handed out: in these units, for `warp_unit` warps at once; registers to whole
     blocks, or (0) to warps; `shared_reserved` bytes of each block are the system's */
  int register_unit, registers_by_block, warp_unit, shared_unit, shared_reserved;
  mw_texture_limits textures;
} mw_capability;

/* By its name, "1.1"; or one after the other, i from 0. MW_INVALID_VALUE where there is none. */
int mw_capability_find(const char *name, mw_capability *out);
int mw_capability_list(size_t i, mw_capability *out);

/* cudaDeviceProp's facts (CUDA 1.1 guide D.1.6, later guides' table "compute capabilities"). */
typedef struct mw_properties {
  char name[256];   /* "AMD EPYC (2 cores)" */
  char driver[16];  /* "cpu" */
  int major, minor; /* compute capability */
  int multiprocessors;
  int warp_size;
  int max_threads_per_block;
  int max_block[3];
  int64_t max_grid[3];
  size_t shared_per_block;       /* without asking for more */
  size_t shared_per_block_optin; /* most that a launch can ask for */
  size_t total_constant;
  size_t total_memory;
  size_t l2_cache; /* that multiprocessors share; CPU device: what its workers get of the processors' last caches */
  int registers_per_block;
  int clock_khz;
  size_t memory_pitch, texture_alignment;
  size_t texture_pitch_alignment; /* of two-dimensional memory that textures read */
  mw_texture_limits textures;
} mw_properties;

typedef struct mw_memory {
  size_t bytes; /* in live allocations, module variables included */
  size_t count; /* live allocations */
  size_t peak;  /* the most `bytes` has been */
  size_t total; /* what the device could hold */
} mw_memory;

typedef enum mw_limit {
  MW_LIMIT_TIME,           /* seconds a launch may run; 0: no limit (the default) */
  MW_LIMIT_MEMORY,         /* bytes that allocations may take together; 0: what the machine has (the default) */
  MW_LIMIT_STACK,          /* bytes of stack a CUDA thread has for calls and local arrays (cudaLimitStackSize) */
  MW_LIMIT_COMPILE_TIME,   /* seconds a compilation may take */
  MW_LIMIT_COMPILE_MEMORY, /* bytes of address space that a compiler process may take */
  MW_LIMIT_SPECIALISE,     /* threads of a kernel that are launched with blocks of one size before it is compiled for
                              that size: 65536; 0: at once. Where they have a loop each counts as 2, as 8 where that has
                              a loop, too */
  MW_LIMIT_HEAP /* bytes of device memory for malloc in kernels (cudaLimitMallocHeapSize): 8 MiB. It changes only while
                   kernels hold none of it: else MW_INVALID_VALUE */
} mw_limit;

/* The devices there are, under the names that open them: "cpu:0" first, or the best. MW_INVALID_DEVICE past the last. */
int mw_device_list(size_t i, char name[32]);
/* How many devices a driver has that can have any number, from now on: "3", or their compute capabilities, "1.1,2.0,8.0".
   Open devices stay open. It is $MOONWARP_CPU_DEVICES, or one device, until this is called. MW_NOT_SUPPORTED for a driver
   that finds its devices; NULL: back to what it was. */
int mw_device_simulate(const char *driver, const char *devices);
/* Open a device: "cpu", "cuda:1", or NULL for $MOONWARP_DEVICE or else the default. "cpu@1.1" is the CPU device as one of
   that compute capability: with its limits, and without what it has not. The same name gives the same device while anyone
   holds it. MW_INVALID_DEVICE for a name that no driver has. */
int mw_device_open(const char *name, mw_device **out);
/* Whether kernels of `device` can be let reach the memory of another, `peer`; letting them, until mw_device_unreach or
   until one of the two closes. Arrays of the peer may then be arguments of the device's launches.
   MW_PEER_ACCESS_UNSUPPORTED, _ALREADY_ENABLED, _NOT_ENABLED; MW_INVALID_DEVICE for the device itself.
   (cudaDeviceEnablePeerAccess) */
int mw_device_can_reach(mw_device *device, mw_device *peer, int *out);
int mw_device_reach(mw_device *device, mw_device *peer);
int mw_device_unreach(mw_device *device, mw_device *peer);
mw_device *mw_device_retain(mw_device *device);
void mw_device_release(mw_device *device);
const char *mw_device_name(const mw_device *device); /* "cpu:0"; lives as long as the device */
/* Start a device anew: a GPU's arrays, modules and textures are gone, every use of them is MW_INVALID_RESOURCE_HANDLE. After
   a kernel's fault it fails where the driver gives the process no new context. On a device that faults do not harm (the CPU's) it waits for the work and forgets
   what failed. Nobody else may use the device meanwhile. (cudaDeviceReset) */
int mw_device_reset(mw_device *device);
int mw_device_properties(mw_device *device, mw_properties *out);
int mw_device_memory(mw_device *device, mw_memory *out);
/* What kernels print goes to the C library's stdout at once, or, with keep = 1, is kept for mw_device_printed. What was
   kept before a change stays. MW_NOT_SUPPORTED where the device cannot keep it. */
int mw_device_keep_printed(mw_device *device, int keep);
/* Take up to `size` bytes of what was kept, in the order of the calls; how many there were. Of work that is not waited
   for, what it printed so far. Beyond 64 MiB calls are dropped, which a line at the end then says. */
size_t mw_device_printed(mw_device *device, char *text, size_t size);
int mw_device_limit_get(mw_device *device, mw_limit limit, double *value);
int mw_device_limit_set(mw_device *device, mw_limit limit, double value);
/* Wait until all work is done. Reports (once) the first failure of a kernel since the last call that reported one. Calls
   that read device memory for the host report it as well, and then read nothing: what they would read may be wrong. */
int mw_device_synchronize(mw_device *device);
/* For bindings, before a script's state is gone: wait as mw_device_synchronize does, and tell a kernel's failure that this
   finds on stderr, since nobody else will. With `fail_process` the process then ends with status 1, whatever it returns.
   The code of the failure, or MW_SUCCESS. */
int mw_device_leave(mw_device *device, int fail_process);

/* While `on`, an interrupt from the keyboard (SIGINT) stops the kernels that run on any device: they fail with
   MW_LAUNCH_TIMEOUT, "was interrupted", as do those that begin before mw_interrupt_seen is asked. It ends the host's
   program no more; the handler that was there comes back with as many calls with 0. For prompts. */
int mw_interrupt_watch(int on);
/* 1 if there was an interrupt since the last call, else 0. */
int mw_interrupt_seen(void);
/* Wait until there is something to read from the file descriptor (1), or an interrupt that mw_interrupt_seen was not told
   of (0). An interrupt just before the call counts, which would be lost to a host that only reads. */
int mw_interrupt_wait(int descriptor);

/* ---- streams and events ------------------------------------------------------------------------------------------ */

/* A stream is a queue of work: what is in one runs in order, what is in different ones may overlap. Each device has a
   default stream, the legacy one: what is queued there waits for all that was queued before in the other streams, and
   they for it, except for streams made with MW_STREAM_NON_BLOCKING. */
typedef struct mw_stream mw_stream;
typedef struct mw_event mw_event;
typedef struct mw_hold mw_hold;

typedef enum mw_stream_flags {
  MW_STREAM_DEFAULT = 0,
  MW_STREAM_NON_BLOCKING = 1, /* takes no part in the default stream's rule */
  MW_STREAM_LEGACY = 256      /* the default stream itself; not for mw_stream_new */
} mw_stream_flags;

/* `priority`: smaller goes first, within mw_stream_priorities; others are brought into the range. *out is yours; released
   with work in it, the work goes on. (cudaStreamCreateWithPriority) */
int mw_stream_new(mw_device *device, unsigned flags, int priority, mw_stream **out);
mw_stream *mw_stream_retain(mw_stream *stream);
void mw_stream_release(mw_stream *stream);
void mw_stream_priorities(mw_device *device, int *least, int *greatest);
mw_stream *mw_device_stream(mw_device *device); /* the default stream; borrowed */
/* The calling thread's own default stream, which is not special otherwise; yours. (cudaStreamPerThread) */
int mw_stream_per_thread(mw_device *device, mw_stream **out);
mw_device *mw_stream_device(const mw_stream *stream); /* borrowed */
unsigned mw_stream_flags_of(const mw_stream *stream);
int mw_stream_priority(const mw_stream *stream);
uint64_t mw_stream_id(const mw_stream *stream); /* of no other stream of the process, ever */
/* MW_SUCCESS where all is done, MW_NOT_READY (which is no failure, and leaves the error slot alone) where not. */
int mw_stream_query(mw_stream *stream);
/* Wait until the stream is empty; reports (once) the first failure of a kernel in it. MW_NOT_READY where it cannot become
   empty because a hold of the host's is in the way. */
int mw_stream_synchronize(mw_stream *stream);
/* What is queued in `stream` from now on waits for the event's last record so far; for none if there is none. */
int mw_stream_wait(mw_stream *stream, mw_event *event);
/* Call function(context) when the work queued so far is done; later work waits until it returns. It runs on some thread of
   the library's or of a host that waits, and must not call the library. (cudaLaunchHostFunc) */
int mw_stream_call(mw_stream *stream, void (*function)(void *context), void *context);
/* The same for hosts whose functions cannot run on any thread: the stream stands still at the hold until it is released.
   reached: 1 when the work before it is done. Waiting for a stream that stands at a hold is MW_NOT_READY. While the stream
   is captured *out is NULL: a launch of the graph hands out the hold. */
int mw_stream_hold(mw_stream *stream, mw_hold **out);
int mw_hold_reached(const mw_hold *hold);
/* The calling thread calls the function now: until it releases the hold, its waiting for a device passes over streams that
   are held, so that the function can read what was done before it. */
void mw_hold_enter(mw_hold *hold);
void mw_hold_release(mw_hold *hold);
/* Where the calling thread's work goes that names no stream: launches, copies and fills for devices other than the
   stream's go to their default streams. NULL: the default stream. *previous (yours; may be NULL) is what it was. */
int mw_stream_use(mw_stream *stream, mw_stream **previous);

typedef enum mw_event_flags {
  MW_EVENT_DEFAULT = 0,
  MW_EVENT_BLOCKING_SYNC = 1,
  MW_EVENT_DISABLE_TIMING = 2,
  MW_EVENT_INTERPROCESS = 4
} mw_event_flags;

int mw_event_new(mw_device *device, unsigned flags, mw_event **out);
mw_event *mw_event_retain(mw_event *event);
void mw_event_release(mw_event *event);
mw_device *mw_event_device(const mw_event *event); /* borrowed */
/* The event is what the stream comes to now; an earlier record is forgotten, but not by those that wait for it. */
int mw_event_record(mw_event *event, mw_stream *stream);
int mw_event_query(mw_event *event);       /* as mw_stream_query; an event that was never recorded is done */
int mw_event_synchronize(mw_event *event); /* reports no kernel's failure */
/* Milliseconds between two records, at a resolution of less than a microsecond. MW_INVALID_RESOURCE_HANDLE where one was
   never recorded or has no timing, MW_NOT_READY where one is not done. (cudaEventElapsedTime) */
int mw_event_elapsed(mw_event *start, mw_event *end, double *milliseconds);

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

typedef struct mw_buffer mw_buffer;

typedef enum mw_memory_kind {
  MW_MEMORY_UNKNOWN,    /* nothing that moonwarp knows of: the host's own, or nobody's */
  MW_MEMORY_HOST,       /* the host's, pageable, made by mw_memory_new */
  MW_MEMORY_PINNED,     /* the host's, which kernels and copies reach without help */
  MW_MEMORY_REGISTERED, /* the host's own, announced by mw_memory_register */
  MW_MEMORY_DEVICE,
  MW_MEMORY_MANAGED /* host's and device's at the same address */
} mw_memory_kind;

/* Allocate `bytes` on `device`, 256-byte aligned; contents are undefined. *out is yours. 0 bytes are allowed and have
   the address 0. MW_MEMORY_ALLOCATION. Does not block, unless memory is short: then it waits once for the memory of
   freed buffers that work in flight still uses. (cudaMalloc, CUDA 1.1 guide D.5.1) */
int mw_buffer_new(mw_device *device, size_t bytes, mw_buffer **out);
/* The same of another kind of memory than the device's own (see mw_memory_kind): pinned or managed, which the host
   reaches too. */
int mw_buffer_new_kind(mw_device *device, mw_memory_kind kind, size_t bytes, mw_buffer **out);
mw_buffer *mw_buffer_retain(mw_buffer *buffer);
void mw_buffer_release(mw_buffer *buffer);
/* Give the memory back now, whoever still holds the handle; work in flight finishes first, without blocking here.
   Doing it twice is fine. Any later use of the handle is MW_INVALID_RESOURCE_HANDLE. */
int mw_buffer_free(mw_buffer *buffer);
int mw_buffer_is_freed(const mw_buffer *buffer);
size_t mw_buffer_size(const mw_buffer *buffer);
uint64_t mw_buffer_address(const mw_buffer *buffer);  /* device address; 0 once freed */
mw_device *mw_buffer_device(const mw_buffer *buffer); /* borrowed */
/* Host <-> device, waiting for the work before. MW_INVALID_VALUE past the end. */
int mw_buffer_write(mw_buffer *buffer, size_t offset, const void *source, size_t bytes);
int mw_buffer_read(mw_buffer *buffer, size_t offset, void *target, size_t bytes);
/* Device to device, same device, in order with launches; does not block. Overlap is handled as memmove does. */
int mw_buffer_copy(mw_buffer *target, size_t target_offset, mw_buffer *source, size_t source_offset, size_t bytes);
/* Fill `count` elements of `size` bytes (1, 2, 4, 8, 16 or 32; any other size also works) from `offset` on with
   *pattern; in order with launches; does not block. */
int mw_buffer_fill(mw_buffer *buffer, size_t offset, const void *pattern, size_t size, size_t count);
/* A host pointer to the contents where the device's memory is host memory, else NULL. Waits for the work before.
   Valid until the buffer is freed; later launches write under it. */
void *mw_buffer_host(mw_buffer *buffer);

/* ---- memory by address ------------------------------------------------------------------------------------------- */

/* What CUDA's own host functions work on: addresses, with arithmetic, of memory of several kinds. Buffers and arrays are
   found by their addresses too. */
typedef struct mw_memory_info {
  mw_memory_kind kind;
  uint64_t address; /* where the whole piece begins, and its size */
  size_t bytes;
  unsigned flags;    /* as given when it was made */
  mw_device *device; /* borrowed; NULL where it belongs to none */
} mw_memory_info;

/* Make memory of a kind (not UNKNOWN or REGISTERED); `flags` are the caller's own. 0 bytes have the address 0. */
int mw_memory_new(mw_device *device, mw_memory_kind kind, unsigned flags, size_t bytes, uint64_t *address);
/* Give back what mw_memory_new made, at its first address; device memory after the work in flight, as cudaFree does.
   MW_INVALID_VALUE for any other address but 0. */
int mw_memory_free(uint64_t address);
/* The same when the stream comes to it; the address is nobody's from now on. (cudaFreeAsync) */
int mw_memory_free_in(mw_stream *stream, uint64_t address);
/* Announce host memory. MW_HOST_MEMORY_ALREADY_REGISTERED, MW_HOST_MEMORY_NOT_REGISTERED. */
int mw_memory_register(mw_device *device, uint64_t address, size_t bytes, unsigned flags);
int mw_memory_unregister(uint64_t address);
/* What lies at an address. UNKNOWN is no failure. `device` (may be NULL) is asked for buffers and variables. */
int mw_memory_find(mw_device *device, uint64_t address, mw_memory_info *out);
/* A host pointer to `bytes` from `address` on where all of it is memory that moonwarp knows and the host reaches, else
   NULL and a failure. Waits for nothing. */
void *mw_memory_host(uint64_t address, size_t bytes);
/* Live memory that mw_memory_new made; i from 0. MW_INVALID_VALUE past the last. */
int mw_memory_live(size_t i, mw_memory_info *out);

typedef enum mw_direction { /* cudaMemcpyKind */
                            MW_HOST_TO_HOST,
                            MW_HOST_TO_DEVICE,
                            MW_DEVICE_TO_HOST,
                            MW_DEVICE_TO_DEVICE,
                            MW_ANY_DIRECTION
} mw_direction;

typedef struct mw_cuda_array mw_cuda_array;

/* A place in a level of a CUDA array: x in bytes, y in rows, z in slices. */
typedef struct mw_array_place {
  mw_cuda_array *array;
  size_t level, x, y, z;
} mw_array_place;

/* A box of bytes: `width` bytes of each of `height` rows of each of `depth` slices. A pitch is the bytes from row to row,
   `rows` the rows from slice to slice; both may be 0 where there is one row, or one slice. */
typedef struct mw_copy {
  uint64_t target, source;
  size_t target_pitch, target_rows, source_pitch, source_rows;
  size_t width, height, depth;
  mw_direction direction;              /* checked against where the addresses lie; a CUDA array is the device's */
  mw_array_place target_in, source_in; /* a CUDA array in place of the address; array NULL: the address */
  int foreign; /* whether unknown addresses are taken for the host's memory, but for those that only the device could have
                  given out (freed memory); else all are refused */
} mw_copy;

typedef struct mw_fill {
  uint64_t target;
  size_t pitch, rows;
  unsigned value;
  size_t size;                 /* bytes of an element: 1, 2 or 4 of `value` */
  size_t width, height, depth; /* width in elements */
  int foreign;
} mw_fill;

/* Copy or fill in `stream`, one of the device's, or (NULL) in its default stream, waiting for it. In a stream it waits too
   where pageable memory is the host's part, or boxes of one CUDA array overlap. A captured copy keeps its CUDA arrays.
   MW_INVALID_VALUE past the end of memory, MW_INVALID_PITCH_VALUE where rows overlap,
   MW_INVALID_MEMCPY_DIRECTION. (cudaMemcpy3D, cudaMemset3D, cudaMemcpy2DToArrayAsync, and all others of their kind) */
int mw_memory_copy(mw_device *device, mw_stream *stream, const mw_copy *copy);
/* Whether such a copy waits in a stream, too. */
int mw_memory_copy_waits(mw_device *device, const mw_copy *copy);
int mw_memory_fill(mw_device *device, mw_stream *stream, const mw_fill *fill);

/* ---- arrays: a typed, shaped, contiguous view of a buffer -------------------------------------------------------- */

typedef struct mw_array mw_array;

/* A fresh array; contents undefined. shape[0..rank-1] in elements, row-major, rank 1 to 8, no dimension 0 unless the
   array is to be empty. `dtype` must live as long as the array (a built-in one does). */
int mw_array_new(mw_device *device, const mw_type *dtype, int rank, const size_t *shape, mw_array **out);
/* The same in pinned or managed memory. */
int mw_array_new_kind(mw_device *device, mw_memory_kind kind, const mw_type *dtype, int rank, const size_t *shape,
                      mw_array **out);
/* Device, pinned or managed memory that mw_memory_new made, from `address` on, as an array that keeps it until
   mw_memory_free frees it. MW_INVALID_VALUE where the shape goes past its end. */
int mw_memory_array(uint64_t address, const mw_type *dtype, int rank, const size_t *shape, mw_array **out);
/* A view of `array`'s memory from `offset` bytes behind its start: other shape, other type, part of it. Keeps the
   buffer. MW_INVALID_VALUE where it does not fit in the array's bytes or is misaligned for the type. */
int mw_array_view(mw_array *array, size_t offset, const mw_type *dtype, int rank, const size_t *shape, mw_array **out);
/* A view whose elements lie `strides[d]` bytes apart along dimension d, the first one `offset` bytes after the array's first (or
   before it); dtype NULL: the array's. Strides of 0 and others by which elements share memory make a view that can be read
   only. Keeps the buffer. MW_INVALID_VALUE where the elements leave those of `array`, or are misaligned for the type. */
int mw_array_view_strided(mw_array *array, int64_t offset, const mw_type *dtype, int rank, const size_t *shape,
                          const int64_t *strides, mw_array **out);
/* Row i (from 0) of an array of several dimensions, as a view. */
int mw_array_row(mw_array *array, size_t i, mw_array **out);
mw_array *mw_array_retain(mw_array *array);
void mw_array_release(mw_array *array);
int mw_array_free(mw_array *array);                /* mw_buffer_free of the buffer below: every view of it is freed */
mw_buffer *mw_array_buffer(const mw_array *array); /* borrowed */
size_t mw_array_offset(const mw_array *array);     /* bytes into the buffer */
const mw_type *mw_array_dtype(const mw_array *array);
int mw_array_rank(const mw_array *array);
const size_t *mw_array_shape(const mw_array *array);    /* rank entries */
const int64_t *mw_array_strides(const mw_array *array); /* bytes, rank entries */
int mw_array_is_contiguous(const mw_array *array);      /* elements follow each other in row order */
int mw_array_is_read_only(const mw_array *array);       /* a view whose elements share memory */
size_t mw_array_count(const mw_array *array);           /* elements */
size_t mw_array_bytes(const mw_array *array);
/* Elements first .. first+count-1, packed as the dtype packs them, to or from host memory. Waits for the work before. */
int mw_array_read(mw_array *array, size_t first, size_t count, void *target);
int mw_array_write(mw_array *array, size_t first, size_t count, const void *source);
/* The same as numbers, one a scalar component (a float4 element is four). Conversion as mw_value_from_double. */
int mw_array_read_doubles(mw_array *array, size_t first, size_t count, double *target);
int mw_array_write_doubles(mw_array *array, size_t first, size_t count, const double *source);
/* Every element set to *element (dtype's size); in order with launches; does not block. */
int mw_array_fill(mw_array *array, const void *element);
/* element i = start + i*step, computed in double; scalar dtypes. Waits for the work before. */
int mw_array_ramp(mw_array *array, double start, double step);
/* Element-wise copy between arrays of equal count and the same type, any devices. */
int mw_array_copy(mw_array *target, mw_array *source);

typedef enum mw_reduction { MW_SUM, MW_MIN, MW_MAX } mw_reduction;
/* Over all elements of a scalar dtype, waiting for the work before. Sums accumulate in double (pairwise) or, for
   integers, exactly (then *integer is written and *is_integer is 1, unless the result does not fit it). *number is
   written in any case. min and max ignore NaN unless all are;
   of an empty array they are MW_INVALID_VALUE. */
int mw_array_reduce(mw_array *array, mw_reduction reduction, double *number, int64_t *integer, int *is_integer);

/* ---- texture memory: channels, CUDA arrays, copies by boxes ------------------------------------------------------ */

typedef enum mw_channel_kind { MW_CHANNEL_SIGNED, MW_CHANNEL_UNSIGNED, MW_CHANNEL_FLOAT } mw_channel_kind;

/* What a texel is made of: `count` components (1, 2 or 4) of `bits` each: 8, 16 or 32 for integers, 16 or 32 for floats.
   (cudaChannelFormatDesc, whose x y z w are `bits` for the components that there are, else 0) */
typedef struct mw_channels {
  mw_channel_kind kind;
  int bits, count;
} mw_channels;

/* The channels of an element type, and the element type of channels (float4, uchar, half, …).
   MW_INVALID_CHANNEL_DESCRIPTOR where no texel is like that (three components, 64 bits, structs). */
int mw_channels_of(const mw_type *dtype, mw_channels *out);
int mw_channels_dtype(const mw_channels *channels, const mw_type **out);

typedef enum mw_cuda_array_kind {
  MW_CUDA_ARRAY_1D,
  MW_CUDA_ARRAY_2D,
  MW_CUDA_ARRAY_3D,
  MW_CUDA_ARRAY_1D_LAYERED,
  MW_CUDA_ARRAY_2D_LAYERED,
  MW_CUDA_ARRAY_CUBEMAP,        /* height is width; six faces, which count as slices: +x -x +y -y +z -z */
  MW_CUDA_ARRAY_CUBEMAP_LAYERED /* six slices a layer */
} mw_cuda_array_kind;

typedef struct mw_cuda_array_desc {
  mw_cuda_array_kind kind;
  mw_channels channels;
  size_t width, height, depth; /* texels; what the kind does not have is 0 or 1 */
  size_t layers;               /* of the layered kinds; else 0 or 1 */
  size_t levels;               /* of a mipmap, each half as large as the one before; 0 counts as 1 */
} mw_cuda_array_desc;

/* Memory for textures and surfaces, whose layout is the device's own: reached by copies, fetches and surfaces only.
   Contents are undefined. MW_INVALID_VALUE for sizes that the device has no room for or that do not fit the kind.
   (cudaMallocArray, cudaMalloc3DArray, cudaMallocMipmappedArray) */
int mw_cuda_array_new(mw_device *device, const mw_cuda_array_desc *desc, mw_cuda_array **out);
mw_cuda_array *mw_cuda_array_retain(mw_cuda_array *array);
void mw_cuda_array_release(mw_cuda_array *array);
/* As mw_buffer_free. MW_INVALID_VALUE for a level of a mipmap, which goes with it. */
int mw_cuda_array_free(mw_cuda_array *array);
/* A level of a mipmap, counted from 0, as an array without others; it keeps the whole and is freed with it. *out is
   yours: mw_cuda_array_release. (cudaGetMipmappedArrayLevel) */
int mw_cuda_array_level(mw_cuda_array *array, size_t level, mw_cuda_array **out);
int mw_cuda_array_is_freed(const mw_cuda_array *array);
/* As made, with what was 0 filled in: sizes that the kind does not have are 1. */
const mw_cuda_array_desc *mw_cuda_array_describe(const mw_cuda_array *array);
/* Texels of a level in x, y, and slices in z: depth, layers, or six faces a layer. */
int mw_cuda_array_extent(const mw_cuda_array *array, size_t level, size_t extent[3]);
mw_device *mw_cuda_array_device(const mw_cuda_array *array); /* borrowed */
size_t mw_cuda_array_bytes(const mw_cuda_array *array);      /* of device memory */

/* One side of a copy: host memory, a buffer or a CUDA array (one of the three), and where the box begins in it. */
typedef struct mw_box_side {
  void *host;
  mw_buffer *buffer;
  size_t offset;                 /* bytes into host memory or the buffer */
  size_t row_pitch, slice_pitch; /* bytes from a row (slice) to the next there; 0: they follow each other closely */
  mw_cuda_array *array;
  size_t level;
  size_t x, y, z; /* of the box: x in bytes, y in rows, z in slices */
} mw_box_side;

/* Copy a box of `width` bytes, `height` rows and `depth` slices between memory of one device and the host, or within the
   device. Waits for the work before. MW_INVALID_VALUE where the box leaves a side, cuts texels or sides overlap;
   MW_INVALID_PITCH_VALUE where rows are wider than the pitch. (cudaMemcpy2D, cudaMemcpy3D, cudaMemcpyToArray, …) */
int mw_copy_box(const mw_box_side *target, const mw_box_side *source, size_t width, size_t height, size_t depth);
/* The same in the calling thread's stream, as mw_buffer_copy: does not wait, and can be captured, unless the host is a side, or
   boxes of one memory may overlap. */
int mw_copy_box_queued(const mw_box_side *target, const mw_box_side *source, size_t width, size_t height, size_t depth);

/* ---- textures and surfaces --------------------------------------------------------------------------------------- */

/* CUDA's numbers (cudaTextureAddressMode, cudaTextureFilterMode). Wrap and mirror hold for normalized coordinates; else
   they are clamp. */
typedef enum mw_address_mode {
  MW_ADDRESS_WRAP,
  MW_ADDRESS_CLAMP,
  MW_ADDRESS_MIRROR,
  MW_ADDRESS_BORDER
} mw_address_mode;
typedef enum mw_filter_mode { MW_FILTER_POINT, MW_FILTER_LINEAR } mw_filter_mode;
/* Auto: what the reference declares that the texture is first bound to; for an object, element, or normalized where a
   linear filter asks for it. */
typedef enum mw_read_mode { MW_READ_AUTO, MW_READ_ELEMENT, MW_READ_NORMALIZED } mw_read_mode;

/* How a texture is read. (cudaTextureDesc, textureReference) */
typedef struct mw_texture_desc {
  mw_address_mode address[3]; /* of x, y, z */
  mw_filter_mode filter;      /* linear needs floats: float channels or MW_READ_NORMALIZED */
  mw_read_mode read;          /* normalized: integers of 8 or 16 bits as [0, 1] or [-1, 1] */
  int normalized;             /* coordinates run from 0 to 1 */
  int srgb;                   /* 8-bit unsigned channels hold sRGB, read as linear light; needs MW_READ_NORMALIZED */
  int seamless;               /* filter a cubemap across its edges */
  float border[4];            /* what MW_ADDRESS_BORDER finds outside */
  mw_filter_mode mip_filter;
  float lod_bias, lod_min, lod_max; /* levels of a mipmap; a mipmap is read between lod_min and lod_max only */
  int max_anisotropy;               /* accepted and ignored: filtering is isotropic */
} mw_texture_desc;

/* What a texture reads: a CUDA array; or linear memory, `width` elements (height 0); or pitched memory, `height` rows
   of `width` elements, `row_pitch` bytes apart. (cudaResourceDesc) */
typedef struct mw_resource {
  mw_cuda_array *array;
  mw_buffer *buffer;
  size_t offset; /* bytes into the buffer */
  mw_channels channels;
  size_t width, height, row_pitch;
} mw_resource;

/* A texture, or a surface: a way to read (and write) texture memory, with a 64-bit handle that kernels take as
   cudaTextureObject_t or cudaSurfaceObject_t, and which a reference can be bound to. Keeps its memory. */
typedef struct mw_texture mw_texture;

/* MW_INVALID_VALUE, _CHANNEL_DESCRIPTOR, _FILTER_SETTING, _NORM_SETTING, _PITCH_VALUE, _RESOURCE_HANDLE.
   Does not block. (cudaCreateTextureObject) */
int mw_texture_new(const mw_resource *resource, const mw_texture_desc *desc, mw_texture **out);
/* A surface over level `level` of a CUDA array. (cudaCreateSurfaceObject) */
int mw_surface_new(mw_cuda_array *array, size_t level, mw_texture **out);
mw_texture *mw_texture_retain(mw_texture *texture);
/* With the last reference the texture goes, when the work made until then is done. */
void mw_texture_release(mw_texture *texture);
int mw_texture_is_surface(const mw_texture *texture);
/* Read it another way from the next launch on: launches made before keep the old one. How it reads elements
   (desc->read, desc->srgb) cannot change any more. MW_NOT_SUPPORTED for a surface. Does not block. */
int mw_texture_configure(mw_texture *texture, const mw_texture_desc *desc);
int mw_texture_describe(const mw_texture *texture, mw_resource *resource, mw_texture_desc *desc); /* each may be NULL */
/* What kernels take. An address of memory, so arrays of handles are arrays of 64-bit unsigned integers; whoever stores
   one there keeps the texture. MW_READ_AUTO is decided by this call. MW_INVALID_VALUE where the texture has an offset. */
int mw_texture_handle(mw_texture *texture, uint64_t *handle);
/* Bytes from the aligned address, at which linear and pitched textures begin, to where the resource does: a fetch adds
   this much (in elements) to its x. 0 where mw_properties.texture_alignment is kept. (cudaBindTexture's *offset) */
size_t mw_texture_offset(const mw_texture *texture);

typedef enum mw_reference_kind { MW_REFERENCE_NONE, MW_REFERENCE_TEXTURE, MW_REFERENCE_SURFACE } mw_reference_kind;

/* What texture<Element, Dimensions, Mode> or surface<Element, Dimensions> declares. */
typedef struct mw_reference {
  mw_reference_kind kind;
  int dimensions; /* cudaTextureType1D … cudaTextureTypeCubemapLayered: 1, 2, 3, 0x0C, 0xF1, 0xF2, 0xFC */
  mw_read_mode read;
  const mw_type *element; /* void for surface<void> */
} mw_reference;

/* ---- OpenGL: its buffers as memory, its images as CUDA arrays ---------------------------------------------------- */

/* A buffer, or an image (a texture or a renderbuffer), of an OpenGL context, for which a device is to be let. The context is
   the one that is current in the calling thread when the resource is registered, and has to be current there when it is
   mapped and unmapped and when a part of an image is asked for: MW_INVALID_GRAPHICS_CONTEXT where none is, in this and all
   functions below. OpenGL is not to touch the resource while it is mapped. */
typedef struct mw_graphics mw_graphics;

enum {                                /* cudaGraphicsRegisterFlags, cudaGraphicsMapFlags */
       MW_GRAPHICS_READ_ONLY = 1,     /* what is written to it while it is mapped may be lost */
       MW_GRAPHICS_WRITE_DISCARD = 2, /* what it holds before it is mapped may be lost: all of it will be written */
       MW_GRAPHICS_SURFACE = 4,
       MW_GRAPHICS_GATHER = 8
};

/* Register a buffer, by the name that glGenBuffers gave it; an image, by its name and its target (GL_TEXTURE_2D, …,
   GL_RENDERBUFFER). *out is yours. MW_INVALID_RESOURCE_HANDLE where the context has none of that name; MW_INVALID_VALUE for
   flags, targets and formats that cannot be shared. (cudaGraphicsGLRegisterBuffer, cudaGraphicsGLRegisterImage) */
int mw_graphics_buffer(mw_device *device, unsigned name, unsigned flags, mw_graphics **out);
int mw_graphics_image(mw_device *device, unsigned name, unsigned target, unsigned flags, mw_graphics **out);
/* A resource that is mapped is so no longer, and what was written to it is lost. NULL is fine. */
void mw_graphics_release(mw_graphics *graphics);
int mw_graphics_is_mapped(mw_graphics *graphics);
/* What it will be mapped for: 0, READ_ONLY or WRITE_DISCARD. MW_ALREADY_MAPPED. (cudaGraphicsResourceSetMapFlags) */
int mw_graphics_set_flags(mw_graphics *graphics, unsigned flags);

/* Map resources, all or none: what OpenGL was told before is done before what `stream` is given from now on. Unmap them:
   what the stream was given is done before what OpenGL is told from now on; waits for it, and reports its failure when the
   resources are unmapped. MW_INVALID_RESOURCE_HANDLE where one is listed twice, MW_ALREADY_MAPPED, MW_NOT_MAPPED.
   (cudaGraphicsMapResources, cudaGraphicsUnmapResources) */
int mw_graphics_map(mw_stream *stream, mw_graphics *const *list, size_t count);
int mw_graphics_unmap(mw_stream *stream, mw_graphics *const *list, size_t count);

/* The memory of a mapped buffer: device memory, of as many bytes, until it is unmapped. MW_NOT_MAPPED,
   MW_NOT_MAPPED_AS_POINTER. (cudaGraphicsResourceGetMappedPointer) */
int mw_graphics_pointer(mw_graphics *graphics, uint64_t *address, size_t *bytes);
/* A layer (or face) of a level of a mapped image, as a CUDA array of two dimensions or of three, until it is unmapped; row 0
   is OpenGL's. *out is a reference, yours; mw_cuda_array_free refuses it. MW_INVALID_VALUE past the last layer or level,
   MW_NOT_MAPPED, MW_NOT_MAPPED_AS_ARRAY. (cudaGraphicsSubResourceGetMappedArray) */
int mw_graphics_array(mw_graphics *graphics, unsigned layer, unsigned level, mw_cuda_array **out);
/* All layers and levels of a mapped image as one CUDA array, of two dimensions, three, layered or a cubemap, until it is
   unmapped; what mw_graphics_array gives are its parts. Its levels are those of OpenGL that are half of the one before and of
   one format, from level 0 on. *out is as above, and so are the failures; MW_NOT_SUPPORTED where the device has no arrays of
   that kind, or keeps layers by themselves and was asked for some. (cudaGraphicsResourceGetMappedMipmappedArray) */
int mw_graphics_mipmap(mw_graphics *graphics, mw_cuda_array **out);

/* The names of the devices that draw what the current context draws: list 1 is all of them, 2 those of the current frame, 3
   those of the next. Where no driver knows of one, all devices there are: each can share with any context, by copies.
   MW_INVALID_DEVICE past the last, MW_INVALID_VALUE for another list, MW_INVALID_GRAPHICS_CONTEXT. (cudaGLGetDevices) */
int mw_graphics_device(unsigned list, size_t i, char name[32]);

/* ---- modules ----------------------------------------------------------------------------------------------------- */

typedef struct mw_module mw_module;
typedef struct mw_kernel mw_kernel;
typedef struct mw_symbol mw_symbol;

typedef struct mw_header {
  const char *name; /* as #include names it */
  const char *text;
} mw_header;

/* What to compile. Zero everything, then set what you have. All strings are borrowed during the call. */
typedef struct mw_source {
  const char *text;
  size_t length;
  const char *file;           /* whose text it is, for messages; NULL: "kernel.cu" */
  int line;                   /* the line of `file` on which the text begins; 0 counts as 1 */
  const char *const *options; /* -D -U -I -std=… -use_fast_math -O0…-O3 -G -lineinfo -arch=…
                                  --maxrregcount=…; for the CPU device --width=… (SIMD lanes; 1: none) and
                                  --mcpu=… (a processor's name as clang knows it; default: this machine's) */
  size_t option_count;
  const mw_header *headers; /* found before any directory */
  size_t header_count;
} mw_source;

/* The text of a file that is to be compiled: *text is yours, mw_source_text_release. A pipe or a device, which may never end,
   is refused. MW_FILE_NOT_FOUND, MW_OPERATING_SYSTEM, MW_MEMORY_ALLOCATION. */
int mw_source_text_read(const char *path, char **text, size_t *length);
void mw_source_text_release(char *text);
/* Compile CUDA C for `device`. Errors: MW_INVALID_SOURCE with file, line, column and log; MW_JIT_COMPILER_NOT_FOUND;
   MW_LAUNCH_TIMEOUT and MW_MEMORY_ALLOCATION where the compiler passed its limits. Blocks for the compilation, or
   for a look into the cache. (NVRTC's nvrtcCompileProgram + cuModuleLoadData) */
int mw_module_compile(mw_device *device, const mw_source *source, mw_module **out);
/* Seconds that this process has spent compiling, what launches had compiled for their size of blocks included. */
double mw_compile_seconds(void);
/* Load a module that mw_module_save or the mwcc command wrote. MW_FILE_NOT_FOUND, MW_INVALID_KERNEL_IMAGE,
   MW_NO_KERNEL_IMAGE_FOR_DEVICE (another processor), MW_MEMORY_ALLOCATION. Needs no compiler. */
int mw_module_load(mw_device *device, const char *path, mw_module **out);
/* Write the compiled module to `path` (a temporary name first, then renamed), template instances made so far included. */
int mw_module_save(mw_module *module, const char *path);
mw_module *mw_module_retain(mw_module *module);
void mw_module_release(mw_module *module);
/* The compiler's warnings, "" where there are none. A template instance may add to them: another pointer then. What was
   returned stays as long as the module. */
const char *mw_module_log(const mw_module *module);

/* A kernel by its source name: "saxpy", "ns::saxpy", "fill<float,4>" (instantiated now if it was not yet),
   "add(float *)" to pick one of several overloads, or its linkage name. Spaces do not matter. MW_SYMBOL_NOT_FOUND lists
   what there is; an ambiguous name lists the candidates. May block for a compilation. */
int mw_module_kernel(mw_module *module, const char *name, mw_kernel **out);
int mw_module_symbol(mw_module *module, const char *name, mw_symbol **out);
/* A struct that its kernels or variables have to do with, "Particle" or "ns::box<float>", for arrays of it; lives as long as
   the module. Where there is none, the built-in type of that name. MW_SYMBOL_NOT_FOUND lists what there is;
   MW_INVALID_VALUE where its size is not known, or more than MW_ELEMENT_BYTES. */
int mw_module_type(mw_module *module, const char *name, const mw_type **out);
/* The names of all, for listing; i from 0; NULL past the last. */
const char *mw_module_kernel_name(const mw_module *module, size_t i);
const char *mw_module_symbol_name(const mw_module *module, size_t i);

/* A __device__ or __constant__ variable. (cudaGetSymbolAddress, cudaGetSymbolSize, cudaMemcpyToSymbol/FromSymbol) */
mw_symbol *mw_symbol_retain(mw_symbol *symbol);
void mw_symbol_release(mw_symbol *symbol);
const char *mw_symbol_name(const mw_symbol *symbol);
const mw_type *mw_symbol_type(const mw_symbol *symbol);
uint64_t mw_symbol_address(const mw_symbol *symbol);
size_t mw_symbol_size(const mw_symbol *symbol);
int mw_symbol_read(mw_symbol *symbol, size_t offset, void *target, size_t bytes);        /* waits for the work before */
int mw_symbol_write(mw_symbol *symbol, size_t offset, const void *source, size_t bytes); /* waits for the work before */
/* What a texture or surface reference declares; NULL for any other variable. */
const mw_reference *mw_symbol_reference(const mw_symbol *symbol);
/* Bind a reference to `texture` (a surface reference to a surface), or to nothing (NULL), from the next launch on. The
   module keeps the texture while it is bound. MW_INVALID_TEXTURE, _SURFACE or _CHANNEL_DESCRIPTOR where it is not what
   the reference declares. A launch that may read a reference that is bound to nothing is MW_INVALID_TEXTURE_BINDING.
   Does not block. (cudaBindTexture, cudaBindTexture2D, cudaBindTextureToArray, cudaUnbindTexture) */
int mw_symbol_bind(mw_symbol *symbol, mw_texture *texture);
/* What it is bound to, or NULL. The reference is yours. */
mw_texture *mw_symbol_bound(const mw_symbol *symbol);

/* ---- kernels and launches ---------------------------------------------------------------------------------------- */

typedef struct mw_param {
  const char *name; /* "" where the source gives none */
  const mw_type *type;
  size_t offset; /* in the parameter block */
} mw_param;

typedef struct mw_kernel_info {
  const char *name;    /* source name with namespaces and template arguments, "ns::fill<float, 4>" */
  const char *linkage; /* name in the object file */
  const mw_param *params;
  size_t param_count;
  size_t param_bytes;  /* size of the parameter block */
  size_t shared_bytes; /* static shared memory */
  size_t local_bytes;  /* stack a thread needs, as far as the compiler knows */
  int max_threads;     /* a block may have, by __launch_bounds__ or the device */
  int registers;       /* 0 where the device has none to speak of */
  const char *tier;    /* how the CPU device runs it: "loop" or "fiber"; "" on a GPU */
  const char *tier_reason;
  const char *file; /* of its definition */
  int line;
  const char *const *references; /* linkage names of the texture and surface references that it may read */
  size_t reference_count;
} mw_kernel_info;

mw_kernel *mw_kernel_retain(mw_kernel *kernel);
void mw_kernel_release(mw_kernel *kernel);
const mw_kernel_info *mw_kernel_describe(const mw_kernel *kernel); /* lives as long as the kernel */
/* Its declaration, "saxpy(int n, float a, const float *x, float *y)": at most `size` bytes of it with the NUL. Returns its
   whole length. */
size_t mw_kernel_signature(const mw_kernel_info *kernel, char *text, size_t size);
mw_module *mw_kernel_module(const mw_kernel *kernel);              /* borrowed */

typedef struct mw_launch mw_launch;

/* Prepare a launch: fix grid, block (in threads) and dynamic shared memory. All limits are checked here:
   MW_INVALID_CONFIGURATION names the limit and the arithmetic. One launch object may run many times, from one thread
   at a time. (cudaConfigureCall, CUDA 1.1 guide D.7.1) */
int mw_launch_new(mw_kernel *kernel, const unsigned grid[3], const unsigned block[3], size_t dynamic_shared,
                  mw_launch **out);
mw_launch *mw_launch_retain(mw_launch *launch);
void mw_launch_release(mw_launch *launch);
mw_kernel *mw_launch_kernel(const mw_launch *launch); /* borrowed */
/* Change the configuration, keeping arguments. */
int mw_launch_configure(mw_launch *launch, const unsigned grid[3], const unsigned block[3], size_t dynamic_shared);
/* Make it a cooperative launch, until it is configured again: all its blocks are there at once, and may wait for each
   other (grid.sync() in a kernel). A grid larger than the device can hold is MW_COOPERATIVE_LAUNCH_TOO_LARGE when it is
   run. (cudaLaunchCooperativeKernel) */
void mw_launch_cooperate(mw_launch *launch);
/* Set argument i (0-based). Each checks against the kernel's signature and names the parameter in its error.
   number/int64: scalar parameters. array: pointer parameters; keeps the array. address: pointer parameters, as is
   (0 is the null pointer). bytes: any parameter, `bytes` must be the parameter's size. */
int mw_launch_number(mw_launch *launch, size_t i, double value);
int mw_launch_int64(mw_launch *launch, size_t i, int64_t value);
int mw_launch_array(mw_launch *launch, size_t i, mw_array *array);
int mw_launch_address(mw_launch *launch, size_t i, uint64_t address);
int mw_launch_bytes(mw_launch *launch, size_t i, const void *value, size_t bytes);
/* A texture or surface object, for a cudaTextureObject_t or cudaSurfaceObject_t parameter; keeps it. */
int mw_launch_texture(mw_launch *launch, size_t i, mw_texture *texture);
/* Keep `texture` with the launch: its handle stands inside of a struct. Dropped by the next mw_launch_clear. */
int mw_launch_keep_texture(mw_launch *launch, mw_texture *texture);
/* Keep `array` alive with the launch although no parameter is it (its address stands inside a struct). Dropped by the
   next mw_launch_clear. */
int mw_launch_keep(mw_launch *launch, mw_array *array);
/* Forget all arguments and what they keep. */
void mw_launch_clear(mw_launch *launch);
/* Run it: returns at once; arguments are copied, and arrays kept until the kernel is done. MW_INVALID_VALUE if an
   argument is missing or an array was freed. `site` (may be NULL, copied) is where the call stands, for asynchronous
   errors: "script.lua:12"; text at the same address as at the last run is taken to be the same. Blocks only while too
   many launches wait. (cudaLaunchKernel) */
int mw_launch_run(mw_launch *launch, const char *site);
/* The same in a stream of the kernel's device. */
int mw_launch_run_in(mw_launch *launch, mw_stream *stream, const char *site);

/* ---- functions of elements --------------------------------------------------------------------------------------- */

/* One CUDA C body applied to all elements of arrays whose shapes broadcast. Kernels are compiled when a run needs them: one
   for contiguous arrays, and one for each way of walking others. */
typedef struct mw_elementwise mw_elementwise;

typedef enum mw_operand_kind {
  MW_OPERAND_OUT,   /* an array, of which the body assigns an element */
  MW_OPERAND_IN,    /* an array, of which it reads that element */
  MW_OPERAND_WHOLE, /* a contiguous array, which it reads by index, from 0 */
  MW_OPERAND_SCALAR /* a number or a struct, the same for all */
} mw_operand_kind;

typedef struct mw_operand {
  const char *name; /* in the body; a C identifier that does not end in _ */
  mw_operand_kind kind;
  const mw_type *dtype;
} mw_operand;

typedef struct mw_elementwise_source {
  const char *name;     /* of the kernel: a C identifier */
  const char *preamble; /* CUDA C before it: functions, structs, #include lines; or NULL */
  const char *body;     /* statements: operands by their names; `i`, the element's number in row order from 0 */
  int uses_index;       /* whether the body uses `i` */
  const char *file;     /* where the body stands, for messages, or NULL */
  int line;
  const char *const *options; /* as mw_source has them */
  size_t option_count;
  const mw_operand *operands; /* 1 to 32 */
  size_t operand_count;
} mw_elementwise_source;

/* What an operand is in a run. */
typedef struct mw_operand_value {
  mw_array *array;   /* OUT: NULL makes a new array */
  const void *bytes; /* of a scalar, in its type; or NULL, and the number counts */
  int is_integer;
  double number;
  int64_t integer;
} mw_operand_value;

/* All that `source` says is copied; its types are borrowed as long as the function lives. *out is yours. Compiles nothing. */
int mw_elementwise_new(mw_device *device, const mw_elementwise_source *source, mw_elementwise **out);
void mw_elementwise_release(mw_elementwise *f);
/* The CUDA C that runs for contiguous arrays. Yours: mw_text_release. */
char *mw_elementwise_text(const mw_elementwise *f);
void mw_text_release(char *text);
/* Queue a run in the calling thread's stream; `values` has one entry an operand. New outputs are contiguous, have the shape of
   all together, and are yours: values[i].array. An input that overlaps an output otherwise than element by element is read from
   a copy. MW_INVALID_VALUE for shapes that do not broadcast and for types; MW_INVALID_SOURCE where the body is none. Blocks only
   while a kernel is compiled. */
int mw_elementwise_run(mw_elementwise *f, mw_operand_value *values, const char *site);

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

/* Work that is described once and run often. A graph's nodes are numbered from 0 in the order in which they are made, and
   each depends on nodes made before it. They keep what they use: kernels, arrays, textures, buffers. */
typedef struct mw_graph mw_graph;
typedef struct mw_graph_exec mw_graph_exec;

typedef enum mw_node_kind { MW_NODE_KERNEL, MW_NODE_COPY, MW_NODE_FILL, MW_NODE_HOST, MW_NODE_EMPTY } mw_node_kind;

typedef struct mw_node_info {
  mw_node_kind kind;
  const char *label;   /* "saxpy<<<(4,1,1), (256,1,1)>>>", "copy of 400 bytes"; lives as long as the graph */
  const size_t *after; /* the nodes that it depends on */
  size_t after_count;
} mw_node_info;

int mw_graph_new(mw_device *device, mw_graph **out);
mw_graph *mw_graph_retain(mw_graph *graph);
void mw_graph_release(mw_graph *graph);
size_t mw_graph_count(const mw_graph *graph);
int mw_graph_node(const mw_graph *graph, size_t i, mw_node_info *out);
/* A node that does nothing, behind others: to join and to part. */
int mw_graph_add_empty(mw_graph *graph, const size_t *after, size_t after_count, size_t *node);
int mw_graph_depend(mw_graph *graph, size_t node, size_t on); /* `on` was made before `node` */

/* Let `stream` (not the default one) put what it is given into `graph` as nodes, instead of running it, behind the nodes
   `after` to begin with. Launches, copies, fills and functions become nodes; an event that is recorded stands for the nodes
   so far, and a stream that waits for it takes part. What would wait for the device meanwhile, as reading an array does,
   fails with MW_STREAM_CAPTURE_UNSUPPORTED, work in the default stream with MW_STREAM_CAPTURE_IMPLICIT, and both spoil the
   capture. The mode says in whose way it is: every thread's; only that of the calling thread, to whose waiting that then
   holds; nobody's. Whatever the mode, work in the default stream meets captures of streams that it waits for.
   (cudaStreamBeginCaptureToGraph) */
typedef enum mw_capture_mode { /* cudaStreamCaptureMode */
                               MW_CAPTURE_GLOBAL,
                               MW_CAPTURE_THREAD,
                               MW_CAPTURE_RELAXED
} mw_capture_mode;
int mw_graph_capture(mw_graph *graph, mw_stream *stream, const size_t *after, size_t after_count, mw_capture_mode mode);
/* End it: *last (may be NULL) is the last node of `stream`, or SIZE_MAX. MW_STREAM_CAPTURE_INVALIDATED where it was
   spoilt, MW_STREAM_CAPTURE_UNMATCHED for a stream that did not begin it, MW_STREAM_CAPTURE_WRONG_THREAD for a thread that
   did not (but where it is relaxed), MW_STREAM_CAPTURE_UNJOINED where other streams that take part were not waited for. It
   is ended in any case but UNMATCHED and WRONG_THREAD. */
int mw_graph_capture_end(mw_stream *stream, size_t *last);
/* The graph that a stream puts its work into (borrowed), or NULL; *spoilt (may be NULL) whether that has failed. */
mw_graph *mw_stream_capturing(const mw_stream *stream, int *spoilt);

/* A graph made ready to run; later changes of the graph do not matter to it. */
int mw_graph_instantiate(const mw_graph *graph, mw_graph_exec **out);
void mw_graph_exec_release(mw_graph_exec *exec);
/* How many functions of hosts' (mw_stream_hold) it has. */
size_t mw_graph_exec_holds(const mw_graph_exec *exec);
/* Run it in `stream`, behind what it ran before: returns at once. Nodes that do not depend on each other may overlap.
   holds: room for mw_graph_exec_holds(exec), in the order of the nodes, each the caller's; NULL where there are none. */
int mw_graph_exec_launch(mw_graph_exec *exec, mw_stream *stream, mw_hold **holds);
/* Another configuration and other arguments for a kernel's node. MW_GRAPH_EXEC_UPDATE_FAILURE for another kernel. */
int mw_graph_exec_set_launch(mw_graph_exec *exec, size_t node, mw_launch *launch, const char *site);
/* Do what the one node of `graph` does in place of a node of the same kind. *hold (may be NULL): which of the exec's functions
   of hosts' that is, or SIZE_MAX. MW_GRAPH_EXEC_UPDATE_FAILURE for another kind, another kernel, or more nodes than one. */
int mw_graph_exec_set_node(mw_graph_exec *exec, size_t node, const mw_graph *graph, size_t *hold);
/* Take over all nodes of a graph of the same form; *node (may be NULL) is the first that differs. */
int mw_graph_exec_update(mw_graph_exec *exec, const mw_graph *graph, size_t *node);

/* ---- the compile cache ------------------------------------------------------------------------------------------- */

typedef struct mw_cache_info {
  char path[1024];
  size_t hits, misses;   /* of this process */
  size_t bytes, entries; /* on disk */
  size_t limit;          /* bytes; least recently used entries go first */
} mw_cache_info;

int mw_cache_describe(mw_cache_info *out);
int mw_cache_clear(void);
int mw_cache_limit(size_t bytes);

/* ---- images: netpbm and PNG, as packed bytes --------------------------------------------------------------------- */

/* Read PGM, PPM (P2 P3 P5 P6, 8 bits) or PNG. *pixels (height*width*channels bytes, rows from the top, channels 1, 3 or
   4) is yours: mw_image_release. MW_FILE_NOT_FOUND, MW_INVALID_VALUE (what is wrong with the file),
   MW_OPERATING_SYSTEM (among others: a pipe or a device), MW_MEMORY_ALLOCATION, MW_NOT_SUPPORTED (PNG in a build without
   libpng). */
int mw_image_read(const char *path, int *width, int *height, int *channels, unsigned char **pixels);
/* Write by the name's ending: .pgm (1 channel), .ppm (3), .png (1, 3 or 4). */
int mw_image_write(const char *path, int width, int height, int channels, const unsigned char *pixels);
void mw_image_release(unsigned char *pixels);
/* Pixels as texels of `dtype`: uchar or float (grey: ITU-R BT.601's weights of colours), uchar4 or float4 (grey three
   times; opaque where there is no alpha); floats run from 0 to 1. texels has width*height of them. MW_NOT_SUPPORTED for
   any other dtype. */
int mw_image_texels(int width, int height, int channels, const unsigned char *pixels, const mw_type *dtype,
                    void *texels);
