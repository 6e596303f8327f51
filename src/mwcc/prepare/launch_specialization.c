/* Code for one kernel launched with blocks of one size (mwcc --launch=KERNEL:64x1x1).
 *
 * The runtime asks for it when such launches have come often enough (src/core/module/specialize.c). The size of the
 * block is a constant then, so that loops over it unroll and ids have narrow ranges, and the block is cut into gangs
 * as its size and the kernel's code make it pay. The image has this kernel alone, as SIMD lanes alone: launches that
 * the shapes do not hold for (mw_mwo_kernel's `fits`) are run by the image that holds the whole module. */
#include "mwcc/analysis/simt.h"
#include "prepare.h"

#include <stdlib.h>
#include <string.h>

/* Of functions that differ in attributes that the code depends on LLVM makes one description of the processor each,
   for a twentieth of the instructions that a small kernel takes. All code that will be there prefers the widest
   vectors: so may all else. */
static void make_alike(program *p) {
  EACH_FUNCTION(p, f) {
    if (!LLVMIsDeclaration(f)) prefer_widest(p, f);
  }
}

void keep_launched(program *p) {
  if (!p->options->launch_kernel) return;
  make_alike(p);
  size_t at = 0;
  while (at < p->kernel_count && strcmp(p->kernels[at].linkage, p->options->launch_kernel) != 0) at++;
  if (at == p->kernel_count) die("there is no kernel '%s' to be launched", p->options->launch_kernel);
  p->kernels[0] = p->kernels[at];
  p->kernel_count = 1;
}

/* What threads read of the register is that number. */
static void fix_register(program *p, const char *what, int axis, unsigned number) {
  char *name = mw_format("llvm.nvvm.read.ptx.sreg.%s.%c", what, 'x' + axis);
  LLVMValueRef f = LLVMGetNamedFunction(p->module, name);
  free(name);
  for (LLVMUseRef next, use = f ? LLVMGetFirstUse(f) : NULL; use; use = next) {
    LLVMValueRef call = LLVMGetUser(use);
    next = LLVMGetNextUse(use);
    LLVMReplaceAllUsesWith(call, constant_i32(p, number));
    LLVMInstructionEraseFromParent(call);
  }
}

void fix_block(program *p) {
  const options *o = p->options;
  p->merged = 1;
  memcpy(p->block, o->launch_block, sizeof p->block);
  for (int axis = 0; axis < 3 && o->launch_kernel; axis++) {
    fix_register(p, "ntid", axis, o->launch_block[axis]);
    if (!o->launch_one) continue;
    fix_register(p, "nctaid", axis, 1);
    fix_register(p, "ctaid", axis, 0);
  }
}

void drop_scalar_code(program *p) {
  kernel *k = &p->kernels[0];
  if (!p->options->launch_kernel || !k->variant_count || LLVMGetFirstUse(k->body)) return;
  LLVMDeleteFunction(k->body);
  k->body = NULL;
}
