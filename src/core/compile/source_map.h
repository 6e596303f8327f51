/* Where source text really stands: it is compiled as MW_SOURCE_NAME with lines from 1, in a folder that also holds the
 * headers given as strings, and people are told of it as they know it. */
#ifndef MW_ORIGIN_H
#define MW_ORIGIN_H

#include "core/core.h"

/* The folder of headers given as strings, beside MW_SOURCE_NAME. Their names are said without it. */
#define ORIGIN_HEADERS "moonwarp-headers"

typedef struct source_origin {
  char *file; /* NULL: MW_SOURCE_NAME */
  int line;   /* of the text's first line, from 1; 0: positions stay as they are */
} source_origin;

source_origin origin_copy(const mw_source *source); /* source may be NULL */
void origin_free(source_origin *origin);

/* The name of a file and a line in it, as people know them. The result is `file` or a part of it, or origin->file. */
const char *origin_apply(const source_origin *origin, const char *file, int *line);

/* The compiler's messages without the folder of string headers. MW_SOURCE_NAME stays: the core translates it. */
void origin_clean_log(const char *log, mw_text *out);

#endif
