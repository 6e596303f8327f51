/* The optimiser and the code generator, in several threads. */
#ifndef MWCC_CODEGEN_CODEGEN_H
#define MWCC_CODEGEN_CODEGEN_H

#include "mwcc/mwcc.h"

/* codegen.c: before all else of optimising; LLVM's part of it */
void spare_cold_code(program *p);
void run_pipeline(program *p);
void write_stack_sizes(program *p); /* stack_depth.c: local_bytes of the kernels, and in the table */
void emit(program *p);
void share_out(program *p);       /* of what is to be optimised; sets p->shares if that pays */
void share_optimised(program *p); /* of what is, if it was not shared out before */
/* outline.c: a part of a large function as another that it calls, or NULL. */
LLVMValueRef take_rest(program *p, const kernel *k, LLVMValueRef from);
size_t measure_stack(program *p, LLVMValueRef function); /* stack_depth.c */
LLVMMemoryBufferRef generate(program *p, LLVMCodeGenFileType type);
/* The stack of a function that another share defines, once it is known; 0 if none does. */
size_t shares_stack(shares *s, LLVMValueRef declaration);
/* Wait for the others' objects, objects[1] and further; returns how many there are with the first. */
size_t shares_objects(shares *s, LLVMMemoryBufferRef *objects);

#endif
