/* Finds the memory accesses of GPU code, with address and size: LLVM's instructions, NVVM intrinsics, and inline
 * PTX. */
#include "gpu.h"
#include "mwcc/read/read.h"
#include "mwcc/support/predicates.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static gpu_access access_of(program *p, LLVMValueRef address, LLVMTypeRef type, unsigned alignment, bool is_store) {
  return (gpu_access){address, constant_i64(p, LLVMStoreSizeOfType(p->layout, type)), alignment, is_store};
}

static int one_of_type(program *p, gpu_access *out, LLVMValueRef i, unsigned operand, LLVMTypeRef type, bool is_store) {
  unsigned alignment = LLVMIsACallInst(i) ? (unsigned)LLVMABIAlignmentOfType(p->layout, type) : LLVMGetAlignment(i);
  *out = access_of(p, LLVMGetOperand(i, operand), type, alignment, is_store);
  return 1;
}

/* ---- inline PTX ---- */

/* The opcode of an inline instruction, as "ld.global.nc.v4.u32" in "ld.global.nc.v4.u32 {$0, $1}, [$4];". */
typedef struct ptx_word {
  const char *at;
  size_t length, bytes;
  bool is_store;
} ptx_word;

static bool has_part(const ptx_word *w, const char *part) {
  const char *found = memmem(w->at, w->length, part, strlen(part));
  return found && !isalnum((unsigned char)found[strlen(part)]);
}

/* Whether it accesses memory that is, or may be, global. */
static bool is_access(ptx_word *w) {
  static const struct {
    const char *start;
    bool is_store;
  } kinds[] = {{"ld.", false}, {"ldu.", false}, {"st.", true}, {"atom.", true}, {"red.", true}};
  for (size_t i = 0; i < MW_COUNT(kinds); i++) {
    if (strncmp(w->at, kinds[i].start, strlen(kinds[i].start)) != 0) continue;
    w->is_store = kinds[i].is_store;
    return !has_part(w, ".shared") && !has_part(w, ".local") && !has_part(w, ".const") && !has_part(w, ".param") &&
           !memmem(w->at, w->length, "shared::", 8);
  }
  return false;
}

/* The size of the access, from the type (".u32", ".f16x2") and the vector length (".v4"). */
static size_t bytes_of(const ptx_word *w) {
  size_t start = w->length;
  while (start > 0 && w->at[start - 1] != '.') start--;
  unsigned long bits = strtoul(w->at + start + (isalpha((unsigned char)w->at[start]) ? 1 : 0), NULL, 10);
  if (strncmp(w->at + start, "bf", 2) == 0) bits = 16;
  if (memmem(w->at + start, w->length - start, "x2", 2)) bits *= 2;
  return bits / 8 * (has_part(w, ".v2") ? 2 : has_part(w, ".v4") ? 4 : has_part(w, ".v8") ? 8 : 1);
}

/* The number of output constraints, which precede those of the operands. */
static unsigned count_outputs(const char *constraints) {
  unsigned count = 0;
  for (const char *at = constraints; *at; at += strcspn(at, ","), at += *at == ',') count += *at == '=';
  return count;
}

/* Only statements that start with an access are recognised; predicated and later instructions are not checked. */
static int find_inline(program *p, LLVMValueRef call, gpu_access *out) {
  LLVMValueRef code = LLVMGetCalledValue(call);
  size_t text_length, constraint_length;
  const char *text = LLVMGetInlineAsmAsmString(code, &text_length);
  const char *constraints = LLVMGetInlineAsmConstraintString(code, &constraint_length);
  ptx_word word = {.at = text + strspn(text, " \t\n{")};
  word.length = strcspn(word.at, " \t");
  if (!is_access(&word) || (word.bytes = bytes_of(&word)) == 0) return 0;
  const char *bracket = strstr(word.at, "[$");
  if (!bracket || !isdigit((unsigned char)bracket[2])) return 0;
  char *end;
  unsigned long number = strtoul(bracket + 2, &end, 10);
  unsigned outputs = count_outputs(constraints);
  if (*end != ']' || number < outputs || number - outputs >= LLVMGetNumArgOperands(call)) return 0;
  LLVMValueRef address = LLVMGetOperand(call, (unsigned)number - outputs);
  if (LLVMGetTypeKind(LLVMTypeOf(address)) != LLVMPointerTypeKind) return 0;
  *out = (gpu_access){address, constant_i64(p, word.bytes), (unsigned)word.bytes, word.is_store};
  return 1;
}

/* ---- calls ---- */

/* Of a pointer among a call's arguments. */
static unsigned alignment_of(LLVMValueRef call, unsigned argument) {
  unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
  LLVMAttributeRef found = LLVMGetCallSiteEnumAttribute(call, argument + 1, kind);
  return found ? (unsigned)LLVMGetEnumAttributeValue(found) : 1;
}

static int find_in_call(program *p, LLVMValueRef call, gpu_access out[2]) {
  const char *name = callee_name(call);
  bool copies = starts_with(name, "llvm.memcpy.") || starts_with(name, "llvm.memmove.");
  if (LLVMIsAInlineAsm(LLVMGetCalledValue(call))) return find_inline(p, call, out);
  if (copies || starts_with(name, "llvm.memset.")) {
    LLVMValueRef bytes = LLVMGetOperand(call, 2);
    out[0] = (gpu_access){LLVMGetOperand(call, 0), bytes, alignment_of(call, 0), true};
    if (copies) out[1] = (gpu_access){LLVMGetOperand(call, 1), bytes, alignment_of(call, 1), false};
    return copies ? 2 : 1;
  }
  if (starts_with(name, "llvm.nvvm.ldg.") || starts_with(name, "llvm.nvvm.ldu."))
    return one_of_type(p, out, call, 0, LLVMTypeOf(call), false);
  if (starts_with(name, "llvm.nvvm.atomic.")) return one_of_type(p, out, call, 0, LLVMTypeOf(call), true);
  return 0;
}

int find_gpu_accesses(program *p, LLVMValueRef i, gpu_access out[2]) {
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMLoad:
    return is_reference(p, root_of(LLVMGetOperand(i, 0))) ? 0 : one_of_type(p, out, i, 0, LLVMTypeOf(i), false);
  case LLVMStore: return one_of_type(p, out, i, 1, LLVMTypeOf(LLVMGetOperand(i, 0)), true);
  case LLVMAtomicRMW: return one_of_type(p, out, i, 0, LLVMTypeOf(i), true);
  case LLVMAtomicCmpXchg: return one_of_type(p, out, i, 0, LLVMTypeOf(LLVMGetOperand(i, 1)), true);
  case LLVMCall: return find_in_call(p, i, out);
  default: return 0;
  }
}
