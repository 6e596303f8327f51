/* Inline PTX: what the reader of its text (parse.c) and the instructions (instructions.c) share. */
#ifndef MWCC_PTX_H
#define MWCC_PTX_H

#include "mwcc/mwcc.h"

enum { PTX_NAME = 64, PTX_OPERANDS = 8, PTX_PARTS = 12, PTX_VARIABLES = 64, PTX_ELEMENTS = 4 };

#define PTX_UNKNOWN "is not among the instructions that the CPU device translates"

/* The carry is a register that instructions with .cc write; it is not kept from one statement to the next. */
#define PTX_CARRY "%cc"

/* One asm statement: its operands $0 …, and the registers that it declares. All are values by name, kept as they came. */
typedef struct ptx_variable {
  char name[PTX_NAME];
  LLVMTypeRef type;   /* what the statement's output has; NULL: whatever is stored */
  LLVMValueRef value; /* NULL: not written yet */
} ptx_variable;

typedef struct ptx_statement {
  program *p;
  LLVMBuilderRef b; /* stands before the call */
  LLVMValueRef call;
  ptx_variable variables[PTX_VARIABLES];
  int count;
  bool failed;
} ptx_statement;

/* One instruction: "mad.lo.s32 $0, $1, 5, %r7" has the parts mad, lo, s32. */
typedef struct ptx_instruction {
  char parts[PTX_PARTS][PTX_NAME];
  int part_count;
  char operands[PTX_OPERANDS][PTX_NAME];
  int operand_count;
} ptx_instruction;

/* The last part as a type: b32 u64 s16 f32 pred … */
typedef struct ptx_type {
  LLVMTypeRef type;
  unsigned bits;
  bool is_signed, is_float;
} ptx_type;

/* Complain about the statement, once: '<what>' <why>. */
void ptx_refuse(ptx_statement *s, const char *what, const char *why);
bool ptx_type_of(ptx_statement *s, const char *name, ptx_type *out);
/* An operand's value as the type; complains, and gives an undefined value, where there is none. */
LLVMValueRef ptx_read(ptx_statement *s, const char *operand, LLVMTypeRef type);
void ptx_write(ptx_statement *s, const char *operand, LLVMValueRef value);
/* The same bits as another type; an integer is cut or extended by zeros. */
LLVMValueRef ptx_convert(ptx_statement *s, LLVMValueRef value, LLVMTypeRef type);
unsigned ptx_bits_of(ptx_statement *s, LLVMTypeRef type);
/* The type that a register's value has as it stands, or NULL. */
LLVMTypeRef ptx_type_in(ptx_statement *s, const char *operand);
bool ptx_has_part(const ptx_instruction *i, const char *part);
/* The names in "{a,b,c,d}", or the one that stands alone; how many, 0: too many. */
int ptx_elements(const char *list, char names[PTX_ELEMENTS][PTX_NAME]);
/* The two of "a|b"; the second is empty where there is one. */
void ptx_pair(const char *text, char first[PTX_NAME], char second[PTX_NAME]);
char *ptx_trim(char *text);                                  /* without blanks around it; changes the text */
bool ptx_split(ptx_instruction *i, const char *text);        /* false: it is none */
const char *ptx_reason(const char *text);                    /* why it cannot be translated, or NULL */
void ptx_translate_predicated(ptx_statement *s, char *text); /* "@p add…" */
/* A special register's value, or NULL. */
LLVMValueRef ptx_special(ptx_statement *s, const char *name);
/* False where the instruction is not in the table. */
bool ptx_translate(ptx_statement *s, const ptx_instruction *i);

/* The instruction being translated, with its last part as a type. */
typedef struct ptx_source {
  ptx_statement *s;
  const ptx_instruction *i;
  ptx_type t;
} ptx_source;

/* Of that type; with .ftz subnormal numbers of 32 bits are 0, and so are those that become the result. */
LLVMValueRef ptx_operand(const ptx_source *x, int n);
LLVMValueRef ptx_operand_i32(const ptx_source *x, int n);
LLVMValueRef ptx_number(const ptx_source *x, uint64_t value);
void ptx_result(const ptx_source *x, LLVMValueRef value);
/* Call of a function of the device headers (moonwarp/ptx_functions.h); NULL: they have none of that name. */
LLVMValueRef ptx_call(const ptx_source *x, const char *name, LLVMValueRef *arguments, unsigned count);
/* A function that a later stage knows. */
LLVMValueRef ptx_declared(ptx_statement *s, const char *name, LLVMTypeRef type);

/* False where it is none of these. */
bool ptx_translate_number(const ptx_source *x); /* arithmetic, logic and bit fields */
bool ptx_translate_float(const ptx_source *x);
bool ptx_translate_halves(const ptx_source *x);
bool ptx_translate_cvt(const ptx_source *x);
bool ptx_translate_memory(const ptx_source *x);
bool ptx_translate_warp(const ptx_source *x);
bool ptx_translate_effect(ptx_statement *s, const ptx_instruction *i); /* barriers, fences, what has no result */
bool ptx_translate_copy(ptx_statement *s, const ptx_instruction *i);
bool ptx_translate_space(ptx_statement *s, const ptx_instruction *i);

#endif
