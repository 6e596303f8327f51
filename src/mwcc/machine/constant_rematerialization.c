/* Constants of vectors that are more than there are registers for.
 *
 * LLVM moves each constant out of the loops that use it, as far as registers go by its own estimate, which is high: what
 * does not fit goes to the stack, with much else that would have fitted. An instruction takes one constant from memory as
 * fast as from a register. So where they cannot all be in registers, none is moved: mathematical functions' coefficients
 * stay where they are used, and kernels with many are a tenth faster. That is decided for a whole process: for code of one
 * kernel, whose functions these are. */
#include "mwcc/mwcc.h"
#include "mwcc/target/tuning.h"
#include "machine.h"

#include <llvm-c/Support.h>
#include <llvm/Config/llvm-config.h>

#include <stdlib.h>
#include <string.h>

/* Of constants, and of the vectors of a gang: registers of AVX-512, and the few more for which moving still pays. */
enum { MOST = TUNE_VECTOR_CONSTANTS };

/* Lists each once, up to one more than may be moved. */
static size_t add_constants(LLVMValueRef function, LLVMValueRef *found, size_t count) {
  instructions all = instructions_of_function(function);
  for (size_t n = 0; n < all.count; n++)
    for (int o = 0; o < LLVMGetNumOperands(all.items[n]) && count <= MOST; o++) {
      LLVMValueRef value = LLVMGetOperand(all.items[n], (unsigned)o);
      if (!LLVMIsAConstantDataVector(value)) continue;
      size_t i = 0;
      while (i < count && found[i] != value) i++;
      if (i == count) found[count++] = value;
    }
  free(all.items);
  return count;
}

void leave_constants(program *p) {
  static const char *const words[] = {"mwcc", "-disable-machine-licm"}; /* as LLVM 19 calls it */
  LLVMValueRef found[MOST + 1];
  if (LLVM_VERSION_MAJOR != 19 || !p->options->launch_kernel || !strstr(p->features, "+avx512f")) return;
  const variant *v = &p->kernels[0].variants[0];
  if (add_constants(v->function, found, 0) + (size_t)v->cut.vectors > MOST)
    LLVMParseCommandLineOptions((int)MW_COUNT(words), words, "");
}
