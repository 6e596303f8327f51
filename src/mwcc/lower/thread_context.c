/* The hidden thread parameter, and the device built-ins in its terms.
 *
 * Before: device functions read ids by intrinsics. After: the first parameter of every device function points to its
 * thread (frame, worker, ids), built-ins are loads from it or calls of the runtime's services, and no nvvm intrinsic
 * is left. Functions that are inlined lose the parameter again; recursion and function pointers keep it. */
#include "mwcc/mwcc.h"
#include "mwcc/analysis/analysis.h"
#include "lower.h"
#include "mwcc/analysis/watched_site.h"
#include "mwcc/support/checked_access.h"

#include <stdlib.h>
#include <string.h>

/* From the C++ run-time library: the name in C++'s spelling, to be freed, or NULL. */
char *__cxa_demangle(const char *name, char *buffer, size_t *length, int *status);

/* ---- built-ins ---- */

typedef struct site { /* one call to lower */
  program *p;
  LLVMBuilderRef b; /* before the call */
  LLVMValueRef call, thread;
  LLVMValueRef arguments[7]; /* the arguments, of a built-in that has any */
} site;

typedef enum action {
  READ_TID,
  READ_CTAID,
  READ_NTID,
  READ_NCTAID,
  READ_WARPSIZE,
  READ_ITERATION,
  READ_LANE,
  READ_WARP,
  READ_WARPS,
  READ_LANES_EQUAL,
  READ_LANES_BELOW, /* axis: including its own */
  READ_LANES_ABOVE, /* axis: excluding its own */
  READ_CLOCK,
  READ_CLOCK32,
  READ_COOPERATIVE,
  READ_CLUSTER,
  BARRIER,
  BARRIER_COUNT,
  BARRIER_AND,
  BARRIER_OR,
  BARRIER_NAMED, /* axis: without waiting */
  WAIT_WORD,
  FENCE,
  NOTHING,
  PRINT,
  ASSERT,
  ALLOCATE,
  RELEASE,
  GRID_WAIT,
  CLUSTER_WAIT,
  WAIT_OUTSIDE,
  BULK,
  MEMORY_KIND,
  CHECK_ACCESS,
  WATCH,
  CHECK_EVENT,
  CHECK_EVENT_COND,
  READ_SHADOW,
  CHECK_SHADOW,
  CALL_RUNTIME,
  TRAP
} action;

/* Built-ins by name. A name ends where the pattern ends, or anywhere after a '*'. */
static const struct builtin {
  const char *name;
  action action;
  unsigned axis;
} builtins[] = {
    {"llvm.nvvm.read.ptx.sreg.tid.x", READ_TID, 0},
    {"llvm.nvvm.read.ptx.sreg.tid.y", READ_TID, 1},
    {"llvm.nvvm.read.ptx.sreg.tid.z", READ_TID, 2},
    {"llvm.nvvm.read.ptx.sreg.ctaid.x", READ_CTAID, 0},
    {"llvm.nvvm.read.ptx.sreg.ctaid.y", READ_CTAID, 1},
    {"llvm.nvvm.read.ptx.sreg.ctaid.z", READ_CTAID, 2},
    {"llvm.nvvm.read.ptx.sreg.ntid.x", READ_NTID, 0},
    {"llvm.nvvm.read.ptx.sreg.ntid.y", READ_NTID, 1},
    {"llvm.nvvm.read.ptx.sreg.ntid.z", READ_NTID, 2},
    {"llvm.nvvm.read.ptx.sreg.nctaid.x", READ_NCTAID, 0},
    {"llvm.nvvm.read.ptx.sreg.nctaid.y", READ_NCTAID, 1},
    {"llvm.nvvm.read.ptx.sreg.nctaid.z", READ_NCTAID, 2},
    {"llvm.nvvm.read.ptx.sreg.warpsize", READ_WARPSIZE, 0},
    {"llvm.nvvm.read.ptx.sreg.laneid", READ_LANE, 0},
    {"llvm.nvvm.read.ptx.sreg.warpid", READ_WARP, 0},
    {"llvm.nvvm.read.ptx.sreg.nwarpid", READ_WARPS, 0},
    {"llvm.nvvm.read.ptx.sreg.lanemask.eq", READ_LANES_EQUAL, 0},
    {"llvm.nvvm.read.ptx.sreg.lanemask.lt", READ_LANES_BELOW, 0},
    {"llvm.nvvm.read.ptx.sreg.lanemask.le", READ_LANES_BELOW, 1},
    {"llvm.nvvm.read.ptx.sreg.lanemask.gt", READ_LANES_ABOVE, 1},
    {"llvm.nvvm.read.ptx.sreg.lanemask.ge", READ_LANES_ABOVE, 0},
    {"llvm.nvvm.read.ptx.sreg.clock64", READ_CLOCK, 0},
    {"llvm.nvvm.read.ptx.sreg.globaltimer", READ_CLOCK, 0},
    {"llvm.nvvm.read.ptx.sreg.clock", READ_CLOCK32, 0},
    {"llvm.readcyclecounter", READ_CLOCK, 0},
    {"llvm.nvvm.read.ptx.sreg.cluster.nctaid.x", READ_CLUSTER, 0},
    {"llvm.nvvm.read.ptx.sreg.cluster.nctaid.y", READ_CLUSTER, 1},
    {"llvm.nvvm.read.ptx.sreg.cluster.nctaid.z", READ_CLUSTER, 2},
    {"llvm.nvvm.read.ptx.sreg.envreg1", READ_COOPERATIVE, 0}, /* what cooperative_groups.h reads */
    {"llvm.nvvm.read.ptx.sreg.envreg*", READ_ITERATION, 0},   /* only in SIMD variants: interchange.c */
    {"llvm.nvvm.barrier0", BARRIER, 0},
    {"__mw_barrier.popc", BARRIER_COUNT, 0},
    {"__mw_barrier.and", BARRIER_AND, 0},
    {"__mw_barrier.or", BARRIER_OR, 0},
    {"llvm.nvvm.barrier.cta.sync.aligned.all", BARRIER, 0}, /* from LLVM 21 on */
    {"llvm.nvvm.barrier.sync", BARRIER, 0},                 /* a named one, of the whole block, whatever its number */
    {"llvm.nvvm.barrier.cta.sync.all", BARRIER, 0},         /* the same from LLVM 21 on */
    {BARRIER_SYNC_COUNT, BARRIER_NAMED, 0},
    {BARRIER_ARRIVE, BARRIER_NAMED, 1},
    {WORD_WAIT, WAIT_WORD, 0},
    {"llvm.nvvm.membar.*", FENCE, 0},
    {"llvm.nvvm.fence.*", FENCE, 0},
    {"llvm.nvvm.nanosleep", NOTHING, 0},
    {"vprintf", PRINT, 0},
    {"__assertfail", ASSERT, 0},
    {"__assert_fail", ASSERT, 0},
    {"malloc", ALLOCATE, 0},
    {"free", RELEASE, 0},
    {"__mw_grid_wait", GRID_WAIT, 0},
    {"__mw_cluster_wait", CLUSTER_WAIT, 0},
    {"__mw_wait_outside", WAIT_OUTSIDE, 0},
    {"__mw_bulk", BULK, 0},
    {"__mw_memory_kind", MEMORY_KIND, 0},
    {CHECK_ACCESS_FUNCTION, CHECK_ACCESS, 0},
    {WATCH_ADDRESS, WATCH, 0},
    {WATCH_NUMBER, WATCH, 0},
    {CHECK_EVENT_FUNCTION, CHECK_EVENT, 0},
    {CHECK_EVENT_IF, CHECK_EVENT_COND, 0},
    {SHADOW_DISTANCE, READ_SHADOW, 0},
    {CHECK_SHADOW_FUNCTION, CHECK_SHADOW, 0},
    {DEVICE_RUNTIME, CALL_RUNTIME, 0},
    {"llvm.trap", TRAP, 0},
    {"llvm.debugtrap", NOTHING, 0},
};

static bool name_matches(const char *pattern, const char *name) {
  size_t length = strlen(pattern);
  if (pattern[length - 1] == '*') return strncmp(pattern, name, length - 1) == 0;
  return strcmp(pattern, name) == 0;
}

static const struct builtin *find_builtin(const char *name) {
  for (size_t i = 0; i < MW_COUNT(builtins); i++)
    if (name_matches(builtins[i].name, name)) return &builtins[i];
  return NULL;
}

static LLVMValueRef load_frame(site *s) { return thread_load(s->p, s->b, s->thread, THREAD_FRAME, 0); }
static LLVMValueRef load_worker(site *s) { return thread_load(s->p, s->b, s->thread, THREAD_WORKER, 0); }

static LLVMValueRef frame_id(site *s, size_t offset, unsigned axis) {
  return load_invariant(s->p, s->b, s->p->i32, load_frame(s), offset + axis * sizeof(uint32_t));
}

/* x + y*Dx + z*Dx*Dy, from which warps are cut. */
static LLVMValueRef linear_id(site *s) {
  LLVMValueRef dx = frame_id(s, offsetof(mw_frame, block), 0), dy = frame_id(s, offsetof(mw_frame, block), 1);
  LLVMValueRef id = LLVMBuildMul(s->b, thread_load(s->p, s->b, s->thread, THREAD_TID, 2), dy, "");
  id = LLVMBuildAdd(s->b, id, thread_load(s->p, s->b, s->thread, THREAD_TID, 1), "");
  id = LLVMBuildMul(s->b, id, dx, "");
  return LLVMBuildAdd(s->b, id, thread_load(s->p, s->b, s->thread, THREAD_TID, 0), "");
}

/* The bits shifted left by the thread's lane number; `inverted`: those that are then 0. */
static LLVMValueRef lane_bits(site *s, unsigned bits, bool inverted) {
  LLVMValueRef lane = LLVMBuildAnd(s->b, linear_id(s), constant_i32(s->p, 31), "");
  LLVMValueRef moved = LLVMBuildShl(s->b, constant_i32(s->p, bits), lane, "");
  return inverted ? LLVMBuildNot(s->b, moved, "") : moved;
}

static LLVMValueRef warp_count(site *s) {
  LLVMValueRef threads = frame_id(s, offsetof(mw_frame, block), 0);
  for (unsigned axis = 1; axis < 3; axis++)
    threads = LLVMBuildMul(s->b, threads, frame_id(s, offsetof(mw_frame, block), axis), "");
  return LLVMBuildLShr(s->b, LLVMBuildAdd(s->b, threads, constant_i32(s->p, 31), ""), constant_i32(s->p, 5), "");
}

static LLVMValueRef service(site *s, size_t offset, LLVMTypeRef result, LLVMValueRef *arguments, unsigned count) {
  LLVMTypeRef params[8];
  LLVMValueRef all[8] = {load_worker(s)};
  params[0] = s->p->pointer;
  for (unsigned i = 0; i < count; i++) {
    all[i + 1] = arguments[i];
    params[i + 1] = LLVMTypeOf(arguments[i]);
  }
  LLVMValueRef call =
      call_service(s->p, s->b, load_frame(s), offset, LLVMFunctionType(result, params, count + 1, 0), all, count + 1);
  LLVMSetTailCallKind(call, LLVMTailCallKindNoTail); /* reports need the return address of the calling line */
  return call;
}

/* A checked run compares the places of barriers, so LLVM must neither duplicate nor merge them. */
static LLVMValueRef keep_single(const site *s, LLVMValueRef call) {
  if (s->p->follows) add_call_attribute(s->p, call, "noduplicate"), add_call_attribute(s->p, call, "nomerge");
  return call;
}

static LLVMValueRef vote(site *s, mw_vote kind) {
  LLVMValueRef arguments[] = {constant_i32(s->p, kind), s->arguments[0]};
  return keep_single(s, service(s, offsetof(mw_services, barrier_vote), s->p->i32, arguments, 2));
}

/* Before a call that ends the launch: store the thread's id for the report. In the loop tier nothing else records
   it. */
static void name_thread(site *s) {
  LLVMValueRef at = constant_i64(s->p, offsetof(mw_worker, thread)), id = linear_id(s);
  LLVMBuildStore(s->b, id, LLVMBuildInBoundsGEP2(s->b, s->p->i8, load_worker(s), &at, 1, ""));
}

static LLVMValueRef trap(site *s, mw_trap kind) {
  name_thread(s);
  LLVMValueRef argument = constant_i32(s->p, kind);
  return service(s, offsetof(mw_services, trap), s->p->void_type, &argument, 1);
}

/* The service finds the line of the call by its address, so LLVM must not merge calls. */
static void check_access(site *s) {
  if (notes_accesses(s->p->options)) { /* only vector code notes accesses */
    LLVMValueRef worker = load_worker(s), at = constant_i64(s->p, offsetof(mw_worker, suspicious));
    LLVMBuildStore(s->b, constant_i32(s->p, 1), LLVMBuildInBoundsGEP2(s->b, s->p->i8, worker, &at, 1, ""));
  }
  LLVMBasicBlockRef rest = s->call ? begin_failed_check(s->p, s->b, s->call, load_worker(s)) : NULL;
  if (!s->p->follows) name_thread(s); /* else they are fibers, and the worker has it */
  LLVMValueRef call = service(s, offsetof(mw_services, check_access), s->p->void_type, s->arguments, 6);
  add_call_attribute(s->p, call, "nomerge");
  if (rest) LLVMBuildBr(s->b, rest);
}

static void check_event_if(site *s) {
  LLVMBasicBlockRef rest = s->call ? begin_cold(s->p, s->b, s->call, s->arguments[2]) : NULL;
  if (!s->p->follows) name_thread(s);
  LLVMValueRef call = service(s, offsetof(mw_services, check_event), s->p->void_type, s->arguments, 2);
  add_call_attribute(s->p, call, "nomerge");
  if (rest) LLVMBuildBr(s->b, rest);
}

/* The value of the call, or NULL where it has none. */
static LLVMValueRef lower_builtin(site *s, const struct builtin *builtin) {
  program *p = s->p;
  LLVMValueRef value, *arguments = s->arguments;
  switch (builtin->action) {
  case READ_TID: return thread_load(p, s->b, s->thread, THREAD_TID, builtin->axis);
  case READ_CTAID: return thread_load(p, s->b, s->thread, THREAD_CTAID, builtin->axis);
  case READ_NTID: return frame_id(s, offsetof(mw_frame, block), builtin->axis);
  case READ_NCTAID: return frame_id(s, offsetof(mw_frame, grid), builtin->axis);
  case READ_WARPSIZE: return constant_i32(p, 32);
  case READ_ITERATION: return constant_i32(p, 0);
  case READ_LANE: return LLVMBuildAnd(s->b, linear_id(s), constant_i32(p, 31), "");
  case READ_WARP: return LLVMBuildLShr(s->b, linear_id(s), constant_i32(p, 5), "");
  case READ_WARPS: return warp_count(s);
  case READ_LANES_EQUAL: return lane_bits(s, 1, false);
  case READ_LANES_BELOW: return builtin->axis ? lane_bits(s, ~1u, true) : lane_bits(s, ~0u, true);
  case READ_LANES_ABOVE: return builtin->axis ? lane_bits(s, ~1u, false) : lane_bits(s, ~0u, false);
  case READ_CLOCK: return service(s, offsetof(mw_services, clock), p->i64, NULL, 0);
  case READ_CLOCK32:
    value = service(s, offsetof(mw_services, clock), p->i64, NULL, 0);
    return LLVMBuildTrunc(s->b, value, p->i32, "");
  case READ_COOPERATIVE: return load_invariant(p, s->b, p->i32, load_frame(s), offsetof(mw_frame, cooperative));
  case READ_CLUSTER: return frame_id(s, offsetof(mw_frame, cluster), builtin->axis);
  case BARRIER: return keep_single(s, service(s, offsetof(mw_services, barrier), p->void_type, NULL, 0));
  case BARRIER_COUNT: return vote(s, MW_VOTE_COUNT);
  case BARRIER_AND: return vote(s, MW_VOTE_AND);
  case BARRIER_OR: return vote(s, MW_VOTE_OR);
  case BARRIER_NAMED:
    arguments[2] = constant_i32(p, builtin->axis == 0);
    return service(s, offsetof(mw_services, named_barrier), p->void_type, arguments, 3);
  case WAIT_WORD: return service(s, offsetof(mw_services, wait_word), p->void_type, arguments, 3);
  case FENCE: return LLVMBuildFence(s->b, LLVMAtomicOrderingSequentiallyConsistent, 0, "");
  case PRINT: return service(s, offsetof(mw_services, print), p->i32, arguments, 2);
  case ASSERT: name_thread(s); return service(s, offsetof(mw_services, assert_fail), p->void_type, arguments, 4);
  case ALLOCATE: return service(s, offsetof(mw_services, device_malloc), p->pointer, arguments, 1);
  case RELEASE: return service(s, offsetof(mw_services, device_free), p->void_type, arguments, 1);
  case MEMORY_KIND: return service(s, offsetof(mw_services, memory_kind), p->i32, arguments, 1);
  case GRID_WAIT: name_thread(s); return service(s, offsetof(mw_services, grid_wait), p->void_type, arguments, 1);
  case CLUSTER_WAIT: name_thread(s); return service(s, offsetof(mw_services, cluster_wait), p->void_type, arguments, 1);
  case WAIT_OUTSIDE: name_thread(s); return service(s, offsetof(mw_services, wait_outside), p->void_type, arguments, 3);
  case BULK: name_thread(s); return service(s, offsetof(mw_services, bulk), p->void_type, arguments, 7);
  case WATCH: return service(s, offsetof(mw_services, watch_thread), p->void_type, arguments, 2);
  case CHECK_SHADOW: return service(s, offsetof(mw_services, check_shadow), p->void_type, arguments, 4);
  case CHECK_EVENT_COND: check_event_if(s); break;
  case READ_SHADOW: return shadow_distance(p, s->b, load_worker(s));
  case CHECK_EVENT: return service(s, offsetof(mw_services, check_event), p->void_type, arguments, 2);
  case CHECK_ACCESS: check_access(s); break;
  case CALL_RUNTIME:
    arguments[2] = linear_id(s);
    return service(s, offsetof(mw_services, device_runtime), p->i32, arguments, 3);
  case TRAP: return trap(s, MW_TRAP_EXPLICIT);
  case NOTHING: break;
  }
  return NULL;
}

static void read_arguments(site *s) {
  unsigned count = LLVMGetNumArgOperands(s->call);
  for (unsigned i = 0; i < count && i < MW_COUNT(s->arguments); i++) s->arguments[i] = LLVMGetOperand(s->call, i);
}

/* The built-ins that the runtime serves for a single thread. */
static const struct builtin *find_service_builtin(const char *name) {
  const struct builtin *found = find_builtin(name);
  if (!found) return NULL;
  switch (found->action) {
  case READ_CLOCK:
  case READ_CLOCK32:
  case NOTHING:
  case PRINT:
  case ASSERT:
  case ALLOCATE:
  case RELEASE:
  case GRID_WAIT:
  case CLUSTER_WAIT:
  case WAIT_OUTSIDE:
  case BULK:
  case MEMORY_KIND:
  case CHECK_ACCESS:
  case CHECK_EVENT:
  case CHECK_EVENT_COND:
  case CHECK_SHADOW:
  case CALL_RUNTIME:
  case TRAP: return found;
  default: return NULL;
  }
}

bool is_service_builtin(const char *name) { return find_service_builtin(name) != NULL; }

LLVMValueRef lower_service_builtin(program *p, LLVMBuilderRef b, const char *name, LLVMValueRef const *arguments,
                                   unsigned count, LLVMValueRef thread) {
  site s = {.p = p, .b = b, .thread = thread};
  for (unsigned i = 0; i < count && i < MW_COUNT(s.arguments); i++) s.arguments[i] = arguments[i];
  return lower_builtin(&s, find_service_builtin(name));
}

static LLVMValueRef apply_to_warp(site *s) {
  LLVMValueRef services[2] = {load_frame(s), load_worker(s)};
  LLVMValueRef lane = LLVMBuildAnd(s->b, linear_id(s), constant_i32(s->p, WARP_LANES - 1), "");
  return lower_warp_apply(s->p, s->b, s->call, services, s->thread, lane);
}

static void lower_call(site *s) {
  LLVMValueRef callee = LLVMGetCalledValue(s->call);
  if (LLVMIsAInlineAsm(callee)) {
    complain(s->p, s->call, "inline PTX (asm) cannot run on the CPU device: write it in CUDA C, or use an intrinsic");
    return;
  }
  if (!LLVMIsAFunction(callee) || !LLVMIsDeclaration(callee)) { /* through a pointer, or a function of the source */
    pass_parameter(s->p, s->b, s->call, s->thread);
    return;
  }
  const char *name = callee_name(s->call);
  const struct builtin *builtin = find_builtin(name);
  bool of_warp = find_warp_call(name) || strcmp(name, "llvm.nvvm.activemask") == 0;
  if (builtin || of_warp) {
    LLVMPositionBuilderBefore(s->b, s->call);
    read_arguments(s);
    LLVMValueRef value = builtin ? lower_builtin(s, builtin)
                         : starts_with(name, WARP_APPLY)
                             ? apply_to_warp(s)
                             : lower_warp(s->p, s->b, s->call, load_frame(s), load_worker(s));
    if (value && LLVMGetTypeKind(LLVMTypeOf(s->call)) != LLVMVoidTypeKind) LLVMReplaceAllUsesWith(s->call, value);
    LLVMInstructionEraseFromParent(s->call);
  } else if (starts_with(name, "llvm.nvvm.")) {
    complain(s->p, s->call, "the CPU device has no '%s' yet", name + strlen("llvm.nvvm."));
  } else if (!starts_with(name, "llvm.") && !is_importable(name)) {
    char *readable = __cxa_demangle(name, NULL, NULL, NULL);
    complain(
        s->p, s->call,
        "the function '%s' is declared but defined nowhere: define it in this source or in a header, or compile both "
        "sources as one module, mw.compile { source = { one, other } } or mwcc one.cu other.cu",
        readable ? readable : name);
    free(readable);
  }
}

/* Control flow that leaves a function without a return, or continues after a noreturn call, is an error in the
   program, and is caught. */
static void lower_unreachable(site *s, LLVMValueRef instruction) {
  LLVMPositionBuilderBefore(s->b, instruction);
  trap(s, MW_TRAP_UNREACHABLE);
}

/* After a lane has written to volatile shared memory, the others of its warp read the new value, as if all ran in
   lockstep. */
static void lower_access(site *s, LLVMValueRef access) {
  LLVMPositionBuilderBefore(s->b, access);
  lower_converge(s->p, s->b, load_frame(s), load_worker(s));
}

static void lower_function(program *p, LLVMBuilderRef b, LLVMValueRef function) {
  instructions list = instructions_of_function(function);
  site s = {.p = p, .b = b, .thread = LLVMGetParam(function, 0)};
  for (size_t n = 0; n < list.count; n++) {
    LLVMValueRef i = list.items[n];
    if (LLVMIsAUnreachableInst(i)) lower_unreachable(&s, i);
    if (is_warp_access(i)) lower_access(&s, i);
    s.call = i;
    if (LLVMIsACallInst(i)) lower_call(&s);
  }
  free(list.items);
}

static void drop_unused_declarations(program *p) {
  for (LLVMValueRef next, f = LLVMGetFirstFunction(p->module); f; f = next) {
    next = LLVMGetNextFunction(f);
    if (LLVMIsDeclaration(f) && !LLVMGetFirstUse(f)) LLVMDeleteFunction(f);
  }
}

void lower_threads(program *p) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  size_t count = 0, capacity = 0;
  LLVMValueRef *functions = NULL;
  EACH_FUNCTION(p, f) {
    if (LLVMIsDeclaration(f) || is_entry(p, f) || takes_vectors(f)) continue; /* SIMD variants have no thread ids */
    if (count == capacity) functions = mw_realloc(functions, (capacity = capacity * 2 + 16) * sizeof *functions);
    functions[count++] = f;
  }
  for (size_t i = 0; i < count; i++) {
    kernel *owner = NULL;
    for (size_t k = 0; k < p->kernel_count; k++)
      if (p->kernels[k].body == functions[i]) owner = &p->kernels[k];
    functions[i] = give_parameter(p, functions[i]);
    if (owner) owner->body = functions[i];
  }
  for (size_t i = 0; i < count; i++) {
    lower_function(p, b, functions[i]);
    remove_attribute(functions[i], "convergent");
  }
  free(functions);
  LLVMDisposeBuilder(b);
  if (p->complaints) exit(1);
  drop_unused_declarations(p);
  verify_module(p, "giving functions their thread");
}
