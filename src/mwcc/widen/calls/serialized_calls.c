/* Calls that lanes cannot make together: each lane makes its own, in order. See widen.h.
 *
 * That is correct for every callee that does not wait for other threads (cfg.c refuses those). A callee that may read
 * ids, as each function of the source may, has a thread context for the time of the call (thread_context.c). The
 * worker's current thread is set, too, so that a fault in the callee is reported with the thread's id. */
#include "mwcc/widen/widen.h"
#include "mwcc/lower/lower.h"

#include <stdlib.h>
#include <string.h>

typedef enum callee_kind {
  CALLEE_UNKNOWN,
  CALLEE_PLAIN,   /* an LLVM intrinsic, or a function of the C library: it depends on its arguments alone */
  CALLEE_BUILTIN, /* a device function that the runtime serves: printf, malloc … */
  CALLEE_OWN      /* a function of the source, or a pointer to one */
} callee_kind;

static callee_kind kind_of(LLVMValueRef call) {
  LLVMValueRef callee = LLVMGetCalledValue(call);
  const char *name = callee_name(call);
  if (LLVMIsAInlineAsm(callee)) return CALLEE_UNKNOWN;
  if (!LLVMIsAFunction(callee) || !LLVMIsDeclaration(callee)) return CALLEE_OWN;
  if (is_service_builtin(name)) return CALLEE_BUILTIN;
  if (starts_with(name, "llvm.nvvm.")) return CALLEE_UNKNOWN;
  return starts_with(name, "llvm.") || is_importable(name) ? CALLEE_PLAIN : CALLEE_UNKNOWN;
}

/* The thread context that the lanes use one after the other. Fields that all of them share are stored once, at the
   function's top. */
LLVMValueRef serial_thread(widener *w) {
  if (!w->thread) w->thread = new_thread(w->p, w->entry, w->frame, w->worker, w->k);
  return w->thread;
}

/* A call of a function of the source from vector code. LLVM's verifier requires a location of a call whose callee has
   one; if the code before it has none, it is the kernel's line. */
LLVMValueRef call_source_function(widener *w, LLVMTypeRef type, LLVMValueRef callee, LLVMValueRef *arguments,
                                  unsigned count) {
  LLVMValueRef call = LLVMBuildCall2(w->b, with_thread(w->p, type), callee, arguments, count, "");
  LLVMMetadataRef scope = LLVMGetSubprogram(w->function);
  if (scope && !LLVMInstructionGetDebugLoc(call)) {
    unsigned line = LLVMDISubprogramGetLine(scope);
    LLVMInstructionSetDebugLoc(call, LLVMDIBuilderCreateDebugLocation(w->p->context, line, 0, scope, NULL));
  }
  return call;
}

static void set_running(widener *w, LLVMValueRef linear) {
  LLVMValueRef at = constant_i64(w->p, offsetof(mw_worker, thread));
  LLVMBuildStore(w->b, linear, LLVMBuildInBoundsGEP2(w->b, w->p->i8, w->worker, &at, 1, ""));
}

/* Set the thread context to that of a lane of the gang: see struct cut. */
static void set_thread(widener *w, LLVMValueRef lane) {
  program *p = w->p;
  LLVMValueRef thread = serial_thread(w), ids[3];
  LLVMValueRef across[3] = {lane, NULL, NULL};
  if (w->shapes->cut.kind == CUT_PLANE) {
    LLVMValueRef width = constant_i32(p, (unsigned)(w->width * w->shapes->cut.columns));
    across[0] = LLVMBuildURem(w->b, lane, width, "");
    across[1] = LLVMBuildUDiv(w->b, lane, width, "");
  }
  bool line = w->shapes->cut.kind == CUT_LINE; /* then tid[0] is the linear id */
  LLVMValueRef own = LLVMBuildAdd(w->b, first_id(w, 0), lane, "");
  for (unsigned axis = 0; axis < 3; axis++) {
    ids[axis] = line ? scattered_id(w, own, axis) : first_id(w, axis);
    if (across[axis] && !line) ids[axis] = LLVMBuildAdd(w->b, ids[axis], across[axis], "");
    LLVMBuildStore(w->b, ids[axis], thread_address(p, w->b, thread, THREAD_TID, axis));
    LLVMValueRef block = LLVMBuildLoad2(w->b, p->i32, w->ctaid[axis], "");
    LLVMBuildStore(w->b, block, thread_address(p, w->b, thread, THREAD_CTAID, axis));
  }
  LLVMValueRef linear = LLVMBuildMul(w->b, ids[2], w->ntid[1], "");
  linear = LLVMBuildMul(w->b, LLVMBuildAdd(w->b, linear, ids[1], ""), w->ntid[0], "");
  set_running(w, LLVMBuildAdd(w->b, linear, ids[0], ""));
}

/* The function that a lane's pointer refers to, after an opaque move: LLVM 19 fails to select the call of an element
   extracted from a vector. */
static LLVMValueRef function_of(widener *w, LLVMValueRef callee, LLVMValueRef lane) {
  LLVMTypeRef type = LLVMFunctionType(w->p->pointer, &w->p->pointer, 1, 0);
  static const char constraints[] = "=r,0";
  LLVMValueRef move =
      LLVMGetInlineAsm(type, "", 0, constraints, sizeof constraints - 1, 0, 0, LLVMInlineAsmDialectATT, 0);
  LLVMValueRef pointer = lane_of(w, callee, lane);
  return LLVMBuildCall2(w->b, type, move, &pointer, 1, "");
}

static LLVMValueRef call_one(widener *w, LLVMValueRef lane, void *context) {
  LLVMValueRef call = context, callee = LLVMGetCalledValue(call), result;
  callee_kind kind = kind_of(call);
  unsigned count = LLVMGetNumArgOperands(call), hidden = kind == CALLEE_OWN;
  LLVMValueRef *arguments = mw_alloc((count + 1) * sizeof *arguments);
  if (kind != CALLEE_PLAIN) set_thread(w, lane);
  if (hidden) arguments[0] = serial_thread(w);
  for (unsigned i = 0; i < count; i++) arguments[i + hidden] = lane_of(w, LLVMGetOperand(call, i), lane);
  LLVMTypeRef type = LLVMGetCalledFunctionType(call);
  if (kind == CALLEE_BUILTIN) {
    result = lower_service_builtin(w->p, w->b, callee_name(call), arguments, count, serial_thread(w));
  } else if (kind == CALLEE_OWN) {
    /* functions of the source get the parameter in lower_threads */
    if (!LLVMIsAFunction(callee)) callee = function_of(w, callee, lane);
    result = call_source_function(w, type, callee, arguments, count + 1);
    copy_attributes(call, result, true);
  } else {
    result = LLVMBuildCall2(w->b, type, callee, arguments, count, "");
  }
  free(arguments);
  return result;
}

static bool has_result(LLVMValueRef call) {
  return LLVMGetTypeKind(LLVMTypeOf(call)) != LLVMVoidTypeKind && LLVMGetFirstUse(call);
}

bool widen_call_by_lanes(widener *w, LLVMValueRef call, mask m) {
  callee_kind kind = kind_of(call);
  if (kind == CALLEE_OWN && w->p->options->observe) return false; /* its warps are watched on fibers */
  if (kind == CALLEE_UNKNOWN || (has_result(call) && !is_lane_type(LLVMTypeOf(call)))) return false;
  unsigned total = (unsigned)LLVMGetNumOperands(call), count = 0;
  LLVMValueRef *operands = mw_alloc((total + 1) * sizeof *operands);
  for (unsigned i = 0; i < total; i++) {
    LLVMValueRef operand = LLVMGetOperand(call, i);
    if (LLVMIsAInstruction(operand) || LLVMIsAArgument(operand)) operands[count++] = operand;
  }
  if (kind != CALLEE_PLAIN) serial_thread(w);
  vectors result =
      each_lane(w, call, m, operands, count, has_result(call) ? LLVMTypeOf(call) : NULL, false, call_one, call);
  if (kind != CALLEE_PLAIN) set_running(w, constant_i32(w->p, ~0u));
  if (has_result(call)) set_value(w, call, result);
  free(operands);
  return true;
}
