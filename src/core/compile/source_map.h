/* The origin of source text. Text is compiled as MW_SOURCE_NAME with lines from 1, in a folder that also holds the
 * headers given as strings; messages refer to its origin. */
#ifndef MW_ORIGIN_H
#define MW_ORIGIN_H

#include "core/core.h"

/* The folder of headers given as strings, next to MW_SOURCE_NAME. Messages name them without it. */
#define ORIGIN_HEADERS "moonwarp-headers"

typedef struct source_origin {
  char *file; /* NULL: MW_SOURCE_NAME */
  int line;   /* of the text's first line, from 1; 0: positions are not translated */
} source_origin;

source_origin origin_copy(const mw_source *source); /* source may be NULL */
void origin_free(source_origin *origin);

/* Translate a file and a line to the origin. The result is `file` or a part of it, or origin->file. */
const char *origin_apply(const source_origin *origin, const char *file, int *line);

/* Remove the folder of string headers from the compiler's messages. MW_SOURCE_NAME stays: the core translates it. */
void origin_clean_log(const char *log, mw_text *out);

#endif
