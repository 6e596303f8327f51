/* Several sources of one module: each is compiled by itself, as clang's bitcode, and these are linked (link_units.c).
 *
 * In a text that mw.compile was given, a line `#pragma moonwarp source` begins the next one; a number and a name may
 * follow, of its first line and its file. */
#ifndef MWCC_FRONT_UNITS_H
#define MWCC_FRONT_UNITS_H

#include "mwcc/mwcc.h"

typedef struct unit {
  const char *text;
  size_t length;
  const char *name; /* of its file, yours to free; NULL: the input's */
  int line;         /* the number of its first line */
} unit;

/* The units of a text, one after the other: *cursor starts as the text. Returns false after the last one. */
bool unit_next(const char **cursor, int *line, unit *out);
/* Read the input and the further sources into p->source. */
void units_read(program *p);
/* Whether the objects were written by -c: they then become the sources. */
bool units_take(options *o);
/* Read the units that -c wrote. */
void units_load(program *p);

#endif
