/* The compiler: declarations for all of its files.
 *
 * One run compiles one source file to one .mwo file (or a text form of it):
 *
 *   main.c       options and start
 *   pipeline.c   runs the passes of passes.def
 *
 * and these folders, each of which uses only those above it in this list (spec/project/layers_spec.lua):
 *
 *   support/     helpers for LLVM's C interface, the table of passes, the interface to the runtime, process helpers
 *   front/       clang: CUDA C -> LLVM bitcode for the nvptx64 device target; precompiled headers, dependencies
 *   target/      the processor: features, register width, masked loads and stores
 *   read/        the bitcode's kernels, variables and types; checks for the compute capability
 *   ptx/         inline PTX -> instructions
 *   analysis/    predicates, control flow, dominators, loops, value ranges, liveness at barriers, footprints
 *   divergence/  divergence analysis: shapes of values, linearisation, and the cost model of gangs
 *   grid_stride/ grid-stride loops: interchange, privatisation
 *   staging/     staging elimination
 *   prepare/     inlining and normal form, memory checks, tiers, code for one launch
 *   lower/       built-ins, warps on fibers, variables, atomics
 *   widen/       kernels as SIMD lanes: values/, memory/, calls/, flow/
 *   opt/         optimisations of widened code: memory and loops
 *   machine/     passes for particular processors, and workarounds for LLVM
 *   entry/       block functions, the module's table, the store sandbox
 *   link/        the linker
 *   codegen/     optimisation and code generation, in several threads
 *   gpu/         PTX for a GPU, instead of everything from prepare/ on
 *
 * mwcc is a process that ends after one compilation, so memory is not freed. Failures are reported by die (exit status
 * 2: usage, system, internal) or by complain (errors with a source position; exit status 1 at the end of the stage). */
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

enum { MWCC_REACH_UNKNOWN = 255 };

typedef struct options {
  const char *input, *output;
  strings objects; /* instead of an input: objects to be linked, which --emit=obj wrote */
  strings sources; /* after the input: further sources of the same module; or its units, which -c wrote (units.c) */
  emit_kind emit;
  const char *ship;                   /* the folder of shipped modules to write to, or NULL */
  const char *bitcode, *dependencies; /* files with clang's output of an earlier run, or NULL */
  strings front;                      /* -D -U -I as given */
  strings instances;                  /* template kernels to instantiate, "fill<float,4>" */
  strings recorded;     /* options that affect the result: the driver passes them again for further instances */
  const char *standard; /* "c++17" */
  const char *headers;  /* the folder of headers given as strings, or NULL */
  const char *cpu;      /* NULL: this machine's */
  const char *target;   /* a triple, or NULL: this machine's architecture */
  const char *arch;     /* of a GPU: "sm_80" */
  const char *ptx;      /* PTX's version, "8.0"; after gpu_settle LLVM's name of it, "+ptx80" */
  const char *make_pch; /* instead of compiling, write the precompiled header for these options to this file */
  int level;            /* 0..3 */
  const char *dump;     /* print this analysis and end, or NULL */
  int width, vectors;   /* SIMD lanes (0: the processor's, 1: none), and vectors of a gang (0: by the cost model) */
  const char *launch_kernel; /* compile only this kernel, for one block size; or NULL: launch_specialization.c */
  unsigned launch_block[3];
  unsigned launch_columns;    /* the width of its grids is a multiple of this: 1 or 2 */
  bool launch_few;            /* its grids have so few blocks that workers share them: gang_loop.c */
  bool launch_one;            /* its grids have one block; implies launch_few */
  unsigned reach, null_reach; /* see program's; or MWCC_REACH_UNKNOWN */
  int capability;             /* the compute capability that the source may use, major * 10 + minor; 0: no limit */
  int registers;              /* at most, of a thread on a GPU; 0: the driver chooses */
  bool gpu;                   /* PTX for an NVIDIA GPU: arch.c, nvptx.c */
  bool line_info;             /* source lines of instructions */
  bool fast_math;
  bool no_cxx;                                /* use our versions of the C++ library's headers */
  bool relocatable;                           /* -c: write clang's bitcode, a unit of a module */
  bool check;                                 /* only print clang's diagnostics, as JSON: diagnostics_json.c */
  bool check_memory;                          /* check the bounds of each access: bounds_check.c */
  unsigned observe;                           /* what is watched, of mw_observed: watch_markers.c */
  unsigned checks;                            /* what of a checked run, of mw_check_kind: 0, or with check_memory */
  bool stoppable;                             /* GPU kernels poll for the host's request to end: instrument.c */
  bool verify;                                /* verify the module after every pass */
  bool timings;                               /* print the time of each stage and pass */
  bool report;                                /* print a description of each compiled kernel, and stop */
  bool report_spills;                         /* including register spills */
  bool without[PASS_COUNT], only[PASS_COUNT]; /* passes to leave out; passes to run, if has_only */
  bool has_only, is_ir;                       /* is_ir: the input is IR, as text or bitcode */
  pass_id stop_after;                         /* print the module after this pass, and end */
} options;

bool starts_with(const char *text, const char *prefix);
/* Check arch and ptx, and set defaults; the capability becomes the arch's. */
void gpu_settle(options *o);
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
void use_large_pages(void);      /* huge_pages.c */
void use_large_pages_here(void); /* for a thread's own memory */
/* End the process without running destructors: LLVM's take time to free memory that is freed anyway. */
_Noreturn void quit(int status);
void remove_at_end(const char *file, const char *folder); /* by quit and die; NULL cancels it */

/* ---- the program being compiled ---- */

typedef struct ctype {
  mw_type type; /* name, kind, size, align, count; its pointers are not used */
  struct ctype *element;
  struct cfield *fields; /* type.count of them, for a struct */
  LLVMValueRef global;   /* its mw_type in the module's table, once emitted */
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
  /* lanes * vectors neighbours of one row, which may end within a gang: lane l of vector u has threadIdx.x = base + u *
     lanes + l, where base is a multiple of lanes * vectors. */
  CUT_ROW,
  /* The same, and rows do not end within a gang: blockDim.x is a multiple of lanes * vectors. */
  CUT_ROWS,
  /* blockDim.x is lanes * columns, and a gang is whole rows: threadIdx.x = u % columns * lanes + l, threadIdx.y = base
     + u / columns, where base is a multiple of vectors / columns, and so is blockDim.y. */
  CUT_PLANE,
  /* As CUT_ROW, and a block is a single row. */
  CUT_SINGLE,
  /* Threads with consecutive linear ids; the last gang may have fewer. */
  CUT_LINE,
} cut_kind;

enum { MOST_LANES = 64, MOST_VECTORS = 32, WARP_LANES = 32 }; /* powers of two */

typedef struct cut {
  cut_kind kind;
  int lanes, vectors; /* W and U */
  int columns;        /* PLANE: vectors of a row; ROW: 0: base is any number */
} cut;

/* Whether gangs are warps: 32 threads with consecutive linear ids. */
static inline bool is_warp(const cut *c) { return c->kind != CUT_ROW && c->lanes * c->vectors == WARP_LANES; }

/* A kernel as SIMD code, for launches whose blocks can be cut this way. */
typedef struct variant {
  cut cut;
  uint64_t waiting; /* bytes of barrier state on the stack for each gang of a block */
  LLVMValueRef function;
  LLVMValueRef fallback; /* the function that it calls for divergent gangs, or NULL: divergent_fallback.c */
} variant;

enum { MOST_VARIANTS = 4, PACKED_VARIANT = 1 };

/* A range of bytes that the thread or iteration with number n accesses through a pointer parameter: [times * n + low,
   times * n + high) from the pointer on. */
typedef struct footprint {
  unsigned parameter;
  int64_t times, low, high;
  bool stored;
} footprint;

/* The memory that a kernel's threads access, as ranges for each of their numbers: footprint.h. */
typedef struct footprints {
  footprint *items;
  int count;
  int64_t most; /* numbers, at most: with more of them, arithmetic might wrap */
} footprints;

/* The operands that all types have in debug information, before those of each kind. LLVM 21 added size and offset. */
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
  int variant_count, pack; /* pack: the number of blocks that variants[PACKED_VARIANT] runs as one; or at most 1 */
  struct assumption *assumptions; /* about parameters, which the variants depend on: simt.h */
  int assumption_count;
  int64_t most_blocks, most_threads;      /* on an axis, as assumed by the variants */
  bool waits, skips_blocks, joins_blocks; /* at barriers or for its warp; block_guard.c; block_loop.c: as one row */
  bool reads_rows_in_place;               /* in place; correct only for grids of several blocks (rows.c) */
  footprints row_footprints;              /* and if these memory ranges are disjoint */
  bool reads_tiles_in_place;              /* in place; all threads of the grid wait once (tiles.c) */
  bool sees_warp, tests_runs, tests_near; /* it uses warp functions; its accesses make tests: tested_access.c */
  bool has_block_wait;       /* it waits for a cuda::barrier: some threads of a block may wait while others continue */
  mw_mwo_separate *separate; /* as in mw_mwo_kernel: scalar_promotion.c */
  size_t separate_count;
  bool any_order;                         /* no block can observe which others ran before it: block_independence.c */
  LLVMValueRef run;                       /* its mw_block_function, from workitem_loops.c */
  LLVMValueRef outlined;                  /* a region of the only variant as a function, or NULL: outline.c */
  LLVMMetadataRef outlined_scope;         /* the debug scope for one */
  LLVMValueRef fits;                      /* a function: whether `run` supports a launch; NULL: it supports all */
  unsigned max_threads, cluster[3];       /* __launch_bounds__, __cluster_dims__; 0: none */
  size_t shared_bytes;                    /* static, a multiple of 16 */
  bool dynamic_shared, iterations_signed; /* the latter: of iterations_end */
  size_t *references, reference_count;    /* indices of the reference variables that it may read: tier_selection.c */
  const char *tier, *tier_reason;
  uint32_t written_params; /* bits of the first parameters, to whose arrays it may write: gpu/read_parameters.c */
  uint64_t reads, writes, notes, restores; /* as in mw_mwo_kernel, if screened and widened: race_screen.c */
  bool screened, gather_bound, vectorisable, stores_rows; /* scalar code, for LLVM to vectorise: variants.c */
  LLVMValueRef iterations_end; /* the bound of the grid-stride loop whose iterations it runs, or NULL: interchange.c */
  /* The memory that its iterations access; none if they may depend on each other: parallel_iterations.c. */
  footprints iteration_footprints;
  LLVMValueRef iterations; /* as in mw_mwo_kernel; or NULL */
  bool saves_state;        /* the body is a strip of iterations, between which state is saved: reduction_state.c */
  uint32_t saved_bytes, strip_blocks; /* bytes for each thread; blocks of a strip, known once the kernel is widened */
  bool private_shared;             /* each of these blocks has its own copy of shared memory: shared_privatization.c */
  uint32_t column_bytes;           /* as in mw_mwo_kernel: nontemporal_stores.c */
  uint32_t loop_depth;             /* as in mw_mwo_kernel */
  bool recurrent;                  /* gather_bound by a loop of one block, whose gathers wait for those before them */
  bool threads_may_pay, has_flags; /* thread_regions.c; some flags have become conditions: boolean_phis.c */
  uint32_t candidates[MW_MOST_CANDIDATES], candidate_count; /* as in mw_mwo_kernel: candidates.c */
  const char *thread_code;                                  /* the function whose stack is local_bytes: stack_depth.c */
  size_t local_bytes;
} kernel;

/* A __device__ or __constant__ variable: lives in device memory, reached through mw_frame.symbols[index]. */
typedef struct variable {
  LLVMValueRef global; /* clang's */
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
  bool dynamic; /* extern __shared__ T x[]: after the kernel's static variables */
} shared;

typedef struct watched_site watched_site; /* analysis/watched_site.h */
typedef struct partitions partitions;

struct program {
  const options *options;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMTargetMachineRef machine;
  LLVMTargetDataRef layout; /* the host's */
  const char *triple, *cpu, *features;
  const char *cross; /* the architecture, "aarch64", when cross-compiling; otherwise NULL */
  /* Offsets below 2^n, from device memory and from null, do not lead to memory of the host: store_sandbox.c. */
  unsigned reach, null_reach;
  bool follows;            /* a checked run follows each thread, its accesses, fences and waits: keep_calls */
  unsigned block[3];       /* options->launch_block, or as wide as the blocks that are merged: block_merge.c */
  unsigned merged, packed; /* blocks side by side that run as one: 1 or 2; that share a gang: block_packing.c */
  bool turned, turned_grid, rows_apart; /* block and threadIdx, the grid have x and y exchanged; lane_axis.c */
  bool launches;                        /* device code calls the runtime for launches: launched_kernels.c */
  bool mergeable;                       /* whether two blocks can be merged if the grid's width is even */
  bool even_pays;                       /* code for grids of even width differs in other respects: tiles.c */
  bool few_pays;                        /* code for grids of few blocks differs in other respects: rows.c */
  unsigned gangs;                       /* as mw_mwo_kernel.gangs */
  kernel *kernels;
  size_t kernel_count;
  variable *variables;
  size_t variable_count;
  shared *shareds;
  size_t shared_count;
  mw_text bitcode; /* clang's; of several sources, linked */
  mw_text *units;  /* each source's, as clang wrote it */
  size_t unit_count, split_count;
  mw_text followed_sites;  /* facts of places of calls of checked runs on a GPU: read/program.c */
  mw_text log;             /* the front end's warnings */
  mw_text dependencies;    /* as mw_mwo.dependencies */
  mw_text source;          /* the text that was compiled */
  const char *precompiled; /* the precompiled header that clang used, or NULL */
  bool uses_vector_math, some_in_lanes, all_in_lanes; /* calls of glibc's libmvec; code in lanes: lane_code.c */
  LLVMLinkage *linkages;                              /* canonicalize.c's own */
  void (*optimise)(program *p); /* the stage OPTIMISE, for each partition of the module (pipeline.c) */
  LLVMDIBuilderRef debug;       /* for program_new_scope; NULL until it was needed */
  LLVMMetadataRef debug_file;
  LLVMValueRef kernel_table, *split; /* split: the parts of huge functions: function_split.c */
  partitions *partitions;            /* of the module after the store sandbox, if several threads compile it */
  bool is_partition;                 /* this is a copy of the module, of which a thread compiles one partition */
  int complaints;
  unsigned converge_sites, followed_site_count, follow_uses; /* places where warps converge; of followed_sites */
  watched_site *sites;                                       /* the places that are watched: watch_markers.c */
  size_t site_count;
  uint64_t write_bits; /* llvm_util.c's; 0: not known yet */
  double stage_start;  /* in milliseconds, for --timings */
  /* Types that every pass needs. */
  LLVMTypeRef void_type, i1, i8, i32, i64, pointer;
};

/* An error in the source at the position of `instruction` (or of a function; NULL: no position), in clang's format. */
void complain(program *p, LLVMValueRef at, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Whether the optional pass or decision is enabled: not with --without=NAME. */
static inline bool has_pass(const program *p, pass_id id) { return !p->options->without[id]; }

/* ---- stages ---- */
/* clang while it compiles p->source, between front_begin and front_finish. */
typedef struct front_job front_job;
/* All stages after the start of clang: pipeline.c. */
typedef void stages_function(program *p, front_job *clang);
stages_function mwcc_stages;
void make_types(program *p);                   /* and a context */
double time_now(void);                         /* in milliseconds */
void stage_done(program *p, const char *name); /* print the stage's time (--timings); NULL starts the first one */

/* ---- warp_builtins.c: warp functions ---- */
typedef struct warp_call {
  const char *name; /* of the built-in, or its prefix */
  mw_warp_call call;
  int value; /* index of the operand; -1: none */
  int mask;  /* the same */
} warp_call;
#define COLD_VECTORS "mw.vectors" /* attribute of functions that take vectors of arguments: cold_calls */
#define COLD_HELPER  "mw.cold"    /* attribute of cold helpers: cold_helpers.c */
/* Translate inline PTX into instructions and intrinsics; reports unsupported ones. */
void translate_ptx(program *p);
void widen_kernels(program *p);
void build_dispatch(program *p, kernel *k);
void build_launched(program *p, kernel *k);   /* k->run and k->fits of a kernel for one block size */
void build_packed_run(program *p, kernel *k); /* k->run for packs of blocks: block_packing.c */

/* ---- interchange.c ---- */
void interchange_grid_stride(program *p);
/* Built-ins for the number of elements that the iterations so far have covered: as one word, if it is a positive int,
   and as two. PTX reserves these registers for the system; kernels do not use them. */
#define ELEMENTS_DONE      "llvm.nvvm.read.ptx.sreg.envreg2"
#define ELEMENTS_DONE_LOW  "llvm.nvvm.read.ptx.sreg.envreg3"
#define ELEMENTS_DONE_HIGH "llvm.nvvm.read.ptx.sreg.envreg4"
/* Built-ins for the number of elements at which the current strip ends, as two words. */
#define ELEMENTS_LIMIT_LOW  "llvm.nvvm.read.ptx.sreg.envreg5"
#define ELEMENTS_LIMIT_HIGH "llvm.nvvm.read.ptx.sreg.envreg6"
/* Calls that load or store a value that a thread carries from strip to strip, numbered after the dot:
   reduction_state.c. */
#define SAVED_LOAD  "__mw_saved_load."
#define SAVED_STORE "__mw_saved_store."
/* A call with an address and a value that is added to it when all blocks of the strip are done:
   atomic_privatization.c. */
#define PRIVATE_ADD "__mw_private_add."
/* A call with a block's index in its strip: after it, shared memory is that block's copy. Lowered by
   module_variables.c. */
#define PRIVATE_SHARED "__mw_private_shared"
enum { MOST_STRIP_BLOCKS = 64 /* a power of two */ };
/* The distance in bytes between the copies of shared memory of successive blocks; addresses decrease. */
uint32_t shared_stride(const kernel *k);
enum { MOST_SAVED = 8 /* values that a thread carries from strip to strip */ };

/* ---- launch_specialization.c ---- */
void finish_debug(program *p);                    /* pipeline.c */
void mark_thread(program *p, LLVMValueRef place); /* mark an alloca as a thread record */
unsigned thread_mark(const program *p);           /* the mark's kind of metadata */
void link_mwo(program *p, const LLVMMemoryBufferRef *objects, size_t count);
void link_files(const options *o);
void write_output(const char *path, const void *data, size_t length);

/* ---- between codegen.c and parallel.c ---- */
#define MOST_PARTITIONS 8 /* at most */

/* ---- store_to_load_forwarding.c ---- */
/* An attribute of functions whose loops register_blocking.c may transform. */
#define REGISTER_BLOCKED "moonwarp-register-blocking"
void show_small_indices(program *p); /* gather.c: make 32-bit indices visible to code generation */

/* ---- the thread record (thread_context.c), used by module_variables.c and workitem_loops.c as well ----
   struct { ptr frame; ptr worker; ptr shared; ptr dynamic; i32 tid[3]; i32 ctaid[3]; }
   The first parameter of every device function points to one. After inlining, it is promoted to registers. */
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
/* Load `type` from `base` + `offset`, from memory that is invariant during a launch. */
LLVMValueRef load_invariant(program *p, LLVMBuilderRef b, LLVMTypeRef type, LLVMValueRef base, size_t offset);
/* Mark a load as of memory that is invariant during a launch. */
void mark_invariant(program *p, LLVMValueRef load);
bool is_marked_invariant(program *p, LLVMValueRef load);
/* A thread record in memory without its ids; the rest is the same for every thread of the worker. */
LLVMValueRef new_thread(program *p, LLVMBuilderRef b, LLVMValueRef frame, LLVMValueRef worker, const kernel *k);
/* The function type with that parameter in front, and the attributes of the function or (`calls`) of a call, with
   indices that account for it. */
LLVMTypeRef with_thread(program *p, LLVMTypeRef type);
void copy_attributes(LLVMValueRef from, LLVMValueRef to, bool calls);
/* Call the member of mw_services at `offset`. */
LLVMValueRef call_service(program *p, LLVMBuilderRef b, LLVMValueRef frame, size_t offset, LLVMTypeRef type,
                          LLVMValueRef *arguments, unsigned count);

/* ---- bounds checks (bounds_check.c), on kernels in normal form ---- */
/* The object that an address is derived from. */
typedef struct accessed {
  LLVMValueRef base;
  uint64_t size;    /* bytes, or one of mw_object_size */
  const char *name; /* as the source has it, or NULL */
  unsigned param;   /* with MW_OBJECT_ALLOCATION: the word of the parameter block that points to it, from 1; or 0 */
} accessed;

/* ---- masked accesses (masked_memory.c) ---- */
enum { MASKED_LOAD_MASK = LLVM_VERSION_MAJOR >= 22 ? 1 : 2, MASKED_LOAD_ELSE }; /* operands of LLVM's masked loads */
enum { MASKED_STORE_MASK = MASKED_LOAD_MASK + 1 };                              /* and of its masked stores */
/* Calls from the device headers or inline PTX, which later passes lower: a thread arrives at a barrier for part of its
   block, waiting there or not; a thread exits. */
#define BARRIER_SYNC_COUNT "__mw_barrier_sync_count"
#define BARRIER_ARRIVE     "__mw_barrier_arrive"
#define THREAD_EXIT        "__mw_thread_exit"
/* Calls that wait: until a word changes (spurious wakeups are possible); for a phase of a cuda::barrier. */
#define WORD_WAIT  "__mw_wait_word"
#define BLOCK_WAIT "__mw_block_wait"
/* A call of a function for the 32 lanes of a warp: widen/calls/warp_helper.c. It returns four words of 32 bits. */
#define WARP_APPLY "__mw_warp_apply"
enum { WARP_APPLY_RESULTS = 4 };
/* Launches from kernels, and the other functions of CUDA's device runtime. */
#define DEVICE_RUNTIME "__mw_device_runtime"
/* The prefix of functions of moonwarp/ptx_functions.h, which are not deleted before translate_ptx. */
#define PTX_FUNCTION "__mw_ptx_"
/* The prefix of functions of moonwarp/guard_calls.h, which are not deleted before guard_kernels. */
#define GUARD_FUNCTION "__mw_guard_"

#endif
