/* Texture and surface functions in measured code (--observe=code) of the CPU device, where they are functions of the
 * headers with loads and branches of their own: a GPU has one instruction for each of them. Calls around each say where
 * it begins, whether it writes, and where it ends; prepare/observe/watch_markers.c counts one access there, and nothing
 * else.
 *
 * Before: calls as in the source. After: the same, with the calls, which no pass moves or deletes. */
#include "mwcc/support/predicates.h"
#include "read.h"

#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

/* "tex2DLod…" of "_ZL8tex2DLodIfET_yfff", and the name's length. */
static const char *identifier_of(const char *mangled, size_t *length) {
  char *at;
  *length = 0;
  if (!starts_with(mangled, "_Z")) return mangled;
  *length = strtoul(mangled + 2 + (mangled[2] == 'L'), &at, 10);
  return at;
}

/* The headers' functions have no debug information, unlike those of the program. NULL: it is another function. */
static const char *marker_of(LLVMValueRef call) {
  LLVMValueRef function = LLVMIsACallInst(call) ? LLVMGetCalledValue(call) : NULL;
  if (!function || !LLVMIsAFunction(function) || LLVMIsDeclaration(function) || LLVMGetSubprogram(function))
    return NULL;
  size_t length;
  const char *name = identifier_of(callee_name(call), &length);
  bool is_surface = starts_with(name, "surf1D") || starts_with(name, "surf2D") || starts_with(name, "surf3D") ||
                    starts_with(name, "surfCubemap");
  bool is_texture = starts_with(name, "tex1D") || starts_with(name, "tex2D") || starts_with(name, "tex3D") ||
                    starts_with(name, "texCubemap");
  if (!is_surface && !is_texture) return NULL;
  static const char write[] = "write";
  bool writes = is_surface && length >= sizeof write - 1 &&
                strncmp(name + length - (sizeof write - 1), write, sizeof write - 1) == 0;
  return writes ? TEXTURE_WRITE : TEXTURE_READ;
}

static LLVMValueRef declared(program *p, const char *name, LLVMTypeRef type) {
  LLVMValueRef f = LLVMGetNamedFunction(p->module, name);
  if (f) return f;
  f = LLVMAddFunction(p->module, name, type);
  add_attribute(p, f, "convergent");
  add_attribute(p, f, "nounwind");
  add_attribute(p, f, "memory"); /* of none, so that loads before and after it are those of the program */
  return f;
}

void mark_texture_calls(program *p) {
  if (!(p->options->observe & MW_OBSERVE_CODE)) return;
  LLVMTypeRef type = LLVMFunctionType(p->void_type, NULL, 0, 0);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    if (LLVMIsDeclaration(f)) continue;
    instructions list = instructions_of_function(f);
    for (size_t n = 0; n < list.count; n++) {
      LLVMValueRef call = list.items[n];
      const char *marker = marker_of(call);
      if (!marker) continue;
      LLVMPositionBuilderBefore(b, call);
      LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(call));
      LLVMBuildCall2(b, type, declared(p, marker, type), NULL, 0, "");
      LLVMPositionBuilderBefore(b, LLVMGetNextInstruction(call));
      LLVMBuildCall2(b, type, declared(p, TEXTURE_END, type), NULL, 0, "");
    }
    free(list.items);
  }
  LLVMDisposeBuilder(b);
}
