/* Source texts: copies for later instances, hashes for the cache, and translation of positions.
 *
 * A driver compiles every text as MW_SOURCE_NAME with lines from 1. Only the core knows the text's real position, such
 * as line 12 of script.lua, and translates the compiler's output. */
#ifndef MW_SOURCE_H
#define MW_SOURCE_H

#include "core/core.h"

/* A copy that owns its strings, with `length` set if it was 0; NULL with MW_MEMORY_ALLOCATION in the error slot. */
mw_source *mw_source_copy(const mw_source *source);
/* From the contents of a compiled file: the text, and options, one on each line. NULL likewise. */
mw_source *mw_source_parse(const char *text, const char *options);
void mw_source_free(mw_source *source);

/* Hash everything that determines the compiled code, so not its file and line. */
void mw_source_add_hash(const mw_source *source, mw_hash *hash);

/* Whether the text, or a header given with it, contains `word` as a word. */
bool mw_source_has_word(const mw_source *source, const char *word);

/* The parameters of the kernel template of that name, as written in the text: "typename T, int W". NULL if the text has
   none. Yours: free. */
char *mw_source_template(const mw_source *source, const char *name);
/* The name of an example instance: "fill<float,4>". Yours: free. */
char *mw_source_template_example(const char *name, const char *parameters);

/* A compiler's output, with positions in MW_SOURCE_NAME and the line numbers of quoted code translated. Yours: free. */
char *mw_source_translate(const mw_source *source, const char *log);
/* Translate the compile error in the error slot to positions in the source's file: the first error's position and
   message, and the whole log. Returns `code`; other codes than MW_INVALID_SOURCE are left unchanged. */
int mw_source_translate_error(const mw_source *source, int code);
/* `log`, followed by the messages of `more` that it does not contain. Yours: free. */
char *mw_source_join_logs(const char *log, const char *more);

#endif
