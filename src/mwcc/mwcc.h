/* The compiler process: what its files share.
 *
 * One run compiles one source file to one .mwo file (or a text form of it):
 *
 *   main.c       options, and the start
 *   pipeline.c   runs the passes of passes.def
 *
 * and its rooms, each of which uses those above it in this list alone (spec/project/layers_spec.lua):
 *
 *   support/     LLVM-C helpers, the table of passes as data, what generated code knows of the runtime, the way out
 *   front/       clang: CUDA C -> LLVM bitcode for the nvptx64 device target; precompiled headers, dependencies
 *   target/      the processor: features, register width, masked loads and stores
 *   read/        the bitcode's kernels, variables and types; what a compute capability lacks
 *   ptx/         inline PTX -> instructions
 *   analysis/    predicates, control flow, dominators, loops, value ranges, liveness at barriers, footprints
 *   divergence/  what values look like across lanes, where lanes diverge, and what a gang costs
 *   grid_stride/ loops by the size of the grid: interchange, privatisation
 *   staging/     copies to shared memory that are read in place instead
 *   prepare/     inlining and normal form, memory checks, tiers, code for one launch
 *   lower/       built-ins, warps on fibers, variables, atomics
 *   widen/       kernels as SIMD lanes: values/, memory/, calls/, flow/
 *   opt/         passes over lanes' code: memory and loops
 *   machine/     passes for what this processor and this LLVM do badly
 *   entry/       block functions, the module's table, the sandbox of stores
 *   link/        the linker
 *   codegen/     the optimiser and the code generator, in several threads
 *   gpu/         instead of all from prepare/ on: PTX for a GPU
 *
 * mwcc is a process of its own and ends after one compilation, so it gives nothing back. A failure is reported with
 * die (exit 2: usage, system, internal) or complain (a position in the source; exit 1 at the end of the stage). */
#ifndef MWCC_H
#define MWCC_H

#include "base/base.h"
#include "mwcc/support/llvm_util.h"
#include "mwcc/support/passes.h"
#include "mwo.h"

#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm/Config/llvm-config.h>

/* ---- options (main.c) ---- */

typedef enum emit_kind { EMIT_MWO, EMIT_IR, EMIT_ASM, EMIT_OBJECT, EMIT_PTX, EMIT_FACTS } emit_kind;

typedef struct strings {
  const char **items;
  size_t count;
} strings;
void strings_add(strings *list, const char *item);

typedef struct options {
  const char *input, *output;
  strings objects; /* instead of an input: files that --emit=obj wrote, to be linked */
  emit_kind emit;
  const char *bitcode, *dependencies; /* clang's work, done before: files, or NULL */
  strings front;                      /* -D -U -I as given */
  strings instances;                  /* template kernels to instantiate, "fill<float,4>" */
  strings recorded;     /* all that shape the result, as given: the driver passes them again for further instances */
  const char *standard; /* "c++17" */
  const char *headers;  /* the folder of headers given as strings, or NULL */
  const char *cpu;      /* NULL: the machine's own */
  const char *target;   /* a triple, or NULL: for machines like this one */
  const char *arch;     /* of a GPU: "sm_80" */
  const char *ptx;      /* PTX's version, "8.0"; behind gpu_settle as LLVM calls it, "+ptx80" */
  const char *make_pch; /* instead of compiling, write the precompiled header for these options there */
  int level;            /* 0..3 */
  const char *dump;     /* print that analysis and end, or NULL */
  int width, vectors;   /* SIMD lanes (0: as the processor has it, 1: none), and vectors of a gang (0: as pays) */
  const char
      *launch_kernel; /* only that, as it is launched with blocks of launch_block; or NULL: launch_specialization.c */
  unsigned launch_block[3];
  unsigned launch_columns; /* what the width of its grids is a multiple of: 1 or 2 */
  bool launch_few;         /* its grids have so few blocks that workers are to share them: gang_loop.c */
  bool launch_one;         /* and those have one alone */
  unsigned reach,
      null_reach; /* offsets below 2^n lead to nothing of the host's, from the device's memory and from null */
  int capability; /* compute capability to keep to, major * 10 + minor; 0: none */
  int registers;  /* of a thread at most, on a GPU; 0: as the driver finds best */
  bool gpu;       /* PTX for an NVIDIA GPU: arch.c, nvptx.c */
  bool line_info; /* which line an instruction is of */
  bool fast_math;
  bool no_cxx;        /* do without the C++ library: our own headers stand in */
  bool check;         /* only print what clang finds wrong, as JSON: diagnostics_json.c */
  bool check_memory;  /* ask before each access whether it stays in its array: bounds_check.c */
  bool stoppable;     /* a GPU's kernels look whether the host wants them to end: instrument.c */
  bool verify;        /* check the module after every stage */
  bool timings;       /* print how long each stage took */
  bool report;        /* print what became of each kernel, and stop */
  bool report_spills; /* ... and what its code keeps in memory */
  bool without[PASS_COUNT], only[PASS_COUNT]; /* passes to leave out; those to run, if has_only */
  bool has_only, is_ir;                       /* is_ir: the input is IR, as text or bitcode */
  pass_id stop_after;                         /* print the module behind that one, and end */
} options;

bool starts_with(const char *text, const char *prefix);
/* Check arch and ptx, and give them values where there are none; the capability becomes the arch's. */
void gpu_settle(options *o);
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
void use_large_pages(void);      /* huge_pages.c */
void use_large_pages_here(void); /* for a thread's own memory */
/* At once: LLVM's destructors would take their time to give back what ends with the process. */
_Noreturn void quit(int status);
void remove_at_end(const char *file, const char *folder); /* by quit and die; NULL: nothing any more */

/* ---- the program being compiled ---- */

typedef struct ctype {
  mw_type type; /* name, kind, size, align, count; the pointers in it are not used */
  struct ctype *element;
  struct cfield *fields; /* type.count of them, for a struct */
  LLVMValueRef global;   /* its mw_type in the table, once emitted */
} ctype;

typedef struct cfield {
  const char *name;
  ctype *type;
  size_t offset;
} cfield;

typedef struct param {
  const char *name;
  ctype *type;
  size_t offset;
} param;

/* How blocks are cut into gangs. */
typedef enum cut_kind {
  CUT_ROW,    /* `lanes * vectors` neighbours of one row, which may end within a gang: lane l of vector u has
                    threadIdx.x = base + u * lanes + l, where base is a multiple of lanes * vectors */
  CUT_ROWS,   /* the same where rows do not end within a gang: blockDim.x is a multiple of lanes * vectors */
  CUT_PLANE,  /* blockDim.x is lanes * columns, and a gang is whole rows: threadIdx.x = u % columns * lanes + l,
                    threadIdx.y = base + u / columns, where base is a multiple of vectors / columns, and so is blockDim.y */
  CUT_SINGLE, /* as CUT_ROW, and a block is a single row */
  CUT_LINE,   /* threads with consecutive linear ids, wherever they lie; the last gang may have fewer */
} cut_kind;

enum { MOST_LANES = 64, MOST_VECTORS = 32, WARP_LANES = 32 }; /* powers of two */

typedef struct cut {
  cut_kind kind;
  int lanes, vectors; /* W and U */
  int columns;        /* PLANE: vectors of a row */
} cut;

/* Whether gangs are warps: 32 threads with consecutive linear ids. */
static inline bool is_warp(const cut *c) { return c->kind != CUT_ROW && c->lanes * c->vectors == WARP_LANES; }

/* A kernel as SIMD lanes, for launches whose blocks can be cut like this. */
typedef struct variant {
  cut cut;
  uint64_t waiting; /* bytes on the stack for each of a block's gangs, where gangs wait for each other */
  LLVMValueRef function;
  LLVMValueRef fallback; /* what it calls for some gangs, or NULL: divergent_fallback.c */
} variant;

enum { MOST_VARIANTS = 4 };

/* Bytes from a pointer on that is a parameter, for each number: from times * number + low to times * number + high,
   that not. */
typedef struct footprint {
  unsigned parameter;
  int64_t times, low, high;
  bool stored;
} footprint;

/* What a kernel's threads reach by a number of theirs: footprint.h. */
typedef struct footprints {
  footprint *items;
  int count;
  int64_t most; /* of numbers: with more of them some arithmetic might wrap */
} footprints;

/* What all types have in debug information, before what each kind has: from LLVM 21 on their size and offset, too. */
enum { TYPE_OPERANDS = LLVM_VERSION_MAJOR >= 21 ? 5 : 3 };

typedef struct kernel {
  const char *name, *linkage, *file;
  int line;
  param *params;
  size_t param_count, param_bytes;
  LLVMValueRef body;               /* the function; after thread_context.c, the one with the thread parameter */
  LLVMValueRef thread_function;    /* fiber variant: runs one thread */
  LLVMValueRef general;            /* loop or fiber variant of a kernel that also has SIMD ones */
  variant variants[MOST_VARIANTS]; /* in the order in which they are tried: variant_dispatch.c */
  int variant_count;
  struct assumption *assumptions; /* about parameters, that they are good for: simt.h */
  int assumption_count;
  int64_t most_blocks, most_threads; /* on an axis, as above */
  bool waits;                        /* at a barrier, or for threads of its warp */
  bool reads_lines;                  /* in place, which is right for grids of several blocks alone (rows.c), */
  footprints lines_footprints;       /* and where what this has is apart */
  bool reads_tiles;                  /* in place: it waits once, which all threads of a grid come to (tiles.c) */
  bool sees_warp;                    /* for threads of its warp */
  bool takes_turns;                  /* some wait while others of the block go on */
  bool any_order;                    /* no block can tell which others ran before it: block_independence.c */
  LLVMValueRef run;                  /* its mw_block_function, from workitem_loops.c */
  LLVMValueRef rest;                 /* a part of the only variant, which that calls; or NULL: outline.c */
  LLVMMetadataRef rest_scope;        /* for the source positions of one */
  LLVMValueRef fits;                 /* whether run is for a launch; NULL: it is for all */
  int max_threads;                   /* __launch_bounds__, 0: none */
  size_t shared_bytes;               /* static, a multiple of 16 */
  bool dynamic_shared;
  size_t *references; /* indices of the reference variables that it may read: tier_selection.c */
  size_t reference_count;
  const char *tier, *tier_reason;
  bool chases; /* it does little but gather: variants.c */
  LLVMValueRef
      iterations_end; /* the bound of the grid-stride loop whose iterations the body runs, or NULL: interchange.c */
  bool iterations_signed;
  footprints
      iteration_footprints; /* what its iterations access; none: they may depend on each other (parallel_iterations.c) */
  LLVMValueRef iterations;  /* as in mw_mwo_kernel; or NULL */
  bool saves_state;         /* the body is a strip of iterations, between which state is saved: reduction_state.c */
  uint32_t saved_bytes, strip_blocks; /* bytes for each thread; blocks of a strip, known once the kernel is widened */
  bool private_shared;     /* each of these blocks has its own copy of shared memory: shared_privatization.c */
  uint32_t column_bytes;   /* as in mw_mwo_kernel: nontemporal_stores.c */
  uint32_t loop_depth;     /* the same */
  const char *thread_code; /* the function whose stack is local_bytes: stack_depth.c */
  size_t local_bytes;
} kernel;

/* A __device__ or __constant__ variable: lives in device memory, reached through mw_frame.symbols[index]. */
typedef struct variable {
  LLVMValueRef global; /* as clang made it */
  const char *name, *linkage;
  ctype *type;
  LLVMTypeRef value_type;
  LLVMValueRef initial; /* constant bytes for the table, or NULL for zeros */
  size_t size, align;
  mw_mwo_relocation *relocations;
  size_t relocation_count;
  bool constant, internal;
  mw_reference_kind reference; /* of a texture or surface reference, and what it declares: texture_references.c */
  const ctype *element;
  int dimensions, read;
} variable;

/* A __shared__ variable: an offset into the block's shared memory. */
typedef struct shared {
  LLVMValueRef global;
  size_t size, align, offset;
  bool dynamic; /* extern __shared__ T x[]: behind the kernel's static ones */
} shared;

typedef struct partitions partitions;

struct program {
  const options *options;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMTargetMachineRef machine;
  LLVMTargetDataRef layout; /* the host's */
  const char *triple, *cpu, *features;
  const char *cross; /* "aarch64": made on a machine of another kind. NULL: for one like this */
  unsigned block[3]; /* options->launch_block, or as wide as the blocks that are merged: block_merge.c */
  unsigned merged;   /* blocks side by side that run as one: 1 or 2 */
  bool mergeable;    /* whether two are, where the grid's width is even */
  bool even_pays;    /* there the code is another one in any case: tiles.c */
  bool few_pays;     /* where grids have few blocks the code is another one in any case: rows.c */
  unsigned gangs;    /* as mw_mwo_kernel.gangs */
  kernel *kernels;
  size_t kernel_count;
  variable *variables;
  size_t variable_count;
  shared *shareds;
  size_t shared_count;
  mw_text bitcode;              /* clang's */
  mw_text log;                  /* the front end's warnings */
  mw_text dependencies;         /* as mw_mwo.dependencies */
  mw_text source;               /* the text that was compiled */
  const char *precompiled;      /* the precompiled header that clang took, or NULL */
  bool uses_vector_math;        /* it calls glibc's libmvec */
  bool all_in_lanes;            /* every kernel has SIMD variants: codegen.c */
  LLVMLinkage *linkages;        /* canonicalize.c's own */
  void (*optimise)(program *p); /* the stage of that name, for each part of the module (pipeline.c) */
  LLVMDIBuilderRef debug;       /* for program_new_scope; NULL until it was needed */
  LLVMMetadataRef debug_file;
  LLVMValueRef kernel_table;
  partitions *partitions; /* of the module after the store sandbox, if several threads compile it */
  bool is_partition;      /* a copy of it that another thread compiles a part of */
  int complaints;
  unsigned converge_sites; /* places where warps converge, so far */
  uint64_t write_bits;     /* llvm_util.c's; 0: not asked for yet */
  double stage_start;      /* in milliseconds, for --timings */
  /* Types that every stage needs. */
  LLVMTypeRef void_type, i1, i8, i32, i64, pointer;
};

/* An error in the source at the position of `instruction` (or of a function; NULL: no position), in clang's format. */
void complain(program *p, LLVMValueRef at, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Whether the pass, or the choice, is to be made: --without=NAME. */
static inline bool has_pass(const program *p, pass_id id) { return !p->options->without[id]; }

/* ---- the front end's parts: toolchain.c, dependencies.c, pch.c; what they return is not freed ---- */
typedef struct pch {
  const char *path; /* NULL: none can be used */
  mw_hash key;
  bool is_cached, is_new; /* in the user's cache folder; made by this process, from these files */
  mw_text files;
} pch;

/* ---- stages ---- */
/* Start clang on p->source, to be waited for by front_finish: the time between is for what needs no bitcode. */
typedef struct front_job front_job;
/* pipeline.c has them all in their order, from the wait for clang on. */
typedef void stages_function(program *p, front_job *clang);
stages_function mwcc_stages;
void make_types(program *p);                   /* and a context */
double time_now(void);                         /* in milliseconds */
void stage_done(program *p, const char *name); /* tells how long it took (--timings); NULL: nothing was done yet */

/* ---- warp_builtins.c: what the threads of a warp do together ---- */
typedef struct warp_call {
  const char *name; /* of the built-in, or what it begins with */
  mw_warp_call call;
  int value; /* which operands: -1: it has none */
  int mask;
} warp_call;
#define COLD_VECTORS "mw.vectors" /* and of what takes_vectors */
#define COLD_HELPER  "mw.cold"    /* an attribute of theirs */
/* Inline PTX becomes instructions and intrinsics; what is not in the table is complained about. */
void translate_ptx(program *p);
void widen_kernels(program *p);
void build_dispatch(program *p, kernel *k);
/* A kernel that is compiled for one block size: k->run and k->fits. */
void build_launched(program *p, kernel *k);

/* ---- interchange.c ---- */
void interchange_grid_stride(program *p);
/* Built-ins for the number of elements that the iterations so far have covered: where that is a positive int, and as
   two words. PTX reserves these registers for the system; no kernel names them. */
#define ELEMENTS_DONE      "llvm.nvvm.read.ptx.sreg.envreg2"
#define ELEMENTS_DONE_LOW  "llvm.nvvm.read.ptx.sreg.envreg3"
#define ELEMENTS_DONE_HIGH "llvm.nvvm.read.ptx.sreg.envreg4"
/* And for the number of elements at which the current strip ends, as two words. */
#define ELEMENTS_LIMIT_LOW  "llvm.nvvm.read.ptx.sreg.envreg5"
#define ELEMENTS_LIMIT_HIGH "llvm.nvvm.read.ptx.sreg.envreg6"
/* Calls, with a number after the dot, that load or store a value that a thread carries from strip to strip:
   reduction_state.c. */
#define SAVED_LOAD  "__mw_kept_load."
#define SAVED_STORE "__mw_kept_store."
/* A call with an address and what is to be added there when all blocks of the strip are done: atomic_privatization.c.
*/
#define PRIVATE_ADD "__mw_kept_add."
/* A call with the number of a block in its strip: from here on shared memory is that block's copy. Lowered by
   module_variables.c. */
#define PRIVATE_SHARED "__mw_kept_shared"
enum { MOST_STRIP_BLOCKS = 64 /* a power of two */ };
/* The distance in bytes from one block's copy of shared memory up to that of the block before. */
uint32_t shared_stride(const kernel *k);
enum { MOST_SAVED = 8 /* values that a thread carries from strip to strip */ };

/* ---- launch_specialization.c ---- */
void finish_debug(program *p);                    /* pipeline.c */
void mark_thread(program *p, LLVMValueRef place); /* a thread's fields stand there */
unsigned thread_mark(const program *p);           /* which that is: a kind of metadata */
void link_mwo(program *p, const LLVMMemoryBufferRef *objects, size_t count);
void link_files(const options *o);
void write_output(const char *path, const void *data, size_t length);

/* ---- between codegen.c and parallel.c ---- */
#define MOST_PARTITIONS 8 /* at most */

/* ---- store_to_load_forwarding.c ---- */
#define REGISTER_BLOCKED "moonwarp-turns" /* attribute of functions whose loops register_blocking.c may transform */
void show_small_indices(program *p);      /* gather.c: to code generation */

/* ---- thread_context.c's private view of a CUDA thread, used by module_variables.c and workitem_loops.c ----
   struct { ptr frame; ptr worker; ptr shared; ptr dynamic; i32 tid[3]; i32 ctaid[3]; }
   Every device function's first parameter points to one. Where all is inlined it dissolves into registers. */
typedef enum thread_field {
  THREAD_FRAME,
  THREAD_WORKER,
  THREAD_SHARED,
  THREAD_DYNAMIC,
  THREAD_TID,
  THREAD_CTAID
} thread_field;
LLVMTypeRef thread_type(program *p);
/* The address of a field, or of component `axis` of an id. */
LLVMValueRef thread_address(program *p, LLVMBuilderRef b, LLVMValueRef thread, thread_field field, unsigned axis);
LLVMValueRef thread_load(program *p, LLVMBuilderRef b, LLVMValueRef thread, thread_field field, unsigned axis);
/* Load `type` from `base` + `offset`, from memory that does not change while a launch runs. */
LLVMValueRef load_invariant(program *p, LLVMBuilderRef b, LLVMTypeRef type, LLVMValueRef base, size_t offset);
/* Say of a load that its memory does not change while a launch runs. */
void mark_invariant(program *p, LLVMValueRef load);
bool is_marked_invariant(program *p, LLVMValueRef load);
/* A thread in memory, but for its ids: the rest is the same for every thread of the worker. (workitem_loops.c) */
LLVMValueRef new_thread(program *p, LLVMBuilderRef b, LLVMValueRef frame, LLVMValueRef worker, const kernel *k);
/* The type of a function with the parameter; and its attributes, or (`calls`) those of a call, moved up by it. */
LLVMTypeRef with_thread(program *p, LLVMTypeRef type);
void copy_attributes(LLVMValueRef from, LLVMValueRef to, bool calls);
/* Call a member of mw_services, found at `offset` in it. */
LLVMValueRef call_service(program *p, LLVMBuilderRef b, LLVMValueRef frame, size_t offset, LLVMTypeRef type,
                          LLVMValueRef *arguments, unsigned count);

/* ---- memory checks (bounds_check.c): once kernels are in normal form ---- */
/* What an address was made from. */
typedef struct accessed {
  LLVMValueRef base;
  uint64_t size;    /* bytes, or one of mw_object_size */
  const char *name; /* as the source has it, or NULL */
} accessed;

/* ---- lanes' memory (masked_memory.c): `pointers` is one address for all lanes, which follow each other, or a vector
   of them ---- */
enum { MASKED_LOAD_MASK = LLVM_VERSION_MAJOR >= 22 ? 1 : 2, MASKED_LOAD_ELSE }; /* operands of such a load */
enum { MASKED_STORE_MASK = MASKED_LOAD_MASK + 1 };                              /* and of such a store */
/* Calls that the device headers or inline PTX make and later stages know: a thread comes to a barrier for a part of its
   block, waiting or not; a thread ends. */
#define BARRIER_SYNC_COUNT "__mw_barrier_sync_count"
#define BARRIER_ARRIVE     "__mw_barrier_arrive"
#define THREAD_EXIT        "__mw_thread_exit"
/* Who calls these waits: until a word has changed, or earlier; for a phase of a cuda::barrier. */
#define TURN       "__mw_wait_word"
#define BLOCK_WAIT "__mw_block_wait"
/* How functions of moonwarp/ptx_functions.h begin: kept until translate_ptx has called them. */
#define PTX_FUNCTION "__mw_ptx_"
/* How functions of moonwarp/guard_calls.h begin: kept until guard_kernels has called them. */
#define GUARD_FUNCTION "__mw_guard_"

#endif
