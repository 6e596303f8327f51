/* Stepped code (--observe=step): at each line of the source a call names the line, at each declaration one gives the
 * variable's address, and others stand where functions begin and end. The runtime records what happens from line to
 * line (src/cpu/watch/steps.c).
 *
 * The pass runs on clang's code, before anything is inlined. The calls may read all memory whose address is known, so
 * whatever is optimised later, variables are in memory, with the values that the source gives them, at each line.
 *
 * Sites are numbered in the order of the code, called functions first: lanes that wait at different lines continue with
 * the lowest site first, and so meet again after a branch. */
#include "mwcc/analysis/analysis.h"
#include "mwcc/read/read.h"
#include "watch_sites.h"

#include <llvm-c/DebugInfo.h>

#include <stdlib.h>
#include <string.h>

/* Operand positions of DILocalVariable and DIGlobalVariable, and of DISubprogram and DILexicalBlock. */
enum { VARIABLE_SCOPE = 0, VARIABLE_NAME = 1, VARIABLE_TYPE = 3, FUNCTION_NAME = 2, BLOCK_SCOPE = 1 };

/* A variable that the function sees: its scope, and its site. */
typedef struct local {
  LLVMMetadataRef scope;
  size_t site;
} local;

typedef struct stepper {
  program *p;
  LLVMBuilderRef b;
  LLVMValueRef functions[2]; /* WATCH_ADDRESS, WATCH_NUMBER */
  LLVMTypeRef types[2];
  LLVMValueRef function; /* whose code is marked */
  local *locals;
  size_t count;
} stepper;

static void call_marker(stepper *s, size_t number, LLVMValueRef address, LLVMValueRef at) {
  if (address && LLVMTypeOf(address) != s->p->pointer)
    address = LLVMBuildAddrSpaceCast(s->b, address, s->p->pointer, "");
  LLVMValueRef arguments[] = {constant_i32(s->p, (unsigned)number), address ? address : constant_i64(s->p, 0)};
  LLVMValueRef call = LLVMBuildCall2(s->b, s->types[!address], s->functions[!address], arguments, 2, "");
  LLVMInstructionSetDebugLoc(call, LLVMInstructionGetDebugLoc(at));
}

/* ---- types, as text for scripts ---- */

enum { DEEPEST = 4 /* pointers that are followed: lists point to themselves */ };

/* b1 i4 u4 f8 g2 (bool, int, unsigned, floating-point, bfloat16, of so many bytes), *T, [count]T,
   {name:bytes;member@offset=T;…}, and v for what has no value that can be shown. */
static void add_layout(mw_text *out, const ctype *type, int depth) {
  static const char letters[] = {
      [MW_TYPE_BOOL] = 'b', [MW_TYPE_INT] = 'i', [MW_TYPE_UINT] = 'u', [MW_TYPE_BFLOAT] = 'g', [MW_TYPE_FLOAT] = 'f'};
  switch (type->type.kind) {
  case MW_TYPE_BOOL:
  case MW_TYPE_INT:
  case MW_TYPE_UINT:
  case MW_TYPE_BFLOAT:
  case MW_TYPE_FLOAT: mw_text_addf(out, "%c%zu", letters[type->type.kind], type->type.size); return;
  case MW_TYPE_POINTER:
    mw_text_addf(out, "*");
    if (depth < DEEPEST)
      add_layout(out, type->element, depth + 1);
    else
      mw_text_addf(out, "v");
    return;
  case MW_TYPE_ARRAY:
    mw_text_addf(out, "[%zu]", type->type.count);
    add_layout(out, type->element, depth);
    return;
  case MW_TYPE_STRUCT:
  case MW_TYPE_VECTOR:
    mw_text_addf(out, "{%s:%zu", type->type.name, type->type.size);
    for (size_t i = 0; i < type->type.count; i++) {
      mw_text_addf(out, ";%s@%zu=", type->fields[i].name, type->fields[i].offset);
      add_layout(out, type->fields[i].type, depth);
    }
    mw_text_addf(out, "}");
    return;
  default: mw_text_addf(out, "v"); return;
  }
}

/* ---- variables ---- */

static size_t add_local(stepper *s, LLVMMetadataRef node, LLVMValueRef at, uint32_t space) {
  size_t number = add_event_site(s->p, s->function, at, MW_SITE_VARIABLE, 0);
  ctype *type = ctype_of(s->p, metadata_operand(s->p, node, VARIABLE_TYPE));
  mw_text about = {0};
  mw_text_addf(&about, "%s|", type->type.name);
  add_layout(&about, type, 0);
  watched_site *site = &s->p->sites[number];
  site->name = metadata_text(s->p, metadata_operand(s->p, node, VARIABLE_NAME));
  site->of.space = space;
  site->of.bytes = (uint32_t)type->type.size;
  site->about = about.data;
  s->locals = mw_realloc(s->locals, (s->count + 1) * sizeof *s->locals);
  s->locals[s->count++] = (local){metadata_operand(s->p, node, VARIABLE_SCOPE), number};
  return number;
}

static LLVMMetadataRef contained(LLVMValueRef operand) {
  LLVMValueRef value = NULL;
  if (LLVMGetMDNodeNumOperands(operand) == 1) LLVMGetMDNodeOperands(operand, &value);
  return value ? LLVMValueAsMetadata(value) : NULL;
}

/* The variable's address where the declaration gives that plainly, or NULL. */
static LLVMValueRef declared_address(LLVMValueRef declaration) {
  LLVMValueRef value = NULL, operand = LLVMGetOperand(declaration, 0);
  if (!contained(operand)) return NULL;
  LLVMGetMDNodeOperands(operand, &value);
  char *expression = LLVMPrintValueToString(LLVMGetOperand(declaration, 2));
  bool is_plain = !strstr(expression, "DW_OP");
  LLVMDisposeMessage(expression);
  bool is_address = LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMPointerTypeKind && !LLVMIsAConstant(value);
  return is_plain && is_address ? value : NULL;
}

static void mark_declarations(stepper *s) {
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(s->function); block; block = LLVMGetNextBasicBlock(block))
    for (LLVMValueRef next, i = LLVMGetFirstInstruction(block); i; i = next) {
      next = LLVMGetNextInstruction(i);
      if (!LLVMIsACallInst(i) || !starts_with(callee_name(i), "llvm.dbg.declare")) continue;
      LLVMValueRef address = declared_address(i);
      if (!address) continue;
      LLVMPositionBuilderBefore(s->b, i);
      LLVMMetadataRef node = LLVMValueAsMetadata(LLVMGetOperand(i, 1));
      call_marker(s, add_local(s, node, i, MW_SPACE_LOCAL), address, i);
    }
}

static bool is_used_in(LLVMValueRef value, LLVMValueRef function) {
  for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (LLVMIsAInstruction(user) && LLVMGetBasicBlockParent(LLVMGetInstructionParent(user)) == function) return true;
    if (LLVMIsAConstantExpr(user) && is_used_in(user, function)) return true;
  }
  return false;
}

/* Shared and module variables that the function itself uses. */
static void mark_globals(stepper *s, LLVMValueRef at) {
  for (LLVMValueRef g = LLVMGetFirstGlobal(s->p->module); g; g = LLVMGetNextGlobal(g)) {
    unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(g));
    LLVMMetadataRef node = is_used_in(g, s->function) ? variable_node(g) : NULL;
    if (!node || (LLVMIsDeclaration(g) && space != MW_SPACE_SHARED)) continue;
    call_marker(s, add_local(s, node, at, space == MW_SPACE_SHARED ? MW_SPACE_SHARED : MW_SPACE_GLOBAL), g, at);
  }
}

/* ---- lines ---- */

static LLVMMetadataRef outer_scope(program *p, LLVMMetadataRef scope) {
  LLVMMetadataKind kind = LLVMGetMetadataKind(scope);
  if (kind != LLVMDILexicalBlockMetadataKind && kind != LLVMDILexicalBlockFileMetadataKind) return NULL;
  return metadata_operand(p, scope, BLOCK_SCOPE);
}

/* The variables in scope at an instruction. */
static char *list_visible(const stepper *s, LLVMValueRef at) {
  mw_text out = {0};
  LLVMMetadataRef scope = LLVMDILocationGetScope(LLVMInstructionGetDebugLoc(at));
  for (; scope; scope = outer_scope(s->p, scope))
    for (size_t i = 0; i < s->count; i++)
      if (s->locals[i].scope == scope) mw_text_addf(&out, "%zu ", s->locals[i].site);
  for (size_t i = 0; i < s->count; i++) /* variables of the file or of a namespace */
    if (s->p->sites[s->locals[i].site].of.space == MW_SPACE_GLOBAL) mw_text_addf(&out, "%zu ", s->locals[i].site);
  return out.data ? out.data : mw_strdup("");
}

static unsigned line_of(LLVMValueRef i) {
  const char *name = LLVMIsACallInst(i) ? callee_name(i) : "";
  bool is_code = !LLVMIsAAllocaInst(i) && !LLVMIsAPHINode(i) && !starts_with(name, "llvm.dbg.") &&
                 !starts_with(name, "llvm.lifetime.") && !starts_with(name, "__mw_watch_");
  LLVMMetadataRef here = is_code ? LLVMInstructionGetDebugLoc(i) : NULL;
  return here ? LLVMDILocationGetLine(here) : 0;
}

/* The line at the block's end; 0: none of its code has one. */
static unsigned last_line(LLVMBasicBlockRef block) {
  unsigned line = 0;
  for (LLVMValueRef i = LLVMGetLastInstruction(block); i && !line; i = LLVMGetPreviousInstruction(i)) line = line_of(i);
  return line;
}

/* The line at the end of all blocks that lead here, or 0. */
static unsigned line_before(LLVMBasicBlockRef block) {
  unsigned line = 0;
  for (LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (!LLVMIsATerminatorInst(user)) continue;
    unsigned other = last_line(LLVMGetInstructionParent(user));
    if (!other || (line && other != line)) return 0;
    line = other;
  }
  return line;
}

static void mark_lines(stepper *s) {
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(s->function); block; block = LLVMGetNextBasicBlock(block)) {
    unsigned line = line_before(block);
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
      unsigned here = line_of(i);
      if (!here || here == line) continue;
      line = here;
      size_t number = add_event_site(s->p, s->function, i, MW_SITE_STEP, 0);
      s->p->sites[number].about = list_visible(s, i);
      LLVMPositionBuilderBefore(s->b, i);
      call_marker(s, number, NULL, i);
    }
  }
}

/* ---- functions ---- */

static size_t add_function_site(stepper *s, LLVMValueRef at, mw_site_kind kind) {
  const char *file;
  unsigned column;
  size_t number = add_event_site(s->p, s->function, at, kind, 0);
  watched_site *site = &s->p->sites[number];
  site->name = metadata_text(s->p, metadata_operand(s->p, LLVMGetSubprogram(s->function), FUNCTION_NAME));
  if (kind == MW_SITE_ENTER && program_position(s->function, &file, &site->of.line, &column))
    site->file = mw_strdup(file);
  return number;
}

static void mark_function(stepper *s) {
  LLVMValueRef first = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(s->function));
  while (LLVMIsAAllocaInst(first)) first = LLVMGetNextInstruction(first);
  s->count = 0;
  LLVMPositionBuilderBefore(s->b, first);
  call_marker(s, add_function_site(s, first, MW_SITE_ENTER), NULL, first);
  mark_globals(s, first);
  mark_declarations(s);
  mark_lines(s);
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(s->function); block; block = LLVMGetNextBasicBlock(block)) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
    if (!end || !LLVMIsAReturnInst(end)) continue;
    LLVMPositionBuilderBefore(s->b, end);
    call_marker(s, add_function_site(s, end, MW_SITE_LEAVE), NULL, end);
  }
}

/* Mark the function after those that it calls. */
static void visit(stepper *s, LLVMValueRef function, LLVMValueRef *seen, size_t *count) {
  for (size_t i = 0; i < *count; i++)
    if (seen[i] == function) return;
  seen[(*count)++] = function;
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block))
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
      LLVMValueRef callee = LLVMIsACallInst(i) ? LLVMGetCalledValue(i) : NULL;
      if (callee && LLVMIsAFunction(callee) && !LLVMIsDeclaration(callee)) visit(s, callee, seen, count);
    }
  s->function = function;
  if (LLVMGetSubprogram(function)) mark_function(s); /* the device headers' functions have no debug information */
}

/* Declarations are calls in LLVM's older form of debug information, the only one that its C interface reads. */
static void set_declarations_as_calls(program *p, bool on) {
#if LLVM_VERSION_MAJOR <= 20
  LLVMSetIsNewDbgInfoFormat(p->module, !on);
#else
  (void)p;
  if (on)
    die("--observe=step needs an mwcc that was built with LLVM 19 or 20, and this one has LLVM %d", LLVM_VERSION_MAJOR);
#endif
}

void mark_steps(program *p) {
  if (!(p->options->observe & MW_OBSERVE_STEP)) return;
  set_declarations_as_calls(p, true);
  stepper s = {.p = p, .b = LLVMCreateBuilderInContext(p->context)};
  s.functions[0] = declare_marker(p, WATCH_ADDRESS, p->pointer, &s.types[0]);
  s.functions[1] = declare_marker(p, WATCH_NUMBER, p->i64, &s.types[1]);
  size_t count = 0, total = 0;
  EACH_FUNCTION(p, f) total++;
  LLVMValueRef *seen = mw_alloc((total + 1) * sizeof(LLVMValueRef));
  for (size_t i = 0; i < p->kernel_count; i++) visit(&s, p->kernels[i].body, seen, &count);
  free(seen);
  free(s.locals);
  LLVMDisposeBuilder(s.b);
  set_declarations_as_calls(p, false);
  verify_module(p, "step markers");
}
