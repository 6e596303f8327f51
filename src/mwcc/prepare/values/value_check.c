/* Uninitialised values (--checks): LLVM's MemorySanitizer in its kernel form, with this project's shadow memory.
 *
 * MemorySanitizer computes beside each value a shadow: a set bit is a bit that nothing has written. It tests shadows
 * where a value decides something: conditions, addresses, arguments. This pass adds tests where computed values are
 * stored, and where a number is copied to global memory; moving bytes, such as a struct's padding, is not a use. It
 * then turns MemorySanitizer's calls into those of the runtime (src/cpu/check/initialised.c), or on a GPU into those of
 * moonwarp/checked_run/written.h (gpu_shadow.c).
 *
 * An origin is the line of the load that read the unwritten value from memory.
 *
 * Before: all calls are inlined, and variables are in memory. After: scalar variables are in registers, and nothing has
 * been simplified, since LLVM may replace an undefined value by any value. */
#include "value_check.h"
#include "mwcc/analysis/simt.h"
#include "mwcc/prepare/prepare.h"

#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 6 };

static void call_use(value_check *c, LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value), function = LLVMFunctionType(c->p->void_type, &type, 1, 0);
  char *printed = LLVMPrintTypeToString(type), *name = mw_format("%s %s", USE, printed);
  LLVMValueRef f = LLVMGetNamedFunction(c->p->module, name);
  if (!f) {
    f = LLVMAddFunction(c->p->module, name, function);
    LLVMAddAttributeAtIndex(f, 1,
                            LLVMCreateEnumAttribute(c->p->context, LLVMGetEnumAttributeKindForName("noundef", 7), 0));
  }
  LLVMBuildCall2(c->b, function, f, &value, 1, "");
  LLVMDisposeMessage(printed);
  free(name);
}

/* ---- uses ---- */

/* Whether a value is computed, rather than moved; bits that are extracted and combined, as for bit-fields, are
   moved. */
static bool is_computed(LLVMValueRef value, int steps) {
  if (!LLVMIsAInstruction(value) || steps == 0) return false;
  unsigned first = 0, count = (unsigned)LLVMGetNumOperands(value);
  switch (LLVMGetInstructionOpcode(value)) {
  case LLVMLoad:
  case LLVMAlloca:
  case LLVMAtomicRMW:
  case LLVMAtomicCmpXchg: return false;
  case LLVMCall: return !is_named(value, HIDDEN) && LLVMGetTypeKind(LLVMTypeOf(value)) != LLVMPointerTypeKind;
  case LLVMSelect: first = 1; break;
  case LLVMPHI:
  case LLVMBitCast:
  case LLVMFreeze:
  case LLVMTrunc:
  case LLVMZExt:
  case LLVMSExt:
  case LLVMExtractElement:
  case LLVMInsertElement:
  case LLVMExtractValue:
  case LLVMInsertValue:
  case LLVMShuffleVector:
  case LLVMAnd:
  case LLVMOr:
  case LLVMXor:
  case LLVMShl:
  case LLVMLShr: break;
  default: return true;
  }
  for (unsigned i = first; i < count; i++)
    if (is_computed(LLVMGetOperand(value, i), steps - 1)) return true;
  return false;
}

static LLVMTypeRef innermost(LLVMTypeRef type) {
  while (LLVMGetTypeKind(type) == LLVMArrayTypeKind) type = LLVMGetElementType(type);
  return type;
}

/* The result of a shuffle, as hide_shuffle makes it. */
static bool is_shuffled(LLVMValueRef value) {
  if (LLVMIsABitCastInst(value)) value = LLVMGetOperand(value, 0);
  return LLVMIsACallInst(value) && is_named(value, HIDDEN);
}

/* A number that is read as what its array is declared to hold, so that it is no part of a struct. */
static bool is_number(LLVMValueRef value) {
  while (LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == LLVMBitCast) value = LLVMGetOperand(value, 0);
  if (LLVMIsABinaryOperator(value)) return is_shuffled(LLVMGetOperand(value, 0));
  if (!LLVMIsALoadInst(value)) return false;
  LLVMTypeRef type = LLVMTypeOf(value);
  LLVMTypeKind kind = LLVMGetTypeKind(type);
  LLVMValueRef address = LLVMGetOperand(value, 0), root = root_of(address);
  if (kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind || kind == LLVMHalfTypeKind) return true;
  if (kind != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(type) < 16) return false;
  if (LLVMIsAGlobalVariable(root)) return innermost(LLVMGlobalGetValueType(root)) == type;
  return LLVMIsAArgument(root) &&
         (root == address || (LLVMIsAGetElementPtrInst(address) && LLVMGetGEPSourceElementType(address) == type));
}

static void test_store(value_check *c, LLVMValueRef store) {
  LLVMValueRef value = LLVMGetOperand(store, 0), root = root_of(LLVMGetOperand(store, 1));
  if (LLVMIsAAllocaInst(root) || !is_scalar(c, LLVMTypeOf(value))) return;
  if (!is_computed(value, STEPS) && (is_shared_variable(c->p, root) || !is_number(value))) return;
  LLVMPositionBuilderBefore(c->b, store);
  call_use(c, value);
  LLVMSetOperand(store, 0, LLVMBuildFreeze(c->b, value, FOUND)); /* frozen, and so written: one report is enough */
}

static void test_atomic(value_check *c, LLVMValueRef i) {
  bool is_exchange = LLVMIsAAtomicRMWInst(i) && LLVMGetAtomicRMWBinOp(i) == LLVMAtomicRMWBinOpXchg;
  LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(i, 1));
  LLVMPositionBuilderBefore(c->b, i);
  if (LLVMIsAAtomicRMWInst(i)) call_use(c, LLVMGetOperand(i, 1));
  if (is_exchange) return;
  LLVMValueRef old = LLVMBuildLoad2(c->b, type, LLVMGetOperand(i, 0), "");
  call_use(c, old);
}

/* Functions of the C library become intrinsics, which MemorySanitizer knows. */
static void show_copies(value_check *c, LLVMValueRef f) {
  static const char *const names[] = {"memset", "memcpy", "memmove"};
  instructions list = instructions_of_function(f);
  for (size_t n = 0; n < list.count; n++)
    for (size_t k = 0; k < MW_COUNT(names); k++) {
      LLVMValueRef call = list.items[n];
      if (!LLVMIsACallInst(call) || strcmp(callee_name(call), names[k]) != 0) continue;
      LLVMPositionBuilderBefore(c->b, call);
      copy_memory(c, call, names[k], (alignments){1, 1});
      LLVMInstructionEraseFromParent(call);
      break;
    }
  free(list.items);
}

static unsigned alignment_of(LLVMValueRef call, unsigned parameter) {
  unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
  LLVMAttributeRef found = LLVMGetCallSiteEnumAttribute(call, parameter, kind);
  return found ? (unsigned)LLVMGetEnumAttributeValue(found) : 1;
}

static void note_copy(value_check *c, LLVMValueRef call) {
  if (!is_named(call, "llvm.memcpy.") && !is_named(call, "llvm.memmove.") && !is_named(call, "llvm.memset.")) return;
  c->copies = mw_realloc(c->copies, (c->copy_count + 1) * sizeof *c->copies);
  c->copies[c->copy_count++] = (alignments){alignment_of(call, 1), alignment_of(call, 2)};
}

static void add_tests(value_check *c, LLVMValueRef f) {
  show_copies(c, f);
  instructions list = instructions_of_function(f);
  for (size_t n = 0; n < list.count; n++)
    if (LLVMIsACallInst(list.items[n]) &&
        (is_named(list.items[n], "llvm.nvvm.shfl") || is_named(list.items[n], "__mw_shfl")))
      hide_shuffle(c, list.items[n]);
  for (size_t n = 0; n < list.count; n++) {
    LLVMValueRef i = list.items[n];
    if (LLVMIsACallInst(i)) note_copy(c, i);
    if (LLVMIsAStoreInst(i)) test_store(c, i);
    if (LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i)) test_atomic(c, i);
  }
  free(list.items);
}

/* ---- the pass ---- */

static bool is_own_header(LLVMMetadataRef place) {
  unsigned length;
  LLVMMetadataRef file = LLVMDIScopeGetFile(LLVMDILocationGetScope(place));
  const char *name = file ? LLVMDIFileGetFilename(file, &length) : NULL;
  return name && strstr(name, "share/moonwarp/device");
}

/* Code of a lambda in the device headers is attributed to the line that called the header. */
static void show_callers(LLVMValueRef f) {
  instructions list = instructions_of_function(f);
  for (size_t n = 0; n < list.count; n++) {
    LLVMMetadataRef place = LLVMInstructionGetDebugLoc(list.items[n]), outer = place;
    while (outer && is_own_header(outer) && LLVMDILocationGetInlinedAt(outer))
      outer = LLVMDILocationGetInlinedAt(outer);
    if (outer != place) LLVMInstructionSetDebugLoc(list.items[n], outer);
  }
  free(list.items);
}

/* MemorySanitizer strengthens the orders of atomic accesses, but a checked run distinguishes them. */
typedef struct ordered {
  LLVMValueRef *items;
  LLVMAtomicOrdering *orders;
  size_t count;
} ordered;

static void note_orders(program *p, ordered *all) {
  EACH_FUNCTION(p, f) {
    instructions list = instructions_of_function(f);
    all->items = mw_realloc(all->items, (all->count + list.count + 1) * sizeof *all->items);
    all->orders = mw_realloc(all->orders, (all->count + list.count + 1) * sizeof *all->orders);
    for (size_t n = 0; n < list.count; n++) {
      LLVMValueRef i = list.items[n];
      if (!LLVMIsALoadInst(i) && !LLVMIsAStoreInst(i) && !LLVMIsAAtomicRMWInst(i) && !LLVMIsAAtomicCmpXchgInst(i))
        continue;
      all->items[all->count] = i;
      all->orders[all->count++] = LLVMIsAAtomicCmpXchgInst(i) ? LLVMGetCmpXchgSuccessOrdering(i) : LLVMGetOrdering(i);
    }
    free(list.items);
  }
}

static void restore_orders(ordered *all) {
  for (size_t n = 0; n < all->count; n++) {
    if (all->orders[n] == LLVMAtomicOrderingNotAtomic) continue;
    if (LLVMIsAAtomicCmpXchgInst(all->items[n]))
      LLVMSetCmpXchgSuccessOrdering(all->items[n], all->orders[n]);
    else
      LLVMSetOrdering(all->items[n], all->orders[n]);
  }
  free(all->items);
  free(all->orders);
}

/* Whether functions remain that are not inlined: unwritten values may be passed through them. */
static bool has_functions(program *p) {
  bool found = false;
  EACH_FUNCTION(p, f) {
    instructions list = instructions_of_function(f);
    for (size_t n = 0; n < list.count; n++) {
      LLVMValueRef callee = LLVMIsACallInst(list.items[n]) ? LLVMGetCalledValue(list.items[n]) : NULL;
      if (callee && !LLVMIsAInlineAsm(callee)) found |= !LLVMIsAFunction(callee) || !LLVMIsDeclaration(callee);
    }
    free(list.items);
  }
  return found;
}

/* On a GPU: inline all functions that can be, so that values are followed through them. */
static void inline_all(const value_check *c) {
  EACH_FUNCTION(c->p, f) {
    if (is_checked_function(c, f)) remove_attribute(f, "noinline");
  }
  choose_inlined(c->p);
  run_passes(c->p, "always-inline,cgscc(inline)");
}

/* MemorySanitizer knows the targets of hosts only; in its kernel form its calls are the same for all of them. */
static void run_sanitizer(program *p) {
  char *target = mw_strdup(LLVMGetTarget(p->module));
  if (p->options->gpu) LLVMSetTarget(p->module, "x86_64-unknown-linux-gnu");
  run_passes(p, "msan<recover;kernel;eager-checks;track-origins=1>");
  LLVMSetTarget(p->module, target);
  free(target);
}

/* The functions that the code calls instead of MemorySanitizer's, on the CPU device. */
static void declare_calls(value_check *c) {
  program *p = c->p;
  LLVMTypeRef shadow[] = {p->i32, p->i64, p->i64, p->pointer}, event[] = {p->i32, p->i64};
  c->shadow_type = LLVMFunctionType(p->void_type, shadow, MW_COUNT(shadow), 0);
  c->shadow = LLVMAddFunction(p->module, CHECK_SHADOW_FUNCTION, c->shadow_type);
  c->event_type = LLVMFunctionType(p->void_type, event, MW_COUNT(event), 0);
  c->event = LLVMGetNamedFunction(p->module, CHECK_EVENT_FUNCTION);
  if (!c->event) c->event = LLVMAddFunction(p->module, CHECK_EVENT_FUNCTION, c->event_type);
}

void check_values(program *p) {
  if (!(p->options->checks & MW_CHECK_INITIALISATION)) return;
  bool gpu = p->options->gpu;
  p->follows = !gpu && (p->follows || has_functions(p));
  value_check c = {.p = p, .b = LLVMCreateBuilderInContext(p->context)};
  LLVMTypeRef words = LLVMArrayType2(p->i8, LONGEST);
  c.unwritten = LLVMAddGlobal(p->module, words, UNWRITTEN);
  c.absent = LLVMAddGlobal(p->module, words, ABSENT);
  c.given = LLVMAddGlobal(p->module, words, GIVEN);
  c.taken = LLVMAddGlobal(p->module, words, TAKEN);
  if (gpu)
    inline_all(&c);
  else
    declare_calls(&c);
  hide_written_parameters(&c);
  EACH_FUNCTION(p, f) {
    if (!is_checked_function(&c, f)) {
      if (!LLVMIsDeclaration(f)) add_attribute(p, f, "disable_sanitizer_instrumentation");
      continue;
    }
    show_callers(f);
    add_attribute(p, f, "sanitize_memory");
    begin_variables(&c, f);
  }
  make_registers(p);
  EACH_FUNCTION(p, f) {
    if (!is_checked_function(&c, f)) continue;
    add_tests(&c, f);
    if (gpu) find_gpu_locals(&c, f);
  }
  ordered orders = {0};
  note_orders(p, &orders);
  run_sanitizer(p);
  restore_orders(&orders);
  make_shadows(&c);
  show_written_parameters(&c);
  LLVMDisposeBuilder(c.b);
  free(c.copies);
  free(c.pointers);
  free(c.roots);
  verify_module(p, "tests of values");
}
