/* Reading: the bitcode becomes a module with a description of its kernels and variables.
 *
 *   link_units.c                               several sources as one module
 *   program.c                                  kernels, variables, shared memory, source positions
 *   debug_types.c                              C types, from debug information
 *   texture_references.c, launched_kernels.c   references become handles; kernels launched by kernels get numbers
 *   capability_check.c, capability_table.c     features that the compute capability lacks are errors
 *   texture_calls.c                            where measured code calls texture and surface functions */
#ifndef MWCC_READ_READ_H
#define MWCC_READ_READ_H

#include "mwcc/mwcc.h"

/* The passes of reading, in the order of passes.def. */
void parse_bitcode(program *p);
void number_launched_kernels(program *p);
void keep_reachable(program *p);
void inline_helpers(program *p);
void read_globals(program *p);
void strip_debug(program *p);
/* Whether the source defines the function, rather than a later stage of the compiler. */
bool is_of_source(LLVMValueRef function);
/* Make a debug scope for a function derived from the kernel, and attach it. NULL: a function that does not exist
   yet. */
LLVMMetadataRef program_new_scope(program *p, const kernel *k, LLVMValueRef function);
/* The source position of an instruction or function; false if it has none. */
bool program_position(LLVMValueRef value, const char **file, unsigned *line, unsigned *column);
/* The number of a place in a kernel that a checked run on a GPU names, of the named array or NULL. */
unsigned add_followed_site(program *p, LLVMValueRef i, const char *name, uint64_t bytes);
/* With --report, a line: what a pass did or did not do with an instruction of the kernel. */
void report_decision(const program *p, const kernel *k, LLVMValueRef instruction, const char *text);
/* The debug-information node of a variable; NULL if it has none. */
LLVMMetadataRef variable_node(LLVMValueRef global);
/* The C type that a debug-information node describes; never NULL. */
ctype *ctype_of(program *p, LLVMMetadataRef node);
/* Operand `index` of a metadata node; NULL where it has none. */
LLVMMetadataRef metadata_operand(program *p, LLVMMetadataRef node, unsigned index);
const char *metadata_text(program *p, LLVMMetadataRef node); /* "" for NULL */
/* "ns::" for a scope in namespace ns; classes count, too, functions and files do not. The caller frees it. */
char *scope_prefix(program *p, LLVMMetadataRef scope);
void read_references(program *p);
/* Whether a value is the variable of a texture or surface reference: a handle, which the host sets for each launch. */
bool is_reference(const program *p, LLVMValueRef value);
/* capability_check.c: refuse what the requested compute capability lacks. */
void check_features(program *p);       /* before anything is inlined */
void check_sizes(program *p);          /* of constant memory and parameters */
void check_shared_atomics(program *p); /* after pointers have been promoted to registers */

/* texture_calls.c, for watched code: calls before and after each call of a texture or surface function. */
void mark_texture_calls(program *p);
#define TEXTURE_READ  "__mw_texture_read"
#define TEXTURE_WRITE "__mw_texture_write"
#define TEXTURE_END   "__mw_texture_end"

/* p->units as one module, and its bitcode as p->bitcode. */
LLVMModuleRef link_units(program *p);

#endif
