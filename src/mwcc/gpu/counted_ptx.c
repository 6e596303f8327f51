/* Accesses of inline PTX that measured runs count and LLVM knows nothing of: texture and surface instructions,
 * asynchronous copies to shared memory (cp.async), and barriers in shared memory that count arrivals (mbarrier), of which
 * each operation is the access to its word that the CPU device makes. */
#include "gpu.h"
#include "mwcc/support/predicates.h"

#include <stdlib.h>
#include <string.h>

/* The number of outputs, which precede the operands. */
static unsigned count_outputs(LLVMValueRef call) {
  size_t length;
  unsigned count = 0;
  const char *at = LLVMGetInlineAsmConstraintString(LLVMGetCalledValue(call), &length);
  for (; *at; at += strcspn(at, ","), at += *at == ',') count += *at == '=';
  return count;
}

/* "$2": its value, and `*text` is after it; NULL: it is something else. */
static LLVMValueRef operand_at(LLVMValueRef call, const char **text) {
  char *stop;
  if (**text != '$') return NULL;
  unsigned long number = strtoul(*text + 1, &stop, 10), outputs = count_outputs(call);
  bool is_there = stop != *text + 1 && number >= outputs && number - outputs < LLVMGetNumArgOperands(call);
  *text = stop;
  return is_there ? LLVMGetOperand(call, (unsigned)(number - outputs)) : NULL;
}

/* "[$2]", an address of that space as a number or a pointer. */
static LLVMValueRef address_at(program *p, LLVMBuilderRef b, LLVMValueRef call, const char **text, unsigned space) {
  *text += strcspn(*text, "[;");
  if (**text != '[') return NULL;
  (*text)++;
  LLVMValueRef value = operand_at(call, text);
  if (!value || **text != ']') return NULL;
  (*text)++;
  LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(value));
  if (kind == LLVMPointerTypeKind) return value;
  if (kind != LLVMIntegerTypeKind) return NULL;
  return LLVMBuildIntToPtr(b, value, LLVMPointerTypeInContext(p->context, space), "");
}

/* "16" or "$2"; 0: it is not a constant. */
static uint64_t constant_at(LLVMValueRef call, const char **text) {
  *text += strspn(*text, ", \t");
  if (**text != '$') return strtoull(*text, (char **)text, 10);
  LLVMValueRef value = operand_at(call, text);
  return value && LLVMIsAConstantInt(value) ? LLVMConstIntGetZExtValue(value) : 0;
}

enum { GLOBAL = 1, SHARED = 3 };

/* cp.async.ca.shared.global [TO], [FROM], BYTES. With a size of the source it is not known how much is read. */
static int find_copy(program *p, LLVMBuilderRef b, LLVMValueRef call, const char *text, counted_access out[2]) {
  LLVMValueRef to = address_at(p, b, call, &text, SHARED), from = to ? address_at(p, b, call, &text, GLOBAL) : NULL;
  uint64_t bytes = from ? constant_at(call, &text) : 0;
  if (!bytes || *(text + strspn(text, " \t")) == ',') return 0;
  out[0] = (counted_access){MW_SITE_LOAD, from, bytes};
  out[1] = (counted_access){MW_SITE_STORE, to, bytes};
  return 2;
}

static int find_barrier(program *p, LLVMBuilderRef b, LLVMValueRef call, const char *text, counted_access *out) {
  static const struct {
    const char *start;
    mw_site_kind kind;
  } kinds[] = {{"mbarrier.init", MW_SITE_STORE},
               {"mbarrier.arrive", MW_SITE_ATOMIC},
               {"mbarrier.test_wait", MW_SITE_LOAD},
               {"mbarrier.try_wait", MW_SITE_LOAD}};
  enum { BYTES = 8 };
  for (size_t n = 0; n < MW_COUNT(kinds); n++) {
    const char *at = strstr(text, kinds[n].start);
    LLVMValueRef address = at && !strstr(at, "shared::cluster") ? address_at(p, b, call, &at, SHARED) : NULL;
    if (!address) continue;
    *out = (counted_access){kinds[n].kind, address, BYTES};
    return 1;
  }
  return 0;
}

int find_counted_ptx(program *p, LLVMBuilderRef b, LLVMValueRef call, counted_access out[2]) {
  size_t length;
  if (!LLVMIsAInlineAsm(LLVMGetCalledValue(call))) return 0;
  const char *text = LLVMGetInlineAsmAsmString(LLVMGetCalledValue(call), &length);
  text += strspn(text, " \t\n{");
  if (starts_with(text, "tex.") || starts_with(text, "tld4.") || starts_with(text, "suld.")) {
    out[0] = (counted_access){.kind = MW_SITE_LOAD};
    return 1;
  }
  if (starts_with(text, "sust.") || starts_with(text, "sured.")) {
    out[0] = (counted_access){.kind = MW_SITE_STORE};
    return 1;
  }
  if (starts_with(text, "cp.async.ca.shared") || starts_with(text, "cp.async.cg.shared"))
    return find_copy(p, b, call, text, out);
  return find_barrier(p, b, call, text, out);
}
