/* Reading a compiler's output: see log.h. */
#include "log.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static size_t line_length(const char *line) { return strcspn(line, "\n"); }

static const char *next_line(const char *line) {
  line += line_length(line);
  return *line ? line + 1 : line;
}

/* The text after ':' and a number at `text`; NULL if it has another form. */
static const char *colon_number(const char *text, int *number) {
  if (*text != ':' || !isdigit((unsigned char)text[1])) return NULL;
  *number = atoi(text + 1);
  return text + 1 + strspn(text + 1, "0123456789");
}

/* Parses "file:12:5: " or "file:12: " at the start of a line; returns the rest. File names may contain colons. */
static const char *read_position(const char *line, mw_log_entry *out) {
  const char *end = line + line_length(line);
  for (const char *at = line; (at = memchr(at, ':', (size_t)(end - at))); at++) {
    out->column = 0;
    const char *rest = colon_number(at, &out->line);
    if (!rest || at == line) continue;
    const char *further = colon_number(rest, &out->column);
    if (further) rest = further;
    if (rest + 1 >= end || rest[0] != ':' || rest[1] != ' ') continue;
    out->file = line;
    out->file_length = (size_t)(at - line);
    return rest + 2;
  }
  return NULL;
}

/* Parses "error: " and its like; returns the rest. */
static const char *read_kind(const char *text, mw_log_kind *kind) {
  static const struct {
    const char *word;
    mw_log_kind kind;
  } kinds[] = {{"error: ", MW_LOG_ERROR},
               {"fatal error: ", MW_LOG_ERROR},
               {"warning: ", MW_LOG_WARNING},
               {"note: ", MW_LOG_NOTE}};
  for (size_t i = 0; i < MW_COUNT(kinds); i++) {
    size_t length = strlen(kinds[i].word);
    *kind = kinds[i].kind;
    if (strncmp(text, kinds[i].word, length) == 0) return text + length;
  }
  return NULL;
}

static bool read_first_line(const char *line, mw_log_entry *out) {
  mw_log_entry found = {0};
  const char *rest = read_position(line, &found);
  if (!rest) found = (mw_log_entry){0};
  found.message = read_kind(rest ? rest : line, &found.kind);
  if (!found.message) return false;
  found.message_length = line_length(found.message);
  found.body = next_line(found.message);
  *out = found;
  return true;
}

static bool tells_inclusion(const char *line) {
  return strncmp(line, "In file included from ", 22) == 0 || strncmp(line, "                 from ", 22) == 0;
}

bool mw_log_next(const char **at, mw_log_entry *out) {
  const char *line = *at;
  while (*line && !read_first_line(line, out)) line = next_line(line);
  if (!*line) return false;
  out->start = *at;
  mw_log_entry other;
  for (line = out->body; *line && !tells_inclusion(line) && !read_first_line(line, &other);) line = next_line(line);
  *at = out->end = line;
  return true;
}

bool mw_log_same_file(const mw_log_entry *a, const mw_log_entry *b) {
  return a->file_length == b->file_length && memcmp(a->file, b->file, a->file_length) == 0;
}
