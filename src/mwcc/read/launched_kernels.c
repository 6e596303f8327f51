/* Kernels that device code launches.
 *
 * Before: __mw_device_runtime receives kernels' addresses (device_runtime.h). After: it receives their numbers in the
 * module's table, plus 1, since a kernel's own function is not what the runtime runs, and may be deleted. */
#include "mwcc/mwcc.h"
#include "read.h"

void number_launched_kernels(program *p) {
  LLVMValueRef runtime = LLVMGetNamedFunction(p->module, DEVICE_RUNTIME);
  p->launches = runtime && LLVMGetFirstUse(runtime);
  if (!p->launches) return;
  for (size_t i = 0; i < p->kernel_count; i++)
    LLVMReplaceAllUsesWith(p->kernels[i].body, LLVMConstIntToPtr(constant_i64(p, i + 1), p->pointer));
}
