/* Widening: from one thread's code to a gang's. What widen.c, lanes.c and access.c share.
 *
 *   emission.h and widen.c, gang.c, saved.c   the block function, its regions, the control flow of a gang
 *   lanes.c    values: how each is kept, and instructions without side effects on all lanes at once
 *   vector_math.c   mathematical functions on all lanes
 *   access.c   memory: contiguous, broadcast, gathered; atomics lane by lane
 *
 * How a value is kept follows from its shape: uniform ones as a scalar, affine ones as the scalar of lane 0, varying ones
 * as a vector of W. A value that is used outside its node has a slot on the stack, which promotion to registers removes;
 * so this code makes no phi and may emit a node more than once. Lanes that are not active hold garbage: no decision that
 * all lanes share, and no access, may come from them. */
#ifndef WIDEN_H
#define WIDEN_H

#include "plan.h"

typedef struct kept { /* one value of the kernel */
  LLVMValueRef value; /* the key */
  LLVMValueRef slot;  /* its alloca, or NULL */
  LLVMValueRef local; /* its form in the node being emitted */
  int node_stamp;     /* of which emission `local` is */
  LLVMValueRef saved; /* across barriers: one entry a gang (or a block, for block-uniform values) */
} kept;

typedef struct mask {
  bool all;           /* every lane: then there is no vector */
  LLVMValueRef lanes; /* <W x i1> */
} mask;

/* Bytes a lane may keep on the worker's stack (8 MiB): at most 1024 lanes wait, and 64 run. */
enum { LOCAL_MOST = 32 << 10, LOCAL_MOST_WAITING = 2 << 10, SAVED_MOST = 4 << 10 };

typedef struct widener {
  program *p;
  kernel *k;
  const graph *g;
  const shapes *shapes;
  const liveness *live;
  int width;
  const char *why; /* set where something cannot be widened: the result is thrown away */
  LLVMValueRef why_at;
  LLVMValueRef function, frame, worker;
  LLVMBuilderRef b, entry; /* entry: allocas, at the function's top */
  kept *table;
  size_t table_size, table_used;
  int stamp;
  LLVMValueRef tid_x, tid_y, tid_z; /* of the gang's lane 0, in slots */
  LLVMValueRef ctaid[3], ntid[3];
  LLVMValueRef gangs, gang; /* how many a block has; the one being run (slot) */
  bool several_regions;     /* gangs wait for each other */
  uint64_t local_bytes;     /* of local arrays, a lane */
  uint64_t saved_bytes;     /* of values that wait at barriers, a lane */
  LLVMValueRef mask_now;    /* the running node's */
  bool mask_all;
} widener;

/* The SIMD block function of a kernel, or NULL with the reason and where. `tail`: rows may end within a gang. */
LLVMValueRef widen_kernel(program *p, kernel *k, const graph *g, const shapes *s, const liveness *live, bool tail,
                          const char *name, const char **why, LLVMValueRef *why_at);

/* ---- lanes.c ---- */
void refuse(widener *w, LLVMValueRef at, const char *why);
kept *kept_of(widener *w, LLVMValueRef value);
LLVMTypeRef vector_type(const widener *w, LLVMTypeRef scalar);
bool is_uniform(const widener *w, LLVMValueRef value);
bool is_affine(const widener *w, LLVMValueRef value);
/* The type of a value as it is kept. */
LLVMTypeRef kept_type(const widener *w, LLVMValueRef value);
/* The value as it is kept; and as the scalar of lane 0 (uniform and affine values only); and as a vector. */
LLVMValueRef value_kept(widener *w, LLVMValueRef value);
LLVMValueRef value_scalar(widener *w, LLVMValueRef value);
LLVMValueRef value_vector(widener *w, LLVMValueRef value);
LLVMValueRef splat(widener *w, LLVMValueRef scalar);
LLVMValueRef lane_numbers(widener *w, LLVMTypeRef integer); /* <0, 1, 2, …> */
void set_value(widener *w, LLVMValueRef value, LLVMValueRef form);
LLVMValueRef slot_of(widener *w, LLVMValueRef value);
/* Whether the value is used outside of the node that computes it. Only then it can be had in other nodes. */
bool is_in_slot(const widener *w, LLVMValueRef value);
LLVMValueRef any_lane(widener *w, LLVMValueRef lanes);
LLVMValueRef mask_vector(widener *w, mask m);
/* Emit one instruction (no terminator, phi or barrier) for the lanes of `m`. */
void widen_instruction(widener *w, LLVMValueRef instruction, mask m);

/* ---- vector_math.c ---- */
/* The mathematical function that a call is of, without its type ("sinf", "llvm.sin.f32": "sin"), or NULL. */
const char *math_function(const char *name, LLVMTypeRef type);
/* Its value for all lanes, or NULL where only one lane at a time is exact enough. */
LLVMValueRef call_vector_math(widener *w, LLVMValueRef call, const char *root, mask m);

/* ---- access.c ---- */
void widen_load(widener *w, LLVMValueRef load, mask m);
void widen_store(widener *w, LLVMValueRef store, mask m);
void widen_atomic(widener *w, LLVMValueRef atomic, mask m);
void widen_copy(widener *w, LLVMValueRef call, mask m); /* llvm.memcpy and llvm.memmove */

/* ---- lane by lane (lanes.c): run `body` for each active lane, with the lane's number; its result goes into lane of the
   returned vector where `type` is not NULL. ---- */
typedef LLVMValueRef lane_body(widener *w, LLVMValueRef lane, void *context);
LLVMValueRef each_lane(widener *w, mask m, LLVMTypeRef type, lane_body *body, void *context);
LLVMValueRef lane_of(widener *w, LLVMValueRef value, LLVMValueRef lane); /* one lane of a value, as a scalar */

#endif
