/* Third-party libraries, loaded at run time if they are found. */
#ifndef MW_SHARED_LIBRARY_H
#define MW_SHARED_LIBRARY_H

#include "base/base.h"

typedef struct mw_library {
  const char *title;         /* "NVRTC", for messages */
  const char *variable;      /* the environment variable that names the library; "off" or "none" hides it */
  const char *const *names;  /* for the dynamic linker, ended by NULL */
  const char *const *places; /* patterns of paths, ended by NULL; or NULL */
  char *path;                /* the one that was loaded */
  char *problem;             /* "… is not loaded: …", or NULL; the owner may set other messages */
  mw_text tried;             /* where it was looked for: "libnvrtc.so.13, /usr/local/…" */
} mw_library;

/* Load the library and fill in the results; NULL if it is hidden or not found. Call it once for each library. */
void *mw_library_open(mw_library *library);
/* The address of a function, as a pointer that a function pointer is copied from; NULL if there is none. */
void *mw_library_find(void *handle, const char *name);
/* What was tried, for a message: "nothing" if nothing was. */
const char *mw_library_tried(const mw_library *library);

#endif
