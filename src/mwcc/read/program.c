/* The description of a program: kernels with their parameters, variables, shared memory, and their source positions.
 *
 * Afterwards the module is as clang made it, except that only line tables are left of the debug information: types have
 * been read, and the host's code generator does not support the device's address spaces in it. */
#include "mwcc/mwcc.h"
#include "mwcc/target/tuning.h"
#include "read.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Comdat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  OPERAND_VARIABLE_SCOPE = 0, /* of variables; the others have a file first */
  OPERAND_VARIABLE_NAME = 1,
  OPERAND_SCOPE = 1,
  OPERAND_NAME = 2,
  OPERAND_SUBPROGRAM_TYPE = 4,
  OPERAND_TYPE_LIST = TYPE_OPERANDS,
  OPERAND_VARIABLE_TYPE = 3
};

static const char *qualified_name(program *p, LLVMMetadataRef node, unsigned scope, unsigned name) {
  char *prefix = scope_prefix(p, metadata_operand(p, node, scope));
  return mw_format("%s%s", prefix, metadata_text(p, metadata_operand(p, node, name)));
}

static const char *source_name(program *p, LLVMMetadataRef node) {
  return qualified_name(p, node, OPERAND_SCOPE, OPERAND_NAME);
}

static size_t round_up(size_t value, size_t align) { return align ? (value + align - 1) / align * align : value; }

/* Parameters: types from the debug information, names from the arguments (clang keeps them). They correspond one to
   one, since on the device target every parameter is one argument; aggregates are byval pointers. */
static void read_params(program *p, kernel *k, LLVMMetadataRef subprogram) {
  LLVMMetadataRef types =
      metadata_operand(p, metadata_operand(p, subprogram, OPERAND_SUBPROGRAM_TYPE), OPERAND_TYPE_LIST);
  k->param_count = LLVMCountParams(k->body);
  k->params = mw_alloc((k->param_count + 1) * sizeof *k->params);
  for (size_t i = 0; i < k->param_count; i++) {
    param *q = &k->params[i];
    size_t length;
    const char *name = LLVMGetValueName2(LLVMGetParam(k->body, (unsigned)i), &length);
    LLVMMetadataRef type = metadata_operand(p, types, (unsigned)i + 1);
    q->name = mw_strdup(length && !strchr(name, '.') ? name : "");
    if (!type) die("the debug information of kernel %s lacks the type of parameter %zu", k->name, i + 1);
    q->type = ctype_of(p, type);
    q->offset = round_up(k->param_bytes, q->type->type.align);
    k->param_bytes = q->offset + q->type->type.size;
  }
}

static kernel *add_kernel(program *p, LLVMValueRef function) {
  for (size_t i = 0; i < p->kernel_count; i++)
    if (p->kernels[i].body == function) return &p->kernels[i];
  LLVMMetadataRef subprogram = LLVMGetSubprogram(function);
  size_t length;
  if (!subprogram) die("clang gave no debug information for kernel %s", LLVMGetValueName2(function, &length));
  p->kernels = mw_realloc(p->kernels, (p->kernel_count + 1) * sizeof *p->kernels);
  kernel *k = &p->kernels[p->kernel_count++];
  *k = (kernel){
      .body = function, .name = source_name(p, subprogram), .linkage = mw_strdup(LLVMGetValueName2(function, &length))};
  k->line = (int)LLVMDISubprogramGetLine(subprogram);
  unsigned file_length = 0;
  LLVMMetadataRef file = LLVMDIScopeGetFile(subprogram);
  const char *file_name = file ? LLVMDIFileGetFilename(file, &file_length) : "";
  k->file = mw_format("%.*s", (int)file_length, file_name);
  read_params(p, k, subprogram);
  return k;
}

/* __launch_bounds__: an annotation up to LLVM 20, an attribute of the function from LLVM 21 on ("256", or "8,8,4"). */
static void read_bounds(kernel *k) {
  static const char name[] = "nvvm.maxntid";
  LLVMAttributeRef bounds = LLVMGetStringAttributeAtIndex(k->body, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, name,
                                                          (unsigned)strlen(name));
  unsigned length;
  if (!bounds) return;
  unsigned sides[3] = {1, 1, 1};
  const char *value = LLVMGetStringAttributeValue(bounds, &length);
  char *text = mw_format("%.*s", (int)length, value);
  sscanf(text, "%u,%u,%u", &sides[0], &sides[1], &sides[2]);
  k->max_threads = (sides[0] * sides[1] * sides[2]);
  free(text);
}

/* Kernels are named by !nvvm.annotations: {function, "kernel", 1}; newer LLVM marks them by calling convention too. */
static void read_kernels(program *p) {
  enum { PTX_KERNEL = 71 };
  LLVMNamedMDNodeRef annotations = LLVMGetNamedMetadata(p->module, "nvvm.annotations", 16);
  unsigned count = annotations ? LLVMGetNamedMetadataNumOperands(p->module, "nvvm.annotations") : 0;
  LLVMValueRef *nodes = mw_alloc((count + 1) * sizeof *nodes);
  if (count) LLVMGetNamedMetadataOperands(p->module, "nvvm.annotations", nodes);
  EACH_FUNCTION(p, f)
  if (LLVMGetFunctionCallConv(f) == PTX_KERNEL && !LLVMIsDeclaration(f)) read_bounds(add_kernel(p, f));
  for (unsigned i = 0; i < count; i++) {
    unsigned operands = LLVMGetMDNodeNumOperands(nodes[i]), length;
    LLVMValueRef *items = mw_alloc((operands + 1) * sizeof *items);
    LLVMGetMDNodeOperands(nodes[i], items);
    for (unsigned j = 1; items[0] && j + 1 < operands; j += 2) {
      const char *key = LLVMGetMDString(items[j], &length);
      if (!key || !LLVMIsAFunction(items[0]) || LLVMIsDeclaration(items[0])) continue;
      if (strcmp(key, "kernel") == 0) add_kernel(p, items[0]);
      if (strcmp(key, "maxntidx") == 0)
        add_kernel(p, items[0])->max_threads = (unsigned)LLVMConstIntGetZExtValue(items[j + 1]);
    }
    free(items);
  }
  free(nodes);
  /* sorted in the order of the source */
  for (size_t i = 1; i < p->kernel_count; i++)
    for (size_t j = i; j > 0 && p->kernels[j].line < p->kernels[j - 1].line; j--) {
      kernel swap = p->kernels[j];
      p->kernels[j] = p->kernels[j - 1];
      p->kernels[j - 1] = swap;
    }
}

/* __cluster_dims__(x, y, z): the annotation "mw_cluster", whose arguments are a struct of integers. */
static void read_cluster(program *p, LLVMValueRef annotation) {
  enum { FUNCTION, NAME, ARGUMENTS = 4 };
  static const char annotation_name[] = "mw_cluster";
  LLVMValueRef parts[ARGUMENTS + 1];
  size_t length;
  for (unsigned i = 0; i <= ARGUMENTS; i++) {
    parts[i] = LLVMGetOperand(annotation, i);
    while (LLVMIsAConstantExpr(parts[i])) parts[i] = LLVMGetOperand(parts[i], 0); /* casts of address spaces */
  }
  if (!LLVMIsAGlobalVariable(parts[NAME]) || !LLVMIsAGlobalVariable(parts[ARGUMENTS])) return;
  LLVMValueRef text = LLVMGetInitializer(parts[NAME]), sides = LLVMGetInitializer(parts[ARGUMENTS]);
  const char *name = LLVMIsConstantString(text) ? LLVMGetAsString(text, &length) : "";
  if (strcmp(name, annotation_name) != 0) return;
  for (size_t i = 0; i < p->kernel_count; i++) {
    kernel *k = &p->kernels[i];
    if (k->body != parts[FUNCTION]) continue;
    for (int axis = 0; axis < 3; axis++)
      k->cluster[axis] = axis < LLVMGetNumOperands(sides)
                             ? (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(sides, (unsigned)axis))
                             : 1;
  }
}

static void read_clusters(program *p) {
  LLVMValueRef all = LLVMGetNamedGlobal(p->module, "llvm.global.annotations");
  if (!all) return;
  LLVMValueRef list = LLVMGetInitializer(all);
  for (int i = 0; i < LLVMGetNumOperands(list); i++) read_cluster(p, LLVMGetOperand(list, (unsigned)i));
  LLVMDeleteGlobal(all);
}

LLVMMetadataRef variable_node(LLVMValueRef global) {
  size_t count;
  LLVMMetadataRef found = NULL;
  LLVMValueMetadataEntry *entries = LLVMGlobalCopyAllMetadata(global, &count);
  for (size_t i = 0; i < count; i++) {
    LLVMMetadataRef node = LLVMValueMetadataEntriesGetMetadata(entries, (unsigned)i);
    if (LLVMGetMetadataKind(node) == LLVMDIGlobalVariableExpressionMetadataKind)
      found = LLVMDIGlobalVariableExpressionGetVariable(node);
  }
  LLVMDisposeValueMetadataEntries(entries);
  return found;
}

static void add_variable(program *p, LLVMValueRef global, LLVMTargetDataRef device_layout) {
  LLVMMetadataRef node = variable_node(global);
  size_t length;
  p->variables = mw_realloc(p->variables, (p->variable_count + 1) * sizeof *p->variables);
  variable *v = &p->variables[p->variable_count++];
  *v = (variable){.global = global, .value_type = LLVMGlobalGetValueType(global)};
  v->linkage = mw_strdup(LLVMGetValueName2(global, &length));
  v->name = node ? qualified_name(p, node, OPERAND_VARIABLE_SCOPE, OPERAND_VARIABLE_NAME) : v->linkage;
  v->type = ctype_of(p, node ? metadata_operand(p, node, OPERAND_VARIABLE_TYPE) : NULL);
  v->size = LLVMABISizeOfType(device_layout, v->value_type);
  v->align = LLVMGetAlignment(global);
  if (!v->align) v->align = LLVMABIAlignmentOfType(device_layout, v->value_type);
  v->constant = LLVMGetPointerAddressSpace(LLVMTypeOf(global)) == 4;
  LLVMMetadataRef scope = node ? metadata_operand(p, node, OPERAND_VARIABLE_SCOPE) : NULL;
  v->internal = !node || (scope && LLVMGetMetadataKind(scope) == LLVMDISubprogramMetadataKind);
}

static void add_shared(program *p, LLVMValueRef global, LLVMTargetDataRef device_layout) {
  p->shareds = mw_realloc(p->shareds, (p->shared_count + 1) * sizeof *p->shareds);
  shared *s = &p->shareds[p->shared_count++];
  LLVMTypeRef type = LLVMGlobalGetValueType(global);
  *s = (shared){.global = global,
                .size = LLVMABISizeOfType(device_layout, type),
                .align = LLVMGetAlignment(global),
                .dynamic = LLVMIsDeclaration(global)};
  if (!s->align) s->align = LLVMABIAlignmentOfType(device_layout, type);
}

bool is_of_source(LLVMValueRef function) {
  size_t length;
  const char *name = LLVMGetValueName2(function, &length);
  return !LLVMIsDeclaration(function) && !starts_with(name, PTX_FUNCTION) && !starts_with(name, GUARD_FUNCTION);
}

/* Only kernels are entry points: what they do not reach is deleted, and alwaysinline functions are inlined, before
   anything is described. Variables that the host may name remain, even if unused. */
void keep_reachable(program *p) {
  static const char *const keepers[] = {"llvm.used", "llvm.compiler.used"};
  for (size_t i = 0; i < MW_COUNT(keepers); i++) {
    LLVMValueRef global = LLVMGetNamedGlobal(p->module, keepers[i]);
    if (global) LLVMDeleteGlobal(global);
  }
  for (LLVMValueRef next, g = LLVMGetFirstGlobal(p->module); g; g = next) {
    size_t length;
    next = LLVMGetNextGlobal(g);
    /* frontend.c's instance variables are no longer needed: their initialisers made clang instantiate the kernels */
    if (strstr(LLVMGetValueName2(g, &length), "__mw_instance_")) LLVMDeleteGlobal(g);
  }
  EACH_FUNCTION(p, f) {
    if (!is_of_source(f)) continue;
    LLVMSetComdat(f, NULL);
    LLVMSetLinkage(f, LLVMInternalLinkage);
  }
  for (size_t i = 0; i < p->kernel_count; i++) LLVMSetLinkage(p->kernels[i].body, LLVMExternalLinkage);
}

/* A function that fetches from a texture, such as tex2D<float>: its linkage name is _ZL, a length, and tex…. */
static bool is_fetch(LLVMValueRef f) {
  size_t length;
  const char *name = LLVMGetValueName2(f, &length);
  if (!is_of_source(f) || !starts_with(name, "_ZL")) return false;
  name += 3 + strspn(name + 3, "0123456789");
  return starts_with(name, "tex1D") || starts_with(name, "tex2D") || starts_with(name, "tex3D") ||
         starts_with(name, "texCubemap");
}

/* A fetch is hundreds of instructions, and the optimiser's time grows with the square of a function's size. So the
   fetches of a source that has very many of them stay functions, and the kernel is not vectorised. */
static void keep_many_fetches(program *p) {
  enum { MOST = TUNE_INLINED_FETCHES };
  size_t count = 0;
  if (p->options->gpu) return;
  EACH_FUNCTION(p, f) {
    if (!is_fetch(f)) continue;
    for (LLVMUseRef use = LLVMGetFirstUse(f); use; use = LLVMGetNextUse(use)) count++;
  }
  if (count <= MOST) return;
  EACH_FUNCTION(p, f) {
    if (!is_fetch(f)) continue;
    remove_attribute(f, "alwaysinline");
    add_attribute(p, f, "noinline");
  }
}

void inline_helpers(program *p) {
  keep_many_fetches(p);
  /* No simplification yet: operations that CUDA defines and LLVM does not are expanded later (retarget.c). Nor are
     values promoted to registers first, though that would save time, since inlining simplifies code with constant
     arguments. */
  if (p->options->launch_kernel) run_passes(p, "globaldce"); /* no inlining for other kernels */
  run_passes(p, "always-inline,globaldce");
}

/* Address spaces of the device target: 1 global, 3 shared, 4 constant. Constants that the host cannot write and whose
   address the source does not take (string literals, tables) remain read-only data. */
void read_globals(program *p) {
  LLVMTargetDataRef device_layout = LLVMCreateTargetData(LLVMGetDataLayoutStr(p->module));
  for (LLVMValueRef g = LLVMGetFirstGlobal(p->module); g; g = LLVMGetNextGlobal(g)) {
    size_t length;
    const char *name = LLVMGetValueName2(g, &length);
    unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(g));
    if (space == 3) {
      add_shared(p, g, device_layout);
    } else if (LLVMIsDeclaration(g)) {
      if (LLVMGetFirstUse(g))
        complain(p, NULL,
                 "the variable '%s' is declared extern but defined nowhere: define it in this source, or compile both "
                 "sources as one module, mw.compile { source = { one, other } } or mwcc one.cu other.cu",
                 name);
    } else if (!LLVMIsGlobalConstant(g) || LLVMIsExternallyInitialized(g)) {
      add_variable(p, g, device_layout);
    }
  }
  LLVMDisposeTargetData(device_layout);
}

bool program_position(LLVMValueRef value, const char **file, unsigned *line, unsigned *column) {
  unsigned length = 0;
  *line = LLVMGetDebugLocLine(value);
  *column = LLVMIsAInstruction(value) ? LLVMGetDebugLocColumn(value) : 0;
  const char *name = LLVMGetDebugLocFilename(value, &length);
  *file = name && length ? mw_format("%.*s", (int)length, name) : "";
  return *line != 0;
}

unsigned add_followed_site(program *p, LLVMValueRef i, const char *name, uint64_t bytes) {
  const char *file = NULL;
  unsigned line = 0, column;
  program_position(i, &file, &line, &column);
  mw_text_addf(&p->followed_sites, "//mw\tsite\t%u\t%u\t%s\t%s\n", line, (unsigned)bytes, name ? name : "",
               file ? file : "");
  return ++p->followed_site_count;
}

void report_decision(const program *p, const kernel *k, LLVMValueRef instruction, const char *text) {
  const char *file;
  unsigned line, column;
  if (p->options->report && program_position(instruction, &file, &line, &column))
    printf("kernel %s: %u:%u %s\n", k->linkage, line, column, text);
}

LLVMMetadataRef program_new_scope(program *p, const kernel *k, LLVMValueRef function) {
  if (!p->debug) {
    p->debug = LLVMCreateDIBuilder(p->module);
    p->debug_file = LLVMDIBuilderCreateFile(p->debug, k->file, strlen(k->file), ".", 1);
    LLVMDIBuilderCreateCompileUnit(p->debug, LLVMDWARFSourceLanguageC_plus_plus_14, p->debug_file, "moonwarp", 8, 1, "",
                                   0, 0, "", 0, LLVMDWARFEmissionLineTablesOnly, 0, 0, 0, "", 0, "", 0);
  }
  LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(p->debug, p->debug_file, NULL, 0, LLVMDIFlagZero);
  LLVMMetadataRef scope =
      LLVMDIBuilderCreateFunction(p->debug, p->debug_file, k->name, strlen(k->name), k->linkage, strlen(k->linkage),
                                  p->debug_file, (unsigned)k->line, type, 1, 1, (unsigned)k->line, LLVMDIFlagZero, 1);
  if (function) LLVMSetSubprogram(function, scope);
  return scope;
}

void complain(program *p, LLVMValueRef at, const char *format, ...) {
  const char *file;
  unsigned line, column;
  va_list args;
  va_start(args, format);
  if (at && program_position(at, &file, &line, &column))
    fprintf(stderr, "%s:%u:%u: error: ", file, line, column ? column : 1);
  else
    fprintf(stderr, "%s: error: ", p->options->input);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  p->complaints++;
}

static void forget_device_attributes(program *p) {
  static const char *const device_only[] = {"target-cpu", "target-features", "stack-protector-buffer-size",
                                            "uniform-work-group-size"};
  EACH_FUNCTION(p, f)
  for (size_t i = 0; i < MW_COUNT(device_only); i++)
    LLVMRemoveStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, device_only[i],
                                     (unsigned)strlen(device_only[i]));
}

/* Clang's bitcode; or IR as text (--only). */
static LLVMModuleRef parse(program *p) {
  const mw_text *text = &p->bitcode;
  LLVMModuleRef module;
  char *message = NULL;
  if (p->unit_count) return link_units(p);
  if (!p->options->is_ir) {
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(text->data, text->length, "bitcode", 0);
    if (LLVMParseBitcodeInContext2(p->context, buffer, &module)) die("clang's bitcode cannot be read by this LLVM");
    return module;
  }
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(text->data, text->length, "IR");
  if (LLVMParseIRInContext(p->context, buffer, &module, &message))
    die("%s cannot be read as IR: %s", p->options->input, message);
  return module;
}

void parse_bitcode(program *p) {
  p->module = parse(p);
  forget_device_attributes(p);
  read_kernels(p);
  read_clusters(p);
}

void strip_debug(program *p) {
  if (p->complaints) exit(1);
  run_passes(p, "strip-nonlinetable-debuginfo");
}
