/* Translation of a compiler's output, whose positions are in MW_SOURCE_NAME from line 1 on, to the source's file.
 *
 * The format is clang's (and NVRTC's):
 *     kernel.cu:3:7: error: use of undeclared identifier 'x'
 *         3 |   y = x;
 *           |       ^
 *     In file included from kernel.cu:1:
 * The number in the margin belongs to the file that the last position named. */
#include "base/log.h"
#include "source.h"

#include <ctype.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

typedef struct position {
  char *file; /* yours: free */
  int line, column;
} position;

static const char *file_of(const mw_source *source) { return source->file ? source->file : MW_SOURCE_NAME; }
static int line_of(const mw_source *source, int line) { return source->line > 1 ? line + source->line - 1 : line; }

/* ---- reading ---- */

/* "file:12:5: " at the start of a line; *rest is what follows. */
static bool read_position(const char *line, size_t length, position *out, const char **rest) {
  for (const char *at = line; (at = memchr(at, ':', (size_t)(line + length - at))); at++) {
    char *end;
    if (!isdigit((unsigned char)at[1])) continue;
    long row = strtol(at + 1, &end, 10);
    if (*end != ':' || !isdigit((unsigned char)end[1])) continue;
    long column = strtol(end + 1, &end, 10);
    if (end + 1 >= line + length || end[0] != ':' || end[1] != ' ') continue;
    *out = (position){.file = mw_format("%.*s", (int)(at - line), line), .line = (int)row, .column = (int)column};
    *rest = end + 2;
    return true;
  }
  return false;
}

/* "    12 | code" or "       | ^": the width of the margin before the bar, and the number or 0. */
static bool read_margin(const char *line, size_t length, size_t *width, int *number) {
  size_t blanks = strspn(line, " "), digits = strspn(line + blanks, "0123456789");
  size_t bar = blanks + digits + strspn(line + blanks + digits, " ");
  if (bar == 0 || bar >= length || line[bar] != '|') return false;
  *width = bar;
  *number = digits ? atoi(line + blanks) : 0;
  return true;
}

/* ---- writing ---- */

/* Append the line with every "kernel.cu:12" in it translated. */
static void add_line(mw_text *out, const mw_source *source, const char *line, size_t length) {
  const char *name = MW_SOURCE_NAME ":", *end = line + length;
  const size_t name_length = strlen(name);
  for (const char *at = line; at < end;) {
    const char *found = memmem(at, (size_t)(end - at), name, name_length);
    if (!found || found + name_length >= end) found = end;
    mw_text_add(out, at, (size_t)(found - at));
    if (found == end) return;
    at = found + name_length;
    bool starts = found == line || (!isalnum((unsigned char)found[-1]) && !strchr("_/.-", found[-1]));
    if (starts && isdigit((unsigned char)*at)) {
      char *after;
      long number = strtol(at, &after, 10);
      mw_text_addf(out, "%s:%d", file_of(source), line_of(source, (int)number));
      at = after;
    } else {
      mw_text_add(out, name, name_length);
    }
  }
}

/* The margin grows if the script's line numbers have more digits than the text's. */
static void add_margin(mw_text *out, const mw_source *source, int number, size_t width, int *digits, const char *rest,
                       size_t length) {
  char text[16] = "";
  if (number) *digits = snprintf(text, sizeof text, "%d", line_of(source, number));
  int room = (int)width - 1 > *digits ? (int)width - 1 : *digits;
  mw_text_addf(out, "%*s ", room, text);
  mw_text_add(out, rest, length);
}

char *mw_source_translate(const mw_source *source, const char *log) {
  mw_text out = {0};
  bool in_source = false;
  int digits = 0;
  mw_text_add(&out, "", 0);
  for (const char *line = log; *line;) {
    size_t length = strcspn(line, "\n"), width;
    int number;
    position place;
    const char *rest;
    if (read_position(line, length, &place, &rest)) {
      in_source = strcmp(place.file, MW_SOURCE_NAME) == 0;
      digits = 0;
      free(place.file);
      add_line(&out, source, line, length);
    } else if (in_source && read_margin(line, length, &width, &number)) {
      add_margin(&out, source, number, width, &digits, line + width, length - width);
    } else {
      add_line(&out, source, line, length);
    }
    line += length;
    if (*line) {
      mw_text_add(&out, "\n", 1);
      line++;
    }
  }
  return out.data ? out.data : mw_strdup("");
}

/* ---- messages, each with its notes ---- */

/* Whether a message begins here: a position that is not a note's, or the chain of includes before one. */
static bool begins_message(const char *line, size_t length) {
  position place;
  const char *rest;
  if (strncmp(line, "In file included from ", 22) == 0) return true;
  if (!read_position(line, length, &place, &rest)) return false;
  free(place.file);
  return strncmp(rest, "note: ", 6) != 0;
}

/* The length of the first message of `log`, up to the next. The chain of includes belongs to the message; *head: the
   length of that chain and the message's own line. */
static size_t message_length(const char *log, size_t *head) {
  *head = 0;
  for (const char *line = log, *next; *line; line = next) {
    size_t length = strcspn(line, "\n");
    next = line + length + (line[length] == '\n');
    if (*head && begins_message(line, length)) return (size_t)(line - log);
    if (!*head && strncmp(line, "In file included from ", 22) != 0) *head = (size_t)(next - log);
  }
  return strlen(log);
}

/* The log contains a message if it contains its line: clang's notes differ between instances. */
char *mw_source_join_logs(const char *log, const char *more) {
  mw_text out = {0};
  mw_text_add(&out, log, strlen(log));
  for (size_t length, head; *more; more += length) {
    length = message_length(more, &head);
    if (!memmem(log, strlen(log), more, head)) mw_text_add(&out, more, length);
  }
  return out.data;
}

/* ---- the first error ---- */

/* The first error of `log`, and the number of errors. */
static int find_first_error(const char *log, mw_log_entry *first) {
  int count = 0;
  mw_log_entry entry;
  for (const char *at = log; mw_log_next(&at, &entry);)
    if (entry.kind == MW_LOG_ERROR && entry.column && count++ == 0) *first = entry;
  return count;
}

int mw_source_translate_error(const mw_source *source, int code) {
  if (code != MW_INVALID_SOURCE) return code;
  mw_error *raw = mw_error_copy(mw_error_last());
  const char *raw_log = raw->log ? raw->log : "";
  char *message = NULL, *log = mw_source_translate(source, raw_log);
  position place = {0};
  mw_log_entry first;
  int count = find_first_error(raw_log, &first);
  if (count > 0) {
    message = mw_format("%.*s", (int)first.message_length, first.message);
    place = (position){mw_format("%.*s", (int)first.file_length, first.file), first.line, first.column};
  } else {
    message = mw_source_translate(source, raw->message);
    place = (position){mw_strdup(raw->file), raw->line, raw->column};
  }
  if (count > 1)
    fail(code, "%s (and %d more error%s)", message, count - 1, count == 2 ? "" : "s");
  else
    fail(code, "%s", message);
  if (place.file && strcmp(place.file, MW_SOURCE_NAME) == 0)
    mw_error_place(file_of(source), line_of(source, place.line), place.column);
  else if (place.file)
    mw_error_place(place.file, place.line, place.column);
  if (*log) mw_error_log(log);
  free(place.file);
  free(message);
  free(log);
  mw_error_free(raw);
  return code;
}
