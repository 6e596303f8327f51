/* What the bitcode has, read and described. */
#ifndef MWCC_READ_READ_H
#define MWCC_READ_READ_H

#include "mwcc/mwcc.h"

/* Passes of reading, as passes.def has them: p->bitcode, parsed and described. */
void parse_bitcode(program *p);
void keep_reachable(program *p);
void inline_helpers(program *p);
void read_globals(program *p);
void strip_debug(program *p);
/* Whether the source defines the function, rather than what calls of later stages are to become. */
bool is_of_source(LLVMValueRef function);
/* The source position of an instruction or function: false where it has none. */
/* A debug scope for another function made from the kernel, attached to it. */
LLVMMetadataRef program_new_scope(program *p, const kernel *k, LLVMValueRef function); /* NULL: of none as yet */
bool program_position(LLVMValueRef value, const char **file, unsigned *line, unsigned *column);
/* The C type that a debug-information node describes; never NULL. */
ctype *ctype_of(program *p, LLVMMetadataRef node);
const char *metadata_text(program *p, LLVMMetadataRef node); /* "" for NULL */
/* "ns::" for what stands in namespace ns; classes count too, functions and files do not. Yours. */
char *scope_prefix(program *p, LLVMMetadataRef scope);
void read_references(program *p);
/* capability_check.c: refuse what the compute capability that was asked for has not. */
void check_features(program *p);       /* before anything is inlined */
void check_sizes(program *p);          /* of what the program declares */
void check_shared_atomics(program *p); /* once pointers are in registers */

#endif
