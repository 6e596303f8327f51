/* Widening: rewriting one thread's code as a gang's (whole-function vectorisation, Karrenberg and Hack 2011). This
 * is the manual of the room, and what its files share. A gang has `width` lanes in each of `vectors` vectors.
 *
 * thread_regions.c: gangs of one lane, where lanes are slower. block_length.c: the code of a block that is one gang.
 * barrier_rematerialization.c: what is recomputed after barriers rather than saved.
 *
 * flow/: the block function, its loops and the control flow of a gang; flow/emission.h lists its files.
 *
 * values/
 *   values.c               the forms and slots of values; masks
 *   transpose.c            tiles of a few elements of each lane, transposed in registers
 *   speculative_shapes.c   better shapes under a run-time test, which shape_test.c emits; bounded_sum.c: of sums with
 *                          loops' counters; clamp_users.c: of clamps in the lanes that use them
 *   address_stride.c       how far values and addresses advance
 *   continued_division.c   quotients of the gang before, continued as an odometer
 *
 * calls/
 *   instruction_widening.c                    instructions without side effects, on all lanes at once
 *   division.c                                integer division and remainder
 *   serialized_calls.c                        calls that each lane makes by itself
 *   warp_intrinsics.c                         shuffles, votes and other functions of a warp
 *   thread_ids.c                              threadIdx and lane ids
 *   watch_calls.c, watch_counters.c           markers of watched code; counting in place
 *   vector_bounds_check.c, race_screening.c   bounds of accesses; signs of races
 *   vector_math.c                             mathematical functions on all lanes
 *   cold_calls.c                              calls of cold helpers
 *   reduction_state.c, privatized_atomics.c   sums and atomic additions that outlive an iteration
 *
 * memory/ (memory.h lists the access classes)
 *   memory.c                                                     the choice of an access class; contiguous and
 *                                                                broadcast accesses
 *   gather.c, paired_gather.c, windowed_gather.c                 gathers and scatters, and cheaper forms of them
 *   tested_access.c, tested_butterfly.c                          accesses whose class is tested at run time
 *   selected_access.c                                            loads of places that lanes choose between
 *   interleaved.c, records.c, transposed.c, permuted.c           structures, rows that lanes own, and constant
 *                                                                permutations
 *   mask_elision.c, nontemporal_stores.c                         unmasked accesses where masks are slow; streaming
 *                                                                stores
 *   prefetch.c                                                   software prefetches
 *   atomics.c, local_arrays.c                                    atomics; arrays of a thread
 *   lane_serialization.c, lane_rematerialization.c               one lane after the other, and what each recomputes
 *
 * The form of a value follows from its shape: uniform values are a scalar; affine ones the scalar of the gang's lane
 * 0; values that are affine in each vector (vector-affine) a scalar for lane 0 of each vector; varying ones a vector of
 * `width` elements for each vector of the gang.
 *
 * Invariants. A value that is used outside of its node has slots on the stack, which mem2reg promotes. So this code
 * makes no phis and may emit a node more than once. Lanes that are not active hold arbitrary values, and a vector may
 * have no active lane: neither a branch nor an access of an active lane may depend on their values. */
#ifndef WIDEN_H
#define WIDEN_H

#include "mwcc/divergence/linearization.h"

/* A value for each vector of a gang; if all vectors share one, it is of[0] alone. */
typedef struct vectors {
  LLVMValueRef of[MOST_VECTORS];
} vectors;

typedef struct widened { /* a value of the kernel in its widened form */
  LLVMValueRef value;    /* the key */
  vectors slot;          /* its allocas, or NULL */
  vectors *constant;     /* its form, if it is a constant wherever it is computed; or NULL */
  vectors local;         /* its form in the node being emitted, or NULL */
  int node_stamp;        /* the stamp for which `local` is valid */
  LLVMValueRef saved;    /* across barriers: one entry a gang (or a block, for block-uniform values) */
} widened;

typedef struct mask {
  bool all;      /* all lanes are active: then `lanes` is not set */
  vectors lanes; /* <W x i1> */
} mask;

/* Bytes of the worker's stack (8 MiB) for the local arrays of a running gang, and for those of all gangs of a block
   and the values that they save at barriers. The number of gangs in a block is known at the launch: see
   variant_dispatch.c. */
enum { LOCAL_MOST = 2 << 20, SAVED_MOST = 4 << 20 };

typedef struct lane_prefetches { /* the prefetches that were emitted before the last load: prefetch.c */
  LLVMValueRef load, distance;
  vectors calls; /* the prefetch instructions */
  int count;
} lane_prefetches;

typedef struct row_prefetch { /* the address of the next row, and its distance from the row after it */
  LLVMValueRef at, step;
} row_prefetch;

/* The next iteration's loads, prefetched one by one while this iteration works: prefetch.c */
typedef struct deferred_prefetches {
  /* `stamp`: of the node's emission; `each`: rows to prefetch at a time; `next`: the next row */
  int stamp, count, next, each;
  row_prefetch rows[4]; /* for each load, as many rows as vectors */
} deferred_prefetches;

/* Values with shapes that most gangs have but that cannot be proved, and all shapes that follow from them. */
typedef struct speculation {
  given *list;
  int count;
  bool divides;  /* by numbers that are not constant: if these are small, the test fails in many gangs */
  shapes shapes; /* where there are any */
  /* For gangs in which a row ends, that are run row by row, or NULL; and the proved shapes of a gang that begins at any
     thread. */
  struct speculation *rows;
  shapes rows_proved;
} speculation;

/* An atomic addition that a block's threads make to memory after several blocks are done: atomic_privatization.c. */
typedef struct privatised_add {
  LLVMTypeRef type, pointer;
  LLVMValueRef sums, places, count; /* by gang, vector and lane; NULL: nothing is added */
  LLVMMetadataRef position;
} privatised_add;

typedef struct continued_divisions continued_divisions;
typedef struct widener widener;
struct widener {
  program *p;
  kernel *k;
  const graph *g;
  const shapes *shapes;
  const liveness *live;
  int width, vectors; /* lanes of a vector, vectors of a gang */
  const char *why;    /* set where something cannot be widened: the function is discarded then */
  LLVMValueRef why_at;
  LLVMValueRef function, frame, worker;
  LLVMBuilderRef b, entry; /* entry: allocas, at the function's top */
  LLVMValueRef *slots;     /* of the region that is being emitted: see begin_slots */
  size_t slot_count, slot_capacity;
  widened *table;
  size_t table_size, table_used;
  int stamp;
  LLVMValueRef tid[3]; /* of the gang's lane 0, in slots: first_id reads them */
  bool tid_is_zero[3]; /* for all gangs of a block */
  LLVMValueRef ctaid[3], ntid[3];
  LLVMValueRef watched_words;     /* watch_calls.c's: memory for a word of each lane, or NULL */
  LLVMValueRef thread;            /* the context in memory with which one lane makes a call; or NULL */
  LLVMValueRef gangs, gang;       /* the number of gangs in a block; the current one (slot) */
  bool speculation_failed;        /* this code is for gangs that failed the test of speculative_shapes.c */
  bool rarely_fails;              /* which few gangs do: only such as bounds or clamped users exclude */
  continued_divisions *continued; /* in gangs that run row by row: continued_division.c; or NULL */
  LLVMValueRef run_length;        /* there: the number of active lanes, which are the first ones, */
  vectors run;                    /* and their mask, where it is the root's; or NULLs */
  LLVMValueRef row_index;        /* there, in joined blocks: blockIdx.x * blockDim.x + threadIdx.x of lane 0, or NULL */
  const speculation *speculated; /* on the speculative path: what it assumes; else NULL */
  bool several_regions;          /* there are barriers between gangs */
  uint64_t local_bytes;          /* of local arrays, for each lane */
  uint64_t saved_bytes;          /* of values saved at barriers, for each lane */
  const struct spilled *spilled; /* lane_serialization.c's own */
  /* in serialised code: the position of the current lane's code among the copies in sequence */
  uint64_t lane_number;
  int lanes_after; /* how many copies follow it; 0: it is the last, or the only one */
  lane_prefetches prefetched;
  deferred_prefetches deferred;
  LLVMValueRef prefetch_count,
      /* how often the gang has prefetched for others, and the most that any gang has (slots); or NULL */
      most_prefetches;
  LLVMBasicBlockRef gang_begins; /* the first block of a gang's code; NULL: in the fallback */
  bool streams;                  /* there are streaming stores */
  bool fallback;                 /* this is the fallback: divergent_fallback.c */
  bool mostly_full;              /* usually all lanes are active here, but masks do not show it: mask_elision.c */
  /* the number of elements, where a grid-stride loop is interchanged (interchange.c); or NULL */
  LLVMValueRef elements;
  privatised_add adds[MOST_SAVED];
  /* with privatised sums: which block is run (slot), and the sums; or NULL */
  LLVMValueRef saved_block, saved[MOST_SAVED];
  void (*widen)(widener *w, LLVMValueRef instruction, mask m); /* widen_instruction */
};

/* Emit the SIMD block function of a kernel for blocks that are cut as the shapes say. False, with the reason and its
   place: it cannot be widened. `single`: the shapes of a gang of one vector, for the fallback (divergent_fallback.c);
   or NULL. */
bool widen_kernel(program *p, kernel *k, const graph *g, const shapes *s, const liveness *live, const speculation *x,
                  const shapes *single, const char *name, const char **why, LLVMValueRef *why_at, variant *out);

/* ---- divergent_fallback.c ---- */
/* Whether gangs of that cut may start over in a fallback. */
bool may_fall_back(const program *p, const kernel *k, const graph *g, const cut *c);

/* ---- grid_stride_loop.c ---- */
/* the value of a register about iterations: grid_stride.h */
LLVMValueRef iteration_word(widener *w, const char *name);

/* ---- reduction_state.c ---- */
/* at the function's start: the number of blocks that are strip-mined together, by the bytes that their gangs save */
void choose_strip_blocks(widener *w);
/* sets which of the blocks that are strip-mined together is run */
void select_strip_block(widener *w, LLVMValueRef number);
/* a call that loads or saves a sum between strips; false: it is no such call */
bool widen_saved(widener *w, LLVMValueRef call);

/* ---- atomic_privatization.c ---- */
bool widen_private_add(widener *w, LLVMValueRef call, mask m); /* false: it is no such call */

/* ---- block_length.c ---- */
/* Operations of a kernel whose whole block is one gang, for vectors of so many lanes. `guarded`: also for vectors of
   threads that do not run them by the guards of threadIdx.x. */
size_t operations_of_block(LLVMValueRef function, const unsigned block[3], unsigned lanes, bool guarded);
bool accesses_apart(const shapes *s,
                    const order *o); /* whether some lanes are further apart than whole vectors serve */

/* ---- block_loop.c ---- */
void choose_lane_axis(program *p); /* lane_axis.c */
/* Whether the first rows of all adjacent blocks are run first, then all second rows, … */
bool takes_rows_of_blocks(const kernel *k, const shapes *s);

/* ---- values.c ---- */
void refuse(widener *w, LLVMValueRef at, const char *why);
widened *widened_of(widener *w, LLVMValueRef value);
LLVMTypeRef vector_type(const widener *w, LLVMTypeRef scalar);
LLVMTypeRef wide_type(const widener *w, LLVMTypeRef type);   /* a struct of two vectors, for a struct */
bool is_uniform(const widener *w, LLVMValueRef value);       /* over the gang */
bool is_affine(const widener *w, LLVMValueRef value);        /* its form is the scalar of the gang's lane 0 */
bool is_vector_affine(const widener *w, LLVMValueRef value); /* its form is a scalar for lane 0 of each vector */
bool is_varying(const widener *w, LLVMValueRef value);       /* its form is vectors */
/* Whether lane l of every vector has its lane 0's value plus l * stride; 0: all lanes of a vector have the same. */
bool has_stride(const widener *w, LLVMValueRef value, int64_t stride);
/* The number of elements of a value's form, and the type of each. */
int form_count(const widener *w, LLVMValueRef value);
LLVMTypeRef form_type(const widener *w, LLVMValueRef value);
/* A value in its form; as the scalar of the gang's lane 0 (uniform and affine values); of vector u's lane 0 (all but
   varying ones); and as one vector or all. */
vectors value_form(widener *w, LLVMValueRef value);
LLVMValueRef value_scalar(widener *w, LLVMValueRef value);
LLVMValueRef vector_scalar(widener *w, LLVMValueRef value, int u);
LLVMValueRef value_vector(widener *w, LLVMValueRef value, int u);
vectors value_vectors(widener *w, LLVMValueRef value);
LLVMValueRef splat(widener *w, LLVMValueRef scalar);
LLVMValueRef lane_numbers(widener *w, LLVMTypeRef integer);               /* <0, 1, 2, …> */
LLVMValueRef lane_steps(widener *w, LLVMTypeRef integer, int64_t stride); /* <0, stride, 2 * stride, …> */
void set_value(widener *w, LLVMValueRef value, vectors form);
void set_scalar(widener *w, LLVMValueRef value, LLVMValueRef form); /* of uniform and affine values */
vectors slot_of(widener *w, LLVMValueRef value);
/* Whether the value is used outside of the node that computes it. Only then is it available in other nodes. */
bool is_in_slot(const widener *w, LLVMValueRef value);
/* Slots hold the values of one gang in one region. Each region has its own, which are undefined where a gang begins:
   otherwise mem2reg would carry an earlier gang's values around the loop in registers. */
void begin_slots(widener *w); /* before a region, or a function */
/* After it: makes the new slots, from number `from` on, undefined before the instruction. */
void empty_slots(widener *w, size_t from, LLVMValueRef before);
vectors new_slots(widener *w, LLVMTypeRef type, int count);
LLVMValueRef first_id(widener *w, unsigned axis); /* threadIdx of the gang's lane 0 */
vectors load_slots(widener *w, LLVMTypeRef type, vectors slots, int count);
void store_slots(widener *w, vectors values, vectors slots, int count);
/* The same for values saved in memory while other gangs run, where they have another type: stored_type_of. */
LLVMTypeRef stored_type_of(const widener *w, LLVMTypeRef type);
vectors load_waiting(widener *w, LLVMTypeRef type, vectors places, int count);
void store_waiting(widener *w, LLVMTypeRef type, vectors values, vectors places, int count);
/* Masks, of one vector and of all. */
LLVMValueRef any_in_vector(widener *w, LLVMValueRef lanes);
LLVMValueRef any_lane(widener *w, vectors lanes);
LLVMValueRef mask_vector(widener *w, mask m, int u);
vectors mask_vectors(widener *w, mask m);
LLVMValueRef mask_word(widener *w, LLVMValueRef lanes); /* one bit for each lane */
vectors no_lanes(widener *w);

/* ---- widen/calls/instruction_widening.c ---- */
/* Emit one instruction (no terminator, phi or barrier) for the lanes of `m`. */
void widen_instruction(widener *w, LLVMValueRef instruction, mask m);

/* ---- serialized_calls.c ---- */
/* False where a thread cannot call the callee by itself. */
bool widen_call_by_lanes(widener *w, LLVMValueRef call, mask m);
LLVMValueRef serial_thread(widener *w); /* the thread context that functions of the source are called with */
/* `type`: without the thread context, which is the first of the arguments. */
LLVMValueRef call_source_function(widener *w, LLVMTypeRef type, LLVMValueRef callee, LLVMValueRef *arguments,
                                  unsigned count);

/* ---- warp_intrinsics.c ---- */
/* A call of a warp function. False: it is none. */
bool widen_warp(widener *w, LLVMValueRef call, mask m);
void widen_warp_apply(widener *w, LLVMValueRef call, mask m);

LLVMValueRef active_word(widener *w, mask m); /* a bit for each lane of the warp */

/* ---- watch_calls.c ---- */
/* A marker of watched code; false: it is none. */
bool widen_watch(widener *w, LLVMValueRef call, mask m);

/* ---- vector_bounds_check.c ---- */
/* A bounds check; false: the call is none. */
bool widen_check(widener *w, LLVMValueRef call, mask m);

/* ---- race_screening.c: in screened code ---- */
void screen_access(widener *w, LLVMValueRef call, mask m);     /* after its bounds were checked */
void screen_block(widener *w, LLVMValueRef block);             /* a block begins */
void screen_barrier(widener *w);                               /* all its threads have passed a barrier */
void screen_warp_call(widener *w, LLVMValueRef named, mask m); /* of a warp function; `named`: its mask */

/* ---- thread_ids.c ---- */
LLVMValueRef first_thread(widener *w); /* the linear id of the gang's lane 0; the other threads follow it */
/* A read of a register (its name after "sreg.") for a thread's place in its warp; or of threadIdx, if lanes have no
   regular ids. */
bool widen_warp_register(widener *w, LLVMValueRef call, const char *name);
/* threadIdx of threads by their linear ids, a scalar or a vector. */
LLVMValueRef scattered_id(widener *w, LLVMValueRef threads, unsigned axis);
/* A constant in the form of `like`, a scalar or a vector of i32. */
LLVMValueRef number_like(widener *w, LLVMValueRef like, unsigned value);

/* ---- barrier_state.c ---- */
/* A barrier where a block is one gang (graph.seamless): there is nothing to wait for, and votes are counted at once.
   False: the call is none. */
bool widen_barrier(widener *w, LLVMValueRef call, mask m);
/* Adds the votes of vector u at a counting barrier to `sum`, the votes of the vectors before. */
LLVMValueRef vote_of_vector(widener *w, const char *name, LLVMValueRef predicate, mask m, int u, LLVMValueRef sum);

/* ---- vector_math.c ---- */
/* The name of the mathematical function that is called, without its type ("sinf", "llvm.sin.f32": "sin"), or NULL. */
const char *math_function(const char *name, LLVMTypeRef type);
/* Whether this processor has libmvec's function, and it is exact enough. */
bool has_vector_math(program *p, const char *root, LLVMTypeRef type);
/* The function's value for all lanes; false where only the scalar function is exact enough. */
bool call_vector_math(widener *w, LLVMValueRef call, const char *root, mask m, vectors *result);

/* ---- cold_calls.c ---- */
void call_cold(widener *w, LLVMValueRef call); /* by all lanes */

/* ---- widen/memory/memory.c ---- */
void widen_plain_load(widener *w, LLVMValueRef load, mask m); /* of any ordering, where it is atomic */
void widen_plain_store(widener *w, LLVMValueRef store, mask m);
/* llvm.memcpy and llvm.memmove; false where they copy much, or an unknown size. */
bool widen_copy(widener *w, LLVMValueRef call, mask m);

/* ---- prefetch.c ---- */
/* Called before a load by all lanes, of elements of so many bytes that are consecutive in each vector. */
void prefetch_ahead(widener *w, LLVMValueRef load, uint64_t bytes);
/* Whether it is in a loop with barriers, in a block that is one gang: then it is prefetched for most lanes, under
   whatever mask. */
bool reads_between_barriers(const widener *w, LLVMValueRef access);
/* The same for a load outside of loops: of a block with barriers, for the next block; of an array that is loaded from
   at several places, for later blocks. */
void prefetch_next_block(widener *w, LLVMValueRef load, uint64_t bytes);
/* With a load from shared memory: emits some of what prefetch_ahead deferred. */
void prefetch_deferred_rows(widener *w, LLVMValueRef load);
/* As prefetch_ahead, for a load that all vectors share. */
void prefetch_shared_row(widener *w, LLVMValueRef load, uint64_t bytes);
/* For one lane of a serialised load, from its address: the prefetches are serialised as well, one for each line. */
void prefetch_by_lanes(widener *w, LLVMValueRef load, LLVMValueRef address);

/* ---- address_stride.c ---- */
/* How far an address outside of loops advances when the id that the register holds ("ctaid.y") is one more: an i64 at
   the builder's position, constant where it is known; NULL: it has no such stride. */
LLVMValueRef stride_along(widener *w, const char *name, LLVMValueRef address);

/* ---- nontemporal_stores.c ---- */
void fence_streamed(widener *w); /* when a worker has run its blocks */

/* ---- local_arrays.c ---- */
void widen_alloca(widener *w, LLVMValueRef array);
void widen_local_address(widener *w, LLVMValueRef gep); /* of an array with a local_unit */
bool widen_filling(widener *w, LLVMValueRef call,
                   mask m); /* llvm.memset or llvm.memcpy into such an array; else false */

/* ---- atomics.c ---- */
void widen_atomic(widener *w, LLVMValueRef atomic, mask m);
void widen_load(widener *w, LLVMValueRef load, mask m); /* atomic or not */
void widen_store(widener *w, LLVMValueRef store, mask m);
/* Whether it is volatile or atomic: then it stays in program order, and happens exactly once. */
bool stays_in_place(LLVMValueRef access);

/* ---- thread_regions.c ---- */
/* Whether gangs have one lane: with --width=1 if that is possible, or if `lanes` would be slower. Prepares the code for
   it. */
bool run_by_threads(program *p, kernel *k, int lanes);

/* ---- barrier_rematerialization.c ---- */
/* Recompute after barriers what takes at most so many operations, instead of saving it. */
void rematerialize_after_barriers(const graph *g, const liveness *live, int most);
void rematerialize_in_gangs(program *p, kernel *k); /* the same for gangs of several lanes, where the pass is on */

/* ---- selected_access.c ---- */
/* In kernels with barriers, make addresses that lanes choose anew at their loads, where the choice is needed. */
void place_choices(program *p, kernel *k, int lanes);

/* ---- speculative_shapes.c ---- */
/* False: there are none, or no access is better for them. */
bool find_speculation(const graph *g, const order *o, const shapes *s, speculation *out);
/* Whether it finds gangs of that cut that are run row by row. */
bool runs_by_rows(const graph *g, const order *o, cut c);
void free_speculation(speculation *x);
/* The run-time test whether a gang, all of whose lanes are active, has the speculated shapes; emitted where the gang
   starts. */
LLVMValueRef build_shape_test(widener *w, const speculation *x);
/* i1: whether rows are so long that it pays to run them one by one. */
LLVMValueRef build_row_choice(widener *w, const speculation *x);
/* The number of the first `left` lanes that are in lane 0's row (i32, at least 1), and in *holds whether these have the
   speculated shapes. w's shapes are those proved for gangs that begin at any thread. */
LLVMValueRef build_row_test(widener *w, const speculation *x, LLVMValueRef left, LLVMValueRef *holds);
/* On the speculative path: the value from which a clamped one is computed by adding constants and clamping, if it is
   available in node `at`; the constants are added to *distance. Neither wraps. Else the value itself. */
LLVMValueRef unclamped_base(const widener *w, LLVMValueRef value, int at, int64_t *distance);
/* On the speculative path: the operand that a clamp returns in all lanes; or NULL. */
LLVMValueRef unclamped_operand(const widener *w, LLVMValueRef value);

/* ---- lane_serialization.c: one lane after the other ---- */
/* Run `body` for each active lane, in the order of lanes, with the lane's number in the gang. Its result (of `type`,
   unless that is NULL) becomes the lane's element of what is returned. `by`: the instruction that is serialised.
   `unrolled`: also emit straight code for many active lanes, which pays where the body is a few instructions. The body
   reads the listed operands by lane_of. */
typedef LLVMValueRef lane_body(widener *w, LLVMValueRef lane, void *context);
vectors each_lane(widener *w, LLVMValueRef by, mask m, const LLVMValueRef *operands, unsigned count, LLVMTypeRef type,
                  bool unrolled, lane_body *body, void *context);
LLVMValueRef lane_of(widener *w, LLVMValueRef operand, LLVMValueRef lane); /* as a scalar */

/* ---- lane_rematerialization.c ---- */
/* Whether a number that differs between lanes can be recomputed at `by` for one lane at a time. `all`: all lanes are
   active, so that it may be read back from memory. */
bool is_rematerialized(const widener *w, LLVMValueRef value, LLVMValueRef by, bool all);
void begin_rematerialization(widener *w, LLVMValueRef value); /* before the first lane */
LLVMValueRef rematerialize(widener *w, LLVMValueRef value, LLVMValueRef lane);

/* ---- flow/block_packing.c ---- */
bool can_pack_blocks(const program *p, const kernel *k, int lanes);
/* Between the two, the kernel's body and p->block are those of a pack of blocks, whose number is returned. The body
   remains so. */
unsigned begin_packing(program *p, kernel *k, int lanes);
void end_packing(program *p);
int count_gathers(const shapes *s);                                     /* and scatters */
bool packing_pays(const program *p, const shapes *packed, int gathers); /* gathers: those of single blocks */

/* ---- flow/candidates.c ---- */

/* List gangs to measure in addition to the kernel's own, the most promising first. `s`: the shapes of gangs of one
   vector. */
void list_candidates(const program *p, kernel *k, const graph *g, const order *o, const shapes *s);
void report_candidates(const kernel *k);

#endif
