/* Inline PTX -> LLVM instructions and intrinsics.
 *
 *   parse.c                                       asm statements, operands, registers
 *   instructions.c                                dispatch by name; special registers, moves, comparisons
 *   predication.c, mbarrier_wait_loop.c           predicated instructions; loops that wait for an mbarrier
 *   integer.c, bmsk_szext.c, float.c, narrow.c,   arithmetic; masks and extensions; floats; bfloat16, tf32 and 8 bits;
 *   video.c                                       video instructions
 *   memory.c, async.c                             loads, stores, atomics; mbarrier and bulk copies
 *   warp.c, cluster.c, tensor.c                   warp functions, clusters, matrix instructions
 *
 * What is not translated is an error at the statement's line. */
#ifndef MWCC_PTX_H
#define MWCC_PTX_H

#include "mwcc/mwcc.h"

enum { PTX_NAME = 64, PTX_OPERANDS = 8, PTX_WORDS = 12, PTX_VARIABLES = 64, PTX_ELEMENTS = 8 };

#define PTX_UNKNOWN "is not among the instructions that the CPU device translates"

/* The carry flag, a register that instructions with .cc write. Each asm statement starts without one. */
#define PTX_CARRY "%cc"

/* A register of an asm statement: an operand ($0, $1, …) or one that the text declares. */
typedef struct ptx_variable {
  char name[PTX_NAME];
  LLVMTypeRef type;   /* of an output operand; NULL: the type of the value last written */
  LLVMValueRef value; /* NULL: not written yet */
} ptx_variable;

typedef struct ptx_statement {
  program *p;
  LLVMBuilderRef b; /* inserts before the call */
  LLVMValueRef call;
  ptx_variable variables[PTX_VARIABLES];
  int count;
  bool failed;
} ptx_statement;

/* One instruction: "mad.lo.s32 $0, $1, 5, %r7" has the words mad (its name), lo and s32 (modifiers and type). */
typedef struct ptx_instruction {
  char words[PTX_WORDS][PTX_NAME];
  int word_count;
  char operands[PTX_OPERANDS][PTX_NAME];
  int operand_count;
} ptx_instruction;

/* The type that an instruction's last modifier names: b32 u64 s16 f32 pred … */
typedef struct ptx_type {
  LLVMTypeRef type;
  unsigned bits;
  bool is_signed, is_float;
} ptx_type;

/* Report an error in the statement, the first one only: '<what>' <why>. */
void ptx_refuse(ptx_statement *s, const char *what, const char *why);
bool ptx_type_of(ptx_statement *s, const char *name, ptx_type *out);
/* An operand's value, converted to the type. Where it has none, reports an error and returns poison. */
LLVMValueRef ptx_read(ptx_statement *s, const char *operand, LLVMTypeRef type);
void ptx_write(ptx_statement *s, const char *operand, LLVMValueRef value);
/* The same bits as another type; an integer is truncated or zero-extended. */
LLVMValueRef ptx_convert(ptx_statement *s, LLVMValueRef value, LLVMTypeRef type);
unsigned ptx_bits_of(ptx_statement *s, LLVMTypeRef type);
/* The type of a register's current value, or NULL. */
LLVMTypeRef ptx_type_in(ptx_statement *s, const char *operand);
bool ptx_has_modifier(const ptx_instruction *i, const char *modifier);
/* The names in "{a,b,c,d}", or a single name without braces. Returns their number, 0 if there are too many. */
int ptx_elements(const char *list, char names[PTX_ELEMENTS][PTX_NAME]);
/* Both names of "a|b"; the second is empty where there is only one. */
void ptx_pair(const char *text, char first[PTX_NAME], char second[PTX_NAME]);
char *ptx_trim(char *text);                                  /* strip surrounding blanks, in place */
bool ptx_split(ptx_instruction *i, const char *text);        /* false: not an instruction */
const char *ptx_reason(const char *text);                    /* why it cannot be translated, or NULL */
void ptx_translate_predicated(ptx_statement *s, char *text); /* "@p add…" */
/* A special register's value, or NULL. */
LLVMValueRef ptx_special(ptx_statement *s, const char *name);
/* Returns false if the instruction is not in the table. */
bool ptx_translate(ptx_statement *s, const ptx_instruction *i);

/* The instruction being translated, and the type that its last modifier names. */
typedef struct ptx_source {
  ptx_statement *s;
  const ptx_instruction *i;
  ptx_type t;
} ptx_source;

/* Operand n as that type. With .ftz, subnormal numbers of 32 bits are flushed to 0, in operands and in the result. */
LLVMValueRef ptx_operand(const ptx_source *x, int n);
LLVMValueRef ptx_operand_i32(const ptx_source *x, int n);
LLVMValueRef ptx_number(const ptx_source *x, uint64_t value);
void ptx_result(const ptx_source *x, LLVMValueRef value);
/* Report an event to a checked run (memory.c). */
void ptx_report(const ptx_source *x, mw_check_event event, LLVMValueRef value);
/* Call a function of the device headers (moonwarp/ptx_functions.h); NULL if they have none of that name. */
LLVMValueRef ptx_call(const ptx_source *x, const char *name, LLVMValueRef *arguments, unsigned count);
/* The address "[$1+8]" in the address space that the instruction names; NULL if it is not written so. */
LLVMValueRef ptx_address(const ptx_source *x, const char *text);
/* The same as a number of 64 bits. in_shared: a register of 32 bits has an address in shared memory, of any block of
   the cluster. */
LLVMValueRef ptx_flat_address(const ptx_source *x, const char *text, bool in_shared);
/* Declare a function that a later pass lowers. */
LLVMValueRef ptx_declared(ptx_statement *s, const char *name, LLVMTypeRef type);

/* These return false if the instruction is none of theirs. */
bool ptx_translate_number(const ptx_source *x); /* arithmetic, logic and bit fields */
bool ptx_translate_float(const ptx_source *x);
bool ptx_translate_halves(const ptx_source *x);
bool ptx_translate_cvt(const ptx_source *x);
bool ptx_translate_mask(const ptx_source *x);
bool ptx_translate_memory(const ptx_source *x);
bool ptx_translate_warp(const ptx_source *x);
bool ptx_translate_effect(ptx_statement *s, const ptx_instruction *i); /* barriers, fences, others without a result */
bool ptx_translate_copy(ptx_statement *s, const ptx_instruction *i);
bool ptx_translate_space(ptx_statement *s, const ptx_instruction *i);
bool ptx_translate_tensor(ptx_statement *s, const ptx_instruction *i); /* matrices of a warp */
bool ptx_translate_video(ptx_statement *s, const ptx_instruction *i);
LLVMValueRef ptx_cluster_register(ptx_statement *s, const char *name); /* or NULL */
bool ptx_translate_async(ptx_statement *s, const ptx_instruction *i);  /* mbarrier, bulk copies */
/* Replaces a loop of labels and branches that only waits for an mbarrier by the wait; true if it was one.
   (mbarrier_wait_loop.c) */
bool ptx_shorten_wait_loop(char *text);
bool ptx_translate_cluster(ptx_statement *s, const ptx_instruction *i); /* mapa, getctarank, barrier.cluster */
bool ptx_translate_narrow(ptx_statement *s, const ptx_instruction *i);  /* bfloat16 and numbers of 8 bits */

#endif
