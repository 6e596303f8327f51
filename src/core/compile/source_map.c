/* Translation of positions in a compiled text to the file that contains the text: see source_map.h. */
#include "source_map.h"

#include <stdlib.h>
#include <string.h>

#define FOLDER ORIGIN_HEADERS "/"

source_origin origin_copy(const mw_source *source) {
  if (!source) return (source_origin){NULL, 0};
  return (source_origin){mw_strdup(source->file), source->line > 0 ? source->line : 1};
}

void origin_free(source_origin *origin) { free(origin->file); }

const char *origin_apply(const source_origin *origin, const char *file, int *line) {
  if (strncmp(file, "./", 2) == 0) file += 2;
  if (strcmp(file, MW_SOURCE_NAME) == 0) {
    if (origin->line > 0 && *line > 0) *line += origin->line - 1;
    return origin->file ? origin->file : file;
  }
  const char *folder = strstr(file, FOLDER);
  bool whole = folder && (folder == file || folder[-1] == '/');
  return whole ? folder + strlen(FOLDER) : file;
}

void origin_clean_log(const char *log, mw_text *out) {
  mw_text_add(out, "", 0);
  for (const char *folder; (folder = strstr(log, FOLDER)); log = folder + strlen(FOLDER))
    mw_text_add(out, log, (size_t)(folder - log));
  mw_text_add(out, log, strlen(log));
}
