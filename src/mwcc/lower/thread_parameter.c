/* The hidden parameter of device functions, which identifies their thread: see thread_context.c. */
#include "lower.h"

#include <stdlib.h>
#include <string.h>

LLVMValueRef give_parameter(program *p, LLVMValueRef old) {
  size_t length;
  char *name = mw_strdup(LLVMGetValueName2(old, &length));
  LLVMValueRef made = LLVMAddFunction(p->module, "", with_thread(p, LLVMGlobalGetValueType(old)));
  copy_attributes(old, made, false);
  LLVMSetLinkage(made, LLVMInternalLinkage);
  LLVMMetadataRef subprogram = LLVMGetSubprogram(old);
  LLVMSetSubprogram(old, NULL);
  LLVMSetSubprogram(made, subprogram);
  LLVMSetValueName2(LLVMGetParam(made, 0), "thread", 6);
  for (unsigned i = 0; i < LLVMCountParams(old); i++) {
    LLVMValueRef from = LLVMGetParam(old, i), to = LLVMGetParam(made, i + 1);
    const char *param_name = LLVMGetValueName2(from, &length);
    LLVMSetValueName2(to, param_name, length);
    LLVMReplaceAllUsesWith(from, to);
  }
  for (LLVMBasicBlockRef next, block = LLVMGetFirstBasicBlock(old); block; block = next) {
    next = LLVMGetNextBasicBlock(block);
    LLVMRemoveBasicBlockFromParent(block);
    LLVMAppendExistingBasicBlock(made, block);
  }
  LLVMReplaceAllUsesWith(old, made);
  LLVMDeleteFunction(old);
  LLVMSetValueName2(made, name, strlen(name));
  free(name);
  return made;
}

void pass_parameter(program *p, LLVMBuilderRef b, LLVMValueRef call, LLVMValueRef thread) {
  LLVMTypeRef type = with_thread(p, LLVMGetCalledFunctionType(call));
  unsigned count = LLVMGetNumArgOperands(call);
  LLVMValueRef *arguments = mw_alloc((count + 1) * sizeof *arguments);
  arguments[0] = thread;
  for (unsigned i = 0; i < count; i++) arguments[i + 1] = LLVMGetOperand(call, i);
  LLVMPositionBuilderBefore(b, call);
  LLVMValueRef made = LLVMBuildCall2(b, type, LLVMGetCalledValue(call), arguments, count + 1, "");
  copy_attributes(call, made, true);
  LLVMReplaceAllUsesWith(call, made);
  LLVMInstructionEraseFromParent(call);
  free(arguments);
}
