/* The CPU's BLAS and LAPACK (libopenblas0), which compute for the fake libraries of GPUs. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wstrict-prototypes"
typedef void routine();

static routine *lapack(const char *name) {
  static void *library;
  routine *found = NULL;
  if (!library) library = dlopen("libopenblas.so.0", RTLD_NOW);
  void *address = library ? dlsym(library, name) : NULL;
  memcpy(&found, &address, sizeof found);
  if (!found) abort();
  return found;
}
