/* Cold helpers (prepare/cold_helpers.c) as functions of vectors, which lanes call. */
#include "mwcc/widen/widen.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 4 /* parameters */ };

static const LLVMAttributeIndex WHOLE = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;

/* ---- of a vector ---- */

/* Represent parameters by opaque instructions: nothing is known of them, while the analyses take a kernel's parameters
   to be uniform. */
static void hide_parameters(program *p, LLVMValueRef f, given *list) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  for (unsigned i = 0; i < LLVMCountParams(f); i++) {
    LLVMValueRef parameter = LLVMGetParam(f, i);
    LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(f)));
    list[i] = (given){.value = LLVMBuildFreeze(b, parameter, ""), .shape = {.kind = SHAPE_VARYING}};
    LLVMReplaceAllUsesWith(parameter, list[i].value);
    LLVMSetOperand(list[i].value, 0, parameter);
  }
  LLVMDisposeBuilder(b);
}

/* Assemble the returned struct from its members. */
static void return_wide(widener *w, LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  if (LLVMGetTypeKind(type) != LLVMStructTypeKind) {
    LLVMBuildRet(w->b, value_vector(w, value, 0));
    return;
  }
  LLVMValueRef whole = LLVMGetPoison(wide_type(w, type));
  bool has[2] = {0};
  for (; LLVMIsAInsertValueInst(value); value = LLVMGetOperand(value, 0)) {
    unsigned member = LLVMGetIndices(value)[0];
    if (!has[member])
      whole = LLVMBuildInsertValue(w->b, whole, value_vector(w, LLVMGetOperand(value, 1), 0), member, "");
    has[member] = true;
  }
  if (!has[0] || !has[1]) refuse(w, value, "a cold helper returns a struct of more than two numbers");
  LLVMBuildRet(w->b, whole);
}

static void emit_body(widener *w, LLVMValueRef f, const given *list) {
  for (unsigned i = 0; i < LLVMCountParams(f); i++)
    set_value(w, list[i].value, (vectors){{LLVMGetParam(w->function, i)}});
  LLVMValueRef i = LLVMGetNextInstruction(list[0].value);
  for (; !LLVMIsATerminatorInst(i); i = LLVMGetNextInstruction(i))
    if (!LLVMIsAInsertValueInst(i)) widen_instruction(w, i, (mask){.all = true});
  return_wide(w, LLVMGetOperand(i, 0));
}

/* The callee preserves half of the vector registers, so that the lanes' values stay there. LLVM zeroes the upper halves
   of AVX registers before calls that take no such register, and in functions that return none, even if they are
   preserved. So this convention is only used if each vector is such a register. */
static unsigned convention(const widener *w) {
  const char *features = w->p->features;
  int bytes = w->width * 4, most = strstr(features, "+avx512f") ? 64 : strstr(features, "+avx") ? 32 : 16;
  bool whole = bytes == most || (bytes == 32 && most == 64);
  return strstr(w->p->triple, "x86_64") && whole ? LLVMIntelOCLBICallConv : LLVMCCallConv;
}

static LLVMValueRef declare_of_vectors(widener *w, LLVMValueRef f, const char *name) {
  static const char *const attributes[] = {"nounwind", "noinline", "willreturn"};
  program *p = w->p;
  LLVMTypeRef params[MOST], result = LLVMGetReturnType(LLVMGlobalGetValueType(f));
  unsigned count = LLVMCountParams(f);
  for (unsigned i = 0; i < count; i++) params[i] = vector_type(w, LLVMTypeOf(LLVMGetParam(f, i)));
  LLVMValueRef made = LLVMAddFunction(p->module, name, LLVMFunctionType(wide_type(w, result), params, count, 0));
  LLVMSetLinkage(made, LLVMInternalLinkage);
  LLVMSetFunctionCallConv(made, convention(w));
  for (size_t i = 0; i < MW_COUNT(attributes); i++) add_attribute(p, made, attributes[i]);
  add_text_attribute(p, made, COLD_VECTORS, "");
  add_text_attribute(p, made, "frame-pointer", "all"); /* the convention does not preserve it */
  prefer_widest(p, made);
  LLVMAddAttributeAtIndex(made, WHOLE,
                          LLVMCreateEnumAttribute(p->context, LLVMGetEnumAttributeKindForName("memory", 6), 0));
  return made;
}

static void define_of_vectors(widener *w, LLVMValueRef f, LLVMValueRef made) {
  program *p = w->p;
  given list[MOST];
  graph g;
  const char *why;
  hide_parameters(p, f, list);
  graph_build(p, f, false, &g, &why);
  flow edges = graph_flow(&g);
  order o = order_of(&edges);
  shapes s = shapes_given(&g, &o, (cut){CUT_ROW, w->width, 1, 1}, list, (int)LLVMCountParams(f), NULL);
  widener own = {.p = p,
                 .k = w->k,
                 .g = &g,
                 .shapes = &s,
                 .width = w->width,
                 .vectors = 1,
                 .function = made,
                 .widen = widen_instruction};
  own.b = own.entry = LLVMCreateBuilderInContext(p->context);
  own.stamp = 1;
  LLVMPositionBuilderAtEnd(own.b, LLVMAppendBasicBlockInContext(p->context, made, "entry"));
  emit_body(&own, f, list);
  if (own.why) refuse(w, NULL, own.why);
  LLVMDisposeBuilder(own.b);
  free(own.table);
  shapes_free(&s);
  order_free(&o);
  graph_free(&g);
}

static bool is_straight(program *p, LLVMValueRef f) {
  graph g;
  const char *why;
  if (LLVMCountParams(f) > MOST || LLVMCountBasicBlocks(f) != 1 || !graph_build(p, f, false, &g, &why)) return false;
  graph_free(&g);
  return true;
}

/* The variant that takes vectors; NULL, with a refusal: it cannot be widened. */
static LLVMValueRef vector_function(widener *w, LLVMValueRef f) {
  size_t length;
  char *name = mw_format("lanes%d.%s", w->width, LLVMGetValueName2(f, &length));
  LLVMValueRef made = LLVMGetNamedFunction(w->p->module, name);
  if (!made && is_straight(w->p, f)) {
    made = declare_of_vectors(w, f, name);
    define_of_vectors(w, f, made);
  }
  if (!made) refuse(w, NULL, "a cold helper is more than straight-line arithmetic");
  free(name);
  return made;
}

void call_cold(widener *w, LLVMValueRef call) {
  program *p = w->p;
  vectors result = {0};
  LLVMValueRef arguments[MOST], function = vector_function(w, LLVMGetCalledValue(call));
  unsigned count = LLVMGetNumArgOperands(call);
  for (int u = 0; u < w->vectors && function; u++) {
    for (unsigned i = 0; i < count; i++) arguments[i] = value_vector(w, LLVMGetOperand(call, i), u);
    result.of[u] = LLVMBuildCall2(w->b, LLVMGlobalGetValueType(function), function, arguments, count, "");
    LLVMSetInstructionCallConv(result.of[u], LLVMGetFunctionCallConv(function));
    LLVMAddCallSiteAttribute(result.of[u], WHOLE,
                             LLVMCreateEnumAttribute(p->context, LLVMGetEnumAttributeKindForName("cold", 4), 0));
  }
  if (function) set_value(w, call, result);
}
