/* Functions of kernels in lanes, which LLVM optimises by a pipeline of their own, also in modules with kernels that run
 * thread by thread. LLVM's pass manager has no list of functions to run on: it runs optional passes on all but those
 * that have the attribute optnone. So the other functions get it while a pipeline runs. */
#include "mwcc/mwcc.h"
#include "mwcc/analysis/analysis.h"
#include "mwcc/support/predicates.h"
#include "codegen.h"

#include <string.h>

enum { WHOLE = (int)LLVMAttributeFunctionIndex };

/* Marks of hidden functions: what optnone excludes or needs, to be restored. */
static const char HIDDEN[] = "mw.hidden", SIZED[] = "mw.optsize", INLINABLE[] = "mw.inlinable";

bool is_one_lane(const kernel *k) {
  return k->variant_count && k->variants[0].cut.lanes * k->variants[0].cut.vectors == 1;
}

static void mark(program *p, LLVMValueRef f) {
  if (f) add_text_attribute(p, f, LANE_CODE, "");
}

static void mark_kernel(program *p, const kernel *k) {
  mark(p, k->run), mark(p, k->general), mark(p, k->thread_function), mark(p, k->iterations);
  for (int n = 0; n < k->variant_count; n++) mark(p, k->variants[n].function), mark(p, k->variants[n].fallback);
}

void mark_lane_code(program *p) {
  size_t count = 0;
  for (size_t i = 0; i < p->kernel_count; i++) {
    const kernel *k = &p->kernels[i];
    if (!k->variant_count || is_one_lane(k)) continue;
    mark_kernel(p, k);
    count++;
  }
  p->some_in_lanes = count > 0;
  p->all_in_lanes = count && count == p->kernel_count;
}

static bool has(LLVMValueRef f, const char *attribute) {
  return LLVMGetEnumAttributeAtIndex(f, (LLVMAttributeIndex)WHOLE,
                                     LLVMGetEnumAttributeKindForName(attribute, strlen(attribute)));
}

/* Whether the function had the mark, which it has no longer. */
static bool take_mark(LLVMValueRef f, const char *mark) {
  unsigned length = (unsigned)strlen(mark);
  bool had = LLVMGetStringAttributeAtIndex(f, (LLVMAttributeIndex)WHOLE, mark, length);
  if (had) LLVMRemoveStringAttributeAtIndex(f, (LLVMAttributeIndex)WHOLE, mark, length);
  return had;
}

static void hide(program *p, LLVMValueRef f) {
  add_text_attribute(p, f, HIDDEN, "");
  if (has(f, "optsize")) add_text_attribute(p, f, SIZED, "");
  if (!has(f, "noinline")) add_text_attribute(p, f, INLINABLE, "");
  remove_attribute(f, "optsize");
  add_attribute(p, f, "noinline");
  add_attribute(p, f, "optnone");
}

static void show(program *p, LLVMValueRef f) {
  if (!take_mark(f, HIDDEN)) return;
  remove_attribute(f, "optnone");
  if (take_mark(f, INLINABLE)) remove_attribute(f, "noinline");
  if (take_mark(f, SIZED)) add_attribute(p, f, "optsize");
}

void run_passes_on(program *p, bool lanes, const char *passes) {
  EACH_FUNCTION(p, f) {
    bool stays = LLVMIsDeclaration(f) || has(f, "optnone") || has(f, "alwaysinline");
    if (!stays && is_lane_code(p, f) != lanes) hide(p, f);
  }
  run_passes(p, passes);
  EACH_FUNCTION(p, f) { show(p, f); }
}
