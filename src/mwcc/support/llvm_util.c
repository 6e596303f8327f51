/* Small helpers over LLVM's C interface, for all passes. */
#include "mwcc/mwcc.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <stdlib.h>
#include <string.h>

const char *callee_name(LLVMValueRef call) {
  LLVMValueRef callee = LLVMGetCalledValue(call);
  size_t length;
  return callee && LLVMIsAFunction(callee) ? LLVMGetValueName2(callee, &length) : "";
}

LLVMValueRef constant_i32(program *p, unsigned value) { return LLVMConstInt(p->i32, value, 0); }
LLVMValueRef constant_i64(program *p, uint64_t value) { return LLVMConstInt(p->i64, value, 0); }

LLVMValueRef intrinsic(program *p, const char *name, LLVMTypeRef *overloads, unsigned count) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  if (!id) die("this LLVM has no intrinsic called %s", name);
  return LLVMGetIntrinsicDeclaration(p->module, id, overloads, count);
}

LLVMValueRef call_intrinsic(program *p, LLVMBuilderRef b, const char *name, LLVMTypeRef *overloads,
                            unsigned overload_count, LLVMValueRef *arguments, unsigned count) {
  LLVMValueRef function = intrinsic(p, name, overloads, overload_count);
  return LLVMBuildCall2(b, LLVMGlobalGetValueType(function), function, arguments, count, "");
}

LLVMValueRef build_likely(program *p, LLVMBuilderRef b, LLVMValueRef condition, LLVMBasicBlockRef likely,
                          LLVMBasicBlockRef other) {
  enum { TIMES = 64 };
  LLVMMetadataRef weights[] = {LLVMMDStringInContext2(p->context, "branch_weights", 14),
                               LLVMValueAsMetadata(constant_i32(p, TIMES)), LLVMValueAsMetadata(constant_i32(p, 1))};
  LLVMValueRef branch = LLVMBuildCondBr(b, condition, likely, other);
  LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(p->context, "prof", 4),
                  LLVMMetadataAsValue(p->context, LLVMMDNodeInContext2(p->context, weights, MW_COUNT(weights))));
  return branch;
}

static unsigned attribute_kind(const char *name) { return LLVMGetEnumAttributeKindForName(name, strlen(name)); }

void add_attribute(program *p, LLVMValueRef function, const char *name) {
  LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                          LLVMCreateEnumAttribute(p->context, attribute_kind(name), 0));
}

void remove_attribute(LLVMValueRef function, const char *name) {
  LLVMRemoveEnumAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attribute_kind(name));
}

void add_text_attribute(program *p, LLVMValueRef function, const char *name, const char *value) {
  LLVMAddAttributeAtIndex(
      function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
      LLVMCreateStringAttribute(p->context, name, (unsigned)strlen(name), value, (unsigned)strlen(value)));
}

void prefer_widest(program *p, LLVMValueRef function) { add_text_attribute(p, function, "prefer-vector-width", "512"); }

/* ---- kinds of instructions ---- */

bool is_launch_id(LLVMValueRef call) {
  static const char prefix[] = "llvm.nvvm.read.ptx.sreg.";
  const char *name = LLVMIsACallInst(call) ? callee_name(call) : "";
  if (!starts_with(name, prefix)) return false;
  name += sizeof prefix - 1;
  return starts_with(name, "tid.") || starts_with(name, "ctaid.") || starts_with(name, "ntid.") ||
         starts_with(name, "nctaid.");
}

bool is_integer_operation(LLVMValueRef value) {
  switch (LLVMGetInstructionOpcode(value)) {
  case LLVMAdd:
  case LLVMSub:
  case LLVMMul:
  case LLVMShl:
  case LLVMLShr:
  case LLVMAShr:
  case LLVMAnd:
  case LLVMOr:
  case LLVMXor:
  case LLVMSExt:
  case LLVMZExt:
  case LLVMTrunc: return true;
  default: return false;
  }
}

/* ---- what calls do to memory ---- */

bool memory_fact(LLVMValueRef call, uint64_t *bits) {
  const LLVMAttributeIndex whole = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
  LLVMValueRef callee = LLVMGetCalledValue(call);
  LLVMAttributeRef fact = NULL;
  if (LLVMIsAFunction(callee)) fact = LLVMGetEnumAttributeAtIndex(callee, whole, attribute_kind("memory"));
  if (!fact) fact = LLVMGetCallSiteEnumAttribute(call, whole, attribute_kind("memory"));
  if (fact) *bits = LLVMGetEnumAttributeValue(fact);
  return fact != NULL;
}

/* The bits of the memory attribute that mean "may write". Their layout differs between releases of LLVM (21 inserted
   errno before "all other"), so they are found by letting LLVM parse the attribute's text. */
static uint64_t write_bits(program *p) {
  static const char text[] = "declare void @writes() memory(write)";
  if (p->write_bits) return p->write_bits;
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, sizeof text - 1, "effects");
  LLVMModuleRef module = NULL;
  char *message = NULL;
  if (LLVMParseIRInContext(p->context, buffer, &module, &message))
    die("this LLVM does not parse the attribute memory(write): %s", message);
  LLVMAttributeRef fact = LLVMGetEnumAttributeAtIndex(
      LLVMGetFirstFunction(module), (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attribute_kind("memory"));
  p->write_bits = fact ? LLVMGetEnumAttributeValue(fact) : UINT64_MAX;
  LLVMDisposeModule(module);
  return p->write_bits;
}

bool writes_no_memory(program *p, LLVMValueRef call) {
  uint64_t bits;
  return memory_fact(call, &bits) && !(bits & write_bits(p));
}

void run_passes(program *p, const char *passes) {
  LLVMPassBuilderOptionsRef settings = LLVMCreatePassBuilderOptions();
  LLVMPassBuilderOptionsSetVerifyEach(settings, p->options->verify);
  LLVMErrorRef error = LLVMRunPasses(p->module, passes, p->machine, settings);
  if (error) die("the pass list '%s' failed: %s", passes, LLVMGetErrorMessage(error));
  LLVMDisposePassBuilderOptions(settings);
}

void verify_module(program *p, const char *stage) {
  char *message = NULL;
  if (!p->options->verify) return;
  if (LLVMVerifyModule(p->module, LLVMReturnStatusAction, &message))
    die("after %s the module is broken: %s", stage, message);
  LLVMDisposeMessage(message);
}

instructions instructions_of_function(LLVMValueRef function) {
  instructions list = {0};
  size_t capacity = 0;
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block))
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
      if (list.count == capacity)
        list.items = mw_realloc(list.items, (capacity = capacity * 2 + 64) * sizeof *list.items);
      list.items[list.count++] = i;
    }
  return list;
}

LLVMBasicBlockRef split_block(program *p, LLVMValueRef before) {
  LLVMBasicBlockRef rest = LLVMGetInstructionParent(before);
  LLVMBasicBlockRef head = LLVMInsertBasicBlockInContext(p->context, rest, "head");
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  for (LLVMValueRef next, i = LLVMGetFirstInstruction(rest); i != before; i = next) {
    next = LLVMGetNextInstruction(i);
    LLVMInstructionRemoveFromParent(i);
    LLVMPositionBuilderAtEnd(b, head);
    LLVMInsertIntoBuilder(b, i);
  }
  LLVMDisposeBuilder(b);
  /* Branches to the block now enter the head. Phis of its successors stay valid: the old block keeps the terminator. */
  for (LLVMBasicBlockRef from = LLVMGetFirstBasicBlock(LLVMGetBasicBlockParent(rest)); from;
       from = LLVMGetNextBasicBlock(from)) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(from);
    for (unsigned n = 0; end && n < LLVMGetNumSuccessors(end); n++)
      if (LLVMGetSuccessor(end, n) == rest) LLVMSetSuccessor(end, n, head);
  }
  return head;
}

void make_types(program *p) {
  p->context = LLVMContextCreate();
  p->void_type = LLVMVoidTypeInContext(p->context);
  p->i1 = LLVMInt1TypeInContext(p->context);
  p->i8 = LLVMInt8TypeInContext(p->context);
  p->i32 = LLVMInt32TypeInContext(p->context);
  p->i64 = LLVMInt64TypeInContext(p->context);
  p->pointer = LLVMPointerTypeInContext(p->context, 0);
}

bool is_lane_type(LLVMTypeRef type) {
  switch (LLVMGetTypeKind(type)) {
  case LLVMIntegerTypeKind: return LLVMGetIntTypeWidth(type) <= 64;
  case LLVMFloatTypeKind:
  case LLVMDoubleTypeKind:
  case LLVMHalfTypeKind:
  case LLVMPointerTypeKind: return true;
  default: return false;
  }
}

void add_call_attribute(const program *p, LLVMValueRef call, const char *name) {
  LLVMAttributeRef attribute =
      LLVMCreateEnumAttribute(p->context, LLVMGetEnumAttributeKindForName(name, strlen(name)), 0);
  LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attribute);
}
