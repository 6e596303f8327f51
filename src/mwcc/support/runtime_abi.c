/* Access to the runtime from generated code, as mwo.h lays it out: the frame, the worker, the thread, services, and
 * loads of memory that is invariant during a launch. */
#include "mwcc/mwcc.h"

#include <stdlib.h>
#include <string.h>

LLVMTypeRef thread_type(program *p) {
  LLVMTypeRef ids = LLVMArrayType2(p->i32, 3);
  LLVMTypeRef fields[] = {p->pointer, p->pointer, p->pointer, p->pointer, ids, ids};
  return LLVMStructTypeInContext(p->context, fields, MW_COUNT(fields), 0);
}

LLVMValueRef thread_address(program *p, LLVMBuilderRef b, LLVMValueRef thread, thread_field field, unsigned axis) {
  LLVMValueRef indices[] = {constant_i32(p, 0), constant_i32(p, field), constant_i32(p, axis)};
  return LLVMBuildInBoundsGEP2(b, thread_type(p), thread, indices, field >= THREAD_TID ? 3 : 2, "");
}

LLVMValueRef thread_load(program *p, LLVMBuilderRef b, LLVMValueRef thread, thread_field field, unsigned axis) {
  return LLVMBuildLoad2(b, field >= THREAD_TID ? p->i32 : p->pointer, thread_address(p, b, thread, field, axis), "");
}

void mark_invariant(program *p, LLVMValueRef load) {
  unsigned kind = LLVMGetMDKindIDInContext(p->context, "invariant.load", 14);
  LLVMSetMetadata(load, kind, LLVMMetadataAsValue(p->context, LLVMMDNodeInContext2(p->context, NULL, 0)));
}

bool is_marked_invariant(program *p, LLVMValueRef load) {
  return LLVMGetMetadata(load, LLVMGetMDKindIDInContext(p->context, "invariant.load", 14)) != NULL;
}

LLVMValueRef load_invariant(program *p, LLVMBuilderRef b, LLVMTypeRef type, LLVMValueRef base, size_t offset) {
  LLVMValueRef at = constant_i64(p, offset);
  LLVMValueRef load = LLVMBuildLoad2(b, type, LLVMBuildInBoundsGEP2(b, p->i8, base, &at, 1, ""), "");
  mark_invariant(p, load);
  return load;
}

LLVMValueRef call_service(program *p, LLVMBuilderRef b, LLVMValueRef frame, size_t offset, LLVMTypeRef type,
                          LLVMValueRef *arguments, unsigned count) {
  LLVMValueRef services = load_invariant(p, b, p->pointer, frame, offsetof(mw_frame, services));
  return LLVMBuildCall2(b, type, load_invariant(p, b, p->pointer, services, offset), arguments, count, "");
}

LLVMTypeRef with_thread(program *p, LLVMTypeRef type) {
  unsigned count = LLVMCountParamTypes(type);
  LLVMTypeRef *params = mw_alloc((count + 1) * sizeof *params);
  params[0] = p->pointer;
  LLVMGetParamTypes(type, params + 1);
  LLVMTypeRef result = LLVMFunctionType(LLVMGetReturnType(type), params, count + 1, LLVMIsFunctionVarArg(type));
  free(params);
  return result;
}

/* Copy attributes to a function or call with one more parameter in front: the indices of parameter attributes (byval,
   sret) increase by one. */
void copy_attributes(LLVMValueRef from, LLVMValueRef to, bool calls) {
  unsigned params = calls ? LLVMGetNumArgOperands(from) : LLVMCountParams(from);
  for (unsigned n = 0; n < params + 2; n++) {
    unsigned source = n == params + 1 ? (unsigned)LLVMAttributeFunctionIndex : n;
    unsigned target = source == 0 || source == (unsigned)LLVMAttributeFunctionIndex ? source : source + 1;
    unsigned count = calls ? LLVMGetCallSiteAttributeCount(from, source) : LLVMGetAttributeCountAtIndex(from, source);
    LLVMAttributeRef *list = mw_alloc((count + 1) * sizeof *list);
    if (calls)
      LLVMGetCallSiteAttributes(from, source, list);
    else
      LLVMGetAttributesAtIndex(from, source, list);
    for (unsigned i = 0; i < count; i++) {
      if (calls)
        LLVMAddCallSiteAttribute(to, target, list[i]);
      else
        LLVMAddAttributeAtIndex(to, target, list[i]);
    }
    free(list);
  }
  /* a memory attribute does not account for the accesses through the new parameter */
  if (calls)
    LLVMRemoveCallSiteEnumAttribute(to, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                    LLVMGetEnumAttributeKindForName("memory", 6));
}

/* A thread record in memory. All of it but the ids is the same for every thread of the worker. */
LLVMValueRef new_thread(program *p, LLVMBuilderRef b, LLVMValueRef frame, LLVMValueRef worker, const kernel *k) {
  LLVMValueRef thread = LLVMBuildAlloca(b, thread_type(p), "thread");
  mark_thread(p, thread);
  LLVMValueRef memory = load_invariant(p, b, p->pointer, worker, offsetof(mw_worker, shared));
  LLVMValueRef dynamic_offset = constant_i64(p, k->shared_bytes);
  LLVMBuildStore(b, frame, thread_address(p, b, thread, THREAD_FRAME, 0));
  LLVMBuildStore(b, worker, thread_address(p, b, thread, THREAD_WORKER, 0));
  LLVMBuildStore(b, memory, thread_address(p, b, thread, THREAD_SHARED, 0));
  LLVMValueRef dynamic = LLVMBuildInBoundsGEP2(b, p->i8, memory, &dynamic_offset, 1, "");
  LLVMBuildStore(b, dynamic, thread_address(p, b, thread, THREAD_DYNAMIC, 0));
  return thread;
}

/* Marks the thread records that workitem_loops.c passes to functions: pointers that are loaded from them are
   trusted. */
unsigned thread_mark(const program *p) { return LLVMGetMDKindIDInContext(p->context, "mw.thread", 9); }

void mark_thread(program *p, LLVMValueRef place) {
  LLVMSetMetadata(place, thread_mark(p), LLVMMetadataAsValue(p->context, LLVMMDNodeInContext2(p->context, NULL, 0)));
}
