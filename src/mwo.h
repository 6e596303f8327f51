/* The image that mwcc writes and the CPU driver runs: what stands in a .mwo file besides machine code, and how generated
 * code and the runtime talk to each other.
 *
 * A .mwo file is an ELF shared object that exports one data symbol, `mw_mwo`, in the section ".moonwarp"; the dynamic
 * linker has resolved every pointer in it once the object is open. Behind the ELF image stands a trailer (mw_trailer)
 * with a checksum over everything before it, so that a damaged file is refused before it is opened. The object holds no
 * state: module variables live in device memory and are reached through the frame, so one object serves many modules.
 *
 * Generated code is given everything through two pointers, a frame (one a launch, constant) and a worker (one a worker
 * thread). Offsets in these structs are compiled into images: a change here needs a new MW_MWO_VERSION. */
#ifndef MW_MWO_H
#define MW_MWO_H

#include "moonwarp.h"

#define MW_MWO_VERSION 15
#define MW_MWO_SYMBOL  "mw_mwo"

typedef struct mw_worker mw_worker;
typedef struct mw_frame mw_frame;

/* Runs blocks first..last-1 of a launch on the calling worker; block b is blockIdx (b % gx, b / gx % gy, b / gx / gy). (Or
   gangs of blocks, mw_mwo_kernel.gangs; or rounds of them, mw_frame.rounds.) */
typedef void mw_block_function(const mw_frame *frame, mw_worker *worker, uint64_t first, uint64_t last);
/* Whether the launch (its frame, complete) is one that a block function is compiled for. */
typedef uint32_t mw_launch_test(const mw_frame *frame);
/* How many rounds the blocks of a launch do, each as good as a block; 0: none of that is known. Its frame is complete but for that. */
typedef uint64_t mw_launch_rounds(const mw_frame *frame);
/* Runs one CUDA thread of the worker's current block (fiber tier): `thread` is its linear id. */
typedef void mw_thread_function(const mw_frame *frame, mw_worker *worker, uint32_t thread);

typedef enum mw_trap {
  MW_TRAP_EXPLICIT, /* __trap() */
  MW_TRAP_STACK,    /* an alloca that cannot fit */
  MW_TRAP_UNREACHABLE
} mw_trap;

typedef enum mw_vote { MW_VOTE_COUNT, MW_VOTE_AND, MW_VOTE_OR } mw_vote;

/* What lanes of a warp do together, each with a value; all get a result (PTX ISA: shfl.sync, vote.sync, match.sync,
   redux.sync, bar.warp.sync). */
typedef enum mw_warp_call {
  MW_WARP_SYNC,
  MW_WARP_SHUFFLE, /* from the lane that `lane` and `segments` name, as the shfl instruction has them */
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
  MW_WARP_XOR
} mw_warp_call;

/* Sizes of memory that generated code does not know. */
enum { MW_OBJECT_ALLOCATION = 0, MW_OBJECT_SHARED = 1 /* what the block has of shared memory */ };

/* What the runtime does for generated code. Calls that end the launch (trap, assert, a bad address) do not return. */
typedef struct mw_services {
  /* Fiber tier: run the threads 0..count-1 of the worker's current block, each on its own stack, until all returned. */
  void (*run_fibers)(const mw_frame *frame, mw_worker *worker, mw_thread_function *thread, uint32_t count);
  /* Inside run_fibers: __syncthreads() and its counting forms. Exited threads are not waited for. */
  void (*barrier)(mw_worker *worker);
  uint32_t (*barrier_vote)(mw_worker *worker, mw_vote vote, int32_t predicate);
  /* The same for threads that see their warps: 32 threads with consecutive ids. */
  void (*run_warps)(const mw_frame *frame, mw_worker *worker, mw_thread_function *thread, uint32_t count);
  /* Inside run_warps: the threads of `mask` that have not exited come here, with the same call and mask, and go on with
     their results. */
  uint64_t (*warp)(mw_worker *worker, mw_warp_call call, uint32_t mask, uint64_t value, uint32_t lane,
                   uint32_t segments);
  /* Inside run_warps: the thread waits until no thread of its warp can go on. Then all that wait at one site go on
     together, those of the lowest site first. Returns which they are. */
  uint32_t (*warp_converge)(mw_worker *worker, uint32_t site);
  /* Inside run_warps: the thread comes to the barrier `id` (0 to 15) of `wanted` threads of its block, and waits for the
     others of them or (waits: 0) goes on. */
  void (*barrier_part)(mw_worker *worker, uint32_t id, uint32_t wanted, uint32_t waits);
  /* Inside run_warps: the thread has no turns until *word & mask is not the value. It may return before that. */
  void (*wait_word)(mw_worker *worker, const uint32_t *word, uint32_t mask, uint32_t value);
  void (*trap)(mw_worker *worker, mw_trap trap);
  void (*assert_fail)(mw_worker *worker, const char *message, const char *file, uint32_t line, const char *function);
  /* vprintf as CUDA lays it out: `arguments` holds the promoted arguments one behind the other, each at its own
     alignment (8 for doubles, 64-bit integers and pointers, 4 for int). Returns the number of arguments, -1 on error. */
  int32_t (*print)(mw_worker *worker, const char *format, const void *arguments);
  /* In code with memory checks: return if the access lies in the memory that its address was made from, else end the
     launch as an illegal address. `object`: where that memory begins or, with MW_OBJECT_ALLOCATION, any place of it;
     size: its bytes, or an mw_object_size; name: what the source calls it, or NULL. */
  void (*check_access)(mw_worker *worker, uint64_t object, uint64_t address, uint64_t bytes, uint64_t size,
                       const char *name, uint32_t is_store);
  uint64_t (*clock)(mw_worker *worker);                      /* nanoseconds, monotonic */
  void *(*device_malloc)(mw_worker *worker, uint64_t bytes); /* NULL when the device heap is exhausted */
  void (*device_free)(mw_worker *worker, void *memory);
  /* Of a cooperative launch: the block waits until all others do or have ended. One thread of it calls this, while the
     others are at a barrier. led: whether that thread is the block's first, as it has to be. */
  void (*grid_wait)(mw_worker *worker, uint32_t led);
  /* Which memory a generic address is of, by the numbers of address spaces. */
  uint32_t (*memory_kind)(mw_worker *worker, const void *address);
} mw_services;

/* What memory_kind answers. */
enum { MW_SPACE_NONE = 0, MW_SPACE_GLOBAL = 1, MW_SPACE_SHARED = 3, MW_SPACE_CONSTANT = 4, MW_SPACE_LOCAL = 5 };

/* Wild stores are sent to the first of so many bytes at the device's address range, or near behind it. */
enum { MW_NOWHERE_BYTES = 65536 };

/* Stores are not tested that an offset of less than 2^n bytes leads to from the device's memory, or from null: n is at most
   this. */
enum { MW_REACH_MOST = 40 };

struct mw_frame {
  const unsigned char *params; /* the parameter block */
  void *const *symbols;        /* the address of each module variable, in the image's order */
  const mw_services *services;
  uint32_t grid[3];              /* gridDim */
  uint32_t block[3];             /* blockDim */
  uint32_t dynamic_shared;       /* bytes, behind the static ones */
  uint32_t cooperative;          /* whether the blocks may wait for each other */
  uint64_t heap_base, heap_size; /* the device's address range: what lies in it can harm nobody else */
  uint64_t cached;               /* bytes that the processors' caches hold; more than that is not found in them again */
  /* Not 0: the block function counts rounds of blocks in place of blocks, the first of all, then the second, as many as this. */
  uint64_t rounds;
};

/* In mw_worker.block, where what runs is of several blocks together: a fault then names none. */
#define MW_SEVERAL_BLOCKS UINT64_MAX

/* The part of a worker that generated code sees; the driver's own part follows it in memory. */
struct mw_worker {
  unsigned char *shared; /* this block's shared memory: static part first, then dynamic */
  uint64_t block;        /* the block being run: generated code writes it before each block; or MW_SEVERAL_BLOCKS */
  uint32_t thread;       /* fiber tier: the linear id of the running thread; else ~0u */
  uint32_t reserved;
  /* Of a grid-stride loop, counted in elements: where the rounds to do now begin and end. Written and read by generated code
     alone. */
  uint64_t round, round_limit;
};

typedef struct mw_mwo_kernel {
  mw_kernel_info info;
  mw_block_function *run;
  mw_launch_test *fits;         /* of a launch that `run` is for; NULL: it is for all */
  mw_launch_rounds *rounds;     /* what mw_frame.rounds may be, or 0; NULL: that is always 0 */
  uint32_t uses_dynamic_shared; /* whether it declares extern __shared__ */
  uint32_t any_order;           /* whether its blocks may run in any order, since none can wait for another */
  /* Of how many blocks `run` does the first rounds, then the second ones, …, if it is given as many; 0: it runs one block after
     the other. */
  uint32_t in_rounds;
  /* 2: `run` runs two blocks of a row as one, with the first of them; 1: what is made for grids of an even width would do so;
     0: grids of any width are alike. */
  uint32_t joined;
  /* That a block stores past the caches, where the block below it, in the grid's next row, stores the lines beside them; else
     0. */
  uint32_t column_bytes;
  /* More than 1: `run` counts gangs in place of blocks, so many to each block, so that workers can share one. 1: what is made
     for grids of few blocks would; 0: neither. */
  uint32_t gangs;
  uint32_t loop_depth; /* how many loops lie inside of each other; of a kernel that runs as SIMD lanes */
} mw_mwo_kernel;

/* In a variable's initial bytes, at `offset`, stands the address of another variable plus `addend`. */
typedef struct mw_mwo_relocation {
  size_t offset;
  size_t variable; /* index of the one pointed to */
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
  uint32_t is_internal;          /* not for users to find: static locals, constant tables that clang made */
  const mw_reference *reference; /* of a texture or surface reference: its value is a handle. NULL for all others */
} mw_mwo_variable;

typedef struct mw_mwo {
  uint32_t version;           /* MW_MWO_VERSION */
  uint16_t reach, null_reach; /* such n for which it was compiled */
  const char *triple;         /* "x86_64-pc-linux-gnu" */
  const char *features;       /* CPU features it needs, "avx2,fma,…" as GCC's __builtin_cpu_supports names them */
  const char *compiler;       /* "moonwarp 0.1.0, LLVM 19.1.7" */
  const mw_mwo_kernel *kernels;
  size_t kernel_count;
  const mw_mwo_variable *variables;
  size_t variable_count;
  const char *dependencies; /* files that were included, one a line: "size mtime_ns path" */
  const char *log;          /* warnings */
  /* What mw_module_kernel needs to make further template instances when a compiler is there; NULL in images that were
     stripped of it: the source text as compiled, and the options, one a line. */
  const char *source;
  const char *options;
  /* clang's bitcode, for code for blocks of one size (specialize.c), which needs no clang then; NULL in such code itself. */
  const void *bitcode;
  size_t bitcode_bytes;
} mw_mwo;

/* The last bytes of a .mwo file. */
typedef struct mw_trailer {
  uint64_t low, high; /* mw_hash over all before the trailer, as one piece */
  uint64_t length;    /* bytes before the trailer */
  char magic[8];      /* "MWOIMG1" */
} mw_trailer;

#endif
