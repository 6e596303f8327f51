/* Optimisation and code generation, by several threads.
 *
 *   codegen.c          LLVM's pipelines, code generation, output
 *   lane_code.c        functions in lanes and others have pipelines of their own
 *   parallel.c         partitions the module: each partition is optimised and compiled by a thread of its own
 *   outline.c          moves a region of a large function to a function of its own, for another partition
 *   outline_region.c   chooses the region: single entry, single exit, few live values
 *   function_split.c   the same for huge functions, so that compile time does not explode
 *   outline_split.c    chooses where to split a function that is mostly one block
 *   stack_depth.c      measures the stack that a kernel needs
 *   spill_report.c     mwcc --report=spills */
#ifndef MWCC_CODEGEN_CODEGEN_H
#define MWCC_CODEGEN_CODEGEN_H

#include "mwcc/mwcc.h"

/* codegen.c: mark cold code, before anything else of this room; then run LLVM's pipeline */
void mark_cold_code(program *p);
bool is_one_lane(const kernel *k); /* lane_code.c: whether its gangs have one lane */
void mark_lane_code(program *p);   /* for is_lane_code, in copies of the module as well */
/* Run passes of LLVM on functions that are code in lanes, or on all others. */
void run_passes_on(program *p, bool lanes, const char *passes);
void run_pipeline(program *p);
void write_stack_sizes(program *p); /* stack_depth.c: local_bytes of the kernels, and in the table */
void emit(program *p);
void split_functions(program *p);   /* function_split.c: regions of huge functions become functions */
void partition_module(program *p);  /* before optimisation; sets p->partitions if it pays */
void outline_optimised(program *p); /* after it, by outlining, unless the module was partitioned well before */
/* outline.c: outline a region of a large function; the new function, or NULL. */
LLVMValueRef outline_region(program *p, const kernel *k, LLVMValueRef from);
size_t measure_stack(program *p, LLVMValueRef function); /* stack_depth.c */
LLVMMemoryBufferRef generate(program *p, LLVMCodeGenFileType type);
/* The stack of a function that another partition defines; waits until it is known. 0 if none does. */
size_t partitions_stack(partitions *s, LLVMValueRef declaration);
/* Wait for the other partitions' objects, objects[1] and further; returns the number of objects with the first. */
size_t partitions_objects(partitions *s, LLVMMemoryBufferRef *objects);

#endif
