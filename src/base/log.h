/* A compiler's output, entry by entry: what mwcc and NVRTC say of a source, in clang's way of writing.
 *
 *     In file included from kernel.cu:1:
 *     h.h:3:7: error: use of undeclared identifier 'x'
 *       y = x;
 *           ^
 *     h.h:1:1: note: …
 *
 * Nothing here knows of the runtime: mwcc has it too. */
#ifndef MW_LOG_H
#define MW_LOG_H

#include "base.h"

typedef enum mw_log_kind { MW_LOG_NOTE, MW_LOG_WARNING, MW_LOG_ERROR } mw_log_kind;

/* Pointers into the log. */
typedef struct mw_log_entry {
  mw_log_kind kind;
  const char *start; /* of its first line, which may be "In file included from …" */
  const char *file;
  size_t file_length; /* 0: it has no position */
  int line, column;   /* column 0: only a line is known */
  const char *message;
  size_t message_length;
  const char *body; /* the lines after the message: code and caret */
  const char *end;
} mw_log_entry;

/* The next entry from *at on, which moves past it; false where there is none. */
bool mw_log_next(const char **at, mw_log_entry *out);
bool mw_log_same_file(const mw_log_entry *a, const mw_log_entry *b);

/* The log for the person who wrote the source: mistakes that advice is known for told by it (advice.h), without what only
   follows from them; of notes about headers that are not the user's, the words alone, and few. Yours: free. */
char *mw_log_digest(const char *log);

#endif
