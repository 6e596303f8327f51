/* mwcc --check: clang's diagnostics as JSON, for editors; nothing is written.
 *
 *   [{"file": "k.cu", "line": 3, "column": 10, "severity": "error", "message": "…"}, …]
 *
 * Severities are clang's: error, warning, note. Exit status 1 where there is an error. */
#include "mwcc/mwcc.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct diagnostic {
  const char *file, *severity, *message;
  size_t file_length, message_length;
  long line, column;
} diagnostic;

/* The number that ends at `end` (behind a colon), and where the colon is; NULL where there is none. */
static const char *number_before(const char *start, const char *end, long *number) {
  const char *at = end;
  while (at > start && isdigit((unsigned char)at[-1])) at--;
  if (at == end || at == start || at[-1] != ':') return NULL;
  *number = strtol(at, NULL, 10);
  return at - 1;
}

/* "file:line:column: severity: message" */
static bool parse(const char *line, size_t length, diagnostic *out) {
  static const char *const words[][2] = {
      {": error: ", "error"}, {": fatal error: ", "error"}, {": warning: ", "warning"}, {": note: ", "note"}};
  for (size_t i = 0; i < MW_COUNT(words); i++) {
    const char *found = memmem(line, length, words[i][0], strlen(words[i][0]));
    if (!found) continue;
    const char *colon = number_before(line, found, &out->column);
    colon = colon ? number_before(line, colon, &out->line) : NULL;
    if (!colon || colon == line) continue;
    out->file = line;
    out->file_length = (size_t)(colon - line);
    out->severity = words[i][1];
    out->message = found + strlen(words[i][0]);
    out->message_length = length - (size_t)(out->message - line);
    return true;
  }
  return false;
}

static void print_string(const char *text, size_t length) {
  putchar('"');
  for (size_t i = 0; i < length; i++) {
    unsigned char letter = (unsigned char)text[i];
    if (letter == '"' || letter == '\\')
      printf("\\%c", letter);
    else if (letter < ' ')
      printf("\\u%04x", letter);
    else
      putchar(letter);
  }
  putchar('"');
}

bool check_print(const char *text) {
  bool good = true;
  int count = 0;
  putchar('[');
  while (*text) {
    size_t length = strcspn(text, "\n");
    diagnostic d;
    if (parse(text, length, &d)) {
      printf(count++ ? ",\n {\"file\": " : "{\"file\": ");
      print_string(d.file, d.file_length);
      printf(", \"line\": %ld, \"column\": %ld, \"severity\": \"%s\", \"message\": ", d.line, d.column, d.severity);
      print_string(d.message, d.message_length);
      putchar('}');
      good = good && strcmp(d.severity, "error") != 0;
    }
    text += length + (text[length] == '\n');
  }
  puts("]");
  return good;
}
