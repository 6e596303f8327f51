/* Loops that lanes may leave only after others have done something: those whose exit depends on what another thread
 * writes meanwhile. A loop that tries compare-and-swap until it succeeds is one as well: an H100 lets each lane go on
 * as it leaves such a loop, and does not bring them together after it. */
#include "convergence.h"

#include <stdlib.h>
#include <string.h>

/* The values in the loop on which its exits depend. */
typedef struct slice {
  const convergence *c;
  const loop *l;
  LLVMValueRef *items;
  size_t count;
} slice;

static bool is_inside(const slice *s, LLVMValueRef value) {
  if (!LLVMIsAInstruction(value)) return false;
  return s->l->contains[convergence_index(s->c, LLVMGetInstructionParent(value))];
}

static void add_value(slice *s, LLVMValueRef value) {
  if (!is_inside(s, value)) return;
  for (size_t i = 0; i < s->count; i++)
    if (s->items[i] == value) return;
  s->items = mw_realloc(s->items, (s->count + 1) * sizeof *s->items);
  s->items[s->count++] = value;
}

static void add_operands(slice *s, LLVMValueRef i) {
  if (LLVMIsAPHINode(i)) {
    for (unsigned k = 0; k < LLVMCountIncoming(i); k++) add_value(s, LLVMGetIncomingValue(i, k));
    return;
  }
  for (int k = 0; k < LLVMGetNumOperands(i); k++) add_value(s, LLVMGetOperand(i, (unsigned)k));
}

static bool call_observes(LLVMValueRef call) {
  LLVMValueRef code = LLVMGetCalledValue(call);
  size_t length;
  if (!LLVMIsAInlineAsm(code)) return LLVMIsAFunction(code) ? LLVMGetIntrinsicID(code) == 0 : true;
  const char *text = LLVMGetInlineAsmAsmString(code, &length);
  return strstr(text, "ld.") || strstr(text, "atom.");
}

/* Whether other threads decide its result. */
static bool observes_others(LLVMValueRef i) {
  if (LLVMIsALoadInst(i)) return LLVMGetVolatile(i) || LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic;
  return LLVMIsAAtomicCmpXchgInst(i) || LLVMIsAAtomicRMWInst(i) || (LLVMIsACallInst(i) && call_observes(i));
}

static void add_exits(slice *s) {
  for (int n = 0; n < s->c->count; n++)
    for (int i = 0; s->l->contains[n] && i < s->c->succ_count[n]; i++) {
      LLVMValueRef end = LLVMGetBasicBlockTerminator(s->c->blocks[n]);
      if (!s->l->contains[s->c->succs[n][i]] && s->c->succ_count[n] == 2) add_value(s, LLVMGetCondition(end));
    }
}

bool is_waiting_loop(const convergence *c, const loop *l) {
  slice s = {.c = c, .l = l};
  bool waits = false;
  add_exits(&s);
  for (size_t i = 0; i < s.count && !waits; i++) {
    waits = observes_others(s.items[i]);
    add_operands(&s, s.items[i]);
  }
  free(s.items);
  return waits;
}
