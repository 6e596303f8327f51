/* moonwarp: the public C interface.
 *
 * This file holds every public declaration and no preprocessor directives: a C compiler reads it through moonwarp.h,
 * and LuaJIT's ffi.cdef gets the same text from mw_abi_text. It is also the manual of the C interface.
 *
 * Conventions
 *   Results.    A function that can fail returns a mw_result. The calling thread's error slot (mw_error_last) describes
 *               the failure until the next one on that thread. Out parameters are written on success only.
 *   Ownership.  mw_X_new, mw_X_open, mw_X_compile, mw_X_load and mw_module_kernel/_symbol return one reference, which
 *               the caller owns and releases with mw_X_release. Releasing NULL does nothing. References may be released
 *               in any order: a child retains its parent (buffer -> device, kernel -> module -> device, launch ->
 *               kernel and arguments), and work in flight retains everything that it uses.
 *   Wording.    "Yours": the caller owns it and releases it. "Borrowed": the caller must not release it.
 *   Threads.    Every object may be used from any thread. Two threads may use one object at the same time, except a
 *               mw_launch.
 *   Blocking.   Launches return at once and run in the order in which they were made. A function that reads or writes
 *               device memory for the host waits for earlier work. Each declaration says whether it blocks.
 *   Units.      Indices are 0-based and sizes are in bytes, unless a declaration says "elements".
 */

/* ---- results and errors ------------------------------------------------------------------------------------------ */

/* CUDA's result codes (the values of cudaError_t, CUDA 11.2 runtime API, section 5.28). mw_result_name(code) returns
   CUDA's name of a code, "cudaErrorInvalidValue". */
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
  MW_INVALID_CLUSTER_SIZE = 912,
  MW_UNKNOWN = 999
} mw_result;

/* The description of one failure. Strings live until the next failure on the same thread. */
typedef struct mw_error {
  int code;            /* a mw_result */
  const char *name;    /* CUDA's name of the code */
  const char *kind;    /* "usage", "memory", "compile", "launch", "kernel", "device" or "io" */
  const char *message; /* one or more sentences for the user */
  const char *file;    /* of the source position, or NULL */
  int line, column;    /* 1-based; 0 where unknown */
  const char *kernel;  /* the kernel's source name, or NULL */
  int has_block;       /* whether `block` is known */
  unsigned block[3];   /* blockIdx */
  int has_thread;      /* whether `thread` is known */
  unsigned thread[3];  /* threadIdx of the faulting thread */
  const char *log;     /* the compiler's whole output with carets, or NULL */
} mw_error;

/* The calling thread's last failure, or NULL if there was none since mw_error_clear. Borrowed. */
const mw_error *mw_error_last(void);
void mw_error_clear(void);

const char *mw_result_name(int code); /* "cudaErrorInvalidValue"; "cudaErrorUnknown" for a number that is not a code */
const char *mw_result_text(int code); /* CUDA's description of the code, "invalid argument" */

/* ---- the library ------------------------------------------------------------------------------------------------- */

const char *mw_version(void);  /* "0.1.0" */
const char *mw_abi_text(void); /* this text without its comments, for ffi.cdef */
double mw_time(void);          /* monotonic seconds, for measuring */
/* Write a report for the user: the devices, the libraries and programs that they need, where these were searched for,
   what was found, and what to do about a missing one. Writes at most `size` bytes, including the NUL. Returns the
   length of the whole report. Opens every device. */
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
  MW_TYPE_STRUCT,  /* structs, and unions (whose fields overlap) */
  MW_TYPE_VECTOR,  /* float4 and the like: `count` components of type `element`, named x y z w; complex numbers */
  MW_TYPE_ARRAY    /* `count` elements of type `element` */
} mw_type_kind;

struct mw_type;

typedef struct mw_field {
  const char *name; /* "" for an anonymous member */
  const struct mw_type *type;
  size_t offset;
} mw_field;

/* A CUDA C type. Built-in types (mw_dtype) live as long as the process, those of a module as long as the module. */
typedef struct mw_type {
  mw_type_kind kind;
  int is_const;                  /* const-qualified (a pointer's element, a symbol) */
  size_t size;                   /* bytes */
  size_t align;                  /* bytes */
  const char *name;              /* as CUDA C spells it, "const float *" */
  const struct mw_type *element; /* of a pointer, vector or array, else NULL */
  size_t count;                  /* vector: components; array: elements; struct: fields */
  const mw_field *fields;        /* of a struct, else NULL. Unknown if a struct of more than a byte has none */
} mw_type;

/* The largest size of an array's element: a struct may be as large as all parameters of a kernel. (CUDA 12.1) */
enum { MW_ELEMENT_BYTES = 32764 };

/* The built-in type called `name`: bool char uchar short ushort int uint long ulong longlong ulonglong float double
   half bfloat16; the fixed-width names int8 … uint64; C spellings such as "unsigned int"; the vector types, which are
   an integer or a floating type of 4 bytes or more followed by 1 to 4, and half2, half4 and bfloat162; complex64 and
   complex128, whose kind is that of vectors and which kernels know as float2 and double2; and cuComplex, cuFloatComplex
   and cuDoubleComplex, which are float2 and double2. NULL (without an error) if there is none. */
const mw_type *mw_dtype(const char *name);

/* The name of a type as a dtype: "uchar" for "unsigned char" and "const unsigned char"; a struct's own name. Borrowed,
   lives as long as the type. */
const char *mw_type_dtype(const mw_type *type);

/* The field of a struct called `name`, also one of an anonymous member; NULL (without an error) if there is none. */
const mw_field *mw_type_field(const mw_type *type, const char *name);

/* Whether a type is complex64 or complex128: a vector {re, im} that computes as a number. */
int mw_type_is_complex(const mw_type *type);

/* A small number (from 1, below 100) for each built-in scalar and vector type; 0 for any other. */
int mw_type_code(const mw_type *type);

/* Whether an array of `stored` elements may be passed to a kernel's parameter that points to `wanted`: kind, size and
   components must agree, const is ignored. void and plain bytes (char, uchar) accept anything, and pointers accept
   addresses stored as ulonglong. */
int mw_type_accepts(const mw_type *wanted, const mw_type *stored);

/* Store a number into a location of scalar type `type`. `what` names the location in an error ("parameter 2 'n'").
   MW_INVALID_VALUE if it does not fit: an integer out of range, or a fraction for an integer type. */
int mw_value_from_double(const mw_type *type, double value, void *out, const char *what);
int mw_value_from_int64(const mw_type *type, int64_t value, void *out, const char *what);
/* For a binding that converts the values of its language: refuse one that does not fit `type`, with a sentence that says
   what would. Each returns MW_INVALID_VALUE. `got` describes the value: "a table". A length is a sequence's or a
   string's. `name` is a field's or a component's; it is NULL for a key that cannot name one. mw_value_missing: it was not
   given, and must be. */
int mw_value_refuse(const mw_type *type, const char *got, const char *what);
int mw_value_refuse_length(const mw_type *type, int is_string, size_t length, const char *what);
int mw_value_refuse_key(const mw_type *type, const char *name, const char *what);
int mw_value_missing(const mw_type *type, const char *name, const char *what);
/* Read a scalar. A double is exact for all types except 64-bit integers. */
double mw_value_to_double(const mw_type *type, const void *value);
int64_t mw_value_to_int64(const mw_type *type, const void *value);

/* ---- devices ----------------------------------------------------------------------------------------------------- */

typedef struct mw_device mw_device;

/* The largest textures and surfaces, in texels: width, height, depth or layers (of cubemaps: faces). 0: the kind is not
   supported, or its limit is not known. */
typedef struct mw_texture_limits {
  int texture_1d, texture_1d_linear; /* linear: of memory that is not a CUDA array */
  int texture_1d_layered[2];
  int texture_2d[2], texture_2d_linear[2], texture_2d_gather[2];
  int texture_2d_layered[3];
  int texture_3d[3];
  int texture_cubemap, texture_cubemap_layered[2];
  int textures; /* the number of textures that a kernel can use */
  int surface_1d, surface_1d_layered[2];
  int surface_2d[2], surface_2d_layered[3];
  int surface_3d[3];
  int surface_cubemap, surface_cubemap_layered[2];
  int surfaces;
} mw_texture_limits;

/* The limits of a compute capability. (CUDA guides, "technical specifications per compute capability") */
typedef struct mw_capability {
  int major, minor;
  /* of a multiprocessor */
  int warps, blocks, registers, shared;
  /* of a block, a grid, a thread */
  int threads_per_block, max_block[3];
  int64_t max_grid[3];
  int registers_per_block, registers_per_thread;
  int shared_per_block, shared_per_block_optin; /* the default limit; the limit with opt-in */
  int banks;                                    /* of shared memory */
  int total_constant, parameter_bytes, local_bytes;
  /* the allocation of registers and shared memory: in these units, for `warp_unit` warps at a time; registers for whole
     blocks, or (0) for warps; the system reserves `shared_reserved` bytes of each block */
  int register_unit, registers_by_block, warp_unit, shared_unit, shared_reserved;
  mw_texture_limits textures;
} mw_capability;

/* Find a capability by its name, "1.1", or list all of them, i from 0. MW_INVALID_VALUE if there is none. */
int mw_capability_find(const char *name, mw_capability *out);
int mw_capability_list(size_t i, mw_capability *out);

/* The fields of cudaDeviceProp (CUDA 1.1 guide D.1.6, later guides' table "compute capabilities"). */
typedef struct mw_properties {
  char name[256];   /* "AMD EPYC (2 cores)" */
  char driver[16];  /* "cpu" */
  int major, minor; /* compute capability */
  int multiprocessors;
  int warp_size;
  int max_threads_per_block;
  int max_block[3];
  int64_t max_grid[3];
  size_t shared_per_block;       /* the default limit */
  size_t shared_per_block_optin; /* the limit with opt-in */
  size_t total_constant;
  size_t total_memory;
  size_t l2_cache; /* shared by the multiprocessors; CPU device: its workers' share of the last-level caches */
  int registers_per_block;
  int max_cluster; /* blocks of a cluster; 0: there are no clusters */
  int clock_khz;
  size_t memory_pitch, texture_alignment;
  size_t texture_pitch_alignment; /* of pitched memory that textures read */
  mw_texture_limits textures;
} mw_properties;

typedef struct mw_memory {
  size_t bytes; /* in live allocations, module variables included */
  size_t count; /* live allocations */
  size_t peak;  /* the largest value of `bytes` so far */
  size_t total; /* the device's capacity */
} mw_memory;

typedef enum mw_limit {
  MW_LIMIT_TIME,           /* seconds that a launch may run; 0: no limit (the default) */
  MW_LIMIT_MEMORY,         /* total bytes of all allocations; 0: the machine's memory (the default) */
  MW_LIMIT_STACK,          /* bytes of a CUDA thread's stack for calls and local arrays (cudaLimitStackSize) */
  MW_LIMIT_COMPILE_TIME,   /* seconds that a compilation may take */
  MW_LIMIT_COMPILE_MEMORY, /* bytes of address space of a compiler process */
  MW_LIMIT_SPECIALISE,     /* number of a kernel's threads that are launched with one block size before the kernel is
                              specialised for that size, in the background: 65536 by default; 0: at the first launch,
                              which waits for it. A thread of a kernel with a loop counts as 2, with nested loops
                              as 8 */
  MW_LIMIT_HEAP,           /* bytes of device memory for malloc in kernels (cudaLimitMallocHeapSize): 8 MiB by default.
                   MW_INVALID_VALUE while kernels have allocated any of it */
  MW_LIMIT_LAUNCHES        /* launches from kernels that may wait on a GPU (cudaLimitDevRuntimePendingLaunchCount): 2048
                              by default. The CPU device takes any number, and reports this one */
} mw_limit;

/* List the devices by the names that open them, the default first: a GPU, or without GPUs "cpu:0". MW_INVALID_DEVICE
   past the last. */
int mw_device_list(size_t i, char name[32]);
/* Set the number of devices of a driver that simulates them: "3", or their compute capabilities, "1.1,2.0,8.0". NULL
   restores the initial setting: $MOONWARP_CPU_DEVICES, or one device. Open devices stay open. MW_NOT_SUPPORTED for a
   driver of physical devices. */
int mw_device_simulate(const char *driver, const char *devices);
/* Open a device: "cpu", "cuda:1", or NULL for $MOONWARP_DEVICE or else the default. "cpu@1.1" is the CPU device with a
   lower compute capability: it has that capability's limits and lacks the features of later ones. While a device is
   open, the same name returns the same device. MW_INVALID_DEVICE if no driver has a device of that name. */
int mw_device_open(const char *name, mw_device **out);
/* Peer access: whether kernels of `device` can access the memory of another device, `peer`; enabling it, until
   mw_device_unreach or until one of the two is closed; disabling it. While it is enabled, arrays of the peer may be
   arguments of the device's launches. MW_PEER_ACCESS_UNSUPPORTED, _ALREADY_ENABLED, _NOT_ENABLED; MW_INVALID_DEVICE for
   the device itself. (cudaDeviceEnablePeerAccess) */
int mw_device_can_reach(mw_device *device, mw_device *peer, int *out);
int mw_device_reach(mw_device *device, mw_device *peer);
int mw_device_unreach(mw_device *device, mw_device *peer);
mw_device *mw_device_retain(mw_device *device);
void mw_device_release(mw_device *device);
const char *mw_device_name(const mw_device *device); /* "cpu:0"; lives as long as the device */
/* Reset a device. A GPU's arrays, modules and textures are destroyed, and every later use of them is
   MW_INVALID_RESOURCE_HANDLE; it fails after a kernel's fault if the NVIDIA driver gives the process no new context.
   The CPU device, which faults do not damage, waits for its work and discards recorded failures. No other thread may
   use the device during the call. (cudaDeviceReset) */
int mw_device_reset(mw_device *device);
/* How often the device lost its arrays and modules: by mw_device_reset, or by a kernel's fault or limit of time. */
unsigned mw_device_resets(const mw_device *device);
int mw_device_properties(mw_device *device, mw_properties *out);
int mw_device_memory(mw_device *device, mw_memory *out);
/* Kernels' printf output is written to the C library's stdout at once, or, with keep = 1, is buffered for
   mw_device_printed. Changing the setting leaves buffered output in place. MW_NOT_SUPPORTED if the device cannot buffer
   it. */
int mw_device_keep_printed(mw_device *device, int keep);
/* Move up to `size` bytes of the buffered output to `text`, in the order of the calls; returns how many. Does not wait:
   of running kernels it returns the output so far. Calls are dropped once 64 MiB are buffered; a line at the end then
   says so. */
size_t mw_device_printed(mw_device *device, char *text, size_t size);
int mw_device_limit_get(mw_device *device, mw_limit limit, double *value);
int mw_device_limit_set(mw_device *device, mw_limit limit, double value);
/* Wait until all work is done. Reports, once, the first kernel failure since the last call that reported one, of the
   calling thread's owner (mw_owner_use). Calls that read device memory for the host also report it, and then read
   nothing, since the contents may be wrong. */
int mw_device_synchronize(mw_device *device);
/* Owners: several users of one device, such as the Lua states of a process, are told of their own kernels' failures
   only. A module belongs to the owner that the thread uses when it is made, and so do its kernels' launches; who waits
   is told what the owner that the thread uses then is to know. 0 is an owner as well, that of threads which name none.
   A failure that leaves the device unusable, as a fault on a GPU does, is everybody's. */
uint64_t mw_owner_new(void); /* never 0 */
void mw_owner_use(uint64_t owner);
/* For bindings, when a script's state is closed: wait as mw_device_synchronize does, and print an unreported kernel
   failure to stderr. With `fail_process` the process then exits with status 1, whatever status the host returns.
   Returns the code of the failure, or MW_SUCCESS. */
int mw_device_leave(mw_device *device, int fail_process);

/* For interactive prompts. While `on`, SIGINT does not end the process but stops the running kernels of all devices:
   they fail with MW_LAUNCH_TIMEOUT, "was interrupted", as do those that start before mw_interrupt_seen is called. Calls
   nest: the previous handler is restored by as many calls with 0. */
int mw_interrupt_watch(int on);
/* 1 if there was an interrupt since the last call, else 0. */
int mw_interrupt_seen(void);
/* Wait until the file descriptor is readable (1), or there is an interrupt that mw_interrupt_seen has not returned (0).
   An interrupt just before the call counts; a host that only reads would miss it. */
int mw_interrupt_wait(int descriptor);

/* ---- streams and events ------------------------------------------------------------------------------------------ */

/* A stream is a queue of work. Work in one stream runs in order; work in different streams may overlap. Each device has
   a legacy default stream: its work waits for all work queued earlier in the other streams, and their later work waits
   for it, except for streams made with MW_STREAM_NON_BLOCKING. */
typedef struct mw_stream mw_stream;
typedef struct mw_event mw_event;
typedef struct mw_hold mw_hold;

typedef enum mw_stream_flags {
  MW_STREAM_DEFAULT = 0,
  MW_STREAM_NON_BLOCKING = 1, /* not ordered with the default stream */
  MW_STREAM_LEGACY = 256      /* the default stream itself; not for mw_stream_new */
} mw_stream_flags;

/* `priority`: smaller values have precedence; clamped to the range of mw_stream_priorities. *out is yours; work in a
   released stream continues. (cudaStreamCreateWithPriority) */
int mw_stream_new(mw_device *device, unsigned flags, int priority, mw_stream **out);
mw_stream *mw_stream_retain(mw_stream *stream);
void mw_stream_release(mw_stream *stream);
void mw_stream_priorities(mw_device *device, int *least, int *greatest);
mw_stream *mw_device_stream(mw_device *device); /* the default stream; borrowed */
/* The calling thread's own default stream, otherwise an ordinary stream; yours. (cudaStreamPerThread) */
int mw_stream_per_thread(mw_device *device, mw_stream **out);
mw_device *mw_stream_device(const mw_stream *stream); /* borrowed */
unsigned mw_stream_flags_of(const mw_stream *stream);
int mw_stream_priority(const mw_stream *stream);
uint64_t mw_stream_id(const mw_stream *stream); /* unique for the life of the process */
/* MW_SUCCESS if all work is done, else MW_NOT_READY, which is not a failure and does not change the error slot. */
int mw_stream_query(mw_stream *stream);
/* Wait until the stream is empty; reports, once, the first failure of the owner's kernels in it. MW_NOT_READY if it
   cannot become empty because of a hold of the host. */
int mw_stream_synchronize(mw_stream *stream);
/* Work that is queued in `stream` from now on waits for the event's latest record; without a record it does not
   wait. */
int mw_stream_wait(mw_stream *stream, mw_event *event);
/* Call function(context) when the work queued so far is done; later work waits until it returns. It runs on a thread of
   the library or on a host thread that waits, and must not call the library. (cudaLaunchHostFunc) */
int mw_stream_call(mw_stream *stream, void (*function)(void *context), void *context);
/* The same for hosts whose functions are bound to a thread: the stream stops at the hold until the hold is released.
   mw_hold_reached is 1 when the work before it is done. Waiting for a stream that is stopped at a hold is MW_NOT_READY.
   While the stream is captured *out is NULL: each launch of the graph returns the hold. */
int mw_stream_hold(mw_stream *stream, mw_hold **out);
int mw_hold_reached(const mw_hold *hold);
/* The calling thread runs the host function now. Until it releases the hold, its waits for a device skip streams that
   are stopped at holds, so that the function can read the results of the work before it. */
void mw_hold_enter(mw_hold *hold);
void mw_hold_release(mw_hold *hold);
/* Set the calling thread's current stream, for launches, copies and fills that name no stream. Work for devices other
   than the stream's is queued in their default streams. NULL: the default stream. *previous (yours; may be NULL) is the
   stream that was current before. */
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
/* Record the event after the work that `stream` holds now. This replaces an earlier record, though work that waits for
   the earlier one still does. */
int mw_event_record(mw_event *event, mw_stream *stream);
int mw_event_query(mw_event *event);       /* as mw_stream_query; an event that was never recorded is done */
int mw_event_synchronize(mw_event *event); /* does not report kernels' failures */
/* Milliseconds between two records, at a resolution of less than a microsecond. MW_INVALID_RESOURCE_HANDLE if one was
   never recorded or has no timing, MW_NOT_READY if one is not done. (cudaEventElapsedTime) */
int mw_event_elapsed(mw_event *start, mw_event *end, double *milliseconds);

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

typedef struct mw_buffer mw_buffer;

typedef enum mw_memory_kind {
  MW_MEMORY_UNKNOWN,    /* not known to moonwarp: the host program's own memory, or unmapped */
  MW_MEMORY_HOST,       /* pageable host memory from mw_memory_new */
  MW_MEMORY_PINNED,     /* page-locked host memory, which kernels and copies access directly */
  MW_MEMORY_REGISTERED, /* the host program's own memory, registered by mw_memory_register */
  MW_MEMORY_DEVICE,
  MW_MEMORY_MANAGED /* accessible to host and device at the same address */
} mw_memory_kind;

/* Allocate `bytes` on `device`, 256-byte aligned; contents are undefined. *out is yours. 0 bytes are allowed and have
   the address 0. MW_MEMORY_ALLOCATION. Does not block, unless memory is short: then it waits once for the memory of
   freed buffers that work in flight still uses. (cudaMalloc, CUDA 1.1 guide D.5.1) */
int mw_buffer_new(mw_device *device, size_t bytes, mw_buffer **out);
/* The same in device, pinned or managed memory; the host can access the last two. */
int mw_buffer_new_kind(mw_device *device, mw_memory_kind kind, size_t bytes, mw_buffer **out);
mw_buffer *mw_buffer_retain(mw_buffer *buffer);
void mw_buffer_release(mw_buffer *buffer);
/* Free the memory even though references to the handle remain. Does not block: the memory is freed once work in flight
   has finished. Freeing twice is allowed. Any other later use of the handle is MW_INVALID_RESOURCE_HANDLE. */
int mw_buffer_free(mw_buffer *buffer);
int mw_buffer_is_freed(const mw_buffer *buffer);
size_t mw_buffer_size(const mw_buffer *buffer);
uint64_t mw_buffer_address(mw_buffer *buffer);        /* device address; 0 once freed */
mw_device *mw_buffer_device(const mw_buffer *buffer); /* borrowed */
/* Host <-> device; waits for earlier work. MW_INVALID_VALUE past the end. */
int mw_buffer_write(mw_buffer *buffer, size_t offset, const void *source, size_t bytes);
int mw_buffer_read(mw_buffer *buffer, size_t offset, void *target, size_t bytes);
/* Device to device, same device, in order with launches; does not block. Ranges may overlap, as with memmove. */
int mw_buffer_copy(mw_buffer *target, size_t target_offset, mw_buffer *source, size_t source_offset, size_t bytes);
/* Fill `count` elements of `size` bytes (any size but 0) from `offset` on with *pattern; in order with launches; does
   not block. */
int mw_buffer_fill(mw_buffer *buffer, size_t offset, const void *pattern, size_t size, size_t count);
/* A host pointer to the contents if the host can access the buffer's memory, else NULL. Waits for earlier work. Valid
   until the buffer is freed; later launches may write to the memory at any time. */
void *mw_buffer_host(mw_buffer *buffer);

/* A tensor in device memory, and the boxes of it that kernels copy (cuTensorMapEncodeTiled): CUDA's numbers of the element
   type, interleave, swizzle, promotion and fill; sizes in elements, strides in bytes from the second dimension on; box and
   step in elements. The innermost dimension is first. Where `im2col` is not 0 kernels copy pixels (cuTensorMapEncodeIm2col):
   box[0] is the number of channels of each and box[1] that of pixels, and `lower` and `upper` are the corners of the
   bounding box in the dimensions between the first and the last. */
typedef struct mw_tensor_layout {
  int64_t type, dimensions, size[5], stride[4], box[5], step[5], interleave, swizzle, promotion, fill;
  int64_t im2col, lower[3], upper[3];
} mw_tensor_layout;

/* Make the tensor map of memory of the device from `address` on: what a kernel takes as a const __grid_constant__
   CUtensorMap parameter. The memory stays yours. MW_INVALID_VALUE for what CUDA does not take, MW_NOT_SUPPORTED on GPUs
   before compute capability 9.0. */
int mw_tensor_map_encode(mw_device *device, uint64_t address, const mw_tensor_layout *layout, unsigned char out[128]);

/* ---- memory by address ------------------------------------------------------------------------------------------- */

/* The operands of CUDA's own host functions: addresses in memory of several kinds, with arithmetic. The addresses of
   buffers and arrays are valid here as well. */
typedef struct mw_memory_info {
  mw_memory_kind kind;
  uint64_t address; /* start of the whole allocation, and its size */
  size_t bytes;
  unsigned flags;    /* as given to mw_memory_new or mw_memory_register */
  mw_device *device; /* borrowed; NULL if it belongs to none */
} mw_memory_info;

/* Allocate memory of a kind (not UNKNOWN or REGISTERED). `flags` are stored for the caller. 0 bytes have the address
   0. */
int mw_memory_new(mw_device *device, mw_memory_kind kind, unsigned flags, size_t bytes, uint64_t *address);
/* Free an allocation of mw_memory_new by its first address; device memory after the work in flight, as cudaFree does.
   MW_INVALID_VALUE for any other address except 0. */
int mw_memory_free(uint64_t address);
/* The same in stream order; the address is invalid from now on. (cudaFreeAsync) */
int mw_memory_free_in(mw_stream *stream, uint64_t address);
/* Register the host program's own memory, and undo that. MW_HOST_MEMORY_ALREADY_REGISTERED,
   MW_HOST_MEMORY_NOT_REGISTERED. */
int mw_memory_register(mw_device *device, uint64_t address, size_t bytes, unsigned flags);
int mw_memory_unregister(uint64_t address);
/* Describe the memory at an address. UNKNOWN is not a failure. `device` (may be NULL): its buffers and variables are
   also searched. */
int mw_memory_find(mw_device *device, uint64_t address, mw_memory_info *out);
/* A host pointer to `bytes` from `address` on if moonwarp knows all of this memory and the host can access it, else
   NULL and a failure. Does not block. */
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

/* A position in a level of a CUDA array: x in bytes, y in rows, z in slices. */
typedef struct mw_array_place {
  mw_cuda_array *array;
  size_t level, x, y, z;
} mw_array_place;

/* A box of bytes: `depth` slices of `height` rows of `width` bytes. A pitch is the distance between rows in bytes,
   `rows` the distance between slices in rows; the pitch may be 0 if there is one row, `rows` if there is one slice. */
typedef struct mw_copy {
  uint64_t target, source;
  size_t target_pitch, target_rows, source_pitch, source_rows;
  size_t width, height, depth;
  mw_direction direction;              /* checked against the kinds of the addresses; a CUDA array is on the device */
  mw_array_place target_in, source_in; /* a CUDA array in place of the address; array NULL: the address */
  int foreign; /* 1: unknown addresses are host memory, unless only the device could have returned them (freed memory);
                  0: they are refused */
} mw_copy;

typedef struct mw_fill {
  uint64_t target;
  size_t pitch, rows;
  unsigned value;
  size_t size;                 /* bytes of an element: 1, 2 or 4 of `value` */
  size_t width, height, depth; /* width in elements */
  int foreign;
} mw_fill;

/* Copy or fill in `stream`, a stream of the device, or (NULL) in its default stream, waiting until it is done. In a
   stream the call waits as well if the host's side is pageable memory, or if boxes of one CUDA array overlap. A
   captured copy retains its CUDA arrays. MW_INVALID_VALUE past the end of memory, MW_INVALID_PITCH_VALUE if rows
   overlap, MW_INVALID_MEMCPY_DIRECTION. (cudaMemcpy3D, cudaMemset3D, cudaMemcpy2DToArrayAsync and the like) */
int mw_memory_copy(mw_device *device, mw_stream *stream, const mw_copy *copy);
/* Whether such a copy waits in a stream as well. */
int mw_memory_copy_waits(mw_device *device, const mw_copy *copy);
int mw_memory_fill(mw_device *device, mw_stream *stream, const mw_fill *fill);

/* ---- arrays: a typed, shaped, contiguous view of a buffer -------------------------------------------------------- */

typedef struct mw_array mw_array;

/* Allocate an array; contents are undefined. shape[0..rank-1] in elements, row-major, rank 1 to 8; a dimension of 0
   makes an empty array. `dtype` must live as long as the array (a built-in one does). */
int mw_array_new(mw_device *device, const mw_type *dtype, int rank, const size_t *shape, mw_array **out);
/* The same in pinned or managed memory. */
int mw_array_new_kind(mw_device *device, mw_memory_kind kind, const mw_type *dtype, int rank, const size_t *shape,
                      mw_array **out);
/* An array over device, pinned or managed memory of mw_memory_new, from `address` on. It retains the memory until
   mw_memory_free frees it. MW_INVALID_VALUE if the shape extends past its end. */
int mw_memory_array(uint64_t address, const mw_type *dtype, int rank, const size_t *shape, mw_array **out);
/* A contiguous view of `array`'s memory, `offset` bytes after its start, with another shape or type or of a part of it.
   Retains the buffer. MW_INVALID_VALUE if it does not fit in the array's bytes or is misaligned for the type. */
int mw_array_view(mw_array *array, size_t offset, const mw_type *dtype, int rank, const size_t *shape, mw_array **out);
/* A view whose elements lie `strides[d]` bytes apart along dimension d, its first element `offset` bytes after the
   array's first (or before it); dtype NULL: the array's. A view whose elements share memory, as with a stride of 0, is
   read-only. Retains the buffer. MW_INVALID_VALUE if elements lie outside of `array`'s, or are misaligned for the
   type. */
int mw_array_view_strided(mw_array *array, int64_t offset, const mw_type *dtype, int rank, const size_t *shape,
                          const int64_t *strides, mw_array **out);
/* Row i (from 0) of an array of several dimensions, as a view. */
int mw_array_row(mw_array *array, size_t i, mw_array **out);
mw_array *mw_array_retain(mw_array *array);
void mw_array_release(mw_array *array);
int mw_array_free(mw_array *array); /* mw_buffer_free of its buffer: every view of it is freed */
/* Memory that another library works on: after mw_array_free it is released only when its last use ends. Retain the array
   as well. MW_INVALID_RESOURCE_HANDLE if it was freed. */
int mw_array_use(mw_array *array);
void mw_array_unuse(mw_array *array);
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
/* MW_INVALID_VALUE where an array without elements has too many rows to list: 2^32 rows of none take no memory, a table
   for each does. `what` begins the sentence. */
int mw_array_check_rows(const mw_array *array, const char *what);
/* Copy the elements first .. first+count-1 to or from host memory, in the dtype's layout without gaps. Waits for
   earlier work. */
int mw_array_read(mw_array *array, size_t first, size_t count, void *target);
int mw_array_write(mw_array *array, size_t first, size_t count, const void *source);
/* The same as numbers, one for each scalar component (four for a float4), converted as by mw_value_from_double. */
int mw_array_read_doubles(mw_array *array, size_t first, size_t count, double *target);
int mw_array_write_doubles(mw_array *array, size_t first, size_t count, const double *source);
/* Set every element to *element (of the dtype's size); in order with launches; does not block. */
int mw_array_fill(mw_array *array, const void *element);
/* Set element i to start + i*step, computed in double; scalar dtypes. Waits for earlier work. */
int mw_array_ramp(mw_array *array, double start, double step);
/* An array as a value in a struct: its address, for a pointer of type `pointer` of a kernel on `device` (NULL: on any), or
   a copy of its elements, for a C array of type `type`. MW_INVALID_VALUE if it does not fit, with `what` as for
   mw_value_from_double. */
int mw_array_as_pointer(const mw_array *array, const mw_type *pointer, const mw_device *device, const char *what,
                        uint64_t *address);
int mw_array_as_elements(mw_array *array, const mw_type *type, const char *what, void *out);
/* The address of the elements in host memory; NULL if there are none. MW_INVALID_VALUE for a freed array or a strided
   view, MW_NOT_SUPPORTED if the host cannot access the memory. Waits for earlier work. See mw_buffer_host. */
int mw_array_host(mw_array *array, void **out);
/* How many channels an array has as a picture: {height, width} or {height, width, channels} of uchar, or {height, width}
   of uchar1, uchar3 or uchar4. MW_INVALID_VALUE if it is none; `what` begins the sentence. */
int mw_array_channels(const mw_array *array, const char *what, int *channels);
/* Element-wise copy between arrays of equal count and type, on any devices. */
int mw_array_copy(mw_array *target, mw_array *source);

/* Read the element of an array of one, which a kernel in the default stream writes before it writes `ticket` into the
   element of `flag`, of unsigned. Both are pinned memory. The host looks for the ticket for a short time, which takes
   less time than waiting for the device. MW_NOT_READY, without filling the error slot: read it by mw_array_read. */
int mw_array_poll(mw_array *array, mw_array *flag, unsigned ticket, void *target);

typedef enum mw_reduction { MW_SUM, MW_MIN, MW_MAX } mw_reduction;
/* Reduce all elements of a scalar dtype; waits for earlier work. Floating sums accumulate in double (pairwise).
   Reductions of integers are exact: *integer is written and *is_integer is 1, unless the result does not fit. *number
   is always written. Minimum and maximum ignore NaN unless all elements are NaN; for an empty array they are
   MW_INVALID_VALUE. */
int mw_array_reduce(mw_array *array, mw_reduction reduction, double *number, int64_t *integer, int *is_integer);

/* ---- texture memory: channels, CUDA arrays, copies by boxes ------------------------------------------------------ */

typedef enum mw_channel_kind { MW_CHANNEL_SIGNED, MW_CHANNEL_UNSIGNED, MW_CHANNEL_FLOAT } mw_channel_kind;

/* The format of a texel: `count` components (1, 2 or 4) of `bits` each: 8, 16 or 32 for integers, 16 or 32 for floats.
   (cudaChannelFormatDesc, whose x y z w are `bits` for the existing components, else 0) */
typedef struct mw_channels {
  mw_channel_kind kind;
  int bits, count;
} mw_channels;

/* The channels of an element type, and the element type of channels (float4, uchar, half, …).
   MW_INVALID_CHANNEL_DESCRIPTOR if texels have no such format (three components, 64 bits, structs). */
int mw_channels_of(const mw_type *dtype, mw_channels *out);
int mw_channels_dtype(const mw_channels *channels, const mw_type **out);

typedef enum mw_cuda_array_kind {
  MW_CUDA_ARRAY_1D,
  MW_CUDA_ARRAY_2D,
  MW_CUDA_ARRAY_3D,
  MW_CUDA_ARRAY_1D_LAYERED,
  MW_CUDA_ARRAY_2D_LAYERED,
  MW_CUDA_ARRAY_CUBEMAP,        /* height equals width; six faces, addressed as slices: +x -x +y -y +z -z */
  MW_CUDA_ARRAY_CUBEMAP_LAYERED /* six slices for each layer */
} mw_cuda_array_kind;

typedef struct mw_cuda_array_desc {
  mw_cuda_array_kind kind;
  mw_channels channels;
  size_t width, height, depth; /* texels; dimensions that the kind lacks are 0 or 1 */
  size_t layers;               /* of the layered kinds; else 0 or 1 */
  size_t levels;               /* of a mipmap, each half as large as the one before; 0 counts as 1 */
} mw_cuda_array_desc;

/* Allocate memory for textures and surfaces in a layout of the device's choosing: only copies, texture fetches and
   surfaces access it. Contents are undefined. MW_INVALID_VALUE for sizes above the device's limits or that do not suit
   the kind. (cudaMallocArray, cudaMalloc3DArray, cudaMallocMipmappedArray) */
int mw_cuda_array_new(mw_device *device, const mw_cuda_array_desc *desc, mw_cuda_array **out);
mw_cuda_array *mw_cuda_array_retain(mw_cuda_array *array);
void mw_cuda_array_release(mw_cuda_array *array);
/* As mw_buffer_free. MW_INVALID_VALUE for a level of a mipmap, which is freed with the mipmap. */
int mw_cuda_array_free(mw_cuda_array *array);
/* A level of a mipmap, counted from 0, as an array of a single level; it retains the mipmap and is freed with it. *out
   is yours: mw_cuda_array_release. (cudaGetMipmappedArrayLevel) */
int mw_cuda_array_level(mw_cuda_array *array, size_t level, mw_cuda_array **out);
int mw_cuda_array_is_freed(const mw_cuda_array *array);
/* The description that it was made with, normalised: dimensions that the kind lacks are 1. */
const mw_cuda_array_desc *mw_cuda_array_describe(const mw_cuda_array *array);
/* The extent of a level: texels in x and y, and slices in z: depth, layers, or six faces for each layer. */
int mw_cuda_array_extent(const mw_cuda_array *array, size_t level, size_t extent[3]);
mw_device *mw_cuda_array_device(const mw_cuda_array *array); /* borrowed */
size_t mw_cuda_array_bytes(const mw_cuda_array *array);      /* of device memory */

/* One side of a copy: host memory, a buffer or a CUDA array (one of the three), and the box's position in it. */
typedef struct mw_box_side {
  void *host;
  mw_buffer *buffer;
  size_t offset;                 /* bytes into host memory or the buffer */
  size_t row_pitch, slice_pitch; /* distance between rows (slices) in bytes; 0: without gaps */
  mw_cuda_array *array;
  size_t level;
  size_t x, y, z; /* of the box: x in bytes, y in rows, z in slices */
} mw_box_side;

/* Copy a box of `width` bytes, `height` rows and `depth` slices between memory of one device and the host, or within
   the device. Waits for earlier work. MW_INVALID_VALUE if the box extends past a side, divides texels, or the sides
   overlap; MW_INVALID_PITCH_VALUE if rows are wider than the pitch. (cudaMemcpy2D, cudaMemcpy3D, cudaMemcpyToArray,
   …) */
int mw_copy_box(const mw_box_side *target, const mw_box_side *source, size_t width, size_t height, size_t depth);
/* The same in the calling thread's stream, as mw_buffer_copy: does not wait, and can be captured, unless one side is
   host memory or the boxes may overlap in one memory. */
int mw_copy_box_queued(const mw_box_side *target, const mw_box_side *source, size_t width, size_t height, size_t depth);

/* ---- textures and surfaces --------------------------------------------------------------------------------------- */

/* CUDA's values (cudaTextureAddressMode, cudaTextureFilterMode). Wrap and mirror apply to normalized coordinates only;
   for others they mean clamp. */
typedef enum mw_address_mode {
  MW_ADDRESS_WRAP,
  MW_ADDRESS_CLAMP,
  MW_ADDRESS_MIRROR,
  MW_ADDRESS_BORDER
} mw_address_mode;
typedef enum mw_filter_mode { MW_FILTER_POINT, MW_FILTER_LINEAR } mw_filter_mode;
/* Auto: the mode that the first reference bound to the texture declares; for a texture object, element, or normalized
   if a linear filter needs it. */
typedef enum mw_read_mode { MW_READ_AUTO, MW_READ_ELEMENT, MW_READ_NORMALIZED } mw_read_mode;

/* How a texture is read. (cudaTextureDesc, textureReference) */
typedef struct mw_texture_desc {
  mw_address_mode address[3]; /* of x, y, z */
  mw_filter_mode filter;      /* linear needs floats: float channels or MW_READ_NORMALIZED */
  mw_read_mode read;          /* normalized: integers of 8 or 16 bits as [0, 1] or [-1, 1] */
  int normalized;             /* coordinates run from 0 to 1 */
  int srgb;                   /* 8-bit unsigned channels hold sRGB, read as linear light; needs MW_READ_NORMALIZED */
  int seamless;               /* filter a cubemap across its edges */
  float border[4];            /* the value outside, for MW_ADDRESS_BORDER */
  mw_filter_mode mip_filter;
  float lod_bias, lod_min, lod_max; /* in levels of a mipmap; the level is clamped to lod_min and lod_max */
  int max_anisotropy;               /* accepted and ignored: filtering is isotropic */
} mw_texture_desc;

/* The memory that a texture reads: a CUDA array; or linear memory, `width` elements (height 0); or pitched memory,
   `height` rows of `width` elements, `row_pitch` bytes apart. (cudaResourceDesc) */
typedef struct mw_resource {
  mw_cuda_array *array;
  mw_buffer *buffer;
  size_t offset; /* bytes into the buffer */
  mw_channels channels;
  size_t width, height, row_pitch;
} mw_resource;

/* An array of one dimension as linear memory, of two as pitched memory, whole rows. MW_INVALID_VALUE,
   _CHANNEL_DESCRIPTOR. */
int mw_array_as_resource(const mw_array *array, mw_resource *out);
/* How many elements a row of pitched memory has for `width` elements to count: as few as the device's alignment of
   textures allows. (cudaMallocPitch) */
int mw_pitched_elements(mw_device *device, const mw_type *dtype, size_t width, size_t *elements);

/* A texture or a surface: reads (and for surfaces writes) texture memory. Kernels take its 64-bit handle as
   cudaTextureObject_t or cudaSurfaceObject_t, and a reference can be bound to it. Retains its memory. */
typedef struct mw_texture mw_texture;

/* MW_INVALID_VALUE, _CHANNEL_DESCRIPTOR, _FILTER_SETTING, _NORM_SETTING, _PITCH_VALUE, _RESOURCE_HANDLE.
   Does not block. (cudaCreateTextureObject) */
int mw_texture_new(const mw_resource *resource, const mw_texture_desc *desc, mw_texture **out);
/* A surface over level `level` of a CUDA array. (cudaCreateSurfaceObject) */
int mw_surface_new(mw_cuda_array *array, size_t level, mw_texture **out);
mw_texture *mw_texture_retain(mw_texture *texture);
/* The last release destroys the texture once all work queued so far is done. */
void mw_texture_release(mw_texture *texture);
int mw_texture_is_surface(const mw_texture *texture);
/* Change the description from the next launch on; earlier launches use the old one. desc->read and desc->srgb cannot
   change. MW_NOT_SUPPORTED for a surface. Does not block. */
int mw_texture_configure(mw_texture *texture, const mw_texture_desc *desc);
int mw_texture_describe(const mw_texture *texture, mw_resource *resource, mw_texture_desc *desc); /* each may be NULL */
/* The handle that kernels take. Arrays of handles are arrays of 64-bit unsigned integers; whoever stores a handle in
   one must retain the texture. This call decides MW_READ_AUTO. MW_INVALID_VALUE if the texture has an offset. */
int mw_texture_handle(mw_texture *texture, uint64_t *handle);
/* The same for a value that is to be stored; NULL, a texture that was freed, is MW_INVALID_VALUE. `what` names the place
   as for mw_value_from_double. */
int mw_texture_as_value(mw_texture *texture, const char *what, uint64_t *handle);
/* Linear and pitched textures begin at an aligned address: the distance from there to the start of the resource in
   bytes, which a fetch has to add (in elements) to its x. 0 if the resource is aligned to
   mw_properties.texture_alignment. (cudaBindTexture's *offset) */
size_t mw_texture_offset(const mw_texture *texture);

typedef enum mw_reference_kind { MW_REFERENCE_NONE, MW_REFERENCE_TEXTURE, MW_REFERENCE_SURFACE } mw_reference_kind;

/* The declaration of a texture<Element, Dimensions, Mode> or surface<Element, Dimensions>. */
typedef struct mw_reference {
  mw_reference_kind kind;
  int dimensions; /* cudaTextureType1D … cudaTextureTypeCubemapLayered: 1, 2, 3, 0x0C, 0xF1, 0xF2, 0xFC */
  mw_read_mode read;
  const mw_type *element; /* void for surface<void> */
} mw_reference;

/* ---- OpenGL: its buffers as memory, its images as CUDA arrays ---------------------------------------------------- */

/* A buffer or an image (a texture or a renderbuffer) of an OpenGL context, registered for use by a device. The context
   is the one that is current in the calling thread during registration, and must be current when the resource is mapped
   and unmapped and when a part of an image is requested: MW_INVALID_GRAPHICS_CONTEXT if none is, in this and all
   functions below. OpenGL must not access the resource while it is mapped. */
typedef struct mw_graphics mw_graphics;

enum {                                /* cudaGraphicsRegisterFlags, cudaGraphicsMapFlags */
       MW_GRAPHICS_READ_ONLY = 1,     /* writes during the mapping may be lost */
       MW_GRAPHICS_WRITE_DISCARD = 2, /* the contents before the mapping may be lost: all will be overwritten */
       MW_GRAPHICS_SURFACE = 4,
       MW_GRAPHICS_GATHER = 8
};

/* Register a buffer by its name (from glGenBuffers), or an image by its name and its target (GL_TEXTURE_2D, …,
   GL_RENDERBUFFER). *out is yours. MW_INVALID_RESOURCE_HANDLE if the context has none of that name; MW_INVALID_VALUE
   for flags, targets and formats that cannot be shared. (cudaGraphicsGLRegisterBuffer, cudaGraphicsGLRegisterImage) */
int mw_graphics_buffer(mw_device *device, unsigned name, unsigned flags, mw_graphics **out);
int mw_graphics_image(mw_device *device, unsigned name, unsigned target, unsigned flags, mw_graphics **out);
/* Unregister the resource. If it is mapped, the mapping ends and writes to it are lost. NULL does nothing. */
void mw_graphics_release(mw_graphics *graphics);
int mw_graphics_is_mapped(mw_graphics *graphics);
/* Set the flags of later mappings: 0, READ_ONLY or WRITE_DISCARD. MW_ALREADY_MAPPED.
   (cudaGraphicsResourceSetMapFlags) */
int mw_graphics_set_flags(mw_graphics *graphics, unsigned flags);

/* Map all resources or none: earlier OpenGL commands complete before work that `stream` gets from now on. Unmap them:
   work of the stream completes before later OpenGL commands. Unmapping waits for the stream, and reports its failure
   after the resources are unmapped. MW_INVALID_RESOURCE_HANDLE if one is listed twice, MW_ALREADY_MAPPED,
   MW_NOT_MAPPED. (cudaGraphicsMapResources, cudaGraphicsUnmapResources) */
int mw_graphics_map(mw_stream *stream, mw_graphics *const *list, size_t count);
int mw_graphics_unmap(mw_stream *stream, mw_graphics *const *list, size_t count);

/* The device memory of a mapped buffer and its size; valid until it is unmapped. MW_NOT_MAPPED,
   MW_NOT_MAPPED_AS_POINTER. (cudaGraphicsResourceGetMappedPointer) */
int mw_graphics_pointer(mw_graphics *graphics, uint64_t *address, size_t *bytes);
/* One layer (or face) of one level of a mapped image, as a two- or three-dimensional CUDA array; valid until it is
   unmapped. Row 0 is OpenGL's row 0. *out is yours to release; mw_cuda_array_free refuses it. MW_INVALID_VALUE past the
   last layer or level, MW_NOT_MAPPED, MW_NOT_MAPPED_AS_ARRAY. (cudaGraphicsSubResourceGetMappedArray) */
int mw_graphics_array(mw_graphics *graphics, unsigned layer, unsigned level, mw_cuda_array **out);
/* All layers and levels of a mapped image as one CUDA array: two- or three-dimensional, layered, or a cubemap; valid
   until it is unmapped. mw_graphics_array returns parts of it. Its levels are OpenGL's from level 0 on, as far as each
   is half the size of the one before and of the same format. *out and failures are as above; MW_NOT_SUPPORTED if the
   device has no arrays of that kind, or if it stores layers separately and some have been requested.
   (cudaGraphicsResourceGetMappedMipmappedArray) */
int mw_graphics_mipmap(mw_graphics *graphics, mw_cuda_array **out);

/* List the names of the devices that render for the current context: list 1 is all of them, 2 those of the current
   frame, 3 those of the next frame. If no driver knows one, all devices are listed: each can share with any context by
   copies. MW_INVALID_DEVICE past the last, MW_INVALID_VALUE for another list, MW_INVALID_GRAPHICS_CONTEXT.
   (cudaGLGetDevices) */
int mw_graphics_device(unsigned list, size_t i, char name[32]);

/* ---- modules ----------------------------------------------------------------------------------------------------- */

typedef struct mw_module mw_module;
typedef struct mw_kernel mw_kernel;
typedef struct mw_symbol mw_symbol;

typedef struct mw_header {
  const char *name; /* as written in #include */
  const char *text;
} mw_header;

/* The input of a compilation. Zero the struct, then set the fields in use. All strings are borrowed during the call. */
typedef struct mw_source {
  const char *text;
  size_t length;
  const char *file;           /* the file that contains the text, for messages; NULL: "kernel.cu" */
  int line;                   /* the line of `file` on which the text begins; 0 counts as 1 */
  const char *const *options; /* -D -U -I -std=… -use_fast_math -O0…-O3 -G -lineinfo -arch=…
                                  --maxrregcount=…; for the CPU device --width=… (SIMD lanes; 1: none) and
                                  --mcpu=… (a processor's name as clang knows it; default: this machine's) */
  size_t option_count;
  const mw_header *headers; /* found before any directory */
  size_t header_count;
} mw_source;

/* Read a source file: *text is yours, mw_source_text_release. Pipes and devices, which may never end, are refused.
   MW_FILE_NOT_FOUND, MW_OPERATING_SYSTEM, MW_MEMORY_ALLOCATION. */
int mw_source_text_read(const char *path, char **text, size_t *length);
void mw_source_text_release(char *text);
/* From mw_sources_begin on, the calling thread notes the CUDA C of the modules whose kernels it launches, each text once;
   mw_sources_end returns it: yours, mw_text_release. Loaded modules without a text are left out. Does not block. */
void mw_sources_begin(void);
char *mw_sources_end(void);
/* Compile CUDA C for `device`. Errors: MW_INVALID_SOURCE with file, line, column and log; MW_JIT_COMPILER_NOT_FOUND;
   MW_LAUNCH_TIMEOUT and MW_MEMORY_ALLOCATION if the compiler exceeded its limits. Blocks until the module is compiled
   or found in the cache. (NVRTC's nvrtcCompileProgram + cuModuleLoadData) */
int mw_module_compile(mw_device *device, const mw_source *source, mw_module **out);
/* Seconds that this process has spent on compiling, including specialisations for block sizes. */
double mw_compile_seconds(void);
/* Load a module that mw_module_save or the mwcc command wrote. MW_FILE_NOT_FOUND, MW_INVALID_KERNEL_IMAGE,
   MW_NO_KERNEL_IMAGE_FOR_DEVICE (another processor), MW_MEMORY_ALLOCATION. Needs no compiler. */
int mw_module_load(mw_device *device, const char *path, mw_module **out);
/* Write the compiled module, including the template instances made so far, to `path`: atomically, by renaming a
   temporary file. */
int mw_module_save(mw_module *module, const char *path);
mw_module *mw_module_retain(mw_module *module);
void mw_module_release(mw_module *module);
/* The compiler's warnings, "" if there are none. The pointer changes when a template instance adds warnings; all
   returned strings live as long as the module. */
const char *mw_module_log(const mw_module *module);

/* Find a kernel by its source name: "saxpy", "ns::saxpy", "fill<float,4>" (instantiated now if necessary), "add(float
   *)" to select one of several overloads; or by its linkage name. Spaces are ignored. The error message of
   MW_SYMBOL_NOT_FOUND lists all kernels, that of an ambiguous name the candidates. May block for a compilation. */
int mw_module_kernel(mw_module *module, const char *name, mw_kernel **out);
int mw_module_symbol(mw_module *module, const char *name, mw_symbol **out);
/* Find a struct that the module's kernels or variables use, "Particle" or "ns::box<float>", as a dtype for arrays;
   lives as long as the module. If there is none, the built-in type of that name. The error message of
   MW_SYMBOL_NOT_FOUND lists the types; MW_INVALID_VALUE if its size is unknown or exceeds MW_ELEMENT_BYTES. */
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
int mw_symbol_read(mw_symbol *symbol, size_t offset, void *target, size_t bytes);        /* waits for earlier work */
int mw_symbol_write(mw_symbol *symbol, size_t offset, const void *source, size_t bytes); /* waits for earlier work */
/* The declaration of a texture or surface reference; NULL for any other variable. */
const mw_reference *mw_symbol_reference(const mw_symbol *symbol);
/* Bind a reference to `texture` (a surface reference to a surface), or unbind it (NULL), from the next launch on. The
   module retains the texture while it is bound. MW_INVALID_TEXTURE, _SURFACE or _CHANNEL_DESCRIPTOR if the texture does
   not match the reference's declaration. A launch that may read an unbound reference is MW_INVALID_TEXTURE_BINDING.
   Does not block. (cudaBindTexture, cudaBindTexture2D, cudaBindTextureToArray, cudaUnbindTexture) */
int mw_symbol_bind(mw_symbol *symbol, mw_texture *texture);
/* The texture or surface that it is bound to, or NULL; yours. */
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
  size_t local_bytes;  /* stack of a thread, as far as the compiler knows */
  int max_threads;     /* of a block, by __launch_bounds__ or the device */
  int registers;       /* of a thread; 0 if the device does not allocate them */
  const char *tier;    /* how the CPU device runs it: "simd", "loop" or "fiber"; "" on a GPU */
  const char *tier_reason;
  const char *file; /* of its definition */
  int line;
  const char *const *references; /* linkage names of the texture and surface references that it may read */
  size_t reference_count;
  unsigned cluster[3]; /* by __cluster_dims__; 0: the launch says */
  int reserved;
} mw_kernel_info;

mw_kernel *mw_kernel_retain(mw_kernel *kernel);
void mw_kernel_release(mw_kernel *kernel);
const mw_kernel_info *mw_kernel_describe(const mw_kernel *kernel); /* lives as long as the kernel */
/* Write its declaration, "saxpy(int n, float a, const float *x, float *y)": at most `size` bytes, including the NUL.
   Returns the length of the whole declaration. */
size_t mw_kernel_signature(const mw_kernel_info *kernel, char *text, size_t size);
mw_module *mw_kernel_module(const mw_kernel *kernel); /* borrowed */

typedef struct mw_launch mw_launch;

/* Prepare a launch: set grid, block (in threads) and dynamic shared memory. All limits are checked here; the message of
   MW_INVALID_CONFIGURATION names the limit and shows the arithmetic. A launch object may run many times, from one
   thread at a time. (cudaConfigureCall, CUDA 1.1 guide D.7.1) */
int mw_launch_new(mw_kernel *kernel, const unsigned grid[3], const unsigned block[3], size_t dynamic_shared,
                  mw_launch **out);
mw_launch *mw_launch_retain(mw_launch *launch);
void mw_launch_release(mw_launch *launch);
mw_kernel *mw_launch_kernel(const mw_launch *launch); /* borrowed */
/* Change the configuration; the arguments remain. */
int mw_launch_configure(mw_launch *launch, const unsigned grid[3], const unsigned block[3], size_t dynamic_shared);
/* Make it a cooperative launch until it is configured again: all its blocks are resident at the same time and may wait
   for each other (grid.sync() in a kernel). Running a grid that exceeds the device's capacity is
   MW_COOPERATIVE_LAUNCH_TOO_LARGE. (cudaLaunchCooperativeKernel) */
void mw_launch_cooperate(mw_launch *launch);
/* Let `blocks` neighbouring blocks along each axis form a cluster until it is configured again: they are resident at the
   same time, wait for each other and access each other's shared memory. MW_INVALID_CLUSTER_SIZE if the device has no
   such clusters, if the grid is not a multiple, or if the kernel's __cluster_dims__ are others. (cudaLaunchKernelEx,
   cudaLaunchAttributeClusterDimension) */
int mw_launch_cluster(mw_launch *launch, const unsigned blocks[3]);
/* How many clusters of the launch the device holds at once; -1 if it has no rule of its own. (cudaOccupancyMaxActiveClusters) */
int mw_launch_clusters(mw_launch *launch, int *clusters);
/* Let it begin before the launch before it in its stream has ended, until it is configured again: as soon as all blocks
   of that have called cudaTriggerProgrammaticLaunchCompletion() or ended. cudaGridDependencySynchronize() waits for its
   end. On the CPU device it has ended before. (cudaLaunchAttributeProgrammaticStreamSerialization) */
void mw_launch_depend(mw_launch *launch);
/* Set argument i (0-based), checked against the kernel's signature; the error names the parameter. number, int64:
   scalar parameters. array: pointer parameters; retains the array. address: pointer parameters, unchecked (0 is the
   null pointer). bytes: any parameter; `bytes` must be the parameter's size. */
int mw_launch_number(mw_launch *launch, size_t i, double value);
int mw_launch_int64(mw_launch *launch, size_t i, int64_t value);
int mw_launch_array(mw_launch *launch, size_t i, mw_array *array);
int mw_launch_address(mw_launch *launch, size_t i, uint64_t address);
int mw_launch_bytes(mw_launch *launch, size_t i, const void *value, size_t bytes);
/* The same with the parameter's bytes in a block of all parameters. MW_INVALID_VALUE if the block ends before it.
   (cuParamSetv, CU_LAUNCH_PARAM_BUFFER_POINTER) */
int mw_launch_from_block(mw_launch *launch, size_t i, const void *block, size_t bytes);
/* A texture or surface object, for a cudaTextureObject_t, cudaSurfaceObject_t or void * parameter; retains it. */
int mw_launch_texture(mw_launch *launch, size_t i, mw_texture *texture);
/* Retain `texture`, whose handle is inside a struct argument, until the next mw_launch_clear. */
int mw_launch_keep_texture(mw_launch *launch, mw_texture *texture);
/* Retain `array`, whose address is inside a struct argument, until the next mw_launch_clear. */
int mw_launch_keep(mw_launch *launch, mw_array *array);
/* Remove all arguments and release what they retain. */
void mw_launch_clear(mw_launch *launch);
/* Queue the kernel and return at once; arguments are copied, and arrays retained until the kernel is done.
   MW_INVALID_VALUE if an argument is missing or an array was freed. `site` (may be NULL, copied) is the call's source
   position for asynchronous errors: "script.lua:12"; text at the address of the last run's is assumed unchanged. Blocks
   only while too many launches are queued. (cudaLaunchKernel) */
int mw_launch_run(mw_launch *launch, const char *site);
/* The same in a stream of the kernel's device. */
int mw_launch_run_in(mw_launch *launch, mw_stream *stream, const char *site);

/* ---- watching launches ------------------------------------------------------------------------------------------- */

/* Watchers, which see each access, barrier and branch of the launches that they watch. */
typedef struct mw_watch mw_watch;
/* `watchers`: their names, with commas: "counters". MW_NOT_SUPPORTED if the device cannot watch, MW_INVALID_VALUE if
   there is no such watcher. *out is yours: mw_watch_release, when no watched launch is queued or running. */
int mw_watch_new(mw_device *device, const char *watchers, mw_watch **out);
void mw_watch_release(mw_watch *watch);
/* The calling thread's launches on the watch's device are watched from now on, until mw_watch_end. Their kernels are
   compiled once more for that, at their first launch. Launches in graphs are not watched. MW_INVALID_VALUE if a watch
   has begun already. */
int mw_watch_begin(mw_watch *watch);
void mw_watch_end(mw_watch *watch);
/* Wait for the device, and get what the watchers saw: lines of text, which lua/moonwarp/watch/ parses. It is valid until
   the next call. Fails with the error of a watched launch that failed. */
int mw_watch_result(mw_watch *watch, const char **text);
/* ---- checked runs ------------------------------------------------------------------------------------------------ */

typedef enum mw_check_kind {                      /* bits */
                             MW_CHECK_MEMORY = 1, /* bounds, alignment, freed memory, leaks of malloc in kernels */
                             MW_CHECK_RACES = 2,
                             MW_CHECK_BARRIERS = 4,      /* barriers, warp functions and their masks */
                             MW_CHECK_INITIALISATION = 8 /* values that nothing has written */
} mw_check_kind;

/* One side of a finding. */
typedef struct mw_finding_end {
  const char *kernel, *file; /* or NULL */
  int line;                  /* 0: unknown */
  const char *access;        /* "read", "write", "atomic"; or NULL */
  int has_thread;
  unsigned thread[3], block[3];
} mw_finding_end;

typedef struct mw_finding {
  const char *kind; /* "out_of_bounds", "misaligned", "use_after_free", "invalid_free", "leak", "race",
                       "uninitialised", "barrier_divergence", "warp_mask" */
  mw_finding_end here, other;
  int has_other, has_index;
  const char *array; /* or NULL */
  int64_t index;
  uint64_t count;    /* of the same lines */
  const char *scope; /* of a race or barrier: "warp", "block", "grid", "launches"; or NULL */
  const char *hint;  /* or NULL */
  const char *text;  /* a predicate, "wrote to x[4], …"; NULL for a race */
} mw_finding;

typedef struct mw_report mw_report;

/* Begin a checked run: until mw_check_end, launches run code compiled with --checks, and what is wrong with them becomes
   findings instead of failures. `kinds` is a set of mw_check_kind. A seed other than 0 draws whose turn is next, of
   threads and of blocks, so that races show what they can compute: equal seeds draw equal orders. Waits for the device.
   MW_NOT_SUPPORTED on GPUs before compute capability 7.0, and with a seed on any; MW_INVALID_VALUE in a checked run. */
int mw_check_begin(mw_device *device, unsigned kinds, uint64_t seed);
/* End it: waits for the device. *out is yours: mw_report_release. */
int mw_check_end(mw_device *device, mw_report **out);
size_t mw_report_count(const mw_report *report);
/* Finding i, from 0; its texts live as long as the report. MW_INVALID_VALUE past the last. */
int mw_report_get(const mw_report *report, size_t i, mw_finding *out);
/* What the launches did that the device cannot check, and other devices with launches: a line for each, or "". */
const char *mw_report_unchecked(const mw_report *report);
void mw_report_release(mw_report *report);

/* ---- linear algebra by libraries --------------------------------------------------------------------------------- */

/* The library that computes products of the device's matrices (or, with `factorisations`, factors them): "OpenBLAS
   0.3.21 (libopenblas.so.0)", written to `text`. Loads it. MW_NOT_SUPPORTED if there is none, with the reason and what
   to install. CPU: OpenBLAS, or what MOONWARP_BLAS names; GPUs: cuBLAS and cuSOLVER. */
int mw_linear_library(mw_device *device, int factorisations, char *text, size_t size);
/* Queue c = a b in the calling thread's stream, for matrices, or for arrays {batch, rows, columns} of as many; of float,
   double, half, bfloat16, or complex elements (float2, double2). MW_NOT_SUPPORTED if the library is missing or cannot
   take the elements or strides (rows or columns are to be contiguous), or if the stream is captured: then nothing is
   queued. */
int mw_array_product(mw_array *a, mw_array *b, mw_array *c);
/* Queue a factorisation of matrices by LAPACK or cuSOLVER in the calling thread's stream. All arrays are contiguous
   batches {batch, columns, rows} of matrices in column-major order, of one type T: float, double, float2, double2; R is
   its real type, C its complex one, k the smaller of rows m and columns n. `info`, int {batch}, is LAPACK's: 0, or the
   number of the pivot or value at which the factorisation stopped. MW_NOT_SUPPORTED as mw_array_product.
     "solve"     a {b, n, n}, x {b, r, n}, pivots int {b, n}, info: a becomes LU, the right sides x the solutions
     "lu"        a {b, n, n}, pivots int {b, n}, info
     "cholesky"  a {b, n, n}, info: the lower triangle; the rest stays as it is
     "qr"        a {b, n, m}, r {b, n, k}, info: q in the first k columns of a; r below its diagonal is undefined
     "eigh"      a {b, n, n}, w R {b, n}, info: of the lower triangle; a becomes the vectors. "eigvalsh": without them
     "svd"       a {b, n, m}, s R {b, k}, info, u {b, k or m, m}, vt {b, n, k or n}: a is lost. "svdvals": a, s, info
     "eig"       a {b, n, n}, w C {b, n}, info, v C {b, n, n}: a is lost. "eigvals": a, w, info */
int mw_array_factor(const char *name, mw_array *const *arrays, size_t count);

/* ---- messages between devices by a library ----------------------------------------------------------------------- */

/* One rank of a group of devices that send each other arrays, by NCCL. Messages are queued in the calling thread's stream
   and run in its order; the host does not wait. Arrays are contiguous and on the communicator's device. A message that
   does not end within the time limit (a rank died, or never made the matching call) fails in its stream: the
   communicator is aborted, and the next wait reports the reason. One thread at a time uses a communicator. */
typedef struct mw_communicator mw_communicator;

typedef enum mw_message_kind {
  MW_MESSAGE_ALLREDUCE,      /* target = the reduction of all sources; may be in place */
  MW_MESSAGE_REDUCE,         /* the same at rank `peer` only */
  MW_MESSAGE_BROADCAST,      /* target = the source of rank `peer` */
  MW_MESSAGE_ALLGATHER,      /* target: `size` times the source's elements, by rank */
  MW_MESSAGE_REDUCE_SCATTER, /* source: `size` times the target's; rank r gets part r of the reduction */
  MW_MESSAGE_SEND,           /* the source to rank `peer` */
  MW_MESSAGE_RECEIVE         /* the target from rank `peer` */
} mw_message_kind;

typedef enum mw_message_operation {
  MW_MESSAGE_SUM,
  MW_MESSAGE_PRODUCT,
  MW_MESSAGE_MAX,
  MW_MESSAGE_MIN,
  MW_MESSAGE_MEAN
} mw_message_operation;

enum { MW_COMMUNICATOR_ID = 128 };

/* The library that carries messages between devices of this kind: "NCCL 2.27.3 (libnccl.so.2)". Loads it.
   MW_NOT_SUPPORTED if there is none, with the reason and what to install. MOONWARP_NCCL may name it. */
int mw_communicator_library(mw_device *device, char *text, size_t size);
/* Write MW_COMMUNICATOR_ID bytes that identify a new group to `id`: one rank makes them, and all pass them to
   mw_communicator_new. (ncclGetUniqueId) */
int mw_communicator_id(mw_device *device, char *id);
/* Become rank `rank` of `size`. Waits until all ranks have called it, at most `seconds` (0: for ever), which is also
   the time limit of messages: MW_LAUNCH_TIMEOUT. Ranks of one thread call it between the begin and the end of a group, whose
   end waits. *out is yours. */
int mw_communicator_new(mw_device *device, const char *id, int size, int rank, double seconds, mw_communicator **out);
/* All ranks call it: those of one color become a communicator, by key and then by rank; *out is NULL if color is
   negative. */
int mw_communicator_split(mw_communicator *communicator, int color, int key, mw_communicator **out);
/* Waits for the messages in flight. NULL is fine. */
void mw_communicator_release(mw_communicator *communicator);
int mw_communicator_rank(mw_communicator *communicator, int *rank, int *size);
void mw_communicator_limit(mw_communicator *communicator, double seconds);
/* End the messages in flight, whose results are undefined. Later calls fail with the reason. (ncclCommAbort) */
int mw_communicator_abort(mw_communicator *communicator, const char *reason);
/* Begin or end a group on the calling thread: what is queued between starts together, so that one thread can serve
   several ranks, and a rank can send and receive at once. Groups nest. (ncclGroupStart) */
int mw_communicator_group(mw_device *device, int begins);
/* Queue a message. source and target: NULL where the kind, or this rank, has none. `peer`: the root, or the other
   rank. `site` (may be NULL, copied): as for mw_launch_run. MW_INVALID_VALUE if counts or types do not fit. */
int mw_communicator_queue(mw_communicator *communicator, mw_message_kind kind, mw_array *source, mw_array *target,
                          mw_message_operation operation, int peer, const char *site);

/* The array as a DLPack 1.0 tensor, without a copy: a DLManagedTensor, or with `versioned` a DLManagedTensorVersioned.
   *out is yours: call its deleter, until when the memory stays. Waits for the work on the device. MW_NOT_SUPPORTED for
   structs, for strides that are no whole elements, and for read-only views in the older form. */
int mw_array_to_dlpack(mw_array *array, int versioned, void **out);
/* An array on `device` with a copy of a tensor's elements, which are in host memory or on that GPU; its deleter is
   called. *out is yours. After a failure the tensor stays yours. Waits. */
int mw_array_from_dlpack(mw_device *device, void *tensor, int versioned, mw_array **out);

/* ---- Fourier transforms by libraries ------------------------------------------------------------------------------ */

typedef enum mw_fourier_kind {
  MW_FOURIER_FORWARD,     /* complex to complex, the exponent's sign is - */
  MW_FOURIER_INVERSE,     /* the same with + */
  MW_FOURIER_REAL,        /* n real numbers to the first n / 2 + 1 complex ones, forward */
  MW_FOURIER_REAL_INVERSE /* and back */
} mw_fourier_kind;

/* The library that transforms the device's arrays: "FFTW (libfftw3f.so.3, libfftw3.so.3)", written to `text`. Loads it.
   MW_NOT_SUPPORTED if there is none, with the reason and what to install. CPU: FFTW; GPUs: cuFFT. */
int mw_fourier_library(mw_device *device, char *text, size_t size);
/* Queue the transforms of x into y in the calling thread's stream: of n numbers that are `inner` elements apart, side by
   side and as often as x has them. Arrays are contiguous and apart; results are not divided by n. MW_NOT_SUPPORTED if
   the library is missing or the stream is captured: then nothing is queued. */
int mw_array_fourier(mw_array *x, mw_array *y, mw_fourier_kind kind, size_t n, size_t inner);

/* ---- functions of elements --------------------------------------------------------------------------------------- */

/* One CUDA C body applied to all elements of arrays whose shapes broadcast. Kernels are compiled on demand: one for
   contiguous arrays, and one for each other combination of layouts. */
typedef struct mw_elementwise mw_elementwise;

typedef enum mw_operand_kind {
  MW_OPERAND_OUT,   /* an array; the body assigns its element */
  MW_OPERAND_IN,    /* an array; the body reads its element */
  MW_OPERAND_WHOLE, /* a contiguous array, which the body indexes from 0 */
  MW_OPERAND_SCALAR /* a number or a struct, the same for all elements */
} mw_operand_kind;

typedef struct mw_operand {
  const char *name; /* in the body; a C identifier that does not end in _ */
  mw_operand_kind kind;
  const mw_type *dtype;
} mw_operand;

typedef struct mw_elementwise_source {
  const char *name;     /* of the kernel: a C identifier */
  const char *preamble; /* CUDA C before the kernel: functions, structs, #include lines; or NULL */
  const char *body;     /* statements that use operands by name; `i` is the element's row-major index, from 0 */
  int uses_index;       /* whether the body uses `i` */
  const char *file;     /* the body's source position, for messages, or NULL */
  int line;
  const char *const *options; /* as in mw_source */
  size_t option_count;
  const mw_operand *operands; /* 1 to 32 */
  size_t operand_count;
} mw_elementwise_source;

/* The value of an operand in a run. */
typedef struct mw_operand_value {
  mw_array *array;   /* OUT: NULL makes a new array */
  const void *bytes; /* of a scalar, in its type; NULL: the number below */
  int is_integer;
  double number;
  int64_t integer;
} mw_operand_value;

/* `source` is copied; its types are borrowed as long as the function lives. *out is yours. Does not compile yet. */
int mw_elementwise_new(mw_device *device, const mw_elementwise_source *source, mw_elementwise **out);
void mw_elementwise_release(mw_elementwise *f);
/* The CUDA C of the kernel for contiguous arrays. Yours: mw_text_release. */
char *mw_elementwise_text(const mw_elementwise *f);
void mw_text_release(char *text);
/* Queue a run in the calling thread's stream; `values` has one entry for each operand. New outputs are contiguous, have
   the broadcast shape, and are yours: values[i].array. An input that overlaps an output, other than element by element,
   is read from a copy. MW_INVALID_VALUE for shapes that do not broadcast and for mismatched types; MW_INVALID_SOURCE if
   the body does not compile. Blocks only while a kernel is compiled. */
int mw_elementwise_run(mw_elementwise *f, mw_operand_value *values, const char *site);

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

/* Work that is described once and run often. A graph's nodes are numbered from 0 in the order in which they are made,
   and each depends on earlier nodes only. Nodes retain what they use: kernels, arrays, textures, buffers. */
typedef struct mw_graph mw_graph;
typedef struct mw_graph_exec mw_graph_exec;

typedef enum mw_node_kind {
  MW_NODE_KERNEL,
  MW_NODE_COPY,
  MW_NODE_FILL,
  MW_NODE_HOST,
  MW_NODE_EMPTY,
  MW_NODE_CONDITIONAL
} mw_node_kind;

typedef struct mw_node_info {
  mw_node_kind kind;
  const char *label;   /* "saxpy<<<(4,1,1), (256,1,1)>>>", "copy of 400 bytes"; lives as long as the graph */
  const size_t *after; /* the nodes that it depends on directly */
  size_t after_count;
} mw_node_info;

int mw_graph_new(mw_device *device, mw_graph **out);
mw_graph *mw_graph_retain(mw_graph *graph);
void mw_graph_release(mw_graph *graph);
size_t mw_graph_count(const mw_graph *graph);
int mw_graph_node(const mw_graph *graph, size_t i, mw_node_info *out);
/* Add a node that does nothing, after others: for joins and forks. */
int mw_graph_add_empty(mw_graph *graph, const size_t *after, size_t after_count, size_t *node);
int mw_graph_depend(mw_graph *graph, size_t node, size_t on); /* `on` was made before `node` */

/* Conditional nodes. A condition is a value of the device's, which kernels set by cudaGraphSetConditional(handle, value)
   and one conditional node of `graph` tests. *handle is valid as long as `graph` or an executable graph made from it.
   `assigned`: each launch begins with `value`; else the value is undefined until a kernel sets it. Executable graphs made
   from one graph share its conditions. (cudaGraphConditionalHandleCreate) */
int mw_graph_condition_new(mw_graph *graph, unsigned value, int assigned, uint64_t *handle);
/* Add a node with `count` graphs of its own, `bodies`, which are still empty, live as long as `graph`, and get their nodes
   like any graph: launches, copies and fills of the device's memory, and conditional nodes. IF runs the first body if the
   value is not 0, else the second if there are two. WHILE runs its body as long as the value is not 0. SWITCH runs body
   number value, counted from 0, if there is one. MW_INVALID_VALUE: the handle is of another graph, or of another node.
   (cudaGraphAddNode, cudaGraphNodeTypeConditional) */
typedef enum mw_conditional { /* cudaGraphConditionalNodeType */
                              MW_CONDITIONAL_IF,
                              MW_CONDITIONAL_WHILE,
                              MW_CONDITIONAL_SWITCH
} mw_conditional;
int mw_graph_add_conditional(mw_graph *graph, mw_conditional kind, uint64_t handle, size_t count, const size_t *after,
                             size_t after_count, size_t *node, mw_graph **bodies);
/* Whether it is the body of a conditional node. */
int mw_graph_is_body(const mw_graph *graph);

/* Capture `stream` (not the default stream): work that it gets is not run but added to `graph` as nodes, the first of
   them after the nodes `after`. Launches, copies, fills and host functions become nodes. An event recorded in the
   stream stands for the nodes so far, and a stream that waits for it joins the capture. During a capture, calls that
   wait for the device, such as reading an array, fail with MW_STREAM_CAPTURE_UNSUPPORTED, and work in the default
   stream fails with MW_STREAM_CAPTURE_IMPLICIT; both invalidate the capture. The mode selects the threads whose waits
   fail: all threads, the calling thread only, or none. In every mode, work in the default stream fails if it would wait
   for a captured stream. (cudaStreamBeginCaptureToGraph) */
typedef enum mw_capture_mode { /* cudaStreamCaptureMode */
                               MW_CAPTURE_GLOBAL,
                               MW_CAPTURE_THREAD,
                               MW_CAPTURE_RELAXED
} mw_capture_mode;
int mw_graph_capture(mw_graph *graph, mw_stream *stream, const size_t *after, size_t after_count, mw_capture_mode mode);
/* End the capture: *last (may be NULL) is the last node of `stream`, or SIZE_MAX. MW_STREAM_CAPTURE_INVALIDATED if it
   was invalidated, MW_STREAM_CAPTURE_UNMATCHED for a stream that did not begin it, MW_STREAM_CAPTURE_WRONG_THREAD for a
   thread that did not begin it (unless its mode is relaxed), MW_STREAM_CAPTURE_UNJOINED if `stream` did not wait for
   another stream that joined. The capture ends in all cases except UNMATCHED and WRONG_THREAD. */
int mw_graph_capture_end(mw_stream *stream, size_t *last);
/* The graph that a stream is captured into (borrowed), or NULL; *spoilt (may be NULL): whether the capture is
   invalid. */
mw_graph *mw_stream_capturing(const mw_stream *stream, int *spoilt);

/* Make a graph executable; later changes of the graph do not affect *out. MW_NOT_SUPPORTED: the body of a conditional node
   has a node that it cannot have. */
int mw_graph_instantiate(const mw_graph *graph, mw_graph_exec **out);
void mw_graph_exec_release(mw_graph_exec *exec);
/* The number of its host functions that are holds (mw_stream_hold). */
size_t mw_graph_exec_holds(const mw_graph_exec *exec);
/* Run it in `stream`, after its own previous run; returns at once. Independent nodes may overlap. `holds`: space for
   mw_graph_exec_holds(exec) holds, in the order of the nodes, each yours; NULL if there are none. */
int mw_graph_exec_launch(mw_graph_exec *exec, mw_stream *stream, mw_hold **holds);
/* Replace configuration and arguments of a kernel node. MW_GRAPH_EXEC_UPDATE_FAILURE for another kernel. */
int mw_graph_exec_set_launch(mw_graph_exec *exec, size_t node, mw_launch *launch, const char *site);
/* Replace a node by the only node of `graph`, which must be of the same kind. *hold (may be NULL): the index of its
   hold, or SIZE_MAX. MW_GRAPH_EXEC_UPDATE_FAILURE for another kind, another kernel, or a graph of several nodes. */
int mw_graph_exec_set_node(mw_graph_exec *exec, size_t node, const mw_graph *graph, size_t *hold);
/* Replace all nodes by those of a graph of the same structure; *node (may be NULL) is the first that differs. */
int mw_graph_exec_update(mw_graph_exec *exec, const mw_graph *graph, size_t *node);

/* ---- the compile cache ------------------------------------------------------------------------------------------- */

typedef struct mw_cache_info {
  char path[1024];
  size_t hits, misses;   /* of this process */
  size_t bytes, entries; /* on disk */
  size_t limit;          /* bytes; the least recently used entries are evicted */
} mw_cache_info;

int mw_cache_describe(mw_cache_info *out);
int mw_cache_clear(void);
int mw_cache_limit(size_t bytes);

/* ---- files of data: their bytes, and what the members of zip files need ------------------------------------------ */

/* Read a regular file; a 0 follows its bytes. *bytes is yours: mw_bytes_release. MW_FILE_NOT_FOUND, MW_OPERATING_SYSTEM
   (also for a pipe or a device), MW_MEMORY_ALLOCATION. */
int mw_bytes_read(const char *path, size_t *length, char **bytes);
/* Write atomically: other processes see the file as it was, or whole. MW_OPERATING_SYSTEM. */
int mw_bytes_write(const char *path, const char *bytes, size_t length);
void mw_bytes_release(char *bytes);
/* CRC-32, as zip and PNG have it. */
uint32_t mw_bytes_checksum(const char *bytes, size_t length);
/* That of bytes that have the checksum `first`, followed by `length` bytes that have the checksum `second`. */
uint32_t mw_bytes_checksum_join(uint32_t first, uint32_t second, size_t length);
/* Decompress data by deflate, without a header, to exactly `size` bytes. MW_INVALID_VALUE for damaged data and another
   size, MW_MEMORY_ALLOCATION, MW_NOT_SUPPORTED in a build without zlib. */
int mw_bytes_inflate(const char *bytes, size_t length, size_t size, char *out);

/* ---- images: netpbm and PNG, as packed bytes --------------------------------------------------------------------- */

/* Read PGM, PPM (P2 P3 P5 P6, 8 bits) or PNG. *pixels (height*width*channels bytes, rows from the top, channels 1, 3 or
   4) is yours: mw_image_release. MW_FILE_NOT_FOUND, MW_INVALID_VALUE (an invalid file; the message says why),
   MW_OPERATING_SYSTEM (also for a pipe or a device), MW_MEMORY_ALLOCATION, MW_NOT_SUPPORTED (PNG in a build without
   libpng). */
int mw_image_read(const char *path, int *width, int *height, int *channels, unsigned char **pixels);
/* Write in the format of the name's extension: .pgm (1 channel), .ppm (3), .png (1, 3 or 4). */
int mw_image_write(const char *path, int width, int height, int channels, const unsigned char *pixels);
void mw_image_release(unsigned char *pixels);
/* Convert pixels to texels of `dtype`: uchar or float (grey, colours weighted by ITU-R BT.601), uchar4 or float4 (grey
   replicated to three components; opaque without an alpha channel); floats range from 0 to 1. `texels` has width*height
   elements. MW_NOT_SUPPORTED for any other dtype. */
int mw_image_texels(int width, int height, int channels, const unsigned char *pixels, const mw_type *dtype,
                    void *texels);

/* ---- MPI: one script in many processes --------------------------------------------------------------------------- */

/* Communicators, messages and collective operations, by a libmpi that is found at run time (Open MPI, MPICH, or one with
   MPI 5's interface); MOONWARP_MPI names one. Ranks count from 0. One thread of the process makes all of these calls. A
   function that waits returns MW_NOT_READY after `seconds`; call mw_mpi_watch between such calls, and call it again.
   MW_NOT_SUPPORTED if there is no libmpi; MW_OPERATING_SYSTEM for what libmpi reports. */
typedef struct mw_mpi_comm mw_mpi_comm;
typedef struct mw_mpi_request mw_mpi_request;

enum { MW_MPI_ANY = -1, MW_MPI_BY_HOST = -2, MW_MPI_TEXT = 256 };

/* Which libmpi there is, or why there is none, and what it does with GPUs' memory; as mw_doctor. */
size_t mw_mpi_report(char *text, size_t size);
/* All processes. The first call initialises MPI, and registers its end: a process that exits with a status other than 0
   ends all others, one that exits with 0 waits for them. *out is yours: mw_mpi_release. */
int mw_mpi_world(mw_mpi_comm **out);
int mw_mpi_rank(const mw_mpi_comm *comm);
int mw_mpi_size(const mw_mpi_comm *comm);
mw_mpi_comm *mw_mpi_retain(mw_mpi_comm *comm);
void mw_mpi_release(mw_mpi_comm *comm);
/* Free libmpi's communicator, on all of its ranks. What is merely released is freed with the process. */
int mw_mpi_free(mw_mpi_comm *comm);
/* Collective: the ranks of one color (from 0), ordered by key; of the same machine for MW_MPI_BY_HOST. *out is NULL for
   other negative colors. */
int mw_mpi_split(mw_mpi_comm *comm, int color, int key, mw_mpi_comm **out);
int mw_mpi_dup(mw_mpi_comm *comm, mw_mpi_comm **out);
/* A grid of processes, the last dimension fastest. *out is NULL on ranks beyond it. `reorder`: ranks may change. */
int mw_mpi_cartesian(mw_mpi_comm *comm, int rank, const int *dims, const int *periods, int reorder, mw_mpi_comm **out);
/* Fill in the dimensions that are 0, for a grid of so many processes. */
int mw_mpi_dims(int nodes, int rank, int *dims);
/* End all processes. Does not return. */
void mw_mpi_abort(mw_mpi_comm *comm, int status);

/* A message: an array's dtype and shape, or (rank -1) bytes, which `contents` points to until the request is released. */
typedef struct mw_mpi_message {
  int source, tag, rank;
  size_t shape[8], bytes;
  char dtype[32];
  const void *contents; /* of a receive without an array */
} mw_mpi_message;

/* Begin to send an array, or (NULL) bytes, and wait for at most `seconds`. The array's contents are those after the work
   that is queued now. Tags are 0 to 32767. *out is NULL if it is done, else yours: mw_mpi_request_release. A long message
   reads the array until it is done. */
int mw_mpi_send(mw_mpi_comm *comm, mw_array *array, const void *bytes, size_t size, int to, int tag, double seconds,
                mw_mpi_request **out);
/* Begin to receive into an array, or (NULL) whatever comes, and wait for at most `seconds`. *out is NULL if a receive into
   an array is done, and *source and *found_tag are its. Another dtype or shape is MW_INVALID_VALUE for both sides. */
int mw_mpi_receive(mw_mpi_comm *comm, mw_array *array, int from, int tag, double seconds, int *source, int *found_tag,
                   mw_mpi_request **out);
int mw_mpi_wait(mw_mpi_request *request, double seconds);
int mw_mpi_received(mw_mpi_request *request, mw_mpi_message *out);
void mw_mpi_request_release(mw_mpi_request *request);
/* MW_NOT_READY if no message is there. */
int mw_mpi_probe(mw_mpi_comm *comm, int from, int tag, int *source, int *found_tag);

/* Whether all ranks have come to the operation that `what` describes. Waits for all of them; called again after
   MW_NOT_READY, it goes on waiting. */
int mw_mpi_agree(mw_mpi_comm *comm, const char *what, double seconds, int *agrees);
/* Exchange texts of less than MW_MPI_TEXT bytes with all ranks; `texts` has room for MW_MPI_TEXT bytes of each. */
int mw_mpi_compare(mw_mpi_comm *comm, const char *what, char *texts);
/* To be called repeatedly by a thread that waits, at "script.lua:12: receiving from rank 3". MW_LAUNCH_TIMEOUT if all
   ranks wait for each other, with where each of them is; MW_INVALID_VALUE if a rank could not receive what this one sent. */
int mw_mpi_watch(const char *where);

typedef enum mw_mpi_operator {
  MW_MPI_SUM,
  MW_MPI_PROD,
  MW_MPI_MAX,
  MW_MPI_MIN,
  MW_MPI_LAND,
  MW_MPI_LOR,
  MW_MPI_LXOR,
  MW_MPI_BAND,
  MW_MPI_BOR,
  MW_MPI_BXOR,
  MW_MPI_REPLACE, /* these two of windows only: the new value */
  MW_MPI_NO_OP    /* the old value */
} mw_mpi_operator;

typedef enum mw_mpi_kind {
  MW_MPI_BROADCAST, /* out */
  MW_MPI_REDUCE,    /* in; out on the root */
  MW_MPI_ALLREDUCE,
  MW_MPI_SCAN,
  MW_MPI_EXSCAN,
  MW_MPI_REDUCE_SCATTER, /* send_rows: of each rank */
  MW_MPI_ALLGATHER,      /* receive_rows NULL: every rank has as many */
  MW_MPI_GATHER,         /* receive_rows and out on the root */
  MW_MPI_SCATTER,        /* send_rows and in on the root */
  MW_MPI_ALLTOALL,       /* both rows, or neither */
  MW_MPI_BARRIER         /* of mw_mpi_begin */
} mw_mpi_kind;

typedef struct mw_mpi_call {
  mw_mpi_kind kind;
  mw_mpi_operator op;
  int root;
  mw_array *in, *out;                     /* contiguous; the same array for both: in place */
  size_t row;                             /* elements of a row */
  const size_t *send_rows, *receive_rows; /* how many rows for each rank, one after the other; or NULL */
} mw_mpi_call;

/* Whether libmpi has the operator for the dtype. */
int mw_mpi_reduces(const mw_type *dtype, mw_mpi_operator which);
/* A collective operation; waits. All ranks have to call it; mw_mpi_agree before makes sure of that. */
int mw_mpi_collect(mw_mpi_comm *comm, const mw_mpi_call *call);
/* The same without waiting. Once all ranks have begun `what` (NULL: without that check), libmpi's operation starts; the
   arrays are libmpi's until the request is done. An error of the request names each rank's `where` if the ranks began
   different ones. *out is yours. */
int mw_mpi_begin(mw_mpi_comm *comm, const mw_mpi_call *call, const char *what, const char *where, mw_mpi_request **out);

/* A window: an array of each rank's that the other ranks read and write. */
typedef struct mw_mpi_window mw_mpi_window;

typedef enum mw_mpi_access_kind {
  MW_MPI_PUT,             /* origin -> target */
  MW_MPI_GET,             /* target -> result */
  MW_MPI_ACCUMULATE,      /* target = target op origin */
  MW_MPI_GET_ACCUMULATE,  /* the same; result: the target before */
  MW_MPI_FETCH_AND_OP,    /* the same of one element */
  MW_MPI_COMPARE_AND_SWAP /* target = origin if it is `compare`; result: the target before. One integer */
} mw_mpi_access_kind;

typedef struct mw_mpi_access {
  mw_mpi_access_kind kind;
  mw_mpi_operator op;
  int rank;                            /* the target's */
  size_t first;                        /* its first element, from 0 */
  mw_array *origin, *result, *compare; /* contiguous, of the window's dtype; NULL if the kind has none */
} mw_mpi_access;

typedef enum mw_mpi_epoch {
  MW_MPI_FENCE, /* collective */
  MW_MPI_LAST_FENCE,
  MW_MPI_LOCK_SHARED, /* ranks: one */
  MW_MPI_LOCK_EXCLUSIVE,
  MW_MPI_UNLOCK,
  MW_MPI_LOCK_ALL,
  MW_MPI_UNLOCK_ALL,
  MW_MPI_FLUSH, /* no ranks: all */
  MW_MPI_START, /* ranks: those that post */
  MW_MPI_COMPLETE,
  MW_MPI_POST, /* ranks: those that start */
  MW_MPI_TEST  /* MW_NOT_READY until those that started have completed */
} mw_mpi_epoch;

/* Collective; the dtype has to be the same on all ranks. The array's memory stays in use until mw_mpi_window_free, whatever
   else happens to it. MW_NOT_SUPPORTED for memory of a device that libmpi does not read. *out is yours. */
int mw_mpi_window_new(mw_mpi_comm *comm, mw_array *array, mw_mpi_window **out);
/* Collective. */
int mw_mpi_window_free(mw_mpi_window *window);
void mw_mpi_window_release(mw_mpi_window *window);
/* Begin an access. Its arrays are in use until the epoch ends or is flushed. MW_INVALID_VALUE outside of an epoch, and past
   the end of the target's array. */
int mw_mpi_window_access(mw_mpi_window *window, const mw_mpi_access *access);
/* Begin or end an epoch. MW_NOT_READY if, after so many seconds, another rank is still in the way: it has the lock, or has
   not posted. */
int mw_mpi_window_epoch(mw_mpi_window *window, mw_mpi_epoch what, const int *ranks, int count, double seconds);

/* A file that the ranks of a communicator read and write together (MPI-IO). Errors of files are MW_OPERATING_SYSTEM, of the
   kind "io", and name the file. */
typedef struct mw_mpi_file mw_mpi_file;

enum { MW_MPI_READS = 1, MW_MPI_WRITES = 2, MW_MPI_CREATES = 4, MW_MPI_EMPTIES = 8, MW_MPI_EXCLUDES = 16 };

typedef enum mw_mpi_file_kind {
  MW_MPI_READ_AT,
  MW_MPI_WRITE_AT,
  MW_MPI_READ_AT_ALL, /* collective */
  MW_MPI_WRITE_AT_ALL,
  MW_MPI_READ_SHARED, /* at the place that all ranks share, which moves on */
  MW_MPI_WRITE_SHARED,
  MW_MPI_READ_ORDERED, /* collective: the same, in the order of the ranks */
  MW_MPI_WRITE_ORDERED
} mw_mpi_file_kind;

/* Collective. `mode`: MW_MPI_READS and the like. *out is yours: mw_mpi_file_release; the file is open until
   mw_mpi_file_close, which is collective. */
int mw_mpi_file_open(mw_mpi_comm *comm, const char *path, int mode, mw_mpi_file **out);
int mw_mpi_file_close(mw_mpi_file *file);
void mw_mpi_file_release(mw_mpi_file *file);
/* Read or write the elements of a contiguous array. `offset`: in bytes; with a view in elements of it. A read past the end
   of the file is an error that says how many elements there were. */
int mw_mpi_file_move(mw_mpi_file *file, mw_mpi_file_kind kind, mw_array *array, uint64_t offset);
/* Collective: from byte `offset` on the file is an array of `shape`, in row order, of elements of so many bytes, and this
   rank sees `count` elements of each axis from `first` on, from 0. A rank may see none. Rank 0: all of the file's bytes. */
int mw_mpi_file_view(mw_mpi_file *file, uint64_t offset, size_t element, int rank, const size_t *shape,
                     const size_t *first, const size_t *count);
int mw_mpi_file_size(mw_mpi_file *file, uint64_t *bytes);
/* Collective. */
int mw_mpi_file_resize(mw_mpi_file *file, uint64_t bytes);
/* Collective: what was written is on the disk, and read by the other ranks. */
int mw_mpi_file_sync(mw_mpi_file *file);
