/* The facts of a module: lines of tab-separated fields, split here and read as kernels, variables and types. The
 * kinds of lines are described in describe.c and src/mwcc/gpu/metadata.c, which write them. */
#ifndef MW_CUDA_MODULE_METADATA_H
#define MW_CUDA_MODULE_METADATA_H

#include "cuda/cuda.h"
#include "cuda/compile/signature/demangle.h"

enum { FACT_FIELDS = 24 };

/* Fields past the last are "". */
typedef struct fact_line {
  char *fields[FACT_FIELDS];
  size_t count;
} fact_line;

fact_line *fact_lines(const char *facts, size_t *count);
void fact_lines_free(fact_line *lines);
bool fact_is(const fact_line *line, const char *what);
size_t fact_number(const fact_line *line, int field);
/* Whether the line belongs to the kernel before it: "param", "reads", "found". */
bool fact_belongs(const fact_line *line);

/* Fills in the unit's kernels, variables and types from the facts; addresses are filled in later. */
void cuda_facts_read(const char *facts, const mw_source *origin, cuda_types *types, cuda_unit *unit);

#endif
