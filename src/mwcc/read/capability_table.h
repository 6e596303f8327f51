/* What compute capabilities have brought: the table of capability_table.c, which capability_check.c holds a program against. */
#ifndef MWCC_FEATURE_H
#define MWCC_FEATURE_H

#include "mwcc/mwcc.h"
#include "read.h"

/* A function of our headers, by its name and by what its mangled name has behind that. */
typedef struct feature {
  const char *name;    /* where one * stands for anything */
  const char *with;    /* a part of what follows the name in the mangled one, or NULL: whatever follows */
  int since;           /* major * 10 + minor */
  const char *what;    /* as the subject of a sentence */
  const char *instead; /* what to write, or NULL */
} feature;

/* The first row for a function, or NULL: it was always there. `rest` is what follows the name in the mangled one. */
const feature *feature_of(const char *name, const char *rest);
/* Functions that mwcc knows by their linkage names: printf, malloc and their like. */
const feature *feature_of_import(const char *linkage);

#endif
