/* A compiler's output as entries: the messages of mwcc and NVRTC about a source, in clang's format.
 *
 *     In file included from kernel.cu:1:
 *     h.h:3:7: error: use of undeclared identifier 'x'
 *       y = x;
 *           ^
 *     h.h:1:1: note: …
 *
 * This file does not depend on the runtime, since mwcc contains it too. */
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

/* The next entry from *at on, which advances past it; false at the end. */
bool mw_log_next(const char **at, mw_log_entry *out);
bool mw_log_same_file(const mw_log_entry *a, const mw_log_entry *b);

/* The log for the source's author: advice replaces the messages of known mistakes (advice.h), and their consequences
   are dropped; of notes about foreign headers only a few remain, without code. Yours: free. */
char *mw_log_digest(const char *log);

#endif
