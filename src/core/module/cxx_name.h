/* Names of kernels and variables, as users type them and as compilers write them. */
#ifndef MW_NAME_H
#define MW_NAME_H

#include "base/base.h"

/* A parsed name: "ns :: add( float * )" has the path "ns::add" and the params "float*". */
typedef struct mw_name {
  char *path;   /* with namespaces and template arguments; spaces only between words; "unsigned" is "unsigned int" */
  char *params; /* the text in parentheses after it, in the same spelling; NULL if there is none */
} mw_name;

void mw_name_parse(const char *text, mw_name *out);
void mw_name_free(mw_name *name);

/* How well `wanted` (a path) matches `have` (a path): 2: it is the whole path; 1: all except namespaces; 0: no
   match. */
int mw_name_match(const char *wanted, const char *have);
/* How well a name's `params` match a kernel's parameters: 2: exactly; 1: same types, ignoring const; 0: no match. */
int mw_name_match_params(const char *params, const mw_kernel_info *kernel);

/* Whether the path ends in template arguments. */
bool mw_name_is_instance(const char *path);
/* The path's last name, without namespaces and template arguments. Yours: free. */
char *mw_name_base(const char *path);
/* The edit distance (Levenshtein) of two names, ignoring case. */
size_t mw_name_distance(const char *a, const char *b);
/* Names with a smaller distance from `name` are suggested as corrections. */
size_t mw_name_reach(const char *name);

#endif
