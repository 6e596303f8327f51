/* Several units as one module: functions and variables of one that another only declares are found by their names. */
#include "read.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Linker.h>

#include <string.h>

/* LLVM says "Linking globals named 'k': symbol multiply defined!". */
static void report(LLVMDiagnosticInfoRef info, void *context) {
  (void)context;
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError) return;
  char *message = LLVMGetDiagInfoDescription(info);
  const char *open = strchr(message, '\''), *close = open ? strchr(open + 1, '\'') : NULL;
  if (!strstr(message, "multiply defined") || !close) die("the sources cannot be linked: %s", message);
  die("'%.*s' is defined in two of the module's sources: declare it in one of them, as extern, or make it static",
      (int)(close - open - 1), open + 1);
}

/* Functions that mwcc adds to each source (front/frontend.c) are the same in all. */
static void merge_own(LLVMModuleRef module) {
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    size_t length;
    if (!LLVMIsDeclaration(f) && strncmp(LLVMGetValueName2(f, &length), "__mw_", 5) == 0 &&
        LLVMGetLinkage(f) == LLVMExternalLinkage)
      LLVMSetLinkage(f, LLVMWeakODRLinkage);
  }
}

static LLVMModuleRef parse(program *p, const mw_text *unit) {
  LLVMModuleRef module;
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(unit->data, unit->length, "unit", 0);
  if (LLVMParseBitcodeInContext2(p->context, buffer, &module)) die("clang's bitcode cannot be read by this LLVM");
  merge_own(module);
  return module;
}

LLVMModuleRef link_units(program *p) {
  LLVMContextSetDiagnosticHandler(p->context, report, NULL);
  LLVMModuleRef whole = parse(p, &p->units[0]);
  for (size_t i = 1; i < p->unit_count; i++)
    if (LLVMLinkModules2(whole, parse(p, &p->units[i]))) die("the sources cannot be linked");
  LLVMContextSetDiagnosticHandler(p->context, NULL, NULL);
  LLVMMemoryBufferRef linked = LLVMWriteBitcodeToMemoryBuffer(whole);
  mw_text_add(&p->bitcode, LLVMGetBufferStart(linked), LLVMGetBufferSize(linked));
  LLVMDisposeMemoryBuffer(linked);
  return whole;
}
