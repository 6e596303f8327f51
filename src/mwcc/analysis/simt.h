/* CUDA threads as SIMD lanes: what the analyses and the widening share.
 *
 * A gang is U vectors of W lanes each: a vector is what a register holds, and several vectors are run together so that
 * the instructions of one fill the latencies of another. The SIMD tier runs a block gang by gang. How blocks are cut
 * into gangs depends on the launch (struct cut).
 *
 * The input of everything here is a kernel in normal form (passes.def): all calls inlined that can be, values promoted
 * to registers, no switch, reducible, one return, loops simplified and in LCSSA form, device built-ins still the nvvm
 * intrinsics of the device target, division and conversions already defined for all operands (retarget.c).
 *
 *   canonicalize.c   brings kernels into this form
 *   cfg.c     the control-flow graph, by integers, cut at barriers
 *   local_array_layout.c     local arrays that lanes can have side by side
 *   dominators.c     reverse postorder, dominators, post-dominators, loops of any such graph
 *   value_range.c     between which numbers each integer lies
 *   raced_loads.c     which loads a data race makes differ between gangs
 *   vector_shape.c     what each value looks like across the lanes of a gang, and which branches diverge
 *   cost_model.c      how many vectors a gang should have
 *   barrier_liveness.c      which values are needed behind which barrier
 *   analysis_report.c    all of it as text (mwcc --dump=graph|shapes|rows|plane|live) */
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
void eliminate_staging(program *p);        /* tiles.c: what blocks copy to shared memory and use there */
void decide_all_waiting_loops(program *p); /* barrier_loop_unroll.c: whether loops with a barrier are unrolled */
size_t trip_count(LLVMBasicBlockRef header,
                  LLVMBasicBlockRef latch); /* trip_count.c: of a loop; 0: not known, or many */
/* Whether the block is a loop by itself, with one way in and one way out. */
bool is_own_loop(LLVMBasicBlockRef block, LLVMBasicBlockRef *before, LLVMBasicBlockRef *behind);
/* Whether an instruction does no more than compute its value, perhaps from what it loads as usual (not volatile, not atomic). */
bool is_pure(LLVMValueRef instruction);
bool keeps_memory(LLVMValueRef instruction);      /* as it was before; perhaps more of it is in the caches */
bool touches_no_memory(LLVMValueRef instruction); /* reaches no memory that others see */
bool is_alone(
    LLVMValueRef instruction); /* block_loop.c: no more to do with other threads than plain loads and stores */

/* ---- cfg.c: nodes are stretches of straight code ---- */

/* A basic block without barriers is one node. A barrier ends a node; what follows it is the next, in the same block. */
typedef struct node {
  LLVMBasicBlockRef block;
  LLVMValueRef first, last; /* its instructions, both included: `last` is a terminator or a barrier's call */
  bool barrier;             /* ends with a barrier; then succs[0] lies behind it */
  bool returns;             /* ends with the kernel's return */
  int succs[2], succ_count; /* a conditional branch: [0] where true, [1] where false */
  int *preds, pred_count;
} node;

typedef struct graph {
  program *program;
  LLVMValueRef function;
  node *nodes;
  int count;                 /* node 0 is the entry */
  LLVMValueRef *values;      /* the instructions, in the order of the nodes; graph_number is the place of one */
  int *node_of, value_count; /* by number: its node */
  bool seamless;             /* a block is one gang, so that nobody waits at its barriers: they cut nothing */
  struct number *numbers;    /* a hash table from instructions and blocks, cfg.c's own */
  unsigned number_mask;
  unsigned char *local_unit;         /* by number: local_array_layout.c's own */
  bool *raced;                       /* by number: raced_loads.c's own; NULL: none */
  struct known_ranges *known_ranges; /* value_range.c's own: what it has found, by what was assumed */
} graph;

/* Fails (false, *why set) where the kernel has what no gang can run: an unknown call, an indirect branch, a switch … */
bool graph_build(program *p, LLVMValueRef function, bool seamless, graph *out, const char **why);
void graph_free(graph *g);
int graph_node_of(const graph *g, LLVMValueRef instruction); /* the node that holds it */
/* Whether who gets to node n comes to no barrier and no return any more: the launch ends there. */
bool ends_launch(const graph *g, int n);
int graph_number(const graph *g, LLVMValueRef value); /* parameters come behind the instructions; others: -1 */
/* The node at the end of the block that a phi names, which is the predecessor it means. */
int graph_incoming(const graph *g, LLVMValueRef phi, unsigned i);
bool is_barrier(LLVMValueRef instruction); /* __syncthreads() and its counting forms, and what may be one */
/* By what the kernel can tell which threads form a warp (a shuffle, a vote, volatile shared memory …), or NULL. (warp_builtins.c) */
const char *observes_warp(const graph *g);

/* Where an address points, if that can be told from where it was made. */
typedef enum memory_kind { MEMORY_UNKNOWN, MEMORY_GLOBAL, MEMORY_SHARED, MEMORY_CONSTANT, MEMORY_LOCAL } memory_kind;
memory_kind memory_of(LLVMValueRef pointer);
LLVMValueRef root_of(LLVMValueRef pointer); /* what it was made from by steps alone */

/* ---- local_array_layout.c ---- */

void find_local_arrays(graph *g); /* the last of graph_build */
/* Of a local array whose elements lanes have side by side, and of addresses in it: bytes of an element. Else 0. */
unsigned local_unit(const graph *g, LLVMValueRef pointer);
uint64_t local_bytes(const graph *g, LLVMValueRef array); /* of one thread; 0: no constant */

/* ---- dominators.c: orders and trees of any graph of integers ---- */

/* Edges as a function of the node, so that a part of a graph (a barrier region) is a graph too. */
typedef struct flow {
  int count, entry;
  int (*succs)(const void *context, int n, int out[2]); /* how many */
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
  int *ipdom; /* immediate post-dominator; -1: none but the end (a virtual node behind all that have no
                                successor, and behind loops that never end) */
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
/* Whether a loop waits for what another warp writes to volatile shared memory: then warps must take turns. (warp_builtins.c) */
/* The instruction, or NULL. */
LLVMValueRef waits_for_other_warps(const graph *g, const order *o);
flow graph_flow(const graph *g); /* the whole kernel, barriers being no obstacle */

/* ---- value_range.c: between which numbers an integer lies, in every thread that computes it without an overflow that the
   language forbids ---- */

/* The launch class that is being compiled. A launch outside of it has to be run by other means. */
typedef struct extent {
  int64_t grid;   /* gridDim.a is at most this, on every axis */
  int64_t launch; /* gridDim.a * blockDim.a is at most this */
} extent;
/* Global indices are no negative numbers; and, where that is not enough, neither are small multiples of them and of
   blockIdx alone. */
#define LOOSE_EXTENT ((extent){((int64_t)1 << 31) - 1024, ((int64_t)1 << 31) - 1024})
#define TIGHT_EXTENT ((extent){(int64_t)1 << 21, (int64_t)1 << 29})
#define BOUND_EXTENT ((int64_t)1 << 30) /* what is assumed of 32-bit parameters that are compared */

/* A 32-bit parameter whose value, as a signed number, has to lie in low..high. */
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
  struct fact *facts; /* what branches say, value_range.c's own */
  int *first_fact, fact_count;
} ranges;

/* What is assumed: a bit i for parameter i, and for the tight extent. */
#define ASSUME_TIGHT ((uint64_t)1 << 63)
/* Found once for what is assumed, and the graph's. The order is the one that the graph has as a whole. */
ranges ranges_of(const graph *g, const order *o, uint64_t assumed);
void prepare_ranges(graph *g);                                 /* a part of graph_build */
void forget_ranges(graph *g);                                  /* and of graph_free */
range range_of(const ranges *r, LLVMValueRef value);           /* where it is computed */
range range_at(const ranges *r, LLVMValueRef value, int node); /* with what the branches above the node say */

/* ---- raced_loads.c ---- */

void find_raced_loads(graph *g); /* a part of graph_build */
/* Whether gangs that load from the same address between the same barriers may get different values. */
bool may_be_raced(const graph *g, LLVMValueRef load);
/* Whether gangs that go different ways at a node may come to different barriers before they meet again, or some to none. */
bool diverges_at_barriers(const graph *g, const order *o, int at);

/* ---- vector_shape.c: one lattice for divergence and stride ---- */

typedef enum shape_kind {
  SHAPE_UNDEFINED, /* not reached by the analysis: dead */
  SHAPE_BLOCK,     /* the same for all threads of the block that get there between the same barriers */
  SHAPE_RACED,     /* as well, unless there is a data race: then the same for all lanes of a gang (raced_loads.c) */
  SHAPE_GANG,      /* the same for all lanes of a gang */
  SHAPE_AFFINE, /* lane l of vector u has base + l * stride + u * step, exactly, as integers of the value's own width (modulo
                        2^width), or as addresses */
  SHAPE_VECTOR_AFFINE, /* lane l of vector u has base(u) + l * stride */
  SHAPE_VARYING
} shape_kind;

static inline bool is_uniform_kind(shape_kind kind) { return kind >= SHAPE_BLOCK && kind <= SHAPE_GANG; }

typedef struct shape {
  shape_kind kind;
  int64_t stride, step; /* bytes for pointers. AFFINE: not both 0. VECTOR_AFFINE: the stride alone, which may be 0 */
  unsigned align; /* log2 of a power of two that divides the base (GANG, BLOCK: the value); 0 where nothing is known */
  bool
      no_wrap; /* AFFINE, VECTOR_AFFINE integers: for the lanes that are active where it is used, base + l*stride + u*step
                        does not wrap as a signed number even where base is taken from an inactive lane 0, so that
                        sext(base) + l * stride + u * step is the sign-extended value; and as an unsigned number where
                        also `positive` */
  bool positive; /* the value is known to be >= 0 as a signed number, in the active lanes */
} shape;

typedef struct shapes {
  const graph *graph;
  const order *order;
  cut cut;
  int by_vector;   /* 0, or the number of vectors, one of which is looked at by itself: vector_shape_lattice.c */
  bool *divergent; /* by node: whether its branch sends lanes of one gang different ways */
  const assumption *assumptions; /* what has to hold for the shapes to; belongs to the table */
  int assumption_count;
  uint64_t needed; /* those that could have been made: value_range.h */
  extent extent;
  struct shape_table *table;
} shapes;
/* Why a gang cannot take a wait (is_block_wait) for a barrier of the block, or NULL. */
const char *block_wait_objection(const shapes *s, LLVMValueRef wait);

/* Facts that hold for the launch class being compiled: blocks that are cut like this, the extent and the assumptions about
   parameters that they name. */
shapes shapes_of(const graph *g, const order *o, cut c);
/* The same for a choice alone, in a fifth of the time: the launches that it holds for are not as many as they could be. */
shapes shapes_at_best(const graph *g, const order *o, cut c);
/* The same where it is known, for instance from a test at run time, that values have better shapes than can be proved; of
   those that do not wrap also that lane 0's number lies between -BOUND_EXTENT and BOUND_EXTENT. */
typedef struct given {
  LLVMValueRef value;
  shape shape;
} given;
/* `like`: shapes of the same kernel, whose assumptions are made anyway, or NULL. */
shapes shapes_given(const graph *g, const order *o, cut c, const given *list, int count, const shapes *like);
void shapes_free(shapes *s);
shape shape_of(const shapes *s, LLVMValueRef value); /* constants and arguments too */
/* Whether lanes count up, and the limit that all have is so small that numbers somewhat beyond it do not wrap. */
bool counts_towards(const shapes *s, LLVMValueRef index, LLVMValueRef limit);
/* Whether some lanes of a gang may leave the loop in an iteration in which others stay. */
bool leaves_one_by_one(const shapes *s, int loop_index);

/* ---- atomics.c ---- */

/* On shared memory, where one thread runs a block, and nobody asks for the old value: a few instructions a lane. */
bool is_short_atomic(LLVMValueRef atomic);
/* How lanes do it, in words for a report. */
const char *describe_atomic(const shapes *s, LLVMValueRef atomic);
/* One that is done once for all lanes of a gang. */
bool is_joint_atomic(const shapes *s, LLVMValueRef atomic);
/* ---- shared_atomics.c ---- */
/* Whether it is on memory that no other thread of the host reaches meanwhile. */
bool is_unlocked(LLVMValueRef atomic);
/* What is behind an atomic operation, by what was there; NULL for rare ones. */
LLVMValueRef combine_atomic(LLVMBuilderRef b, LLVMAtomicRMWBinOp op, LLVMValueRef old, LLVMValueRef value);
/* The operation of `atomic` at an address, its own or a lane's: what was there. */
LLVMValueRef build_change(LLVMBuilderRef b, LLVMValueRef atomic, LLVMValueRef address, LLVMValueRef value);
/* The same of a compare and exchange: what was there, and whether that was expected. */
LLVMValueRef build_exchange(LLVMBuilderRef b, LLVMValueRef atomic, LLVMValueRef address, LLVMValueRef expected,
                            LLVMValueRef wanted);

/* ---- transposed.c ---- */

/* Whether element u of row l, of so many bytes each, is what lane l of vector u reaches. */
bool reaches_rows(const shapes *s, LLVMValueRef address, uint64_t bytes);

/* ---- permuted.c ---- */

/* Whether lanes reach places near each other at distances that are known, so that whole vectors and shuffles do it. */
bool follows_pattern(const shapes *s, LLVMValueRef access);

/* ---- barrier_liveness.c ---- */

/* By barrier node: the values (instructions) that are computed before it and needed behind it. */
typedef struct live_set {
  LLVMValueRef *values;
  size_t count;
} live_set;
typedef struct liveness {
  live_set *behind; /* by node; empty where the node does not end with a barrier */
} liveness;
liveness liveness_of(const graph *g);
void liveness_free(const graph *g, liveness *l);

/* ---- cost_model.c ---- */

/* Whether a whole block as one gang would be slower than several: lanes leave a loop at their own times, and the block would
   wait for the last; or lanes one after the other do something in a loop, which would be much code. */
bool suits_small_gangs(const graph *g, const order *o, const shapes *s, int vectors);
/* Whether its loops carry what register_blocking.c has in registers in turns, one sum of each thread of a block of several rows, and the
   processor gains by that. (Where threads have several, as in products by tiles, they share too much: with tiles of 4 by 4 it
   took twice the time.) */
bool suits_register_blocking(const graph *g, const order *o, const shapes *s);
bool suits_block_merging(const graph *g, const order *o,
                         const shapes *s); /* whether two blocks as one pay: block_merge.c */
/* Lanes of a vector, for blocks of that size: those of the shapes, or others and *why. */
int lanes_that_pay(const graph *g, const order *o, const shapes *s, const unsigned block[3], bool waits,
                   const char **why);
/* Vectors of a gang, where blocks allow as many; *why: what decided. `s` are shapes of single vectors. */
int vectors_that_pay(const graph *g, const order *o, const shapes *s, const char **why);
/* A cut with that many, or one with fewer rows. */
cut rows_that_pay(const graph *g, const order *o, cut c, const unsigned block[3], const char **why);

/* ---- cold_helpers.c ---- */
size_t cold_call_length(LLVMValueRef call); /* instructions that a call of a helper stands for; 0: it is none */

/* ---- widen/calls/instructions.c ---- */
/* The function of the C library that lanes call one after the other, NULL where they call none or make it together. */
const char *called_by_lanes(program *p, LLVMValueRef call);

/* ---- analysis_report.c ---- */
void report_graph(const graph *g, const order *o, FILE *out);
void report_shapes(const shapes *s, FILE *out);
/* The variant that was chosen: its memory accesses and divergent branches, by source line. */
void report_cut(const shapes *s, const char *reason, FILE *out);
void report_live(const graph *g, const liveness *l, FILE *out);
/* Of the optimised module: each function's length, and what its registers have no room for, by line. (spill_report.c) */
void report_spills(program *p, FILE *out);
/* All kernels of the prepared module, on standard output. False: `what` is none of "graph", "shapes", "rows" (shapes
   where rows are whole), "plane" (where rows are vectors), "live". */
bool dump_kernels(program *p, const char *what);

#endif
