/* The table of device functions by compute capability (capability_table.c), with which capability_check.c compares a
 * program. */
#ifndef MWCC_CAPABILITY_TABLE_H
#define MWCC_CAPABILITY_TABLE_H

#include "mwcc/mwcc.h"
#include "read.h"

/* A function of the device headers, by its name and by what follows it in the mangled name. */
typedef struct feature {
  const char *name;    /* one * matches anything */
  const char *with;    /* contained in what follows the name in the mangled name; NULL: anything */
  int since;           /* major * 10 + minor */
  const char *what;    /* as the subject of a sentence */
  const char *instead; /* what to write, or NULL */
} feature;

/* The first row that matches a function; NULL: all capabilities have it. `rest` follows the name in the mangled
   name. */
const feature *feature_of(const char *name, const char *rest);
/* The same for functions that mwcc knows by their linkage names: printf, malloc and similar. */
const feature *feature_of_import(const char *linkage);

#endif
