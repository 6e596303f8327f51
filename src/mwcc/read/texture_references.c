/* Texture and surface references: the variables that are references, their declarations, and how kernels read them.
 *
 * Before: clang makes each an uninitialised 64-bit global of address space 1, marked in !nvvm.annotations, and reads it
 * by an intrinsic that names the global. After: it is an ordinary variable, which holds the handle that the host stores
 * there, and is read by a load. Bindings change between launches only, so the load is invariant; so are loads of the
 * descriptor that a handle points to, which the device headers mark by a built-in. */
#include "mwcc/mwcc.h"
#include "read.h"

#include <stdlib.h>
#include <string.h>

#define INTRINSIC "llvm.nvvm.texsurf.handle.internal"
#define READ_ONLY "llvm.nvvm.ldg.global." /* clang's __nvvm_ldg_*, by which fetches read descriptors */

static variable *find_variable(program *p, LLVMValueRef global) {
  for (size_t i = 0; i < p->variable_count; i++)
    if (p->variables[i].global == global) return &p->variables[i];
  return NULL;
}

/* ---- declarations ---- */

/* Declarations follow from the class templates in texture_types.h: the name "texture<uchar4, 2,
   (cudaTextureReadMode)1>", and the member __mw_element, an array of no pointers to the element type. */

static const ctype *element_of(const ctype *type) {
  for (size_t i = 0; i < type->type.count; i++)
    if (strcmp(type->fields[i].name, "__mw_element") == 0) return type->fields[i].type->element->element;
  return NULL;
}

/* The template argument at place `skip` from the end of the name; the type before may contain commas. */
static const char *argument_in(const char *name, int skip) {
  const char *at = name + strlen(name);
  for (; skip >= 0 && at > name; skip--)
    for (at--; at > name && *at != ',';) at--;
  if (*at == ',') at++;
  return at + strspn(at, " ");
}

/* An enumerator is a number after a cast, or (clang 20 and later) its name. */
static mw_read_mode read_in(const char *argument) {
  const char *cast = *argument == '(' ? strchr(argument, ')') : NULL;
  bool normalized = cast ? atoi(cast + 1) == 1 : strstr(argument, "NormalizedFloat") != NULL;
  return normalized ? MW_READ_NORMALIZED : MW_READ_ELEMENT;
}

/* The name as in the source: with the enumerator, not a number after a cast. */
static void name_read_mode(variable *v) {
  const char *name = v->type->type.name, *cast = strstr(name, "(cudaTextureReadMode)");
  if (!cast) return;
  v->type->type.name =
      mw_format("%.*s%s>", (int)(cast - name), name,
                v->read == MW_READ_NORMALIZED ? "cudaReadModeNormalizedFloat" : "cudaReadModeElementType");
}

static void declare(program *p, LLVMValueRef global, mw_reference_kind kind) {
  variable *v = find_variable(p, global);
  if (!v) return;
  const ctype *element = v->type->type.kind == MW_TYPE_STRUCT ? element_of(v->type) : NULL;
  if (!element) die("the debug information of %s lacks the element type", v->name);
  bool texture = kind == MW_REFERENCE_TEXTURE;
  v->reference = kind;
  v->element = element;
  v->dimensions = atoi(argument_in(v->type->type.name, texture ? 1 : 0));
  v->read = texture ? read_in(argument_in(v->type->type.name, 0)) : MW_READ_ELEMENT;
  if (texture) name_read_mode(v);
}

static void read_annotations(program *p) {
  LLVMNamedMDNodeRef annotations = LLVMGetNamedMetadata(p->module, "nvvm.annotations", 16);
  unsigned count = annotations ? LLVMGetNamedMetadataNumOperands(p->module, "nvvm.annotations") : 0;
  LLVMValueRef *nodes = mw_alloc((count + 1) * sizeof *nodes);
  if (count) LLVMGetNamedMetadataOperands(p->module, "nvvm.annotations", nodes);
  for (unsigned i = 0; i < count; i++) {
    LLVMValueRef items[3];
    unsigned length;
    if (LLVMGetMDNodeNumOperands(nodes[i]) != 3) continue;
    LLVMGetMDNodeOperands(nodes[i], items);
    const char *key = items[0] && items[1] && LLVMIsAGlobalVariable(items[0]) ? LLVMGetMDString(items[1], &length) : "";
    if (strcmp(key, "texture") == 0) declare(p, items[0], MW_REFERENCE_TEXTURE);
    if (strcmp(key, "surface") == 0) declare(p, items[0], MW_REFERENCE_SURFACE);
  }
  free(nodes);
}

/* ---- reads ---- */

static void lower_read(program *p, LLVMBuilderRef b, LLVMValueRef call) {
  LLVMPositionBuilderBefore(b, call);
  LLVMValueRef load = LLVMBuildLoad2(b, p->i64, LLVMGetOperand(call, 0), "");
  mark_invariant(p, load);
  LLVMReplaceAllUsesWith(call, load);
  LLVMInstructionEraseFromParent(call);
}

/* The call's arguments are the address and the alignment. A loaded pointer must not be mistaken for a parameter of the
   launch. */
static void lower_read_only(program *p, LLVMBuilderRef b, LLVMValueRef call) {
  LLVMTypeRef type = LLVMTypeOf(call);
  LLVMPositionBuilderBefore(b, call);
  LLVMValueRef load = LLVMBuildLoad2(b, type, LLVMGetOperand(call, 0), "");
  LLVMSetAlignment(load, (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(call, 1)));
  if (LLVMGetTypeKind(type) != LLVMPointerTypeKind) mark_invariant(p, load);
  LLVMReplaceAllUsesWith(call, load);
  LLVMInstructionEraseFromParent(call);
}

void read_references(program *p) {
  read_annotations(p);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    instructions list = instructions_of_function(f);
    for (size_t i = 0; i < list.count; i++) {
      if (!LLVMIsACallInst(list.items[i])) continue;
      const char *name = callee_name(list.items[i]);
      if (starts_with(name, INTRINSIC)) lower_read(p, b, list.items[i]);
      if (starts_with(name, READ_ONLY)) lower_read_only(p, b, list.items[i]);
    }
    free(list.items);
  }
  LLVMDisposeBuilder(b);
}

bool is_reference(const program *p, LLVMValueRef value) {
  if (!LLVMIsAGlobalVariable(value)) return false;
  for (size_t i = 0; i < p->variable_count; i++)
    if (p->variables[i].global == value) return p->variables[i].reference != 0;
  return false;
}
