/* mwcc --check: prints clang's diagnostics as JSON, for editors; writes no output file.
 *
 *   [{"file": "k.cu", "line": 3, "column": 10, "severity": "error", "message": "…"}, …]
 *
 * Severities are clang's: error, warning, note. The exit status is 1 if there is an error. */
#include "base/log.h"
#include "mwcc/mwcc.h"
#include "front.h"

#include <stdio.h>

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
  static const char *const words[] = {[MW_LOG_NOTE] = "note", [MW_LOG_WARNING] = "warning", [MW_LOG_ERROR] = "error"};
  bool good = true;
  int count = 0;
  mw_log_entry entry;
  putchar('[');
  while (mw_log_next(&text, &entry)) {
    if (!entry.column) continue;
    printf(count++ ? ",\n {\"file\": " : "{\"file\": ");
    print_string(entry.file, entry.file_length);
    printf(", \"line\": %d, \"column\": %d, \"severity\": \"%s\", \"message\": ", entry.line, entry.column,
           words[entry.kind]);
    print_string(entry.message, entry.message_length);
    putchar('}');
    good = good && entry.kind != MW_LOG_ERROR;
  }
  puts("]");
  return good;
}
