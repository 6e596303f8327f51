/* Helpers that are seldom needed, and then a lot of code: lanes call them, a vector at a time.
 *
 * A sine of an angle beyond 2^17 has its bits of 2/pi looked out and multiplied, behind a branch that hardly a gang takes.
 * Inlined, that was a third of the code of a kernel with a sine, for each part of a gang once more. The device headers mark
 * such helpers (__mw_seldom, which clang sees as "cold"). They are left as functions until lanes are vectors; of each that
 * lanes call there is one then that takes a vector, and what else calls them has them inlined.
 *
 * They are straight arithmetic of numbers: any lane may run them, be it active or not. */
#include "mwcc/analysis/simt.h"
#include "mwcc/analysis/analysis.h"
#include "prepare.h"
#include "mwcc/read/read.h"

#include <stdlib.h>
#include <string.h>

static const char MARK[] = COLD_HELPER;
static const LLVMAttributeIndex WHOLE = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;

/* Only the headers' own are believed. */
static void mark_seldom(program *p, LLVMValueRef f) {
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
    if (is_of_source(f)) mark_seldom(p, f);
  }
}

/* ---- of one thread ---- */

void inline_seldom(program *p) {
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
