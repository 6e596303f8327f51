/* Common subexpression elimination of helper calls: two calls with the same arguments become one, so that the sine and
 * the cosine of an angle share its reduction.
 *
 * LLVM does this by itself for inlined helpers without branches, but not for those with branches: two merges of the
 * same branch are two values. So the device headers mark such helpers (__mw_mergeable, which clang sees as "const"),
 * and they are inlined after all others, when equal calls have been merged. */
#include "mwcc/mwcc.h"
#include "prepare.h"
#include "mwcc/read/read.h"

#include <string.h>

static const char MARK[] = "mw.mergeable";

static bool is_marked(LLVMValueRef f) {
  return LLVMGetStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, MARK, sizeof MARK - 1) !=
         NULL;
}

/* Only marks of the device headers are trusted: a "const" function of the source may still read ids, which differ
   between threads. */
static void mark_mergeable(program *p, LLVMValueRef f) {
  const LLVMAttributeIndex whole = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
  LLVMAttributeRef memory = LLVMGetEnumAttributeAtIndex(f, whole, LLVMGetEnumAttributeKindForName("memory", 6));
  size_t length;
  if (!memory || LLVMGetEnumAttributeValue(memory) || !strstr(LLVMGetValueName2(f, &length), "__mw_")) return;
  add_text_attribute(p, f, MARK, "");
  remove_attribute(f, "alwaysinline");
  add_attribute(p, f, "noinline");
}

void mark_pure_helpers(program *p) {
  if (p->options->checks & MW_CHECK_INITIALISATION)
    return; /* value_check.c follows values through inlined helpers only */
  EACH_FUNCTION(p, f) {
    if (is_of_source(f)) mark_mergeable(p, f);
  }
}

/* Calls in device code are `convergent`, which prevents merging them. */
static size_t release_calls(LLVMValueRef f) {
  const LLVMAttributeIndex whole = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
  const unsigned convergent = LLVMGetEnumAttributeKindForName("convergent", 10);
  size_t calls = 0;
  for (LLVMUseRef use = LLVMGetFirstUse(f); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef call = LLVMGetUser(use);
    if (!LLVMIsACallInst(call)) continue;
    LLVMRemoveCallSiteEnumAttribute(call, whole, convergent);
    calls++;
  }
  return calls;
}

bool merge_pure_calls(program *p) {
  bool some = false, several = false;
  EACH_FUNCTION(p, f) {
    if (LLVMIsDeclaration(f) || !is_marked(f)) continue;
    some = true;
    if (release_calls(f) < 2) continue;
    several = true;
    remove_attribute(f, "convergent");
    LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(p->context, LLVMGetEnumAttributeKindForName("memory", 6), 0));
  }
  if (several) run_passes(p, "function(sroa<modify-cfg>,early-cse<memssa>)");
  EACH_FUNCTION(p, f) {
    if (LLVMIsDeclaration(f) || !is_marked(f)) continue;
    remove_attribute(f, "noinline");
    add_attribute(p, f, "alwaysinline");
  }
  if (some) run_passes(p, "always-inline,globaldce");
  return several;
}
