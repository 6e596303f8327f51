/* Barriers of checked runs on a GPU that are not __syncthreads, in inline PTX: mbarrier, and bar.sync with a number. */
#include "follower.h"
#include "instrument.h"
#include "device/moonwarp/checked_run/layout.h"
#include "mwcc/support/predicates.h"

#include <stdlib.h>
#include <string.h>

void follow_word(follower *f, LLVMValueRef i, bool arrives, unsigned flags) {
  enum { SHARED = 3, BYTES = 8 };
  if (!LLVMGetNumArgOperands(i) || LLVMTypeOf(LLVMGetOperand(i, 0)) != f->p->i32) return;
  LLVMPositionBuilderBefore(f->b, i);
  LLVMValueRef offset = LLVMGetOperand(i, 0);
  LLVMTypeRef type = LLVMPointerTypeInContext(f->p->context, SHARED);
  LLVMValueRef address = generic_pointer(f, LLVMBuildIntToPtr(f->b, offset, type, ""));
  if (f->uses & (MW_FOLLOW_RACES | MW_FOLLOW_INITIALISATION))
    follow_call_guard(f, "__mw_guard_follow",
                      (LLVMValueRef[]){address, constant_i64(f->p, BYTES), address, follow_site(f, i, NULL, BYTES),
                                       constant_i32(f->p, flags)},
                      5);
  if (!(flags & MW_FOLLOW_ATOMIC) || !follows_order(f)) return;
  f->uses |= MW_FOLLOW_ARRIVALS;
  if (!arrives) position_after(f, i);
  bool is_tested = !arrives && LLVMTypeOf(i) == f->p->i32;
  LLVMValueRef is_past = is_tested ? i : constant_i32(f->p, 1);
  follow_call_guard(f, "__mw_guard_follow_word",
                    (LLVMValueRef[]){offset, constant_i32(f->p, arrives), is_past, follow_site(f, i, NULL, 0)}, 4);
}

LLVMValueRef number_operand(follower *f, LLVMValueRef i, const char **text) {
  const char *at = *text + strspn(*text, " \t,");
  bool is_given = *at == '$';
  char *stop;
  unsigned long number = strtoul(at + is_given, &stop, 10);
  if (stop == at + is_given) return NULL;
  *text = stop + strspn(stop, " \t");
  if (!is_given) return constant_i32(f->p, number);
  if (number >= LLVMGetNumArgOperands(i)) return NULL;
  LLVMValueRef value = LLVMGetOperand(i, (unsigned)number);
  return LLVMTypeOf(value) == f->p->i32 ? value : NULL;
}

void follow_named(follower *f, LLVMValueRef i, const char *text) {
  static const char *const words[] = {"bar.", "barrier.", "cta.", "sync", "arrive", ".aligned"};
  enum { SYNC = 3, ARRIVE = 4 };
  if (!follows_order(f)) return;
  bool has[MW_COUNT(words)];
  const char *at = text + strspn(text, " \t\n");
  for (size_t k = 0; k < MW_COUNT(words); k++)
    if ((has[k] = starts_with(at, words[k]))) at += strlen(words[k]);
  bool is_read = has[SYNC] != has[ARRIVE] && LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMVoidTypeKind;
  LLVMValueRef number = is_read ? number_operand(f, i, &at) : NULL, all = constant_i32(f->p, 0);
  LLVMValueRef count = number && *at == ',' ? number_operand(f, i, &at) : all;
  LLVMPositionBuilderBefore(f->b, i);
  if (!number || !count || strspn(at, "; \t\n") != strlen(at)) {
    follow_unknown(f, i, MW_FOLLOW_NAMED);
  } else if (number == all && count == all && has[SYNC]) {
    follow_barrier(f, i);
  } else {
    LLVMValueRef arguments[] = {number, count, constant_i32(f->p, has[SYNC]), follow_site(f, i, NULL, 0)};
    f->uses |= MW_FOLLOW_ARRIVALS;
    follow_call_guard(f, "__mw_guard_follow_named", arguments, MW_COUNT(arguments));
    LLVMInstructionEraseFromParent(i);
  }
}
