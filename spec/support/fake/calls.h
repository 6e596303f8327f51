/* The record of a fake library's calls: one line per call in a file that an environment variable names. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void record(const char *variable, const char *format, ...) {
  const char *path = getenv(variable);
  FILE *file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  va_list args;
  va_start(args, format);
  vfprintf(file, format, args);
  va_end(args);
  fputc('\n', file);
  fclose(file);
}
