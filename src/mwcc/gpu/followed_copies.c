/* Asynchronous copies of checked runs on a GPU in inline PTX: cp.async, its groups, and waits for them. */
#include "follower.h"
#include "device/moonwarp/checked_run/layout.h"
#include "mwcc/support/predicates.h"

#include <stdlib.h>
#include <string.h>

static void report(follower *f, unsigned what, LLVMValueRef value) {
  if (!(f->uses & MW_FOLLOW_RACES)) return;
  follow_call_guard(f, "__mw_guard_follow_event", (LLVMValueRef[]){constant_i32(f->p, what), value}, 2);
}

/* "[$1]": the address's operand, an integer of those bits or a pointer; NULL: it is something else. */
static LLVMValueRef address_operand(follower *f, LLVMValueRef i, const char **text, LLVMTypeRef pointer) {
  const char *at = *text + strspn(*text, " \t,");
  if (!starts_with(at, "[$")) return NULL;
  char *stop;
  unsigned long number = strtoul(at + 2, &stop, 10);
  if (*stop != ']' || number >= LLVMGetNumArgOperands(i)) return NULL;
  *text = stop + 1;
  LLVMValueRef value = LLVMGetOperand(i, (unsigned)number);
  if (LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMIntegerTypeKind) value = LLVMBuildIntToPtr(f->b, value, pointer, "");
  return LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMPointerTypeKind ? generic_pointer(f, value) : NULL;
}

static void follow_part(follower *f, LLVMValueRef i, LLVMValueRef address, LLVMValueRef bytes, unsigned flags) {
  uint64_t known = LLVMIsAConstantInt(bytes) ? LLVMConstIntGetZExtValue(bytes) : 1;
  LLVMValueRef arguments[] = {address, LLVMBuildZExt(f->b, bytes, f->p->i64, ""), address,
                              follow_site(f, i, NULL, known), constant_i32(f->p, flags | MW_FOLLOW_COPIES)};
  follow_call_guard(f, "__mw_guard_follow", arguments, MW_COUNT(arguments));
}

/* cp.async.ca.shared.global [TO], [FROM], BYTES; with a size of the source, what is read of it is not followed. */
static bool follow_copy(follower *f, LLVMValueRef i, const char *at) {
  enum { SHARED = 3 };
  at += strcspn(at, " \t");
  LLVMValueRef to = address_operand(f, i, &at, LLVMPointerTypeInContext(f->p->context, SHARED));
  LLVMValueRef from = to ? address_operand(f, i, &at, f->p->pointer) : NULL;
  LLVMValueRef bytes = from && *at == ',' ? number_operand(f, i, &at) : NULL;
  if (!bytes) return false;
  report(f, MW_FOLLOW_ASYNC, constant_i64(f->p, 1));
  follow_part(f, i, to, bytes, MW_FOLLOW_STORE);
  if (*at != ',') follow_part(f, i, from, bytes, 0);
  report(f, MW_FOLLOW_ASYNC, constant_i64(f->p, 0));
  return true;
}

bool follow_copies(follower *f, LLVMValueRef i, const char *text) {
  const char *at = text + strspn(text, " \t\n");
  const char *end = strchr(at, ';');
  if (end && strspn(end, "; \t\n") != strlen(end)) return false;
  if (!(f->uses & (MW_FOLLOW_RACES | MW_FOLLOW_INITIALISATION))) return true;
  LLVMPositionBuilderBefore(f->b, i);
  LLVMValueRef none = constant_i64(f->p, 0);
  if (starts_with(at, "cp.async.commit_group")) {
    report(f, MW_FOLLOW_COMMIT, none);
  } else if (starts_with(at, "cp.async.wait_all")) {
    position_after(f, i);
    report(f, MW_FOLLOW_COMMIT, none);
    report(f, MW_FOLLOW_COPIED, none);
  } else if (starts_with(at, "cp.async.wait_group")) {
    const char *rest = at + strlen("cp.async.wait_group");
    LLVMValueRef prior = number_operand(f, i, &rest);
    if (!prior) return false;
    position_after(f, i);
    report(f, MW_FOLLOW_COPIED, LLVMBuildZExt(f->b, prior, f->p->i64, ""));
  } else if (starts_with(at, "cp.async.ca.shared") || starts_with(at, "cp.async.cg.shared")) {
    return follow_copy(f, i, at);
  } else {
    return false;
  }
  return true;
}
