/* Predicated instructions of inline PTX become branches:
 *
 *   @p add.s32 d, d, 1;   ->   if (p) d = d + 1, with a phi for each register that the instruction writes
 *
 * A later pass (select-formation) turns those without side effects into selects. */
#include "ptx.h"

#include <string.h>

/* The registers' values at one place; comparing them with later ones shows which registers an instruction writes. */
typedef struct held {
  LLVMValueRef values[PTX_VARIABLES];
  int count;
} held;

static held registers_of(const ptx_statement *s) {
  held now = {.count = s->count};
  for (int n = 0; n < s->count; n++) now.values[n] = s->variables[n].value;
  return now;
}

/* Close the predicated block, where the builder is, with a branch to `after`, and make phis there for the registers
   that the instruction wrote. A register's value may have another type on each path: the wider type wins. */
static void join_registers(ptx_statement *s, const held *before, LLVMBasicBlockRef without, LLVMBasicBlockRef after) {
  LLVMBasicBlockRef with = LLVMGetInsertBlock(s->b), preds[2] = {with, without};
  LLVMValueRef ends[2] = {LLVMBuildBr(s->b, after), LLVMGetBasicBlockTerminator(without)};
  for (int n = 0; n < before->count; n++) {
    LLVMValueRef values[2] = {s->variables[n].value, before->values[n]};
    if (values[0] == values[1]) continue;
    LLVMTypeRef type = LLVMTypeOf(values[0]);
    if (values[1] && ptx_bits_of(s, LLVMTypeOf(values[1])) >= ptx_bits_of(s, type)) type = LLVMTypeOf(values[1]);
    for (int k = 0; k < 2; k++) {
      LLVMPositionBuilderBefore(s->b, ends[k]);
      values[k] = values[k] ? ptx_convert(s, values[k], type) : LLVMGetPoison(type);
    }
    LLVMPositionBuilderBefore(s->b, s->call);
    LLVMValueRef joined = LLVMBuildPhi(s->b, type, "");
    LLVMAddIncoming(joined, values, preds, 2);
    s->variables[n].value = joined;
  }
  LLVMPositionBuilderBefore(s->b, s->call);
}

/* "@p add…" and "@!p st…" */
void ptx_translate_predicated(ptx_statement *s, char *text) {
  bool negated = text[1] == '!';
  char *name = text + 1 + negated, *end = name + strcspn(name, " \t");
  if (*end) *end++ = 0;
  end = ptx_trim(end);
  ptx_instruction i;
  const char *why = ptx_reason(end);
  if (why || !ptx_split(&i, end)) {
    ptx_refuse(s, end, why ? why : "is not written as an instruction");
    return;
  }
  LLVMValueRef predicate = ptx_read(s, name, s->p->i1);
  if (negated) predicate = LLVMBuildNot(s->b, predicate, "");
  held before = registers_of(s);
  LLVMBasicBlockRef after = LLVMGetInstructionParent(s->call), head = split_block(s->p, s->call);
  LLVMBasicBlockRef with = LLVMInsertBasicBlockInContext(s->p->context, after, "ptx");
  LLVMPositionBuilderAtEnd(s->b, head);
  LLVMBuildCondBr(s->b, predicate, with, after);
  LLVMPositionBuilderAtEnd(s->b, with);
  LLVMSetCurrentDebugLocation2(s->b, LLVMInstructionGetDebugLoc(s->call));
  if (!ptx_translate(s, &i)) ptx_refuse(s, end, PTX_UNKNOWN);
  join_registers(s, &before, head, after);
}
