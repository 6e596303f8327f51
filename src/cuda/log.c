/* NVRTC's messages in clang's format. NVRTC writes:
 *
 *     kernel.cu(3): error: identifier "x" is undefined
 *         y = x;
 *             ^
 *     (an empty line) */
#include "cuda/compile/compiler.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* "FILE(LINE): KIND: MESSAGE"; the lengths of its parts. */
typedef struct header {
  const char *file;
  size_t file_length;
  int line;
  const char *rest;
  size_t rest_length;
} header;

static bool read_header(const char *line, size_t length, header *out) {
  for (const char *at = line; (at = memchr(at, '(', (size_t)(line + length - at))); at++) {
    char *end;
    if (!isdigit((unsigned char)at[1])) continue;
    long number = strtol(at + 1, &end, 10);
    if (strncmp(end, "): ", 3) != 0) continue;
    *out = (header){line, (size_t)(at - line), (int)number, end + 3, (size_t)(line + length - end - 3)};
    return true;
  }
  return false;
}

/* Splits "error: ", "catastrophic error: ", "error #20042-D: ", "warning #550-D: ": the kind, and the message after
   it. */
static const char *read_kind(const header *h, const char **message, size_t *length) {
  const char *colon = memmem(h->rest, h->rest_length, ": ", 2);
  static const char *const kinds[] = {"error", "warning", "note", "remark"};
  *message = h->rest;
  *length = h->rest_length;
  for (size_t i = 0; colon && i < MW_COUNT(kinds); i++)
    if (memmem(h->rest, (size_t)(colon - h->rest), kinds[i], strlen(kinds[i]))) {
      *message = colon + 2;
      *length = (size_t)(h->rest + h->rest_length - *message);
      return kinds[i];
    }
  return NULL;
}

static const char *next_line(const char *line) {
  line += strcspn(line, "\n");
  return *line ? line + 1 : line;
}

/* The column of the caret in a line that has nothing else, or -1. */
static int caret_of(const char *line) {
  size_t blanks = strspn(line, " \t");
  return line[blanks] == '^' && (line[blanks + 1] == '\n' || line[blanks + 1] == '\0') ? (int)blanks : -1;
}

/* NVRTC's closing lines are dropped: the number of errors, and how to suppress warnings. */
static bool is_closing(const char *line, size_t length) {
  return memmem(line, length, "detected in the compilation of", 30) ||
         strncmp(line, "Remark: The warnings can be", 27) == 0 || strncmp(line, "Compilation terminated", 22) == 0;
}

static bool is_ours(const cuda_headers *ours, const header *h) {
  for (int i = ours->first; i < ours->count; i++)
    if (strlen(ours->names[i]) == h->file_length && memcmp(ours->names[i], h->file, h->file_length) == 0) return true;
  return false;
}

bool cuda_is_about_launch(const char *message) {
  return strstr(message, "requires separate compilation") || strstr(message, "required runtime APIs are not declared");
}

/* Or "identifier "cudaMalloc" is undefined": NVRTC declares the device runtime's functions for code that is to be linked
   with it. */
static bool is_about_runtime(const char *message) {
  return cuda_is_about_launch(message) ||
         (strncmp(message, "identifier \"cuda", 16) == 0 && strstr(message, "is undefined"));
}

/* The file in which NVRTC compiles the names of instances. */
static void place_in_name(header *h, const char *instance) {
  static const char map[] = "__nv_name_map";
  if (!instance || h->file_length != strlen(map) || memcmp(h->file, map, h->file_length) != 0) return;
  h->file = instance;
  h->file_length = strlen(instance);
}

void cuda_log_translate(const char *log, const cuda_headers *ours, const char *instance, mw_text *out,
                        cuda_diagnosis *first) {
  bool drops = false;
  *first = (cuda_diagnosis){0};
  mw_text_add(out, "", 0);
  for (const char *line = log, *next; *line; line = next) {
    size_t length = strcspn(line, "\n");
    header h;
    next = next_line(line);
    if (length == 0 || is_closing(line, length)) continue;
    if (!read_header(line, length, &h)) {
      if (!drops) mw_text_addf(out, "%.*s\n", (int)length, line);
      continue;
    }
    place_in_name(&h, instance);
    const char *message;
    size_t message_length;
    const char *kind = read_kind(&h, &message, &message_length);
    drops = kind && strcmp(kind, "warning") == 0 && is_ours(ours, &h);
    if (drops) continue;
    int caret = caret_of(next_line(next)), column = caret >= 2 ? caret - 1 : 1;
    mw_text_addf(out, "%.*s:%d:%d: %s%s%.*s\n", (int)h.file_length, h.file, h.line, column, kind ? kind : "",
                 kind ? ": " : "", (int)message_length, message);
    if (caret >= 2) { /* NVRTC indents the source line by two */
      mw_text_addf(out, "%5d | %.*s\n", h.line, (int)strcspn(next, "\n") - 2, next + 2);
      mw_text_addf(out, "      | %*s^\n", caret - 2, "");
      next = next_line(next_line(next));
    }
    if (first->message || !kind || strcmp(kind, "error") != 0) continue;
    first->message = mw_format("%.*s", (int)message_length, message);
    first->file = mw_format("%.*s", (int)h.file_length, h.file);
    first->line = h.line;
    first->column = column;
    first->lacks_runtime = is_about_runtime(first->message);
    first->lacks_header = strstr(first->message, "open source file") != NULL;
  }
}
