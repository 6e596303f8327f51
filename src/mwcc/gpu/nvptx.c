/* PTX for NVIDIA GPUs by LLVM's NVPTX code generator (--target=nvptx).
 *
 * The module already has that target, from clang. Before code generation,
 *   - texture references become variables that hold a handle;
 *   - ordered atomic operations become relaxed ones between fences: LLVM 19's NVPTX drops their order, and does not
 *     select ordered loads;
 *   - kernels and variables that the host looks up get names that PTX allows;
 *   - errors of launches from kernels are read from CUDA's device runtime, if the module has such launches;
 *   - calls of undefined functions are reported.
 * A description of the module for the host follows the PTX as comments (metadata.c). */
#include "gpu.h"
#include "mwcc/support/checked_access.h"
#include "mwcc/codegen/codegen.h"
#include "mwcc/prepare/prepare.h"

#include <llvm-c/IRReader.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- texture and surface references ---- */

/* LLVM emits a .texref for a variable that has an annotation, so the variable is replaced by one without. After
   read_references, all its uses are loads, and casts that nothing uses. */
static void detach_reference(program *p, variable *v) {
  LLVMValueRef old = v->global;
  LLVMValueRef made =
      LLVMAddGlobalInAddressSpace(p->module, v->value_type, "", LLVMGetPointerAddressSpace(LLVMTypeOf(old)));
  LLVMSetInitializer(made, LLVMConstNull(v->value_type));
  LLVMSetExternallyInitialized(made, 1);
  LLVMSetAlignment(made, (unsigned)v->align);
  for (LLVMUseRef use = LLVMGetFirstUse(old), next; use; use = next) {
    LLVMValueRef user = LLVMGetUser(use);
    next = LLVMGetNextUse(use);
    if (LLVMIsAConstant(user) && !LLVMGetFirstUse(user))
      continue; /* of a call that is gone; it goes with the variable */
    if (!LLVMIsALoadInst(user)) die("the reference %s is used as something else than a texture or surface", v->name);
    LLVMSetOperand(user, 0, made);
  }
  LLVMDeleteGlobal(old);
  v->global = made;
}

/* ---- names, memory and limits that concern the host ---- */

static char *valid_name(const char *name) {
  char *copy = mw_strdup(name);
  for (char *c = copy; *c; c++)
    if (!isalnum((unsigned char)*c) && *c != '_' && *c != '$') *c = '_';
  return copy;
}

static void annotate(program *p, LLVMValueRef value, const char *key, unsigned number) {
  LLVMMetadataRef items[] = {LLVMValueAsMetadata(value), LLVMMDStringInContext2(p->context, key, strlen(key)),
                             LLVMValueAsMetadata(constant_i32(p, number))};
  LLVMMetadataRef node = LLVMMDNodeInContext2(p->context, items, MW_COUNT(items));
  LLVMAddNamedMetadataOperand(p->module, "nvvm.annotations", LLVMMetadataAsValue(p->context, node));
}

/* Make a variable visible to the host, except for variables of functions and of our headers. */
static void publish_variable(program *p, variable *v) {
  const char *section = LLVMGetSection(v->global);
  if (v->reference) detach_reference(p, v);
  if (strncmp(v->name, "__mw_", 5) == 0) v->internal = true;
  if (strcmp(v->name, "__mw_guard") == 0 && LLVMGetFirstUse(v->global)) {
    LLVMSetExternallyInitialized(v->global, 1); /* the host looks for it by this name */
    LLVMSetValueName2(v->global, v->name, strlen(v->name));
    LLVMSetLinkage(v->global, LLVMExternalLinkage);
    LLVMSetVisibility(v->global, LLVMDefaultVisibility);
    return;
  }
  if (section && strcmp(section, "managed") == 0) {
    LLVMSetSection(v->global, "");
    annotate(p, v->global, "managed", 1);
  }
  LLVMSetExternallyInitialized(v->global, 1); /* it may have another value than the initial one, of an earlier launch */
  if (v->internal) {
    LLVMSetLinkage(v->global, LLVMInternalLinkage);
    return;
  }
  v->linkage = valid_name(v->linkage);
  LLVMSetValueName2(v->global, v->linkage, strlen(v->linkage));
  LLVMSetLinkage(v->global, LLVMExternalLinkage);
  LLVMSetVisibility(v->global, LLVMDefaultVisibility);
}

/* Copies read a tensor map where the driver has put it: the parameter is not copied when its address is taken. */
static void keep_tensor_maps(program *p, const kernel *k) {
  for (size_t i = 0; i < k->param_count; i++) {
    const char *name = k->params[i].type->type.name;
    if (!name || !strstr(name, "CUtensorMap")) continue;
    LLVMMetadataRef number = LLVMValueAsMetadata(constant_i32(p, (unsigned)i + 1));
    LLVMMetadataRef items[] = {LLVMValueAsMetadata(k->body), LLVMMDStringInContext2(p->context, "grid_constant", 13),
                               LLVMMDNodeInContext2(p->context, &number, 1)};
    LLVMMetadataRef node = LLVMMDNodeInContext2(p->context, items, MW_COUNT(items));
    LLVMAddNamedMetadataOperand(p->module, "nvvm.annotations", LLVMMetadataAsValue(p->context, node));
  }
}

static void publish(program *p) {
  for (size_t i = 0; i < p->variable_count; i++) publish_variable(p, &p->variables[i]);
  for (size_t i = 0; i < p->kernel_count; i++) {
    kernel *k = &p->kernels[i];
    k->linkage = valid_name(k->linkage);
    LLVMSetValueName2(k->body, k->linkage, strlen(k->linkage));
    keep_tensor_maps(p, k);
    if (p->options->registers > 0) annotate(p, k->body, "maxnreg", (unsigned)p->options->registers);
  }
}

/* ---- instructions: atomic operations with an order, conversions to integers ---- */

typedef struct order {
  bool before, after;
} order;

static order order_of(LLVMAtomicOrdering ordering) {
  bool all = ordering == LLVMAtomicOrderingAcquireRelease || ordering == LLVMAtomicOrderingSequentiallyConsistent;
  return (order){all || ordering == LLVMAtomicOrderingRelease, all || ordering == LLVMAtomicOrderingAcquire};
}

static void fence(program *p, LLVMBuilderRef b, bool is_needed) {
  if (is_needed) call_intrinsic(p, b, "llvm.nvvm.membar.sys", NULL, 0, NULL, 0);
}

static void fence_around(program *p, LLVMBuilderRef b, LLVMValueRef i, order o) {
  LLVMPositionBuilderBefore(b, i);
  fence(p, b, o.before);
  LLVMPositionBuilderBefore(b, LLVMGetNextInstruction(i)); /* none of these ends a block */
  fence(p, b, o.after);
}

/* An ordered load or store becomes a volatile one, which is not torn either. */
static void order_access(program *p, LLVMBuilderRef b, LLVMValueRef i, bool is_load) {
  LLVMAtomicOrdering ordering = LLVMGetOrdering(i);
  if (ordering == LLVMAtomicOrderingNotAtomic) return;
  order o = order_of(ordering);
  if (ordering == LLVMAtomicOrderingSequentiallyConsistent) o.before = true;
  if (is_load && ordering == LLVMAtomicOrderingAcquire) o.before = false;
  LLVMSetOrdering(i, LLVMAtomicOrderingNotAtomic);
  LLVMSetVolatile(i, 1);
  fence_around(p, b, i, o);
}

/* A floating-point number converted to an integer, toward zero. In LLVM the result of a number out of range is poison,
   on which LLVM may base optimisations; CUDA's cvt clamps it, and nvcc converts to narrow types by way of int. So the
   conversion is written as that instruction, in inline PTX. */
static void write_conversion(program *p, LLVMBuilderRef b, LLVMValueRef i) {
  LLVMTypeRef type = LLVMTypeOf(i);
  LLVMValueRef value = LLVMGetOperand(i, 0);
  if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(type) > 64) return;
  bool is_signed = LLVMGetInstructionOpcode(i) == LLVMFPToSI, wide = LLVMGetIntTypeWidth(type) > 32;
  bool is_double = LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMDoubleTypeKind;
  LLVMTypeRef made = wide ? p->i64 : p->i32, from = is_double ? LLVMTypeOf(value) : LLVMFloatTypeInContext(p->context);
  LLVMPositionBuilderBefore(b, i);
  if (LLVMTypeOf(value) != from) value = LLVMBuildFPExt(b, value, from, "");
  char *text = mw_format("cvt.rzi.%c%d.%s $0, $1;", is_signed ? 's' : 'u', wide ? 64 : 32, is_double ? "f64" : "f32");
  char *constraints = mw_format("=%c,%c", wide ? 'l' : 'r', is_double ? 'd' : 'f');
  LLVMTypeRef function = LLVMFunctionType(made, &from, 1, 0);
  LLVMValueRef code = LLVMGetInlineAsm(function, text, strlen(text), constraints, strlen(constraints), 0, 0,
                                       LLVMInlineAsmDialectATT, 0);
  LLVMValueRef result = LLVMBuildCall2(b, function, code, &value, 1, "");
  if (made != type) result = LLVMBuildTrunc(b, result, type, "");
  LLVMReplaceAllUsesWith(i, result);
  LLVMInstructionEraseFromParent(i);
  free(text);
  free(constraints);
}

static void change_instruction(program *p, LLVMBuilderRef b, LLVMValueRef i) {
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMFPToSI:
  case LLVMFPToUI: write_conversion(p, b, i); break;
  case LLVMLoad: order_access(p, b, i, true); break;
  case LLVMStore: order_access(p, b, i, false); break;
  case LLVMAtomicRMW:
    fence_around(p, b, i, order_of(LLVMGetOrdering(i)));
    LLVMSetOrdering(i, LLVMAtomicOrderingMonotonic);
    break;
  case LLVMAtomicCmpXchg: {
    order success = order_of(LLVMGetCmpXchgSuccessOrdering(i)), failure = order_of(LLVMGetCmpXchgFailureOrdering(i));
    fence_around(p, b, i, (order){success.before || failure.before, success.after || failure.after});
    LLVMSetCmpXchgFailureOrdering(i, LLVMAtomicOrderingMonotonic);
    LLVMSetCmpXchgSuccessOrdering(i, LLVMAtomicOrderingMonotonic);
    break;
  }
  case LLVMFence:
    LLVMPositionBuilderBefore(b, i);
    fence(p, b, !LLVMIsAtomicSingleThread(i));
    LLVMInstructionEraseFromParent(i);
    break;
  default: break;
  }
}

static void change_instructions(program *p) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    instructions list = instructions_of_function(f);
    for (size_t i = 0; i < list.count; i++) change_instruction(p, b, list.items[i]);
    free(list.items);
  }
  LLVMDisposeBuilder(b);
}

/* ---- undefined functions ---- */

/* What CUDA's device runtime library calls its functions. */
#define LIBRARY_PREFIX "__cudaCDP2"

/* Functions that the driver links to device code. (CUDA C++ programming guide, PTX ABI) */
static bool is_driver_function(const char *name) {
  if (starts_with(name, LIBRARY_PREFIX)) return true;
  static const char *const names[] = {"vprintf", "malloc", "free", "__assertfail", "__nvvm_reflect"};
  for (size_t i = 0; i < MW_COUNT(names); i++)
    if (strcmp(names[i], name) == 0) return true;
  return false;
}

/* The last error of a thread (moonwarp/nvptx_runtime.h): the library's, so that only modules that call it for something
   else have to be linked with it; otherwise there is none. */
static void connect_errors(program *p) {
  static const char *const names[][2] = {{"__mw_last_error", LIBRARY_PREFIX "GetLastError"},
                                         {"__mw_peek_error", LIBRARY_PREFIX "PeekAtLastError"}};
  bool is_linked = false;
  EACH_FUNCTION(p, f) {
    size_t length;
    is_linked |= starts_with(LLVMGetValueName2(f, &length), LIBRARY_PREFIX) && LLVMGetFirstUse(f);
  }
  /* Instrumented kernels have a parameter more, which the host sets. */
  if (is_linked && (p->options->checks || p->options->observe))
    complain(p, NULL, "launches from kernels are neither checked nor measured on a GPU, but on the CPU device");
  for (size_t i = 0; i < MW_COUNT(names); i++) {
    LLVMValueRef f = LLVMGetNamedFunction(p->module, names[i][0]);
    if (f && is_linked) LLVMSetValueName2(f, names[i][1], strlen(names[i][1]));
    for (LLVMUseRef use; f && !is_linked && (use = LLVMGetFirstUse(f));) {
      LLVMValueRef call = LLVMGetUser(use);
      LLVMReplaceAllUsesWith(call, LLVMConstNull(LLVMTypeOf(call)));
      LLVMInstructionEraseFromParent(call);
    }
  }
}

static void refuse_undefined(program *p) {
  EACH_FUNCTION(p, f) {
    size_t length;
    const char *name = LLVMGetValueName2(f, &length);
    LLVMUseRef use = LLVMGetFirstUse(f);
    if (!LLVMIsDeclaration(f) || LLVMGetIntrinsicID(f) || !use || is_driver_function(name)) continue;
    LLVMValueRef user = LLVMGetUser(use);
    complain(p, LLVMIsAInstruction(user) ? user : NULL,
             "the function '%s' is not defined, neither in this source nor for GPUs in moonwarp's headers. Define it, "
             "add the source that does, mw.compile { source = { one, other } }, or install NVRTC, which may have it",
             name);
  }
  if (p->complaints) quit(1);
}

/* ---- LLVM's own failures ---- */

static void die_in_llvm(const char *reason) { die("LLVM cannot generate PTX for this source: %s", reason); }

static void report_diagnostic(LLVMDiagnosticInfoRef info, void *context) {
  program *p = context;
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError) return;
  char *text = LLVMGetDiagInfoDescription(info);
  complain(p, NULL, "%s", text);
  LLVMDisposeMessage(text);
}

/* ---- the text ---- */

/* Restrict debug information to .loc directives: with any more, the driver's compiler does not optimise. LLVM's C
   interface cannot change the emission kind, so the module is printed, edited and parsed again. */
static void keep_lines_only(program *p) {
  static const char have[] = "emissionKind: LineTablesOnly", want[] = "emissionKind: DebugDirectivesOnly";
  char *old = LLVMPrintModuleToString(p->module), *message = NULL;
  mw_text made = {0};
  mw_text_add(&made, "", 0);
  for (char *at = old, *found; *at; at = found + strlen(have)) {
    found = strstr(at, have);
    mw_text_add(&made, at, found ? (size_t)(found - at) : strlen(at));
    if (!found) break;
    mw_text_add(&made, want, strlen(want));
  }
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(made.data, made.length, "lines");
  LLVMDisposeMessage(old);
  mw_text_free(&made);
  LLVMDisposeModule(p->module);
  if (LLVMParseIRInContext(p->context, buffer, &p->module, &message))
    die("LLVM does not parse its own text: %s", message);
}

/* The kernel whose declaration the line begins, or NULL. */
static const kernel *declared_in(const program *p, const char *line) {
  static const char word[] = ".entry ";
  const char *end = strchr(line, '\n'), *at = memmem(line, end ? (size_t)(end - line) : 0, word, sizeof word - 1);
  for (size_t i = 0; at && i < p->kernel_count; i++) {
    size_t length = strlen(p->kernels[i].linkage);
    const char *name = at + sizeof word - 1;
    if (strncmp(name, p->kernels[i].linkage, length) == 0 && name[length] == '(') return &p->kernels[i];
  }
  return NULL;
}

/* __cluster_dims__, for which LLVM 19 has no directive. */
static void add_cluster(mw_text *out, const kernel *k) {
  if (k && k->cluster[0])
    mw_text_addf(out, ".explicitcluster\n.reqnctapercluster %u, %u, %u\n", k->cluster[0], k->cluster[1], k->cluster[2]);
}

/* Add the code without labels for debug information and without .loc directives inside call instructions: LLVM writes
   some between the lines of a call, where PTX allows neither. */
static void add_code(const program *p, mw_text *out, const char *text, size_t length) {
  const kernel *declared = NULL;
  bool in_call = false;
  for (const char *line = text, *end = text + length, *next; line < end; line = next) {
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    next = stop ? stop + 1 : end;
    bool is_label = strncmp(line, "$L__tmp", 7) == 0, is_place = in_call && strncmp(line, "\t.loc", 5) == 0;
    if (is_label || is_place) continue;
    if (!declared) declared = declared_in(p, line);
    if (*line == '{') add_cluster(out, declared), declared = NULL;
    in_call = in_call || strncmp(line, "\tcall", 5) == 0;
    if (in_call && memchr(line, ';', (size_t)(next - line))) in_call = false;
    mw_text_add(out, line, (size_t)(next - line));
  }
}

/* Inline PTX may need a newer version than LLVM writes: products of 8-bit numbers with sums of half came with PTX 8.7. */
static void raise_version(mw_text *out) {
  static const char version[] = ".version ";
  char *at = strstr(out->data, version);
  bool has_half_sums = strstr(out->data, ".f16.e4m3.") || strstr(out->data, ".f16.e5m2.");
  if (at && has_half_sums) memcpy(at + strlen(version), "8.7", 3);
}

static void write_ptx(program *p) {
  LLVMMemoryBufferRef buffer = generate(p, LLVMAssemblyFile);
  mw_text out = {0};
  add_code(p, &out, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
  raise_version(&out);
  add_ptx_facts(p, &out);
  if (p->complaints) quit(1);
  write_output(p->options->output, out.data, out.length);
}

/* The headers' reports to checked runs, in code that is not checked. */
static void drop_reports(program *p) {
  LLVMValueRef function = LLVMGetNamedFunction(p->module, CHECK_EVENT_FUNCTION);
  for (LLVMUseRef use; function && (use = LLVMGetFirstUse(function));) LLVMInstructionEraseFromParent(LLVMGetUser(use));
  if (function) LLVMDeleteFunction(function);
}

void make_ptx(program *p) {
  static const char *const pipelines[] = {"always-inline,default<O0>", "default<O1>", "default<O2>", "default<O3>"};
  LLVMInstallFatalErrorHandler(die_in_llvm);
  LLVMContextSetDiagnosticHandler(p->context, report_diagnostic, p);
  define_pure_virtual(p);
  connect_errors(p);
  if (!p->options->checks || !p->options->stoppable) drop_reports(p);
  guard_kernels(p);
  publish(p);
  change_instructions(p);
  choose_tiers(p); /* for the references that kernels read */
  verify_module(p, "preparing for a GPU");
  stage_done(p, "prepare");
  run_passes(p, pipelines[p->options->level]);
  guard_loops(p);
  refuse_undefined(p);
  stage_done(p, "optimise");
  if (p->options->line_info)
    keep_lines_only(p);
  else
    LLVMStripModuleDebugInfo(p->module);
  if (p->options->emit == EMIT_IR)
    emit(p);
  else
    write_ptx(p);
  stage_done(p, "emit");
}
