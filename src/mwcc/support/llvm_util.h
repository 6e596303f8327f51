/* Small helpers over LLVM-C, for all of the compiler: llvm_util.c. */
#ifndef MWCC_IR_H
#define MWCC_IR_H

#include <llvm-c/Core.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct program program; /* mwcc.h */

/* The name of the function an instruction calls directly, or "". */
const char *callee_name(LLVMValueRef call);
LLVMValueRef constant_i32(program *p, unsigned value);
LLVMValueRef constant_i64(program *p, uint64_t value);
LLVMValueRef intrinsic(program *p, const char *name, LLVMTypeRef *overloads, unsigned count);
LLVMValueRef call_intrinsic(program *p, LLVMBuilderRef b, const char *name, LLVMTypeRef *overloads,
                            unsigned overload_count, LLVMValueRef *arguments, unsigned count);
/* A conditional branch that nearly always goes to `likely`: what is needed for the other alone is computed there, and kept
   out of registers. */
LLVMValueRef build_likely(program *p, LLVMBuilderRef b, LLVMValueRef condition, LLVMBasicBlockRef likely,
                          LLVMBasicBlockRef other);
void add_attribute(program *p, LLVMValueRef function, const char *name);
void remove_attribute(LLVMValueRef function, const char *name);
void add_text_attribute(program *p, LLVMValueRef function, const char *name, const char *value);
/* Vectors as wide as the processor has them, in the function. */
void prefer_widest(program *p, LLVMValueRef function);
/* Whether LLVM knows what a call does to memory. *bits are 0 where it touches none; other numbers differ with LLVM's release. */
bool memory_fact(LLVMValueRef call, uint64_t *bits);
/* Whether LLVM knows that it writes none. */
bool writes_no_memory(program *p, LLVMValueRef call);
/* Integer arithmetic and changes of width that can be done anywhere: not division, which may trap. */
bool is_integer_operation(LLVMValueRef value);
void run_passes(program *p, const char *passes);
bool is_lane_type(LLVMTypeRef type); /* what can be an element of a vector */
void verify_module(program *p, const char *stage);

/* Cut a block in two before one of its instructions: the new block is the first part, whose end is still to be made. */
LLVMBasicBlockRef split_block(program *p, LLVMValueRef before);

/* ---- register_split.c: vectors, and numbers as one lane ---- */
LLVMTypeRef element_type(LLVMTypeRef type); /* of a vector, or the number's own */
LLVMValueRef constant_lanes(LLVMTypeRef type,
                            LLVMValueRef number);       /* a constant, in each lane if the type is a vector's */
LLVMValueRef constant_of_lanes(LLVMValueRef value);     /* the constant that each lane is, or NULL */
LLVMTypeRef lane_mask_type(program *p, unsigned lanes); /* as AVX-512's instructions take them */
/* What `make` makes of operands of one length, of a vector register or less; longer ones are given to it piece by piece. */
typedef LLVMValueRef register_operation(program *p, LLVMBuilderRef b, LLVMValueRef *operands);
LLVMValueRef by_registers(program *p, LLVMBuilderRef b, register_operation *make, LLVMValueRef *operands,
                          unsigned count);

/* All instructions of the module or of a function, collected first so that the walk survives changes. */
typedef struct instructions {
  LLVMValueRef *items;
  size_t count;
} instructions;
instructions instructions_of_function(LLVMValueRef function);

#define EACH_FUNCTION(p, f) for (LLVMValueRef f = LLVMGetFirstFunction((p)->module); f; f = LLVMGetNextFunction(f))

#endif
