/* Inline PTX under a predicate. */
#include "ptx.h"

#include <string.h>

/* What the registers hold, to see what an instruction changes. */
typedef struct held {
  LLVMValueRef values[PTX_VARIABLES];
  int count;
} held;

static held registers_of(const ptx_statement *s) {
  held now = {.count = s->count};
  for (int n = 0; n < s->count; n++) now.values[n] = s->variables[n].value;
  return now;
}

/* Registers that the instruction wrote where the predicate holds, the builder being behind it; and what they held. */
static void join_registers(ptx_statement *s, const held *before, LLVMBasicBlockRef without, LLVMBasicBlockRef behind) {
  LLVMBasicBlockRef with = LLVMGetInsertBlock(s->b), ways[2] = {with, without};
  LLVMValueRef ends[2] = {LLVMBuildBr(s->b, behind), LLVMGetBasicBlockTerminator(without)};
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
    LLVMAddIncoming(joined, values, ways, 2);
    s->variables[n].value = joined;
  }
  LLVMPositionBuilderBefore(s->b, s->call);
}

/* "@p add…" and "@!p st…": a branch around the instruction. What only chooses between values becomes a selection later. */
void ptx_translate_predicated(ptx_statement *s, char *text) {
  bool negated = text[1] == '!';
  char *name = text + 1 + negated, *end = name + strcspn(name, " \t");
  if (*end) *end++ = 0;
  end = ptx_trim(end);
  ptx_instruction i;
  const char *why = ptx_reason(end);
  if (why || !ptx_split(&i, end)) {
    ptx_refuse(s, end, why ? why : "is not an instruction that the CPU device reads");
    return;
  }
  LLVMValueRef predicate = ptx_read(s, name, s->p->i1);
  if (negated) predicate = LLVMBuildNot(s->b, predicate, "");
  held before = registers_of(s);
  LLVMBasicBlockRef behind = LLVMGetInstructionParent(s->call), head = split_block(s->p, s->call);
  LLVMBasicBlockRef with = LLVMInsertBasicBlockInContext(s->p->context, behind, "ptx");
  LLVMPositionBuilderAtEnd(s->b, head);
  LLVMBuildCondBr(s->b, predicate, with, behind);
  LLVMPositionBuilderAtEnd(s->b, with);
  LLVMSetCurrentDebugLocation2(s->b, LLVMInstructionGetDebugLoc(s->call));
  if (!ptx_translate(s, &i)) ptx_refuse(s, end, PTX_UNKNOWN);
  join_registers(s, &before, head, behind);
}
