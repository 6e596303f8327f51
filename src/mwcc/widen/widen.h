/* Widening: from one thread's code to a gang's. What vectorizer.c, values.c and widen/memory/memory.c share.
 *
 *   emission.h and vectorizer.c, control_flow.c, phi_blend.c, barrier_state.c   the block function, its regions, the control flow of a gang
 *   values.c    values: how each is kept, masks
 *   widen/calls/instructions.c  instructions without side effects on all lanes at once
 *   lane_serialization.c   what has to be done lane by lane
 *   lane_rematerialization.c   numbers that each lane makes for itself there
 *   serialized_calls.c    calls that each lane makes for itself
 *   warp_intrinsics.c   what threads of a warp do together
 *   thread_ids.c the places of threads in warps
 *   vector_math.c   mathematical functions on all lanes
 *   local_arrays.c   local arrays
 *   widen/memory/memory.c   memory: contiguous, broadcast, gathered
 *   prefetch.c    memory that a later round will load
 *   address_stride.h and address_stride.c   by how much addresses move
 *   nontemporal_stores.c stores past the caches
 *   memory.h and interleaved.c   memory in small even steps
 *   mask_elision.c    some lanes of vectors, where processors have no masks for them
 *   transposed.c     memory in rows, a lane each
 *   gather_scalarization.c   memory reached by lane after lane, where processors do not gather
 *   windowed_gather.c     memory that turns out to be near
 *   address_form.h, address_form.c and permuted.c   memory in patterns
 *   atomics.c   atomics: lane by lane, or once for all
 *   divergent_fallback.c   a function for gangs that do not go the way of most
 *   speculative_shapes.c   code for gangs in which indices are what they are in most
 *
 * How a value is kept follows from its shape: uniform ones as a scalar, affine ones as the scalar of part 0's lane 0,
 * parted ones as a scalar for lane 0 of each part, varying ones as a vector of W for each part. A value that is used
 * outside its node has slots on the stack, which promotion to registers removes; so this code makes no phi and may emit a
 * node more than once. Lanes that are not active hold garbage, and a part may have none that are: no decision that all
 * lanes share, and no access, may come from them. */
#ifndef WIDEN_H
#define WIDEN_H

#include "mwcc/divergence/linearization.h"

/* Something of each part; what all parts share is of[0] alone. */
typedef struct parts {
  LLVMValueRef of[MOST_PARTS];
} parts;

typedef struct widened { /* one value of the kernel */
  LLVMValueRef value;    /* the key */
  parts slot;            /* its allocas, or NULL */
  parts *constant;       /* what it is wherever it is computed, or NULL */
  parts local;           /* its form in the node being emitted, or NULL */
  int node_stamp;        /* of which emission `local` is */
  LLVMValueRef saved;    /* across barriers: one entry a gang (or a block, for block-uniform values) */
} widened;

typedef struct mask {
  bool all;    /* every lane: then there are no vectors */
  parts lanes; /* <W x i1> */
} mask;

/* Bytes that may be kept on the worker's stack (8 MiB): local arrays of a gang that runs, or of all gangs of a block and the
   values that they need behind a barrier. How many gangs a block has is known when it is launched: see variant_dispatch.c. */
enum { LOCAL_MOST = 2 << 20, WAITING_MOST = 4 << 20 };

typedef struct lane_prefetches { /* what memory was asked for ahead of the last load: prefetch.c */
  LLVMValueRef load, distance;
  parts calls; /* that do so, all at once */
  int count;
} lane_prefetches;

typedef struct row_prefetch { /* the next one, and how far it is to the one behind it */
  LLVMValueRef at, step;
} row_prefetch;

/* What the next round will load, which is asked for one by one while this one is worked on: prefetch.c */
typedef struct deferred_prefetches {
  int stamp, count, next, each; /* of that emission of a node; `each` of the rows at a time, `next` first */
  row_prefetch rows[4];         /* of each load, as many as there are parts */
} deferred_prefetches;

/* Values that have better shapes in most gangs than can be proved, and all shapes where they do. */
typedef struct speculation {
  given *list;
  int count;
  shapes shapes; /* where there are any */
} speculation;

/* What the threads of a block add to memory when several blocks are done: atomic_privatization.c. */
typedef struct kept_add {
  LLVMTypeRef type, pointer;
  LLVMValueRef sums, places, count; /* by gang, part and lane; NULL: nothing is added */
  LLVMMetadataRef position;
} kept_add;

typedef struct widener widener;
struct widener {
  program *p;
  kernel *k;
  const graph *g;
  const shapes *shapes;
  const liveness *live;
  int width, parts; /* lanes of a part, parts of a gang */
  const char *why;  /* set where something cannot be widened: the result is thrown away */
  LLVMValueRef why_at;
  LLVMValueRef function, frame, worker;
  LLVMBuilderRef b, entry; /* entry: allocas, at the function's top */
  LLVMValueRef *slots;     /* of the region that is emitted: see begin_slots */
  size_t slot_count, slot_capacity;
  widened *table;
  size_t table_size, table_used;
  int stamp;
  LLVMValueRef tid[3]; /* of part 0's lane 0, in slots: first_id reads them */
  bool tid_is_zero[3]; /* for all gangs of a block */
  LLVMValueRef ctaid[3], ntid[3];
  LLVMValueRef thread;           /* in memory, where lanes have to be one for a call; or NULL */
  LLVMValueRef gangs, gang;      /* how many a block has; the one being run (slot) */
  bool speculation_failed;       /* other gangs than those that are as expected: speculative_shapes.c */
  const speculation *speculated; /* those that are; or NULL */
  bool several_regions;          /* gangs wait for each other */
  uint64_t local_bytes;          /* of local arrays, a lane */
  uint64_t saved_bytes;          /* of values that wait at barriers, a lane */
  const struct spilled *spilled; /* lane_serialization.c's own */
  uint64_t lane_number;          /* of the lane that does something, among those in the code one after the other */
  int lanes_behind;              /* how many of them are behind it; 0: it is the last, or the only one */
  lane_prefetches prefetched;
  deferred_prefetches deferred;
  LLVMValueRef prefetch_count,
      most_prefetches;           /* how often the gang asked for what others will load, and any gang (slots); or NULL */
  LLVMBasicBlockRef gang_begins; /* what is run first of a gang; NULL: it is one that begins again */
  bool streams;                  /* there are stores past the caches */
  bool fallback;                 /* this is for gangs that do not go the way of most: divergent_fallback.c */
  bool mostly_full;              /* all lanes are mostly active here, though masks do not say so: mask_elision.c */
  LLVMValueRef elements;         /* of all rounds, where those are taken apart: interchange.c; or NULL */
  kept_add adds[MOST_KEPT];
  LLVMValueRef kept_block, kept[MOST_KEPT]; /* where sums are kept: which block is run (slot), and the sums; or NULL */
  void (*widen)(widener *w, LLVMValueRef instruction, mask m); /* widen_instruction */
};

/* The SIMD block function of a kernel for blocks that are cut as the shapes say, or false with the reason and where.
   `single`: the shapes of a gang of one part, where gangs may begin again (divergent_fallback.c); or NULL. */
bool widen_kernel(program *p, kernel *k, const graph *g, const shapes *s, const liveness *live, const speculation *x,
                  const shapes *single, const char *name, const char **why, LLVMValueRef *why_at, variant *out);

/* ---- divergent_fallback.c ---- */
/* Whether gangs of that cut that do not go the way of most may begin again, one part after the other. */
bool may_fall_back(const program *p, const kernel *k, const graph *g, const cut *c);

/* ---- grid_stride_loop.c ---- */
LLVMValueRef iteration_word(widener *w, const char *name); /* what a register says about the rounds: mwcc.h */

/* ---- reduction_state.c ---- */
void choose_kept_blocks(widener *w); /* at the function's start: how many take turns, by what their gangs keep */
void note_kept_block(widener *w, LLVMValueRef number); /* which of those whose rounds take turns is run */
bool widen_kept(widener *w, LLVMValueRef call); /* of a sum that is kept between rounds; false: it is no such call */

/* ---- atomic_privatization.c ---- */
bool widen_kept_add(widener *w, LLVMValueRef call, mask m); /* false: it is no such call */

/* ---- block_loop.c ---- */
/* Whether the kernel is run so that of blocks side by side all first rows come first, then all second ones, … */
bool takes_rows_of_blocks(const kernel *k, const shapes *s);

/* ---- values.c ---- */
void refuse(widener *w, LLVMValueRef at, const char *why);
widened *widened_of(widener *w, LLVMValueRef value);
LLVMTypeRef vector_type(const widener *w, LLVMTypeRef scalar);
LLVMTypeRef wide_type(const widener *w, LLVMTypeRef type); /* a struct of two vectors, for a struct */
bool is_uniform(const widener *w, LLVMValueRef value);     /* over all parts */
bool is_affine(const widener *w, LLVMValueRef value);      /* kept as the scalar of part 0's lane 0 */
bool is_parted(const widener *w, LLVMValueRef value);      /* kept as the scalar of each part's lane 0 */
bool is_varying(const widener *w, LLVMValueRef value);     /* kept as vectors */
/* Whether lane l of every part has its lane 0's value plus l * stride; 0 where all lanes of a part have the same. */
bool has_stride(const widener *w, LLVMValueRef value, int64_t stride);
/* How many parts the form of a value has, and the type of each. */
int form_count(const widener *w, LLVMValueRef value);
LLVMTypeRef form_type(const widener *w, LLVMValueRef value);
/* The value as it is kept; as the scalar of part 0's lane 0 (uniform and affine values); of part u's lane 0 (all but
   varying ones); and as a vector of a part or of all. */
parts value_form(widener *w, LLVMValueRef value);
LLVMValueRef value_scalar(widener *w, LLVMValueRef value);
LLVMValueRef part_scalar(widener *w, LLVMValueRef value, int u);
LLVMValueRef part_vector(widener *w, LLVMValueRef value, int u);
parts value_vectors(widener *w, LLVMValueRef value);
LLVMValueRef splat(widener *w, LLVMValueRef scalar);
LLVMValueRef lane_numbers(widener *w, LLVMTypeRef integer);               /* <0, 1, 2, …> */
LLVMValueRef lane_steps(widener *w, LLVMTypeRef integer, int64_t stride); /* <0, stride, 2 * stride, …> */
void set_value(widener *w, LLVMValueRef value, parts form);
void set_scalar(widener *w, LLVMValueRef value, LLVMValueRef form); /* of uniform and affine values */
parts slot_of(widener *w, LLVMValueRef value);
/* Whether the value is used outside of the node that computes it. Only then it can be had in other nodes. */
bool is_in_slot(const widener *w, LLVMValueRef value);
/* What slots hold is of one gang's way through one region: each region has its own, and where a gang begins they hold
   nothing. Or else what an earlier gang left in them would be carried along in registers for nobody. */
void begin_slots(widener *w); /* before a region, or a function */
void empty_slots(widener *w,
                 LLVMValueRef before); /* behind it: those that were made are empty before the instruction */
parts new_slots(widener *w, LLVMTypeRef type, int count);
LLVMValueRef first_id(widener *w, unsigned axis); /* threadIdx of part 0's lane 0 */
parts load_slots(widener *w, LLVMTypeRef type, parts slots, int count);
void store_slots(widener *w, parts values, parts slots, int count);
/* The same of places in memory where values of a type wait while other gangs run, in another type there: waiting_type. */
LLVMTypeRef waiting_type(const widener *w, LLVMTypeRef type);
parts load_waiting(widener *w, LLVMTypeRef type, parts places, int count);
void store_waiting(widener *w, LLVMTypeRef type, parts values, parts places, int count);
/* Masks, of one part and of all. */
LLVMValueRef any_in_part(widener *w, LLVMValueRef lanes);
LLVMValueRef any_lane(widener *w, parts lanes);
LLVMValueRef mask_part(widener *w, mask m, int u);
parts mask_vectors(widener *w, mask m);
LLVMValueRef mask_word(widener *w, LLVMValueRef lanes); /* a bit a lane */
parts no_lanes(widener *w);

/* ---- widen/calls/instructions.c ---- */
/* Emit one instruction (no terminator, phi or barrier) for the lanes of `m`. */
void widen_instruction(widener *w, LLVMValueRef instruction, mask m);

/* ---- serialized_calls.c ---- */
/* False where the callee is none that a thread could call by itself. */
bool widen_call_by_lanes(widener *w, LLVMValueRef call, mask m);

/* ---- warp_intrinsics.c ---- */
/* A call of a warp function. False: it is none. */
bool widen_warp(widener *w, LLVMValueRef call, mask m);

/* ---- thread_ids.c ---- */
/* One of a register (its name behind "sreg.") that says who a thread is in its warp; or threadIdx, where that is scattered
   over the lanes. */
bool widen_warp_register(widener *w, LLVMValueRef call, const char *name);
/* threadIdx of threads by their linear ids, a scalar or a vector. */
LLVMValueRef scattered_id(widener *w, LLVMValueRef threads, unsigned axis);
/* A number in the form of `like`, a scalar or a vector of i32. */
LLVMValueRef number_like(widener *w, LLVMValueRef like, unsigned value);

/* ---- barrier_state.c ---- */
/* A barrier where a block is one gang (graph.seamless): nobody is waited for, and votes are counted at once. False: the call
   is none. */
bool widen_barrier(widener *w, LLVMValueRef call, mask m);
/* What `sum`, of the parts before, becomes with the votes of part u at a barrier that counts. */
LLVMValueRef vote_of_part(widener *w, const char *name, LLVMValueRef predicate, mask m, int u, LLVMValueRef sum);

/* ---- vector_math.c ---- */
/* The mathematical function that a call is of, without its type ("sinf", "llvm.sin.f32": "sin"), or NULL. */
const char *math_function(const char *name, LLVMTypeRef type);
/* Its value for all lanes; false where only one lane at a time is exact enough. */
/* Whether libmvec's function is exact enough, and there for this processor. */
bool has_vector_math(program *p, const char *root, LLVMTypeRef type);
bool call_vector_math(widener *w, LLVMValueRef call, const char *root, mask m, parts *result);

/* ---- cold_helpers.c ---- */
void call_cold(widener *w, LLVMValueRef call); /* by all lanes */

/* ---- widen/memory/memory.c ---- */
void widen_plain_load(widener *w, LLVMValueRef load, mask m); /* in whatever order, where it is atomic */
void widen_plain_store(widener *w, LLVMValueRef store, mask m);
/* llvm.memcpy and llvm.memmove; false where they copy much, or nobody knows how much. */
bool widen_copy(widener *w, LLVMValueRef call, mask m);

/* ---- prefetch.c ---- */
/* Before a load by all lanes, of elements of so many bytes that lie one behind the other in each part. */
void prefetch_ahead(widener *w, LLVMValueRef load, uint64_t bytes);
/* The same, of a load outside of loops: in a block that waits for the next block, which starts elsewhere; or of an array that is
   loaded from at several places, for blocks to come. */
void prefetch_next_block(widener *w, LLVMValueRef load, uint64_t bytes);
/* With a load from shared memory: for some of what prefetch_ahead left for then. */
void prefetch_beside(widener *w, LLVMValueRef load);
/* As prefetch_ahead, of a load that is one for all parts. */
void prefetch_shared_row(widener *w, LLVMValueRef load, uint64_t bytes);
/* That load is done by one lane after the other instead, here at the address: so is the asking, a line at a time. */
void prefetch_by_lanes(widener *w, LLVMValueRef load, LLVMValueRef address);

/* ---- address_stride.c ---- */
/* What an address outside of loops grows by where the id that the register holds ("ctaid.y") is one more: an i64 where the
   builder stands, constant where it is known; NULL: no one number. */
LLVMValueRef stride_along(widener *w, const char *name, LLVMValueRef address);

/* ---- nontemporal_stores.c ---- */
void fence_streamed(widener *w); /* where a worker has done its blocks */

/* ---- local_arrays.c ---- */
void widen_alloca(widener *w, LLVMValueRef array);
void widen_local_address(widener *w, LLVMValueRef gep); /* of an array with a local_unit */
bool widen_filling(widener *w, LLVMValueRef call,
                   mask m); /* llvm.memset or llvm.memcpy into such an array; else false */

/* ---- atomics.c ---- */
void widen_atomic(widener *w, LLVMValueRef atomic, mask m);
void widen_load(widener *w, LLVMValueRef load, mask m); /* atomic or not */
void widen_store(widener *w, LLVMValueRef store, mask m);
/* Whether it is volatile or atomic: it comes in the order of the program, as often as that says. */
bool stays_in_place(LLVMValueRef access);

/* ---- speculative_shapes.c ---- */
/* False: there are none, or they make nothing better. */
bool find_speculation(const graph *g, const order *o, const shapes *s, speculation *out);
void free_speculation(speculation *x);
/* Whether a gang, all of whose lanes are there, has them so: emitted where it starts. */
LLVMValueRef build_shape_test(widener *w, const speculation *x);
/* Where gangs are as expected: of a value that is, the number whose lane 0 is the value's but for a constant, which is added
   to *distance, if it is at hand in node `at`. Neither wraps. Else the value itself. */
LLVMValueRef unclamped_base(const widener *w, LLVMValueRef value, int at, int64_t *distance);
/* Where it was so: the operand that a clamp gives back, for all lanes; or NULL. */
LLVMValueRef unclamped_operand(const widener *w, LLVMValueRef value);

/* ---- lane_serialization.c: one lane after the other ---- */
/* Run `body` for each active lane, in the order of lanes, with the lane's number in the gang; its result (of the type,
   unless that is NULL) becomes the lane's in what is returned. `by`: the instruction that is done. `unrolled`: with code for
   many lanes without a loop, too, which pays where the body is a few instructions. The body reads the listed operands by
   lane_of. */
typedef LLVMValueRef lane_body(widener *w, LLVMValueRef lane, void *context);
parts each_lane(widener *w, LLVMValueRef by, mask m, const LLVMValueRef *operands, unsigned count, LLVMTypeRef type,
                bool unrolled, lane_body *body, void *context);
LLVMValueRef lane_of(widener *w, LLVMValueRef operand, LLVMValueRef lane); /* as a scalar */

/* ---- lane_rematerialization.c ---- */
/* Whether a number that lanes do not share can be made again at `by`, for one lane at a time; `all`: all lanes are active,
   so that it may come from memory, which they read one after the other. */
bool is_remade(const widener *w, LLVMValueRef value, LLVMValueRef by, bool all);
void begin_remaking(widener *w, LLVMValueRef value); /* before the first lane */
LLVMValueRef remake(widener *w, LLVMValueRef value, LLVMValueRef lane);

#endif
