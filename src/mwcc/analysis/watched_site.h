/* Watched sites: what watch_markers.c makes of them, and later passes lower. */
#ifndef MWCC_WATCHED_SITE_H
#define MWCC_WATCHED_SITE_H

#include "mwcc/mwcc.h"

/* A place in the program that is watched, as mw_site. */
struct watched_site {
  mw_site of;              /* without texts */
  char *file, *outer_file; /* of its line, and of the line into which its function was inlined; or NULL */
  const char *name;        /* of the variable, as the source has it, or NULL */
  const char *function;    /* the kernel or function that contains it */
  const char *about;       /* or NULL */
  bool has_runs;           /* of.stride is set */
};

/* Calls before what is watched: the site's number, and an address or a number. */
#define WATCH_ADDRESS "__mw_watch_address"
#define WATCH_NUMBER  "__mw_watch_number"

#endif
