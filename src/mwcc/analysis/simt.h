/* CUDA threads as SIMD lanes: declarations that the analyses and the widening share.
 *
 * A gang is U vectors of W lanes each: a vector is what a register holds, and several vectors are run together so that
 * the instructions of one fill the latencies of another. The SIMD tier runs a block gang by gang. How blocks are cut
 * into gangs depends on the launch (struct cut).
 *
 * The input of all analyses is a kernel in normal form (passes.def): every call that can be inlined is inlined, values
 * are in registers, there is no switch, control flow is reducible with one return, loops are simplified and in LCSSA
 * form, built-ins are still the device target's nvvm intrinsics, and division and conversions are defined for all
 * operands (retarget.c).
 *
 *   canonicalize.c         brings kernels into this form
 *   cfg.c                  the control-flow graph, nodes numbered, cut at barriers
 *   local_array_layout.c   local arrays whose elements can be interleaved by lane
 *   dominators.c           reverse postorder, dominators, post-dominators and loops of any such graph
 *   value_range.c          the interval of each integer
 *   raced_loads.c          loads whose value a data race can make differ between gangs
 *   vector_shape.c         the shape of each value across the lanes of a gang, and the divergent branches
 *   cost_model.c           how many vectors a gang should have
 *   barrier_liveness.c     the values that are live across each barrier
 *   analysis_report.c      all of it as text (mwcc --dump=graph|shapes|rows|plane|live) */
#ifndef SIMT_H
#define SIMT_H

#include "mwcc/mwcc.h"
#include "analysis.h"

#include <stdio.h>

/* ---- canonicalize.c ---- */

void choose_inlined(program *p);
void state_limits(program *p);
void keep_described(program *p);
void release_described(program *p);
void inline_marked(program *p);
void drop_noalias(program *p);
void promote_values(program *p);
void form_selections(program *p);
void normalise(program *p);
void eliminate_staging(program *p);        /* tiles.c: of tiles that blocks copy to shared memory */
void decide_all_waiting_loops(program *p); /* barrier_loop_unroll.c */
/* The number of iterations of a loop; 0: not known, or many (trip_count.c). */
size_t trip_count(LLVMBasicBlockRef header, LLVMBasicBlockRef latch);
/* Whether the block is a loop by itself, with one entry and one exit. */
bool is_own_loop(LLVMBasicBlockRef block, LLVMBasicBlockRef *before, LLVMBasicBlockRef *after);
/* Whether an instruction only computes a value: no side effect, and at most a plain load (not volatile, not atomic). */
bool is_pure(LLVMValueRef instruction);
bool keeps_memory(LLVMValueRef instruction);      /* does not write memory; it may prefetch */
bool touches_no_memory(LLVMValueRef instruction); /* accesses no memory that other threads see */
/* Whether its only interaction with other threads can be by plain loads and stores (block_loop.c). */
bool is_alone(LLVMValueRef instruction);
/* Whether the address lies in a parameter passed by value. It is invariant during the launch: kernels that write such a
   parameter are not widened (vectorizer.c). */
bool is_byval_parameter(LLVMValueRef address);
/* Whether nothing but loads uses the pointer and addresses derived from it. A by-value parameter is a thread's own
   copy: threads may share one if none writes to it. */
bool is_only_read(LLVMValueRef pointer);

/* ---- cfg.c: nodes are straight-line code ---- */

/* A basic block without barriers is one node. A barrier ends a node; what follows it is the next, in the same block. */
typedef struct node {
  LLVMBasicBlockRef block;
  LLVMValueRef first, last; /* its instructions, both included: `last` is a terminator or a barrier's call */
  bool barrier;             /* ends with a barrier; then succs[0] follows it */
  bool returns;             /* ends with the kernel's return */
  int succs[2], succ_count; /* a conditional branch: [0] where true, [1] where false */
  int *preds, pred_count;
} node;

typedef struct graph {
  program *program;
  LLVMValueRef function;
  node *nodes;
  int count;                 /* node 0 is the entry */
  LLVMValueRef *values;      /* the instructions, in the order of the nodes; graph_number is the index of one */
  int *node_of, value_count; /* by number: its node */
  bool seamless;             /* a block is one gang: no thread waits at its barriers, so they cut nothing */
  struct number *numbers;    /* a hash table from instructions and blocks, cfg.c's own */
  unsigned number_mask;
  unsigned char *local_unit;         /* by number: local_array_layout.c's own */
  bool *raced;                       /* by number: raced_loads.c's own; NULL: none */
  struct known_ranges *known_ranges; /* value_range.c's own: results by assumptions */
} graph;

/* False, with *why set, if a gang cannot run the kernel: an unknown call, an indirect branch, a switch … */
bool graph_build(program *p, LLVMValueRef function, bool seamless, graph *out, const char **why);
void graph_free(graph *g);
int graph_node_of(const graph *g, LLVMValueRef instruction); /* the node that holds it */
/* Whether neither a barrier nor a return can be reached from node n: the launch ends there. */
bool ends_launch(const graph *g, int n);
int graph_number(const graph *g, LLVMValueRef value); /* parameters follow the instructions; others: -1 */
/* The node at the end of a phi's incoming block i: the phi's predecessor in the graph. */
int graph_incoming(const graph *g, LLVMValueRef phi, unsigned i);
bool is_barrier(LLVMValueRef instruction); /* __syncthreads(), its counting forms, and what may act as one */
/* How the kernel observes which threads form a warp (a shuffle, a vote, volatile shared memory …), or NULL
   (warp_builtins.c). */
const char *observes_warp(const graph *g);

/* The address space of a pointer, if its computation shows it. */
typedef enum memory_kind { MEMORY_UNKNOWN, MEMORY_GLOBAL, MEMORY_SHARED, MEMORY_CONSTANT, MEMORY_LOCAL } memory_kind;
memory_kind memory_of(LLVMValueRef pointer);

/* ---- local_array_layout.c ---- */

void find_local_arrays(graph *g); /* the last of graph_build */
/* The bytes of an element, for a local array that is interleaved by lane and addresses in it; else 0. */
unsigned local_unit(const graph *g, LLVMValueRef pointer);
uint64_t local_bytes(const graph *g, LLVMValueRef array); /* of one thread; 0: not a constant */

/* ---- dominators.c: orders and trees of any graph of integers ---- */

/* Edges as a function of the node, so that a subgraph (a barrier region) is a graph, too. */
typedef struct flow {
  int count, entry;
  int (*succs)(const void *context, int n, int out[2]); /* returns their number */
  const void *context;
} flow;

typedef struct loop {
  int header, parent; /* parent: index of the loop around it, or -1 */
  int depth;          /* 1 for an outermost one */
  bool *contains;     /* by node */
} loop;

typedef struct order {
  int count;
  int *rpo, *index; /* rpo[i]: the i-th node in reverse postorder; index[n]: its place, -1 if unreachable */
  int rpo_count;
  int *idom;  /* immediate dominator; the entry's is itself; -1 if unreachable */
  int *ipdom; /* immediate post-dominator; -1: none but the end (a virtual node after all that have no
                                successor, and after infinite loops) */
  loop *loops;
  int loop_count;
  int *innermost; /* the innermost loop that holds the node, or -1 */
  bool reducible;
  int *enter, *leave, *post_enter, *post_leave; /* the two trees, numbered for dominates and postdominates */
} order;

order order_of(const flow *f);
void order_free(order *o);
bool dominates(const order *o, int a, int b);
bool postdominates(const order *o, int a, int b);
/* Where a loop waits until another warp writes to volatile shared memory, so that warps must take turns; or NULL
   (warp_builtins.c). */
LLVMValueRef waits_for_other_warps(const graph *g, const order *o);
flow graph_flow(const graph *g); /* the whole kernel, across barriers */

/* ---- value_range.c: the interval of an integer, in every thread that computes it without undefined behaviour ---- */

/* The launch class that is being compiled. Launches outside of it run other code. */
typedef struct extent {
  int64_t grid;   /* gridDim.a is at most this, on every axis */
  int64_t launch; /* gridDim.a * blockDim.a is at most this */
} extent;
/* LOOSE: global indices are not negative. TIGHT: neither are small multiples of them and of blockIdx. */
#define LOOSE_EXTENT ((extent){((int64_t)1 << 31) - 1024, ((int64_t)1 << 31) - 1024})
#define TIGHT_EXTENT ((extent){(int64_t)1 << 21, (int64_t)1 << 29})
#define BOUND_EXTENT ((int64_t)1 << 30) /* the bound assumed for 32-bit parameters that are compared */

/* A 32-bit parameter whose signed value must lie in low..high. */
typedef struct assumption {
  unsigned parameter;
  int64_t low, high;
} assumption;

typedef struct range {
  int64_t low, high; /* as a signed number of the value's width; low > high: never computed */
} range;

typedef struct ranges {
  const graph *graph;
  const order *order;
  range *of; /* by number */
  assumption *assumptions;
  int assumption_count;
  extent extent;
  struct fact *facts; /* from branches; value_range.c's own */
  int *first_fact, fact_count;
} ranges;

/* Assumptions: bit i for parameter i, and one for the tight extent. */
#define ASSUME_TIGHT ((uint64_t)1 << 63)
/* Computed once for each set of assumptions; the graph owns it. `o` is the order of the whole graph. */
ranges ranges_of(const graph *g, const order *o, uint64_t assumed);
void prepare_ranges(graph *g);                                 /* called by graph_build */
void forget_ranges(graph *g);                                  /* called by graph_free */
range range_of(const ranges *r, LLVMValueRef value);           /* where it is computed */
range range_at(const ranges *r, LLVMValueRef value, int node); /* refined by the branches that dominate the node */

/* ---- raced_loads.c ---- */

void find_raced_loads(graph *g); /* called by graph_build */
/* Whether gangs that load from one address in one barrier region may get different values. */
bool may_be_raced(const graph *g, LLVMValueRef load);
/* Whether gangs that take different successors of a node may reach different barriers, or some of them none, before
   they reconverge. */
bool diverges_at_barriers(const graph *g, const order *o, int at);

/* ---- vector_shape.c: one lattice for divergence and stride ---- */

typedef enum shape_kind {
  SHAPE_UNDEFINED, /* not reached by the analysis: dead */
  SHAPE_BLOCK,     /* the same for all threads of the block that compute it in one barrier region */
  SHAPE_RACED,     /* as SHAPE_BLOCK without a data race; with one, as SHAPE_GANG (raced_loads.c) */
  SHAPE_GANG,      /* the same for all lanes of a gang */
  /* lane l of vector u has exactly base + l * stride + u * step, as an integer of the value's width (modulo 2^width)
     or as an address */
  SHAPE_AFFINE,
  SHAPE_VECTOR_AFFINE, /* lane l of vector u has base(u) + l * stride */
  SHAPE_VARYING
} shape_kind;

static inline bool is_uniform_kind(shape_kind kind) { return kind >= SHAPE_BLOCK && kind <= SHAPE_GANG; }

typedef struct shape {
  shape_kind kind;
  int64_t stride, step; /* bytes for pointers. AFFINE: not both 0. VECTOR_AFFINE: the stride alone, which may be 0 */
  unsigned align; /* log2 of a power of two that divides the base (GANG, BLOCK: the value); 0 where nothing is known */
  /* AFFINE, VECTOR_AFFINE integers: for the lanes that are active at its uses, base + l * stride + u * step does not
     wrap as a signed number, even if base is taken from an inactive lane 0, so that sext(base) + l * stride + u *
     step is the sign-extended value; nor as an unsigned number if it is also `positive`. */
  bool no_wrap;
  bool positive; /* the value is known to be >= 0 as a signed number, in the active lanes */
} shape;

typedef struct shapes {
  const graph *graph;
  const order *order;
  cut cut;
  int by_vector;   /* the number of vectors if one of them is analysed by itself, else 0: vector_shape_lattice.c */
  bool *divergent; /* by node: whether lanes of a gang may take different successors */
  const assumption *assumptions; /* the conditions of the shapes; owned by the table */
  int assumption_count;
  uint64_t needed; /* the assumptions that could have been made: value_range.h */
  extent extent;
  struct shape_table *table;
} shapes;
/* Why a gang cannot treat a wait (is_block_wait) as a barrier of the block, or NULL. */
const char *block_wait_objection(const shapes *s, LLVMValueRef wait);

/* The shapes for the launch class being compiled: blocks cut as `c`, within the extent and the assumptions about
   parameters that the result names. */
shapes shapes_of(const graph *g, const order *o, cut c);
/* The same, faster, for heuristics: it may assume more than necessary and so hold for fewer launches. */
shapes shapes_at_best(const graph *g, const order *o, cut c);
/* The same if values are known, for instance from a run-time test, to have better shapes than can be proved. For shapes
   that do not wrap, lane 0's number must also lie between -BOUND_EXTENT and BOUND_EXTENT. */
typedef struct given {
  LLVMValueRef value;
  shape shape;
} given;
/* `like`: shapes of the same kernel, whose assumptions are made in any case; or NULL. */
shapes shapes_given(const graph *g, const order *o, cut c, const given *list, int count, const shapes *like);
void shapes_free(shapes *s);
shape shape_of(const shapes *s, LLVMValueRef value); /* constants and arguments too */
/* The range of a value in a node, in the launches that the shapes are for; and of an instruction's operand where the
   instruction is. */
range range_in_node(const shapes *s, LLVMValueRef value, int node);
range range_where_used(const shapes *s, LLVMValueRef instruction, unsigned operand);
/* Whether the index counts up over the lanes towards a uniform limit that is small enough for the index not to wrap
   somewhat beyond it. */
bool counts_towards(const shapes *s, LLVMValueRef index, LLVMValueRef limit);
/* Whether some lanes of a gang may leave the loop in an iteration in which others stay. */
bool leaves_one_by_one(const shapes *s, int loop_index);
/* Whether each lane walks a row of its own, element by element, in a loop of one block: row_walk.c. */
bool is_walked_row(const shapes *s, LLVMValueRef load);
/* Whether such a row is known to be no longer than a cache line. */
bool is_short_row(const shapes *s, LLVMValueRef load);
/* Whether threads of one threadIdx.x walk the same row, so that one load serves all vectors of a gang. */
bool is_row_of_column(const shapes *s, LLVMValueRef load);
/* Whether all innermost loops write rows of each thread, and have independent iterations, or the only loop sums a row
   of integers: then LLVM's loop vectoriser makes better code of a single thread than lanes would be. */
bool suits_one_thread(const graph *g, const order *o, const shapes *s);
/* Whether LLVM's loop vectoriser can be expected to vectorise all innermost loops for one thread, and whether they
   store rows, so that it has to test whether arrays overlap. */
bool has_vectorisable_loops(const graph *g, const order *o, const shapes *s, bool *stores);

/* ---- atomics.c ---- */

/* Whether it takes a few instructions for each lane: on shared memory, which one host thread accesses, with an unused
   result. */
bool is_short_atomic(LLVMValueRef atomic);
/* How lanes execute it, for a report. */
const char *describe_atomic(const shapes *s, LLVMValueRef atomic);
/* Whether it is executed once for all lanes of a gang. */
bool is_joint_atomic(const shapes *s, LLVMValueRef atomic);
/* ---- shared_atomics.c ---- */
/* Whether no other host thread accesses its memory at the same time. */
bool is_unlocked(LLVMValueRef atomic);
/* The value that an atomic operation stores, given the old one; NULL for rare operations. */
LLVMValueRef combine_atomic(LLVMBuilderRef b, LLVMAtomicRMWBinOp op, LLVMValueRef old, LLVMValueRef value);
/* Execute the operation of `atomic` at an address, its own or a lane's; returns the old value. */
LLVMValueRef build_change(LLVMBuilderRef b, LLVMValueRef atomic, LLVMValueRef address, LLVMValueRef value);
/* The same for a compare and exchange: the old value, and whether it was the expected one. */
LLVMValueRef build_exchange(LLVMBuilderRef b, LLVMValueRef atomic, LLVMValueRef address, LLVMValueRef expected,
                            LLVMValueRef desired);

/* ---- transposed.c ---- */

/* Whether lane l of vector u accesses element u, of `bytes` bytes, of row l. */
bool reaches_rows(const shapes *s, LLVMValueRef address, uint64_t bytes);

/* ---- permuted.c ---- */

/* Whether lanes access nearby elements at known distances, so that vector loads and shuffles suffice. */
bool follows_pattern(const shapes *s, LLVMValueRef access);

/* ---- records.c ---- */

/* Whether it is done with other members of the lanes' records. */
bool is_member_of_record(const shapes *s, LLVMValueRef access);
bool has_records(const shapes *s); /* whether some access is: all members of a record are in registers at once */

/* ---- access_predicates.c ---- */
bool gathers_lanes(const shapes *s,
                   LLVMValueRef access); /* a load or store is a gather or scatter, for all that shapes show */

/* ---- barrier_liveness.c ---- */

/* By barrier node: the values (instructions) that are computed before it and used after it. */
typedef struct live_set {
  LLVMValueRef *values;
  size_t count;
} live_set;
typedef struct liveness {
  live_set *across; /* by node; empty where the node does not end with a barrier */
} liveness;
liveness liveness_of(const graph *g);
void liveness_free(const graph *g, liveness *l);

/* ---- cost_model.c ---- */

bool has_barriers(const graph *g, const loop *l); /* whether threads wait in it */
/* ---- thread_cost.c ---- */
/* The 32-bit words of a lane of the values that a loop carries, the most of any loop. */
uint64_t carried_words(const graph *g, const order *o, const shapes *s);
/* Whether some lanes may leave the loop before others. */
bool is_left_divergently(const graph *g, const shapes *s, const loop *l);
/* Whether divergent loops do little but gather; then also sets k->recurrent. */
bool mostly_gathers(kernel *k, const graph *g, const order *o, const shapes *s);
/* The costs of a gang's threads as lanes, and one after the other, in tenths of cycles. True if a block is one gang. */
bool estimate_threads(const graph *g, const order *o, const shapes *s, const liveness *live, long *lanes,
                      long *threads);
/* Whether a block as one gang would be slower than several gangs: in a divergent loop all lanes would wait for the
   last; and code that is serialised by lane in a loop would be long. */
bool suits_small_gangs(const graph *g, const order *o, const shapes *s, int vectors);
/* Whether register blocking pays: the loops accumulate one sum for each thread of a block of several rows, and the
   processor gains by it. Several sums a thread, as in products by tiles, share too many operands. */
bool suits_register_blocking(const graph *g, const order *o, const shapes *s);
bool suits_block_merging(const graph *g, const order *o, const shapes *s); /* whether it pays: block_merge.c */
/* Lanes of a vector, for blocks of that size: those of the shapes, or others, with the reason in *why. */
int lanes_that_pay(const graph *g, const order *o, const shapes *s, const unsigned block[3], bool waits,
                   const char **why);
/* Vectors of a gang, if blocks allow as many; *why: the reason. `s` are the shapes for gangs of one vector. */
int vectors_that_pay(const graph *g, const order *o, const shapes *s, const char **why);
/* The cut with that many vectors, or one with fewer rows. */
cut rows_that_pay(const graph *g, const order *o, cut c, const unsigned block[3], const char **why);

/* Operations of an instruction, for limits on code: a multiply-add has two, also where the processor has none. */
int operations_of(LLVMValueRef i);

/* ---- cold_helpers.c ---- */
size_t cold_call_length(LLVMValueRef call); /* instructions of the called helper; 0: not such a call */

/* ---- widen/calls/instruction_widening.c ---- */
/* The C library's function that lanes call one after the other; NULL if there is none, or one vector call for all. */
const char *called_by_lanes(program *p, LLVMValueRef call);

/* ---- analysis_report.c ---- */
void report_graph(const graph *g, const order *o, FILE *out);
void report_shapes(const shapes *s, FILE *out);
/* The variant that was chosen: its memory accesses and divergent branches, by source line. */
void report_cut(const shapes *s, const char *reason, FILE *out);
void report_live(const graph *g, const liveness *l, FILE *out);
/* Print for the optimised module each function's length, and its spills by line (spill_report.c). */
void report_spills(program *p, FILE *out);
/* Print `what` of all kernels of the prepared module: "graph", "shapes", "rows" (shapes if gangs are whole rows),
   "plane" (if vectors are rows) or "live". False: it is none of these. */
bool dump_kernels(program *p, const char *what);

#endif
