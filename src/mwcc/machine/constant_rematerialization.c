/* Rematerialisation of vector constants: if they do not all fit into registers, they are used from memory in place.
 *
 * LLVM hoists constants out of loops (MachineLICM) while its estimate of register pressure allows it. The estimate is
 * too low for vector code, so that constants and other values are spilled. On x86-64 an instruction takes a constant
 * from memory as fast as from a register, so hoisting gains nothing then. This pass counts the vector constants and,
 * above the limit, disables hoisting by an option of LLVM. The option holds for the whole process, which is right for
 * code of a single kernel only. */
#include "mwcc/mwcc.h"
#include "mwcc/target/tuning.h"
#include "machine.h"

#include <llvm-c/Support.h>
#include <llvm/Config/llvm-config.h>

#include <stdlib.h>
#include <string.h>

/* The limit for constants plus vectors of a gang. */
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

void rematerialise_constants(program *p) {
  static const char *const words[] = {"mwcc", "-disable-machine-licm"}; /* as LLVM 19 calls it */
  LLVMValueRef found[MOST + 1];
  if (LLVM_VERSION_MAJOR != 19 || !p->options->launch_kernel || !p->kernels[0].variant_count ||
      !strstr(p->features, "+avx512f"))
    return;
  const variant *v = &p->kernels[0].variants[0];
  if (add_constants(v->function, found, 0) + (size_t)v->cut.vectors > MOST)
    LLVMParseCommandLineOptions((int)MW_COUNT(words), words, "");
}
