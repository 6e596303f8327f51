/* Translation of inline PTX: asm statements become LLVM instructions and intrinsics.
 *
 *   asm("mad.lo.s32 %0, %1, %2, 7;" : "=r"(d) : "r"(a), "r"(b));   ->   d = a * b + 7
 *
 * It runs before any analysis, so that no later pass meets inline assembly. The text is straight-line code:
 * instructions that end with semicolons, optionally in braces, on operands and on registers that the text declares. A
 * predicate becomes a branch around its instruction (predication.c). Anything else is refused with the source position,
 * the instruction and the reason. */
#include "ptx.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ptx_refuse(ptx_statement *s, const char *what, const char *why) {
  if (!s->failed) complain(s->p, s->call, "inline PTX '%s' %s: write it in CUDA C, or use an intrinsic", what, why);
  s->failed = true;
}

/* ---- values ---- */

static LLVMTypeRef integer_type(ptx_statement *s, unsigned bits) { return LLVMIntTypeInContext(s->p->context, bits); }

unsigned ptx_bits_of(ptx_statement *s, LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMPointerTypeKind ? 64 : (unsigned)LLVMSizeOfTypeInBits(s->p->layout, type);
}

LLVMValueRef ptx_convert(ptx_statement *s, LLVMValueRef value, LLVMTypeRef type) {
  LLVMTypeRef from = LLVMTypeOf(value);
  if (from == type) return value;
  unsigned have = ptx_bits_of(s, from), want = ptx_bits_of(s, type);
  if (LLVMGetTypeKind(from) == LLVMPointerTypeKind)
    value = LLVMBuildPtrToInt(s->b, value, integer_type(s, 64), "");
  else if (LLVMGetTypeKind(from) != LLVMIntegerTypeKind)
    value = LLVMBuildBitCast(s->b, value, integer_type(s, have), "");
  if (have != want) value = LLVMBuildIntCast2(s->b, value, integer_type(s, want), 0, "");
  if (LLVMGetTypeKind(type) == LLVMPointerTypeKind) return LLVMBuildIntToPtr(s->b, value, type, "");
  return LLVMTypeOf(value) == type ? value : LLVMBuildBitCast(s->b, value, type, "");
}

bool ptx_type_of(ptx_statement *s, const char *name, ptx_type *out) {
  *out = (ptx_type){0};
  if (strcmp(name, "pred") == 0) {
    out->type = s->p->i1;
    out->bits = 1;
    return true;
  }
  if (!strchr("busf", name[0]) || !name[0] || !isdigit((unsigned char)name[1])) return false;
  out->bits = (unsigned)atoi(name + 1);
  out->is_signed = name[0] == 's';
  out->is_float = name[0] == 'f';
  if (out->bits != 8 && out->bits != 16 && out->bits != 32 && out->bits != 64) return false;
  if (name[1 + (out->bits > 9) + 1]) return false; /* f16x2 */
  if (out->is_float && out->bits < 16) return false;
  out->type = !out->is_float    ? integer_type(s, out->bits)
              : out->bits == 16 ? LLVMHalfTypeInContext(s->p->context)
              : out->bits == 32 ? LLVMFloatTypeInContext(s->p->context)
                                : LLVMDoubleTypeInContext(s->p->context);
  return true;
}

static ptx_variable *find_variable(ptx_statement *s, const char *name) {
  for (int i = s->count; i-- > 0;)
    if (strcmp(s->variables[i].name, name) == 0) return &s->variables[i];
  return NULL;
}

static ptx_variable *add_variable(ptx_statement *s, const char *name) {
  if (s->count == PTX_VARIABLES) {
    ptx_refuse(s, name, "is one register more than an asm statement may have");
    return &s->variables[0];
  }
  ptx_variable *made = &s->variables[s->count++];
  *made = (ptx_variable){0};
  snprintf(made->name, sizeof made->name, "%s", name);
  return made;
}

/* A PTX literal: decimal, 0x…, or 0f… and 0d… (the bits of a floating-point number). */
static LLVMValueRef read_constant(ptx_statement *s, const char *text, LLVMTypeRef type) {
  const char *digits = text + (text[0] == '-');
  if (!isdigit((unsigned char)digits[0])) return NULL;
  bool is_float = digits[0] == '0' && (digits[1] == 'f' || digits[1] == 'F' || digits[1] == 'd' || digits[1] == 'D');
  char *end;
  uint64_t bits = strtoull(is_float ? digits + 2 : digits, &end, is_float ? 16 : 0);
  if (*end == 'U') end++;
  if (*end) {
    double number = strtod(text, &end);
    return *end || LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? NULL : LLVMConstReal(type, number);
  }
  if (text[0] == '-') bits = -bits;
  return ptx_convert(s, LLVMConstInt(integer_type(s, ptx_bits_of(s, type)), bits, 0), type);
}

LLVMValueRef ptx_read(ptx_statement *s, const char *operand, LLVMTypeRef type) {
  ptx_variable *found = find_variable(s, operand);
  LLVMValueRef value = found ? found->value : NULL;
  if (!found) {
    value = read_constant(s, operand, type);
    if (!value) value = ptx_special(s, operand);
    if (!value) ptx_refuse(s, operand, "is not a register that the CPU device has");
  } else if (!value) {
    ptx_refuse(s, operand, "is read before it is written");
  }
  return value ? ptx_convert(s, value, type) : LLVMGetPoison(type);
}

void ptx_write(ptx_statement *s, const char *operand, LLVMValueRef value) {
  if (strcmp(operand, "_") == 0) return;
  ptx_variable *found = find_variable(s, operand);
  if (!found) {
    ptx_refuse(s, operand, "is written, but not declared");
    return;
  }
  found->value = found->type ? ptx_convert(s, value, found->type) : value;
}

bool ptx_has_modifier(const ptx_instruction *i, const char *modifier) {
  for (int n = 1; n < i->word_count; n++)
    if (strcmp(i->words[n], modifier) == 0) return true;
  return false;
}

LLVMTypeRef ptx_type_in(ptx_statement *s, const char *operand) {
  ptx_variable *found = find_variable(s, operand);
  return found && found->value ? LLVMTypeOf(found->value) : NULL;
}

int ptx_elements(const char *list, char names[PTX_ELEMENTS][PTX_NAME]) {
  const char *at = list + (*list == '{');
  int count = 0;
  for (; *at && *at != '}'; at += *at == ',') {
    size_t length = strcspn(at, ",}");
    if (count == PTX_ELEMENTS || length == 0) return 0;
    memcpy(names[count], at, length);
    names[count++][length] = 0;
    at += length;
  }
  return count;
}

void ptx_pair(const char *text, char first[PTX_NAME], char second[PTX_NAME]) {
  size_t length = strcspn(text, "|");
  memcpy(first, text, length);
  first[length] = 0;
  snprintf(second, PTX_NAME, "%s", text[length] ? text + length + 1 : "");
}

LLVMValueRef ptx_declared(ptx_statement *s, const char *name, LLVMTypeRef type) {
  LLVMValueRef function = LLVMGetNamedFunction(s->p->module, name);
  if (function) return function;
  function = LLVMAddFunction(s->p->module, name, type);
  add_attribute(s->p, function, "convergent");
  return function;
}

LLVMValueRef ptx_call(const ptx_source *x, const char *name, LLVMValueRef *arguments, unsigned count) {
  char *full = mw_format(PTX_FUNCTION "%s", name);
  LLVMValueRef function = LLVMGetNamedFunction(x->s->p->module, full);
  free(full);
  if (!function) return NULL;
  return LLVMBuildCall2(x->s->b, LLVMGlobalGetValueType(function), function, arguments, count, "");
}

/* ---- text ---- */

static const char *skip_space(const char *text) {
  while (isspace((unsigned char)*text)) text++;
  return text;
}

char *ptx_trim(char *text) {
  while (isspace((unsigned char)*text)) text++;
  char *end = text + strlen(text);
  while (end > text && isspace((unsigned char)end[-1])) *--end = 0;
  return text;
}

/* The text without comments, and with LLVM's operand syntax ${0} and ${0:modifier} written as $0. */
static char *plain_text(const char *text, size_t length) {
  char *plain = mw_alloc(length + 1), *out = plain;
  for (size_t i = 0; i < length; i++) {
    bool pair = i + 1 < length;
    if (pair && text[i] == '/' && text[i + 1] == '/') {
      while (i < length && text[i] != '\n') i++;
      *out++ = ' ';
    } else if (pair && text[i] == '/' && text[i + 1] == '*') {
      for (i += 2; i + 1 < length && !(text[i] == '*' && text[i + 1] == '/');) i++;
      i++;
      *out++ = ' ';
    } else if (pair && text[i] == '$' && text[i + 1] == '{') {
      *out++ = '$';
      for (i += 2; i < length && text[i] != '}' && text[i] != ':'; i++) *out++ = text[i];
      while (i < length && text[i] != '}') i++;
    } else {
      *out++ = text[i];
    }
  }
  *out = 0;
  return plain;
}

/* ".reg .u32 t1, t2" or ".reg .pred %p<4>" */
static void declare_registers(ptx_statement *s, char *text) {
  text = ptx_trim(text + strlen(".reg"));
  text += strcspn(text, " \t"); /* skip the type: a register has the type of its value */
  for (char *name = strtok(text, ","); name; name = strtok(NULL, ",")) {
    name = ptx_trim(name);
    char *many = strchr(name, '<');
    if (!many) {
      add_variable(s, name);
      continue;
    }
    *many = 0;
    int count = atoi(many + 1);
    for (int i = 0; i < count && !s->failed; i++) {
      char *numbered = mw_format("%s%d", name, i);
      add_variable(s, numbered);
      free(numbered);
    }
  }
}

/* Operands are separated by commas. A list in braces or brackets is one operand, and so is "d|p". */
static bool split_operands(ptx_instruction *i, const char *text) {
  int depth = 0;
  size_t length = 0;
  text = skip_space(text);
  if (!*text) return true;
  for (;; text++) {
    if (*text == '{' || *text == '[') depth++;
    if (*text == '}' || *text == ']') depth--;
    if (!*text || (*text == ',' && depth == 0)) {
      if (i->operand_count == PTX_OPERANDS || length == 0) return false;
      i->operands[i->operand_count++][length] = 0;
      length = 0;
      if (!*text) return true;
    } else if (!isspace((unsigned char)*text)) {
      if (length + 1 >= PTX_NAME || i->operand_count == PTX_OPERANDS) return false;
      i->operands[i->operand_count][length++] = *text;
    }
  }
}

bool ptx_split(ptx_instruction *i, const char *text) {
  *i = (ptx_instruction){0};
  while (*text && !isspace((unsigned char)*text)) {
    size_t length = strcspn(text, ". \t\n");
    if (i->word_count == PTX_WORDS || length >= PTX_NAME) return false;
    memcpy(i->words[i->word_count++], text, length);
    text += length;
    if (*text == '.') text++;
    if (*text == ':') return false;
  }
  return split_operands(i, text);
}

/* Instructions that are refused whatever their operands are. */
const char *ptx_reason(const char *text) {
  static const struct {
    const char *start, *why;
  } table[] = {
      {"wmma", "is a matrix instruction, which nvcuda::wmma of mma.h provides"},
      {"wgmma", "is for the tensor cores of compute capability 9.0a alone, where mma.sync is for all"},
      {"bra", "is control flow, which the CPU device takes from CUDA C only"},
      {"brx", "is control flow, which the CPU device takes from CUDA C only"},
      {"call", "is control flow, which the CPU device takes from CUDA C only"},
      {"ret", "is control flow, which the CPU device takes from CUDA C only"},
      {"tex", "reads a texture, which tex2D and its variants do"},
      {"tld4", "reads a texture, which tex2Dgather does"},
      {"suld", "reads a surface, which surf2Dread and its variants do"},
      {"sust", "writes a surface, which surf2Dwrite and its variants do"},
      {"tensormap", "changes a tensor map, which cuTensorMapEncodeTiled makes"},
      {".", "is a declaration"},
  };
  size_t word = strcspn(text, " \t.:");
  if (text[word] == ':') return "is a label, and the CPU device takes control flow from CUDA C only";
  for (size_t n = 0; n < MW_COUNT(table); n++)
    if (starts_with(text, table[n].start)) return table[n].why;
  return NULL;
}

static void translate_line(ptx_statement *s, char *text) {
  text = ptx_trim(text);
  if (!*text) return;
  if (starts_with(text, ".reg")) {
    declare_registers(s, text);
    return;
  }
  if (*text == '@') {
    ptx_translate_predicated(s, text);
    return;
  }
  ptx_instruction i;
  const char *why = ptx_reason(text);
  if (why)
    ptx_refuse(s, text, why);
  else if (!ptx_split(&i, text))
    ptx_refuse(s, text, "is not written as an instruction");
  else if (!ptx_translate(s, &i))
    ptx_refuse(s, text, PTX_UNKNOWN);
}

/* Semicolons end instructions. Braces around instructions are ignored rather than taken as scopes: find_variable()
   finds the latest declaration of a name, which is the innermost one. */
static void translate_text(ptx_statement *s, char *text) {
  int depth = 0;
  char *start = text;
  for (char *at = text; !s->failed; at++) {
    if (*at == '{' && skip_space(start) == at) {
      *at = ' ';
      start = at + 1;
    } else if (*at == '{') {
      depth++;
    } else if (*at == '}' && depth == 0) {
      *at = ' ';
    } else if (*at == '}') {
      depth--;
    } else if (*at == ';' || !*at) {
      bool last = !*at;
      *at = 0;
      translate_line(s, start);
      if (last) return;
      start = at + 1;
    }
  }
}

/* ---- a statement ---- */

/* Make variables of the operands: outputs come first, then inputs. An input whose constraint is a number is the initial
   value of that output. Returns the number of outputs. */
static int bind_operands(ptx_statement *s, const char *constraints, size_t length) {
  int outputs = 0, inputs = 0;
  LLVMTypeRef result = LLVMTypeOf(s->call);
  bool several = LLVMGetTypeKind(result) == LLVMStructTypeKind;
  for (const char *at = constraints, *end = constraints + length; at < end;) {
    const char *comma = memchr(at, ',', (size_t)(end - at));
    if (!comma) comma = end;
    char name[PTX_NAME];
    if (*at == '=') {
      snprintf(name, sizeof name, "$%d", outputs);
      ptx_variable *made = add_variable(s, name);
      made->type = several ? LLVMStructGetTypeAtIndex(result, (unsigned)outputs) : result;
      outputs++;
    } else if (*at != '~') {
      LLVMValueRef value = LLVMGetOperand(s->call, (unsigned)inputs);
      snprintf(name, sizeof name, "$%d", outputs + inputs);
      add_variable(s, name)->value = value;
      if (isdigit((unsigned char)*at)) s->variables[atoi(at)].value = value;
      inputs++;
    }
    at = comma + 1;
  }
  return outputs;
}

static void finish_statement(ptx_statement *s, int outputs) {
  LLVMTypeRef type = LLVMTypeOf(s->call);
  LLVMValueRef result = outputs ? LLVMGetPoison(type) : NULL;
  for (int i = 0; i < outputs; i++) {
    char name[PTX_NAME];
    snprintf(name, sizeof name, "$%d", i);
    LLVMValueRef value = ptx_read(s, name, s->variables[i].type);
    result = outputs == 1 ? value : LLVMBuildInsertValue(s->b, result, value, (unsigned)i, "");
  }
  if (result) LLVMReplaceAllUsesWith(s->call, result);
  LLVMInstructionEraseFromParent(s->call);
}

static void translate_statement(program *p, LLVMBuilderRef b, LLVMValueRef call) {
  LLVMValueRef callee = LLVMGetCalledValue(call);
  size_t text_length, constraints_length;
  const char *text = LLVMGetInlineAsmAsmString(callee, &text_length);
  const char *constraints = LLVMGetInlineAsmConstraintString(callee, &constraints_length);
  ptx_statement *s = mw_alloc(sizeof *s);
  *s = (ptx_statement){.p = p, .b = b, .call = call};
  LLVMPositionBuilderBefore(b, call);
  int outputs = bind_operands(s, constraints, constraints_length);
  add_variable(s, PTX_CARRY);
  char *plain = plain_text(text, text_length);
  ptx_shorten_wait_loop(plain);
  translate_text(s, plain);
  if (!s->failed) finish_statement(s, outputs);
  free(plain);
  free(s);
}

void translate_ptx(program *p) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    if (LLVMIsDeclaration(f)) continue;
    instructions list = instructions_of_function(f);
    for (size_t n = 0; n < list.count; n++)
      if (LLVMIsACallInst(list.items[n]) && LLVMIsAInlineAsm(LLVMGetCalledValue(list.items[n])))
        translate_statement(p, b, list.items[n]);
    free(list.items);
  }
  LLVMDisposeBuilder(b);
  EACH_FUNCTION(p, f) {
    size_t length;
    if (starts_with(LLVMGetValueName2(f, &length), PTX_FUNCTION)) LLVMSetLinkage(f, LLVMInternalLinkage);
  }
  if (p->complaints) quit(1);
}
