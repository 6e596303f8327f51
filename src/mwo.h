/* The image format that mwcc writes and the CPU driver runs: the tables of a .mwo file, and the interface between
 * generated code and the runtime.
 *
 * A .mwo file is an ELF shared object that exports one data symbol, `mw_mwo`, in the section ".moonwarp"; the dynamic
 * linker has resolved every pointer in it once the object is open. The ELF image is followed by a trailer (mw_trailer)
 * with a checksum over everything before it, so that a damaged file is refused before it is opened. The object is
 * stateless: module variables are in device memory and accessed through the frame, so one object serves many modules.
 *
 * Generated code gets everything through two pointers, a frame (one for each launch, constant) and a worker (one for
 * each worker thread). Offsets in these structs are compiled into images: a change here needs a new MW_MWO_VERSION. */
#ifndef MW_MWO_H
#define MW_MWO_H

#include "moonwarp.h"
#include "mwo_bulk.h"

#define MW_MWO_VERSION 31
#define MW_MWO_SYMBOL  "mw_mwo"
#define MW_MWO_MAGIC   "MWOIMG2"

typedef struct mw_worker mw_worker;
typedef struct mw_frame mw_frame;

/* Runs blocks first..last-1 of a launch on the calling worker; block b is blockIdx (b % gx, b / gx % gy, b / gx / gy).
   (Or gangs, if mw_mwo_kernel.gangs > 1; or iterations of blocks, if mw_frame.iterations is not 0.) */
typedef void mw_block_function(const mw_frame *frame, mw_worker *worker, uint64_t first, uint64_t last);
/* Whether the block function is compiled for the launch, whose frame is complete. */
typedef uint32_t mw_launch_test(const mw_frame *frame);
/* The number of iterations of a grid-stride loop that each block of a launch does, if these can be scheduled like
   blocks; 0: not known. The launch's frame is complete except for `iterations`. */
typedef uint64_t mw_launch_iterations(const mw_frame *frame);
/* Runs one CUDA thread of the worker's current block (fiber tier): `thread` is its linear id. */
typedef void mw_thread_function(const mw_frame *frame, mw_worker *worker, uint32_t thread);

typedef enum mw_trap {
  MW_TRAP_EXPLICIT, /* __trap() */
  MW_TRAP_STACK,    /* an alloca that cannot fit */
  MW_TRAP_UNREACHABLE
} mw_trap;

typedef enum mw_vote { MW_VOTE_COUNT, MW_VOTE_AND, MW_VOTE_OR } mw_vote;

/* Warp functions: lanes of a warp call them together, each with a value, and each gets a result (PTX ISA: shfl.sync,
   vote.sync, match.sync, redux.sync, bar.warp.sync). */
typedef enum mw_warp_call {
  MW_WARP_SYNC,
  MW_WARP_SHUFFLE, /* from the lane given by `lane` and `segments`, encoded as in the shfl instruction */
  MW_WARP_SHUFFLE_UP,
  MW_WARP_SHUFFLE_DOWN,
  MW_WARP_SHUFFLE_XOR,
  MW_WARP_ALL, /* votes: value 0 or not */
  MW_WARP_ANY,
  MW_WARP_UNIFORM,
  MW_WARP_BALLOT,
  MW_WARP_MATCH_ANY,
  MW_WARP_MATCH_ALL, /* 0 unless all have the same value */
  MW_WARP_ADD,       /* reductions of 32 bits */
  MW_WARP_MIN,
  MW_WARP_MAX,
  MW_WARP_UMIN,
  MW_WARP_UMAX,
  MW_WARP_AND,
  MW_WARP_OR,
  MW_WARP_XOR,
  MW_WARP_APPLY /* a function for all lanes, which modules call themselves */
} mw_warp_call;

/* What an access is, for check_access. Without MW_ACCESS_WATCHED only its bounds are checked. */
enum {
  MW_ACCESS_STORE = 1,
  MW_ACCESS_UPDATE = 2, /* reads and writes: with MW_ACCESS_STORE */
  MW_ACCESS_ATOMIC = 4,
  MW_ACCESS_VOLATILE = 8,
  MW_ACCESS_BLOCK = 16, /* atomic within the block only */
  MW_ACCESS_ACQUIRE = 32,
  MW_ACCESS_RELEASE = 64,
  MW_ACCESS_WATCHED = 128,
  MW_ACCESS_INNER = 256,     /* a second check, of an array within the array or struct */
  MW_ACCESS_USED = 512,      /* what is read is not only moved; of a store that is screened: the array is read, too */
  MW_ACCESS_UNBOUND = 1024,  /* by an address of which nothing is known: its bounds are not checked */
  MW_ACCESS_SCREENED = 2048, /* in screened code: it is noted in the cells of what it touches */
  MW_ACCESS_ALIGN_SHIFT = 12 /* above: log2 of the required alignment */
};

typedef enum mw_check_event {
  MW_CHECK_FENCE,    /* value: 1 for the block only, 0 for the device */
  MW_CHECK_WAITED,   /* value: the address of the word */
  MW_CHECK_ATOMIC,   /* of the thread's next atomic access: 4: for the block only; 8: its order is value >> 4, CUDA's */
  MW_CHECK_ASYNC,    /* 1: accesses are of an asynchronous copy; 0: no more */
  MW_CHECK_COMMIT,   /* asynchronous copies so far are a group */
  MW_CHECK_COPIED,   /* all but the latest `value` groups are done */
  MW_CHECK_TRACK,    /* asynchronous copies so far are done where the word at `value` is waited for */
  MW_CHECK_BLOCK,    /* a block begins */
  MW_CHECK_UNWRITTEN /* a value that nothing has written is used; value >> 32: the line that read it, or 0, with bit 31
                        if that is a shuffle; its low half: this line */
} mw_check_event;

/* Of the shadow of memory, in which a set bit is one that nothing has written (src/mwcc/prepare/values/value_check.c). */
typedef enum mw_shadow_operation {
  MW_SHADOW_LOAD,      /* of `address`, to `memory` */
  MW_SHADOW_STORE,     /* from `memory` */
  MW_SHADOW_COPY,      /* of the memory at `memory` to that at `address` */
  MW_SHADOW_UNWRITTEN, /* set all bits */
  MW_SHADOW_CLEAN,
  MW_SHADOW_ABSENT /* to `memory`: all set if the thread's latest shuffle read an absent lane */
} mw_shadow_operation;

/* Calls of the device runtime. (CUDA guide, "CUDA Dynamic Parallelism") */
typedef enum mw_device_call {
  MW_DEVICE_LAUNCH,
  MW_DEVICE_COPY, /* `bytes` from source to target */
  MW_DEVICE_FILL, /* `bytes` of the lowest byte of `value` */
  MW_DEVICE_STREAM_NEW,
  MW_DEVICE_STREAM_FREE,
  MW_DEVICE_EVENT_NEW,
  MW_DEVICE_EVENT_FREE,
  MW_DEVICE_EVENT_RECORD,
  MW_DEVICE_EVENT_WAIT, /* the stream waits for the event */
  MW_DEVICE_LAST_ERROR, /* the thread's, which is cleared */
  MW_DEVICE_PEEK_ERROR,
  MW_DEVICE_SYNCHRONIZE, /* with what the block has launched */
  MW_DEVICE_LIMIT        /* `bytes` becomes the limit with CUDA's number `value` */
} mw_device_call;
/* Its arguments; handles of new objects are written to it. */
typedef struct mw_device_request {
  uint64_t kernel, stream, event; /* the kernel's index in the module, plus 1 */
  uint32_t grid[3], block[3];
  uint64_t shared, target, source, bytes, value;
  const void *params;
  uint64_t param_bytes;
} mw_device_request;

/* mw_mwo.checks: bits of mw_check_kind (mwcc --checks), or what --check-memory does; or of screened code, where words have
 * two cells: the tags, or 0, of who wrote and who read it: thread, number of barriers, in global memory block + 1. */
enum { MW_CHECKED_BOUNDS = 1 << 16, MW_CHECKED_SCREEN = 16, MW_SHARED_TAG_BITS = 11 };

/* mw_object_size: placeholders for sizes that generated code does not know. */
enum { MW_OBJECT_ALLOCATION = 0, MW_OBJECT_SHARED = 1 /* the block's shared memory */ };

/* The services of the runtime for generated code. Calls that end the launch (trap, assert, a bad address) do not
   return. */
typedef struct mw_services {
  /* Fiber tier: run the threads 0..count-1 of the worker's current block, each on its own stack, until all returned. */
  void (*run_fibers)(const mw_frame *frame, mw_worker *worker, mw_thread_function *thread, uint32_t count);
  /* Inside run_fibers: __syncthreads() and its voting forms. Exited threads count as arrived. */
  void (*barrier)(mw_worker *worker);
  uint32_t (*barrier_vote)(mw_worker *worker, mw_vote vote, int32_t predicate);
  /* The same for threads that synchronise within warps: 32 threads with consecutive ids. */
  void (*run_warps)(const mw_frame *frame, mw_worker *worker, mw_thread_function *thread, uint32_t count);
  /* Inside run_warps: a warp function. All threads of `mask` that have not exited must call it, with the same call and
     mask; then they continue with their results. */
  uint64_t (*warp)(mw_worker *worker, mw_warp_call call, uint32_t mask, uint64_t value, uint32_t lane,
                   uint32_t segments);
  /* Inside run_warps: a convergence point. The thread waits until no thread of its warp can run. Then all threads that
     wait at one site continue together, those of the lowest site first. Returns the set of these. */
  uint32_t (*warp_converge)(mw_worker *worker, uint32_t site);
  /* Inside run_warps: the thread arrives at the named barrier `id` (0 to 15) of `wanted` threads of its block, and
     waits for the others or (waits: 0) continues. */
  void (*named_barrier)(mw_worker *worker, uint32_t id, uint32_t wanted, uint32_t waits);
  /* Inside run_warps: the thread is not scheduled until *word & mask differs from the value. It may return earlier. */
  void (*wait_word)(mw_worker *worker, const uint32_t *word, uint32_t mask, uint32_t value);
  void (*trap)(mw_worker *worker, mw_trap trap);
  void (*assert_fail)(mw_worker *worker, const char *message, const char *file, uint32_t line, const char *function);
  /* vprintf with CUDA's layout: `arguments` contains the promoted arguments in sequence, each at its own alignment (8
     for doubles, 64-bit integers and pointers, 4 for int). Returns the number of arguments, -1 on error. */
  int32_t (*print)(mw_worker *worker, const char *format, const void *arguments);
  /* In code with bounds checks: return if the access lies in the memory that its address was derived from, else end the
     launch with an illegal address. `object`: the start of that memory or, with MW_OBJECT_ALLOCATION, any address in
     it; size: its bytes, or an mw_object_size; name: its name in the source, or NULL. */
  void (*check_access)(mw_worker *worker, uint64_t object, uint64_t address, uint64_t bytes, uint64_t size,
                       const char *name, uint32_t flags);
  /* In code for checked runs: a fence, or a wait for a word that has ended. */
  void (*check_event)(mw_worker *worker, mw_check_event event, uint64_t value);
  void (*check_shadow)(mw_worker *worker, mw_shadow_operation what, uint64_t address, uint64_t bytes, void *memory);
  uint64_t (*clock)(mw_worker *worker);                      /* nanoseconds, monotonic */
  void *(*device_malloc)(mw_worker *worker, uint64_t bytes); /* NULL when the device heap is exhausted */
  void (*device_free)(mw_worker *worker, void *memory);
  /* In a cooperative launch: the grid barrier. The block waits until all others wait or have ended. One thread of the
     block calls this while the others are at a barrier. led: whether that thread is the block's first, which is
     required. */
  void (*grid_wait)(mw_worker *worker, uint32_t led);
  /* The address space of a generic address. */
  uint32_t (*memory_kind)(mw_worker *worker, const void *address);
  /* In watched code, before what a site names (mw_site): the warp's number in its block, the set of lanes that do it,
     and a word for each lane of the set, as the site's kind says; NULL for MW_SITE_CODE; for MW_SITE_BRANCH one word,
     with a bit for each lane that takes it. The set may be empty. */
  void (*watch)(mw_worker *worker, uint32_t site, uint32_t warp, uint32_t lanes, const uint64_t words[32]);
  /* The same inside run_warps, called by each thread by itself: lanes converge, and `watch` is called for all of them
     at once. */
  void (*watch_thread)(mw_worker *worker, uint32_t site, uint64_t word);
  /* Launches from kernels, and what goes with them; `thread` is the caller's linear id. Returns a CUDA result code. */
  uint32_t (*device_runtime)(mw_worker *worker, uint32_t call, mw_device_request *request, uint32_t thread);
  /* As `watch` of an access whose addresses are known by their shape: in `count` runs of 32 / count lanes, lane l of run
     r has the address bases[r] + l * stride. */
  void (*watch_runs)(mw_worker *worker, uint32_t site, uint32_t warp, uint32_t lanes, const uint64_t *bases,
                     uint64_t stride, uint32_t count);
  /* The barrier of a cluster: as grid_wait. callers: 1, or how many threads of the block call it, where its first thread
     has returned. */
  void (*cluster_wait)(mw_worker *worker, uint32_t callers);
  /* Bulk copies (mw_bulk_call), by one thread. */
  void (*bulk)(mw_worker *worker, uint32_t call, uint64_t target, uint64_t source, uint64_t a, uint64_t b, uint64_t c,
               uint64_t barrier);
  /* The block waits until *word & mask differs from the value, which only other blocks of its cluster can bring about. */
  void (*wait_outside)(mw_worker *worker, const uint32_t *word, uint32_t mask, uint32_t value);
} mw_services;

/* What watched code calls the runtime for (mwcc --observe). */
enum mw_observed {
  MW_OBSERVE_ACCESS = 1,
  MW_OBSERVE_SYNC = 2,
  MW_OBSERVE_BRANCH = 4,
  MW_OBSERVE_CODE = 8,
  MW_OBSERVE_STEP = 16 /* each line; variables stay in memory */
};

/* What is done at a site, and the word that each lane gives. */
typedef enum mw_site_kind {
  MW_SITE_LOAD, /* accesses: the address */
  MW_SITE_STORE,
  MW_SITE_ATOMIC,
  MW_SITE_REDUCTION, /* an atomic operation whose result is not used */
  MW_SITE_BARRIER,   /* of a block: the barrier's number, and the number of threads << 32 where it is given */
  MW_SITE_WARP,      /* a warp function: the mask, and for shuffles the lane operand << 32 */
  MW_SITE_FENCE,
  MW_SITE_BRANCH,   /* 1: the lane takes it; the words are not set for lanes that are not active */
  MW_SITE_CODE,     /* a basic block begins */
  MW_SITE_WORK,     /* never called: what a basic block does on one line, for the MW_SITE_CODE site before it */
  MW_SITE_STEP,     /* a line begins */
  MW_SITE_ENTER,    /* a function of the source begins, or a kernel */
  MW_SITE_LEAVE,    /* and ends */
  MW_SITE_VARIABLE, /* a variable's declaration is reached: its address */
  MW_SITE_KINDS
} mw_site_kind;

/* The barriers of MW_SITE_BARRIER's detail. */
enum { MW_BARRIER_BLOCK, MW_BARRIER_VOTE, MW_BARRIER_NAMED, MW_BARRIER_ARRIVE, MW_BARRIER_PHASE, MW_BARRIER_GRID };
/* The scopes of MW_SITE_FENCE's detail. */
enum { MW_FENCE_BLOCK, MW_FENCE_DEVICE, MW_FENCE_SYSTEM };

/* The classes of instructions that MW_SITE_WORK counts. */
enum {
  MW_WORK_FLOAT,
  MW_WORK_DOUBLE,
  MW_WORK_INTEGER,
  MW_WORK_CONVERT,
  MW_WORK_MEMORY,
  MW_WORK_CONTROL,
  MW_WORK_OTHER,
  MW_WORK_CLASSES
};

typedef struct mw_site {
  uint32_t kind;     /* mw_site_kind */
  uint32_t space;    /* of an access, as memory_kind says; MW_SPACE_NONE: the address decides */
  uint32_t bytes;    /* of a lane's access; may be more than 16 for a copy of a struct */
  uint32_t detail;   /* an mw_warp_call, a barrier, a fence's scope; of an atomic operation LLVM's number + 1, 0: CAS */
  uint32_t segments; /* of a shuffle, ~0u: not constant */
  uint32_t line, column, outer_line, outer_column; /* outer: where its function was inlined; line 0: unknown */
  uint32_t issued; /* of an access: the MW_SITE_CODE site with which it is issued, by predication; ~0u: its own lanes */
  uint32_t is_uniform;                             /* the address is plainly the same for all lanes */
  uint32_t is_volatile, is_texture;                /* is_texture: of an access that reads a texture or surface */
  uint32_t work[MW_WORK_CLASSES], flops;           /* of MW_SITE_WORK, for each lane */
  uint64_t stride;                                 /* of an access that is counted in runs: between lanes */
  const char *file, *outer_file, *name, *function; /* or NULL */
  /* Of MW_SITE_VARIABLE: its type in C, a bar, and its layout (step_markers.c); of MW_SITE_STEP: the numbers of the
     variables in scope, innermost first; else NULL. */
  const char *about;
} mw_site;

/* Counting in place: in code that is watched for MW_OBSERVE_CODE, what a worker counts of a site without calling the
   runtime. An access adds nothing that depends on more than its pattern: the active lanes, the distances between their
   addresses, and the residue, which is the first active lane's address modulo 32, or of shared memory modulo 4. */
enum { MW_TALLY_RESIDUES = 32, MW_TALLY_PATTERNS = 8 };

typedef struct mw_pattern {
  uint64_t key;          /* the active lanes << 32 | the residue << 8 | the number of runs, or 0 for words */
  uint64_t hits;         /* accesses that had it */
  uint64_t distance[32]; /* of words from the first active lane's, or of runs from the first run */
} mw_pattern;

typedef struct mw_tally {
  uint64_t open;  /* not 0: generated code counts; else, and where no pattern fits, it calls watch or watch_runs */
  uint64_t whole; /* of branches, basic blocks and so on: those by whole warps, which are not in the next two */
  uint64_t executed, lanes, full, divergent;
  uint64_t residues[MW_TALLY_RESIDUES];   /* of accesses by a whole warp in one run of mw_site.stride: by residue */
  mw_pattern patterns[MW_TALLY_PATTERNS]; /* of others: by bits 2 to 4 of the first address; of shared memory by warp */
} mw_tally;

/* The results of memory_kind. */
enum {
  MW_SPACE_NONE = 0,
  MW_SPACE_GLOBAL = 1,
  MW_SPACE_SHARED = 3,
  MW_SPACE_CONSTANT = 4,
  MW_SPACE_LOCAL = 5,
  MW_SPACE_CLUSTER = 7 /* shared memory of another block of the cluster */
};

/* Wild stores are redirected to the first byte of the device's address range, or shortly after it: within so many
   bytes. */
enum { MW_NOWHERE_BYTES = 65536 };

/* Stores at an offset of less than 2^n bytes from a device pointer, or from null, are not tested: the largest n, and what
   every device has, so that it takes modules that were compiled for that. */
enum { MW_REACH_MOST = 40, MW_REACH_LEAST = 25, MW_NULL_REACH_LEAST = 16 };

struct mw_frame {
  const unsigned char *params; /* the parameter block */
  void *const *symbols;        /* the address of each module variable, in the image's order */
  const mw_services *services;
  uint32_t grid[3];              /* gridDim */
  uint32_t block[3];             /* blockDim */
  uint32_t dynamic_shared;       /* bytes, after the static ones */
  uint32_t cooperative;          /* whether the blocks may wait for each other */
  uint64_t heap_base, heap_size; /* the device's address range: stores within it cannot affect the host */
  uint64_t cached;               /* bytes that the processors' caches retain */
  /* Not 0: the number of iterations of each block; the block function then counts iterations of blocks in place of
     blocks: the first iteration of all blocks, then the second, and so on. */
  uint64_t iterations;
  uint32_t cluster[3]; /* the blocks of a cluster along each axis */
  uint32_t reserved;
};

/* The shared memory of the blocks of a cluster is at equal distances in the order of their ranks, and the first one's is
   a multiple of MW_CLUSTER_MOST such distances. */
enum { MW_CLUSTER_MOST = 16, MW_CLUSTER_STRIDE = 512 << 10 };

/* Where an array lies; 0 bytes: nowhere that is known. */
typedef struct mw_bounds {
  uint64_t base, size;
} mw_bounds;

/* The value of mw_worker.block while code of several blocks runs together: the report of a fault then names no
   block. */
#define MW_SEVERAL_BLOCKS UINT64_MAX
/* With the number of a pack's first block, while its blocks run together. */
#define MW_PACKED_BLOCKS (UINT64_C(1) << 63)

/* The part of a worker that generated code uses; the driver's own part follows it in memory. */
struct mw_worker {
  unsigned char *shared; /* this block's shared memory: static part first, then dynamic */
  uint64_t block;        /* the running block: generated code writes it before each block; or one of the above */
  uint32_t thread;       /* fiber tier: the linear id of the running thread; else ~0u */
  uint32_t shared_bytes; /* of that memory */
  /* For a grid-stride loop: the range of the iterations to do now, counted in elements. Only generated code reads and
     writes them. */
  uint64_t iteration, iteration_limit;
  uint64_t shadow;         /* in checked code: from an address to its shadow's */
  const mw_bounds *bounds; /* and where the array is that each pointer of the parameter block points into, by words */
  mw_tally *tallies;       /* in watched code: by site */
  uint64_t cells[2], claims[2]; /* in screened code (src/cpu/check/screen.c): from an address to its cells */
  uint32_t tag, shared_tag, thread_bits, block_bits, block_unit, suspicious;
};

/* Two pointers, by their offsets in the parameter block. */
typedef struct mw_mwo_separate {
  uint32_t stored, other;
} mw_mwo_separate;

/* Other gangs that the kernel may be faster with, at most: mw_mwo_kernel.candidates. */
enum { MW_MOST_CANDIDATES = 3 };

typedef struct mw_mwo_kernel {
  mw_kernel_info info;
  mw_block_function *run;
  mw_launch_test *fits;             /* whether `run` suits a launch; NULL: it suits all */
  mw_launch_iterations *iterations; /* the value for mw_frame.iterations, or 0; NULL: always 0 */
  uint32_t uses_dynamic_shared;     /* whether it declares extern __shared__ */
  uint32_t any_order;               /* block independence: blocks may run in any order, since none waits for another */
  /* Interchange: the number of blocks whose first iterations `run` does together, then the second ones, …, if it is
     called for as many blocks; 0: it runs one block after the other. */
  uint32_t interchanged;
  /* Block merging: 2: `run` runs two adjacent blocks of a row as one, when called for the first; 1: code specialised
     for grids of an even width would do so; 0: the width does not matter. */
  uint32_t merged;
  /* The bytes that a block writes with streaming stores, if the block below it, in the grid's next row, writes the
     adjacent cache lines; else 0. */
  uint32_t column_bytes;
  /* More than 1: `run` counts gangs in place of blocks, this many for each block, so that workers can share a block. 1:
     code specialised for grids of few blocks would do so; 0: neither. */
  uint32_t gangs;
  uint32_t loop_depth; /* the depth of nested loops, for a kernel of the simd tier */
  uint32_t launches;   /* whether kernels of the module launch others */
  /* Block packing: more than 1: `run` runs so many adjacent blocks of a row as one, where it is called for as many, and
     each of the others takes as long as all of these. */
  uint32_t packed;
  /* Pointers that `run` takes to point into different allocations. Other launches do not suit it. */
  const mw_mwo_separate *separate;
  uint64_t separate_count;
  /* Of code for one block class: the lanes << 16 | vectors of gangs that may be faster than the code's own, and compute
     the same bits (mwcc --width); 0: none. */
  uint32_t candidates[MW_MOST_CANDIDATES];
  /* Of screened code: whether it may run; which words point to arrays that it writes, notes, and must have restored */
  uint32_t screened;
  uint64_t writes, notes, restores;
} mw_mwo_kernel;

/* A variable's initial bytes contain, at `offset`, the address of another variable plus `addend`. */
typedef struct mw_mwo_relocation {
  size_t offset;
  size_t variable; /* index of the other variable */
  int64_t addend;
} mw_mwo_relocation;

typedef struct mw_mwo_variable {
  const char *name; /* source name with namespaces, "ns::gain" */
  const char *linkage;
  const mw_type *type;
  const void *initial; /* size bytes, or NULL for zeros */
  size_t size, align;
  const mw_mwo_relocation *relocations;
  size_t relocation_count;
  uint32_t is_constant;          /* __constant__ */
  uint32_t is_internal;          /* users cannot find it by name: static locals, constant tables that clang made */
  const mw_reference *reference; /* for a texture or surface reference, whose value is a handle; NULL for all others */
} mw_mwo_variable;

typedef struct mw_mwo {
  uint32_t version;           /* MW_MWO_VERSION */
  uint16_t reach, null_reach; /* n for device pointers and for null, as compiled: see MW_REACH_MOST */
  const char *triple;         /* "x86_64-pc-linux-gnu" */
  const char *features;       /* required CPU features, "avx2,fma,…", with GCC's __builtin_cpu_supports names */
  const char *compiler;       /* "moonwarp 0.1.0, LLVM 19.1.7" */
  const mw_mwo_kernel *kernels;
  size_t kernel_count;
  const mw_mwo_variable *variables;
  size_t variable_count;
  const char *dependencies; /* included files, a line "size mtime_ns path" for each */
  const char *log;          /* warnings */
  /* For further template instances (mw_module_kernel): the source text as compiled, and the options, one on each line.
     NULL in images that were stripped of them. */
  const char *source;
  const char *options;
  /* clang's bitcode, for specialisation (specialize.c) without running clang again; NULL in specialised images. */
  const void *bitcode;
  size_t bitcode_bytes;
  const mw_site *sites; /* of watched code */
  size_t site_count;
  uint64_t checks; /* MW_CHECKED_*: what the code checks */
} mw_mwo;

/* The last bytes of a .mwo file. */
typedef struct mw_trailer {
  uint64_t low, high; /* mw_hash over everything before the trailer, as one piece */
  uint64_t length;    /* bytes before the trailer */
  char magic[8];      /* MW_MWO_MAGIC */
  uint64_t key[2];    /* of the cache's entry that this is; 0: of none */
} mw_trailer;

#endif
