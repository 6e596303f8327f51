/* Specialisation of one kernel for one block size (mwcc --launch=KERNEL:64x1x1).
 *
 * The runtime requests it after enough such launches (src/core/module/specialize.c). The block size is then a constant,
 * so that loops over it are unrolled and ids have narrow ranges, and the cost model cuts the block into gangs by its
 * size and the kernel's code. The image contains only this kernel, and only its SIMD variants. Launches for which the
 * shapes do not hold (mw_mwo_kernel's `fits`) run the image of the whole module. */
#include "mwcc/analysis/simt.h"
#include "prepare.h"

#include <stdlib.h>
#include <string.h>

/* LLVM makes a description of the processor for each set of function attributes that affect code generation, which
   takes 5 % of the time to compile a small kernel. The kernel's code will prefer the widest vectors; with the same
   attribute on all functions one description suffices. */
static void unify_attributes(program *p) {
  EACH_FUNCTION(p, f) {
    if (!LLVMIsDeclaration(f)) prefer_widest(p, f);
  }
}

void keep_launched(program *p) {
  if (!p->options->launch_kernel) return;
  unify_attributes(p);
  size_t at = 0;
  while (at < p->kernel_count && strcmp(p->kernels[at].linkage, p->options->launch_kernel) != 0) at++;
  if (at == p->kernel_count) die("there is no kernel '%s' to be launched", p->options->launch_kernel);
  p->kernels[0] = p->kernels[at];
  p->kernel_count = 1;
}

/* Replace reads of a special register by a constant. */
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
  p->merged = p->packed = 1;
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
