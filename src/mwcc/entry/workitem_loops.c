/* Block functions: the runtime calls run(frame, worker, first, last) to run blocks first to last - 1 of a kernel (in
 * OpenCL implementations, work-item loops). Depending on the kernel's tier:
 *
 *   loop    for each block, for each thread: the body. Possible if threads never wait for each other.
 *   fiber   for each block: the service run_fibers (run_warps if the kernel uses warp functions) with a thread
 *           function, which runs the body for one thread on a stack of its own.
 *
 * The body is inlined into both. As on a GPU, each thread has its own copy of a byval parameter. Blocks of the simd
 * tier are built by the widening; build_dispatch adds the choice between them and these. */
#include "mwcc/mwcc.h"
#include "entry.h"
#include "mwcc/lower/lower.h"
#include "mwcc/read/read.h"

#include <stdlib.h>
#include <string.h>

typedef struct function {
  program *p;
  LLVMBuilderRef b;
  LLVMValueRef value, frame, worker;
  LLVMBasicBlockRef entry;
} function;

static function begin(program *p, const char *name, LLVMTypeRef type) {
  function f = {.p = p, .b = LLVMCreateBuilderInContext(p->context)};
  f.value = LLVMAddFunction(p->module, name, type);
  LLVMSetLinkage(f.value, LLVMInternalLinkage);
  f.frame = LLVMGetParam(f.value, 0);
  f.worker = LLVMGetParam(f.value, 1);
  f.entry = LLVMAppendBasicBlockInContext(p->context, f.value, "entry");
  LLVMPositionBuilderAtEnd(f.b, f.entry);
  add_attribute(p, f.value, "nounwind");
  add_attribute(p, f.value, "null_pointer_is_valid");
  add_text_attribute(p, f.value, "frame-pointer", "non-leaf");
  unsigned noalias = LLVMGetEnumAttributeKindForName("noalias", 7);
  for (unsigned i = 1; i <= 2; i++)
    LLVMAddAttributeAtIndex(f.value, i, LLVMCreateEnumAttribute(p->context, noalias, 0));
  return f;
}

typedef struct loop {
  LLVMBasicBlockRef head, exit;
  LLVMValueRef counter;
} loop;

/* Begin for (i = from; i < to; i++), with the builder in the body. */
static loop begin_loop(function *f, LLVMValueRef from, LLVMValueRef to, const char *name) {
  program *p = f->p;
  loop l;
  LLVMBasicBlockRef before = LLVMGetInsertBlock(f->b);
  l.head = LLVMAppendBasicBlockInContext(p->context, f->value, name);
  LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(p->context, f->value, "body");
  l.exit = LLVMAppendBasicBlockInContext(p->context, f->value, "done");
  LLVMBuildBr(f->b, l.head);
  LLVMPositionBuilderAtEnd(f->b, l.head);
  l.counter = LLVMBuildPhi(f->b, LLVMTypeOf(from), name);
  LLVMAddIncoming(l.counter, &from, &before, 1);
  LLVMBuildCondBr(f->b, LLVMBuildICmp(f->b, LLVMIntULT, l.counter, to, ""), body, l.exit);
  LLVMPositionBuilderAtEnd(f->b, body);
  return l;
}

static void end_loop(function *f, loop l) {
  LLVMValueRef next = LLVMBuildNUWAdd(f->b, l.counter, LLVMConstInt(LLVMTypeOf(l.counter), 1, 0), "");
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(f->b);
  LLVMAddIncoming(l.counter, &next, &latch, 1);
  LLVMBuildBr(f->b, l.head);
  LLVMPositionBuilderAtEnd(f->b, l.exit);
}

static LLVMValueRef frame_id(function *f, size_t offset, unsigned axis) {
  return load_invariant(f->p, f->b, f->p->i32, f->frame, offset + axis * sizeof(uint32_t));
}

/* blockIdx from the linear block index. */
static void set_block(function *f, LLVMValueRef thread, LLVMValueRef block) {
  program *p = f->p;
  LLVMValueRef gx = LLVMBuildZExt(f->b, frame_id(f, offsetof(mw_frame, grid), 0), p->i64, "");
  LLVMValueRef gy = LLVMBuildZExt(f->b, frame_id(f, offsetof(mw_frame, grid), 1), p->i64, "");
  LLVMValueRef rest = LLVMBuildUDiv(f->b, block, gx, "");
  LLVMValueRef ids[3] = {LLVMBuildURem(f->b, block, gx, ""), LLVMBuildURem(f->b, rest, gy, ""),
                         LLVMBuildUDiv(f->b, rest, gy, "")};
  for (unsigned axis = 0; axis < 3; axis++)
    LLVMBuildStore(f->b, LLVMBuildTrunc(f->b, ids[axis], p->i32, ""),
                   thread_address(p, f->b, thread, THREAD_CTAID, axis));
}

static void set_thread(function *f, LLVMValueRef thread, LLVMValueRef const ids[3]) {
  for (unsigned axis = 0; axis < 3; axis++)
    LLVMBuildStore(f->b, ids[axis], thread_address(f->p, f->b, thread, THREAD_TID, axis));
}

/* The kernel's arguments, loaded from the parameter block. A byval parameter is a pointer into it: the callee
   copies. */
static LLVMValueRef *load_arguments(function *f, const kernel *k) {
  program *p = f->p;
  LLVMValueRef *arguments = mw_alloc((k->param_count + 1) * sizeof *arguments);
  LLVMValueRef params = load_invariant(p, f->b, p->pointer, f->frame, offsetof(mw_frame, params));
  unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
  for (unsigned i = 0; i < k->param_count; i++) {
    LLVMTypeRef type = LLVMTypeOf(LLVMGetParam(k->body, i + 1));
    if (LLVMGetEnumAttributeAtIndex(k->body, i + 2, byval)) {
      LLVMValueRef at = constant_i64(p, k->params[i].offset);
      arguments[i + 1] = LLVMBuildInBoundsGEP2(f->b, p->i8, params, &at, 1, "");
    } else if (type == p->i1) { /* bool: a byte in memory */
      LLVMValueRef byte = load_invariant(p, f->b, p->i8, params, k->params[i].offset);
      arguments[i + 1] = LLVMBuildICmp(f->b, LLVMIntNE, byte, LLVMConstNull(p->i8), "");
    } else {
      arguments[i + 1] = load_invariant(p, f->b, type, params, k->params[i].offset);
    }
  }
  return arguments;
}

static void call_body(function *f, const kernel *k, LLVMValueRef *arguments, LLVMValueRef thread) {
  arguments[0] = thread;
  LLVMValueRef call =
      LLVMBuildCall2(f->b, LLVMGlobalGetValueType(k->body), k->body, arguments, (unsigned)k->param_count + 1, "");
  unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
  for (unsigned i = 0; i < k->param_count; i++) {
    LLVMAttributeRef attribute = LLVMGetEnumAttributeAtIndex(k->body, i + 2, byval);
    if (attribute) LLVMAddCallSiteAttribute(call, i + 2, attribute);
  }
}

static LLVMTypeRef block_function_type(program *p) {
  LLVMTypeRef params[] = {p->pointer, p->pointer, p->i64, p->i64};
  return LLVMFunctionType(p->void_type, params, 4, 0);
}

/* Begin the loop over blocks. The current block is stored in the worker, for the runtime and for reports of faults. */
static loop begin_blocks(function *f, const kernel *k) {
  loop blocks = begin_loop(f, LLVMGetParam(f->value, 2), LLVMGetParam(f->value, 3), "block");
  LLVMValueRef at = constant_i64(f->p, offsetof(mw_worker, block));
  LLVMBuildStore(f->b, blocks.counter, LLVMBuildInBoundsGEP2(f->b, f->p->i8, f->worker, &at, 1, ""));
  report_block(f->p, f->b, f->frame, f->worker, k);
  return blocks;
}

static void finish(function *f) {
  LLVMBuildRetVoid(f->b);
  LLVMDisposeBuilder(f->b);
}

/* Give the body's debug scope to the function that the body is inlined into. */
static void move_scope(kernel *k, LLVMValueRef into) {
  LLVMMetadataRef scope = LLVMGetSubprogram(k->body);
  LLVMSetSubprogram(k->body, NULL);
  LLVMSetSubprogram(into, scope);
}

static void build_loop(program *p, kernel *k, const char *name) {
  function f = begin(p, name, block_function_type(p));
  LLVMValueRef zero = constant_i32(p, 0), dims[3], ids[3], thread = new_thread(p, f.b, f.frame, f.worker, k);
  LLVMValueRef *arguments = load_arguments(&f, k);
  for (unsigned axis = 0; axis < 3; axis++) dims[axis] = frame_id(&f, offsetof(mw_frame, block), axis);
  loop blocks = begin_blocks(&f, k);
  set_block(&f, thread, blocks.counter);
  loop z = begin_loop(&f, zero, dims[2], "z"), y = begin_loop(&f, zero, dims[1], "y"),
       x = begin_loop(&f, zero, dims[0], "x");
  ids[0] = x.counter, ids[1] = y.counter, ids[2] = z.counter;
  set_thread(&f, thread, ids);
  call_body(&f, k, arguments, thread);
  end_loop(&f, x);
  end_loop(&f, y);
  end_loop(&f, z);
  end_loop(&f, blocks);
  finish(&f);
  free(arguments);
  move_scope(k, f.value);
  k->run = f.value;
}

static LLVMValueRef build_thread_function(program *p, kernel *k, const char *name) {
  LLVMTypeRef params[] = {p->pointer, p->pointer, p->i32};
  function f = begin(p, name, LLVMFunctionType(p->void_type, params, 3, 0));
  LLVMValueRef thread = new_thread(p, f.b, f.frame, f.worker, k), linear = LLVMGetParam(f.value, 2);
  LLVMValueRef *arguments = load_arguments(&f, k);
  LLVMValueRef dx = frame_id(&f, offsetof(mw_frame, block), 0), dy = frame_id(&f, offsetof(mw_frame, block), 1);
  LLVMValueRef rest = LLVMBuildUDiv(f.b, linear, dx, "");
  LLVMValueRef ids[3] = {LLVMBuildURem(f.b, linear, dx, ""), LLVMBuildURem(f.b, rest, dy, ""),
                         LLVMBuildUDiv(f.b, rest, dy, "")};
  LLVMValueRef at = constant_i64(p, offsetof(mw_worker, block));
  set_block(&f, thread, LLVMBuildLoad2(f.b, p->i64, LLVMBuildInBoundsGEP2(f.b, p->i8, f.worker, &at, 1, ""), "block"));
  set_thread(&f, thread, ids);
  call_body(&f, k, arguments, thread);
  finish(&f);
  free(arguments);
  move_scope(k, f.value);
  return f.value;
}

static void build_fiber(program *p, kernel *k, const char *name) {
  char *thread_name = mw_format("%s.thread", name);
  LLVMValueRef thread_function = build_thread_function(p, k, thread_name);
  free(thread_name);
  k->thread_function = thread_function;
  function f = begin(p, name, block_function_type(p));
  LLVMValueRef count = frame_id(&f, offsetof(mw_frame, block), 0);
  for (unsigned axis = 1; axis < 3; axis++)
    count = LLVMBuildMul(f.b, count, frame_id(&f, offsetof(mw_frame, block), axis), "");
  loop blocks = begin_blocks(&f, k);
  LLVMTypeRef params[] = {p->pointer, p->pointer, p->pointer, p->i32};
  LLVMValueRef arguments[] = {f.frame, f.worker, thread_function, count};
  size_t service =
      k->sees_warp || k->has_block_wait ? offsetof(mw_services, run_warps) : offsetof(mw_services, run_fibers);
  call_service(p, f.b, f.frame, service, LLVMFunctionType(p->void_type, params, 4, 0), arguments, 4);
  end_loop(&f, blocks);
  finish(&f);
  k->run = f.value;
}

void build_block_functions(program *p) {
  for (size_t i = 0; i < p->kernel_count; i++) {
    kernel *k = &p->kernels[i];
    bool as_loop = p->options->width == 1 && !k->waits; /* a candidate: candidates.c */
    if (p->options->launch_kernel && !k->variant_count && !as_loop)
      die("%s cannot be specialised for a block size: %s", k->name, k->tier_reason);
    if (p->options->launch_kernel && k->variant_count) {
      k->run = k->variants[0].function;
      if (k->pack > 1) build_packed_run(p, k);
      k->outlined_scope = program_new_scope(p, k, NULL);
      build_launched(p, k);
      continue;
    }
    char *name = mw_format("run.%s", k->linkage);
    remove_attribute(k->body, "noinline");
    remove_attribute(k->body, "optnone");
    add_attribute(p, k->body, "alwaysinline");
    if (k->waits) {
      build_fiber(p, k, name);
    } else {
      build_loop(p, k, name);
    }
    if (k->variant_count) build_dispatch(p, k);
    if (p->options->launch_kernel) build_launched(p, k);
    free(name);
  }
  verify_module(p, "building block functions");
}
