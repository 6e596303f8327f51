/* Names of kernels and variables, as people type them and as compilers write them. */
#ifndef MW_NAME_H
#define MW_NAME_H

#include "base/base.h"

/* A name taken apart: "ns :: add( float * )" is path "ns::add", params "float*". */
typedef struct mw_name {
  char *path;   /* with namespaces and template arguments; spaces only between words; "unsigned" is "unsigned int" */
  char *params; /* what stood in parentheses behind it, in the same spelling; NULL where nothing did */
} mw_name;

void mw_name_parse(const char *text, mw_name *out);
void mw_name_free(mw_name *name);

/* How well `wanted` (a path) names `have` (a path): 2, it is the whole of it; 1, all but its namespaces; 0, not. */
int mw_name_match(const char *wanted, const char *have);
/* How well a name's `params` fit a kernel's parameters: 2, word for word; 1, the same types, const aside; 0, not. */
int mw_name_match_params(const char *params, const mw_kernel_info *kernel);

/* Whether the path ends in template arguments. */
bool mw_name_is_instance(const char *path);
/* The path's last name, without namespaces and template arguments. Yours: free. */
char *mw_name_base(const char *path);
/* How many letters have to be put in, left out or changed to make one of the other, capitals aside. */
size_t mw_name_distance(const char *a, const char *b);
/* A name whose distance is less than this may be what somebody meant who typed `name`. */
size_t mw_name_reach(const char *name);

#endif
