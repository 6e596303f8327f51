/* Loading libraries at run time: the one that the environment names, else by names, else at places. */
#include "base/shared_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

static void *try_open(mw_library *library, const char *path) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle) {
    library->path = mw_strdup(path);
    return handle;
  }
  const char *why = dlerror();
  bool missing = !why || strstr(why, "No such file");
  mw_text_addf(&library->tried, "%s%s", library->tried.length ? ", " : "", path);
  if (!missing) mw_text_addf(&library->tried, " (%s)", why);
  return NULL;
}

static void *open_matching(mw_library *library, const char *pattern) {
  glob_t found = {0};
  void *handle = NULL;
  if (glob(pattern, 0, NULL, &found) == 0)
    for (size_t i = found.gl_pathc; i-- > 0 && !handle;) handle = try_open(library, found.gl_pathv[i]);
  globfree(&found);
  return handle;
}

void *mw_library_open(mw_library *library) {
  const char *named = getenv(library->variable);
  if (named && (strcmp(named, "off") == 0 || strcmp(named, "none") == 0)) {
    library->problem = mw_format("%s is not loaded: %s is '%s'", library->title, library->variable, named);
    return NULL;
  }
  void *handle = NULL;
  if (named && *named) return try_open(library, named);
  for (const char *const *name = library->names; *name && !handle; name++) handle = try_open(library, *name);
  for (const char *const *place = library->places; place && *place && !handle; place++)
    handle = open_matching(library, *place);
  return handle;
}

void *mw_library_find(void *handle, const char *name) { return dlsym(handle, name); }

const char *mw_library_tried(const mw_library *library) {
  return library->tried.data ? library->tried.data : "nothing";
}
