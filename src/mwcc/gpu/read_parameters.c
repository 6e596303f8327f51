/* Checked runs on a GPU: which arrays a kernel only reads. If no other parameter of a launch points to such an array,
 * its threads do not race for it, and their reads are not followed (cuda/check/session.c). */
#include "follower.h"
#include "instrument.h"
#include "mwcc/prepare/prepare.h"
#include "mwcc/support/predicates.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { BITS = 32 };

bool has_ptx_instruction(const char *text, const char *start) {
  for (const char *at = text; (at = strstr(at, start)); at++)
    if (at == text || (!isalnum((unsigned char)at[-1]) && !strchr("_.%$", at[-1]))) return true;
  return false;
}

static kernel *kernel_with(program *p, LLVMValueRef body) {
  for (size_t n = 0; n < p->kernel_count; n++)
    if (p->kernels[n].body == body) return &p->kernels[n];
  return NULL;
}

int follow_parameter(program *p, LLVMValueRef base) {
  const kernel *k = LLVMIsAArgument(base) ? kernel_with(p, LLVMGetParamParent(base)) : NULL;
  for (size_t i = 0; k && i < k->param_count && i < BITS; i++)
    if (LLVMGetParam(k->body, (unsigned)i) == base) return has_passed_extent(k, i) ? (int)i : -1;
  return -1;
}

/* Of a kernel, bits of the parameters that it may write to; of stores elsewhere nothing is known. */
static uint32_t written_by_access(program *p, const gpu_access *a) {
  enum { SHARED = 3 };
  accessed o;
  if (!a->is_store) return 0;
  LLVMValueRef base = find_accessed(p, a->address, &o) ? o.base : root_of(a->address);
  if (LLVMIsAAllocaInst(base) || LLVMGetPointerAddressSpace(LLVMTypeOf(base)) == SHARED) return 0;
  int parameter = follow_parameter(p, base);
  return parameter < 0 ? UINT32_MAX : 1u << parameter;
}

static uint32_t written_by(program *p, LLVMValueRef i) {
  static const char *const starts[] = {"st.", "stmatrix.", "wmma.store.", "multimem.", "red.", "atom.", "cp."};
  gpu_access accesses[2];
  int count = find_gpu_accesses(p, i, accesses);
  uint32_t written = 0;
  for (int n = 0; n < count; n++) written |= written_by_access(p, &accesses[n]);
  if (count || !LLVMIsACallInst(i) || !LLVMIsAInlineAsm(LLVMGetCalledValue(i))) return written;
  size_t length;
  const char *text = LLVMGetInlineAsmAsmString(LLVMGetCalledValue(i), &length);
  for (size_t k = 0; k < MW_COUNT(starts); k++)
    if (has_ptx_instruction(text, starts[k])) return UINT32_MAX;
  return written;
}

void find_read_parameters(program *p) {
  uint32_t by_functions = 0;
  EACH_FUNCTION(p, f) {
    if (LLVMIsDeclaration(f) || guard_is_ours(f)) continue;
    kernel *k = kernel_with(p, f);
    instructions list = instructions_of_function(f);
    uint32_t written = 0;
    for (size_t n = 0; n < list.count; n++) written |= written_by(p, list.items[n]);
    free(list.items);
    if (k)
      k->written_params = written;
    else if (written)
      by_functions = UINT32_MAX;
  }
  for (size_t n = 0; n < p->kernel_count; n++) p->kernels[n].written_params |= by_functions;
}
