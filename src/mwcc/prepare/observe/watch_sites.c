/* The table of watched sites: what each one does, and where the source has it. See watch_markers.c, mw_site. */
#include "watch_sites.h"
#include "mwcc/analysis/analysis.h"
#include "mwcc/analysis/simt.h"
#include "mwcc/read/read.h"
#include "mwcc/support/predicates.h"

#include <llvm-c/DebugInfo.h>

#include <stdlib.h>
#include <string.h>

LLVMValueRef declare_marker(program *p, const char *name, LLVMTypeRef word, LLVMTypeRef *type) {
  LLVMTypeRef params[] = {p->i32, word};
  *type = LLVMFunctionType(p->void_type, params, 2, 0);
  LLVMValueRef function = LLVMGetNamedFunction(p->module, name);
  if (function) return function;
  function = LLVMAddFunction(p->module, name, *type);
  add_attribute(p, function, "convergent");
  add_attribute(p, function, "nounwind");
  return function;
}

static char *file_of(LLVMMetadataRef location) {
  unsigned length = 0;
  LLVMMetadataRef scope = LLVMDILocationGetScope(location), file = scope ? LLVMDIScopeGetFile(scope) : NULL;
  const char *name = file ? LLVMDIFileGetFilename(file, &length) : NULL;
  return name ? mw_format("%.*s", (int)length, name) : NULL;
}

/* The position, and that of the call into the kernel from which it was inlined. */
static void set_position(watched_site *s, LLVMValueRef at) {
  LLVMMetadataRef here = LLVMInstructionGetDebugLoc(at), outer = here;
  if (!here) return;
  while (LLVMDILocationGetInlinedAt(outer)) outer = LLVMDILocationGetInlinedAt(outer);
  s->of.line = LLVMDILocationGetLine(here);
  s->of.column = LLVMDILocationGetColumn(here);
  s->file = file_of(here);
  if (outer == here) return;
  s->of.outer_line = LLVMDILocationGetLine(outer);
  s->of.outer_column = LLVMDILocationGetColumn(outer);
  s->outer_file = file_of(outer);
}

static const char *readable_name(const program *p, LLVMValueRef function) {
  size_t length;
  for (size_t i = 0; i < p->kernel_count; i++)
    if (p->kernels[i].body == function) return p->kernels[i].name;
  return mw_strdup(LLVMGetValueName2(function, &length));
}

static size_t add(program *p, LLVMValueRef function, LLVMValueRef at, mw_site_kind kind) {
  enum { PIECE = 64 };
  if (p->site_count % PIECE == 0) p->sites = mw_realloc(p->sites, (p->site_count + PIECE) * sizeof *p->sites);
  watched_site *s = &p->sites[p->site_count];
  *s = (watched_site){.of.kind = kind, .of.issued = NO_SITE, .function = readable_name(p, function)};
  if (at) set_position(s, at);
  return p->site_count++;
}

/* ---- accesses ---- */

static uint32_t space_of(LLVMValueRef address) {
  switch (memory_of(address)) {
  case MEMORY_GLOBAL: return MW_SPACE_GLOBAL;
  case MEMORY_SHARED: return MW_SPACE_SHARED;
  case MEMORY_CONSTANT: return MW_SPACE_CONSTANT;
  case MEMORY_LOCAL: return MW_SPACE_LOCAL;
  default: return MW_SPACE_NONE;
  }
}

/* Whether a value obviously does not depend on the thread. */
static bool is_uniform(LLVMValueRef value, int depth) {
  if (LLVMIsAConstant(value) || LLVMIsAArgument(value)) return true;
  if (depth == 0 || !LLVMIsAInstruction(value)) return false;
  if (LLVMIsACallInst(value)) {
    const char *name = callee_name(value);
    return strstr(name, "sreg.ctaid.") || strstr(name, "sreg.ntid.") || strstr(name, "sreg.nctaid.");
  }
  if (!LLVMIsACastInst(value) && !LLVMIsABinaryOperator(value) && !LLVMIsAGetElementPtrInst(value)) return false;
  for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(value); i++)
    if (!is_uniform(LLVMGetOperand(value, i), depth - 1)) return false;
  return true;
}

/* Whether a number is computed from a pointer, such as one that is aligned. */
static bool has_pointer(LLVMValueRef value, int depth) {
  LLVMOpcode opcode = opcode_of(value);
  if (opcode == LLVMPtrToInt) return true;
  if (opcode == (LLVMOpcode)0 || opcode == LLVMLoad || opcode == LLVMCall || depth == 0) return false;
  for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(value); i++)
    if (has_pointer(LLVMGetOperand(value, i), depth - 1)) return true;
  return false;
}

/* Whether the address is a number of its own: a handle, or what a texture's record has. */
static bool is_from_integer(LLVMValueRef root) {
  enum { DEEP = 8 };
  return opcode_of(root) == LLVMIntToPtr && !has_pointer(LLVMGetOperand(root, 0), DEEP);
}

static void set_access(program *p, watched_site *s, LLVMValueRef address, uint64_t bytes) {
  accessed object;
  s->of.bytes = (uint32_t)bytes;
  s->of.space = space_of(address);
  s->of.is_uniform = is_uniform(address, 8);
  if (!find_accessed(p, address, &object)) return;
  /* a kernel's parameter points to global memory, whatever that is on this device */
  if (object.param && s->of.space == MW_SPACE_NONE) s->of.space = MW_SPACE_GLOBAL;
  s->name = mw_strdup(object.name); /* the name of a variable that later passes delete */
  /* the headers compute addresses of texels and of textures' records so */
  s->of.is_texture = is_from_integer(object.base);
}

size_t add_access_site(program *p, LLVMValueRef function, LLVMValueRef access, uint64_t bytes) {
  bool stores = LLVMIsAStoreInst(access) != NULL, loads = LLVMIsALoadInst(access) != NULL;
  bool swaps = LLVMIsAAtomicCmpXchgInst(access) != NULL;
  mw_site_kind kind = loads                     ? MW_SITE_LOAD
                      : stores                  ? MW_SITE_STORE
                      : LLVMGetFirstUse(access) ? MW_SITE_ATOMIC
                      : swaps                   ? MW_SITE_ATOMIC
                                                : MW_SITE_REDUCTION;
  size_t number = add(p, function, access, kind);
  watched_site *s = &p->sites[number];
  set_access(p, s, LLVMGetOperand(access, stores), bytes);
  s->of.is_volatile = (loads || stores) && LLVMGetVolatile(access);
  if (!loads && !stores && !swaps) s->of.detail = (uint32_t)LLVMGetAtomicRMWBinOp(access) + 1;
  return number;
}

size_t add_copy_site(program *p, LLVMValueRef function, LLVMValueRef copy, mw_site_kind kind, uint64_t bytes) {
  size_t number = add(p, function, copy, kind);
  set_access(p, &p->sites[number], LLVMGetOperand(copy, kind == MW_SITE_LOAD), bytes);
  return number;
}

size_t add_call_site(program *p, LLVMValueRef function, LLVMValueRef call, mw_site_kind kind, LLVMValueRef address,
                     uint64_t bytes) {
  size_t number = add(p, function, call, kind);
  set_access(p, &p->sites[number], address, bytes);
  return number;
}

size_t add_texture_site(program *p, LLVMValueRef function, LLVMValueRef call, mw_site_kind kind) {
  size_t number = add(p, function, call, kind);
  p->sites[number].of.is_texture = 1;
  return number;
}

/* ---- events ---- */

size_t add_event_site(program *p, LLVMValueRef function, LLVMValueRef at, mw_site_kind kind, unsigned detail) {
  size_t number = add(p, function, at, kind);
  p->sites[number].of.detail = detail;
  return number;
}

void note_segments(program *p, size_t number, LLVMValueRef segments) {
  p->sites[number].of.segments = LLVMIsAConstantInt(segments) ? (uint32_t)LLVMConstIntGetZExtValue(segments) : ~0u;
}

/* ---- what basic blocks do ---- */

static bool is_double(LLVMValueRef value) { return LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMDoubleTypeKind; }

static bool is_float_kind(LLVMTypeKind kind) {
  return kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind || kind == LLVMHalfTypeKind ||
         kind == LLVMBFloatTypeKind;
}

/* Whether inline PTX, which GPUs' code still has, is a load, a store, an atomic operation or an access to a texture; on the
   CPU device a call says where that begins. */
static bool is_inline_access(LLVMValueRef call) {
  static const char *const starts[] = {"ld.", "st.", "atom.", "red.", "tex.", "tld4.", "suld.", "sust.", "sured."};
  LLVMValueRef code = LLVMGetCalledValue(call);
  size_t length;
  if (strcmp(callee_name(call), TEXTURE_READ) == 0 || strcmp(callee_name(call), TEXTURE_WRITE) == 0) return true;
  if (!LLVMIsAInlineAsm(code)) return false;
  const char *text = LLVMGetInlineAsmAsmString(code, &length);
  for (size_t i = 0; i < MW_COUNT(starts); i++)
    if (starts_with(text, starts[i])) return true;
  return false;
}

static void count_call(mw_site *w, LLVMValueRef call) {
  const char *name = callee_name(call);
  bool fused = starts_with(name, "llvm.fma.") || starts_with(name, "llvm.fmuladd.");
  if (starts_with(name, "llvm.lifetime.") || starts_with(name, "llvm.dbg.") || starts_with(name, "llvm.assume") ||
      starts_with(name, "llvm.experimental.") || starts_with(name, GUARD_FUNCTION))
    return;
  if (is_inline_access(call)) {
    w->work[MW_WORK_MEMORY]++;
  } else if (is_float_kind(LLVMGetTypeKind(LLVMTypeOf(call)))) {
    w->work[is_double(call) ? MW_WORK_DOUBLE : MW_WORK_FLOAT]++;
    w->flops += fused ? 2 : 1;
  } else if (is_barrier(call) || find_warp_call(name)) {
    w->work[MW_WORK_CONTROL]++;
  } else {
    w->work[MW_WORK_OTHER]++;
  }
}

static void count_instruction(mw_site *w, LLVMValueRef i) {
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMPHI:
  case LLVMAlloca:
  case LLVMBitCast:
  case LLVMAddrSpaceCast:
  case LLVMFreeze:
  case LLVMExtractValue:
  case LLVMInsertValue: return; /* no instruction on a GPU, or a move */
  case LLVMFAdd:
  case LLVMFSub:
  case LLVMFMul:
  case LLVMFDiv:
  case LLVMFRem:
  case LLVMFNeg:
    w->work[is_double(i) ? MW_WORK_DOUBLE : MW_WORK_FLOAT]++;
    w->flops++;
    return;
  case LLVMFCmp: w->work[is_double(LLVMGetOperand(i, 0)) ? MW_WORK_DOUBLE : MW_WORK_FLOAT]++; return;
  case LLVMFPToSI:
  case LLVMFPToUI:
  case LLVMSIToFP:
  case LLVMUIToFP:
  case LLVMFPExt:
  case LLVMFPTrunc: w->work[MW_WORK_CONVERT]++; return;
  case LLVMLoad:
  case LLVMStore:
  case LLVMAtomicRMW:
  case LLVMAtomicCmpXchg: w->work[MW_WORK_MEMORY]++; return;
  case LLVMBr:
  case LLVMRet:
  case LLVMFence: w->work[MW_WORK_CONTROL]++; return;
  case LLVMCall: count_call(w, i); return;
  default: w->work[MW_WORK_INTEGER]++; return;
  }
}

/* One product and one sum of it are one instruction on a GPU (contraction), and two operations. */
static bool is_contracted(LLVMValueRef i) {
  if (LLVMGetInstructionOpcode(i) != LLVMFMul || !LLVMCanValueUseFastMathFlags(i)) return false;
  LLVMUseRef use = LLVMGetFirstUse(i);
  if (!use || LLVMGetNextUse(use)) return false;
  LLVMValueRef user = LLVMGetUser(use);
  if (!LLVMIsAInstruction(user)) return false;
  LLVMOpcode opcode = LLVMGetInstructionOpcode(user);
  bool both = LLVMGetFastMathFlags(i) & LLVMFastMathAllowContract;
  return both && (opcode == LLVMFAdd || opcode == LLVMFSub) && LLVMGetFastMathFlags(user) & LLVMFastMathAllowContract;
}

static size_t work_site(program *p, LLVMValueRef function, size_t from, LLVMValueRef at) {
  LLVMMetadataRef here = LLVMInstructionGetDebugLoc(at);
  unsigned line = here ? LLVMDILocationGetLine(here) : 0;
  for (size_t n = from; n < p->site_count; n++)
    if (p->sites[n].of.line == line) return n;
  return add(p, function, at, MW_SITE_WORK);
}

size_t add_code_sites(program *p, LLVMValueRef function, LLVMValueRef end, const instructions *block) {
  size_t number = add(p, function, end, MW_SITE_CODE);
  for (size_t n = 0; n < block->count; n++) {
    LLVMValueRef i = block->items[n];
    mw_site done = {0};
    count_instruction(&done, i);
    if (is_contracted(i)) done.work[MW_WORK_FLOAT] = done.work[MW_WORK_DOUBLE] = 0;
    bool any = done.flops;
    for (size_t c = 0; c < MW_WORK_CLASSES; c++) any = any || done.work[c];
    if (!any) continue;
    size_t at = work_site(p, function, number + 1, i); /* first, since it may move the sites */
    mw_site *w = &p->sites[at].of;
    for (size_t c = 0; c < MW_WORK_CLASSES; c++) w->work[c] += done.work[c];
    w->flops += done.flops;
  }
  return number;
}
