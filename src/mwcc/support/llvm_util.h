/* Small helpers over LLVM's C interface, for all passes (llvm_util.c). */
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
/* A conditional branch with weights that favour `likely`: LLVM then sinks values that only the other path needs into
   that path, and spills there. */
LLVMValueRef build_likely(program *p, LLVMBuilderRef b, LLVMValueRef condition, LLVMBasicBlockRef likely,
                          LLVMBasicBlockRef other);
void add_attribute(program *p, LLVMValueRef function, const char *name);
void remove_attribute(LLVMValueRef function, const char *name);
void add_text_attribute(program *p, LLVMValueRef function, const char *name, const char *value);
/* Let LLVM use the processor's widest vectors in the function. */
void prefer_widest(program *p, LLVMValueRef function);
/* Whether the call has a memory attribute, and its bits: 0 means no access; other bits differ between releases of
   LLVM. */
bool memory_fact(LLVMValueRef call, uint64_t *bits);
/* Whether the memory attribute excludes writes. */
bool writes_no_memory(program *p, LLVMValueRef call);
/* Whether it reads threadIdx, blockIdx, blockDim or gridDim, which do not change while a thread runs. */
bool is_launch_id(LLVMValueRef value);
/* Speculatable integer arithmetic and changes of width: not division, which may trap. */
bool is_integer_operation(LLVMValueRef value);
void run_passes(program *p, const char *passes);
bool is_lane_type(LLVMTypeRef type); /* whether it can be the element type of a vector */
void verify_module(program *p, const char *stage);
void add_call_attribute(const program *p, LLVMValueRef call, const char *name);

/* Split a block before one of its instructions. Returns a new block with the instructions before it, which has no
   terminator yet and takes over the block's predecessors. */
LLVMBasicBlockRef split_block(program *p, LLVMValueRef before);

/* ---- register_split.c: vectors, and scalars as one lane ---- */
LLVMTypeRef element_type(LLVMTypeRef type); /* of a vector; a scalar type itself */
LLVMValueRef constant_lanes(LLVMTypeRef type,
                            LLVMValueRef number);       /* the constant, as a splat if the type is a vector */
LLVMValueRef constant_of_lanes(LLVMValueRef value);     /* the constant of which the value is a splat, or NULL */
LLVMTypeRef lane_mask_type(program *p, unsigned lanes); /* as AVX-512's instructions take it */
/* Apply `make` to operands of one length. Operands longer than a vector register are split into registers first. */
typedef LLVMValueRef register_operation(program *p, LLVMBuilderRef b, LLVMValueRef *operands);
LLVMValueRef by_registers(program *p, LLVMBuilderRef b, register_operation *make, LLVMValueRef *operands,
                          unsigned count);

/* All instructions of a function, collected in advance so that the function may be changed during a walk over them. */
typedef struct instructions {
  LLVMValueRef *items;
  size_t count;
} instructions;
instructions instructions_of_function(LLVMValueRef function);

#define EACH_FUNCTION(p, f) for (LLVMValueRef f = LLVMGetFirstFunction((p)->module); f; f = LLVMGetNextFunction(f))

#endif
