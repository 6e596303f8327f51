/* Cold helpers: functions that are large and rarely executed stay out of line, and vector code calls them with
 * vectors.
 *
 * The sine of an angle beyond 2^17 needs an argument reduction with many bits of 2/pi, after a branch that hardly any
 * gang takes. If inlined, such code is duplicated for each vector of a gang. The device headers mark such helpers
 * (__mw_cold, which clang sees as "cold"). They stay functions until kernels are widened; then vector code calls a
 * variant that takes a vector, and all other calls are inlined.
 *
 * They are branch-free arithmetic on numbers: any lane may execute them, active or not. */
#include "mwcc/analysis/simt.h"
#include "mwcc/analysis/analysis.h"
#include "prepare.h"
#include "mwcc/read/read.h"

#include <stdlib.h>
#include <string.h>

static const char MARK[] = COLD_HELPER;
static const LLVMAttributeIndex WHOLE = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;

/* Only marks of the device headers are trusted. */
static void mark_cold(program *p, LLVMValueRef f) {
  size_t length;
  bool cold = LLVMGetEnumAttributeAtIndex(f, WHOLE, LLVMGetEnumAttributeKindForName("cold", 4));
  if (!cold || !strstr(LLVMGetValueName2(f, &length), "__mw_")) return;
  remove_attribute(f, "cold");
  if (p->options->width == 1 || !p->options->level || p->options->check_memory) return;
  add_text_attribute(p, f, MARK, "");
  remove_attribute(f, "alwaysinline");
  remove_attribute(f, "convergent");
  add_attribute(p, f, "noinline");
  add_attribute(p, f, "willreturn");
  LLVMAddAttributeAtIndex(f, WHOLE,
                          LLVMCreateEnumAttribute(p->context, LLVMGetEnumAttributeKindForName("memory", 6), 0));
  const unsigned convergent = LLVMGetEnumAttributeKindForName("convergent", 10);
  for (LLVMUseRef use = LLVMGetFirstUse(f); use; use = LLVMGetNextUse(use))
    if (LLVMIsACallInst(LLVMGetUser(use))) LLVMRemoveCallSiteEnumAttribute(LLVMGetUser(use), WHOLE, convergent);
}

void mark_cold_helpers(program *p) {
  EACH_FUNCTION(p, f) {
    if (is_of_source(f)) mark_cold(p, f);
  }
}

/* ---- inlining those that remain ---- */

void inline_cold(program *p) {
  bool some = false;
  for (LLVMValueRef next, f = LLVMGetFirstFunction(p->module); f; f = next) {
    next = LLVMGetNextFunction(f);
    if (!is_cold_helper(f)) continue;
    if (!LLVMGetFirstUse(f)) {
      LLVMDeleteFunction(f);
      continue;
    }
    LLVMRemoveStringAttributeAtIndex(f, WHOLE, MARK, sizeof MARK - 1);
    remove_attribute(f, "noinline");
    add_attribute(p, f, "alwaysinline");
    some = true;
  }
  if (some) run_passes(p, "always-inline");
}
