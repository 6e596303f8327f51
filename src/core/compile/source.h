/* Source texts: kept for later instances, hashed for the cache, and translated positions.
 *
 * A driver compiles every text as MW_SOURCE_NAME with lines from 1. Where the text really stands, in line 12 of
 * script.lua say, only the core knows: it translates what the compiler wrote. */
#ifndef MW_SOURCE_H
#define MW_SOURCE_H

#include "core/core.h"

/* A copy that owns its strings, with `length` set where it was 0; NULL with MW_MEMORY_ALLOCATION in the error slot. */
mw_source *mw_source_copy(const mw_source *source);
/* From what a compiled file holds: the text, and options one a line. NULL likewise. */
mw_source *mw_source_parse(const char *text, const char *options);
void mw_source_free(mw_source *source);

/* All that decides what the text compiles to, so without its file and line. */
void mw_source_add_hash(const mw_source *source, mw_hash *hash);

/* Whether the text, or a header given with it, contains `word` as a word. */
bool mw_source_has_word(const mw_source *source, const char *word);

/* The parameters of the template of kernels of that name, as the text has them: "typename T, int W". NULL where the text
   has none. Yours: free. */
char *mw_source_template(const mw_source *source, const char *name);
/* What an instance of it is called, for instance: "fill<float,4>". Yours: free. */
char *mw_source_template_example(const char *name, const char *parameters);

/* A compiler's output, with positions in MW_SOURCE_NAME and the line numbers beside code translated. Yours: free. */
char *mw_source_translate(const mw_source *source, const char *log);
/* Put the compile error that stands in the error slot into the words of the source's file: the first error's position
   and message, and the whole log. Returns `code`; anything but MW_INVALID_SOURCE stays as it is. */
int mw_source_translate_error(const mw_source *source, int code);
/* `log` and after it the messages of `more` that it has not yet. Yours: free. */
char *mw_source_join_logs(const char *log, const char *more);

#endif
