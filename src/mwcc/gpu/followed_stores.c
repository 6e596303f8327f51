/* Checked runs on a GPU: memory that inline PTX writes in other forms than a single access (memory_accesses.c) counts
 * as written: a matrix of wmma.store, from its first element to its last; of other stores it is not known where they
 * go, and from then on everything does. */
#include "follower.h"
#include "device/moonwarp/checked_run/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* wmma.store.d.sync.aligned.LAYOUT.mMnNkK[.SPACE].TYPE [$A], {…}, $B: the last two operands are address and
   stride. */
static bool follow_matrix(follower *f, LLVMValueRef i, const char *text) {
  static const char word[] = "wmma.store.d.sync.aligned.";
  program *p = f->p;
  unsigned m, n, k, count = LLVMGetNumArgOperands(i);
  const char *at = strstr(text, word);
  if (!at || strchr(text, ';') != strrchr(text, ';') || count < 2) return false;
  bool by_rows = starts_with(at += sizeof word - 1, "row.");
  if (sscanf(at, by_rows ? "row.m%un%uk%u" : "col.m%un%uk%u", &m, &n, &k) != 3) return false;
  unsigned outer = by_rows ? m : n, inner = by_rows ? n : m;
  unsigned size = strstr(at, "f16 ") ? 2 : strstr(at, "f64 ") ? 8 : 4;
  LLVMValueRef address = LLVMGetOperand(i, count - 2), stride = LLVMGetOperand(i, count - 1);
  if (LLVMGetTypeKind(LLVMTypeOf(address)) != LLVMPointerTypeKind || LLVMTypeOf(stride) != p->i32) return false;
  LLVMPositionBuilderBefore(f->b, LLVMGetNextInstruction(i));
  LLVMValueRef rows = LLVMBuildMul(f->b, LLVMBuildZExt(f->b, stride, p->i64, ""), constant_i64(p, outer - 1), "");
  LLVMValueRef elements = LLVMBuildAdd(f->b, rows, constant_i64(p, inner), "");
  LLVMValueRef arguments[] = {generic_pointer(f, address), LLVMBuildMul(f->b, elements, constant_i64(p, size), ""),
                              LLVMConstNull(p->pointer)};
  follow_call_guard(f, "__mw_guard_shadow_put", arguments, MW_COUNT(arguments));
  return true;
}

void follow_stores(follower *f, LLVMValueRef i, const char *text) {
  static const char *const starts[] = {"st.", "stmatrix.", "wmma.store.", "multimem.st."};
  if (!(f->uses & MW_FOLLOW_INITIALISATION) || follow_matrix(f, i, text)) return;
  for (size_t k = 0; k < MW_COUNT(starts); k++) {
    if (!has_ptx_instruction(text, starts[k])) continue;
    LLVMPositionBuilderBefore(f->b, i);
    follow_call_guard(f, "__mw_guard_shadow_unknown", NULL, 0);
    return;
  }
}
